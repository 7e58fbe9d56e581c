"""Row loops of L_s and L_t (Beijbom et al., ICML 2014), the losses that are not averse to guessing.

L_s: sum_k c_k e^(S_k), Eq. (12)      L_t: A B, A = sum_j c_j e^(S_j) and B = sum_k e^(-S_k), Eq. (14)

y = `label`, c = row `index` of `cost` (c_y does not enter), w = `weight`, S = `scores`.
"""

import numpy as np

from minrisk._kernels._exponential import exponentials, rows_at_once
from minrisk._kernels._jit import kernel
from minrisk._kernels.grouped import by_group


@kernel
def sum_gradients(cost, index, label, weight, scores, log_scale, start, stop, edge, mass):
    """L_s: edge_k = -w c_k e^(S_k), mass_k = w c_k e^(S_k), times e^-log_scale; rows start..stop.

    Returns the column maxima of |edge|, mass and the row's value, which counts in column y.
    """
    D = scores.shape[1]
    height = rows_at_once(D)
    top, x = np.zeros((3, D)), np.empty((height, D))
    for low in range(start, stop, height):
        high = min(low + height, stop)
        for i in range(low, high):
            for k in range(D):
                x[i - low, k] = scores[i, k] - log_scale
        exponentials(x.reshape(height * D), (high - low) * D)
        for i in range(low, high):
            y, w, c, z = label[i], weight[i], cost[index[i]], x[i - low]
            z[y], total = 0.0, 0.0
            for k in range(D):
                v = w * c[k] * z[k]
                total += v
                edge[i, k], mass[i, k] = -v, v
                top[1, k] = max(top[1, k], v)
            top[2, y] = max(top[2, y], total)
    top[0] = top[1]
    return top


@kernel
def sum_values(label, edge, in_bag, factor, start, stop):
    """Sum over the bag's rows of class y of their L_s, which is -sum edge, in fixed point, (D,)."""
    sums = np.zeros(edge.shape[1], dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            value = 0.0
            for k in range(edge.shape[1]):
                value -= edge[i, k]
            sums[label[i]] += np.int64(np.rint(value * factor[label[i]]))
    return sums


@kernel
def pair_terms(cost, index, label, weight, scores, log_scale, low, high, up, down, scale):
    """w c_k e^(S_k) and e^(-S_k) of rows low..high with the largest of the e^(...) 1; what their products are times."""
    D = scores.shape[1]
    for i in range(low, high):
        s, u, d = scores[i], up[i - low], down[i - low]
        highest, lowest = s[0], s[0]
        for k in range(D):
            highest, lowest = max(highest, s[k]), min(lowest, s[k])
        for k in range(D):
            u[k] = s[k] - highest
            d[k] = lowest - s[k]
        scale[i - low] = highest - lowest - log_scale
    n = high - low
    exponentials(up.reshape(up.size), n * D)
    exponentials(down.reshape(down.size), n * D)
    exponentials(scale, n)
    for i in range(low, high):
        c, u = cost[index[i]], up[i - low]
        for k in range(D):
            u[k] *= weight[i] * c[k]
        u[label[i]] = 0.0


@kernel
def pair_gradients(cost, index, label, weight, scores, log_scale, start, stop, edge, mass):
    """L_t: edge_k = w (A e^(-S_k) - c_k e^(S_k) B), mass_k = w (A e^(-S_k) + c_k e^(S_k) B - 2 c_k).

    Returns the column maxima of |edge|, mass and the row's value, which counts in column y.
    """
    D = scores.shape[1]
    height = rows_at_once(D)
    top, scale = np.zeros((3, D)), np.empty(height)
    up, down = np.empty((height, D)), np.empty((height, D))
    for low in range(start, stop, height):
        high = min(low + height, stop)
        pair_terms(cost, index, label, weight, scores, log_scale, low, high, up, down, scale)
        for i in range(low, high):
            a, b, A, B, y = up[i - low], down[i - low], 0.0, 0.0, label[i]
            for k in range(D):
                A, B = A + a[k], B + b[k]
            w = scale[i - low]
            for k in range(D):
                u, v = w * a[k] * B, w * A * b[k]
                edge[i, k], mass[i, k] = v - u, max(u + v - 2.0 * w * a[k] * b[k], 0.0)
            top[2, y] = max(top[2, y], w * A * B)
        for i in range(low, high):
            for k in range(D):
                top[0, k], top[1, k] = max(top[0, k], abs(edge[i, k])), max(top[1, k], mass[i, k])
    return top


@kernel
def pair_values(cost, index, label, weight, scores, log_scale, in_bag, factor, start, stop):
    """Sum over the bag's rows of class y of their L_t, in fixed point, (D,)."""
    D = scores.shape[1]
    height = rows_at_once(D)
    sums, up, down = np.zeros(D, dtype=np.int64), np.empty((height, D)), np.empty((height, D))
    scale = np.empty(height)
    for low in range(start, stop, height):
        high = min(low + height, stop)
        pair_terms(cost, index, label, weight, scores, log_scale, low, high, up, down, scale)
        for i in range(low, high):
            A, B, y = 0.0, 0.0, label[i]
            for k in range(D):
                A, B = A + up[i - low, k], B + down[i - low, k]
            if in_bag[i]:
                sums[y] += np.int64(np.rint(A * B * scale[i - low] * factor[y]))
    return sums


@kernel
def gather_pairs(cost, index, label, weight, scores, log_scale, group, n_groups, start, stop, terms):
    """Sums over group g of w c_j e^(S_j), then of e^(-S_k), the products of the two times e^-log_scale."""
    D = scores.shape[1]
    height = rows_at_once(D)
    up, down, scale = np.empty((height, D)), np.empty((height, D)), np.empty(height)
    classes, first = by_group(group, n_groups)
    for low in range(start, stop, height):
        high = min(low + height, stop)
        pair_terms(cost, index, label, weight, scores, log_scale, low, high, up, down, scale)
        for i in range(low, high):
            for g in range(n_groups):
                a, b = 0.0, 0.0
                for place in range(first[g], first[g + 1]):
                    k = classes[place]
                    a, b = a + up[i - low, k], b + down[i - low, k]
                terms[g, i], terms[n_groups + g, i] = a * scale[i - low], b
