"""Exact minimisation along a response, one safeguarded Newton iteration per output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minrisk._typing import FloatArray
from minrisk.losses.base import SEPARABLE
from minrisk.rows.base import is_separable
from minrisk.steps.base import LARGEST_STEP, Step, StepProblem

TOLERANCE = 1e-12
MAX_ITERATIONS = 60  # bisection alone needs 45 for the tolerance


@dataclass(frozen=True)
class NewtonStep:
    """For each output the root of the slope, by Newton steps kept inside a bracket; all outputs in the same passes.

    For the squared loss the first step is exact.
    """

    requires: frozenset[str] = frozenset({SEPARABLE})
    gain: int | None = None
    columns: int = 1

    def solve(self, problem: StepProblem) -> Step:
        """Minimise along the response, in a few passes over the rows."""
        D, loss = len(problem.mass), problem.loss
        assert is_separable(loss)  # as `requires` says
        low, high = np.full(D, -LARGEST_STEP), np.full(D, LARGEST_STEP)
        vector = np.zeros(D)
        value = np.zeros(D)
        for _ in range(MAX_ITERATIONS):
            value, slope, curvature = problem.rows.slopes(loss, vector)
            ridge_slope, ridge_curvature = _phantom(problem.loss.base, vector)
            slope = slope + problem.ridge * ridge_slope
            curvature = curvature + problem.ridge * ridge_curvature
            low = np.where(slope < 0, vector, low)
            high = np.where(slope > 0, vector, high)
            newton = vector - np.divide(slope, curvature, out=np.zeros(D), where=curvature > 0)
            outside = (newton <= low) | (newton >= high)
            following = np.where(slope == 0, vector, np.where(outside, (low + high) / 2, newton))
            change = np.abs(following - vector)
            vector = following
            if np.all(change <= TOLERANCE * np.maximum(1.0, np.abs(vector))):
                break
        value = problem.rows.slopes(loss, vector)[0]
        return Step(vector[None], float(value.sum()))


def _phantom(base: str, a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First and second derivative of F(a) + F(-a)."""
    if base == "logistic":
        return np.tanh(a / 2) / np.log(2), 0.5 / np.log(2) / np.cosh(a / 2) ** 2
    if base == "squared":
        return 4.0 * a, np.full_like(a, 4.0)
    return 2.0 * np.sinh(a), 2.0 * np.cosh(a)
