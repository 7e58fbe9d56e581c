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
LARGEST_FLOAT = float(np.finfo(np.float64).max)  # that means of costs and losses are shown as where they are beyond it
LARGEST_COST = 2.0**64  # in units of those that are not whole
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
    def of(cls, stated: FloatArray, row: np.ndarray, counted: np.ndarray | None = None) -> AvoidableCosts:
        """From costs as they were stated; rows of the table that are not `counted` avoid nothing.

        The unit is the largest number of which all avoidable costs are whole multiples, as 1 for 0/1 costs; where
        there is none, it is their median. A loss that depends on the costs' size (GLL) is thus the same for any unit.
        """
        least = stated.min(axis=1)
        own = stated - least[:, None]
        if counted is not None:
            own[~counted] = 0.0
        table, exponent = scaled(own)
        positive = table[table > 0.0]
        if not len(positive):  # nothing to decide
            return cls(table, row, 1.0, least)
        unit = whole_unit(positive)
        if unit is None:
            middle = (len(positive) - 1) // 2
            unit = max(float(np.partition(positive, middle)[middle]), float(positive.max()) / LARGEST_COST)
            table /= unit
        else:
            table = np.rint(table / unit)
        return cls(np.ascontiguousarray(table), row, float(np.ldexp(unit, exponent)), least)


def check_weights(sample_weight: Any) -> Any:
    """Sample weights, as scikit-learn is to check them.

    Raises
    ------
    ValueError
        If one is missing, or is no number of float64; if they are a text such as "balanced", or a dict.
    """
    if isinstance(sample_weight, Real):  # the same for all rows
        return check_weights([sample_weight])[0]
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight)
    except ValueError:  # rows of different lengths
        raise ValueError("sample_weight must hold a number for each row, got several in some.") from None
    if isinstance(sample_weight, Mapping) or weights.ndim == 0:
        raise ValueError(f"sample_weight must hold a number for each row, got {sample_weight!r}: give an array.")
    if isinstance(sample_weight, list | tuple) and weights.ndim == 1 and weights.dtype.kind not in NUMBERS:
        weights = of_cells(sample_weight)  # as they are: NumPy makes texts of all beside one
    if weights.ndim == 1 and weights.dtype.kind in NUMBERS:
        with np.errstate(over="ignore"):  # of longer floats, which scikit-learn then refuses as infinite
            return np.array(weights, dtype=np.float64)  # not read-only, as some libraries' are: kernels know one kind
    if weights.ndim != 1 or weights.dtype.kind not in "OUSMmc":
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


def relative_weights(weight: FloatArray, largest: Numbers = as_is, added: Numbers = as_is) -> FloatArray:
    """Weights in rows: as many as each stands for where all are whole multiples of the least, else 1 in the mean.

    The mean is over positive weights.

    Parameters
    ----------
    weight : ndarray of shape (n,)
    largest, added : callable, optional
        Of an array, its elementwise maximum and the sum of whole numbers over all places where there are weights;
        default: all are here.
    """
    top = largest(np.array([weight.max(initial=0.0)]))
    weight, _ = scaled(weight, top=float(top[0]))
    positive = weight[weight > 0.0]
    most, least = (float(bound[0]) for bound in (
        largest(np.array([positive.max(initial=-np.inf)])), -largest(-np.array([positive.min(initial=np.inf)]))
    ))  # fmt: skip
    units = possible_units(least, most)
    broken = largest(np.array([0.0 if _whole_multiples(positive, unit) else 1.0 for unit in units] or [0.0]))
    unit = next((unit for unit, is_broken in zip(units, broken, strict=False) if not is_broken), None)
    if unit is not None:
        weight, least = np.rint(weight / unit), float(np.rint(least / unit))
        positive = weight[weight > 0.0]
        most = float(np.rint(most / unit))
    if unit is not None and least == 1.0:
        return np.asarray(weight)
    n_positive = int(added(np.array([len(positive)]))[0])
    sums = added(whole_parts(positive, most, n_positive))
    return np.asarray(weight / (sum_of_parts(sums, most, n_positive) / n_positive))


def scaled(
    values: FloatArray, smallest: float = SMALLEST_SHARE, top: float | None = None
) -> tuple[FloatArray, int]:
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


def whole_unit(positive: FloatArray) -> float | None:
    """The largest number of which all these are whole multiples, to rounding, if they are not too many."""
    units = possible_units(float(positive.min()), float(positive.max()))
    return next((unit for unit in units if _whole_multiples(positive, unit)), None)


def possible_units(least: float, most: float) -> list[float]:
    """Numbers of which all from the least to the most one may be whole multiples, if they are not too many."""
    units = [least / count for count in range(1, LEAST_COUNT + 1)]
    return list(itertools.takewhile(lambda unit: most / unit <= MOST_COUNTS, units))


def _whole_multiples(positive: FloatArray, unit: float) -> bool:
    return _whole(positive[:FIRST] / unit) and _whole(positive / unit)


def _whole(counts: FloatArray) -> bool:
    return bool(np.all(np.abs(counts - np.rint(counts)) <= WHOLE_WITHIN * counts))
