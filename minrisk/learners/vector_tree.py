"""Trees with a vector in every leaf, grown leaf by leaf: one tree per round, however many decisions there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minrisk._kernels.grow import EXACT, NEWTON, SKETCH
from minrisk._typing import FloatArray
from minrisk.learners.base import Found, Round
from minrisk.learners.tree import MAX_DEPTH, Tree
from minrisk.losses.base import EXPONENTIAL, LEAVES
from minrisk.rows.base import GrownTree, GrowthRule, Target
from minrisk.steps.base import StepProblem

TRIALS = 5  # draws of sketches and features before it is said that nothing can be split


@dataclass(frozen=True)
class VectorTrees:
    """The leaf whose split gains most is split next, until there are `max_leaf_nodes`.

    Parameters
    ----------
    max_leaf_nodes : int
        Largest number of leaves.
    thresholds : sequence of ndarray
        Of the binner.
    max_depth : int, optional
        Splits between the root and any leaf; default 64.
    min_samples_leaf : int, optional
        Rows of the bag in a leaf.
    max_features : float, optional
        Share of the round's features that a node looks at, drawn anew for every node.
    sketch : int, optional
        Splits are chosen on this many random combinations of the decisions' edges, which makes the search's cost
        independent of D; None chooses them by all decisions at once. Leaf vectors are exact either way.

    Notes
    -----
    With edges E and masses M of a node, summed over its rows, a sketch of q takes the gain
    1/q sum_c (sum_k r_ck E_k / sqrt(M_k(all)))^2 / (sum_k M_k / M_k(all) + ridge), signs r_c drawn uniformly, but not
    all alike: the drop of a Newton step that all decisions share, in expectation over r. Without a sketch the gain is
    the drop of 2 sum_k sqrt(S+_k S-_k), exact for the exponential, or the rise of sum_k E_k^2 / M_k; there a node's
    masses include the ridge, half of it in either of S+ and S-. A threshold is midway between the two occupied bins of
    the node that it parts.
    """

    max_leaf_nodes: int
    thresholds: Sequence[FloatArray]
    max_depth: int = MAX_DEPTH
    min_samples_leaf: int = 1
    max_features: float = 1.0
    sketch: int | None = 1

    @property
    def traits(self) -> frozenset[str]:
        """Facts that steps may rely on."""
        return frozenset({LEAVES})

    def fit(self, round_: Round) -> Found | None:
        """Grow the tree, then solve for its vectors; see `LearnerFamily.fit`."""
        rows, problem, rng = round_.rows, round_.problem, round_.rng
        n_drawn = max(1, round(self.max_features * len(round_.features)))
        rule = GrowthRule(self.max_leaf_nodes, self.max_depth, self.min_samples_leaf, n_drawn)
        drawn = self.sketch is not None or n_drawn < len(round_.features)
        for _ in range(TRIALS if drawn else 1):
            grown = rows.grow(self._target(problem, rng), rule, round_.features, int(rng.integers(1 << 62)))
            if len(grown.leaf_node) > 1:
                break
        else:
            return None
        step = round_.solver.solve(problem)
        return Found(self._tree(grown, max(0.0, 1.0 - step.value / problem.value)), step)

    def _target(self, problem: StepProblem, rng: np.random.Generator) -> Target:
        """What splits are chosen by in this round."""
        mass, ridge = problem.mass, 2.0 * problem.ridge
        if self.sketch is None:
            return Target(EXACT if EXPONENTIAL in problem.loss.traits else NEWTON, ridge)
        weight = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0)
        signs = _signs(rng, self.sketch, len(mass))
        shared = max(float(ridge @ weight), 1e-9)
        return Target(SKETCH, np.array([shared]), signs * np.sqrt(weight / self.sketch), weight)

    def _tree(self, grown: GrownTree, fall: float) -> Tree:
        """The immutable tree; gains become shares of the loss's relative fall."""
        leaf = grown.left == np.arange(len(grown.left))
        threshold = np.full(len(leaf), np.inf)
        for node in np.flatnonzero(~leaf).tolist():
            threshold[node] = self.thresholds[grown.feature[node]][grown.bin[node]]
        vector = np.zeros(len(leaf), dtype=np.int32)
        vector[grown.leaf_node] = np.arange(len(grown.leaf_node))
        gain = grown.gain * (fall / max(float(grown.gain.sum()), 1e-300))
        value = leaf.astype(np.float64)
        return Tree(grown.feature, grown.bin, threshold, grown.left, value, vector, gain, grown.depth)


def _signs(rng: np.random.Generator, q: int, n_outputs: int) -> FloatArray:
    """Rows of random signs (q, D), none of them all alike: edges that sum to 0 would vanish."""
    drawn = rng.integers(0, 2, (q, n_outputs))
    while n_outputs > 1 and any(not 0 < ones < n_outputs for ones in drawn.sum(axis=1).tolist()):
        drawn = rng.integers(0, 2, (q, n_outputs))
    return np.asarray(2.0 * drawn - 1.0)
