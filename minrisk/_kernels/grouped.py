"""Losses along one direction v that many classes share a value of: their exponentials are summed once, by value.

Triangular codewords have three different numbers in a coordinate, so a row's loss at S + t f v needs three exponentials
whatever the number of classes. `group[k]` numbers the value of class k, `values[g]` is the value; `terms` holds the
sums of each row at t = 0, taken from what `gradients` wrote there. `line` is as in `minrisk._kernels.along`.
"""

import math

import numpy as np

from minrisk._kernels._exponential import exponential
from minrisk._kernels._jit import kernel

ROWS = 128  # rows whose exponentials are taken side by side


@kernel
def record(line, i, value, slope, curvature, top):
    """line[i] = (value, slope, curvature), and the maxima of their sizes so far."""
    line[i, 0], line[i, 1], line[i, 2] = value, slope, curvature
    for c in range(3):
        top[c] = max(top[c], abs(line[i, c]))


@kernel
def exponentials(factor, values, step, low, high, out):
    """out[g, i] = e^(t f v_g) of rows low..high: the loop that is vectorised."""
    for g in range(values.shape[0]):
        t = step * values[g]
        row = out[g]
        for i in range(high - low):
            row[i] = exponential(t * factor[low + i])


@kernel
def gather_sums(mass, label, group, start, stop, terms):
    """GEL, L_s: terms[i, g] = sum of w c_k e^(...) over the wrong classes k of group g; `mass` holds the summands."""
    for i in range(start, stop):
        for g in range(terms.shape[1]):
            terms[i, g] = 0.0
        for k in range(mass.shape[1]):
            if k != label[i]:
                terms[i, group[k]] += mass[i, k]


@kernel
def sums_along(terms, label, group, values, own, factor, step, start, stop, line):
    """GEL (own = 1): sum_g terms_g e^(t f (v_g - v_y)); L_s (own = 0): sum_g terms_g e^(t f v_g)."""
    top, G = np.zeros(3), values.shape[0]
    e = np.empty((G, ROWS))
    for low in range(start, stop, ROWS):
        high = min(low + ROWS, stop)
        exponentials(factor, values, step, low, high, e)
        for i in range(low, high):
            y = group[label[i]]
            base, own_e = (values[y], e[y, i - low]) if own == 1 else (0.0, 1.0)
            if own_e == 0.0:  # only a row of weight 0 may go so far
                record(line, i, 0.0, 0.0, 0.0, top)
                continue
            value, slope, curvature = 0.0, 0.0, 0.0
            for g in range(G):
                d = values[g] - base
                z = terms[i, g] * e[g, i - low]
                value += z
                slope += z * d
                curvature += z * d * d
            f = factor[i]
            record(line, i, value / own_e, f * slope / own_e, f * f * curvature / own_e, top)
    return top


@kernel
def gather_shares(edge, mass, label, weight, log_scale, group, start, stop, terms):
    """GLL: terms[i, g] = sum of q_k over the wrong classes of group g, and last 1 - sum q, from edge_k = -w q_k."""
    last = terms.shape[1] - 1
    scale = math.exp(-log_scale)
    for i in range(start, stop):
        y, w = label[i], weight[i] * scale
        for g in range(last):
            terms[i, g] = 0.0
        inverse = 1.0 / w if w > 1e-290 else 0.0
        for k in range(edge.shape[1]):
            if k != y:
                terms[i, group[k]] -= edge[i, k] * inverse
        terms[i, last] = mass[i, y] / edge[i, y] if edge[i, y] > 0.0 else 1.0


@kernel
def shares_along(terms, label, weight, log_scale, group, values, factor, step, start, stop, line):
    """GLL less its value at t = 0: w log(terms_last + sum_g terms_g e^(t f (v_g - v_y)))."""
    top = np.zeros(3)
    last = terms.shape[1] - 1
    scale = math.exp(-log_scale)
    e, z, d = np.empty((last, ROWS)), np.empty(last), np.empty(last)
    for low in range(start, stop, ROWS):
        high = min(low + ROWS, stop)
        exponentials(factor, values, step, low, high, e)
        for i in range(low, high):
            w, f, y = weight[i] * scale, factor[i], group[label[i]]
            if w == 0.0:
                record(line, i, 0.0, 0.0, 0.0, top)
                continue
            right = terms[i, last] * e[y, i - low]
            total, mean = right, 0.0
            for g in range(last):
                d[g] = values[g] - values[y]
                z[g] = terms[i, g] * e[g, i - low]
                total += z[g]
                mean += z[g] * d[g]
            mean /= total
            square = right * mean * mean
            for g in range(last):
                square += z[g] * (d[g] - mean) * (d[g] - mean)
            record(line, i, w * math.log(total / e[y, i - low]), w * f * mean, w * f * f * square / total, top)
    return top


@kernel
def gather_pairs(cost, index, label, weight, scores, log_scale, group, start, stop, terms):
    """L_t: sums over group g of w c_j e^(S_j), then of e^(-S_k), their product times e^-log_scale."""
    G, D = terms.shape[1] // 2, scores.shape[1]
    for i in range(start, stop):
        c, s = cost[index[i]], scores[i]
        high, low = np.max(s), np.min(s)
        w = weight[i] * exponential(high - low - log_scale)
        for g in range(2 * G):
            terms[i, g] = 0.0
        for k in range(D):
            if k != label[i]:
                terms[i, group[k]] += w * c[k] * exponential(s[k] - high)
            terms[i, G + group[k]] += exponential(low - s[k])


@kernel
def pairs_along(terms, values, factor, step, start, stop, line):
    """L_t: (sum_g a_g e^(t f v_g)) (sum_g b_g e^(-t f v_g))."""
    G = values.shape[0]
    top = np.zeros(3)
    for i in range(start, stop):
        a0, a1, a2, b0, b1, b2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for g in range(G):
            d = factor[i] * values[g]
            e = exponential(step * d)
            a, b = terms[i, g] * e, terms[i, G + g] / e
            a0, a1, a2 = a0 + a, a1 + a * d, a2 + a * d * d
            b0, b1, b2 = b0 + b, b1 - b * d, b2 + b * d * d
        record(line, i, a0 * b0, a1 * b0 + a0 * b1, a2 * b0 + 2.0 * a1 * b1 + a0 * b2, top)
    return top
