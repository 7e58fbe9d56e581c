"""What several commands do: models read, tables opened and matched to a model, output checked ahead, things said."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minrisk.cli.streams import note

if TYPE_CHECKING:
    import pandas as pd

    from minrisk.io.tables import Table

COSTS_HELP = (
    "What each mistake costs: a CSV file (rows true classes, columns decisions), 'uniform', "
    "'ordinal' or 'ordinal:P' (classes are numbers, a mistake costs its distance in their order, to the power of P)."
)


class NewFile(click.Path):
    """The path of a file that is to be written."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As a `Path`, which would drop the mark of a folder at its end."""
        from minrisk.io.atomic import names_folder

        if names_folder(value):
            raise click.ClickException(f"{value} cannot be written: it is a folder; give the name of a file.")
        return super().convert(value, param, ctx)


FILE, NEW_FILE = click.Path(path_type=Path), NewFile(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False, exists=True, writable=True)
DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}


# -- options that say how a text table is written ---------------------------------------------------------------------
def _delimiter(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    value = DELIMITER_NAMES.get((value or "").lower(), value)
    if value is not None and (len(value) != 1 or not value.isascii() or value in '"\r\n\0'):
        raise click.BadParameter(f"must be one ASCII character, or tab; got {value!r}")
    return value


def _encoding(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        try:
            known = codecs.lookup(value)._is_text_encoding
        except (LookupError, ValueError):
            known = False
        if not known:
            raise click.BadParameter(f"must be an encoding such as utf-8, cp1252 or utf-16; got {value!r}")
    return value


TABLE_OPTIONS = (
    click.option("--delimiter", metavar="MARK", callback=_delimiter,
                 help="What separates the cells of CSV files: one character, or tab. Default: found out."),
    click.option("--decimal", type=click.Choice([".", ","]),
                 help="The decimal mark of CSV files. Default: a point; a comma where cells are separated by ';' or "
                      "tabs and are such numbers."),
    click.option("--encoding", metavar="NAME", callback=_encoding,
                 help="Of CSV files, such as utf-8 or cp1252. Default: found out."),
)  # fmt: skip


def as_column(context: click.Context, option: click.Parameter, value: Any) -> Any:
    """Names of columns from the command line as UTF-8, which it is whatever the locale says; tuples of them, too."""
    if isinstance(value, tuple):
        return tuple(as_column(context, option, name) for name in value)
    try:
        return value if value is None else os.fsencode(value).decode()
    except UnicodeError:
        return value


def dialect_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options above."""
    for option in reversed(TABLE_OPTIONS):
        command = option(command)
    return command


def check_stdin(*names: Path | str | None) -> None:
    """Refuse to read standard input twice."""
    if sum(str(name) == "-" for name in names if name is not None) > 1:
        raise click.ClickException("standard input (-) can be read for one thing only: give the others as files.")


# -- files ---------------------------------------------------------------------------------------------------------
def check_writable(path: Path) -> None:
    """Make sure that a file can be written there, before any work.

    Raises
    ------
    click.ClickException
        If the folder is missing or cannot be written to, or the path is a folder.
    """
    from minrisk.io.atomic import check_target

    if str(path) == "-":
        return
    try:
        check_target(path)
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror or error}.") from None


def check_not_over(out: Path, *sources: Path | str | None) -> None:
    """Refuse to write over what is read; devices and streams may be both."""
    from minrisk.io.atomic import STREAM, is_through

    if str(out) == STREAM or is_through(out) or not out.exists():
        return
    for source in sources:
        try:
            read = None if source is None else os.fstat(0) if str(source) == STREAM else os.stat(source)
        except OSError:  # there is none, or a name such as "uniform"
            read = None
        if read is not None and os.path.samestat(out.stat(), read):
            what = "the file of standard input" if str(source) == STREAM else source
            raise click.ClickException(f"--out {out} would overwrite {what}: give another name.")


def load_model(path: Path) -> Any:
    """A model, ready to predict on all cores; "-" is standard input.

    Raises
    ------
    click.ClickException
        If there is no such file, or it cannot be read; ModelFileError if it is no whole model.
    """
    source = Path("/dev/stdin") if str(path) == "-" else path
    if os.path.isdir(source) or not os.path.exists(source):  # `Path` raises for a name that is too long for any file
        what = "is a folder" if os.path.isdir(source) else "does not exist"
        raise click.ClickException(f"the model {path} {what}: give a file made by 'minrisk fit'.")
    from minrisk import load

    try:
        return load(source).set_params(n_jobs=-1)
    except OSError as error:
        raise click.ClickException(f"the model {path} cannot be read: {error.strerror or error}.") from None


def tell_table(table: Table) -> None:
    """Say what was found out about how a table is written, and what is odd about its rows."""
    from minrisk.io.values import shown

    if table.found:
        found = ", ".join(table.found)
        note(f"{shown(table.path)} is read as a table {found}; --delimiter, --decimal and --encoding say otherwise")
    for remark in table.notes:
        note(f"{shown(table.path)} has {remark}")


# -- models and tables ------------------------------------------------------------------------------------------------
def feature_names(model: Any) -> list[str] | None:
    """Names of the model's features; None if it was trained on bare arrays."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def text_columns(model: Any, names: list[str]) -> list[str]:
    """Columns of a table, of these names, that hold the model's categories."""
    known = feature_names(model) or names
    return [known[c.position] for c in model._categories.columns if c.position < len(known)]


def features_for(model: Any, frame: pd.DataFrame, path: Path) -> pd.DataFrame | Any:
    """The columns the model was trained on, in its order; notes values of categories that it does not know.

    Raises
    ------
    TableError
        If a column is missing or holds no numbers.
    """
    from minrisk.io.tables import missing_columns
    from minrisk.io.values import TableError, as_frame, as_known, shown, take_features

    names = feature_names(model)
    if names is None and frame.shape[1] != model.n_features_in_:
        raise TableError(
            f"{shown(path)} must have the {model.n_features_in_} feature columns of the training, which had no names, "
            f"got {frame.shape[1]} columns: leave out the others."
        )
    if names is not None:
        missing_columns(list(frame.columns), names, path, "which the model was trained on")
        frame = frame[names]
    categories = {}
    for column in model._categories.columns:
        name = frame.columns[column.position]
        categories[name], unknown = as_known(frame[name], column.values, path)
        if unknown:
            where = f"column {column.name!r} of {shown(path)}"
            note(f"{where} holds what training did not: {quoted(unknown)}, taken as missing")
    if not categories:
        numeric = take_features(frame, path)
        return numeric if names is not None else numeric.to_numpy()
    numbers = [name for name in frame.columns if name not in categories]
    columns = dict(take_features(frame[numbers], path).items()) if numbers else {}
    columns |= categories
    return as_frame({name: columns[name] for name in frame.columns})


def quoted(labels: Sequence[Any]) -> str:
    """Labels as messages show them: in quotes, numbers too, so that they differ from the numbers of rows."""
    from minrisk._printable import short
    from minrisk.costs.labels import listed

    return listed([short(str(label), 60) for label in labels])


def make_folder(out: Path) -> None:
    """Make a folder, where there is none."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is a file" if out.is_file() else error.strerror or str(error)
        raise click.ClickException(f"the folder {out} cannot be made: {reason}.") from None


def save_picture(figure: Any, path: Path, **how: Any) -> None:
    """Write a figure of matplotlib, and close it."""
    import matplotlib.pyplot as plt

    from minrisk.io.atomic import write_beside

    try:
        with write_beside(path) as beside:
            figure.savefig(beside, dpi=150, **how)
    finally:
        plt.close(figure)
