"""minrisk show: what is in a model file."""

from __future__ import annotations

from pathlib import Path

import click

from minrisk.cli.common import FILE, load_model
from minrisk.cli.streams import print_json


@click.command(short_help="What is in a model file.")
@click.argument("model", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def show(model: Path, as_json: bool) -> None:
    """Show how MODEL (- for standard input) was trained, its costs, its course and its most important features."""
    estimator = load_model(model)
    from minrisk.cli.report import describe_model, print_model

    facts = describe_model(estimator, model)
    if as_json:
        print_json(facts)
    else:
        print_model(facts)
