"""Learners of chains: for each separator one that tells the classes of its set from the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minrisk._typing import FloatArray
from minrisk.learners.base import NO_ANSWER, FittedLearners, Round
from minrisk.learners.directed import Regression, RegressionTrees
from minrisk.learners.greedy_tree import stump
from minrisk.losses.base import SIGNS
from minrisk.model.trees import Tree
from minrisk.rows.base import CHAIN_ROWS, ChainRows, GrowthRule, are_chains


@dataclass(frozen=True)
class Separators:
    """One learner for each chain, all fitted at the same scores, that answers -1 or +1.

    Parameters
    ----------
    thresholds : sequence of ndarray
        Of the binner.
    regression : Regression, optional
        What is fitted to the right sides of a chain; its sign answers. Default: stumps, of all chains in one search.
    draw : callable, optional
        How many of so many rows a learner is fitted to, drawn by their weights with replacement. Default: all rows.
    """

    thresholds: Sequence[FloatArray]
    regression: Regression | None = None
    draw: Callable[[int], int] | None = None

    requires = frozenset({CHAIN_ROWS})
    traits = frozenset({SIGNS})

    def fit(self, round_: Round) -> FittedLearners | None:
        """A learner for each chain; see `LearnerFamily.fit`."""
        rows, problem = round_.rows, round_.problem
        assert are_chains(rows)  # as required
        learners = self._stumps(rows, round_) if self.regression is None else self._fitted(rows, round_)
        errors = np.zeros((len(learners), 2, 2))
        for chain, learner in enumerate(learners):
            rows.respond(learner)
            errors[chain] = rows.side_errors(chain)
        found = np.array([learner is not NO_ANSWER for learner in learners])
        errors[~found] = 0.0
        step = round_.solver.solve(problem._replace(errors=errors))
        share = max(0.0, 1.0 - step.value / problem.value) / max(1, int(found.sum()))
        return FittedLearners(tuple(learner._replace(gain=share * learner.gain) for learner in learners), step)

    def _stumps(self, rows: ChainRows, round_: Round) -> list[Any]:
        """The best stump for each chain."""
        best = rows.best_stumps(round_.features)
        return [
            NO_ANSWER if feature < 0 else stump(feature, bin_, 1, 1.0)[0].finished(self.thresholds, 1.0)
            for feature, bin_ in zip(best.feature.tolist(), best.bin.tolist(), strict=True)
        ]

    def _fitted(self, rows: ChainRows, round_: Round) -> list[Any]:
        """What the regression finds for each chain."""
        assert self.regression is not None
        learners = []
        for chain in range(rows.n_outputs):
            seed = round_.seed + chain
            if self.draw is None:
                rows.aim_at(chain)
            else:
                rows.draw(chain, self.draw(rows.n_trained), seed)
            learner = self.regression.find(rows, round_, seed)
            if isinstance(learner, Tree):
                leaf = learner.left == np.arange(len(learner.left))
                learner = learner._replace(value=np.where(leaf, np.where(learner.value < 0.0, -1.0, 1.0), 0.0))
            learners.append(NO_ANSWER if learner is None else learner)
        return learners


@dataclass(frozen=True)
class GiniTrees(RegressionTrees):
    """Trees that are split while nodes have enough rows, by the Gini index.

    Of classes -1 and +1 with weights w, the index's fall is that of the squared error: sums of (sum w b)^2 / sum w.

    Parameters
    ----------
    max_depth : int
    thresholds : sequence of ndarray
        Of the binner.
    n_fitted : callable
        How many rows a tree is fitted to, by the number of all rows.
    split_above : int, optional
        A node is split if it has more than this part of them, 1 / `split_above`. None: any is.
    """

    n_fitted: Callable[[int], int]
    split_above: int | None = None

    def rule(self, n_rows: int, n_features: int) -> GrowthRule:
        """How far a tree grows: no further than rows can be told apart."""
        n = self.n_fitted(n_rows)
        depth = min(n, self.max_depth)
        least = 0 if self.split_above is None else n // self.split_above + 1
        return GrowthRule(min(n, 2**depth), depth, 1, n_features, min_split=least)
