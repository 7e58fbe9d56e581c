"""Rows for learners that answer with real numbers: a regression along a direction, and the loss along its answers.

Beside the columns of `Rows` they hold the raw values, the regression's target u = -dL/dt of each row along the
direction with its weight rho, and a line through the scores.

Features less their means, by powers of two within -1 and 1: what lines are fitted on.

Sums that lines in one feature are fitted by, from the stored values of sparse features.

The rows that lack a feature have the same z there. What they add is z times the sum of the rows' pulls, or pushes: that
of all rows less that of the rows whose value is stored. So sums are in another order than those of an array, and differ
from them in their last bits.

Rows with a score for each chain: weights that are normalised chain by chain, and the scores of the decisions.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from minrisk._kernels import losses as kernels
from minrisk._kernels._dtypes import FIXED, MAX_BINS, PRODUCT_BITS, RESPONSE, SCORE, TIE
from minrisk._kernels.fixed import column_sums, unfixed
from minrisk._kernels.functions import exp
from minrisk._kernels.grow import NEWTON, SKETCH
from minrisk._kernels.guess_averse import pair_sums
from minrisk._kernels.linear import (
    CURVATURE,
    SLOPE,
    UNIFORM,
    aim,
    line_response,
    line_sums,
    linear_sums,
    stored_linear_sums,
)
from minrisk._kernels.scores import add_leaf_vectors, add_response
from minrisk._typing import FloatArray, Int32Array, IntArray
from minrisk._utils import cached_property
from minrisk._utils.memory import empty, points, read_only, zeros
from minrisk._utils.workers import Workers
from minrisk.data.sparse import SparseRows, stay_sparse
from minrisk.model.codes import Codebook
from minrisk.rows.base import ChainStumps, GrownTree, GrowthRule, Line, Target, Totals
from minrisk.rows.exchange import Place, divide, fixed_factor, sum_bits
from minrisk.rows.growth import Growth
from minrisk.rows.row_losses import Course, Groups
from minrisk.rows.rows import Rows

WEIGHTINGS = {"uniform": UNIFORM, "slope": SLOPE, "curvature": CURVATURE}
NO_SPARSE = (
    "{name} takes no sparse data, and {rows} x {columns} are too many to become an array: use another estimator, as "
    "sklearn.linear_model.Ridge or sklearn.tree.DecisionTreeRegressor, or fewer features, for example by "
    "sklearn.decomposition.TruncatedSVD."
)
CONSTANT_VARIANCE = 1e-12  # a feature of less variance than this share of its squares is constant, to rounding


class DirectedRows(Rows):
    """`Rows` with raw values, real-valued responses, and what `DirectedRowLoss` knows along a line.

    Parameters
    ----------
    X : ndarray or SparseRows of shape (n, d)
        Raw values.
    *parts, **options
        Of `Rows`.
    """

    holds_values = True

    def __init__(self, X: FloatArray | SparseRows, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self._given = X if isinstance(X, SparseRows) else np.asarray(X, dtype=np.float64)
        n = self.n_samples
        self.response: FloatArray = np.ones(n)  # type: ignore[assignment]  # of the trees on bins: signs
        self._ones = np.ones(n)
        self.push, self.pull = np.zeros((2, n, 1))
        self.line = np.empty((3, n))
        self._factor, self._move = self._ones, np.zeros((1, self.n_outputs))
        self._joint = np.empty((0, self.n_outputs), dtype=SCORE)
        self._weightless = None if np.all(self.costs.weight > 0) else self.costs.weight == 0
        self._groups: Groups | None = None
        self._values: dict[bytes, tuple[FloatArray, IntArray]] = {}  # of directions
        self._base = 0.0
        self._drawn: Int32Array | None = None  # rows that the target is of, those drawn several times so often
        self._terms = np.empty((0, 0))

    @cached_property
    def X(self) -> FloatArray:
        """Return the raw values, (n, d)."""
        return np.asarray(self._given, dtype=np.float64)

    @property
    def _stays_sparse(self) -> bool:
        """Return whether raw values are too many to become an array, in all pieces together."""
        return isinstance(self._given, SparseRows) and stay_sparse(self.place.n_rows, self._given.shape[1])

    @cached_property
    def _stored(self) -> StoredFeatures:
        assert isinstance(self._given, SparseRows)
        return StoredFeatures.of(self._given, self.costs.weight, self.place)

    @cached_property
    def _centered(self) -> CenteredFeatures:
        return CenteredFeatures.of(self.X, self.costs.weight, self.workers, self.place)

    @cached_property
    def _target_rows(self) -> DirectedRows:
        """Return these rows, with `push` and `pull` for gradient and Hessian."""
        view = copy.copy(self)
        view.n_outputs, view.gradient, view.hessian = 1, self.push, self.pull
        return view

    @cached_property
    def _grower(self) -> Growth:
        """Return growth of trees on the target."""
        return Growth(self._target_rows)

    # -- the target of a regression --------------------------------------------------------------------------------
    def aim(self, loss: Any, direction: FloatArray, weighting: str) -> None:
        """Fill the target along a direction (D,): the boosting weights -w^r, and what each row weighs.

        "uniform": the row's weight, which is the plain least squares of -w^r that Eq. (30) is with a norm; "slope":
        |w^r|, for the target's sign; "curvature": that of the loss, for a Newton step.
        """
        self._factor, self._move = self._ones, np.ascontiguousarray(direction)[None]
        self._groups = self._gathered(loss, direction) if loss.n_terms(1) else None
        self._pass_along(loss, 0.0)
        given = self.line, self.costs.weight, self.in_bag, WEIGHTINGS[weighting]
        self.top_push, self.top_pull = np.split(self.topped(aim, *given, self.push, self.pull), 2)

    def regress(self, features: IntArray) -> Line | None:
        """Return the line in one feature that explains the target best; ties to the lowest feature."""
        bits = min(PRODUCT_BITS, self.sum_bits)
        push_factor, pull_factor = (fixed_factor(top, bits) for top in (self.top_push, self.top_pull))
        W, U = self._target_sums()
        if not W > 0:
            return None
        factors = np.concatenate([pull_factor, pull_factor, push_factor])[None]
        centered = self._stored if self._stays_sparse else self._centered
        total = divide(self._feature_sums(centered, features, push_factor[0], pull_factor[0]), factors)
        mean = total[:, 0] / W
        spread = total[:, 1] - mean * total[:, 0]  # sum rho (z - mean)^2
        common = total[:, 2] - mean * U  # sum u (z - mean)
        varies = spread > CONSTANT_VARIANCE * total[:, 1]
        slope = np.divide(common, spread, out=np.zeros_like(common), where=varies)
        explained = slope * common
        best = int(np.flatnonzero(explained >= explained.max() * (1.0 - TIE))[0])
        j = int(features[best])
        value = U / W - slope[best] * mean[best]
        with np.errstate(over="ignore"):
            rise = float(slope[best] / centered.unit[j] * centered.near[j] * centered.near[j])
        if not np.isfinite(rise):
            rise, value = 0.0, U / W
        return Line(j, rise, float(centered.center[j]), float(value))

    def _feature_sums(
        self, centered: CenteredFeatures | StoredFeatures, features: IntArray, push_factor: float, pull_factor: float
    ) -> np.ndarray:
        """Return sums of rho z, rho z^2 and u z with each feature, (f, 3), in units of the factors."""
        if isinstance(centered, StoredFeatures):
            factors = float(push_factor), float(pull_factor)
            return centered.sums(features, self.push, self.pull, factors, self.place, self.workers)

        def sums(start: int, stop: int) -> IntArray:
            out = np.zeros((len(features), 3), dtype=FIXED)
            linear_sums(centered.Z, features, self.push, self.pull, push_factor, pull_factor, out, start, stop)
            return out

        return np.asarray(self.summed(sums))

    def _target_sums(self) -> tuple[float, float]:
        """Return sums of pull and of push."""
        pull = unfixed(self._column_sums(self.pull, self.top_pull), self.top_pull, self.sum_bits)
        push = unfixed(self._column_sums(self.push, self.top_push), self.top_push, self.sum_bits)
        return float(pull[0]), float(push[0])

    def _criterion(self, ridge: float) -> Target:
        """Return what splits are chosen by."""
        return Target(NEWTON, np.array([ridge]))

    def grow_regression(
        self, rule: GrowthRule, features: IntArray, seed: int, ridge: float = 0.0
    ) -> tuple[GrownTree, FloatArray]:
        """Return a tree grown on the target by least squares, and the value of each leaf.

        The ridge is a share of all rows' weight that every node has beside that of its rows.
        """
        grower = self._grower
        view = grower.rows
        view.whole, view.top_gradient, view.top_hessian = self.whole, self.top_push, self.top_pull
        more = ridge * self._target_sums()[0]
        grown = grower.grow(self._criterion(more), rule, features, seed, self._drawn)
        push, pull = grower.leaf_sums()
        return grown, divide(push, pull + more)[:, 0]

    def class_terms(self) -> FloatArray:
        """Return sums over the bag of GEL's terms by the row's class and the decision (D, D), times e^-log_scale."""
        factor = fixed_factor(np.array([self.top_hessian.max()]), self.sum_bits)
        together = np.ones(self.n_samples, dtype=RESPONSE)
        sums = self.summed(pair_sums, self.hessian, self.costs.label, together, self.in_bag, factor[0])
        return divide(sums[1], factor)

    def target_sums(self) -> tuple[FloatArray, FloatArray]:
        """Return sums of rho u and of rho over the bag's rows of each leaf of `grow_regression`, (L,) each."""
        push, pull = self._grower.leaf_sums()
        return push[:, 0], pull[:, 0]

    def fit(self, regressor: Any) -> Any:
        """Return a regressor of scikit-learn, fitted to the target; None without rows that weigh something."""
        counted = self.pull[:, 0] > 0.0
        push, pull = (  # a regressor has all rows in one place
            self.exchange.gathered(column[counted]) for column in (self.push[:, 0], self.pull[:, 0])
        )
        if self._stays_sparse:
            assert isinstance(self._given, SparseRows)
            X: Any = self._given[np.flatnonzero(counted)].gathered(self.exchange.gathered).matrix
        else:
            X = self.exchange.gathered(self.X[counted])
        if not len(pull):
            return None
        try:
            return self._fitted(regressor, X, push / pull, pull)
        except TypeError as error:
            if not (self._stays_sparse and "sparse" in str(error).lower()):
                raise
        raise ValueError(NO_SPARSE.format(name=type(regressor).__name__, rows=X.shape[0], columns=X.shape[1]))

    @staticmethod
    def _fitted(regressor: Any, X: Any, target: FloatArray, weight: FloatArray) -> Any:
        """Return the regressor, told the weights where they differ."""
        if np.all(weight == weight[0]):
            return regressor.fit(X, target)
        if not has_fit_parameter(regressor, "sample_weight"):
            raise ValueError(
                f"{type(regressor).__name__} does not take sample_weight, which rows that count differently need: use "
                "another estimator (or in MCBoostClassifier weighting='uniform', without sample weights)."
            )
        return regressor.fit(X, target, sample_weight=weight / weight.mean())

    def respond(self, tree: Any) -> None:
        """Fill the response column with the value, and the leaf column with the vector, of each row's leaf.

        A line is not on bins but on raw values, and so is a regressor.
        """
        if hasattr(tree, "predict"):
            if self.n_samples:  # regressors refuse to look at none
                self.response[:] = tree.predict(self._given if self._stays_sparse else self.X)
            self.leaf[:] = 0
            return
        slope = getattr(tree, "slope", None)
        if slope is None:
            super().respond(tree)
            return
        x, origin, value = points(self._given[:, tree.feature[0]]), tree.origin[0], tree.value[0]
        self.over_blocks(line_response, x, slope[0], origin, value, self.response)
        self.leaf[:] = tree.vector[0]

    def start_at(self, trees: Sequence[Any], vectors: Sequence[FloatArray], intercept: FloatArray) -> None:
        """Start at the scores that these learners make; see `Rows.start_at`."""
        self._start_one_by_one(trees, vectors, intercept)

    # -- along a line ------------------------------------------------------------------------------------------------
    def _gathered(self, loss: Any, direction: FloatArray) -> Groups:
        """Return the direction by its values, with the rows' terms at the present scores."""
        key = direction.tobytes()
        if key not in self._values:  # directions come again every round
            self._values[key] = np.unique(direction, return_inverse=True)
        values, number = self._values[key]
        shape = loss.n_terms(len(values)), self.n_samples
        if self._terms.shape != shape:
            self._terms = np.empty(shape)
        groups = Groups(number, values, self._terms)
        self.over_blocks(loss.gather, self.loss_columns, groups)
        return groups

    def _pass_along(self, loss: Any, step: float) -> FloatArray:
        """Fill `line` at the step; returns its maxima, (3,)."""
        course = Course(self._factor, self._move, step, self.line, self._groups)
        return self.topped(loss.along, self.loss_columns, course)

    def steer(self, vector: FloatArray, number: int, of: int, value: float) -> None:
        """Look along response * vector, the vector that `aim` was last given; for several learners along their sum.

        The several are told one after another; `value` is the loss over the bag at step 0.
        """
        self._base = value
        if of == 1:
            self._factor, self._move = self.response, np.ascontiguousarray(vector)[None]
            return
        self._groups = None
        if len(self._joint) == 0:
            self._joint = np.empty((self.n_samples, self.n_outputs), dtype=SCORE)
        if number == 0:
            self._joint[:] = 0.0
        self._factor, self._move = self._ones, self._joint
        self.over_blocks(add_response, self._joint, self.response, vector)

    def steer_leaves(self, vectors: FloatArray, value: float) -> None:
        """Look along the vector (V, D) that each row's leaf of the grown tree names; `value` is as for `steer`."""
        self._base, self._groups = value, None
        self._joint = np.zeros((self.n_samples, self.n_outputs), dtype=SCORE)
        self._factor, self._move = self._ones, self._joint
        self.over_blocks(add_leaf_vectors, self._joint, self.leaf, vectors)

    def reach(self) -> float:
        """Return the most that a score of a row that weighs something moves in a step of 1."""
        factor, move = self._factor, self._move
        if self._weightless is not None:
            factor = np.where(self._weightless, 0.0, factor)
            move = move if len(move) == 1 else np.where(self._weightless[:, None], 0.0, move)
        tops = self.exchange.largest(np.array([np.abs(factor).max(initial=0.0), np.abs(move).max(initial=0.0)]))
        return float(tops[0] * tops[1])

    def along(self, loss: Any, step: float) -> FloatArray:
        """Return the bag's loss and its first two derivatives at `step` along the line, times e^-log_scale, (3,)."""
        top = self._pass_along(loss, step)
        bits = min(PRODUCT_BITS, self.sum_bits)
        factor = fixed_factor(top, bits)
        sums: FloatArray = unfixed(self.summed(line_sums, self.line, self.in_bag, factor), top, bits)
        if self._groups is not None and loss.relative:
            sums[0] += self._base
        return sums


# -- Features as lines are fitted on -----------------------------------------------------------------------------------
SMALLEST_VALUE = 2.0**-1010  # of a feature's values, the largest: slopes of smaller ones would be beyond float64
MEAN_BITS = 61  # of the terms of a mean: float64 and int64 hold them


class CenteredFeatures(NamedTuple):
    """Features less their means, by powers of two within -1 and 1 (where rows weigh something); a mean for missing."""

    Z: FloatArray  # (d, n)
    center: FloatArray  # (d,)
    unit: FloatArray  # (d,): near^2 (x - center) = unit z
    near: FloatArray  # (d,): in two halves, as unit / near^2 may be beyond float64

    @classmethod
    def of(cls, X: FloatArray, weight: FloatArray, workers: Workers, place: Place) -> CenteredFeatures:
        """Make them of raw values (n, d). Rows of weight 0 count for nothing."""
        n, d = X.shape
        Z, counts, exchange = np.empty((d, n)), weight > 0, place.exchange

        def top_of(j: int) -> float:
            return float(np.abs(X[counts & ~np.isnan(X[:, j]), j]).max(initial=0.0))

        varies, near = powers_near(exchange.largest(np.array(workers.map(top_of, range(d)))))
        mean = _means(X, near, weight, workers, place)

        def center(j: int) -> float:
            with np.errstate(over="ignore", invalid="ignore"):
                Z[j] = np.where(np.isnan(X[:, j]), 0.0, X[:, j] * near[j] * near[j] - mean[j])
            return float(np.abs(Z[j, counts]).max(initial=0.0))

        varies, unit = units_of(exchange.largest(np.array(workers.map(center, range(d)))), varies)

        def scale(j: int) -> None:
            if varies[j]:
                Z[j] /= unit[j]
            else:
                Z[j] = 0.0

        workers.map(scale, range(d))
        near = np.where(varies, near, 1.0)
        return cls(Z, np.where(varies, mean / near / near, 0.0), unit, near)


def powers_near(largest: FloatArray) -> tuple[np.ndarray, FloatArray]:
    """Return which features may vary, by their largest sizes, and half the power of two that takes these near 1."""
    varies = largest > SMALLEST_VALUE  # it would be constant, or its slopes would be beyond float64
    near = np.where(varies, np.ldexp(1.0, -np.frexp(largest)[1] // 2), 1.0)  # twice: a power of two in float64
    return varies, near


def units_of(top: FloatArray, varies: np.ndarray) -> tuple[np.ndarray, FloatArray]:
    """Return which features vary about their means, by at most `top`, and the power of two above that."""
    varies = varies & (0 < top) & (top < np.inf)
    return varies, np.where(varies, np.ldexp(1.0, np.frexp(top)[1]), 1.0)


def mean_factor(weight: FloatArray, place: Place) -> float:
    """Return by what weights become whole numbers in a mean."""
    bits = min(sum_bits(place.n_rows), MEAN_BITS)
    return float(fixed_factor(place.exchange.largest(np.array([weight.max(initial=0.0)])), bits)[0])


def _means(X: FloatArray, near: FloatArray, weight: FloatArray, workers: Workers, place: Place) -> FloatArray:
    """Return the weighted mean of what is known of each feature, times near^2 (d,); it is within -1 and 1."""
    factor = mean_factor(weight, place)

    def sums(j: int) -> tuple[int, int]:
        counted = np.where(np.isnan(X[:, j]), 0.0, weight)
        x = np.where(counted > 0.0, X[:, j], 0.0) * near[j] * near[j]
        whole = np.rint(counted * factor).astype(FIXED)
        return int(np.rint(counted * x * factor).astype(FIXED).sum()), int(whole.sum())

    product, total = place.exchange.added(np.array(workers.map(sums, range(X.shape[1])), dtype=FIXED).reshape(-1, 2)).T
    return divide(product, total.astype(np.float64))


FEATURES_TOGETHER = 1024  # whose sums one thread makes at a time


class StoredFeatures(NamedTuple):
    """`CenteredFeatures` of sparse ones: z of each stored value, and of the zeros."""

    offsets: IntArray  # (d + 1,)
    rows: np.ndarray  # int32, of each entry
    z: FloatArray
    zero: FloatArray  # (d,)
    center: FloatArray
    unit: FloatArray
    near: FloatArray

    @classmethod
    def of(cls, X: SparseRows, weight: FloatArray, place: Place) -> StoredFeatures:
        """Make them of raw values (n, d). Rows of weight 0 count for nothing."""
        columns, d, exchange = X.by_column, X.shape[1], place.exchange
        offsets, x = columns.indptr.astype(np.int64), columns.data.astype(np.float64)
        feature, own = np.repeat(np.arange(d), np.diff(offsets)), weight[columns.indices]
        missing = np.isnan(x)

        def largest(values: FloatArray, otherwise: FloatArray) -> FloatArray:
            """Return the largest of each feature over rows of some weight; `otherwise`: of rows that lack it."""
            lack = np.bincount(feature[own > 0], minlength=d) < np.count_nonzero(weight > 0)
            found = np.where(lack, otherwise, 0.0)
            np.maximum.at(found, feature[own > 0], np.abs(values[own > 0]))
            return exchange.largest(found)

        varies, near = powers_near(largest(np.where(missing, 0.0, x), np.zeros(d)))
        with np.errstate(over="ignore", invalid="ignore"):
            x = np.where(missing, 0.0, x * near[feature] * near[feature])
        factor = mean_factor(weight, place)
        counted, all_of_them = np.where(missing, 0.0, own), np.rint(weight * factor).astype(FIXED).sum()
        gone = np.rint(np.where(missing, own, 0.0) * factor).astype(FIXED)
        product = np.rint(counted * np.where(counted > 0.0, x, 0.0) * factor).astype(FIXED)
        sums = np.stack([_by_feature(product, offsets), all_of_them - _by_feature(gone, offsets)])
        product, total = exchange.added(sums)
        mean = divide(product, total.astype(np.float64))
        with np.errstate(over="ignore", invalid="ignore"):
            z = np.where(missing, 0.0, x - mean[feature])
        varies, unit = units_of(largest(z, np.abs(mean)), varies)
        z = np.where(varies[feature], z / unit[feature], 0.0)
        zero, near = np.where(varies, -mean / unit, 0.0), np.where(varies, near, 1.0)
        rows = columns.indices.astype(np.int32)
        center = np.where(varies, mean / near / near, 0.0)
        return cls(*map(read_only, (offsets, rows, z, zero, center, unit, near)))

    def sums(
        self,
        features: IntArray,
        push: FloatArray,
        pull: FloatArray,
        factors: tuple[float, float],
        place: Place,
        workers: Workers,
    ) -> FloatArray:
        """Return sums of rho z, rho z^2 and u z over all rows, (f, 3), in units of the `factors` of push and pull."""
        out = np.zeros((len(features) + 1, 5), dtype=FIXED)

        def add(first: int) -> None:
            last = min(first + FEATURES_TOGETHER, len(features))
            stored_linear_sums(self.offsets, self.rows, self.z, features, push, pull, *factors, first, last, out)

        workers.map(add, range(0, len(features), FEATURES_TOGETHER))
        for place_of, values, factor in ((0, pull, factors[1]), (4, push, factors[0])):  # of all rows
            out[-1, place_of] = np.rint(values[:, 0] * factor).astype(FIXED).sum()
        found = place.exchange.added(out)
        zero = self.zero[features]
        pulls, pushes = (zero * (found[-1, c] - found[:-1, c]) for c in (0, 4))
        return np.stack([found[:-1, 1] + pulls, found[:-1, 2] + zero * pulls, found[:-1, 3] + pushes], axis=1)


def _by_feature(values: IntArray, offsets: IntArray) -> IntArray:
    """Return sums of the entries of each feature, (d,): of whole numbers."""
    below = np.concatenate([np.zeros(1, dtype=values.dtype), np.cumsum(values)])
    return np.asarray(below[offsets[1:]] - below[offsets[:-1]])


# -- Chains ------------------------------------------------------------------------------------------------------------
class ChainRows(DirectedRows):
    """`DirectedRows` whose scores are of chains.

    In the place of the gradient they hold the rows' weights in each chain, with the sign of the right answer; there is
    no Hessian, and its sums are those of the weights.

    Parameters
    ----------
    codebook : Codebook
        Of the chains: what a score of each says of the decisions.
    **columns
        Parameters of `DirectedRows`.
    """

    def __init__(self, *, codebook: Codebook, **columns: Any) -> None:
        super().__init__(n_outputs=len(codebook), **columns)
        self.codebook = codebook
        self._decided = zeros((self.n_samples, self.n_scores), SCORE)
        self._shift = np.zeros(self.n_outputs)
        self.hessian = np.empty((0, self.n_outputs), dtype=SCORE)

    @property
    def deciding_scores(self) -> FloatArray:
        """Return scores of the decisions."""
        return self._decided if self.decoder is None else self.decoder.decoded(self._decided, self.workers)

    # -- sums ----------------------------------------------------------------------------------------------------
    def gradients(self, loss: Any, log_scale: float) -> Totals:
        """Fill the signed weights, each chain's times e^-shift such that the largest is near the row's weight."""
        chains = self.for_costs(loss)
        if len(self.gradient) < self.n_samples:  # after a rest
            self.gradient = empty(self.scores.shape, SCORE)
        shift = self.topped(chains.exponents, self.loss_columns)
        self._shift = np.where(np.isfinite(shift), shift, 0.0)
        self.top_gradient = self.top_hessian = self.topped(chains.row_weights, self.loss_columns, self._shift)
        self._restrict(None)
        self._whole_hessian = None
        highest = float(self._shift.max())
        return Totals(self.values(loss), highest, highest)

    def values(self, loss: Any) -> FloatArray:
        """Sum the loss over the bag at the present scores (D,), times e^-log_scale of the last `gradients`."""
        own = self._hessian_sums()
        self._whole_hessian = own if self.whole else None
        return np.asarray(own * exp(self._shift - self._shift.max()))

    def _hessian_sums(self) -> FloatArray:
        """Return sums of the sizes of the weights."""

        def sums(a: int, b: int) -> IntArray:
            sizes, bag = np.abs(self.gradient[a:b]), self.in_bag[a:b]
            of_block: IntArray = column_sums(sizes, bag, self.top_hessian, self.sum_bits, 0, b - a)
            return of_block

        return np.asarray(unfixed(self.summed(sums), self.top_hessian, self.sum_bits))

    def side_errors(self, chain: int) -> FloatArray:
        """Return a chain's weights of the rows in its set and of the others, and of those answered wrongly.

        (2, 2): (A_1, eps_1) and (A_2, eps_2).
        """
        factor = float(fixed_factor(self.top_gradient[chain : chain + 1], self.sum_bits)[0])
        sums = self.summed(kernels.side_errors, self.gradient, chain, self.response, self.in_bag, factor)
        return divide(sums, np.array([factor]))

    # -- learners ------------------------------------------------------------------------------------------------
    def best_stumps(self, features: IntArray) -> ChainStumps:
        """Return the best stump for each chain over the features; ties to the lowest feature, then the lowest bin."""
        n_chains = self.n_outputs

        def scan(chunk: IntArray, sums: np.ndarray) -> tuple[IntArray, IntArray]:
            edge, where = np.empty((2, len(chunk), n_chains), dtype=np.int64)
            kernels.scan_chains(sums, chunk, self.n_bins, self.fixed_total, edge, where)
            return edge, where

        order, (edge, where) = self.scanned(features, (MAX_BINS, n_chains), n_chains, self.add_gradients, scan)
        ties = edge >= edge.max(axis=0) * (1.0 - TIE)
        best = np.argmin(np.where(ties, order[:, None], self.n_features), axis=0)
        chain = np.arange(n_chains)
        return ChainStumps(np.where(edge[best, chain] >= 0, order[best], -1), where[best, chain])

    def aim_at(self, chain: int) -> None:
        """Make the target of a regression the right side of a chain, -1 or +1, its weight the row's in the chain."""
        self.over_blocks(kernels.take_chain, self.gradient, chain, self.in_bag, self.push, self.pull)
        self.top_push = self.top_pull = self.top_gradient[chain : chain + 1]
        self._drawn = None

    def draw(self, chain: int, size: int, seed: int) -> None:
        """Take the target of so many rows, drawn with replacement by their weights in a chain."""
        self.aim_at(chain)
        factor = float(fixed_factor(self.top_pull, self.sum_bits)[0])
        reached = np.cumsum(np.rint(self.pull[:, 0] * factor).astype(np.int64))
        own = int(reached[-1]) if self.n_samples else 0
        pieces = self.exchange.gathered(np.array([[self.place.first, own]]))
        before, total = int(pieces[pieces[:, 0] < self.place.first, 1].sum()), int(pieces[:, 1].sum())
        if not total:
            return
        drawn = np.random.default_rng(seed).integers(0, total, size) - before
        here = np.sort(drawn[(drawn >= 0) & (drawn < own)])
        self._drawn = np.searchsorted(reached, here, side="right").astype(np.int32)
        among = np.zeros(self.n_samples, dtype=np.bool_)
        among[self._drawn] = True
        self.push[:, 0], self.pull[:, 0] = np.where(among, np.sign(self.push[:, 0]), 0.0), among
        self.top_push = self.top_pull = np.ones(1)

    def _criterion(self, ridge: float) -> Target:
        """Choose as for other directions, by the faster kernel of sketches: the target has one column."""
        return Target(SKETCH, np.array([ridge]), np.ones((1, 1)), np.ones(1))

    # -- scores --------------------------------------------------------------------------------------------------
    def start_at(self, trees: Sequence[Any], vectors: Sequence[FloatArray], intercept: FloatArray) -> None:
        """Start at the scores that these learners make; see `Rows.start_at`."""
        self._decided[:] = 0.0
        super().start_at(trees, vectors, intercept)

    def shift(self, vector: FloatArray) -> None:
        """Add the vector to the scores of the decisions."""
        self._decided += vector

    def advance(self, vectors: FloatArray) -> None:
        """Add response * vectors[0], few of whose entries are not 0, to the scores, and to the decisions its part."""
        for chain in np.flatnonzero(vectors[0]).tolist():
            step = float(vectors[0, chain])
            self.over_blocks(kernels.add_to_chain, self.scores, chain, self.response, step)
        decided = self.codebook.decoded(vectors)[0]
        self.over_blocks(add_response, self._decided, self.response, decided)
