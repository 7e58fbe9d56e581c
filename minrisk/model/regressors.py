"""Regressors of scikit-learn that a model holds as they are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, Int32Array, IntArray
from minrisk.data.sparse_rows import SparseRows
from minrisk.model.trees import Tree

DENSE_ROWS = 64  # of a dense block, fewer of which are too wide to be worth making


class FittedRegressor(NamedTuple):
    """A fitted regressor in the place of a tree."""

    model: Any
    gain: FloatArray  # the loss's relative fall, (1,)

    @property
    def n_vectors(self) -> int:
        """One, times what the regressor answers."""
        return 1

    def predict(self, X: np.ndarray | SparseRows) -> FloatArray:
        """f(x), (n,); of sparse rows with many features without making them dense, where the regressor can."""
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
        """First vector of each learner, (T + 1,)."""
        return np.arange(len(self) + 1)

    def importances(self, n_features: int) -> FloatArray:
        """Nobody knows which features a regressor looks at."""
        return np.zeros(n_features)

    @property
    def depth(self) -> Int32Array:
        """0 for each learner: none is a tree."""
        return np.zeros(len(self), dtype=np.int32)

    def tree(self, t: int, thresholds: Sequence[FloatArray] | None = None) -> FittedRegressor | Tree:
        """Learner number t."""
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
        """scores[start:stop] += f_t(x) times vector t."""
        for t in range(first, last):
            regressor = self.regressors[t]
            if isinstance(regressor, FittedRegressor):
                scores[start:stop] += regressor.predict(X[start:stop])[:, None] * vectors[t]
