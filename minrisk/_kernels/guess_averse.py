"""Row loops of the guess-averse losses (Beijbom et al., ICML 2014), of a row's differences of scores.

z_k = c_k exp(S_k - S_y) for k != y      GEL: w sum z (Eq. 20)      GLL: w log(1 + sum z) (Eq. 21)

y = `label`, c = row `index` of `cost`, w = `weight`, S = `scores`. The true class's own cost c_y does not enter.
"""

import math

import numpy as np

from minrisk._kernels._exponential import exponential
from minrisk._kernels._jit import kernel

TINY = 1e-290  # weights below this are 0 to the value, as they are in fixed point


@kernel
def raise_to(top, values):
    """top = max(top, values), elementwise."""
    for k in range(top.shape[0]):
        top[k] = values[k] if values[k] > top[k] else top[k]


@kernel
def exponential_gradients(cost, index, label, weight, scores, log_scale, start, stop, edge, mass):
    """GEL: edge_k = -w z_k, mass_k = w z_k; edge_y = mass_y = w sum z; times e^-log_scale; rows start..stop.

    Returns the column maxima of |edge|, mass and the row's value, which counts in column y.
    """
    D = scores.shape[1]
    top = np.zeros((3, D))
    for i in range(start, stop):
        y, w = label[i], weight[i]
        c, s, e, m = cost[index[i]], scores[i], edge[i], mass[i]
        base = s[y] + log_scale
        for k in range(D):
            m[k] = w * c[k] * exponential(s[k] - base)
        m[y] = 0.0
        total = 0.0
        for k in range(D):
            total += m[k]
            e[k] = -m[k]
        e[y] = total
        m[y] = total
        raise_to(top[1], m)
        top[2, y] = max(top[2, y], total)
    top[0] = top[1]
    return top


@kernel
def logistic_gradients(cost, index, label, weight, scores, log_scale, start, stop, edge, mass):
    """GLL: edge_k = -w q_k, mass_k = w q_k (1 - q_k); edge_y = w Q, mass_y = w Q (1 - Q).

    q = z / (1 + sum z), Q = sum q. All times e^-log_scale; rows start..stop. Returns the column maxima of |edge|, mass
    and the row's value, which counts in column y. Costs of one row within a factor of e^700 are told apart, scores any
    distance apart.
    """
    D = scores.shape[1]
    top = np.zeros((3, D))
    scale = math.exp(-log_scale)
    for i in range(start, stop):
        y, w = label[i], weight[i] * scale
        c, s, e, m = cost[index[i]], scores[i], edge[i], mass[i]
        own = s[y]
        highest = own
        for k in range(D):
            counted = s[k] if c[k] > 0.0 else own
            highest = counted if counted > highest else highest
        for k in range(D):
            e[k] = c[k] * exponential(min(s[k] - highest, 0.0))
        e[y] = 0.0
        wrong = 0.0
        for k in range(D):
            wrong += e[k]
        right = exponential(own - highest)
        total = wrong + right
        for k in range(D):
            q = e[k] / total
            e[k] = -w * q
            m[k] = w * q * (1.0 - q)
        e[y] = w * (wrong / total)
        m[y] = e[y] * (right / total)
        for k in range(D):
            size = abs(e[k])
            top[0, k] = size if size > top[0, k] else top[0, k]
        raise_to(top[1], m)
        if wrong < right:
            value = w * math.log1p(wrong / right)
        else:
            value = w * (math.log(total) + (highest - own))
        top[2, y] = max(top[2, y], value)
    return top


@kernel
def exponential_values(label, edge, in_bag, factor, start, stop):
    """Sum over the bag's rows of class y of their GEL, which is edge_y, in fixed point, (D,)."""
    sums = np.zeros(edge.shape[1], dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            y = label[i]
            sums[y] += np.int64(np.rint(edge[i, y] * factor[y]))
    return sums


@kernel
def logistic_values(cost, index, label, weight, scores, log_scale, edge, in_bag, factor, start, stop):
    """Sum over the bag's rows of class y of their GLL, in fixed point, (D,); `edge` is that of the scores.

    No exponentials: the loss is -log(1 - Q), and where Q is near 1 it is log(z_k / q_k) for any k, of which the largest
    q_k is at least Q / (D - 1).
    """
    D = scores.shape[1]
    sums = np.zeros(D, dtype=np.int64)
    scale = math.exp(-log_scale)
    for i in range(start, stop):
        y, w = label[i], weight[i] * scale
        if not in_bag[i] or w < TINY:
            continue
        wrong = edge[i, y] / w
        if wrong <= 0.5:
            value = -math.log1p(-wrong)
        else:
            largest = 0 if y > 0 else 1
            for k in range(D):
                if k != y and edge[i, k] < edge[i, largest]:
                    largest = k
            value = scores[i, largest] - scores[i, y] + math.log(cost[index[i], largest] * w / -edge[i, largest])
        sums[y] += np.int64(np.rint(w * value * factor[y]))
    return sums
