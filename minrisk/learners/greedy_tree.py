"""REBEL's greedily grown shared trees (Sec. 4): binary responses, one vector for the whole tree (stumps: or two)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from minrisk._kernels._dtypes import LEAF_BIN
from minrisk._typing import FloatArray, IntArray
from minrisk.learners.base import FittedLearners, Round
from minrisk.learners.exact_stump import exact_stump
from minrisk.losses.base import SIGNS, STUMPS
from minrisk.model.trees import Tree
from minrisk.rows.base import LeafSplits
from minrisk.rows.row_losses import has_series, is_separable
from minrisk.rows.rows import Rows


@dataclass
class GrowingTree:
    """Nodes so far, and the node of each leaf number used by the rows."""

    feature: list[int] = field(default_factory=lambda: [0])
    bin: list[int] = field(default_factory=lambda: [LEAF_BIN])
    left: list[int] = field(default_factory=lambda: [0])
    value: list[int] = field(default_factory=lambda: [1])
    gain: list[float] = field(default_factory=lambda: [0.0])
    leaves: list[int] = field(default_factory=lambda: [0])
    level: list[int] = field(default_factory=lambda: [0])

    @property
    def signs(self) -> IntArray:
        """f of each leaf."""
        return np.array([self.value[node] for node in self.leaves], dtype=np.int64)

    def deepened(self, splits: LeafSplits) -> tuple[GrowingTree, IntArray]:
        """The tree with each leaf changed as told, and the (first) new leaf number of each old leaf."""
        tree = GrowingTree(
            self.feature.copy(),
            self.bin.copy(),
            self.left.copy(),
            self.value.copy(),
            self.gain.copy(),
            [],
            self.level.copy(),
        )
        child = np.empty(len(self.leaves), dtype=np.int64)
        for number, node in enumerate(self.leaves):
            child[number] = len(tree.leaves)
            sign = int(splits.sign[number])
            if splits.feature[number] < 0:
                tree.value[node] = sign
                tree.leaves.append(node)
                continue
            first = len(tree.feature)
            tree.feature[node], tree.bin[node] = int(splits.feature[number]), int(splits.bin[number])
            tree.left[node] = first
            tree.gain[node] = float(splits.gain[number])
            tree.feature += [0, 0]
            tree.bin += [LEAF_BIN, LEAF_BIN]
            tree.left += [first, first + 1]
            tree.value += [-sign, sign]
            tree.gain += [0.0, 0.0]
            tree.leaves += [first, first + 1]
            tree.level += [tree.level[node] + 1] * 2  # not the number of deepenings: a leaf may skip one
        return tree, child

    def finished(self, thresholds: Sequence[FloatArray], loss: float, n_vectors: int = 1) -> Tree:
        """The immutable tree; gains become shares of the loss before the round.

        Leaves answer f = -1 or +1 with one vector, or f = 1 with two, vector 0 for -1 and vector 1 for +1.
        """
        feature, bins = np.array(self.feature, dtype=np.int32), np.array(self.bin, dtype=np.int32)
        left = np.array(self.left, dtype=np.int32)
        leaf = left == np.arange(len(left))
        threshold = np.array(
            [np.inf if end else thresholds[j][b] for j, b, end in zip(self.feature, self.bin, leaf, strict=True)]
        )
        value, vector = np.where(leaf, self.value, 0), np.zeros(len(left), dtype=np.int32)
        if n_vectors == 2:
            value, vector = np.where(leaf, 1, 0), (value > 0).astype(np.int32)
        gain = np.array(self.gain) / loss
        return Tree(feature, bins, threshold, left, value.astype(np.float64), vector, gain, max(self.level))

    def credited(self, thresholds: Sequence[FloatArray], fall: float) -> Tree:
        """The same where gains are no falls of the loss: they share its relative fall."""
        tree = self.finished(thresholds, 1.0)
        return tree._replace(gain=tree.gain * (fall / tree.gain.sum()))


def stump(feature: int, bin_: int, sign: int, gain: float) -> tuple[GrowingTree, LeafSplits, IntArray]:
    """The stump that answers `sign` above the bin, the change that it is of one leaf, and the leaf's first child."""
    changes = LeafSplits(*(np.array([value]) for value in (feature, bin_, sign, gain)))
    tree, child = GrowingTree().deepened(changes)
    return tree, changes, child


def stump_at(rows: Rows, feature: int, bin_: int, sign: int, gain: float) -> GrowingTree:
    """That stump, and its response in the rows."""
    tree, changes, child = stump(feature, bin_, sign, gain)
    rows.start_leaves()
    rows.split_leaves(changes, child)
    return tree


@dataclass(frozen=True)
class GreedyTrees:
    """Stumps by the exact joint search, deepened one layer at a time while the loss falls (REBEL, Sec. 4, steps 1-3).

    Parameters
    ----------
    max_depth : int
        1 for stumps.
    thresholds : sequence of ndarray
        Of the binner.
    exact : bool
        Of a loss with the trait `SERIES`: whether stumps are those of the largest fall, or of the largest E^2 / (2 M).

    Notes
    -----
    Deviation: a leaf whose best answer is constant stays a leaf with that answer, where the paper would have a stump
    with a threshold outside the leaf's rows; on training rows the two agree.
    """

    max_depth: int
    thresholds: Sequence[FloatArray]
    exact: bool = True

    requires = frozenset[str]()

    @property
    def traits(self) -> frozenset[str]:
        """Facts that steps may rely on."""
        return frozenset({SIGNS, STUMPS} if self.max_depth == 1 else {SIGNS})

    def fit(self, round_: Round) -> FittedLearners | None:
        """The best stump, then deeper trees; see `LearnerFamily.fit`."""
        rows, problem, loss = round_.rows, round_.problem, round_.problem.loss
        assert is_separable(loss)  # as the steps for signs require
        gain = problem.loss.gain if round_.solver.gain is None else round_.solver.gain
        if self.exact and has_series(loss) and round_.solver.gain is None:
            split = exact_stump(rows, loss, problem.mass, round_.features)
        else:
            split = rows.best_stump(gain, problem.mass, round_.features)
        if split is None:
            return None
        tree = stump_at(rows, split.feature, split.bin, 1, split.drop)
        step = round_.solver.solve(problem)
        for _ in range(self.max_depth - 1):
            rows.contrast(loss, step.vectors[0])  # step 2: the vector is held
            changes = rows.best_leaf_splits(tree.signs, round_.features)
            if not np.any(changes.gain > 0):
                break
            deeper, child = tree.deepened(changes)
            rows.split_leaves(changes, child)
            deeper_step = round_.solver.solve(problem)  # step 3
            if not deeper_step.value < step.value:  # smoothing alone could raise it
                rows.respond(tree.finished(self.thresholds, problem.value))
                break
            tree, step = deeper, deeper_step
        return FittedLearners((tree.finished(self.thresholds, problem.value, len(step.vectors)),), step)
