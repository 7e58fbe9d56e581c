"""On a Dask cluster: what a round takes beside one in this process, bytes of its messages, the limit, and peers.

Rows are of K classes of a Gaussian each (`benchmarks.larger_than_memory`), made in the partitions from a seed. Workers
are processes of one thread on this machine. Processor seconds are those of all processes: the client, with the
scheduler, and the workers. Wall times are of a machine that others may use, so processor seconds tell more.

- overhead: rounds of a member of `MinRiskClassifier` in this process, and on 1 and 2 workers; also of 32 threads each.
- bytes: what each shard is told in a round, and what shards answer, by rows, features, classes, bins and leaves.
- simulation: a round's time from what an exchange, a worker, a byte and a row take, checked against the rounds that
  were measured; then on 10 to 1000 workers. Besides what is measured it takes `NETWORK` bytes a second.
- peers: LightGBM's and XGBoost's estimators for Dask beside ours: time, error, and one worker killed halfway. Each fit
  has a process and a cluster of its own, and is given up after a while.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from unittest.mock import patch

import numpy as np

from benchmarks.common import ROOT, installed, is_quick, kept, parser, results, save, show, there
from benchmarks.larger_than_memory import HELD_OUT_ROWS, Size, bayes_error, rows
from minrisk import MinRiskClassifier
from minrisk.boosting.monitors import ProgressBar
from minrisk.io.model_file import save as save_model
from minrisk.rows.dask import FAN_OUT, DaskEngine
from minrisk.rows.placed import Part, Seal
from minrisk.rows.remote import Contribution, Met, combined

PARTS = ("overhead", "bytes", "simulation", "peers")
OVERHEAD = ((Size(100_000, 10, 5), 15), (Size(1_000_000, 10, 5), 12), (Size(10_000_000, 10, 5), 7))  # and rounds
QUICK_OVERHEAD = ((Size(36_000, 6, 3), 4), (Size(44_000, 6, 3), 4))
FIRST_ROUNDS = 2  # of a fit, left out: kernels are loaded there
MANY_THREADS, MANY_THREADS_ROWS = 32, 1_000_000  # of a worker; rows at most
BYTES: tuple[tuple[Size, dict[str, Any]], ...] = (
    (Size(1_000_000, 10, 5), {}),
    (Size(100_000, 20, 5), {}),
    (Size(300_000, 20, 5), {}),
    (Size(1_000_000, 20, 5), {}),
    (Size(2_000_000, 20, 5), {}),
    (Size(100_000, 80, 5), {}),
    (Size(100_000, 20, 20), {}),
    (Size(100_000, 20, 5), {"max_bins": 32}),
    (Size(100_000, 20, 5), {"max_leaf_nodes": 100}),
)
PEER_SIZE, PEER_ROUNDS = Size(300_000, 20, 5), 50
NETWORK = 1.25e9  # bytes a second between two machines: 10 Gbit/s
SIMULATED_ROWS, SIMULATED_WORKERS = (10**8, 10**9, 10**10), (10, 100, 1000)  # and the best number
MOST_WORKERS = 2000
PEERS = {"LightGBM": "lightgbm", "XGBoost": "xgboost"}
OURS = "minrisk"
LONGEST, AND_SECONDS = 3.0, 60.0  # that a fit may take when a worker is killed: times an undisturbed one, and more
PART_ROWS = 500_000  # of a partition at most


# -- clusters, and what their processes spend ----------------------------------------------------------------------
@contextmanager
def cluster_of(n_workers: int, n_threads: int = 1) -> Iterator[Any]:
    """A client of so many processes on this machine."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=n_threads,
            processes=True,
            dashboard_address=None,
            silence_logs=50,
            memory_limit=0,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


class Clock:
    """Processor seconds of this process, and of the workers of a client, those among them that are gone."""

    def __init__(self, client: Any = None) -> None:
        self._workers: dict[int, Any] = {}
        self._spent: dict[int, float] = {}
        if client is not None:
            self.see(client)

    def see(self, client: Any) -> None:
        """Workers that have come since."""
        import psutil

        for worker in client.run(os.getpid).values():
            self._workers.setdefault(worker, psutil.Process(worker))

    def now(self) -> np.ndarray:
        """Wall, this process, workers."""
        import psutil

        for number, worker in self._workers.items():
            with suppress(psutil.Error):  # it is gone
                self._spent[number] = sum(worker.cpu_times()[:2])
        return np.array([time.perf_counter(), time.process_time(), sum(self._spent.values())])


class ClusterTimes(ProgressBar):
    """In the place of the estimator's progress bar: draws nothing, notes when rounds end, and exchanges so far."""

    clock: ClassVar[Clock]
    asked: ClassVar[list[Any]]
    made: ClassVar[list[ClusterTimes]] = []
    counts_only = False  # rounds are made one by one

    def __init__(self, enabled: bool) -> None:
        super().__init__(False)
        self.marks: list[np.ndarray] = []
        ClusterTimes.made.append(self)

    @property
    def watching(self) -> list[ClusterTimes]:
        return [self]

    def before_rounds(self, info: Any) -> None:
        self.marks = [self._now()]

    def after_round(self, info: Any) -> bool:
        self.marks.append(self._now())
        return False

    def _now(self) -> np.ndarray:
        return np.append(self.clock.now(), len(self.asked))


@contextmanager
def watching(client: Any, noted: Callable[..., Any], asked: list[Any]) -> Iterator[None]:
    """Rounds of a fit and exchanges are noted."""
    ClusterTimes.clock, ClusterTimes.asked = Clock(client), asked
    with patch("minrisk.boosting.monitors.ProgressBar", ClusterTimes), patch.object(DaskEngine, "asked", noted):
        yield


def part_sizes(n: int, n_parts: int) -> list[int]:
    """Rows of each partition."""
    return [n * (p + 1) // n_parts - n * p // n_parts for p in range(n_parts)]


def collections(client: Any, size: Size, n_parts: int) -> tuple[Any, Any]:
    """X and y as Dask arrays that lie on the workers."""
    import dask.array as da
    import distributed
    from dask.delayed import delayed

    made, X, y = delayed(rows, nout=2), [], []
    for number, m in enumerate(part_sizes(size.n, n_parts)):
        both = made(size, m, number + 1)
        X.append(da.from_delayed(both[0], (m, size.d), np.float32))
        y.append(da.from_delayed(both[1], (m,), np.int64))
    found = client.persist([da.concatenate(X), da.concatenate(y)])
    distributed.wait(found)
    return found[0], found[1]


def here(size: Size, n_parts: int) -> tuple[np.ndarray, np.ndarray]:
    """The same rows in this process."""
    X, y, start = np.empty((size.n, size.d), np.float32), np.empty(size.n, np.int64), 0
    for number, m in enumerate(part_sizes(size.n, n_parts)):
        X[start : start + m], y[start : start + m] = rows(size, m, number + 1)
        start += m
    return X, y


def member(rounds: int, **options: Any) -> MinRiskClassifier:
    """One member on one thread, at defaults but for its rounds."""
    return MinRiskClassifier(n_estimators=rounds, cv=1, pool=False, n_jobs=1, random_state=0, verbose=1, **options)


def digest(model: MinRiskClassifier) -> str:
    """Of its file, without the seconds that a search took."""
    for line in model.selection_:
        line["seconds"] = 0.0
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, Path(folder) / "model")
        return hashlib.sha256((Path(folder) / "model").read_bytes()).hexdigest()[:12]


# -- overhead ------------------------------------------------------------------------------------------------------
def rounds_of(X: Any, y: Any, rounds: int, client: Any = None) -> dict[str, Any]:
    """What the rounds of a fit take: medians of wall times, means of processor seconds."""
    asked: list[Any] = []
    real = DaskEngine.asked

    def noted(engine: DaskEngine, *given: Any) -> Any:
        asked.append(engine.n_shards)
        return real(engine, *given)

    with watching(client, noted, asked):
        begun = time.perf_counter()
        model = member(rounds).fit(X, y)
        wall = time.perf_counter() - begun
    made = np.diff(ClusterTimes.made.pop().marks, axis=0)
    after = made[FIRST_ROUNDS:]
    return {
        "shards": asked[0] if asked else 0,
        "rounds": rounds,
        "round wall s": float(np.median(after[:, 0])),
        "round wall s, least": float(after[:, 0].min()),
        "round processor s": float(after[:, 1:3].sum(axis=1).mean()),
        "of the client": float(after[:, 1].mean()),
        "exchanges": float(np.median(after[:, 3])),
        "rest of the fit wall s": wall - float(made[:, 0].sum()),
        "model": digest(model),
    }


def overhead(quick: bool) -> None:
    """Rounds in this process and on clusters."""
    found: list[dict[str, Any]] = []
    of = QUICK_OVERHEAD if quick else OVERHEAD
    for n_workers, n_threads in ((0, 1), (2, 1)) if quick else ((0, 1), (1, 1), (2, 1), (2, MANY_THREADS)):
        with cluster_of(n_workers, n_threads) if n_workers else nullcontext() as client:
            for size, rounds in of:
                if n_threads > 1 and size.n > MANY_THREADS_ROWS:
                    continue
                n_parts = max(4, -(-size.n // PART_ROWS))
                n_parts = n_parts if n_threads == 1 else n_workers * n_threads
                data = collections(client, size, n_parts) if client else here(size, n_parts)
                row = {**size._asdict(), "workers": n_workers, **rounds_of(*data, rounds, client)}
                del data
                same = [one["model"] for one in found if one["n"] == size.n and n_threads == 1]
                row["same model"] = "" if not same else "yes" if row["model"] == same[0] else "NO"
                found.append(row)
                show([row], [name for name in row if name != "model"])
                save("dask_cluster_overhead", found)


# -- bytes ---------------------------------------------------------------------------------------------------------
class Answered(NamedTuple):
    """In one exchange."""

    kind: str
    n_bytes: int
    n_drawn: int


def weighed(met: Met) -> Answered:
    """What shards answer together; sums are as long as those of each."""
    (part,) = met.parts
    drawn = sum(len(one.sketch) for one in part.own) if part.kind == "made_of_all" else 0
    return Answered(part.kind, len(pickle.dumps(part)), drawn)


def unfinished(shard: Any, found: Any, *given: Any) -> Any:
    """Let the client see all that shards have answered."""
    return found


def bytes_of(client: Any, size: Size, options: Mapping[str, Any], rounds: int) -> dict[str, Any]:
    """Bytes of the rounds after the first ones: means over rounds."""
    asked: list[tuple[int, Answered]] = []
    real = DaskEngine.asked

    def noted(
        engine: DaskEngine, shards: Any, function: Any, combine: Any, finish: Callable[..., Any], *given: Any
    ) -> Any:
        found = real(engine, shards, function, combine, unfinished, *given)
        asked.append((len(pickle.dumps(given)), weighed(found)))
        return found

    X, y = collections(client, size, 4)
    with watching(None, noted, asked):
        model = member(rounds, **options).fit(X, y)
    ends = np.array(ClusterTimes.made.pop().marks)[:, 3].astype(int)
    n, chosen = len(ends) - 2, asked[ends[1] : ends[-1]]
    sums = [one for _, one in chosen if not one.n_drawn]
    drawn = [one for _, one in chosen if one.n_drawn]
    return {
        **size._asdict(),
        "bins": options.get("max_bins", "default"),
        "shards": len(client.nthreads()),
        "exchanges": len(chosen) / n,
        "leaves": float(np.mean([(tree_leaves(model, t)) for t in range(1, rounds)])),
        "told to each shard": sum(told for told, _ in chosen) / n,
        "sums of each shard": sum(one.n_bytes for one in sums) / n,
        "rows drawn": sum(one.n_drawn for one in drawn) / n,
        "drawn rows of all shards": sum(one.n_bytes for one in drawn) / n,
    }


def tree_leaves(model: Any, t: int) -> int:
    """Leaves of a tree."""
    offsets = model.model_.packed.vector_offsets
    return int(offsets[t + 1] - offsets[t])


def measure_bytes(quick: bool) -> None:
    """Messages by size."""
    of = ((QUICK_OVERHEAD[0][0], {}),) if quick else BYTES
    with cluster_of(2) as client:
        found = []
        for size, options in of:
            found.append(bytes_of(client, size, options, 5))
            show(found[-1:])
    save("dask_cluster_bytes", found)


# -- simulation ----------------------------------------------------------------------------------------------------
class Costs(NamedTuple):
    """What a round is made of, in seconds."""

    latency: float  # wall, of a message and its answer between two processes, beside what is below
    exchange: float  # processor of client and scheduler, for an exchange
    worker: float  # processor of a worker, for an exchange
    told_byte: float  # processor of sender and receiver, for a byte that a worker is told
    answered_byte: float  # ..., for a byte that it answers
    shard: float  # ..., for a shard's part of a round, whatever its rows
    row: float  # for a row
    growth: float  # for a tree, at one worker


class Messages(NamedTuple):
    """Of a round."""

    exchanges: float
    told: float  # bytes to each shard
    sums: float  # bytes of each shard
    drawn: float  # bytes of all shards


def some_part(number: int) -> Part:
    """A row."""
    return Part(np.zeros((1, 1)), np.zeros(1))


def answering(shard: Any, n_bytes: int, told: np.ndarray) -> Met:
    """So many bytes, and nothing else to do."""
    return Met([Contribution("added", np.zeros(n_bytes // 8))], {})


def one_exchange(client: Any, told: int, answered: int, times: int) -> np.ndarray:
    """Least wall, mean processor seconds of client and scheduler, and of all workers: of an exchange without work."""
    import distributed

    clock, found, workers = Clock(client), [], list(client.nthreads())
    parts = [client.submit(some_part, p, pure=False, workers=[worker]) for p, worker in enumerate(workers)]
    distributed.wait(parts)
    engine = DaskEngine(client, parts, [Seal.of(number, some_part(number)) for number in range(len(parts))])
    assert engine.n_shards == len(workers)
    for _ in range(times):
        before, blob = clock.now(), np.zeros(told // 8)
        engine.asked(range(engine.n_shards), answering, combined, unfinished, answered, blob)
        found.append(clock.now() - before)
    least, mean = np.min(found[1:], axis=0), np.mean(found[1:], axis=0)
    return np.array([least[0], mean[1], mean[2]])


def depth_of(n_workers: int) -> int:
    """Workers that ask one another: how many one after another follow the first."""
    depth, reached = 0, 1
    while reached < n_workers:
        depth += 1
        reached += FAN_OUT**depth
    return depth


def measured_costs(quick: bool) -> Costs:
    """Of exchanges, here; of rows and growth, of rounds in this process that `overhead` has measured."""
    times, many, n_bytes = (4, 2, 400_000) if quick else (100, 4, 400_000)
    with cluster_of(1) as client:
        alone = one_exchange(client, 8, 8, times)
    with cluster_of(many) as client:
        most, told, answered = (one_exchange(client, *sizes, times) for sizes in ((8, 8), (n_bytes, 8), (8, n_bytes)))
    measured = kept("dask_cluster_overhead")
    local = [row for row in measured if row["workers"] == "0"]
    small, large = sorted(local, key=lambda row: int(row["n"]))[-2:]
    seconds, n = ([float(row[name]) for row in (small, large)] for name in ("round processor s", "n"))
    row_seconds = (seconds[1] - seconds[0]) / (n[1] - n[0])
    growth, worker = max(seconds[1] - n[1] * row_seconds, 0.0), most[2] / many
    spread = max(measured, key=lambda row: (int(row["shards"]), -int(row["n"])))  # the least rows of most shards
    of_workers = float(spread["round processor s"]) - float(spread["of the client"]) - growth
    of_workers -= float(spread["n"]) * row_seconds + float(spread["exchanges"]) * int(spread["shards"]) * worker
    return Costs(
        max(alone[0] - alone[1] - alone[2], 0.0),
        alone[1],
        worker,
        max((told - most)[1:].sum(), 0.0) / (many * n_bytes),
        max((answered - most)[1:].sum(), 0.0) / (many * n_bytes),
        max(of_workers, 0.0) / int(spread["shards"]),
        row_seconds,
        growth,
    )


def predicted(costs: Costs, messages: Messages, n: int, n_shards: int, n_cores: int, network: float) -> dict[str, Any]:
    """Seconds of a round by what they are for, and of all processors."""
    depth, E = depth_of(n_shards), messages.exchanges
    others = min(n_shards - 1, FAN_OUT)  # whose bytes one worker sends and receives
    sent, brought = messages.told * (1 + others * depth), messages.sums * (1 + others * depth)
    drawn = messages.drawn * max(depth, 1) * (n_shards > 1)
    handling = sent * costs.told_byte + (brought + drawn) * costs.answered_byte
    wall = {
        "latency": E * (1 + depth) * costs.latency,
        "scheduling": E * (costs.exchange + costs.worker * (1 + others * depth)),
        "messages": handling + (sent + brought + drawn) * network,
        "rows": (n * costs.row + n_shards * costs.shard) / min(n_shards, n_cores),
        "growing": costs.growth,
    }
    spent = E * (costs.exchange + n_shards * costs.worker) + costs.growth + n * costs.row + n_shards * costs.shard
    spent += n_shards * (messages.told * costs.told_byte + messages.sums * costs.answered_byte)
    spent += drawn * costs.answered_byte
    limit = max(wall, key=lambda part: wall[part])
    return {**wall, "round s": sum(wall.values()), "limit": limit, "processor s": spent}


def simulate(quick: bool) -> None:
    """Rounds that were measured, and others."""
    costs = measured_costs(quick)
    show([{name: f"{value:.3g}" for name, value in costs._asdict().items()}])
    measured = kept("dask_cluster_overhead")
    d = measured[0]["d"]
    last = [row for row in kept("dask_cluster_bytes") if row["d"] == d][-1]
    names = "exchanges", "told to each shard", "sums of each shard", "drawn rows of all shards"
    messages, found = Messages(*(float(last[name]) for name in names)), []
    for row in measured:
        n, shards, workers = int(row["n"]), int(row["shards"]), int(row["workers"])
        if workers:
            said = predicted(costs, messages, n, shards, min(workers, os.cpu_count() or 1), 0.0)
            found.append(
                {
                    "n": n,
                    "workers": workers,
                    "shards": shards,
                    **said,
                    "measured": row["round wall s"],
                    "measured processor s": row["round processor s"],
                }
            )
    show(found)
    limits = []
    for n in SIMULATED_ROWS:

        def on(workers: int, n: int = n) -> dict[str, Any]:
            return predicted(costs, messages, n, workers, workers, 1.0 / NETWORK)

        best = min(range(1, MOST_WORKERS), key=lambda workers: on(workers)["round s"])
        for workers in sorted({*SIMULATED_WORKERS, best}):
            said = on(workers)
            limits.append(
                {"n": n, "workers": workers, "shards": workers, **said, "measured": "", "measured processor s": ""}
            )
    show(limits)
    save("dask_cluster_simulation", [{**row, **costs._asdict(), **messages._asdict()} for row in found + limits])
    lines = ["| rows | workers | a round, s | of that latency | scheduling | messages | rows | growing | limit |"]
    lines += ["|---|---|---|---|---|---|---|---|---|"]
    for row in limits:
        parts = " | ".join(f"{row[name]:.3g}" for name in ("latency", "scheduling", "messages", "rows", "growing"))
        lines.append(f"| {row['n']:.0e} | {row['workers']} | **{row['round s']:.3g}** | {parts} | {row['limit']} |")
    (results() / "dask_cluster_simulation.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


# -- peers ---------------------------------------------------------------------------------------------------------
def fitted(method: str, client: Any, X: Any, y: Any, rounds: int) -> tuple[Callable[[np.ndarray], np.ndarray], str]:
    """What decides for rows, and a digest of the model."""
    if method == OURS:
        ours = member(rounds).fit(X, y)
        return ours.predict, digest(ours)
    if method == "LightGBM":
        import lightgbm

        model = lightgbm.DaskLGBMClassifier(n_estimators=rounds, n_jobs=1, verbose=-1, client=client).fit(X, y)
        booster = model.booster_
        text = booster.model_to_string().split("\nparameters:")[0].encode()
        return lambda rows: booster.predict(rows).argmax(axis=1), hashlib.sha256(text).hexdigest()[:12]
    import xgboost
    from xgboost.dask import DaskXGBClassifier

    model = DaskXGBClassifier(n_estimators=rounds, n_jobs=1)
    model.client = client
    booster = model.fit(X, y).get_booster()
    raw = hashlib.sha256(booster.save_raw("json")).hexdigest()[:12]
    return lambda rows: booster.predict(xgboost.DMatrix(rows)).argmax(axis=1), raw


def one(method: str, size: Size, n_workers: int, rounds: int, kill_after: float) -> dict[str, Any]:
    """A fit on a cluster of this process; a worker is killed after so many seconds, unless they are 0."""
    with cluster_of(n_workers) as client:
        X, y = collections(client, size, max(4, -(-size.n // PART_ROWS)))
        clock, done = Clock(client), threading.Event()
        victim = min(client.run(os.getpid).values())

        def kill() -> None:
            if not done.wait(kill_after):
                clock.now()
                os.kill(victim, signal.SIGKILL)

        if kill_after:
            threading.Thread(target=kill, daemon=True).start()
        before = clock.now()
        found: dict[str, Any] = {"outcome": "fitted", "error %": "", "model": ""}
        try:
            decide, found["model"] = fitted(method, client, X, y, rounds)
        except Exception as error:
            found["outcome"] = f"{type(error).__name__}: {error}"[:300].replace("\n", " ")
        killed = not done.is_set()
        done.set()
        clock.see(client)
        wall, here_, there_ = clock.now() - before
        if found["model"]:
            held_out, labels = rows(size, HELD_OUT_ROWS // (100 if is_quick() else 1), 0)
            found |= {
                "error %": 100 * float(np.mean(decide(held_out) != labels)),
                "Bayes' error %": 100 * bayes_error(size, held_out, labels),
            }
        return {**found, "wall s": wall, "processor s": here_ + there_, "killed": bool(kill_after) and killed}


def apart(method: str, size: Size, n_workers: int, rounds: int, kill_after: float, longest: float) -> dict[str, Any]:
    """A fit in a fresh process, which is given up after so many seconds."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.dask_cluster", *(["--quick"] if is_quick() else [])]
    row = {"method": method, **size._asdict(), "workers": n_workers, "rounds": rounds, "killed after s": kill_after}
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder) / "found.json"
        command += ["--one", method, *map(str, size), str(n_workers), str(rounds), str(kill_after), str(into)]
        process = subprocess.Popen(
            command, cwd=ROOT, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        outcome = "the process ended without a word"
        try:
            process.wait(longest)
        except subprocess.TimeoutExpired:
            outcome = f"no end after {longest:.0f} s"
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        nothing = dict.fromkeys(("error %", "model", "Bayes' error %", "wall s", "processor s", "killed"), "")
        found = json.loads(into.read_text()) if into.is_file() else {}
    return {**row, "outcome": outcome, **nothing, **found}


def beside_peers(quick: bool) -> None:
    """Fits of ours and of the peers; with a worker killed halfway."""
    size, rounds = (QUICK_OVERHEAD[0][0], 3) if quick else (PEER_SIZE, PEER_ROUNDS)
    found: list[dict[str, Any]] = []
    for method in (OURS, *(() if quick else there(PEERS))):
        undisturbed = apart(method, size, 2, rounds, 0.0, 600.0)
        found.append({**undisturbed, "same model": ""})
        show(found, [name for name in undisturbed if name not in ("n", "d", "K", "model")])
        if not undisturbed["model"]:
            continue
        half = float(undisturbed["wall s"]) / 2
        longest = AND_SECONDS + LONGEST * 2 * half
        for n_workers, kill_after in ((2, half),) if quick else ((1, 0.0), (2, half)):
            row = apart(method, size, n_workers, rounds, kill_after, longest)
            same = "" if not row["model"] else "yes" if row["model"] == undisturbed["model"] else "no"
            found.append({**row, "same model": same})
            show(found[-1:], [name for name in row if name not in ("n", "d", "K", "model")])
            save("dask_cluster_peers", found)
    show(found, ["method", "workers", "killed after s", "wall s", "processor s", "error %", "same model", "outcome"])


def main() -> None:
    options = parser(__doc__, "some rounds on 36 000 rows here and on two workers, and our fit with a worker killed")
    options.add_argument("--part", nargs="+", choices=PARTS, default=PARTS, help="default: all")
    options.add_argument(
        "--one",
        nargs=8,
        metavar=("METHOD", "n", "d", "K", "WORKERS", "ROUNDS", "KILL", "FILE"),
        help="a fit here, as JSON",
    )
    arguments = options.parse_args()
    if arguments.one:
        method, n, d, K, n_workers, rounds, kill_after, into = arguments.one
        found = one(method, Size(int(n), int(d), int(K)), int(n_workers), int(rounds), float(kill_after))
        Path(into).write_text(json.dumps(found), encoding="utf-8")
        return
    if not installed("distributed"):
        sys.exit("There is no distributed: pip install 'minrisk[dask]'.")
    parts = {"overhead": overhead, "bytes": measure_bytes, "simulation": simulate, "peers": beside_peers}
    for name in arguments.part:
        print(f"-- {name}", flush=True)
        parts[name](arguments.quick)


if __name__ == "__main__":
    main()
