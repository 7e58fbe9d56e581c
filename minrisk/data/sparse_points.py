"""Sparse rows as points: distances that look at stored values only.

A feature that two rows lack is the same number z = (0 - center) / scale in both, so that nothing is added for it: the
distance is a sum over the features that either has, and the same bits as `minrisk.data.distances.Points` gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minrisk._kernels.similarity import stored_distances
from minrisk._memory import read_only
from minrisk._typing import FloatArray, IntArray
from minrisk.data.distances import NORMAL_IQR, Points, Units
from minrisk.data.sparse_rows import SparseRows


@dataclass(frozen=True)
class SparsePoints:
    """Points by rows, of which those features are stored that are not `zero`.

    Attributes
    ----------
    offsets : ndarray of shape (n + 1,), int64
        Where the entries of each row begin.
    features : ndarray of int32
        Of each entry, ascending in a row,
    values : ndarray of float64
        and its z.
    zero : ndarray of shape (d,)
        z of a feature that is not stored.
    """

    offsets: IntArray
    features: np.ndarray
    values: FloatArray
    zero: FloatArray

    @classmethod
    def of(cls, X: SparseRows, units: Units) -> SparsePoints:
        """Points of raw rows."""
        matrix = X.matrix
        features = matrix.indices.astype(np.int32)
        own = Units(*(part[features] for part in units))
        values = own.apply(matrix.data.astype(np.float64)[None])[0]
        zero = units.apply(np.zeros((1, X.shape[1])))[0]
        return cls(read_only(matrix.indptr.astype(np.int64)), read_only(features), read_only(values), read_only(zero))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def kind(self, anchors: FloatArray) -> type[np.generic]:
        """Dtype of the distances to any anchors: float64, which holds sums of whole numbers exactly."""
        return np.float64

    def distances(self, anchors: FloatArray, start: int, stop: int, out: np.ndarray) -> None:
        """out[:, start:stop] = squared distances of points start..stop to the anchors (C, d)."""
        number, features = np.nonzero(anchors != self.zero)
        offsets = np.searchsorted(number, np.arange(len(anchors) + 1)).astype(np.int64)
        stored_distances(
            self.offsets,
            self.features,
            self.values,
            self.zero,
            read_only(offsets),
            read_only(features.astype(np.int32)),
            read_only(anchors[number, features]),
            start,
            stop,
            out,
        )

    def at(self, rows: IntArray) -> FloatArray:
        """Points as anchors (C, d)."""
        found = np.tile(self.zero, (len(rows), 1))
        for anchor, row in zip(found, rows.tolist(), strict=True):
            own = slice(*self.offsets[row : row + 2])
            anchor[self.features[own]] = self.values[own]
        return found

    def along(self, zero: FloatArray) -> FloatArray:
        """What `Points.along` gives, (n,)."""
        cosines = np.array([np.cos(j) for j in range(len(self.zero))])  # as one by one, which may round otherwise
        terms = cosines[self.features] * (self.values - self.zero[self.features])
        row = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return np.asarray(np.bincount(row, weights=terms, minlength=len(self)), dtype=np.float64)

    def coincident(self) -> tuple[IntArray, int]:
        """What `Points.coincident` gives, but for the numbers that locations have."""
        apart = self.values != self.zero[self.features]
        values, known = self.values + 0.0, dict[tuple[bytes, bytes], int]()  # no negative zeros
        location = np.empty(len(self), dtype=np.int64)
        for row, (first, last) in enumerate(zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True)):
            own = np.flatnonzero(apart[first:last]) + first
            key = self.features[own].tobytes(), values[own].tobytes()
            location[row] = known.setdefault(key, len(known))
        return location, len(known)

    def reduced(self, n_components: int) -> FloatArray:
        """The first principal components, (n, n_components), by Lanczos steps on what is stored."""
        from scipy.sparse import csr_matrix
        from sklearn.decomposition import PCA

        if not len(self) > n_components < len(self.zero):
            everything = np.ascontiguousarray(self.at(np.arange(len(self))).T)
            return Points(everything, np.empty(0, dtype=np.int32)).reduced(n_components)
        values = self.values - self.zero[self.features]  # a shift of all points moves no component
        values /= float(np.abs(values).max(initial=0.0)) or 1.0
        matrix = csr_matrix((values, self.features, self.offsets), shape=(len(self), len(self.zero)))
        found: FloatArray = PCA(n_components, svd_solver="arpack", random_state=0).fit_transform(matrix)
        return found


def points_of(X: np.ndarray | SparseRows, units: Units) -> Points | SparsePoints:
    """Rows as points, sparse as they are."""
    return SparsePoints.of(X, units) if isinstance(X, SparseRows) else Points.of(X, units)


def stored_units(X: SparseRows, scaling: str, weight: FloatArray) -> Units:
    """What `Units.of` gives, but for the last bits of means and deviations: their sums run over stored values."""
    columns, d = X.by_column, X.shape[1]
    value, feature = columns.data.astype(np.float64), np.repeat(np.arange(d), np.diff(columns.indptr))
    own = weight[columns.indices]
    counts = own > 0.0
    total, n_counted = float(weight.sum()), int(np.count_nonzero(weight > 0.0))

    def by_feature(terms: np.ndarray) -> FloatArray:
        return np.asarray(np.bincount(feature[counts], weights=terms[counts], minlength=d), dtype=np.float64)

    zeros = np.where(by_feature(np.ones(len(own))) < n_counted, np.maximum(total - by_feature(own), 0.0), 0.0)
    counts &= ~np.isnan(value)
    known = zeros + by_feature(own)
    top = np.zeros(d)
    np.maximum.at(top, feature[counts], np.abs(value[counts]))
    top = np.where(top > 0.0, top, 1.0)
    z = np.where(counts, value, 0.0) / top[feature]
    there = known > 0.0
    if scaling == "robust":
        middle, spread = _quartiles(feature[counts], z[counts], own[counts], zeros, there)
    else:
        middle = np.divide(by_feature(own * z), known, out=np.zeros(d), where=there)
        squares = by_feature(own * (z - middle[feature]) ** 2) + zeros * middle**2
        spread = np.sqrt(np.divide(squares, known, out=np.zeros(d), where=there))
    return Units.finished(top, middle, spread, there, scaling)


def _quartiles(
    feature: IntArray, z: FloatArray, weight: FloatArray, zeros: FloatArray, there: np.ndarray
) -> tuple[FloatArray, FloatArray]:
    """Weighted median and interquartile range, as of a normal, of each feature: `zeros` is the weight of its zeros."""
    order = np.lexsort((z, feature))
    feature, z, weight = feature[order], z[order], weight[order]
    bounds = np.searchsorted(feature, np.arange(len(zeros) + 1)).tolist()
    middle, spread = np.zeros(len(zeros)), np.zeros(len(zeros))
    for j in np.flatnonzero(there).tolist():
        own, mass = z[bounds[j] : bounds[j + 1]], weight[bounds[j] : bounds[j + 1]]
        if zeros[j] > 0.0:
            at = int(np.searchsorted(own, 0.0))
            own, mass = np.insert(own, at, 0.0), np.insert(mass, at, zeros[j])
        below = np.cumsum(mass)
        low, middle[j], high = own[np.searchsorted(below, np.array([0.25, 0.5, 0.75]) * below[-1])]
        spread[j] = (high - low) / NORMAL_IQR
    return middle, spread
