"""Scores to class probabilities, for losses whose population minimiser is a function of the probabilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minrisk._typing import FloatArray

UNSEEN_PROBABILITY = 1e-12  # of what has not been seen: its score stays finite
LEAST_SHARE = 1e-6  # that the squared minimiser's line may give: its logarithm stays finite
Link = str  # a key of LINKS: links are stored in model files by name


def _sigmoid2(scores: FloatArray) -> FloatArray:
    """log sigmoid(2 h): the minimiser of p e^-h + (1 - p) e^h is h = 1/2 ln(p / (1 - p))."""
    return -np.logaddexp(0.0, -2.0 * scores)


def _sigmoid(scores: FloatArray) -> FloatArray:
    """log sigmoid(h): the logistic minimiser is h = ln(p / (1 - p))."""
    return -np.logaddexp(0.0, -scores)


def _linear(scores: FloatArray) -> FloatArray:
    """log (1 + h) / 2: the squared minimiser is h = 2 p - 1; clipped to stay positive."""
    return np.log(np.clip((1.0 + scores) / 2.0, LEAST_SHARE, 1.0))


def _softmax(scores: FloatArray) -> FloatArray:
    """h: the log-likelihood's minimiser is h = ln p, up to a constant."""
    return np.asarray(scores)


def _softmax2(scores: FloatArray) -> FloatArray:
    """2 h: of p_j e^(h_k - h_j) the minimiser is h = 1/2 ln p, up to a constant (Beijbom et al. 2014, Eq. 33)."""
    return 2.0 * scores


LINKS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "sigmoid2": _sigmoid2,
    "sigmoid": _sigmoid,
    "linear": _linear,
    "softmax": _softmax,
    "softmax2": _softmax2,
}


def constant_scores(link: Link, p: FloatArray) -> FloatArray:
    """Scores (D,) of these probabilities; those of 0 are as good as 0."""
    p = np.clip(p, UNSEEN_PROBABILITY, 1.0 - UNSEEN_PROBABILITY)
    if link == "linear":
        return np.asarray(2.0 * p - 1.0)
    logs = np.log(p) - (np.log1p(-p) if link.startswith("sigmoid") else 0.0)
    return np.asarray(logs / 2.0 if link.endswith("2") else logs)


def probabilities(link: Link, scores: FloatArray, temperature: float = 1.0) -> FloatArray:
    """Probabilities (n, D): each output's own estimate at scores / temperature, scaled to sum to 1 over the classes."""
    p = np.exp(_below_zero(link, scores, temperature))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def log_probabilities(link: Link, scores: FloatArray, temperature: float = 1.0) -> FloatArray:
    """Logarithms of the `probabilities` (n, D), also of those too small for float64."""
    log_p = _below_zero(link, scores, temperature)
    return np.asarray(log_p - np.log(np.exp(log_p).sum(axis=1, keepdims=True)))


def _below_zero(link: Link, scores: FloatArray, temperature: float) -> FloatArray:
    """The link's log-probabilities before they are scaled, shifted to a largest one of 0."""
    log_p = LINKS[link](scores / temperature)
    return np.asarray(log_p - log_p.max(axis=1, keepdims=True))
