"""minrisk compare: methods compared on tables, by what their decisions cost."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pandas as pd

import minrisk
from minrisk._utils.method_names import DEFAULT_METHODS, ESTIMATORS, METRIC_NAMES
from minrisk._utils.text import first_of
from minrisk.cli import options
from minrisk.cli.common import label_source, make_folder, quoted, save_picture, target_needed
from minrisk.cli.costs import check_cost_columns, check_known, stated_costs
from minrisk.cli.printing import Lines, Terminal, as_text, number
from minrisk.cli.streams import note, tell
from minrisk.cli.training import Roles, costs_of, svmlight_data, training_data
from minrisk.costs.labels import no_classes
from minrisk.costs.reading import CostsPerRow
from minrisk.data.frames import CATEGORICAL, Frame
from minrisk.io.atomic import write_beside
from minrisk.tables.svmlight import is_svmlight
from minrisk.tables.text import Dialect

if TYPE_CHECKING:
    from minrisk.comparison import Comparison
    from minrisk.comparison.methods import ComparedMethod

RESULT_FILES = ("folds.csv", "table.md", "table.tex")  # in --out, beside the folder of finished folds
PICTURE_FORMATS = (".png", ".pdf", ".svg")
MOST_PAIRS = 15  # lines of pairs of methods
COMPARED_BY_DEFAULT = ",".join(DEFAULT_METHODS)


def _names(context: click.Context, option: click.Parameter, value: str) -> list[str]:
    names = [name.strip() for name in value.split(",")]
    if not all(names):
        raise click.BadParameter(f"must be names between commas, as {COMPARED_BY_DEFAULT}; got {value!r}")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise click.BadParameter(f"names {twice!r} twice")
    return names


@options.command()
@options.data
@click.option(
    "--target",
    multiple=True,
    type=options.COLUMN,
    help="The column that holds the class; given several times, of each table in order. Files of svmlight's "
    "format need none.",
)
@options.costs("Given several times, of each table in order. Default: uniform.", multiple=True)
@options.costs_known
@click.option(
    "--methods",
    default=COMPARED_BY_DEFAULT,
    metavar="NAMES",
    callback=_names,
    help=f"What is compared, between commas: {', '.join(ESTIMATORS)}; blind:NAME, one of these trained "
    "without the costs; or a class of another package as sklearn.ensemble.RandomForestClassifier, for "
    "which categories are one-hot encoded. All with their defaults.",
)
@click.option("--cv", type=click.IntRange(2), default=5, help="Folds, drawn by class from shuffled rows.")
@click.option("--repeats", type=click.IntRange(1), default=1, help="How often folds are drawn.")
@click.option("--metric", type=click.Choice([*METRIC_NAMES]), default="cost", help="What ranks and tests are about.")
@click.option(
    "--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, help="Level of Nemenyi's test."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Keep finished folds there, so that the same command goes on where it was stopped, and write "
    f"{', '.join(RESULT_FILES)}.",
)
@click.option(
    "--plot",
    type=options.NEW_FILE,
    help="Draw mean ranks and the critical difference: .png, .pdf or .svg. Needs matplotlib.",
)
@options.drop
@options.categorical
@options.dialect
@options.seed
@options.n_jobs("Fits side by side, -1 for as many as there are cores; results but for times do not depend on it.")
@click.option("--threads", type=click.IntRange(1), default=1, help="Of each fit, for all methods.")
@click.option("--keep-going", is_flag=True, help="Go on where a method fails; it has then no part in ranks and tests.")
@options.json("tables")
def compare(
    data: tuple[Path, ...],
    target: tuple[str, ...],
    costs: tuple[str, ...],
    costs_known: bool,
    methods: list[str],
    cv: int,
    repeats: int,
    metric: str,
    alpha: float,
    out: Path | None,
    plot: Path | None,
    drop: tuple[str, ...],
    categorical: tuple[str, ...],
    stated: Dialect,
    seed: int,
    n_jobs: int,
    threads: int,
    keep_going: bool,
    as_json: bool,
) -> None:
    """Compare METHODS on each table DATA, by cross-validation.

    Methods that take costs are trained on them. Others are trained for accuracy, and those with probabilities count
    twice: as they decide, and with " + costs" by the least expected cost. Tests compare the methods on several tables,
    or on the folds of one. DATA may be - for standard input.
    """
    if not target and not all(map(is_svmlight, data)):
        raise target_needed()
    targets, each_costs = _each(target or (None,), data, "--target"), _each(costs or (None,), data, "--costs")
    if out is not None:
        make_folder(out, RESULT_FILES, *data, *costs)
    if plot is not None and plot.suffix.lower() not in PICTURE_FORMATS:
        raise click.ClickException(f"--plot must end in {' or '.join(PICTURE_FORMATS)}, got {plot}.")
    if plot is not None and find_spec("matplotlib") is None:
        raise click.ClickException("--plot needs matplotlib, which is not installed: pip install 'minrisk[plots]'.")
    from minrisk.comparison.methods import MethodError, compared_methods

    try:
        chosen = compared_methods(methods)  # before any work
    except (TypeError, ValueError) as error:
        raise click.ClickException(f"--methods: {error}") from None
    sets, about_columns = {}, {"target": target, "drop": drop, "categorical": categorical}
    for name, path, column, given in zip(_data_names(data), data, targets, each_costs, strict=True):
        cost = stated_costs(given, stated)
        if costs_known:
            check_known(cost)
        if is_svmlight(path):  # of several sets, some may have a target and columns
            check_cost_columns(cost.columns, (), path)
            rows, column = svmlight_data([path], **(about_columns if len(data) == 1 else {})), ""
        else:
            roles = Roles(column, drop, categorical, cost_columns=cost.columns, costs_known=costs_known)
            rows = training_data(path, roles, stated)
            rows = rows._replace(X=_for_all_methods(rows.X, categorical))
        sets[name] = (rows.X, rows.y, costs_of(cost, rows, label_source(column), costs_known))

    from sklearn.model_selection import RepeatedStratifiedKFold

    folds: Any = cv if repeats == 1 else RepeatedStratifiedKFold(n_splits=cv, n_repeats=repeats, random_state=seed)
    encoded = _with_encoding(chosen, [X for X, _, _ in sets.values()])
    try:
        found = minrisk.compare(
            sets,
            methods=encoded,
            cv=folds,
            n_jobs=n_jobs,
            threads=threads,
            folder=out,
            random_state=seed,
            on_error="skip" if keep_going else "raise",
            verbose=int(sys.stderr.isatty()),
        )
    except MethodError as error:
        kept = "" if out is None else f" Finished folds are kept in {out}."
        what = str(error).rstrip(".")
        raise click.ClickException(f"{what}; leave the method out, or go on by --keep-going.{kept}") from None
    for failure in found.failures:
        note(f"{failure['method']} failed on {failure['data_set']!r}, fold {failure['fold']}: {failure['error']}")
    _tell_referrals([cost for *_, cost in sets.values()])
    means = {row["method"] for row in found.records if row.get("costs") == "class means"}
    tell_means = [name for name in found.methods if name in means]
    if tell_means:
        note(f"{quoted(tell_means)} had the mean costs of each class over the training rows in place of those of rows")
    facts = describe_comparison(found, [str(path) for path in data], list(costs) or ["uniform"], metric, alpha)
    facts["files"] = [str(path) for path in _write(found, metric, alpha, out, plot)]
    tell(facts, as_json, print_comparison)


def _tell_referrals(stated: Sequence[Any]) -> None:
    """Say that decisions that are no class are errors here, where there may be some."""
    pairs = [
        (cost.columns if isinstance(cost, CostsPerRow) else cost.decisions, cost.classes)
        for cost in stated
        if cost is not None
    ]
    names = {str(decisions[j]) for decisions, classes in pairs for j in no_classes(decisions, classes)}
    if names:
        note(f"the error also counts decisions that are no class, here {quoted(sorted(names))}")


def _for_all_methods(X: pd.DataFrame, categorical: Sequence[str]) -> pd.DataFrame:
    """Return numbers and categories only, as minrisk sees the columns, for methods that take nothing else."""
    X = X.astype(dict.fromkeys(categorical, "category"))
    frame = Frame.of(X)
    assert frame is not None
    for column in frame.columns:
        if column.role is None:
            raise column.of_no_use()
    return X.assign(**{column.name: column.numbers() for column in frame.columns if column.role != CATEGORICAL})


def _with_encoding(chosen: Sequence[ComparedMethod], tables: Sequence[pd.DataFrame | Any]) -> dict[str, Any]:
    """Return methods by name; those of other packages with a one-hot encoding, where tables have categories."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    from minrisk.comparison.methods import BlindToCosts

    words = make_column_selector(dtype_include="category")
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoding = make_column_transformer((encoder, words), remainder="passthrough")
    encoded, found = any(words(table) for table in tables if hasattr(table, "dtypes")), {}
    for method in chosen:
        own = not encoded or type(method.source).__module__.startswith("minrisk.")
        source = method.source if own else make_pipeline(encoding, method.source)
        found[method.name] = BlindToCosts(source) if method.blind else source
    return found


def _each(given: Sequence[Any], data: Sequence[Path], option: str) -> list[Any]:
    """Return one for each table: as many as these, or one for all."""
    if len(given) not in (1, len(data)):
        raise click.ClickException(
            f"{option} must be given once, or once for each of the {len(data)} tables, got {len(given)} times."
        )
    return list(given) * (len(data) if len(given) == 1 else 1)


def _data_names(data: Sequence[Path]) -> list[str]:
    """Return names of files without their endings; whole paths where these are the same."""
    stems = ["standard input" if str(path) == "-" else path.name.split(".")[0] or path.name for path in data]
    names = [str(path) if stems.count(stem) > 1 else stem for stem, path in zip(stems, data, strict=True)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise click.ClickException(f"the table {twice} is given twice: give it once.")
    return names


def _write(found: Comparison, metric: str, alpha: float, out: Path | None, plot: Path | None) -> list[Path]:
    """Write what --out and --plot ask for; returns the files."""
    files = []
    if out is not None:
        texts = {
            "folds.csv": found.rows.to_csv(index=False, lineterminator="\n"),
            "table.md": f"{found.to_markdown()}\n\n{found.to_markdown(metric)}\n\n{found.what_is_tested(metric)}\n",
            "table.tex": f"{found.to_latex()}\n\n{found.to_latex(metric)}\n",
        }
        for name in RESULT_FILES:
            with write_beside(out / name) as beside:
                beside.write_text(texts[name], encoding="utf-8")
            files.append(out / name)
    if plot is not None and len(found.contests(metric).methods) < 2:
        note("no picture, because there are not two methods to compare")
    elif plot is not None:
        save_picture(lambda: found.plot(metric, alpha), plot, format=plot.suffix[1:].lower())
        files.append(plot)
    return files


# -- what is told ------------------------------------------------------------------------------------------------------
def describe_comparison(
    found: Comparison, data: Sequence[str], costs: Sequence[str], metric: str, alpha: float
) -> dict[str, Any]:
    """Return all that was found but the single folds."""
    contests, methods, *_ = found.contests(metric)
    friedman = found.friedman(metric) if len(methods) > 2 and len(contests) > 1 else None
    ranks, difference, pairs = dict[str, float](), None, list[dict[str, Any]]()
    if len(methods) > 1:
        nemenyi = found.nemenyi(metric, alpha)
        ranks, difference = dict(zip(methods, nemenyi.mean_ranks.tolist(), strict=True)), nemenyi.critical_difference
        for test in found.wilcoxon(metric):
            p_value = nemenyi.p_values[methods.index(test.first), methods.index(test.second)]
            pairs.append({**test._asdict(), "nemenyi_p_value": float(p_value)})
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
        "critical_difference": difference,
        "pairs": pairs,
    }


def _finite(friedman: Any) -> dict[str, Any]:
    """Return Friedman's test; a perfect agreement of all contests has no finite statistic, nor has JSON."""
    values = {name: getattr(friedman, name) for name in ("chi_square", "p_value", "f_statistic", "f_p_value")}
    return values if math.isfinite(values["f_statistic"]) else values | {"f_statistic": None}


def print_comparison(facts: dict[str, Any]) -> None:
    """Print the numbers of each method, whether they differ, and which."""
    from minrisk.comparison.result import ABSENT, shown_metrics

    console, metric = Terminal(), METRIC_NAMES[facts["metric"]]
    told = {name: facts[name] for name in ("data", "costs", "folds", "files") if facts[name]}
    told["folds"] = [f"{count} of {name}" for name, count in facts["folds"].items()]
    console.facts("Compared", [(name, first_of(map(str, values))) for name, values in told.items()])
    several = len(facts["data_sets"]) > 1
    shown = shown_metrics(facts["methods"], several)
    table = Lines("method", *(METRIC_NAMES[name] for name in shown), "mean rank")
    ranked = sorted(facts["methods"], key=lambda line: (line["mean_rank"] is None, line["mean_rank"] or 0.0))
    for line in ranked:
        cells = [ABSENT if line[name] is None else number(line[name]) for name in shown]
        rank = ABSENT if line["mean_rank"] is None else f"{line['mean_rank']:.2f}"
        table.add(line["method"], *cells, rank)
    over = f", means over {len(facts['data_sets'])} data sets" if several else ""
    console.section(f"Methods{over}, ranked by {metric}", table)
    console.print()
    console.print(as_text(facts["what_is_tested"], "dim"))
    _print_tests(console, facts, metric)


def _print_tests(console: Terminal, facts: dict[str, Any], metric: str) -> None:
    """Print Friedman's test, and a table of pairs."""
    friedman, lines = facts["friedman"], []
    if friedman is not None:
        by_f = "" if friedman["f_statistic"] is None else f"; F {friedman['f_statistic']:.3g}"
        chi = f"chi-square {friedman['chi_square']:.3g}, p {_p(friedman['p_value'])}"
        lines.append(("Friedman", f"{chi}{by_f}, p {_p(friedman['f_p_value'])} (Iman and Davenport)"))
    if (difference := facts["critical_difference"]) is not None:
        lines.append(("Nemenyi", f"critical difference of mean ranks {difference:.2f} at level {facts['alpha']:g}"))
    if lines:
        console.facts(f"Do methods differ in {metric}?", lines)
    pairs = facts["pairs"]
    if not pairs:
        return
    table = Lines("pair", "better : same : worse", "Wilcoxon p", "by Holm", "Nemenyi p")
    for test in pairs[:MOST_PAIRS]:
        p_values = (_p(test[name]) for name in ("p_value", "holm_p_value", "nemenyi_p_value"))
        won = f"{test['won']} : {test['tied']} : {test['lost']}"
        table.add(f"{test['first']} / {test['second']}", won, *p_values)
    more = f", the first {MOST_PAIRS} of {len(pairs)}" if len(pairs) > MOST_PAIRS else ""
    console.section(f"Pairs{more}", table)


def _p(value: float) -> str:
    """Return a probability: two digits, small ones with an exponent."""
    return f"{value:.2g}" if value < 0.095 else f"{value:.2f}"
