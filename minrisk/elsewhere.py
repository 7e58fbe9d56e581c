"""Fitting to rows that lie elsewhere: in the partitions of Dask collections."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minrisk._typing import Labels
from minrisk.data.chunks import gathered_labels
from minrisk.data.label_cells import check_labels
from minrisk.rows.remote.driver import Driver
from minrisk.rows.remote.given import GivenRows, Part

if TYPE_CHECKING:
    from minrisk.estimator import BoostedClassifier

FEW_ROWS = 1 << 15  # up to which the rows are fitted in one task: many exchanges would take longer
KEPT = ("n_features_in_", "feature_names_in_", "_column_names")  # what an estimator keeps of the features


class PartFacts(NamedTuple):
    """What is said of a partition."""

    n_rows: int
    labels: Labels  # sorted
    dtype: np.dtype
    columns: dict[str, Any]  # by their names in `KEPT`


def check_part(
    estimator: BoostedClassifier, number: int, X: Any, y: Any, weight: Any, cost: Any
) -> tuple[Part | None, PartFacts | None]:
    """Numbers and labels of a partition, and what is said of it; None where it has no rows."""
    n_rows = X.shape[0]
    if n_rows == 0:
        return None, None
    checked = copy(estimator)
    try:
        if y is None or np.shape(y)[0] != n_rows:
            raise ValueError(f"y must have a label for each of the {n_rows} rows, got {0 if y is None else len(y)}.")
        X, y = checked._chunk_numbers(X, check_labels(y), reset=True)
    except ValueError as problem:
        raise ValueError(f"partition {number}: {problem}") from None
    kept = {name: vars(checked)[name] for name in KEPT if name in vars(checked)}
    return Part(X, np.asarray(y)), PartFacts(n_rows, np.unique(y), X.dtype, kept)


class Elsewhere:
    """The rows of a fit in the partitions of collections; what is made of them is let go at the end of a ``with`` block.

    Parameters
    ----------
    estimator : BoostedClassifier
    X, y, weight, cost : collections

    Attributes
    ----------
    labels : ndarray
        All of y, sorted.
    n_rows : int
    dtype : dtype
        That X has in common.
    """

    def __init__(self, estimator: BoostedClassifier, X: Any, y: Any, weight: Any, cost: Any) -> None:
        from minrisk.rows.dask.partitions import checked_parts, client_of

        self._client = client_of()
        bare = type(estimator)(**estimator.get_params(deep=False))
        parts, facts = checked_parts(self._client, Check(bare), X, y, weight, cost)
        self._parts = [part for part, own in zip(parts, facts, strict=True) if own is not None]
        self._facts: list[PartFacts] = [own for own in facts if own is not None]
        if not self._facts:
            raise ValueError("X must have rows, got none in any of its partitions.")
        first = self._facts[0].columns
        for own in self._facts[1:]:
            if not all(np.array_equal(own.columns.get(name), first.get(name)) for name in KEPT):
                raise ValueError(f"partitions must have the same columns, got {first} and {own.columns}.")
        vars(estimator).update(first)
        self.labels = gathered_labels([own.labels for own in self._facts]).labels
        self.n_rows = sum(own.n_rows for own in self._facts)
        self.dtype = np.result_type(*(own.dtype for own in self._facts))

    def __enter__(self) -> Elsewhere:
        return self

    def __exit__(self, *error: object) -> None:
        self._parts = []

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return int(self._facts[0].columns["n_features_in_"])

    def driver(self, n_threads: int) -> Driver:
        """Asks the shards that are made of the partitions."""
        from minrisk.rows.dask.engine import DaskEngine

        engine = DaskEngine(self._client, self._parts, [own.n_rows for own in self._facts], n_threads)
        self._parts = []
        none = Part(np.empty((0, self.n_features), self.dtype), self.labels[:0])
        return Driver(engine, GivenRows([none], [0], self.n_rows))

    def fitted_whole(self, estimator: BoostedClassifier, cost: Any) -> dict[str, Any]:
        """Attributes of an estimator that is fitted to all rows in one task."""
        found: dict[str, Any] = self._client.submit(_fitted, estimator, cost, self._parts, pure=False).result()
        return found


class Check:
    """`check_part` of an estimator, as a task."""

    def __init__(self, estimator: BoostedClassifier) -> None:
        self._estimator = estimator

    def __call__(self, number: int, X: Any, y: Any, weight: Any, cost: Any) -> Any:
        return check_part(self._estimator, number, X, y, weight, cost)


def _fitted(estimator: BoostedClassifier, cost: Any, parts: Sequence[Part]) -> dict[str, Any]:
    whole = GivenRows(parts, [0] * len(parts), 0)
    made = type(estimator)(**estimator.get_params(deep=False))
    made.fit(whole.X, whole.y, whole.weight, whole.cost if cost is None else cost)
    return {name: value for name, value in vars(made).items() if name not in estimator.get_params(deep=False)}
