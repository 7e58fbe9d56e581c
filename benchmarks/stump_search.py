"""Logistic REBEL with the exact stump of each round beside the one of the quadratic approximation: cost and gain.

Stumps, one thread, 0/1 costs, three random splits 75/25 of each set; both searches in turns, processor seconds of whole
fits. ``share_other`` is how many of 50 rounds choose another stump from the same scores, ``missed`` the share of the
fall that the quadratic one misses there, at most.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.common import load, parser, save, show
from minrisk import REBELClassifier

SETS = ("glass", "vowel", "segment", "satimage", "pendigits", "letter", "usps", "isolet")
ROUNDS = 200
COMPARED = 50  # rounds in which both stumps are looked for at the same scores


def fitted(search: str, X: np.ndarray, y: np.ndarray, rounds: int) -> tuple[REBELClassifier, float]:
    """A model and its processor seconds."""
    model = REBELClassifier(loss="logistic", weak_learner="stump", n_estimators=rounds, stump_search=search)
    start = time.process_time()
    model.fit(X, y)
    return model, time.process_time() - start


def differences(X: np.ndarray, y: np.ndarray, rounds: int) -> tuple[float, float]:
    """Share of the rounds in which the exact stump is another, and the largest share of a fall that is missed."""
    other, missed = 0, 0.0
    model = REBELClassifier(loss="logistic", weak_learner="stump", n_estimators=1, smoothing=0.0, warm_start=True)
    for t in range(1, rounds + 1):
        model.set_params(n_estimators=t)
        losses = {}
        before = model.train_loss_[-1] if t > 1 else None
        found = {}
        for search in ("quadratic", "exact"):  # the next round goes on from the exact one
            one = REBELClassifier(**model.get_params())
            one.__dict__.update({**model.__dict__, "stump_search": search})
            one.fit(X, y)
            found[search], losses[search] = one, one.train_loss_[-1]
        exact, quick = found["exact"].model_.learners[-1], found["quadratic"].model_.learners[-1]
        if (exact.feature[0], exact.threshold[0]) != (quick.feature[0], quick.threshold[0]):
            other += 1
            start = found["exact"].train_loss_[-2] if before is None else before
            missed = max(missed, float((losses["quadratic"] - losses["exact"]) / (start - losses["exact"])))
        model = found["exact"]
    return other / rounds, missed


def main() -> None:
    options = parser(__doc__, "one set of few rows")
    options.add_argument("--sets", nargs="+", choices=(*SETS, "mnist"), default=list(SETS))
    options.add_argument("--splits", type=int, default=3)
    arguments = options.parse_args()
    names, splits = (arguments.sets[:1], 1) if arguments.quick else (arguments.sets, arguments.splits)
    rounds, compared = (10, 3) if arguments.quick else (ROUNDS, COMPARED)
    rows: list[dict[str, Any]] = []
    for name in names:
        data = load(name)
        told: dict[str, list[tuple[float, float, float]]] = {"quadratic": [], "exact": []}
        for seed in range(splits):
            order = np.random.default_rng(seed).permutation(len(data.X))
            training, test = np.split(order, [3 * len(order) // 4])
            for search, results in told.items():
                fitted(search, data.X[training], data.y[training], 2)  # compiled, and in the cache
                model, seconds = fitted(search, data.X[training], data.y[training], rounds)
                error = 100.0 * (1.0 - model.score(data.X[test], data.y[test]))
                results.append((seconds, float(model.train_loss_[-1]), error))
        some = order[:3000]
        other, missed = differences(data.X[some], data.y[some], compared)
        (slow, loss, error), (quick, quick_loss, quick_error) = (
            np.mean(told[search], axis=0) for search in ("exact", "quadratic")
        )
        rows.append(
            {
                "data": name,
                "rows": len(data.X),
                "features": data.X.shape[1],
                "classes": len(np.unique(data.y)),
                "rounds": rounds,
                "splits": splits,
                "cpu_seconds_quadratic": quick,
                "cpu_seconds_exact": slow,
                "ratio": slow / quick,
                "training_loss_quadratic": quick_loss,
                "training_loss_exact": loss,
                "error_percent_quadratic": quick_error,
                "error_percent_exact": error,
                "share_other": other,
                "missed": missed,
            }
        )
        show(rows[-1:])
    save("stump_search", rows)
    show(rows)


if __name__ == "__main__":
    main()
