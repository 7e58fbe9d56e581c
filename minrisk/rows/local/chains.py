"""Rows with a score for each chain: weights that are normalised chain by chain, and the scores of the decisions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from minrisk._kernels import chains as kernels
from minrisk._kernels._dtypes import MAX_BINS, SCORE, TIE
from minrisk._kernels.fixed import unfixed
from minrisk._kernels.grow import SKETCH
from minrisk._kernels.scores import add_response
from minrisk._memory import empty, zeros
from minrisk._typing import FloatArray, IntArray
from minrisk.model.codes import Codebook
from minrisk.rows.base import CHAIN_ROWS, ChainStumps, Target, Totals
from minrisk.rows.fixed_point import divide, fixed_factor
from minrisk.rows.local.directed import LocalDirectedRows
from minrisk.rows.local.stump_search import add_edges
from minrisk.rows.row_losses import ChainRowLoss


class LocalChainRows(LocalDirectedRows):
    """`LocalDirectedRows` whose scores, edges and masses are of chains. The mass is the edge without its sign.

    Parameters
    ----------
    codebook : Codebook
        Of the chains: what a score of each says of the decisions.
    **columns
        Parameters of `LocalDirectedRows`.
    """

    traits = frozenset({CHAIN_ROWS})

    def __init__(self, *, codebook: Codebook, **columns: Any) -> None:
        super().__init__(n_outputs=len(codebook), **columns)
        self.codebook = codebook
        self._decided = zeros((self.n_samples, self.n_scores), SCORE)
        self._shift = np.zeros(self.n_outputs)
        self.mass = np.empty((0, self.n_outputs), dtype=SCORE)

    @property
    def deciding_scores(self) -> FloatArray:
        """Scores of the decisions."""
        return self._decided if self.decoder is None else self.decoder.decoded(self._decided, self.workers)

    # -- sums ----------------------------------------------------------------------------------------------------
    def gradients(self, loss: Any, log_scale: float) -> Totals:
        """Fill the edges, each chain's times e^-shift such that the largest is near the row's weight."""
        chains: ChainRowLoss = self.for_costs(loss)  # as these rows ask for
        if len(self.edge) < self.n_samples:  # after a rest
            self.edge = empty(self.scores.shape, SCORE)
        shift = self.largest(self.over_blocks(lambda a, b: chains.exponents(self.costs, self.scores, a, b)))
        self._shift = np.where(np.isfinite(shift), shift, 0.0)
        tops = self.over_blocks(lambda a, b: chains.edges(self.costs, self.scores, self._shift, a, b, self.edge))
        self.top_edge = self.top_mass = self.largest(tops)
        self._restrict(None)
        self._whole_mass = None
        highest = float(self._shift.max())
        return Totals(self.values(loss), highest, highest)

    def values(self, loss: Any) -> FloatArray:
        """Loss of each chain over the bag, all at the scale of the largest; see `Rows.values`."""
        own = self._mass_sums()
        self._whole_mass = own if self.whole else None
        return np.asarray(own * np.exp(self._shift - self._shift.max()))

    def _mass_sums(self) -> FloatArray:
        factor = fixed_factor(self.top_mass, self.sum_bits)
        parts = self.over_blocks(lambda a, b: kernels.size_sums(self.edge, self.in_bag, factor, a, b))
        return np.asarray(unfixed(self.added(parts), self.top_mass, self.sum_bits))

    def side_errors(self, chain: int) -> FloatArray:
        """Weights and errors in the set and outside; see `ChainRows.side_errors`."""
        factor = float(fixed_factor(self.top_edge[chain : chain + 1], self.sum_bits)[0])
        sums = self.added(
            self.over_blocks(
                lambda a, b: kernels.side_errors(self.edge, chain, self.response, self.in_bag, factor, a, b)
            )
        )
        return divide(sums, np.array([factor]))

    # -- learners ------------------------------------------------------------------------------------------------
    def best_stumps(self, features: IntArray) -> ChainStumps:
        """The best stump for each chain; see `ChainRows.best_stumps`."""
        n_chains = self.n_outputs

        def scan(chunk: IntArray, sums: np.ndarray) -> tuple[IntArray, IntArray]:
            edge, where = np.empty((2, len(chunk), n_chains), dtype=np.int64)
            kernels.scan_chains(sums, chunk, self.n_bins, self.fixed_total, edge, where)
            return edge, where

        add = partial(add_edges, self)
        order, (edge, where) = self.scanned(features, (MAX_BINS, n_chains), n_chains, add, scan)
        ties = edge >= edge.max(axis=0) * (1.0 - TIE)
        best = np.argmin(np.where(ties, order[:, None], self.n_features), axis=0)
        chain = np.arange(n_chains)
        return ChainStumps(np.where(edge[best, chain] >= 0, order[best], -1), where[best, chain])

    def aim_at(self, chain: int) -> None:
        """The target is the right side of a chain; see `ChainRows.aim_at`."""
        self.over_blocks(lambda a, b: kernels.take_chain(self.edge, chain, self.in_bag, a, b, self.push, self.pull))
        self.top_push = self.top_pull = self.top_edge[chain : chain + 1]
        self._drawn = None

    def draw(self, chain: int, size: int, seed: int) -> None:
        """The target is that of rows drawn by weight; see `ChainRows.draw`."""
        self.aim_at(chain)
        factor = float(fixed_factor(self.top_pull, self.sum_bits)[0])
        reached = np.cumsum(np.rint(self.pull[:, 0] * factor).astype(np.int64))
        own = int(reached[-1]) if self.n_samples else 0
        pieces = self.exchange.gathered(np.array([[self.place.first, own]]))
        before, total = int(pieces[pieces[:, 0] < self.place.first, 1].sum()), int(pieces[:, 1].sum())
        if not total:
            return
        drawn = np.random.default_rng(seed).integers(0, total, size) - before
        here = np.sort(drawn[(drawn >= 0) & (drawn < own)])
        self._drawn = np.searchsorted(reached, here, side="right").astype(np.int32)
        among = np.zeros(self.n_samples, dtype=np.bool_)
        among[self._drawn] = True
        self.push[:, 0], self.pull[:, 0] = np.where(among, np.sign(self.push[:, 0]), 0.0), among
        self.top_push = self.top_pull = np.ones(1)

    def _criterion(self, ridge: float) -> Target:
        """As for other directions, by the faster kernel of sketches: edges have one column."""
        return Target(SKETCH, np.array([ridge]), np.ones((1, 1)), np.ones(1))

    # -- scores --------------------------------------------------------------------------------------------------
    def start_at(self, trees: Sequence[Any], vectors: Sequence[FloatArray], intercept: FloatArray) -> None:
        """The scores that these learners make; see `Rows.start_at`."""
        self._decided[:] = 0.0
        super().start_at(trees, vectors, intercept)

    def shift(self, vector: FloatArray) -> None:
        """Scores of the decisions += vector."""
        self._decided += vector

    def advance(self, vectors: FloatArray) -> None:
        """scores += response * vectors[0], few of whose entries are not 0, and what that says of the decisions."""
        for chain in np.flatnonzero(vectors[0]).tolist():
            step = float(vectors[0, chain])
            self.over_blocks(partial(kernels.add_to_chain, self.scores, chain, self.response, step))
        decided = self.codebook.decoded(vectors)[0]
        self.over_blocks(lambda a, b: add_response(self._decided, self.response, decided, a, b))
