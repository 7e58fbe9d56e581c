"""Trees of adaptive pairs of classes, and Newton's step along the pair of each leaf.

P. Sun, M. D. Reid and J. Zhou, "AOSO-LogitBoost: Adaptive one-vs-one LogitBoost for multi-class problem", ICML 2012.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minrisk._typing import FloatArray
from minrisk._utils import cached_property
from minrisk.learners.base import FittedLearners, Round
from minrisk.learners.vector_tree import VectorTrees
from minrisk.losses.base import LEAVES, SOFTMAX_EDGES
from minrisk.rows.base import GrowthRule
from minrisk.steps.base import Step, StepProblem
from minrisk.steps.leaf_vectors import LARGEST_NEWTON


@dataclass(frozen=True)
class PairedTrees:
    """The leaf whose split gains most along its own pair of classes is split next, until there are `max_leaf_nodes`.

    Parameters
    ----------
    max_leaf_nodes, max_depth : int
        Largest numbers of leaves and of splits on a way.
    thresholds : sequence of ndarray
        Of the binner.
    smoothing : float
        Curvature of phantom rows in every node, as a share of the mean mass of a class.
    """

    max_leaf_nodes: int
    max_depth: int
    thresholds: Sequence[FloatArray]
    smoothing: float
    requires = frozenset[str]()

    @property
    def traits(self) -> frozenset[str]:
        """Facts that steps may rely on."""
        return frozenset({LEAVES})

    @cached_property
    def _trees(self) -> VectorTrees:
        return VectorTrees(self.max_leaf_nodes, self.thresholds, self.max_depth)

    def fit(self, round_: Round) -> FittedLearners | None:
        """Grow the tree, then take the steps along the pairs of its leaves; see `LearnerFamily.fit`."""
        rows, problem = round_.rows, round_.problem
        rule = GrowthRule(self.max_leaf_nodes, self.max_depth, 1, len(round_.features))
        grown = rows.grow_pairs(rule, self.smoothing * float(problem.mass.mean()), round_.features)
        if len(grown.leaf_node) == 1:
            return None
        step = round_.solver.solve(problem)
        return FittedLearners((self._trees.finished(grown, max(0.0, 1.0 - step.value / problem.value)),), step)


@dataclass(frozen=True)
class PairedNewton:
    """t (e_r - e_s) in a leaf of the pair (r, s), t = E / (M + ridge) with its sums along e_r - e_s, cut at -4 and 4.

    Parameters
    ----------
    smoothing : float
        As of `PairedTrees`.
    """

    smoothing: float
    requires: frozenset[str] = frozenset({SOFTMAX_EDGES, LEAVES})
    gain: int | None = None
    columns: int = 0

    def solve(self, problem: StepProblem) -> Step:
        """One step in every leaf, from the sums that growing has left."""
        pairs, edge, mass = problem.rows.paired_leaves()
        room = mass + self.smoothing * problem.mass.mean()
        t = np.divide(edge, room, out=np.zeros_like(edge), where=room > 0.0)
        t = np.clip(t, -LARGEST_NEWTON, LARGEST_NEWTON)
        vectors, leaves = np.zeros((len(t), len(problem.mass))), np.arange(len(t))
        vectors[leaves, pairs[:, 0]], vectors[leaves, pairs[:, 1]] = t, -t
        return Step(vectors, problem.value - float((edge * t - 0.5 * mass * t * t).sum()))
