"""A fuzzer that is guided by coverage: inputs that reach new lines of minrisk are kept, and changed further.

What it feeds are the readers of bytes from outside: tables, costs, and model files whose checksums are right.
"""

from __future__ import annotations

import io
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import minrisk
from minrisk.cli.app import app
from tests.helpers.forging import envelope
from tests.helpers.odd_inputs import Outcome, limited

PACKAGE = str(Path(minrisk.__file__).parent)
KERNELS = str(Path(PACKAGE, "_kernels"))
LONGEST = 20_000  # bytes of an input
SEPARATOR = b"\n-- next --\n"

PIECES = [
    b",",
    b";",
    b"\t",
    b"|",
    b'"',
    b'""',
    b"'",
    b"\n",
    b"\r",
    b"\r\n",
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xc3",
    b"\xe4",
    b"NA",
    b"nan",
    b"inf",
    b"-inf",
    b"1e999",
    b"-0",
    b"1,5",
    b"1.000",
    b"1.000,5",
    b"1_000",
    b"0x10",
    b"1e-400",
    b"007",
    b"12%",
    b"9223372036854775808",
    b"-9223372036854775809",
    b"2020-01-31",
    b"true",
    b"TRUE",
    b"refer",
    b"class",
    b"#",
    b"=1+1",
    "\u2028".encode(),
    "\u202e".encode(),
    "٣".encode(),
    b"\x1b[31m",
    b"\x1f\x8b",
    b"PK\x03\x04",
    b"PAR1",
    b"[]",
    b"{}",
    b"null",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\x00\x00\x00\x00\x00\x00\x00\x80",
    b"1" * 400,
    b"," * 300,
    b"(",
    b")",
    b": ",
    b"\\",
]
NUMBERS = [
    *(int(n).to_bytes(size, "little", signed=True) for size in (1, 2, 4, 8) for n in (-1, 0, 1, 2, 127, -128, 100)),
    *(np.array(n, dtype="<i8").tobytes() for n in (2**63 - 1, -(2**63), 2**31, 2**32)),
    *(np.array(n, dtype="<f8").tobytes() for n in (np.nan, np.inf, -np.inf, 1e308, -0.0, 5e-324)),
    b"9",
    b"0",
    b"-",
]


class Target(NamedTuple):
    """A reader, files to begin with, and how many of the runs it gets."""

    name: str
    seeds: list[bytes]
    read: Callable[[bytes, Path], Any]
    share: int


# -- changes --------------------------------------------------------------------------------------------------------
def changed(data: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    """Bytes with one or several changes."""
    for _ in range(rng.geometric(0.6)):
        at, end = sorted(int(place) for place in rng.integers(0, len(data) + 1, 2))
        kind = rng.integers(10)
        if kind == 0 and data:
            at = min(at, len(data) - 1)
            data = data[:at] + bytes([data[at] ^ (1 << int(rng.integers(8)))]) + data[at + 1 :]
        elif kind == 1:
            data = data[:at] + rng.bytes(int(rng.integers(1, 9))) + data[at:]
        elif kind in (2, 3):
            data = data[:at] + PIECES[rng.integers(len(PIECES))] + data[at:]
        elif kind == 4:
            data = data[:at] + data[min(end, at + int(rng.integers(1, 40))) :]
        elif kind == 5:
            data = data[:end] + data[at:end][:200] + data[end:]
        elif kind == 6:
            other = others[rng.integers(len(others))]
            data = data[:at] + other[int(rng.integers(len(other) + 1)) :]
        elif kind == 7:
            data = data[:at]
        else:
            new = NUMBERS[rng.integers(len(NUMBERS))] if kind == 8 else rng.bytes(int(rng.integers(1, 9)))
            data = data[:at] + new + data[at + len(new) :]
    return data[:LONGEST]


@contextmanager
def lines_reached(seen: set[tuple[str, int, int]]) -> Iterator[None]:
    """Put the steps from line to line in minrisk, kernels aside, into a set."""

    def follow(code: str) -> Callable[[FrameType, str, Any], Any]:
        last = 0

        def step(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal last
            if event == "line":
                seen.add((code, last, frame.f_lineno))
                last = frame.f_lineno
            return step

        return step

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code.co_filename
        return follow(code) if code.startswith(PACKAGE) and not code.startswith(KERNELS) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


# -- readers -------------------------------------------------------------------------------------------------------
def command(*words: str | Path) -> str:
    """Run a command; what it says where it does not refuse, which it does by code 2 and one line."""
    said, complained = io.StringIO(), io.StringIO()
    code: Any = 0
    with redirect_stdout(said), redirect_stderr(complained):
        try:
            app.main([str(word) for word in words])
        except SystemExit as stop:
            code = stop.code
    message = complained.getvalue()
    assert "should not have happened" not in message, message
    assert "Traceback" not in message, message
    assert code in (0, 2), (code, message)
    if code:
        raise ValueError(message)
    return said.getvalue()


def costs(data: bytes, folder: Path) -> None:
    path = folder / "costs.csv"
    path.write_bytes(data)
    values = minrisk.costs.read_cost(path).values
    assert np.isfinite(values).all() and (values >= 0).all()


def table(data: bytes, folder: Path) -> None:
    path = folder / "table.csv"
    path.write_bytes(data)
    command(
        "fit",
        path,
        "--target",
        "y",
        "--out",
        folder / "m.minrisk",
        "--n-estimators",
        1,
        "--method",
        "rebel",
        "--n-jobs",
        1,
    )


def new_rows(data: bytes, folder: Path) -> None:
    path = folder / "rows.csv"
    path.write_bytes(data)
    command("predict", folder / "given.minrisk", path, "--out", folder / "out.csv")
    found = pd.read_csv(folder / "out.csv", dtype=str, keep_default_na=False)
    assert set(found.iloc[:, -1]) <= {"a", "b", "c"}


def parquet(data: bytes, folder: Path) -> None:
    path = folder / "rows.parquet"
    path.write_bytes(data)
    command("evaluate", folder / "given.minrisk", path, "--target", "y")


def model(data: bytes, folder: Path) -> None:
    archive = io.BytesIO()
    names, *parts = data.split(SEPARATOR)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, part in zip(names.decode("latin-1").replace("\0", "_").split(), parts, strict=False):
            packed.writestr(name, part)
    path = folder / "changed.minrisk"
    path.write_bytes(envelope(archive.getvalue()))
    loaded = minrisk.load(path)
    if loaded.n_features_in_ < 100:
        assert len(loaded.predict(np.zeros((3, loaded.n_features_in_)))) == 3


def parts_of(file: bytes) -> bytes:
    """A model file as the names of its arrays, and these."""
    with zipfile.ZipFile(io.BytesIO(file)) as packed:
        names = packed.namelist()
        return SEPARATOR.join(["\n".join(names).encode(), *map(packed.read, names)])


def prepare(folder: Path) -> list[Target]:
    """Readers with their seeds; writes a model that some of them use."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.array(["a", "b", "c"])[np.arange(30) % 3]
    frame = pd.DataFrame(X, columns=["u", "v", "w"]).round(2)
    words = frame.assign(v=pd.Categorical(np.array(["x", "z", "q"])[rng.integers(0, 3, 30)]))
    fitted = minrisk.REBELClassifier(n_estimators=2, max_depth=2, n_jobs=1).fit(frame, y)
    minrisk.save(fitted, folder / "given.minrisk")
    models = [fitted, minrisk.MinRiskClassifier(n_estimators=2, n_jobs=1).fit(words, y)]
    in_parts = []
    for estimator in models:
        minrisk.save(estimator, folder / "seed.minrisk")
        in_parts.append(parts_of((folder / "seed.minrisk").read_bytes()))
    labelled = frame.assign(y=y)
    tables = [
        labelled.to_csv(index=False).encode(),
        words.assign(y=y).to_csv(index=False, sep=";", decimal=",").encode(),
        labelled.to_csv(sep="\t").encode("utf-16"),
        b'u,v,y\n1,"x,1",a\n2,"""",b\n,NA,a\n-1e3,2020-01-31,c\n',
    ]
    matrices = [
        b",a,b,c\na,0,1,2\nb,1,0,1\nc,5,5,0\n",
        b";a;b;refer\na;0;1,5;0,3\nb;1;0;0,3\n",
        b",0,1\n0,0,1\n1,1e3,0\n",
    ]
    labelled.to_parquet(folder / "seed.parquet")
    return [
        Target("costs", matrices, costs, 4),
        Target("table", tables, table, 2),
        Target("new rows", [frame.to_csv(index=False).encode(), *tables], new_rows, 2),
        Target("parquet", [(folder / "seed.parquet").read_bytes()], parquet, 1),
        Target("model", in_parts, model, 3),
    ]


# -- runs ----------------------------------------------------------------------------------------------------------
def run(cases: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """So many runs, shared out among the readers."""
    targets = prepare(folder)
    rng = np.random.default_rng(seed)
    corpora = {target.name: list(target.seeds) for target in targets}
    reached: dict[str, set[tuple[str, int, int]]] = {target.name: set() for target in targets}
    turns = [target for target in targets for _ in range(target.share)]
    for number in range(cases):
        target = turns[number % len(turns)]
        corpus = corpora[target.name]
        data = corpus[number // len(turns)] if number // len(turns) < len(target.seeds) else None
        if data is None:
            data = changed(corpus[rng.integers(len(corpus))], corpus, rng)
        lines: set[tuple[str, int, int]] = set()
        found = _one(target, data, folder, lines)
        if not lines <= reached[target.name]:
            reached[target.name] |= lines
            corpus.append(data)
        yield found


def _one(target: Target, data: bytes, folder: Path, lines: set[tuple[str, int, int]]) -> Outcome:
    told = f"{target.name}: {data[:3000]!r}"

    def do() -> None:
        with lines_reached(lines), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target.read(data, folder)

    return limited(do, told)
