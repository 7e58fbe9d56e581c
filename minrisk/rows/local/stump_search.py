"""The best stump on local rows: sums over the rows, some features at a time, each scanned while it is in the cache."""

from __future__ import annotations

from functools import partial

import numpy as np

from minrisk._kernels._dtypes import MAX_BINS
from minrisk._kernels.histogram import edge_histogram, edge_histogram_sparse
from minrisk._typing import FloatArray, IntArray
from minrisk.rows.base import Split
from minrisk.rows.local.columns import LocalColumns
from minrisk.rows.scans import StumpScan, best_split


def add_edges(rows: LocalColumns, features: IntArray, sums: np.ndarray) -> None:
    """Add the bag's edges (and masses) by bin to sums (f, MAX_BINS, columns); all features are indexed, or none."""
    index = rows.index
    if index.indexed[features[0]]:
        edge_histogram_sparse(
            rows.X_binned, features, rows.fixed, index.offsets, index.rows, rows.fixed_total_here, index.frequent,
            rows.n_bins, sums,
        )  # fmt: skip
    else:
        for start, stop in rows.blocks:
            edge_histogram(rows.X_binned, features, rows.fixed, start, stop, sums)


def best_stump(rows: LocalColumns, gain: int, mass: FloatArray, features: IntArray) -> Split | None:
    """Best stump over the features; see `Rows.best_stump`."""
    width = rows.fixed.shape[1]
    stumps = StumpScan(gain, mass, rows.fixed_total, rows.fixed_factors, rows.n_bins, rows.barred)

    order, (drop, where) = rows.scanned(features, (MAX_BINS, width), width, partial(add_edges, rows), stumps.scan)
    return best_split(order, drop, where)
