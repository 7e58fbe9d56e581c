"""Smooth members: softmax regression on Gaussian kernels, in steps whose ridge penalty falls.

Trees approximate a boundary across the features by stairs, which few rows cannot make fine. A step t fits the gradient
of the log-loss by ridge regression in the kernels' space,

    b <- b + (Phi' W Phi / 2 + PENALTY (1 + t / BEND)^-2 sum(w) I)^-1 Phi' W (Y - P),

with half the squares as the bound of the curvature that makes every step lower the loss (Böhning, "Multinomial logistic
regression algorithm", 1992): those of all rows, also for members that leave some out, since larger ones bound as well
and these are diagonal. Out-of-fold rows choose where to stop, as with trees: the path is that of boosting with kernel
ridge regression (Bühlmann and Yu, "Boosting with the L2 loss", 2003) in fewer steps. A penalty on b itself was no
better. In the end one member of all rows goes as far.

Landmarks stand for all rows: what sums of Gaussian kernels around a few of them can say.

Williams and Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from minrisk._kernels.functions import exp, power
from minrisk._kernels.linear import residuals
from minrisk._typing import FloatArray, IntArray, LeftOut
from minrisk._utils.algebra import eigenvectors, product
from minrisk.boosting.loop import Progress
from minrisk.data.copies import content_keys, order_by_cells
from minrisk.data.row_keys import numbered_keys, odd_numbers, waiting_times
from minrisk.ensemble import defaults
from minrisk.ensemble.defaults import LANDMARKS, REACH
from minrisk.ensemble.members import Kind, Member, Task
from minrisk.ensemble.table import standardisation, standardised
from minrisk.model.projection import SmoothScores
from minrisk.rows.costs import log_frequencies
from minrisk.rows.folded import FewRows, FoldedRows

RANK = 1e-5  # share of the largest eigenvalue of the landmarks' kernels, below which a direction is rounding


@dataclass(frozen=True)
class Basis:
    """What sums of kernels can say of rows, as coordinates in which their norm is that of the kernels' space.

    Attributes
    ----------
    kernels : SmoothScores
        Without vectors.
    coordinates : ndarray of shape (n, r)
        Of the rows; different columns are orthogonal, by the rows' weight.
    squares : ndarray of shape (r,)
        Weighted sum of the squares of each column.
    directions : ndarray of shape (m, r)
        ``directions @ b`` are the landmarks' vectors of the function ``coordinates @ b``.
    """

    kernels: SmoothScores
    coordinates: FloatArray
    squares: FloatArray
    directions: FloatArray

    def scores(self, weights: FloatArray) -> SmoothScores:
        """Return the function of these weights (r, D)."""
        return replace(self.kernels, vectors=product(self.directions, weights))


def fit_basis(X: np.ndarray, weight: FloatArray, seed: int, n_given: int | None = None) -> Basis | None:
    """Draw landmarks among the different rows, and find the rows' coordinates; None where the rows hardly differ.

    Rows that weigh less than most are seldom drawn. Neither the order of the rows matters, nor whether a weight is
    copies of a row, and a row more seldom does.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        NaN means missing.
    weight : ndarray of shape (n,)
        Of the rows, above 0.
    seed : int
    n_given : int, optional
        First columns, of which the others are made, and which draw the landmarks; default: all.
    """
    center, scale = standardisation(X, weight)
    d, rows = X.shape[1] if n_given is None else n_given, np.lexsort(X.T)  # columns that are made may differ
    own = content_keys(X, rows, d, odd_numbers(np.random.default_rng([seed, 2]), d))
    keys, first, place = np.unique(own, return_index=True, return_inverse=True)
    weights = np.bincount(place, weight[rows])
    times = waiting_times(numbered_keys(keys, seed), np.minimum(1.0, weights * (weights.sum() / np.sum(weights**2))))
    different = standardised(X, rows[first[np.lexsort((keys, times))[:LANDMARKS]]], center, scale)
    squares = np.sum(different**2, axis=1)
    apart = np.maximum(squares[:, None] + squares - 2.0 * product(different, different.T), 0.0)
    pairs = apart[np.triu_indices(len(different), 1)]
    typical = float(np.median(pairs)) if len(pairs) else 0.0
    if not 1e-12 < typical < np.inf:
        return None
    landmarks, none = np.ascontiguousarray(different.T), np.empty((len(different), 0))
    kernels = SmoothScores(center, scale, landmarks, 0.5 / (REACH * typical), none)
    value, axes = eigenvectors(exp(-kernels.width * apart))
    kept = value > RANK * value[-1]
    directions = axes[:, kept] / np.sqrt(value[kept])
    coordinates = product(kernels.kernels(X), directions)
    squares, axes = eigenvectors(product((coordinates * weight[:, None]).T, coordinates))
    return Basis(kernels, product(coordinates, axes), np.maximum(squares, 0.0), product(directions, axes))


# -- members ----------------------------------------------------------------------------------------------------------
class SmoothMember(Member):
    """One softmax regression in training.

    Parameters
    ----------
    basis : Basis
    few : FewRows
    order : ndarray of int, (n,)
        That sums go over rows in: that of their cells, so that sums have the same bits wherever rows stand.
    folded : FoldedRows
    fold : int, optional
        That it leaves out; None: it is trained on all rows.
    """

    def __init__(self, basis: Basis, few: FewRows, order: IntArray, folded: FoldedRows, fold: int | None) -> None:
        self.basis, self._folded, self._fold = basis, folded, fold
        self._few, self._order = few, order
        left_out = slice(0) if fold is None else slice(*few.bounds[fold : fold + 2].tolist())
        trained = np.ones(len(few.label), dtype=np.bool_)
        trained[left_out] = False
        own = order[trained[order]]
        self._left_out, self._rows = basis.coordinates[left_out], basis.coordinates[own]
        self._label, self._row_weight = few.label[own], few.weight[own]
        n_classes = folded.cost_facts.n_decisions
        self.start = log_frequencies(np.bincount(self._label, self._row_weight, n_classes).astype(np.float64))
        self._weights = np.zeros((len(basis.squares), len(self.start)))
        self._left = np.empty((len(self._rows), len(self.start)))  # of the residuals
        self._scores: dict[int, np.ndarray] = {}

    def train(self, rounds: Sequence[int]) -> None:
        """Go on to each of these checkpoints and keep the out-of-fold rows' scores there."""
        begun, bound = time.perf_counter(), 0.5 * self.basis.squares[:, None]
        most, bend = defaults.PENALTY * float(self._row_weight.sum()), defaults.BEND
        self.reached, left = max(0, self.reached), self._left
        for checkpoint in rounds:
            while self.reached < checkpoint:
                residuals(product(self._rows, self._weights), self.start, self._label, self._row_weight, left)
                step = product(self._rows.T, left)
                step /= bound + most / power(1.0 + self.reached / bend, 2)
                self._weights += step
                self.reached += 1
            self._scores[checkpoint] = (self.start + product(self._left_out, self._weights)).astype(np.float32)
        self.seconds += time.perf_counter() - begun

    def scores(self, n_rounds: int) -> LeftOut:
        """Return those of the out-of-fold rows at a checkpoint, perhaps one that was passed over."""
        assert self._fold is not None
        if n_rounds not in self._scores:
            again = SmoothMember(self.basis, self._few, self._order, self._folded, self._fold)
            again.train([n_rounds])
            self._scores |= again._scores
        return self._folded.dealt(self._scores[n_rounds], self._fold)

    def result(self, n_rounds: int) -> Progress:
        """Return the state before the first step: only what is trained on all rows is kept."""
        return Progress(intercept=self.start)

    def smooth(self) -> SmoothScores:
        """Return where it stands, but for the intercept."""
        return self.basis.scores(self._weights)


class Smooth(Kind):
    """For boundaries that trees make of stairs, on few rows."""

    name = "smooth"
    makes_rounds = False
    weight = 0.0  # of so few rows that its time does not matter

    def __init__(self, task: Task, basis: Basis, few: FewRows, order: IntArray) -> None:
        super().__init__(task)
        self.basis, self.few, self._order = basis, few, order

    @classmethod
    def of(cls, task: Task) -> Self | None:
        """Return itself beside softmax, on few rows that differ and lie here."""
        if task.link != "softmax" or not len(task.table.rows):
            return None
        if not defaults.is_smooth(task.costs.n_rows, task.n_outputs, task.table.n_features):
            return None
        X = np.asarray(task.table.X[task.table.rows], dtype=np.float64)
        few = task.folded.gathered()
        order = order_by_cells(X, few.label, few.weight)
        basis = fit_basis(X[order], few.weight[order], task.settings.seed, task.table.n_given)
        if basis is None:
            return None
        return cls(task, replace(basis, coordinates=basis.coordinates[np.argsort(order)]), few, order)

    def member(self, fold: int | None) -> SmoothMember:
        """Return a member to be trained on the other folds, or on all."""
        return SmoothMember(self.basis, self.few, self._order, self.task.folded, fold)
