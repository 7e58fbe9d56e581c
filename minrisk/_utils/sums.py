"""Sums of numbers in two parts, whole numbers whose sums are exact."""

from __future__ import annotations

import numpy as np

from minrisk._typing import FloatArray


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
