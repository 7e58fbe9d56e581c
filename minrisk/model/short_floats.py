"""Numbers of which only the first eight binary digits are kept: half of a float32."""

from __future__ import annotations

import numpy as np

LEADING_BITS = np.uint32(0xFFFF0000)  # sign, exponent and seven digits behind the first, as in bfloat16
LARGEST = np.array([0x7F7F0000], dtype=np.uint32).view(np.float32)[0]


def shortened(numbers: np.ndarray) -> np.ndarray:
    """The nearest such numbers as float32, the even one of two; beyond the largest one that.

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
