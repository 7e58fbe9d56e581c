"""Defaults by measurement: test cost of REBEL for each setting, over data sets x costs x splits.

Every setting's mean test cost on a (data set, kind of cost) is divided by the best setting's; a setting's figure is
the geometric mean of these ratios, so 1.05 reads "5 % dearer than the best choice for each case". The rows `posterior`
are the 0/1-trained booster whose probabilities meet the costs at test time. The table of effects says what one option
does, the others averaged out: its ratio to the mean of all its values, with the standard error over data sets.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split

from benchmarks.common import COSTS, costs, is_quick, least_expected, load, mean_cost, parser, save, show
from minrisk import REBELClassifier

SETS = ("glass", "vehicle", "vowel", "segment", "satimage", "ecoli", "pendigits", "letter")
GROUPS = (("0/1", "REBEL", False), ("costs", "REBEL", True), ("posterior", "posterior", True))
ROUNDS, QUICK_ROUNDS = (50, 100, 200), (5, 10, 20)
GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "core": {
        "offset": ("paper", "tight"),
        "smoothing": (0.0, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1),
        "fit_intercept": (False, True),
    },
    "shape": {"learning_rate": (1.0, 0.5, 0.3, 0.1), "max_depth": (1, 2, 3, 4, 6)},
}


def rounds_of() -> tuple[int, ...]:
    """After which the test cost is looked at."""
    return QUICK_ROUNDS if is_quick() else ROUNDS


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
    model = REBELClassifier(None if kind == "0/1" else table, n_estimators=max(rounds_of()), n_jobs=1, **setting)
    model.fit(X_fit, y_fit)
    made = []
    for rounds in rounds_of():
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


def cells(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean over the splits."""
    groups: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    names = [name for name in rows[0] if name not in ("seed", "test_cost")]
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row["test_cost"])
    return [
        {**dict(zip(names, key, strict=True)), "splits": len(values), "test_cost": float(np.mean(values))}
        for key, values in groups.items()
    ]


def with_ratios(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each cell with the log of its ratio to the best cost-trained one of its data set and kind of cost."""

    def case(row: dict[str, Any]) -> tuple[str, str, str]:
        return row["data"], row["costs"], "REBEL"

    costs_of: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for row in rows:
        costs_of[row["data"], row["costs"], row["method"]].append(max(row["test_cost"], 1e-9))
    return [{**row, "log": float(np.log(max(row["test_cost"], 1e-9) / min(costs_of[case(row)])))} for row in rows]


def summary(rows: list[dict[str, Any]], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """A line per setting and number of rounds, a column per kind of cost."""
    logs: dict[tuple[Any, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in with_ratios(rows):
        logs[(row["method"], row["rounds"], *(row[name] for name in names))][row["costs"]].append(row["log"])
    table = []
    for key, kinds in logs.items():
        line = dict(zip(("method", "rounds", *names), key, strict=True))
        line["all"] = float(np.exp(np.mean([x for values in kinds.values() for x in values])))
        table.append({**line, **{kind: float(np.exp(np.mean(kinds[kind]))) for kind in COSTS if kind in kinds}})
    return sorted(table, key=lambda line: (line["method"], line["rounds"], line["all"]))


def effects(rows: list[dict[str, Any]], grid: dict[str, tuple[Any, ...]]) -> list[dict[str, Any]]:
    """What each value of each option does after all rounds; options other than `offset` are judged at "tight"."""
    last = [row for row in with_ratios(rows) if row["rounds"] == max(rounds_of())]
    table = []
    for option, values in grid.items():
        for group, method, general in GROUPS:
            mine = [
                row
                for row in last
                if row["method"] == method
                and (row["costs"] != "0/1") == general
                and (option == "offset" or group != "costs" or row.get("offset", "tight") == "tight")
            ]
            offsets = {row.get("offset") for row in mine}
            if option == "offset" and (group != "costs" or len(offsets) < 2):
                continue
            by_set = {
                name: [
                    np.mean([row["log"] for row in mine if row["data"] == name and row[option] == value])
                    for value in values
                ]
                for name in {row["data"] for row in mine}
            }
            away = np.array([logs - np.mean(logs) for logs in by_set.values()])  # (sets, values)
            spread = away.std(axis=0, ddof=1) / np.sqrt(len(away)) if len(away) > 1 else np.zeros(len(values))
            table += [
                {
                    "option": option,
                    "value": value,
                    "group": group,
                    "ratio": float(np.exp(mean)),
                    "standard_error": float(error),
                }
                for value, mean, error in zip(values, away.mean(axis=0), spread, strict=True)
            ]
    return table


def main() -> None:
    options = parser(__doc__, "20 rounds of some settings on some rows of glass and vehicle, one split")
    options.add_argument("--grid", choices=tuple(GRIDS), default="core")
    options.add_argument("--splits", type=int, default=3)
    arguments = options.parse_args()
    grid = GRIDS[arguments.grid]
    if arguments.quick:
        grid = {name: (values[0], values[-1]) for name, values in grid.items()}
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
    rows = cells(rows)
    last = [row for row in rows if row["rounds"] == max(rounds_of())]
    save(f"settings_{arguments.grid}_cells", last)
    for kind, table in (("", summary(rows, names)), ("_effects", effects(rows, grid))):
        save(f"settings_{arguments.grid}{kind}", table)
        show(table)


if __name__ == "__main__":
    main()
