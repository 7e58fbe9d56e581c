"""The slow twin: REBEL and AdaBoost written from their papers, for the tests to compare with.

Everything here is loops over candidates, masks and plain sums. Nothing is imported from the package, so that
an error would have to be made twice to go unnoticed. Equation numbers are those of Appel, Burgos-Artizzu and
Perona, "Improved Multi-Class Cost-Sensitive Boosting via Estimation of the Minimum-Risk Class" (NIPS 2016).

Shapes: n rows, d features, D decisions. ``X (n, d)``; ``cost_rows (n, D)``; ``weights (n,)``; scores
``H (n, D)``; ``edges``: one ascending array of thresholds per feature; a response ``f (n,)`` of -1 and +1;
a vector ``a (D,)``. The largest score wins.

Where the paper is silent: ``x <= threshold`` goes low; ties go to the lowest feature, then the lowest
threshold; ``a`` is smoothed by ``smoothing`` times what a column can still lose; an infinite ``a`` is cut at
``LARGEST_STEP``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import fsum
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

LARGEST_STEP = 18.0  # |a| of a column that one learner separates perfectly: e^-36 is the rounding of a double
STUMP_TIE = 1e-5  # a stump must beat the best so far by this factor
LEAF_TIE = 2.0**-17  # a leaf's new answer must beat the best so far by this part of sum |u|
STALLED = 1e-15  # a round must lower the sum of the entries' losses by more than this part of it


# --- The three base functions (Sec. 3, above Eq. 1) and their derivatives ---------------------------------
def base_function(loss, x):
    """F(x): e^x, log2(1 + e^x) or (1 + x)^2."""
    if loss == "exponential":
        return np.exp(x)
    if loss == "logistic":
        return np.logaddexp(0.0, x) / np.log(2.0)
    return (1.0 + x) ** 2


def base_slope(loss, x):
    """F'(x)."""
    if loss == "exponential":
        return np.exp(x)
    if loss == "logistic":
        return np.exp(-np.logaddexp(0.0, -x)) / np.log(2.0)
    return 2.0 * (1.0 + x)


def base_curvature(loss, x):
    """F''(x)."""
    if loss == "exponential":
        return np.exp(x)
    if loss == "logistic":
        return np.exp(-np.logaddexp(0.0, -x) - np.logaddexp(0.0, x)) / np.log(2.0)
    return np.full(np.shape(x), 2.0)


# --- Cost rows and the surrogate loss ---------------------------------------------------------------------
def decompose(cost_row, offset):
    """Split one cost row into ``(phi, beta, c_plus, c_minus)``: S.3 and the definitions below Eq. 2.

    ``offset="tight"`` takes the least cost as beta instead of S.3's, which keeps the order of the entries but
    gives up the bound of Eq. 1.
    """
    c = np.asarray(cost_row, dtype=float)
    phi = c.max()  # S.3, last line
    b = phi - c  # S.3: b_k
    if offset == "tight":
        return phi, c.min(), c - c.min(), b
    beta = c.sum() - (len(c) - 1) * phi  # S.3
    # S.4: c+ = sum_k b_k [1 - delta_k] = c - beta 1; the sum is exactly 0 where it should be
    c_plus = np.array([sum(b[j] for j in range(len(c)) if j != k) for k in range(len(c))])
    return phi, beta, c_plus, b  # S.4: c- = phi 1 - c


def entry_floor(loss, c_plus, c_minus):
    """min over h of c+ F(h) + c- F(-h) for one entry: a summand of c* below Eq. 2 (S.5: exponential)."""
    if c_plus == 0 or c_minus == 0:
        return 0.0
    both = c_plus + c_minus
    if loss == "exponential":
        return 2.0 * np.sqrt(c_plus * c_minus)  # S.5
    if loss == "squared":
        return 4.0 * c_plus * c_minus / both  # at h = (c- - c+) / (c- + c+)
    p = c_minus / both  # logistic, at the h with 1 / (1 + e^-h) = p
    return both * -(p * np.log2(p) + (1.0 - p) * np.log2(1.0 - p))


@dataclass
class Surrogate:
    """The loss of Eq. 2 on given rows: its name, beta (n,), c+, c- and c* (n, D), the weights (n,)."""

    loss: str
    beta: np.ndarray
    c_plus: np.ndarray
    c_minus: np.ndarray
    floor: np.ndarray
    weights: np.ndarray


def surrogate(cost_rows, weights, loss, offset):
    """Decompose every cost row."""
    cost_rows = np.asarray(cost_rows, dtype=float)
    n, n_decisions = cost_rows.shape
    weights = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    beta = np.zeros(n)
    c_plus, c_minus, floor = (np.zeros((n, n_decisions)) for _ in range(3))
    for i in range(n):
        _, beta[i], c_plus[i], c_minus[i] = decompose(cost_rows[i], offset)
        for k in range(n_decisions):
            floor[i, k] = entry_floor(loss, c_plus[i, k], c_minus[i, k])
    return Surrogate(loss, beta, c_plus, c_minus, floor, weights)


def entry_losses(s, H):
    """omega (c+ F(H) + c- F(-H)) for every entry, (n, D): the terms of Eq. 2."""
    up, down = base_function(s.loss, H), base_function(s.loss, -H)
    return s.weights[:, None] * (s.c_plus * up + s.c_minus * down)


def loss_value(s, H):
    """Eq. 2 with weighted rows: (1/W) sum omega [beta + 1/2 (<c+, F[H]> + <c-, F[-H]>)]."""
    return (np.sum(s.weights * s.beta) + 0.5 * entry_losses(s, H).sum()) / s.weights.sum()


def gradient_and_hessian(s, H):
    """Minus the slope, and the curvature, of every entry's loss in its score, each (n, D).

    For the exponential these are -(w+ - w-) and w+ + w-, with the weights w+- of Sec. 3.
    """
    omega = s.weights[:, None]
    gradient = -omega * (s.c_plus * base_slope(s.loss, H) - s.c_minus * base_slope(s.loss, -H))
    hessian = omega * (s.c_plus * base_curvature(s.loss, H) + s.c_minus * base_curvature(s.loss, -H))
    return gradient, hessian


def multi_class_weights(s, H):
    """w+ = c+ exp[H] and w- = c- exp[-H] (Sec. 3, below Eq. 3), times the rows' weights."""
    omega = s.weights[:, None]
    return omega * s.c_plus * np.exp(H), omega * s.c_minus * np.exp(-H)


def weight_sums(w_plus, w_minus, f):
    """s+ and s- of Eq. 7, (D,) each, without the factor 1 / 2N."""
    s_plus = w_plus[f > 0].sum(axis=0) + w_minus[f < 0].sum(axis=0)
    s_minus = w_minus[f > 0].sum(axis=0) + w_plus[f < 0].sum(axis=0)
    return s_plus, s_minus


# --- The vector a of a given learner ----------------------------------------------------------------------
def smoothing_weight(s, H, smoothing):
    """eps (D,): ``smoothing`` times what each column can still lose, its loss above its floor."""
    return smoothing * np.maximum((entry_losses(s, H) - s.weights[:, None] * s.floor).sum(axis=0), 0.0)


def step_slope(s, H, f, eps, k, a):
    """d/da of sum_n omega [c+ F(H + f a) + c- F(-H - f a)]_k + eps_k (F(a) + F(-a))."""
    z = H[:, k] + f * a
    rows = s.weights * f * (s.c_plus[:, k] * base_slope(s.loss, z) - s.c_minus[:, k] * base_slope(s.loss, -z))
    return rows.sum() + eps[k] * (base_slope(s.loss, a) - base_slope(s.loss, -a))


def solve_step(s, H, f, eps):
    """The vector ``a (D,)`` of least loss for the responses ``f``, smoothed by ``eps (D,)``."""
    a = np.zeros(H.shape[1])
    gradient, hessian = gradient_and_hessian(s, H)
    if s.loss == "exponential":
        s_plus, s_minus = weight_sums(*multi_class_weights(s, H), f)
    for k in range(len(a)):
        if hessian[:, k].sum() == 0:
            continue  # nothing is at stake in this column
        if s.loss == "exponential":
            with np.errstate(divide="ignore"):  # S.6: a* = 1/2 [ln s- - ln s+], with both sums smoothed
                a[k] = 0.5 * (np.log(s_minus[k] + eps[k]) - np.log(s_plus[k] + eps[k]))
        elif s.loss == "squared":  # the minimum of a parabola; F'' (a) + F''(-a) = 4
            a[k] = np.sum(f * gradient[:, k]) / (hessian[:, k].sum() + 4.0 * eps[k])
        elif step_slope(s, H, f, eps, k, -LARGEST_STEP) >= 0:
            a[k] = -LARGEST_STEP
        elif step_slope(s, H, f, eps, k, LARGEST_STEP) <= 0:
            a[k] = LARGEST_STEP
        else:  # the slope of a convex function has one root
            bracket = (-LARGEST_STEP, LARGEST_STEP)
            a[k] = brentq(lambda v: step_slope(s, H, f, eps, k, v), *bracket, xtol=1e-15, rtol=1e-15)
    return np.clip(a, -LARGEST_STEP, LARGEST_STEP)


# --- Learners ---------------------------------------------------------------------------------------------
class Leaf(NamedTuple):
    """A constant answer, -1 or +1."""

    sign: float


class Split(NamedTuple):
    """``x[feature] <= threshold`` goes low, the rest high; ``threshold = edges[feature][index]``."""

    feature: int
    index: int
    threshold: float
    low: Split | Leaf
    high: Split | Leaf


def predict(tree, X):
    """The responses f (n,) of a learner."""
    if isinstance(tree, Leaf):
        return np.full(len(X), tree.sign)
    high = X[:, tree.feature] > tree.threshold  # False for NaN: what is missing goes low
    return np.where(high, predict(tree.high, X), predict(tree.low, X))


def stumps(edges):
    """Every stump, lowest feature first, then lowest threshold; the free sign of a spares the polarity."""
    for j, thresholds in enumerate(edges):
        for b, threshold in enumerate(thresholds):
            yield Split(j, b, float(threshold), Leaf(-1.0), Leaf(1.0))


def drop_of(loss, tables, f):
    """What the learner f can lower the sum of the entries' losses by, with its own best unsmoothed a."""
    if loss == "exponential":  # S.6: <s+ + s-, 1> falls to 2 <sqrt(s+ s-), 1>
        s_plus, s_minus = weight_sums(*tables, f)
        return np.sum((np.sqrt(s_plus) - np.sqrt(s_minus)) ** 2)
    gradient, hessian = tables  # exact for the squared loss; half the Newton decrement for the logistic one
    drop = 0.0
    for k in range(gradient.shape[1]):
        if hessian[:, k].sum() > 0:
            drop += np.sum(f * gradient[:, k]) ** 2 / (2.0 * hessian[:, k].sum())
    return drop


def best_stump(s, H, X, edges):
    """The stump of largest drop, or None, and its drop ("Joint optimization of f and a", Sec. 3)."""
    tables = multi_class_weights(s, H) if s.loss == "exponential" else gradient_and_hessian(s, H)
    best, best_drop = None, 0.0
    for stump in stumps(edges):
        drop = drop_of(s.loss, tables, predict(stump, X))
        if drop > best_drop * (1.0 + STUMP_TIE):
            best, best_drop = stump, drop
    return best, best_drop


def deepen(tree, rows, u, X, edges, tie):
    """Step 2 of the growing of Sec. 4 with a held: give every leaf its best answer, sum over its rows of f u.

    ``rows`` is the mask of the rows that reach ``tree``. A leaf may stay, turn over, or become a stump of
    either polarity; it changes only for something better by more than ``tie``.
    """
    if isinstance(tree, Split):
        high = X[:, tree.feature] > tree.threshold
        low_tree = deepen(tree.low, rows & ~high, u, X, edges, tie)
        return tree._replace(low=low_tree, high=deepen(tree.high, rows & high, u, X, edges, tie))
    u, X = u[rows], X[rows]
    best, best_value = tree, tree.sign * u.sum()
    if -best_value > best_value + tie:
        best, best_value = Leaf(-tree.sign), -best_value
    for stump in stumps(edges):
        value = np.sum(u * predict(stump, X))  # the other polarity has -value
        if abs(value) > best_value + tie:
            best, best_value = stump if value > 0 else turned(stump), abs(value)
    return best


def turned(stump):
    """The stump of the other polarity."""
    return stump._replace(low=Leaf(-stump.low.sign), high=Leaf(-stump.high.sign))


def grow(s, H, X, edges, eps, max_depth, root=None):
    """A tree and its vector, one layer at a time ("Greedily Growing Trees", Sec. 4); None if no stump helps.

    ``root`` starts from that stump instead of the best one.
    """
    tree = root or best_stump(s, H, X, edges)[0]
    if tree is None:
        return None
    a = solve_step(s, H, predict(tree, X), eps)
    value = entry_losses(s, H + np.outer(predict(tree, X), a)).sum()
    for _ in range(max_depth - 1):
        # sum_nk l(H + f a) = const - sum_n f_n u_n for f = +-1; for the exponential u_n = <w- - w+, sinh a>
        u = 0.5 * (entry_losses(s, H - a) - entry_losses(s, H + a)).sum(axis=1)
        deeper = deepen(tree, np.ones(len(X), dtype=bool), u, X, edges, LEAF_TIE * np.abs(u).sum())
        if deeper == tree:
            break
        f = predict(deeper, X)
        deeper_a = solve_step(s, H, f, eps)  # step 3 of Sec. 4
        deeper_value = entry_losses(s, H + np.outer(f, deeper_a)).sum()
        if not deeper_value < value:
            break
        tree, a, value = deeper, deeper_a, deeper_value
    return tree, a


# --- REBEL ------------------------------------------------------------------------------------------------
class Round(NamedTuple):
    """One round: the learner, its vector (after shrinkage) and the loss after it."""

    learner: Split
    vector: np.ndarray
    loss: float


class Model(NamedTuple):
    """a_0, the rounds, the loss before round 1 and after each, and the scores of the training rows."""

    intercept: np.ndarray
    rounds: list[Round]
    losses: list[float]
    H: np.ndarray

    def scores(self, X):
        """H(x) = a_0 + sum_t f_t(x) a_t (Eq. 3)."""
        start = np.tile(self.intercept, (len(X), 1))
        return start + sum(np.outer(predict(r.learner, X), r.vector) for r in self.rounds)


def first_vector(s, smoothing, fit_intercept):
    """a_0 of Eq. 3: zero, or the step of the constant learner f = 1 from H = 0."""
    H = np.zeros_like(s.c_plus)
    if not fit_intercept:
        return H[0].copy()
    return solve_step(s, H, np.ones(len(H)), smoothing_weight(s, H, smoothing))


def one_round(s, H, X, edges, smoothing, max_depth, learning_rate, root=None):
    """One round from the scores H, or None when nothing lowers the loss any more."""
    grown = grow(s, H, X, edges, smoothing_weight(s, H, smoothing), max_depth, root)
    if grown is None:
        return None
    tree, a = grown
    f = predict(tree, X)
    before, after = entry_losses(s, H).sum(), entry_losses(s, H + np.outer(f, a)).sum()
    if not before - after > STALLED * before:
        return None
    a = learning_rate * a
    return Round(tree, a, loss_value(s, H + np.outer(f, a)))


def rebel(
    X,
    cost_rows,
    weights,
    edges,
    n_rounds,
    loss="exponential",
    offset="paper",
    smoothing=0.0,
    max_depth=1,
    learning_rate=1.0,
    fit_intercept=False,
):
    """REBEL: at most ``n_rounds`` rounds of joint choice of a learner and its vector."""
    s = surrogate(cost_rows, weights, loss, offset)
    intercept = first_vector(s, smoothing, fit_intercept)
    H = np.tile(intercept, (len(X), 1))
    losses, rounds = [loss_value(s, H)], []
    for _ in range(n_rounds):
        this = one_round(s, H, X, edges, smoothing, max_depth, learning_rate)
        if this is None:
            break
        H = H + np.outer(predict(this.learner, X), this.vector)
        rounds.append(this)
        losses.append(this.loss)
    return Model(intercept, rounds, losses, H)


def two_sided(X, cost_rows, weights, edges, n_rounds, offset, smoothing):
    """Exponential REBEL with stumps and a_0 solved anew with every stump: H + f a + b, jointly in a and b.

    Either side of a stump then has a vector of its own, 1/2 ln((s- + eps/2) / (s+ + eps/2)) with the sums of that side.
    The best constant comes first. Returns it, and of every round the stump, its vectors (below, above) and the loss.
    """
    s = surrogate(cost_rows, weights, "exponential", offset)
    H = np.zeros_like(s.c_plus)

    def best_constant(rows, eps):
        up, down = w_plus[rows].sum(axis=0) + eps / 2, w_minus[rows].sum(axis=0) + eps / 2
        return 0.5 * (np.log(down) - np.log(up))

    w_plus, w_minus = multi_class_weights(s, H)
    intercept = best_constant(slice(None), smoothing_weight(s, H, smoothing))
    H = H + intercept
    rounds = []
    for _ in range(n_rounds):
        w_plus, w_minus = multi_class_weights(s, H)
        eps = smoothing_weight(s, H, smoothing)
        best, least = None, 0.0
        start = (w_plus + w_minus).sum()
        for stump in stumps(edges):
            above = predict(stump, X) > 0
            after = sum(2.0 * np.sqrt(w_plus[r].sum(axis=0) * w_minus[r].sum(axis=0)).sum() for r in (above, ~above))
            if best is None or start - after > (start - least) * (1.0 + STUMP_TIE):
                best, least = stump, after
        above = predict(best, X) > 0
        pair = [best_constant(rows, eps) for rows in (~above, above)]
        H = H + np.where(above[:, None], pair[1], pair[0])
        rounds.append((best, pair, loss_value(s, H)))
    return intercept, rounds


# --- Trees grown leaf by leaf, a vector in every leaf -----------------------------------------------------
class Leafwise(NamedTuple):
    """A tree on bins, bins above ``bin`` going right. Lists over nodes, the root first: a leaf has feature 0, bin 255
    and itself as ``left``; the children of a node are ``left`` and ``left + 1``. ``gain`` is the drop of each split."""

    feature: list[int]
    bin: list[int]
    left: list[int]
    gain: list[float]
    leaf_node: list[int]  # of each leaf number
    leaf: np.ndarray  # leaf number of each row, whether or not it is in the bag


def column_totals(values, rows):
    """Sums over the rows of a mask, rounded once: equal for equal sets of rows, and rows of zeros change nothing."""
    return np.array([fsum(column) for column in values[rows].T])


def criterion(kind, gradient, hessian, ridge):
    """What is left of the loss in a node with the sums ``gradient``, ``hessian``, up to constants and factors.

    exact: 2 sum_k sqrt(S+_k S-_k), the exponential's own; newton: -sum_k E_k^2 / M_k; sketch: -sum_c G_c^2 / M with one
    Hessian. The ridge is part of the Hessian.
    """
    hessian = hessian + ridge
    if kind == "exact":
        return 2.0 * np.sum(np.sqrt((hessian - gradient) / 2.0 * ((hessian + gradient) / 2.0)))
    if kind == "sketch":
        return -np.sum(gradient**2) / hessian[0]
    return -sum(g * g / h for g, h in zip(gradient, hessian, strict=True) if h > 0)


def best_cut(kind, X_binned, features, gradient, hessian, ridge, rows, min_leaf, drawn=None):
    """(drop, feature, bin) of the cut of a node's rows that lowers the criterion most; None if none lowers it.

    The bin is midway between two neighbouring bins that the node's rows occupy, rounded down. With
    ``drawn(feature, lowest bin, highest bin)`` only the cut is tried in whose gap the drawn bin lies.
    """

    def left_over(part):
        return criterion(kind, column_totals(gradient, part), column_totals(hessian, part), ridge)

    start = least = left_over(rows)
    best = None
    for j in features:
        x = X_binned[j].astype(int)
        bins = np.unique(x[rows]).tolist()
        at = drawn and drawn(j, bins[0], bins[-1])
        for a, b in pairwise(bins):
            if drawn and not a <= at < b:
                continue
            below, above = rows & (x <= a), rows & (x >= b)
            if min(below.sum(), above.sum()) < min_leaf:
                continue
            value = left_over(below) + left_over(above)
            if value < least:
                best, least = (j, (a + b) // 2), value
    return None if best is None else (start - least, *best)


def grow_leafwise(
    kind, X_binned, gradient, hessian, ridge, in_bag, max_leaves, max_depth=64, min_leaf=1, features_of=None, drawn=None
):
    """The leaf whose best cut lowers the criterion most is split, until there are enough: the first leaf of equals.

    The lower child keeps the number of the leaf, the upper one gets the next. ``features_of(node)`` are the features
    that a node may look at, all of them by default, and ``drawn(node, feature, lowest bin, highest bin)`` the bin behind
    the only threshold of a feature that it looks at.
    """
    features_of = features_of or (lambda node: range(len(X_binned)))
    tree = Leafwise([0], [255], [0], [0.0], [0], np.zeros(len(in_bag), dtype=int))

    def cut(number):
        rows, node = in_bag & (tree.leaf == number), tree.leaf_node[number]
        if depth[number] == max_depth:
            return None
        own = drawn and partial(drawn, node)
        return best_cut(kind, X_binned, features_of(node), gradient, hessian, ridge, rows, min_leaf, own)

    depth, cuts = [0], []
    cuts.append(cut(0))
    while len(cuts) < max_leaves and any(c is not None for c in cuts):
        drops = [-np.inf if c is None else c[0] for c in cuts]
        number = drops.index(max(drops))
        drop, j, b = cuts[number]
        node, first, new = tree.leaf_node[number], len(tree.feature), len(cuts)
        tree.feature[node], tree.bin[node], tree.left[node], tree.gain[node] = j, b, first, drop
        for child in (first, first + 1):
            tree.feature.append(0)
            tree.bin.append(255)
            tree.left.append(child)
            tree.gain.append(0.0)
        tree.leaf_node[number] = first
        tree.leaf_node.append(first + 1)
        tree.leaf[(tree.leaf == number) & (X_binned[j] > b)] = new
        depth[number] += 1
        depth.append(depth[number])
        cuts[number] = cut(number)
        cuts.append(cut(new))
    return tree


def effective_rows(sizes):
    """Rows of one size that would weigh as much."""
    return np.sum(sizes) ** 2 / np.sum(np.square(sizes)) if np.any(sizes) else 0.0


def shares_of_rows(sizes, n_least, n_most, floor=1e-3):
    """Probabilities of minimal variance sampling: the largest rows for sure, others by size; floor times the mean more.

    Ibragimov and Gusev (2019): p = min(1, size / level), where the level makes the sum that of the effective rows,
    `n_most` at most and `n_least` at least. The rows that are sure to be drawn are the largest ones, so the right
    number of them is found by trying.
    """
    n_drawn = max(n_least, min(int(effective_rows(sizes)), n_most))
    sizes = np.asarray(sizes) + (floor * np.mean(sizes) if np.any(sizes) else 1.0)
    largest_first = np.sort(sizes)[::-1]
    for sure in range(n_drawn):
        level = largest_first[sure:].sum() / (n_drawn - sure)
        if largest_first[sure] <= level * (1 + 1e-12):
            break
    return np.minimum(1.0, sizes / level)


GOLDEN, ALL_BITS = 0x9E3779B97F4A7C15, 2**64 - 1


def mixed(state):
    """The number after a state of splitmix64 (Steele, Lea and Flood 2014)."""
    z = (state + GOLDEN) & ALL_BITS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & ALL_BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & ALL_BITS
    return z ^ (z >> 31)


def random_number(seed, number):
    """In [0, 1), of a row's number: that of its place in the sequence from a state that the seed makes."""
    return (mixed((mixed(seed ^ 0x5851F42D4C957F2D) + number * GOLDEN) & ALL_BITS) >> 11) / 2**53


def drawn_bin(seed, node, feature, low, high):
    """From the lowest to below the highest bin of a node, each as likely: of the seed, the node and the feature."""
    state = (mixed(mixed(seed ^ 0xD1342543DE82EF95) ^ mixed(int(node))) >> 1) | 1
    state, left = mixed(state ^ mixed(int(feature))), range(256)
    while low < high:
        drawn = left[(state >> 32) * len(left) >> 32]
        if low <= drawn < high:
            return drawn
        left = range(drawn + 1, left.stop) if drawn < low else range(left.start, drawn)
        state = mixed(state)
    return low


def softmax_gradient_and_hessian(y, weights, H):
    """Minus the slope and the curvature of omega (-log softmax(H)_y) in every score, each (n, K)."""
    p = np.exp(H - H.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    omega = weights[:, None]
    return omega * (np.eye(H.shape[1])[y] - p), omega * p * (1.0 - p)


def boost_leafwise(loss, X_binned, y, weights, n_rounds, max_leaves, smoothing, learning_rate):
    """Leaf-wise trees without a sketch for 0/1 costs: the exponential loss and its closed form, or softmax and Newton.

    Returns the constant and, of every round until nothing can be split, the tree and its vectors before shrinkage.
    """
    n, K = len(y), y.max() + 1
    H, bag = np.zeros((n, K)), np.ones(n, dtype=bool)
    s = surrogate((1.0 - np.eye(K))[y], weights, "exponential", "tight")

    def vectors_of(leaf, n_leaves):
        vectors = np.zeros((n_leaves, K))
        for number in range(n_leaves):
            E, M = column_totals(gradient, leaf == number), column_totals(hessian, leaf == number)
            if loss == "exponential":  # ridge in both S+ = (M - E) / 2 and S-
                vectors[number] = 0.5 * np.log(((M + E) / 2 + ridge / 2) / ((M - E) / 2 + ridge / 2))
            else:  # the diagonal's step is K / (K - 1) too long: sum_k E_k = 0
                vectors[number] = np.clip((1 - 1 / K) * E / (M + 10 * smoothing * column_totals(hessian, bag)), -4, 4)
        return vectors

    intercept, rounds = np.zeros(K), []
    for t in range(-1, n_rounds):
        if loss == "exponential":
            gradient, hessian = gradient_and_hessian(s, H)
            ridge = 2 * smoothing_weight(s, H, smoothing)
        else:
            gradient, hessian = softmax_gradient_and_hessian(y, weights, H)
            p = np.exp(H[np.arange(n), y] - np.log(np.exp(H).sum(axis=1)))
            ridge = 2 * smoothing * np.bincount(y, weights=-weights * np.log(p), minlength=K)
        if t < 0:
            if loss == "exponential":
                intercept = vectors_of(np.zeros(n), 1)[0]
                H = H + intercept
            continue
        kind = "exact" if loss == "exponential" else "newton"
        tree = grow_leafwise(kind, X_binned, gradient, hessian, ridge, bag, max_leaves)
        if len(tree.leaf_node) == 1:
            break  # no split gains more than its phantom rows cost
        vectors = vectors_of(tree.leaf, len(tree.leaf_node))
        H = H + learning_rate * vectors[tree.leaf]
        rounds.append((tree, vectors))
    return intercept, rounds


# --- Thresholds, costs, AdaBoost --------------------------------------------------------------------------
def midpoint_edges(X):
    """Every midpoint between neighbouring distinct values of each feature: the "unique stumps" of Sec. 4."""
    edges = []
    for column in X.T:
        values = np.unique(column[~np.isnan(column)])
        edges.append(np.array([a + (b - a) / 2 for a, b in pairwise(values)]))
    return edges


def uniform_edges(X, n_thresholds):
    """Evenly spaced thresholds over each feature's range, ends left out (footnote 1); none if constant."""
    edges = []
    for column in X.T:
        low, high = np.nanmin(column), np.nanmax(column)
        edges.append(np.linspace(low, high, n_thresholds + 2)[1:-1] if low < high else np.array([]))
    return edges


def adaboost(X, signs, edges, n_rounds, weights=None):
    """Discrete AdaBoost with stumps (Freund and Schapire): the scores F(x_i) after each round, (rounds, n).

    ``signs (n,)`` are the classes, -1 and +1. Stops after the first stump without an error.
    """
    p = np.ones(len(X)) if weights is None else np.array(weights, dtype=float)
    p, F, history = p / p.sum(), np.zeros(len(X)), []
    for _ in range(n_rounds):
        best, best_advantage = None, 0.0
        for stump in stumps(edges):
            h = predict(stump, X)
            error = p[h != signs].sum()
            if abs(1 - 2 * error) > best_advantage * (1.0 + STUMP_TIE):
                best, best_advantage = (h if error < 0.5 else -h), abs(1 - 2 * error)
        if best is None:
            break
        error = p[best != signs].sum()
        alpha = LARGEST_STEP if error == 0 else 0.5 * np.log((1 - error) / error)
        F = F + alpha * best
        history.append(F)
        if error == 0:
            break
        p = p * np.exp(-alpha * signs * best)
        p = p / p.sum()
    return np.array(history).reshape(-1, len(X))
