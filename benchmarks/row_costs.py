"""Costs per row: fitting them against fitting the matrix that rows share, and where rows differ.

Part "shared": `fit(X, y, cost=C[y])` beside `MinRiskClassifier(C)`, mean cost on the test rows of `compare`'s splits.
Target: at most 1.02 of the matrix's in the geometric mean over the sets.

Part "differing": each mistake's cost depends on the row. New rows come without their costs; target: below the surrogate
"coupled", trained on the same costs. Three kinds, from public sets:

- ``german``: a bad loan granted costs three quarters of the amount, a good one refused the interest of 10 % a year.
- ``page_blocks``: a mistake costs a random symmetric matrix's entry times the area of the block, in 500 pixels.
- others (vehicle, satimage, ...): a mistake costs a random symmetric matrix's entry times exp(z), z the standardised
  feature (between -2 and 2) that was drawn for the true class.

The training costs of the last two are multiplied by log-normal noise (sigma 0.5, mean 1), which no feature tells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.common import parser, save, show
from benchmarks.compare.data import split, table
from minrisk import MinRiskClassifier

SHARED = ("german", "vehicle", "vowel", "glass", "segment", "satimage")
DIFFERING = ("german", "page_blocks", "vehicle", "satimage", "vowel", "segment", "glass", "svmguide4")
AMOUNT, DURATION, AREA = 4, 1, 2  # columns of german and page_blocks
Costs = Callable[[np.ndarray], np.ndarray]


def shared_matrix(name: str, n_classes: int, seed: int) -> np.ndarray:
    """The published costs of german, random symmetric ones of the others."""
    if name == "german" and n_classes == 2:
        return np.array([[0.0, 1.0], [5.0, 0.0]])
    return table("symmetric", n_classes, name, seed)


def differing_costs(name: str, X: np.ndarray, n_classes: int, seed: int) -> Costs:
    """A function that gives the costs (n, K, K) of rows."""
    if name == "german" and n_classes == 2:  # and not what stands in for it

        def of_loans(rows: np.ndarray) -> np.ndarray:
            made = np.zeros((len(rows), 2, 2))
            made[:, 0, 1] = 0.1 * rows[:, AMOUNT] * rows[:, DURATION] / 12 / 1000
            made[:, 1, 0] = 0.75 * rows[:, AMOUNT] / 1000
            return made

        return of_loans
    matrix = table("symmetric", n_classes, name, seed)
    if name == "page_blocks":
        return lambda rows: matrix * rows[:, AREA, None, None] / 500
    drawn = np.random.default_rng([seed, 1]).integers(0, X.shape[1], n_classes)
    center, scale = X.mean(axis=0)[drawn], X.std(axis=0)[drawn] + 1e-9
    return lambda rows: matrix * np.exp(np.clip((rows[:, drawn] - center) / scale, -2, 2))[:, :, None]


def paid(by_row: np.ndarray, decisions: np.ndarray) -> float:
    return float(by_row[np.arange(len(decisions)), decisions].mean())


def shared(name: str, seed: int, jobs: int) -> dict[str, Any]:
    data = split(name, seed)
    matrix = shared_matrix(name, data.n_classes, seed)
    options: dict[str, Any] = {"random_state": seed, "n_jobs": jobs}
    by_matrix = MinRiskClassifier(matrix, **options).fit(data.X, data.y)
    by_row = MinRiskClassifier(**options).fit(data.X, data.y, cost=matrix[data.y])
    test = matrix[data.y_test]
    return {
        "part": "shared",
        "set": name,
        "split": seed,
        "matrix": paid(test, by_matrix.predict(data.X_test)),
        "per row": paid(test, by_row.predict(data.X_test)),
    }


def differing(name: str, seed: int, jobs: int) -> dict[str, Any]:
    data = split(name, seed)
    of = differing_costs(name, data.X, data.n_classes, seed)
    full, rows = of(data.X_test), of(data.X)[np.arange(len(data.y)), data.y]
    if name != "german":
        noise = np.random.default_rng(seed).lognormal(0.0, 0.5, (len(rows), 1))
        rows *= noise / noise.mean()
    options: dict[str, Any] = {"random_state": seed, "n_jobs": jobs}
    model = MinRiskClassifier(**options).fit(data.X, data.y, cost=rows)
    coupled = MinRiskClassifier(surrogate="coupled", **options).fit(data.X, data.y, cost=rows)
    means = np.array([rows[data.y == j].mean(axis=0) for j in range(data.n_classes)])
    test = full[np.arange(len(data.y_test)), data.y_test]
    return {
        "part": "differing",
        "set": name,
        "split": seed,
        "per row": paid(test, model.predict(data.X_test)),
        "coupled": paid(test, coupled.predict(data.X_test)),
        "mean costs of the class": paid(test, model.predict(data.X_test, cost=means)),
        "costs known at prediction": paid(test, model.predict(data.X_test, cost=full)),
    }


def summary(rows: list[dict[str, Any]], part: str, other: str) -> list[dict[str, Any]]:
    """Mean cost over the splits of each set, and its ratio to another's; the geometric mean of the ratios last."""
    lines: list[dict[str, Any]] = []
    names = dict.fromkeys(row["set"] for row in rows if row["part"] == part)
    for name in names:
        own = [row for row in rows if row["part"] == part and row["set"] == name]
        figures = [key for key in own[0] if key not in ("part", "set", "split")]
        means = {key: float(np.mean([row[key] for row in own])) for key in figures}
        ratio = 1.0 if means["per row"] == means[other] else float(np.float64(means["per row"]) / means[other])
        lines.append({"set": name, **means, "ratio": ratio})
    lines.append({"set": "geometric mean", "ratio": float(np.exp(np.mean(np.log([line["ratio"] for line in lines]))))})
    return lines


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--splits", type=int, default=3)
    arguments = options.parse_args()
    sets = (("glass",), ("german",)) if arguments.quick else (SHARED, DIFFERING)
    seeds = range(1 if arguments.quick else arguments.splits)
    rows = [shared(name, seed, arguments.jobs) for name in sets[0] for seed in seeds]
    rows += [differing(name, seed, arguments.jobs) for name in sets[1] for seed in seeds]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    save("row_costs", [{key: row.get(key, "") for key in columns} for row in rows])
    for part, other in (("shared", "matrix"), ("differing", "coupled")):
        lines = summary(rows, part, other)
        show([{key: line.get(key, "") for key in lines[0]} for line in lines])


if __name__ == "__main__":
    main()
