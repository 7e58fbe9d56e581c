"""Several files of one table: put together, or Parquet files of numbers read piece by piece."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minrisk.costs.labels import listed
from minrisk.data.frames import CATEGORICAL, DATE, NUMBER, PLURALS, Frame
from minrisk.io.columns import concatenated
from minrisk.io.dialect import Dialect
from minrisk.io.tables import ParquetFrames, Table, open_table
from minrisk.io.values import NESTED, TableError, as_frame, is_nested, shown, texts_in

if TYPE_CHECKING:
    import pandas as pd

PIECE_VALUES = 1 << 21  # cells of a Parquet file that are read together: 16 MB of numbers
TEXT = "text"
NUMERIC = ("int", "uint", "float", "double", "halffloat", "bool", "null")  # what names of Arrow's types begin with


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

    def _frame(self, labels: str | None, texts: Collection[str], mixed: Collection[str] = ()) -> pd.DataFrame:
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
    """What a column holds: by its cells where they are text as somebody wrote it, else by its type."""
    if written and is_nested(part):
        return NESTED
    if written:
        return TEXT if texts_in(part).any() else PLURALS[DATE if part.dtype.kind in "mM" else NUMBER]
    frame = Frame.of(part.to_frame())
    assert frame is not None
    role = frame.columns[0].role
    return TEXT if role == CATEGORICAL else PLURALS.get(role or "", NESTED)


def _below(frames: Sequence[pd.DataFrame], names: Sequence[str]) -> pd.DataFrame:
    """Frames one below another, column by column."""
    return as_frame({name: concatenated([frame.pop(name) for frame in frames]) for name in names})


def open_tables(paths: Sequence[Path], stated: Dialect = Dialect()) -> Table:  # noqa: B008 (a tuple cannot change)
    """One table, or several as one.

    Raises
    ------
    TableError
        As `minrisk.io.tables.open_table`, and if columns differ.
    """
    tables = [open_table(path, stated) for path in paths]
    return tables[0] if len(tables) == 1 else SeveralTables(tables)


def together(paths: Sequence[Path]) -> str:
    """What messages call several files."""
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
        """Those of the columns that are not of a type for numbers in every file."""
        return [name for name in names if not self._types[name].startswith(NUMERIC)]

    def pieces(self, names: Sequence[str]) -> Iterator[tuple[Path, pd.DataFrame]]:
        """Some columns of some rows at a time."""
        height = max(1, PIECE_VALUES // max(1, len(names)))
        for path in self.paths:
            for frame in ParquetFrames(path).frames(names, height):
                yield path, frame


def labels_and_counts(pieces: ParquetPieces, target: str, take: Any) -> tuple[np.ndarray, np.ndarray]:
    """The distinct labels, sorted, and how many rows have each; `take(column, path)` gives the labels of a piece."""
    from minrisk.data.chunks import gathered_labels

    coded = gathered_labels(take(frame[target], path) for path, frame in pieces.pieces([target]))
    return coded.labels, np.bincount(coded.codes, minlength=len(coded.labels))
