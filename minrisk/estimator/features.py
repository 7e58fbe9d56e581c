"""Checks of X, mostly scikit-learn's, with messages that name the column and the row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from os import PathLike
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import validate_data

from minrisk._utils.text import short
from minrisk.data.frames import COUNTED, MEASURED, Column, Frame, check_unmasked
from minrisk.data.sparse import SparseRows, sound_rows


def check_table(X: Any) -> None:
    """Refuse what is no table of rows and columns, in one sentence, where scikit-learn would print all of it.

    Raises
    ------
    ValueError
        If X is nothing, a path, a single row or column, a list of texts, a dict, a set or a list of dicts, or holds
        complex numbers. It has the words by which scikit-learn's checks of estimators know such an error.
    """
    if isinstance(X, Set | Iterator) or (isinstance(X, Mapping) and not issparse(X)):
        table = "pandas.DataFrame(X)" if isinstance(X, Mapping) else "pandas.DataFrame(list(X))"
        raise ValueError(f"X must be a table or an array, got {type(X).__name__}: make a table of it, {table}.")
    check_unmasked(X, "X")
    if X is None or isinstance(X, str | bytes | PathLike):
        read = "" if X is None else ": read the file first, for example with pandas.read_csv"
        raise ValueError(f"X must be a table or an array with a row for each sample, got {X!r}{read}.")
    first = X[0] if isinstance(X, list | tuple) and len(X) else None
    if isinstance(first, Mapping):
        raise ValueError("X must be a table or an array, got a list of dicts: make a table of it, pandas.DataFrame(X).")
    if isinstance(first, str):
        raise ValueError(
            f"X must have two dimensions, rows and columns, got a {type(X).__name__} of texts such as "
            f"{short(repr(str(first)))}: give X before y if these are labels, or pandas.DataFrame({{'text': X}}) if "
            "they are a column."
        )
    shape = getattr(X, "shape", None)
    if first is not None and not isinstance(first, Iterable):
        shape = (len(X),)
    if isinstance(shape, tuple) and len(shape) < 2:
        of_pandas = hasattr(X, "to_frame") and hasattr(X, "index")
        one_row = "X.to_frame().T" if of_pandas else "numpy.reshape(X, (1, -1))"
        one_column = "X.to_frame()" if of_pandas else "numpy.reshape(X, (-1, 1))"
        raise ValueError(
            f"X must have two dimensions, rows and columns, got {type(X).__name__} of shape {shape}. Reshape your "
            f"data: {one_row} if it is one row, {one_column} if it is one column; and give X before y."
        )
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise ValueError(f"Complex data not supported: X must hold real numbers, got {X.dtype}: give X.real.")


def check_numbers(estimator: Any, X: Any, *y: Any, reset: bool) -> Any:
    """Return X, and y if given, as scikit-learn checks them; NaN is allowed.

    Raises
    ------
    ValueError
        As scikit-learn's, but of text and dates it says which column holds them.
    TypeError
        As scikit-learn's.
    """
    if issparse(X):
        return _check_sparse(estimator, sound_rows(X), *y, reset=reset)
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":  # to NumPy numbers, which depend on the array's unit
        what, instead = ("durations", MEASURED) if X.dtype.kind == "m" else ("dates", COUNTED)
        raise ValueError(f"X must hold numbers, got {what} in an array of {X.dtype}: {instead}.")
    if isinstance(X, np.ndarray) and X.dtype.kind in "UST" and X.size:
        raise ValueError(
            f"X must hold numbers, got texts such as {short(repr(X[:1].tolist()[0][0]))} in an array: give "
            "X.astype(float) if they are numbers, pandas.DataFrame(X) if they are categories, and X before y."
        )
    try:
        with np.errstate(over="ignore"):  # of longer floats in an array of objects, which are then infinite
            checked = validate_data(estimator, X, *y, dtype="numeric", ensure_all_finite="allow-nan", reset=reset)
        values = checked[0] if y else checked
        if values.dtype == object:  # as of a list of rows with a cell that NumPy does not know
            values = values.astype(np.float64)
        values = _of_64_bits(values, X)
        return (values, checked[1]) if y else values
    except (ValueError, TypeError, OverflowError):  # the last of whole numbers above 1.8e308
        refuse_infinity(X)
        numbers = _of_objects(X)
        if numbers is None:
            raise
    refuse_infinity(numbers)
    return validate_data(estimator, numbers, *y, ensure_all_finite="allow-nan", reset=reset)


def _check_sparse(estimator: Any, X: Any, *y: Any, reset: bool) -> Any:
    """Return the rows of a sparse X, and y if given, as scikit-learn checks them; stored NaN are missing values."""
    settings = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": False, "accept_large_sparse": True}
    checked = validate_data(estimator, X, *y, reset=reset, **settings)
    matrix = checked[0] if y else checked
    if matrix.dtype.kind not in "biuf" or matrix.dtype.itemsize > 8 or matrix.dtype == np.float16:
        matrix = matrix.astype(np.float64)
    if matrix.dtype.kind == "f" and (wrong := np.flatnonzero(np.isinf(matrix.data))).size:
        row = np.searchsorted(matrix.indptr, wrong[0], side="right") - 1
        raise ValueError(
            f"X must hold finite numbers, got {matrix.data[wrong[0]]} in column {matrix.indices[wrong[0]]}, row {row}: "
            "infinity says nothing about its size; correct it, or make it NaN, which is missing."
        )
    rows = SparseRows(matrix)
    return (rows, checked[1]) if y else rows


def _of_64_bits(values: np.ndarray, X: Any) -> np.ndarray:
    """Return checked numbers of X, NumPy's longer floats as float64; raise for one that is beyond that."""
    if values.dtype.kind != "f" or values.dtype.itemsize <= 8:
        return values
    with np.errstate(over="ignore"):
        numbers: np.ndarray = values.astype(np.float64)
    rows, columns = np.nonzero(np.isinf(numbers))
    if rows.size:
        frame = Frame.of(X)
        name = int(columns[0]) if frame is None else frame.names[columns[0]]
        raise ValueError(
            f"X must hold numbers up to 1.8e308, got {values[rows[0], columns[0]]!s} in column {name!r}, row "
            f"{rows[0]}: leave the column out, or give it in another unit."
        )
    return numbers


def check_frame(estimator: Any, numbers: np.ndarray, names: Sequence[Any], *y: Any) -> Any:
    """Return the numbers of a frame whose names have been checked, and y if given, as scikit-learn checks them."""
    settings = {"dtype": "numeric", "ensure_all_finite": "allow-nan", "estimator": estimator}
    try:
        return check_X_y(numbers, *y, **settings) if y else check_array(numbers, input_name="X", **settings)
    except ValueError:
        refuse_infinity(numbers, names)
        raise


def refuse_infinity(X: Any, names: Sequence[Any] | None = None) -> None:
    """Raise a ValueError that names the column and the row of an infinite number; nothing else is looked at."""
    frame, columns = Frame.of(X), list[Any]()
    if frame is not None:
        names, columns = frame.names, [column.native for column in frame.columns]
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        names, columns = range(X.shape[1]) if names is None else names, list(X.T)
    for name, column in zip(names or (), columns, strict=True):
        values = np.asarray(column)
        rows = np.flatnonzero(np.isinf(values)) if values.dtype.kind == "f" else np.empty(0, dtype=np.int64)
        if rows.size:
            raise ValueError(
                f"X must hold finite numbers, got {values[rows[0]]} in column {name!r}, row {rows[0]}: correct it, or "
                "make it NaN, which is missing."
            )


def _of_objects(X: Any) -> np.ndarray | None:
    """Return the numbers of an array of objects, as of one that holds pandas.NA; None if X is another.

    Raises
    ------
    ValueError or TypeError
        Naming the column and its first cell that is no number.
    """
    if not isinstance(X, list | tuple) and not (isinstance(X, np.ndarray) and X.dtype.kind in "OMm"):
        return None
    try:
        cells = np.asarray(X, dtype=object)
    except ValueError:
        return None
    if cells.ndim != 2 or cells.size == 0:
        return None
    return np.column_stack([Column(j, column).numbers() for j, column in enumerate(cells.T)])
