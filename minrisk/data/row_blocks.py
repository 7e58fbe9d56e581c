"""Rows that are read block after block: of files or of a function, whose rows together need not fit in memory.

`blocks_of` reads an array, sparse rows and these alike: what looks at rows of X is written once, as a loop over blocks.
`CodedRows` make columns of categories' codes when they are read: a column of few values adds up to a dozen numbers to
a row, which as an array would take several times the memory of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk._utils.memory import empty, in_file
from minrisk.data.sparse import DENSE_VALUES

CHANGED = (
    "The chunks must be the same whenever they are read: first there were {before} rows, now {now}. A callable must "
    "begin anew each time, with the same seed if it draws."
)
NOT_AT_ONCE = (
    "{who} look at all values of all rows at once: {rows} x {columns} in chunks are too many, more than {most}. Give "
    "an array, or use learners that are trees."
)


class RowBlocks:
    """n rows of d numbers, read again in each pass, used as an array of which some rows at a time are in memory.

    Parameters
    ----------
    read : callable
        Of no arguments, gives the blocks, ndarrays of shape (rows, d), in the same order each time.
    shape : tuple of int
        (n, d)
    dtype : dtype
        That all blocks have in common.
    bins_in : Path, optional
        Folder of the file in which bins of these rows lie; None: they lie in memory.
    """

    ndim = 2

    def __init__(
        self,
        read: Callable[[], Iterator[np.ndarray]],
        shape: tuple[int, int],
        dtype: np.dtype,
        bins_in: Path | None = None,
    ) -> None:
        self._read, self.shape, self.dtype, self.bins_in = read, shape, dtype, bins_in

    def __len__(self) -> int:
        return self.shape[0]

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the number of the first row, and the rows, of each block.

        Raises
        ------
        ValueError
            If there are not as many rows as before.
        """
        first = 0
        for block in self._read():
            if first + len(block) > len(self):
                raise ValueError(CHANGED.format(before=len(self), now=f"{first + len(block)} or more"))
            yield first, block.astype(self.dtype, copy=False)
            first += len(block)
        if first < len(self):
            raise ValueError(CHANGED.format(before=len(self), now=first))

    def __getitem__(self, rows: IntArray) -> np.ndarray:
        """Return some rows, by their numbers, in memory."""
        return self.gathered(rows, slice(None))

    def gathered(self, rows: IntArray, columns: slice) -> np.ndarray:
        """Return some columns of some rows, in memory."""
        width = len(range(*columns.indices(self.shape[1])))
        out = empty((len(rows), width), self.dtype)
        for places, block, inside in blocks_of(self, rows):
            out[places] = block[inside, columns]
        return out

    def some(self, rows: IntArray) -> RowBlocks:
        """Return the rows of these ascending numbers, read in the same way."""

        def read() -> Iterator[np.ndarray]:
            for _, block, inside in blocks_of(self, rows):
                yield block[inside]

        return RowBlocks(read, (len(rows), self.shape[1]), self.dtype, self.bins_in)

    def room(self, shape: tuple[int, int], dtype: Any) -> np.ndarray:
        """Make an array for what is made of the rows, where they want it."""
        return np.empty(shape, dtype=dtype) if self.bins_in is None else in_file(self.bins_in, shape, dtype)

    def dense(self, who: str) -> np.ndarray:
        """Return all of them as an array, where they are few.

        Raises
        ------
        ValueError
            If they are many; it names `who` looks at all of them.
        """
        (rows, columns), most = self.shape, DENSE_VALUES
        if rows * columns > most:
            raise ValueError(NOT_AT_ONCE.format(who=who, rows=rows, columns=columns, most=most))
        return self[np.arange(rows)]


def blocks_of(X: Any, rows: IntArray | None = None) -> Iterator[tuple[Any, Any, IntArray | None]]:
    """Yield blocks of X, which may be an array or sparse rows (one block) or `RowBlocks`.

    Parameters
    ----------
    X : ndarray, SparseRows or RowBlocks of shape (n, d)
    rows : ndarray of int, optional
        Those that are wanted, in any order; None: all.

    Yields
    ------
    places : slice or ndarray of int
        Where the rows wanted from this block stand among all that are.
    block : ndarray or SparseRows
    inside : ndarray of int or None
        Numbers in the block of the rows that are wanted; None: all.
    """
    if not isinstance(X, RowBlocks):
        yield slice(0, len(X) if rows is None else len(rows)), X, rows
        return
    order = None
    if rows is not None and np.any(rows[1:] < rows[:-1]):
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
    for first, block in X.blocks():
        if rows is None:
            yield slice(first, first + len(block)), block, None
            continue
        begin, end = np.searchsorted(rows, np.array([first, first + len(block)], dtype=rows.dtype)).tolist()
        if begin < end:
            places = slice(begin, end) if order is None else order[begin:end]
            yield places, block, rows[begin:end] - first


def taken(X: Any, rows: IntArray) -> Any:
    """Take rows of ascending numbers, as X has them."""
    return X.some(rows) if isinstance(X, RowBlocks) else X[rows]


MADE_VALUES = 1 << 20  # that are made at a time, 8 MB


def rows_of_table(codes: FloatArray, n_values: int) -> IntArray:
    """Return rows of a table of so many values, the last one for what is missing."""
    return np.where(np.isnan(codes), n_values, codes).astype(np.int64)


class AddedColumns(NamedTuple):
    """What a column of categories adds to the rows."""

    position: int  # of its codes
    table: FloatArray  # (V + 1, m) by code; last: missing
    own: FloatArray | None = None  # (n, m) of each row in its place, where rows of one code differ

    def of(self, codes: FloatArray, rows: slice | IntArray) -> FloatArray:
        """Return the numbers of some rows."""
        if self.own is not None:
            return self.own[rows]
        return self.table[rows_of_table(codes[rows, self.position], len(self.table) - 1)]


class CodedRows(RowBlocks):
    """Rows in memory: codes and numbers (n, d), and what is added to them.

    Parameters
    ----------
    codes : ndarray of shape (n, d)
    added : sequence of AddedColumns
        In the order of their columns, behind the others.
    """

    def __init__(self, codes: FloatArray, added: Sequence[AddedColumns]) -> None:
        self._codes, self._added = codes, added
        width = codes.shape[1] + sum(one.table.shape[1] for one in added)
        super().__init__(self._made, (len(codes), width), codes.dtype)

    def _made(self) -> Iterator[np.ndarray]:
        height = max(1, MADE_VALUES // self.shape[1])
        for first in range(0, len(self), height):
            yield self._of(slice(first, first + height))

    def _of(self, rows: slice | IntArray) -> np.ndarray:
        return np.hstack([self._codes[rows], *(one.of(self._codes, rows) for one in self._added)])

    def gathered(self, rows: IntArray, columns: slice) -> np.ndarray:
        """Return some columns of some rows."""
        height = max(1, MADE_VALUES // self.shape[1])
        parts = [self._of(rows[first : first + height])[:, columns] for first in range(0, len(rows), height)]
        return np.concatenate(parts) if parts else self._of(rows)[:, columns]

    def some(self, rows: IntArray) -> CodedRows:
        """Return the rows of these ascending numbers."""
        added = [one._replace(own=None if one.own is None else one.own[rows]) for one in self._added]
        return CodedRows(self._codes[rows], added)

    def dense(self, who: str = "") -> np.ndarray:
        """Return all of them as an array: who wants that may have it, as of any table in memory."""
        return self._of(slice(None))
