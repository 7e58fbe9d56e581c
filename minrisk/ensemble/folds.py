"""Folds of rows: drawn, or as a splitter has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from minrisk._callers import warn_caller
from minrisk._typing import Binned, Codes, FloatArray, IntArray, Keys, Labels
from minrisk.costs import is_per_row
from minrisk.costs.reading import is_per_row_and_class
from minrisk.costs.units import scaled
from minrisk.data.chunks import CodedLabels
from minrisk.data.column_report import DataWarning
from minrisk.data.copies import are_copies, content_keys, merged, near_copies, told_by
from minrisk.data.groups import placed_groups
from minrisk.data.row_blocks import RowBlocks, blocks_of
from minrisk.data.row_keys import first_of_equals, numbered_keys, odd_numbers, row_keys, summed_keys
from minrisk.data.sparse_rows import DENSE_VALUES, SparseRows
from minrisk.data.stored import SparseBins
from minrisk.ensemble import defaults

MANY_ROWS = 20_000  # whose folds are drawn by their numbers: those of fewer spread the classes evenly
SUMMED_FROM = 2000  # features from which keys of rows are sums, in which those that are 0 count together
ONE_GROUP = (
    "groups must divide the rows into two groups or more, because the fit leaves out whole groups, got one group: "
    "leave groups out, or set cv=1, with which no row is left out."
)
DIVIDED_GROUPS = (
    "cv must leave rows of a group out together, but puts some in different folds: take one that knows groups, as "
    "StratifiedGroupKFold(), or a number of folds."
)
NO_PAIRS = "cv must give pairs (train, test) of row numbers: {}."
NEAR_COPIES = (
    "X holds near copies: about {near} of {n} rows have a near twin, and twins are left out together; say with groups= "
    "which rows belong together."
)
NEAR_GROUPS = (
    "X holds near copies: about {near} of {n} rows have a near twin in another group, which says beforehand what rows "
    "that are left out are; groups= must give rows that belong together the same group."
)


class MergedRows(NamedTuple):
    """Whether equal rows are copies, and what rows weigh of which copies are one."""

    copied: bool
    weight: FloatArray | None  # (N,); None: as before
    folds: IntArray | None = None  # (N,) of a splitter, which is asked once


def merged_copies(
    X: Any, d: int, y: Labels | CodedLabels, weight: FloatArray, cost: Any, group: IntArray | None, cv: Any
) -> MergedRows | None:
    """Copies as one row, or None where they are not looked for.

    Copies are equal in their first d cells, in label, group and costs of their own, and in the fold that a splitter has
    put them in; the first one has the weight of all.
    """
    rows, own = np.flatnonzero(weight > 0.0), _own_costs(cost, y)
    if own is None or len(rows) < 2:
        return None
    folds = None if cv is None or isinstance(cv, Integral) else stated_folds(cv, X, y, group)
    codes = y.codes if isinstance(y, CodedLabels) else np.unique(y, return_inverse=True)[1]
    few = told_by(np.arange(len(rows)), len(rows))
    told = X if isinstance(X, np.ndarray) and len(few) == len(X) else X[rows[few]]
    if not are_copies(told, codes[rows[few]], d):
        return MergedRows(False, None, folds)
    del told
    odds = odd_numbers(np.random.default_rng(1), d + len(own) + 3)
    others = [codes[rows], *(column[rows] for column in own)]
    others += [column[rows] for column in (group, folds) if column is not None]
    with np.errstate(over="ignore"):
        of_all = content_keys(X, rows, d, odds) + summed_keys(others, odds[d:])
    total = merged(of_all, scaled(weight)[0][rows])
    if np.all(total > 0.0):
        return MergedRows(True, None, folds)
    found = np.zeros(len(weight))
    found[rows] = total
    return MergedRows(True, found, folds)


def rows_together(
    X: Any, d: int, weight: FloatArray, copied: bool, group: IntArray | None, cv: Any
) -> IntArray | None:
    """Which rows belong together, (N,): those of equal cells where these are `copied`, and near copies.

    Stated groups rule.
    """
    rows, several = np.flatnonzero(weight > 0.0), cv != 1
    if not (copied or _searched(X, d, len(rows), several)):
        return group
    key = content_keys(X, rows, d, odd_numbers(np.random.default_rng(1), d))
    _, first, together = np.unique(key, return_index=True, return_inverse=True)
    if _searched(X, d, len(first), several):
        distinct = rows[first]
        stated = None if group is None else group[distinct]
        near = near_copies(X[distinct, :d], key[first], stated)
        if near is not None:
            message = NEAR_COPIES if group is None else NEAR_GROUPS
            warn_caller(message.format(near=round(near.share * len(rows)), n=len(rows)), DataWarning)
            if near.group is not None:
                together, copied = near.group[together], True
    if group is None and copied and several and len(np.unique(together)) < len(rows):
        group = np.zeros(len(weight), dtype=np.int64)
        group[rows] = together
    return group


def _searched(X: Any, d: int, n_rows: int, several: bool) -> bool:
    """Whether so many rows are searched for near copies: some are left out, and all are in memory and not too many."""
    return several and isinstance(X, np.ndarray) and n_rows * d <= DENSE_VALUES


def _own_costs(cost: Any, y: Labels | CodedLabels) -> list[np.ndarray] | None:
    """Columns of what each row's mistakes cost, (N,) each, none where rows share a table; None: no numbers."""
    n_labels = len(y.labels if isinstance(y, CodedLabels) else np.unique(y))
    if not (is_per_row_and_class(cost) or is_per_row(cost, len(y), n_labels)):
        return []
    try:
        return list(np.asarray(cost, dtype=np.float64).reshape(len(y), -1).T)
    except (TypeError, ValueError):  # which are told where costs are read
        return None


def folds_of(
    cv: Any, X: np.ndarray | SparseRows | RowBlocks, y: Labels | CodedLabels, rows: IntArray,
    binned: Binned | SparseBins, codes: Codes, seed: int, more: Sequence[np.ndarray] = (),
    group: IntArray | None = None,
) -> IntArray:  # fmt: skip
    """Fold of each of these rows, numbered from 0: drawn, or as `cv` has it.

    All are in one fold where every class is: a member that leaves a class out can say nothing about it. `cv` may be the
    folds (N,) that a splitter gave. `more` is what rows of equal features and class may differ by, (n,) each: their
    weight, and costs of their own. `group` (N,) says which of all rows belong together and are in one fold.
    """

    def apart(tied: IntArray) -> Keys:
        keys = np.empty(len(tied), dtype=np.uint64)
        odds = odd_numbers(np.random.default_rng([seed, 3]), X.shape[1])
        for places, block, inside in blocks_of(X, rows[tied]):
            keys[places] = _keys(block if inside is None else block[inside], odds)
        _, place, times = np.unique(keys, return_inverse=True, return_counts=True)
        equal = np.flatnonzero((times > 1)[place])
        if len(equal) and more:  # by size, so that a millionth more of a weight or a cost changes nothing
            values = np.column_stack([column[tied[equal]] for column in more])
            keys[equal] += np.unique(values, axis=0, return_inverse=True)[1].ravel().astype(np.uint64)
        return keys

    if cv is None or isinstance(cv, Integral):
        n_folds, many = defaults.FOLDS if cv is None else int(cv), len(rows) >= MANY_ROWS
        together = None if group is None or n_folds == 1 else np.unique(group[rows], return_inverse=True)[1]
        if together is not None and together.max() + 1 < len(rows):
            keys = None if many else (binned, apart)
            return spread_folds(grouped_folds(together, codes, n_folds, seed, keys), codes)
        if many:
            return spread_folds(drawn_folds(np.arange(len(rows)), n_folds, seed), codes)
        folds = fold_numbers(binned, codes, n_folds, seed, apart)
    else:
        stated = cv if isinstance(cv, np.ndarray) else stated_folds(cv, X, y, group)
        folds = np.unique(stated[rows], return_inverse=True)[1]
        if group is not None:
            together = group[rows]
            if len(np.unique(together * (int(folds.max()) + 1) + folds)) > len(np.unique(together)):
                raise ValueError(DIVIDED_GROUPS)
    return spread_folds(folds, codes)


def grouped_folds(
    group: IntArray, codes: Codes, n_folds: int, seed: int,
    keys: tuple[Binned | SparseBins, Callable[[IntArray], Keys]] | None = None,
) -> IntArray:  # fmt: skip
    """Fold of each row (n,), whole groups in each and classes as evenly as these allow; fewer where groups are too few.

    Groups of the same size come in the order of random numbers, which are made of their rows' bins and classes, and of
    what `apart` says of rows of groups that are equal in these: neither the order of rows nor the groups' names make a
    difference. Without `keys` they are made of the number of their first row.

    Raises
    ------
    ValueError
        If there is but one group.
    """
    n_groups = int(group.max()) + 1
    if n_groups == 1:
        raise ValueError(ONE_GROUP)
    if keys is None:
        numbers = np.unique(group, return_index=True)[1].astype(np.uint64)
    else:
        (binned, apart), numbers = keys, np.zeros(n_groups, dtype=np.uint64)
        rng = np.random.default_rng([seed, 4])
        odds = odd_numbers(rng, len(binned) + 1)
        with np.errstate(over="ignore"):
            own = numbered_keys(_bin_keys(binned, odds) + codes.astype(np.uint64) * odds[-1], seed)
            np.add.at(numbers, group, own)
            unique, place, times = np.unique(numbers, return_inverse=True, return_counts=True)
            tied = np.flatnonzero((times > 1)[place][group])
            if len(unique) < n_groups:
                np.add.at(numbers, group[tied], numbered_keys(apart(tied), seed))
    n_folds = min(n_folds, n_groups, max(1, len(group) // 2))
    return placed_groups(group, codes, np.full(n_folds, 1.0 / n_folds), numbered_keys(numbers, seed))[group]


def spread_folds(folds: IntArray, codes: Codes, counts: IntArray | None = None) -> IntArray:
    """These folds, or one for all where no class has rows in two.

    `counts` (K, folds) are of all rows, where these are not all.
    """
    if counts is None:
        counts = fold_counts(folds, codes, int(codes.max(initial=0)) + 1, int(folds.max(initial=0)) + 1)
    spread = np.any(np.count_nonzero(counts, axis=1) > 1)
    small = np.min_scalar_type(counts.shape[1] - 1)  # a byte for each row, where folds are few
    return (folds if spread else np.zeros_like(folds)).astype(small)


def fold_counts(folds: IntArray, codes: Codes, n_classes: int, n_folds: int) -> IntArray:
    """Rows of each class in each fold, (K, folds)."""
    of_both = codes.astype(np.int64) * n_folds + folds
    return np.bincount(of_both, minlength=n_classes * n_folds).reshape(n_classes, n_folds)


def drawn_folds(numbers: IntArray, n_folds: int, seed: int) -> IntArray:
    """Fold of each of many rows, by a random number that depends on the row's number and the seed alone."""
    high = numbered_keys(numbers, seed) >> np.uint64(32)
    return (high * np.uint64(n_folds) >> np.uint64(32)).astype(np.min_scalar_type(n_folds - 1))


def _bin_keys(binned: Binned | SparseBins, odds: Keys) -> Keys:
    """Of rows, by their bins."""
    if len(binned) <= SUMMED_FROM:
        return row_keys(binned, odds)
    return binned.keys(odds) if isinstance(binned, SparseBins) else summed_keys(binned, odds)


def _keys(some: np.ndarray | SparseRows, odds: Keys) -> Keys:
    """Of some rows, by their features."""
    d = some.shape[1]
    if isinstance(some, SparseRows) and d > SUMMED_FROM:
        return some.keys(odds)
    features = map(some.column, range(d)) if isinstance(some, SparseRows) else some.T
    return (row_keys if d <= SUMMED_FROM else summed_keys)([*features], odds)


def stated_folds(
    cv: Any, X: np.ndarray | SparseRows | RowBlocks, y: Labels | CodedLabels, group: IntArray | None = None
) -> IntArray:
    """Fold of each row of a splitter, which is told the groups, or of pairs (train, test).

    Raises
    ------
    ValueError
        Unless every row is in the test part of one split, and in the training part of all others.
    """
    from sklearn.model_selection import check_cv

    if isinstance(y, CodedLabels):
        y = y.labels[y.codes]
    folds, number = np.full(len(y), -1), -1
    try:
        given = X.matrix if isinstance(X, SparseRows) else X
        given = np.empty((len(X), 0)) if isinstance(given, RowBlocks) else given
        splits = list(check_cv(cv, y, classifier=True).split(given, y, group))
    except (TypeError, ValueError) as problem:
        if isinstance(problem, ValueError) and hasattr(cv, "split"):  # what a splitter says of these rows
            raise
        raise ValueError(NO_PAIRS.format(str(problem).rstrip("."))) from None
    for number, pair in enumerate(splits):
        apart = np.zeros(len(y), dtype=np.int64)
        try:
            train, test = pair
            np.add.at(apart, np.arange(len(y))[train], 1)
            np.add.at(apart, np.arange(len(y))[test], 1)
        except (TypeError, ValueError, IndexError) as problem:
            raise ValueError(NO_PAIRS.format(str(problem).rstrip("."))) from None
        if np.any(apart != 1) or np.any(folds[test] >= 0):
            number = -1
            break
        folds[test] = number
    if number < 0 or np.any(folds < 0):
        raise ValueError(
            "cv must leave every row out once, and train on all others, as KFold and GroupKFold do; ShuffleSplit, "
            "RepeatedKFold and TimeSeriesSplit do not."
        )
    return folds


def fold_numbers(
    X_binned: Binned | SparseBins, codes: Codes, n_folds: int, seed: int,
    apart: Callable[[IntArray], Keys] | None = None,
) -> IntArray:
    """Fold of each row (n,): drawn at random, classes spread evenly, at least two rows in each.

    It does not depend on the order of the rows: the random number is made of a row's bins, and of how many such rows
    there were before, so that repeated rows, which new rows may repeat as well, fall in any folds. Rows of the same
    bins stand in the order of the numbers that `apart` gives to rows that differ elsewhere.
    """
    rng = np.random.default_rng([seed, 1])
    n = X_binned.shape[1]
    odds = odd_numbers(rng, len(X_binned) + 1)
    key = _bin_keys(X_binned, odds)
    order = np.lexsort((key, codes))  # by class, then by a random number
    first = first_of_equals(codes[order], key[order])
    if not first.all():
        if apart is not None:
            tied, other = order[~(first & np.append(first[1:], True))], np.zeros(n, dtype=np.uint64)
            other[tied] = apart(tied)
            order = np.lexsort((other, key, codes))
        before = np.arange(n) - np.maximum.accumulate(np.where(first, np.arange(n), 0))
        again = before.astype(np.uint64) * odds[-1]
        key[order] += again ^ (again >> np.uint64(29))
        order = np.lexsort((key, codes))
    folds = np.empty(n, dtype=np.int64)
    folds[order] = np.arange(n) % min(n_folds, max(1, n // 2))
    return folds
