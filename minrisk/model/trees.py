"""Trees whose leaves hold a response and name a vector: one on bins, many packed, and the order of nodes in files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from minrisk._kernels._dtypes import LEAF_BIN
from minrisk._kernels.predict import LEFT_BITS, add_linear_trees, add_trees
from minrisk._typing import FloatArray, Int32Array, IntArray
from minrisk._utils import cached_property


class Tree(NamedTuple):
    """Arrays over nodes, the root first; the children of a node are left and left + 1, a leaf's `left` is itself.

    A row goes right when its bin is above `bin`, which is when its value is above `threshold`. Where there is a
    `slope`, a leaf answers f(x) = value + slope * (x[feature] - origin), or its value where x[feature] is missing.
    """

    feature: Int32Array  # 0 at leaves
    bin: Int32Array  # `LEAF_BIN` at leaves: no bin is above it
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
        """Return vectors that the leaves name."""
        return int(self.vector.max()) + 1


_ZERO = np.zeros(1, dtype=np.int32)  # of the only node
CONSTANT = Tree(_ZERO, _ZERO + LEAF_BIN, np.array([np.inf]), _ZERO, np.ones(1), _ZERO, np.zeros(1), 0)  # a leaf, f = 1


@dataclass(frozen=True)
class PackedTrees:
    """All trees of a model as flat arrays.

    Leaves have no feature, threshold and gain of their own, but where they hold lines. `left` and `vector` count from
    the first node and vector of their tree, so that 16 bits hold them; see `narrow`.

    Attributes
    ----------
    feature, threshold, gain : ndarray of shape (n_splits,), or (n_nodes,) where there is a slope
        As in `Tree`, of the nodes that are no leaves, or of all; the gain may be float32.
    left, vector : ndarray of shape (n_nodes,)
        As in `Tree`.
    value : ndarray of shape (n_nodes,), optional
        As in `Tree`; None if every leaf answers 1.
    offsets, vector_offsets : ndarray of shape (n_trees + 1,)
        First node and first vector of each tree.
    depth : ndarray of shape (n_trees,)
        Steps of a walk.
    slope, origin : ndarray of shape (n_nodes,), optional
        As in `Tree`; None if no leaf has a slope.
    """

    feature: np.ndarray
    threshold: FloatArray
    left: np.ndarray
    value: FloatArray | None
    vector: np.ndarray
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
        named = slice(self._named_before[first], self._named_before[last])
        return PackedTrees(
            self.feature[named],
            self.threshold[named],
            self.left[nodes],
            None if self.value is None else self.value[nodes],
            self.vector[nodes],
            self.gain[named],
            self.offsets[first : last + 1] - self.offsets[first],
            self.vector_offsets[first : last + 1] - self.vector_offsets[first],
            self.depth[first:last],
            None if self.slope is None else self.slope[nodes],
            None if self.origin is None else self.origin[nodes],
        )

    @cached_property
    def is_leaf(self) -> np.ndarray:
        """Return which nodes are leaves, (n_nodes,)."""
        return np.asarray(self.counted("left") == np.arange(len(self.left), dtype=np.int32))

    @property
    def named(self) -> np.ndarray:
        """Return which nodes `feature`, `threshold` and `gain` are of, (n_nodes,)."""
        return ~self.is_leaf if self.slope is None else np.ones(len(self.left), dtype=np.bool_)

    @cached_property
    def _named_before(self) -> IntArray:
        """Return how many named nodes stand before each tree, and in all, (n_trees + 1,)."""
        of_trees = np.add.reduceat(self.named, self.offsets[:-1], dtype=np.int64)
        return np.concatenate([[0], np.cumsum(of_trees)]).astype(np.int64)

    def counted(self, name: str) -> Int32Array:
        """Return `left` or `vector`, counted from the first node or vector of the first tree, (n_nodes,)."""
        first = self.offsets if name == "left" else self.vector_offsets
        numbers = np.repeat(first[:-1].astype(np.int32), np.diff(self.offsets))
        numbers += getattr(self, name)
        return numbers

    def of_nodes(self, name: str) -> np.ndarray:
        """Return `feature`, `threshold` or `gain` of all nodes; at leaves, where there is no slope, as in `Tree`."""
        numbers = getattr(self, name)
        dtype = np.dtype(np.int32) if name == "feature" else numbers.dtype
        of_nodes = np.full(len(self.left), np.inf if name == "threshold" else 0, dtype=dtype)
        of_nodes[self.named] = numbers
        return of_nodes

    @cached_property
    def _walks(self) -> tuple[FloatArray, FloatArray, Int32Array]:
        """Return threshold, and left << 32 | feature, of each node side by side: a step reads one cache line.

        And its value and vector.
        """
        walks = np.empty((len(self.left), 2))
        links: IntArray = walks.view(np.int64)[:, 1]
        walks[:, 0] = self.of_nodes("threshold")
        links[:] = self.counted("left")
        links <<= LEFT_BITS
        links |= self.of_nodes("feature")
        value = np.ones(len(links)) if self.value is None else self.value
        return walks, value, self.counted("vector")

    @cached_property
    def _linear_walks(self) -> tuple[np.ndarray, ...]:
        """Return nodes as `add_linear_trees` takes them."""
        assert self.value is not None
        return self.of_nodes("feature"), self.threshold, self.counted("left"), self.value, self.counted("vector")

    def __getstate__(self) -> dict[str, Any]:
        made = ("is_leaf", "_named_before", "_walks", "_linear_walks")
        return {name: part for name, part in self.__dict__.items() if name not in made}

    def compact(self) -> tuple[PackedTrees, IntArray]:
        """Return the same trees for the features that they look at only, one at least, and the numbers of these."""
        used, number = np.unique(np.append(self.feature, 0), return_inverse=True)
        return replace(self, feature=number[:-1].astype(self.feature.dtype)), used.astype(np.int64)

    def tree(self, t: int, thresholds: Sequence[FloatArray] | None = None) -> Tree:
        """Return tree number t; its bins need the binner's thresholds (without them they are all 0)."""
        one = self[t : t + 1]
        feature, threshold, gain = (one.of_nodes(name) for name in ("feature", "threshold", "gain"))
        bins = np.zeros(len(feature), dtype=np.int32)
        if thresholds is not None:
            for i, (j, tau) in enumerate(zip(feature, threshold, strict=True)):
                bins[i] = LEAF_BIN if one.is_leaf[i] else np.searchsorted(thresholds[j], tau)
        left, vector = one.left.astype(np.int32), one.vector.astype(np.int32)
        value = one.is_leaf.astype(np.float64) if one.value is None else one.value
        slope, origin = one.slope, one.origin
        if slope is not None and not slope.any():
            slope = origin = None
        return Tree(feature, bins, threshold, left, value, vector, gain, int(self.depth[t]), slope, origin)

    def importances(self, n_features: int) -> FloatArray:
        """Return the sum of the gains of each feature's splits; as many entries as features, or more (linear ones)."""
        return np.bincount(self.feature, weights=self.gain, minlength=n_features).astype(np.float64)

    def add_scores(
        self, X: FloatArray, vectors: FloatArray, first: int, last: int, start: int, stop: int, scores: FloatArray
    ) -> None:
        """Add value * vectors[vector] of x's leaf in trees first..last to scores[start:stop]; X of `points`."""
        if self.slope is None:
            add_trees(X, *self._walks, self.offsets, vectors, first, last, start, stop, scores)
        else:
            assert self.origin is not None
            of_trees = self.offsets, self.depth, self.slope, self.origin, vectors
            add_linear_trees(X, *self._linear_walks, *of_trees, first, last, start, stop, scores)


def narrow(numbers: np.ndarray) -> np.ndarray:
    """Return whole numbers, 0 or more, in 16 bits where these hold them, else in 32."""
    return numbers.astype(np.uint16 if numbers.max(initial=0) < 1 << 16 else np.int32, copy=False)


def pack_trees(trees: Sequence[Tree]) -> PackedTrees:
    """Return flat arrays of trees."""
    sizes = np.array([len(tree.feature) for tree in trees], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)])

    def flat(name: str, dtype: type[np.generic]) -> np.ndarray:
        return np.concatenate([np.empty(0, dtype=dtype), *(getattr(tree, name) for tree in trees)])

    vector, left, value = flat("vector", np.int32), flat("left", np.int32), flat("value", np.float64)
    n_vectors = np.maximum.reduceat(vector, offsets[:-1]).astype(np.int64) + 1 if trees else sizes
    vector_offsets = np.concatenate([[0], np.cumsum(n_vectors)])
    linear: dict[str, FloatArray | None] = {"slope": None, "origin": None}
    if any(tree.slope is not None for tree in trees):
        for name in linear:
            parts = [getattr(tree, name) for tree in trees]
            parts = [np.zeros(len(t.feature)) if part is None else part for t, part in zip(trees, parts, strict=True)]
            linear[name] = np.concatenate(parts)
    leaf = left == np.arange(len(left)) - np.repeat(offsets[:-1], sizes)
    named = ~leaf if linear["slope"] is None else np.ones(len(left), dtype=np.bool_)
    plain = linear["slope"] is None and np.all(value[leaf] == 1.0)
    return PackedTrees(
        narrow(flat("feature", np.int32)[named]),
        flat("threshold", np.float64)[named],
        narrow(left),
        None if plain else value,
        narrow(vector),
        flat("gain", np.float64)[named],
        offsets,
        vector_offsets,
        np.array([tree.depth for tree in trees], dtype=np.int32),
        **linear,
    )


# -- the order of nodes ------------------------------------------------------------------------------------------------
CHECKED_NODES = 1 << 14  # at a time: what is computed of them is small beside a model


def by_levels(packed: PackedTrees, vectors: Any) -> tuple[PackedTrees, Any]:
    """Order the nodes of each tree level by level from the left, and the vectors as the leaves.

    The children of the i-th node that splits, counted from 0, are then nodes 2 i + 1 and 2 i + 2 of their tree, and a
    vector's number is as small as it can be: where no two leaves share one, leaf i of a tree names vector i. Scores
    keep their bits. Nodes that no walk reaches, and vectors that no leaf names, are left out.

    Parameters
    ----------
    packed : PackedTrees
    vectors : ndarray or RoundedVectors of shape (n_vectors, D)

    Returns
    -------
    packed : PackedTrees
        The one given, where it is in this order.
    vectors : ndarray or RoundedVectors
        The same for the vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from minrisk.model.trees import Tree, pack_trees
    >>> left, ones, leaf = np.array([1, 1, 3, 3, 4]), np.ones(5), np.array([0, 1, 0, 1, 1])
    >>> tree = Tree(np.zeros(5, dtype=np.int32), left, ones, left, ones, np.array([0, 0, 0, 2, 1]), ones * leaf, 2)
    >>> packed, vectors = by_levels(pack_trees([tree]), np.array([[1.0], [2.0], [3.0]]))
    >>> packed.vector.tolist(), vectors.ravel().tolist()
    ([0, 0, 0, 1, 2], [1.0, 3.0, 2.0])
    """
    if is_by_levels(packed):
        return packed, vectors
    parts, used = list[PackedTrees](), list[IntArray]()
    for first, last in chunks(packed.offsets):
        part, of_part = _part_by_levels(packed[first:last])
        parts.append(part)
        used.append(of_part + packed.vector_offsets[first])
    return _joined(parts), vectors[np.concatenate(used)]


def _part_by_levels(packed: PackedTrees) -> tuple[PackedTrees, IntArray]:
    """Return some trees in that order, and the numbers that their vectors had before."""
    order, offsets = _level_order(packed)
    leaf, named, sizes = packed.is_leaf[order], packed.named, np.diff(offsets)
    own = (np.cumsum(named) - 1)[order[named[order]]]  # of the nodes that have a feature
    place = np.arange(len(order)) - np.repeat(offsets[:-1], sizes)
    splits = np.append(0, np.cumsum(~leaf))  # before each node, and in all
    before = splits[:-1] - np.repeat(splits[offsets[:-1]], sizes)
    n_leaves = offsets - splits[offsets]  # before each tree, and in all
    of_leaves, used = _first_use(packed.counted("vector")[order[leaf]])
    most = np.maximum.accumulate(of_leaves)[n_leaves[1:] - 1] + 1  # vectors in use up to the end of each tree
    vector_offsets = np.append(0, most).astype(np.int64)
    vector = np.zeros(len(order), dtype=np.int64)
    vector[leaf] = of_leaves - np.repeat(vector_offsets[:-1], np.diff(n_leaves))
    reordered = replace(
        packed,
        feature=packed.feature[own],
        threshold=packed.threshold[own],
        gain=packed.gain[own],
        left=narrow(np.where(leaf, place, 2 * before + 1)),
        vector=narrow(vector),
        offsets=offsets,
        vector_offsets=vector_offsets,
        **{name: part[order] for name in ("value", "slope", "origin") if (part := getattr(packed, name)) is not None},
    )
    return reordered, used


def _joined(parts: Sequence[PackedTrees]) -> PackedTrees:
    """Join the parts, one after another."""
    whole: dict[str, Any] = {}
    for field in fields(PackedTrees):
        arrays = [getattr(part, field.name) for part in parts]
        if field.name in ("offsets", "vector_offsets"):
            lengths = [np.diff(offsets) for offsets in arrays]
            whole[field.name] = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
        else:
            whole[field.name] = None if arrays[0] is None else np.concatenate(arrays)
    return PackedTrees(**whole)


def is_by_levels(packed: PackedTrees) -> bool:
    """Return whether trees and vectors are in the order of `by_levels`; looks at some trees at a time."""
    offsets, bounds = packed.offsets, packed.vector_offsets
    for first, last in chunks(offsets):
        part = slice(offsets[first], offsets[last])
        sizes, place = np.diff(offsets[first : last + 1]), np.arange(part.start, part.stop)
        place -= np.repeat(offsets[first:last], sizes)
        left = packed.left[part]
        leaf = left == place
        inner = np.cumsum(~leaf)
        begin = np.append(0, inner)[offsets[first:last] - part.start]
        n_inner = np.append(inner[offsets[first + 1 : last + 1] - 1 - part.start], 0)[:-1] - begin
        if np.any(2 * n_inner + 1 != sizes):
            return False
        if np.any((left != 2 * (inner - ~leaf - np.repeat(begin, sizes)) + 1) & ~leaf):
            return False
        named = packed.vector[part][leaf] + np.repeat(bounds[first:last], n_inner + 1)
        before = np.append(bounds[first] - 1, np.maximum.accumulate(named)[:-1])
        if np.any(named > before + 1) or named.max(initial=0) + 1 != bounds[last]:
            return False
    return True


def chunks(offsets: IntArray) -> Iterator[tuple[int, int]]:
    """Return trees of about `CHECKED_NODES` nodes together: the first one, and the one behind the last."""
    first, n_trees = 0, len(offsets) - 1
    while first < n_trees:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + CHECKED_NODES, "right")) - 1)
        yield first, last
        first = last


def dtype_below(offsets: IntArray) -> type[np.generic]:
    """Return the dtype of numbers below the size of the largest tree; see `narrow`."""
    return np.uint16 if np.diff(offsets).max(initial=0) <= 1 << 16 else np.int32


def _level_order(packed: PackedTrees) -> tuple[IntArray, IntArray]:
    """Return nodes of each tree level by level, (n,), and where each tree begins among them, (n_trees + 1,)."""
    left, is_leaf, n_trees = packed.counted("left"), packed.is_leaf, len(packed)
    level, owner = packed.offsets[:-1], np.arange(n_trees)
    levels, counts = list[IntArray](), list[IntArray]()
    # A level of all trees at a time: as many passes as the deepest tree has levels.
    while len(level):
        levels.append(level)
        counts.append(np.bincount(owner, minlength=n_trees))
        inner = ~is_leaf[level]
        child = left[level[inner]].astype(np.int64)
        level, owner = np.column_stack([child, child + 1]).ravel(), np.repeat(owner[inner], 2)
    sizes = np.sum(counts, axis=0, dtype=np.int64) if counts else np.empty(0, dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    order, begin = np.empty(offsets[-1], dtype=np.int64), offsets[:-1].copy()
    for nodes, count in zip(levels, counts, strict=True):
        order[np.arange(len(nodes)) + np.repeat(begin - (np.cumsum(count) - count), count)] = nodes
        begin += count
    return order, offsets


def _first_use(named: IntArray) -> tuple[IntArray, IntArray]:
    """Return numbers in the order of their first occurrence, and what they stand for."""
    # Mostly each leaf has a vector of its own, and there is nothing to sort.
    if np.bincount(named).max(initial=0) <= 1:
        return np.arange(len(named)), named
    _, first, inverse = np.unique(named, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    by_use = np.argsort(first)
    rank[by_use] = np.arange(len(first))
    return rank[inverse], named[first[by_use]]
