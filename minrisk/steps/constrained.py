"""All vectors again under a bound on their sum: Paisitkriangkrai et al., 2013, Eq. (17).

min over W >= 0 with |W|_1 <= gamma of the loss over the learners so far, by spectral projected gradients (E. Birgin, J.
Martinez and M. Raydan, "Nonmonotone spectral projected gradient methods on convex sets", SIAM J. Optim. 2000, SPG2).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from minrisk._kernels.split import LARGEST_EDGE_GAIN
from minrisk._typing import FloatArray
from minrisk.losses.base import PAIRS, SIGNS
from minrisk.model.step_tables import on_grid
from minrisk.rows.base import CORRECTIVE_ROWS
from minrisk.rows.pairs import are_corrective
from minrisk.rows.row_losses import PairRowLoss
from minrisk.steps.base import Step, StepProblem
from minrisk.steps.dual_bounds import Bounds, Point
from minrisk.steps.penalised import PAPER, Function, Objective, Tolerances

PROJECTED_STEPS = 20  # for each iteration that L-BFGS-B would have: they are that much shorter
MEMORY = 10  # values that the next one has to be below the largest of (the authors')
SUFFICIENT = 1e-4  # share of the fall that the slope promises (the authors')
SPECTRAL_STEP = 1e-10, 1e10  # smallest and largest (the authors': 1e-30, 1e30; ours is in units of the loss)
SHORTEST = 1e-12  # share of a direction: a line search that comes to it has met rounding


@dataclass(frozen=True)
class ConstrainedStep:
    """All of W again, Eq. (17) over the learners so far, from the last W.

    Rounds end where no learner can lower the loss by more than `tolerance` of what can still be lost: by convexity the
    loss is above the least possible one, over all learners that the search knows, by at most

        gamma max_jk E_jk - sum_jk W_jk E_jk,    E_jk = -dL/dW_jk, which for the new learner is the most violated one.

    Parameters
    ----------
    bound : float
        gamma.
    tolerance : float
    tolerances : Tolerances
        Those of L-BFGS-B, of which the gradient's and the number of iterations (20 times as many) hold.
    """

    bound: float
    tolerance: float
    tolerances: Tolerances = PAPER
    requires: frozenset[str] = frozenset({PAIRS, SIGNS, CORRECTIVE_ROWS})
    gain: int | None = LARGEST_EDGE_GAIN
    columns: int = 1

    def solve(self, problem: StepProblem) -> Step:
        """Minimise over the vectors of all learners; the present response is that of the last one."""
        rows, objective = problem.rows, Objective.of(problem, 0.0)
        assert are_corrective(rows)  # as `requires` says
        loss: PairRowLoss = problem.loss  # type: ignore[assignment]  # as `requires` says
        start = rows.start_vectors()

        def function(flat: FloatArray) -> tuple[float, FloatArray]:
            value, slope = rows.total_slopes(loss, on_grid(flat.reshape(start.shape)))
            told, slope = objective.at(value, slope.ravel(), 0.0, 0.0)
            return told, slope

        flat = start.ravel()
        slope = function(flat)[1]
        if self.bound * max(0.0, float(-slope.min())) + float(np.sum(flat * slope)) <= self.tolerance:
            return Step(start[-1:], problem.value)
        most = PROJECTED_STEPS * self.tolerances.iterations
        found = projected_descent(function, flat, self.bound, most, self.tolerances.gradient)
        vectors = on_grid(found.reshape(start.shape))
        value = objective.value(function(vectors.ravel())[0])
        return Step(vectors[-1:], value, vectors[:-1] - start[:-1])

    def certificate(self, point: Point, largest: Callable[[], float]) -> Bounds:
        """Over all learners."""
        return point.limited(0.0, largest(), self.bound)


def onto_bound(flat: FloatArray, bound: float) -> FloatArray:
    """The nearest point with entries >= 0 whose sum is at most `bound`."""
    inside = np.maximum(flat, 0.0)
    if float(np.sum(inside)) <= bound:
        return inside
    falling = np.sort(flat)[::-1]
    excess = (np.cumsum(falling) - bound) / np.arange(1, len(flat) + 1)
    return np.asarray(np.maximum(flat - excess[np.flatnonzero(falling > excess)[-1]], 0.0))


def projected_descent(function: Function, start: FloatArray, bound: float, most: int, tolerance: float) -> FloatArray:
    """The minimiser of a convex function with its slope over entries >= 0 of a sum of at most `bound`."""
    x = onto_bound(start, bound)
    value, slope = function(x)
    best, least = x, value
    before, step = deque([value], maxlen=MEMORY), 1.0
    for _ in range(most):
        if float(np.abs(onto_bound(x - slope, bound) - x).max()) <= tolerance:
            break
        direction = onto_bound(x - step * slope, bound) - x
        promised, share = float(np.sum(slope * direction)), 1.0
        while True:
            following = x + share * direction
            new, new_slope = function(following)
            if new <= max(before) + SUFFICIENT * share * promised or share < SHORTEST:
                break
            guess = -0.5 * share * share * promised / (new - value - share * promised)
            share = min(max(guess, 0.1 * share), 0.5 * share)
        if share < SHORTEST:
            break
        change, turn = following - x, new_slope - slope
        bend = float(np.sum(change * turn))
        length = float(np.sum(change * change)) / bend if bend > 0.0 else SPECTRAL_STEP[1]
        step = min(max(length, SPECTRAL_STEP[0]), SPECTRAL_STEP[1])
        x, value, slope = following, new, new_slope
        before.append(value)
        if value < least:
            best, least = x, value
    return best
