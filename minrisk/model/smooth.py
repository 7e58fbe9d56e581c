"""Smooth scores: sums of Gaussian kernels around landmarks, which a model may hold beside its trees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minrisk._cached import cached_property
from minrisk._kernels.linear import add_smooth, kernel_matrix
from minrisk._memory import points, read_only
from minrisk._typing import FloatArray
from minrisk._workers import Workers
from minrisk.data.sparse_rows import SparseRows
from minrisk.model.projection import BLOCK_VALUES


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

    def add_scores(self, X: np.ndarray | SparseRows, scores: FloatArray, workers: Workers | None = None) -> None:
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
