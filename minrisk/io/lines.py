"""The lines of a text table: which have fewer or more cells than the header, or are no rows of the table."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

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


def lines(text: str | Iterable[str]) -> _Lines:
    r"""Lines, each with what ends it: \n, \r\n, or \r alone; of a text, or of one in parts that cut no end of line.

    Examples
    --------
    >>> list(lines("a\r\nb\n\nc")), list(lines("a\rb\r")), list(lines(["a", "b\nc", "d"]))
    (['a\r\n', 'b\n', '\n', 'c'], ['a\r', 'b\r'], ['ab\n', 'cd'])
    """
    return _Lines([text] if isinstance(text, str) else text)


class _Lines:
    """A text in parts, of which lines are taken one by one or many together.

    Parameters
    ----------
    blocks : iterable of str
        No end of line is cut in two.
    """

    def __init__(self, blocks: Iterable[str]) -> None:
        self._blocks = iter(blocks)
        self._text, self._at = "", 0  # what was read, and what is taken of it

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        found = LINE.match(self._text, self._at)
        if found is None or not found.group().endswith(ENDS):
            self._read_on()
            found = LINE.match(self._text, self._at)
        if found is None:
            raise StopIteration
        self._at = found.end()
        return found.group()

    def _read_on(self) -> None:
        """Make sure that a whole line is there, if there is one more."""
        parts = [self._text[self._at :]]
        for block in self._blocks:
            parts.append(block)
            if "\n" in block or "\r" in block:
                break
        self._text, self._at = "".join(parts), 0

    def take_many(self) -> tuple[str, bool]:
        """What is there, which may end within a line, and whether it is the last part."""
        parts = [self._text[self._at :], next(self._blocks, "")]
        self._text, self._at = "", 0
        return "".join(parts), parts[1] == ""

    def give_back(self, text: str) -> None:
        """Have a text again before all that follows."""
        self._text, self._at = text + self._text[self._at :], 0


def check_lines(text: str | Iterable[str], delimiter: str, header: Sequence[str], first: int = 1) -> list[str]:
    r"""Look for lines that are no whole rows of a table.

    Parameters
    ----------
    text : str or iterable of str
        From the header on; in parts that cut no end of line.
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
    first_short, n_short, notes = None, 0, list[str]()
    for record in _unusual(lines(text), delimiter, header, first):
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
            first_short, n_short = first_short or record, n_short + 1
        if not notes and any(_holds_rows(cell, delimiter, width) for cell in cells):
            notes.append(
                f"a cell in quotation marks that holds whole rows ({where}): if it should not, one of the marks is too "
                "many, or one is missing"
            )
    if first_short is not None:
        cells, where = first_short.cells, first_short.where
        notes.append(
            f"rows with fewer cells than its header, {n_short} in all ({len(cells)} of {width} in {where}): what "
            "they lack is taken as missing"
        )
    return notes


def _named(cells: Sequence[str]) -> list[str]:
    """Cells up to the last that is not blank, without the mark that begins a file."""
    n = next((j for j in range(len(cells), 0, -1) if cells[j - 1].strip()), 0)
    return [cells[0].removeprefix(BYTE_ORDER_MARK), *cells[1:n]] if n else []


def _unusual(rest: _Lines, delimiter: str, header: Sequence[str], first: int) -> Iterator[_Record]:
    """Rows below the header that have not just as many cells, hold an end of line, or are the header once more."""
    number = first
    for line in rest:  # up to the header
        taken = [line]
        if '"' in line:
            _quoted(taken, rest, delimiter, number)
        number += len(taken)
        if _is_row("".join(taken), delimiter):
            break
    look = _Look(delimiter, header)
    while True:
        text, is_last = rest.take_many()
        found = look.at(text, is_last)
        if found is None:  # quotation marks where they begin and end no cell: one line after the other
            rest.give_back(text)
            break
        for before, record in found.records:
            taken = list(lines(record))
            cells = _cells(taken, delimiter, number + before)
            if _is_row(record, delimiter):
                first_line = number + before
                yield _Record(first_line, first_line + len(taken) - 1, cells, not record.endswith(ENDS))
        number += found.n_lines
        rest.give_back(text[len(text) - found.n_left :])
        if is_last:
            break
    again, usual = delimiter.join(header), len(header) - 1
    for line in rest:
        taken, text = [line], line.rstrip("\r\n")
        unusual = None
        if '"' in text:
            unusual = _quoted(taken, rest, delimiter, number)
        elif text.count(delimiter) != usual or text.removeprefix(BYTE_ORDER_MARK) == again:
            unusual = text.split(delimiter)
        if unusual is not None and _is_row(line, delimiter):
            yield _Record(number, number + len(taken) - 1, unusual, not taken[-1].endswith(ENDS))
        number += len(taken)


def _is_row(line: str, delimiter: str) -> bool:
    """Whether a line is more than blank."""
    text = line.rstrip("\r\n")
    return delimiter in text or '"' in text or text.strip(" \t") != ""


def _cells(taken: Sequence[str], delimiter: str, number: int) -> list[str]:
    """Cells of a row of some lines."""
    if any('"' in line for line in taken):
        return _quoted([taken[0]], iter(taken[1:]), delimiter, number)
    return taken[0].rstrip("\r\n").split(delimiter)


class _RowsToSee(NamedTuple):
    """What was found in a part of a text."""

    records: list[tuple[int, str]]  # rows to look at, and how many lines there are before each
    n_lines: int  # of whole rows
    n_left: int  # letters behind these


class _Look:
    """Many lines together: which of them have to be looked at."""

    def __init__(self, delimiter: str, header: Sequence[str]) -> None:
        self._mark, self._usual = ord(delimiter), len(header) - 1
        self._again = len((delimiter.join(header)).replace('"', "").encode())  # bytes of the header, its quotes aside
        self._name = max(header, key=len).replace('"', '""').encode()

    def at(self, text: str, is_last: bool) -> _RowsToSee | None:
        """The rows of a text that begins with a row; None where quotation marks do not just enclose cells.

        Bytes of UTF-8 are counted: those of ends of lines, delimiters and quotation marks are part of no letter.
        """
        data = text.encode()
        codes = np.frombuffer(data, dtype=np.uint8)
        if data.count(b"\r") != data.count(b"\r\n"):
            return None
        ends, marks = np.flatnonzero(codes == ord("\n")), np.flatnonzero(codes == self._mark)
        quotes = np.flatnonzero(codes == ord('"')) if b'"' in data else np.zeros(0, dtype=np.int64)
        closed = ends  # ends of lines that are ends of rows
        if len(quotes):
            if not self._enclose(codes, quotes):
                return None
            inside = np.cumsum(codes == ord('"'), dtype=np.uint8) & 1  # a count that wraps is odd or even all the same
            closed, marks = ends[inside[ends] == 0], marks[inside[marks] == 0]
            if is_last and inside[-1]:
                return None
        if is_last and len(codes) and not (len(closed) and closed[-1] == len(codes) - 1):
            closed = np.append(closed, len(codes))
        if not len(closed):
            return None if len(codes) > csv.field_size_limit() else _RowsToSee([], 0, len(text))
        starts = np.concatenate([[0], closed[:-1] + 1])
        number_of_lines = np.searchsorted(ends, closed)  # before the end of each row
        before = np.searchsorted(ends, starts)
        length = closed - starts
        quoted = np.diff(np.searchsorted(quotes, closed), prepend=0)
        n_marks = np.diff(np.searchsorted(marks, closed), prepend=0)
        odd = (n_marks != self._usual) | (number_of_lines > before)
        odd |= (quoted > 0) & (length > csv.field_size_limit())
        if self._name in data:
            bare = length - quoted - (codes[np.maximum(closed - 1, 0)] == ord("\r"))
            odd |= (bare == self._again) | (bare == self._again + len(BYTE_ORDER_MARK.encode()))
        records = [
            (int(before[row]), data[starts[row] : closed[row] + 1].decode()) for row in np.flatnonzero(odd).tolist()
        ]
        left = data[closed[-1] + 1 :].decode()
        return _RowsToSee(records, int(number_of_lines[-1]) + 1, len(left))

    def _enclose(self, codes: np.ndarray, quotes: np.ndarray) -> bool:
        """Whether each quotation mark begins or ends a cell, or is one of two that stand for one."""
        opening, closing = quotes[::2], quotes[1::2]
        before = codes[opening[opening > 0] - 1]
        after = codes[closing[closing < len(codes) - 1] + 1]
        edge = (self._mark, ord("\n"), ord('"'))
        return bool(np.isin(before, edge).all() and np.isin(after, (*edge, ord("\r"))).all())


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
