"""Real-valued learners along given directions: single-feature lines, stumps and trees fitted by least squares.

MCBoost's weak learners g(x) = a x + b (Beijbom et al., ICML 2014, Sec. 5): "ax + b" is read as one feature x_j, and
g* of Eq. (30), which is linear in g and has no minimum without a norm, as a weighted least-squares fit to -w^r.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from minrisk._cached import cached_property
from minrisk._typing import FloatArray
from minrisk.learners.base import NO_ANSWER, FittedLearners, Round
from minrisk.learners.vector_tree import VectorTrees
from minrisk.losses.base import DIRECTED
from minrisk.model.trees import CONSTANT, Tree
from minrisk.rows.base import DIRECTED_ROWS, GrowthRule
from minrisk.rows.directed import DirectedRows, are_directed
from minrisk.rows.row_losses import DirectedRowLoss


class Regression(Protocol):
    """Fits a learner to the target that the rows hold."""

    def find(self, rows: DirectedRows, round_: Round, seed: int) -> Any:
        """A `Tree`, or what stands for one, its gains adding up to 1; None if nothing can be fitted."""


@dataclass(frozen=True)
class DirectedLearners:
    """One learner for each direction of a step, all fitted at the same scores.

    With one direction to a step this is coordinate descent, with all of them gradient descent.

    Parameters
    ----------
    regression : Regression
    weighting : {"uniform", "slope", "curvature"}
        See `DirectedRows.aim`.
    """

    regression: Regression
    weighting: str
    requires = frozenset({DIRECTED_ROWS})

    @property
    def traits(self) -> frozenset[str]:
        """Facts that steps may rely on."""
        return frozenset({DIRECTED})

    def fit(self, round_: Round) -> FittedLearners | None:
        """Fit the learners, then solve for the step along them; see `LearnerFamily.fit`."""
        rows, problem = round_.rows, round_.problem
        assert are_directed(rows)  # as required
        directions: FloatArray | None = problem.directions
        assert directions is not None
        loss: DirectedRowLoss = problem.loss  # type: ignore[assignment]  # as the step requires
        learners = []
        for r, direction in enumerate(directions):
            rows.aim(loss, direction, self.weighting)
            learner = self.regression.find(rows, round_, round_.seed + r)
            learners.append(NO_ANSWER if learner is None else learner)
            rows.respond(learners[-1])
            rows.steer(direction, r, len(directions), problem.value)
        step = round_.solver.solve(problem)
        share = max(0.0, 1.0 - step.value / problem.value) / len(directions)
        return FittedLearners(tuple(learner._replace(gain=share * learner.gain) for learner in learners), step)


@dataclass(frozen=True)
class Lines:
    """g(x) = a x_j + b, the feature j of least weighted squares; a missing value counts as the feature's mean."""

    def find(self, rows: DirectedRows, round_: Round, seed: int) -> Tree | None:
        """See `Regression.find`."""
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
    """Trees grown best leaf first by least squares, a number in every leaf.

    Parameters
    ----------
    max_depth : int
        1 for stumps.
    thresholds : sequence of ndarray
        Of the binner.
    min_share : float
        Nodes are split that have this share of the weight of all rows, at least.
    ridge : float
        See `DirectedRows.grow_regression`.
    """

    max_depth: int
    thresholds: Sequence[FloatArray]
    min_share: float = 0.0
    ridge: float = 0.0

    @cached_property
    def trees(self) -> VectorTrees:
        """What makes immutable trees of grown ones."""
        return VectorTrees(2**self.max_depth, self.thresholds, self.max_depth)

    def rule(self, n_features: int) -> GrowthRule:
        """How far a tree grows on so many features."""
        return GrowthRule(2**self.max_depth, self.max_depth, 1, n_features, min_share=self.min_share)

    def find(self, rows: DirectedRows, round_: Round, seed: int) -> Tree | None:
        """See `Regression.find`."""
        rule = self.rule(len(round_.features))
        grown, values = rows.grow_regression(rule, round_.features, seed, self.ridge)
        tree = self.trees.finished(grown, 1.0)
        leaf = tree.left == np.arange(len(tree.left))
        return tree._replace(value=np.where(leaf, values[tree.vector], 0.0), vector=np.zeros_like(tree.vector))
