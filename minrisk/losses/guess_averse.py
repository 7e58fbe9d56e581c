"""Losses that compare the scores of decisions: averse to guessing (GEL, GLL), and calibrated yet not averse (L_s, L_t).

Beijbom, Saberian, Kriegman and Vasconcelos, "Guess-Averse Loss Functions For Cost-Sensitive Multiclass Boosting",
ICML 2014. Softmax cross-entropy is the case of GLL with 0/1 costs.

=====================  ==================================  ===========================================
paper                  here                                where
=====================  ==================================  ===========================================
z, the true class      ``RowCosts.label``, y               `minrisk.rows.costs`
C_z, row of C          ``RowCosts.table[row]``             `minrisk.rows.costs`
S_k(x)                 ``scores``                          rows
GEL, Eq. (20)          ``GuessAverseLoss("gel")``          `minrisk._kernels.guess_averse`
GLL, Eq. (21)          ``GuessAverseLoss("gll")``          `minrisk._kernels.guess_averse`
L_s, L_t, Eq. (12),    ``GuessingLoss("ls")``, ``"lt"``    `minrisk._kernels.guess_averse`
(14)
w^r, Eq. (34), (35)    ``along`` at step 0                 `minrisk._kernels.guess_averse`
Definition 3           ``is_guess_averse``                 here
=====================  ==================================  ===========================================

Deviation: the sums run over k != z. The paper's include C_zz, which is 0 there; here a cost of the right decision is a
constant that no score can change, and does not enter. The paper's text swaps Eq. (12) and (14) in Sec. 4 and 5.

Losses of pairwise margins: the exponential and the logistic of every difference S_y - S_r, with costs.

Paisitkriangkrai, Shen and van den Hengel, "A scalable stage-wise approach to large-margin multi-class loss based
boosting", 2013, Eq. (2), (4) and (7).

=====================  ==================================  ===========================================
paper                  here                                where
=====================  ==================================  ===========================================
rho_ir, Eq. (2)        S_y - S_r of the ``scores``         rows
u_ir, Eq. (11), (12)   ``gradient`` but at y, negated      `minrisk._kernels.guess_averse`
sum_r with r = y       ``PairwiseLoss.constant``           here
=====================  ==================================  ===========================================

The costs are ours: the pair of y and r weighs C_yr. The paper's sums include r = y, of rho = 0, whose term matters to
the balance with nu only; it keeps the weight that a mistake has on average, which is the paper's 1 for 0/1 costs.

The structured hinge loss with the margin rescaled by costs: the upper bound of the risk that StructBoost lowers.

C. Shen, G. Lin and A. van den Hengel, "StructBoost: boosting methods for predicting structured output variables", IEEE
PAMI 2014 (arXiv 1302.3283), for decisions that are classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from minrisk._kernels import guess_averse as kernels
from minrisk._kernels import losses
from minrisk._kernels.functions import exp, log
from minrisk._typing import FloatArray, IntArray
from minrisk.losses.base import JOINT, PAIRS, PLANES, SOFTMAX_GRADIENT, Differences, Kernels, NamedDifferences, of_rows
from minrisk.model.links import Link
from minrisk.rows.costs import SAME_RISK, CostFacts, RowCosts
from minrisk.rows.row_losses import Course, Groups, LossColumns

FAR_APART = 1e4  # ratio of costs, above which the dear ones hide the others
SWEEPS, SETTLED = 1000, 1e-6  # of balancing, at most; a change that is none


class GroupedLoss(NamedDifferences):
    """Losses that are quick to look at along a direction with few different values, where rows keep sums of terms."""

    SUMS: ClassVar[Mapping[str, float]] = {
        "gel": 1.0,
        "ls": 0.0,
    }  # of one sum; 1: of differences with the true class's score

    @property
    def relative(self) -> bool:
        """Return whether values are of shares of what they were, as GLL's logarithms are."""
        return self.kind == "gll"

    def n_terms(self, n_values: int) -> int:
        """Return the number of sums: one for each value, of GLL one more for its 1, and of L_t two."""
        return {"gll": n_values + 1, "lt": 2 * n_values}.get(self.kind, n_values)

    def gather(self, at: LossColumns, groups: Groups, start: int, stop: int) -> None:
        """Sum the terms by value at the scores of the last `gradients`; see `minrisk._kernels.guess_averse`."""
        number, terms, label = groups.number, groups.terms, at.costs.label
        if self.kind in self.SUMS:
            kernels.gather_sums(at.hessian, label, number, terms, start, stop)
        elif self.kind == "gll":
            own = at.gradient, at.hessian, label, at.costs.weight, at.log_scale
            kernels.gather_shares(*own, number, terms, start, stop)
        else:
            given = *of_rows(at.costs), at.scores, at.log_scale
            kernels.gather_pairs(*given, number, len(groups.values), terms, start, stop)

    def along(self, at: LossColumns, course: Course, start: int, stop: int) -> FloatArray:
        """Fill the line of the course, of GLL in groups less the value at step 0; return its maxima."""
        if course.groups is None:
            return super().along(at, course, start, stop)
        (number, values, terms), label = course.groups, at.costs.label
        to = course.factor, course.step, course.line, start, stop
        top: FloatArray
        if self.kind in self.SUMS:
            top = kernels.sums_along(self.SUMS[self.kind], terms, label, number, values, *to)
        elif self.kind == "gll":
            top = kernels.shares_along(terms, label, at.costs.weight, at.log_scale, number, values, *to)
        else:
            top = kernels.pairs_along(terms, values, *to)
        return top


@dataclass(frozen=True, eq=False)
class GuessAverseLoss(GroupedLoss):
    """(1 / W) sum_n w_n gamma(sum_{k != y} c_nk exp(S_nk - S_ny)), gamma(v) = v (GEL) or log(1 + v) (GLL).

    Unlike the coupled losses it compares scores: outputs are not separable, the same constant added to all scores of a
    row changes nothing, and the mean has the factor 1 / W rather than 1 / (2 W).
    """

    KINDS: ClassVar[Mapping[str, Kernels]] = {
        "gel": Kernels(partial(kernels.exponential_gradients, 1.0), partial(kernels.exponential_along, 1.0)),
        "gll": Kernels(kernels.logistic_gradients, kernels.logistic_along),
    }

    kind: str  # {"gel", "gll"}: GLL with all costs 1 is softmax cross-entropy

    @property
    def traits(self) -> frozenset[str]:
        return super().traits | {SOFTMAX_GRADIENT} if self.kind == "gll" else super().traits

    def unit(self, costs: RowCosts) -> float:
        """Return that of the costs for GEL; GLL is no multiple of the costs."""
        return costs.unit if self.kind == "gel" else 1.0

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """Return for GEL the log of the largest cost times the largest weight, which bounds the first weights."""
        return super().start_log_scale(costs, top_weight) if self.kind == "gel" else 0.0

    def start(self, costs: CostFacts) -> FloatArray | None:
        """Return scores (D,) to begin with: for GEL the best constant where costs are very far apart; None: 0.

        At scores of 0 a row of a class whose mistakes cost a million weighs a million, and no split that tells the
        others apart is seen beside it.
        """
        if self.kind != "gel" or not log_ratio(costs):
            return None
        return balanced(costs.class_weight[:, None] * costs.class_means)

    def link(self, costs: CostFacts) -> Link | None:
        """Return softmax for GLL with a cost of 1 for each mistake, and Eq. (33) for GEL with symmetric costs.

        GLL: of costs s the minimiser is p_y ~ pi_y (s + (1 - s) pi_y) with pi the softmax, which is softmax for s = 1
        only. GEL: with C = C' each pair's part C_jk (p_j e^(S_k - S_j) + p_k e^(S_j - S_k)) of the expected loss is
        least at S_j - S_k = 1/2 ln(p_j / p_k), whatever C_jk > 0 (the paper's Appendix C).
        """
        if costs.table is None or len(costs.table) != costs.n_decisions:
            return None
        table, others = costs.table, ~np.eye(costs.n_decisions, dtype=bool)
        if self.kind == "gel":
            symmetric = np.array_equal(table, table.T) and np.all(table[others] > 0)
            return "softmax2" if symmetric else None
        return "softmax" if np.all(table[others] == 1.0) else None

    def gradients(self, at: LossColumns, start: int, stop: int) -> FloatArray:
        """Fill gradient, Hessian and value; of GLL without a Hessian by a kernel of its own."""
        if self.kind == "gel" or len(at.hessian):
            return super().gradients(at, start, stop)
        given = *of_rows(at.costs), at.scores, at.log_scale, at.gradient, at.value
        top: FloatArray = kernels.softmax_value_and_gradient(*given, start, stop)
        return top


@dataclass(frozen=True, eq=False)
class GuessingLoss(GroupedLoss):
    """L_s = sum_k c_k e^(S_k), for scores that sum to 0, or L_t = sum_j sum_k c_j e^(S_j - S_k).

    The sums leave out the cost of the right decision, c_y, which the paper has 0. The minimisers estimate expected
    costs, not probabilities.
    """

    KINDS: ClassVar[Mapping[str, Kernels]] = {
        "ls": Kernels(partial(kernels.exponential_gradients, 0.0), partial(kernels.exponential_along, 0.0)),
        "lt": Kernels(kernels.pair_gradients, kernels.pair_along),
    }

    kind: str  # {"ls", "lt"}


def log_ratio(costs: CostFacts) -> float:
    """Return log of the ratio of the largest mean cost of a class's rows to the least; 0 up to `FAR_APART`."""
    positive = costs.class_means[costs.class_means > 0.0]
    ratio = float(positive.max() / positive.min()) if len(positive) else 1.0
    return log(ratio) if ratio > FAR_APART * (1.0 + SAME_RISK) else 0.0


def balanced(totals: FloatArray) -> FloatArray:
    """Find constant scores S (D,) of least sum_jk A_jk e^(S_k - S_j), A (L, D) the costs of deciding k for class j.

    There each decision is pushed up as much as down: A is balanced by a diagonal scaling, one score after another
    (Osborne, "On pre-conditioning of matrices", 1960). A decision that is no class is pushed down only, and gets the
    least of the classes' scores.
    """
    L, D = totals.shape
    A, S = np.zeros((D, D)), np.zeros(D)
    A[:L] = totals
    np.fill_diagonal(A, 0.0)
    both = np.flatnonzero(A.any(axis=1) & A.any(axis=0))
    for _ in range(SWEEPS):
        before = S.copy()
        # Each score in turn is set to where it is pushed up as much as down.
        for j in both:
            S[j] = 0.5 * log(np.sum(A[j] * exp(S)) / np.sum(A[:, j] * exp(-S)))
        if np.abs(S - before).max() < SETTLED:
            break
    S -= S[:L].mean()
    S[~A.any(axis=1)] = S[:L].min()
    return S


# -- whether a loss is averse to guessing ------------------------------------------------------------------------------
DRAWS = 400  # scores per class, radius and way of drawing
RADII = (0.01, 0.1, 1.0, 3.0, 10.0, 30.0)  # of scores: losses may differ near 0 and far from it


def row_values(loss: Any, cost: FloatArray, y: IntArray, scores: FloatArray) -> FloatArray:
    """Return the loss L(C, y, S) of each row of scores (n, D)."""
    n = len(scores)
    index = np.asarray(y, dtype=np.int32)
    costs = RowCosts(np.ascontiguousarray(cost, dtype=np.float64), index, np.ones(n), index)
    line, nowhere = np.empty((3, n)), np.zeros((1, scores.shape[1]))
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    at = LossColumns(costs.read_only(), scores, 0.0, nowhere, nowhere, np.zeros(n), np.ones(n, dtype=np.bool_))
    loss.along(at, Course(np.zeros(n), nowhere, 0.0, line), 0, n)
    values: FloatArray = line[0]
    return values


def is_guess_averse(loss: Any, cost: FloatArray, seed: int = 0) -> bool:
    """Return whether L(C, z, S) < L(C, z, A) for all scores S that decide for z and all equal scores A (Definition 3).

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
    >>> from minrisk.losses.guess_averse import GuessAverseLoss, GuessingLoss
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
    """Return scores with the largest at 1, some just below it and the others far below."""
    near = rng.random((DRAWS, K)) < 0.5
    scores = np.where(near, 1.0 - rng.uniform(0.01, 0.5, (DRAWS, 1)), -rng.uniform(0.0, 3.0, (DRAWS, 1)))
    scores[:, 0] = 1.0
    return np.asarray(scores)


# -- Pairwise margins --------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class PairwiseLoss(NamedDifferences):
    """1 / W sum_n w_n sum_r c_nr phi(S_ny - S_nr), phi(rho) = e^-rho or log(1 + e^-rho)."""

    KINDS: ClassVar[Mapping[str, Kernels]] = {  # without the terms r = y
        "exponential": Kernels(partial(kernels.exponential_gradients, 1.0)),
        "logistic": Kernels(kernels.pairwise_gradients),
    }

    kind: str  # {"exponential", "logistic"}

    traits = frozenset({JOINT, PAIRS})

    def own_terms(self, costs: RowCosts) -> FloatArray:
        """Return w_n c_ny phi(0) (n,): the paper's terms r = y, with the mean of the row's costs for c_ny."""
        table = costs.table
        own = table[costs.row, costs.label]
        mean = (table.sum(axis=1)[costs.row] - own) / (table.shape[1] - 1)
        return np.asarray(costs.weight * mean * (1.0 if self.kind == "exponential" else log(2.0)))

    def constant(self, costs: RowCosts) -> float:
        """Return the mean of the terms r = y.

        Raises
        ------
        ValueError
            If a true class is no decision, or the only one.
        """
        super().constant(costs)
        return costs.total(self.own_terms(costs)) / costs.total(costs.weight) * costs.unit

    def link(self, costs: CostFacts) -> Link | None:
        """Return one for symmetric costs, which the minimisers do not see: S = ln p (logistic) or 1/2 ln p + const.

        Each pair's part C_jk (p_j phi(S_j - S_k) + p_k phi(S_k - S_j)) of the expected loss is least at S_j - S_k =
        ln(p_j / p_k), or half of it.
        """
        if GuessAverseLoss("gel").link(costs) is None:
            return None
        return "softmax2" if self.kind == "exponential" else "softmax"


# -- structured hinge --------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class StructuredHinge(Differences):
    """1 / W sum_n w_n max_k (c_nk + H_nk - H_ny), with c_ny counted as 0.

    The slack of a row at its optimum. It is convex, piecewise linear, and no less than what the decision of the largest
    score costs. It has no curvature, so that steps and learners work with its cutting planes. Where it is least depends
    on which class is the best, not on how probable it is.
    """

    traits = frozenset({JOINT, PLANES})
    base = "structured hinge"

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """Return 0: weights do not overflow."""
        return 0.0

    def gradients(self, at: LossColumns, start: int, stop: int) -> FloatArray:
        """Fill the gradient of the plane at the present scores, no Hessian, and value; return column maxima (3, D)."""
        columns = at.scores, at.gradient, at.hessian, at.value
        top: FloatArray = losses.hinge_gradients(*of_rows(at.costs), *columns, start, stop)
        return top
