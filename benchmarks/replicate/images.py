"""The papers' image sets by their protocols, on features of one's own: REBEL's Figures 5 and 6, and Scene-15.

PATH is a folder. NAME.npz holds X_train, y_train, X_test and y_test, or X and y; NAME.csv is the taxonomy, with columns
``class,parent`` (a row for each node; the root has no row) or ``class`` and a column for each level, the outermost
first. A mistake costs the length of the way from class to class in the tree. Costs are scaled so that random guessing
costs as much as it errs, (K - 1) / K, as in REBEL's Section 5.2. Depth and rounds, or C and gamma, are chosen on a
quarter of the training rows, then all of them are trained on; the paper cross-validates.

- ``sun`` (REBEL, Figure 5): five random splits 75/25, up to 200 weak learners of depth 1 to 4.
- ``cub`` (REBEL, Figure 6): the set's own split, up to 2500 weak learners; the least value on the test rows counts.
- ``scene`` (stage-wise MCBoost, Table VIII): 100 training rows of each class, the others test, five repeats, 1000
  stumps, 0/1 costs.

The papers' images can't be had. Without PATH three other sets are made in ``build/images``: isolet's letters by their
rhyme, USPS, and MNIST by histograms of gradients, both digits by their strokes. They have up to 100 training and 100
test rows of each class, about as many as the papers' sets.
"""

from __future__ import annotations

import csv
import itertools
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.common import ROOT, kept, least_expected, load, mean_cost, parser, results, save, show
from benchmarks.replicate.baselines import stages
from benchmarks.replicate.stagewise_mnist import features
from minrisk import (
    AdaBoostECCClassifier,
    AdaBoostMHClassifier,
    AdaBoostSIPClassifier,
    AOSOLogitBoostClassifier,
    MultiBoostClassifier,
    REBELClassifier,
    StagewiseMCBoostClassifier,
)
from minrisk.costs import from_taxonomy

DIGITS = {"loop": "0689", "straight": "147", "bow": "235"}
LETTERS = {"ee": "BCDEGPTVZ", "ay": "AHJK", "e first": "FLMNSX", "oo": "QUW", "eye": "IY", "oh": "O", "ar": "R"}
MADE = {"isolet": LETTERS, "usps": DIGITS, "mnist": DIGITS}
ROWS = 100  # of each class and part
CELL = ("protocol", "data", "method", "trained_on")
BOOSTERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "REBEL": (REBELClassifier, {}),
    "AdaBoost.MH": (AdaBoostMHClassifier, {"response": "sign"}),
    "AdaBoost.ECC": (AdaBoostECCClassifier, {"random_state": 0}),
    "AdaBoost.SIP": (AdaBoostSIPClassifier, {}),
    "AOSO-LogitBoost": (AOSOLogitBoostClassifier, {}),
    "CW-Boost": (MultiBoostClassifier, {"keep_stages": True}),
    "MultiBoost": (MultiBoostClassifier, {}),
    "MCBoost-log": (StagewiseMCBoostClassifier, {"loss": "logistic"}),
    "MCBoost-exp": (StagewiseMCBoostClassifier, {"loss": "exponential"}),
}
COSTLESS = ("1-vs-all AdaBoost", "1-vs-all SVM", "SVM", "linear SVM")  # trained without costs, judged by both


class Protocol(NamedTuple):
    """How a figure was made."""

    repeats: int
    training: float  # share of the rows, or rows of each class; 0: the set's own
    rounds: int
    depths: tuple[int, ...]
    choice: str  # of rounds: "validation", "test" or "last"
    costs: tuple[str, ...]
    methods: tuple[str, ...]


BOTH = ("0/1", "taxonomy")
PROTOCOLS = {
    "sun": Protocol(
        5,
        0.75,
        200,
        (1, 2, 3, 4),
        "validation",
        BOTH,
        ("AdaBoost.MH", "AdaBoost.ECC", "1-vs-all SVM", "SVM", "random forest", "REBEL"),
    ),
    "cub": Protocol(
        1,
        0,
        2500,
        (1, 2, 3, 4),
        "test",
        BOTH,
        ("1-vs-all AdaBoost", "SVM", "1-vs-all SVM", "AOSO-LogitBoost", "CW-Boost", "random forest", "REBEL"),
    ),
    "scene": Protocol(
        5,
        100,
        1000,
        (1,),
        "last",
        ("0/1",),
        (
            "linear SVM",
            "SVM",
            "AdaBoost.SIP",
            "AdaBoost.ECC",
            "AdaBoost.MH",
            "MultiBoost",
            "MCBoost-log",
            "MCBoost-exp",
        ),
    ),
}


# -- sets --------------------------------------------------------------------------------------------------------------
def make(folder: Path, name: str) -> None:
    """Write one of `MADE`: rows drawn from both parts of its split, and its taxonomy."""
    data, rng = load(name), np.random.default_rng(0)
    assert data.training is not None
    groups, parts = MADE[name], {}
    labels = np.array(list(string.ascii_uppercase if name == "isolet" else string.digits))
    for part, rows in (("train", data.training), ("test", ~data.training)):
        mixed = rng.permutation(np.flatnonzero(rows))
        chosen = np.concatenate([mixed[data.y[mixed] == k][:ROWS] for k in range(data.n_classes)])
        parts |= {
            f"X_{part}": features(data.X[chosen]) if name == "mnist" else data.X[chosen],
            f"y_{part}": labels[data.y[chosen]],
        }
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / f"{name}.npz", **parts)
    with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("class", "group"), *((one, group) for group, of in groups.items() for one in of)])


def taxonomic_costs(path: Path, classes: list[str]) -> np.ndarray:
    """Costs (K, K) from a table of a taxonomy; random guessing costs (K - 1) / K."""
    with open(path, newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    levels = [name for name in lines[0] if name != "class"]
    parents = {line["class"]: line["parent"] for line in lines} if levels == ["parent"] else {}
    tree: dict[str, Any] = {}
    for line in lines:
        above = [line[name] for name in levels]
        while above[0] in parents:
            above.insert(0, parents[above[0]])
        node = tree
        for name in (*filter(None, above), line["class"]):
            node = node.setdefault(name, {})
    climbs = from_taxonomy(tree, classes=classes).values
    way = climbs + climbs.T
    return np.asarray(way * (1 - 1 / len(classes)) / way.mean())


def split_of(parts: Any, protocol: Protocol, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training rows with their labels, and test rows."""
    if not protocol.training and "X_train" in parts:
        return parts["X_train"], parts["y_train"], parts["X_test"], parts["y_test"]
    X, y = (np.concatenate([parts[key] for key in parts if key.startswith(kind)]) for kind in ("X", "y"))
    share = protocol.training or 0.5
    if share < 1:
        X, X_test, y, y_test = train_test_split(X, y, train_size=share, stratify=y, random_state=seed)
        return X, y, X_test, y_test
    mixed, n = np.random.default_rng(seed).permutation(len(y)), int(share)  # n of each class, however large it is
    of_class = [mixed[y[mixed] == k] for k in np.unique(y)]
    if min(map(len, of_class)) <= n:
        raise ValueError(f"{n} rows of each class are trained on: there must be more of each.")
    train, test = (np.concatenate(rows) for rows in zip(*((rows[:n], rows[n:]) for rows in of_class), strict=True))
    return X[train], y[train], X[test], y[test]


# -- methods -----------------------------------------------------------------------------------------------------------
def candidates(method: str, cost: np.ndarray | None, protocol: Protocol, jobs: int) -> list[Any]:
    """Estimators of which the validation rows choose one."""
    rounds = protocol.rounds
    if method == "1-vs-all AdaBoost":
        return [OneVsRestClassifier(one) for one in candidates("AdaBoost.MH", None, protocol, jobs)]
    if method in BOOSTERS:
        kind, options = BOOSTERS[method]
        trees = [{"max_depth": depth} for depth in protocol.depths]
        if "weak_learner" in kind().get_params():
            trees = [each | {"weak_learner": "tree" if each["max_depth"] > 1 else "stump"} for each in trees]
        return [kind(cost, n_estimators=rounds, n_jobs=jobs, **options | each) for each in trees]
    if method == "random forest":
        return [
            RandomForestClassifier(n, max_depth=depth, random_state=0, n_jobs=jobs)
            for n in (rounds // 2, rounds)
            for depth in (5, 7)
        ]
    machines = (
        [SVC(C=10.0**c, kernel="linear") for c in range(-3, 2)]
        if method == "linear SVM"
        else [SVC(C=10.0**c, gamma=10.0**g) for c in range(3) for g in range(-4, -1)]
    )
    return [
        make_pipeline(StandardScaler(), OneVsRestClassifier(one) if method.startswith("1-vs") else one)
        for one in machines
    ]


def decisions(model: Any, X: np.ndarray, table: np.ndarray) -> Iterator[np.ndarray]:
    """After each round, or once."""
    if hasattr(model, "staged_predict") or isinstance(model, OneVsRestClassifier):
        yield from stages(model, X)
    elif isinstance(model, RandomForestClassifier):
        yield least_expected(model.predict_proba(X), table)
    else:
        yield model.predict(X)


def judged(method: str, kind: str, costs: np.ndarray, protocol: Protocol, data: Any, jobs: int) -> dict[str, float]:
    """Test error and cost of the candidate of least cost on the validation rows, trained on all training rows."""
    X, y, X_test, y_test = data
    table = costs if kind == "taxonomy" else 1.0 - np.eye(len(costs))
    tried = candidates(method, table if kind == "taxonomy" else None, protocol, jobs)
    best, last = 0, None
    if protocol.choice == "validation" or len(tried) > 1:
        part, held, y_part, y_held = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
        curves = [[mean_cost(table, y_held, d) for d in decisions(one.fit(part, y_part), held, table)] for one in tried]
        best = int(np.argmin([min(curve) for curve in curves]))
        last = int(np.argmin(curves[best])) if protocol.choice == "validation" else None
    made = list(decisions(tried[best].fit(X, y), X_test, table))
    errors, paid = (np.array([mean_cost(by, y_test, d) for d in made]) for by in (1.0 - np.eye(len(costs)), costs))
    if protocol.choice == "test":
        return {"rounds": len(made), "error": float(errors.min()), "cost": float(paid.min())}
    chosen = len(made) - 1 if last is None else min(last, len(made) - 1)
    return {"rounds": chosen + 1, "error": float(errors[chosen]), "cost": float(paid[chosen])}


def rows_of(path: Path, name: str, method: str, protocol: Protocol, jobs: int) -> Iterator[dict[str, Any]]:
    """A method's means over the repeats, trained without costs and with them."""
    parts = np.load(path)
    for kind in protocol.costs if method not in COSTLESS else BOTH[:1]:
        found = []
        for seed in range(protocol.repeats):
            X, y, X_test, y_test = split_of(parts, protocol, seed)
            classes, y = np.unique(y.astype(str), return_inverse=True)
            costs = taxonomic_costs(path.with_suffix(".csv"), classes.tolist())
            data = X, y, X_test, np.searchsorted(classes, y_test.astype(str))
            found.append(judged(method, kind, costs, protocol, data, jobs))
        row: dict[str, Any] = {
            "protocol": name,
            "data": path.stem,
            "method": method,
            "trained_on": kind,
            "repeats": len(found),
            "classes": len(classes),
            "rows": len(y),
            "features": X.shape[1],
            "rounds_at_most": protocol.rounds,
        }
        for key in ("rounds", "error", "cost"):
            values = [each[key] for each in found]
            row |= {key: float(np.mean(values)), f"{key}_std": float(np.std(values, ddof=1)) if values[1:] else 0.0}
        yield row


def main() -> None:
    options = parser(__doc__, "10 rounds of three methods on some rows of USPS, one split")
    options.add_argument("path", metavar="PATH", type=Path, nargs="?", help="a folder of features and taxonomies")
    options.add_argument("--protocols", nargs="+", choices=tuple(PROTOCOLS), default=list(PROTOCOLS))
    options.add_argument("--sets", nargs="+", help="names of the files; default: all, or those made")
    options.add_argument("--methods", nargs="+", choices=(*BOOSTERS, *COSTLESS, "random forest"))
    options.add_argument("--rounds", type=int, help="fewer where time is short")
    arguments = options.parse_args()
    if arguments.quick:
        arguments.protocols, arguments.sets, arguments.rounds = ["sun"], arguments.sets or ["usps"], 10
        arguments.methods = ["AdaBoost.MH", "random forest", "REBEL"]
    folder = arguments.path or (results() if arguments.quick else ROOT / "build") / "images"
    for name in () if arguments.path else arguments.sets or MADE:
        if not (folder / f"{name}.npz").is_file():
            make(folder, name)
    sets = arguments.sets or sorted(path.stem for path in folder.glob("*.npz"))
    rows: list[dict[str, Any]] = kept("images")
    for name in arguments.protocols:
        protocol = PROTOCOLS[name]._replace(**{"rounds": arguments.rounds} if arguments.rounds else {})
        protocol = protocol._replace(repeats=1, depths=(1, 2)) if arguments.quick else protocol
        for data, method in itertools.product(sets, arguments.methods or protocol.methods):
            done = list(rows_of(folder / f"{data}.npz", name, method, protocol, arguments.jobs))
            rows = [row for row in rows if cell(row) not in {cell(each) for each in done}] + done
            save("images", rows)
            show(done, (*CELL, "rounds", "error", "error_std", "cost", "cost_std"))


def cell(row: dict[str, Any]) -> tuple[Any, ...]:
    """What a row is of."""
    return tuple(row[name] for name in CELL)


if __name__ == "__main__":
    main()
