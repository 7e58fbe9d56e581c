"""Which rounds rows may make in one call: those of GLL (softmax) with sketched vector trees and Newton steps."""

from __future__ import annotations

from minrisk._typing import IntArray
from minrisk.learners.base import LearnerFamily
from minrisk.learners.vector_tree import TRIALS, VectorTrees
from minrisk.losses.base import Loss
from minrisk.losses.guess_averse import GuessAverseLoss
from minrisk.rows.base import RoundRule
from minrisk.steps.base import StepSolver
from minrisk.steps.leaf_vectors import LARGEST_NEWTON, LeafNewton


def round_rule(
    loss: Loss, family: LearnerFamily, solver: StepSolver, features: IntArray, n_rows: int, smoothing: float,
    learning_rate: float, stalled: float,
) -> RoundRule | None:
    """What `Rows.whole_rounds` makes rounds by; None if there is no such kernel for these parts on so many rows."""
    if not (
        isinstance(solver, LeafNewton) and isinstance(loss, GuessAverseLoss) and loss.kind == "gll"
        and isinstance(family, VectorTrees) and family.sketch is not None and family.n_searched(n_rows) is None
    ):  # fmt: skip
        return None
    return RoundRule(
        features, family.rule(len(features), n_rows), family.sketch, TRIALS, *family.flat_thresholds, solver.smoothing,
        LARGEST_NEWTON, smoothing, learning_rate, stalled,
    )  # fmt: skip
