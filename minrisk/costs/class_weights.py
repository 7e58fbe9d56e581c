"""Factors on the weights of the rows of each class: what `class_weight` says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from minrisk._sums import sum_of_parts, whole_parts
from minrisk._typing import FloatArray, IntArray, Labels
from minrisk.costs.labels import as_labels, listed, match_labels
from minrisk.costs.units import Numbers, as_is, scaled


def stated_factors(class_weight: Mapping[Any, float] | str, labels: Labels, counted: np.ndarray) -> FloatArray | None:
    """Factor of each label (L,), 1 where it is not named; None: they are to be balanced.

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
    """Weights of rows times the factors of their labels, up to a power of two.

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
        As in `minrisk.costs.units.relative_weights`.

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
