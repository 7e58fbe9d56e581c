"""Raw tables: any description of costs taken apart into numbers and labels, and the checks of the numbers.

Nothing here knows about a data set; aligning a table to the classes of one is :mod:`minrisk.costs.reading`'s
task.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minrisk._callers import warn_caller
from minrisk._typing import FloatArray
from minrisk.costs.files import cost_cells, read_file
from minrisk.costs.labels import Labels, as_labels, label_text, listed, match_labels
from minrisk.data.delimiters import separated_by

# what messages call the labels of either side
_TRUE_CLASSES = "the true classes (rows) of cost"
_DECISIONS = "the decisions (columns) of cost"


class Table(NamedTuple):
    """Numbers with the labels that came along; ``classes`` and ``decisions`` are both None or both given."""

    values: FloatArray  # (K, D)
    classes: Labels | None
    decisions: Labels | None


def is_frame(cost: Any) -> bool:
    """Return whether ``cost`` looks like a pandas DataFrame, without importing pandas."""
    return all(hasattr(cost, name) for name in ("columns", "index", "to_numpy"))


def unnamed(count: int) -> Labels:
    """Names that polars gives to columns without any."""
    return tuple(f"column_{j}" for j in range(count))


def is_series(values: Any) -> bool:
    """Return whether ``values`` looks like a pandas Series, without importing pandas."""
    return all(hasattr(values, name) for name in ("items", "index", "to_numpy")) and not is_frame(values)


def column_names(cost: Any) -> Labels | None:
    """Return the labels of the columns of a pandas, polars or Arrow table, None for an array."""
    if is_frame(cost):
        return frame_labels(cost.columns, _DECISIONS)
    named = getattr(cost, "column_names", None) or (hasattr(cost, "to_numpy") and getattr(cost, "columns", None))
    return as_labels(named, _DECISIONS) if named else None


class NamedColumns:
    """An array of costs per row, (n, D) or (n, K, D), whose columns are read as those of any array and then named."""

    def __init__(self, values: Any, decisions: Labels) -> None:
        self.values, self.decisions = np.asarray(values), decisions
        self.shape, self.ndim = self.values.shape, self.values.ndim

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.values, dtype)


def is_labelled(cost: Any) -> bool:
    """Return whether ``cost`` is of a kind that carries the labels of its rows and columns."""
    return isinstance(cost, (str, os.PathLike, Mapping)) or is_frame(cost)


def parse(cost: Any) -> Table:
    """Take a file, a dict of dicts, a DataFrame or a table of numbers apart into a :class:`Table`."""
    if isinstance(cost, (str, os.PathLike)):
        return _from_file(Path(cost))
    if isinstance(cost, Mapping):
        return _from_mapping(cost)
    if is_frame(cost):
        classes, decisions = frame_labels(cost.index, _TRUE_CLASSES), frame_labels(cost.columns, _DECISIONS)
        return Table(as_numbers(cost, classes, decisions), classes, decisions)
    columns = column_names(cost)
    if columns is not None and columns != unnamed(len(columns)):
        raise ValueError(
            f"cost must name its rows as well as its columns {listed(columns)}, which a {type(cost).__name__} cannot: "
            "pass CostMatrix(cost.to_numpy(), classes=[...], decisions=[...]) or a pandas DataFrame with an index."
        )
    return Table(as_numbers(cost), None, None)


def frame_labels(labels: Any, what: str) -> Labels:
    """Return the labels of a frame's rows or columns, which must be of one level."""
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


def avoidable(costs: FloatArray) -> FloatArray:
    """A table (K, D), or tables (n, K, D), less the least entry of each row, times a power of two for each table.

    Decisions depend on nothing else. The factor is exact; it brings a table's largest entry between 1/2 and 1, which
    keeps sums from overflowing.

    Examples
    --------
    >>> avoidable(np.array([[300.0, 301.0], [302.0, 300.0]]))
    array([[0.  , 0.25],
           [0.5 , 0.  ]])
    """
    scaled = _near_one(costs)
    scaled -= scaled.min(axis=-1, keepdims=True)
    return _near_one(scaled)


def _near_one(tables: FloatArray) -> FloatArray:
    """Times a power of two for each table."""
    size = np.abs(tables).max(axis=(-2, -1), keepdims=True, initial=0.0)
    return np.asarray(np.ldexp(tables, -np.frexp(size)[1]))


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


def check_given(table: Table) -> None:
    """Raise a ValueError that names the first correct decision whose cost is NaN, as where a diagonal is left empty."""
    for i, j in zip(*same_label_cells(table), strict=True):
        if np.isnan(table.values[i, j]):
            raise ValueError(
                f"{cell(i, j, table.classes, table.decisions)} is the cost of a correct decision and must be a "
                "number, got nan: set it to 0."
            )


def not_finite(name: str, value: float) -> str:
    """The message about a cell that is NaN or infinite."""
    way = "give the cost that is missing; " if np.isnan(value) else ""
    return f"{name} must be a finite number, got {value}: {way}a decision never to be taken gets a large finite cost."


def check_cells(values: FloatArray, rows: Labels | None, columns: Labels | None) -> None:
    """Raise a ValueError that names the first cell not finite or below zero.

    A row of zeros is a row like any other whose decisions all cost the same: it has no say in them.
    """
    if values.size == 0:
        return
    least = values.min()  # nan and inf survive the maximum, -inf and negative numbers the minimum
    if not np.isfinite(values.max()) or not np.isfinite(least):
        i, j = np.argwhere(~np.isfinite(values))[0].tolist()
        raise ValueError(not_finite(cell(i, j, rows, columns), values[i, j]))
    if least < 0:
        i, j = np.argwhere(values < 0)[0].tolist()
        raise ValueError(
            f"{cell(i, j, rows, columns)} must be zero or more, got {values[i, j]:g}: "
            f"write a gain as a smaller cost, by adding a constant to its row."
        )


def check_diagonal(table: Table, by_position: bool = False) -> None:
    """Raise a ValueError that names the first correct decision that costs something.

    The numbers of a table `by_position` came without labels, so that its rows and columns may be in different orders.
    """
    rows, columns = same_label_cells(table)
    for i, j in zip(rows, columns, strict=True):
        if table.values[i, j] != 0:
            raise ValueError(
                f"{cell(i, j, table.classes, table.decisions)} is the cost of a correct decision and must be "
                f"0, got {table.values[i, j]:g}: {_reordered(table) if by_position else ''}set it to 0, or allow it "
                "with CostMatrix(..., allow_diagonal=True)."
            )


def _reordered(table: Table) -> str:
    """What to do if each class has its only 0 in a column of its own, but not on the diagonal; else nothing."""
    free = table.values[:, : len(table.values)] == 0
    if free.shape[0] != free.shape[1] or (free.sum(axis=0) != 1).any() or (free.sum(axis=1) != 1).any():
        return ""
    classes = range(len(free)) if table.classes is None else table.classes
    own = [classes[i] for i in free.argmax(axis=0).tolist()]
    return (
        f"the zeros stand as if the rows were in the order {listed(classes)} and the columns in the order "
        f"{listed(own)}, so give both in one order, or "
    )


def same_label_cells(table: Table) -> tuple[list[int], list[int]]:
    """Return the cells (rows, columns) where the decision is the true class."""
    if table.classes is None or table.decisions is None:
        n_classes = table.values.shape[0]
        return list(range(n_classes)), list(range(n_classes))
    columns = match_labels(table.classes, table.decisions)
    rows = [i for i, column in enumerate(columns) if column >= 0]
    return rows, [columns[i] for i in rows]


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
    values = np.empty((len(classes), len(decisions)))
    for i, row in enumerate(cost.values()):
        for j, decision in enumerate(decisions):
            if decision in row:
                values[i, j] = _number(row[decision], i, j, classes, decisions)
            elif label_text(decision) == label_text(classes[i]):  # the correct decision may be left out
                values[i, j] = 0.0
            else:
                raise ValueError(
                    f"{cell(i, j, classes, decisions)} must be given, got only the decisions "
                    f"{listed(list(row))} for {classes[i]!r}: add the missing cost."
                )
    return Table(values, classes, decisions)


def _from_file(path: Path) -> Table:
    """Read a file whose header names the decisions and whose first column names the true classes."""

    def named(true: str, decision: str) -> str:
        return f"cost[{true!r}, {decision!r}] in {path}"

    text = read_file(path)
    found = cost_cells(text.content, str(path), text.delimiter, named, first=text.first)
    if found.doubtful is not None:
        from minrisk.data.column_report import DataWarning

        warn_caller(
            f"{path} is {separated_by(found.delimiter)}, and {found.doubtful}: write its costs without marks between "
            "thousands if another number is meant.",
            DataWarning,
        )
    classes = as_labels([cell.strip() for cell in found.classes], f"the true classes (first column) of {path}")
    decisions = as_labels([cell.strip() for cell in found.decisions], f"the decisions (header) of {path}")
    return Table(found.values, classes, decisions)
