"""Fits of small data with defaults: the sets of fewer than 1 000 rows, beside LightGBM.

Seconds of a fit on the training rows of `compare`'s first split, the median of repeats in turns, at LightGBM's own
number of threads and at one, of which the faster counts. Target: no slower than LightGBM.
"""

from __future__ import annotations

from functools import partial
from typing import Any

# First: it says how OpenMP's threads wait before anything loads OpenMP
from benchmarks.time_to_error import warm_up  # isort: skip

import numpy as np

from benchmarks.common import installed, interleaved, parser, save, seconds, show
from benchmarks.compare.data import SETS, split
from minrisk import MinRiskClassifier

SMALL = tuple(name for name, rows in SETS.items() if rows < 1000)


def fits(jobs: int) -> dict[str, Any]:
    """Models by name."""
    peers: dict[str, Any] = {}
    if installed("lightgbm"):
        from lightgbm import LGBMClassifier

        peers = {
            "LightGBM": LGBMClassifier(n_jobs=jobs, verbose=-1),
            "LightGBM, one thread": LGBMClassifier(n_jobs=1, verbose=-1),
        }
    return peers | {
        "MinRisk, defaults": MinRiskClassifier(n_jobs=jobs, random_state=0),
        "MinRisk, pool=False": MinRiskClassifier(n_jobs=jobs, random_state=0, pool=False),
    }


def main() -> None:
    options = parser(__doc__, "three small sets, some rows of each")
    options.add_argument("--repeats", type=int, default=7)
    arguments = options.parse_args()
    warm_up(arguments.jobs)
    rows: list[dict[str, Any]] = []
    for name in SMALL[:3] if arguments.quick else SMALL:
        data, models = split(name, 0), fits(arguments.jobs)
        medians = interleaved(
            {model: partial(seconds, partial(made.fit, data.X, data.y)) for model, made in models.items()},
            3 if arguments.quick else arguments.repeats,
        )
        peer = min((spent for model, spent in medians.items() if "LightGBM" in model), default=float("nan"))
        for model, spent in medians.items():
            rows.append(
                {
                    "set": name,
                    "rows": len(data.X),
                    "features": data.X.shape[1],
                    "classes": data.n_classes,
                    "model": model,
                    "milliseconds": 1e3 * spent,
                    "of_lightgbm": spent / peer,
                }
            )
    for model in fits(1):
        ratios = [row["of_lightgbm"] for row in rows if row["model"] == model]
        rows.append(
            {
                "set": "geometric mean",
                "rows": "",
                "features": "",
                "classes": "",
                "model": model,
                "milliseconds": "",
                "of_lightgbm": float(np.exp(np.mean(np.log(ratios)))),
            }
        )
    save("small_data", rows)
    show(rows)


if __name__ == "__main__":
    main()
