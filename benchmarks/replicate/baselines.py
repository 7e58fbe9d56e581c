"""The boosters that REBEL's Figure 4 and the similarities paper's Figure 8 compare with, by `minrisk.compare`.

Both figures have the same bars. Stumps, five random splits into 50 % training, 25 % validation and 25 % test, the same
as `rebel_uci`'s; at most 200 weak learners, their number chosen on the validation part (the first of the least error);
raw features. CW-Boost is Shen and Hao's, `MultiBoostClassifier`, with its default nu. The papers do not state whether
1-vs-all has 200 learners for each class, AOSO-LogitBoost's shrinkage (0.1 is its own paper's), nor which AdaBoost.MH it
is: each reading has a line. MNIST has one split, for time. Finished fits are kept in ``build/baselines``: a run goes
on where another stopped. ``baselines.csv`` puts means beside the papers', with mean ranks over the sets, which
``baselines_ranks*.png`` draw. Nor do they say whether boosters are trained again, with the chosen number of learners,
on training and validation rows together: ``--refit`` puts both readings side by side in ``baselines_refit.csv``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier

from benchmarks.common import ROOT, is_quick, keep, kept, load, parser, results, save, save_picture, settings, show
from minrisk import (
    AdaBoostECCClassifier,
    AdaBoostMHClassifier,
    AOSOLogitBoostClassifier,
    MultiBoostClassifier,
    REBELClassifier,
    StructBoostClassifier,
    compare,
)
from minrisk.comparison import Comparison, nemenyi_test
from minrisk.inspection import CriticalDifferenceDisplay

ROUNDS, QUICK_ROUNDS = 200, 10
SPLITS, FEWER_SPLITS = 5, {"mnist": 1}
BARS = ("1-vs-all", "AdaBoost.MH", "AdaBoost.ECC", "CW-Boost", "AOSO-LogitBoost", "REBEL")  # that are ranked
STRUCT = {
    "glass": (35.8, 6.2),
    "vowel": (17.5, 2.2),
    "satimage": (12.1, 0.7),
    "pendigits": (6.9, 0.4),
    "mnist": (12.5, 0.4),
}  # of StructBoost, which takes longer: by --struct, on one split of many rows
STRUCT_SPLITS = {"satimage": 1, "pendigits": 1}
PAPER = {  # mean and standard deviation of the error in percent, in the order of BARS
    "glass": ((31.7, 3.8), (32.3, 5.0), (32.7, 4.9), (35.4, 6.0), (34.2, 5.5), (30.4, 5.4)),
    "vowel": ((21.1, 2.0), (18.8, 2.1), (20.6, 1.5), (22.4, 2.0), (20.6, 1.6), (17.4, 2.0)),
    "segment": ((7.7, 0.3), (3.7, 0.7), (2.9, 0.8), (2.5, 0.5), (5.6, 0.4), (4.6, 0.8)),
    "satimage": ((15.1, 1.0), (12.7, 0.9), (12.8, 0.7), (11.1, 1.0), (15.4, 0.8), (10.7, 0.9)),
    "pendigits": ((7.1, 0.6), (7.4, 0.5), (8.4, 0.7), (2.5, 0.2), (12.8, 0.3), (3.2, 0.4)),
    "mnist": ((11.0, 0.4), (13.4, 0.4), (15.8, 0.3), (9.3, 0.2), (12.5, 0.4), (10.5, 0.5)),
}
VARIANT_OF = {
    "1-vs-all, in all": "1-vs-all",
    "AdaBoost.MH, real": "AdaBoost.MH",
    "CW-Boost, squares": "CW-Boost",
    "AOSO-LogitBoost, whole steps": "AOSO-LogitBoost",
    "StructBoost, nu 0.0003": "StructBoost",
}
SHOWN = ("data", "method", "splits", "rounds_at_most", "error", "std", "paper_error", "paper_std", "verdict")


class Halves:
    """Splits in 50 % training and 25 % validation rows, in this order, and 25 % test rows."""

    def __init__(self, n_splits: int) -> None:
        self.n_splits = n_splits

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for seed in range(self.n_splits):
            fit, rest = train_test_split(np.arange(len(y)), train_size=0.5, random_state=seed)
            chosen, test = train_test_split(rest, train_size=0.5, random_state=seed)
            yield np.concatenate([fit, chosen]), test


def n_fitted(n: int) -> int:
    """How many of n rows of `Halves` come before the validation part."""
    return 2 * (n // 3) + (n % 3 > 0)


class ChosenRounds(ClassifierMixin, BaseEstimator):
    """A booster cut off after the first of the rounds of least error on the last rows, which it was not trained on."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: np.ndarray, y: np.ndarray) -> ChosenRounds:
        n = n_fitted(len(y))
        self.estimator_ = clone(self.estimator).fit(X[:n], y[:n])
        self.classes_ = self.estimator_.classes_
        errors = [float(np.mean(decided != y[n:])) for decided in stages(self.estimator_, X[n:])]
        self.rounds_ = int(np.argmin(errors)) + 1
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return next(itertools.islice(stages(self.estimator_, X), self.rounds_ - 1, None))

    def refitted(self, X: np.ndarray, y: np.ndarray) -> Any:
        """The booster of the chosen number of rounds, trained again on these rows."""
        several = isinstance(self.estimator, OneVsRestClassifier)
        name = "estimator__n_estimators" if several else "n_estimators"
        return clone(self.estimator).set_params(**{name: self.rounds_}).fit(X, y)


def stages(model: Any, X: np.ndarray) -> Iterator[np.ndarray]:
    """Decisions after each round; of 1-vs-all after as many rounds of each class, the last where one has ended."""
    if not isinstance(model, OneVsRestClassifier):
        yield from model.staged_predict(X)
        return
    last = np.zeros((len(model.classes_), len(X)))
    for scores in itertools.zip_longest(*(each.staged_decision_function(X) for each in model.estimators_)):
        for k, of_class in enumerate(scores):
            if of_class is not None:
                last[k] = of_class
        yield model.classes_[last.argmax(axis=0)]


def n_rounds() -> int:
    return QUICK_ROUNDS if is_quick() else ROUNDS


def printed_cell(name: str, method: str) -> tuple[float, float]:
    """Mean and standard deviation of a bar."""
    bar = VARIANT_OF.get(method, method)
    return STRUCT[name] if bar == "StructBoost" else PAPER[name][BARS.index(bar)]


def struct_methods() -> dict[str, Any]:
    """StructBoost with its default nu, and with a smaller one: its paper leaves the choice to cross-validation."""
    usual = StructBoostClassifier(n_estimators=n_rounds(), keep_stages=True)
    less = clone(usual).set_params(nu=3e-4)
    return {"StructBoost": ChosenRounds(usual), "StructBoost, nu 0.0003": ChosenRounds(less)}


def methods(n_classes: int) -> dict[str, Any]:
    """Estimators of the other bars by name."""
    one: dict[str, Any] = {"n_estimators": n_rounds()}
    binary = AdaBoostMHClassifier(response="sign", **one)  # of two classes it is AdaBoost
    part = clone(binary).set_params(n_estimators=max(1, n_rounds() // n_classes))
    made = {
        "1-vs-all": OneVsRestClassifier(binary),
        "1-vs-all, in all": OneVsRestClassifier(part),
        "AdaBoost.MH": AdaBoostMHClassifier(response="sign", **one),
        "AdaBoost.MH, real": AdaBoostMHClassifier(**one),
        "AdaBoost.ECC": AdaBoostECCClassifier(random_state=0, **one),
        "CW-Boost": MultiBoostClassifier(keep_stages=True, **one),
        "CW-Boost, squares": MultiBoostClassifier(penalty="l2", keep_stages=True, **one),
        "AOSO-LogitBoost": AOSOLogitBoostClassifier(max_depth=1, **one),
        "AOSO-LogitBoost, whole steps": AOSOLogitBoostClassifier(max_depth=1, learning_rate=1.0, **one),
        "REBEL": REBELClassifier(weak_learner="stump", fit_intercept="each round", **one),
    }
    return {name: ChosenRounds(estimator) for name, estimator in made.items()}


def trials(name: str, jobs: int, struct: bool = False) -> list[dict[str, Any]]:
    """Every split of a set, by every method, or by StructBoost."""
    data = load(name)
    n_splits = 1 if is_quick() else (STRUCT_SPLITS if struct else FEWER_SPLITS).get(name, SPLITS)
    made = struct_methods() if struct else methods(data.n_classes)
    folder = (results() if is_quick() else ROOT / "build") / "baselines"
    found = compare({name: (data.X, data.y)}, methods=made, cv=Halves(n_splits), n_jobs=jobs, folder=folder)
    return [
        {
            "data": name,
            "method": row["method"],
            "split": row["fold"],
            "error": 100 * row["error"],
            "fit_seconds": row["fit_seconds"],
            **settings(),
        }
        for row in found.records
    ]


def both_readings(name: str, method: str, split: int, struct: bool) -> dict[str, Any]:
    """Test errors of one split, without the validation part and trained again with it."""
    data = load(name)
    train, test = next(itertools.islice(Halves(split + 1).split(data.X, data.y), split, None))
    made = struct_methods() if struct else methods(data.n_classes)
    chosen = made[method].fit(data.X[train], data.y[train])
    error, refit = (
        100 * float(np.mean(model.predict(data.X[test]) != data.y[test]))
        for model in (chosen, chosen.refitted(data.X[train], data.y[train]))
    )
    return {
        "data": name,
        "method": method,
        "split": split + 1,
        "rounds": chosen.rounds_,
        "error": error,
        "refit_error": refit,
    }


def refits(sets: list[str], called: list[str] | None, jobs: int, struct: bool) -> None:
    """Both readings of each split that is not kept yet, by the methods called, then their means beside the papers'."""
    done = {(row["data"], row["method"], row["split"]) for row in kept("baselines_refit_trials")}
    for name in sets:
        n_splits = 1 if is_quick() else (STRUCT_SPLITS if struct else FEWER_SPLITS).get(name, SPLITS)
        of_set = struct_methods() if struct else methods(load(name).n_classes)
        left = [
            (name, method, split, struct)
            for method in called or of_set
            for split in range(n_splits)
            if (name, method, str(split + 1)) not in done
        ]
        for row in Parallel(n_jobs=jobs, return_as="generator")(delayed(both_readings)(*trial) for trial in left):
            keep("baselines_refit_trials", row)
    table = summary_of_both(kept("baselines_refit_trials"))
    save("baselines_refit", table)
    show(table)


def summary_of_both(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means of both readings beside the papers'."""
    again = {
        (row["data"], row["method"]): row
        for row in summary([row | {"error": row["refit_error"]} for row in rows], ranked=False)
    }
    table = []
    for row in summary(rows, ranked=False):
        other = again[row["data"], row["method"]]
        table.append(row | {f"refit_{key}": other[key] for key in ("error", "std", "verdict")})
    return table


def summary(rows: list[dict[str, Any]], ranked: bool = True) -> list[dict[str, Any]]:
    """Means beside the papers', agreeing within two joint deviations; mean ranks over the sets."""
    table: list[dict[str, Any]] = []
    names = [name for name in PAPER if any(row["data"] == name for row in rows)]
    called = list(dict.fromkeys(row["method"] for row in rows))
    for name, method in itertools.product(names, called):
        errors = np.array([float(row["error"]) for row in rows if (row["data"], row["method"]) == (name, method)])
        if not len(errors):
            continue
        mean, std = printed_cell(name, method)
        spread = float(errors.std(ddof=1)) if len(errors) > 1 else 0.0
        apart = (float(errors.mean()) - mean) / float(np.hypot(spread, std))
        table.append(
            {
                "data": name,
                "method": method,
                "splits": len(errors),
                "rounds_at_most": n_rounds(),
                "error": float(errors.mean()),
                "std": spread,
                "paper_error": mean,
                "paper_std": std,
                "verdict": "agrees" if abs(apart) <= 2 else "better" if apart < 0 else "worse",
            }
        )
    ours = of_bars(rows).mean_ranks("error") if ranked and has_ranks(rows) else {}
    printed = rankdata([[cell[0] for cell in PAPER[name]] for name in names], axis=1).mean(axis=0)
    for method, rank in ours.items():
        line = {
            "data": "mean rank",
            "method": method,
            "splits": len(names),
            "error": rank,
            "paper_error": float(printed[BARS.index(method)]),
        }
        table.append({key: line.get(key, "") for key in table[0]})
    return table


def has_ranks(rows: list[dict[str, Any]]) -> bool:
    """Whether the bars that are ranked are there, of several sets."""
    return len({row["data"] for row in rows if row["method"] in BARS}) > 1


def of_bars(rows: list[dict[str, Any]]) -> Comparison:
    """The papers' bars as `compare` has them, over all sets that there are."""
    records = [
        {
            "data_set": row["data"],
            "method": row["method"],
            "fold": int(row["split"]),
            "error": float(row["error"]) / 100,
        }
        for row in rows
        if row["method"] in BARS
    ]
    sizes = {
        name: len({row["fold"] for row in records if row["data_set"] == name})
        for name in PAPER
        if any(row["data_set"] == name for row in records)
    }
    return Comparison(records, BARS, sizes)


def draw(rows: list[dict[str, Any]]) -> None:
    """Mean ranks with Nemenyi's critical difference, ours and the papers' on the same sets."""
    found = of_bars(rows)
    shown = found.plot("error")
    save_picture(shown.figure_, "baselines_ranks", bbox_inches="tight")
    test = nemenyi_test([[cell[0] for cell in PAPER[name]] for name in found.data_sets])
    title = f"Mean rank by error, {len(found.data_sets)} data sets, printed"
    printed = CriticalDifferenceDisplay(test.mean_ranks, test.critical_difference, BARS, title=title).plot()
    save_picture(printed.figure_, "baselines_ranks_printed", bbox_inches="tight")


def main() -> None:
    options = parser(__doc__, "10 stumps on one split of some rows of two sets")
    options.add_argument("--sets", nargs="*", choices=tuple(PAPER), default=list(PAPER))
    options.add_argument("--struct", action="store_true", help="StructBoost alone, beside the others that are kept")
    options.add_argument(
        "--refit",
        action="store_true",
        help="beside each error the one after training again on training and validation rows",
    )
    options.add_argument("--methods", nargs="+", help="with --refit; default: all")
    arguments = options.parse_args()
    sets = arguments.sets[: 2 if arguments.quick else None]
    if arguments.refit:
        refits(sets, arguments.methods, arguments.jobs, arguments.struct)
        return
    rows: list[dict[str, Any]] = kept("baselines_trials")
    for name in sets:
        made = trials(name, arguments.jobs, arguments.struct)
        found = {row["method"] for row in made}
        rows = [row for row in rows if row["data"] != name or row["method"] not in found] + made
        save("baselines_trials", rows)
        show(summary([row for row in rows if row["data"] == name]), SHOWN)
    table = summary(rows)
    save("baselines", table)
    show(table, SHOWN)
    if has_ranks(rows):
        draw(rows)


if __name__ == "__main__":
    from benchmarks.replicate import baselines  # worker processes and kept fits find the classes by its module's name

    baselines.main()
