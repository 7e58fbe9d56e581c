"""The weak learner of the most violated constraint of a dual that cutting planes have been weighed by (StructBoost)."""

from __future__ import annotations

from dataclasses import dataclass

from minrisk.learners.base import FittedLearners, Round
from minrisk.learners.most_violated import MostViolatedTrees
from minrisk.rows.base import PLANE_ROWS, have_planes
from minrisk.steps.cutting_planes import CuttingPlaneStep, total_weight

SAME_EDGE = 1e-12  # edges that differ by a smaller share are of learners that answer alike
MOST_SEARCHES = 3  # of a round: where a learner that is there is the best, the shares are not those of the least value


@dataclass(frozen=True)
class DualTrees(MostViolatedTrees):
    """argmax over f and k of sum_i f_i sum_p s_p A_ipk, the dual's edges with the planes' shares s.

    None where the objective is above its least value over all such learners by no more than a share, `tolerance`.
    """

    requires = frozenset({PLANE_ROWS})

    def fit(self, round_: Round) -> FittedLearners | None:
        """Shares of planes, the learner, and the step that goes on with both; see `LearnerFamily.fit`."""
        rows, problem, solver = round_.rows, round_.problem, round_.solver
        assert have_planes(rows) and isinstance(solver, CuttingPlaneStep)  # as the two require of each other
        bundle, n_learners = solver.start(problem), len(rows.start_vectors()) - 1
        if bundle is None:
            return None
        weight = total_weight(problem)
        for search in range(1, MOST_SEARCHES + 1):
            done = solver.improve(problem, bundle, n_learners)
            rows.weigh_planes(bundle.shares[1:])
            found = self.search(round_)
            if found is None or bundle.satisfied(self.tolerance, found.edge / weight):
                break
            is_new = found.edge / weight > bundle.largest_edge * (1.0 + SAME_EDGE)
            if done or is_new or search == MOST_SEARCHES:
                return self.fitted(found.tree, solver.solve(problem._replace(bundle=bundle)), problem)
        return None
