"""What rows ask of losses."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self, TypeGuard

from minrisk._typing import FloatArray, IntArray
from minrisk.rows.costs import RowCosts

EXPONENTIAL = "exponential"  # the trait of a loss c+ e^h + c- e^-h per entry: its Hessian is its value
SEPARABLE = "separable"  # a sum over outputs of convex functions of one score each
SERIES = "series"  # a separable loss whose third to sixth derivatives are no larger than the second
JOINT = "joint"  # a loss of all scores of a row together: its value belongs to rows, not to outputs

SOFTMAX_GRADIENT = "softmax gradient"  # a joint loss whose `gradient` is 1 at the true class less probabilities


class Gradients(Protocol):
    """What rows ask of any loss.

    Arguments of the methods are those of `minrisk.losses`: mostly the rows' costs and scores, the columns that a
    method reads or fills, and the rows start..stop.
    """

    @property
    def traits(self) -> frozenset[str]: ...

    def for_costs(self, costs: RowCosts) -> Self:
        """Return the same loss with what it keeps of each line of these rows' cost table."""

    def gradients(self, *arguments: Any, **options: Any) -> FloatArray: ...


class LossBeforeRounds(Protocol):
    """What a loss says of rows before any round; see `minrisk.losses.base`."""

    def for_costs(self, costs: RowCosts) -> Self: ...

    def constant(self, costs: RowCosts) -> float: ...
    def unit(self, costs: RowCosts) -> float: ...
    def floors(self, costs: RowCosts) -> FloatArray: ...
    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float: ...


class LossFacts(NamedTuple):
    """What a loss says of rows before any round."""

    constant: float  # mean of what scores cannot change, in stated costs
    unit: float  # what a loss of 1 is in stated costs
    floors: FloatArray  # (D,) sums of the least values of each output's loss
    log_scale: float  # to start with
    weight: float  # of all rows


class ZeroRiskLoss(LossBeforeRounds, Protocol):
    """A loss of which it is known where every row has its cheapest decision."""

    def zero_risk(self, costs: RowCosts) -> float: ...


class SeparableRowLoss(Gradients, Protocol):
    """What rows ask of a `SEPARABLE` loss."""

    def contrast(self, *arguments: Any, **options: Any) -> float: ...
    def slopes(self, *arguments: Any, **options: Any) -> IntArray: ...
    def entry_bounds(self, top_value: FloatArray, vector: FloatArray, top_cost: float) -> FloatArray: ...
    def phantom(self, a: FloatArray) -> tuple[FloatArray, FloatArray]: ...


class SeriesRowLoss(SeparableRowLoss, Protocol):
    """What rows ask of a loss with the trait `SERIES`; see `minrisk._kernels.split`."""

    def series_columns(self, *arguments: Any, **options: Any) -> IntArray: ...
    def stump_sums(self, *arguments: Any, **options: Any) -> IntArray: ...


class JointRowLoss(Gradients, Protocol):
    """What rows ask of a `JOINT` loss."""

    def value_sums(self, *arguments: Any, **options: Any) -> IntArray: ...


class DirectedRowLoss(JointRowLoss, Protocol):
    """What `DirectedRows` ask of a loss."""

    def along(self, *arguments: Any, **options: Any) -> FloatArray: ...


class PairRowLoss(JointRowLoss, Protocol):
    """What `PairRows` ask of a loss."""

    def own_terms(self, costs: RowCosts) -> FloatArray: ...
    def value_and_gradient(self, *arguments: Any, **options: Any) -> FloatArray: ...


class Groups(NamedTuple):
    """A direction by its different values, and the sums of each row's terms by them."""

    number: IntArray  # (D,): which value a decision has
    values: FloatArray  # (G,)
    terms: FloatArray  # (P, n), P as the loss likes


class GroupedRowLoss(DirectedRowLoss, Protocol):
    """A loss whose decisions of equal value in a direction can be summed up front.

    `gather` fills the terms of `Groups` at the scores of the last `gradients`; `along_groups` is `along` by them, of
    values less that at step 0 where the loss is `relative`. The terms have `n_terms` rows for so many values.
    """

    @property
    def relative(self) -> bool: ...

    def n_terms(self, n_values: int) -> int: ...
    def gather(self, *arguments: Any, **options: Any) -> None: ...
    def along_groups(self, *arguments: Any, **options: Any) -> FloatArray: ...


class ChainRowLoss(Protocol):
    """What `ChainRows` ask of a loss."""

    @property
    def traits(self) -> frozenset[str]: ...
    def for_costs(self, costs: RowCosts) -> Self: ...

    def exponents(self, *arguments: Any, **options: Any) -> FloatArray: ...
    def row_weights(self, *arguments: Any, **options: Any) -> FloatArray: ...


RowLoss = SeparableRowLoss | JointRowLoss | ChainRowLoss | Gradients


def is_separable(loss: RowLoss) -> TypeGuard[SeparableRowLoss]:
    """Return whether outputs can be solved for one by one."""
    return SEPARABLE in loss.traits


def has_series(loss: RowLoss) -> TypeGuard[SeriesRowLoss]:
    """Return whether bounds of its fall are known from few derivatives."""
    return SERIES in loss.traits


def is_joint(loss: RowLoss) -> TypeGuard[JointRowLoss]:
    """Return whether the value belongs to rows."""
    return JOINT in loss.traits
