"""Leaf-wise growth of one tree on fixed-point columns: partition of the rows, histograms of a node, the best split.

A node is a slice of `order`, the row numbers. Its histogram holds, per bin, the sums of the columns; all sums are
integers, so neither threads nor the way a histogram came about (rows, or parent less sibling) changes a split.

    X_binned (n_features, n_samples) uint8   columns (n_samples, C) int64   order (n,) int32   total (C,) int64
    SKETCH  columns g_1 .. g_q, then m << COUNT_BITS | 1: drop of the squared error, sum_c G_c^2 / (M + ridge)
    COUNT_APART  columns g_1 .. g_q, m, 1: the same for rows too many to be counted beside the Hessian
    EXACT   columns E_1 .. E_K, M_1 .. M_K, 1: drop of 2 sum_k sqrt(S+_k S-_k), S+- = (M + ridge -+ E) / 2: the
            exponential's exact one
    NEWTON  the same columns: sum_k E_k^2 / (M_k + ridge_k)
    ABSOLUTE  the same columns: sum_k |E_k|, what votes of -1 and +1 gain
    GINI    the same columns, where E_k is the weight of class k: sum_k E_k^2 / sum_k E_k, the fall of Gini's impurity
    CODEWORD  the same columns: max_k E_k - 1/K sum_k E_k, the slope along the simplex's best codeword, up to a factor

g and m are gradient and Hessian of a row in the sketch, E and M those of its outputs, all as in
`minrisk._kernels.losses`: a gradient is minus the loss's.

Sparse features are stored as `minrisk._kernels.histogram.Entries`: what is left of a total for the bin of 0 is exact.

Sums over the rows of a node for a pair of classes (r, s), along which one score rises as much as the other falls.

With p the softmax of the scores (costs in it), w = `weight` and everything times e^-log_scale, the loss log(1 + sum z)
along e_r - e_s has the slope -u = -(gradient_r - gradient_s) and the curvature
rho = hessian_r + hessian_s + 2 w p_r p_s. p_k is 1 - gradient_k / w at the row's class y = `label`, and
-gradient_k / w elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minrisk._kernels._dtypes import BIN, COUNT_BITS, FIXED, MAX_BINS
from minrisk._kernels._jit import kernel, part
from minrisk._kernels.histogram import everything, fill, fill_listed, fill_marked, gather, is_listed

SKETCH, EXACT, NEWTON, ABSOLUTE, GINI, CODEWORD, COUNT_APART = 0, 1, 2, 3, 4, 5, 6  # what splits are chosen by: above

PENDING, EVALUATED, CLOSED = 0, 1, 2  # a leaf: its split is not known yet, is known, or is none that helps
GROWTH_TIE = 1e-6  # merits closer than this are equal, and the first one wins: smaller than `TIE`, as that of the whole
# node is among them, of which a split must gain so much
SEQUENTIAL_FEATURES = 2000  # up to which a draw passes over all features
CUT_SALT = np.uint64(0xD1342543DE82EF95)  # so that thresholds and features of a node are drawn by other numbers
FEW_DRAWN = 16  # times the features drawn, at least, from which on those are drawn one after another: it is faster
COUNT = (1 << COUNT_BITS) - 1  # the bits of a sketch's last column that hold a number of rows

# The place of the only bit that is set in a word: its product with this sequence has other upper six bits for each.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_POSITION = np.zeros(64, dtype=np.int64)
for _i in range(64):
    _POSITION[((1 << _i) * int(_DE_BRUIJN) & (2**64 - 1)) >> 58] = _i


class Search(NamedTuple):
    """Hold what the splits of a tree are looked for by."""

    features: np.ndarray  # int64
    n_drawn: int  # of the features, which a node looks at
    random: bool  # of each feature one threshold is looked at, which is drawn
    seed: int
    factor: np.ndarray  # (C,) what a unit of each column is worth
    ridge: np.ndarray  # (1,) or (D,), added to a node's Hessian
    gain: int  # SKETCH ... COUNT_APART
    min_leaf: int  # rows
    min_hessian: float  # of a sketch, that a node has which is split
    max_depth: int


class GrowthState(NamedTuple):
    """A tree that is being grown, first its leaves, then its nodes; `plant` and `grow` fill what is in use."""

    start: np.ndarray  # rows start..end of the order are the leaf's
    end: np.ndarray
    depth: np.ndarray
    best_feature: np.ndarray
    best_bin: np.ndarray
    status: np.ndarray
    node: np.ndarray  # of the leaf
    total: np.ndarray  # (L, C)
    drop: np.ndarray
    feature: np.ndarray
    bin: np.ndarray
    left: np.ndarray
    gain: np.ndarray
    sizes: np.ndarray  # leaves, nodes, splits above the deepest leaf

    @classmethod
    def empty(cls, L: int, C: int) -> GrowthState:
        """Make room for up to L leaves, whose totals have C columns."""
        of_leaves = [*np.zeros((7, L), dtype=np.int64), np.zeros((L, C), dtype=FIXED), np.zeros(L)]
        of_nodes = [*np.zeros((3, 2 * L), dtype=np.int32), np.zeros(2 * L)]
        return cls._make([*of_leaves, *of_nodes, np.zeros(3, dtype=np.int64)])


@kernel
def count_of(total, gain):
    """Return rows behind a total."""
    last = total[total.shape[0] - 1]
    return last & COUNT if gain == SKETCH else last


@kernel
def hessian_of(total, gain):
    """Give the Hessian behind a total of a sketch."""
    last = total.shape[0] - 1
    return total[last] >> COUNT_BITS if gain == SKETCH else total[last - 1]


@kernel
def is_large(total, gain, min_leaf, min_hessian):
    """Say whether a node has rows for two leaves and, where one is asked for, the Hessian of a sketch to be split."""
    rows = count_of(total, gain) >= 2 * min_leaf
    return rows and (min_hessian <= 0.0 or hessian_of(total, gain) >= min_hessian)


@kernel
def merit(total, factor, ridge, gain):
    """Return what a split may raise: the loss that a node's own vector takes away, up to constants."""
    n_columns = total.shape[0]
    sum_ = 0.0
    if gain == SKETCH:
        for c in range(n_columns - 1):
            g = total[c] * factor[c]
            sum_ += g * g
        return sum_ / ((total[n_columns - 1] >> COUNT_BITS) * factor[n_columns - 1] + ridge[0])
    if gain == COUNT_APART:
        for c in range(n_columns - 2):
            g = total[c] * factor[c]
            sum_ += g * g
        return sum_ / (total[n_columns - 2] * factor[n_columns - 2] + ridge[0])
    K = n_columns // 2
    if gain == GINI:
        weight = 0.0
        for k in range(K):
            of_class = total[k] * factor[k]
            weight += of_class
            sum_ += of_class * of_class
        return sum_ / weight if weight > 0.0 else 0.0
    if gain == CODEWORD:
        top = total[0] * factor[0]
        for k in range(K):
            gradient = total[k] * factor[k]
            top = max(top, gradient)
            sum_ += gradient
        return top - sum_ / K
    for k in range(K):
        gradient = total[k] * factor[k]
        if gain == ABSOLUTE:
            sum_ += abs(gradient)
            continue
        hessian = total[K + k] * factor[K + k] + ridge[k]
        if gain == NEWTON:
            if hessian > 0.0:
                sum_ += gradient * gradient / hessian
        else:
            # As a product: the difference of the squares would cancel in pure nodes.
            sum_ -= np.sqrt(max((hessian - gradient) * (hessian + gradient), 0.0))
    return sum_


@kernel
def mix(x):
    """Return a well-mixed 64-bit number of x (splitmix64)."""
    x = (x + np.uint64(0x9E3779B97F4A7C15)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def draw_features(features, n_drawn, seed, node, out):
    """Compute out[:n_drawn] = features of a node in their order, every choice as likely (Knuth's algorithm S).

    Of very many features, where few are drawn, one after another until so many differ.
    """
    n = features.shape[0]
    state, drawn = mix(np.uint64(seed) ^ mix(np.uint64(node))), 0
    if n > SEQUENTIAL_FEATURES and FEW_DRAWN * n_drawn <= n:
        while drawn < n_drawn:
            state = mix(state)
            feature = features[np.int64((state >> np.uint64(32)) * np.uint64(n) >> np.uint64(32))]
            place = drawn
            while place > 0 and out[place - 1] > feature:
                place -= 1
            if place > 0 and out[place - 1] == feature:
                continue
            for i in range(drawn, place, -1):
                out[i] = out[i - 1]
            out[place] = feature
            drawn += 1
        return
    for f in range(n):
        state = mix(state)
        if np.int64((state >> np.uint64(32)) * np.uint64(n - f) >> np.uint64(32)) < n_drawn - drawn:
            out[drawn] = features[f]
            drawn += 1


@kernel
def cut_draws(seed, node, random):
    """Give what a node's thresholds are drawn from, one for each feature; 0: none is drawn, all are looked at."""
    if not random:
        return np.int64(0)
    return np.int64(mix(mix(np.uint64(seed) ^ CUT_SALT) ^ mix(np.uint64(node))) >> np.uint64(1)) | np.int64(1)


@kernel
def cut_between(low, high, draws, feature):
    """Draw the bin that a feature's threshold is behind: of those from `low` to below `high`, each as likely.

    Geurts, Ernst and Wehenkel, "Extremely randomized trees", 2006. It is the first that falls among them of bins drawn
    from all that those before have left: a row more at either end of a node's rows seldom draws another. Where the two
    are one bin it is that one.
    """
    if high <= low:
        return low
    state, begin, end = mix(np.uint64(draws) ^ mix(np.uint64(feature))), np.int64(0), np.int64(MAX_BINS)
    while True:
        bin_ = begin + np.int64((state >> np.uint64(32)) * np.uint64(end - begin) >> np.uint64(32))
        if low <= bin_ < high:
            return bin_
        begin, end = (bin_ + 1, end) if bin_ < low else (begin, bin_)
        state = mix(state)


@kernel
def drawn_cut(histogram, words, gain, draws, feature):
    """Draw `cut_between` of the lowest and the highest bin with rows of the node; -1: no threshold is drawn."""
    if draws == 0:
        return np.int64(-1)
    low, high = np.int64(-1), np.int64(-1)
    for w in range(4):
        word = words[w]
        while word != np.uint64(0):
            lowest = word & (~word + np.uint64(1))
            word ^= lowest
            b = w * 64 + _POSITION[np.int64((lowest * _DE_BRUIJN) >> np.uint64(58))]
            if count_of(histogram[b], gain) != 0:
                low, high = b if low < 0 else low, b
    return cut_between(low, high, draws, feature)


@kernel
def fill_sides(column, order, start, end, gathered, total, draws, feature, histogram, words):
    """Sum the node's rows on either side of a feature's drawn threshold, into the bins next to it; words mark these.

    To the split that is found it makes no difference that the bins further away are empty. It takes less time.
    """
    bins, low, high = np.empty(end - start, dtype=BIN), BIN(255), BIN(0)
    for i in range(end - start):
        b = column[order[start + i]]
        bins[i] = b
        low, high = min(low, b), max(high, b)
    for w in range(4):
        words[w] = np.uint64(0)
    if low >= high:
        return
    cut, last, first = BIN(cut_between(np.int64(low), np.int64(high), draws, feature)), low, high
    for i in range(end - start):  # without branches on the data, as below
        b = bins[i]
        last, first = max(last, b if b <= cut else low), min(first, high if b <= cut else b)
    below, above = np.int64(last), np.int64(first)
    for c in range(gathered.shape[1]):
        sum_ = np.int64(0)
        for i in range(end - start):
            sum_ += gathered[i, c] & -np.int64(bins[i] <= cut)
        histogram[below, c], histogram[above, c] = sum_, total[c] - sum_
    words[below >> 6] |= np.uint64(1) << np.uint64(below & 63)
    words[above >> 6] |= np.uint64(1) << np.uint64(above & 63)


@kernel
def draw_directions(hessian, ridge, q, seed):
    """Draw random signs (q, D), not all alike in any row, over sqrt(q hessian_k).

    Returns them, 1 / hessian_k, and the ridge in that unit. With all signs alike, gradients that sum to 0 would vanish.
    Where the Hessian is 0, so are sign and weight.
    """
    D = hessian.shape[0]
    directions, weight = np.empty((q, D)), np.zeros(D)
    shared = 0.0
    for k in range(D):
        if hessian[k] > 0.0:
            weight[k] = 1.0 / hessian[k]
            shared += ridge[k] * weight[k]
    state = mix(np.uint64(seed))
    for c in range(q):
        positive = 0
        while True:
            positive = 0
            for k in range(D):
                if k & 63 == 0:
                    state = mix(state)
                bit = (state >> np.uint64(k & 63)) & np.uint64(1)
                positive += np.int64(bit)
                directions[c, k] = 1.0 if bit == np.uint64(1) else -1.0
            if D == 1 or 0 < positive < D:
                break
        for k in range(D):
            directions[c, k] *= np.sqrt(weight[k] / q)
    # Above 0, by which a node is divided whose Hessian is lost in fixed point.
    return directions, weight, np.full(1, max(shared, 1e-9))


@kernel
def best_sketch_threshold(histogram, words, total, factor, ridge, min_leaf, least, clear, cut):
    """Do `best_threshold` for a sketch of one or two, spelt out."""
    m = total.shape[0] - 1
    f0, f1, fm = factor[0], factor[1] if m == 2 else 0.0, factor[m]
    whole0, whole1 = total[0] * f0, total[1] * f1 if m == 2 else 0.0
    whole_hessian, count = (total[m] >> COUNT_BITS) * fm, total[m] & COUNT
    best, beaten, where, previous = least, least, -1, -1
    bar = best + GROWTH_TIE * abs(best)
    left0, left1, left_hessian = np.int64(0), np.int64(0), np.int64(0)
    for w in range(4):
        word = words[w]
        while word != np.uint64(0):
            low = word & (~word + np.uint64(1))
            word ^= low
            b = w * 64 + _POSITION[np.int64((low * _DE_BRUIJN) >> np.uint64(58))]
            here = histogram[b, m]
            if here & COUNT == 0:  # a threshold there would part the rows as one does that was looked at
                continue
            below = left_hessian & COUNT
            if previous >= 0 and (cut < 0 or previous <= cut < b) and below >= min_leaf and count - below >= min_leaf:
                g0, g1, hessian = left0 * f0, left1 * f1, (left_hessian >> COUNT_BITS) * fm
                other0, other1 = whole0 - g0, whole1 - g1
                hessian_l, hessian_r = hessian + ridge, whole_hessian - hessian + ridge
                product = hessian_l * hessian_r
                sum_ = (g0 * g0 + g1 * g1) * hessian_r + (other0 * other0 + other1 * other1) * hessian_l
                if sum_ > bar * product:  # only the winner's fractions are divided
                    best, beaten, where = sum_ / product, best, (previous + b) >> 1
                    bar = best + GROWTH_TIE * abs(best)
            left0 += histogram[b, 0]
            left_hessian += here
            if m == 2:
                left1 += histogram[b, 1]
            if clear:
                histogram[b, 0] = 0
                histogram[b, m] = 0
                if m == 2:
                    histogram[b, 1] = 0
            previous = b
    return best, beaten, where


@kernel
def best_threshold(histogram, words, total, factor, ridge, gain, min_leaf, least, clear, left, right, draws, feature):
    """Return largest merit of the two sides above `least`, the first of equals, what it beat, and its bin.

    The bin, midway between occupied ones, is -1 where none is above. `clear` zeroes what it has read of the histogram.
    With `draws` other than 0 the threshold that these draw for the feature is the only one.
    """
    n_columns, cut = total.shape[0], drawn_cut(histogram, words, gain, draws, feature)
    if gain == SKETCH and n_columns <= 3:  # the usual cases
        return best_sketch_threshold(histogram, words, total, factor, ridge[0], min_leaf, least, clear, cut)
    count = count_of(total, gain)
    for c in range(n_columns):
        left[c] = 0
    best, beaten, where, previous = least, least, -1, -1
    bar = best + GROWTH_TIE * abs(best)
    for w in range(4):
        word = words[w]
        while word != np.uint64(0):
            low = word & (~word + np.uint64(1))
            word ^= low
            b = w * 64 + _POSITION[np.int64((low * _DE_BRUIJN) >> np.uint64(58))]
            if count_of(histogram[b], gain) == 0:
                continue
            below = count_of(left, gain)
            if previous >= 0 and (cut < 0 or previous <= cut < b) and below >= min_leaf and count - below >= min_leaf:
                for c in range(n_columns):
                    right[c] = total[c] - left[c]
                value = merit(left, factor, ridge, gain) + merit(right, factor, ridge, gain)
                if value > bar:
                    best, beaten, where = value, best, (previous + b) >> 1
                    bar = best + GROWTH_TIE * abs(best)
            for c in range(n_columns):
                left[c] += histogram[b, c]
                if clear:
                    histogram[b, c] = 0
            previous = b
    return best, beaten, where


@part
def evaluate_rows(binned, features, columns, order, start, end, total, search, leaf, gathered, histogram, least, draws):
    """Find the best split of a node straight from its rows, if above `least`: merit, what it beat, feature, bin.

    `histogram` is zero, and left so; `gathered` are the node's columns.
    """
    X_binned, n_bins, lists, member = binned
    factor, ridge, gain, min_leaf = search.factor, search.ridge, search.gain, search.min_leaf
    n_columns = columns.shape[1]
    words = np.empty(4, dtype=np.uint64)
    left, right = np.empty(n_columns, dtype=np.int64), np.empty(n_columns, dtype=np.int64)
    best, beaten, where, which = least, least, -1, -1
    for f in range(features.shape[0]):
        j = features[f]
        if draws != 0:
            fill_sides(X_binned[j], order, start, end, gathered, total, draws, j, histogram, words)
        elif is_listed(lists, j, end - start):
            fill_listed(X_binned[j], j, lists, member, leaf, columns, total, histogram, words)
        elif end - start < n_bins[j]:  # most bins are empty: those with rows are marked, and no other is looked at
            fill_marked(X_binned[j], order, start, end, gathered, histogram, words)
        else:
            everything(n_bins[j], words)
            fill(X_binned[j], order, start, end, gathered, histogram)
        value, low, b = best_threshold(
            histogram, words, total, factor, ridge, gain, min_leaf, best, True, left, right, 0, j
        )
        if b >= 0:
            best, beaten, where, which = value, low, b, j
    return best, beaten, which, where


@kernel
def evaluate_some(binned, features, columns, order, start, end, total, search, leaf, gathered, least, draws):
    """Make `evaluate_rows` by itself, for threads that share the features of a node: see `following`."""
    histogram = np.zeros((MAX_BINS, columns.shape[1]), dtype=np.int64)
    return evaluate_rows(
        binned, features, columns, order, start, end, total, search, leaf, gathered, histogram, least, draws
    )


@kernel
def evaluate_histograms(histograms, features, n_bins, total, search, draws):
    """Find the best split of a node from its histograms: merit of both sides, feature, bin (-1: none)."""
    factor, ridge, gain, min_leaf = search.factor, search.ridge, search.gain, search.min_leaf
    n_columns = total.shape[0]
    words = np.empty(4, dtype=np.uint64)
    left, right = np.empty(n_columns, dtype=np.int64), np.empty(n_columns, dtype=np.int64)
    best, where, which = merit(total, factor, ridge, gain), -1, -1
    for f in range(features.shape[0]):
        everything(n_bins[features[f]], words)
        value, _, b = best_threshold(
            histograms[f], words, total, factor, ridge, gain, min_leaf, best, False, left, right, draws, features[f]
        )
        if b >= 0:
            best, where, which = value, b, features[f]
    return best, which, where


@part
def partition(column, b, order, start, end, spare):
    """Put rows of a node with bins up to b first, in their old order, and return where the others begin."""
    middle, n_right = start, 0
    for i in range(start, end):  # without branches on the data, half of which a processor would foresee wrongly
        row = order[i]
        right = np.int64(column[row] > b)
        order[middle] = row
        spare[n_right] = row
        middle += 1 - right
        n_right += right
    for i in range(n_right):
        order[middle + i] = spare[i]
    return middle


@part
def settle(tree, leaf, search):
    """Set the status of a new leaf: whether its split is to be looked for."""
    enough = is_large(tree.total[leaf], search.gain, search.min_leaf, search.min_hessian)
    grows = enough and tree.depth[leaf] < search.max_depth and tree.sizes[0] < tree.start.shape[0]
    tree.status[leaf] = PENDING if grows else CLOSED


@part
def root(tree, n, search):
    """Put n rows into one leaf, the root, whose total is known."""
    tree.start[0], tree.end[0], tree.depth[0], tree.node[0] = 0, n, 0, 0
    tree.feature[0], tree.bin[0], tree.left[0], tree.gain[0] = 0, 255, 0, 0.0
    tree.sizes[0], tree.sizes[1], tree.sizes[2] = 1, 1, 0
    settle(tree, 0, search)


@part
def plant(tree, columns, order, search):
    """Begin with all rows of `order` in one leaf, the root."""
    for c in range(columns.shape[1]):
        tree.total[0, c] = 0
    for i in range(order.shape[0]):
        for c in range(columns.shape[1]):
            tree.total[0, c] += columns[order[i], c]
    root(tree, order.shape[0], search)


@part
def next_split(tree):
    """Return the leaf whose split gains most, the first of equals; -1 where none gains or the tree is full."""
    split, status, drop = -1, tree.status, tree.drop
    if tree.sizes[0] < tree.start.shape[0]:
        for leaf in range(tree.sizes[0]):
            if status[leaf] == EVALUATED and (split < 0 or drop[leaf] > drop[split] * (1.0 + GROWTH_TIE)):
                split = leaf
    return split


@part
def branch(tree, split, middle):
    """Split a leaf whose rows above its threshold begin at `middle`: they are the last leaf's, which is new."""
    parent, first, new = tree.node[split], tree.sizes[1], tree.sizes[0]
    tree.feature[parent], tree.bin[parent] = tree.best_feature[split], tree.best_bin[split]
    tree.left[parent], tree.gain[parent] = first, tree.drop[split]
    for child in range(first, first + 2):
        tree.feature[child], tree.bin[child], tree.left[child], tree.gain[child] = 0, 255, child, 0.0
    tree.sizes[0], tree.sizes[1] = new + 1, first + 2
    tree.start[new], tree.end[new], tree.end[split] = middle, tree.end[split], middle
    tree.node[split], tree.node[new] = first, first + 1
    tree.depth[split] += 1
    tree.depth[new] = tree.depth[split]
    tree.sizes[2] = max(tree.sizes[2], tree.depth[split])


@part
def branch_and_sum(tree, split, middle, columns, order):
    """Split a leaf, and sum the columns over the rows of the smaller side; the other's are what is left."""
    branch(tree, split, middle)
    new = tree.sizes[0] - 1
    n_below, n_above = middle - tree.start[split], tree.end[new] - middle
    smaller, larger = (split, new) if n_below <= n_above else (new, split)
    for c in range(columns.shape[1]):
        whole = tree.total[split, c]
        some = 0
        for i in range(tree.start[smaller], tree.end[smaller]):
            some += columns[order[i], c]
        tree.total[smaller, c], tree.total[larger, c] = some, whole - some


# Of trees whose sums are exchanged between pieces of the rows Python asks one step after another.
@kernel
def begin(tree, total, n, search):
    """Begin with n rows, whose sums over all pieces are `total`, in one leaf."""
    for c in range(total.shape[0]):
        tree.total[0, c] = total[c]
    root(tree, n, search)


@kernel
def leaf_to_split(tree):
    """Return `next_split`."""
    return next_split(tree)


@kernel
def divide_leaf(tree, split, middle, below, above, search):
    """Split a leaf, the sums of whose sides over all pieces are known."""
    branch(tree, split, middle)
    new = tree.sizes[0] - 1
    for c in range(below.shape[0]):
        tree.total[split, c], tree.total[new, c] = below[c], above[c]
    settle(tree, split, search)
    settle(tree, new, search)


@part
def judge(tree, leaf, fall, feature, bin_):
    """Take down the best split of a leaf."""
    tree.drop[leaf], tree.best_feature[leaf], tree.best_bin[leaf] = fall, feature, bin_
    tree.status[leaf] = EVALUATED if feature >= 0 else CLOSED


@kernel
def grow(tree, binned, columns, search, large, order, spare):
    """Go on growing until the tree is done (-1), or until leaves of more than `large` rows must be evaluated elsewhere.

    Where `tree.sizes[0]` is 0 it begins, with all rows of `order` in one leaf. In the second case the return value is
    the leaf that was split (0 before the first split) and its new sibling is the last leaf; both are PENDING unless
    CLOSED, and the caller fills drop, best_feature, best_bin and status. Leaves that are not
    large enough, by `is_large`, are CLOSED.
    """
    start, end, total, node, sizes = tree.start, tree.end, tree.total, tree.node, tree.sizes
    status, member = tree.status, binned.member
    features, n_drawn, seed = search.features, search.n_drawn, search.seed
    n_columns = columns.shape[1]
    drawn = np.empty(features.shape[0], dtype=np.int64)
    histogram = np.zeros((MAX_BINS, n_columns), dtype=np.int64)
    gathered = np.empty((min(large, order.shape[0]), n_columns), dtype=np.int64)
    if sizes[0] == 0:
        plant(tree, columns, order, search)
    if sizes[0] == 1 and status[0] == PENDING and end[0] > large:
        return 0
    split = 0
    while True:
        for leaf in (split, sizes[0] - 1):  # at first both are the root
            if status[leaf] == PENDING:
                draw_features(features, n_drawn, seed, node[leaf], drawn)
                gather(columns, order, start[leaf], end[leaf], gathered)
                own, some, draws = total[leaf], drawn[:n_drawn], cut_draws(seed, node[leaf], search.random)
                whole, first, last = merit(own, search.factor, search.ridge, search.gain), start[leaf], end[leaf]
                value, _, j, b = evaluate_rows(
                    binned, some, columns, order, first, last, own, search, leaf, gathered, histogram, whole, draws
                )
                judge(tree, leaf, value - whole, j, b)
        split = next_split(tree)
        if split < 0:
            return -1
        new, column = sizes[0], binned.X_binned[tree.best_feature[split]]
        middle = partition(column, tree.best_bin[split], order, start[split], end[split], spare)
        branch_and_sum(tree, split, middle, columns, order)
        if binned.lists[2].shape[0] > 0:  # lists are of all rows, which tell by their leaf whether they are the node's
            for i in range(start[new], end[new]):
                member[order[i]] = new
        any_large = False
        for leaf in (split, new):
            settle(tree, leaf, search)
            any_large = any_large or (status[leaf] == PENDING and end[leaf] - start[leaf] > large)
        if any_large:
            return split


# -- Growth on the stored entries of sparse features -------------------------------------------------------------------
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
    """Compute offsets[i + 1] = entries in these features of rows up to i, of rows whose member is 0."""
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
def evaluate_entries(stored, features, columns, total, search, member, leaf, histogram, left, right, words, draws):
    """Find the best split of a node from the entries of its rows: merit, feature, bin.

    `histogram` is zero, and left so.
    """
    factor, ridge, gain, min_leaf = search.factor, search.ridge, search.gain, search.min_leaf
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
def evaluate_packed(stored, packed, columns, order, start, end, total, search, tick, draws, left, right, words):
    """Find the best split of a node over all of a round's features: merit, feature, bin. `packed.sums` stay zero."""
    factor, ridge, gain, min_leaf = search.factor, search.ridge, search.gain, search.min_leaf
    features = search.features
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
    """Put rows of a node with bins of feature j up to b first, in their old order; return where the others begin.

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
def grow_stored(tree, stored, packed, columns, search, member, order, spare, side):
    """Grow as `grow` does, on stored entries and to the end; the same choices from the same sums.

    Where a node looks at all features they are `packed`. `member` (n,) is 0 for the rows of `order` and -1 for others.
    A row may stand for several, by its columns.
    """
    start, end, total, node, sizes = tree.start, tree.end, tree.total, tree.node, tree.sizes
    features, n_drawn, seed = search.features, search.n_drawn, search.seed
    n_columns = columns.shape[1]
    drawn = np.empty(features.shape[0], dtype=np.int64)
    histogram = np.zeros((MAX_BINS, n_columns), dtype=np.int64)
    left, right = np.empty(n_columns, dtype=np.int64), np.empty(n_columns, dtype=np.int64)
    words = np.empty(4, dtype=np.uint64)
    plant(tree, columns, order, search)
    split = 0
    while True:
        for leaf in (split, sizes[0] - 1):
            if tree.status[leaf] == PENDING:
                own, draws = total[leaf], cut_draws(seed, node[leaf], search.random)
                if n_drawn == features.shape[0]:
                    first, last = start[leaf], end[leaf]
                    value, j, b = evaluate_packed(
                        stored, packed, columns, order, first, last, own, search, node[leaf], draws, left, right, words
                    )
                else:
                    draw_features(features, n_drawn, seed, node[leaf], drawn)
                    some = drawn[:n_drawn]
                    value, j, b = evaluate_entries(
                        stored, some, columns, own, search, member, leaf, histogram, left, right, words, draws
                    )
                judge(tree, leaf, value - merit(own, search.factor, search.ridge, search.gain), j, b)
        split = next_split(tree)
        if split < 0:
            return
        new, j, b = sizes[0], tree.best_feature[split], tree.best_bin[split]
        middle = divide_entries(stored, j, b, order, start[split], end[split], spare, side)
        branch_and_sum(tree, split, middle, columns, order)
        for i in range(start[new], end[new]):
            member[order[i]] = new
        for leaf in (split, new):
            settle(tree, leaf, search)


# -- Pairs of classes --------------------------------------------------------------------------------------------------
@part
def probability(gradient, y, k, w):
    """Return p_k of a row of class y whose gradient is (w times) 1[k = y] - p_k."""
    p = -gradient / w
    return 1.0 + p if k == y else p


@kernel
def node_sums(gradient, hessian, gradient_factor, hessian_factor, order, start, end):
    """Return gradient and Hessian summed over rows order[start:end], in fixed point (2, D)."""
    D = gradient.shape[1]
    sums = np.zeros((2, D), dtype=np.int64)
    for i in range(start, end):
        row = order[i]
        for k in range(D):
            sums[0, k] += np.int64(np.rint(gradient[row, k] * gradient_factor[k]))
            sums[1, k] += np.int64(np.rint(hessian[row, k] * hessian_factor[k]))
    return sums


@kernel
def product_sums(gradient, label, weight, scale, r, factor, order, start, end):
    """Return w p_r p_k summed over rows order[start:end], in fixed point (D,)."""
    D = gradient.shape[1]
    sums = np.zeros(D, dtype=np.int64)
    for i in range(start, end):
        row = order[i]
        w, y = weight[row] * scale, label[row]
        if w > 0.0:
            own = w * probability(gradient[row, r], y, r, w) * factor
            for k in range(D):
                sums[k] += np.int64(np.rint(own * probability(gradient[row, k], y, k, w)))
    return sums


@kernel
def pair_columns(gradient, hessian, label, weight, scale, r, s, factors, order, start, end, columns):
    """Compute columns[row] = u and rho in fixed point and 1, of rows order[start:end]; returns their sums (3,)."""
    sums = np.zeros(3, dtype=np.int64)
    for i in range(start, end):
        row = order[i]
        w, y = weight[row] * scale, label[row]
        rho = 0.0
        if w > 0.0:
            rho = hessian[row, r] + hessian[row, s]
            rho += 2.0 * w * probability(gradient[row, r], y, r, w) * probability(gradient[row, s], y, s, w)
        columns[row, 0] = np.int64(np.rint((gradient[row, r] - gradient[row, s]) * factors[0]))
        columns[row, 1] = np.int64(np.rint(rho * factors[1]))
        columns[row, 2] = 1
        for c in range(3):
            sums[c] += columns[row, c]
    return sums
