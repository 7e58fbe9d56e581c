"""Costs as a fit keeps them: all that they say of classes, also of those that no training row has."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from minrisk._callers import warn_caller
from minrisk._typing import FloatArray, IntArray
from minrisk.costs.labels import (
    Labels,
    are_numbers,
    as_labels,
    label_text,
    listed,
    match_labels,
    named_beside,
    written_numbers,
)
from minrisk.costs.matrix import CostMatrix
from minrisk.costs.reading import (
    aligned,
    among,
    as_cost,
    column_labels,
    column_order,
    is_per_row,
    is_per_row_and_class,
    own_rows,
    positions_hint,
    row_costs,
)
from minrisk.costs.sample_rows import check_row_count
from minrisk.costs.tables import NamedColumns, is_labelled


def stated_cost(cost: Any, classes: Any) -> CostMatrix:
    """Return the costs of a fit with all that they say: :func:`as_cost`, and then the other classes they name.

    Classes that no training row has may come up later, in the rows of a fold that decisions are judged by.

    Parameters
    ----------
    cost : object
        As in :func:`as_cost`, not None.
    classes : array-like of K labels
        The classes of the training rows. Where a meta-estimator has numbered them, 0 to K - 1 in the order of the
        sorted labels, labelled costs of K classes are taken in that order: numbers by size, texts provided that their
        order as texts is also that of the numbers they write, if they do.

    Returns
    -------
    CostMatrix
        Rows and decisions of :func:`as_cost` first; then those of the other classes.

    Raises
    ------
    ValueError
        As :func:`as_cost`; also if classes seem to be numbers of a meta-estimator and nobody can tell of which.

    Examples
    --------
    >>> cost = {"a": {"b": 1, "c": 2}, "b": {"a": 3, "c": 4}, "c": {"a": 5, "b": 6}}
    >>> stated_cost(cost, ["a", "c"])
    CostMatrix: 3 true classes (rows) x 3 decisions (columns)
       a  c  b
    a  0  2  1
    c  5  0  6
    b  3  4  0
    >>> stated_cost(cost, [0, 1, 2]).values[0]
    array([0., 1., 2.])
    >>> stated_cost(CostMatrix([[0, 1], [9, 0]], [5, 10]), [0, 1]).classes
    (0, 1)
    """
    labels = as_labels(classes)
    matrix = CostMatrix(cost) if is_labelled(cost) else cost
    if not isinstance(matrix, CostMatrix) or matrix.classes is None or matrix.decisions is None:
        return as_cost(matrix, labels)
    matrix = _renumbered(matrix, labels)
    assert matrix.classes is not None
    assert matrix.decisions is not None
    first = aligned(matrix, labels, trusted=isinstance(cost, CostMatrix), hint=positions_hint(cost, matrix))
    assert first.decisions is not None
    more = [i for i, at in enumerate(match_labels(matrix.classes, labels)) if at < 0]
    if not more:
        return first
    others = tuple(matrix.classes[i] for i in more)
    _warn_of_decisions_as_rows(others, matrix.decisions)
    columns, _ = column_order(matrix.decisions, labels, matrix.classes, trusted=True)
    of_others = [j for j in range(len(matrix.decisions)) if j not in columns]
    rows = [*match_labels(labels, matrix.classes), *more]
    return CostMatrix(
        matrix.values[np.ix_(rows, [*columns, *of_others])],
        labels + named_beside(others, matrix.classes, labels),
        first.decisions + named_beside(tuple(matrix.decisions[j] for j in of_others), matrix.classes, labels),
        allow_diagonal=True,
    )


def cost_of_counted(cost: Any, classes: Any, labels: Any) -> CostMatrix:
    """Return :func:`stated_cost` of these classes; a table may have rows for all the labels that they are among.

    Parameters
    ----------
    cost : object
        As in :func:`stated_cost`.
    classes : array-like of K labels
        Labels of the training rows that count.
    labels : array-like
        Of all training rows: the places of a table without labels, if it has as many.
    """
    if len(labels) > len(classes):
        with contextlib.suppress(ValueError):  # it need not say anything of the others
            cost = stated_cost(cost, labels)
    return stated_cost(cost, classes)


def row_costs_of_counted(
    cost: Any, codes: IntArray, classes: Any, labels: Any, stated: Any = None
) -> tuple[FloatArray, Labels]:
    """Return :func:`~minrisk.costs.row_costs`, or own rows of a matrix per sample, without columns of other labels.

    Columns without labels stand for all labels, if they are enough; a labelled one that is no class is a decision.

    Parameters
    ----------
    cost : array-like of shape (n, D), (n, K, D) or (n, L, D)
    codes : ndarray of int, (n,)
        Of each row's class.
    classes, labels : array-like of K and L labels
        As in :func:`cost_of_counted`, sorted.
    stated : object
        Costs that may name more labels, as in :func:`~minrisk.costs.reading.among`.
    """
    labels = among(cost, labels, stated)
    places = np.array(match_labels(as_labels(classes), labels))[codes]
    if is_per_row_and_class(cost):
        every = np.shape(cost)[1] == len(labels)
        cost = own_rows(cost, places, labels) if every else own_rows(cost, codes, as_labels(classes))
    if column_labels(cost, labels) is not None or np.shape(cost)[1] < len(labels):
        return row_costs(cost, len(codes), classes, codes)
    table, decisions = row_costs(cost, len(codes), labels, places)
    known = [j for j, at in enumerate(match_labels(decisions, as_labels(classes))) if at >= 0 or j >= len(labels)]
    if len(known) == len(decisions):
        return table, decisions
    return np.ascontiguousarray(table[:, known]), tuple(decisions[j] for j in known)


def judging(cost: Any, classes: Any, n_samples: int, stated: Any = None, decisions: Any = ()) -> tuple[Any, Any]:
    """Return costs to judge decisions by, and the classes of those that do not name them; as metrics take both.

    Parameters
    ----------
    cost : object
        None for 0/1 costs, one row of costs or a matrix per sample, or anything :func:`stated_cost` takes.
    classes : array-like of K labels
        The classes that decisions are among.
    n_samples : int
        The number of decisions.
    stated : object
        Costs that may name more classes, as in :func:`among`.
    decisions : array-like of D labels
        Names of the columns of costs that have none, if they are as many: the classes, then decisions that are none.
    """
    labels = as_labels(classes)
    names = tuple(as_labels(decisions)) if len(decisions) else ()
    names = names if names[: len(labels)] == labels else ()
    each = is_per_row_and_class(cost)
    if cost is None or not (each or is_per_row(cost, n_samples, len(labels))):
        check_row_count(cost, n_samples, labels)
        return None if cost is None else named_columns(cost, stated_cost(cost, labels), names), None
    if not each and column_labels(cost, labels) is not None:
        return cost, None
    own = among(cost, labels, stated)
    named = own == labels and np.shape(cost)[-1] == len(names)
    return NamedColumns(cost, names) if named else cost, own


def named_columns(given: Any, matrix: CostMatrix, names: Labels) -> CostMatrix:
    """Return costs whose decisions have these names, if they were given without labels and are as many."""
    labelled = is_labelled(given) or (isinstance(given, CostMatrix) and given.classes is not None)
    if labelled or len(names) != matrix.shape[1] or names[: matrix.shape[0]] != matrix.classes:
        return matrix
    return CostMatrix(matrix.values, matrix.classes, names, allow_diagonal=True)


def _warn_of_decisions_as_rows(others: Labels, decisions: Labels) -> None:
    """Warn of rows that are neither classes of the data nor decisions: the costs may have been written transposed."""
    nowhere = [label for label, at in zip(others, match_labels(others, decisions), strict=True) if at < 0]
    if nowhere:
        warn_caller(
            f"cost has rows for {listed(nowhere)}, which no row of y is and which cannot be decided: rows are true "
            "classes and columns are decisions (the keys of a dict are the rows), so transpose the costs if these are "
            "decisions.",
            UserWarning,
        )


def _renumbered(matrix: CostMatrix, classes: Labels) -> CostMatrix:
    """Return labelled costs with the numbers that a meta-estimator gave to the classes, if it did."""
    rows, columns = matrix.classes, matrix.decisions
    assert rows is not None
    assert columns is not None
    whole = are_numbers(classes) and not any(isinstance(label, bool) for label in classes)
    if -1 not in match_labels(classes, rows) or not whole or not set(classes) <= set(range(len(rows))):
        return matrix
    order = _order(rows)
    if len(classes) < len(rows) or order is None:
        few = len(classes) < len(rows)
        why = "are more" if few else "would be sorted otherwise as numbers than as texts"
        which = "those of just these classes" if few else "the costs"
        raise ValueError(
            f"cost must have the labels of y, but y holds the classes {listed(classes)}, as if a meta-estimator had "
            f"numbered them anew (cross_val_predict and voting, stacking, bagging and one-vs-rest classifiers do), and "
            f"cost has the labels {listed(rows)}, which {why}: pass {which} as a plain table in the order of the "
            f"sorted classes, or all with the numbers as labels, CostMatrix(table, classes=range({len(rows)})), "
            "if they number all classes."
        )
    number = dict(zip(order, sorted(classes), strict=True))
    decided = match_labels(columns, rows)
    others = tuple(label for label, at in zip(columns, decided, strict=True) if at < 0)
    names = iter(named_beside(others, rows, classes))
    return CostMatrix(
        matrix.values,
        [number[i] for i in range(len(rows))],
        [number[at] if at >= 0 else next(names) for at in decided],
        allow_diagonal=True,
    )


def _order(labels: Labels) -> list[int] | None:
    """Return the positions of the sorted labels; None if that depends on whether texts were numbers in the data.

    Numbers stand for numbers. Texts may have been either, as those of a file of costs.
    """
    ways: list[Sequence[Any]] = [labels]
    if not are_numbers(labels):
        numbers = written_numbers(labels)
        ways += [[label_text(label) for label in labels], *([] if numbers is None else [numbers])]
    try:
        orders = [sorted(range(len(labels)), key=way.__getitem__) for way in ways]
    except TypeError:  # labels of several kinds
        return None
    return orders[0] if all(order == orders[0] for order in orders) else None
