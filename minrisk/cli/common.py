"""What several commands do: models and costs read, tables matched to a model, output checked ahead."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import pandas as pd

    from minrisk._typing import Labels
    from minrisk.costs import CostMatrix

COSTS_HELP = (
    "What each mistake costs: a CSV file (rows true classes, columns decisions), 'uniform', "
    "'ordinal' or 'ordinal:P' (classes are numbers, a mistake costs its distance to the power of P)."
)


def check_writable(path: Path) -> None:
    """Make sure that a file can be written there, before any work.

    Raises
    ------
    click.ClickException
        If the folder is missing or cannot be written to, or the path is a folder.
    """
    if path.is_dir():
        raise click.ClickException(f"{path} cannot be written: it is a folder; give the name of a file.")
    folder = path.parent
    if not folder.is_dir():
        what = "is no folder" if folder.exists() else "does not exist"
        raise click.ClickException(f"{path} cannot be written: the folder {folder} {what}.")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(None, "the file is write-protected")
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror or error}.") from None


def load_model(path: Path) -> Any:
    """A model, ready to predict on all cores.

    Raises
    ------
    click.ClickException
        If there is no such file, or it cannot be read; ModelFileError if it is no whole model.
    """
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise click.ClickException(f"the model {path} {what}: give a file made by 'minrisk fit'.")
    from minrisk import load

    try:
        return load(path).set_params(n_jobs=-1)
    except OSError as error:
        raise click.ClickException(f"the model {path} cannot be read: {error.strerror or error}.") from None


def read_costs(given: str | None, classes: Labels, source: str) -> CostMatrix | None:
    """The costs of --costs, in the order of the classes; None when none were given.

    Parameters
    ----------
    given : str or None
        A file, "uniform", "ordinal" or "ordinal:P".
    classes : array of K labels
    source : str
        Where the classes came from, for messages.

    Raises
    ------
    ValueError
        If the costs cannot be read, name a class that does not occur, or lack one that does.
    """
    if given is None:
        return None
    from minrisk.costs import as_cost, ordinal, read_cost, uniform
    from minrisk.costs.labels import listed, match_labels

    labels = classes.tolist()
    word, _, power = given.partition(":")
    if given == "uniform":
        return uniform(labels)
    if word == "ordinal" and not Path(given).is_file():
        if classes.dtype.kind not in "biuf":
            raise ValueError(
                f"--costs {given} needs classes that are numbers, but {source} holds {listed(labels)}, whose order "
                "nobody said: give a CSV file of costs."
            )
        try:
            return ordinal(labels, float(power) if power else 1.0)
        except ValueError:
            raise ValueError(f"--costs {given}: the power must be a number above 0, as in ordinal:2.") from None
    if not Path(given).is_file():
        raise ValueError(
            f"--costs must be a CSV file, 'uniform', 'ordinal' or 'ordinal:P', got {given!r}, which is no file."
        )
    try:
        table = read_cost(given)
    except OSError as error:
        raise ValueError(f"{given} cannot be read: {error.strerror or error}.") from None
    assert table.classes is not None
    unknown = [row for row, at in zip(table.classes, match_labels(table.classes, labels), strict=True) if at < 0]
    if unknown:
        raise ValueError(
            f"the costs in {given} have a row for {unknown[0]!r}, but {source} holds only {listed(labels)}: "
            "correct the label, or remove its row and column."
        )
    try:
        return as_cost(Path(given), labels)  # not `table`: a CostMatrix is taken at its word, a file may hold slips
    except ValueError as error:
        raise ValueError(f"{given}: {error}") from None


def feature_names(model: Any) -> list[str] | None:
    """Names of the model's features; None if it was trained on bare arrays."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def text_columns(model: Any, names: list[str]) -> list[str]:
    """Columns of a table, of these names, that hold the model's categories."""
    known = feature_names(model) or names
    columns = [c for c in model._categories.columns if all(isinstance(value, str) for value in c.values)]
    return [known[c.position] for c in columns if c.position < len(known)]


def features_for(model: Any, frame: pd.DataFrame, path: Path) -> pd.DataFrame | Any:
    """The columns the model was trained on, in its order; notes values of categories that it does not know.

    Raises
    ------
    TableError
        If a column is missing or holds no numbers.
    """
    from minrisk.costs.labels import listed
    from minrisk.io.tables import TableError, missing_columns, take_features

    names, texts = feature_names(model), text_columns(model, [str(name) for name in frame.columns])
    if names is None:
        if frame.shape[1] != model.n_features_in_:
            raise TableError(
                f"{path} must have the {model.n_features_in_} feature columns of the training, which had no names, "
                f"got {frame.shape[1]} columns: leave out the others."
            )
        frame = take_features(frame, path, texts)
    else:
        missing_columns(list(frame.columns), names, path, "which the model was trained on")
        frame = take_features(frame[names], path, texts)
    for column in model._categories.columns:
        if unknown := column.unknown(frame.iloc[:, column.position]):
            note(f"column {column.name!r} of {path} holds what training did not: {listed(unknown)}, taken as missing")
    return frame if names is not None or model._categories.columns else frame.to_numpy()


def note(message: str) -> None:
    """A remark on stderr that is no error."""
    click.echo(f"minrisk: note: {message}", err=True)


def print_json(data: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    click.echo(json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False))
