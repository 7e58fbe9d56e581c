"""Prediction with MinRisk: batches of letter at equal test error, and one row through the warm estimator.

Every model but LightGBM, which sets the error with its defaults, is cut at the first round that reaches it (found on
the test rows, for timing only, as in `time_to_error`); one that never does is timed at its longest and has `reached`
False. Batches are letter's 20 000 rows, repeats take turns; one row is a (1, d) float64 array given to `predict`, the
median of 2 000 calls in turns of 200. Targets: 20 times LightGBM's rows per second, no fewer than CatBoost's; one row
in 60 microseconds. "MinRisk, defaults, whole" is not cut: what a plain fit predicts with.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

# First: it says how OpenMP's threads wait before anything loads OpenMP
from benchmarks.time_to_error import (  # isort: skip
    MODULES,
    OURS,
    QUICK_LIMIT,
    SEARCHES,
    Data,
    data_of,
    lightgbm_default,
    make,
    reach,
    warm_up,
    without_lightgbm,
)

import numpy as np

from benchmarks.common import installed, interleaved, load, parser, save, seconds, show

FEW_MICROSECONDS = 60.0
TIMES_LIGHTGBM, TIMES_CATBOOST = 20.0, 1.0
TURN = 200  # calls


def models_of_equal_error(data: Data, arguments: Any) -> list[tuple[str, Any, bool]]:
    """Name, fitted model, whether it reached LightGBM's error."""
    jobs, quick = arguments.jobs, arguments.quick
    models = []
    if installed("lightgbm"):
        default, _, _, enough = lightgbm_default(data, jobs, quick)
        models = [("LightGBM", default, True)]
    else:
        enough = without_lightgbm(data, jobs)
    limit, ours, peers = (QUICK_LIMIT, 20, 20) if quick else (arguments.peer_limit, 400, 1000)
    for name in (name for name in (*OURS, *SEARCHES) if name in OURS or installed(MODULES[name])):
        found = reach(name, data, enough, jobs, limit, ours, peers)
        model = found.model
        if model is None:
            longest = len(found.search.mistakes)
            model = make(name, jobs, rounds=longest, **found.search.fixed).fit(data.X, data.y)
        models.append((name, model, found.rounds is not None))
        print(f"{name}: {found.rounds} rounds", flush=True)
    whole = make("MinRisk, defaults", jobs, **({"rounds": 20} if quick else {})).fit(data.X, data.y)
    print("all fitted; from here on the machine should be quiet", flush=True)
    return [*models, ("MinRisk, defaults, whole", whole, True)]


def rounds_of(model: Any) -> int:
    for name in ("n_iter_", "tree_count_", "n_estimators"):
        if getattr(model, name, None) is not None:
            return int(getattr(model, name))
    raise AttributeError("rounds")


def decide(model: Any, jobs: int) -> Callable[[np.ndarray], Any]:
    """`predict`, with CatBoost's threads, which are an argument there."""
    return partial(model.predict, thread_count=jobs) if hasattr(model, "tree_count_") else model.predict


def batches(
    models: list[tuple[str, Any, bool]], data: Data, X: np.ndarray, jobs: int, repeats: int
) -> list[dict[str, Any]]:
    rows = []
    for dtype in ("float64", "float32"):
        given = np.ascontiguousarray(X, dtype=dtype)
        medians = interleaved(
            {
                name: lambda model=model, given=given: seconds(lambda: decide(model, jobs)(given))
                for name, model, _ in models
            },
            repeats,
        )
        for name, model, reached in models:
            ours = name in OURS
            times = {peer: medians.get(peer, np.nan) / medians[name] for peer in ("LightGBM", "CatBoost")}
            met = times["LightGBM"] >= TIMES_LIGHTGBM and times["CatBoost"] >= TIMES_CATBOOST
            rows.append(
                {
                    "kind": "batch",
                    "model": name,
                    "input": dtype,
                    "rows": len(given),
                    "threads": jobs,
                    "rounds": rounds_of(model),
                    "reached": reached,
                    "error_percent": 100 * data.mistakes(model.predict(data.X_test)) / len(data.y_test),
                    "microseconds_per_row": 1e6 * medians[name] / len(given),
                    "of_lightgbm_speed": times["LightGBM"],
                    "of_catboost_speed": times["CatBoost"],
                    "target": f">= {TIMES_LIGHTGBM:g} and 1" if ours else "",
                    "meets": ("yes" if met else "no") if ours else "",
                }
            )
    return rows


def one_row(models: list[tuple[str, Any, bool]], data: Data, jobs: int, calls: int) -> list[dict[str, Any]]:
    X = np.ascontiguousarray(data.X_test, dtype=np.float64)
    singles = [X[i : i + 1].copy() for i in range(min(len(X), TURN))]
    spent: dict[str, list[float]] = {name: [] for name, _, _ in models}
    for _, (name, model, _) in itertools.product(range(calls // TURN), models):
        predict = decide(model, jobs)
        predict(singles[0])
        spent[name] += [seconds(lambda single=single, predict=predict: predict(single)) for single in singles]
    medians = {name: 1e6 * float(np.median(values)) for name, values in spent.items()}
    rows = []
    for name, model, reached in models:
        ours = name.startswith("MinRisk")
        rows.append(
            {
                "kind": "one row",
                "model": name,
                "input": "float64",
                "rows": 1,
                "threads": jobs,
                "rounds": rounds_of(model),
                "reached": reached,
                "error_percent": 100 * data.mistakes(model.predict(data.X_test)) / len(data.y_test),
                "microseconds_per_row": medians[name],
                "of_lightgbm_speed": medians.get("LightGBM", np.nan) / medians[name],
                "of_catboost_speed": medians.get("CatBoost", np.nan) / medians[name],
                "target": f"<= {FEW_MICROSECONDS:g} us" if ours else "",
                "meets": ("yes" if medians[name] <= FEW_MICROSECONDS else "no") if ours else "",
            }
        )
    return rows


def main() -> None:
    options = parser(__doc__, "models of 20 rounds on some rows of letter")
    options.add_argument("--peer-limit", type=float, default=900.0, help="seconds of a peer's long fit")
    arguments = options.parse_args()
    quick, jobs = arguments.quick, arguments.jobs
    warm_up(jobs)
    data = data_of("letter", Path(tempfile.gettempdir()), quick)
    models = models_of_equal_error(data, arguments)
    rows = batches(models, data, load("letter").X, jobs, 3 if quick else 9)
    rows += one_row(models, data, jobs, 2 * TURN if quick else 2_000)
    save("predict_flagship", rows)
    show(rows)


if __name__ == "__main__":
    main()
