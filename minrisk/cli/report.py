"""Facts for machines (`describe_…`, plain dicts) and for people (`print_…`, tables by rich)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.text import Text

from minrisk.cli.common import column_names
from minrisk.cli.layout import (
    as_text,
    bar,
    listed,
    new_console,
    new_table,
    number,
    print_facts,
    print_section,
    size,
    spark,
)

if TYPE_CHECKING:
    from minrisk._typing import Labels
    from minrisk.cli.given import GivenRows
    from minrisk.costs import CostMatrix
    from minrisk.demo import Study

CONFUSIONS, FEATURES, COLUMNS, MATRIX = 10, 10, 40, 12  # lines shown to people, and the largest matrix
COSTS = {"0/1": "0/1: every mistake costs 1", "the model's": "those the model was trained on"}


# -- facts ---------------------------------------------------------------------------------------------------------
def describe_fit(
    model: Any, given: GivenRows, seconds: float, target: str | None, costs: str | None, out: Path, n_bytes: int | None
) -> dict[str, Any]:
    """What a training was and gave."""
    from minrisk.metrics import best_constant_cost

    return {
        "data": given.data,
        "target": target,
        "rows": int(given.counts.sum()),
        "features": given.n_features,
        "categories": _categories(model),
        "columns": [column._asdict() for column in getattr(model, "columns_", ())],
        "classes": model.classes_.tolist(),
        "costs": costs or "uniform",
        "algorithm": type(model).__name__,
        "surrogate": getattr(model, "surrogate_", None),
        "rounds": model.n_iter_,
        "train_risk": float(model.train_risk_[-1]) if hasattr(model, "train_risk_") else None,
        "validation_risk": _validated(model),
        "best_constant_cost": best_constant_cost(given.classes, model.cost_, sample_weight=given.counts),
        "seconds": round(seconds, 3),
        "model": str(out),
        "bytes": n_bytes,
    }


def _categories(model: Any) -> dict[str, int]:
    """Columns that hold categories, and how many values each has."""
    return {column.name: len(column.values) for column in model._categories.columns}


def _validated(model: Any) -> float | None:
    """Mean cost of rows that did not train, under what was kept; None where all rows trained."""
    if hasattr(model, "selection_"):
        risks = [tried["pooled_risk"] for tried in model.selection_ if tried["surrogate"] == model.surrogate_]
    else:
        risks = [None if model.validation_risk_ is None else np.min(model.validation_risk_)]
    return None if risks[0] is None else float(risks[0])


def describe_evaluation(y: Labels, decided: Labels, cost: CostMatrix, weight: Any = None) -> dict[str, Any]:
    """Risk, error, regret and every confusion that cost something, the costliest first; rows may be weighed.

    "error" is the share of all rows that were decided for another class than the true one. Where the costs have
    decisions that are no classes, "referred" holds the share of each: right, wrong and referred rows are all rows.
    """
    from minrisk.costs.labels import match_labels, no_classes
    from minrisk.metrics import best_constant_cost, expected_cost, regret

    assert cost.classes is not None
    assert cost.decisions is not None
    counts = np.zeros(cost.shape, dtype=np.int64 if weight is None else np.float64)
    truth = np.array(match_labels(y.tolist(), cost.classes))
    cells = list(decided) if decided.dtype.kind == "M" else decided.tolist()  # which makes numbers of some dates
    column = np.array(match_labels(cells, cost.decisions))
    np.add.at(counts, (truth, column), 1 if weight is None else weight)
    totals = counts * cost.values
    constant = int((counts.sum(axis=1) @ cost.values).argmin())
    weighed = {"sample_weight": weight}
    risk, best = expected_cost(y, decided, cost, **weighed), best_constant_cost(y, cost, **weighed)
    total = float(totals.sum())
    right = np.array(match_labels(cost.classes, cost.decisions))[truth] == column
    referrals = no_classes(cost.decisions, cost.classes)
    settled = right | np.isin(column, referrals)
    order = sorted(np.argwhere(totals > 0).tolist(), key=lambda cell: (-totals[tuple(cell)], cell))
    return {
        "rows": len(y),
        "risk": risk,
        "error": float(1 - np.average(settled, weights=weight)),
        **(
            {
                "referred": [
                    {
                        "decision": cost.decisions[j],
                        "count": counts[:, j].sum().item(),
                        "share": float(np.average(column == j, weights=weight)),
                    }
                    for j in referrals
                ]
            }
            if referrals
            else {}
        ),
        "best_constant": {"decision": cost.decisions[constant], "cost": best},
        "regret": regret(y, decided, cost, **weighed),
        "total_cost": total,
        "confusions": [
            {
                "true": cost.classes[i],
                "decided": cost.decisions[j],
                "count": counts[i, j].item(),
                "cost_each": float(cost.values[i, j]),
                "cost": float(totals[i, j]),
                "share": float(totals[i, j] / total),
            }
            for i, j in order
        ],
    }


def describe_model(model: Any, path: Path) -> dict[str, Any]:
    """What a model file holds."""
    importance = model.feature_importances_
    order = sorted(np.flatnonzero(importance > 0).tolist(), key=lambda j: (-importance[j], j))
    hidden = ("cost", "class_weight", "categorical_features", "n_jobs", "random_state", "verbose", "warm_start")
    curves = {name: getattr(model, name + "_", None) for name in ("train_risk", "validation_risk", "validation_loss")}
    return {
        "model": str(path),
        "bytes": path.stat().st_size if path.is_file() else None,
        "target": getattr(model, "target_name_", None),
        "algorithm": type(model).__name__,
        "parameters": {name: value for name, value in model.get_params().items() if name not in hidden},
        "classes": model.classes_.tolist(),
        "decisions": model.decisions_.tolist(),
        "costs": None if model.cost_ is None else model.cost_.values.tolist(),
        "features": model.n_features_in_,
        "categories": _categories(model),
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


# -- for people ----------------------------------------------------------------------------------------------------
def print_fit(facts: dict[str, Any], with_columns: bool = True) -> None:
    """The summary of a training, and what became of each column unless that was said before it."""
    classes = facts["classes"]
    lines = [
        ("data", f"{_source(facts['data'])}: {facts['rows']} rows, {facts['features']} features"),
        *_category_line(facts),
        ("classes", f"{len(classes)}{_in_target(facts)}: {listed(classes)}"),
        ("costs", _source(facts["costs"])),
        ("algorithm", _algorithm(facts)),
        ("rounds", str(facts["rounds"])),
    ]
    risks = [
        (facts["train_risk"], "on the training rows"),
        (facts["validation_risk"], "on the rows set apart" if facts["surrogate"] is None else "on the rows left out"),
        (facts["best_constant_cost"], "for the best constant decision"),
    ]
    known = [f"{number(risk)} {where}" for risk, where in risks if risk is not None]
    lines += [
        *(("" if i else "mean cost", line) for i, line in enumerate(known)),
        ("time", f"{facts['seconds']:.1f} s"),
        ("model", _file(facts)),
    ]
    console = new_console()
    print_facts(console, "Trained", lines)
    if with_columns and facts["columns"]:
        _print_columns(console, facts["columns"])


def _print_columns(console: Console, columns: list[dict[str, Any]]) -> None:
    """What became of each column of a table."""
    from minrisk.data.column_report import ColumnFacts

    table = new_table(
        ("column", "left"), ("kind", "left"), ("values", "right"), ("missing", "right"), ("became", "left")
    )
    for column in (ColumnFacts(**line) for line in columns[:COLUMNS]):
        remark = Text(f"; {column.remark}", style="yellow") if column.remark else Text()
        table.add_row(as_text(column.name), column.kind, *column.counts, Text(column.became) + remark)
    if len(columns) > COLUMNS:
        table.add_row(Text(f"{len(columns) - COLUMNS} more; --json shows them", style="dim"), "", "", "", "")
    print_section(console, "Columns", table)


def print_evaluation(facts: dict[str, Any]) -> None:
    """Two tables: the numbers, and where the cost comes from."""
    constant, console = facts["best_constant"], new_console()
    risk, best = facts["risk"], constant["cost"]
    lines = [
        ("model", facts["model"]),
        ("data", f"{_source(facts['data'])}: {facts['rows']} rows" + _in_target(facts, ", classes")),
        ("costs", COSTS.get(facts["costs"], _source(facts["costs"]))),
        ("mean cost", number(risk)),
        *_error_lines(facts["error"], facts.get("referred", [])),
        ("best constant", f"{number(best)}, by always deciding {str(constant['decision'])!r}"),
        ("regret", f"{facts['regret']:+.4g}: {_regret_in_words(facts['regret'], best)}"),
    ]
    print_facts(console, "Evaluation", lines)
    confusions = facts["confusions"]
    if not confusions:
        console.print("\nNo decision cost anything.")
        return
    table = new_table(
        ("true", "left"),
        ("decided", "left"),
        ("count", "right"),
        ("cost each", "right"),
        ("cost", "right"),
        ("share", "right"),
        ("", "left"),
    )
    for row in confusions[:CONFUSIONS]:
        table.add_row(
            as_text(row["true"]),
            as_text(row["decided"]),
            f"{row['count']:.10g}",
            number(row["cost_each"]),
            number(row["cost"]),
            f"{100 * row['share']:.1f} %",
            bar(row["share"], confusions[0]["share"]),
        )
    rest = confusions[CONFUSIONS:]
    if rest:
        cost, share = sum(row["cost"] for row in rest), sum(row["share"] for row in rest)
        table.add_row(
            Text(f"{len(rest)} more", style="dim"),
            "",
            f"{sum(row['count'] for row in rest):.10g}",
            "",
            number(cost),
            f"{100 * share:.1f} %",
            "",
        )
    print_section(console, "Costliest confusions", table)


def _error_lines(error: float, referred: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The share of wrong decisions; of all rows also the others, where decisions may be no class."""
    if not referred:
        return [("error", f"{100 * error:.2f} %")]
    share = sum(row["share"] for row in referred)
    if len(referred) == 1:
        what = f"decided {str(referred[0]['decision'])!r}, which is no class"
    else:
        each = [f"{str(row['decision'])!r} {100 * row['share']:.2f} %" for row in referred]
        what = f"decided {listed(each)}, which are no classes"
    return [
        ("error", f"{100 * error:.2f} % of all rows: decided for another class than the true one"),
        ("referred", f"{100 * share:.2f} % of all rows: {what}"),
        ("right", f"{100 * max(0.0, 1 - error - share):.2f} % of all rows: decided for the true class"),
    ]


def _regret_in_words(regret: float, best: float) -> str:
    """What the mean cost is beside that of the best constant decision; less is good, and the regret then negative."""
    if regret == 0:
        return "the decisions cost no less than the best constant one, which looks at no row"
    share = f" ({number(abs(regret) / best * 100)} %)" if best > 0 else ""
    apart = f"{number(abs(regret))}{share}"
    if regret < 0:
        return f"negative is good, the decisions cost {apart} less a row than the best constant one"
    return f"the decisions cost {apart} more a row than the best constant one, which looks at no row"


def print_model(facts: dict[str, Any]) -> None:
    """What a model is, its costs and its features."""
    console = new_console()
    extra = facts["decisions"][len(facts["classes"]) :]
    linear = f"{facts['linear_features']} combinations of them are used" if facts["linear_features"] else "none"
    smooth = f"kernels around {facts['landmarks']} rows" if facts["landmarks"] else "none"
    parameters = (f"{name} {value}" for name, value in facts["parameters"].items() if value is not None)
    lines = [
        ("model", _file(facts)),
        ("algorithm", _algorithm(facts)),
        ("parameters", ", ".join(parameters)),
        *([] if facts["target"] is None else [("target", facts["target"])]),
        ("classes", f"{len(facts['classes'])}: {listed(facts['classes'])}"),
        *([("more decisions", listed(extra))] if extra else []),
        ("features", f"{facts['features']}, of which {len(facts['importance'])} are used"),
        *_category_line(facts),
        *([] if facts["selection"] is None else [("linear features", linear), ("smooth scores", smooth)]),
        ("rounds", f"{facts['rounds']}, {facts['trees']} trees"),
        *_courses(facts),
    ]
    print_facts(console, "Model", lines)
    if facts["selection"] is not None:
        _print_selection(console, facts)
    _print_costs(console, facts)
    if facts["importance"]:
        table = new_table(("feature", "left"), ("share", "right"), ("", "left"))
        top = facts["importance"][0]["share"]
        for row in facts["importance"][:FEATURES]:
            table.add_row(as_text(row["feature"]), f"{100 * row['share']:.1f} %", bar(row["share"], top))
        print_section(console, "Most important features", table)


def _algorithm(facts: dict[str, Any]) -> str:
    """The estimator, and what it boosts where it has a choice."""
    surrogate = "" if facts["surrogate"] is None else f", surrogate {facts['surrogate']}"
    return f"{facts['algorithm']}{surrogate}"


def _courses(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Lines for what was followed over the rounds, as far as the algorithm follows it."""
    lines = [
        (name, f"{spark(course)}  {number(course[0])} → {number(course[-1])}")
        for name, course in (("loss", facts["train_loss"]), ("training cost", facts["train_risk"]))
        if course
    ]
    left_out = [value for _, value in facts["validation_loss"] or []]
    judged = ("validated loss" if facts["link"] else "validated cost", left_out)
    for name, course in (("validated cost", facts["validation_risk"]), judged):
        if course:
            lines.append((name, f"{spark(course)}  {number(course[0])} → {number(min(course))}"))
    return lines


def _print_selection(console: Console, facts: dict[str, Any]) -> None:
    """What was tried, which share of the model it became, and what they are together."""
    tried = facts["selection"]
    several = len({row["surrogate"] for row in tried}) > 1
    table = new_table(
        *([("surrogate", "left")] if several else []),
        ("candidate", "left"),
        ("share", "right"),
        ("rounds", "right"),
        ("temperature", "right"),
        ("mean cost", "right"),
    )
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
            f"{100 * row['share']:.1f} %" if used else "–",
            str(row["n_rounds"]),
            number(row["temperature"]),
            "–" if row["risk"] is None else number(row["risk"]),
        ]
        table.add_row(*map(as_text, cells), style="bold" if row is whole else "" if used else "dim")
    print_section(console, "Candidates, judged by the rows left out", table)
    if len(kept) < len(tried):
        told = "A candidate without a share is not in the model, and may have been judged by one fold only."
        console.print(Text(told, style="dim"))


def _print_costs(console: Console, facts: dict[str, Any]) -> None:
    costs, decisions = facts["costs"], facts["decisions"]
    if costs is None:
        console.print("\nThe training had costs of its own for every row.")
    elif len(costs) > MATRIX or len(decisions) > MATRIX:
        console.print(f"\nCosts: {len(costs)} true classes x {len(decisions)} decisions; --json shows them.")
    else:
        table = new_table(("", "left"), *((str(decision), "right") for decision in decisions))
        for label, row in zip(facts["classes"], costs, strict=True):
            cells = (Text("·", style="dim") if cost == 0 else f"{cost:g}" for cost in row)
            table.add_row(as_text(label, "cyan"), *cells)
        print_section(console, "Costs (row: the truth, column: the decision)", table)


def print_demo(study: Study, story: str, files: Mapping[Path, str]) -> None:
    """The table of methods, what it says, and where the files are: each with the method that it is of."""
    from minrisk.demo import MISREAD, TOO_HIGH, conclusion

    console, handed = new_console(), story == "clerk"
    told = {
        "clerk": f"a misread digit costs {MISREAD:g}, handing the digit to a clerk costs 1.",
        "too-high": "a mistake costs the difference of the digits, "
        f"{TOO_HIGH:g} times as much when the digit is read too high.",
    }
    console.print(f"\nA machine reads the digits of amounts on cheques: {told[story]}")
    best = min(study.results, key=lambda result: float(result.cost.mean()))
    names = ("misread", *(("to clerk",) if handed else ()), "mean cost", "seconds")
    table = new_table(("method", "left"), *((name, "right") for name in names))
    for result in study.results:
        shares = (result.error, result.referred) if handed else (result.error,)
        cells = [f"{100 * share.mean():.1f} %" for share in shares]
        cells += [f"{result.cost.mean():.3f}", f"{result.seconds.mean():.1f}"]
        table.add_row(result.method, *cells, style="bold green" if result is best else "")
    splits = len(best.cost)
    title = f"{study.n_train} digits to train on, {len(study.y_test)} to test on; means of {splits} splits"
    print_section(console, title, table)
    console.print("\n" + conclusion(study.results))
    if handed:
        other = "Whether training on the costs helps depends on them: see minrisk demo --costs too-high."
        console.print(Text(other, style="dim"))
    console.print()
    for file, method in files.items():
        console.print(Text("saved ", style="dim") + as_text(file) + Text(f" ({method})", style="dim"), soft_wrap=True)


# -- parts ---------------------------------------------------------------------------------------------------------
def _source(data: str) -> str:
    return "standard input" if data == "-" else data


def _in_target(facts: dict[str, Any], what: str = "") -> str:
    """Which column holds the classes; nothing of a file that has none."""
    return "" if facts["target"] is None else f"{what} in {facts['target']!r}"


def _file(facts: dict[str, Any]) -> str:
    """The model's file and its size, where it has one."""
    return facts["model"] if facts["bytes"] is None else f"{facts['model']} ({size(facts['bytes'])})"


def _category_line(facts: dict[str, Any], most: int = 8) -> list[tuple[str, str]]:
    """Which features are categories."""
    told = [f"{name} ({count})" for name, count in facts["categories"].items()]
    rest = [f"… ({len(told)} in all)"] if len(told) > most else []
    return [("categories", ", ".join([*told[:most], *rest]))] if told else []
