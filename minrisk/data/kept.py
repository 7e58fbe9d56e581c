"""What a model file keeps of labels, of categories and of the names of columns; a fit refuses what it does not."""

from __future__ import annotations

import math
from collections.abc import Collection
from datetime import date, datetime
from typing import Any

import numpy as np

from minrisk._utils.text import short

MOST_LETTERS = 1000  # in a label: every prediction holds one for each row
MOST_BITS = 64  # of a whole number
MOST_FEATURES = 1 << 22  # with the columns that categories add; importances of these take 32 MB
MOST_NESTED = 15  # tuples within each other: as many as the levels of a header allow
KEPT_NUMBERS = f"finite numbers of at most {MOST_BITS} bits"
AS_TEXTS = "make texts of them, as y.astype(str) does"
RENAMED = "name the columns by texts, X.columns = X.columns.astype(str)"


def is_kept(value: Any, letters: float = math.inf, bits: float = MOST_BITS) -> bool:
    """Whether a file keeps a label or a category: a text, a truth value or a finite number.

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
    """The name of a column as JSON: number, text, date, or a tuple of these."""
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
    """The name of a column as `name_out` wrote it."""
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
    """A value in a few characters; Python writes no whole number of some thousand digits."""
    try:
        return short(repr(value.item() if isinstance(value, np.generic) else value), 60)
    except ValueError:
        return "a number of more digits than Python writes"
