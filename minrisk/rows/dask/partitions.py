"""Dask collections as partitions of rows, and answers about them that are computed when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minrisk.data.partitioned import is_partitioned
from minrisk.rows.dask.cluster import check_workers, gathered
from minrisk.rows.dask.engine import DaskEngine
from minrisk.rows.remote.placed import Seal

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
    """The current client.

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
    """A delayed array or frame for each partition, whole rows of it.

    Graphs stay as they are: optimised apart, X and y would each compute what both are made of.
    """
    if hasattr(X, "rechunk"):
        if any(n > 1 for n in X.numblocks[1:]):
            X = X.rechunk({axis: -1 for axis in range(1, X.ndim)})
        return list(X.to_delayed(optimize_graph=False).ravel())
    return list(X.to_delayed(optimize_graph=False))


def aligned(name: str, column: Any, X: Any, n_parts: int) -> list[Any]:
    """The partitions of y, weights or costs beside those of X; arrays of known chunks are cut as X is.

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
    """Partitions of X, and of y, weights and costs beside them, for `minrisk.estimator.elsewhere`.

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
        """What is made of each partition, and what is said of it."""
        from dask.delayed import delayed

        asked, columns = delayed(check), zip(*self._columns, strict=True)
        both = self._client.compute([asked(number, *own) for number, own in enumerate(columns)])
        del self._columns
        rows, facts = (self._client.map(part, both, pure=False) for part in (_first, _second))
        return rows, gathered(self._client, facts)

    def engine(self, parts: Sequence[Any], seals: Sequence[Seal], n_threads: int) -> DaskEngine:
        """Shards of them."""
        return DaskEngine(self._client, parts, seals, n_threads)

    def whole(self, function: Callable[[Sequence[Any]], Any], parts: Sequence[Any]) -> Any:
        """function(the parts), as one task."""
        return gathered(self._client, [self._client.submit(function, list(parts), pure=False)])[0]


def _first(both: tuple[Any, Any]) -> Any:
    return both[0]


def _second(both: tuple[Any, Any]) -> Any:
    return both[1]


def answered(call: Callable[[Any], Any], X: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """call(rows) of each partition, as a Dask array of (n, *shape) that is computed when it is asked for."""
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
