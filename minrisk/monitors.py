"""What watches the rounds: histories, early stopping, a progress bar. The loop knows none of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk.learners.base import Term
from minrisk.rows.base import Rows


class RoundInfo(NamedTuple):
    """What happened in a round; before the first one, the constant term."""

    n_rounds: int  # rounds so far
    planned: int
    terms: tuple[Term, ...]  # what the round added, changes of earlier vectors among them; none before the first one
    shift: FloatArray  # (D,) the constant term before the first round; zeros after it
    loss: float
    rows: Rows


class Monitor(Protocol):
    """Something that looks at every round."""

    def before_rounds(self, info: RoundInfo) -> None:
        """Called once, with the constant term, unless earlier rounds are being continued."""

    def after_round(self, info: RoundInfo) -> bool:
        """True asks the loop to stop."""


class RiskHistory:
    """Mean avoidable cost of the training decisions, before round 1 and after every round.

    Parameters
    ----------
    earlier : sequence of float
        Risks of rounds already done (warm start), the one before round 1 first.
    """

    def __init__(self, earlier: Sequence[float] = ()) -> None:
        self.risks = list(earlier)

    def before_rounds(self, info: RoundInfo) -> None:
        """The risk of the constant term."""
        self.risks.append(info.rows.risk())

    def after_round(self, info: RoundInfo) -> bool:
        """Append the risk."""
        self.risks.append(info.rows.risk())
        return False


def split_rows(codes: IntArray, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Training rows and those of early stopping, by class where every class can be on both sides.

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
    room = min(n_validating, len(codes) - n_validating) >= len(counts)
    parts = train_test_split(
        np.arange(len(codes)), test_size=n_validating, random_state=seed,
        stratify=codes if counts.min() >= 2 and room else None,
    )
    return np.sort(parts[0]), np.sort(parts[1])


class EarlyStopping:
    """Stop when the validated risk (the mean avoidable cost) has not reached a new minimum for `patience` rounds.

    Parameters
    ----------
    rows : Rows
        Validation rows at the scores of the rounds already done.
    patience : int
        Rounds without a new minimum.
    earlier : sequence of float
        Risks of rounds already done (warm start), the one before round 1 first.
    """

    def __init__(self, rows: Rows, patience: int, earlier: Sequence[float] = ()) -> None:
        self.rows, self.patience, self.risks = rows, patience, list(earlier)

    @property
    def best_round(self) -> int:
        """First round with the least validated risk; 0 is before round 1."""
        return self.risks.index(min(self.risks))

    def before_rounds(self, info: RoundInfo) -> None:
        """Score the validation rows with the constant term."""
        self.rows.shift(info.shift)
        self.risks.append(self.rows.risk())

    def after_round(self, info: RoundInfo) -> bool:
        """Score the validation rows; True when the patience is spent."""
        for term in info.terms:
            self.rows.respond(term.learner)
            self.rows.advance(term.vectors)
        self.risks.append(self.rows.risk())
        return len(self.risks) - 1 - self.best_round >= self.patience


class ProgressBar:
    """A bar on standard error, by rich; used as a context."""

    def __init__(self, enabled: bool, planned: int) -> None:
        self._bar: Any = None
        if enabled:
            try:
                from rich.console import Console
                from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
            except ImportError:
                warnings.warn("verbose draws a progress bar with rich, which is not installed: "
                              "pip install 'minrisk[progress]'. The fit goes on without a bar.", stacklevel=4)
            else:
                self._bar = Progress(
                    TextColumn("boosting"), BarColumn(), MofNCompleteColumn(), TextColumn("loss {task.fields[loss]}"),
                    TimeRemainingColumn(), console=Console(stderr=True),
                )
                self._task = self._bar.add_task("boosting", total=planned, loss="")

    def __enter__(self) -> ProgressBar:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def before_rounds(self, info: RoundInfo) -> None:
        """Nothing to show yet."""

    def after_round(self, info: RoundInfo) -> bool:
        """Move the bar."""
        if self._bar is not None:
            self._bar.update(self._task, completed=info.n_rounds, loss=f"{info.loss:.4g}")
        return False
