"""The exponential's closed form, a = 1/2 (ln s- - ln s+) (REBEL, S.6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minrisk._kernels.split import SIDES_GAIN
from minrisk._typing import FloatArray
from minrisk.losses.base import EXPONENTIAL, SIGNS, STUMPS
from minrisk.steps.base import Step, StepProblem, clip_step
from minrisk.steps.edges import edge_of


@dataclass(frozen=True)
class ClosedFormStep:
    """a_k = atanh(E_k / (T_k + 2 ridge_k)) for f in {-1, +1}.

    With T = s+ + s- and E = s- - s+ this is 1/2 ln((s- + ridge) / (s+ + ridge)), the minimiser of
    s+ e^a + s- e^-a + ridge (e^a + e^-a); the loss after it is T cosh a - E sinh a.
    """

    requires: frozenset[str] = frozenset({EXPONENTIAL, SIGNS})
    gain: int | None = None
    columns: int = 1

    def solve(self, problem: StepProblem) -> Step:
        """Minimise along the response, in one pass over the rows."""
        edge, mass = problem.rows.edges(), problem.mass
        room = mass + 2.0 * problem.ridge
        vector = minimiser(edge, room)
        return Step(vector[None], value_after(edge, mass, vector), edge=edge_of(edge, room))


@dataclass(frozen=True)
class TwoSidedStep:
    """The constant term is fitted again in every round: H + f a + b, jointly in a and b.

    Then either side of a stump has a vector of its own, a_- = b - a and a_+ = b + a, each in closed form from the sums
    over its rows; each side gets half of the smoothing. The vectors are (a_-, a_+).
    """

    requires: frozenset[str] = frozenset({EXPONENTIAL, SIGNS, STUMPS})
    gain: int | None = SIDES_GAIN
    columns: int = 2

    def solve(self, problem: StepProblem) -> Step:
        """Minimise on either side, in four passes over the rows."""
        edge, mass = problem.rows.side_sums()
        room = mass + problem.ridge
        sides = minimiser(edge, room)
        return Step(sides, value_after(edge, mass, sides), edge=edge_of(edge, room))


def minimiser(edge: FloatArray, room: FloatArray) -> FloatArray:
    """The minimiser of T cosh a - E sinh a, atanh(E / T), 0 where T is 0."""
    ratio = np.divide(edge, room, out=np.zeros_like(edge), where=room > 0)
    with np.errstate(divide="ignore"):
        return clip_step(np.arctanh(np.clip(ratio, -1.0, 1.0)))


def value_after(edge: FloatArray, mass: FloatArray, vector: FloatArray) -> float:
    return float(np.sum(mass * np.cosh(vector) - edge * np.sinh(vector)))
