"""What the objectives of Paisitkriangkrai et al. (2013), Eq. (5), (7) and (17), are at least, from one point of theirs.

P(W) = L(W) + penalty, where L is the logarithm of the mean loss, or the mean loss over what a mistake costs on average.
L is convex in the scores. With E = -dL/dW at the present W, over whatever learners,

    L(V) >= L(W) + <E, W> - <E, V>    for all V.

Where an edge is above nu, E is no point of the dual. A share s of the rows' weights is one, and what is left of them
goes to the terms r = y, or to none: as the dual is concave, with the least value that L could have,

    P(V) >= s (L(W) + <E, W>) + (1 - s) least,    s = min(1, nu / max E).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from minrisk._typing import FloatArray
from minrisk.steps.base import StepProblem


class Bounds(NamedTuple):
    """What an objective is at least, `value`, and what it is at W."""

    value: float
    bound: float


class Point(NamedTuple):
    """W, and what is known of L there."""

    loss: float  # L
    least: float  # that L could be
    vectors: FloatArray  # W (T, D)
    edges: FloatArray  # E (T, D)
    rate: float  # by which edges of the rows are multiplied to be of L

    @classmethod
    def of(cls, problem: StepProblem, vectors: FloatArray, edges: FloatArray) -> Point:
        """By the step's problem at W, and the edges of the learners that W is of, as the rows tell them."""
        constant, unit, _, _, weight = problem.rows.facts(problem.loss)
        rate = math.exp(problem.log_scale) * unit / weight
        mean = constant + problem.value * rate
        if problem.loss.base == "exponential":
            return cls(math.log(mean), math.log(constant), vectors, rate / mean * edges, rate / mean)
        price = constant / math.log(2.0)  # of a mistake, on average: the constant is of phi(0) = log 2
        return cls(mean / price, math.log(2.0), vectors, rate / price * edges, rate / price)

    @property
    def along(self) -> float:
        """<E, W>."""
        return float(np.sum(self.edges * self.vectors))

    @property
    def norm(self) -> float:
        """|W|_1 of W >= 0."""
        return float(self.vectors.sum())

    def penalised(self, nu: float, largest: float) -> Bounds:
        """P = L + nu |W|_1 over all learners, the largest of whose edges is known."""
        share = min(1.0, nu / largest) if largest > 0.0 else 1.0
        value = share * (self.loss + self.along) + (1.0 - share) * self.least
        return _ordered(value, self.loss + nu * self.norm)

    def limited(self, nu: float, largest: float, most: float) -> Bounds:
        """P = L + nu |W|_1 over all W >= 0 with |W|_1 <= most, where E counts as it is."""
        value = self.loss + self.along - most * max(0.0, largest - nu)
        return _ordered(max(value, self.least), self.loss + nu * self.norm)

    def squared(self, nu: float) -> Bounds:
        """P = L + nu |W|^2 / 2, over the vectors of these learners: strongly convex, so that the slope tells."""
        bound = self.loss + 0.5 * nu * float(np.square(self.vectors).sum())
        slack = float(np.square(nu * self.vectors - self.edges).sum())
        return _ordered(max(bound - slack / (2.0 * nu), self.least) if nu > 0.0 else self.least, bound)


@runtime_checkable
class CertifyingStep(Protocol):
    """A step that knows what its objective is at least."""

    def certificate(self, point: Point, largest: Callable[[], float]) -> Bounds:
        """By what is known at W; `largest` searches the largest edge of all learners."""


def _ordered(value: float, bound: float) -> Bounds:
    """Both, which are equal at the optimum but for rounding."""
    return Bounds(min(value, bound), bound)
