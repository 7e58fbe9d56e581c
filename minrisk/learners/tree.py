"""Trees whose leaves hold a response and name a vector: one on bins, many packed for raw data. A stump has depth 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from minrisk._kernels.predict import LEFT_BITS, add_linear_trees, add_trees
from minrisk._memory import read_only
from minrisk._typing import FloatArray, Int32Array, IntArray

MAX_DEPTH = 64  # a tree that doubles its leaves that often does not exist
CHECKED_NODES = 1 << 13  # at a time: what is computed of them is small beside a model


class Tree(NamedTuple):
    """Arrays over nodes, the root first; the children of a node are left and left + 1, a leaf's `left` is itself.

    A row goes right when its bin is above `bin`, which is when its value is above `threshold`. Where there is a
    `slope`, a leaf answers f(x) = value + slope * (x[feature] - origin), or its value where x[feature] is missing.
    """

    feature: Int32Array  # 0 at leaves
    bin: Int32Array  # 255 at leaves: no bin is above it
    threshold: FloatArray  # +inf at leaves
    left: Int32Array
    value: FloatArray  # f at leaves
    vector: Int32Array  # which of the tree's vectors a leaf adds; 0 at inner nodes and in trees with one vector
    gain: FloatArray  # share of the loss that the split took away; 0 at leaves
    depth: int
    slope: FloatArray | None = None  # 0 at inner nodes; None: no leaf has one
    origin: FloatArray | None = None

    @property
    def n_vectors(self) -> int:
        """Vectors that the leaves name."""
        return int(self.vector.max()) + 1


_ZERO = np.zeros(1, dtype=np.int32)
CONSTANT = Tree(_ZERO, _ZERO + 255, np.array([np.inf]), _ZERO, np.ones(1), _ZERO, np.zeros(1), 0)  # one leaf, f = 1


@dataclass(frozen=True)
class PackedTrees:
    """All trees of a model as flat arrays; `left` and `vector` count from the first node and vector of the first tree.

    Attributes
    ----------
    feature, threshold, left, vector, gain : ndarray of shape (n_nodes,)
        As in `Tree`; the gain may be float32.
    value : ndarray of shape (n_nodes,), optional
        As in `Tree`; None if every leaf answers 1.
    offsets, vector_offsets : ndarray of shape (n_trees + 1,)
        First node and first vector of each tree.
    depth : ndarray of shape (n_trees,)
        Steps of a walk.
    slope, origin : ndarray of shape (n_nodes,), optional
        As in `Tree`; None if no leaf has a slope.
    """

    feature: Int32Array
    threshold: FloatArray
    left: Int32Array
    value: FloatArray | None
    vector: Int32Array
    gain: np.ndarray
    offsets: IntArray
    vector_offsets: IntArray
    depth: Int32Array
    slope: FloatArray | None = None
    origin: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.depth)

    def __getitem__(self, part: slice) -> PackedTrees:
        first, last, step = part.indices(len(self))
        if step != 1:
            raise ValueError(f"Trees can be sliced by consecutive rounds only: expected step 1, got {step}.")
        last = max(first, last)
        nodes = slice(self.offsets[first], self.offsets[last])
        return PackedTrees(
            self.feature[nodes],
            self.threshold[nodes],
            (self.left[nodes] - self.offsets[first]).astype(np.int32),
            None if self.value is None else self.value[nodes],
            (self.vector[nodes] - self.vector_offsets[first]).astype(np.int32),
            self.gain[nodes],
            self.offsets[first : last + 1] - self.offsets[first],
            self.vector_offsets[first : last + 1] - self.vector_offsets[first],
            self.depth[first:last],
            None if self.slope is None else self.slope[nodes],
            None if self.origin is None else self.origin[nodes],
        )

    @cached_property
    def _walks(self) -> tuple[FloatArray, IntArray, FloatArray]:
        """Threshold, and left << 32 | feature, of each node side by side in memory: a step reads one cache line.

        And its value.
        """
        walks = np.empty((len(self.feature), 2))
        links: IntArray = walks.view(np.int64)[:, 1]
        walks[:, 0] = self.threshold
        links[:] = (self.left.astype(np.int64) << LEFT_BITS) | self.feature
        return walks[:, 0], links, np.ones(len(links)) if self.value is None else self.value

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "_walks"}

    def tree(self, t: int, thresholds: Sequence[FloatArray] | None = None) -> Tree:
        """Tree number t; its bins need the binner's thresholds (without them they are all 0)."""
        nodes = slice(int(self.offsets[t]), int(self.offsets[t + 1]))
        feature, threshold = self.feature[nodes], self.threshold[nodes]
        left = (self.left[nodes] - self.offsets[t]).astype(np.int32)
        bins = np.zeros(len(feature), dtype=np.int32)
        if thresholds is not None:
            for i, (j, tau) in enumerate(zip(feature, threshold, strict=True)):
                bins[i] = 255 if left[i] == i else np.searchsorted(thresholds[j], tau)
        vector = (self.vector[nodes] - self.vector_offsets[t]).astype(np.int32)
        value = (left == np.arange(len(left))).astype(np.float64) if self.value is None else self.value[nodes]
        slope, origin = (None if part is None else part[nodes] for part in (self.slope, self.origin))
        if slope is not None and not slope.any():
            slope = origin = None
        return Tree(
            feature, bins, threshold, left, value, vector, self.gain[nodes], int(self.depth[t]), slope, origin
        )

    def importances(self, n_features: int) -> FloatArray:
        """Sum of the gains of each feature's splits; as many entries as features, or more (linear ones)."""
        return np.bincount(self.feature, weights=self.gain, minlength=n_features).astype(np.float64)

    def add_scores(
        self, X: FloatArray, vectors: FloatArray, first: int, last: int, start: int, stop: int, scores: FloatArray
    ) -> None:
        """scores[start:stop] += value * vectors[vector] of x's leaf in trees first..last; X of `points`."""
        if self.slope is None:
            parts = [read_only(column) for column in (*self._walks, self.vector, self.offsets, vectors)]
            add_trees(X, *parts, first, last, start, stop, scores)
        else:
            assert self.value is not None and self.origin is not None
            nodes = self.feature, self.threshold, self.left, self.value, self.vector
            parts = [read_only(c) for c in (*nodes, self.offsets, self.depth, self.slope, self.origin, vectors)]
            add_linear_trees(X, *parts, first, last, start, stop, scores)

    def check(self, n_vectors: int) -> None:
        """Refuse trees that a prediction kernel could not walk safely, of a model with so many vectors.

        Entries are in the ranges that `minrisk.io.schema` states. Neighbours are compared and never subtracted:
        a difference of int64 may wrap.

        Raises
        ------
        ValueError
            Naming what is wrong: a child, leaf or vector outside its tree, a walk that does not end in a leaf.
        """
        n_nodes, n_trees = len(self.feature), len(self.depth)
        for name, of, last in (("offsets", self.offsets, n_nodes), ("vector_offsets", self.vector_offsets, n_vectors)):
            if of[0] != 0 or of[-1] != last or np.any(of[1:] <= of[:-1]):
                raise ValueError(f"its array {name!r} must lead from 0 to {last}, further with every tree.")
        first = 0
        while first < n_trees:  # a part at a time, for the memory
            last = max(first + 1, int(np.searchsorted(self.offsets, self.offsets[first] + CHECKED_NODES, "right")) - 1)
            self[first:last]._check_nodes()
            first = last

    def _check_nodes(self) -> None:
        """`check` of the nodes of one tree or more."""
        n_nodes, n_trees = len(self.feature), len(self.depth)
        node = np.arange(n_nodes)
        owner = np.repeat(np.arange(n_trees), np.diff(self.offsets))
        leaf = self.left == node
        inside = (self.left > node) & (self.left < self.offsets[1:][owner] - 1)
        if not np.all(leaf | inside):
            raise ValueError("a child lies before its parent or outside its tree.")
        if np.any(self.threshold[leaf] != np.inf):
            raise ValueError("a leaf has a threshold.")
        for part in (self.slope, self.origin):
            if part is not None and part[~leaf].any():
                raise ValueError("a node that is no leaf has a slope or an origin.")
        first_vector = self.vector_offsets[owner]
        last_vector = np.maximum.reduceat(self.vector, self.offsets[:-1]).astype(np.int64)
        if np.any(np.where(leaf, self.vector < first_vector, self.vector != first_vector)):
            raise ValueError("a node names a vector before its tree's first, or an inner node another than that.")
        if np.any(last_vector + 1 != self.vector_offsets[1:]):
            raise ValueError("a leaf names a vector behind its tree's last, or no leaf names the last.")
        if not np.array_equal(self._depths(), self.depth):
            raise ValueError(f"a depth is wrong, or above {MAX_DEPTH}.")

    def _depths(self) -> Int32Array:
        """Longest walk of each tree, found level by level."""
        depth = np.zeros(len(self), dtype=np.int32)
        level, owner = self.offsets[:-1], np.arange(len(self))
        for d in range(1, MAX_DEPTH + 2):
            inner = self.left[level] != level
            level, owner = level[inner], owner[inner]
            if len(level) == 0:
                break
            depth[owner] = d
            first = self.left[level].astype(np.int64)
            level, which = np.unique(np.concatenate([first, first + 1]), return_index=True)
            owner = np.concatenate([owner, owner])[which]
        return depth


def pack(trees: Sequence[Tree]) -> PackedTrees:
    """Flat arrays of trees, or of similarities; of regressors that were plugged in, which are neither, a list."""
    if trees and hasattr(trees[0], "anchors"):
        from minrisk.learners.packed_similarities import pack_similarities

        return pack_similarities(trees)  # type: ignore[arg-type, return-value]  # it does all that a model asks for
    if not all(isinstance(tree, Tree) for tree in trees):
        from minrisk.learners.plugged import PackedRegressors

        return PackedRegressors(tuple(trees))  # type: ignore[return-value]  # it does all that a model asks for
    sizes = np.array([len(tree.feature) for tree in trees], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)])

    def flat(name: str, dtype: type[np.generic]) -> np.ndarray:
        return np.concatenate([np.empty(0, dtype=dtype), *(getattr(tree, name) for tree in trees)])

    vector = flat("vector", np.int32)
    n_vectors = np.maximum.reduceat(vector, offsets[:-1]).astype(np.int64) + 1 if trees else sizes
    vector_offsets = np.concatenate([[0], np.cumsum(n_vectors)])
    linear: dict[str, FloatArray | None] = {"slope": None, "origin": None}
    if any(tree.slope is not None for tree in trees):
        for name in linear:
            parts = [getattr(tree, name) for tree in trees]
            parts = [np.zeros(len(t.feature)) if part is None else part for t, part in zip(trees, parts, strict=True)]
            linear[name] = np.concatenate(parts)
    left = flat("left", np.int32) + np.repeat(offsets[:-1], sizes).astype(np.int32)
    value = flat("value", np.float64)
    plain = linear["slope"] is None and np.all(value[left == np.arange(len(left))] == 1.0)
    return PackedTrees(
        flat("feature", np.int32),
        flat("threshold", np.float64),
        left,
        None if plain else value,
        vector + np.repeat(vector_offsets[:-1], sizes).astype(np.int32),
        flat("gain", np.float64),
        offsets,
        vector_offsets,
        np.array([tree.depth for tree in trees], dtype=np.int32),
        **linear,
    )
