"""What commands tell: facts for machines (`describe_…`, plain dicts) and for people (`print_…`, tables by rich).

On the terminal nothing is cut, however narrow it is.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from minrisk._typing import FloatArray, Labels
from minrisk._utils.method_names import METRIC_NAMES
from minrisk._utils.text import printable
from minrisk.cli.common import column_names
from minrisk.cli.streams import written_on
from minrisk.cli.training import GivenRows
from minrisk.costs import CostMatrix
from minrisk.costs.labels import match_labels, no_classes

if TYPE_CHECKING:
    from minrisk.comparison import Comparison

CONFUSIONS, FEATURES, COLUMNS, MATRIX = 10, 10, 40, 12  # lines shown to people, and the largest matrix
MOST_PAIRS = 15  # lines of pairs of methods
COSTS = {"0/1": "0/1: every mistake costs 1", "the model's": "those the model was trained on"}
SHORT, ROOM = 12, 20  # characters: labels are folded to no less, values beside their names have no less
BARS, BLOCKS = "▁▂▃▄▅▆▇█", 20  # of a curve, by height; characters of the longest bar


class _Console(Console):
    """A console whose reader may leave: that is for the command to hear of."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def new_console() -> Console:
    return _Console(highlight=False)


def print_title(console: Console, title: str) -> None:
    """Print a blank line and a title."""
    console.print()
    console.print(as_text(title, "bold"))


def print_section(console: Console, title: str, table: Table) -> None:
    """Print a title and a table, as wide as it must be: no label or number of it is cut."""
    print_title(console, title)
    width = console.width
    try:
        console.width = max(width, _fitted(table, width))
        console.print(table)
    finally:
        console.width = width


def _fitted(table: Table, width: int) -> int:
    """Make a table narrower where it is wider than the console: no bars, then labels folded; returns its width."""
    if _total(table) > width and table.columns[-1].header == Text(""):
        table.columns.pop()
    for column in sorted(table.columns, key=_width, reverse=True):
        excess = _total(table) - width
        if excess > 0 and not column.no_wrap:
            column.width = max(min(_width(column), SHORT), _width(column) - excess)
    return _total(table)


def _total(table: Table) -> int:
    """Return width of a table: of its columns, a blank on each side of them, and a blank between them."""
    return sum(_width(column) + 3 for column in table.columns) - 1


def _width(column: Column) -> int:
    """Return width of a column; of what it holds, if it was given none."""
    return max(map(cell_len, map(str, (column.header, *column.cells)))) if column.width is None else column.width


def print_facts(console: Console, title: str, lines: Sequence[tuple[str, str]]) -> None:
    """Print a title, and names with values beside them, or below them where there is no room."""
    print_title(console, title)
    name_width = max(cell_len(name) for name, _ in lines) + 4
    if console.width < name_width + ROOM:
        for name, value in lines:
            console.print(Text(" " + name if name else "", style="cyan"))
            console.print(Padding(as_text(value), (0, 0, 0, 3)), overflow="fold")
        return
    table = Table(show_header=False, box=None, padding=(0, 1, 0, 1))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in lines:
        table.add_row(name, as_text(value))  # Text: names of files and labels may hold brackets, rich's markup
    console.print(table)


class Lines(Table):
    """A table whose first columns hold labels, and others numbers or, without a name, bars."""

    def __init__(self, *names: Any, left: int = 1) -> None:
        super().__init__(box=box.SIMPLE_HEAD, header_style="cyan", show_edge=False, padding=(0, 1, 0, 1))
        for j, name in enumerate(names):
            is_label = j < left or name == ""
            justify: Any = "left" if is_label else "right"
            self.add_column(as_text(name), justify=justify, no_wrap=not is_label, overflow="fold")

    def add(self, *cells: Any, style: str = "") -> None:
        """Add a line, whose cells are shown as they are: labels may hold brackets, rich's markup."""
        self.add_row(*(cell if isinstance(cell, Text) else as_text(cell) for cell in cells), style=style)


def as_text(label: Any, style: str = "") -> Text:
    """Return a label or name as it will stand on the stream; tables are laid out with this."""
    return Text(written_on(printable(str(label))), style=style)


def number(value: float) -> str:
    """Return a number in four digits; large ones whole, with an exponent only where nobody would read the digits."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def bar(share: float, largest: float) -> Text:
    return Text("█" * max(1, round(BLOCKS * share / largest)), style="red")


def spark(values: Sequence[float] | FloatArray, width: int = 30) -> str:
    """Return a course as a line of blocks."""
    at = np.unique(np.linspace(0, len(values) - 1, min(width, len(values))).round().astype(int))
    chosen = np.asarray(values, dtype=float)[at]
    low, high = chosen.min(), chosen.max()
    height = np.zeros(len(chosen)) if high == low else (chosen - low) / (high - low)
    return "".join(BARS[round(h * (len(BARS) - 1))] for h in height)


def listed(labels: Sequence[Any], most: int = 12) -> str:
    shown = ", ".join(str(label) for label in labels[:most])
    return shown if len(labels) <= most else f"{shown}, … ({len(labels)} in all)"


def size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"


@contextmanager
def progress(what: str, steps: int) -> Iterator[Callable[[], None]]:
    """Show a bar on stderr where that is a terminal; the value is to be called after every step."""
    bar = Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task(what, total=steps)
        yield lambda: bar.advance(task)


# -- facts ---------------------------------------------------------------------------------------------------------
def describe_fit(
    model: Any, given: GivenRows, seconds: float, target: str | None, costs: str | None, out: Path, n_bytes: int | None
) -> dict[str, Any]:
    """Return what a training was and gave."""
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
    """Return columns that hold categories, and how many values each has."""
    return {column.name: len(column.values) for column in model._categories.columns}


def _validated(model: Any) -> float | None:
    """Return mean cost of rows that did not train, under what was kept; None where all rows trained."""
    if hasattr(model, "selection_"):
        risks = [tried["pooled_risk"] for tried in model.selection_ if tried["surrogate"] == model.surrogate_]
    else:
        risks = [None if model.validation_risk_ is None else np.min(model.validation_risk_)]
    return None if risks[0] is None else float(risks[0])


def describe_evaluation(y: Labels, decided: Labels, cost: CostMatrix, weight: Any = None) -> dict[str, Any]:
    """Return risk, error, regret and every confusion that cost something, the costliest first; rows may be weighed.

    "error" is the share of all rows that were decided for another class than the true one. Where the costs have
    decisions that are no classes, "referred" holds the share of each: right, wrong and referred rows are all rows.
    """
    from minrisk.metrics import as_samples, best_constant_cost, expected_cost, regret

    samples, weighed = as_samples(y, decided, cost, None, weight), {"sample_weight": weight}
    values, classes, decisions, column = samples.values, samples.classes, samples.decisions, samples.decided
    counts = np.zeros(values.shape, dtype=np.int64 if weight is None else np.float64)
    np.add.at(counts, (samples.truth, column), 1 if weight is None else weight)
    totals = counts * values
    constant = int((counts.sum(axis=1) @ values).argmin())
    risk, best = expected_cost(y, decided, cost, **weighed), best_constant_cost(y, cost, **weighed)
    total = float(totals.sum())
    right = np.array(match_labels(classes, decisions))[samples.truth] == column
    referrals = no_classes(decisions, classes)
    settled = right | np.isin(column, referrals)
    referred = []
    for j in referrals:
        share = float(np.average(column == j, weights=weight))
        referred.append({"decision": decisions[j], "count": counts[:, j].sum().item(), "share": share})
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


def describe_model(model: Any, path: Path) -> dict[str, Any]:
    """Return what a model file holds."""
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
    """Print the summary of a training, and what became of each column unless that was said before it."""
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
    """Print what became of each column of a table."""
    from minrisk.data.column_report import ColumnFacts

    table = Lines("column", "kind", "values", "missing", left=2)
    table.add_column("became", overflow="fold")
    for column in (ColumnFacts(**line) for line in columns[:COLUMNS]):
        remark = Text(f"; {column.remark}", style="yellow") if column.remark else Text()
        table.add(column.name, column.kind, *column.counts, Text(column.became) + remark)
    if len(columns) > COLUMNS:
        table.add(Text(f"{len(columns) - COLUMNS} more; --json shows them", style="dim"))
    print_section(console, "Columns", table)


def print_evaluation(facts: dict[str, Any]) -> None:
    """Print two tables: the numbers, and where the cost comes from."""
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
    table = Lines("true", "decided", "count", "cost each", "cost", "share", "", left=2)
    for row in confusions[:CONFUSIONS]:
        share = percent(row["share"]), bar(row["share"], confusions[0]["share"])
        costs = number(row["cost_each"]), number(row["cost"])
        table.add(row["true"], row["decided"], f"{row['count']:.10g}", *costs, *share)
    if rest := confusions[CONFUSIONS:]:
        count, cost, share = (sum(row[name] for row in rest) for name in ("count", "cost", "share"))
        more = Text(f"{len(rest)} more", style="dim")
        table.add(more, "", f"{count:.10g}", "", number(cost), percent(share))
    print_section(console, "Costliest confusions", table)


def _error_lines(error: float, referred: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the share of wrong decisions; of all rows also the others, where decisions may be no class."""
    if not referred:
        return [("error", percent(error, 2))]
    share = sum(row["share"] for row in referred)
    if len(referred) == 1:
        what = f"decided {str(referred[0]['decision'])!r}, which is no class"
    else:
        each = [f"{str(row['decision'])!r} {percent(row['share'], 2)}" for row in referred]
        what = f"decided {listed(each)}, which are no classes"
    return [
        ("error", f"{percent(error, 2)} of all rows: decided for another class than the true one"),
        ("referred", f"{percent(share, 2)} of all rows: {what}"),
        ("right", f"{percent(max(0.0, 1 - error - share), 2)} of all rows: decided for the true class"),
    ]


def _regret_in_words(regret: float, best: float) -> str:
    """Return what the mean cost is beside that of the best constant decision; less is good, and the regret then
    negative.
    """
    if regret == 0:
        return "the decisions cost no less than the best constant one, which looks at no row"
    share = f" ({number(abs(regret) / best * 100)} %)" if best > 0 else ""
    apart = f"{number(abs(regret))}{share}"
    if regret < 0:
        return f"negative is good, the decisions cost {apart} less a row than the best constant one"
    return f"the decisions cost {apart} more a row than the best constant one, which looks at no row"


def print_model(facts: dict[str, Any]) -> None:
    """Print what a model is, its costs and its features."""
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
        table = Lines("feature", "share", "")
        top = facts["importance"][0]["share"]
        for row in facts["importance"][:FEATURES]:
            table.add(row["feature"], percent(row["share"]), bar(row["share"], top))
        print_section(console, "Most important features", table)


def _algorithm(facts: dict[str, Any]) -> str:
    """Return the estimator, and what it boosts where it has a choice."""
    surrogate = "" if facts["surrogate"] is None else f", surrogate {facts['surrogate']}"
    return f"{facts['algorithm']}{surrogate}"


def _courses(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return lines for what was followed over the rounds, as far as the algorithm follows it."""
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
            percent(row["share"]) if used else "–",
            row["n_rounds"],
            number(row["temperature"]),
            "–" if row["risk"] is None else number(row["risk"]),
        ]
        table.add(*cells, style="bold" if row is whole else "" if used else "dim")
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
        table = Lines("", *decisions)
        for label, row in zip(facts["classes"], costs, strict=True):
            table.add(as_text(label, "cyan"), *(Text("·", style="dim") if cost == 0 else f"{cost:g}" for cost in row))
        print_section(console, "Costs (row: the truth, column: the decision)", table)


# -- parts ---------------------------------------------------------------------------------------------------------
def _source(data: str) -> str:
    return "standard input" if data == "-" else data


def _in_target(facts: dict[str, Any], what: str = "") -> str:
    """Return which column holds the classes; nothing of a file that has none."""
    return "" if facts["target"] is None else f"{what} in {facts['target']!r}"


def _file(facts: dict[str, Any]) -> str:
    """Return the model's file and its size, where it has one."""
    return facts["model"] if facts["bytes"] is None else f"{facts['model']} ({size(facts['bytes'])})"


def _category_line(facts: dict[str, Any], most: int = 8) -> list[tuple[str, str]]:
    """Return which features are categories."""
    told = [f"{name} ({count})" for name, count in facts["categories"].items()]
    rest = [f"… ({len(told)} in all)"] if len(told) > most else []
    return [("categories", ", ".join([*told[:most], *rest]))] if told else []


# -- comparisons -----------------------------------------------------------------------------------------------------
def describe_comparison(
    found: Comparison, data: Sequence[str], costs: Sequence[str], metric: str, alpha: float
) -> dict[str, Any]:
    """Return all that was found but the single folds."""
    comparable = found.contests(metric)
    several = len(comparable.methods) > 1
    friedman = found.friedman(metric) if len(comparable.methods) > 2 and len(comparable.contests) > 1 else None
    nemenyi = found.nemenyi(metric, alpha) if several else None
    ranks = {} if nemenyi is None else dict(zip(comparable.methods, nemenyi.mean_ranks.tolist(), strict=True))
    at = {name: i for i, name in enumerate(comparable.methods)}
    return {
        "data": list(data),
        "data_sets": found.data_sets,
        "costs": list(costs),
        "folds": found.n_folds,
        "failures": found.failures,
        "metric": metric,
        "alpha": alpha,
        "methods": [{**line, "mean_rank": ranks.get(line["method"])} for line in found.summary()],
        "what_is_tested": found.what_is_tested(metric),
        "friedman": friedman and _finite(friedman),
        "critical_difference": None if nemenyi is None else nemenyi.critical_difference,
        "pairs": []
        if nemenyi is None
        else [
            {**test._asdict(), "nemenyi_p_value": float(nemenyi.p_values[at[test.first], at[test.second]])}
            for test in found.wilcoxon(metric)
        ],
    }


def _finite(friedman: Any) -> dict[str, Any]:
    """Return Friedman's test; a perfect agreement of all contests has no finite statistic, nor has JSON."""
    values = {name: getattr(friedman, name) for name in ("chi_square", "p_value", "f_statistic", "f_p_value")}
    return values if math.isfinite(values["f_statistic"]) else values | {"f_statistic": None}


def print_comparison(facts: dict[str, Any]) -> None:
    """Print the numbers of each method, whether they differ, and which."""
    from minrisk.comparison.result import ABSENT, shown_metrics

    console, metric = new_console(), METRIC_NAMES[facts["metric"]]
    told = {name: facts[name] for name in ("data", "costs", "folds", "files") if facts[name]}
    told["folds"] = [f"{count} of {name}" for name, count in facts["folds"].items()]
    print_facts(console, "Compared", [(name, listed(values)) for name, values in told.items()])
    several = len(facts["data_sets"]) > 1
    shown = shown_metrics(facts["methods"], several)
    table = Lines("method", *(METRIC_NAMES[name] for name in shown), "mean rank")
    ranked = sorted(facts["methods"], key=lambda line: (line["mean_rank"] is None, line["mean_rank"] or 0.0))
    for line in ranked:
        cells = [ABSENT if line[name] is None else number(line[name]) for name in shown]
        rank = ABSENT if line["mean_rank"] is None else f"{line['mean_rank']:.2f}"
        table.add(line["method"], *cells, rank)
    over = f", means over {len(facts['data_sets'])} data sets" if several else ""
    print_section(console, f"Methods{over}, ranked by {metric}", table)
    console.print()
    console.print(as_text(facts["what_is_tested"], "dim"))
    _print_tests(console, facts, metric)


def _print_tests(console: Any, facts: dict[str, Any], metric: str) -> None:
    """Print Friedman's test, and a table of pairs."""
    friedman, lines = facts["friedman"], []
    if friedman is not None:
        by_f = "" if friedman["f_statistic"] is None else f"; F {friedman['f_statistic']:.3g}"
        chi = f"chi-square {friedman['chi_square']:.3g}, p {_p(friedman['p_value'])}"
        lines.append(("Friedman", f"{chi}{by_f}, p {_p(friedman['f_p_value'])} (Iman and Davenport)"))
    if (difference := facts["critical_difference"]) is not None:
        lines.append(("Nemenyi", f"critical difference of mean ranks {difference:.2f} at level {facts['alpha']:g}"))
    if lines:
        print_facts(console, f"Do methods differ in {metric}?", lines)
    pairs = facts["pairs"]
    if not pairs:
        return
    table = Lines("pair", "better : same : worse", "Wilcoxon p", "by Holm", "Nemenyi p")
    for test in pairs[:MOST_PAIRS]:
        p_values = (_p(test[name]) for name in ("p_value", "holm_p_value", "nemenyi_p_value"))
        won = f"{test['won']} : {test['tied']} : {test['lost']}"
        table.add(f"{test['first']} / {test['second']}", won, *p_values)
    more = f", the first {MOST_PAIRS} of {len(pairs)}" if len(pairs) > MOST_PAIRS else ""
    print_section(console, f"Pairs{more}", table)


def _p(value: float) -> str:
    """Return a probability: two digits, small ones with an exponent."""
    return f"{value:.2g}" if value < 0.095 else f"{value:.2f}"
