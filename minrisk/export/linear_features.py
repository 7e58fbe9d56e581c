"""The linear features of a model as a stage of its own, for runtimes that hold trees only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minrisk._kernels._dtypes import FAR
from minrisk._typing import FloatArray
from minrisk.export.parts import parts_of


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
    return (
        LinearFeatures(np.zeros(d), np.zeros((d, 0)))
        if linear is None
        else LinearFeatures(linear.center, linear.weights)
    )
