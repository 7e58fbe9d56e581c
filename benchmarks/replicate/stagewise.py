"""Tables I to V and Figure 3 of the stage-wise MCBoost paper: test errors, and the time to compute coefficients.

Paisitkriangkrai, Shen and van den Hengel (2013). ``--tables`` says which; every fit is one line of
``stagewise_trials.csv``, and a run goes on where the last one stopped. ``--summary`` puts the means beside the paper's,
tests Table IV's by signed ranks (``stagewise_tests.csv``) and draws Figure 3 from Table V's fits.

Tables I to IV: 50 random rows per class (all of a smaller one), split 75 / 25, 500 rounds; nu = 1e-9 and eta = 0.5
where not varied; news by tf-idf, news and sector by the principal components of 90 % of the variance of the rows drawn
(a fit of sector takes 185 to 350 seconds: ``--sets sector`` asks for it). Table III: letter, the first classes of the
alphabet or rows per class, in training. Table V: 1000 rounds; its sampling is not stated, and the spread of its errors
tells of `ROWS` per class. ``--sets usps_train vowel_train``: rows of the training parts of these sets alone.
MultiBoost: logistic loss, nu by cross-validation once per set, as in the paper: five folds of repeat 0's training rows
(Table IV's where it has the set, else Table V's), 500 rounds, kept in ``stagewise_nu.csv``; for sector one of the
folds, for time. ``--choose`` does it; without it there are no fits. ``multiboost_l2``: MultiBoost with |W|^2 / 2 in
place of |W|_1 and nu = 1e-3 everywhere; ``exponential_l2``: stage-wise steps with |w_t|^2 / 2, for Table I. Fixed
seeds: repeat r draws the same rows for all methods.

Table V's other columns: SAMME is scikit-learn's AdaBoostClassifier, whose stumps have the least impurity, or boosts
stumps of the least weighted error (``samme_error``) or trees of three leaves (``samme_leaves``). AdaBoost.MH has one
rate and a sign for each class (``mh``), as Table VI has its evaluation, or free numbers (``mh_real``), and so has
AdaBoost.MO for each bit of its code (``mo``, ``mo_real``). The paper's AdaBoost.MO is ``mo_own``: each of
2^(K - 1) - 1 bits has a learner of its own in a round, too many for the sets of `MANY`. AdaBoost.ECC draws random
halves, or takes the largest cut (``ecc_cut``). GradBoost's nu is chosen as MultiBoost's is, from `MIXED_NUS` with three
folds, kept in ``stagewise_gradboost_nu.csv``.
"""

from __future__ import annotations

import csv
import itertools
import math
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import load_npz, spmatrix
from sklearn.ensemble import AdaBoostClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.tree import DecisionTreeClassifier

from benchmarks.common import DATA, is_quick, keep, kept, load, parser, save, save_picture, show
from benchmarks.replicate.samme import LeastErrorSAMME
from minrisk import (
    AdaBoostECCClassifier,
    AdaBoostMHClassifier,
    AdaBoostMOClassifier,
    GradBoostClassifier,
    MultiBoostClassifier,
    StagewiseMCBoostClassifier,
)
from minrisk.comparison.statistics import signed_rank

TRIALS, CHOICES = "stagewise_trials", {"multiboost": "stagewise_nu", "gradboost": "stagewise_gradboost_nu"}
NUS, ETAS = (0.0, 1e-9, 1e-4, 1e-2, 1e-1), (1.0, 0.5, 0.2, 0.1)
CORRECTIVE_NUS = (5e-3, 1e-3, 5e-4, 1e-4, 1e-5)  # of the paper's grid for MultiBoost
MIXED_NUS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # of the paper's grid for GradBoost
GRIDS = {"multiboost": CORRECTIVE_NUS, "gradboost": MIXED_NUS}
TEXTS = {"news": "news20/counts.npz", "sector": "sector/tfidf.npz"}
SMALL = ("iris", "glass", "usps", "pendigits", "news")
QUICK_SETS, QUICK_CLASSES, QUICK_ROUNDS, QUICK_NU = ["iris", "wine", "letter"], (4,), 10, 1e-3
PARTS = ("usps_train", "vowel_train")  # the training part of a set, only when asked for
SLOW = ("sector",)  # only when asked for
ONE_FOLD = (("news", "gradboost"), ("isolet", "gradboost"))  # to choose nu by, for time
MANY = ("news", "letter", "isolet")  # 524 287 learners and more in a round of AdaBoost.MO
ROWS = {
    "usps": 100,
    "usps_train": 100,
    "pendigits": 100,
    "isolet": 100,
    "news": 50,
    "letter": 50,
}  # per class in Table V; of others all
UCI = (
    "dna",
    "svmguide2",
    "wine",
    "vehicle",
    "glass",
    "satimage",
    "svmguide4",
    "segment",
    "usps",
    "pendigits",
    "vowel",
    "news",
    "letter",
    "isolet",
)
CHECKPOINTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
PAPER = {
    "I": "003_table1_nu",
    "II": "003_table2_eta",
    "III": "003_table3_letter",
    "IV": "003_table4_multiboost",
    "V": "003_table5_uci",
}
PAPER_NAMES = {"pendigits": "pen"}
SIGNED_RANKS = {"exponential": 10.5, "logistic": 7.0}  # of Table IV, against MultiBoost
METHODS = {
    "exponential": "MCBoost-exp",
    "logistic": "MCBoost-log",
    "multiboost": "MultiBoost",
    "multiboost_l2": "MultiBoost",
    "exponential_l2": "MCBoost-exp",
}  # squares in place of |W|_1; see `trials`
COMPARED = {
    "samme": "SAMME",
    "samme_error": "SAMME",
    "samme_leaves": "SAMME",
    "ecc": "AdaBoost.ECC",
    "ecc_cut": "AdaBoost.ECC",
    "mh": "AdaBoost.MH",
    "mh_real": "AdaBoost.MH",
    "gradboost": "GradBoost",
    "mo": "AdaBoost.MO",
    "mo_real": "AdaBoost.MO",
    "mo_own": "AdaBoost.MO",
}  # Table V's other columns
METHODS |= COMPARED
VARIANTS = {
    "_l2": ", l2",
    "_real": ", real",
    "_error": ", least error",
    "_leaves": ", three leaves",
    "_cut": ", max-cut",
    "_own": ", own learners",
}


def label(method: str) -> str:
    """The paper's name, or what it is a variant of."""
    return METHODS[method] + next((told for end, told in VARIANTS.items() if method.endswith(end)), "")


class Trial(NamedTuple):
    """One fit."""

    data: str
    method: str  # of METHODS
    nu: float = 1e-9
    eta: float = 0.5
    rounds: int = 500
    per_class: int = 50  # rows drawn; 0: all
    classes: int = 0  # 0: all
    repeat: int = 0

    def key(self) -> tuple[str, ...]:
        """As the file has it."""
        return tuple(f"{value:.6g}" if isinstance(value, float) else str(value) for value in self)


class Timed:
    """A step solver that adds up its seconds, after each round."""

    def __init__(self, solver: Any) -> None:
        self.solver, self.spent = solver, [0.0]

    @property
    def seconds(self) -> float:
        """After all rounds."""
        return self.spent[-1]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.solver, name)

    def solve(self, problem: Any) -> Any:
        start = time.process_time()
        step = self.solver.solve(problem)
        self.spent.append(self.spent[-1] + time.process_time() - start)
        return step


class _TimedSteps:
    """For `BoostedClassifier`: the recipe with a timed step, kept as `timed`."""

    def _recipe(self, costs: Any, thresholds: Any) -> Any:
        recipe = super()._recipe(costs, thresholds)  # type: ignore[misc]
        self.timed = Timed(recipe.solver)
        return recipe._replace(solver=self.timed)


class TimedStagewise(_TimedSteps, StagewiseMCBoostClassifier):
    __init__ = StagewiseMCBoostClassifier.__init__


class TimedMultiBoost(_TimedSteps, MultiBoostClassifier):
    __init__ = MultiBoostClassifier.__init__


def made(trial: Trial) -> Any:
    """The estimator of a trial."""
    n, seed = trial.rounds, trial.repeat
    if trial.method in ("samme", "samme_leaves"):
        tree = DecisionTreeClassifier(max_leaf_nodes=2 if trial.method == "samme" else 3)
        return AdaBoostClassifier(tree, n_estimators=n, random_state=seed)
    if trial.method == "samme_error":
        return LeastErrorSAMME(n)
    if trial.method in ("ecc", "ecc_cut"):
        colours = "random-half" if trial.method == "ecc" else "max-cut"
        return AdaBoostECCClassifier(n_estimators=n, colours=colours, random_state=seed)
    if trial.method in ("mh", "mh_real"):
        return AdaBoostMHClassifier(response="sign" if trial.method == "mh" else "real", n_estimators=n)
    if trial.method == "mo_own":
        return AdaBoostMOClassifier(response="own", code="exhaustive", n_estimators=n)
    if trial.method in ("mo", "mo_real"):
        response = "sign" if trial.method == "mo" else "real"
        return AdaBoostMOClassifier(response=response, n_estimators=n, random_state=seed)
    if trial.method == "gradboost":
        return GradBoostClassifier(nu=trial.nu, n_estimators=n)
    if trial.method.startswith("multiboost"):
        return TimedMultiBoost(nu=trial.nu, penalty="l2" if trial.method == "multiboost_l2" else "l1", n_estimators=n)
    loss, penalty = trial.method.removesuffix("_l2"), "l2" if trial.method.endswith("_l2") else "l1"
    return TimedStagewise(loss=loss, penalty=penalty, nu=trial.nu, learning_rate=trial.eta, n_estimators=n)


# -- data ------------------------------------------------------------------------------------------------------------
@lru_cache(maxsize=4)
def rows_of(name: str) -> tuple[Any, np.ndarray]:
    """Features (a sparse matrix for texts) and class codes of a whole set; of svmguide4 only half is public."""
    if name in PARTS:
        return load(name.removesuffix("_train")).official()[:2]
    if name not in TEXTS:
        data = load(name)
        return data.X, data.y
    with open((DATA / TEXTS[name]).with_name("labels.csv"), encoding="utf-8") as file:
        labels = [row["target"] for row in csv.DictReader(file)]
    return load_npz(DATA / TEXTS[name]), np.unique(labels, return_inverse=True)[1]


def split(trial: Trial) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test rows of a repeat."""
    return drawn(trial.data, trial.per_class, trial.classes, trial.repeat)


@lru_cache(maxsize=2)
def drawn(
    name: str, per_class: int, classes: int, repeat: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same for all fits of a repeat; kept, since the components of news take longer than a fit."""
    X, y = rows_of(name)
    rng = np.random.default_rng(repeat)
    chosen = np.arange(len(y))
    if classes:
        chosen = chosen[y < classes]
    if per_class:
        parts = [chosen[y[chosen] == k] for k in np.unique(y[chosen])]
        chosen = np.concatenate([rng.permutation(part)[:per_class] for part in parts])
    X, y = X[chosen], y[chosen]
    if name == "news":
        X = TfidfTransformer(sublinear_tf=True).fit_transform(X)
    if name in TEXTS:
        X = components(X, 0.9)
    return tuple(train_test_split(X, y, train_size=0.75, random_state=repeat))


def components(X: spmatrix, share: float) -> np.ndarray:
    """The principal components of a share of the variance, by the products of the rows: there are more columns."""
    products = (X @ X.T).toarray().astype(np.float64)
    means = products.mean(axis=0)
    variance, axes = eigh(products - means - means[:, None] + means.mean(), overwrite_a=True)
    variance, axes = np.maximum(variance[::-1], 0.0), axes[:, ::-1]
    last = int(np.searchsorted(np.cumsum(variance), share * variance.sum())) + 1
    return axes[:, :last] * np.sqrt(variance[:last])


# -- fits --------------------------------------------------------------------------------------------------------------
def run(trial: Trial) -> dict[str, Any]:
    """Test error after the checkpoints and at the end, and the seconds (of this thread) the coefficients took."""
    X, X_test, y, y_test = split(trial)
    start, model = time.process_time(), made(trial)
    marks = [c for c in CHECKPOINTS if c < trial.rounds] if trial.rounds == 1000 else []
    seconds = math.nan if trial.method in COMPARED else 0.0  # of the coefficients, which Tables III and IV tell of
    if trial.method.startswith(("multiboost", "gradboost")):
        curve = []
        for mark in [*marks, trial.rounds]:  # warm start: the model of these rounds, not the last model's first ones
            model.set_params(n_estimators=mark, warm_start=True).fit(X, y)
            if trial.method not in COMPARED:
                seconds += model.timed.seconds
            curve.append(100 * float(np.mean(model.predict(X_test) != y_test)))
    else:
        model.fit(X, y)
        if trial.method not in COMPARED:
            seconds = model.timed.seconds
        stages = [100 * float(np.mean(decided != y_test)) for decided in model.staged_predict(X_test)]
        stages = stages or [100 * float(np.mean(model.predict(X_test) != y_test))]
        curve = [stages[min(mark, len(stages)) - 1] for mark in [*marks, trial.rounds]]
    done = len(model.estimators_) if isinstance(model, AdaBoostClassifier) else model.n_iter_
    return {
        **trial._asdict(),
        "error": curve[-1],
        "seconds_w": seconds,
        "seconds_fit": time.process_time() - start,
        "rounds_done": done,
        "features": X.shape[1],
        "curve": ";".join(f"{e:.4g}" for e in curve),
    }


def choose(name: str, method: str) -> None:
    """Keep the cross-validated error of every nu of MultiBoost or GradBoost."""
    per_class = 50 if method == "multiboost" and name in names_of("IV", [name]) else ROWS.get(name, 0)
    X, _, y, _ = drawn(name, per_class, 0, 0)
    n_folds = 5 if method == "multiboost" else 3
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y))
    for nu in GRIDS[method]:
        start, errors = time.process_time(), []
        for fit, left in folds[: 1 if name in SLOW or (name, method) in ONE_FOLD else n_folds]:
            model = made(Trial(name, method, nu)).fit(X[fit], y[fit])
            errors.append(100 * float(np.mean(model.predict(X[left]) != y[left])))
        keep(
            CHOICES[method],
            {
                "data": name,
                "per_class": per_class,
                "nu": nu,
                "error": float(np.mean(errors)),
                "seconds": time.process_time() - start,
                "rounds_done": model.n_iter_,
            },
        )
        print(name, method, per_class, nu, f"{np.mean(errors):.2f} %", flush=True)


def chosen(method: str = "multiboost") -> dict[str, float]:
    """By set the nu of least error, of equals the largest, where all are kept; of a quick run one for all."""
    if is_quick():
        return dict.fromkeys((*UCI, *SMALL, *SLOW), QUICK_NU)
    errors: dict[str, dict[float, float]] = {}
    for row in kept(CHOICES[method]):
        errors.setdefault(row["data"], {})[float(row["nu"])] = float(row["error"])
    whole = {name: of for name, of in errors.items() if len(of) == len(GRIDS[method])}
    return {name: min(of, key=lambda nu: (of[nu], -nu)) for name, of in whole.items()}


def names_of(table: str, sets: list[str] | None) -> list[str]:
    """The sets of a table, or those of them asked for."""
    names = {"V": (*UCI, *PARTS), "IV": (*SMALL, "usps_train", "letter", *SLOW), "III": ("letter",)}.get(table, SMALL)
    return [name for name in names if (name in sets if sets else name not in (*PARTS, *SLOW))]


def trials(
    table: str, repeat: int, sets: list[str] | None, methods: list[str], nus: dict[str, dict[str, float]]
) -> Iterator[Trial]:
    """The fits of a table's repeat, given MultiBoost's and GradBoost's nu by set; of a quick run with few rounds."""
    for trial in _trials(table, repeat, sets, methods, nus):
        if not is_quick():
            yield trial
        elif trial.data != "letter" or trial.classes in QUICK_CLASSES:
            yield trial._replace(rounds=QUICK_ROUNDS)


def _trials(
    table: str, repeat: int, sets: list[str] | None, methods: list[str], nus: dict[str, dict[str, float]]
) -> Iterator[Trial]:
    methods = [m for m in methods if table == "V" or m not in COMPARED]
    stagewise = [m for m in methods if not m.startswith("multiboost")]
    for name in names_of(table, sets):
        for method in stagewise:
            if table == "I":
                yield from (Trial(name, method, nu=nu, repeat=repeat) for nu in NUS)
            elif table == "II":
                yield from (Trial(name, method, eta=eta, repeat=repeat) for eta in ETAS)
        for method in methods:
            given = {of: found.get(name) for of, found in nus.items()} | {"multiboost_l2": 1e-3}
            nu = given.get(method, 0.0 if method in COMPARED else 1e-9)
            if nu is None or (method == "mo_own" and name in MANY):
                continue
            if table == "III":
                yield from (Trial(name, method, nu, classes=k % 26, repeat=repeat) for k in (4, 8, 16, 26))
                # rows per class in training: a third more are drawn
                for n in (20, 50, 100, 200):
                    yield Trial(name, method, nu, per_class=round(n / 0.75), repeat=repeat)
            elif table == "IV":
                yield Trial(name, method, nu, repeat=repeat)
            elif table == "V":
                eta = 1.0 if method in COMPARED else 0.5
                yield Trial(name, method, nu, eta, rounds=1000, per_class=ROWS.get(name, 0), repeat=repeat)


# -- beside the paper --------------------------------------------------------------------------------------------------
def paper_values(table: str) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Mean and standard deviation by set, method and setting, where the tables of the papers are at hand."""
    path = DATA.parent / "papers" / "tables" / f"{PAPER[table]}.csv"
    if not path.is_file():
        return {}
    found = {}
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["metric"] != "test_error_percent" or not row["value"]:
                continue
            parts = dict(p.split("=") for p in row["protocol"].replace(",", ";").split("; ") if "=" in p)
            size = [f"{key}={value}" for key, value in parts.items() if key.startswith(("number", "training"))]
            setting = {"I": parts.get("nu"), "II": parts.get("eta"), "III": "".join(size)}
            cell = row["dataset"], row["method"], setting.get(table) or ""
            found[cell] = float(row["value"]), float(row["std"] or "nan")
    return found


def summary() -> list[dict[str, Any]]:
    """Mean, deviation and repeats of each cell, beside the paper's mean, and how many joint standard errors apart."""
    done = {tuple(row[field] for field in Trial._fields): row for row in kept(TRIALS)}
    nus, table_rows = {method: chosen(method) for method in CHOICES}, []
    for table in PAPER:
        paper = paper_values(table)
        cells: dict[Trial, list[dict[str, str]]] = {}
        for repeat in range(50):
            for trial in dict.fromkeys(trials(table, repeat, [*UCI, *SMALL, *PARTS, *SLOW], list(METHODS), nus)):
                if trial.key() in done:
                    cells.setdefault(trial._replace(repeat=0), []).append(done[trial.key()])
        for trial, rows in cells.items():
            table_rows.append(_line(table, trial, rows, paper))
    return table_rows


def _line(
    table: str, trial: Trial, rows: list[dict[str, str]], paper: dict[Any, tuple[float, float]]
) -> dict[str, Any]:
    errors = np.array([float(row["error"]) for row in rows])
    method = METHODS[trial.method]
    name = trial.data.removesuffix("_train")
    name = name if table == "V" else PAPER_NAMES.get(name, name)
    setting = ""
    if table == "I":
        setting = dict(zip(NUS, ("0", "1e-9", "1e-4", "1e-2", "1e-1"), strict=True)).get(trial.nu, f"{trial.nu:g}")
    elif table == "II":
        setting = str(trial.eta)
    elif table == "III":
        setting = (
            f"number of classes={trial.classes or 26}"
            if trial.per_class == 50
            else (f"training samples per class={round(0.75 * trial.per_class)}")
        )
    theirs, spread = paper.get((name, method, setting), (math.nan, math.nan))
    error = float(errors.std(ddof=1) / len(errors) ** 0.5) if len(errors) > 1 else math.nan
    joint = math.hypot(error, spread / 50**0.5)  # the paper's: 50 repeats
    return {
        "table": table,
        "data": trial.data,
        "method": label(trial.method),
        "setting": setting,
        "repeats": len(errors),
        "error": float(errors.mean()),
        "std": float(errors.std(ddof=1)) if len(errors) > 1 else math.nan,
        "paper_error": theirs,
        "paper_std": spread,
        "joint_errors_apart": (float(errors.mean()) - theirs) / joint,
        "seconds_w": float(np.mean([float(row["seconds_w"]) for row in rows])),
        "rounds_done": float(np.mean([float(row["rounds_done"]) for row in rows])),
    }


def signed_ranks(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Section IV-B's test on Table IV's sets; the paper's statistics are of eight, and below 4 is significant there."""
    found = {(row["data"], row["method"]): row["error"] for row in rows if row["table"] == "IV"}
    lines = []
    for (method, printed), other in itertools.product(SIGNED_RANKS.items(), ("multiboost", "multiboost_l2")):
        first, second = label(method), label(other)
        names = [name for name in (*SMALL, "letter", *SLOW) if (name, first) in found and (name, second) in found]
        if names:
            rank, p = signed_rank(*([found[name, each] for name in names] for each in (first, second)))
            lines.append(
                {
                    "first": first,
                    "second": second,
                    "sets": len(names),
                    "statistic": rank,
                    "p": p,
                    "first_lower_on": sum(found[name, first] < found[name, second] for name in names),
                    "paper_statistic": printed if other == "multiboost" else math.nan,
                }
            )
    return lines


def draw() -> None:
    """Figure 3: mean test error after each number of rounds of Table V."""
    import matplotlib.pyplot as plt

    lines = [
        row for row in kept(TRIALS) if row["rounds"] == "1000" and row["per_class"] == str(ROWS.get(row["data"], 0))
    ]
    sets = [name for name in UCI if any(row["data"] == name for row in lines)]
    if not sets:
        return
    across, colours = min(5, len(sets)), list(dict.fromkeys(METHODS.values()))
    down = math.ceil(len(sets) / across)
    figure, axes = plt.subplots(down, across, figsize=(2.6 * across, 2.3 * down), layout="constrained", squeeze=False)
    for axis, name in itertools.zip_longest(axes.flat, sets):
        if name is None:
            axis.axis("off")
            continue
        for method, called in METHODS.items():
            curves = [
                list(map(float, row["curve"].split(";")))
                for row in lines
                if (row["data"], row["method"]) == (name, method)
            ]
            if curves:  # a variant has the colour of what it is a variant of
                axis.semilogx(
                    CHECKPOINTS,
                    np.mean(curves, axis=0),
                    color=f"C{colours.index(called)}",
                    lw=1.3,
                    ls=(0, (2, 1)) if method.endswith(tuple(VARIANTS)) else "-",
                    label=label(method),
                )
        axis.set_title(name, fontsize=10)
        axis.grid(alpha=0.3)
    for axis in axes[:, 0]:
        axis.set_ylabel("test error, %")
    handles = {name: line for axis in axes.flat for line, name in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=5, frameon=False)
    figure.suptitle("Test error against rounds (stumps)", fontsize=11)
    save_picture(figure, "stagewise_rounds")


def main() -> None:
    options = parser(__doc__, "10 rounds of every table on iris, wine and some letters, one nu for MultiBoost")
    options.add_argument("--tables", nargs="+", choices=tuple(PAPER), default=list(PAPER))
    options.add_argument("--sets", nargs="+")
    options.add_argument("--methods", nargs="+", choices=tuple(METHODS), default=list(METHODS)[:3])
    options.add_argument("--repeats", type=int, nargs="+", default=[0, 20], help="how many, or from and to")
    options.add_argument(
        "--choose",
        action="store_true",
        help="only cross-validate MultiBoost's nu of these sets, or GradBoost's if --methods has it",
    )
    options.add_argument("--summary", action="store_true", help="only put what is there beside the paper")
    arguments = options.parse_args()
    first, last = [0, *arguments.repeats][-2:]
    if arguments.quick:
        arguments.sets, last = arguments.sets or QUICK_SETS, first + 1
        arguments.methods = [*arguments.methods, *(method for method in COMPARED if method not in arguments.methods)]
    if arguments.choose:
        method = "gradboost" if "gradboost" in arguments.methods else "multiboost"
        known = chosen(method)
        for name in dict.fromkeys(name for table in arguments.tables for name in names_of(table, arguments.sets)):
            if name not in known:
                choose(name, method)
        return
    nus = {method: chosen(method) for method in CHOICES}
    done = {tuple(row[field] for field in Trial._fields) for row in kept(TRIALS)}
    for repeat in range(first, first if arguments.summary else last):
        for table in arguments.tables:
            for trial in trials(table, repeat, arguments.sets, arguments.methods, nus):
                if trial.key() not in done:
                    done.add(trial.key())
                    row = run(trial)
                    keep(TRIALS, row)
                    print(*trial, f"{row['error']:.2f} %, {row['seconds_fit']:.2f} s", flush=True)
    table = summary()
    if not table:
        sys.exit("There are no fits to put beside the paper yet.")
    save("stagewise", table)
    show(table)
    if ranks := signed_ranks(table):
        save("stagewise_tests", ranks)
        show(ranks)
    if arguments.summary:
        draw()


if __name__ == "__main__":
    main()
