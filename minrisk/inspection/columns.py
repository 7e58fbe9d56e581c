"""Columns and rows as people know them: names of what trees split, values as they were handed over, types of columns.

A model knows columns of numbers alone. Which of them hold truth values or whole numbers is told by the types of the row
and of the other rows; where these do not say it, by values of rows and thresholds: a midpoint between two whole numbers
is a multiple of one half.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from scipy.sparse import issparse

from minrisk._typing import FloatArray
from minrisk._utils.text import short
from minrisk.costs.labels import label_text, listed
from minrisk.data.categories import FEW_VALUES, Category
from minrisk.data.chunks import Chunks
from minrisk.data.frames import DATE, DAY, EPOCH, NUMBER, TIME, Column, Frame, cells_of_row, is_missing
from minrisk.data.partitioned import is_partitioned
from minrisk.data.sparse import sound_rows
from minrisk.estimator.fitted import kind_text, names_of_columns
from minrisk.estimator.inputs import is_row_mapping

WHOLE_NUMBERS, TRUTH_VALUE = "whole number", "truth value"  # beside NUMBER

_OF_KINDS = {"b": TRUTH_VALUE, "i": WHOLE_NUMBERS, "u": WHOLE_NUMBERS}  # of dtypes


def names_of_features(model: Any, names: Sequence[str] | None = None) -> list[str]:
    """Return names of all that trees may split: columns of X, what categories add to them, and linear features.

    Parameters
    ----------
    model : fitted classifier of minrisk
    names : sequence of d str, optional
        Of the columns; by default those of the training table, ``x[0]``, ``x[1]`` ... for an array.

    Returns
    -------
    list of str
        A column of a category that stands for one of its values is ``"colour is red"``, one with the share of a class
        in the training rows of each value ``"share of ill by town"``. Linear features are ``"linear 0"``,
        ``"linear 1"`` ... in the order of the columns of ``model.model_.projection``.
    """
    found = names_of_columns(model, names)
    for category in model._categories.columns:
        found += _added_names(category, found[category.position], model.classes_.tolist())
    linear = model.model_.projection
    return found + [f"linear {c}" for c in range(0 if linear is None else linear.n_columns)]


def _added_names(category: Category, name: str, classes: list[Any]) -> list[str]:
    """Name the columns of numbers that a category adds; see `minrisk.data.categories`."""
    n, n_values = category.table.shape[1], len(category.values)
    if n == n_values and n_values <= FEW_VALUES:
        return [f"{name} is {short(label_text(value))}" for value in category.values]
    shares = classes[1:] if len(classes) == 2 else classes
    if n == len(shares):
        return [f"share of {short(label_text(label))} by {name}" for label in shares]
    return [f"class shares {c} by {name}" for c in range(n)]


class ColumnTexts:
    """Values that the codes of a model stood for.

    Parameters
    ----------
    model : fitted classifier of minrisk
    wholes, truths : collections of int
        Columns of numbers that hold whole numbers, or truth values.
    """

    def __init__(self, model: Any, wholes: Collection[int] = (), truths: Collection[int] = ()) -> None:
        self.names = names_of_columns(model)
        self._wholes, self._truths = frozenset(wholes), frozenset(truths)
        self.category = {column.position: column for column in model._categories.columns}
        self._role = {column.position: column.role for column in model._categories.day_columns}

    def value(self, j: int, code: float) -> Any:
        """Return what a code of column j stands for: a number, True, a category, a date; None: missing."""
        if np.isnan(code):
            return None
        if j in self.category:
            return self.category[j].values[int(code)]
        role = self._role.get(j)
        if role is None and j in self._truths and code in (0.0, 1.0):
            return bool(code)
        if role is None:
            return int(code) if j in self._wholes and float(code).is_integer() else float(code)
        moment = timedelta(microseconds=round(code * DAY))
        return EPOCH + moment if role == DATE else (EPOCH + moment).time() if role == TIME else moment

    def text(self, j: int, code: float) -> str:
        """Return `value` in a few characters."""
        value = self.value(j, code)
        return "missing" if value is None else value_text(value)


def value_text(value: Any) -> str:
    """Write a value in a few characters: six digits of a number, a date without an hour of 0.

    Examples
    --------
    >>> from datetime import datetime
    >>> value_text(4.950000000000001), value_text(datetime(2024, 3, 1)), value_text("red"), value_text(None)
    ('4.95', '2024-03-01', 'red', 'missing')
    """
    if value is None:
        return "missing"
    if isinstance(value, float):
        return f"{value:.6g}"
    return short(label_text(value)).removesuffix(" 00:00:00")


def codes_of_row(model: Any, x: Any) -> FloatArray:
    """Return one row as the model sees it, with codes for categories and dates in days, (1, d).

    Parameters
    ----------
    model : fitted classifier of minrisk
    x : array-like of shape (d,) or (1, d), table of one row, pandas Series, or mapping from names to values
        Columns without names are numbered from 0 in a mapping. All columns must be there; None and NaN are missing.

    Raises
    ------
    ValueError
        If it is not one row of the columns of the training, or holds a category that no training row had.
    """
    check_here(x, "x")
    if Frame.of(x) is not None or issparse(x):
        if x.shape[0] != 1:
            raise ValueError(f"x must be one row, got {x.shape[0]} rows: give one of them, such as X.iloc[[0]].")
        return np.asarray(codes_of_rows(model, sound_rows(x, "x").toarray() if issparse(x) else x))
    x = cells_given(model, x)
    cells = _array(x)
    if cells is None or cells.ndim != 1 or len(cells) != model.n_features_in_:
        got = "values of several shapes" if cells is None else f"shape {cells.shape}"
        raise ValueError(f"x must be one row of {model.n_features_in_} values, got {got}: give one row of X.")
    if cells.dtype.kind in "biuf" and not model._categories.columns and not model._categories.day_columns:
        return _checked(cells.astype(np.float64))
    return _of_cells(model, list(x))


def cells_given(model: Any, x: Any) -> Any:
    """Return a row of `codes_of_row` as cells in the order of the columns; a table or sparse rows as they are."""
    if Frame.of(x) is not None or issparse(x):
        return x
    x = _as_mapping(model, x)
    if is_row_mapping(x):
        return cells_of_row(x, model._column_names, model.n_features_in_)
    cells = _array(x)
    return x[0] if cells is not None and cells.ndim == 2 and len(cells) == 1 else x


def _as_mapping(model: Any, x: Any) -> Any:
    """Return a Series of pandas by its names, or as a list where columns have none; others as they are."""
    if Frame.of(x) is not None or not hasattr(x, "to_dict") or isinstance(x, Mapping):
        return x
    return x.tolist() if model._column_names is None else dict(zip(x.index, x.tolist(), strict=True))


def _array(X: Any) -> np.ndarray | None:
    """Return an array of what is given; None where its parts have several shapes."""
    try:
        return np.asarray(X)
    except ValueError:
        return None


def check_here(X: Any, name: str) -> None:
    """Refuse rows that lie elsewhere or come one after another.

    Raises
    ------
    TypeError
        Saying what to give.
    """
    if is_partitioned(X):
        raise TypeError(
            f"{name} must be rows that are here, got a Dask collection: give {name}.compute(), or some rows."
        )
    if isinstance(X, Chunks):
        raise TypeError(f"{name} must be rows that are here, got Chunks: give X of one, as in for X, *_ in chunks.")


def rows_here(model: Any, X: Any, name: str = "X") -> Any:
    """Return rows with a shape, some of which can be taken: a table, an array or a sparse matrix; lists as an array.

    Parameters
    ----------
    model : fitted classifier of minrisk
    X : array-like of shape (n, d), table, sparse matrix, or mapping with the values of one row
    name : str
        What messages call them.

    Raises
    ------
    TypeError
        If they are not here, or come one after another.
    ValueError
        If they are no rows.
    """
    check_here(X, name)
    X = model._tabled(X)
    if issparse(X):
        return sound_rows(X, name)
    if Frame.of(X) is not None:
        return X
    array = _array(X)
    if array is not None and array.dtype.kind in "US" and not isinstance(X, np.ndarray):
        array = np.array(X, dtype=object)  # numbers beside texts stay numbers
    if array is None or array.ndim != 2:
        got = f"an array of shape {X.shape}" if isinstance(X, np.ndarray) else kind_text(X)
        raise ValueError(
            f"{name} must be rows of {model.n_features_in_} values each, got {got}: give a table, an array of shape "
            f"(n, {model.n_features_in_}), or a list of such rows."
        )
    return array


def codes_of_rows(model: Any, X: Any) -> Any:
    """Return what `rows_here` gave as the model sees it, (n, d); sparse rows stay what they are."""
    checked: Any = model._check_columns(model._arranged(X), model._categories, reset=False)
    return checked if not isinstance(checked, np.ndarray) else np.asarray(checked, dtype=np.float64)


def some_rows(X: Any, rows: Any) -> Any:
    """Return rows of a slice or with these numbers, of a table, an array or a sparse matrix, in their kind."""
    if hasattr(X, "iloc"):  # columns of pandas may share a name
        return X.iloc[rows]
    if Frame.of(X) is None:
        return X[rows]
    import narwhals.stable.v2 as nw

    return nw.from_native(X, eager_only=True)[rows if isinstance(rows, slice) else rows.tolist()].to_native()


def in_parts(X: Any, height: int) -> Iterator[tuple[slice, Any]]:
    """Yield so many rows at a time, of what `rows_here` gives, and which these are."""
    n = X.shape[0]
    for low in range(0, n, height):
        part = slice(low, min(low + height, n))
        yield part, X if n <= height else some_rows(X, part)


def _of_cells(model: Any, cells: Sequence[Any]) -> FloatArray:
    """Return codes of Python's cells in the order of the columns."""
    categories = model._categories
    coded: FloatArray | None = categories.few_coded([cells])
    if coded is not None:
        return _checked(coded[0])
    names, category = names_of_columns(model), {column.position: column for column in categories.columns}
    for j, cell in enumerate(cells):
        if j in category and not is_missing(cell) and cell not in category[j].values:
            raise ValueError(
                f"x must hold a category of the training in column {names[j]!r}, one of {listed(category[j].values)}, "
                f"got {cell!r}: give None if it is missing."
            )
        if j not in category and not is_missing(cell) and isinstance(cell, str):
            raise ValueError(f"x must hold a number in column {names[j]!r}, got {cell!r}: correct it.")
    raise ValueError(
        f"x must hold finite numbers, and dates where the training had them, got {list(cells)!r}: correct it."
    )


def _checked(codes: FloatArray) -> FloatArray:
    """Return a row as (1, d), refusing infinities."""
    if np.isinf(codes).any():
        place = int(np.isinf(codes).argmax())
        raise ValueError(f"x must hold finite numbers, got infinity in place {place}: give None for a missing value.")
    return np.asarray(codes, dtype=np.float64)[None]


def types_of_columns(model: Any, x: Any, X: Any = None) -> list[str]:
    """Return what the types of cells say each column holds: `NUMBER`, `WHOLE_NUMBERS` or `TRUTH_VALUE`.

    Parameters
    ----------
    model : fitted classifier of minrisk
    x : row
        As `minrisk.inspection.why` takes it.
    X : rows, optional
        As `minrisk.inspection.columns.rows_here` gives them. If they are given, they say which columns hold whole
        numbers; truth values may be in either.
    """
    of_row = _types(model, cells_given(model, x))
    of_rows = of_row if X is None else _types(model, X)
    return [TRUTH_VALUE if TRUTH_VALUE in both else both[1] for both in zip(of_row, of_rows, strict=True)]


def kind_of_column(said: str, held: FloatArray | None, thresholds: FloatArray) -> str:
    """Return what a column holds, `NUMBER`, `WHOLE_NUMBERS` or `TRUTH_VALUE`, by all that is known of it.

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
    """Return the type of each column of rows, or of each cell of a row."""
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
    """Return what cells of any type hold, the missing ones aside."""
    return _OF_KINDS.get(np.asarray([cell for cell in cells if not is_missing(cell)]).dtype.kind, NUMBER)
