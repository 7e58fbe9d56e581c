"""Directions of linear features: principal components, and those that separate the classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minrisk._memory import empty
from minrisk._sums import weighted_sum
from minrisk._typing import Codes, FloatArray, IntArray
from minrisk.data.row_blocks import RowBlocks
from minrisk.ensemble.defaults import DISCRIMINANT, DISCRIMINANT_SPACE, FISHER, MOMENT_ROWS, MOMENT_VALUES, PRINCIPAL
from minrisk.model.projection import Projection

SLICE_VALUES = 1 << 19  # of rows that are looked at together
NULL = 1e-9  # an axis of less than this share of the largest variance is rounding
SAME = 1e-6  # relative difference of entries of an axis that rounding may make
MOST_PAIRED = 200  # classes, whose pairs are looked at


@dataclass(frozen=True)
class Moments:
    """Standardised rows to learn directions from, and their principal components.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Row numbers of Z in X.
    Z : ndarray of shape (n, r)
        Scores of these rows on the principal axes, the largest variance first.
    axes : ndarray of shape (d, r)
        Principal axes of the standardised features.
    center, scale : ndarray of shape (d,)
    """

    rows: IntArray
    Z: FloatArray
    axes: FloatArray
    center: FloatArray
    scale: FloatArray

    def projection(self, directions: FloatArray) -> Projection:
        """The projection on directions (r, m) among the principal axes."""
        inverse = np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)
        with np.errstate(over="ignore"):
            weights = ((self.axes @ directions) * inverse[:, None]).astype(np.float32).astype(np.float64)
        weights[:, ~np.all(np.isfinite(weights), axis=0)] = 0.0
        return Projection(self.center, self.scale, weights)

    def principal(self) -> FloatArray:
        """Directions of the first principal components, (r, m)."""
        return np.eye(self.axes.shape[1])[:, :PRINCIPAL]

    def discriminant(self, codes: Codes, weight: FloatArray, part: IntArray) -> FloatArray:
        """Directions in which the classes of the rows numbered `part` in Z differ most, (r, m).

        Fisher's directions by the ratio of variances between and within classes, then for the pairs of classes that
        lie nearest each other the direction that parts the two (up to 200 classes). The covariance within classes is
        shrunk towards a multiple of the identity (Ledoit and Wolf, "A well-conditioned estimator for large-dimensional
        covariance matrices", 2004).
        """
        from scipy.linalg import cho_factor, cho_solve, eigh

        Z, y, w = self.Z[part], codes[part], weight[part]
        if len(part) == 0:
            return np.zeros((Z.shape[1], 0))
        classes, y = np.unique(y, return_inverse=True)
        members = np.zeros((len(classes), len(y)))
        members[y, np.arange(len(y))] = w
        mass = members.sum(axis=1)
        means = members @ Z / mass[:, None]
        inside = shrunk_covariance(Z - means[y], w)
        share = mass / mass.sum()
        shifted = means - share @ means
        room = min(DISCRIMINANT, Z.shape[1])  # as many columns as features, at most
        n_fisher = min(len(classes) - 1, FISHER, room)
        ratio, fisher = eigh((shifted * share[:, None]).T @ shifted, inside)
        fisher = _upward(fisher * (ratio > NULL * ratio[-1]))[:, ::-1][:, :n_fisher]
        first, second = np.triu_indices(len(classes) if len(classes) <= MOST_PAIRED else 0, 1)
        apart = means[first] - means[second]
        parting = cho_solve(cho_factor(inside), apart.T)
        distance = np.einsum("ij,ji->i", apart, parting)
        distance[distance <= NULL * distance.max(initial=0.0)] = np.inf  # classes in one place are not parted
        nearest = np.argsort(distance, kind="stable")[: room - n_fisher]
        parting[:, np.isinf(distance)] = 0.0
        return np.concatenate([_unit(fisher), _unit(parting[:, nearest])], axis=1)


def standardisation(X: np.ndarray, weight: FloatArray, rows: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Weighted means and standard deviations of all or some rows' features; 0 and 0 where nothing varies.

    Parameters
    ----------
    X : ndarray of shape (N, d)
        NaN means missing: not counted for the mean, which it is for the deviation.
    weight : ndarray of shape (n,)
        Of these rows.
    rows : ndarray of int, optional
    """
    rows, d = np.arange(len(X)) if rows is None else rows, X.shape[1]
    slices = _slices(len(rows), d)
    with np.errstate(over="ignore", invalid="ignore"):
        count = np.sum([weighted_sum(weight[part], ~np.isnan(X[rows[part]])) for part in slices], axis=0)
        total = np.sum([weighted_sum(weight[part], _centered(X, rows[part], np.zeros(d))) for part in slices], axis=0)
        center = np.divide(total, count, out=np.zeros(d), where=count > 0)
        squares = np.sum(
            [
                np.einsum("i,ij,ij->j", weight[part], Z, Z)
                for part in slices
                for Z in [_centered(X, rows[part], center)]
            ],
            axis=0,
        )
        scale = np.sqrt(squares / weight.sum())
        usable = (scale > np.maximum(1e-12 * np.abs(center), 1e-30)) & (scale < 1e30)  # weights are float32
    return np.where(usable, center, 0.0), np.where(usable, scale, 0.0)


def standardised(X: np.ndarray, rows: IntArray, center: FloatArray, scale: FloatArray) -> FloatArray:
    """These rows as `standardisation` has it; 0 where a value is missing, or nothing varies."""
    with np.errstate(over="ignore", invalid="ignore"):
        Z = _centered(X, rows, center)
        Z[:, scale == 0] = 0.0
        Z /= np.where(scale > 0, scale, 1.0)
    return Z


def _slices(n: int, d: int) -> list[slice]:
    height = max(1, SLICE_VALUES // d)
    return [slice(first, first + height) for first in range(0, n, height)]


def _centered(X: np.ndarray, rows: IntArray, center: FloatArray) -> FloatArray:
    """These rows less the center, 0 where a value is missing."""
    Z = empty((len(rows), X.shape[1]), np.float64)
    Z[:] = X[rows]
    Z -= center
    Z[np.isnan(Z)] = 0.0
    return Z


def fit_moments(X: np.ndarray | RowBlocks, weight: FloatArray, rows: IntArray) -> Moments:
    """Means, scales and principal axes of the given rows of X, of more than 20 000 (or 32 MB) evenly spaced ones.

    Parameters
    ----------
    X : ndarray or RowBlocks of shape (n, d)
        NaN means missing: such cells count as the mean.
    weight : ndarray of shape (n,)
    rows : ndarray of int
        Of a weight above 0.
    """
    d = X.shape[1]
    most = min(MOMENT_ROWS, MOMENT_VALUES // d)
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]
    w, slices = weight[rows], _slices(len(rows), d)  # all rows at once are large
    here, at = (X[rows], np.arange(len(rows))) if isinstance(X, RowBlocks) else (X, rows)
    center, scale = standardisation(here, w, at)

    def part_of(part: slice) -> FloatArray:
        return standardised(here, at[part], center, scale)

    covariance = np.zeros((d, d))
    for part in slices:
        Z = part_of(part)
        Z *= np.sqrt(w[part])[:, None]
        covariance += Z.T @ Z
    variance, axes = np.linalg.eigh(covariance / w.sum())
    kept = int(np.count_nonzero(variance > NULL * max(float(variance[-1]), 0.0)))
    axes = axes[:, ::-1][:, : min(DISCRIMINANT_SPACE, kept)]
    axes = _upward(axes)
    return Moments(rows, np.concatenate([part_of(part) @ axes for part in slices]), axes, center, scale)


def shrunk_covariance(Z: FloatArray, weight: FloatArray) -> FloatArray:
    """Ledoit and Wolf's shrunk covariance of centered rows, a row of weight 2 counting as two."""
    total = weight.sum()
    S = (Z * weight[:, None]).T @ Z / total
    mean = np.trace(S) / len(S)
    apart = float(np.sum(S**2) - mean**2 * len(S))
    noise = float(weight @ np.sum(Z**2, axis=1) ** 2 / total - np.sum(S**2)) / total
    share = min(1.0, max(0.0, noise / apart)) if apart > 0 else 1.0
    return np.asarray((1 - share) * S + (share * mean + 1e-9) * np.eye(len(S)))


def _upward(axes: FloatArray) -> FloatArray:
    """Axes (r, m), each with the sign that makes its largest entry positive: of an eigenvector rounding chooses it."""
    if axes.size == 0:
        return axes
    size = np.abs(axes)
    largest = np.argmax(size > (1.0 - SAME) * size.max(axis=0), axis=0)  # the first of equals: two features' are
    return np.asarray(axes * np.where(axes[largest, np.arange(axes.shape[1])] < 0, -1.0, 1.0))


def _unit(directions: FloatArray) -> FloatArray:
    """Columns of length 1, so that equal directions have equal weights; zero columns stay."""
    length = np.sqrt(np.sum(directions**2, axis=0))
    return np.asarray(np.divide(directions, length, out=np.zeros_like(directions), where=length > 0))
