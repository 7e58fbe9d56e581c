"""Prediction: 10 000 MNIST rows with 300 depth-4 trees, against HistGradientBoosting of equal test error.

Target: at least 5 times as many rows per second. scikit-learn's HistGradientBoosting (default 31 leaves) grows in steps
until its test error is at most ours, and is cut at the first such iteration: the smallest model that is as good. Both
have the same number of threads.
"""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # set before OpenMP loads: spinning threads starve two cores

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from benchmarks.common import interleaved, load, parser, save, seconds, show
from minrisk import REBELClassifier

STEP = 40


def equal_histogram_boosting(
    X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, error: float, most: int
) -> tuple[HistGradientBoostingClassifier, float]:
    """The shortest model of at most that error (or the longest tried), and its error."""
    step = min(STEP, most)
    model = HistGradientBoostingClassifier(warm_start=True, early_stopping=False, random_state=0, max_iter=step)
    errors: list[float] = []
    while True:
        model.fit(X, y)
        errors = [float(np.mean(decided != y_test)) for decided in model.staged_predict(X_test)]
        print(f"HistGradientBoosting, {len(errors)} iterations: error {100 * errors[-1]:.2f} %", flush=True)
        if min(errors) <= error or model.max_iter >= most:
            break
        model.max_iter += step
    enough = [t for t, found in enumerate(errors) if found <= error]
    length = 1 + (enough[0] if enough else int(np.argmin(errors)))
    model._predictors = model._predictors[:length]  # no public way to shorten it; predict() reads this list only
    return model, errors[length - 1]


def main() -> None:
    options = parser(__doc__, "30 rounds on some digits of MNIST")
    options.add_argument("--most", type=int, default=100, help="HistGradientBoosting iterations to try at most")
    arguments = options.parse_args()
    X, y, X_test, y_test = load("mnist").official()
    rounds, repeats, most = 300, 9, arguments.most
    if arguments.quick:
        rounds, repeats, most = 30, 3, 10
    rebel = REBELClassifier(n_estimators=rounds, max_depth=4, n_jobs=arguments.jobs).fit(X, y)
    error = float(np.mean(rebel.predict(X_test) != y_test))
    print(f"REBEL, {rebel.n_iter_} rounds: error {100 * error:.2f} %", flush=True)
    with threadpool_limits(arguments.jobs, user_api="openmp"):
        rival, rival_error = equal_histogram_boosting(X, y, X_test, y_test, error, most)
        rows: list[dict[str, Any]] = []
        for dtype in ("float64", "uint8"):
            given = X_test.astype(dtype)
            medians = interleaved(
                {
                    "REBEL": lambda given=given: seconds(lambda: rebel.predict(given)),
                    "HistGradientBoosting": lambda given=given: seconds(lambda: rival.predict(given)),
                },
                repeats,
            )
            ratio = medians["HistGradientBoosting"] / medians["REBEL"]
            models = (("REBEL", rebel.n_iter_, error), ("HistGradientBoosting", rival.n_iter_, rival_error))
            for name, length, found in models:
                spent = medians[name]
                rows.append(
                    {
                        "model": name,
                        "input": dtype,
                        "threads": arguments.jobs,
                        "rounds": length,
                        "error_percent": 100 * found,
                        "seconds": spent,
                        "rows_per_second": len(given) / spent,
                        "times_as_fast": ratio if name == "REBEL" else 1.0,
                        "target": 5.0 if name == "REBEL" else "",
                    }
                )
    save("predict", rows)
    show(rows)


if __name__ == "__main__":
    main()
