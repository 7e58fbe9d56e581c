"""The group of commands, and the one place where errors become a line on stderr."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import click

import minrisk
from minrisk._utils.text import short
from minrisk.cli.streams import drop, flush, one_line, say

COMMANDS = {  # each in the module of its name, which is imported when the command is asked for
    "fit": "Train on a table and write a model.",
    "predict": "Decide for every row of a table.",
    "evaluate": "What the decisions of a model cost.",
    "monitor": "What decisions cost on new rows, before labels come; exit code 3 is an alarm.",
    "report": "A page about a model and its mistakes.",
    "compare": "Compare methods by what their decisions cost.",
    "show": "What is in a model file.",
    "export": "Write a model for ONNX Runtime, for Treelite, or as JSON.",
    "demo": "Compare methods that know the costs with others on real data.",
    "warmup": "Nothing: kernels come compiled.",
}
BAD_INPUT, INTERRUPTED = 2, 130  # 130 is what shells report for Ctrl-C
TRACEBACK = "MINRISK_TRACEBACK"


class OneLineErrors(click.Group):
    """A group of commands whose errors are one line on stderr beginning "minrisk: ", and exit code 2."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name of a command, the command itself and the rest of the arguments."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, found and getattr(import_module(f"minrisk.cli.{name}"), str(name)), rest

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run, and leave with the exit code."""
        extra["standalone_mode"] = False
        code: Any = BAD_INPUT
        try:
            code = super().main(*args, **extra)
            flush()
        except click.UsageError as error:
            command = "minrisk" if error.ctx is None else error.ctx.command_path
            fail(f"{error.format_message().rstrip('.')}. Try '{command} --help'.")
        except click.ClickException as error:
            fail(error.format_message())
        except click.Abort:
            fail("stopped.", INTERRUPTED)
        except BrokenPipeError:  # the reader of our output has left, as `head` does
            drop()
            sys.exit(1)  # as click does where it notices first
        except OSError as error:
            fail(f"{short(str(error.filename or 'standard output'), 400)}: {error.strerror or error}.")
        except MemoryError:
            fail("there is not enough memory for this.")
        except Exception as error:
            foreseen = isinstance(error, ValueError)  # what the package raises on bad input, in clear words
            if os.environ.get(TRACEBACK) and not foreseen:
                raise
            what = f"{type(error).__name__}: {error}"
            if not has_pandas():
                fail(f"pandas, which tables are read with, does not work here ({what}): install it again.")
            if foreseen:
                fail(str(error))
            fail(f"this should not have happened ({what}): please report it, with what is said under {TRACEBACK}=1.")
        sys.exit(code if isinstance(code, int) else 0)


def has_pandas() -> bool:
    """Tell whether pandas can be imported, and is what it should be."""
    try:
        import pandas

        return hasattr(pandas, "DataFrame")
    except Exception:  # of an installation that is broken, which may raise anything
        return False


def fail(message: str, code: int = BAD_INPUT) -> NoReturn:
    """Say in one line what is wrong, and leave."""
    with suppress(OSError, ValueError):  # nobody is there to be told
        say("minrisk: " + one_line(message), err=True)
    with suppress(OSError, ValueError):
        flush()
    sys.exit(code)


@click.group(
    "minrisk", cls=OneLineErrors, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(minrisk.__version__, message="minrisk %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Multi-class boosting for the decision of least expected cost.

    \b
    A table is a .csv, .csv.gz or .parquet file with one row per case; - is standard input.
    Sparse rows are read from files of svmlight's format: .svm, .svmlight or .libsvm, also as .gz or .bz2.
    A costs file is a CSV: rows are the true classes, columns the decisions.
    CSV as Excel writes it in any country is detected, or stated (--delimiter, --decimal, --encoding).

    \b
      minrisk demo
      minrisk fit train.csv --target grade --costs costs.csv --out grade.minrisk
      minrisk evaluate grade.minrisk test.csv
      minrisk report grade.minrisk test.csv --out grade.html
      minrisk predict grade.minrisk new.csv --out decisions.csv
      minrisk monitor grade.minrisk new.csv
      minrisk compare train.csv --target grade --costs costs.csv --methods minrisk,rebel
      minrisk export grade.minrisk --to onnx
    """  # noqa: D301 (\b is click's mark for lines to leave as they are)
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command, what in COMMANDS.items():
    app.add_command(click.Command(command, short_help=what))
