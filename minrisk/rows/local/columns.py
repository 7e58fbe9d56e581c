"""The columns of rows in the memory of this process, and passes over them on threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from minrisk._cached import cached_property
from minrisk._kernels import _dtypes as dtypes
from minrisk._memory import empty, read_only, zeros
from minrisk._typing import Bag, Binned, FloatArray, IntArray
from minrisk._workers import Workers
from minrisk.rows.base import RowCosts
from minrisk.rows.fixed_point import fixed_factor
from minrisk.rows.limits import LIMITS, Limits
from minrisk.rows.local.sparse_index import SparseIndex

Result = TypeVar("Result")

HISTOGRAM_BYTES = 512 << 10  # one thread's histogram stays within its cache


class LocalColumns:
    """What the passes of a round read and write; searches, growing trees and `LocalRows` work on it.

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
        Rows start..stop that nothing is learnt from: see `Rows.left_out_scores`. Their weights in `costs` must be 0.
    index : callable, optional
        Of no arguments, gives the index of sparse features; default: it is built when it is needed.
    limits : Limits, optional
    """

    top_edge: FloatArray  # (D,) the largest of each output at the last gradients, and so on
    top_mass: FloatArray
    top_value: FloatArray
    fixed_total: IntArray  # sums of `fixed` over the bag
    fixed_factors: FloatArray
    contrast_factor: float
    margin: int  # what a change of a leaf must gain more than, in units of the contrast
    barred: np.ndarray = np.zeros((0, dtypes.MAX_BINS), dtype=np.bool_)  # stumps that LARGEST_EDGE_GAIN passes over

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
        limits: Limits = LIMITS,
    ) -> None:
        (self.n_features, self.n_samples), self.n_outputs = X_binned.shape, costs.table.shape[1]
        self.X_binned = read_only(np.ascontiguousarray(X_binned))  # kernels run along features
        self.n_bins, self.costs, self.workers, self._shared = read_only(n_bins), costs.read_only(), workers, index
        n, D, self.limits = self.n_samples, self.n_outputs, limits
        if blocks is None:
            parts = 1 if n * D < limits.inline_work else workers.n
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

    def fixed_factor(self, top: FloatArray, spare: int = 0) -> FloatArray:
        """Factors that make sums over all rows of values up to `top` whole numbers of 62 - `spare` bits."""
        return fixed_factor(top, self.sum_bits - spare)

    # -- over blocks of rows ---------------------------------------------------------------------------------
    def over_blocks(self, task: Callable[[int, int], Result]) -> list[Result]:
        """Results of `task(start, stop)` for each block of rows."""
        if len(self.blocks) == 1:  # no detour for few rows
            return [task(*self.blocks[0])]
        return self.workers.map(lambda block: task(*block), self.blocks)

    def bag_of(self, chosen: IntArray) -> Bag:
        """The chosen ones of the `n_trained` rows."""
        first, last = self.left_out
        in_bag = np.zeros(self.n_samples, dtype=np.bool_)
        in_bag[np.where(chosen < first, chosen, chosen + (last - first))] = True
        return in_bag

    # -- histograms: threads over features -----------------------------------------------------------------------
    def over_features(
        self, features: IntArray, bytes_per_feature: int, work: int, task: Callable[[IntArray, np.ndarray], Result]
    ) -> tuple[IntArray, list[Result]]:
        """Run `task(chunk of features, zeroed histogram memory)`; returns the features in the order of the results."""
        chunks = self.index.chunks(features, max(1, HISTOGRAM_BYTES // bytes_per_feature))
        n_threads = 1 if work < self.limits.inline_work else min(self.workers.n, len(chunks))
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
