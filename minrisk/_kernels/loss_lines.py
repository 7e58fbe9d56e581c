"""Losses along a line through the scores: value, slope and curvature of each row (Beijbom et al., ICML 2014).

Row i is looked at at S_i + step * d_i with d_i = factor[i] * move[i], or factor[i] * move[0] where all rows share one
direction. Written to `line` (3, n), times e^-log_scale: the loss, its first and its second derivative in `step`; at
step 0 with factor 1 the first derivative is the boosting weight w^r of Eq. (34) to (37). The maxima of the
absolute values are returned, (3,).

d = (S_k - S_y) along the line; y = `label`, c = row `index` of `cost` (c_y does not enter), w = `weight`.
"""

import math

import numpy as np

from minrisk._kernels._exponential import exponential
from minrisk._kernels._jit import kernel


@kernel
def write(line, i, w, value, slope, curvature, top):
    """line[:, i] = w * (value, slope, curvature), and the maxima so far."""
    line[0, i], line[1, i], line[2, i] = w * value, w * slope, w * curvature
    for c in range(3):
        top[c] = max(top[c], abs(line[c, i]))


@kernel
def write_sums(line, i, w, z, d, top):
    """`write` of sum z e^(t d) at t = 0: sums of z, z d and z d^2."""
    value, slope, curvature = 0.0, 0.0, 0.0
    for k in range(z.shape[0]):
        value += z[k]
        slope += z[k] * d[k]
        curvature += z[k] * d[k] * d[k]
    write(line, i, w, value, slope, curvature, top)


@kernel
def exponential_along(cost, index, label, weight, scores, factor, move, step, log_scale, start, stop, line):
    """GEL, Eq. (20): sum c_k e^(S_k - S_y)."""
    D = scores.shape[1]
    top, z, d = np.zeros(3), np.empty(D), np.empty(D)
    for i in range(start, stop):
        y, c, s, f = label[i], cost[index[i]], scores[i], factor[i]
        m = move[i] if move.shape[0] > 1 else move[0]
        base = s[y] + log_scale
        for k in range(D):
            d[k] = f * (m[k] - m[y])
            z[k] = c[k] * exponential(s[k] - base + step * d[k])
        z[y] = 0.0
        write_sums(line, i, weight[i], z, d, top)
    return top


@kernel
def logistic_along(cost, index, label, weight, scores, factor, move, step, log_scale, start, stop, line):
    """GLL, Eq. (21): log(1 + sum c_k e^(S_k - S_y)), as log-sum-exp; the curvature is a variance."""
    D = scores.shape[1]
    top, q, d = np.zeros(3), np.empty(D), np.empty(D)
    scale = math.exp(-log_scale)
    for i in range(start, stop):
        y, c, s, f = label[i], cost[index[i]], scores[i], factor[i]
        m = move[i] if move.shape[0] > 1 else move[0]
        highest = 0.0  # of S_k - S_y along the line; 0 is that of the 1
        for k in range(D):
            d[k] = f * (m[k] - m[y])
            q[k] = s[k] - s[y] + step * d[k]
            if c[k] > 0.0 and q[k] > highest:
                highest = q[k]
        for k in range(D):
            q[k] = c[k] * exponential(min(q[k] - highest, 0.0))
        q[y] = 0.0
        wrong, right = 0.0, exponential(-highest)
        for k in range(D):
            wrong += q[k]
        total = wrong + right
        mean, square = 0.0, 0.0
        for k in range(D):
            mean += q[k] * d[k]
        mean /= total
        for k in range(D):
            square += q[k] * (d[k] - mean) * (d[k] - mean)
        square = (square + right * mean * mean) / total
        value = math.log1p(wrong / right) if wrong < right else math.log(total) + highest
        write(line, i, weight[i] * scale, value, mean, square, top)
    return top


@kernel
def sum_along(cost, index, label, weight, scores, factor, move, step, log_scale, start, stop, line):
    """L_s, Eq. (12): sum c_k e^(S_k), for scores that sum to 0."""
    D = scores.shape[1]
    top, z, d = np.zeros(3), np.empty(D), np.empty(D)
    for i in range(start, stop):
        c, s, f = cost[index[i]], scores[i], factor[i]
        m = move[i] if move.shape[0] > 1 else move[0]
        for k in range(D):
            d[k] = f * m[k]
            z[k] = c[k] * exponential(s[k] - log_scale + step * d[k])
        z[label[i]] = 0.0
        write_sums(line, i, weight[i], z, d, top)
    return top


@kernel
def pair_along(cost, index, label, weight, scores, factor, move, step, log_scale, start, stop, line):
    """L_t, Eq. (14): sum_k sum_j c_j e^(S_j - S_k) = A B, A = sum_j c_j e^(S_j) and B = sum_k e^(-S_k).

    Deviation: (37) as printed is the gradient of e^(S_k - S_j); it is read with the indices of (14).
    """
    D = scores.shape[1]
    top, s, d = np.zeros(3), np.empty(D), np.empty(D)
    for i in range(start, stop):
        y, c, f = label[i], cost[index[i]], factor[i]
        m = move[i] if move.shape[0] > 1 else move[0]
        high, low = -np.inf, np.inf
        for k in range(D):
            d[k] = f * m[k]
            s[k] = scores[i, k] + step * d[k]
            high, low = max(high, s[k]), min(low, s[k])
        a0, a1, a2, b0, b1, b2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(D):
            a = c[k] * exponential(s[k] - high) if k != y else 0.0
            b = exponential(low - s[k])
            a0, a1, a2 = a0 + a, a1 + a * d[k], a2 + a * d[k] * d[k]
            b0, b1, b2 = b0 + b, b1 - b * d[k], b2 + b * d[k] * d[k]
        w = weight[i] * exponential(high - low - log_scale)
        write(line, i, w, a0 * b0, a1 * b0 + a0 * b1, a2 * b0 + 2.0 * a1 * b1 + a0 * b2, top)
    return top
