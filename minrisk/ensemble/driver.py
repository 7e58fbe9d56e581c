"""The driver of a fit: its time, who may end it, who watches it, where its rounds are kept, and its memory.

Training (`minrisk.ensemble.training`) asks how much time is left, which kinds of members there is time for, and how far
members go on. Nothing here changes a model, unless there is a budget of time or somebody asks that the fit end.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any

from minrisk._utils.interrupts import StopRequest
from minrisk._utils.workers import Workers
from minrisk.boosting.watching import Watch
from minrisk.ensemble.defaults import SHORT_SHARE

SHARED_VALUES = 1 << 13  # binned values, below which threads cost more than they bring
RESTING_SCORES = 1 << 17  # from which on members that wait for the others free what the next round fills anew,
FORGETTING_SCORES = 1 << 19  # and their scores, which their trees bring back
TOGETHER_SCORES = 1 << 21  # beyond which members train one after another, a few checkpoints at a time: less memory
CHECKPOINTS_AHEAD = 1  # then, beside the next one, at most: trees bring scores back, which takes as long as some rounds
LINEAR_VALUES = 1 << 21  # of linear features that are computed together: all of them would be the peak of memory


class NothingJudged(Exception):
    """The training was asked to end before out-of-fold rows had been looked at after a round."""


class Driver:
    """What surrounds the training of one fit.

    Parameters
    ----------
    watch : Watch, optional
        Who is told what is being done, and who may ask that it end: then the model is what there is.
    workers : Workers, optional
        Threads.
    seconds : float, optional
        That the fit may take from now on; default: no limit.

    Attributes
    ----------
    kept : float
        Seconds for what is to be done when the training that goes on has ended.
    """

    def __init__(
        self, watch: Watch | None = None, workers: Workers | None = None, seconds: float | None = None
    ) -> None:
        self.watch, self.workers = watch or Watch(), workers or Workers()
        self.limited, self.seconds = seconds is not None, math.inf if seconds is None else seconds
        self.kept, self._ends = 0.0, time.perf_counter() + self.seconds
        self._coming: Sequence[int] = ()  # members of each kind that are expected, the plain ones first
        self._rounds = self._last = self._longest = 0  # of a member: first ones, last ones, and at most

    # -- time --------------------------------------------------------------------------------------------------------
    @property
    def stop(self) -> StopRequest:
        """Return where somebody may ask that the fit end; from then on no time is left."""
        return self.watch.stop

    def left(self) -> float:
        """Return seconds without those that are kept."""
        return -math.inf if self.stop.over else self._ends - time.perf_counter() - self.kept

    def until(self, share: float) -> Driver:
        """Return a driver that ends when this share of the seconds that are left now is over."""
        if not self.limited:
            return self
        part, now = copy(self), time.perf_counter()
        part.seconds = share * max(0.0, self._ends - self.kept - now)
        part.kept, part._ends = 0.0, now + part.seconds
        return part

    # -- what watchers are told --------------------------------------------------------------------------------------
    def expect(self, coming: Sequence[int], n_rounds: int, last: int) -> None:
        """Expect so many members of each kind, of so many rounds and last rounds each."""
        self._coming, self._rounds, self._last = coming, n_rounds, last
        self._longest = max(self._longest, n_rounds)

    def begin(self, what: str, members: int, number: int) -> None:
        """Begin so many members, before the kinds from this number on; last rounds are expected of all kinds."""
        later = sum(self._coming[number:]) * self._rounds + sum(self._coming) * self._last
        self.watch.phase(what, members * self._rounds, later, self._longest)

    def stands(self, ensemble: Any, kept: float) -> None:
        """Tell what has been learnt so far, and keep so many seconds to finish it."""
        self.watch.stands(ensemble)
        self.kept = kept

    # -- challengers -------------------------------------------------------------------------------------------------
    def trials(
        self, kinds: Sequence[Any], seconds: float, workers: Workers, trial: Callable[[Any], Any]
    ) -> Iterator[Any]:
        """Yield the trial of each kind that there is time for; a kind takes so many seconds on one worker.

        Trials are made side by side by several workers, and else one after another, since what is tried holds memory.
        """
        if self.left() < seconds / workers.n:  # for no kind: what only these see is not prepared
            return
        with self.stop.giving_up():
            kinds = [kind for kind in kinds if not self.stop.over and kind.ready()]
        if self.stop.over:
            return
        n_members = self._coming[0]
        self._coming = [n_members, *(n_members * kind.makes_rounds for kind in kinds)]
        ahead: list[Any] = []
        if workers.n > 1:
            if self.left() < seconds * len(kinds) / workers.n:
                return
            self.begin("challengers", len(kinds), 1)
            ahead = workers.map(trial, kinds)
        for number, kind in enumerate(kinds, 1):
            if not ahead and self.left() < seconds:
                return
            self.begin(f"{kind.name} members", self._coming[number], number + 1)
            yield ahead.pop(0) if ahead else trial(kind)


class Pace:
    """How far the members of one kind go on at a time, so that they end within the time of a driver.

    The rounds to come are expected to take as long as the last ones did. The first rounds are always made.
    """

    def __init__(self, driver: Driver) -> None:
        self.driver, self._begun = driver, time.perf_counter()
        self._reached, self._at, self._each = 0, self._begun, 0.0

    def next(self, reached: int, wanted: int, finishing: float = 0.0) -> int:
        """Return the round to go on to: the one that is wanted, an earlier one, or the one that is reached already.

        Parameters
        ----------
        reached, wanted : int
            Rounds.
        finishing : float
            Seconds that will be needed afterwards, for each second spent until then.
        """
        if self.driver.stop.over:
            return reached
        if not self.driver.limited or not reached:
            return wanted
        now = time.perf_counter()
        if reached > self._reached:
            self._each = (now - self._at) / (reached - self._reached)
            self._reached, self._at = reached, now
        left = self.driver.left() - finishing * (now - self._begun)
        more = int(left / max(self._each * (1.0 + finishing), 1e-7))  # seconds, as a clock may stand still
        return min(wanted, reached + more) if more > SHORT_SHARE * reached else reached
