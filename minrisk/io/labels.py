"""Labels and costs in model files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from minrisk._typing import FloatArray, Labels
from minrisk._utils.text import short
from minrisk.costs import CostMatrix, as_cost
from minrisk.costs.labels import as_labels, label_array, match_labels, named_beside, plain_array
from minrisk.data.frames import of_cells
from minrisk.data.kept import MOST_LETTERS
from minrisk.io.arrays import Allowance

LABELLED = "classes", "decisions"  # what labels are of
DTYPE = re.compile(
    r"object|[<>|]?(?:b1|[iu][1248]|f[248]|U\d{1,9}|M8\[(?:\d{1,9})?(?:Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])"
)  # of labels
SHOWN_CHARACTERS = 60  # characters of a value in a message


def short_repr(value: Any) -> str:
    """A value as messages show it, cut where it is long."""
    return short(repr(value), SHOWN_CHARACTERS)


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
        names |= {f"stated_{kind}": labels_out(plain_array(getattr(stated, kind))) for kind in LABELLED}
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
    room.take(room_of_labels(header))
    estimator.classes_ = labels_in(header["classes"])
    classes, decisions = as_labels(estimator.classes_), as_labels(values_in(header["decisions"]), "the decisions")
    known = [at for at in match_labels(decisions, classes) if at >= 0]
    others = decisions[len(known) :]
    if len(known) + sum(at < 0 for at in match_labels(others, classes)) < len(decisions) or known != sorted(known):
        raise ValueError("its decisions must be classes, in their order, and then others.")
    if named_beside(others, classes, classes) != others:
        raise ValueError("its decisions that are no classes are not called as a fit calls them.")
    estimator.decisions_ = label_array(decisions, estimator.classes_)
    estimator.cost_ = estimator._stated = None
    if "cost" in arrays:
        names: dict[str, Any] = {"classes": classes, "decisions": decisions}
        if "stated" in arrays:
            names = {kind: values_in(header[f"stated_{kind}"]) for kind in LABELLED}
        stated = CostMatrix(arrays["stated" if "stated" in arrays else "cost"], **names, allow_diagonal=True)
        estimator.cost_ = as_cost(stated, classes)
        if estimator.cost_.decisions != decisions or not np.array_equal(estimator.cost_.values, arrays["cost"]):
            raise ValueError("its costs are not those that were stated.")
        estimator._stated = stated if header["cost_stated"] else None
        estimator.cost = stated if header["cost_given"] else None


def room_of_labels(header: Mapping[str, Any]) -> int:
    """Bytes of memory that the arrays of a header's labels take; decisions are at least as wide as classes."""
    size: int = np.dtype(header["classes"]["dtype"]).itemsize
    widest = max((4 * len(value) for value in header["decisions"]["values"] if isinstance(value, str)), default=8)
    dates = [header[f"stated_{kind}"] for kind in LABELLED if f"stated_{kind}" in header]
    return (
        size * len(header["classes"]["values"])
        + max(size, widest, 8) * len(header["decisions"]["values"])
        + sum(8 * len(labels["values"]) for labels in dates if "M8" in labels["dtype"])
    )


def labels_in(labels: dict[str, Any]) -> Labels:
    """Labels as `labels_out` wrote them, in an array of their dtype, which `DTYPE` matches.

    Raises
    ------
    ValueError
        If the dtype does not hold them.
    """
    values, written = labels["values"], labels["dtype"]
    dtype = np.dtype(written)
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


def values_in(labels: dict[str, Any]) -> list[Any]:
    """Labels as `labels_out` wrote them, as plain values; dates as NumPy has them."""
    return list(labels_in(labels) if "M8" in labels["dtype"] else labels["values"])
