"""How commands tell facts to people: titles, names with values, and tables, by rich.

On the terminal nothing is cut, however narrow it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from minrisk._utils.text import first_of, printable
from minrisk.cli.streams import written_on

SHORT, ROOM = 12, 20  # characters: labels are folded to no less, values beside their names have no less
BLOCKS = 20  # characters of the longest bar


class Terminal(Console):
    """Standard output. Its reader may leave: that is for the command to hear of."""

    def __init__(self) -> None:
        super().__init__(highlight=False)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def title(self, title: str) -> None:
        """Print a blank line and a title."""
        self.print()
        self.print(as_text(title, "bold"))

    def section(self, title: str, table: Table) -> None:
        """Print a title and a table, as wide as it must be: no label or number of it is cut."""
        self.title(title)
        width = self.width
        try:
            self.width = max(width, _fitted(table, width))
            self.print(table)
        finally:
            self.width = width

    def facts(self, title: str, lines: Sequence[tuple[str, str]]) -> None:
        """Print a title, and names with values beside them, or below them where there is no room."""
        self.title(title)
        name_width = max(cell_len(name) for name, _ in lines) + 4
        if self.width < name_width + ROOM:
            for name, value in lines:
                self.print(Text(" " + name if name else "", style="cyan"))
                self.print(Padding(as_text(value), (0, 0, 0, 3)), overflow="fold")
            return
        table = Table(show_header=False, box=None, padding=(0, 1, 0, 1))
        table.add_column(style="cyan", no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in lines:
            table.add_row(name, as_text(value))  # Text: names of files and labels may hold brackets, rich's markup
        self.print(table)


def _fitted(table: Table, width: int) -> int:
    """Make a table narrower where it is wider than the console: no bars, then labels folded; returns its width."""
    if _total(table) > width and table.columns[-1].header == Text(""):
        table.columns.pop()
    for column in sorted(table.columns, key=_width, reverse=True):
        excess = _total(table) - width
        if excess > 0 and not column.no_wrap:
            column.width = max(min(_width(column), SHORT), _width(column) - excess)
    return _total(table)


def _total(table: Table) -> int:
    """Return width of a table: of its columns, a blank on each side of them, and a blank between them."""
    return sum(_width(column) + 3 for column in table.columns) - 1


def _width(column: Column) -> int:
    """Return width of a column; of what it holds, if it was given none."""
    return max(map(cell_len, map(str, (column.header, *column.cells)))) if column.width is None else column.width


class Lines(Table):
    """A table whose first columns hold labels, and others numbers or, without a name, bars."""

    def __init__(self, *names: Any, left: int = 1) -> None:
        super().__init__(box=box.SIMPLE_HEAD, header_style="cyan", show_edge=False, padding=(0, 1, 0, 1))
        for j, name in enumerate(names):
            is_label = j < left or name == ""
            justify: Any = "left" if is_label else "right"
            self.add_column(as_text(name), justify=justify, no_wrap=not is_label, overflow="fold")

    def add(self, *cells: Any, style: str = "") -> None:
        """Add a line, whose cells are shown as they are: labels may hold brackets, rich's markup."""
        self.add_row(*(cell if isinstance(cell, Text) else as_text(cell) for cell in cells), style=style)


# -- words -------------------------------------------------------------------------------------------------------------
def as_text(label: Any, style: str = "") -> Text:
    """Return a label or name as it will stand on the stream; tables are laid out with this."""
    return Text(written_on(printable(str(label))), style=style)


def number(value: float) -> str:
    """Return a number in four digits; large ones whole, with an exponent only where nobody would read the digits."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def bar(share: float, largest: float) -> Text:
    return Text("█" * max(1, round(BLOCKS * share / largest)), style="red")


# -- facts of models that were fitted here or read ---------------------------------------------------------------------
def categories_of(model: Any) -> dict[str, int]:
    """Return columns that hold categories, and how many values each has."""
    return {column.name: len(column.values) for column in model._categories.columns}


def category_line(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return which features are categories."""
    told = [f"{name} ({count})" for name, count in facts["categories"].items()]
    return [("categories", first_of(told, 8))] if told else []


def algorithm(facts: dict[str, Any]) -> str:
    """Return the estimator, and what it boosts where it has a choice."""
    surrogate = "" if facts["surrogate"] is None else f", surrogate {facts['surrogate']}"
    return f"{facts['algorithm']}{surrogate}"


def in_target(facts: dict[str, Any], what: str = "") -> str:
    """Return which column holds the classes; nothing of a file that has none."""
    return "" if facts["target"] is None else f"{what} in {facts['target']!r}"


def model_file(facts: dict[str, Any]) -> str:
    """Return the model's file and its size, where it has one."""
    n_bytes = facts["bytes"]
    if n_bytes is None:
        return str(facts["model"])
    return f"{facts['model']} ({f'{n_bytes / 1e6:.1f} MB' if n_bytes >= 1e6 else f'{n_bytes / 1e3:.0f} kB'})"
