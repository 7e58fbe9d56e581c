"""Log-losses of probabilities by a link, row by row, and how they change with the scores.

Mean gradients of an expected cost along straight lines of scores.
"""

import math

import numpy as np

from minrisk._kernels._jit import kernel, part

SIGMOID, SOFTMAX = 0, 1  # what makes probabilities of scores


@part
def log_of(x, top, sigmoid):
    """Return log of 1 / (1 + exp(-x)), or of exp(x - top)."""
    if not sigmoid:
        return x - top
    return -math.log1p(math.exp(-x)) if x > -30.0 else x


@part
def log_probabilities(kind, x, log_p):
    """Compute log_p[k] = log p_k, with p_k in proportion to sigmoid(x_k), or to exp(x_k)."""
    top, total = x[0], 0.0
    for k in range(1, len(x)):
        top = max(top, x[k])
    sigmoid = kind == SIGMOID and top > -30.0  # if not, all sigmoids are exponentials, to float64
    for k in range(len(x)):
        log_p[k] = log_of(x[k], top, sigmoid)
        total += math.exp(log_p[k])
    total = math.log(total)
    for k in range(len(x)):
        log_p[k] -= total


@kernel
def along(kind, base, fold, scores, weight, label, caution, out):
    """Write the loss of each row at base[fold] + weight * scores, its slope and curvature by `weight`, (n, 3).

    The loss is -log p(label) - caution * mean of log p over the other classes. For sigmoids the curvature leaves out
    what makes it negative.
    """
    n, K = scores.shape
    x, log_p = np.empty(K), np.empty(K)
    for i in range(n):
        y, own = label[i], base[fold[i]]
        for k in range(K):
            x[k] = own[k] + weight * scores[i, k]
        log_probabilities(kind, x, log_p)
        loss, slope, mean, square, all_ = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(K):
            p = math.exp(log_p[k])
            target = 1.0 if k == y else caution / max(1, K - 1)
            move = scores[i, k] / (1.0 + math.exp(x[k])) if kind == SIGMOID else np.float64(scores[i, k])
            loss -= target * log_p[k]
            slope -= target * move
            all_ += target
            mean += p * move
            square += p * move * move
        out[i, 0] = loss
        out[i, 1] = slope + all_ * mean
        out[i, 2] = all_ * max(0.0, square - mean * mean)


@kernel
def mixed_residuals(kind, base, fold, scores, shift, label, caution, losses, residuals):
    """Write the loss of each row at base[fold] + shift + scores, see `along`, and its slopes by scores (n, K)."""
    n, K = scores.shape
    x, log_p = np.empty(K), np.empty(K)
    for i in range(n):
        y, own = label[i], base[fold[i]]
        for k in range(K):
            x[k] = own[k] + shift[k] + scores[i, k]
        log_probabilities(kind, x, log_p)
        loss, all_ = 0.0, 0.0
        for k in range(K):
            target = 1.0 if k == y else caution / max(1, K - 1)
            loss -= target * log_p[k]
            all_ += target
        losses[i] = loss
        for k in range(K):
            target = 1.0 if k == y else caution / max(1, K - 1)
            residual = all_ * math.exp(log_p[k]) - target
            residuals[i, k] = residual / (1.0 + math.exp(x[k])) if kind == SIGMOID else residual


@kernel
def row_dots(a, b, out):
    """Compute out[i] = sum_k a[i, k] b[i, k], of each row by itself."""
    for i in range(len(a)):
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[i, k]
        out[i] = total


@kernel
def expected_costs(kind, scale, scores, costs):
    """Return expected cost of each decision, (n, D): sum_k p_k costs[i, k, d].

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


MOST_PANELS = 4096  # of a line; scores that differ by more than twice as many are as good as infinitely apart


@kernel
def mean_gradients(kind, scale, start, scores, costs, point, point_weight, out):
    """Compute out[i, k] = mean over the line from `start` to scores[i] of d c / d score k, c = sum_k p_k costs[i, k].

    p_k is in proportion to sigmoid(scale h_k), or to exp(scale h_k). A line is cut in panels within which no
    log-odds change by more than 2; there the gradient is smooth, and the points of Gauss and Legendre are exact to
    float64.
    """
    n_rows, K = scores.shape
    p, slope = np.empty(K), np.empty(K)
    for i in range(n_rows):
        span = 0.0
        least, most = scores[i, 0] - start[0], scores[i, 0] - start[0]
        for k in range(K):
            move = scores[i, k] - start[k]
            least, most = min(least, move), max(most, move)
            span = max(span, abs(move))
            out[i, k] = 0.0
        if kind != SIGMOID:
            span = most - least
        n_panels = int(min(max(1.0, math.ceil(scale * span / 2.0)), MOST_PANELS))
        for panel in range(n_panels):
            for q in range(len(point)):
                t, w = (panel + point[q]) / n_panels, point_weight[q] / n_panels
                top = -np.inf
                for k in range(K):
                    p[k] = scale * ((1.0 - t) * start[k] + t * scores[i, k])
                    top = max(top, p[k])
                total, cost = 0.0, 0.0
                for k in range(K):
                    x = p[k]
                    if kind == SIGMOID and top > -30.0:  # if not, all sigmoids are exponentials, to float64
                        small = math.exp(-abs(x))
                        p[k] = (1.0 if x > 0.0 else small) / (1.0 + small)
                        slope[k] = (small if x > 0.0 else 1.0) / (1.0 + small)
                    else:
                        p[k], slope[k] = math.exp(x - top), 1.0
                    total += p[k]
                    cost += p[k] * costs[i, k]
                cost /= total
                for k in range(K):
                    out[i, k] += w * (scale * slope[k] * (p[k] / total) * (costs[i, k] - cost))
