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
from minrisk._typing import LeftOut
from minrisk.boosting.loop import Progress
from minrisk.ensemble import defaults
from minrisk.ensemble.kind import CrossFit, Kind, Task
from minrisk.ensemble.landmarks import Basis, fit_basis
from minrisk.model.projection import SmoothScores
from minrisk.rows.costs import log_frequencies
from minrisk.rows.folded import FewRows, FoldedRows


class SmoothMember:
    """One softmax regression in training; see `minrisk.ensemble.kind.Member`."""

    def __init__(self, basis: Basis, few: FewRows, folded: FoldedRows, fold: int | None) -> None:
        self.basis, self.reached, self.seconds = basis, -1, 0.0
        self._folded, self._fold = folded, fold
        left_out = slice(0) if fold is None else slice(*few.bounds[fold : fold + 2].tolist())
        self._left_out, trained = basis.coordinates[left_out], np.ones(len(few.label), dtype=np.bool_)
        trained[left_out] = False
        self._rows, self._label, self._mass = basis.coordinates[trained], few.label[trained], few.weight[trained]
        n_classes = folded.cost_facts.n_decisions
        self.start = log_frequencies(np.bincount(self._label, self._mass, n_classes).astype(np.float64))
        self._weights = np.zeros((len(basis.squares), len(self.start)))
        n, K = len(self._rows), len(self.start)
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
                residuals(scores, self.start, self._label, self._mass, left)
                np.dot(self._rows.T, left, out=step)
                step /= bound + most / (1.0 + self.reached / bend) ** 2
                self._weights += step
                self.reached += 1
            self._scores[checkpoint] = (self.start + self._left_out @ self._weights).astype(np.float32)
        self.seconds += time.perf_counter() - begun

    def scores(self, n_rounds: int) -> LeftOut:
        """Of the left-out rows at a checkpoint."""
        assert self._fold is not None
        return self._folded.dealt(self._scores[n_rounds], self._fold)

    def rest(self) -> None:
        """Nothing: its rows are few."""

    def result(self, n_rounds: int) -> Progress:
        """Before the first step: only what is trained on all rows is kept."""
        return Progress(intercept=self.start)

    def smooth(self) -> SmoothScores:
        """Where it stands, but for the intercept."""
        return self.basis.scores(self._weights)


class Smooth(Kind):
    """For boundaries that trees make of stairs, on few rows."""

    name = "smooth"
    makes_rounds = False

    def __init__(self, task: Task, basis: Basis, few: FewRows) -> None:
        super().__init__(task)
        self.basis, self.few, self.workers = basis, few, task.workers

    @classmethod
    def of(cls, task: Task) -> Self | None:
        """Beside softmax, on few rows that differ."""
        (n, d), K = (task.costs.n_rows, task.table.n_features), task.n_outputs
        are_few = n <= defaults.SMOOTH_ROWS and n * K <= defaults.SMOOTH_SCORES and n * d <= defaults.SMOOTH_VALUES
        if task.link != "softmax" or not are_few or d > defaults.LINEAR_FEATURES:
            return None
        X = np.asarray(task.table.X[task.table.rows], dtype=np.float64)
        few = task.folded.gathered()
        basis = fit_basis(X, few.weight, task.seed, task.table.n_given)
        return None if basis is None else cls(task, basis, few)

    def member(self, fold: int) -> SmoothMember:
        """A member to be trained on the other folds."""
        return SmoothMember(self.basis, self.few, self.task.folded, fold)

    def finish(self, fit: CrossFit, most: int) -> CrossFit:
        """With one member of all rows, that goes as far, in place of those that left rows out."""
        member = SmoothMember(self.basis, self.few, self.task.folded, None)
        member.train([fit.n_rounds])
        return fit._replace(
            members=[member.result(fit.n_rounds)], smooth=member.smooth(), seconds=fit.seconds + member.seconds
        )
