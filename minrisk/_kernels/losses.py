"""Row loops of the coupled losses: for an entry with costs c+ and c-, c+ F(h) + c- F(-h) (REBEL, Eq. 2).

c+ = cost - beta    c- = phi - cost     (rows of `cost`, picked by `index`; `weight` is the sample weight)
F: EXPONENTIAL_BOUND e^x, LOGISTIC_BOUND log2(1 + e^x), SQUARED_BOUND (1 + x)^2
"""

import math

import numpy as np

from minrisk._kernels._exponential import exponential
from minrisk._kernels._jit import kernel, part

EXPONENTIAL_BOUND, LOGISTIC_BOUND, SQUARED_BOUND = 0, 1, 2  # which F bounds the step from cost to no cost

LN2 = math.log(2.0)  # turns ln into log2
ZERO_COST = 1e-13  # share of phi below which c+ is the rounding of an exact zero


@part
def split(cost, beta, phi):
    """c+ = c - beta and c- = phi - c (S.4)."""
    plus = cost - beta
    return plus if plus > ZERO_COST * phi else 0.0, phi - cost


@kernel
def logistic(x):
    """log2(1 + e^x), log2(1 + e^-x), sigmoid(x), sigmoid(-x), from one exponential and without overflow."""
    e = math.exp(-abs(x))
    rest = math.log1p(e) / LN2
    more, less = 1.0 / (1.0 + e), e / (1.0 + e)
    if x >= 0.0:
        return rest + x / LN2, rest, more, less
    return rest, rest - x / LN2, less, more


@kernel
def bound(base, x):
    """F(x)."""
    if base == EXPONENTIAL_BOUND:
        return math.exp(x)
    if base == LOGISTIC_BOUND:
        return logistic(x)[0]
    return (1.0 + x) * (1.0 + x)


@kernel
def exponential_gradients(cost, beta, phi, index, weight, scores, log_scale, start, stop, edge, mass):
    """`coupled_gradients` of the exponential: w- - w+ and w- + w+ (S.6), mostly in vectorised passes over a row."""
    n_outputs = scores.shape[1]
    top = np.zeros((3, n_outputs))
    for i in range(start, stop):
        w, b, high = weight[i], beta[index[i]], phi[index[i]]
        c, s, e, m = cost[index[i]], scores[i], edge[i], mass[i]
        tiny = ZERO_COST * high
        for k in range(n_outputs):
            plus = c[k] - b if c[k] - b > tiny else 0.0
            up = w * plus * exponential(s[k] - log_scale)
            m[k] = up
            e[k] = -up
        for k in range(n_outputs):
            if c[k] < high:
                down = w * (high - c[k]) * exponential(-s[k] - log_scale)
                m[k] += down
                e[k] += down
        for k in range(n_outputs):
            size = abs(e[k])
            top[0, k] = size if size > top[0, k] else top[0, k]
        for k in range(n_outputs):
            top[1, k] = m[k] if m[k] > top[1, k] else top[1, k]
    top[2] = top[1]
    return top


@kernel
def coupled_gradients(base, cost, beta, phi, index, weight, scores, log_scale, start, stop, edge, mass):
    """edge = -d/dh, mass = the weights' sum (exponential) or d2/dh2, both times e^-log_scale; rows start..stop.

    Returns the column maxima of |edge|, mass and value (of the exponential the mass is the value).
    """
    if base == EXPONENTIAL_BOUND:
        return exponential_gradients(cost, beta, phi, index, weight, scores, log_scale, start, stop, edge, mass)
    n_outputs = scores.shape[1]
    top = np.zeros((3, n_outputs))
    for i in range(start, stop):
        row = index[i]
        w = weight[i]
        for k in range(n_outputs):
            plus, minus = split(cost[row, k], beta[row], phi[row])
            h = scores[i, k]
            if base == LOGISTIC_BOUND:
                up, down, p, q = logistic(h)
                e = w * (minus * q - plus * p) / LN2
                m = w * (plus + minus) * p * q / LN2
                value = w * (plus * up + minus * down)
            else:
                e = 2.0 * w * (minus * (1.0 - h) - plus * (1.0 + h))
                m = 2.0 * w * (plus + minus)
                value = w * (plus * (1.0 + h) * (1.0 + h) + minus * (1.0 - h) * (1.0 - h))
            edge[i, k] = e
            mass[i, k] = m
            top[0, k] = max(top[0, k], abs(e))
            top[1, k] = max(top[1, k], m)
            top[2, k] = max(top[2, k], value)
    return top


@kernel
def coupled_contrast(base, cost, beta, phi, index, weight, scores, edge, vector, start, stop, contrast):
    """contrast[i] = half the loss at scores - vector less half the loss at scores + vector; returns the largest.

    Holding the vector, the loss of any f in {-1, +1} is a constant less the sum of f * contrast (REBEL, Sec. 4 step 2).
    For the exponential that is <edge, sinh(vector)>.
    """
    n_outputs = scores.shape[1]
    top = 0.0
    slope = np.empty(n_outputs)
    for k in range(n_outputs):
        slope[k] = math.sinh(vector[k])
    for i in range(start, stop):
        total = 0.0
        if base == EXPONENTIAL_BOUND:
            for k in range(n_outputs):
                total += edge[i, k] * slope[k]
        else:
            row = index[i]
            for k in range(n_outputs):
                a = vector[k]
                if a != 0.0:
                    plus, minus = split(cost[row, k], beta[row], phi[row])
                    h = scores[i, k]
                    total += 0.5 * plus * (bound(base, h - a) - bound(base, h + a))
                    total += 0.5 * minus * (bound(base, a - h) - bound(base, -h - a))
            total *= weight[i]  # the edge has it already
        contrast[i] = total
        if abs(total) > top:
            top = abs(total)
    return top


@kernel
def coupled_slopes(base, cost, beta, phi, index, weight, scores, response, in_bag, vector, factors, start, stop):
    """Value, slope and curvature in a of sum_n loss(scores + response * a) per column, in fixed point, of rows.

    For the losses without a closed form: logistic and squared.
    """
    n_outputs = scores.shape[1]
    sums = np.zeros((3, n_outputs), dtype=np.int64)
    for i in range(start, stop):
        if not in_bag[i]:
            continue
        row = index[i]
        w = weight[i]
        f = float(response[i])
        for k in range(n_outputs):
            plus, minus = split(cost[row, k], beta[row], phi[row])
            h = scores[i, k] + f * vector[k]
            if base == LOGISTIC_BOUND:
                up, down, p, q = logistic(h)
                value = plus * up + minus * down
                slope = (plus * p - minus * q) / LN2
                curvature = (plus + minus) * p * q / LN2
            else:
                value = plus * (1.0 + h) * (1.0 + h) + minus * (1.0 - h) * (1.0 - h)
                slope = 2.0 * (plus * (1.0 + h) - minus * (1.0 - h))
                curvature = 2.0 * (plus + minus)
            sums[0, k] += np.int64(np.rint(w * value * factors[0, k]))
            sums[1, k] += np.int64(np.rint(w * f * slope * factors[1, k]))
            sums[2, k] += np.int64(np.rint(w * f * f * curvature * factors[2, k]))
    return sums
