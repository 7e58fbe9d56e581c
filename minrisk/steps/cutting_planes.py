"""All vectors again for a piecewise linear loss with a penalty, by its cutting planes: the steps of StructBoost.

    F(W) = nu |W|_1 + R(W) over W >= 0,        R(W) >= b_p - <A_p, W> for every plane p.

C. Shen, G. Lin and A. van den Hengel, "StructBoost", IEEE PAMI 2014, in the 1-slack form of T. Joachims, T. Finley and
C.-N. Yu, "Cutting-plane training of structural SVMs", Machine Learning 2009: a plane is a sum over all rows.

Planes alone are a linear program, whose solutions leap from one corner to another: on vowel it takes hundreds of planes
to every learner. So planes are sought around the best point so far by a proximal bundle method (K. Kiwiel, "Proximity
control in bundle methods for convex nondifferentiable minimization", Math. Programming 1990): the next one is where

    nu |W|_1 + max_p (b_p - <A_p, W>) + u / 2 |W - best|^2

is least. The problem that is solved stays the same, and so do its dual variables: shares s >= 0 of the planes whose sum
is 1. Whatever they are, by weak duality

    least F over learners whose edges are at most E  >=  <b, s> / max(1, E / nu),        edges: sum_p s_p A_p.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from minrisk._kernels.split import LARGEST_EDGE_GAIN
from minrisk._typing import FloatArray
from minrisk._utils.algebra import product, solve
from minrisk.losses.base import PLANES, SIGNS
from minrisk.model.coded_trees import on_grid
from minrisk.rows.pairs import PlaneRows
from minrisk.steps.base import Step, StepProblem, StepSolver

LARGEST_PROXIMITY = 0.03  # u at first, over the scale, a row's largest cost on average; a larger one tells little of F
SMALLEST_PROXIMITY = 1e-3  # relative to the first
TIGHTER, LOOSER = 1.5, 0.5  # what u is multiplied by after steps too long and after good ones
SERIOUS = 0.1  # share of the promised fall that makes a point the best one,
GOOD = 0.5  # and the next steps longer
EXACT_ENOUGH = 0.1  # share of the promised fall by which a nearest point may miss the least value
LITTLE_LEFT = 1e-3  # share of the tolerance: where no more is promised no plane is sought
SHARE_STEPS = 200  # of one search for a nearest point, at most
CURVATURE_FLOOR = 1e-10  # share of the mean curvature that is added to all, so that planes may be alike


class Plane(NamedTuple):
    """R and what touches it at a point: R(W) >= offset - <edges, W>."""

    value: float
    edges: FloatArray  # (T * D,): minus the slope
    offset: float


class Bundle:
    """Planes of R, their shares, and the best point so far.

    Parameters
    ----------
    point : ndarray of shape (T, D)
    plane : Plane
        At the point.
    nu : float
    scale : float
        About how long a move of an entry changes R in earnest, and what R is at 0.
    """

    def __init__(self, point: FloatArray, plane: Plane, nu: float, scale: float) -> None:
        self.nu, self.best = nu, point.ravel()
        self.value = self.first_value = nu * float(self.best.sum()) + plane.value
        self.edges = np.stack([np.zeros_like(plane.edges), plane.edges])  # R >= 0 is the first plane
        self.offsets, self.shares = np.array([0.0, plane.offset]), np.array([0.0, 1.0])
        self.first_u = self.u = LARGEST_PROXIMITY / scale

    @property
    def largest_edge(self) -> float:
        """Return that of these learners, in the dual."""
        return float(product(self.shares, self.edges).max(initial=0.0))

    def bound(self, edge: float = 0.0) -> float:
        """Return what F is at least, over these learners and all others whose edges are no larger."""
        largest = max(self.largest_edge, edge)
        return float(np.sum(self.shares * self.offsets)) / max(1.0, largest / self.nu if self.nu > 0 else np.inf)

    def gap(self, value: float, edge: float = 0.0) -> float:
        """Return share by which this value of F may be above the least one over learners with such edges."""
        return max(0.0, 1.0 - self.bound(edge) / value) if value > 0.0 else 0.0

    def widened(self, edges: FloatArray) -> None:
        """Add a learner, with a vector of 0 and these edges (P, D) in the planes but the first."""
        new = np.concatenate([np.zeros((1, edges.shape[1])), edges])
        self.edges = np.concatenate([self.edges, new], axis=1)
        self.best = np.concatenate([self.best, np.zeros(edges.shape[1])])

    def improve(self, cut: Callable[[FloatArray], Plane], cuts: int, tolerance: float) -> bool:
        """Seek so many planes at most, and the shares of all; `cut` gives the plane at a point.

        Returns whether no more is to be had.
        """
        for number in range(cuts + 1):
            point = on_grid(self._nearest())  # vectors of a model lie on it: the plane is of a point that it can have
            penalty = self.nu * float(point.sum())
            promised = self.value - penalty - float((self.offsets - product(self.edges, point)).max())
            done = promised <= LITTLE_LEFT * tolerance * self.value or self.gap(self.value) <= tolerance
            if done or number == cuts:
                return done
            plane = cut(point)
            self.edges, self.offsets = np.vstack([self.edges, plane.edges]), np.append(self.offsets, plane.offset)
            self.shares = np.append(self.shares, 0.0)
            value = penalty + plane.value
            # A serious step moves the best point; a null step only adds its plane.
            if value <= self.value - SERIOUS * promised:
                factor = LOOSER if value <= self.value - GOOD * promised else 1.0
                self.best, self.value = point, value
            else:
                at_best = self.nu * float(self.best.sum()) + plane.offset - float(np.sum(plane.edges * self.best))
                factor = TIGHTER if self.value - at_best > promised else 1.0  # the plane says nothing of the best
            self.u = min(max(self.u * factor, SMALLEST_PROXIMITY * self.first_u), self.first_u)
        return False

    def _at(self, shares: FloatArray) -> tuple[FloatArray, float]:
        """Return the point that shares lead to, and the dual's value: what the proximal problem is at least."""
        point = np.maximum(self.best + (product(shares, self.edges) - self.nu) / self.u, 0.0)
        move = point - self.best
        lack = self.offsets - product(self.edges, point)
        return point, float(self.nu * point.sum() + 0.5 * self.u * np.sum(move**2) + np.sum(shares * lack))

    def _nearest(self) -> FloatArray:
        """Find the minimiser of the proximal problem, about; the shares become those that lead to it.

        Newton steps on the dual, which is concave and of pieces that are quadratic, in the shares that are not 0 and
        that of the highest plane.
        """
        point, dual = self._at(self.shares)
        for _ in range(SHARE_STEPS):
            lack = self.offsets - product(self.edges, point)
            top, move = float(lack.max()), point - self.best
            primal = self.nu * float(point.sum()) + top + 0.5 * self.u * float(np.sum(move**2))
            gap = top - float(np.sum(self.shares * lack))
            if gap <= EXACT_ENOUGH * max(self.value - primal, 0.0) + np.finfo(np.float64).eps * self.value:
                break
            part, change = self._newton(lack, point > 0.0)
            falls = change < 0.0
            reach = self.shares[part][falls] / -change[falls]
            step = min(1.0, float(reach.min(initial=1.0)))
            # The first share that falls to 0 ends a Newton step, which is halved until the dual rises enough.
            gain, whole, ahead = float(np.sum((lack[part] - lack[part[-1]]) * change)), step, dual
            while True:
                shares = self.shares.copy()
                shares[part] += step * change
                if step == whole < 1.0:
                    shares[part[falls][reach.argmin()]] = 0.0
                shares = np.maximum(shares, 0.0)
                shares /= shares.sum()
                point, ahead = self._at(shares)
                if ahead >= dual + LITTLE_LEFT * step * gain or step < np.finfo(np.float64).eps * whole:
                    break
                step *= 0.5
            if not ahead > dual:  # but for rounding the dual is at its highest
                return self._at(self.shares)[0]
            self.shares, dual = shares, ahead
        return point

    def _newton(self, lack: FloatArray, free: np.ndarray) -> tuple[np.ndarray, FloatArray]:
        """Return which shares change, and how, where their sum stays and none that is 0 falls."""
        most = int(self.shares.argmax())  # its share makes up for the others': sums of changes are 0 without rounding
        part = np.flatnonzero((self.shares > 0.0) | (lack == lack.max()))
        part = part[part != most]
        while len(part):
            edges = self.edges[np.ix_(part, free)] - self.edges[most, free]
            curvature, ahead = product(edges, edges.T) / self.u, lack[part] - lack[most]
            floor = CURVATURE_FLOOR * (np.trace(curvature) / len(part) + float(np.abs(ahead).max()))
            curvature[np.diag_indices_from(curvature)] += max(floor, np.finfo(np.float64).tiny)
            change = solve(curvature, ahead)
            kept = (self.shares[part] > 0.0) | (change >= 0.0)
            if kept.all():
                return np.append(part, most), np.append(change, -change.sum())
            part = part[kept]
        return np.array([most]), np.zeros(1)


@dataclass(frozen=True)
class CuttingPlaneStep(StepSolver):
    """All of W again, the minimiser of F over the learners so far, from the last W.

    A round begins with no plane but that at the last W (`start`): what it finds depends on nothing else. `improve`
    seeks the shares that the next learner is chosen by, `solve` goes on with that learner.

    Parameters
    ----------
    nu : float
        Weight of |W|_1, per weight of the rows.
    cuts : int
        Planes that one call seeks, at most.
    tolerance : float
        They stop where F is above its least value over the learners so far by no more than half of this share.
    """

    nu: float
    cuts: int
    tolerance: float
    requires = frozenset({PLANES, SIGNS, PlaneRows})
    gain = LARGEST_EDGE_GAIN
    columns = 1

    def start(self, problem: StepProblem) -> Bundle | None:
        """Return the plane at the last W; None where no mistake costs anything."""
        rows, scale = _plane_rows(problem), problem.rows.cost_facts.dearest
        rows.forget_planes()
        start = rows.start_vectors()[:-1]
        return Bundle(start, _cut(problem, start), self.nu, scale) if scale > 0.0 else None

    def improve(self, problem: StepProblem, bundle: Bundle, n_learners: int) -> bool:
        """Seek planes of so many learners; returns whether no more is to be had."""
        shape = n_learners, problem.rows.n_outputs
        return bundle.improve(lambda point: _cut(problem, point.reshape(shape)), self.cuts, 0.5 * self.tolerance)

    def solve(self, problem: StepProblem) -> Step:
        """Minimise over the vectors of all learners; the present response is that of the last one."""
        rows, bundle = _plane_rows(problem), problem.bundle
        assert isinstance(bundle, Bundle)  # of `start`
        start = rows.start_vectors()
        before = self.nu * float(start.sum()) + problem.value / total_weight(problem)
        bundle.widened(rows.plane_edges() / total_weight(problem))
        self.improve(problem, bundle, len(start))
        vectors = bundle.best.reshape(start.shape)
        value = problem.value + (bundle.value - before) * total_weight(problem)
        return Step(vectors[-1:], value, vectors[:-1] - start[:-1])


def _plane_rows(problem: StepProblem) -> PlaneRows:
    return cast(PlaneRows, problem.rows)  # as required


def total_weight(problem: StepProblem) -> float:
    """Return the weight of all rows: R, and the dual's edges, are means over them."""
    return problem.rows.facts(problem.loss).weight


def _cut(problem: StepProblem, vectors: FloatArray) -> Plane:
    """Return the plane at these vectors, of the learners so far, with or without the response; the rows keep it."""
    rows = _plane_rows(problem)
    all_vectors = rows.start_vectors()
    all_vectors[:] = 0.0
    all_vectors[: len(vectors)] = vectors
    value, slope = rows.total_slopes(problem.loss, all_vectors)
    rows.keep_plane()
    edges, point = -slope[: len(vectors)].ravel() / total_weight(problem), vectors.ravel()
    value /= total_weight(problem)
    return Plane(value, edges, value + float(np.sum(edges * point)))
