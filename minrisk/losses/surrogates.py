"""The losses that `MinRiskClassifier` offers, by name."""

from __future__ import annotations

from minrisk.losses.base import Loss
from minrisk.losses.coupled import coupled_loss
from minrisk.losses.guess_averse import GuessAverseLoss
from minrisk.rows.base import RowCosts


def surrogate_loss(surrogate: str, costs: RowCosts) -> Loss:
    """One for "exponential" and "coupled", another for "softmax" and "gll": they differ in the costs that they see."""
    if surrogate in ("exponential", "coupled"):
        return coupled_loss(costs, "exponential", "tight")
    return GuessAverseLoss("gel" if surrogate == "gel" else "gll")
