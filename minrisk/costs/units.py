"""Weights and avoidable costs in units of their own: only their ratios matter, so a common factor must not."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from minrisk._sums import sum_of_parts, whole_parts
from minrisk._typing import FloatArray
from minrisk.data.frames import NUMBERS, is_missing, of_cells

SMALLEST_SHARE = 2.0**-900  # of the largest number, below which numbers count as 0: products of two must not vanish
LEAST_COUNT, MOST_COUNTS = 10, 1 << 16  # of units in the smallest number, and in the largest one, at most
WHOLE_WITHIN = 1e-9  # relative, within which a number is whole
WEIGHT_BITS = 36  # of a weight over the largest one: later bits differ by the unit that weights were given in
LARGEST_FLOAT = float(np.finfo(np.float64).max)  # that means of costs and losses are shown as where they are beyond it
LARGEST_COST = 2.0**64  # in units of those that are not whole
TOO_DEAR = (
    "This loss depends on the size of costs, which over cost_scale must be at most {most:.2g}, got {top:.3g} over "
    "{scale:.3g}: state costs in a larger unit, or set cost_scale to what a mistake costs."
)
FIRST = 100  # numbers that mostly tell at once that not all are whole


Numbers = Callable[[np.ndarray], np.ndarray]


def as_is(own: np.ndarray) -> np.ndarray:
    """Of all places where there is but one."""
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
        """From costs as they were stated; rows of the table that are not `counted` avoid nothing.

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


def check_weights(sample_weight: Any) -> Any:
    """Sample weights, as scikit-learn is to check them.

    Raises
    ------
    ValueError
        If one is missing, or is no number of float64; if there are several for each row, as in a table of costs; if
        they are a text such as "balanced", or a dict.
    """
    if isinstance(sample_weight, Real):  # the same for all rows
        return check_weights([sample_weight])[0]
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight)
    except ValueError:  # rows of different lengths
        raise ValueError("sample_weight must hold a number for each row, got several in some.") from None
    if isinstance(sample_weight, Mapping) or (weights.ndim > 1 and weights.shape[1:] != (1,)):
        of_shape = "" if isinstance(sample_weight, Mapping) else f" of shape {weights.shape}"
        raise ValueError(
            f"sample_weight must hold a number for each row, got {type(sample_weight).__name__}{of_shape}: give "
            "weights in one dimension, and costs by their name, as cost=C."
        )
    if weights.ndim == 0:
        raise ValueError(f"sample_weight must hold a number for each row, got {sample_weight!r}: give an array.")
    if isinstance(sample_weight, list | tuple) and weights.ndim == 1 and weights.dtype.kind not in NUMBERS:
        weights = of_cells(sample_weight)  # as they are: NumPy makes texts of all beside one
    if weights.ndim == 1 and weights.dtype.kind in NUMBERS:
        with np.errstate(over="ignore"):  # of longer floats, which scikit-learn then refuses as infinite
            return np.array(weights, dtype=np.float64)  # not read-only, as some libraries' are: kernels know one kind
    if weights.dtype.kind in "Mm":  # of nanoseconds NumPy would make whole numbers below
        raise ValueError(f"sample_weight must hold a number for each row, got {weights.dtype.name} values.")
    if weights.ndim != 1 or weights.dtype.kind not in "OUSc":
        return sample_weight
    numbers = np.empty(len(weights))
    for row, weight in enumerate(weights.tolist()):
        if is_missing(weight) or not isinstance(weight, Real | Decimal | np.bool_):
            raise ValueError(f"sample_weight must hold a number for each row, got {weight!r} in row {row}.")
        try:
            numbers[row] = float(weight)
        except OverflowError:
            raise ValueError(f"sample_weight must hold numbers up to 1.8e308, got a larger one in row {row}.") from None
    return numbers


def check_weight_count(weights: Any, n_rows: int) -> None:
    """Raise a ValueError unless there is one weight for each of so many rows."""
    shape = np.shape(weights)
    if shape == (n_rows,):
        return
    way = "give as many as there are rows" if len(shape) == 1 else "give them in one dimension"
    got = shape[0] if len(shape) == 1 else "one number" if not shape else f"shape {shape}"
    raise ValueError(f"sample_weight must hold a number for each of the {n_rows} rows, got {got}: {way}.")


def relative_weights(weight: FloatArray, largest: Numbers = as_is, added: Numbers = as_is) -> FloatArray:
    """Weights in effective rows: 1 for each row where all are equal, and a continuous function of the weights.

    They are weight * sum(weight) / sum(weight^2). Their total is thus Kish's effective number of rows,
    sum(weight)^2 / sum(weight^2), which a row whose weight goes to 0 leaves as if it were not there. A common factor
    changes nothing, and a power of two not a bit.

    Parameters
    ----------
    weight : ndarray of shape (n,)
    largest, added : callable, optional
        Of an array, its elementwise maximum and the sum of whole numbers over all places where there are weights;
        default: all are here.

    Examples
    --------
    >>> relative_weights(np.array([2.0, 2.0, 0.0])).tolist()
    [1.0, 1.0, 0.0]
    >>> relative_weights(np.array([3.0, 1.0])).round(3).tolist()
    [1.2, 0.4]
    """
    top = float(largest(np.array([weight.max(initial=0.0)]))[0])
    found, exponent = scaled(weight, top=top)
    part, size = np.frexp(found / np.ldexp(top, -exponent))  # of 1, where all are equal
    weight = np.ldexp(np.rint(np.ldexp(part, WEIGHT_BITS)), size - WEIGHT_BITS)  # the same in any unit
    n = int(added(np.array([np.count_nonzero(weight)]))[0])
    sums = added(np.array([whole_parts(weight, 1.0, n), whole_parts(weight * weight, 1.0, n)]))
    total, squares = (sum_of_parts(of_all, 1.0, n) for of_all in sums)
    return np.asarray(weight * (total / squares))


def bounds(positive: FloatArray, largest: Numbers = as_is) -> tuple[float, float]:
    """The least and the largest number of all places; without one infinite."""
    high, low = positive.max(initial=-np.inf), positive.min(initial=np.inf)
    return -float(largest(np.array([-low]))[0]), float(largest(np.array([high]))[0])


def scaled(values: FloatArray, smallest: float = SMALLEST_SHARE, top: float | None = None) -> tuple[FloatArray, int]:
    """Numbers >= 0 times 2**-exponent, the largest from 1 up to 2, and the exponent; below `smallest` they are 0.

    `top` is the largest number, where it may not be among these.
    """
    exponent = int(np.frexp(values.max(initial=0.0) if top is None else top)[1]) - 1
    found = np.ldexp(values, -exponent)  # exact, but for what is set to 0
    found[found < smallest] = 0.0
    return found, exponent


def unscaled(values: Any, exponent: int) -> Any:
    """Means of `scaled` numbers as those of the numbers; at most `LARGEST_FLOAT`, beyond which only rounding leads."""
    with np.errstate(over="ignore"):
        return np.minimum(np.ldexp(values, exponent), LARGEST_FLOAT)


def whole_unit(positive: FloatArray, least: float, most: float, largest: Numbers = as_is) -> float | None:
    """The largest number of which all these are whole multiples, to rounding, if they are not too many.

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
    """The lower median of positive numbers of all places."""
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
