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

    @property
    def n_weighted(self) -> int:
        """How many these are."""

    @property
    def spread(self) -> float:
        """The largest difference of two scores of a row that judges probabilities."""

    def log_loss(self, link: Link, temperature: float, floor: float, caution: float) -> float:
        """Sum of -weight * (l(true class) + caution * mean of l over the other classes), l = max(log p, floor)."""

    def risk(self, link: Link | None, temperature: float, matrix: FloatArray | None) -> float:
        """Mean avoidable cost, as stated, of the decisions: by `matrix` where scores give probabilities."""

    def squared_error(self, top: float) -> float:
        """Weighted sum of ((1 - scores) / 2 - costs / top)^2, over rows and decisions."""

    def stated(self, mean: float) -> float:
        """Mean avoidable costs of these rows as a mean of stated costs."""

    def of_folds(self, n_folds: int) -> Self:
        """Those of the first folds."""

    def divided(self, by: float) -> Self:
        """The same rows, whose scores are a fraction of these."""

    def mixed(self, other: Self, share: float, room: Self | None = None) -> Self:
        """Scores s + share * (other - s) of the same rows; `room` is overwritten, if given."""

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

    def held_out(self, parts: Sequence[LeftOut]) -> HeldOut:
        """What the members of the first folds say of the rows of theirs."""

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
    def largest_cost(self) -> float:
        """Of all decisions and rows."""

    def farthest(self, mean: FloatArray) -> float:
        """The largest difference of a cost from these (D,)."""

    def mean_costs(self, fold: int | None) -> FloatArray:
        """Of the rows outside a fold, or of all, by weight, (D,)."""
