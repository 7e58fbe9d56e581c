"""Models of stumps with exact sums, as one table of scores for each feature: prediction without a walk per stump."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minrisk._kernels.predict import add_steps
from minrisk._memory import read_only
from minrisk._typing import FloatArray, IntArray
from minrisk.model.trees import PackedTrees

GRID = 2.0**32  # vectors that are multiples of 1 / GRID,
EXACT_SUM = 2.0**20  # whose absolute values sum to less than this, have sums that are exact in any order


def on_grid(vectors: FloatArray) -> FloatArray:
    """The nearest multiples of 1 / `GRID`."""
    with np.errstate(over="ignore"):  # of vectors so long the loss is beyond float64 as well
        return np.asarray(np.rint(vectors * GRID) / GRID)


class StepTables(NamedTuple):
    """See `minrisk._kernels.predict.add_steps`."""

    features: IntArray
    offsets: IntArray
    thresholds: FloatArray
    table: FloatArray  # (thresholds and one more per feature, D)

    @classmethod
    def of(cls, packed: PackedTrees, vectors: FloatArray, intercept: FloatArray) -> StepTables | None:
        """Tables of the same bits as the stumps one after another; None for other models, or where sums would round."""
        if not isinstance(packed, PackedTrees) or len(packed) == 0 or packed.slope is not None:
            return None
        if packed.value is None:
            return None
        each = np.arange(len(packed) + 1)  # a stump has three nodes, the root, f = -s and f = s, and one vector
        if not (np.array_equal(packed.offsets, 3 * each) and np.array_equal(packed.vector_offsets, each)):
            return None
        above = packed.value[2::3]
        if np.any(packed.depth != 1) or np.any(np.abs(above) != 1) or not np.array_equal(packed.value[1::3], -above):
            return None
        all_ = np.vstack([vectors, intercept[None]])
        if not np.array_equal(on_grid(all_), all_) or not np.abs(all_).sum() < EXACT_SUM:
            return None
        feature, threshold = packed.feature.astype(np.int64), packed.threshold
        rise = 2.0 * above[:, None] * vectors  # what crossing the threshold adds
        order = np.lexsort((threshold, feature))
        j, t = feature[order], threshold[order]  # which may be -inf more than once: no differences
        first = np.r_[True, (j[1:] > j[:-1]) | (t[1:] > t[:-1])]
        places = np.flatnonzero(first)
        rises, owners = np.add.reduceat(rise[order], places), feature[order][places]
        features, counts = np.unique(owners, return_counts=True)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        below = np.concatenate([np.zeros((1, rises.shape[1])), np.cumsum(rises, axis=0)])  # exact, as all sums here
        middle = 0.5 * (below[offsets[:-1]] + below[offsets[1:]])  # of what each feature's stumps answer
        column = np.repeat(np.arange(len(features)), counts + 1)
        table = below[np.arange(len(column)) - column] - middle[column]
        return cls(*map(read_only, (features, offsets, threshold[order][places], table)))

    def add_scores(self, X: FloatArray, start: int, stop: int, scores: FloatArray) -> None:
        """scores[start:stop] += what all stumps together answer; X of `minrisk._memory.points`."""
        add_steps(X, *self, start, stop, scores)
