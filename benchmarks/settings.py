"""Defaults by measurement: test cost of REBEL for each setting, over data sets x costs x splits.

Every setting's mean test cost on a (data set, kind of cost) is divided by the best setting's; a setting's figure is
the geometric mean of these ratios, so 1.05 reads "5 % dearer than the best choice for each case". The row `posterior`
is the 0/1-trained booster whose probabilities meet the costs at test time, with the best smoothing for it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split

from benchmarks.common import COSTS, costs, least_expected, load, mean_cost, parser, save, show
from minrisk import REBELClassifier

SETS = ("glass", "vehicle", "vowel", "segment", "satimage", "ecoli", "pendigits", "letter")
ROUNDS = (50, 100, 200)
GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "core": {
        "offset": ("paper", "tight"),
        "smoothing": (0.0, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1),
        "fit_intercept": (False, True),
    },
    "shape": {"learning_rate": (1.0, 0.5, 0.3, 0.1), "max_depth": (1, 2, 3, 4, 6)},
}


def split(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A random 70/30 split; letter is cut to 5000 rows first; classes of a single row are left out."""
    data = load(name)
    keep = np.isin(data.y, np.flatnonzero(np.bincount(data.y) >= 4))
    X, y = data.X[keep], np.unique(data.y[keep], return_inverse=True)[1]
    if len(X) > 12_000:
        rows = np.random.default_rng(seed).permutation(len(X))[:5000]
        X, y = X[rows], y[rows]
    X_fit, X_test, y_fit, y_test = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    return X_fit, y_fit, X_test, y_test


def trial(name: str, kind: str, seed: int, setting: dict[str, Any]) -> list[dict[str, Any]]:
    """Test cost of one setting after each of `ROUNDS`; 0/1 training gives the posterior rule's for all costs."""
    X_fit, y_fit, X_test, y_test = split(name, seed)
    n_classes = int(y_fit.max()) + 1
    table = costs(kind, n_classes, seed)
    model = REBELClassifier(None if kind == "0/1" else table, n_estimators=max(ROUNDS), n_jobs=1, **setting)
    model.fit(X_fit, y_fit)
    made = []
    for rounds in ROUNDS:
        scores = model.model_[:rounds].scores(X_test)
        base = {"data": name, "seed": seed, "rounds": rounds, **setting}
        figure = mean_cost(table, y_test, scores.argmax(axis=1))
        made.append({**base, "method": "REBEL", "costs": kind, "test_cost": figure})
        if kind == "0/1":
            probabilities = model.model_.probabilities(scores)
            for other in COSTS:
                table = costs(other, n_classes, seed)
                figure = mean_cost(table, y_test, least_expected(probabilities, table))
                made.append({**base, "method": "posterior", "costs": other, "test_cost": figure})
            table = costs(kind, n_classes, seed)
    return made


def summary(rows: list[dict[str, Any]], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Ratio to the best setting of all rounds, geometric mean over data sets; a column per kind of cost."""
    cells: dict[tuple[str, str], dict[tuple[Any, ...], list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        key = (row["method"], row["rounds"], *(row[name] for name in names))
        cells[row["data"], row["costs"]][key].append(row["test_cost"])
    logs: dict[tuple[Any, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (_, kind), settings in cells.items():
        means = {key: max(float(np.mean(values)), 1e-9) for key, values in settings.items()}
        best = min(value for key, value in means.items() if key[0] == "REBEL")
        for key, value in means.items():
            logs[key][kind].append(np.log(value / best))
    table = []
    for key, kinds in logs.items():
        line = dict(zip(("method", "rounds", *names), key, strict=True))
        line["all"] = float(np.exp(np.mean([x for values in kinds.values() for x in values])))
        table.append({**line, **{kind: float(np.exp(np.mean(kinds[kind]))) for kind in COSTS if kind in kinds}})
    return sorted(table, key=lambda line: (line["method"], line["rounds"], line["all"]))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--grid", choices=tuple(GRIDS), default="core")
    options.add_argument("--splits", type=int, default=3)
    arguments = options.parse_args()
    grid = GRIDS[arguments.grid]
    names = tuple(grid)
    sets = SETS[:2] if arguments.quick else SETS
    tasks = [
        (name, kind, seed, dict(zip(names, values, strict=True)))
        for name, kind, seed in itertools.product(sets, COSTS, range(1 if arguments.quick else arguments.splits))
        for values in itertools.product(*grid.values())
        if not (kind == "0/1" and "tight" in values)  # the same loss as "paper": copied below
    ]
    done = Parallel(n_jobs=arguments.jobs, batch_size=8)(delayed(trial)(*task) for task in tasks)
    rows = [row for made in done for row in made]
    if "offset" in grid:
        rows += [{**row, "offset": "tight"} for row in rows if row["costs"] == "0/1" and row["method"] == "REBEL"]
    table = summary(rows, names)
    save(f"settings_{arguments.grid}_trials", rows, quick=arguments.quick)
    save(f"settings_{arguments.grid}", table, quick=arguments.quick)
    show(table)


if __name__ == "__main__":
    main()
