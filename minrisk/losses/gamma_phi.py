"""The gamma-phi family of guess-averse losses, with gamma and phi to be plugged in.

Beijbom, Saberian, Kriegman and Vasconcelos, "Guess-Averse Loss Functions For Cost-Sensitive Multiclass Boosting",
ICML 2014, Definition 4, Eq. (15). GEL and GLL are the members that `minrisk.losses.guess_averse` has kernels for; here
any other is array code. Lemma 1: averse to guessing if gamma increases and phi(v) < phi(0) for all v > 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from minrisk._kernels._dtypes import FAR
from minrisk._kernels.elementary import HIGHEST_EXPONENT
from minrisk._kernels.functions import exp, expit, log, log1p, softplus
from minrisk._typing import FloatArray
from minrisk.losses.base import Differences
from minrisk.rows.costs import RowCosts
from minrisk.rows.row_losses import Course, LossColumns

Elementwise = Callable[[FloatArray], Any]
NEAR = 1e-5  # half the distance of two values that derivatives are compared with
CLOSE = 1e-3  # share by which these may differ
MARGINS = np.arange(-20.0, 20.0, 0.02501)  # where phi is looked at, and gamma
SUMS = exp(np.linspace(log(1e-2), log(1e4), 200))


class Smooth(NamedTuple):
    """A function of one number with its first two derivatives, all elementwise on arrays."""

    value: Elementwise
    slope: Elementwise
    curvature: Elementwise


@np.errstate(all="ignore")
def derived(parameter: str, name: str, F: Smooth, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Give F, F' and F'' at x; raises `ValueError` where they are not that, saying what is wrong where."""
    try:
        value, slope, curvature = (np.broadcast_to(np.asarray(part(x), dtype=np.float64), x.shape) for part in F)
        rise, turn = ((np.asarray(part(x + NEAR)) - part(x - NEAR)) / (2.0 * NEAR) for part in (F.value, F.slope))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{parameter}: {name}, {name}' and {name}'' must take an array and give one of its shape: {error}"
        ) from error
    refuse(
        parameter,
        x,
        {
            f"{name}, {name}' and {name}'' must be finite": ~np.isfinite(value + slope + curvature),
            f"{name}' must be the slope of {name}": np.abs(rise - slope) > CLOSE * (1.0 + np.abs(slope)),
            f"{name}'' must be the slope of {name}'": np.abs(turn - curvature) > CLOSE * (1.0 + np.abs(curvature)),
        },
    )
    return value, slope, curvature


def refuse(parameter: str, x: FloatArray, wrong: dict[str, np.ndarray]) -> None:
    """Raise `ValueError` for the first demand that does not hold at some x."""
    for demand, where in wrong.items():
        if where.any():
            raise ValueError(f"{parameter}: {demand}; they are not at x = {x[where][0]:.3g}.")


def check_gamma_phi(gamma: Any, phi: Any) -> None:
    """Compare functions of one's own with their derivatives, and with what makes right decisions cost less."""
    if not isinstance(gamma, str):
        slope = derived("gamma", "gamma", Smooth(*gamma), SUMS)[1]
        refuse("gamma", SUMS, {"gamma must rise, and gamma' be at least 0": slope < 0.0})
    if not isinstance(phi, str):
        derived("phi", "phi", Smooth(*phi), MARGINS)
        guess = np.zeros(1)
        refuse("phi", guess, {"phi must fall at 0, and phi' be below 0": np.asarray(phi[1](guess)) >= 0.0})


def _decay(v: FloatArray) -> FloatArray:
    return np.asarray(exp(np.minimum(-v, HIGHEST_EXPONENT)))


def _finite(values: FloatArray) -> FloatArray:
    """Cut values to +-`FAR`: steps far too long, and functions of users, may give more, or no number."""
    return np.clip(np.nan_to_num(values, nan=0.0, posinf=FAR, neginf=-FAR), -FAR, FAR)


GAMMAS = {
    "identity": Smooth(lambda v: v, np.ones_like, np.zeros_like),
    "log": Smooth(log1p, lambda v: 1.0 / (1.0 + v), lambda v: -1.0 / (1.0 + v) ** 2),  # log(1 + v), Eq. (21)
}
PHIS = {
    "exponential": Smooth(_decay, lambda v: -_decay(v), _decay),  # e^-v, Eq. (20), (21)
    "logistic": Smooth(  # log(1 + e^-v): pairwise comparisons (Zhang 2004) with identity
        lambda v: softplus(-v), lambda v: -expit(-v), lambda v: expit(v) * expit(-v)
    ),
    "squared hinge": Smooth(
        lambda v: np.maximum(1.0 - v, 0.0) ** 2, lambda v: -2.0 * np.maximum(1.0 - v, 0.0), lambda v: 2.0 * (v < 1.0)
    ),
    "squared": Smooth(  # (1 - v)^2 rises again beyond 1: Lemma 1 does not hold
        lambda v: (1.0 - v) ** 2, lambda v: -2.0 * (1.0 - v), lambda v: np.full_like(v, 2.0)
    ),
}


@dataclass(frozen=True, eq=False)
class GammaPhiLoss(Differences):
    """(1 / W) sum_n w_n gamma(sum_{k != y} c_nk phi(S_ny - S_nk))."""

    gamma: str | Smooth  # "identity", "log" (of 1 + v), or another increasing function
    phi: str | Smooth  # "exponential", "logistic", "squared hinge", "squared", or another one

    def __post_init__(self) -> None:
        for name, given, known in (("gamma", self.gamma, GAMMAS), ("phi", self.phi, PHIS)):
            if isinstance(given, str) and given not in known:
                options = ", ".join(map(repr, known))
                raise ValueError(f"{name} must be one of {options}, or a `Smooth` function, got {given!r}.")

    @property
    def base(self) -> str:
        """Return the names of gamma and phi."""
        return " of ".join(part if isinstance(part, str) else "a function" for part in (self.gamma, self.phi))

    def unit(self, costs: RowCosts) -> float:
        """Return that of the costs where gamma is the identity; else the loss is no multiple of the costs."""
        return costs.unit if self.gamma == "identity" else 1.0

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        return 0.0

    def _parts(self, costs: RowCosts, scores: FloatArray, start: int, stop: int) -> tuple[FloatArray, ...]:
        """Return weighted gamma, gamma' and gamma'' (n, 1) of the sum, and c_k phi', c_k phi'' (n, D) of its terms."""
        gamma = GAMMAS[self.gamma] if isinstance(self.gamma, str) else self.gamma
        phi = PHIS[self.phi] if isinstance(self.phi, str) else self.phi
        own = costs.label[start:stop, None]
        cost = costs.table[costs.row[start:stop]].copy()
        np.put_along_axis(cost, own, 0.0, axis=1)
        v = np.take_along_axis(scores, own, axis=1) - scores
        # What overflows, at steps far too long, is cut afterwards.
        with np.errstate(all="ignore"):
            total, weight = (cost * phi.value(v)).sum(axis=1, keepdims=True), costs.weight[start:stop, None]
            outer = [weight * part(total) for part in gamma]
            return tuple(map(_finite, (*outer, cost * phi.slope(v), cost * phi.curvature(v))))

    def gradients(self, at: LossColumns, start: int, stop: int) -> FloatArray:
        """Fill gradient, Hessian and value of rows start..stop; return column maxima (3, D)."""
        costs, scores, _, gradient, hessian = at[:5]
        value, slope, curvature, first, second = self._parts(costs, scores[start:stop], start, stop)
        own, scale = costs.label[start:stop, None], exp(-at.log_scale)
        down = -first  # d total / d S_k for k != y; for y it is the sum's negative
        np.put_along_axis(down, own, first.sum(axis=1, keepdims=True), axis=1)
        np.put_along_axis(second, own, second.sum(axis=1, keepdims=True), axis=1)
        with np.errstate(all="ignore"):
            gradient[start:stop] = _finite(-scale * slope * down)
            hessian[start:stop] = _finite(np.maximum(scale * (slope * second + curvature * down**2), 0.0))
        of_class = np.zeros(scores.shape[1])
        at.value[start:stop] = scale * value[:, 0]
        np.maximum.at(of_class, own[:, 0], at.value[start:stop])
        tops = (part[start:stop].max(axis=0, initial=0.0) for part in (np.abs(gradient), hessian))
        return np.array([*tops, of_class])

    def along(self, at: LossColumns, course: Course, start: int, stop: int) -> FloatArray:
        """Fill the line of the course; return its maxima."""
        factor, move = course[:2]
        d = factor[start:stop, None] * (move[start:stop] if len(move) > 1 else move)
        scores, line = at.scores[start:stop] + course.step * d, course.line
        value, slope, curvature, first, second = self._parts(at.costs, scores, start, stop)
        v = np.take_along_axis(d, at.costs.label[start:stop, None], axis=1) - d
        with np.errstate(all="ignore"):
            inner = (first * v).sum(axis=1, keepdims=True)
            bend = slope * (second * v**2).sum(axis=1, keepdims=True) + curvature * inner**2
            line[:, start:stop] = _finite(exp(-at.log_scale) * np.concatenate([value, slope * inner, bend], axis=1).T)
        return np.asarray(np.abs(line[:, start:stop]).max(axis=1, initial=0.0))
