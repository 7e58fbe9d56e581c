"""Rows in the memory of this process."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from minrisk._cached import cached_property
from minrisk._kernels import _dtypes as dtypes
from minrisk._kernels.fixed import column_sums, fix_columns, fix_vector, response_sums, unfixed
from minrisk._kernels.scores import add_leaf_vectors, add_response, decision_costs, split_leaves, tree_response
from minrisk._memory import empty, give_back, read_only, zeros
from minrisk._typing import Bag, Binned, FloatArray, IntArray
from minrisk._workers import Workers
from minrisk.rows.base import (
    EXPONENTIAL,
    JOINT,
    GrownTree,
    GrowthRule,
    LeafSplits,
    RowCosts,
    RowLoss,
    SeparableRowLoss,
    Split,
    Target,
    Totals,
    TreeLike,
    is_joint,
    is_separable,
)
from minrisk.rows.local.fixed_point import added, divide, fixed_factor, largest
from minrisk.rows.local.growth import Growth
from minrisk.rows.local.leaf_search import best_leaf_splits
from minrisk.rows.local.replay import add_learners
from minrisk.rows.local.sparse_index import SparseIndex
from minrisk.rows.local.stump_search import best_stump

Result = TypeVar("Result")

HISTOGRAM_BYTES = 512 << 10  # one thread's histogram stays within its cache
INLINE_WORK = 1 << 17  # passes of fewer elementary sums than this run in the caller: a thread would cost more
MARGIN_SHIFT = 40  # a leaf's change must gain more than 2**-40 of all that could be gained: below is rounding


class LocalRows:
    """NumPy arrays and kernels; the implementation of `minrisk.rows.base.Rows` for one process.

    Parameters
    ----------
    X_binned : ndarray of shape (d, n), uint8
    n_bins : ndarray of shape (d,)
    costs : RowCosts
    workers : Workers
        Threads over features and over blocks of rows.
    blocks : sequence of int, optional
        Boundaries 0 < ... < n that divide the rows; default one block per thread. Any division gives the same bits.
    trainable : bool
        False for rows that are only scored (a validation part): no edge columns are kept.
    left_out : pair of int
        Rows start..stop that nothing is learnt from: only `follow` and `shift` change their scores. Their weights in
        `costs` must be 0.
    index : callable, optional
        Of no arguments, gives the index of sparse features; default: it is built when it is needed.
    """

    traits: frozenset[str] = frozenset()
    barred: np.ndarray = np.zeros((0, dtypes.MAX_BINS), dtype=np.bool_)  # stumps that LARGEST passes over

    def __init__(
        self,
        X_binned: Binned,
        n_bins: IntArray,
        costs: RowCosts,
        workers: Workers,
        blocks: Sequence[int] | None = None,
        trainable: bool = True,
        left_out: tuple[int, int] = (0, 0),
        index: Callable[[], SparseIndex] | None = None,
    ) -> None:
        (self.n_features, self.n_samples), self.n_outputs = X_binned.shape, costs.table.shape[1]
        self.X_binned = read_only(np.ascontiguousarray(X_binned))  # kernels run along features
        self.n_bins, self.costs, self.workers, self._shared = read_only(n_bins), costs.read_only(), workers, index
        n, D = self.n_samples, self.n_outputs
        if blocks is None:
            parts = 1 if n * D < INLINE_WORK else workers.n
            blocks = [n * p // parts for p in range(1, parts)]
        first, last = self.left_out = left_out
        bounds = sorted({0, *blocks, n, *left_out}) if n else [0, 0]
        self.blocks = [block for block in itertools.pairwise(bounds) if not first <= block[0] < last]
        self.n_trained = n - (last - first)
        self.scores = zeros((n, D), dtypes.SCORE)
        self.response = np.ones(n, dtype=dtypes.RESPONSE)
        self.leaf = np.zeros(n, dtype=dtypes.LEAF)
        self.in_bag, self.whole = np.ones(n, dtype=np.bool_), True
        self.in_bag[first:last] = False
        self.sum_bits = dtypes.SUM_BITS - max(1, n).bit_length()
        self._weight_sum = float(costs.weight.sum())
        self._top_cost = float(costs.table.max()) * float(costs.weight.max()) if n else 0.0
        if trainable:
            self.edge, self.mass = empty((2, n, D), dtypes.SCORE)
            exact = n <= dtypes.EXACT_ROWS
            self._fixed_bits = self.sum_bits if exact else dtypes.EDGE_BITS
            self.fixed = np.empty((n, 0), dtype=dtypes.EXACT_EDGE if exact else dtypes.FIXED_EDGE)
            self._contrast = np.empty(n, dtype=dtypes.SCORE)
            self.fixed_contrast = np.empty(n, dtype=dtypes.FIXED)
            self._scratch: dict[int, np.ndarray] = {}

    @cached_property
    def index(self) -> SparseIndex:
        return self._shared() if self._shared else SparseIndex.build(self.X_binned, self.n_bins, self.workers)

    @cached_property
    def _growth(self) -> Growth:
        return Growth(self)

    def fixed_factor(self, top: FloatArray, spare: int = 0) -> FloatArray:
        """Factors that make sums over all rows of values up to `top` whole numbers of 62 - `spare` bits."""
        return fixed_factor(top, self.sum_bits - spare)

    def rest(self, scores: bool = False) -> None:
        """Free what `gradients` and `grow` fill anew, until then, and the scores, until `wake`."""
        self.edge = self.mass = np.empty((0, self.n_outputs), dtype=dtypes.SCORE)
        self.__dict__.pop("_growth", None)
        if scores:
            self.scores = np.empty((0, self.n_outputs), dtype=dtypes.SCORE)
            give_back()

    def wake(self, trees: Sequence[TreeLike], vectors: Sequence[FloatArray], intercept: FloatArray) -> None:
        """Bring back the scores that these learners made, bit for bit."""
        if len(self.scores) < self.n_samples:
            self.start_at(trees, vectors, intercept)

    def start_at(self, trees: Sequence[TreeLike], vectors: Sequence[FloatArray], intercept: FloatArray) -> None:
        """The scores that these learners make."""
        self.scores = self._replayed(trees, vectors, intercept, [*self.blocks, self.left_out])

    def left_out_scores(
        self, trees: Sequence[TreeLike], vectors: Sequence[FloatArray], intercept: FloatArray
    ) -> FloatArray:
        """Scores that these learners make in the rows left out, as `follow` made them."""
        return self._replayed(trees, vectors, intercept, [self.left_out])[slice(*self.left_out)]

    def _replayed(
        self, trees: Sequence[TreeLike], vectors: Sequence[FloatArray], intercept: FloatArray,
        blocks: Sequence[tuple[int, int]],
    ) -> FloatArray:  # fmt: skip
        scores = zeros((self.n_samples, self.n_outputs), dtypes.SCORE)  # rows of no block take no memory

        def fill(block: tuple[int, int]) -> None:
            scores[slice(*block)] += intercept
            add_learners(self.X_binned, trees, vectors, *block, scores)

        self.workers.map(fill, blocks)
        return scores

    # -- sums per row block ------------------------------------------------------------------------------------
    def over_blocks(self, task: Callable[[int, int], Result]) -> list[Result]:
        """Results of `task(start, stop)` for each block of rows."""
        if len(self.blocks) == 1:  # no detour for few rows
            return [task(*self.blocks[0])]
        return self.workers.map(lambda block: task(*block), self.blocks)

    def gradients(self, loss: RowLoss, log_scale: float) -> Totals:
        """Fill edge and mass; see `Rows.gradients`."""
        if len(self.edge) < self.n_samples:  # after a rest
            self.edge, self.mass = empty((2, *self.scores.shape), dtypes.SCORE)
        tops = self.over_blocks(
            lambda a, b: loss.gradients(self.costs, self.scores, log_scale, a, b, self.edge, self.mass)
        )
        self.top_edge, self.top_mass, self.top_value = largest(tops)
        self._restrict(None)
        self._log_scale = log_scale
        self._whole_mass: FloatArray | None = None  # until `values` knows it
        top = max(self.top_mass.tolist()) if {EXPONENTIAL, JOINT} & loss.traits else 1.0  # weights that may overflow
        return Totals(self.values(loss), log_scale, log_scale + math.log(top) if top > 0 else log_scale)

    def values(self, loss: RowLoss) -> FloatArray:
        """Loss over the bag; see `Rows.values`."""
        if EXPONENTIAL in loss.traits:
            self._whole_mass = self._mass_sums() if self.whole else None
            return self._mass_sums() if self._whole_mass is None else self._whole_mass
        if is_separable(loss):
            return np.asarray(self.slopes(loss, np.zeros(self.n_outputs))[0])
        assert is_joint(loss)
        factor = self.fixed_factor(self.top_value)
        parts = self.over_blocks(
            lambda a, b: loss.value_sums(self.costs, self.scores, self._log_scale, self.edge, self.in_bag, factor, a, b)
        )
        return np.asarray(unfixed(added(parts), self.top_value, self.sum_bits))

    def _mass_sums(self) -> FloatArray:
        return np.asarray(unfixed(self._column_sums(self.mass, self.top_mass), self.top_mass, self.sum_bits))

    def _column_sums(self, values: FloatArray, top: FloatArray, spare: int = 0) -> IntArray:
        bits = self.sum_bits - spare
        parts = self.over_blocks(lambda a, b: column_sums(values, self.in_bag, top, bits, a, b))
        return added(parts)

    def bag(self, chosen: IntArray) -> Bag:
        """The chosen rows; see `Rows.bag`."""
        first, last = self.left_out
        in_bag = np.zeros(self.n_samples, dtype=np.bool_)
        in_bag[np.where(chosen < first, chosen, chosen + (last - first))] = True
        return in_bag

    def _restrict(self, in_bag: Bag | None) -> None:
        """All rows are in the bag (None), or these."""
        if in_bag is not None or not self.whole:
            self.in_bag[:] = True if in_bag is None else in_bag
            self.in_bag[slice(*self.left_out)] = False
        self.whole = in_bag is None

    def weigh(self, in_bag: Bag | None, columns: int = 1) -> FloatArray:
        """Restrict to the bag, fix edges (and masses), sum the mass; see `Rows.weigh`."""
        self._restrict(in_bag)
        if columns:
            self._fix_columns(columns)
        if in_bag is None and self._whole_mass is not None:
            return self._whole_mass
        return self._mass_sums()

    def _fix_columns(self, n_columns: int) -> None:
        """Edges (1) and masses (2) in fixed point for the histograms of stumps."""
        columns = [(self.edge, self.top_edge), (self.mass, self.top_mass)][:n_columns]
        if self.fixed.shape[1] != len(columns) * self.n_outputs:  # once
            self.fixed = np.empty((self.n_samples, len(columns) * self.n_outputs), dtype=self.fixed.dtype)
        totals, factors = [], []
        for c, (values, top) in enumerate(columns):
            factors.append(fixed_factor(top, self._fixed_bits))
            totals.append(self._fix(values, factors[c], c * self.n_outputs))
        self.fixed_total: IntArray = np.concatenate(totals)
        self.fixed_factors: FloatArray = np.concatenate(factors)

    def _fix(self, values: FloatArray, factor: FloatArray, first: int) -> IntArray:
        """Values in fixed point into the columns from `first` on; returns their sums."""
        parts = self.over_blocks(lambda a, b: fix_columns(values, self.in_bag, factor, a, b, self.fixed, first))
        return np.asarray(np.sum(parts, axis=0))

    def edges(self) -> FloatArray:
        """Sum of response * edge; see `Rows.edges`."""
        factor = self.fixed_factor(self.top_edge)
        return divide(self._response_sums(self.edge, factor), factor)

    def _response_sums(self, values: FloatArray, factor: FloatArray) -> IntArray:
        parts = self.over_blocks(lambda a, b: response_sums(values, self.response, self.in_bag, factor, a, b))
        return np.asarray(np.sum(parts, axis=0))

    def side_sums(self) -> tuple[FloatArray, FloatArray]:
        """Edge and mass per side of the response; see `Rows.side_sums`."""
        sides = []
        for values, top in ((self.edge, self.top_edge), (self.mass, self.top_mass)):
            factor = fixed_factor(top, self.sum_bits - 1)  # a bit for the sum of two sums
            whole, signed = self._column_sums(values, top, 1), self._response_sums(values, factor)
            sides.append(divide(np.array([whole - signed, whole + signed]) // 2, factor))
        return sides[0], sides[1]

    def slopes(self, loss: SeparableRowLoss, vector: FloatArray) -> FloatArray:
        """Value, slope and curvature in the vector; see `Rows.slopes`."""
        factors = fixed_factor(loss.entry_bounds(self.top_value, vector, self._top_cost), self.sum_bits)
        parts = self.over_blocks(
            lambda a, b: loss.slopes(
                self.costs, self.scores, self.response, self.in_bag, vector, factors, a, b
            )
        )
        return divide(np.sum(parts, axis=0), factors)

    def contrast(self, loss: SeparableRowLoss, vector: FloatArray) -> None:
        """Fill the contrast, in fixed point; see `Rows.contrast`."""
        tops = self.over_blocks(
            lambda a, b: loss.contrast(self.costs, self.scores, self.edge, vector, a, b, self._contrast)
        )
        self._fix_contrast(max(tops))

    def _fix_contrast(self, top: float) -> None:
        """The contrast, of values up to `top`, in fixed point."""
        factor = float(fixed_factor(np.array(top), self.sum_bits))
        sizes = self.over_blocks(
            lambda a, b: fix_vector(self._contrast, self.in_bag, factor, a, b, self.fixed_contrast)
        )
        self.margin = sum(int(s) for s in sizes) >> MARGIN_SHIFT
        self.contrast_factor = factor or 1.0

    def advance(self, vectors: FloatArray) -> None:
        """scores += response * vectors[0], or vectors[leaf] where there are several; see `Rows.advance`."""
        if len(vectors) == 1:
            self.over_blocks(lambda a, b: add_response(self.scores, self.response, vectors[0], a, b))
        else:
            self.over_blocks(lambda a, b: add_leaf_vectors(self.scores, self.leaf, vectors, a, b))

    def shift(self, vector: FloatArray) -> None:
        """scores += vector: the constant term."""
        self.scores += vector

    def respond(self, tree: TreeLike) -> None:
        """Fill response and leaf with the tree's values and vectors; see `Rows.respond`."""
        self.over_blocks(
            lambda a, b: tree_response(
                self.X_binned, tree.feature, tree.bin, tree.left, tree.value, tree.vector, a, b, self.response,
                self.leaf,
            )
        )

    def follow(self, trees: Sequence[TreeLike], vectors: Sequence[FloatArray]) -> None:
        """Add learners to the scores of the rows left out."""
        add_learners(self.X_binned, trees, vectors, *self.left_out, self.scores)

    def restart(self, intercept: FloatArray) -> None:
        """scores = intercept; see `Rows.restart`."""
        if len(self.scores) < self.n_samples:  # after a rest
            self.scores = zeros((self.n_samples, self.n_outputs), dtypes.SCORE)
        self.scores[:] = intercept

    def risk(self) -> float:
        """Mean avoidable cost of the decisions with the largest scores."""
        factor = float(fixed_factor(np.array(self._top_cost), self.sum_bits))
        if factor == 0.0 or self._weight_sum == 0.0:
            return 0.0
        table, row, weight = self.costs[:3]
        parts = self.over_blocks(lambda a, b: decision_costs(self.scores, table, row, weight, factor, a, b))
        return sum(int(p) for p in parts) / factor / self._weight_sum

    # -- histograms: threads over features -----------------------------------------------------------------------
    def over_features(
        self, features: IntArray, bytes_per_feature: int, work: int, task: Callable[[IntArray, np.ndarray], Result]
    ) -> tuple[IntArray, list[Result]]:
        """Run `task(chunk of features, zeroed histogram memory)`; returns the features in the order of the results."""
        chunks = self.index.chunks(features, max(1, HISTOGRAM_BYTES // bytes_per_feature))
        n_threads = 1 if work < INLINE_WORK else min(self.workers.n, len(chunks))
        size = max(len(chunk) for chunk in chunks) * bytes_per_feature // 8
        counter = itertools.count()
        results: dict[int, Result] = {}

        def work_off(thread: int) -> None:
            if thread not in self._scratch or len(self._scratch[thread]) < size:
                self._scratch[thread] = np.empty(size, dtype=dtypes.FIXED)
            memory = self._scratch[thread]
            while (c := next(counter)) < len(chunks):
                used = memory[: len(chunks[c]) * bytes_per_feature // 8]
                used[:] = 0
                results[c] = task(chunks[c], used)

        self.workers.map(work_off, range(n_threads))
        return np.concatenate(chunks), [results[c] for c in range(len(chunks))]

    def best_stump(self, gain: int, mass: FloatArray, features: IntArray) -> Split | None:
        """Best stump over the features; see `Rows.best_stump`."""
        return best_stump(self, gain, mass, features)

    # -- trees with a vector in every leaf -----------------------------------------------------------------------
    def grow(self, target: Target, rule: GrowthRule, features: IntArray, seed: int) -> GrownTree:
        """Grow a tree on the bag; see `Rows.grow`."""
        return self._growth.grow(target, rule, features, seed)

    def leaf_sums(self) -> tuple[FloatArray, FloatArray]:
        """Edge and mass of each leaf; see `Rows.leaf_sums`."""
        return self._growth.leaf_sums()

    # -- leaves of a growing tree ----------------------------------------------------------------------------------
    def start_leaves(self) -> None:
        """All rows in leaf 0."""
        self.leaf[:] = 0

    def best_leaf_splits(self, sign: IntArray, features: IntArray) -> LeafSplits:
        """Best change of each leaf; see `Rows.best_leaf_splits`."""
        return best_leaf_splits(self, sign, features)

    def split_leaves(self, splits: LeafSplits, child: IntArray) -> None:
        """Move rows to the children of their leaves; see `Rows.split_leaves`."""
        self.over_blocks(
            lambda a, b: split_leaves(
                self.X_binned, splits.feature, splits.bin, child, splits.sign, a, b, self.leaf, self.response
            )
        )
