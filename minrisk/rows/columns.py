"""Binned features that several rows share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

import numpy as np

from minrisk._typing import Binned, FloatArray, IntArray


class Columns:
    """Bins, of which there is one copy: rows that are made of them read it, and it is changed in place.

    Parameters
    ----------
    binned : ndarray of shape (d, n), uint8
    n_bins : ndarray of shape (d,)
    thresholds : tuple of ndarray
        Of each feature.
    """

    def __init__(self, binned: Binned, n_bins: IntArray, thresholds: tuple[FloatArray, ...]) -> None:
        self.binned, self.n_bins, self.thresholds = binned, n_bins, thresholds
        self._index: Any = None
        self._one = Lock()

    @property
    def n_values(self) -> int:
        """Bins, of all features and rows."""
        return int(self.binned.size)

    def index(self, build: Callable[[Binned, IntArray], Any]) -> Any:
        """What `build` makes of the rows in their present order: all who share the columns read what one has built."""
        with self._one:
            if self._index is None:
                self._index = build(self.binned, self.n_bins)
            return self._index

    def reorder(self, order: IntArray) -> None:
        """Put the rows in another order."""
        for column in self.binned:
            column[:] = column[order]
        self._index = None

    def add(self, n_features: int, parts: Iterable[Columns]) -> None:
        """Put so many features of the same rows behind these; the parts may be made as they are asked for."""
        first, n_rows = self.binned.shape
        self.binned.resize((first + n_features, n_rows), refcheck=False)  # a copy would be the peak of memory
        n_bins = [self.n_bins]
        for part in parts:
            self.binned[first : first + len(part.binned)] = part.binned
            first += len(part.binned)
            n_bins.append(part.n_bins)
            self.thresholds += part.thresholds
        self.n_bins, self._index = np.concatenate(n_bins), None

    def some(self, n_features: int, rows: IntArray) -> Columns:
        """A copy of the first features of some rows."""
        binned = np.ascontiguousarray(self.binned[:n_features][:, rows])
        return Columns(binned, self.n_bins[:n_features], self.thresholds[:n_features])
