"""The average of a pool's members as one additive model, and what is said about it."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np

from minrisk._typing import FloatArray
from minrisk.boosting.loop import Progress
from minrisk.costs.units import LARGEST_FLOAT
from minrisk.ensemble import defaults
from minrisk.ensemble.blending import Pool
from minrisk.ensemble.kind import CrossFit, Kind
from minrisk.ensemble.kinds import CHALLENGERS, Plain
from minrisk.model.additive import AdditiveModel, pack
from minrisk.model.links import LINK_KERNELS, Link
from minrisk.model.projection import Projection
from minrisk.model.rounded_vectors import RoundedVectors, shortened
from minrisk.model.trees import CONSTANT, by_levels
from minrisk.rows.costs import CostFacts


def pooled_model(pool: Pool, n_features: int, projection: Projection | None) -> AdditiveModel:
    """The average as one model, whose rounds hold a tree of every member; the projection only where it is used."""
    longest, smooth = pool.n_rounds, None
    members: list[tuple[Progress, int, float, float]] = []
    for fit, share, weight in zip(pool.fits, pool.shares, pool.weights, strict=True):
        if fit.smooth is not None:
            smooth = fit.smooth.times(share)  # one member, of all rows
        else:
            n, beside = len(fit.members), max(1, -(-fit.n_trees // max(1, longest)))  # of a member's trees, in a round
            for member, first in itertools.product(fit.members, range(beside)):
                part = Progress(member.trees[first::beside], member.vectors[first::beside])
                members.append((part, -(-fit.n_trees // beside), share / n, weight / n))
    D = pool.held.n_outputs
    if smooth is not None and not members:
        members = [(Progress([CONSTANT], [np.zeros((1, D))]), 1, 0.0, 0.0)]
    exponent = rounding_exponent(pool.link, pool.temperature, sum(last for _, last, _, _ in members))
    trees, weights, rounded = [], [], [RoundedVectors.of(np.empty((0, D)), exponent)]
    for t in range(longest):
        vectors = []
        for member, last, factor, weight in members:
            grown = t < min(last, len(member.trees))  # a member that is done stands still
            trees.append(member.trees[t] if grown else CONSTANT)
            vectors.append(factor * member.vectors[t] if grown else np.zeros((1, D)))
            weights.append(weight)
        rounded.append(RoundedVectors.of(np.concatenate(vectors), exponent))
    packed = pack(trees)
    gain = packed.gain * np.repeat(weights, np.diff(packed.offsets))[packed.named]
    packed = replace(packed, gain=shortened(gain))  # which nothing but importances is computed from
    if projection is not None:
        used = np.unique(packed.feature[packed.feature >= n_features]).astype(np.int64) - n_features
        number = np.arange(n_features + projection.n_columns)
        number[n_features + used] = n_features + np.arange(len(used))
        packed.feature[:] = number[packed.feature]
        projection = projection.take(used) if len(used) else None
    packed, of_leaves = by_levels(packed, RoundedVectors.joined(rounded))
    return AdditiveModel(
        packed,
        of_leaves,
        pool.intercept,
        n_features,
        pool.link,
        max(1, len(members)),
        pool.temperature,
        projection,
        smooth,
    )


def rounding_exponent(link: Link | None, temperature: float, n_trees: int) -> int:
    """Of the power of two that vectors are whole multiples of.

    Rounding n vectors to multiples of q moves their sum by q sqrt(n / 12) (the standard deviation, errors being uniform
    and independent), and log-odds by that over the temperature. q is the largest power of two for which this is at most
    `ROUNDING`.
    """
    slope = 1.0 if link is None else LINK_KERNELS[link][1]
    return math.floor(math.log2(defaults.ROUNDING * temperature / slope * math.sqrt(12.0 / max(1, n_trees))))


def mean_losses(pool: Pool) -> FloatArray:
    """Training loss before round 1 and after every round, averaged over all boosters; the last one goes on."""
    fits = pool.boosted or [pool.plain._replace(n_rounds=0)]
    n = 1 + pool.n_rounds
    curves = [member.losses[: fit.n_rounds + 1] for fit in fits for member in fit.members]
    padded = np.array([curve + curve[-1:] * (n - len(curve)) for curve in curves])
    with np.errstate(over="ignore"):  # of costs near the end of float64
        means = padded.mean(axis=0)
        bounded = np.minimum((padded / len(padded)).sum(axis=0), LARGEST_FLOAT)
    return np.asarray(np.where(np.isfinite(means), means, bounded))


def no_signal(pool: Pool) -> str:
    """Why a pool answers all rows alike: what left-out rows said of its members, and what to try."""
    kinds = len({fit.kind.name for fit in (*pool.fits, *pool.dropped)})
    members = f"members of {kinds} kinds" if kinds > 1 else "trees"
    least, n_rows = min(loss for _, loss in pool.plain.judged[1:]), pool.plain.held.n_rows
    if pool.link is None:
        constant, own = pool.plain.held.stated(pool.plain.risk), "the mean cost"
        other = f"one decision for all {constant:.4g}"
    else:
        own, other = "the log-loss", f"the class frequencies {pool.plain.judged[0][1]:.4g}"
    return (
        f"left-out rows show no signal: with {members} {own} of {n_rows} rows was {least:.4g} at best, with {other}, a "
        "difference that chance may make. Try more rows, other features, more rounds (n_estimators) or other folds (cv)"
    )


def report(pool: Pool, risk: float, costs: CostFacts, is_kept: bool = True) -> list[dict[str, Any]]:
    """A line per kind: plain values, mean stated costs; `risk` is the pool's, as validated.

    Kinds of a pool that is not kept have no share in the model.
    """
    kinds: tuple[type[Kind], ...] = (Plain, *CHALLENGERS)
    names = [kind.name for kind in kinds]

    def trained(line: tuple[CrossFit, float]) -> int:
        """In which order."""
        return names.index(line[0].kind.name) if line[0].kind.name in names else len(names)

    lines, shares = [], [*(weight * is_kept for weight in pool.weights), *([0.0] * len(pool.dropped))]
    for fit, share in sorted(zip((*pool.fits, *pool.dropped), shares, strict=True), key=trained):
        lines.append(
            {
                "surrogate": fit.kind.task.surrogate,
                "variant": fit.kind.name,
                "share": float(share),
                "n_rounds": fit.n_rounds,
                "temperature": 1.0 / fit.weight if fit.weight else 1.0,
                "risk": fit.held.stated(fit.risk) if np.isfinite(fit.risk) else None,
                "pooled_risk": float(costs.stated(risk)) if np.isfinite(risk) else None,
                "seconds": fit.seconds,
            }
        )
    return lines
