"""First rounds of members that each left a fold out: they say the same of new rows as of those left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk.model.additive import AdditiveModel
from minrisk.model.links import Link, probabilities
from minrisk.model.rounded_vectors import RoundedVectors
from minrisk.model.trees import PackedTrees


@dataclass(frozen=True, eq=False)
class FirstRounds:
    """Hold the first trees of one member for each of F folds.

    The average of all members answers a new row more surely than the member of a fold answers a row that it has left
    out, so that answers of the two must not be compared. Each new row is asked of one member here instead.

    Parameters
    ----------
    packed : PackedTrees
        Trees of the first fold, then of the second, and so on.
    vectors : RoundedVectors of shape (n_vectors, K)
        Of all trees.
    intercepts : ndarray of shape (F, K)
        Scores before the first tree.
    bounds : ndarray of int, (F + 1,)
        Trees ``bounds[f]`` to ``bounds[f + 1]`` are those of fold f.
    link : str
        From scores to probabilities.
    """

    packed: PackedTrees
    vectors: RoundedVectors
    intercepts: FloatArray
    bounds: IntArray
    link: Link

    @property
    def n_folds(self) -> int:
        """Count the members."""
        return len(self.intercepts)

    def member(self, fold: int, n_features: int) -> AdditiveModel:
        """Return the member that left a fold out."""
        first, last = self.bounds[fold : fold + 2].tolist()
        offsets = self.packed.vector_offsets
        vectors = self.vectors[offsets[first] : offsets[last]]
        return AdditiveModel(self.packed[first:last], vectors, self.intercepts[fold], n_features, self.link)

    def told(self, X: Any) -> np.ndarray:
        """Return probabilities of rows (n, K) in float32, by each member in turn."""
        found = np.empty((len(X), self.intercepts.shape[1]), np.float32)
        for fold in range(self.n_folds):
            rows = np.arange(fold, len(X), self.n_folds)
            found[rows] = probabilities(self.link, self.member(fold, X.shape[1]).scores(X[rows]))
        return found
