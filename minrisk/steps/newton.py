"""Exact minimisation along a response, one safeguarded Newton iteration per output."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from minrisk._typing import FloatArray
from minrisk.losses.base import EXPONENTIAL, SEPARABLE
from minrisk.rows.row_losses import is_separable
from minrisk.steps.base import LARGEST_STEP, Step, StepProblem
from minrisk.steps.edges import edge_of

BISECTION_TOLERANCE = 1e-12  # of a vector's entry, relative (or absolute below 1): where a bisection ends
LAST_STEP = 1e-7  # of Newton's: its error is about the square, as no third derivative exceeds the second
NEWTON_ITERATIONS = 60  # bisection alone needs 45 for the tolerance


@dataclass(frozen=True)
class NewtonStep:
    """For each output the root of the slope, by Newton steps kept inside a bracket; all outputs in the same passes.

    For the squared loss the first step is exact. Where the terms P of the slope that grow like e^a and those N that
    fall are known (`Rows.slopes`), the step is the root of P e^(s d) - N e^(-s d) with the curvature s (P + N), which
    is exact for responses of one size and takes less than half the passes of Newton's.
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
        value, edge = np.zeros(D), math.nan
        for number in range(NEWTON_ITERATIONS):
            value, own_slope, own_curvature, *terms = problem.rows.slopes(loss, vector)
            if number == 0 and EXPONENTIAL in loss.traits:
                edge = edge_of(own_slope, problem.mass + 2.0 * problem.ridge)
            ridge_slope, ridge_curvature = loss.phantom(vector)
            slope = own_slope + problem.ridge * ridge_slope
            curvature = own_curvature + problem.ridge * ridge_curvature
            low = np.where(slope < 0, vector, low)
            high = np.where(slope > 0, vector, high)
            size = terms[0] + problem.ridge * ridge_curvature if terms else None
            newton = vector + _step(slope, curvature, size)
            outside = (newton <= low) | (newton >= high)
            following = np.where(slope == 0, vector, np.where(outside, (low + high) / 2, newton))
            change = following - vector
            vector = following
            value = value + change * (own_slope + 0.5 * change * own_curvature)  # there, once the change is small
            tolerance = np.where(outside, BISECTION_TOLERANCE, LAST_STEP)
            if np.all(np.abs(change) <= tolerance * np.maximum(1.0, np.abs(vector))):
                break
        else:
            value = problem.rows.slopes(loss, vector)[0]
        return Step(vector[None], float(value.sum()), edge=edge)


def _step(slope: FloatArray, curvature: FloatArray, size: FloatArray | None) -> FloatArray:
    """To the root of the slope: Newton's step, or that of two exponentials whose sizes add up to `size`."""
    D = len(slope)
    step: FloatArray = -np.divide(slope, curvature, out=np.zeros(D), where=curvature > 0)
    if size is not None:
        growing, falling = (size + slope) / 2, (size - slope) / 2
        known = (growing > 0) & (falling > 0) & (curvature > 0)
        ratio = np.divide(falling, growing, out=np.ones(D), where=known)
        rate = np.divide(size, 2 * curvature, out=np.zeros(D), where=known)
        step = np.where(known, rate * np.log(ratio), step)
    return step
