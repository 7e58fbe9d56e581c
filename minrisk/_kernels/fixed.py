"""Fixed-point numbers: integer sums are exact, so they do not depend on blocks, threads or machines."""

import math

import numpy as np

from minrisk._kernels._jit import kernel


@kernel
def fixed_factors(top, bits):
    """Powers of two that bring values up to `top` just below 2**bits; 0 where top is 0 (or denormal)."""
    factor = np.zeros(top.shape[0])
    for k in range(top.shape[0]):
        if top[k] > 1e-290:
            factor[k] = math.ldexp(1.0, min(bits - math.frexp(top[k])[1], 1000))
    return factor


@kernel
def fix_columns(values, in_bag, factor, start, stop, fixed, first):
    """fixed[i, first + k] = rint(values[i, k] * factor[k]) for rows in the bag, else 0; returns the column sums."""
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
def fix_vector(values, in_bag, factor, start, stop, fixed):
    """fixed[i] = rint(values[i] * factor) for rows in the bag, else 0; returns the sum of |fixed|."""
    total = np.int64(0)
    for i in range(start, stop):
        value = np.int64(0)
        if in_bag[i]:
            value = np.int64(np.rint(values[i] * factor))
        fixed[i] = value
        total += abs(value)
    return total


@kernel
def column_sums(values, in_bag, factor, start, stop):
    """Sum over rows of rint(values * factor), per column, over the rows in the bag."""
    n_columns = values.shape[1]
    total = np.zeros(n_columns, dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            for k in range(n_columns):
                total[k] += np.int64(np.rint(values[i, k] * factor[k]))
    return total


@kernel
def response_sums(values, response, in_bag, factor, start, stop):
    """Sum over rows of response * rint(values * factor), per column, over the rows in the bag."""
    n_columns = values.shape[1]
    total = np.zeros(n_columns, dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            f = np.int64(response[i])
            for k in range(n_columns):
                total[k] += f * np.int64(np.rint(values[i, k] * factor[k]))
    return total
