"""The best stump on local rows: sums over the rows, some features at a time, each scanned while it is in the cache."""

from __future__ import annotations

from functools import partial

import numpy as np

from minrisk._kernels._dtypes import MAX_BINS
from minrisk._kernels.histogram import edge_histogram, edge_histogram_sparse
from minrisk._kernels.stored import stored_edge_histogram
from minrisk._memory import read_only
from minrisk._typing import FloatArray, IntArray
from minrisk.rows.base import Split, StumpBounds
from minrisk.rows.fixed_point import divide, fixed_factor
from minrisk.rows.local.columns import LocalColumns
from minrisk.rows.row_losses import SeriesRowLoss
from minrisk.rows.scans import SeriesScan, StumpScan, best_split, likely

MANY_FEATURES = 32  # of which more derivatives are summed: to sum up the loss along one stump first takes less time


def add_edges(rows: LocalColumns, features: IntArray, sums: np.ndarray) -> None:
    """Add the bag's edges (and masses) by bin to sums (f, MAX_BINS, columns); all features are indexed, or none."""
    add_columns(rows, rows.fixed, rows.fixed_total_here, features, sums)


def add_columns(
    rows: LocalColumns, fixed: np.ndarray, total_here: IntArray, features: IntArray, sums: np.ndarray
) -> None:
    """The same of other columns of whole numbers, (n, columns), whose sums over these rows are known."""
    index = rows.index
    if rows.sparse is not None:
        stored_edge_histogram(rows.sparse.stored, read_only(features), fixed, total_here, sums)
    elif index.indexed[features[0]]:
        edge_histogram_sparse(
            rows.X_binned, features, fixed, index.offsets, index.rows, total_here, index.frequent, rows.n_bins, sums
        )
    else:
        for start, stop in rows.undivided:
            edge_histogram(rows.X_binned, features, fixed, start, stop, sums)


def best_stump(rows: LocalColumns, gain: int, mass: FloatArray, features: IntArray) -> Split | None:
    """Best stump over the features; see `Rows.best_stump`."""
    width = rows.fixed.shape[1]
    stumps = StumpScan(gain, mass, rows.fixed_total, rows.fixed_factors, rows.n_bins, rows.barred)

    order, (drop, where) = rows.scanned(features, (MAX_BINS, width), width, partial(add_edges, rows), stumps.scan)
    return best_split(order, drop, where)


def stump_bounds(rows: LocalColumns, loss: SeriesRowLoss, mass: FloatArray, features: IntArray) -> StumpBounds | None:
    """Stumps that may be the best; see `Rows.stump_bounds`.

    Edges alone rule out most features, the third and fifth derivatives most bins of the others.
    """
    D, value = rows.n_outputs, rows.bag_value
    no = np.empty((2, 0))
    stumps = SeriesScan(mass, value, no, rows.fixed_total, divide(1.0, rows.fixed_factors), rows.n_bins, 0.0)
    order, (low, high, where) = rows.scanned(features, (MAX_BINS, D), D, partial(add_edges, rows), stumps.of_features)
    ahead = float(low.max())
    if not ahead > 0:
        return None
    if np.count_nonzero(likely(high, ahead)) > MANY_FEATURES:
        best = int(np.flatnonzero(low == ahead)[np.argmin(order[low == ahead])])
        ahead = max(ahead, _fall(rows, loss, int(order[best]), int(where[best])))
    left = np.sort(order[likely(high, ahead)])
    fixed, total_here, even, factors = _series(rows, rows.for_costs(loss))
    total = rows.exchange.added(total_here)
    stumps = SeriesScan(mass, value, even, total, divide(1.0, factors), rows.n_bins, ahead)
    add = partial(add_columns, rows, fixed, total_here)
    order, (low, high) = rows.scanned(left, (MAX_BINS, 3 * D), 3 * D, add, stumps.of_bins)
    ahead = max(ahead, float(low.max()))
    left = np.sort(order[likely(high, ahead).any(axis=1)])
    order, (low, high, detail) = rows.scanned(left, (MAX_BINS, 3 * D), 3 * D, add, stumps.of_outputs)
    by_feature = np.argsort(order)
    place, bin_ = np.nonzero(likely(high[by_feature], ahead))
    step, low, high = detail[by_feature[place], bin_].transpose(1, 0, 2)
    return StumpBounds(left[place], bin_, step, low, high)


def stump_slopes(
    rows: LocalColumns, loss: SeriesRowLoss, feature: IntArray, bin_: IntArray, output: IntArray, step: FloatArray
) -> FloatArray:
    """Value, slope and curvature along stumps; see `Rows.stump_slopes`."""
    feature, bin_, output = (np.ascontiguousarray(column) for column in (feature, bin_, output))  # of one type to Numba
    X_binned, feature = rows.split_bins(feature)
    loss = rows.for_costs(loss)
    factors = fixed_factor(loss.entry_bounds(rows.top_value[output], step, rows.top_cost), rows.sum_bits)
    parts = rows.over_blocks(
        lambda a, b: loss.stump_sums(
            rows.costs, rows.scores, X_binned, rows.in_bag, feature, bin_, output, step, factors, a, b
        )
    )
    return divide(rows.added(parts), factors)


def _fall(rows: LocalColumns, loss: SeriesRowLoss, feature: int, bin_: int) -> float:
    """What a stump takes away with two Newton steps: near what it does with the best."""
    D = rows.n_outputs
    stump, step = (np.full(D, feature), np.full(D, bin_), np.arange(D)), np.zeros(D)
    for _ in range(2):
        _, slope, curvature = stump_slopes(rows, loss, *stump, step)
        step = step + np.clip(divide(-slope, curvature), -1.0, 1.0)
    return float((rows.bag_value - stump_slopes(rows, loss, *stump, step)[0]).sum())


def _series(rows: LocalColumns, loss: SeriesRowLoss) -> tuple[np.ndarray, IntArray, FloatArray, FloatArray]:
    """The columns -l', l''' and l^(5) in fixed point (n, 3 D), their sums, those of l^(4) and l^(6), and factors."""
    D, top = rows.n_outputs, rows.top_mass
    fixed = np.empty((rows.n_samples, 3 * D), dtype=rows.fixed.dtype)
    factor, even = fixed_factor(top, rows.fixed_bits), rows.fixed_factor(top)
    parts = rows.over_blocks(
        lambda a, b: loss.series_columns(
            rows.costs, rows.scores, rows.edge, rows.in_bag, rows.fixed_factors, factor, even, a, b, fixed
        )
    )
    here = np.asarray(np.sum(parts, axis=0))
    sums = rows.exchange.added(here[3 * D :])
    factors = np.concatenate([rows.fixed_factors, factor, factor])
    return fixed, here[: 3 * D], divide(sums, np.tile(even, 2)).reshape(2, D), factors
