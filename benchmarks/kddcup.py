"""KDD Cup 1999 with its official costs: mean cost on the official test set, against the winner's 0.2331.

The test set has attack types that the training rows lack, and other class frequencies; that much was known. Every
choice is made on the training rows, by leaving attack types out:

* Of each class with several attack types a quarter of the types is left out of training altogether, of the other types
  (and of normal rows) a quarter of the rows. A row counts once however often it is repeated.
* A choice's figure is the mean cost of the left-out rows, all types of a class counting alike, types left out
  altogether with 14/38 and the others with 24/38 (14 of the contest's 38 attack types are new in the test set), classes
  with `expected_shares`: half the training rows' frequencies, half uniform, as the test's are not to be known.

Preparations:

* raw: the 494 021 rows as they are, decision of least expected cost under the probabilities;
* prior: the same fit, but the probabilities are corrected from the training rows' frequencies to `expected_shares`;
* chosen: distinct rows, at most `MOST` of each type; weights that favour rare types and classes (exponent); with or
  without the ten dst_host features; the default or a stronger regularisation; softer probabilities (a temperature, and
  a share of the training weights' class frequencies mixed in), corrected to `expected_shares`. Every learner has its
  own choice from the same grid.

The line to be judged is minrisk or minrisk plain (no challengers), chosen: whichever has the lower figure on the
training rows. After all choices the test set is used once for every line of the table.
`--again` makes the choices of some learners anew and keeps those of the others; every line is fitted and judged anew.
`--explain` then changes one part of the chosen preparations at a time; nothing is chosen by what it finds.
`--quick` has a few of the training rows for a test set.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common import (
    DATA,
    coded,
    few_rows,
    is_quick,
    kept,
    least_expected,
    load,
    mean_cost,
    parser,
    save,
    show,
    there,
)

WINNER = 0.2331
TRAINING = 494_021  # rows, the first of the file
QUICK_ROWS = 500  # or about as many: what a quick run draws of them
NEW_TYPES = 14 / 38
MOST = {"normal": 6000, "attack": 1000}  # distinct rows of a type that are trained on
LEFT_OUT = {"normal": 4000, "attack": 1000}  # and that are judged, in one part of the validation
N_PARTS = 4
FEATURES = {"all": 41, "without dst_host": 31}  # the dst_host features are the last ten
EXPONENTS = (0.5, 0.0, 1.0)
TEMPERATURES = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
MIXED_IN = (0.0, 0.01, 0.05, 0.1, 0.2)


# -- data ----------------------------------------------------------------------------------------------------------
class Rows(NamedTuple):
    X: np.ndarray
    y: np.ndarray  # class codes
    kind: np.ndarray  # attack type; "normal" for the others

    def take(self, chosen: np.ndarray) -> Rows:
        return Rows(self.X[chosen], self.y[chosen], self.kind[chosen])

    def distinct(self) -> Rows:
        """Each combination of features and type once, in order of first appearance."""
        codes = np.unique(self.kind, return_inverse=True)[1]
        first = np.unique(np.column_stack([self.X, codes]), axis=0, return_index=True)[1]
        return self.take(np.sort(first))


class Contest(NamedTuple):
    train: Rows
    test: Rows
    names: list[str]
    cost: np.ndarray

    @property
    def expected_shares(self) -> np.ndarray:
        """Class frequencies to be prepared for."""
        shares: np.ndarray = 0.5 * shares_of(self.train.y) + 0.5 / len(self.names)
        return shares


def contest(quick: bool) -> Contest:
    import pandas as pd

    if not (DATA / "kddcup99.csv.gz").is_file():
        sys.exit(f"The contest's data are not in {DATA}, and nothing can take their place: set MINRISK_DATA.")
    table = pd.read_csv(DATA / "kddcup99.cost.csv", index_col=0)
    names = sorted(table.columns)  # as the codes of `load`
    kinds = pd.read_csv(DATA / "kddcup99.attack_type.csv.gz")["attack_type"].to_numpy().astype(str)
    if quick:  # of the training rows, which come first
        chosen = few_rows(kinds[:TRAINING], QUICK_ROWS)
        wanted = {0, *(1 + chosen).tolist()}  # lines of the file, its header among them
        frame = pd.read_csv(DATA / "kddcup99.csv.gz", skiprows=lambda line: line not in wanted, nrows=len(chosen))
        y = np.searchsorted(names, frame["target"].to_numpy().astype(str))
        rows = Rows(coded(frame.drop(columns=["target", "split"])), y, kinds[chosen])
        tested = np.concatenate([np.flatnonzero(rows.kind == kind)[::3] for kind in np.unique(rows.kind)])
        train, test = rows.take(np.setdiff1d(np.arange(len(y)), tested)), rows.take(tested)
    else:
        data = load("kddcup99")
        assert data.training is not None
        rows = Rows(data.X, data.y, kinds)
        train, test = (rows.take(np.flatnonzero(part)) for part in (data.training, ~data.training))
    return Contest(train, test, names, table.loc[names, names].to_numpy(dtype=np.float64))


def shares_of(y: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    counted = np.bincount(y, weight, minlength=5)
    return np.asarray(counted / counted.sum())


def thinned(rows: np.ndarray, kind: str, most: dict[str, int]) -> np.ndarray:
    return rows[: most["normal" if kind == "normal" else "attack"]]


# -- learners ------------------------------------------------------------------------------------------------------
def _minrisk(seed: int, **more: Any) -> Any:
    from minrisk import MinRiskClassifier

    return MinRiskClassifier(random_state=seed, n_jobs=1, **more)


def _plain(seed: int, **more: Any) -> Any:
    return _minrisk(seed, pool=False, **more)


def _lightgbm(seed: int, **more: Any) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, n_jobs=1, verbosity=-1, **more)


def _xgboost(seed: int, **more: Any) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(tree_method="hist", random_state=seed, n_jobs=1, verbosity=0, **more)


def _histogram(seed: int, **more: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed, **more)


def _forest(seed: int, **more: Any) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(random_state=seed, n_jobs=1, **more)


class Learner(NamedTuple):
    """Defaults, and one parameter with a stronger value."""

    make: Callable[..., Any]
    package: str
    stronger: dict[str, Any]


LEARNERS = {
    "minrisk": Learner(_minrisk, "minrisk", {"smoothing": 0.05}),
    "minrisk plain": Learner(_plain, "minrisk", {"smoothing": 0.05}),  # without challengers
    "lightgbm": Learner(_lightgbm, "lightgbm", {"reg_lambda": 10.0}),
    "xgboost": Learner(_xgboost, "xgboost", {"reg_lambda": 10.0}),
    "histogram": Learner(_histogram, "scikit-learn", {"l2_regularization": 10.0}),
    "forest": Learner(_forest, "scikit-learn", {"min_samples_leaf": 3}),
}


def installed_learners() -> list[str]:
    return there({name: learner.package.replace("scikit-learn", "sklearn") for name, learner in LEARNERS.items()})


# -- preparation ---------------------------------------------------------------------------------------------------
class Fitting(NamedTuple):
    exponent: float
    features: str
    stronger: bool


class Deciding(NamedTuple):
    temperature: float
    mixed_in: float


def candidates() -> list[Fitting]:
    """Exponents with all else at its default, and the other options with the first exponent."""
    others = itertools.product(FEATURES, (False, True))
    if is_quick():
        return [Fitting(EXPONENTS[0], "all", False)]
    return [*(Fitting(EXPONENTS[0], *other) for other in others), *(Fitting(e, "all", False) for e in EXPONENTS[1:])]


def weights(rows: Rows, stands_for: np.ndarray, exponent: float) -> np.ndarray:
    """A class of N distinct rows weighs N^(1 - exponent); so do the types within a class, relative to each other."""
    weight = np.empty(len(rows.y))
    for code in np.unique(rows.y):
        of_class = rows.y == code
        share = {kind: stands_for[rows.kind == kind].sum() ** (1 - exponent) for kind in np.unique(rows.kind[of_class])}
        scale = stands_for[of_class].sum() ** (1 - exponent) / sum(share.values())
        for kind, part in share.items():
            own = rows.kind == kind
            weight[own] = stands_for[own] / stands_for[own].sum() * part * scale
    return weight / weight.mean()


def fit(name: str, fitting: Fitting, rows: Rows, stands_for: np.ndarray, seed: int = 0) -> tuple[Any, np.ndarray]:
    """The fitted learner, and the classes' shares of the weight."""
    learner = LEARNERS[name]
    weight = weights(rows, stands_for, fitting.exponent)
    model = learner.make(seed, **(learner.stronger if fitting.stronger else {}))
    model.fit(rows.X[:, : FEATURES[fitting.features]], rows.y, sample_weight=weight)
    return model, shares_of(rows.y, weight)


def prepared(rows: Rows, seed: int = 0) -> tuple[Rows, np.ndarray]:
    """Distinct rows, at most `MOST` of each type, and how many each one stands for."""
    distinct, rng = rows.distinct(), np.random.default_rng(seed)
    own = {kind: rng.permutation(np.flatnonzero(distinct.kind == kind)) for kind in np.unique(distinct.kind)}
    kept = {kind: thinned(chosen, kind, MOST) for kind, chosen in own.items()}
    stands_for = np.concatenate([np.full(len(kept[kind]), len(own[kind]) / len(kept[kind])) for kind in own])
    return distinct.take(np.concatenate(list(kept.values()))), stands_for


def decide(p: np.ndarray, shares: np.ndarray, deciding: Deciding, expected: np.ndarray, cost: np.ndarray) -> np.ndarray:
    p = np.clip(p, 1e-9, 1.0) ** (1 / deciding.temperature)
    p = (1 - deciding.mixed_in) * p / p.sum(axis=1, keepdims=True) + deciding.mixed_in * shares
    return least_expected(p * (expected / shares), cost)


# -- choices, on training rows ---------------------------------------------------------------------------------------
class Part(NamedTuple):
    """One part of the validation."""

    train: Rows
    stands_for: np.ndarray  # distinct rows that each one stands for
    judged: Rows
    new: np.ndarray  # whether its type was left out altogether


def parts(rows: Rows, n_seeds: int) -> Iterator[Part]:
    """Leave attack types out."""
    kinds = {code: np.unique(rows.kind[rows.y == code]) for code in np.unique(rows.y)}
    for seed, part in itertools.product(range(n_seeds), range(1 if is_quick() else N_PARTS)):
        rng = np.random.default_rng([seed, part])
        train, stands_for, judged, new = [], [], [], []
        for code, names in kinds.items():
            order = np.random.default_rng([seed, code]).permutation(names)
            for i, kind in enumerate(order):
                own = rng.permutation(np.flatnonzero(rows.kind == kind))
                gone = len(names) > 1 and (i + code) % N_PARTS == part
                cut = len(own) if gone else len(own) // 4
                judged.append(thinned(own[:cut], kind, LEFT_OUT))
                new.append(np.full(len(judged[-1]), gone))
                train.append(thinned(own[cut:], kind, MOST))
                stands_for.append(np.full(len(train[-1]), (len(own) - cut) / max(1, len(train[-1]))))
        chosen = (np.concatenate(group) for group in (train, judged))
        trained, left_out = (rows.take(part_rows) for part_rows in chosen)
        yield Part(trained, np.concatenate(stands_for), left_out, np.concatenate(new))


def validated(found: list[tuple[Part, np.ndarray]], data: Contest) -> float:
    """The figure described above, of the decisions about each part's left-out rows."""
    by_type: dict[tuple[int, bool, str], list[float]] = {}
    for part, decided in found:
        paid = data.cost[part.judged.y, decided]
        for kind in np.unique(part.judged.kind):
            own = part.judged.kind == kind
            key = (int(part.judged.y[own][0]), bool(part.new[own][0]), str(kind))
            by_type.setdefault(key, []).append(float(paid[own].mean()))
    total = 0.0
    for code, share in enumerate(data.expected_shares):
        known, new = ([np.mean(v) for key, v in by_type.items() if key[:2] == (code, flag)] for flag in (False, True))
        mean = (1 - NEW_TYPES) * np.mean(known) + NEW_TYPES * np.mean(new) if new else np.mean(known)
        total += float(share * mean)
    return total


def choose(name: str, data: Contest, drawn: list[Part]) -> tuple[Fitting, Deciding, list[dict[str, Any]]]:
    """Least validated cost over fits and decisions."""
    tried, best, least = [], None, np.inf
    grid = [Deciding(*pair) for pair in itertools.product(TEMPERATURES, MIXED_IN)]
    for fitting in candidates():
        begun = time.perf_counter()
        answers = []
        for part in drawn:
            model, shares = fit(name, fitting, part.train, part.stands_for)
            answers.append((part, model.predict_proba(part.judged.X[:, : FEATURES[fitting.features]]), shares))
        judged = {
            deciding: validated(
                [(part, decide(p, shares, deciding, data.expected_shares, data.cost)) for part, p, shares in answers],
                data,
            )
            for deciding in grid
        }
        chosen = min(grid, key=judged.__getitem__)
        tried.append(
            {
                "learner": name,
                **_words(name, fitting, chosen),
                "validated_cost": judged[chosen],
                "without_softening": judged[Deciding(1.0, 0.0)],
                "seconds": time.perf_counter() - begun,
            }
        )
        show(tried[-1:])
        if judged[chosen] < least:
            best, least = (fitting, chosen), judged[chosen]
    assert best is not None
    return *best, tried


def _words(name: str, fitting: Fitting, deciding: Deciding) -> dict[str, Any]:
    learner = LEARNERS[name]
    setting = " ".join(f"{key}={value}" for key, value in learner.stronger.items()) if fitting.stronger else "defaults"
    return {
        "exponent": fitting.exponent,
        "features": fitting.features,
        "setting": setting,
        "temperature": deciding.temperature,
        "mixed_in": deciding.mixed_in,
    }


# -- the table -----------------------------------------------------------------------------------------------------
class Line(NamedTuple):
    row: dict[str, Any]
    decided: np.ndarray


def judged_lines(name: str, fitting: Fitting, deciding: Deciding, data: Contest) -> Iterator[Line]:
    """The three preparations, each with its decisions about the test set."""

    def line(preparation: str, decided: np.ndarray, spent: float, **more: Any) -> Line:
        return Line(
            {
                "learner": name,
                "version": version(LEARNERS[name].package),
                "preparation": preparation,
                "mean_cost": mean_cost(data.cost, data.test.y, decided),
                "error_percent": 100.0 * float(np.mean(decided != data.test.y)),
                "fit_seconds": spent,
                **dict.fromkeys(("exponent", "features", "setting", "temperature", "mixed_in"), ""),
                **more,
            },
            decided,
        )

    begun = time.perf_counter()
    raw = LEARNERS[name].make(0).fit(data.train.X, data.train.y)
    spent = time.perf_counter() - begun
    p = raw.predict_proba(data.test.X)
    yield line("raw", least_expected(p, data.cost), spent)
    shares = shares_of(data.train.y)
    yield line("prior", decide(p, shares, Deciding(1.0, 0.0), data.expected_shares, data.cost), spent)

    begun = time.perf_counter()
    model, shares = fit(name, fitting, *prepared(data.train))
    spent = time.perf_counter() - begun
    p = model.predict_proba(data.test.X[:, : FEATURES[fitting.features]])
    yield line(
        "chosen", decide(p, shares, deciding, data.expected_shares, data.cost), spent, **_words(name, fitting, deciding)
    )


def confusion(found: Line, data: Contest) -> list[dict[str, Any]]:
    counts = np.zeros((5, 5), dtype=np.int64)
    np.add.at(counts, (data.test.y, found.decided), 1)
    head = {key: found.row[key] for key in ("learner", "preparation")}
    return [
        {**head, "true": name, **dict(zip(data.names, map(int, row), strict=True))}
        for name, row in zip(data.names, counts, strict=True)
    ]


def by_type(found: list[Line], data: Contest) -> list[dict[str, Any]]:
    """What each attack type contributes to the mean cost, most first."""
    known = set(data.train.kind)
    rows = []
    for kind in np.unique(data.test.kind):
        own = data.test.kind == kind
        paid = {
            f"{line.row['learner']}, {line.row['preparation']}": float(
                data.cost[data.test.y[own], line.decided[own]].sum() / len(own)
            )
            for line in found
        }
        rows.append(
            {
                "type": kind,
                "class": data.names[data.test.y[own][0]],
                "rows": int(own.sum()),
                "in_training": int((data.train.kind == kind).sum()) if kind in known else 0,
                **paid,
            }
        )
    return sorted(rows, key=lambda row: -row["minrisk, chosen"])


# -- what made the difference, after the fact ------------------------------------------------------------------------
def kept_choices() -> dict[str, tuple[Fitting, Deciding]]:
    """The choices of the last run; of a quick run, which has none, the same for all."""
    if is_quick():
        return {name: (candidates()[0], Deciding(2.0, 0.01)) for name in installed_learners()}
    rows = [row for row in kept("kddcup") if row["preparation"] == "chosen"]
    if not rows:
        raise SystemExit("There are no choices to explain: run python -m benchmarks.kddcup first.")
    return {
        row["learner"]: (
            Fitting(float(row["exponent"]), row["features"], row["setting"] != "defaults"),
            Deciding(float(row["temperature"]), float(row["mixed_in"])),
        )
        for row in rows
    }


def explain(choices: dict[str, tuple[Fitting, Deciding]], data: Contest, n_seeds: int) -> list[dict[str, Any]]:
    """The chosen preparation with one part changed, each with several draws of rows and seeds of the learner."""
    rows = []
    for name, (fitting, deciding) in choices.items():
        other = next(features for features in FEATURES if features != fitting.features)
        fits = {
            "as chosen": fitting,
            f"features: {other}": fitting._replace(features=other),
            "the other regularisation": fitting._replace(stronger=not fitting.stronger),
            "exponent 0": fitting._replace(exponent=0.0),
        }
        costs: dict[str, list[float]] = {}
        for changed, altered in fits.items():
            for seed in range(n_seeds):
                model, shares = fit(name, altered, *prepared(data.train, seed), seed)
                p = model.predict_proba(data.test.X[:, : FEATURES[altered.features]])
                decisions = {changed: decide(p, shares, deciding, data.expected_shares, data.cost)}
                if altered == fitting:
                    decisions["no softening"] = decide(p, shares, Deciding(1, 0), data.expected_shares, data.cost)
                    decisions["training frequencies expected"] = decide(
                        p, shares, deciding, shares_of(data.train.y), data.cost
                    )
                for what, decided in decisions.items():
                    costs.setdefault(what, []).append(mean_cost(data.cost, data.test.y, decided))
        rows += [
            {
                "learner": name,
                "changed": what,
                "mean_cost": float(np.mean(found)),
                "least": min(found),
                "most": max(found),
                "draws": n_seeds,
            }
            for what, found in costs.items()
        ]
        show(rows[-len(costs) :])
    return rows


def main() -> None:
    options = parser(__doc__, "some training rows of each attack type, a third of them to test on, one part, one fit")
    options.add_argument("--explain", action="store_true", help="change one part of the last run's choices at a time")
    options.add_argument(
        "--again",
        action="append",
        default=[],
        choices=LEARNERS,
        metavar="LEARNER",
        help="choose anew for this learner; the others keep their choices of the last run",
    )
    arguments = options.parse_args()
    data = contest(arguments.quick)
    if arguments.explain:
        save("kddcup_explained", explain(kept_choices(), data, 3))
        return
    drawn = list(parts(data.train.distinct(), 1 if arguments.quick else 2))
    choices, tried = {}, []
    if arguments.again:
        choices = kept_choices()
        for name in arguments.again:
            choices.pop(name, None)
        before = kept("kddcup_choices")
        tried = [row for row in before if row["learner"] in choices]
    for name in (learner for learner in installed_learners() if learner not in choices):
        *choices[name], more = choose(name, data, drawn)
        tried += more
        save("kddcup_choices", tried)
    found: list[Line] = []
    for name in choices:
        for line in judged_lines(name, *choices[name], data):
            found.append(line)
            show([line.row], list(line.row)[:6])
    for line in found:
        line.row["winner"] = WINNER
    save("kddcup", [line.row for line in found])
    save("kddcup_confusion", [row for line in found for row in confusion(line, data)])
    save("kddcup_types", by_type(found, data))


if __name__ == "__main__":
    main()
