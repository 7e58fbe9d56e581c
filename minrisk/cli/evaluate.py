"""minrisk evaluate: what the decisions of a model cost on a table with known classes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from minrisk.cli.common import (
    COSTS_HELP,
    feature_names,
    features_for,
    load_model,
    print_json,
    read_costs,
    text_columns,
)

if TYPE_CHECKING:
    from minrisk._typing import Labels
    from minrisk.costs import CostMatrix


@click.command(short_help="What the decisions of a model cost.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--target", metavar="COLUMN",
              help="The column that holds the class; may be left out when it is the only one the model does not know.")
@click.option("--costs", metavar="COSTS", help=COSTS_HELP + " Default: the costs the model was trained on.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def evaluate(model: Path, data: Path, target: str | None, costs: str | None, as_json: bool) -> None:
    """Report mean cost, error and the costliest confusions of MODEL on the table DATA."""
    from minrisk.io.tables import column_names, missing_columns, read_table, take_labels

    estimator = load_model(model)
    names = column_names(data)
    target = _target(estimator, names, data) if target is None else target
    missing_columns(names, [target], data, "named by --target")
    known = feature_names(estimator)
    if known is not None:
        if target in known:
            raise click.ClickException(f"--target {target} is a feature of the model, not its target.")
        missing_columns(names, known, data, "which the model was trained on")
    cost = _costs(estimator, costs, model)
    others = [name for name in names if name != target]
    frame = read_table(data, labels=target, texts=text_columns(estimator, others))
    y = _as_classes(take_labels(frame[target], data), estimator.classes_, target, data)
    decided = estimator.predict(features_for(estimator, frame.drop(columns=target), data))

    from minrisk.cli.report import describe_evaluation, print_evaluation

    facts: dict[str, Any] = {"model": str(model), "data": str(data), "target": target}
    facts["costs"] = costs if costs is not None else "0/1" if estimator.cost is None else "the model's"
    facts |= describe_evaluation(y, decided, cost)
    if as_json:
        print_json(facts)
    else:
        print_evaluation(facts)


def _target(estimator: Any, names: list[str], data: Path) -> str:
    """The one column that is no feature."""
    known = feature_names(estimator)
    if known is None:
        raise click.ClickException("the model was trained without column names: say by --target which is the class.")
    others = [name for name in names if name not in set(known)]
    if len(others) == 1:
        return others[0]
    if not others:
        raise click.ClickException(f"{data} has no column besides the features, so the true classes are unknown.")
    from minrisk.costs.labels import listed

    raise click.ClickException(
        f"{data} has several columns that the model does not know, {listed(others)}: choose the true class by --target."
    )


def _costs(estimator: Any, given: str | None, model: Path) -> CostMatrix:
    """Costs to judge by; they must know every decision of the model."""
    cost: CostMatrix | None = read_costs(given, estimator.classes_, f"the model {model}")
    if cost is None:
        cost = estimator.cost_
    if cost is None:
        raise click.ClickException("the model was trained with costs per row: give costs to judge by with --costs.")
    from minrisk.costs.labels import listed, match_labels

    assert cost.decisions is not None
    decisions = estimator.decisions_.tolist()
    unknown = [label for label, at in zip(decisions, match_labels(decisions, cost.decisions), strict=True) if at < 0]
    if unknown:
        raise click.ClickException(
            f"--costs {given} says nothing about the decision {unknown[0]!r} of the model, only about "
            f"{listed(cost.decisions)}: add the column."
        )
    return cost


def _as_classes(y: Labels, classes: Labels, target: str, data: Path) -> Labels:
    """The labels of the data as the model writes them, (n,)."""
    from minrisk.costs.labels import listed, match_labels

    found, codes = np.unique(y, return_inverse=True)
    at = np.array(match_labels(found.tolist(), classes.tolist()))
    if (at < 0).any():
        raise click.ClickException(
            f"column {target!r} of {data} holds {found[at < 0][0].item()!r}, which is no class of the model: it knows "
            f"{listed(classes.tolist())}."
        )
    return np.asarray(classes[at[codes]])
