"""Interfaces of losses, the facts that steps and learners may rely on, and losses of differences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple, Protocol, Self

import numpy as np

from minrisk._kernels.split import QUADRATIC_GAIN
from minrisk._typing import Bag, FloatArray, Int32Array, IntArray
from minrisk.model.links import Link
from minrisk.rows.costs import CostFacts, RowCosts
from minrisk.rows.row_losses import EXPONENTIAL as EXPONENTIAL
from minrisk.rows.row_losses import JOINT as JOINT
from minrisk.rows.row_losses import SEPARABLE as SEPARABLE
from minrisk.rows.row_losses import SERIES as SERIES
from minrisk.rows.row_losses import SOFTMAX_GRADIENT as SOFTMAX_GRADIENT
from minrisk.rows.row_losses import ChainRowLoss, Gradients, JointRowLoss, LossBeforeRounds

SIGNS = "signs"  # a learner that answers -1 or +1
STUMPS = "stumps"  # a learner with one split
LEAVES = "leaves"  # a learner whose leaves have a vector each
PAIRS = "pairs"  # a loss of each difference between the true class's score and another's
PLANES = "planes"  # a piecewise linear loss, whose cutting planes rows can keep
DIRECTED = "directed"  # learners that answer with real numbers, each fitted along a given vector


def no_lines() -> FloatArray:
    """Return what a loss keeps of the lines of a cost table that it does not know yet."""
    return np.empty(0)


class Surrogate(Gradients, Protocol):
    """The interface of cost-sensitive surrogates.

    Conventions: `scores` (n, D) float64; the row kernels work on rows start..stop and write `gradient` and `hessian`
    (n, D). `gradient` is minus the gradient of the loss, -dL/dscores, so it points where scores should move; `hessian`
    is the diagonal of the Hessian, d2L/dscores2. Both are without the factor 1/(2 W) of the mean and times
    exp(-log_scale).

    A loss may be asked for the rest before it knows any costs; what it keeps of each line of a cost table, rows have it
    find where their costs are (`for_costs`), and methods that take `RowCosts` are those of what that returns.

    Attributes
    ----------
    traits : frozenset of str
        Facts that others may rely on: `SEPARABLE` (a sum over outputs: steps and signs of one output do not change
        another's loss) or `JOINT`, and `EXPONENTIAL` (gradients and Hessians say all of it).
    gain : int
        Which drop a stump search maximises (`minrisk._kernels.split`).
    base : str
        Name of the function F.
    """

    @property
    def gain(self) -> int: ...
    @property
    def base(self) -> str: ...

    def constant(self, costs: RowCosts) -> float:
        """Return the mean over rows of the part of the loss that scores cannot change, in stated costs."""

    def unit(self, costs: RowCosts) -> float:
        """Return what a loss of 1 is in stated costs; 1 where the loss is no multiple of the costs."""

    def floors(self, costs: RowCosts) -> FloatArray:
        """Return the sum over rows of the least value of each output's loss, (D,), in the units of `Totals.value`."""

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """Return a common factor e^-s that brings the first weights near 1; 0 where weights cannot overflow.

        `top_weight` is the largest weight of a row.
        """

    def link(self, costs: CostFacts) -> Link | None:
        """Return the link from scores to probabilities, where the minimiser of the expected loss determines them."""


class JointLoss(Surrogate, JointRowLoss, Protocol):
    """A loss of the differences of a row's scores, with the trait `JOINT`."""

    def check_classes(self, n_decisions: int, first: int, last: int) -> None:
        """Look whether all classes, from the first to the last, are decisions."""


class Differences(ABC):
    """Compare the scores of a row with that of its true class: the base of such losses."""

    gain = QUADRATIC_GAIN  # E^2 / (2 M): one Newton step

    @property
    def traits(self) -> frozenset[str]:
        return frozenset({JOINT})

    @property
    @abstractmethod
    def base(self) -> str:
        """Return name of the loss."""

    def for_costs(self, costs: RowCosts) -> Self:
        """Return itself: it keeps nothing of lines."""
        return self

    def constant(self, costs: RowCosts) -> float:
        """Return 0: costs of right decisions do not enter.

        Raises
        ------
        ValueError
            As `check_classes`.
        """
        self.check_classes(costs.n_decisions, *costs.label_range())
        return 0.0

    def check_classes(self, n_decisions: int, first: int, last: int) -> None:
        """Look whether all classes, from the first to the last, are decisions.

        Raises
        ------
        ValueError
            If a true class is no decision, or the only one.
        """
        D = n_decisions
        if D < 2 or last >= D or first < 0:
            raise ValueError(
                f"{self.base} compares the scores of decisions with the true class's: it requires a decision for every "
                f"class, and two at least; there are {D}."
            )

    def unit(self, costs: RowCosts) -> float:
        return costs.unit

    def floors(self, costs: RowCosts) -> FloatArray:
        """Return 0, the limit as the true class's score grows. (L_t keeps its terms j = k: sums of costs.)"""
        return np.zeros(costs.n_decisions)

    def link(self, costs: CostFacts) -> Link | None:
        """Return None: scores of few losses determine probabilities."""
        return None

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """Return the log of the largest cost times the largest weight: the first exponentials are near 1."""
        top = float(costs.largest_of(costs.table).max()) * top_weight
        return float(np.log(top)) if top > 0 else 0.0


class Kernels(NamedTuple):
    """The kernels of a loss of differences; None where it is not asked for."""

    gradients: Callable[..., FloatArray]
    values: Callable[..., IntArray]
    along: Callable[..., FloatArray] | None = None
    value_and_gradient: Callable[..., FloatArray] | None = None
    by_gradient: bool = False  # whether `values` follow from the gradient


class NamedDifferences(Differences):
    """`Differences` of one of several kinds, by name; its heirs are dataclasses with a field `kind`."""

    KINDS: ClassVar[Mapping[str, Kernels]]
    kind: str

    def __post_init__(self) -> None:
        if self.kind not in self.KINDS:
            raise ValueError(f"kind must be one of {', '.join(map(repr, self.KINDS))}, got {self.kind!r}.")

    @property
    def base(self) -> str:
        return self.kind

    # -- row kernels ---------------------------------------------------------------------------------------------
    def gradients(
        self,
        costs: RowCosts,
        scores: FloatArray,
        log_scale: float,
        start: int,
        stop: int,
        gradient: FloatArray,
        hessian: FloatArray,
    ) -> FloatArray:
        """Write gradient and hessian, see `Surrogate`, of rows start..stop.

        Returns
        -------
        ndarray of shape (3, D)
            Column maxima of |gradient|, Hessian and value; a row's value counts in the column of its true class.
        """
        return self.KINDS[self.kind].gradients(*of_rows(costs), scores, log_scale, start, stop, gradient, hessian)

    def value_sums(
        self,
        costs: RowCosts,
        scores: FloatArray,
        log_scale: float,
        gradient: FloatArray,
        in_bag: Bag,
        factor: FloatArray,
        start: int,
        stop: int,
    ) -> IntArray:
        """Return the value of the bag's rows by true class, times e^-log_scale, in fixed point (D,).

        Parameters
        ----------
        log_scale, gradient
            As `gradients` was given, and wrote, at these scores.
        factor : ndarray of shape (D,)
            For the maxima of the value that `gradients` returned.
        """
        kernels = self.KINDS[self.kind]
        if kernels.by_gradient:
            return kernels.values(costs.label, gradient, in_bag, factor, start, stop)
        return kernels.values(*of_rows(costs), scores, log_scale, in_bag, factor, start, stop)

    def along(
        self,
        costs: RowCosts,
        scores: FloatArray,
        factor: FloatArray,
        move: FloatArray,
        step: float,
        log_scale: float,
        start: int,
        stop: int,
        line: FloatArray,
    ) -> FloatArray:
        """Write value, slope and curvature of each row at scores + step * factor * move; return their maxima."""
        kernel = self.KINDS[self.kind].along
        assert kernel is not None  # as rows know
        return kernel(*of_rows(costs), scores, factor, move, step, log_scale, start, stop, line)

    def value_and_gradient(
        self,
        costs: RowCosts,
        scores: FloatArray,
        log_scale: float,
        start: int,
        stop: int,
        gradient: FloatArray,
        value: FloatArray,
    ) -> FloatArray:
        """Write gradient (n, D) and value (n,) at any scores, of rows start..stop; return their maxima (2, D)."""
        kernel = self.KINDS[self.kind].value_and_gradient
        assert kernel is not None  # as rows know
        return kernel(*of_rows(costs), scores, log_scale, start, stop, gradient, value)


def of_rows(costs: RowCosts) -> tuple[FloatArray, Int32Array, Int32Array, FloatArray]:
    """Return the costs as kernels take them."""
    return costs.table, costs.row, costs.label, costs.weight


class ChainLoss(ChainRowLoss, LossBeforeRounds, Protocol):
    """A sum of losses of one score each, every one at a scale of its own."""

    @property
    def gain(self) -> int: ...
    @property
    def base(self) -> str: ...
    def link(self, costs: CostFacts) -> Link | None: ...


Loss = Surrogate | ChainLoss
