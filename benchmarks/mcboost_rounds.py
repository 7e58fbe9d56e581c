"""Milliseconds of a round of MCBoost on pendigits (7 494 rows, 9 coordinates, lines in one feature), by loss.

A round is a twentieth of what a fit of 30 rounds takes longer than one of 10, so that binning does not count; the least
of several tries, wall and CPU.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.common import load, parser, save, show
from minrisk import MCBoostClassifier
from minrisk.costs import random_symmetric

FEW, MANY = 10, 30


def fit_seconds(loss: str, rounds: int, n_jobs: int) -> tuple[float, float]:
    """Wall and CPU seconds of a fit."""
    X, y, _, _ = load("pendigits").official()
    cost = np.asarray(random_symmetric(10, 1.0, 10.0, random_state=0))
    model = MCBoostClassifier(cost, loss=loss, n_estimators=rounds, n_jobs=n_jobs)
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    options = parser(__doc__, "two losses on some rows of pendigits")
    options.add_argument("--tries", type=int, default=5)
    options.add_argument("--losses", nargs="+", default=["gll", "gel", "mc", "ls", "lt"])
    arguments = options.parse_args()
    if arguments.quick:
        arguments.losses = arguments.losses[:2]
    rows = []
    for loss in arguments.losses:
        for n_jobs in sorted({1, arguments.jobs}):
            fit_seconds(loss, 1, n_jobs)  # kernels are compiled
            times = np.array(
                [
                    [fit_seconds(loss, rounds, n_jobs) for rounds in (FEW, MANY)]
                    for _ in range(1 if arguments.quick else arguments.tries)
                ]
            )
            few, many = times.min(axis=0)
            wall, cpu = 1000.0 * (many - few) / (MANY - FEW)
            rows.append({"loss": loss, "threads": n_jobs, "ms": float(wall), "cpu_ms": float(cpu)})
    save("mcboost_rounds", rows)
    show(rows)


if __name__ == "__main__":
    main()
