"""Sparse rows of numbers: only stored values are looked at, all others are 0.

`sound_rows` is the one gate for sparse matrices: compiled code follows their indices, and SciPy checks these only when
it is asked to.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from minrisk._typing import IntArray, Keys
from minrisk._utils import cached_property
from minrisk.data.row_keys import in_unit, mixed

DENSE_VALUES = 1 << 22  # of rows that become a dense block: 32 MB at most
NOT_DENSE = "{rows} rows of {columns} sparse features at once are more than the {most} numbers that a block may have."


def stay_sparse(n_rows: int, n_features: int) -> bool:
    """Say whether sparse rows are too many to become an array, where that is faster for learners without bins."""
    return n_rows * n_features > DENSE_VALUES


def block_height(X: Any, most: int) -> int:
    """Say how many rows of X are looked at together: `most`, or fewer where sparse rows become a dense block."""
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
        """Return some rows, by a slice, numbers or a mask; with a column's number that of all rows, as an array."""
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
        """Return them with the rows of other places, by what puts their arrays one after another."""
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
        """Return all values of a feature, (n,)."""
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
        """Return them with dense columns (n, m) behind, as float64."""
        from scipy.sparse import csr_matrix, hstack

        return SparseRows(hstack([self.matrix.astype(np.float64), csr_matrix(columns.astype(np.float64))], "csr"))

    def copy(self) -> SparseRows:
        """Copy them into memory of their own."""
        return SparseRows(self.matrix.copy())

    def only(self, features: IntArray) -> SparseRows:
        """Return some features."""
        return SparseRows(self.matrix[:, features])


COMPRESSED = {"csr": (0, 1), "csc": (1, 0), "bsr": (0, 1)}  # format -> which axis is compressed, and which has indices


def sound_rows(X: Any, name: str = "X") -> Any:
    """Return rows of a sparse matrix of SciPy, sorted and each entry once; X itself where it is so already.

    It takes time in proportion to the stored values, and trusts no flag that X has of itself.

    Parameters
    ----------
    X : sparse matrix or array of SciPy, of any format
    name : str
        What messages call it.

    Returns
    -------
    csr_matrix or csr_array of shape (n, d)

    Raises
    ------
    ValueError
        If its arrays do not describe a matrix of its shape; the message names what is wrong.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> X = csr_matrix([[0.0, 1.0], [2.0, 0.0]])
    >>> sound_rows(X) is X
    True
    >>> X.indices[0] = 7
    >>> sound_rows(X)
    Traceback (most recent call last):
      ...
    ValueError: X is no sound sparse matrix of shape (2, 2): a column is 7, and the last one is 1. Build it again.
    """
    try:
        wrong = _wrong(X)
        if wrong is None and X.format != "csr":
            X = (X if X.format in COMPRESSED or X.format in ("coo", "lil") else X.tocoo()).tocsr()
            wrong = _wrong(X)  # of formats whose entries stand nowhere before
    except (ValueError, TypeError, IndexError, AttributeError, OverflowError) as error:
        wrong = f"its arrays do not fit together ({type(error).__name__})"
    if wrong is not None:
        raise ValueError(f"{name} is no sound sparse matrix of shape {X.shape}: {wrong}. Build it again.")
    data, end = X.data.astype(X.data.dtype.newbyteorder("="), copy=False), X.indptr[-1]
    if data is X.data and end == len(data) and _ascends(X.indices, X.indptr):
        return X
    fresh = type(X)((data[:end], X.indices[:end], X.indptr), shape=X.shape, copy=True)
    fresh.sum_duplicates()
    return fresh


def _wrong(X: Any) -> str | None:
    """Say what is wrong with the arrays of a matrix; None: nothing, or its format has none that are followed."""
    if len(X.shape) != 2:
        return f"it has {len(X.shape)} dimensions"
    if X.format == "coo":
        for places, size, axis in zip((X.row, X.col), X.shape, ("row", "column"), strict=True):
            if len(places) != len(X.data):
                return f"it has {len(X.data)} values in {len(places)} {axis}s"
            if (said := _outside(places, size, axis)) is not None:
                return said
    if X.format == "lil":
        if not X.shape[0] == len(X.rows) == len(X.data) or list(map(len, X.rows)) != list(map(len, X.data)):
            return "it has not as many values as places in each row"
        places = list(chain.from_iterable(X.rows))
        return _outside(np.array(places, dtype=None if places else np.int64), X.shape[1], "column")
    if X.format == "dia" and (X.offsets.dtype.kind != "i" or X.offsets.shape != X.data.shape[:1]):
        return "it has not as many offsets as diagonals"
    if X.format not in COMPRESSED:
        return None
    size, of_each = (X.shape[axis] for axis in COMPRESSED[X.format])
    if X.format == "bsr":
        size, of_each = size // X.data.shape[1], of_each // X.data.shape[2]
    indptr, indices, axis = X.indptr, X.indices, "row" if X.format == "csc" else "column"
    if indptr.dtype.kind != "i" or indptr.ndim != 1:
        return f"its indptr is of {indptr.dtype} in {indptr.ndim} dimensions, and not of whole numbers in one"
    if len(indptr) != size + 1 or indptr[0] != 0 or np.any(indptr[1:] < indptr[:-1]):
        return f"its indptr does not lead in {size} steps from 0 upwards"
    if X.data.ndim != (3 if X.format == "bsr" else 1):
        return f"its values are an array of {X.data.ndim} dimensions"
    if len(indices) != len(X.data) or indptr[-1] > len(indices):
        return f"its indptr ends at {indptr[-1]}, and there are {len(indices)} indices and {len(X.data)} values"
    return _outside(indices[: indptr[-1]], of_each, axis)


def _outside(places: np.ndarray, size: int, axis: str) -> str | None:
    """Say what is wrong with row or column numbers; None: they are from 0 to below the size."""
    if places.dtype.kind != "i" or places.ndim != 1:
        return f"its {axis}s are of {places.dtype} in {places.ndim} dimensions, and not of whole numbers in one"
    low, high = places.min(initial=0), places.max(initial=-1)
    if low < 0 or high >= size:
        return f"a {axis} is {low if low < 0 else high}, and the last one is {size - 1}"
    return None


def _ascends(indices: np.ndarray, indptr: np.ndarray) -> bool:
    """Say whether the indices of each row rise."""
    rises = indices[1:] > indices[:-1]
    starts = indptr[1:-1]
    rises[starts[(starts > 0) & (starts < len(indices))] - 1] = True
    return bool(rises.all())
