"""Shards on a Dask cluster: a map over them, and a reduction."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from minrisk.rows.dask.cluster import gathered
from minrisk.rows.remote.placed import Part, PlacedRows, Seal, check_same
from minrisk.rows.remote.replica import Shard

FAN_IN = 16  # results that are reduced in one task, or brought to the client


class DaskEngine:
    """See `minrisk.rows.remote.driver.Engine`.

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
        """Numbers of the partitions that are made one shard, and the worker that holds them.

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
        """Of each shard the future of function(shard, *its arguments), asked where the shard is if that is there.

        Without a wish, Dask takes tasks of few shards for roots of a graph and deals them to any worker. All tasks are
        one graph, which takes the scheduler a third of the time of as many graphs.
        """
        from dask.base import annotate

        name = f"{function.__name__}-{uuid4().hex}"
        homes = {f"{name}-{number}": home for number, home in enumerate(self._homes)}
        with annotate(workers=homes.get, allow_other_workers=True):
            return list(self._client.map(function, self._shards, *zip(*arguments, strict=True), key=list(homes)))

    def look_again(self) -> None:
        """Where shards are, which were not where they were asked: each at one of those who have it, evenly."""
        holders, taken = self._client.who_has(self._shards), Counter[str]()
        for number, shard in enumerate(self._shards):
            at = holders.get(shard.key) or ()
            self._homes[number] = [min(at, key=lambda worker: (taken[worker], worker))] if at else []
            taken.update(self._homes[number])

    def reduce(self, function: Callable[[Sequence[Any]], Any], futures: Sequence[Any]) -> Any:
        """function(results)."""
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
    """The rows of some partitions, as they were when these were checked."""
    check_same(parts, seals)
    return Shard(PlacedRows(parts, firsts, n_rows), number, n_threads)
