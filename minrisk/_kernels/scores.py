"""Updates of the rows: scores, responses of trees, leaves of the tree that is being grown; costs of decisions."""

import numpy as np

from minrisk._kernels._jit import kernel


@kernel
def add_response(scores, response, vector, start, stop):
    """scores += response * vector."""
    for i in range(start, stop):
        f = float(response[i])
        for k in range(scores.shape[1]):
            scores[i, k] += f * vector[k]


@kernel
def add_leaf_vectors(scores, leaf, vectors, start, stop):
    """scores += vectors[leaf]."""
    for i in range(start, stop):
        v = leaf[i]
        for k in range(scores.shape[1]):
            scores[i, k] += vectors[v, k]


@kernel
def tree_response(X_binned, feature, bin_, left, value, vector, depth, start, stop, response, leaf):
    """response[i] and leaf[i] = value and vector of the leaf that row i falls into."""
    for i in range(start, stop):
        node = 0
        for _ in range(depth):
            first = left[node]
            if first != node:
                node = first + (X_binned[feature[node], i] > bin_[node])
        response[i] = value[node]
        leaf[i] = vector[node]


@kernel
def split_leaves(X_binned, feature, bin_, child, sign, start, stop, leaf, response):
    """Move each row to a child of its leaf: child[l] for bins up to bin_[l] (f = -sign[l]), child[l] + 1 above.

    Above, f = sign[l]. A leaf with feature[l] < 0 is not split: its rows go to child[l] with f = sign[l].
    """
    for i in range(start, stop):
        node = leaf[i]
        if feature[node] < 0:
            leaf[i] = child[node]
            response[i] = sign[node]
        elif X_binned[feature[node], i] > bin_[node]:
            leaf[i] = child[node] + 1
            response[i] = sign[node]
        else:
            leaf[i] = child[node]
            response[i] = -sign[node]


@kernel
def decision_costs(scores, cost, index, weight, factor, start, stop):
    """Sum over rows of weight * cost of the decision with the largest score (the first one on ties), in fixed point."""
    total = np.int64(0)
    for i in range(start, stop):
        best = 0
        for k in range(1, scores.shape[1]):
            if scores[i, k] > scores[i, best]:
                best = k
        total += np.int64(np.rint(weight[i] * cost[index[i], best] * factor))
    return total
