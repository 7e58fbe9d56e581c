"""Cold start: what a user waits for in the first minute, each in fresh processes and from an empty cache of kernels.

MinRiskClassifier on iris, the README's ten lines, the command line (fit and predict of a small CSV), a container in
which neither the package nor a home can be written to, one in which nothing can, and `minrisk warmup`. Every time with
the seconds of the processors beside those of the clock: on a busy machine only the first mean something.

Targets, two idle processors: iris 12 s, the ten lines 15 s, `warmup` 40 s; a second process on iris 1.5 s in all.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import ROOT, load, parser, save, show

IMPORT = "import minrisk"
IRIS = """
import sys
import numpy as np
from minrisk import MinRiskClassifier
X = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1)
model = MinRiskClassifier(random_state=0).fit(X[:, :-1], X[:, -1])
assert np.mean(model.predict(X[:, :-1]) == X[:, -1]) > 0.9
"""


@dataclass
class Installed:
    """A copy of the package without machine code, and what processes that use it see."""

    folder: Path
    environment: dict[str, str]

    @classmethod
    def in_(cls, folder: Path, closed: Sequence[str] = ()) -> Installed:
        """In a new folder; of "package", "home" and "temporary" some are closed, to a superuser too.

        Files stand where folders would have to be.
        """
        shutil.copytree(ROOT / "minrisk", folder / "minrisk", ignore=shutil.ignore_patterns("__pycache__"))
        home, temporary = folder / "home", folder / "tmp"
        temporary.mkdir()
        if "package" in closed:
            for path in [folder / "minrisk", *(folder / "minrisk").rglob("*")]:
                if path.is_dir():
                    (path / "__pycache__").touch()
        if "home" in closed:
            home.touch()
        if "temporary" in closed:
            (temporary / f"minrisk-{os.getuid()}").touch()
        environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        environment |= {
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "TMPDIR": str(temporary),
            "PYTHONPATH": str(folder),
        }
        return cls(folder, environment)

    def time(self, what: str, target: float | str, *commands: Sequence[str]) -> dict[str, Any]:
        """The commands one after another, each a process; what they took together and said on standard error."""
        before, start, said = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter(), ""
        for command in commands:
            done = subprocess.run(
                [sys.executable, *command], cwd=self.folder, env=self.environment, capture_output=True, text=True
            )
            if done.returncode:
                raise RuntimeError(f"{command} failed:\n{done.stderr}")
            said += done.stderr
        seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        lines = [line for line in said.splitlines() if line.startswith("minrisk: ")]
        return {
            "what": what,
            "seconds": seconds,
            "processor_seconds": after.ru_utime - before.ru_utime,
            "target": target,
            "notices": len(lines),
            "first_notice": lines[0].replace(str(self.folder), "...") if lines else "",
        }

    def first_and_second(
        self, what: str, target: float | str, second_target: float | str, *commands: Sequence[str], repeats: int
    ) -> list[dict[str, Any]]:
        """Without machine code, and then with what the first time kept (the median)."""
        first = self.time(f"{what}, first", target, *commands)
        again = [self.time(f"{what}, again", second_target, *commands) for _ in range(repeats)]
        return [first, sorted(again, key=lambda row: row["seconds"])[repeats // 2]]


def csv_of_iris(folder: Path) -> str:
    """Iris as numbers, the class last."""
    import pandas as pd

    data, path = load("iris"), folder / "iris.csv"
    pd.DataFrame(data.X).add_prefix("x").assign(target=data.y).to_csv(path, index=False)
    return str(path)


def ten_lines() -> str:
    """The README's example."""
    found = re.search(r"## Ten lines\n\n```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def main() -> None:
    arguments = parser(__doc__).parse_args()
    repeats, rows = (1 if arguments.quick else 5), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = csv_of_iris(folder)
        iris, readme = ["-c", IRIS, data], ["-c", ten_lines()]
        fit = ["-m", "minrisk", "fit", data, "--target", "target", "--out", "model.minrisk"]
        predict = ["-m", "minrisk", "predict", "model.minrisk", data, "--out", "decided.csv"]

        def installed(place: str, *closed: str) -> Installed:
            return Installed.in_(folder / place, closed)

        if not arguments.quick:
            rows += installed("iris").first_and_second("iris", 12.0, 1.5, iris, repeats=repeats)
        rows += installed("container", "package", "home").first_and_second(
            "iris, only the temporary directory can be written", 12.0, 1.5, iris, repeats=repeats
        )
        if not arguments.quick:
            nowhere = installed("nowhere", "package", "home", "temporary")
            rows.append(nowhere.time("iris, nothing can be written", "", iris))
            rows += installed("readme").first_and_second("README", 15.0, "", readme, repeats=repeats)
            rows += installed("cli").first_and_second("command line", "", "", fit, predict, repeats=repeats)
            warm = installed("warm")
            rows.append(warm.time("minrisk warmup", 40.0, ["-m", "minrisk", "warmup"]))
            rows.append(warm.time("iris after warmup", 1.5, iris))
            imports = [warm.time("import", 0.4, ["-c", IMPORT]) for _ in range(repeats)]
            rows.append(imports[int(np.argsort([row["seconds"] for row in imports])[repeats // 2])])
    save("cold_start", rows)
    show(rows, ["what", "seconds", "processor_seconds", "target", "notices", "first_notice"])


if __name__ == "__main__":
    main()
