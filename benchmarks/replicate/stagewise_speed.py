"""Speed of stage-wise MCBoost: coefficients (Table IV, Figure 2), isolet, evaluation (Table VI), and how it grows.

``coefficients``: seconds of processor time in the steps, 500 rounds of stumps (``--rounds``), one split of Table IV's
protocol for letter and news; MultiBoost with the logistic loss and the tables' nu (``stagewise_nu.csv``). ``isolet``:
1000 rounds on a 75 % split. ``evaluation``: 1000 stumps on pendigits, per instance, in batches of 100 000 rows, one
thread, of a method for each row of Table VI. ``figure_2``: seconds in the steps after each number of rounds, by letters
of the alphabet. ``growth``: milliseconds of a round, one thread, on made-up data of m rows, d features and k classes,
one of which is varied, and the exponents of lines through their logarithms; the paper's formula for t rounds is
O(t d m log m + t d k m + t k^2.5), whose last term is the step.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.common import is_quick, load, parser, save, save_picture, show
from benchmarks.replicate.stagewise import QUICK_CLASSES, TimedMultiBoost, TimedStagewise, Trial, chosen, made, split
from minrisk import StagewiseMCBoostClassifier

PAPER = {"letter": {"exponential": 74, "logistic": 52}, "news": {"exponential": 36, "logistic": 23}}
TARGETS = {"exponential": 20, "logistic": 10}
# Table VI's rows, microseconds
EVALUATION = {
    "mh": ("coding, single-label", 110),
    "ecc": ("coding, single-label", 110),
    "mo": ("coding, multi-label", 7900),
    "exponential": ("a matrix of coefficients", 60),
}
ROUNDS = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # of Figure 2
TYPICAL = {"m": 4000, "d": 20, "k": 10}
GROWTH = {"m": (4000, 16_000, 64_000, 256_000), "d": (20, 80, 320, 1280), "k": (5, 10, 20, 40, 80, 160)}
PARTS = ("learner_ms", "step_ms")


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
            rows.append(
                {
                    "what": f"coefficients, {name}, {loss}",
                    "seconds": mine,
                    "totally_corrective": theirs,
                    "factor": theirs / mine,
                    "paper": PAPER[name][loss],
                    "target": TARGETS[loss],
                    "error": 100 * (1 - one.score(X_test, y_test)),
                    "error_corrective": 100 * (1 - whole.score(X_test, y_test)),
                    "rounds": one.n_iter_,
                    "rounds_corrective": whole.n_iter_,
                }
            )
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
        rows.append(
            {
                "what": f"isolet, {rounds} rounds, {loss}",
                "seconds": time.perf_counter() - start,
                "seconds_processor": time.process_time() - used,
                "target": 90,
                "error": 100 * (1 - model.score(X_test, y_test)),
                "rounds": model.n_iter_,
                "threads": jobs,
            }
        )
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
    return [
        {
            "what": f"evaluation, pendigits, {EVALUATION[method][0]}",
            "method": method,
            "microseconds": min(wall for wall, _ in spent[method]),
            "microseconds_processor": min(used for _, used in spent[method]),
            "paper": EVALUATION[method][1],
            "target": 2 if method == "exponential" else "",
            "error": 100 * (1 - model.score(X_test, y_test)),
            "rounds": model.n_iter_,
        }
        for method, model in models.items()
    ]


def figure_2(rounds: int) -> list[dict[str, Any]]:
    """Seconds of processor time in the steps after so many rounds, where there are as many, by classes and method."""
    rows, nu = [], chosen()["letter"]
    for classes in QUICK_CLASSES if is_quick() else (4, 8, 16, 26):
        X, _, y, _ = split(Trial("letter", "exponential", classes=classes))
        models: dict[str, Any] = {loss: TimedStagewise(loss=loss) for loss in ("exponential", "logistic")}
        models["MultiBoost"] = TimedMultiBoost(nu=nu)
        for method, model in models.items():
            model.set_params(n_estimators=2).fit(X, y)  # kernels from their cache
            spent = model.set_params(n_estimators=rounds).fit(X, y).timed.spent
            rows += [
                {"classes": classes, "method": method, "rounds": t, "seconds": spent[t]}
                for t in ROUNDS
                if t < len(spent)
            ]
    draw(rows)
    return rows


def draw(rows: list[dict[str, Any]]) -> None:
    """Figure 2: seconds in the steps against rounds, a picture for each number of classes."""
    import matplotlib.pyplot as plt

    numbers = sorted({row["classes"] for row in rows})
    figure, axes = plt.subplots(
        1, len(numbers), figsize=(3 * len(numbers), 3), sharey=True, squeeze=False, layout="constrained"
    )
    for axis, classes in zip(axes[0], numbers, strict=True):
        for method in ("exponential", "logistic", "MultiBoost"):
            mine = [row for row in rows if (row["classes"], row["method"]) == (classes, method)]
            axis.loglog([row["rounds"] for row in mine], [row["seconds"] for row in mine], "o-", ms=3, label=method)
        axis.set(title=f"{classes} classes", xlabel="rounds")
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("seconds in the steps")
    axes[0, 0].legend(frameon=False)
    save_picture(figure, "stagewise_figure_2")


def growth() -> list[dict[str, Any]]:
    """Milliseconds of a round, in the search for the learner and in the step, and the exponents of both."""
    rows: list[dict[str, Any]] = []
    for loss in ("exponential", "logistic"):
        for varied, values in GROWTH.items():
            values = values[:2] if is_quick() else values
            found: list[dict[str, Any]] = [{"loss": loss, "varied": varied, **TYPICAL, varied: at} for at in values]
            for row in found:
                row |= round_of(loss, row["m"], row["d"], row["k"])
                show([row])
            logs = np.log(values)
            ends = {part: float(np.polyfit(logs, np.log([row[part] for row in found]), 1)[0]) for part in PARTS}
            rows += [*found, {"loss": loss, "varied": f"exponent of {varied}", **dict.fromkeys(TYPICAL, ""), **ends}]
    return rows


def round_of(loss: str, m: int, d: int, k: int) -> dict[str, float]:
    """The least of three measurements of a round on points around centres that are drawn."""
    rng = np.random.default_rng(0)
    y = np.arange(m) % k
    X = rng.normal(size=(m, d)) + rng.normal(size=(k, d))[y]
    few, many = 3, 8 if is_quick() else 43
    model: Any = TimedStagewise(loss=loss, n_estimators=few).fit(X, y)
    parts = []
    for _ in range(3):
        spent = []
        for rounds in (few, many):
            start = time.process_time()
            model.set_params(n_estimators=rounds).fit(X, y)
            spent.append((time.process_time() - start, model.timed.seconds))
        whole, step = (1e3 * (after - before) / (many - few) for before, after in zip(*spent, strict=True))
        parts.append((whole - step, step))
    return dict(zip(PARTS, np.min(parts, axis=0).tolist(), strict=True))


def main() -> None:
    options = parser(__doc__, "10 rounds on some rows of letter, isolet and pendigits")
    names = ("coefficients", "isolet", "evaluation", "figure_2", "growth")
    options.add_argument("--parts", nargs="+", choices=names, default=list(names))
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
        elif part == "figure_2":
            rows = figure_2(min(rounds, arguments.rounds))
        elif part == "growth":
            rows = growth()
        else:
            rows = evaluation(rounds)
        show(rows)
        save(f"stagewise_{part}", rows)


if __name__ == "__main__":
    main()
