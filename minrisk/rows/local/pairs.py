"""Rows for losses of pairwise margins: sums over pairs of classes, and where they count all learners' responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minrisk._kernels._dtypes import FLOAT_BITS, MAX_BINS, SCORE
from minrisk._kernels.fixed import response_sums, unfixed
from minrisk._kernels.pairwise import class_sums, edges_along, fill_odds, pair_slopes, pair_sums
from minrisk._kernels.scores import add_response
from minrisk._kernels.split import bar_between, side_bounds
from minrisk._kernels.stored import stored_side_bounds
from minrisk._typing import FloatArray, IntArray
from minrisk.rows.base import CORRECTIVE_ROWS, PAIR_ROWS, TreeLike
from minrisk.rows.fixed_point import added, divide, fixed_factor
from minrisk.rows.local.joint_responses import JointResponses
from minrisk.rows.local.rows import LocalRows
from minrisk.rows.row_losses import PairRowLoss


class LocalPairRows(LocalRows):
    """`LocalRows` that know a loss of pairwise margins along a response: as sums over pairs, or row by row."""

    traits = frozenset({PAIR_ROWS})
    _own: tuple[PairRowLoss, FloatArray, FloatArray] | None = None  # of a loss the rows' terms (n, 1), and their sum
    _odds: FloatArray | None = None

    def contrast_along(self, vector: FloatArray) -> None:
        """The contrast is the edges along a vector; see `PairRows.contrast_along`."""
        tops = self.over_blocks(lambda a, b: edges_along(self.edge, vector, a, b, self._contrast))
        self._fix_contrast(float(self.exchange.largest(np.array([max(tops)]))[0]))

    def own_total(self, loss: PairRowLoss) -> float:
        """Sum of the terms r = y; see `PairRows.own_total`."""
        if self._own is None or self._own[0] is not loss:
            terms = loss.own_terms(self.costs)[:, None]
            self._own = loss, terms, self.exchange.largest(terms.max(axis=0, initial=0.0))
        _, terms, top = self._own
        return float(unfixed(self._column_sums(terms, top), top, self.sum_bits)[0])

    def pair_sums(self) -> FloatArray:
        """B (D, D); see `PairRows.pair_sums`."""
        factor = fixed_factor(np.array([self.top_mass.max()]), self.sum_bits - 1)  # a bit for the sum of two sums
        parts = self.over_blocks(
            lambda a, b: pair_sums(self.mass, self.costs.label, self.response, self.in_bag, factor[0], a, b)
        )
        less, more = self.added(parts)
        return divide(more + less.T, factor)

    def start_pairs(self) -> None:
        """Cache e^-rho; see `PairRows.start_pairs`."""
        if self._odds is None:
            self._odds = np.empty((self.n_samples, self.n_outputs), dtype=SCORE)
        odds = self._odds
        self.over_blocks(lambda a, b: fill_odds(self.scores, self.costs.label, a, b, odds))

    def pair_slopes(self, vector: FloatArray) -> tuple[float, FloatArray]:
        """Value and slope of the logistic loss; see `PairRows.pair_slopes`."""
        assert self._odds is not None
        odds, costs = self._odds, self.costs
        grown = np.exp(np.array([vector[:, None] - vector, vector - vector[:, None]]))
        growth = float(grown.max())  # log(1 + z g) <= g log(1 + z) and z g / (1 + z g) <= g z / (1 + z) for g >= 1
        weighed = self.top_cost * np.exp(-self._log_scale)
        top_edge = min(float(self.top_edge.max()) * growth, weighed)
        top_value = float(self.top_value.max())
        top_value = min(top_value * growth, top_value + weighed * self.n_outputs * np.log(growth))
        factors = fixed_factor(np.array([top_value, top_edge]), self.sum_bits - self.n_outputs.bit_length())
        parts = self.over_blocks(
            lambda a, b: pair_slopes(
                costs.table,
                costs.row,
                costs.label,
                costs.weight,
                odds,
                self.response,
                self.in_bag,
                grown,
                self._log_scale,
                factors[0],
                factors[1],
                a,
                b,
            )
        )
        sums: IntArray = self.added(parts)
        return float(divide(sums[:1], factors[:1])[0]), divide(sums[1:], factors[1:])

    def learner_edges(self, trees: Sequence[TreeLike]) -> FloatArray:
        """Sums of response * edge, in one exchange; see `PairRows.learner_edges`."""
        factor = self.fixed_factor(self.top_edge)
        sums = np.zeros((len(trees), self.n_outputs), dtype=np.int64)
        for own, tree in zip(sums, trees, strict=True):
            self.respond(tree)
            parts = self.over_blocks(lambda a, b: response_sums(self.edge, self.response, self.in_bag, factor, a, b))
            own += np.sum(parts, axis=0)
        return divide(self.exchange.added(sums), np.broadcast_to(factor, sums.shape))


class LocalCorrectiveRows(LocalPairRows):
    """`LocalPairRows` that keep the responses of all learners, as joint ones, and the vectors they go with.

    Sums over learners and over rows are exact, hence independent of order, blocks and threads: vectors are multiples of
    2^-32 (`minrisk.model.coded_trees`), and edges are whole numbers in them.

    Parameters
    ----------
    *parts, **options
        Of `LocalRows`.
    distinct : bool
        No stump answers as one that is kept does, or the opposite.
    """

    traits = frozenset({PAIR_ROWS, CORRECTIVE_ROWS})

    def __init__(self, *parts: Any, distinct: bool = False, **options: Any) -> None:
        super().__init__(*parts, **options)
        if distinct:
            self.barred = np.zeros((self.n_features, MAX_BINS), dtype=np.bool_)
        self._kept = JointResponses(self.n_samples)
        self._vectors = np.empty((16, self.n_outputs))
        self._origin = np.zeros(self.n_outputs)
        self._tried = np.empty((2, 0, self.n_outputs))
        self._value = np.empty(self.n_samples)

    @property
    def n_kept(self) -> int:
        """Number of learners so far, T."""
        return len(self._kept)

    @property
    def kept_vectors(self) -> FloatArray:
        """Vectors of the learners so far, (T, D)."""
        return self._vectors[: self.n_kept]

    def start_at(self, trees: Sequence[Any], vectors: Sequence[FloatArray], intercept: FloatArray) -> None:
        """The scores that these learners make; see `Rows.start_at`."""
        self._origin, self._kept = np.zeros(self.n_outputs), JointResponses(self.n_samples)
        self.barred[:] = False
        self._start_one_by_one(trees, vectors, intercept)

    def shift(self, vector: FloatArray) -> None:
        """scores += vector: the constant term."""
        super().shift(vector)
        self._origin = self._origin + vector

    def advance(self, vectors: FloatArray) -> None:
        """Add response * vectors[0], and keep both."""
        super().advance(vectors)
        if self.n_kept == len(self._vectors):
            self._vectors = np.concatenate([self._vectors, np.empty_like(self._vectors)])
        self._vectors[self.n_kept] = vectors[0]
        self._kept.append(self.response)
        if len(self.barred):
            bounds = self._side_bounds()
            bar_between(self.exchange.largest(bounds), self.barred)

    def _side_bounds(self) -> IntArray:
        """Of each feature the bins on either side of the response; see `side_bounds`."""
        if self.sparse is None:
            return np.asarray(side_bounds(self.X_binned, self.response))
        return np.asarray(stored_side_bounds(self.sparse.stored, self.response))

    def correct(self, changes: FloatArray) -> None:
        """Add changes to the vectors so far; see `CorrectiveRows.correct`."""
        self.kept_vectors[:] += changes
        tables = self._kept.tables(changes)
        self.over_blocks(lambda a, b: self._kept.add(tables, a, b, self.scores))

    def start_vectors(self) -> FloatArray:
        """The vectors so far and one of 0; see `CorrectiveRows.start_vectors`."""
        if self._tried.shape[1] == 0:
            self._tried = np.empty((2, self.n_samples, self.n_outputs))
        return np.concatenate([self.kept_vectors, np.zeros((1, self.n_outputs))])

    def total_slopes(self, loss: PairRowLoss, vectors: FloatArray) -> tuple[float, FloatArray]:
        """Value and slope of the loss with all vectors; see `CorrectiveRows.total_slopes`."""
        (scores, edge), tables = self._tried, self._kept.tables(vectors[:-1])

        def edges(a: int, b: int) -> FloatArray:
            scores[a:b] = self._origin
            add_response(scores, self.response, vectors[-1], a, b)
            self._kept.add(tables, a, b, scores)
            return loss.edges(self.costs, scores, self._log_scale, a, b, edge, self._value)

        top_edge, top_value = self.largest(self.over_blocks(edges))
        factor = self.fixed_factor(top_value)
        whole = fixed_factor(top_edge, FLOAT_BITS - self.place.n_rows.bit_length())

        def sums(a: int, b: int) -> tuple[IntArray, FloatArray, IntArray]:
            value = class_sums(self._value, self.costs.label, self.in_bag, factor, a, b)
            before = self._kept.sums(edge, self.in_bag, whole, a, b)
            return value, before, response_sums(edge, self.response, self.in_bag, whole, a, b)

        values, before, last = zip(*self.over_blocks(sums), strict=True)
        slope = -self.exchange.added(np.concatenate([self._kept.products(added(before)), added(last)[None]]))
        value = float(unfixed(self.added(values), top_value, self.sum_bits).sum())
        return value, divide(slope, np.broadcast_to(whole, slope.shape))
