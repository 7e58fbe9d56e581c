"""The weak learner of the most violated constraint of a dual that cutting planes have been weighed by (StructBoost)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from minrisk.learners.base import FittedLearners, Round, Term
from minrisk.learners.most_violated import MostViolatedTrees, Violation
from minrisk.rows.base import PLANE_ROWS
from minrisk.rows.pairs import have_planes
from minrisk.steps.cutting_planes import Bundle, CuttingPlaneStep, total_weight

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

    requires = frozenset({PLANE_ROWS})

    def fit(self, round_: Round) -> FittedLearners | None:
        """Shares of planes, the learner, and the step that goes on with both; see `LearnerFamily.fit`."""
        sought = self._sought(round_)
        if sought is not None and sought.gap <= self.tolerance and len(round_.features) < round_.rows.n_features:
            sought = self._sought(_of_all_features(round_))
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
        """Planes until they end the rounds, or ask for a new learner; None where no mistake costs anything.

        The gap is of the vectors before: a better point that planes have found is not in the model until `solve`.
        """
        rows, problem, solver = round_.rows, round_.problem, round_.solver
        assert have_planes(rows) and isinstance(solver, CuttingPlaneStep)  # as the two require of each other
        bundle, n_learners = solver.start(problem), len(rows.start_vectors()) - 1
        if bundle is None:
            return None
        for _ in range(MOST_SEARCHES):
            done = solver.improve(problem, bundle, n_learners)
            rows.weigh_planes(bundle.shares[1:])
            found = self.search(round_)
            edge = 0.0 if found is None else found.edge / total_weight(problem)
            is_new = edge > bundle.largest_edge * (1.0 + SAME_EDGE)
            if done or is_new or bundle.gap(bundle.value, edge) <= self.tolerance:
                break
        return Sought(bundle, found, bundle.gap(bundle.first_value, edge))


def _of_all_features(round_: Round) -> Round:
    return round_._replace(features=np.arange(round_.rows.n_features))
