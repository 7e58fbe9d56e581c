"""Files of costs: a header of decisions, and a line for each true class, as any country's spreadsheets write numbers.

A file with commas between its cells is read as it stands. Where commas make no table of costs, semicolons, tabs or
bars may separate the cells, and numbers may then have decimal commas.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from minrisk._typing import FloatArray
from minrisk._utils import warn_caller
from minrisk._utils.text import short
from minrisk.costs.labels import Labels, as_labels
from minrisk.data.marks import (
    COMMA_GROUPS,
    COMMA_NUMBER,
    DELIMITERS,
    GROUPED,
    POINT_GROUPS,
    POINTED,
    SAID,
    Marks,
    detected_delimiter,
    separated_by,
)

__all__ = ["CostCells", "cost_cells", "name_of_cost", "read_file"]

_BELOW_ONE = re.compile(r"\s*[+-]?0+,")  # no comma between thousands follows a 0


class CostCells(NamedTuple):
    """Hold the labels and numbers of a file of costs.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    classes, decisions : list of str
        The first column and the header, as they are written.
    values : ndarray of shape (K, D)
    delimiter : str
    found : list of str
        How numbers are written, where that is not usual.
    doubtful : str or None
        How a number is read whose mark may have been meant for thousands.
    named : mapping of (int, int) to (str, str)
        Cells that hold no numbers, where names of columns may stand in their place: what each holds, and what is wrong
        with it if it is no such name. Their values are 0.
    """

    name: str
    classes: list[str]
    decisions: list[str]
    values: FloatArray
    delimiter: str
    found: list[str]
    doubtful: str | None
    named: Mapping[tuple[int, int], tuple[str, str]] = {}


def read_file(path: Path) -> tuple[FloatArray, Labels, Labels]:
    """Return the numbers, the true classes and the decisions of a file of costs in UTF-8.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is not text in UTF-8, or no table of numbers.
    """
    if not os.path.isfile(path):  # of a name that is too long for any file `Path` would raise
        raise FileNotFoundError(
            f"cost given as a string must be the path of a CSV file, got {short(str(path), 100)!r}, which is no file: "
            f"correct the path, or pass a table of numbers, such as minrisk.costs.balanced(y)."
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")  # -sig: spreadsheets write a byte order mark
    except UnicodeDecodeError:
        raise ValueError(f"{path} must be text in UTF-8, got other bytes: save it as a UTF-8 CSV file.") from None
    said = SAID.match(text)
    if said is None:
        found = cost_cells(text, str(path), detected_delimiter(lambda mark: _readable(text, mark)))
    else:
        found = cost_cells(text[said.end() :], str(path), said.group(1), first=2)
    if found.doubtful is not None:
        from minrisk.data.column_report import DataWarning

        warn_caller(
            f"{path} is {separated_by(found.delimiter)}, and {found.doubtful}: write its costs without marks between "
            "thousands if another number is meant.",
            DataWarning,
        )
    classes, decisions = ([label.strip() for label in labels] for labels in (found.classes, found.decisions))
    of_rows = as_labels(classes, f"the true classes (first column) of {path}")
    return found.values, of_rows, as_labels(decisions, f"the decisions (header) of {path}")


def cost_cells(
    text: str, name: str, delimiter: str, decimal: str | None = None, first: int = 1, names: bool = False
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
    decimal : str, optional
        The decimal mark, if that was stated.
    first : int, default=1
        The number of the header's line.
    names : bool, default=False
        Whether names of columns may stand in the place of numbers.

    Raises
    ------
    ValueError
        If it is no table of numbers.

    Examples
    --------
    >>> found = cost_cells("true;a;b\na;0;1,5\nb;2;0\n", "c.csv", ";")
    >>> found.decisions, found.values.tolist(), found.found
    (['a', 'b'], [[0.0, 1.5], [2.0, 0.0]], ['with decimal commas'])
    """
    if delimiter != ",":  # which may stand in labels of a table with commas, once in each line
        with suppress(ValueError):
            found = _cells(text, name, ",", decimal, first)
            if len(found.decisions) > 1:
                return found

    def width(mark: str) -> int:
        return max(map(len, _readable(text, mark)[:1]), default=0)

    if width(delimiter) < 2:  # lines are so unlike each other that none was found: the header says
        delimiter = max(DELIMITERS, key=width)
    return _cells(text, name, delimiter, decimal, first, names)


def name_of_cost(truth: str, decision: str, name: str) -> str:
    """Return what messages call a cell of a file."""
    return f"the cost of deciding {decision!r} where {truth!r} is true, in {name},"


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the last line and the cells of each row that is not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    for cells in reader:
        if any(map(str.strip, cells)):
            yield reader.line_num, cells


def _readable(text: str, delimiter: str) -> list[list[str]]:
    """Return the cells of the rows up to one that cannot be read."""
    rows: list[list[str]] = []
    with suppress(csv.Error, ValueError):  # a quotation mark without its fellow, or a delimiter that is none
        rows.extend(cells for _, cells in _rows(text, delimiter))
    return rows


def _cells(text: str, name: str, delimiter: str, decimal: str | None, first: int, names: bool = False) -> CostCells:
    """Return `cost_cells` by this delimiter."""
    try:
        rows = list(_rows(text, delimiter))
    except (csv.Error, ValueError) as error:
        raise ValueError(
            f"{name} must be a table of costs, got one that cannot be read ({error}): correct it."
        ) from None
    while rows and all(cells and not cells[-1].strip() for _, cells in rows):
        rows = [(number, cells[:-1]) for number, cells in rows]  # each line ends with a delimiter
    if len(rows) < 2 or len(rows[0][1]) < 2:
        found = f"the first line {delimiter.join(rows[0][1])!r}" if rows else "an empty file"
        raise ValueError(
            f"{name} must have a header 'true,<decision>,<decision>,...' and one line '<class>,<cost>,...' per true "
            f"class, separated by commas, semicolons or tabs, got {found} and {max(len(rows) - 1, 0)} lines below it: "
            "correct the file."
        )
    (_, header), *below = rows
    for number, cells in below:
        if len(cells) != len(header):
            many = delimiter == "," and len(cells) > len(header)
            hint = ", or separate cells by semicolons if its costs have decimal commas" if many else ""
            raise ValueError(
                f"line {number + first - 1} of {name} must have {len(header)} cells like its header, got {len(cells)}: "
                f"correct the line{hint}."
            )
    writing = _Writing.of([cell.strip() for _, cells in below for cell in cells[1:]], decimal, delimiter)
    values, named = np.zeros((len(below), len(header) - 1)), dict[tuple[int, int], tuple[str, str]]()
    for i, (_, (truth, *costs)) in enumerate(below):
        for j, cell in enumerate(map(str.strip, costs)):
            try:
                values[i, j] = writing.number(cell)
            except ValueError:
                alike = " with a decimal comma, as others are" if writing.commas else ""
                hint = ", or separate its cells by semicolons" if not writing.commas and _has_comma(cell) else ""
                what = name_of_cost(truth.strip(), header[j + 1].strip(), name)
                problem = f"{what} must be a number{alike}, got {cell!r}: correct the file{hint}."
                if not names or not cell or cell[0] in "+-.,0123456789":
                    raise ValueError(problem) from None
                named[i, j] = cell, problem
    classes = [cells[0] for _, cells in below]
    return CostCells(name, classes, header[1:], values, delimiter, writing.found, writing.doubtful, named)


class _Writing(NamedTuple):
    """Say what commas and points in the numbers of a file mean."""

    commas: bool  # decimal marks are commas
    groups: bool  # ... and points stand between thousands
    found: list[str]  # what was found out and is not usual
    doubtful: str | None = None  # how a number is read that may be meant otherwise

    @classmethod
    def of(cls, cells: Sequence[str], stated: str | None, delimiter: str) -> Self:
        """Return what was stated, or what the cells say."""
        marks = Marks.of(lambda *ways: sum(any(way.fullmatch(cell) for way in ways) for cell in cells))
        groups, elsewhere = marks.n_pointed > 0 and marks.are_groups, delimiter != ","
        commas = (marks.n_commas > 0 and (elsewhere or stated == ",")) or (groups and elsewhere and stated == ",")
        between = ["with points between thousands"] if commas and groups else []
        if stated is not None or not (commas or (groups and elsewhere)):
            return cls(commas, groups, between)
        if commas and (groups or marks.n_commas > marks.n_grouped or any(map(_BELOW_ONE.match, cells))):
            return cls(commas, groups, ["with decimal commas", *between])
        cell = next(filter((GROUPED if commas else POINT_GROUPS).fullmatch, cells))
        doubtful = f"{cell!r} is {float(cell.replace(',', '.')):g}"
        what = "decimal commas" if commas else "points as decimal marks"
        return cls(commas, groups, [f"with {what} ({doubtful})"], doubtful)

    def number(self, cell: str) -> float:
        """Return the number that a cell writes; raise ValueError for anything else."""
        if self.commas and (_has_comma(cell) or (self.groups and POINTED.fullmatch(cell))):
            return float(cell.replace(".", "").replace(",", "."))
        if self.commas and POINTED.fullmatch(cell):
            raise ValueError(cell)
        return float(cell)


def _has_comma(cell: str) -> bool:
    """Return whether a cell is a number with a decimal comma."""
    return COMMA_NUMBER.fullmatch(cell) is not None or COMMA_GROUPS.fullmatch(cell) is not None
