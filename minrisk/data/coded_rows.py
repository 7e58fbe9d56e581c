"""Rows with codes of categories, whose other columns are made of the codes when they are read.

A column of few values adds up to a dozen numbers to a row, each of which its code tells: as an array they would take
several times the memory of the table that was given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk.data.row_blocks import RowBlocks

MADE_VALUES = 1 << 20  # that are made at a time, 8 MB


def rows_of_table(codes: FloatArray, n_values: int) -> IntArray:
    """Rows of a table of so many values, the last one for what is missing."""
    return np.where(np.isnan(codes), n_values, codes).astype(np.int64)


class AddedColumns(NamedTuple):
    """What a column of categories adds to the rows."""

    position: int  # of its codes
    table: FloatArray  # (V + 1, m) by code; last: missing
    own: FloatArray | None = None  # (n, m) of each row in its place, where rows of one code differ

    def of(self, codes: FloatArray, rows: slice | IntArray) -> FloatArray:
        """The numbers of some rows."""
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
        """Some columns of some rows."""
        height = max(1, MADE_VALUES // self.shape[1])
        parts = [self._of(rows[first : first + height])[:, columns] for first in range(0, len(rows), height)]
        return np.concatenate(parts) if parts else self._of(rows)[:, columns]

    def some(self, rows: IntArray) -> CodedRows:
        """The rows of these ascending numbers."""
        added = [one._replace(own=None if one.own is None else one.own[rows]) for one in self._added]
        return CodedRows(self._codes[rows], added)

    def dense(self, who: str = "") -> np.ndarray:
        """All of them as an array: who wants that may have it, as of any table in memory."""
        return self._of(slice(None))
