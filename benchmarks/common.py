"""What the benchmarks share: data sets, cost matrices, timing, and CSV files that say how each figure came about.

With ``--quick`` every benchmark does a small part of its work anew. `load` then gives a few rows of each class, or data
of scikit-learn's where a set is not there, and all figures are read from and written to a fresh folder of their own:
what ``benchmarks/results`` holds is neither used nor changed.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from minrisk.costs import CostMatrix, from_taxonomy, ordinal, random_normal, random_symmetric, uniform

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("MINRISK_DATA", ROOT.parent / "shared" / "data"))
RESULTS = ROOT / "benchmarks" / "results"  # of whole runs; see `results`
QUICK = "MINRISK_QUICK"  # environment variable, for processes that a benchmark starts: the folder of a quick run
QUICK_ROWS, QUICK_OF_CLASS = 300, 6  # of a set in a quick run, and of a class (and part) at least
WORDS = ("german", "car", "nursery", "chess")  # sets with columns of words
PACKAGES = ("numpy", "scikit-learn", "lightgbm")  # whose versions stand beside figures
SETTINGS = ("date", "commit", "python", *PACKAGES, "cpus", "command")  # see `settings`
RUNS = "runs.csv"  # beside files of figures: the settings of each run that their column `run` names
COSTS = ("0/1", "symmetric", "normal", "ordinal", "lognormal")


# -- quick runs ----------------------------------------------------------------------------------------------------
def is_quick() -> bool:
    """Say whether this is a quick run, or a process of one."""
    return bool(os.environ.get(QUICK))


def results() -> Path:
    """Return the folder of figures: ``benchmarks/results``, or the one of a quick run."""
    return Path(os.environ[QUICK]) if is_quick() else RESULTS


def few_rows(groups: np.ndarray, n_rows: int = QUICK_ROWS) -> np.ndarray:
    """Choose rows, ascending: as many of each group as there are at least, and about `n_rows` in all."""
    order = np.random.default_rng(0).permutation(len(groups))
    codes, sizes = np.unique(groups[order], return_inverse=True, return_counts=True)[1:]
    order, codes = order[np.argsort(codes, kind="stable")], np.sort(codes)
    place = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[codes]  # within its group
    return np.sort(order[place < max(QUICK_OF_CLASS, n_rows // len(sizes))])


def installed(module: str) -> bool:
    """Say whether a library can be imported."""
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def there(peers: Mapping[str, str]) -> list[str]:
    """Return the peers (name: module) that are installed, and print which are left out."""
    absent = [name for name, module in peers.items() if not installed(module)]
    if absent:
        print(f"Left out, since not installed: {', '.join(absent)}.", flush=True)
    return [name for name in peers if name not in absent]


# -- data ----------------------------------------------------------------------------------------------------------
class Dataset(NamedTuple):
    """Hold features (n, d), class codes (n,), and which rows the official split trains on (None without one)."""

    name: str
    X: np.ndarray
    y: np.ndarray
    training: np.ndarray | None

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    def official(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return X and y of the training part, X and y of the test part."""
        if self.training is None:
            raise ValueError(f"{self.name} has no official split: draw one.")
        rest = ~self.training
        return self.X[self.training], self.y[self.training], self.X[rest], self.y[rest]


@lru_cache(maxsize=4)
def load(name: str) -> Dataset:
    """Load a data set by the name of its file, text as codes in sorted order; ``"mnist"`` is the raw pixels, uint8."""
    if name == "mnist":
        return _mnist()
    X, y, training = frame_of(name)
    return Dataset(name, coded(X), y, training)


def _there(path: Path) -> bool:
    """Say whether a file of the data sets is there; a whole run ends if not."""
    if path.is_file():
        return True
    if is_quick():
        return False
    sys.exit(f"There is no {path}: set MINRISK_DATA to the folder that holds the data sets.")


def frame_of(name: str) -> tuple[pd.DataFrame, np.ndarray, np.ndarray | None]:
    """Return features as in the file, class codes, and which rows the official split trains on (None without one)."""
    import pandas as pd

    if not _there(DATA / f"{name}.csv.gz"):
        return _stand_in(name)
    frame = pd.read_csv(DATA / f"{name}.csv.gz")
    if is_quick():
        frame = frame.iloc[few_rows(frame["target"].astype(str) + frame.get("split", ""))].reset_index(drop=True)
    y = np.unique(frame.pop("target").to_numpy().astype(str), return_inverse=True)[1]
    training = (frame.pop("split") == "train").to_numpy() if "split" in frame else None
    return frame, y, training


def columns_of_words(frame: pd.DataFrame) -> list[Any]:
    """Return the names of columns that hold anything but numbers."""
    import pandas as pd

    return [name for name, kind in frame.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)]


def coded(frame: pd.DataFrame) -> np.ndarray:
    """Turn words into codes in sorted order, and missing values into NaN."""
    import pandas as pd

    frame = frame.copy(deep=False)
    for name in columns_of_words(frame):
        values = pd.Categorical(frame[name], categories=sorted(frame[name].dropna().unique()))
        frame[name] = np.where(values.codes < 0, np.nan, values.codes)
    return np.ascontiguousarray(frame.to_numpy(dtype=np.float64))


@cache
def _stand_in(name: str) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return data of scikit-learn's for a quick run without the set: iris, wine or digits, some columns in words."""
    import pandas as pd
    from sklearn.datasets import load_digits, load_iris, load_wine

    make = {"iris": load_iris, "wine": load_wine, **dict.fromkeys(WORDS, load_wine)}.get(name, load_digits)
    X, y = make(return_X_y=True)
    print(
        f"{name}: not in {DATA} (MINRISK_DATA), scikit-learn's {make.__name__.removeprefix('load_')} in its place.",
        flush=True,
    )
    chosen = few_rows(y)
    frame, y = pd.DataFrame(X[chosen]).add_prefix("x"), y[chosen]
    for column in frame.columns[:4] if name in WORDS else ():
        frame[column] = pd.qcut(frame[column], 4, labels=["least", "less", "more", "most"]).astype(object)
    return frame, y, np.arange(len(y)) % 3 > 0


def _mnist() -> Dataset:
    def read(part: str, kind: str, header: int) -> np.ndarray:
        with gzip.open(DATA / "mnist" / f"{part}-{kind}-ubyte.gz") as file:
            return np.frombuffer(file.read(), dtype=np.uint8, offset=header)

    if not _there(DATA / "mnist" / "train-images-idx3-ubyte.gz"):
        frame, y, training = _stand_in("mnist")  # 8 x 8 pixels of 0..16
        images = np.kron(frame.to_numpy().reshape(-1, 8, 8), np.ones((3, 3)))
        X = np.pad(15 * images, ((0, 0), (2, 2), (2, 2))).reshape(len(y), 784).astype(np.uint8)
        return Dataset("mnist", X, y, training)
    X = np.concatenate([read(part, "images-idx3", 16).reshape(-1, 784) for part in ("train", "t10k")])
    y = np.concatenate([read(part, "labels-idx1", 8) for part in ("train", "t10k")]).astype(np.int64)
    training = np.arange(len(y)) < 60_000
    chosen = few_rows(2 * y + training) if is_quick() else slice(None)
    return Dataset("mnist", X[chosen], y[chosen], training[chosen])


def costs(kind: str, n_classes: int, seed: int = 0) -> CostMatrix:
    """Make one of `COSTS`, or ``"taxonomy"``: about sqrt(K) random groups, 1 within and 4 across.

    ``"lognormal"`` spreads over orders of magnitude (sigma 1.2).
    """
    if kind == "0/1":
        return uniform(n_classes)
    if kind == "ordinal":
        return ordinal(n_classes)
    if kind == "symmetric":
        return random_symmetric(n_classes, random_state=seed)
    if kind == "normal":
        return random_normal(n_classes, random_state=seed)
    if kind == "taxonomy":
        order = np.random.default_rng(seed).permutation(n_classes)
        groups = [part.tolist() for part in np.array_split(order, max(round(n_classes**0.5), 1))]
        return CostMatrix(from_taxonomy(groups, classes=range(n_classes)).values ** 2)
    drawn = np.random.default_rng(seed).lognormal(sigma=1.2, size=(n_classes, n_classes))
    return CostMatrix(drawn * (1.0 - np.eye(n_classes)))


def mean_cost(table: CostMatrix | np.ndarray, y: np.ndarray, decisions: np.ndarray) -> float:
    """Compute the mean of C[y, decision]; codes, not labels."""
    return float(np.asarray(table)[y, decisions].mean())


def least_expected(probabilities: np.ndarray, table: CostMatrix | np.ndarray) -> np.ndarray:
    """Decide by the posterior rule: argmin_k sum_j p_j C_jk."""
    return np.asarray((probabilities @ np.asarray(table)).argmin(axis=1))


# -- timing --------------------------------------------------------------------------------------------------------
def seconds(function: Callable[[], Any]) -> float:
    """Measure the wall time of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def interleaved(functions: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, float]:
    """Return the median of what each function measures, in turns so that a busy spell of the machine hits all."""
    measured: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            measured[name].append(function())
    return {name: float(np.median(values)) for name, values in measured.items()}


# -- results -------------------------------------------------------------------------------------------------------
def settings() -> dict[str, str]:
    """Return when, on what and with what a figure is made."""

    def git(*arguments: str) -> str:
        try:
            done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return ""
        return done.stdout.strip()

    changed = bool(git("status", "--porcelain", "--untracked-files=no", "--", "minrisk/*.py"))
    module = sys.modules["__main__"].__spec__
    name = f"-m {module.name}" if module else Path(sys.argv[0]).name
    return {
        "date": date.today().isoformat(),
        "commit": git("rev-parse", "--short", "HEAD") + ("+changes" if changed else ""),
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "cpus": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "command": shlex.join(["python", *name.split(), *sys.argv[1:]]),
    }


def _version(package: str) -> str:
    """Return the version of a package, empty if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def save(name: str, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write rows of figures to NAME.csv in the folder of `results`, each with the key of its run.

    Rows that have settings already, as those of an earlier run do, keep them.
    """
    # Apart first: a kill leaves the file of before.
    (results() / f"{name}.new.csv").unlink(missing_ok=True)
    return keep(f"{name}.new", *rows).replace(results() / f"{name}.csv")


def keep(name: str, *rows: Mapping[str, Any], columns: Sequence[str] = ()) -> Path:
    """Add rows of figures to NAME.csv in the folder of `results` in one write; `columns` that they lack stay empty."""
    path = results() / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    context, known = settings(), runs(path.parent)
    lines, new = [], {}
    for row in rows:
        run = {setting: str(row.get(setting, context[setting])) for setting in SETTINGS}
        # A hash of its content: branches that are merged have other keys for other runs.
        key = hashlib.sha256("\n".join(run.values()).encode()).hexdigest()[:7]
        if key not in known:
            known[key] = new[key] = run
        elif {setting: known[key][setting] for setting in SETTINGS} != run:
            raise ValueError(f"two runs have the key {key}: lengthen the keys.")
        lines.append({column: _plain(value) for column, value in row.items() if column not in SETTINGS} | {"run": key})
    _append(path.parent / RUNS, ["run", *SETTINGS], [{"run": key, **run} for key, run in new.items()])
    _append(path, [*(column for column in columns or rows[0] if column not in SETTINGS), "run"], lines)
    return path


def _append(path: Path, columns: Sequence[str], lines: Sequence[Mapping[str, Any]]) -> None:
    """Append lines under the columns of the file, which gets those that it lacks."""
    there = path.read_text("utf-8") if path.is_file() else ""
    header = next(csv.reader(there.splitlines()[:1]), [])
    if more := [column for column in columns if column not in header]:
        rows = [row for row in csv.DictReader(there.splitlines()) if None not in row.values()]
        part = path.with_suffix(".part")
        part.write_text(_text([*header, *more], [*rows, *lines], True), "utf-8")
        part.replace(path)
        return
    with open(path, "a", newline="", encoding="utf-8") as file:
        if not there.endswith("\n"):  # its last line was cut short
            file.write("\n")
        file.write(_text(header, lines, False))


def _text(columns: Sequence[str], lines: Sequence[Mapping[str, Any]], headed: bool) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    if headed:
        writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def runs(folder: Path) -> dict[str, dict[str, str]]:
    """Return the `SETTINGS` of each run that files of the folder name."""
    path = folder / RUNS
    if not path.is_file():
        return {}
    with open(path, newline="", encoding="utf-8") as file:
        return {row.pop("run"): row for row in csv.DictReader(file) if None not in row.values()}


def kept(name: str) -> list[dict[str, str]]:
    """Return the rows that earlier runs left in NAME.csv in the folder of `results`, with the settings behind each."""
    return lines_of(results() / f"{name}.csv")


def lines_of(path: Path) -> list[dict[str, str]]:
    """Return the whole lines of a file of results, with their settings; none where there is no file.

    A line that was cut short lacks columns or has a run that nobody knows.
    """
    if not path.is_file():
        return []
    known = runs(path.parent)
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if None not in row and None not in row.values()]
    found = [(row, row.pop("run", None)) for row in rows]
    return [row | known.get(run, {}) for row, run in found if run is None or run in known]


def save_picture(figure: Figure, name: str, dpi: int = 110, **options: Any) -> None:
    """Write a figure to NAME.png in the folder of `results` and close it."""
    import matplotlib.pyplot as plt
    from PIL import Image

    with io.BytesIO() as file:
        figure.savefig(file, dpi=dpi, **options)
        in_few_colours(Image.open(file)).save(results() / f"{name}.png", optimize=True)
    plt.close(figure)


def in_few_colours(picture: Image.Image) -> Image.Image:
    """Reduce a picture to 64 colours: a quarter of the bytes, and no difference that can be seen."""
    from PIL import Image

    # The usual median cut may merge the colours of two thin lines.
    return picture.convert("RGB").quantize(64, Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)


def _plain(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else value


def show(rows: Sequence[Mapping[str, Any]], columns: Iterable[str] | None = None) -> None:
    """Print rows as a table."""
    names = list(columns or rows[0])
    cells = [names] + [
        [f"{row[n]:.4g}" if isinstance(row[n], float | np.floating) else str(row[n]) for n in names] for row in rows
    ]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)), flush=True)


class Options(argparse.ArgumentParser):
    """Set up a quick run where one is asked for."""

    quick_of = ""

    def parse_args(self, *arguments: Any, **named: Any) -> Any:
        found = super().parse_args(*arguments, **named)
        if found.quick:
            begun = is_quick()  # by the process that started this one
            if not begun:
                os.environ[QUICK] = tempfile.mkdtemp(prefix="minrisk-quick-")
            if found.jobs is None:
                found.jobs = 1  # starting processes would take longer than the work
            threadpool_limits(found.jobs, user_api="openmp")  # on tiny data threads mostly wait for each other
            asked = [option for option in sys.argv[1:] if option != "--quick"]
            of = self.quick_of + (f", but for {shlex.join(asked)}" if asked else "")
            print(
                f"Quick run: {of}. Made anew and only a try: figures go to {results()}.",
                file=sys.stderr if begun else sys.stdout,
                flush=True,
            )
            return found
        os.environ.pop(QUICK, None)
        if found.jobs is None:
            found.jobs = 2
        return found


def parser(description: str | None, quick_of: str = "a small part of the work") -> Options:
    """Make the options that every benchmark has; `quick_of` says what a quick run is of."""
    made = Options(description=(description or "").splitlines()[0])
    made.quick_of = quick_of
    made.add_argument("--quick", action="store_true", help=f"a try of seconds, not kept: {quick_of}")
    made.add_argument(
        "--jobs", type=int, help="threads, or processes where fits are many and small; default: 2, quick 1"
    )
    return made
