"""The slow twin of stage-wise MCBoost and MultiBoost, for the tests to compare with: Algorithm 1 of the paper.

Loops over pairs and all stumps, and a general solver for the steps; nothing is imported from the package. Equation
numbers are those of Paisitkriangkrai, Shen and van den Hengel (2013). Shapes: X (n, d); C (n, D), the costs of each row;
y (n,); weights (n,); S (n, D); W (t, D); F (n, t) of -1 and +1.

Where the paper is silent: pairs weigh w_i C_ir; the term r = y weighs w_i times the mean cost of a mistake; ties go to the
lowest feature, threshold and class; entries of w are cut at 18; where nu is too small to tell, the least entry of w is 0.
Read otherwise than printed: nu of (7) and (14) is of the mean over the rows.
"""

from __future__ import annotations

from math import fsum

import numpy as np
from scipy.optimize import minimize

LARGEST_STEP = 18.0
TIE = 1e-12


def pair_weights(C, y, weights):
    """w_i C_ir with the mean of a row's mistakes in the place of r = y, (n, D)."""
    out = np.array(C, dtype=float)
    for i in range(len(y)):
        others = [r for r in range(out.shape[1]) if r != y[i]]
        out[i, y[i]] = fsum(out[i, others]) / len(others)
        out[i] *= weights[i]
    return out


def phi(loss, rho):
    """e^-rho, or log(1 + e^-rho)."""
    return np.exp(-rho) if loss == "exponential" else np.logaddexp(0.0, -rho)


def margins(S, y):
    """rho_ir = S_iy - S_ir, Eq. (2)."""
    return S[np.arange(len(y)), y][:, None] - S


def total_loss(loss, A, y, S):
    """The double sum of Eq. (4) or (7), pair weights A; no penalty."""
    return fsum((A * phi(loss, margins(S, y))).ravel())


def unit(loss, A, y):
    """What nu is in units of: 1 for the logarithm, else the weights of the terms r = y (the rows, for 0/1 costs)."""
    return 1.0 if loss == "exponential" else fsum(A[np.arange(len(y)), y])


def objective(loss, A, y, S, norm, nu):
    """Eq. (5) or (7), over the unit."""
    value = total_loss(loss, A, y, S) / unit(loss, A, y)
    return (np.log(value) if loss == "exponential" else value) + nu * norm


def dual_weights(loss, A, y, S):
    """u_ir of Eq. (11) or (12), with pair weights."""
    rho = margins(S, y)
    if loss == "exponential":
        u = A * np.exp(-rho)
        return u / fsum(u.ravel())
    return A * np.exp(-rho) / (1.0 + np.exp(-rho))


def gradients(loss, A, y, S):
    """delta_{r, y_i} sum_l u_il - u_ir, the bracket of Eq. (10), (n, D)."""
    u = dual_weights(loss, A, y, S)
    out = -u
    for i in range(len(y)):
        out[i, y[i]] += fsum(u[i])
    return out


def stumps(X, thresholds):
    """(feature, threshold, response) of every stump that answers +1 above, in the order of ties."""
    for j, places in enumerate(thresholds):
        for tau in places:
            yield j, tau, np.where(X[:, j] > tau, 1.0, -1.0)


def most_violated(X, thresholds, E, but=()):
    """Eq. (10) over both polarities: (feature, threshold, sign, class, value); not the responses `but` or -but."""
    best = (None, None, 1.0, 0, 0.0)
    for j, tau, f in stumps(X, thresholds):
        if any(abs(f @ g) == len(f) for g in but):
            continue
        sums = f @ E
        value = np.abs(sums).max()
        if value > best[4] * (1 + TIE):
            r = int(np.flatnonzero(np.abs(sums) >= value * (1 - TIE))[0])
            best = (j, tau, float(np.sign(sums[r])), r, value)
    return best


def least(function, start, tries=3, low=0.0):
    """A minimiser in the box [low, 18] by sequential quadratic programming with numerical slopes, polished by restarts."""
    w = np.asarray(start, dtype=float)
    for _ in range(tries):
        found = minimize(
            function,
            w,
            method="SLSQP",
            jac="3-point",
            bounds=[(low, LARGEST_STEP)] * len(w),
            options={"ftol": 1e-15, "maxiter": 500},
        )
        w = found.x if found.fun <= function(w) else w
    return w


def step(loss, A, y, S, f, nu):
    """w* of Eq. (13) or (14)."""
    w = least(lambda w: objective(loss, A, y, S + f[:, None] * w, w.sum(), nu), np.zeros(S.shape[1]))
    return w - w.min()  # less penalty at the same loss


def boost(X, C, y, weights, thresholds, loss, rounds, nu=1e-9, eta=0.5, kappa=np.inf, size=None, epsilon=0.0):
    """Algorithm 1: the terms (feature, threshold, sign, w) and the mean loss before and after every round."""
    A = pair_weights(C, y, weights)
    S = np.zeros(A.shape)
    terms, losses = [], [total_loss(loss, A, y, S) / weights.sum()]
    for _ in range(rounds):
        j, tau, sign, r, value = most_violated(X, thresholds, gradients(loss, A, y, S))  # step 1
        if j is None or value <= nu * unit(loss, A, y) + epsilon:  # step 2
            break
        f = sign * np.where(X[:, j] > tau, 1.0, -1.0)
        if size is None:
            w = np.minimum(eta * step(loss, A, y, S, f, nu), kappa)  # step 4, shrinkage, bounded step
        else:
            w = size * (np.arange(A.shape[1]) == r)  # Sec. III-B
        S = S + f[:, None] * w
        terms.append((j, tau, sign, w))
        losses.append(total_loss(loss, A, y, S) / weights.sum())
    return terms, losses


def multiboost(X, C, y, weights, thresholds, loss, rounds, nu, penalty="l1"):
    """Totally corrective: the learners (feature, threshold, sign), W, and the objective after every round.

    "l2": |W|^2 / 2 and any sign in place of |W|_1 and W >= 0; a learner or its opposite is there once.
    """
    A = pair_weights(C, y, weights)
    D = A.shape[1]
    F, W, learners, values = np.empty((len(y), 0)), np.empty((0, D)), [], []
    for _ in range(rounds):
        l2 = penalty == "l2"
        j, tau, sign, _, value = most_violated(X, thresholds, gradients(loss, A, y, F @ W), F.T if l2 else ())
        if j is None or value <= (0.0 if l2 else nu * unit(loss, A, y)):
            break
        learners.append((j, tau, sign))
        F = np.column_stack([F, sign * np.where(X[:, j] > tau, 1.0, -1.0)])
        start = np.vstack([W, np.zeros((1, D))])

        def function(flat, F=F):
            return objective(loss, A, y, F @ flat.reshape(-1, D), flat @ flat / 2 if l2 else flat.sum(), nu)

        W = least(function, start.ravel(), low=-LARGEST_STEP if l2 else 0.0).reshape(-1, D)
        values.append(function(W.ravel()))
    return learners, W, values
