"""The sets, their splits and their cost tables.

Official splits are left aside: every set is split 70/30 at random, stratified, five times. Text becomes codes in sorted
order, the same numbers for every method; missing cells stay NaN. ``news20`` (TF-IDF of the counts) and ``sector`` are
reduced to 100 columns by truncated SVD; both steps are fitted on the training rows of each split.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split

from benchmarks.common import DATA, costs, few_rows, is_quick, load
from benchmarks.compare import others

# Rows of each set, in order of rows x features x classes: the order of work
SETS = {
    "iris": 150,
    "vertebral": 310,
    "breast_tissue": 106,
    "wine": 178,
    "glass": 214,
    "svmguide4": 300,
    "ecoli": 336,
    "svmguide2": 391,
    "german": 1000,
    "car": 1728,
    "vehicle": 846,
    "vowel": 990,
    "segment": 2086,
    "page_blocks": 5473,
    "waveform": 5000,
    "libras": 360,
    "nursery": 12960,
    "satimage": 6435,
    "dna": 3186,
    "pendigits": 10992,
    "chess": 28056,
    "optdigits": 5620,
    "shuttle": 58000,
    "cnae9": 1080,
    "letter": 20000,
    "mfeat": 2000,
    "usps": 9298,
    "news20": 18846,
    "sector": 9619,
    "isolet": 7797,
}
WIDE = ("libras", "optdigits", "cnae9", "letter", "mfeat", "usps", "news20", "sector", "isolet")
KINDS = ("0/1", "ordinal", "symmetric", "taxonomy", "normal", "lognormal")
TUNED = tuple(name for name, rows in SETS.items() if rows <= 7000)
SMALL = tuple(SETS)[: list(SETS).index("dna") + 1]  # rows x features x classes up to about 2 million
ORDER = (*SETS, *others.SETS)  # of work and of the reports
SVD_COLUMNS = 100


class Split(NamedTuple):
    """Training and test rows; y are the codes 0..K-1, each of them among the training rows."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1


def halves(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the training and of the test part; a class of a single row is trained on."""
    single = np.bincount(y)[y] == 1
    rows = np.flatnonzero(~single)
    training, test = train_test_split(rows, test_size=0.3, random_state=seed, stratify=y[rows])
    training = np.concatenate([training, np.flatnonzero(single)])
    if len(np.unique(y[training])) < y.max() + 1:
        raise AssertionError("A class is missing from the training rows.")
    return training, test


@lru_cache(maxsize=2)
def split(name: str, seed: int) -> Split:
    """The set of this name, split for the `seed`-th time."""
    if name in ("news20", "sector"):
        return _text(name, seed)
    X, y = others.load(name) if name in others.SETS else load(name)[1:3]
    if name == "segment":  # the official training rows are among the others once more
        rows = np.sort(np.unique(np.column_stack([X, y]), axis=0, return_index=True)[1])
        X, y = X[rows], y[rows]
    training, test = halves(y, seed)
    return Split(X[training], y[training], X[test], y[test])


def _text(name: str, seed: int) -> Split:
    import pandas as pd
    from scipy import sparse

    X = sparse.load_npz(DATA / name / {"news20": "counts.npz", "sector": "tfidf.npz"}[name]).tocsr().astype(float)
    labels = pd.read_csv(DATA / name / "labels.csv")["target"].to_numpy().astype(str)
    y = np.unique(labels, return_inverse=True)[1]
    if is_quick():
        chosen = few_rows(y)
        X, y = X[chosen], y[chosen]
    training, test = halves(y, seed)
    X_fit, X_test = X[training], X[test]
    if name == "news20":
        weights = TfidfTransformer(sublinear_tf=True).fit(X_fit)
        X_fit, X_test = weights.transform(X_fit), weights.transform(X_test)
    reduced = TruncatedSVD(SVD_COLUMNS, random_state=seed).fit(X_fit)
    return Split(reduced.transform(X_fit), y[training], reduced.transform(X_test), y[test])


def table(kind: str, n_classes: int, name: str, seed: int) -> np.ndarray:
    """The costs (K, K) of one of `KINDS`, mean off-diagonal 1; random ones are drawn anew for every set and split."""
    values = np.asarray(costs(kind, n_classes, zlib.crc32(f"{name}/{seed}".encode())))
    return np.asarray(values / values[~np.eye(n_classes, dtype=bool)].mean())
