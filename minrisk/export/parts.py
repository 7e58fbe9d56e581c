"""What an exported model is made of, read off a fitted estimator; what a format cannot hold is refused here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minrisk._kernels._dtypes import FAR
from minrisk._typing import FloatArray, Labels
from minrisk._utils import packages
from minrisk.costs import CostMatrix, as_cost
from minrisk.costs.labels import label_array
from minrisk.decisions.costs import decides_by_any_costs
from minrisk.estimator.fitted import check_fitted
from minrisk.model.additive import AdditiveModel
from minrisk.model.similarities import PackedSimilarities
from minrisk.model.trees import PackedTrees

if TYPE_CHECKING:
    from minrisk.data.categories import Categories
    from minrisk.ensemble.cost_regression import CostRegression

OF_PIPELINES = "take the last step, or convert the whole with skl2onnx after register_skl2onnx()"
LEAST_STATED, LARGEST_STATED = 1e-100, 1e100  # costs in between are exported in their own unit


@dataclass(frozen=True)
class ModelParts:
    """Scores, and what makes decisions of them.

    Attributes
    ----------
    name : str
        Of the estimator's class.
    model : AdditiveModel
    categories : Categories
        How columns become the numbers that the model reads.
    feature_names : list of str, optional
        None where the training had no names.
    classes, decisions : ndarray
        Labels, (K,) and (D,).
    cost : ndarray of shape (K, D), optional
        Avoidable costs in the unit that they were stated in: the decision is that of the least expected one. None:
        costs are learnt, or the decision is that of the largest score.
    regression : CostRegression, optional
        Expected costs of each class, where the fit had costs for each row.
    """

    name: str
    model: AdditiveModel
    categories: Categories
    feature_names: list[str] | None
    classes: Labels
    decisions: Labels
    cost: FloatArray | None
    regression: CostRegression | None

    @property
    def origin(self) -> FloatArray:
        """Intercept, rounded as the model rounds it so that all sums are exact."""
        return self.model._origin

    def refused(self, what: str, instead: str) -> ValueError:
        """Return the error that says what a format cannot hold, and what to do instead."""
        return ValueError(f"This {self.name} cannot be exported: {what}. {instead}")


def parts_of(estimator: Any, cost: Any = None, what: str = "export") -> ModelParts:
    """Read a fitted estimator.

    Parameters
    ----------
    estimator : BoostedClassifier
        A fitted estimator of this package.
    cost : optional
        Costs to decide by instead of those of the fit, a matrix as `MinRiskClassifier.predict` takes it.
    what : str
        The function that was asked.

    Raises
    ------
    TypeError
        If it is no estimator of this package.
    ValueError
        If `cost` is given and the model knows no probabilities.
    NotFittedError
        If it is not fitted.
    """
    estimator = check_fitted(estimator, what, OF_PIPELINES)
    model, names = estimator.model_, getattr(estimator, "feature_names_in_", None)
    table, decisions, regression = None, estimator.decisions_, None
    if cost is not None:
        if not decides_by_any_costs(estimator):
            raise ValueError(
                f"This {type(estimator).__name__} decides by the costs it was trained on and knows no others: leave "
                "cost out, or fit a MinRiskClassifier with surrogate='softmax' or 'exponential'."
            )
        matrix = as_cost(cost, estimator.classes_)
        table, decisions = stated_costs(matrix), label_array(matrix.decisions, estimator.classes_)
    elif estimator._expected(np.zeros((1, model.n_features)), np.zeros((1, len(model.intercept)))) is not None:
        regression = getattr(estimator, "cost_regression_", None)
        if regression is None:
            assert estimator.cost_ is not None
            table = stated_costs(estimator.cost_)
    names = None if names is None else [str(name) for name in names]
    of_labels = estimator.classes_, decisions, table, regression
    return ModelParts(type(estimator).__name__, model, estimator._categories, names, *of_labels)


def stated_costs(matrix: CostMatrix) -> FloatArray:
    """Return avoidable costs, (K, D), in the unit that they are stated in; huge and tiny ones in that of `avoidable`.

    These are `CostMatrix.avoidable` times a power of two, so they lead to the same decisions, to the last bit.
    """
    with np.errstate(over="ignore"):
        costs = matrix.values - matrix.values.min(axis=1, keepdims=True)
    return np.asarray(costs if LEAST_STATED < costs.max() < LARGEST_STATED else matrix.avoidable)


def check_numbers_only(parts: ModelParts, target: str) -> None:
    """Refuse models of tables whose columns are no numbers, for formats whose input is an array of numbers."""
    categories = parts.categories
    held = [("categories", column.position) for column in categories.columns]
    held += [("dates or times", column.position) for column in categories.day_columns]
    if held:
        what, position = held[0]
        name = position if parts.feature_names is None else repr(parts.feature_names[position])
        raise parts.refused(
            f"column {name} of its training rows holds {what}, and the input of {target} is numbers",
            "Make numbers of such columns before fit, as a Pipeline with an encoder does, or use to_json.",
        )


@dataclass(frozen=True)
class LeafTrees:
    """Trees with the vector that each leaf adds, the nodes of one tree after those of another.

    Attributes
    ----------
    feature : ndarray of int, (n_nodes,)
        0 at leaves.
    threshold : ndarray of shape (n_nodes,)
        A row goes right where its value is greater; a missing value goes left. +inf at leaves.
    left : ndarray of int, (n_nodes,)
        The left child within its tree, the right one is left + 1; of a leaf itself.
    is_leaf : ndarray of bool, (n_nodes,)
    offsets : ndarray of int, (n_trees + 1,)
        First node of each tree.
    vectors : ndarray of shape (n_leaves, D)
        What each leaf adds to the scores, in the order of the nodes.
    """

    feature: np.ndarray
    threshold: FloatArray
    left: np.ndarray
    is_leaf: np.ndarray
    offsets: np.ndarray
    vectors: FloatArray

    def __len__(self) -> int:
        return len(self.offsets) - 1


def leaf_trees(packed: PackedTrees, vectors: FloatArray) -> LeafTrees:
    """Return trees of a model, without those of a single leaf that adds zeros; at least one tree.

    Parameters
    ----------
    packed : PackedTrees
        Without slopes.
    vectors : ndarray of shape (n_vectors, D)
    """
    is_leaf = packed.is_leaf
    added = vectors[packed.counted("vector")[is_leaf]]
    if packed.value is not None:
        added = added * packed.value[is_leaf, None]
    sizes = np.diff(packed.offsets)
    before = np.concatenate([[0], np.cumsum(is_leaf)])[packed.offsets[:-1]] if len(packed) else np.zeros(0, np.int64)
    kept = (sizes > 1) | np.any(added[before] != 0.0, axis=1)
    if not kept.any():
        none, zeros = np.zeros(1, dtype=np.int64), np.zeros((1, vectors.shape[1]))
        return LeafTrees(none, np.full(1, np.inf), none, np.ones(1, dtype=np.bool_), np.array([0, 1]), zeros)
    nodes = np.repeat(kept, sizes)
    return LeafTrees(
        packed.of_nodes("feature")[nodes].astype(np.int64),
        packed.of_nodes("threshold")[nodes],
        packed.left[nodes].astype(np.int64),
        is_leaf[nodes],
        np.concatenate([[0], np.cumsum(sizes[kept])]),
        added[nodes[is_leaf]],
    )


def trees_of(parts: ModelParts) -> LeafTrees:
    """Return the trees of a model.

    Raises
    ------
    ValueError
        If its learners are no trees, or have lines in their leaves.
    """
    packed = parts.model.packed
    if isinstance(packed, PackedSimilarities):
        raise parts.refused("its learners are similarities to training points and no trees", "Use to_json.")
    if not isinstance(packed, PackedTrees):
        raise parts.refused(
            "its learners are regressors of scikit-learn",
            "Fit with trees (weak_learner='stump' or 'tree'), which can be exported.",
        )
    if packed.slope is not None and np.any(packed.slope != 0.0):
        raise parts.refused(
            "its leaves hold lines in a feature and not constants",
            "Fit with trees (weak_learner='stump' or 'tree'), or use to_json.",
        )
    return leaf_trees(packed, np.asarray(parts.model.vectors))


def library(name: str, extra: str) -> Any:
    """Import an optional library, or say how to get it."""
    return packages.library(name, extra, "This export needs")


def finite(thresholds: FloatArray) -> FloatArray:
    """Return thresholds that split all finite numbers as these do; neither C nor JSON has a number for infinity."""
    largest = np.finfo(np.float64).max
    return np.clip(thresholds, -largest, largest)


class LinearFeatures(NamedTuple):
    """Function that puts the linear features of a model behind the columns of X, in plain NumPy.

    The linear features are ``(x - center) @ weights``, which trees split beside the columns of X.
    `linear_features` returns it; call it with X of shape (n, d), and it returns an array of shape (n, d + m).

    Parameters
    ----------
    center : ndarray of shape (d,)
        What is taken off each column of X.
    weights : ndarray of shape (d, m)
        Weights of the columns in each linear feature; m is 0 if a model has none.

    Notes
    -----
    Each linear feature is a float64 sum, one column after another, rounded to float32. A missing value adds nothing.
    So the values are those that the trees were fitted to, whichever rows stand beside a row.

    Examples
    --------
    >>> import numpy as np
    >>> from minrisk.export import LinearFeatures
    >>> features = LinearFeatures(center=np.zeros(2), weights=np.array([[1.0], [-1.0]]))
    >>> features([[3.0, 1.0]])
    array([[3., 1., 2.]])
    """

    center: FloatArray
    weights: FloatArray

    def __call__(self, X: Any) -> FloatArray:
        """Return X with its linear features behind it.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Numbers; NaN is missing.

        Returns
        -------
        ndarray of shape (n, d + m)
            The columns of X, and the linear features behind them.
        """
        X = np.asarray(X, dtype=np.float64)
        sums = np.zeros((len(X), self.weights.shape[1]))
        for x, center, weights in zip(X.T, self.center, self.weights, strict=True):
            apart = np.clip(x - center, -FAR, FAR)
            sums += np.where(np.isnan(apart), 0.0, apart)[:, None] * weights
        return np.hstack([X, sums.astype(np.float32)])


def linear_features(model: Any) -> LinearFeatures:
    """Return what a runtime of trees needs beside the columns of X.

    Members of `MinRiskClassifier` of the kind "random" split linear combinations of the features.
    Formats that hold trees only take these as further columns behind those of X, which the returned function makes.

    Parameters
    ----------
    model : estimator
        A fitted classifier of minrisk.

    Returns
    -------
    LinearFeatures
        A function of X. If the model has no linear features, it returns X as float64.

    Raises
    ------
    TypeError
        If the model is no estimator of this package.
    NotFittedError
        If it is not fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minrisk import MinRiskClassifier
    >>> from minrisk.export import linear_features
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MinRiskClassifier(pool=False, n_estimators=5, random_state=0).fit(X, y)
    >>> linear_features(model)(X).shape
    (150, 4)
    """
    parts = parts_of(model, what="linear_features")
    linear, d = parts.model.projection, parts.model.n_features
    if linear is None:
        return LinearFeatures(np.zeros(d), np.zeros((d, 0)))
    return LinearFeatures(linear.center, linear.weights)
