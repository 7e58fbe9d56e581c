"""The exact step along given directions: MCBoost's alpha* (Beijbom et al., ICML 2014, Eq. 31)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minrisk.losses.base import DIRECTED, JOINT
from minrisk.rows.base import DirectedRowLoss
from minrisk.rows.directed import directed_rows
from minrisk.steps.base import LARGEST_STEP, Step, StepProblem

MAX_ITERATIONS = 100
TOLERANCE = 1e-7  # a Newton step this small, relative to the step so far, leaves an error of its square
FINEST = 1e-13  # where Newton does not help, the bracket is halved down to this


@dataclass(frozen=True)
class LineSearch:
    """alpha* = argmin over alpha of sum_n L(S_n + alpha d_n), by Newton steps kept inside a bracket.

    No score moves by more than 18: on data that a learner separates perfectly the minimiser is infinite.
    """

    requires: frozenset[str] = frozenset({JOINT, DIRECTED})
    gain: int | None = None
    columns: int = 0

    def solve(self, problem: StepProblem) -> Step:
        """Minimise along the line that the rows look along, in a few passes over them."""
        assert problem.directions is not None
        alpha, value = search(problem, problem.loss)  # type: ignore[arg-type]  # as the rows ask for
        return Step(alpha * problem.directions, value)


def search(problem: StepProblem, loss: DirectedRowLoss) -> tuple[float, float]:
    """The step, and the loss over the bag there."""
    rows = directed_rows(problem.rows)
    reach = rows.reach()
    if not 0.0 < reach < np.inf:
        return 0.0, problem.value
    end = LARGEST_STEP / reach
    low, high = -end, end
    known = {-1: False, 1: False}  # whether the ends of the bracket are known to lie on either side of the minimum
    alpha = min(1.0, end)  # learners fitted with the curvature are Newton steps
    value, slope, curvature = rows.along(loss, alpha).tolist()
    for _ in range(MAX_ITERATIONS):
        if slope == 0.0 or (slope < 0.0 and alpha >= end) or (slope > 0.0 and alpha <= -end):
            break
        side = 1 if slope > 0.0 else -1
        low, high = (low, alpha) if side > 0 else (alpha, high)
        known[side] = True
        newton = alpha - slope / curvature if curvature > 0.0 else -side * np.inf
        if low < newton < high:
            following = newton
        elif known[-side]:
            following = (low + high) / 2.0
        else:
            following = high if side < 0 else low  # nothing is known beyond: look at the very end
        change = following - alpha
        if following == newton and abs(change) <= TOLERANCE * abs(following):
            alpha, value = following, value + 0.5 * slope * change  # the parabola's least value
            break
        if abs(change) <= FINEST * abs(alpha):
            break
        alpha = following
        value, slope, curvature = rows.along(loss, alpha).tolist()
    return alpha, value
