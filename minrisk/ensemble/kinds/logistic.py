"""Logistic members: softmax regression on the bins of single features, with a ridge penalty that falls.

Linear and weak signals take trees many rounds, each of which also learns noise. A member minimises

    sum_i w_i -log p_iy / W + penalty / 2 |B|^2,    p_i = softmax(a + B' z_i),

where z are the columns of `minrisk.ensemble.bin_columns`, with a free intercept and half a row of each class at the
mean of all rows, as class frequencies have it. A checkpoint is a penalty, each of which begins where the last one
ended; left-out rows choose it as they choose the rounds of trees. In the end one member of all rows has that penalty.

L-BFGS (Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", 1989) runs on coefficients
of the columns' principal axes, each in units of its curvature where all rows have the class frequencies: so neither
rare classes nor columns that are much alike make it slow.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from minrisk._sums import weighted_sum
from minrisk._typing import FloatArray, IntArray, LeftOut
from minrisk._workers import Workers
from minrisk.boosting.loop import Progress
from minrisk.ensemble import defaults
from minrisk.ensemble.bin_columns import BinColumns, bin_columns_of, weighed_trees
from minrisk.ensemble.kind import CrossFit, Kind, Task
from minrisk.rows.costs import log_frequencies
from minrisk.rows.rows import Rows

MOST_AXES = 1024  # columns: of more, principal axes would take longer than they save
MOST_ITERATIONS = 500  # for a penalty


class Design(NamedTuple):
    """The rows that members are fitted to, fold after fold, and their columns."""

    columns: list[BinColumns]
    axes: FloatArray | None  # (p, p) of the columns; None: themselves
    coordinates: FloatArray  # (p, m) of the rows along these
    squares: FloatArray  # (p,): mean square of each
    label: IntArray  # (m,)
    weight: FloatArray  # (m,)
    bounds: IntArray  # (n_folds + 1,): first row of each fold

    def coefficients(self, along: FloatArray) -> list[FloatArray]:
        """Of the columns of each feature, from those along the axes (p, K)."""
        of_columns = along if self.axes is None else self.axes @ along
        return np.split(of_columns, np.cumsum([one.values.shape[1] for one in self.columns])[:-1])


class Regression:
    """The penalised log-loss of all rows but those of a fold, and where it is least.

    Parameters
    ----------
    design : Design
    n_classes : int
    fold : int, optional
        That is left out; None: none.

    Attributes
    ----------
    start : ndarray of shape (K,)
        Intercept at the class frequencies.
    crowding, least : float
        Columns for each row; the penalty that is always there.
    """

    def __init__(self, design: Design, n_classes: int, fold: int | None) -> None:
        m = len(design.label)
        first, last = (m, m) if fold is None else design.bounds[fold : fold + 2].tolist()
        parts = [part for part in (slice(0, first), slice(last, m)) if part.start < part.stop]
        rows = np.sum([np.bincount(design.label[p], design.weight[p], n_classes) for p in parts], axis=0)
        total = float(rows.sum() + 0.5 * n_classes)
        self._parts = [(design.coordinates[:, p], design.label[p], design.weight[p] / total) for p in parts]
        self._half, self.crowding = 0.5 / total, len(design.squares) / total
        self.least = defaults.LOGISTIC_LEAST / total
        self.start = log_frequencies(rows)
        spread = np.exp(self.start) * -np.expm1(self.start)
        self._spread, self._squares = np.maximum(spread, np.finfo(float).tiny), design.squares

    def loss(self, along: FloatArray, intercept: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """The mean log-loss, and its slopes."""
        top = intercept.max()
        total = float(np.exp(intercept - top).sum())
        value = self._half * float((np.log(total) + top - intercept).sum())
        level = self._half * (len(intercept) * np.exp(intercept - top) / total - 1.0)
        slope = np.zeros_like(along)
        for coordinates, label, weight in self._parts:
            scores, each = along.T @ coordinates, np.arange(len(label))
            scores += intercept[:, None]
            scores -= scores.max(axis=0)
            own = scores[label, each]
            np.exp(scores, out=scores)
            sums = scores.sum(axis=0)
            value += float(weighted_sum(weight, np.log(sums) - own))
            scores *= weight / sums
            scores[label, each] -= weight
            slope += coordinates @ scores.T
            level += scores.sum(axis=1)
        return value, slope, level

    def solved(
        self, penalty: float, along: FloatArray, intercept: FloatArray, tolerance: float
    ) -> tuple[FloatArray, FloatArray, float]:
        """Coefficients along the axes and intercept of the least penalised loss, and what it is; begun from others."""
        from scipy.optimize import fmin_l_bfgs_b

        unit = 1.0 / np.sqrt(self._squares[:, None] * self._spread + penalty)
        level_unit, size = 1.0 / np.sqrt(self._spread), along.size

        def of(x: FloatArray) -> tuple[FloatArray, FloatArray]:
            return x[:size].reshape(along.shape) * unit, x[size:] * level_unit

        def penalised(x: FloatArray) -> tuple[float, FloatArray]:
            along, intercept = of(x)
            value, slope, level = self.loss(along, intercept)
            slopes = np.append((slope + penalty * along) * unit, level * level_unit)
            return value + 0.5 * penalty * float(np.sum(along**2)), slopes

        begin = np.append(along / unit, intercept / level_unit)
        x, value, _ = fmin_l_bfgs_b(penalised, begin, m=10, factr=0.0, pgtol=tolerance, maxiter=MOST_ITERATIONS)
        return *of(x), float(value)


def penalty_of(n_rounds: int, crowding: float) -> float:
    """Share of the rows' weight, where there are so many columns for each row."""
    first = defaults.LOGISTIC_PENALTY + crowding
    return float(first * (defaults.FIRST_CHECKPOINT / n_rounds) ** defaults.LOGISTIC_POWER)


class LogisticMember:
    """One softmax regression in training; see `minrisk.ensemble.kind.Member`.

    Parameters
    ----------
    kind : Logistic
    fold : int, optional
        That it leaves out; None: it is trained on all rows.
    """

    def __init__(self, kind: Logistic, fold: int | None) -> None:
        assert kind.design is not None
        self._design, self._thresholds = kind.design, kind.task.table.columns.thresholds
        self._regression = Regression(self._design, kind.task.n_outputs, fold)
        self._tolerance = defaults.LOGISTIC_LAST_TOLERANCE if fold is None else defaults.LOGISTIC_TOLERANCE
        self._of_all, self.reached, self.seconds = fold is None, -1, 0.0
        self._rows = kind.rows(fold)
        self._rows.rest(True)
        along = np.zeros((len(self._design.squares), kind.task.n_outputs))
        self.start = self._regression.start
        self._found = {0: (along, self.start, self._regression.loss(along, self.start)[0])}  # by checkpoint

    def train(self, rounds: Sequence[int]) -> None:
        """Go on to the penalties of these checkpoints."""
        begun = time.perf_counter()
        for checkpoint in rounds:
            along, intercept, _ = self._found[max(self._found)]
            if checkpoint > 0:
                penalty = penalty_of(checkpoint, self._regression.crowding) + self._regression.least
                self._found[checkpoint] = self._regression.solved(penalty, along, intercept, self._tolerance)
            self.reached = checkpoint
        self.seconds += time.perf_counter() - begun

    def scores(self, n_rounds: int) -> LeftOut:
        """Of the left-out rows at a checkpoint."""
        made = self.result(n_rounds)
        assert made.intercept is not None
        return self._rows.left_out_scores(made.trees, made.vectors, made.intercept)

    def rest(self) -> None:
        """Nothing: what it holds of the rows is shared."""

    def result(self, n_rounds: int) -> Progress:
        """Its trees at a checkpoint."""
        along, intercept, value = self._found[n_rounds]
        if n_rounds == 0:
            return Progress(intercept=intercept)
        columns, gain = self._design.columns, max(0.0, float(np.log(self._found[0][2] / value)))
        unseen = [self._thresholds[one.feature] for one in columns] if self._of_all else None
        trees, vectors = weighed_trees(columns, self._design.coefficients(along), gain, unseen)
        vectors[0] = vectors[0] + (intercept - self.start)  # each row is in one leaf of the first tree
        return Progress(trees, vectors, self.start)


class Logistic(Kind):
    """For linear signals, which trees make of many steps."""

    name = "logistic"
    makes_rounds = False

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.workers = task.workers
        self.design: Design | None = None

    @classmethod
    def of(cls, task: Task) -> Self | None:
        """Beside softmax, on rows that lie here."""
        few = task.table.n_features <= defaults.LINEAR_FEATURES
        return cls(task) if task.link == "softmax" and few and len(task.table.rows) else None

    def ready(self) -> bool:
        """With the columns, if there are any."""
        self.design = fit_design(self.task)
        return self.design is not None

    def rows(self, fold: int | None) -> Rows:
        """What says of a member's trees what they answer to left-out rows."""
        return self.task.folded.without(fold, self.task.table.columns, Workers())

    def member(self, fold: int) -> LogisticMember:
        """A member to be trained on the other folds."""
        return LogisticMember(self, fold)

    def finish(self, fit: CrossFit, most: int) -> CrossFit:
        """With one member of all rows, of the same penalty, in place of those that left rows out."""
        member = LogisticMember(self, None)
        member.train([fit.n_rounds])
        return fit._replace(members=[member.result(fit.n_rounds)], seconds=fit.seconds + member.seconds)


def fit_design(task: Task) -> Design | None:
    """Columns of all features, from all rows or evenly spaced ones; None: nothing varies."""
    table, few = task.table, task.folded.gathered()
    d, columns = table.n_features, table.columns
    is_code, is_copy = table.categories
    n_columns = int(np.where(is_code, columns.n_bins[:d], 2).sum())
    most = min(
        defaults.LOGISTIC_FITTED,
        defaults.LOGISTIC_VALUES // n_columns,
        defaults.LOGISTIC_PRODUCTS // (n_columns * task.n_outputs),
    )
    rows = np.arange(len(few.label))
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, max(1, most)).astype(np.int64)]
    X = np.asarray(table.X[table.rows[rows]], dtype=np.float64)
    weight = few.weight[rows].astype(np.float64)
    share, leaves = weight / weight.sum(), max(2, defaults.LOGISTIC_LEAVES // d)
    found = []
    for j, bins in enumerate(columns.some(d, rows).binned):
        if is_copy[j]:
            continue
        thresholds = columns.thresholds[j]
        own = bin_columns_of(j, bins.astype(np.int64), X[:, j], share, thresholds, leaves, bool(is_code[j]))
        found += [] if own is None else [own]
    if not found:
        return None
    Z = np.concatenate([one.of_rows() for one in found])
    axes = None
    if len(Z) <= MOST_AXES:
        axes = np.linalg.eigh((Z * share) @ Z.T)[1]
        Z = axes.T @ Z
    squares = np.einsum("ji,i,ji->j", Z, share, Z)
    return Design(found, axes, Z, squares, few.label[rows].astype(np.int64), weight, np.searchsorted(rows, few.bounds))
