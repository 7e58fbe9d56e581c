"""Bins, and sums by bin: of all rows, of the rows of a node, and from the stored entries of sparse features.

The bin of x is the number of thresholds below x, so that x > threshold[b] exactly when bin > b.

Sums per (feature, bin) are of fixed-point columns (gradients, or these and Hessians) or of one number per row and leaf.

Features whose most frequent bin holds most rows have a *sparse index*: the rows outside that bin, in blocks of
65 536. Only those rows are visited; the frequent bin is the total less the rest, exact because sums are integers.

    X_binned (n_features, n_samples) uint8      fixed (n_samples, n_columns) int32 or int64
    offsets  (n_features, n_blocks + 1) int64   rows (n_indexed,) uint16

Histograms of one node of a growing tree: the sums of its rows' columns by bin.

`lists` are of features whose most frequent bin holds most rows: (rows outside it, (d,) int64; where their numbers
begin and end in the third, (d, 2) int64; the row numbers, uint16; that bin, (d,) uint8). Only those rows are visited
where they are fewer than half the node's; the frequent bin is the node's total less the rest, exact because sums are
integers. `member` (n,) int32 is the leaf of each row, -1 outside the tree; without row numbers it is not looked at.

Of sparse features the entries outside the bin of 0 are stored. The entries of feature j are those from offsets[j] to
offsets[j + 1]: `rows`, ascending, and their `bins`; all other rows are in bin default[j]. Sums are integers, so that
what is left of a total for that bin is exact.
"""

from typing import NamedTuple

import numpy as np

from minrisk._kernels._dtypes import MAX_BINS
from minrisk._kernels._jit import kernel, part
from minrisk._typing import FloatArray


def padded_thresholds(thresholds: FloatArray) -> FloatArray:
    """Return ascending thresholds, and infinity above them, as many in all as there are bins at most."""
    padded = np.full(MAX_BINS, np.inf)
    padded[: len(thresholds)] = thresholds
    return padded


@kernel
def code_of(x, t):
    """Return thresholds of t (256,), ascending and +inf behind the last one, below x; none are below a missing value.

    A search in eight steps, written out: without branches on the data, in which a processor that cannot guess the half
    that comes next would wait, it takes an eighth of the time, and several values are searched for at a time.
    """
    below = 128 * np.int64(x > t[127])
    below += 64 * np.int64(x > t[below + 63])
    below += 32 * np.int64(x > t[below + 31])
    below += 16 * np.int64(x > t[below + 15])
    below += 8 * np.int64(x > t[below + 7])
    below += 4 * np.int64(x > t[below + 3])
    below += 2 * np.int64(x > t[below + 1])
    return below + np.int64(x > t[below])


@kernel
def bin_column(values, padded, out):
    """Fill out[i] with the number of thresholds < values[i]; NaN is below all, hence bin 0. See `padded_thresholds`."""
    for i in range(values.shape[0]):
        out[i] = code_of(values[i], padded)


# -- Histograms of all rows --------------------------------------------------------------------------------------------
NUMBERED_ROWS = 65536  # rows of a block of the sparse index, whose numbers within it fit two bytes


@kernel
def gradient_histogram(X_binned, features, fixed, start, stop, out):
    """Compute out[c, b, :] += fixed[i, :] for rows start..stop whose feature features[c] is in bin b."""
    n_columns = fixed.shape[1]
    for c in range(features.shape[0]):
        j = features[c]
        for i in range(start, stop):
            b = X_binned[j, i]
            for k in range(n_columns):
                out[c, b, k] += fixed[i, k]


@kernel
def gradient_histogram_sparse(X_binned, features, fixed, offsets, rows, total, frequent, n_bins, out):
    """Sum over all rows, for features with a sparse index; the frequent bin is `total` less the rest."""
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
    """Add fixed[i] to out[c, l, b] for rows start..stop of leaf first_leaf + l with features[c] in bin b."""
    n_leaves = out.shape[1]
    for c in range(features.shape[0]):
        j = features[c]
        for i in range(start, stop):
            node = leaf[i] - first_leaf
            if 0 <= node < n_leaves:
                out[c, node, X_binned[j, i]] += fixed[i]


@kernel
def leaf_histogram_sparse(X_binned, features, leaf, first_leaf, fixed, offsets, rows, total, frequent, n_bins, out):
    """Sum over all rows, for features with a sparse index; `total` holds the sum of each leaf."""
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
    """Compute out[l] += fixed[i] for rows start..stop of leaf l."""
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


# -- Histograms of a node ----------------------------------------------------------------------------------------------
LISTED = 2  # a listed row takes as long as two others: it is asked for its leaf, and read where it stands


class BinnedRows(NamedTuple):
    """Hold the bins of rows, and for features that are mostly one value the rows of the others."""

    X_binned: np.ndarray  # (n_features, n_samples) uint8
    n_bins: np.ndarray
    lists: tuple[np.ndarray, ...]
    member: np.ndarray  # (n,) int32


@kernel
def gather(columns, order, start, end, out):
    """Compute out[i] = columns of the node's rows."""
    for i in range(end - start):
        row = order[start + i]
        for c in range(columns.shape[1]):
            out[i, c] = columns[row, c]


@kernel
def fill(column, order, start, end, gathered, histogram):
    """Compute histogram[b] += columns of the node's rows whose feature (`column`) is in bin b."""
    n_columns = gathered.shape[1]
    # Sketches of one and two are spelt out: a loop over so few columns would cost more than its additions.
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
    """Do as `fill`, and set bit b of the four words where a row of the node is in bin b."""
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
    """Return whether a node of so many rows is told sooner by the list of feature j."""
    return LISTED * lists[0][j] < n_rows


@kernel
def fill_listed(column, j, lists, member, leaf, columns, total, histogram, words):
    """Do as `fill_marked` from the listed rows, those outside the frequent bin, which is what is left of the total."""
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
    """Set all bits of bins below n_bins."""
    for w in range(4):
        words[w] = np.uint64(0)
    for b in range(n_bins):
        words[b >> 6] |= np.uint64(1) << np.uint64(b & 63)


@kernel
def node_histograms(binned, features, columns, order, start, end, total, leaf, gathered, out):
    """Compute out[f] = histogram of the node for each feature, zeroed first."""
    X_binned, _, lists, member = binned
    words = np.empty(4, dtype=np.uint64)
    for f in range(features.shape[0]):
        j = features[f]
        out[f] = 0
        if is_listed(lists, j, end - start):
            fill_listed(X_binned[j], j, lists, member, leaf, columns, total, out[f], words)
        else:
            fill(X_binned[j], order, start, end, gathered, out[f])


# -- Stored entries of sparse features ---------------------------------------------------------------------------------
class Entries(NamedTuple):
    """The entries of d features."""

    default: np.ndarray  # (d,) uint8
    offsets: np.ndarray  # (d + 1,) int64
    rows: np.ndarray  # int32
    bins: np.ndarray  # uint8


@kernel
def count_drawn(stored, features, place, counts):
    """Compute counts[f] = entries in features[f] of rows whose place is not negative."""
    for f in range(features.shape[0]):
        counts[f] = 0
        for p in range(stored.offsets[features[f]], stored.offsets[features[f] + 1]):
            counts[f] += np.int64(place[stored.rows[p]] >= 0)


@kernel
def pack_drawn(stored, features, place, rows, bins):
    """Fill `rows` with the places and `bins` with the bins of the entries that `count_drawn` counts."""
    q = 0
    for f in range(features.shape[0]):
        for p in range(stored.offsets[features[f]], stored.offsets[features[f] + 1]):
            i = place[stored.rows[p]]
            if i >= 0:
                rows[q], bins[q] = i, stored.bins[p]
                q += 1


@kernel
def bin_entries(values, offsets, thresholds, first, out, default):
    """Compute out[p] = number of thresholds of its feature below values[p], default[j] = number of those below 0.

    Thresholds of feature j, which ascend, are those from first[j] to first[j + 1]. NaN is below all.
    """
    for j in range(default.shape[0]):
        start, stop = first[j], first[j + 1]
        zero = 0
        while start + zero < stop and thresholds[start + zero] < 0.0:
            zero += 1
        default[j] = zero
        for p in range(offsets[j], offsets[j + 1]):
            x, low, size = values[p], start, stop - start
            while size > 0:
                half = size >> 1
                if thresholds[low + half] < x:
                    low += half + 1
                    size -= half + 1
                else:
                    size = half
            out[p] = low - start


@kernel
def fill_columns(stored, features, out):
    """Compute out[c] = bins of features[c], (f, n)."""
    for c in range(features.shape[0]):
        j = features[c]
        out[c, :] = stored.default[j]
        for p in range(stored.offsets[j], stored.offsets[j + 1]):
            out[c, stored.rows[p]] = stored.bins[p]


@kernel
def stored_gradient_histogram(stored, features, fixed, total, out):
    """Add fixed[i, :] to out[c, b, :] for the rows whose feature features[c] is in bin b; `total` is over all rows."""
    n_columns = fixed.shape[1]
    for c in range(features.shape[0]):
        j = features[c]
        missing = np.int64(stored.default[j])
        for k in range(n_columns):
            out[c, missing, k] += total[k]
        for p in range(stored.offsets[j], stored.offsets[j + 1]):
            i, b = stored.rows[p], stored.bins[p]
            for k in range(n_columns):
                out[c, b, k] += fixed[i, k]
                out[c, missing, k] -= fixed[i, k]


@kernel
def stored_leaf_histogram(stored, features, leaf, first_leaf, fixed, total, out):
    """Add fixed[i] to out[c, l, b] for rows of leaf first_leaf + l whose feature is in bin b; `total` of each leaf."""
    n_leaves = out.shape[1]
    for c in range(features.shape[0]):
        j = features[c]
        missing = np.int64(stored.default[j])
        for node in range(n_leaves):
            out[c, node, missing] += total[first_leaf + node]
        for p in range(stored.offsets[j], stored.offsets[j + 1]):
            i = stored.rows[p]
            node = leaf[i] - first_leaf
            if 0 <= node < n_leaves:
                out[c, node, stored.bins[p]] += fixed[i]
                out[c, node, missing] -= fixed[i]


@kernel
def stored_node_histograms(stored, features, columns, total, member, leaf, out):
    """Compute out[f] = histogram of the rows whose member is the leaf, for each feature, zeroed first."""
    n_columns = columns.shape[1]
    for f in range(features.shape[0]):
        j = features[f]
        missing = np.int64(stored.default[j])
        out[f] = 0
        for c in range(n_columns):
            out[f, missing, c] = total[c]
        for p in range(stored.offsets[j], stored.offsets[j + 1]):
            row = stored.rows[p]
            if member[row] == leaf:
                b = stored.bins[p]
                for c in range(n_columns):
                    out[f, b, c] += columns[row, c]
                    out[f, missing, c] -= columns[row, c]
