"""One file per method: `ALGORITHMS` are those that `minrisk` lists as public, which drive tests and documentation."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from minrisk import _PUBLIC

ALGORITHMS: tuple[Any, ...] = tuple(
    getattr(import_module(module), name) for name, module in _PUBLIC.items() if module.startswith("minrisk.algorithms.")
)


def __getattr__(name: str) -> Any:
    if _PUBLIC.get(name, "").startswith("minrisk.algorithms."):
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'minrisk.algorithms' has no attribute {name!r}")
