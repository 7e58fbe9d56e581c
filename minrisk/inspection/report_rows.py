"""Judged rows: what each decision cost, what was expected, and means with standard errors.

Numbers for each row and class are made of some rows at a time; what is kept are a few numbers for each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk.costs import CostMatrix
from minrisk.costs.labels import label_text, match_labels, no_classes
from minrisk.costs.reading import check_sample_order, is_per_row_and_class
from minrisk.costs.units import LARGEST_FLOAT
from minrisk.inspection.shap_scores import EXPLAINED, why_no_values
from minrisk.inspection.shap_targets import why_no_costs
from minrisk.inspection.why_answers import Decider
from minrisk.inspection.why_columns import codes_of_rows, some_rows
from minrisk.metrics import Samples, as_samples, judging

_JUDGED_TOGETHER = 1 << 12  # rows that a model answers at a time
_LEAST_SHOWN = 1e-15  # of which a log-loss is taken
BINS = 10  # of probabilities


class MeanValue(NamedTuple):
    """A mean over rows and its standard error, sqrt(sum w^2 (v - mean)^2 n / (n - 1)) / sum w."""

    mean: float
    error: float


class BinnedProbabilities(NamedTuple):
    """How often classes were true, by the probability that the model gave them.

    Attributes
    ----------
    rows, given, true : ndarray of shape (K, `BINS`)
        Of each class of the model and each tenth of probability: rows, the sum of their probabilities, and how many of
        them were of the class.
    """

    rows: FloatArray
    given: FloatArray
    true: FloatArray

    @classmethod
    def of(cls, p: FloatArray, truth: IntArray) -> BinnedProbabilities:
        """Of probabilities (n, K) and the true classes (n,), -1 where the model does not know the class."""
        n_classes = p.shape[1]
        place = np.searchsorted(np.linspace(0.0, 1.0, BINS + 1)[1:-1], p) + BINS * np.arange(n_classes)
        size, known = n_classes * BINS, np.flatnonzero(truth >= 0)
        rows = np.bincount(place.ravel(), minlength=size)
        given = np.bincount(place.ravel(), weights=p.ravel(), minlength=size)
        true = np.bincount(place[known, truth[known]], minlength=size)
        return cls(*(part.reshape(n_classes, BINS).astype(np.float64) for part in (rows, given, true)))


class JudgedRows:
    """Rows with known classes, what was decided about them and what that cost.

    Parameters
    ----------
    model : fitted classifier of minrisk
    X : table, ndarray or sparse matrix of shape (n, d)
        What `rows_here` gives.
    y : array-like of shape (n,)
    cost : optional
        Costs to judge by, as in `minrisk.metrics.expected_cost`; None: those of the fit.
    sample_weight : array-like of shape (n,), optional

    Attributes
    ----------
    samples : Samples
        Truth and decisions as codes, their labels, and the costs.
    decided : ndarray of shape (n,)
        The decisions, as `predict` gives them.
    weight, costs, least : ndarray of shape (n,)
        How often each row counts, what its decision cost, and what the cheapest decision would have cost.
    is_right : ndarray of bool of shape (n,)
        Whether the decision is the true class.
    referrals : list of int
        Numbers of the decisions that are no classes, such as to refer a case.
    p_of_truth : ndarray of shape (n,) or None
        Probability that the model gave to the true class, 0 where it does not know the class; None without
        probabilities.
    binned : BinnedProbabilities or None
    expected : ndarray of shape (n,) or None
        What each decision was expected to cost: of costs that differ by row above the least of the row. None where
        nothing was expected.
    """

    def __init__(self, model: Any, X: Any, y: Any, cost: Any, sample_weight: Any) -> None:
        self.model, self.classes, self.X, self._cost = model, model.classes_.tolist(), X, cost
        if X.shape[0] == 0:
            raise ValueError("X must hold one row at least to be judged, got none.")
        check_sample_order(cost, X=X)
        self.decided = np.concatenate([model.predict(rows) for _, rows in _in_parts(X)])
        n = len(self.decided)
        given = model._judged_by() if cost is None else cost
        judged_by, labels = judging(given, model.classes_, n, model._names(), model.decisions_)
        self._zero_one = judged_by is None
        self.samples: Samples = _of_few_decisions(as_samples(y, self.decided, judged_by, labels, sample_weight), model)
        values, truth = self.samples.values, self.samples.truth
        self.weight: FloatArray = np.ones(n) if self.samples.weight is None else self.samples.weight
        if not values.max(initial=0.0) / LARGEST_FLOAT * self.weight.sum() < 1.0:
            raise ValueError("the costs of the rows sum to more than a number holds: give costs in another unit.")
        least = values.min(axis=1)
        self.costs: FloatArray = values[np.arange(n) if self.samples.per_row else truth, self.samples.decided]
        self.least: FloatArray = least if self.samples.per_row else least[truth]
        self.is_right = self._places_of_classes()[truth] == self.samples.decided
        self.referrals: list[int] = no_classes(self.samples.decisions, self.samples.classes)
        self.p_of_truth: FloatArray | None = None
        self.binned: BinnedProbabilities | None = None
        self.expected: FloatArray | None = None
        if hasattr(model, "predict_proba"):
            self._take_probabilities()
        if self.samples.per_row and getattr(model, "cost_regression_", None) is not None:
            self._take_learnt_costs()

    def _take_probabilities(self) -> None:
        """What is kept of the model's probabilities."""
        samples, known = self.samples, np.array(match_labels(self.samples.classes, self.classes))
        self.p_of_truth, parts = np.zeros(len(self)), list[BinnedProbabilities]()
        costs = None if samples.per_row else self._costs_of_model_classes()
        if costs is not None:
            self.expected = np.empty(len(self))
        for part, rows in _in_parts(self.X):
            p, at = self.model.predict_proba(rows), known[samples.truth[part]]
            self.p_of_truth[part] = np.where(at >= 0, p[np.arange(len(p)), at], 0.0)
            parts.append(BinnedProbabilities.of(p, at))
            if costs is not None and self.expected is not None:
                self.expected[part] = (p * costs[:, samples.decided[part]].T).sum(axis=1)
        self.binned = BinnedProbabilities(*(np.sum(found, axis=0) for found in zip(*parts, strict=True)))

    def _take_learnt_costs(self) -> None:
        """What the model had learnt about the costs of its decisions."""
        decider, places = Decider(self.model), match_labels(self.samples.decisions, self.model.decisions_.tolist())
        if -1 in places:
            return
        at, expected = np.array(places)[self.samples.decided], np.empty(len(self))
        for part, rows in _in_parts(self.X):
            answers = decider.answers(codes_of_rows(self.model, rows)).expected
            assert answers is not None
            expected[part] = answers[np.arange(len(answers)), at[part]]
        self.expected = expected

    def _costs_of_model_classes(self) -> FloatArray:
        """Costs (K, D) with a row for each class of the model, where all rows share them."""
        rows = np.array(match_labels(self.classes, self.samples.classes))
        costs: FloatArray = self.samples.values[rows]
        costs[rows < 0] = 1.0  # of 0/1 costs, which name classes that occur: whatever else is true, all are mistakes
        return costs

    def _places_of_classes(self) -> IntArray:
        """Of each true class the number of the decision for it, -1 where there is none."""
        return np.array(match_labels(self.samples.classes, self.samples.decisions))

    @property
    def is_wrong(self) -> np.ndarray:
        """Whether the decision is another class than the true one, (n,)."""
        return np.asarray(~self.is_right & ~np.isin(self.samples.decided, self.referrals))

    def __len__(self) -> int:
        return len(self.decided)

    def mean(self, values: FloatArray) -> MeanValue:
        """The weighted mean of a number for each row."""
        weight, n = self.weight / self.weight.max(), int(np.count_nonzero(self.weight))
        largest = float(np.abs(values).max(initial=0.0)) or 1.0  # so that squares of huge costs stay finite
        share = values / largest
        mean = float(weight @ share / weight.sum())
        spread = float(np.sqrt(((weight * (share - mean)) ** 2).sum() * n / max(1, n - 1)) / weight.sum())
        return MeanValue(largest * mean, largest * spread if n > 1 else np.nan)

    @property
    def class_weights(self) -> FloatArray:
        """Weight of the rows of each true class, (K,)."""
        mass = np.bincount(self.samples.truth, weights=self.weight, minlength=len(self.samples.classes))
        return np.asarray(mass, dtype=np.float64)

    @property
    def constant(self) -> int:
        """Number of the decision that, taken for all rows, costs least."""
        weight = self.weight if self.samples.per_row else self.class_weights
        return int((weight / weight.max() @ self.samples.values).argmin())

    @property
    def costs_of_constant(self) -> FloatArray:
        """What that decision would have cost each row, (n,)."""
        costs = self.samples.values[:, self.constant]
        return costs if self.samples.per_row else costs[self.samples.truth]

    @property
    def is_constant_right(self) -> np.ndarray:
        """Whether that decision is the true class, (n,)."""
        return np.asarray(self._places_of_classes()[self.samples.truth] == self.constant)

    @property
    def is_constant_wrong(self) -> np.ndarray:
        """Whether that decision is another class than the true one, (n,)."""
        return ~self.is_constant_right & (self.constant not in self.referrals)

    def log_loss(self) -> FloatArray | None:
        """-log p of the true class, (n,); None without probabilities."""
        if self.p_of_truth is None:
            return None
        return np.asarray(-np.log(np.maximum(self.p_of_truth, _LEAST_SHOWN)))

    def shares_log_loss(self) -> FloatArray:
        """-log of the share of the true class among these rows, (n,)."""
        mass = self.class_weights
        return np.asarray(-np.log(np.maximum(mass / mass.sum(), _LEAST_SHOWN))[self.samples.truth])

    def cells(self) -> tuple[FloatArray, FloatArray]:
        """Total cost and weight of the rows of each true class and decision, (K, D) each."""
        totals, counts = (np.zeros((len(self.samples.classes), len(self.samples.decisions))) for _ in range(2))
        at = self.samples.truth, self.samples.decided
        np.add.at(totals, at, self.weight * self.costs)
        np.add.at(counts, at, self.weight)
        return totals, counts

    @property
    def compared(self) -> FloatArray:
        """What decisions cost, to be compared with what was `expected`, (n,)."""
        return self.costs - self.least if self.samples.per_row else self.costs

    def probabilities(self, rows: IntArray) -> FloatArray:
        """Those of the model's classes for the rows with these numbers, (m, K)."""
        return np.asarray(self.model.predict_proba(some_rows(self.X, rows)))

    def why_not_explained(self) -> str | None:
        """Why it is not told what each column did to the expected costs of the decisions; None: it is."""
        if (reason := why_no_values(self.model)) is not None:
            return f"This is told of models that are {EXPLAINED}, but {reason}"
        if (reason := why_no_costs(self.model)) is not None:
            return f"This is told where the model gives probabilities, but {reason}"
        if self.samples.per_row and not is_per_row_and_class(self._cost):
            return (
                "This is told where costs are known of all classes, but these are known of each row's true class "
                "alone: judge by one matrix, or by a matrix for each row, of shape (n, K, D)"
            )
        return None

    def costs_of(self, rows: IntArray) -> Any:
        """Costs of decisions about the rows with these numbers, whatever is true of them, as `predict` takes costs."""
        if self._zero_one or self.samples.per_row:
            return None if self._zero_one else np.asarray(self._cost)[rows]
        samples = self.samples
        return CostMatrix(samples.values, samples.classes, samples.decisions, allow_diagonal=True)

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
        p = np.zeros(len(self)) if self.p_of_truth is None else self.p_of_truth
        order = np.lexsort((np.arange(len(self)), p, -self.costs))
        return np.asarray(order[(self.costs > self.least)[order] & (self.weight[order] > 0)][:most])


def _of_few_decisions(samples: Samples, model: Any) -> Samples:
    """Give samples a table of 0/1 costs of the model's decisions and the best constant one: labels may be many more."""
    if samples.table is not None:
        return samples
    known = np.array(match_labels(samples.decisions, model.decisions_.tolist())) >= 0
    known[samples.decided] = known[np.bincount(samples.truth, samples.weight).argmax()] = True
    kept, places = np.flatnonzero(known), np.cumsum(known) - 1
    return samples._replace(
        table=np.not_equal.outer(np.arange(len(samples.classes)), kept).astype(np.float64),
        decisions=tuple(samples.decisions[j] for j in kept),
        decided=places[samples.decided],
    )


def _in_parts(X: Any) -> Iterator[tuple[slice, Any]]:
    """Some rows after others."""
    n = X.shape[0]
    for low in range(0, n, _JUDGED_TOGETHER):
        part = slice(low, min(low + _JUDGED_TOGETHER, n))
        yield part, X if n <= _JUDGED_TOGETHER else some_rows(X, part)
