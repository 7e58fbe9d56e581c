"""What a kind of members is, and what members of all kinds are trained on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np

from minrisk._typing import IntArray
from minrisk._workers import Workers
from minrisk.boosting.monitors import Monitor
from minrisk.ensemble import defaults
from minrisk.ensemble.columns import Columns
from minrisk.ensemble.cross_fitting import CrossFit, Member
from minrisk.model.links import Link
from minrisk.rows.base import RowCosts


class Settings(NamedTuple):
    """Parameters of `MinRiskClassifier` that members follow."""

    learning_rate: float
    max_leaf_nodes: int | None
    max_depth: int | None
    min_samples_leaf: int
    smoothing: float
    sketch: int | None
    max_features: float | None
    search_rows: int | None
    subsample: float


class Table(NamedTuple):
    """The training rows, fold after fold, as members may see them."""

    X: np.ndarray  # (N, d)
    rows: IntArray  # (n,) of X
    folds: IntArray  # (n,) ascending
    columns: Columns  # the features, then linear ones
    finer: Columns  # the features in finer bins; the same where these bring nothing
    linear: list[IntArray] | None  # numbers of the columns that the member of each fold may see; None: no linear ones

    @property
    def n_features(self) -> int:
        """Of X."""
        return int(self.X.shape[1])

    @property
    def n_folds(self) -> int:
        """One: no row is left out."""
        return int(self.folds[-1]) + 1

    def fold(self, fold: int) -> tuple[int, int]:
        """First row of a fold, and the one after its last."""
        first, last = np.searchsorted(self.folds, [fold, fold + 1]).tolist()
        return first, last


class Task(NamedTuple):
    """What members of all kinds are trained for: one surrogate."""

    table: Table
    surrogate: str
    costs: RowCosts  # what they train on: 0/1 costs where there is a link, else those that were stated
    link: Link | None  # from scores to probabilities
    settings: Settings
    seed: int
    workers: Workers
    watching: Sequence[Monitor] = ()


class Kind(ABC):
    """A kind of members: what they see, how they are trained, and what they must bring for a share in the pool.

    Parameters
    ----------
    task : Task
    """

    name: ClassVar[str]
    place: ClassVar[str]  # in the pool, which rivals strive for: the name of the first of them
    makes_rounds: ClassVar[bool] = True  # of trees
    wait: float = 0.0  # rounds before which nobody loses patience
    largest_share: float = 1.0
    workers: Workers  # that train its members side by side

    def __init__(self, task: Task) -> None:
        self.task = task

    @classmethod
    def of(cls, task: Task) -> Self | None:
        """Itself for a task; None where this kind is not tried."""
        return cls(task)

    @property
    def least_gain(self) -> float:
        """Share of the log-loss that members have to take off."""
        return defaults.LEAST_GAIN

    @property
    def tried_on(self) -> int:
        """First folds, whose rows say whether members for the others are trained."""
        return 1

    @abstractmethod
    def member(self, fold: int) -> Member:
        """A member to be trained on the other folds."""

    def members(self, first: int, last: int) -> list[Member]:
        """Those for these folds."""
        return [self.member(fold) for fold in range(first, last)]

    @abstractmethod
    def finish(self, fit: CrossFit, most: int) -> CrossFit:
        """With the last rounds of its members, on all rows; what left-out rows have said of it stands."""
