"""Families of weak learners, and the problem of one round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk.model.trees import CONSTANT, Tree
from minrisk.rows.rows import Rows
from minrisk.steps.base import Step, StepProblem, StepSolver

NO_ANSWER = CONSTANT._replace(value=np.zeros(1))  # keeps the place of a learner that was not found


class Round(NamedTuple):
    """Hold what a family gets to see: the rows, the features of the round, and how vectors are solved for."""

    rows: Rows
    problem: StepProblem
    solver: StepSolver
    features: IntArray
    seed: int  # of this round's draws


class Term(NamedTuple):
    """A learner and the vectors that its leaves name."""

    learner: Tree
    vectors: FloatArray  # (V, D)


class FittedLearners(NamedTuple):
    """Learners that are added together, and the unshrunk step along them; its vectors are theirs one after another."""

    learners: tuple[Tree, ...]
    step: Step

    def terms(self, factor: float) -> tuple[Term, ...]:
        """Return what the model gets, the vectors times a factor."""
        vectors, first, terms = factor * self.step.vectors, 0, []
        for learner in self.learners:
            terms.append(Term(learner, vectors[first : first + learner.n_vectors]))
            first += learner.n_vectors
        return tuple(terms)


class LearnerFamily(Protocol):
    """Finds the learner of a round, or those of one of its steps."""

    @property
    def traits(self) -> frozenset[str]:
        """Return facts that steps may rely on; "signs": responses are -1 or +1."""

    @property
    def requires(self) -> frozenset[str | type[Rows]]:
        """Return traits that the loss and the step must have, and the kind that rows must be of."""

    def fit(self, round_: Round) -> FittedLearners | None:
        """Find the best learner (its response left in the rows), or learners; None when none separates anything."""


@runtime_checkable
class CertifyingFamily(LearnerFamily, Protocol):
    """One that knows how far from the optimum vectors may be."""

    def certificate(self, round_: Round, so_far: Sequence[Term]) -> tuple[float, float]:
        """Give what the objective is at least, and what it is at these terms, before the round."""
