"""Losses of pairwise margins: the exponential and the logistic of every difference S_y - S_r, with costs.

Paisitkriangkrai, Shen and van den Hengel, "A scalable stage-wise approach to large-margin multi-class loss based
boosting", 2013, Eq. (2), (4) and (7).

=====================  ==================================  ===========================================
paper                  here                                where
=====================  ==================================  ===========================================
rho_ir, Eq. (2)        S_y - S_r of the ``scores``         rows
u_ir, Eq. (11), (12)   ``gradient`` but at y, negated      `minrisk._kernels.pairwise`
sum_r with r = y       ``PairwiseLoss.constant``           here
=====================  ==================================  ===========================================

The costs are ours: the pair of y and r weighs C_yr. The paper's sums include r = y, of rho = 0, whose term matters to
the balance with nu only; it keeps the weight that a mistake has on average, which is the paper's 1 for 0/1 costs.

The structured hinge loss with the margin rescaled by costs: the upper bound of the risk that StructBoost lowers.

C. Shen, G. Lin and A. van den Hengel, "StructBoost: boosting methods for predicting structured output variables", IEEE
PAMI 2014 (arXiv 1302.3283), for decisions that are classes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from minrisk._kernels import guess_averse, losses, pairwise
from minrisk._typing import FloatArray
from minrisk.losses.base import JOINT, PAIRS, PLANES, Differences, Kernels, NamedDifferences, of_rows
from minrisk.losses.guess_averse import GuessAverseLoss
from minrisk.model.links import Link
from minrisk.rows.costs import CostFacts, RowCosts
from minrisk.rows.row_losses import LossColumns


@dataclass(frozen=True, eq=False)
class PairwiseLoss(NamedDifferences):
    """1 / W sum_n w_n sum_r c_nr phi(S_ny - S_nr), phi(rho) = e^-rho or log(1 + e^-rho)."""

    KINDS: ClassVar[Mapping[str, Kernels]] = {  # without the terms r = y
        "exponential": Kernels(partial(guess_averse.exponential_gradients, 1.0)),
        "logistic": Kernels(pairwise.logistic_gradients),
    }

    kind: str  # {"exponential", "logistic"}

    traits = frozenset({JOINT, PAIRS})

    def own_terms(self, costs: RowCosts) -> FloatArray:
        """Return w_n c_ny phi(0) (n,): the paper's terms r = y, with the mean of the row's costs for c_ny."""
        table = costs.table
        own = table[costs.row, costs.label]
        mean = (table.sum(axis=1)[costs.row] - own) / (table.shape[1] - 1)
        return np.asarray(costs.weight * mean * (1.0 if self.kind == "exponential" else math.log(2.0)))

    def constant(self, costs: RowCosts) -> float:
        """Return the mean of the terms r = y.

        Raises
        ------
        ValueError
            If a true class is no decision, or the only one.
        """
        super().constant(costs)
        return costs.total(self.own_terms(costs)) / costs.total(costs.weight) * costs.unit

    def link(self, costs: CostFacts) -> Link | None:
        """Return one for symmetric costs, which the minimisers do not see: S = ln p (logistic) or 1/2 ln p + const.

        Each pair's part C_jk (p_j phi(S_j - S_k) + p_k phi(S_k - S_j)) of the expected loss is least at S_j - S_k =
        ln(p_j / p_k), or half of it.
        """
        if GuessAverseLoss("gel").link(costs) is None:
            return None
        return "softmax2" if self.kind == "exponential" else "softmax"


# -- structured hinge --------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class StructuredHinge(Differences):
    """1 / W sum_n w_n max_k (c_nk + H_nk - H_ny), with c_ny counted as 0.

    The slack of a row at its optimum. It is convex, piecewise linear, and no less than what the decision of the largest
    score costs. It has no curvature, so that steps and learners work with its cutting planes. Where it is least depends
    on which class is the best, not on how probable it is.
    """

    traits = frozenset({JOINT, PLANES})
    base = "structured hinge"

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """Return 0: weights do not overflow."""
        return 0.0

    def gradients(self, at: LossColumns, start: int, stop: int) -> FloatArray:
        """Fill the gradient of the plane at the present scores, no Hessian, and value; return column maxima (3, D)."""
        columns = at.scores, at.gradient, at.hessian, at.value
        top: FloatArray = losses.hinge_gradients(*of_rows(at.costs), *columns, start, stop)
        return top
