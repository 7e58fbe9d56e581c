"""Before and after: whether a change of the structure leaves models, decisions and speed what they were.

``python -m benchmarks.before_after COMMIT`` fits small problems with every estimator, and every kind of member of
`MinRiskClassifier`, by this tree and by that of the commit, and compares their files byte for byte. With `--speed` it
times whole fits and predictions of both in turns, each in a fresh process of one thread. A commit whose machine
code is another, or that runs in another environment, is given by `--tree` and `--python`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import DATA, ROOT, load, parser, save, show

COSTS = np.array([[0.0, 1.0, 2.0], [5.0, 0.0, 1.0], [10.0, 3.0, 0.0]])
KERNELS = "minrisk/_kernels"
LARGEST_RATIO = 1.03  # of processor seconds
TURNS = 5


# -- models ------------------------------------------------------------------------------------------------------------
def blobs(n: int = 240, d: int = 5, K: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping classes, one feature of few values and one of many zeros."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % K)
    X = rng.normal(size=(n, d)) + 0.9 * rng.normal(size=(K, d))[y]
    X[:, 1] = np.round(X[:, 1])
    X[rng.random(n) < 0.8, 2] = 0.0
    return X, y


def rules(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Features of few values, and classes without noise."""
    X = np.random.default_rng(1).integers(0, 4, size=(n, 6)).astype(float)
    return X, ((X[:, 0] > 1).astype(int) + (X[:, 1] * X[:, 2] > 3)).astype(int)


def with_gaps() -> tuple[np.ndarray, np.ndarray]:
    """Missing values."""
    X, y = blobs(seed=2)
    return np.where(np.random.default_rng(2).random(X.shape) < 0.1, np.nan, X), y


def words() -> tuple[Any, np.ndarray]:
    """A frame with categories of few and of many values, and labels of text."""
    import pandas as pd

    X, y = blobs(seed=3)
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    frame["colour"] = pd.Categorical(np.array(["red", "green", "blue"])[(y + rng.integers(0, 2, len(y))) % 3])
    frame["town"] = pd.Categorical(np.array([f"t{i}" for i in range(40)])[(y * 13 + rng.integers(0, 14, len(y))) % 40])
    return frame, np.array(["low", "mid", "high"])[y]


def problems() -> dict[str, Callable[[], Any]]:
    """Fits by name."""
    import minrisk
    from minrisk import MCBoostClassifier, MinRiskClassifier, MultiBoostClassifier, REBELClassifier
    from minrisk import StagewiseMCBoostClassifier as Stagewise

    def similar(**how: Any) -> Any:
        own = getattr(minrisk, "LocalizedSimilaritiesClassifier", None)
        return own(**how) if own else REBELClassifier(weak_learner="similarity", **how)

    def per_row(model: Any) -> Any:
        X, y = blobs()
        factors = np.random.default_rng(4).uniform(0.5, 2.0, (len(y), 1))
        return model.fit(X, y, cost=COSTS[y] * factors)

    def weighted(model: Any) -> Any:
        X, y = blobs()
        return model.fit(X, y, sample_weight=np.random.default_rng(5).integers(0, 3, len(y)).astype(float))

    def warm(model: Any, more: int) -> Any:
        model.set_params(warm_start=True).fit(*blobs())
        return model.set_params(n_estimators=more).fit(*blobs())

    flagship: dict[str, Any] = {"random_state": 0, "n_estimators": 40}
    many = blobs(1500, 8, 7, seed=6)
    below = {cls.__name__ for cls in (REBELClassifier, MCBoostClassifier, Stagewise, MultiBoostClassifier)}
    below |= {"MinRiskClassifier", "LocalizedSimilaritiesClassifier"}  # the latter a part of REBEL in earlier commits
    others = [
        name for name in minrisk.__all__ if name.endswith("Classifier") and name not in {*below, "LeastCostClassifier"}
    ]
    usual: dict[str, Any] = {"n_estimators": 15, "random_state": 0}
    own: dict[str, dict[str, Any]] = {
        "PIBoostClassifier": {"cost": COSTS, "n_estimators": 10, "draw": 0.3},
        "AdaBoostMOClassifier": {"cost": COSTS},
        "AdaBoostSIPClassifier": {"cost": COSTS, "max_depth": 2},
        "BAdaCostClassifier": {"cost": COSTS},
        "StructBoostClassifier": {"cost": COSTS, "n_estimators": 10, "solver_iterations": 10},
        "GentleBoostClassifier": {"max_depth": 2},
    }
    return {
        **{
            name: lambda name=name: getattr(minrisk, name)(**{**usual, **own.get(name, {})}).fit(*blobs())
            for name in others
        },
        "rebel": lambda: REBELClassifier(n_estimators=20, max_depth=3).fit(*blobs()),
        "rebel, costs": lambda: REBELClassifier(COSTS, n_estimators=20, max_depth=2).fit(*blobs()),
        "rebel, costs per row": lambda: per_row(REBELClassifier(n_estimators=20)),
        "rebel, each round": lambda: REBELClassifier(
            n_estimators=20, weak_learner="stump", fit_intercept="each round"
        ).fit(*with_gaps()),
        "rebel, logistic": lambda: REBELClassifier(n_estimators=15, loss="logistic", offset="paper").fit(*blobs()),
        "rebel, squared": lambda: REBELClassifier(n_estimators=15, loss="squared", subsample=0.5, random_state=0).fit(
            *blobs()
        ),
        "rebel, early stopping": lambda: REBELClassifier(
            n_estimators=60, early_stopping=True, random_state=0, max_features=0.6
        ).fit(*blobs()),
        "rebel, warm start": lambda: warm(REBELClassifier(n_estimators=8), 16),
        "rebel, categories": lambda: REBELClassifier(n_estimators=20).fit(*words()),
        "similarities": lambda: similar(n_estimators=15).fit(*blobs()),
        "similarities, neighbours": lambda: similar(n_estimators=10, n_neighbors=20, n_candidates=5).fit(*many),
        "similarities, early stopping": lambda: similar(n_estimators=30, early_stopping=True, random_state=0).fit(
            *blobs()
        ),
        "similarities, warm start": lambda: warm(similar(n_estimators=6), 12),
        "gll": lambda: MCBoostClassifier(COSTS, n_estimators=15).fit(*blobs()),
        "gel, trees": lambda: MCBoostClassifier(
            COSTS, n_estimators=10, loss="gel", weak_learner="tree", descent="gradient"
        ).fit(*blobs()),
        "mcboost": lambda: MCBoostClassifier(n_estimators=10, loss="mc").fit(*blobs()),
        "mcboost, least squares": lambda: MCBoostClassifier(n_estimators=10, loss="ls").fit(*blobs()),
        "mcboost, warm start": lambda: warm(MCBoostClassifier(n_estimators=5), 10),
        "stage-wise": lambda: Stagewise(n_estimators=15).fit(*blobs()),
        "stage-wise, trees": lambda: Stagewise(n_estimators=10, loss="logistic", weak_learner="tree").fit(*blobs()),
        "multiboost": lambda: MultiBoostClassifier(n_estimators=8).fit(*blobs()),
        "multiboost, squares": lambda: MultiBoostClassifier(n_estimators=8, loss="exponential", penalty="l2").fit(
            *blobs()
        ),
        "min risk": lambda: MinRiskClassifier(COSTS, **flagship).fit(*blobs()),
        "min risk, rules": lambda: MinRiskClassifier(**flagship).fit(*rules()),
        "min risk, many rows": lambda: MinRiskClassifier(**flagship).fit(*many),
        "min risk, gaps": lambda: MinRiskClassifier(**flagship).fit(*with_gaps()),
        "min risk, categories": lambda: MinRiskClassifier(**flagship).fit(*words()),
        "min risk, weights": lambda: weighted(MinRiskClassifier(COSTS, **flagship)),
        "min risk, costs per row": lambda: per_row(MinRiskClassifier(**flagship)),
        "min risk, no pool": lambda: MinRiskClassifier(COSTS, pool=False, **flagship).fit(*blobs()),
        "min risk, one fold": lambda: MinRiskClassifier(COSTS, cv=1, **flagship).fit(*blobs()),
        "min risk, few rows": lambda: MinRiskClassifier(COSTS, **flagship).fit(np.eye(3), [0, 1, 2]),
        "min risk, no signal": lambda: MinRiskClassifier(COSTS, **flagship).fit(
            np.random.default_rng(7).normal(size=(90, 2)), np.arange(90) % 3
        ),
        **{
            f"min risk, {surrogate}": lambda surrogate=surrogate: MinRiskClassifier(
                COSTS, surrogate=surrogate, **flagship
            ).fit(*blobs())
            for surrogate in ("exponential", "coupled", "gll", "gel")
        },
        "min risk, samples": lambda: MinRiskClassifier(
            subsample=0.7, search_rows=50, max_leaf_nodes=6, max_depth=3, **flagship
        ).fit(*many),
        "min risk, exact splits": lambda: MinRiskClassifier(sketch=None, binning="uniform", **flagship).fit(*blobs()),
    }


def models(names: list[str] | None = None) -> dict[str, Any]:
    """By problem: digests of the file and its arrays, and for `MinRiskClassifier` the kinds of members in the model."""
    import minrisk

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.minrisk")
        for name, fit in problems().items():
            if names and name not in names:
                continue
            model = fit()
            for line in getattr(model, "selection_", []):
                line["seconds"] = 0.0
            minrisk.save(model, path)
            kinds = [line["variant"] for line in getattr(model, "selection_", []) if line["share"] > 0.0]
            found[name] = {"file": digest(path.read_bytes()), "arrays": arrays_of(path), "members": " ".join(kinds)}
    return found


def digest(content: bytes) -> str:
    """Short, of any bytes."""
    return hashlib.sha256(content).hexdigest()[:16]


def arrays_of(path: Path) -> str:
    """Of all that a file holds but its header, which lists the parameters."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name != "header.npy"]
        return digest(b"".join(name.encode() + archive.read(name) for name in names))


# -- speed -------------------------------------------------------------------------------------------------------------
def large() -> tuple[np.ndarray, np.ndarray]:
    """100 000 rows of 30 features, five classes."""
    return blobs(100_000, 30, 5, seed=8)


def spent(run: Callable[[], Any], least: float = 0.3) -> float:
    """Processor seconds of a call, after one that is not counted where calls are short."""
    times: list[float] = []
    while not times or (sum(times) < least and len(times) < 50):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return float(np.median(times[1:] if len(times) > 1 else times))


def many_classes() -> tuple[np.ndarray, np.ndarray]:
    """1000 classes, of 20 000 rows."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(20_000, 20))
    return X, (X @ rng.normal(size=(20, 1000))).argmax(axis=1)


def words_counted() -> tuple[Any, np.ndarray]:
    """4000 rows of news20, sparse."""
    import pandas as pd
    from scipy import sparse

    labels = pd.read_csv(DATA / "news20" / "labels.csv")["target"].to_numpy()
    rows = np.random.default_rng(10).permutation(len(labels))[:4000]
    return sparse.load_npz(DATA / "news20" / "counts.npz").tocsr().astype(np.float64)[rows], labels[rows]


def speeds(quick: bool) -> dict[str, float]:
    """Processor seconds of fits and predictions, one thread."""
    from minrisk import MCBoostClassifier, MinRiskClassifier, REBELClassifier

    def set_of(name: str) -> tuple[np.ndarray, np.ndarray]:
        data = load(name)
        return np.asarray(data.X, dtype=np.float64), np.asarray(data.y)

    found, usual = {}, {"random_state": 0, "n_jobs": 1}
    tasks: dict[str, tuple[Any, Any, np.ndarray]] = {"iris": (MinRiskClassifier(**usual), *set_of("iris"))}
    if not quick:
        vehicle, (pixels, digits, *_) = set_of("vehicle"), load("mnist").official()
        tasks |= {
            "vehicle": (MinRiskClassifier(**usual), *vehicle),
            "vehicle, REBEL": (REBELClassifier(n_estimators=100, max_depth=2, n_jobs=1), *vehicle),
            "vehicle, GLL-MCBoost": (MCBoostClassifier(1.0 - np.eye(4), n_estimators=30, n_jobs=1), *vehicle),
            "letter, 30 rounds": (MinRiskClassifier(**usual, n_estimators=30), *set_of("letter")),
            "10 000 of MNIST, REBEL, 20 rounds": (
                REBELClassifier(n_estimators=20, max_depth=4, n_jobs=1),
                np.asarray(pixels[:10_000], dtype=np.float64),
                digits[:10_000],
            ),
            "100 000 x 30, 5 rounds": (MinRiskClassifier(**usual, n_estimators=5), *large()),
            "4000 of news20, REBEL, 20 rounds": (
                REBELClassifier(n_estimators=20, max_depth=3, n_jobs=1),
                *words_counted(),
            ),
            "1000 classes, REBEL, 5 rounds": (REBELClassifier(n_estimators=5, max_depth=6, n_jobs=1), *many_classes()),
        }
    for name, (model, X, y) in tasks.items():
        found[f"fit {name}"] = spent(lambda model=model, X=X, y=y: model.fit(X, y))
        found[f"predict {name}, all rows"] = spent(lambda model=model, X=X: model.predict(X))
        row = X[:1]
        found[f"predict {name}, one row"] = spent(lambda model=model, x=row: [model.predict(x) for _ in "x" * 50]) / 50
    return found


# -- both trees --------------------------------------------------------------------------------------------------------
def child(tree: Path, *arguments: str, python: str = sys.executable) -> Any:
    """What this file finds with the package of a tree, in a fresh process of an interpreter."""
    paths = {"PYTHONPATH": f"{tree}{os.pathsep}{ROOT}", "MINRISK_DATA": str(DATA)}
    environment = {**os.environ, **paths, "OMP_NUM_THREADS": "1"}
    command = [python, __file__, "--child", *arguments]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True, cwd=tree)
    return json.loads(done.stdout.splitlines()[-1])


def checked_out(commit: str, folder: Path) -> Path:
    """The package and the benchmarks of a commit."""
    command = ["git", "archive", commit, "minrisk", "benchmarks"]
    archive = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    if (folder / KERNELS / "meson.build").exists():
        if subprocess.run(["git", "diff", "--quiet", commit, "--", KERNELS], cwd=ROOT).returncode:
            sys.exit(f"{commit} has other machine code than this tree: compile it where it is checked out, as --tree.")
        for module in (path for ending in ("so", "pyd") for path in (ROOT / KERNELS).glob(f"_*.{ending}")):
            shutil.copy(module, folder / KERNELS)
    return folder


def compared_models(before: Path, python: str, quick: bool) -> list[dict[str, Any]]:
    """A line for each problem."""
    names = ["rebel", "min risk, rules"] if quick else []
    old, new = child(before, "models", *names, python=python), child(ROOT, "models", *names)
    return [
        {
            "problem": name,
            **{f"same_{what}": "yes" if old[name][what] == found[what] else "no" for what in ("file", "arrays")},
            "members": found["members"],
        }
        for name, found in new.items()
        if name in old  # else of an algorithm that the commit does not have
    ]


def compared_speeds(before: Path, python: str, turns: int, quick: bool) -> list[dict[str, Any]]:
    """A line for each task: minima of processes in turns, and their ratio."""
    found: list[list[dict[str, float]]] = [[], []]
    for _ in range(turns):
        for number, (tree, own) in enumerate(((before, python), (ROOT, sys.executable))):
            found[number].append(child(tree, "speeds", *(["--quick"] if quick else []), python=own))
    lines = []
    for task in found[0][0]:
        old, new = (float(np.min([one[task] for one in side])) for side in found)
        lines.append({"task": task, "before": old, "after": new, "ratio": new / old, "at_most": LARGEST_RATIO})
    return lines


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        warnings.simplefilter("ignore")
        what, *rest = sys.argv[2:]
        print(json.dumps(models(rest) if what == "models" else speeds("--quick" in rest)))
        return
    options = parser(__doc__, "two problems, by this tree and by a copy of it")
    options.add_argument("commit", nargs="?", default="HEAD", help="what to compare with (default: HEAD)")
    options.add_argument("--tree", type=Path, help="where it is checked out and compiled (default: a copy)")
    options.add_argument("--python", default=sys.executable, help="interpreter that has what it imports")
    options.add_argument("--speed", action="store_true", help="times, too")
    options.add_argument("--turns", type=int, default=TURNS, help="processes of each side (default: %(default)s)")
    arguments = options.parse_args()
    python, turns = arguments.python, 1 if arguments.quick else arguments.turns
    with tempfile.TemporaryDirectory() as name:
        before = arguments.tree or Path(name)
        if arguments.quick and not arguments.tree:  # where there may be no commits
            shutil.copytree(ROOT / "minrisk", before / "minrisk")
            shutil.copytree(ROOT / "benchmarks", before / "benchmarks", ignore=shutil.ignore_patterns("results"))
        elif not arguments.tree:
            checked_out(arguments.commit, before)
        lines = compared_models(before, python, arguments.quick)
        save("before_after", lines)
        show(lines)
        if arguments.speed:
            lines = compared_speeds(before, python, turns, arguments.quick)
            save("before_after_speed", lines)
            show(lines)


if __name__ == "__main__":
    main()
