"""Weights of rows: read and checked, in effective rows, and times what `class_weight` says of their classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from minrisk._typing import FloatArray, IntArray, Labels
from minrisk._utils.sums import sum_of_parts, whole_parts
from minrisk.costs.labels import as_labels, listed, match_labels
from minrisk.costs.units import Numbers, as_is, scaled
from minrisk.data.frames import NUMBERS, check_unmasked, is_missing

WEIGHT_BITS = 36  # of a weight over the largest one: later bits differ by the unit that weights were given in


def checked_weights(given: Any, n_rows: int, is_part: bool = False) -> FloatArray | None:
    """Return sample weights as an array of their own, (n,), None where none are given: asked once, where rows come in.

    One number is the weight of each row. Where the rows are a part of all, each of them may have a weight of 0.

    Raises
    ------
    ValueError
        If there is no finite number of 0 or more for each row, or none above 0 in all: as where there are several for
        each, in a table of costs, or a text such as "balanced", or a dict.
    """
    if given is None:
        return None
    check_unmasked(given, "sample_weight")
    cells = [given] * n_rows if isinstance(given, Real) else given
    try:
        found = np.asarray(cells)
    except ValueError:  # rows of different lengths
        raise ValueError("sample_weight must hold a number for each row, got several in some.") from None
    if isinstance(given, Mapping) or (found.ndim > 1 and found.shape[1:] != (1,)):
        of_shape = "" if isinstance(given, Mapping) else f" of shape {found.shape}"
        raise ValueError(
            f"sample_weight must hold a number for each row, got {type(given).__name__}{of_shape}: give weights in one "
            "dimension, and costs by their name, as cost=C."
        )
    if found.ndim == 0:
        raise ValueError(f"sample_weight must hold a number for each row, got {given!r}: give an array.")
    if len(found) != n_rows:
        raise ValueError(
            f"sample_weight must hold a number for each of the {n_rows} rows, got {len(found)}: give as many as there "
            "are rows."
        )
    if found.dtype.kind in "Mm":  # of nanoseconds NumPy would make whole numbers
        raise ValueError(f"sample_weight must hold a number for each row, got {found.dtype.name} values.")
    if found.dtype.kind not in NUMBERS:  # of lists as they are: NumPy makes texts of all beside one
        found = _as_numbers(cells if isinstance(cells, list | tuple) else found.ravel().tolist())
    with np.errstate(over="ignore"):  # of longer floats, which are then refused as infinite
        weight = np.array(found, dtype=np.float64).ravel()
    wrong = np.flatnonzero(~((weight >= 0.0) & (weight < np.inf)))
    if len(wrong) or not (is_part or weight.any()):
        got = f"{weight[wrong[0]]:g} in row {wrong[0]}" if len(wrong) else "only zeros"
        raise ValueError(
            f"sample_weight must be finite and zero or more, with one weight above zero, got {got}: correct it."
        )
    return weight


def _as_numbers(cells: Sequence[Any]) -> FloatArray:
    """Return cells of any kind as numbers, or say which of them is none."""
    numbers = np.empty(len(cells))
    for row, cell in enumerate(cells):
        if is_missing(cell) or not isinstance(cell, Real | Decimal | np.bool_):
            raise ValueError(f"sample_weight must hold a number for each row, got {cell!r} in row {row}.")
        try:
            numbers[row] = float(cell)
        except OverflowError:
            raise ValueError(f"sample_weight must hold numbers up to 1.8e308, got a larger one in row {row}.") from None
    return numbers


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
