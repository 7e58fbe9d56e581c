"""REBEL's greedily grown shared trees (Sec. 4): binary responses, one vector for the whole tree (stumps: or two).

Where no closed form tells, the first split is the stump that lowers the loss most together with its vector (Sec. 3):
argmin over f and a of sum_n sum_k l_k(H_nk + f(x_n) a_k), by best first search. `Rows.stump_bounds` leaves the stumps
that may be the best, mostly one; of several the losses are looked at, from steps near the best ones, until one is ahead
of what the others can reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from minrisk._kernels._dtypes import LEAF_BIN, TIE
from minrisk._typing import FloatArray, IntArray
from minrisk.learners.base import FittedLearners, Round
from minrisk.losses.base import SIGNS, STUMPS
from minrisk.model.trees import Tree
from minrisk.rows.base import LeafSplits, Split
from minrisk.rows.row_losses import SERIES, Loss
from minrisk.rows.rows import Rows
from minrisk.rows.stumps import likely
from minrisk.steps.base import LARGEST_STEP

LOOKED_AT = 16  # stumps whose losses are looked at together
LOOSE = 0.1  # of the largest gap between the bounds of a stump's outputs: smaller gaps are left for later
BOUNDS_SETTLED = 1e-11  # bounds that differ by a smaller share of the fall are one number, to rounding
LARGEST_CHANGE = 1.0  # of an entry in a Newton step: the curvature may grow by e in it
MOST_LOOKS = 10_000  # a guard: a few are enough


def exact_stump(rows: Rows, loss: Loss, hessian: FloatArray, features: IntArray) -> Split | None:
    """Return the stump over `features` whose best vector lowers the loss most; None where none does.

    No entry of a vector exceeds 18. Stumps that are equally good to rounding: the lowest feature, then the lowest bin.
    """
    found = rows.stump_bounds(loss, hessian, features)
    if found is None:
        return None
    feature, bin_, step, low, high = found
    before: FloatArray | None = None
    for _ in range(MOST_LOOKS):
        ahead = low.sum(axis=1).max()
        # Stumps that cannot overtake the one ahead are dropped.
        left = likely(high.sum(axis=1), ahead)
        feature, bin_, step, low, high = feature[left], bin_[left], step[left], low[left], high[left]
        gaps = high - low
        open_ = gaps.sum(axis=1) > BOUNDS_SETTLED * ahead
        if len(feature) == 1 or not open_.any():
            break
        # A pass over all rows, which mostly is not needed: one stump is left by its bounds.
        if before is None:
            before = rows.values(loss)
        # The most promising stumps are looked at first, and of each the outputs whose bounds are widest.
        first = np.argsort(np.where(open_, -high.sum(axis=1), np.inf), kind="stable")[:LOOKED_AT]
        first = first[open_[first]]
        place, output = np.nonzero(gaps[first] > LOOSE * gaps[first].max(axis=1, keepdims=True))
        place = first[place]
        at = place, output
        told = rows.stump_slopes(loss, feature[place], bin_[place], output, step[at])
        step[at], fallen, high[at] = _looked(step[at], high[at], before[output], told)
        low[at] = np.maximum(low[at], fallen)
    fall = low.sum(axis=1)
    best = int(np.flatnonzero(fall >= fall.max() * (1.0 - max(TIE, BOUNDS_SETTLED)))[0])
    return Split(int(feature[best]), int(bin_[best]), float(fall[best]))


def _looked(
    step: FloatArray, high: FloatArray, before: FloatArray, told: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return better steps, what the present ones take away, and what the best ones take at most, by the losses told."""
    value, slope, curvature = told
    fall, steepest = before - value, np.abs(slope)
    known = steepest < curvature
    share = np.divide(steepest, curvature, out=np.zeros_like(slope), where=known)
    rest = curvature * share**2 * (0.5 + share / (6.0 * (1.0 - share)))  # psi of `minrisk._kernels.split`
    at_end = (np.abs(step) >= LARGEST_STEP) & (slope * step < 0.0)
    nothing = (curvature == 0.0) & (slope == 0.0)
    reachable = np.where(at_end | nothing, 0.0, np.where(known, rest, np.inf))
    change = np.divide(-slope, curvature, out=np.zeros_like(slope), where=curvature > 0.0)
    following = np.clip(step + np.clip(change, -LARGEST_CHANGE, LARGEST_CHANGE), -LARGEST_STEP, LARGEST_STEP)
    return following, fall, np.maximum(fall, np.minimum(high, fall + reachable))


# -- greedy trees ------------------------------------------------------------------------------------------------------
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
        """Return f of each leaf."""
        return np.array([self.value[node] for node in self.leaves], dtype=np.int64)

    def deepened(self, splits: LeafSplits) -> tuple[GrowingTree, IntArray]:
        """Return the tree with each leaf changed as told, and the (first) new leaf number of each old leaf."""
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

    def deepened_in(self, rows: Rows, features: IntArray) -> GrowingTree | None:
        """Deepen the tree by the best splits of its leaves, also in the rows; None where none gains."""
        changes = rows.best_leaf_splits(self.signs, features)
        if not np.any(changes.gain > 0):
            return None
        tree, child = self.deepened(changes)
        rows.split_leaves(changes, child)
        return tree

    def finished(self, thresholds: Sequence[FloatArray], loss: float, n_vectors: int = 1) -> Tree:
        """Return the immutable tree; gains become shares of the loss before the round.

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
        """Return the immutable tree whose gains share the loss's relative fall, where they are no falls themselves."""
        tree = self.finished(thresholds, 1.0)
        return tree._replace(gain=tree.gain * (fall / tree.gain.sum()))


def stump(feature: int, bin_: int, sign: int, gain: float) -> tuple[GrowingTree, LeafSplits, IntArray]:
    """Return the stump that answers `sign` above the bin, the change of one leaf that it is, and its first child."""
    changes = LeafSplits(*(np.array([value]) for value in (feature, bin_, sign, gain)))
    tree, child = GrowingTree().deepened(changes)
    return tree, changes, child


def stump_at(rows: Rows, feature: int, bin_: int, sign: int, gain: float) -> GrowingTree:
    """Return that stump, with its response in the rows."""
    tree, changes, child = stump(feature, bin_, sign, gain)
    rows.start_leaves()
    rows.split_leaves(changes, child)
    return tree


@dataclass(frozen=True)
class SignTrees:
    """A family of trees that answer -1 or +1."""

    max_depth: int  # 1 for stumps
    thresholds: Sequence[FloatArray]  # of the binner

    @property
    def traits(self) -> frozenset[str]:
        """Return facts that steps may rely on."""
        return frozenset({SIGNS, STUMPS} if self.max_depth == 1 else {SIGNS})


@dataclass(frozen=True)
class GreedyTrees(SignTrees):
    """Stumps by the exact joint search, deepened one layer at a time while the loss falls (REBEL, Sec. 4, steps 1-3).

    Deviation: a leaf whose best answer is constant stays a leaf with that answer, where the paper would have a stump
    with a threshold outside the leaf's rows; on training rows the two agree.
    """

    exact: bool = True  # of a loss with the trait `SERIES`: stumps of the largest fall, not of the largest E^2 / (2 M)

    requires = frozenset[str]()

    def fit(self, round_: Round) -> FittedLearners | None:
        """Find the best stump, then deeper trees."""
        rows, problem, loss = round_.rows, round_.problem, round_.problem.loss
        gain = problem.loss.gain if round_.solver.gain is None else round_.solver.gain
        # The quadratic approximation may rank stumps wrongly; the exact search looks at the loss itself.
        if self.exact and SERIES in loss.traits and round_.solver.gain is None:
            split = exact_stump(rows, loss, problem.hessian, round_.features)
        else:
            split = rows.best_stump(gain, problem.hessian, round_.features)
        if split is None:
            return None
        tree = stump_at(rows, split.feature, split.bin, 1, split.drop)
        step = round_.solver.solve(problem)
        for _ in range(self.max_depth - 1):
            rows.contrast(loss, step.vectors[0])  # step 2: the vector is held
            deeper = tree.deepened_in(rows, round_.features)
            if deeper is None:
                break
            deeper_step = round_.solver.solve(problem)  # step 3
            if not deeper_step.value < step.value:  # smoothing alone could raise it
                rows.respond(tree.finished(self.thresholds, problem.value))
                break
            tree, step = deeper, deeper_step
        return FittedLearners((tree.finished(self.thresholds, problem.value, len(step.vectors)),), step)
