"""Memory and time of reading a text table, and of whole commands on it, each case in a fresh process.

Tables have twenty numbers a row of eight to ten characters; or ten, and five words of six values; or these with decimal
commas, semicolons and quotation marks, in cp1252; each also packed by gzip with --packed. Memory is the most that the
process holds beyond what it held with all libraries loaded, over the size of the text. Reading gives what the fit gets:
features, labels. `pandas` is `pandas.read_csv` with the marks stated, whose frame is no more than a part of that. Whole
commands are `minrisk predict` and `minrisk fit` with three rounds of REBEL, whose own arrays count; kernels are loaded
before by the same command on 200 rows.

Target: reading takes at most three times the size of a million rows.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import ROOT, is_quick, parser, save, show
from benchmarks.memory import reset_peak, resident

TABLES = ("numbers", "words", "commas")
WAYS = ("pandas", "reading", "predict", "fit")
ROWS, QUICK_TABLE_ROWS, FEW_ROWS, PART_ROWS = 10**6, 2000, 200, 20_000
WORDS = ("red", "green", "blue", "yellow", "grey", "black")
WORTE = ("rot", "grün", "blau", "gelb", "weiß", "hell; blau")


def write(table: str, n_rows: int, path: Path, packed: bool) -> int:
    """A table with the class in the column y; returns the bytes of its text."""
    rng = np.random.default_rng(0)
    n_numbers, n_words = (20, 0) if table == "numbers" else (10, 5)
    mark, quote = (";", '"') if table == "commas" else (",", "")
    names = [f"number {j}" for j in range(n_numbers)] + [f"word {j}" for j in range(n_words)] + ["y"]
    size = 0
    with gzip.open(path, "wb", 1) if packed else open(path, "wb") as file:
        size += file.write((mark.join(quote + name + quote for name in names) + "\n").encode("cp1252"))
        for start in range(0, n_rows, PART_ROWS):
            n = min(PART_ROWS, n_rows - start)
            k = rng.integers(0, 3, n)
            columns = [[f"{value:.6f}" for value in 3 * rng.normal(size=n) + k] for _ in range(n_numbers)]
            if table == "commas":
                columns = [[cell.replace(".", ",") for cell in column] for column in columns]
            words = WORTE if table == "commas" else WORDS
            columns += [[words[i] for i in rng.integers(0, 6, n)] for _ in range(n_words)]
            columns.append(["abc"[i] for i in k])
            columns[n_numbers:] = [[quote + cell + quote for cell in column] for column in columns[n_numbers:]]
            text = "\n".join(map(mark.join, zip(*columns, strict=True))) + "\n"
            size += file.write(text.encode("cp1252"))
    return size


def first_rows(path: Path) -> Path:
    """A table of the first rows, beside it."""
    few = path.with_name("few.csv")
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        few.write_bytes(b"".join(file.readline() for _ in range(FEW_ROWS)))
    return few


def run(way: str, path: Path) -> Any:
    """What is measured; what it returns is held until then."""
    if way == "pandas":
        import pandas as pd

        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            quoted = b";" in file.readline()
        how: dict[str, Any] = {"sep": ";", "decimal": ",", "encoding": "cp1252"} if quoted else {}
        return pd.read_csv(path, **how)
    if way == "reading":
        from minrisk.cli.training import Roles, training_data
        from minrisk.tables.text import Dialect

        return training_data(path, Roles("y"), Dialect())
    from click.testing import CliRunner

    from minrisk.cli.app import app

    model, out = path.with_name("model"), path.with_name("decided.csv")
    fit = ["fit", path, "--target", "y", "--method", "rebel", "--n-estimators", 3, "--n-jobs", 1, "--out", model]
    done = CliRunner().invoke(app, list(map(str, fit if way == "fit" else ["predict", model, path, "--out", out])))
    assert done.exit_code == 0, done.output
    return None


def child(way: str, path: Path, size: int) -> dict[str, Any]:
    """Read once and measure; runs in its own process."""
    few = first_rows(path)
    if way == "predict":
        run("fit", few)
    run(way, few)
    reset_peak()
    before, begun = resident("VmRSS"), time.process_time()
    held = run(way, path)
    above, seconds = resident("VmHWM") - before, time.process_time() - begun
    del held
    return {"above imports MB": above / 1e6, "of the text": above / size, "processor s": seconds}


def main() -> None:
    options = parser(__doc__, "2 000 rows of one table")
    options.add_argument("--rows", type=int, help="default: a million")
    options.add_argument("--packed", action="store_true", help="tables are packed by gzip")
    options.add_argument("--one", nargs=3, metavar=("WAY", "FILE", "BYTES"), help="a case in this process, as JSON")
    arguments = options.parse_args()
    if arguments.one:
        way, path, size = arguments.one
        print(json.dumps(child(way, Path(path), int(size))))
        return
    n_rows = arguments.rows or (QUICK_TABLE_ROWS if is_quick() else ROWS)
    found = []
    for table in TABLES[:1] if is_quick() else TABLES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "t.csv.gz" if arguments.packed else "t.csv")
            size = write(table, n_rows, path, arguments.packed)
            for way in WAYS:
                one = ["-m", "benchmarks.csv_memory", "--one", way, str(path), str(size)]
                command = [sys.executable, "-W", "ignore", *one]
                done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
                case = {"table": table, "packed": arguments.packed, "rows": n_rows, "text MB": size / 1e6, "way": way}
                found.append({**case, **json.loads(done.stdout.splitlines()[-1])})
    save("csv_memory_packed" if arguments.packed else "csv_memory", found)
    show(found)


if __name__ == "__main__":
    main()
