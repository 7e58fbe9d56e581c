"""minrisk export: a model for runtimes other than this package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from minrisk.cli import options
from minrisk.cli.common import check_new_file, load_model
from minrisk.cli.costs import read_costs
from minrisk.cli.streams import note
from minrisk.io.atomic import write_beside
from minrisk.tables.text import Dialect

FORMATS = ("onnx", "treelite", "json")  # which are the suffixes of the files, too


@options.command()
@options.model
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Choice(FORMATS),
    help="onnx: a graph from numbers to the decision. treelite: trees, in the checkpoint format of Treelite. "
    "json: a text that a few lines of any language run.",
)
@click.option(
    "--out",
    type=options.NEW_FILE,
    help="Write here (- is standard output). Default: MODEL with the suffix .onnx, .treelite or .json.",
)
@options.costs("The exported model decides by these. Default: those the model was trained on.", "--cost")
@click.option(
    "--linear-features",
    is_flag=True,
    help="To treelite: whoever runs the model puts its linear features behind the columns.",
)
def export(model: Path, target: str, out: Path | None, costs: str | None, linear_features: bool) -> None:
    """Write MODEL (- for standard input) so that it runs where there is no minrisk.

    To onnx and treelite need libraries of their own: pip install 'minrisk[onnx]' or 'minrisk[treelite]'.
    """
    if out is None:
        if str(model) == "-":
            raise click.ClickException("a model from standard input has no name: say where to write by --out.")
        out = model.with_suffix(f".{target}")
        check_new_file("--out", out, model, costs)
    if target == "treelite" and costs is not None:
        raise click.ClickException("Treelite knows no costs: leave out --costs, or export --to onnx or json.")
    if target != "treelite" and linear_features:
        raise click.ClickException(f"{target} holds the linear features: leave out --linear-features.")
    estimator = load_model(model)
    cost = read_costs(costs, estimator.classes_, f"the model {model}", Dialect())
    try:
        size = _write(estimator, target, out, cost, linear_features)
    except ImportError as error:
        raise click.ClickException(str(error)) from None
    if str(out) != "-":
        note(f"{out} has {size:,} bytes")


def _write(estimator: Any, target: str, out: Path, cost: Any, linear_features: bool) -> int:
    """Write an exported model as a whole, or nothing; its size."""
    from minrisk.export import to_json, to_onnx, to_treelite

    if target == "onnx":
        data: bytes = to_onnx(estimator, cost).SerializeToString()
    elif target == "treelite":
        data = to_treelite(estimator, linear_features=linear_features).serialize_bytes()
    else:
        data = to_json(estimator, cost).encode()
    with write_beside("/dev/stdout" if str(out) == "-" else out) as beside:
        beside.write_bytes(data)
    return len(data)
