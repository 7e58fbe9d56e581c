"""Files of costs: a header of decisions, and a line for each true class, as any country's spreadsheets write numbers.

A file with commas between its cells is read as it stands. Where commas make no table of costs, semicolons, tabs or
bars may separate the cells, and numbers may then have decimal commas.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from minrisk._typing import FloatArray
from minrisk._utils.text import short
from minrisk.data.marks import (
    COMMA_GROUPS,
    COMMA_NUMBER,
    DELIMITERS,
    GROUPED,
    POINT_GROUPS,
    POINTED,
    SAID,
    detected_delimiter,
)

__all__ = ["CostCells", "cost_cells", "read_file"]

_BELOW_ONE = re.compile(r"\s*[+-]?0+,")  # no comma between thousands follows a 0


class CostCells(NamedTuple):
    """Hold the labels and numbers of a file of costs.

    Attributes
    ----------
    classes, decisions : list of str
        The first column and the header, as they are written.
    values : ndarray of shape (K, D)
    delimiter : str
    found : list of str
        How numbers are written, where that is not usual.
    doubtful : str or None
        How a number is read whose mark may have been meant for thousands.
    """

    classes: list[str]
    decisions: list[str]
    values: FloatArray
    delimiter: str
    found: list[str]
    doubtful: str | None


class FileText(NamedTuple):
    """A text table, what separates its cells, and the number of the line that it begins with."""

    content: str
    delimiter: str
    first: int


def read_file(path: Path) -> FileText:
    """Return what a file of costs in UTF-8 holds, and what separates its cells.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is not text in UTF-8.
    """
    if not os.path.isfile(path):  # of a name that is too long for any file `Path` would raise
        raise FileNotFoundError(
            f"cost given as a string must be the path of a CSV file, got {short(str(path), 100)!r}, which is no file: "
            f"correct the path, or pass a table of numbers, such as minrisk.costs.balanced(y)."
        )
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:  # -sig: spreadsheets write a byte order mark
            text = file.read()
    except UnicodeDecodeError:
        raise ValueError(f"{path} must be text in UTF-8, got other bytes: save it as a UTF-8 CSV file.") from None
    said = SAID.match(text)
    if said is not None:
        return FileText(text[said.end() :], said.group(1), 2)
    return FileText(text, detected_delimiter(lambda mark: _rows_up_to_an_error(text, mark)), 1)


def cost_cells(
    text: str, name: str, delimiter: str, named: Callable[[str, str], str], decimal: str | None = None, first: int = 1
) -> CostCells:
    r"""Return the labels and numbers of the text of a file.

    Parameters
    ----------
    text : str
        From the header on.
    name : str
        Of the file, for messages.
    delimiter : str
        What separates the cells, unless commas make a table of costs.
    named : callable
        What messages call the cost of a true class and a decision.
    decimal : str, optional
        The decimal mark, if that was stated.
    first : int, default=1
        The number of the header's line.

    Raises
    ------
    ValueError
        If it is no table of numbers.

    Examples
    --------
    >>> found = cost_cells("true;a;b\na;0;1,5\nb;2;0\n", "c.csv", ";", lambda true, decision: f"{decision} for {true}")
    >>> found.decisions, found.values.tolist(), found.found
    (['a', 'b'], [[0.0, 1.5], [2.0, 0.0]], ['with decimal commas'])
    """
    if delimiter != ",":  # which may stand in labels of a table with commas, once in each line
        try:
            found = _cells(text, name, ",", named, decimal, first)
        except ValueError:
            pass
        else:
            if len(found.decisions) > 1:
                return found
    if _header_cells(text, delimiter) < 2:  # lines are so unlike each other that none was found: the header says
        delimiter = max(DELIMITERS, key=lambda mark: _header_cells(text, mark))
    return _cells(text, name, delimiter, named, decimal, first)


def _rows_up_to_an_error(text: str, delimiter: str) -> list[list[str]]:
    """Return the rows that are not blank, up to one that cannot be read."""
    rows = []
    with suppress(csv.Error, ValueError):  # a delimiter that is none
        for cells in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if any(map(str.strip, cells)):
                rows.append(cells)
    return rows


def _header_cells(text: str, delimiter: str) -> int:
    """Return the number of cells in the first row that is not blank."""
    rows = _rows_up_to_an_error(text, delimiter)
    return len(rows[0]) if rows else 0


def _numbered_rows(text: str, name: str, delimiter: str, first: int) -> list[tuple[int, list[str]]]:
    """Return the number of the line and the cells of each row that is not blank."""
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = [(reader.line_num + first - 1, cells) for cells in reader if any(map(str.strip, cells))]
    except (csv.Error, ValueError) as error:  # a quotation mark without its fellow, or a delimiter that is none
        raise ValueError(
            f"{name} must be a table of costs, got one that cannot be read ({error}): correct it."
        ) from None
    while rows and all(cells and cells[-1].strip() == "" for _, cells in rows):
        rows = [(number, cells[:-1]) for number, cells in rows]  # each line ends with a delimiter
    return rows


def _cells(
    text: str, name: str, delimiter: str, named: Callable[[str, str], str], decimal: str | None, first: int
) -> CostCells:
    """Return `cost_cells` by this delimiter."""
    rows = _numbered_rows(text, name, delimiter, first)
    if len(rows) < 2 or len(rows[0][1]) < 2:
        found = f"the first line {delimiter.join(rows[0][1])!r}" if rows else "an empty file"
        raise ValueError(
            f"{name} must have a header 'true,<decision>,<decision>,...' and one line '<class>,<cost>,...' per true "
            f"class, separated by commas, semicolons or tabs, got {found} and {max(len(rows) - 1, 0)} lines below it: "
            "correct the file."
        )
    (_, header), below = rows[0], rows[1:]
    for number, cells in below:
        if len(cells) != len(header):
            many = delimiter == "," and len(cells) > len(header)
            hint = ", or separate cells by semicolons if its costs have decimal commas" if many else ""
            raise ValueError(
                f"line {number} of {name} must have {len(header)} cells like its header, got {len(cells)}: correct the "
                f"line{hint}."
            )
    written = [cell for _, cells in below for cell in cells[1:]]
    marks = _Marks.of(written, decimal, delimiter)
    values = np.empty((len(below), len(header) - 1))
    for (i, j), cell in zip(np.ndindex(*values.shape), written, strict=True):
        try:
            values[i, j] = marks.number(cell)
        except ValueError:
            what = named(below[i][1][0].strip(), header[j + 1].strip())
            raise ValueError(
                f"{what} must be a number{marks.alike}, got {cell.strip()!r}: correct the file{marks.hint(cell)}."
            ) from None
    return CostCells([cells[0] for _, cells in below], header[1:], values, delimiter, marks.found, marks.doubtful)


class _Marks(NamedTuple):
    """Say what commas and points in the numbers of a file mean."""

    commas: bool  # decimal marks are commas
    groups: bool  # ... and points stand between thousands
    found: list[str]  # what was found out and is not usual
    doubtful: str | None = None  # how a number is read that may be meant otherwise

    @classmethod
    def of(cls, cells: Sequence[str], stated: str | None, delimiter: str) -> Self:
        """Return the marks as they were stated, or as the cells say."""
        pointed = [cell for cell in cells if POINTED.fullmatch(cell)]
        groups = bool(pointed) and all(map(POINT_GROUPS.fullmatch, pointed))
        with_comma, elsewhere = [cell for cell in cells if _has_comma(cell)], delimiter != ","
        if (with_comma and (elsewhere or stated == ",")) or (groups and elsewhere and stated == ","):
            between = ["with points between thousands"] if groups else []
            if stated is not None:
                return cls(True, groups, between)
            told = not groups and all(GROUPED.fullmatch(cell) and not _BELOW_ONE.match(cell) for cell in with_comma)
            doubtful = _read_as(with_comma[0], with_comma[0].replace(",", ".")) if told else None
            return cls(True, groups, [_told("with decimal commas", doubtful), *between], doubtful)
        if not (groups and elsewhere and stated is None):
            return cls(False, groups, [])
        doubtful = _read_as(pointed[0], pointed[0])
        return cls(False, groups, [_told("with points as decimal marks", doubtful)], doubtful)

    @property
    def alike(self) -> str:
        """Return what else a number must be."""
        return " with a decimal comma, as others are" if self.commas else ""

    def hint(self, cell: str) -> str:
        """Return what else to do about a cell that is no number."""
        return ", or separate its cells by semicolons" if not self.commas and _has_comma(cell) else ""

    def number(self, cell: str) -> float:
        """Return the number that a cell writes; raise ValueError for anything else."""
        if self.commas and (_has_comma(cell) or (self.groups and POINTED.fullmatch(cell))):
            return float(cell.replace(".", "").replace(",", "."))
        if self.commas and POINTED.fullmatch(cell):
            raise ValueError(cell)
        return float(cell)


def _read_as(cell: str, number: str) -> str:
    return f"{cell.strip()!r} is {float(number):g}"


def _told(what: str, doubtful: str | None) -> str:
    return what if doubtful is None else f"{what} ({doubtful})"


def _has_comma(cell: str) -> bool:
    """Return whether a cell is a number with a decimal comma."""
    return COMMA_NUMBER.fullmatch(cell) is not None or COMMA_GROUPS.fullmatch(cell) is not None
