"""minrisk fit: train on a table, with costs, and write a model file."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minrisk.cli.common import COSTS_HELP, check_writable, print_json, read_costs
from minrisk.cli.methods import METHODS, method_options

if TYPE_CHECKING:
    import pandas as pd

    from minrisk._typing import Labels


def _not_zero(context: click.Context, option: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("must be a number of threads, or -1 for all cores; got 0")
    return value


@click.command(short_help="Train on a table and write a model.")
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--target", required=True, metavar="COLUMN", help="The column that holds the class.")
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="MODEL", help="Model file to write.")
@click.option("--costs", metavar="COSTS", help=COSTS_HELP + " Default: uniform.")
@click.option("--drop", multiple=True, metavar="COLUMN", help="Leave this column out; may be given several times.")
@click.option("--category", multiple=True, metavar="COLUMN",
              help="This column holds categories, as columns of words do; may be given several times.")
@method_options
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Of what is drawn.")
@click.option("--n-jobs", type=int, default=-1, show_default=True, callback=_not_zero,
              help="Threads, -1 for all cores; the model does not depend on it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def fit(data: Path, target: str, out: Path, costs: str | None, drop: tuple[str, ...], category: tuple[str, ...],
        method: str, seed: int, n_jobs: int, as_json: bool, **options: Any) -> None:  # fmt: skip
    """Train on the table DATA and write the model to a file."""
    check_writable(out)
    if out.exists() and data.exists() and out.samefile(data):
        raise click.ClickException(f"--out {out} would overwrite the data: give another name.")
    X, y = _training_data(data, target, drop, category)
    classes = _classes(y, target, data)
    cost = read_costs(costs, classes, f"column {target!r}")

    from minrisk import algorithms

    given = {name: value for name, value in options.items() if value is not None}
    estimator = getattr(algorithms, METHODS[method])
    model = estimator(cost, n_jobs=n_jobs, random_state=seed, verbose=int(sys.stderr.isatty()), **given)
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    _keep(model, out)

    from minrisk.cli.report import describe_fit, print_fit

    facts = describe_fit(model, X, y, seconds, data, target, costs, out)
    if as_json:
        print_json(facts)
    else:
        print_fit(facts)


def _training_data(
    data: Path, target: str, drop: tuple[str, ...], category: tuple[str, ...]
) -> tuple[pd.DataFrame, Labels]:
    """Features and labels of the table."""
    from minrisk.io.tables import (
        column_names,
        columns_of_words,
        missing_columns,
        read_table,
        take_features,
        take_labels,
    )

    names = column_names(data)
    missing_columns(names, [target], data, "named by --target")
    missing_columns(names, drop, data, "named by --drop")
    if target in drop:
        raise click.ClickException(f"--drop {target} would leave out the target: drop other columns.")
    missing_columns(names, category, data, "named by --category")
    if target in category:
        raise click.ClickException(f"--category {target} names the target: its labels are classes as they are.")
    frame = read_table(data, labels=target, texts=category)
    y = take_labels(frame[target], data)
    features = frame.drop(columns=[target, *drop])
    words = columns_of_words(features)
    for name in words:
        differ, present = features[name].nunique(), features[name].notna().sum()
        if differ > 20 and differ > present / 2 and name not in category:
            raise ValueError(
                f"column {name!r} of {data} holds {differ} texts in {present} rows: it looks like a name; leave it out "
                "with --drop, or say by --category that it holds categories."
            )
    return take_features(features, data, {*category, *words}), y


def _classes(y: Labels, target: str, data: Path) -> Labels:
    """The distinct labels, sorted; there must be two, and they must not all differ."""
    import numpy as np

    classes = np.unique(y)
    if len(classes) < 2:
        label = classes[0].item()
        raise ValueError(
            f"column {target!r} of {data} must hold at least two classes, got only {label!r}: there is nothing to "
            "learn."
        )
    if len(classes) > 20 and len(classes) > len(y) / 2:
        raise ValueError(
            f"column {target!r} of {data} must hold class labels, but {len(classes)} of its {len(y)} rows differ: "
            "it looks like a name or a measurement; give another --target."
        )
    return classes


def _keep(model: Any, out: Path) -> None:
    """Write the model; where that fails after all, to the folder for temporary files."""
    from minrisk import save

    try:
        save(model, out)
    except OSError as error:
        rescue = Path(tempfile.mkdtemp(prefix="minrisk-")) / out.name
        save(model, rescue)
        raise click.ClickException(
            f"{out} could not be written ({error.strerror or error}): the model was saved as {rescue} instead."
        ) from None
