"""REBEL's coupled losses.

Appel, Burgos-Artizzu and Perona, "Improved Multi-Class Cost-Sensitive Boosting via Estimation of the Minimum-Risk
Class", NIPS 2016, Eq. (2) and S.3-S.5.

=====================  ==================================  ===========================================
paper                  here                                where
=====================  ==================================  ===========================================
c_y, row of C          ``RowCosts.table[row]``           `minrisk.rows.costs`
beta_y, phi_y          ``beta``, ``phi``                   `CoupledLoss`
c+ = c - beta          ``plus``                            `minrisk._kernels.losses`
c- = max c - c         ``minus``                           `minrisk._kernels.losses`
c*; L*                 ``floors``; ``least_loss``          `CoupledLoss.floors`; here
L_bullet, S.5          ``zero_risk_loss``                  here
w+-                    ``up``, ``down``                    `minrisk._kernels.losses`
=====================  ==================================  ===========================================

Deviations: ``offset="tight"`` (c+ = c - min c) is ours: the same order of decisions at the minimum, a far smaller
floor when costs differ, and no bound on the risk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from minrisk._kernels import losses as kernels
from minrisk._kernels import stump_series
from minrisk._kernels.split import EXPONENTIAL_GAIN, QUADRATIC_GAIN
from minrisk._sums import weighted_sum
from minrisk._typing import Bag, FloatArray, IntArray
from minrisk.losses.base import EXPONENTIAL, SEPARABLE, SERIES
from minrisk.model.links import Link
from minrisk.rows.costs import RowCosts


@dataclass(frozen=True, eq=False)
class CoupledLoss:
    """mean beta + 1/(2 W) sum_n w_n sum_k [ c+_nk F(H_nk) + c-_nk F(-H_nk) ], with F convex and above the unit step.

    Parameters
    ----------
    base : {"exponential", "logistic", "squared"}
        F(x) = e^x, log2(1 + e^x) or (1 + x)^2.
    beta, phi : ndarray of shape (R,)
        Offset and maximum of each row of the cost table; see `coupled_loss`.
    """

    base: str
    beta: FloatArray
    phi: FloatArray

    KINDS: ClassVar[dict[str, int]] = {
        "exponential": kernels.EXPONENTIAL_BOUND,
        "logistic": kernels.LOGISTIC_BOUND,
        "squared": kernels.SQUARED_BOUND,
    }

    @property
    def traits(self) -> frozenset[str]:
        """Facts that others may rely on."""
        more = {"exponential": {EXPONENTIAL}, "logistic": {SERIES}}.get(self.base, set())
        return frozenset({SEPARABLE} | more)

    @property
    def gain(self) -> int:
        """Exact joint drop for the exponential; E^2 / (2 M) else: exact for squared, for logistic see `SERIES`."""
        return EXPONENTIAL_GAIN if self.base == "exponential" else QUADRATIC_GAIN

    def constant(self, costs: RowCosts) -> float:
        """Weighted mean of beta."""
        return float(costs.stated(np.average(self.beta[costs.row], weights=costs.weight)))

    def unit(self, costs: RowCosts) -> float:
        """That of the costs."""
        return costs.unit

    def floors(self, costs: RowCosts) -> FloatArray:
        """Sum of w c* per output (S.5): the least value of c+ F(h) + c- F(-h)."""
        per_row = np.bincount(costs.row, weights=costs.weight, minlength=len(costs.table))
        total = np.zeros(costs.table.shape[1])
        for first in range(0, len(costs.table), 4096):
            part = slice(first, first + 4096)
            plus, minus = split_costs(costs.table[part], self.beta[part], self.phi[part])
            total += weighted_sum(per_row[part], entry_floors(self.base, plus, minus))
        return total

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """Log of the largest weight at H = 0."""
        if self.base != "exponential":
            return 0.0
        top = float(np.max(self.phi - self.beta)) * top_weight
        return float(np.log(top)) if top > 0.0 else 0.0

    def link(self, costs: RowCosts) -> Link | None:
        """Only for 0/1 costs (up to a scale), where the minimum of output k depends on p_k alone."""
        table = costs.table
        K, D = table.shape
        per_class = K == D and np.array_equal(table != 0, ~np.eye(K, dtype=bool))
        if not per_class or np.ptp(table[~np.eye(K, dtype=bool)]) > 0:
            return None
        return {"exponential": "sigmoid2", "logistic": "sigmoid", "squared": "linear"}[self.base]

    # -- row kernels ---------------------------------------------------------------------------------------------
    def gradients(
        self, costs: RowCosts, scores: FloatArray, log_scale: float, start: int, stop: int, edge: FloatArray,
        mass: FloatArray,
    ) -> FloatArray:
        """Edge and mass of rows start..stop; see `minrisk._kernels.losses.coupled_gradients`."""
        top: FloatArray = kernels.coupled_gradients(
            self.KINDS[self.base], costs.table, self.beta, self.phi, costs.row, costs.weight, scores, log_scale,
            start, stop, edge, mass,
        )
        return top

    def contrast(
        self, costs: RowCosts, scores: FloatArray, edge: FloatArray, vector: FloatArray, start: int, stop: int,
        out: FloatArray,
    ) -> float:
        """Half the loss at scores - vector less half of it at scores + vector, per row."""
        return float(kernels.coupled_contrast(
            self.KINDS[self.base], costs.table, self.beta, self.phi, costs.row, costs.weight, scores, edge, vector,
            start, stop, out,
        ))

    def slopes(
        self, costs: RowCosts, scores: FloatArray, response: np.ndarray, in_bag: Bag, vector: FloatArray,
        factors: FloatArray, start: int, stop: int,
    ) -> IntArray:
        """Value, slope and curvature along the response, in fixed point."""
        sums: IntArray = kernels.coupled_slopes(
            self.KINDS[self.base], costs.table, self.beta, self.phi, costs.row, costs.weight, scores, response,
            in_bag, vector, factors, start, stop,
        )
        return sums

    def series_columns(
        self, costs: RowCosts, scores: FloatArray, edge: FloatArray, in_bag: Bag, edge_factor: FloatArray,
        factor: FloatArray, even_factor: FloatArray, start: int, stop: int, fixed: np.ndarray,
    ) -> IntArray:
        """Derivatives of the logistic loss in fixed point; see `minrisk._kernels.stump_series`."""
        sums: IntArray = stump_series.series_columns(
            costs.table, self.beta, self.phi, costs.row, costs.weight, scores, edge, in_bag, edge_factor, factor,
            even_factor, start, stop, fixed,
        )
        return sums

    def stump_sums(
        self, costs: RowCosts, scores: FloatArray, X_binned: np.ndarray, in_bag: Bag, feature: IntArray, bin_: IntArray,
        output: IntArray, step: FloatArray, factors: FloatArray, start: int, stop: int,
    ) -> IntArray:
        """Value, slope and curvature of the logistic loss along stumps, in single outputs, in fixed point (3, P)."""
        sums: IntArray = stump_series.stump_sums(
            costs.table, self.beta, self.phi, costs.row, costs.weight, scores, X_binned, in_bag, feature, bin_,
            output, step, factors, start, stop,
        )
        return sums

    def entry_bounds(self, top_value: FloatArray, vector: FloatArray, top_cost: float) -> FloatArray:
        """Bounds (3, D) of value, slope and curvature of any entry after a step, from the largest value before it.

        Logistic: ln(1 + e^(x + a)) <= e^|a| ln(1 + e^x), and F'' <= F' <= F. Squared: (x + a)^2 <= 2 x^2 + 2 a^2.
        """
        if self.base == "logistic":
            return np.tile(top_value * np.exp(np.abs(vector)), (3, 1))
        top = float(np.max(self.phi)) or 1.0  # 0 where there is nothing to decide
        cost = 2.0 * top_cost * float(np.max(self.phi - self.beta)) / top  # of c+ + c-, weights included
        value = 2.0 * top_value + 2.0 * cost * vector**2
        return np.array([value, 2.0 * np.sqrt(cost * value), np.full_like(value, 2.0 * cost)])


def coupled_loss(costs: RowCosts, base: str, offset: str) -> CoupledLoss:
    """The coupled loss for given costs.

    Parameters
    ----------
    costs : RowCosts
    base : {"exponential", "logistic", "squared"}
        The function F.
    offset : {"paper", "tight"}
        beta = sum c - (D - 1) max c (S.3; the loss bounds the risk from above), or min c.
    """
    table = costs.table
    phi = table.max(axis=1)
    beta = table.sum(axis=1) - (table.shape[1] - 1) * phi if offset == "paper" else table.min(axis=1)
    return CoupledLoss(base, beta, phi)


def least_loss(loss: CoupledLoss, costs: RowCosts) -> float:
    """L*, the least value of the loss over all scores (S.4), in stated costs."""
    return loss.constant(costs) + costs.unit * 0.5 * float(loss.floors(costs).sum() / costs.weight.sum())


def zero_risk_loss(loss: CoupledLoss, costs: RowCosts) -> float:
    """L_bullet, below which every row has its cheapest decision (Eq. 5 and S.5), in stated costs; inf if any would do.

    L* + min over rows n and decisions k dearer than y_n, the cheapest, of w_n / (2 W) times what the terms of y_n and k
    have above their least values at best where both scores are equal: by convexity they have no less where k's is
    larger. S.5 has the closed form for the exponential; the paper's formula lacks 1 / (2 N).
    """
    smallest, least = np.full(len(costs.table), np.inf), np.inf
    np.minimum.at(smallest, costs.row, costs.weight)
    lines = np.flatnonzero(np.isfinite(smallest))
    for first in range(0, len(lines), 4096):
        part = lines[first : first + 4096]
        table = costs.table[part]
        plus, minus = split_costs(table, loss.beta[part], loss.phi[part])
        own = table.argmin(axis=1)[:, None]
        y_plus, y_minus = (np.take_along_axis(side, own, axis=1) for side in (plus, minus))
        equal = entry_floors(loss.base, plus + y_plus, minus + y_minus)
        apart = entry_floors(loss.base, plus, minus) + entry_floors(loss.base, y_plus, y_minus)
        more = np.where(table > np.take_along_axis(table, own, axis=1), equal - apart, np.inf).min(axis=1)
        least = min(least, float((smallest[part] * more).min()))
    return least_loss(loss, costs) + costs.unit * 0.5 * least / float(costs.weight.sum())


def split_costs(table: FloatArray, beta: FloatArray, phi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """c+ and c- of each row (S.4)."""
    plus = table - beta[:, None]
    plus[plus <= kernels.ZERO_COST * phi[:, None]] = 0.0
    return plus, phi[:, None] - table


def entry_floors(base: str, plus: FloatArray, minus: FloatArray) -> FloatArray:
    """c* = min over h of c+ F(h) + c- F(-h), elementwise; 0 where either cost is 0."""
    total = plus + minus
    if base == "exponential":
        return np.asarray(2.0 * np.sqrt(plus * minus))  # S.5
    share = np.divide(minus, total, out=np.zeros_like(total), where=total > 0)
    if base == "squared":
        return np.asarray(4.0 * plus * share)  # at h = (c- - c+) / (c- + c+)
    inside = (share > 0) & (share < 1)
    q = np.where(inside, share, 0.5)
    entropy = -(q * np.log2(q) + (1 - q) * np.log2(1 - q))  # at h = ln(c- / c+)
    return np.where(inside, total * entropy, 0.0)
