"""Learners of chains: for each separator one that tells the classes of its set from the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minrisk._kernels._dtypes import TIE
from minrisk._typing import FloatArray
from minrisk.learners.base import NO_ANSWER, FittedLearners, Round
from minrisk.learners.directed import Regression
from minrisk.learners.greedy_tree import stump
from minrisk.losses.base import SIGNS
from minrisk.model.trees import Tree
from minrisk.rows.base import CHAIN_ROWS
from minrisk.rows.directed import ChainRows, are_chains


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
