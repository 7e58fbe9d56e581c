"""CostMatrix: a checked, labelled, read-only table of costs, and the checks of tables that it is made of."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from minrisk._typing import FloatArray
from minrisk._utils import cached_property
from minrisk._utils.packages import library
from minrisk._utils.text import printable
from minrisk.costs.files import read_file
from minrisk.costs.labels import (
    Labels,
    as_labels,
    default_decisions,
    label_text,
    listed,
    match_labels,
    named_beside,
    unmatched,
)
from minrisk.costs.units import avoidable

_SHOWN_ROWS = 10  # rows and columns of a repr before "..."
_TRUE_CLASSES = "the true classes (rows) of cost"
_DECISIONS = "the decisions (columns) of cost"

Table = tuple[FloatArray, Labels | None, Labels | None]  # costs (K, D); labels of rows and of columns: both or none


def are_even(costs: FloatArray) -> bool:
    """Tell whether of costs (K, D) all mistakes cost the same, right decisions nothing, and decisions are classes."""
    K, one = len(costs), costs[0, -1]
    return costs.shape == (K, K) and bool(one > 0.0 and np.array_equal(costs, one * (1.0 - np.eye(K))))


@dataclass(frozen=True, eq=False, repr=False, init=False)
class CostMatrix:
    """Hold what each decision costs for each true class, in a checked and labelled table that cannot be changed.

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
    _graded: bool  # without labels, but for classes from the lowest to the highest, see `_from_lowest`

    def __init__(self, values: Any, classes: Any = None, decisions: Any = None, allow_diagonal: bool = False) -> None:
        costs, rows, columns = parse(values)
        if rows is not None and (classes is not None or decisions is not None):
            raise ValueError(
                "classes and decisions must be left out when the table has labels of its own, got both: "
                "rename the table's labels, or pass its numbers alone."
            )
        costs = costs + 0.0  # a copy of our own, with -0.0 turned into 0.0
        if rows is None:
            rows, columns = _labels_of_bare(costs.shape, classes, decisions)
        if rows is not None and columns is not None:
            others = iter(named_beside(unmatched(columns, rows), rows, rows))
            known = match_labels(columns, rows)
            columns = tuple(label if at >= 0 else next(others) for label, at in zip(columns, known, strict=True))
        n_classes, n_decisions = costs.shape
        if n_classes < 1 or n_decisions < 2:
            raise ValueError(
                f"cost must have one row or more and two decisions (columns) or more, got shape {costs.shape}: there "
                "must be something to decide."
            )
        places = range(n_classes) if rows is None or columns is None else match_labels(rows, columns)
        own = [(i, j) for i, j in enumerate(places) if j >= 0]  # where the decision is the true class
        for i, j in own:
            if np.isnan(costs[i, j]):  # as where a diagonal is left empty
                raise ValueError(
                    f"{cell(i, j, rows, columns)} is the cost of a correct decision and must be a number, got nan: "
                    "set it to 0."
                )
        check_cells(costs, rows, columns)
        for i, j in () if allow_diagonal else own:
            if costs[i, j] != 0:
                raise ValueError(
                    f"{cell(i, j, rows, columns)} is the cost of a correct decision and must be 0, got "
                    f"{costs[i, j]:g}: {_other_order(costs, rows, columns)}set it to 0, or allow it with "
                    "CostMatrix(..., allow_diagonal=True)."
                )
        self._set(costs, rows, columns, rows is None and getattr(values, "_graded", False))

    @classmethod
    def _of_checked(
        cls, values: FloatArray, classes: Labels | None, decisions: Labels | None, is_graded: bool = False
    ) -> CostMatrix:
        """Make one of costs and labels that have been checked."""
        matrix = object.__new__(cls)
        matrix._set(np.array(values, dtype=np.float64, order="C"), classes, decisions, is_graded)
        return matrix

    def _set(self, values: FloatArray, classes: Labels | None, decisions: Labels | None, is_graded: bool) -> None:
        values.flags.writeable = False
        vars(self).update(values=values, classes=classes, decisions=decisions, _graded=is_graded)  # the class is frozen

    def _from_lowest(self) -> CostMatrix:
        """Return these costs, without labels, as costs of classes from the lowest to the highest.

        Numbers are in order by themselves; of texts somebody must say it, and :func:`minrisk.costs.as_cost` asks.
        """
        return CostMatrix._of_checked(self.values, self.classes, self.decisions, self.classes is None)

    @property
    def shape(self) -> tuple[int, int]:
        """(K, D): the number of true classes and of decisions."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def _labels(self) -> tuple[Labels, Labels]:
        """The classes and the decisions, of a table that has labels."""
        assert self.classes is not None and self.decisions is not None
        return self.classes, self.decisions

    @cached_property
    def avoidable(self) -> FloatArray:
        """Costs above the cheapest decision of each class, (K, D), scaled so that the largest is from 1/2 to 1.

        The factor is a power of two. Decisions depend on nothing else.
        """
        return avoidable(self.values)

    @cached_property
    def is_even(self) -> bool:
        """Whether all mistakes cost the same and the decisions are the classes: then the likeliest class is decided."""
        return are_even(self.avoidable)

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
        pandas = library("pandas", "cli", "A DataFrame needs")
        rows = pandas.Index(range(self.shape[0]) if self.classes is None else list(self.classes), name="true")
        return pandas.DataFrame(self.values.copy(), rows, None if self.decisions is None else list(self.decisions))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)  # type: ignore[call-overload, no-any-return]

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
        return CostMatrix._of_checked, (self.values, self.classes, self.decisions, self._graded)

    def __repr__(self) -> str:
        (n_classes, n_decisions), most = self.shape, _SHOWN_ROWS
        table = [["", *(self.decisions or range(n_decisions))[:most]]]
        for name, row in zip((self.classes or range(n_classes))[:most], self.values, strict=False):
            table.append([name, *(f"{entry:g}" for entry in row[:most])])
        if n_decisions > most:
            table = [[*line, "..."] for line in table]
        if n_classes > most:
            table.append(["..."] * len(table[0]))
        lines = [[printable(str(entry)) for entry in line] for line in table]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = [[line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])] for line in lines]
        order = "from the lowest class to the highest" if self._graded else "in the order of the sorted classes"
        kind = "" if self.classes is not None else f", without labels: {order}"
        title = f"CostMatrix: {n_classes} true classes (rows) x {n_decisions} decisions (columns){kind}"
        return "\n".join([title, *("  ".join(line) for line in padded)])


def is_frame(cost: Any) -> bool:
    """Return whether ``cost`` looks like a pandas DataFrame, without importing pandas."""
    return all(hasattr(cost, name) for name in ("columns", "index", "to_numpy"))


def is_series(values: Any) -> bool:
    """Return whether ``values`` looks like a pandas Series, without importing pandas."""
    return all(hasattr(values, name) for name in ("items", "index", "to_numpy")) and not is_frame(values)


def is_labelled(cost: Any) -> bool:
    """Return whether ``cost`` carries the labels of its rows and columns."""
    if isinstance(cost, CostMatrix):
        return cost.classes is not None
    return isinstance(cost, (str, os.PathLike, Mapping)) or is_frame(cost)


def column_names(cost: Any) -> Labels | None:
    """Return the labels of the columns of a pandas, polars or Arrow table, None for an array."""
    if is_frame(cost):
        return _of_one_level(cost.columns, _DECISIONS)
    named = getattr(cost, "column_names", None) or (hasattr(cost, "to_numpy") and getattr(cost, "columns", None))
    return as_labels(named, _DECISIONS) if named else None


def unnamed(count: int) -> Labels:
    """Return the names that polars gives to columns without any."""
    return tuple(f"column_{j}" for j in range(count))


def parse(cost: Any) -> Table:
    """Return the numbers and labels of a CostMatrix, file, dict of dicts, DataFrame or table of numbers."""
    if isinstance(cost, CostMatrix):
        return cost.values, cost.classes, cost.decisions
    if isinstance(cost, (str, os.PathLike)):
        return read_file(Path(cost))
    if isinstance(cost, Mapping):
        return _from_mapping(cost)
    columns = column_names(cost)
    if is_frame(cost):
        rows = _of_one_level(cost.index, _TRUE_CLASSES)
        return as_numbers(cost, rows, columns), rows, columns
    if columns is not None and columns != unnamed(len(columns)):
        raise ValueError(
            f"cost must name its rows as well as its columns {listed(columns)}, which a {type(cost).__name__} cannot: "
            "pass CostMatrix(cost.to_numpy(), classes=[...], decisions=[...]) or a pandas DataFrame with an index."
        )
    return as_numbers(cost), None, None


def _of_one_level(labels: Any, what: str) -> Labels:
    if getattr(labels, "nlevels", 1) > 1:
        way = 'cost.droplevel(0, axis="columns")' if what == _DECISIONS else "cost.droplevel(0)"
        raise ValueError(
            f"{what} must have one label each, got a MultiIndex of {labels.nlevels} levels: keep one of them, for "
            f"example by {way}."
        )
    return as_labels(labels, what)


def as_numbers(cost: Any, rows: Labels | None = None, columns: Labels | None = None) -> FloatArray:
    """Return ``cost`` as a C-ordered float64 table, itself if it is one, or say which cell is no number."""
    try:
        raw = np.asarray(cost)
    except ValueError:
        raise ValueError(
            "cost must be a table of numbers, got rows of different lengths: give every row one cost per decision."
        ) from None
    if raw.ndim != 2:
        pairs = is_series(cost) and getattr(cost.index, "nlevels", 1) == 2
        raise ValueError(
            f"cost must be 2-d (one row per true class, one column per decision), got {type(cost).__name__} "
            f"with {raw.ndim} dimension{'' if raw.ndim == 1 else 's'}: give a table such as [[0, 1], [5, 0]]"
            f"{', here by cost.unstack() if its index has a class and a decision for each cost' if pairs else ''}."
        )
    if raw.dtype.kind in "biuf":
        with np.errstate(over="ignore"):  # of longer floats, which are then refused as infinite
            return np.ascontiguousarray(raw, dtype=np.float64)
    if raw.dtype.kind in "US" and not isinstance(cost, np.ndarray):
        raw = np.asarray(cost, dtype=object)  # among strings NumPy writes the numbers as strings too
    values = np.empty(raw.shape)
    for i, j in np.ndindex(*raw.shape):
        values[i, j] = _number(raw[i, j], i, j, rows, columns)
    return values


def cell(i: int, j: int, rows: Labels | None = None, columns: Labels | None = None) -> str:
    """Return the name of a cell: by label where there are labels, else by position.

    Examples
    --------
    >>> cell(1, 2), cell(0, 1, ("knife", "bottle"), ("knife", "bottle"))
    ('cost[1, 2]', "cost['knife', 'bottle']")
    """
    row = i if rows is None else rows[i]
    column = j if columns is None else columns[j]
    return f"cost[{row!r}, {column!r}]"


def check_cells(values: FloatArray, rows: Labels | None = None, columns: Labels | None = None) -> None:
    """Raise a ValueError that names the first cell not finite or below zero, of a table or of matrices (n, K, D).

    A row of zeros is a row like any other whose decisions all cost the same: it has no say in them.
    """
    least, most = values.min(initial=0.0), values.max(initial=0.0)  # -inf and nan survive the one, inf the other
    is_finite = bool(np.isfinite(least) and np.isfinite(most))
    if is_finite and least >= 0.0:
        return
    place = np.argwhere(values < 0.0 if is_finite else ~np.isfinite(values))[0].tolist()
    name = f"cost{place}" if len(place) == 3 else cell(place[0], place[1], rows, columns)
    value = values[tuple(place)]
    if is_finite:
        raise ValueError(
            f"{name} must be zero or more, got {value:g}: write a gain as a smaller cost, by adding a constant to its "
            "row."
        )
    way = "give the cost that is missing; " if np.isnan(value) else ""
    raise ValueError(
        f"{name} must be a finite number, got {value}: {way}a decision never to be taken gets a large finite cost."
    )


def order_of_zeros(is_free: npt.NDArray[np.bool_]) -> list[int]:
    """Return the column of each row's only 0 if these columns differ, so that they may be in another order; else []."""
    if (is_free.sum(axis=1) != 1).any() or (is_free.sum(axis=0) > 1).any():
        return []
    return [int(j) for j in is_free.argmax(axis=1)]


def _other_order(costs: FloatArray, rows: Labels | None, columns: Labels | None) -> str:
    """Return what to do where zeros stand as if rows and columns were in different orders, else nothing."""
    free = costs == 0
    places = order_of_zeros(free) if free.shape[0] == free.shape[1] and rows == columns else []
    if not places:
        return ""
    names = range(len(costs)) if rows is None else rows
    by_column = [names[i] for i in np.argsort(places)]
    return (
        f"the zeros stand as if the rows were in the order {listed(names)} and the columns in the order "
        f"{listed(by_column)}, so give both in one order, or "
    )


def _labels_of_bare(shape: tuple[int, ...], classes: Any, decisions: Any) -> tuple[Labels, Labels] | tuple[None, None]:
    """Return the labels of a table without: decisions are by default the classes, then "refer" ones."""
    n_classes, n_decisions = shape
    if classes is None and decisions is not None:
        raise ValueError("classes must be given along with decisions, got only decisions: label the rows as well.")
    if decisions is None and n_decisions < n_classes:
        raise ValueError(
            f"cost without labels must have one column per class or more, got {n_classes} rows (true "
            f"classes) and only {n_decisions} columns (decisions): pass CostMatrix(values, classes=..., "
            f"decisions=...), a DataFrame or a dict."
        )
    if classes is None:
        return None, None
    rows = as_labels(classes)
    columns = None if decisions is None else as_labels(decisions, "decisions")
    both = (rows, n_classes, "classes", "row"), (columns, n_decisions, "decisions", "column")
    for given, count, what, line in both:
        if given is not None and len(given) != count:
            raise ValueError(
                f"{what} must hold one label per {line} of cost, got {len(given)} labels for {count} {line}s: "
                f"make them as many."
            )
    return rows, default_decisions(rows, n_decisions) if columns is None else columns


def _number(value: Any, i: int, j: int, rows: Labels | None, columns: Labels | None) -> float:
    hint = "give every cell a number"
    if isinstance(value, str) and j == 0 and columns is not None:
        hint += ", and read a file whose first column names the classes with index_col=0"
    if not isinstance(value, (str, bytes, complex)):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    shown = value.item() if isinstance(value, np.generic) else value
    raise ValueError(f"{cell(i, j, rows, columns)} must be a number, got {shown!r}: {hint}.")


def _from_mapping(cost: Mapping[Any, Any]) -> Table:
    for label, row in cost.items():
        if not isinstance(row, Mapping):
            raise TypeError(
                f"cost given as a dict must be a dict of dicts {{true: {{decision: cost}}}}, "
                f"got {type(row).__name__} for {label!r}: write {{{label!r}: {{decision: cost, ...}}}}."
            )
    classes = as_labels(cost, _TRUE_CLASSES)
    decisions = as_labels(dict.fromkeys(decision for row in cost.values() for decision in row), _DECISIONS)
    values = np.zeros((len(classes), len(decisions)))
    for i, row in enumerate(cost.values()):
        for j, decision in enumerate(decisions):
            if decision in row:
                values[i, j] = _number(row[decision], i, j, classes, decisions)
            elif label_text(decision) != label_text(classes[i]):  # a correct decision, which is free, may be left out
                raise ValueError(
                    f"{cell(i, j, classes, decisions)} must be given, got only the decisions "
                    f"{listed(list(row))} for {classes[i]!r}: add the missing cost."
                )
    return values, classes, decisions
