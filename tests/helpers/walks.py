"""Random trees, and trees walked by raw values: all rows go one node down until all are in leaves."""

import itertools

import numpy as np

from minrisk.model.trees import Tree


def random_tree(rng, d, n_leaves, n_vectors, ones=False):
    """A tree whose leaves name `n_vectors` vectors in some order, and answer what is drawn, or all of them 1."""
    feature, threshold, left, depth = [0], [np.inf], [0], [0]
    for _ in range(n_leaves - 1):
        node = rng.choice([i for i in range(len(left)) if left[i] == i])
        first = len(left)
        feature[node], threshold[node], left[node] = rng.integers(d), rng.normal(), first
        feature, threshold, left = [*feature, 0, 0], [*threshold, np.inf, np.inf], [*left, first, first + 1]
        depth += [depth[node] + 1] * 2
    leaf = np.array(left) == np.arange(len(left))
    vector = np.zeros(len(left), dtype=np.int32)
    vector[leaf] = rng.permutation(np.arange(n_leaves) % n_vectors)
    feature, left = np.array(feature, dtype=np.int32), np.array(left, dtype=np.int32)
    bins = np.where(leaf, 255, 0).astype(np.int32)
    gain = np.zeros(len(left))
    value = leaf.astype(float) if ones else rng.normal(size=len(left)) * leaf
    return Tree(feature, bins, np.array(threshold), left, value, vector, gain, max(depth))


def end_nodes(tree, X):
    """The node that each row ends in; what is missing goes left."""
    node, rows = np.zeros(len(X), dtype=int), np.arange(len(X))
    while np.any(inner := tree.left[node] != node):
        down = tree.left[node] + (X[rows, tree.feature[node]] > tree.threshold[node])
        node = np.where(inner, down, node)
    return node


def leaves(tree, X):
    """The number of the leaf that each row ends in."""
    return tree.vector[end_nodes(tree, X)]


def answers(tree, X):
    """What the tree answers to each row."""
    return tree.value[end_nodes(tree, X)]


def added(tree, vectors, X):
    """What the tree adds to the scores, (n, D)."""
    return answers(tree, X)[:, None] * vectors[leaves(tree, X)]


def rounds(model, X):
    """Tree by tree of a fitted model: the tree, the leaf of each row and the vectors of the leaves."""
    first, vectors = 0, np.asarray(model.model_.vectors)
    for tree in model.model_.learners:
        yield tree, leaves(tree, X), vectors[first : first + tree.n_vectors]
        first += tree.n_vectors


def plain_scores(model, X):
    """The scores of an additive model, tree after tree."""
    scores, vectors = np.tile(model.intercept, (len(X), 1)), np.asarray(model.vectors)
    for tree, ends in zip(model.learners, itertools.pairwise(model.packed.vector_offsets), strict=True):
        scores += added(tree, vectors[slice(*ends)], X)
    return scores
