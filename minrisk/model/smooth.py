"""Smooth scores: sums of Gaussian kernels around landmarks, which a model may hold beside its trees.

Landmarks stand for all rows (Williams and Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minrisk._cached import cached_property
from minrisk._kernels.smooth import add_smooth, kernel_matrix
from minrisk._memory import points, read_only
from minrisk._typing import FloatArray
from minrisk._workers import Workers
from minrisk.data.linear_features import standardisation, standardised

LANDMARKS = 128  # at most; 400 bring nothing more on a few hundred rows
REACH = 3.0  # variance of a kernel over the median squared distance of two landmarks: wide ones, for what trees lack
RANK = 1e-5  # share of the largest eigenvalue of the landmarks' kernels, below which a direction is left out
BLOCK_VALUES = 1 << 17  # converted at a time


@dataclass(frozen=True)
class SmoothScores:
    """Scores sum_c exp(-width |z - z_c|^2) a_c of standardised features z.

    Attributes
    ----------
    center, scale : ndarray of shape (d,)
        Of the features; scale 0: left out. Missing values count as the center.
    landmarks : ndarray of shape (d, m)
        Standardised, a column each.
    width : float
    vectors : ndarray of shape (m, D)
    """

    center: FloatArray
    scale: FloatArray
    landmarks: FloatArray
    width: float
    vectors: FloatArray

    @cached_property
    def _read(self) -> tuple[np.ndarray, ...]:
        """As the kernel takes them: made once, since one row takes 20 microseconds."""
        return tuple(read_only(part) for part in (self.center, self.scale, self.landmarks, self.vectors))

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "_read"}

    def kernels(self, X: np.ndarray) -> FloatArray:
        """Of every row and landmark, (n, m)."""
        out = np.empty((len(X), self.landmarks.shape[1]))
        kernel_matrix(points(X), *map(read_only, (self.center, self.scale, self.landmarks)), self.width, out)
        return out

    def add_scores(self, X: np.ndarray, scores: FloatArray, workers: Workers | None = None) -> None:
        """scores (n, D) += those of these rows."""
        height = max(1, BLOCK_VALUES // X.shape[1])
        center, scale, landmarks, vectors = self._read

        def add(first: int) -> None:
            rows, part = points(X[first : first + height]), scores[first : first + height]
            add_smooth(rows, center, scale, landmarks, self.width, vectors, part)

        (workers or Workers()).map(add, range(0, len(X), height))

    def times(self, factor: float) -> SmoothScores:
        """The scores times a number."""
        return replace(self, vectors=self.vectors * factor)


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


def fit_basis(X: np.ndarray, weight: FloatArray, seed: int) -> Basis | None:
    """Landmarks drawn among the different rows, and the rows' coordinates; None where the rows hardly differ.

    Neither the order of the rows matters, nor how often one is repeated.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        NaN means missing.
    weight : ndarray of shape (n,)
        Of the rows, above 0.
    """
    center, scale = standardisation(X, weight)
    different = np.unique(standardised(X, np.arange(len(X)), center, scale), axis=0)
    if len(different) > LANDMARKS:
        different = different[np.sort(np.random.default_rng([seed, 2]).permutation(len(different))[:LANDMARKS])]
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
