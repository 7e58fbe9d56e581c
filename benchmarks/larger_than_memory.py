"""More rows than memory: a fit from Parquet files in chunks; time of the processor, peak memory, error and its bound.

Rows are of K classes of a Gaussian each, unit covariance, whose means are drawn once; they are written part by part
with a fixed seed, so the files are never in memory. The bound is the error of Bayes' rule on the same held-out rows.
Each fit, at defaults but for ten rounds, has a process of its own and one thread. Memory is the most that the process
held, libraries and all; pages of bins in a file are counted while they are resident.

Target: 10 million x 30 rows, K = 5, within 2.5 GB.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common import ROOT, is_quick, parser, save, show
from benchmarks.memory import resident

PART_VALUES = 15_000_000  # of a file
HELD_OUT_ROWS = 200_000
SPREAD = 2.2  # length of a class's mean, about


class Size(NamedTuple):
    """Rows, features and classes."""

    n: int
    d: int
    K: int


SIZES = (Size(10**6, 30, 5), Size(10**6, 100, 5), Size(10**6, 30, 20), Size(10**7, 30, 5))
QUICK_SIZES = (Size(150_000, 30, 5),)  # as few as are read more than once


def means(size: Size) -> np.ndarray:
    """Of the classes, (K, d)."""
    drawn = np.random.default_rng(0).normal(scale=SPREAD / np.sqrt(size.d), size=(size.K, size.d))
    return drawn.astype(np.float32)


def rows(size: Size, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and classes of n rows."""
    rng = np.random.default_rng([1, seed])
    y = rng.integers(0, size.K, n)
    return means(size)[y] + rng.standard_normal((n, size.d), dtype=np.float32), y


def write(folder: Path, size: Size) -> None:
    """Parquet files of so many rows."""
    import pyarrow as pa
    from pyarrow import parquet

    height = PART_VALUES // size.d
    for number, first in enumerate(range(0, size.n, height)):
        X, y = rows(size, min(height, size.n - first), number + 1)
        table = pa.table({**{f"x{j}": X[:, j] for j in range(size.d)}, "class": y})
        parquet.write_table(
            table, folder / f"part-{number:04d}.parquet", row_group_size=height // 4, compression="none"
        )


def bayes_error(size: Size, X: np.ndarray, y: np.ndarray) -> float:
    """Error of the nearest mean, the best rule for these rows."""
    centers = means(size)
    return float(np.mean(np.argmax(X @ centers.T - 0.5 * (centers**2).sum(axis=1), axis=1) != y))


def one(folder: str, size: Size, rounds: int, bins_in: str | None) -> dict[str, Any]:
    """A fit in this process."""
    import pandas as pd

    from minrisk import Chunks, MinRiskClassifier

    chunks = Chunks(folder, target="class", bins_in=bins_in)
    begun, wall = time.process_time(), time.perf_counter()
    model = MinRiskClassifier(n_estimators=rounds, n_jobs=1, random_state=0).fit(chunks)
    seconds, wall, peak = time.process_time() - begun, time.perf_counter() - wall, resident("VmHWM")
    X, y = rows(size, HELD_OUT_ROWS // (100 if is_quick() else 1), 0)
    decided = model.predict(pd.DataFrame(X, columns=[f"x{j}" for j in range(size.d)]))
    return {
        "rows": size.n,
        "features": size.d,
        "classes": size.K,
        "rounds": rounds,
        "members": model.model_.trees_per_round,
        "bins": "in a file" if bins_in else "in memory",
        "processor s": seconds,
        "wall s": wall,
        "peak MB": peak / 1e6,
        "error %": 100 * float(np.mean(decided != y)),
        "Bayes' error %": 100 * bayes_error(size, X, y),
    }


def apart(folder: Path, size: Size, rounds: int, in_file: bool) -> dict[str, Any]:
    """A fit in a fresh process."""
    quick = ["--quick"] if is_quick() else []
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.larger_than_memory", *quick]
    command += ["--one", str(folder), *map(str, size), str(rounds), *(["--bins-in", str(folder)] if in_file else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--one", nargs=5, metavar=("FOLDER", "n", "d", "K", "ROUNDS"), help="a fit here, as JSON")
    options.add_argument("--bins-in", metavar="FOLDER", help="of that fit")
    options.add_argument("--size", nargs=3, type=int, action="append", metavar=("n", "d", "K"), help="default: four")
    options.add_argument("--rounds", type=int, help="default: 10")
    options.add_argument("--folder", help="where the files are written; default: a temporary one")
    arguments = options.parse_args()
    if arguments.one:
        folder, *numbers = arguments.one
        *size, rounds = map(int, numbers)
        print(json.dumps(one(folder, Size(*size), rounds, arguments.bins_in)))
        return
    found = []
    for size in [Size(*given) for given in arguments.size or ()] or (QUICK_SIZES if arguments.quick else SIZES):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
            write(Path(name), size)
            rounds = arguments.rounds or (2 if arguments.quick else 10)
            found += [apart(Path(name), size, rounds, in_file) for in_file in (False, True)]
    save("larger_than_memory", found)
    show(found)


if __name__ == "__main__":
    main()
