"""Cold start: what a user waits for and holds in the first minute, in fresh processes with a home that is read-only.

Imports, the first fit of iris, the second one beside LightGBM's, the README's ten lines, the command line, one row of
the letters from an array and from a dict, memory after import, and the size of an installation. Seconds are of the
processors, of one thread; each is the median of several processes.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT, installed, load, parser, save, show

MB = 2**20
BEGIN = """
import json, sys, time
import numpy as np
def took(function, n=1):
    start = time.process_time()
    for _ in range(n):
        function()
    return (time.process_time() - start) / n
def best(function, n):
    return min(took(function, n) for _ in range(20))
"""
IRIS = """
from minrisk import MinRiskClassifier
X = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1)
def fit():
    model = MinRiskClassifier(random_state=0, n_jobs=1).fit(X[:, :-1], X[:, -1])
    assert np.mean(model.predict(X[:, :-1]) == X[:, -1]) > 0.9
fit()
whole = time.process_time()  # since the process began
second = min(took(fit) for _ in range(3))
print(json.dumps({"import and first fit": whole, "second fit": second}))
"""
LIGHTGBM = """
from lightgbm import LGBMClassifier
X = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1)
def fit():
    LGBMClassifier(random_state=0, n_jobs=1, verbosity=-1).fit(X[:, :-1], X[:, -1])
fit()
print(json.dumps({"second fit": min(took(fit) for _ in range(3))}))
"""
ROW = """
import pandas as pd
from minrisk import MinRiskClassifier
X = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1)
table = pd.DataFrame(X[:, :-1]).add_prefix("x")
n = int(sys.argv[2])
of_array = MinRiskClassifier(random_state=0, n_jobs=1).fit(X[:n, :-1], X[:n, -1])
of_table = MinRiskClassifier(random_state=0, n_jobs=1).fit(table[:n], X[:n, -1])
row, cells = X[:1, :-1], table.iloc[0].to_dict()
print(json.dumps({
    "one row of an array": best(lambda: of_array.predict(row), 200),
    "one row of a dict": best(lambda: of_table.predict(cells), 200),
}))
"""
MEMORY = """
import {module}
# The most that this program held; `getrusage` would count what the process held before it became this one.
with open("/proc/self/status") as file:
    (held,) = (line.split()[1] for line in file if line.startswith("VmHWM"))
print(json.dumps({{"bytes": 1024 * int(held)}}))
"""
IMPORT = """
import {module}
print(json.dumps({{"import": time.process_time()}}))
"""


def run(program: str, *arguments: str, home: Path) -> dict[str, Any]:
    """What a fresh process prints as JSON, where neither a home nor a temporary directory can be written to."""
    environment = {
        **os.environ,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home),
        "TMPDIR": str(home),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"a process failed:\n{done.stderr}")
    if done.stderr:
        raise RuntimeError(f"a process said:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def median_of(program: str, *arguments: str, home: Path, repeats: int) -> dict[str, Any]:
    """The median of each number over several processes."""
    runs = [run(program, *arguments, home=home) for _ in range(repeats)]
    return {
        name: statistics.median(one[name] for one in runs) if isinstance(value, float | int) else value
        for name, value in runs[0].items()
    }


def csv_of(name: str, folder: Path) -> str:
    """A set as numbers, the class last."""
    import pandas as pd

    data, path = load(name), folder / f"{name}.csv"
    pd.DataFrame(data.X).add_prefix("x").assign(target=data.y).to_csv(path, index=False)
    return str(path)


def seconds_of(folder: Path, home: Path, *commands: Sequence[str]) -> float:
    """Processor seconds of commands one after another, each a process."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    for command in commands:
        done = subprocess.run([sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{command} failed:\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ten_lines() -> str:
    """The README's example."""
    found = re.search(r"## Ten lines\n\n```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert found is not None
    return textwrap.dedent(found[1])


def size_of(package: str) -> int:
    """Bytes of the files of an installed package, as they lie on the disk."""
    files = distribution(package).files or []
    return sum(path.stat().st_size for path in map(Path, (file.locate() for file in files)) if path.is_file())


def wheel_size(folder: Path) -> int:
    """Bytes of minrisk as it is installed from a wheel of this tree, without what Python compiles of it."""
    import zipfile

    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True)
    (wheel,) = folder.glob("minrisk-*.whl")
    with zipfile.ZipFile(wheel) as file:
        return sum(entry.file_size for entry in file.infolist())


def main() -> None:
    arguments = parser(__doc__).parse_args()
    repeats = 1 if arguments.quick else 5
    rows: list[dict[str, Any]] = []

    def add(what: str, value: float, unit: str, target: float | str = "") -> None:
        rows.append({"what": what, "value": value, "unit": unit, "target": target})

    with tempfile.TemporaryDirectory() as name:
        folder, home = Path(name), Path(name) / "home"
        home.touch()  # no folder: nothing can be written there, by a superuser neither
        iris = csv_of("iris", folder)
        for module in ("minrisk", "sklearn.base"):  # the estimators import the latter
            seconds = median_of(IMPORT.format(module=module), home=home, repeats=repeats)["import"]
            add(f"import of NumPy and {module}", seconds, "processor s")
        ours = median_of(IRIS, iris, home=home, repeats=repeats)
        add("import and first fit of iris", ours["import and first fit"], "processor s", 1.2)
        add("second fit of iris", ours["second fit"], "processor s")
        if installed("lightgbm"):
            others = median_of(LIGHTGBM, iris, home=home, repeats=repeats)
            add("second fit of iris, LightGBM", others["second fit"], "processor s")
            add("second fit of iris, share of LightGBM's", ours["second fit"] / others["second fit"], "", 1.5)
        held = [  # on Linux
            median_of(MEMORY.format(module=m), home=home, repeats=repeats)["bytes"]
            for m in ("minrisk.algorithms.min_risk, minrisk._kernels", "sklearn.ensemble")
        ]
        add("memory after import, above scikit-learn's", (held[0] - held[1]) / MB, "MB", 10)
        letter = csv_of("letter", folder)
        row = median_of(ROW, letter, str(200 if arguments.quick else 15_000), home=home, repeats=min(3, repeats))
        add("one row of the letters, of an array", 1e6 * row["one row of an array"], "µs", 60)
        add("one row of the letters, of a dict", 1e6 * row["one row of a dict"], "µs", 90)
        add("README", seconds_of(folder, home, ["-c", ten_lines()]), "processor s")
        fit = ["-m", "minrisk", "fit", iris, "--target", "target", "--out", "model.minrisk"]
        predict = ["-m", "minrisk", "predict", "model.minrisk", iris, "--out", "decided.csv"]
        add("command line, fit and predict", seconds_of(folder, home, fit, predict), "processor s")
        if not arguments.quick:
            others_too = sum(map(size_of, ("joblib", "threadpoolctl", "narwhals")))
            add("installed beside NumPy, SciPy and scikit-learn", (wheel_size(folder) + others_too) / MB, "MB", 25)
    save("cold_start", rows)
    show(rows, ["what", "value", "unit", "target"])


if __name__ == "__main__":
    main()
