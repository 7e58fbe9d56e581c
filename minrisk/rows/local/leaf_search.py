"""The best change of each leaf of a growing shared tree on local rows: sums over the rows, scanned some at a time."""

from __future__ import annotations

import numpy as np

from minrisk._kernels._dtypes import FIXED, MAX_BINS
from minrisk._kernels.histogram import leaf_histogram, leaf_histogram_sparse, leaf_sums
from minrisk._kernels.stored import stored_leaf_histogram
from minrisk._memory import read_only
from minrisk._typing import IntArray
from minrisk.rows.base import LeafSplits
from minrisk.rows.local.columns import LocalColumns
from minrisk.rows.scans import LeafScan

LEAF_BATCH = 256  # leaves per histogram pass


def leaf_totals(rows: LocalColumns, n_leaves: int) -> IntArray:
    """The bag's contrast in each leaf."""
    total = np.zeros(n_leaves, dtype=FIXED)
    for start, stop in rows.undivided:
        leaf_sums(rows.leaf, rows.fixed_contrast, start, stop, total)
    return total


def add_contrasts(rows: LocalColumns, features: IntArray, first: int, total: IntArray, sums: np.ndarray) -> None:
    """Add the contrast by bin to sums (f, leaves from `first` on, MAX_BINS); all features are indexed, or none."""
    index = rows.index
    if rows.sparse is not None:
        stored_leaf_histogram(
            rows.sparse.stored, read_only(features), rows.leaf, first, rows.fixed_contrast, total, sums
        )
    elif index.indexed[features[0]]:
        leaf_histogram_sparse(
            rows.X_binned,
            features,
            rows.leaf,
            first,
            rows.fixed_contrast,
            index.offsets,
            index.rows,
            total,
            index.frequent,
            rows.n_bins,
            sums,
        )
    else:
        for start, stop in rows.undivided:
            leaf_histogram(rows.X_binned, features, rows.leaf, first, rows.fixed_contrast, start, stop, sums)


def best_leaf_splits(rows: LocalColumns, sign: IntArray, features: IntArray) -> LeafSplits:
    """Best change of each leaf with present constant sign `sign`; see `Rows.best_leaf_splits`."""
    here = leaf_totals(rows, len(sign))
    changes = LeafScan(sign, rows.exchange.added(here), rows.margin, rows.contrast_factor, rows.n_bins)
    splits = changes.constants()
    for first in range(0, len(sign), LEAF_BATCH):
        leaves = slice(first, min(first + LEAF_BATCH, len(sign)))
        order, found = _scanned(rows, changes, leaves, features, here)
        changes.choose(splits, leaves, order, *found)
    return splits


def _scanned(
    rows: LocalColumns, changes: LeafScan, leaves: slice, features: IntArray, here: IntArray
) -> tuple[IntArray, list[IntArray]]:
    """Features, and for each of them the best score, bin and sign of each of some leaves."""

    def add(chunk: IntArray, sums: np.ndarray) -> None:
        add_contrasts(rows, chunk, leaves.start, here, sums)

    def scan(chunk: IntArray, sums: np.ndarray) -> tuple[IntArray, IntArray, IntArray]:
        return changes.scan(chunk, leaves, sums)

    return rows.scanned(features, (leaves.stop - leaves.start, MAX_BINS), 1, add, scan)
