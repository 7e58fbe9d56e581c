"""The exponential's closed form, a = 1/2 (ln s- - ln s+) (REBEL, S.6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minrisk.losses.base import EXPONENTIAL, SIGNS
from minrisk.steps.base import Step, StepProblem, clip_step


@dataclass(frozen=True)
class ClosedFormStep:
    """a_k = atanh(E_k / (T_k + 2 ridge_k)) for f in {-1, +1}.

    With T = s+ + s- and E = s- - s+ this is 1/2 ln((s- + ridge) / (s+ + ridge)), the minimiser of
    s+ e^a + s- e^-a + ridge (e^a + e^-a); the loss after it is T cosh a - E sinh a.
    """

    requires: frozenset[str] = frozenset({EXPONENTIAL, SIGNS})

    def solve(self, problem: StepProblem) -> Step:
        """Minimise along the response, in one pass over the rows."""
        edge, mass = problem.rows.edges(), problem.mass
        room = mass + 2.0 * problem.ridge
        ratio = np.divide(edge, room, out=np.zeros_like(edge), where=room > 0)
        with np.errstate(divide="ignore"):
            vector = clip_step(np.arctanh(np.clip(ratio, -1.0, 1.0)))
        return Step(vector, float(np.sum(mass * np.cosh(vector) - edge * np.sinh(vector))))
