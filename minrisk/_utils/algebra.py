"""Linear algebra whose sums depend neither on the number of threads nor on the kind of processor.

A BLAS has kernels for every kind, whose sums differ in the last bits. Sums here take about twice as long on one thread
for large matrices, and less for those of few columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minrisk._kernels import algebra as kernels
from minrisk._typing import FloatArray

ROUNDING = 1e-12  # share of the largest square of a direction, below which one is rounding
MORE_COMPONENTS, SUBSPACE_STEPS = 10, 6  # of a space that is sought, and steps towards it


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
    """Return orthonormal columns that span the same space, but for directions that are rounding."""
    found = columns
    for _ in range(2):  # the second time makes up for what the first loses to rounding
        squares, axes = eigenvectors(product(found.T, found))
        kept = squares > ROUNDING * max(float(squares.max(initial=0.0)), np.finfo(float).tiny)
        found = product(found, axes[:, kept] / np.sqrt(squares[kept]))
    return found


def principal_components(Z: Any, n_components: int) -> FloatArray:
    """Return the rows' coordinates along the first principal components, (n, n_components); fewer if rows need no more.

    By subspace iteration from a drawn space (Halko, Martinsson and Tropp, "Finding structure with randomness", 2011).

    Parameters
    ----------
    Z : ndarray or CSR matrix of shape (n, d)
        Its numbers should be near 0 for most rows, as sums lose nothing then.
    n_components : int
    """
    n, d = Z.shape
    slices = [slice(first, first + (1 << 20) // d + 1) for first in range(0, n, (1 << 20) // d + 1)]
    multiply = product if isinstance(Z, np.ndarray) else lambda left, right: np.asarray(left @ right)
    mean = np.asarray(Z.mean(axis=0, dtype=np.float64)).ravel()
    space = np.random.default_rng(0).random((d, min(d, n_components + MORE_COMPONENTS))) - 0.5
    for step in range(SUBSPACE_STEPS + 1):
        space = orthonormal(space)
        along = np.concatenate([multiply(Z[part], space) for part in slices]) - product(mean, space)
        if step < SUBSPACE_STEPS:
            back = sum(multiply(Z[part].T, along[part]) for part in slices)
            space = back - mean[:, None] * along.sum(axis=0)
    return product(along, eigenvectors(product(along.T, along))[1][:, ::-1][:, :n_components])


def _solved(L: FloatArray, transposed: bool, right: FloatArray) -> FloatArray:
    out = np.array(right, order="C")
    kernels.solve_triangle(L, transposed, out)
    return out
