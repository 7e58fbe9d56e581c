"""What members see of the training rows: folds, binned features, finer bins, and linear features beside them.

Linear features are principal components, and directions that separate the classes. Rows lie here (`bin_table`) or
elsewhere, on a cluster (`table_elsewhere`): there each place has a `FoldedPiece` of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from minrisk._typing import Bag, Binned, Codes, FloatArray, IntArray, Labels
from minrisk._utils.algebra import eigenvectors, product, solve
from minrisk._utils.memory import empty, give_back
from minrisk._utils.workers import Workers
from minrisk.data.binning import Binner, fit_binner, rows_that_tell
from minrisk.data.chunks import CodedLabels
from minrisk.data.copies import are_copies, content_keys, told_by
from minrisk.data.row_blocks import RowBlocks, blocks_of
from minrisk.data.row_keys import odd_numbers
from minrisk.ensemble import defaults
from minrisk.ensemble.defaults import DISCRIMINANT, DISCRIMINANT_SPACE, FISHER, PRINCIPAL, Settings, is_wide
from minrisk.ensemble.driver import LINEAR_VALUES
from minrisk.ensemble.folds import drawn_folds, fold_counts, folds_of, spread_folds
from minrisk.model.projection import Projection
from minrisk.rows.columns import Columns
from minrisk.rows.costs import RowCosts
from minrisk.rows.exchange import Place
from minrisk.rows.folded import FoldedRows
from minrisk.rows.placed import CountedRows, PlacedRows


class Table:
    """What members may see of the training rows, which stand fold after fold.

    Parameters
    ----------
    X : ndarray, SparseRows or RowBlocks of shape (N, d)
    rows : ndarray of int, (n,)
        Of X.
    columns : Columns
        The features; linear ones are put behind them when they are first asked for.
    bin_finer : callable, optional
        Gives the features in finer bins; None: these bring nothing.
    add_linear : callable, optional
        Adds linear features to the columns and gives their projection, and the numbers of the columns that the member
        of each fold may see; None: there are none.
    source : ndarray of int, (d,), optional
        The feature of X that each was made of, as categories are of their codes; default: each stands for itself.
    """

    def __init__(
        self,
        X: Any,
        rows: IntArray,
        columns: Columns,
        bin_finer: Callable[[], Columns] | None = None,
        add_linear: Callable[[], tuple[Projection, list[IntArray]] | None] | None = None,
        source: IntArray | None = None,
    ) -> None:
        self.X, self.rows, self.columns = X, rows, columns
        self._bin_finer, self._add_linear, self._one, self._source = bin_finer, add_linear, Lock(), source
        self._finer: Columns | None = None
        self.projection: Projection | None = None  # of the linear features, once they have been asked for
        self._seen: list[IntArray] | None = None

    @property
    def finer(self) -> Columns:
        """The features in finer bins; the same where these bring nothing."""
        with self._one:
            if self._finer is None:
                self._finer = self.columns if self._bin_finer is None else self._bin_finer()
            return self._finer

    @property
    def linear(self) -> list[IntArray] | None:
        """Numbers of the columns that the member of each fold may see; None: there are no linear features."""
        with self._one:
            if self._add_linear is not None:
                found, self._add_linear = self._add_linear(), None
                if found is not None:
                    self.projection, self._seen = found
            return self._seen

    @property
    def categories(self) -> tuple[Bag, Bag]:
        """Which features are codes of categories, and which only say whether these are a certain value, (d,) each."""
        own = np.arange(self.n_features)
        made = own if self._source is None else self._source
        is_code = np.isin(own, made[made != own])
        return is_code, (made != own) & (self.columns.n_bins[: len(own)] <= 2)

    @property
    def n_features(self) -> int:
        """Of X."""
        return int(self.X.shape[1])

    @property
    def n_given(self) -> int:
        """Features that others are made of: the first ones."""
        return self.n_features if self._source is None else int(self._source.max()) + 1


def bin_table(
    X: Any,
    y: Labels | CodedLabels,
    rows: IntArray,
    costs: RowCosts,
    per_row: bool,
    settings: Settings,
    workers: Workers,
    source: IntArray | None = None,
    group: IntArray | None = None,
    folds: IntArray | None = None,
) -> tuple[Table, FoldedRows]:
    """Return the rows as members see them, fold after fold, and their costs in that order.

    Parameters
    ----------
    X : ndarray, SparseRows or RowBlocks of shape (N, d)
    y : ndarray or CodedLabels of shape (N,)
        For splitters that `cv` may be.
    rows : ndarray of int, (n,)
        Of X, that count; put into the order of the folds.
    costs : RowCosts
        Of these rows, as stated; put into the order of the folds likewise.
    per_row : bool
        Whether costs differ by row.
    settings : Settings
    workers : Workers
    source : ndarray of int, (d,), optional
        See `Table`.
    group : ndarray of int, (N,), optional
        Which rows belong together.
    folds : ndarray of int, (N,), optional
        Of a splitter, which was asked before.
    """
    n, d = costs.n_rows, X.shape[1]
    weight = weight_of(X, rows, costs.weight)
    usual, fine = defaults.n_bins(settings.binning, settings.max_bins, n, d)
    columns = bin_columns(X, rows, weight, settings.binning, workers, usual)
    differ_by = costs.weight, *(costs.table[costs.row].T if per_row else ())
    given = columns.thresholds if source is None else columns.thresholds[: source.max() + 1]
    cv = settings.cv if folds is None else folds
    folds = folds_of(cv, X, given, y, rows, costs.label, settings.seed, differ_by, group)
    if folds.max() == 0:
        return Table(X, rows, columns), FoldedRows(costs, folds)
    order = np.argsort(folds, kind="stable")  # members leave a fold out without a copy of the others
    columns.reorder(order)
    rows[:] = rows[order]  # in place: copies would be the peak of memory
    costs.reorder(order)
    folds = folds[order]
    del order, weight
    if columns.n_values > LINEAR_VALUES:
        give_back()  # what sorting has taken

    def bin_finer() -> Columns:
        return bin_columns(X, rows, weight_of(X, rows, costs.weight), settings.binning, workers, fine)

    def add_linear() -> tuple[Projection, list[IntArray]] | None:
        return linear_columns(X, rows, costs.label, costs.weight, folds, columns, settings.binning, usual, workers)

    finer = settings.pool and fine != usual and not is_wide(n, d)
    table = Table(X, rows, columns, bin_finer if finer else None, add_linear if settings.pool else None, source)
    return table, FoldedRows(costs, folds)


# -- bins -------------------------------------------------------------------------------------------------------------
def weight_of(X: Any, rows: IntArray, weight: FloatArray) -> FloatArray:
    """Return the weight of every row of X (N,): these, and 0 for rows that do not count."""
    of_all = np.zeros(len(X))
    of_all[rows] = weight
    return of_all


def bin_columns(
    X: Any, rows: IntArray, weight: FloatArray, binning: str, workers: Workers, max_bins: int | None
) -> Columns:
    """Bin the features of these rows; thresholds count every row of X by its weight."""
    binner = fit_binner(X, binning, max_bins, None, None if np.all(weight == 1.0) else weight, workers)
    binned = binner.transform(X, _unless_all(rows, X), workers)
    return Columns(binned, binner.n_bins, binner.thresholds, X.room if isinstance(X, RowBlocks) else None)


def linear_columns(
    X: Any,
    rows: IntArray,
    codes: Codes,
    weight: FloatArray,
    folds: IntArray,
    axis: Columns,
    binning: str,
    max_bins: int | None,
    workers: Workers,
) -> tuple[Projection, list[IntArray]] | None:
    """Put linear features behind the others; return their projection and the columns that each fold's member may see.

    Principal components are shared; directions that separate the classes are learnt without the fold's rows.
    None without linear features: fewer than two features vary, there are more than 2000, or the linear ones would have
    more than half a billion bins.

    Parameters
    ----------
    X : ndarray, SparseRows or RowBlocks of shape (N, d)
    rows : ndarray of int, (n,)
        Rows of X that `codes`, `weight`, `folds` and `axis` are about.
    """
    d, n_folds = X.shape[1], min(int(folds.max()) + 1, len(rows))
    if defaults.is_too_linear(d, n_folds, len(rows)):
        return None
    of_all, ascending = weight_of(X, rows, weight), np.argsort(rows, kind="stable")
    moments = fit_moments(X, of_all, rows[ascending])
    sample = ascending[np.searchsorted(rows, moments.rows, sorter=ascending)]
    found = linear_features(moments, d, codes[sample], weight[sample], folds[sample], n_folds)
    if found is None:
        return None
    projection, own = found
    del moments, ascending
    binner = projected_binner(X, projection, None if np.all(of_all == 1.0) else of_all, binning, max_bins, workers)
    among = _unless_all(rows, X)
    axis.add(binner.n_bins, binner.thresholds, lambda bins: fill_projected(bins, X, among, projection, binner, workers))
    if axis.n_values > LINEAR_VALUES:
        give_back()  # the pieces that the axes were computed in
    return projection, own


def linear_features(
    moments: Moments, d: int, label: Codes, weight: FloatArray, fold: IntArray, n_folds: int
) -> tuple[Projection, list[IntArray]] | None:
    """Return the projection, and columns that each fold's member may see, behind d features; None: too few vary.

    Parameters
    ----------
    moments : Moments
    d : int
    label, weight, fold : ndarray of shape (m,)
        Of the rows that the moments are of.
    n_folds : int
        First folds that have a member.
    """
    if moments.axes.shape[1] < 2:
        return None
    directions = [moments.principal()]
    for b in range(n_folds):
        directions.append(moments.discriminant(label, weight, np.flatnonzero(fold != b)))
    first = d + np.cumsum([0, *(kind.shape[1] for kind in directions)])
    shared = np.arange(first[1])
    own = [np.concatenate([shared, np.arange(a, b)]) for a, b in itertools.pairwise(first[1:].tolist())]
    return moments.projection(np.concatenate(directions, axis=1)), own


def _unless_all(rows: IntArray, X: Any) -> IntArray | None:
    """Return these rows, or None if they are all rows of X in their order."""
    return None if len(rows) == len(X) and not np.any(rows[1:] < rows[:-1]) else rows


def projected_binner(
    X: Any, projection: Projection, weight: FloatArray | None, binning: str, max_bins: int | None, workers: Workers
) -> Binner:
    """Find thresholds of linear features, from the rows of X that those of features are found from."""
    told = rows_that_tell(len(X), None, weight)
    n = len(X) if told is None else len(told)
    of_rows = weight if weight is None or told is None else weight[told]
    at_once = projection.n_columns if isinstance(X, RowBlocks) else max(1, LINEAR_VALUES // max(1, n))
    thresholds: tuple[FloatArray, ...] = ()
    for a in range(0, projection.n_columns, at_once):
        part = slice(a, min(a + at_once, projection.n_columns))
        values = empty((n, part.stop - a), np.float32)
        for places, block, inside in blocks_of(X, told):
            values[places] = projection.columns(block, workers, part, inside)
        thresholds += fit_binner(values, binning, max_bins, None, of_rows, workers).thresholds
    return Binner(thresholds)


def fill_projected(
    bins: Binned, X: Any, rows: IntArray | None, projection: Projection, binner: Binner, workers: Workers
) -> None:
    """Write the bins of the linear features of X, or of some of its rows, into `bins` (m, n)."""
    height = max(1, LINEAR_VALUES // projection.n_columns)
    for places, block, inside in blocks_of(X, rows):
        n = len(block) if inside is None else len(inside)
        for a in range(0, n, height):
            own = slice(a, min(a + height, n))
            at = slice(places.start + a, places.start + own.stop) if isinstance(places, slice) else places[own]
            some = np.arange(own.start, own.stop) if inside is None else inside[own]
            binner.fill(bins, at, projection.columns(block, workers, rows=some), None, workers)


# -- directions of linear features ------------------------------------------------------------------------------------
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
        """Return the projection on directions (r, m) among the principal axes."""
        inverse = np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)
        with np.errstate(over="ignore"):
            weights = (product(self.axes, directions) * inverse[:, None]).astype(np.float32).astype(np.float64)
        weights[:, ~np.all(np.isfinite(weights), axis=0)] = 0.0
        return Projection(self.center, self.scale, weights)

    def principal(self) -> FloatArray:
        """Return directions of the first principal components, (r, m)."""
        return np.eye(self.axes.shape[1])[:, :PRINCIPAL]

    def discriminant(self, codes: Codes, weight: FloatArray, part: IntArray) -> FloatArray:
        """Find directions in which the classes of the rows numbered `part` in Z differ most, (r, m).

        Fisher's directions by the ratio of variances between and within classes, then for the pairs of classes that
        lie nearest each other the direction that parts the two (up to 200 classes). The covariance within classes is
        shrunk towards a multiple of the identity (Ledoit and Wolf, "A well-conditioned estimator for large-dimensional
        covariance matrices", 2004).
        """
        Z, y, w = self.Z[part], codes[part], weight[part]
        if len(part) == 0:
            return np.zeros((Z.shape[1], 0))
        classes, y = np.unique(y, return_inverse=True)
        members = np.zeros((len(classes), len(y)))
        members[y, np.arange(len(y))] = w
        of_class = members.sum(axis=1)
        means = product(members, Z) / of_class[:, None]
        inside = shrunk_covariance(Z - means[y], w)
        share = of_class / of_class.sum()
        shifted = means - product(share, means)
        room = min(DISCRIMINANT, Z.shape[1])  # as many columns as features, at most
        n_fisher = min(len(classes) - 1, FISHER, room)
        ratio, fisher = eigenvectors(product((shifted * share[:, None]).T, shifted), inside)
        fisher = _upward(fisher * (ratio > NULL * ratio[-1]))[:, ::-1][:, :n_fisher]
        first, second = np.triu_indices(len(classes) if len(classes) <= MOST_PAIRED else 0, 1)
        apart = means[first] - means[second]
        parting = solve(inside, apart.T)
        distance = np.sum(apart * parting.T, axis=1)
        distance[distance <= NULL * distance.max(initial=0.0)] = np.inf  # classes in one place are not parted
        nearest = np.argsort(distance, kind="stable")[: room - n_fisher]
        parting[:, np.isinf(distance)] = 0.0
        return np.concatenate([_unit(fisher), _unit(parting[:, nearest])], axis=1)


def standardisation(X: np.ndarray, weight: FloatArray, rows: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return weighted means and standard deviations of all or some rows' features; 0 and 0 where nothing varies.

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
        count = np.sum([product(weight[part], ~np.isnan(X[rows[part]])) for part in slices], axis=0)
        total = np.sum([product(weight[part], _centered(X, rows[part], np.zeros(d))) for part in slices], axis=0)
        center = np.divide(total, count, out=np.zeros(d), where=count > 0)
        squares = np.sum([product(weight[part], _centered(X, rows[part], center) ** 2) for part in slices], axis=0)
        scale = np.sqrt(squares / weight.sum())
        usable = (scale > np.maximum(1e-12 * np.abs(center), 1e-30)) & (scale < 1e30)  # weights are float32
    return np.where(usable, center, 0.0), np.where(usable, scale, 0.0)


def standardised(X: np.ndarray, rows: IntArray, center: FloatArray, scale: FloatArray) -> FloatArray:
    """Standardise these rows; 0 where a value is missing, or nothing varies."""
    with np.errstate(over="ignore", invalid="ignore"):
        Z = _centered(X, rows, center)
        Z[:, scale == 0] = 0.0
        Z /= np.where(scale > 0, scale, 1.0)
    return Z


def _slices(n: int, d: int) -> list[slice]:
    height = max(1, SLICE_VALUES // d)
    return [slice(first, first + height) for first in range(0, n, height)]


def _centered(X: np.ndarray, rows: IntArray, center: FloatArray) -> FloatArray:
    """Return these rows less the center, 0 where a value is missing."""
    Z = empty((len(rows), X.shape[1]), np.float64)
    Z[:] = X[rows]
    Z -= center
    Z[np.isnan(Z)] = 0.0
    return Z


def fit_moments(X: np.ndarray | RowBlocks, weight: FloatArray, rows: IntArray) -> Moments:
    """Find means, scales and principal axes of these rows of X, of more than 20 000 (or 32 MB) evenly spaced ones.

    Parameters
    ----------
    X : ndarray or RowBlocks of shape (n, d)
        NaN means missing: such cells count as the mean.
    weight : ndarray of shape (n,)
    rows : ndarray of int
        Of a weight above 0.
    """
    d = X.shape[1]
    most = defaults.moment_rows(d)
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
        covariance += product(Z.T, Z)
    variance, axes = eigenvectors(covariance / w.sum())
    kept = int(np.count_nonzero(variance > NULL * max(float(variance[-1]), 0.0)))
    axes = axes[:, ::-1][:, : min(DISCRIMINANT_SPACE, kept)]
    axes = _upward(axes)
    return Moments(rows, np.concatenate([product(part_of(part), axes) for part in slices]), axes, center, scale)


def shrunk_covariance(Z: FloatArray, weight: FloatArray) -> FloatArray:
    """Return Ledoit and Wolf's shrunk covariance of centered rows, a row of weight 2 counting as two."""
    total = weight.sum()
    S = product((Z * weight[:, None]).T, Z) / total
    mean = np.trace(S) / len(S)
    apart = float(np.sum(S**2) - mean * mean * len(S))
    noise = float(product(weight, np.sum(Z**2, axis=1) ** 2) / total - np.sum(S**2)) / total
    share = min(1.0, max(0.0, noise / apart)) if apart > 0 else 1.0
    return np.asarray((1 - share) * S + (share * mean + 1e-9) * np.eye(len(S)))


def _upward(axes: FloatArray) -> FloatArray:
    """Give each axis of (r, m) the sign that makes its largest entry positive: rounding chooses an eigenvector's."""
    if axes.size == 0:
        return axes
    size = np.abs(axes)
    largest = np.argmax(size > (1.0 - SAME) * size.max(axis=0), axis=0)  # the first of equals: two features' are
    return np.asarray(axes * np.where(axes[largest, np.arange(axes.shape[1])] < 0, -1.0, 1.0))


def _unit(directions: FloatArray) -> FloatArray:
    """Scale columns to length 1, so that equal directions have equal weights; zero columns stay."""
    length = np.sqrt(np.sum(directions**2, axis=0))
    return np.asarray(np.divide(directions, length, out=np.zeros_like(directions), where=length > 0))


# -- rows elsewhere ---------------------------------------------------------------------------------------------------
class FoldedPiece:
    """Rows of one place, fold after fold.

    Parameters
    ----------
    rows : PlacedRows
    place : Place
    counted : CountedRows
    n_folds : int
    seed : int
    """

    def __init__(self, rows: PlacedRows, place: Place, counted: CountedRows, n_folds: int, seed: int) -> None:
        place, codes = counted.place, counted.costs.label
        self._counted, exchange, K, n = counted, place.exchange, counted.n_classes, len(codes)
        folds = drawn_folds(_drawn_by(counted), n_folds, seed)
        folds = spread_folds(folds, codes, exchange.added(fold_counts(folds, codes, K, n_folds)))
        begins, firsts = place.numbered
        own = [np.bincount(folds[a:b], minlength=n_folds) for a, b in itertools.pairwise([*begins.tolist(), n])]
        of_here = np.column_stack([firsts, np.array(own, dtype=np.int64)])
        of_all = exchange.gathered(of_here)
        self._order = np.argsort(folds, kind="stable")
        self._folds = folds[self._order]
        self.n_folds = int(np.count_nonzero(of_all[:, 1:].sum(axis=0)))
        begin = np.concatenate([[0], np.cumsum(of_all[:, 1:].sum(axis=0))])
        start, segments = 0, []
        for fold in range(n_folds):
            for first, n_rows in of_here[:, [0, 1 + fold]].tolist():
                before = int(of_all[of_all[:, 0] < first, 1 + fold].sum())
                segments.append((start, int(begin[fold]) + before))
                start += n_rows
        self.place = place._replace(segments=tuple(segments))

    def folded(self) -> FoldedRows:
        """Return the rows with what mistakes cost."""
        return FoldedRows(self._counted.costs.at(self._order), self._folds, place=self.place)

    def columns(self, binning: str, max_bins: int | None, workers: Workers) -> Columns:
        """Bin the features."""
        binner = self._counted.binner(binning, max_bins)
        return Columns(binner.transform(self._counted.X, self._order, workers), binner.n_bins, binner.thresholds)

    def add_linear(
        self, columns: Columns, binning: str, max_bins: int | None, workers: Workers
    ) -> tuple[Projection, list[IntArray]] | None:
        """Put linear features behind the others: see `linear_columns`."""
        counted, exchange = self._counted, self.place.exchange
        d, n_folds = counted.X.shape[1], min(self.n_folds, counted.n_rows)
        if defaults.is_too_linear(d, n_folds, counted.n_rows):
            return None
        fold = np.empty(len(self._order), dtype=np.int64)
        fold[self._order] = self._folds
        numbers, here = counted.spaced(defaults.moment_rows(d))
        costs, linear = counted.costs, None
        found = counted.collected(numbers, counted.X[here], costs.label[here], costs.weight[here], fold[here])
        if found is not None:
            X, label, weight, fold = found
            linear = linear_features(fit_moments(X, weight, np.arange(len(X))), d, label, weight, fold, n_folds)
        (linear,) = exchange.told((linear,))
        if linear is None:
            return None
        projection, seen = linear
        binner = counted.thresholds(
            lambda rows: projection.columns(counted.X[rows], workers).astype(np.float32), binning, max_bins
        )
        columns.add(
            binner.n_bins,
            binner.thresholds,
            lambda bins: fill_projected(bins, counted.X, self._order, projection, binner, workers),
        )
        return projection, seen


def _drawn_by(counted: CountedRows) -> np.ndarray:
    """Return numbers of the rows here that folds are drawn by: where rows are copied, of their cells alone."""
    place, codes, d = counted.place, counted.costs.label, counted.X.shape[1]
    numbers = place.numbers_of_all(len(codes))
    few = told_by(numbers, place.n_rows)
    found = counted.collected(numbers[few], counted.X[few], codes[few])
    told: tuple[bool, ...] = place.exchange.told(None if found is None else (are_copies(found[0], found[1], d),))
    if not told[0]:
        return numbers
    return content_keys(counted.X, np.arange(len(codes)), d, odd_numbers(np.random.default_rng(1), d))


def table_elsewhere(driver: Any, counted: Any, settings: Settings, n: float, d: int) -> tuple[Table, FoldedRows]:
    """Do as `bin_table` for rows that lie elsewhere: many, which count as n, of d numbers."""
    usual, fine = defaults.n_bins(settings.binning, settings.max_bins, n, d)
    piece = driver.made(FoldedPiece, counted, settings.cv or defaults.FOLDS, settings.seed)
    columns = piece.columns(settings.binning, usual, Workers())
    folded, none, nowhere = piece.folded(), np.empty((0, d)), np.empty(0, np.int64)
    if piece.n_folds == 1:
        return Table(none, nowhere, columns), folded

    def bin_finer() -> Columns:
        finer: Columns = piece.columns(settings.binning, fine, Workers())
        return finer

    def add_linear() -> Any:
        return piece.add_linear(columns, settings.binning, usual, Workers())

    finer = settings.pool and fine != usual and not is_wide(n, d)
    return Table(none, nowhere, columns, bin_finer if finer else None, add_linear if settings.pool else None), folded
