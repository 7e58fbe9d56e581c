"""Commands that look at their files before any work, and options that several of them have."""

from __future__ import annotations

import codecs
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from minrisk.cli.common import check_new_file, check_stdin
from minrisk.io.atomic import names_folder
from minrisk.tables.text import Dialect

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}
COSTS_HELP = (
    "What each mistake costs: a CSV file (rows true classes, columns decisions), 'uniform', "
    "'ordinal' or 'ordinal:P' (classes are numbers, a mistake costs its distance in their order, to the power of P). "
    "In the place of a number of the file may stand the name of a column of DATA, which holds this cost for each row."
)


# -- files -------------------------------------------------------------------------------------------------------------
class NewFile(click.Path):
    """The path of a file that is to be written."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value as a `Path`, which would drop the mark of a folder at its end."""
        if names_folder(value):
            raise click.ClickException(f"{value} cannot be written: it is a folder; give the name of a file.")
        return super().convert(value, param, ctx)


FILE, NEW_FILE = click.Path(path_type=Path), NewFile(path_type=Path)
NEW_FILE.name = "file"  # which its option is shown with
COSTS = click.Path(readable=False)  # or a name of costs
FOLDER = click.Path(path_type=Path, file_okay=False, exists=True, writable=True)


class Command(click.Command):
    """A command that, before any work, makes sure that nothing is said or read twice and that files can be written."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; refuse an option that is given twice, of which click would take the last one in silence."""
        found = self.make_parser(ctx).parse_args(list(args))[2]
        for one in found:
            takes_one = isinstance(one, click.Option) and not (one.multiple or one.is_flag)
            if takes_one and found.count(one) > 1:
                raise click.UsageError(f"{one.opts[0]} must be given once, got it {found.count(one)} times", ctx)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Look at the files, and run."""
        read, written = list[Any](), dict[str, Path]()
        for param in self.params:
            value = ctx.params.get(param.name or "")
            if param.type in (FILE, COSTS) and value is not None:
                read += value if isinstance(value, tuple) else [value]
            elif param.type is NEW_FILE and value is not None:
                written[param.opts[0]] = value
        check_stdin(*read)
        for option, path in written.items():
            check_new_file(option, path, *read, *(other for name, other in written.items() if name != option))
        return super().invoke(ctx)


command = functools.partial(click.command, cls=Command, context_settings={"show_default": True})


class Column(click.ParamType):  # type: ignore[type-arg]  # of newer versions only
    """The name of a column."""

    name = "column"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value as UTF-8, which it is whatever the locale says."""
        try:
            return os.fsencode(value).decode()
        except UnicodeError:
            return value


COLUMN = Column()


# -- options of several commands ---------------------------------------------------------------------------------------
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


def _not_zero(context: click.Context, option: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("must be a number of threads, or -1 for all cores; got 0")
    return value


def column(name: str, help: str, multiple: bool = False) -> Decorator:
    """Return an option whose value is the name of a column."""
    help = f"{help}; may be given several times." if multiple else help
    return click.option(name, type=COLUMN, multiple=multiple, help=help)


def costs(more: str, *names: str, multiple: bool = False) -> Decorator:
    """Return the option --costs, whose help ends with some more words."""
    help = f"{COSTS_HELP} {more}"
    return click.option("--costs", *names, type=COSTS, metavar="COSTS", multiple=multiple, help=help)


costs_known = click.option(
    "--costs-known",
    is_flag=True,
    help="Costs that columns hold are known when a row is decided: decide by them. Default: they come out later.",
)


def n_jobs(help: str, default: str | bool = True) -> Decorator:
    """Return the option --n-jobs, whose default may be said in other words."""
    return click.option("--n-jobs", type=int, default=-1, callback=_not_zero, show_default=default, help=help)


def json(instead: str) -> Decorator:
    """Return the option --json."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print one JSON object instead of {instead}.")


model = click.argument("model", type=FILE)
data = click.argument("data", type=FILE, nargs=-1, required=True)
numeric = column("--numeric", "This column holds numbers, and cells that are none are missing", True)
drop = column("--drop", "Leave this column out", True)
categorical = column("--categorical", "This column holds categories, as columns of words do", True)
seed = click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Of what is drawn.")


def several(*options: Decorator) -> Decorator:
    """Return one decorator that gives a command some options, in their order."""
    return lambda command: functools.reduce(lambda made, option: option(made), reversed(options), command)


def gathered(name: str, kind: Any, *options: Decorator) -> Decorator:
    """Return the same, of options whose values a command gets as one named tuple."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def told(*args: Any, **given: Any) -> Any:
            fields = {field: given.pop(field) for field in kind._fields if field in given}
            return command(*args, **{name: kind(**fields)}, **given)

        return several(*options)(told)

    return decorate


dialect = gathered(
    "stated",
    Dialect,
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
)
judged = several(  # which rows are judged, and by which costs
    column(
        "--target",
        "The column that holds the class. Default: that of the training; or the only one the model does not know.",
    ),
    costs("Default: the costs the model was trained on."),
    column("--weight", "This column holds how much each row counts."),
    numeric,
    dialect,
)
