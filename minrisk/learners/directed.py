"""Learners along given directions, fitted by least squares, and separators of groups of classes.

MCBoost's weak learners g(x) = a x + b (Beijbom et al., ICML 2014, Sec. 5): "ax + b" is read as one feature x_j, and
g* of Eq. (30), which is linear in g and has no minimum without a norm, as a weighted least-squares fit to -w^r.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from sklearn.base import clone

from minrisk._kernels._dtypes import TIE
from minrisk._typing import FloatArray
from minrisk._utils import cached_property
from minrisk.learners.base import NO_ANSWER, FittedLearners, Round
from minrisk.learners.greedy_tree import stump
from minrisk.learners.vector_tree import VectorTrees
from minrisk.losses.base import DIRECTED, SIGNS
from minrisk.model.similarities import FittedRegressor
from minrisk.model.trees import CONSTANT, Tree
from minrisk.rows.base import GrowthRule
from minrisk.rows.directed import ChainRows, DirectedRows


class Regression(Protocol):
    """Fits a learner to the target that the rows hold."""

    def find(self, rows: DirectedRows, round_: Round, seed: int) -> Any:
        """Find a `Tree`, or what stands for one, its gains adding up to 1; None if nothing can be fitted."""


@dataclass(frozen=True)
class DirectedLearners:
    """One learner for each direction of a step, all fitted at the same scores.

    With one direction to a step this is coordinate descent, with all of them gradient descent.
    """

    regression: Regression
    weighting: str  # {"uniform", "slope", "curvature"}: see `DirectedRows.aim`
    requires = frozenset({DirectedRows})

    traits = frozenset({DIRECTED})

    def fit(self, round_: Round) -> FittedLearners | None:
        """Fit the learners, then solve for the step along them; see `LearnerFamily.fit`."""
        rows, problem = cast(DirectedRows, round_.rows), round_.problem  # as required
        directions: FloatArray | None = problem.directions
        assert directions is not None
        learners = []
        for r, direction in enumerate(directions):
            rows.aim(problem.loss, direction, self.weighting)
            learner = self.regression.find(rows, round_, round_.seed + r)
            learners.append(NO_ANSWER if learner is None else learner)
            rows.respond(learners[-1])
            rows.steer(direction, r, len(directions), problem.value)
        step = round_.solver.solve(problem)
        share = problem.fall(step) / len(directions)
        return FittedLearners(tuple(learner._replace(gain=share * learner.gain) for learner in learners), step)


@dataclass(frozen=True)
class Lines:
    """g(x) = a x_j + b, the feature j of least weighted squares; a missing value counts as the feature's mean."""

    def find(self, rows: DirectedRows, round_: Round, seed: int) -> Tree | None:
        line = rows.regress(round_.features)
        if line is None:
            return None
        return CONSTANT._replace(
            feature=np.array([line.feature], dtype=np.int32),
            value=np.array([line.value]),
            gain=np.array([float(line.slope != 0.0)]),
            slope=np.array([line.slope]),
            origin=np.array([line.origin]),
        )


@dataclass(frozen=True)
class RegressionTrees:
    """Trees grown best leaf first by least squares, a number in every leaf."""

    max_depth: int  # 1 for stumps
    thresholds: Sequence[FloatArray]  # of the binner
    min_share: float = 0.0  # nodes are split that have this share of the weight of all rows, at least
    ridge: float = 0.0  # see `DirectedRows.grow_regression`

    @cached_property
    def trees(self) -> VectorTrees:
        """Return what makes immutable trees of grown ones."""
        return VectorTrees(2**self.max_depth, self.thresholds, self.max_depth)

    def rule(self, n_features: int) -> GrowthRule:
        """Return how far a tree grows on so many features."""
        return GrowthRule(2**self.max_depth, self.max_depth, 1, n_features, min_share=self.min_share)

    def find(self, rows: DirectedRows, round_: Round, seed: int) -> Tree | None:
        rule = self.rule(len(round_.features))
        grown, values = rows.grow_regression(rule, round_.features, seed, self.ridge)
        tree = self.trees.finished(grown, 1.0)
        leaf = tree.left == np.arange(len(tree.left))
        return tree._replace(value=np.where(leaf, values[tree.vector], 0.0), vector=np.zeros_like(tree.vector))


@dataclass(frozen=True)
class ScikitRegressors:
    """Clones of a regressor, fitted to the targets of the rows that weigh something."""

    estimator: Any  # its `random_state`, where it has one that is None, is drawn from the round's seed

    def find(self, rows: DirectedRows, round_: Round, seed: int) -> FittedRegressor | None:
        """See `minrisk.learners.directed.Regression.find`."""
        regressor = clone(self.estimator)
        if regressor.get_params(deep=False).get("random_state", 0) is None:
            regressor.set_params(random_state=seed % (1 << 31))
        fitted = rows.fit(regressor)
        return None if fitted is None else FittedRegressor(fitted, np.ones(1))


# -- separators --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Separators:
    """One learner for each chain, all fitted at the same scores, that answers -1 or +1.

    Parameters
    ----------
    thresholds : sequence of ndarray
        Of the binner.
    regression : Regression, optional
        What is fitted to the right sides of a chain; its sign answers. Default: stumps, of all chains in one search.
        Of classes -1 and +1 with weights w, the fall of the squared error, sums of (sum w b)^2 / sum w, is that of the
        Gini index.
    n_drawn : int, optional
        How many rows a learner is fitted to, drawn by their weights with replacement. Default: all rows.
    """

    thresholds: Sequence[FloatArray]
    regression: Regression | None = None
    n_drawn: int | None = None

    requires = frozenset({ChainRows})
    traits = frozenset({SIGNS})

    def fit(self, round_: Round) -> FittedLearners | None:
        """Find a learner for each chain."""
        rows, problem = cast(ChainRows, round_.rows), round_.problem  # as required
        learners = self._stumps(rows, round_) if self.regression is None else self._fitted(rows, round_)
        errors = np.zeros((len(learners), 2, 2))
        for chain, learner in enumerate(learners):
            rows.respond(learner)
            errors[chain] = rows.side_errors(chain)
        found = np.array([learner is not NO_ANSWER for learner in learners])
        errors[~found] = 0.0
        step = round_.solver.solve(problem._replace(errors=errors))
        share = problem.fall(step) / max(1, int(found.sum()))
        return FittedLearners(tuple(learner._replace(gain=share * learner.gain) for learner in learners), step)

    def _stumps(self, rows: ChainRows, round_: Round) -> list[Any]:
        """Return the best stump for each chain."""
        best = rows.best_stumps(round_.features)
        return [
            NO_ANSWER if feature < 0 else stump(feature, bin_, 1, 1.0)[0].finished(self.thresholds, 1.0)
            for feature, bin_ in zip(best.feature.tolist(), best.bin.tolist(), strict=True)
        ]

    def _fitted(self, rows: ChainRows, round_: Round) -> list[Any]:
        """Return what the regression finds for each chain."""
        assert self.regression is not None
        learners = []
        for chain in range(rows.n_outputs):
            seed = round_.seed + chain
            if self.n_drawn is None:
                rows.aim_at(chain)
            else:
                rows.draw(chain, self.n_drawn, seed)
            learner = self.regression.find(rows, round_, seed)
            if isinstance(learner, Tree):
                leaf = learner.left == np.arange(len(learner.left))
                learner = learner._replace(value=np.where(leaf, np.where(learner.value < -TIE, -1.0, 1.0), 0.0))
            learners.append(NO_ANSWER if learner is None else learner)
        return learners
