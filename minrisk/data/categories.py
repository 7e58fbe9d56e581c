"""Columns of categories as numbers that trees split; which columns hold dates, that become numbers.

Columns of text and of types for categories are categories, and those that the caller names. A column of V categories
becomes its codes 0..V-1, in place, and more columns after all others: for few values one for each, which is 1 in its
rows; for many values the shares that the classes have among its rows. Categories that are ordered are their codes only.

In training the shares of a row are those of the rows before it, in a random order (Prokhorenkova et al., "CatBoost:
unbiased boosting with categorical features", 2018), and the first row of a value is as one whose value is not known. So
a row is told what a new one would be, and its features say nothing of its class. Shares of all other rows, or of those
in other folds, would: of a value's rows, those of a class are told the less of it the more of them there are, and codes
tell the value. The random order depends on what rows hold: the order in which rows, columns and classes are given does
not matter. Of values that one row alone has, nothing is learnt.

Codes of ordered categories follow the order of the dtype, values without rows included; truth values are 0 and 1. Codes
of others follow how frequent the values are in training, the rarest first, which is not learnt from classes and so
deceives no learner. So neither the names of values, nor the order in which a dtype lists them, nor what else it lists
makes a difference. Equally frequent values stand as the rest of their rows says, then by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse

from minrisk._kernels.functions import log
from minrisk._typing import FloatArray, IntArray, Keys, Labels
from minrisk._utils import cached_property
from minrisk._utils.algebra import eigenvectors, product
from minrisk._utils.text import short
from minrisk.data.binning import EXACT_BITS
from minrisk.data.frames import (
    CATEGORICAL,
    DAY_ROLES,
    EXACT_BELOW,
    NUMBER,
    CodedCells,
    Column,
    Frame,
    described,
    in_days,
    is_missing,
    plain,
    role_of,
)
from minrisk.data.labels import KEPT_NUMBERS, is_kept, is_label, shown
from minrisk.data.row_blocks import AddedColumns, CodedRows, rows_of_table
from minrisk.data.row_keys import first_of_equals, numbered_keys, odd_numbers, row_keys
from minrisk.data.sparse import DENSE_VALUES

FROM_DTYPE = "from_dtype"  # of `categorical_features`: none but those that types of columns tell
FEW_VALUES = 10  # of which each has a column
CATEGORIES_AS_TEXTS = {  # how the categories of a column become texts
    "pandas": "X[{name!r}] = X[{name!r}].cat.rename_categories(str)",
    "polars": "pl.col({name!r}).cast(pl.String).cast(pl.Categorical)",
    "pyarrow": 'X.column({name!r}).cast("string").dictionary_encode()',
}
PRIOR = 10.0  # rows that the shares of all rows count as, beside those of a value
MOST_SHARES = 10  # columns of shares: with more classes, the directions in which values differ most
SAYS_NOTHING = 1e-3  # rows before it as heavy as a row: so few say nothing of its value
SHARE_STEP = 2.0**-18  # of shares, which are the same where a millionth of a weight alone tells them apart


class Unseen(NamedTuple):
    """Cells whose values fit has not seen."""

    name: str  # of the column
    n_rows: int
    example: Any


class DayColumn(NamedTuple):
    """A column of dates, durations or times of day, which are numbers of days."""

    position: int  # in X
    role: str


@dataclass(frozen=True, eq=False)
class Category:
    """A column of categories."""

    position: int  # in X
    name: str
    values: tuple[Any, ...]  # code k is the k-th
    ordered: bool = False
    table: FloatArray = field(default_factory=lambda: np.empty((1, 0)))  # (V + 1, m) numbers added; last: missing

    def codes(self, column: Column) -> tuple[FloatArray, Unseen | None]:
        """Return codes of a column of a table, (n,), NaN for what is missing or unknown; and what is unknown.

        Raises
        ------
        ValueError
            If it holds numbers where the values are text, or the other way round.
        """
        given = column.coded()
        texts = {isinstance(value, str) for value in self.values}
        known = [value for value in given.values if not is_missing(value)]
        if known and len(texts) == 1 and texts.isdisjoint(isinstance(value, str) for value in known):
            raise ValueError(
                f"column {self.name!r} of X must hold categories such as {self.values[0]!r}, as in fit, "
                f"got {known[0]!r}."
            )
        codes = _recoded(given, self.values)
        rows = np.flatnonzero(np.isnan(codes) & (given.codes >= 0))
        if not len(rows):
            return codes, None
        return codes, Unseen(self.name, len(rows), given.values[given.codes[rows[0]]])

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {value: k for k, value in enumerate(self.values)}

    def place_of(self, cell: Any) -> float:
        """Return the code of a cell; raises where its value is not known."""
        return np.nan if is_missing(cell) else self._places[cell]

    def of_rows(self, codes: FloatArray, weight: FloatArray) -> tuple[Category, FloatArray]:
        """Return it with the values that rows of some weight hold, and the codes of all rows; as it is if ordered."""
        if self.ordered:
            return self, codes
        used = np.unique(codes[(weight > 0) & ~np.isnan(codes)]).astype(np.int64)
        code = np.full(len(self.values) + 1, np.nan)
        code[used] = np.arange(len(used))
        return replace(self, values=tuple(self.values[k] for k in used)), code[self.rows(codes)]

    def rows(self, codes: FloatArray) -> IntArray:
        """Return rows of the table."""
        return rows_of_table(codes, len(self.values))


@dataclass(frozen=True, eq=False)
class Categories:
    """Those of d features, none or more, and which of the others are dates."""

    columns: tuple[Category, ...] = ()
    n_features: int = 0  # d, once they are learnt
    day_columns: tuple[DayColumn, ...] = ()

    @classmethod
    def of(cls, X: Any, named: Any = FROM_DTYPE) -> Self:
        """Make them of a table, values sorted unless ordered, or of an array's columns that are named.

        Parameters
        ----------
        X : table or array-like
        named : "from_dtype", or sequence of names, positions or truth values
            More columns of categories than the types of a table tell.

        Raises
        ------
        ValueError
            If there is no such column, or one holds what is of no use.
        """
        frame, found, day_columns = Frame.of(X), list[Category](), list[DayColumn]()
        by_type = isinstance(named, str) or len(named) == 0
        if by_type and (frame is None or frame.is_plain):
            return cls()
        if frame is None:
            cells = _as_array(X)
            places = _places(named, None, cells.shape[1])
            columns = {j: Column(j, cells[:, j]) for j in sorted(places)}
        else:
            frame.check_names()
            places = frozenset[int]() if by_type else _places(named, frame.names, len(frame.names))
            columns = dict(enumerate(frame.columns))
        for position, column in columns.items():
            if position in places or column.role == CATEGORICAL:
                _, values, ordered = column.coded()
                values = [plain(value) for value in values if not is_missing(value)]
                _check_values(values, column)
                listed = values if ordered else sorted(values, key=_place)
                found.append(Category(position, str(column.name), tuple(listed), ordered))
            elif column.role in DAY_ROLES:
                day_columns.append(DayColumn(position, column.role))
            elif column.role is None:
                raise column.of_no_use()
        return cls(tuple(found), 0, tuple(day_columns))

    def can_go_on_with(self, others: Categories) -> bool:
        """Say whether rounds on these can be followed by rounds on others: of the same columns, without new values."""
        kinds, others_kinds = ([(c.position, c.ordered) for c in all_.columns] for all_ in (self, others))
        return (
            kinds == others_kinds
            and self.day_columns == others.day_columns
            and all(
                new.values == old.values if old.ordered else set(new.values) <= set(old.values)
                for old, new in zip(self.columns, others.columns, strict=True)
            )
        )

    def same_tables(self, others: Categories) -> bool:
        """Say whether values and what they add are the same."""
        return len(self.columns) == len(others.columns) and all(
            mine.values == theirs.values and np.array_equal(mine.table, theirs.table)
            for mine, theirs in zip(self.columns, others.columns, strict=True)
        )

    @property
    def source(self) -> IntArray:
        """The feature that each column of numbers comes from."""
        added = [np.full(column.table.shape[1], column.position) for column in self.columns]
        return np.concatenate([np.arange(self.n_features), *added]).astype(np.int64)

    def coded(self, X: Any) -> tuple[Any, list[Unseen]]:
        """Return the numbers of a table, (n, d), with codes for categories, and what is unknown.

        X itself if it holds NumPy's numbers only, or is an array without categories.

        Raises
        ------
        ValueError
            If a column holds something else than in fit.
        """
        frame = Frame.of(X)
        if frame is None:
            return self._coded_array(X)
        if not frame.names or (frame.is_plain and not self.columns and not self.day_columns):
            return X, []
        category = {column.position: column for column in self.columns}
        roles = dict(self.day_columns)
        columns, unseen = frame.columns, list[Unseen | None]()
        numbers = np.empty((len(columns[0].cells), len(columns)))
        for j, column in enumerate(columns):
            if j in category:
                numbers[:, j], unknown = category[j].codes(column)
                unseen.append(unknown)
                continue
            role = roles.get(j, NUMBER)
            if column.role != role and not column.is_empty:
                raise column.changed(role, column.name)
            numbers[:, j] = column.numbers() if column.role == role else np.nan
        return numbers, [unknown for unknown in unseen if unknown is not None]

    def _coded_array(self, X: Any) -> tuple[Any, list[Unseen]]:
        """Do the same for an array some of whose columns are named as categories."""
        if not self.columns:
            return X, []
        X = _as_array(X)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            return X, []  # which is refused by who counts the features
        category, unseen = {column.position: column for column in self.columns}, list[Unseen | None]()
        numbers = np.empty(X.shape)
        for j, cells in enumerate(X.T):
            column = Column(j, cells)
            numbers[:, j], unknown = category[j].codes(column) if j in category else (column.numbers(), None)
            unseen.append(unknown)
        return numbers, [unknown for unknown in unseen if unknown is not None]

    def few_coded(self, rows: Sequence[Sequence[Any]]) -> FloatArray | None:
        """Code few rows of Python's cells without looking at types of columns; None where that is needed."""
        numbers = np.empty((len(rows), self.n_features))
        roles: list[Callable[[Any], float]] = [_as_number] * self.n_features
        for position, role in self.day_columns:
            roles[position] = partial(_as_days, role)
        for column in self.columns:
            roles[column.position] = column.place_of
        try:
            for row, cells in zip(numbers, rows, strict=True):
                row[:] = [number(cell) for number, cell in zip(roles, cells, strict=True)]
        except (LookupError, TypeError, ValueError, OverflowError):
            return None
        return None if (np.abs(numbers) >= EXACT_BELOW).any() else numbers

    def numbers(self, X: np.ndarray) -> np.ndarray:
        """Return rows of codes, and what the tables add; (n, d + added)."""
        if not self.columns:
            return X
        return CodedRows(X, [AddedColumns(column.position, column.table) for column in self.columns]).dense()

    def learn(
        self,
        X: np.ndarray,
        y: Labels,
        weight: FloatArray,
        names: Sequence[Any] | None = None,
        group: IntArray | None = None,
        first: IntArray | None = None,
    ) -> tuple[Categories, np.ndarray | CodedRows]:
        """Learn tables from training rows of codes (n, d); also their numbers. `names` are the columns'.

        Where there are two groups or more, rows of one are told the same. A copy is told what the `first` (n,) of its
        row is told, which has the weight of all. X is changed, for the memory; many rows are made when they are read.
        """
        if not self.columns:
            return Categories((), X.shape[1], self.day_columns), X
        label, columns, added, turns = np.zeros(len(y), dtype=np.int64), list[Category](), list[AddedColumns](), None
        unknown: list[tuple[IntArray, int]] = []  # rows and column of the first cell of each value
        label[weight > 0] = np.unique(y[weight > 0], return_inverse=True)[1]
        arranged, key = _arranged(self._of_rows(X, weight), X, label, weight, names)
        for column in arranged:
            rows, n_values = column.rows(X[:, column.position]), len(column.values)
            if column.ordered or n_values <= FEW_VALUES:
                table, own = np.eye(n_values + 1, 0 if column.ordered or n_values == 2 else n_values), None
            else:
                turns = turns or _Turns.of(X, key, label, weight, names, group)
                table, own, new = _shares(rows, n_values + 1, label, turns)
                if first is not None:
                    own, new = own[first], np.flatnonzero(np.isin(first, new))
                unknown.append((new, column.position))
            columns.append(replace(column, table=table))
            added.append(AddedColumns(column.position, table, own))
        for new, position in unknown:
            X[new, position] = np.nan
        numbers = CodedRows(X, added)
        many = numbers.shape[0] * numbers.shape[1] > DENSE_VALUES
        return Categories(tuple(columns), X.shape[1], self.day_columns), numbers if many else numbers.dense()

    def _of_rows(self, X: np.ndarray, weight: FloatArray) -> list[Category]:
        """Return it with the values that rows of some weight hold, whose codes X then has."""
        found = []
        for listed in self.columns:
            column, X[:, listed.position] = listed.of_rows(X[:, listed.position], weight)
            found.append(column)
        return found


def _check_values(values: list[Any], column: Column) -> None:
    """Refuse categories that are neither numbers nor texts, which no model file could keep."""
    library = type(column.native).__module__.partition(".")[0]
    by_type = str(getattr(column.native, "dtype", "category")) == "category" or library != "pandas"
    way = CATEGORIES_AS_TEXTS.get(library, "as X.astype(str) does") if by_type else "X[{name!r}].astype(str)"
    way = way.format(name=column.name)
    for value in values:
        if not is_label(value):
            raise ValueError(
                f"X must hold categories that are numbers or texts, got {described(value)[0]} in column "
                f"{column.name!r} ({str(value)!r}): make texts of them, {way}."
            )
        if not is_kept(value):
            raise ValueError(
                f"X must hold categories that are texts or {KEPT_NUMBERS}, got {shown(value)} in column "
                f"{column.name!r}, which no model file could keep: make texts of them, {way}."
            )


def _as_array(X: Any) -> np.ndarray:
    """Make an array of two dimensions, of numbers or of objects: numbers in lists stay numbers beside texts.

    Raises
    ------
    ValueError
        If it is sparse, or none of two dimensions.
    """
    if issparse(X):
        raise ValueError(
            "categorical_features names columns of tables or arrays, got a sparse matrix: make indicators of them."
        )
    cells = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object if isinstance(X, (list, tuple)) else None)
    if cells.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns, got an array of {cells.ndim} dimensions.")
    return cells


def _places(named: Any, names: Sequence[Any] | None, n_features: int) -> frozenset[int]:
    """Find the columns that `categorical_features` names.

    Raises
    ------
    ValueError
        If there is no such column, or a number is the name of one and the position of another.
    """
    given = list(named.tolist() if isinstance(named, np.ndarray) else named)
    if given and all(isinstance(one, (bool, np.bool_)) for one in given):
        if len(given) != n_features:
            raise ValueError(
                f"categorical_features must have a truth value for each of the {n_features} columns of X, "
                f"got {len(given)}."
            )
        return frozenset(np.flatnonzero(given).tolist())
    found = set()
    for one in given:
        if isinstance(one, bool):
            raise ValueError("categorical_features must be a mask or names and positions of columns, got both.")
        if isinstance(one, str):
            if names is None or one not in names:
                own = "" if names is None else short(", ".join(map(repr, names)), 200)
                there = f"which are {own}" if own else "which have no names: give positions"
                raise ValueError(f"categorical_features must name columns of X, {there}; got {one!r}.")
            found.add(list(names).index(one))
        elif 0 <= one < n_features:
            if names is not None and one in names and list(names).index(one) != one:
                raise ValueError(
                    f"categorical_features must say which column {one} is, as one of X has this name and another this "
                    "position: give a mask of truth values, or write X.columns = X.columns.astype(str) and name it."
                )
            found.add(int(one))
        else:
            raise ValueError(
                f"categorical_features must be positions from 0 to {n_features - 1}, names or truth values, got {one}."
            )
    return frozenset(found)


def _as_number(cell: Any) -> float:
    """Return a cell of a column of numbers; raises where it is none."""
    if type(cell) is float:  # NaN among them
        return cell
    if isinstance(cell, str):
        raise TypeError
    return np.nan if is_missing(cell) else float(cell)


def _as_days(role: str, cell: Any) -> float:
    """Return a cell of a column of dates, or other day_columns; raises where it is none."""
    if is_missing(cell):
        return np.nan
    if role_of(cell) != role:
        raise TypeError
    return in_days(cell)


def _place(value: Any) -> tuple[int, Any]:
    """Say where a value stands among others: numbers by size, then texts by the alphabet."""
    return (1, str(value)) if isinstance(value, str) else (0, value)


def _recoded(given: CodedCells, values: tuple[Any, ...]) -> FloatArray:
    """Find the place of each cell's value among these; NaN for what is not among them."""
    place = {value: k for k, value in enumerate(values)}
    code = np.array([*(place.get(value, np.nan) for value in given.values), np.nan], dtype=np.float64)
    return np.asarray(code[given.codes])


class _Turns(NamedTuple):
    """Training rows one after another in a random order, in which each is told what those before it say."""

    rows: IntArray  # (m,) of some weight, in this order
    group: IntArray  # (m,) which of them belong together, one after another
    weight: FloatArray  # (m,)

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        key: Keys,
        label: IntArray,
        weight: FloatArray,
        names: Sequence[Any] | None,
        group: IntArray | None = None,
    ) -> Self:
        """Order rows of codes and numbers (n, d), by their keys (n,), which no code decides.

        The order depends on what rows hold and on nothing else. Of rows that are equal each has a turn of its own: new
        rows may repeat them as well.
        """
        rows = np.flatnonzero(weight > 0)
        label, weight, key = label[rows], weight[rows], key[rows]
        by_code = _keys_by_name(lambda j: X[rows, j], X.shape[1], names)
        of_class = _content(label, key, weight)[label]  # its number says nothing
        together = np.arange(len(rows)) if group is None else np.unique(group[rows], return_inverse=True)[1]
        if 1 < int(together.max(initial=0)) + 1 < len(rows):
            turn = _content(together, key, weight)[together]
        else:
            together = np.arange(len(rows))
            order = np.lexsort((weight, of_class, by_code, -_alike(weight), key))  # the light ones last
            begin = np.flatnonzero(first_of_equals(key[order]))
            before = np.arange(len(order)) - np.repeat(begin, np.diff(begin, append=len(order)))
            turn = np.empty(len(rows), dtype=np.uint64)
            turn[order] = numbered_keys(key[order] + before.astype(np.uint64), 0)
        ties = [_content(together, numbered_keys(own + of_class, 0), weight)[together] for own in (by_code, key)]
        order = np.lexsort((of_class, by_code, together, *ties, turn))
        return cls(rows[order], together[order], weight[order])


def _arranged(
    columns: Sequence[Category], X: np.ndarray, label: IntArray, weight: FloatArray, names: Sequence[Any] | None
) -> tuple[list[Category], Keys]:
    """Put unordered values in the order that training rows say; X then has their codes. Also keys of rows, (n,).

    Keys tell categories by how often they occur.

    Parameters
    ----------
    columns : sequence of Category
    X : ndarray of shape (n, d)
        Codes of these columns among numbers.
    label : ndarray of int, (n,)
    weight : ndarray of shape (n,)
    names : sequence, optional
        Of the columns of X.
    """
    free = {c.position: c for c in columns if not (c.ordered or _are_truths(c.values))}
    if not free:
        return list(columns), _keys_by_name(lambda j: X[:, j], X.shape[1], names)
    there, totals, keys = weight > 0, dict[int, FloatArray](), list[Keys]()
    # of many values, rows of all classes count alike: that of a value's few rows would tell their class
    alike = _as_rows(label[there], weight[there])
    counted = {j: weight[there] if len(column.values) <= FEW_VALUES else alike for j, column in free.items()}
    # the class tells no key, by which codes are parted; by weights, which hardly change, rows stand in turns
    for count in (dict.fromkeys(free, weight[there]), counted):
        for j, column in free.items():
            rows = column.rows(X[:, j])[there]
            totals[j] = np.asarray(np.bincount(rows, count[j], len(column.values) + 1), dtype=np.float64)

        def nameless(j: int) -> FloatArray:
            """Return a column whose categories are how often they occur, which says what they are without a name."""
            cells: FloatArray = X[:, j]
            return _alike(totals[j])[free[j].rows(cells)] if j in free else cells

        keys.append(_keys_by_name(nameless, X.shape[1], names))
    by_weight, key = keys
    arranged = []
    for column in columns:
        j = column.position
        if j in free:
            rows, n_values = column.rows(X[:, j]), len(column.values)
            content = _content(rows[there], key[there], counted[j], n_values)[:n_values]
            order = np.lexsort((content, _alike(totals[j][:n_values])))
            X[:, j] = np.append(np.argsort(order), np.nan)[rows]
            column = replace(column, values=tuple(column.values[v] for v in order))
        arranged.append(column)
    return arranged, by_weight


def _keys_by_name(cells: Callable[[int], FloatArray], n_features: int, names: Sequence[Any] | None) -> Keys:
    """Return keys of rows whose columns these are, in whatever order the columns stand; the same in every fit."""
    by_name = sorted(range(n_features), key=lambda j: j if names is None else str(names[j]))
    return row_keys(map(cells, by_name), odd_numbers(np.random.default_rng(0), n_features))


def _as_rows(label: IntArray, weight: FloatArray) -> FloatArray:
    """Count rows, (n,): as 1, or less if they weigh less than others of the class: (sum w / sum w^1/2)^2."""
    root = np.sqrt(weight)
    usual = (np.bincount(label, weight) / np.maximum(np.bincount(label, root), np.finfo(np.float64).tiny)) ** 2
    return np.minimum(1.0, weight / usual[label])


def _are_truths(values: tuple[Any, ...]) -> bool:
    return all(isinstance(value, (bool, np.bool_)) for value in values)


def _content(part: IntArray, key: Keys, weight: FloatArray, n_parts: int = 0) -> Keys:
    """Return a random number for each part of the rows (at least `n_parts`), by its distinct rows and their weights.

    Whether a row stands there twice or has twice the weight is the same.
    """
    order = np.lexsort((key, part))
    start = np.flatnonzero(first_of_equals(part[order], key[order]))
    totals = np.add.reduceat(weight[order], start) if len(start) else weight[:0]
    found = np.zeros(max(n_parts, int(part.max(initial=-1)) + 1), dtype=np.uint64)
    np.add.at(found, part[order[start]], numbered_keys(key[order[start]] + _alike(totals).view(np.uint64), 0))
    return found


def _alike(weights: FloatArray) -> FloatArray:
    """Return the sizes of weights, the same for those that differ by less than a hundredth, or nearly so.

    So neither the order of a sum nor a millionth more of a weight decides. Logarithms of ratios are never at the edge.
    """
    share = weights / max(float(weights.max(initial=0.0)), 1e-300)
    return np.asarray(np.rint(1e2 * log(np.maximum(share, 1e-300))) + 0.0)


def _shares(rows: IntArray, n_rows: int, label: IntArray, turns: _Turns) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return shares of the classes in each row of a table, (n_rows, m), and what each training row is told, (n, m).

    Also the rows that are told nothing of their value.
    """
    K, value, own_label = int(label.max()) + 1, rows[turns.rows], label[turns.rows]
    total = np.zeros((n_rows, K))
    np.add.at(total, (value, own_label), turns.weight)
    overall = total.sum(axis=0) / max(float(total.sum()), 1e-300)
    table = (total + PRIOR * overall) / (total.sum(axis=1, keepdims=True) + PRIOR)
    if K <= MOST_SHARES:
        axes = np.eye(K)[:, 1 if K == 2 else 0 :]
    else:
        apart = np.sqrt(total.sum(axis=1, keepdims=True)) * (table - overall)
        axes = eigenvectors(product(apart.T, apart))[1][:, ::-1][:, :MOST_SHARES]
    table = _in_steps(product(table, axes))
    order = np.argsort(value, kind="stable")
    value, group = value[order], turns.group[order]
    told = np.column_stack([turns.weight[:, None] * axes[own_label], turns.weight])[order]
    unit = np.ldexp(1.0, int(np.frexp(np.abs(told).sum())[1]) + 1 - EXACT_BITS)
    sums = np.cumsum(np.rint(told / unit), axis=0) - np.rint(told / unit)  # exact: the same whatever stands before
    starts = first_of_equals(value)
    begin = np.maximum.accumulate(np.where(starts, np.arange(len(value)), 0))
    turn = np.maximum.accumulate(np.where(first_of_equals(value, group), np.arange(len(value)), 0))
    before = unit * (sums[turn] - sums[begin])
    own = table[rows]
    own[turns.rows[order]] = _in_steps((before[:, :-1] + PRIOR * (product(overall, axes))) / (before[:, -1:] + PRIOR))
    return table, own, turns.rows[order[before[:, -1] <= SAYS_NOTHING * turns.weight[order]]]


def _in_steps(shares: FloatArray) -> FloatArray:
    return np.asarray(SHARE_STEP * np.rint(shares / SHARE_STEP) + 0.0)
