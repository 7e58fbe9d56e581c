"""Scores of raw rows under packed trees: every step of a walk is node = left[node] + (x > threshold[node]).

A leaf points to itself with threshold +inf, so all walks of a tree take the same number of steps and none
branches on the data. A missing value compares as not greater, so it goes left.
"""

from minrisk._kernels._jit import kernel

ROWS = 32  # rows per block: their features stay in cache while the trees pass


@kernel
def add_trees(X, feature, threshold, left, value, vector, offsets, depth, vectors, first, last, start, stop, scores):
    """scores[i] += value * vectors[vector] of x_i's leaf in each of trees first..last, rows start..stop, in order."""
    n_outputs = scores.shape[1]
    for low in range(start, stop, ROWS):
        high = min(low + ROWS, stop)
        for t in range(first, last):
            root = offsets[t]
            steps = depth[t]
            for i in range(low, high):
                node = root
                for _ in range(steps):
                    node = left[node] + (X[i, feature[node]] > threshold[node])
                f = value[node]
                v = vector[node]
                for k in range(n_outputs):
                    scores[i, k] += f * vectors[v, k]
