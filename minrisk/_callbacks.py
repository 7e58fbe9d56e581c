"""Callbacks of scikit-learn, which has them from version 1.9 on: the one place that asks whether they are there.

With an earlier version estimators have no `set_callbacks`, and nothing else is different.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn import callback as _theirs
except ImportError:
    _theirs = None


class _NoCallbacks:
    """In the place of the base that brings `set_callbacks`."""


CallbackSupport: Any = _NoCallbacks if _theirs is None else _theirs.CallbackSupportMixin


def with_callbacks(method: Method) -> Method:
    """A `fit` after which callbacks are taken down, however it ends; itself where there are none."""
    return method if _theirs is None else _theirs.with_callbacks(method)


def has_callbacks(estimator: Any) -> bool:
    """Whether an estimator has callbacks, or is fitted by one whose callbacks may want to see its tasks."""
    known = vars(estimator)
    return "_skl_callbacks" in known or "_parent_callback_ctx" in known
