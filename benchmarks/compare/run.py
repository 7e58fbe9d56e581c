"""Fits, judged and written line by line. The files of results are the cache: what stands there is not done again."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.common import least_expected, lines_of, mean_cost, results, settings
from benchmarks.compare.data import KINDS, ORDER, SETS, WIDE, Split, split, table
from benchmarks.compare.methods import Method, Parameters, package_version

FIELDS = (
    "set",
    "split",
    "cost",
    "rule",
    "risk",
    "error",
    "logloss",
    "ece",
    "fit_s",
    "predict_s",
    "n_train",
    "K",
    "version",
    "commit",
)
Row = dict[str, Any]
deadline = float("inf")  # of time.monotonic(); no fit starts after it


class TimeUp(Exception):
    """The time limit has passed."""


# -- the cache -----------------------------------------------------------------------------------------------------
def folder() -> Path:
    """Of the lines that are there."""
    return results() / "compare"


def path_of(method: str, mode: str) -> Path:
    return folder() / f"{method}.{mode}.csv"


def append(path: Path, rows: list[Row], fields: Iterable[str]) -> None:
    """Add lines in one write, with a header where the file is new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists() or path.stat().st_size == 0
    if not new and not path.read_bytes().endswith(b"\n"):  # the last line was cut short
        with open(path, "a", newline="", encoding="utf-8") as file:
            file.write("\n")
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(fields), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(
            {key: f"{value:.6g}" if isinstance(value, float | np.floating) else value for key, value in row.items()}
            for row in rows
        )


def forget(path: Path, sets: Iterable[str], splits: int) -> None:
    """Drop the lines of these sets and splits, to make them again."""
    rows, gone = lines_of(path), set(sets)
    if not rows:
        return
    fields = list(rows[0])
    path.unlink()
    append(path, [row for row in rows if row["set"] not in gone or int(row["split"]) >= splits], fields)


@cache
def commit() -> str:
    return settings()["commit"]


# -- judging -------------------------------------------------------------------------------------------------------
def log_loss(P: np.ndarray, y: np.ndarray) -> float:
    """Mean -log p of the true class, p no less than the spacing of doubles at 1 (as scikit-learn does)."""
    return float(-np.log(np.maximum(P[np.arange(len(y)), y], np.finfo(float).eps)).mean())


def calibration_error(P: np.ndarray, y: np.ndarray, bins: int = 15) -> float:
    """ECE of the top label in bins of equal width."""
    top = P.max(axis=1)
    code = np.minimum((top * bins).astype(int), bins - 1)
    gap = np.bincount(code, top - (P.argmax(axis=1) == y), minlength=bins)
    return float(np.abs(gap).sum() / len(y))


def decisions_of(P: np.ndarray, cost: np.ndarray) -> dict[str, np.ndarray]:
    return {"argmax": P.argmax(axis=1), "expected": least_expected(P, cost)}


class Fit:
    """One model on some rows. Classes absent from them (folds of rare ones) get probability 0."""

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
    """A line per cost and rule. Times are those of one fit, and of predicting all test rows."""
    P = None
    base: Row = {
        "set": name,
        "split": seed,
        "fit_s": fit.seconds,
        "n_train": len(data.y),
        "K": data.n_classes,
        "version": package_version(method),
        "commit": commit(),
    }
    with threadpool_limits(jobs):
        start = time.perf_counter()
        if method.kind == "probability":
            P = fit.probabilities(data.X_test)
        else:
            chosen = {"own": fit.predict(data.X_test)}
        base["predict_s"] = time.perf_counter() - start
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
    """Splits outermost, small sets first; slow methods on wide sets after all else."""
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
    """All costs of one method on one split."""
    missing = [kind for kind in KINDS if any((name, str(seed), kind, rule) not in done for rule in rules(method))]
    if not missing:
        return
    data = split(name, seed)
    for kinds in [missing] if method.kind == "probability" else [[kind] for kind in missing]:
        cost = None if method.kind == "probability" else table(kinds[0], data.n_classes, name, seed)
        fit = Fit(method, data.X, data.y, cost, seed, jobs, {}, data.n_classes)
        rows = list(judged(fit, method, data, name, seed, kinds, jobs))
        append(path_of(method.name, mode), rows, FIELDS)
        risks = " ".join(f"{row['risk']:.4f}" for row in rows if row["rule"] != "argmax")
        print(f"{time.strftime('%H:%M:%S')} {seed} {name} {method.name} {fit.seconds:.1f}s {risks}", flush=True)
