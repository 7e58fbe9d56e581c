"""Members: boosters and regressions that each leave a fold out, and the kinds that they come in.

`cross_fit` trains the members of a kind for as many rounds as the rows ask for that they left out.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import ClassVar, NamedTuple, Self

import numpy as np

from minrisk._typing import FloatArray, LeftOut
from minrisk._utils.workers import Workers
from minrisk.boosting.loop import Progress
from minrisk.ensemble import defaults, driver
from minrisk.ensemble.calibration import fit_weight, half_row
from minrisk.ensemble.driver import Driver, NothingJudged, Pace
from minrisk.ensemble.table import Table
from minrisk.model.links import Link
from minrisk.model.projection import SmoothScores
from minrisk.rows.costs import CostFacts
from minrisk.rows.folded import FoldedRows, HeldOut
from minrisk.rows.rows import Rows


class Task(NamedTuple):
    """What members of all kinds are trained for: one surrogate."""

    table: Table
    folded: FoldedRows  # with what they train on: 0/1 costs where there is a link, else those that were stated
    surrogate: str
    link: Link | None  # from scores to probabilities
    settings: defaults.Settings
    driver: Driver

    @property
    def costs(self) -> CostFacts:
        """What is known of the costs that members train on."""
        return self.folded.cost_facts

    @property
    def n_outputs(self) -> int:
        """Scores of a row."""
        return self.costs.n_decisions

    @property
    def first_rounds(self) -> int:
        """Rounds of a plain member without its fold, at most."""
        return defaults.first_rounds(self.costs.n_rows, self.settings.n_estimators)

    def last_rounds(self, n_rounds: int, most: int) -> int:
        """Return rounds on all rows of a member of so many without its fold, at `most` rounds in all."""
        return defaults.last_rounds(self.costs.n_rows, n_rounds, most)


class Member(ABC):
    """One member in training, and the scores of the rows that it does not see, at every checkpoint."""

    start: FloatArray  # scores (D,) before the first round
    seconds: float = 0.0
    reached: int = -1  # the last checkpoint's round; -1: none

    @abstractmethod
    def train(self, rounds: Sequence[int]) -> None:
        """Go on to each of these checkpoints, as far as there is anything left to learn, and keep the scores there."""

    @abstractmethod
    def scores(self, n_rounds: int) -> LeftOut:
        """Return the scores of the rows left out at a checkpoint."""

    @abstractmethod
    def result(self, n_rounds: int) -> Progress:
        """Return the first rounds, or its trees at a checkpoint."""

    def smooth(self) -> SmoothScores | None:
        """Return what it ends as, if not as trees."""
        return None

    def rest(self) -> None:  # noqa: B027
        """Free memory while others train, if it holds much."""


class CrossFit(NamedTuple):
    """The members of a kind, the rounds and the temperature that out-of-fold rows chose, and what those rows said."""

    kind: Kind
    members: list[Progress]
    n_rounds: int
    weight: float  # of what they say beyond the class frequencies, the reciprocal of their temperature
    held: HeldOut  # what the members say of their out-of-fold rows, beyond the class frequencies where there is a link
    curve: list[tuple[int, float]]  # round and pooled log-loss (or risk) at each checkpoint
    seconds: float
    risk: float = np.inf  # mean avoidable cost of the decisions about those rows, which an ensemble fills in
    doubt: float = 0.0  # by how much its weight must lower the loss, for each unit of it
    smooth: SmoothScores | None = None  # what members without trees end as

    @property
    def n_folds(self) -> int:
        """First folds, whose rows were left out."""
        return self.held.n_folds

    @property
    def work(self) -> float:
        """Return what its rounds cost."""
        return self.kind.work(self.n_rounds)

    @property
    def n_trees(self) -> int:
        """Trees of a member, at most: where members make no rounds, as many as it has."""
        return self.n_rounds if self.kind.makes_rounds else max(len(member.trees) for member in self.members)

    @property
    def finishing(self) -> float:
        """Seconds that finishing it will take."""
        if not self.kind.makes_rounds:
            return self.seconds / len(self.members)  # one member of all rows
        more = self.kind.last_rounds(self) / self.curve[-1][0] if self.curve else 0.0
        return (defaults.FINISHING + more) * self.seconds


class Kind(ABC):
    """A kind of members: what they see, and how they are trained.

    Parameters
    ----------
    task : Task
    """

    name: ClassVar[str]
    makes_rounds: ClassVar[bool] = True  # of trees
    wait: float = 0.0  # rounds before which nobody loses patience
    weight: ClassVar[float] = 1.0  # time of a round, that of plain members being 1

    def __init__(self, task: Task) -> None:
        self.task, self.workers = task, task.driver.workers  # that train its members side by side
        # first folds, whose rows say whether members for the others are trained
        self.tried_on = 1 if task.costs.told_rows >= defaults.ONE_FOLD_TELLS else task.folded.n_folds

    @classmethod
    def of(cls, task: Task) -> Self | None:
        """Return itself for a task; None where this kind is not tried."""
        return cls(task)

    @property
    def tried_rounds(self) -> int:
        """Return rounds of its members at most, where others have been trained: those that the caller stated."""
        most, task = self.task.settings.n_estimators, self.task
        if "n_estimators" not in task.settings.left_open:
            return most
        if not self.makes_rounds:
            return 200
        return defaults.tried_rounds(task.costs.n_rows)

    def last_rounds(self, fit: CrossFit) -> int:
        """Return rounds that its members go on for on all rows."""
        return self.task.last_rounds(fit.n_rounds, self.task.settings.n_estimators)

    @property
    def n_rows(self) -> float:
        """Return rows that a round takes time for."""
        return self.task.costs.n_rows

    def work(self, n_rounds: int) -> float:
        """Return what so many rounds cost, in rows times rounds of plain trees; 0 where the caller set their number."""
        priced = "n_estimators" in self.task.settings.left_open
        of_outputs = 1.0 + self.task.n_outputs / defaults.OUTPUTS_WORK
        of_rows = self.n_rows / math.sqrt(1.0 + (self.task.costs.n_rows / defaults.PRICED_ROWS) ** 2)
        return self.weight * of_rows * of_outputs * n_rounds if priced else 0.0

    def ready(self) -> bool:
        """Prepare what only this kind sees; False if there is no such thing."""
        return True

    def rows(self, fold: int | None) -> Rows | None:
        """Return what a member is trained on, with the rows that it leaves out; None where these see no trees."""
        return None

    @abstractmethod
    def member(self, fold: int | None) -> Member:
        """Return a member to be trained on the other folds; None: on all of them."""

    def members(self, first: int, last: int) -> list[Member]:
        """Return those for these folds."""
        return [self.member(fold) for fold in range(first, last)]

    def finish(self, fit: CrossFit) -> CrossFit:
        """Return it with what it ends as on all rows; what out-of-fold rows have said of it stands.

        Members that make no rounds give way to one of all rows, that goes as far.
        """
        member = self.member(None)
        member.train([fit.n_rounds])
        made, seconds = [member.result(fit.n_rounds)], fit.seconds + member.seconds
        return fit._replace(members=made, smooth=member.smooth(), seconds=seconds)


# -- cross-fitting -----------------------------------------------------------------------------------------------------
def cross_fit(
    kind: Kind,
    members: Sequence[Member],
    n_rounds: int,
    workers: Workers,
    part: Driver | None = None,
    bar: float = math.inf,
) -> CrossFit:
    """Train the members of the first folds in turns, for as many rounds as the rows that they left out ask for.

    At every checkpoint the pooled log-loss at the best temperature (without a link: the risk) is looked at. The rounds
    of the last one are kept that was better than the one kept before by more than chance, see `exceeds_its_error`, or
    by `LEAST_FALL`, which is less than chance where few rows make the loss. Members may have been trained before. The
    default time is that of the task's driver.

    Where somebody asks that the fit end, the last checkpoint that all members have reached is the last. It is also the
    last where the price of two checkpoints is above what they brought (`defaults.pays`), or where the loss would stay
    above a `bar` if it fell as much at each checkpoint to come as at the better one of the last two.

    Raises
    ------
    NothingJudged
        If that is none, or the one before the first round.
    """
    # `chosen` is the place in `rounds` of the checkpoint that is kept; the loss there is `best`.
    link, folded, pace = kind.task.link, kind.task.folded, Pace(part or kind.task.driver)
    best, chosen, weight, running, start, known, chosen_held = np.inf, 0, 0.0, 0.0, 0.0, 0.0, None
    rounds, curve = [0, *defaults.checkpoints(n_rounds)], []
    few = folded.n_rows * kind.task.n_outputs <= driver.TOGETHER_SCORES
    stop = pace.driver.stop
    for c in range(len(rounds)):
        behind = [member for member in members if member.reached < rounds[c]]
        if behind and c > 1:
            rounds[c] = pace.next(
                rounds[c - 1], rounds[c], defaults.FINISHING + defaults.last_share(kind.task.costs.n_rows)
            )
            if rounds[c] == rounds[c - 1]:
                break
        if behind:
            # Members go on to where it may be time to stop at the earliest, which wastes no round, unless the scores
            # on the way are too many to keep.
            soon = defaults.PATIENCE * rounds[chosen] + defaults.GRACE_ROUNDS
            one_by_one = pace.driver.limited or kind.work(1) > 0.0
            most = 0 if one_by_one else len(rounds) if few else driver.CHECKPOINTS_AHEAD
            ahead = min(most, sum(at <= soon for at in rounds[c:]))
            if not stop.over:
                workers.map(partial(_go_on, rounds=rounds[c : c + ahead + 1], rests=len(members) > 1), behind)
            if stop.over:  # perhaps somewhere on the way
                if c < 2:
                    raise NothingJudged
                break
        held = out_of_fold(folded, members, rounds[c], link)
        if link is None:  # no temperature, and a risk moves in steps: a fall has to be a share of what there is
            loss = held.risk(None, 1.0, None)
            curve.append((rounds[c], held.stated(loss)))
            start = loss if c == 0 else start
            asked = defaults.LEAST_FALL * min(best, start - best) if chosen else defaults.FIRST_FALL * start
            better = c == 0 or loss < best - asked
        else:
            if c == 0:
                known = total = float(held.along(link, 0.0, 0.0)[0])
            else:
                running, total = fit_weight(held, link, running, 0.0, nothing=known)
            loss = total / (held.weight or 1.0)
            curve.append((rounds[c], loss))
            better = chosen_held is None or exceeds_its_error(held.gain_over(chosen_held, link, running, weight))
            better |= chosen > 0 and loss < best - defaults.LEAST_FALL * best
        stop.worth |= c > 0
        if better:
            best, chosen, chosen_held, weight = loss, c, held, running
        del held  # scores of all rows, while members go on
        patience = defaults.PATIENCE * rounds[chosen] + defaults.GRACE_ROUNDS if chosen else defaults.SLOW_START
        if rounds[c] > max(kind.wait, patience):
            break
        work = kind.work(rounds[c]) if kind.makes_rounds else 0.0
        if better and c > 2 and work and rounds[c] > kind.wait:
            (before, worse), (_, now) = curve[c - 2], curve[c]
            if not defaults.pays(worse, now, curve[0][1], kind.work(before), work):
                break
        if c > 2:
            losses = [value for _, value in curve[-3:]]
            if loss - (len(rounds) - 1 - c) * max(0.0, losses[0] - losses[1], losses[1] - loss) > bar:
                break
    assert chosen_held is not None
    if len(members) == 1:  # which has not rested so far
        members[0].rest()
    progress = [member.result(rounds[chosen]) for member in members]
    if link is not None and chosen:
        weight = fit_weight(chosen_held, link, weight, half_row(chosen_held))[0]
    seconds = sum(member.seconds for member in members) / min(len(members), workers.n)
    return CrossFit(kind, progress, rounds[chosen], weight, chosen_held, curve, seconds)


def exceeds_its_error(gain: FloatArray) -> bool:
    """Tell whether a sum over rows is larger than its standard error, by the sum of the squares (2,).

    The weight of scores of noise gains z^2 / 2 of the log-loss, with an error of |z|, z being normal: one standard
    error is gained where |z| is above 2.
    """
    return bool(gain[0] > math.sqrt(gain[1]))


def _go_on(member: Member, rounds: Sequence[int], rests: bool) -> None:
    """Train a member to these checkpoints; it rests while others train."""
    member.train(rounds)
    if rests:
        member.rest()


def out_of_fold(folded: FoldedRows, members: Sequence[Member], n_rounds: int, link: Link | None = None) -> HeldOut:
    """Return scores of the members' out-of-fold rows at a checkpoint; with a link less what they have started from."""
    starts = None if link is None else [member.start for member in members]
    return folded.held_out([member.scores(n_rounds) for member in members], starts)
