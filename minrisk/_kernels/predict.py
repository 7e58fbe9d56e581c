"""Scores of raw rows under packed trees: every step of a walk is node = left[node] + (x > threshold[node]).

A leaf points to itself with threshold +inf, so walks need no branch on the data and a block of rows goes down a tree
side by side. A missing value compares as not greater, so it goes left.
"""

import numpy as np

from minrisk._kernels._jit import kernel

ROWS = 64  # rows per block: their features stay in cache while the trees pass
TREES = 16  # trees walked before their vectors are added: the row's scores stay in registers meanwhile


@kernel
def add_trees(X, feature, threshold, left, value, vector, offsets, depth, vectors, first, last, start, stop, scores):
    """scores[i] += value * vectors[vector] of x_i's leaf in each of trees first..last, rows start..stop, in order."""
    n_outputs, n_features = scores.shape[1], X.shape[1]
    width = min(ROWS, stop - start)
    block = np.empty((n_features, width), dtype=X.dtype)
    leaf = np.empty((TREES, width), dtype=np.int32)
    for low in range(start, stop, ROWS):
        n_rows = min(ROWS, stop - low)
        for i in range(n_rows):
            for j in range(n_features):
                block[j, i] = X[low + i, j]
        for earliest in range(first, last, TREES):
            n_trees = min(TREES, last - earliest)
            for t in range(n_trees):
                node = leaf[t]
                for i in range(n_rows):
                    node[i] = offsets[earliest + t]
                for _ in range(depth[earliest + t]):
                    moved = np.int32(0)
                    for i in range(n_rows):
                        old = node[i]
                        new = np.int32(left[old] + (block[feature[old], i] > threshold[old]))
                        moved |= new ^ old
                        node[i] = new
                    if moved == 0:
                        break
            for i in range(n_rows):
                for t in range(n_trees):
                    f, v = value[leaf[t, i]], vector[leaf[t, i]]
                    for k in range(n_outputs):
                        scores[low + i, k] += f * vectors[v, k]


@kernel
def add_linear_trees(
    X, feature, threshold, left, value, vector, offsets, depth, slope, origin, vectors, first, last, start, stop, scores
):
    """The same where a leaf answers value + slope * (x - origin) of its own feature, or value if that is missing."""
    n_outputs = scores.shape[1]
    for i in range(start, stop):
        for t in range(first, last):
            node = np.int64(offsets[t])
            for _ in range(depth[t]):
                node = np.int64(left[node] + (X[i, feature[node]] > threshold[node]))
            f = value[node]
            if slope[node] != 0.0:
                difference = np.float64(X[i, feature[node]]) - origin[node]
                if not np.isnan(difference):
                    f += slope[node] * difference
            v = vector[node]
            for k in range(n_outputs):
                scores[i, k] += f * vectors[v, k]
