"""Columns of categories as numbers that trees split.

A column of V categories becomes its codes 0..V-1, in place, and more columns after all others: for few values one for
each, which is 1 in its rows; for many values the shares that the classes have among its rows. In training the shares
of a row are those of other rows, so that they say there what they will say of new rows (as in scikit-learn's
TargetEncoder). Categories that are ordered are their codes only.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from minrisk._typing import FloatArray, IntArray, Labels

FEW_VALUES = 10  # of which each has a column
FOLDS = 5  # of training rows; shares are those of the four others
PRIOR = 10.0  # rows of average weight that the shares of all rows count as, beside those of a value
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
        """Codes of a pandas column, (n,); NaN for what is missing or unknown.

        Raises
        ------
        ValueError
            If it holds numbers where the values are text, or the other way round.
        """
        import pandas as pd

        kinds = cells.array if isinstance(cells.dtype, pd.CategoricalDtype) else pd.Categorical(cells.astype(object))
        given, texts = kinds.categories.astype(object), {isinstance(value, str) for value in self.values}
        if len(given) and len(texts) == 1 and texts.isdisjoint(isinstance(value, str) for value in given):
            raise ValueError(
                f"column {self.name!r} of X must hold categories such as {self.values[0]!r}, as in fit, "
                f"got {given[0]!r}."
            )
        code = np.append(pd.Index(list(self.values), dtype=object).get_indexer(given), -1)[kinds.codes]
        return np.where(code < 0, np.nan, code).astype(np.float64)

    def unknown(self, cells: Any) -> list[Any]:
        """Values of a pandas column that are none of these, in the order in which they come."""
        import pandas as pd

        given = pd.Index(cells.dropna().astype(object).unique())
        return list(given.difference(list(self.values), sort=False))

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
        """The columns of a pandas frame whose dtype is "category"; of anything else none."""
        if not (hasattr(X, "isetitem") and hasattr(X, "dtypes")):
            return cls()
        kinds = [(j, dtype) for j, dtype in enumerate(X.dtypes) if getattr(dtype, "name", None) == "category"]
        return cls(
            tuple(Category(j, str(X.columns[j]), tuple(t.categories.tolist()), bool(t.ordered)) for j, t in kinds)
        )

    @property
    def values(self) -> list[tuple[int, tuple[Any, ...], bool]]:
        """What must be the same for rounds to go on."""
        return [(column.position, column.values, column.ordered) for column in self.columns]

    @property
    def source(self) -> IntArray:
        """The feature that each column of numbers comes from."""
        added = [np.full(column.table.shape[1], column.position) for column in self.columns]
        return np.concatenate([np.arange(self.n_features), *added]).astype(np.int64)

    def coded(self, X: Any) -> Any:
        """X with codes for categories.

        Raises
        ------
        ValueError
            If there are categories and X is no frame, or a column holds values of another kind.
        """
        if not self.columns:
            return X
        if not hasattr(X, "isetitem"):
            raise ValueError(
                f"X must be a DataFrame as in fit, where column {self.columns[0].name!r} held categories, got "
                f"{type(X).__name__}."
            )
        coded = X.copy(deep=False)
        for column in self.columns:
            if column.position < X.shape[1]:  # scikit-learn says what is wrong where there are fewer
                coded.isetitem(column.position, column.codes(X.iloc[:, column.position]))
        return coded

    def numbers(self, X: np.ndarray) -> np.ndarray:
        """Rows of codes, and what the tables add; (n, d + added)."""
        if not self.columns:
            return X
        return np.hstack([X, *(column.table[column.rows(X[:, column.position])] for column in self.columns)])

    def learn(self, X: np.ndarray, y: Labels, weight: FloatArray) -> tuple[Categories, np.ndarray]:
        """With tables from training rows of codes (n, d), and the numbers of these rows."""
        if not self.columns:
            return Categories((), X.shape[1]), X
        label, columns, added = np.unique(y, return_inverse=True)[1], [], []
        for column in self.columns:
            rows, n_values = column.rows(X[:, column.position]), len(column.values)
            if column.ordered or n_values <= FEW_VALUES:
                table = np.eye(n_values + 1, 0 if column.ordered or n_values == 2 else n_values)
                added.append(table[rows])
            else:
                table, own = _shares(rows, n_values + 1, label, weight)
                added.append(own)
            columns.append(replace(column, table=table))
        return Categories(tuple(columns), X.shape[1]), np.hstack([X, *added])


def _shares(rows: IntArray, n_rows: int, label: IntArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shares of the classes in each row of a table, (n_rows, m), and for each training row without its fold, (n, m)."""
    K = int(label.max()) + 1
    fold, counted = np.zeros(len(label), dtype=np.int64), np.flatnonzero(weight > 0)
    fold[counted] = np.random.default_rng(0).permutation(len(counted)) % FOLDS  # the same in every fit
    counts = np.zeros((FOLDS, n_rows, K))
    np.add.at(counts, (fold, rows, label), weight / weight[weight > 0].mean())
    total = counts.sum(axis=0)
    table = _smoothed(total)
    if K <= MOST_SHARES:
        axes = np.eye(K)[:, 1 if K == 2 else 0 :]
    else:
        apart = np.sqrt(total.sum(axis=1, keepdims=True)) * (table - total.sum(axis=0) / total.sum())
        axes = np.linalg.svd(apart, full_matrices=False)[2][:MOST_SHARES].T
    own = np.stack([_smoothed(total - part) for part in counts]) @ axes
    return np.asarray(table @ axes), np.asarray(own[fold, rows])


def _smoothed(counts: FloatArray) -> FloatArray:
    """Shares in each row of counts, drawn towards those in all rows."""
    overall = counts.sum(axis=0) / max(float(counts.sum()), 1e-300)
    return np.asarray((counts + PRIOR * overall) / (counts.sum(axis=1, keepdims=True) + PRIOR))
