"""What conf.py adds to Sphinx for the API reference: properties that are called, and a page of the commands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

CALLED = ("predict_proba", "staged_predict_proba")  # properties that give a method, so that they are absent without one
LEFT_OUT = (  # of scikit-learn, Python's tuples and exceptions
    "get_metadata_routing",
    "get_params",
    "set_params",
    "count",
    "index",
    "add_note",
    "with_traceback",
)
PAGE = Path(__file__).parent / "api" / "generated" / "command_line.rst"


class CalledProperty(property):
    """A property that gives a method, and on the class shows as that method."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is not None:
            return super().__get__(instance, owner)

        def method(self: Any, X: Any) -> Any:
            return None

        method.__name__, method.__doc__ = self.fget.__name__, self.fget.__doc__
        method.__qualname__, method.__module__ = self.fget.__qualname__, self.fget.__module__
        return method


def write_commands(app: Any) -> None:
    """Write the page of the commands: what `--help` says, with an anchor for each command."""
    import click

    from minrisk.cli.app import app as commands

    parts = ["Command line", "============", "", "What ``minrisk COMMAND --help`` prints.", ""]
    for name in commands.commands:
        _, command, _ = commands.resolve_command(click.Context(commands), [name])
        context = click.Context(command, info_name=f"minrisk {name}", terminal_width=100, max_content_width=100)
        title = f"minrisk {name}"
        parts += [f".. _command-{name}:", "", title, "-" * len(title), "", ".. code-block:: text", ""]
        parts += [f"   {line}".rstrip() for line in command.get_help(context).splitlines()] + [""]
    text = "\n".join(parts)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        PAGE.write_text(text, encoding="utf-8")


def keep_initials(app: Any, what: str, name: str, of: Any, options: Any, lines: list[str]) -> None:
    """Keep references such as "[1] C. Elkan" from being read as point C of a list."""
    for i, line in enumerate(lines):
        lines[i] = re.sub(r"^(\s*\.\. \[\w+\] [A-Z]\.) ", "\\1\N{NO-BREAK SPACE}", line)


def setup(app: Any) -> dict[str, bool]:
    """Connect all of it."""
    app.connect("autodoc-process-docstring", keep_initials, priority=100)  # before numpydoc
    app.connect("builder-inited", write_commands, priority=100)
    from minrisk.estimator import BoostedClassifier

    for name in CALLED:
        setattr(BoostedClassifier, name, CalledProperty(vars(BoostedClassifier)[name].fget))
    return {"parallel_read_safe": True}
