"""Labels of rows as they are given, in any container: refused where one is missing, or is no label."""

from __future__ import annotations

from typing import Any

import numpy as np

from minrisk.data.frames import NUMBERS, is_missing, of_cells, plain
from minrisk.data.kept import AS_TEXTS, shown

LABEL_KINDS = NUMBERS + "UMc"  # kinds of dtypes of arrays of labels; M: dates. scikit-learn refuses complex numbers


def check_labels(y: Any, name: str = "y", any_kind: bool = False) -> Any:
    """Labels, without what libraries of tables have for missing values; containers of other kinds are left alone.

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
    """Whether a value is a number or a text, as labels and categories are: files can keep these."""
    if isinstance(value, np.generic):
        return value.dtype.kind in NUMBERS + "U"
    return isinstance(value, (str, bool, int, float))


def _flat(y: list[Any] | tuple[Any, ...], name: str) -> Any:
    """Labels one by one; a table of them is for scikit-learn to refuse."""
    nested = [row for row, label in enumerate(y) if isinstance(label, list | tuple | np.ndarray)]
    if not nested:
        return of_cells(y)
    try:
        return np.asarray(y)
    except ValueError:  # some only, or of different lengths
        raise ValueError(_unusable(name, y[nested[0]], nested[0])) from None


def _checked(labels: np.ndarray, name: str, any_kind: bool) -> np.ndarray:
    """Labels of an array of objects; numbers as an array of numbers."""
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
