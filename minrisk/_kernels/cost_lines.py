"""Mean gradients of an expected cost along straight lines of scores."""

import math

import numpy as np

from minrisk._kernels._jit import kernel
from minrisk._kernels.links import SIGMOID

MOST_PANELS = 4096  # of a line; scores that differ by more than twice as many are as good as infinitely apart


@kernel
def mean_gradients(kind, scale, start, scores, costs, point, point_weight, out):
    """out[i, k] = mean over the line from `start` to scores[i] of d c / d score k, c = sum_k p_k costs[i, k].

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
