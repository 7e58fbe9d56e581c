"""The learner of the most violated constraint of a dual: column generation.

- Of pairwise losses: Paisitkriangkrai et al., 2013, Eq. (9) and (10).
- Of cutting planes: StructBoost.
- Of penalties on norms, the stump whose edges are the longest vector: GradBoost (Duchi and Singer, ICML 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from minrisk._kernels.split import ABSOLUTE_EDGE_GAIN, LARGEST_EDGE_GAIN, QUADRATIC_GAIN
from minrisk._typing import FloatArray
from minrisk.learners.base import FittedLearners, Round, Term
from minrisk.learners.greedy_tree import GrowingTree, SignTrees, stump_at
from minrisk.losses.base import SIGNS, STUMPS
from minrisk.rows.pairs import PairRows, PlaneRows
from minrisk.steps.base import Step, StepProblem
from minrisk.steps.cutting_planes import Bundle, CuttingPlaneStep, total_weight
from minrisk.steps.penalised import DUAL_ORDERS, CertifyingStep, Objective, Point, most_violated, scaled_weight


class Violation(NamedTuple):
    """A learner, and its largest edge."""

    tree: GrowingTree
    edge: float


@dataclass(frozen=True)
class MostViolatedTrees(SignTrees):
    """argmax over f and r of sum_i f_i gradient_ir, Eq. (10): stumps by exact search, all classes from one histogram.

    A tree is deepened for the class of its stump, layer by layer, while the sum rises.
    """

    nu: float  # what no constraint may exceed
    tolerance: float  # the epsilon of the stopping rule, as a share of the loss that can still be lost
    requires = frozenset({PairRows})

    def fit(self, round_: Round) -> FittedLearners | None:
        """Find the learner of the most violated constraint, and its step."""
        problem, found = round_.problem, self.search(round_)
        if found is None or Objective.of(problem, self.nu).satisfied(found.edge, self.tolerance):
            return None
        return self.fitted(found.tree, round_.solver.solve(problem), problem)

    def certificate(self, round_: Round, so_far: Sequence[Term]) -> tuple[float, float]:
        """Bound it by the edges of these learners and, where the step asks for it, the largest that is found."""
        rows, problem, solver = cast(PairRows, round_.rows), round_.problem, cast(CertifyingStep, round_.solver)
        vectors = np.concatenate([np.empty((0, rows.n_outputs)), *(term.vectors for term in so_far)])
        point = Point.of(problem, vectors, rows.learner_edges([term.learner for term in so_far]))

        def largest() -> float:
            found = self.search(round_)
            return 0.0 if found is None else point.rate * found.edge

        return solver.certificate(point, largest)

    def search(self, round_: Round) -> Violation | None:
        """Find the learner of the largest edge, which the rows answer as; None where nothing can be split."""
        rows = cast(PairRows, round_.rows)  # as required
        split = rows.best_stump(LARGEST_EDGE_GAIN, round_.problem.hessian, round_.features)
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
            deeper = tree.deepened_in(rows, round_.features)
            if deeper is None:
                break
            tree = deeper
            edges = rows.edges()
        return Violation(tree, float(edges.max()))

    def fitted(self, tree: GrowingTree, step: Step, problem: StepProblem) -> FittedLearners:
        """Return the learner with its step; its splits share what the step gains."""
        return FittedLearners((tree.credited(self.thresholds, problem.fall(step)),), step)


# -- cutting planes ----------------------------------------------------------------------------------------------------
SAME_EDGE = 1e-12  # edges that differ by a smaller share are of learners that answer alike
MOST_SEARCHES = 30  # of a round: where a learner that is there is the best, the shares are not those of the least value


class Sought(NamedTuple):
    """Holds what is known of the vectors that a round begins with."""

    bundle: Bundle
    found: Violation | None  # the learner of the largest edge
    gap: float  # share of the objective by which it may be above the least one


@dataclass(frozen=True)
class DualTrees(MostViolatedTrees):
    """argmax over f and k of sum_i f_i sum_p s_p A_ipk, the dual's edges with the planes' shares s.

    None where the objective is above its least value over all such learners by no more than a share, `tolerance`.
    """

    requires = frozenset({PlaneRows})

    def fit(self, round_: Round) -> FittedLearners | None:
        """Find shares of planes, the learner, and the step that goes on with both."""
        sought = self._sought(round_)
        if sought is not None and sought.gap <= self.tolerance and len(round_.features) < round_.rows.n_features:
            sought = self._sought(round_._replace(features=np.arange(round_.rows.n_features)))
        if sought is None or sought.found is None or sought.gap <= self.tolerance:
            return None
        problem = round_.problem._replace(bundle=sought.bundle)
        return self.fitted(sought.found.tree, round_.solver.solve(problem), problem)

    def certificate(self, round_: Round, so_far: Sequence[Term]) -> tuple[float, float]:
        """Bound it over the learners on all features; see `CertifyingFamily.certificate`."""
        sought = self._sought(round_)
        if sought is None:
            return 0.0, 0.0
        objective = sought.bundle.first_value
        return objective * (1.0 - sought.gap), objective

    def _sought(self, round_: Round) -> Sought | None:
        """Seek planes until they end the rounds, or ask for a new learner; None where no mistake costs anything.

        The gap is of the vectors before: a better point that planes have found is not in the model until `solve`.
        """
        rows, problem = cast(PlaneRows, round_.rows), round_.problem
        solver = round_.solver
        assert isinstance(solver, CuttingPlaneStep)  # which requires these learners, as they do it
        bundle, n_learners = solver.start(problem), len(rows.start_vectors()) - 1
        if bundle is None:
            return None
        # Planes change the shares, and shares the learner that is the most violated: in turns, until one settles it.
        for _ in range(MOST_SEARCHES):
            done = solver.improve(problem, bundle, n_learners)
            rows.weigh_planes(bundle.shares[1:])
            found = self.search(round_)
            edge = 0.0 if found is None else found.edge / total_weight(problem)
            is_new = edge > bundle.largest_edge * (1.0 + SAME_EDGE)
            if done or is_new or bundle.gap(bundle.value, edge) <= self.tolerance:
                break
        return Sought(bundle, found, bundle.gap(bundle.first_value, edge))


# -- norms -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class LargestNormStumps:
    """argmax over f of |sum_i f_i gradient_i|, all stumps from one histogram; by the dual norm of the penalty's.

    None where that is no more than nu W and the vectors of all others stay where they are.

    Parameters
    ----------
    thresholds : sequence of ndarray
        Of the binner.
    nu : float
        Weight of the penalty, per weight of the rows.
    norm : {"l2", "linf"}
        Of a vector in the penalty: its length or its largest entry. Edges are judged by their length or their sum.
    tolerance : float
        Rounds end where no edge is longer by more than this share, and the objective falls by no more than it.
    """

    thresholds: Sequence[FloatArray]
    nu: float
    norm: str
    tolerance: float
    requires = frozenset[str]()
    traits = frozenset({SIGNS, STUMPS})

    def fit(self, round_: Round) -> FittedLearners | None:
        """Find the stump and its step."""
        rows, problem = round_.rows, round_.problem
        gain = QUADRATIC_GAIN if self.norm == "l2" else ABSOLUTE_EDGE_GAIN  # by sum_k E_k^2 or sum_k |E_k|
        split = rows.best_stump(gain, np.ones(rows.n_outputs), round_.features)
        if split is None:
            return None
        tree = stump_at(rows, split.feature, split.bin, 1, split.drop)
        length = float(np.linalg.norm(rows.edges(), DUAL_ORDERS[self.norm], axis=0))
        step = round_.solver.solve(problem)
        little = problem.value - step.value <= self.tolerance * problem.value
        if little and length <= self.nu * scaled_weight(problem) * (1.0 + self.tolerance):
            return None
        return FittedLearners((tree.credited(self.thresholds, problem.fall(step)),), step)
