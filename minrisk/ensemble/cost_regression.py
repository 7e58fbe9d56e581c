"""What each decision costs a row of each class, learnt from costs that differ by row.

Training rows have costs of their own, c_n in R^D; new rows come without. The decision of least expected cost is

    argmin_k sum_j p_j(x) m_jk(x),    m_j(x) = E[c | x, class j],

and m_j is a regression on the rows of class j: their mean costs, and trees with a vector in every leaf that lower the
squared error, as many as left-out rows ask for. Where all rows of a class cost the same there are none, m_j is a row of
a cost matrix, and the decisions are the matrix's.

The squared error is REBEL's coupled loss of F(x) = (1 + x)^2 with the same offsets beta = 0 and phi for all rows (Appel
et al., NIPS 2016, Eq. 2): c (1 + h)^2 + (phi - c) (1 - h)^2 is phi (h - 1 + 2 c / phi)^2 and a constant.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk._workers import Workers
from minrisk.boosting.loop import Progress
from minrisk.data.sparse_rows import SparseRows
from minrisk.ensemble import defaults
from minrisk.ensemble.budget import UNLIMITED, Budget, Pace
from minrisk.ensemble.cross_fitting import checkpoints, pooled
from minrisk.ensemble.kind import Settings, Table
from minrisk.ensemble.kinds.plain import TreeMember, recipe_of, usual_trees
from minrisk.losses.coupled import CoupledLoss
from minrisk.model.node_order import by_levels
from minrisk.model.packed import pack
from minrisk.model.trees import PackedTrees
from minrisk.rows.columns import Columns
from minrisk.rows.folded import ClassRows, FoldedRows

SAME_COSTS = 1e-9  # of the largest cost: smaller differences within a class are rounding
PREDICTED_ROWS = 4096  # rows that are predicted together, so that memory does not follow the rows


@dataclass(frozen=True, eq=False)
class CostRegression:
    """Mean avoidable costs of each class, and trees that say how those of a row differ.

    Parameters
    ----------
    unit : float
        Of all numbers here, in stated costs: `unit` times a cost is what was stated, less the row's least cost.
    means : ndarray of shape (K, D)
        Of the rows of each class.
    packed : PackedTrees
        Trees of class 0, then of class 1, and so on.
    vectors : ndarray of shape (n_vectors, D)
        Of all trees.
    bounds : ndarray of int, (K + 1,)
        Trees ``bounds[j]`` to ``bounds[j + 1]`` are those of class j.
    """

    unit: float
    means: FloatArray
    packed: PackedTrees
    vectors: FloatArray
    bounds: IntArray

    @classmethod
    def of_means(cls, means: FloatArray) -> CostRegression:
        """Without trees."""
        return packed_regression(1.0, means, [])

    def of_class(self, X: FloatArray, j: int) -> FloatArray:
        """m_j: what each decision costs rows that are of class j, (n, D); at least 0."""
        costs = np.tile(self.means[j], (len(X), 1))
        first, last = self.bounds[j : j + 2].tolist()
        if first < last:
            self.packed.add_scores(X, self.vectors, first, last, 0, len(X), costs)
        return np.asarray(np.maximum(costs, 0.0, out=costs))

    def expected(self, X: np.ndarray | SparseRows, p: FloatArray) -> FloatArray:
        """Expected cost of each decision, (n, D), with class probabilities p (n, K)."""
        expected, height = np.zeros((len(X), self.means.shape[1])), PREDICTED_ROWS
        if isinstance(X, SparseRows):
            packed, used = self.packed.compact()
            if len(used) < X.shape[1]:
                return replace(self, packed=packed).expected(X.only(used), p)
            height = min(height, X.height)
        for first in range(0, len(X), height):
            part = slice(first, first + height)
            numbers = np.ascontiguousarray(X[part], dtype=np.float64)
            for j in range(len(self.means)):
                expected[part] += p[part, j, None] * self.of_class(numbers, j)
        return expected


def fit_cost_regression(
    table: Table, folded: FoldedRows, means: FloatArray, settings: Settings, most: int, seed: int, workers: Workers,
    budget: Budget = UNLIMITED,
) -> CostRegression:  # fmt: skip
    """Learn m_j for every class.

    Parameters
    ----------
    table : Table
    folded : FoldedRows
        With their costs.
    means : ndarray of shape (K, D)
        Of the rows of each class: `FoldedRows.class_costs`.
    settings : Settings
    most : int
        Rounds, at most.
    seed : int
    workers : Workers
        Over classes.
    budget : Budget
        Of all classes together.
    """
    n_turns = -(-len(means) // workers.n)

    def fit(j: int) -> Progress:
        found = folded.of_class(j, table.columns, table.n_features)
        turn = budget.until(1.0 / (n_turns - j // workers.n))
        return Progress() if found is None else _fit_class(*found, means[j], settings, most, seed + j, turn)

    return packed_regression(folded.stated_facts.unit, means, workers.map(fit, range(len(means))))


def packed_regression(unit: float, means: FloatArray, fits: Sequence[Progress]) -> CostRegression:
    """The regression of these learners for each class, their vectors in units of the costs."""
    bounds = np.zeros(len(means) + 1, dtype=np.int64)
    if fits:
        bounds[1:] = np.cumsum([len(fit.trees) for fit in fits])
    trees = list(itertools.chain.from_iterable(fit.trees for fit in fits))
    vectors = itertools.chain.from_iterable(fit.vectors for fit in fits)
    all_vectors = np.concatenate([np.empty((0, means.shape[1])), *vectors])
    packed, all_vectors = by_levels(pack(trees), all_vectors)
    return CostRegression(unit, means, packed, all_vectors, bounds)


def _fit_class(
    rows: ClassRows, columns: Columns, mean: FloatArray, settings: Settings, most: int, seed: int, budget: Budget
) -> Progress:
    """The learners of one class: members for the folds choose how many, the last member has all rows."""
    top, n_rows = rows.largest_cost, rows.cost_facts.n_rows
    if rows.n_folds < 2 or n_rows < defaults.COST_ROWS or rows.farthest(mean) <= SAME_COSTS * top:
        return Progress()
    seen = np.arange(len(columns.n_bins))
    settings = settings._replace(learning_rate=defaults.COST_LEARNING_RATE * settings.learning_rate)
    loss = CoupledLoss("squared", "none", top)

    def member(fold: int | None, seed: int) -> TreeMember:
        of = rows.without(fold, columns, Workers())
        trees = usual_trees(settings, of.cost_facts.n_rows, of.n_outputs, columns.thresholds, len(seen))
        made = TreeMember(of, recipe_of(settings, loss, of.cost_facts, trees, seen), seed, [])
        intercept = 1.0 - 2.0 * rows.mean_costs(fold) / top
        made.progress = Progress(intercept=intercept, losses=[0.0])  # of losses only the trees are wanted
        of.start_at([], [], intercept)
        return made

    members = [member(fold, seed + fold) for fold in range(rows.n_folds)]
    best, chosen, reached, pace = np.inf, 0, 0, Pace(budget)
    for wanted in (0, *checkpoints(most)):
        n_rounds = pace.next(reached, wanted, 1.0 / len(members))  # and the last member's
        if wanted and n_rounds == reached:
            break
        for made in members:
            made.train([n_rounds])
            made.rest()
        reached = n_rounds
        error = pooled(rows, members, n_rounds).squared_error(top)
        if n_rounds == 0 or error < (1.0 - (defaults.COST_LEAST_FALL if chosen else defaults.COST_FIRST_FALL)) * best:
            best, chosen = error, n_rounds
        if n_rounds > defaults.COST_PATIENCE * chosen + defaults.GRACE_ROUNDS:
            break
    if not chosen:
        return Progress()
    last = member(None, seed + len(members))
    last.train([chosen])
    learnt = last.result(chosen)
    return Progress(learnt.trees, [-0.5 * top * vectors for vectors in learnt.vectors])
