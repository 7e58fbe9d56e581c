"""Sparse data: texts by their words, at defaults, beside LightGBM on the same matrix; time, error and memory.

Sets are news20 (word counts) and sector (TF-IDF), with their official splits. Each fit has a process of its own and one
thread. Seconds are processor seconds of `fit` and of `predict`, after a fit of few rows that loads what is loaded once.
Memory is the most that the process held, the data and both libraries' code among it.

Targets: at most a fifth of LightGBM's time to fit, at no higher error, within 2 GB. Where the data are not there, and
in a quick run, a made set stands in their place.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import common
from benchmarks.common import ROOT, is_quick, parser, save, show, there
from benchmarks.memory import resident

SETS = {"news20": "counts.npz", "sector": "tfidf.npz"}
PEERS = {"LightGBM": "lightgbm"}
WARM_ROWS, WARM_COLUMNS = 300, 50


def made(n: int = 600, d: int = 3000, K: int = 4) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows of a few words, which are more frequent in some classes; the last third is for tests."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % K
    own, any_word = y[:, None] * 30 + rng.integers(0, 30, (n, 20)), rng.integers(0, d, (n, 20))
    words = np.where(rng.random((n, 20)) < 0.3, own, any_word)
    X = sp.csr_matrix((np.ones(words.size), (np.repeat(np.arange(n), 20), words.ravel())), shape=(n, d))
    return X, y, np.arange(n) < 2 * n // 3


def data_of(name: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """Matrix, labels, and which rows are for training."""
    folder = common.DATA / name
    if is_quick() or not (folder / SETS[name]).is_file():
        print(f"{name}: a made set stands in its place.", file=sys.stderr)
        return made()
    with open(folder / "labels.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    train = np.array([line["split"] == "train" for line in lines])
    return sp.load_npz(folder / SETS[name]), np.array([line["target"] for line in lines]), train


def model_of(method: str) -> Any:
    """At defaults, with one thread."""
    if method == "LightGBM":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_jobs=1, verbose=-1)
    from minrisk import MinRiskClassifier

    return MinRiskClassifier(n_jobs=1, random_state=0, n_estimators=20 if is_quick() else 200)


def one(name: str, method: str) -> dict[str, Any]:
    """One fit, in this process."""
    X, y, train = data_of(name)
    if method == "LightGBM":  # which takes floats only
        X = X.astype(np.float32)
    X, X_test, y, y_test = X[train], X[~train], y[train], y[~train]
    few = X[:WARM_ROWS, :WARM_COLUMNS]
    model_of(method).fit(few, np.arange(few.shape[0]) % 3).predict(few)
    model, begun = model_of(method), time.process_time()
    model.fit(X, y)
    fitted = time.process_time()
    decided = model.predict(X_test)
    return {
        "set": name,
        "method": method,
        "rows": X.shape[0],
        "features": X.shape[1],
        "stored": X.nnz,
        "fit seconds": fitted - begun,
        "predict seconds": time.process_time() - fitted,
        "error %": 100.0 * float(np.mean(decided != y_test)),
        "peak MB": resident("VmHWM") / 1e6,
    }


def apart(name: str, method: str) -> dict[str, Any]:
    """One fit, in a fresh process."""
    quick = ["--quick"] if is_quick() else []
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.sparse", *quick, "--one", name, method]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--one", nargs=2, metavar=("SET", "METHOD"), help="a fit in this process, as JSON")
    arguments = options.parse_args()
    if arguments.one:
        print(json.dumps(one(*arguments.one)))
        return
    rows = []
    for name in list(SETS)[: 1 if arguments.quick else None]:
        found = [apart(name, method) for method in ("MinRiskClassifier", *there(PEERS))]
        for line in found:  # the last is LightGBM's, if there
            line["share of LightGBM's time"] = line["fit seconds"] / found[1]["fit seconds"] if found[1:] else ""
        rows += found
    save("sparse", rows)
    show(rows)


if __name__ == "__main__":
    main()
