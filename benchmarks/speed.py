"""Speed: seconds per round against LightGBM on MNIST, growth with n, d and K, and what a round allocates.

Targets on MNIST (60 000 x 784, 10 classes): a round with a stump at most 1/8, with a depth-4 tree at most 1/4, of one
LightGBM iteration (31 leaves, all 10 trees). Rounds are timed one by one inside the fits, which take turns; a fit's
figure is the median of its rounds, the table's the median over the turns.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np

from benchmarks.common import interleaved, load, parser, save, show, there
from minrisk import REBELClassifier
from minrisk.boosting.monitors import RiskHistory

BASE = {"n": 20_000, "d": 50, "K": 10}
GROWN = {"n": (10_000, 20_000, 40_000, 80_000, 160_000), "d": (25, 50, 100, 200, 400), "K": (2, 4, 8, 16, 32, 64, 100)}

QUICK_GROWN = {"n": (1_000, 2_000), "d": (10, 20), "K": (3, 6)}


class Clock(RiskHistory):
    """The estimator's own monitor, which also notes when each round ended and the most that it allocated."""

    made: ClassVar[list[Clock]] = []

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.times: list[float] = []
        self.peaks: list[int] = []
        self.allocated = 0
        Clock.made.append(self)

    def _note(self) -> None:
        self.times.append(time.perf_counter())
        if tracemalloc.is_tracing():
            self.peaks.append(tracemalloc.get_traced_memory()[1] - self.allocated)
            tracemalloc.reset_peak()
            self.allocated = tracemalloc.get_traced_memory()[0]

    def before_rounds(self, info: Any) -> None:
        super().before_rounds(info)
        self._note()

    def after_round(self, info: Any) -> bool:
        stop = super().after_round(info)
        self._note()
        return stop


def watched_fit(X: np.ndarray, y: np.ndarray, **parameters: Any) -> Clock:
    """The clock of one fit."""
    with patch("minrisk.boosting.monitors.RiskHistory", Clock):
        REBELClassifier(**parameters).fit(X, y)
    return Clock.made.pop()


def round_seconds(X: np.ndarray, y: np.ndarray, rounds: int, **parameters: Any) -> float:
    """Median seconds of a round, the first two left out."""
    return float(np.median(np.diff(watched_fit(X, y, n_estimators=rounds, **parameters).times)[2:]))


def lightgbm_seconds(data: Any, iterations: int, jobs: int) -> float:
    """Median seconds of an iteration, the first two left out."""
    import lightgbm

    times: list[float] = []
    parameters = {"objective": "multiclass", "num_class": 10, "num_threads": jobs, "verbose": -1}
    lightgbm.train(parameters, data, iterations, callbacks=[lambda _: times.append(time.perf_counter())])
    return float(np.median(np.diff(times)[1:]))


def against_lightgbm(quick: bool, jobs: int) -> list[dict[str, Any]]:
    import lightgbm

    X, y, _, _ = load("mnist").official()
    data = lightgbm.Dataset(X.astype(np.float32), y, params={"verbose": -1}).construct()
    rounds, repeats = (6, 1) if quick else (30, 7)
    medians = interleaved(
        {
            "LightGBM": lambda: lightgbm_seconds(data, rounds // 3 + 2, jobs),
            "stump": lambda: round_seconds(X, y, rounds, weak_learner="stump", n_jobs=jobs),
            "depth 4": lambda: round_seconds(X, y, rounds, max_depth=4, n_jobs=jobs),
        },
        repeats,
    )
    targets = {"LightGBM": "", "stump": 1 / 8, "depth 4": 1 / 4}
    return [
        {
            "learner": name,
            "threads": jobs,
            "repeats": repeats,
            "seconds": value,
            "of_lightgbm": value / medians["LightGBM"],
            "target": targets[name],
        }
        for name, value in medians.items()
    ]


def made(n: int, d: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal features; the class is a noisy function of a few of them, so that rounds keep finding something."""
    rng = np.random.default_rng(n + d + K)
    X = rng.normal(size=(n, d)).astype(np.float32)
    return X, np.asarray((X[:, :10] @ rng.normal(size=(10, K)) + rng.gumbel(size=(n, K))).argmax(axis=1))


def scaling(quick: bool) -> list[dict[str, Any]]:
    """One of n, d and K grown at a time; `exponent` is the slope of log seconds from the size before."""
    rounds, repeats = (6, 1) if quick else (22, 5)
    rows: list[dict[str, Any]] = []
    for name, values in GROWN.items():
        for depth in (1, 4):
            timed: dict[str, Callable[[], float]] = {}
            sizes = [{**BASE, name: value} for value in values]
            if quick:
                sizes = [{"n": 1_000, "d": 10, "K": 3, name: value} for value in QUICK_GROWN[name]]
            for jobs in (1, 2):
                for size in sizes:
                    X, y = made(**size)
                    timed[f"{size} {jobs}"] = lambda X=X, y=y, more={"max_depth": depth, "n_jobs": jobs}: round_seconds(
                        X, y, rounds, **more
                    )
            medians = interleaved(timed, repeats)
            for jobs in (1, 2):
                before: tuple[int, float] | None = None
                for size in sizes:
                    spent = medians[f"{size} {jobs}"]
                    slope = "" if before is None else np.log(spent / before[1]) / np.log(size[name] / before[0])
                    rows.append(
                        {"grown": name, **size, "depth": depth, "n_jobs": jobs, "seconds": spent, "exponent": slope}
                    )
                    before = size[name], spent
    return rows


def allocations(quick: bool) -> list[dict[str, Any]]:
    """The most that a round holds above what was there at its start, against one float64 (n, K) array.

    `tracemalloc` sees NumPy's arrays; the kernels only write into arrays they are given.
    """
    rows = []
    for depth in (1, 4):
        X, y = made(**({**BASE, "n": 5_000} if quick else {**BASE, "n": 100_000}))
        tracemalloc.start()
        peaks = watched_fit(X, y, n_estimators=8, max_depth=depth, n_jobs=2).peaks[2:]
        tracemalloc.stop()
        rows.append(
            {
                "n": len(y),
                "K": BASE["K"],
                "depth": depth,
                "round_peak_bytes": max(peaks),
                "n_K_bytes": len(y) * BASE["K"],
                "n_K_float64_bytes": 8 * len(y) * BASE["K"],
                "verdict": "below n x K" if max(peaks) < len(y) * BASE["K"] else "TOO MUCH",
            }
        )
    return rows


def main() -> None:
    options = parser(__doc__, "six rounds on some digits of MNIST and on made data of a few thousand rows")
    options.add_argument(
        "--part",
        nargs="+",
        default=["lightgbm", "scaling", "allocations"],
        choices=("lightgbm", "scaling", "allocations"),
    )
    arguments = options.parse_args()
    if "lightgbm" in arguments.part and not there({"LightGBM": "lightgbm"}):
        arguments.part.remove("lightgbm")
    for part in arguments.part:
        if part == "lightgbm":
            rows = against_lightgbm(arguments.quick, arguments.jobs)
        else:
            rows = scaling(arguments.quick) if part == "scaling" else allocations(arguments.quick)
        save(f"speed_{part}", rows)
        show(rows)


if __name__ == "__main__":
    main()
