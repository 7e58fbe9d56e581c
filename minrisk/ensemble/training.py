"""How `MinRiskClassifier` learns, from top to bottom.

1. Bin: `bin_table` bins the features; finer bins, and linear features beside them, are made when first asked for.
2. Folds: the same puts the rows into folds, which stand one after another.
3. Members: `train_ensemble` trains plain members first, each on all folds but one. Members of every other kind are
   first tried without the first fold only, or where few rows or a rare class tell little at once on all (`trial`).
   `challenge` trains a kind for the other folds if the out-of-fold rows of the first one speak for it.
4. Blend: out-of-fold rows weigh all trained kinds again (`minrisk.ensemble.calibration`); a kind of weight 0 has no
   share. Where none has one, all rows get one answer. With a budget of time `vary` lets members with other settings
   join in the same way until it is used up.
5. Finish: members go on for some rounds on all rows (`Kind.finish`), `minrisk.ensemble.finishing` cuts rounds and fits
   all leaf vectors at once, and `minrisk.ensemble.ensemble` makes one model of them.

Where costs differ by row, `fit_cost_regression` comes before the members, whose out-of-fold rows judge it in the end.
Time, interrupts, progress and callbacks are the `Driver`'s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray
from minrisk._utils.workers import Workers
from minrisk.ensemble import defaults
from minrisk.ensemble.cost_regression import CostRegression, fit_cost_regression
from minrisk.ensemble.defaults import Settings
from minrisk.ensemble.driver import Driver, NothingJudged
from minrisk.ensemble.ensemble import (
    Ensemble,
    drop,
    ensemble_of,
    join,
    or_constant,
    pays_beside,
    slope_of,
    validated_risk,
)
from minrisk.ensemble.finishing import finished
from minrisk.ensemble.left_out import Kept, kept_rows
from minrisk.ensemble.logistic import Logistic
from minrisk.ensemble.members import CrossFit, Kind, Member, Task, cross_fit
from minrisk.ensemble.smooth import Smooth
from minrisk.ensemble.table import Table
from minrisk.ensemble.trees import Gentle, Plain, Random, Varied
from minrisk.losses import POSTERIOR, surrogate_loss
from minrisk.rows.costs import CostFacts
from minrisk.rows.folded import FoldedRows

CHALLENGERS: tuple[type[Kind], ...] = (Logistic, Random, Gentle, Smooth)  # to add a kind, write it and name it here
NAMES = ("plain", *(kind.name for kind in CHALLENGERS))  # in the order of training


class Trained(NamedTuple):
    """What a fit has found."""

    ensemble: Ensemble
    lines: list[dict[str, Any]]  # of `report`, about all ensembles
    costs: CostRegression | None  # where costs differ by row and there are probabilities
    left_out: Ensemble | None = None  # as out-of-fold rows know it, each by members that have not seen them
    kept: Kept | None = None  # what the model keeps of rows that were left out


def train(
    table: Table, folded: FoldedRows, n_classes: int, matrix: FloatArray | None, settings: Settings, driver: Driver
) -> Trained:
    """Train an ensemble for each surrogate, and keep the one of least validated risk.

    Parameters
    ----------
    table : Table
    folded : FoldedRows
        With their costs, as stated.
    n_classes : int
    matrix : ndarray of shape (K, D), optional
        The costs, where all rows share one matrix.
    settings : Settings
    driver : Driver
    """
    surrogates = POSTERIOR if settings.surrogate == "auto" else (settings.surrogate,)
    cost = folded.class_costs(n_classes) if matrix is None else matrix
    blind, regression = folded.blind(n_classes), None
    if matrix is None and surrogates[0] in POSTERIOR:
        regression = fit_cost_regression(table, folded, cost, settings, driver)

    def trained(ensembles: Sequence[Ensemble]) -> Trained:
        """Select the ensemble of the least validated risk, and say what is known about all."""
        risks = [validated_risk(one, cost) for one in ensembles]
        best = int(np.argmin(risks))
        lines = [report(one, risks[k], folded.stated_facts, k == best) for k, one in enumerate(ensembles)]
        chosen, learnt = ensembles[best], None
        if regression is not None and chosen.link is not None:
            learnt = regression.validated(chosen.held, chosen.link, chosen.temperature)
        return Trained(with_smooth(chosen), [line for own in lines for line in own], learnt)

    def beside(others: Sequence[Ensemble]) -> Callable[[Ensemble], Trained]:
        """Describe what is found where training ends with one ensemble more."""
        return lambda ensemble: trained([*others, ensemble])

    ensembles, best = list[Ensemble](), 0
    with suppress(NothingJudged):  # what there is before the first ensemble nobody asks to keep
        for surrogate in surrogates:
            if ensembles and not (folded.n_folds > 1 and driver.limited and ensembles[best].seconds < driver.left()):
                break
            driver.watch.bar.part(surrogate, len(surrogates) if driver.limited else 1)
            driver.watch.describe = beside(tuple(ensembles))
            posterior = surrogate in POSTERIOR
            link = surrogate_loss(surrogate).link(blind.cost_facts) if posterior else None
            task = Task(table, blind if posterior else folded, surrogate, link, settings, driver)
            challengers = CHALLENGERS if settings.pool and posterior and folded.n_folds > 1 else ()
            kinds = [kind for cls in challengers if (kind := cls.of(task)) is not None]
            ensembles.append(train_ensemble(Plain(task), kinds, cost, settings.cv != 1))
            best = int(np.argmin([validated_risk(one, cost) for one in ensembles]))
            driver.kept = ensembles[best].finishing
    others = (*ensembles[:best], *ensembles[best + 1 :])
    driver.watch.describe = beside(others)
    varied = vary(ensembles[best], cost)
    kept = kept_rows(varied) if settings.keep_left_out else None
    ensembles[best], left_out = finish(varied)
    return trained(ensembles)._replace(left_out=left_out, kept=kept)


# -- an ensemble -------------------------------------------------------------------------------------------------------
def train_ensemble(plain: Plain, challengers: Sequence[Kind], cost: FloatArray, unsure: bool = False) -> Ensemble:
    """Train plain members, then those of the other kinds that out-of-fold rows give a share.

    With one fold nothing is left out: then there is one plain member, `unsure` where rows are too few to leave any out.
    The average keeps its temperature through the last rounds: new rows are as new to each member as those that it left
    out.

    Parameters
    ----------
    plain : Plain
    challengers : sequence of Kind
        None without a link, where there is nothing to average.
    cost : ndarray of shape (K, D)
        By which probabilities decide.
    """
    task, n = plain.task, plain.task.folded.n_folds
    driver, most = task.driver, task.settings.n_estimators
    if n == 1:
        driver.watch.phase("one member", most, most=most)
        ensemble = ensemble_of(plain.unsure() if unsure else plain.alone(), cost)
        driver.stands(ensemble, 0.0)
        return ensemble
    coming, n_rounds = [n, *(n * kind.makes_rounds for kind in challengers)], task.first_rounds
    driver.expect(coming, n_rounds, task.last_rounds(n_rounds, most))
    driver.begin("plain members", n, 1)
    members = [plain.member(fold) for fold in range(n)]
    fit = cross_fit(plain, members, n_rounds, plain.workers)
    ensemble = ensemble_of(fit, cost)
    if ensemble.link is None:
        ensemble = or_constant(ensemble, [member.constant() for member in members], cost)
    del members  # they hold memory
    driver.stands(ensemble, ensemble.finishing)
    n_rounds = fit.curve[-1][0]  # as many as the others are expected to take
    driver.expect(coming, n_rounds, task.last_rounds(n_rounds, most))
    seconds = fit.seconds * min(n, plain.workers.n) / n
    with suppress(NothingJudged):  # the ensemble stands as it is
        for members_tried, tried in driver.trials(challengers, seconds, plain.workers, partial(trial, plain=fit)):
            found = challenge(ensemble, members_tried, tried, cost)
            if driver.limited and validated_risk(found, cost) > validated_risk(ensemble, cost):
                found = drop(ensemble, tried, cost)
            ensemble = found
            driver.stands(ensemble, ensemble.finishing)
    return ensemble


def trial(kind: Kind, plain: CrossFit | None = None) -> tuple[list[Member], CrossFit]:
    """Train members of a kind for the first folds, as many as tell, in their part of the time that is left for all.

    Boosters go on while their loss may yet come near to that of `plain` ones, since those far above it get no share.
    """
    members, task = kind.members(0, kind.tried_on), kind.task
    part, bar = task.driver.until(len(members) / task.folded.n_folds), math.inf
    if plain is not None and kind.makes_rounds and plain.kind.task.link is not None:
        held = plain.held.of_folds(len(members))
        bar = defaults.HOPELESS * float(held.along(plain.kind.task.link, plain.weight, 0.0)[0]) / (held.weight or 1.0)
    return members, cross_fit(kind, members, kind.tried_rounds, Workers(), part, bar)


def challenge(ensemble: Ensemble, members: list[Member], fit: CrossFit, cost: FloatArray) -> Ensemble:
    """Return the ensemble with as many members of this kind, if the first out-of-fold rows would lose less with it."""
    if not (fit.n_rounds > 0 and slope_of(ensemble, fit)[0] > 0.0 and pays_beside(ensemble, fit)):
        return drop(ensemble, fit, cost)
    members = [*members, *fit.kind.members(len(members), ensemble.held.n_folds)]
    workers = ensemble.plain.kind.workers
    return join(ensemble, cross_fit(fit.kind, members, fit.kind.tried_rounds, workers), cost)


def vary(ensemble: Ensemble, cost: FloatArray) -> Ensemble:
    """Return the ensemble with further members, until the budget of time is used up.

    The first ones go on from the rounds of the plain members, if the price of work ended these, and others have other
    seeds and settings. Each kind joins by the share that out-of-fold rows give it, if their decisions then cost no more
    than before.
    """
    task, n, risk = ensemble.task, ensemble.held.n_folds, validated_risk(ensemble, cost)
    driver, random, number = task.driver, np.random.RandomState(task.settings.seed), 0
    if not driver.limited or ensemble.link is None or not n or not any(fit.n_rounds for fit in ensemble.boosted):
        return ensemble
    with suppress(NothingJudged):
        while risk > 0.0 and (left := driver.left()) > defaults.SHORT_SHARE * driver.seconds:
            usual, number = ensemble.boosted[0], number + 1
            expected = n * usual.curve[-1][0]
            driver.watch.phase(f"variation {number}", expected, max(0.0, left / usual.seconds - 1.0) * expected)
            bases, chosen, factors = [fit.kind for fit in ensemble.boosted], 0, dict[str, float]()
            if number > 1:
                chosen = random.randint(len(bases))
                factors = Varied.drawn(random, task.settings.left_open)
            base = bases[chosen]
            assert isinstance(base, Plain)
            by_price = usual.kind.work(1) > 0.0 and usual.n_rounds == usual.curve[-1][0]  # and not out of patience
            begun = usual.members if number == 1 and by_price else None
            kind = Varied(base, factors, int(random.randint(1 << 31)), begun)
            joined = challenge(ensemble, *trial(kind), cost)
            validated = validated_risk(joined, cost)
            if joined.fits[-1].kind is kind and validated <= risk:
                ensemble, risk = joined, validated
                driver.stands(ensemble, ensemble.finishing)
    return ensemble


def finish(ensemble: Ensemble) -> tuple[Ensemble, Ensemble]:
    """Return the ensemble as it ends, and as out-of-fold rows know it."""
    driver, fits = ensemble.task.driver, [fit for fit in ensemble.fits if fit.n_folds]
    if driver.stop.over:
        return ensemble, ensemble
    driver.watch.phase("last rounds", sum(fit.kind.last_rounds(fit) * len(fit.members) for fit in fits))
    fits = [fit.kind.finish(fit) if fit.n_folds and fit.n_rounds else fit for fit in ensemble.fits]
    ended = ensemble._replace(fits=fits)
    if not driver.stop.over:
        ended, ensemble = finished(ensemble, ended)
    driver.stands(ended, 0.0)
    return ended, ensemble


def with_smooth(ensemble: Ensemble) -> Ensemble:
    """Finish members that have no trees before it, where training has not come to its last rounds."""
    waiting = [fit.n_folds and fit.n_rounds and not fit.n_trees and fit.smooth is None for fit in ensemble.fits]
    fits = [fit.kind.finish(fit) if waits else fit for fit, waits in zip(ensemble.fits, waiting, strict=True)]
    return ensemble._replace(fits=fits)


def report(ensemble: Ensemble, risk: float, costs: CostFacts, is_kept: bool = True) -> list[dict[str, Any]]:
    """Return a line for each kind: plain values, mean stated costs; `risk` is the ensemble's, as validated.

    Kinds of an ensemble that is not kept have no share in the model.
    """
    lines, shares = [], [*(weight * is_kept for weight in ensemble.weights), *([0.0] * len(ensemble.dropped))]
    for fit, share in zip((*ensemble.fits, *ensemble.dropped), shares, strict=True):
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
    return sorted(lines, key=lambda line: NAMES.index(name) if (name := line["variant"]) in NAMES else len(NAMES))
