"""PIBoost's loss: an exponential of each separator's margin.

Fernández-Baldera and Baumela, "Multi-class boosting with asymmetric binary weak-learners", Pattern Recognition 2014.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from minrisk._kernels import losses as kernels
from minrisk._kernels.split import QUADRATIC_GAIN
from minrisk._typing import FloatArray
from minrisk.losses.base import no_lines
from minrisk.model.codebook import Codebook
from minrisk.model.links import Link
from minrisk.rows.costs import CostFacts, RowCosts


@dataclass(frozen=True, eq=False)
class SeparatorLoss:
    """1 / (W G) sum_n w_n sum_S b_nS exp(-t_S(y_n) u_S), u_S the score of separator S's chain.

    With margin vectors y^S of Eq. (3) times the size s of the set, so that the score of class k is
    ``sum_S u_S words[S, k]``, the margins (5) over K are t_S(y) u_S with

        t_S(y) = 1 / (K - 1) for y in S,    -s / ((K - s) (K - 1)) else.

    Each chain is boosted on its own: its weights are its own terms, normalised (step 2f). So that a chain whose rows
    are all far on the right side keeps weights that float64 can tell apart, each has a scale of its own.

    A row of class y weighs in the chain of S what it costs in the mean to take it for a class on the other side,

        b_S(y) = 1/(K - s) sum_{k not in S} C_yk for y in S,    1/s sum_{k in S} C_yk else,

    which is 1 where all mistakes cost 1, the paper's case.

    Parameters
    ----------
    inside : ndarray of bool, (K, G)
        Whether a class is in the set.
    class_rates : ndarray of shape (K, G)
        t of each class.
    rates, share : ndarray of shape (T, G), optional
        t and b of each line of the cost table: see `for_costs`.
    """

    inside: np.ndarray
    class_rates: FloatArray
    rates: FloatArray = field(default_factory=no_lines)
    share: FloatArray = field(default_factory=no_lines)

    traits = frozenset[str]()
    base = "separators"
    gain = QUADRATIC_GAIN

    @property
    def n_chains(self) -> int:
        """G."""
        return int(self.class_rates.shape[1])

    def for_costs(self, costs: RowCosts) -> Self:
        """With t and b of each line."""
        rates = np.ascontiguousarray(self.class_rates[costs.line_labels()])
        return replace(self, rates=rates, share=np.abs(signed_weights(self.inside, costs)))

    def constant(self, costs: RowCosts) -> float:
        """0."""
        return 0.0

    def unit(self, costs: RowCosts) -> float:
        """That makes a mean over chains of a sum over them; the loop halves what is no joint loss."""
        return 2.0 / self.n_chains

    def floors(self, costs: RowCosts) -> FloatArray:
        """0."""
        return np.zeros(self.n_chains)

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """0: chains have scales of their own."""
        return 0.0

    def link(self, costs: CostFacts) -> Link | None:
        """None: the paper gives no probabilities."""
        return None

    # -- row kernels ---------------------------------------------------------------------------------------------
    def exponents(self, costs: RowCosts, scores: FloatArray, start: int, stop: int) -> FloatArray:
        """The largest -t u of each chain over rows start..stop, (G,)."""
        top: FloatArray = kernels.largest_exponents(
            self.rates, costs.row, costs.weight, self.share, scores, start, stop
        )
        return top

    def edges(
        self, costs: RowCosts, scores: FloatArray, shift: FloatArray, start: int, stop: int, edge: FloatArray
    ) -> FloatArray:
        """Weights of rows start..stop in each chain times e^-shift, with the sign of the right answer; their maxima."""
        top: FloatArray = kernels.chain_edges(
            self.rates, costs.row, costs.weight, self.share, scores, shift, start, stop, edge
        )
        return top


def separator_loss(codebook: Codebook) -> SeparatorLoss:
    """The loss of these separators."""
    inside = codebook.words == 1.0  # (G, K)
    K = inside.shape[1]
    s = inside.sum(axis=1)
    rates = np.where(inside, 1.0 / (K - 1), -(s / ((K - s) * (K - 1)))[:, None])  # (G, K)
    return SeparatorLoss(inside.T, rates.T)


def signed_weights(ones: np.ndarray, costs: RowCosts) -> FloatArray:
    """What it costs each line of the cost table in the mean to be taken for a class on the other side (T, G).

    `ones` (K, G) says which classes are on one side; the sign is that of the side of the line's class.
    """
    own = ones[costs.line_labels()]  # (T, G)
    of_ones, of_others = _side_sums(costs.table, ones), _side_sums(costs.table, ~ones)
    return np.asarray(np.where(own, of_others / (~ones).sum(axis=0), -(of_ones / ones.sum(axis=0))))


def _side_sums(table: FloatArray, ones: np.ndarray) -> FloatArray:
    """table @ ones, each sum in the order of the classes, however many lines there are."""
    sums = np.zeros((len(table), ones.shape[1]))
    for cost, side in zip(table.T, ones, strict=True):
        sums += cost[:, None] * side
    return sums
