"""Several files of one table: put together, or Parquet files of numbers read piece by piece."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minrisk.costs.labels import listed
from minrisk.io.columns import concatenated
from minrisk.io.dialect import Dialect
from minrisk.io.tables import ParquetFrames, Table, open_table
from minrisk.io.values import TableError, as_frame, shown, texts_in

if TYPE_CHECKING:
    import pandas as pd

PIECE_VALUES = 1 << 21  # cells of a Parquet file that are read together: 16 MB of numbers
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

    def _frame(self, labels: str | None, texts: Collection[str], mixed: Collection[str] = ()) -> pd.DataFrame:
        frames = [table.frame(labels, texts) for table in self.tables]
        for name in self.names:
            words = [frame[name].dtype.kind not in "biufmM" and bool(texts_in(frame[name]).any()) for frame in frames]
            empty = [bool(frame[name].isna().all()) for frame in frames]
            if name != labels and name not in texts and name not in mixed and any(words):
                numbers = [k for k, (word, none) in enumerate(zip(words, empty, strict=True)) if not word and not none]
                if numbers:
                    raise TableError(
                        f"column {name!r} holds text in {shown(self.tables[words.index(True)].path)} and numbers in "
                        f"{shown(self.tables[numbers[0]].path)}: correct one of them, or say by --categorical that it "
                        "holds categories."
                    )
            dates = [frame[name].dtype.kind in "mM" for frame in frames]
            others = [k for k, (date, none) in enumerate(zip(dates, empty, strict=True)) if not date and not none]
            if any(dates) and others:
                raise TableError(
                    f"column {name!r} holds dates in {shown(self.tables[dates.index(True)].path)} and none in "
                    f"{shown(self.tables[others[0]].path)}: correct one of them."
                )
        return _below(frames, self.names)

    def cells(self, names: Sequence[str]) -> pd.DataFrame:
        return _below([table.cells(names) for table in self.tables], names)


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
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths, self.n_rows = paths, 0
        self._types = dict[str, str]()
        self.names = list[str]()
        for path in paths:
            if not path.exists():
                raise TableError(f"there is no file {path}: correct the path.")
            found = ParquetFrames(path)
            self.n_rows += found.n_rows
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
