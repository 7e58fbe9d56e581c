"""minrisk monitor: what the decisions of a model cost on new rows, without labels or as these come."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from minrisk.cli import options
from minrisk.cli.common import feature_names, load_model, read_features, svmlight_rows
from minrisk.cli.costs import read_costs
from minrisk.cli.printing import as_text
from minrisk.cli.streams import say, tell
from minrisk.decisions.monitor import Monitoring, OddColumn
from minrisk.decisions.monitor import monitor as monitored
from minrisk.tables.columns import as_known, is_other_kind, take_labels
from minrisk.tables.files import Table, missing_columns, open_tables
from minrisk.tables.svmlight import is_svmlight
from minrisk.tables.text import Dialect

ALARM = 3  # exit code


@options.command()
@options.model
@options.data
@options.column("--target", "The column that holds the class, as far as it is known: cells may be empty.")
@options.costs("Decide and judge by these. Default: those the model was trained on.")
@click.option(
    "--promised",
    type=float,
    metavar="COST",
    help="What the mean cost is said to be at most. Default: what rows that the fit left out say.",
)
@options.json("text")
@options.numeric
@options.dialect
def monitor(
    model: Path,
    data: tuple[Path, ...],
    target: str | None,
    costs: str | None,
    promised: float | None,
    as_json: bool,
    numeric: tuple[str, ...],
    stated: Dialect,
) -> int:
    """Tell what the decisions of MODEL about the rows of DATA cost, and whether these look like those of the training.

    Labels are not needed; with --target their costs are tested against what was promised. The exit code is 3 for an
    alarm. MODEL or DATA may be - for standard input. DATA may be several files with the same columns, or a file of
    svmlight's format, whose labels are not looked at.
    """
    estimator = load_model(model)
    if not hasattr(estimator, "predict_proba"):
        raise click.ClickException(f"the model {model} has no probabilities: fit one with --method minrisk.")
    unseen, y = tuple[OddColumn, ...](), None
    if any(map(is_svmlight, data)):
        X: Any = svmlight_rows(data, estimator, target=target, numeric=numeric, stated=stated).X
    else:
        table = open_tables(data, stated)
        others = _features(estimator, table, target)
        frame, X = read_features(estimator, table, others, numeric, target)
        unseen = _unseen(estimator, frame, table)
        y = None if target is None else _labels(frame[target], table)
    cost = read_costs(costs, estimator.classes_, f"the model {model}", stated)
    found = monitored(estimator, X, y, cost=cost, promised=promised)
    found = replace(found, columns=unseen + tuple(one for one in found.columns if one.name not in _names(unseen)))
    tell({"model": str(model), "data": str(data[0])} | found.to_dict(), as_json, lambda _: _print(found))
    return ALARM if found.alarm else 0


def _print(found: Monitoring) -> None:
    for line in str(found).splitlines():
        say(as_text(line).plain)


def _features(estimator: Any, table: Table, target: str | None) -> list[str]:
    """Return the columns that may be features."""
    known = feature_names(estimator)
    labels = getattr(estimator, "target_name_", None) if target is None else target
    if target is not None:
        missing_columns(table.names, [target], table.path, "named by --target")
        if target in (known or ()):
            raise click.ClickException(f"--target {target} is a feature of the model, not its target.")
    return [name for name in table.names if name != labels]


def _labels(column: pd.Series[Any], table: Table) -> Any:
    """Return labels, None where there is none."""
    empty = np.array(column.isna() | (column.astype(str).str.strip() == ""))
    labels = np.full(len(column), None, dtype=object)
    if not empty.all():
        labels[~empty] = take_labels(column[~empty].reset_index(drop=True), table.path, table.written).tolist()
    return labels


def _unseen(estimator: Any, frame: pd.DataFrame, table: Table) -> tuple[OddColumn, ...]:
    """Return columns with categories that the model does not know: they are taken as missing before it sees them."""
    names, found = feature_names(estimator), []
    for column in estimator._categories.columns:
        if names is None:
            break
        cells = frame[names[column.position]]
        if table.written or is_other_kind(cells, column.values):
            _, unknown, n_rows = as_known(cells, column.values)
            if unknown:
                found.append(OddColumn(str(column.name), "unseen", n_rows, unknown[0]))
    return tuple(found)


def _names(columns: tuple[OddColumn, ...]) -> set[str]:
    return {one.name for one in columns}
