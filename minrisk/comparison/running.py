"""`compare`: every method on every fold of every data set, several at a time, from where it was interrupted."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing, suppress
from inspect import signature
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from minrisk._kernels.functions import log
from minrisk._typing import FloatArray, IntArray, Labels
from minrisk._utils.algebra import product
from minrisk._utils.method_names import DEFAULT_METHODS
from minrisk.boosting.monitors import ProgressBar
from minrisk.comparison.methods import (
    AFTERWARDS,
    EXPECTED,
    OWN,
    ComparedMethod,
    MethodError,
    compared_methods,
    last_step,
)
from minrisk.comparison.result import Comparison
from minrisk.comparison.store import Outcome, described, digest, key_of, prepare_folder, read_fold, write_fold
from minrisk.costs import CostMatrix
from minrisk.costs.labels import as_labels, label_array, listed, match_labels
from minrisk.costs.reading import CostsPerRow, costs_of_rows, is_uniform, stated_cost
from minrisk.data.labels import check_labels
from minrisk.data.sparse import sound_rows
from minrisk.decisions.deciding import apply_costs
from minrisk.estimator.parameters import LARGEST_SEED, Choice, Number, Rule, Threads, Verbosity, check_parameters
from minrisk.inspection.columns import some_rows
from minrisk.metrics import best_constant_cost, expected_cost

RESULT_FORMAT = 1  # of kept folds: another number where what is measured changes
REHEARSAL_ROUNDS = 2  # of a fit that is not timed, so that those which are do not import
OPTION_RULES: dict[str, Rule] = {
    "n_jobs": Threads(),
    "threads": Number(int, 1),
    "random_state": Number(int, 0, LARGEST_SEED),  # and never None, so that folds are the same again
    "verbose": Verbosity(),
    "on_error": Choice(("raise", "skip")),
}

_rehearsed: set[str] = set()  # methods and data sets that this process has fitted


class ComparedData(NamedTuple):
    """A data set."""

    name: str
    X: Any
    y: Labels
    cost: CostMatrix | CostsPerRow  # of the classes of y first
    costs_matter: bool  # not every mistake costs the same, or there are more decisions than classes
    constant_cost: float  # mean cost of the best decision that looks at no row, on all rows

    @property
    def differ(self) -> bool:
        """Tell whether each row has costs of its own."""
        return isinstance(self.cost, CostsPerRow)

    @property
    def are_known(self) -> bool:
        """Tell whether each row has a matrix of its own, so that costs are known when it is decided."""
        return isinstance(self.cost, CostsPerRow) and self.cost.values.ndim == 3

    @property
    def names_classes(self) -> bool:
        """Tell whether some decision that has costs is a class."""
        named = self.cost.columns if isinstance(self.cost, CostsPerRow) else self.cost._labels[1]
        return max(match_labels(as_labels(np.unique(self.y)), named)) >= 0

    def costs_of(self, rows: IntArray) -> CostMatrix | CostsPerRow:
        """Return the costs of some rows."""
        return self.cost.at(rows) if isinstance(self.cost, CostsPerRow) else self.cost

    def shared_cost(self, rows: IntArray) -> CostMatrix:
        """Return the costs that all rows share; if each has its own the means of each class over these."""
        if not isinstance(self.cost, CostsPerRow):
            return self.cost
        classes, codes = np.unique(self.y[rows], return_inverse=True)
        return self.cost.at(rows).class_means(as_labels(classes), codes)


class FoldTask(NamedTuple):
    """A fit that is to be done, and judged."""

    data: ComparedData
    method: str
    fold: int  # from 1 on
    train: IntArray
    test: IntArray
    estimator: Any
    ways: tuple[str, ...]  # to decide
    row_costs: str | None  # by what name `fit` is given the costs of its rows; None: it is given none
    threads: int
    settings: dict[str, Any]  # what identifies the fold
    place: Path | None  # where finished folds are kept

    @property
    def key(self) -> str:
        """Name of the fold's file."""
        return key_of(self.settings)


class Failure(NamedTuple):
    """Why a fold could not be done."""

    reason: str
    trace: str


def compare(
    X: Any,
    y: Any = None,
    cost: Any = None,
    methods: Any = DEFAULT_METHODS,
    cv: Any = 5,
    *,
    n_jobs: int | None = None,
    threads: int = 1,
    folder: Any = None,
    random_state: int = 0,
    on_error: str = "raise",
    verbose: int = 0,
) -> Comparison:
    """Compare methods by what their decisions cost, with ranks, tests, a picture and tables for a paper.

    Each method is trained on the training rows of each fold, and its decisions about the test rows are judged: errors,
    mean cost, log-loss (if there are probabilities) and the time to fit and to predict.
    All methods have the same folds, seed and number of threads.

    Parameters
    ----------
    X : array-like of shape (n, d), or mapping of str to (X, y) or (X, y, cost)
        The features of one data set, or several data sets by their names.
    y : array-like of shape (n,), optional
        Labels. They must be given unless X is a mapping.
    cost : array-like of shape (K, D), (n, D) or (n, K, D), DataFrame, dict, CSV file, CostMatrix or callable, optional
        What mistakes cost, for data sets that bring no costs of their own. A function of y makes the costs, as
        `minrisk.costs.balanced` does.
        Of (n, D), what each decision costs each row, methods see those of the training rows. Of (n, K, D), a matrix for
        each row, they also decide by those of the test rows. By default every mistake costs 1.
    methods : list or mapping of str to method, default=("minrisk", "rebel", "mcboost")
        Estimators, names of estimators, or functions that make an estimator for given costs.
    cv : int, splitter or iterable of pairs, default=5
        A number of folds, drawn by class from shuffled rows; a splitter of scikit-learn; or pairs (train, test) of row
        numbers, for one data set.
    n_jobs : int, optional
        Number of fits that run side by side in processes of their own; None means 1, and -1 as many as there are cores.
        Results do not depend on it.
    threads : int, default=1
        Threads of each fit and prediction, for all methods alike.
    folder : path, optional
        Where finished folds are kept, so that the same call goes on where it was interrupted.
        By default they are not kept.
    random_state : int, default=0
        Seed of the folds, and of every method whose `random_state` is None.
    on_error : {"raise", "skip"}, default="raise"
        What to do if a method fails: stop, or go on without this fold of it.
    verbose : int, default=0
        1 draws a progress bar (this needs rich).

    Returns
    -------
    Comparison
        The measurements, with methods for ranks, tests, tables and a picture.

    Raises
    ------
    ValueError
        If something that is given is not usable; the message says what was expected.
    TypeError
        If something that is given is of another kind.
    MethodError
        If a method fails and `on_error` is "raise", or if a process is ended by the system. What was finished is in the
        folder.
    OSError
        If the folder cannot be made or written to.

    Notes
    -----
    *Names of methods.* Names such as "piboost" are estimators of this package with their defaults; ``minrisk compare
    --help`` lists them. Names such as "sklearn.ensemble.RandomForestClassifier" are those of other packages. A function
    gets the `minrisk.CostMatrix`, or None if every mistake costs 1, and what it makes counts as trained on the costs.

    *What is trained on the costs.* An estimator with a parameter `cost`, as all of this package have, is given the
    costs of the data set, unless others are set, and decides by itself. This also holds within pipelines and searches.
    All others are trained for accuracy. If they have `predict_proba` and not every mistake costs 1, the same fit counts
    twice: as it decides by itself, and, under its name with " + costs", with the decision of least expected cost by its
    probabilities, argmin_j sum_k p_k C[k, j]. That is the method to beat, because it takes no further training.
    With "blind:rebel", or `minrisk.comparison.BlindToCosts`, an estimator of this package is trained without costs,
    too.

    *Costs for each row.* Decisions about a test row are judged by its own costs.
    If each row has a line of costs, (n, D), nobody knows those of a new row. Classifiers of this package, also at the
    end of a pipeline, are trained on the lines of the training rows. Other methods with a parameter `cost`, searches
    and `BAdaCostClassifier` are given the mean costs of each class over the training rows instead, by which the methods
    with " + costs" decide as well.
    If each row has a matrix, (n, K, D), `MinRiskClassifier` and the methods with " + costs" decide about each test row
    by its matrix, and `MinRiskClassifier` needs no costs to be fitted. For other methods matrices are as lines of
    costs: those of the true classes.
    The ``costs`` of a record say which of this was so: "each row" (trained on lines of costs), "known" (decided by
    matrices), "class means", "its own" (of costs that are set, or that a function makes) or "none".

    *What is tested.* Methods are ranked in contests. With several data sets these are the contests, with the means over
    their folds, and the tests speak about other data sets like these.
    With one data set the contests are its folds. Their training rows overlap, so they are not independent: p-values are
    then too small, and speak about this data set only.
    Methods that lack folds have no part in ranks and tests.

    *Times.* Parameters `n_jobs` and `thread_count` of the methods are set to `threads`, and libraries under them are
    held to it. Fits that run side by side may share memory and take longer.

    *The folder.* Each finished fold is a file, which is written as a whole. It is used again only if its data, costs,
    rows, method with all parameters, `threads` and versions are the same.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", Journal of Machine Learning
       Research 7 (2006), 1-30.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from minrisk import REBELClassifier, compare
    >>> X, y = load_iris(return_X_y=True)
    >>> costs = [[0, 1, 1], [1, 0, 1], [10, 10, 0]]  # class 2 must not be missed
    >>> result = compare(X, y, costs, [REBELClassifier(n_estimators=20), GaussianNB()], cv=3)
    >>> result.methods
    ['REBELClassifier', 'GaussianNB', 'GaussianNB + costs']
    >>> len(result.records)  # methods x folds
    9
    """
    given = {"n_jobs": n_jobs, "threads": threads, "random_state": random_state, "verbose": verbose}
    options = check_parameters("compare", {**given, "on_error": on_error}, OPTION_RULES)
    seed, threads = options["random_state"], options["threads"]
    chosen = compared_methods(methods)
    data = _data_sets(X, y, cost)
    if not isinstance(cv, Integral) and not hasattr(cv, "split"):
        cv = list(cv)
        if len(data) > 1:
            raise ValueError("cv may be pairs of row numbers for one data set only: pass a number, or a splitter.")
    place = None if folder is None else prepare_folder(Path(folder))
    folds = {each.name: drawn_folds(cv, each, seed) for each in data}
    tasks = list(_tasks(data, folds, chosen, seed, threads, place))
    outcomes: list[Outcome | Failure | None] = [
        None if place is None else read_fold(place, task.key, task.ways) for task in tasks
    ]
    waiting = [at for at, outcome in enumerate(outcomes) if outcome is None]
    with ProgressBar(bool(verbose)) as bar, closing(_run([tasks[at] for at in waiting], n_jobs)) as coming:
        bar.phase("comparing", len(tasks))
        for _ in range(len(tasks) - len(waiting)):
            bar.step()
        for at, outcome in zip(waiting, coming, strict=True):
            outcomes[at], task = outcome, tasks[at]
            if isinstance(outcome, Failure) and on_error == "raise":
                which = f"fold {task.fold} of {len(folds[task.data.name])}"
                error = MethodError(f"{task.method} failed on {task.data.name!r}, {which}: {outcome.reason}")
                error.add_note(outcome.trace)
                raise error
            bar.step()
    records: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    for task, found in zip(tasks, outcomes, strict=True):
        if isinstance(found, Failure):
            where = {"data_set": task.data.name, "method": task.method, "fold": task.fold}
            failures.append({**where, "error": found.reason})
        elif found is not None:
            records += _records(task, found)
    there = {record["method"] for record in records}
    names = [name for method in chosen for name in (method.name, method.name + AFTERWARDS) if name in there]
    return Comparison(records, names, {name: len(pairs) for name, pairs in folds.items()}, failures)


def _data_sets(X: Any, y: Any, cost: Any) -> list[ComparedData]:
    """Read the data sets that `compare` was given."""
    if not isinstance(X, Mapping):
        if y is None:
            raise ValueError("y must be given: labels of the rows of X, unless X is a mapping of data sets by name.")
        return [_data_set("data", X, y, cost)]
    if y is not None:
        raise ValueError("y must be left out where X is a mapping of data sets, which hold their own.")
    if not X:
        raise ValueError("X must hold one data set at least, got an empty mapping.")
    made = []
    for name, parts in X.items():
        if not isinstance(parts, tuple | list) or len(parts) not in (2, 3):
            raise ValueError(f"the data set {name!r} must be (X, y) or (X, y, cost), got {type(parts).__name__}.")
        made.append(_data_set(str(name), parts[0], parts[1], parts[2] if len(parts) == 3 else cost))
    return made


def _data_set(name: str, X: Any, y: Any, cost: Any) -> ComparedData:
    X = np.asarray(X) if isinstance(X, list | tuple) else X
    if issparse(X):
        X = sound_rows(X, f"X of the data set {name!r}")
    n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    labels = _labels(y, name, n)
    classes = np.unique(labels)
    given = cost(labels) if callable(cost) else cost
    try:
        read = costs_of_rows(given, n, classes, X=X, y=y)
        costs = stated_cost(None, classes) if read is None else read
        constant = float(best_constant_cost(labels, costs))
    except (TypeError, ValueError) as error:
        raise ValueError(f"the costs of the data set {name!r} are not usable: {error}") from None
    return ComparedData(name, X, labels, costs, isinstance(costs, CostsPerRow) or not is_uniform(costs), constant)


def _labels(y: Any, name: str, n: int) -> Labels:
    """Return the labels of a data set, (n,): of two classes at least."""
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


def drawn_folds(cv: Any, data: ComparedData, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Return the numbers of the training and test rows of each fold.

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


def _tasks(
    data: Sequence[ComparedData],
    folds: Mapping[str, list[Any]],
    chosen: Sequence[ComparedMethod],
    seed: int,
    threads: int,
    place: Path | None,
) -> Iterator[FoldTask]:
    """Yield every fit."""
    costs_matter = any(each.costs_matter for each in data)
    for each in data:
        content = digest([]) if place is None else [digest(each.X), digest(each.y)]
        parts = [(train, test, {"train": digest(train), "test": digest(test)}) for train, test in folds[each.name]]
        costs = described(each.cost)
        for method in chosen:
            ways, estimator, given = method.decides(costs_matter), None, None
            for fold, (train, test, rows) in enumerate(parts, start=1):
                if estimator is None or each.differ:
                    estimator, given = _made(method, each, train, seed, threads)
                    common = {
                        "format": RESULT_FORMAT,
                        "data": content,
                        "cost": costs,
                        "method": described(estimator),
                        "threads": threads,
                        "ways": list(ways),
                    }
                settings = {**common, **rows} | ({"row_costs": given} if each.differ else {})
                yield FoldTask(each, method.name, fold, train, test, estimator, ways, given, threads, settings, place)


def _made(
    method: ComparedMethod, data: ComparedData, train: IntArray, seed: int, threads: int
) -> tuple[Any, str | None]:
    """Return the estimator of a method, and by what name its `fit` is given costs of each row, if there are such."""
    if data.differ and method.row_costs is not None:
        return method.estimator(None, seed, threads), method.row_costs
    return method.estimator(data.shared_cost(train) if data.costs_matter else None, seed, threads), None


def _run(tasks: Sequence[FoldTask], n_jobs: int | None) -> Generator[Outcome | Failure, None, None]:
    """Yield outcomes in the order of the tasks, as they come."""
    fresh = (task._replace(estimator=clone(task.estimator)) for task in tasks)
    if effective_n_jobs(n_jobs) == 1 or len(tasks) < 2:
        yield from map(run_fold, fresh)
        return
    run: Callable[..., Any] = Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch="2 * n_jobs", batch_size=1)
    coming = run(delayed(run_fold)(task) for task in fresh)
    try:
        for outcome in coming:  # noqa: UP028 (`yield from` would close it first)
            yield outcome
    except BrokenExecutor as error:
        raise MethodError(
            "a process that fitted a method was ended from outside, or crashed; where memory is short, set n_jobs "
            f"lower. {type(error).__name__}: {error}"
        ) from error
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that fits which still ran were given up is known
            coming.close()


def _records(task: FoldTask, outcome: Outcome) -> Iterator[dict[str, Any]]:
    """Yield what a fold has shown of each way to decide."""
    for way, numbers in outcome.items():
        cost = numbers["cost"]
        assert cost is not None  # which every fold has
        yield {
            "data_set": task.data.name,
            "method": task.method + (AFTERWARDS if way == EXPECTED else ""),
            "fold": task.fold,
            "error": numbers["error"],
            "cost": cost,
            "relative_cost": cost / (task.data.constant_cost or 1.0),
            **({"costs": _costs_seen(task, way)} if task.data.differ else {}),
            **numbers,  # the others behind these
            "n_train": len(task.train),
            "n_test": len(task.test),
        }


def _costs_seen(task: FoldTask, way: str) -> str:
    """Say which costs of the rows had a part in decisions, of data whose rows have their own."""
    if task.row_costs is not None:
        return "known" if _decides_by_known(task) else "each row"
    if way == EXPECTED:
        return "known" if task.data.are_known else "class means"
    if EXPECTED in task.ways:
        return "none"
    means, parameters = task.data.shared_cost(task.train), task.estimator.get_params().values()
    return "class means" if any(isinstance(own, CostMatrix) and own == means for own in parameters) else "its own"


# -- one fold ----------------------------------------------------------------------------------------------------------
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
    """Return error, mean cost, log-loss and times of a fit, for each way to decide."""
    data = task.data
    X, y = some_rows(data.X, task.train), data.y[task.train]
    X_test, y_test = some_rows(data.X, task.test), data.y[task.test]
    given = {}
    if task.row_costs is not None and not _decides_by_known(task):
        given = {task.row_costs: data.costs_of(task.train)}
    outcome: Outcome = {}
    # Pipelines hand on what they are given; with metadata routing only what was asked for.
    routing = {} if task.row_costs is None else {"enable_metadata_routing": False}
    with threadpool_limits(task.threads), config_context(**routing):
        _rehearse(task, X, y, X_test, given)
        start = time.perf_counter()
        model = task.estimator.fit(X, y, **given)
        fit_seconds = time.perf_counter() - start
        model = task.estimator if model is None else model
        loss = log_loss(model, X_test, y_test) if hasattr(model, "predict_proba") else None
        for way, (decided, seconds) in _decisions(task, model, X_test):
            outcome[way] = {
                "error": float(np.mean([a != b for a, b in zip(y_test.tolist(), decided.tolist(), strict=True)])),
                "cost": float(expected_cost(y_test, decided, data.costs_of(task.test))),
                "log_loss": loss,
                "fit_seconds": fit_seconds,
                "predict_seconds": seconds,
            }
    if not outcome:
        raise ValueError("no decision that has costs is a class, and the method has no predict_proba to decide by.")
    return outcome


def _decisions(task: FoldTask, model: Any, X: Any) -> Iterator[tuple[str, tuple[Labels, float]]]:
    """Yield decisions about rows and the seconds that they took, by the way to decide; without one that cannot be."""
    data, cost = task.data, task.data.costs_of(task.test)
    shared = None if data.are_known else data.shared_cost(task.train)
    for way in task.ways:
        # Without costs in training decisions are classes, about which the costs may say nothing.
        if not (hasattr(model, "predict_proba") if way == EXPECTED else data.names_classes or len(task.ways) == 1):
            continue
        start = time.perf_counter()
        if way == OWN:
            known = {"cost": cost} if _decides_by_known(task) else {}
            decided = np.asarray(model.predict(X, **known)).reshape(-1)  # CatBoost answers in a column
        elif shared is None:
            decided = apply_costs(model.predict_proba(X), model.classes_, cost)
        else:
            decided = least_expected(model, X, shared, np.unique(data.y))
        yield way, (decided, time.perf_counter() - start)


def _decides_by_known(task: FoldTask) -> bool:
    """Return whether a method's own decisions are by the matrices of the rows, whatever it was trained on."""
    model = last_step(task.estimator)[1]
    by_any = task.row_costs is not None and "cost" in signature(model.predict).parameters
    return by_any and task.data.are_known and hasattr(model, "predict_proba")


def least_expected(model: Any, X: Any, cost: CostMatrix, classes: Labels) -> Labels:
    """Return the decision of least expected cost by a model's probabilities, (n,); the first of several.

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
    assert cost.classes is not None
    assert cost.decisions is not None
    rows = match_labels(as_labels(model.classes_), cost.classes)
    if -1 in rows:
        raise ValueError(f"classes_ holds {model.classes_[rows.index(-1)]!r}, which y does not.")
    P = np.asarray(model.predict_proba(X), dtype=np.float64)
    return np.asarray(label_array(cost.decisions, classes)[product(P, cost.values[rows]).argmin(axis=1)])


def log_loss(model: Any, X: Any, y: Labels) -> float:
    """Return the mean -log of the probability of the true class, which is taken to be 2^-52 at least.

    A class that no training row had has the probability 0. Rows are divided by their sums, which should be 1.
    """
    P: FloatArray = np.asarray(model.predict_proba(X), dtype=np.float64)
    classes, codes = np.unique(y, return_inverse=True)
    column = np.array(match_labels(as_labels(classes), as_labels(model.classes_)))[codes]
    true = np.where(column >= 0, P[np.arange(len(y)), np.maximum(column, 0)], 0.0)
    return float(-log(np.maximum(true / P.sum(axis=1), np.finfo(np.float64).eps)).mean())


def _rehearse(task: FoldTask, X: Any, y: Labels, X_test: Any, given: dict[str, Any]) -> None:
    """Fit briefly, not timed, in each process: what is imported or made on first use is then there."""
    what = key_of({"data": task.data.name, "method": task.settings["method"]})
    if what in _rehearsed or "n_estimators" not in task.estimator.get_params(deep=False):
        return
    _rehearsed.add(what)
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        short = clone(task.estimator).set_params(n_estimators=REHEARSAL_ROUNDS)
        short.fit(X, y, **given)
        short.predict(X_test)
        if hasattr(short, "predict_proba"):
            short.predict_proba(X_test)
