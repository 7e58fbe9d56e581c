"""Smooth members of a pool: softmax regression on Gaussian kernels, in steps whose ridge penalty falls.

Trees approximate a boundary across the features by stairs, which few rows cannot make fine. A step t fits the gradient
of the log-loss by ridge regression in the kernels' space,

    b <- b + (Phi' W Phi / 2 + PENALTY (1 + t / BEND)^-2 sum(w) I)^-1 Phi' W (Y - P),

with half the squares as the bound of the curvature that makes every step lower the loss (Böhning, "Multinomial logistic
regression algorithm", 1992): those of all rows, also for members that leave some out, since larger ones bound as well
and these are diagonal. Left-out rows choose where to stop, as with trees: the path is that of boosting with kernel
ridge regression (Bühlmann and Yu, "Boosting with the L2 loss", 2003) in fewer steps. A penalty on b itself was no
better. In the end one member of all rows goes as far.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from minrisk._kernels.smooth import residuals
from minrisk._typing import FloatArray, IntArray
from minrisk._workers import Workers
from minrisk.boosting.loop import Progress
from minrisk.ensemble.columns import MOST_FEATURES
from minrisk.ensemble.selection import SMOOTH, STARTS_AT_ZERO, Candidate, CrossFit, log_frequencies, without
from minrisk.model.smooth import Basis, fit_basis
from minrisk.rows.base import RowCosts

PENALTY, BEND = 0.03, 8  # share of the rows' weight, and rounds in which it falls to a quarter
MOST_ROWS = 1 << 12  # of more rows trees learn what is smooth: 1.00 of the risk (eleven sets of 1000 to 6000 rows)
MOST_SCORES, MOST_VALUES = 1 << 17, 1 << 20  # rows times classes, and times features: a small part of a fit's time
LEAST_GAINS, MANY_ROWS = (0.02, 0.04), 1000  # on fewer rows, and on so many
LARGEST_SHARE = 7 / 8  # the rest is left to trees, so that the model has rounds
ONE_FOLD_TELLS = 500  # rows: on fewer they cost little, and are judged by all folds at once


class SmoothMember:
    """One softmax regression in training; see `Member`."""

    def __init__(self, basis: Basis, costs: RowCosts, left_out: tuple[int, int], judging: FloatArray) -> None:
        self.basis, self.weight, self.reached, self.seconds = basis, judging, -1, 0.0
        self._left_out, trained = basis.coordinates[slice(*left_out)], costs.weight > 0
        self._rows, self._label, self._mass = basis.coordinates[trained], costs.label[trained], costs.weight[trained]
        self._intercept = log_frequencies(costs)[1]
        self._weights = np.zeros((len(basis.squares), len(self._intercept)))
        n, K = len(self._rows), len(self._intercept)
        self._space = np.empty((n, K)), np.empty((n, K)), np.empty_like(self._weights)
        self._scores: dict[int, np.ndarray] = {}

    def train(self, rounds: Sequence[int]) -> None:
        """Go on to each of these checkpoints and keep the left-out rows' scores there."""
        begun, bound, most = time.perf_counter(), 0.5 * self.basis.squares[:, None], PENALTY * float(self._mass.sum())
        self.reached, (scores, left, step) = max(0, self.reached), self._space
        for checkpoint in rounds:
            while self.reached < checkpoint:
                np.dot(self._rows, self._weights, out=scores)
                residuals(scores, self._intercept, self._label, self._mass, left)
                np.dot(self._rows.T, left, out=step)
                step /= bound + most / (1.0 + self.reached / BEND) ** 2
                self._weights += step
                self.reached += 1
            self._scores[checkpoint] = (self._intercept + self._left_out @ self._weights).astype(np.float32)
        self.seconds += time.perf_counter() - begun

    def scores(self, n_rounds: int) -> np.ndarray:
        """Of the left-out rows at a checkpoint, (m, D)."""
        return self._scores[n_rounds]

    def result(self, n_rounds: int) -> Progress:
        """Before the first step: only what is trained on all rows is kept."""
        return Progress(intercept=self._intercept)

    def last(self) -> Progress:
        """Where it stands."""
        return Progress(intercept=self._intercept, smooth=self.basis.scores(self._weights))


class SmoothTrainer:
    """Makes the members, on rows that stand fold after fold; see `Trainer`."""

    def __init__(self, plain: Candidate, basis: Basis, workers: Workers) -> None:
        n = plain.costs.n_rows
        self.candidate = Candidate(
            plain.surrogate, SMOOTH, plain.costs, plain.link, least_gain=LEAST_GAINS[n >= MANY_ROWS],
            largest_share=LARGEST_SHARE, tried_on=1 if n >= ONE_FOLD_TELLS else n,
        )  # fmt: skip
        self.basis, self.workers = basis, workers

    def _member(self, first: int, last: int) -> SmoothMember:
        costs, judging = without(self.candidate.costs, first, last)
        return SmoothMember(self.basis, costs, (first, last), judging)

    def fold(self, fold: int, folds: IntArray, seed: int) -> SmoothMember:
        """A member to be trained on the other folds."""
        first, last = np.searchsorted(folds, [fold, fold + 1]).tolist()
        return self._member(first, last)

    def finish(self, fit: CrossFit, most: int, seed: int) -> CrossFit:
        """With one member of all rows, that goes as far, in place of those that left rows out."""
        member = self._member(0, 0)
        member.train([fit.n_rounds])
        return fit._replace(members=[member.last()], seconds=fit.seconds + member.seconds)


def smooth_trainers(
    plain: Candidate, X: np.ndarray, rows: IntArray, seed: int, workers: Workers
) -> list[SmoothTrainer]:
    """One for members beside plain ones, or none where they do not suit.

    Parameters
    ----------
    plain : Candidate
    X : ndarray of shape (N, d)
    rows : ndarray of int
        Of X, that the candidate's costs are about.
    seed : int
    workers : Workers
    """
    n, K = plain.costs.n_rows, plain.costs.table.shape[1]
    small = n <= MOST_ROWS and n * K <= MOST_SCORES and n * X.shape[1] <= MOST_VALUES and X.shape[1] <= MOST_FEATURES
    if plain.link != STARTS_AT_ZERO or not small:
        return []
    basis = fit_basis(np.asarray(X[rows], dtype=np.float64), plain.costs.weight, seed)
    return [] if basis is None else [SmoothTrainer(plain, basis, workers)]
