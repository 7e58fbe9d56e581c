"""Cross-fitting: members trained on all folds but one, and what their left-out rows say about rounds and temperature.

The model of a candidate is the average of its members. Rows that are alike in every bin share a fold, so that repeated
rows never vouch for themselves, and a row of weight 2 counts as two rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from minrisk._kernels import links
from minrisk._typing import Binned, FloatArray, IntArray
from minrisk._workers import Workers
from minrisk.boosting import Progress, Recipe, boost
from minrisk.losses.links import Link
from minrisk.monitors import Monitor, RoundInfo
from minrisk.rows.base import RowCosts
from minrisk.rows.local import LocalRows

CHECKPOINTS = 1.25  # ratio of one checkpoint's round to the one before
FIRST_CHECKPOINT = 5
PATIENCE = 3.0  # stop when the round exceeds this many times the best one (and twenty more)
TEMPERATURE_STEP = 1.15
TEMPERATURES = (0.2, 20.0)
LINK_KERNELS = {"sigmoid2": (links.SIGMOID, 2.0), "softmax": (links.SOFTMAX, 1.0)}
FLOOR = float(np.log(1e-12))  # of a log-probability: one row must not decide


class Candidate(NamedTuple):
    """A surrogate that may be chosen."""

    surrogate: str
    learning_rate: float
    costs: RowCosts  # what it trains on
    recipe: Callable[[RowCosts, float, int], Recipe]


class CrossFit(NamedTuple):
    """A candidate's members, cut to the rounds that the left-out rows chose."""

    candidate: Candidate
    members: list[Progress]
    link: Link | None
    n_rounds: int
    temperature: float
    scores: FloatArray  # (n, D) of every row by the member that did not see it
    judged: list[tuple[int, float]]  # round and pooled log-loss (or risk) at each checkpoint
    seen: np.ndarray  # (n,) whether that member knew the row's class
    seconds: float


# -- folds -----------------------------------------------------------------------------------------------------------
def fold_numbers(X_binned: Binned, codes: IntArray, n_folds: int, seed: int) -> IntArray:
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
def log_loss(link: Link, scores: FloatArray, codes: IntArray, weight: FloatArray, temperature: float) -> float:
    """Weighted sum of -log p(true class)."""
    kind, slope = LINK_KERNELS[link]
    return float(links.log_loss(kind, slope / temperature, scores, codes, weight, FLOOR))


def fit_temperature(
    link: Link, scores: FloatArray, codes: IntArray, weight: FloatArray, start: float = 1.0
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
        self.rows, self.link, self.schedule = rows, link, set(schedule)
        self.weight = np.where(seen, rows.costs.weight, 0.0)
        self.scores: list[FloatArray] = []  # at round 0 and at each checkpoint that was reached
        self.lost_patience = False
        self._temperature, self._least, self._best_round = 1.0, np.inf, 0

    def before_rounds(self, info: RoundInfo) -> None:
        """Start from the constant term."""
        self.rows.shift(info.shift)
        self._keep_scores()

    def _keep_scores(self) -> None:
        self.scores.append(self.rows.scores.astype(np.float32))  # half the memory

    def after_round(self, info: RoundInfo) -> bool:
        """Follow the round; at a checkpoint, judge."""
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


def cross_fit(
    candidate: Candidate, X_binned: Binned, n_bins: IntArray, folds: IntArray, n_rounds: int, seed: int,
    workers: Workers, watching: Sequence[Monitor] = (),
) -> CrossFit:  # fmt: skip
    """Train a candidate's members, side by side on the workers' threads, and choose rounds and temperature.

    `watching` are monitors of the first member.

    With one fold (all rows 0) the only member is trained on everything and nothing is chosen.
    """
    begun = time.perf_counter()
    costs, n_folds = candidate.costs, int(folds.max()) + 1
    schedule = checkpoints(n_rounds)
    seen = np.ones(len(folds), dtype=np.bool_)
    loss_link: list[Link | None] = [None] * n_folds

    def part(rows: IntArray, trainable: bool, inner: Workers) -> LocalRows:
        chosen = RowCosts(costs.table, costs.row[rows], costs.weight[rows], costs.label[rows])
        return LocalRows(X_binned[:, rows], n_bins, chosen, inner, trainable=trainable)

    def train(fold: int) -> tuple[Progress, LeftOut | None]:
        inner = Workers() if n_folds > 1 else workers
        training, left_out = (np.arange(len(folds)), None) if n_folds == 1 else (
            np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        )
        rows = part(training, True, inner)
        recipe = candidate.recipe(rows.costs, candidate.learning_rate, rows.n_samples)
        loss_link[fold] = recipe.loss.link(rows.costs)
        if left_out is None:
            return boost(rows, recipe, n_rounds, seed, watching), None
        known = np.zeros(int(costs.label.max()) + 1, dtype=np.bool_)
        known[rows.costs.label[rows.costs.weight > 0]] = True
        seen[left_out] = known[costs.label[left_out]]
        monitor = LeftOut(part(left_out, False, inner), loss_link[fold], schedule, seen[left_out])
        return boost(rows, recipe, n_rounds, seed + fold, [monitor, *(watching if fold == 0 else ())]), monitor

    trained = workers.map(train, range(n_folds))
    members = [progress for progress, _ in trained]
    link = loss_link[0]
    if n_folds == 1:
        rounds, temperature, judged = len(members[0].trees), 1.0, []
        scores = np.zeros((len(folds), costs.table.shape[1]))
    else:
        monitors = [monitor for _, monitor in trained if monitor is not None]
        rounds, temperature, scores, judged = _choose(monitors, costs, folds, seen, link, schedule)
    return CrossFit(candidate, members, link, rounds, temperature, scores, judged, seen, time.perf_counter() - begun)


def _choose(
    monitors: Sequence[LeftOut], costs: RowCosts, folds: IntArray, seen: np.ndarray, link: Link | None,
    schedule: Sequence[int],
) -> tuple[int, float, FloatArray, list[tuple[int, float]]]:
    """Rounds and temperature of least pooled log-loss (without a link: rounds of least risk), and the scores there.

    A member that lost patience ends the search; one that had nothing left to learn stays as it is.
    """
    reached = [len(m.scores) for m in monitors]
    last = min([n for n, m in zip(reached, monitors, strict=True) if m.lost_patience], default=max(reached))
    weight = np.where(seen, costs.weight, 0.0)
    pooled = np.empty((len(folds), costs.table.shape[1]))
    best, chosen, temperature, running = np.inf, 0, 1.0, 1.0
    rounds, curve = [0, *schedule], []
    for c in range(last):
        for fold, monitor in enumerate(monitors):
            pooled[folds == fold] = monitor.scores[min(c, len(monitor.scores) - 1)]
        if link is None:
            judged = float(costs.weight @ costs.table[costs.row, pooled.argmax(axis=1)])
        else:
            running, judged = fit_temperature(link, pooled, costs.label, weight, running)
        curve.append((rounds[c], judged / float(costs.weight.sum())))
        if judged < best:
            best, chosen, temperature = judged, c, running
    for fold, monitor in enumerate(monitors):
        pooled[folds == fold] = monitor.scores[min(chosen, len(monitor.scores) - 1)]
    return rounds[chosen], temperature, pooled, curve
