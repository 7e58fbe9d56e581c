"""Costs as users give them, brought into the order of the classes of a data set.

A table of classes by decisions becomes a :class:`CostMatrix` (:func:`as_cost`, :func:`stated_cost`), and costs with a
row or a matrix for each sample become :class:`CostsPerRow` (:func:`costs_per_row`). Callers ask once which of the two
they have.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import Codes, FloatArray, IntArray
from minrisk._utils import warn_caller
from minrisk.costs.labels import (
    Labels,
    are_numbers,
    as_labels,
    default_decisions,
    label_text,
    listed,
    match_labels,
    named_beside,
    unmatched,
    written_numbers,
)
from minrisk.costs.matrix import (
    CostMatrix,
    as_numbers,
    check_cells,
    column_names,
    is_frame,
    is_labelled,
    order_of_zeros,
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
    return aligned(cost, as_labels(classes), allow_diagonal=allow_diagonal)


def stated_cost(
    cost: Any, classes: Any, labels: Any = (), decisions: Any = (), n_samples: int | None = None
) -> CostMatrix:
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
    labels : array-like, optional
        All labels of y, of which `classes` have rows that count: a table without labels may have a row for each of
        them. By default these are the classes.
    decisions : array-like of D labels, optional
        What to call the columns of a table without labels, if they are as many and begin with the classes.
    n_samples : int, optional
        The number of rows, where costs may have one for each, for messages.

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
    if len(labels) > len(classes):
        # Rows of weight 0 make no class, but a table without labels may have been written with theirs in mind.
        with suppress(ValueError):
            cost = stated_cost(cost, labels)
    names = as_labels(decisions, "decisions")
    return aligned(cost, as_labels(classes), with_others=True, decisions=names, n_samples=n_samples)


def aligned(
    cost: Any,
    classes: Labels,
    *,
    allow_diagonal: bool = False,
    with_others: bool = False,
    decisions: Labels = (),
    n_samples: int | None = None,
) -> CostMatrix:
    """Return costs with the rows of the classes first, and those `with_others` that they name.

    See :func:`as_cost` and :func:`stated_cost`; `decisions` and `n_samples` are as there.
    """
    if cost is None:
        return CostMatrix(1.0 - np.eye(len(classes)), classes)
    values, own, given = parse(cost)
    as_stated = isinstance(cost, CostMatrix)  # taken at its word: decisions may look like misspelt classes
    if own is None:
        _check_bare(cost, values, classes, n_samples)
        fits = len(decisions) == values.shape[1] and decisions[: len(classes)] == classes
        return CostMatrix(values, classes, decisions if fits else None, allow_diagonal or as_stated)
    matrix = cost if as_stated else CostMatrix(values, own, given, allow_diagonal)
    if with_others:
        matrix = _renumbered(matrix, classes)
    own, given = matrix._labels
    rows = match_labels(classes, own)
    if -1 in rows:
        missing = unmatched(classes, own)
        only_numbered = is_frame(cost) and own == tuple(range(len(own)))
        hint = ", or pass cost.to_numpy() if its rows are in the order of the classes" if only_numbered else ""
        raise ValueError(
            f"cost must have a row for every class, got none for {listed(missing)} among its rows "
            f"{listed(own)}: add the row{'' if len(missing) == 1 else 's'}{hint}."
        )
    columns, names = _column_order(given, classes, own, as_stated)
    if len(own) > len(classes) and len(names) < 2:
        raise ValueError(
            f"cost must have two decisions or more, but with the {len(own) - len(classes)} classes left out that do "
            f"not occur here only {listed(names)} are left: give the classes {listed(classes)} costs of their own."
        )
    if with_others:  # after the classes, so that codes of rows and decisions stay what they are
        others, rest = unmatched(own, classes), [j for j in range(len(given)) if j not in columns]
        _warn_of_decisions_as_rows(others, given)
        rows, columns = [*rows, *match_labels(others, own)], [*columns, *rest]
        names += named_beside(tuple(given[j] for j in rest), own, classes)
        classes += named_beside(others, own, classes)
    if classes == own and names == given:
        return matrix
    return CostMatrix(matrix.values[np.ix_(rows, columns)], classes, names, allow_diagonal=True)


def _check_bare(cost: Any, values: FloatArray, classes: Labels, n_samples: int | None) -> None:
    """Refuse a table without labels that has not a row for each class, or whose classes stand in an order unknown."""
    if len(values) != len(classes):
        way = "give the missing rows" if len(values) < len(classes) else "leave out those of other classes"
        or_each = ""
        if n_samples is not None:
            way, or_each = "give the costs of just these", f" or one for each of the {n_samples} samples"
        raise ValueError(
            f"cost must have one row per class: expected {len(classes)} rows for the classes "
            f"{listed(classes)}{or_each}, got shape {values.shape}; {way}, or give a DataFrame, dict or CostMatrix "
            "with labels, of which those of other classes are not used."
        )
    if isinstance(cost, CostMatrix) and cost._graded and any(isinstance(label, str) for label in classes):
        raise ValueError(
            f"cost must name the classes from the lowest to the highest, got ordinal({len(classes)}) for the texts "
            f"{listed(classes)}, whose order nobody said: write ordinal with the labels in order, as in "
            "ordinal(['low', 'medium', 'high'])."
        )


def _column_order(given: Labels, classes: Labels, rows: Labels, as_stated: bool) -> tuple[list[int], Labels]:
    """Return the columns to keep and what they are called: ``classes`` first, then those no row is named after."""
    of_class = match_labels(classes, given)
    extra = [j for j, row in enumerate(match_labels(given, rows)) if row < 0]
    others = tuple(given[j] for j in extra)
    if not as_stated:
        spelt = {_spelt(label): label for label in rows}
        for label in others:
            if (meant := spelt.get(_spelt(label))) is not None:
                raise ValueError(
                    f"cost names {label!r} as a decision, which is the class {meant!r} but for capitals or blanks: "
                    "write both in the same way, or pass CostMatrix(values, classes=..., decisions=...) if they "
                    "differ."
                )
        without = unmatched(classes, given)
        if extra and 0 < len(without) < len(classes):  # all without: decisions of another kind
            raise ValueError(
                f"cost names {listed(others)} as a decision but has no column for the class "
                f"{listed(without)}: correct the name, or pass CostMatrix(values, classes=..., decisions=...) if that "
                f"class is never to be decided."
            )
    kept = tuple(label for label, column in zip(classes, of_class, strict=True) if column >= 0)
    order = [column for column in of_class if column >= 0] + extra
    return order, kept + named_beside(others, rows, classes)


def _spelt(label: Any) -> str:
    """Return a label without capitals and blanks."""
    return "".join(label_text(label).casefold().split())


def _warn_of_decisions_as_rows(others: Labels, decisions: Labels) -> None:
    """Warn of rows that are neither classes of the data nor decisions: the costs may have been written transposed."""
    if nowhere := unmatched(others, decisions):
        warn_caller(
            f"cost has rows for {listed(nowhere)}, which no row of y is and which cannot be decided: rows are true "
            "classes and columns are decisions (the keys of a dict are the rows), so transpose the costs if these are "
            "decisions.",
            UserWarning,
        )


def _renumbered(matrix: CostMatrix, classes: Labels) -> CostMatrix:
    """Return labelled costs with the numbers that a meta-estimator gave to the classes, if it did."""
    rows, columns = matrix._labels
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
    names = iter(named_beside(unmatched(columns, rows), rows, classes))
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
    shape = _shape(cost)
    if len(shape) != 2 or shape[0] != n_samples or n_samples == n_classes:  # a table of classes is by far more usual
        return False
    return not is_frame(cost) or min(match_labels(cost.index.tolist(), cost.columns.tolist()), default=-1) < 0


def _shape(cost: Any) -> tuple[int, ...]:
    """Return the shape of an array or table; () of what has labels of its own anyway, and of what is no array."""
    if isinstance(cost, (str, os.PathLike, Mapping, CostMatrix, CostsPerRow)):
        return ()
    try:
        return np.shape(cost)
    except ValueError:  # rows of different lengths: for as_cost to refuse
        return ()


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
    if has_matrices(cost):
        as_numbers(cost)  # which says what it has to be
    labels = as_labels(classes)
    return CostsPerRow.of(cost, labels).table(n_samples, labels, truth)


class CostsPerRow(NamedTuple):
    """Costs with a row, or a matrix, for each sample, as numbers that are not yet in the order of the classes."""

    values: FloatArray  # (n, D), or (n, K, D)
    columns: Labels  # as a table has named them, or as they are called without names
    classes: Labels  # in whose order matrices' rows and columns without names stand; () where a table has named them

    @classmethod
    def of(cls, cost: Any, classes: Any, labels: Any = (), stated: Any = None, decisions: Any = ()) -> CostsPerRow:
        """Return an array or table, (n, D), or an array of matrices, (n, K, D), as such.

        Parameters
        ----------
        cost : object
        classes, labels : array-like of K and L labels
            As in :func:`stated_cost`. Columns without names stand for all labels, if they are enough.
        stated : object
            Costs, such as an estimator's, that may name more labels, for which such columns then stand if enough.
        decisions : array-like of D labels, optional
            What to call columns without names, if they are as many and those of the classes.

        Examples
        --------
        >>> CostsPerRow.of(np.ones((5, 3)), ["a", "c"], stated=CostMatrix(1 - np.eye(3), ["c", "b", "a"])).columns
        ('a', 'b', 'c')
        >>> CostsPerRow.of(np.ones((5, 3)), ["a", "c"]).columns
        ('a', 'c', 'refer')
        """
        if isinstance(cost, CostsPerRow):
            return cost
        own = as_labels(classes)
        every = as_labels(labels) if len(labels) else own
        names = None if has_matrices(cost) else column_names(cost)
        values = _numbers_of_matrices(cost) if has_matrices(cost) else as_numbers(cost, None, names)
        if names is not None and not (_merely_numbered(names) and max(match_labels(every, names), default=-1) < 0):
            return cls(values, names, ())
        ways = (_with_stated(every, stated), every, own)
        standing = next((way for way in ways if len(way) <= values.shape[1]), own)
        n_decisions = values.shape[-1]
        given = as_labels(decisions, "decisions")
        fits = len(given) == n_decisions and standing == own and (values.ndim == 3 or given[: len(own)] == own)
        return cls(values, given if fits else default_decisions(standing, n_decisions), standing)

    def at(self, rows: IntArray | slice) -> CostsPerRow:
        """Return those of some samples."""
        return self._replace(values=self.values[rows])

    def class_means(self, classes: Labels, codes: IntArray) -> CostMatrix:
        """Return the mean costs of the samples of each class, all of which some have, by their class codes."""
        table, decisions = self.table(len(codes), classes, codes)
        means = [table[codes == k].mean(axis=0) for k in range(len(classes))]
        return CostMatrix(means, classes, decisions, allow_diagonal=True)

    def matrices(self, n_samples: int, instead: str = NAME_THE_COLUMNS) -> FloatArray:
        """Return the checked matrices, (n, K, D).

        Raises
        ------
        ValueError
            If the shape is another; where it has more rows than there are classes, with what to do `instead`.
        """
        (n, n_rows, n_columns), n_classes = self.values.shape, len(self.classes)
        if (n, n_rows) != (n_samples, n_classes) or n_columns != len(self.columns):
            way = "give exactly these rows a matrix each, with a row for every class and a column for every decision"
            if n_rows > n_classes:
                way = f"if it has rows of other classes, {instead}"
            raise ValueError(
                f"cost with a matrix for each row must have a row in each for the classes {listed(self.classes)}: "
                f"expected shape ({n_samples}, {n_classes}, {n_classes}), or more decisions, got {self.values.shape}; "
                f"{way}."
            )
        check_cells(self.values)
        return self.values

    def matrices_of(self, n_samples: int, classes: Labels) -> tuple[FloatArray, Labels]:
        """Return the matrices with the rows of these classes, and their decisions: none that is another class."""
        matrices = self.matrices(n_samples, "leave these out")
        order, decisions = _column_order(self.columns, classes, self.classes, as_stated=True)
        if classes != self.classes or decisions != self.columns:
            matrices = matrices[:, match_labels(classes, self.classes)][:, :, order]
        return matrices, decisions

    def table(self, n_samples: int, classes: Labels, codes: Codes | None = None) -> tuple[FloatArray, Labels]:
        """Return the checked rows, (n, D), and their decisions, classes first: see :func:`row_costs`.

        Of matrices these are the rows of the true classes, whose `codes` are given. No column is of a class that is
        none of these, where columns have no names; one that has another name is a decision.
        """
        table, named = self.values, not self.classes
        places = None if codes is None or named else np.array(match_labels(classes, self.classes))[codes]
        if table.ndim == 3:
            table = self.matrices(n_samples)[np.arange(n_samples), places]
        if table.shape[0] != n_samples:
            raise ValueError(
                f"cost given per sample must have one row per sample: expected {n_samples} rows, got shape "
                f"{table.shape}; pass the costs of exactly these samples, or a table with one row per class."
            )
        if table.shape[1] != len(self.columns):
            raise ValueError(
                f"cost given per sample must have one column per class: expected {len(self.classes)} columns or more "
                f"for the classes {listed(self.classes)}, got shape {table.shape}; give the missing columns, or a "
                "DataFrame with labels."
            )
        order, decisions = _column_order(self.columns, classes, self.classes or classes, as_stated=not named)
        if places is not None and self.columns[: len(self.classes)] == self.classes:
            _check_places(table, places, self.classes)
        if order != list(range(table.shape[1])):
            table = np.ascontiguousarray(table[:, order])
        if len(decisions) < 2:
            raise ValueError(
                f"cost must have two decisions (columns) or more, got {listed(decisions)}: there must be "
                "something to decide."
            )
        check_cells(table, None, decisions)
        return table, decisions


def _numbers_of_matrices(cost: Any) -> FloatArray:
    try:
        with np.errstate(over="ignore"):
            return np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "cost with a matrix for each row must hold numbers only, and matrices of one shape: give an array of them."
        ) from None


def _merely_numbered(names: Labels) -> bool:
    """Return whether columns are called as pandas and polars call those without names."""
    return names in (tuple(range(len(names))), unnamed(len(names)))


def _with_stated(labels: Labels, stated: Any) -> Labels:
    """Return the sorted labels with those that costs name beside them, where they name them all."""
    named = parse(stated)[1] if is_labelled(stated) else None
    if named is None or -1 in match_labels(labels, named):
        return labels
    try:
        return tuple(sorted(labels + named_beside(unmatched(named, labels), named, labels)))
    except TypeError:  # labels of several kinds
        return labels


def costs_per_row(
    cost: Any, n_samples: int, classes: Any, labels: Any = (), stated: Any = None, decisions: Any = (), **beside: Any
) -> CostsPerRow | None:
    """Return costs with a row or a matrix for each sample, None for those that all samples share.

    See :meth:`CostsPerRow.of` for the arguments, and :func:`check_sample_order` for those `beside`.
    """
    if isinstance(cost, CostsPerRow):
        return cost
    if not (has_matrices(cost) or is_per_row(cost, n_samples, len(labels) or len(classes))):
        return None
    check_sample_order(cost, **beside)
    return CostsPerRow.of(cost, classes, labels, stated, decisions)


def costs_of_rows(
    cost: Any, n_samples: int, classes: Any, labels: Any = (), stated: Any = None, decisions: Any = (), **beside: Any
) -> CostMatrix | CostsPerRow | None:
    """Return costs that a user gives for some rows, None where there are none: read once, and in order from then on.

    See :meth:`CostsPerRow.of` for the arguments, and :func:`check_sample_order` for those `beside`.
    """
    if cost is None:
        return None
    if (per_row := costs_per_row(cost, n_samples, classes, labels, stated, decisions, **beside)) is not None:
        return per_row
    check_rows(cost, n_samples, as_labels(labels if len(labels) else classes))
    return stated_cost(cost, classes, labels, decisions, n_samples)


def has_matrices(cost: Any) -> bool:
    """Return whether ``cost`` holds a matrix for every sample, (n, K, D)."""
    return len(cost.values.shape if isinstance(cost, CostsPerRow) else _shape(cost)) == 3


def _check_places(table: FloatArray, truth: IntArray, classes: Labels) -> None:
    """Refuse columns without labels where each class has one column that costs nothing, and not all their own."""
    # As on the diagonal of a table, a right decision mostly is the only one that is free.
    seen = np.unique(truth)
    costly = np.zeros((len(classes), table.shape[1]), dtype=bool)
    np.logical_or.at(costly, truth, table != 0)
    places = order_of_zeros(~costly[seen])
    if places and places != seen.tolist():
        lacking = table.shape[1] > len(classes)
        order = f"they stood in another order than the sorted classes {listed(classes)}"
        raise ValueError(
            f"cost given per sample has {table.shape[1]} columns without labels for the classes "
            f"{listed([classes[k] for k in seen])}, which cost nothing in the columns {listed(places)}, as if "
            f"{'y lacked a class' if lacking else order}: {NAME_THE_COLUMNS}."
        )


def check_sample_order(given: Any, name: str = "cost", **beside: Any) -> None:
    """Refuse what is given for each sample if its row labels are those of the samples in another order.

    Rows are taken by position, as scikit-learn takes all its arguments. Such a table is nearly always one of two that
    has been shuffled without the other, and then every sample would be given the costs of another one. Costs with the
    labels of other samples are refused as well.

    Parameters
    ----------
    given : object
        Costs, labels, weights or groups. Only those of pandas have row labels.
    name : str, default="cost"
        What messages call it.
    **beside : object
        Tables or series with a row for each sample, by the names of their arguments.

    Raises
    ------
    ValueError
        If the labels are unique and the same ones, and not in the same order; or if they differ, and neither are those
        that pandas gives by itself.

    Examples
    --------
    >>> import pandas as pd
    >>> from minrisk.costs.reading import check_sample_order
    >>> check_sample_order(pd.DataFrame({"pay": [0, 9], "refuse": [4, 0]}, [7, 5]), y=pd.Series(["a", "b"], [5, 7]))
    Traceback (most recent call last):
    ValueError: cost must have its rows in the order of y, got other row labels or another order, 7 in row 0 where \
y has 5: pass cost.loc[y.index], or cost.to_numpy() if the rows belong together by position.
    """
    own: Any = getattr(given, "index", None)
    if not hasattr(own, "is_unique"):
        return
    for place, table in beside.items():
        others: Any = getattr(table, "index", None)
        if not hasattr(others, "is_unique") or len(others) != len(own) or own.equals(others):
            continue
        same = own.is_unique and others.is_unique and own.isin(others).all()
        if same or (name == "cost" and not (_is_counted(own) or _is_counted(others))):
            pairs = zip(own.tolist(), others.tolist(), strict=True)
            row, (label, other) = next((row, pair) for row, pair in enumerate(pairs) if pair[0] != pair[1])
            raise ValueError(
                f"{name} must have its rows in the order of {place}, got other row labels or another order, "
                f"{label!r} in row {row} where {place} has {other!r}: pass {name}.loc[{place}.index], or "
                f"{name}.to_numpy() if the rows belong together by position."
            )


def _is_counted(index: Any) -> bool:
    """Return whether these are labels that pandas gives to rows by itself: a range."""
    return type(index).__name__ == "RangeIndex"


def check_rows(cost: Any, n_samples: int, classes: Labels) -> None:
    """Refuse a DataFrame that has neither a row for each sample nor rows that are classes, naming both."""
    if is_frame(cost) and len(cost) != n_samples and is_of_samples(cost, classes):
        raise ValueError(
            f"cost must have a row for each of the {n_samples} samples, got {len(cost)} rows: give the costs of "
            f"exactly these samples, or, if it has a row for each class, CostMatrix(cost) with the labels "
            f"{listed(classes)} among its row labels, which are {listed(cost.index.tolist())}."
        )


def is_of_samples(frame: Any, classes: Labels) -> bool:
    """Return whether the rows of a DataFrame with more rows than classes are no classes.

    That is so if no row label is a class or a decision, or if pandas has merely numbered the rows and not all are.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame(1.0, range(60), [0, 1])
    >>> is_of_samples(rows, (0, 1)), is_of_samples(rows[:2], (0, 1))
    (True, False)
    """
    rows = frame.index.tolist()
    if len(rows) <= len(classes):
        return False
    known = [at >= 0 for at in match_labels(rows, list(dict.fromkeys([*classes, *frame.columns.tolist()])))]
    return not any(known) or (_is_counted(frame.index) and not all(known))
