"""How often the intervals of `monitor` hold what decisions cost, without labels, and how often it rings for nothing.

`MinRiskClassifier` is fitted with defaults to half of a set, at most 1500 rows. From the other rows, samples are drawn
without repeats: `none` of any rows, 150 to 1000 if there are so many, and `mix` by class, so that classes have random
shares (Dirichlet, all parameters 1). Costs are 0/1, lognormal and normal by turns.

`known` is the share of samples whose expected cost is known, and `coverage` that of these whose mean cost lies in the
90 % interval; `above` and `below` are mean costs over and under it. `half_width` is the median of the interval's half
over the estimate, and `off` the median by which the estimate differs from the mean cost, over the latter; `plain` is
the same of the mean of p C. `drift_05` and `drift_01` are the shares of samples with such p-values of the drift test,
which of `none` should be 0.05 and 0.01 at most, and `refuted` those whose labels refute the promise that the rows left
out make, at most 0.05.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.common import costs, is_quick, parser, save, show
from benchmarks.priors import data_of

SETS = (
    *("german", "vehicle", "segment", "car", "vowel", "satimage", "waveform", "page_blocks", "svmguide4", "pendigits"),
    *("svmguide2", "nursery", "digits", "optdigits", "letter", "dna", "ecoli", "mfeat", "chess", "libras"),
)
KINDS = ("lognormal", "0/1", "normal")
MOST_ROWS, MOST_POOL, MOST_NEW, LEAST_NEW = 1500, 8000, 1000, 150


def samples(y: np.ndarray, K: int, draws: int, seed: int, mixed: bool) -> Iterator[np.ndarray]:
    """Draw rows."""
    random, have = np.random.default_rng(seed), np.bincount(y, minlength=K)
    most, there = min(MOST_NEW, len(y)), np.flatnonzero(have)
    while draws:
        if not mixed:
            draws -= 1
            yield random.choice(len(y), random.integers(min(LEAST_NEW, most // 2), most + 1), replace=False)
            continue
        shares = np.zeros(K)
        shares[there] = random.dirichlet(np.ones(len(there)))
        n = min(most, int(np.min(have[there] / np.maximum(shares[there], 1e-9))))
        if n < min(LEAST_NEW, len(y) // K):
            continue
        draws -= 1
        counts = np.minimum(random.multinomial(n, shares), have)
        yield np.concatenate([random.choice(np.flatnonzero(y == j), m, replace=False) for j, m in enumerate(counts)])


def measured(name: str, seeds: range, draws: int, jobs: int) -> list[dict[str, Any]]:
    """Return a line of results for samples of either kind."""
    from minrisk import MinRiskClassifier
    from minrisk.decisions.monitor import monitor

    X, y = data_of(name)
    found: dict[str, list[list[float]]] = {"none": [], "mix": []}
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(y))
        first, rest = np.split(order, [min(len(y) // 2, MOST_ROWS)])
        rest = rest[:MOST_POOL]
        model = MinRiskClassifier(random_state=0, n_jobs=jobs, n_estimators=5 if is_quick() else None)
        model.fit(X[first], y[first])
        codes = np.searchsorted(model.classes_, y[rest])
        keep = np.isin(y[rest], model.classes_)
        rest, codes, K = rest[keep], codes[keep], len(model.classes_)
        for kind, lines in found.items():
            for draw, rows in enumerate(samples(codes, K, draws, seed, kind == "mix")):
                table = costs(KINDS[draw % 3], K, draw + 100 * seed)
                told = monitor(model, X[rest[rows]], y[rest[rows]], cost=table.values)
                p = model.predict_proba(X[rest[rows]]) @ table.values
                lines.append(line(told, float(p.min(axis=1).mean())))
    return [
        {"set": name, "shift": kind, "classes": K, "rows": len(first), "samples": len(lines)} | summary(np.array(lines))
        for kind, lines in found.items()
    ]


def line(told: Any, plain: float) -> list[float]:
    """Return what is counted of one sample."""
    true, drift = told.realised.mean, 1.0 if told.drift is None else told.drift
    least = max(true, 1e-12)
    sure = [told.drift is not None, drift < 0.05, drift < 0.01, told.promises[0].e_value >= 20.0, plain / least - 1.0]
    if told.cost is None:
        return [0.0, 0.0, 0.0, np.nan, np.nan, *sure]
    mean, low, high = told.cost
    return [1.0, true > high, true < low, (high - low) / 2.0 / max(mean, 1e-12), mean / least - 1.0, *sure]


def summary(lines: np.ndarray) -> dict[str, Any]:
    known = lines[lines[:, 0] > 0.0]
    costly = known[known[:, 4] < 1e6]  # those with a cost
    above, below = (float(known[:, j].mean()) if len(known) else np.nan for j in (1, 2))
    return {
        "known": lines[:, 0].mean(),
        "coverage": 1.0 - above - below,
        "above": above,
        "below": below,
        "half_width": np.median(known[:, 3]) if len(known) else np.nan,
        "off": np.median(np.abs(costly[:, 4])) if len(costly) else np.nan,
        "plain": np.median(np.abs(costly[:, 9])) if len(costly) else np.nan,
        "drift_05": lines[:, 6].mean(),
        "drift_01": lines[:, 7].mean(),
        "refuted": lines[:, 8].mean(),
    }


def main() -> None:
    options = parser(__doc__, "two sets, few rows, models of five rounds")
    options.add_argument("--seeds", type=int, default=10, help="splits of each set, default 10")
    options.add_argument("--draws", type=int, default=6, help="samples of either kind from each split, default 6")
    options.add_argument("--sets", nargs="+", default=SETS, help="by default all")
    arguments = options.parse_args()
    rows: list[dict[str, Any]] = []
    for name in ("german", "digits") if arguments.quick else arguments.sets:
        first = 3000  # seeds that nothing was chosen by
        seeds = range(first, first + (1 if arguments.quick else arguments.seeds))
        rows += measured(name, seeds, 3 if arguments.quick else arguments.draws, arguments.jobs)
        save("monitor", rows)
        show(rows[-2:])
    show(rows)


if __name__ == "__main__":
    main()
