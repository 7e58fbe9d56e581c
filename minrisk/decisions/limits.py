r"""Decisions of which there may only be so many: the cheapest that keep to the limits, and what the limits cost.

Row i costs :math:`c_{id}` if decision d is taken, and of n rows at least :math:`l_d` and at most :math:`h_d` may get d.
The cheapest decisions solve a transportation problem, whose dual asks for a price of each decision,

.. math:: \max_p \sum_i \min_d (c_{id} + p_d) - \sum_d \max(h_d p_d, l_d p_d).

The dual is concave and, changed of sign, L-natural-convex: prices are best if and only if raising or lowering a *set*
of them together does not help (Murota, *Discrete Convex Analysis*, 2003, ch. 7 and 10). So sets are moved uphill:

1. The rows that have several cheapest decisions at these prices are shared out by a maximal flow. If all limits can be
   kept, and those with a price are used up, the decisions are the cheapest ones: primal and dual agree.
2. Otherwise a minimal cut names the set. It is moved to the best point along this line, which is an order statistic of
   the rows' differences.

This cannot stall as a search along coordinates could. Few steps are needed, since first prices come from a part of the
rows, and better ones from those that are nearly undecided, with a slack below which differences count as none and which
shrinks from phase to phase (cost scaling). The last search is among all rows, without slack.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk._utils import warn_caller
from minrisk.costs import CostMatrix
from minrisk.costs.labels import Labels, as_labels, listed, match_decisions, match_labels
from minrisk.decisions.costs import costs_for, expected_costs

ROUNDING = 16.0 * float(np.finfo(np.float64).eps)  # of costs and prices: smaller differences are none
WHOLE = 1e-12  # of a number of rows: shares that miss a whole number by less mean that one
FEW_ROWS = 1 << 14  # rows that prices are first sought with
UNDECIDED = 16  # one in so many rows is looked at next
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
            f"limits must be a dict of decisions and numbers, got {type(limits).__name__}: write {{'refer': 100}} for "
            "at most 100 rows or {'refer': 0.05} for at most this share of them."
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
    return low, high


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
            f"limits[{label!r}] must leave a whole number of rows, got {limit!r}, which of {n} rows is from {least:g} "
            f"to {most:g}: lower the first number or raise the second one."
        )
    if low > high and most is not None:
        raise ValueError(
            f"limits[{label!r}] must have its lower limit first, got {limit!r}, at least {low} and at most {high} of "
            f"{n} rows: exchange the two or raise the upper one."
        )
    if low > n:
        raise ValueError(
            f"limits[{label!r}] must ask for no more than the {n} rows that there are, got {limit!r}: lower it."
        )
    return low, min(high, n)


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
    if np.any(low > high) or not low.sum() <= n <= high.sum():
        raise ValueError(
            f"limits must leave a decision for each of the {n} rows, got lower ones {listed(low.tolist())} and upper "
            f"ones {listed(high.tolist())}: read them by read_limits, which says what is wrong."
        )
    costs = np.ascontiguousarray(expected.T)
    prices = np.zeros(D)
    nearest = _nearest(costs, prices)
    counts = np.bincount(nearest.chosen, minlength=D)
    if np.all((low <= counts) & (counts <= high)):
        return Assignment(nearest.chosen, prices)
    prices, chosen = _best_prices(costs, low, high, _first_prices(costs, low, high))
    assert chosen is not None  # the limits can be kept
    return Assignment(chosen, _marginal_prices(costs, chosen, low, high))


class _Nearest(NamedTuple):
    """Hold the first cheapest decision of each row, and by how much the next one is more expensive; (n,) each."""

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
        count = np.add.reduce(is_tied, axis=0, dtype=np.uint16)
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
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    T, D = ties.kinds.shape
    counts = np.bincount(ties.kind, minlength=T)
    n, least = len(ties.first), int(low.sum())
    if least > n:
        return _Cut(np.ones(D, dtype=np.bool_), -1.0)
    kind, decision = np.nonzero(ties.kinds)
    of_decision, further, sink = np.arange(T + 1, T + D + 1), T + D + 1, T + D + 2
    start = np.concatenate([np.zeros(T + D, dtype=np.int64), kind + 1, of_decision, of_decision, [further]])
    end = [np.arange(1, T + D + 1), decision + T + 1, np.full(D, sink), np.full(D, further), [sink]]
    room = np.concatenate([counts, ties.alone, counts[kind], low, high - low, [n - least]])
    room, start, ends = (part.astype(np.int32) for part in (room, start, np.concatenate(end)))  # as SciPy's flows want
    network = coo_matrix((room, (start, ends)), shape=(sink + 1, sink + 1)).tocsr()
    flow = maximum_flow(network, 0, sink)
    if flow.flow_value == n:
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
    costs: FloatArray, low: IntArray, high: IntArray, prices: FloatArray, slack: float = 0.0, reach: float = math.inf
) -> tuple[FloatArray, IntArray | None]:
    """Return prices with decisions that are within `slack` of the cheapest ones, which keep to the limits.

    Each step raises the dual, so that none comes twice. No decisions (None) if none keep to the limits, or if prices
    move by more than `reach` against each other.
    """
    start, prices = prices, prices.copy()
    while True:
        ties = _ties(costs, prices, slack)
        shares = _shared_out(ties, np.where(prices > 0.0, high, low), np.where(prices < 0.0, low, high))
        if not isinstance(shares, _Cut):
            order = ties.rows[np.argsort(ties.kind, kind="stable")]
            ties.first[order] = np.repeat(np.tile(np.arange(len(costs)), len(shares)), shares.ravel())
            return prices, ties.first
        step = _step(costs, prices, shares, low, high)
        if not math.isfinite(step):
            return prices, None
        prices[shares.decisions] += shares.sign * step
        if np.ptp(prices - start) > reach:
            return prices, None


def _narrowed(
    costs: FloatArray, low: IntArray, high: IntArray, prices: FloatArray, reach: float = math.inf
) -> FloatArray:
    """Return prices that are nearly best, as slack shrinks until few rows are within it; or the first out of reach."""
    start = prices
    for slack in _slacks(costs, prices):
        prices, _ = _best_prices(costs, low, high, prices, slack, reach)
        if np.ptp(prices - start) > reach:
            break
    return prices


def _slacks(costs: FloatArray, prices: FloatArray) -> Iterator[float]:
    """Yield slacks from part of the median gap of rows, which one large cost does not move, to that of one row."""
    gap = _nearest(costs, prices).gap
    slack, left = float(np.median(gap)) or float(gap.mean()), float(len(gap))
    while left > 1.0 and slack > 0.0:
        slack, left = slack / NARROWED, left / NARROWED
        yield slack


def _first_prices(costs: FloatArray, low: IntArray, high: IntArray) -> FloatArray:
    """Return prices to begin with: of some rows, and then of those nearly undecided, the others left where they are.

    If prices move so far that others do not stay there, all rows are asked with less and less slack until they do.
    """
    D, n = costs.shape
    every = n // FEW_ROWS
    if every < 4:
        return _narrowed(costs, low, high, np.zeros(D))
    some = np.ascontiguousarray(costs[:, ::every])
    m = some.shape[1]
    prices = _narrowed(some, low * m // n, -(-high * m // n), np.zeros(D))
    for slack in _slacks(costs, prices):
        found, moved, widest = _of_undecided(costs, low, high, prices)
        if moved <= widest:
            return found
        prices, _ = _best_prices(costs, low, high, prices, slack)
    return prices


def _of_undecided(
    costs: FloatArray, low: IntArray, high: IntArray, prices: FloatArray
) -> tuple[FloatArray, float, float]:
    """Return the best prices if only nearly undecided rows move, how far they are, and how far they may be for that."""
    D, n = costs.shape
    chosen, gap = _nearest(costs, prices)
    widest = float(np.partition(gap, n // UNDECIDED)[n // UNDECIDED])
    rows = np.flatnonzero(gap <= widest)
    some, m = costs[:, rows], len(rows)
    if m > n // 2:  # ties: there are few prices to try, and no row can be left out
        return prices, 0.0, 0.0
    decided = np.bincount(chosen, minlength=D) - np.bincount(chosen[rows], minlength=D)
    least, most = np.maximum(low - decided, 0), np.clip(high - decided, 0, m)
    if least.sum() > m:
        return prices, math.inf, widest
    found = _narrowed(some, least, most, prices, widest)
    if np.ptp(found - prices) <= widest:
        found, _ = _best_prices(some, least, most, found)
    return found, float(np.ptp(found - prices)), widest


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


# -- rows that come singly ---------------------------------------------------------------------------------------------
class PricedLimits(NamedTuple):
    """Costs by which rows that come singly are decided so that limits hold on average.

    Attributes
    ----------
    cost : CostMatrix or ndarray of shape (n, K, D)
        What decisions cost, prices included: for ``model.predict(X, cost=priced.cost)`` or `apply_costs`.
        If a price is below 0, the same number is added to all costs so that none is below 0, which changes no decision.
        An array, of these rows, if their costs are one: `added_to` gives that of other rows.
    prices : dict
        The price of each decision, in the unit of the costs: for an upper limit what one more place would save.
    expected : dict
        How many of the rows each decision gets by these costs.
    interval : dict
        For each limited decision the least and the greatest number of rows, among as many new ones, that it will get
        with the stated confidence.
    n : int
        The number of rows.
    confidence : float
    """

    cost: CostMatrix | FloatArray
    prices: dict[Any, float]
    expected: dict[Any, int]
    interval: dict[Any, tuple[int, int]]
    n: int
    confidence: float

    def added_to(self, cost: Any) -> FloatArray:
        """Return costs of other rows with prices, to decide about these by.

        Parameters
        ----------
        cost : array-like of shape (K, D) or (n, K, D)
            With the decisions in the order of `prices`.

        Raises
        ------
        ValueError
            If there are not as many decisions.
        """
        values, prices = np.asarray(cost, dtype=np.float64), np.array(list(self.prices.values()))
        if values.ndim not in (2, 3) or values.shape[-1] != len(prices):
            raise ValueError(
                f"cost must be an array (K, {len(prices)}) or (n, K, {len(prices)}), with a column for each of the "
                f"decisions {listed(list(self.prices))}, got shape {values.shape}: give all of them in this order."
            )
        return _priced(values, prices)


def price_limits(model: Any, X: Any, limits: Any, cost: Any = None, *, confidence: float = 0.9) -> PricedLimits:
    r"""Price limits by recent rows, to decide by the same prices about rows that come singly.

    Limits can be kept exactly only among rows that are decided together. If each row is to be decided when it comes,
    take the prices of a recent day, week or month: a decision whose places are scarce costs its price more.

    Parameters
    ----------
    model : classifier
        A fitted one with `predict_proba` and `classes_`.
    X : array-like of shape (n, d)
        Recent rows, which the model has not been trained on. Labels are not needed.
    limits : dict
        For labels of decisions an int (at most so many of n rows), a float (at most this share) or a pair (low, high).
    cost : array-like of shape (K, D) or (n, K, D), DataFrame, dict, CSV file or CostMatrix, optional
        One matrix, or one for each of these rows. By default the costs that the model has been fitted with.
    confidence : float, default=0.9
        Of the intervals of counts.

    Returns
    -------
    PricedLimits
        Costs with prices, the prices, and how many rows each decision gets by them.

    Raises
    ------
    ValueError
        If the model has no costs, or costs that differ by row, and none are given; or if the limits are refused by
        `read_limits`.

    Warns
    -----
    UserWarning
        If so many rows are expected to cost the same by several decisions that prices cannot share them out.

    Notes
    -----
    There are two binomial errors in the number N of n new rows that a decision gets. The share q of the population that
    gets the decision differs from that of the recent rows, as they are a sample; and so are the new ones. Of continuous
    costs, q is a Beta variable: what lies beyond an order statistic of n rows. If c recent rows get the decision, N is
    then beta-binomial with n trials and parameters (c + 1, n - c) or (c, n - c + 1), the price being that of the next
    row or of the last one. An interval reaches from the lower quantile of the second to the upper one of the first. It
    is for rows from the same population: prices should be found again when it changes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from minrisk import price_limits
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = np.where(X[:, 0] + rng.normal(size=2000) > 1, "fraud", "fair")
    >>> model = LogisticRegression().fit(X[:1000], y[:1000])
    >>> cost = {"fair": {"fraud": 5, "refer": 1}, "fraud": {"fair": 20, "refer": 1}}
    >>> priced = price_limits(model, X[1000:], {"refer": 100}, cost)
    >>> priced.expected["refer"], priced.interval["refer"]
    (100, (79, 124))
    >>> bool(priced.prices["refer"] > 0)
    True
    """
    if isinstance(confidence, bool) or not isinstance(confidence, Real) or not 0.0 < float(confidence) < 1.0:
        raise ValueError(f"confidence must be a number between 0 and 1, got {confidence!r}: 0.9 is usual.")
    classes = as_labels(model.classes_)
    p = np.asarray(model.predict_proba(X), dtype=np.float64)
    n = len(p)
    if n == 0:
        raise ValueError("X must have rows to find prices by, got none: give recent rows, a thousand or more.")
    costs = costs_for(model, cost, n)
    values, decisions = costs.table, as_labels(costs.decisions)
    low, high = read_limits(limits, decisions, n, classes)
    prices = assigned(expected_costs(p, values), low, high).prices
    priced = _priced(values, prices)
    counts = np.bincount(expected_costs(p, priced).argmin(axis=1), minlength=len(decisions))
    for d, label in enumerate(decisions):
        if not low[d] - len(decisions) <= counts[d] <= high[d] + len(decisions):
            warn_caller(
                f"prices alone cannot keep the limit of {label!r}, expected from {low[d]} to {high[d]} rows, got "
                f"{counts[d]}, as many rows are expected to cost the same: decide rows together with limits=, or use a "
                "model whose probabilities differ more.",
                UserWarning,
            )
    limited = [d for d in range(len(decisions)) if low[d] > 0 or high[d] < n]
    return PricedLimits(
        CostMatrix(priced, classes, decisions, allow_diagonal=True) if priced.ndim == 2 else priced,
        dict(zip(decisions, prices.tolist(), strict=True)),
        dict(zip(decisions, counts.tolist(), strict=True)),
        {decisions[d]: _new_counts(int(counts[d]), n, float(confidence)) for d in limited},
        n,
        float(confidence),
    )


def _priced(values: FloatArray, prices: FloatArray) -> FloatArray:
    """Return costs with prices, none of them below 0."""
    made = values + prices
    return np.asarray(made - min(0.0, float(made.min(initial=0.0))))


def _new_counts(count: int, n: int, confidence: float) -> tuple[int, int]:
    """Return how many of n new rows get a decision that `count` of n recent rows got: both samples vary."""
    tail = (1.0 - confidence) / 2.0
    low = 0 if count == 0 else _quantile(tail, n, count, n - count + 1)
    return low, n if count == n else _quantile(1.0 - tail, n, count + 1, n - count)


def _quantile(level: float, n: int, a: int, b: int) -> int:
    """Return the least count whose beta-binomial distribution function reaches a level; SciPy's sums from 0."""
    from scipy.stats import betabinom

    mean, spread = float(betabinom.mean(n, a, b)), float(betabinom.std(n, a, b))
    first, last = max(0, math.floor(mean - SPREADS * spread)), min(n, math.ceil(mean + SPREADS * spread))
    below = np.cumsum(betabinom.pmf(np.arange(first, last + 1), n, a, b))
    return first + int(np.searchsorted(below, level * below[-1]))
