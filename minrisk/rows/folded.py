"""Rows in folds, each of which some member of an ensemble leaves out, and what the rows left out say.

Scores of left-out rows stay with the rows, as all columns do: `LeftOut` is theirs to look into, and whoever chooses
rounds, temperatures and shares sees sums over rows alone. These are exact, so that no division of the rows into pieces
can change a choice: see `minrisk.rows.exchange`. Leads of early decisions are found from rows one by one; of many rows
these are a sample, which is the same however the rows are divided.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

import numpy as np

from minrisk._typing import FloatArray, Int32Array, IntArray, LeftOut
from minrisk._workers import Workers
from minrisk.model.links import Link
from minrisk.rows.base import Rows
from minrisk.rows.columns import Columns
from minrisk.rows.costs import CostFacts


class Sample(NamedTuple):
    """Some of the rows held out, fold after fold."""

    scores: np.ndarray  # (m, D) float32
    weight: FloatArray  # (m,) as stated


class HeldOut(Protocol):
    """Scores of the rows of some folds, by members that did not see them; D = n_outputs.

    Probabilities are judged without rows whose class no other fold has: who has not seen a class can say nothing
    about it. Costs are judged with all of them.
    """

    n_rows: int
    n_folds: int  # the first ones, whose rows these are
    n_outputs: int

    @property
    def weight(self) -> float:
        """Of the rows that judge probabilities."""

    def along(self, link: Link, weight: float, caution: float, whole: bool = False) -> FloatArray:
        """Weighted sums (3,): the loss of x = base + weight * slope * scores, its slope and curvature by the weight.

        All are NaN where scores are beyond single precision.
        The base is what the fold's member knows without a learner, or 0 if the scores are the `whole`. The loss is
        -log p(true class) - caution * mean of log p over the other classes.
        """

    def gain_over(self, other: Self, link: Link, weight: float, of_other: float) -> FloatArray:
        """Weighted sums (2,) of what these scores gain over others, row by row, in log-loss, and of its squares."""

    def mixture(
        self, others: Sequence[Self], link: Link, weights: FloatArray, shift: FloatArray, caution: float
    ) -> FloatArray:
        """Weighted sums of the loss of x = base + shift + sum_m weights_m * slope * scores_m, and of its derivatives.

        These scores are the first ones, the `others` those behind them.

        Returns
        -------
        ndarray of shape (1 + 2 M + K,)
            The loss as in `along`, its derivatives by the M weights, the sums of the squares of these, row by row, and
            its derivatives by the shift.
        """

    def mixed(
        self, others: Sequence[Self], link: Link, shares: FloatArray, temperature: float, shift: FloatArray
    ) -> Self:
        """Scores temperature / slope * (base + shift) + sum_m shares_m * scores_m, these being the first ones."""

    def risk(self, link: Link | None, temperature: float, matrix: FloatArray | None) -> float:
        """Mean avoidable cost, as stated, of the decisions: by `matrix` where scores give probabilities."""

    def closer_than(self, other: Self, top: float) -> FloatArray:
        """Weighted sums (2,) of what these scores take off the squared error of each row, and of its squares.

        The error is that of (1 - scores) / 2 for costs / top, summed over decisions.
        """

    def paid_less(self, link: Link, temperature: float, matrix: FloatArray, costs: Sequence[Self | None]) -> FloatArray:
        """Weighted sums (2,) of what decisions by other costs cost a row less than by `matrix`, and of its squares.

        The others are scores of the same rows for each class; None: its row of `matrix`.
        """

    def stated(self, mean: float) -> float:
        """Mean avoidable costs of these rows as a mean of stated costs."""

    def of_folds(self, n_folds: int) -> Self:
        """Those of the first folds."""

    def plus(self, other: Self, times: float, room: Self | None = None) -> Self:
        """Scores s + times * other of the same rows, in single precision; `room` is overwritten, if given."""

    def sampled(self, step: int) -> Sample:
        """Rows whose number among all is a multiple of `step`."""

    def forgotten(self) -> Self:
        """The same rows without scores: what is said of them stays."""


class FewRows(NamedTuple):
    """All rows in one place, for what is only done with few of them."""

    label: Int32Array  # (n,)
    weight: FloatArray  # (n,)
    bounds: IntArray  # (n_folds + 1,): first row of each fold


class FoldedRows(Protocol):
    """The training rows of an ensemble, fold after fold."""

    n_rows: int
    n_folds: int  # one: no row is left out

    @property
    def cost_facts(self) -> CostFacts:
        """What is known of the costs that members train on."""

    @property
    def stated_facts(self) -> CostFacts:
        """The same, of what was stated."""

    def blind(self, n_classes: int) -> FoldedRows:
        """The same rows, whose members train on 0/1 costs."""

    def without(self, fold: int | None, columns: Columns, workers: Workers) -> Rows:
        """Rows of these columns from those outside a fold, which is left out; None: all of them."""

    def held_out(self, parts: Sequence[LeftOut], starts: Sequence[FloatArray] | None = None) -> HeldOut:
        """What the members of the first folds say of the rows of theirs, less what each has started from (D,)."""

    def known(self, link: Link) -> FloatArray:
        """What is known of a row without a learner, as the link takes it, (K,): the class frequencies."""

    def constant(self, scores: Sequence[FloatArray]) -> HeldOut:
        """The same scores (D,) for all rows of a fold, for each of the first folds."""

    def gathered(self) -> FewRows:
        """All of them in one place."""

    def dealt(self, scores: np.ndarray, fold: int) -> LeftOut:
        """Scores (m, D) of the rows of a fold, that were computed in one place."""

    def class_costs(self, n_classes: int) -> FloatArray:
        """Mean costs of the rows of each class, by weight, (K, D); of a class without rows those of all."""

    def of_class(self, label: int, columns: Columns, n_features: int) -> tuple[ClassRows, Columns] | None:
        """The rows of a class that weigh something with the first features of these columns; None: there are none."""


class ClassRows(FoldedRows, Protocol):
    """Rows of one class, with costs that differ by row. Folds without one of them are not counted."""

    @property
    def own_folds(self) -> list[int]:
        """Numbers, among all rows', of the folds that are counted."""

    @property
    def largest_cost(self) -> float:
        """Of all decisions and rows."""

    def farthest(self, mean: FloatArray) -> float:
        """The largest difference of a cost from these (D,)."""

    def mean_costs(self, fold: int | None) -> FloatArray:
        """Of the rows outside a fold, or of all, by weight, (D,)."""
