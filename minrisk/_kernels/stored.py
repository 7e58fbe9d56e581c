"""What other files do with bins (d, n), from the stored entries of sparse features: those outside the bin of 0.

The entries of feature j are those from offsets[j] to offsets[j + 1]: `rows`, ascending, and their `bins`; all other
rows are in bin default[j]. Sums are integers, so that what is left of a total for that bin is exact.
"""

from typing import NamedTuple

import numpy as np

from minrisk._kernels._dtypes import MAX_BINS
from minrisk._kernels._jit import kernel
from minrisk._kernels.grow import (
    CLOSED,
    EVALUATED,
    PENDING,
    best_threshold,
    branch,
    cut_draws,
    draw_features,
    is_large,
    merit,
    next_split,
    plant,
)


class Entries(NamedTuple):
    """The entries of d features."""

    default: np.ndarray  # (d,) uint8
    offsets: np.ndarray  # (d + 1,) int64
    rows: np.ndarray  # int32
    bins: np.ndarray  # uint8


class RowEntries(NamedTuple):
    """The entries of a round's F features, row after row; a row's features ascend."""

    offsets: np.ndarray  # (n + 1,) int64: where the entries of each row begin
    feature: np.ndarray  # int32: a number among the F
    slot: np.ndarray  # int32: of the feature's bin in `sums`
    first: np.ndarray  # (F + 1,) int64: slots of each feature begin here
    sums: np.ndarray  # (S, C) int64, zero
    stamp: np.ndarray  # (F,) int64: the node in which the feature was seen last


@kernel
def count_entries(stored, features, member, offsets):
    """offsets[i + 1] = entries in these features of rows up to i, of rows whose member is 0."""
    offsets[:] = 0
    for f in range(features.shape[0]):
        for p in range(stored.offsets[features[f]], stored.offsets[features[f] + 1]):
            if member[stored.rows[p]] == 0:
                offsets[stored.rows[p] + 1] += 1
    for i in range(1, offsets.shape[0]):
        offsets[i] += offsets[i - 1]


@kernel
def pack_entries(stored, features, member, offsets, first, feature, slot):
    """Fill `feature` and `slot`; `offsets` of each row end where the row before ended."""
    for f in range(features.shape[0]):
        for p in range(stored.offsets[features[f]], stored.offsets[features[f] + 1]):
            i = stored.rows[p]
            if member[i] == 0:
                q = offsets[i]
                feature[q], slot[q] = f, first[f] + stored.bins[p]
                offsets[i] = q + 1
    for i in range(offsets.shape[0] - 1, 0, -1):
        offsets[i] = offsets[i - 1]
    offsets[0] = 0


@kernel
def count_drawn(stored, features, place, counts):
    """counts[f] = entries in features[f] of rows whose place is not negative."""
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
    """out[p] = number of thresholds of its feature below values[p], default[j] = number of those below 0.

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
    """out[c] = bins of features[c], (f, n)."""
    for c in range(features.shape[0]):
        j = features[c]
        out[c, :] = stored.default[j]
        for p in range(stored.offsets[j], stored.offsets[j + 1]):
            out[c, stored.rows[p]] = stored.bins[p]


@kernel
def stored_edge_histogram(stored, features, fixed, total, out):
    """out[c, b, :] += fixed[i, :] for the rows whose feature features[c] is in bin b; `total` is over all rows."""
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
    """out[c, l, b] += fixed[i] for rows of leaf first_leaf + l whose feature is in bin b; `total` of each leaf."""
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
    """out[f] = histogram of the rows whose member is the leaf, for each feature, zeroed first."""
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


@kernel
def evaluate_entries(
    stored, features, columns, total, factor, ridge, gain, min_leaf, member, leaf, histogram, left, right, words, draws
):
    """Best split of a node from the entries of its rows: merit, feature, bin. `histogram` is zero, and left so."""
    n_columns = columns.shape[1]
    best, where, which = merit(total, factor, ridge, gain), -1, -1
    for f in range(features.shape[0]):
        j = features[f]
        missing = np.int64(stored.default[j])
        found = False
        most = histogram[missing]
        for p in range(stored.offsets[j], stored.offsets[j + 1]):
            row = stored.rows[p]
            if member[row] == leaf:
                if not found:
                    found = True
                    for w in range(4):
                        words[w] = np.uint64(0)
                    words[missing >> 6] |= np.uint64(1) << np.uint64(missing & 63)
                b = np.int64(stored.bins[p])
                words[b >> 6] |= np.uint64(1) << np.uint64(b & 63)
                for c in range(n_columns):
                    value = columns[row, c]
                    histogram[b, c] += value
                    most[c] -= value
        if not found:  # all rows are in one bin
            continue
        for c in range(n_columns):
            most[c] += total[c]
        value, _, b = best_threshold(
            histogram, words, total, factor, ridge, gain, min_leaf, best, True, left, right, draws, j
        )
        for c in range(n_columns):  # without rows in it, it was passed over
            most[c] = 0
        if b >= 0:
            best, where, which = value, b, j
    return best, which, where


@kernel
def evaluate_packed(
    stored,
    packed,
    features,
    columns,
    order,
    start,
    end,
    total,
    factor,
    ridge,
    gain,
    min_leaf,
    tick,
    draws,
    left,
    right,
    words,
):
    """Best split of a node over all of a round's features: merit, feature, bin. `packed.sums` stay zero."""
    n_columns, sums, stamp, first = columns.shape[1], packed.sums, packed.stamp, packed.first
    for i in range(start, end):
        row = order[i]
        if n_columns == 3:
            a, b, c = columns[row, 0], columns[row, 1], columns[row, 2]
            for p in range(packed.offsets[row], packed.offsets[row + 1]):
                s = packed.slot[p]
                stamp[packed.feature[p]] = tick
                sums[s, 0] += a
                sums[s, 1] += b
                sums[s, 2] += c
        else:
            for p in range(packed.offsets[row], packed.offsets[row + 1]):
                s = packed.slot[p]
                stamp[packed.feature[p]] = tick
                for k in range(n_columns):
                    sums[s, k] += columns[row, k]
    best, where, which = merit(total, factor, ridge, gain), -1, -1
    for f in range(features.shape[0]):
        if stamp[f] != tick:  # all rows are in one bin
            continue
        base, stop = first[f], first[f + 1]
        most = base + stored.default[features[f]]
        for k in range(n_columns):
            rest = total[k]
            for s in range(base, stop):
                rest -= sums[s, k]
            sums[most, k] = rest
        for w in range(4):
            words[w] = np.uint64(0)
        for s in range(stop - base):
            words[s >> 6] |= np.uint64(1) << np.uint64(s & 63)
        value, _, threshold = best_threshold(
            sums[base:stop], words, total, factor, ridge, gain, min_leaf, best, True, left, right, draws, features[f]
        )
        for k in range(n_columns):  # without rows in it, it was passed over
            sums[most, k] = 0
        if threshold >= 0:
            best, where, which = value, threshold, features[f]
    return best, which, where


@kernel
def divide_entries(stored, j, b, order, start, end, spare, side):
    """Rows of a node with bins of feature j up to b first, in their old order; returns where the others begin.

    `side` (n,) is zero, and left so.
    """
    above = stored.default[j] > b
    for p in range(stored.offsets[j], stored.offsets[j + 1]):
        if (stored.bins[p] > b) != above:
            side[stored.rows[p]] = 1
    middle, n_right = start, 0
    for i in range(start, end):
        row = order[i]
        if (side[row] == 1) != above:
            spare[n_right] = row
            n_right += 1
        else:
            order[middle] = row
            middle += 1
    for i in range(n_right):
        order[middle + i] = spare[i]
    for p in range(stored.offsets[j], stored.offsets[j + 1]):
        side[stored.rows[p]] = 0
    return middle


@kernel
def grow_stored(
    tree,
    stored,
    packed,
    columns,
    features,
    n_drawn,
    random,
    seed,
    factor,
    ridge,
    gain,
    min_leaf,
    min_mass,
    max_depth,
    member,
    order,
    spare,
    side,
):
    """`minrisk._kernels.grow.grow` on stored entries, to the end; the same choices from the same sums.

    Where a node looks at all features they are `packed`. `member` (n,) is 0 for the rows of `order` and -1 for others.
    A row may stand for several, by its columns.
    """
    start, end, depth, total, drop, node, sizes = (
        tree.start,
        tree.end,
        tree.depth,
        tree.total,
        tree.drop,
        tree.node,
        tree.sizes,
    )
    best_feature, best_bin, status = tree.best_feature, tree.best_bin, tree.status
    max_leaves, n_columns = start.shape[0], columns.shape[1]
    drawn = np.empty(features.shape[0], dtype=np.int64)
    histogram = np.zeros((MAX_BINS, n_columns), dtype=np.int64)
    left, right = np.empty(n_columns, dtype=np.int64), np.empty(n_columns, dtype=np.int64)
    words = np.empty(4, dtype=np.uint64)
    plant(tree, columns, order, gain, min_leaf, min_mass, max_depth)
    split = 0
    while True:
        for leaf in (split, sizes[0] - 1):
            if status[leaf] == PENDING:
                draws = cut_draws(seed, node[leaf], random)
                if n_drawn == features.shape[0]:
                    value, j, b = evaluate_packed(
                        stored,
                        packed,
                        features,
                        columns,
                        order,
                        start[leaf],
                        end[leaf],
                        total[leaf],
                        factor,
                        ridge,
                        gain,
                        min_leaf,
                        node[leaf],
                        draws,
                        left,
                        right,
                        words,
                    )
                else:
                    draw_features(features, n_drawn, seed, node[leaf], drawn)
                    value, j, b = evaluate_entries(
                        stored,
                        drawn[:n_drawn],
                        columns,
                        total[leaf],
                        factor,
                        ridge,
                        gain,
                        min_leaf,
                        member,
                        leaf,
                        histogram,
                        left,
                        right,
                        words,
                        draws,
                    )
                drop[leaf], best_feature[leaf], best_bin[leaf] = value - merit(total[leaf], factor, ridge, gain), j, b
                status[leaf] = EVALUATED if j >= 0 else CLOSED
        split = next_split(tree)
        if split < 0:
            return
        new, j, b = sizes[0], best_feature[split], best_bin[split]
        middle = divide_entries(stored, j, b, order, start[split], end[split], spare, side)
        branch(tree, split, middle, columns, order)
        for i in range(start[new], end[new]):
            member[order[i]] = new
        for leaf in (split, new):
            enough = is_large(total[leaf], gain, min_leaf, min_mass)
            grows = enough and depth[leaf] < max_depth and sizes[0] < max_leaves
            status[leaf] = PENDING if grows else CLOSED


@kernel
def stored_side_bounds(stored, response):
    """`minrisk._kernels.split.side_bounds` of stored entries."""
    n_features, n_above = stored.default.shape[0], 0
    for i in range(response.shape[0]):
        n_above += int(response[i] > 0)
    bounds, elsewhere = np.empty((n_features, 2, 2), dtype=np.int64), np.empty(2, dtype=np.int64)
    for j in range(n_features):
        high, low = np.full(2, -1), np.full(2, 256)
        elsewhere[0], elsewhere[1] = response.shape[0] - n_above, n_above
        for p in range(stored.offsets[j], stored.offsets[j + 1]):
            side, b = int(response[stored.rows[p]] > 0), np.int64(stored.bins[p])
            elsewhere[side] -= 1
            low[side] = min(low[side], b)
            high[side] = max(high[side], b)
        b = np.int64(stored.default[j])
        for side in range(2):
            if elsewhere[side] > 0:
                low[side] = min(low[side], b)
                high[side] = max(high[side], b)
            bounds[j, side, 0], bounds[j, side, 1] = high[side], -low[side]
    return bounds
