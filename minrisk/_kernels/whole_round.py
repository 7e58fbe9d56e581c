"""Whole rounds on few rows: tree, Newton's leaf vectors, new scores, new gradients, several rounds in one call.

They call the kernels that the parts of a round call, in their order, so they make the same numbers; what is saved is
the way from Python into fifteen kernels and back, which on a few hundred rows takes longer than the kernels do.
How a tree is grown and how far a step goes is a `rule`: see `minrisk.rows.base.RoundRule`.
"""

import math
from typing import NamedTuple

import numpy as np

from minrisk._kernels._dtypes import COUNT_BITS, FLOAT_BITS, SUM_BITS
from minrisk._kernels._jit import kernel, part
from minrisk._kernels.fixed import (
    class_sums,
    column_sums,
    fix_columns,
    fix_sketch,
    fixed_factors,
    leaf_column_sums,
    project,
    unfixed,
)
from minrisk._kernels.grow import NEWTON, SKETCH, GrowthState, Search, draw_directions
from minrisk._kernels.grow import grow as grow_tree
from minrisk._kernels.guess_averse import logistic_gradients
from minrisk._kernels.histogram import BinnedRows
from minrisk._kernels.scores import add_leaf_vectors, leaf_numbers, newton, tree_columns

FEW_BITS = np.int64(COUNT_BITS)  # of one type with a number from Python, which a constant is not to Numba
BY_SKETCH, BY_ALL = np.int64(SKETCH), np.int64(NEWTON)


class TrainingRows(NamedTuple):
    """The rows, and which of them are learnt from; no round changes them."""

    X_binned: np.ndarray
    n_bins: np.ndarray
    cost: np.ndarray
    row: np.ndarray  # of the cost table
    label: np.ndarray
    weight: np.ndarray
    in_bag: np.ndarray
    parts: np.ndarray  # (2, 2): the rows before those left out and the rows behind them, from..to
    everyone: np.ndarray  # of these
    sum_bits: int


class State(NamedTuple):
    """What follows the rounds: the rows' scores, gradients and leaves, and the columns' maxima and sums."""

    scores: np.ndarray
    gradient: np.ndarray  # minus the loss's, as in `minrisk._kernels.losses`
    hessian: np.ndarray  # its diagonal
    of_rows: np.ndarray  # the rows' losses
    leaf: np.ndarray
    top: np.ndarray  # (3, D): of |gradient|, Hessian and value
    value: np.ndarray
    whole_hessian: np.ndarray


class Space(NamedTuple):
    """Memory that every round fills again, and the index of sparse features."""

    columns: np.ndarray
    sketch: np.ndarray
    lists: tuple[np.ndarray, ...]
    order: np.ndarray
    spare: np.ndarray
    tree: GrowthState


@part
def sketched_columns(given, state, rule, space, ridge, seed):
    """Fill the columns with a sketch of this seed; returns what a unit of each is worth, and the ridge."""
    parts, columns, sketch = given.parts, space.columns, space.sketch
    directions, weight, shared = draw_directions(state.whole_hessian, ridge, rule.sketch, seed)
    top = np.zeros(rule.sketch + 1)
    for p in range(2):
        some = project(state.gradient, state.hessian, directions, weight, sketch, parts[p, 0], parts[p, 1])
        for c in range(rule.sketch + 1):
            top[c] = max(top[c], some[c])
    factor = top
    for p in range(2):
        factor = fix_sketch(sketch, top, given.sum_bits, FEW_BITS, columns, parts[p, 0], parts[p, 1])
    return factor, shared


@part
def all_columns(given, state, space):
    """Fill the columns with all gradients, all Hessians and counts; returns what a unit of each is worth."""
    parts, columns, D, bits = given.parts, space.columns, state.scores.shape[1], given.sum_bits
    gradient_factor, hessian_factor = fixed_factors(state.top[0], bits), fixed_factors(state.top[1], bits)
    for p in range(2):
        fix_columns(state.gradient, given.in_bag, gradient_factor, columns, 0, parts[p, 0], parts[p, 1])
        fix_columns(state.hessian, given.in_bag, hessian_factor, columns, D, parts[p, 0], parts[p, 1])
        columns[parts[p, 0] : parts[p, 1], 2 * D] = 1
    unit = np.ones(2 * D + 1)
    for k in range(D):
        unit[k] = 1.0 / gradient_factor[k] if gradient_factor[k] > 0.0 else 0.0
        unit[D + k] = 1.0 / hessian_factor[k] if hessian_factor[k] > 0.0 else 0.0
    return unit


@part
def grow_one(given, state, rule, space, ridge, seed):
    """Grow a tree on the sketch of this seed, or on all gradients and Hessians, as `rows.growth` grows it."""
    parts, tree, order, leaf = given.parts, space.tree, space.order, state.leaf
    if rule.sketch > 0:
        factor, shared = sketched_columns(given, state, rule, space, ridge, seed)
        gain = BY_SKETCH
    else:
        factor, shared, gain = all_columns(given, state, space), ridge, BY_ALL
    for i in range(order.shape[0]):  # the tree before has left them leaf by leaf
        order[i] = given.everyone[i]
    if space.lists[2].shape[0] > 0:
        for i in range(leaf.shape[0]):
            leaf[i] = -1 if parts[0, 1] <= i < parts[1, 0] else 0
    tree.sizes[0] = 0  # by which the kernel begins anew
    binned = BinnedRows(given.X_binned, given.n_bins, space.lists, leaf)
    how = rule.growth
    search = Search(
        rule.features, how.n_drawn, how.random, seed, factor, shared, gain, how.min_leaf, 0.0, how.max_depth
    )
    grow_tree(tree, binned, space.columns, search, order.shape[0], order, space.spare)


@part
def logistic_totals(given, state, log_scale):
    """Fill gradients of GLL, the rows' values, the maxima, the value and the Hessian."""
    parts, bits, D = given.parts, given.sum_bits, state.scores.shape[1]
    cost, index, label, weight, in_bag = given.cost, given.row, given.label, given.weight, given.in_bag
    scores, gradient, hessian, of_rows, top = state.scores, state.gradient, state.hessian, state.of_rows, state.top
    for kind in range(3):
        for k in range(D):
            top[kind, k] = 0.0
    for p in range(2):
        start, stop = parts[p, 0], parts[p, 1]
        tops = logistic_gradients(
            cost, index, label, weight, scores, log_scale, gradient, hessian, of_rows, start, stop
        )
        for kind in range(3):
            for k in range(D):
                top[kind, k] = max(top[kind, k], tops[kind, k])
    factor, values, hessians = fixed_factors(top[2], bits), np.zeros(D, dtype=np.int64), np.zeros(D, dtype=np.int64)
    for p in range(2):
        start, stop = parts[p, 0], parts[p, 1]
        some = class_sums(of_rows, label, in_bag, factor, start, stop)
        more = column_sums(hessian, in_bag, top[1], bits, start, stop)
        for k in range(D):
            values[k] += some[k]
            hessians[k] += more[k]
    value, whole_hessian = unfixed(values, top[2], bits), unfixed(hessians, top[1], bits)
    for k in range(D):
        state.value[k], state.whole_hessian[k] = value[k], whole_hessian[k]


@part
def logistic_round(given, state, rule, space, next_log_scale, seed):
    """Grow a tree, move the scores along its leaf vectors, and fill the state at the new scores.

    Returns the tree's threshold, value, vector and gain of each node, and its vectors times the learning rate; no node
    and no change where no split is found or the loss cannot fall. The other columns are in `space.tree`.
    """
    D = state.scores.shape[1]
    tree, sizes = space.tree, space.tree.sizes
    sizes[0] = sizes[1] = sizes[2] = 0  # those of the round before
    total, ridge = 0.0, np.empty(D)
    for k in range(D):
        total += state.value[k]
        ridge[k] = 2.0 * (rule.smoothing * state.value[k])  # multiplied in the order of the parts, for the same bits
    for trial in range(rule.trials if total > 0.0 else 0):
        grow_one(given, state, rule, space, ridge, seed + trial)
        if sizes[0] > 1:
            break
    n_leaves, n_nodes = sizes[0], sizes[1]
    start, end = tree.start[:n_leaves], tree.end[:n_leaves]
    gradient_sums, hessian_sums = np.empty((n_leaves, D)), np.empty((n_leaves, D))
    vectors, fall = gradient_sums, 0.0
    if n_leaves > 1:
        leaf_column_sums(
            state.gradient,
            state.hessian,
            state.top[0],
            state.top[1],
            given.sum_bits - (SUM_BITS - FLOAT_BITS),
            space.order,
            start,
            end,
            gradient_sums,
            hessian_sums,
        )
        vectors, fall = newton(
            gradient_sums, hessian_sums, state.whole_hessian, rule.newton_smoothing, 1.0 - 1.0 / D, rule.largest
        )
    after = total - fall
    if n_leaves <= 1 or not after < total * (1.0 - rule.stalled):
        n_nodes, n_leaves = 0, 0
    threshold, response, vector, share = tree_columns(
        tree.feature[:n_nodes],
        tree.bin[:n_nodes],
        tree.left[:n_nodes],
        tree.gain[:n_nodes],
        tree.node[:n_leaves],
        rule.first_threshold,
        rule.thresholds,
        max(0.0, 1.0 - after / total) if total > 0.0 else 0.0,
    )
    vectors = vectors[:n_leaves]
    for i in range(n_leaves):
        for k in range(D):
            vectors[i, k] = rule.learning_rate * vectors[i, k]
    if n_nodes > 0:
        leaf_numbers(space.order, start, end, state.leaf)
        for p in range(2):
            add_leaf_vectors(state.scores, state.leaf, vectors, given.parts[p, 0], given.parts[p, 1])
        logistic_totals(given, state, next_log_scale)
    return threshold, response, vector, share, vectors


@kernel
def logistic_rounds(given, state, rule, space, next_log_scale, seeds):
    """Make `logistic_round` of each seed, until one of them makes nothing.

    Returns how many were made; the columns of their trees, one after another (feature, bin, left and vector, then
    threshold, response and gain); their depths; their vectors; where the nodes and the vectors of each begin; the value
    after each round, and the log_scale before the first and after each.
    """
    n_rounds, D, tree = seeds.shape[0], state.scores.shape[1], space.tree
    most_nodes, most_leaves = n_rounds * 2 * rule.growth.max_leaves, n_rounds * rule.growth.max_leaves
    whole, real = np.empty((4, most_nodes), dtype=np.int32), np.empty((3, most_nodes))
    depth, vectors = np.empty(n_rounds, dtype=np.int64), np.empty((most_leaves, D))
    reached = np.zeros((2, n_rounds + 1), dtype=np.int64)
    values, scales = np.empty((n_rounds, D)), np.empty(n_rounds + 1)
    scales[0] = next_log_scale
    made = 0
    for seed in seeds:
        threshold, response, vector, share, moved = logistic_round(given, state, rule, space, scales[made], seed)
        if moved.shape[0] == 0:
            break
        node, leaf = reached[0, made], reached[1, made]
        for i in range(threshold.shape[0]):
            whole[0, node + i], whole[1, node + i] = tree.feature[i], tree.bin[i]
            whole[2, node + i], whole[3, node + i] = tree.left[i], vector[i]
            real[0, node + i], real[1, node + i], real[2, node + i] = threshold[i], response[i], share[i]
        for i in range(moved.shape[0]):
            for k in range(D):
                vectors[leaf + i, k] = moved[i, k]
        reached[0, made + 1], reached[1, made + 1] = node + threshold.shape[0], leaf + moved.shape[0]
        depth[made], highest = tree.sizes[2], 0.0
        for k in range(D):
            values[made, k], highest = state.value[k], max(highest, state.top[1, k])
        scales[made + 1] = scales[made] + math.log(highest) if highest > 0.0 else scales[made]
        made += 1
    return made, whole, real, depth, vectors, reached, values, scales
