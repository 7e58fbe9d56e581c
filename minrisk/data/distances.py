"""Rows as points: their units, and squared distances to anchors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from minrisk._kernels.similarity import real_distances, whole_distances
from minrisk._memory import points, read_only
from minrisk._typing import FloatArray, IntArray

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
        """Units of training data: as it is ("none"), mean and deviation, or median and interquartile range.

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
        """From the middle and spread of each feature over its largest value; `there`: whether any value is known."""
        fill = np.where(there, middle * top, 0.0)
        if scaling != "none":
            scale = np.where(there & (spread > CONSTANT_DEVIATION), spread * top, 1.0)
            return cls(fill.copy(), scale, fill)
        extent, one = float(top[there].max(initial=0.0)), 1.0
        if not SMALLEST_EXTENT < extent < LARGEST_EXTENT and extent > 0.0:
            one = np.ldexp(1.0, int(np.frexp(extent)[1]) - 1)
        return cls(np.zeros(len(top)), np.full(len(top), one), fill)

    def apply(self, X: np.ndarray) -> FloatArray:
        """Points z (n, d)."""
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
        """Points of raw rows (n, d)."""
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
        """Dtype of the distances to the anchors: int32 where everything is whole."""
        return np.int32 if self.X.dtype == np.uint8 and is_whole(anchors) else np.float64

    def distances(self, anchors: FloatArray, start: int, stop: int, out: np.ndarray) -> None:
        """out[:, start:stop] = squared distances of points start..stop to the anchors (C, d); `out` is of `kind`."""
        if out.dtype == np.int32:
            whole_distances(self.X, self.squares, read_only(anchors.astype(np.uint8)), start, stop, out)
        elif self.X.dtype == np.uint8:
            real_distances(points(self.X[:, start:stop]), read_only(anchors), 0, stop - start, out[:, start:stop])
        else:
            real_distances(self.X, read_only(anchors), start, stop, out)

    def at(self, rows: IntArray) -> FloatArray:
        """Points as anchors (C, d)."""
        return np.ascontiguousarray(self.X[:, rows].T, dtype=np.float64)

    def along(self, zero: FloatArray) -> FloatArray:
        """Where points are along a fixed direction, from the point `zero` on, (n,)."""
        found = np.zeros(self.X.shape[1])
        for j, feature in enumerate(self.X):
            found += np.cos(j) * (feature - zero[j] if zero[j] else feature)
        return found

    def coincident(self) -> tuple[IntArray, int]:
        """Number of each point's location, (n,), and how many there are."""
        Z = np.ascontiguousarray(self.X.T) + self.X.dtype.type(0)  # no negative zeros
        view = Z.view(np.dtype((np.void, Z.dtype.itemsize * Z.shape[1]))).ravel()
        _, location = np.unique(view, return_inverse=True)
        location = location.ravel()
        return location, int(location.max()) + 1 if len(location) else 0

    def reduced(self, n_components: int) -> FloatArray:
        """The first principal components, (n, n_components); all features where they are no more."""
        from sklearn.decomposition import PCA

        d, n = self.X.shape
        middle = self.X.mean(axis=1)
        extent = float(np.abs(np.stack([self.X.max(axis=1), self.X.min(axis=1)]) - middle).max()) or 1.0
        Z = np.empty((n, d), dtype=np.float32 if d > n_components else np.float64)
        for j in range(d):  # of numbers near 0, so that products lose nothing to rounding
            Z[:, j] = (self.X[j] - middle[j]) / extent
        return PCA(n_components, copy=False, random_state=0).fit_transform(Z) if n > n_components < d else Z


def _middle_and_spread(z: FloatArray, weight: FloatArray, robust: bool) -> tuple[float, float]:
    """Weighted mean and deviation, or median and interquartile range as of a normal, of values within -1 and 1."""
    if not robust:
        middle = float(np.average(z, weights=weight))
        return middle, float(np.sqrt(np.average((z - middle) ** 2, weights=weight)))
    order = np.argsort(z, kind="stable")
    below = np.cumsum(weight[order])
    low, middle, high = z[order][np.searchsorted(below, np.array([0.25, 0.5, 0.75]) * below[-1])]
    return float(middle), float(high - low) / NORMAL_IQR


def is_whole(Z: np.ndarray) -> bool:
    """Whether all values are whole numbers in 0..255."""
    return bool(np.all((Z >= 0) & (Z <= 255) & (Z == np.rint(Z))))
