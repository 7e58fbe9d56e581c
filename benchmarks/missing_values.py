"""Values knocked out at random: ours beside the peers' own handling of missing values, everybody with defaults.

satimage and segment (each row of it once), random 70/30 splits, one thread. Each cell of training and test rows is
missing with the same probability, whatever stands in it or beside it: 0, 10, 30 or 50 %; cells that are missing at 10 %
are missing at 30 % too. All methods are given NaN as it is. Costs, standard errors and shares: see
`benchmarks.cost_ratios`.

A fit is a line of ``missing_values_fits.csv``, and a run goes on where the last one stopped; means over splits are in
``missing_values.csv``, ours as a share of the others' in ``missing_values_shares.csv``.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.common import is_quick, keep, kept, parser, save, seconds, show, there
from benchmarks.compare.data import split
from benchmarks.compare.methods import METHODS
from benchmarks.cost_ratios import by_split, judged, means, shares, tables

FITS = "missing_values_fits"
SETS = ("segment", "satimage")
RATES = (0, 10, 30, 50)  # per cent of cells
METHODS_ASKED = ("minrisk", "lightgbm", "histogram", "xgboost", "catboost")
PEERS = {"catboost": "catboost", "lightgbm": "lightgbm", "xgboost": "xgboost"}
BEST_OF = ("lightgbm", "catboost", "histogram", "xgboost")
SPLITS, SPLITS_OF_CATBOOST = 10, 3


def knocked_out(X: np.ndarray, rate: int, *named: Any) -> np.ndarray:
    """X with NaN in so many per cent of its cells, by a draw of its own for each name."""
    drawn = np.random.default_rng(zlib.crc32("/".join(map(str, named)).encode())).random(X.shape)
    return np.where(drawn < rate / 100, np.nan, X)


def made(method: str) -> Any:
    """An estimator with defaults."""
    if method == "minrisk":
        from minrisk import MinRiskClassifier

        return MinRiskClassifier(random_state=0, n_jobs=1)
    return METHODS[method].make(0, 1, {"iterations": 50} if method == "catboost" and is_quick() else {})


def fit(name: str, rate: int, seed: int, method: str) -> dict[str, Any]:
    """Error, log-loss and cost of a fit on a split."""
    data = split(name, seed)
    X_fit, X_test = (
        knocked_out(np.asarray(X, dtype=np.float64), rate, name, seed, part)
        for X, part in ((data.X, "training"), (data.X_test, "test"))
    )
    model = made(method)
    with threadpool_limits(1):
        spent = seconds(lambda: model.fit(X_fit, data.y))
        p = np.asarray(model.predict_proba(X_test))
    classes = [str(code) for code in range(data.n_classes)]
    return {
        "set": f"{name} {rate} %",
        "split": seed,
        "method": method,
        "rows": len(data.y) + len(data.y_test),
        "tested": len(data.y_test),
        "missing": 100 * float(np.isnan(X_fit).mean()),
        **judged(p, data.y_test, tables(name, classes, seed)),
        "seconds": spent,
    }


def asked(sets: list[str], rates: list[int], methods: list[str], splits: int) -> Iterator[tuple[str, int, int, str]]:
    for seed in range(splits):
        for name in sets:
            for rate in rates:
                yield from (
                    (name, rate, seed, method)
                    for method in methods
                    if method != "catboost" or seed < SPLITS_OF_CATBOOST
                )


def main() -> None:
    options = parser(__doc__, "one split of some rows of segment, with 0 and 30 %")
    options.add_argument("--sets", nargs="+", default=list(SETS))
    options.add_argument("--rates", nargs="+", type=int, default=list(RATES), help="per cent of cells")
    options.add_argument("--methods", nargs="+", default=list(METHODS_ASKED))
    options.add_argument("--splits", type=int, default=SPLITS)
    arguments = options.parse_args()
    if arguments.quick:
        arguments.sets, arguments.rates, arguments.splits = arguments.sets[:1], [0, 30], 1
    present = there({name: PEERS[name] for name in arguments.methods if name in PEERS})
    arguments.methods = [name for name in arguments.methods if name not in PEERS or name in present]
    done = {(row["set"], int(row["split"]), row["method"]) for row in kept(FITS)}
    for name, rate, seed, method in asked(arguments.sets, arguments.rates, arguments.methods, arguments.splits):
        if (f"{name} {rate} %", seed, method) not in done:
            row = fit(name, rate, seed, method)
            keep(FITS, row)
            print(
                row["set"],
                seed,
                method,
                f"{row['error']:.2f} %, {row['log_loss']:.3f}, {row['cost']:.4f}, {row['seconds']:.1f} s",
                flush=True,
            )
    fits = by_split(sorted(kept(FITS), key=lambda row: row["set"]))
    save("missing_values", means(fits))
    show(means(fits))
    beside = shares(fits, "minrisk", [method for method in METHODS_ASKED if method != "minrisk"], BEST_OF)
    if beside:
        save("missing_values_shares", beside)
        show(beside)


if __name__ == "__main__":
    main()
