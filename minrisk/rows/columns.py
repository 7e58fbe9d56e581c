"""Binned features that several rows share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

import numpy as np

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
    """

    def __init__(self, binned: Binned | SparseBins, n_bins: IntArray, thresholds: tuple[FloatArray, ...]) -> None:
        self.binned, self.n_bins, self.thresholds = binned, n_bins, thresholds
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

    def add(self, n_features: int, parts: Iterable[Columns]) -> None:
        """Put so many features of the same rows behind these; the parts may be made as they are asked for."""
        first, n_rows = self.binned.shape
        n_bins, behind = [self.n_bins], list[Any]()
        if not isinstance(self.binned, SparseBins):
            self.binned.resize((first + n_features, n_rows), refcheck=False)  # a copy would be the peak of memory
        for part in parts:
            n_bins.append(part.n_bins)
            self.thresholds += part.thresholds
            if isinstance(self.binned, SparseBins):
                behind.append(part.binned)
            else:
                self.binned[first : first + len(part.binned)] = np.asarray(part.binned)
                first += len(part.binned)
        if isinstance(self.binned, SparseBins):
            self.binned = self.binned.beside(behind)
        self.n_bins, self._index = np.concatenate(n_bins), None

    def some(self, n_features: int, rows: IntArray) -> Columns:
        """A copy of the first features of some rows."""
        if isinstance(self.binned, SparseBins):
            some: Any = self.binned.take(n_features, rows)
        else:
            some = np.ascontiguousarray(self.binned[:n_features][:, rows])
        return Columns(some, self.n_bins[:n_features], self.thresholds[:n_features])
