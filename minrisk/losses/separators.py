"""PIBoost's loss: an exponential of each separator's margin.

Fernández-Baldera and Baumela, "Multi-class boosting with asymmetric binary weak-learners", Pattern Recognition 2014.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minrisk._kernels import chains as kernels
from minrisk._kernels.split import QUADRATIC_GAIN
from minrisk._typing import FloatArray
from minrisk.model.codebook import Codebook
from minrisk.model.links import Link
from minrisk.rows.costs import RowCosts


@dataclass(frozen=True, eq=False)
class SeparatorLoss:
    """1 / (W G) sum_n w_n sum_S b_nS exp(-t_S(y_n) u_S), u_S the score of separator S's chain.

    With margin vectors y^S of Eq. (3) times the size s of the set, so that the score of class k is
    ``sum_S u_S words[S, k]``, the margins (5) over K are t_S(y) u_S with

        t_S(y) = 1 / (K - 1) for y in S,    -s / ((K - s) (K - 1)) else.

    Each chain is boosted on its own: its weights are its own terms, normalised (step 2f). So that a chain whose rows
    are all far on the right side keeps weights that float64 can tell apart, each has a scale of its own.

    Parameters
    ----------
    rates : ndarray of shape (T, G)
        t of the class of each line of the cost table.
    share : ndarray of shape (T, G)
        b of each line: 1 in the paper.
    """

    rates: FloatArray
    share: FloatArray

    traits = frozenset[str]()
    base = "separators"
    gain = QUADRATIC_GAIN

    @property
    def n_chains(self) -> int:
        """G."""
        return int(self.rates.shape[1])

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

    def link(self, costs: RowCosts) -> Link | None:
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


def separator_loss(codebook: Codebook, costs: RowCosts) -> SeparatorLoss:
    """The loss of these separators, with what mistakes cost.

    A row of class y weighs in the chain of S what it costs in the mean to take it for a class on the other side,

        b_S(y) = 1/(K - s) sum_{k not in S} C_yk for y in S,    1/s sum_{k in S} C_yk else,

    which is 1 where all mistakes cost 1.
    """
    inside = codebook.words == 1.0  # (G, K)
    K = inside.shape[1]
    s = inside.sum(axis=1)
    rates = np.where(inside, 1.0 / (K - 1), -(s / ((K - s) * (K - 1)))[:, None])  # (G, K)
    label = costs.merged().label  # of each line
    own = inside[:, label].T  # (T, G): whether the line's class is in the set
    of_set = costs.table @ inside.T / s
    of_others = costs.table @ (~inside).T / (K - s)
    return SeparatorLoss(np.ascontiguousarray(rates[:, label].T), np.where(own, of_others, of_set))
