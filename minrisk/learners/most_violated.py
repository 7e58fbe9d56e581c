"""The weak learner of the most violated constraint: column generation (Paisitkriangkrai et al., 2013, Eq. 9 and 10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from minrisk._kernels.split import LARGEST_EDGE_GAIN
from minrisk._typing import FloatArray
from minrisk.learners.base import FittedLearners, Round, Term
from minrisk.learners.greedy_tree import GrowingTree, stump_at
from minrisk.losses.base import SIGNS, STUMPS
from minrisk.rows.base import PAIR_ROWS
from minrisk.rows.pairs import are_pairs
from minrisk.steps.base import Step, StepProblem
from minrisk.steps.dual_bounds import CertifyingStep, Point
from minrisk.steps.penalised import Objective, most_violated


class Violation(NamedTuple):
    """A learner, and its largest edge."""

    tree: GrowingTree
    edge: float


@dataclass(frozen=True)
class MostViolatedTrees:
    """argmax over f and r of sum_i f_i edge_ir, Eq. (10): stumps by exact search, all classes from one histogram.

    A tree is deepened for the class of its stump, layer by layer, while the sum rises.

    Parameters
    ----------
    max_depth : int
        1 for stumps.
    thresholds : sequence of ndarray
        Of the binner.
    nu : float
        What no constraint may exceed.
    tolerance : float
        The epsilon of the stopping rule, as a share of the loss that can still be lost.
    """

    max_depth: int
    thresholds: Sequence[FloatArray]
    nu: float
    tolerance: float
    requires = frozenset({PAIR_ROWS})

    @property
    def traits(self) -> frozenset[str]:
        """Facts that steps may rely on."""
        return frozenset({SIGNS, STUMPS} if self.max_depth == 1 else {SIGNS})

    def fit(self, round_: Round) -> FittedLearners | None:
        """The most violated constraint's learner and its step; see `LearnerFamily.fit`."""
        problem, found = round_.problem, self.search(round_)
        if found is None or Objective.of(problem, self.nu).satisfied(found.edge, self.tolerance):
            return None
        return self.fitted(found.tree, round_.solver.solve(problem), problem)

    def certificate(self, round_: Round, so_far: Sequence[Term]) -> tuple[float, float]:
        """By the edges of these learners and, where the step asks for it, the largest that the search finds."""
        rows, problem, solver = round_.rows, round_.problem, round_.solver
        assert are_pairs(rows) and isinstance(solver, CertifyingStep)  # as required
        vectors = np.concatenate([np.empty((0, rows.n_outputs)), *(term.vectors for term in so_far)])
        point = Point.of(problem, vectors, rows.learner_edges([term.learner for term in so_far]))

        def largest() -> float:
            found = self.search(round_)
            return 0.0 if found is None else point.rate * found.edge

        return solver.certificate(point, largest)

    def search(self, round_: Round) -> Violation | None:
        """The learner of the largest edge, which the rows answer as; None where nothing can be split."""
        rows = round_.rows
        assert are_pairs(rows)  # as required
        split = rows.best_stump(LARGEST_EDGE_GAIN, round_.problem.mass, round_.features)
        if split is None:
            return None
        tree = stump_at(rows, split.feature, split.bin, 1, split.drop)
        edges = rows.edges()
        k = most_violated(np.abs(edges))
        if edges[k] < 0.0:  # either polarity, since w >= 0
            tree = stump_at(rows, split.feature, split.bin, -1, split.drop)
            edges = -edges
        rows.contrast_along(np.eye(rows.n_outputs)[k])
        for _ in range(self.max_depth - 1):
            changes = rows.best_leaf_splits(tree.signs, round_.features)
            if not np.any(changes.gain > 0):
                break
            tree, child = tree.deepened(changes)
            rows.split_leaves(changes, child)
            edges = rows.edges()
        return Violation(tree, float(edges.max()))

    def fitted(self, tree: GrowingTree, step: Step, problem: StepProblem) -> FittedLearners:
        """The learner with its step; its splits share what the step gains."""
        fall = max(0.0, 1.0 - step.value / problem.value) if problem.value > 0 else 0.0
        return FittedLearners((tree.credited(self.thresholds, fall),), step)
