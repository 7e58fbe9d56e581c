"""What crosses between the pieces of rows that do not lie in one memory: maxima, exact sums, and gathered messages.

Every piece answers the same calls of `minrisk.rows.base.Rows` in the same order and asks the others as often as they
ask it, so all of them go on with the same numbers and find the same learners. In what order the pieces stand, and how
many there are, changes no bit: maxima and sums of whole numbers do not depend on it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

Numbers = TypeVar("Numbers", bound=np.ndarray)


class Exchange(Protocol):
    """How a piece learns what all pieces have together; each call is one exchange between all of them."""

    def largest(self, own: Numbers) -> Numbers:
        """Elementwise maximum over the pieces."""

    def added(self, own: Numbers) -> Numbers:
        """Sum over the pieces, of whole numbers that int64 or float64 holds exactly."""

    def gathered(self, own: Numbers) -> Numbers:
        """The pieces' arrays one after another, along the first axis."""


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

    def collected(self, own: Any) -> Any:
        """Its own."""
        return own

    def told(self, value: Any) -> Any:
        """The same."""
        return value


class Segment(NamedTuple):
    """Rows that stand side by side here and among all rows."""

    start: int  # of them here
    first: int  # its number among all rows


class Place(NamedTuple):
    """Where a piece stands among all rows: they are numbered through the pieces."""

    first: int  # number of its first row
    n_rows: int  # of all pieces
    exchange: Exchange
    segments: tuple[Segment, ...] = ()  # both starts ascending; none: rows are numbered from `first` on

    def here(self, number: int, n_here: int) -> int:
        """Where the rows of this number or a larger one begin, among those that are here, of which there are so many."""
        if not self.segments:
            return min(max(number - self.first, 0), n_here)
        ends = [*(segment.start for segment in self.segments[1:]), n_here]
        reached = [
            segment.start + min(max(number - segment.first, 0), end - segment.start)
            for segment, end in zip(self.segments, ends, strict=True)
        ]
        return next((at for at, end in zip(reached, ends, strict=True) if at < end), n_here)


def everything(n_rows: int) -> Place:
    """The place of a piece that is all rows."""
    return Place(0, n_rows, Alone())
