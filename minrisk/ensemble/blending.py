"""Blending: kinds of members averaged by weights that left-out rows choose, all at once.

Scores are averaged, so a pool is one additive model: a logarithmic opinion pool of the members' probabilities.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from minrisk._typing import FloatArray
from minrisk.boosting.loop import Progress
from minrisk.ensemble import defaults
from minrisk.ensemble.calibration import Mixture, fit_mixture
from minrisk.ensemble.kind import CrossFit
from minrisk.model.links import LINK_KERNELS, Link
from minrisk.rows.costs import SAME_RISK
from minrisk.rows.folded import HeldOut


class Pool(NamedTuple):
    """Kinds of members and their part in the average."""

    fits: list[CrossFit]
    shares: FloatArray  # of the scores
    temperature: float
    intercept: FloatArray  # (D,) of the scores
    held: HeldOut  # averaged scores of left-out rows
    dropped: list[CrossFit]  # challengers without a share
    mixture: Mixture | None = None  # what the shares come from; None: nothing was left out, or there is no link

    @property
    def link(self) -> Link | None:
        """Of every kind."""
        return self.fits[0].kind.task.link

    @property
    def plain(self) -> CrossFit:
        """The kind that was trained first, with a part or without."""
        return next(fit for fit in (*self.fits, *self.dropped) if fit.kind.name == "plain")

    @property
    def boosted(self) -> list[CrossFit]:
        """Select those whose members make rounds."""
        return [fit for fit in self.fits if fit.kind.makes_rounds]

    @property
    def n_rounds(self) -> int:
        """Count its model's: of boosters; else a tree of each other kind is one, and kernels alone are one as well."""
        of_trees = max((fit.n_rounds for fit in self.boosted), default=0) or max(fit.n_trees for fit in self.fits)
        return of_trees or int(any(fit.n_rounds for fit in self.fits))

    @property
    def answers_alike(self) -> bool:
        """Whether left-out rows left no kind a part, so that all rows get one answer."""
        return self.held.n_folds > 0 and not any(fit.n_rounds for fit in self.fits)

    @property
    def weights(self) -> list[float]:
        """Say what each kind counts for: its share in how far the kinds move log-odds."""
        if self.mixture is None:
            return [float(share) for share in self.shares]
        sizes = self.mixture.moves.tolist()
        return [size / sum(sizes) for size in sizes] if any(sizes) else [1.0 / len(sizes)] * len(sizes)

    @property
    def seconds(self) -> float:
        """Spent on training."""
        return sum(fit.seconds for fit in (*self.fits, *self.dropped))


# -- pools -------------------------------------------------------------------------------------------------------------
def pool_of(fit: CrossFit, matrix: FloatArray) -> Pool:
    """One kind alone; `matrix` (K, D) are the costs by which probabilities decide."""
    link = fit.kind.task.link
    if link is not None and fit.n_folds:
        return mixed([judged(fit, matrix)], np.array([fit.weight]), [])
    intercept = np.mean([np.asarray(made.intercept) for made in fit.members], axis=0)
    temperature = 1.0 if link is None else 1.0 / fit.weight
    return Pool([judged(fit, matrix)], np.ones(1), temperature, intercept, fit.held, [])


def mixed(fits: list[CrossFit], start: FloatArray, dropped: list[CrossFit]) -> Pool:
    """Weigh these kinds by left-out rows. Those of weight 0 have no part; without any, the class frequencies stay."""
    link, folded = fits[0].kind.task.link, fits[0].kind.task.folded
    assert link is not None
    doubt = np.array([fit.doubt for fit in fits])
    frequencies = np.exp(folded.cost_facts.log_frequencies())
    mixture = fit_mixture(link, [fit.held for fit in fits], frequencies, doubt, start)
    kept = mixture.weights > 0.0
    if not kept.any():
        fits = [without_rounds(fits[0]), *fits[1:]]
        kept[0] = True
    dropped = [*dropped, *(fit for fit, has in zip(fits, kept, strict=True) if not has)]
    fits = [fit for fit, has in zip(fits, kept, strict=True) if has]
    mixture = mixture._replace(weights=mixture.weights[kept], moves=mixture.moves[kept])
    total = float(mixture.weights.sum())
    temperature = 1.0 / total if total > 0.0 else 1.0
    shares = mixture.weights / (total or 1.0)
    first, *others = [fit.held for fit in fits]
    held = first.mixed(others, link, shares, temperature, mixture.shift)
    intercept = temperature / LINK_KERNELS[link][1] * (folded.known(link) + mixture.shift)
    intercept = np.rint(intercept * 2.0**24) * 2.0**-24  # on the grid that a model puts it on
    return Pool(fits, shares, temperature, intercept, held, dropped, mixture)


def without_rounds(fit: CrossFit) -> CrossFit:
    """Forget the rounds of a kind."""
    members = [replace(made, trees=[], vectors=[], losses=made.losses[:1]) for made in fit.members]
    return fit._replace(members=members, n_rounds=0)


def slope_of(pool: Pool, fit: CrossFit) -> tuple[float, float]:
    """Find what a unit of weight of another kind takes off the loss of its left-out rows at first, and the error."""
    assert pool.link is not None and pool.mixture is not None
    parts = [*(part.held.of_folds(fit.n_folds) for part in pool.fits), fit.held]
    weights = np.append(pool.mixture.weights, 0.0)
    sums = parts[0].mixture(parts[1:], pool.link, weights, pool.mixture.shift, 0.0)
    return -float(sums[len(parts)]), float(np.sqrt(sums[2 * len(parts)]))


def judged(fit: CrossFit, matrix: FloatArray) -> CrossFit:
    """Add the risk of its own decisions."""
    link, held = fit.kind.task.link, fit.held
    if link is None:
        return fit._replace(risk=_risk(held, None, 1.0, matrix))
    if not fit.n_folds:
        return fit
    temperature, shift = 1.0 / fit.weight if fit.weight else 1.0, np.zeros(held.n_outputs)
    shares = np.array([float(fit.weight > 0.0)])
    return fit._replace(risk=_risk(held.mixed([], link, shares, temperature, shift), link, temperature, matrix))


def join(pool: Pool, fit: CrossFit, matrix: FloatArray) -> Pool:
    """The pool with these members, and all others that have been trained, as left-out rows weigh them."""
    if not fit.n_rounds:
        return drop(pool, fit, matrix)
    fit = judged(fit._replace(doubt=defaults.DOUBT * slope_of(pool, fit)[1]), matrix)
    known = [part for part in (*pool.fits, *pool.dropped) if part.n_folds >= fit.n_folds and part.n_rounds]
    others = [part for part in (*pool.fits, *pool.dropped) if part.n_folds < fit.n_folds or not part.n_rounds]
    weights = {id(part): weight for part, weight in zip(pool.fits, pool.shares / pool.temperature, strict=True)}
    start = np.array([weights.get(id(part), 0.0) for part in (*known, fit)])
    if not start.any():
        start[-1] = fit.weight
    return mixed([*known, fit], start, others)


def drop(pool: Pool, fit: CrossFit, matrix: FloatArray) -> Pool:
    """The pool, which remembers that these members were tried."""
    return pool._replace(dropped=[*pool.dropped, judged(fit, matrix)])


def validated_risk(pool: Pool, matrix: FloatArray) -> float:
    """Mean avoidable cost of the decisions about left-out rows; infinite without any."""
    return _risk(pool.held, pool.link, pool.temperature, matrix)


def _risk(held: HeldOut, link: Link | None, temperature: float, matrix: FloatArray | None) -> float:
    return held.risk(link, temperature, matrix) if held.n_rows else np.inf


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


def _intercept(made: Progress) -> FloatArray:
    assert made.intercept is not None
    return made.intercept
