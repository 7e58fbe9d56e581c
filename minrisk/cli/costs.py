"""The costs of --costs: a name, or a file, whose labels are those of the data as they are written there.

In the place of a number of a file may stand the name of a column of the data, which then holds the cost for each row.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd

from minrisk._typing import IntArray, Labels
from minrisk._utils.text import short
from minrisk.cli.common import quoted, unmatched
from minrisk.cli.streams import note
from minrisk.costs import CostMatrix, as_cost, ordinal, uniform
from minrisk.costs.files import CostCells, cost_cells, name_of_cost
from minrisk.costs.labels import as_labels, match_labels, written_numbers
from minrisk.costs.reading import CostsPerRow, stated_cost
from minrisk.data.marks import separated_by
from minrisk.tables.columns import matched, take_weights, written
from minrisk.tables.source import read_bytes, shown
from minrisk.tables.text import Dialect, Text, TextError, read_text


class StatedCosts(NamedTuple):
    """Hold what --costs says, before the classes are known."""

    given: str | None
    table: CostCells | None  # of a file

    @property
    def columns(self) -> Mapping[str, str]:
        """Names of columns in the place of numbers, and what is wrong with each if there is no such column."""
        return {} if self.table is None else dict(self.table.named.values())

    def of(self, classes: Labels, source: str) -> CostMatrix | ColumnCosts | None:
        """Return the costs with all that they say, those of the classes first; None when none were given.

        A file may name classes that do not occur, whose rows may come up later: a note says so.

        Parameters
        ----------
        classes : array of K labels
        source : str
            Where the classes came from, for messages.

        Raises
        ------
        click.ClickException
            If the costs lack a class that occurs, or a number is no cost.
        """
        labels, table = classes.tolist(), self.table
        if self.given is None:
            return None
        if table is None:
            word, _, power = self.given.partition(":")
            return uniform(labels) if word == "uniform" else _ordinal(self.given, power, labels, source)
        _check_labels(table, labels, source)
        if not table.named:
            _check_values(table)
        of_rows, of_columns = _known(table.classes, labels), _known(table.decisions, labels)
        frame = pd.DataFrame(table.values, of_rows, of_columns)
        try:
            if not table.named:
                return stated_cost(frame, labels)
            matrix = stated_cost(CostMatrix(frame, allow_diagonal=True), labels)
        except ValueError as error:
            raise click.ClickException(f"{table.name}: {error}") from None
        row, column = map(match_labels, (of_rows, of_columns), matrix._labels)
        cells = {(row[i], column[j]): name for (i, j), (name, _) in table.named.items()}
        return ColumnCosts(matrix, cells, table.name)


class ColumnCosts(NamedTuple):
    """Costs of which a table of data holds some, for each of its rows."""

    matrix: CostMatrix  # 0 where a column says it
    cells: Mapping[tuple[int, int], str]  # the columns by true class and decision
    name: str  # of the file

    def matrices(self, frame: pd.DataFrame, path: str | Path) -> CostsPerRow:
        """Return a matrix for each row, (n, K, D), of a table with these columns."""
        values = np.repeat(self.matrix.values[None], len(frame), axis=0)
        for (i, j), column in self.cells.items():
            values[:, i, j] = self._amounts(frame[column], path)
        classes, decisions = self.matrix._labels
        return CostsPerRow(values, decisions, classes)

    def lines(self, frame: pd.DataFrame, path: str | Path, y: Labels) -> CostsPerRow:
        """Return what each decision costs each row, (n, D), by its true class."""
        classes, decisions = self.matrix._labels
        found, codes = np.unique(y, return_inverse=True)
        truth: IntArray = np.array(match_labels(as_labels(found), classes))[codes]
        values = self.matrix.values[truth]
        for (i, j), column in self.cells.items():
            own = np.flatnonzero(truth == i)
            values[own, j] = self._amounts(frame[column], path)[own]
        return CostsPerRow(values, decisions, classes)

    def _amounts(self, column: pd.Series[Any], path: str | Path) -> np.ndarray:
        return take_weights(column, path, f"cost that {self.name} takes from it", "--costs")


def stated_costs(given: str | None, stated: Dialect) -> StatedCosts:
    """Read --costs.

    Parameters
    ----------
    given : str or None
        A file, "uniform", "ordinal" or "ordinal:P".
    stated : Dialect
        How the table of data is written, as far as that was stated; the file of costs may be so too.

    Raises
    ------
    click.ClickException
        If the costs cannot be read.
    """
    if given is None:
        return StatedCosts(None, None)
    path = Path(given)
    a_file = given == "-" or (os.path.exists(path) and not os.path.isdir(path))
    if given == "uniform" or (given.partition(":")[0] == "ordinal" and not a_file):
        return StatedCosts(given, None)
    if not a_file:
        raise click.ClickException(
            f"--costs must be a CSV file, 'uniform', 'ordinal' or 'ordinal:P', got {short(given, 100)!r}, which is no "
            "file."
        )
    return StatedCosts(given, _read(path, stated))


def read_costs(given: str | None, classes: Labels, source: str, stated: Dialect) -> CostMatrix | None:
    """Return costs that all rows share; see `stated_costs` and `StatedCosts.of`."""
    read = stated_costs(given, stated)
    check_cost_columns(read.columns, (), "")
    found = read.of(classes, source)
    assert not isinstance(found, ColumnCosts)
    return found


def check_known(costs: StatedCosts) -> None:
    """Refuse to decide by costs of rows where there are none."""
    if not costs.columns:
        raise click.ClickException(
            "--costs-known is for costs of which columns hold some: name these columns in the file of --costs, in the "
            "place of numbers, or leave --costs-known out."
        )


def check_cost_columns(columns: Mapping[str, str], names: Sequence[str], data: str | Path) -> None:
    """Refuse costs that are neither numbers nor columns of the data."""
    for column, problem in columns.items():
        if column not in names:
            way = f"{problem.rstrip('.')}, or write the name of a column of {shown(data)}." if data else problem
            raise click.ClickException(way)


def _ordinal(given: str, power: str, labels: list[Any], source: str) -> CostMatrix:
    """Return costs by which a mistake costs its distance in the order of numbers: "10.0" stands before "2.0" among
    texts.
    """
    numbers = written_numbers(labels)
    if numbers is None or len(set(numbers)) < len(numbers):
        raise click.ClickException(
            f"--costs {given} needs classes that are numbers, but {source} holds {quoted(labels)}, whose order nobody "
            "said: give a CSV file of costs."
        )
    try:
        with np.errstate(over="ignore"):
            return as_cost(ordinal(sorted(labels, key=float), float(power) if power else 1.0), labels)
    except ValueError:
        raise click.ClickException(
            f"--costs {given}: the power must be a number above 0 that gives finite costs, as in ordinal:2."
        ) from None


def _read(path: Path, stated: Dialect) -> CostCells:
    """Return labels and numbers of a file."""
    try:
        data = read_bytes(path)
    except OSError as error:
        raise click.ClickException(f"{path} cannot be read: {error.strerror or error}.") from None
    (text, content), name = _text(data, path, stated), shown(path)
    try:
        found = cost_cells(content, name, text.delimiter, stated.decimal, text.first, names=True)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    usual = separated_by(text.delimiter) if found.delimiter != text.delimiter else None
    if ways := [way for way in (*text.found, *found.found) if way != usual]:
        note(f"{name} is read as costs {', '.join(ways)}")
    return found


def _text(data: bytes, path: Path, stated: Dialect) -> tuple[Text, str]:
    """Read the file as it was stated of the data, if the costs are written so; else as it is detected."""

    def read(stated: Dialect) -> tuple[Text, str]:
        return read_text(lambda: io.BytesIO(data), stated, lambda text: "".join(text.blocks))

    with suppress(TextError):
        text, content = read(stated)
        if text.head and len(text.head[0]) > 1:
            return text, content
    try:
        return read(Dialect())
    except TextError as error:
        raise click.ClickException(f"{shown(path)} {error}.") from None


def _check_labels(table: CostCells, labels: Sequence[Any], source: str) -> None:
    """Check that each class has a row, and no column is a slip of the pen; a note names the rows of other classes."""
    lacking, others = unmatched(labels, table.classes), unmatched(table.classes, labels)
    if lacking:
        rows = "row" if len(lacking) == 1 else "rows"
        slip = f" while {quoted(others)} are no classes there: correct these labels, or" if others else ":"
        raise click.ClickException(
            f"the costs in {table.name} must have a row for every class of {source}, got none for {quoted(lacking)}"
            f"{slip} add the {rows}."
        )
    if others:
        rows = f"of which the costs in {table.name} have rows: they hold where such a class comes up"
        note(f"{source} does not hold {quoted(others)}, {rows}")
    without, extra = unmatched(labels, table.decisions), unmatched(table.decisions, [*labels, *others])
    if extra and 0 < len(without) < len(labels):
        raise click.ClickException(
            f"the costs in {table.name} name {quoted(extra)} as a decision, but have no column for the class "
            f"{quoted(without)}: correct the name, or add the column (large costs, if that is never to be decided)."
        )


def _check_values(table: CostCells) -> None:
    """Check that costs are finite and zero or more, and correct decisions cost nothing; a class without any cost is
    told.
    """
    wrong = np.argwhere(~np.isfinite(table.values))
    if len(wrong):
        i, j = wrong[0]
        raise click.ClickException(
            f"{name_of_cost(table.classes[i], table.decisions[j], table.name)} must be a finite number, got "
            f"{table.values[i, j]}: a decision never to be taken gets a large finite cost."
        )
    for i, own in enumerate(matched(table.classes, table.decisions)):
        _check_row(table, i, own)
    free = [label for label, row in zip(table.classes, table.values, strict=True) if not row.any()]
    if free:
        note(f"the costs in {table.name} are all zero for {quoted(free)}, which then count for nothing")


def _check_row(table: CostCells, i: int, own: int) -> None:
    """Check that the correct decision, in column `own`, costs 0 and no other less; -1: the class has none."""
    row = table.values[i]
    least, right = int(row.argmin()), 0.0 if own < 0 else float(row[own])
    if row[least] >= right == 0.0:
        return
    at = least if own < 0 or row[least] < right else own
    cost, got = name_of_cost(table.classes[i], table.decisions[at], table.name), written(row[at])
    size = written(abs(row[at]))
    by = f"{f'add {size} to' if row[at] < 0 else f'subtract {size} from'} all costs of the row"
    if own < 0:
        problem = f"must be zero or more, got {got}: {by}, which changes no decision"
    elif at == own:
        problem = f"is that of a correct decision and must be 0, got {got}: {by}, which changes no decision"
    else:
        correct = written(right)
        problem = f"must be no less than the {correct} of the correct decision, got {got}: raise it to that or more"
        if right != 0.0:
            problem += ", and then take the cost of the correct decision from all costs of the row"
    raise click.ClickException(f"{cost} {problem}.")


def _known(written: Sequence[str], labels: Sequence[Any]) -> list[Any]:
    """Return labels of the file as those of the data, where they are that."""
    return [text.strip() if at < 0 else labels[at] for text, at in zip(written, matched(written, labels), strict=True)]
