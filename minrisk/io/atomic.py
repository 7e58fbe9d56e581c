"""Write beside, then rename: a file is either the old one or the whole new one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def write_beside(path: str | Path) -> Iterator[Path]:
    """A path in the same folder to write to; renamed to `path` at the end, removed on an error.

    Raises
    ------
    OSError
        If the folder does not exist or cannot be written.
    """
    path = Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        with open(beside, "rb+") as file:
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        beside.chmod(0o666 & ~umask)  # mkstemp makes private files
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
