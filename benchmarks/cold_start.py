"""Cold start: the import, and the first fit on iris without a kernel cache, with one, and where none can be written.

Targets: import at most 0.4 s; first fit without a cache at most 20 s, with one line that says so; a second process at
most 2 s; an unwritable folder works. All in fresh processes; the seconds of a process count the interpreter too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import DATA, ROOT, parser, save, show

IMPORT = "import time; t = time.perf_counter(); import minrisk; print(time.perf_counter() - t)"
FIT = """
import json, sys, time
import numpy as np
X = np.loadtxt(sys.argv[1], delimiter=",")
start = time.perf_counter()
import minrisk
model = minrisk.REBELClassifier().fit(X[:, :-1], X[:, -1])
error = float(np.mean(model.predict(X[:, :-1]) != X[:, -1]))
print(json.dumps({"seconds": time.perf_counter() - start, "rounds": model.n_iter_, "training_error": error}))
"""


def python(code: str, *arguments: str, **more: Any) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Run code in a fresh interpreter; its wall time and what it said."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True,
                          **{"cwd": ROOT, **more})
    return time.perf_counter() - start, done


def iris(folder: Path) -> str:
    """Iris as plain numbers, so that reading it costs nothing."""
    import pandas as pd

    frame = pd.read_csv(DATA / "iris.csv.gz")
    frame["target"] = frame["target"].astype("category").cat.codes
    path = folder / "iris.txt"
    np.savetxt(path, frame.to_numpy(dtype=float), delimiter=",")
    return str(path)


def first_fit(what: str, data: str, target: float | str, **more: Any) -> dict[str, Any]:
    spent, done = python(FIT, data, **more)
    notice = [line for line in done.stderr.splitlines() if line.strip()]
    return {"what": what, "process_seconds": spent, **json.loads(done.stdout), "target": target,
            "lines_on_stderr": len(notice), "first_line": notice[0] if notice else ""}


def unwritable(folder: Path) -> dict[str, Any]:
    """Options for a process that can write a cache neither into the package nor under a home.

    Files stand where the folders would be made, which stops even a superuser.
    """
    shutil.copytree(ROOT / "minrisk", folder / "minrisk", ignore=shutil.ignore_patterns("__pycache__"))
    for path in [folder / "minrisk", *(folder / "minrisk").rglob("*")]:
        if path.is_dir():
            (path / "__pycache__").touch()
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    nowhere = str(folder / "minrisk" / "__init__.py" / "below")
    environment |= {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "PYTHONPATH": str(folder)}
    return {"cwd": folder, "env": environment}


def main() -> None:
    arguments = parser(__doc__).parse_args()
    repeats = 2 if arguments.quick else 7
    imports = [float(python(IMPORT)[1].stdout) for _ in range(repeats + 1)][1:]
    rows: list[dict[str, Any]] = [{
        "what": "import, warm", "process_seconds": "", "seconds": float(np.median(imports)), "rounds": "",
        "training_error": "", "target": 0.4, "lines_on_stderr": 0, "first_line": "",
    }]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = iris(folder)
        cached = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
        rows.append(first_fit("first process, no cache", data, 20.0, env=cached))
        again = [first_fit("second process", data, 2.0, env=cached) for _ in range(repeats)]
        rows.append(sorted(again, key=lambda row: row["process_seconds"])[repeats // 2])
        rows.append(first_fit("unwritable cache folder", data, "", **unwritable(folder / "installed")))
    save("cold_start", rows, quick=arguments.quick)
    show(rows, ["what", "process_seconds", "seconds", "target", "rounds", "lines_on_stderr", "first_line"])


if __name__ == "__main__":
    main()
