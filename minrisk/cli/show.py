"""minrisk show: what is in a model file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from rich.text import Text

from minrisk._typing import FloatArray
from minrisk._utils.text import first_of
from minrisk.cli import options, printing
from minrisk.cli.common import column_names, load_model
from minrisk.cli.printing import Lines, Terminal, as_text
from minrisk.cli.streams import print_json, tell
from minrisk.estimator.fitted import told_parameters

EVERY = "all"
FEATURES, MATRIX = 10, 12  # lines shown to people, and the largest matrix
BARS = "▁▂▃▄▅▆▇█"  # of a curve, by height
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
    console = Terminal()
    for tree, nodes in chosen.groupby("tree"):
        first = nodes.iloc[0]
        console.title(f"Tree {tree} (round {first['round']}, member {first['member']})")
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
    told = [f"{name.removeprefix('score of ')} {node[name]:+.3g}" for name in order]
    line = ", ".join(told if len(told) <= 2 * FAVOURED else [*told[:FAVOURED], "…", *told[-FAVOURED:]])
    slopes = [name for name in node if str(name).startswith("slope of ")]
    if any(node[name] for name in slopes):
        steepest = max(slopes, key=lambda name: abs(node[name]))
        rise = f"{steepest.removeprefix('slope of ')} {node[steepest]:+.3g}"
        line += f"; and by {node['feature']} - {node['origin']:.6g}, most {rise}"
    return line


# -- what is told ------------------------------------------------------------------------------------------------------
def describe_model(model: Any, path: Path) -> dict[str, Any]:
    """Return what a model file holds."""
    importance = model.feature_importances_
    order = sorted(np.flatnonzero(importance > 0).tolist(), key=lambda j: (-importance[j], j))
    curves = {name: getattr(model, name + "_", None) for name in ("train_risk", "validation_risk", "validation_loss")}
    return {
        "model": str(path),
        "bytes": path.stat().st_size if path.is_file() else None,
        "target": getattr(model, "target_name_", None),
        "algorithm": type(model).__name__,
        "parameters": told_parameters(model, deep=True),
        "classes": model.classes_.tolist(),
        "decisions": model.decisions_.tolist(),
        "costs": None if model.cost_ is None else model.cost_.values.tolist(),
        "features": model.n_features_in_,
        "categories": printing.categories_of(model),
        "rounds": model.n_iter_,
        "trees": int(np.count_nonzero(model.model_.packed.depth)),  # of those that split anything
        "surrogate": getattr(model, "surrogate_", None),
        "link": model.model_.link,
        "temperature": model.model_.temperature,
        "linear_features": 0 if model.model_.projection is None else model.model_.projection.n_columns,
        "landmarks": 0 if model.model_.smooth is None else model.model_.smooth.landmarks.shape[1],
        "selection": getattr(model, "selection_", None),
        "train_loss": model.train_loss_.tolist(),
        **{name: None if curve is None else curve.tolist() for name, curve in curves.items()},
        "importance": [
            {"feature": name, "share": float(importance[j])}
            for j, name in zip(order, column_names(model, order), strict=True)
        ],
    }


def print_model(facts: dict[str, Any]) -> None:
    """Print what a model is, its costs and its features."""
    console = Terminal()
    extra = facts["decisions"][len(facts["classes"]) :]
    linear = f"{facts['linear_features']} combinations of them are used" if facts["linear_features"] else "none"
    smooth = f"kernels around {facts['landmarks']} rows" if facts["landmarks"] else "none"
    parameters = (f"{name} {value}" for name, value in facts["parameters"].items() if value is not None)
    lines = [
        ("model", printing.model_file(facts)),
        ("algorithm", printing.algorithm(facts)),
        ("parameters", ", ".join(parameters)),
        *([] if facts["target"] is None else [("target", facts["target"])]),
        ("classes", f"{len(facts['classes'])}: {first_of(map(str, facts['classes']))}"),
        *([("more decisions", first_of(map(str, extra)))] if extra else []),
        ("features", f"{facts['features']}, of which {len(facts['importance'])} are used"),
        *printing.category_line(facts),
        *([] if facts["selection"] is None else [("linear features", linear), ("smooth scores", smooth)]),
        ("rounds", f"{facts['rounds']}, {facts['trees']} trees"),
        *_courses(facts),
    ]
    console.facts("Model", lines)
    if facts["selection"] is not None:
        _print_selection(console, facts)
    _print_costs(console, facts)
    if facts["importance"]:
        table = Lines("feature", "share", "")
        top = facts["importance"][0]["share"]
        for row in facts["importance"][:FEATURES]:
            table.add(row["feature"], printing.percent(row["share"]), printing.bar(row["share"], top))
        console.section("Most important features", table)


def _courses(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return lines for what was followed over the rounds, as far as the algorithm follows it."""
    lines = [
        (name, f"{spark(course)}  {printing.number(course[0])} → {printing.number(course[-1])}")
        for name, course in (("loss", facts["train_loss"]), ("training cost", facts["train_risk"]))
        if course
    ]
    left_out = [value for _, value in facts["validation_loss"] or []]
    judged = ("validated loss" if facts["link"] else "validated cost", left_out)
    for name, course in (("validated cost", facts["validation_risk"]), judged):
        if course:
            lines.append((name, f"{spark(course)}  {printing.number(course[0])} → {printing.number(min(course))}"))
    return lines


def _print_selection(console: Terminal, facts: dict[str, Any]) -> None:
    """Print what was tried, which share of the model it became, and what they are together."""
    tried = facts["selection"]
    several = len({row["surrogate"] for row in tried}) > 1
    names = ["candidate", "share", "rounds", "temperature", "mean cost"]
    table = Lines("surrogate", *names, left=2) if several else Lines(*names)
    kept = [row for row in tried if row["surrogate"] == facts["surrogate"] and row["share"] > 0]
    whole = {
        "surrogate": facts["surrogate"],
        "variant": "together",
        "share": 1.0,
        "n_rounds": facts["rounds"],
        "temperature": facts["temperature"],
        "risk": kept[0]["pooled_risk"],
    }
    for row in [*tried, whole] if len(kept) > 1 else tried:
        used = row in kept or row is whole
        cells = [
            *([row["surrogate"]] if several else []),
            row["variant"],
            printing.percent(row["share"]) if used else "–",
            row["n_rounds"],
            printing.number(row["temperature"]),
            "–" if row["risk"] is None else printing.number(row["risk"]),
        ]
        table.add(*cells, style="bold" if row is whole else "" if used else "dim")
    console.section("Candidates, judged by the rows left out", table)
    if len(kept) < len(tried):
        told = "A candidate without a share is not in the model, and may have been judged by one fold only."
        console.print(Text(told, style="dim"))


def _print_costs(console: Terminal, facts: dict[str, Any]) -> None:
    costs, decisions = facts["costs"], facts["decisions"]
    if costs is None:
        console.print("\nThe training had costs of its own for every row.")
    elif len(costs) > MATRIX or len(decisions) > MATRIX:
        console.print(f"\nCosts: {len(costs)} true classes x {len(decisions)} decisions; --json shows them.")
    else:
        table = Lines("", *decisions)
        for label, row in zip(facts["classes"], costs, strict=True):
            table.add(as_text(label, "cyan"), *(Text("·", style="dim") if cost == 0 else f"{cost:g}" for cost in row))
        console.section("Costs (row: the truth, column: the decision)", table)


def spark(values: Sequence[float] | FloatArray, width: int = 30) -> str:
    """Return a course as a line of blocks."""
    at = np.unique(np.linspace(0, len(values) - 1, min(width, len(values))).round().astype(int))
    chosen = np.asarray(values, dtype=float)[at]
    low, high = chosen.min(), chosen.max()
    height = np.zeros(len(chosen)) if high == low else (chosen - low) / (high - low)
    return "".join(BARS[round(h * (len(BARS) - 1))] for h in height)
