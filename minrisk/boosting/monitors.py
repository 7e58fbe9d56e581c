"""What watches the rounds: histories, early stopping, a progress bar. The loop knows none of them."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk.data.groups import placed_groups
from minrisk.data.row_keys import numbered_keys
from minrisk.learners.base import Term
from minrisk.rows.rows import Rows

REDRAWN = 5  # times a second, that a progress bar is


class RoundInfo(NamedTuple):
    """Say what happened in a round; before the first one, the constant term."""

    n_rounds: int  # rounds so far
    terms: tuple[Term, ...]  # what the round added, changes of earlier vectors among them; none before the first one
    shift: FloatArray  # (D,) the constant term before the first round; zeros after it
    loss: float
    rows: Rows


class Monitor(Protocol):
    """Something that looks at every round.

    One whose attribute `counts_only` is true neither looks at the rows nor stops the loop: rounds may be made ahead.
    """

    def before_rounds(self, info: RoundInfo) -> None:
        """Take the constant term, once, unless earlier rounds are being continued."""

    def after_round(self, info: RoundInfo) -> bool:
        """Return True to ask the loop to stop."""


@runtime_checkable
class RoundMonitor(Monitor, Protocol):
    """One that also wants to know when a round begins, which may then find no learner and end the loop."""

    def before_round(self) -> None:
        """Prepare for a round."""


class RiskHistory:
    """Mean avoidable cost of the training decisions, before round 1 and after every round.

    Parameters
    ----------
    earlier : sequence of float
        Risks of rounds already done (warm start), the one before round 1 first.
    """

    def __init__(self, earlier: Sequence[float] = ()) -> None:
        self.risks = list(earlier)

    def state(self) -> dict[str, Any]:
        """Give what a checkpoint keeps of it."""
        return {"risks": np.array(self.risks)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go on with what a checkpoint has kept."""
        self.risks = state["risks"].tolist()

    def before_rounds(self, info: RoundInfo) -> None:
        """Append the risk of the constant term."""
        self.risks.append(info.rows.risk())

    def after_round(self, info: RoundInfo) -> bool:
        """Append the risk."""
        self.risks.append(info.rows.risk())
        return False


def split_rows(codes: IntArray, share: float, seed: int, group: IntArray | None = None) -> tuple[IntArray, IntArray]:
    """Part training rows from those of early stopping, by class where each can be on both sides; whole groups.

    Raises
    ------
    ValueError
        If a side would be empty.
    """
    from sklearn.model_selection import train_test_split  # slow to import, rarely needed

    counts, n_validating = np.bincount(codes), math.ceil(share * len(codes))
    if n_validating >= len(codes):
        raise ValueError(
            f"early_stopping needs rows on both sides: {len(codes)} rows are too few for validation_fraction={share}."
        )
    if group is not None:
        names, group = np.unique(group, return_inverse=True)
        if len(names) < len(codes):
            return _split_groups(group, codes, share, seed)
    room = min(n_validating, len(codes) - n_validating) >= len(counts)
    parts = train_test_split(
        np.arange(len(codes)),
        test_size=n_validating,
        random_state=seed,
        stratify=codes if counts.min() >= 2 and room else None,
    )
    return np.sort(parts[0]), np.sort(parts[1])


def _split_groups(group: IntArray, codes: IntArray, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Part whole groups, in an order that is drawn."""
    sizes = np.bincount(group)
    if len(sizes) < 2:
        raise ValueError(
            "early_stopping sets whole groups apart, got one group: leave groups out, or set early_stopping=False."
        )
    keys = numbered_keys(np.arange(len(sizes)), seed)
    part = placed_groups(group, codes, np.array([1.0 - share, share]), keys, largest_first=False)
    if np.ptp(part) == 0:  # one side would be empty
        least = np.lexsort((keys, sizes))[0]
        part[least] = 1 - part[least]
    return np.flatnonzero(part[group] == 0), np.flatnonzero(part[group] == 1)


class RiskOfOthers(RiskHistory):
    """Risk (the mean avoidable cost) of other rows than those of the training, after every round.

    Parameters
    ----------
    rows : Rows
        At the scores of the rounds already done.
    earlier : sequence of float
        Risks of rounds already done (warm start), the one before round 1 first.
    """

    def __init__(self, rows: Rows, earlier: Sequence[float] = ()) -> None:
        super().__init__(earlier)
        self.rows = rows

    def before_rounds(self, info: RoundInfo) -> None:
        """Score the rows with the constant term."""
        self.rows.shift(info.shift)
        self.risks.append(self.rows.risk())

    def after_round(self, info: RoundInfo) -> bool:
        """Score the rows."""
        for term in info.terms:
            self.rows.respond(term.learner)
            self.rows.advance(term.vectors)
        self.risks.append(self.rows.risk())
        return False


class EarlyStopping(RiskOfOthers):
    """Stop when the validated risk has not reached a new minimum for `patience` rounds.

    Parameters
    ----------
    rows : Rows
        Validation rows at the scores of the rounds already done.
    patience : int
        Rounds without a new minimum.
    constant : int
        The decision that is the cheapest for all rows, which a round has to beat.
    unseen : ndarray of shape (3,)
        What is added to `Rows.savings`: rows whose mistakes the few that are set apart may not show.
    earlier : sequence of float
        Risks of rounds already done (warm start), the one before round 1 first.

    Attributes
    ----------
    beats_constant : bool
        Whether the decisions of the best round cost less than the cheapest one for all rows, by more than a standard
        error of the paired differences.
    """

    def __init__(
        self, rows: Rows, patience: int, constant: int, unseen: FloatArray, earlier: Sequence[float] = ()
    ) -> None:
        super().__init__(rows, earlier)
        self.patience, self._constant, self._unseen = patience, constant, unseen
        self.beats_constant = len(earlier) > 1 and self._is_cheaper()

    def state(self) -> dict[str, Any]:
        """Give what a checkpoint keeps of it."""
        return super().state() | {"beats": np.array([self.beats_constant])}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go on with what a checkpoint has kept."""
        super().restore(state)
        self.beats_constant = bool(state["beats"][0])

    @property
    def best_round(self) -> int:
        """First round with the least validated risk; 0 is before round 1."""
        return self.risks.index(min(self.risks))

    @property
    def is_spent(self) -> bool:
        """Tell whether the patience is spent."""
        return len(self.risks) - 1 - self.best_round >= self.patience

    def after_round(self, info: RoundInfo) -> bool:
        """Score the validation rows; True when the patience is spent."""
        super().after_round(info)
        if self.best_round == len(self.risks) - 1:
            self.beats_constant = self._is_cheaper()
        return self.is_spent

    def _is_cheaper(self) -> bool:
        """Compare the decisions here with the constant one."""
        weight, total, squares = self.rows.savings(self._constant) + self._unseen
        return bool(total > 0.0 and total * total > squares - total * total / weight)


class Stages:
    """The vectors of all learners after every round, where rounds change earlier ones; one learner to a round.

    Parameters
    ----------
    last : sequence of ndarray
        Vectors (1, D) of the rounds already done (warm start).
    earlier : ndarray of shape (t (t + 1) / 2, D), optional
        And those after each of these rounds; without it only the last of these is known.
    """

    def __init__(self, last: Sequence[FloatArray] = (), earlier: FloatArray | None = None) -> None:
        self._now, self.vectors = [vector.copy() for vector in last], list[FloatArray]()
        for t in range(1, len(last)):
            first = t * (t - 1) // 2
            self.vectors.append(np.empty((0, 0)) if earlier is None else earlier[first : first + t])
        if last:
            self.vectors.append(np.concatenate(self._now))

    def state(self) -> dict[str, Any]:
        """Give what a checkpoint keeps of it."""
        known = [stage for stage in self.vectors if len(stage)]
        return {"known": np.array([len(stage) for stage in self.vectors]), "stages": np.concatenate(known)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go on with what a checkpoint has kept."""
        self.vectors = np.split(state["stages"], np.cumsum(state["known"]))[:-1]
        self._now = list(self.vectors[-1][:, None])

    def before_rounds(self, info: RoundInfo) -> None:
        """Do nothing: there are none."""

    def after_round(self, info: RoundInfo) -> bool:
        """Follow the changes, then add the new vector."""
        *changes, new = info.terms
        for t, change in enumerate(changes):
            self._now[t] = self._now[t] + change.vectors
        self._now.append(new.vectors.copy())
        self.vectors.append(np.concatenate(self._now))
        return False


class ProgressBar:
    """One bar on standard error for a whole fit, by rich; used as a context.

    It says what is being done and for how long, and stands at the share that the rounds made have in all that are made
    or still expected. Where a phase needs fewer rounds than expected, the bar leaps; it never goes back.

    Parameters
    ----------
    enabled : bool
        False: nothing is drawn, nor is rich imported.
    """

    counts_only = True

    def __init__(self, enabled: bool) -> None:
        self._bar: Any = None
        self._lock = Lock()  # members that train side by side
        self._made = self._here = self._later = 0.0  # rounds made, and still expected of this phase and of later ones
        self._part, self._parts, self._before = -1, 1, ""
        self._share, self._what, self._most, self._reached, self._loss = 0.0, "preparing", 0, 0, 0.0
        self._drawn = 0.0  # when
        if enabled:
            try:
                from rich.console import Console
                from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
            except ImportError:
                warnings.warn(
                    "verbose draws a progress bar with rich, which is not installed: "
                    "pip install 'minrisk[progress]'. The fit goes on without a bar.",
                    stacklevel=4,
                )
            else:
                self._bar = Progress(
                    BarColumn(),
                    TextColumn("{task.fields[percent]:3d} %"),
                    TimeElapsedColumn(),
                    TextColumn("{task.description}"),
                    console=Console(stderr=True),
                    refresh_per_second=REDRAWN,
                    redirect_stdout=False,
                )
                self._task = self._bar.add_task(self._what, total=1.0, percent=0)

    def __enter__(self) -> ProgressBar:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._bar is not None:
            if kind is None:
                self._share, self._what = 1.0, "done"
            self._draw()
            self._bar.stop()

    @property
    def watching(self) -> list[Monitor]:
        """Monitors that a loop needs for it: itself if anything is drawn."""
        return [] if self._bar is None else [self]

    def part(self, name: str, of: int) -> None:
        """Begin the next of so many parts of about equal time, some of which may be left out; phases are of a part."""
        if self._bar is not None:
            self._part, self._parts, self._before = self._part + 1, of, f"{name}, " if of > 1 else ""
            self._made = 0.0

    def phase(self, what: str, rounds: float = 0, later: float = 0, most: int = 0) -> None:
        """Begin something.

        Parameters
        ----------
        what : str
            What is being done.
        rounds : float
            Expected of it, by all members.
        later : float
            Expected after it.
        most : int
            Rounds of one member at most, to be shown; 0: not known.
        """
        if self._bar is not None:
            with self._lock:
                self._here, self._later, self._most = rounds, later, most
                self._what, self._reached = self._before + what, 0
                self._move()
                self._draw()

    def step(self) -> None:
        """Count a piece of a phase whose pieces are no rounds of boosting."""
        if self._bar is not None:
            with self._lock:
                self._made, self._here = self._made + 1, max(0.0, self._here - 1)
                self._move()
                self._draw()

    def before_rounds(self, info: RoundInfo) -> None:
        """Do nothing: there is nothing to show yet."""

    def after_round(self, info: RoundInfo) -> bool:
        """Count the round; the bar is moved as often as it is drawn."""
        if self._bar is not None:
            with self._lock:
                self._made, self._here = self._made + 1, max(0.0, self._here - 1)
                self._reached, self._loss = info.n_rounds, info.loss
                if time.perf_counter() - self._drawn > 1 / REDRAWN:
                    self._move()
                    self._draw()
        return False

    def _move(self) -> None:
        """Move forward, if anywhere."""
        expected = self._made + self._here + self._later
        within = self._made / expected if expected else 0.0
        self._share = max(self._share, (max(0, self._part) + within) / self._parts)

    def _draw(self) -> None:
        """Draw what is known now."""
        self._drawn = time.perf_counter()
        what, most = self._what, f"/{self._most}" if self._most else ""
        if self._reached:
            what += f", round {self._reached}{most}, loss {self._loss:.4g}"
        self._bar.update(self._task, completed=self._share, percent=int(100 * self._share), description=what)
