"""Learners of any kind as flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from minrisk._typing import FloatArray
from minrisk.model.regressors import PackedRegressors
from minrisk.model.similarities import Similarity, pack_similarities
from minrisk.model.trees import PackedTrees, Tree, pack_trees


class PackedLearners(Protocol):
    """Many learners as flat arrays: what prediction, files and exporters read."""

    def __len__(self) -> int: ...

    def add_scores(
        self, X: FloatArray, vectors: FloatArray, first: int, last: int, start: int, stop: int, scores: FloatArray
    ) -> None:
        """scores[start:stop] += f_t(x) times the vector that x's leaf names, over learners first..last."""


def pack(learners: Sequence[Any]) -> PackedTrees:
    """Flat arrays of trees, or of similarities; of scikit-learn's regressors, which are neither, a list."""
    if learners and isinstance(learners[0], Similarity):
        return pack_similarities(learners)  # type: ignore[return-value]  # it does all that a model asks for
    if not all(isinstance(learner, Tree) for learner in learners):
        return PackedRegressors(tuple(learners))  # type: ignore[return-value]  # likewise
    return pack_trees(learners)
