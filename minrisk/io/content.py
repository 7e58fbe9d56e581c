"""What a file or stream holds: unpacked, block after block, as often as it is asked for, and never as a whole."""

from __future__ import annotations

import errno
import gzip
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from minrisk.io import room
from minrisk.io.atomic import STREAM, is_through
from minrisk.io.values import TableError, shown

__all__ = ["Content"]

CONTENT_BLOCK_BYTES = 1 << 20  # read together: what is done once for each block takes no time beside the block itself
GZIP_MARK = b"\x1f\x8b"


class Content:
    """What a file or stream holds; what is packed by gzip is unpacked.

    A file is read again for each pass. A stream, which passes once, is kept in a temporary file.

    Parameters
    ----------
    path : Path
        "-" is standard input.

    Raises
    ------
    TableError
        If standard input is closed, or a stream outgrows what there is room for.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held: Any = _kept(path) if str(path) == STREAM or is_through(path) else None
        self._state = None if self._held is not None else _state(path)
        with self._opened() as file:
            start = file.read(len(GZIP_MARK))
        self._is_packed = start == GZIP_MARK or (path.name.lower().endswith(".gz") and start != b"")
        self.head = next(self.blocks(), b"")

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        """The bytes as they are, from the beginning."""
        if self._held is not None:
            self._held.seek(0)
            yield self._held
            return
        if _state(self.path) != self._state:
            raise TableError(f"{shown(self.path)} was changed while it was read: try again when it is whole.")
        with self.path.open("rb") as file:
            yield file

    def blocks(self) -> Iterator[bytes]:
        """All, from the beginning; one pass ends or is given up before the next begins."""
        taken = checked = 0
        with self._opened() as file:
            source: Any = gzip.GzipFile(fileobj=file, mode="rb") if self._is_packed else file
            while block := source.read(CONTENT_BLOCK_BYTES):
                taken += len(block)
                if taken > checked + room.READ_BYTES:
                    room.check(self.path, room.TEXT_TIMES * taken)
                    checked = taken
                yield block

    def raw(self) -> IO[bytes]:
        """What a stream held, as a file."""
        self._held.seek(0)
        return self._held  # type: ignore[no-any-return]


def _state(path: Path) -> tuple[int, ...]:
    """What differs once a file was written to or replaced."""
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _kept(path: Path) -> IO[bytes]:
    """A stream's bytes in a file of their own, in memory while they are few."""
    held: Any = tempfile.SpooledTemporaryFile(max_size=room.READ_BYTES)  # noqa: SIM115 (open as long as it is read)
    try:
        if str(path) != STREAM:
            with path.open("rb") as file:
                _pour(path, file, held)
        elif sys.stdin is None or sys.stdin.closed:
            raise TableError("standard input is closed: give the name of a file.")
        else:
            _pour(path, sys.stdin.buffer, held)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise TableError(
            f"{shown(path)} does not fit in the folder of temporary files, {tempfile.gettempdir()} ({error.strerror}): "
            "name another by the environment variable TMPDIR, or give a file."
        ) from None
    return held  # type: ignore[no-any-return]


def _pour(path: Path, source: io.BufferedIOBase | IO[bytes], into: IO[bytes]) -> None:
    taken = checked = 0
    while block := source.read(CONTENT_BLOCK_BYTES):
        into.write(block)
        taken += len(block)
        if taken > checked + room.READ_BYTES:
            room.check(path, room.TEXT_TIMES * taken)
            checked = taken
