"""Growing trees leaf by leaf on local rows: kernels grow trees of few rows, threads share large nodes' features."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar
from weakref import ref

import numpy as np

from minrisk._kernels._dtypes import COUNT_BITS, FIXED, FLOAT_BITS, LEAF, MAX_BINS, SUM_BITS
from minrisk._kernels.fixed import fix_columns, fix_counted, fix_sketch, leaf_column_sums, project
from minrisk._kernels.grow import (
    CLOSED,
    COUNT_APART,
    EVALUATED,
    GROWTH_TIE,
    PENDING,
    SKETCH,
    GrowthState,
    cut_draws,
    draw_features,
    evaluate_histograms,
    evaluate_some,
    grow,
    merit,
)
from minrisk._kernels.histogram import NUMBERED_ROWS
from minrisk._kernels.node import gather, node_histograms
from minrisk._kernels.sampling import order_by_leaf, pack_rows
from minrisk._kernels.scores import leaf_numbers, tree_response
from minrisk._kernels.stored import (
    Entries,
    RowEntries,
    count_entries,
    grow_stored,
    pack_entries,
    stored_node_histograms,
)
from minrisk._memory import empty, read_only
from minrisk._typing import FloatArray, Int32Array, IntArray
from minrisk.rows.base import GrownTree, GrowthRule, Target
from minrisk.rows.fixed_point import divide
from minrisk.rows.growing import BestFirstTree, Leaf, least_mass
from minrisk.rows.local.columns import WALK_SUMS, LocalColumns
from minrisk.rows.local.drawn_rows import draw, drawn_together, most_drawn, sent
from minrisk.rows.local.sparse_index import no_lists

SENT_ROWS = 1 << 17  # of all pieces, up to which all are sent to one for a tree: no more than are drawn from many
PACKED_ROWS = 1 << COUNT_BITS  # from which on a count does not fit beside a sum of masses
MOST_ROWS = np.iinfo(np.int32).max  # whose numbers `order` holds
SHARES_OF_THREAD = 4  # tasks for each thread, at most: the last one of another is then not waited for long
GROWN_SUMS = 2  # elementary sums that a row, feature and column takes in the search of a node: rows lie apart
LEAF_SUMS = 8  # and a row and output in sums by leaf
NEAR_TIES = 4.0 * GROWTH_TIE  # relative difference of merits from which on it does not matter how they are compared

Result = TypeVar("Result")


def following(
    best: tuple[float, int, int],
    found: tuple[float, float, int, int],
    again: Callable[[float], tuple[float, float, int, int]],
) -> tuple[float, int, int]:
    """The best split of features that were searched so far, and of more of them that were searched by themselves.

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
    """The columns and scratch memory of leaf-wise growth on one `LocalColumns`; reused from round to round."""

    def __init__(self, rows: LocalColumns) -> None:
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
    def rows(self) -> LocalColumns:
        """Whose growth it is."""
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
            rows.leaf[:] = -1
            rows.leaf[in_bag] = 0
        if target.directions is None:
            factors = [self._fix(rows.edge, rows.top_edge, 0), self._fix(rows.mass, rows.top_mass, D), np.ones(1)]
            self._columns[:, 2 * D] = 1
            return divide(1.0, np.concatenate(factors)), n
        if self._sketch.shape != (height, n_sketch):
            self._sketch = empty((height, n_sketch), np.float64)
        sums = 2.0 * n_sketch / D
        sketch = self._sketch
        tops = rows.over_blocks(
            lambda a, b: project(rows.edge, rows.mass, target.directions, target.weight, a, b, sketch), sums
        )
        top = rows.largest(tops)
        if are_drawn:
            sketch[:n] = sketch[in_bag]
            return self._fix_sketch(sketch, top, 0, n), self._pack(features, in_bag)
        units: list[FloatArray] = rows.over_blocks(lambda a, b: self._fix_sketch(sketch, top, a, b), sums)
        return units[0], n

    def _make_room(self, n: int, n_columns: int) -> None:
        """Columns and order for n rows at least."""
        if len(self._columns) < n or self._columns.shape[1] != n_columns:
            self._columns = empty((n, n_columns), FIXED)
        if n > len(self.order):
            self.order, self._spare = np.empty((2, n), dtype=np.int32)

    def _fix_sketch(self, sketch: FloatArray, top: FloatArray, start: int, stop: int) -> FloatArray:
        """Rows start..stop of a sketch in fixed point; returns what a unit of each column is worth."""
        bits = self.rows.sum_bits
        unit: FloatArray
        if self._counts:
            unit = fix_counted(sketch, top, bits, start, stop, self._columns)
        else:
            unit = fix_sketch(sketch, top, bits, COUNT_BITS, start, stop, self._columns)
        return unit

    def _pack(self, features: IntArray, drawn: Int32Array) -> int:
        """These rows side by side, numbered from 0: nodes of few rows read few lines of memory. Returns how many.

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
        """Bins of these rows, (d, m), of which only those of the features are there."""
        d, m, X_binned = self.rows.n_features, len(drawn), self.rows.X_binned
        if len(self._room) < d * m:
            self._room = empty((d * m,), X_binned.dtype)
        bins = self._room[: d * m].reshape(d, m)
        self._over_features(len(features), bins.size, lambda a, b: pack_rows(X_binned, features[a:b], drawn, bins))
        return bins

    def _fix(self, values: FloatArray, top: FloatArray, first: int) -> FloatArray:
        """Values of the bag in fixed point into the columns from `first` on; returns their factors."""
        rows, factor = self.rows, self.rows.fixed_factor(top)
        rows.over_blocks(lambda a, b: fix_columns(values, rows.in_bag, factor, a, b, self._columns, first))
        return factor

    # -- growing ---------------------------------------------------------------------------------------------------
    def grow(
        self, target: Target, rule: GrowthRule, features: IntArray, seed: int, drawn: Int32Array | None = None
    ) -> GrownTree:
        """A tree on the rows in the bag; `order`, `start` and `end` hold its leaves afterwards.

        Or on rows that were `drawn`, some of them perhaps several times, in ascending order: by a sketch.
        """
        rows, rule, features = self.rows, rule.within(self.rows.n_trained), read_only(features)
        if self._counts and target.gain == SKETCH:
            target = target._replace(gain=COUNT_APART)
        in_bag = self._all if rows.whole else np.flatnonzero(rows.in_bag).astype(np.int32)
        in_bag = in_bag if drawn is None else drawn
        order = None  # leaf by leaf
        if drawn is None and (n_bag := self._drawn_from(target, rule, len(in_bag))):
            assert rule.n_rows is not None
            chosen, sketch = draw(rows, target, rule.n_rows, most_drawn(n_bag, rule), seed, self._sizes)
            grown = self._grow_at_one(target, rule, features, seed, chosen, sketch)
        elif drawn is None and self._are_few(target):
            grown = self._grow_at_one(target, rule, features, seed, in_bag, *self._sketch_of(target, in_bag))
        else:
            factor, n_searched = self._prepare(target, in_bag, features, drawn is not None)
            grow_on = self._grow_here if rows.is_alone else self._grow_with_others
            grown = grow_on(target, rule, features, seed, factor, self.order[:n_searched])
            order = self.order[:n_searched] if drawn is None else None
        self._number(grown, order)
        if order is None:  # vectors are of all rows
            order_by_leaf(in_bag, rows.leaf, self.order, self.start, self.end)
        return grown

    def _drawn_from(self, target: Target, rule: GrowthRule, n_here: int) -> int:
        """Rows in the bag, if splits are searched on some that are drawn from it, else 0."""
        rows = self.rows
        if target.directions is None or rule.n_rows is None or rows.n_trained <= rule.n_rows:
            return 0
        n_bag = rows.n_trained if rows.whole else int(rows.exchange.added(np.array([n_here]))[0])
        return n_bag if n_bag > rule.n_rows else 0

    def _are_few(self, target: Target) -> bool:
        """Whether other pieces have rows, and all together are so few that they are sent to one."""
        rows = self.rows
        return not rows.is_alone and target.directions is not None and rows.place.n_rows <= SENT_ROWS

    def _sketch_of(self, target: Target, in_bag: Int32Array) -> tuple[FloatArray, FloatArray]:
        """The sketch of these rows, and the column maxima of all rows'."""
        rows, directions = self.rows, target.directions
        assert directions is not None
        sketch = empty((rows.n_samples, len(directions) + 1), np.float64)
        sums = 2.0 * sketch.shape[1] / rows.n_outputs
        tops = rows.over_blocks(
            lambda a, b: project(rows.edge, rows.mass, directions, target.weight, a, b, sketch), sums
        )
        return sketch[in_bag], rows.largest(tops)

    def _grow_at_one(
        self,
        target: Target,
        rule: GrowthRule,
        features: IntArray,
        seed: int,
        drawn: Int32Array,
        sketch: FloatArray,
        top: FloatArray | None = None,
    ) -> GrownTree:
        """On rows with this sketch, all of which are sent to one piece, which tells the others the tree.

        `top` has the sketch's column maxima, where they are not of these rows alone.
        """
        rows = self.rows
        bins = None if rows.sparse is not None else self._packed(features, drawn)
        messages = rows.exchange.collected(sent(rows, features, drawn, bins, sketch))
        grown = None
        if messages is not None:
            self._bins, self._stored, sketch = drawn_together(rows, features, messages)
            m, n_sketch = sketch.shape
            self._make_room(m, n_sketch + self._counts)
            self.order[:m], self._lists = np.arange(m), self._no_lists
            self._member = np.zeros(m, dtype=LEAF)
            top = np.abs(sketch).max(axis=0, initial=0.0) if top is None else top
            factor = self._fix_sketch(sketch, top, 0, m)
            grown = self._grow_here(target, rule, features, seed, factor, self.order[:m])
        grown = rows.exchange.told(grown)
        self.start, self.end = np.empty((2, len(grown.leaf_node)), dtype=np.int64)
        return grown

    def _grow_here(
        self, target: Target, rule: GrowthRule, features: IntArray, seed: int, factor: FloatArray, order: Int32Array
    ) -> GrownTree:
        """On these rows alone, which the kernel sums and scans side by side."""
        rows, L, C = self.rows, rule.max_leaves, self._columns.shape[1]
        if self._tree is None or self._tree.total.shape != (L, C):
            self._tree = GrowthState.empty(L, C)
        tree = self._tree
        tree.sizes[0] = 0
        self._kept.clear()
        if rows.sparse is not None:
            return self._grow_stored(tree, target, rule, features, seed, factor, order)
        large, least = self._large(rule, features, len(order)), self._least_mass(rule, target, order)
        while True:
            split = grow(
                tree,
                self._bins,
                rows.n_bins,
                self._columns,
                features,
                rule.n_drawn,
                rule.random,
                seed,
                factor,
                target.ridge,
                target.gain,
                rule.min_leaf,
                least,
                rule.max_depth,
                large,
                self._lists,
                rows.leaf,
                order,
                self._spare,
            )
            if split < 0:
                break
            leaves = [split] if tree.sizes[0] == 1 else [split, int(tree.sizes[0]) - 1]
            waiting = [leaf for leaf in leaves if tree.status[leaf] == PENDING]
            if rule.n_drawn == len(features):
                histograms = self._histograms(leaves, waiting, rule, features, seed)
                draws = [int(cut_draws(seed, tree.node[leaf], rule.random)) for leaf in waiting]
                found = [
                    self._best(*histograms[leaf], tree.total[leaf], factor, target, rule, own)
                    for leaf, own in zip(waiting, draws, strict=True)
                ]
            else:
                found = self._searched(waiting, target, rule, features, seed, factor, order)
            for leaf, (best, which, where) in zip(waiting, found, strict=True):
                tree.drop[leaf] = best - merit(tree.total[leaf], factor, target.ridge, target.gain)
                tree.best_feature[leaf], tree.best_bin[leaf] = which, where
                tree.status[leaf] = EVALUATED if which >= 0 else CLOSED
        self._kept.clear()
        return self._as_grown(tree)

    def _least_mass(self, rule: GrowthRule, target: Target, order: Int32Array) -> float:
        """That a node of these rows has which is split."""
        return least_mass(rule, target, self._columns[order].sum(axis=0)) if rule.min_share else 0.0

    def _grow_stored(
        self,
        tree: GrowthState,
        target: Target,
        rule: GrowthRule,
        features: IntArray,
        seed: int,
        factor: FloatArray,
        order: Int32Array,
    ) -> GrownTree:
        """On the stored entries of sparse features."""
        if len(self._side) < len(self._member):
            self._side = np.zeros(len(self._member), dtype=np.uint8)
        entries, least = self._row_entries(rule, features), self._least_mass(rule, target, order)
        grow_stored(
            tree,
            self._stored,
            entries,
            self._columns,
            features,
            rule.n_drawn,
            rule.random,
            seed,
            factor,
            target.ridge,
            target.gain,
            rule.min_leaf,
            least,
            rule.max_depth,
            self._member,
            order,
            self._spare,
            self._side,
        )
        return self._as_grown(tree)

    def _row_entries(self, rule: GrowthRule, features: IntArray) -> RowEntries:
        """The round's features row after row, where nodes look at all of them."""
        rows, stored, width = self.rows, self._stored, self._columns.shape[1]
        offsets, everything = np.zeros(len(self._member) + 1, dtype=np.int64), rule.n_drawn == len(features)
        if everything:
            count_entries(stored, features, self._member, offsets)
        first = np.concatenate([[0], np.cumsum(rows.n_bins[features] if everything else features[:0])])
        feature, slot = np.empty((2, offsets[-1]), dtype=np.int32)
        if everything:
            pack_entries(stored, features, self._member, offsets, first, feature, slot)
        sums, stamp = np.zeros((first[-1], width), dtype=FIXED), np.full(len(first) - 1, -1)
        return RowEntries(offsets, feature, slot, first, sums, stamp)

    def _as_grown(self, tree: GrowthState) -> GrownTree:
        """A copy of what is in use of it; `start` and `end` are its leaves."""
        n_leaves, n_nodes, deepest = tree.sizes.tolist()
        self.start, self.end, node = tree.start[:n_leaves], tree.end[:n_leaves], tree.node[:n_leaves].copy()
        feature, bins, left, gain = (
            column[:n_nodes].copy() for column in (tree.feature, tree.bin, tree.left, tree.gain)
        )
        return GrownTree(feature, bins, left, gain, node, deepest)

    def _large(self, rule: GrowthRule, features: IntArray, n_rows: int) -> int:
        """Leaves of more rows than this are evaluated apart, where a parent less a sibling or free threads pay for it.

        The splits are the same.
        """
        limits = self.rows.limits
        if rule.n_drawn == len(features):
            return limits.large_leaf
        sums = GROWN_SUMS * rule.n_drawn * self._columns.shape[1]
        return limits.inline_work // 2 // sums if self.rows.workers.n_free > 1 else n_rows  # a sibling comes with it

    def _searched(
        self,
        leaves: list[int],
        target: Target,
        rule: GrowthRule,
        features: IntArray,
        seed: int,
        factor: FloatArray,
        order: Int32Array,
    ) -> list[tuple[float, int, int]]:
        """Best split of each of these leaves over the features that it draws: merit, feature, bin.

        Threads share the features of all of them at once, in ranges as large as leaves enough for each to do.
        """
        rows, tree = self.rows, self._tree
        assert tree is not None
        columns, work, given = self._columns, [], []
        for leaf in leaves:
            start, end = int(tree.start[leaf]), int(tree.end[leaf])
            drawn, gathered = np.empty(len(features), dtype=np.int64), empty((end - start, columns.shape[1]), FIXED)
            draw_features(features, rule.n_drawn, seed, tree.node[leaf], drawn)
            gather(columns, order, start, end, gathered)
            whole = merit(tree.total[leaf], factor, target.ridge, target.gain)
            given.append((leaf, start, end, read_only(drawn[: rule.n_drawn]), gathered, whole))
            work.append(GROWN_SUMS * gathered.size * rule.n_drawn)
        share = max(1, rows.limits.inline_work // 2, sum(work) // (SHARES_OF_THREAD * rows.workers.n))
        ranges = []
        for number, sums in enumerate(work):
            parts = min(rule.n_drawn, max(1, round(sums / share)))
            bounds = [rule.n_drawn * part // parts for part in range(parts + 1)]
            ranges += [(number, first, last) for first, last in itertools.pairwise(bounds)]

        def evaluate(number: int, first: int, last: int, least: float) -> tuple[float, float, int, int]:
            leaf, start, end, drawn, gathered, _ = given[number]
            found: tuple[float, float, int, int] = evaluate_some(
                self._bins,
                drawn[first:last],
                rows.n_bins,
                columns,
                order,
                start,
                end,
                tree.total[leaf],
                factor,
                target.ridge,
                target.gain,
                rule.min_leaf,
                self._lists,
                rows.leaf,
                leaf,
                gathered,
                least,
                int(cut_draws(seed, tree.node[leaf], rule.random)),
            )
            return found

        found = rows.workers.map(lambda one: evaluate(*one, given[one[0]][-1]), ranges)
        best = [(whole, -1, -1) for *_, whole in given]
        for (number, first, last), split in zip(ranges, found, strict=True):
            best[number] = following(best[number], split, partial(evaluate, number, first, last))
        return best

    def _grow_with_others(
        self, target: Target, rule: GrowthRule, features: IntArray, seed: int, factor: FloatArray, order: Int32Array
    ) -> GrownTree:
        """On the rows of all pieces: the sums of every node are exchanged, and each piece divides its own rows."""
        rows, lists = self.rows, len(self._lists[2]) > 0
        start, end, here = [0], [len(order)], [self._columns[order].sum(axis=0)]
        tree = BestFirstTree(target, rule, factor, rows.exchange.added(here[0]))
        large = rows.limits.large_leaf if rule.n_drawn == len(features) else tree.count(0)  # as `_grow_here` does
        leaves = [0]
        while True:
            for leaf in [leaf for leaf in leaves if tree.grows(leaf)]:
                drawn = read_only(tree.drawn(leaf, features, seed))
                histograms = rows.exchange.added(self._by_rows(drawn, leaf, start[leaf], end[leaf], here[leaf]))
                width = None if tree.count(leaf) > large else len(drawn)
                best = self._best(
                    drawn, histograms, tree.leaves[leaf].total, factor, target, rule, tree.draws(leaf, seed), width
                )
                tree.judge(leaf, *best)
            split = tree.next_split()
            if split < 0:
                break
            last, middle = end[split], self._divide(order, start[split], end[split], tree.leaves[split])
            below = self._columns[order[start[split] : middle]].sum(axis=0)
            leaves = tree.split(split, rows.exchange.added(below))
            start, end, here = [*start, middle], [*end, last], [*here, here[split] - below]
            end[split], here[split] = middle, below
            if lists:
                rows.leaf[order[middle:last]] = leaves[1]
        self.start, self.end = np.array(start), np.array(end)
        return tree.grown()

    def _histograms(
        self, leaves: list[int], waiting: list[int], rule: GrowthRule, features: IntArray, seed: int
    ) -> dict[int, tuple[IntArray, np.ndarray]]:
        """Features and histograms (f, MAX_BINS, C) of the leaves that wait; kept where their children may subtract."""
        assert self._tree is not None
        found, (start, end, node) = {}, (self._tree.start, self._tree.end, self._tree.node)
        everything = rule.n_drawn == len(features)
        parent = self._kept.pop(leaves[0], None)
        if parent is not None and len(leaves) == 2:
            smaller, larger = sorted(leaves, key=lambda leaf: (end[leaf] - start[leaf], leaf))
            own = self._of_leaf(features, smaller)
            self._over_features(len(features), own.size, lambda a, b: np.subtract(parent[a:b], own[a:b], parent[a:b]))
            found = {smaller: (features, own), larger: (features, parent)}
        else:
            for leaf in waiting:
                drawn = np.empty(len(features), dtype=np.int64)
                draw_features(features, rule.n_drawn, seed, node[leaf], drawn)
                drawn = read_only(drawn[: rule.n_drawn])
                found[leaf] = (drawn, self._of_leaf(drawn, leaf))
        limits = self.rows.limits
        for leaf in waiting if everything else ():
            large, histograms = end[leaf] - start[leaf] > limits.large_leaf, found[leaf][1]
            if large and histograms.nbytes * (len(self._kept) + 1) <= limits.kept_bytes:
                self._kept[leaf] = histograms
        return found

    def _divide(self, order: Int32Array, first: int, last: int, leaf: Leaf) -> int:
        """Put the rows of a leaf that are below its threshold first, in their old order; where the others begin."""
        sparse = self.rows.sparse
        bins = self._bins[leaf.feature] if sparse is None else sparse.some(np.array([leaf.feature]))[0]
        above = bins[order[first:last]] > leaf.bin
        order[first:last] = order[first:last][np.argsort(above, kind="stable")]
        return last - int(above.sum())

    def _of_leaf(self, features: IntArray, leaf: int) -> np.ndarray:
        """Histograms of a leaf of the tree that the kernel grows."""
        tree = self._tree
        assert tree is not None
        return self._by_rows(features, leaf, int(tree.start[leaf]), int(tree.end[leaf]), tree.total[leaf])

    def _by_rows(self, features: IntArray, leaf: int, start: int, end: int, total: IntArray) -> np.ndarray:
        """Histograms of a leaf from its rows, which are order[start:end] and add up to `total`."""
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
        self._over_features(
            len(features),
            gathered.size * len(features),
            lambda a, b: node_histograms(
                self._bins,
                features[a:b],
                self._columns,
                self.order,
                start,
                end,
                total,
                self._lists,
                self.rows.leaf,
                leaf,
                gathered,
                out[a:b],
            ),
        )
        return out

    def _best(
        self,
        features: IntArray,
        histograms: np.ndarray,
        total: IntArray,
        factor: FloatArray,
        target: Target,
        rule: GrowthRule,
        draws: int = 0,
        width: int | None = None,
    ) -> tuple[float, int, int]:
        """Best split over the features: merit, feature, bin; ties to the lowest feature. `width` features at a time."""
        found: list[tuple[float, int, int]] = self._over_features(
            len(features),
            histograms.size,
            lambda a, b: evaluate_histograms(
                histograms[a:b],
                features[a:b],
                self.rows.n_bins,
                total,
                factor,
                target.ridge,
                target.gain,
                rule.min_leaf,
                draws,
            ),
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
    def _number(self, tree: GrownTree, order: Int32Array | None) -> None:
        """Write the leaf numbers of all rows, which need not walk if they all stand leaf by leaf in `order`."""
        rows = self.rows
        if order is not None and len(order) == len(self._all):
            leaf_numbers(order, self.start, self.end, rows.leaf)
            return
        number, one = np.zeros(len(tree.feature), dtype=np.int32), np.ones(len(tree.feature))
        number[tree.leaf_node] = np.arange(len(tree.leaf_node))
        X_binned, feature = rows.split_bins(tree.feature)
        rows.over_blocks(
            lambda a, b: tree_response(
                X_binned, feature, tree.bin, tree.left, one, number, a, b, rows.response, rows.leaf
            ),
            WALK_SUMS / rows.n_outputs,
        )

    def leaf_sums(self) -> tuple[FloatArray, FloatArray]:
        """Edge and mass summed over the rows of each leaf, (L, D) each."""
        rows, n_leaves = self.rows, len(self.start)
        inline = LEAF_SUMS * rows.n_samples * rows.n_outputs < rows.limits.inline_work
        parts = 1 if inline or rows.workers.n_free == 1 else min(n_leaves, SHARES_OF_THREAD * rows.workers.n)
        ends = np.cumsum(self.end - self.start)
        bounds = np.searchsorted(ends, ends[-1] * np.arange(1, parts) // parts) + 1  # about as many rows in each part
        bounds = np.unique([0, *bounds, n_leaves])
        sums = np.empty((2, n_leaves, rows.n_outputs))
        edge, mass = sums

        def add(bounds: tuple[int, int]) -> None:
            leaves = slice(*bounds)
            leaf_column_sums(
                rows.edge,
                rows.mass,
                rows.top_edge,
                rows.top_mass,
                rows.sum_bits - (SUM_BITS - FLOAT_BITS),
                self.order,
                self.start[leaves],
                self.end[leaves],
                edge[leaves],
                mass[leaves],
            )

        rows.workers.map(add, itertools.pairwise(bounds.tolist()))
        edge, mass = rows.exchange.added(sums)
        return edge, mass
