"""Random search: 20 trials, 3-fold on the training rows, the same budget for every method.

Trial 0 is the defaults. For each cost (and each rule, of a probability method) the trial of least cross-validated risk
is fitted to all training rows; a probability method's folds serve all costs. The test rows take no part in any choice.
Trials are cached in ``results/compare/trials``, which is not kept.
"""

from __future__ import annotations

import json
import time
import zlib
from collections import defaultdict

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.common import is_quick, keep, kept, mean_cost
from benchmarks.compare import run
from benchmarks.compare.data import KINDS, Split, split, table
from benchmarks.compare.methods import Method, Parameters, draw
from benchmarks.compare.run import Fit, Row, decisions_of, judged, rules

TRIALS, FOLDS = 20, 3


def name_of(method: str) -> str:
    return f"compare/trials/{method}"


def out_of_fold(
    method: Method, data: Split, cost: np.ndarray | None, seed: int, jobs: int, parameters: Parameters
) -> np.ndarray:
    """Return probabilities (n, K), or decisions (n,) if a cost is given, of models that have not seen the row."""
    made = np.zeros((len(data.y), data.n_classes)) if cost is None else np.zeros(len(data.y), dtype=int)
    for rows, others in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(data.X, data.y):
        fit = Fit(method, data.X[rows], data.y[rows], cost, seed, jobs, parameters, data.n_classes)
        made[others] = fit.probabilities(data.X[others]) if cost is None else fit.predict(data.X[others])
    return made


def trials(method: Method, data: Split, name: str, seed: int, jobs: int) -> dict[tuple[str, str], dict[int, float]]:
    """Return the cross-validated risk of every trial by (cost, rule), from the cache or made now."""
    known: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for row in kept(name_of(method.name)):
        if row["set"] == name and row["split"] == str(seed):
            known[row["cost"], row["rule"]][int(row["trial"])] = float(row["risk"])
    tables = {kind: table(kind, data.n_classes, name, seed) for kind in KINDS}
    for trial in range(2 if is_quick() else TRIALS):
        parameters = draw(method.space, zlib.crc32(f"{name}/{seed}".encode()), trial)
        P = None
        for kind, cost in tables.items():
            if all(trial in known[kind, rule] for rule in rules(method)):
                continue
            if method.kind == "probability":
                P = out_of_fold(method, data, None, seed, jobs, parameters) if P is None else P
                chosen = decisions_of(P, cost)
            else:
                chosen = {"own": out_of_fold(method, data, cost, seed, jobs, parameters)}
            rows: list[Row] = []
            for rule, decided in chosen.items():
                known[kind, rule][trial] = mean_cost(cost, data.y, decided)
                rows.append(
                    {
                        "set": name,
                        "split": seed,
                        "trial": trial,
                        "cost": kind,
                        "rule": rule,
                        "risk": known[kind, rule][trial],
                    }
                )
            keep(name_of(method.name), *rows)
    return known


def tuned(method: Method, name: str, seed: int, jobs: int, done: set[tuple[str, ...]]) -> None:
    """Write all costs of one method on one split, each with the parameters chosen for it."""
    missing = [(kind, rule) for kind in KINDS for rule in rules(method) if (name, str(seed), kind, rule) not in done]
    if not missing:
        return
    data = split(name, seed)
    risks = trials(method, data, name, seed, jobs)
    fits: dict[int, Fit] = {}
    rows: list[Row] = []
    for kind, rule in missing:
        best = min(risks[kind, rule], key=lambda trial: (risks[kind, rule][trial], trial))
        parameters = draw(method.space, zlib.crc32(f"{name}/{seed}".encode()), best)
        if method.kind == "probability":
            if best not in fits:
                fits[best] = Fit(method, data.X, data.y, None, seed, jobs, parameters, data.n_classes)
            fit = fits[best]
        else:
            fit = Fit(
                method, data.X, data.y, table(kind, data.n_classes, name, seed), seed, jobs, parameters, data.n_classes
            )
        rows += [
            {**row, "cv_risk": risks[kind, rule][best], "parameters": json.dumps(parameters)}
            for row in judged(fit, method, data, name, seed, [kind], jobs)
            if row["rule"] == rule
        ]
    keep(run.name_of(method.name, "tuned"), *run.by_fit(rows), columns=run.columns("tuned"))
    print(f"{time.strftime('%H:%M:%S')} {seed} {name} {method.name} tuned", flush=True)
