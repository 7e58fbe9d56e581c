"""Named arrays in one zip archive: written packed, read one at a time, and refused where they unpack to too much.

The archive is what ``numpy.savez_compressed`` makes. An array is read when it is asked for, into memory that its shape
asks for, and its shape is compared with what the archive holds before any memory is taken.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterator, Mapping
from typing import IO

import numpy as np
from numpy.lib import format as npy

SUFFIX = ".npy"
MOST_UNPACKED = 1 << 20, 64  # bytes, and for each byte of the archive: what its arrays may hold
CHUNK = 1 << 16  # bytes unpacked at a time
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def pack(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The archive's bytes, the same ones for the same arrays."""
    for write in (np.savez_compressed, np.savez):  # the second for what would seem to unpack to too much
        buffer = io.BytesIO()
        write(buffer, **arrays)  # type: ignore[arg-type]  # no array is called allow_pickle
        if sum(array.nbytes for array in arrays.values()) <= _most(len(buffer.getbuffer())):
            break
    return buffer.getvalue()


class Unpacked(Mapping[str, np.ndarray]):
    """The arrays of an archive by name, each read anew when it is asked for.

    Parameters
    ----------
    file : binary file
        Ends with the archive.
    size : int
        Bytes of the archive.

    Raises
    ------
    ValueError
        If the arrays are packed in an unknown way, hold objects, or would unpack to far more than the archive.
    zipfile.BadZipFile
        If it is no archive.
    """

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._archive = zipfile.ZipFile(file)
        members = self._archive.infolist()
        if any(member.compress_type not in PACKED for member in members):
            raise ValueError("its arrays are packed in an unknown way.")
        if sum(member.file_size for member in members) > _most(size):
            raise ValueError("its arrays would unpack to far more than the file.")
        self._members = {member.filename.removesuffix(SUFFIX): member for member in members}

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def kind(self, name: str) -> tuple[np.dtype, tuple[int, ...]]:
        """Dtype and shape of an array, which is not read."""
        with self._archive.open(self._members[name]) as file:
            shape, dtype, _ = _header(file)
        return dtype, shape

    def __getitem__(self, name: str) -> np.ndarray:
        member = self._members[name]
        with self._archive.open(member) as file:
            shape, dtype, rows_first = _header(file)
            count = math.prod(shape)
            if dtype.hasobject or count * dtype.itemsize != member.file_size - file.tell():
                raise ValueError(f"array {name!r} is not as large as its shape says, or holds objects.")
            flat = np.empty(count, dtype=dtype)
            rest = flat.view(np.uint8) if count else np.empty(0, dtype=np.uint8)
            while len(rest):
                chunk = file.read(min(CHUNK, len(rest)))
                if not chunk:
                    raise ValueError(f"array {name!r} is cut short.")
                rest[: len(chunk)] = np.frombuffer(chunk, dtype=np.uint8)
                rest = rest[len(chunk) :]
            file.read(1)  # there its checksum is compared
        array = flat.reshape(shape) if rows_first else flat.reshape(shape[::-1]).T
        return np.ascontiguousarray(array)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype, bool]:
    """Shape, dtype, and whether rows stand one after another."""
    if npy.read_magic(file) != (1, 0):
        raise ValueError("its arrays are written in an unknown way.")
    shape, columns_first, dtype = npy.read_array_header_1_0(file)
    return shape, dtype, not columns_first


def _most(size: int) -> int:
    """Bytes that the arrays of an archive of so many may hold."""
    least, times = MOST_UNPACKED
    return least + times * size
