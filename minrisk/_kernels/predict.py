"""Scores of raw rows under packed trees: every step of a walk is node = left[node] + (x > threshold[node]).

A leaf points to itself with threshold +inf, so walks need no branch on the data and a few rows go down a tree side by
side. A missing value compares as not greater, so it goes left.
"""

import numpy as np

from minrisk._kernels._dtypes import FAR
from minrisk._kernels._jit import kernel, part

WALKED_ROWS, WALKED_VALUES = 1024, 1 << 18  # rows of a block, and values of X: a tree's nodes and vectors stay in cache
WALKED_TREES = 4  # trees walked before their vectors are added: the row's scores stay in registers meanwhile
LEFT_BITS = 32  # of a packed node's left child, above its feature


@kernel
def walk(block, threshold, link, root, n_rows, leaf):
    """leaf[i] = the leaf of row i of the block (d, n), four rows at a time."""
    mask = (np.int64(1) << LEFT_BITS) - 1
    whole = n_rows - n_rows % 4
    for i in range(0, whole, 4):
        a = b = c = d = root
        while True:
            la, lb, lc, ld = link[a], link[b], link[c], link[d]
            to_a = (la >> LEFT_BITS) + (block[la & mask, i] > threshold[a])
            to_b = (lb >> LEFT_BITS) + (block[lb & mask, i + 1] > threshold[b])
            to_c = (lc >> LEFT_BITS) + (block[lc & mask, i + 2] > threshold[c])
            to_d = (ld >> LEFT_BITS) + (block[ld & mask, i + 3] > threshold[d])
            if (a ^ to_a) | (b ^ to_b) | (c ^ to_c) | (d ^ to_d) == 0:
                break
            a, b, c, d = to_a, to_b, to_c, to_d
        leaf[i], leaf[i + 1], leaf[i + 2], leaf[i + 3] = a, b, c, d
    for i in range(whole, n_rows):
        a = root
        while True:
            la = link[a]
            to_a = (la >> LEFT_BITS) + (block[la & mask, i] > threshold[a])
            if to_a == a:
                break
            a = to_a
        leaf[i] = a


@part
def adds_nothing(link, value, vector, root, vectors):
    """Whether a tree is one leaf that adds zeros, as those are that keep the place of a member that is done."""
    if link[root] >> LEFT_BITS != root:
        return False
    largest = 0.0
    for k in range(vectors.shape[1]):
        largest = max(largest, abs(value[root] * vectors[vector[root], k]))
    return largest == 0.0


@kernel
def add_trees(X, threshold, link, value, vector, offsets, vectors, first, last, start, stop, scores):
    """scores[i] += value * vectors[vector] of x_i's leaf in each of trees first..last, rows start..stop, in order.

    `link` is left << 32 | feature.
    """
    n_outputs, n_features = scores.shape[1], X.shape[1]
    width = min(WALKED_ROWS, max(64, WALKED_VALUES // n_features), stop - start)
    block = np.empty((n_features, width), dtype=X.dtype)
    leaf = np.empty((WALKED_TREES, width), dtype=np.int64)
    for low in range(start, stop, max(1, width)):
        n_rows = min(width, stop - low)
        for i in range(n_rows):
            for j in range(n_features):
                block[j, i] = X[low + i, j]
        t = first
        while t < last:
            n_trees = 0
            while t < last and n_trees < WALKED_TREES:
                if not adds_nothing(link, value, vector, offsets[t], vectors):
                    walk(block, threshold, link, offsets[t], n_rows, leaf[n_trees])
                    n_trees += 1
                t += 1
            for i in range(n_rows):
                for c in range(n_trees):
                    f, v = value[leaf[c, i]], vector[leaf[c, i]]
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
                if np.isinf(difference):  # beyond float64, where half of it is not
                    difference = np.float64(X[i, feature[node]]) / 2.0 - origin[node] / 2.0
                    f += min(max(2.0 * (slope[node] * difference), -FAR), FAR)
                elif not np.isnan(difference):
                    f += min(max(slope[node] * difference, -FAR), FAR)
            v = vector[node]
            for k in range(n_outputs):
                scores[i, k] += f * vectors[v, k]
