"""Values to bins: the bin of x is the number of thresholds below x, so that x > threshold[b] exactly when bin > b."""

from minrisk._kernels._jit import kernel


@kernel
def bin_column(values, thresholds, out):
    """out[i] = number of thresholds < values[i]; NaN is below all, hence bin 0. `thresholds` ascend."""
    n = thresholds.shape[0]
    for i in range(values.shape[0]):
        x = values[i]
        low = 0
        size = n
        while size > 0:
            half = size >> 1
            if thresholds[low + half] < x:
                low += half + 1
                size -= half + 1
            else:
                size = half
        out[i] = low
