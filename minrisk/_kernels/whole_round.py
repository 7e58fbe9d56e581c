"""Whole rounds on few rows: sketch, tree, Newton's leaf vectors, new scores, new gradients, several rounds in one call.

They call the kernels that the parts of a round call, in their order, so they make the same numbers; what is saved is
the way from Python into fifteen kernels and back, which on a few hundred rows takes longer than the kernels do.
"""

import math
from typing import NamedTuple

import numpy as np

from minrisk._kernels import _exponential, fixed, grow, guess_averse, node, scores, steps
from minrisk._kernels._dtypes import COUNT_BITS, FLOAT_BITS, SUM_BITS
from minrisk._kernels._jit import kernel
from minrisk._kernels.fixed import column_sums, fix_sketch, fixed_factors, leaf_column_sums, project, unfixed
from minrisk._kernels.grow import SKETCH, Growing, draw_directions, plant
from minrisk._kernels.grow import grow as grow_tree
from minrisk._kernels.guess_averse import logistic_gradients, logistic_values
from minrisk._kernels.scores import add_leaf_vectors, leaf_numbers, tree_columns
from minrisk._kernels.steps import newton

whole_kernel = kernel(uses=(_exponential, fixed, grow, guess_averse, node, scores, steps))


class Given(NamedTuple):
    """The rows, and which of them are learnt from."""

    X_binned: np.ndarray
    n_bins: np.ndarray
    cost: np.ndarray
    row: np.ndarray  # of the cost table
    label: np.ndarray
    weight: np.ndarray
    in_bag: np.ndarray
    first: int  # rows first..last are left out
    last: int
    everyone: np.ndarray  # the others
    sum_bits: int


class State(NamedTuple):
    """What follows the rounds: the rows' scores, gradients and leaves, and the columns' maxima and sums."""

    scores: np.ndarray
    edge: np.ndarray
    mass: np.ndarray
    leaf: np.ndarray
    top: np.ndarray  # (3, D): of |edge|, mass and value
    value: np.ndarray
    whole_mass: np.ndarray


class Rule(NamedTuple):
    """How a tree is grown and how far a step goes."""

    smoothing: float
    features: np.ndarray
    n_drawn: int
    q: int  # combinations in a sketch
    trials: int
    max_leaves: int
    max_depth: int
    min_leaf: int
    thresholds: np.ndarray
    first_threshold: np.ndarray
    newton_smoothing: float
    largest: float
    stalled: float
    learning_rate: float


class Space(NamedTuple):
    """Memory that every round fills anew, and the index of sparse features."""

    columns: np.ndarray
    sketch: np.ndarray
    lists: tuple[np.ndarray, ...]
    order: np.ndarray
    spare: np.ndarray
    tree: Growing


@whole_kernel
def raise_to(top, values):
    """top = max(top, values), elementwise."""
    for k in range(top.shape[0]):
        top[k] = max(top[k], values[k])


@whole_kernel
def grow_one(given, state, rule, space, ridge, seed):
    """A tree on the sketch of this seed, as `rows.growth` grows it."""
    first, last, n = given.first, given.last, state.edge.shape[0]
    tree, columns, sketch, order = space.tree, space.columns, space.sketch, space.order
    directions, weight, shared = draw_directions(state.whole_mass, ridge, rule.q, seed)
    top = project(state.edge, state.mass, directions, weight, 0, first, sketch)
    raise_to(top, project(state.edge, state.mass, directions, weight, last, n, sketch))
    factor = fix_sketch(sketch, top, given.sum_bits, COUNT_BITS, 0, first, columns)
    fix_sketch(sketch, top, given.sum_bits, COUNT_BITS, last, n, columns)
    order[:] = given.everyone
    if space.lists[2].shape[0] > 0:
        state.leaf[:] = 0
        state.leaf[first:last] = -1
    plant(tree, columns, order, rule.min_leaf, rule.max_depth)
    grow_tree(
        tree, given.X_binned, given.n_bins, columns, rule.features, rule.n_drawn, seed, factor, shared, SKETCH,
        rule.min_leaf, rule.max_depth, order.shape[0], space.lists, state.leaf, order, space.spare,
    )  # fmt: skip


@whole_kernel
def logistic_totals(given, state, log_scale):
    """Gradients of GLL; their maxima, the value and the mass are filled."""
    first, last, n, bits = given.first, given.last, state.scores.shape[0], given.sum_bits
    cost, index, label, weight, in_bag = given.cost, given.row, given.label, given.weight, given.in_bag
    scores, edge, mass, top = state.scores, state.edge, state.mass, state.top
    top[:] = logistic_gradients(cost, index, label, weight, scores, log_scale, 0, first, edge, mass)
    others = logistic_gradients(cost, index, label, weight, scores, log_scale, last, n, edge, mass)
    for kind in range(3):
        raise_to(top[kind], others[kind])
    factor = fixed_factors(top[2], bits)
    sums = logistic_values(cost, index, label, weight, scores, log_scale, edge, in_bag, factor, 0, first)
    sums += logistic_values(cost, index, label, weight, scores, log_scale, edge, in_bag, factor, last, n)
    state.value[:] = unfixed(sums, top[2], bits)
    sums = column_sums(mass, in_bag, top[1], bits, 0, first) + column_sums(mass, in_bag, top[1], bits, last, n)
    state.whole_mass[:] = unfixed(sums, top[1], bits)


@whole_kernel
def logistic_round(given, state, rule, space, next_log_scale, seed):
    """Grow a tree, move the scores along its leaf vectors, and fill the state at the new scores.

    Returns the columns of the tree and its vectors times the learning rate; no node and no change where no split is
    found or the loss cannot fall.
    """
    D = state.scores.shape[1]
    tree = space.tree
    tree.sizes[:] = 0  # those of the round before
    total = 0.0
    for k in range(D):
        total += state.value[k]
    ridge = rule.smoothing * state.value
    for trial in range(rule.trials if total > 0.0 else 0):
        grow_one(given, state, rule, space, 2.0 * ridge, seed + trial)
        if tree.sizes[0] > 1:
            break
    n_leaves, n_nodes, deepest = tree.sizes[0], tree.sizes[1], tree.sizes[2]
    start, end = tree.start[:n_leaves], tree.end[:n_leaves]
    edge_sums, mass_sums = np.empty((2, n_leaves, D))
    vectors, fall = edge_sums, 0.0
    if n_leaves > 1:
        leaf_column_sums(
            state.edge, state.mass, state.top[0], state.top[1], given.sum_bits - (SUM_BITS - FLOAT_BITS), space.order,
            start, end, edge_sums, mass_sums,
        )  # fmt: skip
        vectors, fall = newton(
            edge_sums, mass_sums, state.whole_mass, rule.newton_smoothing, 1.0 - 1.0 / D, rule.largest
        )
    after = total - fall
    if n_leaves <= 1 or not after < total * (1.0 - rule.stalled):
        n_nodes, n_leaves = 0, 0
    feature, bins, left = tree.feature[:n_nodes].copy(), tree.bin[:n_nodes].copy(), tree.left[:n_nodes].copy()
    threshold, response, vector, share = tree_columns(
        feature, bins, left, tree.gain[:n_nodes], tree.node[:n_leaves], rule.first_threshold, rule.thresholds,
        max(0.0, 1.0 - after / total) if total > 0.0 else 0.0,
    )
    vectors = rule.learning_rate * vectors[:n_leaves]
    if n_nodes > 0:
        leaf_numbers(space.order, start, end, state.leaf)
        add_leaf_vectors(state.scores, state.leaf, vectors, 0, given.first)
        add_leaf_vectors(state.scores, state.leaf, vectors, given.last, state.scores.shape[0])
        logistic_totals(given, state, next_log_scale)
    return feature, bins, threshold, left, response, vector, share, deepest, vectors


@whole_kernel
def logistic_rounds(given, state, rule, space, next_log_scale, seeds):
    """`logistic_round` of each seed, until one of them makes nothing.

    Returns the columns of the trees, one after another; their depths; their vectors; where the nodes and the vectors of
    each begin; the value after each round, and the log_scale before the first and after each.
    """
    n_rounds, D = seeds.shape[0], state.scores.shape[1]
    most_nodes, most_leaves = n_rounds * 2 * rule.max_leaves, n_rounds * rule.max_leaves
    feature, bins, left, vector = np.empty((4, most_nodes), dtype=np.int32)
    threshold, response, share = np.empty((3, most_nodes))
    depth, vectors = np.empty(n_rounds, dtype=np.int64), np.empty((most_leaves, D))
    nodes, leaves = np.zeros((2, n_rounds + 1), dtype=np.int64)
    values, scales = np.empty((n_rounds, D)), np.full(n_rounds + 1, next_log_scale)
    made = 0
    for seed in seeds:
        j, b, above, child, f, number, part, deepest, moved = logistic_round(
            given, state, rule, space, scales[made], seed
        )
        if moved.shape[0] == 0:
            break
        node, after = nodes[made], nodes[made] + j.shape[0]
        feature[node:after], bins[node:after], threshold[node:after], left[node:after] = j, b, above, child
        response[node:after], vector[node:after], share[node:after], depth[made] = f, number, part, deepest
        nodes[made + 1], leaves[made + 1] = after, leaves[made] + moved.shape[0]
        vectors[leaves[made] : leaves[made + 1]], values[made] = moved, state.value
        highest = state.top[1].max()
        scales[made + 1] = scales[made] + math.log(highest) if highest > 0.0 else scales[made]
        made += 1
    return feature, bins, threshold, left, response, vector, share, depth[:made], vectors, nodes, leaves, values, scales
