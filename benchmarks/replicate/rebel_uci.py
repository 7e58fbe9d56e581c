"""REBEL's Figure 4 (and Figure 8 of the localized similarities paper): stumps on UCI sets and MNIST, 0/1 costs.

Five random splits, 50 % training, 25 % validation, 25 % test; at most 200 stumps, their number chosen on the validation
part (the first of the rounds of least validation error); raw features. The paper takes about 200 even thresholds per
feature and is silent on the constant term and on smoothing: all are tried, a constant term fitted anew in each round
among them (either side of a stump has a vector then). Two rows go beyond it: 1000 stumps, and 200 trees of depth 2.
``--sets mnist`` (70 000 rows) runs the rows that have a role only. So does ``--refit``, which adds the error after the
chosen number of rounds on the training and validation rows together: the paper does not say whether it trains again.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split

from benchmarks.common import load, parser, save, show
from minrisk import REBELClassifier
from minrisk.algorithms.rebel import SIGN_SMOOTHING

# RBL-Stump in Fig. 8 of the 2017 paper (equal to Fig. 4 of 2016): mean and standard deviation of the error in percent
PUBLISHED = {
    "glass": (30.4, 5.4),
    "vowel": (17.4, 2.0),
    "satimage": (10.7, 0.9),
    "pendigits": (3.2, 0.4),
    "segment": (4.6, 0.8),
    "mnist": (10.5, 0.5),
}
BINNINGS = {"uniform": 201, "quantile": 256}
PAPER: dict[str, Any] = {"binning": "uniform", "fit_intercept": False, "smoothing": 1e-6}
DEFAULT = {name: REBELClassifier().get_params()[name] for name in PAPER} | {"smoothing": SIGN_SMOOTHING}
STUMPS = {"max_depth": 1, "n_estimators": 200}
ROLES: dict[str, dict[str, Any]] = {
    "paper": {**PAPER, **STUMPS},
    "default": {**DEFAULT, **STUMPS},
    "constant each round": {**DEFAULT, "fit_intercept": "each round", **STUMPS},
    "constant each round, hardly smoothed": {**PAPER, "fit_intercept": "each round", **STUMPS},
    "1000 stumps": {**DEFAULT, "max_depth": 1, "n_estimators": 1000},
    "depth 2": {**DEFAULT, "max_depth": 2, "n_estimators": 200},
}


def errors(name: str, seed: int, setting: dict[str, Any], jobs: int, refit: bool = False) -> dict[str, Any]:
    """Test error in percent of one split, and the number of stumps chosen; with `refit` also after training again."""
    data = load(name)
    rows = np.arange(len(data.y))
    fit, rest = train_test_split(rows, train_size=0.5, random_state=seed)
    chosen, test = train_test_split(rest, train_size=0.5, random_state=seed)
    max_bins = BINNINGS[setting["binning"]]
    model = REBELClassifier(max_bins=max_bins, n_jobs=jobs, **setting)
    model.fit(data.X[fit], data.y[fit])
    staged = [float(np.mean(decided != data.y[chosen])) for decided in model.staged_predict(data.X[chosen])]
    rounds = int(np.argmin(staged)) + 1
    scores = model.model_[:rounds].scores(data.X[test])
    error = float(np.mean(model.classes_[scores.argmax(axis=1)] != data.y[test]))
    row = {"data": name, "seed": seed, **setting, "rounds": rounds, "error_percent": 100.0 * error}
    if refit:
        both = np.concatenate([fit, chosen])
        again = model.set_params(n_estimators=rounds).fit(data.X[both], data.y[both])
        row["refit_error_percent"] = 100.0 * float(np.mean(again.predict(data.X[test]) != data.y[test]))
    return row


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and deviation beside the paper's."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        key = (row["data"], *(row[name] for name in ROLES["paper"]))
        groups.setdefault(key, []).append(row)
    table = []
    for (name, *values), mine in groups.items():
        mean, std = PUBLISHED[name]
        setting = dict(zip(ROLES["paper"], values, strict=True))
        role = next((role for role, special in ROLES.items() if special == setting), "")
        table.append(
            {
                "data": name,
                **setting,
                "role": role,
                "splits": len(mine),
                "rounds": float(np.mean([row["rounds"] for row in mine])),
                "paper_error": mean,
                "paper_std": std,
                **beside(name, [row["error_percent"] for row in mine]),
            }
        )
        if "refit_error_percent" in mine[0]:
            again = beside(name, [row["refit_error_percent"] for row in mine])
            table[-1] |= {f"refit_{key}": value for key, value in again.items()}
    return table


def beside(name: str, errors: list[float]) -> dict[str, Any]:
    """Mean and deviation, and how they are beside the paper's."""
    mean, std = PUBLISHED[name]
    excess = (float(np.mean(errors)) - mean) / std
    return {
        "error": float(np.mean(errors)),
        "std": float(np.std(errors, ddof=1)) if len(errors) > 1 else 0.0,
        "verdict": "better" if excess <= 0 else "within one std" if excess <= 1 else "worse",
    }


def main() -> None:
    options = parser(__doc__, "one split of some rows of two sets, the settings that have a role")
    small = [name for name in PUBLISHED if name != "mnist"]
    options.add_argument("--sets", nargs="+", choices=tuple(PUBLISHED), default=small)
    options.add_argument("--splits", type=int, default=5)
    options.add_argument("--refit", action="store_true", help="also train again on training and validation rows")
    arguments = options.parse_args()
    settings, grid = list(ROLES.values()), not (arguments.refit or arguments.quick)
    for binning, intercept, smoothing in itertools.product(BINNINGS, (False, True), (1e-6, 1e-3, 1e-2, 1e-1)):
        setting = {"binning": binning, "fit_intercept": intercept, "smoothing": smoothing, **STUMPS}
        settings += [setting] if grid and setting not in settings else []
    if arguments.quick:
        arguments.sets = arguments.sets[:2]
    splits = range(1 if arguments.quick else arguments.splits)
    small = [name for name in arguments.sets if name != "mnist"]
    rows = list(
        Parallel(n_jobs=arguments.jobs)(
            delayed(errors)(*task, 1, arguments.refit) for task in itertools.product(small, splits, settings)
        )
    )
    if "mnist" in arguments.sets:
        rows += [
            errors("mnist", seed, setting, arguments.jobs, arguments.refit)
            for seed in splits
            for setting in ROLES.values()
        ]
    name = "rebel_uci_mnist" if arguments.sets == ["mnist"] else "rebel_uci"
    name += "_refit" if arguments.refit else ""
    table = summary(rows)
    save(f"{name}_trials", rows)
    save(name, table)
    show(table)


if __name__ == "__main__":
    main()
