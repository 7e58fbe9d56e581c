"""Row loops of output codes: exponentials of bits, and how far a row's bits are from the word of each class.

signed (T, L): a line's weight of each bit, with the sign that the bit should have
words (K, L): -1 or +1, the word of each class, int8
"""

import math

import numpy as np

from minrisk._kernels._exponential import exponential
from minrisk._kernels._jit import kernel, part

LEAST_SURE_TOTAL = 2.0**-8  # of a sum in the largest possible term, from which on whole numbers have digits enough


@kernel
def bit_gradients(signed, index, weight, scores, log_scale, start, stop, edge, mass):
    """mass_l = w |v_l| exp(-sign(v_l) f_l - log_scale), v the row's line of `signed`, and edge_l = sign(v_l) mass_l.

    Returns the column maxima of |edge|, mass and value, which are one and the same; rows start..stop.
    """
    L = scores.shape[1]
    top = np.zeros((3, L))
    for i in range(start, stop):
        w, v, f, e, m = weight[i], signed[index[i]], scores[i], edge[i], mass[i]
        for k in range(L):
            size = w * abs(v[k]) * exponential((-f[k] if v[k] > 0.0 else f[k]) - log_scale)
            m[k] = size
            e[k] = size if v[k] > 0.0 else -size
        for k in range(L):
            top[0, k] = m[k] if m[k] > top[0, k] else top[0, k]
    top[1] = top[0]
    top[2] = top[0]
    return top


@part
def log_loss_of_word(word, bits, scale):
    """log sum_l exp(-word[l] bits[l]), its own largest term taken out first."""
    top, total = -word[0] * bits[0], np.int64(0)
    for k in range(bits.shape[0]):
        top = max(top, -word[k] * bits[k])
    for k in range(bits.shape[0]):
        total += np.int64(np.rint(scale * exponential(-word[k] * bits[k] - top)))
    return top + math.log(total / scale)


@kernel
def log_losses(words, scores, start, stop, out):
    """out[i, k] = -log sum_l exp(-words[k, l] f_l) of rows start..stop, f = scores[i], without overflow.

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
    """out[i, k] = minus the bits in which the signs of f differ from the word of class k; a bit of 0 counts half."""
    K, L = words.shape
    for i in range(start, stop):
        for c in range(K):
            same = 0.0
            for k in range(L):
                same += words[c, k] * np.sign(scores[i, k])
            out[i, c] = 0.5 * (same - L)
