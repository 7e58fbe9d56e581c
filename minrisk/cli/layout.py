"""Tables, lines of facts and bars on the terminal, by rich; nothing is cut, however narrow it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from minrisk._utils.text import printable
from minrisk.cli.streams import written_on

if TYPE_CHECKING:
    from minrisk._typing import FloatArray

SHORT, ROOM = 12, 20  # characters: labels are folded to no less, values beside their names have no less
BARS, BLOCKS = "▁▂▃▄▅▆▇█", 20  # of a curve, by height; characters of the longest bar


class _Console(Console):
    """A console whose reader may leave: that is for the command to hear of."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def new_console() -> Console:
    return _Console(highlight=False)


def print_section(console: Console, title: str, table: Table) -> None:
    """A blank line, a title and a table, as wide as it must be: no label or number of it is cut."""
    console.print()
    console.print(Text(title, style="bold"))
    width = console.width
    try:
        console.width = max(width, _fitted(table, width))
        console.print(table)
    finally:
        console.width = width


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
    """Width of a table: of its columns, a blank on each side of them, and a blank between them."""
    return sum(_width(column) + 3 for column in table.columns) - 1


def _width(column: Column) -> int:
    """Width of a column; of what it holds, if it was given none."""
    return max(map(cell_len, map(str, (column.header, *column.cells)))) if column.width is None else column.width


def print_facts(console: Console, title: str, lines: Sequence[tuple[str, str]]) -> None:
    """A blank line, a title, and names with values beside them, or below them where there is no room."""
    console.print()
    console.print(Text(title, style="bold"))
    name_width = max(cell_len(name) for name, _ in lines) + 4
    if console.width < name_width + ROOM:
        for name, value in lines:
            console.print(Text(" " + name if name else "", style="cyan"))
            console.print(Padding(as_text(value), (0, 0, 0, 3)), overflow="fold")
        return
    table = Table(show_header=False, box=None, padding=(0, 1, 0, 1))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in lines:
        table.add_row(name, as_text(value))  # Text: names of files and labels may hold brackets, rich's markup
    console.print(table)


def new_table(*columns: tuple[str, Any]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="cyan", show_edge=False, padding=(0, 1, 0, 1))
    for name, justify in columns:
        table.add_column(as_text(name), justify=justify, no_wrap=justify == "right", overflow="fold")
    return table


def as_text(label: Any, style: str = "") -> Text:
    """A label or name as it will stand on the stream; tables are laid out with this."""
    return Text(written_on(printable(str(label))), style=style)


def number(value: float) -> str:
    """Four digits; large numbers whole, with an exponent only where nobody would read the digits."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def bar(share: float, largest: float) -> Text:
    return Text("█" * max(1, round(BLOCKS * share / largest)), style="red")


def spark(values: Sequence[float] | FloatArray, width: int = 30) -> str:
    """A course as a line of blocks."""
    at = np.unique(np.linspace(0, len(values) - 1, min(width, len(values))).round().astype(int))
    chosen = np.asarray(values, dtype=float)[at]
    low, high = chosen.min(), chosen.max()
    height = np.zeros(len(chosen)) if high == low else (chosen - low) / (high - low)
    return "".join(BARS[round(h * (len(BARS) - 1))] for h in height)


def listed(labels: Sequence[Any], most: int = 12) -> str:
    shown = ", ".join(str(label) for label in labels[:most])
    return shown if len(labels) <= most else f"{shown}, … ({len(labels)} in all)"


def size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"


@contextmanager
def progress(what: str, steps: int) -> Iterator[Callable[[], None]]:
    """A bar on stderr where that is a terminal; the value is to be called after every step."""
    bar = Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task(what, total=steps)
        yield lambda: bar.advance(task)
