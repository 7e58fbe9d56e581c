"""Row loops of pairwise margins (Paisitkriangkrai, Shen and van den Hengel, 2013): rho_r = S_y - S_r.

z_r = exp(S_r - S_y) = e^-rho_r      logistic loss: w sum c_r log(1 + z_r), Eq. (7); the exponential w sum c_r z_r,
Eq. (4), is GEL: see `minrisk._kernels.guess_averse`.

y = `label`, c = row `index` of `cost`, w = `weight`, S = `scores`, f = `response`. The term r = y, which no score can
change, does not enter. `gradient` is minus the gradient, as in `minrisk._kernels.losses`.
"""

import math

import numpy as np

from minrisk._kernels._exponential import exponential, log1p
from minrisk._kernels._jit import kernel, part


@kernel
def raise_to(top, values):
    """Compute top = max(top, values), elementwise."""
    for k in range(top.shape[0]):
        top[k] = values[k] if values[k] > top[k] else top[k]


@kernel
def gradient_along(gradient, vector, out, start, stop):
    """Compute out[i] = sum_k gradient[i, k] vector[k] of rows start..stop; returns the largest in size."""
    top = 0.0
    for i in range(start, stop):
        total = 0.0
        for k in range(vector.shape[0]):
            total += gradient[i, k] * vector[k]
        out[i] = total
        top = max(top, abs(total))
    return top


@part
def row_loss(c, s, y, w, less, value):
    """Fill `less` with min(z, 1 / z) and `value` with the terms of a row's loss, which is returned."""
    own, total = s[y], 0.0
    for k in range(s.shape[0]):
        less[k] = exponential(-abs(s[k] - own))
    for k in range(s.shape[0]):
        value[k] = w * c[k] * (log1p(less[k]) + (s[k] - own if s[k] > own else 0.0))
    value[y] = 0.0
    for k in range(s.shape[0]):
        total += value[k]
    return total


@kernel
def logistic_gradients(cost, index, label, weight, scores, log_scale, gradient, hessian, value, start, stop):
    """Fill gradient_r = -w c_r u_r and hessian_r = w c_r u_r (1 - u_r), u_r = z_r / (1 + z_r) (Eq. 12).

    At y are the sums, the gradient's above 0; value[i] is the row's loss. All times e^-log_scale; rows start..stop. The
    Hessian may have no rows. Returns the column maxima of |gradient|, Hessian and value, which counts in column y.
    """
    D, full = scores.shape[1], hessian.shape[0] > 0
    top, terms, spare = np.zeros((3, D)), np.empty(D), np.empty(D)
    scale = math.exp(-log_scale)
    for i in range(start, stop):
        y, w = label[i], weight[i] * scale
        c, s, g, h = cost[index[i]], scores[i], gradient[i], hessian[i] if full else spare
        own, total = s[y], row_loss(c, s, y, w, h, terms)
        for k in range(D):
            less = h[k]
            share = w * c[k] / (1.0 + less)
            g[k] = -share if s[k] >= own else -share * less
            h[k] = share * less / (1.0 + less)
        g[y], h[y] = 0.0, 0.0
        push, curvature = 0.0, 0.0
        for k in range(D):
            push -= g[k]
            curvature += h[k]
            size = -g[k]
            top[0, k] = size if size > top[0, k] else top[0, k]
        g[y], h[y], value[i] = push, curvature, total
        top[0, y] = max(top[0, y], push)
        raise_to(top[1], h)
        top[2, y] = max(top[2, y], total)
    return top


@kernel
def pair_sums(hessian, label, response, in_bag, factor, start, stop):
    """Return sums over the bag's rows of w c_r z_r by class y, decision r and response, in fixed point, (2, D, D).

    Side 1 is f = +1. `hessian` is that of GEL: w c_r z_r, and their sum at y, which is left out.
    """
    D = hessian.shape[1]
    sums = np.zeros((2, D, D), dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            out, h = sums[1 if response[i] > 0 else 0, label[i]], hessian[i]
            for k in range(D):
                out[k] += np.int64(np.rint(h[k] * factor))
    for y in range(D):
        sums[0, y, y], sums[1, y, y] = 0, 0
    return sums


@kernel
def fill_odds(scores, label, odds, start, stop):
    """Compute odds[i, r] = z_r: the weights u^(t-1) of Eq. (14)."""
    for i in range(start, stop):
        s, o = scores[i], odds[i]
        own = s[label[i]]
        for k in range(scores.shape[1]):
            o[k] = exponential(s[k] - own)


@kernel
def pair_slopes(
    cost, index, label, weight, odds, response, in_bag, grown, log_scale, value_factor, factor, start, stop
):
    """Return value and slope in a vector a of Eq. (14): sum w c_r log(1 + z_r e^(f (a_r - a_y))), in fixed point.

    `grown` is e^(a_r - a_y) (2, D, D), of f = -1 its transpose first. Returns the value, then the D slopes; all times
    e^-log_scale.
    """
    D = odds.shape[1]
    sums, u, v = np.zeros(D + 1, dtype=np.int64), np.empty(D), np.empty(D)
    slope = sums[1:]
    scale = math.exp(-log_scale)
    for i in range(start, stop):
        if not in_bag[i]:
            continue
        y, w, c, o = label[i], weight[i] * scale, cost[index[i]], odds[i]
        g = grown[1 if response[i] > 0 else 0, y]
        for k in range(D):
            t = o[k] * g[k]
            v[k] = w * c[k] * log1p(t)
            u[k] = np.rint(w * c[k] * (t / (1.0 + t)) * factor)
        u[y], v[y] = 0.0, 0.0
        f = np.int64(response[i])
        value, own = 0.0, np.int64(0)
        for k in range(D):
            value += v[k]
        for k in range(D):
            whole = np.int64(u[k])
            slope[k] += f * whole
            own += whole
        slope[y] -= f * own
        sums[0] += np.int64(np.rint(value * value_factor))
    return sums
