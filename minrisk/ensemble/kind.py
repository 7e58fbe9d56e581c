"""What a kind of members is, and what members of all kinds are trained on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from minrisk._typing import Bag, FloatArray, IntArray, LeftOut
from minrisk._workers import Workers
from minrisk.boosting.checkpoint import Run
from minrisk.boosting.loop import Progress
from minrisk.boosting.monitors import Monitor
from minrisk.ensemble import defaults, sizes
from minrisk.ensemble.budget import UNLIMITED, Budget
from minrisk.model.links import Link
from minrisk.model.projection import Projection, SmoothScores
from minrisk.rows.base import Rows
from minrisk.rows.columns import Columns
from minrisk.rows.costs import CostFacts
from minrisk.rows.folded import FoldedRows, HeldOut


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

    @classmethod
    def of(cls, parameters: Mapping[str, Any], n_rows: int, n_features: int) -> Settings:
        """Those among the parameters; what they leave open follows the data, see `minrisk.ensemble.sizes`."""
        usual = {"learning_rate": sizes.learning_rate(n_rows), "smoothing": sizes.smoothing(n_rows, n_features)}
        given = {name: parameters[name] for name in cls._fields}
        return cls(**given | {name: value for name, value in usual.items() if given[name] is None})


def is_wide(n_rows: int, n_features: int) -> bool:
    """Whether features are as many as of texts by their words."""
    return n_features > defaults.WIDE_FEATURES and n_rows > defaults.WIDE_ROWS


class Table:
    """What members may see of the training rows, which stand fold after fold.

    Parameters
    ----------
    X : ndarray, SparseRows or RowBlocks of shape (N, d)
    rows : ndarray of int, (n,)
        Of X.
    columns : Columns
        The features; linear ones are put behind them when they are first asked for.
    bin_finer : callable, optional
        Gives the features in finer bins; None: these bring nothing.
    add_linear : callable, optional
        Adds linear features to the columns and gives their projection, and the numbers of the columns that the member
        of each fold may see; None: there are none.
    source : ndarray of int, (d,), optional
        The feature of X that each was made of, as categories are of their codes; default: each stands for itself.
    """

    def __init__(
        self,
        X: Any,
        rows: IntArray,
        columns: Columns,
        bin_finer: Callable[[], Columns] | None = None,
        add_linear: Callable[[], tuple[Projection, list[IntArray]] | None] | None = None,
        source: IntArray | None = None,
    ) -> None:
        self.X, self.rows, self.columns = X, rows, columns
        self._bin_finer, self._add_linear, self._one, self._source = bin_finer, add_linear, Lock(), source
        self._finer: Columns | None = None
        self.projection: Projection | None = None  # of the linear features, once they have been asked for
        self._seen: list[IntArray] | None = None

    @property
    def finer(self) -> Columns:
        """The features in finer bins; the same where these bring nothing."""
        with self._one:
            if self._finer is None:
                self._finer = self.columns if self._bin_finer is None else self._bin_finer()
            return self._finer

    @property
    def linear(self) -> list[IntArray] | None:
        """Numbers of the columns that the member of each fold may see; None: there are no linear features."""
        with self._one:
            if self._add_linear is not None:
                found, self._add_linear = self._add_linear(), None
                if found is not None:
                    self.projection, self._seen = found
            return self._seen

    @property
    def categories(self) -> tuple[Bag, Bag]:
        """Which features are codes of categories, and which only say whether these are a certain value, (d,) each."""
        own = np.arange(self.n_features)
        made = own if self._source is None else self._source
        is_code = np.isin(own, made[made != own])
        return is_code, (made != own) & (self.columns.n_bins[: len(own)] <= 2)

    @property
    def n_features(self) -> int:
        """Of X."""
        return int(self.X.shape[1])

    @property
    def n_given(self) -> int:
        """Features that others are made of: the first ones."""
        return self.n_features if self._source is None else int(self._source.max()) + 1


class Task(NamedTuple):
    """What members of all kinds are trained for: one surrogate."""

    table: Table
    folded: FoldedRows  # with what they train on: 0/1 costs where there is a link, else those that were stated
    surrogate: str
    link: Link | None  # from scores to probabilities
    settings: Settings
    seed: int
    workers: Workers
    watching: Sequence[Monitor] = ()
    budget: Budget = UNLIMITED
    left_open: frozenset[str] = frozenset()  # settings that the caller did not state: what may be varied
    run: Callable[[str], Run] = Run  # of the loop, by its name: where its rounds are kept

    @property
    def costs(self) -> CostFacts:
        """Of what members train on."""
        return self.folded.cost_facts

    @property
    def n_outputs(self) -> int:
        """Scores of a row."""
        return self.costs.n_decisions


class Member(Protocol):
    """One member in training, and the scores of the rows that it does not see, at every checkpoint."""

    seconds: float
    reached: int  # the last checkpoint's round; -1: none

    @property
    def start(self) -> FloatArray:
        """Scores (D,) before the first round."""

    def train(self, rounds: Sequence[int]) -> None:
        """Go on to each of these checkpoints, as far as there is anything left to learn, and keep the scores there."""

    def scores(self, n_rounds: int) -> LeftOut:
        """Of the left-out rows at a checkpoint."""

    def rest(self) -> None:
        """Free memory while others train."""

    def result(self, n_rounds: int) -> Progress:
        """The first rounds."""


class CrossFit(NamedTuple):
    """The members of a kind, the rounds and the temperature that left-out rows chose, and what those rows said."""

    kind: Kind
    members: list[Progress]
    n_rounds: int  # of members that have ended, those on all rows as well
    weight: float  # of what they say beyond the class frequencies, the reciprocal of their temperature
    n_folds: int  # the first ones, whose rows were left out
    held: HeldOut  # what the members say of their left-out rows, beyond the class frequencies where there is a link
    judged: list[tuple[int, float]]  # round and pooled log-loss (or risk) at each checkpoint
    seconds: float
    risk: float = np.inf  # mean avoidable cost of the decisions about those rows, which a pool fills in
    doubt: float = 0.0  # by how much its weight must lower the loss, for each unit of it
    smooth: SmoothScores | None = None  # what members without trees end as

    @property
    def n_trees(self) -> int:
        """Of a member, at most: where members make no rounds, as many as it has."""
        return self.n_rounds if self.kind.makes_rounds else max(len(member.trees) for member in self.members)


class Kind(ABC):
    """A kind of members: what they see, and how they are trained.

    Parameters
    ----------
    task : Task
    """

    name: ClassVar[str]
    makes_rounds: ClassVar[bool] = True  # of trees
    wait: float = 0.0  # rounds before which nobody loses patience
    workers: Workers  # that train its members side by side

    def __init__(self, task: Task) -> None:
        self.task = task
        # first folds, whose rows say whether members for the others are trained
        self.tried_on = 1 if task.costs.told_rows >= defaults.ONE_FOLD_TELLS else task.folded.n_folds

    @classmethod
    def of(cls, task: Task) -> Self | None:
        """Itself for a task; None where this kind is not tried."""
        return cls(task)

    def most_rounds(self, most: int) -> int:
        """Of its members, where plain ones may make so many: as many where the caller has stated them."""
        if "n_estimators" not in self.task.left_open:
            return most
        if not self.makes_rounds:
            return defaults.USUAL_ROUNDS
        return most * int(1000.0 * sizes.challenger_share(self.task.costs.n_rows)) // 1000

    def ready(self) -> bool:
        """Prepare what only this kind sees; False if there is no such thing."""
        return True

    def rows(self, fold: int | None) -> Rows | None:
        """What a member is trained on, with the rows that it leaves out; None where these see no trees."""
        return None

    @abstractmethod
    def member(self, fold: int) -> Member:
        """A member to be trained on the other folds."""

    def members(self, first: int, last: int) -> list[Member]:
        """Those for these folds."""
        return [self.member(fold) for fold in range(first, last)]

    @abstractmethod
    def finish(self, fit: CrossFit, most: int) -> CrossFit:
        """With the last rounds of its members, on all rows; what left-out rows have said of it stands."""
