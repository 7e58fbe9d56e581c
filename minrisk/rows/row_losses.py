"""What rows ask of losses."""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self, TypeGuard

import numpy as np

from minrisk._typing import Bag, FloatArray, IntArray
from minrisk.rows.costs import RowCosts

EXPONENTIAL = "exponential"  # the trait of a loss c+ e^h + c- e^-h per entry: its mass is its value
SEPARABLE = "separable"  # a sum over outputs of convex functions of one score each
SERIES = "series"  # a separable loss whose third to sixth derivatives are no larger than the second
JOINT = "joint"  # a loss of all scores of a row together: its value belongs to rows, not to outputs

SOFTMAX_EDGES = "softmax edges"  # a joint loss whose edges are 1 at the true class less probabilities


class Gradients(Protocol):
    """What rows ask of any loss: see `minrisk.losses.base`."""

    @property
    def traits(self) -> frozenset[str]: ...

    def for_costs(self, costs: RowCosts) -> Self:
        """The same loss with what it keeps of each line of these rows' cost table."""

    def gradients(
        self,
        costs: RowCosts,
        scores: FloatArray,
        log_scale: float,
        start: int,
        stop: int,
        edge: FloatArray,
        mass: FloatArray,
    ) -> FloatArray: ...


class LossBeforeRounds(Protocol):
    """What a loss says of rows before any round; see `minrisk.losses.base`."""

    def for_costs(self, costs: RowCosts) -> Self: ...
    def constant(self, costs: RowCosts) -> float: ...
    def unit(self, costs: RowCosts) -> float: ...
    def floors(self, costs: RowCosts) -> FloatArray: ...
    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float: ...


class LossFacts(NamedTuple):
    """And what it says."""

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

    def contrast(
        self,
        costs: RowCosts,
        scores: FloatArray,
        edge: FloatArray,
        vector: FloatArray,
        start: int,
        stop: int,
        out: FloatArray,
    ) -> float: ...

    def slopes(
        self,
        costs: RowCosts,
        scores: FloatArray,
        response: np.ndarray,
        in_bag: Bag,
        vector: FloatArray,
        factors: FloatArray,
        start: int,
        stop: int,
    ) -> IntArray: ...

    def entry_bounds(self, top_value: FloatArray, vector: FloatArray, top_cost: float) -> FloatArray: ...
    def phantom(self, a: FloatArray) -> tuple[FloatArray, FloatArray]: ...


class SeriesRowLoss(SeparableRowLoss, Protocol):
    """What rows ask of a loss with the trait `SERIES`; see `minrisk._kernels.stump_series`."""

    def series_columns(
        self,
        costs: RowCosts,
        scores: FloatArray,
        edge: FloatArray,
        in_bag: Bag,
        edge_factor: FloatArray,
        factor: FloatArray,
        even_factor: FloatArray,
        start: int,
        stop: int,
        fixed: np.ndarray,
    ) -> IntArray: ...

    def stump_sums(
        self,
        costs: RowCosts,
        scores: FloatArray,
        X_binned: np.ndarray,
        in_bag: Bag,
        feature: IntArray,
        bin_: IntArray,
        output: IntArray,
        step: FloatArray,
        factors: FloatArray,
        start: int,
        stop: int,
    ) -> IntArray: ...


class JointRowLoss(Gradients, Protocol):
    """What rows ask of a `JOINT` loss."""

    def value_sums(
        self,
        costs: RowCosts,
        scores: FloatArray,
        log_scale: float,
        edge: FloatArray,
        in_bag: Bag,
        factor: FloatArray,
        start: int,
        stop: int,
    ) -> IntArray: ...


class DirectedRowLoss(JointRowLoss, Protocol):
    """What `DirectedRows` ask of a loss."""

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
    ) -> FloatArray: ...


class PairRowLoss(JointRowLoss, Protocol):
    """What `PairRows` ask of a loss."""

    def own_terms(self, costs: RowCosts) -> FloatArray: ...

    def edges(
        self,
        costs: RowCosts,
        scores: FloatArray,
        log_scale: float,
        start: int,
        stop: int,
        edge: FloatArray,
        value: FloatArray,
    ) -> FloatArray: ...


class Groups(NamedTuple):
    """A direction by its different values, and the sums of each row's terms by them."""

    number: IntArray  # (D,): which value a decision has
    values: FloatArray  # (G,)
    terms: FloatArray  # (P, n), P as the loss likes


class ChainRowLoss(Protocol):
    """What `ChainRows` ask of a loss."""

    @property
    def traits(self) -> frozenset[str]: ...

    def for_costs(self, costs: RowCosts) -> Self: ...

    def exponents(self, costs: RowCosts, scores: FloatArray, start: int, stop: int) -> FloatArray: ...

    def edges(
        self, costs: RowCosts, scores: FloatArray, shift: FloatArray, start: int, stop: int, edge: FloatArray
    ) -> FloatArray: ...


class GroupedRowLoss(DirectedRowLoss, Protocol):
    """A loss whose decisions of equal value in a direction can be summed up front."""

    @property
    def relative(self) -> bool:
        """Whether values `along_groups` are less that at step 0."""

    def n_terms(self, n_values: int) -> int:
        """Rows of `Groups.terms`."""

    def gather(
        self,
        costs: RowCosts,
        scores: FloatArray,
        log_scale: float,
        edge: FloatArray,
        mass: FloatArray,
        groups: Groups,
        start: int,
        stop: int,
    ) -> None:
        """Fill the terms of rows start..stop at the scores of the last `gradients`."""

    def along_groups(
        self,
        costs: RowCosts,
        log_scale: float,
        groups: Groups,
        factor: FloatArray,
        step: float,
        start: int,
        stop: int,
        line: FloatArray,
    ) -> FloatArray:
        """As `along`, but for what `relative` says."""


RowLoss = SeparableRowLoss | JointRowLoss | ChainRowLoss | Gradients


def is_separable(loss: RowLoss) -> TypeGuard[SeparableRowLoss]:
    """Whether outputs can be solved for one by one."""
    return SEPARABLE in loss.traits


def has_series(loss: RowLoss) -> TypeGuard[SeriesRowLoss]:
    """Whether bounds of its fall are known from few derivatives."""
    return SERIES in loss.traits


def is_joint(loss: RowLoss) -> TypeGuard[JointRowLoss]:
    """Whether the value belongs to rows."""
    return JOINT in loss.traits
