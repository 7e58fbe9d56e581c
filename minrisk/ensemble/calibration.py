"""What left-out rows say about probabilities: the log-loss, and the temperature at which it is least."""

from __future__ import annotations

import numpy as np

from minrisk._typing import FloatArray
from minrisk.ensemble import defaults
from minrisk.model.decisions import LINK_KERNELS
from minrisk.model.links import Link
from minrisk.rows.costs import CostFacts
from minrisk.rows.folded import HeldOut

SAME_LOSS = 1e-9  # relative difference of log-losses that rounding may make


def log_loss(link: Link, held: HeldOut, temperature: float, *, caution: bool = True) -> float:
    """Weighted sum of -log p(true class); with `caution` also half a row's mean of -log p over the other classes.

    That half a row may be of another class keeps rows that are all decided rightly from making the next one certain:
    n of them leave others 1 / (2 n + 1), Krichevsky and Trofimov's estimate. A row weighs 1, or the mean if less.
    """
    return held.log_loss(link, temperature, floor(), half_row(held) if caution else 0.0)


def half_row(held: HeldOut) -> float:
    """Its share in the weight of these rows."""
    return defaults.CAUTION / max(1.0, held.weight, float(held.n_weighted))


def floor() -> float:
    """The least log-probability that counts."""
    return float(np.log(defaults.LEAST_PROBABILITY))


def fit_temperature(link: Link, held: HeldOut, start: float = 1.0, *, caution: bool = True) -> tuple[float, float]:
    """Temperature of least log-loss, by steps of 15 % downhill from `start`, and the log-loss there.

    Where log-probabilities are at their floor nothing leads away from temperatures that make rows certain. With
    `caution` the way down from where no class is sure is then taken as well, and the lower end counts.
    """
    half, (lowest, highest) = half_row(held) if caution else 0.0, defaults.TEMPERATURES
    if caution:
        highest = max(highest, LINK_KERNELS[link][1] * held.spread)
    best, least = _downhill(link, held, half, start, lowest, highest)
    if caution and held.log_loss(link, best, -np.inf, half) > least:
        unsure = start * defaults.TEMPERATURE_STEP ** int(np.log(highest / start) / np.log(defaults.TEMPERATURE_STEP))
        other, loss = _downhill(link, held, half, unsure, lowest, highest)
        best, least = (other, loss) if loss < least * (1.0 - SAME_LOSS) else (best, least)
    return best, least


def _downhill(
    link: Link, held: HeldOut, half: float, start: float, lowest: float, highest: float
) -> tuple[float, float]:
    """Temperature and log-loss where neither step from there leads down, within a range."""
    best, least = start, held.log_loss(link, start, floor(), half)
    for factor in (defaults.TEMPERATURE_STEP, 1.0 / defaults.TEMPERATURE_STEP):
        while lowest <= best * factor <= highest:
            loss = held.log_loss(link, best * factor, floor(), half)
            if not loss < least:
                break
            best, least = best * factor, loss
        if best != start:
            break
    return best, least


def class_rows(costs: CostFacts) -> FloatArray:
    """Rows of each class, by weight, (K,)."""
    return np.pad(costs.class_weight, (0, max(0, costs.n_decisions - len(costs.class_weight))))


def log_frequencies(rows: FloatArray) -> FloatArray:
    """Logarithms of the shares of classes of so many rows (K,), with half a row added to each."""
    return np.asarray(np.log((rows + 0.5) / (rows + 0.5).sum()))
