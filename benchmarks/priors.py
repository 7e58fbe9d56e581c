"""Decisions under class shares that are estimated from rows without labels, beside those under the trained shares.

`MinRiskClassifier` is fitted with defaults to half of a set, at most 3000 rows. From the other half, rows are drawn by
class, without repeats, so that classes have random shares (Dirichlet, all parameters 1), 30 times, with lognormal costs
of other seeds. `ratio` is what decisions cost in all with the estimated shares over what they cost with the trained
ones, `known` with the true ones over the same; `better` counts draws that cost less and `same` those that cost as much.
`coverage` is the share of 90 % intervals that hold the share that rows were drawn with. `off` is the mean sum of what
shares miss, and `off_trained` that of the trained ones. `rejected` are tests that say that other shares do not explain
the rows, which should be 0.05 of these draws; `found` the same of draws in which rows of each class are besides drawn
by their first principal component (weight exp of its standard score), so that more than shares has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common import costs, is_quick, least_expected, load, parser, save, show

SETS = ("digits", "pendigits", "satimage", "segment", "vehicle", "letter", "german")
MOST_ROWS, MOST_NEW, LEAST_NEW = 3000, 1000, 200


class Answers(NamedTuple):
    """What a model says of new rows and of those that it left out."""

    X: np.ndarray
    y: np.ndarray
    probabilities: np.ndarray
    told: np.ndarray
    trained: np.ndarray
    left_out: Any


def data_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return (X[:500], y[:500]) if is_quick() else (X, y)
    data = load(name)
    return data.X, data.y


def answers(name: str, seed: int, jobs: int) -> Answers:
    """Fit a model, and ask it."""
    from minrisk import MinRiskClassifier

    X, y = data_of(name)
    order = np.random.default_rng(seed).permutation(len(y))
    first, rest = np.split(order, [min(len(y) // 2, MOST_ROWS)])
    model = MinRiskClassifier(random_state=seed, n_jobs=jobs, n_estimators=5 if is_quick() else None)
    model.fit(X[first], y[first])
    p = model.predict_proba(X[rest])
    return Answers(X[rest], y[rest], p, model._told(X[rest]), model.trained_priors_, model.left_out_)


def mixes(of: Answers, draws: int, seed: int, moved: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Draw shares, and rows that have them; `moved` rows differ within their class as well."""
    random, K = np.random.default_rng(seed), len(of.trained)
    have, least = np.bincount(of.y, minlength=K) // (2 if moved else 1), 10 if is_quick() else LEAST_NEW
    scaled = (of.X - np.nanmean(of.X, axis=0)) / (np.nanstd(of.X, axis=0) + 1e-9)
    along = np.nan_to_num(scaled) @ np.linalg.svd(np.nan_to_num(scaled), full_matrices=False)[2][0]
    least = min(least, int(have.sum()) // K)
    while draws:
        shares = random.dirichlet(np.ones(K))
        n = min(MOST_NEW, int(np.min(have / np.maximum(shares, 1e-9))))
        if n < least:
            continue
        rows = []
        for j, count in enumerate(np.minimum(random.multinomial(n, shares), have)):
            own = np.flatnonzero(of.y == j)
            score = (along[own] - along[own].mean()) / (along[own].std() + 1e-9)
            weight = np.exp(moved * score)
            rows.append(random.choice(own, count, replace=False, p=weight / weight.sum()))
        draws -= 1
        yield shares, np.concatenate(rows)


def measured(name: str, seed: int, of: Answers, draws: int) -> dict[str, Any]:
    """Return a line of results."""
    from minrisk.decisions.priors import LEVEL, estimated, reweighed

    paid, found, K = [], [], len(of.trained)
    for draw, (shares, rows) in enumerate(mixes(of, draws, seed, False)):
        p, y, table = of.probabilities[rows], of.y[rows], np.asarray(costs("lognormal", K, draw))
        told = estimated(p, of.trained, range(K), of.left_out, of.told[rows])
        found.append((shares, told))
        paid.append(
            [
                table[y, least_expected(reweighed(p, known, of.trained), table)].mean()
                for known in (of.trained, told.shares, shares)
            ]
        )
    before, after, best = np.array(paid).T
    moved = [
        estimated(of.probabilities[rows], of.trained, range(K), of.left_out, of.told[rows]).p_value
        for _, rows in mixes(of, draws, seed, True)
    ]
    return {
        "set": name,
        "seed": seed,
        "classes": K,
        "left_out": len(of.left_out.labels),
        "draws": draws,
        "ratio": after.sum() / max(before.sum(), 1e-12),
        "known": best.sum() / max(before.sum(), 1e-12),
        "better": int(np.sum(after < before)),
        "same": int(np.sum(after == before)),
        "not_known": sum(not told.known for _, told in found),
        "coverage": np.mean([np.mean((told.low <= true) & (true <= told.high)) for true, told in found]),
        "off": np.mean([np.abs(told.shares - true).sum() for true, told in found]),
        "off_trained": np.mean([np.abs(of.trained - true).sum() for true, _ in found]),
        "rejected": np.mean([told.p_value is not None and told.p_value < LEVEL for _, told in found]),
        "found": np.mean([p is not None and p < LEVEL for p in moved]),
    }


def main() -> None:
    options = parser(__doc__, "two sets, few rows, models of five rounds")
    options.add_argument("--seeds", type=int, default=3, help="splits of each set, default 3")
    arguments = options.parse_args()
    rows: list[dict[str, Any]] = []
    for name in SETS[::6] if arguments.quick else SETS:
        for seed in range(1 if arguments.quick else arguments.seeds):
            rows.append(measured(name, seed, answers(name, seed, arguments.jobs), 3 if arguments.quick else 30))
            save("priors", rows)
            show(rows[-1:])
    show(rows)


if __name__ == "__main__":
    main()
