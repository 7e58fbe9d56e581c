"""Scores to class probabilities, for losses whose population minimiser is a function of the probabilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minrisk._typing import FloatArray

Link = str  # a key of LINKS: links are stored in model files by name


def _sigmoid2(scores: FloatArray) -> FloatArray:
    """log sigmoid(2 h): the minimiser of p e^-h + (1 - p) e^h is h = 1/2 ln(p / (1 - p))."""
    return -np.logaddexp(0.0, -2.0 * scores)


def _sigmoid(scores: FloatArray) -> FloatArray:
    """log sigmoid(h): the logistic minimiser is h = ln(p / (1 - p))."""
    return -np.logaddexp(0.0, -scores)


def _linear(scores: FloatArray) -> FloatArray:
    """log (1 + h) / 2: the squared minimiser is h = 2 p - 1; clipped to stay positive."""
    return np.log(np.clip((1.0 + scores) / 2.0, 1e-6, 1.0))


LINKS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "sigmoid2": _sigmoid2,
    "sigmoid": _sigmoid,
    "linear": _linear,
}


def probabilities(link: Link, scores: FloatArray) -> FloatArray:
    """Probabilities (n, D): each output's own estimate, scaled to sum to 1 over the classes."""
    log_p = LINKS[link](scores)
    log_p -= log_p.max(axis=1, keepdims=True)
    p = np.exp(log_p)
    return np.asarray(p / p.sum(axis=1, keepdims=True))
