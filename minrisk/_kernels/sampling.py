"""Minimal variance sampling of rows (Ibragimov and Gusev, "Minimal Variance Sampling in Stochastic Gradient Boosting",
NeurIPS 2019): a few rows whose weighted sums stand for everybody's.

Whether a row is drawn depends on its size, on two numbers that follow from a histogram of all sizes, and on a hash of
its number and the seed: on nothing else, so that rows may lie anywhere.
"""

import numpy as np

from minrisk._kernels._jit import kernel, part
from minrisk._kernels.fixed import project_row
from minrisk._kernels.grow import mix

LEAST_SIZE = 1e-3  # of the mean size, added to each row's: every row may be drawn
SIZE_BINS = 2048  # of sizes: 64 in an octave, so 32 octaves below the largest; smaller sizes are in the lowest bin
SIZE_SHIFT = 46  # bits of a float64 below its exponent and the six highest of its mantissa, which are 64 in an octave
DRAW_SALT = np.uint64(0x5851F42D4C957F2D)  # so that features and directions of the same seed are drawn by other numbers


@kernel
def count_sizes(gradient, directions, in_bag, lowest, factor, size, start, stop):
    """Fill size[i]: the length of a row's gradient in the sketch; returns a histogram of the bag's sizes, (2, bins).

    Its lines are how many rows are in each bin, and the sum of rint(size * factor) over them. The lowest bin has
    the sizes whose highest bits (see `SIZE_SHIFT`) are up to `lowest`, the next bin those whose bits are one more.
    """
    q, n_outputs = directions.shape
    found, last = np.zeros((2, SIZE_BINS), dtype=np.int64), SIZE_BINS - 1
    for i in range(start, stop):
        square = 0.0
        for c in range(0, q - 1, 2):
            g, h = 0.0, 0.0
            for k in range(n_outputs):
                g += gradient[i, k] * directions[c, k]
                h += gradient[i, k] * directions[c + 1, k]
            square += g * g + h * h
        if q % 2 == 1:
            g = 0.0
            for k in range(n_outputs):
                g += gradient[i, k] * directions[q - 1, k]
            square += g * g
        size[i] = np.sqrt(square)
    bits = size.view(np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            b = min(max((bits[i] >> SIZE_SHIFT) - lowest, 0), last)
            found[0, b] += 1
            found[1, b] += np.int64(np.rint(size[i] * factor))
    return found


@kernel
def size_level(found, factor, n_least, n_most):
    """Find the floor added to sizes, and the level at which sum_i min(1, (size_i + floor) / level) rows are drawn.

    These are (sum s)^2 / sum s^2, as many as would weigh as much if all were of one size, `n_most` at most and
    `n_least` at least, which is below the number of rows. `found` is the histogram of `count_sizes`, of all pieces.
    Within a bin rows are taken to be of its mean size, which matters in the bin that has the level in it alone.
    """
    n, total = np.int64(0), np.int64(0)
    for b in range(found.shape[1]):
        n += found[0, b]
        total += found[1, b]
    squares, floor, unit = 0.0, 1.0, 1.0  # where all gradients are 0, rows are drawn alike
    if total > 0:
        for b in range(found.shape[1]):
            if found[0, b] > 0:
                squares += np.float64(found[1, b]) * (np.float64(found[1, b]) / found[0, b])
        floor, unit = LEAST_SIZE * total / n, 1.0 / factor
    effective = np.int64(np.float64(total) * (total / squares)) if squares > 0.0 else np.int64(0)
    wanted = max(n_least, min(effective, n_most))
    left, sure = total, np.int64(0)  # sizes of rows that are not sure to be drawn, and how many are
    level = (left + floor * n) / wanted
    for b in range(found.shape[1] - 1, -1, -1):
        count = found[0, b]
        if count == 0:
            continue
        if found[1, b] + floor * count <= level * count or sure + count >= wanted:
            break
        sure += count  # their sizes are above the level, so that without them it falls for the others
        left -= found[1, b]
        level = (left + floor * (n - sure)) / (wanted - sure)
    return floor * unit, level * unit


@part
def uniform(state, number):
    """Return a random number in [0, 1) of a row's number: that of its place in the sequence of splitmix64."""
    return np.float64(mix(state + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(11)) * 2.0**-53


@kernel
def draw_rows(size, in_bag, floor, level, seed, begins, number, start, stop, drawn):
    """Draw row i of the bag where a random number of its own is below (size[i] + floor) / level; returns how many.

    They are written to `drawn` from `start` on, ascending. Row begins[k] has the number number[k], and those after it
    the next ones, up to row begins[k + 1].
    """
    state, m = mix(np.uint64(seed) ^ DRAW_SALT), start
    for k in range(begins.shape[0]):
        first, last = max(start, begins[k]), stop if k + 1 == begins.shape[0] else min(stop, begins[k + 1])
        for i in range(first, last):  # without branches on the data
            drawn[m] = i
            m += np.int64(in_bag[i] and uniform(state, number[k] + i - begins[k]) * level < size[i] + floor)
    return m - start


@kernel
def project_drawn(gradient, hessian, directions, weight, size, floor, level, drawn, start, stop, sketch):
    """Fill the sketch of the drawn rows start..stop, each over the probability with which it came.

    Sums are then those of all rows, in expectation. See `minrisk._kernels.fixed.project` for the sketch.
    """
    for j in range(start, stop):
        i = drawn[j]
        share = min(1.0, (size[i] + floor) / level)
        project_row(gradient[i], hessian[i], directions, weight, sketch[j])
        for c in range(sketch.shape[1]):
            sketch[j, c] /= share


@kernel
def pack_rows(X_binned, features, rows, out):
    """Compute out[f] = bins of the rows in each of these features."""
    for f in features:
        for i in range(rows.shape[0]):
            out[f, i] = X_binned[f, rows[i]]


@kernel
def order_by_leaf(rows, leaf, order, start, end):
    """Compute order = the rows, those of a leaf side by side in their old order; start and end of each leaf in it."""
    end[:] = 0
    for i in range(rows.shape[0]):
        end[leaf[rows[i]]] += 1
    reached = 0
    for number in range(end.shape[0]):
        start[number] = reached
        reached += end[number]
        end[number] = start[number]
    for i in range(rows.shape[0]):
        number = leaf[rows[i]]
        order[end[number]] = rows[i]
        end[number] += 1
