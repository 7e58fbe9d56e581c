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
