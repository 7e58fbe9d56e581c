"""Trees as files hold them, and their way back: checked, so that a prediction kernel can walk them.

Nodes are in the order of `minrisk.model.trees.by_levels`, so that a bit for each, whether it is a leaf, says all
of a tree's shape, and mostly which vector a leaf names. A split names a feature and the place of its threshold in a
table of the feature's thresholds. Arrays are asked for one at a time, so that reading takes hardly more memory than the
trees. docs/more/developers/model_files.md has the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from minrisk._kernels._dtypes import MAX_DEPTH
from minrisk._typing import FloatArray, Int32Array, IntArray
from minrisk.io.arrays import Array
from minrisk.io.planes import BLOCK, REALS, WHOLE, Planes
from minrisk.model.trees import PackedTrees, chunks, dtype_below, is_by_levels, narrow

NODE_BYTES, TREE_BYTES = 56, 32  # that a node and a tree of any kind take in memory, at most


def stored(packed: PackedTrees) -> dict[str, Array]:
    """The arrays of a file by name, or makers of them.

    Parameters
    ----------
    packed : PackedTrees
        In the order of `by_levels`.
    """
    leaf = packed.is_leaf
    splits = slice(None) if packed.slope is None else ~leaf
    code, place, table = _thresholds(packed.feature[splits], packed.threshold[splits])
    made: dict[str, Array] = {
        "tree_nodes": np.diff(packed.offsets).astype(np.int32),
        "leaf_bits": np.packbits(leaf, bitorder="little"),
        "leaf_vector_bytes": partial(_own_vectors, packed, leaf),
        "feature_bytes": WHOLE.planes(code),
        "place_bytes": WHOLE.planes(place),
        "gain_bytes": REALS.planes(packed.gain[splits]),
        **table,
    }
    if packed.value is not None:
        made["leaf_value"] = packed.value[leaf]
    if packed.slope is not None and packed.origin is not None:
        made |= {"leaf_slope": packed.slope[leaf], "leaf_origin": packed.origin[leaf]}
        made |= {"leaf_feature": packed.feature[leaf].astype(np.int32), "leaf_gain": packed.gain[leaf]}
    return made


def _own_vectors(packed: PackedTrees, leaf: np.ndarray) -> Planes:
    """Which vector of its tree each leaf names; none where they name one after another."""
    own = packed.vector[leaf]
    return WHOLE.planes(own if len(own) != packed.vector_offsets[-1] else own[:0])


def _thresholds(feature: np.ndarray, threshold: FloatArray) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Of each split the number of its feature and the place of its threshold in a table, and that table.

    The table has the features in use, how many thresholds each has, and these in order.
    """
    order = np.lexsort((threshold, feature))
    sorted_feature, sorted_threshold = feature[order], threshold[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (sorted_feature[1:] != sorted_feature[:-1]) | (sorted_threshold[1:] != sorted_threshold[:-1])
    features, counts = np.unique(sorted_feature[new], return_counts=True)
    table: dict[str, np.ndarray] = {
        "table_feature": features.astype(np.int32),
        "table_count": counts.astype(np.int32),
        "table_threshold": sorted_threshold[new] + 0.0,  # of -0.0, which splits alike, 0.0
    }
    del sorted_threshold
    code = narrow(np.searchsorted(features, feature))
    ranks = np.cumsum(new, dtype=np.int32) - 1
    ranks -= (np.cumsum(counts) - counts).astype(np.int32)[code[order]]
    place = np.empty(len(order), dtype=narrow(ranks).dtype)
    place[order] = ranks
    return code, place, table


def room_of_trees(n_nodes: int, n_trees: int) -> int:
    """Bytes of memory that trees take, at most."""
    return NODE_BYTES * n_nodes + TREE_BYTES * n_trees


def read_trees(get: Callable[[str], np.ndarray | None], n_vectors: int, take: Callable[[int], None]) -> PackedTrees:
    """Trees of the arrays of a file.

    Parameters
    ----------
    get : callable
        Gives an array by its name, or None; shapes and entries are those that `minrisk.io.schema` states.
    n_vectors : int
        Of all trees.
    take : callable
        Is told how many bytes are about to be taken, and raises where there are too many.

    Raises
    ------
    ValueError
        Naming what is wrong: nodes that make no tree, a vector or a threshold outside its table, another order.
    """

    def need(name: str) -> np.ndarray:
        array = get(name)
        assert array is not None, name
        return array

    offsets = np.concatenate([[0], np.cumsum(need("tree_nodes"), dtype=np.int64)])
    n_nodes, bits = int(offsets[-1]), need("leaf_bits")
    if len(bits) != -(-n_nodes // 8):
        raise ValueError("its array 'tree_nodes' must count as many nodes as there are leaves and splits.")
    take(room_of_trees(n_nodes, len(offsets) - 1))
    is_leaf = np.unpackbits(bits, count=n_nodes, bitorder="little").view(np.bool_)
    left, vector, leaves, depth = _shapes(is_leaf, offsets)
    named = need("leaf_vector_bytes")
    if len(named):
        vector, vector_offsets = _shared_vectors(named, is_leaf, leaves)
    else:
        vector_offsets = leaves
    if vector_offsets[-1] != n_vectors:
        raise ValueError(f"its leaves must name {n_vectors} vectors, got {vector_offsets[-1]}.")
    feature, threshold = _features(need)
    if len(feature) != n_nodes - leaves[-1]:
        raise ValueError("its array 'leaf_bits' must have as many nodes that are no leaves as there are splits.")
    gain = need("gain_bytes")
    value, slope, origin = (
        None if (part := get(f"leaf_{name}")) is None else _of_all(0.0, part, is_leaf)
        for name in ("value", "slope", "origin")
    )
    if slope is not None:
        feature = narrow(_of_all(feature, need("leaf_feature"), is_leaf))
        threshold = _of_all(threshold, np.inf, is_leaf)
        gain = _of_all(gain, need("leaf_gain"), is_leaf)
    packed = PackedTrees(feature, threshold, left, value, vector, gain, offsets, vector_offsets, depth, slope, origin)
    if len(named) and not is_by_levels(packed):
        raise ValueError("its leaves must name every vector, in the order in which they first name them.")
    return packed


def _shapes(is_leaf: np.ndarray, offsets: IntArray) -> tuple[np.ndarray, np.ndarray, IntArray, Int32Array]:
    """Of each node its left child and, where leaves name one vector after another, its vector.

    And how many leaves stand before each tree and in all, and the longest walk of each tree.
    """
    dtype, n_trees = dtype_below(offsets), len(offsets) - 1
    left, vector = np.empty(len(is_leaf), dtype=dtype), np.empty(len(is_leaf), dtype=dtype)
    leaves, depth = np.zeros(n_trees + 1, dtype=np.int64), np.zeros(n_trees, dtype=np.int32)
    for first, last in chunks(offsets):
        nodes, sizes = slice(offsets[first], offsets[last]), np.diff(offsets[first : last + 1])
        roots, leaf = offsets[first:last] - nodes.start, is_leaf[nodes]
        splits = np.zeros(len(leaf) + 1, dtype=np.int64)  # before each node
        np.cumsum(~leaf, out=splits[1:])
        own = splits[np.append(roots, len(leaf))]
        place = np.arange(len(leaf)) - np.repeat(roots, sizes)
        before = splits[:-1] - np.repeat(own[:-1], sizes)
        if np.any(2 * before < place) or np.any(2 * np.diff(own) + 1 != sizes):
            raise ValueError("its array 'leaf_bits' must have a leaf more than splits for each tree, level by level.")
        left[nodes] = np.where(leaf, place, 2 * before + 1)
        vector[nodes] = np.where(leaf, place - before, 0)
        leaves[first + 1 : last + 1] = leaves[first] + np.cumsum(np.diff(own) + 1)
        depth[first:last] = _depths(splits, roots, sizes)
    return narrow(left), narrow(vector), leaves, depth


def _depths(splits: IntArray, roots: IntArray, sizes: IntArray) -> IntArray:
    """Longest walk of each tree: a level ends where the children of the one before end."""
    depth, end = np.zeros(len(roots), dtype=np.int64), np.ones(len(roots), dtype=np.int64)
    while np.any(more := end < sizes):
        depth += more
        if depth.max() > MAX_DEPTH:
            raise ValueError(f"a tree has more than {MAX_DEPTH} levels.")
        end = 1 + 2 * (splits[roots + end] - splits[roots])
    return depth


def _shared_vectors(named: np.ndarray, is_leaf: np.ndarray, leaves: IntArray) -> tuple[np.ndarray, IntArray]:
    """Vectors of all nodes, counted from the first one of their tree; how many stand before each tree, and in all."""
    counts = np.maximum.reduceat(named, leaves[:-1]).astype(np.int64) + 1
    vector = np.zeros(len(is_leaf), dtype=narrow(named).dtype)
    vector[is_leaf] = named
    return vector, np.concatenate([[0], np.cumsum(counts)])


def _features(need: Callable[[str], np.ndarray]) -> tuple[np.ndarray, FloatArray]:
    """Feature and threshold of each split, of the table."""
    features, counts, table = need("table_feature"), need("table_count"), need("table_threshold")
    ends = np.cumsum(counts, dtype=np.int64)
    if (ends[-1] if len(ends) else 0) != len(table):
        raise ValueError("its array 'table_count' must count all thresholds of the table.")
    code, place = need("feature_bytes"), need("place_bytes")
    threshold = np.empty(len(code))
    for low in range(0, len(code), BLOCK):
        some = code[low : low + BLOCK]
        begin, where = ends[some] - counts[some], place[low : low + BLOCK]
        if np.any(where >= counts[some]):
            raise ValueError("a split names a threshold behind the last one of its feature.")
        threshold[low : low + BLOCK] = table[begin + where]
    return narrow(features)[code], threshold


def _of_all(of_splits: np.ndarray | float, of_leaves: np.ndarray | float, is_leaf: np.ndarray) -> np.ndarray:
    """Numbers of all nodes, of those of splits and of leaves."""
    given = [numbers for numbers in (of_splits, of_leaves) if isinstance(numbers, np.ndarray)]
    numbers = np.empty(len(is_leaf), dtype=np.result_type(*given))
    numbers[~is_leaf], numbers[is_leaf] = of_splits, of_leaves
    return numbers
