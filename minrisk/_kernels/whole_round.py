"""Whole rounds on few rows: sketch, tree, Newton's leaf vectors, new scores, new gradients, several rounds in one call.

They call the kernels that the parts of a round call, in their order, so they make the same numbers; what is saved is
the way from Python into fifteen kernels and back, which on a few hundred rows takes longer than the kernels do.
"""

import math

import numpy as np

from minrisk._kernels import _exponential, fixed, grow, guess_averse, node, scores, steps
from minrisk._kernels._dtypes import COUNT_BITS, FLOAT_BITS, SUM_BITS
from minrisk._kernels._jit import kernel
from minrisk._kernels.fixed import column_sums, fix_sketch, fixed_factors, leaf_column_sums, project, sum_rows, unfixed
from minrisk._kernels.grow import CLOSED, PENDING, SKETCH, draw_directions
from minrisk._kernels.grow import grow as grow_tree
from minrisk._kernels.guess_averse import logistic_gradients, logistic_values
from minrisk._kernels.scores import add_leaf_vectors, leaf_numbers, tree_columns
from minrisk._kernels.steps import newton

whole_kernel = kernel(uses=(_exponential, fixed, grow, guess_averse, node, scores, steps))


@whole_kernel
def raise_to(top, values):
    """top = max(top, values), elementwise."""
    for k in range(top.shape[0]):
        top[k] = max(top[k], values[k])


@whole_kernel
def grow_one(
    X_binned, n_bins, edge, mass, whole_mass, ridge, features, n_drawn, q, seed, max_leaves, max_depth, min_leaf, first,
    last, everyone, sum_bits, columns, sketch, lists, member, order, spare, start, end, node, feature, bins, left,
    gain, sizes,
):  # fmt: skip
    """A tree on the sketch of this seed, as `rows.growth` grows it; fills start..sizes."""
    directions, weight, shared = draw_directions(whole_mass, ridge, q, seed)
    n = edge.shape[0]
    top = project(edge, mass, directions, weight, 0, first, sketch)
    raise_to(top, project(edge, mass, directions, weight, last, n, sketch))
    factor = fix_sketch(sketch, top, sum_bits, COUNT_BITS, 0, first, columns)
    fix_sketch(sketch, top, sum_bits, COUNT_BITS, last, n, columns)
    order[:] = everyone
    if lists[2].shape[0] > 0:
        member[:] = 0
        member[first:last] = -1
    depth, best_feature, best_bin, status = np.zeros((4, max_leaves), dtype=np.int64)
    total, drop = np.zeros((max_leaves, q + 1), dtype=np.int64), np.zeros(max_leaves)
    start[0], end[0], node[0], feature[0], bins[0], left[0], gain[0] = 0, order.shape[0], 0, 0, 255, 0, 0.0
    sizes[0], sizes[1], sizes[2] = 1, 1, 0
    sum_rows(columns, order, total[0])
    status[0] = PENDING if order.shape[0] >= 2 * min_leaf and max_depth > 0 and max_leaves > 1 else CLOSED
    grow_tree(
        X_binned, n_bins, columns, features, n_drawn, seed, factor, shared, SKETCH, min_leaf, max_depth,
        order.shape[0], lists, member, order, spare, start, end, depth, total, drop, best_feature, best_bin, status,
        node, feature, bins, left, gain, sizes,
    )  # fmt: skip


@whole_kernel
def logistic_totals(
    cost, index, label, weight, scores, log_scale, first, last, in_bag, sum_bits, edge, mass, top, value, whole_mass
):  # fmt: skip
    """Gradients of GLL for the rows outside first..last; their maxima, the value and the mass are filled."""
    n = scores.shape[0]
    top[:] = logistic_gradients(cost, index, label, weight, scores, log_scale, 0, first, edge, mass)
    others = logistic_gradients(cost, index, label, weight, scores, log_scale, last, n, edge, mass)
    for kind in range(3):
        raise_to(top[kind], others[kind])
    factor = fixed_factors(top[2], sum_bits)
    sums = logistic_values(cost, index, label, weight, scores, log_scale, edge, in_bag, factor, 0, first)
    sums += logistic_values(cost, index, label, weight, scores, log_scale, edge, in_bag, factor, last, n)
    value[:] = unfixed(sums, top[2], sum_bits)
    sums = column_sums(mass, in_bag, top[1], sum_bits, 0, first) + column_sums(mass, in_bag, top[1], sum_bits, last, n)
    whole_mass[:] = unfixed(sums, top[1], sum_bits)


@whole_kernel
def logistic_round(
    X_binned, n_bins, cost, index, label, weight, in_bag, first, last, everyone, sum_bits, scores, edge, mass, leaf,
    top, value, whole_mass, next_log_scale, smoothing, features, n_drawn, q, seed, trials, max_leaves, max_depth,
    min_leaf, columns, sketch, lists, order, spare, thresholds, first_threshold, newton_smoothing, largest, stalled,
    learning_rate,
):  # fmt: skip
    """Grow a tree, move the scores along its leaf vectors, and fill edge, mass and their sums at the new scores.

    Returns the columns of the tree and its vectors times the learning rate; no node and no change where no split is
    found or the loss cannot fall. Rows first..last are left out.
    """
    D = scores.shape[1]
    start, end, node = np.zeros((3, max_leaves), dtype=np.int64)
    feature, bins, left = np.zeros((3, 2 * max_leaves), dtype=np.int32)
    gain, sizes = np.zeros(2 * max_leaves), np.zeros(3, dtype=np.int64)
    total = 0.0
    for k in range(D):
        total += value[k]
    ridge = smoothing * value
    for trial in range(trials if total > 0.0 else 0):
        grow_one(
            X_binned, n_bins, edge, mass, whole_mass, 2.0 * ridge, features, n_drawn, q, seed + trial, max_leaves,
            max_depth, min_leaf, first, last, everyone, sum_bits, columns, sketch, lists, leaf, order, spare, start,
            end, node, feature, bins, left, gain, sizes,
        )  # fmt: skip
        if sizes[0] > 1:
            break
    n_leaves, n_nodes, deepest = sizes[0], sizes[1], sizes[2]
    edge_sums, mass_sums = np.empty((2, n_leaves, D))
    vectors, fall = edge_sums, 0.0
    if n_leaves > 1:
        leaf_column_sums(
            edge, mass, top[0], top[1], sum_bits - (SUM_BITS - FLOAT_BITS), order, start[:n_leaves], end[:n_leaves],
            edge_sums, mass_sums,
        )  # fmt: skip
        vectors, fall = newton(edge_sums, mass_sums, whole_mass, newton_smoothing, 1.0 - 1.0 / D, largest)
    after = total - fall
    if n_leaves <= 1 or not after < total * (1.0 - stalled):
        n_nodes, n_leaves = 0, 0
    feature, bins, left = feature[:n_nodes].copy(), bins[:n_nodes].copy(), left[:n_nodes].copy()
    threshold, response, vector, share = tree_columns(
        feature, bins, left, gain[:n_nodes], node[:n_leaves], first_threshold, thresholds,
        max(0.0, 1.0 - after / total) if total > 0.0 else 0.0,
    )
    vectors = learning_rate * vectors[:n_leaves]
    if n_nodes > 0:
        leaf_numbers(order, start[:n_leaves], end[:n_leaves], leaf)
        add_leaf_vectors(scores, leaf, vectors, 0, first)
        add_leaf_vectors(scores, leaf, vectors, last, scores.shape[0])
        logistic_totals(
            cost, index, label, weight, scores, next_log_scale, first, last, in_bag, sum_bits, edge, mass, top, value,
            whole_mass,
        )  # fmt: skip
    return feature, bins, threshold, left, response, vector, share, deepest, vectors


@whole_kernel
def logistic_rounds(
    X_binned, n_bins, cost, index, label, weight, in_bag, first, last, everyone, sum_bits, scores, edge, mass, leaf,
    top, value, whole_mass, next_log_scale, smoothing, features, n_drawn, q, seeds, trials, max_leaves, max_depth,
    min_leaf, columns, sketch, lists, order, spare, thresholds, first_threshold, newton_smoothing, largest, stalled,
    learning_rate,
):  # fmt: skip
    """`logistic_round` of each seed, until one of them makes nothing.

    Returns the columns of the trees, one after another; their depths; their vectors; where the nodes and the vectors of
    each begin; the value after each round, and the log_scale before the first and after each.
    """
    D, most_nodes, most_leaves = scores.shape[1], seeds.shape[0] * 2 * max_leaves, seeds.shape[0] * max_leaves
    feature, bins, left, vector = np.empty((4, most_nodes), dtype=np.int32)
    threshold, response, share = np.empty((3, most_nodes))
    depth, vectors = np.empty(seeds.shape[0], dtype=np.int64), np.empty((most_leaves, D))
    nodes, leaves = np.zeros((2, seeds.shape[0] + 1), dtype=np.int64)
    values, scales = np.empty((seeds.shape[0], D)), np.full(seeds.shape[0] + 1, next_log_scale)
    made = 0
    for seed in seeds:
        j, b, above, child, f, number, part, deepest, moved = logistic_round(
            X_binned, n_bins, cost, index, label, weight, in_bag, first, last, everyone, sum_bits, scores, edge, mass,
            leaf, top, value, whole_mass, scales[made], smoothing, features, n_drawn, q, seed, trials, max_leaves,
            max_depth, min_leaf, columns, sketch, lists, order, spare, thresholds, first_threshold, newton_smoothing,
            largest, stalled, learning_rate,
        )  # fmt: skip
        if moved.shape[0] == 0:
            break
        node, after = nodes[made], nodes[made] + j.shape[0]
        feature[node:after], bins[node:after], threshold[node:after], left[node:after] = j, b, above, child
        response[node:after], vector[node:after], share[node:after], depth[made] = f, number, part, deepest
        nodes[made + 1], leaves[made + 1] = after, leaves[made] + moved.shape[0]
        vectors[leaves[made] : leaves[made + 1]], values[made] = moved, value
        highest = top[1].max()
        scales[made + 1] = scales[made] + math.log(highest) if highest > 0.0 else scales[made]
        made += 1
    return feature, bins, threshold, left, response, vector, share, depth[:made], vectors, nodes, leaves, values, scales
