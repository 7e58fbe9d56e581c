"""Dask collections as partitions of rows, and answers about them that are computed when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minrisk.data.partitioned import is_partitioned

NO_CLIENT = "X is a Dask collection, which is fitted on a cluster: make a dask.distributed.Client first."
NOT_ALIKE = "{name} must be a Dask array or dataframe with a partition for each of the {n} of X, got {got}."


def client_of() -> Any:
    """The current client.

    Raises
    ------
    ValueError
        If there is none.
    """
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        raise ValueError(NO_CLIENT) from None


def delayed_parts(X: Any) -> list[Any]:
    """A delayed array or frame for each partition, whole rows of it."""
    if hasattr(X, "rechunk"):
        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        return list(np.ravel(X.to_delayed()))
    return list(X.to_delayed())


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
            raise ValueError(f"{name} must have a row for each of the {sum(X.chunks[0])} of X, got {sum(column.chunks[0])}.")
        column = column.rechunk({0: X.chunks[0]}) if known else column
    found = delayed_parts(column)
    if len(found) != n_parts:
        raise ValueError(NOT_ALIKE.format(name=name, n=n_parts, got=f"{len(found)} partitions"))
    return found


def checked_parts(
    client: Any, check: Callable[..., Any], X: Any, y: Any, weight: Any, cost: Any
) -> tuple[list[Any], list[Any]]:
    """Futures of what check(number, X, y, weight, cost) makes of each partition, and of what it says of it."""
    import dask

    parts = delayed_parts(X)
    n = len(parts)
    columns = [aligned(name, c, X, n) for name, c in (("y", y), ("sample_weight", weight), ("cost", cost))]
    asked = dask.delayed(check)
    both = client.compute([asked(p, part, *own) for p, (part, *own) in enumerate(zip(parts, *columns, strict=True))])
    rows, facts = client.map(_first, both, pure=False), client.map(_second, both, pure=False)
    return rows, client.gather(facts)


def _first(both: tuple[Any, Any]) -> Any:
    return both[0]


def _second(both: tuple[Any, Any]) -> Any:
    return both[1]


def answered(call: Callable[[Any], Any], X: Any, width: int | None, dtype: Any) -> Any:
    """call(rows) of each partition, as a Dask array of (n,) or (n, width) that is computed when it is asked for."""
    import dask.array

    parts = delayed_parts(X)
    sizes: Sequence[Any] = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(parts)
    asked = dask.delayed(call)
    found = [
        dask.array.from_delayed(asked(part), (size,) if width is None else (size, width), dtype=dtype)
        for part, size in zip(parts, sizes, strict=True)
    ]
    return dask.array.concatenate(found, allow_unknown_chunksizes=True)
