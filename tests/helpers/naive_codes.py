"""The slow twins of AdaBoost.MO and AdaBoost.SIP, from the papers' formulas: loops and plain sums.

Nothing is imported from the package. Shapes: n rows, K classes, L bits; y (n,) of 0..K-1, weights w (n,), words (K, L) of
-1 and +1, bits f (n, L), scores H (n, K), costs C (K, K) with rows for true classes.
"""

from __future__ import annotations

from itertools import product
from math import exp, fsum

import numpy as np

from tests.helpers.naive_baselines import half_log, pair_terms, stumps


# -- AdaBoost.MO -------------------------------------------------------------------------------------------------------
def bit_weights(C, y, w, words):
    """w times the mean cost of the classes on the other side of each bit."""
    K, L = words.shape
    b = np.zeros((len(y), L))
    for i in range(len(y)):
        for bit in range(L):
            others = [C[y[i]][k] for k in range(K) if words[k, bit] != words[y[i], bit]]
            b[i, bit] = w[i] * fsum(others) / len(others)
    return b


def bit_terms(C, y, w, words, f):
    """Weights of rows and bits: b exp(-word(y) f)."""
    b = bit_weights(C, y, w, words)
    return np.array(
        [[b[i, bit] * exp(-words[y[i], bit] * f[i, bit]) for bit in range(f.shape[1])] for i in range(len(y))]
    )


def bit_loss(C, y, w, words, f):
    return fsum(bit_terms(C, y, w, words, f).ravel()) / (2 * fsum(w))


def leaf_bits(C, y, w, words, f, leaf, ridge):
    """1/2 ln(W+ / W-) of every leaf and bit; ridge: the share of a bit's loss that W+ and W- have more."""
    D = bit_terms(C, y, w, words, f)
    vectors = np.zeros((leaf.max() + 1, f.shape[1]))
    for j, bit in product(range(len(vectors)), range(f.shape[1])):
        more = ridge * fsum(D[:, bit])
        up = fsum(D[i, bit] for i in range(len(y)) if leaf[i] == j and words[y[i], bit] > 0)
        down = fsum(D[i, bit] for i in range(len(y)) if leaf[i] == j and words[y[i], bit] < 0)
        vectors[j, bit] = half_log(up + more, down + more)
    return vectors


def bit_merit(C, y, w, words, f):
    """Of some rows: minus what they still lose with the best vector, -2 sum_l sqrt(W+ W-)."""
    D = bit_terms(C, y, w, words, f)

    def merit(rows):
        return -2 * fsum(
            np.sqrt(fsum(D[rows & (words[y, bit] > 0), bit]) * fsum(D[rows & (words[y, bit] < 0), bit]))
            for bit in range(f.shape[1])
        )

    return merit


def word_losses(words, f):
    """sum_l exp(-word_l(k) f_l) for every row and class."""
    return np.array(
        [[fsum(exp(-words[k, bit] * row[bit]) for bit in range(len(row))) for k in range(len(words))] for row in f]
    )


def different_bits(words, f):
    """How many bits of a row have another sign than a word; bits of 0 are half right."""
    return np.array(
        [
            [
                sum(0.5 if row[bit] == 0 else float(row[bit] * words[k, bit] < 0) for bit in range(len(row)))
                for k in range(len(words))
            ]
            for row in f
        ]
    )


# -- AdaBoost.SIP ------------------------------------------------------------------------------------------------------
def slope(C, y, w, H, answers, colours):
    """How fast sum_n sum_{k != y} C exp(H_k - H_y) falls along 1/2 answers colours: its derivative, term by term."""
    terms = pair_terms(C, y, w, H)
    return fsum(
        -terms[i, k] * answers[i] * (colours[k] - colours[y[i]]) / 2 for i in range(len(y)) for k in range(H.shape[1])
    )


def steepest(C, y, w, X, H):
    """The slope, stump and colours of all pairs of a stump and colours, up to a sign of both."""
    found = None
    for j, threshold, above in stumps(X):
        answers = np.where(above, 1.0, -1.0)
        for colours in product((1.0, -1.0), repeat=H.shape[1]):
            value = slope(C, y, w, H, answers, colours)
            if found is None or value > found[0]:
                found = value, j, threshold, np.array(colours)
    return found


def partition_rate(C, y, w, H, answers, colours, smoothing):
    """1/2 ln(W+ / W-): the terms of pairs that are parted, by whether the answer is the row's own colour."""
    terms, sides = pair_terms(C, y, w, H), {1.0: [], -1.0: []}
    for i in range(len(y)):
        for k in range(H.shape[1]):
            if colours[k] != colours[y[i]]:
                sides[answers[i] * colours[y[i]]].append(terms[i, k])
    right, wrong = fsum(sides[1.0]), fsum(sides[-1.0])
    more = smoothing * (right + wrong)
    return half_log(right + more, wrong + more)
