"""Memory for large arrays that come and go, and views that kernels take."""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt

LARGE_BYTES = 1 << 20  # from which arrays have memory of their own: an allocator would keep it for later


def empty(shape: Sequence[int], dtype: npt.DTypeLike) -> np.ndarray:
    """Do as `numpy.empty`; large memory goes back to the system as soon as the array is gone.

    An allocator keeps blocks of a few megabytes for later, in each thread's heap, and finds them in pieces when it
    needs them: a fit that frees and allocates such arrays by turns then holds up to twice what it uses.
    """
    return _large(shape, dtype) if _size(shape, dtype) >= LARGE_BYTES else np.empty(shape, dtype=dtype)


def zeros(shape: Sequence[int], dtype: npt.DTypeLike) -> np.ndarray:
    """Do as `numpy.zeros`, with the same kind of memory."""
    return _large(shape, dtype) if _size(shape, dtype) >= LARGE_BYTES else np.zeros(shape, dtype=dtype)


def in_file(folder: Path, shape: Sequence[int], dtype: npt.DTypeLike) -> np.ndarray:
    """Make an array in a new file of this folder, nameless where the system allows that; it goes with the array.

    Its pages are written when the system needs their memory for others.

    Raises
    ------
    OSError
        If the folder cannot be written to, or has no room for it.
    """
    size = max(1, _size(shape, dtype))
    with tempfile.TemporaryFile(dir=folder, prefix="minrisk-bins-") as file:
        if hasattr(os, "posix_fallocate"):  # else a full disk would end the process when a page is written
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
        memory = mmap.mmap(file.fileno(), size)
    return np.frombuffer(memory, dtype=dtype, count=math.prod(shape)).reshape(shape)


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to: so is kept what many kernels and threads read."""
    view = array.view()
    view.setflags(write=False)
    return view


def points(X: npt.ArrayLike) -> np.ndarray:
    """Return rows of numbers as kernels take them, whatever X is: float64, C-contiguous, aligned, `read_only`."""
    rows: np.ndarray = np.asarray(X, dtype=np.float64, order="C")
    return read_only(rows if rows.flags.aligned else rows.copy())


def give_back() -> None:
    """Give back to the system what was freed and the allocator keeps, where it can be told to (glibc)."""
    if sys.platform == "linux":
        with suppress(AttributeError):  # other C libraries
            ctypes.CDLL(None).malloc_trim(0)


def _size(shape: Sequence[int], dtype: npt.DTypeLike) -> int:
    return math.prod(shape) * np.dtype(dtype).itemsize


def _large(shape: Sequence[int], dtype: npt.DTypeLike) -> np.ndarray:
    """Take pages of its own, which the system hands out as zeros when they are first touched."""
    return np.frombuffer(mmap.mmap(-1, _size(shape, dtype)), dtype=dtype).reshape(shape)
