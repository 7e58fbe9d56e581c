"""Pieces of HTML: all text is escaped here, and nowhere else."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Sequence
from typing import Any

from minrisk._utils.text import printable

Cells = Sequence[Any]


def escaped(text: Any) -> str:
    """A text as HTML shows it, whatever it holds.

    Examples
    --------
    >>> escaped('<script>"&'), escaped(3)
    ('&lt;script&gt;&quot;&amp;', '3')
    """
    return html.escape(printable(str(text)), quote=True)


def table(header: Cells, rows: Iterable[Cells], left: int = 1, marked: int | None = None) -> str:
    """A table of texts.

    Parameters
    ----------
    header : sequence of str
    rows : iterable of sequences
        Cells of each line.
    left : int, default=1
        How many columns hold texts, from the first on: the others hold numbers, which end at the right.
    marked : int, optional
        Number of the line that stands out.
    """

    def line(cells: Cells, tag: str, name: str = "") -> str:
        sides = ("" if j < left else ' class="number"' for j in range(len(cells)))
        inner = "".join(f"<{tag}{side}>{escaped(cell)}</{tag}>" for side, cell in zip(sides, cells, strict=True))
        return f"<tr{name}>{inner}</tr>"

    body = "\n".join(line(row, "td", ' class="marked"' if i == marked else "") for i, row in enumerate(rows))
    return f'<div class="wide"><table>\n<thead>{line(header, "th")}</thead>\n<tbody>\n{body}\n</tbody></table></div>'


def facts(pairs: Iterable[tuple[str, Any]]) -> str:
    """Names with values beside them."""
    inner = "\n".join(f"<tr><th>{escaped(name)}</th><td>{escaped(value)}</td></tr>" for name, value in pairs)
    return f'<div class="wide"><table class="facts"><tbody>\n{inner}\n</tbody></table></div>'


def bars(shares: Iterable[tuple[str, float, str]]) -> str:
    """Names, each with a bar of its share of the largest one, and what the number says."""
    rows = list(shares)
    top = max((share for _, share, _ in rows), default=0.0) or 1.0
    inner = "\n".join(
        f'<tr><th>{escaped(name)}</th><td class="bar"><span style="width:{100 * max(share, 0.0) / top:.1f}%"></span>'
        f'</td><td class="number">{escaped(told)}</td></tr>'
        for name, share, told in rows
    )
    return f'<div class="wide"><table class="facts bars"><tbody>\n{inner}\n</tbody></table></div>'


def picture(figure: Any, told: str) -> str:
    """A figure of matplotlib within the page, as SVG; `told` says what it shows to those who do not see it."""
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "minrisk"}):
        figure.canvas.print_figure(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<p class="picture"><img alt="{escaped(told)}" src="data:image/svg+xml;base64,{data}"></p>'


def lines_of_text(header: Cells, rows: Sequence[Cells], left: int = 1) -> list[str]:
    """A table as lines of plain text, texts to the left and numbers to the right.

    Examples
    --------
    >>> lines_of_text(("label", "cost"), [("red", "0.5"), ("yellow", "12")])
    ['label   cost', 'red      0.5', 'yellow    12']
    """
    cells = [[printable(str(cell)) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if j < left else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
