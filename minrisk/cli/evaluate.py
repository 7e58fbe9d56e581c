"""minrisk evaluate: what the decisions of a model cost on a table with known classes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from rich.text import Text

from minrisk._typing import Labels
from minrisk._utils.text import first_of
from minrisk.cli import options, printing
from minrisk.cli.common import (
    ANSWERED_ROWS,
    by_blocks,
    feature_names,
    label_source,
    load_model,
    quoted,
    read_features,
    svmlight_rows,
    unmatched,
)
from minrisk.cli.costs import ColumnCosts, StatedCosts, check_cost_columns, check_known, stated_costs
from minrisk.cli.printing import Lines, Terminal
from minrisk.cli.streams import note, tell
from minrisk.costs import CostMatrix
from minrisk.costs.labels import as_labels, match_labels, no_classes, plain_array
from minrisk.costs.reading import CostsPerRow, is_uniform
from minrisk.decisions.costs import decides_by_any_costs
from minrisk.inspection.columns import in_parts
from minrisk.metrics import as_samples, best_constant_cost, expected_cost, regret
from minrisk.tables.columns import NAMELESS, matched, take_labels, take_weights
from minrisk.tables.files import Table, missing_columns, open_tables
from minrisk.tables.source import shown
from minrisk.tables.svmlight import is_svmlight
from minrisk.tables.text import Dialect

CONFUSIONS = 10  # lines shown to people
COSTS = {"0/1": "0/1: every mistake costs 1", "the model's": "those the model was trained on"}
BLIND = ("0/1", "uniform")  # what costs are called by which every mistake costs 1


@options.command()
@options.model
@options.data
@options.judged
@options.costs_known
@options.json("tables")
def evaluate(model: Path, data: tuple[Path, ...], costs_known: bool, as_json: bool, **judged: Any) -> None:
    """Report mean cost, error and the costliest confusions of MODEL on the table DATA.

    MODEL or DATA may be - for standard input. DATA may be several files with the same columns, or a file of svmlight's
    format.
    """
    given = read_judged(model, data, **judged, known=costs_known)
    decided = decisions(given.model, given.X, given.known, model)
    facts: dict[str, Any] = {"model": str(model), "data": given.name, "target": given.target, "costs": given.told}
    facts |= {} if judged["weight"] is None else {"weight": judged["weight"]}
    facts |= describe_evaluation(given.y, decided, given.cost, given.weight)
    tell(facts, as_json, print_evaluation)


class RowsToJudge(NamedTuple):
    """A model, rows with known classes, and the costs to judge by."""

    model: Any
    X: Any
    y: Labels
    cost: CostMatrix | CostsPerRow
    weight: Any  # of each row, or None
    name: str  # of the data
    target: str | None
    told: str  # what the costs are called
    known: CostsPerRow | None = None  # a matrix for each row, to decide by


def read_judged(
    model: Path,
    data: tuple[Path, ...],
    target: str | None,
    costs: str | None,
    weight: str | None,
    numeric: tuple[str, ...],
    stated: Dialect,
    known: bool = False,
) -> RowsToJudge:
    """Return what is to be judged, from the files that a command line names; costs of rows may be `known`."""
    estimator, read = load_model(model), stated_costs(costs, stated)
    if known:
        check_known(read)
    given, told = _costs(estimator, read, model)
    cost, columns, frame = given.matrix if isinstance(given, ColumnCosts) else given, list(read.columns), None
    if any(map(is_svmlight, data)):
        check_cost_columns(read.columns, (), data[0])
        rows = svmlight_rows(data, estimator, target=target, weight=weight, numeric=numeric, stated=stated)
        found = RowsToJudge(estimator, rows.X, rows.classes(data[0]), cost, None, str(data[0]), None, told)
    else:
        table = open_tables(data, stated)
        check_cost_columns(read.columns, table.names, table.path)
        aside = {weight, *columns}.difference(feature_names(estimator) or ())
        target = _target(estimator, table, target, weight, aside)
        others = [name for name in table.names if name != target and name not in aside]
        frame, X = read_features(estimator, table, others, numeric, target)
        y = take_labels(frame[target], table.path, table.written)
        each = None if weight is None else take_weights(frame[weight], table.path)
        found = RowsToJudge(estimator, X, y, cost, each, str(table.path), target, told)
    y, cost = _as_classes(found.y, cost, told in BLIND, label_source(found.target, found.name))
    found = found._replace(y=y, cost=cost)
    if frame is None or not isinstance(given, ColumnCosts):
        return found
    matrices = given.matrices(frame, found.name) if known else None
    return found._replace(cost=given.lines(frame, found.name, y), known=matrices)


def decisions(
    estimator: Any, X: Any, cost: CostMatrix | CostsPerRow | None, model: Path, told: Mapping[str, Any] | None = None
) -> Any:
    """Return decisions about rows, by these costs if there are some, and by what else `predict` is told.

    Raises
    ------
    click.ClickException
        If the model knows no others than those of its training.
    """
    told, together = told or {}, "limits" in (told or {})
    if cost is None:
        return by_blocks(lambda rows: estimator.predict(rows, **told), X, together)
    if not decides_by_any_costs(estimator):
        raise click.ClickException(
            f"the model {model} decides by the costs it was trained on: leave out --costs, or fit one with "
            "--method minrisk (and --surrogate auto, softmax or exponential), which decides by any."
        )
    parts = [(slice(None), X)] if together else in_parts(X, ANSWERED_ROWS)
    of_part = cost.at if isinstance(cost, CostsPerRow) else lambda part: cost
    return np.concatenate([estimator.predict(rows, cost=of_part(part), **told) for part, rows in parts])


def _target(estimator: Any, table: Table, target: str | None, weight: str | None, aside: Collection[Any]) -> str:
    """Return the column of the labels of a table, which has all features of the model; others lie aside."""
    names, path, known = table.names, table.path, feature_names(estimator)
    why = "named by --target"
    if target is None:
        target = getattr(estimator, "target_name_", None)
        why = "the target of the model (--target names another)"
    target = _only_other(known, [name for name in names if name not in aside], path) if target is None else target
    missing_columns(names, [target], path, why)
    if weight is not None:
        missing_columns(names, [weight], path, "named by --weight")
        if weight == target or weight in (known or ()):
            what = "the target" if weight == target else "a feature of the model"
            raise click.ClickException(f"--weight {weight} is {what}: name another column.")
    if target in (known or ()):
        raise click.ClickException(f"--target {target} is a feature of the model, not its target.")
    return target


def _only_other(known: list[str] | None, names: list[str], data: Path) -> str:
    """Return the one column that is no feature."""
    if known is None:
        raise click.ClickException("the model was trained without column names: say by --target which is the class.")
    features = {*known, *NAMELESS}
    others = [name for name in names if name not in features]
    if len(others) == 1:
        return others[0]
    if not others:
        raise click.ClickException(
            f"{shown(data)} has no column besides the features, so the true classes are unknown."
        )
    raise click.ClickException(
        f"{shown(data)} has several columns that the model does not know, {quoted(others)}: choose the true class by "
        "--target."
    )


def _costs(estimator: Any, read: StatedCosts, model: Path) -> tuple[CostMatrix | ColumnCosts, str]:
    """Return costs to judge by, and what they are called; they must know every decision of the model."""
    found, given = read.of(estimator.classes_, f"the model {model}"), read.given
    if found is None and estimator.cost_ is None:
        raise click.ClickException(
            "the model was trained with costs per row: give costs to judge by with --costs, in whose file names of "
            "columns may stand."
        )
    if found is None:
        judged_by = estimator._judged_by()
        found = estimator.cost_ if judged_by is None else judged_by
    cost = found.matrix if isinstance(found, ColumnCosts) else found
    assert cost is not None
    assert cost.decisions is not None
    if unknown := unmatched(as_labels(estimator.decisions_), cost.decisions):
        named = str(given).partition(":")[0] in ("uniform", "ordinal")
        what, way = f"--costs {given} says", "give a file of costs that has the column"
        if not named:
            what, way = f"the costs in {shown(str(given))} say", "add the column"
        raise click.ClickException(
            f"{what} nothing about the decision {str(unknown[0])!r} of the model, only about "
            f"{quoted(cost.decisions)}: {way}."
        )
    blind = cost.classes == as_labels(estimator.classes_) and is_uniform(cost)
    return found, given if given is not None else "0/1" if blind else "the model's"


def _as_classes(y: Labels, cost: CostMatrix, blind: bool, where: str) -> tuple[Labels, CostMatrix]:
    """Return labels of the data as the costs write them, (n,), and the costs; 0/1 ones with rows for new classes."""
    assert cost.classes is not None
    found, codes = np.unique(y, return_inverse=True)
    classes = list(cost.classes)
    labels = as_labels(found)
    at = np.array(matched(labels, classes))
    new = [label for label, place in zip(labels, at, strict=True) if place < 0]
    if new and (len(new) == len(found) or not blind):
        knows = "no class of the model" if blind else "no class of the model nor of the costs"
        raise click.ClickException(f"{where} holds {str(new[0])!r}, which is {knows}: known are {quoted(classes)}.")
    if new:
        note(f"{where} holds {quoted(new)}, which the model does not know: decisions for these rows count as mistakes")
        at[at < 0] = len(classes) + np.arange(len(new))
        classes += new
        mistakes = np.ones((len(new), cost.shape[1]))
        cost = CostMatrix(np.concatenate([cost.values, mistakes]), classes, cost.decisions)
    return plain_array(classes)[at[codes]], cost


# -- what is told ------------------------------------------------------------------------------------------------------
def describe_evaluation(
    y: Labels, decided: Labels, cost: CostMatrix | CostsPerRow, weight: Any = None
) -> dict[str, Any]:
    """Return risk, error, regret and every confusion that cost something, the costliest first; rows may be weighed.

    "error" is the share of all rows that were decided for another class than the true one. Where the costs have
    decisions that are no classes, "referred" holds the share of each: right, wrong and referred rows are all rows.
    Where costs differ by row, "cost_each" is a mean.
    """
    samples, weighed = as_samples(y, decided, cost, None, weight), {"sample_weight": weight}
    values, classes, decisions, column = samples.values, samples.classes, samples.decisions, samples.decided
    counts = samples.in_cells(samples.weight)
    if samples.per_row:
        each = np.ones(len(y)) if samples.weight is None else samples.weight
        totals = samples.in_cells(each * values[np.arange(len(y)), column])
        constant = int((each @ values).argmin())
        values = np.divide(totals, counts, out=np.zeros(totals.shape), where=counts > 0)
    else:
        totals = counts * values
        constant = int((counts.sum(axis=1) @ values).argmin())
    risk, best = expected_cost(y, decided, cost, **weighed), best_constant_cost(y, cost, **weighed)
    total = float(totals.sum())
    right = np.array(match_labels(classes, decisions))[samples.truth] == column
    referrals = no_classes(decisions, classes)
    settled = right | np.isin(column, referrals)
    referred = [
        {
            "decision": decisions[j],
            "count": counts[:, j].sum().item(),
            "share": float(np.average(column == j, weights=weight)),
        }
        for j in referrals
    ]
    order = sorted(np.argwhere(totals > 0).tolist(), key=lambda cell: (-totals[tuple(cell)], cell))
    return {
        "rows": len(y),
        "risk": risk,
        "error": float(1 - np.average(settled, weights=weight)),
        **({"referred": referred} if referred else {}),
        "best_constant": {"decision": decisions[constant], "cost": best},
        "regret": regret(y, decided, cost, **weighed),
        "total_cost": total,
        "confusions": [
            {
                "true": classes[i],
                "decided": decisions[j],
                "count": counts[i, j].item(),
                "cost_each": float(values[i, j]),
                "cost": float(totals[i, j]),
                "share": float(totals[i, j] / total),
            }
            for i, j in order
        ],
    }


def print_evaluation(facts: dict[str, Any]) -> None:
    """Print two tables: the numbers, and where the cost comes from."""
    constant, console = facts["best_constant"], Terminal()
    risk, best = facts["risk"], constant["cost"]
    lines = [
        ("model", facts["model"]),
        ("data", f"{shown(facts['data'])}: {facts['rows']} rows" + printing.in_target(facts, ", classes")),
        ("costs", COSTS.get(facts["costs"], shown(facts["costs"]))),
        ("mean cost", printing.number(risk)),
        *_error_lines(facts["error"], facts.get("referred", [])),
        ("best constant", f"{printing.number(best)}, by always deciding {str(constant['decision'])!r}"),
        ("regret", f"{facts['regret']:+.4g}: {_regret_in_words(facts['regret'], best)}"),
    ]
    console.facts("Evaluation", lines)
    confusions = facts["confusions"]
    if not confusions:
        console.print("\nNo decision cost anything.")
        return
    table = Lines("true", "decided", "count", "cost each", "cost", "share", "", left=2)
    for row in confusions[:CONFUSIONS]:
        share = printing.percent(row["share"]), printing.bar(row["share"], confusions[0]["share"])
        costs = printing.number(row["cost_each"]), printing.number(row["cost"])
        table.add(row["true"], row["decided"], f"{row['count']:.10g}", *costs, *share)
    if rest := confusions[CONFUSIONS:]:
        count, cost, share = (sum(row[name] for row in rest) for name in ("count", "cost", "share"))
        more = Text(f"{len(rest)} more", style="dim")
        table.add(more, "", f"{count:.10g}", "", printing.number(cost), printing.percent(share))
    console.section("Costliest confusions", table)


def _error_lines(error: float, referred: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the share of wrong decisions; of all rows also the others, where decisions may be no class."""
    if not referred:
        return [("error", printing.percent(error, 2))]
    share = sum(row["share"] for row in referred)
    if len(referred) == 1:
        what = f"decided {str(referred[0]['decision'])!r}, which is no class"
    else:
        each = [f"{str(row['decision'])!r} {printing.percent(row['share'], 2)}" for row in referred]
        what = f"decided {first_of(each)}, which are no classes"
    return [
        ("error", f"{printing.percent(error, 2)} of all rows: decided for another class than the true one"),
        ("referred", f"{printing.percent(share, 2)} of all rows: {what}"),
        ("right", f"{printing.percent(max(0.0, 1 - error - share), 2)} of all rows: decided for the true class"),
    ]


def _regret_in_words(regret: float, best: float) -> str:
    """Return what the mean cost is beside that of the best constant decision; less is good, and the regret then
    negative.
    """
    if regret == 0:
        return "the decisions cost no less than the best constant one, which looks at no row"
    share = f" ({printing.number(abs(regret) / best * 100)} %)" if best > 0 else ""
    apart = f"{printing.number(abs(regret))}{share}"
    if regret < 0:
        return f"negative is good, the decisions cost {apart} less a row than the best constant one"
    return f"the decisions cost {apart} more a row than the best constant one, which looks at no row"
