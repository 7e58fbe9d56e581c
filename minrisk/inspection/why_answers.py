"""What a classifier answers about rows of codes: scores, probabilities, expected costs, and which decision is best."""

from __future__ import annotations

from typing import Any, NamedTuple

from minrisk._typing import FloatArray, IntArray
from minrisk.costs.tables import avoidable
from minrisk.fitted import decides_by_any_costs, decision_costs
from minrisk.model.links import expected_costs

BY_COST, BY_SCORE = "expected cost", "score"  # by which decisions are taken


class Answers(NamedTuple):
    """About n rows.

    Attributes
    ----------
    scores : ndarray of shape (n, D)
        H(x); of the K classes where these give probabilities.
    probabilities : ndarray of shape (n, K) or None
    expected : ndarray of shape (n, D) or None
        Expected cost of each decision: as stated, or above the least of the row where costs differ by row.
    merits : ndarray of shape (n, D)
        The largest decides, the first of equal ones: scores, or what is saved, up to a factor.
    decided : ndarray of int of shape (n,)
        Numbers of the decisions.
    rule : str
        ``"expected cost"`` or ``"score"``: what decides.
    """

    scores: FloatArray
    probabilities: FloatArray | None
    expected: FloatArray | None
    merits: FloatArray
    decided: IntArray
    rule: str


class Decider:
    """A classifier and the costs that it decides by.

    Parameters
    ----------
    model : fitted classifier of minrisk
    cost : optional
        Costs to decide by instead of those of the fit, as `MinRiskClassifier.predict` takes them: a matrix, or an
        array of shape (1, K, D) with that of the row.

    Attributes
    ----------
    decisions : ndarray of shape (D,)
    as_stated : bool
        Whether expected costs are those that were stated; else the least of each row is taken off.

    Raises
    ------
    ValueError
        If `cost` is given and the model knows no others than those of its fit.
    """

    def __init__(self, model: Any, cost: Any = None) -> None:
        self.model, self.decisions = model, model.decisions_
        self._stated: FloatArray | None = None  # (K, D)
        self._avoidable: FloatArray | None = None  # (K, D), where `cost` is given
        if cost is not None:
            self._decide_by(cost)
        elif model.model_.link is not None and model.cost_ is not None:
            self._stated = model.cost_.values
        regression = getattr(model, "cost_regression_", None)
        self._unit = 1.0 if regression is None else float(regression.unit)
        self.as_stated = self._stated is not None

    def _decide_by(self, cost: Any) -> None:
        """Take costs that differ from those of the fit."""
        model = self.model
        if not decides_by_any_costs(model):
            raise ValueError(
                f"cost is for models that decide by any costs, but this {type(model).__name__} knows only those that "
                "it was fitted on: leave cost out, or fit MinRiskClassifier(surrogate='softmax')."
            )
        costs = decision_costs(model, cost, 1)
        self._stated, self.decisions = costs.values[0], costs.decisions
        self._avoidable = avoidable(self._stated) if costs.shared is None else costs.shared.avoidable

    def answers(self, codes: FloatArray) -> Answers:
        """About rows of codes (n, d)."""
        model = self.model
        X = model._categories.numbers(codes)
        scores = model._scores(X)
        link, temperature = model.model_.link, model.model_.temperature
        p = None if link is None else model.model_.probabilities(scores)
        if self._avoidable is not None:
            assert link is not None
            by = expected_costs(link, scores, temperature, self._avoidable)
        else:
            by = model._expected(X, scores)
        merits = scores if by is None else -by
        expected = None
        if p is not None and self._stated is not None and len(self._stated) == p.shape[1]:
            expected = p @ self._stated
        elif by is not None:
            expected = by * self._unit
        decided = merits.argmax(axis=1) if by is None else by.argmin(axis=1)
        return Answers(scores, p, expected, merits, decided, BY_SCORE if by is None else BY_COST)
