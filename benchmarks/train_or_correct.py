"""Train on the costs, or train with 0/1 costs and apply them to the probabilities? By kind of cost, on real data.

Default settings; random 70/30 splits. Besides the kinds of `common.COSTS`: ``refer`` may decline a decision at 0.2 of
the price of a mistake; ``dear class`` makes missing the rarest class ten times as dear as any other mistake. The last
line of each kind is the geometric mean over the data sets.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from benchmarks.common import costs, is_quick, least_expected, mean_cost, parser, save, show
from benchmarks.settings import SETS, split
from minrisk import REBELClassifier
from minrisk.costs import CostMatrix, uniform, with_reject

KINDS = ("refer", "dear class", "symmetric", "normal", "ordinal", "lognormal")
METHODS = ("trained, tight", "trained, paper", "posterior")


def table_of(kind: str, y: np.ndarray, seed: int) -> CostMatrix:
    n_classes = int(y.max()) + 1
    if kind == "refer":
        return with_reject(uniform(n_classes), 0.2)
    if kind == "dear class":
        values = 1.0 - np.eye(n_classes)
        values[np.bincount(y).argmin()] *= 10.0
        return CostMatrix(values)
    return costs(kind, n_classes, seed)


def trial(name: str, seed: int) -> list[dict[str, Any]]:
    """All kinds and methods on one split; the 0/1 booster is trained once."""
    X, y, X_test, y_test = split(name, seed)
    rounds = {"n_estimators": 20} if is_quick() else {}
    probabilities = REBELClassifier(n_jobs=1, **rounds).fit(X, y).predict_proba(X_test)
    rows = []
    for kind in KINDS:
        table = table_of(kind, y, seed)
        decisions = {"posterior": least_expected(probabilities, table)}
        for offset in ("tight", "paper"):
            model = REBELClassifier(np.asarray(table), offset=offset, n_jobs=1, **rounds).fit(X, y)
            decisions[f"trained, {offset}"] = model.model_.scores(X_test).argmax(axis=1)
        rows += [
            {
                "data": name,
                "seed": seed,
                "costs": kind,
                "method": method,
                "test_cost": mean_cost(table, y_test, decisions[method]),
            }
            for method in METHODS
        ]
    return rows


def main() -> None:
    options = parser(__doc__, "20 rounds on one split of some rows of two sets")
    options.add_argument("--splits", type=int, default=5)
    arguments = options.parse_args()
    sets, splits = (SETS[:2], 1) if arguments.quick else (SETS, arguments.splits)
    done = Parallel(n_jobs=arguments.jobs)(delayed(trial)(*task) for task in itertools.product(sets, range(splits)))
    rows = [row for made in done for row in made]
    table = []
    for kind, name in itertools.product(KINDS, sets):
        line: dict[str, Any] = {"costs": kind, "data": name, "splits": splits}
        for method in METHODS:
            wanted = {"costs": kind, "data": name, "method": method}
            line[method] = float(np.mean([row["test_cost"] for row in rows if wanted.items() <= row.items()]))
        line["tight_of_posterior"] = line["trained, tight"] / line["posterior"]
        table.append(line)
    for kind in KINDS:
        mine = [line for line in table if line["costs"] == kind]
        figures = (*METHODS, "tight_of_posterior")
        means = {name: float(np.exp(np.mean(np.log([line[name] for line in mine])))) for name in figures}
        table.append({"costs": kind, "data": "all", "splits": splits, **means})
    table.sort(key=lambda line: KINDS.index(line["costs"]))
    save("train_or_correct", table)
    show(table)


if __name__ == "__main__":
    main()
