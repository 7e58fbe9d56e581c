"""What SHAP values explain beside scores: log-odds of two classes, and expected costs of decisions."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple, Protocol

import numpy as np

from minrisk._kernels import cost_lines, links
from minrisk._memory import points, read_only
from minrisk._typing import FloatArray, IntArray
from minrisk.costs.labels import as_labels, listed, match_labels
from minrisk.data.label_cells import check_labels
from minrisk.estimator import BoostedClassifier
from minrisk.fitted import decision_costs
from minrisk.inspection.shap_trees import gauss_legendre
from minrisk.model.links import LINK_KERNELS, expected_costs, log_probabilities

LINE_POINTS = 10  # of Gauss and Legendre on a panel: exact to float64 where log-odds change by 2


class Target(Protocol):
    """A function of scores, which may differ from row to row."""

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Of the scores of all rows (n, D): (n,)."""

    def of_rows(self, part: slice) -> Target:
        """The same function of some of the rows."""

    def mean_gradients(self, start: FloatArray, scores: FloatArray) -> FloatArray:
        """Mean of the gradient over the straight line from `start` (D,) to each row's scores (n, D): (n, D)."""


class LogOdds(NamedTuple):
    """log p_a - log p_b."""

    link: str
    temperature: float
    a: int
    b: int

    def __call__(self, scores: FloatArray) -> FloatArray:
        log_p = log_probabilities(self.link, scores, self.temperature)
        return np.asarray(log_p[:, self.a] - log_p[:, self.b])

    def of_rows(self, part: slice) -> LogOdds:
        """The same for every row."""
        return self

    def mean_gradients(self, start: FloatArray, scores: FloatArray) -> FloatArray:
        """Of scores / temperature, or of a difference of log-sigmoids, each a function of one score."""
        kind, slope = LINK_KERNELS[self.link]
        scale, found = slope / self.temperature, np.zeros(scores.shape)
        for k, sign in ((self.a, 1.0), (self.b, -1.0)):
            of_sigmoid = kind == links.SIGMOID
            found[:, k] += sign * scale * (_mean_slopes(scale * start[k], scale * scores[:, k]) if of_sigmoid else 1.0)
        return found


def _mean_slopes(start: float, end: FloatArray) -> FloatArray:
    """Mean of 1 - sigmoid between two numbers: (log sigmoid(end) - log sigmoid(start)) / (end - start)."""
    low, high = np.minimum(start, end), np.maximum(start, end)
    step = high - low
    below = np.exp(-np.logaddexp(0.0, low))  # 1 - sigmoid(low)
    far = np.logaddexp(0.0, -low) - np.logaddexp(0.0, -high)
    rise = np.where(step > 1.0, far, -np.log1p(below * np.expm1(-np.minimum(step, 1.0))))  # near: no digits are lost
    return np.asarray(np.where(step > 0.0, rise / np.where(step > 0.0, step, 1.0), below))


class ExpectedCost(NamedTuple):
    """sum_k p_k C_k of one decision for each row."""

    link: str
    temperature: float
    costs: FloatArray  # (n, K) of the row's decision, by the true class

    def __call__(self, scores: FloatArray) -> FloatArray:
        return np.asarray(expected_costs(self.link, scores, self.temperature, self.costs[:, :, None])[:, 0])

    def of_rows(self, part: slice) -> ExpectedCost:
        """Of the decisions about some of the rows."""
        return self._replace(costs=self.costs[part])

    def mean_gradients(self, start: FloatArray, scores: FloatArray) -> FloatArray:
        """By quadrature; see `minrisk._kernels.cost_lines`."""
        kind, slope = LINK_KERNELS[self.link]
        first, point, weight = gauss_legendre(LINE_POINTS)
        rule = point[first[LINE_POINTS] :], weight[first[LINE_POINTS] :]
        rows, out = [points(part) for part in (scores, self.costs)], np.empty(scores.shape)
        cost_lines.mean_gradients(kind, slope / self.temperature, read_only(start), *rows, *rule, out)
        return out


def log_odds(estimator: BoostedClassifier, decision: Any, against: Any) -> LogOdds:
    """Of two classes, by name; of two classes in all the second against the first by default.

    Raises
    ------
    ValueError
        If there is no such class, or the scores say nothing about probabilities.
    """
    link, classes = _link(estimator, "log_odds"), as_labels(estimator.classes_)
    if decision is None and against is None and len(classes) == 2:
        return LogOdds(link, estimator.model_.temperature, 1, 0)
    if decision is None or against is None:
        raise ValueError(
            f"of='log_odds' compares two classes: give both, such as decision={classes[-1]!r}, against={classes[0]!r}."
        )
    a, b = (_place(label, classes, name) for label, name in ((decision, "decision"), (against, "against")))
    return LogOdds(link, estimator.model_.temperature, a, b)


def expected_cost(
    estimator: BoostedClassifier, scores: FloatArray, decision: Any, cost: Any
) -> tuple[ExpectedCost, np.ndarray]:
    """Of one decision for all rows or for each, by default that of least expected cost; and these decisions (n,).

    Raises
    ------
    ValueError
        If there is no such decision, or the scores say nothing about probabilities.
    """
    link, temperature = _link(estimator, "cost"), estimator.model_.temperature
    costs, decisions = _stated_costs(estimator, cost, len(scores))
    chosen: IntArray
    if decision is None:
        least = costs.min(axis=2, keepdims=True)  # which costs whatever is decided: the smaller numbers round less
        chosen = expected_costs(link, scores, temperature, costs - least).argmin(axis=1)
    else:
        chosen = _places(decision, as_labels(decisions), len(scores))
    every = np.broadcast_to(costs, (len(scores), *costs.shape[1:]))
    of_chosen = np.take_along_axis(every, chosen[:, None, None], axis=2)[:, :, 0]
    return ExpectedCost(link, temperature, of_chosen), np.asarray(decisions[chosen])


def why_no_costs(estimator: BoostedClassifier) -> str | None:
    """Why neither log-odds nor expected costs are explained of a fitted classifier; None: they are."""
    if estimator.model_.link in LINK_KERNELS:
        return None
    return f"the scores of this {type(estimator).__name__} say nothing about probabilities that has a gradient"


def _link(estimator: BoostedClassifier, of: str) -> str:
    if (reason := why_no_costs(estimator)) is not None:
        raise ValueError(
            f"of={of!r} needs probabilities, but {reason}: use of='scores', or MinRiskClassifier, whose default "
            "surrogate estimates probabilities."
        )
    return str(estimator.model_.link)


def _stated_costs(estimator: BoostedClassifier, cost: Any, n: int) -> tuple[FloatArray, np.ndarray]:
    """Costs (1, K, D), or (n, K, D) with a matrix for each row, in the units they are stated in; and the decisions."""
    if cost is None:
        if estimator.cost_ is None:
            raise ValueError(
                "The fit had costs per row, which rows to be explained have not: give cost=, a matrix, or a matrix for "
                "each row, (n, K, D)."
            )
        return np.asarray(estimator.cost_.values, dtype=np.float64)[None], estimator.decisions_
    costs = decision_costs(estimator, cost, n)
    return costs.values, costs.decisions


def _places(decision: Any, labels: Any, n: int) -> IntArray:
    """The numbers of a decision for all rows, or of one for each, (n,)."""
    each = check_labels(decision, "decision", any_kind=True)
    if not isinstance(each, np.ndarray) or each.ndim == 0:
        one = each.item() if isinstance(each, np.ndarray) else each
        return np.full(n, _place(one, labels, "decision"))
    if each.shape != (n,):
        raise ValueError(
            f"decision must be one of {listed(labels)}, or one for each of the {n} rows of X, got shape {each.shape}."
        )
    given = list(each) if each.dtype.kind == "M" else each.tolist()  # dates as `as_labels` has them
    place = {label: _place(label, labels, "decision") for label in dict.fromkeys(given)}
    return np.array([place[label] for label in given], dtype=np.int64)


def _place(label: Any, labels: Any, name: str) -> int:
    """The number of a label."""
    place = match_labels([label], labels)[0] if isinstance(label, Hashable) else -1
    if place < 0:
        raise ValueError(f"{name} must be one of {listed(labels)}, got {label!r}.")
    return place
