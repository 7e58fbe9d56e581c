"""Steps, and what they may ask for."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from minrisk._typing import FloatArray
from minrisk.rows.rows import Rows

LARGEST_STEP = 18.0  # |a| beyond this changes a weight by more than float64 resolves


class StepProblem(NamedTuple):
    """The loss along the response that the rows hold: sum over the bag of loss(scores + f a), plus smoothing.

    Output k is smoothed by ``ridge[k] * (F(a_k) + F(-a_k))`` with ridge = smoothing * (what can still be lost in
    output k): two phantom rows that f cannot tell apart. Relative to the excess over the floor and not to the total
    weight, which general costs keep from ever decaying.
    """

    rows: Rows
    loss: Any  # a `minrisk.rows.row_losses.Loss`, with what the step asks for
    hessian: FloatArray  # (D,), its sum over the bag
    value: float  # loss over the bag at a = 0
    ridge: FloatArray  # (D,)
    log_scale: float  # sums are times exp(-log_scale)
    directions: FloatArray | None = None  # (R, D): the vectors that R learners go along together; None: free
    errors: FloatArray | None = None  # (R, 2, 2): of learners of one chain each, see `ChainRows.side_errors`
    bundle: Any = None  # of cutting planes that a dual step has found for the learners so far

    def fall(self, step: Step) -> float:
        """Return the share of the loss that a step takes away."""
        return max(0.0, 1.0 - step.value / self.value) if self.value > 0.0 else 0.0


class Step(NamedTuple):
    """Vectors and the loss over the bag after them (smoothing left out), in the units of `StepProblem.value`.

    One vector is for the whole learner, times its response; of several each row adds the one that its leaf names.
    """

    vectors: FloatArray  # (V, D)
    value: float
    changes: FloatArray | None = None  # (T, D): what totally corrective steps add to the vectors of earlier learners
    edge: float = math.nan  # see `minrisk.steps.closed_form`, of steps that know one


class StepSolver(ABC):
    """Finds the vectors.

    Attributes
    ----------
    requires : frozenset of str and types
        Traits that the loss and the learners must have together, and the kind that rows must be of.
    gain : int, optional
        The drop that a stump search maximises (`minrisk._kernels.split`); None: the loss's own.
    columns : int
        What the rows must hold in fixed point; see `Rows.weigh`.
    """

    requires: ClassVar[frozenset[str | type[Rows]]]
    gain: ClassVar[int | None] = None
    columns: ClassVar[int] = 0

    @abstractmethod
    def solve(self, problem: StepProblem) -> Step:
        """Minimise along the response."""


def clip_step(vector: FloatArray) -> FloatArray:
    """Cut infinite and enormous steps."""
    finite = np.nan_to_num(vector, nan=0.0, posinf=LARGEST_STEP, neginf=-LARGEST_STEP)
    return np.clip(finite, -LARGEST_STEP, LARGEST_STEP)
