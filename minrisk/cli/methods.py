"""What `minrisk fit` trains: methods, named in `_utils/method_names.py`, and options that set their parameters."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from minrisk._utils.method_names import ESTIMATORS as ESTIMATORS

if TYPE_CHECKING:
    from click.types import OptionHelpExtra


class MethodOption(click.Option):
    """An option that sets the parameter of the same name; left out, it is None and the estimator's default holds.

    Parameters
    ----------
    names : list of str
    defaults : mapping
        The estimator's default for each method that has the parameter; shown in the help.
    help : str
    **more
        As for `click.Option`.
    """

    def __init__(self, names: list[str], *, defaults: Mapping[str, Any], help: str, **more: Any) -> None:
        self.defaults = defaults
        self.owners = " or ".join(defaults)
        only = "" if len(defaults) == len(ESTIMATORS) else f" Only with --method {self.owners}."
        super().__init__(names, default=None, help=help + only, **more)

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """The checked value; `--method` is eager, so it is known here."""
        value = super().process_value(ctx, value)
        if isinstance(value, float) and not math.isfinite(value):
            raise click.BadParameter(f"must be a finite number, got {value}", ctx, self)
        if value is not None and ctx.params.get("method") not in self.defaults:
            name = self.opts[0]
            raise click.ClickException(
                f"{name} applies to --method {self.owners} only: leave it out, or train with --method {self.owners}."
            )
        return value

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:
        """What the help says in brackets: here the defaults too."""
        extra = super().get_help_extra(ctx)
        told = {method: "none" if value is None else str(value) for method, value in self.defaults.items()}
        if len(set(told.values())) > 1:
            extra["default"] = ", ".join(f"{method} {value}" for method, value in told.items())
        elif not self.is_flag:
            extra["default"] = next(iter(told.values()))
        return extra


class Seconds(click.FloatRange):
    """A number of seconds from 0 on."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As a float; the error says how seconds are written."""
        try:
            float(value)
        except ValueError:
            raise click.BadParameter(f"{value!r} is no number: give seconds, as 60", ctx, param) from None
        return super().convert(value, param, ctx)


METHOD_OPTIONS = (
    click.option(
        "--method",
        type=click.Choice(list(ESTIMATORS)),
        default=next(iter(ESTIMATORS)),
        show_default=True,
        is_eager=True,
        help="What is trained: minrisk, the project's own MinRiskClassifier; rebel, the REBELClassifier of "
        "Appel et al.; similarities, comparisons with training points by Appel and Perona; stagewise or "
        "multiboost, large-margin boosting by Paisitkriangkrai et al.; mcboost, guess-averse boosting by "
        "Beijbom et al.; piboost, separators of groups of classes, and badacost, AdaBoost with a cost "
        "matrix, by Fernandez-Baldera et al.; to compare with: adaboost-mh by Schapire and Singer, "
        "gentleboost by Friedman et al., adaboost-ecc by Guruswami and Sahai, aoso-logitboost by Sun et "
        "al., gradboost by Duchi and Singer, adaboost-mo, AdaBoost.MH on an output code, by Schapire and "
        "Singer, adaboost-sip by Zhang et al., structboost by Shen et al.",
    ),
    click.option(
        "--n-estimators",
        cls=MethodOption,
        type=click.IntRange(1),
        defaults={
            "minrisk": None,
            "rebel": 200,
            "similarities": 200,
            "stagewise": 500,
            "multiboost": 100,
            "mcboost": 100,
            "piboost": 100,
            "badacost": 200,
            "adaboost-mh": 200,
            "gentleboost": 200,
            "adaboost-ecc": 200,
            "aoso-logitboost": 200,
            "gradboost": 200,
            "adaboost-mo": 200,
            "adaboost-sip": 200,
            "structboost": 200,
        },
        help="Largest number of rounds of boosting.",
    ),
    click.option(
        "--max-depth",
        cls=MethodOption,
        type=click.IntRange(1, 64),
        defaults={
            "minrisk": None,
            "rebel": 4,
            "stagewise": 3,
            "multiboost": 3,
            "mcboost": 3,
            "piboost": None,
            "badacost": 3,
            "adaboost-mh": 1,
            "gentleboost": 1,
            "adaboost-ecc": 1,
            "aoso-logitboost": 3,
            "adaboost-mo": 1,
            "adaboost-sip": 1,
            "structboost": 3,
        },
        help="Largest depth of the trees.",
    ),
    click.option(
        "--learning-rate",
        cls=MethodOption,
        type=click.FloatRange(0, min_open=True),
        defaults={
            "minrisk": None,
            "rebel": 1.0,
            "similarities": 1.0,
            "stagewise": 0.5,
            "mcboost": 1.0,
            "piboost": 1.0,
            "badacost": 1.0,
            "adaboost-mh": 1.0,
            "gentleboost": 1.0,
            "adaboost-ecc": 1.0,
            "aoso-logitboost": 0.1,
            "adaboost-mo": 1.0,
            "adaboost-sip": 1.0,
        },
        help="Factor on every step; smaller needs more rounds.",
    ),
    click.option(
        "--surrogate",
        cls=MethodOption,
        defaults={"minrisk": "auto"},
        type=click.Choice(["auto", "exponential", "softmax", "coupled", "gll", "gel"]),
        help="What is boosted: exponential and softmax estimate probabilities, coupled, gll and gel train on "
        "the costs; auto takes one of the former, or the better one if --time-budget allows both.",
    ),
    click.option(
        "--time-budget",
        cls=MethodOption,
        type=Seconds(0),
        metavar="SECONDS",
        defaults={"minrisk": None},
        help="Seconds that the fit takes, once the data are read; the model then depends on the machine.",
    ),
    click.option(
        "--weak-learner",
        cls=MethodOption,
        type=click.Choice(["tree", "stump", "linear"]),
        defaults={
            "rebel": "tree",
            "stagewise": "stump",
            "multiboost": "stump",
            "mcboost": "linear",
            "piboost": "tree",
            "structboost": "stump",
        },
        help="What is boosted: trees, stumps, or with mcboost lines in one feature.",
    ),
    click.option(
        "--loss",
        cls=MethodOption,
        type=click.Choice(["exponential", "logistic", "squared", "gll", "gel", "mc", "ls", "lt", "gamma-phi"]),
        defaults={
            "rebel": "exponential",
            "similarities": "exponential",
            "stagewise": "exponential",
            "multiboost": "logistic",
            "mcboost": "gll",
        },
        help="Loss that is lowered; squared with rebel or similarities only, the last six with mcboost.",
    ),
    click.option(
        "--gamma",
        cls=MethodOption,
        type=click.Choice(["identity", "log"]),
        defaults={"mcboost": "identity"},
        help="Of the loss gamma-phi: what is taken of a row's sum.",
    ),
    click.option(
        "--phi",
        cls=MethodOption,
        type=click.Choice(["exponential", "logistic", "squared hinge", "squared"]),
        defaults={"mcboost": "logistic"},
        help="Of the loss gamma-phi: what is taken of each difference of two scores.",
    ),
    click.option(
        "--decision",
        cls=MethodOption,
        type=click.Choice(["argmax", "bayes"]),
        defaults={"mcboost": "argmax"},
        help="Decide for the largest score, or for the least expected cost of the probabilities.",
    ),
    click.option(
        "--variant",
        cls=MethodOption,
        type=click.Choice(["labels", "margin"]),
        defaults={"gentleboost": "labels"},
        help="The loss of every label and one tree a round, or of the true class's margin and a tree for each class.",
    ),
    click.option(
        "--descent",
        cls=MethodOption,
        type=click.Choice(["coordinate", "gradient", "codewords"]),
        defaults={"mcboost": "coordinate"},
        help="One coordinate after the other, each with a step of its own, or all at once: faster; or one "
        "tree whose leaves are classes.",
    ),
    click.option(
        "--offset",
        cls=MethodOption,
        type=click.Choice(["tight", "paper"]),
        defaults={"rebel": "tight", "similarities": "tight"},
        help="What is subtracted from each row of costs: its minimum, or the paper's offset.",
    ),
    click.option(
        "--separators",
        cls=MethodOption,
        type=click.Choice(["pairs", "singles"]),
        defaults={"piboost": "pairs"},
        help="What each learner separates from the rest: a class or two, or one class.",
    ),
    click.option(
        "--response",
        cls=MethodOption,
        type=click.Choice(["real", "sign", "own"]),
        defaults={"similarities": "real", "adaboost-mh": "real", "adaboost-mo": "real"},
        help="What a comparison answers: a number from -1 to 1, or its sign; with adaboost-mh or adaboost-mo "
        "what a leaf holds for each class or bit; own, with adaboost-mo: a tree for each bit.",
    ),
    click.option(
        "--code",
        cls=MethodOption,
        type=click.Choice(["exhaustive", "one-vs-all", "random"]),
        defaults={"adaboost-mo": None},
        help="The bits of each class: all ways of parting the classes in two, one for each class, or random "
        "ones; without it the first for up to seven classes, the last for more.",
    ),
    click.option(
        "--decoding",
        cls=MethodOption,
        type=click.Choice(["loss", "hamming"]),
        defaults={"adaboost-mo": "loss"},
        help="Decide for the class of the least loss of the bits, or of the fewest wrong ones.",
    ),
    click.option(
        "--scaling",
        cls=MethodOption,
        type=click.Choice(["none", "standard", "robust"]),
        defaults={"similarities": "none"},
        help="Units of distances: columns as they are, over their standard deviation, or over their "
        "interquartile range.",
    ),
    click.option(
        "--n-candidates",
        cls=MethodOption,
        type=click.IntRange(1),
        defaults={"similarities": None},
        help="Largest number of pairs of training points that a round tries; without it a round may take time "
        "by the square of the rows.",
    ),
    click.option(
        "--n-neighbors",
        cls=MethodOption,
        type=click.IntRange(1),
        defaults={"similarities": None},
        help="Compare a training point with about so many of the nearest others, in place of all.",
    ),
    click.option(
        "--early-stopping",
        cls=MethodOption,
        is_flag=True,
        defaults={
            "rebel": False,
            "similarities": False,
            "stagewise": False,
            "multiboost": False,
            "mcboost": False,
            "piboost": False,
            "badacost": False,
            "adaboost-mh": False,
            "gentleboost": False,
            "adaboost-ecc": False,
            "aoso-logitboost": False,
            "gradboost": False,
            "adaboost-mo": False,
            "adaboost-sip": False,
            "structboost": False,
        },
        help="Keep the rounds of least mean cost on a tenth set apart; minrisk always chooses its rounds.",
    ),
)


def check_given(method: str, given: Mapping[str, Any]) -> None:
    """Refuse what only another method takes, before any work.

    Raises
    ------
    click.ClickException
        Naming the option and what it may be.
    """
    from minrisk import algorithms
    from minrisk.estimator.parameters import Choice, SmoothFunction

    rules = getattr(algorithms, ESTIMATORS[method])._rules
    for name, value in given.items():
        if not rules[name].accepts(value):
            option = "--" + name.replace("_", "-")
            rule = rules[name]
            told = Choice(rule.options) if isinstance(rule, SmoothFunction) else rule  # no functions on a command line
            raise click.ClickException(f"{option} with --method {method} must be {told}, got {value!r}.")


def as_options(message: str, names: Iterable[str]) -> str:
    """What an estimator says of itself and of parameters of these names, in terms of the command line.

    Examples
    --------
    >>> as_options("MCBoostClassifier needs loss='mc', or max_depth=3.", ["loss", "max_depth"])
    '--method mcboost needs --loss mc, or --max-depth 3.'
    """
    for method, name in ESTIMATORS.items():
        message = re.sub(rf"\b{name}\b", f"--method {method}", message)
    parameter = rf"\b({'|'.join(names)})=('?)([\w.]*\w)\2"
    return re.sub(parameter, lambda found: f"--{found[1].replace('_', '-')} {found[3]}", message)


def method_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options above, in their order."""
    for option in reversed(METHOD_OPTIONS):
        command = option(command)
    return command
