"""Histograms of one node of a growing tree: the sums of its rows' columns by bin.

`lists` are of features whose most frequent bin holds most rows: (rows outside it, (d,) int64; where their numbers
begin and end in the third, (d, 2) int64; the row numbers, uint16; that bin, (d,) uint8). Only those rows are visited
where they are fewer than half the node's; the frequent bin is the node's total less the rest, exact because sums are
integers. `member` (n,) int32 is the leaf of each row, -1 outside the tree; without row numbers it is not looked at.
"""

import numpy as np

from minrisk._kernels._jit import kernel, part

LISTED = 2  # a listed row takes as long as two others: it is asked for its leaf, and read where it stands


@kernel
def gather(columns, order, start, end, out):
    """out[i] = columns of the node's rows."""
    for i in range(end - start):
        row = order[start + i]
        for c in range(columns.shape[1]):
            out[i, c] = columns[row, c]


@kernel
def fill(column, order, start, end, gathered, histogram):
    """histogram[b] += columns of the node's rows whose feature (`column`) is in bin b."""
    n_columns = gathered.shape[1]
    if n_columns == 2:
        for i in range(end - start):
            b = column[order[start + i]]
            histogram[b, 0] += gathered[i, 0]
            histogram[b, 1] += gathered[i, 1]
    elif n_columns == 3:
        for i in range(end - start):
            b = column[order[start + i]]
            histogram[b, 0] += gathered[i, 0]
            histogram[b, 1] += gathered[i, 1]
            histogram[b, 2] += gathered[i, 2]
    else:
        for i in range(end - start):
            b = column[order[start + i]]
            for c in range(n_columns):
                histogram[b, c] += gathered[i, c]


@kernel
def fill_marked(column, order, start, end, gathered, histogram, words):
    """`fill`, and bit b of the four words is set when a row of the node is in bin b."""
    n_columns = gathered.shape[1]
    for w in range(4):
        words[w] = np.uint64(0)
    if n_columns == 3:
        for i in range(end - start):
            b = np.int64(column[order[start + i]])
            words[b >> 6] |= np.uint64(1) << np.uint64(b & 63)
            histogram[b, 0] += gathered[i, 0]
            histogram[b, 1] += gathered[i, 1]
            histogram[b, 2] += gathered[i, 2]
    else:
        for i in range(end - start):
            b = np.int64(column[order[start + i]])
            words[b >> 6] |= np.uint64(1) << np.uint64(b & 63)
            for c in range(n_columns):
                histogram[b, c] += gathered[i, c]


@part
def is_listed(lists, j, n_rows):
    """Whether a node of so many rows is told sooner by the list of feature j."""
    return LISTED * lists[0][j] < n_rows


@kernel
def fill_listed(column, j, lists, member, leaf, columns, total, histogram, words):
    """`fill_marked` from the listed rows, those outside the frequent bin, which is what is left of the total."""
    _, position, numbers, most_frequent = lists
    rows, frequent, n_columns = numbers[position[j, 0] : position[j, 1]], np.int64(most_frequent[j]), columns.shape[1]
    for w in range(4):
        words[w] = np.uint64(0)
    words[frequent >> 6] |= np.uint64(1) << np.uint64(frequent & 63)
    most = histogram[frequent]
    for c in range(n_columns):
        most[c] = total[c]
    if n_columns == 3:
        for p in range(rows.shape[0]):
            row = rows[p]
            if member[row] == leaf:
                b = np.int64(column[row])
                words[b >> 6] |= np.uint64(1) << np.uint64(b & 63)
                first, second, third = columns[row, 0], columns[row, 1], columns[row, 2]
                histogram[b, 0] += first
                histogram[b, 1] += second
                histogram[b, 2] += third
                most[0] -= first
                most[1] -= second
                most[2] -= third
    else:
        for p in range(rows.shape[0]):
            row = rows[p]
            if member[row] == leaf:
                b = np.int64(column[row])
                words[b >> 6] |= np.uint64(1) << np.uint64(b & 63)
                for c in range(n_columns):
                    histogram[b, c] += columns[row, c]
                    most[c] -= columns[row, c]


@kernel
def everything(n_bins, words):
    """All bits of bins below n_bins."""
    for w in range(4):
        words[w] = np.uint64(0)
    for b in range(n_bins):
        words[b >> 6] |= np.uint64(1) << np.uint64(b & 63)


@kernel
def node_histograms(X_binned, features, columns, order, start, end, total, lists, member, leaf, gathered, out):
    """out[f] = histogram of the node for each feature, zeroed first."""
    words = np.empty(4, dtype=np.uint64)
    for f in range(features.shape[0]):
        j = features[f]
        out[f] = 0
        if is_listed(lists, j, end - start):
            fill_listed(X_binned[j], j, lists, member, leaf, columns, total, out[f], words)
        else:
            fill(X_binned[j], order, start, end, gathered, out[f])
