"""The rows of one place as members see them: what `columns`, `folds` and `directions` do where all rows are here."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from minrisk._typing import IntArray
from minrisk._workers import Workers
from minrisk.data.copies import are_copies, content_keys, told_by
from minrisk.data.row_keys import odd_numbers
from minrisk.ensemble import defaults, sizes
from minrisk.ensemble.columns import fill_projected, linear_features
from minrisk.ensemble.directions import fit_moments
from minrisk.ensemble.folds import drawn_folds, fold_counts, spread_folds
from minrisk.ensemble.kind import Table, is_wide
from minrisk.model.projection import Projection
from minrisk.rows.columns import Columns
from minrisk.rows.exchange import Place
from minrisk.rows.factory import folded_rows
from minrisk.rows.folded import FoldedRows
from minrisk.rows.placed import CountedRows, PlacedRows


class FoldedPiece:
    """Rows of one place, fold after fold.

    Parameters
    ----------
    rows : PlacedRows
    place : Place
    counted : CountedRows
    n_folds : int
    seed : int
    """

    def __init__(self, rows: PlacedRows, place: Place, counted: CountedRows, n_folds: int, seed: int) -> None:
        place, codes = counted.place, counted.costs.label
        self._counted, exchange, K, n = counted, place.exchange, counted.n_classes, len(codes)
        folds = drawn_folds(_drawn_by(counted), n_folds, seed)
        folds = spread_folds(folds, codes, exchange.added(fold_counts(folds, codes, K, n_folds)))
        begins, firsts = place.numbered
        own = [np.bincount(folds[a:b], minlength=n_folds) for a, b in itertools.pairwise([*begins.tolist(), n])]
        of_here = np.column_stack([firsts, np.array(own, dtype=np.int64)])
        of_all = exchange.gathered(of_here)
        self._order = np.argsort(folds, kind="stable")
        self._folds = folds[self._order]
        self.n_folds = int(np.count_nonzero(of_all[:, 1:].sum(axis=0)))
        begin = np.concatenate([[0], np.cumsum(of_all[:, 1:].sum(axis=0))])
        start, segments = 0, []
        for fold in range(n_folds):
            for first, n_rows in of_here[:, [0, 1 + fold]].tolist():
                before = int(of_all[of_all[:, 0] < first, 1 + fold].sum())
                segments.append((start, int(begin[fold]) + before))
                start += n_rows
        self.place = place._replace(segments=tuple(segments))

    def folded(self) -> FoldedRows:
        """With what mistakes cost."""
        return folded_rows(self._counted.costs.at(self._order), self._folds, self.place)

    def columns(self, binning: str, max_bins: int | None, workers: Workers) -> Columns:
        """Bins of the features."""
        binner = self._counted.binner(binning, max_bins)
        return Columns(binner.transform(self._counted.X, self._order, workers), binner.n_bins, binner.thresholds)

    def add_linear(
        self, columns: Columns, binning: str, max_bins: int | None, workers: Workers
    ) -> tuple[Projection, list[IntArray]] | None:
        """Linear features, put behind the others: see `minrisk.ensemble.columns.linear_columns`."""
        counted, exchange = self._counted, self.place.exchange
        d, n_folds = counted.X.shape[1], min(self.n_folds, counted.n_rows)
        most = min(d, defaults.PRINCIPAL) + n_folds * min(d, defaults.DISCRIMINANT)
        if d > defaults.LINEAR_FEATURES or most * counted.n_rows > defaults.LINEAR_BINS:
            return None
        fold = np.empty(len(self._order), dtype=np.int64)
        fold[self._order] = self._folds
        numbers, here = counted.spaced(min(defaults.MOMENT_ROWS, defaults.MOMENT_VALUES // d))
        costs, linear = counted.costs, None
        found = counted.collected(numbers, counted.X[here], costs.label[here], costs.weight[here], fold[here])
        if found is not None:
            X, label, weight, fold = found
            linear = linear_features(fit_moments(X, weight, np.arange(len(X))), d, label, weight, fold, n_folds)
        (linear,) = exchange.told((linear,))
        if linear is None:
            return None
        projection, seen = linear
        binner = counted.thresholds(
            lambda rows: projection.columns(counted.X[rows], workers).astype(np.float32), binning, max_bins
        )
        columns.add(
            binner.n_bins,
            binner.thresholds,
            lambda bins: fill_projected(bins, counted.X, self._order, projection, binner, workers),
        )
        return projection, seen


def _drawn_by(counted: CountedRows) -> np.ndarray:
    """Numbers of the rows here that their folds are drawn by: where rows are copied, of their cells alone."""
    place, codes, d = counted.place, counted.costs.label, counted.X.shape[1]
    numbers = place.numbers_of_all(len(codes))
    few = told_by(numbers, place.n_rows)
    found = counted.collected(numbers[few], counted.X[few], codes[few])
    told: tuple[bool, ...] = place.exchange.told(None if found is None else (are_copies(found[0], found[1], d),))
    if not told[0]:
        return numbers
    return content_keys(counted.X, np.arange(len(codes)), d, odd_numbers(np.random.default_rng(1), d))


def table_elsewhere(driver: Any, counted: Any, plan: Any, n: int, d: int) -> tuple[Table, Any]:
    """`minrisk.ensemble.training.bin_table` for rows that lie elsewhere: many, which count as n, of d numbers."""
    usual, fine = sizes.n_bins(plan.binning, plan.max_bins, n, d)
    n_folds = plan.cv or defaults.FOLDS
    piece = driver.made(FoldedPiece, counted, n_folds, plan.seed)
    columns, folded = piece.columns(plan.binning, usual, Workers()), piece.folded()
    none = np.empty((0, d))
    if piece.n_folds == 1:
        return Table(none, np.empty(0, np.int32), columns), folded
    finer = plan.pool and fine != usual and not is_wide(n, d)
    table = Table(
        none,
        np.empty(0, np.int32),
        columns,
        (lambda: piece.columns(plan.binning, fine, Workers())) if finer else None,
        (lambda: piece.add_linear(columns, plan.binning, usual, Workers())) if plan.pool else None,
    )
    return table, folded
