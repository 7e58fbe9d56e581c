"""The best threshold of each feature from its histogram. Near ties (`TIE`) go to the lowest bin.

A split after bin b sends bins 0..b to f = -1 and the rest to f = +1, so E = total - 2 * (sum over bins 0..b).
"""

import numpy as np

from minrisk._kernels._dtypes import TIE
from minrisk._kernels._jit import kernel, part

EXPONENTIAL_GAIN = 0  # drop = T - sqrt(T^2 - E^2), exact for the separable exponential
QUADRATIC_GAIN = 1  # drop = E^2 / (2 M), exact for the squared loss, the Newton decrement else
SIDES_GAIN = 2  # exponential with a vector for either side: the sum over sides of T - sqrt(T^2 - E^2)
LARGEST_EDGE_GAIN = 3  # drop = max_k |E_k|: the most violated constraint of a dual
ABSOLUTE_EDGE_GAIN = 4  # drop = sum_k |E_k|: the slope along the best vector of -1 and +1


@kernel
def scan_edges(histogram, features, n_bins, total, ratio, mass, gain, best_drop, best_bin):
    """Best split of each feature for a free vector.

    ratio[k] turns a fixed-point edge into E_k / mass_k; the drop of output k is mass_k * r^2 / (1 + sqrt(1 - r^2))
    (no cancellation for small r) or mass_k * r^2 / 2. Features with a single bin keep best_bin = -1.
    """
    n_outputs = histogram.shape[2]
    left = np.empty(n_outputs, dtype=np.int64)
    for c in range(features.shape[0]):
        best = 0.0
        where = -1
        for k in range(n_outputs):
            left[k] = 0
        for b in range(n_bins[features[c]] - 1):
            drop = 0.0
            for k in range(n_outputs):
                left[k] += histogram[c, b, k]
                r = (total[k] - 2 * left[k]) * ratio[k]
                r2 = r * r
                if gain == EXPONENTIAL_GAIN:
                    drop += mass[k] * r2 / (1.0 + np.sqrt(max(1.0 - r2, 0.0)))
                else:
                    drop += 0.5 * mass[k] * r2
            if drop > best * (1.0 + TIE):
                best = drop
                where = b
        best_drop[c] = best
        best_bin[c] = where


@kernel
def scan_absolute(histogram, features, n_bins, total, scale, best_drop, best_bin):
    """Best split of each feature for ABSOLUTE_EDGE_GAIN: |E_k| is the fixed-point edge times scale[k]."""
    n_outputs = histogram.shape[2]
    edge = np.empty(n_outputs, dtype=np.int64)
    for c in range(features.shape[0]):
        best, where = 0.0, -1
        for k in range(n_outputs):
            edge[k] = total[k]
        for b in range(n_bins[features[c]] - 1):
            drop = 0.0
            for k in range(n_outputs):
                edge[k] -= 2 * histogram[c, b, k]
                drop += abs(edge[k]) * scale[k]
            if drop > best * (1.0 + TIE):
                best, where = drop, b
        best_drop[c] = best
        best_bin[c] = where


@kernel
def scan_largest(histogram, features, n_bins, total, scale, barred, best_drop, best_bin):
    """Best split of each feature for LARGEST_EDGE_GAIN: |E_k| is the fixed-point edge times scale[k].

    First the largest of each output over the bins, in whole numbers; then the bin, of features that are not behind an
    earlier one (those that are, or have a single bin, keep best_bin = -1). Splits whose entry of barred (d, MAX_BINS)
    is set are passed over; without rows it bars none.
    """
    n_outputs = histogram.shape[2]
    edge = np.empty(n_outputs, dtype=np.int64)
    top = np.empty(n_outputs, dtype=np.int64)
    ahead = 0.0
    for c in range(features.shape[0]):
        last = n_bins[features[c]] - 1
        for k in range(n_outputs):
            edge[k] = total[k]
            top[k] = 0
        for b in range(last):
            for k in range(n_outputs):
                edge[k] -= 2 * histogram[c, b, k]
            if len(barred) and barred[features[c], b]:
                continue
            for k in range(n_outputs):
                top[k] = max(top[k], abs(edge[k]))
        best = 0.0
        for k in range(n_outputs):
            best = max(best, top[k] * scale[k])
        best_drop[c] = best
        best_bin[c] = -1
        if best == 0.0 or best < ahead * (1.0 - TIE):
            continue
        ahead = max(ahead, best)
        for k in range(n_outputs):
            edge[k] = total[k]
        for b in range(last):
            drop = 0.0
            for k in range(n_outputs):
                edge[k] -= 2 * histogram[c, b, k]
                drop = max(drop, abs(edge[k]) * scale[k])
            if drop >= best * (1.0 - TIE) and not (len(barred) and barred[features[c], b]):
                best_bin[c] = b
                break


@kernel
def side_bounds(X_binned, response):
    """Of each feature the highest bin of the rows on either side of the response, and minus the lowest, (d, 2, 2).

    -1 and -256 where there are none.
    """
    n_features, n_samples = X_binned.shape
    bounds = np.empty((n_features, 2, 2), dtype=np.int64)
    for j in range(n_features):
        high, low = np.full(2, -1), np.full(2, 256)
        for i in range(n_samples):
            side, b = int(response[i] > 0), X_binned[j, i]
            low[side] = min(low[side], b)
            high[side] = max(high[side], b)
        for side in range(2):
            bounds[j, side, 0], bounds[j, side, 1] = high[side], -low[side]
    return bounds


@kernel
def bar_between(bounds, barred):
    """Set the entries of barred (d, MAX_BINS) of splits that answer in all rows as the response of these bounds does.

    Or the opposite. The bounds are those of `side_bounds`.
    """
    for j in range(bounds.shape[0]):
        for side in range(2):
            high, other_high, other_low = bounds[j, side, 0], bounds[j, 1 - side, 0], -bounds[j, 1 - side, 1]
            if high >= 0 and high < other_low and other_high >= 0:
                barred[j, high:other_low] = True


@part
def side_drop(edge, mass):
    """T - sqrt(T^2 - E^2) without cancellation: what the best constant takes away on one side."""
    if mass <= 0.0:
        return 0.0
    return edge * edge / (mass + np.sqrt(max(mass * mass - edge * edge, 0.0)))


@kernel
def scan_sides(histogram, features, n_bins, total, scale, best_drop, best_bin):
    """Best split of each feature when either side has its own vector (exponential).

    Columns are D edges, then D masses; scale turns them into numbers. The drop is the sum over sides and outputs of
    T - sqrt(T^2 - E^2).
    """
    n_outputs = histogram.shape[2] // 2
    left = np.empty(2 * n_outputs, dtype=np.int64)
    for c in range(features.shape[0]):
        best = 0.0
        where = -1
        for k in range(2 * n_outputs):
            left[k] = 0
        for b in range(n_bins[features[c]] - 1):
            drop = 0.0
            for k in range(2 * n_outputs):
                left[k] += histogram[c, b, k]
            for k in range(n_outputs):
                m = n_outputs + k
                drop += side_drop(left[k] * scale[k], left[m] * scale[m])
                drop += side_drop((total[k] - left[k]) * scale[k], (total[m] - left[m]) * scale[m])
            if drop > best * (1.0 + TIE):
                best = drop
                where = b
        best_drop[c] = best
        best_bin[c] = where


@kernel
def scan_leaves(histogram, features, n_bins, total, margin, score, bin_, sign):
    """Best split of each leaf by each feature: the largest |total - 2 left| (a later bin must beat it by `margin`).

    score, bin_, sign (n_features, n_leaves): sign is f above the threshold. A feature with one bin keeps score -1.
    """
    n_leaves = histogram.shape[1]
    for c in range(features.shape[0]):
        for node in range(n_leaves):
            left = np.int64(0)
            score[c, node] = -1
            for b in range(n_bins[features[c]] - 1):
                left += histogram[c, node, b]
                value = total[node] - 2 * left
                if score[c, node] < 0 or abs(value) > score[c, node] + margin:
                    score[c, node] = abs(value)
                    bin_[c, node] = b
                    sign[c, node] = 1 if value >= 0 else -1
