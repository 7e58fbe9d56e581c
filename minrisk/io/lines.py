"""The lines of a text table: which have fewer or more cells than the header, or are no rows of the table."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

__all__ = ["LineError", "check_lines", "lines"]

LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
ENDS = ("\r", "\n")
BYTE_ORDER_MARK = "\ufeff"


class LineError(ValueError):
    """A line that is no row of the table; the message lacks the name of the file."""


class _Record(NamedTuple):
    """A row as it stands in a text: a line, or several where a cell in quotation marks holds their ends."""

    first: int  # number of the line
    last: int
    cells: list[str]
    is_open: bool  # it is the last one, and no end of line follows

    @property
    def where(self) -> str:
        return f"line {self.first}" if self.first == self.last else f"lines {self.first} to {self.last}"


def lines(content: str) -> Iterator[str]:
    r"""Lines, each with what ends it: \n, \r\n, or \r alone.

    Examples
    --------
    >>> list(lines("a\r\nb\n\nc")), list(lines("a\rb\r"))
    (['a\r\n', 'b\n', '\n', 'c'], ['a\r', 'b\r'])
    """
    if content.count("\r") != content.count("\r\n"):
        yield from (match.group() for match in LINE.finditer(content))
        return
    start = 0
    while end := content.find("\n", start) + 1:
        yield content[start:end]
        start = end
    if start < len(content):
        yield content[start:]


def check_lines(content: str, delimiter: str, header: Sequence[str], first: int = 1) -> list[str]:
    r"""Look for lines that are no whole rows of a table.

    Parameters
    ----------
    content : str
        From the header on.
    delimiter : str
    header : sequence of str
        The names of the columns. Rows need no cells for those without a name at the end.
    first : int, default=1
        The number of the header's line in the file.

    Returns
    -------
    list of str
        What is no error but should be said; what the file has, without its name.

    Raises
    ------
    LineError
        If a line has more cells than the header, is the header once more or ends in the middle, or a quotation mark
        is not closed.

    Examples
    --------
    >>> check_lines("a,b\n1,2\n3\n", ",", ["a", "b"])
    ['rows with fewer cells than its header, 1 in all (1 of 2 in line 3): what they lack is taken as missing']
    >>> check_lines("a,b\n1,2,3\n", ",", ["a", "b"])
    Traceback (most recent call last):
    minrisk.io.lines.LineError: has more cells in line 2 than its header (3, not 2): correct the line, or put a cell ...
    """
    names, width = _named(header), len(header)
    short, notes = list[_Record](), list[str]()
    for record in _unusual(content, delimiter, header, first):
        cells, where = record.cells, record.where
        if _named(cells) == names:
            raise LineError(f"repeats its header in {where}: remove it there, or give the table a header of its own")
        if any(map(str.strip, cells[width:])):
            raise LineError(
                f"has more cells in {where} than its header ({len(cells)}, not {width}): correct the line, or put a "
                f"cell that holds {delimiter!r} in quotation marks"
            )
        if len(cells) < len(names):
            if record.is_open:
                raise LineError(
                    f"ends in the middle of {where} ({len(cells)} of {width} cells, and no end of line): it may have "
                    "been cut short; take a fresh copy, or complete or remove the line"
                )
            short.append(record)
        if not notes and any(_holds_rows(cell, delimiter, width) for cell in cells):
            notes.append(
                f"a cell in quotation marks that holds whole rows ({where}): if it should not, one of the marks is too "
                "many, or one is missing"
            )
    if short:
        cells, where = short[0].cells, short[0].where
        notes.append(
            f"rows with fewer cells than its header, {len(short)} in all ({len(cells)} of {width} in {where}): what "
            "they lack is taken as missing"
        )
    return notes


def _named(cells: Sequence[str]) -> list[str]:
    """Cells up to the last that is not blank, without the mark that begins a file."""
    n = next((j for j in range(len(cells), 0, -1) if cells[j - 1].strip()), 0)
    return [cells[0].removeprefix(BYTE_ORDER_MARK), *cells[1:n]] if n else []


def _unusual(content: str, delimiter: str, header: Sequence[str], first: int) -> Iterator[_Record]:
    """Rows below the header that have not just as many cells, hold a quotation mark, or are the header once more."""
    rest, number, begun = lines(content), first, False
    again, usual = delimiter.join(header), len(header) - 1
    for line in rest:
        taken, text = [line], line.rstrip("\r\n")
        cells = None
        if '"' in text:
            cells = _quoted(taken, rest, delimiter, number)
        elif text.count(delimiter) != usual or text.removeprefix(BYTE_ORDER_MARK) == again:
            cells = text.split(delimiter)
        is_row = delimiter in text or '"' in text or text.strip(" \t") != ""
        if begun and is_row and cells is not None:
            yield _Record(number, number + len(taken) - 1, cells, not taken[-1].endswith(ENDS))
        begun |= is_row
        number += len(taken)


def _quoted(taken: list[str], rest: Iterator[str], delimiter: str, number: int) -> list[str]:
    """Cells of a row with quotation marks; lines that it goes on in are taken from the rest."""

    def more() -> Iterator[str]:
        for line in rest:
            taken.append(line)
            yield line
        raise LineError(f"has a quotation mark in line {number} that is not closed: close it, or remove it")

    try:
        return next(csv.reader(chain(taken[:1], more()), delimiter=delimiter))
    except csv.Error:
        raise LineError(
            f"has a cell in line {number} of more than {csv.field_size_limit()} characters: shorten it, or close its "
            "quotation mark if that is missing"
        ) from None


def _holds_rows(cell: str, delimiter: str, width: int) -> bool:
    """Whether a cell holds as many delimiters as the rows would whose ends it holds."""
    ends = max(cell.count(end) for end in ENDS)
    return ends > 0 and width > 1 and cell.count(delimiter) == ends * (width - 1)
