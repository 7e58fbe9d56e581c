"""Log-loss of probabilities by a link, row by row: to fit a temperature without arrays of probabilities."""

import math

import numpy as np

from minrisk._kernels._jit import kernel, part

SIGMOID, SOFTMAX = 0, 1  # what makes probabilities of scores


@part
def log_of(x, top, sigmoid):
    """Log of 1 / (1 + exp(-x)), or of exp(x - top)."""
    if not sigmoid:
        return x - top
    return -math.log1p(math.exp(-x)) if x > -30.0 else x


@kernel
def log_loss(kind, scale, scores, label, weight, floor, caution, factor, rest_factor):
    """Sum of -weight * (l(label) + caution * mean of l over the other classes), l = max(log p, floor).

    In fixed point, times `factor`; what rounding has taken from the terms is summed beside it, times `rest_factor`.
    p_k is in proportion to sigmoid(scale h_k), or to exp(scale h_k).
    """
    K = scores.shape[1]
    total, rest = np.int64(0), np.int64(0)
    for i in range(scores.shape[0]):
        if weight[i] == 0.0:
            continue
        top = scores[i, 0]
        for k in range(1, K):
            top = max(top, scores[i, k])
        sigmoid = kind == SIGMOID and scale * top > -30.0  # if not, all sigmoids are exponentials, to float64
        sum_ = 0.0
        for k in range(K):
            sum_ += 1.0 / (1.0 + math.exp(-scale * scores[i, k])) if sigmoid else math.exp(scale * (scores[i, k] - top))
        log_sum = math.log(sum_)
        loss = max(log_of(scale * scores[i, label[i]], scale * top, sigmoid) - log_sum, floor)
        if caution > 0.0:
            others = 0.0
            for k in range(K):
                if k != label[i]:
                    others += max(log_of(scale * scores[i, k], scale * top, sigmoid) - log_sum, floor)
            loss += caution * others / max(1, K - 1)
        term = -weight[i] * loss * factor
        whole = np.rint(term)
        total += np.int64(whole)
        rest += np.int64(np.rint((term - whole) * rest_factor))
    return total, rest


@kernel
def expected_costs(kind, scale, scores, costs):
    """Expected cost of each decision, (n, D): sum_k p_k costs[i, k, d].

    `costs` (n, K, D), or (1, K, D) for all rows alike.
    """
    n_rows, K = scores.shape
    D = costs.shape[2]
    expected, p = np.zeros((n_rows, D)), np.empty(K)
    for i in range(n_rows):
        top = scores[i, 0]
        for k in range(1, K):
            top = max(top, scores[i, k])
        total = 0.0
        for k in range(K):
            if kind == SIGMOID and scale * top > -30.0:
                p[k] = 1.0 / (1.0 + math.exp(-scale * scores[i, k]))
            else:
                p[k] = math.exp(scale * (scores[i, k] - top))
            total += p[k]
        cost, own = costs[i] if costs.shape[0] > 1 else costs[0], expected[i]
        for k in range(K):
            for d in range(D):
                own[d] += p[k] * cost[k, d]
        for d in range(D):
            own[d] /= total
    return expected
