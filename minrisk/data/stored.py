"""Bins of sparse features: only stored values are looked at, all others are 0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from minrisk._kernels._dtypes import BIN
from minrisk._kernels.histogram import Entries, bin_entries, fill_columns
from minrisk._memory import read_only
from minrisk._typing import Binned, FloatArray, IntArray
from minrisk.data.sparse_rows import SparseRows


class SparseBins:
    """Bins of sparse features: what is not in the bin that 0 is in.

    Parameters
    ----------
    n_rows : int
    default : ndarray of shape (d,), uint8
        Where 0 is.
    offsets : ndarray of shape (d + 1,)
    rows : ndarray of int32
        Of each feature the rows elsewhere, ascending,
    bins : ndarray of uint8
        and their bins.
    """

    dtype = np.dtype(BIN)

    def __init__(self, n_rows: int, default: np.ndarray, offsets: IntArray, rows: np.ndarray, bins: np.ndarray) -> None:
        self.stored = Entries(*map(read_only, (default, offsets, rows, bins)))
        self.shape = len(default), n_rows

    @classmethod
    def empty(cls, n_rows: int, n_features: int) -> SparseBins:
        """Of features with one bin each."""
        offsets = np.zeros(n_features + 1, dtype=np.int64)
        return cls(n_rows, np.zeros(n_features, dtype=BIN), offsets, np.empty(0, np.int32), np.empty(0, BIN))

    @property
    def size(self) -> int:
        """Bins, of all features and rows."""
        return self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[np.ndarray]:
        for j in range(len(self)):
            yield self.some(np.array([j]))[0]

    def __getitem__(self, part: tuple[slice, slice]) -> SparseBins:
        """All features of consecutive rows."""
        features, rows = part
        assert features == slice(None)
        return self.take(len(self), np.arange(self.shape[1])[rows])

    def copy(self) -> SparseBins:
        """In memory of its own."""
        return SparseBins(self.shape[1], *(part.copy() for part in self.stored))

    @property
    def feature(self) -> IntArray:
        """Of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.stored.offsets))

    def some(self, features: IntArray) -> Binned:
        """Bins of few features, (f, n)."""
        out = np.empty((len(features), self.shape[1]), dtype=BIN)
        fill_columns(self.stored, read_only(np.asarray(features, dtype=np.int64)), out)
        return out

    def of_trees(self, feature: np.ndarray) -> tuple[Binned, np.ndarray]:
        """Bins of the features that nodes split, and the nodes' features as numbers of these."""
        used, number = np.unique(feature, return_inverse=True)
        return read_only(self.some(used)), number.astype(feature.dtype)

    def take(self, n_features: int, rows: IntArray) -> SparseBins:
        """The first features of some rows, each once, in this order."""
        default, offsets, of_entry, bins = self.stored
        last = offsets[n_features]
        place = np.full(self.shape[1], -1, dtype=np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        new, feature = place[of_entry[:last]], self.feature[:last]
        kept = np.flatnonzero(new >= 0)
        kept = kept[np.lexsort((new[kept], feature[kept]))]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(feature[kept], minlength=n_features))])
        return SparseBins(len(rows), default[:n_features], offsets.astype(np.int64), new[kept], bins[:last][kept])

    def beside(self, columns: Binned) -> SparseBins:
        """With dense features (f, n) behind these."""
        default, offsets, rows, bins = ([part] for part in self.stored)
        for column in columns:
            most = np.bincount(column).argmax()
            apart = np.flatnonzero(column != most)
            default.append(np.array([most], dtype=BIN))
            offsets.append(offsets[-1][-1:] + len(apart))
            rows.append(apart.astype(np.int32))
            bins.append(column[apart])
        return SparseBins(self.shape[1], *map(np.concatenate, (default, offsets, rows, bins)))


class _Runs(NamedTuple):
    """Different values of each feature, ascending, feature after feature."""

    feature: IntArray
    value: FloatArray
    weight: FloatArray  # of the rows that have it


def binned(X: SparseRows, thresholds: tuple[FloatArray, ...], rows: IntArray | None) -> SparseBins:
    """Bins of X, or of some of its rows."""
    columns = (X if rows is None else X[rows]).by_column
    offsets, values = columns.indptr.astype(np.int64), columns.data.astype(np.float64)
    first = np.concatenate([[0], np.cumsum([len(t) for t in thresholds])]).astype(np.int64)
    flat = np.concatenate([np.empty(0), *thresholds])
    bins, default = np.empty(len(values), dtype=BIN), np.empty(len(thresholds), dtype=BIN)
    bin_entries(*map(read_only, (values, offsets, flat, first)), bins, default)
    feature = np.repeat(np.arange(len(default)), np.diff(offsets))
    apart = bins != default[feature]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(feature[apart], minlength=len(default)))]).astype(np.int64)
    return SparseBins(columns.shape[0], default, offsets, columns.indices[apart].astype(np.int32), bins[apart])


def runs_of(X: SparseRows, weight: FloatArray | None) -> tuple[_Runs, np.ndarray]:
    """The different values of each feature, zeros among them, and which features have missing ones, (d,)."""
    columns, (n, d) = X.by_column, X.shape
    value = columns.data.astype(np.float64)
    feature = np.repeat(np.arange(d), np.diff(columns.indptr))
    own = np.ones(len(value)) if weight is None else weight[columns.indices]
    everything = float(n) if weight is None else float(weight.sum())
    filled = np.diff(columns.indptr) == n
    zeros = everything - np.bincount(feature, weights=own, minlength=d)  # of the rows that are not stored
    missing, known = np.isnan(value), ~filled
    has_missing = np.bincount(feature[missing], minlength=d) > 0
    value = np.concatenate([value[~missing], np.zeros(int(known.sum()))])
    own = np.concatenate([own[~missing], zeros[known]])
    feature = np.concatenate([feature[~missing], np.flatnonzero(known)])
    order = np.lexsort((value, feature))
    value, own, feature = value[order], own[order], feature[order]
    new = np.ones(len(value), dtype=np.bool_)
    new[1:] = (value[1:] != value[:-1]) | (feature[1:] != feature[:-1])
    first = np.flatnonzero(new)
    mass = np.add.reduceat(own, first) if len(first) else own
    return _Runs(feature[first], value[first], mass), has_missing
