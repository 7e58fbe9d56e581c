"""REBEL's loss with a function F of one's own: array code in the place of kernels.

Appel, Burgos-Artizzu and Perona, NIPS 2016, S.1: F is convex, F(x) >= 1 for x >= 0 and F(x) >= 0 elsewhere, with the
least value 0, at least in the limit. Then the loss bounds the risk, and is least where the risk is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from minrisk._kernels._dtypes import FAR
from minrisk._typing import Bag, FloatArray, IntArray
from minrisk.losses.coupled import CoupledLoss, split_costs
from minrisk.losses.gamma_phi import CLOSE, NEAR, Smooth, derived, refuse
from minrisk.rows.costs import CostFacts, RowCosts

# x where F is looked at, which are seldom kinks of it
PLACES = np.concatenate([-np.logspace(3, 1.5, 50), np.arange(-30.0, 0.0, 0.02501), np.arange(0.0, 30.0, 0.02501)])
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
    """`CoupledLoss` of any F with its two derivatives.

    Parameters
    ----------
    F : Smooth
    """

    F: Smooth = field(kw_only=True)

    def link(self, costs: CostFacts) -> None:
        """None: not known."""

    def entry_floors(self, plus: FloatArray, minus: FloatArray) -> FloatArray:
        """c*, by halving the interval in which the slope changes its sign."""
        low, high = np.full(plus.shape, -FARTHEST_FLOOR), np.full(plus.shape, FARTHEST_FLOOR)
        for _ in range(FLOOR_STEPS):
            middle = 0.5 * (low + high)
            rises = self._at(plus, minus, middle)[1] > 0.0
            low, high = np.where(rises, low, middle), np.where(rises, middle, high)
        return np.where((plus > 0.0) & (minus > 0.0), self._at(plus, minus, low)[0], 0.0)

    def phantom(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of F(a) + F(-a)."""
        _, slope, curvature = self._at(np.ones_like(a), np.ones_like(a), a)
        return slope, curvature

    def _at(self, plus: FloatArray, minus: FloatArray, h: FloatArray) -> FloatArray:
        """c+ F(h) + c- F(-h) and its derivatives (3, ...)."""
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
        """Edge and mass of rows start..stop; returns the column maxima of their sizes, and of the scores'."""
        _, slope, mass[start:stop] = self._rows(costs, scores[start:stop], start, stop)
        edge[start:stop] = -slope
        return np.array([np.abs(part[start:stop]).max(axis=0, initial=0.0) for part in (edge, mass, scores)])

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
        less, more = (self._rows(costs, scores[start:stop] + s * vector, start, stop)[0] for s in (-1, 1))
        out[start:stop] = 0.5 * (less - more).sum(axis=1)
        return float(np.abs(out[start:stop]).max(initial=0.0))

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
        f = response[start:stop, None].astype(np.float64)
        parts = self._rows(costs, scores[start:stop] + f * vector, start, stop) * in_bag[start:stop, None]
        parts[1] *= f
        parts[2] *= f * f
        sums: IntArray = np.rint(parts * factors[:, None]).astype(np.int64).sum(axis=1)
        return sums

    def entry_bounds(self, top_value: FloatArray, vector: FloatArray, top_cost: float) -> FloatArray:
        """Bounds (3, D) of value, slope and curvature of any entry, from the largest score, which `gradients` gives.

        Of a convex function and its slope those at either end; F'' only leads Newton's steps.
        """
        largest, widest = self.tops
        cost = np.full(len(vector), 2.0 * top_cost * widest / (largest or 1.0))
        h = (top_value + np.abs(vector)) * BETWEEN[:, None]
        tops = np.abs(self._at(cost, np.zeros_like(cost), h)).max(axis=1)
        return np.array([tops[0], tops[1], 2.0 * tops[2]])
