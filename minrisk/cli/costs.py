"""The costs of --costs: a name, or a file, whose labels are those of the data as they are written there."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from minrisk._typing import Labels
from minrisk._utils.text import short
from minrisk.cli.common import quoted, unmatched
from minrisk.cli.streams import note
from minrisk.costs import CostMatrix, as_cost, ordinal, uniform
from minrisk.costs.files import CostCells, cost_cells, name_of_cost
from minrisk.costs.labels import written_numbers
from minrisk.costs.reading import stated_cost
from minrisk.data.marks import separated_by
from minrisk.tables.columns import matched, written
from minrisk.tables.source import read_bytes, shown
from minrisk.tables.text import Dialect, Text, TextError, read_text


def read_costs(given: str | None, classes: Labels, source: str, stated: Dialect) -> CostMatrix | None:
    """Return the costs of --costs with all that they say, those of the classes first; None when none were given.

    A file may name classes that do not occur, whose rows may come up later: a note says so.

    Parameters
    ----------
    given : str or None
        A file, "uniform", "ordinal" or "ordinal:P".
    classes : array of K labels
    source : str
        Where the classes came from, for messages.
    stated : Dialect
        How the table of data is written, as far as that was stated; the file of costs may be so too.

    Raises
    ------
    click.ClickException
        If the costs cannot be read, or lack a class that occurs.
    """
    if given is None:
        return None
    path, labels = Path(given), classes.tolist()
    a_file = given == "-" or (os.path.exists(path) and not os.path.isdir(path))
    word, _, power = given.partition(":")
    if given == "uniform":
        return uniform(labels)
    if word == "ordinal" and not a_file:
        return _ordinal(given, power, labels, source)
    if not a_file:
        raise click.ClickException(
            f"--costs must be a CSV file, 'uniform', 'ordinal' or 'ordinal:P', got {short(given, 100)!r}, which is no "
            "file."
        )
    table = _read(path, stated)
    _check_labels(table, labels, source)
    _check_values(table)
    frame = pd.DataFrame(table.values, _known(table.classes, labels), _known(table.decisions, labels))
    try:
        return stated_cost(frame, labels)
    except ValueError as error:
        raise click.ClickException(f"{table.name}: {error}") from None


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
        found = cost_cells(content, name, text.delimiter, stated.decimal, text.first)
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
