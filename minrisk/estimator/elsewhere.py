"""Fitting to rows that lie elsewhere: in the partitions of Dask collections."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from minrisk._typing import Labels
from minrisk._utils import warn_caller
from minrisk.costs.matrix import as_numbers, check_cells, column_names
from minrisk.costs.reading import check_sample_order
from minrisk.costs.weights import checked_weights
from minrisk.data.chunks import gathered_labels
from minrisk.data.column_report import rounded_columns
from minrisk.data.labels import check_labels
from minrisk.estimator.inputs import Inputs, tell_rounded
from minrisk.rows.placed import Part, PlacedRows, Seal, check_same
from minrisk.rows.remote import Driver

if TYPE_CHECKING:
    from minrisk.rows.dask import DaskPartitions

FEW_ROWS = 1 << 15  # up to which the rows are fitted in one task: many exchanges would take longer
KEPT = ("n_features_in_", "feature_names_in_", "_column_names")  # what an estimator keeps of the features


class PartFacts(NamedTuple):
    """Hold what is said of a partition."""

    seal: Seal
    n_counted: int  # of some weight
    labels: Labels  # sorted
    counted: np.ndarray  # of each label, whether rows of some weight have it
    dtype: np.dtype
    columns: dict[str, Any]  # by their names in `KEPT`
    day_columns: tuple[Any, ...]  # which of them hold dates
    rounded: list[Any]  # which hold whole numbers beyond 2**53
    cost_example: Any = None  # no rows of costs per row


def check_part(
    estimator: Inputs, number: int, X: Any, y: Any, weight: Any, cost: Any
) -> tuple[Part | None, PartFacts | None]:
    """Return numbers and labels of a partition, and what is said of it; None where it has no rows."""
    n_rows = X.shape[0]
    if n_rows == 0:
        return None, None
    checked = copy(estimator)
    try:
        if y is None or np.shape(y)[0] != n_rows:
            raise ValueError(f"y must have a label for each of the {n_rows} rows, got {0 if y is None else len(y)}.")
        if cost is not None:
            check_costs(cost, n_rows)
            check_sample_order(cost, X=X, y=y)
        table = X
        X, y = checked._chunk_numbers(X, check_labels(y), reset=True)
        labels, codes = np.unique(y, return_inverse=True)
        check_classification_targets(np.repeat(labels, 3))  # alone they would look like measurements
        weight = checked_weights(weight, n_rows, is_part=True)
    except ValueError as problem:
        raise ValueError(f"partition {number}: {problem}") from None
    kept = {name: vars(checked)[name] for name in KEPT if name in vars(checked)}
    counted = np.bincount(codes, weights=weight) > 0.0
    n_counted = n_rows if weight is None else int(np.count_nonzero(weight))
    day_columns, example = checked._categories.day_columns, None if cost is None else cost[:0]
    rounded = rounded_columns(table, X)
    part = Part(X, np.asarray(y), weight, cost)
    facts = PartFacts(Seal.of(number, part), n_counted, labels, counted, X.dtype, kept, day_columns, rounded, example)
    return part, facts


def check_costs(cost: Any, n_rows: int) -> None:
    """Look at costs of each row of a partition as far as one can without knowing all classes."""
    if np.ndim(cost) < 2:
        raise ValueError(
            "cost must have a column for each decision, got one number for each row: give a table of two columns or "
            "more."
        )
    if np.shape(cost)[0] != n_rows:
        raise ValueError(f"cost must have a row for each of the {n_rows} rows of X, got {np.shape(cost)[0]}.")
    if np.ndim(cost) == 2:
        names = column_names(cost)
        check_cells(as_numbers(cost, None, names), None, names)


def partitions_of(X: Any, y: Any, weight: Any, cost: Any) -> DaskPartitions:
    """Return the partitions of collections."""
    from minrisk.rows.dask import DaskPartitions

    return DaskPartitions(X, y, weight, cost)


class Elsewhere:
    """The rows of a fit in the partitions of collections.

    Parameters
    ----------
    estimator : Inputs
        It learns about the features.
    X, y, weight, cost : collections

    Attributes
    ----------
    labels : ndarray
        All of y, sorted.
    counted : ndarray of bool
        Of each label, whether rows of some weight have it.
    weighted : bool
        Whether rows have weights.
    n_rows : int
    cost_example : array or frame or None
        Of costs per row, without rows; None: there are none.
    are_few : bool
        Whether they are best fitted in one task.
    dtype : dtype
        That X has in common.
    """

    def __init__(self, estimator: Inputs, X: Any, y: Any, weight: Any, cost: Any) -> None:
        self._partitions = partitions_of(X, y, weight, cost)
        self._driver: Driver | None = None
        parts, facts = self._partitions.checked(partial(check_part, _bare(estimator)))
        self._parts = [part for part, own in zip(parts, facts, strict=True) if own is not None]
        self._facts: list[PartFacts] = [own for own in facts if own is not None]
        if not self._facts:
            raise ValueError("X must have rows, got none in any of its partitions.")
        first, self.day_columns = self._facts[0].columns, self._facts[0].day_columns
        for own in self._facts[1:]:
            if own.day_columns != self.day_columns:
                raise ValueError("partitions must hold dates in the same columns: give a column one type in all.")
            if not all(_same(own.columns.get(name), first.get(name)) for name in KEPT):
                one, other = (told.get("_column_names") or told["n_features_in_"] for told in (first, own.columns))
                raise ValueError(f"partitions must have the same columns in one order, got {one} and {other}.")
        tell_rounded(dict.fromkeys(name for own in self._facts for name in own.rounded))
        for name in KEPT:  # what an earlier fit has kept may not be there now
            vars(estimator).pop(name, None)
        vars(estimator).update(first)
        self.labels = gathered_labels([own.labels for own in self._facts]).labels
        self.weighted = weight is not None or estimator.class_weight is not None
        self.counted = np.isin(self.labels, np.concatenate([own.labels[own.counted] for own in self._facts]))
        if not self.counted.any():
            raise ValueError("sample_weight must have one weight above zero, got only zeros: correct it.")
        self._seals = [own.seal for own in self._facts]
        self.n_rows = sum(seal.n_rows for seal in self._seals)
        self.cost_example = self._facts[0].cost_example
        shapes = {np.shape(own.cost_example)[1:] for own in self._facts}
        if len(shapes) > 1:
            raise ValueError(f"cost must have the same columns in all partitions, got {sorted(shapes)}.")
        self.are_few = sum(own.n_counted for own in self._facts) <= FEW_ROWS
        self.dtype = np.result_type(*(own.dtype for own in self._facts))

    @property
    def n_features(self) -> int:
        """Return the number of columns of X."""
        return int(self._facts[0].columns["n_features_in_"])

    def driver(self, n_threads: int) -> Driver:
        """Return who asks the shards that are made of the partitions."""
        engine = self._partitions.engine(self._parts, self._seals, n_threads)
        self._parts, self._driver = [], Driver(engine, self._none())  # the shards have the parts
        return self._driver

    def close(self) -> None:
        """Let the rows go."""
        self._parts = []
        if self._driver is not None:
            self._driver.close()

    def _none(self) -> PlacedRows:
        """Return the driver's own rows."""
        none = Part(np.empty((0, self.n_features), self.dtype), self.labels[:0], np.empty(0), self.cost_example)
        return PlacedRows([none], [0], self.n_rows)

    def fitted_whole(self, estimator: Inputs, cost: Any, checkpoint: Any) -> dict[str, Any]:
        """Return the attributes of an estimator fitted to all rows in one task, whose warnings are given here.

        With a checkpoint the rows come here, where its file is.
        """
        found: dict[str, Any]
        fit = partial(fit_whole, _bare(estimator), cost, self._seals)
        if checkpoint is None:
            found, said = self._partitions.whole(fit, self._parts)
        else:
            found, said = fit(self._partitions.whole(list, self._parts), checkpoint)
        for message in said:
            warn_caller(message)
        return found


def _same(one: Any, other: Any) -> bool:
    return np.array_equal(np.asarray(one), np.asarray(other))


def _bare(estimator: Any) -> Any:
    """Return an estimator with the same parameters, and no fit."""
    return type(estimator)(**estimator.get_params(deep=False))


def fit_whole(
    estimator: Any, cost: Any, seals: Sequence[Seal], parts: Sequence[Part], checkpoint: Any = None
) -> tuple[dict[str, Any], list[Warning]]:
    """Return the attributes of an estimator that is fitted to all rows, and its warnings."""
    check_same(parts, seals)
    rows, here = PlacedRows(parts, [0] * len(parts), 0), {*estimator._parameters(), *KEPT}
    cost = rows.cost if cost is None else cost
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        fitted = _bare(estimator).fit(rows.X, rows.y, rows.weight, cost, checkpoint=checkpoint)
    attributes = {name: value for name, value in vars(fitted).items() if name not in here}
    return attributes, [one.message for one in said if isinstance(one.message, UserWarning)]
