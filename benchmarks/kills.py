"""Fits with a checkpoint that are killed at random times, again and again: how many end with the same bytes.

Each fit runs in a process of its own, which gets SIGKILL after a random part of the time that an undisturbed fit takes.
The next process makes the same call. A fit on Dask takes its cluster, of one process, down with it.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import minrisk
from benchmarks.common import load, parser, save, show
from minrisk import Chunks, MinRiskClassifier, MultiBoostClassifier, REBELClassifier
from minrisk.boosting import checkpoint
from minrisk.estimator import elsewhere

KILLS, QUICK_KILLS = 200, 6
DASK = "flagship, Dask"
PAUSE = 0.02  # seconds between two writes, so that kills come between rounds that are kept and rounds that are not


def fit_dask(model: Any, X: np.ndarray, y: np.ndarray, path: Path | None) -> Any:
    """On a cluster of its own."""
    import dask.array as da
    from distributed import Client

    of_array: Any = da.from_array
    cluster: Any = Client

    elsewhere.FEW_ROWS = 100  # so few rows would be fitted in one task
    with cluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None):
        parts = (-(-len(X) // 3), X.shape[1])
        return model.fit(of_array(X, parts), of_array(y, parts[0]), checkpoint=path)


def fits(quick: bool) -> Mapping[str, Callable[[Path | None], Any]]:
    """Fits of all kinds, of some seconds at most, by what they are."""
    data = load("satimage")
    few = np.random.default_rng(0).permutation(len(data.y))[: 200 if quick else 1500]
    X, y = data.X[few], np.asarray(data.y)[few]
    height = len(X) // 4 + 1
    chunks = Chunks(lambda: ((X[a : a + height], y[a : a + height]) for a in range(0, len(X), height)))
    flagship = partial(MinRiskClassifier, random_state=0, n_estimators=5 if quick else 40)
    classes = np.unique(y)
    cost = np.random.default_rng(1).random((len(X), len(classes))) * (classes != y[:, None])
    made = {
        "flagship": lambda path: flagship().fit(X, y, checkpoint=path),
        "flagship, costs per row": lambda path: flagship().fit(X, y, cost=cost, checkpoint=path),
        "flagship, groups": lambda path: flagship(pool=False).fit(X, y, groups=np.arange(len(X)) // 3, checkpoint=path),
        "flagship, chunks": lambda path: flagship().fit(chunks, checkpoint=path),
        "REBEL, early stopping": lambda path: REBELClassifier(
            n_estimators=10 if quick else 100, early_stopping=True, random_state=0
        ).fit(X, y, checkpoint=path),
        "MultiBoost": lambda path: MultiBoostClassifier(n_estimators=5 if quick else 15).fit(
            X[:400], y[:400], checkpoint=path
        ),
    }
    small = partial(flagship, n_estimators=5, pool=False, cv=2)  # each round has many messages
    return made if quick else {**made, DASK: lambda path: fit_dask(small(), X, y, path)}


def child(fit: Callable[[Path | None], Any], path: Path | None, out: Path) -> int:
    """A process that fits and writes the model; its number."""
    number = os.fork()
    if number:
        return number
    code = 1
    try:
        warnings.simplefilter("ignore")
        checkpoint.PAUSE, checkpoint.SHARE = PAUSE, 1.0
        minrisk.save(fit(path), out)
        code = 0
    finally:
        os._exit(code)  # nothing of this process's ends twice


def seconds_of(fit: Callable[[Path | None], Any], out: Path) -> float:
    """How long a fit takes that nobody kills."""
    begun = time.perf_counter()
    if os.waitpid(child(fit, None, out), 0)[1]:
        raise RuntimeError("The fit fails without a kill.")
    return time.perf_counter() - begun


def killed_often(
    fit: Callable[[Path | None], Any], kills: int, folder: Path, draw: random.Random, here: bool
) -> dict[str, Any]:
    """Fits until so many kills have been survived."""
    whole, out, path = folder / "whole", folder / "model", folder / "checkpoint"
    if here:  # which loads the kernels for all processes to come
        fit(None)
    usual = seconds_of(fit, whole)
    done = ended = same = kept = failed = 0
    while done < kills:
        out.unlink(missing_ok=True)
        number = child(fit, path, out)
        time.sleep(draw.uniform(0.02, 1.0) * usual)
        os.kill(number, signal.SIGKILL)
        status = os.waitpid(number, 0)[1]
        if os.WIFSIGNALED(status):
            done += 1
            kept += path.exists()
            continue
        ended += 1
        failed += status != 0
        same += out.exists() and out.read_bytes() == whole.read_bytes() and not path.exists()
    status = os.waitpid(child(fit, path, out), 0)[1]
    return {
        "seconds": usual,
        "kills": done,
        "kept": kept,
        "ended": ended + 1,
        "failed": failed + (status != 0),
        "same_bytes": same + (out.exists() and out.read_bytes() == whole.read_bytes()),
    }


def main() -> None:
    options = parser(__doc__, "one kill of each of six fits")
    options.add_argument("--fits", nargs="*", help="which, by name; default: all")
    options.add_argument("--kills", type=int, default=KILLS, help="of all together")
    arguments = options.parse_args()
    draw, rows = random.Random(0), []
    kinds = {name: fit for name, fit in fits(arguments.quick).items() if name in (arguments.fits or [name])}
    kills = QUICK_KILLS if arguments.quick else arguments.kills
    for number, (name, fit) in enumerate(kinds.items()):
        own = kills // len(kinds) + (number < kills % len(kinds))
        with tempfile.TemporaryDirectory() as folder:
            rows.append({"fit": name, **killed_often(fit, own, Path(folder), draw, name != DASK)})
        save("kills", rows)
    show(rows)


if __name__ == "__main__":
    main()
