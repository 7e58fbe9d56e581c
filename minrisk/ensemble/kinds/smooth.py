"""Smooth members: softmax regression on Gaussian kernels, in steps whose ridge penalty falls.

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
from typing import Self

import numpy as np

from minrisk._kernels.smooth import residuals
from minrisk._typing import FloatArray
from minrisk.boosting.loop import Progress
from minrisk.ensemble import defaults
from minrisk.ensemble.calibration import log_frequencies
from minrisk.ensemble.cross_fitting import without
from minrisk.ensemble.kind import CrossFit, Kind, Task
from minrisk.ensemble.kinds.plain import STARTS_AT_ZERO
from minrisk.ensemble.landmarks import Basis, fit_basis
from minrisk.model.smooth import SmoothScores
from minrisk.rows.costs import RowCosts


class SmoothMember:
    """One softmax regression in training; see `minrisk.ensemble.kind.Member`."""

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
        begun, bound = time.perf_counter(), 0.5 * self.basis.squares[:, None]
        most, bend = defaults.PENALTY * float(self._mass.sum()), defaults.BEND
        self.reached, (scores, left, step) = max(0, self.reached), self._space
        for checkpoint in rounds:
            while self.reached < checkpoint:
                np.dot(self._rows, self._weights, out=scores)
                residuals(scores, self._intercept, self._label, self._mass, left)
                np.dot(self._rows.T, left, out=step)
                step /= bound + most / (1.0 + self.reached / bend) ** 2
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

    def smooth(self) -> SmoothScores:
        """Where it stands, but for the intercept."""
        return self.basis.scores(self._weights)


class Smooth(Kind):
    """For boundaries that trees make of stairs, on few rows."""

    name = "smooth"
    place = "smooth"
    makes_rounds = False

    def __init__(self, task: Task, basis: Basis) -> None:
        super().__init__(task)
        self.basis, self.workers = basis, task.workers
        self.least_gain, self.largest_share = defaults.SMOOTH_GAIN, defaults.SMOOTH_SHARE
        n = task.costs.n_rows
        self.tried_on = 1 if n >= defaults.ONE_FOLD_TELLS else n

    @classmethod
    def of(cls, task: Task) -> Self | None:
        """Beside softmax, on few rows that differ."""
        (n, d), K = (task.costs.n_rows, task.table.n_features), task.costs.table.shape[1]
        few = n <= defaults.SMOOTH_ROWS and n * K <= defaults.SMOOTH_SCORES and n * d <= defaults.SMOOTH_VALUES
        if task.link != STARTS_AT_ZERO or not few or d > defaults.LINEAR_FEATURES:
            return None
        X = np.asarray(task.table.X[task.table.rows], dtype=np.float64)
        basis = fit_basis(X, task.costs.weight, task.seed)
        return None if basis is None else cls(task, basis)

    def _member(self, first: int, last: int) -> SmoothMember:
        costs, judging = without(self.task.costs, first, last)
        return SmoothMember(self.basis, costs, (first, last), judging)

    def member(self, fold: int) -> SmoothMember:
        """A member to be trained on the other folds."""
        return self._member(*self.task.table.fold(fold))

    def finish(self, fit: CrossFit, most: int) -> CrossFit:
        """With one member of all rows, that goes as far, in place of those that left rows out."""
        member = self._member(0, 0)
        member.train([fit.n_rounds])
        return fit._replace(
            members=[member.result(fit.n_rounds)], smooth=member.smooth(), seconds=fit.seconds + member.seconds
        )
