"""An ensemble: kinds of members averaged by weights that out-of-fold rows choose, all at once, and its model.

Scores are averaged, so an ensemble is one additive model: a logarithmic opinion pool of the members' probabilities.

Stages of the model say after which of its rounds a decision stands. The scores of an out-of-fold row are those of the
members that have not seen it, so leads are as large as those of new rows. The last rounds, on all rows, are not among
them; a stage of the model therefore stands for the same share of the rounds that out-of-fold rows know.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import fsum
from typing import NamedTuple

import numpy as np

from minrisk._kernels.functions import exp
from minrisk._kernels.predict import needed_leads
from minrisk._typing import FloatArray, IntArray
from minrisk.boosting.loop import Progress
from minrisk.costs import CostMatrix
from minrisk.costs.units import LARGEST_FLOAT
from minrisk.ensemble import defaults
from minrisk.ensemble.calibration import Mixture, fit_mixture, fit_weight, loss_beside
from minrisk.ensemble.members import CrossFit, Task
from minrisk.model.additive import AdditiveModel, pack
from minrisk.model.cascade import NEVER, Cascade, DecisionRule, stage_rounds
from minrisk.model.links import LINK_KERNELS, Link, expected_costs
from minrisk.model.rounded_vectors import RoundedVectors, shortened
from minrisk.model.trees import CONSTANT, by_levels
from minrisk.rows.costs import SAME_RISK
from minrisk.rows.folded import HeldOut
from minrisk.rows.rows import Rows


class Ensemble(NamedTuple):
    """Kinds of members and their part in the average.

    Its shares and its shift come from `mixture`, which is None where nothing was left out, or there is no link.
    """

    fits: list[CrossFit]
    shares: FloatArray  # of the scores
    temperature: float
    intercept: FloatArray  # (D,) of the scores
    held: HeldOut  # averaged scores of out-of-fold rows
    dropped: list[CrossFit]  # challengers without a share
    mixture: Mixture | None = None

    @property
    def task(self) -> Task:
        """Return what every kind is trained for."""
        return self.fits[0].kind.task

    @property
    def link(self) -> Link | None:
        """From scores to probabilities: that of every kind."""
        return self.task.link

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
        """Count the rounds of its model: of boosters; without any, the trees of a member, or one for kernels alone."""
        of_trees = max((fit.n_rounds for fit in self.boosted), default=0) or max(fit.n_trees for fit in self.fits)
        return of_trees or int(any(fit.n_rounds for fit in self.fits))

    @property
    def answers_alike(self) -> bool:
        """Whether out-of-fold rows left no kind a part, so that all rows get one answer."""
        return self.held.n_folds > 0 and not any(fit.n_rounds for fit in self.fits)

    @property
    def weights(self) -> list[float]:
        """Say what each kind counts for: its share in how far the kinds move log-odds."""
        if self.mixture is None:
            return [float(share) for share in self.shares]
        sizes = self.mixture.moves.tolist()
        return [size / math.fsum(sizes) for size in sizes] if any(sizes) else [1.0 / len(sizes)] * len(sizes)

    @property
    def seconds(self) -> float:
        """Seconds spent on training."""
        return sum(fit.seconds for fit in (*self.fits, *self.dropped))

    @property
    def finishing(self) -> float:
        """Seconds that finishing it will take."""
        return sum(fit.finishing for fit in self.fits)

    def of_folds(self, n_folds: int) -> Ensemble:
        """Return what the rows of the first folds know."""
        fits = [fit._replace(members=fit.members[:n_folds], held=fit.held.of_folds(n_folds)) for fit in self.fits]
        return self._replace(fits=fits, held=self.held.of_folds(n_folds))


# -- weights and shares ------------------------------------------------------------------------------------------------
def ensemble_of(fit: CrossFit, cost: FloatArray) -> Ensemble:
    """Return one kind alone; `cost` (K, D) are the costs by which probabilities decide."""
    link, fit = fit.kind.task.link, with_risk(fit, cost)
    if link is not None and fit.n_folds:
        return mixed([fit], np.array([fit.weight]), [])
    intercept = np.mean([np.asarray(made.intercept) for made in fit.members], axis=0)
    return Ensemble([fit], np.ones(1), 1.0 if link is None else 1.0 / fit.weight, intercept, fit.held, [])


def mixed(fits: list[CrossFit], start: FloatArray, dropped: list[CrossFit]) -> Ensemble:
    """Weigh these kinds by out-of-fold rows.

    Those of weight 0 have no part; without any, the class frequencies stay, as the first kind without its rounds.
    """
    task = fits[0].kind.task
    link, folded = task.link, task.folded
    assert link is not None
    doubt = np.array([fit.doubt for fit in fits])
    frequencies = exp(folded.cost_facts.log_frequencies())
    mixture = fit_mixture(link, [fit.held for fit in fits], frequencies, doubt, start)
    kept = mixture.weights > 0.0
    if not kept.any():
        # The first kind stands for the class frequencies, since a model needs members.
        members = [replace(made, trees=[], vectors=[], losses=made.losses[:1]) for made in fits[0].members]
        fits = [fits[0]._replace(members=members, n_rounds=0), *fits[1:]]
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
    return Ensemble(fits, shares, temperature, on_grid(intercept), held, dropped, mixture)


def on_grid(intercept: FloatArray) -> FloatArray:
    """Round to the grid that the intercept of a model lies on."""
    return np.asarray(np.rint(intercept * 2.0**24) * 2.0**-24)


def slope_of(ensemble: Ensemble, fit: CrossFit) -> tuple[float, float]:
    """Find what a unit of weight of another kind takes off the loss of its out-of-fold rows at first, and the error."""
    assert ensemble.link is not None and ensemble.mixture is not None
    parts = [*(part.held.of_folds(fit.n_folds) for part in ensemble.fits), fit.held]
    weights = np.append(ensemble.mixture.weights, 0.0)
    sums = parts[0].mixture(parts[1:], ensemble.link, weights, ensemble.mixture.shift, 0.0)
    return -float(sums[len(parts)]), float(np.sqrt(sums[2 * len(parts)]))


def pays_beside(ensemble: Ensemble, fit: CrossFit) -> bool:
    """Tell whether its out-of-fold rows would lose enough less with this kind beside the others, for its time."""
    assert ensemble.link is not None
    whole = ensemble.held.of_folds(fit.n_folds)
    before, now = loss_beside(ensemble.link, whole, ensemble.temperature, fit.held)
    done = math.fsum(part.work for part in ensemble.fits)
    return defaults.pays(before, now, fit.curve[0][1], done, done + fit.work, defaults.POOLED)


def with_risk(fit: CrossFit, cost: FloatArray) -> CrossFit:
    """Add the risk of its own decisions."""
    link, held = fit.kind.task.link, fit.held
    if link is None:
        return fit._replace(risk=_risk(held, None, 1.0, cost))
    if not fit.n_folds:
        return fit
    temperature, shift = 1.0 / fit.weight if fit.weight else 1.0, np.zeros(held.n_outputs)
    shares = np.array([float(fit.weight > 0.0)])
    return fit._replace(risk=_risk(held.mixed([], link, shares, temperature, shift), link, temperature, cost))


def join(ensemble: Ensemble, fit: CrossFit, cost: FloatArray) -> Ensemble:
    """Return it with these members, and all others that have been trained, as out-of-fold rows weigh them."""
    if not fit.n_rounds:
        return drop(ensemble, fit, cost)
    fit = with_risk(fit._replace(doubt=defaults.DOUBT * slope_of(ensemble, fit)[1]), cost)
    trained = [*ensemble.fits, *ensemble.dropped]
    # Kinds of weight 0 so far may have one beside the new one; those tried on fewer folds cannot be weighed with it.
    known = [part for part in trained if part.n_folds >= fit.n_folds and part.n_rounds]
    others = [part for part in trained if part.n_folds < fit.n_folds or not part.n_rounds]
    weights = {id(part): w for part, w in zip(ensemble.fits, ensemble.shares / ensemble.temperature, strict=True)}
    start = np.array([weights.get(id(part), 0.0) for part in (*known, fit)])
    if not start.any():  # at 0 the slopes of all kinds are those of scores that say nothing
        start[-1] = fit.weight
    return mixed([*known, fit], start, others)


def drop(ensemble: Ensemble, fit: CrossFit, cost: FloatArray) -> Ensemble:
    """Return it as it is, remembering that these members were tried."""
    return ensemble._replace(dropped=[*ensemble.dropped, with_risk(fit, cost)])


def validated_risk(ensemble: Ensemble, cost: FloatArray) -> float:
    """Return the mean avoidable cost of the decisions about out-of-fold rows; infinite without any."""
    return _risk(ensemble.held, ensemble.link, ensemble.temperature, cost)


def _risk(held: HeldOut, link: Link | None, temperature: float, cost: FloatArray | None) -> float:
    return held.risk(link, temperature, cost) if held.n_rows else np.inf


def or_constant(ensemble: Ensemble, constants: list[Progress], cost: FloatArray) -> Ensemble:
    """Return members trained on costs, or the cheapest decision for all rows if out-of-fold rows say it costs no more.

    Of equals the members, if they have rounds and it costs anything.
    """
    fit = ensemble.fits[0]
    folded = fit.kind.task.folded
    held = folded.constant([np.asarray(made.intercept) for made in constants])
    least = _risk(held, None, 1.0, None)
    if fit.n_rounds and least > 0.0 and not fit.risk - least > SAME_RISK * fit.risk:
        return ensemble
    of_all = folded.stated_facts.constant_scores()
    members = [replace(made, intercept=of_all) for made in constants]
    return ensemble_of(fit._replace(members=members, n_rounds=0, held=held), cost)


# -- the model ---------------------------------------------------------------------------------------------------------
def averaged_model(ensemble: Ensemble, n_features: int) -> AdditiveModel:
    """Return the average as one model, whose rounds hold a tree of every member; a projection only where it is used."""
    longest, smooth = ensemble.n_rounds, None
    parts: list[tuple[Progress, int, float, float]] = []  # trees, how many of them count, factor on vectors, weight
    for fit, share, weight in zip(ensemble.fits, ensemble.shares, ensemble.weights, strict=True):
        if fit.smooth is not None:
            smooth = fit.smooth.times(share)  # one member, of all rows
            continue
        n, beside = len(fit.members), trees_beside(fit.n_trees, longest)
        for member, first in itertools.product(fit.members, range(beside)):
            part = Progress(member.trees[first::beside], member.vectors[first::beside])
            parts.append((part, -(-fit.n_trees // beside), share / n, weight / n))
    D = ensemble.held.n_outputs
    if smooth is not None and not parts:
        parts = [(Progress([CONSTANT], [np.zeros((1, D))]), 1, 0.0, 0.0)]
    exponent = rounding_exponent(ensemble.link, ensemble.temperature, sum(last for _, last, _, _ in parts))
    trees, weights, rounded = [], [], [RoundedVectors.of(np.empty((0, D)), exponent)]
    for t in range(longest):
        vectors = []
        for part, last, factor, weight in parts:
            grown = t < min(last, len(part.trees))  # a member that is done stands still
            trees.append(part.trees[t] if grown else CONSTANT)
            vectors.append(factor * part.vectors[t] if grown else np.zeros((1, D)))
            weights.append(weight)
        rounded.append(RoundedVectors.of(np.concatenate(vectors), exponent))
    packed, projection = pack(trees), ensemble.task.table.projection
    gain = packed.gain * np.repeat(weights, np.diff(packed.offsets))[packed.named]
    packed = replace(packed, gain=shortened(gain))  # which nothing but importances is computed from
    if projection is not None:
        # Linear features that no tree splits would cost time in each prediction: they are dropped.
        used = np.unique(packed.feature[packed.feature >= n_features]).astype(np.int64) - n_features
        number = np.arange(n_features + projection.n_columns)
        number[n_features + used] = n_features + np.arange(len(used))
        packed.feature[:] = number[packed.feature]
        projection = projection.take(used) if len(used) else None
    packed, of_leaves = by_levels(packed, RoundedVectors.joined(rounded))
    return AdditiveModel(
        packed,
        of_leaves,
        ensemble.intercept,
        n_features,
        ensemble.link,
        max(1, len(parts)),
        ensemble.temperature,
        projection,
        smooth,
    )


def rounding_exponent(link: Link | None, temperature: float, n_trees: int) -> int:
    """Return the exponent of the power of two that vectors are whole multiples of.

    Rounding n vectors to multiples of q moves their sum by q sqrt(n / 12) (the standard deviation, errors being uniform
    and independent), and log-odds by that over the temperature. q is the largest power of two for which this is at most
    `ROUNDING`.
    """
    slope = 1.0 if link is None else LINK_KERNELS[link][1]
    return math.frexp(defaults.ROUNDING * temperature / slope * math.sqrt(12.0 / max(1, n_trees)))[1] - 1


def mean_losses(ensemble: Ensemble) -> FloatArray:
    """Average the training losses of all boosters before round 1 and after every round; the last one goes on."""
    fits = ensemble.boosted or [ensemble.plain._replace(n_rounds=0)]
    n = 1 + ensemble.n_rounds
    curves = [member.losses[: fit.n_rounds + 1] for fit in fits for member in fit.members]
    padded = np.array([curve + curve[-1:] * (n - len(curve)) for curve in curves])
    with np.errstate(over="ignore"):  # of costs near the end of float64
        means = padded.mean(axis=0)
        bounded = np.minimum((padded / len(padded)).sum(axis=0), LARGEST_FLOAT)
    return np.asarray(np.where(np.isfinite(means), means, bounded))


def no_signal(ensemble: Ensemble) -> str:
    """Say why it answers all rows alike: what out-of-fold rows said of its members, and what to try."""
    kinds = len({fit.kind.name for fit in (*ensemble.fits, *ensemble.dropped)})
    members = f"members of {kinds} kinds" if kinds > 1 else "trees"
    least, n_rows = min(loss for _, loss in ensemble.plain.curve[1:]), ensemble.plain.held.n_rows
    if ensemble.link is None:
        constant, own = ensemble.plain.held.stated(ensemble.plain.risk), "the mean cost"
        other = f"one decision for all {constant:.4g}"
    else:
        own, other = "the log-loss", f"the class frequencies {ensemble.plain.curve[0][1]:.4g}"
    return (
        f"left-out rows show no signal: with {members} {own} of {n_rows} rows was {least:.4g} at best, with {other}, a "
        "difference that chance may make. Try more rows, other features, more rounds (n_estimators) or other folds (cv)"
    )


# -- early decisions --------------------------------------------------------------------------------------------------
SAME_LEAD = 1e-9  # relatively: rounding decides nothing


def cascade_of(ensemble: Ensemble, ended: Ensemble, costs: CostMatrix) -> Cascade | None:
    """Return stages of the model of an ensemble, by rows that its members left out; None without such rows.

    Parameters
    ----------
    ensemble : Ensemble
        Before the last rounds; `held` has the scores of rows left out.
    ended : Ensemble
        After them, of which the model is made.
    costs : CostMatrix
        By which it decides.
    """
    held = ensemble.held
    n, K = held.n_rows, held.n_outputs
    rule = DecisionRule.of(ensemble.link, ensemble.temperature, costs)
    rounds = stage_rounds(ended.n_rounds)
    if ensemble.link is None or not rule.stops_early or n == 0 or len(rounds) == 0:
        return None
    step = judging_step(n, K, rule)
    scores, weight, *_ = held.sampled(step)
    whole, folded = scores.astype(np.float64), ensemble.task.folded
    # Rows say what trees answer to those that are left out; they hold no scores meanwhile.
    left_out: list[list[Rows]] = []
    for kind in (fit.kind for fit in ensemble.fits):
        left_out.append([rows for fold in range(held.n_folds) if (rows := kind.rows(fold)) is not None])
        for rows in left_out[-1]:
            rows.rest(True)
    stages = list[tuple[FloatArray, float]]()
    tail, stage = folded.constant([np.zeros(K)] * held.n_folds), None
    ends = [*rounds.tolist(), ended.n_rounds]
    for s in range(len(rounds) - 1, -1, -1):  # from the end, as what later rounds add is summed up
        for k, (fit, share, of_folds) in enumerate(zip(ensemble.fits, ensemble.shares, left_out, strict=True)):
            within = [trees_within(ended, k, end) for end in ends[s : s + 2]]  # of the model's trees of this kind
            some = slice(*(int(fit.n_trees * part) for part in within))
            if not of_folds or some.stop <= some.start:
                continue
            answers = folded.held_out(
                [
                    rows.left_out_scores(made.trees[some], made.vectors[some], np.zeros(K))
                    for rows, made in zip(of_folds, fit.members, strict=False)
                ]
            )
            tail = tail.plus(answers, share, answers)
        stage = held.plus(tail, -1.0, stage)
        sharpness = fit_weight(stage, ensemble.link, 1.0 / ensemble.temperature, 0.0, whole=True)[0]
        temperature = 1.0 / sharpness if sharpness > 0.0 else ensemble.temperature
        stages.append((whole - tail.sampled(step).scores, temperature))
    return judged_stages(rule, ensemble.link, ensemble.temperature, costs, rounds, whole, weight, stages[::-1])


def trees_within(ensemble: Ensemble, number: int, n_rounds: int) -> Fraction:
    """Return the share of a kind's trees that the first rounds of the model hold."""
    n_trees = ensemble.fits[number].n_trees
    return Fraction(min(n_trees, trees_beside(n_trees, ensemble.n_rounds) * n_rounds), n_trees or 1)


def trees_beside(n_trees: int, n_rounds: int) -> int:
    """Return trees of a member in each of so many rounds: a kind that makes none may have more trees than rounds."""
    return max(1, -(-n_trees // max(1, n_rounds)))


def judging_step(n: int, n_classes: int, rule: DecisionRule) -> int:
    """Return how many rows stand for each that leads are found from, so that time and memory do not follow the rows."""
    return max(1, n * n_classes * (1 if rule.is_plain else n_classes) // defaults.JUDGED_STAGES)


def judged_stages(
    rule: DecisionRule,
    link: Link,
    temperature: float,
    costs: CostMatrix,
    rounds: IntArray,
    whole: FloatArray,
    weight: FloatArray,
    stages: Sequence[tuple[FloatArray, float]],
) -> Cascade:
    """Judge decisions after each stage by the probabilities of the whole scores; a stage has a temperature."""
    expected = expected_costs(link, whole, temperature, costs.avoidable)
    least, each = expected.min(axis=1), np.arange(len(weight))
    allowed = fsum(weight * least) or np.finfo(float).tiny
    leads = np.full((len(defaults.EXCESS), len(rounds)), NEVER)
    ending, temperatures = np.empty((2, len(rounds)))
    needed, lost = np.empty((2, len(rounds), len(weight)))
    for s, (at_stage, own) in enumerate(stages):
        decided = np.empty(len(weight), dtype=np.int64)
        needed_leads(at_stage, rule.scale, rule.costs, rule.is_plain, decided, needed[s])
        lost[s] = weight * (expected[each, decided] - least)
        temperatures[s] = own
        early = expected_costs(link, at_stage, own, costs.avoidable).argmin(axis=1)
        ending[s] = min(NEVER, max(0.0, fsum(weight * (expected[each, early] - least)) / allowed))
    for level, excess in enumerate(defaults.EXCESS):
        # Out-of-fold rows may lose half: the average of all members is surer than each.
        leads[level] = enough(needed, lost, 0.5 * excess * allowed)
    return Cascade(rounds, np.array(defaults.EXCESS), leads, ending, temperatures)


def enough(needed: FloatArray, lost: FloatArray, allowed: float) -> FloatArray:
    """Return the least leads at which decisions stand stage after stage, such that all together lose no more.

    Each stage may lose an equal part, and what those before it have left of theirs.

    Parameters
    ----------
    needed : ndarray of shape (S, n)
        Lead from which the decision about a row stands.
    lost : ndarray of shape (S, n)
        What the row then costs more.
    allowed : float
    """
    leads, open_ = np.full(len(needed), NEVER), np.ones(needed.shape[1], dtype=np.bool_)
    spent = 0.0
    for s in range(len(needed)):
        rows: IntArray = np.flatnonzero(open_ & np.isfinite(needed[s]))
        order = rows[np.argsort(-needed[s, rows], kind="stable")]  # those that are furthest ahead first
        total = np.cumsum(lost[s, order])
        losing = np.flatnonzero(lost[s, order] > 0.0)
        n_within = int(np.searchsorted(total[losing], (s + 1) / len(needed) * allowed - spent, "right"))
        if n_within == 0:
            continue
        last = losing[n_within - 1]  # as many more such rows may come as there are: one is left to chance
        leads[s] = min(NEVER, needed[s, order[last]] * (1.0 + SAME_LEAD))
        decided = needed[s] >= leads[s]
        spent += fsum(lost[s, open_ & decided])
        open_ &= ~decided
    return leads
