"""Cross-fitting: members trained on all folds but one, for as many rounds as their left-out rows ask for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from minrisk._workers import Workers
from minrisk.ensemble import defaults
from minrisk.ensemble.budget import Budget, Pace
from minrisk.ensemble.calibration import fit_temperature
from minrisk.ensemble.kind import CrossFit, Kind, Member
from minrisk.rows.folded import FoldedRows, HeldOut


# -- rounds ------------------------------------------------------------------------------------------------------------
def last_rounds(n_rows: int, n_rounds: int, most: int) -> int:
    """Rounds on all rows, for a member of so many without its fold: what that fold says would be lost otherwise.

    At `most` rounds in all. Members of many rounds on many rows have none: rows that are new then count for too much.
    """
    return min(n_rounds // defaults.LAST_ROUNDS, most - n_rounds) if _has_last_rounds(n_rows, n_rounds) else 0


def first_rounds(n_rows: int, most: int) -> int:
    """Rounds without the fold, at most: those that leave room for the last ones."""
    return most - (most // (defaults.LAST_ROUNDS + 1) if _has_last_rounds(n_rows, most) else 0)


def share_of_last_rounds(n_rows: int, n_rounds: int) -> float:
    """Seconds that last rounds take, for each second of the rounds before."""
    return 1.0 / defaults.LAST_ROUNDS if _has_last_rounds(n_rows, n_rounds) else 0.0


def finishing(fits: Sequence[CrossFit], most: int) -> float:
    """Seconds that the last rounds of these fits will take."""
    seconds = 0.0
    for fit in fits:
        if not fit.kind.makes_rounds:
            seconds += fit.seconds / len(fit.members)  # one member of all rows
        elif fit.judged:
            seconds += fit.seconds * last_rounds(fit.kind.task.costs.n_rows, fit.n_rounds, most) / fit.judged[-1][0]
    return seconds


def _has_last_rounds(n_rows: int, n_rounds: int) -> bool:
    too_many = n_rows >= defaults.MANY_ROWS and n_rounds > defaults.ROUNDS_TOGETHER
    return n_rows >= defaults.LAST_ROUNDS_FROM and not too_many


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

    At every checkpoint the pooled log-loss at the best temperature (without a link: the risk) is looked at; the rounds
    of the last one that lowered it enough (`LEAST_FALL`, the first: `FIRST_FALL`) are kept, about half of those of the
    least log-loss, for the same risk. Members may have been trained before. The default budget is the task's.

    Where somebody asks that the fit end, the last checkpoint that all members have reached is the last.

    Raises
    ------
    NothingJudged
        If that is none, or the one before the first round.
    """
    link, folded = kind.task.link, kind.task.folded
    best, chosen, temperature, running, start = np.inf, 0, 1.0, 1.0, 0.0
    rounds, curve = [0, *checkpoints(n_rounds)], []
    few = folded.n_rows * kind.task.n_outputs <= defaults.TOGETHER_SCORES
    pace = Pace(budget or kind.task.budget)
    stop = pace.budget.stop
    for c in range(len(rounds)):
        behind = [member for member in members if member.reached < rounds[c]]
        if behind and c > 1:
            rounds[c] = pace.next(rounds[c - 1], rounds[c], share_of_last_rounds(folded.n_rows, rounds[c]))
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
        held = pooled(folded, members, rounds[c])
        if link is None:
            judged = held.risk(None, 1.0, None)
            curve.append((rounds[c], held.stated(judged)))
        else:
            running, total = fit_temperature(link, held, running, caution=False)
            judged = total / (held.weight or 1.0)
            curve.append((rounds[c], judged))
        del held  # while members go on
        start = judged if c == 0 else start
        stop.worth |= c > 0
        asked = defaults.LEAST_FALL * min(best, start - best) if chosen else defaults.FIRST_FALL * start
        if c == 0 or judged < best - asked:
            best, chosen, temperature = judged, c, running
        patience = defaults.PATIENCE * rounds[chosen] + defaults.GRACE_ROUNDS if chosen else defaults.SLOW_START
        if rounds[c] > max(kind.wait, patience):
            break
    if len(members) == 1:  # which has not rested so far
        members[0].rest()
    progress, held = [member.result(rounds[chosen]) for member in members], pooled(folded, members, rounds[chosen])
    temperature = fit_temperature(link, held, temperature)[0] if link else 1.0
    seconds = sum(member.seconds for member in members) / min(len(members), workers.n)
    return CrossFit(kind, progress, rounds[chosen], temperature, len(members), held, curve, seconds)


def go_on(member: Member, rounds: Sequence[int], rests: bool) -> None:
    """Train a member to these checkpoints; it rests while others train."""
    member.train(rounds)
    if rests:
        member.rest()


def pooled(folded: FoldedRows, members: Sequence[Member], n_rounds: int) -> HeldOut:
    """The scores of the members' left-out rows at a checkpoint."""
    return folded.held_out([member.scores(n_rounds) for member in members])
