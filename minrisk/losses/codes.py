"""Exponential losses of one score each: of separators, of the bits of a code, and of the true class's own score.

- PIBoost: Fernández-Baldera and Baumela, "Multi-class boosting with asymmetric binary weak-learners", Pattern
  Recognition 2014.
- AdaBoost.MO: R. E. Schapire and Y. Singer, "Improved boosting algorithms using confidence-rated predictions", Machine
  Learning 1999.
- Margin vectors: H. Zou, J. Zhu and T. Hastie, "New multicategory boosting algorithms based on multicategory
  Fisher-consistent losses", Annals of Applied Statistics 2008; A. Fernandez-Baldera, J. M. Buenaposada and L. Baumela,
  "BAdaCost: Multi-class boosting with costs", Pattern Recognition 2018.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from minrisk._kernels import losses as kernels
from minrisk._kernels.functions import log
from minrisk._kernels.split import EXPONENTIAL_GAIN
from minrisk._typing import FloatArray
from minrisk._utils.memory import read_only
from minrisk.losses.base import EXPONENTIAL, Differences, no_lines
from minrisk.model.codes import Codebook
from minrisk.model.links import Link
from minrisk.rows.costs import CostFacts, RowCosts
from minrisk.rows.row_losses import Course, Loss, LossColumns, RowLoss


def simplex_codewords(K: int) -> FloatArray:
    """Return corners of a regular simplex around 0, (K, K - 1): sum_k y_k = 0 and ||y_k|| = 1.

    A simplex is fixed up to a rotation only, which coordinate descent notices and the paper of MCBoost does not state.
    This one is triangular: coordinate r is 0 for the classes before r, positive for r, and equal and negative for those
    behind it.

    Examples
    --------
    >>> simplex_codewords(3).round(3).tolist()
    [[1.0, 0.0], [-0.5, 0.866], [-0.5, -0.866]]
    """
    Y = np.zeros((K, K - 1))
    for r in range(K - 1):
        behind = K - 1 - r
        Y[r, r] = np.sqrt(K * behind / ((K - 1) * (behind + 1.0)))
        Y[r + 1 :, r] = -Y[r, r] / behind
    return Y


# -- separators --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class SeparatorLoss(Loss):
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

    @property
    def n_chains(self) -> int:
        """Return G."""
        return int(self.class_rates.shape[1])

    def for_costs(self, costs: RowCosts) -> Self:
        """Return the loss with t and b of each line."""
        rates = np.ascontiguousarray(self.class_rates[costs.line_labels()])
        return replace(self, rates=rates, share=np.abs(signed_weights(self.inside, costs)))

    def unit(self, costs: RowCosts) -> float:
        """Return what makes a mean over chains of a sum over them; the loop halves what is no joint loss."""
        return 2.0 / self.n_chains

    def floors(self, costs: RowCosts) -> FloatArray:
        return np.zeros(self.n_chains)

    def exponents(self, at: LossColumns, start: int, stop: int) -> FloatArray:
        """Return the largest -t u of each chain over rows start..stop, (G,)."""
        own = self.rates, at.costs.row, at.costs.weight, self.share
        top: FloatArray = kernels.largest_exponents(*own, at.scores, start, stop)
        return top

    def row_weights(self, at: LossColumns, shift: FloatArray, start: int, stop: int) -> FloatArray:
        """Fill the gradient with weights in each chain times e^-shift, signed as the right answer; return maxima."""
        own = self.rates, at.costs.row, at.costs.weight, self.share
        top: FloatArray = kernels.chain_weights(*own, at.scores, shift, at.gradient, start, stop)
        return top


def separator_loss(codebook: Codebook) -> SeparatorLoss:
    """Return the loss of these separators."""
    inside = codebook.words == 1.0  # (G, K)
    K = inside.shape[1]
    s = inside.sum(axis=1)
    rates = np.where(inside, 1.0 / (K - 1), -(s / ((K - s) * (K - 1)))[:, None])  # (G, K)
    return SeparatorLoss(inside.T, rates.T)


def signed_weights(ones: np.ndarray, costs: RowCosts) -> FloatArray:
    """Return what it costs each line of the cost table on average to be taken for a class on the other side (T, G).

    `ones` (K, G) says which classes are on one side; the sign is that of the side of the line's class.
    """
    own = ones[costs.line_labels()]  # (T, G)
    of_ones, of_others = _side_sums(costs.table, ones), _side_sums(costs.table, ~ones)
    return np.asarray(np.where(own, of_others / (~ones).sum(axis=0), -(of_ones / ones.sum(axis=0))))


def _side_sums(table: FloatArray, ones: np.ndarray) -> FloatArray:
    """Compute table @ ones, each sum in the order of the classes, however many lines there are."""
    sums = np.zeros((len(table), ones.shape[1]))
    for cost, side in zip(table.T, ones, strict=True):
        sums += cost[:, None] * side
    return sums


# -- output codes ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class CodeLoss(RowLoss):
    """1 / (2 W) sum_n w_n sum_l b_nl exp(-word_l(y_n) f_nl).

    A row of class y weighs in bit l what it costs in the mean to take it for a class whose bit is another,

        b_l(y) = mean of C_yk over the k with word_l(k) != word_l(y),

    which is 1 where all mistakes cost 1.

    Parameters
    ----------
    ones : ndarray of bool, (K, L)
        Where the words have ones; no bit is the same for all classes.
    signed : ndarray of shape (T, L), optional
        b of each line of the cost table and bit, with the sign of the bit in the word of the line's class: see
        `for_costs`.
    """

    ones: np.ndarray
    signed: FloatArray = field(default_factory=no_lines)

    traits = frozenset({EXPONENTIAL})
    base = "exponential of bits"
    gain = EXPONENTIAL_GAIN

    def for_costs(self, costs: RowCosts) -> Self:
        """Return the loss with b of each line."""
        return replace(self, signed=read_only(signed_weights(self.ones, costs)))

    def constant(self, costs: RowCosts) -> float:
        """Return the mean cost that no decision avoids."""
        return float(costs.stated(0.0))

    def floors(self, costs: RowCosts) -> FloatArray:
        """Return 0: every bit of a row can grow without end."""
        return np.zeros(self.ones.shape[1])

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """Return the log of the largest weight of a bit."""
        top = float(costs.largest_of(np.abs(self.signed)).max()) * top_weight
        return log(top) if top > 0.0 else 0.0

    def gradients(self, at: LossColumns, start: int, stop: int) -> FloatArray:
        """Fill gradient and Hessian of rows start..stop, and return maxima; see `minrisk._kernels.losses`."""
        top: FloatArray = kernels.bit_gradients(self.signed, at.costs.row, at.costs.weight, *at[1:5], start, stop)
        return top


def code_loss(words: np.ndarray) -> CodeLoss:
    """Return the loss of a code's bits, of words (K, L) of -1 and +1."""
    return CodeLoss(words > 0)


def chain_loss(words: np.ndarray) -> SeparatorLoss:
    """Return the loss of bits that are chains, each with a scale of its own; the mean over bits, not half their sum."""
    ones = words > 0
    return SeparatorLoss(ones, np.where(ones, 1.0, -1.0))


# -- the true class's score --------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class OwnScoreLoss(Differences):
    """1 / W sum_n w_n exp(-S_ny), or of what the score S_ny is above the mean of the row's scores.

    Without the mean nothing keeps one score from growing in all rows: the vectors along which scores move must.
    """

    centred: bool  # whether the mean is taken off

    @property
    def traits(self) -> frozenset[str]:
        """Return facts that others may rely on: without the mean the Hessian is the value."""
        return super().traits if self.centred else super().traits | {EXPONENTIAL}

    @property
    def base(self) -> str:
        return "exponential of the centred own score" if self.centred else "exponential of the own score"

    def _share(self, costs: RowCosts) -> float:
        """Return the share of the sum of scores that is taken off."""
        return 1.0 / costs.n_decisions if self.centred else 0.0

    def unit(self, costs: RowCosts) -> float:
        """Return 1: the loss is no multiple of the costs."""
        return 1.0

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """Return the log of the largest weight."""
        return log(top_weight) if top_weight > 0.0 else 0.0

    def link(self, costs: CostFacts) -> Link | None:
        """Return softmax if each mistake costs the same: sum_k p_k e^-S_k with sum_k S_k = 0 is least at ln p_k + c.

        With other costs of BAdaCost the scores' sum is another one, and what the scores are at the least says no more
        than what each probability is relative to a number that the costs give its class.
        """
        table, K = costs.table, costs.n_decisions
        if table is None or len(table) != K or K < 2:
            return None
        others = table[~np.eye(K, dtype=bool)]
        return "softmax" if np.ptp(others) == 0.0 < others[0] and not np.diag(table).any() else None

    def gradients(self, at: LossColumns, start: int, stop: int) -> FloatArray:
        """Fill gradient, Hessian and value of rows start..stop; return column maxima (3, D)."""
        own = at.costs.label, at.costs.weight, at.scores, self._share(at.costs)
        top: FloatArray = kernels.own_gradients(*own, *at[2:6], start, stop)
        return top

    def along(self, at: LossColumns, course: Course, start: int, stop: int) -> FloatArray:
        """Fill the line of the course; return its maxima."""
        own = at.costs.label, at.costs.weight, at.scores, self._share(at.costs)
        top: FloatArray = kernels.own_along(*own, at.log_scale, *course[:4], start, stop)
        return top
