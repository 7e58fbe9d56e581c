"""Sums over the rows of a node for a pair of classes (r, s), along which one score rises as much as the other falls.

With p the softmax of the scores (costs in it), w = `weight` and everything times e^-log_scale, the loss log(1 + sum z)
along e_r - e_s has the slope -u = -(edge_r - edge_s) and the curvature rho = mass_r + mass_s + 2 w p_r p_s.
p_k is 1 - edge_k / w at the row's class y = `label`, and -edge_k / w elsewhere.
"""

import numpy as np

from minrisk._kernels._jit import kernel, part


@part
def probability(edge, y, k, w):
    """p_k of a row of class y whose edge is (w times) 1[k = y] - p_k."""
    p = -edge / w
    return 1.0 + p if k == y else p


@kernel
def node_sums(edge, mass, edge_factor, mass_factor, order, start, end):
    """Edge and mass summed over rows order[start:end], in fixed point (2, D)."""
    D = edge.shape[1]
    sums = np.zeros((2, D), dtype=np.int64)
    for i in range(start, end):
        row = order[i]
        for k in range(D):
            sums[0, k] += np.int64(np.rint(edge[row, k] * edge_factor[k]))
            sums[1, k] += np.int64(np.rint(mass[row, k] * mass_factor[k]))
    return sums


@kernel
def product_sums(edge, label, weight, scale, r, factor, order, start, end):
    """w p_r p_k summed over rows order[start:end], in fixed point (D,)."""
    D = edge.shape[1]
    sums = np.zeros(D, dtype=np.int64)
    for i in range(start, end):
        row = order[i]
        w, y = weight[row] * scale, label[row]
        if w > 0.0:
            own = w * probability(edge[row, r], y, r, w) * factor
            for k in range(D):
                sums[k] += np.int64(np.rint(own * probability(edge[row, k], y, k, w)))
    return sums


@kernel
def pair_columns(edge, mass, label, weight, scale, r, s, factors, order, start, end, columns):
    """columns[row] = u and rho in fixed point and 1, of rows order[start:end]; returns their sums (3,)."""
    sums = np.zeros(3, dtype=np.int64)
    for i in range(start, end):
        row = order[i]
        w, y = weight[row] * scale, label[row]
        rho = 0.0
        if w > 0.0:
            rho = mass[row, r] + mass[row, s]
            rho += 2.0 * w * probability(edge[row, r], y, r, w) * probability(edge[row, s], y, s, w)
        columns[row, 0] = np.int64(np.rint((edge[row, r] - edge[row, s]) * factors[0]))
        columns[row, 1] = np.int64(np.rint(rho * factors[1]))
        columns[row, 2] = 1
        for c in range(3):
            sums[c] += columns[row, c]
    return sums
