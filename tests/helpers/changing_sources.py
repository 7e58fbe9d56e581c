"""Chunks that are other rows when they are read again, by number: refused, or none the less answered rightly."""

import warnings
from collections.abc import Iterator

import numpy as np

import minrisk.estimator.inputs
from minrisk import Chunks, MCBoostClassifier, MinRiskClassifier, REBELClassifier
from tests.helpers.odd_inputs import Outcome

METHODS = (MinRiskClassifier, REBELClassifier, MCBoostClassifier)
REFUSED = "The chunks must be the same whenever they are read"
WAYS = (
    "nothing",
    "a cell",
    "a label",
    "a weight",
    "two rows",
    "the order",
    "a chunk",
    "two chunks",
    "a row less",
    "a row more",
)


def changed(way, parts, rng):
    """The chunks of a later reading; features, labels and weights are copies."""
    parts = [tuple(column.copy() for column in part) for part in parts]
    at = int(rng.integers(len(parts)))
    X, y, weight = parts[at]
    row = int(rng.integers(len(y)))
    if way == "a cell":
        X[row, rng.integers(X.shape[1])] += rng.choice([1e-9, 1.0, np.nan])
    elif way == "a label":
        y[row] = (y[row] + 1) % 3
    elif way == "a weight":
        weight[row] *= 1 + rng.choice([1e-9, 1.0])
    elif way in ("two rows", "the order"):
        order = rng.permutation(len(y)) if way == "the order" else np.arange(len(y))
        if way == "two rows":
            order[[row, row - 1]] = order[[row - 1, row]]
        parts[at] = X[order], y[order], weight[order]
    elif way == "a chunk":
        parts[at] = X[::-1], y[::-1], weight[::-1]
    elif way == "two chunks":
        parts[at], parts[at - 1] = parts[at - 1], parts[at]
    elif way == "a row less":
        parts[at] = X[:-1], y[:-1], weight[:-1]
    elif way == "a row more":
        parts[at] = np.r_[X, X[:1]], np.r_[y, y[:1]], np.r_[weight, weight[:1]]
    return parts


def same(one, other):
    """Whether two readings are the same rows."""
    whole = [[np.concatenate(column) for column in zip(*parts, strict=True)] for parts in (one, other)]
    return all(a.shape == b.shape and np.array_equal(a, b, equal_nan=True) for a, b in zip(*whole, strict=True))


def outcome(number: int) -> Outcome:
    """What a fit of chunks says that change at one of its readings."""
    rng = np.random.default_rng(number)
    way, method = WAYS[number % len(WAYS)], METHODS[number // len(WAYS) % len(METHODS)]
    n = int(rng.integers(60, 150))
    X, y, weight = rng.normal(size=(n, 3)), rng.permutation(np.arange(n) % 3), rng.uniform(0.5, 2, n)
    X[:, 0] += y
    cuts = np.sort(rng.choice(np.arange(5, n - 5), int(rng.integers(1, 5)), replace=False))
    parts = [tuple(own) for own in zip(*(np.split(column, cuts) for column in (X, y, weight)), strict=True)]
    other, since, readings = changed(way, parts, rng), int(rng.integers(2, 4)), 0

    def read():
        nonlocal readings
        readings += 1
        yield from (other if readings >= since else parts)

    told = f"{way} of {method.__name__}, from reading {since}"
    model = method(n_estimators=3, random_state=0, n_jobs=1)
    try:
        model.fit(Chunks(read))
    except ValueError as error:
        clear = REFUSED in str(error) and not same(parts, other) and readings >= since
        return Outcome("error" if clear else "wrong", told, str(error))
    if readings >= since and not same(parts, other):
        return Outcome("wrong", told, "it was not noticed")
    right = np.array_equal(model.predict(X), method(**model.get_params()).fit(X, y, weight).predict(X))
    return Outcome("answer" if right else "wrong", told, "" if right else "other decisions than of the array")


def outcomes(first: int, last: int) -> Iterator[Outcome]:
    """Of cases one after another; chunks are read again however few they are."""
    kept, minrisk.estimator.inputs.KEPT_VALUES = minrisk.estimator.inputs.KEPT_VALUES, 100
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in range(first, last):
                yield outcome(number)
    finally:
        minrisk.estimator.inputs.KEPT_VALUES = kept
