"""Learners of chains: for each separator one that tells the classes of its set from the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minrisk._kernels._dtypes import LEAF_BIN, MAX_DEPTH
from minrisk._typing import FloatArray
from minrisk.learners.base import FittedLearners, Round
from minrisk.learners.directed import Regression
from minrisk.learners.vector_tree import VectorTrees
from minrisk.losses.base import SIGNS
from minrisk.model.trees import CONSTANT, Tree
from minrisk.rows.base import CHAIN_ROWS, ChainRows, DirectedRows, GrowthRule, are_chains

NO_ANSWER = CONSTANT._replace(value=np.zeros(1))  # keeps the place of a learner that was not found


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
            NO_ANSWER if feature < 0 else stump(feature, bin_, float(self.thresholds[feature][bin_]))
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


def stump(feature: int, bin_: int, threshold: float) -> Tree:
    """f = +1 above the threshold, else -1."""
    return Tree(
        feature=np.array([feature, 0, 0], dtype=np.int32), bin=np.array([bin_, LEAF_BIN, LEAF_BIN], dtype=np.int32),
        threshold=np.array([threshold, np.inf, np.inf]), left=np.array([1, 1, 2], dtype=np.int32),
        value=np.array([0.0, -1.0, 1.0]), vector=np.zeros(3, dtype=np.int32), gain=np.array([1.0, 0.0, 0.0]), depth=1,
    )  # fmt: skip


@dataclass(frozen=True)
class GiniTrees:
    """Trees that are split while nodes have enough rows, by the Gini index.

    Of classes -1 and +1 with weights w, the index's fall is that of the squared error: sums of (sum w b)^2 / sum w.

    Parameters
    ----------
    thresholds : sequence of ndarray
        Of the binner.
    n_fitted : callable
        How many rows a tree is fitted to, by the number of all rows.
    split_above : int, optional
        A node is split if it has more than this part of them, 1 / `split_above`. None: any is.
    max_depth : int, optional
    """

    thresholds: Sequence[FloatArray]
    n_fitted: Callable[[int], int]
    split_above: int | None = None
    max_depth: int | None = None

    def find(self, rows: DirectedRows, round_: Round, seed: int) -> Tree | None:
        """See `minrisk.learners.directed.Regression.find`."""
        n = self.n_fitted(rows.n_trained)
        depth = min(n, MAX_DEPTH if self.max_depth is None else self.max_depth)
        leaves = min(n, 2**depth)
        least = 0 if self.split_above is None else n // self.split_above + 1
        rule = GrowthRule(leaves, depth, 1, len(round_.features), min_split=least)
        grown, values = rows.grow_regression(rule, round_.features, seed)
        tree = VectorTrees(max(2, leaves), self.thresholds, depth).finished(grown, 1.0)
        leaf = tree.left == np.arange(len(tree.left))
        return tree._replace(value=np.where(leaf, values[tree.vector], 0.0), vector=np.zeros_like(tree.vector))
