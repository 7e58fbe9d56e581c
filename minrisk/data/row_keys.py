"""Random numbers that depend on cells alone: of each row, where the order must not matter, or of all in their order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from minrisk._kernels.functions import log
from minrisk._typing import FloatArray, Keys

KEYED_CELLS = 1 << 17  # at a time, 1 MB of numbers
MIXER = np.uint64(0xBF58476D1CE4E5B9)  # splitmix64's first factor


def odd_numbers(rng: np.random.Generator, n: int) -> Keys:
    """Draw random ones, for `row_keys`."""
    return rng.integers(1, 2**63, n, dtype=np.uint64) | np.uint64(1)


def row_keys(columns: Iterable[np.ndarray], odds: Keys) -> Keys:
    """Return a random number for each row that depends on nothing but its cells, (n,).

    Parameters
    ----------
    columns : iterable of ndarray
        Of n cells each: numbers, NaN among them, of which 0.0 and -0.0 are the same.
    odds : ndarray
        One odd number for each column, at least.
    """
    key = np.zeros(1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column, odd in zip(columns, odds, strict=False):
            key = key + (_whole(column) + np.uint64(1)) * odd
            key ^= key >> np.uint64(29)
    return key


def mixed(column: np.ndarray, odd: np.ndarray) -> Keys:
    """Return random numbers that depend on a cell and an odd number of its column."""
    with np.errstate(over="ignore"):
        key: Keys = (_whole(column) + np.uint64(1)) * odd
        return np.asarray((key ^ (key >> np.uint64(29))) * MIXER)


def summed_keys(columns: Iterable[np.ndarray], odds: Keys) -> Keys:
    """Do as `row_keys`, by sums, to which columns of zeros add what can be known before: for many columns."""
    key = np.zeros(1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column, odd in zip(columns, odds, strict=False):
            key = key + mixed(column, odd)
    return key


def in_unit(cells: np.ndarray, unit: Any) -> np.ndarray:
    """Return cells as float64 over 2**unit."""
    with np.errstate(over="ignore"):
        return np.asarray(np.ldexp(cells.astype(np.float64), -unit))


def numbered_keys(numbers: np.ndarray, seed: int) -> Keys:
    """Return a random number for each number and a seed (splitmix64), (n,)."""
    with np.errstate(over="ignore"):
        key = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed % (1 << 64)) * MIXER
        for shift, factor in ((30, MIXER), (27, np.uint64(0x94D049BB133111EB))):
            key = (key ^ (key >> np.uint64(shift))) * factor
        return np.asarray(key ^ (key >> np.uint64(31)))


def waiting_times(keys: Keys, weight: FloatArray) -> FloatArray:
    """Draw exponential waiting times of rows with these random numbers, (n,): the m shortest draw m rows by weight.

    A row whose weight changes a little, or one more, seldom makes a difference to who is drawn.
    """
    return np.asarray(-log((keys.astype(np.float64) + 0.5) / 2.0**64) / weight)


def _whole(column: np.ndarray) -> Keys:
    """Return cells as whole numbers: the same for equal cells only."""
    if column.dtype.kind in "biu":
        return column.astype(np.uint64)
    cells = column.astype(np.float64) + 0.0
    cells[np.isnan(cells)] = np.nan
    bits = cells.view(np.uint64)
    return np.asarray(bits ^ (bits >> np.uint64(32)))


def first_of_equals(*sorted_columns: np.ndarray) -> npt.NDArray[np.bool_]:
    """Say whether a row differs from the one before it, (n,)."""
    first = np.ones(len(sorted_columns[0]), dtype=np.bool_)
    first[1:] = np.any([column[1:] != column[:-1] for column in sorted_columns], axis=0)
    return first


def running_key(cells: Any, before: int = 0) -> int:
    """Return a number that the cells of an array or frame give, going on from that of the rows before them.

    Other cells, or the same in another order, seldom give the same one.
    """
    cells = np.asarray(cells)
    height = max(1, KEYED_CELLS * len(cells) // max(1, cells.size))
    for first in range(0, len(cells), height):
        part = cells[first : first + height]
        if cells.dtype.kind in "biuf":
            before = crc32(np.ascontiguousarray(part, dtype=np.float64).data, before)
        else:
            texts = "".join(f"{cell}\0" for cell in part.ravel().tolist())
            before = crc32(texts.encode(errors="surrogatepass"), before)
    return before
