"""Exact SHAP values of a model's scores: of trees, of Gaussian kernels and of linear features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minrisk._kernels import shapley as kernels
from minrisk._kernels._dtypes import FAR
from minrisk._kernels.functions import exp
from minrisk._typing import FloatArray, Int32Array, IntArray
from minrisk._utils.algebra import eigenvectors, product
from minrisk._utils.memory import points, read_only
from minrisk._utils.workers import Workers
from minrisk.data.sparse import block_height
from minrisk.estimator import BoostedClassifier
from minrisk.estimator.fitted import check_fitted
from minrisk.inspection.columns import rows_here
from minrisk.model.additive import AdditiveModel
from minrisk.model.projection import Projection, SmoothScores
from minrisk.model.trees import PackedTrees

TREES_TOGETHER = 64  # whose nodes one thread counts the background's rows in
SIDE_BY_SIDE = 128  # rows that a kernel explains side by side: a pass through them takes longer than to begin it
CONVERTED_ROWS = 4096  # rows of the background that are looked at together
EXPLAINED = "sums of trees whose leaves answer a constant"
NO_BACKGROUND = (
    "background must be rows that say how often each way through a tree is taken, such as the training rows, got "
    "none: models keep no counts of rows."
)


def gauss_legendre(most: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return rules of 0, 1, ... `most` points on [0, 1]: where each begins, all points, all weights."""
    rules = [_legendre(n) for n in range(1, most + 1)]
    first = np.concatenate([[0, 0], np.cumsum(np.arange(1, most + 1))]).astype(np.int64)
    point, weight = (np.concatenate([np.empty(0), *(rule[part] for rule in rules)]) for part in (0, 1))
    return read_only(first), read_only((point + 1.0) / 2.0), read_only(weight / 2.0)


def _legendre(n: int) -> tuple[FloatArray, FloatArray]:
    """Return points and weights of n points on [-1, 1]: the roots of Legendre's polynomial (Golub and Welsch, 1969)."""
    k = np.arange(1, n)
    beside = k / np.sqrt(4.0 * k * k - 1.0)
    points = eigenvectors(np.diag(beside, 1) + np.diag(beside, -1))[0]
    for _ in range(2):  # Newton's steps make up for rounding
        before, value = np.zeros(n), np.ones(n)
        for j in range(n):
            before, value = value, ((2 * j + 1) * points * value - j * before) / (j + 1)
        slope = n * (before - points * value) / ((1.0 - points) * (1.0 + points))
        points = points - value / slope
    return points, 2.0 / ((1.0 - points) * (1.0 + points) * slope**2)


class TreeNodes:
    """Nodes of trees with thresholds by their place among all of their feature's.

    Parameters
    ----------
    packed : PackedTrees
    n_features : int
        Features whose thresholds are kept. Where rows get codes, all features of the trees are below it.

    Attributes
    ----------
    left : ndarray of int32, (n_nodes,)
        The left child, counted from the first node of all.
    thresholds : list of ndarray
        Of each feature, ascending.
    arrays : tuple of ndarray
        Feature, cut, left child and first node of each tree, as kernels take them: a row goes right where its code of
        the feature is above the cut.
    """

    def __init__(self, packed: PackedTrees, n_features: int) -> None:
        feature, threshold = packed.of_nodes("feature"), packed.of_nodes("threshold")
        cut, self.thresholds = np.zeros(len(feature), dtype=np.int32), [np.empty(0)] * n_features
        places = np.flatnonzero(~packed.is_leaf)
        order = places[np.argsort(feature[places], kind="stable")]
        bounds = np.searchsorted(feature[order], np.arange(n_features + 1))
        for j in range(n_features):
            nodes = order[bounds[j] : bounds[j + 1]]
            self.thresholds[j], cut[nodes] = np.unique(threshold[nodes], return_inverse=True)
        self.left = packed.counted("left")
        arrays = feature.astype(np.int32), cut, self.left, packed.offsets
        self.arrays = tuple(read_only(array) for array in arrays)
        self._n_trees = len(packed)

    def codes(self, X: FloatArray) -> Int32Array:
        """Return how many thresholds of each feature are below the value, (n, d); 0 where it is missing."""
        codes = np.empty(X.shape, dtype=np.int32)
        for j, thresholds in enumerate(self.thresholds):
            codes[:, j] = np.searchsorted(thresholds, X[:, j], side="left")
        codes[np.isnan(X)] = 0
        return codes

    def counts(self, X: FloatArray, workers: Workers) -> IntArray:
        """Return how many of these rows come to each node, (n_nodes,)."""
        count, codes = np.zeros(len(self.left), dtype=np.int64), self.codes(X)

        def add(first: int) -> None:
            kernels.count_rows(codes, *self.arrays, first, min(first + TREES_TOGETHER, self._n_trees), count)

        workers.map(add, range(0, self._n_trees, TREES_TOGETHER))
        return count


class TreeShapley:
    """Shapley values of the scores of trees without lines at their leaves.

    Parameters
    ----------
    packed : PackedTrees
    nodes : TreeNodes
    vectors : ndarray of shape (n_vectors, D)
    count : ndarray of int64, (n_nodes,)
        Rows of the background that come to each node.

    Attributes
    ----------
    paths : tuple of ndarray
        Where the entries of each leaf begin, and the entries, which are the features on its path: codes of the feature
        from `lowest` to `highest` meet the path's conditions on it, and `share` is that of the background's rows that
        do, at the splits where these conditions stand.
    vectors : ndarray of shape (n_leaves, D)
        Responses times vectors.
    base : ndarray of shape (D,)
        What the trees answer where no feature is known.
    """

    def __init__(self, packed: PackedTrees, nodes: TreeNodes, vectors: FloatArray, count: IntArray) -> None:
        is_leaf, n_trees, self.n_features = packed.is_leaf, len(packed), len(nodes.thresholds)
        self.vectors = vectors[packed.counted("vector")[is_leaf]]
        if packed.value is not None:
            self.vectors *= packed.value[is_leaf, None]
        tree_leaves = np.concatenate([[0], np.cumsum(is_leaf)])[packed.offsets].astype(np.int64)
        first, size = np.empty(len(self.vectors) + 1, dtype=np.int64), 0
        for _ in range(2):  # they are counted first
            feature, lowest, highest = (np.empty(size, dtype=np.int32) for _ in range(3))
            share = np.empty(size)
            size = kernels.merge_paths(*nodes.arrays, count, first, feature, lowest, highest, share)
        self.paths = tuple(read_only(array) for array in (first, feature, lowest, highest, share))

        reached, sizes = np.ones(len(self.vectors)), np.diff(first)
        some = np.flatnonzero(sizes)
        if len(some):
            reached[some] = np.multiply.reduceat(share, first[some])
        self.base = np.asarray((reached[:, None] * self.vectors).sum(axis=0))

        # entries of one tree and feature form a group, whose leaves' vectors are summed together
        entries_before = first[tree_leaves]
        leaf = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
        key = np.repeat(np.arange(n_trees), np.diff(entries_before)) * self.n_features + feature
        order = np.argsort(key, kind="stable")
        found, first_place = np.unique(key[order], return_index=True)
        bounds = np.searchsorted(found, np.arange(n_trees + 1) * self.n_features)
        groups = np.append(first_place, len(order)), (found % self.n_features).astype(np.int32), order, leaf[order]
        self._parts: tuple[Any, ...] = (
            self.paths,
            gauss_legendre(3 * ((int(sizes.max(initial=0)) + 5) // 6)),
            tuple(map(read_only, groups)),
            tree_leaves,
            bounds,
            int(np.diff(entries_before).max(initial=0)),
            self.vectors,
        )

    def expected_scores(self, codes: Int32Array, known: np.ndarray) -> FloatArray:
        """Return what the trees answer on average where some features are known, of rows (n, d): (n, D)."""
        scores = np.zeros((len(codes), self.vectors.shape[1]))
        rows = np.ascontiguousarray(codes.T)
        kernels.expected_scores(rows, known, self.paths, self.vectors, scores)
        return scores

    def values(self, codes: Int32Array, direction: FloatArray | None = None) -> FloatArray:
        """Return the values of few rows (n, d), `SIDE_BY_SIDE` are best; they depend on no other rows.

        Parameters
        ----------
        codes : ndarray of int32, (n, d)
        direction : ndarray of shape (n, D), optional
            Weights of the scores: values of their weighted sum, (n, d, 1); without them of all scores, (n, d, D).
        """
        n_outputs = self.vectors.shape[1]
        weights = np.empty((0, len(codes))) if direction is None else np.ascontiguousarray(direction.T)
        values = np.zeros((self.n_features, n_outputs if direction is None else 1, len(codes)))
        rows = np.ascontiguousarray(codes.T)
        kernels.add_shapley_values(rows, *self._parts, weights, values)
        return values.transpose(2, 0, 1)


def why_no_values(estimator: BoostedClassifier) -> str | None:
    """Say why the scores of a fitted classifier have no exact SHAP values; None: they have."""
    model, name = estimator.model_, type(estimator).__name__
    packed: Any = model.packed
    if not isinstance(packed, PackedTrees):
        way = "; minrisk.inspection.explain names the training points" if hasattr(packed, "anchors") else ""
        return f"the learners of this {name} are no trees{way}"
    if packed.slope is not None and packed.slope.any():
        return f"this {name} has lines at its leaves, as another weak_learner has not"
    if model.decoder is not None:
        return f"this {name} decodes its scores from bits, which is no sum"
    return None


def explained_model(estimator: Any, name: str) -> AdditiveModel:
    """Return the model of an estimator whose scores have exact SHAP values.

    Raises
    ------
    TypeError
        If it is no estimator of this package, or its learners are no trees with constant leaves.
    NotFittedError
        If it is not fitted.
    """
    estimator = check_fitted(estimator, name)
    if (reason := why_no_values(estimator)) is not None:
        raise TypeError(f"{name} explains {EXPLAINED}, but {reason}.")
    model: AdditiveModel = estimator.model_
    return model


def checked_rows(estimator: BoostedClassifier, X: Any, name: str = "X") -> Any:
    """Return the numbers of rows that are here, as `predict` takes them; see `rows_here`."""
    return estimator._check_X(rows_here(estimator, X, name))


def with_linear_features(model: AdditiveModel, X: Any) -> FloatArray:
    """Return rows of numbers with the linear features beside them, (n, d + m)."""
    rows = points(X)
    return rows if model.projection is None else model.projection.extend(rows)


def linear_shares(linear: Projection, X: FloatArray) -> FloatArray:
    """Return each feature's share in each linear feature, (n, d, m): |w_j (x_j - c_j)|, scaled to sum to 1."""
    apart = np.clip(X - linear.center, -FAR, FAR)
    size = np.abs(np.where(np.isnan(apart), 0.0, apart)[:, :, None] * linear.weights)
    total = size.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0.0, size / np.where(total > 0.0, total, 1.0), linear.loadings))


class ScoreShapley:
    """SHAP values of the scores of a model.

    Parameters
    ----------
    estimator : BoostedClassifier
        Which `explained_model` takes.
    background : ndarray or SparseRows of shape (n, n_features)
        Checked numbers.
    workers : Workers

    Attributes
    ----------
    base : ndarray of shape (D,)
        Scores where no feature is known.
    used : ndarray of int
        Columns of `with_linear_features` that trees split; the features of `trees`.
    """

    def __init__(self, estimator: BoostedClassifier, background: Any, workers: Workers) -> None:
        self.model, self._source = estimator.model_, estimator._categories.source
        self._n_columns = int(self._source.max()) + 1
        packed, self.used = self.model.packed.compact()
        self.nodes = TreeNodes(packed, len(self.used))
        self.count = np.zeros(len(self.nodes.left), dtype=np.int64)
        height = block_height(background, CONVERTED_ROWS)
        for low in range(0, background.shape[0], height):
            self.count += self.nodes.counts(self._split(background[low : low + height]), workers)
        self.trees = TreeShapley(packed, self.nodes, np.asarray(self.model.vectors), self.count)
        self.base = self.model.intercept + self.trees.base
        self.smooth: SmoothShapley | None = None
        if self.model.smooth is not None:
            self.smooth = SmoothShapley(self.model.smooth, background)
            self.base = self.base + self.smooth.base

    def _split(self, X: Any) -> FloatArray:
        """Return the columns that trees split, of rows of numbers."""
        return np.asarray(with_linear_features(self.model, X)[:, self.used])

    def codes(self, X: Any) -> Int32Array:
        """Return codes of these columns."""
        return self.nodes.codes(self._split(X))

    def values(self, X: Any, direction: FloatArray | None, workers: Workers) -> FloatArray:
        """Return values of all scores, (n, d, D), or of their sum with weights `direction` (n, D): (n, d, 1)."""
        n, n_outputs = X.shape[0], 1 if direction is not None else len(self.base)
        out, height = np.empty((n, self._n_columns, n_outputs)), max(1, min(SIDE_BY_SIDE, -(-n // workers.n)))

        def explain(low: int) -> None:
            rows, part = points(X[low : low + height]), slice(low, low + height)
            weights = None if direction is None else direction[part]
            of_used = self.trees.values(self.codes(rows), weights)
            found = self.pulled_back(of_used, self.used, rows)
            if self.smooth is not None:
                smooth = self.smooth.values(rows)
                if weights is not None:
                    smooth = (smooth * weights[:, None, :]).sum(axis=2, keepdims=True)
                found += self.of_source(smooth)
            out[part] = found

        workers.map(explain, range(0, n, height))
        return out

    def pulled_back(self, values: FloatArray, columns: IntArray, X: FloatArray) -> FloatArray:
        """Return values of columns of `with_linear_features` as those of users' columns, (n, d, D)."""
        d = self.model.n_features
        own, found = columns < d, np.zeros((len(X), d, values.shape[2]))
        found[:, columns[own]] = values[:, own]
        if not own.all():
            assert self.model.projection is not None
            linear = self.model.projection.take(columns[~own] - d)
            for i in range(len(X)):  # one by one: sums of many may be made in another order
                found[i] += product(linear_shares(linear, X[i : i + 1])[0], values[i, ~own])
        return self.of_source(found)

    def of_source(self, values: FloatArray) -> FloatArray:
        """Return values with those of the columns summed that were made of one column of categories."""
        if len(self._source) == self._n_columns:
            return values
        summed = values[:, : self._n_columns].copy()
        for j in range(self._n_columns, len(self._source)):
            summed[:, self._source[j]] += values[:, j]
        return summed


class SmoothShapley:
    """SHAP values of Gaussian kernels around landmarks.

    A kernel is a product of one factor for each feature. Features that are not known have the mean of their factor over
    the background, each apart from the others.

    Parameters
    ----------
    smooth : SmoothScores
    background : ndarray or SparseRows of shape (n, d)
    """

    def __init__(self, smooth: SmoothScores, background: Any) -> None:
        arrays = smooth.center, smooth.scale, smooth.landmarks
        self.smooth, self._kernels = smooth, (*map(read_only, arrays), smooth.width)
        left_out = np.where(smooth.scale > 0.0, 0.0, 1.0)  # features without a part have the factor 1
        self.mean = np.repeat(left_out[:, None], smooth.landmarks.shape[1], axis=1)
        n, height = background.shape[0], block_height(background, CONVERTED_ROWS)
        for low in range(0, n, height):
            kernels.add_factors(points(background[low : low + height]), *self._kernels, n, self.mean)
        n_points = sufficient_points(int(np.count_nonzero(smooth.scale)))
        first, point, weight = gauss_legendre(n_points)
        self._points = point[first[n_points] :], weight[first[n_points] :]

    @property
    def base(self) -> FloatArray:
        """Where no feature is known, (D,)."""
        return np.asarray((self.mean.prod(axis=0)[:, None] * self.smooth.vectors).sum(axis=0))

    def values(self, X: FloatArray) -> FloatArray:
        """Return values of all scores, (n, d, D)."""
        values = np.zeros((len(X), X.shape[1], self.smooth.vectors.shape[1]))
        rest = self.mean, *self._points, self.smooth.vectors
        kernels.add_smooth_shapley_values(points(X), *self._kernels, *rest, values)
        return values

    def expected_scores(self, X: FloatArray, known: np.ndarray) -> FloatArray:
        """Return what the kernels answer where some features are known, (n, D)."""
        smooth, used = self.smooth, self.smooth.scale > 0.0
        z = (X[:, used] - smooth.center[used]) / smooth.scale[used]
        z[np.isnan(z)] = 0.0
        own = exp(-smooth.width * (z[:, :, None] - smooth.landmarks[used]) ** 2)
        factors = np.where(known[used][:, None], own, self.mean[used])
        return product(factors.prod(axis=1), smooth.vectors)


def sufficient_points(n_features: int) -> int:
    """Return how many points of Gauss and Legendre do for products of so many factors.

    Half as many are exact. Of hundreds of features fewer do, to 10 digits and more: on [0, 1] a product of m linear
    factors that are positive there is close to a polynomial of a degree in proportion to sqrt(m) (Newman and Rivlin
    1976, for t^m).
    """
    return max(1, min((n_features + 1) // 2, 8 + math.ceil(3.0 * math.sqrt(n_features))))
