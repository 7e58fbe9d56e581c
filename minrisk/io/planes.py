"""Numbers as planes of bytes: the lowest byte of all of them, then the next one, each of which packs well on its own.

In an archive they are an array of bytes of shape (n, width) whose columns stand one after another. A coding says what
numbers of so many bytes mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from minrisk.model.rounded_vectors import shortened

BLOCK = 1 << 15  # numbers that are coded at a time, so that they take little memory


class Planes(NamedTuple):
    """Numbers that are to be written so."""

    numbers: np.ndarray  # (n,)
    width: int  # bytes of a number
    coded: Callable[[np.ndarray], np.ndarray]  # some of them as whole numbers from 0 of so many bytes

    @property
    def shape(self) -> tuple[int, int]:
        """Of the array of bytes."""
        return len(self.numbers), self.width

    def plane(self, place: int, low: int) -> np.ndarray:
        """Byte number `place` of up to `BLOCK` numbers from `low` on."""
        coded = np.ascontiguousarray(self.coded(self.numbers[low : low + BLOCK]), dtype=f"<u{self.width}")
        return np.ascontiguousarray(coded.view(np.uint8).reshape(-1, self.width)[:, place])


class PlaneCoding(NamedTuple):
    """What bytes mean."""

    widths: tuple[int, ...]  # bytes of a number
    planes: Callable[[np.ndarray], Planes]
    decoded: Callable[[np.ndarray], np.ndarray]  # of unsigned numbers (n,), which it may overwrite

    def numbers(self, flat: np.ndarray) -> np.ndarray:
        """Numbers of an array of bytes (n, width), in its memory where that is possible."""
        n, width = flat.shape
        return self.decoded(np.ascontiguousarray(flat).view(f"<u{width}").reshape(n))


def narrowest(most: int) -> int:
    """Bytes of whole numbers from 0 to `most`."""
    return next(width for width in (1, 2, 4) if most < 1 << 8 * width)


def _whole(numbers: np.ndarray) -> Planes:
    return Planes(numbers, narrowest(int(numbers.max(initial=0))), lambda some: some)


def _zigzag(numbers: np.ndarray) -> np.ndarray:
    """0, -1, 1, -2, ... as 0, 1, 2, 3, ..., of int16."""
    return ((numbers << 1) ^ (numbers >> 15)).view(np.uint16)


def _signed(numbers: np.ndarray) -> Planes:
    most = max(2 * int(numbers.max(initial=0)), -2 * int(numbers.min(initial=0)) - 1)
    return Planes(numbers, narrowest(most), _zigzag)


def _of_zigzag(coded: np.ndarray) -> np.ndarray:
    """The inverse of `_zigzag`, in the same memory where that is of 16 bits."""
    numbers = coded.astype(np.uint16, copy=False)
    for low in range(0, len(numbers), BLOCK):
        some = numbers[low : low + BLOCK]
        some[:] = (some >> 1) ^ -(some & 1)
    return numbers.view(np.int16)


def _reals(numbers: np.ndarray) -> Planes:
    if numbers.dtype == np.float64:
        return Planes(numbers, 8, lambda some: some.view(np.uint64))
    return Planes(numbers, 2, lambda some: shortened(some).view(np.uint32) >> 16)


def _of_reals(coded: np.ndarray) -> np.ndarray:
    if coded.dtype.itemsize == 8:
        return coded.view(np.float64)
    return (coded.astype(np.uint32) << 16).view(np.float32)


WHOLE = PlaneCoding((1, 2, 4), _whole, lambda coded: coded)  # numbers from 0
SIGNED = PlaneCoding((1, 2), _signed, _of_zigzag)  # int16, those near 0 in one byte
REALS = PlaneCoding((2, 8), _reals, _of_reals)  # float64 as they are, float32 with eight binary digits: see `shortened`
