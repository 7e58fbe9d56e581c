"""Scores of binned rows by learners that are known: the same sums in the same order as when they were found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minrisk._kernels.scores import add_binned_trees
from minrisk._memory import read_only
from minrisk._typing import Binned, FloatArray
from minrisk.rows.base import TreeLike


def add_learners(
    X_binned: Binned, trees: Sequence[TreeLike], vectors: Sequence[FloatArray], first: int, last: int,
    scores: FloatArray,
) -> None:  # fmt: skip
    """scores[first:last] += what the trees say there times their vectors, tree after tree."""
    if first == last or not trees:
        return
    columns = zip(*((t.feature, t.bin, t.left, t.value, t.vector) for t in trees), strict=True)
    add_binned_trees(
        read_only(X_binned), *map(np.concatenate, columns), np.array([len(tree.feature) for tree in trees]),
        np.concatenate(vectors), np.array([len(v) for v in vectors]), first, last, scores,
    )  # fmt: skip
