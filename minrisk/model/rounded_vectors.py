"""Short numbers: vectors in 16 bits an entry, whose sums are exact, and floats of eight binary digits."""

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

    mantissa: npt.NDArray[np.int16]  # (n, D)
    exponent: npt.NDArray[np.int16]  # (n,): vector i is ``mantissa[i] * 2.0 ** exponent[i]``

    @classmethod
    def of(cls, vectors: FloatArray, exponent: int) -> RoundedVectors:
        """Return the nearest multiples of 2^exponent, or of what 16 bits tell apart if a vector is too long.

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
        """Join the parts, one after another."""
        mantissas, exponents = [part.mantissa for part in parts], [part.exponent for part in parts]
        return cls(np.concatenate(mantissas), np.concatenate(exponents))

    def __len__(self) -> int:
        return len(self.exponent)

    def __getitem__(self, part: Any) -> RoundedVectors:
        """Return some of the vectors."""
        return RoundedVectors(self.mantissa[part], self.exponent[part])

    @property
    def unit(self) -> float | None:
        """Return the power of two of which all entries are whole multiples; None where vectors have different ones."""
        first = self.exponent[:1].tolist()
        return float(np.ldexp(1.0, first[0])) if first and np.all(self.exponent == first[0]) else None

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the vectors' values."""
        return self.mantissa.shape

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("The values of rounded vectors are made anew: leave out copy=False.")
        values = np.empty(self.shape, dtype=np.float64 if dtype is None else dtype)
        for low in range(0, len(self), BLOCK_VECTORS):
            part = slice(low, low + BLOCK_VECTORS)
            values[part] = self.mantissa[part] * np.ldexp(1.0, self.exponent[part].astype(np.int32))[:, None]
        return values


LEADING_BITS = np.uint32(0xFFFF0000)  # sign, exponent and seven digits behind the first, as in bfloat16
LARGEST = np.array([0x7F7F0000], dtype=np.uint32).view(np.float32)[0]


def shortened(numbers: np.ndarray) -> np.ndarray:
    """Return the nearest such numbers as float32, the even one of two; beyond the largest one that.

    Rounding moves a number by at most a 256th of it, where it is at least 2^-126.

    Parameters
    ----------
    numbers : ndarray, float32 or float64
        No NaN.

    Returns
    -------
    shortened : ndarray, float32
        Equal to what they were, where they were such numbers.

    References
    ----------
    Wang and Kanwar, BFloat16: The secret to high performance on Cloud TPUs, Google Cloud blog, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> shortened(np.array([0.0, 1.0, 0.3, 1000.5])).tolist()
    [0.0, 1.0, 0.30078125, 1000.0]
    """
    bits = np.clip(numbers, -LARGEST, LARGEST).astype(np.float32).view(np.uint32)
    bits += np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    bits &= LEADING_BITS
    return np.asarray(np.clip(bits.view(np.float32), -LARGEST, LARGEST))
