"""Temporary files beside those that they become by a rename, and locks.

They are called ``.minrisk-`` and sixteen digits. What a process that was killed leaves has a lock that nobody holds,
since the system lets go what a process had, and the next file written to the folder removes it.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

OURS = re.compile(r"\.minrisk-[0-9a-f]{16}")
_LOCKS = sys.platform != "win32"  # where a locked file cannot be written to under another descriptor
_OLD = 24 * 3600.0  # seconds after which a temporary file is nobody's, where there are no locks


@contextmanager
def temporary(folder: Path, private: bool) -> Iterator[Path]:
    """Make a new file with a short name and a lock that says that somebody writes it; it is removed at the end.

    Its mode is that of any new file, made by the system from the umask and the folder's access list; or nobody else may
    read it.
    """
    _remove_abandoned(folder)
    path, lock = _make(folder, 0o600 if private else 0o666)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def _make(folder: Path, mode: int) -> tuple[Path, int | None]:
    """Make a new file, and the descriptor that holds its lock."""
    while True:
        path = folder / f".minrisk-{secrets.token_hex(8)}"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if not _LOCKS:  # nor could an open file be renamed
            os.close(descriptor)
            return path, None
        try:
            if try_lock(descriptor) and _is_at(descriptor, path):
                return path, descriptor
            os.close(descriptor)  # it was taken for abandoned before it had its lock
        except OSError:  # a file system without locks, where nobody removes it either
            return path, descriptor


def _remove_abandoned(folder: Path) -> None:
    """Remove temporary files of ours whose writers have ended without doing so."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if OURS.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(path: Path) -> None:
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode) or (hasattr(os, "geteuid") and found.st_uid != os.geteuid()):
        return
    if not _LOCKS:
        if time.time() - found.st_mtime > _OLD:
            path.unlink()
        return
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if try_lock(descriptor) and _is_at(descriptor, path):  # and not renamed in the meantime
            path.unlink()
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Say whether an open file has this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def try_lock(descriptor: int) -> bool:
        """Take the lock of an open file unless somebody has it; whether it was free."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        """Take the lock of an open file unless somebody has it; whether it was free.

        Raises
        ------
        OSError
            If the file system has no locks.
        """
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
