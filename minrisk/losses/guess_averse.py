"""Guess-averse losses: GEL and GLL, of which softmax cross-entropy is the case of 0/1 costs.

Beijbom, Saberian, Kriegman and Vasconcelos, "Guess-Averse Loss Functions For Cost-Sensitive Multiclass Boosting",
ICML 2014, Eq. (20) and (21).

=====================  ==================================  ===========================================
paper                  here                                where
=====================  ==================================  ===========================================
z, the true class      ``RowCosts.label``, y               `minrisk.rows.costs`
C_z, row of C          ``RowCosts.table[row]``             `minrisk.rows.costs`
S_k(x)                 ``scores``                          rows
L^{id,exp}, GEL        ``"gel"``                           `minrisk._kernels.guess_averse`
L^{log,exp}, GLL       ``"gll"``                           `minrisk._kernels.guess_averse`
w^r, Eq. (34), (35)    ``along`` at step 0                 `minrisk._kernels.guess_averse`
=====================  ==================================  ===========================================

Deviation: the sums run over k != z. The paper's include C_zz, which is 0 there; here a cost of the right decision is a
constant that no score can change, and does not enter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from minrisk._kernels import guess_averse as kernels
from minrisk._kernels.guess_averse import softmax_edges
from minrisk._typing import Bag, FloatArray, IntArray
from minrisk.losses.base import SOFTMAX_EDGES, NamedDifferences
from minrisk.model.links import Link
from minrisk.rows.costs import SAME_RISK, CostFacts, RowCosts
from minrisk.rows.row_losses import Groups

FAR_APART = 1e4  # ratio of costs, above which the dear ones hide the others
SWEEPS, SETTLED = 1000, 1e-6  # of balancing, at most; a change that is none


@dataclass(frozen=True, eq=False)
class GuessAverseLoss(NamedDifferences):
    """(1 / W) sum_n w_n gamma(sum_{k != y} c_nk exp(S_nk - S_ny)), gamma(v) = v (GEL) or log(1 + v) (GLL).

    Unlike the coupled losses it compares scores: outputs are not separable, the same constant added to all scores of a
    row changes nothing, and the mean has the factor 1 / W rather than 1 / (2 W).

    Parameters
    ----------
    kind : {"gel", "gll"}
        GLL with all costs 1 is softmax cross-entropy.
    """

    KINDS: ClassVar[tuple[str, ...]] = ("gel", "gll")

    kind: str

    @property
    def traits(self) -> frozenset[str]:
        """Facts that others may rely on."""
        return super().traits | {SOFTMAX_EDGES} if self.kind == "gll" else super().traits

    def unit(self, costs: RowCosts) -> float:
        """That of the costs for GEL; GLL is no multiple of the costs."""
        return costs.unit if self.kind == "gel" else 1.0

    def start_log_scale(self, costs: RowCosts, top_weight: float) -> float:
        """GEL: log of the largest cost times the largest weight, which bounds the first weights. GLL: 0."""
        return super().start_log_scale(costs, top_weight) if self.kind == "gel" else 0.0

    def start(self, costs: CostFacts) -> FloatArray | None:
        """Scores (D,) to begin with: for GEL the best constant where costs are very far apart; None: 0.

        At scores of 0 a row of a class whose mistakes cost a million weighs a million, and no split that tells the
        others apart is seen beside it.
        """
        if self.kind != "gel" or not log_ratio(costs):
            return None
        return balanced(costs.class_weight[:, None] * costs.class_means)

    def link(self, costs: CostFacts) -> Link | None:
        """Softmax for GLL with a cost of 1 for each mistake; Eq. (33) for GEL with symmetric costs.

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

    # -- row kernels ---------------------------------------------------------------------------------------------
    def gradients(
        self,
        costs: RowCosts,
        scores: FloatArray,
        log_scale: float,
        start: int,
        stop: int,
        edge: FloatArray,
        mass: FloatArray,
    ) -> FloatArray:
        """Edge, and mass = the diagonal of the Hessian, of rows start..stop; see `minrisk._kernels.guess_averse`.

        Returns
        -------
        ndarray of shape (3, D)
            Column maxima of |edge|, mass and value; a row's value counts in the column of its true class.
        """
        run = kernels.exponential_gradients if self.kind == "gel" else kernels.logistic_gradients
        top: FloatArray = run(
            costs.table, costs.row, costs.label, costs.weight, scores, log_scale, start, stop, edge, mass
        )
        return top

    def value_sums(
        self,
        costs: RowCosts,
        scores: FloatArray,
        log_scale: float,
        edge: FloatArray,
        in_bag: Bag,
        factor: FloatArray,
        start: int,
        stop: int,
    ) -> IntArray:
        """Value of the bag's rows by true class, times e^-log_scale, in fixed point (D,); their sum is the loss.

        Parameters
        ----------
        log_scale, edge
            As `gradients` was given, and wrote, at these scores.
        factor : ndarray of shape (D,)
            For the maxima of the value that `gradients` returned.
        """
        if self.kind == "gel":
            sums: IntArray = kernels.exponential_values(costs.label, edge, in_bag, factor, start, stop)
        else:
            sums = kernels.logistic_values(
                costs.table, costs.row, costs.label, costs.weight, scores, log_scale, edge, in_bag, factor, start, stop
            )
        return sums

    def along(
        self,
        costs: RowCosts,
        scores: FloatArray,
        factor: FloatArray,
        move: FloatArray,
        step: float,
        log_scale: float,
        start: int,
        stop: int,
        line: FloatArray,
    ) -> FloatArray:
        """Value, slope and curvature of each row at scores + step * factor * move: `minrisk._kernels.guess_averse`."""
        run = kernels.exponential_along if self.kind == "gel" else kernels.logistic_along
        top: FloatArray = run(
            costs.table, costs.row, costs.label, costs.weight, scores, factor, move, step, log_scale, start, stop, line
        )
        return top

    def edges(
        self,
        costs: RowCosts,
        scores: FloatArray,
        log_scale: float,
        start: int,
        stop: int,
        edge: FloatArray,
        value: FloatArray,
    ) -> FloatArray:
        """Edge (n, D) and value (n,) of GLL at any scores, of rows start..stop; returns their maxima (2, D)."""
        top: FloatArray = softmax_edges(
            costs.table, costs.row, costs.label, costs.weight, scores, log_scale, start, stop, edge, value
        )
        return top

    # -- along a direction with few different values -------------------------------------------------------------
    @property
    def relative(self) -> bool:
        """GLL's logarithms are of shares of what they were."""
        return self.kind == "gll"

    def n_terms(self, n_values: int) -> int:
        """GEL has one for each value, GLL one more for its 1."""
        return n_values if self.kind == "gel" else n_values + 1

    def gather(
        self,
        costs: RowCosts,
        scores: FloatArray,
        log_scale: float,
        edge: FloatArray,
        mass: FloatArray,
        groups: Groups,
        start: int,
        stop: int,
    ) -> None:
        """Sums of the terms by value; see `minrisk._kernels.guess_averse`."""
        if self.kind == "gel":
            kernels.gather_sums(mass, costs.label, groups.number, start, stop, groups.terms)
        else:
            kernels.gather_shares(
                edge, mass, costs.label, costs.weight, log_scale, groups.number, start, stop, groups.terms
            )

    def along_groups(
        self,
        costs: RowCosts,
        log_scale: float,
        groups: Groups,
        factor: FloatArray,
        step: float,
        start: int,
        stop: int,
        line: FloatArray,
    ) -> FloatArray:
        """Value (of GLL: less that at step 0), slope and curvature of each row; see `minrisk._kernels.guess_averse`."""
        top: FloatArray
        if self.kind == "gel":
            top = kernels.sums_along(
                groups.terms, costs.label, groups.number, groups.values, 1, factor, step, start, stop, line
            )
        else:
            top = kernels.shares_along(
                groups.terms,
                costs.label,
                costs.weight,
                log_scale,
                groups.number,
                groups.values,
                factor,
                step,
                start,
                stop,
                line,
            )
        return top


def log_ratio(costs: CostFacts) -> float:
    """Log of the ratio of the largest mean cost of a class's rows to the least; 0 up to `FAR_APART`."""
    positive = costs.class_means[costs.class_means > 0.0]
    ratio = float(positive.max() / positive.min()) if len(positive) else 1.0
    return float(np.log(ratio)) if ratio > FAR_APART * (1.0 + SAME_RISK) else 0.0


def balanced(totals: FloatArray) -> FloatArray:
    """The constant scores S (D,) of least sum_jk A_jk e^(S_k - S_j), A (L, D) the costs of deciding k for class j.

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
        for j in both:
            S[j] = 0.5 * np.log(np.sum(A[j] * np.exp(S)) / np.sum(A[:, j] * np.exp(-S)))
        if np.abs(S - before).max() < SETTLED:
            break
    S -= S[:L].mean()
    S[~A.any(axis=1)] = S[:L].min()
    return S
