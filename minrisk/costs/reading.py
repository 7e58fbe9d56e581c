"""Whatever a user may call a cost, brought into the order of the classes of a data set."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk.costs.labels import Labels, as_labels, label_text, listed, match_labels, named_beside, refer_labels
from minrisk.costs.matrix import CostMatrix, of_checked
from minrisk.costs.tables import (
    as_numbers,
    check_cells,
    column_names,
    is_frame,
    is_labelled,
    not_finite,
    parse,
    unnamed,
)

NAME_THE_COLUMNS = (  # what to do where costs per row are of more classes than there are rows of
    "give a row of costs per sample in a DataFrame whose columns are the decisions, or name all classes in the "
    "estimator's cost, as costs.uniform([...]) does"
)


def read_cost(path: str | os.PathLike[str], *, allow_diagonal: bool = False) -> CostMatrix:
    r"""Read costs from a CSV file, in the order of its rows and columns.

    The first line is ``true,<decision>,<decision>,…``, where the first cell may be anything. Every further line is
    ``<class>,<cost>,<cost>,…``.
    Blank lines and blanks around a cell do not count.

    Where commas make no such table, semicolons, tabs or bars may stand between the cells. Costs may then be written
    with decimal commas, ``2,5``, and with points between thousands, ``1.000,5``. The command line reads files in the
    same way.

    Parameters
    ----------
    path : str or path
        A UTF-8 file. A first line ``sep=;`` says what separates its cells. By default it is detected.
    allow_diagonal : bool, default=False
        Whether a right decision may cost something.

    Returns
    -------
    CostMatrix
        All its labels are strings; :func:`as_cost` matches them to those of the data.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not such a table, or its costs do not pass the checks of :class:`minrisk.CostMatrix`. So is one
        with commas between its cells as well as in its numbers.

    Warns
    -----
    DataWarning
        If all marks in the costs of such a file may stand between thousands: ``1,250`` is read as 1.25, and so is
        ``1.250`` if no cost has a comma.

    Examples
    --------
    >>> from minrisk.costs import read_cost
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "cost.csv")
    >>> _ = path.write_text("true,1,2\n1,0,1\n2,5,0\n")
    >>> read_cost(path)
    CostMatrix: 2 true classes (rows) x 2 decisions (columns)
       1  2
    1  0  1
    2  5  0
    >>> _ = path.write_text("true;1;2\n1;0;1\n2;5,5;0\n")
    >>> read_cost(path).values.tolist()
    [[0.0, 1.0], [5.5, 0.0]]
    """
    return CostMatrix(os.fspath(path), allow_diagonal=allow_diagonal)


def as_cost(cost: Any, classes: Any, *, allow_diagonal: bool = False) -> CostMatrix:
    """Return costs with all their labels, and their rows in the order of the classes.

    The decisions of the result are the classes, in their order, and then the other decisions in the order given.

    Parameters
    ----------
    cost : array-like of shape (K, D), DataFrame, dict of dicts, CSV file, CostMatrix or None
        The costs. None means that every mistake costs 1.
        A table without labels has its rows and its first K columns in the order of ``classes``.
    classes : array-like of K labels
        The classes of the data, as in ``estimator.classes_``.
    allow_diagonal : bool, default=False
        Whether a right decision may cost something. A CostMatrix has been checked already.

    Returns
    -------
    CostMatrix
        K rows; ``classes`` and ``decisions`` are both given.

    Raises
    ------
    ValueError
        If a class has no row, if a table without labels has not one row for each class or has fewer columns than
        classes, if fewer than two columns are left, if ``ordinal(K)`` meets classes that are texts, whose order it does
        not say, or for anything that :class:`minrisk.CostMatrix` refuses.
    TypeError
        If ``cost`` or ``classes`` is of a kind that cannot be read.
    FileNotFoundError
        If ``cost`` is a string or path that leads to no file.

    Notes
    -----
    Costs with labels (a DataFrame, a dict, a file, a CostMatrix with labels) are aligned by label, not by position:

    - Rows of classes that are not among ``classes`` are left out, and so are the columns of such classes.
    - A class without a column can never be decided.
    - A column that is no row's label is a decision of its own. If it looks like a misspelt class, that is an error,
      except in a CostMatrix.

    Further columns of a table without labels are decisions that are no class, with the names that
    :class:`minrisk.CostMatrix` gives them.

    Examples
    --------
    >>> from minrisk.costs import as_cost
    >>> as_cost({"b": {"a": 5, "refer": 0.5}, "a": {"b": 1, "refer": 0.5}}, ["a", "b"])
    CostMatrix: 2 true classes (rows) x 3 decisions (columns)
       a  b  refer
    a  0  1    0.5
    b  5  0    0.5
    >>> as_cost([[0, 1], [5, 0]], [1, 2]).decisions
    (1, 2)
    """
    labels = as_labels(classes)
    if cost is None:
        return CostMatrix(1.0 - np.eye(len(labels)), labels)
    matrix = cost if isinstance(cost, CostMatrix) else None
    if is_labelled(cost):
        matrix = CostMatrix(cost, allow_diagonal=allow_diagonal)
    if matrix is not None and matrix.classes is not None:
        return aligned(matrix, labels, trusted=isinstance(cost, CostMatrix), hint=positions_hint(cost, matrix))
    values = parse(cost).values if matrix is None else matrix.values
    if len(values) != len(labels):
        way = "give the missing rows" if len(values) < len(labels) else "leave out those of other classes"
        raise ValueError(
            f"cost must have one row per class: expected {len(labels)} rows for the classes "
            f"{listed(labels)}, got shape {values.shape}; {way}, or give a DataFrame, dict or CostMatrix with "
            "labels, of which those of other classes are not used."
        )
    if matrix is not None and matrix._graded and any(isinstance(label, str) for label in labels):
        raise ValueError(
            f"cost must name the classes from the lowest to the highest, got ordinal({len(labels)}) for the texts "
            f"{listed(labels)}, whose order nobody said: write ordinal with the labels in order, as in "
            "ordinal(['low', 'medium', 'high'])."
        )
    return CostMatrix(values, labels, allow_diagonal=allow_diagonal or matrix is not None)


def is_uniform(matrix: CostMatrix) -> bool:
    """Return whether these are the costs that None stands for: the decisions are the classes, a mistake costs 1.

    Nothing larger than the costs is made to find that out.

    Examples
    --------
    >>> is_uniform(as_cost(None, ["a", "b"])), is_uniform(CostMatrix([[0, 1], [2, 0]], ["a", "b"]))
    (True, False)
    """
    if matrix.classes is None or matrix.classes != matrix.decisions:
        return False
    mistakes = matrix.values.size - len(matrix.values)
    return not matrix.values.diagonal().any() and int(np.count_nonzero(matrix.values == 1.0)) == mistakes


def is_per_row(cost: Any, n_samples: int, n_classes: int) -> bool:
    """Return whether costs have one row for each sample rather than one row for each class.

    A table does if it has ``n_samples`` rows. If there are as many classes as samples, it is read as one row for each
    class.
    Nothing is checked here.

    Parameters
    ----------
    cost : object
        Anything that :func:`as_cost` or :func:`row_costs` takes.
    n_samples : int
        The number of samples.
    n_classes : int
        The number of classes.

    Returns
    -------
    bool
        True for costs that :func:`row_costs` takes, False for those of :func:`as_cost`.

    Notes
    -----
    A DataFrame whose row labels are all labels of columns too has one row for each class.
    Files, dicts and CostMatrix objects never have one row for each sample.

    Examples
    --------
    >>> from minrisk.costs import is_per_row
    >>> import numpy as np
    >>> is_per_row(np.ones((100, 3)), 100, 3), is_per_row(np.ones((3, 3)), 100, 3)
    (True, False)
    """
    if cost is None or isinstance(cost, (str, os.PathLike, Mapping, CostMatrix)):
        return False
    if n_samples == n_classes:
        return False
    try:
        shape = np.shape(cost)
    except ValueError:  # rows of different lengths: for as_cost to refuse
        return False
    if len(shape) != 2 or shape[0] != n_samples:
        return False
    if is_frame(cost):
        return min(match_labels(cost.index.tolist(), cost.columns.tolist()), default=-1) < 0
    return True


def row_costs(cost: Any, n_samples: int, classes: Any, truth: IntArray | None = None) -> tuple[FloatArray, Labels]:
    """Check costs with one row for each sample, and bring their columns into the order of the classes.

    Parameters
    ----------
    cost : array-like or table of shape (n, D)
        ``cost[n, j]`` is what it costs to decide ``j`` for sample ``n``. A right decision may cost something.
        The columns of a table are aligned by label, and its rows are taken in their order.
        Columns without labels stand as in :func:`as_cost`.
    n_samples : int
        The number of samples.
    classes : array-like of K labels
        The classes of the data.
    truth : ndarray of int of shape (n,), optional
        Positions of the true classes. By them it is noticed that columns without labels are those of more classes.
        By default this is not checked.

    Returns
    -------
    table : ndarray of shape (n, D)
        float64 and C-contiguous; the input itself if it is that already and its columns are in order.
    decisions : tuple of D labels
        The classes that have a column, in their order, and then the other decisions in the order given.

    Raises
    ------
    ValueError
        If the shape does not fit, a cell is not a finite number of 0 or more, a column's label occurs twice or may be a
        misspelt class, or columns without labels are fewer than the classes or seem to be those of more classes.

    Notes
    -----
    Columns that pandas has merely numbered 0, 1, … count as columns without labels, unless these are the classes.
    If a fold of a cross-validation may lack a class, columns need labels.

    Examples
    --------
    >>> from minrisk.costs import row_costs
    >>> table, decisions = row_costs([[0, 3, 1], [2, 0, 1]], n_samples=2, classes=["no", "yes"])
    >>> table.shape, decisions
    ((2, 3), ('no', 'yes', 'refer'))
    """
    labels = as_labels(classes)
    given = column_labels(cost, labels)
    table = as_numbers(cost, None, given)
    if table.shape[0] != n_samples:
        raise ValueError(
            f"cost given per sample must have one row per sample: expected {n_samples} rows, got shape "
            f"{table.shape}; pass the costs of exactly these samples, or a table with one row per class."
        )
    if given is None:
        if table.shape[1] < len(labels):
            raise ValueError(
                f"cost given per sample must have one column per class: expected {len(labels)} columns or "
                f"more for the classes {listed(labels)}, got shape {table.shape}; give the missing columns, "
                f"or a DataFrame with labels."
            )
        decisions = as_labels(
            labels + refer_labels(table.shape[1] - len(labels), labels), "the decisions (classes, then refer)"
        )
        if truth is not None:
            _check_places(table, truth, labels)
    else:
        order, decisions = column_order(given, labels, labels, trusted=False)
        known = sum(at >= 0 for at in match_labels(decisions, labels))
        decisions = decisions[:known] + named_beside(decisions[known:], labels, labels)
        if order != list(range(table.shape[1])):
            table = np.ascontiguousarray(table[:, order])
    if len(decisions) < 2:
        raise ValueError(
            f"cost must have two decisions (columns) or more, got {listed(decisions)}: there must be "
            "something to decide."
        )
    check_cells(table, None, decisions)
    return table, decisions


def _check_places(table: FloatArray, truth: IntArray, classes: Labels) -> None:
    """Refuse columns without labels where right decisions cost something, and would not in other places."""
    if not table[np.arange(len(table)), truth].any():
        return
    costly = np.zeros((len(classes), table.shape[1]), dtype=bool)
    np.logical_or.at(costly, truth, table != 0)
    if table.shape[1] > len(classes):
        names, places, what = classes, _rising_places(~costly), "as if y lacked a class"
    else:
        seen = np.unique(truth)
        names, free = tuple(classes[k] for k in seen), ~costly[seen]
        places = free.argmax(axis=1).tolist() if (free.sum(axis=1) == 1).all() else []
        what = f"as if they stood in another order than the sorted classes {listed(classes)}"
    if places and len(set(places)) == len(places):
        raise ValueError(
            f"cost given per sample has {table.shape[1]} columns without labels for the classes {listed(names)}, which "
            f"cost nothing in the columns {listed(places)}, {what}: {NAME_THE_COLUMNS}."
        )


def _rising_places(free: np.ndarray) -> list[int]:
    """The classes in order, each at the first column from the last one's on that costs its rows nothing; or none."""
    places, first = list[int](), 0
    for columns in free:
        found = np.flatnonzero(columns[first:])
        if not len(found):
            return []
        places.append(first + int(found[0]))
        first = places[-1] + 1
    return places


def among(cost: Any, classes: Any, stated: Any) -> Labels:
    """Return the classes in whose order costs per row without labels stand, sorted: `classes`, or those of `stated`.

    Parameters
    ----------
    cost : object
        Costs per row, (n, D) or (n, K, D).
    classes : array-like of K labels
        The classes of the training rows.
    stated : object
        Costs whose labels may name more classes, which `cost` then has if it is large enough: an estimator's `cost`.

    Examples
    --------
    >>> among(np.ones((5, 3)), ["a", "c"], CostMatrix(1 - np.eye(3), ["c", "b", "a"]))
    ('a', 'b', 'c')
    """
    labels = as_labels(classes)
    if np.shape(cost)[1] <= len(labels) or column_labels(cost, labels) is not None:
        return labels
    matrix = CostMatrix(stated) if is_labelled(stated) else stated
    if not isinstance(matrix, CostMatrix) or matrix.classes is None or -1 in match_labels(labels, matrix.classes):
        return labels
    others = [row for row, at in zip(matrix.classes, match_labels(matrix.classes, labels), strict=True) if at < 0]
    try:
        found = tuple(sorted(labels + named_beside(tuple(others), matrix.classes, labels)))
    except TypeError:  # labels of several kinds
        return labels
    return found if len(found) <= np.shape(cost)[1] else labels


def column_labels(cost: Any, classes: Labels) -> Labels | None:
    """Return the labels of a table's columns, None for an array or a table with columns merely numbered."""
    given = column_names(cost)
    if given is None:
        return None
    numbers = tuple(range(len(given)))
    without_meaning = given in (numbers, unnamed(len(given)))  # as pandas and polars number columns
    numbered = without_meaning and max(match_labels(classes, given), default=-1) < 0
    return None if numbered else given


def aligned(matrix: CostMatrix, classes: Labels, trusted: bool, hint: str) -> CostMatrix:
    """Return labelled costs with the rows of ``classes``; ``trusted`` ones may have decisions like misspelt classes."""
    assert matrix.classes is not None
    assert matrix.decisions is not None
    rows = match_labels(classes, matrix.classes)
    missing = [label for label, row in zip(classes, rows, strict=True) if row < 0]
    if missing:
        raise ValueError(
            f"cost must have a row for every class, got none for {listed(missing)} among its rows "
            f"{listed(matrix.classes)}: add the row{'' if len(missing) == 1 else 's'}{hint}."
        )
    columns, decisions = column_order(matrix.decisions, classes, matrix.classes, trusted)
    known = sum(at >= 0 for at in match_labels(decisions, classes))
    decisions = decisions[:known] + named_beside(decisions[known:], matrix.classes, classes)
    values = matrix.values[np.ix_(rows, columns)]
    left_out = len(matrix.classes) - len(classes)
    if left_out and len(decisions) < 2:
        raise ValueError(
            f"cost must have two decisions or more, but with the {left_out} classes left out that do not occur here "
            f"only {listed(decisions)} are left: give the classes {listed(classes)} costs of their own."
        )
    if classes == matrix.classes and decisions == matrix.decisions:
        return matrix
    return of_checked(values, classes, decisions)


def column_order(given: Labels, classes: Labels, rows: Labels, trusted: bool) -> tuple[list[int], Labels]:
    """Return the columns to keep and their labels: ``classes`` first, then those no row is named after."""
    of_class = match_labels(classes, given)
    extra = [j for j, row in enumerate(match_labels(given, rows)) if row < 0]
    if not trusted:
        _check_spelling([given[j] for j in extra], rows)
    without = [label for label, column in zip(classes, of_class, strict=True) if column < 0]
    if extra and 0 < len(without) < len(classes) and not trusted:  # all without: decisions of another kind
        raise ValueError(
            f"cost names {listed([given[j] for j in extra])} as a decision but has no column for the class "
            f"{listed(without)}: correct the name, or pass CostMatrix(values, classes=..., decisions=...) if that "
            f"class is never to be decided."
        )
    order = [column for column in of_class if column >= 0] + extra
    kept = tuple(label for label, column in zip(classes, of_class, strict=True) if column >= 0)
    return order, kept + tuple(given[j] for j in extra)


def _check_spelling(others: list[Any], rows: Labels) -> None:
    """Refuse decisions that differ from a class only by capitals or blanks."""
    classes = {_spelt(label): label for label in rows}
    for label in others:
        if (meant := classes.get(_spelt(label))) is not None:
            raise ValueError(
                f"cost names {label!r} as a decision, which is the class {meant!r} but for capitals or blanks: write "
                "both in the same way, or pass CostMatrix(values, classes=..., decisions=...) if they differ."
            )


def _spelt(label: Any) -> str:
    """A label without capitals and blanks."""
    return "".join(label_text(label).casefold().split())


def positions_hint(cost: Any, matrix: CostMatrix) -> str:
    """Return advice for a frame that was never labelled, only numbered by pandas."""
    if is_frame(cost) and matrix.classes == tuple(range(matrix.shape[0])):
        return ", or pass cost.to_numpy() if its rows are in the order of the classes"
    return ""


def is_per_row_and_class(cost: Any) -> bool:
    """Return whether ``cost`` holds a matrix for every sample, (n, K, D)."""
    if cost is None or is_labelled(cost) or isinstance(cost, CostMatrix):
        return False
    try:
        return np.ndim(cost) == 3
    except ValueError:  # rows of different lengths: for as_cost to refuse
        return False


def own_rows(cost: Any, codes: IntArray, classes: Labels) -> FloatArray:
    """Return the rows of the true classes, (n, D), of a matrix for every sample, (n, K, D)."""
    rows: FloatArray = row_matrices(cost, len(codes), classes, len(classes))[np.arange(len(codes)), codes]
    return rows


def row_matrices(
    cost: Any, n_samples: int, classes: Labels, n_decisions: int, instead: str = NAME_THE_COLUMNS
) -> FloatArray:
    """Check a cost matrix for every sample, (n, K, D); D is `n_decisions`, or K or more.

    Raises
    ------
    ValueError
        If it is none; where it has more rows than there are classes, with what to do `instead`.
    """
    n_classes = len(classes)
    try:
        with np.errstate(over="ignore"):
            matrices: FloatArray = np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "cost with a matrix for each row must hold numbers only, and matrices of one shape: give an array of them."
        ) from None
    n, n_rows, n_columns = matrices.shape
    if (n, n_rows) != (n_samples, n_classes) or not (n_columns == n_decisions or n_columns >= n_classes):
        if n_rows > n_classes:
            way = f"if it has rows of other classes, {instead}"
        elif n != n_samples:
            way = "give the matrices of exactly these rows"
        else:
            way = f"give each matrix a {'row for every class' if n_rows < n_classes else 'column for every decision'}"
        raise ValueError(
            f"cost with a matrix for each row must have a row in each for the classes {listed(classes)}: expected "
            f"shape ({n_samples}, {n_classes}, {n_decisions}) for {n_samples} rows, {n_classes} classes and "
            f"{n_decisions} decisions, got {matrices.shape}; {way}."
        )
    if not np.all(np.isfinite(matrices)):
        n, i, j = np.argwhere(~np.isfinite(matrices))[0].tolist()
        raise ValueError(not_finite(f"cost[{n}, {i}, {j}]", matrices[n, i, j]))
    return matrices
