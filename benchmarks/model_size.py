"""Sizes of default MinRiskClassifier models: the file, the pickle, and what loading and predicting take.

Targets: letter's file at most 20 MB; loading takes at most twice the file in memory, and half a megabyte whatever the
file, which is most of it for small ones (the archive, the header, checks of some thousand nodes); saving takes at most
half of the model. "float64" is what the
trees' numbers took before they were rounded, all of them stored. Loading, saving and prediction are measured in a fresh
process, as in `memory`; `changed` counts the test rows that unrounded vectors decide otherwise.
"""

from __future__ import annotations

import gc
import json
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.common import ROOT, Dataset, load, parser, save, show, there
from benchmarks.memory import reset_peak, resident

SETS = ("iris", "vehicle", "segment", "satimage", "letter")
QUICK = SETS[:3]
LARGEST, TIMES_FILE, ALLOWED = 20e6, 2.0, 0.5e6


def halves(data: Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X and y of the training part, X of the test part: the official split, or 70 % drawn."""
    if data.training is not None:
        X, y, X_test, _ = data.official()
        return X, y, X_test
    order = np.random.default_rng(0).permutation(len(data.y))
    training, rest = np.split(order, [int(0.7 * len(order))])
    return data.X[training], data.y[training], data.X[rest]


def fit(name: str, jobs: int) -> tuple[Any, Any, np.ndarray]:
    """A default model, its twin with the vectors as they were before they were rounded, and rows to predict."""
    from dataclasses import replace

    from minrisk import MinRiskClassifier
    from minrisk.model.rounded_vectors import RoundedVectors

    X, y, X_test = halves(load(name))
    exact: list[np.ndarray] = []
    of = RoundedVectors.of

    def watched(vectors: np.ndarray) -> RoundedVectors:
        exact.append(vectors)
        return of(vectors)

    with patch.object(RoundedVectors, "of", watched):
        model = MinRiskClassifier(random_state=0, n_jobs=jobs).fit(X, y)
    twin = pickle.loads(pickle.dumps(model))
    twin.model_ = replace(model.model_, vectors=np.concatenate(exact))
    return model, twin, X_test


def lightgbm_bytes(name: str, jobs: int) -> int:
    """Of the text file of LightGBM with its defaults."""
    import lightgbm

    X, y, _ = halves(load(name))
    model = lightgbm.LGBMClassifier(n_jobs=jobs, verbose=-1).fit(X, y)
    return len(model.booster_.model_to_string().encode())


def child(path: str) -> dict[str, Any]:
    """Load a model and predict; runs in its own process."""
    import minrisk

    folder = Path(path)
    minrisk.load(folder / "small").predict(np.load(folder / "small.npy"))  # imports, kernels
    X = np.load(folder / "rows.npy")
    gc.collect()
    reset_peak()
    before, start = resident("VmRSS"), time.process_time()
    model = minrisk.load(folder / "model")
    spent = time.process_time() - start
    peak, kept = resident("VmHWM") - before, resident("VmRSS") - before
    reset_peak()
    present = resident("VmRSS")
    minrisk.save(model, folder / "again")
    saving = resident("VmHWM") - present
    reset_peak()
    start = time.process_time()
    model.predict(X)
    first = time.process_time() - start
    return {"load_seconds": spent, "load_peak_MB": peak / 1e6, "loaded_MB": kept / 1e6, "save_peak_MB": saving / 1e6,
            "first_predict_seconds": first, "predict_peak_MB": (resident("VmHWM") - before) / 1e6}  # fmt: skip


def meets(size: int, loaded: dict[str, Any]) -> bool:
    """Whether loading and saving take as little memory as they should."""
    loading, saving = 1e6 * loaded["load_peak_MB"], 1e6 * loaded["save_peak_MB"]
    return loading <= TIMES_FILE * size + ALLOWED and saving <= 0.5e6 * loaded["loaded_MB"] + ALLOWED


def measured(name: str, folder: Path, jobs: int) -> dict[str, Any]:
    import minrisk

    model, twin, X_test = fit(name, jobs)
    start = time.process_time()
    minrisk.save(model, folder / "model")
    saved = time.process_time() - start
    np.save(folder / "rows.npy", X_test)
    command = [sys.executable, "-m", "benchmarks.model_size", "--folder", str(folder)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    packed, size = model.model_.packed, (folder / "model").stat().st_size
    loaded, probabilities = json.loads(done.stdout), model.predict_proba(X_test)
    peer = lightgbm_bytes(name, jobs) / 1e6 if there({"LightGBM": "lightgbm"}) else ""
    return {
        "set": name, "rows": len(load(name).y), "classes": load(name).n_classes, "trees": len(packed),
        "leaves": int(model.model_.vectors.shape[0]), "file_MB": size / 1e6,
        "float64_MB": (36 * len(packed.left) + 8 * np.prod(model.model_.vectors.shape)) / 1e6,
        "pickle_MB": len(pickle.dumps(model)) / 1e6, "lightgbm_MB": peer,
        "save_seconds": saved, **loaded, "load_of_file": 1e6 * loaded["load_peak_MB"] / size,
        "changed": int(np.sum(model.predict(X_test) != twin.predict(X_test))), "of": len(X_test),
        "probability_moved": float(np.abs(probabilities - twin.predict_proba(X_test)).max()),
        "meets": "yes" if size <= LARGEST and meets(size, loaded) else "no",
    }  # fmt: skip


def small(folder: Path) -> None:
    """A model that is loaded first, for the imports."""
    import minrisk

    X = np.random.default_rng(0).normal(size=(60, 3))
    minrisk.save(minrisk.MinRiskClassifier(n_estimators=3, random_state=0).fit(X, X[:, 0] > 0), folder / "small")
    np.save(folder / "small.npy", X)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--folder", help="load and predict with the model in this folder, in this process, as JSON")
    arguments = options.parse_args()
    if arguments.folder:
        print(json.dumps(child(arguments.folder)))
        return
    rows = []
    with tempfile.TemporaryDirectory() as name:
        small(Path(name))
        for data in QUICK if arguments.quick else SETS:
            rows.append(measured(data, Path(name), arguments.jobs))
            show(rows[-1:], ("set", "file_MB", "float64_MB", "lightgbm_MB", "load_peak_MB", "load_of_file", "changed"))
    save("model_size", rows, quick=arguments.quick)
    show(rows)


if __name__ == "__main__":
    main()
