"""Losses of pairwise margins: the exponential and the logistic of every difference S_y - S_r, with costs.

Paisitkriangkrai, Shen and van den Hengel, "A scalable stage-wise approach to large-margin multi-class loss based
boosting", 2013, Eq. (2), (4) and (7).

=====================  ==================================  ===========================================
paper                  here                                where
=====================  ==================================  ===========================================
rho_ir, Eq. (2)        S_y - S_r of the ``scores``         rows
u_ir, Eq. (11), (12)   ``edge`` less what is at y, signed  `minrisk._kernels.pairwise`
sum_r with r = y       ``PairwiseLoss.constant``           here
=====================  ==================================  ===========================================

The costs are ours: the pair of y and r weighs C_yr. The paper's sums include r = y, of rho = 0, whose term matters to
the balance with nu only; it keeps the weight that a mistake has on average, which is the paper's 1 for 0/1 costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from minrisk._kernels import guess_averse
from minrisk._kernels import pairwise as kernels
from minrisk._typing import Bag, FloatArray, IntArray
from minrisk.losses.base import PAIRS, NamedDifferences
from minrisk.losses.guess_averse import GuessAverseLoss
from minrisk.model.links import Link
from minrisk.rows.costs import CostFacts, RowCosts


@dataclass(frozen=True, eq=False)
class PairwiseLoss(NamedDifferences):
    """1 / W sum_n w_n sum_r c_nr phi(S_ny - S_nr), phi(rho) = e^-rho or log(1 + e^-rho).

    Parameters
    ----------
    kind : {"exponential", "logistic"}
    """

    KINDS: ClassVar[tuple[str, ...]] = ("exponential", "logistic")

    kind: str

    @property
    def traits(self) -> frozenset[str]:
        """Facts that others may rely on."""
        return super().traits | {PAIRS}

    def own_terms(self, costs: RowCosts) -> FloatArray:
        """w_n c_ny phi(0) of each row (n,): the paper's terms r = y, with the mean of the row's costs for c_ny."""
        table = costs.table
        own = table[costs.row, costs.label]
        mean = (table.sum(axis=1)[costs.row] - own) / (table.shape[1] - 1)
        return np.asarray(costs.weight * mean * (1.0 if self.kind == "exponential" else math.log(2.0)))

    def constant(self, costs: RowCosts) -> float:
        """Mean of the terms r = y.

        Raises
        ------
        ValueError
            If a true class is no decision, or the only one.
        """
        super().constant(costs)
        return costs.total(self.own_terms(costs)) / costs.total(costs.weight) * costs.unit

    def link(self, costs: CostFacts) -> Link | None:
        """Of symmetric costs, which the minimisers do not see: S = ln p (logistic) or 1/2 ln p (exponential) + const.

        Each pair's part C_jk (p_j phi(S_j - S_k) + p_k phi(S_k - S_j)) of the expected loss is least at S_j - S_k =
        ln(p_j / p_k), or half of it.
        """
        if GuessAverseLoss("gel").link(costs) is None:
            return None
        return "softmax2" if self.kind == "exponential" else "softmax"

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
        """Edge, and mass = the diagonal of the Hessian, of rows start..stop; returns column maxima (3, D)."""
        run = guess_averse.exponential_gradients if self.kind == "exponential" else kernels.logistic_gradients
        top: FloatArray = run(
            costs.table, costs.row, costs.label, costs.weight, scores, log_scale, start, stop, edge, mass
        )
        return top

    def edges(
        self,
        costs: RowCosts,
        scores: FloatArray,
        log_scale: float,
        start: int,
        stop: int,
        edge: FloatArray,
        value: FloatArray,
    ) -> FloatArray:
        """Edge (n, D) and value (n,), without the terms r = y, of rows start..stop; returns their maxima (2, D)."""
        run = kernels.exponential_edges if self.kind == "exponential" else kernels.logistic_edges
        top: FloatArray = run(
            costs.table, costs.row, costs.label, costs.weight, scores, log_scale, start, stop, edge, value
        )
        return top

    def value_sums(
        self,
        costs: RowCosts,
        scores: FloatArray,
        log_scale: float,
        edge: FloatArray,
        in_bag: Bag,
        factor: FloatArray,
        start: int,
        stop: int,
    ) -> IntArray:
        """Value of the bag's rows by true class, times e^-log_scale, in fixed point (D,); without the terms r = y."""
        sums: IntArray
        if self.kind == "exponential":
            sums = guess_averse.exponential_values(costs.label, edge, in_bag, factor, start, stop)
        else:
            sums = kernels.logistic_values(
                costs.table, costs.row, costs.label, costs.weight, scores, log_scale, in_bag, factor, start, stop
            )
        return sums
