"""What each decision costs a row of each class, learnt from costs that differ by row.

Training rows have costs of their own, c_n in R^D; new rows come without. The decision of least expected cost is

    argmin_k sum_j p_j(x) m_jk(x),    m_j(x) = E[c | x, class j],

and m_j is a regression on the rows of class j: their mean costs, and small trees with a vector in every leaf that lower
the squared error. Out-of-fold rows are asked three times: whether a few trees lower the error of the first fold by more
than chance (`exceeds_its_error`), how many trees are best, and whether decisions by the trees of
all classes cost less than those by the mean costs. Where they say no, or all rows of a class cost the same, m_j are the
means, a row of a cost matrix.

The squared error is REBEL's coupled loss of F(x) = (1 + x)^2 with the same offsets beta = 0 and phi for all rows (Appel
et al., NIPS 2016, Eq. 2): c (1 + h)^2 + (phi - c) (1 - h)^2 is phi (h - 1 + 2 c / phi)^2 and a constant.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from minrisk._typing import FloatArray, IntArray, LeftOut
from minrisk._utils.workers import Workers
from minrisk.boosting.checkpoint import Run
from minrisk.boosting.loop import Progress
from minrisk.data.sparse import SparseRows
from minrisk.ensemble import defaults
from minrisk.ensemble.defaults import Settings, checkpoints
from minrisk.ensemble.driver import Driver, Pace
from minrisk.ensemble.members import exceeds_its_error, out_of_fold
from minrisk.ensemble.table import Table
from minrisk.ensemble.trees import TreeMember, recipe_of, usual_trees
from minrisk.losses.coupled import CoupledLoss
from minrisk.model.additive import pack
from minrisk.model.links import Link
from minrisk.model.trees import PackedTrees, by_levels
from minrisk.rows.columns import Columns
from minrisk.rows.folded import ClassRows, FoldedRows, HeldOut

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

    def of_class(self, X: FloatArray, j: int) -> FloatArray:
        """Return m_j: what each decision costs rows that are of class j, (n, D); at least 0."""
        costs = np.tile(self.means[j], (len(X), 1))
        first, last = self.bounds[j : j + 2].tolist()
        if first < last:
            self.packed.add_scores(X, self.vectors, first, last, 0, len(X), costs)
        return np.asarray(np.maximum(costs, 0.0, out=costs))

    def expected(self, X: np.ndarray | SparseRows, p: FloatArray) -> FloatArray:
        """Return expected cost of each decision, (n, D), with class probabilities p (n, K)."""
        expected, height = np.zeros((len(X), self.means.shape[1])), PREDICTED_ROWS
        if isinstance(X, SparseRows):  # trees look at few features: only these are made dense
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


class CostFit(NamedTuple):
    """A regression, and what its members say of the rows that they left out."""

    regression: CostRegression
    held: list[HeldOut | None]  # of each class that has trees: costs of all out-of-fold rows, of all classes

    def validated(self, probabilities: HeldOut, link: Link, temperature: float) -> CostRegression:
        """Return the regression if decisions about out-of-fold rows cost less by it than by the means, else these."""
        known = [part for part in self.held if part is not None]
        if known:
            n_folds = min(known[0].n_folds, probabilities.n_folds)
            held = [None if part is None else part.of_folds(n_folds) for part in self.held]
            means = self.regression.means
            paid_less = probabilities.of_folds(n_folds).paid_less(link, temperature, means, held)
            if exceeds_its_error(paid_less):
                return self.regression
        return packed_regression(self.regression.unit, self.regression.means, [])


def fit_cost_regression(
    table: Table, folded: FoldedRows, means: FloatArray, settings: Settings, driver: Driver
) -> CostFit:
    """Learn m_j for every class, in two fifths of the time that is left.

    Parameters
    ----------
    table : Table
    folded : FoldedRows
        With their costs.
    means : ndarray of shape (K, D)
        Of the rows of each class: `FoldedRows.class_costs`.
    settings : Settings
    driver : Driver
        Whose workers share the classes.
    """
    K, workers, part = len(means), driver.workers, driver.until(0.4)
    n_turns = -(-K // workers.n)
    # Costs are smooth where classes are not: smaller steps, smaller trees, and 120 trees of all classes together.
    most = min(settings.n_estimators, max(12, min(60, 120 // K)))
    settings = settings._replace(learning_rate=0.5 * settings.learning_rate, n_estimators=most)

    def fit(j: int) -> ClassFit | None:
        found = folded.of_class(j, table.columns, table.n_features)
        if found is None:
            return None
        turn = part.until(1.0 / (n_turns - j // workers.n))
        of_class = settings._replace(seed=settings.seed + j)
        return _fit_class(*found, means[j], of_class, turn, lambda fold: driver.watch.run(f"costs {j} {fold}"))

    fits = workers.map(fit, range(K))
    learnt = [Progress() if fit is None else fit.learnt for fit in fits]
    return CostFit(packed_regression(folded.stated_facts.unit, means, learnt), _held_out(folded, table, fits))


def _held_out(folded: FoldedRows, table: Table, fits: Sequence[ClassFit | None]) -> list[HeldOut | None]:
    """Ask members about all out-of-fold rows, as if these were of each class in turn."""
    parts: list[list[LeftOut]] = [[] for _ in fits]
    for fold in range(folded.n_folds if any(fits) else 0):
        rows = folded.without(fold, table.columns, Workers())
        rows.rest(True)  # each class has scores of its own
        for part, fit in zip(parts, fits, strict=True):
            if fit is not None:
                made = fit.members.get(fold, fit.learnt)
                assert made.intercept is not None
                part.append(rows.left_out_scores(made.trees, made.vectors, made.intercept))
    return [folded.held_out(part) if part else None for part in parts]


def packed_regression(unit: float, means: FloatArray, fits: Sequence[Progress]) -> CostRegression:
    """Return the regression of these learners for each class, their vectors in units of the costs."""
    bounds = np.zeros(len(means) + 1, dtype=np.int64)
    if fits:
        bounds[1:] = np.cumsum([len(fit.trees) for fit in fits])
    trees = list(itertools.chain.from_iterable(fit.trees for fit in fits))
    vectors = itertools.chain.from_iterable(fit.vectors for fit in fits)
    all_vectors = np.concatenate([np.empty((0, means.shape[1])), *vectors])
    packed, all_vectors = by_levels(pack(trees), all_vectors)
    return CostRegression(unit, means, packed, all_vectors, bounds)


class ClassFit(NamedTuple):
    """What the rows of a class have taught, as costs."""

    learnt: Progress  # by all of them
    members: dict[int, Progress]  # by all but those of a fold, which has some


def _fit_class(
    rows: ClassRows,
    columns: Columns,
    mean: FloatArray,
    settings: Settings,
    driver: Driver,
    run: Callable[[int | None], Run],
) -> ClassFit | None:
    """Train learners of one class: members of folds choose how many, the last one has all rows. None: the means."""
    top, folds = rows.largest_cost, rows.own_folds
    if rows.n_folds < 2 or rows.farthest(mean) <= SAME_COSTS * top:
        return None
    seen = np.arange(len(columns.n_bins))
    loss = CoupledLoss("squared", "none", top)

    def member(fold: int | None, number: int) -> TreeMember:
        of = rows.without(fold, columns, Workers())
        trees = usual_trees(settings, of.cost_facts.n_rows, of.n_outputs, columns.thresholds, len(seen))
        trees = replace(trees, max_leaf_nodes=min(trees.max_leaf_nodes, 24))
        recipe = recipe_of(settings, loss, of.cost_facts, trees, seen)
        made = TreeMember(of, recipe, settings.seed + number, run(fold))
        if made.progress is None:
            intercept = 1.0 - 2.0 * rows.mean_costs(fold) / top
            made.progress = Progress(intercept=intercept, losses=[0.0])  # of losses only the trees are wanted
            of.start_at([], [], intercept)
        made.train([0])
        return made

    def as_costs(made: Progress) -> Progress:
        assert made.intercept is not None
        vectors = [-0.5 * top * vectors for vectors in made.vectors]
        return Progress(made.trees, vectors, 0.5 * top * (1.0 - made.intercept))

    members = [member(0, 0)]
    chosen, reached, pace, best = 0, 0, Pace(driver), out_of_fold(rows, members, 0)
    for wanted in checkpoints(settings.n_estimators):
        n_rounds = pace.next(reached, wanted, 1.0 / len(members))  # and the last member's
        if n_rounds == reached:
            break
        if reached == 0:  # the first fold tells whether there is anything to learn
            members[0].train([n_rounds])
            if not exceeds_its_error(out_of_fold(rows, members, n_rounds).closer_than(best, top)):
                return None
            members += [member(fold, fold) for fold in range(1, len(folds))]
            best = out_of_fold(rows, members, 0)
        for made in members:
            if made.reached < n_rounds:
                made.train([n_rounds])
            made.rest()
        reached, held = n_rounds, out_of_fold(rows, members, n_rounds)
        if held.closer_than(best, top)[0] > 0.0:
            best, chosen = held, n_rounds
        if n_rounds > defaults.PATIENCE * chosen + defaults.GRACE_ROUNDS:
            break
    if not chosen:
        return None
    last = member(None, rows.n_folds)
    last.train([chosen])
    of_folds = [as_costs(made.result(chosen)) for made in members]
    return ClassFit(as_costs(last.result(chosen)), dict(zip(folds, of_folds, strict=True)))
