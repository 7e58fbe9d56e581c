"""What left-out rows say of decisions after some of the rounds: how far a class must be ahead, and what is lost.

The scores of a left-out row are those of the members that have not seen it, so leads are as large as those of new rows.
The last rounds, on all rows, are not among them. A stage of the model therefore stands for the same share of the rounds
that left-out rows know.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

import numpy as np

from minrisk._kernels.cascade import needed_leads
from minrisk._typing import FloatArray, IntArray
from minrisk.costs import CostMatrix
from minrisk.ensemble import defaults
from minrisk.ensemble.blending import Pool
from minrisk.ensemble.calibration import fit_weight
from minrisk.model.cascade import NEVER, Cascade, DecisionRule, stage_rounds
from minrisk.model.links import Link, expected_costs
from minrisk.rows.base import Rows
from minrisk.rows.folded import HeldOut

SAME_LEAD = 1e-9  # relatively: rounding decides nothing


def cascade_of(pool: Pool, n_rounds: int, costs: CostMatrix) -> Cascade | None:
    """Stages of a model of so many rounds, by rows that its members left out; None without such rows.

    Parameters
    ----------
    pool : Pool
        Before the last rounds; `held` has the scores of rows left out.
    n_rounds : int
        Of the model, with the last ones.
    costs : CostMatrix
        By which it decides.
    """
    held = pool.held
    n, K = held.n_rows, held.n_outputs
    rule = DecisionRule.of(pool.link, pool.temperature, costs)
    rounds = stage_rounds(n_rounds)
    if pool.link is None or not rule.stops_early or n == 0 or len(rounds) == 0:
        return None
    step = max(1, n * K * (1 if rule.is_plain else K) // defaults.JUDGED_STAGES)
    scores, weight = held.sampled(step)
    whole = scores.astype(np.float64)
    left_out, stages = rows_left_out(pool), list[tuple[FloatArray, float]]()
    tail, stage = pool.fits[0].kind.task.folded.constant([np.zeros(K)] * held.n_folds), None
    shares = np.append(rounds / n_rounds, 1.0)
    for s in range(len(rounds) - 1, -1, -1):
        tail = with_rounds(tail, pool, left_out, shares[s], shares[s + 1])
        stage = held.plus(tail, -1.0, stage)
        sharpness = fit_weight(stage, pool.link, 1.0 / pool.temperature, 0.0, whole=True)[0]
        temperature = 1.0 / sharpness if sharpness > 0.0 else pool.temperature
        stages.append((whole - tail.sampled(step).scores, temperature))
    return judged_stages(rule, pool.link, pool.temperature, costs, rounds, whole, weight, stages[::-1])


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
    """What decisions after each stage cost, by the probabilities of the whole scores; a stage has a temperature."""
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
        leads[level] = enough(needed, lost, defaults.STATED_EXCESS * excess * allowed)
    return Cascade(rounds, np.array(defaults.EXCESS), leads, ending, temperatures)


def rows_left_out(pool: Pool) -> list[list[Rows]]:
    """The rows of each kind's members, which say what trees answer to those that are left out; they hold no scores."""
    found: list[list[Rows]] = []
    for kind in (fit.kind for fit in pool.fits):
        found.append([rows for fold in range(pool.held.n_folds) if (rows := kind.rows(fold)) is not None])
        for rows in found[-1]:
            rows.rest(True)
    return found


def with_rounds(tail: HeldOut, pool: Pool, left_out: Sequence[Sequence[Rows]], first: float, last: float) -> HeldOut:
    """The scores with what the rounds between two shares of them answer to left-out rows."""
    for fit, share, of_folds in zip(pool.fits, pool.shares, left_out, strict=True):
        some = slice(int(first * fit.n_trees), int(last * fit.n_trees))
        if not of_folds or some.stop <= some.start:
            continue
        nothing = np.zeros(tail.n_outputs)
        answers = fit.kind.task.folded.held_out(
            [
                rows.left_out_scores(made.trees[some], made.vectors[some], nothing)
                for rows, made in zip(of_folds, fit.members, strict=False)
            ]
        )
        tail = tail.plus(answers, share, answers)
    return tail


def enough(needed: FloatArray, lost: FloatArray, allowed: float) -> FloatArray:
    """The least leads at which decisions stand stage after stage, such that all of them together lose no more.

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
