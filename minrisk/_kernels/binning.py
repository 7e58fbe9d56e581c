"""Values to bins: the bin of x is the number of thresholds below x, so that x > threshold[b] exactly when bin > b."""

import numpy as np

from minrisk._kernels._dtypes import MAX_BINS
from minrisk._kernels._jit import kernel
from minrisk._typing import FloatArray


def padded_thresholds(thresholds: FloatArray) -> FloatArray:
    """Ascending thresholds, and infinity above them, as many in all as there are bins at most."""
    padded = np.full(MAX_BINS, np.inf)
    padded[: len(thresholds)] = thresholds
    return padded


@kernel
def bin_column(values, padded, out):
    """out[i] = number of thresholds < values[i]; NaN is below all, hence bin 0. `padded`: see `padded_thresholds`.

    A binary search of eight steps for every value, written out: without branches, in which a processor that cannot
    guess the half that comes next would wait, it takes an eighth of the time.
    """
    for i in range(values.shape[0]):
        x = values[i]
        low = np.int64(0)
        low += np.int64(padded[127] < x) * 128
        low += np.int64(padded[low + 63] < x) * 64
        low += np.int64(padded[low + 31] < x) * 32
        low += np.int64(padded[low + 15] < x) * 16
        low += np.int64(padded[low + 7] < x) * 8
        low += np.int64(padded[low + 3] < x) * 4
        low += np.int64(padded[low + 1] < x) * 2
        low += np.int64(padded[low] < x)
        out[i] = low
