"""The demonstration as data: methods blind to costs against training on costs, on a few fixed splits.

The story: a machine reads the digits of amounts on cheques. Reading a 2 as a 3 is wrong by one unit, reading a 1 as a
7 by six; and money paid out too much is harder to get back than money paid too little is to pay later. So a mistake
costs the difference of the digits, and `TOO_HIGH` times as much when the digit was read too high.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, Labels
from minrisk.costs import CostMatrix

__all__ = ["METHODS", "SPLITS", "Result", "Study", "cheque_costs", "compare", "conclusion", "load_cheques"]

TOO_HIGH = 5.0
SPLITS = 5  # halves for training and testing, drawn with the seeds 0, 1, ...
ROUNDS = 200


class Result(NamedTuple):
    """One method over all splits."""

    method: str
    trained_on: str  # "0/1" or "costs"
    error: FloatArray  # (splits,), share of wrong decisions
    cost: FloatArray  # (splits,), mean cost of a decision
    seconds: FloatArray  # (splits,), training and deciding


class Study(NamedTuple):
    """What the demonstration found."""

    results: list[Result]
    model: Any  # the cost-trained REBEL of the first split
    y_test: Labels  # test labels of the first split
    decided: Labels  # what `model` decided for them
    n_train: int
    cost: CostMatrix


class Method(NamedTuple):
    """How to get from training data to decisions."""

    name: str
    trained_on: str
    decide: Callable[[Any, Any, Any, CostMatrix, int], tuple[Labels, Any]]  # (X, y, X_test, cost, rounds)


def cheque_costs(too_high: float = TOO_HIGH) -> CostMatrix:
    """C_ij = i - j for a digit read too low (j < i), `too_high` (j - i) for one read too high.

    Examples
    --------
    >>> cost = cheque_costs()
    >>> cost.values[7, 1], cost.values[1, 7]  # a 7 read as 1, a 1 read as 7
    (np.float64(6.0), np.float64(30.0))
    """
    digits = np.arange(10.0)
    excess = digits[None, :] - digits[:, None]
    return CostMatrix(np.where(excess > 0, too_high * excess, -excess), classes=range(10))


def load_cheques() -> tuple[FloatArray, Labels]:
    """Scikit-learn's 1797 handwritten digits of 8 x 8 pixels and what they show."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X, y


def compare(
    X: Any, y: Any, cost: CostMatrix, n_splits: int = SPLITS, rounds: int = ROUNDS,
    after_each: Callable[[], None] | None = None,
) -> Study:  # fmt: skip
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
        Boosting rounds of REBEL, and the iterations of gradient boosting are half as many.
    after_each : callable, optional
        Called after each method on each split, to show progress.

    Every method has one thread, so that the times compare.

    Returns
    -------
    Study
        Results in the order of `METHODS`.
    """
    from sklearn.model_selection import train_test_split
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    _compile(X, y, cost)
    found: dict[str, list[tuple[float, float, float]]] = {method.name: [] for method in METHODS}
    kept: dict[str, Any] = {}
    for seed in range(n_splits):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
        for method in METHODS:
            start = time.perf_counter()
            with threadpool_limits(1, user_api="openmp"):  # OpenMP threads that wait for a busy core take ages
                decided, model = method.decide(X_train, y_train, X_test, cost, rounds)
            seconds = time.perf_counter() - start
            found[method.name].append((*_judge(y_test, decided, cost), seconds))
            if seed == 0 and method.name == SHOWN:
                kept = {"model": model, "y_test": y_test, "decided": decided, "n_train": len(y_train)}
            if after_each is not None:
                after_each()
    results = [Result(method.name, method.trained_on, *np.array(found[method.name]).T) for method in METHODS]
    return Study(results, cost=cost, **kept)


def conclusion(results: list[Result]) -> str:
    """Say which method decides most cheaply, and how sure that is."""
    order = sorted(results, key=lambda result: float(result.cost.mean()))
    best, second = order[:2]
    blind = results[0]
    wins = int((best.cost < second.cost).sum())
    splits = len(best.cost)
    saved = 1 - best.cost.mean() / blind.cost.mean() if blind.cost.mean() > 0 else 0.0
    sentence = f"Cheapest: {best.method}, {best.cost.mean():.3f} per digit"
    if best is not blind:
        sentence += f", {saved:.0%} less than {blind.method}"
    return f"{sentence}; it was ahead of the next ({second.method}) on {wins} of {splits} splits."


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


def _trained(X: Any, y: Any, X_test: Any, cost: CostMatrix, rounds: int) -> tuple[Labels, Any]:
    model = _rebel(cost=cost, n_estimators=rounds).fit(X, y)
    return model.predict(X_test), model


def _trained_tight(X: Any, y: Any, X_test: Any, cost: CostMatrix, rounds: int) -> tuple[Labels, Any]:
    model = _rebel(cost=cost, n_estimators=rounds, offset="tight").fit(X, y)
    return model.predict(X_test), model


def _gradient_boosting(X: Any, y: Any, X_test: Any, cost: CostMatrix, rounds: int) -> tuple[Labels, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=max(1, rounds // 2), random_state=0).fit(X, y)
    return _cheapest(model, X_test, cost), model


METHODS = (
    Method("REBEL, blind to costs", "0/1", _blind),
    Method("REBEL, blind, then costs on its probabilities", "0/1", _blind_then_costs),
    Method("REBEL, trained on the costs", "costs", _trained),
    Method("REBEL, trained on the costs, tight offset", "costs", _trained_tight),
    Method("Gradient boosting (scikit-learn), then costs on its probabilities", "0/1", _gradient_boosting),
)
SHOWN = METHODS[2].name  # the model that is kept


def _cheapest(model: Any, X: Any, cost: CostMatrix) -> Labels:
    """argmin_j sum_i p_i C_ij: the decision of least expected cost under the model's probabilities, (n,)."""
    assert cost.decisions is not None
    expected = model.predict_proba(X) @ cost.values
    return np.asarray(np.asarray(cost.decisions)[expected.argmin(axis=1)])


def _judge(y: Labels, decided: Labels, cost: CostMatrix) -> tuple[float, float]:
    """Error and mean cost."""
    from minrisk.metrics import expected_cost

    return float(np.mean(decided != y)), expected_cost(y, decided, cost)


def _compile(X: Any, y: Any, cost: CostMatrix) -> None:
    """One round of everything, so that no method is charged for compiling kernels or importing modules."""
    for method in METHODS:
        method.decide(X, y, X[:2], cost, 1)
