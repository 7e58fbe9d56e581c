"""Rows in the memory of this process: their columns, and all that the boosting loop asks of them.

Columns stay with the rows: X_binned, costs, weights, scores, gradient, hessian, response, contrast, leaf. What travels
to the loop is small: sums over rows, as exact integers in fixed point (so that no division of the rows into blocks,
threads or machines can change a bit of the model), and maxima. Rows may be one of several pieces
(`minrisk.rows.exchange`), which may lie on other machines (`minrisk.rows.remote`).

On a few hundred rows the kernels take less time than Python takes to call them, and Python's lock lets one thread
through at a time. `boost` asks the rows whether they make its recipe's rounds whole, in one kernel call: the same bits
as the parts of a round give one after another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from minrisk._kernels import _dtypes as dtypes
from minrisk._kernels._dtypes import FIXED
from minrisk._kernels.fixed import class_sums, column_sums, fix_columns, fix_vector, response_sums, unfixed
from minrisk._kernels.functions import log
from minrisk._kernels.scores import (
    add_binned_trees,
    add_leaf_vectors,
    add_response,
    decision_costs,
    leaf_vectors,
    split_leaves,
    tree_response,
)
from minrisk._kernels.structures import GrowthState, Space, State, TrainingRows
from minrisk._kernels.whole_round import logistic_rounds
from minrisk._typing import Bag, FloatArray, IntArray, LeftOut
from minrisk._utils import cached_property
from minrisk._utils.memory import empty, give_back, read_only, zeros
from minrisk.model.trees import Tree
from minrisk.rows.base import (
    GrownTree,
    GrowthRule,
    LeafSplits,
    PairedLeaves,
    RoundRule,
    Target,
    Totals,
    WholeRound,
    WholeRounds,
)
from minrisk.rows.columns import ADDED_SUMS, LOSS_SUMS, WALK_SUMS, RowColumns
from minrisk.rows.costs import CostFacts, RowCosts
from minrisk.rows.exchange import added, divide, exact_sum, fixed_factor, largest
from minrisk.rows.growth import Growth, PairGrowth
from minrisk.rows.row_losses import EXPONENTIAL, JOINT, SEPARABLE, Loss, LossFacts
from minrisk.rows.stumps import SearchedColumns

SPARSE_TREES = 32  # of which the bins of split features are made at once: a byte a row for each
SHARED_PASSES = 4  # times what threads share at least, from which on a round's passes over classes are worth sharing
NEAR = 2.0**-10  # to a power of two, relative: weights of a joint loss are scaled to be 1 at most, but for rounding
MARGIN_SHIFT = 17  # a leaf's change must gain more than 2**-17, about `TIE`, of all that could be gained


class Rows(SearchedColumns):
    """Offer what every kind of rows offers; its subclasses offer more.

    Learners and steps that ask for more name the subclass in what they require. Parameters: those of `RowColumns`.
    """

    holds_values: ClassVar[bool] = False  # raw values beside bins
    resting = False  # whether the scores are freed, until `start_at`; a place without rows rests as the others do
    _followed = 0  # learners that the scores of the rows left out have

    @property
    def kind(self) -> type[Rows]:
        """The class, which stands in for rows elsewhere say as well."""
        return type(self)

    @cached_property
    def _growth(self) -> Growth:
        return Growth(self)

    @cached_property
    def _pair_growth(self) -> PairGrowth:
        return PairGrowth(self)

    # -- known scores ------------------------------------------------------------------------------------------
    def spread(self, intercept: FloatArray) -> float:
        """Return the largest difference of two scores of a row, less the intercept's part."""
        own = np.ptp(self.scores - intercept, axis=1).max(initial=0.0)
        return float(self.exchange.largest(np.array([own]))[0])

    def share_weights(self, weight: FloatArray) -> None:
        """Read these weights, which others read as well, in the place of its own, which are freed.

        They are the same but in the rows left out, at which no pass looks.
        """
        self.costs = self.costs._replace(weight=read_only(weight))

    def rest(self, scores: bool = False) -> None:
        """Free what `gradients` and `grow` fill again, and the scores if so told: memory for others in the meantime."""
        self.gradient = self.hessian = np.empty((0, self.n_outputs), dtype=dtypes.SCORE)
        self.__dict__.pop("_growth", None)
        self.__dict__.pop("_pair_growth", None)
        if scores:
            self.resting = True
            self.scores = np.empty((0, self.n_outputs), dtype=dtypes.SCORE)
            self.response, self.leaf = self.response[:0].copy(), self.leaf[:0].copy()
            give_back()

    def start_at(self, trees: Sequence[Tree], vectors: Sequence[FloatArray], intercept: FloatArray) -> None:
        """Start at the scores that these learners make, bit for bit as when they were found."""
        self.resting = False
        self.scores = self._made_by(trees, vectors, intercept, [*self.blocks, self.left_out])
        self._followed = len(trees)

    def left_out_scores(self, trees: Sequence[Tree], vectors: Sequence[FloatArray], intercept: FloatArray) -> LeftOut:
        """Return scores that these learners make in the rows left out, for `FoldedRows.held_out`.

        `trees` may go on from those of the last call or of `start_at`: these are then not asked again.
        """
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
        trees: Sequence[Tree],
        vectors: Sequence[FloatArray],
        intercept: FloatArray,
        blocks: Sequence[tuple[int, int]],
    ) -> FloatArray:
        """Return scores of the rows of some blocks."""
        scores = zeros((self.n_samples, self.n_outputs), dtypes.SCORE)  # rows of no block take no memory

        def fill(block: tuple[int, int]) -> None:
            scores[slice(*block)] += intercept
            self._add(trees, vectors, *block, scores)

        self.workers.map(fill, blocks)
        return scores

    def _add(
        self, trees: Sequence[Tree], vectors: Sequence[FloatArray], first: int, last: int, scores: FloatArray
    ) -> None:
        """Compute scores[first:last] += what the trees say times their vectors: the sums and the order of `advance`."""
        if first == last or not trees:
            return
        for some, X_binned, n_nodes, feature, bins, left, value, vector in self._walked(trees):
            own = vectors[some]
            add_binned_trees(
                X_binned,
                feature,
                bins,
                left,
                value,
                vector,
                n_nodes,
                np.concatenate(own),
                np.array([len(v) for v in own]),
                scores,
                first,
                last,
            )

    def _walked(self, trees: Sequence[Tree]) -> Iterator[tuple[Any, ...]]:
        """Yield some trees at a time: their slice, bins, numbers of nodes, and feature, bin, left, value and vector."""
        width = max(1, len(trees)) if self.sparse is None else SPARSE_TREES
        for t in range(0, len(trees), width):
            some = trees[t : t + width]
            columns = zip(*((tree.feature, tree.bin, tree.left, tree.value, tree.vector) for tree in some), strict=True)
            feature, *others = map(np.concatenate, columns)
            X_binned, feature = self.split_bins(feature)
            yield slice(t, t + width), X_binned, np.array([len(tree.feature) for tree in some]), feature, *others

    def leaves_of(self, trees: Sequence[Tree], number: IntArray) -> np.ndarray | None:
        """Return which of its vectors each tree adds to rows, (T, m), in one place; elsewhere None. Numbers ascend."""
        own = self.place.here(number, self.n_samples)
        most = max((tree.n_vectors for tree in trees), default=1)
        leaf = np.empty((len(trees), len(own)), np.uint16 if most <= 1 << 16 else np.uint32)
        for some, X_binned, n_nodes, feature, bins, left, _, vector in self._walked(trees):
            if len(own) < self.n_samples:
                X_binned = np.take(X_binned, own, axis=1)
            leaf_vectors(X_binned, feature, bins, left, vector, n_nodes, leaf[some])
        found = self.exchange.collected((self.place.numbers_of_all(self.n_samples)[own], leaf))
        if found is None:
            return None
        if len(found) == 1:
            return leaf
        order = np.argsort(np.concatenate([numbers for numbers, _ in found]))
        return np.take(np.concatenate([leaves for _, leaves in found], axis=1), order, axis=1)

    def _start_one_by_one(self, learners: Sequence[Any], vectors: Sequence[FloatArray], intercept: FloatArray) -> None:
        """Do `start_at` for learners that are not trees on bins, or whose responses are kept."""
        self.scores[:] = 0.0
        self.shift(intercept)
        for learner, own in zip(learners, vectors, strict=True):
            self.respond(learner)
            self.advance(own)

    # -- sums over blocks of rows ------------------------------------------------------------------------------
    @cached_property
    def cost_facts(self) -> CostFacts:
        """Return what is known of what mistakes cost all rows."""
        return self._trained_costs().facts()

    def _trained_costs(self) -> RowCosts:
        """Return the costs of rows that something is learnt from: others may share the weights and learn from all."""
        first, last = self.left_out
        if first == last:
            return self.costs
        weight = self.costs.weight.copy()
        weight[first:last] = 0.0
        return self.costs._replace(weight=weight)

    def facts(self, loss: Loss) -> LossFacts:
        """Return what the loss says of these rows."""
        own, facts = self.for_costs(loss), self._losses[2]
        if facts is None:
            costs = self._trained_costs().merged()
            told = own.constant(costs), own.unit(costs), own.floors(costs)
            start = own.start_log_scale(costs, self.top_weight)
            facts = LossFacts(*told, start, self.cost_facts.weight)
            self._losses = loss, own, facts
        return facts

    def zero_risk_loss(self, loss: Loss) -> float:
        """Return the loss below which every row has its cheapest decision, in stated costs."""
        return float(self.for_costs(loss).zero_risk(self._trained_costs()))

    def gradients(self, loss: Loss, log_scale: float) -> Totals:
        """Fill gradient and Hessian, see `LossColumns`, at the present scores."""
        here = self.for_costs(loss)
        if len(self.gradient) < self.n_samples:  # after a rest
            self.gradient, self.hessian = empty((2, *self.scores.shape), dtypes.SCORE)
            if len(self.leaf) < self.n_samples:
                self._forget_leaves()
        self._log_scale = log_scale
        tops = largest(self.over_blocks(here.gradients, self.loss_columns, sums=LOSS_SUMS))
        self._restrict(None)
        self._whole_hessian: FloatArray | None = None  # until `values` knows it
        self._whole_sums: IntArray | None = None
        if self.is_alone or {EXPONENTIAL, SEPARABLE} & loss.traits:
            tops = self.exchange.largest(tops)
        else:
            tops, self._whole_sums = self._tops_and_sums(tops)
        self.top_gradient, self.top_hessian, self.top_value = tops
        top = max(self.top_hessian.tolist()) if {EXPONENTIAL, JOINT} & loss.traits else 1.0  # weights that may overflow
        return Totals(self.values(loss), log_scale, log_scale + log(top) if top > 0 else log_scale)

    def values(self, loss: Loss) -> FloatArray:
        """Sum the loss over the bag at the present scores (D,), times e^-log_scale of the last `gradients`."""
        if EXPONENTIAL in loss.traits:  # the Hessian is the loss: `weigh` need not sum it again
            self._whole_hessian = self._hessian_sums() if self.whole else None
            return self._hessian_sums() if self._whole_hessian is None else self._whole_hessian
        if SEPARABLE in loss.traits:
            self.bag_value = np.asarray(self.slopes(loss, np.zeros(self.n_outputs))[0])
            return self.bag_value
        if self._whole_sums is not None and self.whole:
            sums, hessian = self._whole_sums
            self._whole_hessian = np.asarray(unfixed(hessian, self.top_hessian, self.sum_bits))
        else:
            sums = self.exchange.added(self._value_sums(self.top_value))
        return np.asarray(unfixed(sums, self.top_value, self.sum_bits))

    def _value_sums(self, top: FloatArray) -> IntArray:
        """Return the sums of the loss over the rows here, for these tops in all pieces."""
        given = self.value, self.costs.label, self.in_bag, self.fixed_factor(top)
        return added(self.over_blocks(class_sums, *given, sums=ADDED_SUMS))

    def _tops_and_sums(self, own: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return the tops of all pieces, and sums of values and Hessians, (2, D).

        One exchange gives both, unless tops are of another power of two than the last ones were or were next to.
        """

        def hessian_sums(top: FloatArray) -> IntArray:
            return added(self.over_blocks(column_sums, self.hessian, self.in_bag, top, self.sum_bits, sums=ADDED_SUMS))

        kinds = (2, self._value_sums), (1, hessian_sums)
        order = [number for number, _ in kinds]
        near = np.array([self._tops_before[order] * (1.0 - NEAR), self._tops_before[order] * (1.0 + NEAR)])
        factors, here, guess = self.fixed_factor(near), own[order], np.zeros((2, *near.shape[1:]), dtype=FIXED)
        if not np.any((here > near[1]) & (self.fixed_factor(here) != factors[1])):  # else sums may overflow
            for kind, (_, sums_for) in enumerate(kinds):
                guess[:, kind] = sums_for(near[0, kind])
                if np.any(factors[0, kind] != factors[1, kind]):
                    guess[1, kind] = sums_for(near[1, kind])
        tops, sums = self.exchange.largest_and_added(own, guess)
        self._tops_before = tops
        fits = factors == self.fixed_factor(tops[order])
        if fits.any(axis=0).all():
            return tops, np.asarray(np.where(fits[0], *sums), dtype=FIXED)
        return tops, self.exchange.added(np.array([sums_for(tops[number]) for number, sums_for in kinds]))

    @cached_property
    def _tops_before(self) -> FloatArray:
        return np.zeros((3, self.n_outputs))

    def _hessian_sums(self) -> FloatArray:
        return np.asarray(unfixed(self._column_sums(self.hessian, self.top_hessian), self.top_hessian, self.sum_bits))

    def _column_sums(self, values: FloatArray, top: FloatArray, spare: int = 0) -> IntArray:
        bits = self.sum_bits - spare
        return self.summed(column_sums, values, self.in_bag, top, bits, sums=ADDED_SUMS)

    def draw_bag(self, size: int, generator: np.random.Generator) -> Bag:
        """Return a bag of so many of the `n_trained` rows, without replacement, for `weigh`: only rows look into it."""
        return self.bag_of(generator.choice(self.n_trained, size=size, replace=False))

    def _restrict(self, in_bag: Bag | None) -> None:
        """Put all rows in the bag (None), or these."""
        if in_bag is not None or not self.whole:
            self.in_bag[:] = True if in_bag is None else in_bag
            self.in_bag[slice(*self.left_out)] = False
        self.whole = in_bag is None

    def weigh(self, in_bag: Bag | None, columns: int = 1) -> FloatArray:
        """Restrict the next sums to the bag; returns the column sums of the Hessian (D,).

        `columns` says what `best_stump` will need: 0 nothing, 1 gradients, 2 gradients and Hessians.
        """
        self._restrict(in_bag)
        if columns:
            self._fix_columns(columns)
        if in_bag is None and self._whole_hessian is not None:
            return self._whole_hessian
        return self._hessian_sums()

    def _fix_columns(self, n_columns: int) -> None:
        """Bring gradients (1) and Hessians (2) to fixed point for the histograms of stumps."""
        columns = [(self.gradient, self.top_gradient), (self.hessian, self.top_hessian)][:n_columns]
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
        """Write values in fixed point into the columns from `first` on; returns the sums of these rows."""
        parts = self.over_blocks(fix_columns, values, self.in_bag, factor, self.fixed, first, sums=2.0 * ADDED_SUMS)
        return np.asarray(np.sum(parts, axis=0))

    def edges(self) -> FloatArray:
        """Return the edge of the learner in each output: the sum over rows of response * gradient, (D,)."""
        factor = self.fixed_factor(self.top_gradient)
        return divide(self._response_sums(self.gradient, factor), factor)

    def _response_sums(self, values: FloatArray, factor: FloatArray) -> IntArray:
        return self.summed(response_sums, values, self.response, self.in_bag, factor, sums=ADDED_SUMS)

    def side_sums(self) -> tuple[FloatArray, FloatArray]:
        """Return gradient and Hessian summed over the rows with response -1 and those with +1, (2, D) each."""
        sides = []
        for values, top in ((self.gradient, self.top_gradient), (self.hessian, self.top_hessian)):
            factor = fixed_factor(top, self.sum_bits - 1)  # a bit for the sum of two sums
            whole, signed = self._column_sums(values, top, 1), self._response_sums(values, factor)
            # Both are even: each whole number is in one of the two twice, and not in the other.
            sides.append(divide(np.array([whole - signed, whole + signed]) // 2, factor))
        return sides[0], sides[1]

    def slopes(self, loss: Loss, vector: FloatArray) -> FloatArray:
        """Return value, slope, curvature (3, D) of the loss at scores + response * vector, as functions of the vector.

        A fourth line, if there, is the sum of the absolute values of the slope's terms, which are exponentials.
        """
        here = self.for_costs(loss)
        factors = fixed_factor(here.entry_bounds(self.top_value, vector, self.top_cost), self.sum_bits)
        sums = self.summed(here.slopes, self.loss_columns, self.response, vector, factors, sums=LOSS_SUMS)
        return divide(sums, factors)

    def contrast(self, loss: Loss, vector: FloatArray) -> None:
        """Fill the contrast column: what f = +1 rather than -1 gains per row while the vector is held."""
        here = self.for_costs(loss)
        tops = self.over_blocks(here.contrast, self.loss_columns, vector, self._contrast)
        self._fix_contrast(float(self.exchange.largest(np.array([max(tops)]))[0]))

    def _fix_contrast(self, top: float) -> None:
        """Bring the contrast, of values up to `top`, to fixed point."""
        factor = float(fixed_factor(np.array(top), self.sum_bits))
        sizes = self.over_blocks(fix_vector, self._contrast, self.in_bag, factor, self.fixed_contrast)
        self.margin = int(self.added([np.array([size]) for size in sizes])[0]) >> MARGIN_SHIFT
        self.contrast_factor = factor or 1.0

    def advance(self, vectors: FloatArray) -> None:
        """Add (V, D) vectors. One: scores += response * vectors[0]; several: scores += vectors[leaf]."""
        if len(vectors) == 1:
            self.over_blocks(add_response, self.scores, self.response, vectors[0], sums=ADDED_SUMS)
        else:
            self.over_blocks(add_leaf_vectors, self.scores, self.leaf, vectors, sums=ADDED_SUMS)

    def shift(self, vector: FloatArray) -> None:
        """Compute scores += vector: the constant term."""
        self.scores += vector

    def respond(self, tree: Tree) -> None:
        """Fill the response column with the value, and the leaf column with the vector, of each row's leaf."""
        X_binned, feature = self.split_bins(tree.feature)
        nodes = feature, tree.bin, tree.left, tree.value, tree.vector
        self.over_blocks(tree_response, X_binned, *nodes, self.response, self.leaf, sums=WALK_SUMS / self.n_outputs)

    @property
    def deciding_scores(self) -> FloatArray:
        """Return scores of the decisions, the largest of which decides."""
        return self.scores if self.decoder is None else self.decoder.decoded(self.scores, self.workers)

    def risk(self) -> float:
        """Return mean avoidable cost of the decisions with the largest scores."""
        factor = float(fixed_factor(np.array(self.top_cost), self.sum_bits))
        total = float(self.cost_facts.weight)
        if factor == 0.0 or total == 0.0:
            return 0.0
        table, row, weight = self.costs[:3]
        scores = self.deciding_scores
        parts = self.over_blocks(decision_costs, scores, table, row, weight, factor)
        return int(self.added([np.array([part]) for part in parts])[0]) / factor / total

    def savings(self, constant: int) -> FloatArray:
        """Sum over rows (3,) the weight, and by it what they cost less than this decision for all, and its square."""
        table, row, weight = self.costs[:3]
        saved = table[row, constant] - table[row, np.argmax(self.deciding_scores, axis=1)]
        sums = np.stack([weight, weight * saved, weight * saved**2], axis=1)
        return exact_sum(lambda: iter([sums]), self.place.n_rows, self.exchange)

    # -- trees with a vector in every leaf -----------------------------------------------------------------------
    def grow(self, target: Target, rule: GrowthRule, features: IntArray, seed: int) -> GrownTree:
        """Grow a tree leaf by leaf on the bag, by gradient and Hessian; `leaf` then holds every row's leaf number."""
        return self._growth.grow(target, rule, features, seed)

    def leaf_sums(self) -> tuple[FloatArray, FloatArray]:
        """Return gradient and Hessian summed over the bag's rows of each leaf of the grown tree, (L, D) each."""
        return self._growth.leaf_sums()

    def whole_rounds(self, rule: RoundRule) -> WholeRounds | None:
        """Make rounds in one call, where these rows offer that.

        The rows are at the gradients of the loss, all of them in the bag. Of the seeds given, the first rounds are
        made, perhaps not all; none if nothing lowers the loss. Only scores, gradient and Hessian follow them.

        Of so many classes that threads pay, they are made of their parts.
        """
        shared = LOSS_SUMS * self.n_samples * self.n_outputs >= SHARED_PASSES * self.limits.inline_work
        if self.workers.n > 1 and shared:
            return None
        plain = type(self) is Rows and self.sparse is None and self.is_alone
        if not plain or self.n_trained > self.limits.large_leaf:
            return None
        return whole_rounds(self, rule, self.weigh(None, 0))

    def grow_pairs(self, rule: GrowthRule, ridge: float, features: IntArray) -> GrownTree:
        """Grow a tree each of whose nodes looks at a pair of classes, by the loss with the trait `SOFTMAX_GRADIENT`.

        A node's pair is the class of the largest gradient and the one against which a Newton step lowers the loss most;
        the node is split where gradient^2 / (Hessian + ridge) along the pair gains most.
        """
        return self._pair_growth.grow_pairs(rule, ridge, features, self._log_scale)

    def paired_leaves(self) -> PairedLeaves:
        """Return pairs and sums of the leaves of the tree that `grow_pairs` has grown."""
        return self._pair_growth.paired_leaves()

    # -- leaves of a growing tree ----------------------------------------------------------------------------------
    def start_leaves(self) -> None:
        """Put all rows in leaf 0."""
        self.leaf[:] = 0

    def split_leaves(self, splits: LeafSplits, child: IntArray) -> None:
        """Move rows to the children of their leaves and set their responses."""
        X_binned, feature = self.X_binned, splits.feature
        if self.sparse is not None:
            X_binned, number = self.split_bins(np.maximum(feature, 0))
            feature = np.where(feature >= 0, number, feature)
        self.over_blocks(split_leaves, X_binned, feature, splits.bin, child, splits.sign, self.leaf, self.response)


# -- Whole rounds in one call ------------------------------------------------------------------------------------------
def whole_rounds(rows: RowColumns, rule: RoundRule, hessian: FloatArray) -> WholeRounds:
    """Make rounds in one call.

    The rows are at the gradients of the loss, all of them in the bag. Of the seeds given, the first rounds are
    made, perhaps not all; none if nothing lowers the loss. Only scores, gradient and Hessian follow them.
    """
    costs, everyone = rows.costs, np.flatnonzero(rows.bag_of(np.arange(rows.n_trained))).astype(np.int32)
    value, growth = np.empty(rows.n_outputs), rule.growth
    top = np.array([rows.top_gradient, rows.top_hessian, rows.top_value])
    width = rule.sketch + 1 if rule.sketch else 2 * rows.n_outputs + 1
    first, last = rows.left_out
    given = TrainingRows(
        rows.X_binned,
        rows.n_bins,
        costs.table,
        costs.row,
        costs.label,
        costs.weight,
        rows.in_bag,
        np.array([[0, first], [last, rows.n_samples]]),
        everyone,
        rows.sum_bits,
    )
    state = State(rows.scores, rows.gradient, rows.hessian, rows.value, rows.leaf, top, value, hessian.copy())
    space = Space(
        np.empty((rows.n_samples, width), dtype=FIXED),
        np.empty((rows.n_samples, rule.sketch + 1)),
        rows.index.lists,
        everyone.copy(),
        np.empty_like(everyone),
        GrowthState.empty(growth.max_leaves, width),
    )
    most = max(1, rows.limits.vector_numbers // (growth.max_leaves * rows.n_outputs))

    def run(totals: Totals, seeds: Sequence[int]) -> list[WholeRound]:
        value[:] = totals.value
        n_made, whole, real, depth, vectors, reached, values, scales = logistic_rounds(
            given, state, rule, space, totals.next_log_scale, np.array(seeds[:most])
        )
        (feature, bins, left, vector), (threshold, response, gain) = whole, real
        (node, leaf), scale, made = reached.tolist(), scales.tolist(), []
        for t, deepest in enumerate(depth[:n_made].tolist()):
            columns = feature, bins, threshold, left, response, vector, gain
            tree = Tree._make([*[column[node[t] : node[t + 1]] for column in columns], deepest, None, None])
            totals = Totals(values[t], scale[t], scale[t + 1])
            made.append(WholeRound(tree, vectors[leaf[t] : leaf[t + 1]], totals))
        return made

    return run
