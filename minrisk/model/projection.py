"""Beside the features and the trees of a model: linear features, and smooth scores around landmarks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minrisk._kernels.linear import add_smooth, kernel_matrix, project_rows
from minrisk._typing import FloatArray, IntArray
from minrisk._utils import cached_property
from minrisk._utils.memory import empty, points, read_only
from minrisk._utils.workers import Workers
from minrisk.data.sparse import SparseRows

BLOCK_VALUES = 1 << 17  # values of X that are converted at a time: their float64 copy stays within the cache


@dataclass(frozen=True)
class Projection:
    """Columns (x - center) @ weights, missing values counting as the center.

    Attributes
    ----------
    center : ndarray of shape (d,)
    scale : ndarray of shape (d,)
        Standard deviations; 0 where a feature is constant, and left out.
    weights : ndarray of shape (d, m)
        Per unit of the feature, each a float32 number.
    """

    center: FloatArray
    scale: FloatArray
    weights: FloatArray

    @property
    def n_columns(self) -> int:
        """Return columns that it adds, m."""
        return int(self.weights.shape[1])

    @property
    def loadings(self) -> FloatArray:
        """Return share of each feature in each column (d, m), by size of the standardised weights."""
        size = np.abs(self.weights) * self.scale[:, None]
        total = size.sum(axis=0)
        return np.asarray(np.divide(size, total, out=np.zeros_like(size), where=total > 0))

    def take(self, columns: IntArray) -> Projection:
        """Return some of the columns."""
        return Projection(self.center, self.scale, np.ascontiguousarray(self.weights[:, columns]))

    @cached_property
    def _read(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the arrays as the kernel takes them: made once, since one row takes 20 microseconds."""
        return read_only(self.center), read_only(self.weights)

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "_read"}

    def beside(self, X: np.ndarray | SparseRows) -> Any:
        """Return `extend`; of sparse rows these, with the columns stored beside them."""
        return X.with_columns(self.columns(X)) if isinstance(X, SparseRows) else self.extend(X)

    def extend(self, X: np.ndarray) -> FloatArray:
        """Return x and the columns beside it, (n, d + m) float64."""
        wide = np.empty((len(X), X.shape[1] + self.n_columns))
        wide[:, : X.shape[1]] = X
        out = np.empty((len(X), self.n_columns), dtype=np.float32)
        project_rows(wide, *self._read, out)
        wide[:, X.shape[1] :] = out
        return wide

    def columns(
        self,
        X: np.ndarray | SparseRows,
        workers: Workers | None = None,
        part: slice = slice(None),
        rows: IntArray | None = None,
    ) -> np.ndarray:
        """Return the columns alone, or some of them, (n, m) float32, of all rows or of some."""
        center, weights = self.center, np.ascontiguousarray(self.weights[:, part])
        n = len(X) if rows is None else len(rows)
        out = empty((n, weights.shape[1]), np.float32)

        height = max(1, BLOCK_VALUES // X.shape[1])

        def fill(start: int) -> None:
            own = slice(start, start + height)
            project_rows(points(X[own if rows is None else rows[own]]), center, weights, out[own])

        (workers or Workers()).map(fill, range(0, n, height))
        return out


# -- smooth scores -----------------------------------------------------------------------------------------------------
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
        """Return the arrays as the kernel takes them: made once, since one row takes 20 microseconds."""
        return tuple(read_only(part) for part in (self.center, self.scale, self.landmarks, self.vectors))

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "_read"}

    def kernels(self, X: np.ndarray) -> FloatArray:
        """Compute the kernel of every row and landmark, (n, m)."""
        out = np.empty((len(X), self.landmarks.shape[1]))
        kernel_matrix(points(X), *map(read_only, (self.center, self.scale, self.landmarks)), self.width, out)
        return out

    def add_scores(self, X: np.ndarray | SparseRows, scores: FloatArray, workers: Workers | None = None) -> None:
        """Add the scores of these rows to scores (n, D)."""
        height = max(1, BLOCK_VALUES // X.shape[1])
        center, scale, landmarks, vectors = self._read

        def add(first: int) -> None:
            rows, part = points(X[first : first + height]), scores[first : first + height]
            add_smooth(rows, center, scale, landmarks, self.width, vectors, part)

        (workers or Workers()).map(add, range(0, len(X), height))

    def times(self, factor: float) -> SmoothScores:
        """Return the scores times a number."""
        return replace(self, vectors=self.vectors * factor)
