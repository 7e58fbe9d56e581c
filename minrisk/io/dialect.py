"""How a text table is written: its encoding, what separates its cells, its decimal mark. Detected, or stated."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from minrisk.data.delimiters import SAID, detected_delimiter, separated_by
from minrisk.io.lines import lines

if TYPE_CHECKING:
    from minrisk.io.content import Content

__all__ = ["Dialect", "DialectError", "Text", "read_text"]

USUAL = ("utf-8", "utf-8-sig")  # encodings that nobody is told of
SAMPLE_CHARACTERS, SAMPLE_ROWS = 2**18, 200  # looked at to find out
BOMS = (  # the longer ones first: that of UTF-32 begins as that of UTF-16
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
OTHER_KINDS = (
    (b"PK\x03\x04", "a spreadsheet or an archive"),
    (b"\xd0\xcf\x11\xe0", "a spreadsheet"),
    (b"PAR1", "a Parquet file"),
    *((mark, "an archive") for mark in (b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf", b"Rar!", b"\x1f\x8b")),
)


class DialectError(ValueError):
    """A text that cannot be read as stated, or at all; the message lacks the name of the file."""


class Dialect(NamedTuple):
    """What was stated of a text table; None is to be detected."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None


class Text:
    """A table as text, how its cells are separated, and its first rows.

    Attributes
    ----------
    delimiter, encoding : str
    head : list of list of str
        The header and up to SAMPLE_ROWS rows more, without blank lines.
    found : list of str
        What was detected and is not usual.
    first : int
        The number of the header's line.
    """

    def __init__(self, letters: _Letters, stated: Dialect) -> None:
        self._letters, self.encoding = letters, letters.encoding
        self.found = letters.found
        ahead = _start(letters.blocks())
        self._skipped = len(ahead) - len(ahead.lstrip("\r\n"))
        self.delimiter = stated.delimiter or ""
        said = SAID.match(ahead[self._skipped :])
        if said is not None:
            self._skipped += said.end()
            self.delimiter = self.delimiter or said.group(1)
        if not self.delimiter:
            self.delimiter = detected_delimiter(lambda mark: _rows(self.blocks(), mark))
            if self.delimiter != ",":
                self.found.insert(0, separated_by(self.delimiter))
        self.first = sum(1 for _ in lines(ahead[: self._skipped])) + 1
        self.head = _rows(self.blocks(), self.delimiter)

    def blocks(self) -> Iterator[str]:
        """The text from the header on, in parts; an end of line is not cut in two."""
        skipped = self._skipped
        for block in self._letters.blocks():
            if skipped < len(block):
                yield block[skipped:] if skipped else block
            skipped = max(skipped - len(block), 0)

    @property
    def content(self) -> str:
        """The text from the header on."""
        return "".join(self.blocks())


def read_text(
    source: bytes | Content,
    stated: Dialect = Dialect(),  # noqa: B008
    look: Callable[[Text], Any] | None = None,
) -> Text:
    r"""Find out in which encoding a table is, and what separates its cells.

    Commas and UTF-8 are usual. Others are taken where commas make no table and they do, and where the bytes are
    no UTF-8. A first line ``sep=;``, as Excel writes and reads it, is taken at its word.

    Parameters
    ----------
    source : bytes or Content
    stated : Dialect
    look : callable, optional
        Is given the text and goes through all of it, so that one pass serves both. Its own errors pass through.

    Raises
    ------
    DialectError
        If it is no text.

    Examples
    --------
    >>> text = read_text("Größe;Preis\n1,5;3\n".encode("cp1252"))
    >>> text.delimiter, text.head[0], text.found
    (';', ['Größe', 'Preis'], ['separated by semicolons', 'in the encoding cp1252'])
    """
    content = _BytesInMemory(source) if isinstance(source, bytes) else source
    kind = next((kind for mark, kind in OTHER_KINDS if content.head.startswith(mark)), None)
    if kind is not None:
        raise DialectError(f"holds {kind} and not text: save the table as CSV (UTF-8)")
    names = [stated.encoding] if stated.encoding is not None else _encodings(content.head)
    for name in names:
        try:
            text = Text(_Letters(content, name, stated.encoding is not None), stated)
            if look is None:
                for _ in text.blocks():
                    pass
            else:
                look(text)
        except UnicodeError:
            continue
        return text
    if stated.encoding is not None:
        raise DialectError(f"is not text in {stated.encoding}, as --encoding says: give the one it was saved in")
    raise DialectError(f"is not whole text in {names[0]}: save the table as CSV (UTF-8)")


def _encodings(head: bytes) -> list[str]:
    """Those that are tried, one after another; the last one of several takes any bytes."""
    told = next((name for mark, name in BOMS if head.startswith(mark)), None) or _wide(head) or "utf-8"
    return [told, "cp1252", "latin-1"] if told in USUAL else [told]


class _BytesInMemory:
    """Bytes in memory, as `minrisk.io.content.Content` has those of files."""

    def __init__(self, data: bytes) -> None:
        self.head = data

    def blocks(self) -> Iterator[bytes]:
        """All of them."""
        yield self.head


class _Letters:
    """Bytes as text.

    Raises
    ------
    UnicodeError
        In passes, where bytes are none in this encoding.
    """

    def __init__(self, content: Content | _BytesInMemory, encoding: str, is_stated: bool) -> None:
        self._content, self.encoding, self._is_stated = content, encoding, is_stated
        self.found = [] if is_stated or encoding in USUAL else [f"in the encoding {encoding}"]
        self._old_ends = False
        self._old_ends = not any("\n" in block for block in self.blocks())

    def blocks(self) -> Iterator[str]:
        """The text in parts, none of them empty; where no line ends as usual, with such ends."""
        done, held = 1, ""  # the number of the line, and an end of line that may go on
        for number, part in enumerate(self._decoded()):
            text = held + (part.removeprefix("\ufeff") if self._is_stated and number == 0 else part)
            held = "\r" if text.endswith("\r") else ""
            text = text[: len(text) - len(held)]
            at = text.find("\0")
            if at >= 0:
                line = done + _line_ends(text[:at])
                raise DialectError(f"holds bytes that are no text in line {line}: save the table as CSV (UTF-8)")
            if self._old_ends:  # as old Macs end lines; pandas misreads some of these
                text = text.replace("\r", "\n")
            else:
                done += _line_ends(text)
            if text:
                yield text
        if held:
            yield "\n" if self._old_ends else held

    def _decoded(self) -> Iterator[str]:
        try:
            decoder: Any = codecs.getincrementaldecoder(self.encoding)()
        except LookupError:  # it has none
            yield _decode(lambda data, last: data.decode(self.encoding), b"".join(self._content.blocks()))
            return
        for block in self._content.blocks():
            if text := _decode(decoder.decode, block, False):
                yield text
        if text := _decode(decoder.decode, b""):
            yield text


def _decode(decode: Callable[[bytes, bool], str], data: bytes, last: bool = True) -> str:
    """What a codec makes of bytes; some codecs have errors of other kinds."""
    try:
        return decode(data, last)
    except UnicodeError:
        raise
    except ValueError as error:
        raise UnicodeError(str(error)) from None


def _line_ends(text: str) -> int:
    """How many lines end there."""
    returns = text.count("\r")
    return text.count("\n") + (returns - text.count("\r\n") if returns else 0)


def _start(blocks: Iterable[str]) -> str:
    """A text up to the end of the first line that is not empty, at least."""
    found = ""
    for block in blocks:
        found += block
        if "\n" in found.lstrip("\r\n"):
            break
    return found


def _wide(data: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of Latin letters and digits is 0."""
    head = data[: 2 * (min(len(data), 2000) // 2)]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if odd > 0.4 * len(head) / 2 and even == 0:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 * len(head) / 2 and odd == 0 else None


def _rows(content: Iterable[str], delimiter: str) -> list[list[str]]:
    """The first rows that are not blank, of a text in parts."""
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
