"""Columns of categories, handed over as they come: ours beside the peers that take categories, everybody with defaults.

Sets with text in their columns: of the comparison, of `benchmarks.compare.others` (which says what to install), and
kddcup99; random 70/30 splits, ten of sets below 2000 rows and three of others, one thread. Ours takes the frame as it
is; the peers take their own categories ("category", CatBoost `cat_features`). Where a method has no say in what a
missing category is (HistGradientBoosting, LightGBM, XGBoost: their own handling) nothing is filled in, for CatBoost it
is a word of its own. `--columns` asks for other forms: "codes" are numbers in sorted order, the same for all, "ordered"
is pandas's ordered categories in sorted order. Costs, standard errors and shares: see `benchmarks.cost_ratios`.

fars: 30 000 rows drawn, of classes with ten of them or more (HistGradientBoosting fails on a class of one row).
kddcup99: as many of the distinct rows of the official training part, so that no row is both trained and judged on; of
its rarest class, U2R, five are drawn, so it is not among them, and of the contest's costs the four other classes' are
used. CatBoost is not run on fars and chess, and on one split of other large sets, where it takes minutes.

A fit is a line of ``categories_fits.csv``, and a run goes on where the last one stopped; means over splits are in
``categories.csv``, ours as a share of the others' in ``categories_shares.csv``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.common import (
    DATA,
    coded,
    columns_of_words,
    frame_of,
    is_quick,
    keep,
    kept,
    parser,
    save,
    seconds,
    show,
    there,
)
from benchmarks.compare import others
from benchmarks.compare.data import halves
from benchmarks.compare.methods import METHODS
from benchmarks.cost_ratios import by_split, judged, means, shares, tables

if TYPE_CHECKING:
    import pandas as pd

FITS = "categories_fits"
OWN = ("german", "car", "nursery", "chess", "kddcup99")
SETS = (
    "breast",
    "lymphography",
    "automobile",
    "crx",
    "tic-tac-toe",
    "flare",
    "german",
    "car",
    "splice",
    "nursery",
    "fars",
    "chess",
    "kddcup99",
)
LARGEST, FEWEST = 30_000, 10  # rows of a set that is drawn from, and of its classes
SMALL, SPLITS, SPLITS_OF_LARGE = 2000, 10, 3  # sets of fewer rows have more splits
NATIVE = ("text", "category")
FORMS = {
    "minrisk": ("text", "codes", "ordered"),
    "lightgbm": ("category", "codes"),
    "histogram": ("category", "codes"),
    "xgboost": ("category", "codes"),
    "catboost": ("category",),
}
PEERS = {"catboost": "catboost", "lightgbm": "lightgbm", "xgboost": "xgboost"}
BEST_OF = ("lightgbm category", "catboost category", "histogram category")
SPLITS_OF = {
    ("catboost", "fars"): 0,
    ("catboost", "chess"): 0,
    ("catboost", "kddcup99"): 1,
    ("catboost", "nursery"): 1,
    ("catboost", "splice"): 1,
}


class Table(NamedTuple):
    """Features as they come, class codes, and the labels that these stand for."""

    frame: pd.DataFrame
    y: np.ndarray
    classes: list[str]


@cache
def rows_of(name: str) -> Table:
    if name in OWN:
        frame, y, training = frame_of(name)
        if name == "kddcup99":
            chosen = np.flatnonzero(~frame.assign(target=y).duplicated().to_numpy() & training)
            frame, y = frame.iloc[chosen].reset_index(drop=True), y[chosen]
    else:
        frame, y = others.frame_of(name)
    frame.columns = [str(column) for column in frame.columns]
    classes = labels_of(name, int(y.max()) + 1)
    if len(y) > LARGEST:
        drawn = np.sort(np.random.default_rng(0).permutation(len(y))[:LARGEST])
        drawn = drawn[np.bincount(y[drawn])[y[drawn]] >= FEWEST]
        present, y = np.unique(y[drawn], return_inverse=True)
        frame, classes = frame.iloc[drawn].reset_index(drop=True), [classes[code] for code in present]
    return Table(frame, y, classes)


def labels_of(name: str, n_classes: int) -> list[str]:
    """Labels in order of the codes, where the set has costs that go by them; else the codes."""
    import pandas as pd

    own = DATA / f"{name}.cost.csv"
    return sorted(pd.read_csv(own, index_col=0).columns) if own.is_file() else [str(k) for k in range(n_classes)]


def made(method: str, words: list[str], form: str) -> Any:
    """An estimator with defaults."""
    if method == "minrisk":
        from minrisk import MinRiskClassifier

        return MinRiskClassifier(random_state=0, n_jobs=1)
    told: dict[str, dict[str, Any]] = {
        "xgboost": {"enable_categorical": True},
        "histogram": {"categorical_features": "from_dtype"},
        "catboost": {"cat_features": words, **({"iterations": 50} if is_quick() else {})},
    }
    return METHODS[method].make(0, 1, told.get(method, {}) if form == "category" else {})


def shown(frame: pd.DataFrame, words: list[str], method: str, form: str) -> Any:
    """X as a method takes it."""
    import pandas as pd

    if form == "codes":
        return coded(frame)
    if form == "text":
        return frame
    if form == "ordered":
        return frame.assign(
            **{name: pd.Categorical(frame[name], sorted(frame[name].dropna().unique()), ordered=True) for name in words}
        )
    if method == "catboost":
        return frame.assign(**{name: frame[name].astype(object).fillna("missing").astype(str) for name in words})
    return frame.astype(dict.fromkeys(words, "category"))


def fit(name: str, seed: int, method: str, form: str) -> dict[str, Any]:
    """Error, log-loss and cost of a fit on a split."""
    frame, y, classes = rows_of(name)
    words = columns_of_words(frame)
    X = shown(frame, words, method, form)
    training, test = halves(y, seed)
    model = made(method, words, form)
    X_fit, X_test = (X[rows] if isinstance(X, np.ndarray) else X.iloc[rows] for rows in (training, test))
    with threadpool_limits(1):
        spent = seconds(lambda: model.fit(X_fit, y[training]))
        p = np.asarray(model.predict_proba(X_test))
    return {
        "set": name,
        "split": seed,
        "method": method,
        "columns": form,
        "rows": len(y),
        "tested": len(test),
        "words": len(words),
        "values": max((frame[word].nunique() for word in words), default=0),
        "classes": len(classes),
        **judged(p, y[test], tables(name, classes, seed)),
        "seconds": spent,
    }


def asked(sets: list[str], methods: list[str], forms: list[str], splits: int) -> Iterator[tuple[str, int, str, str]]:
    """Splits outermost: what is there at any time is of all sets and methods."""
    for seed in range(splits):
        for name in sets:
            if seed >= SPLITS_OF_LARGE and len(rows_of(name).y) >= SMALL:
                continue
            for method in methods:
                if seed < SPLITS_OF.get((method, name), SPLITS):
                    yield from ((name, seed, method, form) for form in FORMS[method] if form in forms)


def summary() -> list[dict[str, Any]]:
    """Means, which are kept, and shares."""
    rows = [{**row, "method": f"{row['method']} {row['columns']}"} for row in kept(FITS)]
    rank = {name: place for place, name in enumerate(SETS)}
    fits = by_split(sorted(rows, key=lambda row: rank[row["set"]]))
    if not fits:
        sys.exit("There are no fits to sum up: nothing that was asked for is there.")
    save("categories", means(fits))
    show(means(fits))
    peers = sorted({method for _, method in fits if method != "minrisk text"})
    return shares(fits, "minrisk text", peers, BEST_OF)


def main() -> None:
    options = parser(__doc__, "one split of some rows of german and car")
    options.add_argument("--sets", nargs="+", default=list(SETS))
    options.add_argument("--methods", nargs="+", default=list(FORMS))
    options.add_argument("--columns", nargs="+", default=list(NATIVE), choices=(*NATIVE, "codes", "ordered"))
    options.add_argument("--splits", type=int, default=SPLITS, help="at most so many of a set")
    options.add_argument("--summary", action="store_true", help="only the means of what is there")
    arguments = options.parse_args()
    if arguments.quick:
        arguments.sets, arguments.splits = arguments.sets if len(arguments.sets) < len(SETS) else ["german", "car"], 1
    present = there({name: PEERS[name] for name in arguments.methods if name in PEERS})
    arguments.methods = [name for name in arguments.methods if name not in PEERS or name in present]
    done = {(row["set"], int(row["split"]), row["method"], row["columns"]) for row in kept(FITS)}
    for task in asked(
        arguments.sets, arguments.methods, arguments.columns, 0 if arguments.summary else arguments.splits
    ):
        if task not in done:
            row = fit(*task)
            keep(FITS, row)
            print(
                *task,
                f"{row['error']:.2f} %, {row['log_loss']:.3f}, {row['cost']:.4f}, {row['seconds']:.1f} s",
                flush=True,
            )
    table = summary()
    if table:
        save("categories_shares", table)
        show(table)


if __name__ == "__main__":
    main()
