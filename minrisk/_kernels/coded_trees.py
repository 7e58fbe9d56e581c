"""Scores under trees whose leaves add vectors, on rows that are coded first: faster than `predict` for many trees.

A value's code is the number of the feature's thresholds below it, so one byte is compared with one byte. A node is one
integer, left << 32 | feature << 8 | bin; a leaf's left is itself, and its bin 255 is above no code. Walks go down side
by side, since each waits for its own loads: eight rows in one tree, or one row in eight trees.
"""

import numpy as np

from minrisk._kernels._dtypes import LEAF_BIN
from minrisk._kernels._jit import kernel

CODED_ROWS, CODED_VALUES = 4096, 1 << 19  # rows coded and walked at a time, and their coded values: these stay in cache
EIGHT = 8  # rows or trees side by side: the walks are written out
LEFT_SHIFT, BIN_BITS = 32, 8  # bits of a node below its left child, and bits of its bin: see above
COLUMN = (1 << (LEFT_SHIFT - BIN_BITS)) - 1  # the largest feature that fits between them


@kernel
def encode(X, features, thresholds, low, n_rows, codes):
    """codes[i, c] = thresholds of features[c] below x of row low + i; none are below a missing value.

    `thresholds` (features, 256) are ascending, +inf behind the last one. A search in eight steps without a branch on
    the data: several values are searched for at a time.
    """
    for c in range(features.shape[0]):
        j, t = features[c], thresholds[c]
        for i in range(n_rows):
            x = np.float64(X[low + i, j])
            below = 128 * np.int64(x > t[127])
            below += 64 * np.int64(x > t[below + 63])
            below += 32 * np.int64(x > t[below + 31])
            below += 16 * np.int64(x > t[below + 15])
            below += 8 * np.int64(x > t[below + 7])
            below += 4 * np.int64(x > t[below + 3])
            below += 2 * np.int64(x > t[below + 1])
            codes[i, c] = below + np.int64(x > t[below])


@kernel
def pack_nodes(feature, bin_, left, root, nodes):
    """nodes[root + i] of the nodes of one tree whose first is number `root`."""
    for i in range(left.shape[0]):
        to = np.int64(root + left[i])
        nodes[root + i] = (to << LEFT_SHIFT) | (np.int64(feature[i]) << BIN_BITS) | np.int64(bin_[i])


@kernel
def step(node, code):
    """Where a node's word and the code of its feature lead."""
    return (node >> LEFT_SHIFT) + (code > (node & LEAF_BIN))


@kernel
def column(node):
    """Number of the coded feature that a node's word names."""
    return (node >> BIN_BITS) & COLUMN


@kernel
def walk_rows(codes, nodes, root, n_rows, leaf):
    """leaf[i] = leaf of row i in one tree."""
    whole = n_rows - n_rows % EIGHT
    for i in range(0, whole, EIGHT):
        a = b = c = d = e = f = g = h = root
        while True:
            na, nb, nc, nd = nodes[a], nodes[b], nodes[c], nodes[d]
            ne, nf, ng, nh = nodes[e], nodes[f], nodes[g], nodes[h]
            to_a, to_b = step(na, codes[i, column(na)]), step(nb, codes[i + 1, column(nb)])
            to_c, to_d = step(nc, codes[i + 2, column(nc)]), step(nd, codes[i + 3, column(nd)])
            to_e, to_f = step(ne, codes[i + 4, column(ne)]), step(nf, codes[i + 5, column(nf)])
            to_g, to_h = step(ng, codes[i + 6, column(ng)]), step(nh, codes[i + 7, column(nh)])
            moved = (a ^ to_a) | (b ^ to_b) | (c ^ to_c) | (d ^ to_d)
            moved |= (e ^ to_e) | (f ^ to_f) | (g ^ to_g) | (h ^ to_h)
            if moved == 0:
                break
            a, b, c, d, e, f, g, h = to_a, to_b, to_c, to_d, to_e, to_f, to_g, to_h
        leaf[i], leaf[i + 1], leaf[i + 2], leaf[i + 3] = a, b, c, d
        leaf[i + 4], leaf[i + 5], leaf[i + 6], leaf[i + 7] = e, f, g, h
    for i in range(whole, n_rows):
        a = root
        while True:
            to_a = step(nodes[a], codes[i, column(nodes[a])])
            if to_a == a:
                break
            a = to_a
        leaf[i] = a


@kernel
def walk_trees(code, nodes, roots, leaf):
    """leaf[t] = leaf of one row in each of eight trees."""
    a, b, c, d, e, f, g, h = roots[0], roots[1], roots[2], roots[3], roots[4], roots[5], roots[6], roots[7]
    while True:
        na, nb, nc, nd = nodes[a], nodes[b], nodes[c], nodes[d]
        ne, nf, ng, nh = nodes[e], nodes[f], nodes[g], nodes[h]
        to_a, to_b = step(na, code[column(na)]), step(nb, code[column(nb)])
        to_c, to_d = step(nc, code[column(nc)]), step(nd, code[column(nd)])
        to_e, to_f = step(ne, code[column(ne)]), step(nf, code[column(nf)])
        to_g, to_h = step(ng, code[column(ng)]), step(nh, code[column(nh)])
        moved = (a ^ to_a) | (b ^ to_b) | (c ^ to_c) | (d ^ to_d)
        moved |= (e ^ to_e) | (f ^ to_f) | (g ^ to_g) | (h ^ to_h)
        if moved == 0:
            break
        a, b, c, d, e, f, g, h = to_a, to_b, to_c, to_d, to_e, to_f, to_g, to_h
    leaf[0], leaf[1], leaf[2], leaf[3], leaf[4], leaf[5], leaf[6], leaf[7] = a, b, c, d, e, f, g, h


@kernel
def add_coded_trees(X, features, thresholds, nodes, vector, vectors, roots, start, stop, scores):
    """scores[i] += vectors[vector of x_i's leaf] in each of the trees with these roots, in order, rows start..stop."""
    n_outputs, n_trees = scores.shape[1], roots.shape[0]
    n_codes = max(1, features.shape[0])  # leaves read the first one, to no effect
    width = min(CODED_ROWS, max(64, CODED_VALUES // n_codes), stop - start)
    codes = np.empty((width, n_codes), dtype=np.uint8)
    leaf = np.empty((EIGHT, width), dtype=np.int64)
    few = np.empty(EIGHT, dtype=np.int64)
    for low in range(start, stop, max(1, width)):
        n_rows = min(width, stop - low)
        encode(X, features, thresholds, low, n_rows, codes)
        for t in range(0, n_trees, EIGHT):
            n = min(EIGHT, n_trees - t)
            if n_rows < EIGHT and n == EIGHT:
                for i in range(n_rows):
                    walk_trees(codes[i], nodes, roots[t : t + EIGHT], few)
                    for c in range(EIGHT):
                        leaf[c, i] = few[c]
            else:
                for c in range(n):
                    walk_rows(codes, nodes, roots[t + c], n_rows, leaf[c])
            for i in range(n_rows):
                out = scores[low + i]
                for c in range(n):
                    v = vectors[vector[leaf[c, i]]]
                    for k in range(n_outputs):
                        out[k] += v[k]
