"""Rows in folds in the memory of this process; the implementation of `minrisk.rows.folded`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from minrisk._cached import cached_property
from minrisk._kernels import links
from minrisk._kernels._dtypes import FIXED
from minrisk._memory import empty, read_only
from minrisk._typing import FloatArray, IntArray, LeftOut
from minrisk._workers import Workers
from minrisk.model.links import LINK_KERNELS, Link, least_cost
from minrisk.rows.base import Rows
from minrisk.rows.columns import Columns
from minrisk.rows.costs import CostFacts, RowCosts, log_frequencies
from minrisk.rows.exchange import Exchange, Place, everything
from minrisk.rows.fixed_point import exact_sum, fixed_factor, in_two_parts, of_two_parts, sum_bits
from minrisk.rows.folded import FewRows, Sample

RISK_ROWS = 1 << 16  # whose scores are copied in double precision at a time


def _known(link: Link, log_p: FloatArray) -> FloatArray:
    """What the link makes these probabilities of, (K,)."""
    return log_p - np.log(-np.expm1(log_p)) if LINK_KERNELS[link][0] == links.SIGMOID else log_p


class LocalHeldOut:
    """Arrays; see `minrisk.rows.folded.HeldOut`.

    Parameters
    ----------
    rows : LocalFoldedRows
    scores : ndarray of shape (m, D), float32
        Of the rows of the first folds that are here.
    n_folds : int
    """

    def __init__(self, rows: LocalFoldedRows, scores: np.ndarray, n_folds: int) -> None:
        self._rows, self._scores, self.n_folds = rows, scores, n_folds
        self.n_rows, self._n_here = rows.sizes(n_folds)
        self.n_outputs = scores.shape[1]

    @cached_property
    def weight(self) -> float:
        """Of the rows that judge probabilities; see `HeldOut.weight`."""
        return float(self._rows.sum_of(self._rows.judging[: self._n_here]))

    @cached_property
    def _are_finite(self) -> bool:
        """Whether single precision holds all scores: a learning rate far above 1 may make others."""
        here = float(not np.all(np.isfinite(self._scores)))
        return not self._rows.exchange.largest(np.array([here]))[0]

    def along(self, link: Link, weight: float, caution: float, whole: bool = False) -> FloatArray:
        """Loss, slope and curvature; see `HeldOut.along`."""
        if not self._are_finite:
            return np.full(3, np.nan)
        return self._rows.sum_of_judged(self._along(link, weight, caution, whole))

    def gain_over(self, other: Self, link: Link, weight: float, of_other: float) -> FloatArray:
        """What is gained over other scores of these rows; see `HeldOut.gain_over`."""
        if not (self._are_finite and other._are_finite):
            return np.zeros(2)
        gain = other._along(link, of_other, 0.0)[:, 0] - self._along(link, weight, 0.0)[:, 0]
        return self._rows.sum_of_judged(np.column_stack([gain, self._rows.judging[: self._n_here] * gain**2]))

    def _along(self, link: Link, weight: float, caution: float, whole: bool = False) -> FloatArray:
        rows, (kind, slope) = self._rows, LINK_KERNELS[link]
        out, n = np.empty((self._n_here, 3)), self._n_here
        base, fold, label = rows.base(link), read_only(rows.folds[:n]), read_only(rows.stated.label[:n])
        base = read_only(np.zeros_like(base)) if whole else base
        links.along(kind, base, fold, read_only(self._scores), slope * weight, label, caution, out)
        return out * [1.0, slope, slope * slope]

    def mixture(
        self, others: Sequence[Self], link: Link, weights: FloatArray, shift: FloatArray, caution: float
    ) -> FloatArray:
        """Loss and its derivatives; see `HeldOut.mixture`."""
        rows, (kind, slope), parts = self._rows, LINK_KERNELS[link], [self, *others]
        n, M = self._n_here, len(parts)
        base, numbers = rows.base(link), np.empty((n, 1 + 2 * M + len(shift)))
        for first in range(0, n, RISK_ROWS):
            part = slice(first, min(n, first + RISK_ROWS))
            own = [np.ascontiguousarray(held._scores[part], dtype=np.float64) for held in parts]
            total = np.zeros_like(own[0])
            for weight, scores in zip(weights.tolist(), own, strict=True):
                total += slope * weight * scores
            loss, residual = np.empty(len(total)), np.empty_like(total)
            fold, label = read_only(rows.folds[part]), read_only(rows.stated.label[part])
            links.mixed_residuals(kind, base, fold, total, read_only(shift), label, caution, loss, residual)
            numbers[part, 0], numbers[part, 1 + 2 * M :] = loss, residual
            for m, scores in enumerate(own):
                links.row_dots(residual, scores, loss)
                numbers[part, 1 + m] = slope * loss
        numbers[:, 1 + M : 1 + 2 * M] = rows.judging[:n, None] * numbers[:, 1 : 1 + M] ** 2
        return rows.sum_of_judged(numbers)

    def mixed(
        self, others: Sequence[Self], link: Link, shares: FloatArray, temperature: float, shift: FloatArray
    ) -> Self:
        """Scores of a mixture; see `HeldOut.mixed`."""
        rows, n = self._rows, self._n_here
        scores = empty((n, len(shift)), np.float32)
        known = (temperature / LINK_KERNELS[link][1] * (rows.base(link) + shift)).astype(np.float32)
        scores[:] = known[rows.folds[:n]]
        for held, share in zip((self, *others), shares.tolist(), strict=True):
            scores += np.float32(share) * held._scores
        return type(self)(rows, scores, self.n_folds)

    def risk(self, link: Link | None, temperature: float, matrix: FloatArray | None) -> float:
        """Mean avoidable cost of the decisions; see `HeldOut.risk`."""
        costs, n = self._rows.stated, self._n_here
        parts = [slice(a, min(n, a + RISK_ROWS)) for a in range(0, n, RISK_ROWS)]
        decisions = [least_cost(link, self._scores[p].astype(float), temperature, matrix) for p in parts]
        chosen = np.concatenate(decisions) if parts else np.zeros(0, dtype=np.int64)
        paid = self._rows.sum_of(costs.weight[:n] * costs.table[costs.row[:n], chosen])
        return float(paid) / (float(self._rows.sum_of(costs.weight[:n])) or 1.0)

    def closer_than(self, other: Self, top: float) -> FloatArray:
        """See `HeldOut.closer_than`."""
        costs, n = self._rows.stated, self._n_here
        wanted = costs.table[costs.row[:n]] / top
        errors = [((0.5 * (1.0 - held._scores) - wanted) ** 2).sum(axis=1) for held in (other, self)]
        gain = costs.weight[:n] * (errors[0] - errors[1])
        return self._rows.sum_of(np.column_stack([gain, gain**2]))

    def paid_less(self, link: Link, temperature: float, matrix: FloatArray, costs: Sequence[Self | None]) -> FloatArray:
        """See `HeldOut.paid_less`."""
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
        """As a mean of stated costs; see `HeldOut.stated`."""
        if self.n_rows == self._rows.n_rows:
            return float(self._rows.stated_facts.stated(mean))
        costs = self._rows.stated.at(slice(0, self._n_here))
        costs = costs._replace(place=self._rows.place._replace(n_rows=self.n_rows))
        return float(costs.merged().stated(mean))

    def of_folds(self, n_folds: int) -> Self:
        """Those of the first folds; see `HeldOut.of_folds`."""
        return type(self)(self._rows, self._scores[: self._rows.sizes(n_folds)[1]], n_folds)

    def plus(self, other: Self, times: float, room: Self | None = None) -> Self:
        """A sum of two scores; see `HeldOut.plus`."""
        scores = np.empty_like(self._scores) if room is None else room._scores
        np.multiply(other._scores, np.float32(times), out=scores)
        scores += self._scores
        return type(self)(self._rows, scores, self.n_folds)

    def sampled(self, step: int) -> Sample:
        """See `HeldOut.sampled`; of the pieces one is sent all of them, the others know their own."""
        rows, n = self._rows, self._n_here
        numbers = rows.place.numbers_of_all(len(rows.folds))[:n]
        chosen = np.flatnonzero(numbers % step == 0)
        own = numbers[chosen], self._scores[chosen], rows.stated.weight[chosen]
        number, scores, weight = map(np.concatenate, zip(*(rows.exchange.collected(own) or [own]), strict=True))
        order = np.argsort(number)
        return Sample(scores[order], weight[order])

    def forgotten(self) -> Self:
        """Without scores; see `HeldOut.forgotten`."""
        return type(self)(self._rows, self._scores[:0].copy(), self.n_folds)


class LocalFoldedRows:
    """Arrays of rows that stand fold after fold; see `minrisk.rows.folded.FoldedRows`.

    Parameters
    ----------
    stated : RowCosts
        Of these rows.
    folds : ndarray of int, (n,)
        Ascending.
    make : callable
        `minrisk.rows.factory.binned_rows`: makes the rows of members.
    trained : RowCosts, optional
        What members train on; default: what was stated.
    place : Place, optional
        Where these rows stand among others; default: they are all.
    """

    def __init__(
        self,
        stated: RowCosts,
        folds: IntArray,
        make: Callable[..., Rows],
        trained: RowCosts | None = None,
        place: Place | None = None,
    ) -> None:
        self._make = make
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
        known = counts.sum(axis=0) - counts > 0
        self.judging = stated.weight if known.all() else np.where(known[folds, stated.label], stated.weight, 0.0)

    @cached_property
    def _class_weight(self) -> FloatArray:
        """Weight of the rows of each class in each fold, (n_folds, K)."""
        K = self.trained.n_decisions
        factor = fixed_factor(np.array([self.top_weight]), self.sum_bits)
        sums = np.zeros((2, self.n_folds, K), dtype=FIXED)
        for part, of_rows in zip(sums, in_two_parts(self.stated.weight, factor, self.sum_bits), strict=True):
            np.add.at(part, (self.folds, self.stated.label), of_rows)
        return of_two_parts(self.exchange.added(sums), factor, self.sum_bits)

    @cached_property
    def cost_facts(self) -> CostFacts:
        """Of those that members train on; see `FoldedRows.cost_facts`."""
        return self.trained.facts()

    @cached_property
    def stated_facts(self) -> CostFacts:
        """Of those that were stated; see `FoldedRows.stated_facts`."""
        return self.cost_facts if self.trained is self.stated else self.stated.facts()

    def sum_of(self, values: np.ndarray) -> FloatArray:
        """Sum over the rows of all pieces, whatever their order: whole numbers are added, and what is left of them."""
        shape = values.shape[1:]
        flat = values.reshape(len(values), math.prod(shape))
        return exact_sum(lambda: iter([flat]), self.n_rows, self.exchange).reshape(shape)

    def sizes(self, n_folds: int) -> tuple[int, int]:
        """Rows of the first folds, in all pieces and here."""
        return int(self._sizes[n_folds]), int(self._bounds[n_folds])

    def blind(self, n_classes: int) -> LocalFoldedRows:
        """With 0/1 costs; see `FoldedRows.blind`."""
        stated = self.stated
        trained = RowCosts(1.0 - np.eye(n_classes), stated.label, stated.weight, stated.label)
        return LocalFoldedRows(stated, self.folds, self._make, trained, self.place)

    def without(self, fold: int | None, columns: Columns, workers: Workers) -> Rows:
        """Rows from those outside a fold; see `FoldedRows.without`."""
        left_out = (0, 0) if fold is None else (int(self._sizes[fold]), int(self._sizes[fold + 1]))
        costs = self.trained._replace(weight=self._weight_without(fold))
        rows = self._make(columns, costs, left_out, workers, self.place)
        rows.share_weights(self.trained.weight)
        return rows

    def _weight_without(self, fold: int | None) -> FloatArray:
        """Weights, 0 for the rows of a fold."""
        if fold is None:
            return self.trained.weight
        weight = self.trained.weight.copy()
        weight[self._bounds[fold] : self._bounds[fold + 1]] = 0.0
        return weight

    def held_out(self, parts: Sequence[LeftOut], starts: Sequence[FloatArray] | None = None) -> LocalHeldOut:
        """See `FoldedRows.held_out`."""
        shape = self.sizes(len(parts))[1], self.trained.table.shape[1]
        scores = empty(shape, np.float32)
        for (first, last), part in zip(itertools.pairwise(self._bounds.tolist()), parts, strict=False):
            scores[first:last] = part
        if starts is not None:
            scores -= np.array(starts).astype(np.float32)[self.folds[: len(scores)]]  # 0 before the first round
        return LocalHeldOut(self, scores, len(parts))

    def base(self, link: Link) -> FloatArray:
        """What each fold's member knows without a learner, as the link takes it, (n_folds, K)."""
        if link not in self._bases:
            of_all = self._class_weight.sum(axis=0)
            of_folds = [_known(link, log_frequencies(of_all - own)) for own in self._class_weight]
            self._bases[link] = read_only(np.array(of_folds))
        return self._bases[link]

    def known(self, link: Link) -> FloatArray:
        """See `FoldedRows.known`."""
        return _known(link, log_frequencies(self._class_weight.sum(axis=0)))

    def sum_of_judged(self, values: FloatArray) -> FloatArray:
        """Sum of numbers of the first rows (m, S), by the weight of those that judge probabilities."""
        return self.sum_of(self.judging[: len(values), None] * values)

    def constant(self, scores: Sequence[FloatArray]) -> LocalHeldOut:
        """See `FoldedRows.constant`."""
        of_folds, n_here = np.array(scores).astype(np.float32), self.sizes(len(scores))[1]
        return LocalHeldOut(self, of_folds[self.folds[:n_here]], len(scores))

    def gathered(self) -> FewRows:
        """See `FoldedRows.gathered`."""
        gathered = self.exchange.gathered
        order = np.argsort(gathered(self.place.numbers_of_all(len(self.folds))))  # fold after fold
        return FewRows(gathered(self.stated.label)[order], gathered(self.stated.weight)[order], self._sizes)

    def dealt(self, scores: np.ndarray, fold: int) -> LeftOut:
        """See `FoldedRows.dealt`: rows of a fold stand in the order of the pieces."""
        first = self.place.number_of(int(self._bounds[fold])) - int(self._sizes[fold])
        return scores[max(0, first) : max(0, first) + int(self._bounds[fold + 1] - self._bounds[fold])]

    def class_costs(self, n_classes: int) -> FloatArray:
        """See `FoldedRows.class_costs`."""
        costs = self.stated
        of_all = self._mean_costs(np.ones(len(costs.row), dtype=np.bool_))
        of_classes = [self._mean_costs(costs.label == label) for label in range(n_classes)]
        return np.array([of_all if mean is None else mean for mean in of_classes])

    def _mean_costs(self, chosen: np.ndarray) -> FloatArray | None:
        """Mean costs of some rows; None without one that weighs something. What is the same for all is not rounded."""
        costs = self.stated
        rows = np.flatnonzero(chosen & (costs.weight > 0))
        own, weight = costs.table[costs.row[rows]], costs.weight[rows]
        total = float(self.sum_of(weight))
        high, low = (self.exchange.largest(part.max(axis=0, initial=-np.inf)) for part in (own, -own))
        if total == 0.0:
            return None
        return np.where(high == -low, high, self.sum_of(weight[:, None] * own) / total)

    def of_class(self, label: int, columns: Columns, n_features: int) -> tuple[LocalClassRows, Columns] | None:
        """See `FoldedRows.of_class`."""
        costs = self.stated
        rows = np.flatnonzero((costs.label == label) & (costs.weight > 0))
        counts = self.exchange.added(np.bincount(self.folds[rows], minlength=self.n_folds))
        if not counts.any():
            return None
        number = np.cumsum(counts > 0) - 1
        place = self.place.among(rows, len(self.folds))
        row = np.arange(len(rows), dtype=np.int32)
        own = RowCosts(costs.table[costs.row[rows]], row, costs.weight[rows], costs.label[rows], per_row=True)
        made = LocalClassRows(own, number[self.folds[rows]], self._make, place=place)
        made.own_folds = np.flatnonzero(counts).tolist()
        return made, columns.some(n_features, rows)


class LocalClassRows(LocalFoldedRows):
    """See `minrisk.rows.folded.ClassRows`."""

    own_folds: list[int]

    @cached_property
    def largest_cost(self) -> float:
        """See `ClassRows.largest_cost`."""
        return float(self.stated.largest_of(self.stated.table).max())

    def farthest(self, mean: FloatArray) -> float:
        """See `ClassRows.farthest`."""
        return float(self.stated.largest_of(np.abs(self.stated.table - mean)).max())

    def mean_costs(self, fold: int | None) -> FloatArray:
        """See `ClassRows.mean_costs`."""
        weight = self._weight_without(fold)
        costs = self.stated.table[self.stated.row]
        return np.asarray(self.sum_of(weight[:, None] * costs) / self.sum_of(weight))
