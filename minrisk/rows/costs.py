"""What each row's mistakes cost, and sums of it over rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minrisk._kernels._dtypes import FIXED
from minrisk._memory import read_only
from minrisk._sums import weighted_sum
from minrisk._typing import FloatArray, Int32Array, IntArray
from minrisk.costs.units import LARGEST_FLOAT
from minrisk.rows.exchange import Alone, Exchange
from minrisk.rows.fixed_point import fixed_factor, in_two_parts, of_two_parts, sum_bits

SAME_RISK = 1e-9  # risks and means of costs that differ by a smaller share are equal


class RowCosts(NamedTuple):
    """What each row's mistakes cost: row i pays weight[i] * table[row[i], k] for decision k.

    These are avoidable costs: decisions and judgements depend on nothing else. What is shown is in terms of the costs
    as stated, least[row[i]] + unit * table[row[i], k].
    """

    table: FloatArray  # (K, D) with row = y, or (n, D) with row = 0, 1, ... for costs per row
    row: Int32Array  # (n,)
    weight: FloatArray  # (n,) sample weights
    label: Int32Array  # (n,) code of the true class; equals row unless costs are per row
    unit: float = 1.0
    least: FloatArray | None = None  # of each row of the table; None: zeros

    @property
    def n_rows(self) -> int:
        """Rows that the weights stand for, see `minrisk.costs.units.relative_weights`."""
        return round(float(self.weight.sum()))

    def stated(self, mean: Any) -> Any:
        """Mean avoidable costs of these rows as means of stated costs."""
        with np.errstate(over="ignore"):  # by rounding
            return np.minimum(self.unit * mean + self.mean_least(), LARGEST_FLOAT)[()]

    def avoidable(self, mean: Any) -> Any:
        """And back."""
        return (mean - self.mean_least()) / self.unit

    def mean_least(self) -> float:
        """Mean of what no decision avoids."""
        if self.least is None or not self.least.any():
            return 0.0
        with np.errstate(over="ignore"):
            mean = float(weighted_sum(self.weight / self.weight.sum(), self.least[self.row]))
        return min(mean, float(self.least.max()))

    def at(self, rows: IntArray) -> RowCosts:
        """Those of some rows."""
        return self._replace(row=self.row[rows], weight=self.weight[rows], label=self.label[rows])

    def reorder(self, order: IntArray) -> None:
        """Put the rows in another order, in place."""
        for column in (self.row, self.weight, *(() if self.label is self.row else (self.label,))):
            column[:] = column[order]

    def read_only(self) -> RowCosts:
        """As kernels take it; see `minrisk._memory.read_only`."""
        return self._replace(
            table=read_only(self.table), row=read_only(self.row), weight=read_only(self.weight),
            label=read_only(self.label),
        )  # fmt: skip

    def merged(self, exchange: Exchange | None = None, n_rows: int | None = None) -> RowCosts:
        """A row for each line of the table, with the weight of all rows that pay by it; these are `n_rows` in all.

        Default: these rows are all. A line that no row pays by has the class of its number, if there is one.

        Weights are added as whole numbers and what is left of them, so that neither their order nor their division into
        pieces matters.
        """
        exchange, n_rows = exchange or Alone(), len(self.row) if n_rows is None else n_rows
        n_lines, n_decisions = self.table.shape
        bits = sum_bits(n_rows)
        factor = fixed_factor(exchange.largest(np.array([self.weight.max(initial=0.0)])), bits)
        sums, label = np.zeros((2, n_lines), dtype=FIXED), np.full(n_lines, -1, dtype=np.int32)
        for part, of_rows in zip(sums, in_two_parts(self.weight, factor, bits), strict=True):
            np.add.at(part, self.row, of_rows)
        label[self.row] = self.label
        label, line = exchange.largest(label), np.arange(n_lines, dtype=np.int32)
        label = np.where(label < 0, np.where(line < n_decisions, line, 0), label).astype(np.int32)  # of none: any class
        return self._replace(row=line, weight=of_two_parts(exchange.added(sums), factor, bits), label=label)

    def of_decisions(self) -> FloatArray:
        """Mean avoidable cost of each decision, taken for all rows (D,)."""
        of_table = np.bincount(self.row, weights=self.weight, minlength=len(self.table))
        return np.asarray(weighted_sum(of_table, self.table) / self.weight.sum())

    def of_classes(self) -> FloatArray:
        """Mean avoidable cost of each decision for the rows of each class (L, D); 0 for a class without rows."""
        means = np.zeros((int(self.label.max()) + 1, self.table.shape[1]))
        for label in np.unique(self.label[self.weight > 0]):
            rows = np.flatnonzero((self.label == label) & (self.weight > 0))
            of_table = np.bincount(self.row[rows], weights=self.weight[rows], minlength=len(self.table))
            used = np.flatnonzero(of_table)
            means[label] = weighted_sum(of_table[used], self.table[used]) / of_table.sum()
        return means

    def constant_scores(self) -> FloatArray:
        """Scores (D,) that decide for the cheapest decision for all rows."""
        return np.asarray(-np.log(np.maximum(self.of_decisions(), np.finfo(float).tiny)))


def constant_is_better(risk: float, costs: RowCosts) -> bool:
    """Whether decisions of this mean avoidable cost are worse than the cheapest one for all rows, or that is free."""
    least = float(costs.of_decisions().min())
    return least == 0.0 or risk - least > SAME_RISK * risk
