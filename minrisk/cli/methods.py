"""Options that set parameters of methods, made of the rules and the docstrings that the estimators have for them."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from minrisk import algorithms
from minrisk._kernels._dtypes import MAX_DEPTH
from minrisk._utils.method_names import ESTIMATORS
from minrisk.algorithms.parameters import parameter_texts
from minrisk.cli import options
from minrisk.estimator.parameters import Choice, Depth, Flag, Number

if TYPE_CHECKING:
    from click.types import OptionHelpExtra

METHODS = {method: getattr(algorithms, name) for method, name in ESTIMATORS.items()}
NUMBERS = "n_estimators", "max_depth", "learning_rate", "time_budget", "n_candidates", "n_neighbors", "early_stopping"
CHOICES = (name for cls in METHODS.values() for name, rule in cls._rules.items() if hasattr(rule, "options"))
PARAMETERS = (*NUMBERS, *dict.fromkeys(CHOICES))  # that have an option
UNITS = {"time_budget": "number of seconds"}
OF_PYTHON = ("A tuple", "A table", "The list below", "If `fit`")  # how lines of docstrings begin that say nothing here


class MethodOption(click.Option):
    """An option that sets the parameter of the same name of the methods that have it.

    Left out, it is None and the estimator's default holds, which the help shows.
    """

    def __init__(self, declared: Sequence[str]) -> None:
        name = declared[0].removeprefix("--").replace("-", "_")
        owners = {method: cls for method, cls in METHODS.items() if name in cls._rules}
        self.rules = {method: cls._rules[name] for method, cls in owners.items()}
        self.defaults = {method: inspect.signature(cls).parameters[name].default for method, cls in owners.items()}
        self.owners = " or ".join(owners)
        only = "" if len(owners) == len(METHODS) else f" Only with --method {self.owners}."
        kind = _kind(name, list(self.rules.values()))
        super().__init__(declared, type=kind, is_flag=kind is None, default=None, help=self._told(name) + only)

    def _told(self, name: str) -> str:
        """Return what the first method says of the parameter, and others that offer more choices."""
        told, known = dict[str, str](), set[str]()
        for method, rule in self.rules.items():
            choices = {*getattr(rule, "options", ())}
            if not told or choices - known:
                lines = re.split(r"(?<=\.)\n", parameter_texts(METHODS[method]).get(name, ""))
                told[method] = " ".join(line for line in lines if not line.startswith(OF_PYTHON))
            known |= choices
        text = " ".join(f"{method}: {said}" if len(told) > 1 else said for method, said in told.items())
        text = re.sub(r"`(\w+)`", lambda found: _option(found[1]) if found[1] in PARAMETERS else found[1], text)
        return " ".join(text.split())

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the checked value; `--method` is eager, so it is known here."""
        value, method = super().process_value(ctx, value), ctx.params.get("method", "")
        if value is None:
            return None
        option, rule = self.opts[0], self.rules.get(method)
        if isinstance(value, float) and not math.isfinite(value):
            raise click.BadParameter(f"must be a finite number, got {value}", ctx, self)
        if rule is None:
            raise click.ClickException(
                f"{option} applies to --method {self.owners} only: leave it out, or train with --method {self.owners}."
            )
        if not rule.accepts(value):
            told = Choice(rule.options) if hasattr(rule, "options") else rule  # no functions on a command line
            raise click.ClickException(f"{option} with --method {method} must be {told}, got {value!r}.")
        return value

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:
        """Return what the help says in brackets: here the defaults too."""
        extra = super().get_help_extra(ctx)
        told = {method: "none" if value is None else str(value) for method, value in self.defaults.items()}
        if len(set(told.values())) > 1:
            extra["default"] = ", ".join(f"{method} {value}" for method, value in told.items())
        elif not self.is_flag:
            extra["default"] = next(iter(told.values()))
        return extra


def _kind(name: str, rules: list[Any]) -> Any:
    """Return the type of values that the rules of a parameter accept; None of a flag."""
    first = rules[0]
    if isinstance(first, Flag):
        return None
    if not isinstance(first, Number):
        return click.Choice([*dict.fromkeys(choice for rule in rules for choice in rule.options)])
    if first.kind is int:
        return click.IntRange(int(first.low), MAX_DEPTH if isinstance(first, Depth) else None)
    found = click.FloatRange(first.low, min_open=first.open_low)
    found.name = UNITS.get(name, found.name)
    return found


def _option(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


method_options = options.several(
    click.option(
        "--method",
        type=click.Choice(list(METHODS)),
        default=next(iter(METHODS)),
        is_eager=True,
        help=" ".join(f"{method}: {(cls.__doc__ or cls.__name__).splitlines()[0]}" for method, cls in METHODS.items()),
    ),
    *(click.option(_option(name), cls=MethodOption) for name in PARAMETERS),
)


def as_options(message: str, names: Iterable[str]) -> str:
    """Return what an estimator says of itself and of parameters of these names, in terms of the command line.

    Examples
    --------
    >>> as_options("MCBoostClassifier needs loss='mc', or max_depth=3.", ["loss", "max_depth"])
    '--method mcboost needs --loss mc, or --max-depth 3.'
    """
    for method, name in ESTIMATORS.items():
        message = re.sub(rf"\b{name}\b", f"--method {method}", message)
    parameter = rf"\b({'|'.join(names)})=('?)([\w.]*\w)\2"
    return re.sub(parameter, lambda found: f"{_option(found[1])} {found[3]}", message)
