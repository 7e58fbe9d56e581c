"""Training data in chunks, which together need not fit in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from minrisk._typing import IntArray, Labels
from minrisk._utils.text import short
from minrisk.data.frames import Frame
from minrisk.data.row_keys import running_key

BATCH_VALUES = 1 << 22  # cells of a file that are read together: 32 MB of numbers
PARQUET_NAMES = (".parquet", ".pq")
OTHER_ROWS = (
    "The chunks must be the same whenever they are read: chunk {number} (rows {first} to {last}) now holds others, or "
    "in another order. A callable must begin anew each time, with the same seed if it draws, and a query needs "
    "ORDER BY."
)


class Chunk(NamedTuple):
    """Some rows."""

    X: Any  # array-like or table
    y: Any
    sample_weight: Any = None  # None: 1 for each row


class CodedLabels(NamedTuple):
    """Labels of many rows, as numbers of the distinct ones."""

    labels: Labels  # sorted
    codes: IntArray  # (n,) of the smallest dtype

    @classmethod
    def of(cls, y: Labels) -> Self:
        """Number labels that are all here."""
        labels, codes = np.unique(y, return_inverse=True)
        return cls(labels, codes.astype(np.min_scalar_type(max(1, len(labels) - 1))))

    def __len__(self) -> int:
        return len(self.codes)


class Chunks:
    """Training rows in chunks, which together need not fit into memory, for `fit` in place of X.

    A fit reads the chunks several times and keeps one byte for each value.
    The model is the same, to the last bit, as that of the same rows in one array.

    Parameters
    ----------
    source : callable, path, list of paths, or pyarrow.dataset.Dataset
        Where the chunks come from.
        A callable without arguments starts again whenever it is called, and returns an iterable of pairs (X, y), of
        triples (X, y, sample_weight), or of tables with the column `target`.
        Paths are Parquet files, or folders of them.
    target : str, optional
        Column with the classes, in tables and files. It must be given for these.
    weight : str, optional
        Column with sample weights, in tables and files. By default all rows weigh alike.
    drop : sequence of str, default=()
        Columns that are no features, in tables and files.
    bins_in : path, optional
        Folder for the bins, of n d bytes, in a file without a name that is gone when the fit ends.
        By default the bins are in memory.

    Raises
    ------
    TypeError
        If the source is none of these, or gives something else than chunks.
    ValueError
        If a column or file does not exist or does not fit the others. Some errors are raised only when the chunks are
        read.

    Notes
    -----
    Iterating over the object gives (X, y) of each chunk, or (X, y, sample_weight) if there are weights.

    X of a chunk is an array or a table of numbers; NaN is missing.
    Categories and sparse matrices must be given in one piece, because what a category says depends on all rows.

    Parquet files need pyarrow. They are read in the order given, and those of a folder by name.
    Names of rows, which pandas writes to them, are no features.

    Examples
    --------
    >>> import numpy as np
    >>> from minrisk import Chunks, MinRiskClassifier
    >>> def made():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(3):
    ...         X = rng.normal(size=(100, 4))
    ...         yield X, np.where(X[:, 0] > X[:, 1], "up", "down")
    >>> model = MinRiskClassifier(random_state=0).fit(Chunks(made))
    >>> model.predict([[1, 0, 0, 0], [0, 1, 0, 0]])
    array(['up', 'down'], dtype='<U4')
    """

    def __init__(
        self,
        source: Any,
        *,
        target: str | None = None,
        weight: str | None = None,
        drop: Sequence[str] = (),
        bins_in: str | os.PathLike[str] | None = None,
    ) -> None:
        self.source, self.target, self.weight = source, target, weight
        self.drop = (drop,) if isinstance(drop, str) else tuple(drop)
        self.bins_in = None if bins_in is None else Path(bins_in)
        self._read = self._reader()
        if self.bins_in is not None and not self.bins_in.is_dir():
            raise ValueError(f"bins_in must be a folder, got {str(bins_in)!r}, which is none: make it first.")

    def __repr__(self) -> str:
        return f"Chunks({short(repr(self.source), 60)}, target={self.target!r})"

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for chunk in self.chunks():
            yield tuple(chunk) if chunk.sample_weight is not None else chunk[:2]

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunks, from the beginning.

        Yields
        ------
        Chunk
            A tuple (X, y, sample_weight); the last is None if there are no weights.
        """
        for number, given in enumerate(self._read()):
            yield self._parted(given, number)

    def _reader(self) -> Callable[[], Iterable[Any]]:
        """Return what gives the chunks, as the source has them."""
        source, named = self.source, {self.target, self.weight, *self.drop}
        if isinstance(source, str | os.PathLike):
            source = [source]
        if isinstance(source, list | tuple) and source and all(isinstance(path, str | os.PathLike) for path in source):
            self._require_target("files")
            paths = [path for given in source for path in parquet_files(Path(given))]
            return lambda: _of_files(paths, named)
        if type(source).__module__.startswith("pyarrow") and hasattr(source, "to_batches"):
            self._require_target("a pyarrow dataset")
            return lambda: _of_dataset(source, named)
        if callable(source):
            return lambda: _of_callable(source)
        advice = "see its docstring"
        if hasattr(source, "__next__"):
            advice = "an iterator could be read once only, so give what makes it"
        elif isinstance(source, list | tuple):
            advice = "of a list of pairs make a callable, lambda: pairs" if source else "it is empty"
        raise TypeError(
            "Chunks takes a callable without arguments that gives (X, y) pairs anew each time, paths of Parquet files "
            f"or a pyarrow dataset, got {type(source).__name__}: {advice}."
        )

    def _require_target(self, what: str) -> None:
        if self.target is None:
            raise ValueError(f"Chunks of {what} need target=, the name of the column that holds the class.")

    def _parted(self, given: Any, number: int) -> Chunk:
        """Return features, labels and weights of one chunk."""
        frame = Frame.of(given)
        if frame is None:
            if isinstance(given, tuple | list) and len(given) in (2, 3):
                return Chunk(*given)
            raise TypeError(
                f"each chunk must be (X, y) or (X, y, sample_weight), or a table with a target column, got "
                f"{type(given).__name__} for chunk {number}."
            )
        self._require_target("tables")
        names = [str(name) for name in frame.names]
        wanted = [name for name in (self.target, self.weight, *self.drop) if name is not None]
        if absent := [name for name in wanted if name not in names]:
            raise ValueError(f"chunk {number} has no column {absent[0]!r}; its columns are {names}.")
        cells = {str(column.name): column for column in frame.columns if str(column.name) in wanted}
        X = frame.take([j for j, name in enumerate(names) if name not in wanted])
        y, weight = (None if name is None else _values(cells[name]) for name in (self.target, self.weight))
        return Chunk(X, y, weight)


def _values(column: Any) -> Any:
    """Return cells of a column as `fit` takes labels and weights."""
    cells = column.native
    if not hasattr(cells, "to_pylist"):
        return cells
    if cells.null_count:
        return cells.to_pylist()
    if str(cells.type).startswith("dictionary"):
        whole = cells.unify_dictionaries().combine_chunks()
        return whole.dictionary.to_numpy(zero_copy_only=False)[whole.indices.to_numpy()]
    return cells.to_numpy()


def parquet_files(path: Path) -> list[Path]:
    """List the files of a path: itself, or those of a folder."""
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.name.lower().endswith(PARQUET_NAMES))
        if not found:
            raise ValueError(f"{path} holds no Parquet files: give their folder.")
        return found
    if not path.exists():
        raise ValueError(f"there is no file {path}: correct the path.")
    if not path.name.lower().endswith(PARQUET_NAMES):
        raise ValueError(f"{path} must be a Parquet file, whose name ends in .parquet; others are read by a callable.")
    return [path]


def _of_files(paths: Sequence[Path], named: Collection[str | None]) -> Iterator[Any]:
    """Yield some rows at a time of Parquet files with the same columns, without rows' names that nobody named."""
    import pyarrow

    names = None
    for path in paths:
        try:
            with open_parquet(path) as file:
                own = _columns(file.schema_arrow, named)
                names = names or own
                if sorted(own) != sorted(names):
                    raise ValueError(f"{path} has other columns than {paths[0]}: {own} and {names}.")
                height = max(1, BATCH_VALUES // max(1, len(names)))
                for batch in file.iter_batches(height, use_threads=False):
                    if len(batch):
                        yield pyarrow.Table.from_batches([batch]).select(names)
        except (pyarrow.ArrowException, OSError) as problem:
            raise ValueError(f"{path} cannot be read as Parquet: {str(problem).splitlines()[0]}") from problem
    pyarrow.default_memory_pool().release_unused()


def _columns(schema: Any, named: Collection[str | None]) -> list[str]:
    """List those that are no names of rows, or that somebody named."""
    names_of_rows = set(index_columns(schema)).difference(named)
    return [name for name in schema.names if name not in names_of_rows]


def open_parquet(source: Any) -> Any:
    """Open it so that texts are read as numbers of the distinct ones: a file of kilobytes may hold gigabytes."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(source) as file:
        columns = [file.schema.column(j) for j in range(len(file.schema))]
        categories = {field.name for field in file.schema_arrow if str(field.type).startswith("dictionary")}
        texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
        texts = [path for path in texts if path not in categories]  # which have an order
    return ParquetFile(source, read_dictionary=texts, pre_buffer=False)


def index_columns(schema: Any) -> list[str]:
    """List the columns of a Parquet file that pandas wrote the names of rows to, and does not read as columns."""
    try:
        return [name for name in schema.pandas_metadata["index_columns"] if isinstance(name, str)]
    except (ValueError, LookupError, TypeError):  # the file says nothing of them
        return []


def _of_dataset(dataset: Any, named: Collection[str | None]) -> Iterator[Any]:
    """Yield the same of a dataset."""
    import pyarrow

    names = _columns(dataset.schema, named)
    height = max(1, BATCH_VALUES // max(1, len(names)))
    how = {"batch_size": height, "batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
    for batch in dataset.to_batches(columns=names, **how):
        if len(batch):
            yield pyarrow.Table.from_batches([batch])


def _of_callable(source: Callable[[], Iterable[Any]]) -> Iterable[Any]:
    given = source()
    if not hasattr(given, "__iter__"):
        raise TypeError(f"the callable of Chunks must give an iterable of chunks, got {type(given).__name__}.")
    return given


class Readings:
    """Readings of the same rows, each compared with the first, however they are divided into chunks.

    A reading gives (X, y) or (X, y, sample_weight) of each chunk, as arrays.
    """

    def __init__(self) -> None:
        self._ends: list[tuple[int, tuple[int, ...]]] = [(0, (0, 0, 0))]  # rows so far, and the keys of each column

    def add(self, *columns: Any) -> None:
        """Go on with the first reading."""
        n_rows, before = self._ends[-1]
        self._ends.append((n_rows + len(columns[1]), _keys(columns, before)))

    def compared(self, chunks: Iterable[tuple[int, tuple[Any, ...]]]) -> Iterator[Any]:
        """Yield X of each chunk, compared with the first reading; chunks come with their numbers.

        Raises
        ------
        ValueError
            Where rows differ from those of the first reading.
        """
        n_rows, place, keys = 0, 1, self._ends[0][1]
        for number, columns in chunks:
            begin, last = n_rows, n_rows + len(columns[1])
            while n_rows < last and place < len(self._ends):
                end, expected = self._ends[place]
                part = slice(n_rows - begin, min(end, last) - begin)
                keys, n_rows = _keys([column[part] for column in columns], keys), min(end, last)
                if n_rows == end:
                    if keys != expected:
                        raise ValueError(OTHER_ROWS.format(number=number, first=begin, last=last - 1))
                    place += 1
            n_rows = last
            yield columns[0]


def _keys(columns: Sequence[Any], before: tuple[int, ...]) -> tuple[int, ...]:
    """Return a key of each column, going on from those of the rows before."""
    return tuple(running_key(column, key) for column, key in zip(columns, before, strict=False))


def gathered_labels(parts: Iterable[Labels]) -> CodedLabels:
    """Return labels of chunks, each (n_i,), as numbers of the distinct ones.

    They have the dtype that all chunks' labels in one array have.
    """
    coded = [CodedLabels.of(part) for part in parts]
    if not coded:
        raise ValueError("the chunks hold no rows: give some.")
    if len({part.labels.dtype.kind in "UO" for part in coded}) > 1:
        raise ValueError("y must hold numbers or texts, got both in different chunks: make texts of all.")
    labels = np.unique(np.concatenate([part.labels for part in coded]))
    small = np.min_scalar_type(max(1, len(labels) - 1))
    return CodedLabels(labels, np.concatenate([np.searchsorted(labels, own).astype(small)[c] for own, c in coded]))


def rows_in(chunk: Chunk) -> int:
    """Say how many rows a chunk has."""
    return int(np.shape(chunk.y)[0]) if np.ndim(chunk.y) else 0
