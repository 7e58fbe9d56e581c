"""The step of learners that vote -1 or +1 on every output in every leaf, with one rate for all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minrisk._kernels._dtypes import TIE
from minrisk.losses.base import EXPONENTIAL, LEAVES
from minrisk.steps.base import Step, StepProblem
from minrisk.steps.closed_form import minimiser, value_after


@dataclass(frozen=True)
class VoteStep:
    """a_jk = alpha sign(E_jk) in leaf j, alpha = 1/2 ln((1 + r) / (1 - r)), r = sum_jk |E_jk| / T, T the mass of all.

    Of Schapire and Singer (1999), Sec. 3.1 for h in {-1, +1} of rows and labels: r is the largest correlation of any h
    that is constant in the leaves, and the loss falls by sqrt(1 - r^2). Where E is 0 the vote is -1.
    """

    requires: frozenset[str] = frozenset({EXPONENTIAL, LEAVES})
    gain: int | None = None
    columns: int = 0

    def solve(self, problem: StepProblem) -> Step:
        """Minimise over the rate, from one pass over the rows."""
        edges, masses = problem.rows.leaf_sums()
        edge, mass = np.array([np.abs(edges).sum()]), np.array([problem.mass.sum()])
        alpha = minimiser(edge, mass + 2.0 * problem.ridge.sum())
        return Step(np.where(edges > TIE * masses, alpha, -alpha), value_after(edge, mass, alpha))
