"""Blending: kinds of members averaged by shares that left-out rows choose.

Scores are averaged, so a pool is one additive model: a logarithmic opinion pool of the members' probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from minrisk._memory import give_back
from minrisk._typing import FloatArray
from minrisk.boosting.loop import Progress
from minrisk.ensemble import defaults
from minrisk.ensemble.calibration import fit_temperature, log_loss
from minrisk.ensemble.kind import CrossFit
from minrisk.ensemble.kinds.plain import STARTS_AT_ZERO
from minrisk.model.links import Link
from minrisk.rows.costs import SAME_RISK
from minrisk.rows.folded import HeldOut


class Pool(NamedTuple):
    """Kinds of members and their part in the average."""

    fits: list[CrossFit]
    shares: list[float]  # of the scores
    temperature: float
    held: HeldOut  # averaged scores of left-out rows
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
    link: Link, present: HeldOut, challenger: HeldOut, least_gain: float = defaults.LEAST_GAIN,
    largest_share: float = 1.0,
) -> tuple[float, float]:  # fmt: skip
    """Share of the challenger and temperature of the blend of least log-loss; 0 and 1 where it gains too little.

    Both scores at a temperature of 1. The share climbs by eighths, up to the largest, while the log-loss falls.
    """
    temperature, alone = fit_temperature(link, present)
    share, least, mixed = 0.0, alone, None
    for part in range(1, int(defaults.SHARES * largest_share) + 1):
        mixed = present.mixed(challenger, part / defaults.SHARES, mixed)
        tried, loss = fit_temperature(link, mixed, temperature)
        if not loss < least:
            break
        share, temperature, least = part / defaults.SHARES, tried, loss
    return (share, temperature) if alone - least > least_gain * alone else (0.0, 1.0)


# -- pools -------------------------------------------------------------------------------------------------------------
def pool_of(fit: CrossFit, matrix: FloatArray, dropped: Sequence[CrossFit] = ()) -> Pool:
    """One kind alone; `matrix` (K, D) are the costs by which probabilities decide."""
    return Pool([judged(fit, matrix)], [1.0], fit.temperature, fit.held, list(dropped))


def judged(fit: CrossFit, matrix: FloatArray) -> CrossFit:
    """With its risk, and without the scores, which in a pool of large data are most of what it holds."""
    risk = _risk(fit.held, fit.kind.task.link, fit.temperature, matrix)
    return fit._replace(risk=risk, held=fit.held.forgotten())


def join(pool: Pool, fit: CrossFit, matrix: FloatArray) -> Pool | None:
    """The pool with these members in it, by the rows that they left out; None if these give them no share."""
    assert pool.link is not None
    if not fit.n_rounds:
        return None  # the class frequencies have their place in `or_frequencies`
    kind = fit.kind
    present = pool.held.of_folds(fit.n_folds).divided(pool.temperature)
    challenger = fit.held.divided(fit.temperature)
    share, temperature = blend(pool.link, present, challenger, kind.least_gain, kind.largest_share)
    if share == 0.0:
        joined = None
    elif share == 1.0:
        alone = pool_of(fit, matrix, [*pool.dropped, *pool.fits])
        joined = alone._replace(temperature=fit.temperature * temperature)
    else:
        factors = [s * (1.0 - share) / pool.temperature for s in pool.shares] + [share / fit.temperature]
        total = sum(factors)  # of scores that are divided by `temperature` afterwards
        held, shares = present.mixed(challenger, share, challenger).divided(total), [f / total for f in factors]
        joined = Pool([*pool.fits, judged(fit, matrix)], shares, temperature / total, held, pool.dropped)
    if pool.held.n_rows * pool.held.n_outputs > defaults.FORGETTING_SCORES:
        give_back()  # what the blends were computed in
    return joined


def drop(pool: Pool, fit: CrossFit, matrix: FloatArray) -> Pool:
    """The pool, which remembers that these members were tried."""
    return pool._replace(dropped=[*pool.dropped, judged(fit, matrix)])


def loss_of(pool: Pool | None, n_folds: int) -> float:
    """Log-loss of a pool for the rows of the first folds; infinite if there is none."""
    if pool is None:
        return np.inf
    assert pool.link is not None
    return log_loss(pool.link, pool.held.of_folds(n_folds), pool.temperature, caution=False)


def validated_risk(pool: Pool, matrix: FloatArray) -> float:
    """Mean avoidable cost of the decisions about left-out rows; infinite without any."""
    return _risk(pool.held, pool.link, pool.temperature, matrix)


def _risk(held: HeldOut, link: Link | None, temperature: float, matrix: FloatArray | None) -> float:
    return held.risk(link, temperature, matrix) if held.n_rows else np.inf


# -- where members do no better than a constant ------------------------------------------------------------------------
def or_constant(pool: Pool, constants: list[Progress], matrix: FloatArray) -> Pool:
    """Members trained on costs, or the cheapest decision for all rows where left-out rows say that it costs no more.

    Of equals the members, if they have rounds and it costs anything.
    """
    fit = pool.fits[0]
    held = fit.kind.task.folded.constant([_intercept(made) for made in constants])
    least = _risk(held, None, 1.0, None)
    if fit.n_rounds and least > 0.0 and not fit.risk - least > SAME_RISK * fit.risk:
        return pool
    of_all = fit.kind.task.folded.stated_facts.constant_scores()
    members = [replace(made, intercept=of_all) for made in constants]
    return pool_of(fit._replace(members=members, n_rounds=0, held=held), matrix)


def or_frequencies(pool: Pool, plain: CrossFit, constants: list[Progress], matrix: FloatArray) -> Pool:
    """The pool, or what plain members know without a tree where it has none or does not do better."""
    n_folds = pool.held.n_folds
    held = plain.kind.task.folded.constant([_intercept(made) for made in constants[:n_folds]])
    known = log_loss(STARTS_AT_ZERO, held, 1.0, caution=False)
    if not any(fit.n_rounds for fit in pool.boosted):  # smooth ones start there
        known *= 1.0 - max(fit.kind.least_gain for fit in pool.fits)
    if any(fit.n_rounds for fit in pool.fits) and loss_of(pool, n_folds) < known:
        return pool
    others = [fit for fit in (*pool.dropped, *pool.fits) if fit.kind is not plain.kind]
    return pool_of(plain._replace(members=constants, n_rounds=0, temperature=1.0, held=held), matrix, others)


def _intercept(made: Progress) -> FloatArray:
    assert made.intercept is not None
    return made.intercept
