"""One fold: an estimator trained on some rows, and what its decisions about others cost."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import suppress
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, IntArray, Labels
from minrisk.comparison.methods import EXPECTED, OWN
from minrisk.comparison.store import Outcome, write_fold
from minrisk.costs import CostMatrix
from minrisk.costs.labels import as_labels, listed, match_labels

REHEARSAL_ROUNDS = 2  # of a fit that is not timed, so that those which are do not load compiled code

_rehearsed: set[str] = set()  # methods and data sets that this process has fitted


class ComparedData(NamedTuple):
    """A data set."""

    name: str
    X: Any
    y: Labels
    cost: CostMatrix  # of the classes of y first
    costs_matter: bool  # not every mistake costs the same, or there are more decisions than classes
    constant_cost: float  # mean cost of the best decision that looks at no row, on all rows


class FoldTask(NamedTuple):
    """A fit that is to be done, and judged."""

    data: ComparedData
    train: IntArray
    test: IntArray
    estimator: Any
    ways: tuple[str, ...]  # to decide
    threads: int
    rehearsal: str  # what estimator and data set have in common with other tasks
    key: str
    settings: dict[str, Any]
    place: Path | None  # where finished folds are kept


class Failure(NamedTuple):
    """Why a fold could not be done."""

    reason: str
    trace: str


def drawn_folds(cv: Any, data: ComparedData, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Numbers of the training and test rows of each fold.

    Parameters
    ----------
    cv : int, splitter, or iterable of pairs (train, test)
        A number of folds is drawn by class, from shuffled rows.
    data : ComparedData
    seed : int

    Raises
    ------
    ValueError
        If there are no folds, or one lacks training or test rows or shares some.
    """
    from sklearn.model_selection import StratifiedKFold, check_cv

    n = len(data.y)
    if isinstance(cv, Integral):
        if isinstance(cv, bool) or cv < 2:
            raise ValueError(f"cv must be two folds or more, a splitter or pairs (train, test), got {cv!r}.")
        cv = StratifiedKFold(int(cv), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # folds may lack a class
        try:
            pairs = [tuple(pair) for pair in check_cv(cv, data.y, classifier=True).split(data.X, data.y)]
        except (TypeError, ValueError) as error:
            raise ValueError(f"cv does not fit the data set {data.name!r}: {error}") from None
    folds: list[tuple[IntArray, IntArray]] = []
    for pair in pairs:
        try:
            train, test = (np.arange(n)[np.asarray(rows)] for rows in pair)
        except (TypeError, ValueError, IndexError) as error:
            raise ValueError(f"cv must give pairs (train, test) of row numbers for {data.name!r}: {error}") from None
        if len(train) == 0 or len(test) == 0 or len(np.intersect1d(train, test)):
            raise ValueError(
                f"cv must give training and test rows for {data.name!r}, none of them both: fold {len(folds) + 1} does "
                "not."
            )
        folds.append((train, test))
    if not folds:
        raise ValueError(f"cv gives no folds for {data.name!r}.")
    return folds


def run_fold(task: FoldTask) -> Outcome | Failure:
    """Fit, judge, and keep what was measured; what goes wrong is told and not raised."""
    try:
        outcome = judged_fold(task)
    except Exception as error:  # of any estimator, which may raise what it likes
        return Failure(f"{type(error).__name__}: {error}", traceback.format_exc())
    if task.place is not None:
        write_fold(task.place, task.key, task.settings, outcome)
    return outcome


def judged_fold(task: FoldTask) -> Outcome:
    """Error, mean cost, log-loss and times of a fit, for each way to decide."""
    from threadpoolctl import threadpool_limits

    from minrisk.metrics import expected_cost

    data = task.data
    X, y = rows_of(data.X, task.train), data.y[task.train]
    X_test, y_test = rows_of(data.X, task.test), data.y[task.test]
    outcome: Outcome = {}
    with threadpool_limits(task.threads):
        _rehearse(task, X, y, X_test)
        start = time.perf_counter()
        model = task.estimator.fit(X, y)
        fit_seconds = time.perf_counter() - start
        model = task.estimator if model is None else model
        loss = log_loss(model, X_test, y_test) if hasattr(model, "predict_proba") else None
        for way, (decided, seconds) in _decisions(task, model, X_test):
            outcome[way] = {
                "error": float(np.mean([a != b for a, b in zip(y_test.tolist(), decided.tolist(), strict=True)])),
                "cost": float(expected_cost(y_test, decided, data.cost)),
                "log_loss": loss,
                "fit_seconds": fit_seconds,
                "predict_seconds": seconds,
            }
    return outcome


def _decisions(task: FoldTask, model: Any, X: Any) -> Iterator[tuple[str, tuple[Labels, float]]]:
    """Decisions about rows and the seconds that they took, by the way to decide; without one that cannot be."""
    for way in task.ways:
        if way == EXPECTED and not hasattr(model, "predict_proba"):
            continue
        start = time.perf_counter()
        if way == OWN:
            decided = np.asarray(model.predict(X)).reshape(-1)  # CatBoost answers in a column
        else:
            decided = least_expected(model, X, task.data.cost, np.unique(task.data.y))
        yield way, (decided, time.perf_counter() - start)


def least_expected(model: Any, X: Any, cost: CostMatrix, classes: Labels) -> Labels:
    """The decision of least expected cost by a model's probabilities, (n,); the first of several.

    Parameters
    ----------
    model : fitted estimator
        With `predict_proba` for `classes_`, which may lack some of the classes.
    X : array-like of n rows
    cost : CostMatrix
        Of all classes.
    classes : ndarray of shape (K,)
        All of them, sorted: decisions are given in their dtype, where that holds them.
    """
    from minrisk.costs.labels import label_array

    assert cost.classes is not None
    assert cost.decisions is not None
    rows = match_labels(as_labels(model.classes_), cost.classes)
    if -1 in rows:
        raise ValueError(f"classes_ holds {model.classes_[rows.index(-1)]!r}, which y does not.")
    P = np.asarray(model.predict_proba(X), dtype=np.float64)
    return np.asarray(label_array(cost.decisions, classes)[(P @ cost.values[rows]).argmin(axis=1)])


def log_loss(model: Any, X: Any, y: Labels) -> float:
    """Mean -log of the probability of the true class, which is taken to be 2^-52 at least.

    A class that no training row had has the probability 0. Rows are divided by their sums, which should be 1.
    """
    P: FloatArray = np.asarray(model.predict_proba(X), dtype=np.float64)
    classes, codes = np.unique(y, return_inverse=True)
    column = np.array(match_labels(as_labels(classes), as_labels(model.classes_)))[codes]
    true = np.where(column >= 0, P[np.arange(len(y)), np.maximum(column, 0)], 0.0)
    return float(-np.log(np.maximum(true / P.sum(axis=1), np.finfo(np.float64).eps)).mean())


def _rehearse(task: FoldTask, X: Any, y: Labels, X_test: Any) -> None:
    """A short fit, not timed, by each process: compiled code is then loaded, and what is made on first use is there."""
    from sklearn.base import clone

    if task.rehearsal in _rehearsed or "n_estimators" not in task.estimator.get_params(deep=False):
        return
    _rehearsed.add(task.rehearsal)
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        short = clone(task.estimator).set_params(n_estimators=REHEARSAL_ROUNDS)
        short.fit(X, y)
        short.predict(X_test)
        if hasattr(short, "predict_proba"):
            short.predict_proba(X_test)


def rows_of(X: Any, rows: IntArray) -> Any:
    """These rows of an array, a sparse matrix or a table of pandas, polars or Arrow."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "column_names") and hasattr(X, "take"):
        return X.take(rows)
    return X[rows]


def checked_labels(y: Any, name: str, n: int) -> Labels:
    """Labels of a data set, (n,): of two classes at least."""
    from minrisk.data.label_cells import check_labels

    labels = np.asarray(check_labels(y))
    if labels.ndim != 1 or len(labels) != n:
        raise ValueError(
            f"y of the data set {name!r} must have one label for each of the {n} rows of X, got shape {labels.shape}."
        )
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels):
        labels = labels.astype(str)
    found = np.unique(labels)
    if len(found) < 2:
        only = listed(found.tolist())
        raise ValueError(f"y of the data set {name!r} must have two classes or more, got only {only}.")
    return labels
