"""The losses that `MinRiskClassifier` offers, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minrisk.rows.row_losses import Loss


POSTERIOR = ("softmax", "exponential")  # estimate probabilities; the costs come in with the decision
COST_TRAINED = ("coupled", "gll", "gel")  # the costs are in the loss; the largest score decides


def surrogate_loss(surrogate: str) -> Loss:
    """Return the loss; "exponential" and "coupled" differ in the costs that it sees, as do "softmax" and "gll"."""
    from minrisk.losses.coupled import CoupledLoss
    from minrisk.losses.guess_averse import GuessAverseLoss

    if surrogate in ("exponential", "coupled"):
        return CoupledLoss("exponential", "tight")
    return GuessAverseLoss("gel" if surrogate == "gel" else "gll")
