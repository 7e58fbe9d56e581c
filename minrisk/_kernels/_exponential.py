"""An exponential and logarithms that are inlined and vectorised."""

import numpy as np

from minrisk._kernels._dtypes import ROUNDER, ROUNDER_BITS
from minrisk._kernels._jit import kernel

LOWEST_EXPONENT = -700.0  # e^x is 0 for x below: it would soon have fewer bits than other numbers
HIGHEST_EXPONENT = 600.0  # x above is cut to it, so that sums of weights stay finite whatever the scores
LOG2_E = 1.4426950408889634  # 1 / ln 2
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # their sum is ln 2; n * LN2_HIGH is exact
EXPONENT_BIAS = ROUNDER_BITS - 1023  # taken off the bits of n + ROUNDER, it leaves the exponent field of 2^n
EXPONENTIAL_ROWS = 64  # rows whose exponentials losses take in one loop, at most;
EXPONENTIAL_SCORES = 4096  # or fewer, of so many scores: these stay within the fastest cache, with what is made of them


@kernel
def exponential(x):
    """Compute e^x within 3 ulp. Unlike math.exp it is inlined and vectorised, and the same on every platform."""
    inside = min(max(x, LOWEST_EXPONENT), HIGHEST_EXPONENT)
    shifted = inside * LOG2_E + ROUNDER
    n = shifted - ROUNDER
    r = (inside - n * LN2_HIGH) - n * LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6.0))
    middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0))
    high = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + r2 * (1.0 / 3628800.0 + r * (1.0 / 39916800.0))
    power = np.int64((np.float64(shifted).view(np.int64) - EXPONENT_BIAS) << 52).view(np.float64)  # 2^n
    y = (low + r4 * (middle + r4 * (high + r4 * (1.0 / 479001600.0)))) * power
    return y if x >= LOWEST_EXPONENT else 0.0


@kernel
def rows_at_once(n_outputs):
    """Return rows whose exponentials are taken in one loop."""
    return min(EXPONENTIAL_ROWS, max(1, EXPONENTIAL_SCORES // n_outputs))


SHIFT = np.uint64(52)  # bits below the exponent of a float64
UNSIGNED_ONE = np.uint64(1023 << 52)  # the bits of 1.0
ABOVE = np.uint64((1023 << 52) - int(np.float64(0.5**0.5).view(np.int64)))  # mantissas from sqrt(1/2)
UNSIGNED_TWO_52 = np.uint64(0x4330000000000000)  # the bits of 2**52: a whole number added to them is added to 2**52


@kernel
def logarithm(x):
    """Compute ln x of a positive, normal number within 1 ulp (fdlibm's polynomial)."""
    bits = np.float64(x).view(np.uint64)
    n = (bits + ABOVE) >> SHIFT
    k = np.uint64(n | UNSIGNED_TWO_52).view(np.float64) - (4503599627370496.0 + 1023.0)
    f = np.uint64(bits - (n << SHIFT) + UNSIGNED_ONE).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd = w * (0.3999999999940941908 + w * (0.2222219843214978396 + w * 0.1531383769920937332))
    even = z * (
        0.6666666666666735130 + w * (0.2857142874366239149 + w * (0.1818357216161805012 + w * 0.1479819860511658591))
    )
    half = 0.5 * f * f
    return k * LN2_HIGH - ((half - (s * (half + (odd + even)) + k * LN2_LOW)) - f)


@kernel
def exponentials(values, n):
    """Compute values[:n] = e^values[:n]: the loop that is vectorised."""
    for j in range(n):
        values[j] = exponential(values[j])


MANTISSA = (1 << 52) - 1  # the bits of a float64 below its exponent
SIGNED_ONE = 1023 << 52  # the bits of 1.0
SQRT2 = 1.4142135623730951  # above it a mantissa is halved: logarithms are taken near 1
TWO_52 = 4503599627370496.0  # 2^52: from here on float64 are whole, one after another
TWO_52_BITS = 1075 << 52  # its bits; with a small whole number in the low bits it is 2^52 plus that number


@kernel
def log1p(t):
    """Compute log(1 + t) for t >= 0 within a few ulp; unlike math.log1p it is inlined and vectorised."""
    x = 1.0 + t
    bits = np.float64(x).view(np.int64)
    m = np.int64((bits & MANTISSA) | SIGNED_ONE).view(np.float64)
    high = m > SQRT2
    m = 0.5 * m if high else m
    e = np.int64((bits >> 52) | TWO_52_BITS).view(np.float64) - (TWO_52 + 1023.0) + (1.0 if high else 0.0)
    s = (m - 1.0) / (m + 1.0)
    s2 = s * s
    series = 1.0 / 15.0 + s2 * (1.0 / 17.0 + s2 * (1.0 / 19.0 + s2 * (1.0 / 21.0)))
    series = 1.0 / 7.0 + s2 * (1.0 / 9.0 + s2 * (1.0 / 11.0 + s2 * (1.0 / 13.0 + s2 * series)))
    series = 1.0 + s2 * (1.0 / 3.0 + s2 * (1.0 / 5.0 + s2 * series))
    lost = (t - (x - 1.0)) / x  # what 1 + t rounded away; of a large t, nothing that counts
    return e * LN2_HIGH + (2.0 * s * series + (e * LN2_LOW + (lost if x < 4.0 else 0.0)))
