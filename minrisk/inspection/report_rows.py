"""Judged rows: what each decision cost, what was expected, and means with standard errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk.costs.labels import label_text, match_labels
from minrisk.costs.samples import Samples, as_samples
from minrisk.costs.stated import judging
from minrisk.inspection.why_answers import Decider
from minrisk.inspection.why_columns import codes_of_rows

_JUDGED_TOGETHER = 1 << 14  # rows that a model answers at a time
_LEAST_SHOWN = 1e-15  # of which a log-loss is taken


class MeanValue(NamedTuple):
    """A mean over rows and its standard error, sqrt(sum w^2 (v - mean)^2 n / (n - 1)) / sum w."""

    mean: float
    error: float


class JudgedRows:
    """Rows with known classes, what was decided about them and what that cost.

    Parameters
    ----------
    model : fitted classifier of minrisk
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
    cost : optional
        Costs to judge by, as in `minrisk.metrics.expected_cost`; None: those of the fit.
    sample_weight : array-like of shape (n,), optional

    Attributes
    ----------
    samples : Samples
        Truth and decisions as codes, their labels, and the costs.
    weight, costs : ndarray of shape (n,)
        How often each row counts, and what its decision cost.
    table : ndarray of shape (n, D)
        What each decision would have cost each row.
    is_right : ndarray of bool of shape (n,)
        Whether the decision is the true class.
    probabilities : ndarray of shape (n, K) or None
        Of `classes`, the model's.
    p_of_truth : ndarray of shape (n,) or None
        0 where the model does not know the class.
    """

    def __init__(self, model: Any, X: Any, y: Any, cost: Any, sample_weight: Any) -> None:
        self.model, self.classes = model, model.classes_.tolist()
        decided = _in_parts(model.predict, X)
        given = model._judged_by() if cost is None else cost
        judged_by, labels = judging(given, model.classes_, len(decided), model._names())
        self.samples: Samples = as_samples(y, decided, judged_by, labels, sample_weight)
        truth, n = self.samples.truth, len(decided)
        self.weight: FloatArray = np.ones(n) if self.samples.weight is None else self.samples.weight
        self.table = self.samples.values if self.samples.per_row else self.samples.values[truth]
        self.costs: FloatArray = self.table[np.arange(n), self.samples.decided]
        own = np.array(match_labels(self.samples.classes, self.samples.decisions))
        self.is_right = own[truth] == self.samples.decided
        self.probabilities: FloatArray | None = None
        self.p_of_truth: FloatArray | None = None
        if hasattr(model, "predict_proba"):
            self.probabilities = _in_parts(model.predict_proba, X)
            at = np.array(match_labels(self.samples.classes, self.classes))[truth]
            self.p_of_truth = np.where(at >= 0, self.probabilities[np.arange(n), at], 0.0)
        self._X = X

    def __len__(self) -> int:
        return len(self.costs)

    def mean(self, values: FloatArray) -> MeanValue:
        """The weighted mean of a number for each row."""
        weight, n = self.weight / self.weight.max(), int(np.count_nonzero(self.weight))
        mean = float(weight @ values / weight.sum())
        spread = float(np.sqrt(((weight * (values - mean)) ** 2).sum() * n / max(1, n - 1)) / weight.sum())
        return MeanValue(mean, spread if n > 1 else np.nan)

    @property
    def constant(self) -> int:
        """Number of the decision that, taken for all rows, costs least."""
        return int((self.weight / self.weight.max() @ self.table).argmin())

    @property
    def is_constant_right(self) -> np.ndarray:
        """Whether that decision is the true class, (n,)."""
        own = np.array(match_labels(self.samples.classes, self.samples.decisions))
        return np.asarray(own[self.samples.truth] == self.constant)

    def log_loss(self) -> FloatArray | None:
        """-log p of the true class, (n,); None without probabilities."""
        if self.p_of_truth is None:
            return None
        return np.asarray(-np.log(np.maximum(self.p_of_truth, _LEAST_SHOWN)))

    def shares_log_loss(self) -> FloatArray:
        """-log of the share of the true class among these rows, (n,)."""
        mass = np.bincount(self.samples.truth, weights=self.weight, minlength=len(self.samples.classes))
        return np.asarray(-np.log(np.maximum(mass / mass.sum(), _LEAST_SHOWN))[self.samples.truth])

    def cells(self) -> tuple[FloatArray, FloatArray]:
        """Total cost and weight of the rows of each true class and decision, (K, D) each."""
        totals, counts = (np.zeros((len(self.samples.classes), len(self.samples.decisions))) for _ in range(2))
        at = self.samples.truth, self.samples.decided
        np.add.at(totals, at, self.weight * self.costs)
        np.add.at(counts, at, self.weight)
        return totals, counts

    def expected(self) -> tuple[FloatArray, FloatArray] | None:
        """What was expected of each decision to cost and what it cost, (n,) each; None where nothing was expected.

        Of costs that differ by row both are above the least of the row.
        """
        if not self.samples.per_row:
            if self.probabilities is None:
                return None
            rows = match_labels(self.classes, self.samples.classes)
            costs = self.samples.values[:, self.samples.decided].T[:, rows] if -1 not in rows else None
            return None if costs is None else ((self.probabilities * costs).sum(axis=1), self.costs)
        if getattr(self.model, "cost_regression_", None) is None:
            return None
        decider, decisions = Decider(self.model), match_labels(self.samples.decisions, self.model.decisions_.tolist())
        if -1 in decisions:
            return None
        at = np.array(decisions)[self.samples.decided]
        answers = _in_parts(lambda rows: decider.answers(rows).expected, codes_of_rows(self.model, self._X))
        return answers[np.arange(len(at)), at], self.costs - self.table.min(axis=1)

    def label(self, code: int) -> str:
        """Name of a true class."""
        return label_text(self.samples.classes[code])

    def decision(self, code: int) -> str:
        """Name of a decision."""
        return label_text(self.samples.decisions[code])

    def worst(self, most: int) -> IntArray:
        """Numbers of the rows whose decisions cost most above the least cost of the row, the dearest first.

        Of equal ones those come first whose true class was held least likely.
        """
        avoidable = self.costs - self.table.min(axis=1)
        p = np.zeros(len(self)) if self.p_of_truth is None else self.p_of_truth
        order = np.lexsort((np.arange(len(self)), p, -self.costs))
        return np.asarray(order[(avoidable[order] > 0) & (self.weight[order] > 0)][:most])


def _in_parts(answer: Callable[[Any], Any], X: Any) -> Any:
    """What a model answers about rows, some after others where they are an array."""
    if not isinstance(X, np.ndarray) or len(X) <= _JUDGED_TOGETHER:
        return answer(X)
    return np.concatenate([answer(X[low : low + _JUDGED_TOGETHER]) for low in range(0, len(X), _JUDGED_TOGETHER)])
