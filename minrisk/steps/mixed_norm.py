"""Steps of GradBoost: vectors with the penalty nu sum_t |w_t|, of lengths or of largest entries.

J. Duchi and Y. Singer, "Boosting with structural sparsity", ICML 2009.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from minrisk._typing import FloatArray
from minrisk.losses.base import SIGNS, SOFTMAX_EDGES
from minrisk.model.step_tables import on_grid
from minrisk.rows.base import CORRECTIVE_ROWS
from minrisk.rows.pairs import are_corrective
from minrisk.steps.base import Step, StepProblem

ORDERS = {"l2": 2.0, "linf": math.inf}  # of |w|, as NumPy counts norms,
DUAL_ORDERS = {"l2": 2.0, "linf": 1.0}  # and of slopes: while they are no longer than nu W, a vector of 0 stays 0
LARGEST_CURVATURE = 0.5  # of the log-loss of weight 1 along any direction of unit length: diag(p) - p p' has no more


@dataclass(frozen=True)
class MixedNormStep:
    """One vector forward, then all that are not 0 together, each by the minimum of an upper bound.

    Along responses of -1 and +1 the loss of all rows of weight W is at most L(w) + <g, d> + W / 4 |d|^2, and T vectors
    that move at once have T times the curvature. With u = w - g / c, c = W / 2 or T W / 2, and the penalty, the bound
    is least at

        w + d = (1 - nu W / (c |u|))_+ u            of lengths,
        w + d = u, its entries cut to [-h, h]       of largest entries, if what is cut off sums to nu W / c,

    which is u less its projection on the ball of that radius of the dual norm; h is 0 where u sums to less.

    A learner that answers as an earlier one does is that one: its vector moves, and the new one stays 0. Vectors are
    multiples of 2^-32, so that sums of them are exact.

    Parameters
    ----------
    nu : float
        Weight of the penalty, per weight of the rows.
    norm : {"l2", "linf"}
        Of a vector in the penalty: its length or its largest entry.
    """

    nu: float
    norm: str
    requires: frozenset[str] = frozenset({SOFTMAX_EDGES, SIGNS, CORRECTIVE_ROWS})
    gain: int | None = None
    columns: int = 1

    def solve(self, problem: StepProblem) -> Step:
        """Three looks at all rows: before, after the step forward, and after the one backward."""
        rows, loss = problem.rows, problem.loss
        assert are_corrective(rows)  # as required
        curvature, price = scaled_weight(problem) * LARGEST_CURVATURE, self.nu * scaled_weight(problem)
        start = rows.start_vectors()
        slope = rows.total_slopes(loss, start)[1]  # type: ignore[arg-type]  # as required
        moved, j = start.copy(), same_learner(slope)
        moved[j] = self.shrunk(start[j : j + 1], slope[j : j + 1], curvature, price)[0]
        alive = np.flatnonzero(moved.any(axis=1))
        if len(alive):
            slope = rows.total_slopes(loss, moved)[1]  # type: ignore[arg-type]
            moved[alive] = self.shrunk(moved[alive], slope[alive], len(alive) * curvature, price)
        value = rows.total_slopes(loss, moved)[0]  # type: ignore[arg-type]
        before, after = (np.linalg.norm(v, ORDERS[self.norm], axis=1).sum() for v in (start, moved))
        return Step(moved[-1:], value + price * float(after - before), moved[:-1] - start[:-1])

    def shrunk(self, vectors: FloatArray, slope: FloatArray, curvature: float, price: float) -> FloatArray:
        """Where the bound with the penalty is least, of each vector on its own; on the grid."""
        u, radius = vectors - slope / curvature, price / curvature
        if self.norm == "linf":
            largest_first = -np.sort(-np.abs(u), axis=1)
            over = np.cumsum(largest_first, axis=1) - radius
            height = np.maximum(0.0, (over / np.arange(1, over.shape[1] + 1)).max(axis=1, keepdims=True))
            return on_grid(np.clip(u, -height, height))
        length = np.linalg.norm(u, axis=1, keepdims=True)
        kept = np.divide(length - radius, length, out=np.zeros_like(length), where=length > 0.0)
        return on_grid(np.maximum(kept, 0.0) * u)


def scaled_weight(problem: StepProblem) -> float:
    """The weight of all rows in the units of the problem's sums."""
    return problem.rows.facts(problem.loss).weight * math.exp(-problem.log_scale)


def same_learner(slope: FloatArray) -> int:
    """The first learner whose slopes are those of the last, or their opposites: it answers alike, as sums are exact."""
    alike = np.all(slope == slope[-1], axis=1) | np.all(slope == -slope[-1], axis=1)
    return int(np.argmax(alike))
