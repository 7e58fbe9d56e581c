"""Tables on disk: CSV, gzipped CSV and Parquet, read into a frame and taken apart into features and labels.

What cannot be used is a `TableError` that names the file and the column. Rows are counted from 1, the header not
among them. pandas is imported when a table is read or written, not before.
"""

from __future__ import annotations

import gzip
import io
import re
import sys
import warnings
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from minrisk.costs.labels import listed
from minrisk.io.atomic import STREAM, is_through, write_beside
from minrisk.io.dialect import COMMA_NUMBER, Dialect, DialectError, Text, read_text

if TYPE_CHECKING:
    import pandas as pd

    from minrisk._typing import Labels

__all__ = [
    "MANY", "Table", "TableError", "as_known", "columns_of_words", "kind_of", "matched", "missing_columns",
    "nearly_numbers", "open_table", "read_bytes", "row_numbers", "shown", "take_features", "take_labels", "write_table",
    "written",
]  # fmt: skip

CSV, PARQUET = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz"), (".parquet", ".pq")
WRITTEN = (".csv", ".csv.gz", *PARQUET)
# cells of a feature that count as missing; in the column of labels only the empty cell does ("NA" may be a class)
MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-NaN", "-nan", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
NAMELESS = ("", "Unnamed: 0", "__index_level_0__")  # what the column of row names is called by those who write one
INTEGER = re.compile(r"-?[1-9]\d*|0")  # as it is written, and no other way
FLOATED = re.compile(r"(-?[1-9]\d*|-?0)\.0*|[+-]?\d(?:\.\d+)?[eE][+-]?\d+")  # a number that went through a float
EXACT = 2**53  # above it, several whole numbers are one float
MANY = 20  # so many different labels or words, if they are also more than half of the rows, are names or measurements
TEXTS_OF_NUMBERS = (  # what a text is that is nearly a number, and what to do about it
    ("percentages", re.compile(r"[+-]?\d+(?:[.,]\d+)?\s*%"), "remove the sign %"),
    ("amounts of money", re.compile(r"[+-]?\s?[€$£¥]\s?[+-]?[\d.,' ]*\d|[+-]?\d[\d.,' ]*\s?(?:[€$£¥]|EUR|USD|CHF|GBP)"),
     "remove the currency"),
    ("dates", re.compile(r"\d{4}-\d\d?-\d\d?(?:[T ].*)?|\d{4}/\d\d?/\d\d?(?: .*)?|\d\d?[./-]\d\d?[./-]\d{2,4}(?: .*)?"),
     "make numbers of them, such as days since the first"),
    ("numbers with thousands separators", re.compile(r"[+-]?\d{1,3}(?:[,.'\u2019\u00a0\u202f ]\d{3})+(?:[.,]\d+)?"),
     "remove the separators (if the mark is a decimal comma, say --decimal ,)"),
    ("numbers with decimal commas", COMMA_NUMBER, "say --decimal ,"),
)  # fmt: skip

Result = TypeVar("Result")


class TableError(ValueError):
    """A table that cannot be read, or does not hold what was asked of it."""


def shown(path: str | Path) -> str:
    """Name of a file in messages."""
    return "standard input" if str(path) == STREAM else str(path)


def kind_of(path: str | Path, to_write: bool = False) -> str:
    """Tell "csv" from "parquet" by the name of the file; a stream or device that is to be written gets CSV.

    Raises
    ------
    TableError
        If the name ends in neither.

    Examples
    --------
    >>> kind_of("cars.csv.gz"), kind_of("cars.parquet"), kind_of("-", to_write=True)
    ('csv', 'parquet', 'csv')
    """
    name = Path(path).name.lower()
    if name.endswith(PARQUET):
        return "parquet"
    if name.endswith(WRITTEN if to_write else CSV) or (to_write and (name == STREAM or is_through(path))):
        return "csv"
    more = "" if to_write else " (.tsv and .txt are read, too)"
    raise TableError(
        f"{path} must be a table whose name ends in .csv, .csv.gz or .parquet{more}: rename or convert it."
    )


# -- reading -------------------------------------------------------------------------------------------------------
class Table(ABC):
    """A table that was opened: the names of its columns, and how to read them.

    Attributes
    ----------
    path : Path
    names : list of str
        Of the columns, in their order.
    found : list of str
        How it is written, where that is unusual and was found out.
    """

    written = False  # whether cells are text as somebody wrote it, rather than values of a type

    def __init__(self, path: Path, names: list[str]) -> None:
        self.path, self.names, self.found = path, names, list[str]()
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            what = f"named {twice[0]!r}: rename or remove" if twice[0] else "without a name: name them, or remove"
            raise TableError(f"{shown(path)} has more than one column {what} all but one.")

    def frame(self, labels: str | None = None, texts: Collection[str] = ()) -> pd.DataFrame:
        """All columns of a table with one row or more.

        Parameters
        ----------
        labels : str, optional
            The column that holds labels: text as it stands there, and "NA" or "None" is a label like any other.
        texts : collection of str, optional
            Columns whose cells are text, though they may look like numbers.

        Raises
        ------
        TableError
            If the table is damaged or has no rows.
        """
        frame = self._frame(labels, texts)
        if len(frame) == 0:
            raise TableError(f"{shown(self.path)} holds column names but no rows: give a table with data.")
        return frame

    @abstractmethod
    def _frame(self, labels: str | None, texts: Collection[str]) -> pd.DataFrame: ...

    @abstractmethod
    def cells(self, names: Sequence[str]) -> pd.DataFrame:
        """Some columns as they are: text as it was written, or values of the file's types."""


class _CsvTable(Table):
    written = True

    def __init__(self, path: Path, text: Text, decimal: str | None) -> None:
        self._text, self._decimal = text, decimal
        header = list(text.head[0]) if text.head else []
        if not any(header):
            raise TableError(f"{shown(path)} is empty: give a table with column names and rows.")
        below = text.head[1:]
        if below and all(len(cells) == len(header) + 1 and cells[-1] == "" for cells in below):
            header.append("")  # each row ends with a delimiter
        self._bytes = text.content.encode()
        self._path, self._header = path, header
        nameless = [j for j, name in enumerate(header) if name == ""]
        if nameless:
            cells = self._read(usecols=nameless, dtype=str, na_filter=False)
            empty = {j for j in nameless if not cells[j].str.strip().any()}
        else:
            empty = set[int]()
        self._positions = [j for j in range(len(header)) if j not in empty]
        super().__init__(path, [header[j] for j in self._positions])
        self.found = list(text.found)

    def _read(self, **how: Any) -> pd.DataFrame:
        """Columns by their position."""
        import pandas as pd

        # the same bits as in Parquet: pandas 3 reads so by itself, and warns when asked to
        exact: Any = {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}
        return _guarded(
            self._path,
            lambda: pd.read_csv(
                io.BytesIO(self._bytes), sep=self._text.delimiter, header=0, names=list(range(len(self._header))),
                index_col=False, keep_default_na=False, low_memory=False, **exact, **how,
            ),
        )  # fmt: skip

    def _frame(self, labels: str | None, texts: Collection[str]) -> pd.DataFrame:
        at = dict(zip(self.names, self._positions, strict=True))
        as_text = {at[name] for name in (*texts, *([] if labels is None else [labels])) if name in at}
        missing = {j: [""] if name == labels else list(MISSING) for name, j in at.items()}
        frame = self._read(na_values=missing, dtype=dict.fromkeys(as_text, str))
        frame = frame[self._positions].set_axis(self.names, axis=1)
        if self._decimal != ".":
            kept = {name for name, j in at.items() if j in as_text}
            frame = self._with_points(frame, [name for name in self.names if name not in kept])
        return frame

    def _with_points(self, frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
        """Numbers with decimal commas as numbers, where that was stated or nothing else can be meant."""
        commas = {name: cells for name in names if (cells := _comma_cells(frame[name])) is not None}
        if not commas:
            return frame
        if self._decimal is None:
            if self._text.delimiter == ",":
                return frame
            points = [name for name in names if frame[name].dtype.kind == "f" and (frame[name] % 1 > 0).any()]
            grouped = re.compile(r"\s*[+-]?\d{1,3},\d{3}\s*")
            distinct = [cell for name, cells in commas.items() for cell in frame[name][cells].unique()]
            sure = self._text.delimiter == ";" or any(grouped.fullmatch(cell) is None for cell in distinct)
            if points or not sure:
                return frame
            self.found.append("with decimal commas")
        frame = frame.copy()
        for name, cells in commas.items():
            column = frame[name].astype(object)
            column[cells] = column[cells].map(lambda cell: float(cell.replace(",", ".")))
            numbers = cells | ~_texts(column)
            frame[name] = _as_floats(column) if numbers.all() else column
        return frame

    def cells(self, names: Sequence[str]) -> pd.DataFrame:
        at = dict(zip(self.names, self._positions, strict=True))
        frame = self._read(usecols=[at[name] for name in names], dtype=str, na_filter=False)
        return frame[[at[name] for name in names]].set_axis(list(names), axis=1)


class _ParquetTable(Table):
    def __init__(self, path: Path, source: Any) -> None:
        self._arrow = _guarded(path, lambda: _parquet().read_table(source))
        super().__init__(path, [str(name) for name in self._arrow.column_names])

    def _frame(self, labels: str | None, texts: Collection[str]) -> pd.DataFrame:
        return _guarded(
            self.path,  # whole numbers stay so beside missing cells
            lambda: self._arrow.to_pandas(ignore_metadata=True, types_mapper=_nullable).set_axis(self.names, axis=1),
        )

    def cells(self, names: Sequence[str]) -> pd.DataFrame:
        return self._frame(None, ())[list(names)]


def open_table(path: str | Path, stated: Dialect = Dialect()) -> Table:  # noqa: B008 (a tuple cannot change)
    r"""Open a table; "-" is standard input.

    Parameters
    ----------
    path : str or Path
        A file whose name ends in .csv, .csv.gz (with a header; .tsv and .txt likewise) or .parquet; a stream or
        device is told by what it holds.
    stated : Dialect
        How a text is written, as far as it is not to be found out.

    Raises
    ------
    TableError
        If the file is missing, empty or not such a table, or two columns have the same name.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "cars.csv")
    >>> _ = path.write_text("doors;grade\n2;NA\n4;01\n")
    >>> table = open_table(path)
    >>> table.names, table.found, table.frame(labels="grade")["grade"].tolist()
    (['doors', 'grade'], ['separated by semicolons'], ['NA', '01'])
    """
    path = Path(path)
    stream = str(path) == STREAM or is_through(path)
    if path.is_dir():
        raise TableError(f"{path} must be a file, but is a folder: give a table in .csv, .csv.gz or .parquet.")
    if not stream:
        kind = kind_of(path)
        if not path.exists():
            raise TableError(f"there is no file {path}: correct the path.")
        if kind == "parquet":
            if path.stat().st_size == 0:
                raise TableError(f"{path} is empty: give a table with column names and rows.")
            return _ParquetTable(path, path)
    data = _guarded(path, lambda: read_bytes(path))
    if stream and data.startswith(b"PAR1"):
        return _ParquetTable(path, io.BytesIO(data))
    if not data.strip():
        raise TableError(f"{shown(path)} is empty: give a table with column names and rows.")
    try:
        return _CsvTable(path, read_text(data, stated), stated.decimal)
    except DialectError as error:
        raise TableError(f"{shown(path)} {error}.") from None


def read_bytes(path: Path) -> bytes:
    """What a file or stream holds, unpacked."""
    if str(path) != STREAM:
        data = path.read_bytes()
    elif sys.stdin is None or sys.stdin.closed:
        raise TableError("standard input is closed: give the name of a file.")
    else:
        data = sys.stdin.buffer.read()
    zipped = data.startswith(b"\x1f\x8b") or (path.name.lower().endswith(".gz") and len(data) > 0)
    return gzip.decompress(data) if zipped else data


def _nullable(kind: Any) -> Any:
    """The dtype of pandas whose whole numbers need no floats where cells are missing."""
    import pandas as pd

    signed = str(kind).startswith("int")
    if not signed and not str(kind).startswith("uint"):
        return None
    return pd.api.types.pandas_dtype(str(kind).replace("int", "Int") if signed else str(kind).replace("uint", "UInt"))


# -- values ----------------------------------------------------------------------------------------------------------
def written(value: Any) -> str:
    """How a value is written; a whole float without a fraction, as far as that is exact.

    Examples
    --------
    >>> written(103.0), written("01"), written(True), written(2.0**60)
    ('103', '01', 'True', '1.152921504606847e+18')
    """
    whole = isinstance(value, (float, np.floating)) and abs(float(value)) < EXACT and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def matched(wanted: Iterable[Any], known: Sequence[Any]) -> list[int]:
    """Position among known values of each of some cells, -1 where there is none.

    A cell is the value that is written the same; else the one that differs from it by blanks around it; else the
    same whole number, "103" and "103.0". "01" is not "1".

    Examples
    --------
    >>> matched(["01", "1", "103.0", 103.0, " red", "1e3"], ["red", "1", 103, "01"])
    [3, 1, 2, 2, 0, -1]
    """
    texts = [written(value) for value in known]
    same = {text: i for i, text in reversed(list(enumerate(texts)))}
    bare = _unique((text.strip(), i) for i, text in enumerate(texts))
    whole = {int(text): i for text, i in same.items() if INTEGER.fullmatch(text)}
    floated = _unique((float(text), i) for text, i in same.items() if FLOATED.fullmatch(text))
    as_float = _unique((_float(number), i) for number, i in whole.items())

    def position(cell: Any) -> int:
        text = written(cell)
        found = same.get(text, bare.get(text.strip()))
        if found is None and INTEGER.fullmatch(text.strip()):
            number = int(text)
            found = whole.get(number, floated.get(_float(number)))
        elif found is None and FLOATED.fullmatch(text.strip()):
            found = floated.get(float(text), as_float.get(float(text)))
        return -1 if found is None else found

    return [position(cell) for cell in wanted]


def _unique(pairs: Iterable[tuple[Any, int]]) -> dict[Any, int]:
    """The positions of what occurs once."""
    found: dict[Any, int] = {}
    twice = set()
    for key, i in pairs:
        if key in found:
            twice.add(key)
        found[key] = i
    return {key: i for key, i in found.items() if key not in twice}


def _float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")


def columns_of_words(frame: pd.DataFrame) -> list[str]:
    """Names of columns that hold categories: by their dtype, or since more than half of the cells are no numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> columns_of_words(pd.DataFrame({"doors": ["2", "4", "?"], "colour": ["red", "blue", None]}))
    ['colour']
    """
    import pandas as pd

    found = []
    for name, column in frame.items():
        words = column[_texts(column)]
        if isinstance(column.dtype, pd.CategoricalDtype) or len(words) > 0.5 * column.notna().sum():
            found.append(str(name))
    return found


def row_numbers(frame: pd.DataFrame) -> str | None:
    """The column of row names or numbers that pandas and R write, without a name; None if there is none."""
    for name in frame.columns:
        if name in NAMELESS and len(frame) > 1 and frame[name].notna().all() and frame[name].is_unique:
            return str(name)
    return None


def nearly_numbers(column: pd.Series[Any]) -> tuple[str, str, str] | None:
    """What the texts of a column are that are nearly numbers, an example, and what to do; None for words."""
    words = column[_texts(column)].astype(str).str.strip().drop_duplicates()
    for what, pattern, advice in TEXTS_OF_NUMBERS:
        fits = words.map(lambda word, pattern=pattern: pattern.fullmatch(word) is not None)
        if len(words) and fits.mean() > 0.5:
            return what, str(words[fits].iloc[0]), advice
    return None


def take_features(frame: pd.DataFrame, path: str | Path, categories: Collection[str] = ()) -> pd.DataFrame:
    """Check that every other column holds numbers, and give them as float64; missing cells become NaN.

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
        If there is no column, or one holds text, dates or infinite numbers; the message names it.

    Examples
    --------
    >>> import pandas as pd
    >>> take_features(pd.DataFrame({"doors": [2, 4], "sold": [True, False]}), "cars.csv").to_numpy()
    array([[2., 1.],
           [4., 0.]])
    """
    import pandas as pd

    if frame.shape[1] == 0:
        raise TableError(f"{shown(path)} has no column left to learn from: keep at least one feature.")
    columns = {
        name: _named(column).astype("category").array if str(name) in categories else _numbers(column, str(name), path)
        for name, column in frame.items()
    }
    return pd.DataFrame(columns, columns=frame.columns)


def as_known(column: pd.Series[Any], known: Sequence[Any]) -> tuple[pd.Series[Any], list[str]]:
    """A column of categories with the values a model knows, missing where it knows none; and those, as written."""
    cells = column.astype(object)
    distinct = list(cells.dropna().unique())
    at = matched(distinct, known)
    names = {cell: known[i] for cell, i in zip(distinct, at, strict=True) if i >= 0}
    unknown = [written(cell) for cell, i in zip(distinct, at, strict=True) if i < 0]
    return cells.map(names.get).astype(object), unknown


def _named(column: pd.Series[Any]) -> pd.Series[Any]:
    """Categories by their text; a number that went through floats in some rows by that of the others."""
    cells = column.astype(object)
    distinct = list(cells.dropna().unique())
    if column.dtype == np.float32:
        names = {cell: written(np.float32(cell)) for cell in distinct}
    else:
        names = {cell: written(cell) for cell in distinct}
    plain = [text for text in dict.fromkeys(names.values()) if FLOATED.fullmatch(text) is None]
    if len(plain) < len(names):
        at = matched(names.values(), plain)
        names = {cell: text if i < 0 else plain[i] for (cell, text), i in zip(names.items(), at, strict=True)}
    return cells.map(names.get)


def take_labels(column: pd.Series[Any], path: str | Path, as_written: bool = False) -> Labels:
    """Class labels of a column: whole numbers, truth values or strings, (n,).

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
    >>> take_labels(pd.Series([1.0, 2.0], name="grade"), "cars.parquet")
    array([1, 2])
    >>> take_labels(pd.Series(["01", "1", "007"], name="grade"), "cars.csv", as_written=True)
    array(['01', '1', '007'], dtype='<U3')
    """
    import pandas as pd

    where = f"column {str(column.name)!r} of {shown(path)}"
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype if column.notna().all() else object)
    gone = column.isna()
    if as_written or not (pd.api.types.is_bool_dtype(column) or pd.api.types.is_numeric_dtype(column)):
        gone |= column.astype(str).str.strip() == ""
    absent = np.flatnonzero(gone)
    if len(absent):
        raise TableError(
            f"{where} must hold a label in every row, but {len(absent)} of {len(column)} are "
            f"missing (the first in row {absent[0] + 1}): fill in or remove these rows."
        )
    if as_written:
        return _written_labels(column, where)
    if pd.api.types.is_bool_dtype(column):
        return np.asarray(column, dtype=bool)
    if not pd.api.types.is_numeric_dtype(column):
        return np.array([str(label) for label in column])
    if pd.api.types.is_integer_dtype(column):
        return np.asarray(column.to_numpy())
    values = np.asarray(column, dtype=np.float64)
    _refuse_fractions(~np.isfinite(values) | (values != np.round(values)), values, where)
    return np.asarray(values.astype(np.int64))


def _written_labels(column: pd.Series[Any], where: str) -> Labels:
    """Labels from cells of text."""
    distinct = column.unique()
    if all(INTEGER.fullmatch(label) and len(label) < 19 for label in distinct):
        return np.asarray(column.astype(np.int64))
    if len(distinct) > MANY:
        import pandas as pd

        values = np.asarray(pd.to_numeric(column.str.replace(",", "."), errors="coerce"), dtype=np.float64)
        if np.isfinite(values).all():
            _refuse_fractions(values != np.round(values), values, where)
    return np.array(column.tolist(), dtype=str)


def _refuse_fractions(broken: np.ndarray, values: np.ndarray, where: str) -> None:
    rows = np.flatnonzero(broken)
    if len(rows):
        raise TableError(
            f"{where} must hold class labels, but row {rows[0] + 1} holds the number {values[rows[0]]:g}: name another "
            "target, or divide the numbers into classes."
        )


# -- writing -------------------------------------------------------------------------------------------------------
def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a frame as CSV (UTF-8), gzipped CSV or Parquet, as a whole; "-" is standard output.

    Raises
    ------
    TableError
        If the name says none of them.
    OSError
        If the file cannot be written.
    """
    path = Path(path)
    kind = kind_of(path, to_write=True)
    if str(path) == STREAM:
        sys.stdout.flush()
        sys.stdout.buffer.write(frame.to_csv(index=False, lineterminator="\n").encode())
        sys.stdout.buffer.flush()
        return
    with write_beside(path) as beside:
        if kind == "parquet":
            _parquet()
            mixed = {name: str for name, column in frame.items() if column.dtype == object}
            frame.astype(mixed).to_parquet(beside, index=False)
        else:
            zipped = path.name.lower().endswith(".gz")
            how: Any = {"method": "gzip", "mtime": 0} if zipped else None
            frame.to_csv(beside, index=False, compression=how)


# -- parts ---------------------------------------------------------------------------------------------------------
def _numbers(column: pd.Series[Any], name: str, path: str | Path) -> np.ndarray:
    """One feature as float64, (n,)."""
    import pandas as pd

    advice = "leave it out with --drop, or encode it as numbers"
    where = f"column {name!r} of {shown(path)}"
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        raise TableError(f"{where} holds dates or times: {advice}.")
    if not pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        texts = np.flatnonzero(_texts(column))
        if len(texts):
            example, row = str(column.iloc[texts[0]]), texts[0] + 1
            advice = "leave missing values empty; 'minrisk fit' has --drop to leave columns out, --category for words"
            nearly = nearly_numbers(column)
            if nearly is not None:
                advice = f"these are {nearly[0]}, {nearly[2]}; 'minrisk fit' has --drop to leave columns out"
            raise TableError(f"{where} holds text ({_short(example)!r} in row {row}): {advice}.")
        return _finite(_as_floats(column), where)
    if pd.api.types.is_complex_dtype(column):
        raise TableError(f"{where} holds complex numbers: {advice}.")
    return _finite(np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan)), where)


def _finite(values: np.ndarray, where: str) -> np.ndarray:
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise TableError(f"{where} holds an infinite number in row {infinite[0] + 1}: correct it, or leave it empty.")
    return values


def _as_floats(column: pd.Series[Any]) -> np.ndarray:
    """Cells that are numbers, or texts of numbers, (n,)."""
    import pandas as pd

    return np.asarray(pd.to_numeric(column.astype(object)).to_numpy(dtype=np.float64, na_value=np.nan))


def _texts(column: pd.Series[Any]) -> np.ndarray:
    """Which cells are text that is no number, (n,)."""
    import pandas as pd

    kinds = pd.api.types
    if any(of(column) for of in (kinds.is_numeric_dtype, kinds.is_bool_dtype, kinds.is_datetime64_any_dtype,
                                 kinds.is_timedelta64_dtype)):  # fmt: skip
        return np.zeros(len(column), dtype=bool)
    cells = column.astype(object)
    try:
        numbers = pd.to_numeric(cells, errors="coerce")
    except TypeError:  # lists, structures
        numbers = pd.to_numeric(cells.map(str, na_action="ignore"), errors="coerce")
    return np.asarray(numbers.isna() & column.notna())


def _comma_cells(column: pd.Series[Any]) -> pd.Series[Any] | None:
    """Which cells of a column of text are numbers with a decimal comma; None where most cells are no numbers."""
    if column.dtype.kind in "biufcmM":
        return None
    texts = column[_texts(column)].astype(str)
    commas = texts.map({cell: COMMA_NUMBER.fullmatch(cell) is not None for cell in texts.unique()}).astype(bool)
    if not commas.any() or (~commas).sum() > 0.5 * column.notna().sum():
        return None
    return commas.reindex(column.index, fill_value=False)


def _short(text: str, most: int = 30) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise TableError("Parquet files need pyarrow, which is not installed: pip install 'minrisk[cli]'.") from None
    return pyarrow.parquet


def _guarded(path: Path, read: Callable[[], Result]) -> Result:
    """Call a reader; what goes wrong becomes one TableError."""
    import pandas as pd

    name = shown(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header
            return read()
    except TableError:
        raise
    except pd.errors.EmptyDataError:
        raise TableError(f"{name} is empty: give a table with column names and rows.") from None
    except pd.errors.ParserWarning:
        raise TableError(f"{name} has rows with more cells than its header: correct the file.") from None
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise TableError(f"{name} is damaged or cut short, or was not packed by gzip: take a fresh copy.") from None
    except PermissionError:
        raise TableError(f"{name} cannot be read: you have no permission to.") from None
    except (ValueError, OSError) as error:  # pandas' and pyarrow's own kinds are among them
        reason = " ".join(str(error).split()) or type(error).__name__
        raise TableError(f"{name} is not a table that can be read ({_short(reason, 160)}): correct the file.") from None


def missing_columns(names: Sequence[str], wanted: Sequence[str], path: str | Path, why: str) -> None:
    """Raise a TableError that names the wanted columns a table does not have."""
    absent = [name for name in wanted if name not in set(names)]
    if not absent:
        return
    hint = ""
    if len(names) == 1 and any(mark in names[0] for mark in ",;\t|"):
        hint = " (if these are several, say by --delimiter what separates them)"
    plural = "" if len(absent) == 1 else "s"
    what = repr(absent[0]) if len(absent) == 1 else listed(absent)
    raise TableError(f"{shown(path)} has no column{plural} {what}, {why}; its columns are {listed(names)}{hint}.")
