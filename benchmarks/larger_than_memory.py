"""More rows than memory: a fit from Parquet files in chunks; time of the processor, peak memory, error and its bound.

Rows are of K classes of a Gaussian each, unit covariance, whose means are drawn once; they are written part by part
with a fixed seed, so the files are never in memory. The bound is the error of Bayes' rule on the same held-out rows.
Each fit has a process of its own. Memory is the most that the process held, libraries and all; pages of bins in a file
are counted while they are resident.

Target: 10 million x 30 rows, K = 5, within 2.5 GB.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import ROOT, is_quick, parser, save, show
from benchmarks.memory import resident

K, D = 5, 30
PART_ROWS = 500_000
HELD_OUT_ROWS = 200_000
SPREAD = 0.4  # standard deviation of the means' entries
SIZES = (1_000_000, 10_000_000)


def means() -> np.ndarray:
    """Of the classes, (K, D)."""
    return np.random.default_rng(0).normal(scale=SPREAD, size=(K, D)).astype(np.float32)


def rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and classes of n rows."""
    rng = np.random.default_rng([1, seed])
    y = rng.integers(0, K, n)
    return means()[y] + rng.standard_normal((n, D), dtype=np.float32), y


def write(folder: Path, n_rows: int) -> None:
    """Parquet files of so many rows."""
    import pyarrow as pa
    from pyarrow import parquet

    for number, first in enumerate(range(0, n_rows, PART_ROWS)):
        path = folder / f"part-{number:04d}.parquet"
        X, y = rows(min(PART_ROWS, n_rows - first), number + 1)
        table = pa.table({**{f"x{j}": X[:, j] for j in range(D)}, "class": y})
        parquet.write_table(table, path, row_group_size=PART_ROWS // 4, compression="none")


def bayes_error(X: np.ndarray, y: np.ndarray) -> float:
    """Error of the nearest mean, the best rule for these rows."""
    return float(np.mean(np.argmax(X @ means().T - 0.5 * (means() ** 2).sum(axis=1), axis=1) != y))


def one(folder: str, n_rows: int, rounds: int, bins_in: str | None) -> dict[str, Any]:
    """A fit in this process."""
    from minrisk import Chunks, MinRiskClassifier

    X, y = rows(HELD_OUT_ROWS // (100 if is_quick() else 1), 0)
    chunks = Chunks(folder, target="class", bins_in=bins_in)
    begun, wall = time.process_time(), time.perf_counter()
    model = MinRiskClassifier(n_estimators=rounds, n_jobs=1, random_state=0).fit(chunks)
    seconds, wall, peak = time.process_time() - begun, time.perf_counter() - wall, resident("VmHWM")
    import pandas as pd

    decided = model.predict(pd.DataFrame(X, columns=[f"x{j}" for j in range(D)]))
    return {
        "rows": n_rows, "features": D, "classes": K, "rounds": rounds, "members": model.model_.trees_per_round,
        "bins": "in a file" if bins_in else "in memory",
        "processor s": seconds, "wall s": wall, "peak MB": peak / 1e6,
        "error %": 100 * float(np.mean(decided != y)), "Bayes' error %": 100 * bayes_error(X, y),
    }  # fmt: skip


def apart(folder: Path, n_rows: int, rounds: int, in_file: bool) -> dict[str, Any]:
    """A fit in a fresh process."""
    quick = ["--quick"] if is_quick() else []
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.larger_than_memory", *quick]
    command += ["--one", str(folder), str(n_rows), str(rounds), *(["--bins-in", str(folder)] if in_file else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--one", nargs=3, metavar=("FOLDER", "ROWS", "ROUNDS"), help="a fit in this process, as JSON")
    options.add_argument("--bins-in", metavar="FOLDER", help="of that fit")
    options.add_argument("--rows", nargs="*", type=int, help="default: a million and ten million")
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--folder", help="where the files are written; default: a temporary one")
    arguments = options.parse_args()
    if arguments.one:
        folder, n_rows, rounds = arguments.one
        print(json.dumps(one(folder, int(n_rows), int(rounds), arguments.bins_in)))
        return
    found = []
    for n_rows in arguments.rows or ((200_000,) if arguments.quick else SIZES):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
            write(Path(name), n_rows)
            found += [apart(Path(name), n_rows, arguments.rounds, in_file) for in_file in (False, True)]
    save("larger_than_memory", found, quick=arguments.quick)
    show(found)


if __name__ == "__main__":
    main()
