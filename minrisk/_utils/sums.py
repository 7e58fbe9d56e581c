"""Weighted sums whose order depends neither on the number of threads nor on the kind of processor.

A BLAS has kernels for every kind, whose sums differ in the last bits. Sums of products of matrices are left to it: here
they would take ten times as long.
"""

from __future__ import annotations

import numpy as np

from minrisk._typing import FloatArray


def weighted_sum(weight: np.ndarray, values: np.ndarray) -> FloatArray:
    """sum_i weight[i] values[i], of numbers or of rows.

    Examples
    --------
    >>> weighted_sum(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [3.0, 1.0]])).tolist()
    [7.0, 2.0]
    """
    if values.ndim == 1:
        return np.asarray(np.sum(weight * values))
    return np.asarray(np.einsum("i,ij->j", weight, values))


def whole_parts(values: FloatArray, top: float, n: int) -> np.ndarray:
    """Sum numbers from 0 to `top` in two parts (2,), whole numbers whose sums over all `n` of them are exact."""
    exponent, bits = int(np.frexp(top)[1]), 62 - max(1, n).bit_length()
    fixed = np.ldexp(values, bits - exponent)
    whole = np.rint(fixed)
    rest = np.rint(np.ldexp(fixed - whole, bits))
    return np.array([whole.astype(np.int64).sum(), rest.astype(np.int64).sum()])


def sum_of_parts(sums: np.ndarray, top: float, n: int) -> float:
    """Return the sum of numbers from those of `whole_parts`."""
    exponent, bits = int(np.frexp(top)[1]), 62 - max(1, n).bit_length()
    return float(np.ldexp(float(sums[0]) + np.ldexp(float(sums[1]), -bits), exponent - bits))
