"""Rows that others repeat: copies of rows, which are weights, and near copies, which belong together.

A few values meet by chance, and tomorrow's rows repeat them as today's do. Copies agree in everything. Two laws tell
one from the other, and neither asks what the columns mean.

- *Columns.* Of the pairs of rows that are equal by chance there are fewer with every column that is looked at. Let N_k
  be how many rows agree with a row in all but k of B blocks of columns. If blocks agree independently, N_1**2 is at
  least 2 B / (B - 1) N_0 N_2 (Newton). Copies raise N_0 alone, and where there are near rows, which may be measured
  again, they have the label of their row.
- *Times.* If rows are drawn, from whatever distribution, and f_k values are there k times, k! f_k are the moments of a
  mixture: the square of k! f_k is at most (k - 1)! f_{k-1} (k + 1)! f_{k+1}. In a table that is there twice, values
  are there twice, but none once or three times.

Near copies are told by distances. Of the k nearest rows of m dimensions the nearest one is at a share x of the
distance of the farthest one with probability 1 - (1 - x^m)^(k-1) or less, wherever the density is about constant.
Near copies that differ in some columns alone, such as a row number, are told by the law of columns: of the pairs of
rows that agree by chance in half of the columns of many values, less than half agree in two thirds of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minrisk._kernels.functions import exp, log, power
from minrisk._typing import Codes, FloatArray, IntArray, Keys
from minrisk._utils.algebra import orthonormal, product
from minrisk.data.row_blocks import blocks_of
from minrisk.data.row_keys import in_unit, mixed, numbered_keys, odd_numbers, summed_keys
from minrisk.data.sparse import DENSE_VALUES, SparseRows

TOLD_BY = 20_000  # rows that tell copies from coincidences, of more
COLUMN_BLOCKS, TURNS = 8, 4  # of columns, and ways to make blocks of them
TWIN_ROWS = 2000  # that tell whether columns are the same but for the names of their values
FEW_EQUAL, EQUAL_SHARE = 5, 0.02  # rows that may be equal for copies to be told by columns: so many, or this share
BEYOND_NEWTON = 8.0  # times as many equal rows as by independent blocks (few values, answers that go together: 2)
BEYOND_CHANCE = 4.0  # standard deviations, by which a number of values must be above the law of times
OWN_LABEL = 0.9  # of the rows equal to one that has near ones too, have its label if they are copies
NEIGHBOURS = 10, 50  # k: the first finds a few near copies of a row, the second as many as oversampling makes
FIRST_ASKED, ASKED = 100, 500  # rows whose neighbours are sought; the others only where some of the first have copies
CHANCE = 1e-3  # of a row that has no copy and yet one as near
NEAR_SHARE = 0.1  # of rows as near as that, from which there are near copies (vowel: 0.08, all others: 0.02 or less)
RARE_CLASS, RARE_SHARE = 0.5, 0.5  # of an even share of the rows: smaller classes are looked at alone; as `NEAR_SHARE`
SINGLE_SHARE = 0.98  # of the rows, that differ in a column of numbers of rows or of noise
FEWEST_COLUMNS = 4  # of many values: rows that are near or agree in fewer say nothing (zip code, latitude, longitude)
MOST_EQUAL = 0.05  # share of the pairs of rows that are equal in a column of many values, or of the rows with one value
NEAR_DIMENSIONS = 8  # in which near rows are sought
LARGEST_GROUP, SHORTER = 1 / 16, 0.8  # of the rows, at most; else with a radius so much shorter
SMALLEST = 1e-9  # of distances and of logarithms of their ratios


def content_keys(X: Any, rows: IntArray, d: int, odds: Keys, unit: IntArray | None = None) -> Keys:
    """Return a random number for each of these rows that depends on its first d cells alone, (n,).

    With `unit` (d,) on cells as float64 over 2**unit: whatever type they have, and units that are powers of two apart.
    """
    keys = np.zeros(len(rows), dtype=np.uint64)
    for places, block, inside in blocks_of(X, rows):
        own: Any = slice(None) if inside is None else inside
        if isinstance(block, SparseRows):
            keys[places] = block[own].keys(odds, unit)
            continue
        total = np.zeros(len(block) if inside is None else len(inside), dtype=np.uint64)
        with np.errstate(over="ignore"):
            for j in range(d):
                cells = block[own, j]
                total += mixed(cells if unit is None else in_unit(cells, unit[j]), odds[j])
        keys[places] = total
    return keys


def order_by_cells(X: np.ndarray, *others: np.ndarray) -> IntArray:
    """Return an order of rows that depends on their cells, and among equals on other columns, alone."""
    d = X.shape[1]
    keys = content_keys(X, np.arange(len(X)), d, odd_numbers(np.random.default_rng(1), d))
    return np.lexsort((*others, keys))


def told_by(numbers: IntArray, n_rows: int) -> IntArray:
    """Select rows of these numbers that tell copies from coincidences; of many a sample, drawn by the number alone."""
    if n_rows <= TOLD_BY:
        return np.arange(len(numbers))
    share = np.uint64(int(TOLD_BY / n_rows * 2.0**64))
    return np.flatnonzero(numbered_keys(numbers, 0) < share)


def are_copies(X: np.ndarray | SparseRows, label: Codes, d: int, by_times: bool = True) -> bool:
    """Tell whether rows that are equal in their first d cells are copies, no coincidences; False if none are equal.

    Not `by_times`: the law of columns alone tells, where other cells have made rows distinct.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, few, label = rng.normal(size=(500, 3)), rng.integers(0, 2, (500, 3)), rng.integers(0, 2, 500)
    >>> are_copies(X, label, 3), are_copies(few, label, 3), are_copies(np.tile(X, (2, 1)), np.tile(label, 2), 3)
    (False, False, True)
    """
    n, rng = len(label), np.random.default_rng(0)
    odds, block = odd_numbers(rng, d + 1), np.array([rng.permutation(d) % COLUMN_BLOCKS for _ in range(TURNS)])
    sums = _block_sums(X, block, odds)
    with np.errstate(over="ignore"):
        key = sums[0].sum(axis=0, dtype=np.uint64)
        of_label = key + mixed(label, odds[d])
    times = _times(key)
    if times.max(initial=1) == 1:
        return False
    n_values = np.sum(1.0 / times)
    if by_times and n_values**2 > n and _against_the_law(np.unique(of_label, return_counts=True)[1]):
        return True
    if d * TWIN_ROWS <= DENSE_VALUES:
        first = np.argsort(key, kind="stable")[:TWIN_ROWS]
        own = _together(np.asarray(X[first])[:, :d], 0.5 * float((_times(key[first]) - 1).sum()))
        if own.max() + 1 < d:
            block = np.stack([(rng.permutation(own.max() + 1) % COLUMN_BLOCKS)[own] for _ in range(TURNS)])
            sums = _block_sums(X, block, odds)
    told, lonely = _told_apart(sums, min(NEAR_SHARE, 0.75 * float(np.mean(times > 1))))
    if not told.any():
        return False
    own = (_times(of_label)[told & ~lonely] - 1) / (times[told & ~lonely] - 1)
    return len(own) == 0 or bool(np.mean(own) >= OWN_LABEL)


def keys_of_copies(
    X: np.ndarray | SparseRows, d: int, label: Codes, rows: IntArray, own: Sequence[np.ndarray] = ()
) -> Keys | None:
    """Return keys of these rows that only copies share, or None where equal rows are coincidences.

    Copies are equal in their first d cells, in label and in each of `own`, (N,).
    """
    few = told_by(np.arange(len(rows)), len(rows))
    told = X if isinstance(X, np.ndarray) and len(few) == len(X) else X[rows[few]]
    if not are_copies(told, label[rows[few]], d):
        return None
    del told
    odds = odd_numbers(np.random.default_rng(1), d + 1 + len(own))
    with np.errstate(over="ignore"):
        return content_keys(X, rows, d, odds) + summed_keys([column[rows] for column in (label, *own)], odds[d:])


def _told_apart(sums: Keys, least: float) -> tuple[np.ndarray, np.ndarray]:
    """Find rows that have more equal ones than their blocks of columns explain, in every turn; and without near ones.

    None if they are fewer than this share. Rows of frequent values do not count: they meet by chance, and would hide
    the copies of others.
    """
    none, told = np.zeros(sums.shape[2], dtype=np.bool_), np.ones(sums.shape[2], dtype=np.bool_)
    lonely = told.copy()
    for blocks in sums:
        used = blocks[np.ptp(blocks, axis=1) > 0]
        if len(used) < 2:  # of one block nothing can be told
            return none, none
        with np.errstate(over="ignore"):
            key = used.sum(axis=0, dtype=np.uint64)
            times = _times(key)
            but_one = [_times(key - own) - times for own in used]
            but_two = [
                _times(key - used[a] - used[b]) - times - but_one[a] - but_one[b]
                for a in range(len(used))
                for b in range(a)
            ]
        near = np.sum(but_one, axis=0, dtype=np.float64)
        lonely &= near == 0.0
        told &= (times > 1) & (times <= max(FEW_EQUAL, EQUAL_SHARE * len(times)))
        explained = near**2 * (len(used) - 1) / (2.0 * len(used) * (np.sum(but_two, axis=0) + 1.0))
        told &= times - 1.0 > BEYOND_NEWTON * explained
        if np.mean(told) < least:
            return none, none
    return told, lonely


def _times(key: Keys) -> IntArray:
    """Count the rows that have the key of each row."""
    order = np.argsort(key)
    begin = np.flatnonzero(np.diff(key[order], prepend=~key[order[:1]]))  # ~: unlike the first, which begins a run
    times, found = np.diff(begin, append=len(key)), np.empty(len(key), dtype=np.int64)
    found[order] = np.repeat(times, times)
    return found


def _block_sums(X: np.ndarray | SparseRows, block: IntArray, odds: Keys) -> Keys:
    """Return keys of cells of each block of columns, (turns, blocks, n), up to a constant; `block` is (turns, d)."""
    n, (turns, d) = len(X), block.shape
    sums = np.zeros((turns, COLUMN_BLOCKS, n), dtype=np.uint64)
    with np.errstate(over="ignore"):
        if isinstance(X, SparseRows):
            columns, row = X.matrix.indices, np.repeat(np.arange(n), np.diff(X.matrix.indptr))
            zero = np.zeros(1, dtype=X.dtype)
            cell = mixed(X.matrix.data, odds[columns]) - mixed(zero, odds[columns])
            for own, of_turn in zip(sums, block, strict=True):
                np.add.at(own, (of_turn[columns], row), cell)
            return sums
        for j in range(d):
            cell = mixed(X[:, j], odds[j])
            for own, of_turn in zip(sums, block, strict=True):
                own[of_turn[j]] += cell
    return sums


def _against_the_law(times: IntArray) -> bool:
    """Tell whether more values are there k times than can be, by those that are there once less and once more."""
    f = np.bincount(times, minlength=3).astype(np.float64)
    f = np.append(f, 0.0)
    k = np.arange(2, len(f) - 1)
    low, high = f[k - 1], f[k + 1]
    most = np.sqrt((k + 1) / k * low * high)
    deviation = np.sqrt(f[k] + 1.0 + (k + 1) / k * (low + high + 2.0) / 4.0)
    return bool(np.any(f[k] - most > BEYOND_CHANCE * deviation))


def _together(X: np.ndarray, n_equal: float) -> IntArray:
    """Number columns, (d,): those that tell the same or exclude each other have the same number.

    The first ones divide the rows alike, into few values; of the others, as of indicators, the rarer values never meet.
    """
    found, seen = np.zeros(X.shape[1], dtype=np.int64), dict[bytes, int]()
    taken = dict[int, np.ndarray]()
    for j, column in enumerate(X.T):
        _, first, place, times = np.unique(column, return_index=True, return_inverse=True, return_counts=True)
        if len(times) == 1:
            continue
        of_few = 0.5 * np.sum(times * (times - 1.0)) > 4.0 * n_equal  # not by the copies themselves
        division = first[place].tobytes()
        if not (of_few and division in seen):
            seen[division] = j
            if len(times) == 2:
                rare = place == np.argmin(times)
                k = next((k for k, rows in taken.items() if not np.any(rows & rare)), j)
                taken[k] = taken.get(k, rare) | rare
                seen[division] = k
        found[j] = seen[division]
    return np.unique(found, return_inverse=True)[1]


def merged(key: Keys, weight: FloatArray) -> tuple[FloatArray, IntArray]:
    """Give the first of the rows with the same key the weight of all of them, the others 0, (n,); and the first rows.

    A sum is rounded once, so that neither the order of rows matters nor whether a weight is a copy.
    """
    order = np.argsort(key, kind="stable")
    begin = np.flatnonzero(np.concatenate([[True], key[order][1:] != key[order][:-1]]))
    times = np.diff(begin, append=len(key))
    own, found, first = weight[order], np.zeros(len(key)), np.empty(len(key), dtype=np.int64)
    low, high = np.minimum.reduceat(own, begin), np.maximum.reduceat(own, begin)
    total = low * times
    for value in np.flatnonzero(low < high):
        total[value] = math.fsum(own[begin[value] : begin[value] + times[value]])
    found[order[begin]], first[order] = total, np.repeat(order[begin], times)
    return found, first


class MergedRows(NamedTuple):
    """Hold whether equal rows are copies, and what rows weigh of which copies are one."""

    copied: bool
    weight: FloatArray | None  # (N,); None: as before
    folds: IntArray | None = None  # (N,) of a splitter, which is asked once


class NearCopies(NamedTuple):
    """Rows of which others are near copies."""

    share: float  # of the rows, that have some
    group: IntArray | None  # (n,) of each row, numbered from 0; None: of stated groups


def near_copies(
    X: np.ndarray, key: Keys, group: IntArray | None = None, waves: bool = True, label: IntArray | None = None
) -> NearCopies | None:
    """Find near copies among distinct rows (n, d), or None.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        NaN counts as the median.
    key : ndarray of shape (n,)
        Random numbers, by which rows are chosen that tell for all.
    group : ndarray of int, (n,), optional
        Then near copies in other groups are sought, and no groups made.
    waves : bool
        Whether rows that differ in one column of few values are: where equal rows have been merged, such as short
        texts, that is nothing special.
    label : ndarray of int, (n,), optional
        Classes: each rare one is looked at by itself as well, since few rows of all are copies where it alone was
        oversampled with noise.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> about, key = rng.normal(size=(100, 6)), rng.integers(0, 2**63, 500).astype(np.uint64)
    >>> near_copies(rng.normal(size=(500, 6)), key) is None
    True
    >>> found = near_copies(np.repeat(about, 5, axis=0) + 0.03 * rng.normal(size=(500, 6)), key)
    >>> found.share, len(np.unique(found.group))
    (1.0, 100)
    """
    order = np.argsort(key, kind="stable")
    Z, cells = _ranks(X, order[:ASKED])
    found = [_near_but_for_numbers(X, group, waves)]
    if found[0] and found[0].share < NEAR_SHARE:
        found = [None]
    if len(cells) >= FEWEST_COLUMNS:
        asked = [(order[:ASKED], NEAR_SHARE)]
        if label is not None:
            counts = np.bincount(label)
            rare = np.flatnonzero(counts < RARE_CLASS * len(label) / len(counts))
            asked += [(order[label[order] == k][:ASKED], RARE_SHARE) for k in rare.tolist()]
        for rows, least in asked:
            if len(rows) > NEIGHBOURS[0]:
                found += [_near_by_distance(Z, rows, group, least), _near_by_agreement(cells, rows, group, least)]
    return max(filter(None, found), key=lambda own: own.share, default=None)


def _near_but_for_numbers(X: np.ndarray, group: IntArray | None, waves: bool) -> NearCopies | None:
    """Find copies in all columns but those in which nearly every row has a value of its own, such as a row number.

    Or in all of the others but one, such as the wave of a panel.
    """
    n, kept, n_values = len(X), dict[bytes, int](), dict[int, int]()
    for j, column in enumerate(X.T):
        values, place = np.unique(column, return_inverse=True)
        n_values[j] = len(values)
        if 1 < len(values) < SINGLE_SHARE * n:
            kept.setdefault(_order(place), j)
    m, columns = len(kept), list(kept.values())
    if m < FEWEST_COLUMNS:
        return None
    odds, none = odd_numbers(np.random.default_rng(0), m), np.zeros(n, dtype=np.int64)
    with np.errstate(over="ignore"):
        cell = np.stack([mixed(X[:, j], odd) for j, odd in zip(columns, odds, strict=True)])
        key = cell.sum(axis=0, dtype=np.uint64)
        if not (m < X.shape[1] and are_copies(X[:, columns], none, m)):
            shares = [float(np.mean(_times(key - own) > 1)) for own in cell]
            wave = int(np.argmax(shares))
            rest = columns[:wave] + columns[wave + 1 :]
            told = sum(n_values[j] > 2 for j in rest) >= FEWEST_COLUMNS and shares[wave] >= NEAR_SHARE
            if not (waves and told and are_copies(X[:, rest], none, m - 1, False)):
                return None
            key = key - cell[wave]
    _, own, times = np.unique(key, return_inverse=True, return_counts=True)
    if group is not None:
        pair = np.unique(np.stack([own, group]), axis=1)[0]
        return NearCopies(float(np.mean(np.bincount(pair)[own] > 1)), None)
    frequent = times[own] > _largest(n)  # a value that many rows have by chance
    own[frequent] = len(times) + np.flatnonzero(frequent)
    own = np.unique(own, return_inverse=True)[1]
    return NearCopies(_share(own), own)


def _near_by_distance(Z: FloatArray, asked: IntArray, group: IntArray | None, least: float) -> NearCopies | None:
    """Find near copies that differ a little in all columns, if this share of the rows asked, or more, has any."""
    scales = [k for k in NEIGHBOURS if 4 * k <= len(Z)]
    if not scales:
        return None
    distances = _distances(Z, asked[:FIRST_ASKED], 2 * scales[-1], group)
    if not any(_near(distances, k)[1].mean() > 0.25 * least for k in scales):
        return None
    distances = np.concatenate([distances, _distances(Z, asked[FIRST_ASKED:], 2 * scales[-1], group)])
    for k in scales:
        D, near = _near(distances, k)
        share = float(np.mean(near))
        if share < least:
            continue
        if group is not None:
            return NearCopies(share, None)
        inner = np.maximum(D[near, :k], SMALLEST)
        gap = np.argmax(inner[:, 1:] / inner[:, :-1], axis=1)  # between a row's copies and the rows beyond them
        edges = inner[np.arange(len(inner)), gap] * inner[np.arange(len(inner)), gap + 1]
        own = _chained(Z, float(exp(0.5 * np.mean(log(edges)))))
        return NearCopies(_share(own), own)
    return None


def _near_by_agreement(cells: IntArray, asked: IntArray, group: IntArray | None, least: float) -> NearCopies | None:
    """Find near copies that differ in some columns only, as `_near_by_distance` finds others."""
    m, n = cells.shape
    agreed, half = max(FEWEST_COLUMNS, -(-2 * m // 3)), -(-m // 2)
    for some, share in ((asked[:FIRST_ASKED], 0.25 * least), (asked, least)):
        agreeing, by_half = _times_agreeing(cells, some, (agreed, half), group).T
        found = float(np.mean(agreeing > 0))
        if found < share or 2 * agreeing.sum() < by_half.sum():
            return None
    if group is not None:
        return NearCopies(found, None)
    while agreed <= m:
        own = _tied(cells, agreed)
        if np.bincount(own).max() <= _largest(n):
            return NearCopies(_share(own), own)
        agreed = (agreed + m) // 2 + 1  # where rows that are merely alike tie too many together
    return None


def _times_agreeing(cells: IntArray, asked: IntArray, levels: tuple[int, ...], group: IntArray | None) -> IntArray:
    """Count the other rows with which some rows agree in so many columns or more, (m, levels)."""
    height, found = max(1, DENSE_VALUES // cells.shape[1]), []
    for first in range(0, len(asked), height):
        own = asked[first : first + height]
        agreements = np.zeros((len(own), cells.shape[1]), dtype=np.uint16)
        for column in cells:
            agreements += column == np.where(column[own] < 0, -2, column[own])[:, None]
        agreements[np.arange(len(own)), own] = 0
        if group is not None:
            agreements[group[own][:, None] == group] = 0
        found.append(np.stack([np.count_nonzero(agreements >= level, axis=1) for level in levels], axis=1))
    return np.concatenate(found)


def _tied(cells: IntArray, least: int) -> IntArray:
    """Group rows into chains, each row of which agrees with the next one in so many columns.

    Two such rows agree in all columns of one block, if there are more blocks than columns in which they differ.
    """
    m, n = cells.shape
    rng = np.random.default_rng(0)
    odds, block = odd_numbers(rng, m), rng.permutation(m) % (m - least + 1)
    keys = [summed_keys(cells[block == b], odds[block == b]) for b in range(m - least + 1)]
    found = []
    for b, key in enumerate(keys):
        order = np.lexsort((keys[b - 1], key))
        for apart in range(1, 4):  # because rows that agree less may stand between the two
            at = np.flatnonzero(key[order[apart:]] == key[order[:-apart]])
            found.append(order[at] * n + order[at + apart])
    one, other = np.divmod(np.unique(np.concatenate(found)), n)
    agreements = np.zeros(len(one), dtype=np.uint16)
    for column in cells:
        agreements += (column[one] == column[other]) & (column[one] >= 0)
    return _linked(np.stack([one, other])[:, agreements >= least], n)


def _largest(n: int) -> float:
    """Return how many of n rows may be in one group, so that rows are left for other folds."""
    return max(2.0 * NEIGHBOURS[0], LARGEST_GROUP * n)


def _share(group: IntArray) -> float:
    """Return share of the rows that are not alone in their group."""
    return float(np.mean(np.bincount(group)[group] > 1))


def _linked(pairs: IntArray, n: int) -> IntArray:
    """Group n rows, of which these pairs (2, m) are tied together."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    graph = coo_matrix((np.ones(pairs.shape[1]), (pairs[0], pairs[1])), shape=(n, n))
    group: IntArray = connected_components(graph, directed=False)[1].astype(np.int64)
    return group


def _near(distances: FloatArray, k: int) -> tuple[FloatArray, np.ndarray]:
    """Select distances of rows that have k neighbours, and tell whether the nearest is nearer than by chance."""
    D = distances[np.isfinite(distances[:, 2 * k - 1]) & (distances[:, k - 1] > 0.0), : 2 * k]
    if len(D) == 0:
        return distances, np.zeros(len(distances), dtype=np.bool_)
    spread = float(np.mean(log(D[:, -1] / D[:, k - 1])))
    dimension = float(np.sum(1.0 / np.arange(k, 2 * k))) / max(spread, SMALLEST)  # its maximum likelihood
    least = power(1.0 - power(1.0 - CHANCE, 1.0 / (k - 1)), 1.0 / dimension)
    return D, D[:, 0] < least * D[:, k - 1]


def _ranks(X: np.ndarray, some: IntArray) -> tuple[FloatArray, IntArray]:
    """Return columns of many values as shares of the rows below, (n, columns), and as codes of values, (columns, n).

    By shares no unit counts, and no tail. Codes of frequent values, in which rows agree by chance, are -1. Columns of
    which some rows have very few values are not looked at further, and of columns in the same order or the opposite one
    the first one stands for all.
    """
    ranks, cells, seen, n = [], [], set[bytes](), len(X)
    for column in X.T:
        of_some = np.unique(column[some], return_counts=True)[1] / len(some)
        if np.sum(of_some**2) > 3.0 * MOST_EQUAL:
            continue
        values = column.astype(np.float64)
        missing = np.isnan(values)
        if missing.any() and not missing.all():
            values[missing] = np.median(values[~missing])
        _, place, times = np.unique(values, return_inverse=True, return_counts=True)
        code = place.astype(np.int32)
        order = _order(code)
        if np.sum((times / n) ** 2) < MOST_EQUAL and order not in seen:
            seen.add(order)
            ranks.append(((np.cumsum(times) - 0.5 * times) / n)[place])
            cells.append(np.where(times[place] > MOST_EQUAL * n, -1, code))
    if not ranks:
        return np.empty((n, 0)), np.empty((0, n), dtype=np.int32)
    return np.ascontiguousarray(np.transpose(ranks)), np.stack(cells)


def _order(place: np.ndarray) -> bytes:
    """Name the order of rows by a column or its negative, given the place of each row's value."""
    return bytes(min(place.tobytes(), (place.max() - place).tobytes()))


def _distances(Z: FloatArray, asked: IntArray, k: int, group: IntArray | None) -> FloatArray:
    """Return distances of some rows to their k nearest ones, ascending, or to those in other groups, (m, k)."""
    squares, height = np.sum(Z**2, axis=1), max(1, DENSE_VALUES // len(Z))
    found = [np.empty((0, k))]
    for first in range(0, len(asked), height):
        own = asked[first : first + height]
        D = squares - 2.0 * product(Z[own], Z.T)
        D[np.arange(len(own)), own] = np.inf
        if group is not None:
            D[group[own][:, None] == group] = np.inf
        D = np.sort(np.partition(D, k - 1, axis=1)[:, :k], axis=1) + squares[own][:, None]
        found.append(np.sqrt(np.maximum(D, 0.0)))
    return np.concatenate(found)


def _chained(Z: FloatArray, radius: float) -> IntArray:
    """Group rows into chains, each row within this distance of the next one, or a shorter one.

    It is shorter where chains would run on through rows that are merely close.
    """
    from scipy.spatial import cKDTree

    (n, d), k = Z.shape, min(2 * NEIGHBOURS[0], len(Z) - 1)
    if d > NEAR_DIMENSIONS:  # in which rows are as near as they were, or nearer
        turned = orthonormal(np.random.default_rng(0).random((d, NEAR_DIMENSIONS)) - 0.5)
        low, bound = product(Z, turned), 1.5 * radius * np.sqrt(NEAR_DIMENSIONS / d)
    else:
        low, bound = Z, radius
    other = cKDTree(low).query(low, k=k + 1, distance_upper_bound=min(bound, radius) * (1.0 + 1e-9))[1]
    row, at = np.nonzero(other < n)
    pairs = np.stack([row, other[row, at]])
    apart, height = np.empty(len(row)), max(1, DENSE_VALUES // d)
    for first in range(0, len(row), height):
        part = slice(first, first + height)
        apart[part] = np.sqrt(np.sum((Z[pairs[0][part]] - Z[pairs[1][part]]) ** 2, axis=1))
    while True:
        own = _linked(pairs[:, apart <= radius], n)
        if np.bincount(own).max() <= _largest(n):
            return own
        radius *= SHORTER
