"""Exact SHAP values of the scores of trees, given how rows of a background spread over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from minrisk._kernels import shap as kernels
from minrisk._memory import read_only
from minrisk._typing import FloatArray, Int32Array, IntArray
from minrisk._workers import Workers
from minrisk.model.trees import PackedTrees

TREES_TOGETHER = 64  # whose nodes one thread counts the background's rows in
SIDE_BY_SIDE = 128  # rows that a kernel explains side by side: a pass through them takes longer than to begin it


def gauss_legendre(most: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Rules of 0, 1, ... `most` points on [0, 1]: where each begins, all points, all weights."""
    rules = [np.polynomial.legendre.leggauss(n) for n in range(1, most + 1)]
    first = np.concatenate([[0, 0], np.cumsum(np.arange(1, most + 1))]).astype(np.int64)
    point, weight = (np.concatenate([np.empty(0), *(rule[part] for rule in rules)]) for part in (0, 1))
    return read_only(first), read_only((point + 1.0) / 2.0), read_only(weight / 2.0)


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """Nodes of trees with thresholds by their place among all of their feature's.

    Attributes
    ----------
    feature, cut, left : ndarray of int32, (n_nodes,)
        A row goes right where its code of the feature is above `cut`. `left` counts from the first node of all.
    offsets : ndarray of int64, (n_trees + 1,)
    thresholds : list of ndarray
        Of each feature, ascending.
    """

    feature: Int32Array
    cut: Int32Array
    left: Int32Array
    offsets: IntArray
    thresholds: list[FloatArray]

    @classmethod
    def of(cls, packed: PackedTrees, n_features: int) -> Self:
        """Of trees whose features are below `n_features`."""
        feature, threshold, inner = packed.of_nodes("feature"), packed.of_nodes("threshold"), ~packed.is_leaf
        cut = np.zeros(len(feature), dtype=np.int32)
        places, thresholds = np.flatnonzero(inner), [np.empty(0)] * n_features
        order = places[np.argsort(feature[places], kind="stable")]
        bounds = np.searchsorted(feature[order], np.arange(n_features + 1))
        for j in range(n_features):
            nodes = order[bounds[j] : bounds[j + 1]]
            thresholds[j], cut[nodes] = np.unique(threshold[nodes], return_inverse=True)
        return cls(feature.astype(np.int32), cut, packed.counted("left"), packed.offsets, thresholds)

    def codes(self, X: FloatArray) -> Int32Array:
        """Of each feature how many thresholds are below the value, (n, d); 0 where it is missing."""
        codes = np.empty(X.shape, dtype=np.int32)
        for j, thresholds in enumerate(self.thresholds):
            codes[:, j] = np.searchsorted(thresholds, X[:, j], side="left")
        codes[np.isnan(X)] = 0
        return codes

    def counts(self, codes: Int32Array, workers: Workers) -> IntArray:
        """How many of these rows come to each node, (n_nodes,)."""
        count = np.zeros(len(self.left), dtype=np.int64)
        nodes = [read_only(part) for part in (codes, self.feature, self.cut, self.left, self.offsets)]
        n_trees = len(self.offsets) - 1

        def add(first: int) -> None:
            kernels.count_rows(*nodes, first, min(first + TREES_TOGETHER, n_trees), count)

        workers.map(add, range(0, n_trees, TREES_TOGETHER))
        return count


@dataclass(frozen=True, eq=False)
class TreePaths:
    """The paths to all leaves of trees, and the vectors that these add.

    Attributes
    ----------
    nodes : TreeNodes
    first_entry : ndarray of int64, (n_leaves + 1,)
        Where the entries of each leaf begin: features on its path.
    feature, lowest, highest, share : ndarray of shape (n_entries,)
        Codes of the feature from `lowest` to `highest` meet the path's conditions on it, and `share` is that of the
        background's rows that do, at the splits where these conditions stand.
    tree_leaves : ndarray of int64, (n_trees + 1,)
        Leaves before each tree.
    vectors : ndarray of shape (n_leaves, D)
        Responses times vectors.
    """

    nodes: TreeNodes
    first_entry: IntArray
    feature: Int32Array
    lowest: Int32Array
    highest: Int32Array
    share: FloatArray
    tree_leaves: IntArray
    vectors: FloatArray

    @classmethod
    def of(cls, packed: PackedTrees, nodes: TreeNodes, vectors: FloatArray, count: IntArray) -> Self:
        """Of trees without lines at their leaves, whose nodes so many rows come to."""
        is_leaf = packed.is_leaf
        leaf_vectors = vectors[packed.counted("vector")[is_leaf]]
        if packed.value is not None:
            leaf_vectors *= packed.value[is_leaf, None]
        tree_leaves = np.concatenate([[0], np.cumsum(is_leaf)])[packed.offsets].astype(np.int64)
        first_entry, size = np.empty(len(leaf_vectors) + 1, dtype=np.int64), 0
        inputs = [read_only(part) for part in (nodes.feature, nodes.cut, nodes.left, nodes.offsets, count)]
        for _ in range(2):  # they are counted first
            feature, lowest, highest = (np.empty(size, dtype=np.int32) for _ in range(3))
            share = np.empty(size)
            size = kernels.merge_paths(*inputs, first_entry, feature, lowest, highest, share)
        return cls(nodes, first_entry, feature, lowest, highest, share, tree_leaves, leaf_vectors)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """As kernels take them."""
        parts = (self.first_entry, self.feature, self.lowest, self.highest, self.share)
        return tuple(read_only(part) for part in parts)

    @property
    def base(self) -> FloatArray:
        """What the trees answer where no feature is known, (D,)."""
        reached = np.ones(len(self.vectors))
        some = np.flatnonzero(np.diff(self.first_entry))
        if len(some):
            reached[some] = np.multiply.reduceat(self.share, self.first_entry[some])
        return np.asarray((reached[:, None] * self.vectors).sum(axis=0))

    def expected_scores(self, codes: Int32Array, known: np.ndarray) -> FloatArray:
        """What the trees answer on average where some features are known, of rows (n, d): (n, D)."""
        scores = np.zeros((len(codes), self.vectors.shape[1]))
        rows = read_only(np.ascontiguousarray(codes.T))
        kernels.expected_scores(rows, read_only(known), self.arrays, read_only(self.vectors), scores)
        return scores


class TreeShapley:
    """Shapley values of the scores of trees.

    Parameters
    ----------
    paths : TreePaths
    """

    def __init__(self, paths: TreePaths) -> None:
        self.paths, self.n_features = paths, len(paths.nodes.thresholds)
        sizes = np.diff(paths.first_entry)
        leaf = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
        n_trees = len(paths.tree_leaves) - 1
        tree = np.repeat(np.arange(n_trees), np.diff(paths.first_entry[paths.tree_leaves]))
        key = tree * self.n_features + paths.feature
        order = np.argsort(key, kind="stable")
        found, first_place = np.unique(key[order], return_index=True)
        bounds = np.searchsorted(found, np.arange(n_trees + 1) * self.n_features)
        groups = np.append(first_place, len(order)), (found % self.n_features).astype(np.int32), order, leaf[order]
        points = gauss_legendre(3 * ((int(sizes.max(initial=0)) + 5) // 6))
        most = int(np.diff(paths.first_entry[paths.tree_leaves]).max(initial=0))
        self._parts: tuple[Any, ...] = (
            paths.arrays,
            points,
            tuple(map(read_only, groups)),
            read_only(paths.tree_leaves),
            read_only(bounds),
            most,
            read_only(paths.vectors),
        )

    def values(self, codes: Int32Array, direction: FloatArray | None = None) -> FloatArray:
        """Of few rows (n, d), `SIDE_BY_SIDE` are best; they depend on no other rows.

        Parameters
        ----------
        codes : ndarray of int32, (n, d)
        direction : ndarray of shape (n, D), optional
            Weights of the scores: values of their weighted sum, (n, d, 1); without them of all scores, (n, d, D).
        """
        n_outputs = self.paths.vectors.shape[1]
        weights = np.empty((0, len(codes))) if direction is None else np.ascontiguousarray(direction.T)
        values = np.zeros((self.n_features, n_outputs if direction is None else 1, len(codes)))
        rows = read_only(np.ascontiguousarray(codes.T))
        kernels.add_shapley_values(rows, *self._parts, read_only(weights), values)
        return values.transpose(2, 0, 1)
