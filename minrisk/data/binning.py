"""Thresholds of each feature and the bins between them.

The bin of x is the number of thresholds below x, so "x > threshold[b]" and "bin > b" are the same question; a learner
found on bins answers raw values alike. `SparseBins` are those of sparse features: all values that are not stored are 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from minrisk._kernels._dtypes import BIN, MAX_BINS
from minrisk._kernels.histogram import bin_column, bin_entries, fill_columns
from minrisk._kernels.structures import Entries
from minrisk._typing import Binned, FloatArray, IntArray
from minrisk._utils.memory import empty, read_only
from minrisk._utils.workers import Workers
from minrisk.data.row_blocks import RowBlocks, blocks_of
from minrisk.data.sparse import SparseRows

QUANTILE_ROWS = 200_000  # rows that quantiles are computed from, as many as scikit-learn's histogram boosting takes
COLUMN_BYTES = 8 << 20  # columns are copied out of X in groups of about this size
SAMPLE_BYTES = 256 << 20  # of rows that are read block after block, those that quantiles are computed from at a time
HALF_RANGE = np.finfo(np.float64).max / 2  # half a range beyond which its width is no float64
EXACT_BITS = 53  # of sums of whole numbers that are exact in any order
NEARLY_MIDWAY = 1e-3  # of a gap: divisions that close to its middle take its end, also where weights move a millionth
UNIFORM_THRESHOLDS = 200  # REBEL's footnote 1


@dataclass(frozen=True)
class Binner:
    """Thresholds per feature; made by `fit_binner`.

    Attributes
    ----------
    thresholds : tuple of ndarray
        Ascending thresholds of each feature, float64. A feature with missing values starts with -inf, so that a
        split can set the missing values (bin 0) apart.
    """

    thresholds: tuple[FloatArray, ...]

    @property
    def n_bins(self) -> npt.NDArray[np.int64]:
        """Number of bins of each feature, (d,)."""
        return np.array([len(t) + 1 for t in self.thresholds], dtype=np.int64)

    def transform(
        self,
        X: npt.NDArray[np.generic] | SparseRows | RowBlocks,
        rows: IntArray | None = None,
        workers: Workers | None = None,
    ) -> Binned | SparseBins:
        """Bin X (n, d), or some of its rows, as (d, n) uint8 with contiguous features; sparse as X is."""
        if isinstance(X, SparseRows):
            return binned(X, self.thresholds, rows)
        shape = X.shape[1], len(X) if rows is None else len(rows)
        bins: Binned = X.room(shape, BIN) if isinstance(X, RowBlocks) else np.empty(shape, dtype=BIN)
        for places, block, inside in blocks_of(X, rows):
            self.fill(bins, places, block, inside, workers or Workers())
        return bins

    def fill(
        self,
        bins: Binned,
        places: slice | IntArray,
        block: npt.NDArray[np.generic],
        inside: IntArray | None,
        workers: Workers,
    ) -> None:
        """Write the bins of a block of rows, or of those `inside` it, into these places of `bins` (d, n)."""

        def columns(group: tuple[int, int]) -> None:
            values = _columns(block, inside, *group)
            for c, j in enumerate(range(*group)):
                out = bins[j, places] if isinstance(places, slice) else np.empty(values.shape[1], dtype=BIN)
                bin_column(values[c], _padded(self.thresholds[j]), out)
                if not isinstance(places, slice):
                    bins[j, places] = out

        workers.map(columns, _groups(len(block) if inside is None else len(inside), len(bins)))


def fit_binner(
    X: npt.NDArray[np.generic] | SparseRows | RowBlocks,
    strategy: str = "quantile",
    max_bins: int | None = None,
    rows: IntArray | None = None,
    weight: FloatArray | None = None,
    workers: Workers | None = None,
) -> Binner:
    """Make thresholds of training data.

    Parameters
    ----------
    X : ndarray, SparseRows or RowBlocks of shape (n, d)
        Real values; NaN means missing.
    strategy : {"quantile", "uniform"}
        "quantile": midpoints between neighbouring distinct values where they fit, else values that divide the rows
        evenly. "uniform": evenly spaced thresholds over the range, its end points left out (REBEL, footnote 1).
    max_bins : int, optional
        At most this many bins, 2 to 256; default 256 for "quantile" and 201 (200 thresholds) for "uniform".
    rows : ndarray of int, optional
        Rows to learn from; default all. Of more than 200 000, evenly spaced ones are taken.
    weight : ndarray of shape (n,), optional
        Sample weights of all rows of X: rows of weight 0 are left out, quantiles count a row by its weight.
    workers : Workers, optional
        Threads over features.

    Returns
    -------
    Binner
    """
    limit = max_bins if max_bins is not None else (UNIFORM_THRESHOLDS + 1 if strategy == "uniform" else MAX_BINS)
    rows = rows_that_tell(len(X), rows, weight)
    of_rows = None if weight is None else _whole(weight if rows is None else weight[rows])
    if isinstance(X, SparseRows):
        return Binner(_stored_thresholds(X if rows is None else X[rows], of_rows, strategy, limit))
    if isinstance(X, RowBlocks):  # some features of these rows at a time
        own = np.arange(len(X)) if rows is None else rows
        width = max(1, SAMPLE_BYTES // (8 * max(1, len(own))))
        found = [
            _of_columns(X.gathered(own, slice(j, j + width)), None, of_rows, strategy, limit, workers)
            for j in range(0, X.shape[1], width)
        ]
        return Binner(tuple(itertools.chain.from_iterable(found)))
    return Binner(tuple(_of_columns(X, rows, of_rows, strategy, limit, workers)))


def rows_that_tell(n_rows: int, rows: IntArray | None, weight: FloatArray | None) -> IntArray | None:
    """Choose the rows that thresholds are found from: of some weight and, where they are many, evenly spaced ones.

    None: all of `n_rows`.
    """
    if weight is not None and not np.all(weight > 0):
        rows = np.flatnonzero(weight > 0) if rows is None else rows[weight[rows] > 0]
    n_samples = n_rows if rows is None else len(rows)
    if n_samples > QUANTILE_ROWS:  # the same whatever the seed
        spaced = np.linspace(0, n_samples - 1, QUANTILE_ROWS).astype(np.int64)
        rows = spaced if rows is None else rows[spaced]
    return rows


def _of_columns(
    X: npt.NDArray[np.generic],
    rows: IntArray | None,
    weight: FloatArray | None,
    strategy: str,
    max_bins: int,
    workers: Workers | None,
) -> list[FloatArray]:
    """Make thresholds of each column from these rows, of these weights."""

    def columns(group: tuple[int, int]) -> list[FloatArray]:
        return [_thresholds(values, weight, strategy, max_bins) for values in _columns(X, rows, *group)]

    groups = _groups(len(X) if rows is None else len(rows), X.shape[1])
    return [t for group in (workers or Workers()).map(columns, groups) for t in group]


def _whole(weight: FloatArray) -> FloatArray:
    """Return weights as whole numbers of a power of two, whose sums are exact: no order of the rows decides a tie."""
    bits = EXACT_BITS - 1 - len(weight).bit_length()
    return np.asarray(np.rint(np.ldexp(weight, bits - int(np.frexp(weight.max())[1]))))


def _groups(n_samples: int, n_features: int) -> list[tuple[int, int]]:
    """Divide features into ranges whose values fit in COLUMN_BYTES."""
    width = max(1, min(64, COLUMN_BYTES // (8 * max(1, n_samples))))
    return [(j, min(j + width, n_features)) for j in range(0, n_features, width)]


def _padded(thresholds: FloatArray) -> FloatArray:
    """Return ascending thresholds, and infinity above them, as many in all as there are bins at most."""
    padded = np.full(MAX_BINS, np.inf)
    padded[: len(thresholds)] = thresholds
    return padded


def _columns(X: npt.NDArray[np.generic], rows: IntArray | None, first: int, last: int) -> FloatArray:
    """Return columns first..last of X (or of some of its rows) as contiguous float64 rows."""
    part = X[:, first:last] if rows is None else X[rows, first:last]
    out = empty(part.T.shape, np.float64)
    out[:] = part.T
    return out


def _thresholds(values: FloatArray, weight: FloatArray | None, strategy: str, max_bins: int) -> FloatArray:
    """Make the ascending thresholds of one feature."""
    if weight is None:
        ordered = np.sort(values)  # NaN last
    else:
        order = np.argsort(values, kind="stable")
        ordered, weight = values[order], weight[order]
    missing = bool(len(ordered)) and bool(np.isnan(ordered[-1]))
    if missing:
        ordered = ordered[: np.searchsorted(ordered, np.nan)]
    room = max_bins - 1 - missing
    if len(ordered) == 0:
        return np.empty(0)
    if strategy == "uniform":
        found = _even_thresholds(ordered[0], ordered[-1], room)
    else:
        found = _quantile_thresholds(ordered, None if weight is None else weight[: len(ordered)], room)
    return np.concatenate([[-np.inf], found]) if missing else found


def _even_thresholds(low: float, high: float, room: int) -> FloatArray:
    """Spread at most `room` thresholds evenly over a range, its end points left out."""
    wide = 1.0 if high / 2.0 - low / 2.0 < HALF_RANGE else 2.0
    found = wide * np.linspace(low / wide, high / wide, room + 2)[1:-1] if low < high else np.empty(0)
    return np.unique(found[(found >= low) & (found < high)])


def _quantile_thresholds(ordered: FloatArray, weight: FloatArray | None, room: int) -> FloatArray:
    """Choose at most `room` midpoints between neighbouring distinct values of sorted data."""
    starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1  # first row of every distinct value but the lowest
    if len(starts) > room:
        below = starts if weight is None else np.cumsum(weight)[starts - 1]  # (weight of) the rows below a boundary
        starts = starts[_evenly(below, len(ordered) if weight is None else weight.sum(), room)]
    return _midpoints(ordered[starts - 1], ordered[starts])


def _evenly(below: np.ndarray, total: float, room: int) -> IntArray:
    """Find the boundaries nearest to each of `room` even divisions of the rows."""
    targets = np.arange(1, room + 1) * (total / (room + 1))
    after = np.minimum(np.searchsorted(below, targets), len(below) - 1)
    before = np.maximum(after - 1, 0)
    nearer = 2.0 * (targets - below[before]) < (1.0 - NEARLY_MIDWAY) * (below[after] - below[before])
    return np.unique(np.where(nearer, before, after))


def _midpoints(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return thresholds that part neighbouring values."""
    with np.errstate(over="ignore"):
        middle = low + (high - low) / 2
    middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)  # of values on either side of a range that wide
    return np.where((middle < high) & np.isfinite(middle), middle, low)  # rounding must not move it up to `high`


def _stored_thresholds(
    X: SparseRows, weight: FloatArray | None, strategy: str, max_bins: int
) -> tuple[FloatArray, ...]:
    """Make `_thresholds` of each sparse feature, of its stored values and how many rows are 0; weights are whole."""
    runs, missing = runs_of(X, weight)
    first = np.searchsorted(runs.feature, np.arange(X.shape[1] + 1))
    inner = runs.feature[1:] == runs.feature[:-1] if len(runs.feature) else np.zeros(0, dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        middle = np.where(inner, _midpoints(runs.value[:-1], runs.value[1:]), 0.0)
    total = len(X) if weight is None else weight.sum()
    gone, found = np.array([-np.inf]), []
    for a, b, lacks in zip(first[:-1].tolist(), first[1:].tolist(), missing.tolist(), strict=True):
        room = max_bins - 1 - lacks
        if b == a:
            found.append(np.empty(0))
            continue
        if strategy == "uniform":
            own = _even_thresholds(runs.value[a], runs.value[b - 1], room)
        elif b - 1 - a <= room:
            own = middle[a : b - 1]
        else:
            known = total if not lacks else runs.weight[a:b].sum()
            own = middle[a : b - 1][_evenly(np.cumsum(runs.weight[a : b - 1]), known, room)]
        found.append(np.concatenate([gone, own]) if lacks else own)
    return tuple(found)


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
        """Return bins of features with one bin each."""
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
        """Return all features of consecutive rows."""
        features, rows = part
        assert features == slice(None)
        return self.take(len(self), np.arange(self.shape[1])[rows])

    def copy(self) -> SparseBins:
        """Copy them into memory of their own."""
        return SparseBins(self.shape[1], *(part.copy() for part in self.stored))

    @property
    def feature(self) -> IntArray:
        """Return the feature of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.stored.offsets))

    def some(self, features: IntArray) -> Binned:
        """Return bins of few features, (f, n)."""
        out = np.empty((len(features), self.shape[1]), dtype=BIN)
        fill_columns(self.stored, np.asarray(features, dtype=np.int64), out)
        return out

    def of_trees(self, feature: np.ndarray) -> tuple[Binned, np.ndarray]:
        """Return bins of the features that nodes split, and the nodes' features as numbers of these."""
        used, number = np.unique(feature, return_inverse=True)
        return read_only(self.some(used)), number.astype(feature.dtype)

    def take(self, n_features: int, rows: IntArray) -> SparseBins:
        """Take the first features of some rows, each once, in this order."""
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
        """Return them with dense features (f, n) behind."""
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
    """Bin X, or some of its rows."""
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
    """Return the different values of each feature, zeros among them, and which features lack values, (d,)."""
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
    totals = np.add.reduceat(own, first) if len(first) else own
    return _Runs(feature[first], value[first], totals), has_missing
