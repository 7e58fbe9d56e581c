"""Decisions by scores: of least expected cost where scores give probabilities, else of the largest score."""

from __future__ import annotations

import numpy as np

from minrisk._kernels import links
from minrisk._memory import points
from minrisk._typing import FloatArray, IntArray
from minrisk.model.links import Link

LINK_KERNELS = {"sigmoid2": (links.SIGMOID, 2.0), "softmax": (links.SOFTMAX, 1.0), "softmax2": (links.SOFTMAX, 2.0)}


def expected_costs(link: Link, scores: FloatArray, temperature: float, cost: FloatArray) -> FloatArray:
    """Expected cost of each decision, (n, D); `cost` is (K, D), or (n, K, D) with a matrix for every row."""
    kind, slope = LINK_KERNELS[link]
    costs = points(cost if np.ndim(cost) == 3 else cost[None])
    return np.asarray(links.expected_costs(kind, slope / temperature, scores, costs))


def least_cost(link: Link | None, scores: FloatArray, temperature: float, cost: FloatArray | None) -> IntArray:
    """Decision of least expected cost where the scores give probabilities, else that of the largest score."""
    if link is None:
        return np.asarray(scores.argmax(axis=1))
    assert cost is not None
    return np.asarray(expected_costs(link, scores, temperature, cost).argmin(axis=1))
