"""Rows in the partitions of Dask collections: an `Engine` on the current client.

Everything that is asked is a task, a function of a shard and of what is told: Dask decides where it runs, and again
where a worker is lost. Nothing else in minrisk knows Dask.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager
from operator import itemgetter
from typing import Any
from uuid import uuid4

import numpy as np

from minrisk._utils.packages import versions
from minrisk.data.partitioned import is_partitioned
from minrisk.rows.placed import Part, PlacedRows, Seal, check_same
from minrisk.rows.remote import Shard

ASKED_SECONDS = 20.0  # after which a wait for answers is interrupted, to see whether anybody can give them
ALONE_SECONDS = 300.0  # without any worker, which may be on its way, until a fit ends
CARRIERS = ("distributed", "tornado", "asyncio", "concurrent")  # packages that carry messages: no task is theirs
SHORT_OF_MEMORY = (
    "workers that held the same rows were lost several times, as they are where memory is short: give them more "
    "memory, or make more workers."
)
ASKED_OF_WORKERS = "__import__('minrisk._utils.packages')._utils.packages.versions()"  # a text: they may lack it
OTHER_CODE = (
    "some workers have other code of minrisk than is here, under the same version: install the same there, and start "
    "them again."
)
LOST = "the cluster does not answer any more, as its scheduler or the network is gone: start it again and fit anew."
ALONE = "the cluster has had no workers for {minutes:.0f} minutes: start some and fit anew."


class ClusterError(RuntimeError):
    """Error of a cluster that cannot do what it is asked, or is gone."""


def check_workers(client: Any) -> None:
    """Refuse workers that would compute something else than what is computed here.

    Raises
    ------
    ClusterError
        If one has another version of minrisk or of what it computes with, or none, or other code of the same version.
    """
    import minrisk

    found = client.get_versions(packages=["minrisk"])["workers"]
    others = {str(own["packages"].get("minrisk")) for own in found.values()} - {minrisk.__version__}
    if others:
        have = "lack it" if others == {"None"} else f"have {', '.join(sorted(others))}"
        raise ClusterError(
            f"all workers need minrisk {minrisk.__version__}, as it is here, but some {have}: install it there."
        )
    theirs = list(client.run(eval, ASKED_OF_WORKERS, on_error="return").values())
    if any(isinstance(own, (AttributeError, ImportError)) for own in theirs):  # their code does not have what was asked
        raise ClusterError(OTHER_CODE)
    for name, version in versions().items():
        others = {own[name] for own in theirs if isinstance(own, dict)} - {version}  # others are lost just now
        if others and name == "minrisk":
            raise ClusterError(OTHER_CODE)
        if others:
            raise ClusterError(
                f"all workers need {name} {version}, as it is here, but some have {', '.join(sorted(others))}: install "
                "it there, as models would differ."
            )


def gathered(client: Any, futures: Sequence[Any]) -> list[Any]:
    """Return what tasks have given.

    Raises
    ------
    ClusterError
        If there are no workers for long.
    """
    asked = asyncio.run_coroutine_threadsafe(client.gather(list(futures), asynchronous=True), client.loop.asyncio_loop)
    seen = time.monotonic()
    try:
        while not wait([asked], ASKED_SECONDS).done:
            now = time.monotonic()
            seen = now if client.nthreads() else seen
            if now - seen > ALONE_SECONDS:
                raise ClusterError(ALONE.format(minutes=(now - seen) / 60.0))
        found: list[Any] = asked.result()
    finally:
        asked.cancel()
    return found


@contextmanager
def in_words() -> Iterator[None]:
    """Say what has happened to a cluster in a sentence.

    Raises
    ------
    ClusterError
        For what distributed raises where workers are lost again and again, or the scheduler is.
    """
    try:
        yield
    except Exception as error:
        told = _told(error)
        if told is None:
            raise
        raise ClusterError(told) from None


def _told(error: Exception) -> str | None:
    """Return what to say of an error; None: it says enough, or has nothing to do with a cluster."""
    if "distributed" not in sys.modules or isinstance(error, ClusterError):
        return None
    from distributed.scheduler import KilledWorker

    if isinstance(error, KilledWorker):
        return SHORT_OF_MEMORY
    *_, innermost = traceback.walk_tb(error.__traceback__)
    name = str(innermost[0].f_globals.get("__name__"))
    by_client = isinstance(error, (OSError, RuntimeError)) and name.partition(".")[0] in CARRIERS
    is_theirs = isinstance(error, CancelledError) or type(error).__module__.partition(".")[0] == "distributed"
    return LOST if by_client or is_theirs else None


# -- Shards ------------------------------------------------------------------------------------------------------------
FAN_IN = 16  # results that are reduced in one task, or brought to the client


class DaskEngine:
    """See `minrisk.rows.remote.Engine`.

    Parameters
    ----------
    client : distributed.Client
    parts : sequence of Future
        Of `Part`.
    seals : sequence of Seal
        Of each.
    n_threads : int
        Of each shard.
    """

    def __init__(self, client: Any, parts: Sequence[Any], seals: Sequence[Seal], n_threads: int = 1) -> None:
        self._client = client
        *firsts, n_rows = itertools.accumulate((seal.n_rows for seal in seals), initial=0)
        groups, self._homes = self._groups(parts)
        self._shards = [
            client.submit(
                made_shard,
                number,
                n_rows,
                n_threads,
                [firsts[p] for p in group],
                [seals[p] for p in group],
                [parts[p] for p in group],
                pure=False,
                workers=home or None,
                allow_other_workers=bool(home),
            )
            for number, (group, home) in enumerate(zip(groups, self._homes, strict=True))
        ]
        self.n_shards = len(self._shards)

    def _groups(self, parts: Sequence[Any]) -> tuple[list[list[int]], list[list[str]]]:
        """Return numbers of the partitions that are made one shard, and the worker that holds them.

        As many as a worker has threads, of what it holds.
        """
        holders = self._client.who_has(list(parts))
        threads = self._client.nthreads()
        held: dict[str, list[int]] = {}
        for number, part in enumerate(parts):
            at = holders.get(part.key) or ("",)
            held.setdefault(min(at, key=lambda worker: (len(held.get(worker, ())), worker)), []).append(number)
        found = []
        for worker, numbers in held.items():
            n, home = min(len(numbers), threads.get(worker, 1)), [worker] if worker else []
            found += [(numbers[len(numbers) * g // n : len(numbers) * (g + 1) // n], home) for g in range(n)]
        found.sort()
        return [group for group, _ in found], [home for _, home in found]

    def map(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return of each shard the future of function(shard, *its arguments), asked where the shard is if it is there.

        Without a wish, Dask takes tasks of few shards for roots of a graph and deals them to any worker. All tasks are
        one graph, which takes the scheduler a third of the time of as many graphs.
        """
        from dask.base import annotate

        name = f"{function.__name__}-{uuid4().hex}"
        homes = {f"{name}-{number}": home for number, home in enumerate(self._homes)}
        with annotate(workers=homes.get, allow_other_workers=True):
            return list(self._client.map(function, self._shards, *zip(*arguments, strict=True), key=list(homes)))

    def look_again(self) -> None:
        """Find where shards are that were not where they were asked: each at one of those who have it, evenly."""
        holders, taken = self._client.who_has(self._shards), Counter[str]()
        for number, shard in enumerate(self._shards):
            at = holders.get(shard.key) or ()
            self._homes[number] = [min(at, key=lambda worker: (taken[worker], worker))] if at else []
            taken.update(self._homes[number])

    def reduce(self, function: Callable[[Sequence[Any]], Any], futures: Sequence[Any]) -> Any:
        """Return function(results)."""
        futures = list(futures)
        while len(futures) > FAN_IN:
            groups = [futures[g : g + FAN_IN] for g in range(0, len(futures), FAN_IN)]
            futures = [self._client.submit(function, group, pure=False) for group in groups]
        found = gathered(self._client, futures)
        return found[0] if len(found) == 1 else function(found)

    def close(self) -> None:
        """Let the shards go."""
        self._shards = []


def made_shard(
    number: int, n_rows: int, n_threads: int, firsts: Sequence[int], seals: Sequence[Seal], parts: Sequence[Part]
) -> Shard:
    """Return the rows of some partitions, as they were when these were checked."""
    check_same(parts, seals)
    return Shard(PlacedRows(parts, firsts, n_rows), number, n_threads)


# -- Collections -------------------------------------------------------------------------------------------------------
NO_CLIENT = "X is a Dask collection, which is fitted on a cluster: make a dask.distributed.Client first."
ASYNCHRONOUS = (
    "fit waits for the cluster, which an asynchronous client does not allow: make a Client without asynchronous=True, "
    "in a thread of its own if need be."
)
NO_TABLE = "X must be a Dask array or dataframe with rows and columns, got {name}."
NOT_ALIKE = (
    "{name} must be a Dask array, series or dataframe with a partition for each of the {n} of X, got {got}: make it "
    "so, as dask.array.from_array, columns of one dataframe and repartition do."
)


def client_of() -> Any:
    """Return the current client.

    Raises
    ------
    ValueError
        If there is none.
    """
    try:
        from distributed import get_client

        client = get_client()
    except (ImportError, ValueError):
        raise ValueError(NO_CLIENT) from None
    if client.asynchronous:
        raise ValueError(ASYNCHRONOUS)
    return client


def check_table(X: Any) -> None:
    """Refuse collections that are no tables."""
    n = getattr(X, "ndim", None)
    if n != 2:
        name = type(X).__name__
        raise ValueError(NO_TABLE.format(name=name if n is None else f"{name} of {n} dimension{'s' * (n != 1)}"))


def delayed_parts(X: Any) -> list[Any]:
    """Return a delayed array or frame for each partition, whole rows of it.

    Graphs stay as they are: optimised apart, X and y would each compute what both are made of.
    """
    if hasattr(X, "rechunk"):
        if any(n > 1 for n in X.numblocks[1:]):
            X = X.rechunk({axis: -1 for axis in range(1, X.ndim)})
        return list(X.to_delayed(optimize_graph=False).ravel())
    return list(X.to_delayed(optimize_graph=False))


def aligned(name: str, column: Any, X: Any, n_parts: int) -> list[Any]:
    """Return the partitions of y, weights or costs beside those of X; arrays of known chunks are cut as X is.

    Raises
    ------
    ValueError
        If it is no collection, or is divided otherwise.
    """
    if column is None:
        return [None] * n_parts
    if not is_partitioned(column):
        raise ValueError(NOT_ALIKE.format(name=name, n=n_parts, got=type(column).__name__))
    if hasattr(column, "rechunk") and hasattr(X, "chunks") and column.chunks[0] != X.chunks[0]:
        known = not np.isnan(column.chunks[0] + X.chunks[0]).any()
        if known and sum(column.chunks[0]) != sum(X.chunks[0]):
            n_rows, got = sum(X.chunks[0]), sum(column.chunks[0])
            raise ValueError(f"{name} must have a row for each of the {n_rows} of X, got {got}.")
        column = column.rechunk({0: X.chunks[0]}) if known else column
    found = delayed_parts(column)
    if len(found) != n_parts:
        raise ValueError(NOT_ALIKE.format(name=name, n=n_parts, got=f"{len(found)} partitions"))
    return found


class DaskPartitions:
    """See `minrisk.estimator.elsewhere.Partitions`.

    Parameters
    ----------
    X, y, weight, cost : collections
    """

    def __init__(self, X: Any, y: Any, weight: Any, cost: Any) -> None:
        check_table(X)
        self._client, parts = client_of(), delayed_parts(X)
        check_workers(self._client)
        if y is None:
            raise ValueError("y must have a label for each row of X, got None.")
        named = ("y", y), ("sample_weight", weight), ("cost", cost)
        self._columns = [parts, *(aligned(name, column, X, len(parts)) for name, column in named)]

    def checked(self, check: Callable[..., tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
        """Return what is made of each partition, and what is said of it."""
        from dask.delayed import delayed

        asked, columns = delayed(check), zip(*self._columns, strict=True)
        both = self._client.compute([asked(number, *own) for number, own in enumerate(columns)])
        del self._columns
        rows, facts = (self._client.map(itemgetter(part), both, pure=False) for part in (0, 1))
        return rows, gathered(self._client, facts)

    def engine(self, parts: Sequence[Any], seals: Sequence[Seal], n_threads: int) -> DaskEngine:
        """Return shards of them."""
        return DaskEngine(self._client, parts, seals, n_threads)

    def whole(self, function: Callable[[Sequence[Any]], Any], parts: Sequence[Any]) -> Any:
        """Return function(the parts), as one task."""
        return gathered(self._client, [self._client.submit(function, list(parts), pure=False)])[0]


def answered(call: Callable[[Any], Any], X: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return call(rows) of each partition, as a Dask array of (n, *shape) that is computed when it is asked for."""
    import dask.array
    from dask.delayed import delayed

    check_table(X)
    array: Any = dask.array
    parts = delayed_parts(X)
    sizes: Sequence[Any] = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(parts)
    asked = delayed(call)  # once in the graph, not once for each partition
    found = [
        array.from_delayed(asked(part), (size, *shape), dtype=dtype) for part, size in zip(parts, sizes, strict=True)
    ]
    return array.concatenate(found, allow_unknown_chunksizes=True)
