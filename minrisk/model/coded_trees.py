"""Faster forms of models with the same bits: trees on coded rows, and stumps as a table for each feature."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minrisk._kernels._dtypes import LEAF_BIN
from minrisk._kernels.predict import (
    CODED_BYTES,
    CODED_ROWS,
    EIGHT,
    LANES,
    NARROW_BITS,
    NODE_BIN_BITS,
    WIDE_BITS,
    add_steps,
    add_to_few,
    add_to_many,
    encode,
    encode_few,
    find_tops,
    keep_rows,
)
from minrisk._typing import FloatArray, Int32Array, IntArray
from minrisk._utils.memory import read_only
from minrisk.model.rounded_vectors import RoundedVectors
from minrisk.model.trees import PackedTrees

FEW_FEATURES, NODES_PER_FEATURE = 512, 16  # with more features for so many nodes the table would outweigh the trees
CODES_PER_TREE = 4  # coding so many values of a row takes as long as a tree without codes takes longer
SINGLE_ROWS = 16  # that walk by themselves: 64 side by side take as long, however many of them are there
MOST_NODES = 1 << 16  # of a tree
MOST_SUMMED = 1 << 16  # trees, of whose numbers of 16 bits the sums fit 32


class CodedTrees(NamedTuple):
    """See `minrisk._kernels.predict`.

    Where all vectors are whole multiples of one power of two, sums are those of whole numbers: exact, so that they
    depend on no order, in a quarter of the memory.
    """

    features: IntArray  # that any tree splits
    thresholds: FloatArray  # (features, 256)
    nodes: np.ndarray  # words
    roots: IntArray  # (trees + 1,), first node of each
    tops: IntArray  # (trees + 1,), first word of each tree's top
    top: np.ndarray  # words
    ends: np.ndarray  # of the tops
    vector: Int32Array  # of a leaf
    vectors: np.ndarray  # int16, in whole eights of entries, or float32 where they were rounded, or float64
    unit: float | None  # of whole numbers
    numbers: IntArray  # which of the packed trees these are

    @classmethod
    def of(cls, packed: PackedTrees, vectors: FloatArray | RoundedVectors) -> CodedTrees | None:
        """Return trees of the same bits as the packed ones.

        None for trees whose leaves scale their vectors or have slopes, with more than 255 thresholds on a feature, of
        more than 65 536 nodes, or too few to make up for the coding. Single leaves that add zeros are left out.
        """
        if not isinstance(packed, PackedTrees) or packed.slope is not None or len(packed) == 0:
            return None
        leaf, sizes, first = packed.is_leaf, np.diff(packed.offsets), packed.offsets[:-1]
        if packed.value is not None and not np.all(packed.value[leaf] == 1.0):
            return None
        vector = packed.counted("vector")
        kept = ~leaf[first] | np.any(np.asarray(vectors[vector[first]]), axis=1)
        if sizes.max() > MOST_NODES or len(np.unique(packed.feature)) > CODES_PER_TREE * np.count_nonzero(kept):
            return None
        found = _codes(packed)
        if found is None:
            return None
        features, table, column, bin_ = found
        left, roots = packed.left.astype(np.int32), packed.offsets
        if not np.all(kept):
            of_kept = np.repeat(kept, sizes)
            left, leaf, column, bin_, vector = (part[of_kept] for part in (left, leaf, column, bin_, vector))
            roots = np.concatenate([[0], np.cumsum(sizes[kept])])
        tops, top = np.empty(len(roots), dtype=np.int64), np.empty(len(left), dtype=np.uint64)
        ends = np.empty(len(left) + len(roots), dtype=np.uint16)
        n_top = find_tops(*map(read_only, (left, leaf, column, bin_, roots)), tops, top, ends)
        narrow = len(features) <= 1 << NARROW_BITS
        bits = NARROW_BITS if narrow else WIDE_BITS
        # A word holds a node's left child, its feature's column and its bin.
        nodes = left.astype(np.int64) << bits
        nodes |= column
        nodes <<= NODE_BIN_BITS
        nodes |= bin_
        values, unit = _values(vectors, len(roots) - 1)
        return cls(
            read_only(features),
            read_only(table),
            read_only(nodes.astype(np.uint32 if narrow else np.uint64)),
            read_only(roots),
            read_only(tops),
            read_only(top[:n_top].copy()),
            read_only(ends[: n_top + len(roots)].copy()),
            read_only(vector),
            read_only(values),
            unit,
            np.flatnonzero(kept),
        )

    def __len__(self) -> int:
        """Return trees; `roots` has one more."""
        return len(self.numbers)

    @property
    def walked(self) -> tuple[np.ndarray, IntArray, Int32Array, np.ndarray]:
        """Return nodes and vectors as kernels take them that walk from the roots."""
        return self.nodes, self.roots, self.vector, self.vectors

    @property
    def n_codes(self) -> int:
        """Return codes of a row, one at least, which leaves read to no effect."""
        return max(1, len(self.features))

    @property
    def height(self) -> int:
        """Return rows that are looked at together: all trees are brought into the cache once for them."""
        bytes_of_row = self.n_codes + int(self.vectors.shape[1]) * (8 if self.unit is None else 4)
        return int(max(LANES, min(CODED_ROWS, CODED_BYTES // bytes_of_row // LANES * LANES)))

    def add_scores(self, X: FloatArray, start: int, stop: int, scores: FloatArray) -> None:
        """Add what all trees together answer to scores[start:stop]; X of `minrisk._utils.memory.points`."""
        for low in range(start, stop, self.height):
            n = min(self.height, stop - low)
            part, D = scores[low : low + n], scores.shape[1]
            sums = part if self.unit is None else np.zeros((n, self.vectors.shape[1]), dtype=np.int32)
            if n < SINGLE_ROWS:
                add_to_few(self.coded_few(X, low, n), *self.walked, 0, len(self), sums)
            else:
                self.add_to_many(self.coded(X, low, n), n, 0, len(self), sums)
            if self.unit is not None:
                part += self.unit * sums[:, :D]

    def add_to_many(self, codes: np.ndarray, n_rows: int, first: int, last: int, sums: np.ndarray) -> None:
        """Add what trees first..last answer to coded rows to the sums, in units."""
        trees = self.nodes, self.roots, self.tops, self.top, self.ends, self.vector, self.vectors
        add_to_many(codes, n_rows, self.n_codes, *trees, first, last, sums)

    def coded(self, X: FloatArray, low: int, n_rows: int) -> np.ndarray:
        """Return codes of some rows of X, as `add_to_many` takes them."""
        codes = self._room(n_rows)
        encode(X, self.features, self.thresholds, low, n_rows, codes)
        return codes

    def some_coded(self, codes: np.ndarray, rows: IntArray) -> np.ndarray:
        """Return codes of some of the coded rows."""
        kept = self._room(len(rows))
        keep_rows(codes, self.n_codes, rows, kept)
        return kept

    def coded_few(self, X: FloatArray, low: int, n_rows: int) -> np.ndarray:
        """Return codes of few rows, as `add_to_few` takes them."""
        codes = np.zeros((n_rows, self.n_codes), dtype=np.uint8)
        encode_few(X, self.features, self.thresholds, low, codes)
        return codes

    def _room(self, n_rows: int) -> np.ndarray:
        return np.zeros(-(-n_rows // LANES) * LANES * self.n_codes, dtype=np.uint8)


def _codes(packed: PackedTrees) -> tuple[IntArray, FloatArray, Int32Array, Int32Array] | None:
    """Return features that are split, their thresholds (features, 256), and each node's column and bin; or None."""
    order = np.lexsort((packed.threshold, packed.feature))
    inner = np.flatnonzero(~packed.is_leaf)[order]
    feature, threshold = packed.feature[order].astype(np.int64), packed.threshold[order]
    new = np.ones(len(inner), dtype=np.bool_)
    new[1:] = (feature[1:] != feature[:-1]) | (threshold[1:] != threshold[:-1])
    features, counts = np.unique(feature[new], return_counts=True)
    n_nodes = len(packed.left)
    if np.any(counts > LEAF_BIN) or len(features) > min(1 << WIDE_BITS, FEW_FEATURES + n_nodes // NODES_PER_FEATURE):
        return None
    of_place = np.repeat(np.arange(len(features)), counts)
    place = np.arange(len(of_place)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((len(features), LEAF_BIN + 1), np.inf)
    table[of_place, place] = threshold[new]
    which = np.cumsum(new) - 1
    column, bin_ = np.zeros(n_nodes, dtype=np.int32), np.full(n_nodes, LEAF_BIN, dtype=np.int32)
    column[inner], bin_[inner] = of_place[which], place[which]
    return features, table, column, bin_


def _values(vectors: FloatArray | RoundedVectors, n_trees: int) -> tuple[np.ndarray, float | None]:
    """Return vectors as kernels add them, and the unit of whole numbers; None where they are none."""
    if not isinstance(vectors, RoundedVectors):
        return vectors, None
    unit = vectors.unit
    if unit is None or n_trees >= MOST_SUMMED:
        return np.asarray(vectors, dtype=np.float32), None
    n, D = vectors.shape
    padded = np.zeros((n, -(-D // EIGHT) * EIGHT), dtype=np.int16)
    padded[:, :D] = vectors.mantissa
    return padded, unit


# -- stumps ------------------------------------------------------------------------------------------------------------
GRID = 2.0**32  # vectors that are multiples of 1 / GRID,
EXACT_SUM = 2.0**20  # whose absolute values sum to less than this, have sums that are exact in any order


def on_grid(vectors: FloatArray) -> FloatArray:
    """Return the nearest multiples of 1 / `GRID`."""
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
        """Return tables of the same bits as the stumps; None for other models, or where sums would round."""
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
        # A stump is a step: sums of steps are a table, exact as all entries are multiples of 1 / `GRID`.
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
        """Add what all stumps together answer to scores[start:stop]; X of `minrisk._utils.memory.points`."""
        add_steps(X, *self, start, stop, scores)
