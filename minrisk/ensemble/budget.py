"""The time that a fit may take, and how many rounds are made in what is left of it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

from minrisk._utils.interrupts import StopRequest
from minrisk.ensemble import defaults


class Budget:
    """Seconds of a fit, counted from its beginning.

    Parameters
    ----------
    seconds : float, optional
        Default: no limit.
    begun : float
        When the fit began, by `time.perf_counter`.
    stop : StopRequest, optional
        Where somebody may ask that the fit end; from then on nothing is left.
    """

    def __init__(self, seconds: float | None = None, begun: float = 0.0, stop: StopRequest | None = None) -> None:
        self.limited = seconds is not None
        self.seconds = float("inf") if seconds is None else seconds
        self._ends = begun + self.seconds
        self.stop = stop or StopRequest()
        self.kept = 0.0  # seconds for what is to be done when the training that goes on has ended

    def left(self) -> float:
        """Seconds, without those that are kept."""
        if self.stop.over:
            return -math.inf
        return self._ends - time.perf_counter() - self.kept

    def until(self, share: float) -> Budget:
        """One that ends when this share of the seconds that are left now is over."""
        if not self.limited:
            return self
        now = time.perf_counter()
        return Budget(share * max(0.0, self._ends - self.kept - now), now, self.stop)


UNLIMITED = Budget()


class Pace:
    """How far the members of one kind go on at a time, so that they end within a budget.

    The rounds to come are expected to take as long as the last ones did. The first rounds are always made.

    Parameters
    ----------
    budget : Budget
    """

    def __init__(self, budget: Budget) -> None:
        self.budget, self._begun = budget, time.perf_counter()
        self._reached, self._at, self._each = 0, self._begun, 0.0

    def within(self, checkpoints: Sequence[int]) -> Iterator[int]:
        """Those of these rounds that there is time for, and perhaps an earlier last one."""
        reached = 0
        for wanted in checkpoints:
            following = self.next(reached, wanted)
            if following == reached:
                break
            yield following
            reached = following

    def next(self, reached: int, wanted: int, finishing: float = 0.0) -> int:
        """The round to go on to: the one that is wanted, an earlier one, or the one that is reached already.

        Parameters
        ----------
        reached, wanted : int
            Rounds.
        finishing : float
            Seconds that will be needed afterwards, for each second spent until then.
        """
        if self.budget.stop.over:
            return reached
        if not self.budget.limited or not reached:
            return wanted
        now = time.perf_counter()
        if reached > self._reached:
            self._each = (now - self._at) / (reached - self._reached)
            self._reached, self._at = reached, now
        left = self.budget.left() - finishing * (now - self._begun)
        more = int(left / max(self._each * (1.0 + finishing), defaults.SHORTEST_ROUND))
        return min(wanted, reached + more) if more > defaults.SHORT_SHARE * reached else reached
