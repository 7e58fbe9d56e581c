"""Rows in the memory of this process."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minrisk._kernels import _dtypes as dtypes
from minrisk._kernels.fixed import column_sums, fix_columns, fix_vector, response_sums, unfixed
from minrisk._kernels.scores import (
    add_binned_trees,
    add_leaf_vectors,
    add_response,
    decision_costs,
    split_leaves,
    tree_response,
)
from minrisk._memory import empty, give_back, read_only, zeros
from minrisk._typing import Bag, FloatArray, IntArray, LeftOut
from minrisk._utils import cached_property
from minrisk.rows.base import (
    GrownTree,
    GrowthRule,
    LeafSplits,
    PairedLeaves,
    RoundRule,
    Split,
    StumpBounds,
    Target,
    Totals,
    TreeLike,
    WholeRounds,
)
from minrisk.rows.costs import CostFacts, RowCosts
from minrisk.rows.fixed_point import divide, exact_sum, fixed_factor
from minrisk.rows.local.columns import ADDED_SUMS, LOSS_SUMS, WALK_SUMS, LocalColumns
from minrisk.rows.local.growth import Growth
from minrisk.rows.local.leaf_search import best_leaf_splits
from minrisk.rows.local.pair_growth import PairGrowth
from minrisk.rows.local.stump_search import best_stump, stump_bounds, stump_slopes
from minrisk.rows.local.whole_round import whole_rounds
from minrisk.rows.row_losses import (
    EXPONENTIAL,
    JOINT,
    LossBeforeRounds,
    LossFacts,
    RowLoss,
    SeparableRowLoss,
    SeriesRowLoss,
    ZeroRiskLoss,
    is_joint,
    is_separable,
)

SPARSE_TREES = 32  # of which the bins of split features are made at once: a byte a row for each
SHARED_PASSES = 4  # times what threads share at least, from which on a round's passes over classes are worth sharing
MARGIN_SHIFT = 17  # a leaf's change must gain more than 2**-17, about `TIE`, of all that could be gained


class LocalRows(LocalColumns):
    """NumPy arrays and kernels; the implementation of `minrisk.rows.base.Rows` for one process.

    Parameters: those of `LocalColumns`.
    """

    traits: frozenset[str] = frozenset()
    resting = False  # see `Rows.resting`; a place without rows rests as the others do
    _followed = 0  # learners that the scores of the rows left out have

    @cached_property
    def _growth(self) -> Growth:
        return Growth(self)

    @cached_property
    def _pair_growth(self) -> PairGrowth:
        return PairGrowth(self)

    # -- known scores ------------------------------------------------------------------------------------------
    def spread(self, intercept: FloatArray) -> float:
        """The largest difference of two scores of a row; see `Rows.spread`."""
        own = np.ptp(self.scores - intercept, axis=1).max(initial=0.0)
        return float(self.exchange.largest(np.array([own]))[0])

    def share_weights(self, weight: FloatArray) -> None:
        """Read weights that others read, too; see `Rows.share_weights`."""
        self.costs = self.costs._replace(weight=read_only(weight))

    def rest(self, scores: bool = False) -> None:
        """Free edge, mass and what trees are grown in, and perhaps the scores; see `Rows.rest`."""
        self.edge = self.mass = np.empty((0, self.n_outputs), dtype=dtypes.SCORE)
        self.__dict__.pop("_growth", None)
        self.__dict__.pop("_pair_growth", None)
        if scores:
            self.resting = True
            self.scores = np.empty((0, self.n_outputs), dtype=dtypes.SCORE)
            self.response, self.leaf = self.response[:0].copy(), self.leaf[:0].copy()
            give_back()

    def start_at(self, trees: Sequence[TreeLike], vectors: Sequence[FloatArray], intercept: FloatArray) -> None:
        """The scores that these learners make; see `Rows.start_at`."""
        self.resting = False
        self.scores = self._made_by(trees, vectors, intercept, [*self.blocks, self.left_out])
        self._followed = len(trees)

    def left_out_scores(
        self, trees: Sequence[TreeLike], vectors: Sequence[FloatArray], intercept: FloatArray
    ) -> LeftOut:
        """Scores of the rows left out, in half the memory; see `Rows.left_out_scores`."""
        if self.resting or len(trees) < self._followed:
            scores = self._made_by(trees, vectors, intercept, [self.left_out])
        else:
            self._add(trees[self._followed :], vectors[self._followed :], *self.left_out, self.scores)
            self._followed, scores = len(trees), self.scores
        first, last = self.left_out
        kept = empty((last - first, self.n_outputs), np.float32)
        with np.errstate(over="ignore"):  # scores that a learning rate far above 1 may make
            kept[:] = scores[first:last]
        return kept

    def _made_by(
        self,
        trees: Sequence[TreeLike],
        vectors: Sequence[FloatArray],
        intercept: FloatArray,
        blocks: Sequence[tuple[int, int]],
    ) -> FloatArray:
        """Scores of the rows of some blocks."""
        scores = zeros((self.n_samples, self.n_outputs), dtypes.SCORE)  # rows of no block take no memory

        def fill(block: tuple[int, int]) -> None:
            scores[slice(*block)] += intercept
            self._add(trees, vectors, *block, scores)

        self.workers.map(fill, blocks)
        return scores

    def _add(
        self, trees: Sequence[TreeLike], vectors: Sequence[FloatArray], first: int, last: int, scores: FloatArray
    ) -> None:
        """scores[first:last] += what the trees say times their vectors: the sums and the order of `advance`."""
        if first == last or not trees:
            return
        width = len(trees) if self.sparse is None else SPARSE_TREES
        for t in range(0, len(trees), width):
            some, own = trees[t : t + width], vectors[t : t + width]
            columns = zip(*((t.feature, t.bin, t.left, t.value, t.vector) for t in some), strict=True)
            feature, *others = map(np.concatenate, columns)
            X_binned, feature = self.split_bins(feature)
            add_binned_trees(
                X_binned,
                feature,
                *others,
                np.array([len(tree.feature) for tree in some]),
                np.concatenate(own),
                np.array([len(v) for v in own]),
                first,
                last,
                scores,
            )

    def _start_one_by_one(self, learners: Sequence[Any], vectors: Sequence[FloatArray], intercept: FloatArray) -> None:
        """`start_at` for learners that are not trees on bins, or whose responses are kept."""
        self.scores[:] = 0.0
        self.shift(intercept)
        for learner, own in zip(learners, vectors, strict=True):
            self.respond(learner)
            self.advance(own)

    # -- sums over blocks of rows ------------------------------------------------------------------------------
    @cached_property
    def cost_facts(self) -> CostFacts:
        """What is known of the costs of all rows; see `Rows.cost_facts`."""
        return self._trained_costs().facts()

    def _trained_costs(self) -> RowCosts:
        """Those of the rows that something is learnt from: weights may be shared with others that learn from all."""
        first, last = self.left_out
        if first == last:
            return self.costs
        weight = self.costs.weight.copy()
        weight[first:last] = 0.0
        return self.costs._replace(weight=weight)

    def facts(self, loss: LossBeforeRounds) -> LossFacts:
        """What the loss says of these rows; see `Rows.facts`."""
        own, facts = self.for_costs(loss), self._losses[2]
        if facts is None:
            costs = self._trained_costs().merged()
            told = own.constant(costs), own.unit(costs), own.floors(costs)
            start = own.start_log_scale(costs, self.top_weight)
            facts = LossFacts(*told, start, self.cost_facts.weight)
            self._losses = loss, own, facts
        return facts

    def zero_risk_loss(self, loss: ZeroRiskLoss) -> float:
        """See `Rows.zero_risk_loss`."""
        return float(self.for_costs(loss).zero_risk(self._trained_costs()))

    def gradients(self, loss: RowLoss, log_scale: float) -> Totals:
        """Fill edge and mass; see `Rows.gradients`."""
        here = self.for_costs(loss)
        if len(self.edge) < self.n_samples:  # after a rest
            self.edge, self.mass = empty((2, *self.scores.shape), dtypes.SCORE)
            if len(self.leaf) < self.n_samples:
                self._forget_leaves()
        tops = self.over_blocks(
            lambda a, b: here.gradients(self.costs, self.scores, log_scale, a, b, self.edge, self.mass), LOSS_SUMS
        )
        self.top_edge, self.top_mass, self.top_value = self.largest(tops)
        self._restrict(None)
        self._log_scale = log_scale
        self._whole_mass: FloatArray | None = None  # until `values` knows it
        top = max(self.top_mass.tolist()) if {EXPONENTIAL, JOINT} & loss.traits else 1.0  # weights that may overflow
        return Totals(self.values(loss), log_scale, log_scale + math.log(top) if top > 0 else log_scale)

    def values(self, loss: RowLoss) -> FloatArray:
        """Loss over the bag; see `Rows.values`."""
        if EXPONENTIAL in loss.traits:
            self._whole_mass = self._mass_sums() if self.whole else None
            return self._mass_sums() if self._whole_mass is None else self._whole_mass
        if is_separable(loss):
            self.bag_value = np.asarray(self.slopes(loss, np.zeros(self.n_outputs))[0])
            return self.bag_value
        assert is_joint(loss)
        factor = self.fixed_factor(self.top_value)
        parts = self.over_blocks(
            lambda a, b: loss.value_sums(self.costs, self.scores, self._log_scale, self.edge, self.in_bag, factor, a, b)
        )
        return np.asarray(unfixed(self.added(parts), self.top_value, self.sum_bits))

    def _mass_sums(self) -> FloatArray:
        return np.asarray(unfixed(self._column_sums(self.mass, self.top_mass), self.top_mass, self.sum_bits))

    def _column_sums(self, values: FloatArray, top: FloatArray, spare: int = 0) -> IntArray:
        bits = self.sum_bits - spare
        return self.added(self.over_blocks(lambda a, b: column_sums(values, self.in_bag, top, bits, a, b), ADDED_SUMS))

    def draw_bag(self, size: int, generator: np.random.Generator) -> Bag:
        """So many rows; see `Rows.draw_bag`."""
        return self.bag_of(generator.choice(self.n_trained, size=size, replace=False))

    def _restrict(self, in_bag: Bag | None) -> None:
        """All rows are in the bag (None), or these."""
        if in_bag is not None or not self.whole:
            self.in_bag[:] = True if in_bag is None else in_bag
            self.in_bag[slice(*self.left_out)] = False
        self.whole = in_bag is None

    def weigh(self, in_bag: Bag | None, columns: int = 1) -> FloatArray:
        """Restrict to the bag, fix edges (and masses), sum the mass; see `Rows.weigh`."""
        self._restrict(in_bag)
        if columns:
            self._fix_columns(columns)
        if in_bag is None and self._whole_mass is not None:
            return self._whole_mass
        return self._mass_sums()

    def _fix_columns(self, n_columns: int) -> None:
        """Edges (1) and masses (2) in fixed point for the histograms of stumps."""
        columns = [(self.edge, self.top_edge), (self.mass, self.top_mass)][:n_columns]
        if self.fixed.shape[1] != len(columns) * self.n_outputs:  # once
            self.fixed = np.empty((self.n_samples, len(columns) * self.n_outputs), dtype=self.fixed.dtype)
        totals, factors = [], []
        for c, (values, top) in enumerate(columns):
            factors.append(fixed_factor(top, self.fixed_bits))
            totals.append(self._fix(values, factors[c], c * self.n_outputs))
        self.fixed_total_here = np.concatenate(totals)
        self.fixed_total = self.exchange.added(self.fixed_total_here)
        self.fixed_factors = np.concatenate(factors)

    def _fix(self, values: FloatArray, factor: FloatArray, first: int) -> IntArray:
        """Values in fixed point into the columns from `first` on; returns the sums of these rows."""
        parts = self.over_blocks(
            lambda a, b: fix_columns(values, self.in_bag, factor, a, b, self.fixed, first), 2.0 * ADDED_SUMS
        )
        return np.asarray(np.sum(parts, axis=0))

    def edges(self) -> FloatArray:
        """Sum of response * edge; see `Rows.edges`."""
        factor = self.fixed_factor(self.top_edge)
        return divide(self._response_sums(self.edge, factor), factor)

    def _response_sums(self, values: FloatArray, factor: FloatArray) -> IntArray:
        return self.added(
            self.over_blocks(lambda a, b: response_sums(values, self.response, self.in_bag, factor, a, b), ADDED_SUMS)
        )

    def side_sums(self) -> tuple[FloatArray, FloatArray]:
        """Edge and mass per side of the response; see `Rows.side_sums`."""
        sides = []
        for values, top in ((self.edge, self.top_edge), (self.mass, self.top_mass)):
            factor = fixed_factor(top, self.sum_bits - 1)  # a bit for the sum of two sums
            whole, signed = self._column_sums(values, top, 1), self._response_sums(values, factor)
            sides.append(divide(np.array([whole - signed, whole + signed]) // 2, factor))
        return sides[0], sides[1]

    def slopes(self, loss: SeparableRowLoss, vector: FloatArray) -> FloatArray:
        """Value, slope and curvature in the vector; see `Rows.slopes`."""
        here: SeparableRowLoss = self.for_costs(loss)
        factors = fixed_factor(here.entry_bounds(self.top_value, vector, self.top_cost), self.sum_bits)
        parts = self.over_blocks(
            lambda a, b: here.slopes(self.costs, self.scores, self.response, self.in_bag, vector, factors, a, b),
            LOSS_SUMS,
        )
        return divide(self.added(parts), factors)

    def stump_slopes(
        self, loss: SeriesRowLoss, feature: IntArray, bin_: IntArray, output: IntArray, step: FloatArray
    ) -> FloatArray:
        """Value, slope and curvature along stumps; see `Rows.stump_slopes`."""
        return stump_slopes(self, loss, feature, bin_, output, step)

    def contrast(self, loss: SeparableRowLoss, vector: FloatArray) -> None:
        """Fill the contrast, in fixed point; see `Rows.contrast`."""
        here = self.for_costs(loss)
        tops = self.over_blocks(
            lambda a, b: here.contrast(self.costs, self.scores, self.edge, vector, a, b, self._contrast)
        )
        self._fix_contrast(float(self.exchange.largest(np.array([max(tops)]))[0]))

    def _fix_contrast(self, top: float) -> None:
        """The contrast, of values up to `top`, in fixed point."""
        factor = float(fixed_factor(np.array(top), self.sum_bits))
        sizes = self.over_blocks(
            lambda a, b: fix_vector(self._contrast, self.in_bag, factor, a, b, self.fixed_contrast)
        )
        self.margin = int(self.added([np.array([size]) for size in sizes])[0]) >> MARGIN_SHIFT
        self.contrast_factor = factor or 1.0

    def advance(self, vectors: FloatArray) -> None:
        """scores += response * vectors[0], or vectors[leaf] where there are several; see `Rows.advance`."""
        if len(vectors) == 1:
            self.over_blocks(lambda a, b: add_response(self.scores, self.response, vectors[0], a, b), ADDED_SUMS)
        else:
            self.over_blocks(lambda a, b: add_leaf_vectors(self.scores, self.leaf, vectors, a, b), ADDED_SUMS)

    def shift(self, vector: FloatArray) -> None:
        """scores += vector: the constant term."""
        self.scores += vector

    def respond(self, tree: TreeLike) -> None:
        """Fill response and leaf with the tree's values and vectors; see `Rows.respond`."""
        X_binned, feature = self.split_bins(tree.feature)
        self.over_blocks(
            lambda a, b: tree_response(
                X_binned, feature, tree.bin, tree.left, tree.value, tree.vector, a, b, self.response, self.leaf
            ),
            WALK_SUMS / self.n_outputs,
        )

    @property
    def deciding_scores(self) -> FloatArray:
        """Scores of the decisions, the largest of which decides."""
        return self.scores if self.decoder is None else self.decoder.decoded(self.scores, self.workers)

    def risk(self) -> float:
        """Mean avoidable cost of the decisions with the largest scores."""
        factor = float(fixed_factor(np.array(self.top_cost), self.sum_bits))
        total = float(self.cost_facts.weight)
        if factor == 0.0 or total == 0.0:
            return 0.0
        table, row, weight = self.costs[:3]
        scores = self.deciding_scores
        parts = self.over_blocks(lambda a, b: decision_costs(scores, table, row, weight, factor, a, b))
        return int(self.added([np.array([part]) for part in parts])[0]) / factor / total

    def savings(self, constant: int) -> FloatArray:
        """Sums of what the rows' decisions save; see `Rows.savings`."""
        table, row, weight = self.costs[:3]
        saved = table[row, constant] - table[row, np.argmax(self.deciding_scores, axis=1)]
        sums = np.stack([weight, weight * saved, weight * saved**2], axis=1)
        return exact_sum(lambda: iter([sums]), self.place.n_rows, self.exchange)

    def best_stump(self, gain: int, mass: FloatArray, features: IntArray) -> Split | None:
        """Best stump over the features; see `Rows.best_stump`."""
        return best_stump(self, gain, mass, features)

    def stump_bounds(self, loss: SeriesRowLoss, mass: FloatArray, features: IntArray) -> StumpBounds | None:
        """Stumps that may be the best; see `Rows.stump_bounds`."""
        return stump_bounds(self, loss, mass, features)

    # -- trees with a vector in every leaf -----------------------------------------------------------------------
    def grow(self, target: Target, rule: GrowthRule, features: IntArray, seed: int) -> GrownTree:
        """Grow a tree on the bag; see `Rows.grow`."""
        return self._growth.grow(target, rule, features, seed)

    def leaf_sums(self) -> tuple[FloatArray, FloatArray]:
        """Edge and mass of each leaf; see `Rows.leaf_sums`."""
        return self._growth.leaf_sums()

    def whole_rounds(self, rule: RoundRule, n_rounds: int) -> WholeRounds | None:
        """Rounds in one call, on few plain rows: others hold more that follows rounds; see `Rows.whole_rounds`.

        Of so many classes that threads pay, they are made of their parts.
        """
        shared = LOSS_SUMS * self.n_samples * self.n_outputs >= SHARED_PASSES * self.limits.inline_work
        if self.workers.n > 1 and shared:
            return None
        if self.traits or self.sparse is not None or not self.is_alone or self.n_trained > self.limits.large_leaf:
            return None
        return whole_rounds(self, rule, self.weigh(None, 0), n_rounds)

    def grow_pairs(self, rule: GrowthRule, ridge: float, features: IntArray) -> GrownTree:
        """Grow a tree of pairs on the bag; see `Rows.grow_pairs`."""
        return self._pair_growth.grow_pairs(rule, ridge, features, self._log_scale)

    def paired_leaves(self) -> PairedLeaves:
        """Pairs and sums of its leaves; see `Rows.paired_leaves`."""
        return self._pair_growth.paired_leaves()

    # -- leaves of a growing tree ----------------------------------------------------------------------------------
    def start_leaves(self) -> None:
        """All rows in leaf 0."""
        self.leaf[:] = 0

    def best_leaf_splits(self, sign: IntArray, features: IntArray) -> LeafSplits:
        """Best change of each leaf; see `Rows.best_leaf_splits`."""
        return best_leaf_splits(self, sign, features)

    def split_leaves(self, splits: LeafSplits, child: IntArray) -> None:
        """Move rows to the children of their leaves; see `Rows.split_leaves`."""
        X_binned, feature = self.X_binned, splits.feature
        if self.sparse is not None:
            X_binned, number = self.split_bins(np.maximum(feature, 0))
            feature = np.where(feature >= 0, number, feature)
        self.over_blocks(
            lambda a, b: split_leaves(X_binned, feature, splits.bin, child, splits.sign, a, b, self.leaf, self.response)
        )
