"""Structures of arrays that kernels take: C++ has the same members in the same order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minrisk._kernels._dtypes import FIXED


class BinnedRows(NamedTuple):
    """Hold the bins of rows, and for features that are mostly one value the rows of the others."""

    X_binned: np.ndarray  # (n_features, n_samples) uint8
    n_bins: np.ndarray
    lists: tuple[np.ndarray, ...]
    member: np.ndarray  # (n,) int32


class Entries(NamedTuple):
    """Hold the entries of d features."""

    default: np.ndarray  # (d,) uint8
    offsets: np.ndarray  # (d + 1,) int64
    rows: np.ndarray  # int32
    bins: np.ndarray  # uint8


class Search(NamedTuple):
    """Hold what the splits of a tree are looked for by."""

    features: np.ndarray  # int64
    n_drawn: int  # of the features, which a node looks at
    random: bool  # of each feature one threshold is looked at, which is drawn
    seed: int
    factor: np.ndarray  # (C,) what a unit of each column is worth
    ridge: np.ndarray  # (1,) or (D,), added to a node's Hessian
    gain: int  # SKETCH ... COUNT_APART
    min_leaf: int  # rows
    min_hessian: float  # of a sketch, that a node has which is split
    max_depth: int


class GrowthState(NamedTuple):
    """Hold a tree that is being grown, first its leaves, then its nodes; `plant` and `grow` fill what is in use."""

    start: np.ndarray  # rows start..end of the order are the leaf's
    end: np.ndarray
    depth: np.ndarray
    best_feature: np.ndarray
    best_bin: np.ndarray
    status: np.ndarray
    node: np.ndarray  # of the leaf
    total: np.ndarray  # (L, C)
    drop: np.ndarray
    feature: np.ndarray
    bin: np.ndarray
    left: np.ndarray
    gain: np.ndarray
    sizes: np.ndarray  # leaves, nodes, splits above the deepest leaf

    @classmethod
    def empty(cls, L: int, C: int) -> GrowthState:
        """Make room for up to L leaves, whose totals have C columns."""
        of_leaves = [*np.zeros((7, L), dtype=np.int64), np.zeros((L, C), dtype=FIXED), np.zeros(L)]
        of_nodes = [*np.zeros((3, 2 * L), dtype=np.int32), np.zeros(2 * L)]
        return cls._make([*of_leaves, *of_nodes, np.zeros(3, dtype=np.int64)])


class RowEntries(NamedTuple):
    """Hold the entries of a round's F features, row after row; a row's features ascend."""

    offsets: np.ndarray  # (n + 1,) int64: where the entries of each row begin
    feature: np.ndarray  # int32: a number among the F
    slot: np.ndarray  # int32: of the feature's bin in `sums`
    first: np.ndarray  # (F + 1,) int64: slots of each feature begin here
    sums: np.ndarray  # (S, C) int64, zero
    stamp: np.ndarray  # (F,) int64: the node in which the feature was seen last


class TrainingRows(NamedTuple):
    """Hold the rows, and which of them are learnt from; no round changes them."""

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
    """Hold what follows the rounds: the rows' scores, gradients and leaves, and the columns' maxima and sums."""

    scores: np.ndarray
    gradient: np.ndarray  # minus the loss's, as in `minrisk._kernels.losses`
    hessian: np.ndarray  # its diagonal
    of_rows: np.ndarray  # the rows' losses
    leaf: np.ndarray
    top: np.ndarray  # (3, D): of |gradient|, Hessian and value
    value: np.ndarray
    whole_hessian: np.ndarray


class Space(NamedTuple):
    """Hold memory that every round fills again, and the index of sparse features."""

    columns: np.ndarray
    sketch: np.ndarray
    lists: tuple[np.ndarray, ...]
    order: np.ndarray
    spare: np.ndarray
    tree: GrowthState
