"""Vectors with a penalty for losses of pairwise margins (Paisitkriangkrai et al., 2013, Eq. 13 and 14)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.optimize import fmin_l_bfgs_b

from minrisk._kernels._dtypes import TIE
from minrisk._kernels.split import LARGEST_EDGE_GAIN
from minrisk._typing import FloatArray
from minrisk.losses.base import PAIRS, SIGNS
from minrisk.model.step_tables import on_grid
from minrisk.rows.base import CORRECTIVE_ROWS, PAIR_ROWS
from minrisk.rows.pairs import are_corrective, are_pairs
from minrisk.rows.row_losses import PairRowLoss
from minrisk.steps.base import LARGEST_STEP, Step, StepProblem
from minrisk.steps.dual_bounds import Bounds, Point

Function = Callable[[FloatArray], tuple[float, FloatArray]]


class Tolerances(NamedTuple):
    """When L-BFGS-B stops (Sec. IV-B).

    Deviation: the objective is less its value at the start and in units of the loss that can still be lost, so that the
    tolerances mean the same for any number of rows and in late rounds.
    """

    iterations: int = 100
    gradient: float = 1e-5
    change: float = 1e-9


PAPER = Tolerances()


class Objective(NamedTuple):
    """Eq. (13), log(own + V) + nu |w|_1, or (14), V + nu |w|_1, as `Tolerances` say; V leaves out the terms r = y.

    Deviation: nu of (14) is of the loss over sum_i c_iy, the number of rows for 0/1 costs, and not of the sum as
    printed. In Table I, nu = 0.1 ends the rounds early, which it would not do of the sum.
    """

    start: float  # V at the start
    share: float  # V / (own + V) at the start for the logarithm, else 0
    nu: float  # in these units

    @classmethod
    def of(cls, problem: StepProblem, nu: float) -> Objective:
        """The objective of a step; sums are times e^-log_scale."""
        loss: PairRowLoss = problem.loss  # type: ignore[assignment]  # as the step requires
        assert are_pairs(problem.rows)  # as the step requires
        own, start = problem.rows.own_total(loss) * math.exp(min(-problem.log_scale, 600.0)), problem.value
        if problem.loss.base != "exponential":
            return cls(start, 0.0, nu * own / math.log(2.0) / start)  # own is of phi(0) = log 2
        share = start / (own + start)
        return cls(start, share, nu / share)

    def at(
        self, value: float, slope: FloatArray, growth: float, rise: float | FloatArray = 1.0
    ) -> tuple[float, FloatArray]:
        """Objective and its slope, given the loss's value and slope, and how much |w|_1 has grown and how it rises."""
        fall, penalty = value / self.start - 1.0, self.nu * growth
        if self.share == 0.0:
            return fall + penalty, slope / self.start + self.nu * rise
        inside = max(1.0 + self.share * fall, 1e-300)
        return math.log(inside) / self.share + penalty, slope / (self.start * inside) + self.nu * rise

    def value(self, objective: float) -> float:
        """The loss that without a penalty would be as good."""
        if self.share == 0.0:
            return self.start * (1.0 + objective)
        return self.start * (1.0 + math.expm1(self.share * objective) / self.share)

    def satisfied(self, edge: float, tolerance: float) -> bool:
        """The stopping rule of Algorithm 1, edge <= nu + epsilon; epsilon as a share of the loss."""
        return edge / self.start <= self.nu + tolerance


@dataclass(frozen=True)
class PairwiseStep:
    """eta w*, cut at kappa, w* = argmin over w of Eq. (13) or (14), by L-BFGS-B.

    Of the exponential loss the rows give D x D sums once, on which all iterations run. No entry of w* exceeds 18.
    Vectors are multiples of 2^-32, so that sums of them are exact.

    Parameters
    ----------
    nu : float
        Weight of |w|_1.
    shrinkage : float
        eta (Sec. III-B).
    cap : float
        kappa (Sec. III-B).
    tolerances : Tolerances
    penalty : {"l1", "l2"}
        As of `CorrectiveStep`, of this vector.
    """

    nu: float
    shrinkage: float = 1.0
    cap: float = LARGEST_STEP
    tolerances: Tolerances = PAPER
    penalty: str = "l1"
    requires: frozenset[str] = frozenset({PAIRS, SIGNS, PAIR_ROWS})
    gain: int | None = LARGEST_EDGE_GAIN
    columns: int = 1

    def solve(self, problem: StepProblem) -> Step:
        """Minimise along the response."""
        objective, l2 = Objective.of(problem, self.nu), self.penalty == "l2"
        loss_at = _loss_along(problem)

        def function(w: FloatArray) -> tuple[float, FloatArray]:
            return objective.at(*loss_at(w), _norm(w, l2), w if l2 else 1.0)

        n = len(problem.mass)
        w = _minimise(function, np.zeros(n), self.tolerances, -LARGEST_STEP)[0] if l2 else self._lowest(function, n)
        w = on_grid(np.clip(self.shrinkage * w, -self.cap, self.cap))
        return Step(w[None], objective.value(function(w)[0]))

    def _lowest(self, function: Function, n_outputs: int) -> FloatArray:
        """w*, whose least entry is 0.

        L-BFGS-B may pass that entry by and then creep, until its objective seems to stand still. It starts again from
        there, the vector lowered, as long as it has iterations left.
        """
        w, tolerances = np.zeros(n_outputs), self.tolerances
        while tolerances.iterations > 0:
            found, slope, n_made = _minimise(function, w, tolerances)
            w = _lowered(found)
            lacking = float(np.where(w > 0.0, np.abs(slope), -slope).max())
            if found.min() == 0.0 or lacking <= tolerances.gradient:
                break
            tolerances = tolerances._replace(iterations=tolerances.iterations - n_made)
        return w

    def certificate(self, point: Point, largest: Callable[[], float]) -> Bounds:
        """Over the vectors of the same learners: with "l1" those whose sum is no larger, Eq. (17), as in the paper."""
        if self.penalty == "l2":
            return point.squared(self.nu)
        return point.limited(self.nu, float(point.edges.max(initial=0.0)), point.norm)


@dataclass(frozen=True)
class SelectedStep:
    """`size` on the class of the most violated constraint, Eq. (10), and 0 elsewhere (Sec. III-B: 0.01).

    Small steps of this kind follow the solutions under a bound on |W|_1, Eq. (17).
    """

    nu: float
    size: float
    penalty: ClassVar[str] = "l1"
    requires: frozenset[str] = frozenset({PAIRS, SIGNS, PAIR_ROWS})
    gain: int | None = LARGEST_EDGE_GAIN
    columns: int = 1

    def solve(self, problem: StepProblem) -> Step:
        """One step of fixed size."""
        objective, w = Objective.of(problem, self.nu), np.zeros(len(problem.mass))
        with np.errstate(over="ignore", invalid="ignore"):  # a step too long lowers nothing
            w[most_violated(problem.rows.edges())] = on_grid(np.array(self.size))
            return Step(w[None], objective.value(objective.at(*_loss_along(problem)(w), self.size)[0]))

    certificate = PairwiseStep.certificate


@dataclass(frozen=True)
class CorrectiveStep:
    """All of W again, Eq. (5) or (7) over the learners so far, by L-BFGS-B from the last W.

    Parameters
    ----------
    nu : float
        Weight of the penalty.
    penalty : {"l1", "l2"}
        |W|_1 with W >= 0, or |W|^2 / 2 with W of either sign, which is W >= 0 for each learner and its opposite.
    tolerances : Tolerances
    """

    nu: float
    penalty: str = "l1"
    tolerances: Tolerances = PAPER
    requires: frozenset[str] = frozenset({PAIRS, SIGNS, CORRECTIVE_ROWS})
    gain: int | None = LARGEST_EDGE_GAIN
    columns: int = 1

    def solve(self, problem: StepProblem) -> Step:
        """Minimise over the vectors of all learners; the present response is that of the last one."""
        rows, objective = problem.rows, Objective.of(problem, self.nu)
        assert are_corrective(rows)  # as `requires` says
        loss: PairRowLoss = problem.loss  # type: ignore[assignment]  # as `requires` says
        start, l2 = rows.start_vectors(), self.penalty == "l2"

        def function(flat: FloatArray) -> tuple[float, FloatArray]:
            value, slope = rows.total_slopes(loss, on_grid(flat.reshape(start.shape)))
            return objective.at(value, slope.ravel(), _norm(flat, l2) - before, flat if l2 else 1.0)

        before = _norm(start.ravel(), l2)
        found = _minimise(function, start.ravel(), self.tolerances, -LARGEST_STEP if l2 else 0.0)[0]
        found = found.reshape(start.shape)
        vectors = on_grid(found if l2 else _lowered(found))
        value = objective.value(function(vectors.ravel())[0])
        return Step(vectors[-1:], value, vectors[:-1] - start[:-1])

    def certificate(self, point: Point, largest: Callable[[], float]) -> Bounds:
        """Over all learners; with squares over the vectors of the same."""
        return point.squared(self.nu) if self.penalty == "l2" else point.penalised(self.nu, largest())


def most_violated(edges: FloatArray) -> int:
    """The output of the largest edge; those that differ by less than a tie are equal, and the first one is selected."""
    return int(np.flatnonzero(edges >= edges.max() * (1.0 - TIE))[0])


def _loss_along(problem: StepProblem) -> Function:
    """The loss over the bag and its slope at scores + response * w, as a function of w."""
    rows = problem.rows
    assert are_pairs(rows)  # as the step requires
    if problem.loss.base != "exponential":
        rows.start_pairs()
        return rows.pair_slopes
    pairs = rows.pair_sums()
    swapped = np.ascontiguousarray(pairs.T)

    def exponential(w: FloatArray) -> tuple[float, FloatArray]:
        grown = np.exp(w)
        up, down = (pairs @ grown) / grown, (swapped @ (1.0 / grown)) * grown
        return float(up.sum()), down - up

    return exponential


def _norm(flat: FloatArray, l2: bool) -> float:
    """|w|^2 / 2, or |w|_1 of w >= 0."""
    return float(0.5 * np.square(flat).sum() if l2 else flat.sum())


def _lowered(vectors: FloatArray) -> FloatArray:
    """Each vector with a least entry of 0: the scores differ by a constant, the penalty is lower."""
    return np.asarray(vectors - vectors.min(axis=-1, keepdims=True))


def _minimise(
    function: Function, start: FloatArray, tolerances: Tolerances, least: float = 0.0
) -> tuple[FloatArray, FloatArray, int]:
    """The minimiser in [least, 18] of a function that gives its value and slope, its slope there, and iterations."""
    # `minimize` would turn the bounds to and fro, variable by variable, for every fit of all W
    found, _, told = fmin_l_bfgs_b(
        function,
        start,
        bounds=[(least, LARGEST_STEP)] * len(start),
        maxiter=tolerances.iterations,
        pgtol=tolerances.gradient,
        factr=tolerances.change / np.finfo(np.float64).eps,
    )
    return np.asarray(found, dtype=np.float64), np.asarray(told["grad"]), int(told["nit"])
