"""The slow twin of localized similarities, from the paper; nothing is imported from the package.

R. Appel and P. Perona, "A Simple Multi-Class Boosting Framework with Theoretical Guarantees and Empirical Proficiency",
ICML 2017. 0/1 costs: w_n = exp(y_n H_n) / 2 with y_n = -1 at the true class and +1 elsewhere, all divided by n.

Where the paper is silent, or cannot be meant, the readings of the package's docstring: real responses are chosen by
Eq. (5) with |f| for the share of w that moves (f_ij over its supremum), and a* is then the exact minimiser; tau is half the squared
distance to the next point; the isolating learner is the one of least loss as a sign; of points that are equal the one
that comes first along a fixed direction is taken, where points coincide by class and weight.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

PEAK = (4.0 / 3.0) ** 0.25 / (16.0 / 3.0)
LARGEST_STEP = 18.0


def one_point(x, xi, tau, real):
    """f_i(x), Sec. 5.1."""
    d2 = np.sum((x - xi) ** 2)
    f = (tau - d2) / (tau + d2)
    return f if real else (1.0 if f >= 0 else -1.0)


def two_point(x, xi, xj, real):
    """f_ij(x), Eq. (11), over its supremum."""
    d, m = (xi - xj) / 2, (xi + xj) / 2
    f = d @ (x - m) / (4 * (d @ d) ** 2 + ((x - m) @ (x - m)) ** 2)
    return f * (d @ d) / PEAK if real else (1.0 if f >= 0 else -1.0)


def weights(y, H, sample_weight):
    """w (n, K), times the sample weight over their sum, and the signs y (n, K)."""
    signs = 1.0 - 2.0 * np.eye(H.shape[1])[y]
    return 0.5 * np.exp(signs * H) * (sample_weight / sample_weight.sum())[:, None], signs


def loss_of(f, w, signs):
    """Eq. (5): 2 <sqrt(s_T s_F), 1>, with s_T = sum w (|f| - f y) / 2; where |f| < 1 the rest of w stays as it is."""
    size = np.abs(f)[:, None]
    true = (w * (size - f[:, None] * signs) / 2).sum(axis=0)
    false = (w * (size + f[:, None] * signs) / 2).sum(axis=0)
    return np.sum(w * (1 - size)) + 2 * np.sum(np.sqrt(np.maximum(true * false, 0)))


def binarised(w, signs, sample_weight):
    """Signs of the leading eigenvector of U'U, the n x n matrix itself (Eq. 7, 8).

    A row of sample weight s stands for s rows: sqrt(s) times the column of one of them.
    """
    U = (w * signs / np.sqrt(w.sum(axis=0)) / np.sqrt(sample_weight)[:, None]).T
    v = np.linalg.eigh(U.T @ U)[1][:, -1]
    return np.where(v >= 0, 1, -1), v, U


def candidates(X, y, H, sample_weight, real, two=True, limit=None, neighbors=None):
    """Every learner that Sec. 5.2 tries, in its order: (rows, span, response (n,), loss).

    With `neighbors`, x_j is one of so many nearest points of x_i, where one of them is opposite.
    """
    n = len(y)
    w, signs = weights(y, H, sample_weight)
    tried = [((), 1.0, np.ones(n))]  # step 0
    b = binarised(w, signs, sample_weight)[0]  # step 1
    coincide = [np.flatnonzero(np.all(X == x, axis=1)) for x in X]
    alone = [loss_of(np.where(np.isin(np.arange(n), coincide[i]), 1.0, -1.0), w, signs) for i in range(n)]
    falls = w.sum() - np.array(alone)
    place = X @ np.cos(np.arange(X.shape[1]))
    first = [(place[c], y[c], sample_weight[c], c) for c in range(n)]
    i = min(np.flatnonzero(falls >= falls.max() * (1 - 1e-9)), key=lambda c: first[c])  # step 2
    d2 = np.sum((X - X[i]) ** 2, axis=1)
    if np.any(d2 > 0):
        tau = d2[d2 > 0].min() / 2
        tried.append(((i,), tau, np.array([one_point(x, X[i], tau, real) for x in X])))  # step 3
    left = [n_ for n_ in range(n) if b[n_] != b[i] and d2[n_] > 0]
    if neighbors is not None:
        nearest = sorted(set(range(n)) - {i}, key=lambda c: d2[c])[:neighbors]
        left = [c for c in left if c in nearest] or left
    done = 0
    while two and left and (limit is None or done < limit):
        j = min(left, key=lambda c: (d2[c], first[c]))  # step 4
        tried.append(((i, j), d2[j], np.array([two_point(x, X[i], X[j], real) for x in X])))  # step 5
        top = two_point(X[j], X[i], X[j], True)
        left = [c for c in left if not two_point(X[c], X[i], X[j], True) <= top / 2]  # step 6
        done += 1
    return [(*each, loss_of(each[2], w, signs)) for each in tried]


def exact_vector(f, w, signs, ridge, real):
    """argmin over a_k of sum w e^{f y a} + ridge (e^a + e^-a): in closed form for signs, else the slope's root."""
    K = w.shape[1]
    if not real:
        true = (w * (1 - f[:, None] * signs) / 2).sum(axis=0) + ridge
        false = (w * (1 + f[:, None] * signs) / 2).sum(axis=0) + ridge
        with np.errstate(divide="ignore"):
            return np.clip(0.5 * (np.log(true) - np.log(false)), -LARGEST_STEP, LARGEST_STEP)  # Eq. (5)
    a = np.zeros(K)
    for k in range(K):

        def slope(t, k=k):
            return np.sum(w[:, k] * f * signs[:, k] * np.exp(f * signs[:, k] * t)) + 2 * ridge[k] * np.sinh(t)

        low, high = slope(-LARGEST_STEP), slope(LARGEST_STEP)
        a[k] = -LARGEST_STEP if low >= 0 else LARGEST_STEP if high <= 0 else brentq(slope, -18, 18, xtol=1e-13)
    return a


def boost(X, y, K, n_rounds, real=True, two=True, limit=None, smoothing=0.0, sample_weight=None, neighbors=None):
    """Rounds of (rows, span, vector), the losses before round 1 and after each, and the scores."""
    sample_weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    H = np.zeros((len(y), K))
    terms, losses = [], [K / 2]
    for _ in range(n_rounds):
        best = None
        for each in candidates(X, y, H, sample_weight, real, two, limit, neighbors):
            if best is None or losses[-1] - each[3] > (losses[-1] - best[3]) * (1 + 1e-9):
                best = each
        w, signs = weights(y, H, sample_weight)
        a = exact_vector(best[2], w, signs, smoothing * w.sum(axis=0), real)
        H = H + best[2][:, None] * a
        terms.append((*best[:2], a))
        losses.append(float(weights(y, H, sample_weight)[0].sum()))
    return terms, losses, H


def scores(terms, X_train, X, K, real):
    """H(x) of new points."""
    H = np.zeros((len(X), K))
    for rows, span, a in terms:
        if not rows:
            f = np.ones(len(X))
        elif len(rows) == 1:
            f = np.array([one_point(x, X_train[rows[0]], span, real) for x in X])
        else:
            f = np.array([two_point(x, X_train[rows[0]], X_train[rows[1]], real) for x in X])
        H += f[:, None] * a
    return H
