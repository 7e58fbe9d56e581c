"""The structured hinge loss with the margin rescaled by costs: the upper bound of the risk that StructBoost lowers.

C. Shen, G. Lin and A. van den Hengel, "StructBoost: boosting methods for predicting structured output variables", IEEE
PAMI 2014 (arXiv 1302.3283), for decisions that are classes.
"""

from __future__ import annotations

from dataclasses import dataclass

from minrisk._kernels import losses
from minrisk._typing import Bag, FloatArray, IntArray
from minrisk.losses.base import PLANES, Differences
from minrisk.model.links import Link
from minrisk.rows.costs import CostFacts, RowCosts


@dataclass(frozen=True, eq=False)
class StructuredHinge(Differences):
    """1 / W sum_n w_n max_k (c_nk + H_nk - H_ny), with c_ny counted as 0.

    The slack of a row at its optimum. It is convex, piecewise linear, and no less than what the decision of the largest
    score costs. It has no curvature, so that steps and learners work with its cutting planes.
    """

    @property
    def traits(self) -> frozenset[str]:
        """Facts that others may rely on."""
        return super().traits | {PLANES}

    @property
    def base(self) -> str:
        """Its name."""
        return "structured hinge"

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """0: weights do not overflow."""
        return 0.0

    def link(self, costs: CostFacts) -> Link | None:
        """None: where it is least depends on which class is the best, not on how probable it is."""
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
        """Edge of the plane at the present scores, and no mass, of rows start..stop; returns column maxima (3, D)."""
        top: FloatArray = losses.hinge_gradients(
            costs.table, costs.row, costs.label, costs.weight, scores, start, stop, edge, mass
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
        """Edge (n, D) of the plane and value (n,) of rows start..stop; returns their maxima (2, D)."""
        top: FloatArray = losses.hinge_edges(
            costs.table, costs.row, costs.label, costs.weight, scores, start, stop, edge, value
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
        """Value of the bag's rows by true class in fixed point (D,)."""
        sums: IntArray = losses.hinge_values(
            costs.table, costs.row, costs.label, costs.weight, scores, in_bag, factor, start, stop
        )
        return sums
