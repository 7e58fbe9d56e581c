"""Checks of parameters, each a clear error; checks of data, mostly scikit-learn's; arrays of labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from numbers import Integral, Real
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.utils.validation import validate_data

from minrisk._typing import Labels
from minrisk.costs.labels import as_labels, match_labels

NO_NUMBERS = ("convert string to float", "Cannot cast", "could not be promoted", "datetime", "Timestamp", "Timedelta")
ENCODED = "encode it, for example with sklearn.preprocessing.OrdinalEncoder"
CATEGORIES = 'if it holds categories say so by its dtype, X[{column!r}].astype("category")'
COUNTED = "make numbers of it, for example days since the first"


class Choice(NamedTuple):
    """One of these strings."""

    options: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.options

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(option) for option in self.options)


class Number(NamedTuple):
    """A number within bounds."""

    kind: type  # int or float
    low: float
    high: float = float("inf")
    open_low: bool = False
    optional: bool = False

    def accepts(self, value: Any) -> bool:
        if value is None:
            return self.optional
        if isinstance(value, bool) or not isinstance(value, Integral if self.kind is int else Real):
            return False
        value = float(value)
        above: bool = value > self.low if self.open_low else value >= self.low
        return above and value <= self.high and math.isfinite(value)

    def __str__(self) -> str:
        noun = "a whole number" if self.kind is int else "a number"
        low = f"above {self.low:g}" if self.open_low else f"at least {self.low:g}"
        high = "" if self.high == float("inf") else f" and at most {self.high:g}"
        return f"{noun} {low}{high}{', or None' if self.optional else ''}"


class Flag(NamedTuple):
    """True or False."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, (bool, Integral)) and int(value) in (0, 1)

    def __str__(self) -> str:
        return "True or False"


class Features(NamedTuple):
    """A share of the features, or a number of them."""

    optional: bool = False

    def accepts(self, value: Any) -> bool:
        if value is None:
            return self.optional
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        return float(value) >= 1 if isinstance(value, Integral) else 0 < float(value) <= 1

    def __str__(self) -> str:
        either = "a share of the features above 0 and at most 1.0, or a whole number of them"
        return either + ", or None" if self.optional else either


class Folds(NamedTuple):
    """Folds of cross-validation, as scikit-learn's `cv`."""

    def accepts(self, value: Any) -> bool:
        if value is None or isinstance(value, Integral):
            return value is None or (not isinstance(value, bool) and int(value) >= 1)
        usable = hasattr(value, "split") or isinstance(value, Iterable)
        return usable and not isinstance(value, str | bytes | Mapping)

    def __str__(self) -> str:
        return "a whole number at least 1, a splitter as StratifiedKFold(), pairs (train, test) of row numbers, or None"


def share_of(max_features: float, n_features: int) -> float:
    """The share of the features that a share of them, or a number, asks for."""
    return max_features / n_features if isinstance(max_features, Integral) else max_features


def n_drawn(max_features: float, n_features: int) -> int:
    """The number of features that a share of them, or a number, asks for: one at least, all at most."""
    return min(max(1, round(share_of(max_features, n_features) * n_features)), n_features)


class Rule(Protocol):
    """What a parameter may be; its str() says so."""

    def accepts(self, value: Any) -> bool:
        """Whether the value may be used."""


def check_parameters(name: str, values: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Check constructor parameters against their rules.

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came.
    """
    for parameter, rule in rules.items():
        if not rule.accepts(values[parameter]):
            raise ValueError(f"{name}: {parameter} must be {rule}, got {values[parameter]!r}.")


def check_numbers(estimator: Any, X: Any, *y: Any, reset: bool) -> Any:
    """scikit-learn's check of X, and of y if given; NaN is allowed.

    Raises
    ------
    ValueError
        As scikit-learn's, but of text and dates it says which column holds them.
    TypeError
        As scikit-learn's: of sparse matrices, for example.
    """
    try:
        checked = validate_data(estimator, X, *y, dtype="numeric", ensure_all_finite="allow-nan", reset=reset)
        values = checked[0] if y else checked
        if values.dtype == object:  # as those of a frame with a column of objects still are
            values = values.astype(np.float64)
        return (values, checked[1]) if y else values
    except (ValueError, TypeError) as problem:
        found = _first_other(X) if any(words in str(problem) for words in NO_NUMBERS) else None
        if found is None:
            raise
        column, value = found
        kind, instead = ("text", ENCODED) if isinstance(value, str) else ("dates", COUNTED)
        if kind == "text" and hasattr(X, "isetitem"):  # a pandas frame
            instead = CATEGORIES.format(column=column)
        raise ValueError(
            f"X must hold numbers, got {kind} in column {column!r} ({str(value)!r}): leave the column out, or "
            f"{instead}."
        ) from problem


def _first_other(X: Any) -> tuple[Any, Any] | None:
    """The first column of X with a text that is no number, or a date, and that."""
    cells = np.asarray(X, dtype=object)
    for j, column in enumerate(cells.T):
        for cell in column:
            if isinstance(cell, (date, timedelta)) or (isinstance(cell, str) and not _is_number(cell)):
                return (X.columns[j] if hasattr(X, "columns") else j), cell
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def label_array(labels: Any, classes: Labels) -> Labels:
    """Labels of decisions as an array: classes as they are in theirs, with their dtype.

    Parameters
    ----------
    labels : sequence of labels
        Classes first, then decisions that are no class.
    classes : ndarray of shape (K,)

    Returns
    -------
    ndarray
        Of the dtype of the classes or, with other decisions, of the smallest that holds all (int16 for uint8 and -1);
        of objects where kinds are mixed.
    """
    places = [at for at in match_labels(labels, as_labels(classes)) if at >= 0]
    known = classes[places]
    others = list(labels)[len(places) :]
    if not others:
        return np.asarray(known)
    wanted = [*as_labels(known), *others]
    parts = [np.asarray([label], np.min_scalar_type(label) if _is_whole(label) else None) for label in others]
    try:
        array = np.concatenate([known, *parts])
    except TypeError:  # kinds without a common dtype
        return _objects(wanted)
    if array.dtype.kind == "f" and all(map(_is_whole, wanted)):  # NumPy's choice for uint64 and int8
        array = np.asarray(wanted)
    return array if array.tolist() == wanted else _objects(wanted)


def plain_array(values: Any) -> Labels:
    """Values as an array that holds them as they are: of their own dtype, or of objects where kinds are mixed."""
    values = list(values)
    array = np.asarray(values) if len({np.asarray(value).dtype.kind for value in values}) == 1 else _objects(values)
    return array if array.tolist() == values else _objects(values)  # texts lose NULs at their end


def _objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _is_whole(label: Any) -> bool:
    return isinstance(label, Integral) and not isinstance(label, bool)
