"""Cross-fitting: members trained on all folds but one, and what their left-out rows say about rounds and temperature.

The model is the average of the members. Rows of a class that are alike in every bin share a fold, so that repeated
rows never vouch for themselves, and a row of weight 2 counts as two rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from minrisk._kernels import links
from minrisk._typing import Binned, FloatArray, Int32Array, IntArray
from minrisk._workers import Workers
from minrisk.boosting import Progress, Recipe, boost
from minrisk.losses.links import Link
from minrisk.monitors import Monitor, RoundInfo
from minrisk.rows.base import RowCosts
from minrisk.rows.local import LocalRows

Codes = IntArray | Int32Array

CHECKPOINTS = 1.25  # ratio of one checkpoint's round to the one before
FIRST_CHECKPOINT = 5
PATIENCE = 3.0  # stop when the round exceeds this many times the best one (and twenty more)
TEMPERATURE_STEP = 1.15
TEMPERATURES = (0.2, 20.0)
LINK_KERNELS = {"sigmoid2": (links.SIGMOID, 2.0), "softmax": (links.SOFTMAX, 1.0)}
FLOOR = float(np.log(1e-12))  # of a log-probability: one row must not decide


class Columns(NamedTuple):
    """Binned features."""

    binned: Binned  # (d, n)
    n_bins: IntArray
    thresholds: tuple[FloatArray, ...]

    def rows(self, features: IntArray, chosen: IntArray) -> Binned:
        """Bins of some features of some rows, in memory of their own."""
        return np.take(self.binned if len(features) == len(self.binned) else self.binned[features], chosen, axis=1)


class Candidate(NamedTuple):
    """A way to train members that may be chosen."""

    surrogate: str
    variant: str
    learning_rate: float
    costs: RowCosts  # what it trains on
    link: Link | None  # of its loss
    recipe: Callable[[LocalRows, tuple[FloatArray, ...]], Recipe]  # for these rows, whose thresholds these are
    features: Callable[[int], IntArray]  # numbers of the columns that the member of a fold sees


class Member(NamedTuple):
    """One trained member and what its left-out rows saw of it."""

    progress: Progress
    left_out: LeftOut | None
    seconds: float


class CrossFit(NamedTuple):
    """A candidate's members, the rounds and the temperature that left-out rows chose, and what those rows said."""

    candidate: Candidate
    members: list[Progress]
    n_rounds: int
    temperature: float
    seen: IntArray  # the left-out rows
    weight: FloatArray  # (m,) theirs; 0 where a member knew nothing of the class
    scores: FloatArray  # (m, D) by the member that did not see the row
    judged: list[tuple[int, float]]  # round and pooled log-loss (or risk) at each checkpoint
    seconds: float


# -- folds -----------------------------------------------------------------------------------------------------------
def fold_numbers(X_binned: Binned, codes: Codes, n_folds: int, seed: int) -> IntArray:
    """Fold of each row (n,): classes spread evenly, equal rows together, at least two rows in each.

    It depends neither on the order of the rows nor on how often a row is there.
    """
    rng = np.random.default_rng([seed, 1])
    key = np.zeros(X_binned.shape[1], dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column, odd in zip(X_binned, rng.integers(1, 2**63, len(X_binned), dtype=np.uint64) | 1, strict=True):
            key += (column.astype(np.uint64) + 1) * odd
            key ^= key >> np.uint64(29)
    order = np.lexsort((key, codes))  # by class, then by a random number
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (np.diff(codes[order]) != 0) | (key[order[1:]] != key[order[:-1]])
    folds, number = np.empty(len(order), dtype=np.int64), np.cumsum(new) - 1
    folds[order] = number % min(n_folds, max(1, (number[-1] + 1) // 2))
    return folds


# -- what left-out rows say --------------------------------------------------------------------------------------------
def log_loss(link: Link, scores: FloatArray, codes: Codes, weight: FloatArray, temperature: float) -> float:
    """Weighted sum of -log p(true class)."""
    kind, slope = LINK_KERNELS[link]
    return float(links.log_loss(kind, slope / temperature, scores, codes, weight, FLOOR))


def least_cost(link: Link | None, scores: FloatArray, temperature: float, cost: FloatArray | None) -> IntArray:
    """Decision of least expected cost where the scores give probabilities, else that of the largest score.

    `cost` is (K, D), or (n, K, D) with a matrix for every row.
    """
    if link is None:
        return np.asarray(scores.argmax(axis=1))
    assert cost is not None
    kind, slope = LINK_KERNELS[link]
    costs = np.ascontiguousarray(cost if np.ndim(cost) == 3 else cost[None], dtype=np.float64)
    return np.asarray(links.least_expected(kind, slope / temperature, scores, costs))


def fit_temperature(
    link: Link, scores: FloatArray, codes: Codes, weight: FloatArray, start: float = 1.0
) -> tuple[float, float]:
    """Temperature of least log-loss, by steps of 15 % downhill from `start`, and the log-loss there."""
    best, least = start, log_loss(link, scores, codes, weight, start)
    for factor in (TEMPERATURE_STEP, 1.0 / TEMPERATURE_STEP):
        moved = False
        while TEMPERATURES[0] <= best * factor <= TEMPERATURES[1]:
            loss = log_loss(link, scores, codes, weight, best * factor)
            if not loss < least:
                break
            best, least, moved = best * factor, loss, True
        if moved:
            break
    return best, least


def checkpoints(n_rounds: int) -> list[int]:
    """Rounds at which left-out rows are looked at, the last one among them."""
    rounds, at = [], float(FIRST_CHECKPOINT)
    while at < n_rounds:
        rounds.append(int(at))
        at = max(at + 1, at * CHECKPOINTS)
    return [*rounds, n_rounds]


class LeftOut:
    """Monitor: scores of the left-out rows at the checkpoints; stops when they have long been better."""

    def __init__(self, rows: LocalRows, link: Link | None, schedule: Sequence[int], seen: np.ndarray) -> None:
        self.rows, self.link, self.schedule = rows, link, schedule
        self.weight = np.where(seen, rows.costs.weight, 0.0)
        self.scores: list[FloatArray] = []  # at round 0 and at each checkpoint that was reached
        self.lost_patience = False
        self._temperature, self._least, self._best_round = 1.0, np.inf, 0

    def before_rounds(self, info: RoundInfo) -> None:
        """Start from the constant term."""
        self.rows.shift(info.shift)
        self._keep_scores()

    def finish(self, n_rounds: int) -> None:
        """The last scores, of a member that stopped learning between two checkpoints."""
        if not self.lost_patience and n_rounds not in (0, *self.schedule):
            self._keep_scores()

    def _keep_scores(self) -> None:
        self.scores.append(self.rows.scores.astype(np.float32))  # half the memory

    def after_round(self, info: RoundInfo) -> bool:
        """Follow the round; at a checkpoint, judge."""
        assert info.learner is not None
        self.rows.respond(info.learner)
        self.rows.advance(info.vectors)
        if info.n_rounds not in self.schedule:
            return False
        self._keep_scores()
        if self.link is None:
            judged = self.rows.risk()
        else:
            label = self.rows.costs.label
            self._temperature, judged = fit_temperature(
                self.link, self.rows.scores, label, self.weight, self._temperature
            )
        if judged < self._least:
            self._least, self._best_round = judged, info.n_rounds
        self.lost_patience = info.n_rounds > PATIENCE * self._best_round + 20
        return self.lost_patience


class Trainer:
    """Trains members of a candidate on parts of the rows."""

    def __init__(self, candidate: Candidate, columns: Columns, workers: Workers, watching: Sequence[Monitor]) -> None:
        self.candidate, self.columns = candidate, columns
        self.workers, self.watching = workers, list(watching)

    def _rows(self, features: IntArray, chosen: IntArray, workers: Workers, trainable: bool = True) -> LocalRows:
        """The chosen rows and their costs."""
        table, row, weight, label = self.candidate.costs
        costs = RowCosts(table, row[chosen], weight[chosen], label[chosen])
        binned = self.columns.rows(features, chosen)
        return LocalRows(binned, self.columns.n_bins[features], costs, workers, trainable=trainable)

    def fold(self, fold: int, folds: IntArray, n_rounds: int, seed: int) -> Member:
        """The member trained on the other folds."""
        begun = time.perf_counter()
        features = self.candidate.features(fold)
        rows = self._rows(features, np.flatnonzero(folds != fold), Workers())
        left_out = self._rows(features, np.flatnonzero(folds == fold), Workers(), trainable=False)
        n_classes = int(self.candidate.costs.label.max()) + 1
        known = np.bincount(rows.costs.label, weights=rows.costs.weight, minlength=n_classes) > 0
        schedule = checkpoints(n_rounds)
        monitor = LeftOut(left_out, self.candidate.link, schedule, known[left_out.costs.label])
        progress = self._boost(rows, features, n_rounds, seed, [monitor, *(self.watching if fold == 0 else [])])
        monitor.finish(len(progress.trees))
        return Member(progress, monitor, time.perf_counter() - begun)

    def alone(self, n_rounds: int, seed: int) -> Member:
        """A member trained on all rows."""
        begun, features = time.perf_counter(), self.candidate.features(0)
        rows = self._rows(features, np.arange(len(self.candidate.costs.label)), self.workers)
        progress = self._boost(rows, features, n_rounds, seed, self.watching)
        return Member(progress, None, time.perf_counter() - begun)

    def _boost(
        self, rows: LocalRows, features: IntArray, n_rounds: int, seed: int, monitors: Sequence[Monitor]
    ) -> Progress:
        """Boost; afterwards the trees name columns of all the features."""
        thresholds = tuple(self.columns.thresholds[j] for j in features.tolist())
        progress = boost(rows, self.candidate.recipe(rows, thresholds), n_rounds, seed, monitors)
        if len(features) < len(self.columns.thresholds):
            number = features.astype(np.int32)
            progress.trees[:] = [tree._replace(feature=number[tree.feature]) for tree in progress.trees]
        return progress


def judge(candidate: Candidate, members: Sequence[Member], folds: IntArray, n_workers: int = 1) -> CrossFit:
    """Choose rounds and temperature on the rows that the members of the first `len(members)` folds left out.

    A member of all rows is kept as it is, at a temperature of 1.
    """
    costs = candidate.costs
    seconds = sum(member.seconds for member in members) / min(len(members), n_workers)
    progress = [member.progress for member in members]
    monitors = [member.left_out for member in members if member.left_out is not None]
    if not monitors:
        seen, none = np.arange(0), np.empty((0, costs.table.shape[1]))
        return CrossFit(candidate, progress, len(progress[0].trees), 1.0, seen, none[:, 0], none, [], seconds)
    seen = np.flatnonzero(folds < len(members))
    part = RowCosts(costs.table, costs.row[seen], costs.weight[seen], costs.label[seen])
    weight = np.empty(len(seen))
    for fold, monitor in enumerate(monitors):
        weight[folds[seen] == fold] = monitor.weight
    rounds, temperature, scores, judged = _choose(monitors, part, weight, folds[seen], candidate.link)
    return CrossFit(candidate, progress, rounds, temperature, seen, weight, scores, judged, seconds)


def _choose(
    monitors: Sequence[LeftOut], costs: RowCosts, weight: FloatArray, folds: IntArray, link: Link | None
) -> tuple[int, float, FloatArray, list[tuple[int, float]]]:
    """Rounds and temperature of least pooled log-loss (without a link: rounds of least risk), and the scores there.

    A member that lost patience ends the search; one that had nothing left to learn stays as it is.
    """
    reached = [len(m.scores) for m in monitors]
    last = min([n for n, m in zip(reached, monitors, strict=True) if m.lost_patience], default=max(reached))
    pooled = np.empty((len(folds), costs.table.shape[1]))
    best, chosen, temperature, running = np.inf, 0, 1.0, 1.0
    rounds, curve = [0, *monitors[0].schedule], []
    for c in range(last):
        for fold, monitor in enumerate(monitors):
            pooled[folds == fold] = monitor.scores[min(c, len(monitor.scores) - 1)]
        if link is None:
            judged = float(costs.weight @ costs.table[costs.row, pooled.argmax(axis=1)])
        else:
            running, judged = fit_temperature(link, pooled, costs.label, weight, running)
        curve.append((rounds[c], judged / float((costs.weight if link is None else weight).sum())))
        if judged < best:
            best, chosen, temperature = judged, c, running
    for fold, monitor in enumerate(monitors):
        pooled[folds == fold] = monitor.scores[min(chosen, len(monitor.scores) - 1)]
    return rounds[chosen], temperature, pooled, curve
