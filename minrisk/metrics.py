"""What decisions cost: expected cost, regret against a constant decision, cost per confusion, a scorer.

Costs have true classes as rows and decisions as columns; they may be anything :func:`minrisk.costs.as_cost`
takes, or a table with one row, or one matrix, per sample. Decisions that are no class, such as ``"refer"``,
may occur in ``y_pred``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d

from minrisk._typing import FloatArray, IntArray
from minrisk._utils.algebra import product
from minrisk._utils.packages import pandas
from minrisk.costs.labels import (
    Labels,
    are_numbers,
    as_labels,
    listed,
    match_decisions,
    match_labels,
    refer_numbers,
    refer_rank,
    refer_texts,
    unmatched,
)
from minrisk.costs.matrix import CostMatrix, parse
from minrisk.costs.reading import NAME_THE_COLUMNS, CostsPerRow, as_cost, check_rows, costs_per_row
from minrisk.costs.units import scaled, unscaled
from minrisk.costs.weights import checked_weights
from minrisk.data.labels import check_labels

SAME_MEAN = 1e-14  # of a mean cost: two that differ by a smaller share are the same, to rounding
IN_LABELS = "add them to labels"
IN_DECISIONS = "add them to labels, or give costs that have a column for each decision that is no class"
IN_COST = "add them to the cost (and to labels, if given)"  # what to do about labels that the costs do not know

__all__ = ["best_constant_cost", "cost_confusion_matrix", "expected_cost", "make_expected_cost_scorer", "regret"]


def expected_cost(y_true: Any, y_pred: Any, cost: Any = None, labels: Any = None, sample_weight: Any = None) -> float:
    r"""Return the mean cost of decisions.

    That is :math:`\sum_n w_n C[y_n, d_n] / \sum_n w_n` for decisions :math:`d_n` when the truth is :math:`y_n`.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        The true classes.
    y_pred : array-like of shape (n,)
        The decisions. They may hold decisions that are no class, such as ``"refer"``.
    cost : array-like of shape (K, D), (n, D) or (n, K, D), DataFrame, dict, CSV file or CostMatrix, optional
        The costs: a matrix for all rows, one row of costs for each sample, or a matrix for each sample.
        By default every mistake costs 1, and the result is the error rate.
    labels : array-like of K labels, optional
        Order of the rows of costs without labels. By default the sorted labels that occur in ``y_true`` and ``y_pred``
        (except ``"refer"``).
        With labelled costs these are the classes that may occur, by default all their rows.
    sample_weight : array-like of shape (n,), optional
        How often each row counts, 0 or more. By default every row counts once.

    Returns
    -------
    float
        In the unit of the costs.

    Raises
    ------
    ValueError
        If lengths differ, there is no sample, a label has no row or column in the costs, a table does not fit the
        labels, the weights are negative, not finite or all zero, or ``cost`` is refused by the checks of
        :mod:`minrisk.costs`.

    Notes
    -----
    An array with n rows is read as one row of costs for each sample, unless there are n classes too.
    Rows are taken by position. A table of pandas with the row labels of ``y_true`` in another order is refused.
    Of a matrix for each sample the row of the true class counts.

    Examples
    --------
    >>> from minrisk.metrics import expected_cost
    >>> expected_cost(["ill", "ill", "well", "well"], ["ill", "well", "well", "ill"],
    ...               cost={"ill": {"well": 10}, "well": {"ill": 1}})
    2.75
    >>> expected_cost([0, 1, 2], [0, 1, 1])  # 0/1 costs
    0.3333333333333333
    """
    return _mean_cost(as_samples(y_true, y_pred, cost, labels, sample_weight))


def best_constant_cost(y_true: Any, cost: Any = None, labels: Any = None, sample_weight: Any = None) -> float:
    r"""Return the mean cost of the best decision that looks at no features.

    That is the least mean cost of one decision for all rows, :math:`\min_k \sum_n w_n C[y_n, k] / \sum_n w_n`.
    With 0/1 costs it is the error rate of always deciding the most frequent class.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        The true classes.
    cost : array-like of shape (K, D), (n, D) or (n, K, D), DataFrame, dict, CSV file or CostMatrix, optional
        The costs, as in :func:`expected_cost`. By default every mistake costs 1.
    labels : array-like of K labels, optional
        Order of the rows of costs without labels. By default the sorted labels that occur in ``y_true``.
    sample_weight : array-like of shape (n,), optional
        How often each row counts, 0 or more. By default every row counts once.

    Returns
    -------
    float
        In the unit of the costs.

    Raises
    ------
    ValueError
        As in :func:`expected_cost`.

    Examples
    --------
    >>> from minrisk.metrics import best_constant_cost
    >>> best_constant_cost(["ill", "well", "well", "well"], cost={"ill": {"well": 10}, "well": {"ill": 1}})
    0.75
    """
    return _constant_cost(as_samples(y_true, None, cost, labels, sample_weight))


def regret(y_true: Any, y_pred: Any, cost: Any = None, labels: Any = None, sample_weight: Any = None) -> float:
    """Return the mean cost of decisions above that of the best constant decision; negative is good.

    It is :func:`expected_cost` less :func:`best_constant_cost`.
    Zero is as good as not looking at the features at all, and positive is worse.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        The true classes.
    y_pred : array-like of shape (n,)
        The decisions. They may hold decisions that are no class, such as ``"refer"``.
    cost : array-like of shape (K, D), (n, D) or (n, K, D), DataFrame, dict, CSV file or CostMatrix, optional
        The costs, as in :func:`expected_cost`. By default every mistake costs 1.
    labels : array-like of K labels, optional
        Order of the rows of costs without labels, as in :func:`expected_cost`.
    sample_weight : array-like of shape (n,), optional
        How often each row counts, 0 or more. By default every row counts once.

    Returns
    -------
    float
        In the unit of the costs.

    Raises
    ------
    ValueError
        As in :func:`expected_cost`.

    Examples
    --------
    >>> from minrisk.metrics import regret
    >>> regret(["ill", "well", "well", "well"], ["ill", "ill", "well", "well"],
    ...        cost={"ill": {"well": 10}, "well": {"ill": 1}})
    -0.5
    """
    samples = as_samples(y_true, y_pred, cost, labels, sample_weight)
    if samples.table is not None:
        least = samples.table.min(axis=1, keepdims=True)  # no decision avoids it: a constant is no part of a difference
        samples = samples._replace(table=samples.table - least)
    mean, constant = _mean_cost(samples), _constant_cost(samples)
    return 0.0 if abs(mean - constant) <= SAME_MEAN * constant else mean - constant


def cost_confusion_matrix(
    y_true: Any,
    y_pred: Any,
    cost: Any = None,
    labels: Any = None,
    sample_weight: Any = None,
    normalize: str | None = None,
    as_frame: bool = False,
) -> Any:
    """Return where the cost comes from: the total cost of the rows of each true class under each decision.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        The true classes.
    y_pred : array-like of shape (n,)
        The decisions. They may hold decisions that are no class, such as ``"refer"``.
    cost : array-like of shape (K, D), (n, D) or (n, K, D), DataFrame, dict, CSV file or CostMatrix, optional
        The costs, as in :func:`expected_cost`. By default every mistake costs 1.
    labels : array-like of K labels, optional
        Order of the rows and of the first columns; it must hold every label that occurs.
        By default the order of labelled costs, else the sorted labels that occur.
    sample_weight : array-like of shape (n,), optional
        How often each row counts, 0 or more. By default every row counts once.
    normalize : {"true", "pred", "all"}, optional
        By what the totals are divided: by the weight of the rows of each true class, of each decision, or of all rows.
        By default they are not divided.
    as_frame : bool, default=False
        Whether to return a DataFrame of pandas that names the rows and columns.

    Returns
    -------
    ndarray or DataFrame of shape (K, D)
        Rows are true classes. Columns are decisions: the classes first, in the order of the rows, then decisions such
        as ``"refer"``. The columns of ``cost`` may stand in another order. In the unit of the costs.

    Raises
    ------
    ValueError
        If ``normalize`` is none of its values, and as in :func:`expected_cost`.
    ImportError
        If ``as_frame`` is True and pandas is missing.

    Notes
    -----
    With "true" a row sums to the mean cost given the class, with "pred" a column sums to the mean cost given the
    decision, and with "all" the sum of all cells is the mean cost.
    Cells without rows are 0.

    Examples
    --------
    >>> from minrisk.metrics import cost_confusion_matrix
    >>> cost_confusion_matrix(["ill", "ill", "well", "well"], ["ill", "well", "well", "ill"],
    ...                       cost={"ill": {"well": 10}, "well": {"ill": 1}}, labels=["ill", "well"])
    array([[ 0., 10.],
           [ 1.,  0.]])
    >>> cost_confusion_matrix(["ill", "ill", "well"], ["ill", "refer", "refer"], as_frame=True,
    ...                       cost={"ill": {"well": 10, "refer": 2}, "well": {"ill": 1, "refer": 2}})
          ill  well  refer
    ill   0.0   0.0    2.0
    well  0.0   0.0    2.0
    """
    if normalize not in (None, "true", "pred", "all"):
        raise ValueError(f"normalize must be 'true', 'pred', 'all' or None, got {normalize!r}: choose one of them.")
    samples = as_samples(y_true, y_pred, cost, labels, sample_weight)
    costs = _cells_of(samples, normalize)
    if not as_frame:
        return costs
    return pandas().DataFrame(costs, index=list(samples.classes), columns=list(samples.decisions))


def _cells_of(samples: Samples, normalize: str | None) -> FloatArray:
    """Return the total cost of each class under each decision, (K, D), divided as `cost_confusion_matrix` says."""
    weight, of_weight = _near_one(samples.weight, len(samples.truth))
    costs, of_cost = scaled(_costs(samples), 0.0)
    total = samples.in_cells(weight * costs)
    if normalize is None:
        with np.errstate(over="ignore"):  # sums that float64 does not hold are infinite
            return np.asarray(np.ldexp(total, of_weight + of_cost))
    if normalize == "all":
        by = np.full((1, 1), weight.sum())
    elif normalize == "true":
        by = _sums(samples.truth, weight, len(total))[:, None]
    else:
        by = _sums(samples.decided, weight, total.shape[1])[None, :]
    share = np.zeros(total.shape)
    np.divide(total, by, out=share, where=by > 0)
    return np.asarray(unscaled(share, of_cost))


def make_expected_cost_scorer(cost: Any = None, labels: Any = None) -> Callable[..., float]:
    """Make a scorer for scikit-learn's searches and cross-validation: minus the mean cost, so that greater is better.

    Parameters
    ----------
    cost : array-like of shape (K, D), (n, D) or (n, K, D), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        Costs that are bound to the scorer. Those of each row are for tools that judge all rows in their order, as
        :func:`sklearn.inspection.permutation_importance` does, and not for searches and cross-validation.
        By default the scorer takes costs that are passed as metadata, and without these every mistake costs 1.
    labels : array-like of K labels, optional
        Order of the rows of costs without labels.
        Give it, or labelled costs, so that a fold that lacks a class can be scored.

    Returns
    -------
    callable
        A scorer ``(estimator, X, y, sample_weight=None) -> float``, as ``sklearn.metrics.make_scorer`` makes them.
        It raises ValueError for a classifier of minrisk that was fitted with costs of each row, if there are no costs
        to judge by.

    Notes
    -----
    To pass costs as metadata, enable metadata routing and call
    ``make_expected_cost_scorer().set_score_request(cost=True)``.
    The scorer then takes the ``cost`` that is given to the ``fit`` of the search; costs for each sample are split along
    with the samples.

    Examples
    --------
    >>> from minrisk.metrics import make_expected_cost_scorer
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> scorer = make_expected_cost_scorer(cost=[[0, 1], [5, 0]])
    >>> X, y = np.zeros((4, 1)), np.array([0, 0, 0, 1])
    >>> scorer(DummyClassifier().fit(X, y), X, y)
    -1.25
    """
    bound = {name: value for name, value in (("cost", cost), ("labels", labels)) if value is not None}
    scorer: Callable[..., float] = _scorer_class()(expected_cost, -1, bound)
    return scorer


@cache
def _scorer_class() -> Any:
    """Return the class of scikit-learn's scorers, with a check of what decisions are judged by."""
    from sklearn.metrics import make_scorer  # slow to import, and needed here only

    class ExpectedCostScorer(type(make_scorer(expected_cost))):  # type: ignore[misc]
        def _score(self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **given: Any) -> float:
            fitted = getattr(estimator, "best_estimator_", estimator)
            fitted = fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted
            if given.get("cost", self._kwargs.get("cost")) is None and hasattr(fitted, "_judged_by"):
                fitted._judged_by()
            return float(super()._score(method_caller, estimator, X, y_true, **given))

        def __reduce__(self) -> Any:
            return make_expected_cost_scorer, (), vars(self)

    return ExpectedCostScorer


def _costs(samples: Samples) -> FloatArray:
    """Return what each decision cost, (n,)."""
    if samples.table is None:
        return np.asarray(samples.truth != samples.decided, dtype=np.float64)
    rows = np.arange(len(samples.truth)) if samples.per_row else samples.truth
    return np.asarray(samples.table[rows, samples.decided])


def _sums(codes: IntArray, weight: FloatArray, count: int) -> FloatArray:
    """Return the sum of the weights of each code, (count,)."""
    return np.asarray(np.bincount(codes, weights=weight, minlength=count), dtype=np.float64)


def _near_one(weight: FloatArray | None, n: int) -> tuple[FloatArray, int]:
    """Return weights times 2**-exponent, the largest near 1 so that sums do not overflow, and the exponent."""
    return (np.ones(n), 0) if weight is None else scaled(weight, 0.0)


def _mean_cost(samples: Samples) -> float:
    """Return the mean cost of the decisions, added up as `_constant_cost` does it where all are the same."""
    weight, _ = _near_one(samples.weight, len(samples.truth))
    if samples.per_row or samples.table is None:
        costs, exponent = scaled(_costs(samples), 0.0)
        return _mean(product(weight, costs), weight, exponent)
    cells = samples.in_cells(weight)
    values, exponent = scaled(np.where(cells > 0, samples.table, 0.0), 0.0)
    return _mean(_column_sums(cells, values).sum(), weight, exponent)


def _constant_cost(samples: Samples) -> float:
    """Return the mean cost of the best decision for all."""
    weight, _ = _near_one(samples.weight, len(samples.truth))
    if samples.table is None:
        of_class = _sums(samples.truth, weight, len(samples.classes))
        return _mean(of_class.sum() - of_class.max(), weight, 0)
    values, exponent = scaled(samples.table, 0.0)
    if samples.per_row:
        return min(_mean(product(weight, column), weight, exponent) for column in values.T)
    per_class = _sums(samples.truth, weight, len(values))
    return _mean(_column_sums(per_class[:, None], values).min(), weight, exponent)


def _column_sums(weight: FloatArray, values: FloatArray) -> FloatArray:
    """Return the sums of the products down the rows, (D,), always in the same order."""
    return np.asarray(np.multiply(weight, values, order="C").sum(axis=0))


def _mean(total: float | FloatArray, weight: FloatArray, exponent: int) -> float:
    return float(unscaled(total / weight.sum(), exponent))


class Samples(NamedTuple):
    """Samples brought down to codes, with the costs that belong to them."""

    table: FloatArray | None  # (K, D), or (n, D) when per_row; None: every mistake costs 1
    per_row: bool
    classes: Labels  # K
    decisions: Labels  # D
    truth: IntArray  # (n,) positions among classes
    decided: IntArray  # (n,) positions among decisions; zeros when there is no y_pred
    weight: FloatArray | None  # (n,)

    @property
    def values(self) -> FloatArray:
        """Return the table; of 0/1 costs it is made, which takes gigabytes for thousands of labels."""
        return 1.0 - np.eye(len(self.classes), len(self.decisions)) if self.table is None else self.table

    def in_cells(self, weight: FloatArray | None) -> np.ndarray:
        """Return the sum of the weights of the rows of each true class under each decision, (K, D); None: rows."""
        n_columns = len(self.decisions)
        cells = np.bincount(self.truth * n_columns + self.decided, weight, len(self.classes) * n_columns)
        return np.asarray(cells.reshape(-1, n_columns))


class _Coded(NamedTuple):
    """y as positions among the distinct labels it holds."""

    labels: list[Any]
    codes: IntArray  # (n,)


def as_samples(y_true: Any, y_pred: Any, cost: Any, labels: Any, sample_weight: Any) -> Samples:
    """Check what the metrics are given, and bring it down to codes."""
    if y_pred is not None:
        check_consistent_length(y_true, y_pred)
    truth = _coded(y_true, "y_true")
    decided = None if y_pred is None else _coded(y_pred, "y_pred")
    n, occurring = len(truth.codes), _occurring(truth, decided)
    given = None if labels is None else as_labels(labels, "labels")
    referrals = _referrals(occurring, truth)
    classes = tuple(label for label in occurring if label not in referrals) if given is None else given
    rows = costs_per_row(cost, n, classes, y_true=y_true, y_pred=y_pred)
    values: FloatArray | None = None
    way = IN_COST
    if rows is not None:
        way = NAME_THE_COLUMNS
        if given is None:
            classes = _classes_of_columns(rows, classes, truth, occurring, referrals, rows is cost)
    elif cost is None:
        way = IN_LABELS
        others = tuple(label for label in referrals if label not in (truth.labels if given is None else given))
        classes = tuple(label for label in occurring if label not in others) if given is None else given
        decisions = classes + others
    else:
        check_rows(cost, n, occurring if given is None else given)
        values, classes, decisions = _class_costs(cost, given, occurring, truth)
    own = _positions(truth, match_labels(truth.labels, classes), classes, "y_true", "classes (rows)", way)
    if rows is not None:
        values, decisions = rows.table(n, classes, own)
    columns = np.zeros(n, dtype=np.int64)
    if decided is not None:
        places = match_decisions(decided.labels, decisions, classes)
        columns = _positions(
            decided, places, decisions, "y_pred", "decisions", IN_DECISIONS if cost is None else IN_COST
        )
    return Samples(values, rows is not None, classes, decisions, own, columns, checked_weights(sample_weight, n))


def _class_costs(
    cost: Any, given: Labels | None, occurring: Labels, truth: _Coded
) -> tuple[FloatArray, Labels, Labels]:
    """Return one row of costs per class, with the labels of rows and columns."""
    values, own, decisions = parse(cost)
    as_stated = isinstance(cost, CostMatrix)
    if own is None and given is None:
        n_rows, n_columns = values.shape
        more = max(n_columns - n_rows, 0)
        implied = refer_texts(more) + (refer_numbers(more, truth.labels) if are_numbers(truth.labels) else ())
        given = tuple(label for label in occurring if label not in implied)
        unclear = n_columns > n_rows and unmatched(given, truth.labels)
        if len(given) != n_rows or unclear:
            raise ValueError(
                f"labels must be given for a cost without labels that has {n_rows} rows when the labels that "
                f"occur are {listed(given)}: pass labels=[...] in the order of its rows, a labelled cost, or a row for "
                f"each of the {len(truth.codes)} samples."
            )
    elif own is None and as_stated:
        cost = CostMatrix(values, allow_diagonal=True)  # `labels` says in which order they stand
    elif not as_stated and own is not None:
        cost = CostMatrix(values, own, decisions)
    aligned = as_cost(cost, own if given is None else given)
    return aligned.values, *aligned._labels


def _classes_of_columns(
    rows: CostsPerRow, classes: Labels, truth: _Coded, occurring: Labels, referrals: Labels, is_known: bool
) -> Labels:
    """Return the classes for costs per sample, or ask for ``labels`` where they are unclear."""
    if not rows.classes:
        return tuple(sorted(truth.labels, key=occurring.index))
    if is_known:
        return rows.classes
    n_rows, n_columns = rows.values.shape[1], rows.values.shape[-1]
    if rows.values.ndim == 3 and len(classes) != n_rows:
        raise ValueError(
            f"labels must be given for a matrix of costs per sample with {n_rows} rows when the classes that occur are "
            f"{listed(classes)}: pass labels=[...], the classes in the order of the rows, or {NAME_THE_COLUMNS}."
        )
    if rows.values.ndim == 2 and len(classes) + len(referrals) != n_columns:
        raise ValueError(
            f"labels must be given for costs per sample that have {n_columns} columns when the labels that "
            f"occur are {listed(occurring)}: pass labels=[...], the classes in the order of the columns, or "
            "a DataFrame."
        )
    return classes


def _referrals(occurring: Labels, truth: _Coded) -> Labels:
    """Return those labels that are the names minrisk gives to decisions after the classes."""
    named = [label for label in occurring if isinstance(label, str) and refer_rank(label, ())]
    texts = refer_texts(len(named))
    found = texts if set(named) == set(texts) else ()
    if are_numbers(truth.labels):
        for number in refer_numbers(len(occurring), truth.labels):
            if number not in occurring:
                break
            found += (number,)
    return found


def _occurring(truth: _Coded, decided: _Coded | None) -> Labels:
    """Return the sorted distinct labels of y_true and y_pred (strings last where both kinds occur)."""
    found = list(truth.labels)
    if decided is not None:
        found += unmatched(decided.labels, found)
    try:
        return tuple(sorted(found))
    except TypeError:
        strings = sorted(label for label in found if isinstance(label, str))
        others = [label for label in found if not isinstance(label, str)]
        try:
            return (*sorted(others), *strings)
        except TypeError:
            return (*sorted(others, key=repr), *strings)


def _coded(y: Any, name: str) -> _Coded:
    """Return y as positions among its distinct labels."""
    values = column_or_1d(check_labels(y, name, any_kind=True))
    if len(values) == 0:
        raise ValueError(f"{name} must hold one sample or more, got none: pass the labels of the samples.")
    if values.dtype.kind == "f" and np.isfinite(values).all() and (np.abs(values) < np.float64(2**53)).all():
        whole = values.astype(np.int64)
        values = whole if (whole == values).all() else values
    if values.dtype.kind in "biufM":
        distinct, codes = np.unique(values, return_inverse=True)
        return _Coded(list(distinct) if values.dtype.kind == "M" else distinct.tolist(), codes)  # as `as_labels` does
    items = values.tolist()
    position = {label: i for i, label in enumerate(dict.fromkeys(items))}
    return _Coded(list(position), np.fromiter(map(position.__getitem__, items), dtype=np.int64, count=len(items)))


def _positions(coded: _Coded, places: list[int], labels: Labels, name: str, what: str, way: str = IN_COST) -> IntArray:
    """Return y as positions among ``labels``, (n,), where its distinct labels have these places."""
    found = np.array(places, dtype=np.int64)
    if (found < 0).any():
        unknown = [coded.labels[i] for i in np.flatnonzero(found < 0)]
        raise ValueError(
            f"{name} must hold {what} of the cost only, expected some of {listed(labels)}, got "
            f"{listed(unknown)}: {way}, or correct {name}."
        )
    return np.asarray(found[coded.codes])
