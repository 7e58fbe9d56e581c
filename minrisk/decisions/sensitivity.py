"""How sure the costs must be: in which range of each cost no decision changes, and what an error of it would cost.

Expected costs are linear in each cell of a table. So ranges, shares and regrets follow from the leads of the decisions,
and no other table has to be tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk._utils.algebra import product
from minrisk._utils.packages import library
from minrisk._utils.text import aligned, printable, short
from minrisk.costs.labels import Labels, label_text
from minrisk.costs.matrix import CostMatrix
from minrisk.decisions.costs import shared_costs

_COLUMNS = ("cost", "low", "high", "changed_at_half", "changed_at_twice", "regret_at_half", "regret_at_twice")
_MOST_LINES, _MOST_LETTERS = 10, 20  # of what is printed


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity:
    """Hold how sure each cost must be, in arrays with a row for each true class and a column for each decision.

    It prints as a table of the costs whose error costs most. `to_frame` gives all of them, and
    `minrisk.inspection.SensitivityDisplay` draws them.

    Attributes
    ----------
    classes : tuple of K labels
        The true classes.
    decisions : tuple of D labels
        What may be decided.
    cost : ndarray of shape (K, D)
        The costs as they are stated.
    low, high : ndarray of shape (K, D)
        Between these, no decision about the rows changes while the other costs stay, or no more than were allowed to.
        `low` is 0 or more; `high` is infinite where no cost is too large.
    changed_at_half, changed_at_twice : ndarray of shape (K, D)
        Share of the rows whose decision is another one at half and at twice the cost. NaN where the cost is 0.
    regret_at_half, regret_at_twice : ndarray of shape (K, D)
        What the decisions by the stated costs cost too much, as a mean over the rows, if in truth the cost is half or
        twice of what is stated. NaN where the cost is 0.
    mean_cost : float
        The mean expected cost of the decisions, to compare the regrets with.
    n_rows : int
        How many rows were looked at.
    """

    classes: Labels
    decisions: Labels
    cost: FloatArray
    low: FloatArray
    high: FloatArray
    changed_at_half: FloatArray
    changed_at_twice: FloatArray
    regret_at_half: FloatArray
    regret_at_twice: FloatArray
    mean_cost: float
    n_rows: int

    def to_frame(self) -> Any:
        """Return the arrays as columns of a pandas DataFrame with a line for each cell.

        Returns
        -------
        pandas.DataFrame
            K x D lines. The index has the levels "true" and "decision".

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        pandas = library("pandas", "cli", "A DataFrame needs")
        index = pandas.MultiIndex.from_product([self.classes, self.decisions], names=["true", "decision"])
        return pandas.DataFrame({name: getattr(self, name).ravel() for name in _COLUMNS}, index)

    def __repr__(self) -> str:
        regret = np.fmax(self.regret_at_half, self.regret_at_twice).ravel()  # NaN at both stays, and comes last
        order = [cell for cell in np.argsort(-regret, kind="stable").tolist() if not np.isnan(regret[cell])]
        lines = [["true class", "decision", "cost", "low", "high", "at half", "regret", "at twice", "regret"]]
        for cell in order[:_MOST_LINES]:
            i, j = divmod(cell, len(self.decisions))
            names = (
                printable(short(label_text(label), _MOST_LETTERS)) for label in (self.classes[i], self.decisions[j])
            )
            lines.append(
                [
                    *names,
                    *(f"{table[i, j]:.4g}" for table in (self.cost, self.low, self.high)),
                    f"{self.changed_at_half[i, j]:.2%}",
                    f"{self.regret_at_half[i, j]:.3g}",
                    f"{self.changed_at_twice[i, j]:.2%}",
                    f"{self.regret_at_twice[i, j]:.3g}",
                ]
            )
        rows = "1 row" if self.n_rows == 1 else f"{self.n_rows} rows"
        more = f"; {len(order) - _MOST_LINES} more costs in to_frame" if len(order) > _MOST_LINES else ""
        title = f"Sensitivity of the decisions about {rows}, of mean expected cost {self.mean_cost:.4g}{more}"
        return "\n".join([title, *aligned(lines, range(2, len(lines[0])))])


def sensitivity(model: Any, X: Any, cost: Any = None, *, at_most: float = 0.0) -> Sensitivity:
    r"""Say how sure each cost must be: where no decision about these rows changes, and what an error of it would cost.

    Parameters
    ----------
    model : estimator
        A fitted classifier with `predict_proba` and `classes_`, of minrisk or any other.
    X : array-like of shape (n, d)
        Rows as they will come, such as test rows. Their true classes are not needed.
    cost : array-like of shape (K, D), DataFrame, dict, CSV file or CostMatrix, optional
        The costs, with true classes as rows. By default those that the model was fitted for.
    at_most : float, default=0.0
        Share of the rows whose decisions may change within the ranges, from 0 and below 1. Among many rows some always
        change soon, so 0.01 says more.

    Returns
    -------
    Sensitivity
        For each cell of the table a range, and shares and regrets at half and twice the cost.

    Raises
    ------
    TypeError
        If the model gives no probabilities.
    ValueError
        If X has no row, if the costs do not fit the classes or differ by row, if neither `cost` is given nor the model
        knows any, or if `at_most` is no share.

    See Also
    --------
    minrisk.costs.between : Decide where costs are known as ranges only.

    Notes
    -----
    Decisions are those of least expected cost by `predict_proba`, as `minrisk.apply_costs` takes them.

    If the cost of deciding k when j is true is raised by a, the expected cost of k rises by a p_ij in row i. Rows that
    are decided k change when this is more than the lead of k in that row, its distance from the second best decision.
    If the cost is lowered, rows that are decided otherwise change when the fall is more than what k is behind. So the
    range reaches from :math:`C_{jk} - \min_i (E_{ik} - \min_l E_{il}) / p_{ij}`, over the rows that are not decided
    k, to :math:`C_{jk} + \min_i (\min_{l \ne k} E_{il} - E_{ik}) / p_{ij}`, over the rows that are, and is exact to
    rounding. At its ends two decisions about a row cost the same. With `at_most` of n rows, the least move over the
    rows becomes the one after the `at_most` n least.

    Only one cost changes at a time. A cost with a wide range or a small regret need not be known better. If a large
    regret stands at a cost that is unsure, ask about this one first.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.linear_model import LogisticRegression
    >>> from minrisk import sensitivity
    >>> X, y = load_wine(return_X_y=True)
    >>> model = LogisticRegression(max_iter=10_000).fit(X[::2, :2], y[::2])
    >>> found = sensitivity(model, X[1::2, :2], [[0, 1, 1], [1, 0, 1], [10, 10, 0]])
    >>> found.cost[2, 1], bool(found.low[2, 1] < 10 < found.high[2, 1])
    (np.float64(10.0), True)
    >>> round(float(found.changed_at_half[2, 1]), 2)
    0.07
    """
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"model must have predict_proba, got {type(model).__name__}, which has none: take a classifier that gives "
            "probabilities, or calibrate it by CalibratedClassifierCV."
        )
    p = np.asarray(model.predict_proba(X), dtype=np.float64)
    if len(p) == 0:
        raise ValueError("X must have one row or more, got none: give rows as they will come.")
    if not np.isfinite(p).all():
        raise ValueError(
            f"predict_proba of {type(model).__name__} must give finite numbers, got NaN or infinity: correct the model "
            "or these rows."
        )
    if not 0.0 <= at_most < 1.0:
        raise ValueError(f"at_most must be a share from 0 and below 1, got {at_most!r}: give 0.01 for 1 % of the rows.")
    return of_probabilities(p, shared_costs(model, cost, len(p)), int(at_most * len(p)))


def of_probabilities(p: FloatArray, cost: CostMatrix, n_changed: int = 0) -> Sensitivity:
    """Return the sensitivity of decisions by probabilities (n, K), whose columns are the rows of the costs.

    Within the ranges, `n_changed` decisions may change.
    """
    costs, (classes, decisions) = cost.values, cost._labels
    expected = product(p, costs)
    decided = expected.argmin(axis=1)
    best = expected.min(axis=1)
    low, high, half, twice = (
        np.zeros_like(costs),
        np.full_like(costs, np.inf),
        np.zeros_like(costs),
        np.zeros_like(costs),
    )
    regret_at_half, regret_at_twice = np.zeros_like(costs), np.zeros_like(costs)
    for k in range(len(decisions)):
        others, own = expected.copy(), decided == k
        others[:, k] = np.inf
        second = others[own].argmin(axis=1)
        lead = others[own].min(axis=1) - best[own]
        high[:, k] = costs[:, k] + _least_move(lead, p[own], n_changed)
        twice[:, k], regret_at_twice[:, k] = _changed(lead, p[own], costs[:, k], second < k)
        behind = expected[~own, k] - best[~own]
        low[:, k] = np.maximum(costs[:, k] - _least_move(behind, p[~own], n_changed), 0.0)
        half[:, k], regret_at_half[:, k] = _changed(behind, p[~own], 0.5 * costs[:, k], k < decided[~own])
    n_told = np.where(costs > 0.0, len(p), np.nan)  # half and twice of nothing say nothing
    return Sensitivity(
        classes,
        decisions,
        costs,
        low,
        high,
        half / n_told,
        twice / n_told,
        regret_at_half / n_told,
        regret_at_twice / n_told,
        float(best.mean()),
        len(p),
    )


def _least_move(gap: FloatArray, p: FloatArray, n_changed: int) -> FloatArray:
    """Return by how much a cost of each class may move before more than `n_changed` of these rows change, (K,)."""
    if len(p) <= n_changed:
        return np.full(p.shape[1], np.inf)
    moves = np.full(p.shape, np.inf)
    np.divide(gap[:, None], p, out=moves, where=p > 0.0)
    least: FloatArray = np.partition(moves, n_changed, axis=0)[n_changed] if n_changed else moves.min(axis=0)
    return least


def _changed(gap: FloatArray, p: FloatArray, move: FloatArray, wins_ties: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return how many of these rows change when the cost of a class moves, and the sum of their regrets, (K,) each.

    Of decisions that cost the same the first is taken; `wins_ties` says of each row whether that is another one.
    """
    beyond = p * move - gap[:, None]
    changed = (beyond > 0.0) | ((beyond == 0.0) & wins_ties[:, None])
    return changed.sum(axis=0).astype(np.float64), np.maximum(beyond, 0.0).sum(axis=0)
