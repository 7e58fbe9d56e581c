"""Scores of models: packed trees, step tables, coded trees, and decisions before the last tree.

Packed trees, on raw rows: every step of a walk is node = left[node] + (x > threshold[node]).

A leaf points to itself with threshold +inf, so walks need no branch on the data and a few rows go down a tree side by
side. A missing value compares as not greater, so it goes left.

Step tables, for stumps, feature by feature: a sum of stumps on one feature is a step function of it.

64 rows at a time: comparisons of 64 bytes give the 64 bits of a word, a bit for each row.

What Numba makes of such loops on its own are comparisons of one byte after another. These few operations are therefore
written as vectors of LLVM, which every processor has instructions for: one with AVX-512, two with AVX2, four with NEON.

Coded trees, whose leaves add vectors, on rows that are coded first: faster for many trees.

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

Decisions before the last tree: how far remaining trees can still move scores, and which rows that leaves open.
"""

import math

import numpy as np
from numba import types
from numba.core import config
from numba.extending import intrinsic

from minrisk._kernels._dtypes import LEAF_BIN
from minrisk._kernels._jit import kernel, part
from minrisk._kernels.histogram import code_of
from minrisk._kernels.linear import change_along

WALKED_ROWS, WALKED_VALUES = 1024, 1 << 18  # rows of a block, and values of X: a tree's nodes and vectors stay in cache
WALKED_TREES = 4  # trees walked before their vectors are added: the row's scores stay in registers meanwhile
LEFT_BITS = 32  # of a packed node's left child, above its feature


@kernel
def walk(block, threshold, link, root, n_rows, leaf):
    """Compute leaf[i] = the leaf of row i of the block (d, n), four rows at a time."""
    mask = (np.int64(1) << LEFT_BITS) - 1
    whole = n_rows - n_rows % 4
    for i in range(0, whole, 4):
        a = b = c = d = root
        while True:
            la, lb, lc, ld = link[a], link[b], link[c], link[d]
            to_a = (la >> LEFT_BITS) + (block[la & mask, i] > threshold[a])
            to_b = (lb >> LEFT_BITS) + (block[lb & mask, i + 1] > threshold[b])
            to_c = (lc >> LEFT_BITS) + (block[lc & mask, i + 2] > threshold[c])
            to_d = (ld >> LEFT_BITS) + (block[ld & mask, i + 3] > threshold[d])
            if (a ^ to_a) | (b ^ to_b) | (c ^ to_c) | (d ^ to_d) == 0:
                break
            a, b, c, d = to_a, to_b, to_c, to_d
        leaf[i], leaf[i + 1], leaf[i + 2], leaf[i + 3] = a, b, c, d
    for i in range(whole, n_rows):
        a = root
        while True:
            la = link[a]
            to_a = (la >> LEFT_BITS) + (block[la & mask, i] > threshold[a])
            if to_a == a:
                break
            a = to_a
        leaf[i] = a


@part
def adds_nothing(link, value, vector, root, vectors):
    """Return whether a tree is one leaf that adds zeros, as those are that keep the place of a member that is done."""
    if link[root] >> LEFT_BITS != root:
        return False
    largest = 0.0
    for k in range(vectors.shape[1]):
        largest = max(largest, abs(value[root] * vectors[vector[root], k]))
    return largest == 0.0


@kernel
def add_trees(X, threshold, link, value, vector, offsets, vectors, first, last, start, stop, scores):
    """Add value * vectors[vector] of x_i's leaf to scores[i], in each of trees first..last, in order.

    `link` is left << 32 | feature.
    """
    n_outputs, n_features = scores.shape[1], X.shape[1]
    width = min(WALKED_ROWS, max(64, WALKED_VALUES // n_features), stop - start)
    block = np.empty((n_features, width), dtype=X.dtype)
    leaf = np.empty((WALKED_TREES, width), dtype=np.int64)
    for low in range(start, stop, max(1, width)):
        n_rows = min(width, stop - low)
        for i in range(n_rows):
            for j in range(n_features):
                block[j, i] = X[low + i, j]
        t = first
        while t < last:
            n_trees = 0
            while t < last and n_trees < WALKED_TREES:
                if not adds_nothing(link, value, vector, offsets[t], vectors):
                    walk(block, threshold, link, offsets[t], n_rows, leaf[n_trees])
                    n_trees += 1
                t += 1
            for i in range(n_rows):
                for c in range(n_trees):
                    f, v = value[leaf[c, i]], vector[leaf[c, i]]
                    for k in range(n_outputs):
                        scores[low + i, k] += f * vectors[v, k]


@kernel
def add_linear_trees(
    X, feature, threshold, left, value, vector, offsets, depth, slope, origin, vectors, first, last, start, stop, scores
):
    """Do the same where a leaf answers value + slope * (x - origin) of its own feature, or value if it is missing."""
    n_outputs = scores.shape[1]
    for i in range(start, stop):
        for t in range(first, last):
            node = np.int64(offsets[t])
            for _ in range(depth[t]):
                node = np.int64(left[node] + (X[i, feature[node]] > threshold[node]))
            f = value[node]
            if slope[node] != 0.0:
                f += change_along(np.float64(X[i, feature[node]]), slope[node], origin[node])
            v = vector[node]
            for k in range(n_outputs):
                scores[i, k] += f * vectors[v, k]


# -- Step tables -------------------------------------------------------------------------------------------------------
@kernel
def add_steps(X, features, offsets, thresholds, table, start, stop, scores):
    """Compute scores[i] += the row of `table` for x_i's place among the thresholds of each feature, rows start..stop.

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


# -- 64 rows at a time -------------------------------------------------------------------------------------------------
LANES = 64  # rows side by side
WORDS_NAMED = 16  # words that `name_lanes` looks at together
EIGHT = 8  # entries that `add_eight` adds

if config.DISABLE_JIT:

    def lanes_above(codes, offset, bin_):
        """See below."""
        bits = np.packbits(codes[offset : offset + LANES] > bin_, bitorder="little")
        return bits.view(np.uint64)[0]

    def name_lanes(out, offset, words, first, number):
        """See below."""
        for j in range(WORDS_NAMED):
            bits = np.unpackbits(words[first + j : first + j + 1].view(np.uint8), bitorder="little")
            out[offset : offset + LANES] |= bits * np.uint8(number + j)

    def add_eight(vectors, begin, sums, first):
        """See below."""
        sums.reshape(-1)[first : first + EIGHT] += vectors.reshape(-1)[begin : begin + EIGHT]

else:
    from llvmlite import ir

    SHORTS, INTEGERS = (ir.VectorType(ir.IntType(bits), EIGHT) for bits in (16, 32))
    BYTES, BITS = ir.VectorType(ir.IntType(8), LANES), ir.VectorType(ir.IntType(1), LANES)
    WORD, ORDER = ir.IntType(64), ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)

    def _pointer(context, builder, array_type, array, offset):
        """Point to an entry of a contiguous array."""
        return builder.gep(context.make_array(array_type)(context, builder, array).data, [offset])

    def _loaded(builder, pointer):
        """Load 64 bytes from there on, at any address."""
        loaded = builder.load(builder.bitcast(pointer, BYTES.as_pointer()))
        loaded.align = 1
        return loaded

    def _all_lanes(builder, byte):
        """Return a byte, 64 times."""
        first = builder.insert_element(ir.Constant(BYTES, ir.Undefined), byte, ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(first, ir.Constant(BYTES, ir.Undefined), ORDER)

    @intrinsic
    def lanes_above(typing_context, codes, offset, bin_):
        """Return a word whose bit i says whether codes[offset + i] > bin_, for bytes."""

        def generate(context, builder, signature, arguments):
            array, start, byte = arguments
            lanes = _loaded(builder, _pointer(context, builder, signature.args[0], array, start))
            return builder.bitcast(builder.icmp_unsigned(">", lanes, _all_lanes(builder, byte)), WORD)

        return types.uint64(codes, types.intp, types.uint8), generate

    @intrinsic
    def name_lanes(typing_context, out, offset, words, first, number):
        """Set out[offset + i] |= number + j where bit i of words[first + j] is set, for 16 words j."""

        def generate(context, builder, signature, arguments):
            out_array, start, word_array, first_word, base = arguments
            pointer = _pointer(context, builder, signature.args[0], out_array, start)
            word = _pointer(context, builder, signature.args[2], word_array, first_word)
            numbers, parts = _all_lanes(builder, base), [ir.Constant(BYTES, [0] * LANES)] * 2
            for j in range(WORDS_NAMED):  # in two chains, each of which waits for its own last word only
                bits = builder.bitcast(builder.load(builder.gep(word, [ir.Constant(WORD, j)])), BITS)
                named = builder.add(numbers, ir.Constant(BYTES, [j] * LANES))
                parts[j % 2] = builder.select(bits, named, parts[j % 2])
            whole = builder.or_(_loaded(builder, pointer), builder.or_(*parts))
            stored = builder.store(whole, builder.bitcast(pointer, BYTES.as_pointer()))
            stored.align = 1
            return context.get_dummy_value()

        return types.void(out, types.intp, words, types.intp, types.uint8), generate

    @intrinsic
    def add_eight(typing_context, vectors, begin, sums, first):
        """Add eight of vectors, from begin on, to sums from first on, as they lie in memory, int16 to int32."""

        def generate(context, builder, signature, arguments):
            vector_array, begins, sum_array, place = arguments
            added = _pointer(context, builder, signature.args[0], vector_array, begins)
            total = _pointer(context, builder, signature.args[2], sum_array, place)
            added, total = builder.bitcast(added, SHORTS.as_pointer()), builder.bitcast(total, INTEGERS.as_pointer())
            short, before = builder.load(added), builder.load(total)
            short.align, before.align = 2, 4
            stored = builder.store(builder.add(before, builder.sext(short, INTEGERS)), total)
            stored.align = 4
            return context.get_dummy_value()

        return types.void(vectors, types.intp, sums, types.intp), generate


# -- Coded trees -------------------------------------------------------------------------------------------------------
TOP = 255  # nodes of a tree's top, at most: a byte names its ends
CODED_ROWS, CODED_BYTES = 1 << 14, 3 << 18  # rows looked at together, and bytes of their codes and sums: in cache
NODE_BIN_BITS, NARROW_BITS, WIDE_BITS = 8, 8, 24  # of a node's bin, and of its column in 32 bits and in 64
TOP_COLUMN, TOP_BIN, TOP_RIGHT = np.uint64(40), np.uint64(32), np.uint64(16)  # where a word of the top has these
TOP_PLACE = np.uint64(0xFFFF)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


# -- trees -------------------------------------------------------------------------------------------------------------
@kernel
def find_tops(left, is_leaf, column, bin_, offsets, tops, words, ends):
    """Find the tops of trees; return how many nodes they have.

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
def encode(X, features, thresholds, low, n_rows, codes):
    """Fill codes of rows low..low + n_rows, 64 rows of one feature side by side.

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
    """Compute codes[i] = codes of row low + i, in all columns side by side."""
    for i in range(codes.shape[0]):
        for c in range(features.shape[0]):
            codes[i, c] = code_of(np.float64(X[low + i, features[c]]), thresholds[c])


@kernel
def keep_rows(codes, n_codes, rows, kept):
    """Fill codes of some rows, 64 rows of one feature side by side as in `encode`."""
    for i in range(rows.shape[0]):
        source = rows[i] // LANES * LANES * n_codes + rows[i] % LANES
        to = i // LANES * LANES * n_codes + i % LANES
        for c in range(n_codes):
            kept[to + c * LANES] = codes[source + c * LANES]


# -- walks -------------------------------------------------------------------------------------------------------------
@part
def step(word, code, shift):
    """Return the place that a node's word and the code of its column lead to."""
    return np.int64(word >> shift) + np.int64(code > (word & LEAF_BIN))


@part
def column(word, mask):
    """Return number of the coded feature that a node's word names."""
    return np.int64((word >> NODE_BIN_BITS) & mask)


@part
def walk_on(codes, base, stride, nodes, shift, n_rows, place):
    """Let rows walk on in a tree from place[i] to a leaf; row i's code in column c is codes[base + c * stride + i]."""
    mask = (1 << (shift - NODE_BIN_BITS)) - 1
    whole = n_rows - n_rows % EIGHT
    for i in range(0, whole, EIGHT):
        a, b, c, d = place[i], place[i + 1], place[i + 2], place[i + 3]
        e, f, g, h = place[i + 4], place[i + 5], place[i + 6], place[i + 7]
        at = base + i
        while True:
            na, nb, nc, nd = nodes[a], nodes[b], nodes[c], nodes[d]
            ne, nf, ng, nh = nodes[e], nodes[f], nodes[g], nodes[h]
            to_a = step(na, codes[at + column(na, mask) * stride], shift)
            to_b = step(nb, codes[at + 1 + column(nb, mask) * stride], shift)
            to_c = step(nc, codes[at + 2 + column(nc, mask) * stride], shift)
            to_d = step(nd, codes[at + 3 + column(nd, mask) * stride], shift)
            to_e = step(ne, codes[at + 4 + column(ne, mask) * stride], shift)
            to_f = step(nf, codes[at + 5 + column(nf, mask) * stride], shift)
            to_g = step(ng, codes[at + 6 + column(ng, mask) * stride], shift)
            to_h = step(nh, codes[at + 7 + column(nh, mask) * stride], shift)
            moved = (a ^ to_a) | (b ^ to_b) | (c ^ to_c) | (d ^ to_d)
            moved |= (e ^ to_e) | (f ^ to_f) | (g ^ to_g) | (h ^ to_h)
            if moved == 0:
                break
            a, b, c, d, e, f, g, h = to_a, to_b, to_c, to_d, to_e, to_f, to_g, to_h
        place[i], place[i + 1], place[i + 2], place[i + 3] = a, b, c, d
        place[i + 4], place[i + 5], place[i + 6], place[i + 7] = e, f, g, h
    for i in range(whole, n_rows):
        a = place[i]
        while True:
            to_a = step(nodes[a], codes[base + i + column(nodes[a], mask) * stride], shift)
            if to_a == a:
                break
            a = to_a
        place[i] = a


@kernel
def walk_rows(codes, base, nodes, shift, place):
    """Let 64 rows, whose codes begin at `base`, walk on in a tree from place[i] to a leaf."""
    walk_on(codes, base, LANES, nodes, shift, LANES, place)


@kernel
def walk_trees(code, nodes, roots, shift, leaf):
    """Compute leaf[t] = node where one row ends in each of eight trees."""
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
    """Compute place[i] = the leaf of each of 64 rows in a tree, whose codes begin at `base`.

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
    """Compute sums[i] += vector of the leaf of coded row i in each of trees first..last, in order."""
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
    """Count to whole numbers, whose columns are whole eights."""
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
    """Add the vector of row i's leaf, by its codes[i], to sums[i], in each of trees first..last, in order."""
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


# -- Decisions before the last tree ------------------------------------------------------------------------------------
CERTAIN = 1e-9  # of log-odds and of costs, relatively: rounding decides nothing
OPEN = 10.0  # log-odds that a class may still reach against the likeliest, beyond which no look at costs would pay
MOST_LEAD, LEAD_HALVINGS = 32.0, 10  # log-odds, and steps that find them to a thirty-second
NO_LEAD = 0.0


@kernel
def rises_of_trees(nodes, shift, roots, vector, vectors, n_scores, ends, rises):
    """Compute rises[s, m, k] = the most by which trees ends[s].. can raise score k against score m, in whole numbers.

    Parameters
    ----------
    nodes, shift, roots, vector, vectors
        Of `minrisk._kernels.predict`.
    n_scores : int
        Entries of a vector that are scores; those behind them are 0.
    ends : ndarray of shape (S,)
        Ascending numbers of trees.
    rises : ndarray of int64, of shape (S, n_scores, n_scores), written
    """
    width = vectors.shape[1]
    most, total = np.empty((n_scores, width), dtype=np.int32), np.zeros((n_scores, n_scores), dtype=np.int64)
    stage = ends.shape[0] - 1
    for t in range(roots.shape[0] - 2, -2, -1):
        while stage >= 0 and ends[stage] == t + 1:
            for m in range(n_scores):
                for k in range(n_scores):
                    rises[stage, m, k] = total[m, k]
            stage -= 1
        if stage < 0:
            break
        for m in range(n_scores):
            for k in range(width):
                most[m, k] = -(1 << 17)  # below all differences of 16 bits
        for place in range(roots[t + 1] - roots[t]):
            if nodes[roots[t] + place] >> shift == place:
                v = vectors[vector[roots[t] + place]]
                for m in range(n_scores):
                    own, row = np.int32(v[m]), most[m]
                    for k in range(width):
                        row[k] = max(row[k], np.int32(v[k]) - own)
        for m in range(n_scores):
            for k in range(n_scores):
                total[m, k] += most[m, k]


@kernel
def certain(score, scale, costs, plain, rise, lead, odds):
    """Return the decision that scores (K,) will lead to, whatever remains; -1 where that is open.

    Score k can rise against score m by rise[m, k] at most, or by lead / scale where that is less. `plain`: the largest
    score decides. Otherwise p_k is in proportion to exp(scale h_k), and the least of sum_k p_k costs[k, d] decides: d
    is certain if for all others j the sum of p_k (costs[k, j] - costs[k, d]) is positive where each p_k is as low, or
    as high, as it may become. Of decisions that cost the same whatever is true d is the first, and no other of them
    stands in its way. `odds` (3, K) is room.
    """
    K, m = score.shape[0], 0
    for k in range(1, K):
        if score[k] > score[m]:
            m = k
    enough = lead / scale
    if plain:
        for k in range(K):
            if k != m and not score[m] - score[k] > min(rise[m, k], enough) + CERTAIN / scale:
                return -1
        return m
    for k in range(K):
        if k != m and scale * (score[k] - score[m] + min(rise[m, k], enough)) > OPEN:
            return -1
    D, d, least = costs.shape[1], 0, np.inf
    for k in range(K):
        difference = score[k] - score[m]
        odds[0, k] = math.exp(scale * (difference - min(rise[k, m], enough)))
        odds[1, k] = math.exp(scale * (difference + min(rise[m, k], enough)))
        odds[2, k] = math.exp(scale * difference)
    odds[0, m] = odds[1, m] = 1.0
    for j in range(D):
        cost = 0.0
        for k in range(K):
            cost += odds[2, k] * costs[k, j]
        if cost < least:
            d, least = j, cost
    for j in range(D):
        if j == d:
            continue
        saved, size, differs = 0.0, 0.0, False
        for k in range(K):
            more = costs[k, j] - costs[k, d]
            if more != 0.0:
                differs = True
                part = more * odds[0 if more > 0.0 else 1, k]
                saved += part
                size += abs(part)
        if differs and not saved > CERTAIN * size:
            return -1
    return d


@kernel
def decide_rows(sums, unit, start, scale, costs, plain, rise, lead, decision):
    """Compute decision[i] = what is `certain` of the scores start[i] + unit * sums[i]."""
    K = start.shape[1]
    score, odds = np.empty(K), np.empty((3, K))
    for i in range(start.shape[0]):
        for k in range(K):
            score[k] = start[i, k] + unit * sums[i, k]
        decision[i] = certain(score, scale, costs, plain, rise, lead, odds)


@kernel
def needed_leads(scores, scale, costs, plain, decision, needed):
    """Decide by scores alone, and fill needed[i]: the largest lead with which that is `certain`, in log-odds.

    Where costs differ that is looked for up to `MOST_LEAD`, by `LEAD_HALVINGS` halvings, and rounded up: no more rows
    are decided than it says. Of ties, which are never certain, it is -infinity.
    """
    n, K = scores.shape
    odds, rise = np.empty((3, K)), np.full((K, K), np.inf)
    for i in range(n):
        decision[i] = certain(scores[i], scale, costs, plain, rise, NO_LEAD, odds)
        low, high = 0.0, MOST_LEAD
        if decision[i] < 0:  # a tie
            decision[i], needed[i] = 0, -np.inf
            continue
        if plain:
            second = np.inf
            for k in range(K):
                if k != decision[i]:
                    second = min(second, scale * (scores[i, decision[i]] - scores[i, k]))
            needed[i] = second
            continue
        for _ in range(LEAD_HALVINGS):
            middle = 0.5 * (low + high)
            if certain(scores[i], scale, costs, plain, rise, middle, odds) >= 0:
                low = middle
            else:
                high = middle
        needed[i] = high


@kernel
def decide_few(
    codes, nodes, shift, roots, vector, vectors, ends, unit, scores, scale, costs, plain, rises, leads, decision
):
    """Decide few rows stage by stage, -1 where it takes all trees; then scores[i] are complete."""
    K, n_trees = scores.shape[1], roots.shape[0] - 1
    score, odds = np.empty(K), np.empty((3, K))
    sums = np.zeros((1, vectors.shape[1]), dtype=np.int32)
    for i in range(codes.shape[0]):
        for k in range(vectors.shape[1]):
            sums[0, k] = 0
        first, decision[i] = 0, -1
        for s in range(ends.shape[0]):
            add_to_few(codes[i : i + 1], nodes, shift, roots, vector, vectors, first, ends[s], sums)
            first = ends[s]
            for k in range(K):
                score[k] = scores[i, k] + unit * sums[0, k]
            decision[i] = certain(score, scale, costs, plain, rises[s], leads[s], odds)
            if decision[i] >= 0:
                break
        if decision[i] < 0:
            add_to_few(codes[i : i + 1], nodes, shift, roots, vector, vectors, first, n_trees, sums)
            for k in range(K):
                scores[i, k] += unit * sums[0, k]
