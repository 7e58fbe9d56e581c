"""Marks of a text table: what separates its cells, decimal marks, and marks between thousands."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

__all__ = [
    "COMMA_GROUPS",
    "COMMA_NUMBER",
    "DELIMITERS",
    "GROUPED",
    "POINTED",
    "POINT_GROUPS",
    "SAID",
    "Marks",
    "detected_delimiter",
    "separated_by",
]

DELIMITERS = (",", ";", "\t", "|")
SAID = re.compile(r'"?sep=([\x00-\x7f])"?[ \t]*\r?\n', re.IGNORECASE)  # a first line that Excel writes and reads
_WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def separated_by(delimiter: str) -> str:
    """Name a delimiter in words, for messages.

    Examples
    --------
    >>> separated_by(";")
    'separated by semicolons'
    """
    return f"separated by {_WORDS.get(delimiter, repr(delimiter))}"


def detected_delimiter(rows_by: Callable[[str], Sequence[Sequence[str]]]) -> str:
    """Find the one that divides most rows as it divides the header, commas where none does.

    Of several that do so alike commas are the last: decimal commas may divide every row alike ("Size, cm;Weight, kg"
    above "1,5;2,5"), while a mark that stands in the header of a table with commas hardly stands in each row too.

    Parameters
    ----------
    rows_by : callable
        Is given a delimiter and returns the first rows of the text, the header among them, without blank lines.

    Examples
    --------
    >>> detected_delimiter(lambda mark: [line.split(mark) for line in ("true;a;b", "a;0;1,5", "b;2,5;0")])
    ';'
    """
    best, most = ",", 0.5
    for delimiter in (*DELIMITERS[1:], ","):
        share = _agreement(rows_by(delimiter))
        if share > most:
            best, most = delimiter, share
    return best


def _agreement(rows: Sequence[Sequence[str]]) -> float:
    """Return the share of rows with as many cells as the header, 0 if it has one; empty ones at the end count not."""
    if not rows or len(rows[0]) < 2:
        return 0.0
    widths, below = (len(rows[0]), _filled(rows[0])), rows[1:]
    fits = [len(cells) in widths or _filled(cells) in widths for cells in below]
    return sum(fits) / len(fits) if fits else 0.75  # a header alone: any row would say more


def _filled(cells: Sequence[str]) -> int:
    """Count the cells up to the last that is not empty."""
    return next((j for j in range(len(cells), 0, -1) if cells[j - 1].strip()), 0)


COMMA_NUMBER = re.compile(r"\s*[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?\s*")  # 1,5
COMMA_GROUPS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(?:\.\d{3})+,\d+\s*")  # 1.000,5: no other mark can be meant
POINTED = re.compile(r"\s*[+-]?(?:\d+(?:\.\d{3})*\.\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")  # a number written with points
POINT_GROUPS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(?:\.\d{3})+\s*")  # 1.000, which is one or a thousand
GROUPED = re.compile(r"\s*[+-]?\d{1,3},\d{3}\s*")  # 1,234: a decimal comma, or one between thousands


class Marks(NamedTuple):
    """Say how many cells are numbers that are written with commas or points."""

    n_commas: int
    n_grouped: int  # of these, whose comma may stand between thousands
    n_pointed: int
    n_groups: int  # of these, whose points may all stand between thousands

    @classmethod
    def of(cls, count: Callable[..., int]) -> Self:
        """Return the marks of cells of which `count` says how many are written in one of some ways."""
        n_commas, n_pointed = count(COMMA_NUMBER, COMMA_GROUPS), count(POINTED)
        return cls(n_commas, count(GROUPED) if n_commas else 0, n_pointed, count(POINT_GROUPS) if n_pointed else 0)

    @property
    def are_groups(self) -> bool:
        """Whether no point can be a decimal mark alone."""
        return self.n_pointed == self.n_groups
