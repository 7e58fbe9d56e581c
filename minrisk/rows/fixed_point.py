"""Between numbers and their fixed-point sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from minrisk._kernels._dtypes import FIXED, SUM_BITS
from minrisk._kernels.fixed import add_two_parts, fixed_factors, largest_sizes
from minrisk._memory import points
from minrisk._typing import FloatArray, IntArray
from minrisk.rows.exchange import Exchange

Sums = TypeVar("Sums", IntArray, FloatArray)


def sum_bits(n_rows: int) -> int:
    """Of values in fixed point, of which int64 holds the sum over so many rows."""
    return SUM_BITS - max(1, n_rows).bit_length()


def in_two_parts(values: FloatArray, factor: FloatArray | float, bits: int) -> IntArray:
    """Values times a factor, below 2**bits, as whole numbers; beside them what rounding takes, times 2**bits: (2, ...).

    Sums of both are exact, and together about as precise as the values.
    """
    scaled = values * factor
    whole = np.rint(scaled)
    return np.array([whole, np.rint((scaled - whole) * 2.0**bits)]).astype(FIXED)


def of_two_parts(sums: IntArray, factor: FloatArray, bits: int) -> FloatArray:
    """The sums of values from those of their two parts."""
    return divide(sums[0] + sums[1] * 2.0**-bits, factor)


def exact_sum(parts: Callable[[], Iterable[FloatArray]], n_rows: int, exchange: Exchange) -> FloatArray:
    """The sum over the rows of all pieces of numbers (m, S), in any order.

    Parameters
    ----------
    parts : callable
        Gives the numbers of the rows here, some rows at a time and at least once; it is asked twice.
    n_rows : int
        Of all pieces.
    exchange : Exchange
    """
    bits = sum_bits(n_rows)
    top = exchange.largest(np.max([largest_sizes(points(part)) for part in parts()], axis=0))
    factor, own = fixed_factors(top, bits), np.zeros((2, len(top)), dtype=FIXED)
    for part in parts():
        add_two_parts(points(part), factor, bits, own)
    return of_two_parts(exchange.added(own), factor, bits)


def fixed_factor(top: FloatArray, bits: int) -> FloatArray:
    """Powers of two that bring values up to `top` just below 2**bits; 0 where top is 0 (or denormal)."""
    if type(top) is np.ndarray and top.ndim == 1:
        return fixed_factors(top, bits)  # type: ignore[no-any-return]
    top = np.asarray(top, dtype=np.float64)
    factors: FloatArray = fixed_factors(top.ravel(), bits).reshape(top.shape)
    return factors


def divide(numerator: np.ndarray | float, denominator: FloatArray) -> FloatArray:
    """numerator / denominator, 0 where the denominator is 0 (an output that nothing is left to gain in)."""
    out = np.zeros(np.shape(numerator) or denominator.shape)
    quotient: FloatArray = np.divide(numerator, denominator, out=out, where=denominator > 0)
    return quotient


def largest(tops: Sequence[FloatArray]) -> FloatArray:
    """Elementwise maximum over blocks."""
    return tops[0] if len(tops) == 1 else np.asarray(np.max(tops, axis=0))


def added(parts: Sequence[Sums]) -> Sums:
    """Sum over blocks."""
    return parts[0] if len(parts) == 1 else np.asarray(np.sum(parts, axis=0))
