"""What a family of weak learners is, and the problem of one round."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from minrisk._typing import FloatArray, IntArray
from minrisk.learners.tree import Tree
from minrisk.rows.base import Rows
from minrisk.steps.base import Step, StepProblem, StepSolver


class Round(NamedTuple):
    """What a family gets to see: the rows, this round's features, and how the vector of a response is solved for."""

    rows: Rows
    problem: StepProblem
    solver: StepSolver
    features: IntArray
    seed: int  # of this round's draws


class Found(NamedTuple):
    """A learner and the unshrunk step along it."""

    learner: Tree
    step: Step


class Packed(Protocol):
    """Many learners as flat arrays: what prediction, files and exporters read."""

    def __len__(self) -> int: ...

    def add_scores(
        self, X: FloatArray, vectors: FloatArray, first: int, last: int, start: int, stop: int, scores: FloatArray
    ) -> None:
        """scores[start:stop] += f_t(x) times the vector that x's leaf names, over learners first..last."""


class LearnerFamily(Protocol):
    """Finds the learner of a round."""

    @property
    def traits(self) -> frozenset[str]:
        """Facts that steps may rely on; "signs": responses are -1 or +1."""

    def fit(self, round_: Round) -> Found | None:
        """The best learner, its response left in the rows; None when no learner separates anything."""
