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

Deviations: ``offset="tight"`` (c+ = c - min c) is ours: the same order of decisions at the minimum, and a far smaller
floor when costs differ. It bounds the risk as well. Where the decision is k and m the cheapest, H_k >= H_m, and these
two entries alone have at least 1/2 (c+_k F(H_k) + max c- F(-H_m)) >= c+_k F((H_k - H_m) / 2) >= c_k - min c.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from minrisk._kernels import losses as kernels
from minrisk._kernels import split
from minrisk._kernels.split import EXPONENTIAL_GAIN, QUADRATIC_GAIN
from minrisk._typing import Bag, FloatArray, IntArray
from minrisk.losses.base import EXPONENTIAL, SEPARABLE, SERIES, no_lines
from minrisk.model.links import Link
from minrisk.rows.costs import CostFacts, RowCosts


@dataclass(frozen=True, eq=False)
class CoupledLoss:
    """mean beta + 1/(2 W) sum_n w_n sum_k [ c+_nk F(H_nk) + c-_nk F(-H_nk) ], with F convex and above the unit step.

    Parameters
    ----------
    base : {"exponential", "logistic", "squared"}
        F(x) = e^x, log2(1 + e^x) or (1 + x)^2.
    offset : {"paper", "tight", "none"}
        beta = sum c - (D - 1) max c (S.3), min c, or 0. With the first two the loss bounds the risk from above.
    most : float, optional
        phi of all rows; default: the largest cost of each.
    beta, phi : ndarray of shape (T,), optional
        Offset and maximum of each line of the cost table: see `for_costs`.
    tops : pair of float, optional
        The largest phi and phi - beta of all rows.
    """

    base: str
    offset: str
    most: float | None = None
    beta: FloatArray = field(default_factory=no_lines)
    phi: FloatArray = field(default_factory=no_lines)
    tops: tuple[float, float] = (0.0, 0.0)

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

    def for_costs(self, costs: RowCosts) -> Self:
        """With beta and phi of each line."""
        table = costs.table
        phi = table.max(axis=1) if self.most is None else np.full(len(table), self.most)
        if self.offset == "paper":
            beta = table.sum(axis=1) - (table.shape[1] - 1) * phi
        else:
            beta = table.min(axis=1) if self.offset == "tight" else np.zeros(len(table))
        largest, widest = costs.largest_of(np.stack([phi, phi - beta], axis=1)).tolist()
        return replace(self, beta=beta, phi=phi, tops=(largest, widest))

    def constant(self, costs: RowCosts) -> float:
        """Weighted mean of beta."""
        return float(costs.stated(costs.mean_of(self.beta)))

    def unit(self, costs: RowCosts) -> float:
        """That of the costs."""
        return costs.unit

    def floors(self, costs: RowCosts) -> FloatArray:
        """Sum of w c* per output (S.5): the least value of c+ F(h) + c- F(-h)."""

        def of_lines(lines: IntArray) -> FloatArray:
            return self.entry_floors(*split_costs(costs.table[lines], self.beta[lines], self.phi[lines]))

        return costs.sum_of(of_lines)

    def entry_floors(self, plus: FloatArray, minus: FloatArray) -> FloatArray:
        """c* of entries; see `entry_floors`."""
        return entry_floors(self.base, plus, minus)

    def phantom(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of F(a) + F(-a)."""
        if self.base == "logistic":
            return np.tanh(a / 2) / np.log(2), 0.5 / np.log(2) / np.cosh(a / 2) ** 2
        if self.base == "squared":
            return 4.0 * a, np.full_like(a, 4.0)
        return 2.0 * np.sinh(a), 2.0 * np.cosh(a)

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """Log of the largest weight at H = 0."""
        if self.base != "exponential":
            return 0.0
        top = self.tops[1] * top_weight
        return float(np.log(top)) if top > 0.0 else 0.0

    def zero_risk(self, costs: RowCosts) -> float:
        """The loss below which every row has its cheapest decision; see `zero_risk_loss`."""
        return zero_risk_loss(self, costs)

    def link(self, costs: CostFacts) -> Link | None:
        """Only for 0/1 costs (up to a scale), where the minimum of output k depends on p_k alone."""
        table, others = costs.table, ~np.eye(costs.n_decisions, dtype=bool)
        if table is None or not np.array_equal(table != 0, others) or np.ptp(table[others]) > 0:
            return None
        return {"exponential": "sigmoid2", "logistic": "sigmoid", "squared": "linear"}[self.base]

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
        """Edge and mass of rows start..stop; see `minrisk._kernels.losses.coupled_gradients`."""
        top: FloatArray = kernels.coupled_gradients(
            self.KINDS[self.base],
            costs.table,
            self.beta,
            self.phi,
            costs.row,
            costs.weight,
            scores,
            log_scale,
            start,
            stop,
            edge,
            mass,
        )
        return top

    def contrast(
        self,
        costs: RowCosts,
        scores: FloatArray,
        edge: FloatArray,
        vector: FloatArray,
        start: int,
        stop: int,
        out: FloatArray,
    ) -> float:
        """Half the loss at scores - vector less half of it at scores + vector, per row."""
        return float(
            kernels.coupled_contrast(
                self.KINDS[self.base],
                costs.table,
                self.beta,
                self.phi,
                costs.row,
                costs.weight,
                scores,
                edge,
                vector,
                start,
                stop,
                out,
            )
        )

    def slopes(
        self,
        costs: RowCosts,
        scores: FloatArray,
        response: np.ndarray,
        in_bag: Bag,
        vector: FloatArray,
        factors: FloatArray,
        start: int,
        stop: int,
    ) -> IntArray:
        """Value, slope and curvature along the response, in fixed point."""
        sums: IntArray = kernels.coupled_slopes(
            self.KINDS[self.base],
            costs.table,
            self.beta,
            self.phi,
            costs.row,
            costs.weight,
            scores,
            response,
            in_bag,
            vector,
            factors,
            start,
            stop,
        )
        return sums

    def series_columns(
        self,
        costs: RowCosts,
        scores: FloatArray,
        edge: FloatArray,
        in_bag: Bag,
        edge_factor: FloatArray,
        factor: FloatArray,
        even_factor: FloatArray,
        start: int,
        stop: int,
        fixed: np.ndarray,
    ) -> IntArray:
        """Derivatives of the logistic loss in fixed point; see `minrisk._kernels.split`."""
        sums: IntArray = split.series_columns(
            costs.table,
            self.beta,
            self.phi,
            costs.row,
            costs.weight,
            scores,
            edge,
            in_bag,
            edge_factor,
            factor,
            even_factor,
            start,
            stop,
            fixed,
        )
        return sums

    def stump_sums(
        self,
        costs: RowCosts,
        scores: FloatArray,
        X_binned: np.ndarray,
        in_bag: Bag,
        feature: IntArray,
        bin_: IntArray,
        output: IntArray,
        step: FloatArray,
        factors: FloatArray,
        start: int,
        stop: int,
    ) -> IntArray:
        """Value, slope and curvature of the logistic loss along stumps, in single outputs, in fixed point (3, P)."""
        sums: IntArray = split.stump_sums(
            costs.table,
            self.beta,
            self.phi,
            costs.row,
            costs.weight,
            scores,
            X_binned,
            in_bag,
            feature,
            bin_,
            output,
            step,
            factors,
            start,
            stop,
        )
        return sums

    def entry_bounds(self, top_value: FloatArray, vector: FloatArray, top_cost: float) -> FloatArray:
        """Bounds (3, D) of value, slope and curvature of any entry after a step, from the largest value before it.

        Logistic: ln(1 + e^(x + a)) <= e^|a| ln(1 + e^x), and F'' <= F' <= F. Squared: (x + a)^2 <= 2 x^2 + 2 a^2.
        """
        if self.base == "logistic":
            return np.tile(top_value * np.exp(np.abs(vector)), (3, 1))
        largest, widest = self.tops
        cost = 2.0 * top_cost * widest / (largest or 1.0)  # of c+ + c-, weights included; 0: nothing to decide
        value = 2.0 * top_value + 2.0 * cost * vector**2
        return np.array([value, 2.0 * np.sqrt(cost * value), np.full_like(value, 2.0 * cost)])


def least_loss(loss: CoupledLoss, costs: RowCosts) -> float:
    """L*, the least value of the loss over all scores (S.4), in stated costs."""
    return loss.constant(costs) + costs.unit * 0.5 * float(loss.floors(costs).sum()) / costs.total(costs.weight)


def zero_risk_loss(loss: CoupledLoss, costs: RowCosts) -> float:
    """L_bullet, below which every row has its cheapest decision (Eq. 5 and S.5), in stated costs; inf if any would do.

    L* + min over rows n and decisions k that cost more than y_n, the cheapest, of w_n / (2 W) times what the terms of
    y_n and k have above their least values at best where both scores are equal: by convexity they
    have no less where k's is larger. S.5 has the closed form for the exponential; the paper's formula lacks 1 / (2 N).
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
        equal = loss.entry_floors(plus + y_plus, minus + y_minus)
        apart = loss.entry_floors(plus, minus) + loss.entry_floors(y_plus, y_minus)
        more = np.where(table > np.take_along_axis(table, own, axis=1), equal - apart, np.inf).min(axis=1)
        least = min(least, float((smallest[part] * more).min()))
    merged = costs.merged()
    return least_loss(loss, merged) + costs.unit * 0.5 * costs.least_of_all(least) / merged.total(merged.weight)


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
