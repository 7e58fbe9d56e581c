"""Vectors in 16 bits an entry: a quarter of the memory, and the same decisions but for ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from minrisk._typing import FloatArray

BITS = 15  # of an entry, beside its sign
EXPONENTS = (-140, 100)  # between which all values are exact in float32 too
BLOCK_VECTORS = 1 << 12  # vectors whose values are made at a time, so that they take little memory


@dataclass(frozen=True)
class RoundedVectors:
    """Vectors whose entries are whole multiples of a power of two, which each vector has of its own.

    Rounding moves an entry by at most a 32 767th of the vector's largest one. ``numpy.asarray`` gives the values, the
    same in float64 and in float32.

    Parameters
    ----------
    mantissa : ndarray of shape (n, D), int16
    exponent : ndarray of shape (n,), int16
        Vector i is ``mantissa[i] * 2.0 ** exponent[i]``.

    Examples
    --------
    >>> import numpy as np
    >>> rounded = RoundedVectors.of(np.array([[1.0, -0.1], [0.0, 0.0]]))
    >>> np.asarray(rounded)
    array([[ 1.        , -0.09997559],
           [ 0.        ,  0.        ]])
    """

    mantissa: npt.NDArray[np.int16]
    exponent: npt.NDArray[np.int16]

    @classmethod
    def of(cls, vectors: FloatArray) -> RoundedVectors:
        """The nearest ones; entries beyond 2^115 are cut."""
        most, largest = 2**BITS - 1, np.abs(vectors).max(axis=1, initial=0.0)
        share, above = np.frexp(largest / most)  # of the power of two above it, or at it
        exponent = np.where(largest > 0, np.clip(above - (share == 0.5), *EXPONENTS), 0)
        steps = np.rint(vectors * np.ldexp(1.0, -exponent)[:, None])
        return cls(np.clip(steps, -most, most).astype(np.int16), exponent.astype(np.int16))

    @classmethod
    def joined(cls, parts: Sequence[RoundedVectors]) -> RoundedVectors:
        """One part after another."""
        mantissas, exponents = [part.mantissa for part in parts], [part.exponent for part in parts]
        return cls(np.concatenate(mantissas), np.concatenate(exponents))

    def __len__(self) -> int:
        return len(self.exponent)

    def __getitem__(self, part: Any) -> RoundedVectors:
        """Some of the vectors."""
        return RoundedVectors(self.mantissa[part], self.exponent[part])

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the vectors' values."""
        return self.mantissa.shape

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("The values of rounded vectors are made anew: leave out copy=False.")
        values = np.empty(self.shape, dtype=np.float64 if dtype is None else dtype)
        for low in range(0, len(self), BLOCK_VECTORS):
            part = slice(low, low + BLOCK_VECTORS)
            values[part] = self.mantissa[part] * np.ldexp(1.0, self.exponent[part].astype(np.int32))[:, None]
        return values
