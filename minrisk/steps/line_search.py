"""The exact step along given directions: MCBoost's alpha* (Beijbom et al., ICML 2014, Eq. 31).

The exact step of a separator: the root of PIBoost's polynomial (Fernández-Baldera and Baumela 2014, Eq. 8).

With s of K classes in the set, A_1 the weight of its rows, A_2 that of the others, and eps_1, eps_2 what the learner
gets wrong of either, the loss of the chain after a step of x = ln R is

    (A_1 - eps_1) e^(-(K-s) x) + eps_1 e^((K-s) x) + (A_2 - eps_2) e^(-s x) + eps_2 e^(s x),

which is convex. Its slope over 1,

    (K-s) eps_1 e^((K-s) x) + s eps_2 e^(s x) - s (A_2 - eps_2) e^(-s x) - (K-s) (A_1 - eps_1) e^(-(K-s) x),

is x^-(K-s) times the paper's polynomial, but without its division by x^(K-2s), which fails for s > K/2. It rises
everywhere. Its one root lies between those of the two groups alone, ln((A_1 - eps_1) / eps_1) / (2 (K - s)) and
ln((A_2 - eps_2) / eps_2) / (2 s). In logarithms the slope's two halves are nearly straight lines, so that Newton's
method takes a few iterations for K of hundreds, too.

Deviation: x is cut such that no weight changes by more than e^18, where the paper's R would be 0 or infinite: the
learner errs nowhere in the chain, or everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from minrisk._kernels._dtypes import TIE
from minrisk._kernels.functions import exp, log
from minrisk._typing import FloatArray, IntArray
from minrisk.losses.base import DIRECTED, JOINT, LEAVES
from minrisk.rows.directed import ChainRows, DirectedRows
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
        (1.0 + 2.0 * t) * (1.0 - t) * (1.0 - t) * before.alpha
        + t * (1.0 - t) * (1.0 - t) * h / before.curvature
        + t * t * (3.0 - 2.0 * t) * alpha
        + t * t * (t - 1.0) * h / curvature
    )
    if not abs(guess - newton) <= 0.5 * abs(newton - alpha):  # too far apart for the cubic
        return simple
    return guess, (abs(guess - alpha) / size) * (abs(guess - before.alpha) / size)


# -- Separators --------------------------------------------------------------------------------------------------------
ROOT_ITERATIONS = 100  # Newton's take five; halving the bracket 100 times ends at neighbouring numbers
ROOT_WITHIN = 1e-15  # of a root: relative change that ends the iterations


@dataclass(frozen=True, eq=False)
class SeparatorStep(StepSolver):
    """The exact step along each chain."""

    sizes: IntArray  # classes in each set
    n_classes: int

    columns = 1
    requires = frozenset({ChainRows})

    def solve(self, problem: StepProblem) -> Step:
        """Find vectors along each chain: (K - s)(K - 1) x, in the unit of `minrisk.model.codes.separators`."""
        assert problem.errors is not None  # as the learners of chains say
        s = self.sizes.astype(np.float64)
        x = separator_roots(problem.errors, s, self.n_classes)
        right, wrong = problem.errors[:, :, 0] - problem.errors[:, :, 1], problem.errors[:, :, 1]
        rates = np.stack([self.n_classes - s, s], axis=1)
        moved = rates * x[:, None]
        after = (right * exp(-moved) + wrong * exp(moved)).sum(axis=1)
        before = problem.errors[:, :, 0].sum(axis=1)
        share = np.divide(after, before, out=np.ones_like(before), where=before > 0)
        steps = (self.n_classes - s) * (self.n_classes - 1.0) * x
        return Step(np.diag(steps), float(problem.value * share.mean()))


def separator_roots(errors: FloatArray, sizes: FloatArray, n_classes: int) -> FloatArray:
    """Find x = ln R of each chain, (G,).

    Parameters
    ----------
    errors : ndarray of shape (G, 2, 2)
        (A_1, eps_1) and (A_2, eps_2) of each.
    sizes : ndarray of shape (G,)
        s.
    n_classes : int
        K.
    """
    rates = np.stack([n_classes - sizes, sizes], axis=1)
    wrong, right = errors[:, :, 1], errors[:, :, 0] - errors[:, :, 1]
    end = LARGEST_STEP / rates.max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        own = (log(right) - log(wrong)) / (2.0 * rates)  # of each group; infinite, or NaN without rows
    some = ~np.isnan(own)
    low = np.clip(np.where(some, own, np.inf).min(axis=1), -end, end)
    high = np.clip(np.where(some, own, -np.inf).max(axis=1), -end, end)
    nothing = ~some.any(axis=1)
    low, high = np.where(nothing, 0.0, low), np.where(nothing, 0.0, high)
    with np.errstate(divide="ignore"):
        up, down = log(rates * wrong), log(rates * right)
    x = (low + high) / 2.0
    for _ in range(ROOT_ITERATIONS):
        value, slope = _slope_of_logarithms(x, up, down, rates)
        low, high = np.where(value < 0, x, low), np.where(value > 0, x, high)
        with np.errstate(invalid="ignore"):
            newton = x - value / slope
        following = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2.0)
        following = np.where((value == 0) | nothing | (low == high), x, following)
        done = np.abs(following - x) <= ROOT_WITHIN * np.abs(x)
        x = following
        if done.all():
            break
    return np.asarray(x)


def _slope_of_logarithms(
    x: FloatArray, up: FloatArray, down: FloatArray, rates: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the log of the slope's rising half less that of its falling one, and its derivative, (G,) each."""
    total, rise = np.empty((2, *x.shape)), np.empty((2, *x.shape))
    for half, (logs, sign) in enumerate(((up, 1.0), (down, -1.0))):
        terms = logs + sign * rates * x[:, None]
        top = terms.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            part = exp(terms - np.where(np.isfinite(top), top, 0.0))
        sums = part.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            total[half] = log(sums) + np.where(np.isfinite(top[:, 0]), top[:, 0], 0.0)
            rise[half] = sign * (part * rates).sum(axis=1) / sums
    with np.errstate(invalid="ignore"):
        value, slope = total[0] - total[1], rise[0] - rise[1]
    return np.nan_to_num(value, nan=0.0), np.nan_to_num(slope, nan=1.0)
