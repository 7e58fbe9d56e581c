"""Losses as rows see them: the columns that they read and fill, and what they may be asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Self

import numpy as np

from minrisk._kernels.split import QUADRATIC_GAIN
from minrisk._typing import Bag, FloatArray, IntArray
from minrisk.model.links import Link
from minrisk.rows.costs import CostFacts, RowCosts

EXPONENTIAL = "exponential"  # the trait of a loss c+ e^h + c- e^-h per entry: its Hessian is its value
SEPARABLE = "separable"  # a sum over outputs of convex functions of one score each
SERIES = "series"  # a separable loss whose third to sixth derivatives are no larger than the second
JOINT = "joint"  # a loss of all scores of a row together: its value belongs to rows, not to outputs

SOFTMAX_GRADIENT = "softmax gradient"  # a joint loss whose `gradient` is 1 at the true class less probabilities


class LossColumns(NamedTuple):
    """The columns of rows that losses read and fill, in the order in which kernels take them."""

    costs: RowCosts
    scores: FloatArray  # (n, D)
    log_scale: float  # what is filled is times e^-log_scale
    gradient: FloatArray  # (n, D): minus the loss's, so it points where scores should move
    hessian: FloatArray  # (n, D): its diagonal; without rows where nobody asks for it
    value: FloatArray  # (n,), of `JOINT` losses: of each row
    in_bag: Bag  # (n,)


class Groups(NamedTuple):
    """A direction by its different values, and the sums of each row's terms by them."""

    number: IntArray  # (D,): which value a decision has
    values: FloatArray  # (G,)
    terms: FloatArray  # (P, n), P as the loss likes


class Course(NamedTuple):
    """A line through the scores: row i is looked at at scores + step * factor[i] * move[i], or move[0]."""

    factor: FloatArray  # (n,)
    move: FloatArray  # (n, D), or (1, D) for all rows alike
    step: float
    line: FloatArray  # (3, n), is filled with value, slope and curvature of each row
    groups: Groups | None = None  # the move by its values, where the loss can do with these


class LossFacts(NamedTuple):
    """What a loss says of rows before any round."""

    constant: float  # mean of what scores cannot change, in stated costs
    unit: float  # what a loss of 1 is in stated costs
    floors: FloatArray  # (D,) sums of the least values of each output's loss
    log_scale: float  # to start with
    weight: float  # of all rows


class Loss(ABC):
    """A cost-sensitive surrogate.

    Methods that take `LossColumns` pass over rows start..stop. All they fill is without the factor 1/(2 W) of the mean.
    A loss may be asked for the rest before it knows any costs; what it keeps of each line of a cost table, rows have it
    find where their costs are (`for_costs`), and methods that take `RowCosts` are those of what that returns.
    """

    @property
    @abstractmethod
    def traits(self) -> frozenset[str]:
        """Facts that others may rely on.

        `SEPARABLE` (steps and signs of one output do not change another's loss) or `JOINT`, and `EXPONENTIAL`
        (gradients and Hessians say all of it).
        """

    @property
    @abstractmethod
    def base(self) -> str:
        """Return its name."""

    @property
    def gain(self) -> int:
        """Return which drop a stump search maximises (`minrisk._kernels.split`); E^2 / (2 M) is one Newton step."""
        return int(QUADRATIC_GAIN)

    # -- of all rows -----------------------------------------------------------------------------------------------
    def for_costs(self, costs: RowCosts) -> Self:
        """Return the same loss with what it keeps of each line of these rows' cost table."""
        return self

    def constant(self, costs: RowCosts) -> float:
        """Return the mean over rows of the part of the loss that scores cannot change, in stated costs."""
        return 0.0

    def unit(self, costs: RowCosts) -> float:
        """Return what a loss of 1 is in stated costs; 1 where the loss is no multiple of the costs."""
        return costs.unit

    def floors(self, costs: RowCosts) -> FloatArray:
        """Return the sum over rows of the least value of each output's loss, (D,), in the units of `Totals.value`."""
        return np.zeros(costs.n_decisions)

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """Return a common factor e^-s that brings the first weights near 1; 0 where weights cannot overflow.

        `top_weight` is the largest weight of a row.
        """
        return 0.0

    def link(self, costs: CostFacts) -> Link | None:
        """Return the link from scores to probabilities, where the minimiser of the expected loss determines them."""
        return None


class RowLoss(Loss):
    """A loss whose gradients and Hessians rows ask for, at all scores of a row."""

    @abstractmethod
    def gradients(self, at: LossColumns, start: int, stop: int) -> FloatArray:
        """Fill gradient, Hessian and, of a `JOINT` loss, value.

        Returns
        -------
        ndarray of shape (3, D)
            Column maxima of |gradient|, Hessian and value; a row's value counts in the column of its true class.
        """


class SeparableLoss(RowLoss):
    """A loss with the trait `SEPARABLE`."""

    @abstractmethod
    def contrast(self, at: LossColumns, vector: FloatArray, out: FloatArray, start: int, stop: int) -> float:
        """Fill out with half the loss at scores - vector less half of it at scores + vector; return the largest."""

    @abstractmethod
    def slopes(
        self, at: LossColumns, response: np.ndarray, vector: FloatArray, factors: FloatArray, start: int, stop: int
    ) -> IntArray:
        """Return value, slope and curvature of the bag along the response, in fixed point (3, D)."""

    @abstractmethod
    def entry_bounds(self, top_value: FloatArray, vector: FloatArray, top_cost: float) -> FloatArray:
        """Bound value, slope and curvature of any entry after a step (3, D), from the largest value before it."""

    @abstractmethod
    def phantom(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the first and second derivative of F(a) + F(-a)."""
