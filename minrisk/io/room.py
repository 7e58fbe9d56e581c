"""Memory that a file's contents would take, against what is free: said before it is taken."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from minrisk.io.values import TableError, shown

TEXT_TIMES = 3  # bytes that a table takes while it is read for each byte of its text, at most
CELL = 8  # bytes of a cell of a table in memory: a float64
READ_BYTES = 1 << 24  # bytes that are read between two looks at the free memory; shorter files are read without one
CONTAINER_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current")  # its bytes, and those taken


def free() -> int:
    """Bytes that this process may still take, to the system's best knowledge."""
    found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 1 << 40
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        found = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    with suppress(OSError, ValueError):
        most, used = (int(Path(path).read_text("ascii")) for path in CONTAINER_FILES)
        found = min(found, max(most - used, 0))
    return found


def check(path: str | Path, needed: int) -> None:
    """Refuse what would take more memory than there is.

    Raises
    ------
    TableError
        Naming the file and both sizes.
    """
    there = free()
    if needed > there:
        raise TableError(
            f"{shown(path)} would take about {needed / 1e9:,.1f} GB of memory as a table, and {there / 1e9:,.1f} GB "
            "are free: give a part of its rows or columns."
        )


def read(path: str | Path, file: io.BufferedIOBase | IO[bytes]) -> bytes:
    """What a stream holds, as far as there is room for a table of it.

    Raises
    ------
    TableError
        If there is not.
    """
    content = io.BytesIO()
    while chunk := file.read(READ_BYTES):
        content.write(chunk)
        if content.tell() > READ_BYTES:
            check(path, TEXT_TIMES * content.tell())
    return content.getvalue()


def check_parquet(path: str | Path, file: Any) -> None:
    """Refuse a Parquet file whose cells, by their numbers, are too many; texts are counted once each."""
    needed, metadata = 0, file.metadata
    for j in range(metadata.num_columns):
        column = file.schema.column(j)
        n_cells = metadata.num_rows
        if column.max_repetition_level:  # of lists
            n_cells = sum(metadata.row_group(group).column(j).num_values for group in range(metadata.num_row_groups))
        needed += n_cells * max(CELL, column.length)
    check(path, max(needed, metadata.num_rows * CELL))
