"""Logistic members: softmax regression on the bins of single features, with a ridge penalty that falls.

Linear and weak signals take trees many rounds, each of which also learns noise. A member minimises

    sum_i w_i -log p_iy / W + penalty / 2 |B|^2,    p_i = softmax(a + B' z_i),

where z are the columns of `bin_columns_of`, with a free intercept and half a row of each class at the mean of all rows,
as class frequencies have it. A checkpoint is a penalty, each of which begins where the last one ended; out-of-fold rows
choose it as they choose the rounds of trees. In the end one member of all rows has that penalty.

L-BFGS (Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", 1989) runs on coefficients
of the columns' principal axes, each in units of its curvature where all rows have the class frequencies: so neither
rare classes nor columns that are much alike make it slow.

A linear model of columns that each depend on the bins of one feature is a sum of trees, one for each feature.

A number has two columns: its value, as the mean of its rows in a bin, and its rank, which is there for skewed features.
Rows in the outer bins count as no farther out than a bin is wide, so that one outlier does not stretch the column. A
missing value counts as the mean and has a column of its own, and a category has a column for each bin of its codes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from minrisk._kernels._dtypes import LEAF_BIN
from minrisk._kernels.functions import exp, expm1, log, power
from minrisk._typing import FloatArray, IntArray, LeftOut
from minrisk._utils.algebra import eigenvectors, product
from minrisk._utils.minimising import minimise
from minrisk._utils.workers import Workers
from minrisk.boosting.loop import Progress
from minrisk.data.copies import order_by_cells
from minrisk.ensemble import defaults
from minrisk.ensemble.members import Kind, Member, Task
from minrisk.model.trees import Tree
from minrisk.rows.costs import log_frequencies
from minrisk.rows.rows import Rows

NO_DEVIATION = 1e-9  # standard deviation, as a share of the largest value, below which a column is rounding


class BinColumns(NamedTuple):
    """Columns that depend on one feature, and the tree whose leaves tell their values."""

    feature: int
    tree: Tree
    values: FloatArray  # (leaves, m): of each column in each leaf, 0 in the mean of the rows
    share: FloatArray  # (leaves,): of the rows in each


def leaf_ends(n_bins: int, missing: bool, most: int) -> IntArray:
    """Return the last bin of each leaf but the last, at most so many leaves; missing values have one of their own."""
    first = int(missing)
    leaf = np.arange(n_bins - first) * min(most - first, n_bins - first) // max(1, n_bins - first)
    ends = np.flatnonzero(np.diff(leaf)) + first
    return np.concatenate([[0], ends]) if missing and n_bins > 1 else ends


def balanced_tree(feature: int, ends: IntArray, thresholds: FloatArray, new_missing: bool) -> Tree:
    """Return a tree on one feature, whose leaf number i, from the left, ends with bin `ends[i]` and names vector i.

    With `new_missing` the root leads missing values, which training has not seen, to one more leaf: the last vector.
    """
    nodes: list[tuple[int, int, int]] = []  # end (or leaf), left child or itself, depth
    spans = [(0, len(ends) + 1, 0)]
    if new_missing:
        nodes.append((-1, 1, 0))
        spans = [(len(ends) + 1, len(ends) + 2, 1), (0, len(ends) + 1, 1)]
    waiting = len(nodes) + len(spans)
    for low, high, depth in spans:  # which grows
        if high - low == 1:
            nodes.append((low, len(nodes), depth))
            continue
        middle = (low + high) // 2
        nodes.append((middle - 1, waiting, depth))
        spans += [(low, middle, depth + 1), (middle, high, depth + 1)]
        waiting += 2
    of_node, left, depth_of = np.array(nodes, dtype=np.int32).T
    leaf = left == np.arange(len(left))
    split = np.where(leaf | (of_node < 0), 0, of_node)
    bins = np.where(leaf, LEAF_BIN, np.append(ends, 0)[split]).astype(np.int32)
    threshold = np.where(leaf, np.inf, np.append(thresholds, -np.inf)[np.where(leaf, 0, bins)])
    if new_missing:
        bins[0], threshold[0] = 0, -np.inf  # a bin that is never looked at
    return Tree(
        np.where(leaf, 0, feature).astype(np.int32),
        bins,
        threshold,
        left,
        leaf.astype(np.float64),
        np.where(leaf, of_node, 0).astype(np.int32),
        np.zeros(len(left)),
        int(depth_of.max()),
    )


def with_new_missing(tree: Tree, thresholds: FloatArray) -> Tree:
    """Return it with a leaf for missing values where training has seen none: they count as the mean there, too."""
    if len(thresholds) and thresholds[0] == -np.inf:
        return tree
    ends = np.sort(tree.bin[tree.left != np.arange(len(tree.left))])
    return balanced_tree(int(tree.feature.max()), ends, thresholds, True)


def bin_columns_of(
    feature: int, bins: IntArray, x: FloatArray, weight: FloatArray, thresholds: FloatArray, most: int, is_code: bool
) -> tuple[BinColumns, IntArray] | None:
    """Make columns of one feature, and say in which leaf of its tree each row is; None: it is constant.

    Parameters
    ----------
    feature : int
    bins : ndarray of int, (n,)
        Of the rows,
    x : ndarray of shape (n,)
        their values,
    weight : ndarray of shape (n,)
        and their weights, whose sum is 1.
    thresholds : ndarray
        Between the bins.
    most : int
        Leaves.
    is_code : bool
        Whether numbers are codes of categories.
    """
    missing = len(thresholds) > 0 and thresholds[0] == -np.inf
    ends = leaf_ends(len(thresholds) + 1, bool(missing), most)
    leaf = np.searchsorted(ends, bins)
    share = np.bincount(leaf, weight, len(ends) + 1).astype(np.float64)
    if is_code:
        found = [np.eye(len(share))]
    else:
        found = [np.eye(len(share))[:, :1]] if missing else []
        found += _of_numbers(leaf, x, weight, thresholds[ends], share, int(missing))
    columns = [column for column in found if len(share) > 1]
    if not columns:
        return None
    values = np.concatenate(columns, axis=1)
    values -= product(share, values)
    return BinColumns(feature, balanced_tree(feature, ends, thresholds, False), values, share), leaf.astype(np.int16)


def _of_numbers(
    leaf: IntArray, x: FloatArray, weight: FloatArray, thresholds: FloatArray, share: FloatArray, missing: int
) -> list[FloatArray]:
    """Return rank and value of each leaf, of deviation 1; 0 where missing. Of two leaves these are the same."""
    thresholds, present = thresholds[missing:], share[missing:]
    columns = [np.cumsum(present) - present / 2.0] if np.any(present > 0) else []
    if columns and len(thresholds) > 1:
        top, own = float(np.abs(thresholds).max()), leaf >= missing
        with np.errstate(over="ignore"):
            x, thresholds, at = x[own] / top, thresholds / top, leaf[own] - missing
        low = np.append(2.0 * thresholds[0] - thresholds[1], thresholds)
        high = np.append(thresholds, 2.0 * thresholds[-1] - thresholds[-2])
        total = np.bincount(at, weight[own] * np.clip(x, low[at], high[at]), len(present))
        columns.append(np.divide(total, present, out=(low + high) / 2.0, where=present > 0))
    found = []
    for column in columns:
        column = column - product(present, column) / present.sum()
        deviation = float(np.sqrt(product(present, column**2) / share.sum()))
        if deviation > NO_DEVIATION * np.abs(column).max():
            found.append(np.concatenate([np.zeros(missing), column / deviation])[:, None])
    return found


def weighed_trees(
    columns: Sequence[BinColumns],
    coefficients: Sequence[FloatArray],
    gain: float,
    new_missing: Sequence[FloatArray] | None = None,
) -> tuple[list[Tree], list[FloatArray]]:
    """Return a tree with its vectors for each feature, the one that moves scores most first.

    Parameters
    ----------
    columns : sequence of BinColumns
    coefficients : sequence of ndarray of shape (m, K)
        Of the columns of each.
    gain : float
        Share of the loss that all of them take away: each has a part by the variance of its scores.
    new_missing : sequence of ndarray, optional
        Thresholds of each feature, for trees that know of missing values where training has seen none.
    """
    vectors = [product(one.values, own) for one, own in zip(columns, coefficients, strict=True)]
    moved = np.array([product(one.share, np.sum(own**2, axis=1)) for one, own in zip(columns, vectors, strict=True)])
    share = gain * moved / (moved.sum() or 1.0)
    trees, found = [], []
    for j in np.argsort(-moved, kind="stable").tolist():
        tree, own = columns[j].tree, vectors[j]
        if new_missing is not None and (whole := with_new_missing(tree, new_missing[j])) is not tree:
            tree, own = whole, np.concatenate([own, np.zeros((1, own.shape[1]))])
        splits = tree.value == 0.0
        trees.append(tree._replace(gain=np.where(splits, share[j] / splits.sum(), 0.0)))
        found.append(own)
    return trees, found


# -- members ----------------------------------------------------------------------------------------------------------
COLUMNS_TOGETHER = 64  # whose squares are in memory at a time
MOST_AXES = 1024  # columns: of more, principal axes would take longer than they save
MOST_ITERATIONS = 500  # for a penalty


class Design(NamedTuple):
    """The rows that members are fitted to, fold after fold, and their columns."""

    columns: list[BinColumns]
    axes: FloatArray | None  # (p, p) of the columns; None: themselves
    coordinates: FloatArray  # (p, m) of the rows along these
    squares: FloatArray  # (p,): mean square of each
    label: IntArray  # (m,)
    weight: FloatArray  # (m,)
    bounds: IntArray  # (n_folds + 1,): first row of each fold

    def coefficients(self, along: FloatArray) -> list[FloatArray]:
        """Return those of the columns of each feature, from those along the axes (p, K)."""
        of_columns = along if self.axes is None else product(self.axes, along)
        return np.split(of_columns, np.cumsum([one.values.shape[1] for one in self.columns])[:-1])


class Regression:
    """The penalised log-loss of all rows but those of a fold, and where it is least.

    Parameters
    ----------
    design : Design
    n_classes : int
    fold : int, optional
        That is left out; None: none.

    Attributes
    ----------
    start : ndarray of shape (K,)
        Intercept at the class frequencies.
    crowding, least : float
        Columns for each row; the penalty that is always there.
    """

    def __init__(self, design: Design, n_classes: int, fold: int | None) -> None:
        m = len(design.label)
        first, last = (m, m) if fold is None else design.bounds[fold : fold + 2].tolist()
        parts = [part for part in (slice(0, first), slice(last, m)) if part.start < part.stop]
        rows = np.sum([np.bincount(design.label[p], design.weight[p], n_classes) for p in parts], axis=0)
        total = float(rows.sum() + 0.5 * n_classes)
        self._parts = [(design.coordinates[:, p], design.label[p], design.weight[p] / total) for p in parts]
        self._half, self.crowding = 0.5 / total, len(design.squares) / total
        self.least = 0.1 / total  # of few rows each decides about the coefficients
        self.start = log_frequencies(rows)
        spread = exp(self.start) * -expm1(self.start)
        self._spread, self._squares = np.maximum(spread, np.finfo(float).tiny), design.squares

    def loss(self, along: FloatArray, intercept: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the mean log-loss, and its slopes."""
        top = intercept.max()
        shares = exp(intercept - top)
        total = float(shares.sum())
        value = self._half * float((log(total) + top - intercept).sum())
        level = self._half * (len(intercept) * shares / total - 1.0)
        slope = np.zeros_like(along)
        # The rows before the fold and behind it: a slice of each needs no copy.
        for coordinates, label, weight in self._parts:
            scores, each = product(along.T, coordinates), np.arange(len(label))
            scores += intercept[:, None]
            scores -= scores.max(axis=0)
            own = scores[label, each]
            exp(scores, out=scores)
            sums = scores.sum(axis=0)
            value += float(product(weight, log(sums) - own))
            scores *= weight / sums
            scores[label, each] -= weight
            slope += product(coordinates, scores.T)
            level += scores.sum(axis=1)
        return value, slope, level

    def solved(
        self, penalty: float, along: FloatArray, intercept: FloatArray, tolerance: float
    ) -> tuple[FloatArray, FloatArray, float]:
        """Find coefficients along the axes and intercept of least penalised loss, begun from others, and that loss."""
        # In units of the curvature at the class frequencies neither rare classes nor columns alike make it slow.
        unit = 1.0 / np.sqrt(self._squares[:, None] * self._spread + penalty)
        level_unit, size = 1.0 / np.sqrt(self._spread), along.size

        def of(x: FloatArray) -> tuple[FloatArray, FloatArray]:
            return x[:size].reshape(along.shape) * unit, x[size:] * level_unit

        def penalised(x: FloatArray) -> tuple[float, FloatArray]:
            along, intercept = of(x)
            value, slope, level = self.loss(along, intercept)
            slopes = np.append((slope + penalty * along) * unit, level * level_unit)
            return value + 0.5 * penalty * float(np.sum(along**2)), slopes

        begin = np.append(along / unit, intercept / level_unit)
        found = minimise(penalised, begin, iterations=MOST_ITERATIONS, gradient=tolerance)
        return *of(found.point), found.value


def penalty_of(n_rounds: int, crowding: float) -> float:
    """Return share of the rows' weight, where there are so many columns for each row."""
    # It falls to a third or so at the next checkpoint.
    first = defaults.LOGISTIC_PENALTY + crowding
    return float(first * power(defaults.FIRST_CHECKPOINT / n_rounds, 5))


class LogisticMember(Member):
    """One softmax regression in training.

    Parameters
    ----------
    kind : Logistic
    fold : int, optional
        That it leaves out; None: it is trained on all rows.
    """

    def __init__(self, kind: Logistic, fold: int | None) -> None:
        assert kind.design is not None
        self._design, self._thresholds = kind.design, kind.task.table.columns.thresholds
        self._regression = Regression(self._design, kind.task.n_outputs, fold)
        # Of the gradient, in units of the curvature: a quarter of the first changes no log-loss by a thousandth.
        self._tolerance = 1e-6 if fold is None else 2e-3
        self._of_all, self._rows = fold is None, kind.rows(fold)
        self._rows.rest(True)
        along = np.zeros((len(self._design.squares), kind.task.n_outputs))
        self.start = self._regression.start
        self._found = {0: (along, self.start, self._regression.loss(along, self.start)[0])}  # by checkpoint

    def train(self, rounds: Sequence[int]) -> None:
        """Go on to the penalties of these checkpoints."""
        begun = time.perf_counter()
        for checkpoint in rounds:
            self._at(checkpoint)
            self.reached = checkpoint
        self.seconds += time.perf_counter() - begun

    def _at(self, n_rounds: int) -> tuple[FloatArray, FloatArray, float]:
        """Return coefficients, intercept and loss at a checkpoint, perhaps one that was passed over."""
        if n_rounds not in self._found:
            along, intercept, _ = self._found[max(before for before in self._found if before < n_rounds)]
            penalty = penalty_of(n_rounds, self._regression.crowding) + self._regression.least
            self._found[n_rounds] = self._regression.solved(penalty, along, intercept, self._tolerance)
        return self._found[n_rounds]

    def scores(self, n_rounds: int) -> LeftOut:
        """Return those of the out-of-fold rows at a checkpoint."""
        made = self.result(n_rounds)
        assert made.intercept is not None
        return self._rows.left_out_scores(made.trees, made.vectors, made.intercept)

    def result(self, n_rounds: int) -> Progress:
        """Return its trees at a checkpoint."""
        along, intercept, value = self._at(n_rounds)
        if n_rounds == 0:
            return Progress(intercept=intercept)
        columns, gain = self._design.columns, max(0.0, float(log(self._found[0][2] / value)))
        unseen = [self._thresholds[one.feature] for one in columns] if self._of_all else None
        trees, vectors = weighed_trees(columns, self._design.coefficients(along), gain, unseen)
        vectors[0] = vectors[0] + (intercept - self.start)  # each row is in one leaf of the first tree
        return Progress(trees, vectors, self.start)


class Logistic(Kind):
    """For linear signals, which trees make of many steps."""

    name = "logistic"
    makes_rounds = False
    weight = 2.5

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.design: Design | None = None

    @classmethod
    def of(cls, task: Task) -> Self | None:
        """Return itself beside softmax, on rows that lie here."""
        few = task.table.n_features <= defaults.LINEAR_FEATURES
        return cls(task) if task.link == "softmax" and few and len(task.table.rows) else None

    def ready(self) -> bool:
        """Prepare the columns, if there are any."""
        self.design = fit_design(self.task)
        return self.design is not None

    @property
    def n_rows(self) -> float:
        """Return those that members are fitted to."""
        return min(super().n_rows, 0.0 if self.design is None else len(self.design.label))

    def rows(self, fold: int | None) -> Rows:
        """Return what says of a member's trees what they answer to out-of-fold rows."""
        return self.task.folded.without(fold, self.task.table.columns, Workers())

    def member(self, fold: int | None) -> LogisticMember:
        """Return a member to be trained on the other folds, or on all."""
        return LogisticMember(self, fold)


def fit_design(task: Task) -> Design | None:
    """Make columns of all features, from all rows or evenly spaced ones; None: nothing varies."""
    table, few = task.table, task.folded.gathered()
    d, columns = table.n_features, table.columns
    is_code, is_copy = table.categories
    n_columns = int(np.where(is_code, columns.n_bins[:d], 2).sum())
    most = min(
        defaults.LOGISTIC_FITTED,
        defaults.LOGISTIC_VALUES // n_columns,
        defaults.LOGISTIC_PRODUCTS // (n_columns * task.n_outputs),
    )
    rows = np.arange(len(few.label))
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, max(1, most)).astype(np.int64)]
    X = np.asarray(table.X[table.rows[rows]], dtype=np.float64)
    # Within a fold by their cells, so that sums have the same bits wherever rows stand.
    fold, order = np.searchsorted(few.bounds, rows, "right"), order_by_cells(X, few.label[rows], few.weight[rows])
    order = order[np.argsort(fold[order], kind="stable")]
    binned, bounds = columns.some(d, rows).binned, np.searchsorted(rows, few.bounds)
    X, rows = X[order], rows[order]
    weight = few.weight[rows].astype(np.float64)
    share, leaves = weight / weight.sum(), max(2, (1 << 15) // d)  # of all trees that its model becomes, at most
    found = []
    for j, bins in enumerate(binned):
        if is_copy[j]:
            continue
        thresholds = columns.thresholds[j]
        own = bin_columns_of(j, bins[order].astype(np.int64), X[:, j], share, thresholds, leaves, bool(is_code[j]))
        found += [] if own is None else [own]
    if not found:
        return None
    del X, binned  # the columns of all rows are the peak of memory
    Z, first = np.empty((sum(one.values.shape[1] for one, _ in found), len(rows))), 0
    for one, leaf in found:
        last = first + one.values.shape[1]
        Z[first:last], first = one.values.T[:, leaf], last
    axes = None
    if len(Z) <= MOST_AXES:
        axes = eigenvectors(product(Z * share, Z.T))[1]
        Z = product(axes.T, Z)
    squares = np.concatenate(
        [product(part**2, share) for part in np.array_split(Z, max(1, len(Z) // COLUMNS_TOGETHER))]
    )
    return Design([one for one, _ in found], axes, Z, squares, few.label[rows].astype(np.int64), weight, bounds)
