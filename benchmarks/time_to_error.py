"""Time to LightGBM's error: seconds of a fit that is as good on the test rows as LightGBM with its defaults.

LightGBM's default fit sets the error. For every method a long fit finds the first round whose test error is as low, and
a fresh fit of just that many rounds is timed, binning included (the median of three where they are short). Choosing
rounds on the test rows serves the timing only: nothing here says how good a method is when it must choose for itself.
All methods are at their defaults but for the rounds, have the same threads and get the same float32 array.

"MinRisk" is one member trained on all rows, no fold left out; "MinRisk, defaults" is everything a plain fit does.
"LightGBM, as early" is LightGBM cut at the first round that was as good as its last; "LightGBM, one thread" its default
fit with one, which can be much the faster. CatBoost's default learning rate hangs on the number of iterations; the
short fit keeps that of its default 1 000. With `--turns` our fits and LightGBM's are timed again, one after another,
several times (`turns` has each), for machines whose speed comes and goes. Where a peer's search ends at its
limit of seconds or rounds, its time is the search's (">"), which includes scoring the test rows every round. Targets
are shares of the peer's time: LightGBM and XGBoost 1/3, CatBoost 1/8, with 100 classes 1/10 of each.

Part "small": seconds of a fit with the defaults on sets of fewer than 1 000 rows. Target: LightGBM's.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # set before OpenMP loads: spinning threads starve two cores

import numpy as np

from benchmarks.common import DATA, few_rows, installed, interleaved, is_quick, load, parser, save, seconds, show, there
from benchmarks.compare.methods import METHODS, package_version
from minrisk import MinRiskClassifier

SETS = ("letter", "isolet", "mnist", "news20", "made100")
SMALL = ("breast_tissue", "wine", "glass", "svmguide4", "vertebral", "ecoli", "libras", "svmguide2", "vehicle", "vowel")
SINGLE = {name: 1 for name in ("n_members", "cv") if name in MinRiskClassifier().get_params()}
POOLED = "MinRisk, defaults"
OURS: dict[str, dict[str, Any]] = {"MinRisk": SINGLE, POOLED: {}}
MODULES = {"LightGBM": "lightgbm", "XGBoost": "xgboost", "XGBoost, multi": "xgboost", "CatBoost": "catboost"}
PEERS = {"LightGBM": "lightgbm", "XGBoost": "xgboost", "XGBoost, multi": "xgboost_multi", "CatBoost": "catboost"}
TARGETS = {"LightGBM": 1 / 3, "XGBoost": 1 / 3, "XGBoost, multi": 1 / 3, "CatBoost": 1 / 8}
MANY_CLASSES, MANY_TARGET = 100, 1 / 10
QUICK_LIMIT = 2.0  # seconds of a peer's long fit in a quick run
SHORT = 20.0  # seconds: shorter fits are timed three times


class Data(NamedTuple):
    """Training and test rows, float32."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def mistakes(self, decided: np.ndarray) -> int:
        return int(np.sum(np.asarray(decided).ravel() != self.y_test))

    def describe(self) -> dict[str, Any]:
        return {"set": self.name, "n": len(self.y), "d": self.X.shape[1], "K": int(self.y.max()) + 1}


class Search(NamedTuple):
    """Test mistakes after each round of one long fit, and what the fit took."""

    mistakes: list[int]
    seconds: float
    fixed: dict[str, Any]  # parameters that a shorter fit must be given to be the beginning of this one


class TimedFit(NamedTuple):
    """A fit that makes at most as many mistakes (`rounds`, `model`), or None and the best there was."""

    rounds: int | None
    model: Any
    seconds: float
    error: float
    search: Search


# -- data ----------------------------------------------------------------------------------------------------------
def data_of(name: str, cache: Path, quick: bool) -> Data:
    if name == "news20":
        parts = news20(cache, 50 if quick else 1000)
    elif name == "made100":
        parts = made(10 if quick else 100, 2_500 if quick else 25_000)
    else:
        parts = load(name).official()
    X, y, X_test, y_test = parts
    X, X_test = (np.ascontiguousarray(part, dtype=np.float32) for part in (X, X_test))
    if quick:
        chosen, test = few_rows(y), few_rows(y_test)
        X, y, X_test, y_test = X[chosen], y[chosen], X_test[test], y_test[test]
    return Data(name, X, y, X_test, y_test)


def made(n_classes: int, n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Four in five are training rows; 100 features, of which 30 say something and 20 mix those."""
    from sklearn.datasets import make_classification

    X, y = make_classification(
        n_samples=n_rows,
        n_features=100,
        n_informative=30,
        n_redundant=20,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=2.0,
        random_state=0,
    )
    n = n_rows * 4 // 5
    return X[:n], y[:n], X[n:], y[n:]


def news20(cache: Path, n_columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Official split; TF-IDF of the counts and truncated SVD, both fitted on the training rows; kept in `cache`."""
    import pandas as pd

    labels = pd.read_csv(DATA / "news20" / "labels.csv")
    y = np.unique(labels["target"].to_numpy().astype(str), return_inverse=True)[1]
    training = (labels["split"] == "train").to_numpy()
    path = cache / f"news20_svd{n_columns}.npy"
    if not path.exists():
        from scipy import sparse
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfTransformer

        counts = sparse.load_npz(DATA / "news20" / "counts.npz").tocsr().astype(np.float64)
        weights = TfidfTransformer(sublinear_tf=True).fit(counts[training]).transform(counts)
        reduced = TruncatedSVD(n_columns, random_state=0).fit(weights[training]).transform(weights)
        cache.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part.npy")
        np.save(unfinished, reduced.astype(np.float32))
        unfinished.rename(path)
    X = np.load(path)
    return X[training], y[training], X[~training], y[~training]


# -- models --------------------------------------------------------------------------------------------------------
def make(name: str, jobs: int, **parameters: Any) -> Any:
    """An estimator with defaults but for `parameters`; `rounds` is the number of rounds."""
    rounds = parameters.pop("rounds", None)
    if name in OURS:
        more = {} if rounds is None else {"n_estimators": rounds}
        return MinRiskClassifier(**OURS[name], **more, **parameters, n_jobs=jobs, random_state=0)
    if rounds is not None:
        parameters["iterations" if name == "CatBoost" else "n_estimators"] = rounds
    return METHODS[PEERS[name]].make(0, jobs, parameters)


def warm_up(jobs: int) -> None:
    """Load everyone's libraries."""
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    for name in (*OURS, *there(MODULES)):
        make(name, jobs, rounds=2).fit(X, np.arange(60) % 3).predict(X)


# -- searching -----------------------------------------------------------------------------------------------------
class Limit:
    """Says stop when the test error is reached, or the time spent."""

    def __init__(self, data: Data, enough: int, limit: float) -> None:
        self.n, self.enough, self.limit = len(data.y_test), enough, limit
        self.begun, self.mistakes = time.perf_counter(), list[int]()

    def stop(self, error: float) -> bool:
        self.mistakes.append(round(error * self.n))
        return self.mistakes[-1] <= self.enough or time.perf_counter() - self.begun > self.limit


def search_ours(name: str, data: Data, jobs: int, rounds: int) -> Search:
    begun = time.perf_counter()
    model = make(name, jobs, rounds=rounds).fit(data.X, data.y)
    spent = time.perf_counter() - begun
    return Search([data.mistakes(decided) for decided in model.staged_predict(data.X_test)], spent, {})


def lightgbm_stages(model: Any, data: Data) -> Iterator[int]:
    """Mistakes after each iteration of a fitted model."""
    scores: Any = 0.0
    for t in range(model.n_estimators):
        scores = scores + model.predict(data.X_test, raw_score=True, start_iteration=t, num_iteration=1)
        yield data.mistakes(model.classes_[scores.argmax(axis=1)])


def search_xgboost(name: str, data: Data, jobs: int, enough: int, limit: float, rounds: int) -> Search:
    from xgboost.callback import TrainingCallback

    watch = Limit(data, enough, limit)

    class Stop(TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            return watch.stop(evals_log["validation_0"]["merror"][-1])

    model = make(name, jobs, rounds=rounds, eval_metric="merror", callbacks=[Stop()])
    spent = seconds(lambda: model.fit(data.X, data.y, eval_set=[(data.X_test, data.y_test)], verbose=False))
    return Search(watch.mistakes, spent, {})


def search_catboost(name: str, data: Data, jobs: int, enough: int, limit: float, rounds: int) -> Search:
    watch = Limit(data, enough, limit)

    class Stop:
        def after_iteration(self, info: Any) -> bool:
            return not watch.stop(info.metrics["validation"]["ZeroOneLoss"][-1])

    model = make(name, jobs, eval_metric="ZeroOneLoss", use_best_model=False)  # 1 000 iterations: see the learning rate
    spent = seconds(lambda: model.fit(data.X, data.y, eval_set=(data.X_test, data.y_test), callbacks=[Stop()]))
    return Search(watch.mistakes, spent, {"learning_rate": float(model.learning_rate_)})


SEARCHES: dict[str, Callable[..., Search]] = {
    "XGBoost": search_xgboost,
    "XGBoost, multi": search_xgboost,
    "CatBoost": search_catboost,
}


def first(mistakes: list[int], enough: int) -> int | None:
    """First round with few enough mistakes, from 1."""
    return next((t for t, found in enumerate(mistakes, 1) if found <= enough), None)


def reach(name: str, data: Data, enough: int, jobs: int, limit: float, ours_rounds: int, peer_rounds: int) -> TimedFit:
    """The shortest fit that makes at most `enough` mistakes on the test rows, timed."""
    if name in OURS:
        search = search_ours(name, data, jobs, ours_rounds)
    else:
        search = SEARCHES[name](name, data, jobs, enough, limit, peer_rounds)
    rounds = first(search.mistakes, enough)
    if name == POOLED and rounds is not None:
        rounds = fewest(name, data, enough, jobs, rounds, ours_rounds)
    return timed_again(name, data, jobs, rounds, search)


def fewest(name: str, data: Data, enough: int, jobs: int, guess: int, limit: int) -> int | None:
    """Rounds of a good enough fresh fit, by bisection: the first rounds of a long pool are not a pool of few rounds.

    Doubled from a guess until one is good enough; None if none is up to the limit.
    """

    def good(rounds: int) -> bool:
        return data.mistakes(make(name, jobs, rounds=rounds).fit(data.X, data.y).predict(data.X_test)) <= enough

    least, most = 0, guess  # `least` is not good enough
    while not good(most):
        if most == limit:
            return None
        least, most = most, min(2 * most, limit)
    while most - least > 1:
        rounds = (least + most) // 2
        least, most = (least, rounds) if good(rounds) else (rounds, most)
    return most


def timed_again(name: str, data: Data, jobs: int, rounds: int | None, search: Search) -> TimedFit:
    if rounds is None:
        return TimedFit(None, None, search.seconds, min(search.mistakes) / len(data.y_test), search)
    model = make(name, jobs, rounds=rounds, **search.fixed)
    spent = [seconds(lambda: model.fit(data.X, data.y))]
    while len(spent) < 3 and spent[0] < SHORT:
        spent.append(seconds(lambda: model.fit(data.X, data.y)))
    error = data.mistakes(model.predict(data.X_test)) / len(data.y_test)
    return TimedFit(rounds, model, float(np.median(spent)), error, search)


# -- parts ---------------------------------------------------------------------------------------------------------
def without_lightgbm(data: Data, jobs: int) -> int:
    """Mistakes to be reached where LightGBM, whose they are, is not installed: ours with 10 rounds, in a quick run."""
    if not is_quick():
        sys.exit("LightGBM sets the error to be reached: pip install 'minrisk[bench]'.")
    print("MinRisk with 10 rounds sets the error to be reached in LightGBM's place.", flush=True)
    return data.mistakes(make(POOLED, jobs, rounds=10).fit(data.X, data.y).predict(data.X_test))


def lightgbm_fit(data: Data, jobs: int, quick: bool) -> TimedFit:
    """Its default fit, and the mistakes at the end."""
    model = make("LightGBM", jobs, **({"rounds": 10} if quick else {}))
    spent = seconds(lambda: model.fit(data.X, data.y))
    wrong = data.mistakes(model.predict(data.X_test))
    return TimedFit(model.n_estimators, model, spent, wrong / len(data.y_test), Search([wrong], spent, {}))


def lightgbm_default(data: Data, jobs: int, quick: bool) -> tuple[Any, TimedFit, TimedFit, int]:
    """Its default fit, the same cut where its error was that low for the first time, and its mistakes."""
    whole = lightgbm_fit(data, jobs, quick)
    default, enough, mistakes = whole.model, whole.search.mistakes[-1], list(lightgbm_stages(whole.model, data))
    search = Search(mistakes, whole.seconds, {})
    whole = whole._replace(search=search)
    rounds = first(mistakes, enough) or default.n_estimators
    early = timed_again("LightGBM", data, jobs, rounds, search) if rounds < default.n_estimators else whole
    return default, whole, early, enough


def plain(name: str) -> str:
    """The method of a row, without what was varied."""
    return name.removesuffix(", as early").removesuffix(", one thread")


def row(name: str, data: Data, jobs: int, found: TimedFit) -> dict[str, Any]:
    best = min(found.search.mistakes) / len(data.y_test)
    return {
        **data.describe(),
        "method": name,
        "threads": jobs,
        "version": package_version(METHODS[PEERS.get(plain(name), "minrisk")]),
        "reached": found.rounds is not None,
        "bound": "" if found.rounds is not None else ">",
        "seconds": found.seconds,
        "turns": "",
        "rounds": found.rounds or len(found.search.mistakes),
        "error_percent": 100 * found.error,
        "search_rounds": len(found.search.mistakes),
        "search_seconds": found.search.seconds,
        "search_best_percent": 100 * best,
    }


def compare(rows: list[dict[str, Any]]) -> None:
    """Add to the peers' rows our seconds as a share of theirs, the target, and whether it is met."""
    by_name = {found["method"]: found for found in rows}
    for found in rows:
        target = TARGETS.get(plain(found["method"]))
        if target and found["K"] >= MANY_CLASSES:
            target = MANY_TARGET
        found["target"] = target or ""
        for column, ours in (("single", by_name.get("MinRisk")), ("defaults", by_name.get("MinRisk, defaults"))):
            share: Any = ""
            if target and ours is not None and ours["reached"]:
                share = ours["seconds"] / found["seconds"]
            met = "" if share == "" else "yes" if share <= target else "no" if found["reached"] else "open"
            found[f"{column}_of_this"], found[f"{column}_meets"] = share, met


def large(name: str, arguments: Any) -> list[dict[str, Any]]:
    """Rows of a set, written as they come: the peers take long."""
    jobs, quick = arguments.jobs, arguments.quick
    limit = min(arguments.peer_limit, QUICK_LIMIT) if quick else arguments.peer_limit
    ours_rounds, peer_rounds = (20, 20) if quick else (arguments.rounds, arguments.peer_rounds)
    data = data_of(name, arguments.cache, quick)
    rows, fits = [], {}
    if installed("lightgbm"):
        _, whole, early, enough = lightgbm_default(data, jobs, quick)
        rows = [row("LightGBM", data, jobs, whole), row("LightGBM, as early", data, jobs, early)]
        if jobs > 1:
            rows.append(row("LightGBM, one thread", data, 1, lightgbm_fit(data, 1, quick)))
        fits = {"LightGBM": whole}
    else:
        enough = without_lightgbm(data, jobs)
    absent = {method for method in SEARCHES if not installed(MODULES[method])}
    for method in (method for method in (*OURS, *SEARCHES) if method in arguments.methods and method not in absent):
        longer = TARGETS["LightGBM"] / TARGETS.get(method, TARGETS["LightGBM"])
        found = reach(method, data, enough, jobs, longer * limit, ours_rounds, peer_rounds)
        rows.append(row(method, data, jobs, found))
        print(f"{name}: {method} {rows[-1]['bound']}{found.seconds:.1f} s, {100 * found.error:.2f} %", flush=True)
        if method in OURS and found.rounds is not None:
            fits[method] = found
        compare(rows)
        save(f"time_to_error_{name}", rows)
    if arguments.turns:
        in_turns(rows, fits, data, arguments.turns)
        compare(rows)
        save(f"time_to_error_{name}", rows)
    return rows


def in_turns(rows: list[dict[str, Any]], fits: dict[str, TimedFit], data: Data, turns: int) -> None:
    """Put the median of `turns` more fits of each, one after another, in place of the seconds."""
    spent: dict[str, list[float]] = {method: [] for method in fits}
    for _ in range(turns):
        for method, found in fits.items():
            spent[method].append(seconds(lambda model=found.model: model.fit(data.X, data.y)))  # type: ignore[misc]
            print(f"{data.name}: {method} {spent[method][-1]:.1f} s", flush=True)
    for own in (own for own in rows if own["method"] in spent):
        own["seconds"] = float(np.median(spent[own["method"]]))
        own["turns"] = ";".join(f"{value:.4g}" for value in spent[own["method"]])


def small(arguments: Any) -> list[dict[str, Any]]:
    """Fits with the defaults, taking turns."""
    jobs, rows = arguments.jobs, []
    for name in SMALL[:2] if arguments.quick else SMALL:
        data = load(name)
        models = {"LightGBM": make("LightGBM", jobs)} if installed("lightgbm") else {}
        models |= {
            "MinRisk, defaults": make("MinRisk, defaults", jobs),
            "MinRisk, one thread": make("MinRisk, defaults", 1),
            "MinRisk": make("MinRisk", jobs),
        }
        spent = interleaved(
            {
                key: lambda model=model, data=data: seconds(lambda: model.fit(data.X, data.y))
                for key, model in models.items()
            },
            2 if arguments.quick else 5,
        )
        for key, value in spent.items():
            ratio = value / spent.get("LightGBM", float("nan"))
            rows.append(
                {
                    "set": name,
                    "n": len(data.y),
                    "d": data.X.shape[1],
                    "K": data.n_classes,
                    "method": key,
                    "threads": 1 if key.endswith("one thread") else jobs,
                    "seconds": value,
                    "of_lightgbm": ratio,
                    "target": 1.0 if key == "MinRisk, defaults" else "",
                    "meets": ("yes" if ratio <= 1 else "no" if ratio > 1 else "") if key == "MinRisk, defaults" else "",
                }
            )
    save("time_small_sets", rows)
    return rows


def main() -> None:
    options = parser(__doc__, "20 rounds on some rows of letter, two fits of each of two small sets")
    options.add_argument("--part", nargs="+", default=["small", "large"], choices=("small", "large"))
    options.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    options.add_argument(
        "--methods", nargs="+", default=[*OURS, *SEARCHES], choices=[*OURS, *SEARCHES], help="beside LightGBM"
    )
    options.add_argument("--rounds", type=int, default=400, help="rounds of our long fits")
    options.add_argument("--peer-rounds", type=int, default=1000, help="rounds of XGBoost's long fits at most")
    options.add_argument(
        "--peer-limit",
        type=float,
        default=900.0,
        help="seconds of a peer's long fit; CatBoost, with its lower target, has 8/3 of them",
    )
    options.add_argument(
        "--turns",
        type=int,
        default=0,
        help="times that our fits and LightGBM's default are timed again, in turns; the median counts",
    )
    options.add_argument(
        "--cache",
        type=Path,
        default=Path(tempfile.gettempdir()) / "minrisk-benchmarks",
        help="folder that keeps the SVD of news20",
    )
    arguments = options.parse_args()
    if arguments.quick and arguments.sets == list(SETS):
        arguments.sets = ["letter"]
    warm_up(arguments.jobs)
    for part in arguments.part:
        for name in arguments.sets if part == "large" else [""]:
            rows = large(name, arguments) if part == "large" else small(arguments)
            show(rows, [key for key in rows[0] if key not in ("version", "search_rounds", "bound", "threads")])


if __name__ == "__main__":
    main()
