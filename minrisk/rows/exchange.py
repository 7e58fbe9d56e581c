"""What crosses between the pieces of rows that do not lie in one memory: maxima, exact sums, and messages.

Every piece answers the same calls of `minrisk.rows.rows.Rows` in the same order and asks the others as often as they
ask it, so all of them go on with the same numbers and find the same learners. In what order the pieces stand, and how
many there are, changes no bit: maxima and sums of whole numbers do not depend on it.

Between numbers and their fixed-point sums.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from minrisk._kernels._dtypes import FIXED, SUM_BITS
from minrisk._kernels.fixed import add_two_parts, fixed_factors, largest_sizes
from minrisk._typing import FloatArray, IntArray
from minrisk._utils.memory import points

Numbers = TypeVar("Numbers", bound=np.ndarray)
Message = TypeVar("Message", bound=tuple[object, ...])  # of arrays and numbers
Made = TypeVar("Made", bound=tuple[object, ...])


class Exchange(ABC):
    """How a piece learns what all pieces have together; each call is one exchange between all of them.

    Arrays that it gives can be written to: to kernels those that cannot are of another type.
    """

    @abstractmethod
    def met(self, kind: str, own: Any) -> Any:
        """Bring what a piece has to an exchange of this kind, a method's name; return what all have together."""

    @abstractmethod
    def told(self, told: Made | None) -> Made:
        """Return what the piece that `collected` takes messages to tells all of them; the others give None."""

    def largest(self, own: Numbers) -> Numbers:
        """Return the elementwise maximum over the pieces."""
        return self.met("largest", own)  # type: ignore[no-any-return]

    def added(self, own: Numbers) -> Numbers:
        """Return the sum over the pieces, of whole numbers that int64 or float64 holds exactly."""
        return self.met("added", own)  # type: ignore[no-any-return]

    def largest_and_added(self, tops: FloatArray, sums: IntArray) -> tuple[FloatArray, IntArray]:
        """Return what `largest` gives of the one and `added` of the other, in one exchange."""
        return self.met("largest_and_added", (tops, sums))  # type: ignore[no-any-return]

    def gathered(self, own: Numbers) -> Numbers:
        """Return the pieces' arrays one after another, along the first axis."""
        return self.met("gathered", own)  # type: ignore[no-any-return]

    def collected(self, own: Message) -> list[Message] | None:
        """Return the messages of all pieces, in any order, at one of them: always the same one. At the others None."""
        return self.met("collected", [own])  # type: ignore[no-any-return]

    def made_of_all(self, own: Message, make: Callable[[list[Message]], Made]) -> Made:
        """Return what `make` makes of the messages of all pieces, in any order, at one of them: any one."""
        messages = self.collected(own)
        return self.told(None if messages is None else make(messages))


class Alone(Exchange):
    """All rows are in one piece: nothing is exchanged."""

    def met(self, kind: str, own: Any) -> Any:
        """Return its own."""
        return own

    def told(self, told: Made | None) -> Made:
        """Return its own."""
        assert told is not None
        return told


class Place(NamedTuple):
    """Where a piece stands among all rows.

    Rows are numbered: what is drawn depends on a row's number, and a fold that is left out is a range of numbers. The
    rows of a piece stand in the order of their numbers. They are a few segments of consecutive numbers: one by
    default; several where rows stand fold after fold in all, and a piece has some of each fold.
    """

    first: int  # rows of the pieces before it, in the order in which `gathered` takes them
    n_rows: int  # of all pieces
    exchange: Exchange
    segments: tuple[tuple[int, int], ...] = ()  # a row here, from row 0 on, and its number; default: `first`

    @property
    def numbered(self) -> tuple[IntArray, IntArray]:
        """Return the rows here at which segments begin, and their numbers."""
        begins, number = np.array(self.segments or [(0, self.first)], dtype=np.int64).T.copy()
        return begins, number

    def n_before(self, number: int, n: int) -> int:
        """Return how many of the n rows here have lower numbers."""
        begins, numbers = self.numbered
        return int(np.clip(number - numbers, 0, np.diff(begins, append=n)).sum())

    def here(self, numbers: IntArray, n: int) -> IntArray:
        """Return the rows with these numbers, of the n rows here."""
        begins, firsts = self.numbered
        ends, found = np.append(begins[1:], n), []
        for begin, end, first in zip(begins, ends, firsts, strict=True):
            rows = numbers - first + begin
            found.append(rows[(rows >= begin) & (rows < end)])
        return np.concatenate(found)

    def among(self, rows: IntArray, n: int) -> Place:
        """Return the place of some of the n rows here, ascending, among those that all pieces choose: one exchange."""
        begins, numbers = self.numbered
        ends = np.searchsorted(rows, np.append(begins, n))
        own = np.column_stack([numbers, np.full_like(numbers, self.first), np.diff(ends)])
        number, first, chosen = self.exchange.gathered(own).T
        found = [(int(begin), int(chosen[number < own].sum())) for begin, own in zip(ends, numbers, strict=False)]
        segments = tuple(found) if self.segments else ()
        return Place(int(chosen[first < self.first].sum()), int(chosen.sum()), self.exchange, segments)

    def numbers_of_all(self, n: int) -> IntArray:
        """Return the numbers of the n rows here."""
        begins, numbers = self.numbered
        return np.arange(n) + np.repeat(numbers - begins, np.diff(begins, append=n))

    def number_of(self, row: int) -> int:
        """Return the number of a row here, or of the one that would follow the last."""
        begins, numbers = self.numbered
        segment = int(np.searchsorted(begins, row, side="right")) - 1
        return int(numbers[segment] + row - begins[segment])


def everything(n_rows: int) -> Place:
    """Return the place of a piece that is all rows."""
    return Place(0, n_rows, Alone())


# -- Fixed point -------------------------------------------------------------------------------------------------------
Sums = TypeVar("Sums", IntArray, FloatArray)


def sum_bits(n_rows: int) -> int:
    """Return the sum bits of values in fixed point, of which int64 holds the sum over so many rows."""
    return int(SUM_BITS) - max(1, n_rows).bit_length()


def in_two_parts(values: FloatArray, factor: FloatArray | float, bits: int) -> IntArray:
    """Return values times a factor, below 2**bits, as whole numbers, and what rounding takes, times 2**bits: (2, ...).

    Sums of both are exact, and together about as precise as the values.
    """
    scaled = values * factor
    whole = np.rint(scaled)
    return np.array([whole, np.rint((scaled - whole) * 2.0**bits)]).astype(FIXED)


def of_two_parts(sums: IntArray, factor: FloatArray, bits: int) -> FloatArray:
    """Return the sums of values from those of their two parts."""
    return divide(sums[0] + sums[1] * 2.0**-bits, factor)


def exact_sum(parts: Callable[[], Iterable[FloatArray]], n_rows: int, exchange: Exchange) -> FloatArray:
    """Return the sum over the rows of all pieces of numbers (m, S), in any order.

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
    """Return powers of two that bring values up to `top` just below 2**bits; 0 where top is 0 (or denormal)."""
    if type(top) is np.ndarray and top.ndim == 1:
        return fixed_factors(top, bits)  # type: ignore[no-any-return]
    top = np.asarray(top, dtype=np.float64)
    factors: FloatArray = fixed_factors(top.ravel(), bits).reshape(top.shape)
    return factors


def divide(numerator: np.ndarray | float, denominator: FloatArray) -> FloatArray:
    """Return numerator / denominator, 0 where the denominator is 0 (an output that nothing is left to gain in)."""
    out = np.zeros(np.shape(numerator) or denominator.shape)
    quotient: FloatArray = np.divide(numerator, denominator, out=out, where=denominator > 0)
    return quotient


def largest(tops: Sequence[FloatArray]) -> FloatArray:
    """Return elementwise maximum over blocks."""
    return tops[0] if len(tops) == 1 else np.asarray(np.max(tops, axis=0))


def added(parts: Sequence[Sums]) -> Sums:
    """Return the sum over blocks."""
    return parts[0] if len(parts) == 1 else np.asarray(np.sum(parts, axis=0))
