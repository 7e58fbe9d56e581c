"""Tables of texts for papers: Markdown and LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

LATEX_MARKS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
}
ABSENT = "–"  # a cell for which there is no number


def markdown_table(header: Sequence[str], lines: Sequence[Sequence[str]], best: Sequence[Sequence[bool]] = ()) -> str:
    r"""A Markdown table, the first column to the left and all others to the right.

    Parameters
    ----------
    header : sequence of k str
    lines : sequence of sequences of k str
    best : sequence of sequences of k bool, optional
        Cells that are written bold.

    Examples
    --------
    >>> print(markdown_table(["a", "b"], [["x|y", "1"]], [[False, True]]))
    | a | b |
    | --- | ---: |
    | x\|y | **1** |
    """
    marked = _marked(lines, best, lambda text: f"**{text}**", _markdown_text)
    rows = [[_markdown_text(cell) for cell in header], ["---", *["---:"] * (len(header) - 1)], *marked]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def latex_table(header: Sequence[str], lines: Sequence[Sequence[str]], best: Sequence[Sequence[bool]] = ()) -> str:
    r"""A LaTeX tabular with the rules of the package booktabs, in the same way.

    Examples
    --------
    >>> print(latex_table(["a_1", "b"], [["x", "1"]], [[False, True]]))
    % \usepackage{booktabs}
    \begin{tabular}{lr}
    \toprule
    a\_1 & b \\
    \midrule
    x & \textbf{1} \\
    \bottomrule
    \end{tabular}
    """
    marked = _marked(lines, best, lambda text: rf"\textbf{{{text}}}", latex_text)
    rows = [" & ".join(row) + r" \\" for row in ([latex_text(cell) for cell in header], *marked)]
    begin = [r"% \usepackage{booktabs}", rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}", r"\toprule", rows[0]]
    return "\n".join([*begin, r"\midrule", *rows[1:], r"\bottomrule", r"\end{tabular}"])


def latex_text(text: str) -> str:
    r"""A text with the characters escaped that LaTeX would obey.

    Examples
    --------
    >>> print(latex_text("50 % of a_b"))
    50 \% of a\_b
    """
    return re.sub(r"[\\&%$#_{}~^<>|±]", lambda mark: LATEX_MARKS[mark[0]], " ".join(text.split())).replace(ABSENT, "--")


def decimals_of(values: Sequence[float], digits: int) -> int:
    """How many decimals give the largest of these values so many significant digits.

    Examples
    --------
    >>> decimals_of([0.012, 0.5], 3), decimals_of([25.0, 3.0], 3), decimals_of([4000.0], 3)
    (3, 1, 0)
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    return 0 if largest == 0.0 else max(0, digits - 1 - math.floor(math.log10(largest)))


def _marked(
    lines: Sequence[Sequence[str]],
    best: Sequence[Sequence[bool]],
    bold: Callable[[str], str],
    escape: Callable[[str], str],
) -> list[list[str]]:
    """Cells as they are written, the best ones bold."""
    return [
        [bold(escape(cell)) if best and best[i][j] else escape(cell) for j, cell in enumerate(line)]
        for i, line in enumerate(lines)
    ]


def _markdown_text(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*")
