"""L_s and L_t, classification calibrated and yet not averse to guessing; and the check of that property.

Beijbom, Saberian, Kriegman and Vasconcelos, "Guess-Averse Loss Functions For Cost-Sensitive Multiclass Boosting",
ICML 2014, Eq. (12), (14) and Definition 3. Their text swaps the two numbers in Sec. 4 and 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from minrisk._kernels import along as lines
from minrisk._kernels import grouped
from minrisk._kernels import guessing as kernels
from minrisk._typing import Bag, FloatArray, IntArray
from minrisk.losses.base import NamedDifferences
from minrisk.model.links import Link
from minrisk.rows.base import DirectedRowLoss, Groups, RowCosts

DRAWS = 400  # scores per class, radius and way of drawing
RADII = (0.01, 0.1, 1.0, 3.0, 10.0, 30.0)


@dataclass(frozen=True, eq=False)
class GuessingLoss(NamedDifferences):
    """L_s = sum_k c_k e^(S_k), for scores that sum to 0, or L_t = sum_j sum_k c_j e^(S_j - S_k).

    The sums leave out the cost of the right decision, c_y, which the paper has 0.

    Parameters
    ----------
    kind : {"ls", "lt"}
    """

    KINDS: ClassVar[tuple[str, ...]] = ("ls", "lt")

    kind: str

    def link(self, costs: RowCosts) -> Link | None:
        """None: the minimisers estimate expected costs, not probabilities."""
        return None

    def gradients(
        self, costs: RowCosts, scores: FloatArray, log_scale: float, start: int, stop: int, edge: FloatArray,
        mass: FloatArray,
    ) -> FloatArray:
        """Edge, and mass = the diagonal of the Hessian, of rows start..stop; returns column maxima (3, D)."""
        run = kernels.sum_gradients if self.kind == "ls" else kernels.pair_gradients
        top: FloatArray = run(
            costs.table, costs.row, costs.label, costs.weight, scores, log_scale, start, stop, edge, mass
        )
        return top

    def value_sums(
        self, costs: RowCosts, scores: FloatArray, log_scale: float, edge: FloatArray, in_bag: Bag, factor: FloatArray,
        start: int, stop: int,
    ) -> IntArray:
        """Value of the bag's rows by true class, times e^-log_scale, in fixed point (D,)."""
        if self.kind == "ls":
            sums: IntArray = kernels.sum_values(costs.label, edge, in_bag, factor, start, stop)
        else:
            sums = kernels.pair_values(
                costs.table, costs.row, costs.label, costs.weight, scores, log_scale, in_bag, factor, start, stop
            )
        return sums

    def along(
        self, costs: RowCosts, scores: FloatArray, factor: FloatArray, move: FloatArray, step: float, log_scale: float,
        start: int, stop: int, line: FloatArray,
    ) -> FloatArray:
        """Value, slope and curvature of each row at scores + step * factor * move; see `minrisk._kernels.along`."""
        run = lines.sum_along if self.kind == "ls" else lines.pair_along
        top: FloatArray = run(
            costs.table, costs.row, costs.label, costs.weight, scores, factor, move, step, log_scale, start, stop, line
        )
        return top

    @property
    def relative(self) -> bool:
        """No."""
        return False

    def n_terms(self, n_values: int) -> int:
        """L_s has one for each value, L_t two."""
        return n_values if self.kind == "ls" else 2 * n_values

    def gather(
        self, costs: RowCosts, scores: FloatArray, log_scale: float, edge: FloatArray, mass: FloatArray,
        groups: Groups, start: int, stop: int,
    ) -> None:
        """Sums of the terms by value; see `minrisk._kernels.grouped`."""
        if self.kind == "ls":
            grouped.gather_sums(mass, costs.label, groups.number, start, stop, groups.terms)
        else:
            kernels.gather_pairs(
                costs.table, costs.row, costs.label, costs.weight, scores, log_scale, groups.number,
                len(groups.values), start, stop, groups.terms,
            )

    def along_groups(
        self, costs: RowCosts, log_scale: float, groups: Groups, factor: FloatArray, step: float, start: int,
        stop: int, line: FloatArray,
    ) -> FloatArray:
        """Value, slope and curvature of each row; see `minrisk._kernels.grouped`."""
        top: FloatArray
        if self.kind == "ls":
            top = grouped.sums_along(
                groups.terms, costs.label, groups.number, groups.values, 0, factor, step, start, stop, line
            )
        else:
            top = grouped.pairs_along(groups.terms, groups.values, factor, step, start, stop, line)
        return top


def row_values(loss: DirectedRowLoss, cost: FloatArray, y: IntArray, scores: FloatArray) -> FloatArray:
    """The loss L(C, y, S) of each row of scores (n, D)."""
    n = len(scores)
    index = np.asarray(y, dtype=np.int32)
    costs = RowCosts(np.ascontiguousarray(cost, dtype=np.float64), index, np.ones(n), index)
    line, nowhere = np.empty((3, n)), np.zeros((1, scores.shape[1]))
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    loss.along(costs.read_only(), scores, np.zeros(n), nowhere, 0.0, 0.0, 0, n, line)
    values: FloatArray = line[0]
    return values


def is_guess_averse(loss: DirectedRowLoss, cost: FloatArray, seed: int = 0) -> bool:
    """Whether L(C, z, S) < L(C, z, A) for all scores S that decide for z and all equal scores A (Definition 3).

    Tried numerically, for this cost matrix, so that True means "no counter-example found": scores of sum 0 are drawn
    for every class z at radii from 0.01 to 30, normally distributed ones and ones with two levels below z's (one just
    below, the other far: [3, 2, -5] of Eq. (13) is of this kind).

    Parameters
    ----------
    loss : a loss with `along`
        `GuessAverseLoss`, `GuessingLoss` or `GammaPhiLoss`.
    cost : ndarray of shape (K, K)
    seed : int

    Examples
    --------
    >>> import numpy as np
    >>> from minrisk.losses.guess_averse import GuessAverseLoss
    >>> cost = 1 - np.eye(3)
    >>> is_guess_averse(GuessAverseLoss("gll"), cost), is_guess_averse(GuessingLoss("ls"), cost)
    (True, False)
    """
    cost = np.asarray(cost, dtype=np.float64)
    K, rng = len(cost), np.random.default_rng(seed)
    for z in range(K):
        unit = np.concatenate([rng.normal(size=(DRAWS, K)), _two_levels(rng, K)])
        unit[:, z], unit[np.arange(len(unit)), unit.argmax(axis=1)] = unit.max(axis=1), unit[:, z]
        decided = unit[unit[:, z] > np.delete(unit, z, axis=1).max(axis=1)]
        decided -= decided.mean(axis=1, keepdims=True)  # L_s is defined for these; the others see differences only
        label = np.full(len(decided), z)
        guess = row_values(loss, cost, label[:1], np.zeros((1, K)))[0]
        for radius in RADII:
            if np.any(row_values(loss, cost, label, radius * decided) >= guess):
                return False
    return True


def _two_levels(rng: np.random.Generator, K: int) -> FloatArray:
    """Scores with the largest at 1, some just below it and the others far below."""
    near = rng.random((DRAWS, K)) < 0.5
    scores = np.where(near, 1.0 - rng.uniform(0.01, 0.5, (DRAWS, 1)), -rng.uniform(0.0, 3.0, (DRAWS, 1)))
    scores[:, 0] = 1.0
    return np.asarray(scores)
