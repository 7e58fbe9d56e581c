"""Rows that users hand to `fit` beside those of the training, to be judged after every round: `eval_set`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_consistent_length

from minrisk._kernels.functions import log
from minrisk._typing import FloatArray, IntArray, Labels
from minrisk.costs.labels import as_labels, listed, match_labels
from minrisk.costs.reading import CostsPerRow, costs_of_rows, costs_per_row
from minrisk.data.chunks import Chunks
from minrisk.data.frames import NUMBERS
from minrisk.data.labels import check_labels
from minrisk.data.partitioned import is_partitioned
from minrisk.data.row_blocks import CodedRows, RowBlocks
from minrisk.data.sparse import SparseRows

if TYPE_CHECKING:
    from minrisk.estimator.inputs import Inputs

SET_NAME = "valid_{number}"  # of each pair, as in LightGBM
WANTED_PAIR = "eval_set must be (X, y) or (X, y, cost), rows with their classes and costs, or a list of such"

NO_COSTS = (
    "{name} of eval_set must bring costs of its own, as this fit has costs of each row: give (X, y, cost), with a row "
    "of costs for each of its rows."
)


class EvalSet(NamedTuple):
    """Rows and their classes, checked as those that are predicted."""

    name: str
    X: Any  # ndarray or SparseRows of shape (m, d): numbers
    labels: Labels
    cost: Any = None  # as it was given; None: the costs of the fit

    def codes(self, classes: Labels) -> IntArray:
        """Return the numbers of the rows' classes.

        Raises
        ------
        ValueError
            If one is none of these.
        """
        known = np.zeros(len(self.labels), dtype=np.bool_)
        if (self.labels.dtype.kind in NUMBERS) == (classes.dtype.kind in NUMBERS):
            known = np.isin(self.labels, classes)
        if not known.all():
            unknown = np.unique(self.labels[~known]).tolist()
            raise ValueError(
                f"{self.name} of eval_set has rows of classes that no training row has: {listed(unknown)}. Leave these "
                f"rows out, or judge the model afterwards by `score`; the classes are {listed(classes.tolist())}."
            )
        return np.searchsorted(classes, self.labels).astype(np.int32)

    def costs(self, estimator: Any) -> SetCosts:
        """Return classes and costs of the rows, of an estimator that has seen those of its training.

        Raises
        ------
        ValueError
            If a row is of a class that is unknown, or nobody says what a decision costs.
        """
        codes = self.codes(estimator.classes_)
        if self.cost is None:
            if estimator.cost_ is None:
                raise ValueError(NO_COSTS.format(name=self.name))
            return SetCosts(codes, estimator.cost_.values, codes)
        classes, decisions, n = estimator.classes_, as_labels(estimator.decisions_), len(codes)
        row = codes
        try:
            read = costs_of_rows(self.cost, n, classes, (), estimator._names(), decisions)
            if isinstance(read, CostsPerRow):
                (table, names), row = read.table(n, as_labels(classes), codes), np.arange(n)
            else:
                assert read is not None
                table, names = read.values, read._labels[1]
            if -1 in (places := match_labels(decisions, names)):
                raise ValueError(
                    f"cost must have a column for every decision of the fit, got none for "
                    f"{decisions[places.index(-1)]!r} among {listed(names)}: add the column."
                )
        except (TypeError, ValueError) as problem:
            raise type(problem)(f"{self.name} of eval_set: {problem}") from None
        return SetCosts(codes, table[:, places], row)


class SetCosts(NamedTuple):
    """Hold what decisions about the rows of a set cost, as stated."""

    codes: IntArray  # (m,) of the true classes
    table: FloatArray  # (R, D) by the decisions of the estimator
    row: IntArray  # (m,) of the table, that each row pays by

    def mean(self, decided: IntArray) -> float:
        """Return the mean cost of decisions, (m,)."""
        return float(self.table[self.row, decided].mean())


def eval_pairs(eval_set: Any) -> list[tuple[Any, ...]]:
    """Return rows and classes of each set, and its costs if it has some.

    Raises
    ------
    ValueError
        If it is neither such a set nor a list of them.
    """
    if eval_set is None:
        return []
    several = isinstance(eval_set, list) or (isinstance(eval_set, tuple) and all(map(_is_pair, eval_set)))
    pairs = eval_set if several else [eval_set] if isinstance(eval_set, tuple) else eval_set
    if not isinstance(pairs, list | tuple):
        raise ValueError(f"{WANTED_PAIR}, got {type(eval_set).__name__}.")
    for pair in pairs:
        if not _is_pair(pair):
            what = f"{len(pair)} objects" if isinstance(pair, list | tuple) else f"a {type(pair).__name__}"
            raise ValueError(f"{WANTED_PAIR}, got {what} in place of one.")
    return [tuple(pair) for pair in pairs]


def _is_pair(given: Any) -> bool:
    """Return whether these are rows and classes, or costs too: the first object has rows and columns."""
    return isinstance(given, list | tuple) and len(given) in (2, 3) and not np.isscalar(given[0])


def check_eval_set(X: Any, eval_set: Any) -> None:
    """Refuse rows that lie elsewhere, beside training rows that do and by themselves."""
    for pair in eval_pairs(eval_set):
        if is_partitioned(X) or any(map(is_partitioned, pair)):
            raise ValueError(
                "eval_set is judged here, after every round, and goes with neither Dask collections nor training rows "
                "in such: leave it out, and judge the model afterwards."
            )
        if isinstance(pair[0], Chunks):
            raise ValueError("eval_set must be rows that are here, got Chunks: give an array or a table.")


def checked_pair(estimator: Inputs, number: int, pair: tuple[Any, ...]) -> EvalSet:
    """Return numbers and labels of a set; X as it would be predicted.

    Raises
    ------
    ValueError
        As `predict` and `fit` do, naming the set.
    """
    name, (X, y), cost = SET_NAME.format(number=number), pair[:2], pair[2] if len(pair) > 2 else None
    try:
        numbers = estimator._numbers_as_fitted(X)
        labels = np.asarray(check_labels(y))
        if labels.ndim != 1:
            raise ValueError(f"y must hold a class for each row, got an array of shape {labels.shape}.")
        check_consistent_length(numbers if isinstance(numbers, np.ndarray) else range(len(numbers)), labels)
        costs_per_row(cost, len(labels), estimator.classes_, X=X, y=y)  # which refuses rows in another order
    except (TypeError, ValueError) as problem:
        raise type(problem)(f"{name} of eval_set: {problem}") from None
    return EvalSet(name, numbers, labels, cost)


def beneath(X: Any, sets: Sequence[EvalSet]) -> Any:
    """Return the rows of these sets beneath those of X, in one array or matrix.

    Raises
    ------
    ValueError
        If X is read block after block.
    """
    if isinstance(X, CodedRows):
        X = X.dense()
    if isinstance(X, RowBlocks):
        raise ValueError("eval_set goes with training rows that are in memory, not with Chunks: judge them afterwards.")
    if not isinstance(X, SparseRows):
        return np.concatenate([np.asarray(X), *(np.asarray(one.X) for one in sets)])
    from scipy.sparse import csr_matrix, vstack

    parts = [one.X.matrix if isinstance(one.X, SparseRows) else csr_matrix(one.X) for one in sets]
    return SparseRows(vstack([X.matrix, *parts], format="csr"))


def costs_of_sets(estimator: Any, sets: Sequence[EvalSet]) -> list[SetCosts]:
    """Return classes and costs of the rows of each set; those of a checkpoint must be the same.

    Raises
    ------
    ValueError
        As `EvalSet.costs` says.
    """
    found = [one.costs(estimator) for one in sets]
    if estimator._checkpoint is not None:
        estimator._checkpoint.same("costs of eval_set", *itertools.chain.from_iterable(found))
    return found


def record_stages(estimator: Any, sets: Sequence[EvalSet], before: int = 0) -> None:
    """Keep the mean stated costs of the decisions after each round of the model, and log-losses of probabilities.

    Of rounds that were made `before` this fit nothing is kept.
    """
    if not sets:
        return
    model = estimator.model_
    found: dict[str, dict[str, list[float]]] = {}
    for one in sets:
        costs = one.costs(estimator)
        rows = np.arange(len(costs.codes))
        paid, told = list[float](), list[float]()
        for scores in islice(model.staged_scores(one.X), before, None):
            paid.append(costs.mean(estimator._decide(one.X, scores)))
            if model.link is not None:
                told.append(_log_loss(model.probabilities(scores)[rows, costs.codes]))
        found[one.name] = {"cost": paid} | ({"log_loss": told} if model.link is not None else {})
    estimator.evals_result_ = found


def _log_loss(p: FloatArray) -> float:
    """Return the mean of -log p of the true classes, 0 as the least positive number, as in scikit-learn."""
    return float(-log(np.maximum(p, np.finfo(p.dtype).eps)).mean())
