"""Binary learners of coloured classes: a round learns to tell two groups of classes apart, drawn or found.

V. Guruswami and A. Sahai, "Multiclass learning, boosting, and error-correcting codes", COLT 1999; B. Zhang, G. Ye,
Y. Wang, J. Xu and G. Herman, "Finding shareable informative patterns and optimal coding matrix for multiclass
boosting", ICCV 2009; the largest cut: R. E. Schapire, "Using output codes to boost multiclass learning problems",
ICML 1997.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from minrisk._kernels._dtypes import TIE
from minrisk._kernels.split import ABSOLUTE_EDGE_GAIN
from minrisk._typing import FloatArray
from minrisk._utils.algebra import product
from minrisk.learners.base import FittedLearners, Round
from minrisk.learners.directed import RegressionTrees
from minrisk.learners.greedy_tree import SignTrees, stump_at
from minrisk.learners.vector_tree import TRIALS
from minrisk.losses.base import JOINT, LEAVES, SIGNS
from minrisk.model.codes import exhaustive
from minrisk.rows.directed import DirectedRows
from minrisk.rows.pairs import PairRows
from minrisk.steps.base import Step, StepProblem, StepSolver
from minrisk.steps.closed_form import minimiser, value_after

ENUMERATED = 12  # decisions up to which all ways of colouring them are tried: 2047 of them
STARTS = 10  # halves of more decisions that are improved


@dataclass(frozen=True)
class ColouredTrees(RegressionTrees):
    """Trees grown to tell classes of colour +1 from those of colour -1, each row weighing the pairs that it parts.

    Along half the colours mu the gradient of a row is mu_y D, D the sum of its terms of the other colour: sign and
    weight of a binary example, to which a tree is fitted by least squares (which is Gini's impurity of two classes).

    Parameters
    ----------
    max_depth : int
        1 for stumps.
    thresholds : sequence of ndarray
        Of the binner.
    colours : {"random-half", "max-cut"}
        "max-cut" takes those that part the pairs of the largest weight: Schapire's U, AdaBoost.ECC's normalisation.
        Where they leave nothing to split, halves are drawn.
    """

    colours: str = "random-half"
    requires = frozenset({DirectedRows})

    traits = frozenset({LEAVES})

    def fit(self, round_: Round) -> FittedLearners | None:
        """Draw colours, grow the tree and solve for its leaves; other colours where nothing can be split."""
        rows, problem = cast(DirectedRows, round_.rows), round_.problem  # as required
        rule = self.rule(len(round_.features))
        # Colours, or features, may leave nothing to split; others are drawn then.
        for trial in range(TRIALS):
            seed = round_.seed + trial
            if self.colours == "max-cut" and trial == 0:
                terms = rows.class_terms()
                direction = 0.5 * max_cut(terms + terms.T, seed)
            else:
                direction = 0.5 * random_half(rows.n_outputs, seed)
            rows.aim(problem.loss, direction, "slope")
            grown = rows.grow_regression(rule, round_.features, seed)[0]
            if len(grown.leaf_node) > 1:
                break
        else:
            return None
        step = round_.solver.solve(problem._replace(directions=direction[None]))
        tree = self.trees.finished(grown, problem.fall(step))
        rows.respond(tree)
        return FittedLearners((tree,), step)


@dataclass(frozen=True)
class ColourStep(StepSolver):
    """g = 1/2 ln(W+ / W-) in every leaf, W+ and W- the weights of its rows of either colour: alpha and -beta of ECC.

    Of the pairs that colours part the loss is W+ e^-g + W- e^g there, of the others it stays.
    """

    smoothing: float  # weight of phantom rows of either colour in every leaf, as a share of all
    requires = frozenset({JOINT, LEAVES, DirectedRows})

    def solve(self, problem: StepProblem) -> Step:
        """Minimise in every leaf of the tree that was grown along the direction."""
        rows = cast(DirectedRows, problem.rows)  # as required
        assert problem.directions is not None
        push, pull = rows.target_sums()
        g = minimiser(push, pull + 2.0 * self.smoothing * pull.sum())
        fall = float(pull.sum()) - value_after(push, pull, g)
        return Step(g[:, None] * problem.directions, problem.value - fall)


@dataclass(frozen=True)
class SharedPatterns(SignTrees):
    """argmax over f in {-1, +1} and colours mu of sum_i f_i <mu, gradient_i>, which is sum_k |E_k| at mu_k = sign E_k.

    E_k = sum_i f_i gradient_ik. Stumps are found with their colours by exact search; a tree is deepened layer by layer
    while the sum rises, for the colours so far, which then are taken again.
    """

    requires = frozenset({PairRows})

    def fit(self, round_: Round) -> FittedLearners | None:
        """Find the learner, its colours, and the step along half of them."""
        rows, problem = cast(PairRows, round_.rows), round_.problem  # as required
        split = rows.best_stump(ABSOLUTE_EDGE_GAIN, problem.hessian, round_.features)
        if split is None:
            return None
        tree = stump_at(rows, split.feature, split.bin, 1, split.drop)
        colours = preferred(rows.edges())
        for _ in range(self.max_depth - 1):
            rows.contrast_along(colours)
            deeper = tree.deepened_in(rows, round_.features)
            if deeper is None:
                break
            tree = deeper
            colours = preferred(rows.edges())
        step = round_.solver.solve(problem._replace(directions=0.5 * colours[None]))
        return FittedLearners((tree.credited(self.thresholds, problem.fall(step)),), step)


@dataclass(frozen=True)
class PartitionStep(StepSolver):
    """g = 1/2 ln(W+ / W-) along half the colours, one for the whole learner.

    Of GEL the pairs of classes that the colours part have the loss W+ e^-g + W- e^g, and the others keep theirs.
    """

    smoothing: float  # weight of phantom rows on either side, as a share of all
    requires = frozenset({JOINT, SIGNS, PairRows})
    columns = 1

    def solve(self, problem: StepProblem) -> Step:
        """Minimise along the response, by sums over pairs of classes."""
        rows = cast(PairRows, problem.rows)  # as required
        assert problem.directions is not None
        above, pairs = problem.directions[0] > 0.0, rows.pair_sums()
        right, wrong = float(pairs[above][:, ~above].sum()), float(pairs[~above][:, above].sum())
        edge, hessian = np.array([right - wrong]), np.array([right + wrong])
        g = minimiser(edge, hessian * (1.0 + 2.0 * self.smoothing))
        return Step(g[:, None] * problem.directions, problem.value - (right + wrong - value_after(edge, hessian, g)))


def preferred(edges: FloatArray) -> FloatArray:
    """Return the colours (D,) along which edges have the largest sum."""
    return np.where(edges > 0.0, 1.0, -1.0)


def random_half(D: int, seed: int) -> FloatArray:
    """Draw colours (D,): -1 for half of the decisions, rounded down, and 1 for the others; all halves are as likely."""
    colours = np.ones(D)
    colours[np.random.default_rng(seed).permutation(D)[: D // 2]] = -1.0
    return colours


def max_cut(graph: FloatArray, seed: int) -> FloatArray:
    """Return colours (D,) between which a symmetric graph (D, D) with weights of 0 or more has the largest cut.

    All colours of up to twelve decisions are tried. Of more, drawn halves are improved as long as another colour for
    one decision cuts more.
    """
    D = len(graph)
    if D <= ENUMERATED:
        colours = exhaustive(D)
    else:
        colours = np.stack([_improved(random_half(D, seed + start), graph) for start in range(STARTS)], axis=1)
    cut = graph.sum() - (colours * (product(graph, colours))).sum(axis=0)  # four times
    return np.ascontiguousarray(colours[:, np.flatnonzero(cut >= cut.max() * (1.0 - TIE))[0]])


def _improved(colours: FloatArray, graph: FloatArray) -> FloatArray:
    """Return colours that no other colour of a single decision makes better."""
    while True:
        gain = colours * (product(graph, colours))  # what the cut grows by
        best = int(gain.argmax())
        if gain[best] <= TIE * graph.max():
            return colours
        colours[best] = -colours[best]
