"""A tree that grows leaf by leaf from sums over the rows of its nodes. No row is seen here.

`minrisk._kernels.grow.grow` does so with the rows beside it. This is for rows that lie elsewhere, and makes the same
choices from the same sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minrisk._kernels._dtypes import LEAF_BIN
from minrisk._kernels.grow import GROWTH_TIE, count_of, cut_draws, draw_features, is_large, mass_of, merit
from minrisk._typing import FloatArray, IntArray
from minrisk.rows.base import GrownTree, GrowthRule, Target


def least_mass(rule: GrowthRule, target: Target, total: IntArray) -> float:
    """Mass that a node has which is split, by the sums of the columns over all rows."""
    return rule.min_share * float(mass_of(total, target.gain))


@dataclass
class Leaf:
    """A leaf of a growing tree."""

    node: int
    depth: int
    total: IntArray  # (C,) sums of the columns over its rows
    drop: float = 0.0  # of its best split
    feature: int = -1  # of that; -1 where it is not split
    bin: int = -1


class BestFirstTree:
    """Best leaf first, the first of equals, as far as the rule allows.

    Parameters
    ----------
    target : Target
    rule : GrowthRule
    unit : ndarray of shape (C,)
        What 1 is worth in each column.
    total : ndarray of shape (C,)
        Of all rows.
    """

    def __init__(self, target: Target, rule: GrowthRule, unit: FloatArray, total: IntArray) -> None:
        self._target, self._rule, self._unit = target, rule, unit
        self._least = least_mass(rule, target, total)
        self.leaves = [Leaf(0, 0, total)]
        self._feature, self._bin, self._left, self._gain = [0], [LEAF_BIN], [0], [0.0]

    def count(self, leaf: int) -> int:
        """Rows of a leaf."""
        return int(count_of(self.leaves[leaf].total, self._target.gain))

    def grows(self, leaf: int) -> bool:
        """Whether the rule lets a leaf be split."""
        rule = self._rule
        enough = is_large(self.leaves[leaf].total, self._target.gain, rule.min_leaf, self._least)
        return enough and self.leaves[leaf].depth < rule.max_depth and len(self.leaves) < rule.max_leaves

    def drawn(self, leaf: int, features: IntArray, seed: int) -> IntArray:
        """The features that are looked at in a leaf."""
        drawn = np.empty(len(features), dtype=np.int64)
        draw_features(features, self._rule.n_drawn, seed, self.leaves[leaf].node, drawn)
        return drawn[: self._rule.n_drawn]

    def draws(self, leaf: int, seed: int) -> int:
        """What its thresholds are drawn from."""
        return int(cut_draws(seed, self.leaves[leaf].node, self._rule.random))

    def judge(self, leaf: int, best: float, feature: int, bin_: int) -> None:
        """Take down the best split of a leaf, of which `best` is the merit of both sides."""
        found = self.leaves[leaf]
        found.drop = best - merit(found.total, self._unit, self._target.ridge, self._target.gain)
        found.feature, found.bin = feature, bin_

    def next_split(self) -> int:
        """The leaf to split; -1 if there is none, or the tree has its leaves."""
        best = -1
        for number, leaf in enumerate(self.leaves):
            if leaf.feature >= 0 and (best < 0 or leaf.drop > self.leaves[best].drop * (1.0 + GROWTH_TIE)):
                best = number
        return -1 if len(self.leaves) == self._rule.max_leaves else best

    def split(self, leaf: int, below: IntArray) -> list[int]:
        """Split a leaf: it keeps the rows below the threshold, whose sums are `below`; returns it and the new leaf."""
        parent, first = self.leaves[leaf], len(self._feature)
        self._feature[parent.node], self._bin[parent.node] = parent.feature, parent.bin
        self._left[parent.node], self._gain[parent.node] = first, parent.drop
        self._feature += [0, 0]
        self._bin += [LEAF_BIN, LEAF_BIN]
        self._left += [first, first + 1]
        self._gain += [0.0, 0.0]
        self.leaves[leaf] = Leaf(first, parent.depth + 1, below)
        self.leaves.append(Leaf(first + 1, parent.depth + 1, parent.total - below))
        return [leaf, len(self.leaves) - 1]

    def grown(self) -> GrownTree:
        """The tree as it is."""
        feature, bins, left = (np.array(column, dtype=np.int32) for column in (self._feature, self._bin, self._left))
        node = np.array([leaf.node for leaf in self.leaves])
        return GrownTree(feature, bins, left, np.array(self._gain), node, max(leaf.depth for leaf in self.leaves))
