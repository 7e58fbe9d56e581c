"""Sparse rows of numbers: only stored values are looked at, all others are 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minrisk._typing import IntArray, Keys
from minrisk._utils import cached_property
from minrisk.data.row_keys import in_unit, mixed

DENSE_VALUES = 1 << 22  # of rows that become a dense block: 32 MB at most
NOT_DENSE = "{rows} rows of {columns} sparse features at once are more than the {most} numbers that a block may have."


def stay_sparse(n_rows: int, n_features: int) -> bool:
    """Whether sparse rows are too many to become an array, where that is faster for learners without bins."""
    return n_rows * n_features > DENSE_VALUES


def block_height(X: Any, most: int) -> int:
    """How many rows of X are looked at together: `most`, or fewer where sparse rows become a dense block."""
    return min(most, X.height) if isinstance(X, SparseRows) else most


class SparseRows:
    """Rows of a SciPy matrix, used as an array of n rows: slices of few rows become arrays, the whole never does.

    Parameters
    ----------
    matrix : csr_matrix or csr_array of shape (n, d)
        Without duplicates.
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.shape: tuple[int, int] = matrix.shape
        self.ndim = 2

    @property
    def dtype(self) -> np.dtype:
        """Of the values."""
        kind: np.dtype = self.matrix.dtype
        return kind

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: Any) -> Any:
        """Some rows, by a slice, numbers or a mask; with a number for the column that of all rows, as an array."""
        if isinstance(part, tuple):
            rows, column = part
            assert isinstance(rows, slice)
            return self.column(int(column))[rows]
        return SparseRows(self.matrix[part])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self.shape[0] * self.shape[1] > DENSE_VALUES:
            raise MemoryError(NOT_DENSE.format(rows=self.shape[0], columns=self.shape[1], most=DENSE_VALUES))
        dense = self.matrix.toarray()
        return np.asarray(dense if dtype is None else dense.astype(dtype))

    def gathered(self, together: Callable[[np.ndarray], np.ndarray]) -> SparseRows:
        """With the rows of other places, by what puts their arrays one after another."""
        from scipy.sparse import csr_matrix

        values, features, counts = map(together, (self.matrix.data, self.matrix.indices, np.diff(self.matrix.indptr)))
        offsets = np.concatenate([[0], np.cumsum(counts)])
        return SparseRows(csr_matrix((values, features, offsets), shape=(len(counts), self.shape[1])))

    @property
    def height(self) -> int:
        """Rows of a dense block."""
        return max(1, DENSE_VALUES // (16 * max(1, self.shape[1])))

    @cached_property
    def by_column(self) -> Any:
        """The same values, feature after feature, in ascending rows."""
        return self.matrix.tocsc()

    def column(self, j: int) -> np.ndarray:
        """All values of a feature, (n,)."""
        columns = self.by_column
        first, last = columns.indptr[j : j + 2]
        values = np.zeros(len(self), dtype=self.dtype)
        values[columns.indices[first:last]] = columns.data[first:last]
        return values

    def keys(self, odds: Keys, unit: IntArray | None = None) -> Keys:
        """Give what `minrisk.data.row_keys.summed_keys` does for the columns, in units of 2**unit, (n,)."""
        numbers, columns, data = odds[: self.shape[1]], self.matrix.indices, self.matrix.data
        if unit is not None:
            data = in_unit(data, unit[columns])
        with np.errstate(over="ignore"):
            usual = mixed(np.zeros(1, dtype=data.dtype), numbers)
            key = np.full(len(self), usual.sum(dtype=np.uint64), dtype=np.uint64)
            of_entry = np.repeat(np.arange(len(self)), np.diff(self.matrix.indptr))
            np.add.at(key, of_entry, mixed(data, numbers[columns]) - usual[columns])
        return key

    def with_columns(self, columns: np.ndarray) -> SparseRows:
        """With dense columns (n, m) behind these, as float64."""
        from scipy.sparse import csr_matrix, hstack

        return SparseRows(hstack([self.matrix.astype(np.float64), csr_matrix(columns.astype(np.float64))], "csr"))

    def copy(self) -> SparseRows:
        """In memory of their own."""
        return SparseRows(self.matrix.copy())

    def only(self, features: IntArray) -> SparseRows:
        """Some features."""
        return SparseRows(self.matrix[:, features])
