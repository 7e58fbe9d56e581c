"""Fixed-point numbers: integer sums are exact, so they do not depend on blocks, threads or machines."""

import math

import numpy as np

from minrisk._kernels._jit import kernel, part


@kernel
def fixed_factors(top, bits):
    """Return powers of two that bring values up to `top` just below 2**bits; 0 where top is 0 (or denormal)."""
    factor = np.zeros(top.shape[0])
    for k in range(top.shape[0]):
        if top[k] > 1e-290:
            # Cut, as that of the smallest values would be beyond float64.
            factor[k] = math.ldexp(1.0, min(bits - math.frexp(top[k])[1], 1000))
    return factor


@kernel
def largest_sizes(values):
    """Find the largest size of the numbers (m, S) of each column; a NaN is the largest."""
    top = np.zeros(values.shape[1])
    for i in range(values.shape[0]):
        for k in range(values.shape[1]):
            size = abs(values[i, k])
            if size > top[k] or size != size:
                top[k] = size
    return top


@kernel
def add_two_parts(values, factor, bits, sums):
    """Add to sums (2, S) values (m, S) times factor as whole numbers, and what that rounding takes, times 2**bits."""
    scale = math.ldexp(1.0, bits)
    for i in range(values.shape[0]):
        for k in range(values.shape[1]):
            scaled = values[i, k] * factor[k]
            whole = np.rint(scaled)
            sums[0, k] += np.int64(whole)
            sums[1, k] += np.int64(np.rint((scaled - whole) * scale))


@kernel
def fix_columns(values, in_bag, factor, fixed, first, start, stop):
    """Fill fixed[i, first + k] with rint(values[i, k] * factor[k]) for the bag's rows, else 0; returns the sums."""
    n_columns = values.shape[1]
    total = np.zeros(n_columns, dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            for k in range(n_columns):
                value = np.rint(values[i, k] * factor[k])
                fixed[i, first + k] = value
                total[k] += np.int64(value)
        else:
            for k in range(n_columns):
                fixed[i, first + k] = 0
    return total


@kernel
def fix_vector(values, in_bag, factor, fixed, start, stop):
    """Compute fixed[i] = rint(values[i] * factor) for rows in the bag, else 0; returns the sum of |fixed|."""
    total = np.int64(0)
    for i in range(start, stop):
        value = np.int64(0)
        if in_bag[i]:
            value = np.int64(np.rint(values[i] * factor))
        fixed[i] = value
        total += abs(value)
    return total


@kernel
def column_sums(values, in_bag, top, bits, start, stop):
    """Sum over the bag's rows of rint(values * factor), per column, for values up to `top`; see `fixed_factors`."""
    n_columns = values.shape[1]
    factor = fixed_factors(top, bits)
    total = np.zeros(n_columns, dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            for k in range(n_columns):
                total[k] += np.int64(np.rint(values[i, k] * factor[k]))
    return total


@kernel
def class_sums(value, label, in_bag, factor, start, stop):
    """Return the sum of rint(value * factor) over the bag's rows of each class, (D,)."""
    sums = np.zeros(factor.shape[0], dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            sums[label[i]] += np.int64(np.rint(value[i] * factor[label[i]]))
    return sums


@kernel
def unfixed(total, top, bits):
    """Return sums of fixed-point numbers as numbers; 0 where `top` is."""
    factor = fixed_factors(top, bits)
    out = np.zeros(total.shape[0])
    for k in range(total.shape[0]):
        if factor[k] > 0.0:
            out[k] = total[k] / factor[k]
    return out


@kernel
def add_leaf(values, factor, order, start, end, out):
    """Fill out with sums over rows order[start:end] per column, values rounded to 1 / factor (a factor of 0: none).

    The sums are of whole numbers, exact in float64 and vectorised.
    """
    n_columns = values.shape[1]
    for k in range(n_columns):
        out[k] = 0.0
    for i in range(start, end):
        row = order[i]
        for k in range(n_columns):
            out[k] += np.rint(values[row, k] * factor[k])
    for k in range(n_columns):
        if factor[k] > 0.0:
            out[k] /= factor[k]


@kernel
def leaf_column_sums(
    gradient, hessian, top_gradient, top_hessian, bits, order, start, end, gradient_sums, hessian_sums
):
    """Sum gradient and Hessian over the rows of each leaf, (L, D) each; see `add_leaf`."""
    gradient_factor, hessian_factor = fixed_factors(top_gradient, bits), fixed_factors(top_hessian, bits)
    for leaf in range(start.shape[0]):
        add_leaf(gradient, gradient_factor, order, start[leaf], end[leaf], gradient_sums[leaf])
        add_leaf(hessian, hessian_factor, order, start[leaf], end[leaf], hessian_sums[leaf])


@part
def project_row(gradient, hessian, directions, weight, out):
    """Compute out = (gradient @ directions, hessian @ weight) of one row; `directions` is (q, D)."""
    q, n_outputs = directions.shape
    h = 0.0
    for c in range(q):
        g = 0.0
        if c == 0:
            for k in range(n_outputs):
                g += gradient[k] * directions[0, k]
                h += hessian[k] * weight[k]
        else:
            for k in range(n_outputs):
                g += gradient[k] * directions[c, k]
        out[c] = g
    out[q] = h


@kernel
def project(gradient, hessian, directions, weight, out, start, stop):
    """Compute out[i] = (gradient @ directions, hessian @ weight) per row; returns the column maxima of its sizes.

    `directions` is (q, D).
    """
    q = directions.shape[0]
    top = np.zeros(q + 1)
    for i in range(start, stop):
        project_row(gradient[i], hessian[i], directions, weight, out[i])
        for c in range(q):
            top[c] = max(top[c], abs(out[i, c]))
        top[q] = max(top[q], out[i, q])
    return top


@kernel
def fix_sketch(values, top, bits, count_bits, out, start, stop):
    """Fill fixed-point columns of a sketch with values up to `top`; returns what a unit of each is worth.

    The Hessian, of `count_bits` fewer bits, is shifted beside a count of 1; with 0 of these the count has a column of
    its own. No gradient where the Hessian rounds to 0.
    """
    q = values.shape[1] - 1
    factor = fixed_factors(top, bits)
    factor[q] = fixed_factors(top[q:], bits - count_bits)[0]
    for i in range(start, stop):
        hessian = np.int64(np.rint(values[i, q] * factor[q]))
        for c in range(q):  # a gradient without its Hessian would make a split gain its square over next to nothing
            out[i, c] = np.int64(np.rint(values[i, c] * factor[c])) if hessian > 0 else 0
        if count_bits > 0:
            out[i, q] = (hessian << count_bits) | 1
        else:
            out[i, q], out[i, q + 1] = hessian, 1
    unit = np.ones(out.shape[1])
    for c in range(q + 1):
        unit[c] = 1.0 / factor[c] if factor[c] > 0.0 else 0.0
    return unit


@kernel
def response_sums(values, response, in_bag, factor, start, stop):
    """Return the sum over rows of response * rint(values * factor), per column, over the rows in the bag."""
    n_columns = values.shape[1]
    total = np.zeros(n_columns, dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            f = np.int64(response[i])
            for k in range(n_columns):
                total[k] += f * np.int64(np.rint(values[i, k] * factor[k]))
    return total
