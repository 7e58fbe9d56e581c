"""Steps of learners with one vector: the exponential's closed form (REBEL, S.6), and Newton's method for other losses.

Edges of rounds prove by how much the exponential loss falls (REBEL, S.6.1 and S.7.1). Of a learner f with answers in
[-1, 1] let E_k be the sum of f (w- - w+) over the rows, which is (s- - s+)_k, and R_k that of w- + w+, phantom rows
among them, which is (s- + s+)_k. Its edge is

    phi = sum_k |E_k| / sum_k R_k,

the gamma of Eq. (10) without the floor c*; for 0/1 costs that is 0, and phi the gamma of Eq. (10) and (11). For real
answers e^(f a) <= (1 + f) / 2 e^a + (1 - f) / 2 e^-a makes the same sums a bound. By Eq. (8) the best vector leaves of
the loss, its constant term left out, at most

    sum_k sqrt(R_k^2 - E_k^2) <= sqrt(1 - phi^2) sum_k R_k,

also where phantom rows smooth it: whatever the vector is, they lose no less than before. Of a vector shortened by a
factor eta <= 1 the loss is, by convexity, at most 1 - eta (1 - sqrt(1 - phi^2)) of what it was. So its edge is here the
number for which this is sqrt(1 - phi^2) again, and what T rounds leave is always at most the product of their factors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from minrisk._kernels.functions import arctanh, exp, log, tanh
from minrisk._kernels.split import SIDES_GAIN
from minrisk._typing import FloatArray
from minrisk.losses.base import EXPONENTIAL, SEPARABLE, SIGNS, STUMPS
from minrisk.steps.base import LARGEST_STEP, Step, StepProblem, StepSolver, clip_step

UNPROVEN = math.nan  # the edge of a round that proves nothing of the loss


def edge_of(edges: FloatArray, room: FloatArray) -> float:
    """Return phi from E and R; no entry of a vector exceeds 18, which leaves e^-36 of an answer that is all right."""
    total = float(room.sum())
    return float(np.minimum(np.abs(edges), tanh(LARGEST_STEP) * room).sum()) / total if total > 0.0 else 0.0


def shortened(edge: float, factor: float) -> float:
    """Return the edge of a vector that is multiplied by this factor."""
    if factor == 1.0:
        return edge
    left = 1.0 - factor * (1.0 - kept_share(edge))
    return math.sqrt(max(0.0, (1.0 - left) * (1.0 + left))) if factor < 1.0 else UNPROVEN


def kept_share(edge: float) -> float:
    """Return sqrt(1 - phi^2), what a round leaves of the loss at most."""
    return math.sqrt((1.0 - edge) * (1.0 + edge))


# -- closed forms ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class ClosedFormStep(StepSolver):
    """a_k = atanh(E_k / (T_k + 2 ridge_k)) for f in {-1, +1}.

    With T = s+ + s- and E = s- - s+ this is 1/2 ln((s- + ridge) / (s+ + ridge)), the minimiser of
    s+ e^a + s- e^-a + ridge (e^a + e^-a); the loss after it is T cosh a - E sinh a.
    """

    requires = frozenset({EXPONENTIAL, SIGNS})
    columns = 1

    def solve(self, problem: StepProblem) -> Step:
        """Minimise along the response, in one pass over the rows."""
        edges, hessian = problem.rows.edges(), problem.hessian
        room = hessian + 2.0 * problem.ridge
        vector = minimiser(edges, room)
        return Step(vector[None], value_after(edges, hessian, vector), edge=edge_of(edges, room))


@dataclass(frozen=True)
class TwoSidedStep(StepSolver):
    """The constant term is fitted again in every round: H + f a + b, jointly in a and b.

    Then either side of a stump has a vector of its own, a_- = b - a and a_+ = b + a, each in closed form from the sums
    over its rows; each side gets half of the smoothing. The vectors are (a_-, a_+).
    """

    requires = frozenset({EXPONENTIAL, SIGNS, STUMPS})
    gain = SIDES_GAIN
    columns = 2

    def solve(self, problem: StepProblem) -> Step:
        """Minimise on either side, in four passes over the rows."""
        gradient, hessian = problem.rows.side_sums()
        room = hessian + problem.ridge
        sides = minimiser(gradient, room)
        return Step(sides, value_after(gradient, hessian, sides), edge=edge_of(gradient, room))


def minimiser(gradient: FloatArray, room: FloatArray) -> FloatArray:
    """Return the minimiser of T cosh a - E sinh a, atanh(E / T), 0 where T is 0."""
    ratio = np.divide(gradient, room, out=np.zeros_like(gradient), where=room > 0)
    with np.errstate(divide="ignore"):
        return clip_step(arctanh(np.clip(ratio, -1.0, 1.0)))


def value_after(gradient: FloatArray, hessian: FloatArray, vector: FloatArray) -> float:
    """Return the exponential loss after this vector, T cosh a - E sinh a."""
    grown = exp(vector)
    return 0.5 * float(np.sum((hessian - gradient) * grown + (hessian + gradient) / grown))


# -- Newton's method ---------------------------------------------------------------------------------------------------
BISECTION_TOLERANCE = 1e-12  # of a vector's entry, relative (or absolute below 1): where a bisection ends
LAST_STEP = 1e-7  # of Newton's: its error is about the square, as no third derivative exceeds the second
NEWTON_ITERATIONS = 60  # bisection alone needs 45 for the tolerance


@dataclass(frozen=True)
class NewtonStep(StepSolver):
    """For each output the root of the slope, by Newton steps kept inside a bracket; all outputs in the same passes.

    For the squared loss the first step is exact. Where the terms P of the slope that grow like e^a and those N that
    fall are known (`Rows.slopes`), the step is the root of P e^(s d) - N e^(-s d) with the curvature s (P + N), which
    is exact for responses of one size and takes less than half the passes of Newton's.
    """

    requires = frozenset({SEPARABLE})
    columns = 1

    def solve(self, problem: StepProblem) -> Step:
        """Minimise along the response, in a few passes over the rows."""
        D, loss = len(problem.hessian), problem.loss
        low, high = np.full(D, -LARGEST_STEP), np.full(D, LARGEST_STEP)
        vector = np.zeros(D)
        value, edge = np.zeros(D), math.nan
        for number in range(NEWTON_ITERATIONS):
            value, own_slope, own_curvature, *terms = problem.rows.slopes(loss, vector)
            if number == 0 and EXPONENTIAL in loss.traits:
                edge = edge_of(own_slope, problem.hessian + 2.0 * problem.ridge)
            ridge_slope, ridge_curvature = loss.phantom(vector)
            slope = own_slope + problem.ridge * ridge_slope
            curvature = own_curvature + problem.ridge * ridge_curvature
            # The loss is convex in each entry, so that the sign of the slope says on which side the root is.
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
    """Step to the root of the slope: Newton's step, or that of two exponentials whose sizes add up to `size`."""
    D = len(slope)
    step: FloatArray = -np.divide(slope, curvature, out=np.zeros(D), where=curvature > 0)
    if size is not None:
        growing, falling = (size + slope) / 2, (size - slope) / 2
        known = (growing > 0) & (falling > 0) & (curvature > 0)
        ratio = np.divide(falling, growing, out=np.ones(D), where=known)
        rate = np.divide(size, 2 * curvature, out=np.zeros(D), where=known)
        step = np.where(known, rate * log(ratio), step)
    return step
