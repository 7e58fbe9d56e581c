"""Codes: words of bits for each class, what they decide, and what learners of groups of classes say of each class.

R. E. Schapire and Y. Singer, "Improved boosting algorithms using confidence-rated predictions", Machine Learning 1999,
Sec. 7; E. L. Allwein, R. E. Schapire and Y. Singer, "Reducing multiclass to binary", Journal of Machine Learning
Research 2000.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from minrisk._kernels import losses as kernels
from minrisk._typing import FloatArray, IntArray
from minrisk._utils.algebra import product
from minrisk._utils.memory import empty
from minrisk._utils.workers import Workers

DENSE_BITS = 10  # bits of a dense code, times log2 of the number of classes (Allwein et al., Sec. 6)
CODES_TRIED = 10_000  # draws of a dense code, of which the best is taken (there, too)
CODE_WORK = 2e9  # multiplications that the draws may take together: of hundreds of classes there are fewer draws
DECODED_ROWS = 1024  # rows from which threads share a decoding


@dataclass(frozen=True, eq=False)
class Decoder:
    """Turns the scores of L bits into those of K classes, the largest of which decides.

    Parameters
    ----------
    words : ndarray of shape (K, L), int8
        -1 or +1: the bits of each class.
    decoding : {"loss", "hamming"}
        "loss": the score of class k is -log sum_l exp(-words_kl f_l), the exponential loss of the bits f. "hamming":
        minus the number of bits whose sign is another than the word's; a bit of 0 counts half.
    """

    words: np.ndarray
    decoding: str = "loss"

    @property
    def n_bits(self) -> int:
        """Return L."""
        return int(self.words.shape[1])

    def decoded(self, bits: FloatArray, workers: Workers | None = None) -> FloatArray:
        """Return scores (n, K) of bits (n, L)."""
        n, words = len(bits), self.words
        run = kernels.log_losses if self.decoding == "loss" else kernels.agreements
        out = empty((n, len(words)), np.float64)
        parts = 1 if workers is None or n < DECODED_ROWS else workers.n
        bounds = [n * part // parts for part in range(parts + 1)]
        (workers or Workers()).map(lambda part: run(words, bits, bounds[part], bounds[part + 1], out), range(parts))
        return out


def one_vs_all(n_classes: int) -> FloatArray:
    """Return a bit for each class, 1 in its own word only (K, K)."""
    return 2.0 * np.eye(n_classes) - 1.0


def exhaustive(n_classes: int) -> FloatArray:
    """Return every way to divide the classes in two, once: (K, 2^(K - 1) - 1); the first class always has 1."""
    number = np.arange(1, 2 ** (n_classes - 1))
    others = (number[None] >> np.arange(n_classes - 1)[:, None]) & 1
    return np.concatenate([np.ones((1, len(number))), 1.0 - 2.0 * others])


def dense(n_classes: int, seed: int) -> FloatArray:
    """Draw a code of ceil(10 log2 K) bits (Allwein et al. 2000): of many draws one whose words are farthest apart.

    Farthest apart is the pair that is nearest; of equals the first. Bits that are the same for all classes are drawn
    again. The paper draws 10 000 codes without two equal bits, of which there are too few for five classes or less.
    A process draws the same code once.
    """
    return _dense(n_classes, seed).copy()


@lru_cache(maxsize=32)
def _dense(n_classes: int, seed: int) -> FloatArray:
    """See `dense`."""
    L = (n_classes**DENSE_BITS - 1).bit_length()  # ceil(DENSE_BITS log2 K)
    draws = int(min(CODES_TRIED, max(1, CODE_WORK // (n_classes**2 * L))))
    rng = np.random.default_rng(seed)
    best, farthest = np.empty((0, 0)), -1
    for _ in range(draws):
        words = _drawn(n_classes, L, rng)
        distance = nearest_distance(words)
        if distance > farthest:
            best, farthest = words, distance
    return best


def _drawn(n_classes: int, n_bits: int, rng: np.random.Generator) -> FloatArray:
    """Return bits of which none is the same for all classes (K, L)."""
    words: FloatArray = np.asarray(2.0 * rng.integers(0, 2, (n_classes, n_bits)) - 1.0, dtype=np.float64)
    # A bit that is the same for all classes asks nothing, and is drawn again.
    while len(alike := np.flatnonzero(np.abs(words.sum(axis=0)) == n_classes)):
        words[:, alike] = 2.0 * rng.integers(0, 2, (n_classes, len(alike))) - 1.0
    return words


def nearest_distance(words: FloatArray) -> int:
    """Return the number of bits in which the two words differ that are nearest to each other."""
    K, L = words.shape
    different = (L - product(words, words.T)) / 2
    return int(different[~np.eye(K, dtype=bool)].min())


# -- codebooks ---------------------------------------------------------------------------------------------------------
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
        """Return scores (V, K) of vectors (V, G): of those with one entry each, products that are rounded once."""
        return product(vectors, self.words)

    def encoded(self, vectors: FloatArray) -> FloatArray:
        """Return the numbers (V, G) that `decoded` these, vector v having been one of number v modulo G alone."""
        number = np.arange(len(vectors)) % len(self.words)
        found = np.zeros((len(vectors), len(self.words)))
        found[np.arange(len(vectors)), number] = vectors[np.arange(len(vectors)), self._exact[number]]
        return found

    @property
    def _exact(self) -> IntArray:
        """Return a class of each word whose entry is 1."""
        return np.asarray(np.argmax(self.words == 1.0, axis=1))


def separators(sets: Iterable[Iterable[int]], n_classes: int) -> Codebook:
    """Return margin vectors of sets of classes (Fernández-Baldera and Baumela 2014, Eq. 3), times the size of the set.

    A set S of s classes has 1 for its classes and -s / (K - s) for the others; the paper's y^S is this over s.
    """
    words = []
    for members in sets:
        inside = np.isin(np.arange(n_classes), list(members))
        s = int(inside.sum())
        words.append(np.where(inside, 1.0, -s / (n_classes - s)))
    return Codebook(np.array(words))
