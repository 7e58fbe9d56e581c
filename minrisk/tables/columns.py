"""Cells of tables: as they are written, as labels, as categories, as numbers.

What cannot be used is a `TableError` that names the file and the column. Rows are counted from 1, the header not
among them. pandas is imported where it is needed, not before.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minrisk._utils.text import short
from minrisk.costs.labels import match_truth, written_truths
from minrisk.data.frames import EXACT_BELOW, of_cells
from minrisk.data.labels import check_labels
from minrisk.data.marks import COMMA_NUMBER
from minrisk.tables.source import TableError, shown

if TYPE_CHECKING:
    import pandas as pd

    from minrisk._typing import Labels

NAMELESS = ("", "Unnamed: 0", "__index_level_0__")  # what the column of row names is called by those who write one
INTEGER = re.compile(r"-?[1-9]\d{0,308}|0")  # as it is written, and no other way; no float is longer
FLOATED = re.compile(r"(-?[1-9]\d{0,308}|-?0)\.0*|[+-]?\d(?:\.\d+)?[eE][+-]?\d+")  # a number that went through a float
ISO_DATE = re.compile(
    r"\s*\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?)?\s*"
)  # 2024-03-01, 2024-03-01 12:30, 2024-03-01T12:30:45.123+01:00
NESTED = "lists, structures or bytes"
MANY = 20  # so many different labels or words, if they are also more than half of the rows, are names or measurements
TEXTS_OF_NUMBERS = (  # what a text is that is nearly a number, and what to do about it
    ("percentages", re.compile(r"[+-]?\d+(?:[.,]\d+)?\s*%"), "remove the sign %"),
    (
        "amounts of money",
        re.compile(r"[+-]?\s?[€$£¥]\s?[+-]?[\d.,' ]*\d|[+-]?\d[\d.,' ]*\s?(?:[€$£¥]|EUR|USD|CHF|GBP)"),
        "remove the currency",
    ),
    (
        "dates",
        re.compile(r"\d{4}-\d\d?-\d\d?(?:[T ].*)?|\d{4}/\d\d?/\d\d?(?: .*)?|\d\d?[./-]\d\d?[./-]\d{2,4}(?: .*)?"),
        "write them as 2024-03-01 or 2024-03-01 12:30",
    ),
    (
        "numbers with thousands separators",
        re.compile(r"[+-]?\d{1,3}(?:[,.'\u2019\u00a0\u202f ]\d{3})+(?:[.,]\d+)?"),
        "remove the separators (if the mark is a decimal comma, say --decimal ,)",
    ),
    ("numbers with decimal commas", COMMA_NUMBER, "say --decimal ,"),
    (
        "numbers with a sign of their own",
        re.compile("\\([\\d.,]+\\)|[\u2212\u2013][\\d.,]+|[\\d.,]+[-\u2212\u2013]"),
        "write what is below zero with - in front",
    ),
)


def written(value: Any) -> str:
    """Return how a value is written; a whole float without a fraction, as far as that is exact.

    Examples
    --------
    >>> written(103.0), written("01"), written(True), written(2.0**60)
    ('103', '01', 'True', '1.152921504606847e+18')
    """
    whole = isinstance(value, (float, np.floating)) and abs(float(value)) < EXACT_BELOW and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def matched(wanted: Iterable[Any], known: Sequence[Any]) -> list[int]:
    """Return position among known values of each of some cells, -1 where there is none.

    A cell is the value that is written the same; else the one that differs from it by blanks around it; else the
    same whole number, "103" and "103.0", or truth value, "TRUE" and True. "01" is not "1". A decimal comma is as good
    as a point.

    Examples
    --------
    >>> matched(["103,0", "1,042", "7"], [103, "1.042", "7,0"])
    [0, 1, 2]
    >>> matched(["01", "1", "103.0", 103.0, " red", "1e3"], ["red", "1", 103, "01"])
    [3, 1, 2, 2, 0, -1]
    >>> matched(["TRUE", "false"], [False, True])
    [1, 0]
    """
    texts = [written(value) for value in known]
    same = {text: i for i, text in reversed(list(enumerate(texts)))}
    bare = _unique((text.strip(), i) for i, text in enumerate(texts))
    points = _unique((with_point(text), i) for text, i in same.items())
    floated = _unique((_float(text), i) for text, i in points.items() if FLOATED.fullmatch(text))
    as_float = _unique((_float(text), i) for text, i in same.items() if INTEGER.fullmatch(text))
    truths = written_truths(known)

    def position(cell: Any) -> int:
        text = written(cell)
        found = same.get(text, bare.get(text.strip()))
        if found is None:
            text = with_point(text)
            found = points.get(text)
        if found is None and INTEGER.fullmatch(text):
            found = floated.get(_float(text))
        elif found is None and FLOATED.fullmatch(text):
            found = floated.get(_float(text), as_float.get(_float(text)))
        return match_truth(cell, known, truths) if found is None else found

    return [position(cell) for cell in wanted]


def with_point(text: str) -> str:
    """Return a number with a decimal comma as it is written with a point; other texts without blanks around them."""
    text = text.strip()
    return text.replace(",", ".") if COMMA_NUMBER.fullmatch(text) else text


def _unique(pairs: Iterable[tuple[Any, int]]) -> dict[Any, int]:
    """Return the positions of what occurs once."""
    found: dict[Any, int] = {}
    twice = set()
    for key, i in pairs:
        if key in found:
            twice.add(key)
        found[key] = i
    return {key: i for key, i in found.items() if key not in twice}


def _float(number: str) -> float:
    """Return a number as a float; one that is too large for that is NaN, which equals no other."""
    found = float(number)
    return found if math.isfinite(found) else float("nan")  # a new one each time: the same would equal itself in a dict


def as_frame(columns: Mapping[Any, Any]) -> pd.DataFrame:
    """Return columns as a frame that holds these very arrays; pandas would copy them all into one."""
    import pandas as pd

    return pd.DataFrame(dict(enumerate(columns.values())), copy=False).set_axis(list(columns), axis=1)


def distinct(column: pd.Series[Any]) -> tuple[np.ndarray, pd.Series[Any]]:
    """Return the number of each cell's value, -1 where it is missing, (n,), and the values in the order of appearance.

    Examples
    --------
    >>> import pandas as pd
    >>> codes, values = distinct(pd.Series(["red", None, "blue", "red"], dtype="category"))
    >>> codes.tolist(), values.tolist()
    ([0, -1, 1, 0], ['red', 'blue'])
    """
    import pandas as pd

    is_coded = isinstance(column.dtype, pd.CategoricalDtype)
    codes, values = pd.factorize(column if is_coded else column.astype(object))
    return codes, pd.Series(values, dtype=object)


def of_values(column: pd.Series[Any], take: Callable[[pd.Series[Any]], Any], missing: Any) -> np.ndarray:
    """Return what `take` makes of the distinct values, for each cell, (n,); `missing` where there is none."""
    codes, values = distinct(column)
    return np.asarray(np.append(np.array(take(values), dtype=type(missing)), missing)[codes])


def _are_blank(values: pd.Series[Any]) -> list[bool]:
    return [str(value).strip() == "" for value in values]


def columns_of_words(frame: pd.DataFrame) -> list[str]:
    """Return names of columns of a text table of which more than half of the cells are no numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> columns_of_words(pd.DataFrame({"doors": ["2", "4", "?"], "colour": ["red", "blue", None]}))
    ['colour']
    """
    return [str(name) for name, column in frame.items() if texts_in(column).sum() > 0.5 * column.notna().sum()]


def row_numbers(frame: pd.DataFrame) -> list[str]:
    """Return the column of row names or numbers that pandas and R write into text tables, if there is one."""
    named = [str(name) for name in frame.columns if name in NAMELESS and len(frame) > 1]
    return [name for name in named if frame[name].notna().all() and frame[name].is_unique][:1]


def nearly_numbers(column: pd.Series[Any]) -> tuple[str, str, str] | None:
    """Return what the texts of a column are that are nearly numbers, an example, and what to do; None for words."""
    words = distinct(column)[1]
    words = words[texts_in(words)].astype(str).str.strip().drop_duplicates()
    for what, pattern, advice in TEXTS_OF_NUMBERS:
        fits = words.map(lambda word, pattern=pattern: pattern.fullmatch(word) is not None)
        if len(words) and fits.mean() > 0.5:
            return what, str(words[fits].iloc[0]), advice
    return None


def take_features(frame: pd.DataFrame, path: str | Path, categories: Collection[str] = ()) -> pd.DataFrame:
    """Give the columns of a text table the types that their cells tell: categories, numbers, and dates as they are.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
    path : str or Path
        Where it came from, for messages.
    categories : collection of str, optional
        Columns that become categories, named by their text: a whole number has one name, "103.0" beside "103" too.

    Returns
    -------
    DataFrame of shape (n, d)

    Raises
    ------
    TableError
        If there is no column, or another one holds text or infinite numbers; the message names it.

    Examples
    --------
    >>> import pandas as pd
    >>> take_features(pd.DataFrame({"doors": [2, 4], "size": ["1.5", None]}), "cars.csv").dtypes.tolist()
    [dtype('int64'), dtype('float64')]
    """
    if frame.shape[1] == 0:
        raise TableError(f"{shown(path)} has no column left to learn from: keep at least one feature.")
    return as_frame(
        {
            name: _named(column) if str(name) in categories else _numbers(column, str(name), path)
            for name, column in frame.items()
        }
    )


def is_other_kind(column: pd.Series[Any], known: Sequence[Any]) -> bool:
    """Tell whether a column holds texts where a model knows numbers, or the other way round."""
    if is_nested(column):
        return False
    found = {isinstance(value, str) for value in distinct(column)[1]}
    return len(found) == 1 and {isinstance(value, str) for value in known} == {not found.pop()}


def as_known(column: pd.Series[Any], known: Sequence[Any]) -> tuple[pd.Series[Any], list[str], int]:
    """Return a column of categories with the values a model knows, missing where it knows none; those, and their
    rows.
    """
    import pandas as pd

    codes, values = distinct(column)
    at = np.array(matched(values, known), dtype=np.int64)
    used = np.unique(at[at >= 0])
    numbers = np.append(np.where(at < 0, -1, np.searchsorted(used, at)), -1)
    cells = pd.Categorical.from_codes(numbers[codes], categories=pd.Index([known[i] for i in used], dtype=object))
    unknown = [written(value) for value, i in zip(values, at, strict=True) if i < 0]
    return pd.Series(cells, name=column.name), unknown, int(np.count_nonzero(np.append(at < 0, False)[codes]))


def _named(column: pd.Series[Any]) -> Any:
    """Return categories by their text; a number that went through floats in some rows by that of the others."""
    import pandas as pd

    codes, values = distinct(column)
    texts = [written(value) for value in values]
    plain = [text for text in dict.fromkeys(texts) if FLOATED.fullmatch(with_point(text)) is None]
    if len(plain) < len(texts):
        texts = [text if i < 0 else plain[i] for text, i in zip(texts, matched(texts, plain), strict=True)]
    names = sorted(set(texts))
    place = {name: i for i, name in enumerate(names)}
    return pd.Categorical.from_codes(np.array([*(place[text] for text in texts), -1])[codes], categories=names)


def take_weights(
    column: pd.Series[Any], path: str | Path, what: str = "weight of each row", option: str = "--weight"
) -> np.ndarray:
    """Return weights of the rows, (n,), or other numbers from zero on that an option names.

    Raises
    ------
    TableError
        If a cell is missing, no number, infinite or below zero, or no weight is above zero.

    Examples
    --------
    >>> import pandas as pd
    >>> take_weights(pd.Series([1, 2, 0], name="n"), "cars.csv")
    array([1., 2., 0.])
    """
    where = f"column {str(column.name)!r} of {shown(path)} must hold the {what}"
    if is_nested(column) or column.dtype.kind in "mM":
        raise TableError(f"{where}, but holds no numbers: name another by {option}.")
    texts = np.flatnonzero(texts_in(column))
    if len(texts):
        raise TableError(
            f"{where}, but holds text ({short(str(column.iloc[texts[0]]))!r} in row {texts[0] + 1}): correct it, or "
            f"name another column by {option}."
        )
    _refuse_missing(column.isna(), where)
    weight = as_floats(column)
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        raise TableError(
            f"{where}, but row {bad[0] + 1} holds {weight[bad[0]]:g}: {what.split()[0]}s are numbers from zero on; "
            "correct it."
        )
    if option == "--weight" and not (weight > 0).any():
        raise TableError(f"{where}, but none is above zero: there is nothing to learn from.")
    return weight


def _refuse_missing(gone: Any, where: str) -> None:
    """Refuse a column of which some cells are missing."""
    absent = np.flatnonzero(gone)
    if len(absent):
        raise TableError(
            f"{where}, but {len(absent)} of {len(gone)} are missing (the first in row {absent[0] + 1}): fill in or "
            "remove these rows."
        )


def take_groups(column: pd.Series[Any], path: str | Path) -> np.ndarray:
    """Return the number of each row's group, (n,), in the order of appearance.

    Raises
    ------
    TableError
        If a cell is missing, or holds lists and the like.

    Examples
    --------
    >>> import pandas as pd
    >>> take_groups(pd.Series(["p1", "p2", "p1"], name="patient"), "cars.csv").tolist()
    [0, 1, 0]
    """
    where = f"column {str(column.name)!r} of {shown(path)} must hold the group of each row"
    if is_nested(column):
        raise TableError(f"{where}, but holds {NESTED}: name another by --groups.")
    _refuse_missing(of_values(column, _are_blank, True), where)
    return np.asarray(distinct(column)[0], dtype=np.int64)


def as_numbers(column: pd.Series[Any]) -> tuple[pd.Series[Any], int, str]:
    """Return a column whose cells that are no numbers are missing, how many these are, and the first of them.

    Examples
    --------
    >>> import pandas as pd
    >>> as_numbers(pd.Series(["1", "?", "2.5", None]))[0].tolist(), *as_numbers(pd.Series(["1", "?"]))[1:]
    ([1.0, nan, 2.5, nan], 1, '?')
    """
    import pandas as pd

    texts = texts_in(column)
    if not texts.any():
        return column, 0, ""
    numbers = of_values(column, lambda values: pd.to_numeric(values, errors="coerce"), np.nan)
    return pd.Series(numbers, name=column.name), int(texts.sum()), str(column.iloc[int(texts.argmax())])


def as_dates(column: pd.Series[Any]) -> pd.Series[Any] | None:
    """Return a column of text as dates, if all cells are dates or times of ISO 8601; those with a zone in UTC.

    Examples
    --------
    >>> import pandas as pd
    >>> as_dates(pd.Series(["2024-03-01", None, "2024-03-01 12:30"])).tolist()
    [Timestamp('2024-03-01 00:00:00'), NaT, Timestamp('2024-03-01 12:30:00')]
    >>> as_dates(pd.Series(["2024-03-01T12:30+01:00"])).tolist()
    [Timestamp('2024-03-01 11:30:00+0000', tz='UTC')]
    >>> as_dates(pd.Series(["2024-03-01", "01.03.2024"])) is None
    True
    """
    import pandas as pd

    if column.dtype.kind in "biufcmM" or is_nested(column):
        return None
    codes, values = distinct(column)
    found = list[str | None]()
    for value in values:
        match = ISO_DATE.fullmatch(value) if isinstance(value, str) else None
        if match is None or (bool(match["zone"]) != bool(found and found[0]) and found):
            return None
        found.append(match["zone"])
    if not found:
        return None
    try:
        dates = pd.Series(pd.to_datetime([value.strip() for value in values], format="ISO8601", utc=bool(found[0])))
    except ValueError:  # the 30th of February
        return None
    return dates.reindex(np.where(codes < 0, len(values), codes)).reset_index(drop=True).rename(column.name)


def no_dates(column: pd.Series[Any]) -> Iterator[str]:
    """Yield the texts of a column, each once, that are no dates."""
    import pandas as pd

    for cell in map(str, column.astype(object).drop_duplicates().dropna()):
        if as_dates(pd.Series([cell], dtype=object)) is None:
            yield cell


def take_labels(column: pd.Series[Any], path: str | Path, as_written: bool = False) -> Labels:
    """Return class labels of a column, (n,): as `fit` takes them, but that blank texts are missing.

    Parameters
    ----------
    column : Series
    path : str or Path
        Where it came from, for messages.
    as_written : bool, default=False
        Whether the cells are text as somebody wrote it. They are labels as they stand, "01" is not "1"; only where
        each is a whole number, written as usual, are they numbers.

    Raises
    ------
    TableError
        If a label is missing, or the numbers are no labels because they have fractions.

    Examples
    --------
    >>> import pandas as pd
    >>> take_labels(pd.Series([1, 2], name="grade"), "cars.parquet")
    array([1, 2])
    >>> take_labels(pd.Series(["01", "1", "007"], name="grade"), "cars.csv", as_written=True)
    array(['01', '1', '007'], dtype=object)
    """
    where = f"column {str(column.name)!r} of {shown(path)}"
    if is_nested(column):
        raise TableError(f"{where} must hold class labels, but holds {NESTED}: name another target.")
    gone = np.array(column.isna())
    if column.dtype.kind not in "biufmM":
        gone |= of_values(column, _are_blank, False)
    _refuse_missing(gone, f"{where} must hold a label in every row")
    if as_written:
        return _written_labels(column, where)
    cells: Any = column
    if column.dtype == "category":  # a text is then one for all of its rows
        cells = np.asarray(column.cat.categories)[column.cat.codes]
    labels: Labels = check_labels(cells, where)
    if labels.dtype.kind == "f":
        _refuse_fractions(~np.isfinite(labels) | (labels != np.rint(labels)), labels, where)
    return labels


def _written_labels(column: pd.Series[Any], where: str) -> Labels:
    """Return labels from cells of text."""
    codes, values = distinct(column)
    if all(INTEGER.fullmatch(label) and len(label) < 19 for label in values):
        return np.asarray(np.array(values, dtype=np.int64)[codes])
    if len(values) > MANY:
        import pandas as pd

        numbers = np.asarray(pd.to_numeric(values.str.replace(",", "."), errors="coerce"), dtype=np.float64)
        if np.isfinite(numbers).all():
            _refuse_fractions((numbers != np.round(numbers))[codes], numbers[codes], where)
    return np.asarray(of_cells(values)[codes])


def _refuse_fractions(broken: np.ndarray, values: np.ndarray, where: str) -> None:
    rows = np.flatnonzero(broken)
    if len(rows):
        raise TableError(
            f"{where} must hold class labels, but row {rows[0] + 1} holds the number {values[rows[0]]:g}: name another "
            "target, or divide the numbers into classes."
        )


def _numbers(column: pd.Series[Any], name: str, path: str | Path) -> Any:
    """Return one feature of a text table that holds no categories."""
    if column.dtype.kind in "biumM":
        return column
    where = f"column {name!r} of {shown(path)}"
    texts = np.flatnonzero(texts_in(column))
    if len(texts):
        example, row = str(column.iloc[texts[0]]), texts[0] + 1
        advice = (
            "leave missing values empty, or say by --numeric that such cells are missing; 'minrisk fit' has --drop "
            "to leave columns out, --categorical for words"
        )
        nearly = nearly_numbers(column)
        if nearly is not None:
            advice = f"these are {nearly[0]}, {nearly[2]}; 'minrisk fit' has --drop to leave columns out"
        raise TableError(f"{where} holds text ({short(example)!r} in row {row}): {advice}.")
    values = column.to_numpy() if column.dtype == np.float64 else as_floats(column)
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise TableError(f"{where} holds an infinite number in row {infinite[0] + 1}: correct it, or leave it empty.")
    return values


def is_nested(column: pd.Series[Any]) -> bool:
    """Tell whether cells are no single values, as those of a Parquet file may be."""
    first = column.first_valid_index() if column.dtype == object else None
    return first is not None and isinstance(column[first], (list, tuple, dict, np.ndarray, bytes))


def as_floats(column: pd.Series[Any]) -> np.ndarray:
    """Return cells that are numbers, or texts of numbers, (n,)."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return of_values(column, as_floats, np.nan)
    return np.asarray(pd.to_numeric(column.astype(object)).to_numpy(dtype=np.float64, na_value=np.nan))


def texts_in(column: pd.Series[Any]) -> np.ndarray:
    """Return which cells are text that is no number, (n,)."""
    import pandas as pd

    if column.dtype.kind in "biufcmM" or is_nested(column):
        return np.zeros(len(column), dtype=bool)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return of_values(column, texts_in, False)
    cells = column.astype(object)
    numbers = pd.to_numeric(cells, errors="coerce")
    return np.asarray(numbers.isna() & column.notna())


def concatenated(parts: Sequence[pd.Series[Any]]) -> pd.Series[Any]:
    """Return columns one after another: texts as numbers of the distinct ones, where all are given so."""
    import pandas as pd

    if len(parts) == 1:
        return parts[0].reset_index(drop=True)
    alike = len({part.dtype for part in parts}) == 1  # also categories in an order
    if alike or not all(isinstance(part.dtype, pd.CategoricalDtype) for part in parts):
        return pd.concat(parts, ignore_index=True)
    dtypes = {part.cat.categories.dtype for part in parts if len(part.cat.categories)}
    if len(dtypes) > 1:
        return pd.concat([part.astype(object) for part in parts], ignore_index=True)
    filled = next((part.cat.categories.dtype for part in parts if len(part.cat.categories)), None)
    if filled is not None:
        none = pd.Index([], dtype=filled)
        parts = [part if len(part.cat.categories) else part.cat.set_categories(none) for part in parts]
    return pd.Series(pd.api.types.union_categoricals(parts, ignore_order=True))
