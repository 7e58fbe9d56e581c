"""Rows as points, dense or sparse: their units, and squared distances to anchors.

Of sparse rows only stored values are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from minrisk._kernels.similarity import real_distances, stored_distances, whole_distances
from minrisk._typing import FloatArray, IntArray
from minrisk._utils.algebra import principal_components
from minrisk._utils.memory import points, read_only
from minrisk.data.row_keys import numbered_keys
from minrisk.data.sparse import SparseRows

NORMAL_IQR = 1.3489795003921634  # interquartile range of a standard normal
CONSTANT_DEVIATION = 1e-12  # of a feature's largest value: a smaller deviation is rounding, and the feature constant
INT32_FEATURES = 33_000  # features: sums of fewer squares of 0..255 fit int32
FARTHEST = 1e130  # of a coordinate from 0: squares of new points' coordinates must not overflow
LARGEST_EXTENT, SMALLEST_EXTENT = 1e100, 1e-100  # extents of features beyond which squares overflow or vanish


class Units(NamedTuple):
    """z = (x - center) / scale, with `fill` for missing values of x; (d,) each."""

    center: FloatArray
    scale: FloatArray
    fill: FloatArray

    @classmethod
    def of(cls, X: np.ndarray, scaling: str, weight: FloatArray | None = None) -> Units:
        """Make units of training data: as it is ("none"), mean and deviation, or median and interquartile range.

        Rows count by their weights, those of weight 0 not at all. A feature without spread keeps its scale. Missing
        values count as the mean (median, if robust).
        """
        d = X.shape[1]
        top, middle, spread, there = np.ones(d), np.zeros(d), np.zeros(d), np.zeros(d, dtype=np.bool_)
        weight = np.ones(len(X)) if weight is None else weight
        for j in range(d):
            x = X[:, j].astype(np.float64)
            known = ~np.isnan(x) & (weight > 0.0)
            there[j] = known.any()
            if there[j]:
                top[j] = float(np.abs(x[known]).max()) or 1.0
                middle[j], spread[j] = _middle_and_spread(x[known] / top[j], weight[known], scaling == "robust")
        return cls.finished(top, middle, spread, there, scaling)

    @classmethod
    def finished(
        cls, top: FloatArray, middle: FloatArray, spread: FloatArray, there: np.ndarray, scaling: str
    ) -> Units:
        """Make them of middle and spread of each feature over its largest value; `there`: whether any is known."""
        fill = np.where(there, middle * top, 0.0)
        if scaling != "none":
            scale = np.where(there & (spread > CONSTANT_DEVIATION), spread * top, 1.0)
            return cls(fill.copy(), scale, fill)
        extent, one = float(top[there].max(initial=0.0)), 1.0
        if not SMALLEST_EXTENT < extent < LARGEST_EXTENT and extent > 0.0:
            one = np.ldexp(1.0, int(np.frexp(extent)[1]) - 1)
        return cls(np.zeros(len(top)), np.full(len(top), one), fill)

    def apply(self, X: np.ndarray) -> FloatArray:
        """Return points z (n, d)."""
        z: FloatArray = np.asarray(X, dtype=np.float64)
        missing = np.isnan(z)
        if missing.any():
            z = np.where(missing, self.fill, z)
        with np.errstate(over="ignore"):
            if self.center.any():
                z = z - self.center
            if np.any(self.scale != 1.0):
                z = z / self.scale
        return np.clip(z, -FARTHEST, FARTHEST) if z.size and max(z.max(), -z.min()) > FARTHEST else z

    @property
    def trivial(self) -> bool:
        """Whether z = x."""
        return not self.center.any() and bool(np.all(self.scale == 1.0))


@dataclass(frozen=True)
class Points:
    """Points by features, (d, n): uint8 where all are whole numbers in 0..255, else float64."""

    X: np.ndarray
    squares: np.ndarray  # (n,) int32 |x|^2 of whole numbers; empty else

    @classmethod
    def of(cls, X: np.ndarray, units: Units) -> Points:
        """Make points of raw rows (n, d)."""
        small = X.dtype == np.uint8 and units.trivial
        Z = X if small else units.apply(X)
        whole = Z.shape[1] < INT32_FEATURES and (small or is_whole(Z))
        if not whole:
            return cls(points(Z.T), read_only(np.empty(0, dtype=np.int32)))
        transposed = np.ascontiguousarray(Z.T, dtype=np.uint8)
        squares = np.zeros(len(Z), dtype=np.int32)
        for feature in transposed:
            squares += feature.astype(np.int32) ** 2
        return cls(read_only(transposed), read_only(squares))

    def kind(self, anchors: FloatArray) -> type[np.generic]:
        """Return the dtype of the distances to the anchors: int32 where everything is whole."""
        return np.int32 if self.X.dtype == np.uint8 and is_whole(anchors) else np.float64

    def distances(self, anchors: FloatArray, start: int, stop: int, out: np.ndarray) -> None:
        """Fill out[:, start:stop] with squared distances of points start..stop to the anchors (C, d), of `kind`."""
        if out.dtype == np.int32:
            whole_distances(self.X, self.squares, anchors.astype(np.uint8), start, stop, out)
        else:
            real_distances(self.X, anchors, start, stop, out)

    def at(self, rows: IntArray) -> FloatArray:
        """Return points as anchors (C, d)."""
        return np.ascontiguousarray(self.X[:, rows].T, dtype=np.float64)

    def along(self, zero: FloatArray) -> FloatArray:
        """Say where points are along a fixed direction, from the point `zero` on, (n,)."""
        found, direction = np.zeros(self.X.shape[1]), _direction(len(zero))
        for j, feature in enumerate(self.X):
            found += direction[j] * (feature - zero[j] if zero[j] else feature)
        return found

    def coincident(self) -> tuple[IntArray, int]:
        """Return the number of each point's location, (n,), and how many there are."""
        Z = np.ascontiguousarray(self.X.T) + self.X.dtype.type(0)  # no negative zeros
        view = Z.view(np.dtype((np.void, Z.dtype.itemsize * Z.shape[1]))).ravel()
        _, location = np.unique(view, return_inverse=True)
        location = location.ravel()
        return location, int(location.max()) + 1 if len(location) else 0

    def reduced(self, n_components: int) -> FloatArray:
        """Return the first principal components, (n, n_components); all features where they are no more."""
        d, n = self.X.shape
        middle = self.X.mean(axis=1)
        extent = float(np.abs(np.stack([self.X.max(axis=1), self.X.min(axis=1)]) - middle).max()) or 1.0
        Z = np.empty((n, d), dtype=np.float32 if d > n_components else np.float64)
        for j in range(d):  # of numbers near 0, so that products lose nothing to rounding
            Z[:, j] = (self.X[j] - middle[j]) / extent
        return principal_components(Z, n_components) if n > n_components < d else Z


def _direction(n_features: int) -> FloatArray:
    """Return a fixed direction, (d,), of which no few entries have a simple sum."""
    return np.asarray(numbered_keys(np.arange(n_features), 0) / 2.0**64 - 0.5)


def _middle_and_spread(z: FloatArray, weight: FloatArray, robust: bool) -> tuple[float, float]:
    """Return weighted mean and deviation, or median and quartile range as of a normal, of values within -1 and 1."""
    if not robust:
        middle = float(np.average(z, weights=weight))
        return middle, float(np.sqrt(np.average((z - middle) ** 2, weights=weight)))
    order = np.argsort(z, kind="stable")
    below = np.cumsum(weight[order])
    low, middle, high = z[order][np.searchsorted(below, np.array([0.25, 0.5, 0.75]) * below[-1])]
    return float(middle), float(high - low) / NORMAL_IQR


def is_whole(Z: np.ndarray) -> bool:
    """Say whether all values are whole numbers in 0..255."""
    return bool(np.all((Z >= 0) & (Z <= 255) & (Z == np.rint(Z))))


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
        """Make points of raw rows."""
        matrix = X.matrix
        features = matrix.indices.astype(np.int32)
        own = Units(*(part[features] for part in units))
        values = own.apply(matrix.data.astype(np.float64)[None])[0]
        zero = units.apply(np.zeros((1, X.shape[1])))[0]
        return cls(read_only(matrix.indptr.astype(np.int64)), read_only(features), read_only(values), read_only(zero))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def kind(self, anchors: FloatArray) -> type[np.generic]:
        """Return the dtype of the distances to any anchors: float64, which holds sums of whole numbers exactly."""
        return np.float64

    def distances(self, anchors: FloatArray, start: int, stop: int, out: np.ndarray) -> None:
        """Fill out[:, start:stop] with squared distances of points start..stop to the anchors (C, d)."""
        number, features = np.nonzero(anchors != self.zero)
        offsets = np.searchsorted(number, np.arange(len(anchors) + 1)).astype(np.int64)
        stored_distances(
            self.offsets,
            self.features,
            self.values,
            self.zero,
            offsets,
            features.astype(np.int32),
            anchors[number, features],
            start,
            stop,
            out,
        )

    def at(self, rows: IntArray) -> FloatArray:
        """Return points as anchors (C, d)."""
        found = np.tile(self.zero, (len(rows), 1))
        for anchor, row in zip(found, rows.tolist(), strict=True):
            own = slice(*self.offsets[row : row + 2])
            anchor[self.features[own]] = self.values[own]
        return found

    def along(self, zero: FloatArray) -> FloatArray:
        """Return what `Points.along` gives, (n,)."""
        terms = _direction(len(self.zero))[self.features] * (self.values - self.zero[self.features])
        row = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return np.asarray(np.bincount(row, weights=terms, minlength=len(self)), dtype=np.float64)

    def coincident(self) -> tuple[IntArray, int]:
        """Return what `Points.coincident` gives, but for the numbers that locations have."""
        apart = self.values != self.zero[self.features]
        values, known = self.values + 0.0, dict[tuple[bytes, bytes], int]()  # no negative zeros
        location = np.empty(len(self), dtype=np.int64)
        for row, (first, last) in enumerate(zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True)):
            own = np.flatnonzero(apart[first:last]) + first
            key = self.features[own].tobytes(), values[own].tobytes()
            location[row] = known.setdefault(key, len(known))
        return location, len(known)

    def reduced(self, n_components: int) -> FloatArray:
        """Return the first principal components, (n, n_components), from what is stored."""
        from scipy.sparse import csr_matrix

        if not len(self) > n_components < len(self.zero):
            everything = np.ascontiguousarray(self.at(np.arange(len(self))).T)
            return Points(everything, np.empty(0, dtype=np.int32)).reduced(n_components)
        values = self.values - self.zero[self.features]  # a shift of all points moves no component
        values /= float(np.abs(values).max(initial=0.0)) or 1.0
        matrix = csr_matrix((values, self.features, self.offsets), shape=(len(self), len(self.zero)))
        return principal_components(matrix, n_components)


def points_of(X: np.ndarray | SparseRows, units: Units) -> Points | SparsePoints:
    """Return rows as points, sparse as they are."""
    return SparsePoints.of(X, units) if isinstance(X, SparseRows) else Points.of(X, units)


def stored_units(X: SparseRows, scaling: str, weight: FloatArray) -> Units:
    """Make what `Units.of` gives, but for the last bits of means and deviations: their sums run over stored values."""
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
    """Return weighted median and quartile range, as of a normal, of each feature; `zeros` is the zeros' weight."""
    order = np.lexsort((z, feature))
    feature, z, weight = feature[order], z[order], weight[order]
    bounds = np.searchsorted(feature, np.arange(len(zeros) + 1)).tolist()
    middle, spread = np.zeros(len(zeros)), np.zeros(len(zeros))
    for j in np.flatnonzero(there).tolist():
        own, weights = z[bounds[j] : bounds[j + 1]], weight[bounds[j] : bounds[j + 1]]
        if zeros[j] > 0.0:
            at = int(np.searchsorted(own, 0.0))
            own, weights = np.insert(own, at, 0.0), np.insert(weights, at, zeros[j])
        below = np.cumsum(weights)
        low, middle[j], high = own[np.searchsorted(below, np.array([0.25, 0.5, 0.75]) * below[-1])]
        spread[j] = (high - low) / NORMAL_IQR
    return middle, spread
