"""Edges of rounds, and by how much they prove that the exponential loss falls: REBEL, S.6.1 and S.7.1.

Of a learner f with answers in [-1, 1] let E_k be the sum of f (w- - w+) over the rows, which is (s- - s+)_k, and R_k
that of w- + w+, phantom rows among them, which is (s- + s+)_k. Its edge is

    phi = sum_k |E_k| / sum_k R_k,

the gamma of Eq. (10) without the floor c*; for 0/1 costs that is 0, and phi the gamma of Eq. (10) and (11). For real
answers e^(f a) <= (1 + f) / 2 e^a + (1 - f) / 2 e^-a makes the same sums a bound. By Eq. (8) the best vector leaves of
the loss, its constant term left out, at most

    sum_k sqrt(R_k^2 - E_k^2) <= sqrt(1 - phi^2) sum_k R_k,

also where phantom rows smooth it: whatever the vector is, they lose no less than before. Of a vector shortened by a
factor eta <= 1 the loss is, by convexity, at most 1 - eta (1 - sqrt(1 - phi^2)) of what it was. So its edge is here the
number for which this is sqrt(1 - phi^2) again, and what T rounds leave is always at most the product of their factors.
"""

from __future__ import annotations

import math

import numpy as np

from minrisk._typing import FloatArray
from minrisk.steps.base import LARGEST_STEP

UNPROVEN = math.nan  # the edge of a round that proves nothing of the loss


def edge_of(edge: FloatArray, room: FloatArray) -> float:
    """phi, by the sums E and R; no entry of a vector exceeds 18, which leaves e^-36 of an answer that is all right."""
    total = float(room.sum())
    return float(np.minimum(np.abs(edge), math.tanh(LARGEST_STEP) * room).sum()) / total if total > 0.0 else 0.0


def shortened(edge: float, factor: float) -> float:
    """The edge of a vector that is multiplied by this factor."""
    if factor == 1.0:
        return edge
    left = 1.0 - factor * (1.0 - kept_share(edge))
    return math.sqrt(max(0.0, (1.0 - left) * (1.0 + left))) if factor < 1.0 else UNPROVEN


def kept_share(edge: float) -> float:
    """sqrt(1 - phi^2), what a round leaves of the loss at most."""
    return math.sqrt((1.0 - edge) * (1.0 + edge))
