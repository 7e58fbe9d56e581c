"""The exact step along given directions: MCBoost's alpha* (Beijbom et al., ICML 2014, Eq. 31)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from minrisk._kernels._dtypes import TIE
from minrisk._typing import FloatArray
from minrisk.losses.base import DIRECTED, JOINT, LEAVES
from minrisk.rows.directed import DirectedRows
from minrisk.steps.base import LARGEST_STEP, Step, StepProblem, StepSolver

LINE_ITERATIONS = 100  # looks at the line, at most: Newton's steps need a few, halving alone fewer than these
STEP_TOLERANCE = 1e-7  # a step this small, relative to the one so far, leaves an error of its square
FINEST = 1e-13  # where nothing else helps, the bracket is halved down to this


class Point(NamedTuple):
    """A step tried, with the slope and the curvature of the loss there."""

    alpha: float
    slope: float
    curvature: float


@dataclass(frozen=True)
class LineSearch(StepSolver):
    """alpha* = argmin over alpha of sum_n L(S_n + alpha d_n), by Newton steps kept inside a bracket.

    No score moves by more than 18: on data that a learner separates perfectly the minimiser is infinite.
    """

    requires = frozenset({JOINT, DIRECTED, DirectedRows})

    def solve(self, problem: StepProblem) -> Step:
        """Minimise along the line that the rows look along, in a few passes over them."""
        assert problem.directions is not None
        alpha, value = search(problem)
        return Step(alpha * problem.directions, value)


@dataclass(frozen=True, eq=False)
class CodewordSearch(StepSolver):
    """alpha* y_l in every leaf l: y_l is the codeword along which the leaf's loss falls fastest, alpha* common to all.

    g* = argmax over g of sum_n <y_g(n), -dL/df_n> and alpha* = argmin over alpha of L(f + alpha g*), the gradient
    descent of Saberian and Vasconcelos (NIPS 2011) on a tree's leaves. Of the first of several equally good codewords.
    """

    codewords: FloatArray  # (K, D): scores of each
    requires = frozenset({JOINT, LEAVES, DirectedRows})

    def solve(self, problem: StepProblem) -> Step:
        """Find the codewords by one pass over the rows, the step by a few."""
        rows = cast(DirectedRows, problem.rows)  # as required
        falls = np.sum(rows.leaf_sums()[0][:, None, :] * self.codewords, axis=2)
        # Codewords that are equally good to rounding are one: the first of them is taken.
        nearly = falls.max(axis=1, keepdims=True) - TIE * np.abs(falls).max(axis=1, keepdims=True)
        vectors = self.codewords[np.argmax(falls >= nearly, axis=1)]
        rows.steer_leaves(vectors, problem.value)
        alpha, value = search(problem)
        return Step(alpha * vectors, value)


@dataclass(frozen=True)
class UnitStep(StepSolver):
    """A step of 1: the learners are fitted so that their answers are Newton's steps themselves."""

    requires = frozenset({JOINT, DIRECTED, DirectedRows})

    def solve(self, problem: StepProblem) -> Step:
        """Look at the loss there, in one pass over the rows."""
        assert problem.directions is not None
        return Step(problem.directions, float(cast(DirectedRows, problem.rows).along(problem.loss, 1.0)[0]))


def search(problem: StepProblem) -> tuple[float, float]:
    """Search for the step; return it and the loss over the bag there."""
    rows, loss = cast(DirectedRows, problem.rows), problem.loss  # as required
    reach = rows.reach()
    if not 0.0 < reach < np.inf:
        return 0.0, problem.value
    end = LARGEST_STEP / reach
    low, high = -end, end
    known = {-1: False, 1: False}  # whether the ends of the bracket are known to lie on either side of the minimum
    alpha, before = min(1.0, end), None  # learners fitted with the curvature are Newton steps
    value, slope, curvature = rows.along(loss, alpha).tolist()
    for _ in range(LINE_ITERATIONS):
        if slope == 0.0 or (slope < 0.0 and alpha >= end) or (slope > 0.0 and alpha <= -end):
            break
        side = 1 if slope > 0.0 else -1
        low, high = (low, alpha) if side > 0 else (alpha, high)
        known[side] = True
        point = Point(alpha, slope, curvature)
        guess, error = predicted(before, point)
        if low < guess < high:
            following = guess
        elif known[-side]:
            following = (low + high) / 2.0
        else:
            following = high if side < 0 else low  # nothing is known beyond: look at the very end
        change = following - alpha
        if following == guess and error <= STEP_TOLERANCE:
            alpha, value = following, value + 0.5 * slope * change  # the parabola's least value
            break
        if abs(change) <= FINEST * abs(alpha):
            break
        alpha, before = following, point
        value, slope, curvature = rows.along(loss, alpha).tolist()
    return alpha, value


def predicted(before: Point | None, point: Point) -> tuple[float, float]:
    """Guess where the slope is 0, and the root of that guess's relative error.

    From one point Newton's step, whose error is about the step's square; from two the cubic that says which alpha has
    which slope (inverse Hermite interpolation), whose error is about the square of the product of both points' errors.
    """
    alpha, slope, curvature = point
    if not curvature > 0.0:
        return (np.inf if slope < 0.0 else -np.inf), np.inf
    newton = alpha - slope / curvature
    size = abs(newton) or np.inf
    simple = newton, abs(newton - alpha) / size
    if before is None or not before.curvature > 0.0 or before.slope == slope:
        return simple
    h = slope - before.slope
    t = -before.slope / h
    guess = (
        (1.0 + 2.0 * t) * (1.0 - t) ** 2 * before.alpha
        + t * (1.0 - t) ** 2 * h / before.curvature
        + t * t * (3.0 - 2.0 * t) * alpha
        + t * t * (t - 1.0) * h / curvature
    )
    if not abs(guess - newton) <= 0.5 * abs(newton - alpha):  # too far apart for the cubic
        return simple
    return guess, (abs(guess - alpha) / size) * (abs(guess - before.alpha) / size)
