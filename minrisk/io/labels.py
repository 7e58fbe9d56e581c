"""Labels and costs in model files."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import numpy as np

from minrisk._printable import short
from minrisk._typing import FloatArray, Labels
from minrisk.costs import CostMatrix, as_cost
from minrisk.costs.labels import as_labels, match_labels, named_beside
from minrisk.costs.reading import is_uniform
from minrisk.data.frames import of_cells
from minrisk.io.arrays import Allowance
from minrisk.validation import label_array, plain_array

KINDS = "classes", "decisions"  # what labels are of
MOST_LETTERS = 1000  # in a label: every prediction holds one for each row
DTYPE = re.compile(
    r"object|[<>|]?(?:b1|[iu][1248]|f[248]|U\d{1,9}|M8\[(?:\d{1,9})?(?:Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])"
)  # of labels
SHOWN = 60  # characters of a value in a message


def short_repr(value: Any) -> str:
    """A value as messages show it, cut where it is long."""
    return short(repr(value), SHOWN)


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
    wide = labels.dtype.kind == "U" and labels.dtype.itemsize > np.dtype(f"U{MOST_LETTERS}").itemsize
    dtype = np.asarray(values).dtype if wide else labels.dtype  # no wider than the longest needs
    return {"dtype": "object" if dtype.kind == "O" else dtype.str, "values": values}


def restore_labels(estimator: Any, header: dict[str, Any], arrays: Mapping[str, np.ndarray], room: Allowance) -> None:
    """Give an estimator its labels and costs; raises for what does not fit together."""
    estimator.classes_ = labels_in(header["classes"], room)
    classes, decisions = as_labels(estimator.classes_), as_labels(values_in(header["decisions"], room), "the decisions")
    known = [at for at in match_labels(decisions, classes) if at >= 0]
    others = decisions[len(known) :]
    if len(known) + sum(at < 0 for at in match_labels(others, classes)) < len(decisions) or known != sorted(known):
        raise ValueError("its decisions must be classes, in their order, and then others.")
    decisions = (*decisions[: len(known)], *named_beside(others, classes, classes))  # as in older files
    widest = max(4 * len(label) if isinstance(label, str) else 8 for label in decisions)
    room.take(len(decisions) * max(widest, estimator.classes_.dtype.itemsize))
    estimator.decisions_ = label_array(decisions, estimator.classes_)
    estimator.cost_ = estimator._stated = None
    if "cost" in arrays:
        names: dict[str, Any] = {"classes": classes, "decisions": decisions}
        if "stated" in arrays:
            names = {kind: values_in(header[f"stated_{kind}"], room) for kind in KINDS}
        stated = CostMatrix(arrays["stated" if "stated" in arrays else "cost"], **names, allow_diagonal=True)
        estimator.cost_ = as_cost(stated, classes)
        if estimator.cost_.decisions != decisions or not np.array_equal(estimator.cost_.values, arrays["cost"]):
            raise ValueError("its costs are not those that were stated.")
        told = header["cost_stated"] if "cost_stated" in header else not is_uniform(estimator.cost_)  # in older files
        estimator._stated = stated if told else None
        estimator.cost = stated if header["cost_given"] else None


def labels_in(labels: dict[str, Any], room: Allowance) -> Labels:
    """Labels as `labels_out` wrote them, in an array of their dtype, which `DTYPE` matches.

    Raises
    ------
    ValueError
        If the dtype does not hold them, or the array would be far larger than the file.
    """
    values, written = labels["values"], labels["dtype"]
    dtype = np.dtype(written)
    room.take(dtype.itemsize * len(values))
    if dtype.kind == "O":
        return of_cells(values)
    try:
        array = np.array(values, dtype=np.int64).view(dtype) if dtype.kind == "M" else np.array(values, dtype=dtype)
        plain = array.view(np.int64) if dtype.kind == "M" else array
        held = plain.tolist() == values
    except (ValueError, TypeError, OverflowError):
        held = False
    if not held:
        raise ValueError(f"it has labels that are not of their dtype {written!r}, such as {short_repr(values[:1])}.")
    return array


def values_in(labels: dict[str, Any], room: Allowance) -> list[Any]:
    """Labels, or categories, as `labels_out` wrote them, as plain values; dates as NumPy has them."""
    return list(labels_in(labels, room) if "M8" in labels["dtype"] else labels["values"])


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
        if isinstance(name, (str, int)) or (isinstance(name, float) and math.isfinite(name)):
            return name
    elif len(name) == 1:
        ((kind, value),) = name.items()
        if kind == "tuple" and isinstance(value, list):
            return tuple(map(name_in, value))
        if kind in ("time", "date"):
            return (datetime if kind == "time" else date).fromisoformat(value)
    raise ValueError("columns must be named by numbers, texts, dates or tuples of these.")
