"""Labels and costs in model files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import numpy as np

from minrisk._typing import FloatArray, Labels
from minrisk.costs import CostMatrix, as_cost
from minrisk.costs.labels import as_labels, match_labels, named_beside
from minrisk.validation import label_array, plain_array

KINDS = "classes", "decisions"  # what labels are of


def costs_out(estimator: Any) -> tuple[dict[str, FloatArray], dict[str, Any]]:
    """Costs of a fit as arrays, and what the header says of them and of the labels."""
    arrays = {} if estimator.cost_ is None else {"cost": estimator.cost_.values}
    stated = vars(estimator).get("_stated", estimator.cost_)
    names: dict[str, Any] = {
        "cost_given": estimator.cost is not None,
        "cost_stated": stated is not None,
        "classes": labels_out(estimator.classes_),
        "decisions": labels_out(estimator.decisions_),
    }
    if stated is not None and stated != estimator.cost_:
        arrays["stated"] = stated.values
        names |= {f"stated_{kind}": labels_out(plain_array(getattr(stated, kind))) for kind in KINDS}
    return arrays, names


def labels_out(labels: Labels) -> dict[str, Any]:
    """Labels, or categories, as JSON: their dtype and plain values."""
    plain = labels.view(np.int64) if labels.dtype.kind == "M" else labels
    values = [label.item() if isinstance(label, np.generic) else label for label in plain]
    if not all(isinstance(value, (str, bool, int, float)) for value in values):
        raise TypeError(
            f"Labels and categories must be numbers, strings or truth values to be saved, got {values[:5]!r}: make "
            "texts of them before the fit, as .astype(str) does."
        )
    return {"dtype": "object" if labels.dtype == object else labels.dtype.str, "values": values}


def restore_labels(estimator: Any, header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Give an estimator its labels and costs; raises for what does not fit together."""
    estimator.classes_ = labels_in(header["classes"])
    if len(estimator.classes_) < 2 or len(set(estimator.classes_.tolist())) != len(estimator.classes_):
        raise ValueError("the classes must be at least two, all different.")
    classes, written = as_labels(estimator.classes_), as_labels(labels_in(header["decisions"]))
    others = tuple(label for label, at in zip(written, match_labels(written, classes), strict=True) if at < 0)
    decisions = (*written[: len(written) - len(others)], *named_beside(others, classes, classes))  # as in older files
    estimator.decisions_ = label_array(decisions, estimator.classes_)
    estimator.cost_ = estimator._stated = None
    if "cost" in arrays:
        names: dict[str, Any] = {"classes": classes, "decisions": decisions}
        if "stated" in arrays:
            names = {kind: labels_in(header[f"stated_{kind}"]).tolist() for kind in KINDS}
        stated = CostMatrix(arrays["stated" if "stated" in arrays else "cost"], **names, allow_diagonal=True)
        estimator.cost_ = as_cost(stated, classes)
        if estimator.cost_.decisions != decisions or not np.array_equal(estimator.cost_.values, arrays["cost"]):
            raise ValueError("the costs of the decisions are not those that were stated.")
        known = header.get("cost_stated", estimator.cost_ != as_cost(None, classes))  # older files do not say
        estimator._stated = stated if known else None
        estimator.cost = stated if header["cost_given"] else None


def labels_in(labels: dict[str, Any]) -> Labels:
    """Labels as `labels_out` wrote them."""
    values, dtype = labels["values"], labels["dtype"]
    if not all(isinstance(value, (str, bool, int, float)) for value in values):
        raise ValueError("labels must be numbers, strings or truth values.")
    if dtype == "object":
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    if np.dtype(dtype).kind == "M":
        return np.array(values, dtype=np.int64).view(dtype)
    if np.dtype(dtype).kind not in "biufU":
        raise ValueError(f"labels of dtype {dtype!r} are unknown.")
    return np.array(values, dtype=dtype)


def name_out(name: Any) -> Any:
    """The name of a column as JSON: number, text, date, or a tuple of these."""
    if isinstance(name, np.generic) and name.dtype.kind in "biufU":
        name = name.item()
    if isinstance(name, tuple):
        return {"tuple": [name_out(part) for part in name]}
    if isinstance(name, datetime) and not getattr(name, "nanosecond", 0):  # pandas' Timestamp is one
        return {"time": name.isoformat()}
    if type(name) is date:
        return {"date": name.isoformat()}
    if isinstance(name, (str, int)) or (isinstance(name, float) and math.isfinite(name)):
        return name
    raise TypeError(
        f"A model file cannot keep the name of X's column {name!r}, a {type(name).__name__}: name the columns by "
        "texts, X.columns = X.columns.astype(str), and fit again."
    )


def name_in(name: Any) -> Any:
    """The name of a column as `name_out` wrote it."""
    if not isinstance(name, dict):
        if isinstance(name, (str, int, float)):
            return name
    elif len(name) == 1:
        ((kind, value),) = name.items()
        if kind == "tuple" and isinstance(value, list):
            return tuple(map(name_in, value))
        if kind in ("time", "date"):
            return (datetime if kind == "time" else date).fromisoformat(value)
    raise ValueError("columns must be named by numbers, texts, dates or tuples of these.")
