"""The step of multi-class learners: every leaf answers a class, which is one of K fixed vectors, times one number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minrisk._kernels._dtypes import TIE
from minrisk._typing import FloatArray, IntArray
from minrisk.losses.base import EXPONENTIAL, JOINT, LEAVES
from minrisk.model.step_tables import on_grid
from minrisk.steps.base import LARGEST_STEP, Step, StepProblem

RELABELLINGS = 20  # of the leaves, at most; each lowers the loss, and two or three are usual
RATE_PASSES = 100  # looks at the slope, at most: halving alone needs half of them
RATE_TOLERANCE = 1e-14  # of the rate, relative: where its search ends


@dataclass(frozen=True, eq=False)
class CodewordStep:
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
    requires: frozenset[str] = frozenset({EXPONENTIAL, JOINT, LEAVES})
    gain: int | None = None
    columns: int = 0

    def solve(self, problem: StepProblem) -> Step:
        """Minimise over answers and rate, from one pass over the rows."""
        S, V = problem.rows.leaf_sums()[0], self.codewords
        size = float(np.abs(V).max(initial=0.0))
        falls = S @ V.T
        nearly = falls.max(axis=1, keepdims=True) - TIE * size * S.sum(axis=1, keepdims=True)
        answers = np.argmax(falls >= nearly, axis=1)
        if size == 0.0:
            return Step(np.zeros_like(S), problem.value)
        phantom = float(problem.ridge.sum()) / V.size
        rate = least_of_exponentials(by_answer(S, answers, len(V)) + phantom, V, LARGEST_STEP / size)
        for _ in range(RELABELLINGS):
            losses = S @ np.exp(-rate * V).T
            own = losses[np.arange(len(S)), answers]
            least = losses.min(axis=1)
            better = least < own * (1.0 - TIE)
            if not better.any():
                break
            answers = np.where(better, np.argmax(losses <= least[:, None] * (1.0 + TIE), axis=1), answers)
            rate = least_of_exponentials(by_answer(S, answers, len(V)) + phantom, V, LARGEST_STEP / size)
        value = (by_answer(S, answers, len(V)) * np.exp(-rate * V)).sum()
        return Step(on_grid(rate * V)[answers], float(value))  # votes that tie have equal sums


def by_answer(S: FloatArray, answers: IntArray, K: int) -> FloatArray:
    """Weights of the classes in the leaves of each answer, (K, D)."""
    sums = np.zeros((K, S.shape[1]))
    np.add.at(sums, answers, S)
    return sums


def least_of_exponentials(weight: FloatArray, speed: FloatArray, largest: float) -> float:
    """The b in [0, largest] of least sum weight exp(-b speed); arrays of one shape.

    The function is convex: its slope is followed by Newton's steps, kept inside a bracket.
    """
    low, high, b = 0.0, largest, 0.0
    for _ in range(RATE_PASSES):
        terms = weight * np.exp(-b * speed)
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
