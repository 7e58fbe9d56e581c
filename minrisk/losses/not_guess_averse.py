"""L_s and L_t: classification calibrated and yet not averse to guessing.

Beijbom, Saberian, Kriegman and Vasconcelos, "Guess-Averse Loss Functions For Cost-Sensitive Multiclass Boosting",
ICML 2014, Eq. (12) and (14). Their text swaps the two numbers in Sec. 4 and 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from minrisk._kernels import guess_averse as kernels
from minrisk._typing import Bag, FloatArray, IntArray
from minrisk.losses.base import NamedDifferences
from minrisk.model.links import Link
from minrisk.rows.costs import CostFacts, RowCosts
from minrisk.rows.row_losses import Groups


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

    def link(self, costs: CostFacts) -> Link | None:
        """None: the minimisers estimate expected costs, not probabilities."""
        return None

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
        """Edge, and mass = the diagonal of the Hessian, of rows start..stop; returns column maxima (3, D)."""
        run = kernels.sum_gradients if self.kind == "ls" else kernels.pair_gradients
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
        """Value of the bag's rows by true class, times e^-log_scale, in fixed point (D,)."""
        if self.kind == "ls":
            sums: IntArray = kernels.sum_values(costs.label, edge, in_bag, factor, start, stop)
        else:
            sums = kernels.pair_values(
                costs.table, costs.row, costs.label, costs.weight, scores, log_scale, in_bag, factor, start, stop
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
        run = kernels.sum_along if self.kind == "ls" else kernels.pair_along
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
        if self.kind == "ls":
            kernels.gather_sums(mass, costs.label, groups.number, start, stop, groups.terms)
        else:
            kernels.gather_pairs(
                costs.table,
                costs.row,
                costs.label,
                costs.weight,
                scores,
                log_scale,
                groups.number,
                len(groups.values),
                start,
                stop,
                groups.terms,
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
        """Value, slope and curvature of each row; see `minrisk._kernels.guess_averse`."""
        top: FloatArray
        if self.kind == "ls":
            top = kernels.sums_along(
                groups.terms, costs.label, groups.number, groups.values, 0, factor, step, start, stop, line
            )
        else:
            top = kernels.pairs_along(groups.terms, groups.values, factor, step, start, stop, line)
        return top
