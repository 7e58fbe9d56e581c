"""Options that several commands have, and those that set parameters of methods."""

from __future__ import annotations

import codecs
import functools
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minrisk._utils.method_names import ESTIMATORS as ESTIMATORS
from minrisk.tables.text import Dialect

if TYPE_CHECKING:
    from click.types import OptionHelpExtra

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}
COSTS_HELP = (
    "What each mistake costs: a CSV file (rows true classes, columns decisions), 'uniform', "
    "'ordinal' or 'ordinal:P' (classes are numbers, a mistake costs its distance in their order, to the power of P)."
)


# -- kinds of values ---------------------------------------------------------------------------------------------------
class NewFile(click.Path):
    """The path of a file that is to be written."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value as a `Path`, which would drop the mark of a folder at its end."""
        from minrisk.io.atomic import names_folder

        if names_folder(value):
            raise click.ClickException(f"{value} cannot be written: it is a folder; give the name of a file.")
        return super().convert(value, param, ctx)


class Seconds(click.FloatRange):
    """A number of seconds from 0 on."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value as a float; the error says how seconds are written."""
        try:
            float(value)
        except ValueError:
            raise click.BadParameter(f"{value!r} is no number: give seconds, as 60", ctx, param) from None
        return super().convert(value, param, ctx)


FILE, NEW_FILE = click.Path(path_type=Path), NewFile(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False, exists=True, writable=True)


def _delimiter(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    value = DELIMITER_NAMES.get((value or "").lower(), value)
    if value is not None and (len(value) != 1 or not value.isascii() or value in '"\r\n\0'):
        raise click.BadParameter(f"must be one ASCII character, or tab; got {value!r}")
    return value


def _encoding(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        try:
            known = codecs.lookup(value)._is_text_encoding
        except (LookupError, ValueError):
            known = False
        if not known:
            raise click.BadParameter(f"must be an encoding such as utf-8, cp1252 or utf-16; got {value!r}")
    return value


def as_column(context: click.Context, option: click.Parameter, value: Any) -> Any:
    """Return names of columns from the command line as UTF-8, which it is whatever the locale says; tuples of them,
    too.
    """
    if isinstance(value, tuple):
        return tuple(as_column(context, option, name) for name in value)
    try:
        return value if value is None else os.fsencode(value).decode()
    except UnicodeError:
        return value


def _not_zero(context: click.Context, option: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("must be a number of threads, or -1 for all cores; got 0")
    return value


# -- options of several commands ---------------------------------------------------------------------------------------
def column_option(name: str, help: str, multiple: bool = False) -> Decorator:
    """Return an option whose value is the name of a column."""
    help = f"{help}; may be given several times." if multiple else help
    return click.option(name, metavar="COLUMN", callback=as_column, multiple=multiple, help=help)


def costs_option(more: str, *names: str, multiple: bool = False) -> Decorator:
    """Return the option --costs, whose help ends with some more words."""
    return click.option("--costs", *names, metavar="COSTS", multiple=multiple, help=f"{COSTS_HELP} {more}")


def n_jobs_option(help: str, **more: Any) -> Decorator:
    """Return the option --n-jobs."""
    return click.option(
        "--n-jobs", type=int, default=-1, callback=_not_zero, help=help, **{"show_default": True, **more}
    )


model_argument = click.argument("model", type=FILE)
data_argument = click.argument("data", type=FILE, nargs=-1, required=True)
numeric_option = column_option("--numeric", "This column holds numbers, and cells that are none are missing", True)
drop_option = column_option("--drop", "Leave this column out", True)
categorical_option = column_option("--categorical", "This column holds categories, as columns of words do", True)
seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Of what is drawn."
)


def json_option(instead: str) -> Decorator:
    """Return the option --json."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print one JSON object instead of {instead}.")


def all_options(*options: Decorator) -> Decorator:
    """Return one decorator that gives a command some options, in their order."""
    return lambda command: functools.reduce(lambda made, option: option(made), reversed(options), command)


def dialect_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say how a text table is written, which it gets as one `stated`."""

    @functools.wraps(command)
    def told(*args: Any, delimiter: str | None, decimal: str | None, encoding: str | None, **more: Any) -> Any:
        return command(*args, stated=Dialect(delimiter, decimal, encoding), **more)

    return all_options(
        click.option(
            "--delimiter",
            metavar="MARK",
            callback=_delimiter,
            help="What separates the cells of CSV files: one character, or tab. Default: detected.",
        ),
        click.option(
            "--decimal",
            type=click.Choice([".", ","]),
            help="The decimal mark of CSV files. Default: a point; a comma where cells are separated by ';' or "
            "tabs and are such numbers.",
        ),
        click.option(
            "--encoding",
            metavar="NAME",
            callback=_encoding,
            help="Of CSV files, such as utf-8 or cp1252. Default: detected.",
        ),
    )(told)


judged_options = all_options(  # which rows are judged, and by which costs
    column_option(
        "--target",
        "The column that holds the class. Default: that of the training; or the only one the model does not know.",
    ),
    costs_option("Default: the costs the model was trained on."),
    column_option("--weight", "This column holds how much each row counts."),
    numeric_option,
    dialect_options,
)


# -- options of methods ------------------------------------------------------------------------------------------------
@functools.cache
def _parameters() -> dict[str, dict[str, Any]]:
    """Return parameters and their defaults by method; asked of the estimators, which take time to import."""
    from minrisk import algorithms

    return {method: getattr(algorithms, name)().get_params() for method, name in ESTIMATORS.items()}


class MethodOption(click.Option):
    """An option that sets the parameter of the same name of the methods that have it.

    Left out, it is None and the estimator's default holds, which the help shows.
    """

    @property
    def defaults(self) -> dict[str, Any]:
        """Return defaults of the methods that have the parameter."""
        return {method: own[self.name] for method, own in _parameters().items() if self.name in own}

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the checked value; `--method` is eager, so it is known here."""
        value = super().process_value(ctx, value)
        if isinstance(value, float) and not math.isfinite(value):
            raise click.BadParameter(f"must be a finite number, got {value}", ctx, self)
        if value is not None and ctx.params.get("method") not in self.defaults:
            owners = " or ".join(self.defaults)
            raise click.ClickException(
                f"{self.opts[0]} applies to --method {owners} only: leave it out, or train with --method {owners}."
            )
        return value

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the line of the help, with the methods where these are not all."""
        record = super().get_help_record(ctx)
        if record is None or len(self.defaults) == len(ESTIMATORS):
            return record
        assert self.help is not None
        only = f"{self.help} Only with --method {' or '.join(self.defaults)}."
        return record[0], record[1].replace(self.help, only, 1)

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:
        """Return what the help says in brackets: here the defaults too."""
        extra = super().get_help_extra(ctx)
        told = {method: "none" if value is None else str(value) for method, value in self.defaults.items()}
        if len(set(told.values())) > 1:
            extra["default"] = ", ".join(f"{method} {value}" for method, value in told.items())
        elif not self.is_flag:
            extra["default"] = next(iter(told.values()))
        return extra


def _of_method(name: str, kind: Any, help: str, **more: Any) -> Decorator:
    kind = click.Choice(kind.split("|")) if isinstance(kind, str) else kind
    return click.option(name, cls=MethodOption, type=kind, default=None, help=help, **more)


method_options = all_options(
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
    _of_method("--n-estimators", click.IntRange(1), "Largest number of rounds of boosting."),
    _of_method("--max-depth", click.IntRange(1, 64), "Largest depth of the trees."),
    _of_method(
        "--learning-rate", click.FloatRange(0, min_open=True), "Factor on every step; smaller needs more rounds."
    ),
    _of_method(
        "--surrogate",
        "auto|exponential|softmax|coupled|gll|gel",
        "What is boosted: exponential and softmax estimate probabilities, coupled, gll and gel train on the "
        "costs; auto takes one of the former, or the better one if --time-budget allows both.",
    ),
    _of_method(
        "--time-budget",
        Seconds(0),
        "Seconds that the fit takes, once the data are read; the model then depends on the machine.",
        metavar="SECONDS",
    ),
    _of_method(
        "--weak-learner", "tree|stump|linear", "What is boosted: trees, stumps, or with mcboost lines in one feature."
    ),
    _of_method(
        "--loss",
        "exponential|logistic|squared|gll|gel|mc|ls|lt|gamma-phi",
        "Loss that is lowered; squared with rebel or similarities only, the last six with mcboost.",
    ),
    _of_method("--gamma", "identity|log", "Of the loss gamma-phi: what is taken of a row's sum."),
    _of_method(
        "--phi",
        "exponential|logistic|squared hinge|squared",
        "Of the loss gamma-phi: what is taken of each difference of two scores.",
    ),
    _of_method(
        "--decision",
        "argmax|bayes",
        "Decide for the largest score, or for the least expected cost of the probabilities.",
    ),
    _of_method(
        "--variant",
        "labels|margin",
        "The loss of every label and one tree a round, or of the true class's margin and a tree for each class.",
    ),
    _of_method(
        "--descent",
        "coordinate|gradient|codewords",
        "One coordinate after the other, each with a step of its own, or all at once: faster; or one tree whose "
        "leaves are classes.",
    ),
    _of_method(
        "--offset", "tight|paper", "What is subtracted from each row of costs: its minimum, or the paper's offset."
    ),
    _of_method(
        "--separators", "pairs|singles", "What each learner separates from the rest: a class or two, or one class."
    ),
    _of_method(
        "--response",
        "real|sign|own",
        "What a comparison answers: a number from -1 to 1, or its sign; with adaboost-mh or adaboost-mo what a "
        "leaf holds for each class or bit; own, with adaboost-mo: a tree for each bit.",
    ),
    _of_method(
        "--code",
        "exhaustive|one-vs-all|random",
        "The bits of each class: all ways of parting the classes in two, one for each class, or random ones; "
        "without it the first for up to seven classes, the last for more.",
    ),
    _of_method(
        "--decoding", "loss|hamming", "Decide for the class of the least loss of the bits, or of the fewest wrong ones."
    ),
    _of_method(
        "--scaling",
        "none|standard|robust",
        "Units of distances: columns as they are, over their standard deviation, or over their interquartile range.",
    ),
    _of_method(
        "--n-candidates",
        click.IntRange(1),
        "Largest number of pairs of training points that a round tries; without it a round may take time by the "
        "square of the rows.",
    ),
    _of_method(
        "--n-neighbors",
        click.IntRange(1),
        "Compare a training point with about so many of the nearest others, in place of all.",
    ),
    _of_method(
        "--early-stopping",
        None,
        "Keep the rounds of least mean cost on a tenth set apart; minrisk always chooses its rounds.",
        is_flag=True,
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
    """Return what an estimator says of itself and of parameters of these names, in terms of the command line.

    Examples
    --------
    >>> as_options("MCBoostClassifier needs loss='mc', or max_depth=3.", ["loss", "max_depth"])
    '--method mcboost needs --loss mc, or --max-depth 3.'
    """
    for method, name in ESTIMATORS.items():
        message = re.sub(rf"\b{name}\b", f"--method {method}", message)
    parameter = rf"\b({'|'.join(names)})=('?)([\w.]*\w)\2"
    return re.sub(parameter, lambda found: f"--{found[1].replace('_', '-')} {found[3]}", message)
