"""Bytes of files and streams: unpacked, and refused where a table of them would take more memory than is free."""

from __future__ import annotations

import gzip
import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from minrisk.io.atomic import STREAM, is_through

TEXT_TIMES = 3  # bytes that a table takes while it is read for each byte of its text, at most
CELL = 8  # bytes of a cell of a table in memory: a float64
READ_BYTES = 1 << 24  # bytes that are read between two looks at the free memory; shorter files are read without one
CONTAINER_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current")  # its bytes, and those taken
GZIP_MARK = b"\x1f\x8b"


class TableError(ValueError):
    """A table that cannot be read, or does not hold what was asked of it."""


def shown(path: str | Path) -> str:
    """Return the name of a file for messages."""
    return "standard input" if str(path) == STREAM else str(path)


def is_stream(path: str | Path) -> bool:
    """Tell whether a path passes only once, as standard input, pipes and devices do."""
    return str(path) == STREAM or is_through(path)


def free_memory() -> int:
    """Return the bytes that this process may still take, to the system's best knowledge."""
    found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 1 << 40
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        found = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    with suppress(OSError, ValueError):
        most, used = (int(Path(path).read_text("ascii")) for path in CONTAINER_FILES)
        found = min(found, max(most - used, 0))
    return found


def check_room(path: str | Path, needed: int) -> None:
    """Raise a TableError, naming the file and both sizes, where bytes are needed that are not free."""
    there = free_memory()
    if needed > there:
        raise TableError(
            f"{shown(path)} would take about {needed / 1e9:,.1f} GB of memory as a table, and {there / 1e9:,.1f} GB "
            "are free: give a part of its rows or columns."
        )


def check_parquet(path: str | Path, file: Any) -> None:
    """Refuse a Parquet file whose cells, by their numbers, are too many; texts are counted once each."""
    needed, metadata = 0, file.metadata
    for j in range(metadata.num_columns):
        column = file.schema.column(j)
        n_cells = metadata.num_rows
        if column.max_repetition_level:  # of lists
            n_cells = sum(metadata.row_group(group).column(j).num_values for group in range(metadata.num_row_groups))
        needed += n_cells * max(CELL, column.length)
    check_room(path, max(needed, metadata.num_rows * CELL))


def read_all(path: str | Path, file: io.BufferedIOBase | IO[bytes]) -> bytes:
    """Read a stream to its end, as far as there is room for a table of it."""
    content = io.BytesIO()
    while chunk := file.read(READ_BYTES):
        content.write(chunk)
        if content.tell() > READ_BYTES:
            check_room(path, TEXT_TIMES * content.tell())
    return content.getvalue()


def read_bytes(path: Path) -> bytes:
    """Read a file or stream and unpack what gzip packed; refused where there is no room for it."""
    if str(path) != STREAM:
        with path.open("rb") as file:
            data = read_all(path, file)
    elif sys.stdin is None or sys.stdin.closed:
        raise TableError("standard input is closed: give the name of a file.")
    else:
        data = read_all(path, sys.stdin.buffer)
    return read_all(path, gzip.GzipFile(fileobj=io.BytesIO(data))) if _is_packed(path, data) else data


def opener(path: Path) -> Callable[[], IO[bytes]]:
    """Return a function that opens a file, unpacked, from its beginning; a stream is read here, once."""
    if is_stream(path):
        data = read_bytes(path)
        return lambda: io.BytesIO(data)
    with path.open("rb") as file:
        packed = _is_packed(path, file.read(len(GZIP_MARK)))
    return lambda: gzip.open(path) if packed else path.open("rb")  # type: ignore[return-value]


def _is_packed(path: Path, start: bytes) -> bool:
    return start.startswith(GZIP_MARK) or (path.name.lower().endswith(".gz") and start != b"")
