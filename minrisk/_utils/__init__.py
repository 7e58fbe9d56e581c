"""Small helpers that know nothing of boosting: a property that is computed once, and who has called."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Generic, Self, TypeVar, overload

PACKAGE = str(Path(__file__).parents[1])
Value = TypeVar("Value")


class cached_property(Generic[Value]):
    """Python's own of this name, without the lock that it has before Python 3.12, one for all instances of a class.

    With that lock fits in several threads waited for each other, and one in a forked process for ever, where another
    thread had held it. Two threads that ask at once may both compute the value, which is the same.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object, owner: type) -> Self | Value:
        """Return the value, which stands in the instance's dictionary from then on, where Python finds it first."""
        if instance is None:
            return self
        value = self._compute(instance)
        vars(instance)[self._name] = value
        return value


def callers(module: str) -> Iterator[FrameType]:
    """Yield the frames of a module's functions that have come to the caller, the last one first."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_globals.get("__name__") == module:
            yield frame


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn as of the first line outside of this package, so that "once for each place" means the caller's places."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
