r"""Decisions of which there may only be so many: the cheapest that keep to the limits, and what the limits cost.

Row i costs :math:`c_{id}` if decision d is taken, and of n rows at least :math:`l_d` and at most :math:`h_d` may get d.
The cheapest decisions solve a transportation problem, whose dual asks for a price of each decision,

.. math:: \max_p \sum_i \min_d (c_{id} + p_d) - \sum_d \max(h_d p_d, l_d p_d).

The dual is concave and, changed of sign, L-natural-convex: prices are best if and only if raising or lowering a *set* of
them together does not help (Murota, *Discrete Convex Analysis*, 2003, ch. 7 and 10). So the search goes uphill by sets:

1. The rows that have several cheapest decisions at these prices are shared out by a maximal flow. If all limits can be
   kept, with no place left where a price says there is none, the decisions are the cheapest ones: primal and dual agree.
2. Otherwise a minimal cut names the set. It is moved to the best point along this line, which is an order statistic of
   the rows' differences.

No step is left to chance and none can stall, as coordinates alone could. The way is short since prices come from a part
of the rows, and then from those that are nearly undecided, with a slack below which differences count as none that
shrinks from phase to phase (cost scaling). The last search is among all rows, without slack.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow
from scipy.stats import betabinom

from minrisk._typing import FloatArray, IntArray
from minrisk._utils import warn_caller
from minrisk._utils.algebra import product
from minrisk.costs import CostMatrix, is_per_row
from minrisk.costs.labels import Labels, as_labels, listed, match_decisions, match_labels
from minrisk.costs.matrix import is_frame
from minrisk.costs.reading import CostsPerRow, aligned, has_matrices, is_of_samples

ROUNDING = 16.0 * float(np.finfo(np.float64).eps)  # of costs and prices: smaller differences are none
WHOLE = 1e-12  # of a number of rows: shares that miss a whole number by less mean that one
FEW_ROWS = 1 << 14  # rows that prices are first sought with
UNDECIDED = 16  # one in so many rows is looked at next
REFOCUSED = 4  # times that other rows are nearly undecided than was thought
NARROWED = 8.0  # factor by which slack shrinks
BLOCK = 1 << 15  # rows at a time, so that their costs stay in the cache
SPREADS = 12.0  # standard deviations of a count around its mean beyond which nothing happens


# -- limits as users give them -----------------------------------------------------------------------------------------
def read_limits(limits: Any, decisions: Any, n: int, classes: Any = ()) -> tuple[IntArray, IntArray]:
    """Return the least and the greatest number of rows that each decision may get.

    Parameters
    ----------
    limits : dict
        For labels of decisions an int (at most so many rows), a float from 0 to 1 (at most this share of the rows), or
        a pair of a lower and an upper limit of these kinds. None: no limit.
        The least number of a share is rounded up, the greatest one down.
    decisions : array-like of D labels
    n : int
        The number of rows.
    classes : array-like of K labels, optional
        With them the default names of a decision that is no class, ``"refer"`` and -1, mean each other.

    Returns
    -------
    low, high : ndarray of shape (D,)
        From 0 to n.

    Raises
    ------
    TypeError
        If `limits` is no dict.
    ValueError
        If a label is not among the decisions or occurs twice, a limit is none of these or no number of rows is within
        it, or no decisions keep to all limits.

    Examples
    --------
    >>> low, high = read_limits({"refer": 100, "pay": (0.25, None)}, ["pay", "refuse", "refer"], 1000)
    >>> low.tolist(), high.tolist()
    ([250, 0, 0], [1000, 1000, 100])
    """
    if not isinstance(limits, Mapping):
        raise TypeError(
            f"limits must be a dict of decisions and numbers, got {type(limits).__name__}: write {{'refer': 100}} for at "
            "most 100 rows or {'refer': 0.05} for at most this share of them."
        )
    names, labels = as_labels(decisions, "decisions"), list(limits)
    known = as_labels(classes)
    places = match_decisions(labels, names, known) if known else match_labels(labels, names)
    if unknown := [label for label, at in zip(labels, places, strict=True) if at < 0]:
        raise ValueError(
            f"limits must be of decisions, expected labels among {listed(names)}, got {listed(unknown)}: correct the "
            "labels."
        )
    low, high = np.zeros(len(names), dtype=np.int64), np.full(len(names), n, dtype=np.int64)
    taken: dict[int, Any] = {}
    for label, at in zip(labels, places, strict=True):
        if at in taken:
            raise ValueError(
                f"limits must name each decision once, got {taken[at]!r} and {label!r}, which are the same: remove one "
                "of them."
            )
        taken[at] = label
        low[at], high[at] = _bounds(label, limits[label], n)
    _check_feasible(names, low, high, n)
    return low, np.minimum(high, n)


def _bounds(label: Any, limit: Any, n: int) -> tuple[int, int]:
    """Return what one limit says in rows."""
    pair = tuple(limit) if isinstance(limit, (tuple, list)) else (None, limit)
    if len(pair) != 2:
        raise _no_limit(label, limit, "a pair has two entries, None where there is no limit")
    least, most = (_rows(label, one, limit, n) for one in pair)
    low, high = 0 if least is None else math.ceil(least - WHOLE * least), n
    if most is not None:
        high = math.floor(most + WHOLE * most)
    if low > high and least is not None and most is not None and least <= most:
        raise ValueError(
            f"limits[{label!r}] must leave a whole number of rows, got {limit!r}, which of {n} rows is from {least:g} to "
            f"{most:g}: lower the first number or raise the second one."
        )
    if low > high and most is not None:
        raise ValueError(
            f"limits[{label!r}] must have its lower limit first, got {limit!r}, at least {low} and at most {high} of {n} "
            "rows: exchange the two or raise the upper one."
        )
    return low, high


def _rows(label: Any, limit: Any, given: Any, n: int) -> float | int | None:
    """Return one side of a limit in rows, not rounded; None for none."""
    if limit is None:
        return None
    if isinstance(limit, (bool, np.bool_)) or not isinstance(limit, Real):
        raise _no_limit(label, given, "True, texts and arrays are no numbers of rows")
    if isinstance(limit, Integral):
        if limit < 0:
            raise _no_limit(label, given, "write 0 for no row at all, None for no limit")
        return int(limit)
    share = float(limit)
    if not 0.0 <= share <= 1.0:
        raise _no_limit(label, given, "a number of rows is an int, as in 100, and a share of them a float, as in 0.05")
    return share * n


def _no_limit(label: Any, given: Any, way: str) -> ValueError:
    return ValueError(
        f"limits[{label!r}] must be an int of 0 or more (rows), a float from 0 to 1 (share of rows) or a pair (low, "
        f"high) of these, got {given!r}: {way}."
    )


def _check_feasible(names: Labels, low: IntArray, high: IntArray, n: int) -> None:
    def told(counts: IntArray) -> str:
        return ", ".join(f"{name!r}: {count}" for name, count in zip(names[:8], counts.tolist(), strict=False))

    rest = ", ..." if len(names) > 8 else ""
    if low.sum() > n:
        raise ValueError(
            f"limits must ask for no more than the {n} rows that there are, got at least {low.sum()} in all "
            f"({told(low)}{rest}): lower some of the lower limits."
        )
    if high.sum() < n:
        raise ValueError(
            f"limits must leave a decision for each of the {n} rows, got at most {high.sum()} in all "
            f"({told(high)}{rest}): raise some of them, or leave one decision without an upper limit (shares are "
            "rounded down to whole rows)."
        )


# -- the cheapest decisions within limits ------------------------------------------------------------------------------
class Assignment(NamedTuple):
    """The cheapest decisions within limits.

    Attributes
    ----------
    chosen : ndarray of shape (n,)
        Numbers of the decisions.
    prices : ndarray of shape (D,)
        What the limits cost, 0 where they do not.
    """

    chosen: IntArray
    prices: FloatArray


def assigned(expected: FloatArray, low: IntArray, high: IntArray) -> Assignment:
    r"""Return the cheapest decisions within limits, and the price of each limit.

    Parameters
    ----------
    expected : ndarray of shape (n, D)
        What each decision about each row is expected to cost, finite.
    low, high : ndarray of shape (D,)
        How many rows each decision must and may get, as of `read_limits`.

    Returns
    -------
    chosen : ndarray of int of shape (n,)
        ``expected[i, chosen[i]]`` summed is the least possible. Without limits that bind, this is
        ``expected.argmin(axis=1)``.
    prices : ndarray of shape (D,)
        Rows take the decision that is cheapest after prices: ``chosen[i]`` is one of the smallest entries of
        ``expected[i] + prices``, up to rounding. Above 0 for upper limits that bind, below 0 for lower ones.

    Notes
    -----
    Best prices are not unique, as there is a gap between the last row within a limit and the first one beyond it.
    These are returned:

    - The price of an upper limit is what all decisions together would cost less with one more place, exactly. So one
      more place is worth it if it costs less than that. These are the least of all best prices, which exist in common.
    - Lower limits have the prices nearest to 0 that go with these. Where no upper limit binds, that is what decisions
      would cost less if one row less were asked for.

    Of two limits of the same decision, all else being equal, the larger one never has the larger price.
    Only rows that several decisions suit equally well depend on the order of rows.

    Examples
    --------
    Two of these rows would be referred, the first of which gains 3 and the second 1. With one place the first row is
    referred, and another place would save 1.

    >>> expected = np.array([[4.0, 1.0], [2.0, 1.0], [0.0, 1.0]])
    >>> chosen, prices = assigned(expected, np.array([0, 0]), np.array([3, 1]))
    >>> chosen.tolist(), prices.tolist()
    ([1, 0, 0], [0.0, 1.0])
    """
    expected = np.asarray(expected, dtype=np.float64)
    n, D = expected.shape
    low, high = np.asarray(low, dtype=np.int64), np.minimum(np.asarray(high, dtype=np.int64), n)
    costs = np.ascontiguousarray(expected.T)
    prices = np.zeros(D)
    nearest = _nearest(costs, prices)
    counts = np.bincount(nearest.chosen, minlength=D)
    if np.all((low <= counts) & (counts <= high)):
        return Assignment(nearest.chosen, prices)
    prices, chosen = _best_prices(costs, low, high, _first_prices(costs, low, high), 0.0)
    if chosen is None:
        raise ValueError(f"limits cannot be kept: expected lower ones that sum to {n} at most and upper ones to {n} at "
                         f"least, got {low.sum()} and {high.sum()}: read them by read_limits.")
    return Assignment(chosen, _marginal_prices(costs, chosen, low, high))


class _Nearest(NamedTuple):
    """Of each row, the first cheapest decision, and by how much the next one is more expensive; (n,) each."""

    chosen: IntArray
    gap: FloatArray


class _Ties(NamedTuple):
    """Which decisions are cheapest for which rows.

    Attributes
    ----------
    first : ndarray of shape (n,)
        The first cheapest decision of each row.
    rows : ndarray of shape (m,)
        The rows that have several.
    kinds : ndarray of bool of shape (T, D)
        The sets of decisions that they have.
    kind : ndarray of shape (m,)
        Which of these.
    alone : ndarray of shape (D,)
        How many rows have this decision alone.
    """

    first: IntArray
    rows: IntArray
    kinds: np.ndarray
    kind: IntArray
    alone: IntArray


class _Cut(NamedTuple):
    """A set of decisions whose prices should change, in which direction: 1 or -1."""

    decisions: np.ndarray
    sign: float


def _blocks(n: int) -> Iterator[slice]:
    return (slice(first, min(n, first + BLOCK)) for first in range(0, n, BLOCK))


def _nearest(costs: FloatArray, prices: FloatArray) -> _Nearest:
    D, n = costs.shape
    found = _Nearest(np.zeros(n, dtype=np.int64), np.empty(n))
    for part in _blocks(n):
        least, second = costs[0, part] + prices[0], np.inf
        chosen = found.chosen[part]
        for d in range(1, D):
            own = costs[d, part] + prices[d]
            second = np.minimum(second, np.maximum(least, own))
            chosen[own < least] = d
            np.minimum(least, own, out=least)
        np.subtract(second, least, out=found.gap[part])
    return found


def _ties(costs: FloatArray, prices: FloatArray, slack: float) -> _Ties:
    D, n = costs.shape
    first, far = np.zeros(n, dtype=np.int64), float(np.abs(prices).max())
    rows: list[IntArray] = []
    sets: list[np.ndarray] = []
    for part in _blocks(n):
        priced = costs[:, part] + prices[:, None]
        least = priced.min(axis=0)
        priced -= least
        is_tied = priced <= np.maximum(slack, ROUNDING * (np.abs(least) + far))
        count = np.add.reduce(is_tied, axis=0, dtype=np.uint8)
        for d in range(D - 1, -1, -1):
            first[part][is_tied[d]] = d
        several = np.flatnonzero(count > 1)
        rows.append(several + part.start)
        sets.append(np.packbits(is_tied[:, several], axis=0).T)
    at, packed = np.concatenate(rows), np.ascontiguousarray(np.concatenate(sets))
    width = packed.shape[1]
    kinds, kind = np.unique(packed.view(f"V{width}").ravel(), return_inverse=True)
    members = np.unpackbits(kinds.view(np.uint8).reshape(len(kinds), width), axis=1, count=D).astype(np.bool_)
    alone = np.bincount(first, minlength=D) - np.bincount(first[at], minlength=D)
    return _Ties(first, at, members, kind.ravel(), alone)


def _shared_out(ties: _Ties, low: IntArray, high: IntArray) -> IntArray | _Cut:
    """Return how many rows of each kind get each decision, (T, D), or the set whose price is wrong.

    A flow from a source to kinds and decisions, and from these by their least places, or by a node for further ones,
    to a sink. Cut at the nodes that the source still reaches, decisions there have too many rows of their own if
    further places are not reached; else the other decisions have too few.
    """
    T, D = ties.kinds.shape
    counts = np.bincount(ties.kind, minlength=T)
    n, least = len(ties.first), int(low.sum())
    kind, decision = np.nonzero(ties.kinds)
    of_decision, further, sink = np.arange(T + 1, T + D + 1), T + D + 1, T + D + 2
    start = np.concatenate([np.zeros(T + D, dtype=np.int64), kind + 1, of_decision, of_decision, [further]])
    end = [np.arange(1, T + D + 1), decision + T + 1, np.full(D, sink), np.full(D, further), [sink]]
    room = np.concatenate([counts, ties.alone, counts[kind], low, high - low, [max(0, n - least)]])
    network = coo_array((room.astype(np.int32), (start, np.concatenate(end))), shape=(sink + 1, sink + 1)).tocsr()
    flow = maximum_flow(network, 0, sink)
    if flow.flow_value == n >= least:
        return np.asarray(flow.flow[1 : T + 1, T + 1 : T + D + 1].toarray(), dtype=np.int64)
    left = (network - flow.flow > 0).astype(np.int32)
    left.eliminate_zeros()
    reached = np.zeros(sink + 1, dtype=np.bool_)
    reached[breadth_first_order(left, 0, return_predecessors=False)] = True
    decisions = reached[T + 1 : T + D + 1]
    return _Cut(~decisions, -1.0) if reached[further] else _Cut(decisions, 1.0)


def _step(costs: FloatArray, prices: FloatArray, cut: _Cut, low: IntArray, high: IntArray) -> float:
    """Return by how much to change the prices of a set: to the best point along this line; infinity if there is none.

    A row changes sides where the change exceeds its difference. Raised prices are best where no more rows stay than
    there are places, lowered ones where enough have come; a price that passes 0 turns from one limit to the other.
    """
    inside, sign = cut
    n = costs.shape[1]
    differences = np.empty(n)
    for part in _blocks(n):
        priced = costs[:, part] + prices[:, None]
        own, others = priced[inside].min(axis=0, initial=np.inf), priced[~inside].min(axis=0, initial=np.inf)
        np.subtract(others, own, out=differences[part])
    differences *= sign
    along, start = sign * prices[inside], 0.0
    for end in [*np.unique(-along[along < 0.0]), np.inf]:
        upper = (along + start >= 0.0) == (sign > 0.0)
        places = int(np.where(upper, high[inside], low[inside]).sum())
        step = _largest(differences, places + 1 if sign > 0.0 else n - places + 1)
        if step <= end:
            return max(step, start)
        start = float(end)
    return math.inf


def _largest(values: FloatArray, k: int) -> float:
    """Return the k-th largest of values, infinity for k < 1, minus infinity if there are fewer."""
    if not 1 <= k <= len(values):
        return math.inf if k < 1 else -math.inf
    return float(np.partition(values, len(values) - k)[len(values) - k])


def _best_prices(
    costs: FloatArray, low: IntArray, high: IntArray, prices: FloatArray, slack: float
) -> tuple[FloatArray, IntArray | None]:
    """Return prices with decisions that are within `slack` of the cheapest ones; None: no decisions keep to the limits.

    Each step raises the dual, so that none comes twice.
    """
    D = len(costs)
    prices = prices.copy()
    while True:
        ties = _ties(costs, prices, slack)
        shares = _shared_out(ties, np.where(prices > 0.0, high, low), np.where(prices < 0.0, low, high))
        if not isinstance(shares, _Cut):
            ties.first[ties.rows[np.argsort(ties.kind, kind="stable")]] = np.repeat(
                np.tile(np.arange(D), len(shares)), shares.ravel()
            )
            return prices, ties.first
        step = _step(costs, prices, shares, low, high)
        if not math.isfinite(step):
            return prices, None
        prices[shares.decisions] += shares.sign * step


def _narrowed_prices(costs: FloatArray, low: IntArray, high: IntArray, prices: FloatArray) -> FloatArray:
    """Return prices that are nearly best, with less and less slack until hardly a row is within it."""
    slack, left = float(_nearest(costs, prices).gap.mean()), float(costs.shape[1])
    while left > 1.0 and slack > 0.0:
        slack, left = slack / NARROWED, left / NARROWED
        prices, _ = _best_prices(costs, low, high, prices, slack)
    return prices


def _first_prices(costs: FloatArray, low: IntArray, high: IntArray) -> FloatArray:
    """Return prices to begin with: of some rows, and then of those nearly undecided, the others left where they are."""
    D, n = costs.shape
    every = n // FEW_ROWS
    if every < 4:
        return _narrowed_prices(costs, low, high, np.zeros(D))
    some = np.ascontiguousarray(costs[:, ::every])
    m = some.shape[1]
    prices = _narrowed_prices(some, low * m // n, -(-high * m // n), np.zeros(D))
    for _ in range(REFOCUSED):
        chosen, gap = _nearest(costs, prices)
        widest = float(np.partition(gap, n // UNDECIDED)[n // UNDECIDED])
        rows = np.flatnonzero(gap <= widest)
        some, m = costs[:, rows], len(rows)
        decided = np.bincount(chosen, minlength=D) - np.bincount(chosen[rows], minlength=D)
        least, most = np.maximum(low - decided, 0), np.clip(high - decided, 0, m)
        if m > n // 2 or least.sum() > m:
            break
        found, _ = _best_prices(some, least, most, _narrowed_prices(some, least, most, prices), 0.0)
        moved, prices = float(np.ptp(found - prices)), found
        if moved <= widest:  # the others are where they were
            break
    return prices


def _marginal_prices(costs: FloatArray, chosen: IntArray, low: IntArray, high: IntArray) -> FloatArray:
    """Return the best prices that `assigned` promises, by shortest paths among decisions.

    An edge from d to e is as long as the cheapest change of a row from d to e. Best prices are those for which
    p_d - p_e is at most that, and which are 0 or more unless a lower limit is met, 0 or less unless an upper one is.
    """
    D, n = costs.shape
    change = np.full((D, D), np.inf)
    for part in _blocks(n):
        block, own = costs[:, part], chosen[part]
        for d in range(D):
            rows = np.flatnonzero(own == d)
            if len(rows):
                mine = block[:, rows]
                np.minimum(change[d], (mine - mine[d]).min(axis=1), out=change[d])
    counts = np.bincount(chosen, minlength=D)
    is_floor, is_ceiling = (low == 0) | (counts > low), (high >= n) | (counts < high)
    least = np.where(is_floor, 0.0, -np.inf)
    for _ in range(D):
        least = np.maximum(least, (least[:, None] - change).max(axis=0))
    prices = np.where(is_ceiling, 0.0, np.maximum(least, 0.0))
    for _ in range(D):
        prices = np.minimum(prices, (prices + change).min(axis=1))
    return np.where(is_floor, np.maximum(prices, 0.0), prices) + 0.0
