"""minrisk predict: one decision per row of a table."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import click

from minrisk.cli.common import (
    COSTS_HELP,
    check_writable,
    feature_names,
    features_for,
    load_model,
    note,
    read_costs,
    text_columns,
)


@click.command(short_help="Decide for every row of a table.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE",
              help="Write here (.csv, .csv.gz or .parquet); without it CSV goes to standard output.")
@click.option("--costs", metavar="COSTS",
              help=COSTS_HELP + " Decide by these, without a new fit. Default: those the model was trained on.")
@click.option("--probabilities", is_flag=True, help="Add a column of probabilities for each class.")
def predict(model: Path, data: Path, out: Path | None, costs: str | None, probabilities: bool) -> None:
    """Decide for every row of DATA: a table with the column 'decision', in the order of the rows.

    Columns are found by name; those the model does not know are left alone.
    """
    from minrisk.io.tables import column_names, kind_of, missing_columns, read_table, write_table

    if out is not None:
        kind_of(out)
        check_writable(out)
        if out.exists() and any(path.exists() and out.samefile(path) for path in (data, model)):
            raise click.ClickException(f"--out {out} would overwrite the model or the data: give another name.")
    estimator = load_model(model)
    names, known = column_names(data), feature_names(estimator)
    if known is not None:
        missing_columns(names, known, data, "which the model was trained on")
        unused = [name for name in names if name not in set(known)]
        if unused:
            plural = "" if len(unused) == 1 else "s"
            note(f"column{plural} of {data} not used: {', '.join(map(repr, unused[:8]))}"
                 + ("" if len(unused) <= 8 else f" and {len(unused) - 8} more"))

    import pandas as pd

    X = features_for(estimator, read_table(data, texts=text_columns(estimator, names)), data)
    frame = pd.DataFrame({"decision": _decisions(estimator, X, costs, model)})
    if probabilities:
        columns = [f"probability of {label}" for label in estimator.classes_.tolist()]
        frame[columns] = _probabilities(estimator, X, model)
    if out is None:
        click.echo(frame.to_csv(index=False, lineterminator="\n"), nl=False)
    else:
        write_table(frame, out)


def _decisions(estimator: Any, X: Any, costs: str | None, model: Path) -> Any:
    if costs is None:
        return estimator.predict(X)
    cost = read_costs(costs, estimator.classes_, f"the model {model}")
    if "cost" not in inspect.signature(estimator.predict).parameters:
        raise click.ClickException(
            f"the model {model} decides by the costs it was trained on: leave out --costs, or fit one with "
            "--method minrisk, which decides by any."
        )
    return estimator.predict(X, cost=cost)


def _probabilities(estimator: Any, X: Any, model: Path) -> Any:
    if not hasattr(estimator, "predict_proba"):
        raise click.ClickException(f"the model {model} has no probabilities: leave out --probabilities.")
    return estimator.predict_proba(X)
