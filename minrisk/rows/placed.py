"""Rows of one place as they were given, and as a fit takes them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, IntArray, Labels
from minrisk._utils.workers import Workers
from minrisk.costs.units import AvoidableCosts
from minrisk.costs.weights import relative_weights, weighted_by_class
from minrisk.data.binning import QUANTILE_ROWS, Binner, fit_binner
from minrisk.data.row_keys import numbered_keys, odd_numbers, row_keys, running_key
from minrisk.rows.columns import Columns
from minrisk.rows.costs import CostFacts, RowCosts
from minrisk.rows.exchange import Place, everything
from minrisk.rows.rows import Rows


class Part(NamedTuple):
    """Some rows, side by side among all, as they were given and checked."""

    X: np.ndarray  # (m, d)
    y: Labels  # (m,)
    weight: FloatArray | None = None  # (m,)
    cost: Any = None  # (m, D) or (m, K, D), or a frame of (m, D)


class Seal(NamedTuple):
    """What a part was when it was first read."""

    number: int  # of the partition
    n_rows: int
    key: int

    @classmethod
    def of(cls, number: int, part: Part) -> Seal:
        """Make it of what is read."""
        key = 0
        for column in part:
            key = key if column is None else running_key(column, key)
        return cls(number, len(part.y), key)


def check_same(parts: Sequence[Part], seals: Sequence[Seal]) -> None:
    """Refuse parts that are not what they were.

    Raises
    ------
    ValueError
        If one was computed again, as after the loss of a worker, and its rows are others or in another order.
    """
    for part, seal in zip(parts, seals, strict=True):
        if Seal.of(seal.number, part) != seal:
            raise ValueError(
                f"partition {seal.number} was computed again and has other rows, or in another order: make it the same "
                "each time, with the same seed if it draws and ORDER BY in a query, or persist X and y before the fit."
            )


class ClassFactors(NamedTuple):
    """What is said of the weights of classes: see `minrisk.costs.weights`."""

    factors: FloatArray | None  # of each label; None: balanced


class PlacedRows:
    """Rows of one place.

    Parameters
    ----------
    parts : sequence of Part
    firsts : sequence of int
        Number of the first row of each among all rows, ascending.
    n_rows : int
        Of all places.
    """

    def __init__(self, parts: Sequence[Part], firsts: Sequence[int], n_rows: int) -> None:
        starts = itertools.accumulate((len(part.y) for part in parts[:-1]), initial=0)
        self.place = everything(n_rows)._replace(segments=tuple(zip(starts, firsts, strict=True)))
        self.X, self.y, self.weight, self.cost = (_joined([part[c] for part in parts]) for c in range(4))

    @property
    def nbytes(self) -> int:
        """Return how many bytes of memory they take."""
        return sum(_bytes_of(column) for column in (self.X, self.y, self.weight, self.cost) if column is not None)


def _bytes_of(column: Any) -> int:
    """Return the bytes of an array or a frame."""
    return int(column.memory_usage().sum() if hasattr(column, "memory_usage") else column.nbytes)


def _joined(columns: Sequence[Any]) -> Any:
    """Join them one after another; None where there are none."""
    if columns[0] is None or len(columns) == 1:
        return columns[0]
    if hasattr(columns[0], "iloc"):
        import pandas as pd

        return pd.concat(columns, ignore_index=True)
    return np.concatenate(columns)


class CountedRows:
    """Rows of some weight at one place, as a fit takes them: the first thing that a `Driver` makes in every piece.

    Parameters
    ----------
    rows : PlacedRows
    place : Place
    labels : ndarray
        All of y, sorted.
    codes : ndarray of int
        Class of each label.
    costs : RowCosts
        Its table, unit and least costs count, unless rows have costs of their own.
    stated : callable, optional
        Of costs per row as they were given and the codes of their classes, gives the table.
    by_class : ClassFactors, optional
        On the weights of rows.
    dtype : dtype
        That X has in all places.
    weighted : bool
        Whether rows have weights.
    """

    def __init__(
        self,
        rows: PlacedRows,
        place: Place,
        labels: Labels,
        codes: IntArray,
        costs: RowCosts,
        dtype: Any,
        weighted: bool,
        stated: Callable[[Any, IntArray], FloatArray] | None = None,
        by_class: ClassFactors | None = None,
        scale: float | None = None,
    ) -> None:
        self.n_classes = int(codes.max()) + 1
        exchange, weight, label = place.exchange, np.ones(len(rows.y)), np.searchsorted(labels, rows.y)
        if rows.weight is not None:
            weight = rows.weight
        if by_class is not None:
            weight = weighted_by_class(weight, label, len(labels), by_class.factors, exchange.largest, exchange.added)
        if weighted:
            weight = relative_weights(weight, exchange.largest, exchange.added)
        counted, code = np.flatnonzero(weight > 0.0), codes[label].astype(np.int32)
        if stated is not None:
            own = AvoidableCosts.of(
                stated(rows.cost, code), np.arange(len(code)), scale, weight > 0.0, exchange.largest, exchange.added
            )
            line = np.arange(len(counted), dtype=np.int32)
            table, least = own.table[counted], own.least[counted]
            costs = RowCosts(table, line, np.empty(0), line, own.unit, least, per_row=True)
        self.place = place.among(counted, len(weight)) if weighted else place
        self.X = rows.X.astype(dtype, copy=False)
        if len(counted) < len(self.X):
            self.X = self.X[counted]
        weight, code = weight[counted], code[counted]
        row = code if stated is None else costs.row
        self.costs = costs._replace(row=row, weight=weight, label=code, place=self.place)
        self.weighted = weighted and bool(exchange.largest(np.array([np.any(weight != 1.0)]).astype(np.int64))[0])

    @property
    def n_rows(self) -> int:
        """Return the n rows of all places."""
        return self.place.n_rows

    @property
    def cost_facts(self) -> CostFacts:
        """Return the cost facts of the rows of all places."""
        return self.costs.facts()

    def digest(self) -> IntArray:
        """Return sums over the rows of all places that hardly any change of them leaves as they are, (2,)."""
        costs = self.costs
        columns = [*self.X.T, costs.label, costs.weight, *(costs.table[costs.row].T if costs.per_row else ())]
        cells = row_keys(columns, odd_numbers(np.random.default_rng(0), len(columns)))
        keys = cells + numbered_keys(self.place.numbers_of_all(len(self.X)), 0)
        sums = [numbered_keys(keys, seed).sum(dtype=np.uint64) for seed in (1, 2)]
        return self.place.exchange.added(np.array(sums, dtype=np.uint64).view(np.int64))

    # -- some of all rows ------------------------------------------------------------------------------------------
    def spaced(self, most: int) -> tuple[IntArray, IntArray]:
        """Return numbers of so many evenly spaced rows of all, those that are here, and where they stand here."""
        n = self.n_rows
        chosen = np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(np.int64)
        here = self.place.here(chosen, len(self.X))
        return self.place.numbers_of_all(len(self.X))[here], here

    def collected(self, numbers: IntArray, *columns: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Return columns of some rows, of those of all places in the order of their numbers; None but at one place."""
        found = self.place.exchange.collected((numbers, *columns))
        if found is None:
            return None
        numbers, *joined = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.argsort(numbers, kind="stable")
        return tuple(column[order] for column in joined)

    # -- columns -----------------------------------------------------------------------------------------------------
    def binner(self, strategy: str, max_bins: int | None, weighted: bool | None = None) -> Binner:
        """Return thresholds, as `fit_binner` finds them for all rows in one place, by their weights if any is not 1."""
        return self.thresholds(lambda rows: self.X[rows], strategy, max_bins, weighted)

    def thresholds(
        self,
        values_of: Callable[[IntArray], np.ndarray],
        strategy: str,
        max_bins: int | None,
        weighted: bool | None = None,
    ) -> Binner:
        """Return the same, of values_of(rows here)."""
        weighted = self.weighted if weighted is None else weighted
        numbers, here = self.spaced(QUANTILE_ROWS)
        found, binner = self.collected(numbers, values_of(here), self.costs.weight[here]), None
        if found is not None:
            binner = fit_binner(found[0], strategy, max_bins, None, found[1] if weighted else None)
        found_or_told: tuple[Any, ...] = self.place.exchange.told(None if binner is None else (binner,))
        return found_or_told[0]  # type: ignore[no-any-return]

    def columns(self, binner: Binner, workers: Workers) -> Columns:
        """Return bins of these rows."""
        return Columns(binner.transform(self.X, None, workers), binner.n_bins, binner.thresholds)

    def rows(self, kind: type[Rows], columns: Columns, workers: Workers, **options: Any) -> Rows:
        """Return rows for a recipe."""
        return kind(
            X_binned=columns.binned,
            n_bins=columns.n_bins,
            costs=self.costs,
            workers=workers,
            place=self.place,
            **options,
        )
