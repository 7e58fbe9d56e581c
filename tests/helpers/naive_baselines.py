"""The slow twins of BAdaCost and the baselines, for the tests to compare with: loops, masks and plain sums.

Nothing is imported from the package. Shapes: n rows, d features, K classes; X (n, d), y (n,) of 0..K-1, weights w (n,),
scores H (n, K), costs C (K, K) with rows for true classes, D (n, K) weights of row and label.
"""

from __future__ import annotations

from itertools import pairwise
from math import fsum

import numpy as np
from scipy.optimize import brentq


# -- stumps ------------------------------------------------------------------------------------------------------------
def stumps(X):
    """Every stump once: the feature, the threshold, and the rows above it."""
    for j in range(X.shape[1]):
        for a, b in pairwise(np.unique(X[:, j]).tolist()):
            yield j, (a + b) / 2, X[:, j] > (a + b) / 2


def best_stump(X, merit):
    """The stump whose sides have the largest sum of merits; `merit` takes the rows of a side. The first of equals."""
    found = None
    for j, threshold, above in stumps(X):
        value = merit(above) + merit(~above)
        if found is None or value > found[0] + 1e-12 * abs(found[0]):
            found = value, j, threshold, above
    return found


def half_log(up, down):
    """1/2 ln(up / down), which is infinite in a pure leaf and cut at 18."""
    if min(up, down) <= 0.0:
        return 18.0 * np.sign(up - down)
    return np.clip(0.5 * np.log(up / down), -18.0, 18.0)


# -- SAMME -------------------------------------------------------------------------------------------------------------
def gini(y, w, K):
    """sum_k W_k^2 / W of some rows: what is left of the impurity is their weight less it."""

    def merit(rows):
        W = [fsum(w[rows & (y == k)]) for k in range(K)]
        return fsum(v * v for v in W) / fsum(W)

    return merit


def samme(X, y, w, K, n_rounds):
    """Stumps of Gini's impurity by SAMME (Zhu et al. 2009): yields stump, answers (2,), alpha and the votes so far."""
    w = w / fsum(w)
    votes = np.zeros((len(y), K))
    for _ in range(n_rounds):
        _, j, threshold, above = best_stump(X, gini(y, w, K))
        answer = [int(np.argmax([fsum(w[side & (y == k)]) for k in range(K)])) for side in (~above, above)]
        predicted = np.where(above, answer[1], answer[0])
        error = fsum(w[predicted != y])
        alpha = np.log((1 - error) / error) + np.log(K - 1)
        w = w * np.exp(alpha * (predicted != y))
        w = w / fsum(w)
        votes[np.arange(len(y)), predicted] += alpha
        yield (j, threshold), answer, alpha, votes.copy()


# -- BAdaCost ----------------------------------------------------------------------------------------------------------
def starred(C):
    """C* = C - diag(row sums)."""
    C = np.array(C, dtype=float)
    return C - np.diag(C.sum(axis=1))


def margin_vector(k, K):
    Y = np.full(K, -1 / (K - 1))
    Y[k] = 1.0
    return Y


def badacost_loss(C, y, w, f):
    """Mean of w exp(C*_y f)."""
    S = starred(C)
    return fsum(w[n] * np.exp(S[y[n]] @ f[n]) for n in range(len(y))) / fsum(w)


def badacost_beta(C, S):
    """The root of sum_lk S_lk (C*_l Y_k) exp(beta C*_l Y_k)."""
    K = len(C)
    gain = np.array([[starred(C)[true] @ margin_vector(k, K) for k in range(K)] for true in range(K)])

    def slope(beta):
        return fsum(S[t, k] * gain[t, k] * np.exp(beta * gain[t, k]) for t in range(K) for k in range(K))

    high = 1.0
    while slope(high) < 0:
        high *= 2
    return brentq(slope, 0.0, high, xtol=1e-15, rtol=1e-15)


def badacost_round(C, y, w, f, leaf, smoothing):
    """Answers of the leaves and beta: by turns, from the steepest answers on."""
    K, n_leaves = len(C), leaf.max() + 1
    star = starred(C)
    now = np.array([w[n] * np.exp(star[y[n]] @ f[n]) for n in range(len(y))])

    def loss(number, k, beta=None):
        rows = [n for n in range(len(y)) if leaf[n] == number]
        gains = [star[y[n]] @ margin_vector(k, K) for n in rows]
        return fsum(now[n] * (g if beta is None else np.exp(beta * g)) for n, g in zip(rows, gains, strict=True))

    answers = [int(np.argmin([loss(number, k) for k in range(K)])) for number in range(n_leaves)]
    while True:
        S = np.full((K, K), smoothing * fsum(now) / K**2)
        for n in range(len(y)):
            S[y[n], answers[leaf[n]]] += now[n]
        beta = badacost_beta(C, S)
        better = []
        for number in range(n_leaves):
            losses = [loss(number, k, beta) for k in range(K)]
            best = int(np.argmin(losses))
            better.append(best if losses[best] < losses[answers[number]] * (1 - 1e-12) else answers[number])
        if better == answers:
            return answers, beta
        answers = better


# -- losses of rows and labels -----------------------------------------------------------------------------------------
def label_weights(C, y, w):
    """D+ of e^H and D- of e^-H for every row and label: costs above the least, and below the largest."""
    c = np.array(C, dtype=float)[y]
    return w[:, None] * (c - c.min(axis=1, keepdims=True)), w[:, None] * (c.max(axis=1, keepdims=True) - c)


def label_loss(C, y, w, H):
    up, down = label_weights(C, y, w)
    return fsum((up * np.exp(H) + down * np.exp(-H)).ravel()) / (2 * fsum(w))


def label_sums(C, y, w, H, rows):
    """W+ and W- (K,) of the labels that hold and of those that do not, over some rows."""
    up, down = label_weights(C, y, w)
    return (
        np.array([fsum((down * np.exp(-H))[rows, k]) for k in range(H.shape[1])]),
        np.array([fsum((up * np.exp(H))[rows, k]) for k in range(H.shape[1])]),
    )


# -- AdaBoost.ECC ------------------------------------------------------------------------------------------------------
def pair_terms(C, y, w, H):
    """Costs times e^(H_l - H_y) for every row and label, 0 at the row's own."""
    n, K = H.shape
    return np.array(
        [[0.0 if k == y[i] else w[i] * C[y[i]][k] * np.exp(H[i, k] - H[i, y[i]]) for k in range(K)] for i in range(n)]
    )


def ecc_rates(C, y, w, H, leaf, colours, smoothing):
    """g of every leaf: half the log of the weights of its rows of colour +1 over those of colour -1."""
    terms = pair_terms(C, y, w, H)
    D = np.array([fsum(terms[i, colours != colours[y[i]]]) for i in range(len(y))])
    more, rates = smoothing * fsum(D), []
    for number in range(leaf.max() + 1):
        up, down = (fsum(D[(leaf == number) & (colours[y] == colour)]) + more for colour in (1, -1))
        rates.append(half_log(up, down))
    return np.array(rates), D


# -- AOSO-LogitBoost ---------------------------------------------------------------------------------------------------
def softmax_with_costs(C, y, H):
    """p with log(1 + sum_{k != y} c_k e^(H_k - H_y)) = -log p_y."""
    z = np.array(
        [
            [1.0 if k == y[i] else C[y[i]][k] * np.exp(H[i, k] - H[i, y[i]]) for k in range(H.shape[1])]
            for i in range(len(y))
        ]
    )
    return z / z.sum(axis=1, keepdims=True)


def aoso_node(p, y, w, rows, ridge):
    """The pair of a node, and u and rho of every row along it."""
    K = p.shape[1]
    gradient = (y[:, None] == np.arange(K)) - p
    G = [fsum(w[rows] * gradient[rows, k]) for k in range(K)]
    r = int(np.argmax(G))

    def curvature(s):
        return w * (p[:, r] * (1 - p[:, r]) + p[:, s] * (1 - p[:, s]) + 2 * p[:, r] * p[:, s])

    falls = [-1.0 if s == r else (G[r] - G[s]) ** 2 / (fsum(curvature(s)[rows]) + ridge) for s in range(K)]
    s = int(np.argmax(falls))
    return r, s, w * (gradient[:, r] - gradient[:, s]), curvature(s)
