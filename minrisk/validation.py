"""Checks of parameters, each a clear error; checks of data, mostly scikit-learn's; arrays of labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from numbers import Integral, Real
from os import PathLike
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import validate_data

from minrisk._kernels._dtypes import MAX_DEPTH
from minrisk._printable import short
from minrisk._typing import Labels
from minrisk.costs.labels import as_labels, match_labels
from minrisk.data.categories import FROM_DTYPE
from minrisk.data.frames import COUNTED, MEASURED, Column, Frame
from minrisk.data.sparse_rows import SparseRows
from minrisk.data.sparse_structure import sound_rows

LARGEST_SEED = 2**32 - 1  # as NumPy's legacy generator takes it, which scikit-learn makes of it
ONE_MISTAKE = "1/n"
BALANCED = "balanced"  # classes weigh alike, as scikit-learn calls it
ZERO_RISK = "zero risk"
ALL_FEATURES = 1 << 53  # more than any X has: larger numbers need not become floats


class Choice(NamedTuple):
    """One of these strings."""

    options: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.options

    def plain(self, value: Any) -> Any:
        return str(value)

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(option) for option in self.options)


class Text(NamedTuple):
    """A text that is not empty."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value != ""

    def plain(self, value: Any) -> Any:
        return str(value)

    def __str__(self) -> str:
        return "a text that is not empty"


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
        try:
            number = self.kind(value)
        except OverflowError:  # more than a float holds
            return False
        above: bool = number > self.low if self.open_low else number >= self.low
        return above and number <= self.high and (self.kind is int or math.isfinite(number))

    def plain(self, value: Any) -> Any:
        return None if value is None else self.kind(value)

    def __str__(self) -> str:
        noun = "a whole number" if self.kind is int else "a number"
        low = f"above {self.low:g}" if self.open_low else f"at least {self.low:g}"
        high = "" if self.high == float("inf") else f" and at most {self.high:g}"
        return f"{noun} {low}{high}{', or None' if self.optional else ''}"


class Depth(NamedTuple):
    """Largest depth of a tree; a large number is no limit."""

    optional: bool = False

    def accepts(self, value: Any) -> bool:
        return Number(int, 1, optional=self.optional).accepts(value)

    def plain(self, value: Any) -> Any:
        return None if value is None else min(int(value), MAX_DEPTH)

    def __str__(self) -> str:
        return str(Number(int, 1, optional=self.optional))


class Flag(NamedTuple):
    """True or False."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, (bool, np.bool_, Integral)) and int(value) in (0, 1)

    def plain(self, value: Any) -> Any:
        return bool(value)

    def __str__(self) -> str:
        return "True or False"


class Verbosity(NamedTuple):
    """How much is said: a whole number, or True or False."""

    def accepts(self, value: Any) -> bool:
        return Flag().accepts(value) or Number(int, 0).accepts(value)

    def plain(self, value: Any) -> Any:
        return int(value)

    def __str__(self) -> str:
        return "True, False or a whole number at least 0"


class Threads(NamedTuple):
    """joblib's number of threads."""

    def accepts(self, value: Any) -> bool:
        return value is None or (isinstance(value, Integral) and not isinstance(value, bool) and int(value) != 0)

    def plain(self, value: Any) -> Any:
        return None if value is None else int(value)

    def __str__(self) -> str:
        return "a whole number but 0 (-1: all cores), or None"


class Seed(NamedTuple):
    """scikit-learn's source of random numbers."""

    def accepts(self, value: Any) -> bool:
        if value is None or value is np.random or isinstance(value, np.random.RandomState):
            return True
        return isinstance(value, Integral) and 0 <= int(value) <= LARGEST_SEED

    def plain(self, value: Any) -> Any:
        return int(value) if isinstance(value, Integral) else value

    def __str__(self) -> str:
        return (
            f"a whole number from 0 to {LARGEST_SEED}, a numpy.random.RandomState or None (a Generator draws such a "
            "number by its integers(2**32))"
        )


class Features(NamedTuple):
    """A share of the features, or a number of them."""

    optional: bool = False

    def accepts(self, value: Any) -> bool:
        if value is None:
            return self.optional
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        return int(value) >= 1 if isinstance(value, Integral) else 0 < float(value) <= 1

    def plain(self, value: Any) -> Any:
        return int(value) if isinstance(value, Integral) else None if value is None else float(value)

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

    def plain(self, value: Any) -> Any:
        return int(value) if isinstance(value, Integral) else value

    def __str__(self) -> str:
        return "a whole number at least 1, a splitter as StratifiedKFold(), pairs (train, test) of row numbers, or None"


class ClassWeight(NamedTuple):
    """Factors on the weights of the rows of each class."""

    def accepts(self, value: Any) -> bool:
        if isinstance(value, Mapping):
            return all(map(Number(float, 0, open_low=True).accepts, value.values()))
        return value is None or (isinstance(value, str) and value == BALANCED)

    def plain(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {label: float(factor) for label, factor in value.items()}
        return None if value is None else str(value)

    def __str__(self) -> str:
        return f"{BALANCED!r}, a mapping from labels to numbers above 0, or None"


class CategoricalFeatures(NamedTuple):
    """Columns whose numbers are names: their names, positions, or a mask."""

    def accepts(self, value: Any) -> bool:
        if isinstance(value, str):
            return value == FROM_DTYPE
        listed = isinstance(value, Sequence) and not isinstance(value, bytes)
        if not listed and getattr(value, "ndim", None) != 1:  # of arrays and their kin
            return False
        return all(isinstance(column, str | bool | np.bool_ | Integral) for column in value)

    def plain(self, value: Any) -> Any:
        return str(value) if isinstance(value, str) else [_plain_column(column) for column in value]

    def __str__(self) -> str:
        return f"names or positions of columns, a mask with True or False for each, or {FROM_DTYPE!r}"


def _plain_column(column: Any) -> str | bool | int:
    """Its name, position or place in a mask."""
    if isinstance(column, str):
        return str(column)
    return bool(column) if isinstance(column, bool | np.bool_) else int(column)


def share_of(max_features: float, n_features: int) -> float:
    """The share of the features that a share of them, or a number, asks for."""
    return min(max_features, ALL_FEATURES) / n_features if isinstance(max_features, Integral) else max_features


def n_drawn(max_features: float, n_features: int) -> int:
    """The number of features that a share of them, or a number, asks for: one at least, all at most."""
    return min(max(1, round(share_of(max_features, n_features) * n_features)), n_features)


class TargetLoss(NamedTuple):
    """Where the training loss is low enough."""

    def accepts(self, value: Any) -> bool:
        return Number(float, 0, open_low=True, optional=True).accepts(value) or (
            isinstance(value, str) and value in (ONE_MISTAKE, ZERO_RISK)
        )

    def plain(self, value: Any) -> Any:
        return str(value) if isinstance(value, str) else None if value is None else float(value)

    def __str__(self) -> str:
        return f"a number above 0, {ONE_MISTAKE!r}, {ZERO_RISK!r} or None"


def loss_to_reach(target_loss: float | str | None, of_one_mistake: float) -> float:
    """The loss that a number or "1/n" asks for; None: one that is never reached. Of "zero risk" the rows know."""
    if target_loss is None or target_loss == ZERO_RISK:
        return -math.inf
    return float(of_one_mistake if target_loss == ONE_MISTAKE else target_loss)


class SmoothFunction(NamedTuple):
    """A function by its name, or as three functions: itself and its first two derivatives, elementwise on arrays."""

    options: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        """Whether it is a name that is known, or a tuple of three functions."""
        if isinstance(value, str):
            return value in self.options
        return isinstance(value, tuple) and len(value) == 3 and all(map(callable, value))

    def plain(self, value: Any) -> Any:
        """A name, or the same."""
        return str(value) if isinstance(value, str) else value

    def __str__(self) -> str:
        names = ", ".join(map(repr, self.options))
        return f"one of {names}, or a tuple of three functions (value, slope, curvature)"


class Rule(Protocol):
    """What a parameter may be; its str() says so."""

    def accepts(self, value: Any) -> bool:
        """Whether the value may be used."""

    def plain(self, value: Any) -> Any:
        """An accepted value of Python's own type: kernels are compiled for these, and files hold no others."""


def check_parameters(name: str, values: Mapping[str, Any], rules: Mapping[str, Rule]) -> dict[str, Any]:
    """Constructor parameters that have rules, checked, of Python's own types.

    Raises
    ------
    TypeError
        If there is none of that name: of a subclass whose constructor does not call the one that sets it.
    ValueError
        Naming the parameter, what was expected and what came.
    """
    if missing := [parameter for parameter in rules if parameter not in values]:
        raise TypeError(
            f"{name}: the constructor must set all parameters of the estimator it is made from, but has no "
            f"{missing[0]!r}: call super().__init__ there."
        )
    for parameter, rule in rules.items():
        if not rule.accepts(value := values[parameter]):
            raise ValueError(f"{name}: {parameter} must be {rule}, got {value!r}{_meant(rule, value)}.")
    return {parameter: rule.plain(values[parameter]) for parameter, rule in rules.items()}


def _meant(rule: Rule, value: Any) -> str:
    """What may have been meant by a value that is not accepted, to be written instead."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    elif isinstance(value, (float, np.floating)) and math.isfinite(value) and value == int(value):
        value = int(value)
    else:
        return ""
    return f": write {value!r}" if rule.accepts(value) else ""


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
    """scikit-learn's check of X, and of y if given; NaN is allowed.

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
    """scikit-learn's check of a sparse X, and of y if given: rows of its stored values, of which NaN are missing."""
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
    """Checked numbers of X as they are, NumPy's longer floats as float64; raises for one that is beyond that."""
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
    """scikit-learn's check of the numbers in a frame whose names have been checked, and of y if given."""
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
    """Numbers of an array of objects, as of one that holds pandas.NA; None if X is another.

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
    parts = [np.asarray([label], _smallest(label, known.dtype)) for label in others]
    try:
        array = np.concatenate([known, *parts])
    except TypeError:  # kinds without a common dtype
        return _objects(wanted)
    if array.dtype.kind == "f" and all(map(_is_whole, wanted)):  # NumPy's choice for uint64 and int8
        array = np.asarray(wanted)
    return array if array.tolist() == wanted else _objects(wanted)


def _smallest(label: Any, beside: np.dtype) -> Any:
    """The dtype that a number needs beside numbers of another; None: NumPy's choice."""
    if _is_whole(label):
        return np.min_scalar_type(label)
    with np.errstate(over="ignore"):
        same = beside.kind == "f" and isinstance(label, float) and float(beside.type(label)) == label
    return beside if same else None


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
