"""One order for the nodes of all trees and the vectors of their leaves, so that a file need not state it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from minrisk._typing import IntArray
from minrisk.model.trees import PackedTrees, narrow

CHECKED_NODES = 1 << 14  # at a time: what is computed of them is small beside a model


def by_levels(packed: PackedTrees, vectors: Any) -> tuple[PackedTrees, Any]:
    """The same trees, each with its nodes level by level from the left, and vectors in the order of the leaves.

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
    """Some trees in that order, and the numbers that their vectors had before."""
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
    """One part after another."""
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
    """Whether trees and vectors are in the order of `by_levels`; looks at some trees at a time."""
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
    """Trees of about `CHECKED_NODES` nodes together: the first one, and the one behind the last."""
    first, n_trees = 0, len(offsets) - 1
    while first < n_trees:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + CHECKED_NODES, "right")) - 1)
        yield first, last
        first = last


def dtype_below(offsets: IntArray) -> type[np.generic]:
    """Of numbers below the size of the largest tree; see `minrisk.model.trees.narrow`."""
    return np.uint16 if np.diff(offsets).max(initial=0) <= 1 << 16 else np.int32


def _level_order(packed: PackedTrees) -> tuple[IntArray, IntArray]:
    """Nodes of each tree level by level, (n,), and where each tree begins among them, (n_trees + 1,)."""
    left, is_leaf, n_trees = packed.counted("left"), packed.is_leaf, len(packed)
    level, owner = packed.offsets[:-1], np.arange(n_trees)
    levels, counts = list[IntArray](), list[IntArray]()
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
    """Numbers in the order of their first occurrence, and what they stand for."""
    if np.bincount(named).max(initial=0) <= 1:
        return np.arange(len(named)), named
    _, first, inverse = np.unique(named, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    by_use = np.argsort(first)
    rank[by_use] = np.arange(len(first))
    return rank[inverse], named[first[by_use]]
