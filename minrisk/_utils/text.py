"""Texts of others, such as labels and names, as they may be shown: cut, and what a terminal would obey escaped."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence

OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, marks of direction and joining, halves of characters, ends of lines
ODD = re.compile(r"[^ -~]")


def printable(text: str, keep: str = "", write: Callable[[str], str] = repr) -> str:
    r"""Return a text without characters that are unseen, move the cursor or turn the direction of what follows.

    Parameters
    ----------
    text : str
    keep : str, default=""
        Characters that stay, such as ends of lines.
    write : callable, default=repr
        How such a character is written, in quotation marks.

    Examples
    --------
    >>> printable("\x1b[2Jred\u202e\n"), printable("größe ≥ 5 €")
    ('\\x1b[2Jred\\u202e\\n', 'größe ≥ 5 €')
    """

    def shown(match: re.Match[str]) -> str:
        character = match.group()
        obeyed = unicodedata.category(character) in OBEYED and character not in keep
        return write(character)[1:-1] if obeyed else character

    return ODD.sub(shown, text)


def short(text: str, most: int = 30) -> str:
    """Return a text of at most so many characters; of a longer one its beginning.

    Examples
    --------
    >>> short("a long story", 7)
    'a long…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def first_of(texts: Iterable[str], most: int = 12) -> str:
    """Return texts between commas; of many the first ones, and how many there are.

    Examples
    --------
    >>> first_of("abcd", 2)
    'a, b, … (4 in all)'
    """
    every = list(texts)
    return ", ".join(every if len(every) <= most else [*every[:most], f"… ({len(every)} in all)"])


def aligned(rows: Sequence[Sequence[str]], right: Collection[int]) -> list[str]:
    """Return rows of a table as lines of plain text: cells stand below each other, at the right in these columns.

    Examples
    --------
    >>> aligned([["a", "n"], ["red", "10"]], right=[1])
    ['a     n', 'red  10']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if j in right else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
