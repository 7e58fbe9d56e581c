"""Fits, judged and written line by line. The files of results are the cache: what stands there is not done again.

A line of a file is a fit and a rule of decisions, with the risk and the error for each kind of cost.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.common import keep, kept, least_expected, mean_cost, results, save
from benchmarks.compare.data import KINDS, ORDER, SETS, WIDE, Split, split, table
from benchmarks.compare.methods import Method, Parameters, package_version

FACTS = ("set", "split", "rule", "logloss", "ece", "fit_s", "n_train", "version")  # whatever the cost
FIGURES = ("risk", "error", "cv_risk")  # by cost; the last one of tuned fits
Row = dict[str, Any]
deadline = float("inf")  # of time.monotonic(); no fit starts after it


class TimeUp(Exception):
    """The time limit has passed."""


# -- the cache -----------------------------------------------------------------------------------------------------
def name_of(method: str, mode: str) -> str:
    """Return the name that `kept`, `keep` and `save` know a file by."""
    return f"compare/{method}.{mode}"


def columns(mode: str) -> list[str]:
    figures = FIGURES if mode == "tuned" else FIGURES[:2]
    facts = (*FACTS, "parameters") if mode == "tuned" else FACTS
    return [*facts, *(f"{figure} {kind}" for figure in figures for kind in KINDS)]


def by_fit(rows: Iterable[Row]) -> list[Row]:
    """Put what a fit and a rule bring for each cost into one line."""
    made: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        facts = {name: value for name, value in row.items() if name not in (*FIGURES, "cost")}
        line = made.setdefault(tuple(facts.values()), facts)
        line |= {f"{figure} {row['cost']}": row[figure] for figure in FIGURES if figure in row}
    return list(made.values())


def rows_of(method: str, mode: str) -> list[Row]:
    """Return the lines of a file as rows of one cost each."""
    return [
        {**line, "cost": kind, **{figure: line.get(f"{figure} {kind}") for figure in FIGURES}}
        for line in kept(name_of(method, mode))
        for kind in KINDS
        if line[f"risk {kind}"]
    ]


def forget(name: str, sets: Iterable[str], splits: int) -> None:
    """Drop the lines of these sets and splits, to make them again."""
    gone = set(sets)
    left = [line for line in kept(name) if line["set"] not in gone or int(line["split"]) >= splits]
    if left:
        save(name, left)
    else:
        (results() / f"{name}.csv").unlink(missing_ok=True)


# -- judging -------------------------------------------------------------------------------------------------------
def log_loss(P: np.ndarray, y: np.ndarray) -> float:
    """Compute the mean -log p of the true class, p no less than the spacing of doubles at 1 (as scikit-learn does)."""
    return float(-np.log(np.maximum(P[np.arange(len(y)), y], np.finfo(float).eps)).mean())


def calibration_error(P: np.ndarray, y: np.ndarray, bins: int = 15) -> float:
    """Compute the ECE of the top label in bins of equal width."""
    top = P.max(axis=1)
    code = np.minimum((top * bins).astype(int), bins - 1)
    gap = np.bincount(code, top - (P.argmax(axis=1) == y), minlength=bins)
    return float(np.abs(gap).sum() / len(y))


def decisions_of(P: np.ndarray, cost: np.ndarray) -> dict[str, np.ndarray]:
    return {"argmax": P.argmax(axis=1), "expected": least_expected(P, cost)}


class Fit:
    """Hold one model of some rows. Classes absent from them (folds of rare ones) get probability 0."""

    def __init__(
        self,
        method: Method,
        X: np.ndarray,
        y: np.ndarray,
        cost: np.ndarray | None,
        seed: int,
        jobs: int,
        parameters: Parameters,
        n_classes: int,
    ) -> None:
        self.classes, codes = np.unique(y, return_inverse=True)
        self.n_classes = n_classes
        if time.monotonic() > deadline:
            raise TimeUp
        with threadpool_limits(jobs):
            start = time.perf_counter()
            self.model = method.make(seed, jobs, parameters)
            if cost is None:
                self.model.fit(X, codes)
            else:
                self.model.fit(X, codes, cost=np.ascontiguousarray(cost[np.ix_(self.classes, self.classes)]))
            self.seconds = time.perf_counter() - start

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes[np.asarray(self.model.predict(X)).ravel().astype(int)]

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        P = np.zeros((len(X), self.n_classes))
        P[:, self.classes] = self.model.predict_proba(X)
        return P


def judged(
    fit: Fit, method: Method, data: Split, name: str, seed: int, kinds: Iterable[str], jobs: int
) -> Iterator[Row]:
    """Yield a row for each cost and rule; seconds are those of one fit."""
    P = None
    base: Row = {
        "set": name,
        "split": seed,
        "fit_s": fit.seconds,
        "n_train": len(data.y),
        "version": package_version(method),
    }
    with threadpool_limits(jobs):
        if method.kind == "probability":
            P = fit.probabilities(data.X_test)
        else:
            chosen = {"own": fit.predict(data.X_test)}
        if P is None and hasattr(fit.model, "predict_proba"):
            with suppress(AttributeError):  # some have none where they are trained on costs
                P = fit.probabilities(data.X_test)
    base |= {
        "logloss": "" if P is None else log_loss(P, data.y_test),
        "ece": "" if P is None else calibration_error(P, data.y_test),
    }
    for kind in kinds:
        cost = table(kind, data.n_classes, name, seed)
        if method.kind == "probability":
            chosen = decisions_of(P, cost)
        for rule, decided in chosen.items():
            yield {
                **base,
                "cost": kind,
                "rule": rule,
                "risk": mean_cost(cost, data.y_test, decided),
                "error": float(np.mean(decided != data.y_test)),
            }


# -- the work ------------------------------------------------------------------------------------------------------
def tasks(sets: Iterable[str], methods: Iterable[Method], splits: int) -> list[tuple[int, str, Method]]:
    """Order the work: splits outermost, small sets first, slow methods on wide sets after all else."""
    order = {name: rank for rank, name in enumerate(ORDER)}
    everything = [
        (seed, name, method)
        for seed in range(splits)
        for name in sorted(sets, key=order.__getitem__)
        for method in methods
        if name in method.sets or name not in SETS
    ]
    return sorted(everything, key=lambda task: task[2].late and task[1] in WIDE)


def rules(method: Method) -> tuple[str, ...]:
    return ("argmax", "expected") if method.kind == "probability" else ("own",)


def default(method: Method, name: str, seed: int, jobs: int, done: set[tuple[str, ...]], mode: str) -> None:
    """Write all costs of one method on one split."""
    missing = [kind for kind in KINDS if any((name, str(seed), kind, rule) not in done for rule in rules(method))]
    if not missing:
        return
    data = split(name, seed)
    for kinds in [missing] if method.kind == "probability" else [[kind] for kind in missing]:
        cost = None if method.kind == "probability" else table(kinds[0], data.n_classes, name, seed)
        fit = Fit(method, data.X, data.y, cost, seed, jobs, {}, data.n_classes)
        rows = list(judged(fit, method, data, name, seed, kinds, jobs))
        keep(name_of(method.name, mode), *by_fit(rows), columns=columns(mode))
        risks = " ".join(f"{row['risk']:.4f}" for row in rows if row["rule"] != "argmax")
        print(f"{time.strftime('%H:%M:%S')} {seed} {name} {method.name} {fit.seconds:.1f}s {risks}", flush=True)
