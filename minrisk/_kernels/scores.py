"""Updates of the rows: scores, responses of trees, leaves of grown trees; costs of decisions.

A node of a tree on bins is one integer, left << 32 | feature << 8 | bin; a leaf's left is itself, and its bin 255 is
above no row's.

Products with the responses of many learners, a look-up for several: see `minrisk.rows.pairs`.

`codes` (n_groups, n_samples) uint8 tells the joint response of a group's learners in each row.
"""

import math

import numpy as np

from minrisk._kernels._jit import kernel
from minrisk._kernels.predict import walk_on

LEFT_SHIFT, BIN_BITS = 32, 8  # bits of a node below its left child, and bits of its bin
SCORED_ROWS = 256  # rows that walk a tree together: they and the tree stay within the cache
SCORED_BINS = 1 << 18  # of rows that walk many trees together, one tree after another
ROOT = np.int64(0)  # of the first tree; not to Numba of a type of its own, as 0 is


@kernel
def pack_nodes(feature, bin_, left, root, nodes):
    """Fill nodes[root + i] with the nodes of one tree whose first is number `root`."""
    for i in range(left.shape[0]):
        to = np.int64(root + left[i])
        nodes[root + i] = (to << LEFT_SHIFT) | (np.int64(feature[i]) << BIN_BITS) | np.int64(bin_[i])


@kernel
def walk_rows(codes, low, n, nodes, root, n_rows, leaf):
    """Compute leaf[i] = leaf of row low + i in one tree; codes are the bins (d, n) one feature after another."""
    for i in range(n_rows):
        leaf[i] = root
    walk_on(codes, low, n, nodes, LEFT_SHIFT, n_rows, leaf)


@kernel
def add_response(scores, response, vector, start, stop):
    """Compute scores += response * vector."""
    for i in range(start, stop):
        f = float(response[i])
        for k in range(scores.shape[1]):
            scores[i, k] += f * vector[k]


@kernel
def add_leaf_vectors(scores, leaf, vectors, start, stop):
    """Compute scores += vectors[leaf]."""
    for i in range(start, stop):
        v = leaf[i]
        for k in range(scores.shape[1]):
            scores[i, k] += vectors[v, k]


@kernel
def tree_response(X_binned, feature, bin_, left, value, vector, response, leaf, start, stop):
    """Fill response[i] and leaf[i] with value and vector of the leaf that row i falls into."""
    words, node = np.empty(left.shape[0], dtype=np.int64), np.empty(SCORED_ROWS, dtype=np.int64)
    codes = X_binned.reshape(X_binned.size)
    pack_nodes(feature, bin_, left, ROOT, words)
    for low in range(start, stop, SCORED_ROWS):
        high = min(stop, low + SCORED_ROWS)
        walk_rows(codes, low, X_binned.shape[1], words, ROOT, high - low, node)
        for i in range(low, high):
            response[i] = value[node[i - low]]
            leaf[i] = vector[node[i - low]]


@kernel
def add_binned_trees(X_binned, feature, bin_, left, value, vector, n_nodes, vectors, n_vectors, scores, start, stop):
    """Compute scores += value * vectors[vector] of the row's leaf in each tree; the trees' columns one after another.

    `n_nodes` and `n_vectors` of each tree. As many rows at a time as have bins that stay in the cache: every tree is
    then brought there for many rows.
    """
    height = max(SCORED_ROWS, SCORED_BINS // max(1, X_binned.shape[0]))
    words, leaf = np.empty(left.shape[0], dtype=np.int64), np.empty(height, dtype=np.int64)
    root, codes = ROOT, X_binned.reshape(X_binned.size)
    for n in n_nodes:
        pack_nodes(feature[root : root + n], bin_[root : root + n], left[root : root + n], root, words)
        root += n
    for low in range(start, stop, height):
        high = min(stop, low + height)
        root, base = ROOT, 0
        for t in range(n_nodes.shape[0]):
            walk_rows(codes, low, X_binned.shape[1], words, root, high - low, leaf)
            for i in range(low, high):
                node = leaf[i - low]
                f, v = value[node], base + vector[node]
                for k in range(scores.shape[1]):
                    scores[i, k] += f * vectors[v, k]
            root += n_nodes[t]
            base += n_vectors[t]


@kernel
def split_leaves(X_binned, feature, bin_, child, sign, leaf, response, start, stop):
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


@kernel
def leaf_numbers(order, start, end, leaf):
    """Compute leaf[row] = number of the row's leaf."""
    for number in range(start.shape[0]):
        for i in range(start[number], end[number]):
            leaf[order[i]] = number


@kernel
def tree_columns(feature, bins, left, gain, node, first, thresholds, fall):
    """Return threshold, value, vector and gain of each node; gains are shares of `fall`.

    Feature j's thresholds are `thresholds[first[j]:]`.
    """
    n_nodes = feature.shape[0]
    threshold, value, share = np.empty(n_nodes), np.empty(n_nodes), np.empty(n_nodes)
    vector = np.zeros(n_nodes, dtype=np.int32)
    sum_ = 1e-300
    for i in range(n_nodes):
        sum_ += gain[i]
    for i in range(n_nodes):
        leaf = left[i] == i
        threshold[i] = np.inf if leaf else thresholds[first[feature[i]] + bins[i]]
        value[i] = 1.0 if leaf else 0.0
        share[i] = gain[i] * (fall / sum_)
    for number in range(node.shape[0]):
        vector[node[number]] = number
    return threshold, value, vector, share


# -- Vectors of leaves -------------------------------------------------------------------------------------------------
@kernel
def closed_form(gradient, hessian, ridge, largest):
    """Compute a = atanh(E / (T + 2 ridge)) cut at `largest`, entry by entry, and the sum of T cosh a - E sinh a."""
    vectors, value = np.empty(gradient.shape), 0.0
    for leaf in range(gradient.shape[0]):
        for k in range(gradient.shape[1]):
            room = hessian[leaf, k] + 2.0 * ridge[k]
            ratio = gradient[leaf, k] / room if room > 0.0 else 0.0
            if ratio >= 1.0:
                a = largest
            elif ratio <= -1.0:
                a = -largest
            else:
                a = min(max(math.atanh(ratio), -largest), largest)
            vectors[leaf, k] = a
            grown = math.exp(a)
            rising, falling = hessian[leaf, k] - gradient[leaf, k], hessian[leaf, k] + gradient[leaf, k]
            value += 0.5 * (rising * grown + falling / grown)
    return vectors, value


@kernel
def newton(gradient, hessian, whole, smoothing, shrinkage, largest):
    """Compute a = shrinkage E / (M + smoothing whole) cut at `largest`, by entry, and the sum of E a - M a^2 / 2."""
    vectors, fall = np.empty(gradient.shape), 0.0
    for leaf in range(gradient.shape[0]):
        for k in range(gradient.shape[1]):
            room = hessian[leaf, k] + smoothing * whole[k]
            a = gradient[leaf, k] / room * shrinkage if room > 0.0 else 0.0
            a = min(max(a, -largest), largest)
            vectors[leaf, k] = a
            fall += gradient[leaf, k] * a - 0.5 * hessian[leaf, k] * a * a
    return vectors, fall


# -- Responses of many learners ----------------------------------------------------------------------------------------
JOINT_ROWS = 512  # rows whose scores or gradients stay within the cache from one group to the next


@kernel
def joint_counts(codes, response, out):
    """Compute out[g] = how many joint responses group g would have with this learner in it."""
    seen = np.empty(512, dtype=np.bool_)
    for g in range(codes.shape[0]):
        seen[:] = False
        for i in range(codes.shape[1]):
            seen[2 * codes[g, i] + (response[i] > 0)] = True
        out[g] = seen.sum()


@kernel
def add_joint(codes, tables, scores, start, stop):
    """Compute scores[i] += tables[g, codes[g, i]] for all groups, rows start..stop."""
    for low in range(start, stop, JOINT_ROWS):
        high = min(low + JOINT_ROWS, stop)
        for g in range(codes.shape[0]):
            for i in range(low, high):
                row, s = tables[g, codes[g, i]], scores[i]
                for k in range(scores.shape[1]):
                    s[k] += row[k]


@kernel
def sum_joint(codes, values, in_bag, factor, sums, start, stop):
    """Add rint(values[i] * factor) to sums[g, codes[g, i]] for all groups, of the bag's rows of start..stop."""
    D = values.shape[1]
    whole = np.empty((JOINT_ROWS, D))
    for low in range(start, stop, JOINT_ROWS):
        high = min(low + JOINT_ROWS, stop)
        for i in range(low, high):
            for k in range(D):
                whole[i - low, k] = np.rint(values[i, k] * factor[k]) if in_bag[i] else 0.0
        for g in range(codes.shape[0]):
            for i in range(low, high):
                row, w = sums[g, codes[g, i]], whole[i - low]
                for k in range(D):
                    row[k] += w[k]
