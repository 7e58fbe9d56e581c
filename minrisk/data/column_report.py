"""What a fit did with every column of a table, and which columns look wrong: constants, identifiers, the target.

A column is taken for an identifier if nearly every row has a category of its own, or if it holds whole numbers that are
a row number: each one more, or one less, than that of the row before. Such categories are said to be words if most have
spaces. A column is taken for the target if its values and the classes are one to one. With fewer than 100 rows either
may be chance, and nothing is said. Text whose values are all numbers may have been meant as numbers, unless one begins
with 0 as codes do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from minrisk._typing import Labels
from minrisk._utils.text import aligned, printable, short
from minrisk.data.categories import FEW_VALUES, Categories, Category
from minrisk.data.frames import CATEGORICAL, DAY_ROLES, EXACT_BELOW, NUMBER, Column, Frame, are_rounded

SAID_FROM_ROWS = 100  # of fewer, values that all differ, or tell the class, may be chance
PLAIN_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d*)(?:[.,]\d+)?(?:[eE][+-]?\d+)?")
GLANCE = 1000  # rows that are looked at before all are
SHOWN_COLUMNS = 60  # lines of a printed report
WARNED_COLUMNS = 10  # that a warning names
NAME_LETTERS = 30  # of a column's name there
OWN_SHARE = 0.9  # of the rows, with a value of their own, from which on a column is said to hold such values
ONE_VALUE, IDENTIFIER, TARGET, AS_TEXT = "constant", "identifier?", "the target?", "numbers as text?"
AS_WORDS = "words?"
ADVICE = {
    ONE_VALUE: "one value, which says nothing",
    IDENTIFIER: "another value in nearly each row, as identifiers have, which says nothing of new rows",
    AS_WORDS: "another text in nearly each row, of which nothing is learnt: make columns of its words, as "
    "scikit-learn's TfidfVectorizer does in a pipeline",
    TARGET: "a value for each class: it may be the target under another name, which new rows lack",
    AS_TEXT: "numbers written as text, taken for categories",
}


class DataWarning(UserWarning):
    """Warning about a table that a fit, or a prediction, goes on with, but that should be looked at.

    A fit warns of columns that hold one value, look like identifiers, look like the target, or hold numbers written as
    text.
    A prediction warns of categories that the fit has not seen. Both warn of whole numbers that floats round.
    A file of costs is warned of if a mark in its numbers may have been meant for thousands.

    Examples
    --------
    >>> import pandas, warnings
    >>> from minrisk import DataWarning, REBELClassifier
    >>> table = pandas.DataFrame({"length": [1.0, 2.0, 3.0, 4.0], "unit": ["cm"] * 4})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = REBELClassifier(n_estimators=2).fit(table, [0, 0, 1, 1])
    >>> [warning.category is DataWarning for warning in caught]
    [True]
    """


class ColumnFacts(NamedTuple):
    """A line of the report.

    Attributes
    ----------
    name : str
    kind : str
        number, category, ordered category, date, duration or time of day.
    n_values : int or None
        Distinct values of categories; None of numbers, which are not counted.
    n_missing : int
    became : str
        What it is for the learners.
    remark : str
        constant, identifier?, the target?, numbers as text?, or nothing.
    """

    name: str
    kind: str
    n_values: int | None
    n_missing: int
    became: str
    remark: str

    @property
    def counts(self) -> tuple[str, str]:
        """Numbers of values and of missing cells, as tables show them."""
        return "" if self.n_values is None else str(self.n_values), str(self.n_missing)


def described_columns(table: Any, X: np.ndarray, y: Labels, categories: Categories) -> list[ColumnFacts]:
    """Describe each column by a line, without what it became.

    Parameters
    ----------
    table : table
        As it was given.
    X : ndarray of shape (n, d)
        Its numbers, and codes of categories.
    y : ndarray of shape (n,)
    categories : Categories
        Whose codes these are.
    """
    frame = Frame.of(table)
    assert frame is not None
    codes = np.unique(y, return_inverse=True)[1]
    of_position = {column.position: column for column in categories.columns}
    day_columns = dict(categories.day_columns)
    found = []
    for j, name in enumerate(frame.names):
        category, role = of_position.get(j), day_columns.get(j, NUMBER)
        cells = np.ascontiguousarray(X[:, j])
        missing = np.isnan(cells) if cells.dtype.kind == "f" else np.zeros(len(cells), dtype=bool)
        kind = role if category is None else f"ordered {CATEGORICAL}" if category.ordered else CATEGORICAL
        n_values = None if category is None else len(np.unique(cells[~missing]))
        remark = _remark(cells, missing, codes, category, role)
        found.append(ColumnFacts(str(name), kind, n_values, int(missing.sum()), "", remark))
    return found


def with_forms(columns: Sequence[ColumnFacts], categories: Categories) -> list[ColumnFacts]:
    """Return the lines with what the columns became, as categories were learnt."""
    of_position = {column.position: column for column in categories.columns}
    day_columns = dict(categories.day_columns)
    return [
        column._replace(became=_became(of_position.get(j), day_columns.get(j, NUMBER)))
        for j, column in enumerate(columns)
    ]


def _became(category: Category | None, role: str) -> str:
    """Say what a column is for the learners."""
    if category is None:
        return {NUMBER: "as it is", "date": "days since 1970-01-01"}.get(role, "days")
    added = category.table.shape[1]
    if category.ordered or not added:
        return "numbers in order"
    what = "indicators" if len(category.values) <= FEW_VALUES else f"{added} shares of classes"
    return f"codes and {what}"


def _remark(cells: np.ndarray, missing: np.ndarray, classes: np.ndarray, category: Category | None, role: str) -> str:
    """Say what looks wrong about a column."""
    there = cells[~missing] if missing.any() else cells
    if not len(there) or (len(there) == len(cells) and there.min() == there.max()):
        return ONE_VALUE
    if len(there) < SAID_FROM_ROWS:
        return ""
    if category is not None and not category.ordered and (named := _as_names(there, category.values)):
        return named
    if category is None and role not in DAY_ROLES and _counts_rows(there):
        return IDENTIFIER
    if _is_target(np.nan_to_num(cells, nan=np.inf), classes):
        return TARGET
    if category is None:
        return ""
    held = (category.values[int(code)] for code in np.unique(there))
    return AS_TEXT if all(map(_is_number_as_text, held)) else ""


def _is_number_as_text(value: Any) -> bool:
    """Say whether a text is a number, and is not written as codes are."""
    return isinstance(value, str) and PLAIN_NUMBER.fullmatch(value.strip()) is not None


def _as_names(codes: np.ndarray, values: Sequence[Any]) -> str:
    """Say it of categories of which nearly every row has one of its own."""
    own = np.flatnonzero(np.bincount(codes.astype(np.int64), minlength=len(values)) == 1)
    if len(own) < OWN_SHARE * len(codes):
        return ""
    return AS_WORDS if np.mean([" " in str(values[code]).strip() for code in own.tolist()]) > 0.5 else IDENTIFIER


def _counts_rows(cells: np.ndarray) -> bool:
    """Say whether numbers count the rows, up or down."""
    steps = np.diff(cells[:GLANCE].astype(np.float64))
    return bool(abs(steps[0]) == 1.0 and (steps == steps[0]).all() and (np.diff(cells) == steps[0]).all())


def _is_target(cells: np.ndarray, classes: np.ndarray) -> bool:
    """Say whether values and classes are one to one."""
    for rows in (slice(GLANCE), slice(None)):
        values, places = np.unique(cells[rows], return_inverse=True)
        n_classes = len(np.unique(classes[rows]))
        if len(values) != n_classes or len(np.unique(places * (classes.max() + 1) + classes[rows])) != n_classes:
            return False
    return True


def rounded_columns(table: Any, X: Any) -> list[Any]:
    """List columns of whole numbers some of which float64 rounds, by their names or places.

    Parameters
    ----------
    table : table or array-like
        As it was given.
    X : ndarray or SparseRows of shape (n, d)
        Its numbers.
    """
    if issparse(table):
        stored = table.tocoo() if table.dtype.kind in "iu" else None
        return [] if stored is None else np.unique(stored.col[are_rounded(stored.data)]).tolist()
    frame = Frame.of(table)
    if frame is None:
        floats = getattr(getattr(table, "dtype", None), "kind", "") == "f"
    elif frame.is_plain:
        floats = all(dtype.kind == "f" for dtype in frame.table.dtypes)
    else:
        floats = all(column.cells.dtype.is_float() for column in frame.columns)
    if floats or X.dtype.itemsize < 8:
        return []
    with np.errstate(invalid="ignore"):
        low, high = (np.asarray(one.reduce(X, axis=0), dtype=np.float64) for one in (np.fmin, np.fmax))
        large = np.flatnonzero(np.fmax(high, -low) >= EXACT_BELOW).tolist()
    if not large:
        return []
    if frame is not None:
        columns = [frame.columns[j] for j in large]
    else:
        cells = np.asarray(table, dtype=object) if isinstance(table, (list, tuple)) else np.asarray(table)
        columns = [Column(j, cells[:, j]) for j in large]
    return [column.name for column in columns if column.is_rounded]


def warning_of(columns: Sequence[ColumnFacts]) -> str:
    """Say what to warn of, in one text; empty where nothing looks wrong."""
    told = [f"{column.name!r} ({ADVICE[column.remark]})" for column in columns if column.remark]
    more = [f"and {len(told) - WARNED_COLUMNS} more"] if len(told) > WARNED_COLUMNS else []
    return f"Columns that should be looked at: {', '.join([*told[:WARNED_COLUMNS], *more])}." if told else ""


def printed(columns: Sequence[ColumnFacts]) -> str:
    """Return the report as a table in plain text.

    Examples
    --------
    >>> print(printed([ColumnFacts("age", "number", None, 3, "as it is", ""),
    ...                ColumnFacts("city", "category", 40, 0, "codes and 3 shares of classes", "")]), end="")
    column  kind      values  missing  became
    age     number                  3  as it is
    city    category      40        0  codes and 3 shares of classes
    """
    head = ("column", "kind", "values", "missing", "became", "")
    lines = [
        (short(printable(column.name), NAME_LETTERS), column.kind, *column.counts, column.became, column.remark)
        for column in columns[:SHOWN_COLUMNS]
    ]
    more = len(columns) - SHOWN_COLUMNS
    return (
        "\n".join([*aligned([head, *lines], right=(2, 3)), *([f"and {more} more columns"] if more > 0 else [])]) + "\n"
    )
