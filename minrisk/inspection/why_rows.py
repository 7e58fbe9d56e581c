"""Which rows look most alike to a model: those that fall into the leaves of a row, in many trees.

The share of trees in whose leaf both rows fall is the similarity of random forests (Breiman and Cutler, "Random
forests", 2003, Sec. "Proximities"). Here each tree counts by the length of the vector that its leaf adds to the row's
scores: trees that say nothing about the row do not count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk.data.sparse_rows import block_height
from minrisk.inspection.shap_scores import with_linear_features
from minrisk.inspection.why_columns import codes_of_rows
from minrisk.model.trees import PackedTrees

_COMPARED_ROWS = 4096  # that are compared at a time: their numbers stay within the cache


class SimilarRow(NamedTuple):
    """A row that looks like another one to a model.

    Attributes
    ----------
    row : int
        Its number in X, from 0.
    label : label
        Its true class.
    decision : label
        What the model decides about it.
    similarity : float
        From 0 to 1, the weighted share of trees in which both fall into one leaf.
    """

    row: int
    label: Any
    decision: Any
    similarity: float


class _Box(NamedTuple):
    """The rows that a leaf holds: those whose features are above `low` and not above `high`."""

    feature: IntArray
    low: FloatArray
    high: FloatArray
    weight: float


def wide_rows(model: Any, codes: Any) -> FloatArray:
    """All that trees split, of rows of codes (n, d): the columns, what categories add, linear features."""
    return with_linear_features(model.model_, model._categories.numbers(codes))


def why_no_rows(model: Any) -> str | None:
    """Why rows cannot be compared by leaves; None: they can."""
    packed, name = model.model_.packed, type(model).__name__
    if isinstance(packed, PackedTrees):
        none = f"this {name} holds no tree that splits anything, so rows share no leaves"
        return None if packed.depth.any() else none
    explained = hasattr(packed, "anchors")
    way = "; minrisk.inspection.explain names the training rows that decisions rest on" if explained else ""
    return f"this {name} holds no trees, so rows share no leaves{way}"


def similarities(model: Any, codes: FloatArray, X: Any) -> FloatArray:
    """How alike each row of X is to a row of codes (1, d), (n,); the model holds trees that split.

    A row is 1 like itself.
    """
    boxes = list(_boxes(model, wide_rows(model, codes)[0]))
    whole, found = sum(box.weight for box in boxes), np.zeros(X.shape[0])
    rows = codes_of_rows(model, X)
    height = block_height(rows, _COMPARED_ROWS)
    for low in range(0, len(found), height):
        part = slice(low, low + height)
        columns = np.asfortranarray(wide_rows(model, np.asarray(rows[part], dtype=np.float64)))
        for box in boxes:
            found[part] += box.weight * _within(columns, box)
    return np.asarray(found / whole if whole > 0 else found)


def _within(columns: FloatArray, box: _Box) -> np.ndarray:
    """Whether each row is in a box; missing values are below all others."""
    inside = np.ones(len(columns), dtype=np.bool_)
    for j, low, high in zip(box.feature.tolist(), box.low.tolist(), box.high.tolist(), strict=True):
        column = columns[:, j]
        if low > -np.inf:
            inside &= column > low
        if high < np.inf:
            inside &= ~(column > high)
    return inside


def _boxes(model: Any, x: FloatArray) -> Iterator[_Box]:
    """Of the leaves that a row falls into, tree by tree; those that add nothing are left out."""
    packed, vectors = model.model_.packed, np.asarray(model.model_.vectors)
    feature, threshold, left = packed.of_nodes("feature"), packed.of_nodes("threshold"), packed.counted("left")
    vector, is_leaf = packed.counted("vector"), packed.is_leaf
    for t in np.flatnonzero(packed.depth):
        node, bounds = int(packed.offsets[t]), dict[int, tuple[float, float]]()
        while not is_leaf[node]:
            j, at = int(feature[node]), float(threshold[node])
            low, high = bounds.get(j, (-np.inf, np.inf))
            above = bool(x[j] > at)
            bounds[j] = (max(low, at), high) if above else (low, min(high, at))
            node = int(left[node]) + above
        weight = abs(_response(packed, node, x)) * math.hypot(*vectors[vector[node]])
        if weight > 0:
            sides = np.array(list(bounds.values())).reshape(-1, 2)
            yield _Box(np.array(list(bounds), dtype=np.int64), sides[:, 0], sides[:, 1], weight)


def _response(packed: PackedTrees, node: int, x: FloatArray) -> float:
    """What a leaf answers a row: see `minrisk.model.trees.Tree`."""
    value = 1.0 if packed.value is None else float(packed.value[node])
    if packed.slope is None or packed.slope[node] == 0.0:
        return value
    assert packed.origin is not None
    z = float(x[packed.feature[node]])
    return value if np.isnan(z) else value + float(packed.slope[node]) * (z - float(packed.origin[node]))
