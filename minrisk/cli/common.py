"""What several commands do: models read, tables opened and matched to a model, output checked ahead, things said."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

import minrisk
from minrisk._utils.text import short
from minrisk.cli.streams import note
from minrisk.costs.labels import listed
from minrisk.data.frames import DATE, Frame
from minrisk.inspection.columns import in_parts
from minrisk.io.atomic import STREAM, check_target, is_through, write_beside
from minrisk.tables.columns import (
    as_dates,
    as_frame,
    as_known,
    as_numbers,
    is_other_kind,
    matched,
    no_dates,
    take_features,
    texts_in,
)
from minrisk.tables.files import SeveralTables, Table, missing_columns
from minrisk.tables.source import TableError, shown
from minrisk.tables.svmlight import SvmlightRows, read_svmlight
from minrisk.tables.text import Dialect

ANSWERED_ROWS = 1 << 16  # of a table that a model sees together: what a call costs beside its rows is nothing to them


# -- files ---------------------------------------------------------------------------------------------------------
def check_stdin(*names: Path | str | None) -> None:
    """Refuse to read standard input twice."""
    if sum(str(name) == "-" for name in names if name is not None) > 1:
        raise click.ClickException("standard input (-) can be read for one thing only: give the others as files.")


def check_new_file(option: str, path: Path, *sources: Path | str | None) -> None:
    """Make sure that a file can be written there, and that this harms none of what is read, before any work.

    Raises
    ------
    click.ClickException
        If the folder is missing or cannot be written to, the path is a folder, or it leads to one of the sources;
        devices and streams may be both.
    """
    if str(path) == STREAM:
        return
    try:
        check_target(path)
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror or error}.") from None
    if is_through(path) or not path.exists():
        return
    for source in sources:
        try:
            read = None if source is None else os.fstat(0) if str(source) == STREAM else os.stat(source)
        except OSError:  # there is none, or a name such as "uniform"
            read = None
        if read is not None and os.path.samestat(path.stat(), read):
            what = "the file of standard input" if str(source) == STREAM else source
            raise click.ClickException(f"{option} {path} would overwrite {what}: give another name.")


def load_model(path: Path) -> Any:
    """Return a model, ready to predict on all cores; "-" is standard input.

    Raises
    ------
    click.ClickException
        If there is no such file, or it cannot be read; ModelFileError if it is no whole model.
    """
    source = Path("/dev/stdin") if str(path) == "-" else path
    if os.path.isdir(source) or not os.path.exists(source):  # `Path` raises for a name that is too long for any file
        what = "is a folder" if os.path.isdir(source) else "does not exist"
        raise click.ClickException(f"the model {path} {what}: give a file made by 'minrisk fit'.")
    try:
        return minrisk.load(source).set_params(n_jobs=-1)
    except OSError as error:
        raise click.ClickException(f"the model {path} cannot be read: {error.strerror or error}.") from None


def by_blocks(answer: Callable[[Any], Any], X: Any, together: bool = False) -> Any:
    """Return what a model answers for each row, some rows after others: its own arrays are then no larger than X.

    Answers that depend on each other are given `together`.
    """
    if together:
        return answer(X)
    return np.concatenate([answer(rows) for _, rows in in_parts(X, ANSWERED_ROWS)])


def tell_table(table: Table) -> None:
    """Say what was detected about how a table is written, and what is odd about its rows; of several, of each."""
    if isinstance(table, SeveralTables):
        for part in table.tables:
            tell_table(part)
        return
    if table.found:
        found = ", ".join(table.found)
        note(f"{shown(table.path)} is read as a table {found}; --delimiter, --decimal and --encoding say otherwise")
    for remark in table.notes:
        note(f"{shown(table.path)} has {remark}")


def take_numeric(frame: pd.DataFrame, numeric: Sequence[str], path: Path) -> None:
    """Make numbers of the columns named by --numeric, in place: cells that are none are missing, and are counted.

    Raises
    ------
    click.ClickException
        If a column holds no number at all.
    """
    for name in numeric:
        if name not in frame:
            continue
        frame[name], n_texts, first = as_numbers(frame[name])
        where = f"column {name!r} of {shown(path)}"
        if n_texts and bool(frame[name].isna().all()):
            raise click.ClickException(f"{where} holds no number, but {short(first)!r}: leave out --numeric {name}.")
        if n_texts:
            cells = "1 cell that is no number" if n_texts == 1 else f"{n_texts} cells that are no numbers"
            note(f"{where} has {cells}, such as {short(first)!r}: taken as missing")


def take_dates(frame: pd.DataFrame, others: Collection[str], path: Path) -> None:
    """Make dates of the columns of text that hold nothing else, in place, and say so; others stay what they are."""
    found = []
    for name in list(frame):
        if name not in others and (dates := as_dates(frame[name])) is not None:
            frame[name] = dates
            found.append(name)
    tell_columns(found, path, "read as dates")


def tell_columns(names: Sequence[str], path: Path, what: str) -> None:
    """Say of some columns what became of them; of many, the first few are named."""
    if names:
        plural, more = "s" * (len(names) > 1), f" and {len(names) - 8} more" * (len(names) > 8)
        note(f"column{plural} of {shown(path)} {what}: {', '.join(map(repr, names[:8]))}{more}")


# -- models and tables ------------------------------------------------------------------------------------------------
def feature_names(model: Any) -> list[str] | None:
    """Return names of the model's features as texts; None if they had none, or those that pandas counts from 0 by
    itself.
    """
    names = model._column_names
    return None if names is None or names == tuple(range(len(names))) else [str(name) for name in names]


def column_names(model: Any, some: Sequence[int] | None = None) -> list[str]:
    """Return names of (some of) the columns as tables on the command line have them: those without one are counted
    from 1.
    """
    from minrisk.estimator.fitted import names_of_columns

    return names_of_columns(model, unnamed="column {}", first=1, some=some)


def read_features(
    model: Any, table: Table, others: list[str], numeric: Sequence[str], labels: str | None = None
) -> tuple[pd.DataFrame, pd.DataFrame | Any]:
    """Read a table; also return what the model looks at of these columns, in its order and with its types.

    Says what is odd about the table, and notes values of categories that the model does not know.

    Parameters
    ----------
    model : estimator
    table : Table
    others : list of str
        Columns that may be features, by name or by position.
    numeric : sequence of str
        Columns whose texts are missing numbers.
    labels : str, optional
        The column that holds labels.

    Raises
    ------
    TableError
        If a column is missing, or one of a text table holds no numbers.
    """
    missing_columns(table.names, numeric, table.path, "named by --numeric")
    known = feature_names(model)
    if known is not None:
        missing_columns(table.names, known, table.path, "which the model was trained on")
    at = known or others
    texts = [at[column.position] for column in model._categories.columns if column.position < len(at)]
    frame = table.frame(labels=labels, texts=texts, mixed=numeric)
    tell_table(table)
    return frame, _features(model, frame[others], table.path, numeric, table.written)


def _features(model: Any, frame: pd.DataFrame, path: Path, numeric: Sequence[str], written: bool) -> pd.DataFrame | Any:
    """Return the columns that the model was trained on; of a text, which says nothing of types, with those of it."""
    names = feature_names(model)
    if names is None and frame.shape[1] != model.n_features_in_:
        raise TableError(
            f"{shown(path)} must have the {model.n_features_in_} feature columns of the training, which had no names, "
            f"got {frame.shape[1]} columns: leave out the others."
        )
    if names is not None:
        frame = frame[names]
    elif model._column_names is not None:
        frame = Frame(frame).arranged(model._column_names)
    frame = frame.copy(deep=False)
    take_numeric(frame, numeric, path)
    if written:
        _take_dates_again(model, frame, path)
    categories = {}
    for column in model._categories.columns:
        name = frame.columns[column.position]
        if not (written or is_other_kind(frame[name], column.values)):
            continue
        categories[name], unknown, n_rows = as_known(frame[name], column.values)
        if unknown:
            where = f"column {column.name!r} of {shown(path)}"
            rows = f"{n_rows} row{'s' * (n_rows > 1)}"
            note(f"{where} holds what training did not: {quoted(unknown)}, taken as missing in {rows}")
    others = as_frame({name: cells for name, cells in frame.items() if name not in categories})
    columns = dict((take_features(others, path) if written and others.shape[1] else others).items()) | categories
    found = as_frame({name: columns[name] for name in frame.columns})
    return found.to_numpy() if names is None and not model._categories.columns else found


def _take_dates_again(model: Any, frame: pd.DataFrame, path: Path) -> None:
    """Make dates of the columns that held dates when the model was trained, in place.

    Raises
    ------
    TableError
        If a cell of them is no date.
    """
    for day_column in model._categories.day_columns:
        if day_column.role != DATE:
            continue
        name = frame.columns[day_column.position]
        column = frame[name]
        dates = as_dates(column)
        if dates is not None:
            frame[name] = dates
        elif bool(column.isna().all()):
            frame[name] = pd.Series(pd.NaT, index=frame.index)
        elif texts_in(column).any():
            example = next(no_dates(column), None)
            if example is None:
                raise TableError(
                    f"column {name!r} of {shown(path)} must hold dates all with a zone or none, but "
                    "holds both: write them alike."
                )
            raise TableError(
                f"column {name!r} of {shown(path)} must hold dates as in the training, but holds {short(example)!r}: "
                "write them as 2024-03-01 or 2024-03-01 12:30, all with a zone or none."
            )


def quoted(labels: Sequence[Any]) -> str:
    """Return labels as messages show them: in quotes, numbers too, so that they differ from the numbers of rows."""
    return listed([short(str(label), 60) for label in labels])


def unmatched(labels: Sequence[Any], known: Sequence[Any]) -> list[Any]:
    """Return the labels that are written like none of those known."""
    return [label for label, at in zip(labels, matched(labels, known), strict=True) if at < 0]


def make_folder(out: Path, files: Sequence[str], *sources: Path | str | None) -> None:
    """Make the folder of --out, where there is none, in which these files can be written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is a file" if out.is_file() else error.strerror or str(error)
        raise click.ClickException(f"the folder {out} cannot be made: {reason}.") from None
    for name in files:
        check_new_file("--out", out / name, *sources)


def save_picture(draw: Callable[[], Any], path: Path, **how: Any) -> None:
    """Write the picture of one of our displays."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.use("Agg")  # draws into files; needs no screen
    figure = draw().figure_
    try:
        with write_beside(path) as beside:
            figure.savefig(beside, dpi=150, **how)
    finally:
        plt.close(figure)


# -- files of svmlight's format, in which labels stand first in each line and features have numbers --------------------
def svmlight_rows(paths: Sequence[Path], model: Any, **options: Any) -> SvmlightRows:
    """Read a file of svmlight's format, for a model with as many features, from the same number on, if one is given.

    Raises
    ------
    click.ClickException
        If there are several files, options say something of columns or their text, or the model knows its features
        by name; TableError if the file has more of them.
    """
    if len(paths) > 1:
        raise click.ClickException(f"files of svmlight's format are read one at a time, got {len(paths)} files.")
    data = paths[0]
    for name, value in options.items():
        if value in (None, (), Dialect()):
            continue
        if name == "target":
            raise click.ClickException(f"the labels of {data} stand first in each line: leave out --target.")
        if isinstance(value, Dialect):
            name = next(part for part, own in zip(value._fields, value, strict=True) if own is not None)
        raise click.ClickException(f"--{name} is about tables with columns, which {data} is not: leave it out.")
    if model is None:
        return read_svmlight(data)
    if feature_names(model) is not None or model._categories.columns:
        raise click.ClickException(
            f"{data} has numbers in the place of names, but the model was trained on a table whose columns have names: "
            "give a table with these."
        )
    return read_svmlight(data, int(model.n_features_in_), getattr(model, "first_feature_", None))


def target_needed() -> click.MissingParameter:
    """Return what to raise where a table has columns, and nobody said which holds the labels."""
    return click.MissingParameter(ctx=click.get_current_context(), param_hint="'--target'", param_type="option")


def label_source(target: str | None, data: str | Path | None = None) -> str:
    """Return where labels are, for messages.

    Examples
    --------
    >>> label_source("grade", Path("cars.csv")), label_source("grade"), label_source(None, Path("cars.svm"))
    ("column 'grade' of cars.csv", "column 'grade'", 'cars.svm')
    """
    if not target:
        return "the file" if data is None else shown(data)
    return f"column {target!r}" if data is None else f"column {target!r} of {shown(data)}"
