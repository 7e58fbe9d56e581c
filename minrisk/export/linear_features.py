"""The linear features of a model as a stage of its own, for runtimes that hold trees only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minrisk._kernels._dtypes import FAR
from minrisk._typing import FloatArray
from minrisk.export.parts import parts_of


class LinearFeatures(NamedTuple):
    """Columns (x - center) @ weights that trees split beside those of X, in plain NumPy.

    Each column is a float64 sum, one feature after another, rounded to float32; a missing value adds nothing. So the
    values are those that the trees were fitted to, whichever rows stand beside a row.

    Attributes
    ----------
    center : ndarray of shape (d,)
    weights : ndarray of shape (d, m)
        m is 0 where a model has no linear features.
    """

    center: FloatArray
    weights: FloatArray

    def __call__(self, X: Any) -> FloatArray:
        """X and its linear features beside it.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Numbers; NaN is missing.

        Returns
        -------
        ndarray of shape (n, d + m)
        """
        X = np.asarray(X, dtype=np.float64)
        sums = np.zeros((len(X), self.weights.shape[1]))
        for x, center, weights in zip(X.T, self.center, self.weights, strict=True):
            apart = np.clip(x - center, -FAR, FAR)
            sums += np.where(np.isnan(apart), 0.0, apart)[:, None] * weights
        return np.hstack([X, sums.astype(np.float32)])


def linear_features(model: Any) -> LinearFeatures:
    """What a runtime of trees needs beside the columns of X.

    Members of `MinRiskClassifier` of the kind "linear" split combinations of the features. Formats that hold trees
    only take these as further columns, behind those of X, which this object makes.

    Parameters
    ----------
    model : estimator
        Fitted.

    Returns
    -------
    LinearFeatures
        A function of X; of a model without linear features it returns X as float64.

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
    return LinearFeatures(np.zeros(d), np.zeros((d, 0))) if linear is None else LinearFeatures(
        linear.center, linear.weights
    )
