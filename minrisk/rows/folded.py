"""Rows in folds, each of which some member of an ensemble leaves out, and what the rows left out say.

Scores of left-out rows stay with the rows, as all columns do: `LeftOut` is theirs to look into, and whoever chooses
rounds, temperatures and shares sees sums over rows alone. These are exact, so that no division of the rows into pieces
can change a choice: see `minrisk.rows.exchange`. Leads of early decisions are found from rows one by one; of many rows
these are a sample, which is the same however the rows are divided.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from minrisk._kernels import links
from minrisk._kernels._dtypes import FIXED
from minrisk._kernels.functions import expm1, log
from minrisk._typing import FloatArray, Int32Array, IntArray, LeftOut
from minrisk._utils import cached_property
from minrisk._utils.memory import empty, read_only
from minrisk._utils.workers import Workers
from minrisk.data.row_keys import numbered_keys
from minrisk.model.links import LINK_KERNELS, Link, least_cost
from minrisk.rows.columns import Columns
from minrisk.rows.costs import CostFacts, RowCosts, log_frequencies
from minrisk.rows.exchange import (
    Exchange,
    Place,
    everything,
    exact_sum,
    fixed_factor,
    in_two_parts,
    of_two_parts,
    sum_bits,
)
from minrisk.rows.rows import Rows


class Sample(NamedTuple):
    """Some of the rows held out, fold after fold."""

    scores: np.ndarray  # (m, D) float32
    weight: FloatArray  # (m,) as stated
    label: IntArray  # (m,)
    fold: IntArray  # (m,)


class FewRows(NamedTuple):
    """All rows in one place, for what is only done with few of them."""

    label: Int32Array  # (n,)
    weight: FloatArray  # (n,)
    bounds: IntArray  # (n_folds + 1,): first row of each fold


class SomeRows(NamedTuple):
    """Some of the rows, by their numbers in ascending order, in one place."""

    number: IntArray  # (m,)
    fold: IntArray  # (m,)
    weight: FloatArray  # (m,) as stated


RISK_ROWS = 1 << 16  # whose scores are copied in double precision at a time


def _known(link: Link, log_p: FloatArray) -> FloatArray:
    """Return what the link makes these probabilities of, (K,)."""
    return log_p - log(-expm1(log_p)) if LINK_KERNELS[link][0] == links.SIGMOID else log_p


class HeldOut:
    """Scores of the rows of some folds, by members that did not see them; D = n_outputs.

    Probabilities are judged without rows whose class no other fold has: who has not seen a class can say nothing
    about it. Costs are judged with all of them.

    Parameters
    ----------
    rows : FoldedRows
    scores : ndarray of shape (m, D), float32
        Of the rows of the first folds that are here.
    n_folds : int
        The first ones, whose rows these are.
    """

    def __init__(self, rows: FoldedRows, scores: np.ndarray, n_folds: int) -> None:
        self._rows, self._scores, self.n_folds = rows, scores, n_folds
        self.n_rows, self._n_here = rows.sizes(n_folds)
        self.n_outputs = scores.shape[1]
        self._told: tuple[tuple[Link, float] | None, FloatArray] = None, np.empty(0)  # losses, and of which weight

    @cached_property
    def weight(self) -> float:
        """Return the weight of the rows that judge probabilities."""
        return float(self._rows.sum_of(self._rows.judging[: self._n_here]))

    @cached_property
    def _are_finite(self) -> bool:
        """Return whether single precision holds all scores: a learning rate far above 1 may make others."""
        here = float(not np.all(np.isfinite(self._scores)))
        return not self._rows.exchange.largest(np.array([here]))[0]

    def along(self, link: Link, weight: float, caution: float, whole: bool = False) -> FloatArray:
        """Return weighted sums (3,): the loss of x = base + weight * slope * scores, slope and curvature by the weight.

        All are NaN where scores are beyond single precision.
        The base is what the fold's member knows without a learner, or 0 if the scores are the `whole`. The loss is
        -log p(true class) - caution * mean of log p over the other classes.
        """
        if not self._are_finite:
            return np.full(3, np.nan)
        of_rows = self._along(link, weight, caution, whole)
        if not (caution or whole):
            self._told = (link, weight), of_rows[:, 0].copy()
        return self._rows.sum_of_judged(of_rows)

    def gain_over(self, other: Self, link: Link, weight: float, of_other: float) -> FloatArray:
        """Return weighted sums (2,) of what these scores gain over others in log-loss, and of its squares."""
        if not (self._are_finite and other._are_finite):
            return np.zeros(2)
        gain = other._losses(link, of_other) - self._losses(link, weight)
        return self._rows.sum_of_judged(np.column_stack([gain, self._rows.judging[: self._n_here] * gain**2]))

    def _losses(self, link: Link, weight: float) -> FloatArray:
        """Return the loss of each row, which is often what `along` has computed last."""
        if self._told[0] != (link, weight):
            self._told = (link, weight), self._along(link, weight, 0.0)[:, 0].copy()
        return self._told[1]

    def _along(self, link: Link, weight: float, caution: float, whole: bool = False) -> FloatArray:
        rows, (kind, slope) = self._rows, LINK_KERNELS[link]
        out, n = np.empty((self._n_here, 3)), self._n_here
        base, fold, label = rows.base(link), rows.folds[:n], rows.stated.label[:n]
        base = read_only(np.zeros_like(base)) if whole else base
        links.along(kind, base, fold, self._scores, slope * weight, label, caution, out)
        return out * [1.0, slope, slope * slope]

    def mixture(
        self,
        others: Sequence[Self],
        link: Link,
        weights: FloatArray,
        shift: FloatArray,
        caution: float,
        whole: bool = False,
    ) -> FloatArray:
        """Sum by weight the loss of x = base + shift + sum_m weights_m * slope * scores_m, and its derivatives.

        These scores are the first ones, the `others` those behind them. There is no base if one is the `whole`.

        Returns
        -------
        ndarray of shape (1 + 2 M + K,)
            The loss as in `along`, its derivatives by the M weights, the sums of the squares of these, row by row, and
            its derivatives by the shift.
        """
        rows, (kind, slope), parts = self._rows, LINK_KERNELS[link], [self, *others]
        n, M = self._n_here, len(parts)
        base, numbers = rows.base(link), np.empty((n, 1 + 2 * M + len(shift)))
        base = read_only(np.zeros_like(base)) if whole else base
        for first in range(0, n, RISK_ROWS):
            part = slice(first, min(n, first + RISK_ROWS))
            own = [np.ascontiguousarray(held._scores[part], dtype=np.float64) for held in parts]
            total = np.zeros_like(own[0])
            for weight, scores in zip(weights.tolist(), own, strict=True):
                total += slope * weight * scores
            loss, residual = np.empty(len(total)), np.empty_like(total)
            fold, label = rows.folds[part], rows.stated.label[part]
            links.mixed_residuals(kind, base, fold, total, shift, label, caution, loss, residual)
            numbers[part, 0], numbers[part, 1 + 2 * M :] = loss, residual
            for m, scores in enumerate(own):
                links.row_dots(residual, scores, loss)
                numbers[part, 1 + m] = slope * loss
        numbers[:, 1 + M : 1 + 2 * M] = rows.judging[:n, None] * numbers[:, 1 : 1 + M] ** 2
        return rows.sum_of_judged(numbers)

    def mixed(
        self, others: Sequence[Self], link: Link, shares: FloatArray, temperature: float, shift: FloatArray
    ) -> Self:
        """Return temperature / slope * (base + shift) + sum_m shares_m * scores_m, these scores being the first."""
        rows, n = self._rows, self._n_here
        scores = empty((n, len(shift)), np.float32)
        known = (temperature / LINK_KERNELS[link][1] * (rows.base(link) + shift)).astype(np.float32)
        scores[:] = known[rows.folds[:n]]
        for held, share in zip((self, *others), shares.tolist(), strict=True):
            scores += np.float32(share) * held._scores
        return type(self)(rows, scores, self.n_folds)

    def risk(self, link: Link | None, temperature: float, matrix: FloatArray | None) -> float:
        """Return the mean cost of the decisions in the unit of the table, by `matrix` if scores give probabilities."""
        costs, n = self._rows.stated, self._n_here
        parts = [slice(a, min(n, a + RISK_ROWS)) for a in range(0, n, RISK_ROWS)]
        decisions = [least_cost(link, self._scores[p].astype(float), temperature, matrix) for p in parts]
        chosen = np.concatenate(decisions) if parts else np.zeros(0, dtype=np.int64)
        paid = self._rows.sum_of(costs.weight[:n] * costs.table[costs.row[:n], chosen])
        return float(paid) / (float(self._rows.sum_of(costs.weight[:n])) or 1.0)

    def closer_than(self, other: Self, top: float) -> FloatArray:
        """Return weighted sums (2,) of what these scores take off the squared error of each row, and of its squares.

        The error is that of (1 - scores) / 2 for costs / top, summed over decisions.
        """
        costs, n = self._rows.stated, self._n_here
        wanted = costs.table[costs.row[:n]] / top
        errors = [((0.5 * (1.0 - held._scores) - wanted) ** 2).sum(axis=1) for held in (other, self)]
        gain = costs.weight[:n] * (errors[0] - errors[1])
        return self._rows.sum_of(np.column_stack([gain, gain**2]))

    def paid_less(self, link: Link, temperature: float, matrix: FloatArray, costs: Sequence[Self | None]) -> FloatArray:
        """Return weighted sums (2,) of what decisions by other costs cost less than by `matrix`, and of its squares.

        The others are scores of the same rows for each class; None: its row of `matrix`.
        """
        stated, n, less = self._rows.stated, self._n_here, np.empty(self._n_here)
        height = max(1, RISK_ROWS // matrix.size)
        for first in range(0, n, height):
            part = slice(first, min(n, first + height))
            scores, table = self._scores[part].astype(float), np.tile(matrix, (part.stop - first, 1, 1))
            for j, of_class in enumerate(costs):
                if of_class is not None:
                    np.maximum(of_class._scores[part], 0.0, out=table[:, j])
            paid = [stated.table[stated.row[part], least_cost(link, scores, temperature, by)] for by in (matrix, table)]
            less[part] = paid[0] - paid[1]
        less *= stated.weight[:n]
        return self._rows.sum_of(np.column_stack([less, less**2]))

    def stated(self, mean: float) -> float:
        """Return mean avoidable costs of these rows as a mean of stated costs."""
        if self.n_rows == self._rows.n_rows:
            return float(self._rows.stated_facts.stated(mean))
        costs = self._rows.stated.at(slice(0, self._n_here))
        costs = costs._replace(place=self._rows.place._replace(n_rows=self.n_rows))
        return float(costs.merged().stated(mean))

    def of_folds(self, n_folds: int) -> Self:
        """Return those of the first folds."""
        return type(self)(self._rows, self._scores[: self._rows.sizes(n_folds)[1]], n_folds)

    def plus(self, other: Self, times: float, room: Self | None = None) -> Self:
        """Return scores s + times * other of the same rows, in single precision; `room` is overwritten, if given."""
        scores = np.empty_like(self._scores) if room is None else room._scores
        np.multiply(other._scores, np.float32(times), out=scores)
        scores += self._scores
        return type(self)(self._rows, scores, self.n_folds)

    def sampled(self, step: int) -> Sample:
        """Return rows whose number among all is a multiple of `step`.

        Of the pieces one is sent all of them, the others know their own.
        """
        rows, n = self._rows, self._n_here
        numbers = rows.place.numbers_of_all(len(rows.folds))[:n]
        chosen = np.flatnonzero(numbers % step == 0)
        label, fold = rows.stated.label[chosen].astype(np.int64), rows.folds[chosen].astype(np.int64)
        own = numbers[chosen], self._scores[chosen], rows.stated.weight[chosen], label, fold
        return Sample(*rows.collected(*own)[1:])

    def forgotten(self) -> Self:
        """Return the same rows without scores: what is said of them stays."""
        return type(self)(self._rows, self._scores[:0].copy(), self.n_folds)


class FoldedRows:
    """The training rows of an ensemble, fold after fold; with one fold no row is left out.

    Parameters
    ----------
    stated : RowCosts
        Of these rows.
    folds : ndarray of int, (n,)
        Ascending.
    trained : RowCosts, optional
        What members train on; default: what was stated.
    place : Place, optional
        Where these rows stand among others; default: they are all.
    """

    def __init__(
        self, stated: RowCosts, folds: IntArray, trained: RowCosts | None = None, place: Place | None = None
    ) -> None:
        self.place = place or everything(len(folds))
        stated = stated._replace(place=self.place)
        self.stated, self.folds = stated, folds
        self.trained = stated if trained is None else trained._replace(place=self.place)
        self.exchange: Exchange = self.place.exchange
        self.n_rows = self.place.n_rows
        self.sum_bits = sum_bits(self.n_rows)
        tops = np.array([folds.max(initial=0), stated.label.max(initial=0), stated.weight.max(initial=0.0)])
        n_folds, n_labels, self.top_weight = self.exchange.largest(tops.astype(np.float64)).tolist()
        self.n_folds = int(n_folds) + 1
        self._bounds = np.searchsorted(folds, np.arange(self.n_folds + 1))
        self._sizes = np.concatenate([[0], np.cumsum(self.exchange.added(np.diff(self._bounds)))])
        counts = np.zeros((self.n_folds, int(n_labels) + 1), dtype=np.int64)
        np.add.at(counts, (folds, stated.label), stated.weight > 0)
        counts = self.exchange.added(counts)
        self._bases = dict[Link, FloatArray]()
        known = counts.sum(axis=0) - counts > 0  # whether another fold has rows of the class
        self.judging = stated.weight if known.all() else np.where(known[folds, stated.label], stated.weight, 0.0)

    @cached_property
    def _class_weight(self) -> FloatArray:
        """Return the weight of the rows of each class in each fold, (n_folds, K)."""
        K = self.trained.n_decisions
        factor = fixed_factor(np.array([self.top_weight]), self.sum_bits)
        sums = np.zeros((2, self.n_folds, K), dtype=FIXED)
        for part, of_rows in zip(sums, in_two_parts(self.stated.weight, factor, self.sum_bits), strict=True):
            np.add.at(part, (self.folds, self.stated.label), of_rows)
        return of_two_parts(self.exchange.added(sums), factor, self.sum_bits)

    @property
    def class_shares(self) -> FloatArray:
        """Return the share of each class by weight, (K,)."""
        weight = self._class_weight.sum(axis=0)
        return np.asarray(weight / weight.sum())

    @cached_property
    def cost_facts(self) -> CostFacts:
        """Return what is known of the costs that members train on."""
        return self.trained.facts()

    @cached_property
    def stated_facts(self) -> CostFacts:
        """Return the same, of what was stated."""
        return self.cost_facts if self.trained is self.stated else self.stated.facts()

    def sum_of(self, values: np.ndarray) -> FloatArray:
        """Sum over the rows of all pieces, whatever their order: whole numbers are added, and what is left of them."""
        shape = values.shape[1:]
        flat = values.reshape(len(values), math.prod(shape))
        return exact_sum(lambda: iter([flat]), self.n_rows, self.exchange).reshape(shape)

    def sizes(self, n_folds: int) -> tuple[int, int]:
        """Return rows of the first folds, in all pieces and here."""
        return int(self._sizes[n_folds]), int(self._bounds[n_folds])

    def blind(self, n_classes: int) -> FoldedRows:
        """Return the same rows, whose members train on 0/1 costs."""
        stated = self.stated
        trained = RowCosts(1.0 - np.eye(n_classes), stated.label, stated.weight, stated.label)
        return FoldedRows(stated, self.folds, trained, self.place)

    def without(self, fold: int | None, columns: Columns, workers: Workers) -> Rows:
        """Return rows of these columns from those outside a fold, which is left out; None: all of them."""
        left_out = (0, 0) if fold is None else (int(self._sizes[fold]), int(self._sizes[fold + 1]))
        costs = self.trained._replace(weight=self._weight_without(fold))
        rows = Rows(
            X_binned=columns.binned,
            n_bins=columns.n_bins,
            costs=costs,
            workers=workers,
            left_out=left_out,  # whose weights in the costs are 0
            index=columns.index,
            place=self.place,
        )
        rows.share_weights(self.trained.weight)  # the fold is left out by now: members read one array
        return rows

    def _weight_without(self, fold: int | None) -> FloatArray:
        """Return weights, 0 for the rows of a fold."""
        if fold is None:
            return self.trained.weight
        weight = self.trained.weight.copy()
        weight[self._bounds[fold] : self._bounds[fold + 1]] = 0.0
        return weight

    def held_out(self, parts: Sequence[LeftOut], starts: Sequence[FloatArray] | None = None) -> HeldOut:
        """Return what the members of the first folds say of the rows of theirs, less what each started from (D,)."""
        shape = self.sizes(len(parts))[1], self.trained.table.shape[1]
        scores = empty(shape, np.float32)
        for (first, last), part in zip(itertools.pairwise(self._bounds.tolist()), parts, strict=False):
            scores[first:last] = part
        if starts is not None:
            scores -= np.array(starts).astype(np.float32)[self.folds[: len(scores)]]  # 0 before the first round
        return HeldOut(self, scores, len(parts))

    def base(self, link: Link) -> FloatArray:
        """Return what each fold's member knows without a learner, as the link takes it, (n_folds, K)."""
        if link not in self._bases:
            of_all = self._class_weight.sum(axis=0)
            of_folds = [_known(link, log_frequencies(of_all - own)) for own in self._class_weight]
            self._bases[link] = read_only(np.array(of_folds))
        return self._bases[link]

    def known(self, link: Link) -> FloatArray:
        """Return what is known of a row without a learner, as the link takes it, (K,): the class frequencies."""
        return _known(link, log_frequencies(self._class_weight.sum(axis=0)))

    def sum_of_judged(self, values: FloatArray) -> FloatArray:
        """Return the sum of numbers of the first rows (m, S), by the weight of those that judge probabilities."""
        return self.sum_of(self.judging[: len(values), None] * values)

    def constant(self, scores: Sequence[FloatArray]) -> HeldOut:
        """Return the same scores (D,) for all rows of a fold, for each of the first folds."""
        of_folds, n_here = np.array(scores).astype(np.float32), self.sizes(len(scores))[1]
        return HeldOut(self, of_folds[self.folds[:n_here]], len(scores))

    def gathered(self) -> FewRows:
        """Gather all of them in one place."""
        gathered = self.exchange.gathered
        order = np.argsort(gathered(self.place.numbers_of_all(len(self.folds))))  # fold after fold
        return FewRows(gathered(self.stated.label)[order], gathered(self.stated.weight)[order], self._sizes)

    def some(self, most: int, seed: int) -> SomeRows:
        """Draw about so many rows by hashes of their numbers; all of them if they are no more."""
        number = self.place.numbers_of_all(len(self.folds))
        chosen = np.arange(len(number))
        if most < self.n_rows:
            chosen = np.flatnonzero(numbered_keys(number, seed) < np.uint64(int(most / self.n_rows * 2.0**64)))
        own = number[chosen], self.folds[chosen].astype(np.int64), self.stated.weight[chosen]
        return SomeRows(*self.collected(*own))

    def collected(self, *own: np.ndarray) -> list[np.ndarray]:
        """Collect columns of some rows, the first one their numbers, and put them in the order of these.

        Of the pieces one is sent all of them, the others know their own.
        """
        number, *others = map(np.concatenate, zip(*(self.exchange.collected(own) or [own]), strict=True))
        order = np.argsort(number)
        return [column[order] for column in (number, *others)]

    def dealt(self, scores: np.ndarray, fold: int) -> LeftOut:
        """Take scores (m, D) of the rows of a fold that were computed in one place.

        Rows of a fold stand in the order of the pieces.
        """
        first = self.place.number_of(int(self._bounds[fold])) - int(self._sizes[fold])
        return scores[max(0, first) : max(0, first) + int(self._bounds[fold + 1] - self._bounds[fold])]

    def class_costs(self, n_classes: int) -> FloatArray:
        """Return mean costs of the rows of each class, by weight, (K, D); of a class without rows those of all."""
        costs = self.stated
        of_all = self._mean_costs(np.ones(len(costs.row), dtype=np.bool_))
        of_classes = [self._mean_costs(costs.label == label) for label in range(n_classes)]
        return np.array([of_all if mean is None else mean for mean in of_classes])

    def _mean_costs(self, chosen: np.ndarray) -> FloatArray | None:
        """Return mean costs of some rows; None without one that weighs something. What is alike is not rounded."""
        costs = self.stated
        rows = np.flatnonzero(chosen & (costs.weight > 0))
        own, weight = costs.table[costs.row[rows]], costs.weight[rows]
        total = float(self.sum_of(weight))
        high, low = (self.exchange.largest(part.max(axis=0, initial=-np.inf)) for part in (own, -own))
        if total == 0.0:
            return None
        return np.where(high == -low, high, self.sum_of(weight[:, None] * own) / total)

    def of_class(self, label: int, columns: Columns, n_features: int) -> tuple[ClassRows, Columns] | None:
        """Return a class's rows of some weight with the first features of these columns; None: there are none."""
        costs = self.stated
        rows = np.flatnonzero((costs.label == label) & (costs.weight > 0))
        counts = self.exchange.added(np.bincount(self.folds[rows], minlength=self.n_folds))
        if not counts.any():
            return None
        number = np.cumsum(counts > 0) - 1
        place = self.place.among(rows, len(self.folds))
        row = np.arange(len(rows), dtype=np.int32)
        own = RowCosts(costs.table[costs.row[rows]], row, costs.weight[rows], costs.label[rows], per_row=True)
        made = ClassRows(own, number[self.folds[rows]], place=place)
        made.own_folds = np.flatnonzero(counts).tolist()
        return made, columns.some(n_features, rows)


class ClassRows(FoldedRows):
    """Rows of one class, with costs that differ by row. Folds without one of them are not counted."""

    own_folds: list[int]

    @cached_property
    def largest_cost(self) -> float:
        """Return the largest cost of all decisions and rows."""
        return float(self.stated.largest_of(self.stated.table).max())

    def farthest(self, mean: FloatArray) -> float:
        """Return the largest difference of a cost from these (D,)."""
        return float(self.stated.largest_of(np.abs(self.stated.table - mean)).max())

    def mean_costs(self, fold: int | None) -> FloatArray:
        """Return the mean costs of the rows outside a fold, or of all, by weight, (D,)."""
        weight = self._weight_without(fold)
        costs = self.stated.table[self.stated.row]
        return np.asarray(self.sum_of(weight[:, None] * costs) / self.sum_of(weight))
