"""How a text table is written: its encoding, what separates its cells, its decimal mark. Found out, or stated."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Sequence
from typing import NamedTuple

from minrisk.io.lines import lines

__all__ = [
    "COMMA_GROUPS", "COMMA_NUMBER", "DELIMITERS", "POINTED", "POINT_GROUPS", "Dialect", "DialectError", "Text",
    "read_text",
]  # fmt: skip

DELIMITERS = (",", ";", "\t", "|")
DELIMITER_WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SAMPLE_CHARACTERS, SAMPLE_ROWS = 2**18, 200  # looked at to find out
BOMS = (  # the longer ones first: that of UTF-32 begins as that of UTF-16
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
OTHER_KINDS = (
    (b"PK\x03\x04", "a spreadsheet or an archive"), (b"\xd0\xcf\x11\xe0", "a spreadsheet"), (b"PAR1", "a Parquet file"),
    *((mark, "an archive") for mark in (b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf", b"Rar!", b"\x1f\x8b")),
)  # fmt: skip
COMMA_NUMBER = re.compile(r"\s*[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?\s*")  # 1,5
COMMA_GROUPS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(?:\.\d{3})+,\d+\s*")  # 1.000,5: no other mark can be meant
POINTED = re.compile(r"\s*[+-]?(?:\d+(?:\.\d{3})*\.\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")  # a number written with points
POINT_GROUPS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(?:\.\d{3})+\s*")  # 1.000, which is one or a thousand


class DialectError(ValueError):
    """A text that cannot be read as stated, or at all; the message lacks the name of the file."""


class Dialect(NamedTuple):
    """What was stated of a text table; None is to be found out."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None


class Text(NamedTuple):
    """A table as text, how its cells are separated, and its first rows."""

    content: str  # from the header on
    delimiter: str
    encoding: str
    head: list[list[str]]  # the header and up to SAMPLE_ROWS more, without blank lines
    found: list[str]  # what was found out and is not usual
    first: int  # number of the header's line


def read_text(data: bytes, stated: Dialect = Dialect()) -> Text:  # noqa: B008 (a tuple cannot change)
    r"""Decode a table and find out what separates its cells.

    Commas and UTF-8 are usual. Others are taken where commas make no table and they do, and where the bytes are
    no UTF-8. A first line ``sep=;``, as Excel writes and reads it, is taken at its word.

    Examples
    --------
    >>> text = read_text("Größe;Preis\n1,5;3\n".encode("cp1252"))
    >>> text.delimiter, text.head[0], text.found
    (';', ['Größe', 'Preis'], ['separated by semicolons', 'in the encoding cp1252'])
    """
    whole, encoding, found = _decoded(data, stated.encoding)
    if "\n" not in whole:
        whole = whole.replace("\r", "\n")  # as old Macs end lines; pandas misreads some of these
    content = whole.lstrip("\r\n")
    delimiter = stated.delimiter
    said = re.match(r'"?sep=([\x00-\x7f])"?[ \t]*\r?\n', content, re.IGNORECASE)
    if said is not None:
        content = content[said.end() :]
        delimiter = delimiter or said.group(1)
    if delimiter is None:
        delimiter = _delimiter(content)
        if delimiter != ",":
            found.insert(0, f"separated by {DELIMITER_WORDS[delimiter]}")
    first = sum(1 for _ in lines(whole[: len(whole) - len(content)])) + 1
    return Text(content, delimiter, encoding, _rows(content, delimiter), found, first)


def _decoded(data: bytes, stated: str | None) -> tuple[str, str, list[str]]:
    """Text, encoding, and what is unusual about it."""
    kind = next((kind for mark, kind in OTHER_KINDS if data.startswith(mark)), None)
    if kind is not None:
        raise DialectError(f"holds {kind} and not text: save the table as CSV (UTF-8)")
    if stated is not None:
        try:
            text = data.decode(stated).removeprefix("\ufeff")
        except (UnicodeError, ValueError):
            raise DialectError(f"is not text in {stated}, as --encoding says: give the one it was saved in") from None
        return _without_nul(text), stated, []
    encoding = next((name for mark, name in BOMS if data.startswith(mark)), None) or _wide(data) or "utf-8"
    try:
        text = data.decode(encoding)
        unusual = encoding not in ("utf-8", "utf-8-sig")
    except UnicodeError:
        if encoding not in ("utf-8", "utf-8-sig"):
            raise DialectError(f"is not whole text in {encoding}: save the table as CSV (UTF-8)") from None
        try:
            text, encoding = data.decode("cp1252"), "cp1252"
        except UnicodeError:
            text, encoding = data.decode("latin-1"), "latin-1"
        unusual = True
    return _without_nul(text), encoding, [f"in the encoding {encoding}"] if unusual else []


def _without_nul(text: str) -> str:
    """A text, refused where it holds what no text does."""
    at = text.find("\0")
    if at >= 0:
        line = sum(1 for _ in lines(text[: at + 1]))
        raise DialectError(f"holds bytes that are no text in line {line}: save the table as CSV (UTF-8)")
    return text


def _wide(data: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of Latin letters and digits is 0."""
    head = data[: 2 * (min(len(data), 2000) // 2)]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if odd > 0.4 * len(head) / 2 and even == 0:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 * len(head) / 2 and odd == 0 else None


def _rows(content: str, delimiter: str) -> list[list[str]]:
    """The first rows that are not blank."""
    rows: list[list[str]] = []
    characters = 0
    try:
        for cells in csv.reader(lines(content), delimiter=delimiter):
            if len(cells) > 1 or "".join(cells).strip():
                rows.append(cells)
                characters += sum(map(len, cells))
            if len(rows) > SAMPLE_ROWS or (characters > SAMPLE_CHARACTERS and len(rows) > 1):
                break
    except csv.Error:  # such as a cell of more than 128 kB: who looks at all lines says what is wrong
        pass
    return rows


def _delimiter(content: str) -> str:
    """The one that divides most rows as it divides the header, commas where none does.

    Of several that do so alike commas are the last: decimal commas may divide every row alike ("Size, cm;Weight, kg"
    above "1,5;2,5"), while a mark that stands in the header of a table with commas hardly stands in each row too.
    """
    best, most = ",", 0.5
    for delimiter in (*DELIMITERS[1:], ","):
        share = _agreement(_rows(content, delimiter))
        if share > most:
            best, most = delimiter, share
    return best


def _agreement(rows: Sequence[Sequence[str]]) -> float:
    """Share of the rows with as many cells as the header, 0 where that has one; empty ones at the end count not."""
    if not rows or len(rows[0]) < 2:
        return 0.0
    widths, below = (len(rows[0]), _filled(rows[0])), rows[1:]
    fits = [len(cells) in widths or _filled(cells) in widths for cells in below]
    return sum(fits) / len(fits) if fits else 0.75  # a header alone: any row would say more


def _filled(cells: Sequence[str]) -> int:
    """Number of cells up to the last that is not empty."""
    return next((j for j in range(len(cells), 0, -1) if cells[j - 1].strip()), 0)
