"""Steps of trees with a vector in every leaf: free vectors, votes of -1 and +1, and codewords with one rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minrisk._kernels._dtypes import TIE
from minrisk._kernels.functions import exp
from minrisk._kernels.scores import closed_form, newton
from minrisk._typing import FloatArray, IntArray
from minrisk._utils.algebra import product
from minrisk.losses.base import EXPONENTIAL, JOINT, LEAVES
from minrisk.model.coded_trees import on_grid
from minrisk.steps.base import LARGEST_STEP, Step, StepProblem, StepSolver
from minrisk.steps.closed_form import minimiser, value_after

LARGEST_NEWTON = 4.0  # a Newton step beyond this says that the curvature has vanished, not where the minimum is


@dataclass(frozen=True)
class LeafClosedForm(StepSolver):
    """a_k = 1/2 ln((S-_k + ridge_k) / (S+_k + ridge_k)) in every leaf, the minimiser of S+ e^a + S- e^-a there."""

    requires = frozenset({EXPONENTIAL, LEAVES})

    def solve(self, problem: StepProblem) -> Step:
        """Minimise in every leaf, in one pass over the rows."""
        gradient, hessian = problem.rows.leaf_sums()
        return Step(*closed_form(gradient, hessian, problem.ridge, LARGEST_STEP))


@dataclass(frozen=True)
class LeafNewton(StepSolver):
    """a_k = E_k / (M_k + smoothing M_k(all rows)): the Newton step with the diagonal of the Hessian.

    Notes
    -----
    A loss that only sees differences of scores has a Hessian of rank D - 1; its diagonal overstates the step by
    D / (D - 1), which is taken back (Friedman, Hastie and Tibshirani, "Additive logistic regression", 2000).
    """

    smoothing: float  # curvature of phantom rows in every leaf, as a share of all rows'
    requires = frozenset({LEAVES})

    def solve(self, problem: StepProblem) -> Step:
        """Take one step in every leaf, in one pass over the rows."""
        gradient, hessian = problem.rows.leaf_sums()
        shrinkage = 1.0 - 1.0 / gradient.shape[1] if JOINT in problem.loss.traits else 1.0
        vectors, fall = newton(gradient, hessian, problem.hessian, self.smoothing, shrinkage, LARGEST_NEWTON)
        return Step(vectors, problem.value - fall)


@dataclass(frozen=True)
class VoteStep(StepSolver):
    """a_jk = alpha sign(E_jk) in leaf j, alpha = 1/2 ln((1 + r) / (1 - r)), r = sum_jk |E_jk| / T.

    E is the sum of the gradient in a leaf and T that of the Hessian over all rows and outputs. Of Schapire and Singer
    (1999), Sec. 3.1 for h in {-1, +1} of rows and labels: r is the largest correlation of any h that is constant in the
    leaves, and the loss falls by sqrt(1 - r^2). Where E is 0 the vote is -1.
    """

    requires = frozenset({EXPONENTIAL, LEAVES})

    def solve(self, problem: StepProblem) -> Step:
        """Minimise over the rate, from one pass over the rows."""
        gradients, hessians = problem.rows.leaf_sums()
        gradient, hessian = np.array([np.abs(gradients).sum()]), np.array([problem.hessian.sum()])
        alpha = minimiser(gradient, hessian + 2.0 * problem.ridge.sum())
        # Rounding may leave a little of a sum that is 0: a leaf votes +1 only if it is for that by more than a tie.
        return Step(np.where(gradients > TIE * hessians, alpha, -alpha), value_after(gradient, hessian, alpha))


RELABELLINGS = 20  # of the leaves, at most; each lowers the loss, and two or three are usual
RATE_PASSES = 100  # looks at the slope, at most: halving alone needs half of them
RATE_TOLERANCE = 1e-14  # of the rate, relative: where its search ends


@dataclass(frozen=True, eq=False)
class CodewordStep(StepSolver):
    """Answers k of the leaves and the rate b >= 0 of least sum_lk S_lk exp(-b V_kl), S_lk the weight of class l in k.

    First each leaf answers argmax_k sum_l S_l V_kl, by which the loss falls fastest at b = 0. Then b is solved for and
    the leaves answer again by the loss at this b, until no answer changes. The ridge is spread evenly over the pairs of
    class and answer, as phantom rows that do not say which way is down at b = 0.

    Parameters
    ----------
    codewords : ndarray of shape (K, D)
        V: row k is what a leaf that answers k adds to the scores, times b. They sum to 0, so b is not negative.
    """

    codewords: FloatArray
    requires = frozenset({EXPONENTIAL, JOINT, LEAVES})

    def solve(self, problem: StepProblem) -> Step:
        """Minimise over answers and rate, from one pass over the rows."""
        S, V = problem.rows.leaf_sums()[0], self.codewords
        size = float(np.abs(V).max(initial=0.0))
        falls = product(S, V.T)
        # Answers that are equally good to rounding are one: the first of them is taken.
        nearly = falls.max(axis=1, keepdims=True) - TIE * size * S.sum(axis=1, keepdims=True)
        answers = np.argmax(falls >= nearly, axis=1)
        if size == 0.0:
            return Step(np.zeros_like(S), problem.value)
        phantom = float(problem.ridge.sum()) / V.size
        rate = least_of_exponentials(by_answer(S, answers, len(V)) + phantom, V, LARGEST_STEP / size)
        for _ in range(RELABELLINGS):
            losses = product(S, exp(-rate * V).T)
            own = losses[np.arange(len(S)), answers]
            least = losses.min(axis=1)
            better = least < own * (1.0 - TIE)
            if not better.any():
                break
            answers = np.where(better, np.argmax(losses <= least[:, None] * (1.0 + TIE), axis=1), answers)
            rate = least_of_exponentials(by_answer(S, answers, len(V)) + phantom, V, LARGEST_STEP / size)
        value = (by_answer(S, answers, len(V)) * exp(-rate * V)).sum()
        return Step(on_grid(rate * V)[answers], float(value))  # votes that tie have equal sums


def by_answer(S: FloatArray, answers: IntArray, K: int) -> FloatArray:
    """Return the weights of the classes in the leaves of each answer, (K, D)."""
    sums = np.zeros((K, S.shape[1]))
    np.add.at(sums, answers, S)
    return sums


def least_of_exponentials(weight: FloatArray, speed: FloatArray, largest: float) -> float:
    """Return the b in [0, largest] of least sum weight exp(-b speed); arrays of one shape.

    The function is convex: its slope is followed by Newton's steps, kept inside a bracket.
    """
    low, high, b = 0.0, largest, 0.0
    for _ in range(RATE_PASSES):
        terms = weight * exp(-b * speed)
        slope, curvature = -float((terms * speed).sum()), float((terms * speed * speed).sum())
        if slope == 0.0 or (slope > 0.0 and b == 0.0) or (slope < 0.0 and b == largest):
            break
        low, high = (b, high) if slope < 0.0 else (low, b)
        newton = b - slope / curvature if curvature > 0.0 else largest
        following = newton if low < newton < high else (high if newton >= high == largest else 0.5 * (low + high))
        if abs(following - b) <= RATE_TOLERANCE * following:
            break
        b = following
    return b
