"""Scores to class probabilities, and to the decisions of least expected cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minrisk._kernels import links
from minrisk._kernels.functions import exp, log, log1p, softplus
from minrisk._typing import FloatArray, IntArray
from minrisk._utils.memory import points
from minrisk.costs.matrix import are_even

UNSEEN_PROBABILITY = 1e-12  # of what has not been seen: its score stays finite
LEAST_SHARE = 1e-6  # that the squared minimiser's line may give: its logarithm stays finite
Link = str  # a key of LINKS: links are stored in model files by name


def _sigmoid2(scores: FloatArray) -> FloatArray:
    """Return log sigmoid(2 h): the minimiser of p e^-h + (1 - p) e^h is h = 1/2 ln(p / (1 - p))."""
    return -softplus(-2.0 * scores)


def _sigmoid(scores: FloatArray) -> FloatArray:
    """Return log sigmoid(h): the logistic minimiser is h = ln(p / (1 - p))."""
    return -softplus(-scores)


def _linear(scores: FloatArray) -> FloatArray:
    """Return log (1 + h) / 2: the squared minimiser is h = 2 p - 1; clipped to stay positive."""
    return log(np.clip((1.0 + scores) / 2.0, LEAST_SHARE, 1.0))


def _softmax(scores: FloatArray) -> FloatArray:
    """Return h: the log-likelihood's minimiser is h = ln p, up to a constant."""
    return np.asarray(scores)


def _softmax2(scores: FloatArray) -> FloatArray:
    """Return 2 h: p_j e^(h_k - h_j) is least at h = 1/2 ln p, up to a constant (Beijbom et al. 2014, Eq. 33)."""
    return 2.0 * scores


LINKS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "sigmoid2": _sigmoid2,
    "sigmoid": _sigmoid,
    "linear": _linear,
    "softmax": _softmax,
    "softmax2": _softmax2,
}


def constant_scores(link: Link, p: FloatArray) -> FloatArray:
    """Return scores (D,) of these probabilities; those of 0 are as good as 0."""
    p = np.clip(p, UNSEEN_PROBABILITY, 1.0 - UNSEEN_PROBABILITY)
    if link == "linear":
        return np.asarray(2.0 * p - 1.0)
    logs = log(p) - (log1p(-p) if link.startswith("sigmoid") else 0.0)
    return np.asarray(logs / 2.0 if link.endswith("2") else logs)


def probabilities(link: Link, scores: FloatArray, temperature: float = 1.0) -> FloatArray:
    """Return probabilities (n, D): each output's own estimate at scores / temperature, scaled to sum to 1."""
    p = exp(_below_zero(link, scores, temperature))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def log_probabilities(link: Link, scores: FloatArray, temperature: float = 1.0) -> FloatArray:
    """Return logarithms of the `probabilities` (n, D), also of those too small for float64."""
    log_p = _below_zero(link, scores, temperature)
    return np.asarray(log_p - log(exp(log_p).sum(axis=1, keepdims=True)))


def _below_zero(link: Link, scores: FloatArray, temperature: float) -> FloatArray:
    """Return the link's log-probabilities before they are scaled, shifted to a largest one of 0."""
    log_p = LINKS[link](scores / temperature)
    return np.asarray(log_p - log_p.max(axis=1, keepdims=True))


# -- decisions ---------------------------------------------------------------------------------------------------------
LINK_KERNELS = {"sigmoid2": (links.SIGMOID, 2.0), "softmax": (links.SOFTMAX, 1.0), "softmax2": (links.SOFTMAX, 2.0)}


def expected_costs(link: Link, scores: FloatArray, temperature: float, cost: FloatArray) -> FloatArray:
    """Return expected cost of each decision, (n, D); `cost` is (K, D), or (n, K, D) with a matrix for every row."""
    kind, slope = LINK_KERNELS[link]
    costs = points(cost if np.ndim(cost) == 3 else cost[None])
    return np.asarray(links.expected_costs(kind, slope / temperature, scores, costs))


def least_cost(link: Link | None, scores: FloatArray, temperature: float, cost: FloatArray | None) -> IntArray:
    """Return decision of least expected cost where the scores give probabilities, else that of the largest score."""
    if link is None or cost is None or (np.ndim(cost) == 2 and are_even(cost)):  # the likeliest class
        return np.asarray(scores.argmax(axis=1))
    return np.asarray(expected_costs(link, scores, temperature, cost).argmin(axis=1))
