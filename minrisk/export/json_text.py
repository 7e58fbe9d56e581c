"""A model as a JSON text, which a few lines of any language run; docs/guide/export.md has the schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

import minrisk
from minrisk._typing import FloatArray, Labels
from minrisk.data.categories import Categories
from minrisk.export.parts import ModelParts, finite, parts_of
from minrisk.model.additive import AdditiveModel
from minrisk.model.similarities import PackedSimilarities
from minrisk.model.trees import PackedTrees

JSON_FORMAT, JSON_VERSION = "minrisk model", 1


def to_json(model: Any, cost: Any = None) -> str:
    """Write a fitted estimator as a JSON text: all that scores, probabilities and decisions are computed from.

    Parameters
    ----------
    model : estimator
        A fitted classifier of minrisk.
    cost : array-like of shape (K, D), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        Costs to decide by, one matrix for all rows. By default those of the fit.

    Returns
    -------
    str
        One JSON object. Numbers are written so that they are read back to the last bit. The guide to exports has the
        schema, and a reader of a few lines.

    Raises
    ------
    TypeError
        If the model is no estimator of this package.
    NotFittedError
        If it is not fitted.
    ValueError
        If its learners are regressors of scikit-learn, or `cost` is given and it knows no probabilities.

    Examples
    --------
    >>> import json
    >>> from sklearn.datasets import load_iris
    >>> from minrisk import MinRiskClassifier
    >>> from minrisk.export import to_json
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MinRiskClassifier(pool=False, n_estimators=5, random_state=0).fit(X, y)
    >>> text = json.loads(to_json(model))
    >>> text["format"], text["decisions"], text["link"]["name"]
    ('minrisk model', [0, 1, 2], 'softmax')
    """
    parts = parts_of(model, cost, "to_json")
    additive, regression = parts.model, parts.regression
    learnt = None
    if regression is not None:
        bounds = regression.bounds.tolist()
        trees = list(_trees(regression.packed, regression.vectors))
        of_classes = [trees[a:b] for a, b in pairwise(bounds)]
        learnt = {"unit": regression.unit, "means": regression.means.tolist(), "trees": of_classes}
    link = None if additive.link is None else {"name": additive.link, "temperature": additive.temperature}
    return json.dumps(
        {
            "format": JSON_FORMAT,
            "version": JSON_VERSION,
            "made_by": f"minrisk {minrisk.__version__}",
            "estimator": parts.name,
            "input": _input(parts.categories, additive.n_features, parts.feature_names),
            "scores": _scores(parts),
            "link": link,
            "classes": _labels(parts.classes),
            "decisions": _labels(parts.decisions),
            "cost": None if parts.cost is None else parts.cost.tolist(),
            "learnt_costs": learnt,
        },
        allow_nan=False,
    )


def _labels(labels: Labels) -> list[Any]:
    """Return labels as JSON has them; dates as texts of ISO 8601."""
    values = [label.item() if isinstance(label, (np.number, np.bool_, np.str_)) else label for label in labels]
    return [value if isinstance(value, (bool, int, float, str)) else str(value) for value in values]


def _input(categories: Categories, n_numbers: int, names: list[str] | None) -> dict[str, Any]:
    """Return what a row holds, and how it becomes the numbers that trees split."""
    columns = [
        {"column": one.position, "values": _labels(np.array(one.values, dtype=object)), "added": one.table.tolist()}
        for one in categories.columns
    ]
    days = [{"column": one.position, "role": one.role} for one in categories.day_columns]
    n_added = sum(one.table.shape[1] for one in categories.columns)
    return {"n_columns": n_numbers - n_added, "names": names, "categories": columns, "days": days}


def _scores(parts: ModelParts) -> dict[str, Any]:
    """Return the additive model."""
    model: AdditiveModel = parts.model
    packed, vectors, found = model.packed, np.asarray(model.vectors), {"intercept": parts.origin.tolist()}
    if model.projection is not None:
        found["linear"] = {name: getattr(model.projection, name).tolist() for name in ("center", "weights")}
    if model.smooth is not None:
        smooth = model.smooth
        arrays = {name: getattr(smooth, name).tolist() for name in ("center", "scale", "vectors")}
        found["smooth"] = {**arrays, "landmarks": smooth.landmarks.T.tolist(), "width": smooth.width}
    if isinstance(packed, PackedSimilarities):
        found["similarities"] = _similarities(packed, vectors)
    elif isinstance(packed, PackedTrees):
        found["trees"] = list(_trees(packed, vectors))
    else:
        raise parts.refused(
            "its learners are regressors of scikit-learn", "Fit with trees (weak_learner='stump' or 'tree')."
        )
    if model.decoder is not None:
        found["output_code"] = {"words": model.decoder.words.tolist(), "decoding": model.decoder.decoding}
    return found


def _trees(packed: PackedTrees, vectors: FloatArray) -> Iterator[dict[str, Any]]:
    """Yield each tree, an entry for each of its nodes; leaves have no feature and no threshold."""
    leaf, left = packed.is_leaf, packed.left.astype(np.int64)
    feature, threshold = packed.of_nodes("feature"), finite(packed.of_nodes("threshold"))
    for t in range(len(packed)):
        nodes = slice(packed.offsets[t], packed.offsets[t + 1])
        own = vectors[packed.vector_offsets[t] : packed.vector_offsets[t + 1]]
        found = {
            "feature": [None if end else j for end, j in zip(leaf[nodes], feature[nodes].tolist(), strict=True)],
            "threshold": [None if end else x for end, x in zip(leaf[nodes], threshold[nodes].tolist(), strict=True)],
            "left": left[nodes].tolist(),
            "vector": packed.vector[nodes].tolist(),
            "vectors": own.tolist(),
        }
        if packed.value is not None:
            found["response"] = packed.value[nodes].tolist()
        if packed.slope is not None and packed.origin is not None and np.any(packed.slope[nodes] != 0.0):
            found["line"] = {
                "feature": feature[nodes].tolist(),
                "slope": packed.slope[nodes].tolist(),
                "origin": packed.origin[nodes].tolist(),
            }
        yield found


def _similarities(packed: PackedSimilarities, vectors: FloatArray) -> dict[str, Any]:
    """Return learners that compare distances to training points."""
    found = {name: getattr(packed, name).tolist() for name in ("center", "scale", "fill", "anchors", "span", "real")}
    for name in ("near", "far"):
        found[name] = [None if at < 0 else at for at in getattr(packed, name).tolist()]
    return {**found, "vectors": vectors.tolist()}
