"""Shapley values of trees, leaf by leaf, for some rows side by side.

A leaf adds its vector times prod_f (o_f if f is known else z_f) over the features f on its path: o_f says whether the
row meets all of the path's conditions on f, z_f is the share of the background's rows that go this way at the splits by
f (Lundberg, Erion and Lee 2018, Algorithm 1). Where each feature is known with probability t, apart from the others,
that is a polynomial of t,

    F(t) = prod_f ((1 - t) z_f + t o_f),

and the Shapley value of f is the integral over t from 0 to 1 of (o_f - z_f) F(t) / ((1 - t) z_f + t o_f) (Owen 1972).
On m features its degree is m - 1, so that ceil(m / 2) points of Gauss and Legendre give it exactly. No term is
subtracted from another, and o_f = 0 makes the factor -1 / (1 - t), the same for all features that are not met.

An *entry* is a feature on the path to a leaf, with all conditions on it. Rows are told by their *codes*: of each
feature, how many of the model's thresholds lie below the value; 0 where it is missing.

Shapley values of sums of Gaussian kernels, each of which is a product of one factor for each feature.
"""

import math

import numpy as np

from minrisk._kernels._jit import kernel, part

ROWS_TOGETHER = 512  # of the background: their codes stay in cache while they go down a tree


@kernel
def count_rows(code, feature, cut, left, offsets, first, last, count):
    """Compute count[node] = rows of `code` (n, d) that come to each node of trees first..last."""
    for low in range(0, len(code), ROWS_TOGETHER):
        for t in range(first, last):
            root = offsets[t]
            for i in range(low, min(low + ROWS_TOGETHER, len(code))):
                node = root
                while left[node] != node:
                    node = left[node] + (code[i, feature[node]] > cut[node])
                count[node] += 1
    for t in range(first, last):
        for node in range(offsets[t + 1] - 1, offsets[t] - 1, -1):  # children come after their parents
            if left[node] != node:
                count[node] = count[left[node]] + count[left[node] + 1]


@kernel
def merge_paths(feature, cut, left, offsets, count, first_entry, entry_feature, lowest, highest, share):
    """Write the entries of all leaves, one after another, and where those of each leaf begin; returns their number.

    Codes from `lowest` to `highest` meet an entry's conditions; `share` is its z. A split that no row of the background
    comes to divides evenly. With arrays of no entries they are counted only.
    """
    parent = np.empty(len(left), dtype=np.int64)
    writes, n_entries, n_leaves = len(entry_feature) > 0, np.int64(0), 0
    at = np.empty(len(cut), dtype=np.int32)  # of the leaf's features
    for t in range(len(offsets) - 1):
        root = offsets[t]
        parent[root] = root
        for node in range(root, offsets[t + 1]):
            if left[node] != node:
                parent[left[node]] = node
                parent[left[node] + 1] = node
                continue
            first_entry[n_leaves] = n_entries
            n_leaves += 1
            m, below = 0, node
            while below != root:
                above = parent[below]
                f, j = feature[above], 0
                while j < m and at[j] != f:
                    j += 1
                if j == m:
                    at[m] = f
                    m += 1
                    if writes:
                        entry_feature[n_entries + j], share[n_entries + j] = f, 1.0
                        lowest[n_entries + j], highest[n_entries + j] = 0, np.iinfo(np.int32).max
                if writes:
                    e = n_entries + j
                    if below > left[above]:
                        lowest[e] = max(lowest[e], cut[above] + 1)
                    else:
                        highest[e] = min(highest[e], cut[above])
                    share[e] *= count[below] / count[above] if count[above] > 0 else 0.5
                below = above
            n_entries += m
    first_entry[n_leaves] = n_entries
    return n_entries


@kernel
def entry_weights(code, paths, points, first_leaf, last_leaf, product, held, share, weight):
    """Compute weight[e, r] = Shapley weights of the entries of some leaves, from 0, in the rows r of `code` (d, r).

    `paths` are first_entry, feature, lowest, highest and share of `merge_paths`; `points` are where the rule of each
    number of points begins, these points, and their weights. Entries are looked at by fours, of which some may be
    empty, and points by threes, of which some may not be needed: a pass through the rows does more.
    """
    first_entry, feature, lowest, highest, shares = paths
    first_point, point, point_weight = points
    n_rows, before = code.shape[1], first_entry[first_leaf]
    for leaf in range(first_leaf, last_leaf):
        start, m = first_entry[leaf], first_entry[leaf + 1] - first_entry[leaf]
        n_points = 3 * ((m + 5) // 6)
        p0 = first_point[n_points]
        for s in range(m):
            f, low, high = feature[start + s], lowest[start + s], highest[start + s]
            share[s] = shares[start + s]
            for r in range(n_rows):
                held[s, r] = 1.0 if (code[f, r] >= low) & (code[f, r] <= high) else 0.0
        for s in range(m, m + (-m) % 4):
            share[s] = 1.0
            for r in range(n_rows):
                held[s, r] = 1.0
        for q in range(n_points):
            t, w = point[p0 + q], point_weight[p0 + q]
            for s in range(0, m, 4):
                a, b = share[s] * (1.0 - t), share[s + 1] * (1.0 - t)
                c, d = share[s + 2] * (1.0 - t), share[s + 3] * (1.0 - t)
                for r in range(n_rows):
                    before_these = w if s == 0 else product[q, r]
                    two = (a + held[s, r] * t) * (b + held[s + 1, r] * t)
                    product[q, r] = before_these * (two * ((c + held[s + 2, r] * t) * (d + held[s + 3, r] * t)))
        for q in range(0, n_points, 3):
            a, b, c = 1.0 / (1.0 - point[p0 + q]), 1.0 / (1.0 - point[p0 + q + 1]), 1.0 / (1.0 - point[p0 + q + 2])
            for r in range(n_rows):
                so_far = 0.0 if q == 0 else product[n_points, r]
                product[n_points, r] = so_far - (a * product[q, r] + b * product[q + 1, r] + c * product[q + 2, r])
        for s in range(m):
            e, z = start + s - before, share[s]
            for q in range(0, n_points, 3):
                t, u, v = point[p0 + q], point[p0 + q + 1], point[p0 + q + 2]
                a, b = (1.0 - z) / (z * (1.0 - t) + t), (1.0 - z) / (z * (1.0 - u) + u)
                c = (1.0 - z) / (z * (1.0 - v) + v)
                for r in range(n_rows):
                    so_far = 0.0 if q == 0 else weight[e, r]
                    so_far += a * product[q, r] + b * product[q + 1, r] + c * product[q + 2, r]
                    weight[e, r] = so_far if held[s, r] > 0.0 else product[n_points, r]


@kernel
def add_vectors(weight, groups, first_group, last_group, before, vectors, values):
    """Compute values[f, k, r] += weight[e, r] * vectors[leaf of e, k] over the entries e of each feature f.

    `groups` are where the entries of each tree and feature begin in what follows, their feature, their entries and
    these entries' leaves; entries are counted from `before` in `weight`.
    """
    first_place, group_feature, entry, leaf = groups
    n_outputs, n_rows = vectors.shape[1], weight.shape[1]
    for g in range(first_group, last_group):
        f, start, stop = group_feature[g], first_place[g], first_place[g + 1]
        whole = stop - (stop - start) % 4
        for i in range(start, whole, 4):
            a, b, c, d = entry[i] - before, entry[i + 1] - before, entry[i + 2] - before, entry[i + 3] - before
            la, lb, lc, ld = leaf[i], leaf[i + 1], leaf[i + 2], leaf[i + 3]
            for k in range(n_outputs):
                va, vb, vc, vd = vectors[la, k], vectors[lb, k], vectors[lc, k], vectors[ld, k]
                for r in range(n_rows):
                    values[f, k, r] += weight[a, r] * va + weight[b, r] * vb + weight[c, r] * vc + weight[d, r] * vd
        for i in range(whole, stop):
            a, la = entry[i] - before, leaf[i]
            for k in range(n_outputs):
                va = vectors[la, k]
                for r in range(n_rows):
                    values[f, k, r] += weight[a, r] * va


@kernel
def add_products(weight, paths, first_leaf, last_leaf, vectors, direction, product, values):
    """Add weight[e, r] * <vectors[leaf of e], direction[:, r]> to values[f, 0, r], over each feature's entries e."""
    first_entry, feature, _, _, _ = paths
    n_outputs, n_rows, before = vectors.shape[1], weight.shape[1], first_entry[first_leaf]
    for leaf in range(first_leaf, last_leaf):
        for r in range(n_rows):
            product[0, r] = 0.0
        for k in range(n_outputs):
            v = vectors[leaf, k]
            for r in range(n_rows):
                product[0, r] += v * direction[k, r]
        for e in range(first_entry[leaf], first_entry[leaf + 1]):
            f = feature[e]
            for r in range(n_rows):
                values[f, 0, r] += weight[e - before, r] * product[0, r]


@kernel
def add_shapley_values(code, paths, points, groups, tree_leaves, tree_groups, most_entries, vectors, direction, values):
    """Add the Shapley values of all trees to `values` (d, D, r): of all outputs, or with a `direction` of one.

    Without a direction, which then has no rows, each output has its own values; else they are those of the products of
    the outputs and ``direction[:, r]``, and D is 1.
    """
    n_rows = code.shape[1]
    first_entry = paths[0]
    most_points = len(points[0]) - 1
    product, held = np.empty((most_points + 1, n_rows)), np.empty((2 * most_points + 4, n_rows))
    share = np.empty(2 * most_points + 4)
    weight = np.empty((most_entries, n_rows))
    for t in range(len(tree_leaves) - 1):
        low, high = tree_leaves[t], tree_leaves[t + 1]
        entry_weights(code, paths, points, low, high, product, held, share, weight)
        if len(direction) == 0:
            add_vectors(weight, groups, tree_groups[t], tree_groups[t + 1], first_entry[low], vectors, values)
        else:
            add_products(weight, paths, low, high, vectors, direction, product, values)


@kernel
def expected_scores(code, known, paths, vectors, scores):
    """Add to scores[i] what trees answer on average where only the features of `known` (d,) are known; rows (d, n)."""
    first_entry, feature, lowest, highest, share = paths
    for i in range(code.shape[1]):
        for leaf in range(len(first_entry) - 1):
            reached = 1.0
            for e in range(first_entry[leaf], first_entry[leaf + 1]):
                f = feature[e]
                if not known[f]:
                    reached *= share[e]
                elif code[f, i] < lowest[e] or code[f, i] > highest[e]:
                    reached = 0.0
                    break
            if reached > 0.0:
                for k in range(vectors.shape[1]):
                    scores[i, k] += reached * vectors[leaf, k]


# -- Gaussian kernels --------------------------------------------------------------------------------------------------
@part
def factor(x, center, scale, landmark, width):
    """Return a feature's factor; missing values are the center, as in `minrisk._kernels.linear`."""
    z = (x - center) / scale
    apart = (z if z == z else 0.0) - landmark
    return math.exp(-width * (apart * apart))


@kernel
def add_factors(X, center, scale, landmarks, width, n, out):
    """Add to out[j, c] the sum over these of n rows of feature j's factor for landmark c, over n, or 0 if left out."""
    d, m = landmarks.shape
    for i in range(len(X)):
        for j in range(d):
            if scale[j] > 0.0:
                for c in range(m):
                    out[j, c] += factor(X[i, j], center[j], scale[j], landmarks[j, c], width) / n


@kernel
def add_smooth_shapley_values(X, center, scale, landmarks, width, mean, point, point_weight, vectors, values):
    """Add to values[i, j, k] the Shapley values of feature j in all kernels c, times vectors[c, k].

    The kernel of a coalition is the product of the factors of its features and the `mean` factors of the others. The
    Shapley value of j is the integral over t of (o_j - z_j) prod_g ((1 - t) z_g + t o_g) over the other features g, as
    in `minrisk._kernels.shapley`.
    """
    d, m = landmarks.shape
    n_points, n_outputs = len(point), vectors.shape[1]
    own, product = np.empty((d, m)), np.empty((n_points, m))
    for i in range(len(X)):
        for q in range(n_points):
            for c in range(m):
                product[q, c] = point_weight[q]
        for j in range(d):
            if scale[j] == 0.0:
                continue
            for c in range(m):
                own[j, c] = factor(X[i, j], center[j], scale[j], landmarks[j, c], width)
            for q in range(n_points):
                t = point[q]
                for c in range(m):
                    product[q, c] *= (1.0 - t) * mean[j, c] + t * own[j, c]
        for j in range(d):
            if scale[j] == 0.0:
                continue
            for c in range(m):
                weight, apart = 0.0, own[j, c] - mean[j, c]
                if apart != 0.0:
                    for q in range(n_points):
                        t = point[q]
                        between = (1.0 - t) * mean[j, c] + t * own[j, c]
                        if between > 0.0:  # if not, products without it vanish as well, to float64
                            weight += product[q, c] / between
                    weight *= apart
                    for k in range(n_outputs):
                        values[i, j, k] += weight * vectors[c, k]
