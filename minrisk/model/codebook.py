"""Codewords: what learners say of groups of classes, as scores of the classes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from minrisk._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Codebook:
    """A linear map from G numbers that are boosted to the scores of K classes.

    Parameters
    ----------
    words : ndarray of shape (G, K)
        What 1 in each of the G numbers is worth to each class. Every word has an entry of exactly 1.
    """

    words: FloatArray

    def __len__(self) -> int:
        return len(self.words)

    def decoded(self, vectors: FloatArray) -> FloatArray:
        """Scores (V, K) of vectors (V, G): of those with one entry each, products that are rounded once."""
        return np.asarray(np.einsum("vg,gk->vk", vectors, self.words))

    def encoded(self, vectors: FloatArray) -> FloatArray:
        """The numbers (V, G) that `decoded` these, vector v having been one of number v modulo G alone."""
        number = np.arange(len(vectors)) % len(self.words)
        found = np.zeros((len(vectors), len(self.words)))
        found[np.arange(len(vectors)), number] = vectors[np.arange(len(vectors)), self._exact[number]]
        return found

    @property
    def _exact(self) -> IntArray:
        """A class of each word whose entry is 1."""
        return np.asarray(np.argmax(self.words == 1.0, axis=1))


def separators(sets: Iterable[Iterable[int]], n_classes: int) -> Codebook:
    """Margin vectors of sets of classes (Fernández-Baldera and Baumela 2014, Eq. 3), times the size of the set.

    A set S of s classes has 1 for its classes and -s / (K - s) for the others; the paper's y^S is this over s.
    """
    words = []
    for members in sets:
        inside = np.isin(np.arange(n_classes), list(members))
        s = int(inside.sum())
        words.append(np.where(inside, 1.0, -s / (n_classes - s)))
    return Codebook(np.array(words))
