"""Decisions of whole default models beside LightGBM's, XGBoost's and CatBoost's defaults: batches, and one row.

Sets are letter and 100 000 x 30 made rows of 5 classes (`benchmarks.front`). Batches of 20 000 rows are decided in
turns, by one thread (processor seconds) and by two (wall time). One row comes as an array, a DataFrame of pandas and a
dict, to `predict`, in turns of 200 calls of one thread; medians. "all trees" are the scores of the whole model, "exact"
decisions stop where the remaining trees cannot change them, "0.5 %" where left-out rows say that this costs half a per
cent at most (`max_excess=0.005`); `changed` counts decisions that differ from those of all trees, `excess` is what they
cost more by the model's own probabilities. Targets, two threads: 5 microseconds a row on letter, 4 on the made set; one
row in 60 from an array, 150 from a DataFrame or a dict.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

# First: it says how OpenMP's threads wait before anything loads OpenMP
from benchmarks.time_to_error import warm_up  # isort: skip

import numpy as np

from benchmarks.common import installed, interleaved, is_quick, load, parser, save, seconds, show
from benchmarks.front import made

SETS = {"letter": 5.0, "made5": 4.0}  # and their targets, microseconds a row of two threads
ARRAY_TARGET, NAMED_TARGET = 60.0, 150.0  # microseconds of one row
EXCESS = 0.005
BATCH, TURN = 20_000, 200


def data_of(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test rows."""
    if name == "made5":
        X, y, X_test, y_test = made(5, 0, 100_000)
        return X.astype(np.float32).astype(float), y, X_test.astype(np.float32).astype(float), y_test
    data = load(name)
    X, y = data.X.astype(float), np.unique(data.y, return_inverse=True)[1]
    order = np.random.default_rng(0).permutation(len(y))[: 2000 if is_quick() else None]
    first, rest = np.split(order, [int(0.8 * len(order))])
    return X[first], y[first], X[rest], y[rest]


def models_of(X: np.ndarray, y: np.ndarray, jobs: int) -> dict[str, Any]:
    """Fitted with their defaults."""
    from minrisk import MinRiskClassifier

    rounds = 10 if is_quick() else None
    models: dict[str, Any] = {"MinRisk": MinRiskClassifier(random_state=0, n_jobs=jobs, n_estimators=rounds)}
    if installed("lightgbm"):
        from lightgbm import LGBMClassifier

        models["LightGBM"] = LGBMClassifier(n_jobs=jobs, verbose=-1, n_estimators=rounds or 100)
    if installed("xgboost"):
        from xgboost import XGBClassifier

        models["XGBoost"] = XGBClassifier(n_jobs=jobs, n_estimators=rounds or 100)
    if installed("catboost"):
        from catboost import CatBoostClassifier

        models["CatBoost"] = CatBoostClassifier(thread_count=jobs, verbose=0, iterations=rounds)
    for name, model in models.items():
        spent = seconds(partial(model.fit, X, y))
        print(f"{name}: fitted in {spent:.1f} s", flush=True)
    return models


def ways(models: dict[str, Any], jobs: int) -> dict[str, Callable[[Any], Any]]:
    """What decides, by name."""
    for name in ("MinRisk", "LightGBM", "XGBoost"):
        if name in models:
            models[name].set_params(n_jobs=jobs)
    ours = models["MinRisk"]
    decide: dict[str, Callable[[Any], Any]] = {
        "MinRisk, all trees": lambda X: ours.predict_proba(X).argmax(axis=1),
        "MinRisk, exact": ours.predict,
        "MinRisk, 0.5 %": partial(ours.predict, max_excess=EXCESS),
    }
    for name in ("LightGBM", "XGBoost"):
        if name in models:
            decide[name] = models[name].predict
    if "CatBoost" in models:
        decide["CatBoost"] = partial(models["CatBoost"].predict, thread_count=jobs)
    return decide


def processor_seconds(call: Callable[[], Any]) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun


def batches(name: str, models: dict[str, Any], X: np.ndarray, y: np.ndarray, repeats: int) -> list[dict[str, Any]]:
    """Of rows that are repeated up to a batch."""
    n = 600 if is_quick() else BATCH
    given = np.ascontiguousarray(np.concatenate([X] * (1 + n // len(X)))[:n])
    rows: list[dict[str, Any]] = []
    ours = models["MinRisk"]
    p, whole = ours.predict_proba(X), ours._decide(X, ours.model_.scores(X))  # ties are broken as `predict` does
    for jobs, clock in ((1, processor_seconds), (2, seconds)):
        decide = ways(models, jobs)
        medians = interleaved(
            {who: lambda call=call, clock=clock: clock(lambda: call(given)) for who, call in decide.items()}, repeats
        )
        for who, call in decide.items():
            decided = np.asarray(call(X)).reshape(-1).astype(int)
            mine, target = who.startswith("MinRisk"), SETS[name]
            row = {
                "set": name,
                "kind": "batch",
                "model": who,
                "rows": n,
                "threads": jobs,
                "microseconds_per_row": 1e6 * medians[who] / n,
                "clock": "processor" if clock is processor_seconds else "wall",
                "of_lightgbm_speed": medians.get("LightGBM", np.nan) / medians[who],
                "error_percent": 100 * np.mean(decided != y),
                "changed": int(np.sum(decided != whole)) if mine else "",
                "of": len(X) if mine else "",
                "excess_percent": "",
                "target": "",
                "meets": "",
            }
            if mine:
                lost = (p[np.arange(len(p)), whole] - p[np.arange(len(p)), decided]).sum()
                row["excess_percent"] = 100 * lost / max(1e-12, (1 - p.max(axis=1)).sum())
                if jobs == 2:
                    row["target"], row["meets"] = target, "yes" if row["microseconds_per_row"] <= target else "no"
            rows.append(row)
    return rows


def one_row(name: str, models: dict[str, Any], named: Any, X: np.ndarray, turns: int) -> list[dict[str, Any]]:
    """The median call; `named` is our model of named columns."""
    import pandas as pd

    columns = [f"column {j}" for j in range(X.shape[1])]
    arrays = [X[i : i + 1].copy() for i in range(min(TURN, len(X)))]
    frames = [pd.DataFrame(row, columns=columns) for row in arrays]
    dicts = [dict(zip(columns, row[0].tolist(), strict=True)) for row in arrays]
    calls: dict[tuple[str, str], tuple[Callable[[Any], Any], list[Any]]] = {
        (who, "array"): (call, arrays) for who, call in ways(models, 1).items()
    }
    for kind, given in (("DataFrame", frames), ("dict", dicts)):
        calls["MinRisk, exact", kind] = named.predict, given
        calls["MinRisk, 0.5 %", kind] = partial(named.predict, max_excess=EXCESS), given
    spent: dict[tuple[str, str], list[float]] = {key: [] for key in calls}
    for turn in range(turns + 1):
        for key, (call, given) in calls.items():
            found = [seconds(lambda row=row, call=call: call(row)) for row in given]
            if turn:  # the first is to warm up
                spent[key] += found
    rows = []
    for (who, kind), values in spent.items():
        median = 1e6 * float(np.median(values))
        target = (ARRAY_TARGET if kind == "array" else NAMED_TARGET) if who.startswith("MinRisk") else ""
        rows.append(
            {
                "set": name,
                "kind": f"one row, {kind}",
                "model": who,
                "rows": 1,
                "threads": 1,
                "microseconds_per_row": median,
                "clock": "wall",
                "of_lightgbm_speed": "",
                "error_percent": "",
                "changed": "",
                "of": "",
                "excess_percent": "",
                "target": target,
                "meets": "" if target == "" else "yes" if median <= target else "no",
            }
        )
    return rows


def with_names(model: Any, n_columns: int) -> Any:
    """The same model, as if it had been fitted to named columns: arrays and tables give the same model."""
    import copy

    named = copy.copy(model)
    named._column_names = tuple(f"column {j}" for j in range(n_columns))
    named.feature_names_in_ = np.array(named._column_names, dtype=object)
    return named


def main() -> None:
    options = parser(__doc__, "models of ten rounds on few rows")
    arguments = options.parse_args()
    warm_up(arguments.jobs)
    rows: list[dict[str, Any]] = []
    for name in SETS:
        X, y, X_test, y_test = data_of(name)
        models = models_of(X, y, arguments.jobs)
        named = with_names(models["MinRisk"], X.shape[1])
        rows += batches(name, models, X_test, y_test, 3 if arguments.quick else 9)
        rows += one_row(name, models, named, X_test, 1 if arguments.quick else 5)
        save("decide", rows)
    show(rows, ("set", "kind", "model", "threads", "microseconds_per_row", "error_percent", "changed", "meets"))


if __name__ == "__main__":
    main()
