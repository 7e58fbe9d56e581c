"""A model as the dictionary of trees that ``shap.TreeExplainer`` takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs

from minrisk._typing import FloatArray
from minrisk._workers import Workers
from minrisk.estimator import BoostedClassifier
from minrisk.estimator.inputs import one_fit
from minrisk.estimator.parameters import Flag, check_parameters
from minrisk.inspection.shap_scores import (
    NO_BACKGROUND,
    ScoreShapley,
    checked_rows,
    explained_model,
    with_linear_features,
)

NO_ROWS = 1e-30  # weight of a node that no row comes to: shap divides by it


def to_shap(model: BoostedClassifier, background: Any = None, *, linear: bool = False) -> dict[str, Any]:
    """Return the trees of a model as ``shap.TreeExplainer`` takes them, with a vector of scores in each leaf.

    `shap_values` gives the same numbers faster, and for more kinds of models.
    This is for what else shap does with trees, such as interactions, or values against a background of rows.

    Parameters
    ----------
    model : estimator
        A fitted classifier of minrisk, with trees whose leaves are constants, on columns of numbers.
    background : array-like of shape (m, d), optional
        Rows that say how often each way through a tree is taken, such as the training rows.
        It must be given, because models keep no counts of rows.
    linear : bool, default=False
        Whether linear features, which members of `MinRiskClassifier` may split, are columns behind those of X.
        The explainer is then given the rows of `wide_columns`.

    Returns
    -------
    dict
        "trees", arrays as shap has them, and "base_offset" of shape (D,).

    Raises
    ------
    TypeError
        If the model has what the dictionary cannot hold.
    NotFittedError
        If it is not fitted.
    ValueError
        If there is no background.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minrisk import REBELClassifier
    >>> from minrisk.inspection import to_shap
    >>> X, y = load_iris(return_X_y=True)
    >>> trees = to_shap(REBELClassifier(n_estimators=3).fit(X, y), X)
    >>> len(trees["trees"]), trees["trees"][0]["values"].shape[1]
    (3, 3)
    """
    model = one_fit(model)
    additive = explained_model(model, "to_shap")
    check_parameters("to_shap", {"linear": linear}, {"linear": Flag()})
    if background is None:
        raise ValueError(NO_BACKGROUND)
    if model._categories.columns:
        raise TypeError(
            f"to_shap holds trees on numbers, and column {model._categories.columns[0].name!r} holds categories: use "
            "shap_values."
        )
    if additive.smooth is not None:
        raise TypeError(
            "to_shap holds trees, and this model has smooth members beside them: use shap_values, or fit with "
            "pool=False."
        )
    if additive.projection is not None and not linear:
        raise TypeError(
            "to_shap holds trees on the columns of X, and this model has linear features beside them: use shap_values, "
            "fit with pool=False, or set linear=True and explain the rows of wide_columns(model, X)."
        )
    with Workers(effective_n_jobs(model.n_jobs)) as workers:
        shapley = ScoreShapley(model, checked_rows(model, background, "background"), workers)
    packed, n_outputs = additive.packed, len(additive.intercept)
    weight = _weights(shapley)
    values = np.zeros((len(weight), n_outputs))
    values[packed.is_leaf] = shapley.paths.vectors
    feature, threshold = packed.of_nodes("feature"), packed.of_nodes("threshold")
    trees = []
    for low, high in zip(packed.offsets[:-1].tolist(), packed.offsets[1:].tolist(), strict=True):
        nodes, leaf = slice(low, high), packed.is_leaf[low:high]
        left = np.where(leaf, -1, packed.left[nodes].astype(np.int32)).astype(np.int32)
        trees.append(
            {
                "children_left": left,
                "children_right": np.where(leaf, -1, left + 1).astype(np.int32),
                "children_default": left,
                "features": np.where(leaf, -1, feature[nodes]).astype(np.int32),
                "thresholds": np.where(leaf, -1.0, threshold[nodes]),
                "values": values[nodes],
                "node_sample_weight": weight[nodes],
            }
        )
    return {
        "trees": trees,
        "base_offset": additive.intercept.copy(),
        "internal_dtype": np.float64,
        "input_dtype": np.float64,
    }


def wide_columns(model: BoostedClassifier, X: Any) -> FloatArray:
    """Return the columns of X and the linear features behind them, which ``to_shap(model, linear=True)`` names.

    Parameters
    ----------
    model : estimator
        A fitted classifier of minrisk.
    X : array-like of shape (n, d)
        The rows.

    Returns
    -------
    ndarray of shape (n, d + m)
        m is the number of linear features; it is 0 if the model has none.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minrisk import REBELClassifier
    >>> from minrisk.inspection import wide_columns
    >>> X, y = load_iris(return_X_y=True)
    >>> wide_columns(REBELClassifier(n_estimators=3).fit(X, y), X).shape  # it has no linear features
    (150, 4)
    """
    model = one_fit(model)
    return np.array(with_linear_features(explained_model(model, "wide_columns"), checked_rows(model, X)[:]))


def _weights(shapley: ScoreShapley) -> FloatArray:
    """Rows of the background at each node, and a little where there are none: both children of such a node get half."""
    left, weight = shapley.paths.nodes.left, np.maximum(shapley.count.astype(np.float64), NO_ROWS)
    for node in np.flatnonzero((shapley.count == 0) & (left != np.arange(len(left)))):  # parents before their children
        weight[left[node] : left[node] + 2] = weight[node] / 2.0
    return weight
