"""Shards on a Dask cluster: a map over them, and a reduction."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from minrisk.rows.remote.placed import Part, PlacedRows
from minrisk.rows.remote.replica import Shard

FAN_IN = 16  # results that are reduced in one task, or brought to the client


class DaskEngine:
    """See `minrisk.rows.remote.driver.Engine`.

    Parameters
    ----------
    client : distributed.Client
    parts : sequence of Future
        Of `Part`.
    sizes : sequence of int
        Rows of each.
    n_threads : int
        Of each shard.
    """

    def __init__(self, client: Any, parts: Sequence[Any], sizes: Sequence[int], n_threads: int = 1) -> None:
        self._client = client
        firsts, n_rows = [0, *itertools.accumulate(sizes)][:-1], sum(sizes)
        self._shards = [
            client.submit(
                made_shard, number, n_rows, n_threads, [firsts[p] for p in group], [parts[p] for p in group], pure=False
            )
            for number, group in enumerate(self._groups(parts))
        ]
        self.n_shards = len(self._shards)
        self._last: list[str | None] = [None] * self.n_shards  # worker that each was asked at, as far as is known

    def _groups(self, parts: Sequence[Any]) -> list[list[int]]:
        """Numbers of the partitions that are made one shard: as many as a worker has threads, of what it holds."""
        holders = self._client.who_has(list(parts))
        threads = self._client.nthreads()
        held: dict[str, list[int]] = {}
        for number, part in enumerate(parts):
            at = holders.get(part.key) or ("",)
            held.setdefault(min(at, key=lambda worker: (len(held.get(worker, ())), worker)), []).append(number)
        groups = []
        for worker, numbers in held.items():
            n = min(len(numbers), threads.get(worker, 1))
            groups += [numbers[len(numbers) * g // n : len(numbers) * (g + 1) // n] for g in range(n)]
        return sorted(groups)

    def map(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Of each shard the future of function(shard, *its arguments)."""
        self._last = [
            last if last in at else min(at, default=None) for last, at in zip(self._last, self._held(), strict=True)
        ]
        return [
            self._client.submit(
                function, shard, *own, pure=False, workers=last, allow_other_workers=last is not None
            )  # where it has been asked before, rather than at an idle worker: a copy there would have to catch up
            for shard, own, last in zip(self._shards, arguments, self._last, strict=True)
        ]

    def _held(self) -> list[Sequence[str]]:
        """The workers that hold each shard."""
        holders = self._client.who_has(self._shards)
        return [holders.get(shard.key) or () for shard in self._shards]

    def reduce(self, function: Callable[[Sequence[Any]], Any], futures: Sequence[Any]) -> Any:
        """function(results)."""
        futures = list(futures)
        while len(futures) > FAN_IN:
            groups = [futures[g : g + FAN_IN] for g in range(0, len(futures), FAN_IN)]
            futures = [self._client.submit(function, group, pure=False) for group in groups]
        found = self._client.gather(futures)
        return found[0] if len(found) == 1 else function(found)

    def close(self) -> None:
        """Let the shards go."""
        self._shards = []


def made_shard(number: int, n_rows: int, n_threads: int, firsts: Sequence[int], parts: Sequence[Part]) -> Shard:
    """The rows of some partitions."""
    return Shard(PlacedRows(parts, firsts, n_rows), number, n_threads)
