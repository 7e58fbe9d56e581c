"""Binned features that several rows share."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

from minrisk._kernels._dtypes import BIN
from minrisk._typing import Binned, FloatArray, IntArray
from minrisk.data.stored import SparseBins


class Columns:
    """Bins, of which there is one copy: rows that are made of them read it, and it is changed in place.

    Parameters
    ----------
    binned : ndarray of uint8 or SparseBins, of shape (d, n)
    n_bins : ndarray of shape (d,)
    thresholds : tuple of ndarray
        Of each feature.
    room : callable, optional
        Of a shape and a dtype, gives an array for bins where these lie; default: in memory.
    """

    def __init__(
        self,
        binned: Binned | SparseBins,
        n_bins: IntArray,
        thresholds: tuple[FloatArray, ...],
        room: Callable[[tuple[int, int], Any], Binned] | None = None,
    ) -> None:
        self.binned, self.n_bins, self.thresholds = binned, n_bins, thresholds
        self._room = room or np.empty
        self._index: Any = None
        self._one = Lock()

    @property
    def n_values(self) -> int:
        """Bins, of all features and rows."""
        return int(self.binned.size)

    def index(self, build: Callable[[Binned | SparseBins, IntArray], Any]) -> Any:
        """What `build` makes of the rows in their present order: all who share the columns read what one has built."""
        with self._one:
            if self._index is None:
                self._index = build(self.binned, self.n_bins)
            return self._index

    def reorder(self, order: IntArray) -> None:
        """Put the rows in another order."""
        if isinstance(self.binned, SparseBins):
            self.binned = self.binned.take(len(self.binned), order)
        else:
            for column in self.binned:
                column[:] = column[order]
        self._index = None

    def add(self, n_bins: IntArray, thresholds: tuple[FloatArray, ...], fill: Callable[[Binned], None]) -> None:
        """Put further features of the same rows behind these; `fill` writes their bins."""
        first, n_rows = self.binned.shape
        shape = len(n_bins), n_rows
        if isinstance(self.binned, SparseBins):
            behind = np.empty(shape, dtype=BIN)
            fill(behind)
            self.binned = self.binned.beside(behind)
        else:
            wide = self._room((first + len(n_bins), n_rows), BIN)  # older rows may still read the others
            wide[:first] = self.binned
            self.binned = wide
            fill(self.binned[first:])
        self.thresholds += thresholds
        self.n_bins, self._index = np.concatenate([self.n_bins, n_bins]), None

    def some(self, n_features: int, rows: IntArray) -> Columns:
        """A copy of the first features of some rows."""
        if isinstance(self.binned, SparseBins):
            some: Any = self.binned.take(n_features, rows)
        else:
            some = np.ascontiguousarray(self.binned[:n_features][:, rows])
        return Columns(some, self.n_bins[:n_features], self.thresholds[:n_features])
