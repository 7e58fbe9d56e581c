"""Columns of categories as numbers that trees split.

A column of V categories becomes its codes 0..V-1, in place, and more columns after all others: for few values one for
each, which is 1 in its rows; for many values the shares that the classes have among its rows. In training the shares
of a row are those of other rows, so that they say there what they will say of new rows (as in scikit-learn's
TargetEncoder). Neither the order of rows, columns or classes matters for that, nor whether a row stands there twice
or once with a weight of 2. Categories that are ordered are their codes only.

Codes of ordered categories follow the order of the dtype, values without rows included. Those of others follow the
values that training rows hold: numbers by size, texts by the alphabet, so that neither the order in which a dtype lists
them nor what else it lists makes a difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from minrisk._typing import FloatArray, IntArray, Labels
from minrisk.data.frames import CodedCells, Column, Frame, described, is_missing
from minrisk.data.groups import placed_groups
from minrisk.data.kept import KEPT_NUMBERS, is_kept, shown
from minrisk.data.label_cells import is_label
from minrisk.data.row_keys import first_of_equals, numbered_keys, odd_numbers, row_keys

FEW_VALUES = 10  # of which each has a column
CATEGORY_FOLDS = 5  # of training rows; shares are those of the four others
CATEGORIES_AS_TEXTS = {  # how the categories of a column become texts
    "pandas": "X[{name!r}] = X[{name!r}].cat.rename_categories(str)",
    "polars": "pl.col({name!r}).cast(pl.String).cast(pl.Categorical)",
    "arrow": 'X.column({name!r}).cast("string").dictionary_encode()',
}
PRIOR = 10.0  # rows that the shares of all rows count as, beside those of a value
MOST_SHARES = 10  # columns of shares: with more classes, the directions in which values differ most


@dataclass(frozen=True, eq=False)
class Category:
    """A column of categories."""

    position: int  # in X
    name: str
    values: tuple[Any, ...]  # code k is the k-th
    ordered: bool = False
    table: FloatArray = field(default_factory=lambda: np.empty((1, 0)))  # (V + 1, m) numbers added; last: missing

    def codes(self, cells: Any) -> FloatArray:
        """Codes of a column of a table, (n,); NaN for what is missing or unknown.

        Raises
        ------
        ValueError
            If it holds numbers where the values are text, or the other way round.
        """
        given = Column.of(cells, self.name).coded()
        texts = {isinstance(value, str) for value in self.values}
        known = [value for value in given.values if not is_missing(value)]
        if known and len(texts) == 1 and texts.isdisjoint(isinstance(value, str) for value in known):
            raise ValueError(
                f"column {self.name!r} of X must hold categories such as {self.values[0]!r}, as in fit, "
                f"got {known[0]!r}."
            )
        return _recoded(given, self.values)

    def unknown(self, cells: Any) -> list[Any]:
        """Values of a column of a table that are none of these, in the order in which they come."""
        given, known = Column.of(cells, self.name).coded(), set(self.values)
        there = (given.values[code] for code in dict.fromkeys(given.codes.tolist()) if code >= 0)
        return [value for value in there if value not in known]

    def of_rows(self, codes: FloatArray, weight: FloatArray) -> tuple[Category, FloatArray]:
        """With the values that rows of some weight hold, and the codes of all rows; as it is where it is ordered."""
        if self.ordered:
            return self, codes
        used = np.unique(codes[(weight > 0) & ~np.isnan(codes)]).astype(np.int64)
        code = np.full(len(self.values) + 1, np.nan)
        code[used] = np.arange(len(used))
        return replace(self, values=tuple(self.values[k] for k in used)), code[self.rows(codes)]

    def rows(self, codes: FloatArray) -> IntArray:
        """Rows of the table."""
        return np.where(np.isnan(codes), len(self.values), codes).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Categories:
    """Those of d features, none or more."""

    columns: tuple[Category, ...] = ()
    n_features: int = 0  # d, once they are learnt

    @classmethod
    def of(cls, X: Any) -> Self:
        """The columns of a table whose types say that they hold categories, values sorted unless ordered."""
        frame = Frame.of(X)
        if frame is None or frame.is_plain:
            return cls()
        found = []
        for position, column in enumerate(frame.columns):
            if column.holds_categories:
                _, values, ordered = column.coded()
                values = [value for value in values if not is_missing(value)]
                _check_values(values, column)
                listed = values if ordered else sorted(values, key=_place)
                found.append(Category(position, str(column.name), tuple(listed), ordered))
        return cls(tuple(found))

    def can_go_on_with(self, others: Categories) -> bool:
        """Whether rounds on these can be followed by rounds on others: of the same columns, without new values."""
        kinds, others_kinds = ([(c.position, c.ordered) for c in all_.columns] for all_ in (self, others))
        return kinds == others_kinds and all(
            new.values == old.values if old.ordered else set(new.values) <= set(old.values)
            for old, new in zip(self.columns, others.columns, strict=True)
        )

    def same_tables(self, others: Categories) -> bool:
        """Whether values and what they add are the same."""
        return len(self.columns) == len(others.columns) and all(
            mine.values == theirs.values and np.array_equal(mine.table, theirs.table)
            for mine, theirs in zip(self.columns, others.columns, strict=True)
        )

    @property
    def source(self) -> IntArray:
        """The feature that each column of numbers comes from."""
        added = [np.full(column.table.shape[1], column.position) for column in self.columns]
        return np.concatenate([np.arange(self.n_features), *added]).astype(np.int64)

    def coded(self, X: Any) -> Any:
        """Numbers of a table, (n, d), with codes for categories; X itself if it is none, or has NumPy's numbers only.

        Raises
        ------
        ValueError
            If there are categories and X is no table, or a column holds values of another kind.
        """
        frame = Frame.of(X)
        if frame is None and self.columns:
            raise ValueError(
                f"X must be a DataFrame as in fit, where column {self.columns[0].name!r} held categories, got "
                f"{type(X).__name__}: give one of pandas or polars, or an Arrow table."
            )
        if frame is None or not frame.names or (frame.is_plain and not self.columns):
            return X
        category = {column.position: column for column in self.columns}
        parts = [category[j].codes(c.cells) if j in category else c.numbers() for j, c in enumerate(frame.columns)]
        return np.stack(parts, axis=1)

    def numbers(self, X: np.ndarray) -> np.ndarray:
        """Rows of codes, and what the tables add; (n, d + added)."""
        if not self.columns:
            return X
        return np.hstack([X, *(column.table[column.rows(X[:, column.position])] for column in self.columns)])

    def learn(
        self, X: np.ndarray, y: Labels, weight: FloatArray, names: Sequence[Any] | None = None,
        group: IntArray | None = None,
    ) -> tuple[Categories, np.ndarray]:  # fmt: skip
        """With tables from training rows of codes (n, d), and the numbers of these rows; `names` are the columns'.

        Shares of a row are those of other groups, where there are two of these or more.
        """
        if not self.columns:
            return Categories((), X.shape[1]), X
        label, columns, added = np.zeros(len(y), dtype=np.int64), [], []
        label[weight > 0] = np.unique(y[weight > 0], return_inverse=True)[1]
        X, groups = X.copy(), None
        of_rows = [listed.of_rows(X[:, listed.position], weight) for listed in self.columns]
        for column, codes in of_rows:
            X[:, column.position] = codes
        for column, codes in of_rows:
            rows, n_values = column.rows(codes), len(column.values)
            if column.ordered or n_values <= FEW_VALUES:
                table = np.eye(n_values + 1, 0 if column.ordered or n_values == 2 else n_values)
                added.append(table[rows])
            else:
                groups = groups or _Groups.of(X, label, weight, names, group)
                table, own = _shares(rows, n_values + 1, label, groups)
                added.append(own)
            columns.append(replace(column, table=table))
        return Categories(tuple(columns), X.shape[1]), np.hstack([X, *added])


def _check_values(values: list[Any], column: Column) -> None:
    """Refuse categories that are neither numbers nor texts, which no model file could keep."""
    for value in values:
        if not is_label(value):
            way = CATEGORIES_AS_TEXTS[column.kind].format(name=column.name)
            raise ValueError(
                f"X must hold categories that are numbers or texts, got {described(value)[0]} in column "
                f"{column.name!r} ({str(value)!r}): make texts of them, {way}."
            )
        if not is_kept(value):
            way = CATEGORIES_AS_TEXTS[column.kind].format(name=column.name)
            raise ValueError(
                f"X must hold categories that are texts or {KEPT_NUMBERS}, got {shown(value)} in column "
                f"{column.name!r}, which no model file could keep: make texts of them, {way}."
            )


def _place(value: Any) -> tuple[int, Any]:
    """Where a value stands among others: numbers by size, then texts by the alphabet."""
    return (1, str(value)) if isinstance(value, str) else (0, value)


def _recoded(given: CodedCells, values: tuple[Any, ...]) -> FloatArray:
    """The place of each cell's value among these; NaN for what is not among them."""
    place = {value: k for k, value in enumerate(values)}
    code = np.array([*(place.get(value, np.nan) for value in given.values), np.nan], dtype=np.float64)
    return np.asarray(code[given.codes])


class _Groups(NamedTuple):
    """Training rows that are equal, class included, and how these are spread over folds; or single rows in folds."""

    rows: IntArray  # (m,) of some weight, group after group
    number: IntArray  # (m,) which group each of these is in
    first: IntArray  # (G,) a row of each
    mass: FloatArray  # (G,)
    copies: FloatArray  # (G,)
    placed: FloatArray  # (G, CATEGORY_FOLDS) of them in each fold

    @classmethod
    def of(
        cls, X: np.ndarray, label: IntArray, weight: FloatArray, names: Sequence[Any] | None,
        group: IntArray | None = None,
    ) -> Self:  # fmt: skip
        """Of rows of codes and numbers (n, d).

        Copies of a row go to one fold after another: new rows may repeat it as well. Where weights count rows, a row
        stands for so many copies. Rows that belong together by `group` (n,) go to one fold.
        """
        rows = np.flatnonzero(weight > 0)
        label, weight = label[rows], weight[rows]
        copies = weight if np.all(weight == np.rint(weight)) else np.ones(len(rows))
        by_name = sorted(range(X.shape[1]), key=lambda j: j if names is None else str(names[j]))
        odds = odd_numbers(np.random.default_rng(0), X.shape[1])  # the same in every fit
        key = row_keys((X[rows, j] for j in by_name), odds)
        content = np.zeros(label.max() + 1, dtype=np.uint64)  # of each class: its number says nothing
        np.add.at(content, label, key * copies.astype(np.uint64))
        place = np.argsort(np.argsort(content, kind="stable"))[label]
        together = np.empty(0, dtype=np.int64) if group is None else np.unique(group[rows], return_inverse=True)[1]
        n_together = int(together.max(initial=-1)) + 1
        if 1 < n_together < len(rows):
            keys = np.zeros(n_together, dtype=np.uint64)
            np.add.at(keys, together, numbered_keys(key + content[label], 0) * copies.astype(np.uint64))
            shares = np.full(min(CATEGORY_FOLDS, n_together), 1.0)
            fold = placed_groups(together, place, shares, numbered_keys(keys, 0), copies=copies)[together]
            placed, each = np.zeros((len(rows), CATEGORY_FOLDS)), np.arange(len(rows))
            placed[each, fold] = copies
            return cls(rows, each, rows, weight, copies, placed)
        order = np.lexsort((weight, key, place))
        start = np.flatnonzero(first_of_equals(place[order], key[order]))
        copies = np.add.reduceat(copies[order], start)
        last = np.cumsum(copies)
        ends = (last - copies, last)
        before, after = (np.ceil((end[:, None] - np.arange(CATEGORY_FOLDS)) / CATEGORY_FOLDS) for end in ends)
        number = np.repeat(np.arange(len(start)), np.diff(start, append=len(order)))
        mass = np.add.reduceat(weight[order], start)
        return cls(rows[order], number, rows[order[start]], mass, copies, after - before)


def _shares(rows: IntArray, n_rows: int, label: IntArray, groups: _Groups) -> tuple[FloatArray, FloatArray]:
    """Shares of the classes in each row of a table, (n_rows, m), and for each training row without its fold, (n, m)."""
    K, value = int(label.max()) + 1, rows[groups.first]
    counts = np.zeros((CATEGORY_FOLDS, n_rows, K))
    for part, placed in zip(counts, groups.placed.T, strict=True):
        np.add.at(part, (value, label[groups.first]), groups.mass * placed / groups.copies)
    total = counts.sum(axis=0)
    table = _smoothed(total)
    if K <= MOST_SHARES:
        axes = np.eye(K)[:, 1 if K == 2 else 0 :]
    else:
        apart = np.sqrt(total.sum(axis=1, keepdims=True)) * (table - total.sum(axis=0) / total.sum())
        axes = np.linalg.svd(apart, full_matrices=False)[2][:MOST_SHARES].T
    table = table @ axes
    of_groups = np.zeros((len(value), axes.shape[1]))
    for part, placed in zip(counts, groups.placed.T, strict=True):
        of_groups += (placed / groups.copies)[:, None] * (_smoothed(total - part) @ axes)[value]
    own = table[rows]
    own[groups.rows] = of_groups[groups.number]
    return table, own


def _smoothed(counts: FloatArray) -> FloatArray:
    """Shares in each row of counts, drawn towards those in all rows."""
    overall = counts.sum(axis=0) / max(float(counts.sum()), 1e-300)
    return np.asarray((counts + PRIOR * overall) / (counts.sum(axis=1, keepdims=True) + PRIOR))
