"""Callbacks of scikit-learn, which has them from version 1.9 on: the one place that asks whether they are there.

With an earlier version estimators have no `set_callbacks`, and nothing else is different. `sklearn.callback` takes as
long to import as the rest of what an estimator needs, since it brings rich, so only who sets callbacks imports it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Self


class _NoCallbacks:
    """Stand in the place of the base that has `set_callbacks`."""


class _Callbacks:
    """Stand for `sklearn.callback.CallbackSupportMixin`, which is imported when it is asked for."""

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set callbacks of scikit-learn, such as `sklearn.callback.ProgressBar`, in place of those set before.

        They learn when a fit, each of its phases and each of its rounds begins and ends.
        If an `on_fit_task_end` returns True, the training ends, and the model is what there is.

        Parameters
        ----------
        *callbacks : objects of the protocol `sklearn.callback.FitCallback`
            The callbacks. Calling this without any removes those that were set.

        Returns
        -------
        estimator
            This estimator.

        Raises
        ------
        TypeError
            If one does not follow the protocol.
        """
        from sklearn.callback import CallbackSupportMixin

        CallbackSupportMixin.set_callbacks(self, *callbacks)
        return self

    def _init_callback_context(self, *arguments: Any, **options: Any) -> Any:
        """Return the root of the tasks of a fit, whose callbacks are set up; see `CallbackSupportMixin`."""
        from sklearn.callback import CallbackSupportMixin

        return CallbackSupportMixin._init_callback_context(self, *arguments, **options)


CallbackSupport: Any = _Callbacks if find_spec("sklearn.callback") else _NoCallbacks


@contextmanager
def callbacks_of(estimator: Any) -> Iterator[None]:
    """Enter a block that fits an estimator, after which its callbacks are taken down, however it ends."""
    try:
        yield
    finally:
        if "_callback_fit_ctx" in vars(estimator):
            from sklearn.callback import with_callbacks

            with_callbacks(lambda fitted: None)(estimator)  # which takes down whatever was set up


def has_callbacks(estimator: Any) -> bool:
    """Return whether an estimator has callbacks, or is fitted by one whose callbacks may want to see its tasks."""
    known = vars(estimator)
    return "_skl_callbacks" in known or "_parent_callback_ctx" in known
