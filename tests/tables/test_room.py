"""Tables that would take more memory than there is are refused before they take it."""

import gzip
import io
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from minrisk.tables import source
from minrisk.tables.files import open_table
from minrisk.tables.source import TableError, read_bytes

MEGABYTE = 1 << 20


@pytest.fixture
def little_room(monkeypatch):
    monkeypatch.setattr(source, "free_memory", lambda: 64 * MEGABYTE)


def test_what_is_free_is_known():
    page, pages = resource.getpagesize(), 1 << 16
    assert page * pages < source.free_memory() < 1 << 50


def test_zeros_that_pack_well(tmp_path, little_room):
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"a,b\n")
        for _ in range(200):
            file.write(b"0,1\n" * (MEGABYTE // 4))
    assert path.stat().st_size < MEGABYTE
    with pytest.raises(TableError, match=r"bomb\.csv\.gz would take about 0\.1 GB of memory"):
        open_table(path)


def test_an_endless_stream(little_room, monkeypatch):
    class Endless(io.RawIOBase):
        def read(self, size=-1):
            return b"1" * size

    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"closed": False, "buffer": Endless()})())
    with pytest.raises(TableError, match="standard input would take"):
        read_bytes(Path("-"))


def test_rows_that_parquet_counts(tmp_path):
    path = tmp_path / "runs.parquet"
    with pq.ParquetWriter(path, pa.schema([("a", pa.int64())]), compression="zstd") as writer:
        group = pa.table({"a": np.zeros(4 * MEGABYTE, dtype=np.int64)})
        for _ in range(8):
            writer.write_table(group)
    assert path.stat().st_size < MEGABYTE
    limit = "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
    code = "from minrisk.tables import source; source.free_memory = lambda: 1 << 27\nfrom minrisk.tables.files import open_table\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{limit}{code}open_table(sys.argv[1])", str(path)], capture_output=True, text=True
    )
    assert "would take about 0.3 GB of memory as a table, and 0.1 GB are free" in done.stderr


def test_a_long_text_in_every_row_is_read_once(tmp_path):
    """A Parquet file holds it once; as a feature, a class, in lists, as bytes and in chunks it takes two gigabytes."""
    n = 2000
    code = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n), pa.int32(), safe=False), pa.array(["x" * MEGABYTE]))
    cells = {
        "text": code,
        "bytes": code.cast(pa.dictionary(pa.int32(), pa.binary())),
        "list": pa.ListArray.from_arrays(pa.array(range(n + 1), pa.int32()), code),
        "struct": pa.StructArray.from_arrays([code], ["a"]),
    }
    for name, column in cells.items():
        table = pa.table({"c": column, "x": np.arange(n) / 8, "y": np.arange(n) % 2})
        pq.write_table(table, tmp_path / f"{name}.parquet", store_schema=False, compression="zstd")
    script = """
from benchmarks.memory import resident
from tests.helpers.command_line import invoke
fit = ("--method", "rebel", "--n-estimators", 1, "--n-jobs", 1, "--out", "m")
print([invoke("fit", f"{name}.parquet", "--target", "y", *fit).exit_code for name in ("text", "bytes", "list", "struct")])
print(invoke("predict", "m", "text.parquet").exit_code)
print([invoke("fit", "text.parquet", "--target", "c", *how, *fit).stderr.count("got only 'xxx") for how in ([], ["--bins-in", "."])])
print(resident("VmHWM") < 1 << 30)
"""
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split("\n")[:-1] == ["[0, 2, 2, 2]", "0", "[1, 1]", "True"], done


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.parquet"])
def test_tables_with_room_are_read_whole(tmp_path, name, monkeypatch):
    monkeypatch.setattr(source, "READ_BYTES", 7)
    frame = pa.table({"a": np.arange(50.0), "y": ["u", "v"] * 25}).to_pandas()
    path = tmp_path / name
    frame.to_parquet(path) if name.endswith("parquet") else frame.to_csv(path, index=False)
    assert open_table(path).frame().astype(frame.dtypes).equals(frame)
