"""Which rows lie outside the most frequent bin of a feature, for features where they are few."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minrisk._kernels._dtypes import MAX_BINS, ROW
from minrisk._kernels.histogram import NUMBERED_ROWS, index_rows
from minrisk._memory import read_only
from minrisk._typing import Binned, IntArray
from minrisk._utils import cached_property
from minrisk._workers import Workers

DENSITY = 0.6  # with more rows than this outside the frequent bin, passing over all rows costs no more
FREQUENT_BIN_ROWS = 4096  # rows that the frequent bin is guessed from; a poor guess costs time, never correctness
BUDGET_SHARE = 0.2  # of the binned data's bytes,
BUDGET_BYTES = 24 << 20  # plus this
NO_LIST = 1 << 40  # more rows than any node has

Lists = tuple[IntArray, IntArray, np.ndarray, np.ndarray]  # for growing trees: see `minrisk._kernels.node`


@dataclass(frozen=True)
class SparseIndex:
    """Row numbers outside the frequent bin, two bytes each; features of the lowest density first, within a byte budget.

    Attributes
    ----------
    indexed : ndarray of shape (d,), bool
    frequent : ndarray of shape (d,), uint8
    offsets : ndarray of shape (d, n_blocks + 1)
        Where each block of 65 536 rows begins in `rows`.
    rows : ndarray of uint16
    """

    indexed: np.ndarray
    frequent: np.ndarray
    offsets: IntArray
    rows: np.ndarray

    @classmethod
    def build(cls, X_binned: Binned, n_bins: IntArray, workers: Workers, density: float = DENSITY) -> SparseIndex:
        """Index of binned data (d, n): of features with at most this share of the rows outside the frequent bin."""
        X_binned = read_only(X_binned)
        n_features, n_samples = X_binned.shape
        step = max(1, n_samples // FREQUENT_BIN_ROWS)
        frequent = np.zeros(n_features, dtype=np.uint8)
        outside = np.zeros(n_features, dtype=np.int64)

        def count(j: int) -> None:
            frequent[j] = np.bincount(X_binned[j, ::step], minlength=MAX_BINS).argmax()
            outside[j] = np.count_nonzero(X_binned[j] != frequent[j])

        workers.map(count, range(n_features))
        cheapest = np.argsort(outside, kind="stable")
        budget = BUDGET_BYTES + BUDGET_SHARE * n_features * n_samples
        chosen = cheapest[(outside[cheapest] < density * n_samples) & (2 * np.cumsum(outside[cheapest]) <= budget)]
        indexed = np.zeros(n_features, dtype=np.bool_)
        indexed[chosen] = True
        rows = np.empty(int(outside[chosen].sum()), dtype=ROW)
        offsets = np.zeros((n_features, -(-n_samples // NUMBERED_ROWS) + 1), dtype=np.int64)
        ends = np.cumsum(outside * indexed)

        def write(j: int) -> None:
            index_rows(X_binned, j, frequent[j], offsets, ends[j] - outside[j], rows)

        workers.map(write, np.flatnonzero(indexed).tolist())
        return cls(indexed, frequent, offsets, rows)

    @classmethod
    def stored(cls, n_features: int) -> SparseIndex:
        """Of sparse features, which are stored so."""
        nothing = np.zeros(n_features, dtype=np.uint8)
        return cls(nothing == 0, nothing, np.zeros((n_features, 2), dtype=np.int64), np.empty(0, dtype=ROW))

    @cached_property
    def lists(self) -> Lists:
        """For growing trees, of up to 65 536 rows."""
        d, n_blocks = len(self.frequent), self.offsets.shape[1] - 1
        if n_blocks != 1 or not self.indexed.any():
            return no_lists(d)
        outside = np.where(self.indexed, self.offsets[:, 1] - self.offsets[:, 0], NO_LIST)
        return outside, self.offsets, self.rows, self.frequent

    def chunks(self, features: IntArray, width: int) -> list[IntArray]:
        """The features in groups of at most `width`, each all indexed or all not; longest work first."""
        kinds = (features[~self.indexed[features]], features[self.indexed[features]])
        return [kind[i : i + width] for kind in kinds for i in range(0, len(kind), width)]


def no_lists(n_features: int) -> Lists:
    """Of features that have none."""
    nowhere = np.zeros((n_features, 2), dtype=np.int64)
    return np.full(n_features, NO_LIST), nowhere, np.empty(0, dtype=ROW), np.zeros(n_features, dtype=np.uint8)
