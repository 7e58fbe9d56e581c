"""What a loss offers, and the facts that steps and learners may rely on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol, Self

import numpy as np

from minrisk._kernels.split import QUADRATIC_GAIN
from minrisk._typing import FloatArray
from minrisk.model.links import Link
from minrisk.rows.costs import CostFacts, RowCosts
from minrisk.rows.row_losses import EXPONENTIAL as EXPONENTIAL
from minrisk.rows.row_losses import JOINT as JOINT
from minrisk.rows.row_losses import SEPARABLE as SEPARABLE
from minrisk.rows.row_losses import SERIES as SERIES
from minrisk.rows.row_losses import SOFTMAX_EDGES as SOFTMAX_EDGES
from minrisk.rows.row_losses import ChainRowLoss, Gradients, JointRowLoss, LossBeforeRounds, SeparableRowLoss

SIGNS = "signs"  # a learner that answers -1 or +1
STUMPS = "stumps"  # a learner with one split
LEAVES = "leaves"  # a learner whose leaves have a vector each
PAIRS = "pairs"  # a loss of each difference between the true class's score and another's
PLANES = "planes"  # a piecewise linear loss, whose cutting planes rows can keep
DIRECTED = "directed"  # learners that answer with real numbers, each fitted along a given vector


def no_lines() -> FloatArray:
    """What a loss keeps of the lines of a cost table that it does not know yet."""
    return np.empty(0)


class Surrogate(Gradients, Protocol):
    """What any cost-sensitive surrogate offers.

    Conventions: `scores` (n, D) float64; the row kernels work on rows start..stop and write edge = -dL/dscores and
    mass (n, D), both without the factor 1/(2 W) of the mean and times exp(-log_scale). A loss may be asked for the rest
    before it knows any costs; what it keeps of each line of a cost table, rows have it find where their costs are
    (`for_costs`), and methods that take `RowCosts` are those of what that returns.

    Attributes
    ----------
    traits : frozenset of str
        Facts that others may rely on: `SEPARABLE` or `JOINT`, and `EXPONENTIAL`.
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
        """Mean over rows of the part of the loss that scores cannot change, in stated costs."""

    def unit(self, costs: RowCosts) -> float:
        """What a loss of 1 is in stated costs; 1 where the loss is no multiple of the costs."""

    def floors(self, costs: RowCosts) -> FloatArray:
        """Sum over rows of the least value of each output's loss, (D,), in the units of `Totals.value`."""

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """A common factor e^-s that brings the first weights near 1; 0 where weights cannot overflow.

        `top_weight` is the largest weight of a row.
        """

    def link(self, costs: CostFacts) -> Link | None:
        """Scores to probabilities, where the minimiser of the expected loss determines them."""


class SeparableLoss(Surrogate, SeparableRowLoss, Protocol):
    """A sum over outputs, with the trait `SEPARABLE`: steps and signs of one output do not change another's loss."""


class JointLoss(Surrogate, JointRowLoss, Protocol):
    """A loss of the differences of a row's scores, with the trait `JOINT`."""

    def check_classes(self, n_decisions: int, first: int, last: int) -> None:
        """Look whether all classes, from the first to the last, are decisions."""


class Differences(ABC):
    """What losses of the differences of a row's scores have in common."""

    @property
    def traits(self) -> frozenset[str]:
        """Facts that others may rely on."""
        return frozenset({JOINT})

    @property
    def gain(self) -> int:
        """E^2 / (2 M): one Newton step."""
        return QUADRATIC_GAIN

    @property
    @abstractmethod
    def base(self) -> str:
        """Name of the loss."""

    def for_costs(self, costs: RowCosts) -> Self:
        """Itself: it keeps nothing of lines."""
        return self

    def constant(self, costs: RowCosts) -> float:
        """0: costs of right decisions do not enter.

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
        """That of the costs."""
        return costs.unit

    def floors(self, costs: RowCosts) -> FloatArray:
        """0, the limit as the true class's score grows. (L_t keeps its terms j = k: the costs' sum over rows.)"""
        return np.zeros(costs.n_decisions)

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """Log of the largest cost times the largest weight: the first exponentials are near 1."""
        top = float(costs.largest_of(costs.table).max()) * top_weight
        return float(np.log(top)) if top > 0 else 0.0


class NamedDifferences(Differences):
    """`Differences` of one of several kinds, by name; its heirs are dataclasses with a field `kind`."""

    KINDS: ClassVar[tuple[str, ...]]
    kind: str

    def __post_init__(self) -> None:
        if self.kind not in self.KINDS:
            raise ValueError(f"kind must be one of {', '.join(map(repr, self.KINDS))}, got {self.kind!r}.")

    @property
    def base(self) -> str:
        """Its kind."""
        return self.kind


class ChainLoss(ChainRowLoss, LossBeforeRounds, Protocol):
    """A sum of losses of one score each, every one at a scale of its own."""

    @property
    def gain(self) -> int: ...
    @property
    def base(self) -> str: ...
    def link(self, costs: CostFacts) -> Link | None: ...


class ExponentialLoss(Surrogate, Protocol):
    """A sum of exponentials of one score each, with the trait `EXPONENTIAL`: edges and masses say all of it."""


Loss = SeparableLoss | JointLoss | ChainLoss | ExponentialLoss
