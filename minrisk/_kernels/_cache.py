"""Where the machine code of kernels is kept, and how processes that compile at the same time share the work.

Numba's own cache looks for one folder that can be written, and reads no other: an image whose package folder holds
everything but cannot be written to would compile again. It also keeps one index for all signatures of a function,
which two processes may overwrite for each other. Here machine code is read from every folder in which it may lie, and
written to the first that can be written to, by nobody else:

1. the folder that ``NUMBA_CACHE_DIR`` names,
2. ``__pycache__`` beside the kernels,
3. the user's cache folder,
4. a private folder in the temporary directory: the user's own, no link, closed to everybody else.

A signature has two files of its own: ``.nbc`` is Numba's, ``.nbi`` says what it was compiled from and has its checksum.
Numba unpickles and runs what it reads, so that only whole files are read which nobody else can have written: see
`_only_ours`. All others, and a disk that is full, mean that kernels are compiled again, with a note. A process that
needs a kernel which another one is compiling waits for it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, config, serialize
from numba.core.compiler_lock import global_compiler_lock
from numba.misc.appdirs import AppDirs

from minrisk._utils.temporary import temporary, try_lock

logger = logging.getLogger("minrisk")

HERE = Path(__file__).parent
LONGEST_WAIT = 120.0  # seconds for another process; then both compile
POLL = 0.02  # seconds between two looks whether it is done
LENGTH = hashlib.sha256().digest_size  # bytes of a checksum
OTHERS = 0o022  # who may write: none of them to what is made here, whatever the umask, or it would not be read again


@cache
def folders() -> list[Path]:
    """Return where machine code may lie, the first choice first."""
    below = caching._CacheLocator.get_suitable_cache_subpath(str(HERE / "kernel.py"))
    found = [Path(config.CACHE_DIR).absolute() / below] if config.CACHE_DIR else []
    found.append(HERE / "__pycache__")
    with suppress(RuntimeError, OSError):  # no home
        found.append(Path(AppDirs(appname="numba", appauthor=False).user_cache_dir) / below)
    if not any(_can_write(folder) for folder in found):
        private = private_folder()
        found += [private / below] if private else []
    return found


@cache
def writable_folder() -> Path | None:
    """Return the first of `folders` that can be written to; None: nothing can be kept."""
    return next(filter(_can_write, folders()), None)


def _can_write(folder: Path) -> bool:
    try:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        if not _only_ours(folder if not missing else missing[-1].parent):
            return False
        for path in reversed(missing):
            path.mkdir(mode=0o777 & ~OTHERS, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def private_folder() -> Path | None:
    """Return the user's own folder in the temporary directory, made if need be; None if not certainly theirs."""
    own = hasattr(os, "getuid")
    try:
        path = Path(tempfile.gettempdir()) / f"minrisk-{os.getuid() if own else 'kernels'}"
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        made = path.lstat()  # of a link itself
    except OSError:
        return None
    if not stat.S_ISDIR(made.st_mode) or (own and (made.st_uid != os.getuid() or made.st_mode & 0o077)):
        return None
    return path


def is_temporary(folder: Path) -> bool:
    """Return whether it is the place of last resort, which the system may empty."""
    return folder.parent.parent == Path(tempfile.gettempdir()) and folder.parent.name.startswith("minrisk-")


@cache
def sources() -> bytes:
    """Hash all files beside this one, as kernels call those of others.

    Not of their dates: a file of an image or on a network may have another one.
    """
    files = sorted(HERE.glob("*.py"))
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)).digest()


class _Place(caching._CacheLocator):  # type: ignore[misc]
    """What Numba asks of a place, for any of `folders`."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._file, self._line = py_file, py_func.__code__.co_firstlineno

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Place | None:
        return cls(py_func, py_file) if os.path.exists(py_file) else None

    def ensure_cache_path(self) -> None:
        pass

    def get_cache_path(self) -> str:
        return str(writable_folder() or HERE / "__pycache__")

    def get_source_stamp(self) -> bytes:
        return sources()

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Implementation(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Place,)


class _Notes:
    """What goes wrong with files is said once in a process."""

    def __init__(self) -> None:
        self.unusable, self.not_kept = "", ""

    def unread(self, folder: Path, error: Exception) -> None:
        """Note that files were there and could not be used."""
        if not self.unusable:
            self.unusable = f"{folder}: {getattr(error, 'strerror', None) or error}"
            logger.warning("minrisk: compiled kernels cannot be used and are compiled again: %s", self.unusable)

    def unwritten(self, folder: Path, error: Exception) -> None:
        """Note that files could not be written."""
        if not self.not_kept:
            self.not_kept = f"{folder}: {getattr(error, 'strerror', None) or error}"
            logger.warning(
                "minrisk: compiled kernels could not be kept in %s, so that every process has to compile: make room "
                "there, or set NUMBA_CACHE_DIR to another folder",
                self.not_kept,
            )


notes = _Notes()


class _Files:
    """Machine code of one signature in one folder, as Numba's `Cache` asks for it.

    Parameters
    ----------
    folder : Path
    name : str
        Of the files, without what they end in.
    origin : tuple
        What the machine code depends on, beside the signature.
    """

    def __init__(self, folder: Path, name: str, origin: tuple[Any, ...]) -> None:
        folder = Path(os.path.realpath(folder))  # which no link leads elsewhere once it has been looked at
        self._folder, self._origin = folder, origin
        self._index, self._code = folder / f"{name}.nbi", folder / f"{name}.1.nbc"

    def load(self, key: Any) -> Any:
        """Return what was saved; None if there is nothing of the sort."""
        checksum = self.checksum(key)
        code = None if checksum is None else self._read(self._code)
        if code is None:
            return None
        if hashlib.sha256(code).digest() != checksum:
            raise ValueError("a file is damaged")
        return serialize.loads(code)

    def save(self, key: Any, data: Any) -> None:
        """Write both files, each as a whole; a reader who sees one of them old finds that they do not fit."""
        code = serialize.dumps(data)
        index = self._identity(key) + hashlib.sha256(code).digest()
        for path, content in ((self._code, code), (self._index, index + hashlib.sha256(index).digest())):
            with temporary(self._folder, private=False) as beside:
                beside.write_bytes(content)
                beside.chmod(beside.stat().st_mode & ~OTHERS)
                os.replace(beside, path)

    def checksum(self, key: Any) -> bytes | None:
        """Return that of the machine code, by the index; None where that is missing or of other sources."""
        index = self._read(self._index)
        if index is None:
            return None
        if len(index) != 3 * LENGTH or hashlib.sha256(index[:-LENGTH]).digest() != index[-LENGTH:]:
            raise ValueError("a file is damaged")
        return index[LENGTH:-LENGTH] if index[:LENGTH] == self._identity(key) else None

    def _identity(self, key: Any) -> bytes:
        signature, *rest = key
        return hashlib.sha256(repr((str(signature), rest, self._origin)).encode()).digest()

    def _read(self, path: Path) -> bytes | None:
        """Return a file's content; None if there is none."""
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise ValueError("something else stands in the place of a file")
            if not (_is_ours(found) and not found.st_mode & OTHERS and _only_ours(self._folder)):
                raise ValueError("another user can have written a file")
            with open(descriptor, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(descriptor)


def _is_ours(found: os.stat_result) -> bool:
    """Return whether a file or folder is this user's, a superuser's or that of the owner of this source file."""
    return not hasattr(os, "geteuid") or found.st_uid in (os.geteuid(), 0, os.stat(__file__).st_uid)


def _only_ours(folder: Path) -> bool:
    """Say whether nobody else can put a file there: neither in a folder, nor by another one in its place or above."""
    real = Path(os.path.realpath(folder))
    for path in (real, *real.parents):
        found = path.stat()
        open_to_others = found.st_mode & OTHERS and not found.st_mode & stat.S_ISVTX
        if not _is_ours(found) or (open_to_others and hasattr(os, "geteuid")):
            return False
    return True


class KernelCache(caching.FunctionCache):  # type: ignore[misc]
    """The cache of one kernel; Numba calls `load_overload` and `save_overload` with its compiler's lock held.

    Parameters
    ----------
    py_func : callable
    """

    _impl_class = _Implementation

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._origin = (numba.__version__, sources())
        self._locks: dict[str, _Lock] = {}

    def _title(self, sig: Any, target_context: Any) -> str:
        which = repr((numba.__version__, str(sig), target_context.codegen().magic_tuple())).encode()
        return f"{self._impl.filename_base}-{hashlib.sha256(which).hexdigest()[:16]}"

    def _files(self, folder: Path, name: str) -> _Files:
        return _Files(folder, name, self._origin)

    def _find(self, sig: Any, target_context: Any, name: str) -> Any:
        unusable = []
        for folder in folders():
            self._cache_file = self._files(folder, name)
            try:
                found = super().load_overload(sig, target_context)
            except Exception as error:  # whatever Numba raises, too
                unusable.append((folder, error))
            else:
                if found is not None:
                    return found
        if unusable:
            notes.unread(*unusable[0])
        return None

    def holds(self, sig: Any, target_context: Any) -> bool:
        """Return whether machine code for the signature lies in one of the folders."""
        with global_compiler_lock:  # which Numba takes itself for the others: threads would meet in its context
            target_context.refresh()
            name, key = self._title(sig, target_context), self._index_key(sig, target_context.codegen())
            for folder in folders():
                with suppress(OSError, ValueError):
                    if self._files(folder, name).checksum(key) is not None:
                        return True
            return False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load machine code from any folder; None: the caller compiles it, and others wait until it is saved."""
        target_context.refresh()
        name = self._title(sig, target_context)
        if name in self._locks:  # of a compilation that was interrupted
            self._locks.pop(name).release()
        found = self._find(sig, target_context, name)
        folder = writable_folder()
        if found is not None or folder is None:
            return found
        lock = _Lock(folder / f"{name}.lock")
        if lock.acquire():
            found = self._find(sig, target_context, name)
        if found is None:
            self._locks[name] = lock
        else:
            lock.release()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code where that is possible; a full disk is no reason to fail."""
        name, folder = self._title(sig, data.target_context), writable_folder()
        try:
            if folder is not None:
                self._cache_file = self._files(folder, name)
                super().save_overload(sig, data)
        except Exception as error:  # the kernel is compiled and runs
            notes.unwritten(folder or HERE, error)
        finally:
            lock = self._locks.pop(name, None)
            if lock is not None:
                lock.release()


class _Lock:
    """A file that one process holds at a time; it is free again when the process ends, however it does."""

    def __init__(self, path: Path) -> None:
        self.path, self._descriptor = path, -1

    def acquire(self) -> bool:
        """Take it, and say whether another process had it before. Where files cannot be locked nobody waits."""
        waited, until = False, time.monotonic() + LONGEST_WAIT
        try:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            while not try_lock(self._descriptor):
                if time.monotonic() > until:
                    break
                waited = True
                time.sleep(POLL)
        except OSError:
            pass
        return waited

    def release(self) -> None:
        """Let it go; the file is removed, and who still waits for it finds the machine code beside it."""
        if self._descriptor >= 0:
            with suppress(OSError):
                self.path.unlink()
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = -1
