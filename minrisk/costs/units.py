"""Avoidable costs in a unit of their own: only their ratios matter, so a common factor must not."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray

SMALLEST_SHARE = 2.0**-900  # of the largest number, below which numbers count as 0: products of two must not vanish
LEAST_COUNT, MOST_COUNTS = 10, 1 << 16  # of units in the smallest number, and in the largest one, at most
WHOLE_WITHIN = 1e-9  # relative, within which a number is whole
LARGEST_FLOAT = float(np.finfo(np.float64).max)  # that means of costs and losses are shown as where they are beyond it
LARGEST_COST = 2.0**64  # in units of those that are not whole
TOO_DEAR = (
    "This loss depends on the size of costs, which over cost_scale must be at most {most:.2g}, got {top:.3g} over "
    "{scale:.3g}: state costs in a larger unit, or set cost_scale to what a mistake costs."
)
FIRST = 100  # numbers that mostly tell at once that not all are whole


Numbers = Callable[[np.ndarray], np.ndarray]


def as_is(own: np.ndarray) -> np.ndarray:
    """Return the array: the maximum and the sum over all places where there is but one."""
    return own


class AvoidableCosts(NamedTuple):
    """Costs above the least one of their row, which no decision avoids; stated costs are least + unit * table."""

    table: FloatArray  # (R, D)
    row: np.ndarray  # (n,) row of the table of each sample
    unit: float
    least: FloatArray  # (R,)

    @classmethod
    def of(
        cls,
        stated: FloatArray,
        row: np.ndarray,
        scale: float | None = None,
        counted: np.ndarray | None = None,
        largest: Numbers = as_is,
        added: Numbers = as_is,
    ) -> AvoidableCosts:
        """Make them of costs as they were stated; rows of the table that are not `counted` avoid nothing.

        `largest` and `added` are as in `relative_weights`, where other places have rows of the table, too.

        The unit is the `scale`, for losses that depend on the costs' size (GLL). Without one it is the largest number
        of which all avoidable costs are whole multiples, as 1 for 0/1 costs, or their median where there is none: a
        loss in proportion to the costs is the same in any unit.

        Raises
        ------
        ValueError
            If costs over the scale are too large for a loss of them.
        """
        least = stated.min(axis=1)
        own = stated - least[:, None]
        if counted is not None:
            own[~counted] = 0.0
        top = float(largest(np.array([own.max(initial=0.0)]))[0])
        table, exponent = scaled(own, top=top)
        positive = table[table > 0.0]
        low, high = bounds(positive, largest)
        if high <= 0.0:  # nothing to decide
            return cls(table, row, 1.0, least)
        if scale is not None:
            if top / scale > LARGEST_COST:
                raise ValueError(TOO_DEAR.format(top=top, scale=scale, most=LARGEST_COST))
            own = np.ldexp(table, exponent) / scale
            own[own < np.finfo(np.float64).tiny] = 0.0  # of which a loss could not be told from 0
            return cls(np.ascontiguousarray(own), row, float(scale), least)
        unit = whole_unit(positive, low, high, largest)
        if unit is None:
            unit = max(middle_of(positive, added), high / LARGEST_COST)
            table /= unit
        else:
            table = np.rint(table / unit)
        return cls(np.ascontiguousarray(table), row, float(np.ldexp(unit, exponent)), least)


def avoidable(costs: FloatArray) -> FloatArray:
    """Return a table (K, D), or tables (n, K, D), less the least entry of each row, times a power of two for each.

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
    """Return tables times a power of two for each, which brings the largest entry between 1/2 and 1."""
    size = np.abs(tables).max(axis=(-2, -1), keepdims=True, initial=0.0)
    return np.asarray(np.ldexp(tables, -np.frexp(size)[1]))


def bounds(positive: FloatArray, largest: Numbers = as_is) -> tuple[float, float]:
    """Return the least and the largest number of all places; without one infinite."""
    high, low = positive.max(initial=-np.inf), positive.min(initial=np.inf)
    return -float(largest(np.array([-low]))[0]), float(largest(np.array([high]))[0])


def scaled(values: FloatArray, smallest: float = SMALLEST_SHARE, top: float | None = None) -> tuple[FloatArray, int]:
    """Return numbers >= 0 times 2**-exponent, the largest from 1 up to 2, and the exponent; below `smallest` are 0.

    `top` is the largest number, where it may not be among these.
    """
    exponent = int(np.frexp(values.max(initial=0.0) if top is None else top)[1]) - 1
    found = np.ldexp(values, -exponent)  # exact, but for what is set to 0
    found[found < smallest] = 0.0
    return found, exponent


def unscaled(values: Any, exponent: int) -> Any:
    """Return means of `scaled` numbers as those of the numbers; `LARGEST_FLOAT` where rounding leads beyond it."""
    with np.errstate(over="ignore"):
        return np.minimum(np.ldexp(values, exponent), LARGEST_FLOAT)


def whole_unit(positive: FloatArray, least: float, most: float, largest: Numbers = as_is) -> float | None:
    """Return the largest number of which all these are whole multiples, to rounding, if they are not too many.

    The `least` and `most` are those of all places.
    """
    units = [least / count for count in range(1, LEAST_COUNT + 1)]
    units = list(itertools.takewhile(lambda unit: most / unit <= MOST_COUNTS, units))
    for unit in units:
        is_broken = not (_whole(positive[:FIRST] / unit) and _whole(positive / unit))
        if not largest(np.array([float(is_broken)]))[0]:
            return unit
    return None


def middle_of(positive: FloatArray, added: Numbers = as_is) -> float:
    """Return the lower median of positive numbers of all places."""
    if added is as_is:
        middle = (len(positive) - 1) // 2
        return float(np.partition(positive, middle)[middle])
    own = np.ascontiguousarray(positive).view(np.uint64)  # in the order of the numbers
    place, found = (int(added(np.array([len(own)]))[0]) - 1) // 2, 0
    for shift in range(56, -1, -8):  # a byte more of the number in the middle is known each time
        digits = (own >> np.uint64(shift)).astype(np.uint64) & np.uint64(255)
        counts = added(np.bincount(digits.astype(np.int64), minlength=256))
        digit = int(np.searchsorted(np.cumsum(counts), place, side="right"))
        place -= int(counts[:digit].sum())
        own, found = own[digits == digit], found << 8 | digit
    return float(np.array([found], dtype=np.uint64).view(np.float64)[0])


def _whole(counts: FloatArray) -> bool:
    return bool(np.all(np.abs(counts - np.rint(counts)) <= WHOLE_WITHIN * counts))
