"""Rows for localized similarities: points beside the columns, distances to some of them, and sums of real responses.

Approximate nearest neighbours of all training points.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minrisk._kernels import _dtypes as dtypes
from minrisk._kernels import similarity as kernels
from minrisk._kernels._dtypes import PRODUCT_BITS, TIE
from minrisk._kernels.algebra import nearest_rows
from minrisk._kernels.functions import exp
from minrisk._typing import Bag, FloatArray, IntArray
from minrisk._utils import cached_property
from minrisk._utils.workers import Workers
from minrisk.data.binning import SparseBins
from minrisk.data.distances import Points, SparsePoints, Units, points_of
from minrisk.data.row_keys import odd_numbers, row_keys
from minrisk.data.sparse import SparseRows
from minrisk.rows.base import Opposite
from minrisk.rows.costs import RowCosts
from minrisk.rows.exchange import divide, fixed_factor
from minrisk.rows.row_losses import EXPONENTIAL, Loss
from minrisk.rows.rows import Rows

BATCH_BYTES = 16 << 20  # of distance columns that are computed together


class SimilarRows(Rows):
    """`Rows` of points, with real-valued responses.

    Bins are not used: learners along bins find one bin per feature. Every piece of the rows knows all points, and
    computes the distances of all to an anchor; gradients, Hessians and responses are of its own rows.

    Parameters
    ----------
    X : ndarray or SparseRows of shape (N, d)
        Raw values of the rows of all pieces; NaN is a missing one.
    units : Units
    costs : RowCosts
    workers : Workers
    cache_bytes : float
        Memory for columns of distances, of n numbers each.
    n_neighbors : int, optional
        Opposite points are looked for among about so many nearest points, where some of those are opposite.
    **options
        Of `Rows`.
    """

    holds_values = True

    def __init__(
        self,
        X: np.ndarray | SparseRows,
        units: Units,
        costs: RowCosts,
        workers: Workers,
        cache_bytes: float = 2e8,
        n_neighbors: int | None = None,
        **options: Any,
    ) -> None:
        n, d = len(costs.row), X.shape[1]
        super().__init__(SparseBins.empty(n, d), np.ones(d, dtype=np.int64), costs, workers, **options)
        self.units, self.points, self.n_neighbors = units, points_of(X, units), n_neighbors
        self.response: FloatArray = np.ones(n)  # type: ignore[assignment]  # of the trees on bins: signs
        self._cache: OrderedDict[int, np.ndarray] = OrderedDict()
        self._room = max(8, int(cache_bytes // (8 * max(1, len(X)))))
        self._here = slice(self.place.first, self.place.first + n)  # own rows among all points
        if self.trainable:
            self._whole = np.empty((2 * self.n_outputs, n))  # gradients, then Hessians
            least = -self.exchange.largest(np.array([-costs.weight.min(initial=np.inf)]))[0]
            self._alike = least == self.top_weight

    @cached_property
    def location(self) -> tuple[IntArray, int]:
        """Return number of each point's location; coincident points share one."""
        return self.points.coincident()

    @cached_property
    def _neighbors(self) -> IntArray | None:
        """Return about the `n_neighbors` nearest points of every point, for `opposite` to look among."""
        if self.n_neighbors is None or self.place.n_rows < 2:
            return None
        return neighbors_of(self.points, self.n_neighbors, self.workers)

    @cached_property
    def _place(self) -> IntArray:
        """Return the place of every row along a fixed direction: ties do not depend on the order of the rows.

        Coincident points stand in the order of their classes, costs and weights.
        """
        along = self.points.along(self.units.apply(np.zeros((1, len(self.units.center))))[0])
        table, row, weight, label = self.costs[:4]
        cost = row_keys(table.T, odd_numbers(np.random.default_rng(0), table.shape[1]))[row]
        gathered = self.exchange.gathered
        ties = gathered(weight), gathered(cost), gathered(label)
        place = np.empty(len(along), dtype=np.int64)
        place[np.lexsort((*ties, along))] = np.arange(len(along))
        return place

    # -- distances -------------------------------------------------------------------------------------------------
    def columns(self, rows: Sequence[int]) -> list[np.ndarray]:
        """Return squared distances of all points to each of these rows' points."""
        missing = [row for row in rows if row not in self._cache]
        if missing:
            computed = self._distances(self.points.at(np.array(missing)))
            for row, column in zip(missing, computed, strict=True):
                self._cache[row] = column.copy() if len(missing) > 1 else column
        for row in rows:
            self._cache.move_to_end(row)
        found = [self._cache[row] for row in rows]
        while len(self._cache) > max(self._room, len(rows)):
            self._cache.popitem(last=False)
        return found

    def _distances(self, anchors: FloatArray) -> np.ndarray:
        """Return squared distances of all points to the anchors."""
        out = np.empty((len(anchors), self.place.n_rows), dtype=self.points.kind(anchors))
        if self.is_alone:
            self.over_blocks(lambda a, b: self.points.distances(anchors, a, b, out))
        else:
            self.points.distances(anchors, 0, self.place.n_rows, out)
        return out

    # -- what learners are chosen by ---------------------------------------------------------------------------------
    def weigh(self, in_bag: Bag | None, columns: int = 1) -> FloatArray:
        """Restrict the next sums to the bag; returns the column sums of the Hessian (D,).

        `columns` says what `best_stump` will need: 0 nothing, 1 gradients, 2 gradients and Hessians.

        Gradients and Hessians become whole numbers by output, such that their sums with a response are exact.
        """
        hessian = super().weigh(in_bag, 0)
        bits = min(self.sum_bits, PRODUCT_BITS)
        units = []
        for values, top, first in (
            (self.gradient, self.top_gradient, 0),
            (self.hessian, self.top_hessian, self.n_outputs),
        ):
            factor = fixed_factor(top, bits)
            units.append(divide(np.ones(self.n_outputs), factor))
            self._put_whole(values, factor, first)
        self._units = np.array(units)
        return hessian

    def start_search(self, hessian: FloatArray, gain: int) -> None:
        """Set what learners of this round are judged by: the Hessian of all rows, and which drop."""
        self._hessian, self._gain = hessian, gain
        self._pool = self.exchange.gathered(self.in_bag & (self.costs.weight > 0.0))  # points that may be anchors
        ones = np.ones(self.n_samples)
        self._total = self._summed(lambda a, b, out: kernels.single_sums(ones, self._whole, out, a, b))

    def _put_whole(self, values: FloatArray, factor: FloatArray, first: int) -> None:
        self.over_blocks(kernels.whole_columns, values, self.in_bag, factor, self._whole, first)

    def _summed(self, task: Callable[[int, int, IntArray], None]) -> FloatArray:
        """Return what a task adds up over all blocks, (2 D,): whole numbers."""

        def sums(start: int, stop: int) -> IntArray:
            out = np.zeros(2 * self.n_outputs, dtype=dtypes.FIXED)
            task(start, stop, out)
            return out

        return self.summed(sums).astype(np.float64)

    def drop(self) -> float:
        """Return by how much the best vector lowers the loss along the present response, Eq. (5)."""
        return self.drop_along(self.response)

    def drop_along(self, response: FloatArray) -> float:
        """Return the same along another response."""
        return self._drop(self._summed(lambda a, b, out: kernels.single_sums(response, self._whole, out, a, b)), True)

    def _drop(self, sums: FloatArray, real: bool) -> float:
        edge, hessian = sums.reshape(2, -1) * self._units
        return float(kernels.drop(edge, hessian if real else self._hessian, self._gain))

    def moments(self) -> FloatArray:
        """Return U U' of Eq. (7) over the bag, (D, D): u = gradient / sqrt(Hessian of all rows), up to a factor."""
        scale = self._units[0] * self._inverse_root()
        share = divide(np.ones(self.n_samples), self.costs.weight)
        if self._alike:  # the largest of each output bounds all: no pass over the rows is needed
            widest = self.exchange.largest(np.array([share.max(initial=0.0)]))[0]
            top = float((self.top_gradient * self._inverse_root()).max()) * float(np.sqrt(widest))
        else:
            longest = self.over_blocks(lambda a, b: np.abs(self.gradient[a:b] * self._inverse_root()).max(axis=1))
            own = (np.concatenate(longest) * np.sqrt(share)).max(initial=0.0)
            top = float(self.exchange.largest(np.array([own]))[0])
        factor = float(fixed_factor(np.array(top * top), min(self.sum_bits, PRODUCT_BITS)))

        def sums(start: int, stop: int) -> IntArray:
            out = np.zeros((self.n_outputs, self.n_outputs), dtype=dtypes.FIXED)
            kernels.moments(self._whole, scale, share, factor, out, start, stop)
            return out

        upper = self.summed(sums).astype(np.float64)
        return np.asarray(upper + np.triu(upper, 1).T)

    def binarise(self, vector: FloatArray) -> None:
        """Return binarized classes of all points by an eigenvector (D,) of `moments`: signs of v1 = U' q, Eq. (10)."""
        direction = vector * self._units[0] * self._inverse_root()
        side = np.ones(self.n_samples, dtype=np.int8)
        self.over_blocks(kernels.binarise, self._whole, direction, side)
        self._side = self.exchange.gathered(side)

    def _inverse_root(self) -> FloatArray:
        """Return 1 / sqrt(Hessian of all rows), 0 where there is none."""
        return np.sqrt(divide(np.ones(self.n_outputs), self._hessian))

    def most_isolated(self) -> int:
        """Find the point whose isolation lowers the loss most; coincident ones count as one, ties to the first."""
        location, n_locations = self.location
        if n_locations == self.place.n_rows:
            own = np.empty(self.n_samples)
            self.over_blocks(self._isolation_drops, self._whole, own)
            drops = self.exchange.gathered(own)
        else:
            here = np.zeros((2 * self.n_outputs, n_locations))
            kernels.add_groups(self._whole, location[self._here], here)
            summed = self.exchange.added(here)
            per_location = np.empty(n_locations)
            self._isolation_drops(summed, per_location, 0, n_locations)
            drops = per_location[location]
        drops[~self._pool] = -1.0
        best = np.flatnonzero(drops >= drops.max() * (1.0 - TIE))
        return int(best[np.argmin(self._place[best])])

    def _isolation_drops(self, whole: FloatArray, out: FloatArray, start: int, stop: int) -> None:
        kernels.isolation_drops(whole, self._total, self._units[0], self._hessian, self._gain, out, start, stop)

    def nearest_other(self, point: int) -> float:
        """Return smallest squared distance from a point that is not 0; infinite where all points coincide."""
        near = self.columns([point])[0]
        other = near[self._pool & (near > 0)]
        return float(other.min()) if len(other) else np.inf

    def opposites(self, point: int, real: bool, most: int | None) -> Iterator[Opposite]:
        """Return points x_j for f_ij, nearest first (steps 4 to 6): `most` of them; None: until step 6 has removed all.

        Step 6 removes the points that an f_ij which was tried answers half of f_ij(x_j) or less.

        Columns of distances are computed for several points ahead; those that an earlier one removes are not tried.
        """
        near = self.columns([point])[0]
        order, everyone = self._ordered(point, near, self.limits.nearest)
        alive = np.ones(len(order), dtype=np.bool_)
        largest = int(np.clip(BATCH_BYTES // (8 * self.place.n_rows), 1, 64))
        left = self.place.n_rows if most is None else most
        size, place = min(8, largest), 0  # few at first, since those tried may remove many of the others
        tried: list[int] = []
        while left > 0:
            batch = place + np.flatnonzero(alive[place:])[: min(size, left)]
            if len(batch) == 0:
                if everyone:
                    return
                first = len(order)
                order, everyone = self._ordered(point, near, None)
                alive = np.arange(len(order)) >= first
                for j in tried:
                    kernels.thin(near, self.columns([j])[0], float(near[j]), order, first, alive)
                continue
            columns = self.columns([int(order[a]) for a in batch])
            chosen = []
            for a, far in zip(batch.tolist(), columns, strict=True):
                if alive[a]:
                    j, span = int(order[a]), float(near[order[a]])
                    chosen.append((j, far, span))
                    kernels.thin(near, far, span, order, a, alive)  # step 6, which removes x_j too
            drops = self._pair_drops(near, [far for _, far, _ in chosen], [span for _, _, span in chosen], real)
            for (j, _, span), drop in zip(chosen, drops, strict=True):
                yield Opposite(j, span, drop)  # step 5
            tried += [j for j, _, _ in chosen]
            left -= len(chosen)
            size, place = min(2 * size, largest), int(batch[-1]) + 1

    def _ordered(self, row: int, near: np.ndarray, most: int | None) -> tuple[IntArray, bool]:
        """Return points of the other binarized class, elsewhere than the row's point; nearest first, then by place.

        The nearest `most` and those as near as the last of them; and whether these are all. With
        `n_neighbors`, where some of these are of the other class, they are all.
        """
        other = self._pool & (self._side != self._side[row]) & (near > 0)
        if self._neighbors is not None:
            rows = self._neighbors[row]
            rows = rows[other[rows]]
            if len(rows):
                return rows[np.lexsort((self._place[rows], near[rows]))], True
        rows = np.flatnonzero(other)
        distance, everyone = near[rows], True
        if most is not None and most < len(rows):
            close = distance <= np.partition(distance, most - 1)[most - 1]
            rows, distance, everyone = rows[close], distance[close], bool(close.all())
        return rows[np.lexsort((self._place[rows], distance))], everyone

    def _pair_drops(
        self, near: np.ndarray, fars: Sequence[np.ndarray], spans: Sequence[float], real: bool
    ) -> list[float]:
        """Return `drop_along` of f_ij for the columns of several x_j."""
        near, fars = near[self._here], [far[self._here] for far in fars]

        def sums(start: int, stop: int) -> IntArray:
            out = np.zeros((len(fars), 2 * self.n_outputs), dtype=dtypes.FIXED)
            for c, (far, span) in enumerate(zip(fars, spans, strict=True)):
                kernels.candidate_sums(near, far, span, real, self._whole, out[c], start, stop)
            return out

        return [self._drop(row, real) for row in self.summed(sums).astype(np.float64)]

    # -- responses -----------------------------------------------------------------------------------------------------
    def answer(self, points: tuple[int, ...], span: float, real: bool) -> None:
        """Fill the response with 1 (no point), f_i (one; tau = span) or f_ij (two; |x_i - x_j|^2 = span)."""
        self._fill(self.columns(points), span, real)

    def anchors(self, points: tuple[int, ...]) -> FloatArray:
        """Return these points in the units' scale."""
        return self.points.at(np.array(points, dtype=np.int64))

    def respond(self, tree: Any) -> None:
        """Fill the response column with the value, and the leaf column with the vector, of each row's leaf."""
        self._fill(list(self._distances(tree.anchors)), tree.span, tree.real)

    def start_at(self, trees: Sequence[Any], vectors: Sequence[FloatArray], intercept: FloatArray) -> None:
        """Start at the scores that these learners make; see `Rows.start_at`."""
        self._start_one_by_one(trees, vectors, intercept)

    def _fill(self, columns: Sequence[np.ndarray], span: float, real: bool) -> None:
        """Fill the response, by the squared distances to up to two anchors."""
        self.leaf[:] = 0
        columns = [column[self._here] for column in columns]
        if len(columns) == 0:
            self.response[:] = 1.0
        elif len(columns) == 1:
            near = columns[0]
            self.over_blocks(kernels.respond_one, near, span, real, self.response)
        else:
            near, far = columns
            self.over_blocks(kernels.respond_two, near, far, span, real, self.response)

    def slopes(self, loss: Loss, vector: FloatArray) -> FloatArray:
        """Return value, slope, curvature (3, D) of the loss at scores + response * vector, as functions of the vector.

        A fourth line, if there, is the sum of the absolute values of the slope's terms, which are exponentials.

        The exponential's from gradient and Hessian, with the fourth line.
        """
        if EXPONENTIAL not in loss.traits:
            return super().slopes(loss, vector)
        bound = self.top_hessian * exp(np.abs(vector))  # as |f| <= 1
        factors = fixed_factor(np.tile(bound, (4, 1)), min(self.sum_bits, PRODUCT_BITS))

        def sums(start: int, stop: int) -> IntArray:
            out = np.zeros((4, self.n_outputs), dtype=dtypes.FIXED)
            kernels.exponential_slopes(self.response, self._whole, vector, self._units, factors, out, start, stop)
            return out

        return divide(self.summed(sums), factors)


NEAREST_ROWS = 1024  # whose neighbours are found in one call
COMPONENTS = 50  # MNIST: 79 % of the 31 nearest are found (32: 70 %)


def neighbors_of(points: Points | SparsePoints, n_neighbors: int, workers: Workers | None = None) -> IntArray:
    """Find the rows of the `n_neighbors` nearest other points of every point, (n, k), in no order; or all there are.

    Nearest in the first `COMPONENTS` principal components: exact for as many features, approximate for more.
    """
    Z = np.ascontiguousarray(points.reduced(COMPONENTS), dtype=np.float64)
    squares = np.sum(Z**2, axis=1)
    found = np.empty((len(Z), min(n_neighbors, len(Z) - 1)), dtype=np.int64)
    (workers or Workers()).map(
        lambda first: nearest_rows(Z, squares, first, found[first : first + NEAREST_ROWS]),
        range(0, len(Z), NEAREST_ROWS),
    )
    return found
