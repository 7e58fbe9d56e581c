"""Cross-fitting: members trained on all folds but one, for as many rounds as their left-out rows ask for."""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller

import numpy as np

from minrisk._memory import empty
from minrisk._sums import weighted_sum
from minrisk._typing import FloatArray, IntArray
from minrisk._workers import Workers
from minrisk.ensemble import defaults
from minrisk.ensemble.calibration import fit_temperature
from minrisk.ensemble.kind import CrossFit, Kind, Member
from minrisk.rows.costs import RowCosts


# -- rounds ------------------------------------------------------------------------------------------------------------
def last_rounds(n_rows: int, n_rounds: int, most: int) -> int:
    """Rounds on all rows, for a member of so many without its fold: what that fold says would be lost otherwise.

    At `most` rounds in all.
    """
    enough = n_rows >= defaults.LAST_ROUNDS_FROM
    return min(n_rounds // defaults.LAST_ROUNDS, most - n_rounds) if enough else 0


def first_rounds(n_rows: int, most: int) -> int:
    """Rounds without the fold, at most: those that leave room for the last ones."""
    return most - (most // (defaults.LAST_ROUNDS + 1) if n_rows >= defaults.LAST_ROUNDS_FROM else 0)


def checkpoints(n_rounds: int) -> list[int]:
    """Rounds at which left-out rows are looked at, the last one among them."""
    rounds, at = [], float(defaults.FIRST_CHECKPOINT)
    while at < n_rounds:
        rounds.append(int(at))
        at = max(at + 1, at * defaults.CHECKPOINT_RATIO)
    return [*rounds, n_rounds]


# -- members -----------------------------------------------------------------------------------------------------------
def without(costs: RowCosts, first: int, last: int) -> tuple[RowCosts, FloatArray]:
    """Costs in which rows first..last have no weight, and the weight with which these judge.

    That is 0 where no other row is of the class: who has not seen a class can say nothing about it.
    """
    label, stated = costs.label, costs.weight
    weight = stated.copy()
    weight[first:last] = 0.0
    known = np.bincount(label, weights=weight) > 0
    return costs._replace(weight=weight), np.where(known[label[first:last]], stated[first:last], 0.0)


def cross_fit(
    kind: Kind, members: Sequence[Member], folds: IntArray, n_rounds: int, workers: Workers
) -> CrossFit:
    """Train the members of the first folds in turns, for as many rounds as the rows that they left out ask for.

    At every checkpoint the pooled log-loss at the best temperature (without a link: the risk) is looked at; the rounds
    of the last one that lowered it enough (`LEAST_FALL`, the first: `FIRST_FALL`) are kept, about half of those of the
    least log-loss, for the same risk. Members may have been trained before.
    """
    link, costs, seen = kind.task.link, kind.task.costs, np.flatnonzero(folds < len(members))
    fold, table, row = folds[seen], costs.table, costs.row[seen]
    stated, label = costs.weight[seen], costs.label[seen]
    weight, places = np.empty(len(seen)), [np.flatnonzero(fold == number) for number in range(len(members))]
    for place, member in zip(places, members, strict=True):
        weight[place] = member.weight
    best, chosen, temperature, running, start = np.inf, 0, 1.0, 1.0, 0.0
    rounds, curve = [0, *checkpoints(n_rounds)], []
    few = len(seen) * table.shape[1] <= defaults.TOGETHER_SCORES

    def pooled(c: int) -> np.ndarray:
        scores = empty((len(seen), table.shape[1]), np.float32)
        for place, member in zip(places, members, strict=True):
            scores[place] = member.scores(rounds[c])
        return scores

    for c in range(len(rounds)):
        behind = [member for member in members if member.reached < rounds[c]]
        if behind:  # on to where it may be time to stop at the earliest, unless the scores on the way are too many
            soon = defaults.PATIENCE * rounds[chosen] + defaults.GRACE_ROUNDS
            ahead = sum(at <= soon for at in rounds[c:]) if few else 0
            workers.map(methodcaller("train", rounds[c : c + ahead + 1]), behind)
        if link is None:
            judged = float(weighted_sum(stated, table[row, pooled(c).argmax(axis=1)]))
        else:
            running, judged = fit_temperature(link, pooled(c), label, weight, running, caution=False)
        mean = judged / (float((stated if link is None else weight).sum()) or 1.0)
        curve.append((rounds[c], costs.at(seen).stated(mean) if link is None else mean))
        start = judged if c == 0 else start
        asked = defaults.LEAST_FALL * min(best, start - best) if chosen else defaults.FIRST_FALL * start
        if c == 0 or judged < best - asked:
            best, chosen, temperature = judged, c, running
        patience = defaults.PATIENCE * rounds[chosen] + defaults.GRACE_ROUNDS if chosen else defaults.SLOW_START
        if rounds[c] > max(kind.wait, patience):
            break
    progress, scores = [member.result(rounds[chosen]) for member in members], pooled(chosen)
    temperature = fit_temperature(link, scores, label, weight, temperature)[0] if link else 1.0
    seconds = sum(member.seconds for member in members) / min(len(members), workers.n)
    return CrossFit(kind, progress, rounds[chosen], temperature, seen, weight, scores, curve, seconds)
