"""How `MinRiskClassifier` learns, from top to bottom.

1. `bin_table`: bins of the features; finer ones, and linear features beside them, when they are first asked for.
2. `folds_of`: rows into folds, which stand one after another.
3. `train_pool`: plain members first, each on all folds but one. Members of every other kind are first trained without
   the first fold only, or where few rows or a rare class tell little at once on all (`trial`).
4. `challenge`: a kind is trained for the other folds if the left-out rows of the first one speak for it (`promises`).
   Then left-out rows weigh all trained kinds again (`minrisk.ensemble.calibration`); a kind of weight 0 has no share.
   Where none has one, all rows get one answer.
5. `vary`: with a budget of time, members with other settings join in the same way until it is used up.
6. `Kind.finish`: members go on for some rounds on all rows; `minrisk.ensemble.average` makes one model of them.

Where costs differ by row, `fit_cost_regression` comes before the pool, whose left-out rows judge it in the end.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from minrisk._memory import give_back
from minrisk._typing import FloatArray, IntArray, Labels
from minrisk._workers import Workers
from minrisk.boosting.watching import Watch
from minrisk.data.chunks import CodedLabels
from minrisk.ensemble import defaults, sizes
from minrisk.ensemble.average import report
from minrisk.ensemble.blending import Pool, drop, join, or_constant, pool_of, slope_of, validated_risk
from minrisk.ensemble.budget import Budget
from minrisk.ensemble.columns import bin_columns, linear_columns, weight_of
from minrisk.ensemble.cost_regression import CostRegression, fit_cost_regression
from minrisk.ensemble.cross_fitting import NothingJudged, cross_fit, finishing, first_rounds, last_rounds
from minrisk.ensemble.folds import folds_of
from minrisk.ensemble.kind import CrossFit, Kind, Member, Settings, Table, Task, is_wide
from minrisk.ensemble.kinds import CHALLENGERS, Plain
from minrisk.ensemble.kinds.variation import Factors, Variation
from minrisk.losses import POSTERIOR, surrogate_loss
from minrisk.model.projection import Projection
from minrisk.rows.columns import Columns
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
    left_open: frozenset[str]  # parameters that the caller did not state
    seed: int
    n_given: int  # features that are given: others are made of them
    group: IntArray | None = None  # (N,) of all rows, which belong together
    source: IntArray | None = None  # (d,): the feature of X that each was made of
    folds: IntArray | None = None  # (N,) of a splitter, which was asked before


class TrainedPool(NamedTuple):
    """What a fit has found."""

    pool: Pool
    projection: Projection | None
    tried: list[dict[str, Any]]  # lines of `report`
    costs: CostRegression | None  # where costs differ by row and there are probabilities
    judged: Pool | None = None  # before the last rounds, as left-out rows know it


def train(
    X: Any,
    y: Labels | CodedLabels,
    rows: IntArray,
    costs: RowCosts,
    n_classes: int,
    matrix: FloatArray | None,
    plan: Plan,
    settings: Settings,
    workers: Workers,
    watch: Watch,
) -> TrainedPool:
    """Train a pool for each surrogate, and keep the one of least validated risk.

    Parameters
    ----------
    X : ndarray, SparseRows or RowBlocks of shape (N, d)
    y : ndarray or CodedLabels of shape (N,)
        For splitters that `cv` may be.
    rows : ndarray of int, (n,)
        Of X, that count; put into the order of the folds.
    costs : RowCosts
        Theirs, as stated; the same.
    n_classes : int
    matrix : ndarray of shape (K, D), optional
        The costs, where all rows share one matrix.
    plan, settings
    workers : Workers
    watch : Watch
        Told what is being done, and who may ask that it end: then the model is what there is.
    """
    budget = Budget(plan.time_budget, time.perf_counter(), watch.stop)
    table, folded = bin_table(X, y, rows, costs, matrix is None, plan, workers)
    if watch.checkpoint is not None:
        watch.checkpoint.same("cv", rows, folded.gathered().bounds)
    return train_on(table, folded, costs.n_rows, n_classes, matrix, plan, settings, workers, watch, budget)


def train_on(
    table: Table,
    folded: FoldedRows,
    n_rows: int,
    n_classes: int,
    matrix: FloatArray | None,
    plan: Plan,
    settings: Settings,
    workers: Workers,
    watch: Watch,
    budget: Budget,
) -> TrainedPool:
    """`train`, of rows that are in their folds; they count as `n_rows`."""
    decides_by = folded.class_costs(n_classes) if matrix is None else matrix
    blind = folded.blind(n_classes)
    costs, most = None, plan.n_estimators or sizes.n_rounds(n_rows)
    if matrix is None and plan.surrogates[0] in POSTERIOR:
        part = budget.until(defaults.COST_SHARE)
        costs = fit_cost_regression(table, folded, decides_by, settings, most, plan.seed, workers, part, watch.run)
    if budget.limited:
        most = plan.n_estimators or defaults.BUDGET_ROUNDS
    pools, best = list[Pool](), 0

    def found(pools: Sequence[Pool]) -> TrainedPool:
        """The pool of the least validated risk, and what is said about all."""
        risks = [validated_risk(pool, decides_by) for pool in pools]
        best = int(np.argmin(risks))
        tried = [report(pool, risks[k], folded.stated_facts, k == best) for k, pool in enumerate(pools)]
        chosen, regression = pools[best], None
        if costs is not None and chosen.link is not None:
            regression = costs.judged(chosen.held, chosen.link, chosen.temperature)
        return TrainedPool(
            with_smooth(chosen, most), table.projection, list(itertools.chain.from_iterable(tried)), regression
        )

    for surrogate in plan.surrogates:
        if pools and not (folded.n_folds > 1 and budget.limited and pools[best].seconds < budget.left()):
            break
        watch.part(surrogate, len(plan.surrogates) if budget.limited else 1)
        watch.describe = partial(_with_others, found, tuple(pools))
        posterior = surrogate in POSTERIOR
        link = surrogate_loss(surrogate).link(blind.cost_facts) if posterior else None
        task = Task(
            table,
            blind if posterior else folded,
            surrogate,
            link,
            settings,
            plan.seed,
            workers,
            watch.watching,
            budget,
            plan.left_open,
            watch.run,
        )
        challengers = CHALLENGERS if plan.pool and posterior and folded.n_folds > 1 else ()
        kinds = [kind for cls in challengers if (kind := cls.of(task)) is not None]
        try:
            pools.append(train_pool(Plain(task), kinds, most, decides_by, plan.cv != 1, watch))
        except NothingJudged:  # what there is before the first pool nobody asks to keep
            break
        best = int(np.argmin([validated_risk(pool, decides_by) for pool in pools]))
        budget.kept = finishing(pools[best].fits, most)
    watch.describe = partial(_with_others, found, (*pools[:best], *pools[best + 1 :]))
    pools[best] = vary(pools[best], most, decides_by, watch)
    judged = pools[best]
    pools[best] = finished(judged, most, watch)
    return found(pools)._replace(judged=judged)


def _with_others(found: Callable[[Sequence[Pool]], TrainedPool], others: Sequence[Pool], pool: Pool) -> TrainedPool:
    """What is found where training ends with this pool beside others."""
    return found((*others, pool))


def bin_table(
    X: Any, y: Labels | CodedLabels, rows: IntArray, costs: RowCosts, per_row: bool, plan: Plan, workers: Workers
) -> tuple[Table, FoldedRows]:
    """The rows as members see them, fold after fold, and their costs in that order."""
    weight = weight_of(X, rows, costs.weight)
    usual, fine = sizes.n_bins(plan.binning, plan.max_bins, costs.n_rows, X.shape[1])
    columns = bin_columns(X, rows, weight, plan.binning, workers, usual)
    differ_by = costs.weight, *(costs.table[costs.row].T if per_row else ())
    stated = plan.cv if plan.folds is None else plan.folds
    given = columns.thresholds[: plan.n_given]
    folds = folds_of(stated, X, given, y, rows, costs.label, plan.seed, differ_by, plan.group)
    if folds.max() == 0:
        return Table(X, rows, columns), folded_rows(costs, folds)
    order = np.argsort(folds, kind="stable")  # members leave a fold out without a copy of the others
    columns.reorder(order)
    rows[:] = rows[order]  # in place: copies would be the peak of memory
    costs.reorder(order)
    folds = folds[order]
    del order, weight
    if columns.n_values > defaults.LINEAR_VALUES:
        give_back()  # what sorting has taken

    def bin_finer() -> Columns:
        return bin_columns(X, rows, weight_of(X, rows, costs.weight), plan.binning, workers, fine)

    def add_linear() -> tuple[Projection, list[IntArray]] | None:
        return linear_columns(X, rows, costs.label, costs.weight, folds, columns, plan.binning, usual, workers)

    finer = plan.pool and fine != usual and not is_wide(costs.n_rows, X.shape[1])
    table = Table(X, rows, columns, bin_finer if finer else None, add_linear if plan.pool else None, plan.source)
    return table, folded_rows(costs, folds)


# -- a pool ------------------------------------------------------------------------------------------------------------
class Trial(NamedTuple):
    """Members of a kind for the first folds, and what the rows of these say."""

    kind: Kind
    members: list[Member]
    fit: CrossFit


def train_pool(
    plain: Plain,
    challengers: Sequence[Kind],
    most: int,
    matrix: FloatArray,
    unsure: bool = False,
    watch: Watch | None = None,
) -> Pool:
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
    watch, task, workers = watch or Watch(), plain.task, plain.workers
    if task.folded.n_folds == 1:
        watch.phase("one member", most, most=most)
        pool = pool_of(plain.unsure(most) if unsure else plain.alone(most), matrix)
        watch.stands(pool)
        return pool
    n_rounds = first_rounds(task.costs.n_rows, most)
    n = task.folded.n_folds
    phases = Phases(watch, task.costs.n_rows, most)
    phases.expect(n, challengers)
    phases.begin("plain members", n, 1)
    members = [plain.member(fold) for fold in range(n)]
    fit = cross_fit(plain, members, n_rounds, workers)
    pool = pool_of(fit, matrix)
    if pool.link is None:
        pool = or_constant(pool, [member.constant() for member in members], matrix)
    del members  # they hold memory
    phases.usual = fit.judged[-1][0]
    watch.stands(pool)
    return with_challengers(pool, challengers, n_rounds, workers, matrix, phases)


def with_challengers(
    pool: Pool, challengers: Sequence[Kind], n_rounds: int, workers: Workers, matrix: FloatArray, phases: Phases
) -> Pool:
    """The pool after each challenger has striven for a place in it, as far as there is time."""
    plain, n = pool.fits[0], pool.held.n_folds
    budget, usual = plain.kind.task.budget, plain.seconds * min(n, workers.n) / n
    budget.kept = finishing(pool.fits, phases.most)
    if budget.left() < usual / workers.n:  # for no kind: what only these see is not prepared
        return pool
    stop = budget.stop
    with stop.giving_up():
        kinds = [kind for kind in challengers if not stop.over and kind.ready()]
    if stop.over:
        return pool
    phases.expect(n, kinds)
    if workers.n > 1:
        if budget.left() < usual * len(kinds) / workers.n:
            return pool
        phases.begin("challengers", len(kinds), 1)
    try:
        ahead = workers.map(lambda kind: trial(kind, n_rounds), kinds) if workers.n > 1 else []
    except NothingJudged:
        return pool
    for number, kind in enumerate(kinds, 1):  # one after another: what is tried holds memory
        if not ahead and budget.left() < usual:
            break
        phases.begin(f"{kind.name} members", phases.coming[number], number + 1)
        try:
            tried = ahead.pop(0) if ahead else trial(kind, n_rounds)
            found = challenge(pool, tried, n_rounds, workers, matrix)
        except NothingJudged:  # the pool stands as it is
            break
        if not budget.limited or validated_risk(found, matrix) <= validated_risk(pool, matrix):
            pool = found
            phases.watch.stands(pool)
        budget.kept = finishing(pool.fits, phases.most)
    return pool


def vary(pool: Pool, most: int, matrix: FloatArray, watch: Watch) -> Pool:
    """The pool with members of its kinds that have other seeds and settings, until the budget of time is used up.

    Each joins by the share that left-out rows give it, if their decisions then cost no more than before.
    """
    task, n, risk = pool.fits[0].kind.task, pool.held.n_folds, validated_risk(pool, matrix)
    budget, random, number = task.budget, np.random.RandomState(task.seed), 0
    n_rounds, workers = first_rounds(task.costs.n_rows, most), pool.fits[0].kind.workers
    if not budget.limited or pool.link is None or not n or not any(fit.n_rounds for fit in pool.boosted):
        return pool
    while risk > 0.0 and (left := budget.left()) > defaults.SHORT_SHARE * budget.seconds:
        usual, number = pool.boosted[0], number + 1
        expected = n * usual.judged[-1][0]
        watch.phase(f"variation {number}", expected, max(0.0, left / usual.seconds - 1.0) * expected)
        bases = [fit.kind.base if isinstance(fit.kind, Variation) else fit.kind for fit in pool.boosted]
        base, factors = bases[0], Factors()
        if number > 1:
            base, factors = bases[random.randint(len(bases))], Factors.drawn(random, task.left_open)
        assert isinstance(base, Plain)
        kind = Variation(base, factors, int(random.randint(1 << 31)))
        try:
            joined = challenge(pool, trial(kind, n_rounds), n_rounds, workers, matrix)
        except NothingJudged:
            break
        cost = validated_risk(joined, matrix)
        if joined.fits[-1].kind is kind and cost <= risk:
            pool, risk = joined, cost
            watch.stands(pool)
            budget.kept = finishing(pool.fits, most)
    return pool


def finished(pool: Pool, most: int, watch: Watch) -> Pool:
    """With the last rounds of its members."""
    n_rows = pool.fits[0].kind.task.costs.n_rows
    fits = [fit for fit in pool.fits if fit.n_folds]
    more = sum(last_rounds(n_rows, fit.n_rounds, fit.kind.most_rounds(most)) * len(fit.members) for fit in fits)
    if not watch.stop.over:
        watch.phase("last rounds", more)
    pool = pool._replace(
        fits=[fit.kind.finish(fit, most) if fit.n_folds and fit.n_rounds else fit for fit in pool.fits]
    )
    watch.stands(pool)
    return pool


def with_smooth(pool: Pool, most: int) -> Pool:
    """With the members of all rows that those without trees end as, where training has not come to its last rounds."""
    waiting = [fit.n_folds and fit.n_rounds and not fit.n_trees and fit.smooth is None for fit in pool.fits]
    fits = [fit.kind.finish(fit, most) if waits else fit for fit, waits in zip(pool.fits, waiting, strict=True)]
    return pool._replace(fits=fits)


def trial(kind: Kind, n_rounds: int) -> Trial:
    """Train members of a kind for the first folds, as many as tell, in their part of the time that is left for all."""
    members = kind.members(0, kind.tried_on)
    part = kind.task.budget.until(len(members) / kind.task.folded.n_folds)
    return Trial(kind, members, cross_fit(kind, members, n_rounds, Workers(), part))


def challenge(pool: Pool, tried: Trial, n_rounds: int, workers: Workers, matrix: FloatArray) -> Pool:
    """The pool with this kind in it, with as many members, if left-out rows give it a share."""
    kind, first, fit = tried
    if not promises(pool, fit):
        return drop(pool, fit, matrix)
    members = [*first, *kind.members(len(first), pool.held.n_folds)]
    return join(pool, cross_fit(kind, members, n_rounds, workers), matrix)


def promises(pool: Pool, fit: CrossFit) -> bool:
    """Whether the first left-out rows would lose less with a part of this kind in the pool."""
    return fit.n_rounds > 0 and slope_of(pool, fit)[0] > 0.0


class Phases:
    """What those who watch learn about a pool: a member is expected to take as many rounds as the plain ones have.

    `coming` says how many members that make rounds each kind may bring, the plain one first.
    """

    def __init__(self, watch: Watch, n_rows: int, most: int) -> None:
        self.watch, self.n_rows, self.most, self.coming = watch, n_rows, most, list[int]()
        self.usual = self.longest = first_rounds(n_rows, most)

    def expect(self, n_members: int, challengers: Sequence[Kind]) -> None:
        """So many plain members, and as many of each of these kinds."""
        self.coming = [n_members, *(n_members * kind.makes_rounds for kind in challengers)]

    def begin(self, what: str, members: int, number: int) -> None:
        """So many members, before the kinds from this number on; last rounds are for all kinds until they begin."""
        later, last = sum(self.coming[number:]) * self.usual, last_rounds(self.n_rows, self.usual, self.most)
        self.watch.phase(what, members * self.usual, later + sum(self.coming) * last, self.longest)
