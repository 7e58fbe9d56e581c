"""The interface between the boosting loop and the place where the rows are.

Columns stay with the rows: X_binned, costs, weights, scores, edge, mass, response, contrast, leaf. What travels to
the loop is small: sums over rows, as exact integers in fixed point (so that no division of the rows into blocks,
threads or machines can change a bit of the model), and maxima. To put rows somewhere else (a cluster, a GPU),
write a class with these methods; nothing above this file changes. It may be made of pieces that are rows of
`minrisk.rows.local` each: see `minrisk.rows.exchange`.

`Rows` is what every kind of rows offers. Learners and steps that ask for more name a trait of the rows in what they
require: `DirectedRows`, `SimilarRows`, `PairRows`, `CorrectiveRows` and their like say what goes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np

from minrisk._typing import Bag, FloatArray, Int32Array, IntArray, LeftOut
from minrisk.data.distances import Units
from minrisk.model.trees import Tree
from minrisk.rows.costs import CostFacts
from minrisk.rows.row_losses import (
    DirectedRowLoss,
    LossBeforeRounds,
    LossFacts,
    PairRowLoss,
    RowLoss,
    SeparableRowLoss,
    SeriesRowLoss,
    ZeroRiskLoss,
)


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


class GrowthRule(NamedTuple):
    """How far a tree grows."""

    max_leaves: int
    max_depth: int
    min_leaf: int  # rows
    n_drawn: int  # features looked at in each node, drawn anew for every node
    n_rows: int | None = None  # at least, on which a sketch's splits are searched; None: all
    min_share: float = 0.0  # of a sketch's mass, that a node has which is split; beside twice `min_leaf` rows
    random: bool = False  # of each feature one threshold is looked at, which is drawn

    def within(self, n_rows: int) -> GrowthRule:
        """The same for so many rows: memory follows these, not a number that stands for no limit."""
        most = max(1, n_rows)
        return self._replace(max_leaves=min(self.max_leaves, most), min_leaf=min(self.min_leaf, most))


class Target(NamedTuple):
    """What splits are chosen by; see `minrisk._kernels.grow` for the gains."""

    gain: int
    ridge: FloatArray  # (1,) or (D,), added to a node's mass
    directions: FloatArray | None = None  # (q, D): of a sketch
    weight: FloatArray | None = None  # (D,)


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
    edge: FloatArray  # (L,) minus the slope
    mass: FloatArray  # (L,) the curvature


class RoundRule(NamedTuple):
    """A round of the loss "gll", with a vector tree whose leaves take a Newton step."""

    features: IntArray  # that the tree may use
    growth: GrowthRule
    sketch: int  # random combinations of the edges; 0: splits are chosen by all of them
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

DIRECTED_ROWS = "directed rows"  # traits of rows, each with a protocol below
SIMILAR_ROWS = "similar rows"
PAIR_ROWS = "pair rows"
CORRECTIVE_ROWS = "corrective rows"
CHAIN_ROWS = "chain rows"
PLANE_ROWS = "plane rows"
OF_VALUES = frozenset({DIRECTED_ROWS, SIMILAR_ROWS, CHAIN_ROWS})  # rows that hold values beside bins


class TreeLike(Protocol):
    """A tree on bins: arrays over its nodes, the root first; a leaf's `left` is the leaf itself."""

    @property
    def feature(self) -> np.ndarray: ...
    @property
    def bin(self) -> np.ndarray: ...
    @property
    def left(self) -> np.ndarray: ...
    @property
    def value(self) -> np.ndarray: ...
    @property
    def vector(self) -> np.ndarray: ...
    @property
    def depth(self) -> int: ...


class Rows(Protocol):
    """Rows with their columns; D = n_outputs, and n_scores."""

    n_samples: int
    n_trained: int  # of them; the others are left out
    n_features: int
    n_outputs: int  # scores that are boosted
    n_scores: int  # of the model, which a constant is added to; others only of `ChainRows`

    @property
    def cost_facts(self) -> CostFacts:
        """What is known of what mistakes cost all rows."""

    @property
    def traits(self) -> frozenset[str]:
        """Facts that learners and steps may rely on."""

    def facts(self, loss: LossBeforeRounds) -> LossFacts:
        """What the loss says of these rows."""

    def zero_risk_loss(self, loss: ZeroRiskLoss) -> float:
        """The loss below which every row has its cheapest decision, in stated costs."""

    def gradients(self, loss: RowLoss, log_scale: float) -> Totals:
        """Fill edge and mass at the present scores."""

    def values(self, loss: RowLoss) -> FloatArray:
        """Sums of the loss over the bag at the present scores (D,), times e^-log_scale of the last `gradients`."""

    def draw_bag(self, size: int, generator: np.random.Generator) -> Bag:
        """A bag of so many of the `n_trained` rows, without replacement, for `weigh`: only rows look into it."""

    def weigh(self, in_bag: Bag | None, columns: int = 1) -> FloatArray:
        """Restrict the next sums to the bag; returns the column sums of the mass (D,).

        `columns` says what `best_stump` will need: 0 nothing, 1 edges, 2 edges and masses.
        """

    def best_stump(self, gain: int, mass: FloatArray, features: IntArray) -> Split | None:
        """The stump of the largest drop over `features`; ties to the lowest feature, then the lowest bin."""

    def stump_bounds(self, loss: SeriesRowLoss, mass: FloatArray, features: IntArray) -> StumpBounds | None:
        """All stumps over `features` that may lower the loss most, by the sums of few derivatives; None: none does."""

    def stump_slopes(
        self, loss: SeriesRowLoss, feature: IntArray, bin_: IntArray, output: IntArray, step: FloatArray
    ) -> FloatArray:
        """Value, slope and curvature (3, P) of single outputs' loss at scores + step * (+1 above the bin, else -1)."""

    def edges(self) -> FloatArray:
        """Sum over rows of response * edge, (D,)."""

    def side_sums(self) -> tuple[FloatArray, FloatArray]:
        """Edge and mass summed over the rows with response -1 and those with +1, (2, D) each."""

    def slopes(self, loss: SeparableRowLoss, vector: FloatArray) -> FloatArray:
        """Value, slope, curvature (3, D) of the loss at scores + response * vector, as functions of the vector.

        A fourth line, if there, is the sum of the absolute values of the slope's terms, which are exponentials.
        """

    def contrast(self, loss: SeparableRowLoss, vector: FloatArray) -> None:
        """Fill the contrast column: what f = +1 rather than -1 gains per row while the vector is held."""

    def start_leaves(self) -> None:
        """All rows in leaf 0."""

    def best_leaf_splits(self, sign: IntArray, features: IntArray) -> LeafSplits:
        """Best change of each leaf with present constant sign `sign`, by the contrast."""

    def split_leaves(self, splits: LeafSplits, child: IntArray) -> None:
        """Move rows to the children of their leaves and set their responses."""

    def grow(self, target: Target, rule: GrowthRule, features: IntArray, seed: int) -> GrownTree:
        """Grow a tree leaf by leaf on the bag, by edge and mass; `leaf` holds every row's leaf number afterwards."""

    def leaf_sums(self) -> tuple[FloatArray, FloatArray]:
        """Edge and mass summed over the bag's rows of each leaf of the grown tree, (L, D) each."""

    def grow_pairs(self, rule: GrowthRule, ridge: float, features: IntArray) -> GrownTree:
        """Grow a tree each of whose nodes looks at its own pair of classes, by the loss with the trait `SOFTMAX_EDGES`.

        A node's pair is the class of the largest edge and the one against which a Newton step lowers the loss most;
        the node is split where edge^2 / (mass + ridge) along the pair gains most.
        """

    def paired_leaves(self) -> PairedLeaves:
        """Pairs and sums of the leaves of the tree that `grow_pairs` has grown."""

    def respond(self, tree: TreeLike) -> None:
        """Fill the response column with the value, and the leaf column with the vector, of each row's leaf."""

    def whole_rounds(self, rule: RoundRule, n_rounds: int) -> WholeRounds | None:
        """Rounds in one call, where these rows offer that and so many rounds pay for it.

        The rows are at the gradients of the loss, all of them in the bag. Of the seeds given, the first rounds are
        made, perhaps not all; none if nothing lowers the loss. Only scores, edge and mass follow them.
        """

    def advance(self, vectors: FloatArray) -> None:
        """Add (V, D) vectors. One: scores += response * vectors[0]; several: scores += vectors[leaf]."""

    def shift(self, vector: FloatArray) -> None:
        """scores += vector: the constant term."""

    def start_at(self, trees: Sequence[Any], vectors: Sequence[FloatArray], intercept: FloatArray) -> None:
        """The scores that these learners make, bit for bit as when they were found, whatever has been added so far."""

    def left_out_scores(self, trees: Sequence[Any], vectors: Sequence[FloatArray], intercept: FloatArray) -> LeftOut:
        """Scores that these learners make in the rows left out, for `FoldedRows.held_out`.

        `trees` may go on from those of the last call or of `start_at`: these are then not asked again.
        """

    def spread(self, intercept: FloatArray) -> float:
        """The largest difference of two scores of a row, less the intercept's part."""

    @property
    def resting(self) -> bool:
        """Whether the scores are freed, until `start_at`."""

    def share_weights(self, weight: FloatArray) -> None:
        """Read these weights, which others read as well, in the place of its own, which are freed.

        They are the same but in the rows left out, at which no pass looks.
        """

    def rest(self, scores: bool = False) -> None:
        """Free what `gradients` and `grow` fill again, and the scores if so told: memory for others in the meantime."""

    def risk(self) -> float:
        """Mean avoidable cost of the decisions with the largest scores."""

    def savings(self, constant: int) -> FloatArray:
        """Sums over rows (3,): the weight, and by it what they cost less than this decision for all, and its square."""


class Line(NamedTuple):
    """f(x) = value + slope * (x[feature] - origin)."""

    feature: int
    slope: float
    origin: float
    value: float


class DirectedRows(Rows, Protocol):
    """Rows for learners that answer with real numbers: a regression along a direction, and a line through the scores.

    The regression's target is u = -dL/dt of each row along the direction, with the weight rho.
    """

    def aim(self, loss: DirectedRowLoss, direction: FloatArray, weighting: str) -> None:
        """Fill the target along a direction (D,): the boosting weights -w^r, and what each row weighs.

        "uniform": the row's weight, which is the plain least squares of -w^r that Eq. (30) is with a norm; "slope":
        |w^r|, for the target's sign; "curvature": that of the loss, for a Newton step.
        """

    def regress(self, features: IntArray) -> Line | None:
        """The line in one feature that explains the target best; ties to the lowest feature."""

    def grow_regression(
        self, rule: GrowthRule, features: IntArray, seed: int, ridge: float = 0.0
    ) -> tuple[GrownTree, FloatArray]:
        """A tree grown on the target by least squares, and the value of each leaf.

        The ridge is a share of all rows' weight that every node has beside that of its rows.
        """

    def class_terms(self) -> FloatArray:
        """Sums over the bag of GEL's terms by the row's class and the decision (D, D), times e^-log_scale."""

    def target_sums(self) -> tuple[FloatArray, FloatArray]:
        """Sums of rho u and of rho over the bag's rows of each leaf that `grow_regression` has made, (L,) each."""

    def fit(self, regressor: Any) -> Any:
        """A regressor of scikit-learn, fitted to the target; None without rows that weigh something."""

    def steer(self, vector: FloatArray, number: int, of: int, value: float) -> None:
        """Look along response * vector, the vector that `aim` was last given; for several learners along their sum.

        The several are told one after another; `value` is the loss over the bag at step 0.
        """

    def steer_leaves(self, vectors: FloatArray, value: float) -> None:
        """Look along the vector (V, D) that each row's leaf of the grown tree names; `value` is as for `steer`."""

    def reach(self) -> float:
        """The most that a score of a row that weighs something moves in a step of 1."""

    def along(self, loss: DirectedRowLoss, step: float) -> FloatArray:
        """Loss over the bag with its first two derivatives at `step` along the line, times e^-log_scale, (3,)."""


class Opposite(NamedTuple):
    """A point of the other binarized class that f_ij was tried with."""

    point: int  # x_j
    span: float  # |x_i - x_j|^2
    drop: float  # by how much it lowers the loss


class SimilarRows(Rows, Protocol):
    """Rows that are points: similarities to some of them, which are named by their numbers."""

    units: Units  # of the points

    def start_search(self, mass: FloatArray, gain: int) -> None:
        """What learners of this round are judged by: the mass of all rows, and which drop."""

    def drop(self) -> float:
        """By how much the best vector lowers the loss along the present response, Eq. (5)."""

    def moments(self) -> FloatArray:
        """U U' of Eq. (7) over the bag, (D, D): u = edge / sqrt(mass of all rows), up to a factor."""

    def binarise(self, vector: FloatArray) -> None:
        """Binarized classes of all points by an eigenvector (D,) of `moments`: the signs of v1 = U' q, Eq. (10)."""

    def most_isolated(self) -> int:
        """The point whose isolation lowers the loss most; coincident points count together, ties to the first place."""

    def nearest_other(self, point: int) -> float:
        """Smallest squared distance from a point that is not 0; infinite where all points coincide."""

    def opposites(self, point: int, real: bool, most: int | None) -> Iterator[Opposite]:
        """Points x_j for f_ij, nearest first (steps 4 to 6): `most` of them; None: until step 6 has removed all.

        Step 6 removes the points that an f_ij which was tried answers half of f_ij(x_j) or less.
        """

    def answer(self, points: tuple[int, ...], span: float, real: bool) -> None:
        """Fill the response with 1 (no point), f_i (one; tau = span) or f_ij (two; |x_i - x_j|^2 = span)."""

    def anchors(self, points: tuple[int, ...]) -> FloatArray:
        """These points in the units' scale, one row for each."""


class PairRows(Rows, Protocol):
    """Rows that know a loss of pairwise margins along a response: as sums over pairs of classes, or row by row."""

    def contrast_along(self, vector: FloatArray) -> None:
        """Fill the contrast with the edges along a vector (D,)."""

    def own_total(self, loss: PairRowLoss) -> float:
        """Sum over the bag of the loss's terms r = y."""

    def pair_sums(self) -> FloatArray:
        """B (D, D): the exponential loss over the bag at scores + response * a is sum_jk B_jk e^(a_k - a_j).

        Times e^-log_scale of the last `gradients`, which were GEL's; the terms r = y are left out.
        """

    def start_pairs(self) -> None:
        """Cache e^-rho of every pair at the present scores: the u^(t-1) of Eq. (14)."""

    def pair_slopes(self, vector: FloatArray) -> tuple[float, FloatArray]:
        """Value and slope (D,) of the logistic loss over the bag at scores + response * vector, times e^-log_scale."""

    def learner_edges(self, trees: Sequence[TreeLike]) -> FloatArray:
        """`edges` of each of these learners (T, D); the response is then that of the last one."""


class CorrectiveRows(PairRows, Protocol):
    """`PairRows` that keep the responses of all learners, and the vectors they go with."""

    def start_vectors(self) -> FloatArray:
        """The vectors so far and one of 0 for the present response, (T + 1, D)."""

    def total_slopes(self, loss: PairRowLoss, vectors: FloatArray) -> tuple[float, FloatArray]:
        """Value and slope (T + 1, D) of the loss over the bag with these vectors, times e^-log_scale."""

    def correct(self, changes: FloatArray) -> None:
        """Add (T, D) changes to the vectors of all learners so far."""


class PlaneRows(CorrectiveRows, Protocol):
    """`CorrectiveRows` that keep cutting planes of the loss.

    A plane touches the loss at some vectors: `total_slopes` is its value and slope. It is kept by what each row has
    chosen there, so that later learners find their place in it.
    """

    def forget_planes(self) -> None:
        """Keep no plane."""

    def keep_plane(self) -> None:
        """Keep the plane of the last `total_slopes` behind the others."""

    def weigh_planes(self, shares: FloatArray) -> None:
        """Edges are from now on sums of those of the planes times their shares (P,)."""

    def plane_edges(self) -> FloatArray:
        """Sum over rows of response * edge in each plane, (P, D)."""


class ChainStumps(NamedTuple):
    """The stump that parts each chain best, its error being farthest from a half; feature < 0 where none parts it."""

    feature: IntArray  # (G,)
    bin: IntArray  # (G,)


class ChainRows(DirectedRows, Protocol):
    """Rows with a score for each of G chains, and the scores of the decisions that these are words for.

    Vectors are of the chains; shifts are of the decisions' scores, which nothing but decisions depends on. Each
    chain has a scale of its own: sums of one are comparable with one another only.
    """

    def best_stumps(self, features: IntArray) -> ChainStumps:
        """The best stump for each chain over the features; ties to the lowest feature, then the lowest bin."""

    def aim_at(self, chain: int) -> None:
        """The target of a regression is the right side of a chain, -1 or +1, its weight the row's in the chain."""

    def draw(self, chain: int, size: int, seed: int) -> None:
        """The target is that of so many rows, drawn with replacement by their weights in a chain."""

    def side_errors(self, chain: int) -> FloatArray:
        """Weights in a chain of the rows in its set and of the others, and of those that the response gets wrong.

        (2, 2): (A_1, eps_1) and (A_2, eps_2).
        """


def are_chains(rows: Rows) -> TypeGuard[ChainRows]:
    """Whether there is a score for each chain."""
    return CHAIN_ROWS in rows.traits


def are_directed(rows: Rows) -> TypeGuard[DirectedRows]:
    """Whether learners can be fitted along directions."""
    return DIRECTED_ROWS in rows.traits


def are_similar(rows: Rows) -> TypeGuard[SimilarRows]:
    """Whether rows are points."""
    return SIMILAR_ROWS in rows.traits


def are_pairs(rows: Rows) -> TypeGuard[PairRows]:
    """Whether sums over pairs of classes are known."""
    return PAIR_ROWS in rows.traits


def are_corrective(rows: Rows) -> TypeGuard[CorrectiveRows]:
    """Whether the responses of all learners are kept."""
    return CORRECTIVE_ROWS in rows.traits


def have_planes(rows: Rows) -> TypeGuard[PlaneRows]:
    """Whether cutting planes are kept."""
    return PLANE_ROWS in rows.traits
