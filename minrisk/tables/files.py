"""Tables on disk: CSV, gzipped CSV and Parquet, one file or several of one table, opened and read into a frame.

What cannot be used is a `TableError` that names the file and the column. Rows are counted from 1, the header not
among them. pandas and Arrow are imported when a table is read or written, not before.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from minrisk._utils.text import short
from minrisk.costs.labels import listed
from minrisk.data.chunks import gathered_labels, index_columns, open_parquet
from minrisk.data.frames import CATEGORICAL, DATE, NUMBER, PLURALS, Frame, of_cells
from minrisk.tables.columns import NESTED, as_frame, concatenated, is_nested, texts_in
from minrisk.tables.source import TableError, check_parquet, is_stream, opener, shown
from minrisk.tables.text import (
    MISSING_CELLS,
    Dialect,
    TextError,
    as_words,
    read_cells,
    read_text,
    typed,
    with_missing,
    with_points,
)

if TYPE_CHECKING:
    import pandas as pd

CSV, PARQUET = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz"), (".parquet", ".pq")
WRITTEN = (".csv", ".csv.gz", *PARQUET)
NESTED_KINDS = ("list", "large_list", "fixed_size_list", "struct", "map")  # what Arrow's names of such types begin with
NUMERIC = ("int", "uint", "float", "double", "halffloat", "bool", "null")  # the same of types for numbers
PIECE_VALUES = 1 << 21  # cells of a Parquet file that are read together: 16 MB of numbers
TEXT = "text"
KEPT_SHARE = 0.9  # of the memory of texts: what more has been given up goes back to the system


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
    if name.endswith(WRITTEN if to_write else CSV) or (to_write and is_stream(path)):
        return "csv"
    more = "" if to_write else " (.tsv and .txt are read, too)"
    raise TableError(
        f"{path} must be a table whose name ends in .csv, .csv.gz or .parquet{more}: rename or convert it."
    )


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
        """Return all columns of a table with one row or more; those of a text table are then given up.

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
    def _frame(self, labels: str | None, texts: Collection[str], mixed: Collection[str]) -> pd.DataFrame: ...

    @abstractmethod
    def cells(self, names: Sequence[str]) -> pd.DataFrame:
        """Return some columns as they are: text as it was written, or values of the file's types."""


class _TextTable(Table):
    """A text table, all of whose cells are read as texts when it is opened."""

    written = True

    def __init__(self, path: Path, opened: Callable[[], IO[bytes]], stated: Dialect) -> None:
        text, cells = read_text(opened, stated, lambda text: read_cells(text, path))
        super().__init__(path, cells.names)
        self.found, self.notes = text.found, cells.notes
        self._delimiter, self._decimal = text.delimiter, stated.decimal
        self._columns = dict(zip(self.names, cells.columns, strict=True))

    def _frame(self, labels: str | None, texts: Collection[str], mixed: Collection[str]) -> pd.DataFrame:
        import pyarrow as pa

        as_written = {*texts, labels}
        columns, self._columns = self._columns, {}  # given up one by one: texts take more memory than numbers
        pointed = dict[str, Any]()
        if self._decimal == "," or (self._decimal is None and self._delimiter != ","):
            plain = [name for name in columns if name not in as_written]
            pointed, found = with_points(columns, plain, self._delimiter, self._decimal == ",")
            self.found += found
        made, pool = dict[str, Any](), pa.default_memory_pool()
        kept = pool.bytes_allocated()
        for name in self.names:
            if pool.bytes_allocated() < KEPT_SHARE * kept:  # or the pool would keep what the columns before took
                kept = pool.bytes_allocated()
                pool.release_unused()
            cells, missing = columns.pop(name), ("",) if name == labels else MISSING_CELLS
            if name in as_written:
                made[name] = as_words(with_missing(cells, missing))
            elif name in pointed:
                column = typed(with_missing(pointed.pop(name), missing))
                made[name] = column.astype(np.float64) if column.dtype.kind in "iu" else column
            else:
                made[name] = typed(with_missing(cells, missing))
        del cells
        pool.release_unused()
        return as_frame(made)

    def cells(self, names: Sequence[str]) -> pd.DataFrame:
        return as_frame({name: as_words(self._columns[name]) for name in names})


class _ParquetTable(Table):
    """A Parquet file, which is read when it is opened."""

    def __init__(self, path: Path, source: Any) -> None:
        from pyarrow.parquet import ParquetFile

        with _reading(path):
            read = ParquetFile(source)
            check_parquet(path, read)
            self._schema = read.schema_arrow
            self._arrow = open_parquet(source).read()
            self._arrow.validate(full=True)  # texts may be no texts, which pandas trips over later
        self.row_names = index_columns(self._schema)
        super().__init__(path, [str(name) for name in self._arrow.column_names])

    def _frame(self, labels: str | None, texts: Collection[str], mixed: Collection[str]) -> pd.DataFrame:
        """Read as `pandas.read_parquet` does, but for texts, which are categories, and for names of rows."""
        import pyarrow as pa

        with _reading(self.path):
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

    def cells(self, names: Sequence[str]) -> pd.DataFrame:
        """Read columns with whole numbers that stay so beside missing cells."""
        place = {name: j for j, name in enumerate(self.names)}
        at = [place[name] for name in names]
        with _reading(self.path):
            kept = self._arrow.select(at).to_pandas(ignore_metadata=True, types_mapper=_nullable)
        return as_frame(
            {
                name: cells
                if str(self._schema.field(j).type).startswith("dictionary") or cells.dtype != "category"
                else cells.astype(object)
                for (name, cells), j in zip(kept.items(), at, strict=True)
            }
        )


class SeveralTables(Table):
    """Tables of the same columns, one after another.

    Parameters
    ----------
    tables : sequence of Table
        Their columns may be in any order.

    Raises
    ------
    TableError
        If one has other columns than the first.
    """

    def __init__(self, tables: Sequence[Table]) -> None:
        first = tables[0]
        self.tables, self.written = tables, any(table.written for table in tables)
        for table in tables:
            check_same(first.path, first.names, table.path, table.names)
        super().__init__(Path(together([table.path for table in tables])), first.names)
        self.row_names = list(dict.fromkeys(name for table in tables for name in table.row_names))

    def _frame(self, labels: str | None, texts: Collection[str], mixed: Collection[str]) -> pd.DataFrame:
        frames = [table.frame(labels, texts) for table in self.tables]
        for name in self.names:
            if name not in (labels, *texts, *mixed):
                self._check_kinds(name, [frame[name] for frame in frames])
        return _below(frames, self.names)

    def _check_kinds(self, name: str, parts: Sequence[pd.Series[Any]]) -> None:
        """Refuse a column that holds one kind of cells in one file, and another in another."""
        found = dict[str, Path]()
        for table, part in zip(self.tables, parts, strict=True):
            if not part.isna().all():
                found.setdefault(_kind(part, self.written), table.path)
        if len(found) > 1:
            (one, here), (other, there) = sorted(found.items(), key=lambda pair: pair[0] != TEXT)[:2]
            way = ", or say by --categorical that it holds categories" if one == TEXT else ""
            raise TableError(
                f"column {name!r} holds {one} in {shown(here)} and {other} in {shown(there)}: correct one of them{way}."
            )

    def cells(self, names: Sequence[str]) -> pd.DataFrame:
        return _below([table.cells(names) for table in self.tables], names)


def _kind(part: pd.Series[Any], written: bool) -> str:
    """Return what a column holds: by its cells where they are text as somebody wrote it, else by its type."""
    if written and is_nested(part):
        return NESTED
    if written:
        return TEXT if texts_in(part).any() else PLURALS[DATE if part.dtype.kind in "mM" else NUMBER]
    frame = Frame.of(part.to_frame())
    assert frame is not None
    role = frame.columns[0].role
    return TEXT if role == CATEGORICAL else PLURALS.get(role or "", NESTED)


def _below(frames: Sequence[pd.DataFrame], names: Sequence[str]) -> pd.DataFrame:
    """Return frames one below another, column by column."""
    return as_frame({name: concatenated([frame.pop(name) for frame in frames]) for name in names})


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
        from pyarrow.parquet import ParquetFile

        with _reading(path), ParquetFile(path) as file:
            self.names, self.n_rows = list(file.schema_arrow.names), int(file.metadata.num_rows)
            self.row_names = index_columns(file.schema_arrow)
            self.types = list(map(str, file.schema_arrow.types))
            groups = range(file.metadata.num_row_groups)
            self.group_rows = [int(file.metadata.row_group(group).num_rows) for group in groups]

    def frames(
        self, names: Sequence[str], height: int, row_groups: Sequence[int] | None = None
    ) -> Iterator[pd.DataFrame]:
        """Yield these columns of so many rows at a time, at most; of some row groups only, if they are stated."""
        import pyarrow as pa

        with _reading(self._path), open_parquet(self._path) as file:
            groups = None if row_groups is None else list(row_groups)
            for batch in file.iter_batches(height, groups, list(names), use_threads=False):
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
    if os.path.isdir(path):
        raise TableError(f"{path} must be a file, but is a folder: give a table in .csv, .csv.gz or .parquet.")
    if not is_stream(path):
        kind = kind_of(path)
        if not os.path.exists(path):  # `Path` raises for a name that is too long for any file
            raise TableError(f"there is no file {path}: correct the path.")
        if path.stat().st_size == 0:
            raise TableError(f"{path} is empty: give a table with column names and rows.")
        if kind == "parquet":
            return _ParquetTable(path, path)
    with _reading(path):
        opened = opener(path)
        with opened() as file:
            is_parquet = is_stream(path) and file.read(4) == b"PAR1"
        return _ParquetTable(path, opened()) if is_parquet else _TextTable(path, opened, stated)


def _nullable(kind: Any) -> Any:
    """Return the dtype of pandas whose whole numbers need no floats where cells are missing."""
    import pandas as pd

    signed = str(kind).startswith("int")
    if not signed and not str(kind).startswith("uint"):
        return None
    return pd.api.types.pandas_dtype(str(kind).replace("int", "Int") if signed else str(kind).replace("uint", "UInt"))


def _of_one(cells: Any) -> pd.Series[Any]:
    """Return lists and structures, which nobody uses: one for all of them, which could be large."""
    import pandas as pd

    there = cells.is_valid().to_pylist()
    one = cells.slice(there.index(True), 1).to_pandas().iloc[0] if any(there) else None
    return pd.Series(of_cells(one if is_there else None for is_there in there))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Make one TableError of what goes wrong while a file is read."""
    name = shown(path)
    try:
        yield
    except (TableError, MemoryError):
        raise
    except TextError as error:
        raise TableError(f"{name} {error}.") from None
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise TableError(f"{name} is damaged or cut short, or was not packed by gzip: take a fresh copy.") from None
    except PermissionError:
        raise TableError(f"{name} cannot be read: you have no permission to.") from None
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


def open_tables(paths: Sequence[Path], stated: Dialect = Dialect()) -> Table:  # noqa: B008 (a tuple cannot change)
    """Return one table, or several as one.

    Raises
    ------
    TableError
        As `open_table`, and if columns differ.
    """
    tables = [open_table(path, stated) for path in paths]
    return tables[0] if len(tables) == 1 else SeveralTables(tables)


def together(paths: Sequence[Path]) -> str:
    """Return what messages call several files."""
    return str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def check_same(first: Path, names: Sequence[str], path: Path, own: Sequence[str]) -> None:
    """Refuse a file with other columns than the first."""
    if set(own) != set(names):
        apart = sorted(set(own) ^ set(names))
        raise TableError(
            f"{shown(path)} has other columns than {shown(first)}, which differ by {listed(apart)}: give files of one "
            "table."
        )


class ParquetPieces:
    """Parquet files with the same columns, read piece by piece.

    Parameters
    ----------
    paths : sequence of Path

    Attributes
    ----------
    names : list of str
        Of the columns of the first.
    n_rows : int
    row_names : set of str
        Columns that a file says to be names of rows.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths, self.n_rows, self.row_names = paths, 0, set[str]()
        self._types = dict[str, str]()
        self.names = list[str]()
        for path in paths:
            if not path.exists():
                raise TableError(f"there is no file {path}: correct the path.")
            found = ParquetFrames(path)
            self.n_rows += found.n_rows
            self.row_names.update(found.row_names)
            self.names = self.names or found.names
            check_same(paths[0], self.names, path, found.names)
            for name, kind in zip(found.names, found.types, strict=True):
                if not kind.startswith(NUMERIC) or name not in self._types:
                    self._types[name] = kind

    def of_words(self, names: Sequence[str]) -> list[str]:
        """Return those of the columns that are not of a type for numbers in every file."""
        return [name for name in names if not self._types[name].startswith(NUMERIC)]

    def pieces(self, names: Sequence[str]) -> Iterator[tuple[Path, pd.DataFrame]]:
        """Yield some columns of some rows at a time."""
        height = max(1, PIECE_VALUES // max(1, len(names)))
        for path in self.paths:
            for frame in ParquetFrames(path).frames(names, height):
                yield path, frame


def labels_and_counts(pieces: ParquetPieces, target: str, take: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct labels, sorted, and how many rows have each; `take(column, path)` gives the labels of a
    piece.
    """
    coded = gathered_labels(take(frame[target], path) for path, frame in pieces.pieces([target]))
    return coded.labels, np.bincount(coded.codes, minlength=len(coded.labels))
