"""Losses along one direction v that many classes share a value of: their exponentials are summed once, by value.

Triangular codewords have three different numbers in a coordinate, so a row's loss at S + t f v needs three exponentials
whatever the number of classes. `group[k]` numbers the value of class k, `values[g]` is the value; `terms` (P, n) holds
the sums of each row at t = 0, taken from what `gradients` wrote there. `line` is as in `minrisk._kernels.loss_lines`.
Loops run over GROUPED_ROWS rows side by side, which is what is vectorised.
"""

import math

import numpy as np

from minrisk._kernels._exponential import exponential, logarithm
from minrisk._kernels._jit import kernel

GROUPED_ROWS = 128  # rows side by side: their sums stay within the fastest cache
SIGN = np.int64(0x7FFFFFFFFFFFFFFF)  # all bits but the sign


@kernel
def largest(values, n, before):
    """The largest of `before` and |values[:n]|, compared as whole numbers: the loop is vectorised."""
    top = np.float64(before).view(np.int64)
    for i in range(n):
        size = np.float64(values[i]).view(np.int64) & SIGN
        top = max(top, size)
    return np.int64(top).view(np.float64)


@kernel
def raise_tops(line, low, high, top):
    """top = max(top, |line|) over rows low..high."""
    for c in range(3):
        top[c] = largest(line[c, low:high], high - low, top[c])


@kernel
def own_values(label, group, values, low, high, own):
    """own[i - low] = value of the true class."""
    for i in range(low, high):
        own[i - low] = values[group[label[i]]]


@kernel
def moved(terms, factor, own, value, step, n, z, d):
    """d = v - own, z = terms e^(t f d): what becomes of the terms of value v."""
    for i in range(n):
        d[i] = value - own[i]
        z[i] = terms[i] * exponential(step * factor[i] * d[i])


@kernel
def by_group(group, n_groups):
    """Classes in the order of their groups, and where each group begins."""
    K = group.shape[0]
    classes, first = np.empty(K, dtype=np.int64), np.empty(n_groups + 1, dtype=np.int64)
    placed = 0
    for g in range(n_groups):
        first[g] = placed
        for k in range(K):
            if group[k] == g:
                classes[placed] = k
                placed += 1
    first[n_groups] = placed
    return classes, first


@kernel
def gather_sums(mass, label, group, start, stop, terms):
    """GEL, L_s: terms[g, i] = sum of w c_k e^(...) over the wrong classes k of group g; `mass` holds the summands."""
    classes, first = by_group(group, terms.shape[0])
    for i in range(start, stop):
        for g in range(terms.shape[0]):
            total = 0.0
            for place in range(first[g], first[g + 1]):
                k = classes[place]
                total += mass[i, k] if k != label[i] else 0.0
            terms[g, i] = total


@kernel
def sums_along(terms, label, group, values, own, factor, step, start, stop, line):
    """GEL (own = 1): sum_g terms_g e^(t f (v_g - v_y)); L_s (own = 0): sum_g terms_g e^(t f v_g)."""
    top, base, z, d = np.zeros(3), np.zeros(GROUPED_ROWS), np.empty(GROUPED_ROWS), np.empty(GROUPED_ROWS)
    for low in range(start, stop, GROUPED_ROWS):
        high = min(low + GROUPED_ROWS, stop)
        n, f = high - low, factor[low:high]
        value, slope, curvature = line[0, low:high], line[1, low:high], line[2, low:high]
        value[:], slope[:], curvature[:] = 0.0, 0.0, 0.0
        if own == 1:
            own_values(label, group, values, low, high, base)
        for g in range(values.shape[0]):
            moved(terms[g, low:high], f, base, values[g], step, n, z, d)
            for i in range(n):
                value[i] += z[i]
                slope[i] += z[i] * d[i]
                curvature[i] += z[i] * d[i] * d[i]
        for i in range(n):
            slope[i] *= f[i]
            curvature[i] *= f[i] * f[i]
        raise_tops(line, low, high, top)
    return top


@kernel
def gather_shares(edge, mass, label, weight, log_scale, group, start, stop, terms):
    """GLL: terms[g, i] = sum of q_k over the wrong classes of group g, and last 1 - sum q, from edge_k = -w q_k."""
    last = terms.shape[0] - 1
    scale = math.exp(-log_scale)
    classes, first = by_group(group, last)
    for i in range(start, stop):
        y, w = label[i], weight[i] * scale
        inverse = 1.0 / w if w > 1e-290 else 0.0
        for g in range(last):
            total = 0.0
            for place in range(first[g], first[g + 1]):
                k = classes[place]
                total -= edge[i, k] if k != y else 0.0
            terms[g, i] = total * inverse
        terms[last, i] = mass[i, y] / edge[i, y] if edge[i, y] > 0.0 else 1.0


@kernel
def shares_along(terms, label, weight, log_scale, group, values, factor, step, start, stop, line):
    """GLL less its value at t = 0: w log(terms_last + sum_g terms_g e^(t f (v_g - v_y)))."""
    last = terms.shape[0] - 1
    scale = math.exp(-log_scale)
    top, base, total = np.zeros(3), np.empty(GROUPED_ROWS), np.empty(GROUPED_ROWS)
    z, d = np.empty((last, GROUPED_ROWS)), np.empty((last, GROUPED_ROWS))
    for low in range(start, stop, GROUPED_ROWS):
        high = min(low + GROUPED_ROWS, stop)
        n, f, w, right = high - low, factor[low:high], weight[low:high], terms[last, low:high]
        value, mean, square = line[0, low:high], line[1, low:high], line[2, low:high]
        own_values(label, group, values, low, high, base)
        for i in range(n):
            total[i], mean[i] = right[i], 0.0
        for g in range(last):
            moved(terms[g, low:high], f, base, values[g], step, n, z[g], d[g])
            for i in range(n):
                total[i] += z[g, i]
                mean[i] += z[g, i] * d[g, i]
        for i in range(n):
            mean[i] /= total[i]
            square[i] = right[i] * mean[i] * mean[i]
        for g in range(last):
            for i in range(n):
                square[i] += z[g, i] * (d[g, i] - mean[i]) * (d[g, i] - mean[i])
        for i in range(n):
            of_row = w[i] * scale
            value[i] = of_row * logarithm(total[i])
            square[i] *= of_row * f[i] * f[i] / total[i]
            mean[i] *= of_row * f[i]
        raise_tops(line, low, high, top)
    return top


@kernel
def pairs_along(terms, values, factor, step, start, stop, line):
    """L_t: (sum_g a_g e^(t f v_g)) (sum_g b_g e^(-t f v_g))."""
    G = values.shape[0]
    top, a, b, e = np.zeros(3), np.empty((3, GROUPED_ROWS)), np.empty((3, GROUPED_ROWS)), np.empty(GROUPED_ROWS)
    for low in range(start, stop, GROUPED_ROWS):
        high = min(low + GROUPED_ROWS, stop)
        n, f = high - low, factor[low:high]
        a[:], b[:] = 0.0, 0.0
        for g in range(G):
            up, down, v = terms[g, low:high], terms[G + g, low:high], values[g]
            for i in range(n):  # only a row of weight 0 may go farther
                e[i] = exponential(min(max(step * v * f[i], -600.0), 600.0))
            for i in range(n):
                x, y = up[i] * e[i], down[i] / e[i]
                a[0, i] += x
                a[1, i] += x * v
                a[2, i] += x * v * v
                b[0, i] += y
                b[1, i] -= y * v
                b[2, i] += y * v * v
        for i in range(n):
            line[0, low + i] = a[0, i] * b[0, i]
            line[1, low + i] = f[i] * (a[1, i] * b[0, i] + a[0, i] * b[1, i])
            line[2, low + i] = f[i] * f[i] * (a[2, i] * b[0, i] + 2.0 * a[1, i] * b[1, i] + a[0, i] * b[2, i])
        raise_tops(line, low, high, top)
    return top
