"""Finished folds: what identifies each, and a folder with a file for each, written whole the moment that it is done.

A fold is identified by data, costs, rows, estimator with all its parameters, and versions. Two results with the same
key are the same but for the time that they took. What cannot be described for certain makes a key that never comes
again: then the fold is done once more, and nothing is mixed up.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import secrets
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import joblib
import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse

from minrisk._utils.packages import own_version
from minrisk.io.atomic import check_target, write_beside

MEASURED_NUMBERS = ("error", "cost", "log_loss", "fit_seconds", "predict_seconds")  # of each way to decide
MAY_LACK = "log_loss"  # of these

Outcome = dict[str, dict[str, float | None]]  # by the way to decide: these numbers


# -- what identifies a fold --------------------------------------------------------------------------------------------
def key_of(settings: Mapping[str, Any]) -> str:
    """Return the key of settings, plain JSON.

    Examples
    --------
    >>> key_of({"a": 1}) == key_of({"a": 1}) != key_of({"a": 2})
    True
    """
    return _digest(json.dumps(settings, sort_keys=True, ensure_ascii=True))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]  # 128 bits: no two texts will ever share one


def digest(data: Any) -> str:
    """Return a digest of an array, a table or a sparse matrix: of shapes, dtypes, names and all values."""
    if issparse(data):
        matrix = data.tocsr().sorted_indices()  # a copy: the caller's stays as it is
        data = (*matrix.shape, matrix.data, matrix.indices, matrix.indptr)
    elif hasattr(data, "iloc") and data.ndim == 2:
        # by columns: how a frame of pandas holds them in blocks changes as it is used
        data = [(name, str(column.dtype), np.asarray(column)) for name, column in data.items()]
    elif isinstance(frame := nw.from_native(data, eager_only=True, pass_through=True), nw.DataFrame):
        data = [(column.name, str(column.dtype), column.to_numpy()) for column in frame.iter_columns()]
    elif isinstance(data, np.ndarray):
        data = np.ascontiguousarray(data)  # joblib looks at strides too
    return str(joblib.hash(data))


def described(value: Any) -> Any:
    """Return a parameter, or an estimator with all of its own, as plain JSON that differs where they do.

    Examples
    --------
    >>> from minrisk import REBELClassifier
    >>> told = described(REBELClassifier(n_estimators=3))
    >>> told["class"], told["parameters"]["n_estimators"]
    ('minrisk.algorithms.rebel.REBELClassifier', 3)
    """
    if isinstance(value, str | int | bool | None):
        return value
    if isinstance(value, float):
        return repr(value)  # JSON has no infinity
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(described, value)]
    if isinstance(value, Mapping):
        return {"mapping": [[described(name), described(each)] for name, each in value.items()]}
    # a class or a function is known by its name, unless there may be several of it
    name = getattr(value, "__qualname__", None)
    if name is not None and "<" not in name and getattr(value, "__self__", None) is None:
        return {"named": f"{value.__module__}.{name}", **_origin(value)}
    kind = {"class": f"{type(value).__module__}.{type(value).__qualname__}"}
    if hasattr(value, "get_params") and name is None:
        parameters = value.get_params(deep=False)
        told = {each: described(parameters[each]) for each in sorted(parameters)}
        return {**kind, **_origin(type(value)), "parameters": told}
    try:
        return {**kind, "hash": digest(value)}
    except Exception:  # what cannot be pickled, whatever it says
        return {"unknown": secrets.token_hex(16)}


def _origin(value: Any) -> dict[str, Any]:
    """Return the version of what a class or function comes from; else a digest of its source, which may be edited."""
    known = package_version(str(value.__module__))
    if known is not None:
        return {"version": known}
    try:
        return {"source": _digest(inspect.getsource(value))}
    except (OSError, TypeError):
        return {"source": None}


def package_version(module: str) -> str | None:
    """Return the version of a module's package; of minrisk also a digest of its sources, that may be edited.

    Returns
    -------
    str or None
        None where nobody knows, as of a program that is run.

    Examples
    --------
    >>> package_version("numpy.linalg") == np.__version__
    True
    """
    package = module.partition(".")[0]
    if package == "minrisk":
        return own_version()
    try:
        return version({"sklearn": "scikit-learn"}.get(package, package))
    except PackageNotFoundError:
        return None


# -- the folder --------------------------------------------------------------------------------------------------------
def prepare_folder(folder: Path) -> Path:
    """Make the folder of folds, before any work.

    Raises
    ------
    OSError
        If it cannot be made, or nothing can be written there.
    """
    place = folder / "folds"
    place.mkdir(parents=True, exist_ok=True)
    check_target(place / "0.json")
    return place


def write_fold(place: Path, key: str, settings: Mapping[str, Any], outcome: Outcome) -> None:
    """Write a finished fold, beside first and then by a rename: it is there as a whole or not at all."""
    held = {"key": key, "outcome": outcome, "settings": settings}
    with write_beside(place / f"{key}.json") as beside:
        beside.write_text(json.dumps(held, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def read_fold(place: Path, key: str, ways: Sequence[str]) -> Outcome | None:
    """Return a finished fold; None where there is none, or the file is not what was written."""
    try:
        held = json.loads((place / f"{key}.json").read_text(encoding="utf-8"))
        measured = held["outcome"]
        outcome = {way: {name: measured[way][name] for name in MEASURED_NUMBERS} for way in ways if way in measured}
        same = held["key"] == key
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return outcome if same and outcome and all(map(_usable, outcome.values())) else None


def _usable(numbers: Mapping[str, Any]) -> bool:
    return all(
        (value is None and name == MAY_LACK) or (isinstance(value, int | float) and math.isfinite(value))
        for name, value in numbers.items()
    )
