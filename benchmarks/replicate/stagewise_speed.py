"""Speed of stage-wise MCBoost: coefficients beside totally corrective ones (Table IV), isolet, evaluation (Table VI).

``coefficients``: seconds of processor time in the steps, 500 rounds of stumps (``--rounds``), one split of Table IV's
protocol for letter and news; MultiBoost with the logistic loss and the tables' nu (``stagewise_nu.csv``). ``isolet``:
1000 rounds on a 75 % split. ``evaluation``: 1000 stumps on pendigits, per instance, in batches of 100 000 rows, one
thread, of a method for each row of Table VI.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.common import is_quick, load, parser, save, show
from benchmarks.replicate.stagewise import QUICK_CLASSES, TimedMultiBoost, TimedStagewise, Trial, chosen, made, split
from minrisk import StagewiseMCBoostClassifier

PAPER = {"letter": {"exponential": 74, "logistic": 52}, "news": {"exponential": 36, "logistic": 23}}
TARGETS = {"exponential": 20, "logistic": 10}
# Table VI's rows, microseconds
EVALUATION = {"mh": ("coding, single-label", 110), "ecc": ("coding, single-label", 110),
              "mo": ("coding, multi-label", 7900), "exponential": ("a matrix of coefficients", 60)}


def coefficients(sets: list[str], rounds: int) -> list[dict[str, Any]]:
    """Seconds of the steps of the three methods, and how many times faster the stage-wise ones are."""
    rows, nus = [], chosen()
    for name in sets:
        X, X_test, y, y_test = split(Trial(name, "exponential", classes=QUICK_CLASSES[-1] if is_quick() else 0))
        whole: Any = TimedMultiBoost(nu=nus[name], n_estimators=2).fit(X, y)  # kernels from their cache
        whole.set_params(n_estimators=rounds).fit(X, y)
        theirs = whole.timed.seconds
        for loss in ("exponential", "logistic"):
            one: Any = TimedStagewise(loss=loss, n_estimators=2).fit(X, y)
            one.set_params(n_estimators=rounds).fit(X, y)
            mine = one.timed.seconds
            rows.append({"what": f"coefficients, {name}, {loss}", "seconds": mine, "totally_corrective": theirs,
                         "factor": theirs / mine, "paper": PAPER[name][loss], "target": TARGETS[loss],
                         "error": 100 * (1 - one.score(X_test, y_test)),
                         "error_corrective": 100 * (1 - whole.score(X_test, y_test)),
                         "rounds": one.n_iter_, "rounds_corrective": whole.n_iter_})
            show(rows[-1:])
    return rows


def isolet(rounds: int, jobs: int) -> list[dict[str, Any]]:
    """Seconds of a fit, wall and processor."""
    data, rows = load("isolet"), []
    X, X_test, y, y_test = train_test_split(data.X, data.y, train_size=0.75, random_state=0)
    for loss in ("exponential", "logistic"):
        model = StagewiseMCBoostClassifier(loss=loss, n_estimators=2, n_jobs=jobs).fit(X, y)
        start, used = time.perf_counter(), time.process_time()
        model.set_params(n_estimators=rounds).fit(X, y)
        rows.append({"what": f"isolet, {rounds} rounds, {loss}", "seconds": time.perf_counter() - start,
                     "seconds_processor": time.process_time() - used, "target": 90,
                     "error": 100 * (1 - model.score(X_test, y_test)), "rounds": model.n_iter_, "threads": jobs})
        show(rows[-1:])
    return rows


def evaluation(rounds: int) -> list[dict[str, Any]]:
    """Microseconds per instance of each row of Table VI, the least of several batches, methods in turn."""
    data = load("pendigits")
    X, y, X_test, y_test = data.official()
    models = {method: made(Trial("pendigits", method, rounds=rounds)).fit(X, y) for method in EVALUATION}
    many = np.ascontiguousarray(X_test[np.arange(10_000 if is_quick() else 100_000) % len(X_test)])
    spent: dict[str, list[tuple[float, float]]] = {method: [] for method in models}
    for turn in range(10):
        for method, model in models.items():
            start, busy = time.perf_counter(), time.process_time()
            model.predict(many)
            if turn:  # the first one makes tables
                used = time.perf_counter() - start, time.process_time() - busy
                spent[method].append((1e6 * used[0] / len(many), 1e6 * used[1] / len(many)))
    return [{"what": f"evaluation, pendigits, {EVALUATION[method][0]}", "method": method,
             "microseconds": min(wall for wall, _ in spent[method]),
             "microseconds_processor": min(used for _, used in spent[method]), "paper": EVALUATION[method][1],
             "target": 2 if method == "exponential" else "", "error": 100 * (1 - model.score(X_test, y_test)),
             "rounds": model.n_iter_}
            for method, model in models.items()]


def main() -> None:
    options = parser(__doc__, "10 rounds on some rows of letter, isolet and pendigits")
    options.add_argument("--parts", nargs="+", choices=("coefficients", "isolet", "evaluation"),
                         default=["coefficients", "isolet", "evaluation"])
    options.add_argument("--sets", nargs="+", choices=("letter", "news"), default=["letter", "news"])
    options.add_argument("--rounds", type=int, default=500, help="of the comparison of coefficients")
    arguments = options.parse_args()
    rounds = 10 if arguments.quick else 1000
    if arguments.quick:
        arguments.sets = arguments.sets[:1]
    for part in arguments.parts:
        if part == "coefficients":
            rows = coefficients(arguments.sets, min(rounds, arguments.rounds))
        elif part == "isolet":
            rows = isolet(rounds, arguments.jobs)
        else:
            rows = evaluation(rounds)
        show(rows)
        save(f"stagewise_{part}", rows)


if __name__ == "__main__":
    main()
