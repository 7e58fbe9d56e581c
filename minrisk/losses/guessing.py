"""Whether a loss is averse to guessing: tried on scores that are drawn.

Beijbom, Saberian, Kriegman and Vasconcelos, "Guess-Averse Loss Functions For Cost-Sensitive Multiclass Boosting",
ICML 2014, Definition 3.
"""

from __future__ import annotations

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk.rows.costs import RowCosts
from minrisk.rows.row_losses import DirectedRowLoss

DRAWS = 400  # scores per class, radius and way of drawing
RADII = (0.01, 0.1, 1.0, 3.0, 10.0, 30.0)  # of scores: losses may differ near 0 and far from it


def row_values(loss: DirectedRowLoss, cost: FloatArray, y: IntArray, scores: FloatArray) -> FloatArray:
    """The loss L(C, y, S) of each row of scores (n, D)."""
    n = len(scores)
    index = np.asarray(y, dtype=np.int32)
    costs = RowCosts(np.ascontiguousarray(cost, dtype=np.float64), index, np.ones(n), index)
    line, nowhere = np.empty((3, n)), np.zeros((1, scores.shape[1]))
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    loss.along(costs.read_only(), scores, np.zeros(n), nowhere, 0.0, 0.0, 0, n, line)
    values: FloatArray = line[0]
    return values


def is_guess_averse(loss: DirectedRowLoss, cost: FloatArray, seed: int = 0) -> bool:
    """Whether L(C, z, S) < L(C, z, A) for all scores S that decide for z and all equal scores A (Definition 3).

    Tried numerically, for this cost matrix, so that True means "no counter-example found": scores of sum 0 are drawn
    for every class z at radii from 0.01 to 30, normally distributed ones and ones with two levels below z's (one just
    below, the other far: [3, 2, -5] of Eq. (13) is of this kind).

    Parameters
    ----------
    loss : a loss with `along`
        `GuessAverseLoss`, `GuessingLoss` or `GammaPhiLoss`.
    cost : ndarray of shape (K, K)
    seed : int

    Examples
    --------
    >>> import numpy as np
    >>> from minrisk.losses.guess_averse import GuessAverseLoss
    >>> from minrisk.losses.not_guess_averse import GuessingLoss
    >>> cost = 1 - np.eye(3)
    >>> is_guess_averse(GuessAverseLoss("gll"), cost), is_guess_averse(GuessingLoss("ls"), cost)
    (True, False)
    """
    cost = np.asarray(cost, dtype=np.float64)
    K, rng = len(cost), np.random.default_rng(seed)
    for z in range(K):
        unit = np.concatenate([rng.normal(size=(DRAWS, K)), _two_levels(rng, K)])
        unit[:, z], unit[np.arange(len(unit)), unit.argmax(axis=1)] = unit.max(axis=1), unit[:, z]
        decided = unit[unit[:, z] > np.delete(unit, z, axis=1).max(axis=1)]
        decided -= decided.mean(axis=1, keepdims=True)  # L_s is defined for these; the others see differences only
        label = np.full(len(decided), z)
        guess = row_values(loss, cost, label[:1], np.zeros((1, K)))[0]
        for radius in RADII:
            if np.any(row_values(loss, cost, label, radius * decided) >= guess):
                return False
    return True


def _two_levels(rng: np.random.Generator, K: int) -> FloatArray:
    """Scores with the largest at 1, some just below it and the others far below."""
    near = rng.random((DRAWS, K)) < 0.5
    scores = np.where(near, 1.0 - rng.uniform(0.01, 0.5, (DRAWS, 1)), -rng.uniform(0.0, 3.0, (DRAWS, 1)))
    scores[:, 0] = 1.0
    return np.asarray(scores)
