"""Shapley values of any function of a model's scores, by going through all coalitions of its features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minrisk._memory import points
from minrisk._typing import FloatArray, IntArray
from minrisk.inspection.shap_scores import ScoreShapley
from minrisk.inspection.shap_targets import Target

MOST_PLAYERS = 12  # whose coalitions, 4096, are gone through
GAMES_TOGETHER = 512  # whose games are in memory: 16 MB for the most players


def coalition_values(shapley: ScoreShapley, X: Any, target: Target) -> tuple[FloatArray, FloatArray]:
    """Shapley values of the game v(S) = target(E[scores | the features of S]), and v of no feature.

    Parameters
    ----------
    shapley : ScoreShapley
    X : ndarray or SparseRows of shape (n, n_features)
    target : Target

    Returns
    -------
    values : ndarray of shape (n, d)
    base : ndarray of shape (n,)

    Raises
    ------
    ValueError
        If there are too many features.
    """
    n_columns, linear = X.shape[1], shapley.model.projection
    n_wide = n_columns + (0 if linear is None else linear.n_columns)
    players = np.zeros(n_wide, dtype=np.bool_)
    players[shapley.used[np.unique(shapley.paths.feature)]] = True
    if shapley.smooth is not None:
        players[:n_columns] |= shapley.smooth.smooth.scale > 0.0
    who = np.flatnonzero(players)
    F = len(who)
    if F > MOST_PLAYERS:
        raise ValueError(
            f"by='coalitions' goes through all coalitions of at most {MOST_PLAYERS} features that the model uses, and "
            f"this one uses {F}: leave by out, or fit with fewer columns (and pool=False, for no linear features)."
        )
    parts = []
    for low in range(0, X.shape[0], GAMES_TOGETHER):
        part = slice(low, low + GAMES_TOGETHER)
        parts.append(_values_of_rows(shapley, points(X[part]), target.of_rows(part), who, n_wide))
    values, base = zip(*parts, strict=True)
    return np.concatenate(values), np.concatenate(base)


def _values_of_rows(
    shapley: ScoreShapley, rows: FloatArray, target: Target, who: IntArray, n_wide: int
) -> tuple[FloatArray, FloatArray]:
    """Values of few rows, by all coalitions of the features `who`."""
    F = len(who)
    codes, game = shapley.codes(rows), np.empty((1 << F, len(rows)))
    for number in range(1 << F):
        known = np.zeros(n_wide, dtype=np.bool_)
        known[who] = (number >> np.arange(F)) & 1
        scores = shapley.model.intercept + shapley.paths.expected_scores(codes, known[shapley.used])
        if shapley.smooth is not None:
            scores = scores + shapley.smooth.expected_scores(rows, known[: rows.shape[1]])
        game[number] = target(scores)
    numbers = np.arange(1 << F)
    size = ((numbers[:, None] >> np.arange(F)) & 1).sum(axis=1)
    weight = np.array([math.factorial(s) * math.factorial(F - s - 1) / math.factorial(F) for s in range(F)])
    values = np.zeros((len(rows), F))
    for i in range(F):
        without = numbers[(numbers >> i) & 1 == 0]
        values[:, i] = weight[size[without]] @ (game[without | (1 << i)] - game[without])
    return shapley.pulled_back(values[:, :, None], who, rows)[:, :, 0], game[0].copy()  # not all games
