"""Rows in the partitions of Dask collections: an `Engine` on the current client.

All partitions of a worker are one shard, which a task makes: Dask decides where it runs, and again where a worker is
lost. Nothing else in minrisk knows Dask.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from minrisk._utils.packages import versions
from minrisk.data.partitioned import is_partitioned
from minrisk.rows.placed import Part, PlacedRows, Seal, check_same
from minrisk.rows.remote import Shard

ASKED_SECONDS = 20.0  # after which a wait for answers is interrupted, to see whether anybody can give them
ALONE_SECONDS = 300.0  # without any worker, which may be on its way, or without reaching one, until a fit ends
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
UNREACHED = (
    "workers that hold rows have not been reached for {minutes:.0f} minutes, though the scheduler knows them: let the "
    "scheduler and the workers connect to all workers."
)
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
    # A client that is closed has no scheduler, not even as an attribute of None.
    by_client = isinstance(error, (AttributeError, OSError, RuntimeError)) and name.partition(".")[0] in CARRIERS
    is_theirs = isinstance(error, CancelledError) or type(error).__module__.partition(".")[0] == "distributed"
    return LOST if by_client or is_theirs else None


# -- Shards ------------------------------------------------------------------------------------------------------------
FAN_OUT = 16  # other workers that one asks at once
MOST_LOSSES = 3  # of a shard in one exchange
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 1.0  # seconds between two looks for shards that are not there
WRITABLE = 4  # pickle's protocol by which arrays can be written to where they arrive
LOOK_SECONDS = 1.0  # after which a wait for shards is interrupted, to see whether their workers are still there

Combine = Callable[[Sequence[Any]], Any]
Homes = list[tuple[str, list[tuple[int, str]]]]  # addresses of workers, and numbers and keys of the shards of each


class Answered(NamedTuple):
    """Hold what some shards answer together."""

    own: list[Any]  # one answer or none
    absent: list[int]  # numbers of shards that are not where they were asked
    error: Exception | None = None


class DaskEngine:
    """See `minrisk.rows.remote.Engine`.

    A task makes a shard, so that Dask makes it again where its worker is lost. To ask one takes no task, of which the
    scheduler would make several times as much work: it passes a message on to one worker, which asks others.

    Parameters
    ----------
    client : distributed.Client
    parts : sequence of Future
        Of `Part`.
    seals : sequence of Seal
        Of each.
    n_threads : int
        Of each shard, at least; a shard has those of its worker.
    """

    def __init__(self, client: Any, parts: Sequence[Any], seals: Sequence[Seal], n_threads: int = 1) -> None:
        self._client = client
        *firsts, n_rows = itertools.accumulate((seal.n_rows for seal in seals), initial=0)
        groups, threads = self._groups(parts), client.nthreads()
        self._shards = [
            client.submit(
                made_shard,
                number,
                n_rows,
                max(n_threads, threads.get(home, 1)),
                [firsts[p] for p in group],
                [seals[p] for p in group],
                [parts[p] for p in group],
                pure=False,
                workers=[home] if home else None,
                allow_other_workers=bool(home),
            )
            for number, (home, group) in enumerate(groups.items())
        ]
        self.n_shards = len(self._shards)
        self._homes, self._losses = [""] * self.n_shards, Counter[int]()
        self._look_again(range(self.n_shards))

    def _groups(self, parts: Sequence[Any]) -> dict[str, list[int]]:
        """Return numbers of the partitions that are made one shard, by the worker that holds them; "": none does."""
        holders = self._client.who_has(list(parts))
        held: dict[str, list[int]] = {}
        for number, part in enumerate(parts):
            at = holders.get(part.key) or ("",)
            held.setdefault(min(at, key=lambda worker: (len(held.get(worker, ())), worker)), []).append(number)
        return held

    def asked(
        self,
        shards: Iterable[int],
        function: Callable[..., Any],
        combine: Combine,
        finish: Callable[..., Any],
        *arguments: Any,
    ) -> Any:
        """Return combine(what function(shard, *arguments) gives for each of these shards), or what finish makes of it.

        The worker that is asked first finishes, if all shards have answered it.
        """
        told = as_bytes((function, arguments, finish))
        waiting, found = sorted(shards), []
        is_all, reached = len(waiting) == self.n_shards, time.monotonic()
        while waiting:
            some = self._answered(waiting, combine, told, is_all)
            if some.error is not None:
                raise some.error
            found += some.own
            if some.absent and (self._look_again(some.absent) or some.own):
                reached = time.monotonic()
            if time.monotonic() - reached > ALONE_SECONDS:
                raise ClusterError(UNREACHED.format(minutes=ALONE_SECONDS / 60.0))
            is_all, waiting = is_all and not some.absent, some.absent
        if is_all:
            self._losses.clear()
        return combine(found)

    def _answered(self, shards: Sequence[int], combine: Combine, told: bytes, is_all: bool) -> Answered:
        """Ask some shards where they were seen last."""
        at: dict[str, list[tuple[int, str]]] = {}
        for number in shards:
            at.setdefault(self._homes[number], []).append((number, self._shards[number].key))
        group = list(at.items())
        first = group[0][0]

        async def ask() -> dict[str, Any]:
            found: dict[str, Any] = await self._client.run(
                answered_there, group, combine, told, is_all, workers=[first], on_error="return"
            )
            return found

        asked = asyncio.run_coroutine_threadsafe(ask(), self._client.loop.asyncio_loop)
        try:
            while not wait([asked], LOOK_SECONDS).done:
                if not at.keys() <= self._client.nthreads().keys():  # what others have answered is asked for again
                    return Answered([], list(shards))
            found = asked.result()
        except OSError:  # of the scheduler, which is asked for the shards next
            return Answered([], list(shards))
        finally:
            asked.cancel()
        return found_or_absent(found[first], group)

    def _look_again(self, shards: Iterable[int]) -> bool:
        """Find where these shards are, evenly, as soon as all of them are somewhere; return whether one has moved."""
        numbers = list(shards)
        futures, pause, seen = [self._shards[number] for number in numbers], FIRST_PAUSE, time.monotonic()
        while not all((holders := self._client.who_has(futures)).get(future.key) for future in futures):
            for future in futures:
                if future.status in ("error", "cancelled"):
                    future.result()  # raises
            seen = time.monotonic() if self._client.nthreads() else seen
            if time.monotonic() - seen > ALONE_SECONDS:
                raise ClusterError(ALONE.format(minutes=ALONE_SECONDS / 60.0))
            time.sleep(pause)
            pause = min(2.0 * pause, LONGEST_PAUSE)
        taken, moved = Counter[str](), False
        for number, future in zip(numbers, futures, strict=True):
            before, at = self._homes[number], holders[future.key]
            home = min(at, key=lambda worker: (taken[worker], worker))
            taken[home] += 1
            if home != before:
                self._homes[number], moved = home, True
                self._losses[number] += bool(before)
            if self._losses[number] > MOST_LOSSES:
                raise ClusterError(SHORT_OF_MEMORY)
        if not moved:  # the scheduler does not know yet that a worker is gone
            time.sleep(FIRST_PAUSE)
        return moved

    def close(self) -> None:
        """Let the shards go."""
        self._shards = []


def divided(homes: Homes) -> list[Homes]:
    """Return groups of workers, whose first ones are asked at once and ask the others in their group."""
    n, parts = len(homes), min(len(homes), FAN_OUT)
    return [homes[n * part // parts : n * (part + 1) // parts] for part in range(parts)]


async def answered_there(group: Homes, combine: Combine, told: bytes, is_all: bool, dask_worker: Any) -> Answered:
    """Return what shards of this worker, the first of the group, answer and those of the others, which it asks."""
    from distributed.core import clean_exception

    (_, own), *others = group
    loop, finishing = asyncio.get_running_loop(), list[Callable[[Any], Any]]()

    async def one(number: int, key: str) -> Answered:
        shard = dask_worker.data.get(key)
        if shard is None:
            return Answered([], [number])
        return await loop.run_in_executor(None, answer_of, shard, told, finishing)

    async def other(group: Homes) -> Answered:
        found: Any
        try:
            message = {"function": as_bytes(answered_there), "args": as_bytes((group, combine, told, False))}
            found = await dask_worker.rpc(group[0][0]).run(**message)
            found = found["result"] if found["status"] == "OK" else clean_exception(**found)[1]
        except OSError as error:
            found = error
        return found_or_absent(found, group)

    found = together(await asyncio.gather(*(one(*shard) for shard in own), *map(other, divided(others))), combine)
    if not is_all or found.absent or found.error is not None:
        return found
    return await loop.run_in_executor(None, finished_by, finishing[0], found)


def answer_of(shard: Shard, told: bytes, finishing: list[Callable[[Any], Any]]) -> Answered:
    """Return what a shard answers; `finishing` gets what may finish what all shards answer."""
    function, arguments, finish = of_bytes(told)
    try:
        found = function(shard, *arguments)
    except Exception as error:
        return Answered([], [], error)
    finishing.append(lambda of_all: finish(shard, of_all, *arguments))
    return Answered([found], [])


def finished_by(finish: Callable[[Any], Any], found: Answered) -> Answered:
    """Return what a shard makes of what all have answered."""
    try:
        return Answered([finish(found.own[0])], [])
    except Exception as error:
        return Answered([], [], error)


def as_bytes(value: Any) -> bytes:
    """Return what `of_bytes` makes a copy of, whose arrays can be written to; functions of a script go whole."""
    from distributed.protocol import pickle

    return bytes(pickle.dumps(value, protocol=WRITABLE))  # type: ignore[no-untyped-call]


def of_bytes(told: bytes) -> Any:
    """Return a value."""
    from distributed.protocol import pickle

    return pickle.loads(told)  # type: ignore[no-untyped-call]


def found_or_absent(found: Any, group: Homes) -> Answered:
    """Return what a worker says of a group, or that its shards are absent where it was not reached."""
    if isinstance(found, OSError):
        return Answered([], [number for _, shards in group for number, _ in shards])
    if isinstance(found, Exception):
        raise found
    assert isinstance(found, Answered)
    return found


def together(found: Sequence[Answered], combine: Combine) -> Answered:
    """Return what several say, combined."""
    own = list(itertools.chain.from_iterable(one.own for one in found))
    absent = list(itertools.chain.from_iterable(one.absent for one in found))
    error = next((one.error for one in found if one.error is not None), None)
    return Answered([combine(own)] if len(own) > 1 else own, absent, error)


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
