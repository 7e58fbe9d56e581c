"""Exact SHAP values of a model's scores, of the columns that users know."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minrisk._kernels import smooth_shap
from minrisk._kernels._dtypes import FAR
from minrisk._memory import points, read_only
from minrisk._typing import FloatArray, IntArray
from minrisk._workers import Workers
from minrisk.data.sparse_rows import block_height
from minrisk.estimator import BoostedClassifier
from minrisk.fitted import check_fitted
from minrisk.inspection.shap_trees import SIDE_BY_SIDE, TreeNodes, TreePaths, TreeShapley, gauss_legendre
from minrisk.inspection.why_columns import rows_here
from minrisk.model.additive import AdditiveModel
from minrisk.model.projection import Projection, SmoothScores
from minrisk.model.trees import PackedTrees

CONVERTED_ROWS = 4096  # rows of the background that are looked at together
EXPLAINED = "sums of trees whose leaves answer a constant"
NO_BACKGROUND = (
    "background must be rows that say how often each way through a tree is taken, such as the training rows, got "
    "none: models keep no counts of rows."
)


def why_no_values(estimator: BoostedClassifier) -> str | None:
    """Why the scores of a fitted classifier have no exact SHAP values; None: they have."""
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
    """The model of an estimator whose scores have exact SHAP values.

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
    """The numbers of rows that are here, as `predict` takes them; see `rows_here`."""
    return estimator._check_X(rows_here(estimator, X, name))


def with_linear_features(model: AdditiveModel, X: Any) -> FloatArray:
    """Rows of numbers with the linear features beside them, (n, d + m)."""
    rows = points(X)
    return rows if model.projection is None else model.projection.extend(rows)


def linear_shares(linear: Projection, X: FloatArray) -> FloatArray:
    """Share of each feature in each linear feature of each row, (n, d, m): |w_j (x_j - c_j)|, scaled to sum to 1."""
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
        Columns of `with_linear_features` that trees split; the features of `paths`.
    """

    def __init__(self, estimator: BoostedClassifier, background: Any, workers: Workers) -> None:
        self.model, self._source = estimator.model_, estimator._categories.source
        self._n_columns = int(self._source.max()) + 1
        packed, self.used = self.model.packed.compact()
        nodes = TreeNodes.of(packed, len(self.used))
        count = np.zeros(len(nodes.left), dtype=np.int64)
        height = block_height(background, CONVERTED_ROWS)
        for low in range(0, background.shape[0], height):
            count += nodes.counts(self.codes_by(nodes, background[low : low + height]), workers)
        self.count = count
        self.paths = TreePaths.of(packed, nodes, np.asarray(self.model.vectors), count)
        self.trees = TreeShapley(self.paths)
        self.base = self.model.intercept + self.paths.base
        self.smooth: SmoothShapley | None = None
        if self.model.smooth is not None:
            self.smooth = SmoothShapley(self.model.smooth, background)
            self.base = self.base + self.smooth.base

    def codes_by(self, nodes: TreeNodes, X: Any) -> Any:
        """Of rows of numbers, for the columns that trees split."""
        return nodes.codes(with_linear_features(self.model, X)[:, self.used])

    def codes(self, X: Any) -> Any:
        """Likewise."""
        return self.codes_by(self.paths.nodes, X)

    def values(self, X: Any, direction: FloatArray | None, workers: Workers) -> FloatArray:
        """Of all scores, (n, d, D), or of their sum with weights `direction` (n, D): (n, d, 1)."""
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
        """Values of columns of `with_linear_features` as those of users' columns, (n, d, D)."""
        d = self.model.n_features
        own, found = columns < d, np.zeros((len(X), d, values.shape[2]))
        found[:, columns[own]] = values[:, own]
        if not own.all():
            assert self.model.projection is not None
            linear = self.model.projection.take(columns[~own] - d)
            for i in range(len(X)):  # one by one: sums of many may be made in another order
                found[i] += np.einsum("jc,ck->jk", linear_shares(linear, X[i : i + 1])[0], values[i, ~own])
        return self.of_source(found)

    def of_source(self, values: FloatArray) -> FloatArray:
        """Columns that were made of a column of categories, summed."""
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
        kernels = smooth.center, smooth.scale, smooth.landmarks
        self.smooth, self._kernels = smooth, (*map(read_only, kernels), smooth.width)
        left_out = np.where(smooth.scale > 0.0, 0.0, 1.0)  # features without a part have the factor 1
        self.mean = np.repeat(left_out[:, None], smooth.landmarks.shape[1], axis=1)
        n, height = background.shape[0], block_height(background, CONVERTED_ROWS)
        for low in range(0, n, height):
            smooth_shap.add_factors(points(background[low : low + height]), *self._kernels, n, self.mean)
        n_points = sufficient_points(int(np.count_nonzero(smooth.scale)))
        first, point, weight = gauss_legendre(n_points)
        self._points = point[first[n_points] :], weight[first[n_points] :]

    @property
    def base(self) -> FloatArray:
        """Where no feature is known, (D,)."""
        return np.asarray((self.mean.prod(axis=0)[:, None] * self.smooth.vectors).sum(axis=0))

    def values(self, X: FloatArray) -> FloatArray:
        """Of all scores, (n, d, D)."""
        values = np.zeros((len(X), X.shape[1], self.smooth.vectors.shape[1]))
        rest = read_only(self.mean), *self._points, read_only(self.smooth.vectors)
        smooth_shap.add_smooth_shapley_values(points(X), *self._kernels, *rest, values)
        return values

    def expected_scores(self, X: FloatArray, known: np.ndarray) -> FloatArray:
        """What the kernels answer where some features are known, (n, D)."""
        smooth, used = self.smooth, self.smooth.scale > 0.0
        z = (X[:, used] - smooth.center[used]) / smooth.scale[used]
        z[np.isnan(z)] = 0.0
        own = np.exp(-smooth.width * (z[:, :, None] - smooth.landmarks[used]) ** 2)
        factors = np.where(known[used][:, None], own, self.mean[used])
        return np.asarray(np.einsum("nc,ck->nk", factors.prod(axis=1), smooth.vectors))


def sufficient_points(n_features: int) -> int:
    """Points of Gauss and Legendre for products of so many factors.

    Half as many are exact. Of hundreds of features fewer do, to 10 digits and more: on [0, 1] a product of m linear
    factors that are positive there is close to a polynomial of a degree in proportion to sqrt(m) (Newman and Rivlin
    1976, for t^m).
    """
    return max(1, min((n_features + 1) // 2, 8 + math.ceil(3.0 * math.sqrt(n_features))))
