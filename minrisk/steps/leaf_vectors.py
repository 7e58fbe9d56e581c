"""A vector for every leaf: in closed form for the exponential, by one Newton step for other losses."""

from __future__ import annotations

from dataclasses import dataclass

from minrisk._kernels.scores import closed_form, newton
from minrisk.losses.base import EXPONENTIAL, JOINT, LEAVES
from minrisk.steps.base import LARGEST_STEP, Step, StepProblem

LARGEST_NEWTON = 4.0  # a Newton step beyond this says that the curvature has vanished, not where the minimum is


@dataclass(frozen=True)
class LeafClosedForm:
    """a_k = 1/2 ln((S-_k + ridge_k) / (S+_k + ridge_k)) in every leaf, the minimiser of S+ e^a + S- e^-a there."""

    requires: frozenset[str] = frozenset({EXPONENTIAL, LEAVES})
    gain: int | None = None
    columns: int = 0

    def solve(self, problem: StepProblem) -> Step:
        """Minimise in every leaf, in one pass over the rows."""
        edge, mass = problem.rows.leaf_sums()
        return Step(*closed_form(edge, mass, problem.ridge, LARGEST_STEP))


@dataclass(frozen=True)
class LeafNewton:
    """a_k = E_k / (M_k + smoothing M_k(all rows)): the Newton step with the diagonal of the Hessian.

    Parameters
    ----------
    smoothing : float
        Curvature of phantom rows in every leaf, as a share of all rows'.

    Notes
    -----
    A loss that only sees differences of scores has a Hessian of rank D - 1; its diagonal overstates the step by
    D / (D - 1), which is taken back (Friedman, Hastie and Tibshirani, "Additive logistic regression", 2000).
    """

    smoothing: float
    requires: frozenset[str] = frozenset({LEAVES})
    gain: int | None = None
    columns: int = 0

    def solve(self, problem: StepProblem) -> Step:
        """One step in every leaf, in one pass over the rows."""
        edge, mass = problem.rows.leaf_sums()
        shrinkage = 1.0 - 1.0 / edge.shape[1] if JOINT in problem.loss.traits else 1.0
        vectors, fall = newton(edge, mass, problem.mass, self.smoothing, shrinkage, LARGEST_NEWTON)
        return Step(vectors, problem.value - fall)
