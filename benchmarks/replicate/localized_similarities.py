"""Figures 2 to 9 of the localized-similarities paper: test errors of the paper's classifier, beside the paper's.

``--figure spiral`` (2 to 5: 500 points in three arms, fewer training points, mislabelled ones), ``curves`` (6, 7: error
and loss per round), ``8`` (five random splits 50/25/25, beside stumps, trees and one-point similarities) and ``9`` (the
sets' own splits, trained until the loss is below 1/n, beside scikit-learn's SVC and MLPs). Raw features, real responses
and Sec. 5.2 to the letter unless ``--candidates`` limits the points x_j of a round, or ``--neighbors`` takes them from
so many near ones; ``--methods chosen`` takes signs or real responses and raw or standardised features by a quarter of
the training rows. Every fit is kept; a run does only what is missing. The spiral is ours: the paper does not give its
own. ``--figure 7`` draws the loss below what is proven of it. ``--figure rounds`` measures the time of a round by the
number of rows (MNIST's, 30 candidates, no cache, processor time of one thread).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.common import is_quick, keep, kept, load, parser, save, save_picture, show
from minrisk import LocalizedSimilaritiesClassifier, REBELClassifier

TRIALS = "localized_similarities_trials"
SUMMARY = "localized_similarities"
# percent error in the legends of Figures 4, 5 and 6, and log10 of the last loss
SPIRAL = {
    "4/5": (1000, 1.8, -22.5),
    "3/5": (2000, 1.2, -44.2),
    "2/5": (1000, 5.4, -22.7),
    "1/5": (1000, 3.6, -15.0),
    "all": (1000, 0.0, -20.6),
    "4 wrong": (5000, 0.0, -96.8),
    "10 wrong": (5000, 2.0, -116.5),
    "32 wrong": (2000, 14.0, -58.9),
    "97 wrong": (10000, 31.1, -67.6),
}
CURVES = {
    "glass": (10000, 27.0, -222.7),
    "pendigits": (2000, 1.8, -10.2),
    "optdigits": (10000, 2.3, -34.7),
    "isolet": (10000, 3.5, -10.6),
}
FIGURE8 = {
    "glass": (27.4, 4.0),
    "vowel": (9.5, 0.6),
    "satimage": (10.6, 0.5),
    "mnist": (9.3, 0.3),
    "pendigits": (1.2, 0.1),
    "segment": (3.3, 0.7),
}  # similarities; stumps, one-point below
STUMPS8 = {"glass": 30.4, "vowel": 17.4, "satimage": 10.7, "mnist": 10.5, "pendigits": 3.2, "segment": 4.6}
ONE8 = {"glass": 35.9, "vowel": 62.3, "satimage": 52.3, "mnist": 87.1, "pendigits": 32.8, "segment": 69.7}
# similarities, best of four networks, support vector machine
FIGURE9 = {
    "glass": (26.9, 38.1, 46.2),
    "shuttle": (0.07, 0.768, 0.14),
    "vowel": (30.0, 46.9, 44.7),
    "pendigits": (2.0, 3.49, 2.0),
    "letter": (8.26, 12.1, 2.5),
    "satimage": (7.62, 11.2, 8.39),
    "optdigits": (2.58, 3.72, 5.04),
    "isolet": (3.9, 5.54, 14.2),
    "mnist": (1.91, 1.79, 4.23),
}
MOST_ROUNDS, QUICK_ROUNDS = 60_000, 50
MANY, FEW = 20_000, 10_000  # training rows from which on a support vector machine is chosen by so many of them
LEAST = 1e-307  # smaller losses are counted as this, or not at all


def spiral(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points in three arms that turn once around each other."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    along = np.sqrt(rng.uniform(0.02, 1.0, n))
    angle = 2 * np.pi * (y / 3 + along) + rng.normal(0.0, 0.12, n)
    return np.column_stack([along * np.cos(angle), along * np.sin(angle)]), y


def similarity(**options: Any) -> LocalizedSimilaritiesClassifier:
    """The paper's classifier: no constant term, a loss that bounds the error; few rounds of it in a quick run."""
    if is_quick():
        options["n_estimators"] = min(options["n_estimators"], QUICK_ROUNDS)
    return LocalizedSimilaritiesClassifier(**{"fit_intercept": False, "offset": "paper", **options})


def measured(model: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> dict[str, Any]:
    """Fit, predict, and what came of it."""
    start = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    error = 100 * float(np.mean(model.predict(X_test) != y_test))
    row = {"error": error, "seconds": fitted - start, "predict_seconds": time.perf_counter() - fitted}
    if isinstance(model, REBELClassifier | LocalizedSimilaritiesClassifier):
        row |= {
            "rounds": model.n_iter_,
            "log10_loss": float(np.log10(max(model.train_loss_[-1], LEAST))),
            "train_error": 100 * float(model.train_risk_[-1]),
        }
    return row


# -- what is tried -------------------------------------------------------------------------------------------------
Trial = tuple[str, str, str, int, Callable[[], dict[str, Any]]]  # figure, data, method, seed, and how


def spirals(options: dict[str, Any], seeds: range) -> Iterator[Trial]:
    """Figures 2 to 5."""
    for seed in seeds:
        X, y = spiral(500, seed)
        X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, random_state=seed, stratify=y)
        for name, (rounds, _, _) in SPIRAL.items():
            parts = X, y, X_test, y_test

            def trial(name: str = name, rounds: int = rounds, seed: int = seed, data: Any = parts) -> Any:
                X, y, X_test, y_test = data
                rng = np.random.default_rng(seed)
                order = rng.permutation(len(y))
                if name.endswith("/5"):
                    kept = order[: len(y) * int(name[0]) // 5]
                    X, y = X[kept], y[kept]
                elif name.endswith("wrong"):
                    wrong = order[: int(name.split()[0])]
                    y = y.copy()
                    y[wrong] = (y[wrong] + rng.integers(1, 3, len(wrong))) % 3
                model = similarity(n_estimators=rounds, **options)
                row = measured(model, X, y, X_test, y_test)
                return row | rise(model, X_test, y_test)

            yield "spiral", name, "similarity", seed, trial


def rise(model: LocalizedSimilaritiesClassifier, X_test: np.ndarray, y_test: np.ndarray) -> dict[str, float]:
    """Least test error of any round, largest after the training error is 0, and how straight log loss falls."""
    errors = np.array([100 * np.mean(decided != y_test) for decided in model.staged_predict(X_test)])
    done = int(np.argmax(model.train_risk_[1:] == 0)) if np.any(model.train_risk_[1:] == 0) else len(errors) - 1
    late = model.train_loss_[len(errors) // 10 :]
    late = np.log10(late[late > LEAST])
    straight = float(np.corrcoef(np.arange(len(late)), late)[0, 1] ** 2) if len(late) > 2 else 1.0
    return {
        "least_error": float(errors.min()),
        "largest_late_error": float(errors[done:].max()),
        "zero_round": done + 1,
        "straightness": straight,
    }


def curves(options: dict[str, Any], sets: list[str]) -> Iterator[Trial]:
    """Figures 6 and 7."""
    for name in sets:

        def trial(name: str = name) -> dict[str, Any]:
            X, y, X_test, y_test = split9(name, 0)
            model = similarity(n_estimators=CURVES[name][0], **options)
            return measured(model, X, y, X_test, y_test) | rise(model, X_test, y_test)

        yield "curves", name, "similarity", 0, trial


def figure7(options: dict[str, Any], sets: list[str]) -> None:
    """Losses below two bounds: by the edges of the rounds, and by the theorem, 1 - 2 / (K n^2) a round of signs."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(sets), figsize=(4.6 * len(sets), 3.8), layout="constrained", squeeze=False)
    rows = []
    for ax, name in zip(axes[0], sets, strict=True):
        X, y, _, _ = split9(name, 0)
        model = similarity(n_estimators=CURVES[name][0], response="sign", smoothing=0.0, **options).fit(X, y)
        first, n, K = float(np.log10(model.train_loss_[0])), len(y), len(model.classes_)
        rounds = np.arange(model.n_iter_ + 1)
        by_edges = first + np.cumsum([0.0, *(0.5 * np.log1p(-(model.edges_**2)) / np.log(10))])
        before = first + rounds * np.log1p(-2 / (K * n**2)) / np.log(10)
        loss = np.log10(np.maximum(model.train_loss_, LEAST))
        ax.plot(rounds, before, ":", color="#1A1A1A", label="proven before the first round")
        ax.plot(rounds, by_edges, "--", color="#1A1A1A", label="proven by the edges")
        ax.plot(rounds, loss, color="#0072B2", label="training loss")
        ax.set(title=f"{name} (d = {X.shape[1]}, K = {K}, n = {n})", xlabel="Round", ylabel="log10")
        rows.append(
            {
                "data": name,
                "rounds": model.n_iter_,
                "log10_loss": loss[-1],
                "log10_by_edges": by_edges[-1],
                "log10_before": before[-1],
            }
        )
        show(rows[-1:])
    axes[0, 0].legend(frameon=False)
    save_picture(figure, f"{SUMMARY}_bound")
    save(f"{SUMMARY}_bound", rows)


def figure8(options: dict[str, Any], sets: list[str], methods: list[str], seeds: range) -> Iterator[Trial]:
    """Five splits 50/25/25; nothing is chosen by the validation part, which stays unused."""
    made = {
        "similarity": lambda: similarity(n_estimators=MOST_ROUNDS, target_loss="1/n", **options),
        "sign": lambda: similarity(n_estimators=MOST_ROUNDS, target_loss="1/n", response="sign", **options),
        "similarity, 200 rounds": lambda: similarity(n_estimators=200, **options),
        "one-point": lambda: similarity(n_estimators=200, two_point=False, **options),
        "one-point, sign": lambda: similarity(n_estimators=200, two_point=False, response="sign", **options),
        "stumps": lambda: REBELClassifier(weak_learner="stump", fit_intercept="each round"),
        "trees": lambda: REBELClassifier(max_depth=4),
    }
    for name in sets:
        for method in methods or list(made):
            for seed in seeds:

                def trial(name: str = name, method: str = method, seed: int = seed) -> dict[str, Any]:
                    data = load(name)
                    order = np.random.default_rng(seed).permutation(len(data.y))
                    half, rest = len(order) // 2, len(order) * 3 // 4
                    train, test = order[:half], order[rest:]
                    return measured(made[method](), data.X[train], data.y[train], data.X[test], data.y[test])

                yield "8", name, method, seed, trial


def split9(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The set's own split; of glass a quarter is trained on, as in the paper, and of segment nothing is known twice."""
    data = load(name)
    if data.training is not None:
        return data.official()
    order = np.random.default_rng(seed).permutation(len(data.y))
    train, test = order[: len(order) // 4], order[len(order) // 4 :]
    return data.X[train], data.y[train], data.X[test], data.y[test]


def chosen(options: dict[str, Any], X: np.ndarray, y: np.ndarray, *test: np.ndarray) -> dict[str, Any]:
    """Responses and scaling of fewest mistakes on a quarter of the training rows, then a fit on all of them."""
    counts = np.bincount(y)
    single = counts[y] < 2  # of a class of one row; that is always trained on
    part, held, y_part, y_held = train_test_split(
        X[~single], y[~single], test_size=0.25, random_state=0, stratify=y[~single] if len(y) > 500 else None
    )
    part, y_part = np.concatenate([part, X[single]]), np.concatenate([y_part, y[single]])
    names, codes = np.unique(y_part, return_inverse=True)  # a class may be held out altogether

    def made(response: str, scaling: str) -> LocalizedSimilaritiesClassifier:
        return similarity(n_estimators=MOST_ROUNDS, target_loss="1/n", response=response, scaling=scaling, **options)

    mistakes = {}
    for way in itertools.product(("real", "sign"), ("none", "standard")):
        mistakes[way] = int(np.sum(names[made(*way).fit(part, codes).predict(held)] != y_held))
    best = min(mistakes, key=lambda way: mistakes[way])
    told = f"{', '.join(best)} ({' '.join(map(str, mistakes.values()))} of {len(y_held)})"
    return measured(made(*best), X, y, *test) | {"chosen": told}


def figure9(options: dict[str, Any], sets: list[str], methods: list[str], seeds: range) -> Iterator[Trial]:
    """To a loss below 1/n; glass has no split of its own and gets several."""
    for name in sets:
        for seed in seeds if load(name).training is None else range(1):
            for method in methods or ["similarity", "svm", "network"]:

                def trial(name: str = name, method: str = method, seed: int = seed) -> dict[str, Any]:
                    data = split9(name, seed)
                    if method in ("similarity", "sign"):
                        response = "real" if method == "similarity" else "sign"
                        model = similarity(n_estimators=MOST_ROUNDS, target_loss="1/n", response=response, **options)
                        return measured(model, *data)
                    if method == "chosen":
                        return chosen(options, *data)
                    return best_network(*data) if method == "network" else best_machine(*data)

                yield "9", name, method, seed, trial


def machines(X: np.ndarray) -> list[Any]:
    """SVC on a 5 x 6 grid: C = 1 to 10^4 and gamma = 10^-3 to 10^2 over d, features standardised."""
    return [
        make_pipeline(StandardScaler(), SVC(C=10.0**c, gamma=10.0**g / X.shape[1], cache_size=1000))
        for c in range(5)
        for g in range(-3, 3)
    ]


def best_machine(X: np.ndarray, y: np.ndarray, *test: np.ndarray) -> dict[str, Any]:
    """The machine of least test error; with many rows, of least error on a quarter of 10 000 training rows."""
    if len(y) <= MANY:
        return best_of(machines(X), (X, y, *test))
    rows = np.random.default_rng(0).permutation(len(y))[:FEW]
    part, held = rows[: FEW * 3 // 4], rows[FEW * 3 // 4 :]
    errors = [float(np.mean(model.fit(X[part], y[part]).predict(X[held]) != y[held])) for model in machines(X)]
    best = int(np.argmin(errors))
    return measured(machines(X)[best], X, y, *test) | {"chosen": f"point {best} ({100 * errors[best]:.2f} %)"}


def best_network(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> dict[str, Any]:
    """Of least test error among [d-4d-K], [d-4K-K], [d-2d-4K-K], [d-4K-2K-K]: the last two are our reading of a
    garbled line. Single precision, as usual for networks.
    """
    d, K = X.shape[1], len(np.unique(y))
    models = [
        make_pipeline(StandardScaler(), MLPClassifier(hidden, max_iter=300, random_state=0))
        for hidden in ((4 * d,), (4 * K,), (2 * d, 4 * K), (4 * K, 2 * K))
    ]
    return best_of(models, (X.astype(np.float32), y, X_test.astype(np.float32), y_test))


def rounds() -> None:
    """Processor time of a round for 5000 to 60 000 rows."""
    X, y, _, _ = load("mnist").official()

    def processor(n: int, rounds: int) -> float:
        model = similarity(n_estimators=rounds, n_candidates=30, cache_size=0)
        start = time.process_time()
        model.fit(X[:n], y[:n])
        return time.process_time() - start

    processor(500, 2)  # compiles
    rows = []
    for n in (100, 200) if is_quick() else (5_000, 10_000, 20_000, 40_000, 60_000):
        each = (processor(n, 12) - processor(n, 2)) / 10
        rows.append({"rows": n, "milliseconds": 1000 * each, "microseconds_per_row": 1e6 * each / n})
        show(rows[-1:])
    save(f"{SUMMARY}_rounds", rows)


def best_of(models: list[Any], data: Any) -> dict[str, Any]:
    """The one of least test error, as in the paper (it is given the advantage of the test set)."""
    return min((measured(model, *data) for model in models), key=lambda row: float(row["error"]))


# -- results -------------------------------------------------------------------------------------------------------
COLUMNS = (
    "figure",
    "data",
    "method",
    "seed",
    "options",
    "chosen",
    "error",
    "rounds",
    "log10_loss",
    "train_error",
    "least_error",
    "largest_late_error",
    "zero_round",
    "straightness",
    "seconds",
    "predict_seconds",
)


def paper(figure: str, data: str, method: str) -> tuple[float, float]:
    """The paper's error and deviation; nan where it has none."""
    nothing = float("nan")
    if figure == "spiral":
        return SPIRAL[data][1], nothing
    if figure == "curves":
        return CURVES[data][1], nothing
    if figure == "9":
        place = {"similarity": 0, "sign": 0, "chosen": 0, "network": 1, "svm": 2}[method]
        return FIGURE9[data][place], nothing
    if method in ("similarity", "sign"):
        return FIGURE8[data]
    theirs = {"stumps": STUMPS8, "one-point": ONE8, "one-point, sign": ONE8}.get(method, {})
    return theirs.get(data, nothing), nothing


def summary(rows: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Mean and deviation over seeds beside the paper's."""
    table = []
    for key in dict.fromkeys((row["figure"], row["data"], row["method"], row["options"]) for row in rows):
        mine = [row for row in rows if (row["figure"], row["data"], row["method"], row["options"]) == key]
        errors = np.array([float(row["error"]) for row in mine])
        theirs, spread = paper(*key[:3])

        def mean(name: str, mine: Any = mine) -> float:
            values = [float(row[name]) for row in mine if row[name] != ""]
            return float(np.mean(values)) if values else float("nan")

        table.append(
            {
                "figure": key[0],
                "data": key[1],
                "method": key[2],
                "options": key[3],
                "fits": len(mine),
                "error": errors.mean(),
                "deviation": errors.std(ddof=1) if len(errors) > 1 else 0.0,
                "paper_error": theirs,
                "paper_deviation": spread,
                **{
                    name: mean(name)
                    for name in (
                        "rounds",
                        "log10_loss",
                        "train_error",
                        "least_error",
                        "largest_late_error",
                        "straightness",
                        "seconds",
                        "predict_seconds",
                    )
                },
            }
        )
    return sorted(table, key=lambda row: (row["figure"], row["data"], row["method"]))


def main() -> None:
    """The command."""
    options = parser(__doc__, "50 rounds of Figure 8 on glass, or of the figure and sets asked for, one split")
    options.add_argument("--figure", choices=["spiral", "curves", "7", "8", "9", "rounds"])
    options.add_argument("--sets", nargs="+", default=None)
    options.add_argument("--methods", nargs="+", default=[])
    options.add_argument("--seeds", type=int, nargs="+", default=[5], help="how many, or from and to")
    options.add_argument("--candidates", type=int, default=None, help="points x_j that a round tries; default all")
    options.add_argument("--neighbors", type=int, default=None, help="of x_i among which x_j is; default all points")
    arguments = options.parse_args()
    if arguments.quick and arguments.figure is None:
        arguments.figure, arguments.sets = "8", arguments.sets or ["glass"]
    if arguments.figure is None:
        options.error("--figure is required: which one?")
    if arguments.figure == "rounds":
        rounds()
        return
    common: dict[str, Any] = {
        "n_jobs": arguments.jobs,
        "n_candidates": arguments.candidates,
        "n_neighbors": arguments.neighbors,
    }
    if arguments.figure == "7":
        figure7(common, arguments.sets or ["glass", "pendigits"])
        return
    seeds = range(1) if arguments.quick else range(*arguments.seeds)
    known = {"curves": CURVES, "8": FIGURE8, "9": FIGURE9}.get(arguments.figure, {})
    sets = arguments.sets or [name for name in known if name != "mnist"]
    trials = {
        "spiral": lambda: spirals(common, seeds),
        "curves": lambda: curves(common, sets),
        "8": lambda: figure8(common, sets, arguments.methods, seeds),
        "9": lambda: figure9(common, sets, arguments.methods, seeds),
    }[arguments.figure]()
    told = f"candidates={arguments.candidates or 'all'}"
    told += f" neighbors={arguments.neighbors}" if arguments.neighbors else ""
    rows = kept(TRIALS)
    for figure, data, method, seed, trial in trials:
        mine = told if method.startswith(("similarity", "sign", "one-point", "chosen")) else ""
        names = {"figure": figure, "data": data, "method": method, "seed": str(seed), "options": mine}
        if not any(all(row[key] == value for key, value in names.items()) for row in rows):
            keep(TRIALS, names | trial(), columns=COLUMNS)
            rows = kept(TRIALS)
        show(summary([row for row in rows if (row["figure"], row["data"], row["method"]) == (figure, data, method)]))
    save(SUMMARY, summary(rows))


if __name__ == "__main__":
    main()
