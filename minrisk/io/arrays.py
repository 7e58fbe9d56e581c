"""Named arrays in one zip archive: written and read one at a time, and refused where they unpack to too much.

The archive is what ``numpy.savez_compressed`` makes. An array is read when it is asked for, into memory that its shape
asks for. Its shape is compared with what the archive holds before any memory is taken, and all that a file asks for
comes out of one allowance, a multiple of its size.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from minrisk.model.rounded_vectors import shortened

SUFFIX = ".npy"
ALLOWED_BYTES = 1 << 20  # bytes of memory that any archive may ask for,
ALLOWED_TIMES = 64  # and how many more for each of its own bytes: no model compresses better
CHUNK_BYTES = 1 << 16  # bytes of a file that are read, packed or unpacked at a time: memory does not follow the file
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 1  # a flag of members
FEW_PLANES = 8  # columns of bytes that are read one by one
ARRAY_MAGIC = npy.magic(1, 0)  # what an array begins with as NumPy writes it
# What NumPy writes before an array's numbers, of one dimension or two; nothing in it is evaluated.
ARRAY_HEADER = re.compile(
    rb"\{'descr': '([<|][biuf][1248])', 'fortran_order': (True|False), 'shape': \((\d{1,15}),(?: (\d{1,15}))?\), \} *\n"
)
BLOCK = 1 << 15  # numbers that are coded at a time, so that they take little memory


# -- numbers as planes of bytes ----------------------------------------------------------------------------------------
# The lowest byte of all of them, then the next one, each of which packs well on its own. In an archive they are an
# array of bytes of shape (n, width) whose columns stand one after another.
class Planes(NamedTuple):
    """Numbers that are to be written so."""

    numbers: np.ndarray  # (n,)
    width: int  # bytes of a number
    coded: Callable[[np.ndarray], np.ndarray]  # some of them as whole numbers from 0 of so many bytes

    @property
    def shape(self) -> tuple[int, int]:
        """Return the shape of the array of bytes."""
        return len(self.numbers), self.width

    def plane(self, place: int, low: int) -> np.ndarray:
        """Return byte number `place` of up to `BLOCK` numbers from `low` on."""
        coded = np.ascontiguousarray(self.coded(self.numbers[low : low + BLOCK]), dtype=f"<u{self.width}")
        return np.ascontiguousarray(coded.view(np.uint8).reshape(-1, self.width)[:, place])


class PlaneCoding(NamedTuple):
    """What bytes mean."""

    widths: tuple[int, ...]  # bytes of a number
    planes: Callable[[np.ndarray], Planes]
    decoded: Callable[[np.ndarray], np.ndarray]  # of unsigned numbers (n,), which it may overwrite

    def numbers(self, flat: np.ndarray) -> np.ndarray:
        """Return numbers of an array of bytes (n, width), in its memory where that is possible."""
        n, width = flat.shape
        return self.decoded(np.ascontiguousarray(flat).view(f"<u{width}").reshape(n))


def narrowest(most: int) -> int:
    """Return bytes of whole numbers from 0 to `most`."""
    return next(width for width in (1, 2, 4) if most < 1 << 8 * width)


def _whole(numbers: np.ndarray) -> Planes:
    return Planes(numbers, narrowest(int(numbers.max(initial=0))), lambda some: some)


def _zigzag(numbers: np.ndarray) -> np.ndarray:
    """Return 0, -1, 1, -2, ... as 0, 1, 2, 3, ..., of int16."""
    return ((numbers << 1) ^ (numbers >> 15)).view(np.uint16)


def _signed(numbers: np.ndarray) -> Planes:
    most = max(2 * int(numbers.max(initial=0)), -2 * int(numbers.min(initial=0)) - 1)
    return Planes(numbers, narrowest(most), _zigzag)


def _of_zigzag(coded: np.ndarray) -> np.ndarray:
    """Return the inverse of `_zigzag`, in the same memory where that is of 16 bits."""
    numbers = coded.astype(np.uint16, copy=False)
    for low in range(0, len(numbers), BLOCK):
        some = numbers[low : low + BLOCK]
        some[:] = (some >> 1) ^ -(some & 1)
    return numbers.view(np.int16)


def _reals(numbers: np.ndarray) -> Planes:
    if numbers.dtype == np.float64:
        return Planes(numbers, 8, lambda some: some.view(np.uint64))
    return Planes(numbers, 2, lambda some: shortened(some).view(np.uint32) >> 16)


def _of_reals(coded: np.ndarray) -> np.ndarray:
    if coded.dtype.itemsize == 8:
        return coded.view(np.float64)
    return (coded.astype(np.uint32) << 16).view(np.float32)


WHOLE = PlaneCoding((1, 2, 4), _whole, lambda coded: coded)  # numbers from 0
SIGNED = PlaneCoding((1, 2), _signed, _of_zigzag)  # int16, those near 0 in one byte
REALS = PlaneCoding((2, 8), _reals, _of_reals)  # float64 as they are, float32 with eight binary digits: see `shortened`

Array = np.ndarray | Planes | Callable[[], np.ndarray | Planes]


class Allowance:
    """Bytes of memory that a file may still ask for.

    Parameters
    ----------
    size : int
        Of the file.
    """

    def __init__(self, size: int) -> None:
        self.left = most(size)

    def take(self, n_bytes: int) -> None:
        """Use some of it.

        Raises
        ------
        ValueError
            If there is less.
        """
        if n_bytes > self.left:
            raise ValueError(
                f"it asks for far more memory than a model of its size, beyond {ALLOWED_TIMES} times the file and "
                f"{ALLOWED_BYTES} bytes."
            )
        self.left -= n_bytes


# -- writing -----------------------------------------------------------------------------------------------------------
class _Rest:
    """A file from some place on, as a file of its own."""

    def __init__(self, file: IO[bytes], start: int) -> None:
        self._file, self._start = file, start
        self.write, self.flush = file.write, file.flush

    def tell(self) -> int:
        return self._file.tell() - self._start

    def seek(self, offset: int) -> int:
        return self._file.seek(self._start + offset) - self._start


def write(file: IO[bytes], arrays: Mapping[str, Array], as_they_are: Collection[str] = (), beside: int = 0) -> int:
    """Write the archive from a file's place on, up to its end: the same bytes for the same arrays; returns how many.

    The arrays named by `as_they_are` are not packed, and none is where the archive would be too small for what they
    take, and so many bytes `beside` them.
    """
    start = file.tell()
    for packing in reversed(PACKED):  # stored is what would seem to unpack to too much
        file.seek(start)
        file.truncate()
        rest: Any = _Rest(file, start)
        unpacked = beside
        with zipfile.ZipFile(rest, "w") as archive:
            for name, array in arrays.items():
                entry = zipfile.ZipInfo(name + SUFFIX)
                entry.compress_type = zipfile.ZIP_STORED if name in as_they_are else packing
                with archive.open(entry, "w", force_zip64=True) as member:
                    unpacked += _write(member, made(array))
        size = file.tell() - start
        if unpacked <= most(size):
            break
    return size


def made(array: Array) -> np.ndarray | Planes:
    """Return an array, which may be made only now."""
    return array() if callable(array) else array


def _write(member: IO[bytes], array: np.ndarray | Planes) -> int:
    """Write an array as NumPy does, without a copy of it; returns its bytes."""
    if isinstance(array, Planes):
        npy.write_array_header_1_0(member, {"descr": "|u1", "fortran_order": True, "shape": array.shape})
        n, width = array.shape
        for place in range(width):
            for low in range(0, n, BLOCK):
                member.write(array.plane(place, low).data)
        return n * width
    description = npy.header_data_from_array_1_0(array)
    npy.write_array_header_1_0(member, description)
    numbers = np.ascontiguousarray(array.T if description["fortran_order"] else array).reshape(-1).view(np.uint8)
    for low in range(0, len(numbers), CHUNK_BYTES):
        member.write(numbers[low : low + CHUNK_BYTES].data)
    return len(numbers)


# -- reading -----------------------------------------------------------------------------------------------------------
class ArchiveArrays(Mapping[str, np.ndarray]):
    """The arrays of an archive by name, each read again when it is asked for.

    Parameters
    ----------
    file : binary file
        Ends with the archive.
    size : int
        Bytes of the archive.

    Attributes
    ----------
    allowance : Allowance
        What is left beside the arrays.

    Raises
    ------
    ValueError
        If a name occurs twice, or the arrays are packed in an unknown way or would unpack to far more than the archive.
    zipfile.BadZipFile
        If it is no archive.
    """

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._archive = zipfile.ZipFile(file)
        members = self._archive.infolist()
        if any(member.compress_type not in PACKED or member.flag_bits & ENCRYPTED for member in members):
            raise ValueError("its arrays are packed in an unknown way.")
        self.allowance = Allowance(size)
        self.allowance.take(sum(member.file_size for member in members))
        self._members = {member.filename.removesuffix(SUFFIX): member for member in members}
        if len(self._members) != len(members):
            raise ValueError("it holds two arrays of the same name.")
        self._kinds: dict[str, tuple[np.dtype, tuple[int, ...]]] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def kind(self, name: str) -> tuple[np.dtype, tuple[int, ...]]:
        """Return dtype and shape of an array, which is not read."""
        if name not in self._kinds:
            with self._archive.open(self._members[name]) as file:
                self._kinds[name] = self._header(name, file)[:2]
        return self._kinds[name]

    def __getitem__(self, name: str) -> np.ndarray:
        with self._archive.open(self._members[name]) as file:
            dtype, shape, columns_first = self._header(name, file)
            array = np.empty(shape, dtype=dtype)
            if columns_first and array.ndim == 2 and dtype == np.uint8 and shape[1] <= FEW_PLANES:
                for plane in array.T:  # into its place, without a copy of all
                    self._fill(name, file, plane)
            elif columns_first:
                flat = np.empty(math.prod(shape), dtype=dtype)
                self._fill(name, file, flat.view(np.uint8))
                array[...] = flat.reshape(shape[::-1]).T
            else:
                self._fill(name, file, array.reshape(-1).view(np.uint8))
            file.read(1)  # there its checksum is compared
        return array

    def _fill(self, name: str, file: IO[bytes], rest: np.ndarray) -> None:
        """Read the next bytes of an array."""
        while len(rest):
            chunk = file.read(min(CHUNK_BYTES, len(rest)))
            if not chunk:
                raise ValueError(f"its array {name!r} is cut short.")
            rest[: len(chunk)] = np.frombuffer(chunk, dtype=np.uint8)
            rest = rest[len(chunk) :]

    def _header(self, name: str, file: IO[bytes]) -> tuple[np.dtype, tuple[int, ...], bool]:
        """Return dtype, shape, and whether columns stand one after another; raises where the archive holds more or
        less.
        """
        written = b""
        if file.read(len(ARRAY_MAGIC)) == ARRAY_MAGIC:
            written = file.read(int.from_bytes(file.read(2), "little"))
        found = ARRAY_HEADER.fullmatch(written)
        if found is None:
            raise ValueError(f"its array {name!r} is written in an unknown way.")
        dtype, shape = np.dtype(found[1].decode()), tuple(int(size) for size in found.groups()[2:] if size)
        if math.prod(shape) * dtype.itemsize != self._members[name].file_size - file.tell():
            raise ValueError(f"its array {name!r} is not as large as its shape says.")
        return dtype, shape, found[2] == b"True"


def most(size: int) -> int:
    """Return bytes that an archive of so many may ask for."""
    return ALLOWED_BYTES + ALLOWED_TIMES * size
