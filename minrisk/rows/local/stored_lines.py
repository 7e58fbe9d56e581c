"""Sums that lines in one feature are fitted by, from the stored values of sparse features.

The rows that lack a feature have the same z there. What they add is z times the sum of the rows' pulls, or pushes: that
of all rows less that of the rows whose value is stored. So sums are in another order than those of an array, and differ
from them in their last bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minrisk._kernels._dtypes import FIXED
from minrisk._kernels.linear import stored_linear_sums
from minrisk._memory import read_only
from minrisk._typing import FloatArray, IntArray
from minrisk._workers import Workers
from minrisk.data.sparse_rows import SparseRows
from minrisk.rows.exchange import Place
from minrisk.rows.fixed_point import divide
from minrisk.rows.local.centred import mean_factor, powers_near, units_of

FEATURES_TOGETHER = 1024  # whose sums one thread makes at a time


class StoredFeatures(NamedTuple):
    """`CenteredFeatures` of sparse ones: z of each stored value, and of the zeros."""

    offsets: IntArray  # (d + 1,)
    rows: np.ndarray  # int32, of each entry
    z: FloatArray
    zero: FloatArray  # (d,)
    center: FloatArray
    unit: FloatArray
    near: FloatArray

    @classmethod
    def of(cls, X: SparseRows, weight: FloatArray, place: Place) -> StoredFeatures:
        """From raw values (n, d). Rows of weight 0 count for nothing."""
        columns, d, exchange = X.by_column, X.shape[1], place.exchange
        offsets, x = columns.indptr.astype(np.int64), columns.data.astype(np.float64)
        feature, own = np.repeat(np.arange(d), np.diff(offsets)), weight[columns.indices]
        missing = np.isnan(x)

        def largest(values: FloatArray, otherwise: FloatArray) -> FloatArray:
            """Of each feature, over the rows that weigh something; `otherwise`: of the rows that lack it."""
            lack = np.bincount(feature[own > 0], minlength=d) < np.count_nonzero(weight > 0)
            found = np.where(lack, otherwise, 0.0)
            np.maximum.at(found, feature[own > 0], np.abs(values[own > 0]))
            return exchange.largest(found)

        varies, near = powers_near(largest(np.where(missing, 0.0, x), np.zeros(d)))
        with np.errstate(over="ignore", invalid="ignore"):
            x = np.where(missing, 0.0, x * near[feature] * near[feature])
        factor = mean_factor(weight, place)
        counted, all_of_them = np.where(missing, 0.0, own), np.rint(weight * factor).astype(FIXED).sum()
        gone = np.rint(np.where(missing, own, 0.0) * factor).astype(FIXED)
        product = np.rint(counted * np.where(counted > 0.0, x, 0.0) * factor).astype(FIXED)
        sums = np.stack([_by_feature(product, offsets), all_of_them - _by_feature(gone, offsets)])
        product, total = exchange.added(sums)
        mean = divide(product, total.astype(np.float64))
        with np.errstate(over="ignore", invalid="ignore"):
            z = np.where(missing, 0.0, x - mean[feature])
        varies, unit = units_of(largest(z, np.abs(mean)), varies)
        z = np.where(varies[feature], z / unit[feature], 0.0)
        zero, near = np.where(varies, -mean / unit, 0.0), np.where(varies, near, 1.0)
        rows = columns.indices.astype(np.int32)
        center = np.where(varies, mean / near / near, 0.0)
        return cls(*map(read_only, (offsets, rows, z, zero, center, unit, near)))

    def sums(
        self,
        features: IntArray,
        push: FloatArray,
        pull: FloatArray,
        factors: tuple[float, float],
        place: Place,
        workers: Workers,
    ) -> FloatArray:
        """Sums of rho z, rho z^2 and u z over all rows, (f, 3), in units of the `factors` of push and pull."""
        out = np.zeros((len(features) + 1, 5), dtype=FIXED)

        def add(first: int) -> None:
            last = min(first + FEATURES_TOGETHER, len(features))
            stored_linear_sums(self.offsets, self.rows, self.z, features, push, pull, *factors, first, last, out)

        workers.map(add, range(0, len(features), FEATURES_TOGETHER))
        for place_of, values, factor in ((0, pull, factors[1]), (4, push, factors[0])):  # of all rows
            out[-1, place_of] = np.rint(values[:, 0] * factor).astype(FIXED).sum()
        found = place.exchange.added(out)
        zero = self.zero[features]
        pulls, pushes = (zero * (found[-1, c] - found[:-1, c]) for c in (0, 4))
        return np.stack([found[:-1, 1] + pulls, found[:-1, 2] + zero * pulls, found[:-1, 3] + pushes], axis=1)


def _by_feature(values: IntArray, offsets: IntArray) -> IntArray:
    """Sums of the entries of each feature, (d,): of whole numbers."""
    below = np.concatenate([np.zeros(1, dtype=values.dtype), np.cumsum(values)])
    return np.asarray(below[offsets[1:]] - below[offsets[:-1]])
