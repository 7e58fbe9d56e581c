"""The best change of each leaf of a growing shared tree on local rows."""

from __future__ import annotations

import numpy as np

from minrisk._kernels._dtypes import FIXED, MAX_BINS
from minrisk._kernels.histogram import leaf_histogram, leaf_histogram_sparse, leaf_sums
from minrisk._kernels.split import scan_leaves
from minrisk._typing import IntArray
from minrisk.rows.base import LeafSplits
from minrisk.rows.local.columns import LocalColumns

LEAF_BATCH = 256  # leaves per histogram pass


def best_leaf_splits(rows: LocalColumns, sign: IntArray, features: IntArray) -> LeafSplits:
    """Best change of each leaf with present constant sign `sign`; see `Rows.best_leaf_splits`."""
    total = np.zeros(len(sign), dtype=FIXED)
    for start, stop in rows.blocks:
        leaf_sums(rows.leaf, rows.fixed_contrast, start, stop, total)
    kept = sign * total
    flip = np.abs(total) > kept + rows.margin
    constant = np.where(flip, np.abs(total), kept)
    splits = LeafSplits(
        np.full(len(sign), -1),
        np.full(len(sign), -1),
        np.where(flip, -sign, sign).astype(np.int64),
        (constant - kept) / rows.contrast_factor,
    )
    for first in range(0, len(sign), LEAF_BATCH):
        batch = slice(first, min(first + LEAF_BATCH, len(sign)))
        order, score, where, side = _scan_batch(rows, first, total, total[batch], features)
        top = score.max(axis=0)
        ties = score >= top - rows.margin
        best = np.argmin(np.where(ties, order[:, None], rows.n_features), axis=0)
        pick = (best, np.arange(len(best)))
        better = top > constant[batch] + rows.margin
        splits.feature[batch] = np.where(better, order[best], -1)
        splits.bin[batch] = np.where(better, where[pick], -1)
        splits.sign[batch] = np.where(better, side[pick], splits.sign[batch])
        splits.gain[batch] = np.where(better, (top - kept[batch]) / rows.contrast_factor, splits.gain[batch])
    return splits


def _scan_batch(
    rows: LocalColumns, first: int, total: IntArray, batch_total: IntArray, features: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Features, and for each of them the best score, bin and sign of each leaf of a batch."""
    width, index = len(batch_total), rows.index

    def search(chunk: IntArray, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        histogram = memory.reshape(len(chunk), width, MAX_BINS)
        if index.indexed[chunk[0]]:
            leaf_histogram_sparse(
                rows.X_binned, chunk, rows.leaf, first, rows.fixed_contrast, index.offsets, index.rows, total,
                index.frequent, rows.n_bins, histogram,
            )
        else:
            for start, stop in rows.blocks:
                leaf_histogram(rows.X_binned, chunk, rows.leaf, first, rows.fixed_contrast, start, stop, histogram)
        found = (
            np.empty((len(chunk), width), dtype=FIXED),
            np.zeros((len(chunk), width), dtype=np.int64),
            np.zeros((len(chunk), width), dtype=np.int64),
        )
        scan_leaves(histogram, chunk, rows.n_bins, batch_total, rows.margin, *found)
        return found

    work = rows.n_samples * len(features)
    order, parts = rows.over_features(features, width * MAX_BINS * 8, work, search)
    score, where, side = (np.concatenate(column) for column in zip(*parts, strict=True))
    return order, score, where, side
