"""Lines in one feature, combinations of features, and Gaussian kernels of all.

Weighted least squares on one feature at a time: targets of the rows, and their sums with every feature.

    Z (n_features, n_samples), |z| <= 1      push, pull (n,): u and rho of the rows, in units of a power of two

Rows ask for g(z) = a z + b of least sum rho (u / rho - g)^2. Products are rounded to whole numbers below 2**51 by
adding ROUNDER, which leaves them in the low bits: int64 sums, exact and vectorised.
"""

import math

import numpy as np

from minrisk._kernels._dtypes import FAR, ROUNDER, ROUNDER_BITS
from minrisk._kernels._jit import kernel, part

UNIFORM, SLOPE, CURVATURE = 0, 1, 2  # what a row weighs, as `DirectedRows.aim` says


@kernel
def aim(line, weight, in_bag, weighting, push, pull, start, stop):
    """Compute push = -slope, pull = rho (the row's weight, its |slope| or its curvature); 0 out of the bag.

    Returns the maxima of |push| and pull.
    """
    top = np.zeros(2)
    for i in range(start, stop):
        u, rho = 0.0, 0.0
        if in_bag[i]:
            u = -line[1, i]
            if weighting == UNIFORM:
                rho = weight[i]
            elif weighting == SLOPE:
                rho = abs(u)
            else:
                rho = max(line[2, i], 0.0)  # a loss that is not convex may bend the other way
        push[i, 0], pull[i, 0] = u, rho
        top[0], top[1] = max(top[0], abs(u)), max(top[1], rho)
    return top


@kernel
def linear_sums(Z, features, push, pull, push_factor, pull_factor, out, start, stop):
    """Compute out[c] += sums of rho z, rho z^2 and u z over rows start..stop, z = Z[features[c]], in fixed point."""
    count = np.int64(stop - start)
    u, rho = np.empty(stop - start), np.empty(stop - start)
    for i in range(start, stop):
        u[i - start], rho[i - start] = push[i, 0] * push_factor, pull[i, 0] * pull_factor
    for c in range(features.shape[0]):
        z = Z[features[c], start:stop]
        first, square, both = np.int64(0), np.int64(0), np.int64(0)
        for i in range(count):
            r = rho[i] * z[i]
            first += np.float64(r + ROUNDER).view(np.int64)
            square += np.float64(r * z[i] + ROUNDER).view(np.int64)
            both += np.float64(u[i] * z[i] + ROUNDER).view(np.int64)
        out[c, 0] += first - count * ROUNDER_BITS
        out[c, 1] += square - count * ROUNDER_BITS
        out[c, 2] += both - count * ROUNDER_BITS


@kernel
def stored_linear_sums(offsets, rows, z, features, push, pull, push_factor, pull_factor, first, last, out):
    """Compute out[c] = sums of rho, rho z, rho z^2, u z and u over the stored entries of features[c], c in first..last.

    The entries of feature j are those from offsets[j] to offsets[j + 1]; sums are in fixed point.
    """
    for c in range(first, last):
        begin, end = offsets[features[c]], offsets[features[c] + 1]
        weight, level, square, both, slope = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        for p in range(begin, end):
            rho, u = pull[rows[p], 0] * pull_factor, push[rows[p], 0] * push_factor
            r = rho * z[p]
            weight += np.float64(rho + ROUNDER).view(np.int64)
            level += np.float64(r + ROUNDER).view(np.int64)
            square += np.float64(r * z[p] + ROUNDER).view(np.int64)
            both += np.float64(u * z[p] + ROUNDER).view(np.int64)
            slope += np.float64(u + ROUNDER).view(np.int64)
        count = (end - begin) * ROUNDER_BITS
        out[c, 0], out[c, 1], out[c, 2] = weight - count, level - count, square - count
        out[c, 3], out[c, 4] = both - count, slope - count


@kernel
def line_sums(line, in_bag, factor, start, stop):
    """Return sums over the bag's rows of a line's value, slope and curvature, (3,), of PRODUCT_BITS at most."""
    sums = np.zeros(3, dtype=np.int64)
    for c in range(3):
        values, f, total = line[c], factor[c], np.int64(0)
        for i in range(start, stop):
            x = values[i] * f if in_bag[i] else 0.0
            total += np.float64(x + ROUNDER).view(np.int64)
        sums[c] = total - (stop - start) * ROUNDER_BITS
    return sums


@kernel
def change_along(x, slope, origin):
    """Return slope * (x - origin), cut to what sums of are finite; 0 where x is missing."""
    difference = x - origin
    if np.isnan(difference):
        return 0.0
    if np.isinf(difference):  # beyond float64, where half of it is not
        return min(max(2.0 * (slope * (x / 2.0 - origin / 2.0)), -FAR), FAR)
    return min(max(slope * difference, -FAR), FAR)


@kernel
def line_response(x, slope, origin, value, response, start, stop):
    """Compute response = value + slope * (x - origin) of rows start..stop, value where x, their feature, is missing."""
    for i in range(start, stop):
        response[i] = value
        if slope != 0.0:
            response[i] += change_along(x[i], slope, origin)


# -- Linear combinations of features -----------------------------------------------------------------------------------
@kernel
def project_rows(X, center, weights, out):
    """Compute out[i, c] = sum_j (X[i, j] - center[j]) * weights[j, c] for float32 `out`; missing values add nothing.

    One feature after another, so that a row's values depend neither on its place nor on the other rows.
    """
    n_features, n_columns = weights.shape
    sums = np.empty(n_columns)
    for i in range(out.shape[0]):
        for c in range(n_columns):
            sums[c] = 0.0
        for j in range(n_features):
            x = X[i, j] - center[j]
            if x == x:
                x = min(max(x, -FAR), FAR)
                for c in range(n_columns):
                    sums[c] += x * weights[j, c]
        for c in range(n_columns):
            out[i, c] = sums[c]


# -- Gaussian kernels --------------------------------------------------------------------------------------------------
@part
def near_landmarks(x, center, scale, landmarks, width, out):
    """Fill out[c] with exp(-width sum_j ((x[j] - center[j]) / scale[j] - landmarks[j, c])^2); NaN is the center.

    Features of scale 0 are left out. One feature after another, so that a row's values depend on nothing else.
    """
    d, m = landmarks.shape
    for c in range(m):
        out[c] = 0.0
    for j in range(d):
        if scale[j] == 0.0:
            continue
        z = (x[j] - center[j]) / scale[j]
        if z != z:
            z = 0.0
        for c in range(m):
            apart = z - landmarks[j, c]
            out[c] += apart * apart
    for c in range(m):
        out[c] = math.exp(-width * out[c])


@kernel
def kernel_matrix(X, center, scale, landmarks, width, out):
    """Return the kernels of every row, (n, m)."""
    for i in range(len(X)):
        near_landmarks(X[i], center, scale, landmarks, width, out[i])


@kernel
def add_smooth(X, center, scale, landmarks, width, vectors, scores):
    """Compute scores[i] += sum_c kernel of row i and landmark c times vectors[c]."""
    m, D = vectors.shape
    near = np.empty(m)
    for i in range(len(X)):
        near_landmarks(X[i], center, scale, landmarks, width, near)
        for c in range(m):
            for k in range(D):
                scores[i, k] += near[c] * vectors[c, k]


@kernel
def residuals(scores, intercept, label, weight, out):
    """Compute out[i, k] = weight[i] ((k == label[i]) - p_k), with p the softmax of intercept + scores[i]."""
    n, K = scores.shape
    for i in range(n):
        top = -np.inf
        for k in range(K):
            out[i, k] = scores[i, k] + intercept[k]
            top = max(top, out[i, k])
        total = 0.0
        for k in range(K):
            out[i, k] = math.exp(out[i, k] - top)
            total += out[i, k]
        for k in range(K):
            out[i, k] *= -weight[i] / total
        out[i, label[i]] += weight[i]
