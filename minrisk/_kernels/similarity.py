"""Localized similarities: distances to anchors, responses, and the sums that learners are chosen by.

    X (n_features, n_samples): uint8 for whole numbers 0..255, float64 else      near, far (n,): squared distances

Distances of whole numbers are exact (int32). Else squares of differences are added feature after feature, without
the cancellation of |x|^2 - 2 x z + |z|^2: the relative error is at most (n_features + 2) 2^-53, and small differences
are not lost beside large coordinates. Either way a distance depends on its two points only, not on blocks.
"""

import numpy as np

from minrisk._kernels._dtypes import ROUNDER, ROUNDER_BITS
from minrisk._kernels._exponential import exponential
from minrisk._kernels._jit import kernel, part
from minrisk._kernels.split import EXPONENTIAL_GAIN

SUMMED_ROWS = 256  # rows whose sums are held at a time: these stay within the fastest cache
NOTHING = 1e-280  # squared distances below, in units of the data's extent, are 0: their squares could not be held
SUPREMUM = (4.0 / 3.0) ** 0.25 / (16.0 / 3.0)  # of f_ij times |d|^2, at 1.07 |d| from the midpoint
REMOTE = 1e150  # from two points, in units of their distance: its square is still finite


@kernel
def whole_distances(X, squares, anchors, start, stop, out):
    """Fill out[c, i] with |x_i - z_c|^2 of whole numbers, exactly; `squares` are the |x_i|^2. Zeros cost nothing."""
    n_features = X.shape[0]
    dots = np.empty(SUMMED_ROWS, dtype=np.int32)
    for low in range(start, stop, SUMMED_ROWS):
        n_rows = min(SUMMED_ROWS, stop - low)
        for c in range(anchors.shape[0]):
            for i in range(SUMMED_ROWS):
                dots[i] = 0
            own = np.int32(0)
            for j in range(n_features):
                z = np.int32(anchors[c, j])
                if z == 0:
                    continue
                own += np.int32(z * z)
                x = X[j, low : low + n_rows]
                for i in range(n_rows):
                    dots[i] += np.int32(z * np.int32(x[i]))
            for i in range(n_rows):
                out[c, low + i] = np.int32(squares[low + i] + own) - np.int32(2 * dots[i])


@kernel
def real_distances(X, anchors, start, stop, out):
    """Compute out[c, i] = |x_i - z_c|^2."""
    n_features = X.shape[0]
    sums = np.empty(SUMMED_ROWS)
    for low in range(start, stop, SUMMED_ROWS):
        n_rows = min(SUMMED_ROWS, stop - low)
        for c in range(anchors.shape[0]):
            for i in range(SUMMED_ROWS):
                sums[i] = 0.0
            for j in range(n_features):
                z = anchors[c, j]
                x = X[j, low : low + n_rows]
                for i in range(n_rows):
                    difference = x[i] - z
                    sums[i] += difference * difference
            for i in range(n_rows):
                out[c, low + i] = sums[i] if sums[i] > NOTHING else 0.0


@kernel
def stored_distances(offsets, features, values, zero, anchor_offsets, anchor_features, anchor_values, start, stop, out):
    """Do the same of rows of which some features are stored, the others being `zero`.

    The features that either has are added in ascending order, so that the bits are those of `real_distances`.
    """
    for c in range(anchor_offsets.shape[0] - 1):
        first, last = anchor_offsets[c], anchor_offsets[c + 1]
        for i in range(start, stop):
            a, b, end, total = offsets[i], first, offsets[i + 1], 0.0
            while a < end and b < last:
                j, k = features[a], anchor_features[b]
                if j == k:
                    difference = values[a] - anchor_values[b]
                    a, b = a + 1, b + 1
                elif j < k:
                    difference = values[a] - zero[j]
                    a += 1
                else:
                    difference = zero[k] - anchor_values[b]
                    b += 1
                total += difference * difference
            for p in range(a, end):
                difference = values[p] - zero[features[p]]
                total += difference * difference
            for p in range(b, last):
                difference = zero[anchor_features[p]] - anchor_values[p]
                total += difference * difference
            out[c, i] = total if total > NOTHING else 0.0


@part
def one_point(near, tau, real):
    """Return f_i: (tau - near) / (tau + near), or its sign."""
    if real:
        return (tau - near) / (tau + near)
    return 1.0 if near <= tau else -1.0


@part
def two_point(near, far, rate, real):
    """Return f_ij over its supremum, or its sign; rate = 1 / |d|^2 = 4 / |x_i - x_j|^2.

    With u, v the squared distances to x_i and x_j in units of |d|^2: <d, x - m> = |d|^2 (v - u) / 4 and
    |x - m|^2 = |d|^2 ((u + v) / 2 - 1).
    """
    u, v = near * rate, far * rate
    if not real:
        return 1.0 if v > u or (v == u and (v < np.inf or far >= near)) else -1.0
    r = 0.5 * (u + v) - 1.0
    if not r < REMOTE:
        return 0.0
    return (v - u) / ((4.0 * SUPREMUM) * (4.0 + r * r))


@kernel
def respond_one(near, tau, real, response, start, stop):
    """Compute response[i] = f_i(x_i) of rows start..stop."""
    for i in range(start, stop):
        response[i] = one_point(np.float64(near[i]), tau, real)


@kernel
def respond_two(near, far, span, real, response, start, stop):
    """Compute response[i] = f_ij(x_i) of rows start..stop; span = |x_i - x_j|^2."""
    rate = 4.0 / span
    for i in range(start, stop):
        response[i] = two_point(np.float64(near[i]), np.float64(far[i]), rate, real)


@kernel
def whole_columns(values, in_bag, factor, whole, first, start, stop):
    """Compute whole[first + k, i] = rint(values[i, k] * factor[k]) for rows in the bag, else 0."""
    for i in range(start, stop):
        for k in range(values.shape[1]):
            whole[first + k, i] = np.rint(values[i, k] * factor[k]) if in_bag[i] else 0.0


@kernel
def moments(whole, scale, share, factor, out, start, stop):
    """Compute out += sums over rows of share u_k u_l with u = whole * scale, in fixed point: U U' of Eq. (7).

    The share is 1 / sample weight: a row of weight 2 counts as two rows and not as one of twice the length.
    """
    n_outputs, count = scale.shape[0], np.int64(stop - start)
    for k in range(n_outputs):
        for m in range(k, n_outputs):
            one, other, part = whole[k, start:stop], whole[m, start:stop], share[start:stop]
            rate, rate_other = scale[k] * factor, scale[m]
            total = np.int64(0)
            for i in range(count):
                total += np.float64((one[i] * rate) * (other[i] * rate_other) * part[i] + ROUNDER).view(np.int64)
            out[k, m] += total - count * ROUNDER_BITS


@kernel
def binarise(whole, direction, side, start, stop):
    """Compute side[i] = the sign of v1's entry, <u_i, q> by the eigenvector q of U U'; sign(0) = +1."""
    for i in range(start, stop):
        total = 0.0
        for k in range(direction.shape[0]):
            total += whole[k, i] * direction[k]
        side[i] = 1 if total >= 0.0 else -1


@part
def output_drop(edge, hessian, gain):
    """Return `drop` of one output, whose Hessian is not 0."""
    r = edge / hessian
    r2 = r * r
    root = np.sqrt(max(1.0 - r2, 0.0)) if gain == EXPONENTIAL_GAIN else 1.0
    return hessian * r2 / (1.0 + root)


@kernel
def drop(edge, hessian, gain):
    """Return by how much the best vector lowers the loss, for sums E of f gradient and M of |f| hessian.

    Of the exponential M - sqrt(M^2 - E^2): exact for f in {-1, 0, 1}, else at least so much, as
    e^(f a) <= 1 - |f| + |f| e^(sign(f) a). Of other losses E^2 / (2 M).
    """
    fall = 0.0
    for k in range(hessian.shape[0]):
        if hessian[k] > 0.0:
            fall += output_drop(edge[k], hessian[k], gain)
    return fall


@kernel
def isolation_drops(whole, total, unit, hessian, gain, out, start, stop):
    """Compute out[i] = `drop` of the learner that answers +1 at point i and -1 elsewhere: E = 2 e_i - sum of all e."""
    n_outputs = hessian.shape[0]
    falls = np.empty(SUMMED_ROWS)
    for low in range(start, stop, SUMMED_ROWS):
        n_rows = min(SUMMED_ROWS, stop - low)
        for i in range(n_rows):
            falls[i] = 0.0
        for k in range(n_outputs):
            if not hessian[k] > 0.0:
                continue
            values, whole_hessian = whole[k, low : low + n_rows], hessian[k]
            for i in range(n_rows):  # side by side
                falls[i] += output_drop((2.0 * values[i] - total[k]) * unit[k], whole_hessian, gain)
        for i in range(n_rows):
            out[low + i] = falls[i]


@kernel
def add_groups(whole, group, out):
    """Compute out[:, g] = sums of the rows of group g (coincident points)."""
    for k in range(whole.shape[0]):
        for i in range(whole.shape[1]):
            out[k, group[i]] += whole[k, i]


@kernel
def add_sums(f, whole, first, last, low, n_rows, out):
    """Compute out[k] += sums of f times whole[k], k in first..last, over rows low..low + n_rows, each product rounded.

    Sums of whole numbers, so they are exact and the same in any order.
    """
    for k in range(first, last):
        values = whole[k, low : low + n_rows]
        total = np.int64(0)
        for i in range(n_rows):
            total += np.float64(f[i] * values[i] + ROUNDER).view(np.int64)
        out[k] += total - n_rows * ROUNDER_BITS


@kernel
def candidate_sums(near, far, span, real, whole, out, start, stop):
    """Compute out += sums of f_ij gradient and, if real, of |f_ij| hessian over rows start..stop.

    `whole` holds gradients, then Hessians.
    """
    n_outputs = whole.shape[0] // 2
    f = np.empty(SUMMED_ROWS)
    rate = 4.0 / span
    for low in range(start, stop, SUMMED_ROWS):
        n_rows = min(SUMMED_ROWS, stop - low)
        u, v = near[low : low + n_rows], far[low : low + n_rows]
        for i in range(n_rows):
            f[i] = two_point(np.float64(u[i]), np.float64(v[i]), rate, real)
        add_sums(f, whole, 0, n_outputs, low, n_rows, out)
        if real:
            for i in range(n_rows):
                f[i] = abs(f[i])
            add_sums(f, whole, n_outputs, 2 * n_outputs, low, n_rows, out)


@kernel
def single_sums(response, whole, out, start, stop):
    """Compute out += sums of response gradient and |response| hessian over rows start..stop."""
    n_outputs = whole.shape[0] // 2
    f = np.empty(SUMMED_ROWS)
    for low in range(start, stop, SUMMED_ROWS):
        n_rows = min(SUMMED_ROWS, stop - low)
        add_sums(response[low : low + n_rows], whole, 0, n_outputs, low, n_rows, out)
        for i in range(n_rows):
            f[i] = abs(response[low + i])
        add_sums(f, whole, n_outputs, 2 * n_outputs, low, n_rows, out)


@kernel
def exponential_slopes(response, whole, vector, units, factors, out, start, stop):
    """Add value, slope, curvature, sum of the slope's absolute terms (4, D), of sum w+ e^(f a) + w- e^(-f a).

    For rows start..stop; gradients w- - w+ and Hessians w- + w+ are `whole` times `units`, (2 D, n) and (2, D).
    """
    n_outputs = vector.shape[0]
    for low in range(start, stop, SUMMED_ROWS):
        n_rows = min(SUMMED_ROWS, stop - low)
        f = response[low : low + n_rows]
        for k in range(n_outputs):
            gradient, hessian = whole[k, low : low + n_rows], whole[n_outputs + k, low : low + n_rows]
            value, slope, curvature, size = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
            a, unit_gradient, unit_hessian = vector[k], 0.5 * units[0, k], 0.5 * units[1, k]
            for i in range(n_rows):
                grown = exponential(f[i] * a)
                up = (hessian[i] * unit_hessian - gradient[i] * unit_gradient) * grown
                down = (hessian[i] * unit_hessian + gradient[i] * unit_gradient) / grown
                value += np.float64((up + down) * factors[0, k] + ROUNDER).view(np.int64)
                slope += np.float64(f[i] * (up - down) * factors[1, k] + ROUNDER).view(np.int64)
                curvature += np.float64(f[i] * f[i] * (up + down) * factors[2, k] + ROUNDER).view(np.int64)
                size += np.float64(abs(f[i]) * (up + down) * factors[3, k] + ROUNDER).view(np.int64)
            out[0, k] += value - n_rows * ROUNDER_BITS
            out[1, k] += slope - n_rows * ROUNDER_BITS
            out[2, k] += curvature - n_rows * ROUNDER_BITS
            out[3, k] += size - n_rows * ROUNDER_BITS


@kernel
def thin(near, far, span, order, first, alive):
    """Drop the candidates from `first` on with f_ij(x_n) <= f_ij(x_j) / 2: step 6."""
    rate = 4.0 / span
    half = 0.5 * two_point(span, 0.0, rate, True)
    for a in range(first, order.shape[0]):
        if alive[a]:
            n = order[a]
            alive[a] = two_point(np.float64(near[n]), np.float64(far[n]), rate, True) > half


@kernel
def add_similarities(distances, near, far, span, real, vectors, first, last, low, n_rows, scores):
    """Add f_t(x_i) vectors[t], t in first..last, to scores; near[t] < 0: f = 1, far[t] < 0: one-point mode."""
    n_outputs = scores.shape[1]
    f = np.empty(SUMMED_ROWS)
    for begin in range(0, n_rows, SUMMED_ROWS):
        n = min(SUMMED_ROWS, n_rows - begin)
        for t in range(first, last):
            if near[t] < 0:
                for i in range(n):
                    f[i] = 1.0
            elif far[t] < 0:
                u = distances[near[t]]
                for i in range(n):
                    f[i] = one_point(np.float64(u[begin + i]), span[t], real[t])
            else:
                u, v = distances[near[t]], distances[far[t]]
                rate = 4.0 / span[t]
                for i in range(n):
                    f[i] = two_point(np.float64(u[begin + i]), np.float64(v[begin + i]), rate, real[t])
            for i in range(n):
                for k in range(n_outputs):
                    scores[low + begin + i, k] += f[i] * vectors[t, k]
