"""What crosses between the pieces of rows that do not lie in one memory: maxima, exact sums, and messages.

Every piece answers the same calls of `minrisk.rows.base.Rows` in the same order and asks the others as often as they
ask it, so all of them go on with the same numbers and find the same learners. In what order the pieces stand, and how
many there are, changes no bit: maxima and sums of whole numbers do not depend on it.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from minrisk._typing import IntArray

Numbers = TypeVar("Numbers", bound=np.ndarray)
Message = TypeVar("Message", bound=tuple[object, ...])  # of arrays and numbers


class Exchange(Protocol):
    """How a piece learns what all pieces have together; each call is one exchange between all of them.

    Arrays that it gives can be written to: to kernels those that cannot are of another type.
    """

    def largest(self, own: Numbers) -> Numbers:
        """Elementwise maximum over the pieces."""

    def added(self, own: Numbers) -> Numbers:
        """Sum over the pieces, of whole numbers that int64 or float64 holds exactly."""

    def gathered(self, own: Numbers) -> Numbers:
        """The pieces' arrays one after another, along the first axis."""

    def collected(self, own: Message) -> list[Message] | None:
        """The messages of all pieces, in any order, at one of them: always the same one. At the others None."""

    def told(self, told: Message | None) -> Message:
        """What the piece that `collected` takes messages to tells all of them; the others give None."""


class Alone:
    """All rows are in one piece: nothing is exchanged."""

    def largest(self, own: Numbers) -> Numbers:
        """Its own."""
        return own

    def added(self, own: Numbers) -> Numbers:
        """Its own."""
        return own

    def gathered(self, own: Numbers) -> Numbers:
        """Its own."""
        return own

    def collected(self, own: Message) -> list[Message] | None:
        """Its own."""
        return [own]

    def told(self, told: Message | None) -> Message:
        """Its own."""
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
        """The rows here at which segments begin, and their numbers."""
        begins, number = np.array(self.segments or [(0, self.first)], dtype=np.int64).T.copy()
        return begins, number

    def n_before(self, number: int, n: int) -> int:
        """How many of the n rows here have lower numbers."""
        begins, numbers = self.numbered
        return int(np.clip(number - numbers, 0, np.diff(begins, append=n)).sum())

    def here(self, numbers: IntArray, n: int) -> IntArray:
        """The rows with these numbers, of the n rows here."""
        begins, firsts = self.numbered
        ends, found = np.append(begins[1:], n), []
        for begin, end, first in zip(begins, ends, firsts, strict=True):
            rows = numbers - first + begin
            found.append(rows[(rows >= begin) & (rows < end)])
        return np.concatenate(found)

    def among(self, rows: IntArray, n: int) -> Place:
        """The place of some of the n rows here, ascending, among those that all pieces choose: one exchange."""
        begins, numbers = self.numbered
        ends = np.searchsorted(rows, np.append(begins, n))
        own = np.column_stack([numbers, np.full_like(numbers, self.first), np.diff(ends)])
        number, first, chosen = self.exchange.gathered(own).T
        found = [(int(begin), int(chosen[number < own].sum())) for begin, own in zip(ends, numbers, strict=False)]
        segments = tuple(found) if self.segments else ()
        return Place(int(chosen[first < self.first].sum()), int(chosen.sum()), self.exchange, segments)

    def numbers_of_all(self, n: int) -> IntArray:
        """The numbers of the n rows here."""
        begins, numbers = self.numbered
        return np.arange(n) + np.repeat(numbers - begins, np.diff(begins, append=n))

    def number_of(self, row: int) -> int:
        """The number of a row here, or of the one that would follow the last."""
        begins, numbers = self.numbered
        segment = int(np.searchsorted(begins, row, side="right")) - 1
        return int(numbers[segment] + row - begins[segment])


def everything(n_rows: int) -> Place:
    """The place of a piece that is all rows."""
    return Place(0, n_rows, Alone())
