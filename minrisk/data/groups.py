"""Groups of rows that belong together, such as all of one patient: read, and put into parts, none in two."""

from __future__ import annotations

from typing import Any

import numpy as np

from minrisk._kernels.functions import log
from minrisk._typing import Codes, FloatArray, IntArray, Keys
from minrisk._utils.text import short
from minrisk.data.labels import check_labels

PLACED_GROUPS = 20_000  # each is put where it is missing most, in half a second; smaller ones go anywhere
NEARLY = 1e-4  # sizes of groups that differ by a smaller share are equal, and their keys decide


def group_codes(groups: Any) -> IntArray | None:
    """Return the group of each row, numbered from 0 in the order of their names; None where there are none.

    Parameters
    ----------
    groups : array-like of shape (n,), optional
        Numbers, texts or dates.

    Raises
    ------
    ValueError
        If the group of a row is missing, or is none; or there are several for each.
    """
    if groups is None:
        return None
    names = np.asarray(check_labels(groups, "groups"))
    if names.ndim != 1:
        got = f"shape {names.shape}" if names.ndim else short(repr(groups))
        name = groups if isinstance(groups, str) else "patient"
        raise ValueError(
            f"groups must hold a number or a text for each row, got {got}: give the values of one column, as "
            f"X[{short(repr(name))}]."
        )
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def check_group_rows(group: IntArray | None, n_rows: int) -> None:
    """Raise a ValueError unless there is a group for each of so many rows."""
    if group is not None and len(group) != n_rows:
        raise ValueError(f"groups must hold a group for each of the {n_rows} rows, got {len(group)}.")


def placed_groups(
    group: IntArray,
    codes: Codes,
    shares: FloatArray,
    keys: Keys,
    largest_first: bool = True,
    most: int = PLACED_GROUPS,
    weight: FloatArray | None = None,
) -> IntArray:
    """Choose the part that each group is put into, (G,).

    One group after another goes where the sum of squares

        sum_p sum_k N_pk^2 / (n_k^2 s_p)

    over parts p and classes k (and all rows as one class more) grows least: N_pk is how many of the n_k rows of the
    class are in a part, s_p the share of all rows that it is to have. The sum is least where all N_pk = s_p n_k.

    Parameters
    ----------
    group : ndarray of int, (n,)
        Of each row; none is without rows.
    codes : ndarray of int, (n,)
        Class of each row.
    shares : ndarray of shape (parts,)
        Of all rows, that the parts are to have.
    keys : ndarray of shape (G,)
        Random numbers that groups are put in order by; with `largest_first` only those of the same size. A group's size
        is its share in the rows of the class of which it has the largest one.
    most : int
        Groups that are placed; the part of each further one is drawn by its key.
    weight : ndarray of shape (n,), optional
        What each row counts as. Sizes and sums that nearly tie are equal, so that a millionth of it decides nothing.

    Examples
    --------
    >>> group, codes, halves = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 0, 0, 1]), np.array([0.5, 0.5])
    >>> placed_groups(group, codes, halves, np.arange(3, dtype=np.uint64))
    array([0, 0, 1])
    """
    n_classes, n_groups = int(codes.max()) + 1, len(keys)
    pairs, place = np.unique(group * n_classes + codes, return_inverse=True)
    owner, label = np.divmod(pairs, n_classes)
    own = np.bincount(place, weight) / np.bincount(codes, weight)[label]
    of_rows = np.bincount(group, weight, n_groups) / (len(group) if weight is None else np.sum(weight))
    size = of_rows.copy()
    np.maximum.at(size, owner, own)
    order = np.lexsort((keys, -np.rint(log(size) / NEARLY))) if largest_first else np.argsort(keys, kind="stable")
    begin = np.searchsorted(owner, np.arange(n_groups + 1))
    inner = np.cumsum(shares)[:-1] / np.sum(shares)
    lower = keys & np.uint64((1 << 32) - 1)  # the upper half has put them in order
    part = np.searchsorted(inner, lower / 2.0**32, side="right")
    held, rows = np.zeros((len(shares), n_classes)), np.zeros(len(shares))
    for g in order[:most].tolist():
        some = slice(begin[g], begin[g + 1])
        k, n_k, n = label[some], own[some], of_rows[g]
        grows = np.sum((2.0 * held[:, k] + n_k) * n_k, axis=1) + (2.0 * rows + n) * n
        grows /= shares
        best = int(np.argmax(grows <= grows.min() * (1.0 + NEARLY)))
        held[best, k] += n_k
        rows[best] += n
        part[g] = best
    return part
