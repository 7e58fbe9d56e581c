"""Trees of a model as a table with a line for each node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minrisk._typing import IntArray
from minrisk._utils.packages import pandas
from minrisk._utils.workers import Workers
from minrisk.costs.labels import label_text
from minrisk.data.sparse import block_height
from minrisk.estimator.fitted import check_fitted
from minrisk.inspection.columns import codes_of_rows, names_of_features, rows_here
from minrisk.inspection.shap_scores import TreeNodes
from minrisk.inspection.why_decision import wide_rows
from minrisk.model.trees import PackedTrees

_COUNTED_TOGETHER = 4096  # rows that fall through the trees at a time
_INTERCEPT = -1  # the number of the tree that stands for the scores before the first round


def to_frame(model: Any, X: Any = None, *, names: Sequence[str] | None = None) -> Any:
    """Return the trees of a model as a DataFrame with a line for each node.

    Parameters
    ----------
    model : estimator
        A fitted classifier of minrisk.
    X : array-like of shape (n, d), table, or mapping with the values of one row, optional
        Rows that are counted in every node, such as the training rows. By default there are no counts, because models
        keep none.
    names : sequence of d str, optional
        Names of the columns of X. By default those of the training table, or ``x[0]``, ``x[1]``, … for an array.

    Returns
    -------
    DataFrame
        A line for each node; see Notes.

    Raises
    ------
    TypeError
        If the model is no classifier of minrisk, or holds no trees.
    NotFittedError
        If it is not fitted.
    ValueError
        If X is no rows of its columns, or `names` are not d.
    ImportError
        If pandas is not installed.

    Notes
    -----
    The columns:

    - ``tree``: number of the tree, from 0 in the order of the sum; -1 for the intercept.
    - ``round``: the round that added it, from 1; 0 for the intercept.
    - ``member``: its place in the round, from 0; for a `MinRiskClassifier` the number of the member.
    - ``node``: number in the tree; 0 is the root.
    - ``depth``: number of splits above the node.
    - ``parent``: its node; -1 for the root.
    - ``feature``: name of what is split; None at leaves without a slope. Linear features are ``"linear 0"``, ``"linear
      1"``, …, the columns of ``model.model_.projection``.
    - ``threshold``, ``left``, ``right``: where rows go; NaN and -1 at leaves.
    - ``missing``: the node for missing values, which is `left`.
    - ``gain``: share of the loss that the split took away; NaN at leaves.
    - ``response``: what the learner answers in a leaf; NaN elsewhere.
    - ``score of LABEL``: what a leaf adds to each score, response times vector; NaN elsewhere. If classes have words of
      an output code, these columns are ``bit 0``, ``bit 1``, ….
    - ``origin``, ``slope of LABEL``: of leaves with a slope, if there are any; 0 at other leaves.
    - ``rows``: number of rows of X in the node, if X is given.

    The scores H(x) of a row are the sums of the columns ``score of …`` over the leaves that it falls into, one in each
    tree.
    From node 0 it goes `left` if its value is missing or at most `threshold`, and else `right`.
    Tree -1 is a leaf alone: the scores before the first round.
    A leaf with a slope also adds its ``slope of …`` times x - `origin`, where x is the value of its `feature`; nothing
    if x is missing.
    Smooth members of a `MinRiskClassifier` are not in the table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minrisk import REBELClassifier
    >>> from minrisk.inspection import to_frame
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = REBELClassifier(n_estimators=2, max_depth=1).fit(X, y)
    >>> frame = to_frame(model, X)
    >>> frame[["tree", "node", "feature", "threshold", "left", "right", "rows"]].round(2)
       tree  node            feature  threshold  left  right  rows
    0    -1     0               None        NaN    -1     -1   150
    1     0     0  petal length (cm)       2.45     1      2   150
    2     0     1               None        NaN    -1     -1    50
    3     0     2               None        NaN    -1     -1   100
    4     1     0   petal width (cm)       1.75     1      2   150
    5     1     1               None        NaN    -1     -1   104
    6     1     2               None        NaN    -1     -1    46
    """
    model = check_fitted(model, "to_frame")
    packed = model.model_.packed
    if not isinstance(packed, PackedTrees):
        raise TypeError(
            f"to_frame is about trees, but the learners of this {type(model).__name__} are none: give a model whose "
            "weak learners are trees."
        )
    columns = _columns(model, packed, names)
    if X is not None:
        X = rows_here(model, X)
        columns["rows"] = np.concatenate([[X.shape[0]], _counts(model, packed, X)])
    pd = pandas()
    columns["feature"] = pd.Series(columns["feature"], dtype=object)  # else some versions make texts of None
    return pd.DataFrame(columns)


def _columns(model: Any, packed: PackedTrees, names: Sequence[str] | None) -> dict[str, Any]:
    """Return the columns of the table; the first line is the intercept."""
    n_nodes, leaf = len(packed.left), packed.is_leaf
    tree = np.repeat(np.arange(len(packed)), np.diff(packed.offsets))
    first = packed.offsets[tree]
    node = np.arange(n_nodes) - first
    left = np.where(leaf, -1, packed.left.astype(np.int64))
    parent, depth = _parents(packed, node)
    sloped = np.zeros(n_nodes, dtype=np.bool_) if packed.slope is None else leaf & (packed.slope != 0.0)
    known = np.array([*names_of_features(model, names), None], dtype=object)
    response = np.ones(n_nodes) if packed.value is None else packed.value
    vectors, intercept = np.asarray(model.model_.vectors), model.model_.intercept
    added = np.full((n_nodes, len(intercept)), np.nan)
    added[leaf] = response[leaf, None] * vectors[packed.counted("vector")[leaf]]
    feature = known[np.where(leaf & ~sloped, -1, packed.of_nodes("feature").astype(np.int64))]
    per_round = model.model_.trees_per_round

    def after(start: Any, values: Any) -> Any:
        return np.concatenate([[start], values])

    columns = {
        "tree": after(_INTERCEPT, tree),
        "round": after(0, tree // per_round + 1),
        "member": after(0, tree % per_round),
        "node": after(0, node),
        "depth": after(0, depth),
        "parent": after(-1, parent),
        "feature": np.array([None, *feature], dtype=object),
        "threshold": after(np.nan, np.where(leaf, np.nan, packed.of_nodes("threshold"))),
        "left": after(-1, left),
        "right": after(-1, np.where(leaf, -1, left + 1)),
        "missing": after(-1, left),
        "gain": after(np.nan, np.where(leaf, np.nan, packed.of_nodes("gain"))),
        "response": after(1.0, np.where(leaf, response, np.nan)),
    }
    scores = names_of_scores(model)
    for name, start, values in zip(scores, intercept, added.T, strict=True):
        columns[name] = after(start, values)
    if packed.slope is not None and packed.origin is not None:
        columns["origin"] = after(0.0, np.where(leaf, packed.origin, np.nan))
        for name, values in zip(scores, vectors.T, strict=True):
            with np.errstate(over="ignore"):  # a product beyond float64 is infinite in the table
                rise = packed.slope * values[packed.counted("vector")]
            columns[f"slope of {name.removeprefix('score of ')}"] = after(0.0, np.where(leaf, rise, np.nan))
    return columns


def names_of_scores(model: Any) -> list[str]:
    """Return what the columns of the scores are called."""
    n = len(model.model_.intercept)
    if model.model_.decoder is not None:
        return [f"bit {bit}" for bit in range(n)]
    labels = model.decisions_ if n == len(model.decisions_) else model.classes_
    return [f"score of {label_text(label)}" for label in labels.tolist()]


def _parents(packed: PackedTrees, node: IntArray) -> tuple[IntArray, IntArray]:
    """Return the number of each node's parent in its tree, -1 for the root, and the splits above it."""
    parent, depth = np.full(len(node), -1, dtype=np.int64), np.zeros(len(node), dtype=np.int64)
    inner = np.flatnonzero(~packed.is_leaf)
    left = packed.counted("left").astype(np.int64)[inner]
    parent[left] = parent[left + 1] = node[inner]
    for _ in range(int(packed.depth.max(initial=0))):
        depth[left] = depth[left + 1] = depth[inner] + 1
    return parent, depth


def _counts(model: Any, packed: PackedTrees, X: Any) -> IntArray:
    """Return the number of rows of X in each node, (n_nodes,)."""
    counts, codes, linear = np.zeros(len(packed.left), dtype=np.int64), codes_of_rows(model, X), model.model_.projection
    nodes = TreeNodes(packed, model.model_.n_features + (0 if linear is None else linear.n_columns))
    height = block_height(codes, _COUNTED_TOGETHER)
    for low in range(0, X.shape[0], height):
        wide = wide_rows(model, np.asarray(codes[low : low + height], dtype=np.float64))
        counts += nodes.counts(wide, Workers())
    return counts
