"""Trees that grow leaf by leaf: kernels grow those of few rows, threads share the features of large nodes.

`minrisk._kernels.grow.grow` has the rows beside it. Of rows in several pieces the sums of each node are exchanged, and
every piece makes the same choices from them. `PairGrowth` grows trees whose nodes each look at a pair of classes of
their own: AOSO-LogitBoost's.

Splits may be searched on rows that are drawn by minimal variance sampling (`minrisk._kernels.sampling`): the last
section says which, what is sent of them to one piece, and how it lies there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar
from weakref import ref

import numpy as np

from minrisk._kernels._dtypes import BIN, COUNT_BITS, FIXED, FLOAT_BITS, LEAF, MAX_BINS, SUM_BITS, TIE
from minrisk._kernels.fixed import fix_columns, fix_sketch, leaf_column_sums, project
from minrisk._kernels.functions import exp
from minrisk._kernels.grow import (
    CLOSED,
    COUNT_APART,
    EVALUATED,
    GROWTH_TIE,
    NEWTON,
    PENDING,
    SKETCH,
    begin,
    count_entries,
    count_of,
    cut_draws,
    divide_leaf,
    draw_features,
    evaluate_histograms,
    evaluate_some,
    grow,
    grow_stored,
    leaf_to_split,
    merit,
    node_sums,
    pack_entries,
    pair_columns,
    product_sums,
)
from minrisk._kernels.histogram import (
    NUMBERED_ROWS,
    count_drawn,
    gather,
    node_histograms,
    pack_drawn,
    stored_node_histograms,
)
from minrisk._kernels.sampling import (
    SIZE_BINS,
    SIZE_SHIFT,
    count_sizes,
    draw_rows,
    order_by_leaf,
    pack_rows,
    project_drawn,
    size_level,
)
from minrisk._kernels.scores import leaf_numbers, number_others
from minrisk._kernels.structures import BinnedRows, Entries, GrowthState, RowEntries, Search
from minrisk._typing import Binned, FloatArray, Int32Array, IntArray
from minrisk._utils.memory import empty, read_only
from minrisk.rows.base import GrownTree, GrowthRule, PairedLeaves, Target
from minrisk.rows.columns import ADDED_SUMS, WALK_SUMS, RowColumns, no_lists
from minrisk.rows.exchange import divide, fixed_factor

SENT_ROWS = 1 << 17  # of all pieces, up to which all are sent to one for a tree: no more than are drawn from many
PACKED_ROWS = 1 << COUNT_BITS  # from which on a count does not fit beside a sum of Hessians
MOST_ROWS = np.iinfo(np.int32).max  # whose numbers `order` holds
SHARES_OF_THREAD = 4  # tasks for each thread, at most: the last one of another is then not waited for long
GROWN_SUMS = 2  # elementary sums that a row, feature and column takes in the search of a node: rows lie apart
LEAF_SUMS = 8  # and a row and output in sums by leaf
NEAR_TIES = 4.0 * GROWTH_TIE  # relative difference of merits from which on it does not matter how they are compared

Result = TypeVar("Result")


def drawn_features(search: Search, node: int) -> IntArray:
    """Return the features that a node looks at."""
    drawn = np.empty(len(search.features), dtype=np.int64)
    draw_features(search.features, search.n_drawn, search.seed, node, drawn)
    return read_only(drawn[: search.n_drawn])


def following(
    best: tuple[float, int, int],
    found: tuple[float, float, int, int],
    again: Callable[[float], tuple[float, float, int, int]],
) -> tuple[float, int, int]:
    """Return the best split of features that were searched so far, and of more of them searched by themselves.

    To the bit as if they had been searched after the first ones, whichever these are: a split must beat the best so far
    by more than a tie, so that splits that nearly tie may decide by the order in which they come.

    Parameters
    ----------
    best : tuple
        Merit, feature (-1: none) and bin so far.
    found : tuple
        Merit, the merit that it beat, feature and bin of the others by themselves.
    again : callable
        Searches the others for splits above a merit. It is asked only where splits nearly tie.
    """
    merit, beaten, feature, bin_ = found
    if feature < 0 or merit <= best[0]:  # none of them is above it by more than a tie
        return best
    rival = max(best[0], beaten)
    if best[1] >= 0 and merit <= rival + NEAR_TIES * abs(rival):
        merit, _, feature, bin_ = again(best[0])
    return best if feature < 0 else (merit, feature, bin_)


class Growth:
    """The columns and scratch memory of leaf-wise growth on one `RowColumns`; reused from round to round."""

    def __init__(self, rows: RowColumns) -> None:
        self._rows = ref(rows)  # which own this: without a cycle their memory is free when they are
        n_all = rows.place.n_rows
        if n_all > MOST_ROWS:
            raise ValueError(f"Trees with vectors in their leaves take at most {MOST_ROWS} rows, got {n_all}.")
        self._counts = n_all >= PACKED_ROWS  # in a column of their own
        first, last = rows.left_out
        trained = np.arange(first, dtype=np.int32), np.arange(last, rows.n_samples, dtype=np.int32)
        self._all = np.concatenate(trained)
        self._sizes = empty((rows.n_samples,), np.float64)  # of rows that are drawn from; afterwards its memory is
        self.order, self._spare = (half[: len(self._all)] for half in np.split(self._sizes.view(np.int32), 2))
        self.order[:] = self._all  # before a tree is grown all rows are in one leaf
        self._columns = np.empty((0, 0), dtype=FIXED)
        self._sketch = np.empty((0, 0))
        self._room, self._bins = np.empty(0, dtype=rows.X_binned.dtype), rows.X_binned
        self._stored: Entries | None = None  # of sparse features, in the place of bins
        self._member = rows.leaf
        self._lists = self._no_lists = no_lists(rows.n_features)
        self._side = np.zeros(0, dtype=np.uint8)
        self._kept: dict[int, np.ndarray] = {}
        self._tree: GrowthState | None = None
        self.start, self.end = np.array([0]), np.array([len(self._all)])

    @property
    def rows(self) -> RowColumns:
        """Return the rows whose growth it is."""
        rows = self._rows()
        assert rows is not None
        return rows

    # -- columns ---------------------------------------------------------------------------------------------------
    def _prepare(
        self, target: Target, in_bag: Int32Array, features: IntArray, are_drawn: bool
    ) -> tuple[FloatArray, int]:
        """Fill the fixed-point columns that splits are searched on, and `order` with their rows.

        Returns what a unit of each column is worth, and the number of rows.
        """
        rows, D, n = self.rows, self.rows.n_outputs, len(in_bag)
        n_sketch = 0 if target.directions is None else len(target.directions) + 1
        height = max(rows.n_samples, n)  # rows that were drawn several times may be more
        self._make_room(height, n_sketch + self._counts if n_sketch else 2 * D + 1)
        self.order[:n], self._bins = in_bag, rows.X_binned
        unlisted = are_drawn or rows.n_samples > NUMBERED_ROWS  # lists: all rows, once, in two bytes
        self._lists = self._no_lists if unlisted else rows.index.lists
        if rows.sparse is not None:
            self._stored, self._member = rows.sparse.stored, rows.leaf
        if len(self._lists[2]) or rows.sparse is not None:
            # Lists and stored entries are of all rows, which tell by their leaf whether they are in a node.
            rows.leaf[:] = -1
            rows.leaf[in_bag] = 0
        if target.directions is None:
            gradient, hessian = (rows.gradient, rows.top_gradient), (rows.hessian, rows.top_hessian)
            factors = [self._fix(*gradient, 0), self._fix(*hessian, D), np.ones(1)]
            self._columns[:, 2 * D] = 1
            return divide(1.0, np.concatenate(factors)), n
        if self._sketch.shape != (height, n_sketch):
            self._sketch = empty((height, n_sketch), np.float64)
        sketch, top = self._sketch, self._project(target, self._sketch)
        if are_drawn:
            sketch[:n] = sketch[in_bag]
            return self._fix_sketch(sketch, top, 0, n), self._pack(features, in_bag)
        sums = 2.0 * n_sketch / D
        units: list[FloatArray] = rows.over_blocks(self._fix_sketch, sketch, top, sums=sums)
        return units[0], n

    def _project(self, target: Target, sketch: FloatArray) -> FloatArray:
        """Fill the sketch of all rows; returns its column maxima in all pieces."""
        rows, directions, weight = self.rows, target.directions, target.weight
        sums = 2.0 * sketch.shape[1] / rows.n_outputs
        return rows.topped(project, rows.gradient, rows.hessian, directions, weight, sketch, sums=sums)

    def _make_room(self, n: int, n_columns: int) -> None:
        """Make columns and order for n rows at least."""
        if len(self._columns) < n or self._columns.shape[1] != n_columns:
            self._columns = empty((n, n_columns), FIXED)
        if n > len(self.order):
            self.order, self._spare = np.empty((2, n), dtype=np.int32)

    def _fix_sketch(self, sketch: FloatArray, top: FloatArray, start: int, stop: int) -> FloatArray:
        """Bring rows start..stop of a sketch to fixed point; return what a unit of each column is worth."""
        count_bits = 0 if self._counts else COUNT_BITS
        unit: FloatArray = fix_sketch(sketch, top, self.rows.sum_bits, count_bits, self._columns, start, stop)
        return unit

    def _pack(self, features: IntArray, drawn: Int32Array) -> int:
        """Put these rows side by side, numbered from 0: nodes of few rows read few lines of memory. Returns how many.

        Of sparse features their columns go where the rows are, those of a row that was drawn several times together.
        """
        m = len(drawn)
        if self.rows.sparse is not None:
            first = np.flatnonzero(np.diff(drawn, prepend=-1))
            rows = drawn[first].copy()
            sums = np.add.reduceat(self._columns[:m], first) if m else self._columns[:0].copy()
            self._columns[rows] = sums
            self.rows.leaf[:] = -1
            self.rows.leaf[rows] = 0
            self.order[: len(rows)] = rows
            return len(rows)
        self._bins = read_only(self._packed(features, drawn))
        self.order[:m] = np.arange(m)
        return m

    def _packed(self, features: IntArray, drawn: Int32Array) -> np.ndarray:
        """Return bins of these rows, (d, m), of which only those of the features are there."""
        d, m, X_binned = self.rows.n_features, len(drawn), self.rows.X_binned
        if len(self._room) < d * m:
            self._room = empty((d * m,), X_binned.dtype)
        bins = self._room[: d * m].reshape(d, m)
        self._over_features(len(features), bins.size, lambda a, b: pack_rows(X_binned, features[a:b], drawn, bins))
        return bins

    def _fix(self, values: FloatArray, top: FloatArray, first: int) -> FloatArray:
        """Write values of the bag in fixed point into the columns from `first` on; returns their factors."""
        rows, factor = self.rows, self.rows.fixed_factor(top)
        rows.over_blocks(fix_columns, values, rows.in_bag, factor, self._columns, first)
        return factor

    # -- growing ---------------------------------------------------------------------------------------------------
    def grow(
        self, target: Target, rule: GrowthRule, features: IntArray, seed: int, drawn: Int32Array | None = None
    ) -> GrownTree:
        """Return a tree on the rows in the bag; `order`, `start` and `end` hold its leaves afterwards.

        Or on rows that were `drawn`, some of them perhaps several times, in ascending order: by a sketch.
        """
        rows, rule, features = self.rows, rule.within(self.rows.n_trained), read_only(features)
        if self._counts and target.gain == SKETCH:
            target = target._replace(gain=COUNT_APART)
        in_bag = self._all if rows.whole else np.flatnonzero(rows.in_bag).astype(np.int32)
        in_bag = in_bag if drawn is None else drawn
        is_bag = False  # whether `order` has all rows of the bag leaf by leaf
        if drawn is None and (n_bag := self._drawn_from(target, rule, len(in_bag))):
            assert rule.n_rows is not None
            chosen, sketch = draw(rows, target, rule.n_rows, most_drawn(n_bag, rule), seed, self._sizes)
            grown, order = self._grow_at_one(target, rule, features, seed, chosen, sketch)
        elif drawn is None and self._are_few(target):
            assert target.directions is not None
            sketch = empty((rows.n_samples, len(target.directions) + 1), np.float64)
            top = self._project(target, sketch)
            grown, order = self._grow_at_one(target, rule, features, seed, in_bag, sketch[in_bag], top)
        else:
            factor, n_searched = self._prepare(target, in_bag, features, drawn is not None)
            search = rule.search(target, features, seed, factor)
            grow_on = self._grow_here if rows.is_alone else self._grow_with_others
            grown = grow_on(search, rule, self.order[:n_searched])
            is_bag = drawn is None
            order = self.order[:n_searched] if is_bag else None
        self._number(grown, order, is_bag)
        if not is_bag:  # vectors are of all its rows
            self.start, self.end = np.empty((2, len(grown.leaf_node)), dtype=np.int64)
            order_by_leaf(in_bag, rows.leaf, self.order, self.start, self.end)
        return grown

    def _drawn_from(self, target: Target, rule: GrowthRule, n_here: int) -> int:
        """Return rows in the bag, if splits are searched on some that are drawn from it, else 0."""
        rows = self.rows
        if target.directions is None or rule.n_rows is None or rows.n_trained <= rule.n_rows:
            return 0
        n_bag = rows.n_trained if rows.whole else int(rows.exchange.added(np.array([n_here]))[0])
        return n_bag if n_bag > rule.n_rows else 0

    def _are_few(self, target: Target) -> bool:
        """Return whether other pieces have rows, and all together are so few that they are sent to one."""
        rows = self.rows
        return not rows.is_alone and target.directions is not None and rows.place.n_rows <= SENT_ROWS

    def _grow_at_one(
        self,
        target: Target,
        rule: GrowthRule,
        features: IntArray,
        seed: int,
        drawn: Int32Array,
        sketch: FloatArray,
        top: FloatArray | None = None,
    ) -> tuple[GrownTree, Int32Array | None]:
        """Grow on rows with this sketch, which are sent to one piece, which tells the others the tree.

        Returns it, and these rows leaf by leaf where no other piece has rows; of stored entries None.
        `top` has the sketch's column maxima, where they are not of these rows alone.
        """
        rows = self.rows
        bins = None if rows.sparse is not None else self._packed(features, drawn)

        def make(messages: list[SentRows]) -> GrownTree:
            self._bins, self._stored, sketch = drawn_together(rows, features, messages)
            m, n_sketch = sketch.shape
            self._make_room(m, n_sketch + self._counts)
            self.order[:m], self._lists = np.arange(m), self._no_lists
            self._member = np.zeros(m, dtype=LEAF)
            own = np.abs(sketch).max(axis=0, initial=0.0) if top is None else top
            factor = self._fix_sketch(sketch, own, 0, m)
            return self._grow_here(rule.search(target, features, seed, factor), rule, self.order[:m])

        grown: GrownTree = rows.exchange.made_of_all(sent(rows, features, drawn, bins, sketch), make)
        known = drawn[self.order[: len(drawn)]] if rows.is_alone and rows.sparse is None else None
        return grown, known

    def _grow_here(self, search: Search, rule: GrowthRule, order: Int32Array) -> GrownTree:
        """Grow on these rows alone, which the kernel sums and scans side by side."""
        rows, L, C = self.rows, rule.max_leaves, self._columns.shape[1]
        if self._tree is None or self._tree.total.shape != (L, C):
            self._tree = GrowthState.empty(L, C)
        tree = self._tree
        tree.sizes[0] = 0  # by which the kernel begins anew
        self._kept.clear()
        if rule.min_share:
            search = search._replace(min_hessian=rule.least_hessian(self._columns[order].sum(axis=0), search.gain))
        if rows.sparse is not None:
            if len(self._side) < len(self._member):
                self._side = np.zeros(len(self._member), dtype=np.uint8)
            entries, room = self._row_entries(search), (order, self._spare, self._side)
            grow_stored(tree, self._stored, entries, self._columns, search, self._member, *room)
            return self._as_grown(tree)
        binned, large = self._binned(), self._large(search, len(order))
        while True:
            split = grow(tree, binned, self._columns, search, large, order, self._spare)
            if split < 0:
                break
            leaves = [split] if tree.sizes[0] == 1 else [split, int(tree.sizes[0]) - 1]
            waiting = [leaf for leaf in leaves if tree.status[leaf] == PENDING]
            if search.n_drawn == len(search.features):
                histograms = self._histograms(leaves, waiting, search)
                draws = [int(cut_draws(search.seed, tree.node[leaf], search.random)) for leaf in waiting]
                found = [
                    self._best(search, *histograms[leaf], tree.total[leaf], own)
                    for leaf, own in zip(waiting, draws, strict=True)
                ]
            else:
                found = self._searched(waiting, search, binned, order)
            for leaf, best in zip(waiting, found, strict=True):
                self._judge(tree, search, leaf, *best)
        self._kept.clear()
        return self._as_grown(tree)

    def _binned(self) -> BinnedRows:
        return BinnedRows(self._bins, self.rows.n_bins, self._lists, self.rows.leaf)

    def _row_entries(self, search: Search) -> RowEntries:
        """Return the round's features row after row, where nodes look at all of them."""
        rows, stored, width = self.rows, self._stored, self._columns.shape[1]
        features, offsets = search.features, np.zeros(len(self._member) + 1, dtype=np.int64)
        everything = search.n_drawn == len(features)
        if everything:
            count_entries(stored, features, self._member, offsets)
        first = np.concatenate([[0], np.cumsum(rows.n_bins[features] if everything else features[:0])])
        feature, slot = np.empty((2, offsets[-1]), dtype=np.int32)
        if everything:
            pack_entries(stored, features, self._member, offsets, first, feature, slot)
        sums, stamp = np.zeros((first[-1], width), dtype=FIXED), np.full(len(first) - 1, -1)
        return RowEntries(offsets, feature, slot, first, sums, stamp)

    def _as_grown(self, tree: GrowthState) -> GrownTree:
        """Return a copy of what is in use of it; `start` and `end` are its leaves."""
        n_leaves, n_nodes, deepest = tree.sizes.tolist()
        self.start, self.end, node = tree.start[:n_leaves], tree.end[:n_leaves], tree.node[:n_leaves].copy()
        feature, bins, left, gain = (
            column[:n_nodes].copy() for column in (tree.feature, tree.bin, tree.left, tree.gain)
        )
        return GrownTree(feature, bins, left, gain, node, deepest)

    def _large(self, search: Search, n_rows: int) -> int:
        """Return the rows above which leaves are evaluated apart: a parent less a sibling, or free threads, pay there.

        The splits are the same.
        """
        limits = self.rows.limits
        if search.n_drawn == len(search.features):
            return limits.large_leaf
        sums = GROWN_SUMS * search.n_drawn * self._columns.shape[1]
        return limits.inline_work // 2 // sums if self.rows.workers.n_free > 1 else n_rows  # a sibling comes with it

    def _searched(
        self, leaves: list[int], search: Search, binned: BinnedRows, order: Int32Array
    ) -> list[tuple[float, int, int]]:
        """Find the best split of each of these leaves over the features that it draws: merit, feature, bin.

        Threads share the features of all of them at once, in ranges as large as leaves enough for each to do.
        """
        rows, tree, n_drawn = self.rows, self._tree, search.n_drawn
        assert tree is not None
        columns, work, given = self._columns, [], []
        for leaf in leaves:
            start, end = int(tree.start[leaf]), int(tree.end[leaf])
            gathered = empty((end - start, columns.shape[1]), FIXED)
            gather(columns, order, start, end, gathered)
            whole = merit(tree.total[leaf], search.factor, search.ridge, search.gain)
            drawn = drawn_features(search, tree.node[leaf])
            given.append((leaf, start, end, drawn, gathered, whole))
            work.append(GROWN_SUMS * gathered.size * n_drawn)
        share = max(1, rows.limits.inline_work // 2, sum(work) // (SHARES_OF_THREAD * rows.workers.n))
        ranges = []
        for number, sums in enumerate(work):
            parts = min(n_drawn, max(1, round(sums / share)))
            bounds = [n_drawn * part // parts for part in range(parts + 1)]
            ranges += [(number, first, last) for first, last in itertools.pairwise(bounds)]

        def evaluate(number: int, first: int, last: int, least: float) -> tuple[float, float, int, int]:
            leaf, start, end, drawn, gathered, _ = given[number]
            some, total, draws = (
                drawn[first:last],
                tree.total[leaf],
                int(cut_draws(search.seed, tree.node[leaf], search.random)),
            )
            found: tuple[float, float, int, int] = evaluate_some(
                binned, some, columns, order, start, end, total, search, leaf, gathered, least, draws
            )
            return found

        found = rows.workers.map(lambda one: evaluate(*one, given[one[0]][-1]), ranges)
        best = [(whole, -1, -1) for *_, whole in given]
        for (number, first, last), split in zip(ranges, found, strict=True):
            best[number] = following(best[number], split, partial(evaluate, number, first, last))
        return best

    def _grow_with_others(self, search: Search, rule: GrowthRule, order: Int32Array) -> GrownTree:
        """Grow on the rows of all pieces: the sums of every node are exchanged, and each piece divides its own rows."""
        rows, lists = self.rows, len(self._lists[2]) > 0
        here = [self._columns[order].sum(axis=0)]  # sums over the rows of each leaf in this piece
        tree, search = self._begun(search, rule, rows.exchange.added(here[0]), len(order))
        everything = search.n_drawn == len(search.features)
        n_rows = count_of(tree.total[0], search.gain)
        # As `_grow_here` does: whether features are looked at one after another or in ranges may decide near ties.
        large = rows.limits.large_leaf if everything else n_rows
        leaves = [0]
        while True:
            for leaf in [leaf for leaf in leaves if tree.status[leaf] == PENDING]:
                node, total = tree.node[leaf], tree.total[leaf]
                drawn, draws = drawn_features(search, node), int(cut_draws(search.seed, node, search.random))
                own = self._by_rows(drawn, leaf, int(tree.start[leaf]), int(tree.end[leaf]), here[leaf])
                width = None if count_of(total, search.gain) > large else len(drawn)
                best = self._best(search, drawn, rows.exchange.added(own), total, draws, width)
                self._judge(tree, search, leaf, *best)
            split = leaf_to_split(tree)
            if split < 0:
                break
            middle = self._divide(tree, split, order)
            part = self._columns[order[tree.start[split] : middle]].sum(axis=0)
            below = rows.exchange.added(part)
            divide_leaf(tree, split, middle, below, tree.total[split] - below, search)
            leaves = [split, len(here)]
            here.append(here[split] - part)
            here[split] = part
            if lists:
                rows.leaf[order[middle : tree.end[leaves[1]]]] = leaves[1]
        return self._as_grown(tree)

    def _begun(self, search: Search, rule: GrowthRule, total: IntArray, n_rows: int) -> tuple[GrowthState, Search]:
        """Return a tree of one leaf with this sum over all pieces, and the search with the least Hessian of a split."""
        search = search._replace(min_hessian=rule.least_hessian(total, search.gain))
        tree = GrowthState.empty(rule.max_leaves, len(total))
        begin(tree, total, n_rows, search)
        return tree, search

    @staticmethod
    def _judge(tree: GrowthState, search: Search, leaf: int, best: float, feature: int, bin_: int) -> None:
        """Take down the best split of a leaf, of which `best` is the merit of both sides."""
        tree.drop[leaf] = best - merit(tree.total[leaf], search.factor, search.ridge, search.gain)
        tree.best_feature[leaf], tree.best_bin[leaf] = feature, bin_
        tree.status[leaf] = EVALUATED if feature >= 0 else CLOSED

    def _histograms(
        self, leaves: list[int], waiting: list[int], search: Search
    ) -> dict[int, tuple[IntArray, np.ndarray]]:
        """Make features and histograms (f, MAX_BINS, C) of the leaves that wait; kept for their children's."""
        features = search.features
        assert self._tree is not None
        found, (start, end, node) = {}, (self._tree.start, self._tree.end, self._tree.node)
        parent = self._kept.pop(leaves[0], None)
        if parent is not None and len(leaves) == 2:
            # The rows of the smaller one alone are read: sums are of whole numbers, so what is left is exact.
            smaller, larger = sorted(leaves, key=lambda leaf: (end[leaf] - start[leaf], leaf))
            own = self._of_leaf(features, smaller)
            self._over_features(len(features), own.size, lambda a, b: np.subtract(parent[a:b], own[a:b], parent[a:b]))
            found = {smaller: (features, own), larger: (features, parent)}
        else:
            for leaf in waiting:
                drawn = drawn_features(search, node[leaf])
                found[leaf] = (drawn, self._of_leaf(drawn, leaf))
        limits = self.rows.limits
        for leaf in waiting:
            large, histograms = end[leaf] - start[leaf] > limits.large_leaf, found[leaf][1]
            if large and histograms.nbytes * (len(self._kept) + 1) <= limits.kept_bytes:
                self._kept[leaf] = histograms
        return found

    def _divide(self, tree: GrowthState, split: int, order: Int32Array) -> int:
        """Put the rows of a leaf that are below its threshold first, in their old order; where the others begin."""
        sparse, feature, bin_ = self.rows.sparse, tree.best_feature[split], tree.best_bin[split]
        own = slice(tree.start[split], tree.end[split])
        bins = self._bins[feature] if sparse is None else sparse.some(np.array([feature]))[0]
        above = bins[order[own]] > bin_
        order[own] = order[own][np.argsort(above, kind="stable")]
        return int(own.stop) - int(above.sum())

    def _of_leaf(self, features: IntArray, leaf: int) -> np.ndarray:
        """Return histograms of a leaf of the tree that the kernel grows."""
        tree = self._tree
        assert tree is not None
        return self._by_rows(features, leaf, int(tree.start[leaf]), int(tree.end[leaf]), tree.total[leaf])

    def _by_rows(self, features: IntArray, leaf: int, start: int, end: int, total: IntArray) -> np.ndarray:
        """Return histograms of a leaf from its rows, which are order[start:end] and add up to `total`."""
        gathered = np.empty((end - start, self._columns.shape[1]), dtype=FIXED)
        gather(self._columns, self.order, start, end, gathered)
        out = np.empty((len(features), MAX_BINS, gathered.shape[1]), dtype=FIXED)
        sparse = self.rows.sparse
        if sparse is not None:
            member = np.full(self.rows.n_samples, -1, dtype=np.int32)
            member[self.order[start:end]] = leaf
            self._over_features(
                len(features),
                len(features) * self.rows.n_samples,
                lambda a, b: stored_node_histograms(
                    sparse.stored, features[a:b], self._columns, total, member, leaf, out[a:b]
                ),
            )
            return out
        binned = self._binned()
        self._over_features(
            len(features),
            gathered.size * len(features),
            lambda a, b: node_histograms(
                binned, features[a:b], self._columns, self.order, start, end, total, leaf, gathered, out[a:b]
            ),
        )
        return out

    def _best(
        self,
        search: Search,
        features: IntArray,
        histograms: np.ndarray,
        total: IntArray,
        draws: int = 0,
        width: int | None = None,
    ) -> tuple[float, int, int]:
        """Find the best split over the features, `width` at a time: merit, feature, bin; ties to the lowest feature."""
        n_bins = self.rows.n_bins
        found: list[tuple[float, int, int]] = self._over_features(
            len(features),
            histograms.size,
            lambda a, b: evaluate_histograms(histograms[a:b], features[a:b], n_bins, total, search, draws),
            width,
        )
        best = found[0]
        for split in found[1:]:
            if split[1] >= 0 and (best[1] < 0 or split[0] > best[0] + GROWTH_TIE * abs(best[0])):
                best = split
        return best

    def _over_features(
        self, n_features: int, work: int, task: Callable[[int, int], Result], width: int | None = None
    ) -> list[Result]:
        """Run `task(first, last)` over ranges of features, in ascending order, on the threads where that pays.

        The ranges do not depend on the threads, so that neither does the first of equal splits.
        """
        width = width or max(4, n_features // 32)
        starts = range(0, n_features, width)

        def run(firsts: Sequence[int]) -> list[Result]:
            return [task(first, min(first + width, n_features)) for first in firsts]

        limits, workers = self.rows.limits, self.rows.workers
        parts = min(len(starts), SHARES_OF_THREAD * workers.n, 2 * work // max(1, limits.inline_work))
        if parts < 2 or workers.n_free == 1:
            return run(starts)
        groups = [starts[len(starts) * part // parts : len(starts) * (part + 1) // parts] for part in range(parts)]
        return list(itertools.chain.from_iterable(workers.map(run, groups)))

    # -- what the leaves hold ----------------------------------------------------------------------------------------
    def _number(self, tree: GrownTree, order: Int32Array | None, is_bag: bool = True) -> None:
        """Write the leaf numbers of all rows: those of `order`, the bag's or some, stand leaf by leaf; others walk."""
        rows = self.rows
        is_done = is_bag and order is not None and len(order) == len(self._all)
        if not is_done:
            rows.leaf[:] = -1
        if order is not None:
            leaf_numbers(order, self.start, self.end, rows.leaf)
        if is_done:
            return
        number = np.zeros(len(tree.feature), dtype=np.int32)
        number[tree.leaf_node] = np.arange(len(tree.leaf_node))
        X_binned, feature = rows.split_bins(tree.feature)
        nodes = feature, tree.bin, tree.left, number
        rows.over_blocks(number_others, X_binned, *nodes, rows.leaf, sums=WALK_SUMS / rows.n_outputs)

    def leaf_sums(self) -> tuple[FloatArray, FloatArray]:
        """Return gradient and Hessian summed over the rows of each leaf, (L, D) each."""
        rows, n_leaves = self.rows, len(self.start)
        inline = LEAF_SUMS * rows.n_samples * rows.n_outputs < rows.limits.inline_work
        parts = 1 if inline or rows.workers.n_free == 1 else min(n_leaves, SHARES_OF_THREAD * rows.workers.n)
        ends = np.cumsum(self.end - self.start)
        bounds = np.searchsorted(ends, ends[-1] * np.arange(1, parts) // parts) + 1  # about as many rows in each part
        bounds = np.unique([0, *bounds, n_leaves])
        sums = np.empty((2, n_leaves, rows.n_outputs))
        gradient, hessian = sums

        def add(bounds: tuple[int, int]) -> None:
            leaves = slice(*bounds)
            leaf_column_sums(
                rows.gradient,
                rows.hessian,
                rows.top_gradient,
                rows.top_hessian,
                rows.sum_bits - (SUM_BITS - FLOAT_BITS),  # the kernel sums whole numbers as float64
                self.order,
                self.start[leaves],
                self.end[leaves],
                gradient[leaves],
                hessian[leaves],
            )

        rows.workers.map(add, itertools.pairwise(bounds.tolist()))
        gradient, hessian = rows.exchange.added(sums)
        return gradient, hessian


# -- Pairs of classes --------------------------------------------------------------------------------------------------
class PairGrowth(Growth):
    """Growth on the columns of the node's own pair, filled again for every node; sums are exchanged node by node."""

    def __init__(self, rows: RowColumns) -> None:
        super().__init__(rows)
        self._columns = empty((rows.n_samples, 3), FIXED)
        self.pairs, self.totals, self.units = np.zeros((0, 2), dtype=np.int64), np.zeros((0, 3)), np.ones(3)

    def grow_pairs(self, rule: GrowthRule, ridge: float, features: IntArray, log_scale: float) -> GrownTree:
        """Grow a tree on the bag; `order`, `start` and `end` then hold its leaves, `pairs` and `totals` theirs."""
        rows, rule, features = self.rows, rule.within(self.rows.n_trained), read_only(features)
        in_bag = self._all if rows.whole else np.flatnonzero(rows.in_bag).astype(np.int32)
        self.order[: len(in_bag)], self._bins, self._lists = in_bag, rows.X_binned, self._no_lists
        order, scale = self.order[: len(in_bag)], exp(-log_scale)
        # Bounds of |u| and rho for any pair, since a node's own is known only when its columns are filled.
        tops = np.array([2.0 * float(rows.top_gradient.max()), 4.0 * rows.top_weight * scale])
        factors = rows.fixed_factor(tops)
        self.units = divide(1.0, np.append(factors, 1.0))
        search = rule.search(Target(NEWTON, np.array([ridge])), features, 0, self.units)
        pair, total = self._look(order, 0, len(order), ridge, factors, scale)
        tree, search = self._begun(search, rule, total, len(order))
        pairs, leaves = [pair], [0]
        while True:
            for leaf in [leaf for leaf in leaves if tree.status[leaf] == PENDING]:
                start, end = int(tree.start[leaf]), int(tree.end[leaf])
                here = self._columns[order[start:end]].sum(axis=0)
                histograms = rows.exchange.added(self._by_rows(features, leaf, start, end, here))
                self._judge(tree, search, leaf, *self._best(search, features, histograms, tree.total[leaf]))
            split = leaf_to_split(tree)
            if split < 0:
                break
            first, last, middle = int(tree.start[split]), int(tree.end[split]), self._divide(tree, split, order)
            # Either side looks at a pair of its own.
            pairs[split], below = self._look(order, first, middle, ridge, factors, scale)
            pair, above = self._look(order, middle, last, ridge, factors, scale)
            divide_leaf(tree, split, middle, below, above, search)
            leaves = [split, len(pairs)]
            pairs.append(pair)
        grown = self._as_grown(tree)
        self.pairs, self.totals = np.array(pairs), tree.total[: len(pairs)]
        self._number(grown, order)
        return grown

    def paired_leaves(self) -> PairedLeaves:
        """Return the pair of each leaf of the grown tree, and its sums."""
        sums = self.totals * self.units
        return PairedLeaves(self.pairs, sums[:, 0], sums[:, 1])

    def _look(
        self, order: Int32Array, start: int, end: int, ridge: float, factors: FloatArray, scale: float
    ) -> tuple[tuple[int, int], IntArray]:
        """Return the pair of a node, whose columns it fills, and their sums over the rows of all pieces.

        r has the largest gradient; s is then the class of the largest fall of a Newton step along e_r - e_s.
        """
        rows, costs = self.rows, self.rows.costs
        gradient_factor, hessian_factor = rows.fixed_factor(rows.top_gradient), rows.fixed_factor(rows.top_hessian)
        own = node_sums(rows.gradient, rows.hessian, gradient_factor, hessian_factor, order, start, end)
        sums = rows.exchange.added(own)
        gradient, hessian = divide(sums[0], gradient_factor), divide(sums[1], hessian_factor)
        little = TIE * float(hessian.sum())  # in balanced classes all of them are 0 but for rounding
        r = int(np.flatnonzero(gradient >= gradient.max() - little)[0])
        factor = fixed_factor(np.array([rows.top_weight * scale]), rows.sum_bits)
        own = product_sums(rows.gradient, costs.label, costs.weight, scale, r, float(factor[0]), order, start, end)
        products = divide(rows.exchange.added(own), factor[0])
        room = hessian[r] + hessian + 2.0 * products + ridge
        apart = np.abs(gradient[r] - gradient)
        apart[apart <= little] = 0.0
        falls = np.divide(apart**2, room, out=np.zeros_like(room), where=room > 0.0)
        falls[r] = -1.0  # even where nothing falls, a pair has two classes
        s = int(np.flatnonzero(falls >= falls.max() * (1.0 - TIE))[0])
        given = rows.gradient, rows.hessian, costs.label, costs.weight, scale
        here = pair_columns(*given, r, s, factors, order, start, end, self._columns)
        return (r, s), rows.exchange.added(here)


# -- Rows that are drawn for the search of splits ----------------------------------------------------------------------
MOST_DRAWN = 1 / 8  # of the rows, for a search
SEARCHED = 1 << 19  # ..., or rows times features looked at: up to then it takes no longer than the rest of a round
MOST_TIMES = 16  # the least number: rows that are sent to one piece do not grow with all there are
HASH_SUMS = 8.0  # elementary sums that a row's random number takes


class SentRows(NamedTuple):
    """What a piece sends of the rows that it has drawn, m of them, in F features."""

    sketch: FloatArray  # (m, q + 1), each row over the probability with which it came
    bins: np.ndarray  # (F, m), or (d, m) if nobody else is there; or (E,) of the entries of sparse features,
    counts: IntArray  # (F,) how many entries each feature has,
    rows: Int32Array  # (E,) and their rows, of the m


def most_drawn(n_rows: int, rule: GrowthRule) -> int:
    """Return rows that are drawn from so many at most, however alike their gradients are."""
    assert rule.n_rows is not None
    return min(max(int(n_rows * MOST_DRAWN), SEARCHED // rule.n_drawn), MOST_TIMES * rule.n_rows)


def draw(
    rows: RowColumns, target: Target, least: int, most: int, seed: int, size: FloatArray
) -> tuple[Int32Array, FloatArray]:
    """Draw rows of the bag: those of this piece, ascending, and their sketch over the probabilities.

    A row's size s is the length of its gradient in the sketch, |r gradient|. It is drawn with probability
    p = min(1, (s + floor) / level), apart from all others, by a hash of the seed and its number. The level makes the
    expected number that of `size_level`: every piece finds the same from one histogram of all sizes.

    Parameters
    ----------
    rows : RowColumns
    target : Target
        With directions.
    least, most : int
        Rows to be drawn in all pieces: the expected number. The least is below the number of rows in the bag.
    seed : int
    size : ndarray of shape (n,)
        Is filled with the sizes.
    """
    directions, n_outputs, in_bag = target.directions, rows.n_outputs, rows.in_bag
    assert directions is not None
    tops = (np.abs(directions) * rows.top_gradient).sum(axis=1)
    top = np.sqrt((tops**2).sum())  # no size is above it but by rounding, and all pieces know it
    lowest = int(np.float64(top).view(np.int64) >> SIZE_SHIFT) - (SIZE_BINS - 1)
    factor = float(fixed_factor(np.array(top), rows.sum_bits))
    given, sums = (rows.gradient, directions, in_bag, lowest, factor, size), 2.0 * len(directions)
    floor, level = size_level(rows.summed(count_sizes, *given, sums=sums), factor, least, most)
    begins, number = rows.place.numbered
    drawn = empty((rows.n_samples,), np.int32)  # of which few are touched

    def draw_block(start: int, stop: int) -> Int32Array:
        m = draw_rows(size, in_bag, floor, level, seed, begins, number, start, stop, drawn)
        return drawn[start : start + m]

    chosen = np.concatenate(rows.over_blocks(draw_block, sums=HASH_SUMS / n_outputs))
    m, sketch = len(chosen), np.empty((len(chosen), len(directions) + 1))

    def project(block: tuple[int, int]) -> None:
        of = rows.gradient, rows.hessian, directions, target.weight
        project_drawn(*of, size, floor, level, chosen, *block, sketch)

    alone = m * n_outputs * sketch.shape[1] * ADDED_SUMS < rows.limits.inline_work
    parts = 1 if alone else rows.workers.n
    rows.workers.map(project, [(m * part // parts, m * (part + 1) // parts) for part in range(parts)])
    return chosen, sketch


def sent(
    rows: RowColumns, features: IntArray, drawn: Int32Array, bins: np.ndarray | None, sketch: FloatArray
) -> SentRows:
    """Return what a piece sends: bins of the features, from their array (d, m) or from stored entries."""
    if rows.sparse is None:
        assert bins is not None
        none = np.empty(0, dtype=np.int32)
        return SentRows(sketch, bins if rows.is_alone else bins[features], none.astype(np.int64), none)
    features = np.sort(features)
    stored, place, counts = rows.sparse.stored, rows.leaf, np.empty(len(features), dtype=np.int64)
    place[:] = -1
    place[drawn] = np.arange(len(drawn), dtype=LEAF)
    count_drawn(stored, features, place, counts)
    entries = int(counts.sum())
    of_row, bins = np.empty(entries, dtype=np.int32), np.empty(entries, dtype=BIN)
    pack_drawn(stored, features, place, of_row, bins)
    return SentRows(sketch, bins, counts, of_row)


def drawn_together(
    rows: RowColumns, features: IntArray, messages: Sequence[SentRows]
) -> tuple[Binned, Entries | None, FloatArray]:
    """Return bins of the drawn rows of all pieces (d, m), or stored entries, in any order; and their sketch."""
    if rows.is_alone:
        sketch, bins, counts, of_row = messages[0]
    else:
        sketch = np.concatenate([message.sketch for message in messages])
        bins = np.concatenate([message.bins for message in messages], axis=-1)
        counts = np.sum([message.counts for message in messages], axis=0)
        first = np.cumsum([0, *(len(message.sketch) for message in messages)])
        of_row = np.concatenate([m.rows + before for m, before in zip(messages, first[:-1], strict=True)])
    if rows.sparse is None:
        if not rows.is_alone:
            some, bins = bins, np.empty((rows.n_features, len(sketch)), dtype=BIN)
            bins[features] = some
        return read_only(bins), None, sketch
    if not rows.is_alone:
        feature = np.concatenate([np.repeat(np.arange(len(counts)), message.counts) for message in messages])
        order = np.argsort(feature, kind="stable")
        of_row, bins = of_row[order], bins[order]
    offsets = np.zeros(rows.n_features + 1, dtype=np.int64)
    offsets[np.sort(features) + 1] = counts
    stored = rows.sparse.stored
    entries = Entries(stored.default, np.cumsum(offsets), of_row.astype(np.int32), bins)
    return rows.X_binned, Entries(*map(read_only, entries)), sketch
