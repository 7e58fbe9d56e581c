"""The stump whose edges are the longest vector: what GradBoost adds (Duchi and Singer, ICML 2009)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minrisk._kernels.split import ABSOLUTE_EDGE_GAIN, QUADRATIC_GAIN
from minrisk._typing import FloatArray
from minrisk.learners.base import FittedLearners, Round
from minrisk.learners.greedy_tree import stump_at
from minrisk.losses.base import SIGNS, STUMPS
from minrisk.steps.mixed_norm import DUAL_ORDERS, scaled_weight


@dataclass(frozen=True)
class LargestNormStumps:
    """argmax over f of |sum_i f_i edge_i|, all stumps from one histogram; by the dual norm of the penalty's.

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

    @property
    def traits(self) -> frozenset[str]:
        """Facts that steps may rely on."""
        return frozenset({SIGNS, STUMPS})

    def fit(self, round_: Round) -> FittedLearners | None:
        """The stump and its step; see `LearnerFamily.fit`."""
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
        fall = max(0.0, 1.0 - step.value / problem.value)
        return FittedLearners((tree.credited(self.thresholds, fall),), step)
