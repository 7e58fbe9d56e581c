"""Edges and values of log(1 + sum_{k != y} c_k e^(S_k - S_y)), without masses: see `minrisk._kernels.guess_averse`."""

import math

import numpy as np

from minrisk._kernels._jit import kernel


@kernel
def softmax_edges(cost, index, label, weight, scores, log_scale, start, stop, edge, value):
    """edge_k = w (1[k = y] - p_k) and the row's value, times e^-log_scale; rows start..stop.

    Returns the column maxima of |edge| and of the value, which counts in column y, (2, D).
    """
    D = scores.shape[1]
    top, scale = np.zeros((2, D)), math.exp(-log_scale)
    for i in range(start, stop):
        y, w, row, highest = label[i], weight[i] * scale, index[i], scores[i, label[i]]
        for k in range(D):
            if cost[row, k] > 0.0 and scores[i, k] > highest:
                highest = scores[i, k]
        right, wrong = math.exp(scores[i, y] - highest), 0.0
        for k in range(D):
            z = 0.0
            if k != y and cost[row, k] > 0.0:
                z = cost[row, k] * math.exp(scores[i, k] - highest)
            edge[i, k] = z
            wrong += z
        total = right + wrong
        for k in range(D):
            edge[i, k] *= -w / total
        edge[i, y] = w * (wrong / total)
        value[i] = w * (math.log1p(wrong / right) if wrong < right else math.log(total) + highest - scores[i, y])
        for k in range(D):
            top[0, k] = max(top[0, k], abs(edge[i, k]))
        top[1, y] = max(top[1, y], value[i])
    return top
