"""Which rounds rows may make in one call: those of GLL (softmax) with vector trees and Newton steps."""

from __future__ import annotations

from minrisk._typing import IntArray
from minrisk.learners.base import LearnerFamily
from minrisk.learners.vector_tree import VectorTrees
from minrisk.losses.base import Loss
from minrisk.losses.guess_averse import GuessAverseLoss
from minrisk.rows.base import RoundRule
from minrisk.steps.base import StepSolver
from minrisk.steps.leaf_vectors import LARGEST_NEWTON, LeafNewton


def round_rule(
    loss: Loss,
    family: LearnerFamily,
    solver: StepSolver,
    features: IntArray,
    n_rows: int,
    smoothing: float,
    learning_rate: float,
    stalled: float,
) -> RoundRule | None:
    """What `Rows.whole_rounds` makes rounds by; None if there is no such kernel for these parts on so many rows."""
    if not (
        isinstance(solver, LeafNewton)
        and isinstance(loss, GuessAverseLoss)
        and loss.kind == "gll"
        and isinstance(family, VectorTrees)
        and family.gain is None
        and family.phantoms
        and not family.constants
        and (family.sketch is None or family.n_searched(n_rows) is None)
    ):
        return None
    growth = family.rule(len(features), n_rows)
    return RoundRule(
        features,
        growth,
        family.sketch or 0,
        family.n_trials(len(features)),
        *family.flat_thresholds,
        solver.smoothing,
        LARGEST_NEWTON,
        smoothing,
        learning_rate,
        stalled,
    )
