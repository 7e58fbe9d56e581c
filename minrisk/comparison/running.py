"""`compare`: every method on every fold of every data set, several at a time, from where it was interrupted."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack, closing
from itertools import chain
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from minrisk._utils.method_names import DEFAULT_METHODS
from minrisk.boosting.monitors import ProgressBar
from minrisk.comparison.folds import ComparedData, Failure, FoldTask, checked_labels, drawn_folds, run_fold
from minrisk.comparison.keys import described, digest, key_of
from minrisk.comparison.methods import AFTERWARDS, EXPECTED, ComparedMethod, MethodError, compared_methods
from minrisk.comparison.result import Comparison
from minrisk.comparison.store import Outcome, prepare_folder, read_fold
from minrisk.estimator.parameters import Choice, Number, Rule, Seed, Threads, Verbosity

RESULT_FORMAT = 1  # of kept folds: another number where what is measured changes


class FixedSeed(Rule):
    """A seed that is a number."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, Integral) and Seed().accepts(value)

    def plain(self, value: Any) -> Any:
        return int(value)

    def __str__(self) -> str:
        return "a whole number, so that folds are the same again"


OPTION_RULES: dict[str, Rule] = {  # of the options, in the order in which they are checked
    "n_jobs": Threads(),
    "threads": Number(int, 1),
    "random_state": FixedSeed(),
    "verbose": Verbosity(),
    "on_error": Choice(("raise", "skip")),
}


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
    cost : array-like of shape (K, D), DataFrame, dict, CSV file, CostMatrix or callable, optional
        What mistakes cost, for data sets that bring no costs of their own. A function of y makes the costs, as
        `minrisk.costs.balanced` does.
        Costs for each row are not taken. By default every mistake costs 1.
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

    *What is tested.* Methods are ranked in contests. With several data sets these are the contests, with the means over
    their folds, and the tests speak about other data sets like these.
    With one data set the contests are its folds. Their training rows overlap, so they are not independent: p-values are
    then too small, and speak about this data set only.
    Methods that lack folds have no part in ranks and tests.

    *Times.* Parameters `n_jobs` and `thread_count` of the methods are set to `threads`, and libraries under them are
    held to it. Fits that run side by side may share memory and take longer. Run ``minrisk warmup`` first, for times
    without compiling.

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
    _check_options(n_jobs=n_jobs, threads=threads, random_state=random_state, on_error=on_error, verbose=verbose)
    chosen = compared_methods(methods)
    data = _data_sets(X, y, cost)
    if not isinstance(cv, Integral) and not hasattr(cv, "split"):
        cv = list(cv)
        if len(data) > 1:
            raise ValueError("cv may be pairs of row numbers for one data set only: pass a number, or a splitter.")
    place = None if folder is None else prepare_folder(Path(folder))
    folds = {each.name: drawn_folds(cv, each, random_state) for each in data}
    tasks = list(_tasks(data, folds, chosen, int(random_state), int(threads), place))
    outcomes: list[Outcome | Failure | None] = [
        None if place is None else read_fold(place, task.key, task.ways) for _, _, task in tasks
    ]
    waiting = [at for at, outcome in enumerate(outcomes) if outcome is None]
    with ExitStack() as stack:
        bar = stack.enter_context(ProgressBar(bool(verbose)))
        bar.phase("comparing", len(tasks))
        for _ in range(len(tasks) - len(waiting)):
            bar.step()
        coming = stack.enter_context(closing(_run([tasks[at][2] for at in waiting], n_jobs)))
        for at, outcome in zip(waiting, coming, strict=True):
            outcomes[at] = outcome
            method, fold, task = tasks[at]
            if isinstance(outcome, Failure) and on_error == "raise":
                n_folds = len(folds[task.data.name])
                error = MethodError(
                    f"{method.name} failed on {task.data.name!r}, fold {fold} of {n_folds}: {outcome.reason}"
                )
                error.add_note(outcome.trace)
                raise error
            bar.step()
    return _result(data, folds, chosen, tasks, outcomes)


def _check_options(**options: Any) -> None:
    for name, rule in OPTION_RULES.items():
        if not rule.accepts(options[name]):
            raise ValueError(f"{name} must be {rule}, got {options[name]!r}.")


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
    from scipy.sparse import issparse

    from minrisk.costs.reading import as_cost, costs_per_row, is_uniform, stated_cost
    from minrisk.data.sparse_structure import sound_rows
    from minrisk.metrics import best_constant_cost

    X = np.asarray(X) if isinstance(X, list | tuple) else X
    if issparse(X):
        X = sound_rows(X, f"X of the data set {name!r}")
    n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    labels = checked_labels(y, name, n)
    classes = np.unique(labels)
    given = cost(labels) if callable(cost) else cost
    if costs_per_row(given, n, len(classes)) is not None:
        raise ValueError(f"cost of the data set {name!r} must be a table of classes by decisions, not one of each row.")
    try:
        matrix = as_cost(None, classes) if given is None else stated_cost(given, classes)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the costs of the data set {name!r} are not usable: {error}") from None
    constant = float(best_constant_cost(labels, matrix))
    return ComparedData(name, X, labels, matrix, not is_uniform(matrix), constant)


def _tasks(
    data: Sequence[ComparedData],
    folds: Mapping[str, list[Any]],
    chosen: Sequence[ComparedMethod],
    seed: int,
    threads: int,
    place: Path | None,
) -> Iterator[tuple[ComparedMethod, int, FoldTask]]:
    """Every fit, with its method and the number of its fold."""
    costs_matter = any(each.costs_matter for each in data)
    for each in data:
        content = digest([]) if place is None else [digest(each.X), digest(each.y)]
        parts = [(train, test, digest(train), digest(test)) for train, test in folds[each.name]]
        costs = described(each.cost)
        for method in chosen:
            ways = method.decides(costs_matter)
            estimator = method.estimator(each.cost if each.costs_matter else None, seed, threads)
            told = described(estimator)
            common = {
                "format": RESULT_FORMAT,
                "data": content,
                "cost": costs,
                "method": told,
                "threads": threads,
                "ways": list(ways),
            }
            rehearsal = key_of({"data": each.name, "method": told})
            for number, (train, test, trained_on, tested_on) in enumerate(parts, start=1):
                settings = {**common, "train": trained_on, "test": tested_on}
                yield (
                    method,
                    number,
                    FoldTask(each, train, test, estimator, ways, threads, rehearsal, key_of(settings), settings, place),
                )


def _run(tasks: Sequence[FoldTask], n_jobs: int | None) -> Generator[Outcome | Failure, None, None]:
    """Outcomes in the order of the tasks, as they come."""
    from joblib import Parallel, delayed, effective_n_jobs
    from sklearn.base import clone

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
            "lower. "
            f"{type(error).__name__}: {error}"
        ) from error
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that fits which still ran were given up is known
            coming.close()


def _result(
    data: Sequence[ComparedData],
    folds: Mapping[str, list[Any]],
    chosen: Sequence[ComparedMethod],
    tasks: Sequence[tuple[ComparedMethod, int, FoldTask]],
    outcomes: Sequence[Outcome | Failure | None],
) -> Comparison:
    """Rows of a table: a data set, a method as it decides, and a fold each."""
    records: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    for (method, fold, task), outcome in zip(tasks, outcomes, strict=True):
        where = {"data_set": task.data.name, "method": method.name, "fold": fold}
        if isinstance(outcome, Failure):
            failures.append({**where, "error": outcome.reason})
            continue
        assert outcome is not None
        for way, numbers in outcome.items():
            cost, unit = numbers["cost"], task.data.constant_cost or 1.0
            assert cost is not None  # which every fold has
            records.append(
                {
                    **where,
                    "method": method.name + (AFTERWARDS if way == EXPECTED else ""),
                    "error": numbers["error"],
                    "cost": cost,
                    "relative_cost": cost / unit,
                    "log_loss": numbers["log_loss"],
                    "fit_seconds": numbers["fit_seconds"],
                    "predict_seconds": numbers["predict_seconds"],
                    "n_train": len(task.train),
                    "n_test": len(task.test),
                }
            )
    there = {record["method"] for record in records}
    names = chain.from_iterable((method.name, method.name + AFTERWARDS) for method in chosen)
    sizes = {each.name: len(folds[each.name]) for each in data}
    return Comparison(records, [name for name in names if name in there], sizes, failures)
