"""Labels as they are given, in any container, and what a model file keeps of labels, categories and names of columns.

A missing label, what is no label, and what no file keeps are refused.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from datetime import date, datetime
from typing import Any

import numpy as np

from minrisk._utils.text import short
from minrisk.data.frames import NUMBERS, check_unmasked, is_missing, of_cells, plain

MOST_LETTERS = 1000  # in a label: every prediction holds one for each row
MOST_BITS = 64  # of a whole number
MOST_FEATURES = 1 << 22  # with the columns that categories add; importances of these take 32 MB
MOST_NESTED = 15  # tuples within each other: as many as the levels of a header allow
KEPT_NUMBERS = f"finite numbers of at most {MOST_BITS} bits"
AS_TEXTS = "make texts of them, as y.astype(str) does"
RENAMED = "name the columns by texts, X.columns = X.columns.astype(str)"


def is_kept(value: Any, letters: float = math.inf, bits: float = MOST_BITS) -> bool:
    """Say whether a file keeps a label or a category: a text, a truth value or a finite number.

    Examples
    --------
    >>> is_kept("a"), is_kept(2**63), is_kept(2**64), is_kept(math.inf), is_kept(("a", 1))
    (True, True, False, False, False)
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return len(value) <= letters
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and value.bit_length() <= bits  # truth values are whole numbers


def check_kept(labels: Collection[Any], name: str) -> None:
    """Refuse labels that a file does not keep: all may be dates, but not some of them.

    Raises
    ------
    ValueError
        Naming the first of them.
    """
    if all(isinstance(label, np.datetime64) for label in labels):
        return
    for label in labels:
        if not is_kept(label, MOST_LETTERS):
            what, instead = f"{shown(label)} of type {type(label).__name__}", AS_TEXTS
            if isinstance(label, str):  # only too long
                what, instead = f"{shown(label)} of {len(label)} letters", "shorten it"
            raise ValueError(
                f"{name} must be texts of at most {MOST_LETTERS} letters or {KEPT_NUMBERS}, got {what}, which no model "
                f"file could keep: {instead}."
            )


def check_name(name: Any) -> None:
    """Refuse the name of a column that a file does not keep.

    Raises
    ------
    ValueError
        Saying what it is.
    """
    if not isinstance(name, str):
        try:
            name_out(name)
        except TypeError as error:
            raise ValueError(str(error)) from None


def name_out(name: Any, nested: int = 0) -> Any:
    """Return the name of a column as JSON: number, text, date, or a tuple of these."""
    if isinstance(name, np.generic) and name.dtype.kind in "biufU":
        name = name.item()
    if isinstance(name, tuple) and nested < MOST_NESTED:
        return {"tuple": [name_out(part, nested + 1) for part in name]}
    if isinstance(name, datetime) and not getattr(name, "nanosecond", 0):  # pandas' Timestamp is one
        return {"time": name.isoformat()}
    if type(name) is date:
        return {"date": name.isoformat()}
    if is_kept(name):
        return name
    raise TypeError(
        f"X must have columns whose names a model file can keep, {KEPT_NUMBERS}, texts, dates or tuples of these in at "
        f"most {MOST_NESTED} levels, got {shown(name)}: {RENAMED}."
    )


def name_in(name: Any) -> Any:
    """Return the name of a column as `name_out` wrote it."""
    if not isinstance(name, dict):
        if is_kept(name, bits=math.inf):
            return name
    elif len(name) == 1:
        ((kind, value),) = name.items()
        if kind == "tuple" and isinstance(value, list):
            return tuple(map(name_in, value))
        if kind in ("time", "date"):
            return (datetime if kind == "time" else date).fromisoformat(value)
    raise ValueError("columns must be named by numbers, texts, dates or tuples of these.")


def shown(value: Any) -> str:
    """Return a value in a few characters; Python writes no whole number of some thousand digits."""
    try:
        return short(repr(value.item() if isinstance(value, np.generic) else value), 60)
    except ValueError:
        return "a number of more digits than Python writes"


LABEL_KINDS = NUMBERS + "UMc"  # kinds of dtypes of arrays of labels; M: dates. scikit-learn refuses complex numbers


def check_labels(y: Any, name: str = "y", any_kind: bool = False) -> Any:
    """Return labels without what libraries of tables have for missing values; other containers are left alone.

    Parameters
    ----------
    y : array-like
    name : str, default="y"
        What messages call it.
    any_kind : bool, default=False
        Whether all that can be told apart are labels, also of several kinds, as "refer" beside numbers.

    Returns
    -------
    array-like
        Itself, or what it holds as an array of NumPy's.

    Raises
    ------
    ValueError
        If a label is missing, or is neither a number nor a text (nor a date, in an array of dates), or if there are
        both; the message names it and its row.

    Examples
    --------
    >>> check_labels(["a", "b", 3])
    Traceback (most recent call last):
    ValueError: y must hold numbers or texts, got both: 'a' in row 0 and 3 in row 2; make texts of all.
    """
    check_unmasked(y, name)
    try:
        plain = getattr(getattr(y, "dtype", None), "numpy_dtype", None)  # pandas' nullable types have one
    except RuntimeError:  # types of Arrow that NumPy does not know
        plain = None
    if plain is not None and plain.kind in "biu" and not y.isna().any():
        return y.to_numpy(dtype=plain)
    labels = _flat(y, name) if isinstance(y, list | tuple) else np.asarray(y) if hasattr(y, "__array__") else y
    if not isinstance(labels, np.ndarray) or labels.ndim != 1:
        return y
    # T: NumPy's texts of any length; those of polars are U, and of pandas and Arrow O
    if labels.dtype.kind in "OT" or (labels.dtype.kind == "U" and not isinstance(y, np.ndarray | list | tuple)):
        labels = _checked(labels.astype(object), name, any_kind)
    if labels.dtype.kind == "f" and labels.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # what is beyond float64 is refused as infinite
            labels = labels.astype(np.float64)
    if labels.dtype.kind in "fM" and (absent := np.flatnonzero(labels != labels)).size:  # NaN or NaT
        raise ValueError(_missing(name, labels[absent[0]], absent[0]))
    if labels.dtype.kind not in LABEL_KINDS + "O" and len(labels):
        cell = labels[0] if labels.dtype.kind in "mV" else labels[:1].tolist()[0]
        raise ValueError(_unusable(name, cell, 0))
    return y if isinstance(y, list | tuple) and labels.dtype == object else labels


def is_label(value: Any) -> bool:
    """Say whether a value is a number or a text, as labels and categories are: files can keep these."""
    if isinstance(value, np.generic):
        return value.dtype.kind in NUMBERS + "U"
    return isinstance(value, (str, bool, int, float))


def _flat(y: list[Any] | tuple[Any, ...], name: str) -> Any:
    """Return labels one by one; a table of them is for scikit-learn to refuse."""
    nested = [row for row, label in enumerate(y) if isinstance(label, list | tuple | np.ndarray)]
    if not nested:
        return of_cells(y)
    try:
        return np.asarray(y)
    except ValueError:  # some only, or of different lengths
        raise ValueError(_unusable(name, y[nested[0]], nested[0])) from None


def _checked(labels: np.ndarray, name: str, any_kind: bool) -> np.ndarray:
    """Check labels of an array of objects; numbers are returned as an array of numbers."""
    cells: list[Any] = list(map(plain, labels))
    first: dict[Any, int] = {}
    for row, label in enumerate(cells):
        try:
            first.setdefault(label, row)
        except TypeError:  # lists and the like
            raise ValueError(_unusable(name, label, row)) from None
    seen: dict[bool, tuple[Any, int]] = {}
    for label, row in first.items():
        if is_missing(label):
            raise ValueError(_missing(name, label, row))
        if not any_kind and not is_label(label):
            raise ValueError(_unusable(name, label, row))
        seen.setdefault(isinstance(label, str), (label, row))
    if len(seen) > 1 and not any_kind:
        (one, at), (other, later) = seen.values()
        raise ValueError(
            f"{name} must hold numbers or texts, got both: {one!r} in row {at} and {other!r} in row {later}; make "
            "texts of all."
        )
    if any_kind or True in seen:
        return labels
    numbers = np.asarray(cells)
    if numbers.dtype.kind not in NUMBERS:
        row = next(row for row, cell in enumerate(cells) if not -(2**63) <= cell < 2**64)
        raise ValueError(f"{name} must hold numbers of 64 bits, got {shown(cells[row])} in row {row}: {AS_TEXTS}.")
    return numbers


def _missing(name: str, label: Any, row: int) -> str:
    what = "group" if name == "groups" else "class"
    return f"{name} must hold a {what} for each row, got {label} in row {row}: leave such rows out."


def _unusable(name: str, label: Any, row: int) -> str:
    what = f"{type(label).__name__} {str(label)!r}"
    return f"{name} must hold numbers or texts, got {what} in row {row}: {AS_TEXTS}."
