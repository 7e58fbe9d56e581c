"""Files written as a whole: a regular file is replaced by a rename, all else is written through.

A regular file is either the old one or the whole new one, and keeps its mode, owner and extended attributes. A second
name of it (a hard link) keeps the old file, as a snapshot or a copy by ``cp -al`` should: written in place, a kill
would leave both names with half of each. A symbolic link stays and what it leads to is written. Devices, FIFOs and open
descriptors (``/dev/stdout``, ``/dev/fd/N``) get the bytes. A file that cannot be renamed (a mount, an owner that cannot
be given, a folder closed to writers) is overwritten in place; where that fails, its old content is put back.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from minrisk._utils.temporary import OURS, temporary

STREAM = "-"  # the name of standard input and output, as other commands have it
_DESCRIPTOR = re.compile(r"/(?:dev|proc/(?P<process>\d+)(?:/task/\d+)?)/fd/(?P<number>\d+)")
_DEVICES = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_MOST_LINKS = 40  # as in Linux
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def descriptor_of(path: str | Path) -> int | None:
    """Return the open descriptor that a path such as ``/dev/stdout`` or a link to it names, else None."""
    name = os.path.abspath(path)
    for _ in range(_MOST_LINKS):
        if name in _DEVICES:
            return _DEVICES[name]
        folder, last = os.path.split(name)
        name = os.path.join(os.path.realpath(folder), last)  # /dev/fd is a link to /proc/self/fd on Linux
        found = _DESCRIPTOR.fullmatch(name)
        if found is not None and found["process"] in (None, str(os.getpid())):
            return int(found["number"])
        try:
            name = os.path.normpath(os.path.join(os.path.dirname(name), os.readlink(name)))
        except OSError:
            return None
    return None


def is_through(path: str | Path) -> bool:
    """Tell whether a path leads to something that is written through: all but a regular file, or none yet."""
    return descriptor_of(path) is not None or (os.path.exists(path) and not os.path.isfile(path))


def names_folder(path: str | Path) -> bool:
    """Tell whether a name ends as that of a folder, which `Path` and `realpath` take for one of a file."""
    return str(path).endswith(("/", os.sep))


def _refuse_folder(path: str | Path) -> None:
    """Refuse a name that ends as that of a folder."""
    if names_folder(path):
        raise IsADirectoryError(errno.EISDIR, "it is a folder; give the name of a file", str(path))


def check_target(path: str | Path) -> None:
    """Find out whether `write_beside` may write there, without changing, opening or waiting for anything there.

    Raises
    ------
    OSError
        If not; its text says why.
    """
    _refuse_folder(path)
    descriptor = descriptor_of(path)
    if descriptor is not None:
        os.fstat(descriptor)
        return
    real = Path(os.path.realpath(path))
    try:
        os.lstat(real)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise OSError(error.errno, "its name is too long for the file system; give a shorter one") from None
    if os.path.islink(real):
        raise OSError(errno.ELOOP, "its links lead in a circle")
    if real.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder; give the name of a file")
    if not real.parent.is_dir():
        what = "is no folder" if real.parent.exists() else "does not exist"
        raise FileNotFoundError(errno.ENOENT, f"the folder {real.parent} {what}")
    if real.exists():
        if not os.access(real, os.W_OK):
            raise PermissionError(errno.EACCES, "the file is write-protected")
        if not _may_rename(real):
            return
    with temporary(real.parent, private=True):
        pass


@contextmanager
def write_beside(path: str | Path) -> Iterator[Path]:
    """Give a path to write to, whose content goes to `path` at the end; on an error `path` stays as it was.

    Raises
    ------
    OSError
        If the folder does not exist, or `path` cannot be written.
    """
    _refuse_folder(path)
    descriptor = descriptor_of(path)
    real = Path(os.path.realpath(path))  # a rename to the name of a link would replace the link
    whole = descriptor is None and _may_rename(real)
    try:
        folder = real.parent if whole else Path(tempfile.gettempdir())
        with temporary(folder, private=not whole or real.exists()) as beside:
            yield beside
            if descriptor is not None:
                _pour(beside, os.dup(descriptor))
            elif not whole and real.exists() and not real.is_file():
                _pour(beside, os.open(path, os.O_WRONLY))
            elif not whole or not _replace(beside, real):
                _overwrite(real, beside.read_bytes())
    except OSError as error:
        if error.filename is not None and not OURS.fullmatch(os.path.basename(os.fsdecode(error.filename))):
            raise
        why = error.strerror or str(error)
        if error.errno in _NO_ROOM:
            why += "; make room there or give another folder"
        raise OSError(error.errno or errno.EIO, why, str(path)) from error


def _may_rename(real: Path) -> bool:
    """Tell whether a rename may put another file there: a new one, or a regular one in a folder that can be written
    to.
    """
    try:
        found = os.lstat(real)
    except FileNotFoundError:
        return True
    return stat.S_ISREG(found.st_mode) and os.access(real.parent, os.W_OK | os.X_OK)


def _replace(beside: Path, real: Path) -> bool:
    """Rename, with the mode and owner of the old file; False where that is not possible."""
    with open(beside, "rb+") as file:
        os.fsync(file.fileno())
    if real.exists() and not _dress_as(beside, real):
        return False
    try:
        os.replace(beside, real)
    except OSError as error:
        if error.errno in (errno.EBUSY, errno.EXDEV):  # a file that is a mount, as containers have them
            return False
        raise
    return True


def _dress_as(beside: Path, real: Path) -> bool:
    """Give a file the owner, mode and extended attributes of another; False where the owner cannot be had."""
    old, new = os.stat(real), os.stat(beside)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        try:
            os.chown(beside, old.st_uid, old.st_gid)
        except OSError:
            return False
    beside.chmod(stat.S_IMODE(old.st_mode))
    if hasattr(os, "listxattr"):  # access lists among them
        with suppress(OSError):
            for name in {*os.listxattr(beside)} - {*os.listxattr(real)}:  # which the folder gives new files
                with suppress(OSError):
                    os.removexattr(beside, name)
            for name in os.listxattr(real):
                with suppress(OSError):
                    os.setxattr(beside, name, os.getxattr(real, name))
    return True


def _pour(source: Path, descriptor: int) -> None:
    """Copy a file into an open descriptor, and close that."""
    with open(source, "rb") as file, open(descriptor, "wb") as sink:
        shutil.copyfileobj(file, sink)


def _overwrite(real: Path, content: bytes) -> None:
    """Put bytes into a file that is there; its old ones, where that fails."""
    with open(real, "rb+", buffering=0) as file:
        old = file.read()
        try:
            _fill(file.fileno(), content)
        except BaseException:
            with suppress(OSError):
                _fill(file.fileno(), old)
            raise


def _fill(descriptor: int, content: bytes) -> None:
    """Make these bytes all that a file holds."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.ftruncate(descriptor, len(content))
    os.fsync(descriptor)
