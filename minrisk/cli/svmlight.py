"""Files of svmlight's format in the place of tables: labels stand first in each line, features have numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minrisk.cli.common import feature_names
from minrisk.tables.svmlight import SvmlightRows, is_svmlight, read_svmlight
from minrisk.tables.text import Dialect

if TYPE_CHECKING:
    from minrisk._typing import Labels

__all__ = ["is_svmlight", "label_source", "rows_for", "target_needed", "training_rows"]


def training_rows(data: Path, **options: Any) -> tuple[Any, Labels, int]:
    """Features, labels and the number of the first feature; options that name columns are refused."""
    _refuse_columns(data, **options)
    rows = read_svmlight(data)
    return rows.X, rows.classes(data), rows.first_feature


def rows_for(model: Any, paths: Sequence[Path], **options: Any) -> SvmlightRows:
    """Rows of one file that a model can predict: with as many features, from the same number on.

    Raises
    ------
    click.ClickException
        If there are several files, or the model knows its features by name; TableError if the file has more of them.
    """
    if len(paths) > 1:
        raise click.ClickException(f"files of svmlight's format are read one at a time, got {len(paths)} files.")
    data = paths[0]
    _refuse_columns(data, **options)
    if feature_names(model) is not None or model._categories.columns:
        raise click.ClickException(
            f"{data} has numbers in the place of names, but the model was trained on a table whose columns have names: "
            "give a table with these."
        )
    return read_svmlight(data, int(model.n_features_in_), getattr(model, "first_feature_", None))


def _refuse_columns(data: Path, **options: Any) -> None:
    """Refuse options that say something of columns or their text, by their names and values."""
    for name, value in options.items():
        if value in (None, (), Dialect()):
            continue
        if name == "target":
            raise click.ClickException(f"the labels of {data} stand first in each line: leave out --target.")
        if isinstance(value, Dialect):
            name = next(part for part, own in zip(value._fields, value, strict=True) if own is not None)
        raise click.ClickException(f"--{name} is about tables with columns, which {data} is not: leave it out.")


def target_needed() -> click.MissingParameter:
    """What to raise where a table has columns, and nobody said which holds the labels."""
    return click.MissingParameter(ctx=click.get_current_context(), param_hint="'--target'", param_type="option")


def label_source(target: str | None, data: str | Path | None = None) -> str:
    """Where labels are, for messages.

    Examples
    --------
    >>> label_source("grade", Path("cars.csv")), label_source("grade"), label_source(None, Path("cars.svm"))
    ("column 'grade' of cars.csv", "column 'grade'", 'cars.svm')
    """
    from minrisk.tables.source import shown

    if target is None:
        return "the file" if data is None else shown(data)
    return f"column {target!r}" if data is None else f"column {target!r} of {shown(data)}"
