"""Tables on disk: CSV, gzipped CSV and Parquet, read into a frame; `values` takes it apart into features and labels.

What cannot be used is a `TableError` that names the file and the column. Rows are counted from 1, the header not
among them. pandas is imported when a table is read or written, not before.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from minrisk._utils.text import short
from minrisk.costs.labels import listed
from minrisk.data.chunks import index_columns, open_parquet
from minrisk.data.frames import of_cells
from minrisk.data.marks import COMMA_GROUPS, COMMA_NUMBER, GROUPED, POINT_GROUPS, POINTED
from minrisk.io import room
from minrisk.io.atomic import STREAM, is_through
from minrisk.io.columns import ColumnParts
from minrisk.io.content import Content
from minrisk.io.dialect import Dialect, DialectError, Text, read_text
from minrisk.io.lines import LineError, check_lines
from minrisk.io.values import TableError, as_floats, as_frame, distinct, shown, texts_in

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["Table", "kind_of", "missing_columns", "open_table", "read_bytes"]

CSV, PARQUET = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz"), (".parquet", ".pq")
WRITTEN = (".csv", ".csv.gz", *PARQUET)
# cells of a feature that count as missing; in the column of labels only the empty cell does ("NA" may be a class)
MISSING_CELLS = (
    "",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "-NaN",
    "-nan",
    "<NA>",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "None",
    "n/a",
    "nan",
    "null",
)
NESTED_KINDS = ("list", "large_list", "fixed_size_list", "struct", "map")  # what Arrow's names of such types begin with
CHUNK_CELLS = 1 << 19  # cells that are read together: with what pandas takes beside them some 20 MB
Result = TypeVar("Result")


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
        How it is written, where that is unusual and was detected.
    notes : list of str
        What else should be said of it, each what it has.
    """

    written = False  # whether cells are text as somebody wrote it, rather than values of a type
    row_names: Sequence[str] = ()  # columns that the file itself says to be names of rows

    def __init__(self, path: Path, names: list[str]) -> None:
        self.path, self.names, self.found, self.notes = path, names, list[str](), list[str]()
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        if twice:
            what = f"named {twice[0]!r}: rename or remove" if twice[0] else "without a name: name them, or remove"
            raise TableError(f"{shown(path)} has more than one column {what} all but one.")

    def frame(
        self, labels: str | None = None, texts: Collection[str] = (), mixed: Collection[str] = ()
    ) -> pd.DataFrame:
        """All columns of a table with one row or more.

        Parameters
        ----------
        labels : str, optional
            The column that holds labels: text as it stands there, and "NA" or "None" is a label like any other.
        texts : collection of str, optional
            Columns whose cells are text, though they may look like numbers.
        mixed : collection of str, optional
            Columns that may hold numbers in one file and texts in another.

        Raises
        ------
        TableError
            If the table is damaged or has no rows.
        """
        frame = self._frame(labels, texts, mixed)
        if len(frame) == 0:
            raise TableError(f"{shown(self.path)} holds column names but no rows: give a table with data.")
        return frame

    @abstractmethod
    def _frame(self, labels: str | None, texts: Collection[str], mixed: Collection[str] = ()) -> pd.DataFrame: ...

    @abstractmethod
    def cells(self, names: Sequence[str]) -> pd.DataFrame:
        """Some columns as they are: text as it was written, or values of the file's types."""


class _CsvTable(Table):
    """A text table, which is read some rows at a time, in one pass for its lines and one or more for its cells."""

    written = True

    def __init__(self, path: Path, content: Content, stated: Dialect) -> None:
        notes: list[str] = []
        self._most = 1  # rows, at most

        def counted(blocks: Iterable[str]) -> Iterator[str]:
            self._most = 1
            for block in blocks:
                self._most += block.count("\n") + block.count("\r")
                yield block

        def look(text: Text) -> None:
            header = text.head[0] if text.head else []
            if not any(header):
                raise TableError(f"{shown(path)} is empty: give a table with column names and rows.")
            notes[:] = check_lines(counted(text.blocks()), text.delimiter, header, text.first)

        text = self._text = _guarded(path, lambda: read_text(content, stated, look))
        self._decimal, self._path, self._header = stated.decimal, path, text.head[0]
        nameless = [str(j) for j, name in enumerate(self._header) if name == ""]
        empty = set(nameless)
        for cells in self._chunks(nameless, dtype=str, na_filter=False) if nameless else ():
            empty -= {j for j in nameless if cells[j].str.strip().any()}
            if not empty:
                break
        self._positions = [str(j) for j in range(len(self._header)) if str(j) not in empty]
        super().__init__(path, [self._header[int(j)] for j in self._positions])
        self.found, self.notes = list(text.found), notes

    def _chunks(self, positions: Sequence[str], **how: Any) -> Iterator[pd.DataFrame]:
        """Columns by their positions, some rows at a time, one or none at least; cells beyond the header are empty.

        Positions are texts here. Whole numbers that name columns pandas mistakes for places among those that are used
        where a table has no rows.
        """
        import pandas as pd

        # the same bits as in Parquet: pandas 3 reads so by itself, and warns when asked to
        exact: Any = {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}
        width = len(self._header)
        reader: Any = _guarded(
            self._path,
            lambda: pd.read_csv(
                _TextStream(self._text),
                sep=self._text.delimiter,
                header=0,
                names=list(map(str, range(width))),
                index_col=False,
                usecols=positions,
                keep_default_na=False,
                low_memory=False,
                chunksize=max(1, CHUNK_CELLS // width),
                **exact,
                **how,
            ),
        )
        with reader:
            while (chunk := _guarded(self._path, lambda: next(reader, None))) is not None:
                yield chunk

    def _read(self, positions: Sequence[str], texts: Collection[str], **how: Any) -> dict[str, pd.Series[Any]]:
        """Whole columns by their positions; some are texts whatever they look like."""
        parts = {j: ColumnParts(j in texts, self._most) for j in positions}
        for chunk in self._chunks(positions, dtype=dict.fromkeys(texts, str), **how):
            for j, cells in chunk.items():
                parts[str(j)].add(cells)
        columns = {j: part.joined() for j, part in parts.items()}
        for j, cells in columns.items():
            if cells is not None and j not in texts:
                columns[j] = _without_missing(cells)
        mixed = [j for j, cells in columns.items() if cells is None]
        if mixed:  # texts, of which some rows could be read as numbers
            columns |= self._read(mixed, mixed, **how)
        return columns  # type: ignore[return-value]

    def _frame(self, labels: str | None, texts: Collection[str], mixed: Collection[str] = ()) -> pd.DataFrame:
        at = dict(zip(self.names, self._positions, strict=True))
        as_text = {at[name] for name in (*texts, *([] if labels is None else [labels])) if name in at}
        missing = {j: [""] if name == labels else list(MISSING_CELLS) for name, j in at.items()}
        plain = [name for name, j in at.items() if j not in as_text]
        may_have_commas = self._decimal == "," or (self._decimal is None and self._text.delimiter != ",")
        if may_have_commas and (hints := self._comma_hints(plain)):
            frame = self._named(self._read(self._positions, as_text, na_values=missing, decimal=","))
            if self._are_commas(frame, plain, hints):
                if self._decimal is None:
                    self.found.append("with decimal commas")
                return frame
            del frame
        frame = self._named(self._read(self._positions, as_text, na_values=missing))
        return self._with_points(frame, plain) if may_have_commas else frame

    def _named(self, columns: dict[str, pd.Series[Any]]) -> pd.DataFrame:
        """All columns, which then belong to the frame."""
        return as_frame({name: columns.pop(j) for name, j in zip(self.names, self._positions, strict=True)})

    def _comma_hints(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Numbers with decimal commas in the first rows, by columns, where no number there is written with a point."""
        at = dict(zip(self.names, map(int, self._positions), strict=True))
        found = {}
        for name in names:
            cells = [row[at[name]] for row in self._text.head[1:] if at[name] < len(row)]
            if any(map(POINTED.fullmatch, cells)):
                return {}
            if commas := [cell for cell in cells if COMMA_NUMBER.fullmatch(cell)]:
                found[name] = commas
        return found

    def _are_commas(self, frame: pd.DataFrame, names: Sequence[str], hints: dict[str, list[str]]) -> bool:
        """Whether a table that was read with decimal commas is what `_with_points` would make of it.

        It is where no other cell could be a number with a comma or a point.
        """
        if not any(frame[name].dtype.kind == "f" for name in hints):
            return False
        clear = any(GROUPED.fullmatch(cell) is None for cells in hints.values() for cell in cells)
        if self._decimal is None and not clear and self._text.delimiter != ";":
            return False
        kinds = (COMMA_NUMBER, COMMA_GROUPS, POINTED)
        for name in names:
            if frame[name].dtype.kind not in "biuf":
                values = distinct(frame[name])[1]
                if _which(values, *kinds).any():
                    return False
        return True

    def _with_points(self, frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
        """Numbers with decimal commas as numbers, where that was stated or nothing else can be meant."""
        import pandas as pd

        commas = {name: cells for name in names if (cells := _comma_cells(frame[name])) is not None}
        if not commas and self._decimal is None:
            self._tell_points(frame, names)
            return frame
        points = self._pointed([name for name in names if name in commas or _may_be_numbers(frame[name])])
        groups = {name for name, texts in points.items() if texts.str.fullmatch(POINT_GROUPS).all()}
        if self._decimal is None:
            written = [cell for name, cells in commas.items() for cell in distinct(frame[name][cells])[1]]
            clear = any(GROUPED.fullmatch(cell) is None for cell in written)
            sure = clear or (self._text.delimiter == ";" and not groups)
            if groups != set(points) or not sure:
                return frame
            self.found.append("with decimal commas")
        if groups:
            self.found.append("with points between thousands")
        columns = dict(frame.items())  # all at once: one by one, each would move all others
        for name in groups | set(commas):
            column = columns[name].astype(object)
            if name in groups:  # 1.000 is a thousand where the decimal mark is a comma
                column[points[name].index] = points[name].str.replace(".", "").astype(np.float64)
            if name in commas:
                at = commas[name]
                column[at] = column[at].map(lambda cell: float(cell.replace(".", "").replace(",", ".")))
            columns[name] = column if texts_in(column).any() else pd.Series(as_floats(column))
        return as_frame(columns)

    def _tell_points(self, frame: pd.DataFrame, names: Sequence[str]) -> None:
        """Say what 1.000 was read as, where every number with a point could as well be one of thousands."""
        head = [cell for row in self._text.head[1:] for cell in row if POINTED.fullmatch(cell)]
        if all(map(POINT_GROUPS.fullmatch, head)):
            points = self._pointed([name for name in names if _of_thousandths(frame[name])])
            if points and all(texts.str.fullmatch(POINT_GROUPS).all() for texts in points.values()):
                name, texts = next(iter(points.items()))
                text = texts.iloc[0]
                self.found.append(f"with points as decimal marks ({text!r} in column {name!r} is {float(text):g})")

    def _pointed(self, names: Sequence[str]) -> dict[str, pd.Series[Any]]:
        """Of columns with numbers that are written with points, these."""
        import pandas as pd

        at = dict(zip(self.names, self._positions, strict=True))
        parts: dict[str, list[pd.Series[Any]]] = {name: [] for name in names}
        for chunk in self._chunks([at[name] for name in names], dtype=str, na_filter=False) if names else ():
            for name in names:
                texts = chunk[at[name]].str.strip()
                parts[name].append(texts[texts.str.fullmatch(POINTED)])
        return {name: texts for name, found in parts.items() if len(texts := pd.concat(found))}

    def cells(self, names: Sequence[str]) -> pd.DataFrame:
        at = dict(zip(self.names, self._positions, strict=True))
        positions = list(dict.fromkeys(at[name] for name in names))
        columns = self._read(positions, positions, na_filter=False)
        return as_frame({name: columns[at[name]] for name in names})


class _TextStream:
    """A text as pandas reads it: the next part, however long."""

    def __init__(self, text: Text) -> None:
        self._blocks = text.blocks()

    def read(self, size: int = -1) -> str:
        return next(self._blocks, "")

    def __iter__(self) -> Iterator[str]:  # which pandas asks for, and does not use
        return self._blocks


class _ParquetTable(Table):
    def __init__(self, path: Path, source: Any) -> None:
        read = _guarded(path, lambda: parquet_module().ParquetFile(source))
        room.check_parquet(path, read)
        self._schema = read.schema_arrow
        read = _guarded(path, lambda: open_parquet(source))
        self._arrow = _guarded(path, read.read)
        _guarded(path, lambda: self._arrow.validate(full=True))  # texts may be no texts, which pandas trips over later
        self.row_names = index_columns(self._schema)
        super().__init__(path, [str(name) for name in self._arrow.column_names])

    def _frame(self, labels: str | None, texts: Collection[str], mixed: Collection[str] = ()) -> pd.DataFrame:
        """As `pandas.read_parquet` has it, but for texts, which are categories, and for names of rows."""
        import pyarrow as pa

        def read() -> pd.DataFrame:
            about = self._arrow.schema.metadata or {}
            if b"pandas" in about:
                about[b"pandas"] = json.dumps(json.loads(about[b"pandas"]) | {"index_columns": []})
            arrow = self._arrow.replace_schema_metadata(about)
            kinds = list(map(str, self._schema.types))
            nested = {j: arrow.column(j) for j, kind in enumerate(kinds) if kind.startswith(NESTED_KINDS)}
            for j in nested:
                arrow = arrow.set_column(j, self.names[j], pa.nulls(len(arrow)))
            columns = dict(zip(self.names, (cells for _, cells in arrow.to_pandas().items()), strict=True))
            for name, kind in zip(self.names, kinds, strict=True):
                if "binary" in kind and columns[name].dtype == "category":
                    columns[name] = columns[name].astype(object)
            return as_frame(columns | {self.names[j]: _of_one(cells) for j, cells in nested.items()})

        return _guarded(self.path, read)

    def cells(self, names: Sequence[str]) -> pd.DataFrame:
        """Columns with whole numbers that stay so beside missing cells."""
        place = {name: j for j, name in enumerate(self.names)}
        at = [place[name] for name in names]
        arrow = self._arrow.select(at)
        kept = _guarded(self.path, lambda: arrow.to_pandas(ignore_metadata=True, types_mapper=_nullable))
        return as_frame(
            {
                name: cells
                if str(self._schema.field(j).type).startswith("dictionary") or cells.dtype != "category"
                else cells.astype(object)
                for (name, cells), j in zip(kept.items(), at, strict=True)
            }
        )


class ParquetFrames:
    """A Parquet file of which some rows at a time are read.

    Parameters
    ----------
    path : Path

    Raises
    ------
    TableError
        If it is none.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with _guarded(path, lambda: parquet_module().ParquetFile(path)) as file:
            self.names, self.n_rows = list(file.schema_arrow.names), int(file.metadata.num_rows)
            self.row_names = index_columns(file.schema_arrow)
            self.types = list(map(str, file.schema_arrow.types))
            groups = range(file.metadata.num_row_groups)
            self.group_rows = [int(file.metadata.row_group(group).num_rows) for group in groups]

    def frames(
        self, names: Sequence[str], height: int, row_groups: Sequence[int] | None = None
    ) -> Iterator[pd.DataFrame]:
        """These columns of so many rows at a time, at most; of some row groups only, if they are stated."""
        import pyarrow as pa

        with _guarded(self._path, lambda: open_parquet(self._path)) as file:
            groups = None if row_groups is None else list(row_groups)
            batches = file.iter_batches(height, groups, list(names), use_threads=False)
            while (batch := _guarded(self._path, lambda: next(batches, None))) is not None:
                if len(batch):
                    table = pa.Table.from_batches([batch]).select(list(names))
                    yield table.to_pandas(ignore_metadata=True, types_mapper=_nullable)
        pa.default_memory_pool().release_unused()


def open_table(path: str | Path, stated: Dialect = Dialect()) -> Table:  # noqa: B008 (a tuple cannot change)
    r"""Open a table; "-" is standard input.

    Parameters
    ----------
    path : str or Path
        A file whose name ends in .csv, .csv.gz (with a header; .tsv and .txt too) or .parquet; a stream or
        device is told by what it holds.
    stated : Dialect
        How a text is written, as far as it is not to be detected.

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
    if os.path.isdir(path):
        raise TableError(f"{path} must be a file, but is a folder: give a table in .csv, .csv.gz or .parquet.")
    if not stream:
        kind = kind_of(path)
        if not os.path.exists(path):  # `Path` raises for a name that is too long for any file
            raise TableError(f"there is no file {path}: correct the path.")
        if kind == "parquet":
            if path.stat().st_size == 0:
                raise TableError(f"{path} is empty: give a table with column names and rows.")
            return _ParquetTable(path, path)
    content = _guarded(path, lambda: Content(path))
    if stream and content.head.startswith(b"PAR1"):
        return _ParquetTable(path, content.raw())
    if not _guarded(path, lambda: any(block.strip() for block in content.blocks())):
        raise TableError(f"{shown(path)} is empty: give a table with column names and rows.")
    try:
        return _CsvTable(path, content, stated)
    except (DialectError, LineError) as error:
        raise TableError(f"{shown(path)} {error}.") from None


def read_bytes(path: Path) -> bytes:
    """What a file or stream holds, unpacked; refused where there is no room for it."""
    if str(path) != STREAM:
        with path.open("rb") as file:
            data = room.read(path, file)
    elif sys.stdin is None or sys.stdin.closed:
        raise TableError("standard input is closed: give the name of a file.")
    else:
        data = room.read(path, sys.stdin.buffer)
    zipped = data.startswith(b"\x1f\x8b") or (path.name.lower().endswith(".gz") and len(data) > 0)
    return room.read(path, gzip.GzipFile(fileobj=io.BytesIO(data))) if zipped else data


def _nullable(kind: Any) -> Any:
    """The dtype of pandas whose whole numbers need no floats where cells are missing."""
    import pandas as pd

    signed = str(kind).startswith("int")
    if not signed and not str(kind).startswith("uint"):
        return None
    return pd.api.types.pandas_dtype(str(kind).replace("int", "Int") if signed else str(kind).replace("uint", "UInt"))


def _of_one(cells: Any) -> pd.Series[Any]:
    """Lists and structures, which nobody uses: one for all of them, which could be large."""
    import pandas as pd

    there = cells.is_valid().to_pylist()
    one = cells.slice(there.index(True), 1).to_pandas().iloc[0] if any(there) else None
    return pd.Series(of_cells(one if is_there else None for is_there in there))


# -- parts ---------------------------------------------------------------------------------------------------------
def _comma_cells(column: pd.Series[Any]) -> pd.Series[Any] | None:
    """Which cells of a column of text are numbers with a decimal comma; None where most cells are no numbers."""
    import pandas as pd

    if column.dtype.kind in "biufcmM":
        return None
    codes, values = distinct(column)
    is_text = texts_in(values)
    is_comma = is_text & _which(values, COMMA_NUMBER, COMMA_GROUPS)
    rows = np.bincount(codes[codes >= 0], minlength=len(values))
    if not is_comma.any() or rows[is_text & ~is_comma].sum() > 0.5 * rows.sum():
        return None
    return pd.Series(np.append(is_comma, False)[codes])


def _without_missing(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Texts of which those that mean a missing cell are one; pandas forgets it beside whole numbers of 64 bits."""
    if cells.dtype.kind in "biufO" and not hasattr(cells, "cat"):
        return cells
    return cells.cat.remove_categories([value for value in MISSING_CELLS if value in cells.cat.categories])


def _which(values: Iterable[Any], *kinds: re.Pattern[str]) -> np.ndarray:
    """Which values are written in one of these ways."""
    return np.array([any(kind.fullmatch(str(value)) is not None for kind in kinds) for value in values], dtype=bool)


def _of_thousandths(column: pd.Series[Any]) -> bool:
    """Whether cells are numbers with three digits after the point, or fewer."""
    if column.dtype.kind != "f":
        return False
    thousands = column.dropna().to_numpy() * 1000
    return bool((np.abs(thousands - np.rint(thousands)) < 1e-6).all())


def _may_be_numbers(column: pd.Series[Any]) -> bool:
    """Whether cells are numbers with a fraction or missing ones, or texts of which half are numbers in some writing."""
    if column.dtype.kind in "biucmMf":
        return bool(column.dtype.kind == "f")
    codes, values = distinct(column)
    others = texts_in(values) & ~_which(values, POINT_GROUPS)
    rows = np.bincount(codes[codes >= 0], minlength=len(values))
    return bool(rows[others].sum() <= 0.5 * rows.sum())


def parquet_module() -> Any:
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
        return read()
    except (TableError, DialectError, LineError):
        raise
    except pd.errors.EmptyDataError:
        raise TableError(f"{name} is empty: give a table with column names and rows.") from None
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise TableError(f"{name} is damaged or cut short, or was not packed by gzip: take a fresh copy.") from None
    except PermissionError:
        raise TableError(f"{name} cannot be read: you have no permission to.") from None
    except MemoryError:
        raise
    except Exception as error:  # of pandas and pyarrow, which raise any kind where what a file says of itself is wrong
        reason = " ".join(str(error).split()) or type(error).__name__
        raise TableError(f"{name} is not a table that can be read ({short(reason, 160)}): correct the file.") from None


def missing_columns(names: Sequence[str], wanted: Sequence[str], path: str | Path, why: str) -> None:
    """Raise a TableError that names the wanted columns a table does not have."""
    there = set(names)
    absent = [name for name in wanted if name not in there]
    if not absent:
        return
    hint = ""
    if len(names) == 1 and any(mark in names[0] for mark in ",;\t|"):
        hint = " (if these are several, say by --delimiter what separates them)"
    plural = "" if len(absent) == 1 else "s"
    what = repr(absent[0]) if len(absent) == 1 else listed(absent)
    raise TableError(f"{shown(path)} has no column{plural} {what}, {why}; its columns are {listed(names)}{hint}.")
