"""AdaBoost.MO's loss: AdaBoost.MH's of the bits of an output code.

R. E. Schapire and Y. Singer, "Improved boosting algorithms using confidence-rated predictions", Machine Learning 1999.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from minrisk._kernels import losses as kernels
from minrisk._kernels.split import EXPONENTIAL_GAIN
from minrisk._memory import read_only
from minrisk._typing import FloatArray
from minrisk.losses.base import EXPONENTIAL, no_lines
from minrisk.losses.separators import SeparatorLoss, signed_weights
from minrisk.model.links import Link
from minrisk.rows.costs import CostFacts, RowCosts


@dataclass(frozen=True, eq=False)
class CodeLoss:
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
        """With b of each line."""
        return replace(self, signed=read_only(signed_weights(self.ones, costs)))

    def constant(self, costs: RowCosts) -> float:
        """What no decision avoids."""
        return float(costs.stated(0.0))

    def unit(self, costs: RowCosts) -> float:
        """That of the costs."""
        return costs.unit

    def floors(self, costs: RowCosts) -> FloatArray:
        """0: every bit of a row can grow without end."""
        return np.zeros(self.ones.shape[1])

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """Log of the largest weight of a bit."""
        top = float(costs.largest_of(np.abs(self.signed)).max()) * top_weight
        return float(np.log(top)) if top > 0.0 else 0.0

    def link(self, costs: CostFacts) -> Link | None:
        """None: each bit has a probability, whose products are not the classes'."""
        return None

    # -- row kernels ---------------------------------------------------------------------------------------------
    def gradients(
        self,
        costs: RowCosts,
        scores: FloatArray,
        log_scale: float,
        start: int,
        stop: int,
        edge: FloatArray,
        mass: FloatArray,
    ) -> FloatArray:
        """Edge and mass of rows start..stop, and their maxima; see `minrisk._kernels.losses`."""
        top: FloatArray = kernels.bit_gradients(
            self.signed, costs.row, costs.weight, scores, log_scale, start, stop, edge, mass
        )
        return top


def code_loss(words: np.ndarray) -> CodeLoss:
    """The loss of a code's bits, of words (K, L) of -1 and +1."""
    return CodeLoss(words > 0)


def chain_loss(words: np.ndarray) -> SeparatorLoss:
    """The same for bits that are chains, each with a scale of its own; the mean over bits, not half their sum."""
    ones = words > 0
    return SeparatorLoss(ones, np.where(ones, 1.0, -1.0))
