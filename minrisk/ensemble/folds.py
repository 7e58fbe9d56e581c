"""Folds of rows: drawn, or as a splitter has them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from minrisk._kernels.functions import power
from minrisk._typing import Codes, FloatArray, IntArray, Keys, Labels
from minrisk._utils import warn_caller
from minrisk.costs.units import scaled
from minrisk.data.chunks import CodedLabels
from minrisk.data.column_report import DataWarning
from minrisk.data.copies import MergedRows, content_keys, keys_of_copies, merged, near_copies
from minrisk.data.groups import placed_groups
from minrisk.data.row_blocks import RowBlocks
from minrisk.data.row_keys import first_of_equals, numbered_keys, odd_numbers, waiting_times
from minrisk.data.sparse import DENSE_VALUES, SparseRows
from minrisk.ensemble import defaults

MANY_ROWS = 20_000  # whose folds are drawn by their numbers: those of fewer spread the classes evenly
FEW_MORE = 0.1  # of the rows: so many may go where another row of their group does, whose fold is as without them
TURN = 0.382  # of a fold, by which parts are turned: rows of equal weight stand at no end of one
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


def merged_copies(
    X: Any,
    d: int,
    y: Labels | CodedLabels,
    weight: FloatArray,
    cost: FloatArray | None,
    group: IntArray | None,
    cv: Any,
) -> MergedRows | None:
    """Count copies as one row; None where they are not looked for.

    Copies are equal in their first d cells, in label, group and costs of their own, and in the fold that a splitter has
    put them in; the first one has the weight of all.
    """
    rows = np.flatnonzero(weight > 0.0)
    if len(rows) < 2:
        return None
    folds = None if cv is None or isinstance(cv, Integral) else stated_folds(cv, X, y, group)
    own = [column for column in (group, folds) if column is not None]
    if cost is not None and len(cost) == len(y):
        own = [*cost.reshape(len(y), -1).T, *own]
    key = keys_of_copies(X, d, class_codes(y), rows, own)
    if key is None:
        return MergedRows(False, None, folds)
    total, _ = merged(key, scaled(weight)[0][rows])
    if np.all(total > 0.0):  # each is the first of its copies, so there are none here: weights keep their bits
        return MergedRows(True, None, folds)
    found = np.zeros(len(weight))
    found[rows] = total
    return MergedRows(True, found, folds)


def class_codes(y: Labels | CodedLabels) -> IntArray:
    """Number the labels of rows in their order."""
    return y.codes if isinstance(y, CodedLabels) else np.unique(y, return_inverse=True)[1]


def rows_together(
    X: Any, d: int, y: Labels | CodedLabels, weight: FloatArray, copied: bool, group: IntArray | None, cv: Any
) -> IntArray | None:
    """Find which rows belong together, (N,): those of equal cells where these are `copied`, and near copies.

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
        cells = X[distinct].matrix.toarray() if isinstance(X, SparseRows) else X[distinct, :d]
        waves = not copied and len(first) > 0.9 * len(rows)
        near = near_copies(cells, key[first], stated, waves, class_codes(y)[distinct])
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
    """Tell whether so many rows are searched for near copies: some are left out, all are in memory and not too many."""
    return several and isinstance(X, np.ndarray | SparseRows) and n_rows * d <= DENSE_VALUES


def folds_of(
    cv: Any,
    X: np.ndarray | SparseRows | RowBlocks,
    thresholds: Sequence[FloatArray],
    y: Labels | CodedLabels,
    rows: IntArray,
    codes: Codes,
    seed: int,
    differ_by: Sequence[np.ndarray],
    group: IntArray | None = None,
) -> IntArray:
    """Return the fold of each of these rows, numbered from 0: drawn, or as `cv` has it.

    All are in one fold where every class is: a member that leaves a class out can say nothing about it. `cv` may be the
    folds (N,) that a splitter gave. Folds are drawn by the cells of the first features that have `thresholds`. Rows
    equal in these and in class may `differ_by` their weight first, and costs of their own, (n,) each. `group` (N,)
    says which of all rows belong together and are in one fold. Where few do, the folds of others are as without it.
    """
    if not (cv is None or isinstance(cv, Integral)):
        stated = cv if isinstance(cv, np.ndarray) else stated_folds(cv, X, y, group)
        folds = np.unique(stated[rows], return_inverse=True)[1]
        if group is not None:
            own = group[rows]
            if len(np.unique(own * (int(folds.max()) + 1) + folds)) > len(np.unique(own)):
                raise ValueError(DIVIDED_GROUPS)
        return spread_folds(folds, codes)
    n_folds, n = defaults.FOLDS if cv is None else int(cv), len(rows)
    if n_folds == 1:
        return np.zeros(n, dtype=np.uint8)
    many = n >= MANY_ROWS
    keys = np.arange(n).astype(np.uint64) if many else _fold_keys(X, rows, thresholds)
    together: Any = None if group is None else np.unique(group[rows], return_inverse=True)[1]
    first: Any = slice(None)
    if together is not None and together.max() + 1 < n:  # a group's fold is that of one of its rows
        weight, of_class = fold_weights(codes, differ_by[0]), class_keys(keys, codes, seed)
        first = drawn_rows(together, of_class, weight)
        # Many rows would follow those drawn and make folds uneven: then whole groups are placed one after another.
        if weight.sum() - weight[first].sum() > FEW_MORE * weight.sum():
            return spread_folds(grouped_folds(together, codes, n_folds, of_class, weight, first), codes)
    else:
        together = slice(None)
    if many:
        folds = drawn_folds(keys[first], n_folds, seed)
    else:
        folds = fold_numbers(keys[first], codes[first], n_folds, seed, [column[first] for column in differ_by])
    return spread_folds(folds[together], codes)


def fold_weights(codes: Codes, weight: FloatArray) -> FloatArray:
    """Count rows where folds are to be as large, (n,): as 1, or less if they weigh less than others of the class.

    The others' weight is (sum w^1/2 / sum w^1/4)^4: a mean in which neither one heavy row says much, nor one of nearly
    no weight.
    """
    # Rows of nearly no weight must not fill a fold, and heavy ones must not empty others.
    root = np.sqrt(np.sqrt(weight))
    of_class = np.bincount(codes, root * root) / np.maximum(np.bincount(codes, root), np.finfo(np.float64).tiny)
    return np.minimum(1.0, power(root / of_class[codes], 4))


def grouped_folds(
    group: IntArray, codes: Codes, n_folds: int, keys: Keys, weight: FloatArray, first: IntArray
) -> IntArray:
    """Return the fold of each row (n,), whole groups in each and classes as even as these allow; fewer of few groups.

    Groups of the same size come in the order of random numbers. That of a group is the key of its `first` row, drawn by
    weight and by the keys (n,) alone: neither the order of rows nor the groups' names make a difference, and a row more
    seldom does.

    Raises
    ------
    ValueError
        If there is but one group.
    """
    n_groups = len(first)
    if n_groups == 1:
        raise ValueError(ONE_GROUP)
    drawn = keys[first]
    _, place, times = np.unique(drawn, return_inverse=True, return_counts=True)
    several = (times > 1)[place]
    if several.any():  # equal rows of several groups: the others of each group tell these apart
        total = np.zeros(n_groups, dtype=np.uint64)
        np.add.at(total, group, numbered_keys(keys, 0))
        drawn[several] = numbered_keys(drawn[several] + total[several], 0)
    n_folds = min(n_folds, n_groups, max(1, len(group) // 2))
    return placed_groups(group, codes, np.full(n_folds, 1.0 / n_folds), drawn, weight=weight)[group]


def drawn_rows(group: IntArray, keys: Keys, weight: FloatArray) -> IntArray:
    """Draw a row of each group, (groups,), by its weight and by the keys (n,) alone: never one of no weight."""
    order = np.lexsort((keys, waiting_times(keys, weight), group))
    found: IntArray = order[first_of_equals(group[order])]
    return found


def spread_folds(folds: IntArray, codes: Codes, counts: IntArray | None = None) -> IntArray:
    """Return these folds, or one for all where no class has rows in two.

    `counts` (K, folds) are of all rows, where these are not all.
    """
    if counts is None:
        counts = fold_counts(folds, codes, int(codes.max(initial=0)) + 1, int(folds.max(initial=0)) + 1)
    spread = np.any(np.count_nonzero(counts, axis=1) > 1)
    small = np.min_scalar_type(counts.shape[1] - 1)  # a byte for each row, where folds are few
    return (folds if spread else np.zeros_like(folds)).astype(small)


def fold_counts(folds: IntArray, codes: Codes, n_classes: int, n_folds: int) -> IntArray:
    """Count rows of each class in each fold, (K, folds)."""
    of_both = codes.astype(np.int64) * n_folds + folds
    return np.bincount(of_both, minlength=n_classes * n_folds).reshape(n_classes, n_folds)


def drawn_folds(numbers: np.ndarray, n_folds: int, seed: int) -> IntArray:
    """Draw the fold of each of many rows, by a random number that depends on its number and the seed alone."""
    high = numbered_keys(numbers, seed) >> np.uint64(32)
    return (high * np.uint64(n_folds) >> np.uint64(32)).astype(np.min_scalar_type(n_folds - 1))


def _fold_keys(X: Any, rows: IntArray, thresholds: Sequence[FloatArray]) -> Keys:
    """Return random numbers by the cells of features with thresholds, in their unit: 2 to a power, (n,)."""
    d = len(thresholds)
    odds, unit = odd_numbers(np.random.default_rng(1), d), np.zeros(d, dtype=np.int64)
    for j, own in enumerate(thresholds):
        size = np.sort(np.abs(own[own != 0.0]))
        if len(size):
            unit[j] = np.frexp(size[len(size) // 2])[1]  # a feature times a power of two has the same keys
        elif len(own) == 0:  # no tree can split this feature, so it must not tell rows apart
            odds[j] = 0
    return content_keys(X, rows, d, odds, unit)


def class_keys(keys: Keys, codes: Codes, seed: int) -> Keys:
    """Return random numbers that depend on the key, the class and the seed, (n,)."""
    return numbered_keys(numbered_keys(keys, seed) + codes.astype(np.uint64), seed)


def stated_folds(
    cv: Any, X: np.ndarray | SparseRows | RowBlocks, y: Labels | CodedLabels, group: IntArray | None = None
) -> IntArray:
    """Ask a splitter, which is told the groups, or pairs (train, test) for the fold of each row.

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


def fold_numbers(keys: Keys, codes: Codes, n_folds: int, seed: int, differ_by: Sequence[np.ndarray]) -> IntArray:
    """Draw the fold of each row (n,), classes spread evenly, of no more folds than half the rows.

    The rows of a class stand in the order of random numbers, and each fold has as long a part of them. So a row more
    moves no other than those at the ends of the parts, and one that weighs nearly nothing moves none.

    A row's number is made of its key, its class and how many such rows there were before. So the order of the rows
    makes no difference, and rows that are equal by chance, which new rows may repeat as well, fall in any folds. Rows
    of the same key stand in the order of what they `differ_by`, their weight (n,) first; the largest come first, so
    that a millionth more changes nothing.
    """
    n_folds = min(n_folds, max(1, len(codes) // 2))  # a fold has two rows at least
    weight, keys = fold_weights(codes, differ_by[0]), class_keys(keys, codes, seed)
    order = np.lexsort((*(-column for column in reversed(differ_by)), keys))
    first = first_of_equals(keys[order])
    before = np.arange(len(order)) - np.flatnonzero(first)[np.cumsum(first) - 1]
    # Rows that are equal in all that keys are made of are told apart by how many of them came before.
    again = order[~first]
    keys[again] = numbered_keys(keys[again] + before[~first].astype(np.uint64), seed)
    order = np.lexsort((keys, codes))
    own, label = weight[order], codes[order]
    end, of_class = np.cumsum(own), np.bincount(codes, weight)
    share = (end - 0.5 * own - (np.cumsum(of_class) - of_class)[label]) / of_class[label]
    folds = np.empty(len(order), dtype=np.int64)
    folds[order] = np.floor(n_folds * share + label + TURN) % n_folds  # a class begins where the one before ends
    return np.unique(folds, return_inverse=True)[1]
