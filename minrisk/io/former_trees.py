"""Trees of files of format 5 and before: checked, so that a prediction kernel can walk them.

Such a file has numbers for all nodes, leaves as well, in 32 bits; children and vectors count from the first of the
first tree. Arrays are asked for one at a time, so that reading takes hardly more memory than the trees.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minrisk._kernels._dtypes import MAX_DEPTH
from minrisk._typing import Int32Array, IntArray
from minrisk.model.node_order import chunks, dtype_below
from minrisk.model.trees import PackedTrees, narrow


def read_former_trees(get: Callable[[str], np.ndarray | None], n_vectors: int) -> PackedTrees:
    """Trees of the arrays of a file.

    Parameters
    ----------
    get : callable
        Gives an array by its name, or None; entries are in the ranges that `minrisk.io.schema` states.
    n_vectors : int
        Of all trees.

    Raises
    ------
    ValueError
        Naming what is wrong: a child, leaf or vector outside its tree, a walk that does not end in a leaf.
    """

    def need(name: str) -> np.ndarray:
        array = get(name)
        assert array is not None, name
        return array

    offsets, vector_offsets = need("offsets"), need("vector_offsets")
    left = need("left")
    for name, first, last in (("offsets", offsets, len(left)), ("vector_offsets", vector_offsets, n_vectors)):
        # neighbours are compared and never subtracted, before they are known to rise: a difference of int64 may wrap
        if first[0] != 0 or first[-1] != last or np.any(first[1:] <= first[:-1]):
            raise ValueError(f"its array {name!r} must lead from 0 to {last}, further with every tree.")
    depth = need("depth")
    left, is_leaf = _own_children(left, offsets, depth)
    slope, origin = get("slope"), get("origin")
    for part in (slope, origin):
        if part is not None and np.any((part != 0.0) & ~is_leaf):
            raise ValueError("a node that is no leaf has a slope or an origin.")
    named = ~is_leaf if slope is None else np.ones(len(left), dtype=np.bool_)
    threshold = need("threshold")  # the largest first, while there is least beside it
    if np.any((threshold != np.inf) & is_leaf):
        raise ValueError("a leaf has a threshold.")
    threshold = threshold[named]
    feature, gain = narrow(need("feature")[named]), need("gain")[named]
    vector = _own_vectors(need("vector"), offsets, vector_offsets, is_leaf)
    return PackedTrees(
        feature, threshold, left, get("value"), vector, gain, offsets, vector_offsets, depth, slope, origin
    )  # fmt: skip


def _own_children(left: np.ndarray, offsets: IntArray, depth: Int32Array) -> tuple[np.ndarray, np.ndarray]:
    """Children counted from the first node of their tree, and which nodes are leaves."""
    own = np.empty(len(left), dtype=dtype_below(offsets))
    is_leaf = np.empty(len(left), dtype=np.bool_)
    for first, last in chunks(offsets):
        nodes, sizes = slice(offsets[first], offsets[last]), np.diff(offsets[first : last + 1])
        begin = np.repeat(offsets[first:last], sizes)
        child, place = left[nodes] - begin, np.arange(nodes.start, nodes.stop) - begin
        leaf = child == place
        if not np.all(leaf | ((child > place) & (child < np.repeat(sizes, sizes) - 1))):
            raise ValueError("a child lies before its parent or outside its tree.")
        own[nodes], is_leaf[nodes] = child, leaf
        roots, child = offsets[first:last] - nodes.start, left[nodes] - nodes.start
        if np.bincount(_pairs(child[~leaf])).max(initial=0) > 1:
            raise ValueError("a node is the child of two others.")
        if not np.array_equal(_depths(child, leaf, roots), depth[first:last]):
            raise ValueError(f"a depth is wrong, or above {MAX_DEPTH}.")
    return own, is_leaf


def _pairs(left: IntArray) -> IntArray:
    """Children: those of which `left` has the first, and their neighbours."""
    return np.concatenate([left, left + 1])


def _depths(child: IntArray, is_leaf: np.ndarray, roots: IntArray) -> Int32Array:
    """Longest walk from each root, found level by level; of walks beyond `MAX_DEPTH` a larger number."""
    depth = np.zeros(len(roots), dtype=np.int32)
    level, owner = roots, np.arange(len(roots))
    for d in range(1, MAX_DEPTH + 2):
        inner = ~is_leaf[level]
        level, owner = level[inner], owner[inner]
        if len(level) == 0:
            break
        depth[owner] = d
        level, owner = _pairs(child[level]), np.tile(owner, 2)
    return depth


def _own_vectors(
    vector: np.ndarray, offsets: IntArray, vector_offsets: IntArray, is_leaf: np.ndarray
) -> np.ndarray:  # fmt: skip
    """Vectors counted from the first one of their tree."""
    own = np.empty(len(vector), dtype=dtype_below(vector_offsets))
    for first, last in chunks(offsets):
        nodes, sizes = slice(offsets[first], offsets[last]), np.diff(offsets[first : last + 1])
        mine = vector[nodes] - np.repeat(vector_offsets[first:last], sizes)
        if np.any(np.where(is_leaf[nodes], mine < 0, mine != 0)):
            raise ValueError("a node names a vector before its tree's first, or an inner node another than that.")
        largest = np.maximum.reduceat(mine, offsets[first:last] - nodes.start)
        if np.any(largest + 1 != np.diff(vector_offsets[first : last + 1])):
            raise ValueError("a leaf names a vector behind its tree's last, or no leaf names the last.")
        own[nodes] = mine
    return own
