"""Binned columns that members split: the features, finer or coarser, and linear features beside them."""

from __future__ import annotations

import itertools

import numpy as np

from minrisk._memory import give_back
from minrisk._typing import Codes, FloatArray, IntArray
from minrisk._workers import Workers
from minrisk.data.binning import fit_binner
from minrisk.ensemble import defaults
from minrisk.ensemble.directions import fit_moments
from minrisk.model.projection import Projection
from minrisk.rows.columns import Columns


def usual_bins(binning: str, asked: int | None, n_rows: int, n_features: int) -> tuple[int | None, int | None]:
    """Of a feature, and of one for small trees: as asked for, else by the data; None: the default of `fit_binner`.

    Finer bins cost time; where features are few each must tell its boundaries alone. Small trees answer for rules that
    are sharper than the usual bins; few rows show none.
    """
    if asked is not None or binning != "quantile":
        return asked, asked
    of_few = min(n_rows // defaults.ROWS_OF_FINE_BIN, defaults.ALL_BINS // n_features)
    usual = min(defaults.MOST_BINS, max(defaults.FEWEST_BINS, n_rows // defaults.ROWS_OF_BIN, of_few))
    if n_rows < defaults.SMALL_BINS_FROM:
        return usual, usual
    return usual, max(usual, min(defaults.MOST_BINS, n_rows // defaults.ROWS_OF_SMALL_BIN))


def bin_columns(
    X: np.ndarray, rows: IntArray, weight: FloatArray, binning: str, workers: Workers, max_bins: int | None
) -> Columns:
    """The features of these rows; thresholds count every row of X by its weight."""
    binner = fit_binner(X, binning, max_bins, None, None if np.all(weight == 1.0) else weight, workers)
    return Columns(
        binner.transform(X, None if len(rows) == len(X) else rows, workers), binner.n_bins, binner.thresholds
    )


def linear_columns(
    X: np.ndarray, rows: IntArray, codes: Codes, weight: FloatArray, folds: IntArray, axis: Columns, binning: str,
    max_bins: int | None, workers: Workers,
) -> tuple[Columns, Projection | None, list[IntArray] | None]:
    """The features with linear ones added in place, the projection, and the columns that each fold's member may see.

    Principal components are shared; directions that part the classes are learnt without the fold's rows. Without linear
    features (fewer than two features vary, or there are more than 2000) the last two are None.

    Parameters
    ----------
    X : ndarray of shape (N, d)
    rows : ndarray of int, (n,)
        Rows of X that `codes`, `weight`, `folds` and `axis` are about.
    """
    d = X.shape[1]
    if d > defaults.LINEAR_FEATURES:
        return axis, None, None
    of_all = np.zeros(len(X))
    of_all[rows] = weight
    moments = fit_moments(X, of_all, rows)
    if moments.axes.shape[1] < 2:
        return axis, None, None
    directions = [moments.principal()]
    sample = np.searchsorted(rows, moments.rows)
    label, of_rows, fold = codes[sample], weight[sample], folds[sample]
    for b in range(int(folds.max()) + 1):
        directions.append(moments.discriminant(label, of_rows, np.flatnonzero(fold != b)))
    projection = moments.projection(np.concatenate(directions, axis=1))
    del moments
    width = max(1, defaults.LINEAR_VALUES // len(X))
    parts = (
        bin_columns(projection.columns(X, workers, slice(a, a + width)), rows, of_all, binning, workers, max_bins)
        for a in range(0, projection.n_columns, width)
    )
    axis.add(projection.n_columns, parts)
    first = d + np.cumsum([0, *(kind.shape[1] for kind in directions)])
    shared = np.arange(first[1])
    own = [np.concatenate([shared, np.arange(a, b)]) for a, b in itertools.pairwise(first[1:].tolist())]
    if axis.n_values > defaults.LINEAR_VALUES:
        give_back()  # the pieces that the axes were computed in
    return axis, projection, own
