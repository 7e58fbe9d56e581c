"""minrisk show: what is in a model file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pandas as pd

from minrisk.cli import options
from minrisk.cli.common import column_names, load_model
from minrisk.cli.printing import as_text, describe_model, new_console, print_model
from minrisk.cli.streams import print_json, tell

EVERY = "all"
FAVOURED = 3  # decisions that are named of a leaf


class TreeNumbers(click.ParamType):  # type: ignore[type-arg]  # of newer versions only
    """Numbers of trees: one as 3, or a range as 10-12, both from 0, or all."""

    name = "trees"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> range | str:
        """Return the value as a range, or the word for all."""
        if isinstance(value, range) or value == EVERY:
            return value  # type: ignore[no-any-return]
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", str(value))
        if found is None:
            self.fail(
                f"must be a number or a range of numbers of trees, such as 3 or 10-12, got {value!r}; MODEL "
                "stands before it",
                param,
                ctx,
            )
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            self.fail(f"must be a range from a smaller to a larger number, got {value!r}", param, ctx)
        return range(first, last + 1)


@options.command()
@options.model
@click.option(
    "--trees",
    type=TreeNumbers(),
    is_flag=False,
    flag_value=EVERY,
    metavar="[N or N-M]",
    help="Show trees, by their numbers from 0; without a number all of them.",
)
@options.json("tables")
def show(model: Path, trees: range | str | None, as_json: bool) -> None:
    """Show how MODEL (- for standard input) was trained, its costs, its course and its most important features."""
    estimator = load_model(model)
    if trees is not None:
        print_trees(estimator, model, trees, as_json)
        return
    tell(describe_model(estimator, model), as_json, print_model)


def print_trees(model: Any, path: Path, wanted: range | str, as_json: bool) -> None:
    """Print trees with what they split and what their leaves favour."""
    from minrisk.inspection import to_frame

    try:
        frame = to_frame(model, names=column_names(model))
    except TypeError:
        raise click.ClickException(f"the model {path} holds no trees: leave out --trees.") from None
    n_trees = int(frame["tree"].max()) + 1
    if isinstance(wanted, range) and wanted[-1] >= n_trees:
        raise click.ClickException(
            f"the model {path} has {n_trees} trees, 0 to {n_trees - 1}, but --trees asks for "
            f"number {wanted[-1]}: give a smaller one."
        )
    chosen = frame[frame["tree"].isin(range(n_trees) if wanted == EVERY else wanted)]
    if as_json:
        print_json({"model": str(path), "trees": _nodes_as_json(chosen)})
        return
    console = new_console()
    for number, nodes in chosen.groupby("tree"):
        first = nodes.iloc[0]
        console.print()
        console.print(as_text(f"Tree {number} (round {first['round']}, member {first['member']})", "bold"))
        for line in tree_lines(nodes):
            console.print(as_text(line), soft_wrap=True)


def _nodes_as_json(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return nodes one by one, without what they do not have."""
    records: list[dict[str, Any]] = frame.to_dict("records")
    return [{name: value for name, value in node.items() if value is not None and value == value} for node in records]


def tree_lines(nodes: pd.DataFrame) -> Iterator[str]:
    """Yield a tree as lines of text, each node below its parent and further to the right.

    Parameters
    ----------
    nodes : DataFrame
        Lines of one tree of `minrisk.inspection.to_frame`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minrisk import REBELClassifier
    >>> from minrisk.inspection import to_frame
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> y = load_iris().target_names[y]
    >>> frame = to_frame(REBELClassifier(n_estimators=1, max_depth=1).fit(X, y))
    >>> for line in tree_lines(frame[frame["tree"] == 0]):
    ...     print(line)
    petal length (cm) <= 2.45 or missing (gain 0.423)
      yes: setosa +3.45, versicolor -0.547, virginica -0.547
      no: versicolor +0.547, virginica +0.547, setosa -3.45
    """
    own = {int(node["node"]): node for node in nodes.to_dict("records")}
    names = [name for name in nodes.columns if name.startswith(("score of ", "bit "))]

    def told(number: int, way: str, depth: int) -> Iterator[str]:
        node = own[number]
        if node["left"] < 0:
            yield "  " * depth + way + _leaf(node, names)
            return
        split = f"{node['feature']} <= {node['threshold']:.6g} or missing (gain {node['gain']:.3g})"
        yield "  " * depth + way + split
        yield from told(int(node["left"]), "yes: ", depth + 1)
        yield from told(int(node["right"]), "no: ", depth + 1)

    return told(0, "", 0)


def _leaf(node: dict[str, Any], names: list[str]) -> str:
    """Return what a leaf favours and what it disfavours, by how much of a score."""
    order = sorted(names, key=lambda name: -node[name])
    if len(order) > 2 * FAVOURED:
        parts = [*order[:FAVOURED], None, *order[-FAVOURED:]]
    else:
        parts = list(order)
    line = ", ".join("…" if name is None else f"{name.removeprefix('score of ')} {node[name]:+.3g}" for name in parts)
    slopes = [name for name in node if str(name).startswith("slope of ")]
    if any(node[name] for name in slopes):
        steepest = max(slopes, key=lambda name: abs(node[name]))
        rise = f"{steepest.removeprefix('slope of ')} {node[steepest]:+.3g}"
        line += f"; and by {node['feature']} - {node['origin']:.6g}, most {rise}"
    return line
