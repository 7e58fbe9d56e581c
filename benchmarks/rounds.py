"""Seconds of a round as classes are added, and what they could be: bytes, adds and exponentials against the machine's.

One member, n = 20 000, d = 200, K = 10 to 1 000. Target: a round with 1 000 classes takes at most 4 times one with 10.
A round's parts are timed inside fits, each without the parts it calls; figures are medians over the rounds after the
first few. Beside them stands the least that the present algorithm touches, counted for the trees that were grown:

    gradients    per row and class: score and cost read, gradient and Hessian written; one exponential (0/1 costs)
    loss         per row and class: Hessian read
    sketch       per row and class: gradient and Hessian read; per row C columns written twice and read once
    growth       per row of a node and feature drawn: bin, row number and C columns read, C adds; per bin looked at: C
                 adds and two divisions (at most as many bins as the node has rows); parting the rows
    leaf sums    per row and class: gradient and Hessian read, two adds
    advance      per row and class: score read and written

(C = sketch + 1 columns of int64; all others are float64.) The machine's limits are measured here: a copy
of arrays as large as (n, K) float64 for passes over classes, as X in bins for growth; histogram adds of three columns
at random bins; divisions; the package's own exponential with nothing around it. The floor is the slowest of bytes,
exponentials and (adds plus divisions) at those limits and `share_of_limit` is floor / seconds: what is missing to 1
can be had without another algorithm. Adds of passes over classes run beside their bytes and have no limit of their
own. A copy also loads the lines that it overwrites, uncounted, so `advance`, which works in place, may exceed 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np

from benchmarks.common import parser, save, show
from benchmarks.time_to_error import SINGLE
from minrisk import MinRiskClassifier
from minrisk._kernels.elementary import exponential
from minrisk._kernels.histogram import gradient_histogram
from minrisk.boosting.monitors import ProgressBar
from minrisk.ensemble.defaults import feature_share
from minrisk.rows.growth import Growth
from minrisk.rows.rows import Rows

SIZE = {"n": 20_000, "d": 200}
CLASSES = (10, 30, 100, 300, 1000)
TARGET = 4.0
WARM = 4  # rounds left out
PARTS = {  # where a round's time goes: what is called, and by which name it is counted
    (Rows, "gradients"): "gradients",
    (Rows, "values"): "loss",
    (Rows, "weigh"): "loss",
    (Growth, "_prepare"): "sketch",
    (Growth, "grow"): "growth",
    (Growth, "leaf_sums"): "leaf sums",
    (Rows, "advance"): "advance",
}
NAMES = (*dict.fromkeys(PARTS.values()), "rest")


# -- timing the parts ----------------------------------------------------------------------------------------------
class Stopwatch:
    """Seconds by part; a part that calls another does not count the other's."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys(NAMES, 0.0)
        self._inner: list[float] = []

    def wrap(self, method: Callable[..., Any], name: str) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            self._inner.append(0.0)
            begun = time.perf_counter()
            try:
                return method(*arguments, **named)
            finally:
                whole = time.perf_counter() - begun
                self.spent[name] += whole - self._inner.pop()
                if self._inner:
                    self._inner[-1] += whole

        return timed


class Clock(ProgressBar):
    """In the place of the estimator's progress bar: draws nothing, notes seconds and node sizes of every round."""

    watch: ClassVar[Stopwatch]
    made: ClassVar[list[Clock]] = []

    counts_only = False  # it looks at the rows

    def __init__(self, enabled: bool) -> None:
        super().__init__(False)
        self.times: list[float] = []
        self.parts: list[dict[str, float]] = []
        self.trees: list[dict[str, int]] = []
        Clock.made.append(self)

    @property
    def watching(self) -> list[Clock]:
        return [self]

    def _start(self) -> None:
        Clock.watch.spent.update(dict.fromkeys(NAMES, 0.0))
        self._begun = time.perf_counter()

    def before_rounds(self, info: Any) -> None:
        self._start()

    def after_round(self, info: Any) -> bool:
        whole = time.perf_counter() - self._begun
        self.times.append(whole)
        self.parts.append({**Clock.watch.spent, "rest": whole - sum(Clock.watch.spent.values())})
        self.trees.append(tree_sizes(info.terms[0].learner, np.bincount(info.rows.leaf)))
        self._start()
        return False


def tree_sizes(tree: Any, leaf_rows: np.ndarray) -> dict[str, int]:
    """Rows of the nodes whose splits were searched, bins that these may occupy, rows of those that were split."""
    nodes = np.arange(len(tree.left))
    leaf = tree.left == nodes
    rows = np.where(leaf, leaf_rows[np.where(leaf, tree.vector, 0)], 0)
    for node in nodes[~leaf][::-1]:
        rows[node] = rows[tree.left[node]] + rows[tree.left[node] + 1]
    searched = rows[:-2] if len(nodes) > 2 else rows  # the last two nodes end the tree: nobody looks at them
    searched = searched[searched > 1]
    return {
        "nodes": len(searched),
        "rows": int(searched.sum()),
        "bins": int(np.minimum(searched, 256).sum()),
        "small_rows": int(searched[searched < 256].sum()),
        "split_rows": int(rows[~leaf].sum()),
    }


@contextmanager
def watched() -> Iterator[None]:
    Clock.watch = Stopwatch()
    with ExitStack() as stack:
        stack.enter_context(patch("minrisk.boosting.monitors.ProgressBar", Clock))
        for (owner, name), part in PARTS.items():
            stack.enter_context(patch.object(owner, name, Clock.watch.wrap(getattr(owner, name), part)))
        yield


def timed_rounds(K: int, jobs: int, n: int, d: int, rounds: int) -> tuple[dict[str, float], dict[str, float], Any]:
    """Median seconds by part ("round" is the whole), median counts of the trees, the estimator."""
    rng = np.random.default_rng(K)
    y = np.r_[np.arange(K), rng.integers(0, K, n - K)]
    X = (0.5 * rng.normal(size=(K, d))[y] + rng.normal(size=(n, d))).astype(np.float32)
    model = MinRiskClassifier(n_estimators=rounds, n_jobs=jobs, random_state=0, verbose=1, **SINGLE)
    with watched():
        model.fit(X, y)
    clock = Clock.made.pop()
    seconds = {name: float(np.median([parts[name] for parts in clock.parts[WARM:]])) for name in NAMES}
    seconds["round"] = float(np.median(clock.times[WARM:]))
    trees = {name: float(np.median([tree[name] for tree in clock.trees[WARM:]])) for name in clock.trees[0]}
    return seconds, trees, model


# -- counting ------------------------------------------------------------------------------------------------------
def counts(K: int, n: int, d: int, trees: dict[str, float], model: Any) -> dict[str, dict[str, float]]:
    """Bytes, adds, exponentials and divisions of each part in one round."""
    entries, columns, drawn = float(n * K), model.sketch + 1, round(feature_share(d) * d)
    looked_at, passed = trees["bins"] * drawn, trees["rows"] * drawn
    growth = passed * (1 + 4 + 8 * columns) + trees["small_rows"] * drawn * 5  # rows into bins; which bins there are
    growth += trees["rows"] * (4 + 16 * columns) + trees["split_rows"] * 9 + looked_at * 8 * columns
    made = {
        "gradients": {"bytes": 32 * entries, "exponentials": entries},
        "loss": {"bytes": 8 * entries, "adds": entries},
        "sketch": {"bytes": 16 * entries + 24 * n * columns, "adds": columns * entries},
        "growth": {"bytes": growth, "adds": columns * (passed + looked_at), "divisions": 2 * looked_at},
        "leaf sums": {"bytes": 16 * entries, "adds": 2 * entries},
        "advance": {"bytes": 16 * entries, "adds": entries},
    }
    nothing = {"bytes": 0.0, "adds": 0.0, "exponentials": 0.0, "divisions": 0.0}
    return {name: {**nothing, **made.get(name, {})} for name in NAMES}


# -- the machine's limits ------------------------------------------------------------------------------------------
def rate(tasks: list[Callable[[], Any]], amount: float, least: float) -> float:
    """Amount per second of all tasks side by side, each on its own thread; the best of several tries."""
    with ThreadPoolExecutor(len(tasks)) as pool:
        list(pool.map(lambda task: task(), tasks))
        best, begun = 0.0, time.perf_counter()
        while best == 0.0 or time.perf_counter() - begun < least:
            start = time.perf_counter()
            list(pool.map(lambda task: task(), tasks))
            best = max(best, len(tasks) * amount / (time.perf_counter() - start))
    return best


def repeated(function: Callable[..., Any], *arrays: np.ndarray, times: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(times):
            function(*arrays)

    return run


def bandwidth(size: int, jobs: int, least: float) -> float:
    """Bytes per second, read and written, of copies of `size` bytes, divided among the threads."""
    length = size // 8 // jobs
    times = max(1, (32 << 20) // size)
    arrays = [(np.ones(length), np.zeros(length)) for _ in range(jobs)]
    return rate([repeated(np.copyto, *pair, times=times) for pair in arrays], 16.0 * length * times, least)


def limits(jobs: int, quick: bool) -> dict[str, float]:
    """Adds, divisions, exponentials per second, in cache."""
    rng, least, length, times = np.random.default_rng(0), 0.05 if quick else 2.0, 4096, 1000
    floats = 1.0 + rng.random(length)
    bins, values = rng.integers(0, 256, (1, length)).astype(np.uint8), rng.integers(0, 9, (length, 3))
    first = np.zeros(1, dtype=np.int64)
    adds = [(bins, first, values, 0, length, np.zeros((1, 256, 3), dtype=np.int64)) for _ in range(jobs)]
    return {
        "adds": rate([repeated(gradient_histogram, *each, times=times) for each in adds], 3.0 * length * times, least),
        "divisions": rate(
            [repeated(np.divide, floats, floats, np.empty(length), times=times) for _ in range(jobs)],
            float(length * times),
            least,
        ),
        "exponentials": rate(
            [repeated(exponential, -floats, times=times) for _ in range(jobs)], float(length * times), least
        ),
    }


def floor_seconds(part: str, counted: dict[str, float], able: dict[str, float]) -> float:
    """The least time that the counts take at the limits."""
    working = counted["divisions"] / able["divisions"]
    if part == "growth":  # elsewhere adds are vectorised
        working += counted["adds"] / able["adds"]
    return max(counted["bytes"] / able["bytes"], working, counted["exponentials"] / able["exponentials"])


def roofline(K: int, jobs: int, able: dict[str, float], size: dict[str, int], quick: bool) -> list[dict[str, Any]]:
    """A row for every part and one for the round."""
    n, d = size["n"], size["d"]
    seconds, trees, model = timed_rounds(K, jobs, n, d, 10 if quick else 30)
    least = 0.05 if quick else 1.0
    speeds = {"classes": bandwidth(8 * n * K, jobs, least), "growth": bandwidth(n * d, jobs, least)}
    rows, floors = [], 0.0
    for part, counted in counts(K, n, d, trees, model).items():
        speed = speeds["growth" if part == "growth" else "classes"]
        floor = floor_seconds(part, counted, {**able, "bytes": speed})
        floors += floor
        rows.append(
            {
                "n": n,
                "d": d,
                "K": K,
                "threads": jobs,
                "part": part,
                "seconds": seconds[part],
                **counted,
                "bytes_per_second_at_most": speed,
                "floor_seconds": floor,
                "share_of_limit": floor / seconds[part] if seconds[part] > 0 else 0.0,
            }
        )
    whole = {name: sum(row[name] for row in rows) for name in ("bytes", "adds", "exponentials", "divisions")}
    rows.append(
        {
            **rows[-1],
            "part": "round",
            "seconds": seconds["round"],
            **whole,
            "bytes_per_second_at_most": "",
            "floor_seconds": floors,
            "share_of_limit": floors / seconds["round"],
        }
    )
    return rows


def main() -> None:
    options = parser(__doc__, "ten rounds on 5 000 made rows, with 4 and 12 classes")
    options.add_argument("--classes", type=int, nargs="+", default=None)
    arguments = options.parse_args()
    quick = arguments.quick
    size = {"n": 5_000, "d": 10} if quick else SIZE  # rounds of fewer rows are compiled whole
    classes = arguments.classes or ((4, 12) if quick else CLASSES)
    timed_rounds(min(classes), arguments.jobs, **size, rounds=6)  # compile
    rows: list[dict[str, Any]] = []
    machine = []
    for jobs in dict.fromkeys((1, arguments.jobs)):
        able = limits(jobs, quick)
        large = bandwidth((16 if quick else 256) << 20, jobs, 0.1 if quick else 3.0)
        machine.append(
            {
                "threads": jobs,
                **{f"{name}_per_second": value for name, value in able.items()},
                "copied_bytes_per_second": large,
            }
        )
        found = [row for K in classes for row in roofline(K, jobs, able, size, quick)]
        smallest = next(row["seconds"] for row in found if row["part"] == "round")
        for row in found:
            whole = row["part"] == "round"
            row["of_fewest_classes"] = row["seconds"] / smallest if whole else ""
            row["target"] = TARGET if whole and row["K"] == max(CLASSES) else ""
        rows += found
    save("rounds", rows)
    save("rounds_limits", machine)
    shown = (
        "threads",
        "K",
        "part",
        "seconds",
        "bytes",
        "adds",
        "exponentials",
        "divisions",
        "floor_seconds",
        "share_of_limit",
        "of_fewest_classes",
    )
    show(rows, shown)
    show(machine)


if __name__ == "__main__":
    main()
