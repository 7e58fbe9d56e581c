"""Exponential losses of the true class's score, which margin vectors lead to.

H. Zou, J. Zhu and T. Hastie, "New multicategory boosting algorithms based on multicategory Fisher-consistent losses",
Annals of Applied Statistics 2008; A. Fernandez-Baldera, J. M. Buenaposada and L. Baumela, "BAdaCost: Multi-class
boosting with costs", Pattern Recognition 2018.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minrisk._kernels import losses as kernels
from minrisk._typing import Bag, FloatArray, IntArray
from minrisk.losses.base import EXPONENTIAL, Differences
from minrisk.model.links import Link
from minrisk.rows.costs import CostFacts, RowCosts


@dataclass(frozen=True, eq=False)
class OwnScoreLoss(Differences):
    """1 / W sum_n w_n exp(-S_ny), or of what the score S_ny is above the mean of the row's scores.

    Without the mean nothing keeps one score from growing in all rows: the vectors along which scores move must.

    Parameters
    ----------
    centred : bool
        Whether the mean is taken off.
    """

    centred: bool

    @property
    def traits(self) -> frozenset[str]:
        """Facts that others may rely on: without the mean the mass is the value."""
        return super().traits if self.centred else super().traits | {EXPONENTIAL}

    @property
    def base(self) -> str:
        """Its name."""
        return "exponential of the centred own score" if self.centred else "exponential of the own score"

    def _share(self, costs: RowCosts) -> float:
        """Of the sum of scores, that is taken off."""
        return 1.0 / costs.n_decisions if self.centred else 0.0

    def unit(self, costs: RowCosts) -> float:
        """1: the loss is no multiple of the costs."""
        return 1.0

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """Log of the largest weight."""
        return float(np.log(top_weight)) if top_weight > 0.0 else 0.0

    def link(self, costs: CostFacts) -> Link | None:
        """Softmax where each mistake costs the same: the least of sum_k p_k e^-S_k with sum_k S_k = 0 is at ln p_k + c.

        With other costs of BAdaCost the scores' sum is another one, and what the scores are at the least says no more
        than what each probability is relative to a number that the costs give its class.
        """
        table, K = costs.table, costs.n_decisions
        if table is None or len(table) != K or K < 2:
            return None
        others = table[~np.eye(K, dtype=bool)]
        return "softmax" if np.ptp(others) == 0.0 < others[0] and not np.diag(table).any() else None

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
        top: FloatArray = kernels.own_gradients(
            costs.label, costs.weight, scores, self._share(costs), log_scale, start, stop, edge, mass
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
        """Value of the bag's rows by true class, times e^-log_scale, in fixed point (D,)."""
        sums: IntArray = kernels.own_values(costs.label, edge, self._share(costs), in_bag, factor, start, stop)
        return sums

    def along(
        self,
        costs: RowCosts,
        scores: FloatArray,
        factor: FloatArray,
        move: FloatArray,
        step: float,
        log_scale: float,
        start: int,
        stop: int,
        line: FloatArray,
    ) -> FloatArray:
        """Value, slope and curvature of each row at scores + step * factor * move: `minrisk._kernels.guess_averse`."""
        top: FloatArray = kernels.own_along(
            costs.label, costs.weight, scores, self._share(costs), factor, move, step, log_scale, start, stop, line
        )
        return top
