"""Checks of parameters, each a clear error; checks of data are scikit-learn's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple, Protocol


class Choice(NamedTuple):
    """One of these strings."""

    options: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.options

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(option) for option in self.options)


class Number(NamedTuple):
    """A number within bounds."""

    kind: type  # int or float
    low: float
    high: float = float("inf")
    open_low: bool = False
    optional: bool = False

    def accepts(self, value: Any) -> bool:
        if value is None:
            return self.optional
        if isinstance(value, bool) or not isinstance(value, Integral if self.kind is int else Real):
            return False
        value = float(value)
        above: bool = value > self.low if self.open_low else value >= self.low
        return above and value <= self.high and math.isfinite(value)

    def __str__(self) -> str:
        noun = "a whole number" if self.kind is int else "a number"
        low = f"above {self.low:g}" if self.open_low else f"at least {self.low:g}"
        high = "" if self.high == float("inf") else f" and at most {self.high:g}"
        return f"{noun} {low}{high}{', or None' if self.optional else ''}"


class Flag(NamedTuple):
    """True or False."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, (bool, Integral)) and int(value) in (0, 1)

    def __str__(self) -> str:
        return "True or False"


class Features(NamedTuple):
    """A share of the features, or a number of them."""

    optional: bool = False

    def accepts(self, value: Any) -> bool:
        if value is None:
            return self.optional
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        return float(value) >= 1 if isinstance(value, Integral) else 0 < float(value) <= 1

    def __str__(self) -> str:
        either = "a share of the features above 0 and at most 1.0, or a whole number of them"
        return either + ", or None" if self.optional else either


def share_of(max_features: float, n_features: int) -> float:
    """The share of the features that a share of them, or a number, asks for."""
    return max_features / n_features if isinstance(max_features, Integral) else max_features


def n_drawn(max_features: float, n_features: int) -> int:
    """The number of features that a share of them, or a number, asks for: one at least, all at most."""
    return min(max(1, round(share_of(max_features, n_features) * n_features)), n_features)


class Rule(Protocol):
    """What a parameter may be; its str() says so."""

    def accepts(self, value: Any) -> bool:
        """Whether the value may be used."""


def check_parameters(name: str, values: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Check constructor parameters against their rules.

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came.
    """
    for parameter, rule in rules.items():
        if not rule.accepts(values[parameter]):
            raise ValueError(f"{name}: {parameter} must be {rule}, got {values[parameter]!r}.")
