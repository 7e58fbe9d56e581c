"""What `minrisk compare` found, for machines and for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from minrisk._utils.method_names import METRIC_NAMES
from minrisk.cli.layout import as_text, listed, new_console, new_table, number, print_facts, print_section
from minrisk.comparison.result import ABSENT, shown_metrics

if TYPE_CHECKING:
    from minrisk.comparison import Comparison

MOST_PAIRS = 15  # lines of pairs that are shown to people; --json has all


def describe_comparison(
    found: Comparison, data: Sequence[str], costs: Sequence[str], metric: str, alpha: float
) -> dict[str, Any]:
    """All that was found but the single folds."""
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
        "friedman": None
        if friedman is None
        else {
            "chi_square": friedman.chi_square,
            "p_value": friedman.p_value,
            # a perfect agreement of all contests has no finite statistic, nor has JSON
            "f_statistic": friedman.f_statistic if math.isfinite(friedman.f_statistic) else None,
            "f_p_value": friedman.f_p_value,
        },
        "critical_difference": None if nemenyi is None else nemenyi.critical_difference,
        "pairs": []
        if nemenyi is None
        else [
            {**test._asdict(), "nemenyi_p_value": float(nemenyi.p_values[at[test.first], at[test.second]])}
            for test in found.wilcoxon(metric)
        ],
    }


def print_comparison(facts: dict[str, Any]) -> None:
    """The numbers of each method, whether they differ, and which."""
    console, metric = new_console(), METRIC_NAMES[facts["metric"]]
    folds = facts["folds"]
    print_facts(
        console,
        "Compared",
        [
            ("data", listed(facts["data"])),
            ("costs", listed(facts["costs"])),
            ("folds", listed([f"{count} of {name}" for name, count in folds.items()])),
            *([("files", listed(facts["files"]))] if facts["files"] else []),
        ],
    )
    several = len(facts["data_sets"]) > 1
    shown = shown_metrics(facts["methods"], several)
    table = new_table(("method", "left"), *((METRIC_NAMES[name], "right") for name in shown), ("mean rank", "right"))
    ranked = sorted(facts["methods"], key=lambda line: (line["mean_rank"] is None, line["mean_rank"] or 0.0))
    for line in ranked:
        cells = [ABSENT if line[name] is None else number(line[name]) for name in shown]
        rank = ABSENT if line["mean_rank"] is None else f"{line['mean_rank']:.2f}"
        table.add_row(as_text(line["method"]), *map(as_text, cells), as_text(rank))
    over = f", means over {len(facts['data_sets'])} data sets" if several else ""
    print_section(console, f"Methods{over}, ranked by {metric}", table)
    console.print()
    console.print(as_text(facts["what_is_tested"], "dim"))
    _print_tests(console, facts, metric)


def _print_tests(console: Any, facts: dict[str, Any], metric: str) -> None:
    """Friedman's test, and a table of pairs."""
    friedman = facts["friedman"]
    lines = []
    if friedman is not None:
        by_f = "" if friedman["f_statistic"] is None else f"; F {friedman['f_statistic']:.3g}"
        lines.append(
            (
                "Friedman",
                f"chi-square {friedman['chi_square']:.3g}, p {_p(friedman['p_value'])}{by_f}, "
                f"p {_p(friedman['f_p_value'])} (Iman and Davenport)",
            )
        )
    if facts["critical_difference"] is not None:
        lines.append(
            (
                "Nemenyi",
                f"critical difference of mean ranks {facts['critical_difference']:.2f} at level {facts['alpha']:g}",
            )
        )
    if lines:
        print_facts(console, f"Do methods differ in {metric}?", lines)
    pairs = facts["pairs"]
    if not pairs:
        return
    table = new_table(
        ("pair", "left"),
        ("better : same : worse", "right"),
        ("Wilcoxon p", "right"),
        ("by Holm", "right"),
        ("Nemenyi p", "right"),
    )
    for test in pairs[:MOST_PAIRS]:
        table.add_row(
            as_text(f"{test['first']} / {test['second']}"),
            as_text(f"{test['won']} : {test['tied']} : {test['lost']}"),
            *(as_text(_p(test[name])) for name in ("p_value", "holm_p_value", "nemenyi_p_value")),
        )
    more = f", the first {MOST_PAIRS} of {len(pairs)}" if len(pairs) > MOST_PAIRS else ""
    print_section(console, f"Pairs{more}", table)


def _p(value: float) -> str:
    """A probability: two digits, small ones with an exponent."""
    return f"{value:.2g}" if value < 0.095 else f"{value:.2f}"
