"""The additive model that every algorithm builds: H(x) = a_0 + sum_t f_t(x) a_t."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from minrisk._typing import FloatArray
from minrisk._workers import Workers
from minrisk.learners.tree import PackedTrees, Tree
from minrisk.losses.links import Link, probabilities

CONVERT_ROWS = 4096  # rows of other dtypes are converted to float64 in blocks of this many
INLINE_ROWS = 256


@dataclass(frozen=True)
class AdditiveModel:
    """Scores, and nothing else: which decision they mean is the estimator's business.

    Parameters
    ----------
    packed : PackedTrees
        The T learners f_t.
    vectors : ndarray of shape (T, D)
        The vectors a_t.
    intercept : ndarray of shape (D,)
        a_0 before the first round.
    shifts : ndarray of shape (T, D)
        What each round adds to a_0; zeros unless the constant term is fitted anew in every round.
    n_features : int
        Columns of X.
    link : str, optional
        Name of the map from scores to probabilities.
    """

    packed: PackedTrees
    vectors: FloatArray
    intercept: FloatArray
    shifts: FloatArray
    n_features: int
    link: Link | None = None

    def __len__(self) -> int:
        return len(self.packed)

    def __getitem__(self, part: slice) -> AdditiveModel:
        """A model of consecutive terms; ``model[:t]`` is the model after t rounds."""
        shifts = self.shifts[part]
        return AdditiveModel(self.packed[part], self.vectors[part], self.intercept, shifts, self.n_features, self.link)

    @property
    def learners(self) -> tuple[Tree, ...]:
        """The learners one by one, for reading."""
        return tuple(self.packed.tree(t) for t in range(len(self)))

    def scores(self, X: np.ndarray, workers: Workers | None = None) -> FloatArray:
        """Scores H(x), (n, D).

        Parameters
        ----------
        X : ndarray of shape (n, n_features)
            Any real dtype; NaN goes with the low values.
        workers : Workers, optional
            Threads over rows.
        """
        scores = np.tile(self.intercept, (len(X), 1))
        self._add(X, scores, 0, len(self), workers)
        if self.shifts.any():
            scores += self._constants[-1]
        return scores

    @property
    def _constants(self) -> FloatArray:
        """Sum of the shifts up to each round, (T, D)."""
        return np.cumsum(self.shifts, axis=0)

    def staged_scores(self, X: np.ndarray, workers: Workers | None = None) -> Iterator[FloatArray]:
        """Scores after each round, (n, D) each; a fresh array every time."""
        scores = np.tile(self.intercept, (len(X), 1))
        shifted, constants = bool(self.shifts.any()), self._constants
        for t in range(len(self)):
            self._add(X, scores, t, t + 1, workers)
            yield scores + constants[t] if shifted else scores.copy()

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Class probabilities by the loss's link, (n, K).

        Raises
        ------
        ValueError
            If the loss has no link.
        """
        if self.link is None:
            raise ValueError("This model's loss has no link from scores to probabilities.")
        return probabilities(self.link, scores)

    def _add(self, X: np.ndarray, scores: FloatArray, first: int, last: int, workers: Workers | None) -> None:
        n = len(X)
        parts = 1 if workers is None or n < INLINE_ROWS else min(4 * workers.n, -(-n // 64))
        bounds = [n * p // parts for p in range(parts + 1)]

        def add(part: int) -> None:
            start, stop = bounds[part], bounds[part + 1]
            if X.dtype in (np.float32, np.float64) and X.flags.c_contiguous:
                self.packed.add_scores(X, self.vectors, first, last, start, stop, scores)
                return
            for low in range(start, stop, CONVERT_ROWS):
                high = min(low + CONVERT_ROWS, stop)
                block = np.ascontiguousarray(X[low:high], dtype=np.float64)
                self.packed.add_scores(block, self.vectors, first, last, 0, high - low, scores[low:high])

        (workers or Workers()).map(add, range(parts))
