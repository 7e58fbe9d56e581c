"""The words between the boosting loop and the rows: what is asked for, and what the rows answer.

`minrisk.rows.rows.Rows` is what every kind of rows offers. Learners and steps that ask for more name the kind that
offers it in what they require; `minrisk.rows.factory` makes rows of that kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from minrisk._kernels.grow import hessian_of
from minrisk._kernels.structures import Search
from minrisk._typing import FloatArray, Int32Array, IntArray
from minrisk.model.trees import Tree


class Totals(NamedTuple):
    """Sums over all rows at the present scores, times exp(-log_scale)."""

    value: FloatArray  # (D,) loss per output, constants left out
    log_scale: float
    next_log_scale: float  # keeps the weights near 1 in the next round


class Split(NamedTuple):
    """x[feature] in bins above `bin` -> f = +1 (times a sign), else -1."""

    feature: int
    bin: int
    drop: float


class StumpBounds(NamedTuple):
    """Stumps that may lower a loss most, in the order of features, then of bins, and what is known of each output."""

    feature: IntArray  # (C,)
    bin: IntArray  # (C,)
    step: FloatArray  # (C, D): entries of a vector that is about the best
    low: FloatArray  # (C, D): what the best vector takes from an output's loss, at least,
    high: FloatArray  # (C, D): and at most


class LeafSplits(NamedTuple):
    """For each leaf the best change while the vector is held: feature < 0 means a constant."""

    feature: IntArray  # (L,)
    bin: IntArray  # (L,)
    sign: IntArray  # (L,) f of the side above the threshold, or of the whole leaf
    gain: FloatArray  # (L,) by how much the loss falls, the vector held; 0 where nothing changes


class Target(NamedTuple):
    """What splits are chosen by; see `minrisk._kernels.grow` for the gains."""

    gain: int
    ridge: FloatArray  # (1,) or (D,), added to a node's Hessian
    directions: FloatArray | None = None  # (q, D): of a sketch
    weight: FloatArray | None = None  # (D,)


class GrowthRule(NamedTuple):
    """How far a tree grows."""

    max_leaves: int
    max_depth: int
    min_leaf: int  # rows
    n_drawn: int  # features looked at in each node, drawn anew for every node
    n_rows: int | None = None  # at least, on which a sketch's splits are searched; None: all
    min_share: float = 0.0  # of a sketch's Hessian, that a node has which is split; beside twice `min_leaf` rows
    random: bool = False  # of each feature one threshold is looked at, which is drawn

    def within(self, n_rows: int) -> GrowthRule:
        """Return the same for so many rows: memory follows these, not a number that stands for no limit."""
        most = max(1, n_rows)
        return self._replace(max_leaves=min(self.max_leaves, most), min_leaf=min(self.min_leaf, most))

    def search(self, target: Target, features: IntArray, seed: int, factor: FloatArray) -> Search:
        """Return what kernels look for splits by, where units of the columns are worth `factor`."""
        own = (self.n_drawn, self.random, seed, factor, target.ridge, target.gain, self.min_leaf)
        return Search(features, *own, min_hessian=0.0, max_depth=self.max_depth)

    def least_hessian(self, total: IntArray, gain: int) -> float:
        """Return the Hessian that a node has which is split, by the sums of the columns over all rows."""
        return self.min_share * float(hessian_of(total, gain))


class GrownTree(NamedTuple):
    """Nodes as in `minrisk.model.trees.Tree`, and the node of each leaf number."""

    feature: Int32Array
    bin: Int32Array
    left: Int32Array
    gain: FloatArray  # merit gained at splits
    leaf_node: IntArray  # (L,)
    depth: int


class PairedLeaves(NamedTuple):
    """Of each leaf the classes (r, s) whose scores move against each other, and sums along e_r - e_s over its rows."""

    pairs: IntArray  # (L, 2)
    gradient: FloatArray  # (L,), minus the slope
    hessian: FloatArray  # (L,), the curvature


class RoundRule(NamedTuple):
    """A round of the loss "gll", with a vector tree whose leaves take a Newton step."""

    features: IntArray  # that the tree may use
    growth: GrowthRule
    sketch: int  # random combinations of the gradients; 0: splits are chosen by all of them
    trials: int  # draws of sketches and features before it is said that nothing can be split
    thresholds: FloatArray  # of all features one after another
    first_threshold: IntArray  # of each feature
    newton_smoothing: float  # see `minrisk.steps.leaf_vectors`
    largest: float  # step
    smoothing: float  # relative to what can still be lost
    learning_rate: float
    stalled: float  # share of the loss that a step must take away


class WholeRound(NamedTuple):
    """What one has made."""

    tree: Tree
    vectors: FloatArray  # (V, D)
    totals: Totals  # after it


WholeRounds = Callable[[Totals, Sequence[int]], list[WholeRound]]  # of the totals before, and the rounds' seeds


class Line(NamedTuple):
    """f(x) = value + slope * (x[feature] - origin)."""

    feature: int
    slope: float
    origin: float
    value: float


class Opposite(NamedTuple):
    """A point of the other binarized class that f_ij was tried with."""

    point: int  # x_j
    span: float  # |x_i - x_j|^2
    drop: float  # by how much it lowers the loss


class ChainStumps(NamedTuple):
    """The stump that parts each chain best, its error being farthest from a half; feature < 0 where none parts it."""

    feature: IntArray  # (G,)
    bin: IntArray  # (G,)


class Limits(NamedTuple):
    """They decide about time and memory, never about a model."""

    large_leaf: int = 4096  # leaves of more rows keep histograms for a child's by subtraction
    kept_bytes: int = 64 << 20  # of such histograms
    inline_work: int = 1 << 20  # elementary sums, half a millisecond: a pass of fewer runs in the caller, since to hand
    # half of it over takes up to a twentieth of one, and several times as long on a busy machine
    vector_numbers: int = 1 << 18  # in the leaf vectors of the rounds of one call
    nearest: int = 2048  # opposite points that are put in order first: most rounds ask for no more


LIMITS = Limits()
