"""What identifies the result of a fold: data, costs, rows, estimator with all its parameters, and versions.

Two results with the same key are the same but for the time that they took. What cannot be described for certain makes a
key that never comes again: then the fold is done once more, and nothing is mixed up.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import secrets
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from minrisk._utils.packages import own_version
from minrisk.costs import CostMatrix

KEY_LENGTH = 32  # hexadecimal digits of a key, 128 bits: no two settings will ever share one
PLAIN = (str, int, float, bool, type(None))


def key_of(settings: Mapping[str, Any]) -> str:
    """The key of settings, plain JSON.

    Examples
    --------
    >>> key_of({"a": 1}) == key_of({"a": 1}) != key_of({"a": 2})
    True
    """
    text = json.dumps(settings, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def digest(data: Any) -> str:
    """A digest of an array, a table or a sparse matrix: of shapes, dtypes, names and all values."""
    state = hashlib.sha256()
    _take(state, data)
    return state.hexdigest()[:KEY_LENGTH]


def _take(state: Any, data: Any) -> None:
    if hasattr(data, "tocsr") and hasattr(data, "nnz"):
        matrix = data.tocsr().sorted_indices()  # a copy: the caller's stays as it is
        for part in (np.asarray(matrix.shape), matrix.data, matrix.indices, matrix.indptr):
            _take(state, part)
        return
    if hasattr(data, "column_names"):  # an Arrow table
        data = {str(name): data.column(i).to_pylist() for i, name in enumerate(data.column_names)}
    elif hasattr(data, "columns") and hasattr(data, "shape"):
        state.update(f"frame{tuple(data.shape)}".encode())
        for i, name in enumerate(data.columns):
            column = data.iloc[:, i] if hasattr(data, "iloc") else data[name]
            state.update(f"{name!r} {column.dtype}".encode())
            _take(state, np.asarray(column))
        return
    if isinstance(data, Mapping):
        state.update(b"mapping")
        for name, value in data.items():
            state.update(repr(name).encode())
            _take(state, value)
        return
    array = np.asarray(data)
    state.update(f"{array.dtype.str}{array.shape}".encode())
    if array.dtype.kind == "O":
        state.update(json.dumps([[type(cell).__name__, repr(cell)] for cell in array.ravel().tolist()]).encode())
    else:
        state.update(np.ascontiguousarray(array).tobytes())


def described(value: Any) -> Any:
    """A parameter, or an estimator with all of its own, as plain JSON that differs where they do.

    Examples
    --------
    >>> from minrisk import REBELClassifier
    >>> told = described(REBELClassifier(n_estimators=3))
    >>> told["class"], told["parameters"]["n_estimators"]
    ('minrisk.algorithms.rebel.REBELClassifier', 3)
    """
    if isinstance(value, PLAIN):
        return repr(value) if isinstance(value, float) else value
    if isinstance(value, np.generic):
        return {"dtype": value.dtype.str, "value": repr(value.item())}
    if isinstance(value, CostMatrix):
        return {"costs": digest(value.values), "labels": repr((value.classes, value.decisions))}
    if hasattr(value, "get_params") and not isinstance(value, type):
        parameters = value.get_params(deep=False)
        return {
            "class": f"{type(value).__module__}.{type(value).__qualname__}",
            **_origin(type(value)),
            "parameters": {name: described(parameters[name]) for name in sorted(parameters)},
        }
    if isinstance(value, Mapping):
        return {"mapping": [[described(name), described(each)] for name, each in value.items()]}
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(described, value)]
    if isinstance(value, np.random.RandomState):
        return {
            "random state": [
                repr(part) if not isinstance(part, np.ndarray) else digest(part)
                for part in value.get_state(legacy=True)
            ]
        }
    if isinstance(value, np.ndarray) or hasattr(value, "columns") or hasattr(value, "tocsr"):
        return {"data": digest(value)}
    return _other(value)


def _other(value: Any) -> Any:
    """A class or a function by its name, unless there may be several of it; all else by its pickled bytes."""
    name = getattr(value, "__qualname__", None)
    if name is not None and "<" not in name and getattr(value, "__self__", None) is None:
        return {"named": f"{value.__module__}.{name}", **_origin(value)}
    from joblib import hash as hashed

    try:
        return {"class": f"{type(value).__module__}.{type(value).__qualname__}", "hash": hashed(value)}
    except Exception:  # what cannot be pickled, whatever it says
        return {"unknown": secrets.token_hex(16)}


def _origin(value: Any) -> dict[str, Any]:
    """The version of what a class or function comes from, or else its source."""
    known = package_version(str(value.__module__))
    return {"version": known} if known is not None else {"source": _source(value)}


def package_version(module: str) -> str | None:
    """The version of the package that a module belongs to; of minrisk also a digest of its sources, that may be edited.

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


def _source(value: Any) -> str | None:
    """A digest of the source of a class or function of no installed package, which may be edited; None if unknown."""
    try:
        return hashlib.sha256(inspect.getsource(value).encode()).hexdigest()[:KEY_LENGTH]
    except (OSError, TypeError):
        return None
