"""REBEL's Figure 4 (and Figure 8 of the localized similarities paper): stumps on UCI sets and MNIST, 0/1 costs.

Five random splits, 50 % training, 25 % validation, 25 % test; at most 200 stumps, their number chosen on the validation
part (the first of the rounds of least validation error). The paper is silent on the constant term and on smoothing, and
takes about 200 even thresholds per feature; both binnings, both intercepts and three smoothings are tried. Features are
raw. ``--sets mnist`` (70 000 rows) is run with the first and the last settings only.
"""

from __future__ import annotations

import csv
import itertools
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split

from benchmarks.common import DATA, load, parser, save, show
from minrisk import REBELClassifier

NAMES = {"glass": "GLASS", "vowel": "VOWEL", "satimage": "LANDSAT", "pendigits": "PENDIGITS", "segment": "SEGMENT",
         "mnist": "MNIST"}
BINNINGS = {"uniform": 201, "quantile": 256}
PAPER: dict[str, Any] = {"binning": "uniform", "fit_intercept": False, "smoothing": 1e-6}
DEFAULT: dict[str, Any] = {"binning": "quantile", "fit_intercept": True, "smoothing": 1e-3}


def published() -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of RBL-Stump, in percent, by the paper's name of the data set."""
    path = DATA.parent / "papers" / "tables" / "002_fig8_uci.csv"
    with open(path, encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == "RBL-Stump"]
    return {row["dataset"]: (float(row["value"]), float(row["std"])) for row in rows}


def errors(name: str, seed: int, setting: dict[str, Any], jobs: int) -> dict[str, Any]:
    """Test error in percent of one split, and the number of stumps chosen."""
    data = load(name)
    rows = np.arange(len(data.y))
    fit, rest = train_test_split(rows, train_size=0.5, random_state=seed)
    chosen, test = train_test_split(rest, train_size=0.5, random_state=seed)
    max_bins = BINNINGS[setting["binning"]]
    model = REBELClassifier(weak_learner="stump", n_estimators=200, max_bins=max_bins, n_jobs=jobs, **setting)
    model.fit(data.X[fit], data.y[fit])
    staged = [float(np.mean(decided != data.y[chosen])) for decided in model.staged_predict(data.X[chosen])]
    rounds = int(np.argmin(staged)) + 1
    scores = model.model_[:rounds].scores(data.X[test])
    error = float(np.mean(model.classes_[scores.argmax(axis=1)] != data.y[test]))
    return {"data": name, "seed": seed, **setting, "rounds": rounds, "error_percent": 100.0 * error}


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and deviation beside the paper's."""
    paper = published()
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        key = (row["data"], row["binning"], row["fit_intercept"], row["smoothing"])
        groups.setdefault(key, []).append(row)
    table = []
    for (name, binning, intercept, smoothing), mine in groups.items():
        found = np.array([row["error_percent"] for row in mine])
        mean, std = paper[NAMES[name]]
        setting = {"binning": binning, "fit_intercept": intercept, "smoothing": smoothing}
        role = "paper" if setting == PAPER else "default" if setting == DEFAULT else ""
        table.append({
            "data": name, **setting, "role": role, "splits": len(mine),
            "rounds": float(np.mean([row["rounds"] for row in mine])),
            "error": float(found.mean()), "std": float(found.std(ddof=1)) if len(found) > 1 else 0.0,
            "paper_error": mean, "paper_std": std,
            "verdict": "better" if found.mean() <= mean else "within one std" if found.mean() <= mean + std else "worse",
        })
    return table


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--sets", nargs="+", choices=tuple(NAMES), default=[name for name in NAMES if name != "mnist"])
    options.add_argument("--splits", type=int, default=5)
    arguments = options.parse_args()
    settings = [{"binning": binning, "fit_intercept": intercept, "smoothing": smoothing}
                for binning, intercept, smoothing in itertools.product(BINNINGS, (False, True), (1e-6, 1e-3, 1e-2))]
    splits = range(1 if arguments.quick else arguments.splits)
    small = [name for name in arguments.sets if name != "mnist"]
    rows = list(Parallel(n_jobs=arguments.jobs)(
        delayed(errors)(name, seed, setting, 1) for name, seed, setting in itertools.product(small, splits, settings)
    ))
    if "mnist" in arguments.sets:
        rows += [errors("mnist", seed, setting, arguments.jobs) for seed in splits for setting in (PAPER, DEFAULT)]
    name = "rebel_uci_mnist" if arguments.sets == ["mnist"] else "rebel_uci"
    table = summary(rows)
    save(f"{name}_trials", rows, quick=arguments.quick)
    save(name, table, quick=arguments.quick)
    show(table)


if __name__ == "__main__":
    main()
