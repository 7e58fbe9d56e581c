"""Tables as users with unequal costs have them: rare classes, weak signals, copies, weights, amounts; with defaults.

``python -m benchmarks.rare`` fits every method to every table of the families in `benchmarks.rare_families`. Peers
decide by least expected cost under their probabilities, ours by its own `predict`. All have one thread, and seconds are
processor seconds of `fit`. A result is a line of a CSV file as soon as it is there, and what is there is not done
again, so that the same command goes on where it was cut short.

``--daily`` does the same on a few tables of moderate size with other seeds, for work on the defaults:

    python -m benchmarks.rare --daily --jobs 1 --methods minrisk --out new.csv --peers peers.csv --against old.csv

The methods are chosen by `--methods`. The peers' results may lie in another file, `--peers`, and the results of another
version of ours in `--against`: its cost is compared family by family, and table by table where it differs most.

Costs are divided after a small unit is added to both, that of two mistakes of the kind that is dearest on average;
log-losses after one over the number of tests. Ratios are geometric means over tables. Below 1 ours is better.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.common import columns_of_words, is_quick, keep, least_expected, lines_of, parser, results, there
from benchmarks.rare_families import FAMILIES, Maker, Wanted, daily_tables, tables
from benchmarks.rare_report import compared, report
from benchmarks.user_tables import Table

SEEDS = 20  # of a whole run
QUICK_TABLES = {
    "prevalence": ("5 %, 2000 rows, 2 classes",),
    "made_rare": ("car vgood",),
    "users": ("draw 0",),
    "amounts": ("german, known",),
}
SMALL = {"num_leaves": 4, "learning_rate": 0.05, "n_estimators": 100}
MOST_LEVELS = 250  # of a column, which scikit-learn's histograms allow
FOLDS = 3  # of a calibration
LEAST = 1e-12  # probability
FEWEST = 3  # rows of a class, to count in the AUC
COLUMNS = (
    "family",
    "table",
    "seed",
    "method",
    "rows",
    "tests",
    "classes",
    "rarest",
    "unit",
    "cost",
    "log_loss",
    "auc",
    "seconds",
    "rounds",
    "believed",
    "warnings",
    "problem",
)


# -- the methods -----------------------------------------------------------------------------------------------------
class Answer(NamedTuple):
    """What a method says about the rows to test on, and of itself; `decisions` are its own, if it has any."""

    probabilities: np.ndarray
    seconds: float
    decisions: np.ndarray | None = None
    rounds: Any = ""
    believed: Any = ""


def numbers_of(frame: pd.DataFrame, words: Iterable[Any]) -> pd.DataFrame:
    """Times become seconds, nullable columns and booleans plain numbers; columns of words stay."""
    made = frame.copy()
    for name in made.columns.difference(list(words), sort=False):
        dated = pd.api.types.is_datetime64_any_dtype(made[name])
        made[name] = made[name].astype("int64") / 1e9 if dated else made[name].astype(float)
    return made


def prepared(table: Table, most_levels: int | None = None) -> tuple[Any, Any, list[Any]]:
    """X, X of the tests, and the columns of categories, as LightGBM and others take them.

    Categories that no row to train on has, and those beyond the `most_levels` most frequent ones, are missing.
    """
    if not isinstance(table.X, pd.DataFrame):
        return table.X, table.X_test, []
    words = [name for name in columns_of_words(table.X) if not pd.api.types.is_datetime64_any_dtype(table.X[name])]
    X, X_test = numbers_of(table.X, words), numbers_of(table.X_test, words)
    for name in words:
        levels = X[name].value_counts().index[:most_levels].astype(object)
        for part in (X, X_test):
            part[name] = pd.Categorical.from_codes(levels.get_indexer(part[name].astype(object)), levels)
    return X, X_test, words


def weight_of(table: Table) -> np.ndarray | None:
    """Weights of rows and of classes, with a mean of 1."""
    if table.weight is None and not table.balanced:
        return None
    weight = np.ones(len(table.y)) if table.weight is None else table.weight / table.weight.mean()
    weight = weight * class_factors(table)[table.y]
    return np.asarray(weight / weight.mean())


def class_factors(table: Table) -> np.ndarray:
    """What rows of each class count if all classes are to count alike, else 1."""
    if not table.balanced:
        return np.ones(table.n_classes)
    total = np.bincount(table.y, table.weight)
    return np.asarray(total.sum() / (len(total) * total))


def timed(model: Any, X: Any, X_test: Any, table: Table, **named: Any) -> Answer:
    """The answer of a fit."""
    begun = time.process_time()
    model.fit(X, table.y, **named)
    seconds = time.process_time() - begun
    return Answer(np.asarray(model.predict_proba(X_test), dtype=float), seconds)


def constant(table: Table) -> Answer:
    """The frequencies of the classes, half a row of each added."""
    found = np.bincount(table.y, weight_of(table), table.n_classes) + 0.5
    return Answer(np.tile(found / found.sum(), (len(table.y_test), 1)), 0.0)


def lightgbm(table: Table, calibrated: bool = False, **parameters: Any) -> Answer:
    """Calibrated by sigmoids on folds if asked for, unless a class has too few rows for them."""
    from lightgbm import LGBMClassifier
    from sklearn.calibration import CalibratedClassifierCV

    X, X_test, _ = prepared(table)
    model: Any = LGBMClassifier(n_jobs=1, verbosity=-1, random_state=0, **parameters)
    if calibrated and np.bincount(table.y).min() >= FOLDS:
        model = CalibratedClassifierCV(model, method="sigmoid", cv=FOLDS)
    return timed(model, X, X_test, table, sample_weight=weight_of(table))


def catboost(table: Table) -> Answer:
    from catboost import CatBoostClassifier

    X, X_test, words = prepared(table)
    for part in (X, X_test) if words else ():
        part[words] = part[words].astype(object).fillna("missing").astype(str)
    model = CatBoostClassifier(
        iterations=300, random_seed=0, thread_count=1, verbose=False, allow_writing_files=False, cat_features=words
    )
    return timed(model, X, X_test, table, sample_weight=weight_of(table))


def histogram(table: Table) -> Answer:
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, X_test, _ = prepared(table, MOST_LEVELS)
    if sparse.issparse(X):
        X, X_test = X.toarray(), X_test.toarray()
    return timed(HistGradientBoostingClassifier(random_state=0), X, X_test, table, sample_weight=weight_of(table))


def logistic(table: Table) -> Answer:
    """Medians and indicators for missing values, standardised; a column for each category of two rows or more."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    X, X_test, words = prepared(table)
    regression = LogisticRegression(max_iter=200)
    filled = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    if sparse.issparse(X):
        steps: Any = StandardScaler(with_mean=False)
    elif words:
        for part in (X, X_test):
            part[words] = part[words].astype(object).fillna("missing").astype(str)
        numbers = [name for name in X.columns if name not in words]
        encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2, max_categories=200)
        scaled = make_pipeline(filled, StandardScaler())
        steps = ColumnTransformer([("numbers", scaled, numbers), ("words", encoder, words)])
    else:
        steps = make_pipeline(filled, StandardScaler())
    return timed(make_pipeline(steps, regression), X, X_test, table, logisticregression__sample_weight=weight_of(table))


def minrisk(table: Table, random_state: int = 0) -> Answer:
    """Decides by `predict`, where need be by known costs of the rows or by costs that undo the repetition of rows."""
    from minrisk import MinRiskClassifier

    by_row = table.row_cost is not None
    model = MinRiskClassifier(
        None if by_row else table.cost,
        class_weight="balanced" if table.balanced else None,
        random_state=random_state,
        n_jobs=1,
    )
    named = {"sample_weight": table.weight} | ({"cost": table.row_cost} if by_row else {})
    answer = timed(model, table.X, table.X_test, table, **named)
    cost = None
    if table.known:
        cost = table.full_cost
    elif table.shares is not None:
        cost = table.cost * correction(table)[:, None]
    place = {str(decision): number for number, decision in enumerate(model.decisions_)}
    decisions = np.array([place[str(decision)] for decision in model.predict(table.X_test, cost=cost)])
    believed = max(tried["pooled_risk"] for tried in model.selection_ if tried["share"] > 0) if table.alike else ""
    return answer._replace(decisions=decisions, rounds=model.n_iter_, believed=believed)


METHODS: dict[str, Callable[[Table], Answer]] = {
    "minrisk": minrisk,
    "minrisk 1": partial(minrisk, random_state=1),
    "constant": constant,
    "lightgbm": lightgbm,
    "lightgbm small": partial(lightgbm, **SMALL),
    "lightgbm calibrated": partial(lightgbm, calibrated=True),
    "lightgbm small calibrated": partial(lightgbm, calibrated=True, **SMALL),
    "catboost": catboost,
    "histogram": histogram,
    "logistic": logistic,
}
PACKAGES = {
    "lightgbm": "lightgbm",
    "lightgbm small": "lightgbm",
    "lightgbm calibrated": "lightgbm",
    "lightgbm small calibrated": "lightgbm",
    "catboost": "catboost",
}


# -- judging ---------------------------------------------------------------------------------------------------------
def correction(table: Table) -> np.ndarray:
    """What the probabilities of each class are multiplied by because rows were repeated."""
    assert table.shares is not None
    return np.asarray(table.shares / (np.bincount(table.y) / len(table.y)))


def judging_costs(table: Table) -> np.ndarray:
    """(tests, K, D), avoidable: the least that a row costs is taken off."""
    full = table.full_cost
    if full is None:
        full = np.broadcast_to(table.cost, (len(table.y_test), *table.cost.shape))
    return np.asarray(full - full.min(axis=2, keepdims=True))


def unit_of(table: Table) -> float:
    """Two mistakes of the dearest kind, among all tests: what a difference of costs should be larger than."""
    return 2 * float(table.cost.max()) / len(table.y_test)


def macro_auc(y: np.ndarray, p: np.ndarray) -> float:
    """Mean over classes of the AUC of one against the rest; classes of very few rows have none."""
    from sklearn.metrics import roc_auc_score

    counts = np.bincount(y, minlength=p.shape[1])
    found = [roc_auc_score(y == k, p[:, k]) for k in range(p.shape[1]) if FEWEST <= counts[k] < len(y)]
    return float(np.mean(found)) if found else float("nan")


def judged(answer: Answer, table: Table) -> dict[str, Any]:
    """Mean cost, log-loss and AUC on the rows to test on."""
    p = np.maximum(answer.probabilities, LEAST)
    if not np.isfinite(p).all():
        raise ValueError("probabilities are not finite.")
    if table.shares is not None:
        p = p * correction(table)
    p = p / p.sum(axis=1, keepdims=True)
    tests, y = np.arange(len(p)), table.y_test
    full = judging_costs(table)
    decisions = answer.decisions
    if decisions is None:
        expected = np.einsum("nk,nkd->nd", p, table.full_cost) if table.known else None
        decisions = least_expected(p, table.cost) if expected is None else expected.argmin(axis=1)
    weight = class_factors(table)[y] * (1.0 if table.weight_test is None else table.weight_test)
    return {
        "cost": float(np.average(full[tests, y, decisions], weights=weight)),
        "log_loss": float(np.average(-np.log(p[tests, y]), weights=weight)),
        "auc": macro_auc(y, p),
        "seconds": answer.seconds,
        "rounds": answer.rounds,
        "believed": answer.believed,
    }


def line_of(method: str, table: Table) -> dict[str, Any]:
    """One method on one table; what it warns of and what stops it are part of the result."""
    with warnings.catch_warnings(record=True) as warned, threadpool_limits(1):
        warnings.simplefilter("always")
        try:
            found = judged(METHODS[method](table), table)
        except Exception as problem:
            found = {"problem": f"{type(problem).__name__}: {problem}"[:200].replace("\n", " ")}
    return {**found, "warnings": " ".join(sorted({warning.category.__name__ for warning in warned}))}


# -- the work --------------------------------------------------------------------------------------------------------
class Task(NamedTuple):
    """A table and the methods that it still lacks."""

    family: str
    name: str
    seed: int
    methods: list[str]


def done(task: Task, maker: Maker, most_rows: float) -> list[dict[str, Any]]:
    """The lines of all its methods; none if it has more rows."""
    table = maker(task.seed)
    if len(table.y) > most_rows:
        return []
    facts = {
        "family": task.family,
        "table": task.name,
        "seed": task.seed,
        "rows": len(table.y),
        "tests": len(table.y_test),
        "classes": table.n_classes,
        "rarest": np.bincount(table.y).min() / len(table.y),
        "unit": unit_of(table),
    }
    return [{**facts, "method": method, **line_of(method, table)} for method in task.methods]


def done_elsewhere(task: Task, most_rows: float) -> list[dict[str, Any]]:
    """`done`, in another process, which finds the table by its name."""
    return done(task, dict(FAMILIES[task.family]())[task.name], most_rows)


def waiting(wanted: Iterable[Wanted], methods: list[str], out: Path) -> Iterator[tuple[Task, Maker]]:
    """What no line of the file is about."""
    there_ = {(line["family"], line["table"], line["seed"], line["method"]) for line in lines_of(out)}
    for family, name, seed, maker in wanted:
        missing = [method for method in methods if (family, name, str(seed), method) not in there_]
        if missing:
            yield Task(family, name, seed, missing), maker


def work(wanted: Iterable[Wanted], methods: list[str], out: Path, jobs: int, most_rows: float) -> None:
    """Each table with the methods that it lacks; lines go to the file as they come."""
    tasks = list(waiting(wanted, methods, out))
    if jobs == 1:
        warm_up(methods)
        for task, maker in tasks:
            written(done(task, maker, most_rows), out)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), warm_up, (methods,)) as pool:
        for future in as_completed([pool.submit(done_elsewhere, task, most_rows) for task, _ in tasks]):
            written(future.result(), out)


def warm_up(methods: Iterable[str]) -> None:
    """Ours compiles, and its kernels are read, before it is timed."""
    if any(method.startswith("minrisk") for method in methods):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 4))
        for n_classes in (2, 3):
            minrisk(Table(X, labels_of(X, n_classes), X, labels_of(X, n_classes), 1 - np.eye(n_classes)))


def labels_of(X: np.ndarray, n_classes: int) -> np.ndarray:
    return np.asarray(np.digitize(X[:, 0], np.linspace(-1, 1, n_classes + 1)[1:-1]))


def written(lines: Iterable[dict[str, Any]], out: Path) -> None:
    for line in lines:
        keep(str(out.with_suffix("")), line, columns=COLUMNS)
        figures = line.get("problem") or (
            f"cost {line['cost']:.4g}, log-loss {line['log_loss']:.4f}, AUC {line['auc']:.3f}, {line['seconds']:.1f} s"
        )
        print(
            f"{time.strftime('%H:%M:%S')} {line['family']}: {line['table']}, seed {line['seed']}, {line['method']}: "
            f"{figures} {line['warnings']}",
            flush=True,
        )


def csv_file(name: str) -> Path:
    path = Path(name).resolve()
    if path.suffix != ".csv":
        raise argparse.ArgumentTypeError(f"expected the name of a file that ends in .csv, got {name}: add .csv.")
    return path


def main() -> None:
    options = parser(__doc__, "small tables of four families")
    options.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    options.add_argument("--seeds", type=int, help=f"of each table; default: {SEEDS}, daily 1")
    options.add_argument("--most-rows", type=int, default=float("inf"), help="leave larger tables out")
    options.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    options.add_argument("--daily", action="store_true", help="a few tables of moderate size")
    options.add_argument("--out", type=csv_file, help="file of the results; default: rare.csv, daily rare_daily.csv")
    options.add_argument("--peers", type=csv_file, help="file with results of other methods on the same tables")
    options.add_argument("--against", type=csv_file, help="file with results of another version of ours")
    options.add_argument("--report", action="store_true", help="only sum up what is there")
    arguments = options.parse_args()
    out = arguments.out or (results() / ("rare_daily.csv" if arguments.daily else "rare.csv")).resolve()
    if not arguments.report:
        absent = set(PACKAGES) - set(there(PACKAGES))
        methods = [method for method in arguments.methods if method not in absent]
        if is_quick():
            wanted: Iterable[Wanted] = quick_tables(arguments.families)
        elif arguments.daily:
            wanted = daily_tables(arguments.families, range(arguments.seeds or 1))
        else:
            wanted = tables(arguments.families, range(arguments.seeds or SEEDS))
        work(wanted, methods, out, arguments.jobs, arguments.most_rows)
    lines = [line for line in lines_of(out) if line["family"] in arguments.families]
    if arguments.peers:
        lines += [line for line in lines_of(arguments.peers) if not line["method"].startswith("minrisk")]
    report(lines, None if arguments.daily else out.with_suffix(".md"))
    if arguments.against:
        compared(lines, lines_of(arguments.against))


def quick_tables(families: Iterable[str]) -> Iterator[Wanted]:
    """A table of each of a few families, small or made small."""
    for family, names in QUICK_TABLES.items():
        makers = dict(FAMILIES[family]())
        for name in names if family in families else ():
            yield family, name, 0, makers[name]


if __name__ == "__main__":
    main()
