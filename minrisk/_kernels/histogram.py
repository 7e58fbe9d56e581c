"""Sums per (feature, bin): of fixed-point columns (edges, or edges and masses) or of one number per row and leaf.

Features whose most frequent bin holds most rows have a *sparse index*: the rows outside that bin, in blocks of
65 536. Only those rows are visited; the frequent bin is the total less the rest, exact because sums are integers.

    X_binned (n_features, n_samples) uint8      fixed (n_samples, n_columns) int32 or int64
    offsets  (n_features, n_blocks + 1) int64   rows (n_indexed,) uint16
"""

import numpy as np

from minrisk._kernels._jit import kernel

NUMBERED_ROWS = 65536  # rows of a block of the sparse index, whose numbers within it fit two bytes


@kernel
def edge_histogram(X_binned, features, fixed, start, stop, out):
    """out[c, b, :] += fixed[i, :] for rows start..stop whose feature features[c] is in bin b."""
    n_columns = fixed.shape[1]
    for c in range(features.shape[0]):
        j = features[c]
        for i in range(start, stop):
            b = X_binned[j, i]
            for k in range(n_columns):
                out[c, b, k] += fixed[i, k]


@kernel
def edge_histogram_sparse(X_binned, features, fixed, offsets, rows, total, frequent, n_bins, out):
    """The same over all rows, for features with a sparse index; the frequent bin is `total` less the rest."""
    n_columns = fixed.shape[1]
    for c in range(features.shape[0]):
        j = features[c]
        for block in range(offsets.shape[1] - 1):
            first = block * NUMBERED_ROWS
            for p in range(offsets[j, block], offsets[j, block + 1]):
                i = first + rows[p]
                b = X_binned[j, i]
                for k in range(n_columns):
                    out[c, b, k] += fixed[i, k]
        missing = frequent[j]
        for k in range(n_columns):
            rest = total[k]
            for b in range(n_bins[j]):
                if b != missing:
                    rest -= out[c, b, k]
            out[c, missing, k] = rest


@kernel
def leaf_histogram(X_binned, features, leaf, first_leaf, fixed, start, stop, out):
    """out[c, l, b] += fixed[i] for rows start..stop of leaf first_leaf + l whose feature features[c] is in bin b."""
    n_leaves = out.shape[1]
    for c in range(features.shape[0]):
        j = features[c]
        for i in range(start, stop):
            node = leaf[i] - first_leaf
            if 0 <= node < n_leaves:
                out[c, node, X_binned[j, i]] += fixed[i]


@kernel
def leaf_histogram_sparse(X_binned, features, leaf, first_leaf, fixed, offsets, rows, total, frequent, n_bins, out):
    """The same over all rows, for features with a sparse index; `total` holds the sum of each leaf."""
    n_leaves = out.shape[1]
    for c in range(features.shape[0]):
        j = features[c]
        for block in range(offsets.shape[1] - 1):
            first = block * NUMBERED_ROWS
            for p in range(offsets[j, block], offsets[j, block + 1]):
                i = first + rows[p]
                node = leaf[i] - first_leaf
                if 0 <= node < n_leaves:
                    out[c, node, X_binned[j, i]] += fixed[i]
        missing = frequent[j]
        for node in range(n_leaves):
            rest = total[first_leaf + node]
            for b in range(n_bins[j]):
                if b != missing:
                    rest -= out[c, node, b]
            out[c, node, missing] = rest


@kernel
def leaf_sums(leaf, fixed, start, stop, out):
    """out[l] += fixed[i] for rows start..stop of leaf l."""
    for i in range(start, stop):
        out[leaf[i]] += fixed[i]


@kernel
def index_rows(X_binned, j, frequent, offsets, position, rows):
    """Write the sparse index of feature j from `position` on; returns the position after it."""
    n_samples = X_binned.shape[1]
    for block in range(offsets.shape[1] - 1):
        offsets[j, block] = position
        first = block * NUMBERED_ROWS
        for i in range(first, min(first + NUMBERED_ROWS, n_samples)):
            if X_binned[j, i] != frequent:
                rows[position] = np.uint16(i - first)
                position += 1
    offsets[j, offsets.shape[1] - 1] = position
    return position
