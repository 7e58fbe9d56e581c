"""The best stump on local rows."""

from __future__ import annotations

import numpy as np

from minrisk._kernels._dtypes import MAX_BINS
from minrisk._kernels.histogram import edge_histogram, edge_histogram_sparse
from minrisk._kernels.split import LARGEST, SIDES, scan_edges, scan_largest, scan_sides
from minrisk._typing import FloatArray, IntArray
from minrisk.rows.base import Split
from minrisk.rows.local.columns import LocalColumns
from minrisk.rows.local.fixed_point import divide

TIE = 1e-12  # drops that differ by less are equal, and the first feature is taken


def best_stump(rows: LocalColumns, gain: int, mass: FloatArray, features: IntArray) -> Split | None:
    """Best stump over the features; see `Rows.best_stump`."""
    width, total, index = rows.fixed.shape[1], rows.fixed_total, rows.index
    scale = divide(np.ones(width), rows.fixed_factors)
    ratio = scale if gain in (SIDES, LARGEST) else divide(scale, mass)

    def search(chunk: IntArray, memory: np.ndarray) -> tuple[FloatArray, IntArray]:
        histogram = memory.reshape(len(chunk), MAX_BINS, width)
        if index.indexed[chunk[0]]:
            edge_histogram_sparse(
                rows.X_binned, chunk, rows.fixed, index.offsets, index.rows, total, index.frequent, rows.n_bins,
                histogram,
            )
        else:
            for start, stop in rows.blocks:
                edge_histogram(rows.X_binned, chunk, rows.fixed, start, stop, histogram)
        drop, where = np.empty(len(chunk)), np.empty(len(chunk), dtype=np.int64)
        if gain == SIDES:
            scan_sides(histogram, chunk, rows.n_bins, total, ratio, drop, where)
        elif gain == LARGEST:
            scan_largest(histogram, chunk, rows.n_bins, total, ratio, rows.barred, drop, where)
        else:
            scan_edges(histogram, chunk, rows.n_bins, total, ratio, mass, gain, drop, where)
        return drop, where

    work = rows.n_samples * len(features) * width
    order, found = rows.over_features(features, MAX_BINS * width * 8, work, search)
    drop, where = (np.concatenate(column) for column in zip(*found, strict=True))
    top = drop.max()
    if not top > 0:
        return None
    ties = np.flatnonzero(drop >= top * (1 - TIE))
    best = ties[np.argmin(order[ties])]
    return Split(int(order[best]), int(where[best]), float(drop[best]))
