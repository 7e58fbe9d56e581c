"""PIBoost as its paper has it (Algorithm 2), row by row in plain Python; nothing of minrisk.

And Cost-Sensitive AdaBoost (Masnadi-Shirazi and Vasconcelos 2011), as its Section 6.1 refers to it.
"""

import math

import numpy as np


def margin_vector(members, K):
    """y^S, Eq. (3)."""
    s = len(members)
    return np.array([1 / s if k in members else -1 / (K - s) for k in range(K)])


def label_vector(k, K):
    """y_k of Lee, Lin and Wahba."""
    return np.array([1.0 if j == k else -1 / (K - 1) for j in range(K)])


def polynomial_root(A1, e1, A2, e2, s, K):
    """R by the sign of the slope of the loss in ln R, halved until nothing changes; see ERRATA for s > K/2."""

    def slope(x):
        rising = (K - s) * e1 * math.exp((K - s) * x) + s * e2 * math.exp(s * x)
        return rising - s * (A2 - e2) * math.exp(-s * x) - (K - s) * (A1 - e1) * math.exp(-(K - s) * x)

    low, high = -18 / max(s, K - s), 18 / max(s, K - s)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return math.exp((low + high) / 2)


def best_error(x_columns, inside, weight):
    """The least weighted error of a stump of either sign."""
    best = 1.0
    for column in x_columns:
        for threshold in np.unique(column)[:-1]:  # of two sides
            wrong = math.fsum(weight[(column > threshold) != inside])
            best = min(best, wrong, math.fsum(weight) - wrong)
    return best


class NaivePIBoost:
    """The state of Algorithm 2: weights of every set, and F of every row."""

    def __init__(self, y, K, sets, start=None):
        self.y, self.K, self.sets = y, K, sets
        start = np.ones(len(y)) if start is None else start
        self.weight = {S: start / start.sum() for S in sets}
        self.F = np.zeros((len(y), K))

    def add(self, S, answer):
        """Steps 2b to 2f with a learner that answers -1 or +1; returns beta."""
        s, K, w = len(S), self.K, self.weight[S]
        inside = np.isin(self.y, list(S))
        wrong = (answer > 0) != inside
        A1, A2 = math.fsum(w[inside]), math.fsum(w[~inside])
        e1, e2 = math.fsum(w[inside & wrong]), math.fsum(w[~inside & wrong])
        R = polynomial_root(A1, e1, A2, e2, s, K)
        beta = s * (K - s) * (K - 1) * math.log(R)
        for i in range(len(w)):  # by Eq. (6), not by the rule that is derived from it
            margin = label_vector(self.y[i], K) @ (beta * answer[i] * margin_vector(S, K))
            w[i] *= math.exp(-margin / K)
        self.weight[S] = w / w.sum()
        self.F += beta * np.outer(answer, margin_vector(S, K))
        return beta


class NaiveCostSensitiveAdaBoost:
    """The exponential loss exp(-C_i y_i f(x_i)), C_i = C_1 of the rows inside (y = 1) and C_2 of the others."""

    def __init__(self, inside, C1, C2, start):
        self.inside, self.C1, self.C2 = inside, C1, C2
        self.weight = start / start.sum()

    def sums(self, answer):
        """b, d, T_+, T_-: what a learner gets wrong, and the weights of the two sides."""
        wrong, w = (answer > 0) != self.inside, self.weight
        parts = (self.inside & wrong, ~self.inside & wrong, self.inside, ~self.inside)
        return [math.fsum(w[part]) for part in parts]

    def alpha(self, answer):
        """The root of 2 C_1 b cosh(C_1 a) + 2 C_2 d cosh(C_2 a) = C_1 T_+ e^(-C_1 a) + C_2 T_- e^(-C_2 a)."""
        b, d, above, below = self.sums(answer)
        C1, C2 = self.C1, self.C2

        def rise(a):
            grown = 2 * C1 * b * math.cosh(C1 * a) + 2 * C2 * d * math.cosh(C2 * a)
            return grown - C1 * above * math.exp(-C1 * a) - C2 * below * math.exp(-C2 * a)

        low, high = -18 / max(C1, C2), 18 / max(C1, C2)
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if rise(middle) < 0 else (low, middle)
        return (low + high) / 2

    def loss(self, answer):
        """The least loss along a learner, by which the next one is chosen."""
        b, d, above, below = self.sums(answer)
        one, two = self.C1 * self.alpha(answer), self.C2 * self.alpha(answer)
        inside = (above - b) * math.exp(-one) + b * math.exp(one)
        return inside + (below - d) * math.exp(-two) + d * math.exp(two)

    def add(self, answer):
        """Weigh the rows again; returns alpha."""
        alpha = self.alpha(answer)
        C = np.where(self.inside, self.C1, self.C2)
        w = self.weight * np.exp(-C * alpha * np.where(self.inside, 1.0, -1.0) * answer)
        self.weight = w / w.sum()
        return alpha
