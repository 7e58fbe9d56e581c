"""Binned columns that members split: the features, finer or coarser, and linear features beside them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from minrisk._memory import empty, give_back
from minrisk._typing import Binned, Codes, FloatArray, IntArray
from minrisk._workers import Workers
from minrisk.data.binning import Binner, fit_binner, rows_that_tell
from minrisk.data.row_blocks import RowBlocks, blocks_of
from minrisk.ensemble import defaults
from minrisk.ensemble.directions import Moments, fit_moments
from minrisk.model.projection import Projection
from minrisk.rows.columns import Columns


def weight_of(X: Any, rows: IntArray, weight: FloatArray) -> FloatArray:
    """Of every row of X (N,): these, and 0 for rows that do not count."""
    of_all = np.zeros(len(X))
    of_all[rows] = weight
    return of_all


def bin_columns(
    X: Any, rows: IntArray, weight: FloatArray, binning: str, workers: Workers, max_bins: int | None
) -> Columns:
    """The features of these rows; thresholds count every row of X by its weight."""
    binner = fit_binner(X, binning, max_bins, None, None if np.all(weight == 1.0) else weight, workers)
    binned = binner.transform(X, _unless_all(rows, X), workers)
    return Columns(binned, binner.n_bins, binner.thresholds, X.room if isinstance(X, RowBlocks) else None)


def linear_columns(
    X: Any,
    rows: IntArray,
    codes: Codes,
    weight: FloatArray,
    folds: IntArray,
    axis: Columns,
    binning: str,
    max_bins: int | None,
    workers: Workers,
) -> tuple[Projection, list[IntArray]] | None:
    """Linear features, put behind the others: their projection, and the columns that each fold's member may see.

    Principal components are shared; directions that separate the classes are learnt without the fold's rows.
    None without linear features: fewer than two features vary, there are more than 2000, or the linear ones would have
    more than half a billion bins.

    Parameters
    ----------
    X : ndarray, SparseRows or RowBlocks of shape (N, d)
    rows : ndarray of int, (n,)
        Rows of X that `codes`, `weight`, `folds` and `axis` are about.
    """
    d, n_folds = X.shape[1], min(int(folds.max()) + 1, len(rows))
    most = min(d, defaults.PRINCIPAL) + n_folds * min(d, defaults.DISCRIMINANT)
    if d > defaults.LINEAR_FEATURES or most * len(rows) > defaults.LINEAR_BINS:
        return None
    of_all, ascending = weight_of(X, rows, weight), np.argsort(rows, kind="stable")
    moments = fit_moments(X, of_all, rows[ascending])
    sample = ascending[np.searchsorted(rows, moments.rows, sorter=ascending)]
    found = linear_features(moments, d, codes[sample], weight[sample], folds[sample], n_folds)
    if found is None:
        return None
    projection, own = found
    del moments, ascending
    binner = projected_binner(X, projection, None if np.all(of_all == 1.0) else of_all, binning, max_bins, workers)
    among = _unless_all(rows, X)
    axis.add(binner.n_bins, binner.thresholds, lambda bins: fill_projected(bins, X, among, projection, binner, workers))
    if axis.n_values > defaults.LINEAR_VALUES:
        give_back()  # the pieces that the axes were computed in
    return projection, own


def linear_features(
    moments: Moments, d: int, label: Codes, weight: FloatArray, fold: IntArray, n_folds: int
) -> tuple[Projection, list[IntArray]] | None:
    """The projection, and the columns that the member of each fold may see, d features before them; None: too few vary.

    Parameters
    ----------
    moments : Moments
    d : int
    label, weight, fold : ndarray of shape (m,)
        Of the rows that the moments are of.
    n_folds : int
        First folds that have a member.
    """
    if moments.axes.shape[1] < 2:
        return None
    directions = [moments.principal()]
    for b in range(n_folds):
        directions.append(moments.discriminant(label, weight, np.flatnonzero(fold != b)))
    first = d + np.cumsum([0, *(kind.shape[1] for kind in directions)])
    shared = np.arange(first[1])
    own = [np.concatenate([shared, np.arange(a, b)]) for a, b in itertools.pairwise(first[1:].tolist())]
    return moments.projection(np.concatenate(directions, axis=1)), own


def _unless_all(rows: IntArray, X: Any) -> IntArray | None:
    """These rows, or None if they are all rows of X in their order."""
    return None if len(rows) == len(X) and not np.any(rows[1:] < rows[:-1]) else rows


def projected_binner(
    X: Any, projection: Projection, weight: FloatArray | None, binning: str, max_bins: int | None, workers: Workers
) -> Binner:
    """Thresholds of linear features, from the rows of X that those of features are found from."""
    told = rows_that_tell(len(X), None, weight)
    n = len(X) if told is None else len(told)
    of_rows = weight if weight is None or told is None else weight[told]
    if told is not None and not isinstance(X, RowBlocks):  # once, not for every part
        X, told = X[told], None
    at_once = projection.n_columns if isinstance(X, RowBlocks) else max(1, defaults.LINEAR_VALUES // max(1, n))
    thresholds: tuple[FloatArray, ...] = ()
    for a in range(0, projection.n_columns, at_once):
        part = slice(a, min(a + at_once, projection.n_columns))
        values = empty((n, part.stop - a), np.float32)
        for places, block, inside in blocks_of(X, told):
            values[places] = projection.columns(block if inside is None else block[inside], workers, part)
        thresholds += fit_binner(values, binning, max_bins, None, of_rows, workers).thresholds
    return Binner(thresholds)


def fill_projected(
    bins: Binned, X: Any, rows: IntArray | None, projection: Projection, binner: Binner, workers: Workers
) -> None:
    """Write the bins of the linear features of X, or of some of its rows, into `bins` (m, n)."""
    height = max(1, defaults.LINEAR_VALUES // projection.n_columns)
    for places, block, inside in blocks_of(X, rows):
        n = len(block) if inside is None else len(inside)
        for a in range(0, n, height):
            own = slice(a, min(a + height, n))
            some = block[own if inside is None else inside[own]]
            at = slice(places.start + a, places.start + own.stop) if isinstance(places, slice) else places[own]
            binner.fill(bins, at, projection.columns(some, workers), None, workers)
