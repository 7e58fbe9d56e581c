"""Threads: what a round takes on one thread and on two, and what it hands over.

Rounds of REBEL's stumps and of one member of `MinRiskClassifier`, sizes from 1 000 x 20 to 100 000 x 30 with 3 to 1 000
classes. Targets: on two threads no round takes longer than on one (beyond 5 %, or a twentieth of a millisecond), and a
member's round with 1 000 classes at most four times the fastest with 10.

Fits on one and on two threads take turns. They make the same rounds, so that each round is compared with itself: its
least wall and processor time over the turns, then the mean over the rounds after the first few. On a machine that
others use, the least wall time of two threads still says too much where a round is longer than others let two threads
run at once. Two figures do not depend on them: processor seconds of two threads over those of one, which is what
sharing takes, and the hand-overs of a round, with the share of the processor time of one thread that is spent in tasks
which threads share: the rest is what no further thread can shorten (`at_best` is the wall time of two threads over that
of one that follows from both). A round is slower on two threads where both the wall and the processor time say so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np

from benchmarks.common import parser, save, show
from minrisk import MinRiskClassifier, REBELClassifier
from minrisk._utils.workers import Workers
from minrisk.boosting.monitors import ProgressBar

SIZES = ((1_000, 20), (4_000, 20), (20_000, 20), (20_000, 200), (100_000, 30))
N_CLASSES = (3, 10, 100, 1000)
QUICK_SIZES, QUICK_CLASSES = ((1_000, 10), (5_000, 10)), (3, 6)
MOST_ENTRIES = 20_000_000  # rows times classes: 0.5 GB of scores, gradients and Hessians
LEARNERS: dict[str, Callable[..., Any]] = {
    "stump": lambda **how: REBELClassifier(max_depth=1, **how),
    "vector tree": lambda **how: MinRiskClassifier(cv=1, random_state=0, **how),
}
FIRST_ROUNDS = 3  # left out
SLOWER, SLOWER_SECONDS = 1.05, 5e-5  # that two threads may be
CLASS_TARGET = 4.0
SHOWN = ("learner", "n", "d", "K", "seconds_1", "wall_ratio", "processor_ratio", "handed_over", "at_best", "verdict")


class Counter:
    """Counts what `Workers` hand over, and sums the processor time of the tasks."""

    def __init__(self) -> None:
        self.shared, self.tasks, self.seconds = 0, 0, 0.0
        self._guard = threading.Lock()

    def counted(self, map_tasks: Callable[..., Any]) -> Callable[..., Any]:
        """`Workers.map` that counts."""

        def counting(workers: Workers, function: Callable[[Any], Any], tasks: Iterable[Any]) -> Any:
            tasks = list(tasks)
            if len(tasks) < 2 or workers.n_free == 1:
                return map_tasks(workers, function, tasks)
            self.shared, self.tasks = self.shared + 1, self.tasks + len(tasks)

            def timed(task: Any) -> Any:
                begun = time.thread_time()
                try:
                    return function(task)
                finally:
                    with self._guard:
                        self.seconds += time.thread_time() - begun

            return map_tasks(workers, timed, tasks)

        return counting


class RoundTimes(ProgressBar):
    """In the place of the estimator's progress bar: draws nothing, notes what every round took."""

    counter: ClassVar[Counter]
    made: ClassVar[list[RoundTimes]] = []
    counts_only = False  # rounds are made one by one

    def __init__(self, enabled: bool) -> None:
        super().__init__(False)
        self.rounds: list[tuple[float, ...]] = []
        RoundTimes.made.append(self)

    @property
    def watching(self) -> list[RoundTimes]:
        return [self]

    def _now(self) -> np.ndarray:
        counter = RoundTimes.counter
        return np.array([time.perf_counter(), time.process_time(), counter.seconds, counter.shared, counter.tasks])

    def before_rounds(self, info: Any) -> None:
        self._before = self._now()

    def after_round(self, info: Any) -> bool:
        self.rounds.append(tuple(self._now() - self._before))
        self._before = self._now()
        return False


@contextmanager
def watching(counting: bool) -> Iterator[None]:
    """Rounds are timed; what is handed over is counted, which itself takes time, where that is wanted."""
    RoundTimes.counter = Counter()
    counted = RoundTimes.counter.counted(Workers.map) if counting else Workers.map
    with patch("minrisk.boosting.monitors.ProgressBar", RoundTimes), patch.object(Workers, "map", counted):
        yield


def data(n: int, d: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal features around the means of classes that overlap; each class has a row."""
    rng = np.random.default_rng(n + d + K)
    y = np.r_[np.arange(K), rng.integers(0, K, n - K)]
    return (0.5 * rng.normal(size=(K, d))[y] + rng.normal(size=(n, d))).astype(np.float32), y


def rounds_of(learner: str, X: np.ndarray, y: np.ndarray, jobs: int, n_rounds: int, counting: bool) -> np.ndarray:
    """Wall and processor seconds, seconds in shared tasks, hand-overs, tasks: a line for every round of a fit."""
    with watching(counting):
        LEARNERS[learner](n_estimators=n_rounds, n_jobs=jobs, verbose=1).fit(X, y)
    return np.array(RoundTimes.made.pop().rounds)[FIRST_ROUNDS:]


def compared(learner: str, n: int, d: int, K: int, least: float, quick: bool) -> dict[str, Any]:
    """Both numbers of threads in turns, for `least` seconds at least."""
    X, y = data(n, d, K)
    n_rounds = 6 if quick else 12
    counted = rounds_of(learner, X, y, 2, n_rounds, True)
    found: dict[int, list[np.ndarray]] = {1: [], 2: []}
    begun, turns = time.perf_counter(), 0
    while turns < 2 or (not quick and time.perf_counter() - begun < least):
        for jobs in found if turns % 2 else reversed(found):
            found[jobs].append(rounds_of(learner, X, y, jobs, n_rounds, False))
        turns += 1
    (wall, spent), (wall_two, spent_two) = (np.min(found[jobs], axis=0)[:, :2].mean(axis=0) for jobs in (1, 2))
    in_tasks, shared, tasks = np.median(counted[:, 2:], axis=0)
    in_tasks = min(in_tasks, spent)
    at_best, most = (spent_two - in_tasks / 2) / spent, max(SLOWER, 1.0 + SLOWER_SECONDS / wall)
    verdict = "not slower" if wall_two / wall <= most else "SLOWER" if at_best > most else "unclear: a busy machine"
    return {
        "learner": learner,
        "n": n,
        "d": d,
        "K": K,
        "turns": turns,
        "seconds_1": wall,
        "seconds_2": wall_two,
        "wall_ratio": wall_two / wall,
        "processor_1": spent,
        "processor_2": spent_two,
        "processor_ratio": spent_two / spent,
        "handed_over": shared,
        "tasks": tasks,
        "shared_share": in_tasks / spent,
        "at_best": at_best,
        "verdict": verdict,
    }


def empty_hand_over(times: int) -> dict[str, Any]:
    """What it takes to share tasks that do nothing."""
    rows = []
    with Workers(2) as workers:
        for _ in range(times):
            wall, spent = time.perf_counter(), time.process_time()
            workers.map(lambda _: None, range(8))
            rows.append((time.perf_counter() - wall, time.process_time() - spent))
    (wall, spent), least = np.median(rows, axis=0), np.min(rows, axis=0)
    return {"hand_over_seconds": wall, "hand_over_seconds_least": least[0], "hand_over_processor_seconds": spent}


def main() -> None:
    options = parser(__doc__, "two turns of six rounds on 1 000 and 5 000 made rows, with 3 and 6 classes")
    options.add_argument("--seconds", type=float, default=20.0, help="of turns of each size (default: 20)")
    arguments = options.parse_args()
    quick = arguments.quick
    sizes, classes = (QUICK_SIZES, QUICK_CLASSES) if quick else (SIZES, N_CLASSES)
    for learner in LEARNERS:
        rounds_of(learner, *data(5_000, 10, 3), 2, 5, False)  # compiles
    handed = empty_hand_over(50 if quick else 2_000)
    rows: list[dict[str, Any]] = []
    for learner in LEARNERS:
        for n, d in sizes:
            for K in classes:
                if n * K <= MOST_ENTRIES and K <= n // 4:
                    rows.append(compared(learner, n, d, K, arguments.seconds, quick))
                    show(rows[-1:], SHOWN)
    faster = {(row["learner"], row["n"], row["d"], row["K"]): min(row["seconds_1"], row["seconds_2"]) for row in rows}
    for row in rows:
        *size, K = (row[name] for name in ("learner", "n", "d", "K"))
        ten = faster.get((*size, 10))
        of_ten = faster[*size, K] / ten if ten and K == max(N_CLASSES) else ""
        row |= {"of_ten_classes": of_ten, "target": CLASS_TARGET if of_ten else ""}
    save("threads", [{**row, **handed} for row in rows])
    show(rows, [name for name in rows[0] if name not in ("turns", "processor_1", "processor_2")])
    show([handed])


if __name__ == "__main__":
    main()
