"""The demonstration as data: methods blind to costs against those that know them, on a few fixed splits.

A machine reads the digits of amounts on cheques. Two stories of what mistakes cost:

"clerk"
    A misread digit costs `MISREAD`, whatever it is taken for; a digit may also be handed to a clerk, who costs 1.
    A decision more than there are classes, which a method blind to costs can only take through probabilities.
"too-high"
    A mistake costs the difference of the digits, and `TOO_HIGH` times as much when the digit was read too high: money
    paid out is harder to get back. Here the mistakes of one class cost very different amounts, and REBEL's loss spends
    its effort on the expensive ones: a method that estimates probabilities and decides by them is cheaper.
    MinRiskClassifier is one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, Labels
from minrisk.costs import CostMatrix, with_reject

__all__ = ["METHODS", "SPLITS", "STORIES", "Result", "Study", "cheque_costs", "compare", "conclusion", "load_cheques"]

STORIES = ("clerk", "too-high")
MISREAD, TOO_HIGH = 10.0, 5.0  # a misread digit where a clerk costs 1; factor of the costs of reading too high
SPLITS = 5  # halves for training and testing, drawn with the seeds 0, 1, ...
ROUNDS, FEW_ROUNDS = 200, 10  # of boosting: of every model, and of those that only compile its kernels


class Result(NamedTuple):
    """One method over all splits."""

    method: str
    trained_on: str  # "0/1" or "costs"
    error: FloatArray  # (splits,), share of digits misread
    referred: FloatArray  # (splits,), share of digits handed to the clerk
    cost: FloatArray  # (splits,), mean cost of a decision
    seconds: FloatArray  # (splits,), training and deciding


class Study(NamedTuple):
    """What the demonstration found."""

    results: list[Result]
    model: Any  # the MinRiskClassifier of the first split
    by_round: Any  # the cost-trained REBEL of the first split, which keeps its mean cost by round
    y_test: Labels  # test labels of the first split
    decided: Labels  # what `model` decided for them
    n_train: int
    cost: CostMatrix


class Method(NamedTuple):
    """How to get from training data to decisions."""

    name: str
    trained_on: str
    decide: Callable[[Any, Any, Any, CostMatrix, int], tuple[Labels, Any]]  # (X, y, X_test, cost, rounds)


def cheque_costs(story: str = "clerk") -> CostMatrix:
    """Return costs of one of the `STORIES`: rows are the digits written, columns the digits read.

    Raises
    ------
    ValueError
        If there is no such story.

    Examples
    --------
    >>> cost = cheque_costs("clerk")
    >>> cost.decisions[7:], cost.values[1, 7:]  # a 1 taken for a 7, for an 8, for a 9, handed to the clerk
    ((7, 8, 9, 'clerk'), array([10., 10., 10.,  1.]))
    >>> cost = cheque_costs("too-high")
    >>> cost.values[[7, 1], [1, 7]]  # a 7 read as 1, a 1 read as 7
    array([ 6., 30.])
    """
    digits = np.arange(10)
    if story == "clerk":
        return with_reject(CostMatrix(MISREAD * (1 - np.eye(10)), digits), 1.0, label="clerk")
    if story == "too-high":
        excess = digits[None, :] - digits[:, None]
        return CostMatrix(np.where(excess > 0, TOO_HIGH * excess, -excess), digits)
    raise ValueError(f"story must be one of {STORIES}, got {story!r}.")


def load_cheques() -> tuple[FloatArray, Labels]:
    """Load scikit-learn's 1797 handwritten digits of 8 x 8 pixels and what they show."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X, y


def compare(
    X: Any,
    y: Any,
    cost: CostMatrix,
    n_splits: int = SPLITS,
    rounds: int = ROUNDS,
    after_each: Callable[[], None] | None = None,
) -> Study:
    """Train every method on the same halves of the data and judge it on the others.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
    cost : CostMatrix
        Labelled, one row per class of y.
    n_splits : int
        How many halves, drawn by class with the seeds 0, 1, ....
    rounds : int
        Boosting rounds of REBEL, and of MinRiskClassifier at most; gradient boosting, with a tree per class in each,
        has half as many.
    after_each : callable, optional
        Called after each method on each split, to show progress.

    Returns
    -------
    Study
        Results in the order of `METHODS`. Every method had one thread, so that the times compare.
    """
    from sklearn.model_selection import train_test_split

    one_thread = import_module("threadpoolctl").threadpool_limits  # comes with scikit-learn
    _compile(X, y, cost)
    found: dict[str, list[tuple[float, ...]]] = {method.name: [] for method in METHODS}
    kept: dict[str, Any] = {}
    for seed in range(n_splits):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
        for method in METHODS:
            start = time.perf_counter()
            with one_thread(1, user_api="openmp"):  # OpenMP threads that wait for a busy core take ages
                decided, model = method.decide(X_train, y_train, X_test, cost, rounds)
            seconds = time.perf_counter() - start
            found[method.name].append((*_judge(y_test, decided, cost), seconds))
            if seed == 0 and method.name == SHOWN_METHOD:
                kept |= {"model": model, "y_test": y_test, "decided": decided, "n_train": len(y_train)}
            elif seed == 0 and method.name == METHOD_BY_ROUND:
                kept["by_round"] = model
            if after_each is not None:
                after_each()
    results = [Result(method.name, method.trained_on, *np.array(found[method.name]).T) for method in METHODS]
    return Study(results, cost=cost, **kept)


def conclusion(results: list[Result]) -> str:
    """Say which method decides most cheaply, and how sure that is; the first result is the one to compare with."""
    order = sorted(results, key=lambda result: float(result.cost.mean()))
    best, second = order[:2]
    blind = results[0]
    wins = int((best.cost < second.cost).sum())
    sentence = f"Cheapest: {best.method}, {best.cost.mean():.3f} per digit"
    if best is not blind:
        sentence += f", {100 * (1 - best.cost.mean() / blind.cost.mean()):.0f} % less than {blind.method}"
    return f"{sentence}; ahead of the second best on {wins} of {len(best.cost)} splits."


# -- methods: (X, y, X_test, cost, rounds) -> decisions, model --------------------------------------------------------
def _rebel(**parameters: Any) -> Any:
    from minrisk.algorithms import REBELClassifier

    return REBELClassifier(n_jobs=1, **parameters)


def _blind(X: Any, y: Any, X_test: Any, cost: CostMatrix, rounds: int) -> tuple[Labels, Any]:
    model = _rebel(n_estimators=rounds).fit(X, y)
    return model.predict(X_test), model


def _blind_then_costs(X: Any, y: Any, X_test: Any, cost: CostMatrix, rounds: int) -> tuple[Labels, Any]:
    model = _rebel(n_estimators=rounds).fit(X, y)
    return _cheapest(model, X_test, cost), model


def _trained_paper(X: Any, y: Any, X_test: Any, cost: CostMatrix, rounds: int) -> tuple[Labels, Any]:
    model = _rebel(cost=cost, n_estimators=rounds, offset="paper").fit(X, y)
    return model.predict(X_test), model


def _trained_tight(X: Any, y: Any, X_test: Any, cost: CostMatrix, rounds: int) -> tuple[Labels, Any]:
    model = _rebel(cost=cost, n_estimators=rounds, offset="tight").fit(X, y)
    return model.predict(X_test), model


def _gradient_boosting(X: Any, y: Any, X_test: Any, cost: CostMatrix, rounds: int) -> tuple[Labels, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=max(1, rounds // 2), random_state=0).fit(X, y)
    return _cheapest(model, X_test, cost), model


def _min_risk(X: Any, y: Any, X_test: Any, cost: CostMatrix, rounds: int) -> tuple[Labels, Any]:
    from minrisk.algorithms import MinRiskClassifier

    model = MinRiskClassifier(cost, n_estimators=rounds, n_jobs=1, random_state=0).fit(X, y)
    return model.predict(X_test), model


METHODS = (
    Method("REBEL blind to costs", "0/1", _blind),
    Method("REBEL blind, then costs applied to its probabilities", "0/1", _blind_then_costs),
    Method("scikit-learn's boosting, then costs applied likewise", "0/1", _gradient_boosting),
    Method("REBEL trained on the costs, offset of the paper", "costs", _trained_paper),
    Method("REBEL trained on the costs, tight offset", "costs", _trained_tight),
    Method("MinRiskClassifier", "0/1", _min_risk),
)
SHOWN_METHOD, METHOD_BY_ROUND = METHODS[-1].name, METHODS[-2].name  # the models that are kept


def _cheapest(model: Any, X: Any, cost: CostMatrix) -> Labels:
    """Make the decisions of least expected cost under the model's probabilities, (n,): digits and "clerk"."""
    from minrisk.estimator.decisions import apply_costs

    return apply_costs(model.predict_proba(X), model.classes_, cost)


def _judge(y: Labels, decided: Labels, cost: CostMatrix) -> tuple[float, float, float]:
    """Return the share misread, the share handed on and the mean cost."""
    from minrisk.metrics import expected_cost

    assert cost.classes is not None
    read = np.isin(decided.astype(str), np.array(cost.classes, dtype=str))
    wrong = read & (decided.astype(str) != y.astype(str))
    return float(wrong.mean()), float(1 - read.mean()), expected_cost(y, decided, cost)


def _compile(X: Any, y: Any, cost: CostMatrix) -> None:
    """Fit a few rounds of everything, so that no method is charged for compiling kernels or importing modules."""
    for method in METHODS:  # as many rows as later: few rows and many have kernels of their own
        method.decide(X[::2], y[::2], X[1::2], cost, FEW_ROUNDS)
