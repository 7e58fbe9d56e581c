"""Row loops of losses: coupled, of the true class's score, the structured hinge, chains and output codes.

`gradient` is minus the gradient of the loss, -dL/dS, the way in which scores should move; `hessian` is the diagonal of
its Hessian, d2L/dS2. Both have an entry for each row and output.

Coupled losses: for an entry with costs c+ and c-, c+ F(h) + c- F(-h) (REBEL, Eq. 2).

c+ = cost - beta    c- = phi - cost     (rows of `cost`, picked by `index`; `weight` is the sample weight)
F: EXPONENTIAL_BOUND e^x, LOGISTIC_BOUND log2(1 + e^x), SQUARED_BOUND (1 + x)^2

Exponential losses of the true class's score: w exp(-(S_y - share sum_k S_k)).

y = `label`, w = `weight`, S = `scores`. With share 0 it is the score alone, with 1 / D what it is above their mean.

The structured hinge loss: w max_k (c_k + S_k - S_y), c_y counted as 0, and of its cutting planes.

y = `label`, c = row `index` of `cost`, w = `weight`, S = `scores`. The decision of the maximum is the row's *choice*;
of several the first one, the class itself before others. In a plane a row's gradient is w at y and -w at its choice,
which is minus the slope of w (c_choice + S_choice - S_y).

Chains: one score to each separator of classes, with weights of its own that are normalised on their own.

scores, signed (n, G)    rates, share (T, G), of each line of the cost table    row (n,): a row's line
e = weight * share * exp(-rate * score - shift), at most weight * share: the row's weight in the chain
signed = sign(rate) * e, which is minus the slope of e over |rate|

Output codes: exponentials of bits, and how far a row's bits are from the word of each class.

signed (T, L): a line's weight of each bit, with the sign that the bit should have
words (K, L): -1 or +1, the word of each class, int8
"""

import math

import numpy as np

from minrisk._kernels._dtypes import TIE
from minrisk._kernels._exponential import exponential
from minrisk._kernels._jit import kernel, part

EXPONENTIAL_BOUND, LOGISTIC_BOUND, SQUARED_BOUND = 0, 1, 2  # which F bounds the step from cost to no cost

LN2 = math.log(2.0)  # turns ln into log2
ZERO_COST = 1e-13  # share of phi below which c+ is the rounding of an exact zero


@part
def split(cost, beta, phi):
    """Return c+ = c - beta and c- = phi - c (S.4)."""
    plus = cost - beta
    return plus if plus > ZERO_COST * phi else 0.0, phi - cost


@kernel
def logistic(x):
    """Return log2(1 + e^x), log2(1 + e^-x), sigmoid(x), sigmoid(-x), of one exponential and without overflow."""
    e = math.exp(-abs(x))
    rest = math.log1p(e) / LN2
    more, less = 1.0 / (1.0 + e), e / (1.0 + e)
    if x >= 0.0:
        return rest + x / LN2, rest, more, less
    return rest, rest - x / LN2, less, more


@kernel
def bound(base, x):
    """Return F(x)."""
    if base == EXPONENTIAL_BOUND:
        return math.exp(x)
    if base == LOGISTIC_BOUND:
        return logistic(x)[0]
    return (1.0 + x) * (1.0 + x)


@kernel
def exponential_gradients(cost, beta, phi, index, weight, scores, log_scale, gradient, hessian, start, stop):
    """Do `coupled_gradients` of the exponential: w- - w+ and w- + w+ (S.6), mostly in vectorised passes over a row."""
    n_outputs = scores.shape[1]
    top = np.zeros((3, n_outputs))
    for i in range(start, stop):
        w, b, high = weight[i], beta[index[i]], phi[index[i]]
        c, s, g, h = cost[index[i]], scores[i], gradient[i], hessian[i]
        tiny = ZERO_COST * high
        for k in range(n_outputs):
            plus = c[k] - b if c[k] - b > tiny else 0.0
            up = w * plus * exponential(s[k] - log_scale)
            h[k] = up
            g[k] = -up
        for k in range(n_outputs):
            if c[k] < high:
                down = w * (high - c[k]) * exponential(-s[k] - log_scale)
                h[k] += down
                g[k] += down
        for k in range(n_outputs):
            size = abs(g[k])
            top[0, k] = size if size > top[0, k] else top[0, k]
        for k in range(n_outputs):
            top[1, k] = h[k] if h[k] > top[1, k] else top[1, k]
    top[2] = top[1]
    return top


@kernel
def coupled_gradients(base, cost, beta, phi, index, weight, scores, log_scale, gradient, hessian, start, stop):
    """Fill gradient and hessian, both times e^-log_scale, of rows start..stop.

    Returns the column maxima of |gradient|, Hessian and value (of the exponential the Hessian is the value).
    """
    if base == EXPONENTIAL_BOUND:
        return exponential_gradients(cost, beta, phi, index, weight, scores, log_scale, gradient, hessian, start, stop)
    n_outputs = scores.shape[1]
    top = np.zeros((3, n_outputs))
    for i in range(start, stop):
        row = index[i]
        w = weight[i]
        for k in range(n_outputs):
            plus, minus = split(cost[row, k], beta[row], phi[row])
            s = scores[i, k]
            if base == LOGISTIC_BOUND:
                up, down, p, q = logistic(s)
                g = w * (minus * q - plus * p) / LN2
                h = w * (plus + minus) * p * q / LN2
                value = w * (plus * up + minus * down)
            else:
                g = 2.0 * w * (minus * (1.0 - s) - plus * (1.0 + s))
                h = 2.0 * w * (plus + minus)
                value = w * (plus * (1.0 + s) * (1.0 + s) + minus * (1.0 - s) * (1.0 - s))
            gradient[i, k] = g
            hessian[i, k] = h
            top[0, k] = max(top[0, k], abs(g))
            top[1, k] = max(top[1, k], h)
            top[2, k] = max(top[2, k], value)
    return top


@kernel
def coupled_contrast(base, cost, beta, phi, index, weight, scores, gradient, vector, contrast, start, stop):
    """Fill contrast[i]: half the loss at scores - vector less half that at scores + vector; returns the largest.

    Holding the vector, the loss of any f in {-1, +1} is a constant less the sum of f * contrast (REBEL, Sec. 4 step 2).
    For the exponential that is <gradient, sinh(vector)>.
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
                total += gradient[i, k] * slope[k]
        else:
            row = index[i]
            for k in range(n_outputs):
                a = vector[k]
                if a != 0.0:
                    plus, minus = split(cost[row, k], beta[row], phi[row])
                    h = scores[i, k]
                    total += 0.5 * plus * (bound(base, h - a) - bound(base, h + a))
                    total += 0.5 * minus * (bound(base, a - h) - bound(base, -h - a))
            total *= weight[i]  # the gradient has it already
        contrast[i] = total
        if abs(total) > top:
            top = abs(total)
    return top


@kernel
def coupled_slopes(base, cost, beta, phi, index, weight, scores, response, in_bag, vector, factors, start, stop):
    """Return value, slope and curvature in a of sum_n loss(scores + response * a) per column, in fixed point, of rows.

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


# -- Exponential losses of the true class's score ----------------------------------------------------------------------
@kernel
def own_gradients(label, weight, scores, share, log_scale, gradient, hessian, value, start, stop):
    """Fill gradient_k = v (delta_yk - share) and hessian_k = v (delta_yk - share)^2 of rows start..stop.

    v is the row's value times e^-log_scale, which is filled as gradient_y / (1 - share). Returns the column maxima of
    |gradient|, Hessian and the value, which counts in column y.
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
            gradient[i, k], hessian[i, k] = -share * v, share * share * v
        gradient[i, y], hessian[i, y] = (1.0 - share) * v, (1.0 - share) * (1.0 - share) * v
        value[i] = gradient[i, y] / (1.0 - share)
        for k in range(D):
            top[0, k], top[1, k] = max(top[0, k], abs(gradient[i, k])), max(top[1, k], hessian[i, k])
        top[2, y] = max(top[2, y], v)
    return top


@kernel
def own_along(label, weight, scores, share, log_scale, factor, move, step, line, start, stop):
    """Fill value, slope and curvature of each row at scores + step * factor * move; see `_kernels.guess_averse`."""
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


# -- The structured hinge loss -----------------------------------------------------------------------------------------
@kernel
def hinge_gradients(cost, index, label, weight, scores, gradient, hessian, value, start, stop):
    """Fill gradient and the row's loss, value[i]; the Hessian, if it has rows, with 0, as there is no curvature.

    Returns the column maxima of |gradient|, Hessian and value, which counts in column y, (3, D).
    """
    top, full = np.zeros((3, scores.shape[1])), hessian.shape[0] > 0
    for i in range(start, stop):
        y, w, s, c, g = label[i], weight[i], scores[i], cost[index[i]], gradient[i]
        choice, most = y, 0.0
        for k in range(s.shape[0]):
            lack = c[k] + (s[k] - s[y])
            if k != y and lack > most:
                choice, most = k, lack
            g[k] = 0.0
            if full:
                hessian[i, k] = 0.0
        if choice != y:
            g[y], g[choice] = w, -w
            top[0, y], top[0, choice] = max(top[0, y], w), max(top[0, choice], w)
        value[i] = w * most
        top[2, y] = max(top[2, y], value[i])
    return top


@kernel
def read_choices(gradient, label, choices, start, stop):
    """Compute choices[i] = the decision whose gradient is below 0, the class where there is none."""
    for i in range(start, stop):
        choices[i] = label[i]
        for k in range(gradient.shape[1]):
            if gradient[i, k] < 0.0:
                choices[i] = k


@kernel
def weigh_choices(choices, shares, label, weight, gradient, start, stop):
    """Fill gradient with that of the planes times their shares; choices (P, n). Returns its column maxima."""
    top = np.zeros(gradient.shape[1])
    for i in range(start, stop):
        y, g = label[i], gradient[i]
        for k in range(gradient.shape[1]):
            g[k] = 0.0
        for p in range(shares.shape[0]):
            g[choices[p, i]] -= weight[i] * shares[p]
            g[y] += weight[i] * shares[p]
        for k in range(gradient.shape[1]):
            top[k] = max(top[k], abs(g[k]))
    return top


@kernel
def sum_choices(choices, label, weight, response, in_bag, factor, n_outputs, start, stop):
    """Return sums over the bag's rows of response * gradient in each plane, in fixed point, (P, D)."""
    sums = np.zeros((choices.shape[0], n_outputs), dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            whole = np.int64(response[i]) * np.int64(np.rint(weight[i] * factor))
            for p in range(choices.shape[0]):
                sums[p, label[i]] += whole
                sums[p, choices[p, i]] -= whole
    return sums


# -- Chains ------------------------------------------------------------------------------------------------------------
@kernel
def largest_exponents(rates, row, weight, share, scores, start, stop):
    """Return the largest -rate * score of each chain over its rows of some weight, (G,); -inf if there are none."""
    n_chains = scores.shape[1]
    top = np.full(n_chains, -np.inf)
    for i in range(start, stop):
        line = row[i]
        if weight[i] > 0.0:
            for q in range(n_chains):
                if share[line, q] > 0.0:
                    top[q] = max(top[q], -rates[line, q] * scores[i, q])
    return top


@kernel
def chain_weights(rates, row, weight, share, scores, shift, signed, start, stop):
    """Fill the signed weights; returns the maxima of their sizes, (G,)."""
    n_chains = scores.shape[1]
    top = np.zeros(n_chains)
    for i in range(start, stop):
        line, w = row[i], weight[i]
        for q in range(n_chains):
            e = w * share[line, q]
            if e > 0.0:
                e *= exponential(-rates[line, q] * scores[i, q] - shift[q])
            top[q] = max(top[q], e)
            signed[i, q] = e if rates[line, q] > 0.0 else -e
    return top


@kernel
def side_errors(signed, chain, response, in_bag, factor, start, stop):
    """Sum the weights in a chain of the bag's rows inside the set and outside, and of those answered wrongly, (2, 2).

    Inside are the rows of positive signed weights, where the right answer is above 0.
    """
    sums = np.zeros((2, 2), dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            e = np.int64(np.rint(abs(signed[i, chain]) * factor))
            outside = 0 if signed[i, chain] > 0.0 else 1
            sums[outside, 0] += e
            if (response[i] > 0.0) == (outside == 1):
                sums[outside, 1] += e
    return sums


@kernel
def take_chain(signed, chain, in_bag, push, pull, start, stop):
    """Compute push = signed and pull = |signed| of one chain, 0 out of the bag."""
    for i in range(start, stop):
        e = signed[i, chain] if in_bag[i] else 0.0
        push[i, 0], pull[i, 0] = e, abs(e)


@kernel
def add_to_chain(scores, chain, response, step, start, stop):
    """Compute scores[:, chain] += response * step."""
    for i in range(start, stop):
        scores[i, chain] += response[i] * step


@kernel
def scan_chains(histogram, features, n_bins, total, edge, bin_):
    """Find the split of each feature that parts each chain best, the lowest bin of equals.

    It has the largest edge |total - 2 left|. edge, bin_ (n_features, G): -1 and 0 where a feature has one bin.
    """
    n_chains = histogram.shape[2]
    left = np.empty(n_chains, dtype=np.int64)
    for c in range(features.shape[0]):
        for q in range(n_chains):
            left[q], edge[c, q], bin_[c, q] = 0, -1, 0
        for b in range(n_bins[features[c]] - 1):
            for q in range(n_chains):
                left[q] += histogram[c, b, q]
                size = abs(total[q] - 2 * left[q])
                if size > edge[c, q] * (1.0 + TIE):
                    edge[c, q], bin_[c, q] = size, b


# -- Output codes ------------------------------------------------------------------------------------------------------
LEAST_SURE_TOTAL = 2.0**-8  # of a sum in the largest possible term, from which on whole numbers have digits enough


@kernel
def bit_gradients(signed, index, weight, scores, log_scale, gradient, hessian, start, stop):
    """Fill hessian_l = w |v_l| exp(-sign(v_l) f_l - log_scale) and gradient_l = sign(v_l) hessian_l.

    v is the row's line of `signed`. Returns the column maxima of |gradient|, Hessian and value, which are one and the
    same; rows start..stop.
    """
    L = scores.shape[1]
    top = np.zeros((3, L))
    for i in range(start, stop):
        w, v, f, g, h = weight[i], signed[index[i]], scores[i], gradient[i], hessian[i]
        for k in range(L):
            size = w * abs(v[k]) * exponential((-f[k] if v[k] > 0.0 else f[k]) - log_scale)
            h[k] = size
            g[k] = size if v[k] > 0.0 else -size
        for k in range(L):
            top[0, k] = h[k] if h[k] > top[0, k] else top[0, k]
    top[1] = top[0]
    top[2] = top[0]
    return top


@part
def log_loss_of_word(word, bits, scale):
    """Return log sum_l exp(-word[l] bits[l]), its own largest term taken out first."""
    top, total = -word[0] * bits[0], np.int64(0)
    for k in range(bits.shape[0]):
        top = max(top, -word[k] * bits[k])
    for k in range(bits.shape[0]):
        total += np.int64(np.rint(scale * exponential(-word[k] * bits[k] - top)))
    return top + math.log(total / scale)


@kernel
def log_losses(words, scores, start, stop, out):
    """Compute out[i, k] = -log sum_l exp(-words[k, l] f_l) of rows start..stop, f = scores[i], without overflow.

    Sums are of whole numbers: words whose bits are as near, in whatever order, are exactly as near. Terms are first
    taken relative to the largest that any word could have, and of words without such a term all again.
    """
    K, L = words.shape
    scale = 2.0 ** (61 - math.ceil(math.log2(L + 1)))
    gap = np.empty(L, dtype=np.int64)  # of the terms for -1 and for +1
    for i in range(start, stop):
        top, both = 0.0, np.int64(0)
        for k in range(L):
            top = max(top, abs(scores[i, k]))
        for k in range(L):
            below = np.int64(np.rint(scale * exponential(-scores[i, k] - top)))
            above = np.int64(np.rint(scale * exponential(scores[i, k] - top)))
            gap[k] = above - below
            both += above + below
        for c in range(K):
            twice = both
            for k in range(L):
                twice -= words[c, k] * gap[k]
            share = 0.5 * twice / scale
            if share > LEAST_SURE_TOTAL:
                out[i, c] = -top - math.log(share)
            else:
                out[i, c] = -log_loss_of_word(words[c], scores[i], scale)


@kernel
def agreements(words, scores, start, stop, out):
    """Fill out[i, k]: minus the bits in which the signs of f differ from the word of class k; 0 counts half."""
    K, L = words.shape
    for i in range(start, stop):
        for c in range(K):
            same = 0.0
            for k in range(L):
                same += words[c, k] * np.sign(scores[i, k])
            out[i, c] = 0.5 * (same - L)
