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

REBEL's loss with a function F of one's own: array code in the place of kernels.

Appel, Burgos-Artizzu and Perona, NIPS 2016, S.1: F is convex, F(x) >= 1 for x >= 0 and F(x) >= 0 elsewhere, with the
least value 0, at least in the limit. Then the loss bounds the risk, and is least where the risk is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from minrisk._kernels import losses as kernels
from minrisk._kernels import split
from minrisk._kernels._dtypes import FAR
from minrisk._kernels.functions import cosh, exp, log, sinh, tanh
from minrisk._kernels.split import EXPONENTIAL_GAIN, QUADRATIC_GAIN
from minrisk._typing import FloatArray, IntArray
from minrisk.losses.base import EXPONENTIAL, SEPARABLE, SERIES, no_lines
from minrisk.losses.gamma_phi import CLOSE, NEAR, Smooth, derived, refuse
from minrisk.model.links import Link
from minrisk.rows.costs import CostFacts, RowCosts
from minrisk.rows.row_losses import LossColumns, SeparableLoss


@dataclass(frozen=True, eq=False)
class CoupledLoss(SeparableLoss):
    """mean beta + 1/(2 W) sum_n w_n sum_k [ c+_nk F(H_nk) + c-_nk F(-H_nk) ], with F convex and above the unit step.

    Parameters
    ----------
    kind : {"exponential", "logistic", "squared"}
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

    kind: str
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
    def base(self) -> str:
        return self.kind

    @property
    def traits(self) -> frozenset[str]:
        more = {"exponential": {EXPONENTIAL}, "logistic": {SERIES}}.get(self.base, set())
        return frozenset({SEPARABLE} | more)

    @property
    def gain(self) -> int:
        """Return the exact joint drop for the exponential, else E^2 / (2 M): exact for squared; see also `SERIES`."""
        return int(EXPONENTIAL_GAIN if self.base == "exponential" else QUADRATIC_GAIN)

    def for_costs(self, costs: RowCosts) -> Self:
        """Return the loss with beta and phi of each line."""
        table = costs.table
        phi = table.max(axis=1) if self.most is None else np.full(len(table), self.most)
        if self.offset == "paper":
            beta = table.sum(axis=1) - (table.shape[1] - 1) * phi
        else:
            beta = table.min(axis=1) if self.offset == "tight" else np.zeros(len(table))
        largest, widest = costs.largest_of(np.stack([phi, phi - beta], axis=1)).tolist()
        return replace(self, beta=beta, phi=phi, tops=(largest, widest))

    def constant(self, costs: RowCosts) -> float:
        """Return the weighted mean of beta."""
        return float(costs.stated(costs.mean_of(self.beta)))

    def floors(self, costs: RowCosts) -> FloatArray:
        """Return the sum of w c* per output (S.5): the least value of c+ F(h) + c- F(-h)."""

        def of_lines(lines: IntArray) -> FloatArray:
            return self.entry_floors(*split_costs(costs.table[lines], self.beta[lines], self.phi[lines]))

        return costs.sum_of(of_lines)

    def entry_floors(self, plus: FloatArray, minus: FloatArray) -> FloatArray:
        """Return c* of entries."""
        return entry_floors(self.base, plus, minus)

    def phantom(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the first and second derivative of F(a) + F(-a)."""
        if self.base == "logistic":
            return tanh(a / 2) / log(2.0), 0.5 / log(2.0) / cosh(a / 2) ** 2
        if self.base == "squared":
            return 4.0 * a, np.full_like(a, 4.0)
        return 2.0 * sinh(a), 2.0 * cosh(a)

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """Return the log of the largest weight at H = 0."""
        if self.base != "exponential":
            return 0.0
        top = self.tops[1] * top_weight
        return log(top) if top > 0.0 else 0.0

    def zero_risk(self, costs: RowCosts) -> float:
        """Return the loss below which every row has its cheapest decision; see `zero_risk_loss`."""
        return zero_risk_loss(self, costs)

    def link(self, costs: CostFacts) -> Link | None:
        """Return one for 0/1 costs (up to a scale) only, where the minimum of output k depends on p_k alone."""
        table, others = costs.table, ~np.eye(costs.n_decisions, dtype=bool)
        if table is None or not np.array_equal(table != 0, others) or np.ptp(table[others]) > 0:
            return None
        return {"exponential": "sigmoid2", "logistic": "sigmoid", "squared": "linear"}[self.base]

    # -- row kernels ---------------------------------------------------------------------------------------------
    def _lines(self, costs: RowCosts) -> tuple[np.ndarray, ...]:
        """Return costs and offsets as kernels take them."""
        return costs.table, self.beta, self.phi, costs.row, costs.weight

    def gradients(self, at: LossColumns, start: int, stop: int) -> FloatArray:
        """Fill gradient and Hessian of rows start..stop; see `minrisk._kernels.losses.coupled_gradients`."""
        own = self.KINDS[self.base], *self._lines(at.costs)
        top: FloatArray = kernels.coupled_gradients(*own, *at[1:5], start, stop)
        return top

    def contrast(self, at: LossColumns, vector: FloatArray, out: FloatArray, start: int, stop: int) -> float:
        own = self.KINDS[self.base], *self._lines(at.costs)
        return float(kernels.coupled_contrast(*own, at.scores, at.gradient, vector, out, start, stop))

    def slopes(
        self, at: LossColumns, response: np.ndarray, vector: FloatArray, factors: FloatArray, start: int, stop: int
    ) -> IntArray:
        own = self.KINDS[self.base], *self._lines(at.costs), at.scores
        sums: IntArray = kernels.coupled_slopes(*own, response, at.in_bag, vector, factors, start, stop)
        return sums

    def series_columns(
        self,
        at: LossColumns,
        factors: tuple[FloatArray, FloatArray, FloatArray],
        fixed: np.ndarray,
        start: int,
        stop: int,
    ) -> IntArray:
        """Fill derivatives of the logistic loss in fixed point; see `minrisk._kernels.split`."""
        own = *self._lines(at.costs), at.scores, at.gradient, at.in_bag
        sums: IntArray = split.series_columns(*own, *factors, fixed, start, stop)
        return sums

    def stump_sums(
        self,
        at: LossColumns,
        X_binned: np.ndarray,
        stumps: tuple[np.ndarray, ...],
        factors: FloatArray,
        start: int,
        stop: int,
    ) -> IntArray:
        """Return value, slope and curvature of the logistic loss along stumps, in fixed point (3, P).

        Of the stumps there are feature, bin, output and step.
        """
        own = *self._lines(at.costs), at.scores, X_binned, at.in_bag
        sums: IntArray = split.stump_sums(*own, *stumps, factors, start, stop)
        return sums

    def entry_bounds(self, top_value: FloatArray, vector: FloatArray, top_cost: float) -> FloatArray:
        """Bound value, slope and curvature of any entry after a step (3, D), from the largest value before it.

        Logistic: ln(1 + e^(x + a)) <= e^|a| ln(1 + e^x), and F'' <= F' <= F. Squared: (x + a)^2 <= 2 x^2 + 2 a^2.
        """
        if self.base == "logistic":
            return np.tile(top_value * exp(np.abs(vector)), (3, 1))
        largest, widest = self.tops
        cost = 2.0 * top_cost * widest / (largest or 1.0)  # of c+ + c-, weights included; 0: nothing to decide
        value = 2.0 * top_value + 2.0 * cost * vector**2
        return np.array([value, 2.0 * np.sqrt(cost * value), np.full_like(value, 2.0 * cost)])


def least_loss(loss: CoupledLoss, costs: RowCosts) -> float:
    """Return L*, the least value of the loss over all scores (S.4), in stated costs."""
    return loss.constant(costs) + costs.unit * 0.5 * float(loss.floors(costs).sum()) / costs.total(costs.weight)


def zero_risk_loss(loss: CoupledLoss, costs: RowCosts) -> float:
    """Return L_bullet, below which each row has its cheapest decision (Eq. 5), in stated costs; inf if any would do.

    L* + min over rows n and decisions k that cost more than y_n, the cheapest, of w_n / (2 W) times what the terms of
    y_n and k have above their least values at best where both scores are equal: by convexity they
    have no less where k's is larger. S.5 has the closed form for the exponential; the paper's formula lacks 1 / (2 N).
    """
    # Of rows with the same costs, a mistake about the lightest one adds least to the loss.
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
    """Return c+ and c- of each row (S.4)."""
    plus = table - beta[:, None]
    plus[plus <= kernels.ZERO_COST * phi[:, None]] = 0.0
    return plus, phi[:, None] - table


def entry_floors(base: str, plus: FloatArray, minus: FloatArray) -> FloatArray:
    """Return c* = min over h of c+ F(h) + c- F(-h), elementwise; 0 where either cost is 0."""
    total = plus + minus
    if base == "exponential":
        return np.asarray(2.0 * np.sqrt(plus * minus))  # S.5
    share = np.divide(minus, total, out=np.zeros_like(total), where=total > 0)
    if base == "squared":
        return np.asarray(4.0 * plus * share)  # at h = (c- - c+) / (c- + c+)
    inside = (share > 0) & (share < 1)
    q = np.where(inside, share, 0.5)
    entropy = -(q * log(q) + (1 - q) * log(1 - q)) / log(2.0)  # at h = ln(c- / c+)
    return np.where(inside, total * entropy, 0.0)


# -- functions of users ------------------------------------------------------------------------------------------------
# x where F is looked at, which are seldom kinks of it
FAR_PLACES = -exp(np.linspace(log(1e3), log(30.0), 50))
PLACES = np.concatenate([FAR_PLACES, np.arange(-30.0, 0.0, 0.02501), np.arange(0.0, 30.0, 0.02501)])
FARTHEST_FLOOR, FLOOR_STEPS = 60.0, 80  # scores between which an entry's least value is sought, and steps to it
BETWEEN = np.linspace(-1.0, 1.0, 129)  # of scores, between which F'' is at most twice as large as there


def check(F: Smooth) -> None:
    """Compare F, F' and F'' with what is asked of them, at many x; raises `ValueError`, saying what is wrong where."""
    x = PLACES
    value, _, curvature = derived("loss", "F", F, x)
    refuse(
        "loss",
        x,
        {
            "F must be at least 1 for x >= 0 and at least 0 elsewhere, so that it bounds the mean cost": value
            < np.where(x >= 0.0, 1.0 - CLOSE * NEAR, 0.0),
            "F must be convex, and F'' at least 0": curvature < 0.0,
            "F'' must be above 0 at 0, where rounds begin by Newton's steps": (x == 0.0) & (curvature == 0.0),
            "F must fall to 0, so that nothing is left of a loss at last": np.full(x.shape, value.min() > CLOSE),
        },
    )


@dataclass(frozen=True, eq=False)
class OwnCoupledLoss(CoupledLoss):
    """`CoupledLoss` of any F with its two derivatives."""

    F: Smooth = field(kw_only=True)

    def link(self, costs: CostFacts) -> None:
        """Return None: it is not known."""

    def entry_floors(self, plus: FloatArray, minus: FloatArray) -> FloatArray:
        """Find c* by halving the interval in which the slope changes its sign."""
        low, high = np.full(plus.shape, -FARTHEST_FLOOR), np.full(plus.shape, FARTHEST_FLOOR)
        for _ in range(FLOOR_STEPS):
            middle = 0.5 * (low + high)
            rises = self._at(plus, minus, middle)[1] > 0.0
            low, high = np.where(rises, low, middle), np.where(rises, middle, high)
        return np.where((plus > 0.0) & (minus > 0.0), self._at(plus, minus, low)[0], 0.0)

    def phantom(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the first and second derivative of F(a) + F(-a)."""
        _, slope, curvature = self._at(np.ones_like(a), np.ones_like(a), a)
        return slope, curvature

    def _at(self, plus: FloatArray, minus: FloatArray, h: FloatArray) -> FloatArray:
        """Return c+ F(h) + c- F(-h) and its derivatives (3, ...)."""
        with np.errstate(all="ignore"):
            parts = [plus * part(h) + sign * minus * part(-h) for part, sign in zip(self.F, (1, -1, 1), strict=True)]
        finite: FloatArray = np.clip(np.nan_to_num(np.array(parts), posinf=FAR, neginf=-FAR), -FAR, FAR)
        return finite

    def _rows(self, costs: RowCosts, h: FloatArray, start: int, stop: int) -> FloatArray:
        """Give `_at` of rows at scores h, by weight."""
        line = costs.row[start:stop]
        sides = split_costs(costs.table[line], self.beta[line], self.phi[line])
        return costs.weight[start:stop, None] * self._at(*sides, h)

    # -- row passes ----------------------------------------------------------------------------------------------
    def gradients(self, at: LossColumns, start: int, stop: int) -> FloatArray:
        """Fill gradient and Hessian of rows start..stop; return the column maxima of theirs and the scores' sizes."""
        costs, scores, _, gradient, hessian = at[:5]
        _, slope, hessian[start:stop] = self._rows(costs, scores[start:stop], start, stop)
        gradient[start:stop] = -slope
        return np.array([np.abs(part[start:stop]).max(axis=0, initial=0.0) for part in (gradient, hessian, scores)])

    def contrast(self, at: LossColumns, vector: FloatArray, out: FloatArray, start: int, stop: int) -> float:
        less, more = (self._rows(at.costs, at.scores[start:stop] + s * vector, start, stop)[0] for s in (-1, 1))
        out[start:stop] = 0.5 * (less - more).sum(axis=1)
        return float(np.abs(out[start:stop]).max(initial=0.0))

    def slopes(
        self, at: LossColumns, response: np.ndarray, vector: FloatArray, factors: FloatArray, start: int, stop: int
    ) -> IntArray:
        f = response[start:stop, None].astype(np.float64)
        parts = self._rows(at.costs, at.scores[start:stop] + f * vector, start, stop) * at.in_bag[start:stop, None]
        parts[1] *= f
        parts[2] *= f * f
        sums: IntArray = np.rint(parts * factors[:, None]).astype(np.int64).sum(axis=1)
        return sums

    def entry_bounds(self, top_value: FloatArray, vector: FloatArray, top_cost: float) -> FloatArray:
        """Bound value, slope and curvature of any entry (3, D), from the largest score, which `gradients` gives.

        Of a convex function and its slope those at either end; F'' only leads Newton's steps.
        """
        largest, widest = self.tops
        cost = np.full(len(vector), 2.0 * top_cost * widest / (largest or 1.0))
        h = (top_value + np.abs(vector)) * BETWEEN[:, None]
        tops = np.abs(self._at(cost, np.zeros_like(cost), h)).max(axis=1)
        return np.array([tops[0], tops[1], 2.0 * tops[2]])
