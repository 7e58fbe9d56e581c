"""Sizes of default MinRiskClassifier models: the file, the pickle, and what loading and predicting take.

Targets: a file has at most a third of what files of format 5 had (`FORMAT_5`; small files are mostly header and linear
features); loading takes at most a quarter more memory than the model that is loaded, and half a megabyte whatever the
model (the archive, the header, checks of some thousand nodes), and 20 ms of a processor for digits, warm; saving takes
at most half of the model, and as much. "float64" is what the trees' numbers took before they were rounded, all of them
stored. Loading, saving and prediction are measured in a fresh process, as in `memory`; `changed` counts the test
rows that unrounded vectors decide otherwise, `changed_in_training` the training rows.
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

from benchmarks.common import ROOT, Dataset, is_quick, load, parser, save, show, there
from benchmarks.memory import reset_peak, resident

SETS = ("iris", "vehicle", "digits", "segment", "satimage", "letter")
QUICK = ("iris", "vehicle", "segment")
FORMAT_5 = {  # bytes of the files of default models in November 2026, before format 6
    "iris": 19_029,
    "vehicle": 264_161,
    "digits": 881_185,
    "segment": 181_489,
    "satimage": 1_577_051,
    "letter": 19_192_036,
}
TIMES_SMALLER, TIMES_MODEL, ALLOWED, WARM_SECONDS = 3.0, 1.25, 0.5e6, {"digits": 0.020}
WARM_LOADS = 15


def data_of(name: str) -> Dataset:
    """A data set; digits are scikit-learn's."""
    if name != "digits":
        return load(name)
    from sklearn.datasets import load_digits

    return Dataset(name, *load_digits(return_X_y=True), None)


def halves(data: Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X and y of the training part, X of the test part: the official split, or 70 % drawn."""
    if data.training is not None:
        X, y, X_test, _ = data.official()
        return X, y, X_test
    order = np.random.default_rng(0).permutation(len(data.y))
    training, rest = np.split(order, [int(0.7 * len(order))])
    return data.X[training], data.y[training], data.X[rest]


def fit(name: str, jobs: int) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    """A default model, its twin whose vectors are not rounded, training rows, and rows to predict."""
    from minrisk import MinRiskClassifier
    from minrisk.model.rounded_vectors import RoundedVectors

    X, y, X_test = halves(data_of(name))
    model = MinRiskClassifier(random_state=0, n_jobs=jobs).fit(X, y)
    as_they_are = patch.object(RoundedVectors, "of", lambda vectors, exponent: vectors)
    with as_they_are, patch.object(RoundedVectors, "joined", np.concatenate):
        twin = MinRiskClassifier(random_state=0, n_jobs=jobs).fit(X, y)
    return model, twin, X, X_test


def lightgbm_bytes(name: str, jobs: int) -> int:
    """Of the text file of LightGBM with its defaults."""
    import lightgbm

    X, y, _ = halves(data_of(name))
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
    warm = []
    for _ in range(WARM_LOADS):
        start = time.process_time()
        minrisk.load(folder / "model")
        warm.append(time.process_time() - start)
    reset_peak()
    present = resident("VmRSS")
    minrisk.save(model, folder / "again")
    saving = resident("VmHWM") - present
    reset_peak()
    start = time.process_time()
    model.predict(X)
    first = time.process_time() - start
    return {
        "load_seconds": spent,
        "warm_load_seconds": float(np.median(warm)),
        "load_peak_MB": peak / 1e6,
        "loaded_MB": kept / 1e6,
        "save_peak_MB": saving / 1e6,
        "first_predict_seconds": first,
        "predict_peak_MB": (resident("VmHWM") - before) / 1e6,
    }


def meets(name: str, size: int, loaded: dict[str, Any]) -> bool:
    """Whether the file is as small, and loading and saving take as little, as they should."""
    loading, model, saving = (1e6 * loaded[f"{key}_MB"] for key in ("load_peak", "loaded", "save_peak"))
    small = is_quick() or TIMES_SMALLER * size <= FORMAT_5[name]  # quick runs have fewer rows
    fast = loaded["warm_load_seconds"] <= WARM_SECONDS.get(name, np.inf)
    return small and fast and loading <= TIMES_MODEL * model + ALLOWED and saving <= 0.5 * model + ALLOWED


def measured(name: str, folder: Path, jobs: int) -> dict[str, Any]:
    import minrisk

    model, twin, X, X_test = fit(name, jobs)
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
        "set": name,
        "rows": len(data_of(name).y),
        "classes": data_of(name).n_classes,
        "trees": len(packed),
        "leaves": int(model.model_.vectors.shape[0]),
        "file_MB": size / 1e6,
        "format_5_MB": FORMAT_5[name] / 1e6,
        "float64_MB": (36 * len(packed.left) + 8 * np.prod(model.model_.vectors.shape)) / 1e6,
        "pickle_MB": len(pickle.dumps(model)) / 1e6,
        "lightgbm_MB": peer,
        "save_seconds": saved,
        **loaded,
        "changed": int(np.sum(model.predict(X_test) != twin.predict(X_test))),
        "of": len(X_test),
        "changed_in_training": int(np.sum(model.predict(X) != twin.predict(X))),
        "of_training": len(X),
        "probability_moved": float(np.abs(probabilities - twin.predict_proba(X_test)).max()),
        "meets": "yes" if meets(name, size, loaded) else "no",
    }


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
            show(rows[-1:], ("set", "file_MB", "format_5_MB", "lightgbm_MB", "load_peak_MB", "warm_load_seconds"))
    save("model_size", rows)
    show(rows)


if __name__ == "__main__":
    main()
