"""Searches for stumps, and for the best change of each leaf of a growing shared tree.

Sums over the rows are made some features at a time, and scanned while they are in the cache.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from minrisk._kernels._dtypes import FIXED, MAX_BINS, TIE
from minrisk._kernels.histogram import (
    gradient_histogram,
    gradient_histogram_sparse,
    leaf_histogram,
    leaf_histogram_sparse,
    leaf_sums,
    stored_gradient_histogram,
    stored_leaf_histogram,
)
from minrisk._kernels.split import (
    ABSOLUTE_EDGE_GAIN,
    LARGEST_EDGE_GAIN,
    SIDES_GAIN,
    scan_edges,
    scan_largest,
    scan_leaves,
    scan_series,
    scan_sides,
    scan_simple_bounds,
)
from minrisk._typing import Bag, FloatArray, IntArray
from minrisk.rows.base import LeafSplits, Split, StumpBounds
from minrisk.rows.columns import RowColumns
from minrisk.rows.exchange import divide, fixed_factor
from minrisk.rows.row_losses import Loss

BOUNDS_SLACK = 2.0 * TIE  # what is ahead by a smaller share is not: bounds rule out nothing that may tie
MANY_FEATURES = 32  # of which more derivatives are summed: to sum up the loss along one stump first takes less time
LEAF_BATCH = 256  # leaves per histogram pass


def likely(high: FloatArray, ahead: float) -> Bag:
    """Return whether what takes away so much at most may still be the best, where something surely takes `ahead`."""
    return np.asarray(high >= ahead * (1.0 - BOUNDS_SLACK))


class SearchedColumns(RowColumns):
    """Columns of rows that stumps and changes of leaves are looked for on."""

    # -- stumps --------------------------------------------------------------------------------------------------
    def best_stump(self, gain: int, hessian: FloatArray, features: IntArray) -> Split | None:
        """Find the stump of the largest drop over `features`; ties to the lowest feature, then the lowest bin."""
        width, n_bins, total = self.fixed.shape[1], self.n_bins, self.fixed_total
        unit = divide(1.0, self.fixed_factors)
        ratio = unit if gain in (SIDES_GAIN, LARGEST_EDGE_GAIN, ABSOLUTE_EDGE_GAIN) else divide(unit, hessian)

        def scan(chunk: IntArray, sums: np.ndarray) -> tuple[FloatArray, IntArray]:
            drop, where = np.empty(len(chunk)), np.empty(len(chunk), dtype=np.int64)
            if gain == SIDES_GAIN:
                scan_sides(sums, chunk, n_bins, total, ratio, drop, where)
            elif gain == LARGEST_EDGE_GAIN:
                scan_largest(sums, chunk, n_bins, total, ratio, self.barred, drop, where)
            else:
                scan_edges(sums, chunk, n_bins, total, ratio, hessian, gain, drop, where)
            return drop, where

        order, (drop, where) = self.scanned(features, (MAX_BINS, width), width, self.add_gradients, scan)
        top = drop.max()
        if not top > 0:
            return None
        ties = np.flatnonzero(drop >= top * (1 - TIE))
        best = ties[np.argmin(order[ties])]
        return Split(int(order[best]), int(where[best]), float(drop[best]))

    def add_gradients(self, features: IntArray, sums: np.ndarray) -> None:
        """Add the bag's fixed columns by bin to sums (f, MAX_BINS, columns); all features are indexed, or none."""
        self._add_columns(self.fixed, self.fixed_total_here, features, sums)

    def _add_columns(self, fixed: np.ndarray, total_here: IntArray, features: IntArray, sums: np.ndarray) -> None:
        """Add other columns of whole numbers, (n, columns), whose sums over these rows are known."""
        index = self.index
        if self.sparse is not None:
            stored_gradient_histogram(self.sparse.stored, features, fixed, total_here, sums)
        elif index.indexed[features[0]]:
            gradient_histogram_sparse(
                self.X_binned, features, fixed, index.offsets, index.rows, total_here, index.frequent, self.n_bins, sums
            )
        else:
            for start, stop in self.undivided:
                gradient_histogram(self.X_binned, features, fixed, start, stop, sums)

    def stump_bounds(self, loss: Loss, hessian: FloatArray, features: IntArray) -> StumpBounds | None:
        """Find all stumps over `features` that may lower the loss most, by the sums of few derivatives; None: none.

        Edges alone rule out most features, the third and fifth derivatives most bins of the others.
        """
        D, value, n_bins = self.n_outputs, self.bag_value, self.n_bins
        gradient_unit = divide(1.0, self.fixed_factors)

        def scan_edges_only(chunk: IntArray, sums: np.ndarray) -> tuple[FloatArray, FloatArray, IntArray]:
            (low, high), where = np.empty((2, len(chunk))), np.empty(len(chunk), dtype=np.int64)
            scan_simple_bounds(sums, chunk, n_bins, self.fixed_total, gradient_unit, hessian, value, low, high, where)
            return low, high, where

        order, (low, high, where) = self.scanned(features, (MAX_BINS, D), D, self.add_gradients, scan_edges_only)
        ahead = float(low.max())
        if not ahead > 0:
            return None
        if np.count_nonzero(likely(high, ahead)) > MANY_FEATURES:
            best = int(np.flatnonzero(low == ahead)[np.argmin(order[low == ahead])])
            ahead = max(ahead, self._fall(loss, int(order[best]), int(where[best])))
        left = np.sort(order[likely(high, ahead)])
        fixed, total_here, even, factors = self._series(self.for_costs(loss))
        total, unit = self.exchange.added(total_here), divide(1.0, factors)
        least = ahead * (1.0 - BOUNDS_SLACK)  # stumps that take less away do not count

        def scan(
            chunk: IntArray, sums: np.ndarray, detailed: bool = False
        ) -> tuple[FloatArray, FloatArray, FloatArray]:
            detail = np.zeros((len(chunk) if detailed else 0, MAX_BINS, 3, D))
            low, high = np.zeros((2, len(chunk), MAX_BINS))
            scan_series(sums, chunk, n_bins, total, unit, hessian, even, value, least, low, high, detail)
            return low, high, detail

        shape, add = (MAX_BINS, 3 * D), partial(self._add_columns, fixed, total_here)
        order, (low, high, _) = self.scanned(left, shape, 3 * D, add, scan)
        ahead = max(ahead, float(low.max()))
        left = np.sort(order[likely(high, ahead).any(axis=1)])
        order, (low, high, detail) = self.scanned(left, shape, 3 * D, add, partial(scan, detailed=True))
        by_feature = np.argsort(order)
        place, bin_ = np.nonzero(likely(high[by_feature], ahead))
        step, low, high = detail[by_feature[place], bin_].transpose(1, 0, 2)
        return StumpBounds(left[place], bin_, step, low, high)

    def stump_slopes(
        self, loss: Loss, feature: IntArray, bin_: IntArray, output: IntArray, step: FloatArray
    ) -> FloatArray:
        """Sum value, slope and curvature, (3, P), of outputs' loss at scores + step * (+1 above the bin, else -1).

        Of the P stumps each has an output and a step of its own.
        """
        feature, bin_, output = map(np.ascontiguousarray, (feature, bin_, output))
        X_binned, feature = self.split_bins(feature)
        here = self.for_costs(loss)
        factors = fixed_factor(here.entry_bounds(self.top_value[output], step, self.top_cost), self.sum_bits)
        stumps = feature, bin_, output, step
        return divide(self.summed(here.stump_sums, self.loss_columns, X_binned, stumps, factors), factors)

    def _fall(self, loss: Loss, feature: int, bin_: int) -> float:
        """Return what a stump takes away with two Newton steps: near what it does with the best."""
        D = self.n_outputs
        stump, step = (np.full(D, feature), np.full(D, bin_), np.arange(D)), np.zeros(D)
        for _ in range(2):
            _, slope, curvature = self.stump_slopes(loss, *stump, step)
            step = step + np.clip(divide(-slope, curvature), -1.0, 1.0)
        return float((self.bag_value - self.stump_slopes(loss, *stump, step)[0]).sum())

    def _series(self, loss: Any) -> tuple[np.ndarray, IntArray, FloatArray, FloatArray]:
        """Bring -l', l''' and l^(5) to fixed point (n, 3 D); also their sums, those of l^(4) and l^(6), and factors."""
        D, top = self.n_outputs, self.top_hessian
        fixed = np.empty((self.n_samples, 3 * D), dtype=self.fixed.dtype)
        factor, even = fixed_factor(top, self.fixed_bits), self.fixed_factor(top)
        factors = self.fixed_factors, factor, even
        parts = self.over_blocks(loss.series_columns, self.loss_columns, factors, fixed)
        here = np.asarray(np.sum(parts, axis=0))
        sums = self.exchange.added(here[3 * D :])
        even = divide(sums, np.tile(even, 2)).reshape(2, D)
        return fixed, here[: 3 * D], even, np.concatenate([self.fixed_factors, factor, factor])

    # -- leaves of a growing shared tree ---------------------------------------------------------------------------
    def best_leaf_splits(self, sign: IntArray, features: IntArray) -> LeafSplits:
        """Find the best change of each leaf with present constant sign `sign`, by the contrast."""
        n_leaves, margin = len(sign), self.margin
        here = np.zeros(n_leaves, dtype=FIXED)
        for start, stop in self.undivided:
            leaf_sums(self.leaf, self.fixed_contrast, start, stop, here)
        total = self.exchange.added(here)
        kept = sign * total
        constant = np.where(np.abs(total) > kept + margin, np.abs(total), kept)  # what the better constant gives
        # Without a split the better constant is the change.
        splits = LeafSplits(
            np.full(n_leaves, -1),
            np.full(n_leaves, -1),
            np.where(constant > kept, -sign, sign).astype(np.int64),
            (constant - kept) / self.contrast_factor,
        )
        for first in range(0, n_leaves, LEAF_BATCH):
            leaves = slice(first, min(first + LEAF_BATCH, n_leaves))
            own = total[leaves]

            def add(chunk: IntArray, sums: np.ndarray, first: int = first) -> None:
                self._add_contrasts(chunk, first, here, sums)

            def scan(chunk: IntArray, sums: np.ndarray, own: IntArray = own) -> tuple[IntArray, IntArray, IntArray]:
                score = np.empty((len(chunk), len(own)), dtype=FIXED)
                where, side = np.zeros((2, len(chunk), len(own)), dtype=np.int64)
                scan_leaves(sums, chunk, self.n_bins, own, margin, score, where, side)
                return score, where, side

            order, (score, where, side) = self.scanned(features, (len(own), MAX_BINS), 1, add, scan)
            top = score.max(axis=0)
            best = np.argmin(np.where(score >= top - margin, order[:, None], self.n_features), axis=0)
            pick, better = (best, np.arange(len(best))), top > constant[leaves] + margin
            gain = (top - kept[leaves]) / self.contrast_factor
            splits.feature[leaves] = np.where(better, order[best], -1)
            splits.bin[leaves] = np.where(better, where[pick], -1)
            splits.sign[leaves] = np.where(better, side[pick], splits.sign[leaves])
            splits.gain[leaves] = np.where(better, gain, splits.gain[leaves])
        return splits

    def _add_contrasts(self, features: IntArray, first: int, total: IntArray, sums: np.ndarray) -> None:
        """Add the contrast by bin to sums (f, leaves from `first` on, MAX_BINS); all features are indexed, or none."""
        index, leaf, contrast = self.index, self.leaf, self.fixed_contrast
        if self.sparse is not None:
            stored_leaf_histogram(self.sparse.stored, features, leaf, first, contrast, total, sums)
        elif index.indexed[features[0]]:
            leaf_histogram_sparse(
                self.X_binned,
                features,
                leaf,
                first,
                contrast,
                index.offsets,
                index.rows,
                total,
                index.frequent,
                self.n_bins,
                sums,
            )
        else:
            for start, stop in self.undivided:
                leaf_histogram(self.X_binned, features, leaf, first, contrast, start, stop, sums)
