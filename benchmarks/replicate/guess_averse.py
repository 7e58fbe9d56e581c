"""Table 2 of the guess-averse paper: six MCBoosts on ten UCI sets, random symmetric costs U[1, 10].

The sets' own split where there is one, else a fresh split of the paper's sizes in each repeat; 100 rounds of K - 1
learners; 50 repeats with a cost matrix each; mean test risk +- standard error beside the paper's; average ranks of the
means. Raw features. The paper says "weighted least square" and no more: ``--weighting`` chooses the reading. Beyond the
paper, ``--learner tree`` boosts trees of depth 3, and ``--learner minrisk`` is `MinRiskClassifier`. Every repeat is
kept as soon as it is done, with its seconds and settings: a run goes on where another stopped. ``--tests`` makes the
paired t-tests by which the table's bold cells are found, of the repeats that there are.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata, ttest_rel
from sklearn.model_selection import train_test_split

from benchmarks.common import kept, load, mean_cost, parser, save, settings, show
from minrisk import MCBoostClassifier, MinRiskClassifier
from minrisk.costs import random_symmetric

# test rows; None: the set's own split
SIZES = {
    "breast_tissue": 25,
    "ecoli": 78,
    "segment": None,
    "libras": 68,
    "vertebral": 71,
    "vehicle": 154,
    "shuttle": None,
    "pendigits": None,
    "satimage": None,
    "optdigits": None,
}
METHODS = {
    "MCBoost": ("mc", "argmax"),
    "P-MCBoost": ("mc", "bayes"),
    "GEL-MCBoost": ("gel", "argmax"),
    "GLL-MCBoost": ("gll", "argmax"),
    "Ls-MCBoost": ("ls", "argmax"),
    "Lt-MCBoost": ("lt", "argmax"),
}
# mean risk and standard error of Table 2, in the order of METHODS
PAPER = {
    "breast_tissue": ((1.83, 0.06), (1.63, 0.06), (1.72, 0.06), (1.48, 0.05), (1.88, 0.07), (1.83, 0.08)),
    "ecoli": ((0.96, 0.03), (0.84, 0.03), (0.94, 0.03), (0.82, 0.03), (1.12, 0.04), (1.21, 0.03)),
    "segment": ((0.47, 0.02), (0.46, 0.02), (0.47, 0.01), (0.45, 0.02), (0.97, 0.03), (1.06, 0.04)),
    "libras": ((1.24, 0.03), (1.16, 0.03), (1.31, 0.03), (1.01, 0.03), (2.32, 0.06), (2.43, 0.06)),
    "vertebral": ((0.81, 0.05), (0.77, 0.05), (0.77, 0.04), (0.78, 0.04), (0.87, 0.05), (0.92, 0.06)),
    "vehicle": ((1.42, 0.06), (1.41, 0.06), (1.41, 0.06), (1.40, 0.06), (1.59, 0.07), (1.55, 0.07)),
    "shuttle": ((0.36, 0.02), (0.33, 0.02), (0.36, 0.02), (0.17, 0.01), (0.83, 0.04), (0.86, 0.05)),
    "pendigits": ((0.51, 0.01), (0.49, 0.01), (0.50, 0.01), (0.49, 0.01), (1.28, 0.03), (1.54, 0.04)),
    "satimage": ((0.88, 0.03), (0.85, 0.03), (0.89, 0.03), (0.88, 0.03), (1.38, 0.04), (1.36, 0.04)),
    "optdigits": ((0.26, 0.00), (0.24, 0.00), (0.27, 0.01), (0.26, 0.00), (0.64, 0.01), (0.81, 0.02)),
}
PAPER_RANKS = (3.5, 1.7, 3.2, 1.5, 5.3, 5.7)


@lru_cache(maxsize=4)
def blind(name: str, learner: str, weighting: str) -> MCBoostClassifier:
    """The model of a set's own split that knows no costs, the same in all repeats."""
    X, y, _, _ = load(name).official()
    return MCBoostClassifier(loss="mc", weak_learner=learner, weighting=weighting).fit(X, y)


def risks(name: str, seed: int, learner: str, weighting: str) -> dict[str, Any]:
    """Test risk of each method in one repeat, with the seconds it took (of this process) and its CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    data = load(name)
    table = np.asarray(random_symmetric(data.n_classes, 1.0, 10.0, random_state=seed))
    if SIZES[name] is None:
        X, y, X_test, y_test = data.official()
    else:
        X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=SIZES[name], random_state=seed)
    classes = np.unique(y)  # a rare class may be in the test part only, and is then never decided for
    cost = table[np.ix_(classes, classes)]
    row: dict[str, Any] = {"data": name, "seed": seed}
    if learner == "minrisk":
        model: Any = MinRiskClassifier(cost, random_state=seed).fit(X, y)
        row["MinRisk"] = mean_cost(table, y_test, model.predict(X_test))
    for method, (loss, decision) in () if learner == "minrisk" else METHODS.items():
        if decision == "bayes":  # of the model before
            p = model.predict_proba(X_test)
            row[method] = mean_cost(table, y_test, classes[(p @ cost).argmin(axis=1)])
            continue
        if loss == "mc" and SIZES[name] is None:
            model = blind(name, learner, weighting)
        else:
            model = MCBoostClassifier(cost, loss=loss, weak_learner=learner, weighting=weighting).fit(X, y)
        row[method] = mean_cost(table, y_test, model.predict(X_test))
    return row | {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and standard error of every set and method beside the paper's, average ranks, CPU seconds of a repeat."""
    table: list[dict[str, Any]] = []
    means: dict[str, list[float]] = {}
    methods = [name for name in ("MinRisk", *METHODS) if name in rows[0]]
    names = [name for name in SIZES if any(row["data"] == name for row in rows)]
    for name in names:
        mine = [row for row in rows if row["data"] == name]
        for method in methods:
            values = np.array([float(row[method]) for row in mine])
            mean, error = float(values.mean()), 0.0
            if len(values) > 1:
                error = float(values.std(ddof=1) / len(values) ** 0.5)
            means.setdefault(name, []).append(mean)
            line = {"data": name, "method": method, "repeats": len(values), "risk": mean, "standard_error": error}
            if method in METHODS:
                theirs, spread = PAPER[name][list(METHODS).index(method)]
                joint = (error**2 + max(spread, 0.005) ** 2) ** 0.5  # 0.00 is printed for less than 0.005
                line |= {"paper_risk": theirs, "paper_error": spread, "joint_errors_apart": (mean - theirs) / joint}
            line["cpu_seconds"] = ""
            timed = [float(row["cpu_seconds"]) for row in mine if row["cpu_seconds"] != "nan"]
            if method == methods[0] and timed:
                line["cpu_seconds"] = float(np.median(timed))
            table.append(line)
    ranks = np.mean([rankdata(np.array(row)) for row in means.values()], axis=0)
    for method, rank in zip(methods, ranks, strict=True):
        paper = {"paper_risk": PAPER_RANKS[list(METHODS).index(method)]} if method in METHODS else {}
        line = {"data": "average rank", "method": method, "repeats": len(names), "risk": rank, **paper}
        table.append({key: line.get(key, "") for key in table[0]})
    per_set = [line["cpu_seconds"] for line in table if line["cpu_seconds"] != ""]
    table[-len(methods)]["cpu_seconds"] = sum(per_set)
    return table


def beyond() -> list[dict[str, Any]]:
    """Lines, trees and `MinRiskClassifier` side by side, over the repeats that all of them did; average ranks.

    `less` is the mean of MinRisk's risk less another's in the same repeat, `error` its standard error.
    """
    known = {}
    for learner, methods in {"linear": METHODS, "tree": METHODS, "minrisk": ("MinRisk",)}.items():
        for row in earlier(f"guess_averse{'' if learner == 'linear' else '_' + learner}_trials"):
            for method in methods:
                known.setdefault((row["data"], row["seed"]), {})[learner, method] = float(row[method])
    chosen = [
        ("linear", "P-MCBoost"),
        ("linear", "GLL-MCBoost"),
        ("tree", "P-MCBoost"),
        ("tree", "GLL-MCBoost"),
        ("tree", "GEL-MCBoost"),
        ("minrisk", "MinRisk"),
    ]
    table = []
    for name in SIZES:
        rows = [row for (data, _), row in known.items() if data == name and len(row) == 2 * len(METHODS) + 1]
        if len(rows) > 1:
            risks_ = {key: np.array([row[key] for row in rows]) for key in chosen}
            means = {f"{method}, {learner}": float(risks_[learner, method].mean()) for learner, method in chosen}
            line = {"data": name, "repeats": len(rows), **means}
            for learner, method in (("tree", "P-MCBoost"), ("linear", "GLL-MCBoost")):
                less = risks_[chosen[-1]] - risks_[learner, method]
                line[f"less {method}, {learner}"] = float(less.mean())
                line[f"error {method}, {learner}"] = float(less.std(ddof=1) / len(less) ** 0.5)
            table.append(line)
    names = [f"{method}, {learner}" for learner, method in chosen]
    ranks = np.mean([rankdata([row[name] for name in names]) for row in table], axis=0) if table else []
    if table:
        last = {"data": "average rank", "repeats": len(table), **dict(zip(names, ranks.tolist(), strict=True))}
        table.append({key: last.get(key, "") for key in table[0]})
    return table


def strongest(rows: list[dict[str, Any]], level: float = 0.05) -> list[dict[str, Any]]:
    """Of each set the method of least mean risk, and two-sided paired t-tests of it and each other one.

    A pair is a repeat. The strongest, bold in the paper, are those that the least is not shown to differ from;
    ``lower`` is in how many repeats the risk was lower than the least's.
    """
    table = []
    for name in (name for name in SIZES if sum(row["data"] == name for row in rows) > 1):
        risks_ = {method: np.array([float(row[method]) for row in rows if row["data"] == name]) for method in METHODS}
        least = min(METHODS, key=lambda method: float(risks_[method].mean()))
        for method in METHODS:
            same = np.allclose(risks_[method], risks_[least], rtol=0.0, atol=1e-12)  # no test is defined then
            p = 1.0 if same else float(ttest_rel(risks_[method], risks_[least]).pvalue)
            table.append(
                {
                    "data": name,
                    "method": method,
                    "repeats": len(risks_[method]),
                    "risk": float(risks_[method].mean()),
                    "least": least,
                    "p": p,
                    "strongest": p >= level,
                    "lower": int((risks_[method] < risks_[least]).sum()),
                }
            )
    return table


def split_spread(sets: list[str], n_splits: int, n_tables: int) -> list[dict[str, Any]]:
    """How much the random split matters: MCBoost and P-MCBoost, the same cost matrices on each of several splits.

    `within` is the mean standard error over cost matrices on one split, `redrawn` that of a new split for each matrix,
    `between` the standard deviation of the splits' means: how far a paper with one split may be from another one.
    """
    table = []
    for name in (name for name in sets if SIZES[name] is not None):
        data = load(name)
        drawn = [random_symmetric(data.n_classes, 1.0, 10.0, random_state=seed) for seed in range(n_tables)]
        risks_ = np.empty((2, n_splits, n_tables))
        for split in range(n_splits):
            X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=SIZES[name], random_state=split)
            model, classes = MCBoostClassifier(loss="mc").fit(X, y), np.unique(y)
            decided, p = model.predict(X_test), model.predict_proba(X_test)
            for t, cost in enumerate(map(np.asarray, drawn)):
                expected = classes[(p @ cost[np.ix_(classes, classes)]).argmin(axis=1)]
                risks_[:, split, t] = mean_cost(cost, y_test, decided), mean_cost(cost, y_test, expected)
        for method, values in zip(("MCBoost", "P-MCBoost"), risks_, strict=True):
            paper, error = PAPER[name][list(METHODS).index(method)]
            mean, between = float(values.mean()), float(values.mean(axis=1).std(ddof=1))
            table.append(
                {
                    "data": name,
                    "method": method,
                    "splits": n_splits,
                    "risk": mean,
                    "within": float(values.std(axis=1, ddof=1).mean() / n_tables**0.5),
                    "redrawn": float(values.std(ddof=1) / n_tables**0.5),
                    "paper_error": error,
                    "between": between,
                    "paper_risk": paper,
                    "paper_in_standard_deviations_between": (paper - mean) / between,
                }
            )
    return table


def earlier(name: str) -> list[dict[str, Any]]:
    """Repeats that former runs left, each with the settings that made it."""
    return [row | {"seed": int(row["seed"])} for row in kept(name)]


def tests(name: str, rows: list[dict[str, Any]]) -> None:
    table = strongest(rows)
    if table:
        save(f"{name}_tests", table)
        show(table)


def main() -> None:
    options = parser(__doc__, "two repeats on some rows of two sets")
    options.add_argument("--sets", nargs="+", choices=tuple(SIZES), default=list(SIZES))
    options.add_argument("--repeats", type=int, default=50)
    options.add_argument("--learner", choices=("linear", "tree", "minrisk"), default="linear")
    options.add_argument("--weighting", choices=("curvature", "uniform", "slope"), default="curvature")
    options.add_argument("--again", action="store_true", help="also what an earlier run did")
    options.add_argument("--tests", action="store_true", help="only the paired t-tests, of what there is")
    options.add_argument("--splits", type=int, help="do not make the table, but see how this many splits differ")
    arguments = options.parse_args()
    if arguments.quick:
        arguments.repeats = 2  # a paired test needs as many
        arguments.sets = arguments.sets if len(arguments.sets) < len(SIZES) else ["breast_tissue", "pendigits"]
    if arguments.splits:
        spread = split_spread(arguments.sets, arguments.splits, arguments.repeats)
        save("guess_averse_splits", spread)
        show(spread)
        return
    name = "guess_averse" if arguments.learner == "linear" else f"guess_averse_{arguments.learner}"
    name += "" if arguments.weighting == "curvature" else f"_{arguments.weighting}"
    if arguments.tests and not arguments.quick:
        tests(name, earlier(f"{name}_trials"))
        return
    wanted = [(set_, seed) for seed in range(arguments.repeats) for set_ in arguments.sets]
    rows = earlier(f"{name}_trials")
    if arguments.again:
        rows = [row for row in rows if (row["data"], row["seed"]) not in wanted]
    done = {(row["data"], row["seed"]) for row in rows}
    with Parallel(n_jobs=arguments.jobs, batch_size=1, return_as="generator") as workers:
        for row in workers(
            delayed(risks)(*trial, arguments.learner, arguments.weighting) for trial in wanted if trial not in done
        ):
            rows.append(row | settings())
            rows.sort(key=lambda row: (list(SIZES).index(row["data"]), row["seed"]))
            save(f"{name}_trials", rows)
    table = summary(rows)
    save(name, table)
    show(table)
    if arguments.learner != "minrisk":
        tests(name, rows)
    if side_by_side := beyond():
        save("guess_averse_beyond", side_by_side)
        show(side_by_side)


if __name__ == "__main__":
    from benchmarks.replicate import guess_averse  # worker processes find `blind` by its module's name

    guess_averse.main()
