"""SAMME of stumps that are chosen by their weighted error, where scikit-learn's are chosen by Gini's impurity.

J. Zhu, H. Zou, S. Rosset and T. Hastie, "Multi-class AdaBoost", Statistics and Its Interface 2, 2009: Algorithm 2.
Either side of a stump names the class of most weight there, so that a stump names two classes at most.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class LeastErrorSAMME(ClassifierMixin, BaseEstimator):
    """Boosts the stump of least weighted error among all thresholds of all features."""

    def __init__(self, n_estimators: int = 200) -> None:
        self.n_estimators = n_estimators

    def fit(self, X: np.ndarray, y: np.ndarray) -> LeastErrorSAMME:
        self.classes_, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        n, K = len(y), len(counts)
        order = np.argsort(X, axis=0, kind="stable").T  # rows by value, (d, n)
        values = np.take_along_axis(X.T, order, axis=1)
        cut = values[:, :-1] < values[:, 1:]
        place = np.argsort(codes[order], axis=1, kind="stable")  # of rows by class, then by value
        by_class = np.take_along_axis(order, place, axis=1)
        w, below, above = np.full(n, 1.0 / n), np.empty(order.shape), np.empty(order.shape)
        self.stumps_ = []
        for _ in range(self.n_estimators):
            heavy, of_class = w[by_class], np.bincount(codes, w)
            up_to = np.cumsum(heavy, axis=1) - np.repeat(np.cumsum(of_class) - of_class, counts)
            np.put_along_axis(below, place, up_to, axis=1)  # weight of the row's class up to it, and from it on
            np.put_along_axis(above, place, np.repeat(of_class, counts) - up_to + heavy, axis=1)
            heaviest = np.maximum.accumulate(below, axis=1)[:, :-1]
            heaviest += np.maximum.accumulate(above[:, ::-1], axis=1)[:, -2::-1]
            feature, last = np.unravel_index(np.where(cut, heaviest, 0.0).argmax(), cut.shape)
            threshold = float(values[feature, last : last + 2].mean())
            side = (X[:, feature] > threshold).astype(int)
            answers = np.array([np.bincount(codes[side == s], w[side == s], K).argmax() for s in (0, 1)])
            missed = answers[side] != codes
            error = float(w[missed].sum())
            if error >= 1 - 1 / K:
                break
            rate = float(np.log((1 - error) / max(error, 1e-12)) + np.log(K - 1))
            self.stumps_.append((feature, threshold, answers, rate))
            if error <= 0:
                break
            w *= np.exp(rate * missed)
            w /= w.sum()
        self.n_iter_ = len(self.stumps_)
        return self

    def staged_predict(self, X: np.ndarray) -> Iterator[np.ndarray]:
        votes = np.zeros((len(X), len(self.classes_)))
        for feature, threshold, answers, rate in self.stumps_:
            votes[np.arange(len(X)), answers[(X[:, feature] > threshold).astype(int)]] += rate
            yield self.classes_[votes.argmax(axis=1)]
