"""Pools: cross-fitted candidates averaged by shares that left-out rows choose.

Plain members come first. A challenger is first trained without the first fold only; if those rows give it no share it
is dropped, at a fraction of the price, and of rivals only the one whose pool has the least log-loss there goes on.
Scores are averaged, so a pool is one additive model: a logarithmic opinion pool of the members' probabilities.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from minrisk._memory import give_back
from minrisk._sums import weighted_sum
from minrisk._typing import Codes, FloatArray, IntArray
from minrisk._workers import Workers
from minrisk.boosting.loop import Progress
from minrisk.boosting.monitors import ProgressBar
from minrisk.costs.units import LARGEST
from minrisk.data.linear_features import Projection
from minrisk.ensemble.selection import (
    FORGETTING,
    LEAST_GAIN,
    SMOOTH,
    STARTS_AT_ZERO,
    CrossFit,
    CrossFitted,
    Trainer,
    cross_fit,
    first_rounds,
    fit_temperature,
    last_rounds,
    least_cost,
    log_loss,
)
from minrisk.model.additive import AdditiveModel
from minrisk.model.links import Link
from minrisk.model.packed import pack
from minrisk.model.rounded_vectors import RoundedVectors
from minrisk.model.trees import CONSTANT
from minrisk.rows.base import EQUAL, RowCosts

if TYPE_CHECKING:
    from minrisk.ensemble.smooth_members import SmoothTrainer

    AnyTrainer = Trainer | SmoothTrainer

SHARES = 8  # a challenger's share is a multiple of 1/8
SMALLEST_LOSS = 1e-3  # mean log-loss below which gains are counted as if it were this: no mistakes, nothing to gain
RISK_ROWS = 1 << 16  # whose scores are copied in double precision at a time


class Judge(NamedTuple):
    """What decisions about left-out rows are judged by."""

    costs: RowCosts  # what was stated
    matrix: FloatArray  # (K, D) by which probabilities decide: that of the costs, or what they are in the mean


class Pool(NamedTuple):
    """Candidates and their part in the average."""

    fits: list[CrossFit]
    shares: list[float]  # of the scores
    temperature: float
    scores: np.ndarray  # (n, D) float32, averaged, of left-out rows
    dropped: list[CrossFit]  # challengers without a share

    @property
    def link(self) -> Link | None:
        """Of every candidate."""
        return self.fits[0].candidate.link

    @property
    def weights(self) -> list[float]:
        """What each candidate counts for: its share times its temperature, as a share of all."""
        sizes = [share * fit.temperature for fit, share in zip(self.fits, self.shares, strict=True)]
        return [size / sum(sizes) for size in sizes]

    @property
    def seconds(self) -> float:
        """Spent on training."""
        return sum(fit.seconds for fit in (*self.fits, *self.dropped))


# -- pooling -----------------------------------------------------------------------------------------------------------
def blend(
    link: Link, present: np.ndarray, challenger: np.ndarray, codes: Codes, weight: FloatArray,
    least_gain: float = LEAST_GAIN, largest_share: float = 1.0,
) -> tuple[float, float]:
    """Share of the challenger and temperature of the blend of least log-loss; 0 and 1 where it gains too little.

    Both scores at a temperature of 1. The share climbs by eighths, up to the largest, while the log-loss falls.
    """
    temperature, alone = fit_temperature(link, present, codes, weight)
    share, least, mixed = 0.0, alone, np.empty_like(present)
    for eighth in range(1, int(SHARES * largest_share) + 1):
        np.subtract(challenger, present, out=mixed)
        mixed *= eighth / SHARES
        mixed += present
        tried, loss = fit_temperature(link, mixed, codes, weight, temperature)
        if not loss < least:
            break
        share, temperature, least = eighth / SHARES, tried, loss
    worthwhile = alone - least > least_gain * max(alone, SMALLEST_LOSS * float(weight.sum()))
    return (share, temperature) if worthwhile else (0.0, 1.0)


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


def fit_pool(
    trainers: Sequence[AnyTrainer], folds: IntArray, most: int, seed: int, judge: Judge, unsure: bool = False,
    bar: ProgressBar | None = None,
) -> Pool:  # fmt: skip
    """Train the first candidate, then those of the others that left-out rows give a share.

    With one fold nothing is left out, and without a link there is nothing to average: then there is the first only,
    `unsure` where rows are too few to leave any out.
    Where all that does not beat the class frequencies, these are the answer. Members of the pool end with some rounds
    on all rows; the average keeps its temperature: new rows are as new to each as those that it left out. `most` rounds
    in all; `judge` has the costs that decisions are judged by; `bar` is told what is being done.
    """
    plain, bar = cast("Trainer", trainers[0]), bar or ProgressBar(False)
    workers = plain.workers
    n_folds = int(folds.max()) + 1
    if n_folds == 1:
        bar.phase("one member", most, most=most)
        fit = plain.unsure(most, seed) if unsure else plain.alone(most, seed)
        return _alone(fit, judge, [])
    n_rows = plain.candidate.costs.n_rows
    n_rounds = first_rounds(n_rows, most)

    def members(trainer: AnyTrainer, first: int, last: int) -> list[Any]:
        return [trainer.fold(fold, folds, seed + fold) for fold in range(first, last)]

    def trial(trainer: AnyTrainer) -> tuple[list[CrossFitted], CrossFit]:
        first = members(trainer, 0, min(trainer.candidate.tried_on, n_folds))
        return first, cross_fit(trainer.candidate, first, folds, n_rounds, Workers())

    def join(pool: Pool, fit: CrossFit) -> Pool | None:
        found = _join(pool, fit, judge)
        if pool.scores.size > FORGETTING:
            give_back()  # what the blends were computed in
        return found

    def drop(pool: Pool, fit: CrossFit) -> Pool:
        return pool._replace(dropped=[*pool.dropped, _judged(fit, judge, pool.link)])

    def challenged(pool: Pool, rivals: list[AnyTrainer], trials: list[tuple[list[CrossFitted], CrossFit]]) -> Pool:
        losses = [_loss(join(pool, tried), tried) for _, tried in trials]
        best = int(np.argmin(losses)) if np.isfinite(min(losses)) else -1
        for number, (_, tried) in enumerate(trials):
            if number != best:
                pool = drop(pool, tried)
        if best < 0:
            return pool
        trainer, first = rivals[best], trials[best][0]
        trained = [*first, *members(trainer, len(first), n_folds)]
        tried = cross_fit(trainer.candidate, trained, folds, n_rounds, workers)
        return join(pool, tried) or drop(pool, tried)

    challengers = trainers[1:] if plain.candidate.link is not None else []
    groups = [list(group) for _, group in itertools.groupby(challengers, key=_contested)]
    coming = [n_folds, *(n_folds * (group[0].candidate.variant != SMOOTH) for group in groups)]
    phases = Phases(bar, n_rows, coming, most)
    phases.begin("plain members", n_folds, 1)
    own = members(plain, 0, n_folds)
    pool = _alone(cross_fit(plain.candidate, own, folds, n_rounds, workers), judge, [])
    fit, constants = pool.fits[0], [member.constant() for member in own]
    if pool.link is None:
        pool = _or_constant(pool, constants, folds, judge)
    del own  # they hold memory
    phases.usual = fit.judged[-1][0]
    if workers.n > 1:
        phases.begin("challengers", len(groups), 1)
    trials = workers.map(trial, challengers) if workers.n > 1 else []
    for number, rivals in enumerate(groups, 1):  # one after another: what is tried holds memory
        phases.begin(f"{rivals[0].candidate.variant} members", coming[number], number + 1)
        pool = challenged(pool, rivals, [trials.pop(0) if trials else trial(trainer) for trainer in rivals])
    if pool.link == STARTS_AT_ZERO:
        pool = _or_frequencies(pool, fit, constants, folds, judge)
    phases.finish(pool.fits)
    own_trainer = {id(trainer.candidate): trainer for trainer in trainers}
    return pool._replace(fits=[own_trainer[id(fit.candidate)].finish(fit, most, seed) for fit in pool.fits])


def _contested(trainer: AnyTrainer) -> str:
    """The place that rivals strive for."""
    return trainer.candidate.rival or trainer.candidate.variant


def _or_constant(pool: Pool, constants: list[Progress], folds: IntArray, judge: Judge) -> Pool:
    """Members trained on costs, or the cheapest decision for all rows where left-out rows say that it is no dearer.

    Of equals the members, if they have rounds and it costs anything.
    """
    fit, scores = pool.fits[0], np.array([made.intercept for made in constants])[folds]
    least = _risk(scores, None, 1.0, judge)
    if fit.n_rounds and least > 0.0 and not fit.risk - least > EQUAL * fit.risk:
        return pool
    of_all = judge.costs.constant_scores()
    members = [replace(made, intercept=of_all) for made in constants]
    return _alone(fit._replace(members=members, n_rounds=0, scores=scores.astype(np.float32)), judge, [])


def _or_frequencies(
    pool: Pool, plain: CrossFit, constants: list[Progress], folds: IntArray, judge: Judge
) -> Pool:  # fmt: skip
    """The pool, or what plain members know without a tree where it has none or does not do better."""
    log_p = np.array([made.intercept for made in constants])
    scores = log_p.astype(np.float32)[folds]
    known = log_loss(STARTS_AT_ZERO, scores, plain.candidate.costs.label, plain.weight, 1.0, caution=False)
    if not any(fit.n_rounds for fit in boosted(pool)):  # smooth ones start there
        known *= 1.0 - max(fit.candidate.least_gain for fit in pool.fits)
    if any(fit.n_rounds for fit in pool.fits) and _loss(pool, plain) < known:
        return pool
    others = [fit for fit in (*pool.dropped, *pool.fits) if fit.candidate is not plain.candidate]
    return _alone(plain._replace(members=constants, n_rounds=0, temperature=1.0, scores=scores), judge, others)


def _alone(fit: CrossFit, judge: Judge, dropped: list[CrossFit]) -> Pool:
    return Pool([_judged(fit, judge, fit.candidate.link)], [1.0], fit.temperature, fit.scores, dropped)


def _judged(fit: CrossFit, judge: Judge, link: Link | None) -> CrossFit:
    """With its risk, and without the scores, which in a pool of large data are most of what it holds."""
    seen = judge._replace(costs=judge.costs.at(fit.seen))
    return fit._replace(risk=_risk(fit.scores, link, fit.temperature, seen), scores=fit.scores[:0].copy())


def _loss(joined: Pool | None, fit: CrossFit) -> float:
    """Log-loss of the pool that the candidate has joined; infinite if it has not."""
    if joined is None:
        return np.inf
    assert joined.link is not None
    codes = fit.candidate.costs.label[fit.seen]
    return log_loss(joined.link, joined.scores, codes, fit.weight, joined.temperature, caution=False)


def _join(pool: Pool, fit: CrossFit, judge: Judge) -> Pool | None:
    """The pool with the candidate in it, by the rows that its members left out; None if they give it no share."""
    assert pool.link is not None
    if not fit.n_rounds:
        return None  # the class frequencies have their place in `_or_frequencies`
    present, challenger = pool.scores[fit.seen], fit.scores / fit.temperature
    present /= pool.temperature
    share, temperature = blend(
        pool.link, present, challenger, fit.candidate.costs.label[fit.seen], fit.weight,
        fit.candidate.least_gain, fit.candidate.largest_share,
    )  # fmt: skip
    if share == 0.0:
        return None
    if share == 1.0:
        alone = _alone(fit, judge, [*pool.dropped, *pool.fits])
        return alone._replace(temperature=fit.temperature * temperature)
    factors = [s * (1.0 - share) / pool.temperature for s in pool.shares] + [share / fit.temperature]
    total = sum(factors)  # of scores that are divided by `temperature` afterwards
    challenger -= present
    challenger *= share
    challenger += present
    challenger /= total
    fits = [*pool.fits, _judged(fit, judge, pool.link)]
    return Pool(fits, [f / total for f in factors], temperature / total, challenger, pool.dropped)


def boosted(pool: Pool) -> list[CrossFit]:
    """All but smooth members: at least the plain ones."""
    return [fit for fit in pool.fits if fit.candidate.variant != SMOOTH]


def pooled_model(pool: Pool, n_features: int, projection: Projection | None) -> AdditiveModel:
    """The average as one model, whose rounds hold a tree of every member; the projection only where it is used."""
    longest, smooth = max(fit.n_rounds for fit in boosted(pool)), None
    intercept = np.zeros(pool.scores.shape[1])
    members: list[tuple[Progress, int, float, float]] = []
    for fit, share, weight in zip(pool.fits, pool.shares, pool.weights, strict=True):
        for member in fit.members:
            intercept += share / len(fit.members) * np.asarray(member.intercept)
            if member.smooth is not None:
                smooth = member.smooth.times(share)  # one member, of all rows
            else:
                members.append((member, fit.n_rounds, share / len(fit.members), weight / len(fit.members)))
    D = pool.scores.shape[1]
    trees, weights, rounded = [], [], [RoundedVectors.of(np.empty((0, D)))]
    for t in range(longest):
        vectors = []
        for member, last, factor, weight in members:
            grown = t < min(last, len(member.trees))  # a member that is done stands still
            trees.append(member.trees[t] if grown else CONSTANT)
            vectors.append(factor * member.vectors[t] if grown else np.zeros((1, D)))
            weights.append(weight)
        rounded.append(RoundedVectors.of(np.concatenate(vectors)))
    packed = pack(trees)
    gain = (packed.gain * np.repeat(weights, np.diff(packed.offsets))[packed.named]).astype(np.float32)
    packed = replace(packed, gain=gain)  # which nothing but importances is computed from
    if projection is not None:
        used = np.unique(packed.feature[packed.feature >= n_features]).astype(np.int64) - n_features
        number = np.arange(n_features + projection.n_columns)
        number[n_features + used] = n_features + np.arange(len(used))
        packed.feature[:] = number[packed.feature]
        projection = projection.take(used) if len(used) else None
    return AdditiveModel(
        packed, RoundedVectors.joined(rounded), intercept, n_features, pool.link, len(members), pool.temperature,
        projection, smooth,
    )  # fmt: skip


def validated_risk(pool: Pool, judge: Judge) -> float:
    """Mean avoidable cost of the decisions about left-out rows; infinite without any."""
    return _risk(pool.scores, pool.link, pool.temperature, judge)


def _risk(scores: np.ndarray, link: Link | None, temperature: float, judge: Judge) -> float:
    if not len(scores):
        return np.inf
    costs, matrix = judge
    parts = [slice(a, a + RISK_ROWS) for a in range(0, len(scores), RISK_ROWS)]
    decisions = np.concatenate([least_cost(link, scores[p].astype(float), temperature, matrix) for p in parts])
    return float(weighted_sum(costs.weight, costs.table[costs.row, decisions]) / costs.weight.sum())


def mean_losses(pool: Pool) -> FloatArray:
    """Training loss before round 1 and after every round, averaged over all boosters; the last one goes on."""
    n = 1 + max(fit.n_rounds for fit in boosted(pool))
    curves = [member.losses[: fit.n_rounds + 1] for fit in boosted(pool) for member in fit.members]
    padded = np.array([curve + curve[-1:] * (n - len(curve)) for curve in curves])
    with np.errstate(over="ignore"):  # of costs near the end of float64
        means = padded.mean(axis=0)
        bounded = np.minimum((padded / len(padded)).sum(axis=0), LARGEST)
    return np.asarray(np.where(np.isfinite(means), means, bounded))


def report(pool: Pool, risk: float, costs: RowCosts) -> list[dict[str, Any]]:
    """A line per candidate: plain values, mean stated costs; `risk` is the pool's, as validated."""
    lines, shares = [], [*pool.weights, *([0.0] * len(pool.dropped))]
    for fit, share in zip((*pool.fits, *pool.dropped), shares, strict=True):
        lines.append({
            "surrogate": fit.candidate.surrogate, "variant": fit.candidate.variant, "share": share,
            "n_rounds": fit.n_rounds, "temperature": fit.temperature,
            "risk": costs.at(fit.seen).stated(fit.risk) if np.isfinite(fit.risk) else None,
            "pooled_risk": costs.stated(risk) if np.isfinite(risk) else None, "seconds": fit.seconds,
        })  # fmt: skip
    return lines
