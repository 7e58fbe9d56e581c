"""Learners that are no trees, as a model holds them: similarities in flat arrays, and regressors of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from minrisk._kernels.similarity import add_similarities
from minrisk._typing import FloatArray, Int32Array, IntArray
from minrisk.data.distances import Units, points_of
from minrisk.data.sparse import SparseRows
from minrisk.model.trees import Tree

BLOCK_BYTES = 16 << 20  # of distances at a time
BLOCK_LEARNERS = 256  # whose answers are asked for at a time
TOGETHER = 1 << 18  # differences of anchors at a time


class Similarity(NamedTuple):
    """f_i (one anchor), f_ij (two), or the constant 1 (none)."""

    anchors: FloatArray  # (0 to 2, d) in the units' scale
    rows: IntArray  # of the training rows they were
    span: float  # tau, or |x_i - x_j|^2
    real: bool
    units: Units
    gain: FloatArray  # share of the loss that the learner took away, (1,)

    @property
    def n_vectors(self) -> int:
        """Return 1: a vector, times the response."""
        return 1


@dataclass(frozen=True)
class PackedSimilarities:
    """All learners of a model and the m training points they are anchored at.

    Attributes
    ----------
    anchors : ndarray of shape (m, d)
        Different points, in the scale of the units.
    anchor_row : ndarray of shape (m,)
        Which training rows they were.
    near, far : ndarray of shape (T,)
        Numbers of the anchors x_i and x_j of each learner; far < 0: one-point mode, both < 0: the constant 1.
    span : ndarray of shape (T,)
        |x_i - x_j|^2, or tau.
    real : ndarray of shape (T,), bool
        Whether a learner answers with a real number, or a sign.
    gain : ndarray of shape (T,)
        Share of the loss that each learner took away.
    center, scale, fill : ndarray of shape (d,)
        See `minrisk.data.distances.Units`.
    """

    anchors: FloatArray
    anchor_row: IntArray
    near: Int32Array
    far: Int32Array
    span: FloatArray
    real: np.ndarray
    gain: FloatArray
    center: FloatArray
    scale: FloatArray
    fill: FloatArray

    def __len__(self) -> int:
        return len(self.near)

    def __getitem__(self, part: slice) -> PackedSimilarities:
        first, last, step = part.indices(len(self))
        if step != 1:
            raise ValueError(f"Learners can be sliced by consecutive rounds only: expected step 1, got {step}.")
        chosen = slice(first, max(first, last))
        return replace(
            self,
            near=self.near[chosen],
            far=self.far[chosen],
            span=self.span[chosen],
            real=self.real[chosen],
            gain=self.gain[chosen],
        )

    @property
    def units(self) -> Units:
        """Return the scale that distances are measured in."""
        return Units(self.center, self.scale, self.fill)

    @property
    def vector_offsets(self) -> IntArray:
        """Return first vector of each learner, (T + 1,): each has one."""
        return np.arange(len(self) + 1)

    def importances(self, n_features: int) -> FloatArray:
        """Return the gains of two-point learners, shared out by each feature's part in |x_i - x_j|^2."""
        total, two = np.zeros(n_features), self.far >= 0
        pairs, which = np.unique(np.column_stack([self.near[two], self.far[two]]), axis=0, return_inverse=True)
        gains = np.bincount(which.ravel(), weights=self.gain[two])
        together = max(1, TOGETHER // max(1, n_features))
        for first in range(0, len(pairs), together):
            near, far = pairs[first : first + together].T
            squares = (self.anchors[near] - self.anchors[far]) ** 2
            whole = squares.sum(axis=1)
            apart = whole > 0  # else the two are one point, to float64
            total += ((gains[first : first + together][apart] / whole[apart])[:, None] * squares[apart]).sum(axis=0)
        return total

    @property
    def depth(self) -> Int32Array:
        """Return 1 for each learner that separates anything."""
        return (self.near >= 0).astype(np.int32)

    def tree(self, t: int, thresholds: Sequence[FloatArray] | None = None) -> Similarity:
        """Return learner number t."""
        used = np.array([a for a in (self.near[t], self.far[t]) if a >= 0], dtype=np.int64)
        return Similarity(
            self.anchors[used],
            self.anchor_row[used],
            float(self.span[t]),
            bool(self.real[t]),
            self.units,
            self.gain[t : t + 1],
        )

    def add_scores(
        self,
        X: FloatArray | SparseRows,
        vectors: FloatArray,
        first: int,
        last: int,
        start: int,
        stop: int,
        scores: FloatArray,
    ) -> None:
        """Add f_t(x) vectors[t] of learners first..last to scores[start:stop]."""
        both = np.concatenate([self.near[first:last], self.far[first:last]])
        used = np.unique(both[both >= 0])
        anchors = np.ascontiguousarray(self.anchors[used])
        near, far = (np.full(last, -1, dtype=np.int32) for _ in range(2))
        for numbers, mine in ((near, self.near), (far, self.far)):
            numbers[first:last] = np.where(mine[first:last] >= 0, np.searchsorted(used, mine[first:last]), -1)
        n_rows = int(np.clip(BLOCK_BYTES // (8 * max(1, len(used))), 64, 1024))
        for low in range(start, stop, n_rows):
            high = min(low + n_rows, stop)
            points = points_of(X[low:high], self.units)
            distances = np.empty((len(anchors), high - low), dtype=points.kind(anchors))
            points.distances(anchors, 0, high - low, distances)
            add_similarities(distances, near, far, self.span, self.real, vectors, first, last, low, high - low, scores)

    def responses(self, X: np.ndarray | SparseRows) -> FloatArray:
        """Return f_t(x) of every learner, (n, T)."""
        out = np.zeros((len(X), len(self)))
        for first in range(0, len(self), BLOCK_LEARNERS):
            block = self[first : first + BLOCK_LEARNERS]
            answers, n = np.zeros((len(X), len(block))), len(block)
            block.add_scores(X, np.eye(n), 0, n, 0, len(X), answers)
            out[:, first : first + n] = answers
        return out

    def check(self) -> None:
        """Refuse learners that do not say what they compare with; entries are in the ranges of `minrisk.io.schema`.

        Raises
        ------
        ValueError
            If one has a second anchor and no first one.
        """
        if np.any((self.near < 0) & (self.far >= 0)):
            raise ValueError("a similarity has a second anchor and no first one.")


def pack_similarities(learners: Sequence[Similarity]) -> PackedSimilarities:
    """Return flat arrays of similarities, each of their points once."""
    rows = np.concatenate([learner.rows for learner in learners])
    points = np.concatenate([learner.anchors for learner in learners])
    _, first, place = np.unique(rows, return_index=True, return_inverse=True)
    if not np.array_equal(points, points[first][place]):  # warm start on other data
        _, first, place = np.unique(np.column_stack([rows, points]), axis=0, return_index=True, return_inverse=True)
    counts = np.array([len(learner.rows) for learner in learners])
    start = np.cumsum(counts) - counts
    near, far = (np.full(len(learners), -1, dtype=np.int32) for _ in range(2))
    near[counts > 0] = place.ravel()[start[counts > 0]]
    far[counts > 1] = place.ravel()[start[counts > 1] + 1]
    return PackedSimilarities(
        np.ascontiguousarray(points[first]),
        rows[first].astype(np.int64),
        near,
        far,
        np.array([learner.span for learner in learners]),
        np.array([learner.real for learner in learners], dtype=np.bool_),
        np.concatenate([learner.gain for learner in learners]),
        *learners[0].units,
    )


# -- regressors of scikit-learn ----------------------------------------------------------------------------------------
DENSE_ROWS = 64  # of a dense block, fewer of which are too wide to be worth making


class FittedRegressor(NamedTuple):
    """A fitted regressor in the place of a tree."""

    model: Any
    gain: FloatArray  # the loss's relative fall, (1,)

    @property
    def n_vectors(self) -> int:
        """Return 1: a vector, times what the regressor answers."""
        return 1

    def predict(self, X: np.ndarray | SparseRows) -> FloatArray:
        """Return f(x), (n,); of sparse rows with many features without making them dense, where the regressor can."""
        if not isinstance(X, SparseRows):
            return np.asarray(self.model.predict(X), dtype=np.float64).reshape(len(X))
        if X.height < DENSE_ROWS:
            with suppress(TypeError):
                return np.asarray(self.model.predict(X.matrix), dtype=np.float64).reshape(len(X))
        parts = range(0, len(X), X.height)
        return np.concatenate([self.predict(np.asarray(X[a : a + X.height], dtype=np.float64)) for a in parts])


@dataclass(frozen=True)
class PackedRegressors:
    """Learners of a model that are objects, one vector each: predicted one after another, never written to a file."""

    regressors: tuple[FittedRegressor | Tree, ...]  # a tree keeps the place of one that was not found, and answers 0

    def __len__(self) -> int:
        return len(self.regressors)

    def __getitem__(self, part: slice) -> PackedRegressors:
        return PackedRegressors(self.regressors[part])

    @property
    def vector_offsets(self) -> IntArray:
        """Return first vector of each learner, (T + 1,)."""
        return np.arange(len(self) + 1)

    def importances(self, n_features: int) -> FloatArray:
        """Return zeros: nobody knows which features a regressor looks at."""
        return np.zeros(n_features)

    @property
    def depth(self) -> Int32Array:
        """Return 0 for each learner: none is a tree."""
        return np.zeros(len(self), dtype=np.int32)

    def tree(self, t: int, thresholds: Sequence[FloatArray] | None = None) -> FittedRegressor | Tree:
        """Return learner number t."""
        return self.regressors[t]

    def add_scores(
        self,
        X: FloatArray | SparseRows,
        vectors: FloatArray,
        first: int,
        last: int,
        start: int,
        stop: int,
        scores: FloatArray,
    ) -> None:
        """Add f_t(x) times vector t to scores[start:stop]."""
        for t in range(first, last):
            regressor = self.regressors[t]
            if isinstance(regressor, FittedRegressor):
                scores[start:stop] += regressor.predict(X[start:stop])[:, None] * vectors[t]
