"""What left-out rows say about probabilities: the log-loss, and the temperature at which it is least."""

from __future__ import annotations

import numpy as np

from minrisk._kernels import links
from minrisk._typing import Codes, FloatArray
from minrisk.ensemble import defaults
from minrisk.model.decisions import LINK_KERNELS
from minrisk.model.links import Link
from minrisk.rows.costs import RowCosts

SAME_LOSS = 1e-9  # relative difference of log-losses that rounding may make


def log_loss(
    link: Link, scores: np.ndarray, codes: Codes, weight: FloatArray, temperature: float, *, caution: bool = True
) -> float:
    """Weighted sum of -log p(true class); with `caution` also half a row's mean of -log p over the other classes.

    That half a row may be of another class keeps rows that are all decided rightly from making the next one certain:
    n of them leave others 1 / (2 n + 1), Krichevsky and Trofimov's estimate. A row weighs 1, or the mean if less.
    """
    kind, slope = LINK_KERNELS[link]
    half = half_row(weight) if caution else 0.0
    return float(links.log_loss(kind, slope / temperature, scores, codes, weight, floor(), half))


def half_row(weight: FloatArray) -> float:
    """Its share in the weight of these rows."""
    return defaults.CAUTION / max(1.0, float(weight.sum()), float(np.count_nonzero(weight)))


def floor() -> float:
    """The least log-probability that counts."""
    return float(np.log(defaults.LEAST_PROBABILITY))


def fit_temperature(
    link: Link, scores: np.ndarray, codes: Codes, weight: FloatArray, start: float = 1.0, *, caution: bool = True
) -> tuple[float, float]:
    """Temperature of least log-loss, by steps of 15 % downhill from `start`, and the log-loss there.

    Where log-probabilities are at their floor nothing leads away from temperatures that make rows certain. With
    `caution` the way down from where no class is sure is then taken as well, and the lower end counts.
    """
    kind, slope = LINK_KERNELS[link]
    half, step, (lowest, highest) = half_row(weight), defaults.TEMPERATURE_STEP, defaults.TEMPERATURES
    if not caution:
        half = 0.0
    else:
        highest = max(highest, slope * float(np.ptp(scores, axis=1).max(initial=0.0)))
    rows, range_ = (scores, codes, weight), (step, lowest, highest)
    best, least = links.fit_temperature(kind, slope, *rows, floor(), half, start, *range_)
    if caution and links.log_loss(kind, slope / best, *rows, -np.inf, half) > least:
        unsure = start * step ** int(np.log(highest / start) / np.log(step))
        other, loss = links.fit_temperature(kind, slope, *rows, floor(), half, unsure, *range_)
        best, least = (other, loss) if loss < least * (1.0 - SAME_LOSS) else (best, least)
    return float(best), float(least)


def log_frequencies(costs: RowCosts) -> tuple[FloatArray, FloatArray]:
    """Rows of each class, by weight, and the logarithms of their shares with half a row added to each."""
    rows = np.bincount(costs.label, weights=costs.weight, minlength=costs.table.shape[1]).astype(np.float64)
    return rows, np.log((rows + 0.5) / (rows + 0.5).sum())
