"""Leaf-wise growth of one tree on fixed-point columns: partition of the rows, histograms of a node, the best split.

A node is a slice of `order`, the row numbers. Its histogram holds, per bin, the sums of the columns; all sums are
integers, so neither threads nor the way a histogram came about (rows, or parent less sibling) changes a split.

    X_binned (n_features, n_samples) uint8   columns (n_samples, C) int64   order (n,) int32   total (C,) int64
    SKETCH  columns g_1 .. g_q, then mass << COUNT_BITS | 1: drop of the squared error, sum_c G_c^2 / (M + ridge)
    EXACT   columns E_1 .. E_K, M_1 .. M_K, 1: drop of 2 sum_k sqrt(S+_k S-_k), S+- = (M + ridge -+ E) / 2: the
            exponential's exact one
    NEWTON  the same columns: sum_k E_k^2 / (M_k + ridge_k)
"""

import numpy as np

from minrisk._kernels._dtypes import COUNT_BITS, MAX_BINS
from minrisk._kernels._jit import kernel

SKETCH = 0
EXACT = 1
NEWTON = 2

PENDING, EVALUATED, CLOSED = 0, 1, 2
TIE = 1e-7  # gains closer than this are equal: fixed-point masses tell no more apart, and the first one wins
COUNT = (1 << COUNT_BITS) - 1

_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_POSITION = np.zeros(64, dtype=np.int64)
for _i in range(64):
    _POSITION[((1 << _i) * int(_DE_BRUIJN) & (2**64 - 1)) >> 58] = _i


@kernel
def count_of(total, gain):
    """Rows behind a total."""
    last = total[total.shape[0] - 1]
    return last & COUNT if gain == SKETCH else last


@kernel
def merit(total, factor, ridge, gain):
    """What a split may raise: the loss that a node's own vector takes away, up to constants."""
    n_columns = total.shape[0]
    sum_ = 0.0
    if gain == SKETCH:
        for c in range(n_columns - 1):
            g = total[c] * factor[c]
            sum_ += g * g
        return sum_ / ((total[n_columns - 1] >> COUNT_BITS) * factor[n_columns - 1] + ridge[0])
    K = n_columns // 2
    for k in range(K):
        edge = total[k] * factor[k]
        mass = total[K + k] * factor[K + k] + ridge[k]
        if gain == NEWTON:
            if mass > 0.0:
                sum_ += edge * edge / mass
        else:
            sum_ -= np.sqrt(max((mass - edge) * (mass + edge), 0.0))  # not mass^2 - edge^2: pure nodes cancel
    return sum_


@kernel
def mix(x):
    """A well-mixed 64-bit number of x (splitmix64)."""
    x = (x + np.uint64(0x9E3779B97F4A7C15)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def draw_features(features, n_drawn, seed, node, out):
    """out[:n_drawn] = features of a node, ascending; all of them when n_drawn is their number."""
    n = features.shape[0]
    for f in range(n):
        out[f] = features[f]
    if n_drawn < n:
        state = mix(np.uint64(seed) ^ mix(np.uint64(node)))
        for f in range(n_drawn):
            state = mix(state)
            other = f + np.int64((state >> np.uint64(11)) % np.uint64(n - f))
            out[f], out[other] = out[other], out[f]
        out[:n_drawn].sort()


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
def occupied(column, order, start, end, words):
    """Bit b of the four words is set when a row of the node is in bin b."""
    for w in range(4):
        words[w] = np.uint64(0)
    for i in range(start, end):
        b = np.int64(column[order[i]])
        words[b >> 6] |= np.uint64(1) << np.uint64(b & 63)


@kernel
def everything(n_bins, words):
    """All bits of bins below n_bins."""
    for w in range(4):
        words[w] = np.uint64(0)
    for b in range(n_bins):
        words[b >> 6] |= np.uint64(1) << np.uint64(b & 63)


@kernel
def best_threshold(histogram, words, total, factor, ridge, gain, min_leaf, least, left, right):
    """Largest merit of the two sides above `least`, the first of equals, and its bin: midway between occupied bins.

    The bin is -1 where none is above.
    """
    n_columns = total.shape[0]
    count = count_of(total, gain)
    for c in range(n_columns):
        left[c] = 0
    best, where, previous = least, -1, -1
    for w in range(4):
        word = words[w]
        while word != np.uint64(0):
            low = word & (~word + np.uint64(1))
            word ^= low
            b = w * 64 + _POSITION[np.int64((low * _DE_BRUIJN) >> np.uint64(58))]
            if count_of(histogram[b], gain) == 0:
                continue
            below = count_of(left, gain)
            if below >= min_leaf and previous >= 0:
                if count - below < min_leaf:
                    return best, where
                if gain == SKETCH and n_columns <= 3:  # the usual cases, spelt out
                    m = n_columns - 1
                    gl, gr = left[0] * factor[0], (total[0] - left[0]) * factor[0]
                    sl, sr = gl * gl, gr * gr
                    if m == 2:
                        gl, gr = left[1] * factor[1], (total[1] - left[1]) * factor[1]
                        sl += gl * gl
                        sr += gr * gr
                    value = sl / ((left[m] >> COUNT_BITS) * factor[m] + ridge[0])
                    value += sr / (((total[m] - left[m]) >> COUNT_BITS) * factor[m] + ridge[0])
                else:
                    for c in range(n_columns):
                        right[c] = total[c] - left[c]
                    value = merit(left, factor, ridge, gain) + merit(right, factor, ridge, gain)
                if value > best + TIE * abs(best):
                    best, where = value, (previous + b) >> 1
            for c in range(n_columns):
                left[c] += histogram[b, c]
            previous = b
    return best, where


@kernel
def evaluate_rows(
    X_binned, features, n_bins, columns, order, start, end, total, factor, ridge, gain, min_leaf, gathered, histogram
):  # fmt: skip
    """Best split of a node straight from its rows: merit, feature, bin. `histogram` is zero, and left so."""
    n_columns = columns.shape[1]
    gather(columns, order, start, end, gathered)
    words = np.empty(4, dtype=np.uint64)
    left, right = np.empty(n_columns, dtype=np.int64), np.empty(n_columns, dtype=np.int64)
    best, where, which = merit(total, factor, ridge, gain), -1, -1
    for f in range(features.shape[0]):
        j = features[f]
        if end - start < n_bins[j]:
            occupied(X_binned[j], order, start, end, words)
        else:
            everything(n_bins[j], words)
        fill(X_binned[j], order, start, end, gathered, histogram)
        value, b = best_threshold(histogram, words, total, factor, ridge, gain, min_leaf, best, left, right)
        if b >= 0:
            best, where, which = value, b, j
        for w in range(4):
            word = words[w]
            while word != np.uint64(0):
                low = word & (~word + np.uint64(1))
                word ^= low
                b = w * 64 + _POSITION[np.int64((low * _DE_BRUIJN) >> np.uint64(58))]
                for c in range(n_columns):
                    histogram[b, c] = 0
    return best, which, where


@kernel
def node_histograms(X_binned, features, order, start, end, gathered, out):
    """out[f] = histogram of the node for each feature, zeroed first."""
    for f in range(features.shape[0]):
        out[f] = 0
        fill(X_binned[features[f]], order, start, end, gathered, out[f])


@kernel
def evaluate_histograms(histograms, features, n_bins, total, factor, ridge, gain, min_leaf):
    """Best split of a node from its histograms: merit of both sides, feature, bin (-1: none)."""
    n_columns = total.shape[0]
    words = np.empty(4, dtype=np.uint64)
    left, right = np.empty(n_columns, dtype=np.int64), np.empty(n_columns, dtype=np.int64)
    best, where, which = merit(total, factor, ridge, gain), -1, -1
    for f in range(features.shape[0]):
        everything(n_bins[features[f]], words)
        value, b = best_threshold(histograms[f], words, total, factor, ridge, gain, min_leaf, best, left, right)
        if b >= 0:
            best, where, which = value, b, features[f]
    return best, which, where


@kernel
def partition(column, b, order, start, end, spare):
    """Rows of a node with bins up to b first, in their old order; returns where the others begin."""
    middle, n_right = start, 0
    for i in range(start, end):
        row = order[i]
        if column[row] <= b:
            order[middle] = row
            middle += 1
        else:
            spare[n_right] = row
            n_right += 1
    for i in range(n_right):
        order[middle + i] = spare[i]
    return middle


@kernel
def grow(
    X_binned, n_bins, columns, features, n_drawn, seed, factor, ridge, gain, min_leaf, max_depth, large, order, spare,
    start, end, depth, total, drop, best_feature, best_bin, status, node, tree_feature, tree_bin, tree_left, tree_gain,
    sizes,
):  # fmt: skip
    """Go on growing until the tree is done (-1), or until leaves of more than `large` rows must be evaluated elsewhere.

    Then the return value is the leaf that was split (0 before the first split) and its new sibling is the last leaf;
    both are PENDING unless CLOSED, and the caller fills drop, best_feature, best_bin and status. sizes: leaves, nodes.
    """
    max_leaves, n_columns = start.shape[0], columns.shape[1]
    drawn = np.empty(features.shape[0], dtype=np.int64)
    histogram = np.zeros((MAX_BINS, n_columns), dtype=np.int64)
    gathered = np.empty((min(large, order.shape[0]), n_columns), dtype=np.int64)
    if sizes[0] == 1 and status[0] == PENDING and end[0] > large:
        return 0
    split = 0
    while True:
        for leaf in (split, sizes[0] - 1):
            if status[leaf] == PENDING:
                draw_features(features, n_drawn, seed, node[leaf], drawn)
                value, j, b = evaluate_rows(
                    X_binned, drawn[:n_drawn], n_bins, columns, order, start[leaf], end[leaf], total[leaf], factor,
                    ridge, gain, min_leaf, gathered, histogram,
                )
                drop[leaf], best_feature[leaf], best_bin[leaf] = value - merit(total[leaf], factor, ridge, gain), j, b
                status[leaf] = EVALUATED if j >= 0 else CLOSED
        split = -1
        for leaf in range(sizes[0]):
            if status[leaf] == EVALUATED and (split < 0 or drop[leaf] > drop[split] * (1.0 + TIE)):
                split = leaf
        if split < 0 or sizes[0] == max_leaves:
            return -1
        j, b, parent, first, new = best_feature[split], best_bin[split], node[split], sizes[1], sizes[0]
        middle = partition(X_binned[j], b, order, start[split], end[split], spare)
        tree_feature[parent], tree_bin[parent], tree_left[parent] = j, b, first
        tree_gain[parent] = drop[split]
        for child in range(2):
            tree_feature[first + child], tree_bin[first + child], tree_left[first + child] = 0, 255, first + child
            tree_gain[first + child] = 0.0
        sizes[0], sizes[1] = new + 1, first + 2
        start[new], end[new], end[split] = middle, end[split], middle
        node[split], node[new] = first, first + 1
        depth[split] += 1
        depth[new] = depth[split]
        smaller, larger = (split, new) if end[split] - start[split] <= end[new] - start[new] else (new, split)
        for c in range(n_columns):
            whole = total[split, c]
            part = 0
            for i in range(start[smaller], end[smaller]):
                part += columns[order[i], c]
            total[smaller, c], total[larger, c] = part, whole - part
        any_large = False
        for leaf in (split, new):
            rows = end[leaf] - start[leaf]
            grows = rows >= 2 * min_leaf and depth[leaf] < max_depth and sizes[0] < max_leaves
            status[leaf] = PENDING if grows else CLOSED
            any_large = any_large or (grows and rows > large)
        if any_large:
            return split


@kernel
def leaf_numbers(order, start, end, leaf):
    """leaf[row] = number of the row's leaf."""
    for number in range(start.shape[0]):
        for i in range(start[number], end[number]):
            leaf[order[i]] = number


@kernel
def leaf_column_sums(values, factor, order, start, end, out):
    """out[l] = sum over the rows of leaf l per column, each rounded to 1 / factor (a factor of 0: no sum).

    The sums are of whole numbers, exact in float64 and vectorised.
    """
    n_columns = values.shape[1]
    for number in range(start.shape[0]):
        for k in range(n_columns):
            out[number, k] = 0.0
        for i in range(start[number], end[number]):
            row = order[i]
            for k in range(n_columns):
                out[number, k] += np.rint(values[row, k] * factor[k])
        for k in range(n_columns):
            if factor[k] > 0.0:
                out[number, k] /= factor[k]


@kernel
def project(edge, mass, directions, weight, start, stop, out):
    """out[i] = (edge @ directions, mass @ weight) per row; returns the column maxima of its absolute values.

    `directions` is (q, D).
    """
    q, n_outputs = directions.shape
    top = np.zeros(q + 1)
    for i in range(start, stop):
        m = 0.0
        for c in range(q):
            g = 0.0
            if c == 0:
                for k in range(n_outputs):
                    g += edge[i, k] * directions[0, k]
                    m += mass[i, k] * weight[k]
            else:
                for k in range(n_outputs):
                    g += edge[i, k] * directions[c, k]
            out[i, c] = g
            top[c] = max(top[c], abs(g))
        out[i, q] = m
        top[q] = max(top[q], m)
    return top


@kernel
def fix_sketch(values, factor, start, stop, out):
    """Fixed-point columns of a sketch, the mass shifted beside a count of 1; no edge where the mass rounds to 0."""
    q = values.shape[1] - 1
    for i in range(start, stop):
        mass = np.int64(np.rint(values[i, q] * factor[q]))
        for c in range(q):
            out[i, c] = np.int64(np.rint(values[i, c] * factor[c])) if mass > 0 else 0
        out[i, q] = (mass << COUNT_BITS) | 1


@kernel
def sum_rows(columns, order, out):
    """out = sum of the columns over the rows in `order`."""
    for c in range(columns.shape[1]):
        out[c] = 0
    for i in range(order.shape[0]):
        for c in range(columns.shape[1]):
            out[c] += columns[order[i], c]
