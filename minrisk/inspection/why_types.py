"""Which columns hold truth values, and which whole numbers: changes of them are told as such.

A model knows columns of numbers alone. The types of the row and of the other rows say more, and where they do not, the
values of the rows and the thresholds of the trees do: a midpoint between two whole numbers is a multiple of one half.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from minrisk._typing import FloatArray
from minrisk.data.frames import NUMBER, Column, Frame, is_missing
from minrisk.inspection.why_columns import cells_given

WHOLE_NUMBERS, TRUTH_VALUE = "whole number", "truth value"  # beside NUMBER

_OF_KINDS = {"b": TRUTH_VALUE, "i": WHOLE_NUMBERS, "u": WHOLE_NUMBERS}  # of dtypes


def types_of_columns(model: Any, x: Any, X: Any = None) -> list[str]:
    """What the types of cells say each column holds: `NUMBER`, `WHOLE_NUMBERS` or `TRUTH_VALUE`.

    Parameters
    ----------
    model : fitted classifier of minrisk
    x : row
        As `minrisk.inspection.why` takes it.
    X : rows, optional
        As `minrisk.inspection.why_columns.rows_here` gives them. If they are given, they say which columns hold whole
        numbers; truth values may be in either.
    """
    of_row = _types(model, cells_given(model, x))
    of_rows = of_row if X is None else _types(model, X)
    return [TRUTH_VALUE if TRUTH_VALUE in both else both[1] for both in zip(of_row, of_rows, strict=True)]


def kind_of_column(said: str, held: FloatArray | None, thresholds: FloatArray) -> str:
    """What a column of numbers holds, `NUMBER`, `WHOLE_NUMBERS` or `TRUTH_VALUE`, by all that is known of it.

    Parameters
    ----------
    said : str
        By its type.
    held : ndarray, optional
        Values of rows, without missing ones.
    thresholds : ndarray
        Those of the trees.

    Examples
    --------
    >>> kind_of_column(WHOLE_NUMBERS, None, np.array([2.5])), kind_of_column(WHOLE_NUMBERS, None, np.array([0.7]))
    ('whole number', 'number')
    >>> kind_of_column(NUMBER, np.array([1.0, 4.0]), np.array([2.5]))
    'whole number'
    """
    parted = np.all((thresholds >= 0) & (thresholds < 1))
    if said == TRUTH_VALUE and parted and (held is None or np.isin(held, (0, 1)).all()):
        return TRUTH_VALUE
    with np.errstate(over="ignore"):  # what is then infinite is whole
        halves = bool(np.all(np.rint(2 * thresholds) == 2 * thresholds))
    if held is None:
        return WHOLE_NUMBERS if said != NUMBER and halves and len(thresholds) else NUMBER
    whole = len(held) > 0 and bool(np.all(np.rint(held) == held))
    return WHOLE_NUMBERS if whole and (halves or said != NUMBER) else NUMBER


def _types(model: Any, X: Any) -> list[str]:
    """Of each column of rows, or of each cell of a row."""
    d = int(model.n_features_in_)
    if Frame.of(X) is not None:
        frame = Frame.of(model._arranged(X))
        assert frame is not None
        return [_type_of_column(column) for column in frame.columns]
    if issparse(X) or (isinstance(X, np.ndarray) and X.dtype != object):
        return [_OF_KINDS.get(X.dtype.kind, NUMBER)] * d
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return [_type_of_cells(X[:, j]) for j in range(d)]
    return [_type_of_cells([cell]) for cell in X]


def _type_of_column(column: Column) -> str:
    import narwhals.stable.v2 as nw

    kind = column.cells.dtype
    if kind == nw.Boolean:
        return TRUTH_VALUE
    if kind.is_numeric():
        return WHOLE_NUMBERS if kind.is_integer() else NUMBER
    native = getattr(column.native, "dtype", None)
    return _type_of_cells(column.listed) if isinstance(native, np.dtype) and native.kind == "O" else NUMBER


def _type_of_cells(cells: Iterable[Any]) -> str:
    """Of cells of any type, the missing ones aside."""
    found = set()
    for cell in cells:
        if is_missing(cell):
            continue
        if not isinstance(cell, (bool, np.bool_, int, np.integer)):
            return NUMBER
        found.add(TRUTH_VALUE if isinstance(cell, (bool, np.bool_)) else WHOLE_NUMBERS)
    return found.pop() if len(found) == 1 else WHOLE_NUMBERS if found else NUMBER
