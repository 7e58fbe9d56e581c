"""How far scores are to be believed: weights of score functions, around what is known without them.

The probabilities of a row are those of x = base + shift + sum_m w_m slope g_m(x), by the link. The base is the
logarithm of the class frequencies, g_m what the members of a kind say beyond it, and w_m >= 0 its weight, the
reciprocal of a temperature. The shift has an entry for each class. Out-of-fold rows find w and the shift by least
log-loss, which is convex in both for the softmax link, so that they are continuous in everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minrisk._typing import FloatArray
from minrisk._utils.minimising import minimise
from minrisk.ensemble import defaults
from minrisk.model.links import Link
from minrisk.rows.folded import HeldOut

LARGEST_WEIGHT = 100.0  # of a score function; rows that are all decided rightly ask for more
SAME_WEIGHT = 0.01  # relative change of a weight of one function that its search ends at
ROUNDED_TO = 2.0**-20  # that weights and shifts are rounded to: last bits of sums depend on where rows stand
MOST_STEPS = 60  # of that search, at most


def half_row(held: HeldOut) -> float:
    """Return share of half a row in the weight of these rows.

    That half a row may be of another class keeps rows that are all decided rightly from making the next one certain:
    n of them leave others 1 / (2 n + 1), Krichevsky and Trofimov's estimate.
    """
    return defaults.CAUTION / max(1.0, held.weight)


def fit_weight(
    held: HeldOut, link: Link, start: float, caution: float, whole: bool = False, nothing: float = -np.inf
) -> tuple[float, float]:
    """Find the weight >= 0 of one score function, without a shift, and the loss there: Newton steps between bounds.

    It is put on what is known without scores, unless the scores are the `whole`. `nothing` is the loss of weight 0,
    where it is known.
    """
    # Newton steps are kept between bounds that are known to hold the minimum; where one leaves them, they are halved.
    low, high, weight = 0.0, LARGEST_WEIGHT, start or 1.0
    found = held.along(link, weight, caution, whole).tolist()
    least = nothing
    if not found[0] < least:  # a weight above 0 might not be better than 0
        least, slope, _ = held.along(link, 0.0, caution, whole).tolist()
        if not slope < 0.0:  # also where all scores are 0, or beyond single precision
            return 0.0, least
    for step in range(MOST_STEPS):
        loss, slope, curvature = held.along(link, weight, caution, whole).tolist() if step else found
        too_far = slope > 0.0 or loss > least  # the latter without the former where the loss is not convex
        low, high = (low, weight) if too_far else (weight, high)
        wanted = weight - slope / curvature if curvature > 0.0 else np.inf
        if loss <= least and abs(wanted - weight) <= SAME_WEIGHT * weight:
            break
        if loss > least or not low < wanted < high:
            wanted = 0.5 * (low + high) if too_far or high < LARGEST_WEIGHT else min(2.0 * weight, high)
        if wanted == weight:  # all rows are decided rightly: the largest weight
            break
        weight = wanted
    return weight, loss


class Mixture(NamedTuple):
    """Weights of score functions, and a shift of each class."""

    weights: FloatArray  # (M,)
    shift: FloatArray  # (K,)
    moves: FloatArray  # (M,): by how much each function moves log-odds, weight and spread together


def fit_mixture(
    link: Link, parts: Sequence[HeldOut], frequencies: FloatArray, doubt: FloatArray, start: FloatArray
) -> Mixture:
    """Find the weights and the shift of least log-loss of out-of-fold rows.

    The objective is the loss plus sum_m doubt_m w_m, which is how much each weight must bring before it is above 0,
    plus SHIFT_ROWS / 2 sum_k shift_k^2: a class with fewer rows than that has hardly a shift.

    Parameters
    ----------
    link : Link
    parts : sequence of HeldOut
        M score functions, of the same rows.
    frequencies : ndarray of shape (K,)
        Of the classes.
    doubt : ndarray of shape (M,)
    start : ndarray of shape (M,)
        Weights to begin at.
    """
    M, K = len(parts), parts[0].n_outputs
    caution = half_row(parts[0])
    # Each variable is searched in a unit of its own curvature, so that projected L-BFGS begins with steps of about 1.
    curvature = np.array([part.along(link, 0.0, caution)[2] for part in parts])
    unit = np.concatenate(
        [
            1.0 / np.sqrt(np.maximum(curvature, 1e-12 * max(1.0, parts[0].weight))),
            1.0 / np.sqrt(parts[0].weight * frequencies * (1.0 - frequencies) + defaults.SHIFT_ROWS),
        ]
    )

    def objective(scaled: FloatArray) -> tuple[float, FloatArray]:
        weights, shift = np.split(scaled * unit, [M])
        sums = parts[0].mixture(parts[1:], link, weights, shift, caution)
        value = sums[0] + np.sum(doubt * weights) + 0.5 * defaults.SHIFT_ROWS * np.sum(shift**2)
        slopes = np.concatenate([sums[1 : 1 + M] + doubt, sums[1 + 2 * M :] + defaults.SHIFT_ROWS * shift])
        return float(value), slopes * unit

    begin = np.concatenate([start, np.zeros(K)]) / unit
    low, high = np.repeat([0.0, -np.inf], [M, K]), np.append(LARGEST_WEIGHT / unit[:M], np.full(K, np.inf))
    found = minimise(objective, begin, low, high, gradient=1e-4, change=1e-10).point * unit
    weights, shift = np.split(np.rint(found / ROUNDED_TO) * ROUNDED_TO, [M])
    return Mixture(weights, shift, weights * np.sqrt(np.maximum(curvature, 0.0)))


def loss_beside(link: Link, whole: HeldOut, temperature: float, other: HeldOut) -> tuple[float, float]:
    """Return the mean log-loss by whole scores, and the least one with another score function beside them."""
    nothing, caution = np.zeros(whole.n_outputs), half_row(whole)

    def objective(weights: FloatArray) -> tuple[float, FloatArray]:
        sums = whole.mixture([other], link, weights, nothing, caution, whole=True)
        return float(sums[0]), sums[1:3]

    begin, high = np.array([1.0 / temperature, 0.0]), np.full(2, LARGEST_WEIGHT)
    found = minimise(objective, begin, np.zeros(2), high, gradient=1e-3, change=1e-6)
    total = whole.weight or 1.0
    return objective(begin)[0] / total, found.value / total
