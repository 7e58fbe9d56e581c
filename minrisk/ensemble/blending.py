"""Blending: kinds of members averaged by shares that left-out rows choose.

Scores are averaged, so a pool is one additive model: a logarithmic opinion pool of the members' probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from minrisk._memory import give_back
from minrisk._sums import weighted_sum
from minrisk._typing import Codes, FloatArray
from minrisk.boosting.loop import Progress
from minrisk.ensemble import defaults
from minrisk.ensemble.calibration import fit_temperature, log_loss
from minrisk.ensemble.kind import CrossFit
from minrisk.ensemble.kinds.plain import STARTS_AT_ZERO
from minrisk.model.decisions import least_cost
from minrisk.model.links import Link
from minrisk.rows.costs import SAME_RISK, RowCosts

RISK_ROWS = 1 << 16  # whose scores are copied in double precision at a time


class Judge(NamedTuple):
    """What decisions about left-out rows are judged by."""

    costs: RowCosts  # what was stated
    matrix: FloatArray  # (K, D) by which probabilities decide: that of the costs, or what they are in the mean


class Pool(NamedTuple):
    """Kinds of members and their part in the average."""

    fits: list[CrossFit]
    shares: list[float]  # of the scores
    temperature: float
    scores: np.ndarray  # (n, D) float32, averaged, of left-out rows
    dropped: list[CrossFit]  # challengers without a share

    @property
    def link(self) -> Link | None:
        """Of every kind."""
        return self.fits[0].kind.task.link

    @property
    def boosted(self) -> list[CrossFit]:
        """Those whose members make rounds: at least the plain ones."""
        return [fit for fit in self.fits if fit.kind.makes_rounds]

    @property
    def weights(self) -> list[float]:
        """What each kind counts for: its share times its temperature, as a share of all."""
        sizes = [share * fit.temperature for fit, share in zip(self.fits, self.shares, strict=True)]
        return [size / sum(sizes) for size in sizes]

    @property
    def seconds(self) -> float:
        """Spent on training."""
        return sum(fit.seconds for fit in (*self.fits, *self.dropped))


def blend(
    link: Link, present: np.ndarray, challenger: np.ndarray, codes: Codes, weight: FloatArray,
    least_gain: float = defaults.LEAST_GAIN, largest_share: float = 1.0,
) -> tuple[float, float]:  # fmt: skip
    """Share of the challenger and temperature of the blend of least log-loss; 0 and 1 where it gains too little.

    Both scores at a temperature of 1. The share climbs by eighths, up to the largest, while the log-loss falls.
    """
    temperature, alone = fit_temperature(link, present, codes, weight)
    share, least, mixed = 0.0, alone, np.empty_like(present)
    for part in range(1, int(defaults.SHARES * largest_share) + 1):
        np.subtract(challenger, present, out=mixed)
        mixed *= part / defaults.SHARES
        mixed += present
        tried, loss = fit_temperature(link, mixed, codes, weight, temperature)
        if not loss < least:
            break
        share, temperature, least = part / defaults.SHARES, tried, loss
    return (share, temperature) if alone - least > least_gain * alone else (0.0, 1.0)


# -- pools -------------------------------------------------------------------------------------------------------------
def pool_of(fit: CrossFit, judge: Judge, dropped: Sequence[CrossFit] = ()) -> Pool:
    """One kind alone."""
    return Pool([judged(fit, judge)], [1.0], fit.temperature, fit.scores, list(dropped))


def judged(fit: CrossFit, judge: Judge) -> CrossFit:
    """With its risk, and without the scores, which in a pool of large data are most of what it holds."""
    seen = judge._replace(costs=judge.costs.at(fit.seen))
    risk = _risk(fit.scores, fit.kind.task.link, fit.temperature, seen)
    return fit._replace(risk=risk, scores=fit.scores[:0].copy())


def join(pool: Pool, fit: CrossFit, judge: Judge) -> Pool | None:
    """The pool with these members in it, by the rows that they left out; None if these give them no share."""
    assert pool.link is not None
    if not fit.n_rounds:
        return None  # the class frequencies have their place in `or_frequencies`
    kind = fit.kind
    present, challenger = pool.scores[fit.seen], fit.scores / fit.temperature
    present /= pool.temperature
    share, temperature = blend(
        pool.link, present, challenger, kind.task.costs.label[fit.seen], fit.weight, kind.least_gain, kind.largest_share
    )
    if share == 0.0:
        joined = None
    elif share == 1.0:
        alone = pool_of(fit, judge, [*pool.dropped, *pool.fits])
        joined = alone._replace(temperature=fit.temperature * temperature)
    else:
        factors = [s * (1.0 - share) / pool.temperature for s in pool.shares] + [share / fit.temperature]
        total = sum(factors)  # of scores that are divided by `temperature` afterwards
        challenger -= present
        challenger *= share
        challenger += present
        challenger /= total
        shares = [factor / total for factor in factors]
        joined = Pool([*pool.fits, judged(fit, judge)], shares, temperature / total, challenger, pool.dropped)
    if pool.scores.size > defaults.FORGETTING_SCORES:
        give_back()  # what the blends were computed in
    return joined


def drop(pool: Pool, fit: CrossFit, judge: Judge) -> Pool:
    """The pool, which remembers that these members were tried."""
    return pool._replace(dropped=[*pool.dropped, judged(fit, judge)])


def loss_of(pool: Pool | None, fit: CrossFit) -> float:
    """Log-loss of a pool for the rows that these members left out; infinite if there is none."""
    if pool is None:
        return np.inf
    assert pool.link is not None
    codes = fit.kind.task.costs.label[fit.seen]
    return log_loss(pool.link, pool.scores, codes, fit.weight, pool.temperature, caution=False)


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


# -- where members do no better than a constant ------------------------------------------------------------------------
def or_constant(pool: Pool, constants: list[Progress], judge: Judge) -> Pool:
    """Members trained on costs, or the cheapest decision for all rows where left-out rows say that it is no dearer.

    Of equals the members, if they have rounds and it costs anything.
    """
    fit = pool.fits[0]
    scores = np.array([made.intercept for made in constants])[fit.kind.task.table.folds]
    least = _risk(scores, None, 1.0, judge)
    if fit.n_rounds and least > 0.0 and not fit.risk - least > SAME_RISK * fit.risk:
        return pool
    of_all = judge.costs.constant_scores()
    members = [replace(made, intercept=of_all) for made in constants]
    return pool_of(fit._replace(members=members, n_rounds=0, scores=scores.astype(np.float32)), judge)


def or_frequencies(pool: Pool, plain: CrossFit, constants: list[Progress], judge: Judge) -> Pool:
    """The pool, or what plain members know without a tree where it has none or does not do better."""
    task = plain.kind.task
    scores = np.array([made.intercept for made in constants]).astype(np.float32)[task.table.folds]
    known = log_loss(STARTS_AT_ZERO, scores, task.costs.label, plain.weight, 1.0, caution=False)
    if not any(fit.n_rounds for fit in pool.boosted):  # smooth ones start there
        known *= 1.0 - max(fit.kind.least_gain for fit in pool.fits)
    if any(fit.n_rounds for fit in pool.fits) and loss_of(pool, plain) < known:
        return pool
    others = [fit for fit in (*pool.dropped, *pool.fits) if fit.kind is not plain.kind]
    return pool_of(plain._replace(members=constants, n_rounds=0, temperature=1.0, scores=scores), judge, others)
