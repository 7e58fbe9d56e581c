"""Binned features that several rows share.

Which rows lie outside the most frequent bin of a feature, for features where they are few.

The columns of rows in the memory of this process, and passes over them on threads.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from minrisk._kernels import _dtypes as dtypes
from minrisk._kernels._dtypes import BIN, MAX_BINS, ROW
from minrisk._kernels.histogram import NUMBERED_ROWS, index_rows
from minrisk._typing import Bag, Binned, FloatArray, IntArray
from minrisk._utils import cached_property
from minrisk._utils.memory import empty, read_only, zeros
from minrisk._utils.workers import Workers
from minrisk.data.binning import SparseBins
from minrisk.model.codes import Decoder
from minrisk.rows.base import LIMITS, Limits
from minrisk.rows.costs import RowCosts
from minrisk.rows.exchange import Alone, Place, Sums, added, everything, fixed_factor, largest, sum_bits
from minrisk.rows.row_losses import LossColumns, LossFacts


class Columns:
    """Bins, of which there is one copy: rows that are made of them read it, and it is changed in place.

    Parameters
    ----------
    binned : ndarray of uint8 or SparseBins, of shape (d, n)
    n_bins : ndarray of shape (d,)
    thresholds : tuple of ndarray
        Of each feature.
    room : callable, optional
        Of a shape and a dtype, gives an array for bins where these lie; default: in memory.
    """

    def __init__(
        self,
        binned: Binned | SparseBins,
        n_bins: IntArray,
        thresholds: tuple[FloatArray, ...],
        room: Callable[[tuple[int, int], Any], Binned] | None = None,
    ) -> None:
        self.binned, self.n_bins, self.thresholds = binned, n_bins, thresholds
        self._room = room or np.empty
        self._index: SparseIndex | None = None
        self._one = Lock()

    @property
    def n_values(self) -> int:
        """Return bins, of all features and rows."""
        return int(self.binned.size)

    def index(self) -> SparseIndex:
        """Return the index of the rows in their present order: all who share the columns read it."""
        with self._one:
            if self._index is None:
                assert not isinstance(self.binned, SparseBins)
                self._index = SparseIndex.build(self.binned, self.n_bins, Workers())
            return self._index

    def reorder(self, order: IntArray) -> None:
        """Put the rows in another order."""
        if isinstance(self.binned, SparseBins):
            self.binned = self.binned.take(len(self.binned), order)
        else:
            for column in self.binned:
                column[:] = column[order]
        self._index = None

    def add(self, n_bins: IntArray, thresholds: tuple[FloatArray, ...], fill: Callable[[Binned], None]) -> None:
        """Put further features of the same rows behind these; `fill` writes their bins."""
        first, n_rows = self.binned.shape
        shape = len(n_bins), n_rows
        if isinstance(self.binned, SparseBins):
            behind = np.empty(shape, dtype=BIN)
            fill(behind)
            self.binned = self.binned.beside(behind)
        else:
            wide = self._room((first + len(n_bins), n_rows), BIN)  # older rows may still read the others
            wide[:first] = self.binned
            self.binned = wide
            fill(self.binned[first:])
        self.thresholds += thresholds
        self.n_bins, self._index = np.concatenate([self.n_bins, n_bins]), None

    def some(self, n_features: int, rows: IntArray) -> Columns:
        """Return a copy of the first features of some rows."""
        if isinstance(self.binned, SparseBins):
            some: Any = self.binned.take(n_features, rows)
        else:
            some = np.ascontiguousarray(self.binned[:n_features][:, rows])
        return Columns(some, self.n_bins[:n_features], self.thresholds[:n_features])


# -- Features that are mostly one value --------------------------------------------------------------------------------
DENSITY = 0.6  # with more rows than this outside the frequent bin, passing over all rows costs no more
FREQUENT_BIN_ROWS = 4096  # rows that the frequent bin is guessed from; a poor guess costs time, never correctness
BUDGET_SHARE = 0.2  # of the binned data's bytes,
BUDGET_BYTES = 24 << 20  # plus this
NO_LIST = 1 << 40  # more rows than any node has

Lists = tuple[IntArray, IntArray, np.ndarray, np.ndarray]  # for growing trees: see `minrisk._kernels.histogram`


@dataclass(frozen=True)
class SparseIndex:
    """Row numbers outside the frequent bin, two bytes each; features of the lowest density first, within a byte budget.

    Attributes
    ----------
    indexed : ndarray of shape (d,), bool
    frequent : ndarray of shape (d,), uint8
    offsets : ndarray of shape (d, n_blocks + 1)
        Where each block of 65 536 rows begins in `rows`.
    rows : ndarray of uint16
    """

    indexed: np.ndarray
    frequent: np.ndarray
    offsets: IntArray
    rows: np.ndarray

    @classmethod
    def build(cls, X_binned: Binned, n_bins: IntArray, workers: Workers, density: float = DENSITY) -> SparseIndex:
        """Index features of binned data (d, n) with at most this share of the rows outside the frequent bin."""
        X_binned = read_only(X_binned)
        n_features, n_samples = X_binned.shape
        step = max(1, n_samples // FREQUENT_BIN_ROWS)
        frequent = np.zeros(n_features, dtype=np.uint8)
        outside = np.zeros(n_features, dtype=np.int64)

        def count(j: int) -> None:
            frequent[j] = np.bincount(X_binned[j, ::step], minlength=MAX_BINS).argmax()
            outside[j] = np.count_nonzero(X_binned[j] != frequent[j])

        workers.map(count, range(n_features))
        cheapest = np.argsort(outside, kind="stable")
        budget = BUDGET_BYTES + BUDGET_SHARE * n_features * n_samples
        chosen = cheapest[(outside[cheapest] < density * n_samples) & (2 * np.cumsum(outside[cheapest]) <= budget)]
        indexed = np.zeros(n_features, dtype=np.bool_)
        indexed[chosen] = True
        rows = np.empty(int(outside[chosen].sum()), dtype=ROW)
        offsets = np.zeros((n_features, -(-n_samples // NUMBERED_ROWS) + 1), dtype=np.int64)
        ends = np.cumsum(outside * indexed)

        def write(j: int) -> None:
            index_rows(X_binned, j, frequent[j], offsets, ends[j] - outside[j], rows)

        workers.map(write, np.flatnonzero(indexed).tolist())
        return cls(indexed, frequent, offsets, rows)

    @classmethod
    def stored(cls, n_features: int) -> SparseIndex:
        """Make it of sparse features, which are stored so."""
        nothing = np.zeros(n_features, dtype=np.uint8)
        return cls(nothing == 0, nothing, np.zeros((n_features, 2), dtype=np.int64), np.empty(0, dtype=ROW))

    @cached_property
    def lists(self) -> Lists:
        """Return the lists for growing trees, of up to 65 536 rows."""
        d, n_blocks = len(self.frequent), self.offsets.shape[1] - 1
        if n_blocks != 1 or not self.indexed.any():
            return no_lists(d)
        outside = np.where(self.indexed, self.offsets[:, 1] - self.offsets[:, 0], NO_LIST)
        return outside, self.offsets, self.rows, self.frequent

    def chunks(self, features: IntArray, width: int) -> list[IntArray]:
        """Return the features in groups of at most `width`, each all indexed or all not; longest work first."""
        kinds = (features[~self.indexed[features]], features[self.indexed[features]])
        return [kind[i : i + width] for kind in kinds for i in range(0, len(kind), width)]


def no_lists(n_features: int) -> Lists:
    """Return the lists of features that have none."""
    nowhere = np.zeros((n_features, 2), dtype=np.int64)
    return np.full(n_features, NO_LIST), nowhere, np.empty(0, dtype=ROW), np.zeros(n_features, dtype=np.uint8)


# -- Columns of rows, and passes over them -----------------------------------------------------------------------------
Result = TypeVar("Result")

HISTOGRAM_BYTES = 512 << 10  # one thread's histogram stays within its cache
EXCHANGED_BYTES = 64 << 20  # of histograms in one exchange
BLOCKS_OF_THREAD = 2  # of rows: the last one of another thread is then not waited for long
SHARES_OF_FEATURES = 4  # likewise of features, at most
OUTPUT_SUMS = 4.0  # elementary sums that most passes take for a row and an output
ADDED_SUMS = 1.0  # those that add or round numbers in the order of memory
LOSS_SUMS = 8.0  # those with an exponential
WALK_SUMS = 64.0  # for a row, whatever the outputs, that walks through a tree


def divided(
    n: int, first: int, last: int, n_threads: int, inner: Sequence[int] | None
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Divide the rows outside first..last into blocks for so many threads, and as few as there can be.

    Those for threads are about as large as each other, or end at the `inner` boundaries, which then both do.
    """

    def between(cuts: Sequence[int]) -> list[tuple[int, int]]:
        bounds = sorted({0, *cuts, n, first, last})
        return [block for block in itertools.pairwise(bounds) if not first <= block[0] < last] or [(0, 0)]

    if inner is not None:
        return between(inner), between(inner)
    parts = 1 if n_threads == 1 else BLOCKS_OF_THREAD * n_threads
    cuts = [(n - (last - first)) * part // parts for part in range(1, parts)]
    return between([cut if cut < first else cut + last - first for cut in cuts]), between([])


class RowColumns:
    """What the passes of a round read and write; searches, growing trees and `Rows` work on it.

    Parameters
    ----------
    X_binned : ndarray of uint8 or SparseBins, of shape (d, n)
    n_bins : ndarray of shape (d,)
    costs : RowCosts
    workers : Workers
        Threads over features and over blocks of rows.
    blocks : sequence of int, optional
        Boundaries 0 < ... < n that divide the rows; default two blocks per thread. Any division gives the same bits.
    trainable : bool
        False for rows that are only scored (a validation part): no gradient columns are kept.
    left_out : pair of int
        Rows start..stop that nothing is learnt from: see `Rows.left_out_scores`. Their weights in `costs` must be 0.
    index : callable, optional
        Of no arguments, gives the index of sparse features; default: it is built when it is needed.
    limits : Limits, optional
    place : Place, optional
        Where these rows stand among others, in memories of their own; default: they are all. `left_out` and bags are
        numbers of all rows.
    n_outputs : int, optional
        Scores that are boosted; default: one for each decision.
    decoder : Decoder, optional
        Makes the scores of the decisions of those that are boosted, which are its bits; default: they are the same.
    """

    top_gradient: FloatArray  # (D,) the largest of each output at the last gradients, and so on
    top_hessian: FloatArray
    top_value: FloatArray
    fixed_total: IntArray  # sums of `fixed` over the bag,
    fixed_total_here: IntArray  # and over the part of it in these rows
    fixed_factors: FloatArray
    bag_value: FloatArray  # (D,) of a separable loss that is no exponential, at the last `values`
    contrast_factor: float
    margin: int  # what a change of a leaf must gain more than, in units of the contrast
    _log_scale = 0.0  # of the last gradients
    _losses: tuple[Any, Any, LossFacts | None] = (None, None, None)  # last asked for: as it came, here, what it says
    barred: np.ndarray = np.zeros((0, dtypes.MAX_BINS), dtype=np.bool_)  # stumps that LARGEST_EDGE_GAIN passes over

    def __init__(
        self,
        X_binned: Binned | SparseBins,
        n_bins: IntArray,
        costs: RowCosts,
        workers: Workers,
        blocks: Sequence[int] | None = None,
        trainable: bool = True,
        left_out: tuple[int, int] = (0, 0),
        index: Callable[[], SparseIndex] | None = None,
        limits: Limits = LIMITS,
        place: Place | None = None,
        n_outputs: int | None = None,
        decoder: Decoder | None = None,
    ) -> None:
        (self.n_features, self.n_samples), self.decoder = X_binned.shape, decoder
        self.n_scores = costs.table.shape[1] if decoder is None else decoder.n_bits
        self.n_outputs = n_outputs or self.n_scores
        self.sparse = X_binned if isinstance(X_binned, SparseBins) else None
        dense = np.empty((0, 0), dtype=dtypes.BIN) if isinstance(X_binned, SparseBins) else X_binned
        self.X_binned = read_only(np.ascontiguousarray(dense))  # kernels run along features; no bins of sparse ones
        n, D, self.limits, self.place = self.n_samples, self.n_outputs, limits, place or everything(self.n_samples)
        self.n_bins, self.workers, self._shared = read_only(n_bins), workers, index
        self.costs = costs._replace(place=self.place).read_only()
        self.exchange = self.place.exchange
        first, last = (self.place.n_before(number, n) for number in left_out)
        self.left_out = first, last
        self.blocks, self.undivided = divided(n, first, last, workers.n, blocks)
        self.n_trained = self.place.n_rows - (left_out[1] - left_out[0])
        self._not_trained = left_out
        self.scores = zeros((n, D), dtypes.SCORE)
        self._forget_leaves()
        self.in_bag, self.whole = np.ones(n, dtype=np.bool_), True
        self.in_bag[first:last] = False
        self.sum_bits = sum_bits(self.place.n_rows)
        tops = np.array([costs.weight.max(initial=0.0), costs.table.max(initial=0.0)])
        self.top_weight, top_cost = self.exchange.largest(tops).tolist()
        self.top_cost = top_cost * self.top_weight
        self.trainable = trainable
        if trainable:
            self.gradient, self.hessian = empty((2, n, D), dtypes.SCORE)
            self.value = empty((n,), dtypes.SCORE)
            exact = self.place.n_rows <= dtypes.EXACT_ROWS
            self.fixed_bits = self.sum_bits if exact else dtypes.GRADIENT_BITS
            self.fixed = np.empty((n, 0), dtype=dtypes.EXACT_GRADIENT if exact else dtypes.FIXED_GRADIENT)
            self._contrast = np.empty(n, dtype=dtypes.SCORE)
            self.fixed_contrast = np.empty(n, dtype=dtypes.FIXED)
            self._scratch: dict[int, np.ndarray] = {}

    def _forget_leaves(self) -> None:
        """Let all rows answer 1 in one leaf."""
        self.response = np.ones(self.n_samples, dtype=dtypes.RESPONSE)
        self.leaf = zeros((self.n_samples,), dtypes.LEAF)

    @cached_property
    def index(self) -> SparseIndex:
        if self.sparse is not None:
            return SparseIndex.stored(self.n_features)
        return self._shared() if self._shared else SparseIndex.build(self.X_binned, self.n_bins, self.workers)

    def split_bins(self, feature: np.ndarray) -> tuple[Binned, np.ndarray]:
        """Return bins that hold these features, and the number of each among them: of sparse ones no others."""
        if self.sparse is None:
            return self.X_binned, feature
        return self.sparse.of_trees(feature)

    def fixed_factor(self, top: FloatArray, spare: int = 0) -> FloatArray:
        """Return what makes sums over all rows of values up to `top` whole numbers of 62 - `spare` bits."""
        return fixed_factor(top, self.sum_bits - spare)

    def for_costs(self, loss: Any) -> Any:
        """Return the loss with what it keeps of the lines of the cost table here."""
        if loss is not self._losses[0]:
            self._losses = loss, loss.for_costs(self.costs), None
        return self._losses[1]

    @property
    def loss_columns(self) -> LossColumns:
        """Return what losses read and fill, at the present scores."""
        own = self.gradient, self.hessian, self.value, self.in_bag
        return LossColumns(self.costs, self.scores, self._log_scale, *own)

    # -- over blocks of rows ---------------------------------------------------------------------------------
    def over_blocks(self, task: Callable[..., Result], *arguments: Any, sums: float = OUTPUT_SUMS) -> list[Result]:
        """Return results of `task(*arguments, start, stop)` for each block of rows.

        Blocks are larger where threads would not pay. `sums` is what the task does for a row and an output, in
        elementary sums: about as many half nanoseconds.
        """
        if self.n_samples * self.n_outputs * sums < self.limits.inline_work or self.workers.n_free == 1:
            return [task(*arguments, *block) for block in self.undivided]
        return self.workers.map(lambda block: task(*arguments, *block), self.blocks)

    def summed(self, task: Callable[..., IntArray], *arguments: Any, sums: float = OUTPUT_SUMS) -> IntArray:
        """Return the sum of what `over_blocks` gives, in all pieces."""
        return self.added(self.over_blocks(task, *arguments, sums=sums))

    def topped(self, task: Callable[..., FloatArray], *arguments: Any, sums: float = OUTPUT_SUMS) -> FloatArray:
        """Return the elementwise maximum of what `over_blocks` gives, in all pieces."""
        return self.largest(self.over_blocks(task, *arguments, sums=sums))

    def bag_of(self, chosen: IntArray) -> Bag:
        """Return the chosen ones of the `n_trained` rows, those that are here."""
        first, last = self._not_trained
        in_bag = np.zeros(self.n_samples, dtype=np.bool_)
        in_bag[self.place.here(np.where(chosen < first, chosen, chosen + (last - first)), self.n_samples)] = True
        return in_bag

    # -- over all pieces -------------------------------------------------------------------------------------
    @property
    def is_alone(self) -> bool:
        """Return whether all rows are here, and nothing is exchanged."""
        return type(self.exchange) is Alone

    def largest(self, tops: Sequence[FloatArray]) -> FloatArray:
        """Return elementwise maximum over the blocks of all pieces."""
        return self.exchange.largest(largest(tops))

    def added(self, parts: Sequence[Sums]) -> Sums:
        """Return the sum over the blocks of all pieces."""
        return self.exchange.added(added(parts))

    # -- histograms: threads over features -----------------------------------------------------------------------
    def over_features(
        self, features: IntArray, bytes_per_feature: int, work: int, task: Callable[[IntArray, np.ndarray], Result]
    ) -> tuple[IntArray, list[Result]]:
        """Run `task(chunk of features, zeroed histogram memory)`; returns the features in the order of the results."""
        width = max(1, HISTOGRAM_BYTES // bytes_per_feature)
        shared = work >= self.limits.inline_work and self.workers.n_free > 1
        if shared:
            parts = min(SHARES_OF_FEATURES * self.workers.n, 2 * work // max(1, self.limits.inline_work))
            width = min(width, -(-len(features) // max(1, parts)))
        chunks = self.index.chunks(features, width)
        n_threads = min(self.workers.n, len(chunks)) if shared else 1
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

    def scanned(
        self,
        features: IntArray,
        shape: tuple[int, ...],
        columns: int,
        add: Callable[[IntArray, np.ndarray], None],
        scan: Callable[[IntArray, np.ndarray], tuple[Any, ...]],
    ) -> tuple[IntArray, list[Any]]:
        """Scan the sums of each feature, of this shape and so many columns of numbers; in the order that is returned.

        `add(features, sums)` adds those of these rows, of features that are all indexed, or none; alone, they are
        scanned while they are in the cache. Sums of several pieces are exchanged before the scan.
        """
        size = 8 * math.prod(shape)
        if self.is_alone:

            def search(chunk: IntArray, memory: np.ndarray) -> tuple[Any, ...]:
                sums = memory.reshape(len(chunk), *shape)
                add(chunk, sums)
                return scan(chunk, sums)

            order, found = self.over_features(features, size, self.n_samples * len(features) * columns, search)
        else:
            order, found, width = features, [], max(1, EXCHANGED_BYTES // size)
            for first in range(0, len(features), width):
                chunk = features[first : first + width]
                found.append(scan(chunk, self.exchange.added(self._sums_here(chunk, shape, add))))
        return order, [np.concatenate(column) for column in zip(*found, strict=True)]

    def _sums_here(
        self, features: IntArray, shape: tuple[int, ...], add: Callable[[IntArray, np.ndarray], None]
    ) -> np.ndarray:
        """Return what `add` adds up for these features."""
        sums = np.zeros((len(features), *shape), dtype=dtypes.FIXED)
        for kind in (self.index.indexed[features], ~self.index.indexed[features]):
            if kind.any():
                own = np.zeros((int(kind.sum()), *shape), dtype=dtypes.FIXED)
                add(features[kind], own)
                sums[kind] = own
        return sums
