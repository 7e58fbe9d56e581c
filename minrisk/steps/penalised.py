"""Vectors with a penalty, or under a bound on their sum, and what their objectives are at least.

Losses of pairwise margins: Paisitkriangkrai et al., 2013, Eq. (5), (7), (13), (14) and (17). The bounded problem, min
over W >= 0 with |W|_1 <= gamma, is solved by spectral projected gradients (E. Birgin, J. Martinez and M. Raydan,
"Nonmonotone spectral projected gradient methods on convex sets", SIAM J. Optim. 2000, SPG2). GradBoost's penalty, nu
sum_t |w_t| of lengths or of largest entries: J. Duchi and Y. Singer, "Boosting with structural sparsity", ICML 2009.

Bounds follow from one point W. Let P(W) = L(W) + penalty, where L is the logarithm of the mean loss, or the mean
loss over what a mistake costs on average. L is convex in the scores. With E = -dL/dW at W, over whatever learners,

    L(V) >= L(W) + <E, W> - <E, V>    for all V.

Where an edge is above nu, E is no point of the dual. A share s of the rows' weights is one, and what is left of them
goes to the terms r = y, or to none: as the dual is concave, with the least value that L could have,

    P(V) >= s (L(W) + <E, W>) + (1 - s) least,    s = min(1, nu / max E).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np

from minrisk._kernels._dtypes import TIE
from minrisk._kernels.functions import exp, expm1, log
from minrisk._kernels.split import LARGEST_EDGE_GAIN
from minrisk._typing import FloatArray
from minrisk._utils.algebra import product
from minrisk._utils.minimising import Function, Minimum, minimise
from minrisk.losses.base import PAIRS, SIGNS, SOFTMAX_GRADIENT
from minrisk.model.coded_trees import on_grid
from minrisk.rows.pairs import CorrectiveRows, PairRows
from minrisk.steps.base import LARGEST_STEP, Step, StepProblem, StepSolver


# -- bounds of objectives ----------------------------------------------------------------------------------------------
class Bounds(NamedTuple):
    """Hold what an objective is at least, `value`, and what it is at W, `bound`."""

    value: float
    bound: float


class Point(NamedTuple):
    """W, and what is known of L there."""

    loss: float  # L
    least: float  # that L could be
    vectors: FloatArray  # W (T, D)
    edges: FloatArray  # E (T, D)
    rate: float  # by which edges of the rows are multiplied to be of L

    @classmethod
    def of(cls, problem: StepProblem, vectors: FloatArray, edges: FloatArray) -> Point:
        """Make it from the step's problem at W, and the edges of the learners that W is of, as the rows tell them."""
        constant, unit, _, _, weight = problem.rows.facts(problem.loss)
        rate = exp(problem.log_scale) * unit / weight
        mean = constant + problem.value * rate
        if problem.loss.base == "exponential":
            return cls(log(mean), log(constant), vectors, rate / mean * edges, rate / mean)
        price = constant / log(2.0)  # of a mistake, on average: the constant is of phi(0) = log 2
        return cls(mean / price, log(2.0), vectors, rate / price * edges, rate / price)

    @property
    def along(self) -> float:
        """Return <E, W>."""
        return float(np.sum(self.edges * self.vectors))

    @property
    def norm(self) -> float:
        """Return |W|_1 of W >= 0."""
        return float(self.vectors.sum())

    def penalised(self, nu: float, largest: float) -> Bounds:
        """Bound P = L + nu |W|_1 over all learners, the largest of whose edges is known."""
        share = min(1.0, nu / largest) if largest > 0.0 else 1.0
        value = share * (self.loss + self.along) + (1.0 - share) * self.least
        return _ordered(value, self.loss + nu * self.norm)

    def limited(self, nu: float, largest: float, most: float) -> Bounds:
        """Bound P = L + nu |W|_1 over all W >= 0 with |W|_1 <= most, where E counts as it is."""
        value = self.loss + self.along - most * max(0.0, largest - nu)
        return _ordered(max(value, self.least), self.loss + nu * self.norm)

    def squared(self, nu: float) -> Bounds:
        """Bound P = L + nu |W|^2 / 2, over the vectors of these learners: strongly convex, so that the slope tells."""
        bound = self.loss + 0.5 * nu * float(np.square(self.vectors).sum())
        slack = float(np.square(nu * self.vectors - self.edges).sum())
        return _ordered(max(bound - slack / (2.0 * nu), self.least) if nu > 0.0 else self.least, bound)


@runtime_checkable
class CertifyingStep(Protocol):
    """A step that knows what its objective is at least."""

    def certificate(self, point: Point, largest: Callable[[], float]) -> Bounds:
        """Bound the objective by what is known at W; `largest` searches the largest edge of all learners."""


def _ordered(value: float, bound: float) -> Bounds:
    """Return both, which are equal at the optimum but for rounding."""
    return Bounds(min(value, bound), bound)


# -- pairwise losses ---------------------------------------------------------------------------------------------------


class Tolerances(NamedTuple):
    """Say when projected L-BFGS stops (Sec. IV-B).

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
        """Return the objective of a step; sums are times e^-log_scale."""
        rows = cast(PairRows, problem.rows)
        own, start = rows.own_total(problem.loss) * exp(min(-problem.log_scale, 600.0)), problem.value
        if problem.loss.base != "exponential":
            return cls(start, 0.0, nu * own / log(2.0) / start)  # own is of phi(0) = log 2
        share = start / (own + start)
        return cls(start, share, nu / share)

    def at(
        self, value: float, slope: FloatArray, growth: float, rise: float | FloatArray = 1.0
    ) -> tuple[float, FloatArray]:
        """Return the objective and its slope from those of the loss, and the growth and the rise of |w|_1."""
        fall, penalty = value / self.start - 1.0, self.nu * growth
        if self.share == 0.0:
            return fall + penalty, slope / self.start + self.nu * rise
        inside = max(1.0 + self.share * fall, 1e-300)
        return log(inside) / self.share + penalty, slope / (self.start * inside) + self.nu * rise

    def value(self, objective: float) -> float:
        """Return the loss that without a penalty would be as good."""
        if self.share == 0.0:
            return self.start * (1.0 + objective)
        return self.start * (1.0 + expm1(self.share * objective) / self.share)

    def satisfied(self, edge: float, tolerance: float) -> bool:
        """Apply the stopping rule of Algorithm 1, edge <= nu + epsilon; epsilon as a share of the loss."""
        return edge / self.start <= self.nu + tolerance


@dataclass(frozen=True)
class PairwiseStep(StepSolver):
    """eta w*, cut at kappa, w* = argmin over w of Eq. (13) or (14), by projected L-BFGS.

    Of the exponential loss the rows give D x D sums once, on which all iterations run. No entry of w* exceeds 18.
    Vectors are multiples of 2^-32, so that sums of them are exact.
    """

    nu: float  # weight of |w|_1
    shrinkage: float = 1.0  # eta (Sec. III-B)
    cap: float = LARGEST_STEP  # kappa (Sec. III-B)
    tolerances: Tolerances = PAPER
    penalty: str = "l1"  # {"l1", "l2"}: as of `CorrectiveStep`, of this vector
    requires = frozenset({PAIRS, SIGNS, PairRows})
    gain = LARGEST_EDGE_GAIN
    columns = 1

    def solve(self, problem: StepProblem) -> Step:
        objective, l2 = Objective.of(problem, self.nu), self.penalty == "l2"
        loss_at = _loss_along(problem)

        def function(w: FloatArray) -> tuple[float, FloatArray]:
            return objective.at(*loss_at(w), _norm(w, l2), w if l2 else 1.0)

        n = len(problem.hessian)
        w = _minimise(function, np.zeros(n), self.tolerances, -LARGEST_STEP).point if l2 else self._lowest(function, n)
        w = on_grid(np.clip(self.shrinkage * w, -self.cap, self.cap))
        return Step(w[None], objective.value(function(w)[0]))

    def _lowest(self, function: Function, n_outputs: int) -> FloatArray:
        """Find w*, whose least entry is 0.

        Projected L-BFGS may pass that entry by and then creep, until its objective seems to stand still. It starts
        again from there, the vector lowered, as long as it has iterations left.
        """
        w, tolerances = np.zeros(n_outputs), self.tolerances
        while tolerances.iterations > 0:
            found, _, slope, n_made = _minimise(function, w, tolerances)
            w = _lowered(found)
            lacking = float(np.where(w > 0.0, np.abs(slope), -slope).max())
            if found.min() == 0.0 or lacking <= tolerances.gradient:
                break
            tolerances = tolerances._replace(iterations=tolerances.iterations - n_made)
        return w

    def certificate(self, point: Point, largest: Callable[[], float]) -> Bounds:
        """Bound it over vectors of the same learners: with "l1" those whose sum is no larger, Eq. (17)."""
        if self.penalty == "l2":
            return point.squared(self.nu)
        return point.limited(self.nu, float(point.edges.max(initial=0.0)), point.norm)


@dataclass(frozen=True)
class SelectedStep(StepSolver):
    """`size` on the class of the most violated constraint, Eq. (10), and 0 elsewhere (Sec. III-B: 0.01).

    Small steps of this kind follow the solutions under a bound on |W|_1, Eq. (17).
    """

    nu: float
    size: float
    penalty: ClassVar[str] = "l1"
    requires = frozenset({PAIRS, SIGNS, PairRows})
    gain = LARGEST_EDGE_GAIN
    columns = 1

    def solve(self, problem: StepProblem) -> Step:
        """Take a step of fixed size."""
        objective, w = Objective.of(problem, self.nu), np.zeros(len(problem.hessian))
        with np.errstate(over="ignore", invalid="ignore"):  # a step too long lowers nothing
            w[most_violated(problem.rows.edges())] = on_grid(np.array(self.size))
            return Step(w[None], objective.value(objective.at(*_loss_along(problem)(w), self.size)[0]))

    certificate = PairwiseStep.certificate


@dataclass(frozen=True)
class CorrectiveStep(StepSolver):
    """All of W again, Eq. (5) or (7) over the learners so far, by projected L-BFGS from the last W.

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
    requires = frozenset({PAIRS, SIGNS, CorrectiveRows})
    gain = LARGEST_EDGE_GAIN
    columns = 1

    def solve(self, problem: StepProblem) -> Step:
        """Minimise over the vectors of all learners; the present response is that of the last one."""
        rows, objective = cast(CorrectiveRows, problem.rows), Objective.of(problem, self.nu)  # as required
        start, l2 = rows.start_vectors(), self.penalty == "l2"

        def function(flat: FloatArray) -> tuple[float, FloatArray]:
            value, slope = rows.total_slopes(problem.loss, on_grid(flat.reshape(start.shape)))
            return objective.at(value, slope.ravel(), _norm(flat, l2) - before, flat if l2 else 1.0)

        before = _norm(start.ravel(), l2)
        found = _minimise(function, start.ravel(), self.tolerances, -LARGEST_STEP if l2 else 0.0).point
        found = found.reshape(start.shape)
        vectors = on_grid(found if l2 else _lowered(found))
        value = objective.value(function(vectors.ravel())[0])
        return Step(vectors[-1:], value, vectors[:-1] - start[:-1])

    def certificate(self, point: Point, largest: Callable[[], float]) -> Bounds:
        """Bound it over all learners; with squares over the vectors of the same."""
        return point.squared(self.nu) if self.penalty == "l2" else point.penalised(self.nu, largest())


def most_violated(edges: FloatArray) -> int:
    """Return the first output of the largest edge; those that differ by less than a tie are equal."""
    return int(np.flatnonzero(edges >= edges.max() * (1.0 - TIE))[0])


def _loss_along(problem: StepProblem) -> Function:
    """Return the loss over the bag and its slope at scores + response * w, as a function of w."""
    rows = cast(PairRows, problem.rows)  # as the step requires
    if problem.loss.base != "exponential":
        rows.start_pairs()
        return rows.pair_slopes
    pairs = rows.pair_sums()

    def exponential(w: FloatArray) -> tuple[float, FloatArray]:
        grown = exp(w)
        up, down = product(pairs, grown) / grown, product(1.0 / grown, pairs) * grown
        return float(up.sum()), down - up

    return exponential


def _norm(flat: FloatArray, l2: bool) -> float:
    """Return |w|^2 / 2, or |w|_1 of w >= 0."""
    return float(0.5 * np.square(flat).sum() if l2 else flat.sum())


def _lowered(vectors: FloatArray) -> FloatArray:
    """Shift each vector to a least entry of 0: the scores differ by a constant, the penalty is lower."""
    return np.asarray(vectors - vectors.min(axis=-1, keepdims=True))


def _minimise(function: Function, start: FloatArray, tolerances: Tolerances, least: float = 0.0) -> Minimum:
    """Minimise a function that gives value and slope over [least, 18]."""
    return minimise(
        function,
        start,
        least,
        LARGEST_STEP,
        iterations=tolerances.iterations,
        gradient=tolerances.gradient,
        change=tolerances.change,
    )


# -- under a bound -----------------------------------------------------------------------------------------------------
PROJECTED_STEPS = 20  # for each iteration that projected L-BFGS would have: they are that much shorter
MEMORY = 10  # values that the next one has to be below the largest of (the authors')
SUFFICIENT = 1e-4  # share of the fall that the slope promises (the authors')
SPECTRAL_STEP = 1e-10, 1e10  # smallest and largest (the authors': 1e-30, 1e30; ours is in units of the loss)
SHORTEST = 1e-12  # share of a direction: a line search that comes to it has met rounding


@dataclass(frozen=True)
class ConstrainedStep(StepSolver):
    """All of W again, Eq. (17) over the learners so far, from the last W.

    Rounds end where no learner can lower the loss by more than `tolerance` of what can still be lost: by convexity the
    loss is above the least possible one, over all learners that the search knows, by at most

        gamma max_jk E_jk - sum_jk W_jk E_jk,    E_jk = -dL/dW_jk, which for the new learner is the most violated one.

    Parameters
    ----------
    bound : float
        gamma.
    tolerance : float
    tolerances : Tolerances
        Those of projected L-BFGS, of which the gradient's and the number of iterations (20 times as many) hold.
    """

    bound: float
    tolerance: float
    tolerances: Tolerances = PAPER
    requires = frozenset({PAIRS, SIGNS, CorrectiveRows})
    gain = LARGEST_EDGE_GAIN
    columns = 1

    def solve(self, problem: StepProblem) -> Step:
        """Minimise over the vectors of all learners; the present response is that of the last one."""
        rows, objective = cast(CorrectiveRows, problem.rows), Objective.of(problem, 0.0)  # as required
        start = rows.start_vectors()

        def function(flat: FloatArray) -> tuple[float, FloatArray]:
            value, slope = rows.total_slopes(problem.loss, on_grid(flat.reshape(start.shape)))
            told, slope = objective.at(value, slope.ravel(), 0.0, 0.0)
            return told, slope

        flat = start.ravel()
        slope = function(flat)[1]
        if self.bound * max(0.0, float(-slope.min())) + float(np.sum(flat * slope)) <= self.tolerance:
            return Step(start[-1:], problem.value)
        most = PROJECTED_STEPS * self.tolerances.iterations
        found = projected_descent(function, flat, self.bound, most, self.tolerances.gradient)
        vectors = on_grid(found.reshape(start.shape))
        value = objective.value(function(vectors.ravel())[0])
        return Step(vectors[-1:], value, vectors[:-1] - start[:-1])

    def certificate(self, point: Point, largest: Callable[[], float]) -> Bounds:
        """Bound it over all learners."""
        return point.limited(0.0, largest(), self.bound)


def onto_bound(flat: FloatArray, bound: float) -> FloatArray:
    """Return the nearest point with entries >= 0 whose sum is at most `bound`."""
    inside = np.maximum(flat, 0.0)
    if float(np.sum(inside)) <= bound:
        return inside
    falling = np.sort(flat)[::-1]
    excess = (np.cumsum(falling) - bound) / np.arange(1, len(flat) + 1)
    return np.asarray(np.maximum(flat - excess[np.flatnonzero(falling > excess)[-1]], 0.0))


def projected_descent(function: Function, start: FloatArray, bound: float, most: int, tolerance: float) -> FloatArray:
    """Return the minimiser of a convex function with its slope over entries >= 0 of a sum of at most `bound`."""
    x = onto_bound(start, bound)
    value, slope = function(x)
    best, least = x, value
    before, step = deque([value], maxlen=MEMORY), 1.0
    for _ in range(most):
        if float(np.abs(onto_bound(x - slope, bound) - x).max()) <= tolerance:
            break
        direction = onto_bound(x - step * slope, bound) - x
        promised, share = float(np.sum(slope * direction)), 1.0
        # A nonmonotone search: the value need only be below the largest of the last ones (SPG2).
        while True:
            following = x + share * direction
            new, new_slope = function(following)
            if new <= max(before) + SUFFICIENT * share * promised or share < SHORTEST:
                break
            guess = -0.5 * share * share * promised / (new - value - share * promised)
            share = min(max(guess, 0.1 * share), 0.5 * share)
        if share < SHORTEST:
            break
        # The next step is the spectral one: the inverse of the curvature along this change.
        change, turn = following - x, new_slope - slope
        bend = float(np.sum(change * turn))
        length = float(np.sum(change * change)) / bend if bend > 0.0 else SPECTRAL_STEP[1]
        step = min(max(length, SPECTRAL_STEP[0]), SPECTRAL_STEP[1])
        x, value, slope = following, new, new_slope
        before.append(value)
        if value < least:
            best, least = x, value
    return best


# -- penalties on norms ------------------------------------------------------------------------------------------------
ORDERS = {"l2": 2.0, "linf": math.inf}  # of |w|, as NumPy counts norms,
DUAL_ORDERS = {"l2": 2.0, "linf": 1.0}  # and of slopes: while they are no longer than nu W, a vector of 0 stays 0
LARGEST_CURVATURE = 0.5  # of the log-loss of weight 1 along any direction of unit length: diag(p) - p p' has no more


@dataclass(frozen=True)
class MixedNormStep(StepSolver):
    """One vector forward, then all that are not 0 together, each by the minimum of an upper bound.

    Along responses of -1 and +1 the loss of all rows of weight W is at most L(w) + <g, d> + W / 4 |d|^2, and T vectors
    that move at once have T times the curvature. With u = w - g / c, c = W / 2 or T W / 2, and the penalty, the bound
    is least at

        w + d = (1 - nu W / (c |u|))_+ u            of lengths,
        w + d = u, its entries cut to [-h, h]       of largest entries, if what is cut off sums to nu W / c,

    which is u less its projection on the ball of that radius of the dual norm; h is 0 where u sums to less.

    A learner that answers as an earlier one does is that one: its vector moves, and the new one stays 0. Vectors are
    multiples of 2^-32, so that sums of them are exact.
    """

    nu: float  # weight of the penalty, per weight of the rows
    norm: str  # {"l2", "linf"}: of a vector in the penalty: its length or its largest entry
    requires = frozenset({SOFTMAX_GRADIENT, SIGNS, CorrectiveRows})
    columns = 1

    def solve(self, problem: StepProblem) -> Step:
        """Return three looks at all rows: before, after the step forward, and after the one backward."""
        rows, loss = cast(CorrectiveRows, problem.rows), problem.loss  # as required
        curvature, price = scaled_weight(problem) * LARGEST_CURVATURE, self.nu * scaled_weight(problem)
        start = rows.start_vectors()
        slope = rows.total_slopes(loss, start)[1]
        moved, j = start.copy(), same_learner(slope)
        # Forward: the vector of the new learner, or of the earlier one that answers alike.
        moved[j] = self.shrunk(start[j : j + 1], slope[j : j + 1], curvature, price)[0]
        alive = np.flatnonzero(moved.any(axis=1))
        # Backward: all vectors that are not 0 at once, which have that many times the curvature.
        if len(alive):
            slope = rows.total_slopes(loss, moved)[1]
            moved[alive] = self.shrunk(moved[alive], slope[alive], len(alive) * curvature, price)
        value = rows.total_slopes(loss, moved)[0]
        before, after = (np.linalg.norm(v, ORDERS[self.norm], axis=1).sum() for v in (start, moved))
        return Step(moved[-1:], value + price * float(after - before), moved[:-1] - start[:-1])

    def shrunk(self, vectors: FloatArray, slope: FloatArray, curvature: float, price: float) -> FloatArray:
        """Return where the bound with the penalty is least, of each vector on its own; on the grid."""
        u, radius = vectors - slope / curvature, price / curvature
        if self.norm == "linf":
            largest_first = -np.sort(-np.abs(u), axis=1)
            over = np.cumsum(largest_first, axis=1) - radius
            height = np.maximum(0.0, (over / np.arange(1, over.shape[1] + 1)).max(axis=1, keepdims=True))
            return on_grid(np.clip(u, -height, height))
        length = np.linalg.norm(u, axis=1, keepdims=True)
        kept = np.divide(length - radius, length, out=np.zeros_like(length), where=length > 0.0)
        return on_grid(np.maximum(kept, 0.0) * u)


def scaled_weight(problem: StepProblem) -> float:
    """Return the weight of all rows in the units of the problem's sums."""
    return problem.rows.facts(problem.loss).weight * exp(-problem.log_scale)


def same_learner(slope: FloatArray) -> int:
    """Return the first learner with the slopes of the last, or their opposites: it answers alike, as sums are exact."""
    alike = np.all(slope == slope[-1], axis=1) | np.all(slope == -slope[-1], axis=1)
    return int(np.argmax(alike))
