"""What each row's mistakes cost, and sums of it over rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from minrisk._kernels._dtypes import FIXED
from minrisk._kernels.functions import log
from minrisk._typing import FloatArray, Int32Array, IntArray
from minrisk._utils.algebra import product
from minrisk._utils.memory import read_only
from minrisk.costs.units import LARGEST_FLOAT
from minrisk.rows.exchange import (
    Alone,
    Exchange,
    Place,
    divide,
    exact_sum,
    fixed_factor,
    in_two_parts,
    of_two_parts,
    sum_bits,
)

SAME_RISK = 1e-9  # risks and means of costs that differ by a smaller share are equal
LINES_AT_ONCE = 4096  # of a cost table, so that memory does not follow the rows where costs differ by row


def log_frequencies(rows: FloatArray) -> FloatArray:
    """Return logarithms of the shares of classes of so many rows (K,), with half a row added to each."""
    return np.asarray(log((rows + 0.5) / (rows + 0.5).sum()))


class CostFacts(NamedTuple):
    """What is known of the costs of all rows wherever these are: means of avoidable costs by weight, and no row's own.

    L is the number of labels, up to the last class that has a row.
    """

    n_decisions: int  # D
    unit: float  # of avoidable costs, in stated ones
    weight: float  # of all rows: their effective number
    means: FloatArray  # (D,) of each decision, taken for all rows
    class_weight: FloatArray  # (L,) of the rows of each class
    class_means: FloatArray  # (L, D) likewise, for the rows of each class; 0 for a class without rows
    dearest: float  # mean of each row's largest cost
    least: float  # mean of what no decision avoids, as stated
    table: FloatArray | None  # (K, D) that all rows share; None: costs differ by row

    @property
    def n_rows(self) -> int:
        """Return effective rows, rounded; see `minrisk.costs.weights.relative_weights`."""
        return round(self.weight)

    def stated(self, mean: Any) -> Any:
        """Return mean avoidable costs of these rows as means of stated costs."""
        return _stated(mean, self.unit, self.least)

    def avoidable(self, mean: Any) -> Any:
        """Return means of stated costs as means of avoidable ones."""
        return (mean - self.least) / self.unit

    @property
    def told_rows(self) -> float:
        """Return rows whose classes tell as much, if all classes had as many: n (1 - sum_k pi_k^2) K / (K - 1)."""
        share, K = self.class_weight / self.class_weight.sum(), np.count_nonzero(self.class_weight)
        return float(self.weight * (1.0 - np.sum(share**2)) * K / max(1, K - 1))

    def log_frequencies(self) -> FloatArray:
        """Return logarithms of the shares of the decisions that are classes, (D,)."""
        return log_frequencies(np.pad(self.class_weight, (0, max(0, self.n_decisions - len(self.class_weight)))))

    def constant_scores(self) -> FloatArray:
        """Return scores (D,) that decide for the cheapest decision for all rows."""
        return np.asarray(-log(np.maximum(self.means, np.finfo(float).tiny)))


class RowCosts(NamedTuple):
    """What each row's mistakes cost: row i pays weight[i] * table[row[i], k] for decision k.

    These are avoidable costs: decisions and judgements depend on nothing else. What is shown is in terms of the costs
    as stated, least[row[i]] + unit * table[row[i], k].

    Rows may be one of several pieces. All pieces hold a cost table; of costs that differ by row each holds those of its
    own rows, and what is said of all rows is an exact sum, in which their order and their division do not matter.
    """

    table: FloatArray  # (K, D) with row = y, or (n, D) for costs per row
    row: Int32Array  # (n,)
    weight: FloatArray  # (n,) sample weights
    label: Int32Array  # (n,) code of the true class; equals row unless costs are per row
    unit: float = 1.0
    least: FloatArray | None = None  # of each row of the table; None: zeros
    per_row: bool = False  # whether each row has a line of the table of its own
    place: Place | None = None  # where these rows stand among others, whose costs count as well; None: they are all

    @property
    def n_decisions(self) -> int:
        """Return D."""
        return int(self.table.shape[1])

    @property
    def n_rows(self) -> int:
        """Return effective rows of those here, rounded; see `minrisk.costs.weights.relative_weights`."""
        return round(float(self.weight.sum()))

    def at(self, rows: IntArray | slice) -> RowCosts:
        """Return those of some rows; where costs differ by row, with their lines alone."""
        own = self._replace(row=self.row[rows], weight=self.weight[rows], label=self.label[rows])
        if not self.per_row:
            return own
        least = None if self.least is None else self.least[own.row]
        return own._replace(table=self.table[own.row], least=least, row=np.arange(len(own.row), dtype=np.int32))

    def reorder(self, order: IntArray) -> None:
        """Put the rows in another order, in place."""
        for column in (self.row, self.weight, *(() if self.label is self.row else (self.label,))):
            column[:] = column[order]

    def read_only(self) -> RowCosts:
        """Return it as kernels take it; see `minrisk._utils.memory.read_only`."""
        return self._replace(
            table=read_only(self.table),
            row=read_only(self.row),
            weight=read_only(self.weight),
            label=read_only(self.label),
        )

    # -- all rows --------------------------------------------------------------------------------------------------
    @property
    def _exchange(self) -> Exchange:
        """With the other pieces."""
        return Alone() if self.place is None else self.place.exchange

    @property
    def _n_all(self) -> int:
        """Return rows of all pieces."""
        return len(self.row) if self.place is None else self.place.n_rows

    def merged(self) -> RowCosts:
        """Return a row for each line of the table, with the weight of all rows that pay by it.

        Costs that differ by row are left as they are: their sums are made where they are asked for. A line that no row
        pays by has the class of its number, if there is one. Weights are added as whole numbers and what is left of
        them, so that neither their order nor their division into pieces matters.
        """
        if self.per_row:
            return self
        n_lines, n_decisions = self.table.shape
        bits = sum_bits(self._n_all)
        factor = fixed_factor(self._exchange.largest(np.array([self.weight.max(initial=0.0)])), bits)
        sums, label = np.zeros((2, n_lines), dtype=FIXED), np.full(n_lines, -1, dtype=np.int32)
        for part, of_rows in zip(sums, in_two_parts(self.weight, factor, bits), strict=True):
            np.add.at(part, self.row, of_rows)
        label[self.row] = self.label
        label, line = self._exchange.largest(label), np.arange(n_lines, dtype=np.int32)
        label = np.where(label < 0, np.where(line < n_decisions, line, 0), label).astype(np.int32)  # of none: any class
        weight = of_two_parts(self._exchange.added(sums), factor, bits)
        return self._replace(row=line, weight=weight, label=label, place=None)

    def line_labels(self) -> Int32Array:
        """Return the class of each line of the table."""
        if not self.per_row:
            return self.merged().label
        label = np.zeros(len(self.table), dtype=np.int32)
        label[self.row] = self.label
        return label

    def label_range(self) -> tuple[int, int]:
        """Return the least and the largest label, or 0."""
        ends = np.array([-np.min(self.label, initial=0), np.max(self.label, initial=0)])
        low, high = self._exchange.largest(ends).tolist()
        return -int(low), int(high)

    def largest_of(self, lines: FloatArray) -> FloatArray:
        """Return the largest of numbers (T, ...) that are 0 or more over the lines of the table, or 0."""
        top = np.asarray(lines.max(axis=0, initial=0.0))
        return self._exchange.largest(top) if self.per_row else top

    def least_of_all(self, own: float) -> float:
        """Return the least of a number of each piece."""
        return -float(self._exchange.largest(np.array([-own]))[0])

    def total(self, values: FloatArray) -> float:
        """Sum numbers (n,) of the rows; of rows that share a table, of those here: `merged` has them all."""
        if not self.per_row:
            return float(values.sum())
        return float(exact_sum(lambda: iter([values[:, None]]), self._n_all, self._exchange)[0])

    def mean_of(self, lines: FloatArray) -> float:
        """Return the mean of numbers (T,) of the lines of the table, by the weight of the rows that pay by them."""
        return self.total(lines[self.row] * self.weight) / self.total(self.weight)

    def sum_of(self, of_lines: Callable[[IntArray], FloatArray]) -> FloatArray:
        """Return the sum by weight of numbers (m, S) that `of_lines` gives for some lines of the table."""
        if self.per_row:

            def weighed() -> Iterator[FloatArray]:
                for rows in _parts(len(self.row)):
                    yield self.weight[rows, None] * of_lines(self.row[rows].astype(np.int64))

            return exact_sum(weighed, self._n_all, self._exchange)
        of_table = np.bincount(self.row, weights=self.weight, minlength=len(self.table))
        lines = np.arange(len(self.table))
        return np.asarray(sum(product(of_table[part], of_lines(lines[part])) for part in _parts(len(lines))))

    def stated(self, mean: Any) -> Any:
        """Return mean avoidable costs of the rows as means of stated costs."""
        return _stated(mean, self.unit, self.mean_least())

    def mean_least(self) -> float:
        """Return mean of what no decision avoids."""
        if self.least is None:
            return 0.0
        own = np.array([np.max(self.least, initial=-np.inf), np.max(-self.least, initial=-np.inf)])
        high, low = self._exchange.largest(own).tolist() if self.per_row else own.tolist()
        size = max(high, low)  # of the largest
        if size <= 0.0:
            return 0.0
        if not self.per_row:
            with np.errstate(over="ignore"):
                mean = float(product(self.weight / self.weight.sum(), self.least[self.row]))
        else:
            mean = self.mean_of(self.least / size) * size
        return min(mean, float(high))

    def facts(self) -> CostFacts:
        """Return what is known of all rows."""
        costs = self.merged()
        found = costs._facts_of_rows() if self.per_row else costs._facts_of_lines()
        return found._replace(unit=self.unit, least=costs.mean_least())

    def _facts_of_lines(self) -> CostFacts:
        """Return the facts by a table's lines, each of which stands for its rows."""
        total, means = self.weight.sum(), np.zeros((int(self.label.max()) + 1, self.n_decisions))
        for label in np.unique(self.label[self.weight > 0]):
            own = np.flatnonzero((self.label == label) & (self.weight > 0))
            means[label] = product(self.weight[own], self.table[own]) / self.weight[own].sum()
        return CostFacts(
            self.n_decisions,
            1.0,
            float(total),
            np.asarray(product(self.weight, self.table) / total),
            np.bincount(self.label, weights=self.weight).astype(np.float64),
            means,
            float(product(self.weight, self.table.max(axis=1))) / float(total),
            0.0,
            self.table if np.array_equal(self.row, self.label) else None,
        )

    def _facts_of_rows(self) -> CostFacts:
        """Return facts of costs that differ by row: sums by class of costs, of the largest ones and of weights."""
        n_labels, bits = self.label_range()[1] + 1, sum_bits(self._n_all)

        def parts() -> Iterator[tuple[FloatArray, Int32Array]]:
            for rows in _parts(len(self.row)):
                own, weight = self.table[self.row[rows]], self.weight[rows, None]
                largest = own.max(axis=1, keepdims=True)
                yield np.concatenate([weight * own, weight * largest, weight], axis=1), self.label[rows]

        tops = np.max([part.max(axis=0, initial=0.0) for part, _ in parts()], axis=0)
        factor = fixed_factor(self._exchange.largest(tops), bits)
        sums = np.zeros((2, n_labels, len(tops)), dtype=FIXED)
        for part, label in parts():
            for whole, of_rows in zip(sums, in_two_parts(part, factor, bits), strict=True):
                np.add.at(whole, label, of_rows)
        sums = self._exchange.added(sums)
        of_classes, of_all = of_two_parts(sums, factor, bits), of_two_parts(sums.sum(axis=1), factor, bits)
        weight, D = of_classes[:, -1], self.n_decisions
        means = divide(of_classes[:, :D], np.broadcast_to(weight[:, None], (n_labels, D)))
        return CostFacts(
            D, 1.0, float(of_all[-1]), of_all[:D] / of_all[-1], weight, means, float(of_all[D] / of_all[-1]), 0.0, None
        )


def _parts(n: int) -> Iterator[slice]:
    """Divide so many lines into parts; one where there are none."""
    return (slice(first, min(n, first + LINES_AT_ONCE)) for first in range(0, max(1, n), LINES_AT_ONCE))


def _stated(mean: Any, unit: float, least: float) -> Any:
    with np.errstate(over="ignore"):  # by rounding
        return np.minimum(unit * mean + least, LARGEST_FLOAT)[()]


def constant_is_better(risk: float, costs: CostFacts) -> bool:
    """Say whether decisions of this mean avoidable cost are worse than the cheapest one for all, or that is free."""
    least = float(costs.means.min())
    return least == 0.0 or risk - least > SAME_RISK * risk
