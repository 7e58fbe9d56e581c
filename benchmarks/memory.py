"""Memory: the most a fit holds above its input, each case in a fresh process.

Limit: 1.3 n d + 40 n D bytes + 64 MB. The figure is the peak of the resident set during the fit (Linux: VmHWM, reset
before it; elsewhere ru_maxrss) less the resident set just before it, with the kernels loaded and the input in place.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import ROOT, load, parser, save, show

METHODS = ("REBEL", "MinRisk, one kind", "MinRisk, pool")
CASES = ("mnist uint8", "mnist float32", "mnist float64", "made float64")
STATUS = Path("/proc/self/status")


def resident(field: str) -> int:
    """VmRSS or VmHWM in bytes."""
    if not STATUS.exists():
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])


def reset_peak() -> None:
    """Forget the peak so far where the system lets us; otherwise the figure is an upper bound."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def input_of(case: str, quick: bool) -> tuple[np.ndarray, np.ndarray]:
    name, dtype = case.split()
    if name == "mnist":
        n = 60_000
        data = load("mnist")
        return data.X[:n].astype(dtype), data.y[:n].copy()
    n, d, K = (2_000 if quick else 200_000), 50, 20
    rng = np.random.default_rng(0)
    X = rng.random((n, d), dtype=np.float64)
    return X, (K * (0.7 * X[:, 0] + 0.3 * X[:, 1])).astype(np.int64)


def model_of(method: str, depth: int, jobs: int) -> Any:
    """Ten rounds."""
    from minrisk import MinRiskClassifier, REBELClassifier

    if method == "REBEL":
        return REBELClassifier(n_estimators=10, max_depth=depth, n_jobs=jobs)
    return MinRiskClassifier(n_estimators=10, pool="pool" in method, n_jobs=jobs, random_state=0)


def child(case: str, method: str, depth: int, jobs: int, quick: bool) -> dict[str, Any]:
    """Fit once and measure; runs in its own process."""
    X, y = input_of(case, quick)
    few = np.r_[np.arange(100), [np.flatnonzero(y == k)[0] for k in np.unique(y)]]
    model_of(method, depth, jobs).fit(X[few], y[few])
    load.cache_clear()
    gc.collect()
    reset_peak()
    before = resident("VmRSS")
    model_of(method, depth, jobs).fit(X, y)
    above = resident("VmHWM") - before
    (n, d), D = X.shape, int(y.max()) + 1
    limit = 1.3 * n * d + 40 * n * D + 64e6
    return {
        "case": case,
        "method": method,
        "n": n,
        "d": d,
        "D": D,
        "depth": depth,
        "n_jobs": jobs,
        "above_input_MB": above / 1e6,
        "limit_MB": limit / 1e6,
        "of_limit": above / limit,
    }


def main() -> None:
    options = parser(__doc__, "two methods on 2 000 made rows")
    options.add_argument("--depth", type=int, default=4)
    options.add_argument("--case", choices=CASES, help="this case only, in this process, as JSON")
    options.add_argument("--method", choices=METHODS, default="REBEL", help="with --case")
    arguments = options.parse_args()
    if arguments.case:
        print(json.dumps(child(arguments.case, arguments.method, arguments.depth, arguments.jobs, arguments.quick)))
        return
    rows = []
    methods, cases = (METHODS[::2], CASES[-1:]) if arguments.quick else (METHODS, CASES)
    for method, case in itertools.product(methods, cases):
        command = [
            sys.executable,
            "-m",
            "benchmarks.memory",
            "--case",
            case,
            "--method",
            method,
            "--depth",
            str(arguments.depth),
            "--jobs",
            str(arguments.jobs),
            *(["--quick"] if arguments.quick else []),
        ]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        rows.append(json.loads(done.stdout))
    save("memory", rows)
    show(rows)


if __name__ == "__main__":
    main()
