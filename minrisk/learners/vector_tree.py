"""Trees with a vector in every leaf, grown leaf by leaf: one tree per round, however many decisions there are.

Trees of adaptive pairs of classes: P. Sun, M. D. Reid and J. Zhou, "AOSO-LogitBoost: Adaptive one-vs-one LogitBoost for
multi-class problem", ICML 2012.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minrisk._kernels._dtypes import MAX_DEPTH
from minrisk._kernels.grow import EXACT, NEWTON, SKETCH, draw_directions
from minrisk._kernels.scores import tree_columns
from minrisk._typing import FloatArray, IntArray
from minrisk._utils import cached_property
from minrisk.learners.base import FittedLearners, Round
from minrisk.losses.base import EXPONENTIAL, LEAVES, SOFTMAX_GRADIENT
from minrisk.model.trees import Tree
from minrisk.rows.base import GrownTree, GrowthRule, Target
from minrisk.steps.base import Step, StepProblem, StepSolver
from minrisk.steps.leaf_vectors import LARGEST_NEWTON

SPARED = 4  # times `search_rows`, from which on a sample is drawn: of fewer rows it saves little and costs accuracy
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
        Share of the round's features that a node looks at, drawn again for every node.
    sketch : int, optional
        Splits are chosen on this many random combinations of the decisions' gradients, which makes the search's cost
        independent of D; None chooses them by all decisions at once. Leaf vectors are exact either way.
    search_rows : int, optional
        With more than four times as many rows, a sketch's splits are searched on so many at least, drawn for each tree
        by minimal variance sampling: see `minrisk._kernels.sampling`. Leaf vectors are of all rows. None: all.
    gain : int, optional
        Without a sketch, another gain of `minrisk._kernels.grow` than the one that follows from the loss.
    phantoms : bool
        Whether splits are judged with the phantom rows of the smoothing, of which each part has its own: it then takes
        more than nothing for a split to be worth it.
    random : bool
        Whether a node looks at one threshold of each feature, drawn between its rows' lowest and highest bins.
    constants : bool
        Whether a tree that nothing splits is a learner, too: one vector for all rows.

    Notes
    -----
    With the gradient E and the Hessian M of a node, summed over its rows, a sketch of q takes the gain
    1/q sum_c (sum_k r_ck E_k / sqrt(M_k(all)))^2 / (sum_k M_k / M_k(all) + ridge), signs r_c drawn uniformly, but not
    all alike: the drop of a Newton step that all decisions share, in expectation over r. Without a sketch the gain is
    the drop of 2 sum_k sqrt(S+_k S-_k), exact for the exponential, or the rise of sum_k E_k^2 / M_k; there a node's
    Hessian includes the ridge, half of it in either of S+ and S-. A threshold is midway between the two occupied bins
    of the node that it parts.
    """

    max_leaf_nodes: int
    thresholds: Sequence[FloatArray]
    max_depth: int = MAX_DEPTH
    min_samples_leaf: int = 1
    max_features: float = 1.0
    sketch: int | None = 1
    search_rows: int | None = None
    gain: int | None = None
    phantoms: bool = True
    constants: bool = False
    random: bool = False

    @cached_property
    def flat_thresholds(self) -> tuple[FloatArray, IntArray]:
        """Return all thresholds, and one more for features that have none; and where each feature's begin."""
        flat: FloatArray = np.concatenate([*self.thresholds, [np.inf]]).astype(np.float64)
        return flat, np.cumsum([0, *map(len, self.thresholds)])[:-1].astype(np.int64)

    requires = frozenset[str]()
    traits = frozenset({LEAVES})

    def n_drawn(self, n_features: int) -> int:
        """Return features that a node looks at, of so many."""
        return max(1, round(self.max_features * n_features))

    def n_trials(self, n_features: int) -> int:
        """Return draws before it is said that nothing can be split; one where nothing is drawn."""
        return TRIALS if self.sketch is not None or self.n_drawn(n_features) < n_features else 1

    def n_searched(self, n_rows: int) -> int | None:
        """Return rows that splits are searched on at least, of so many; None: all of them."""
        return None if self.search_rows is None or n_rows <= SPARED * self.search_rows else self.search_rows

    def rule(self, n_features: int, n_rows: int) -> GrowthRule:
        """Return how far a tree grows on so many features and rows."""
        searched = self.n_searched(n_rows)
        return GrowthRule(
            self.max_leaf_nodes,
            self.max_depth,
            self.min_samples_leaf,
            self.n_drawn(n_features),
            searched,
            random=self.random,
        ).within(n_rows)

    def fit(self, round_: Round) -> FittedLearners | None:
        """Grow the tree, then solve for its vectors; see `LearnerFamily.fit`."""
        rows, problem = round_.rows, round_.problem
        rule = self.rule(len(round_.features), rows.n_trained)
        # A sketch, or features drawn, may show no split where others do.
        for trial in range(self.n_trials(len(round_.features))):
            seed = round_.seed + trial
            grown = rows.grow(self._target(problem, seed), rule, round_.features, seed)
            if len(grown.leaf_node) > 1:
                break
        else:
            if not self.constants:
                return None
        step = round_.solver.solve(problem)
        return FittedLearners((self.finished(grown, problem.fall(step)),), step)

    def _target(self, problem: StepProblem, seed: int) -> Target:
        """Return what splits are chosen by in this round."""
        ridge = 2.0 * problem.ridge if self.phantoms else np.zeros_like(problem.ridge)
        if self.sketch is None:
            of_loss = EXACT if EXPONENTIAL in problem.loss.traits else NEWTON
            return Target(of_loss if self.gain is None else self.gain, ridge)
        directions, weight, shared = draw_directions(problem.hessian, ridge, self.sketch, seed)
        return Target(SKETCH, shared, directions, weight)

    def finished(self, grown: GrownTree, fall: float) -> Tree:
        """Return the immutable tree; gains become shares of the loss's relative fall."""
        feature, bins, left, gain, node, depth = grown
        flat, first = self.flat_thresholds
        threshold, value, vector, share = tree_columns(feature, bins, left, gain, node, first, flat, fall)
        return Tree(feature, bins, threshold, left, value, vector, share, depth)


# -- pairs of classes --------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class PairedTrees:
    """The leaf whose split gains most along its own pair of classes is split next, until there are `max_leaf_nodes`."""

    max_leaf_nodes: int  # largest numbers of leaves and of splits on a way
    max_depth: int  # largest numbers of leaves and of splits on a way
    thresholds: Sequence[FloatArray]  # of the binner
    smoothing: float  # curvature of phantom rows in every node, as a share of the mean Hessian of a class
    requires = frozenset[str]()
    traits = frozenset({LEAVES})

    @cached_property
    def _trees(self) -> VectorTrees:
        return VectorTrees(self.max_leaf_nodes, self.thresholds, self.max_depth)

    def fit(self, round_: Round) -> FittedLearners | None:
        """Grow the tree, then take the steps along the pairs of its leaves; see `LearnerFamily.fit`."""
        rows, problem = round_.rows, round_.problem
        rule = GrowthRule(self.max_leaf_nodes, self.max_depth, 1, len(round_.features))
        grown = rows.grow_pairs(rule, self.smoothing * float(problem.hessian.mean()), round_.features)
        if len(grown.leaf_node) == 1:
            return None
        step = round_.solver.solve(problem)
        return FittedLearners((self._trees.finished(grown, problem.fall(step)),), step)


@dataclass(frozen=True)
class PairedNewton(StepSolver):
    """t (e_r - e_s) in a leaf of the pair (r, s), t = E / (M + ridge) with its sums along e_r - e_s, cut at +-4."""

    smoothing: float  # as of `PairedTrees`
    requires = frozenset({SOFTMAX_GRADIENT, LEAVES})

    def solve(self, problem: StepProblem) -> Step:
        """Take one step in every leaf, from the sums that growing has left."""
        pairs, gradient, hessian = problem.rows.paired_leaves()
        room = hessian + self.smoothing * problem.hessian.mean()
        t = np.divide(gradient, room, out=np.zeros_like(gradient), where=room > 0.0)
        t = np.clip(t, -LARGEST_NEWTON, LARGEST_NEWTON)
        vectors, leaves = np.zeros((len(t), len(problem.hessian))), np.arange(len(t))
        vectors[leaves, pairs[:, 0]], vectors[leaves, pairs[:, 1]] = t, -t
        return Step(vectors, problem.value - float((gradient * t - 0.5 * hessian * t * t).sum()))
