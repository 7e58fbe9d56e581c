"""Linear algebra whose sums depend neither on the number of threads nor on the kind of processor.

A BLAS has kernels for every kind, whose sums differ in the last bits.
"""

from __future__ import annotations

import numpy as np

from minrisk._kernels import algebra as kernels
from minrisk._typing import FloatArray


def product(left: np.ndarray, right: np.ndarray) -> FloatArray:
    """Compute left @ right in float64, of matrices or of vectors (whose product is an array of no dimension).

    Examples
    --------
    >>> product(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0])).tolist()
    [21.0, 43.0]
    """
    left, right = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if left.ndim == right.ndim == 1:
        return np.asarray(np.sum(left * right))
    if right.ndim == 1:  # the kernel has the columns of a result side by side: a vector is a row
        return product(right, left.T)
    if left.ndim == 1:
        return np.asarray(product(left[None], right)[0])
    out = np.empty((left.shape[0], right.shape[1]))
    kernels.product(left, right, out)
    return out


def weighted_sum(weight: np.ndarray, values: np.ndarray) -> FloatArray:
    """Compute sum_i weight[i] values[i], of numbers or of rows.

    Examples
    --------
    >>> weighted_sum(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [3.0, 1.0]])).tolist()
    [7.0, 2.0]
    """
    return product(weight, values)


def eigenvectors(matrix: FloatArray, metric: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues of a symmetric matrix in ascending order, and its eigenvectors of length 1 in columns.

    With a positive definite `metric` B, vectors v of ``matrix v = value B v`` and v' B v = 1.

    Examples
    --------
    >>> values, vectors = eigenvectors(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values.round(12).tolist(), np.abs(vectors).round(3).tolist()
    ([1.0, 3.0], [[0.707, 0.707], [0.707, 0.707]])
    """
    if metric is None:
        values, vectors = kernels.eigenvectors(np.ascontiguousarray(matrix))
        return values, vectors
    L = kernels.cholesky(np.ascontiguousarray(metric))
    half = _solved(L, False, matrix)
    values, vectors = kernels.eigenvectors(_solved(L, False, half.T))
    return values, _solved(L, True, vectors)


def solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve matrix x = right for a positive definite matrix, by Cholesky's decomposition.

    Examples
    --------
    >>> solve(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([3.0, 3.0])).round(12).tolist()
    [1.0, 1.0]
    """
    L = kernels.cholesky(np.ascontiguousarray(matrix))
    columns = right if right.ndim == 2 else right[:, None]
    return _solved(L, True, _solved(L, False, columns)).reshape(right.shape)


def orthonormal(columns: FloatArray) -> FloatArray:
    """Return orthonormal columns that span the same space, which must be far from a smaller one."""
    found = columns
    for _ in range(2):  # the second time makes up for what the first loses to rounding
        L = kernels.cholesky(product(found.T, found))
        found = _solved(L, False, found.T).T
    return found


def _solved(L: FloatArray, transposed: bool, right: FloatArray) -> FloatArray:
    out = np.array(right, order="C")
    kernels.solve_triangle(L, transposed, out)
    return out
