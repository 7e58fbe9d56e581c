"""A linear model of columns that each depend on the bins of one feature is a sum of trees, one for each feature.

A number has two columns: its value, as the mean of its rows in a bin, and its rank, which is there for skewed features.
Rows in the outer bins count as no farther out than a bin is wide, so that one outlier does not stretch the column. A
missing value counts as the mean and has a column of its own, and a category has a column for each bin of its codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minrisk._kernels._dtypes import LEAF_BIN
from minrisk._typing import FloatArray, IntArray
from minrisk.model.trees import Tree

NO_DEVIATION = 1e-9  # standard deviation, as a share of the largest value, below which a column is rounding


class BinColumns(NamedTuple):
    """Columns that depend on one feature, and the tree whose leaves tell their values."""

    feature: int
    tree: Tree
    values: FloatArray  # (leaves, m): of each column in each leaf, 0 in the mean of the rows
    mass: FloatArray  # (leaves,): share of the rows in each
    leaf: IntArray  # (n,): of the rows that the columns were learnt from

    def of_rows(self) -> FloatArray:
        """The columns of these rows, (m, n)."""
        return np.ascontiguousarray(self.values.T[:, self.leaf])


def leaf_ends(n_bins: int, missing: bool, most: int) -> IntArray:
    """The last bin of each leaf but the last, at most so many leaves; missing values have one of their own."""
    first = int(missing)
    leaf = np.arange(n_bins - first) * min(most - first, n_bins - first) // max(1, n_bins - first)
    ends = np.flatnonzero(np.diff(leaf)) + first
    return np.concatenate([[0], ends]) if missing and n_bins > 1 else ends


def balanced_tree(feature: int, ends: IntArray, thresholds: FloatArray, new_missing: bool) -> Tree:
    """A tree on one feature, whose leaf number i, from the left, ends with bin `ends[i]` and names vector i.

    With `new_missing` the root leads missing values, which training has not seen, to one more leaf: the last vector.
    """
    nodes: list[tuple[int, int, int]] = []  # end (or leaf), left child or itself, depth
    spans = [(0, len(ends) + 1, 0)]
    if new_missing:
        nodes.append((-1, 1, 0))
        spans = [(len(ends) + 1, len(ends) + 2, 1), (0, len(ends) + 1, 1)]
    waiting = len(nodes) + len(spans)
    for low, high, depth in spans:  # which grows
        if high - low == 1:
            nodes.append((low, len(nodes), depth))
            continue
        middle = (low + high) // 2
        nodes.append((middle - 1, waiting, depth))
        spans += [(low, middle, depth + 1), (middle, high, depth + 1)]
        waiting += 2
    of_node, left, depth_of = np.array(nodes, dtype=np.int32).T
    leaf = left == np.arange(len(left))
    split = np.where(leaf | (of_node < 0), 0, of_node)
    bins = np.where(leaf, LEAF_BIN, np.append(ends, 0)[split]).astype(np.int32)
    threshold = np.where(leaf, np.inf, np.append(thresholds, -np.inf)[np.where(leaf, 0, bins)])
    if new_missing:
        bins[0], threshold[0] = 0, -np.inf  # a bin that is never looked at
    return Tree(
        np.where(leaf, 0, feature).astype(np.int32),
        bins,
        threshold,
        left,
        leaf.astype(np.float64),
        np.where(leaf, of_node, 0).astype(np.int32),
        np.zeros(len(left)),
        int(depth_of.max()),
    )


def with_new_missing(tree: Tree, thresholds: FloatArray) -> Tree:
    """The tree with a leaf for missing values where training has seen none: they count as the mean there, too."""
    if len(thresholds) and thresholds[0] == -np.inf:
        return tree
    ends = np.sort(tree.bin[tree.left != np.arange(len(tree.left))])
    return balanced_tree(int(tree.feature.max()), ends, thresholds, True)


def bin_columns_of(
    feature: int, bins: IntArray, x: FloatArray, weight: FloatArray, thresholds: FloatArray, most: int, is_code: bool
) -> BinColumns | None:
    """Columns of one feature; None: it is constant.

    Parameters
    ----------
    feature : int
    bins : ndarray of int, (n,)
        Of the rows,
    x : ndarray of shape (n,)
        their values,
    weight : ndarray of shape (n,)
        and their weights, whose sum is 1.
    thresholds : ndarray
        Between the bins.
    most : int
        Leaves.
    is_code : bool
        Whether numbers are codes of categories.
    """
    missing = len(thresholds) > 0 and thresholds[0] == -np.inf
    ends = leaf_ends(len(thresholds) + 1, bool(missing), most)
    leaf = np.searchsorted(ends, bins)
    mass = np.bincount(leaf, weight, len(ends) + 1).astype(np.float64)
    if is_code:
        found = [np.eye(len(mass))]
    else:
        found = [np.eye(len(mass))[:, :1]] if missing else []
        found += _of_numbers(leaf, x, weight, thresholds[ends], mass, int(missing))
    columns = [column for column in found if len(mass) > 1]
    if not columns:
        return None
    values = np.concatenate(columns, axis=1)
    values -= mass @ values
    return BinColumns(feature, balanced_tree(feature, ends, thresholds, False), values, mass, leaf)


def _of_numbers(
    leaf: IntArray, x: FloatArray, weight: FloatArray, edges: FloatArray, mass: FloatArray, missing: int
) -> list[FloatArray]:
    """Rank and value of each leaf, of deviation 1; 0 where the value is missing. Of two leaves these are the same."""
    edges, present = edges[missing:], mass[missing:]
    columns = [np.cumsum(present) - present / 2.0] if np.any(present > 0) else []
    if columns and len(edges) > 1:
        top, own = float(np.abs(edges).max()), leaf >= missing
        with np.errstate(over="ignore"):
            x, edges, at = x[own] / top, edges / top, leaf[own] - missing
        low = np.append(2.0 * edges[0] - edges[1], edges)
        high = np.append(edges, 2.0 * edges[-1] - edges[-2])
        total = np.bincount(at, weight[own] * np.clip(x, low[at], high[at]), len(present))
        columns.append(np.divide(total, present, out=(low + high) / 2.0, where=present > 0))
    found = []
    for column in columns:
        column = column - present @ column / present.sum()
        deviation = float(np.sqrt(present @ column**2 / mass.sum()))
        if deviation > NO_DEVIATION * np.abs(column).max():
            found.append(np.concatenate([np.zeros(missing), column / deviation])[:, None])
    return found


def weighed_trees(
    columns: Sequence[BinColumns],
    coefficients: Sequence[FloatArray],
    gain: float,
    new_missing: Sequence[FloatArray] | None = None,
) -> tuple[list[Tree], list[FloatArray]]:
    """A tree with its vectors for each feature, the one that moves scores most first.

    Parameters
    ----------
    columns : sequence of BinColumns
    coefficients : sequence of ndarray of shape (m, K)
        Of the columns of each.
    gain : float
        Share of the loss that all of them take away: each has a part by the variance of its scores.
    new_missing : sequence of ndarray, optional
        Thresholds of each feature, for trees that know of missing values where training has seen none.
    """
    vectors = [one.values @ own for one, own in zip(columns, coefficients, strict=True)]
    moved = np.array([one.mass @ np.sum(own**2, axis=1) for one, own in zip(columns, vectors, strict=True)])
    share = gain * moved / (moved.sum() or 1.0)
    trees, found = [], []
    for j in np.argsort(-moved, kind="stable").tolist():
        tree, own = columns[j].tree, vectors[j]
        if new_missing is not None and (whole := with_new_missing(tree, new_missing[j])) is not tree:
            tree, own = whole, np.concatenate([own, np.zeros((1, own.shape[1]))])
        splits = tree.value == 0.0
        trees.append(tree._replace(gain=np.where(splits, share[j] / splits.sum(), 0.0)))
        found.append(own)
    return trees, found
