"""Vectors in 16 bits an entry, whole multiples of one unit: a quarter of the memory, and sums that are exact."""

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
    """Vectors whose entries are whole multiples of a power of two, the same for all wherever 16 bits suffice.

    Sums of such vectors are sums of whole numbers: exact, in any order. ``numpy.asarray`` gives the values, the same in
    float64 and in float32.

    Parameters
    ----------
    mantissa : ndarray of shape (n, D), int16
    exponent : ndarray of shape (n,), int16
        Vector i is ``mantissa[i] * 2.0 ** exponent[i]``.

    Examples
    --------
    >>> import numpy as np
    >>> rounded = RoundedVectors.of(np.array([[1.0, -0.1], [0.0, 0.0]]), -10)
    >>> np.asarray(rounded)
    array([[ 1.        , -0.09960938],
           [ 0.        ,  0.        ]])
    >>> rounded.unit == 2**-10
    True
    """

    mantissa: npt.NDArray[np.int16]
    exponent: npt.NDArray[np.int16]

    @classmethod
    def of(cls, vectors: FloatArray, exponent: int) -> RoundedVectors:
        """The nearest multiples of 2^exponent, or of what 16 bits tell apart where a vector is too long for that.

        Entries beyond 2^115 are cut.
        """
        most, largest = 2**BITS - 1, np.abs(vectors).max(axis=1, initial=0.0)
        share, above = np.frexp(largest / most)  # of the power of two above it, or at it
        needed = np.where(largest > 0, above - (share == 0.5), exponent)
        exponents = np.clip(np.maximum(needed, exponent), *EXPONENTS)
        steps = np.rint(vectors * np.ldexp(1.0, -exponents)[:, None])
        return cls(np.clip(steps, -most, most).astype(np.int16), exponents.astype(np.int16))

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
    def unit(self) -> float | None:
        """The power of two of which all entries are whole multiples; None where vectors have different ones."""
        first = self.exponent[:1].tolist()
        return float(np.ldexp(1.0, first[0])) if first and np.all(self.exponent == first[0]) else None

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
