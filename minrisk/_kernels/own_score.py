"""Row loops of exponential losses of the true class's score: w exp(-(S_y - share sum_k S_k)).

y = `label`, w = `weight`, S = `scores`. With share 0 it is the score alone, with 1 / D what it is above their mean.
"""

import numpy as np

from minrisk._kernels._exponential import exponential
from minrisk._kernels._jit import kernel


@kernel
def own_gradients(label, weight, scores, share, log_scale, start, stop, edge, mass):
    """edge_k = v (delta_yk - share) and mass_k = v (delta_yk - share)^2, v the row's value times e^-log_scale.

    Returns the column maxima of |edge|, mass and the value, which counts in column y; rows start..stop.
    """
    D = scores.shape[1]
    top = np.zeros((3, D))
    for i in range(start, stop):
        y, total = label[i], 0.0
        if share > 0.0:
            for k in range(D):
                total += scores[i, k]
        v = weight[i] * exponential(share * total - scores[i, y] - log_scale)
        for k in range(D):
            edge[i, k], mass[i, k] = -share * v, share * share * v
        edge[i, y], mass[i, y] = (1.0 - share) * v, (1.0 - share) * (1.0 - share) * v
        for k in range(D):
            top[0, k], top[1, k] = max(top[0, k], abs(edge[i, k])), max(top[1, k], mass[i, k])
        top[2, y] = max(top[2, y], v)
    return top


@kernel
def own_values(label, edge, share, in_bag, factor, start, stop):
    """Sum over the bag's rows of class y of their values, edge_y / (1 - share), in fixed point (D,)."""
    sums = np.zeros(edge.shape[1], dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            y = label[i]
            sums[y] += np.int64(np.rint(edge[i, y] / (1.0 - share) * factor[y]))
    return sums


@kernel
def own_along(label, weight, scores, share, factor, move, step, log_scale, start, stop, line):
    """Value, slope and curvature of each row at scores + step * factor * move: see `minrisk._kernels.loss_lines`."""
    D = scores.shape[1]
    top = np.zeros(3)
    for i in range(start, stop):
        y, s, f, total, d = label[i], scores[i], factor[i], 0.0, 0.0
        m = move[i] if move.shape[0] > 1 else move[0]
        if share > 0.0:
            for k in range(D):
                total += s[k]
                d += m[k]
        d = f * (m[y] - share * d)
        v = weight[i] * exponential(share * total - s[y] - step * d - log_scale)
        line[0, i], line[1, i], line[2, i] = v, -v * d, v * d * d
        for c in range(3):
            top[c] = max(top[c], abs(line[c, i]))
    return top
