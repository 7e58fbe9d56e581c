"""Facts that steps and learners may rely on, and losses of differences; see `minrisk.rows.row_losses` for `Loss`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from minrisk._kernels.functions import log
from minrisk._typing import FloatArray, Int32Array
from minrisk.rows.costs import RowCosts
from minrisk.rows.row_losses import EXPONENTIAL as EXPONENTIAL
from minrisk.rows.row_losses import JOINT as JOINT
from minrisk.rows.row_losses import SEPARABLE as SEPARABLE
from minrisk.rows.row_losses import SERIES as SERIES
from minrisk.rows.row_losses import SOFTMAX_GRADIENT as SOFTMAX_GRADIENT
from minrisk.rows.row_losses import Course, LossColumns, RowLoss

SIGNS = "signs"  # a learner that answers -1 or +1
STUMPS = "stumps"  # a learner with one split
LEAVES = "leaves"  # a learner whose leaves have a vector each
PAIRS = "pairs"  # a loss of each difference between the true class's score and another's
PLANES = "planes"  # a piecewise linear loss, whose cutting planes rows can keep
DIRECTED = "directed"  # learners that answer with real numbers, each fitted along a given vector


def no_lines() -> FloatArray:
    """Return what a loss keeps of the lines of a cost table that it does not know yet."""
    return np.empty(0)


class Differences(RowLoss):
    """Compare the scores of a row with that of its true class: the base of such losses.

    The least value of each is 0, the limit as the true class's score grows. (L_t keeps its terms j = k: sums of costs.)
    """

    @property
    def traits(self) -> frozenset[str]:
        return frozenset({JOINT})

    @property
    def relative(self) -> bool:
        """Return whether values along groups are less those at step 0, as GLL's logarithms are."""
        return False

    def n_terms(self, n_values: int) -> int:
        """Return how many sums of terms there are for so many values of a direction; 0: it makes no use of groups."""
        return 0

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

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """Return the log of the largest cost times the largest weight: the first exponentials are near 1."""
        top = float(costs.largest_of(costs.table).max()) * top_weight
        return log(top) if top > 0 else 0.0


class Kernels(NamedTuple):
    """The kernels of a loss of differences; None where it is not asked for."""

    gradients: Callable[..., FloatArray]
    along: Callable[..., FloatArray] | None = None


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

    def gradients(self, at: LossColumns, start: int, stop: int) -> FloatArray:
        kernel = self.KINDS[self.kind].gradients
        return kernel(*of_rows(at.costs), *at[1:6], start, stop)

    def along(self, at: LossColumns, course: Course, start: int, stop: int) -> FloatArray:
        kernel = self.KINDS[self.kind].along
        assert kernel is not None  # as rows know
        return kernel(*of_rows(at.costs), at.scores, at.log_scale, *course[:4], start, stop)


def of_rows(costs: RowCosts) -> tuple[FloatArray, Int32Array, Int32Array, FloatArray]:
    """Return the costs as kernels take them."""
    return costs.table, costs.row, costs.label, costs.weight
