"""Rules of constructor parameters: what each may be, said in the error of a value that is something else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from minrisk._kernels._dtypes import MAX_DEPTH
from minrisk.data.categories import FROM_DTYPE

LARGEST_SEED = 2**32 - 1  # as NumPy's legacy generator takes it, which scikit-learn makes of it
ONE_MISTAKE = "1/n"
BALANCED = "balanced"  # classes weigh alike, as scikit-learn calls it
ZERO_RISK = "zero risk"
ALL_FEATURES = 1 << 53  # more than any X has: larger numbers need not become floats


class Rule:
    """Say what a value may be. Its str() completes the sentence "... must be"."""

    says = ""

    def accepts(self, value: Any) -> bool:
        """Return whether the value may be used."""
        raise TypeError(f"{type(self).__name__} must say what it accepts.")

    def plain(self, value: Any) -> Any:
        """Return an accepted value of Python's own type: kernels are compiled for these, and files hold no others."""
        return value

    def __str__(self) -> str:
        return self.says


@dataclass(frozen=True)
class Choice(Rule):
    """One of these strings."""

    options: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.options

    def plain(self, value: Any) -> Any:
        return str(value)

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(option) for option in self.options)


class Text(Rule):
    """A text that is not empty."""

    says = "a text that is not empty"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value != ""

    def plain(self, value: Any) -> Any:
        return str(value)


@dataclass(frozen=True)
class Number(Rule):
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
        try:
            number = self.kind(value)
        except OverflowError:  # more than a float holds
            return False
        above: bool = number > self.low if self.open_low else number >= self.low
        return above and number <= self.high and (self.kind is int or math.isfinite(number))

    def plain(self, value: Any) -> Any:
        return None if value is None else self.kind(value)

    def __str__(self) -> str:
        noun = "a whole number" if self.kind is int else "a number"
        low = f"above {self.low:g}" if self.open_low else f"at least {self.low:g}"
        high = "" if self.high == float("inf") else f" and at most {self.high:g}"
        return f"{noun} {low}{high}{', or None' if self.optional else ''}"


class Depth(Number):
    """Largest depth of a tree; a large number is no limit."""

    def __init__(self, optional: bool = False) -> None:
        super().__init__(int, 1, optional=optional)

    def plain(self, value: Any) -> Any:
        return None if value is None else min(int(value), MAX_DEPTH)


class Flag(Rule):
    """True or False."""

    says = "True or False"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, (bool, np.bool_, Integral)) and int(value) in (0, 1)

    def plain(self, value: Any) -> Any:
        return bool(value)


class Verbosity(Rule):
    """How much is said: a whole number, or True or False."""

    says = "True, False or a whole number at least 0"

    def accepts(self, value: Any) -> bool:
        return Flag().accepts(value) or Number(int, 0).accepts(value)

    def plain(self, value: Any) -> Any:
        return int(value)


class Threads(Rule):
    """joblib's number of threads."""

    says = "a whole number but 0 (-1: all cores), or None"

    def accepts(self, value: Any) -> bool:
        return value is None or (isinstance(value, Integral) and not isinstance(value, bool) and int(value) != 0)

    def plain(self, value: Any) -> Any:
        return None if value is None else int(value)


class Seed(Rule):
    """scikit-learn's source of random numbers."""

    says = (
        f"a whole number from 0 to {LARGEST_SEED}, a numpy.random.RandomState or None (a Generator draws such a "
        "number by its integers(2**32))"
    )

    def accepts(self, value: Any) -> bool:
        if value is None or value is np.random or isinstance(value, np.random.RandomState):
            return True
        return isinstance(value, Integral) and 0 <= int(value) <= LARGEST_SEED

    def plain(self, value: Any) -> Any:
        return int(value) if isinstance(value, Integral) else value


@dataclass(frozen=True)
class Features(Rule):
    """A share of the features, or a number of them."""

    optional: bool = False

    def accepts(self, value: Any) -> bool:
        if value is None:
            return self.optional
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        return int(value) >= 1 if isinstance(value, Integral) else 0 < float(value) <= 1

    def plain(self, value: Any) -> Any:
        return int(value) if isinstance(value, Integral) else None if value is None else float(value)

    def __str__(self) -> str:
        either = "a share of the features above 0 and at most 1.0, or a whole number of them"
        return either + ", or None" if self.optional else either


class Folds(Rule):
    """Folds of cross-validation, as scikit-learn's `cv`."""

    says = "a whole number at least 1, a splitter as StratifiedKFold(), pairs (train, test) of row numbers, or None"

    def accepts(self, value: Any) -> bool:
        if value is None or isinstance(value, Integral):
            return value is None or (not isinstance(value, bool) and int(value) >= 1)
        usable = hasattr(value, "split") or isinstance(value, Iterable)
        return usable and not isinstance(value, str | bytes | Mapping)

    def plain(self, value: Any) -> Any:
        return int(value) if isinstance(value, Integral) else value


class ClassWeight(Rule):
    """Factors on the weights of the rows of each class."""

    says = f"{BALANCED!r}, a mapping from labels to numbers above 0, or None"

    def accepts(self, value: Any) -> bool:
        if isinstance(value, Mapping):
            return all(map(Number(float, 0, open_low=True).accepts, value.values()))
        return value is None or (isinstance(value, str) and value == BALANCED)

    def plain(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {label: float(factor) for label, factor in value.items()}
        return None if value is None else str(value)


class CategoricalFeatures(Rule):
    """Columns whose numbers are names: their names, positions, or a mask."""

    says = f"names or positions of columns, a mask with True or False for each, or {FROM_DTYPE!r}"

    def accepts(self, value: Any) -> bool:
        if isinstance(value, str):
            return value == FROM_DTYPE
        listed = isinstance(value, Sequence) and not isinstance(value, bytes)
        if not listed and getattr(value, "ndim", None) != 1:  # of arrays and their kin
            return False
        return all(isinstance(column, str | bool | np.bool_ | Integral) for column in value)

    def plain(self, value: Any) -> Any:
        if isinstance(value, str):
            return str(value)
        return [
            str(column)
            if isinstance(column, str)
            else bool(column)
            if isinstance(column, bool | np.bool_)
            else int(column)
            for column in value
        ]


class TargetLoss(Rule):
    """Where the training loss is low enough."""

    says = f"a number above 0, {ONE_MISTAKE!r}, {ZERO_RISK!r} or None"

    def accepts(self, value: Any) -> bool:
        return Number(float, 0, open_low=True, optional=True).accepts(value) or (
            isinstance(value, str) and value in (ONE_MISTAKE, ZERO_RISK)
        )

    def plain(self, value: Any) -> Any:
        return str(value) if isinstance(value, str) else None if value is None else float(value)


@dataclass(frozen=True)
class SmoothFunction(Rule):
    """A function by its name, or as three functions: itself and its first two derivatives, elementwise on arrays."""

    options: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        if isinstance(value, str):
            return value in self.options
        return isinstance(value, tuple) and len(value) == 3 and all(map(callable, value))

    def plain(self, value: Any) -> Any:
        return str(value) if isinstance(value, str) else value

    def __str__(self) -> str:
        return f"{Choice(self.options)}, or a tuple of three functions (value, slope, curvature)"


def share_of(max_features: float, n_features: int) -> float:
    """Return the share of the features that a share of them, or a number, asks for."""
    return min(max_features, ALL_FEATURES) / n_features if isinstance(max_features, Integral) else max_features


def n_drawn(max_features: float, n_features: int) -> int:
    """Return the number of features that a share of them, or a number, asks for: one at least, all at most."""
    return min(max(1, round(share_of(max_features, n_features) * n_features)), n_features)


def loss_to_reach(target_loss: float | str | None, of_one_mistake: float) -> float:
    """Return the loss that a number or "1/n" asks for; of None and "zero risk" (known by the rows) -inf."""
    if target_loss is None or target_loss == ZERO_RISK:
        return -math.inf
    return float(of_one_mistake if target_loss == ONE_MISTAKE else target_loss)


def check_parameters(name: str, values: Mapping[str, Any], rules: Mapping[str, Rule]) -> dict[str, Any]:
    """Return the constructor parameters that have rules, checked, of Python's own types.

    Raises
    ------
    TypeError
        If there is none of that name: of a subclass whose constructor does not call the one that sets it.
    ValueError
        Naming the parameter, what was expected and what came.
    """
    if missing := [parameter for parameter in rules if parameter not in values]:
        raise TypeError(
            f"{name}: the constructor must set all parameters of the estimator it is made from, but has no "
            f"{missing[0]!r}: call super().__init__ there."
        )
    for parameter, rule in rules.items():
        if not rule.accepts(value := values[parameter]):
            raise ValueError(f"{name}: {parameter} must be {rule}, got {value!r}{_meant(rule, value)}.")
    return {parameter: rule.plain(values[parameter]) for parameter, rule in rules.items()}


def _meant(rule: Rule, value: Any) -> str:
    """Return what may have been meant by a value that is not accepted, to be written instead."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    elif isinstance(value, (float, np.floating)) and math.isfinite(value) and value == int(value):
        value = int(value)
    else:
        return ""
    return f": write {value!r}" if rule.accepts(value) else ""
