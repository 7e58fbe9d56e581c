"""Weights of rows: read and checked, in effective rows, and times what `class_weight` says of their classes."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from minrisk._sums import sum_of_parts, whole_parts
from minrisk._typing import FloatArray, IntArray, Labels
from minrisk.costs.labels import as_labels, listed, match_labels
from minrisk.costs.units import Numbers, as_is, scaled
from minrisk.data.frames import NUMBERS, check_unmasked, is_missing, of_cells

WEIGHT_BITS = 36  # of a weight over the largest one: later bits differ by the unit that weights were given in


def check_weights(sample_weight: Any) -> Any:
    """Return sample weights as scikit-learn is to check them.

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
    check_unmasked(sample_weight, "sample_weight")
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


def as_weights(sample_weight: Any, n: int) -> FloatArray | None:
    """Return checked weights, (n,), None where there are none."""
    if sample_weight is None:
        return None
    weight = np.asarray(check_weights(sample_weight))
    if weight.shape == (n, 1):
        weight = weight.ravel()
    check_weight_count(weight, n)
    weight = weight.astype(np.float64)
    if not np.isfinite(weight).all() or weight.min() < 0 or not weight.any():
        raise ValueError(
            "sample_weight must be finite and zero or more, with one weight above zero, got "
            f"values from {weight.min():g} to {weight.max():g}: correct it."
        )
    return weight


def relative_weights(weight: FloatArray, largest: Numbers = as_is, added: Numbers = as_is) -> FloatArray:
    """Return weights in effective rows: 1 for each row where all are equal, and continuous in the weights.

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


def stated_factors(class_weight: Mapping[Any, float] | str, labels: Labels, counted: np.ndarray) -> FloatArray | None:
    """Return the factor of each label (L,), 1 where it is not named; None: they are to be balanced.

    Parameters
    ----------
    class_weight : mapping of labels to numbers above 0, or "balanced"
    labels : ndarray of shape (L,)
        All of y.
    counted : ndarray of bool, (L,)
        Whether rows of some weight have it.

    Raises
    ------
    ValueError
        If a label of rows that count is not named, and a name is none of the labels: it seems to be meant otherwise.
        Names of classes without rows are no mistake where all others are named, as in a fold without them.
    """
    if isinstance(class_weight, str):
        return None
    own, named = as_labels(labels), as_labels(class_weight, "the labels of class_weight")
    found = np.array(match_labels(own, named), dtype=np.int64)
    unknown = [name for place, name in enumerate(named) if place not in found]
    unnamed = [label for label, place, counts in zip(own, found, counted, strict=True) if counts and place < 0]
    if unknown and unnamed:
        raise ValueError(
            f"class_weight must name classes of y, got {listed(unknown)}, and nothing for {listed(unnamed)}: correct "
            "the labels."
        )
    factors = np.array([*class_weight.values(), 1.0], dtype=np.float64)  # the last is that of place -1
    return np.asarray(factors[found])


def weighted_by_class(
    weight: FloatArray,
    codes: IntArray,
    n_labels: int,
    factors: FloatArray | None,
    largest: Numbers = as_is,
    added: Numbers = as_is,
) -> FloatArray:
    """Return weights of rows times the factors of their labels, up to a power of two.

    Without factors these are sum_j n_j / (K n_k), n_k the weight of all rows of label k and K the number of labels that
    have some: the weights that scikit-learn calls "balanced".

    Parameters
    ----------
    weight : ndarray of shape (n,)
        Not all 0 in all places.
    codes : ndarray of int, (n,)
        Of labels.
    n_labels : int
    factors : ndarray of shape (L,), optional
    largest, added : callable, optional
        As in `minrisk.costs.weights.relative_weights`.

    Examples
    --------
    >>> weighted_by_class(np.ones(4), np.array([0, 1, 1, 1]), 2, None).round(2).tolist()
    [2.0, 0.67, 0.67, 0.67]
    """
    weight, _ = scaled(weight, top=float(largest(np.array([weight.max(initial=0.0)]))[0]))
    if factors is not None:
        return np.asarray(weight * scaled(factors)[0][codes])
    top = np.zeros(n_labels)
    np.maximum.at(top, codes, weight)
    top, n = largest(top), int(added(np.array([len(weight)]))[0])
    ends = np.cumsum(np.bincount(codes, minlength=n_labels))
    of_labels = np.split(weight[np.argsort(codes, kind="stable")], ends[:-1])
    parts = added(np.array([whole_parts(own, most, n) for own, most in zip(of_labels, top, strict=True)]))
    sums = np.array([sum_of_parts(own, most, n) for own, most in zip(parts, top, strict=True)])
    with np.errstate(divide="ignore"):
        balanced = np.where(sums > 0.0, sums.sum() / (np.count_nonzero(sums) * sums), 0.0)
    return np.asarray(weight * balanced[codes])
