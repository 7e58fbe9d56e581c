"""Rows for learners that answer with real numbers: a regression along a direction, and the loss along its answers.

Beside the columns of `LocalRows` they hold the raw values, the regression's target u = -dL/dt of each row along the
direction with its weight rho, and a line through the scores.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from minrisk._kernels._dtypes import FIXED, PRODUCT_BITS, RESPONSE, SCORE, TIE
from minrisk._kernels.fixed import unfixed
from minrisk._kernels.grow import NEWTON
from minrisk._kernels.linear import CURVATURE, SLOPE, UNIFORM, aim, line_response, line_sums, linear_sums
from minrisk._kernels.pairwise import pair_sums
from minrisk._kernels.scores import add_leaf_vectors, add_response
from minrisk._memory import points
from minrisk._typing import Binned, FloatArray, Int32Array, IntArray
from minrisk._utils import cached_property
from minrisk._workers import Workers
from minrisk.data.sparse_rows import SparseRows, stay_sparse
from minrisk.data.stored import SparseBins
from minrisk.model.codes import Decoder
from minrisk.rows.base import DIRECTED_ROWS, GrownTree, GrowthRule, Line, Target, TreeLike
from minrisk.rows.costs import RowCosts
from minrisk.rows.exchange import Place
from minrisk.rows.fixed_point import divide, fixed_factor
from minrisk.rows.local.centred import CenteredFeatures
from minrisk.rows.local.growth import Growth
from minrisk.rows.local.rows import LocalRows
from minrisk.rows.local.stored_lines import StoredFeatures
from minrisk.rows.row_losses import DirectedRowLoss, GroupedRowLoss, Groups

WEIGHTINGS = {"uniform": UNIFORM, "slope": SLOPE, "curvature": CURVATURE}
NO_SPARSE = (
    "{name} takes no sparse data, and {rows} x {columns} are too many to become an array: use another estimator, as "
    "sklearn.linear_model.Ridge or sklearn.tree.DecisionTreeRegressor, or fewer features, for example by "
    "sklearn.decomposition.TruncatedSVD."
)
CONSTANT_VARIANCE = 1e-12  # a feature of less variance than this share of its squares is constant, to rounding


class LocalDirectedRows(LocalRows):
    """`LocalRows` with raw values, real-valued responses, and what `DirectedRowLoss` knows along a line.

    Parameters
    ----------
    X : ndarray or SparseRows of shape (n, d)
        Raw values.
    X_binned, n_bins, costs, workers, blocks, trainable, place, n_outputs
        As for `LocalRows`.
    """

    traits = frozenset({DIRECTED_ROWS})

    def __init__(
        self,
        X: FloatArray | SparseRows,
        X_binned: Binned | SparseBins,
        n_bins: IntArray,
        costs: RowCosts,
        workers: Workers,
        blocks: Sequence[int] | None = None,
        trainable: bool = True,
        place: Place | None = None,
        n_outputs: int | None = None,
        decoder: Decoder | None = None,
    ) -> None:
        super().__init__(
            X_binned, n_bins, costs, workers, blocks, trainable, place=place, n_outputs=n_outputs, decoder=decoder
        )
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
        """Raw values, (n, d)."""
        return np.asarray(self._given, dtype=np.float64)

    @property
    def _stays_sparse(self) -> bool:
        """Whether raw values are too many to become an array, in all pieces together."""
        return isinstance(self._given, SparseRows) and stay_sparse(self.place.n_rows, self._given.shape[1])

    @cached_property
    def _stored(self) -> StoredFeatures:
        assert isinstance(self._given, SparseRows)
        return StoredFeatures.of(self._given, self.costs.weight, self.place)

    @cached_property
    def _centered(self) -> CenteredFeatures:
        return CenteredFeatures.of(self.X, self.costs.weight, self.workers, self.place)

    @cached_property
    def _target_rows(self) -> LocalDirectedRows:
        """These rows, with `push` and `pull` for edge and mass."""
        view = copy.copy(self)
        view.n_outputs, view.edge, view.mass = 1, self.push, self.pull
        return view

    @cached_property
    def _grower(self) -> Growth:
        """Growth of trees on the target."""
        return Growth(self._target_rows)

    # -- the target of a regression --------------------------------------------------------------------------------
    def aim(self, loss: DirectedRowLoss, direction: FloatArray, weighting: str) -> None:
        """Fill push and pull; see `DirectedRows.aim`."""
        self._factor, self._move = self._ones, np.ascontiguousarray(direction)[None]
        self._groups = self._gathered(loss, direction) if hasattr(loss, "gather") else None
        self._pass_along(loss, 0.0)
        tops = self.over_blocks(
            lambda a, b: aim(
                self.line, self.costs.weight, self.in_bag, WEIGHTINGS[weighting], a, b, self.push, self.pull
            )
        )
        self.top_push, self.top_pull = np.split(self.largest(tops), 2)

    def regress(self, features: IntArray) -> Line | None:
        """The best line in one feature; see `DirectedRows.regress`."""
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
        """Sums of rho z, rho z^2 and u z with each feature, (f, 3), in units of the factors."""
        if isinstance(centered, StoredFeatures):
            factors = float(push_factor), float(pull_factor)
            return centered.sums(features, self.push, self.pull, factors, self.place, self.workers)

        def sums(start: int, stop: int) -> IntArray:
            out = np.zeros((len(features), 3), dtype=FIXED)
            linear_sums(centered.Z, features, self.push, self.pull, push_factor, pull_factor, start, stop, out)
            return out

        return np.asarray(self.added(self.over_blocks(sums)))

    def _target_sums(self) -> tuple[float, float]:
        """Sums of pull and of push."""
        pull = unfixed(self._column_sums(self.pull, self.top_pull), self.top_pull, self.sum_bits)
        push = unfixed(self._column_sums(self.push, self.top_push), self.top_push, self.sum_bits)
        return float(pull[0]), float(push[0])

    def _criterion(self, ridge: float) -> Target:
        """What splits are chosen by."""
        return Target(NEWTON, np.array([ridge]))

    def grow_regression(
        self, rule: GrowthRule, features: IntArray, seed: int, ridge: float = 0.0
    ) -> tuple[GrownTree, FloatArray]:
        """A tree on the target; see `DirectedRows.grow_regression`."""
        grower = self._grower
        view = grower.rows
        view.whole, view.top_edge, view.top_mass = self.whole, self.top_push, self.top_pull
        more = ridge * self._target_sums()[0]
        grown = grower.grow(self._criterion(more), rule, features, seed, self._drawn)
        push, pull = grower.leaf_sums()
        return grown, divide(push, pull + more)[:, 0]

    def class_terms(self) -> FloatArray:
        """GEL's terms by class and decision; see `DirectedRows.class_terms`."""
        factor = fixed_factor(np.array([self.top_mass.max()]), self.sum_bits)
        together = np.ones(self.n_samples, dtype=RESPONSE)
        parts = self.over_blocks(
            lambda a, b: pair_sums(self.mass, self.costs.label, together, self.in_bag, factor[0], a, b)
        )
        return divide(self.added(parts)[1], factor)

    def target_sums(self) -> tuple[FloatArray, FloatArray]:
        """Push and pull of each leaf; see `DirectedRows.target_sums`."""
        push, pull = self._grower.leaf_sums()
        return push[:, 0], pull[:, 0]

    def fit(self, regressor: Any) -> Any:
        """The regressor, fitted to the target; see `DirectedRows.fit`."""
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
        """The regressor, told the weights where they differ."""
        if np.all(weight == weight[0]):
            return regressor.fit(X, target)
        if not has_fit_parameter(regressor, "sample_weight"):
            raise ValueError(
                f"{type(regressor).__name__} does not take sample_weight, which rows that count differently need: use "
                "another estimator (or in MCBoostClassifier weighting='uniform', without sample weights)."
            )
        return regressor.fit(X, target, sample_weight=weight / weight.mean())

    def respond(self, tree: TreeLike) -> None:
        """Fill the response; see `Rows.respond`. A line is not on bins but on raw values, and so is a regressor."""
        if hasattr(tree, "predict"):
            if self.n_samples:  # regressors refuse to look at none
                self.response[:] = tree.predict(self._given if self._stays_sparse else self.X)
            self.leaf[:] = 0
            return
        slope = getattr(tree, "slope", None)
        if slope is None:
            super().respond(tree)
            return
        x, origin, value = points(self._given[:, tree.feature[0]]), tree.origin[0], tree.value[0]  # type: ignore[attr-defined]
        self.over_blocks(lambda a, b: line_response(x, slope[0], origin, value, a, b, self.response))
        self.leaf[:] = tree.vector[0]

    def start_at(self, trees: Sequence[Any], vectors: Sequence[FloatArray], intercept: FloatArray) -> None:
        """The scores that these learners make; see `Rows.start_at`."""
        self._start_one_by_one(trees, vectors, intercept)

    # -- along a line ------------------------------------------------------------------------------------------------
    def _gathered(self, loss: Any, direction: FloatArray) -> Groups:
        """The direction by its values, with the rows' terms at the present scores."""
        key = direction.tobytes()
        if key not in self._values:  # directions come again every round
            self._values[key] = np.unique(direction, return_inverse=True)
        values, number = self._values[key]
        shape = loss.n_terms(len(values)), self.n_samples
        if self._terms.shape != shape:
            self._terms = np.empty(shape)
        groups = Groups(number, values, self._terms)
        self.over_blocks(
            lambda a, b: loss.gather(self.costs, self.scores, self._log_scale, self.edge, self.mass, groups, a, b)
        )
        return groups

    def _pass_along(self, loss: DirectedRowLoss, step: float) -> FloatArray:
        """Fill `line` at the step; returns its maxima, (3,)."""
        groups = self._groups
        if groups is None:
            return self.largest(
                self.over_blocks(
                    lambda a, b: loss.along(
                        self.costs, self.scores, self._factor, self._move, step, self._log_scale, a, b, self.line
                    )
                )
            )
        grouped: GroupedRowLoss = loss  # type: ignore[assignment]  # or there were no groups
        return self.largest(
            self.over_blocks(
                lambda a, b: grouped.along_groups(
                    self.costs, self._log_scale, groups, self._factor, step, a, b, self.line
                )
            )
        )

    def steer(self, vector: FloatArray, number: int, of: int, value: float) -> None:
        """Set the line; see `DirectedRows.steer`."""
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
        self.over_blocks(lambda a, b: add_response(self._joint, self.response, vector, a, b))

    def steer_leaves(self, vectors: FloatArray, value: float) -> None:
        """Set the line by the leaves; see `DirectedRows.steer_leaves`."""
        self._base, self._groups = value, None
        self._joint = np.zeros((self.n_samples, self.n_outputs), dtype=SCORE)
        self._factor, self._move = self._ones, self._joint
        self.over_blocks(lambda a, b: add_leaf_vectors(self._joint, self.leaf, vectors, a, b))

    def reach(self) -> float:
        """The most that a score moves; see `DirectedRows.reach`."""
        factor, move = self._factor, self._move
        if self._weightless is not None:
            factor = np.where(self._weightless, 0.0, factor)
            move = move if len(move) == 1 else np.where(self._weightless[:, None], 0.0, move)
        tops = self.exchange.largest(np.array([np.abs(factor).max(initial=0.0), np.abs(move).max(initial=0.0)]))
        return float(tops[0] * tops[1])

    def along(self, loss: DirectedRowLoss, step: float) -> FloatArray:
        """Value and two derivatives along the line; see `DirectedRows.along`."""
        top = self._pass_along(loss, step)
        bits = min(PRODUCT_BITS, self.sum_bits)
        factor = fixed_factor(top, bits)
        parts = self.over_blocks(lambda a, b: line_sums(self.line, self.in_bag, factor, a, b))
        sums: FloatArray = unfixed(self.added(parts), top, bits)
        if self._groups is not None and loss.relative:  # type: ignore[attr-defined]  # or there were no groups
            sums[0] += self._base
        return sums
