"""Cross-fitting: members trained on all folds but one, for as many rounds as their left-out rows ask for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from minrisk._typing import FloatArray
from minrisk._workers import Workers
from minrisk.ensemble import defaults, sizes
from minrisk.ensemble.budget import Budget, Pace
from minrisk.ensemble.calibration import fit_weight, half_row
from minrisk.ensemble.kind import CrossFit, Kind, Member
from minrisk.model.links import Link
from minrisk.rows.folded import FoldedRows, HeldOut


# -- rounds ------------------------------------------------------------------------------------------------------------
def last_rounds(n_rows: float, n_rounds: int, most: int) -> int:
    """Rounds on all rows, for a member of so many without its fold; at `most` rounds in all."""
    share = int(1e6 * sizes.last_share(n_rows))
    return min((2 * n_rounds * share + 10**6) // (2 * 10**6), most - n_rounds)  # to the nearest


def first_rounds(n_rows: float, most: int) -> int:
    """Rounds without the fold, at most: those that leave room for the last ones."""
    share = sizes.last_share(n_rows)
    return most - most * int(1000.0 * share / (1.0 + share)) // 1000  # of a number that may be beyond float64


def finishing(fits: Sequence[CrossFit], most: int) -> float:
    """Seconds that the last rounds of these fits will take."""
    seconds = 0.0
    for fit in fits:
        if not fit.kind.makes_rounds:
            seconds += fit.seconds / len(fit.members)  # one member of all rows
        elif fit.judged:
            more = last_rounds(fit.kind.task.costs.n_rows, fit.n_rounds, fit.kind.most_rounds(most))
            seconds += fit.seconds * more / fit.judged[-1][0]
    return seconds


def checkpoints(n_rounds: int) -> list[int]:
    """Rounds at which left-out rows are looked at, the last one among them."""
    rounds, at = [], float(defaults.FIRST_CHECKPOINT)
    while at < n_rounds:
        rounds.append(int(at))
        at = max(at + 1, at * defaults.CHECKPOINT_RATIO)
    return [*rounds, n_rounds]


class NothingJudged(Exception):
    """The training was asked to end before left-out rows had been looked at after a round."""


# -- members -----------------------------------------------------------------------------------------------------------
def cross_fit(
    kind: Kind, members: Sequence[Member], n_rounds: int, workers: Workers, budget: Budget | None = None
) -> CrossFit:
    """Train the members of the first folds in turns, for as many rounds as the rows that they left out ask for.

    At every checkpoint the pooled log-loss at the best temperature (without a link: the risk) is looked at. The rounds
    of the last one are kept that was better than the one kept before by more than chance, see `is_better`, or by
    `LEAST_FALL`, which is less than chance where few rows make the loss. Members may have been trained before. The
    default budget is the task's.

    Where somebody asks that the fit end, the last checkpoint that all members have reached is the last.

    Raises
    ------
    NothingJudged
        If that is none, or the one before the first round.
    """
    link, folded = kind.task.link, kind.task.folded
    best, chosen, weight, running, start, chosen_held = np.inf, 0, 0.0, 0.0, 0.0, None
    rounds, curve = [0, *checkpoints(kind.most_rounds(n_rounds))], []
    few = folded.n_rows * kind.task.n_outputs <= defaults.TOGETHER_SCORES
    pace = Pace(budget or kind.task.budget)
    stop = pace.budget.stop
    for c in range(len(rounds)):
        behind = [member for member in members if member.reached < rounds[c]]
        if behind and c > 1:
            rounds[c] = pace.next(rounds[c - 1], rounds[c], sizes.last_share(kind.task.costs.n_rows))
            if rounds[c] == rounds[c - 1]:
                break
        if behind:  # on to where it may be time to stop at the earliest, unless the scores on the way are too many
            soon = defaults.PATIENCE * rounds[chosen] + defaults.GRACE_ROUNDS
            most = 0 if pace.budget.limited else len(rounds) if few else defaults.CHECKPOINTS_AHEAD
            ahead = min(most, sum(at <= soon for at in rounds[c:]))
            if not stop.over:
                workers.map(partial(go_on, rounds=rounds[c : c + ahead + 1], rests=len(members) > 1), behind)
            if stop.over:  # perhaps somewhere on the way
                if c < 2:
                    raise NothingJudged
                break
        held = pooled(folded, members, rounds[c], link)
        if link is None:
            judged = held.risk(None, 1.0, None)
            curve.append((rounds[c], held.stated(judged)))
            start = judged if c == 0 else start
            asked = defaults.LEAST_FALL * min(best, start - best) if chosen else defaults.FIRST_FALL * start
            better = c == 0 or judged < best - asked
        else:
            if c == 0:
                total = float(held.along(link, 0.0, 0.0)[0])
            else:
                running, total = fit_weight(held, link, running, 0.0)
            judged = total / (held.weight or 1.0)
            curve.append((rounds[c], judged))
            better = chosen_held is None or is_better(held, running, chosen_held, weight, link)
            better |= chosen > 0 and judged < best - defaults.LEAST_FALL * best
        stop.worth |= c > 0
        if better:
            best, chosen, chosen_held, weight = judged, c, held, running
        del held  # while members go on
        patience = defaults.PATIENCE * rounds[chosen] + defaults.GRACE_ROUNDS if chosen else defaults.SLOW_START
        if rounds[c] > max(kind.wait, patience):
            break
    assert chosen_held is not None
    if len(members) == 1:  # which has not rested so far
        members[0].rest()
    progress = [member.result(rounds[chosen]) for member in members]
    if link is not None and chosen:
        weight = fit_weight(chosen_held, link, weight, half_row(chosen_held))[0]
    seconds = sum(member.seconds for member in members) / min(len(members), workers.n)
    return CrossFit(kind, progress, rounds[chosen], weight, len(members), chosen_held, curve, seconds)


def is_better(held: HeldOut, weight: float, before: HeldOut, of_before: float, link: Link) -> bool:
    """Whether these scores gain more than a standard error over others, row by row."""
    return exceeds_its_error(held.gain_over(before, link, weight, of_before))


def exceeds_its_error(gain: FloatArray) -> bool:
    """Whether a sum over rows is larger than its standard error, by the sum of the squares (2,).

    The weight of scores of noise gains z^2 / 2 of the log-loss, with an error of |z|, z being normal: one standard
    error is gained where |z| is above 2.
    """
    return bool(gain[0] > math.sqrt(gain[1]))


def go_on(member: Member, rounds: Sequence[int], rests: bool) -> None:
    """Train a member to these checkpoints; it rests while others train."""
    member.train(rounds)
    if rests:
        member.rest()


def pooled(folded: FoldedRows, members: Sequence[Member], n_rounds: int, link: Link | None = None) -> HeldOut:
    """The scores of the members' left-out rows at a checkpoint; with a link less what they have started from."""
    starts = None if link is None else [member.start for member in members]
    return folded.held_out([member.scores(n_rounds) for member in members], starts)
