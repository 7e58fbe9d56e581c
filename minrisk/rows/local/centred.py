"""Features less their means, by powers of two within -1 and 1: what lines are fitted on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minrisk._kernels._dtypes import FIXED
from minrisk._typing import FloatArray
from minrisk._workers import Workers
from minrisk.rows.exchange import Place
from minrisk.rows.fixed_point import divide, fixed_factor, sum_bits

SMALLEST_VALUE = 2.0**-1010  # of a feature's values, the largest: slopes of smaller ones would be beyond float64
MEAN_BITS = 61  # of the terms of a mean: float64 and int64 hold them


class CenteredFeatures(NamedTuple):
    """Features less their means, by powers of two within -1 and 1 (where rows weigh something); a mean for missing."""

    Z: FloatArray  # (d, n)
    center: FloatArray  # (d,)
    unit: FloatArray  # (d,): near^2 (x - center) = unit z
    near: FloatArray  # (d,): in two halves, as unit / near^2 may be beyond float64

    @classmethod
    def of(cls, X: FloatArray, weight: FloatArray, workers: Workers, place: Place) -> CenteredFeatures:
        """From raw values (n, d). Rows of weight 0 count for nothing."""
        n, d = X.shape
        Z, counts, exchange = np.empty((d, n)), weight > 0, place.exchange

        def top_of(j: int) -> float:
            return float(np.abs(X[counts & ~np.isnan(X[:, j]), j]).max(initial=0.0))

        varies, near = powers_near(exchange.largest(np.array(workers.map(top_of, range(d)))))
        mean = _means(X, near, weight, workers, place)

        def center(j: int) -> float:
            with np.errstate(over="ignore", invalid="ignore"):
                Z[j] = np.where(np.isnan(X[:, j]), 0.0, X[:, j] * near[j] * near[j] - mean[j])
            return float(np.abs(Z[j, counts]).max(initial=0.0))

        varies, unit = units_of(exchange.largest(np.array(workers.map(center, range(d)))), varies)

        def scale(j: int) -> None:
            if varies[j]:
                Z[j] /= unit[j]
            else:
                Z[j] = 0.0

        workers.map(scale, range(d))
        near = np.where(varies, near, 1.0)
        return cls(Z, np.where(varies, mean / near / near, 0.0), unit, near)


def powers_near(largest: FloatArray) -> tuple[np.ndarray, FloatArray]:
    """Which features may vary, by their largest sizes, and half the power of two that takes these near 1."""
    varies = largest > SMALLEST_VALUE  # it would be constant, or its slopes would be beyond float64
    near = np.where(varies, np.ldexp(1.0, -np.frexp(largest)[1] // 2), 1.0)  # twice: a power of two in float64
    return varies, near


def units_of(top: FloatArray, varies: np.ndarray) -> tuple[np.ndarray, FloatArray]:
    """Which features vary about their means, by at most `top`, and the power of two above that."""
    varies = varies & (0 < top) & (top < np.inf)
    return varies, np.where(varies, np.ldexp(1.0, np.frexp(top)[1]), 1.0)


def mean_factor(weight: FloatArray, place: Place) -> float:
    """By what weights become whole numbers in a mean."""
    bits = min(sum_bits(place.n_rows), MEAN_BITS)
    return float(fixed_factor(place.exchange.largest(np.array([weight.max(initial=0.0)])), bits)[0])


def _means(X: FloatArray, near: FloatArray, weight: FloatArray, workers: Workers, place: Place) -> FloatArray:
    """Weighted mean of what is known of each feature, times near^2 (d,); that is within -1 and 1 where rows weigh."""
    factor = mean_factor(weight, place)

    def sums(j: int) -> tuple[int, int]:
        counted = np.where(np.isnan(X[:, j]), 0.0, weight)
        x = np.where(counted > 0.0, X[:, j], 0.0) * near[j] * near[j]
        whole = np.rint(counted * factor).astype(FIXED)
        return int(np.rint(counted * x * factor).astype(FIXED).sum()), int(whole.sum())

    product, total = place.exchange.added(np.array(workers.map(sums, range(X.shape[1])), dtype=FIXED).reshape(-1, 2)).T
    return divide(product, total.astype(np.float64))
