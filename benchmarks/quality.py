"""Quality at scale: test error on the official splits of letter and MNIST, depth-4 trees, 0/1 costs.

Targets: letter, 400 rounds, at most 6.5 %; MNIST raw pixels, 300 rounds, at most 3.1 %.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.common import load, parser, save, show
from minrisk import REBELClassifier

TARGETS = {"letter": (400, 6.5), "mnist": (300, 3.1)}


def main() -> None:
    options = parser(__doc__, "a twentieth of the rounds on some rows of each set")
    options.add_argument("--sets", nargs="+", choices=tuple(TARGETS), default=list(TARGETS))
    options.add_argument("--learning-rate", type=float, default=1.0)
    options.add_argument("--smoothing", type=float, default=None, help="default: the estimator's")
    arguments = options.parse_args()
    more = {} if arguments.smoothing is None else {"smoothing": arguments.smoothing}
    rows: list[dict[str, Any]] = []
    for name in arguments.sets:
        rounds, target = TARGETS[name]
        rounds = rounds // 20 if arguments.quick else rounds
        X, y, X_test, y_test = load(name).official()
        model = REBELClassifier(
            n_estimators=rounds, max_depth=4, learning_rate=arguments.learning_rate, n_jobs=arguments.jobs, **more
        )
        start = time.perf_counter()
        model.fit(X, y)
        spent = time.perf_counter() - start
        for stage in sorted({rounds // 4, rounds // 2, rounds}):
            decided = model.classes_[model.model_[:stage].scores(X_test).argmax(axis=1)]
            rows.append(
                {
                    "data": name,
                    "depth": 4,
                    "learning_rate": model.learning_rate,
                    "smoothing": model.smoothing,
                    "rounds": stage,
                    "error_percent": 100.0 * float(np.mean(decided != y_test)),
                    "target_percent": target if stage == rounds else "",
                    "fit_seconds": spent * stage / rounds,
                }
            )
    save("quality", rows)
    show(rows)


if __name__ == "__main__":
    main()
