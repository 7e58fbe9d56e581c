"""The slow twin of MCBoost: Algorithm 1 of the guess-averse paper, for the tests to compare with.

Loops over coordinates, classes and features, and a bracketed root for the step; nothing is imported from the package.
Equation numbers are those of Beijbom, Saberian, Kriegman and Vasconcelos (ICML 2014). Shapes: X (n, d); C (n, K), the
costs of each row; z (n,) its class; f (n, K - 1); codewords Y (K, K - 1).

Where the paper is silent: codewords by their Gram matrix, triangular; g by weighted least squares on one feature, ties
to the lowest; a step is cut where a score would move by more than 18.
"""

from __future__ import annotations

from math import fsum

import numpy as np
from scipy.optimize import brentq

LARGEST_STEP = 18.0


def codewords(K):
    """Unit vectors with inner products -1 / (K - 1): the triangular factor of their Gram matrix."""
    gram = np.full((K, K), -1.0 / (K - 1)) + (1.0 + 1.0 / (K - 1)) * np.eye(K)
    Y = np.zeros((K, K - 1))
    for k in range(K):
        for r in range(min(k + 1, K - 1)):
            rest = gram[k, r] - sum(Y[k, s] * Y[r, s] for s in range(r))
            Y[k, r] = np.sqrt(max(rest, 0.0)) if r == k else rest / Y[r, r]
    return Y


def row_loss(loss, c, z, S):
    """L(C, z, S) of one row, costs c (K,) with c[z] = 0: Eq. (20), (21), (12), (14); "mc" is (22) less its constant."""
    K = len(S)
    if loss == "mc":
        c = [float(j != z) for j in range(K)]
    if loss in ("gel", "mc"):
        return fsum(c[j] * np.exp(S[j] - S[z]) for j in range(K))
    if loss == "gll":
        return np.log1p(fsum(c[j] * np.exp(S[j] - S[z]) for j in range(K)))
    if loss == "ls":
        return fsum(c[j] * np.exp(S[j]) for j in range(K))
    return fsum(c[j] * np.exp(S[j] - S[k]) for j in range(K) for k in range(K))


def row_derivatives(loss, c, z, S, e):
    """First and second derivative of L(C, z, S + t e) at t = 0; with e = 1/2 y^r the first is w^r of (34) to (37)."""
    K = len(S)
    if loss == "mc":
        c = [float(j != z) for j in range(K)]
    if loss in ("gel", "mc", "gll"):
        terms = [(c[j] * np.exp(S[j] - S[z]), e[j] - e[z]) for j in range(K)]
    elif loss == "ls":
        terms = [(c[j] * np.exp(S[j]), e[j]) for j in range(K)]
    else:
        terms = [(c[j] * np.exp(S[j] - S[k]), e[j] - e[k]) for j in range(K) for k in range(K)]
    first, second = fsum(v * d for v, d in terms), fsum(v * d * d for v, d in terms)
    if loss != "gll":
        return first, second
    total = 1.0 + fsum(v for v, _ in terms)
    return first / total, second / total - (first / total) ** 2


def regressor(X, target, weight):
    """g(x) = a x_j + b of least weighted squares over all features j: (j, a, b)."""
    best, least = None, np.inf
    root = np.sqrt(weight)
    spent = np.sum(weight * target**2)
    for j in range(X.shape[1]):
        x = X[:, j]
        middle = np.average(x, weights=weight)
        design = np.column_stack([x - middle, np.ones(len(x))])
        if np.ptp(x) == 0:
            design[:, 0] = 0.0
        (a, b), *_ = np.linalg.lstsq(root[:, None] * design, root * target, rcond=1e-12)
        squares = np.sum(weight * (target - design @ (a, b)) ** 2)
        if squares < least - 1e-10 * spent:
            best, least = (j, a, b - a * middle), squares
    return best


def exact_step(loss, C, z, S, e, weights):
    """argmin over alpha of sum_n w_n L(S_n + alpha e_n), Eq. (31)."""

    def slope(alpha):
        return fsum(
            w * row_derivatives(loss, c, k, s + alpha * d, d)[0]
            for w, c, k, s, d in zip(weights, C, z, S, e, strict=True)
        )

    reach = np.abs(e).max()
    if reach == 0:
        return 0.0
    end = LARGEST_STEP / reach
    if slope(end) < 0:
        return end
    if slope(-end) > 0:
        return -end
    return brentq(slope, -end, end, xtol=1e-15 * end, rtol=1e-14)


def mcboost(X, C, z, weights, loss, n_rounds, weighting="curvature", gradient=False):
    """Algorithm 1. Returns the terms (j, a, b, r, alpha) and the mean loss before and after each round."""
    n, K = C.shape
    C = C.copy()
    C[np.arange(n), z] = 0.0
    Y = codewords(K)
    f = np.zeros((n, K - 1))
    terms, losses = [], []

    def scores():
        return 0.5 * f @ Y.T  # Eq. (23)

    def mean_loss():
        return fsum(w * row_loss(loss, c, k, s) for w, c, k, s in zip(weights, C, z, scores(), strict=True)) / fsum(
            weights
        )

    losses.append(mean_loss())
    for _ in range(n_rounds):
        steps = [range(K - 1)] if gradient else [[r] for r in range(K - 1)]
        for coordinates in steps:
            S, found, e = scores(), [], np.zeros((n, K))
            for r in coordinates:
                slopes, curvatures = np.array(
                    [row_derivatives(loss, c, k, s, 0.5 * Y[:, r]) for c, k, s in zip(C, z, S, strict=True)]
                ).T
                rho = {"uniform": np.ones(n), "slope": np.abs(slopes), "curvature": curvatures}[weighting]
                target = np.divide(-slopes, rho, out=np.zeros(n), where=rho > 0)
                j, a, b = regressor(X, target, weights * rho)
                found.append((j, a, b, r))
                e += np.outer(a * X[:, j] + b, 0.5 * Y[:, r])
            alpha = exact_step(loss, C, z, S, e, weights)
            for j, a, b, r in found:
                f[:, r] += alpha * (a * X[:, j] + b)  # Eq. (32)
                terms.append((j, a, b, r, alpha))
        losses.append(mean_loss())
    return terms, losses


def predicted_scores(terms, X, K):
    """S(x) of new rows."""
    Y, f = codewords(K), np.zeros((len(X), K - 1))
    for j, a, b, r, alpha in terms:
        f[:, r] += alpha * (a * X[:, j] + b)
    return 0.5 * f @ Y.T


# -- gradient descent with learners whose answers are codewords (Saberian and Vasconcelos, NIPS 2011) -----------------
def codeword_round(loss, C, z, weights, S, leaf):
    """The class of each leaf, and the step that they have in common, for scores S and the rows' leaves.

    A leaf's class k is that of the largest -sum_n w_n dL(S_n + t 1/2 Y y^k) / dt at t = 0.
    """
    Y = codewords(C.shape[1])
    along, chosen = 0.5 * Y @ Y.T, []
    for number in range(leaf.max() + 1):
        rows = np.flatnonzero(leaf == number)
        falls = [-fsum(weights[n] * row_derivatives(loss, C[n], z[n], S[n], e)[0] for n in rows) for e in along]
        chosen.append(int(np.argmax(falls)))
    return chosen, exact_step(loss, C, z, S, along[np.array(chosen)[leaf]], weights)
