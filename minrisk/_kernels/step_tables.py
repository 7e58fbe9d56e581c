"""Scores of models of stumps, feature by feature: a sum of stumps on one feature is a step function of it."""

from minrisk._kernels._jit import kernel


@kernel
def add_steps(X, features, offsets, thresholds, table, start, stop, scores):
    """scores[i] += the row of `table` for x_i's place among the thresholds of each feature, rows start..stop.

    Feature c of `features` has thresholds[offsets[c]:offsets[c + 1]], ascending, and table rows from offsets[c] + c on:
    one for each number of thresholds below x. A missing value is below all.
    """
    n_outputs = scores.shape[1]
    for i in range(start, stop):
        for c in range(features.shape[0]):
            x = X[i, features[c]]
            low, n = offsets[c], offsets[c + 1] - offsets[c]
            while n > 0:
                half = (n + 1) >> 1
                if x > thresholds[low + half - 1]:
                    low += half
                    n -= half
                else:
                    n = half - 1
            row = table[low + c]
            for k in range(n_outputs):
                scores[i, k] += row[k]
