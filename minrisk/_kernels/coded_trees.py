"""Scores under trees whose leaves add vectors, on rows that are coded first: faster than `predict` for many trees.

A value's code is the number of the feature's thresholds below it, so one byte is compared with one byte. A node is one
word, left << `shift` | column << 8 | bin, of which left is a place within the tree, and the right child the next one; a
leaf's left is itself, and its bin 255 is above no code. Words have 32 bits where these hold all columns, else 64.

*Few rows* walk from the root, one row in eight trees, since each walk waits for its own loads.

*Many rows* go down a tree 64 at a time. The top of a tree are the at most 255 nodes that have most nodes below them.
Each has a word of its own, column << 40 | bin << 32 | right << 16 | left, a parent before its children; left and right
are places among the top's nodes and, behind these, its ends, which are leaves or where the tree goes on. For every
place another word has a bit for each row that comes there. One comparison of 64 bytes gives the bits of the rows that
go right, and with these a node's word becomes the words of its children. QuickScorer (Lucchese et al., SIGIR 2015) and
RapidScorer (Ye et al., KDD 2018) have a bit for each leaf; with one for each row a node costs the same wherever it
stands. Where the tree goes on, each row walks on by itself.
"""

import numpy as np

from minrisk._kernels._dtypes import LEAF_BIN
from minrisk._kernels._jit import kernel, part
from minrisk._kernels.lanes import EIGHT, LANES, WORDS_NAMED, add_eight, lanes_above, name_lanes

TOP = 255  # nodes of a tree's top, at most: a byte names its ends
CODED_ROWS, CODED_BYTES = 1 << 14, 3 << 18  # rows looked at together, and bytes of their codes and sums: in cache
NODE_BIN_BITS, NARROW_BITS, WIDE_BITS = 8, 8, 24  # of a node's bin, and of its column in 32 bits and in 64
TOP_COLUMN, TOP_BIN, TOP_RIGHT = np.uint64(40), np.uint64(32), np.uint64(16)  # where a word of the top has these
TOP_PLACE = np.uint64(0xFFFF)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


# -- trees -------------------------------------------------------------------------------------------------------------
@kernel
def find_tops(left, is_leaf, column, bin_, offsets, tops, words, ends):
    """The tops of trees; returns how many nodes they have.

    Parameters
    ----------
    left, is_leaf, column, bin_ : ndarray of shape (n_nodes,)
        Left children as places within the tree; the right one is the next. Children stand behind their parents.
    offsets : ndarray of shape (n_trees + 1,)
    tops : ndarray of shape (n_trees + 1,), written
        Where each tree's words begin; its ends begin t places further.
    words : ndarray of uint64, of shape (n_nodes,), written
    ends : ndarray of uint16, of shape (n_nodes,), written
        Places within the tree.
    """
    largest = 0
    for t in range(tops.shape[0] - 1):
        largest = max(largest, offsets[t + 1] - offsets[t])
    below, open_, slot = np.empty(largest, np.int64), np.empty(TOP + 1, np.int64), np.empty(largest, np.int64)
    top = np.empty(TOP, np.int64)
    tops[0] = 0
    for t in range(tops.shape[0] - 1):
        root, n = offsets[t], offsets[t + 1] - offsets[t]
        for node in range(n - 1, -1, -1):
            to = left[root + node]
            below[node] = 0 if is_leaf[root + node] else 1 + below[to] + below[to + 1]
        open_[0], n_top = 0, 0
        while n_top < TOP:
            most = 0
            for i in range(1, n_top + 1):
                if below[open_[i]] > below[open_[most]]:
                    most = i
            node = open_[most]
            if below[node] == 0:
                break
            slot[node], top[n_top] = n_top, node
            n_top += 1
            open_[most], open_[n_top] = left[root + node], left[root + node] + 1
        first = tops[t]
        for i in range(n_top + 1):
            slot[open_[i]], ends[first + t + i] = n_top + i, open_[i]
        for i in range(n_top):
            node = root + top[i]
            links = (np.uint64(slot[left[node] + 1]) << TOP_RIGHT) | np.uint64(slot[left[node]])
            words[first + i] = (np.uint64(column[node]) << TOP_COLUMN) | (np.uint64(bin_[node]) << TOP_BIN) | links
        tops[t + 1] = first + n_top
    return tops[tops.shape[0] - 1]


# -- codes -------------------------------------------------------------------------------------------------------------
@kernel
def code_of(x, t):
    """Thresholds of t (256,), ascending and +inf behind the last one, below x; none are below a missing value.

    A search in eight steps without a branch on the data: several values are searched for at a time.
    """
    below = 128 * np.int64(x > t[127])
    below += 64 * np.int64(x > t[below + 63])
    below += 32 * np.int64(x > t[below + 31])
    below += 16 * np.int64(x > t[below + 15])
    below += 8 * np.int64(x > t[below + 7])
    below += 4 * np.int64(x > t[below + 3])
    below += 2 * np.int64(x > t[below + 1])
    return below + np.int64(x > t[below])


@kernel
def encode(X, features, thresholds, low, n_rows, codes):
    """Codes of rows low..low + n_rows, 64 rows of one feature side by side.

    The code of row 64 b + i in column c stands at codes[(b * n_features + c) * 64 + i].
    """
    n_features = features.shape[0]
    for start in range(0, n_rows, LANES):
        n = min(LANES, n_rows - start)
        for c in range(n_features):
            j, t, at = features[c], thresholds[c], start * n_features + c * LANES
            for i in range(n):
                codes[at + i] = code_of(np.float64(X[low + start + i, j]), t)


@kernel
def encode_few(X, features, thresholds, low, codes):
    """codes[i] = codes of row low + i, in all columns side by side."""
    for i in range(codes.shape[0]):
        for c in range(features.shape[0]):
            codes[i, c] = code_of(np.float64(X[low + i, features[c]]), thresholds[c])


@kernel
def keep_rows(codes, n_codes, rows, kept):
    """Codes of some rows, 64 rows of one feature side by side as in `encode`."""
    for i in range(rows.shape[0]):
        source = rows[i] // LANES * LANES * n_codes + rows[i] % LANES
        to = i // LANES * LANES * n_codes + i % LANES
        for c in range(n_codes):
            kept[to + c * LANES] = codes[source + c * LANES]


# -- walks -------------------------------------------------------------------------------------------------------------
@part
def step(word, code, shift):
    """Place that a node's word and the code of its column lead to."""
    return np.int64(word >> shift) + np.int64(code > (word & LEAF_BIN))


@part
def column(word, mask):
    """Number of the coded feature that a node's word names."""
    return np.int64((word >> NODE_BIN_BITS) & mask)


@kernel
def walk_rows(codes, base, nodes, shift, place):
    """Let 64 rows, whose codes begin at `base`, walk on in a tree from place[i] to a leaf."""
    mask = (1 << (shift - NODE_BIN_BITS)) - 1
    for i in range(0, LANES, EIGHT):
        a, b, c, d = place[i], place[i + 1], place[i + 2], place[i + 3]
        e, f, g, h = place[i + 4], place[i + 5], place[i + 6], place[i + 7]
        at = base + i
        while True:
            na, nb, nc, nd = nodes[a], nodes[b], nodes[c], nodes[d]
            ne, nf, ng, nh = nodes[e], nodes[f], nodes[g], nodes[h]
            to_a = step(na, codes[at + column(na, mask) * LANES], shift)
            to_b = step(nb, codes[at + 1 + column(nb, mask) * LANES], shift)
            to_c = step(nc, codes[at + 2 + column(nc, mask) * LANES], shift)
            to_d = step(nd, codes[at + 3 + column(nd, mask) * LANES], shift)
            to_e = step(ne, codes[at + 4 + column(ne, mask) * LANES], shift)
            to_f = step(nf, codes[at + 5 + column(nf, mask) * LANES], shift)
            to_g = step(ng, codes[at + 6 + column(ng, mask) * LANES], shift)
            to_h = step(nh, codes[at + 7 + column(nh, mask) * LANES], shift)
            moved = (a ^ to_a) | (b ^ to_b) | (c ^ to_c) | (d ^ to_d)
            moved |= (e ^ to_e) | (f ^ to_f) | (g ^ to_g) | (h ^ to_h)
            if moved == 0:
                break
            a, b, c, d, e, f, g, h = to_a, to_b, to_c, to_d, to_e, to_f, to_g, to_h
        place[i], place[i + 1], place[i + 2], place[i + 3] = a, b, c, d
        place[i + 4], place[i + 5], place[i + 6], place[i + 7] = e, f, g, h


@kernel
def walk_trees(code, nodes, roots, shift, leaf):
    """leaf[t] = node where one row ends in each of eight trees."""
    mask = (1 << (shift - NODE_BIN_BITS)) - 1
    ra, rb, rc, rd, re, rf, rg, rh = roots[0], roots[1], roots[2], roots[3], roots[4], roots[5], roots[6], roots[7]
    a = b = c = d = e = f = g = h = np.int64(0)
    while True:
        na, nb, nc, nd = nodes[ra + a], nodes[rb + b], nodes[rc + c], nodes[rd + d]
        ne, nf, ng, nh = nodes[re + e], nodes[rf + f], nodes[rg + g], nodes[rh + h]
        to_a, to_b = step(na, code[column(na, mask)], shift), step(nb, code[column(nb, mask)], shift)
        to_c, to_d = step(nc, code[column(nc, mask)], shift), step(nd, code[column(nd, mask)], shift)
        to_e, to_f = step(ne, code[column(ne, mask)], shift), step(nf, code[column(nf, mask)], shift)
        to_g, to_h = step(ng, code[column(ng, mask)], shift), step(nh, code[column(nh, mask)], shift)
        moved = (a ^ to_a) | (b ^ to_b) | (c ^ to_c) | (d ^ to_d)
        moved |= (e ^ to_e) | (f ^ to_f) | (g ^ to_g) | (h ^ to_h)
        if moved == 0:
            break
        a, b, c, d, e, f, g, h = to_a, to_b, to_c, to_d, to_e, to_f, to_g, to_h
    leaf[0], leaf[1], leaf[2], leaf[3] = ra + a, rb + b, rc + c, rd + d
    leaf[4], leaf[5], leaf[6], leaf[7] = re + e, rf + f, rg + g, rh + h


@kernel
def find_leaves(codes, base, top, ends, nodes, shift, words, named, place):
    """place[i] = the leaf of each of 64 rows in a tree, whose codes begin at `base`.

    `words` (2 TOP + 1 + WORDS_NAMED,) and `named` (64,) are room.
    """
    n_top, n_ends = np.uint64(top.shape[0]), np.uint64(ends.shape[0])
    words[0] = ALL
    for q in range(n_top):
        node, reached = top[q], words[q]
        right = lanes_above(codes, base + np.int64(node >> TOP_COLUMN) * LANES, np.uint8(node >> TOP_BIN))
        words[node & TOP_PLACE] = reached & ~right
        words[(node >> TOP_RIGHT) & TOP_PLACE] = reached & right
    for q in range(WORDS_NAMED):
        words[n_top + n_ends + np.uint64(q)] = np.uint64(0)
    for i in range(LANES):
        named[i] = np.uint8(0)
    for end in range(0, ends.shape[0], WORDS_NAMED):
        name_lanes(named, 0, words, top.shape[0] + end, np.uint8(end))
    for i in range(LANES):
        place[i] = ends[np.uint64(named[i])]
    if nodes.shape[0] > top.shape[0] + ends.shape[0]:
        walk_rows(codes, base, nodes, shift, place)


# -- sums --------------------------------------------------------------------------------------------------------------
@kernel
def add_to_many(codes, n_rows, n_codes, nodes, shift, roots, tops, top, ends, vector, vectors, first, last, sums):
    """sums[i] += vector of the leaf of coded row i in each of trees first..last, in order."""
    words, named = np.empty(2 * TOP + 1 + WORDS_NAMED, dtype=np.uint64), np.empty(LANES, dtype=np.uint8)
    place = np.empty(LANES, dtype=np.int64)
    for t in range(first, last):
        tree, own = nodes[roots[t] : roots[t + 1]], vector[roots[t] : roots[t + 1]]
        of_top, of_ends = top[tops[t] : tops[t + 1]], ends[tops[t] + t : tops[t + 1] + t + 1]
        for low in range(0, n_rows, LANES):
            find_leaves(codes, low * n_codes, of_top, of_ends, tree, shift, words, named, place)
            for i in range(min(LANES, n_rows - low)):
                out, v = sums[low + i], vectors[own[place[i]]]
                for k in range(out.shape[0]):
                    out[k] += v[k]


@kernel
def count_to_many(codes, n_rows, n_codes, nodes, shift, roots, tops, top, ends, vector, vectors, first, last, sums):
    """The same of whole numbers, whose columns are whole eights."""
    words, named = np.empty(2 * TOP + 1 + WORDS_NAMED, dtype=np.uint64), np.empty(LANES, dtype=np.uint8)
    place, width = np.empty(LANES, dtype=np.int64), np.int64(vectors.shape[1])
    for t in range(first, last):
        tree, own = nodes[roots[t] : roots[t + 1]], vector[roots[t] : roots[t + 1]]
        of_top, of_ends = top[tops[t] : tops[t + 1]], ends[tops[t] + t : tops[t + 1] + t + 1]
        for low in range(0, n_rows, LANES):
            find_leaves(codes, low * n_codes, of_top, of_ends, tree, shift, words, named, place)
            for i in range(min(LANES, n_rows - low)):
                begin, to = np.int64(own[np.uint64(place[i])]) * width, (low + i) * width
                for k in range(0, width, EIGHT):
                    add_eight(vectors, begin + k, sums, to + k)


@kernel
def add_to_few(codes, nodes, shift, roots, vector, vectors, first, last, sums):
    """sums[i] += vector of the leaf of row i, whose codes are codes[i], in each of trees first..last, in order."""
    leaf, mask = np.empty(EIGHT, dtype=np.int64), (1 << (shift - NODE_BIN_BITS)) - 1
    whole = last - (last - first) % EIGHT
    for i in range(codes.shape[0]):
        code, out = codes[i], sums[i]
        for t in range(first, whole, EIGHT):
            walk_trees(code, nodes, roots[t : t + EIGHT], shift, leaf)
            for c in range(EIGHT):
                v = vectors[vector[leaf[c]]]
                for k in range(out.shape[0]):
                    out[k] += v[k]
        for t in range(whole, last):
            tree, place = nodes[roots[t] : roots[t + 1]], np.int64(0)
            while True:
                to = step(tree[place], code[column(tree[place], mask)], shift)
                if to == place:
                    break
                place = to
            v = vectors[vector[roots[t] + place]]
            for k in range(out.shape[0]):
                out[k] += v[k]
