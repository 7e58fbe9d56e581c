"""Models of trees whose leaves add vectors, for rows that are coded first: faster prediction with many trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minrisk._kernels._dtypes import LEAF_BIN
from minrisk._kernels.coded_trees import BIN_BITS, COLUMN, LEFT_SHIFT, add_coded_trees
from minrisk._memory import read_only
from minrisk._typing import FloatArray, Int32Array, IntArray
from minrisk.model.rounded_vectors import RoundedVectors
from minrisk.model.trees import PackedTrees

FEW_FEATURES, NODES_PER_FEATURE = 512, 16  # with more features for so many nodes the table would outweigh the trees
CODES_PER_TREE = 4  # coding so many values of a row takes as long as a tree without codes takes longer


class CodedTrees(NamedTuple):
    """See `minrisk._kernels.coded_trees.add_coded_trees`."""

    features: IntArray  # that any tree splits
    thresholds: FloatArray  # (features, 256)
    nodes: IntArray
    vector: Int32Array
    vectors: np.ndarray  # float32 where they were rounded, else float64
    roots: IntArray

    @classmethod
    def of(cls, packed: PackedTrees, vectors: FloatArray | RoundedVectors) -> CodedTrees | None:
        """Trees of the same bits as the packed ones.

        None for trees whose leaves scale their vectors or have slopes, with more than 255 thresholds on a feature, or
        too few to make up for the coding. Single leaves that add zeros are left out.
        """
        if not isinstance(packed, PackedTrees) or packed.slope is not None:
            return None
        leaf, roots, vector = packed.is_leaf, packed.offsets[:-1], packed.counted("vector")
        if packed.value is not None and not np.all(packed.value[leaf] == 1.0):
            return None
        roots = roots[~leaf[roots] | np.any(np.asarray(vectors[vector[roots]]), axis=1)]
        if len(np.unique(packed.feature)) > CODES_PER_TREE * len(roots):
            return None
        order = np.lexsort((packed.threshold, packed.feature))
        inner = np.flatnonzero(~leaf)[order]
        feature, threshold = packed.feature[order].astype(np.int64), packed.threshold[order]
        new = np.ones(len(inner), dtype=np.bool_)
        new[1:] = (feature[1:] != feature[:-1]) | (threshold[1:] != threshold[:-1])
        features, counts = np.unique(feature[new], return_counts=True)
        if np.any(counts > LEAF_BIN) or len(features) > min(COLUMN, FEW_FEATURES + len(leaf) // NODES_PER_FEATURE):
            return None
        column = np.repeat(np.arange(len(features)), counts)
        place = np.arange(len(column)) - np.repeat(np.cumsum(counts) - counts, counts)
        table = np.full((len(features), LEAF_BIN + 1), np.inf)
        table[column, place] = threshold[new]
        nodes = packed.counted("left").astype(np.int64) << LEFT_SHIFT
        nodes[leaf] |= LEAF_BIN
        which = np.cumsum(new) - 1
        nodes[inner] |= (column[which] << BIN_BITS) | place[which]
        values = np.asarray(vectors, dtype=np.float32) if isinstance(vectors, RoundedVectors) else vectors
        return cls(*map(read_only, (features, table, nodes, vector, values, roots)))

    def add_scores(self, X: FloatArray, start: int, stop: int, scores: FloatArray) -> None:
        """scores[start:stop] += what all trees together answer; X of `minrisk._memory.points`."""
        add_coded_trees(X, *self, start, stop, scores)
