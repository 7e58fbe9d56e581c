"""Landmarks stand for all rows: what sums of Gaussian kernels around a few of them can say.

Williams and Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from minrisk._typing import FloatArray
from minrisk.data.copies import content_keys
from minrisk.data.row_keys import numbered_keys, odd_numbers, waiting_times
from minrisk.ensemble.defaults import LANDMARKS, REACH
from minrisk.ensemble.directions import standardisation, standardised
from minrisk.model.projection import SmoothScores

RANK = 1e-5  # share of the largest eigenvalue of the landmarks' kernels, below which a direction is rounding


@dataclass(frozen=True)
class Basis:
    """What sums of kernels can say of rows, as coordinates in which their norm is that of the kernels' space.

    Attributes
    ----------
    kernels : SmoothScores
        Without vectors.
    coordinates : ndarray of shape (n, r)
        Of the rows; different columns are orthogonal, by the rows' weight.
    squares : ndarray of shape (r,)
        Weighted sum of the squares of each column.
    directions : ndarray of shape (m, r)
        ``directions @ b`` are the landmarks' vectors of the function ``coordinates @ b``.
    """

    kernels: SmoothScores
    coordinates: FloatArray
    squares: FloatArray
    directions: FloatArray

    def scores(self, weights: FloatArray) -> SmoothScores:
        """The function of these weights (r, D)."""
        return replace(self.kernels, vectors=np.ascontiguousarray(self.directions @ weights))


def fit_basis(X: np.ndarray, weight: FloatArray, seed: int, n_given: int | None = None) -> Basis | None:
    """Landmarks drawn among the different rows, and the rows' coordinates; None where the rows hardly differ.

    Rows that weigh less than most are seldom drawn. Neither the order of the rows matters, nor whether a weight is
    copies of a row, and a row more seldom does.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        NaN means missing.
    weight : ndarray of shape (n,)
        Of the rows, above 0.
    seed : int
    n_given : int, optional
        First columns, of which the others are made, and which draw the landmarks; default: all.
    """
    if len(X) == 0:  # rows elsewhere
        return None
    center, scale = standardisation(X, weight)
    d, rows = X.shape[1] if n_given is None else n_given, np.lexsort(X.T)  # columns that are made may differ
    own = content_keys(X, rows, d, odd_numbers(np.random.default_rng([seed, 2]), d))
    keys, first, place = np.unique(own, return_index=True, return_inverse=True)
    mass = np.bincount(place, weight[rows])
    times = waiting_times(numbered_keys(keys, seed), np.minimum(1.0, mass * (mass.sum() / np.sum(mass**2))))
    different = standardised(X, rows[first[np.lexsort((keys, times))[:LANDMARKS]]], center, scale)
    squares = np.sum(different**2, axis=1)
    apart = np.maximum(squares[:, None] + squares - 2.0 * different @ different.T, 0.0)
    pairs = apart[np.triu_indices(len(different), 1)]
    typical = float(np.median(pairs)) if len(pairs) else 0.0
    if not 1e-12 < typical < np.inf:
        return None
    landmarks, none = np.ascontiguousarray(different.T), np.empty((len(different), 0))
    kernels = SmoothScores(center, scale, landmarks, 0.5 / (REACH * typical), none)
    value, axes = np.linalg.eigh(np.exp(-kernels.width * apart))
    kept = value > RANK * value[-1]
    directions = axes[:, kept] / np.sqrt(value[kept])
    coordinates = kernels.kernels(X) @ directions
    squares, axes = np.linalg.eigh((coordinates * weight[:, None]).T @ coordinates)
    return Basis(kernels, coordinates @ axes, np.maximum(squares, 0.0), directions @ axes)
