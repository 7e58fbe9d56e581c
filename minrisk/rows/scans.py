"""Which stump, which change of a leaf: searches over sums that rows have made. No row is seen here."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minrisk._kernels._dtypes import FIXED, MAX_BINS, TIE
from minrisk._kernels.split import (
    ABSOLUTE_EDGE_GAIN,
    LARGEST_EDGE_GAIN,
    SIDES_GAIN,
    scan_absolute,
    scan_edges,
    scan_largest,
    scan_leaves,
    scan_sides,
)
from minrisk._kernels.stump_series import scan_series, scan_simple_bounds
from minrisk._typing import Bag, FloatArray, IntArray
from minrisk.rows.base import LeafSplits, Split
from minrisk.rows.fixed_point import divide

BOUNDS_SLACK = 2.0 * TIE  # what is ahead by a smaller share is not: bounds rule out nothing that may tie


class StumpScan(NamedTuple):
    """What stumps are judged by, beside the sums of edges (and masses) in the bins of the features."""

    gain: int  # see `minrisk._kernels.split`
    mass: FloatArray  # (D,)
    total: IntArray  # of each column, over all bins
    factors: FloatArray  # of each column: numbers times it are in the sums
    n_bins: IntArray  # of every feature
    barred: np.ndarray  # stumps that LARGEST_EDGE_GAIN passes over

    def scan(self, features: IntArray, sums: np.ndarray) -> tuple[FloatArray, IntArray]:
        """The best drop of each feature, and its bin; sums (f, MAX_BINS, columns)."""
        unit = divide(1.0, self.factors)
        sums_only = self.gain in (SIDES_GAIN, LARGEST_EDGE_GAIN, ABSOLUTE_EDGE_GAIN)
        ratio = unit if sums_only else divide(unit, self.mass)
        drop, where = np.empty(len(features)), np.empty(len(features), dtype=np.int64)
        if self.gain == SIDES_GAIN:
            scan_sides(sums, features, self.n_bins, self.total, ratio, drop, where)
        elif self.gain == LARGEST_EDGE_GAIN:
            scan_largest(sums, features, self.n_bins, self.total, ratio, self.barred, drop, where)
        elif self.gain == ABSOLUTE_EDGE_GAIN:
            scan_absolute(sums, features, self.n_bins, self.total, ratio, drop, where)
        else:
            scan_edges(sums, features, self.n_bins, self.total, ratio, self.mass, self.gain, drop, where)
        return drop, where


def best_split(features: IntArray, drop: FloatArray, where: IntArray) -> Split | None:
    """The largest drop, at the lowest of the features that tie; None where nothing drops."""
    top = drop.max()
    if not top > 0:
        return None
    ties = np.flatnonzero(drop >= top * (1 - TIE))
    best = ties[np.argmin(features[ties])]
    return Split(int(features[best]), int(where[best]), float(drop[best]))


def likely(high: FloatArray, ahead: float) -> Bag:
    """Whether what takes away so much at most may still be the best, where something is sure to take `ahead`."""
    return np.asarray(high >= ahead * (1.0 - BOUNDS_SLACK))


class SeriesScan(NamedTuple):
    """What bounds of stumps are made of, beside sums in the bins of the features: `minrisk._kernels.stump_series`."""

    mass: FloatArray  # (D,)
    value: FloatArray  # (D,): no stump takes more away
    even: FloatArray  # (2, D): sums of the fourth and sixth derivatives
    total: IntArray  # of each column, over all bins
    unit: FloatArray  # of each column: sums times it are numbers
    n_bins: IntArray  # of every feature
    ahead: float  # what a stump is known to take away: those that take less do not count

    def of_features(self, features: IntArray, sums: np.ndarray) -> tuple[FloatArray, FloatArray, IntArray]:
        """The most that a stump of each feature takes away: at least, at most, and the bin of the first.

        sums (f, MAX_BINS, D) are of edges.
        """
        (low, high), where = np.empty((2, len(features))), np.empty(len(features), dtype=np.int64)
        scan_simple_bounds(sums, features, self.n_bins, self.total, self.unit, self.mass, self.value, low, high, where)
        return low, high, where

    def of_bins(self, features: IntArray, sums: np.ndarray) -> tuple[FloatArray, FloatArray]:
        """What the stump at each bin takes away, at least and at most, (f, MAX_BINS) each; sums have 3 D columns."""
        return self._scanned(features, sums, np.zeros((0, MAX_BINS, 3, len(self.mass))))[:2]

    def of_outputs(self, features: IntArray, sums: np.ndarray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The same, and step, least and most of each output, (f, MAX_BINS, 3, D)."""
        return self._scanned(features, sums, np.zeros((len(features), MAX_BINS, 3, len(self.mass))))

    def _scanned(
        self, features: IntArray, sums: np.ndarray, detail: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        low, high = np.zeros((2, len(features), MAX_BINS))
        scan_series(
            sums,
            features,
            self.n_bins,
            self.total,
            self.unit,
            self.mass,
            self.even,
            self.value,
            self.ahead * (1.0 - BOUNDS_SLACK),
            low,
            high,
            detail,
        )
        return low, high, detail


class LeafScan(NamedTuple):
    """What changes of leaves are judged by, beside the sums of the contrast in the bins of the features."""

    sign: IntArray  # (L,) present constants
    total: IntArray  # (L,) of each leaf
    margin: int  # what a change must gain more than
    factor: float  # contrasts times it are in the sums
    n_bins: IntArray  # of every feature

    @property
    def constant(self) -> IntArray:
        """What each leaf has with its better constant, (L,)."""
        kept = self.sign * self.total
        return np.asarray(np.where(np.abs(self.total) > kept + self.margin, np.abs(self.total), kept))

    def constants(self) -> LeafSplits:
        """The better constant of each leaf: changes without a split."""
        kept, constant = self.sign * self.total, self.constant
        nowhere, sign = np.full(len(kept), -1), np.where(constant > kept, -self.sign, self.sign)
        return LeafSplits(nowhere, nowhere.copy(), sign.astype(np.int64), (constant - kept) / self.factor)

    def scan(self, features: IntArray, leaves: slice, sums: np.ndarray) -> tuple[IntArray, IntArray, IntArray]:
        """Best score, bin and sign of each feature in each of some leaves; sums (f, leaves, MAX_BINS)."""
        total = self.total[leaves]
        score = np.empty((len(features), len(total)), dtype=FIXED)
        where, side = np.zeros((2, len(features), len(total)), dtype=np.int64)
        scan_leaves(sums, features, self.n_bins, total, self.margin, score, where, side)
        return score, where, side

    def choose(
        self, splits: LeafSplits, leaves: slice, features: IntArray, score: IntArray, where: IntArray, side: IntArray
    ) -> None:
        """Write the changes of some leaves that are better than constants into the splits."""
        top = score.max(axis=0)
        ties = score >= top - self.margin
        best = np.argmin(np.where(ties, features[:, None], len(self.n_bins)), axis=0)
        pick, better = (best, np.arange(len(best))), top > self.constant[leaves] + self.margin
        gain = (top - self.sign[leaves] * self.total[leaves]) / self.factor
        splits.feature[leaves] = np.where(better, features[best], -1)
        splits.bin[leaves] = np.where(better, where[pick], -1)
        splits.sign[leaves] = np.where(better, side[pick], splits.sign[leaves])
        splits.gain[leaves] = np.where(better, gain, splits.gain[leaves])
