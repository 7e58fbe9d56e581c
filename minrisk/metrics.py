"""What decisions cost: expected cost, regret against a constant decision, cost per confusion, a scorer.

Costs have true classes as rows and decisions as columns; they may be anything :func:`minrisk.costs.as_cost`
takes, or a table with one row, or one matrix, per sample. Decisions that are no class, such as ``"refer"``,
may occur in ``y_pred``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minrisk._optional import pandas
from minrisk._sums import weighted_sum
from minrisk._typing import FloatArray, IntArray
from minrisk.costs.samples import Samples, as_samples
from minrisk.costs.units import scaled, unscaled

SAME_MEAN = 1e-14  # of a mean cost: two that differ by a smaller share are the same, to rounding

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
    """The total cost of each class under each decision, (K, D), divided as `cost_confusion_matrix` says."""
    shape = len(samples.classes), len(samples.decisions)
    cells = samples.truth * shape[1] + samples.decided
    weight, of_weight = _near_one(samples.weight, len(cells))
    costs, of_cost = scaled(_costs(samples), 0.0)
    total = _sums(cells, weight * costs, shape[0] * shape[1]).reshape(shape)
    if normalize is None:
        with np.errstate(over="ignore"):  # sums that float64 does not hold are infinite
            return np.asarray(np.ldexp(total, of_weight + of_cost))
    if normalize == "all":
        by = np.full((1, 1), weight.sum())
    elif normalize == "true":
        by = _sums(samples.truth, weight, shape[0])[:, None]
    else:
        by = _sums(samples.decided, weight, shape[1])[None, :]
    share = np.zeros(shape)
    np.divide(total, by, out=share, where=by > 0)
    return np.asarray(unscaled(share, of_cost))


def make_expected_cost_scorer(cost: Any = None, labels: Any = None) -> Callable[..., float]:
    """Make a scorer for scikit-learn's searches and cross-validation: minus the mean cost, so that greater is better.

    Parameters
    ----------
    cost : array-like of shape (K, D), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        Costs that are bound to the scorer.
        By default the scorer takes costs that are passed as metadata, and without these every mistake costs 1.
    labels : array-like of K labels, optional
        Order of the rows of costs without labels.
        Give it, or labelled costs, so that a fold that lacks a class can be scored.

    Returns
    -------
    callable
        A scorer ``(estimator, X, y, sample_weight=None) -> float``, made by ``sklearn.metrics.make_scorer``.

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
    from sklearn.metrics import make_scorer  # slow to import, and needed here only

    bound = {name: value for name, value in (("cost", cost), ("labels", labels)) if value is not None}
    scorer: Callable[..., float] = make_scorer(expected_cost, greater_is_better=False, **bound)
    return scorer


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
    """Weights times 2**-exponent, the largest near 1 so that sums neither overflow nor vanish, and the exponent."""
    return (np.ones(n), 0) if weight is None else scaled(weight, 0.0)


def _mean_cost(samples: Samples) -> float:
    """Mean cost of the decisions: added up, to the last bit, as `_constant_cost` does it where all are the same."""
    weight, _ = _near_one(samples.weight, len(samples.truth))
    if samples.per_row or samples.table is None:
        costs, exponent = scaled(_costs(samples), 0.0)
        return _mean(weighted_sum(weight, costs), weight, exponent)
    shape = samples.table.shape
    cells = _sums(samples.truth * shape[1] + samples.decided, weight, shape[0] * shape[1]).reshape(shape)
    values, exponent = scaled(np.where(cells > 0, samples.table, 0.0), 0.0)
    return _mean(_column_sums(cells, values).sum(), weight, exponent)


def _constant_cost(samples: Samples) -> float:
    """Mean cost of the best decision for all."""
    weight, _ = _near_one(samples.weight, len(samples.truth))
    if samples.table is None:
        of_class = _sums(samples.truth, weight, len(samples.classes))
        return _mean(of_class.sum() - of_class.max(), weight, 0)
    values, exponent = scaled(samples.table, 0.0)
    if samples.per_row:
        return min(_mean(weighted_sum(weight, column), weight, exponent) for column in values.T)
    per_class = _sums(samples.truth, weight, len(values))
    return _mean(_column_sums(per_class[:, None], values).min(), weight, exponent)


def _column_sums(weight: FloatArray, values: FloatArray) -> FloatArray:
    """Sums of the products down the rows, (D,), always in the same order."""
    return np.asarray(np.multiply(weight, values, order="C").sum(axis=0))


def _mean(total: float | FloatArray, weight: FloatArray, exponent: int) -> float:
    return float(unscaled(total / weight.sum(), exponent))
