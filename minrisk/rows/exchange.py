"""What crosses between the pieces of rows that do not lie in one memory: maxima, exact sums, and gathered messages.

Every piece answers the same calls of `minrisk.rows.base.Rows` in the same order and asks the others as often as they
ask it, so all of them go on with the same numbers and find the same learners. In what order the pieces stand, and how
many there are, changes no bit: maxima and sums of whole numbers do not depend on it.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

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


class Place(NamedTuple):
    """Where a piece stands among all rows: they are numbered through the pieces."""

    first: int  # number of its first row
    n_rows: int  # of all pieces
    exchange: Exchange


def everything(n_rows: int) -> Place:
    """The place of a piece that is all rows."""
    return Place(0, n_rows, Alone())
