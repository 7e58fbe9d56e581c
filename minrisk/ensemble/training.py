"""How `MinRiskClassifier` learns, from top to bottom.

1. `bin_table`: bins of the features, finer ones, and linear features beside them.
2. `folds_of`: rows into folds, which stand one after another.
3. `train_pool`: plain members first, each on all folds but one. Members of every other kind are first trained without
   the first fold only (`trial`).
4. `challenge`: they are blended into the pool by a share that left-out rows choose, and trained for the other folds;
   a kind that gets no share is dropped, at a fraction of the price, and of rivals only the one whose pool has the least
   log-loss goes on. Where all that does no better than a constant, that is the answer.
5. `Kind.finish`: members go on for some rounds on all rows; `minrisk.ensemble.average` makes one model of them.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from minrisk._memory import give_back
from minrisk._typing import FloatArray, IntArray, Labels
from minrisk._workers import Workers
from minrisk.boosting.monitors import ProgressBar
from minrisk.ensemble import defaults
from minrisk.ensemble.average import report
from minrisk.ensemble.blending import (
    Pool,
    drop,
    join,
    loss_of,
    or_constant,
    or_frequencies,
    pool_of,
    validated_risk,
)
from minrisk.ensemble.columns import bin_columns, linear_columns, usual_bins
from minrisk.ensemble.cost_regression import CostRegression, fit_cost_regression
from minrisk.ensemble.cross_fitting import cross_fit, first_rounds, last_rounds
from minrisk.ensemble.folds import folds_of
from minrisk.ensemble.kind import CrossFit, Kind, Member, Settings, Table, Task, is_wide
from minrisk.ensemble.kinds import CHALLENGERS, Plain
from minrisk.ensemble.kinds.plain import STARTS_AT_ZERO
from minrisk.losses.surrogates import POSTERIOR, surrogate_loss
from minrisk.model.projection import Projection
from minrisk.rows.costs import RowCosts
from minrisk.rows.factory import folded_rows
from minrisk.rows.folded import FoldedRows


class Plan(NamedTuple):
    """What the caller of a fit has to say beside the rows and `Settings`."""

    surrogates: tuple[str, ...]  # the most promising first; the others within the time budget
    n_estimators: int | None
    cv: Any
    pool: bool
    binning: str
    max_bins: int | None
    time_budget: float | None
    seed: int


class TrainedPool(NamedTuple):
    """What a fit has found."""

    pool: Pool
    projection: Projection | None
    tried: list[dict[str, Any]]  # lines of `report`
    costs: CostRegression | None  # where costs differ by row and there are probabilities


def train(
    X: np.ndarray, y: Labels, rows: IntArray, costs: RowCosts, n_classes: int, matrix: FloatArray | None, plan: Plan,
    settings: Settings, workers: Workers, bar: ProgressBar,
) -> TrainedPool:  # fmt: skip
    """Train a pool for each surrogate, and keep the one of least validated risk.

    Parameters
    ----------
    X : ndarray of shape (N, d)
    y : ndarray of shape (N,)
        For splitters that `cv` may be.
    rows : ndarray of int, (n,)
        Of X, that count; put into the order of the folds.
    costs : RowCosts
        Theirs, as stated; likewise.
    n_classes : int
    matrix : ndarray of shape (K, D), optional
        The costs, where all rows share one matrix.
    plan, settings
    workers : Workers
    bar : ProgressBar
        Told what is being done.
    """
    begun = time.perf_counter()
    table, folded, projection = bin_table(X, y, rows, costs, matrix is None, plan, workers)
    decides_by = folded.class_costs(n_classes) if matrix is None else matrix
    blind = folded.blind(n_classes)
    many = costs.n_rows >= defaults.MANY_ROWS
    most = plan.n_estimators or (defaults.MANY_ROWS_ROUNDS if many else defaults.ROUNDS)
    best, least, tried = None, np.inf, list[dict[str, Any]]()
    for surrogate in plan.surrogates:
        if best and time.perf_counter() - begun + best.seconds > (plan.time_budget or 0.0):
            break
        bar.part(surrogate, len(plan.surrogates) if plan.time_budget else 1)
        posterior = surrogate in POSTERIOR
        link = surrogate_loss(surrogate, blind.merged_costs).link(blind.merged_costs) if posterior else None
        trained_on = blind if posterior else folded
        every_fold = plan.cv is not None or not many
        task = Task(table, trained_on, surrogate, link, settings, every_fold, plan.seed, workers, bar.watching)
        challengers = CHALLENGERS if plan.pool and posterior and folded.n_folds > 1 else ()
        kinds = [kind for cls in challengers if (kind := cls.of(task)) is not None]
        found = train_pool(Plain(task), kinds, most, decides_by, plan.cv != 1, bar)
        risk = validated_risk(found, decides_by)
        tried += report(found, risk, folded.stated_costs)
        if risk < least or best is None:
            best, least = found, risk
    assert best is not None
    regression = None
    if matrix is None and best.link is not None:
        regression = fit_cost_regression(table, folded, decides_by, settings, most, plan.seed, workers)
    return TrainedPool(best, projection, tried, regression)


def bin_table(
    X: np.ndarray, y: Labels, rows: IntArray, costs: RowCosts, per_row: bool, plan: Plan, workers: Workers
) -> tuple[Table, FoldedRows, Projection | None]:
    """The rows as members see them, fold after fold, their costs in that order, and the linear features."""
    weight = np.zeros(len(X))
    weight[rows] = costs.weight
    usual, fine = usual_bins(plan.binning, plan.max_bins, costs.n_rows, X.shape[1])
    columns = bin_columns(X, rows, weight, plan.binning, workers, usual)
    differ_by = costs.weight, *(costs.table[costs.row].T if per_row else ())
    many = costs.n_rows >= defaults.MANY_ROWS
    cv = defaults.MANY_ROWS_FOLDS if plan.cv is None and many else plan.cv
    folds = folds_of(cv, X, y, rows, columns.binned, costs.label, plan.seed, differ_by)
    if folds.max() == 0:
        return Table(X, rows, columns, columns, None), folded_rows(costs, folds), None
    finer, projection, linear = None, None, None
    if plan.pool:
        if fine != usual and not is_wide(costs.n_rows, X.shape[1]):
            finer = bin_columns(X, rows, weight, plan.binning, workers, fine)
        members = defaults.FOLDS if plan.cv is None and many else None
        columns, projection, linear = linear_columns(
            X, rows, costs.label, costs.weight, folds, columns, plan.binning, usual, workers, members
        )
    order = np.argsort(folds, kind="stable")  # members leave a fold out without a copy of the others
    for part in (columns, finer):
        if part is not None:
            part.reorder(order)
    rows[:] = rows[order]  # in place: copies would be the peak of memory
    costs.reorder(order)
    if columns.n_values > defaults.LINEAR_VALUES:
        give_back()  # what sorting has taken
    return Table(X, rows, columns, finer or columns, linear), folded_rows(costs, folds[order]), projection


# -- a pool ------------------------------------------------------------------------------------------------------------
class Trial(NamedTuple):
    """Members of a kind for the first folds, and what the rows of these say."""

    kind: Kind
    members: list[Member]
    fit: CrossFit


def train_pool(
    plain: Plain, challengers: Sequence[Kind], most: int, matrix: FloatArray, unsure: bool = False,
    bar: ProgressBar | None = None,
) -> Pool:  # fmt: skip
    """Train plain members, then those of the other kinds that left-out rows give a share.

    With one fold nothing is left out: then there is one plain member, `unsure` where rows are too few to leave any out.
    The average keeps its temperature through the last rounds: new rows are as new to each member as those that it left
    out.

    Parameters
    ----------
    plain : Plain
    challengers : sequence of Kind
        None without a link, where there is nothing to average.
    most : int
        Rounds in all.
    matrix : ndarray of shape (K, D)
        Costs by which probabilities decide.
    """
    bar, task, workers = bar or ProgressBar(False), plain.task, plain.workers
    if task.folded.n_folds == 1:
        bar.phase("one member", most, most=most)
        return pool_of(plain.unsure(most) if unsure else plain.alone(most), matrix)
    n_rounds = first_rounds(task.costs.n_rows, most)
    n, groups = task.folded.n_folds if task.every_fold else 1, grouped(challengers)
    phases = Phases(bar, task.costs.n_rows, [n, *(n * group[0].makes_rounds for group in groups)], most)
    phases.begin("plain members", n, 1)
    members = [plain.member(fold) for fold in range(n)]
    fit = cross_fit(plain, members, n_rounds, workers)
    if not task.every_fold and (more := members_beside(fit.n_rounds)):
        n += more
        members += [plain.member(fold) for fold in range(1, n)]
        fit = cross_fit(plain, members, n_rounds, workers)
    elif not task.every_fold:  # its rounds take the time that others would
        challengers, groups = (), []
    pool, constants = pool_of(fit, matrix), [member.constant() for member in members]
    if pool.link is None:
        pool = or_constant(pool, constants, matrix)
    del members  # they hold memory
    phases.usual = fit.judged[-1][0]
    if workers.n > 1:
        phases.begin("challengers", len(groups), 1)
    ahead = workers.map(lambda kind: trial(kind, n, n_rounds), challengers) if workers.n > 1 else []
    for number, rivals in enumerate(groups, 1):  # one after another: what is tried holds memory
        phases.begin(f"{rivals[0].name} members", phases.coming[number], number + 1)
        trials = [ahead.pop(0) if ahead else trial(kind, n, n_rounds) for kind in rivals]
        pool = challenge(pool, trials, n_rounds, workers, matrix)
    if pool.link == STARTS_AT_ZERO:
        pool = or_frequencies(pool, fit, constants, matrix)
    phases.finish(pool.fits)
    return pool._replace(fits=[fit.kind.finish(fit, most) for fit in pool.fits])


def grouped(kinds: Sequence[Kind]) -> list[list[Kind]]:
    """Rivals together."""
    return [list(group) for _, group in itertools.groupby(kinds, key=attrgetter("place"))]


def members_beside(n_rounds: int) -> int:
    """Further members of many rows, where the first one has few rounds: their average has less of each one's chance."""
    return max(1, min(defaults.FOLDS, defaults.ROUNDS_TOGETHER // max(1, n_rounds))) - 1


def trial(kind: Kind, n_members: int, n_rounds: int) -> Trial:
    """Train members of a kind for the first folds, as many as tell."""
    members = kind.members(0, min(kind.tried_on, n_members))
    return Trial(kind, members, cross_fit(kind, members, n_rounds, Workers()))


def challenge(pool: Pool, trials: list[Trial], n_rounds: int, workers: Workers, matrix: FloatArray) -> Pool:
    """The pool with the best of these rivals in it, with as many members, if left-out rows give it a share.

    On many rows with no more members than its rounds allow; the pool is then judged by their folds alone.
    """
    losses = [loss_of(join(pool, tried.fit, matrix), tried.fit.n_folds) for tried in trials]
    best = int(np.argmin(losses)) if np.isfinite(min(losses)) else -1
    for number, tried in enumerate(trials):
        if number != best:
            pool = drop(pool, tried.fit, matrix)
    if best < 0:
        return pool
    kind, first, fit = trials[best]
    n = pool.held.n_folds if kind.task.every_fold else min(pool.held.n_folds, 1 + members_beside(fit.n_rounds))
    members = [*first, *kind.members(len(first), n)]
    fit = cross_fit(kind, members, n_rounds, workers)
    return join(pool, fit, matrix) or drop(pool, fit, matrix)


class Phases:
    """What a progress bar is told of a pool: a member is expected to take as many rounds as the plain ones have.

    `coming` says how many members that make rounds each kind may bring, the plain one first.
    """

    def __init__(self, bar: ProgressBar, n_rows: int, coming: list[int], most: int) -> None:
        self.bar, self.n_rows, self.coming, self.most = bar, n_rows, coming, most
        self.usual = self.longest = first_rounds(n_rows, most)

    def begin(self, what: str, members: int, number: int) -> None:
        """So many members, before the kinds from this number on; last rounds are for all kinds until they begin."""
        later, last = sum(self.coming[number:]) * self.usual, last_rounds(self.n_rows, self.usual, self.most)
        self.bar.phase(what, members * self.usual, later + sum(self.coming) * last, self.longest)

    def finish(self, fits: list[CrossFit]) -> None:
        """The last rounds, on all rows."""
        more = [last_rounds(self.n_rows, fit.n_rounds, self.most) * len(fit.members) for fit in fits]
        self.bar.phase("last rounds", sum(more))
