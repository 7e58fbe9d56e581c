"""The stump that lowers a loss most together with its vector, where no closed form tells: REBEL, Sec. 3.

argmin over f and a of sum_n sum_k l_k(H_nk + f(x_n) a_k), by best first search: `Rows.stump_bounds` leaves the stumps
that may be the best, mostly one; of several the losses are looked at, from steps near the best ones, until one is ahead
of what the others can reach.
"""

from __future__ import annotations

import numpy as np

from minrisk._kernels._dtypes import TIE
from minrisk._typing import FloatArray, IntArray
from minrisk.rows.base import Split
from minrisk.rows.row_losses import SeriesRowLoss
from minrisk.rows.rows import Rows
from minrisk.rows.stumps import likely
from minrisk.steps.base import LARGEST_STEP

LOOKED_AT = 16  # stumps whose losses are looked at together
LOOSE = 0.1  # of the largest gap between the bounds of a stump's outputs: smaller gaps are left for later
BOUNDS_SETTLED = 1e-11  # bounds that differ by a smaller share of the fall are one number, to rounding
LARGEST_CHANGE = 1.0  # of an entry in a Newton step: the curvature may grow by e in it
MOST_LOOKS = 10_000  # a guard: a few are enough


def exact_stump(rows: Rows, loss: SeriesRowLoss, mass: FloatArray, features: IntArray) -> Split | None:
    """The stump over `features` whose best vector lowers the loss most; None where none does.

    No entry of a vector exceeds 18. Stumps that are equally good to rounding: the lowest feature, then the lowest bin.
    """
    found = rows.stump_bounds(loss, mass, features)
    if found is None:
        return None
    feature, bin_, step, low, high = found
    before: FloatArray | None = None
    for _ in range(MOST_LOOKS):
        ahead = low.sum(axis=1).max()
        left = likely(high.sum(axis=1), ahead)
        feature, bin_, step, low, high = feature[left], bin_[left], step[left], low[left], high[left]
        gaps = high - low
        open_ = gaps.sum(axis=1) > BOUNDS_SETTLED * ahead
        if len(feature) == 1 or not open_.any():
            break
        if before is None:
            before = rows.values(loss)
        first = np.argsort(np.where(open_, -high.sum(axis=1), np.inf), kind="stable")[:LOOKED_AT]
        first = first[open_[first]]
        place, output = np.nonzero(gaps[first] > LOOSE * gaps[first].max(axis=1, keepdims=True))
        place = first[place]
        at = place, output
        told = rows.stump_slopes(loss, feature[place], bin_[place], output, step[at])
        step[at], fallen, high[at] = _looked(step[at], high[at], before[output], told)
        low[at] = np.maximum(low[at], fallen)
    fall = low.sum(axis=1)
    best = int(np.flatnonzero(fall >= fall.max() * (1.0 - max(TIE, BOUNDS_SETTLED)))[0])
    return Split(int(feature[best]), int(bin_[best]), float(fall[best]))


def _looked(
    step: FloatArray, high: FloatArray, before: FloatArray, told: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Better steps, what the present ones take away, and what the best ones take at most, by the losses told."""
    value, slope, curvature = told
    fall, steepest = before - value, np.abs(slope)
    known = steepest < curvature
    share = np.divide(steepest, curvature, out=np.zeros_like(slope), where=known)
    rest = curvature * share**2 * (0.5 + share / (6.0 * (1.0 - share)))  # psi of `minrisk._kernels.split`
    at_end = (np.abs(step) >= LARGEST_STEP) & (slope * step < 0.0)
    nothing = (curvature == 0.0) & (slope == 0.0)
    reachable = np.where(at_end | nothing, 0.0, np.where(known, rest, np.inf))
    change = np.divide(-slope, curvature, out=np.zeros_like(slope), where=curvature > 0.0)
    following = np.clip(step + np.clip(change, -LARGEST_CHANGE, LARGEST_CHANGE), -LARGEST_STEP, LARGEST_STEP)
    return following, fall, np.maximum(fall, np.minimum(high, fall + reachable))
