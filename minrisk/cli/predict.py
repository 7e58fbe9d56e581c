"""minrisk predict: one decision per row of a table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pandas as pd

from minrisk._utils.text import printable
from minrisk.cli import options
from minrisk.cli.common import by_blocks, feature_names, load_model, read_features, svmlight_rows, tell_columns
from minrisk.cli.costs import ColumnCosts, check_cost_columns, stated_costs
from minrisk.cli.evaluate import decisions
from minrisk.cli.streams import note, say, written_on
from minrisk.decisions.costs import decides_by_any_costs
from minrisk.decisions.priors import estimate_priors
from minrisk.tables.files import Table, kind_of, missing_columns, open_tables
from minrisk.tables.svmlight import is_svmlight
from minrisk.tables.text import Dialect
from minrisk.tables.writing import csv_parts, safe_texts, write_table


@options.command()
@options.model
@options.data
@click.option(
    "--out",
    type=options.NEW_FILE,
    help="Write here (.csv, .csv.gz or .parquet; - is standard output, in UTF-8); without it CSV goes to "
    "standard output.",
)
@click.option(
    "--keep",
    multiple=True,
    type=options.COLUMN,
    metavar="COLUMN,...",
    help="Copy these columns of DATA, as they are, to the front of the output; may be given several times.",
)
@options.costs("Decide by these, without a new fit. Default: those the model was trained on.")
@click.option(
    "--priors",
    metavar="SHARES",
    help="Shares of the classes among the rows of DATA, where they differ from the training: ill=0.1,well=0.9; or "
    "'estimate', which finds them by these rows.",
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="DECISION=MOST",
    help="Make this decision about so many rows at most: a number of rows, or a share of them such as 0.05 or 5%; "
    "40..100 is the least and the most. May be given several times.",
)
@click.option("--probabilities", "--proba", is_flag=True, help="Add a column of probabilities for each class.")
@click.option(
    "--safe-text",
    is_flag=True,
    help="Put an apostrophe before texts that spreadsheets would take for formulas (they begin with =, +, -, "
    "@, a tab or an end of line, and are no numbers), and quotation marks around all texts.",
)
@options.numeric
@options.dialect
def predict(
    model: Path,
    data: tuple[Path, ...],
    out: Path | None,
    keep: tuple[str, ...],
    costs: str | None,
    priors: str | None,
    limits: tuple[str, ...],
    probabilities: bool,
    safe_text: bool,
    numeric: tuple[str, ...],
    stated: Dialect,
) -> None:
    """Decide for every row of DATA: a table with the column 'decision', in the order of the rows.

    Columns are found by name; those the model does not know are left alone. MODEL or DATA may be - for standard input.
    DATA may be several files with the same columns, or a file of svmlight's format, whose labels are not looked at.
    """
    if out is not None:
        kind_of(out, to_write=True)
    estimator, read = load_model(model), stated_costs(costs, stated)
    cost: Any = read.of(estimator.classes_, f"the model {model}")
    kept, front = list[str](), list[Any]()
    if any(map(is_svmlight, data)):
        check_cost_columns(read.columns, (), data[0])
        X: Any = svmlight_rows(data, estimator, keep=keep, numeric=numeric, stated=stated).X
    else:
        table = open_tables(data, stated)
        check_cost_columns(read.columns, table.names, table.path)
        kept = _kept(keep, table)
        front = [table.cells(kept)] if kept else []
        frame, X = _table_features(estimator, table, kept, numeric, list(read.columns))
        if isinstance(cost, ColumnCosts):
            cost = cost.matrices(frame, table.path)

    told = _told(estimator, X, priors, limits, model)
    parts = [pd.DataFrame({"decision": decisions(estimator, X, cost, model, told)})]
    if probabilities:
        columns = [f"probability of {label}" for label in estimator.classes_.tolist()]
        parts.append(pd.DataFrame(_probabilities(estimator, X, told.get("priors"), model), columns=columns))
    if kept:
        _check_apart(kept, [name for part in parts for name in part.columns])
    result = pd.concat([*front, *parts], axis=1)
    if safe_text:
        result = safe_texts(result)
    if out is None:
        _print_table(result, safe_text)
    else:
        write_table(result, out, safe_text)


def _table_features(
    estimator: Any, table: Table, kept: Sequence[str], numeric: Sequence[str], costs: Sequence[str]
) -> tuple[pd.DataFrame, Any]:
    """Return a table and the columns of it that a model knows; a note names those that nobody asked for."""
    names, known, target = table.names, feature_names(estimator), getattr(estimator, "target_name_", None)
    aside = [] if known is not None else [target, *costs]
    found = read_features(estimator, table, [name for name in names if name not in aside], numeric)
    if known is not None:
        used = {*known, *kept, *costs, target, ""}
        tell_columns([name for name in names if name not in used], table.path, "not used")
    return found


def _kept(given: Sequence[str], table: Table) -> list[str]:
    """Return the columns named by --keep: each value is the name of one, or several with commas between them."""
    known = set(table.names)
    found = [name for value in given for name in ([value] if value in known else map(str.strip, value.split(",")))]
    missing_columns(table.names, found, table.path, "named by --keep")
    return list(dict.fromkeys(found))


def _check_apart(kept: Sequence[str], columns: Sequence[str]) -> None:
    made = set(columns)
    both = [name for name in kept if name in made]
    if both:
        raise click.ClickException(
            f"--keep {both[0]} would give the output two columns of that name: rename it in the data."
        )


def _print_table(frame: pd.DataFrame, quoted: bool) -> None:
    """Print CSV on standard output, in its encoding; as it may be shown where that is a terminal."""
    told = False
    for text in csv_parts(frame, quoted):
        if sys.stdout.isatty():
            text = printable(text, keep="\n")
        if not told and written_on(text) != text:
            note(
                f"standard output is in {sys.stdout.encoding}, which cannot write all of this: the rest is escaped; "
                "--out - and --out FILE write UTF-8"
            )
            told = True
        say(text, end="")


def _told(estimator: Any, X: Any, priors: str | None, limits: Sequence[str], model: Path) -> dict[str, Any]:
    """Return what else `predict` is told: shares of the classes, which are said if rows tell them, and limits."""
    if priors is None and not limits:
        return {}
    if not decides_by_any_costs(estimator):
        raise click.ClickException(
            f"the model {model} decides by the costs it was trained on: leave out --priors and --limit, or fit one "
            "with --method minrisk (and --surrogate auto, softmax or exponential)."
        )
    told: dict[str, Any] = {}
    if priors == "estimate":
        found = estimate_priors(estimator, X)
        shares = ", ".join(f"{label} {share:.3g}" for label, share in zip(found.classes, found.shares, strict=True))
        note(f"shares of the classes: {shares}" if found.known else f"the shares of the training stay: {found.reason}")
        told["priors"] = found.shares
    elif priors is not None:
        told["priors"] = {label: _number(share, "--priors") for label, share in _pairs(priors.split(","), "--priors")}
    if limits:
        told["limits"] = {label: _limit(most) for label, most in _pairs(limits, "--limit")}
    return told


def _pairs(given: Sequence[str], option: str) -> list[tuple[str, str]]:
    """Return labels and what stands behind the last = of each."""
    pairs = [(label.strip(), value.strip()) for label, _, value in (one.rpartition("=") for one in given)]
    for one, (label, value) in zip(given, pairs, strict=True):
        if not label or not value:
            raise click.BadParameter(f"must be LABEL=NUMBER, got {one!r}", param_hint=option)
    labels = [label for label, _ in pairs]
    if twice := {label for label in labels if labels.count(label) > 1}:
        raise click.BadParameter(f"must name each label once, got {min(twice)!r} again", param_hint=option)
    return pairs


def _limit(most: str) -> Any:
    """Return the most, or the least and the most: whole numbers are rows, others and per cents shares."""
    if ".." in most:
        return tuple(_limit(end) if end else None for end in most.split("..", 1))
    if most.endswith("%"):
        return _number(most[:-1], "--limit") / 100.0
    return int(most) if most.isdecimal() else _number(most, "--limit")


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"must be a number, got {text!r}", param_hint=option) from None


def _probabilities(estimator: Any, X: Any, priors: Any, model: Path) -> Any:
    if not hasattr(estimator, "predict_proba"):
        raise click.ClickException(f"the model {model} has no probabilities: leave out --probabilities.")
    told = {} if priors is None else {"priors": priors}
    return by_blocks(lambda rows: estimator.predict_proba(rows, **told), X)
