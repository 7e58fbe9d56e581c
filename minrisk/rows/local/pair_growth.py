"""Trees whose nodes each look at a pair of classes of their own: AOSO-LogitBoost's, on local rows."""

from __future__ import annotations

import math

import numpy as np

from minrisk._kernels._dtypes import FIXED, TIE
from minrisk._kernels.grow import NEWTON
from minrisk._kernels.pair_nodes import node_sums, pair_columns, product_sums
from minrisk._memory import empty, read_only
from minrisk._typing import FloatArray, Int32Array, IntArray
from minrisk.rows.base import GrownTree, GrowthRule, PairedLeaves, Target
from minrisk.rows.fixed_point import divide, fixed_factor
from minrisk.rows.growing import BestFirstTree
from minrisk.rows.local.columns import LocalColumns
from minrisk.rows.local.growth import Growth


class PairGrowth(Growth):
    """Growth on the columns of the node's own pair, filled again for every node; sums are exchanged node by node."""

    def __init__(self, rows: LocalColumns) -> None:
        super().__init__(rows)
        self._columns = empty((rows.n_samples, 3), FIXED)
        self.pairs, self.totals, self.units = np.zeros((0, 2), dtype=np.int64), np.zeros((0, 3)), np.ones(3)

    def grow_pairs(self, rule: GrowthRule, ridge: float, features: IntArray, log_scale: float) -> GrownTree:
        """A tree on the rows in the bag; `order`, `start` and `end` hold its leaves, `pairs` and `totals` theirs."""
        rows, rule, features = self.rows, rule.within(self.rows.n_trained), read_only(features)
        in_bag = self._all if rows.whole else np.flatnonzero(rows.in_bag).astype(np.int32)
        self.order[: len(in_bag)], self._bins, self._lists = in_bag, rows.X_binned, self._no_lists
        order, scale = self.order[: len(in_bag)], math.exp(-log_scale)
        tops = np.array([2.0 * float(rows.top_edge.max()), 4.0 * rows.top_weight * scale])
        factors = rows.fixed_factor(tops)
        self.units = divide(1.0, np.append(factors, 1.0))
        target = Target(NEWTON, np.array([ridge]))
        start, end = [0], [len(order)]
        pair, total = self._look(order, 0, len(order), ridge, factors, scale)
        tree, pairs = BestFirstTree(target, rule, self.units, total), [pair]
        leaves = [0]
        while True:
            for leaf in [leaf for leaf in leaves if tree.grows(leaf)]:
                total, here = tree.leaves[leaf].total, self._columns[order[start[leaf] : end[leaf]]].sum(axis=0)
                histograms = rows.exchange.added(self._by_rows(features, leaf, start[leaf], end[leaf], here))
                tree.judge(leaf, *self._best(features, histograms, total, self.units, target, rule, 0))
            split = tree.next_split()
            if split < 0:
                break
            last, middle = end[split], self._divide(order, start[split], end[split], tree.leaves[split])
            leaves = tree.split(split, np.zeros(3, dtype=FIXED))
            start, end, end[split] = [*start, middle], [*end, last], middle
            pairs.append(pairs[split])
            for leaf in leaves:  # either side looks at a pair of its own
                pairs[leaf], tree.leaves[leaf].total = self._look(order, start[leaf], end[leaf], ridge, factors, scale)
        self.start, self.end = np.array(start), np.array(end)
        self.pairs, self.totals = np.array(pairs), np.array([leaf.total for leaf in tree.leaves])
        grown = tree.grown()
        self._number(grown, order)
        return grown

    def paired_leaves(self) -> PairedLeaves:
        """The pair of each leaf of the grown tree, and its sums."""
        sums = self.totals * self.units
        return PairedLeaves(self.pairs, sums[:, 0], sums[:, 1])

    def _look(
        self, order: Int32Array, start: int, end: int, ridge: float, factors: FloatArray, scale: float
    ) -> tuple[tuple[int, int], IntArray]:
        """The pair of a node, whose columns it fills, and their sums over the rows of all pieces.

        r has the largest edge; s is then the class of the largest fall of a Newton step along e_r - e_s.
        """
        rows, costs = self.rows, self.rows.costs
        edge_factor, mass_factor = rows.fixed_factor(rows.top_edge), rows.fixed_factor(rows.top_mass)
        sums = rows.exchange.added(node_sums(rows.edge, rows.mass, edge_factor, mass_factor, order, start, end))
        edge, mass = divide(sums[0], edge_factor), divide(sums[1], mass_factor)
        little = TIE * float(mass.sum())  # in balanced classes all edges are 0 but for rounding
        r = int(np.flatnonzero(edge >= edge.max() - little)[0])
        factor = fixed_factor(np.array([rows.top_weight * scale]), rows.sum_bits)
        own = product_sums(rows.edge, costs.label, costs.weight, scale, r, float(factor[0]), order, start, end)
        products = divide(rows.exchange.added(own), factor[0])
        room = mass[r] + mass + 2.0 * products + ridge
        apart = np.abs(edge[r] - edge)
        apart[apart <= little] = 0.0
        falls = np.divide(apart**2, room, out=np.zeros_like(room), where=room > 0.0)
        falls[r] = -1.0
        s = int(np.flatnonzero(falls >= falls.max() * (1.0 - TIE))[0])
        here = pair_columns(
            rows.edge, rows.mass, costs.label, costs.weight, scale, r, s, factors, order, start, end, self._columns
        )
        return (r, s), rows.exchange.added(here)
