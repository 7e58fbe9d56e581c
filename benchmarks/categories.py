"""Columns of categories as such, or as codes: ours beside the peers that take categories, everybody with defaults.

Sets with words in their columns, of the comparison and of `benchmarks.compare.others` (which says what to install);
random 70/30 splits, one thread. A fit is a line of ``categories_fits.csv``, and a run goes on where the last one
stopped; the means over splits are in ``categories.csv``. Codes are in sorted order, the same for all. Where a method
has no say in what a missing category is (HistGradientBoosting, LightGBM, XGBoost: their own handling) nothing is
filled in, for CatBoost it is a word of its own. fars: 30 000 rows drawn, of classes with ten of them or more
(HistGradientBoosting fails on a class of one row). CatBoost is not run on fars and chess, where it takes minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.common import (
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

if TYPE_CHECKING:
    import pandas as pd

FITS = "categories_fits"
OWN = ("german", "car", "nursery", "chess")
SETS = ("breast", "lymphography", "automobile", "crx", "tic-tac-toe", "flare", "german", "car", "splice", "nursery",
        "fars", "chess")
LARGEST, FEWEST = 30_000, 10  # rows of a set that is drawn from, and of its classes
MEMBERS = {"minrisk": (False, True), "catboost": (True,), "lightgbm": (False, True), "histogram": (False, True),
           "xgboost": (False, True)}  # as categories?
PEERS = {"catboost": "catboost", "lightgbm": "lightgbm", "xgboost": "xgboost"}
SKIPPED = {("catboost", "fars"), ("catboost", "chess")}


def rows_of(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Features, and class codes."""
    frame, y = frame_of(name)[:2] if name in OWN else others.frame_of(name)
    frame.columns = [str(column) for column in frame.columns]
    if len(y) > LARGEST:
        drawn = np.sort(np.random.default_rng(0).permutation(len(y))[:LARGEST])
        drawn = drawn[np.bincount(y[drawn])[y[drawn]] >= FEWEST]
        frame, y = frame.iloc[drawn].reset_index(drop=True), np.unique(y[drawn], return_inverse=True)[1]
    return frame, y


def made(method: str, words: list[str], categories: bool) -> Any:
    """An estimator with defaults."""
    if method == "minrisk":
        from minrisk import MinRiskClassifier

        return MinRiskClassifier(random_state=0)
    told: dict[str, dict[str, Any]] = {
        "xgboost": {"enable_categorical": True}, "histogram": {"categorical_features": "from_dtype"},
        "catboost": {"cat_features": words, **({"iterations": 50} if is_quick() else {})},
    }  # fmt: skip
    return METHODS[method].make(0, 1, told.get(method, {}) if categories else {})


def shown(frame: pd.DataFrame, words: list[str], method: str, categories: bool) -> Any:
    """X as a method takes it."""
    if not categories:
        return coded(frame)
    if method == "catboost":
        return frame.assign(**{name: frame[name].astype(object).fillna("missing").astype(str) for name in words})
    return frame.astype(dict.fromkeys(words, "category"))


def fit(name: str, seed: int, method: str, categories: bool) -> dict[str, Any]:
    """Errors and log-loss of a fit on a split."""
    frame, y = rows_of(name)
    words = columns_of_words(frame)
    X = shown(frame, words, method, categories)
    training, test = halves(y, seed)
    model = made(method, words, categories)
    X_fit, X_test = (X[rows] if isinstance(X, np.ndarray) else X.iloc[rows] for rows in (training, test))
    spent = seconds(lambda: model.fit(X_fit, y[training]))
    p = np.asarray(model.predict_proba(X_test))
    return {
        "set": name, "split": seed, "method": method, "categories": int(categories), "rows": len(y),
        "words": len(words), "values": max(frame[word].nunique() for word in words),
        "classes": int(y.max()) + 1, "error": 100 * float(np.mean(p.argmax(axis=1) != y[test])),
        "log_loss": log_loss(y[test], p, labels=np.arange(y.max() + 1)), "seconds": spent,
    }  # fmt: skip


def asked(sets: list[str], methods: list[str], splits: int) -> Iterator[tuple[str, int, str, bool]]:
    for seed in range(splits):
        for name in sets:
            for method in methods:
                if (method, name) not in SKIPPED:
                    yield from ((name, seed, method, categories) for categories in MEMBERS[method])


def summary() -> list[dict[str, Any]]:
    """Means by set and method, and beneath them ours with categories as a share of each other one's."""
    cells: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in kept(FITS):
        cells.setdefault((row["set"], row["method"], row["categories"]), []).append(row)
    lines, ratios = [], {}
    for (name, method, categories), rows in cells.items():
        mean = {of: float(np.mean([float(row[of]) for row in rows])) for of in ("error", "log_loss", "seconds")}
        lines.append({"set": name, "method": method, "categories": categories, "splits": len(rows),
                      "words": rows[0]["words"], "values": rows[0]["values"], **mean})
        ratios[name, method, categories] = mean
    for method, categories in dict.fromkeys(key[1:] for key in ratios):
        shared = [name for name in SETS if {(name, method, categories), (name, "minrisk", "1")} <= set(ratios)]
        means = {}
        for of, added in (("error", 0.5), ("log_loss", 0.01), ("seconds", 0.0)):  # half a point: some have no errors
            logs = [np.log((ratios[name, "minrisk", "1"][of] + added) / (ratios[name, method, categories][of] + added))
                    for name in shared]
            means[of] = float(np.exp(np.mean(logs)))
        lines.append({"set": "ours with categories / this", "method": method, "categories": categories,
                      "splits": "", "words": len(shared), "values": "", **means})
    return lines


def main() -> None:
    options = parser(__doc__, "one split of some rows of german and car")
    options.add_argument("--sets", nargs="+", default=list(SETS))
    options.add_argument("--methods", nargs="+", default=list(MEMBERS))
    options.add_argument("--splits", type=int, default=3)
    options.add_argument("--summary", action="store_true", help="only the means of what is there")
    arguments = options.parse_args()
    if arguments.quick:
        arguments.sets, arguments.splits = arguments.sets if len(arguments.sets) < len(SETS) else ["german", "car"], 1
    present = there({name: PEERS[name] for name in arguments.methods if name in PEERS})
    arguments.methods = [name for name in arguments.methods if name not in PEERS or name in present]
    done = {(row["set"], int(row["split"]), row["method"], row["categories"] == "1") for row in kept(FITS)}
    for task in asked(arguments.sets, arguments.methods, 0 if arguments.summary else arguments.splits):
        if task not in done:
            row = fit(*task)
            keep(FITS, row)
            print(*task, f"{row['error']:.2f} %, {row['log_loss']:.3f}, {row['seconds']:.1f} s", flush=True)
    table = summary()
    if not table:
        sys.exit("There are no fits to sum up: nothing that was asked for is there.")
    save("categories", table)
    show(table)


if __name__ == "__main__":
    main()
