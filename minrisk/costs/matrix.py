"""CostMatrix: a checked, labelled, read-only table of costs. Rows are true classes, columns are decisions."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from minrisk._cached import cached_property
from minrisk._printable import printable
from minrisk._typing import FloatArray
from minrisk.costs.labels import Labels, as_labels, match_labels, named_beside, refer_labels
from minrisk.costs.tables import Table, avoidable, check_cells, check_diagonal, check_given, is_labelled, parse

_SHOWN_ROWS = 10  # rows and columns of a repr before "..."


@dataclass(frozen=True, eq=False, repr=False, init=False)
class CostMatrix:
    """What each decision costs for each true class: a checked and labelled table that cannot be changed.

    ``values[i, j]`` is what it costs to decide j when the truth is i, for K true classes and D decisions.
    Tables of equal values and labels are equal, and have the same hash.

    Parameters
    ----------
    values : array-like of shape (K, D), DataFrame, dict of dicts, CSV file or CostMatrix
        The costs, finite and 0 or more.
        A DataFrame, a dict ``{true: {decision: cost}}`` and a CSV file bring their labels along.
    classes : sequence of K labels, optional
        Labels of the rows. By default there are none, unless ``values`` brings them.
    decisions : sequence of D labels, optional
        Labels of the columns. By default the classes, and then names for the further columns.
        They must be given if there are fewer columns than classes.
    allow_diagonal : bool, default=False
        Whether a right decision may cost something.

    Attributes
    ----------
    values : ndarray of shape (K, D)
        The costs, float64 and read-only.
    classes : tuple of K labels, or None
        Labels of the rows. Without labels, the rows and the first K columns stand in the order of the sorted classes of
        the data (``estimator.classes_``).
    decisions : tuple of D labels, or None
        Labels of the columns; None if ``classes`` is None.
    shape : tuple of int
        (K, D).
    avoidable : ndarray of shape (K, D)
        Costs above the cheapest decision of each class, scaled by a power of two; decisions depend on nothing else.
    is_even : bool
        Whether all mistakes cost the same and the decisions are the classes.

    Raises
    ------
    ValueError
        If a cell is not a finite number of 0 or more, a right decision costs something without ``allow_diagonal``, a
        label occurs twice, or shapes and labels do not fit together.
    TypeError
        If labels are not an ordered collection of hashable values.
    FileNotFoundError
        If a path leads to no file.

    Notes
    -----
    Decisions that are no class get names if none are given.
    Beside classes that are texts the name is ``"refer"``, or ``"refer_1"``, ``"refer_2"``, … if there are several.
    Beside classes that are numbers (or truth values) the names are -1, -2, …, the first whole numbers below zero that
    are no class, so that arrays of decisions hold numbers only.
    These names mean each other: ``"refer"`` that is given beside numbers becomes -1. Any other label stays as it is.

    Examples
    --------
    >>> from minrisk import CostMatrix
    >>> cost = CostMatrix([[0, 1], [5, 0]], classes=["healthy", "ill"])
    >>> cost
    CostMatrix: 2 true classes (rows) x 2 decisions (columns)
             healthy  ill
    healthy        0    1
    ill            5    0
    >>> float(cost.values[1, 0])
    5.0
    >>> CostMatrix([[0, 1, 0.5], [5, 0, 0.5]], classes=["healthy", "ill"]).decisions
    ('healthy', 'ill', 'refer')
    >>> CostMatrix([[0, 1, 0.5], [5, 0, 0.5]], classes=[0, 1]).decisions
    (0, 1, -1)
    """

    values: FloatArray
    classes: Labels | None
    decisions: Labels | None
    _graded: bool  # without labels, but for classes from the lowest to the highest, see `graded`

    def __init__(self, values: Any, classes: Any = None, decisions: Any = None, allow_diagonal: bool = False) -> None:
        labelled = is_labelled(values) or (isinstance(values, CostMatrix) and values.classes is not None)
        if labelled and (classes is not None or decisions is not None):
            raise ValueError(
                "classes and decisions must be left out when the table has labels of its own, got both: "
                "rename the table's labels, or pass its numbers alone."
            )
        if isinstance(values, CostMatrix):
            source = Table(values.values, values.classes, values.decisions)
        else:
            source = parse(values)
        numbers = source.values + 0.0  # a copy of our own, with -0.0 turned into 0.0
        table = source._replace(values=numbers) if labelled else _labelled(numbers, classes, decisions)
        table = _with_default_names(table)
        _check_shape(table)
        check_given(table)
        check_cells(table.values, table.classes, table.decisions)
        if not allow_diagonal:
            check_diagonal(table, by_position=not labelled)
        numbers.flags.writeable = False
        object.__setattr__(self, "values", numbers)
        object.__setattr__(self, "classes", table.classes)
        object.__setattr__(self, "decisions", table.decisions)
        object.__setattr__(self, "_graded", table.classes is None and getattr(values, "_graded", False))

    @property
    def shape(self) -> tuple[int, int]:
        """(K, D): the number of true classes and of decisions."""
        return self.values.shape[0], self.values.shape[1]

    @cached_property
    def avoidable(self) -> FloatArray:
        """Costs above the cheapest decision of each class, (K, D), scaled so that the largest is from 1/2 to 1.

        The factor is a power of two. Decisions depend on nothing else.
        """
        return avoidable(self.values)

    @cached_property
    def is_even(self) -> bool:
        """Whether all mistakes cost the same and the decisions are the classes: then the likeliest class is decided."""
        costs, K = self.avoidable, self.shape[0]
        one = costs[0, -1]
        return costs.shape == (K, K) and bool(one > 0.0 and np.array_equal(costs, one * (1.0 - np.eye(K))))

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame, with labels, or numbered if there are none.

        Returns
        -------
        pandas.DataFrame
            K rows, whose index is named ``"true"``, and D columns. ``to_frame().to_csv(path)`` writes what
            :func:`minrisk.costs.read_cost` reads.

        Raises
        ------
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> from minrisk import CostMatrix
        >>> frame = CostMatrix([[0, 1], [5, 0]], classes=["healthy", "ill"]).to_frame()
        >>> float(frame.loc["ill", "healthy"])
        5.0
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise ImportError("A DataFrame needs pandas, which cannot be imported: pip install pandas.") from None
        names = range(self.shape[0]) if self.classes is None else list(self.classes)
        index = pandas.Index(names, name="true")
        columns = None if self.decisions is None else pandas.Index(list(self.decisions))
        return pandas.DataFrame(self.values.copy(), index=index, columns=columns)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False and dtype is not None and np.dtype(dtype) != self.values.dtype:
            raise ValueError(f"cost is float64 and must be copied to become {np.dtype(dtype)}: leave out copy=False.")
        if dtype is None or np.dtype(dtype) == self.values.dtype:
            return self.values.copy() if copy else self.values
        return self.values.astype(dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CostMatrix):
            return NotImplemented
        labels_agree = self.classes == other.classes and self.decisions == other.decisions
        return labels_agree and self._graded == other._graded and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.shape, self.values.tobytes(), self.classes, self.decisions))

    def __copy__(self) -> CostMatrix:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CostMatrix:
        return self  # it cannot change

    def __reduce__(self) -> tuple[Any, ...]:
        return of_checked, (self.values, self.classes, self.decisions, self._graded)

    def __repr__(self) -> str:
        n_classes, n_decisions = self.shape
        rows, columns = min(n_classes, _SHOWN_ROWS), min(n_decisions, _SHOWN_ROWS)
        header = [printable(str(label)) for label in (self.decisions or range(n_decisions))[:columns]]
        names = [printable(str(label)) for label in (self.classes or range(n_classes))[:rows]]
        lines = [["", *header]]
        for name, row in zip(names, self.values[:rows, :columns], strict=True):
            lines.append([name, *(f"{entry:g}" for entry in row)])
        if columns < n_decisions:
            lines = [[*line, "..."] for line in lines]
        if rows < n_classes:
            lines.append(["..."] * len(lines[0]))
        widths = [max(len(line[j]) for line in lines) for j in range(len(lines[0]))]
        padded = [[line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])] for line in lines]
        order = "from the lowest class to the highest" if self._graded else "in the order of the sorted classes"
        kind = "" if self.classes is not None else f", without labels: {order}"
        title = f"CostMatrix: {n_classes} true classes (rows) x {n_decisions} decisions (columns){kind}"
        return "\n".join([title, *("  ".join(line) for line in padded)])


def graded(matrix: CostMatrix) -> CostMatrix:
    """Return a cost without labels as one for classes from the lowest to the highest.

    Numbers are in order by themselves; of texts somebody must say it, and :func:`minrisk.costs.as_cost` asks.
    """
    object.__setattr__(matrix, "_graded", matrix.classes is None)
    return matrix


def of_checked(
    values: FloatArray, classes: Labels | None, decisions: Labels | None, is_graded: bool = False
) -> CostMatrix:
    """Return parts of a checked cost as a cost."""
    matrix = object.__new__(CostMatrix)
    own = np.array(values, dtype=np.float64, order="C")
    own.flags.writeable = False
    for name, value in (("values", own), ("classes", classes), ("decisions", decisions), ("_graded", is_graded)):
        object.__setattr__(matrix, name, value)
    return matrix


def _with_default_names(table: Table) -> Table:
    """Call decisions that are no class as they are called beside these classes."""
    if table.classes is None or table.decisions is None:
        return table
    known = match_labels(table.decisions, table.classes)
    others = tuple(label for label, at in zip(table.decisions, known, strict=True) if at < 0)
    names = iter(named_beside(others, table.classes, table.classes))
    decisions = (label if at >= 0 else next(names) for label, at in zip(table.decisions, known, strict=True))
    return table._replace(decisions=tuple(decisions))


def _labelled(values: FloatArray, classes: Any, decisions: Any) -> Table:
    """Give a bare table its labels: decisions are by default the classes, then "refer" ones."""
    n_classes, n_decisions = values.shape
    if classes is None and decisions is not None:
        raise ValueError("classes must be given along with decisions, got only decisions: label the rows as well.")
    if decisions is None and n_decisions < n_classes:
        raise ValueError(
            f"cost without labels must have one column per class or more, got {n_classes} rows (true "
            f"classes) and only {n_decisions} columns (decisions): pass CostMatrix(values, classes=..., "
            f"decisions=...), a DataFrame or a dict."
        )
    if classes is None:
        return Table(values, None, None)
    rows = _fitting(classes, n_classes, "classes", "row")
    if decisions is not None:
        return Table(values, rows, _fitting(decisions, n_decisions, "decisions", "column"))
    columns = as_labels(rows + refer_labels(n_decisions - n_classes, rows), "the decisions (classes, then refer)")
    return Table(values, rows, columns)


def _fitting(labels: Any, count: int, what: str, line: str) -> Labels:
    found = as_labels(labels, what)
    if len(found) != count:
        raise ValueError(
            f"{what} must hold one label per {line} of cost, got {len(found)} labels for {count} {line}s: "
            f"make them as many."
        )
    return found


def _check_shape(table: Table) -> None:
    n_classes, n_decisions = table.values.shape
    if n_classes < 1 or n_decisions < 2:
        raise ValueError(
            f"cost must have one row or more and two decisions (columns) or more, got shape "
            f"{table.values.shape}: there must be something to decide."
        )
