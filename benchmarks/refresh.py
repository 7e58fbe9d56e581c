"""Models that grow old: kept, refreshed by `refit_leaves`, or fitted again, on data with an order of time.

KDD Cup 1999 has connections of seven weeks for the fit, and of two later weeks with attacks that are new and other
frequencies for the rest: some of these are the new rows, and the others judge. Rows of Satimage and Pendigits are as
they are for the fit; later the frequencies of classes change, and all features are measured otherwise: made
drift. Costs are 0 and 1.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.common import DATA, coded, frame_of, load, parser, save, show
from minrisk import MinRiskClassifier

MADE = ("satimage", "pendigits")
NEW_ROWS = (100, 300, 1000)
SEEDS = 1
FITTED, JUDGED = 6000, 3000  # rows of the fit, and that judge, at most
MOVED = 0.4  # standard deviations of a feature, by which it is measured otherwise


class Course(NamedTuple):
    """Rows before a change and after it."""

    before: tuple[np.ndarray, np.ndarray]
    after: tuple[np.ndarray, np.ndarray]


def with_drift(name: str, seed: int) -> Course:
    """Rows of a set, of which the later ones have drifted."""
    data, rng = load(name), np.random.default_rng(seed)
    X, y, order = np.array(data.X, dtype=np.float64), np.asarray(data.y), rng.permutation(len(data.y))
    classes, codes = np.unique(y, return_inverse=True)
    first, later = np.split(order, [min(FITTED, len(order) // 2)])
    wanted = rng.dirichlet(np.full(len(classes), 2.0))[codes[later]]
    later = rng.choice(later, len(later) * 2 // 3, replace=False, p=wanted / wanted.sum())
    moved = X[later] * rng.uniform(0.8, 1.25, X.shape[1]) + MOVED * X.std(axis=0) * rng.normal(size=X.shape[1])
    some = slice(JUDGED + max(NEW_ROWS))
    return Course((X[first], y[first]), (moved[some], y[later[some]]))


def kddcup(name: str, seed: int) -> Course:
    """Some connections of the training file, and of the later test file; classes of both."""
    frame, y, train = frame_of("kddcup99")
    assert train is not None
    X, rng = coded(frame), np.random.default_rng(seed)
    shared = np.isin(y, np.unique(y[train]))
    first, later = (rng.permutation(np.flatnonzero(part & shared)) for part in (train, ~train))
    first, later = first[: 5 * FITTED], later[: 5 * JUDGED + max(NEW_ROWS)]
    return Course((X[first], y[first]), (X[later], y[later]))


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    """A model, and the seconds of a processor that it takes."""
    begun = time.process_time()
    return make(), time.process_time() - begun


def judged(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Log-loss and error of later rows."""
    p = np.zeros((len(y), len(np.unique(y))))
    classes = np.unique(y).tolist()
    found = model.predict_proba(X)
    for k, label in enumerate(model.classes_.tolist()):
        if label in classes:
            p[:, classes.index(label)] = found[:, k]
    p = np.maximum(p, 1e-6)
    return float(log_loss(y, p / p.sum(axis=1, keepdims=True))), float(np.mean(model.predict(X) != y))


def rows_of(name: str, course: Course, sizes: tuple[int, ...], seed: int) -> list[dict[str, Any]]:
    """A line for each number of new rows."""
    old, seconds = timed(lambda: MinRiskClassifier(random_state=seed, n_jobs=1).fit(*course.before))
    (X, y), found = course.after, []
    judging = slice(max(sizes), None)
    for n in sizes:
        new = X[:n], y[:n]
        known = np.isin(new[1], old.classes_)
        fresh, refresh = timed(lambda: pickle.loads(pickle.dumps(old)).refit_leaves(new[0][known], new[1][known]))  # noqa: B023
        again, fit = timed(lambda: MinRiskClassifier(random_state=seed, n_jobs=1).fit(*new))  # noqa: B023
        both, fit_both = timed(
            lambda: MinRiskClassifier(random_state=seed, n_jobs=1).fit(
                *(np.concatenate([a, b]) for a, b in zip(course.before, new, strict=True))  # noqa: B023
            )
        )
        row: dict[str, Any] = {"set": name, "seed": seed, "new_rows": n}
        for model, who in ((old, "kept"), (fresh, "refreshed"), (again, "fit_to_new"), (both, "fit_to_all")):
            row[f"{who}_loss"], row[f"{who}_error"] = judged(model, X[judging], y[judging])
        took = {"fit_seconds": seconds, "refresh_seconds": refresh, "new_seconds": fit, "all_seconds": fit_both}
        found.append(row | took)
    return found


def main() -> None:
    arguments = parser(__doc__, "some rows of one set").parse_args()
    rows: list[dict[str, Any]] = []
    if arguments.quick:
        rows = rows_of("satimage", with_drift("satimage", 0), (60,), 0)
    else:
        for seed in range(SEEDS):
            for name in MADE:
                rows += rows_of(name, with_drift(name, seed), NEW_ROWS, seed)
                save("refresh", rows)
            if (DATA / "kddcup99.csv.gz").is_file():
                rows += rows_of("kddcup99", kddcup("kddcup99", seed), NEW_ROWS, seed)
            save("refresh", rows)
    save("refresh", rows)
    show(rows)


if __name__ == "__main__":
    main()
