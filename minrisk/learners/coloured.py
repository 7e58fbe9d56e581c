"""Binary learners of coloured classes: a round draws two groups of classes and learns to tell them apart.

V. Guruswami and A. Sahai, "Multiclass learning, boosting, and error-correcting codes", COLT 1999.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minrisk._typing import FloatArray
from minrisk.learners.base import FittedLearners, Round
from minrisk.learners.directed import RegressionTrees
from minrisk.learners.vector_tree import TRIALS
from minrisk.losses.base import JOINT, LEAVES
from minrisk.rows.base import DIRECTED_ROWS, are_directed
from minrisk.steps.base import Step, StepProblem
from minrisk.steps.closed_form import minimiser, value_after


@dataclass(frozen=True)
class ColouredTrees(RegressionTrees):
    """Trees grown to tell classes of colour +1 from those of colour -1, each row weighing the pairs that it parts.

    Along half the colours mu the edge of a row is mu_y D, D the sum of its terms of the other colour: sign and weight
    of a binary example, to which a tree is fitted by least squares (which is Gini's impurity of two classes).

    Parameters
    ----------
    max_depth : int
        1 for stumps.
    thresholds : sequence of ndarray
        Of the binner.
    """

    requires = frozenset({DIRECTED_ROWS})

    @property
    def traits(self) -> frozenset[str]:
        """Facts that steps may rely on."""
        return frozenset({LEAVES})

    def fit(self, round_: Round) -> FittedLearners | None:
        """Draw colours, grow the tree and solve for its leaves; other colours where nothing can be split."""
        rows, problem = round_.rows, round_.problem
        assert are_directed(rows)  # as required
        rule = self.rule(rows.n_trained, len(round_.features))
        for trial in range(TRIALS):
            seed = round_.seed + trial
            direction = 0.5 * random_half(rows.n_outputs, seed)
            rows.aim(problem.loss, direction, "slope")  # type: ignore[arg-type]  # as the step requires
            grown = rows.grow_regression(rule, round_.features, seed)[0]
            if len(grown.leaf_node) > 1:
                break
        else:
            return None
        step = round_.solver.solve(problem._replace(directions=direction[None]))
        tree = self.trees.finished(grown, max(0.0, 1.0 - step.value / problem.value))
        rows.respond(tree)
        return FittedLearners((tree,), step)


@dataclass(frozen=True)
class ColourStep:
    """g = 1/2 ln(W+ / W-) in every leaf, W+ and W- the weights of its rows of either colour: alpha and -beta of ECC.

    Of the pairs that colours part the loss is W+ e^-g + W- e^g there, of the others it stays.

    Parameters
    ----------
    smoothing : float
        Weight of phantom rows of either colour in every leaf, as a share of all.
    """

    smoothing: float
    requires: frozenset[str] = frozenset({JOINT, LEAVES, DIRECTED_ROWS})
    gain: int | None = None
    columns: int = 0

    def solve(self, problem: StepProblem) -> Step:
        """Minimise in every leaf of the tree that was grown along the direction."""
        rows = problem.rows
        assert are_directed(rows)  # as required
        assert problem.directions is not None
        push, pull = rows.target_sums()
        g = minimiser(push, pull + 2.0 * self.smoothing * pull.sum())
        fall = float(pull.sum()) - value_after(push, pull, g)
        return Step(g[:, None] * problem.directions, problem.value - fall)


def random_half(D: int, seed: int) -> FloatArray:
    """Colours (D,): -1 for half of the decisions, rounded down, and 1 for the others; all halves are as likely."""
    colours = np.ones(D)
    colours[np.random.default_rng(seed).permutation(D)[: D // 2]] = -1.0
    return colours
