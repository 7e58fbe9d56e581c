"""A property that is computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

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
        """The value, which stands in the instance's dictionary from then on, where Python finds it first."""
        if instance is None:
            return self
        value = self._compute(instance)
        vars(instance)[self._name] = value
        return value
