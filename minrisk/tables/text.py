"""Text tables: how one is written, which is detected or stated, and its cells as text.

Python's `csv` finds the cells and Arrow holds them. Ours are the checks that neither has: rows that are no whole rows,
a file that was cut short, a header once more, and marks that may stand for two things.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from minrisk.data.marks import (
    COMMA_GROUPS,
    COMMA_NUMBER,
    POINT_GROUPS,
    POINTED,
    SAID,
    Marks,
    detected_delimiter,
    separated_by,
)
from minrisk.tables.source import READ_BYTES, TEXT_TIMES, check_room

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

USUAL = ("utf-8", "utf-8-sig")  # encodings that nobody is told of
SAMPLE_LETTERS, SAMPLE_ROWS = 1 << 18, 200  # looked at to find out how a table is written
LONGEST_LINE = READ_BYTES  # letters: what has no line ends is no table, and is not read to its end
BLOCK_LETTERS = 1 << 20  # read together
CHUNK_CELLS = 1 << 17  # cells that are texts of Python together, which take some 60 bytes each
BYTE_ORDER_MARK = "\ufeff"
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
# Cells of a feature that count as missing, as pandas has them. Of labels only the empty cell does: "NA" may be a class.
MISSING_CELLS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-NaN", "-nan", "<NA>", "N/A"),
    *("NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
INTEGER = r"[+-]?\d+"
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?i:inf|infinity|nan)"
TRUE, FALSE = ("True", "TRUE", "true"), ("False", "FALSE", "false")
Result = TypeVar("Result")


class TextError(ValueError):
    """A text that cannot be read as stated, or at all; the message lacks the name of the file."""


class Dialect(NamedTuple):
    """What was stated of a text table; None is to be detected."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None


# -- blocks and rows ---------------------------------------------------------------------------------------------------
class Text:
    """A text table in blocks of whole lines, and how its cells are separated.

    Attributes
    ----------
    delimiter, encoding : str
    head : list of list of str
        The header and up to SAMPLE_ROWS rows more, without blank lines.
    found : list of str
        What was detected and is not usual.
    first : int
        The number of the header's line.
    blocks : iterator of str
        From the header on; once.
    n_letters : int
        Of the blocks that were read so far.
    """

    def __init__(self, file: IO[bytes], encoding: str, stated: Dialect) -> None:
        self.encoding, self.n_letters = encoding, 0
        self.found = [] if encoding in USUAL or stated.encoding is not None else [f"in the encoding {encoding}"]
        blocks = self._blocks(io.TextIOWrapper(file, encoding, newline=""))
        before, block = "", next(blocks, "").removeprefix(BYTE_ORDER_MARK)
        while block and not block.strip("\r\n"):
            before, block = before + block, next(blocks, "")
        start = len(block) - len(block.lstrip("\r\n"))
        self.delimiter = stated.delimiter or ""
        if (said := SAID.match(block, start)) is not None:
            start = said.end()
            self.delimiter = self.delimiter or said.group(1)
        self.first = 1 + _line_ends(before + block[:start])
        block = block[start:]
        self.blocks = chain([block] if block else [], blocks)
        lines = list(islice(io.StringIO(block[:SAMPLE_LETTERS], newline=""), SAMPLE_ROWS + 1))
        if len(block) > SAMPLE_LETTERS and len(lines) > 1:
            del lines[-1]  # it may be cut
        if not self.delimiter:
            self.delimiter = detected_delimiter(lambda mark: _sample(lines, mark))
            if self.delimiter != ",":
                self.found.insert(0, separated_by(self.delimiter))
        self.head = _sample(lines, self.delimiter)

    def _blocks(self, file: io.TextIOWrapper) -> Iterator[str]:
        number = 1
        while block := file.read(BLOCK_LETTERS):
            if block[-1] != "\n":
                rest = file.readline(LONGEST_LINE)
                if len(rest) == LONGEST_LINE:
                    raise TextError(f"has a line of more than {LONGEST_LINE} characters: it is no table")
                block += rest
            if (at := block.find("\0")) >= 0:
                line = number + _line_ends(block[:at])
                raise TextError(f"holds bytes that are no text in line {line}: save the table as CSV (UTF-8)")
            number += _line_ends(block)
            self.n_letters += len(block)
            yield block


def _line_ends(text: str) -> int:
    returns = text.count("\r")
    return text.count("\n") + (returns - text.count("\r\n") if returns else 0)


def read_text(opened: Callable[[], IO[bytes]], stated: Dialect, take: Callable[[Text], Result]) -> tuple[Text, Result]:
    r"""Find out in which encoding a table is, and what separates its cells; return the text and what is made of it.

    Commas and UTF-8 are usual. Others are taken where commas make no table and they do, and where the bytes are
    no UTF-8. A first line ``sep=;``, as Excel writes and reads it, is taken at its word.

    Parameters
    ----------
    opened : callable
        Opens the file from its beginning.
    stated : Dialect
    take : callable
        Goes through all blocks of the text; called again for each encoding until one fits.

    Raises
    ------
    TextError
        If it is no text.

    Examples
    --------
    >>> data = "Größe;Preis\n1,5;3\n".encode("cp1252")
    >>> text, content = read_text(lambda: io.BytesIO(data), Dialect(), lambda text: "".join(text.blocks))
    >>> text.delimiter, text.head[0], text.found
    (';', ['Größe', 'Preis'], ['separated by semicolons', 'in the encoding cp1252'])
    """
    with opened() as file:
        start = file.read(2000)
    kind = next((kind for mark, kind in OTHER_KINDS if start.startswith(mark)), None)
    if kind is not None:
        raise TextError(f"holds {kind} and not text: save the table as CSV (UTF-8)")
    told = next((name for mark, name in BOMS if start.startswith(mark)), None) or _wide(start) or "utf-8"
    names = [told, "cp1252", "latin-1"] if told in USUAL else [told]  # the last one of three takes any bytes
    for name in names if stated.encoding is None else [stated.encoding]:
        with suppress(UnicodeError), opened() as file:
            text = Text(file, name, stated)
            return text, take(text)
    if stated.encoding is not None:
        raise TextError(f"is not text in {stated.encoding}, as --encoding says: give the one it was saved in")
    raise TextError(f"is not whole text in {told}: save the table as CSV (UTF-8)")


def _wide(start: bytes) -> str | None:
    """Tell UTF-16 without a mark: every other byte of Latin letters and digits is 0."""
    start = start[: len(start) // 2 * 2]
    even, odd = start[::2].count(0), start[1::2].count(0)
    if odd > 0.2 * len(start) and even == 0:
        return "utf-16-le"
    return "utf-16-be" if even > 0.2 * len(start) and odd == 0 else None


def _sample(lines: Iterable[str], delimiter: str) -> list[list[str]]:
    """Return the rows of some lines that are not blank."""
    rows: list[list[str]] = []
    with suppress(csv.Error):  # such as a cell of more than 128 kB: who looks at all lines says what is wrong
        rows.extend(cells for cells in csv.reader(lines, delimiter=delimiter) if len(cells) > 1 or _is_filled(cells))
    return rows


def _is_filled(cells: Sequence[str]) -> bool:
    return any(map(str.strip, cells))


# -- cells -------------------------------------------------------------------------------------------------------------
class Cells(NamedTuple):
    """All cells of a table as they are written.

    Attributes
    ----------
    names : list of str
        Of the columns.
    columns : list of pyarrow.ChunkedArray
        Texts of one length; what a row lacks is "".
    notes : list of str
        What is no error but should be said; what the file has, without its name.
    """

    names: list[str]
    columns: list[Any]
    notes: list[str]


def read_cells(text: Text, path: str | Path) -> Cells:
    r"""Read all cells, and look for lines that are no whole rows of a table.

    Parameters
    ----------
    text : Text
    path : str or Path
        Where it came from, for messages.

    Raises
    ------
    TextError
        If a line has more cells than the header, is the header once more or ends in the middle, or a quotation mark
        is not closed; TableError where there is no room for the table.

    Examples
    --------
    >>> def cells(data):
    ...     return read_text(lambda: io.BytesIO(data), Dialect(), lambda text: read_cells(text, "t.csv"))[1]
    >>> cells(b"a,b\n1,2\n3\n").notes
    ['rows with fewer cells than its header, 1 in all (1 of 2 in line 3): what they lack is taken as missing']
    >>> cells(b"a,b\n1,2,3\n")
    Traceback (most recent call last):
    minrisk.tables.text.TextError: has more cells in line 2 than its header (3, not 2): correct the line, or put a ...
    """
    import pyarrow as pa

    rows, parts, chunk = _Rows(text), list[list[Any]](), list[list[str]]()

    def keep() -> None:
        for part, column in zip(parts, zip(*chunk, strict=True), strict=True) if chunk else ():
            part.append(pa.array(column, pa.string()))
        chunk.clear()
        check_room(path, TEXT_TIMES * text.n_letters)

    header, check = list[str](), None
    for block in text.blocks:
        table = None if check is None else check.split(block)
        if table is not None:
            keep()
            for part, column in zip(parts, table.columns, strict=True):
                part.extend(column.chunks)
            rows.number += block.count("\n")
            continue
        for first, last, cells in rows.of_block(block):
            if check is None:
                header, check, parts = cells, _RowCheck(rows, cells), [[] for _ in cells]
                continue
            if len(cells) != len(header) or last > first or cells[0] in check.begins:
                cells = check.whole(cells, first, last)
            chunk.append(cells)
            if len(chunk) * len(header) >= CHUNK_CELLS:
                keep()
    keep()
    if check is None or not any(header):
        raise TextError("is empty: give a table with column names and rows")
    columns = [pa.chunked_array(part, pa.string()) for part in parts]
    # a column without a name and without a cell is what a delimiter at the end of lines makes
    kept = [j for j, name in enumerate(header) if name != "" or not _is_blank(columns[j])]
    return Cells([header[j] for j in kept], [columns[j] for j in kept], check.notes())


class _Rows:
    """Rows of a text, one after another.

    Attributes
    ----------
    number : int
        Of the last line so far.
    is_cut : bool
        Whether that line has no end.
    """

    def __init__(self, text: Text) -> None:
        self.text, self.number, self.is_cut = text, text.first - 1, False

    def of_block(self, block: str) -> Iterator[tuple[int, int, list[str]]]:
        """Yield the numbers of the first and the last line of each row that is not blank, and its cells.

        Where the last row goes on in the next block, that one is taken, too.
        """
        at_end = False

        def lines() -> Iterator[str]:
            nonlocal at_end
            part: str | None = block
            while part is not None:
                for line in io.StringIO(part, newline=""):
                    at_end, self.is_cut = False, line[-1] not in "\r\n"
                    self.number += 1
                    yield line
                at_end = True
                yield ""  # an empty row, unless the reader is within quotation marks
                part = next(self.text.blocks, None)

        last = self.number
        try:
            for cells in csv.reader(lines(), delimiter=self.text.delimiter):
                first, last = last + 1, self.number
                if at_end and not cells:
                    return
                if at_end:
                    raise TextError(f"has a quotation mark in line {first} that is not closed: close it, or remove it")
                if len(cells) > 1 or (cells and (cells[0] == "" or cells[0].strip(" \t"))):
                    yield first, last, cells
        except csv.Error:
            raise TextError(
                f"has a cell in line {last + 1} of more than {csv.field_size_limit()} characters: shorten it, or close "
                "its quotation mark if that is missing"
            ) from None


class _RowCheck:
    """What is wrong with rows that have not just as many cells as the header, hold an end of line, or begin as it."""

    def __init__(self, rows: _Rows, header: Sequence[str]) -> None:
        self._rows, self._width, self._names = rows, len(header), _named(header)
        self._delimiter = rows.text.delimiter
        self.begins = header[0], BYTE_ORDER_MARK + header[0]
        self._first_short, self._n_short, self._held = "", 0, ""

    def whole(self, cells: list[str], first: int, last: int) -> list[str]:
        """Return the cells, as many as the header has."""
        where = f"line {first}" if first == last else f"lines {first} to {last}"
        width, delimiter = self._width, self._delimiter
        if _named(cells) == self._names:
            raise TextError(f"repeats its header in {where}: remove it there, or give the table a header of its own")
        if _is_filled(cells[width:]):
            raise TextError(
                f"has more cells in {where} than its header ({len(cells)}, not {width}): correct the line, or put a "
                f"cell that holds {delimiter!r} in quotation marks"
            )
        if len(cells) < len(self._names):
            if self._rows.is_cut:
                raise TextError(
                    f"ends in the middle of {where} ({len(cells)} of {width} cells, and no end of line): it may have "
                    "been cut short; take a fresh copy, or complete or remove the line"
                )
            self._first_short = self._first_short or f"{len(cells)} of {width} in {where}"
            self._n_short += 1
        if not self._held and last > first and any(_holds_rows(cell, delimiter, width) for cell in cells):
            self._held = where
        return (cells + [""] * width)[:width]

    def split(self, block: str) -> Any:
        """Return the cells of lines in which nothing can be mistaken, as a table of Arrow's, which takes far less time.

        None where there are quotation marks, the header or lines of other numbers of cells.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow

        again = self._delimiter.join(self._names)
        if self._width < 2 or '"' in block or again in block or block.count("\r") != block.count("\r\n"):
            return None
        names = list(map(str, range(self._width)))
        how = {
            "read_options": arrow.ReadOptions(column_names=names, use_threads=False),
            "parse_options": arrow.ParseOptions(delimiter=self._delimiter, quote_char=False),
            "convert_options": arrow.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        }
        with suppress(pa.ArrowInvalid):
            return arrow.read_csv(io.BytesIO(block.encode()), **how)
        return None

    def notes(self) -> list[str]:
        """Return what is odd about rows, but no error."""
        notes = []
        if self._held:
            notes.append(
                f"a cell in quotation marks that holds whole rows ({self._held}): if it should not, one of the marks "
                "is too many, or one is missing"
            )
        if self._n_short:
            notes.append(
                f"rows with fewer cells than its header, {self._n_short} in all ({self._first_short}): what they lack "
                "is taken as missing"
            )
        return notes


def _named(cells: Sequence[str]) -> list[str]:
    """Return cells up to the last that is not blank, without the mark that begins a file."""
    n = next((j for j in range(len(cells), 0, -1) if cells[j - 1].strip()), 0)
    return [cells[0].removeprefix(BYTE_ORDER_MARK), *cells[1:n]] if n else []


def _holds_rows(cell: str, delimiter: str, width: int) -> bool:
    """Tell whether a cell holds as many delimiters as the rows would whose ends it holds."""
    ends = max(cell.count("\r"), cell.count("\n"))
    return ends > 0 and width > 1 and cell.count(delimiter) == ends * (width - 1)


def _is_blank(column: Any) -> bool:
    import pyarrow.compute as pc

    return not pc.any(pc.not_equal(pc.utf8_trim_whitespace(column), "")).as_py()


# -- types -------------------------------------------------------------------------------------------------------------
def _are(column: Any, *patterns: str | re.Pattern[str]) -> Any:
    """Tell which cells are written in one of some ways; Arrow's regular expressions take no time by backtracking."""
    import pyarrow.compute as pc

    ways = (way if isinstance(way, str) else way.pattern for way in patterns)
    return pc.match_substring_regex(column, f"^(?:{'|'.join(ways)})$")


def _count(mask: Any) -> int:
    import pyarrow.compute as pc

    return int(pc.sum(mask).as_py() or 0)


def with_missing(column: Any, missing: Collection[str] = MISSING_CELLS) -> Any:
    """Return texts of which some mean that a cell is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    mask = pc.is_in(column, pa.array(missing))
    return pc.if_else(mask, pa.scalar(None, pa.string()), column) if pc.any(mask).as_py() else column


def as_words(column: Any) -> pd.Series[Any]:
    """Return texts as numbers of the distinct ones, in the order of appearance."""
    cells: pd.Series[Any] = column.dictionary_encode().to_pandas()
    return cells


def typed(column: Any) -> pd.Series[Any]:
    """Return what all cells are: whole numbers, numbers, truth values, or else the texts that they are.

    Whole numbers beyond 64 bits are texts, because floats would make equal ones of them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> [typed(pa.chunked_array([cells])).dtype.name for cells in (["1", "+2"], ["1", None], ["1", "?"])]
    ['int64', 'float64', 'category']
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = _as_numbers(column)
    if numbers is None:
        numbers = _as_numbers(_bare(column))
    if numbers is not None:
        return numbers
    n = len(column) - column.null_count
    if n and _count(pc.is_in(column, pa.array([*TRUE, *FALSE]))) == n:
        truths = pc.if_else(pc.is_valid(column), pc.is_in(column, pa.array(TRUE)), None)
        return truths.to_pandas()  # type: ignore[no-any-return]
    return as_words(column)


def _as_numbers(column: Any) -> pd.Series[Any] | None:
    """Return numbers, or texts where whole ones are beyond 64 bits; None where a cell is no number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        numbers = pc.cast(column, pa.float64())
    except pa.ArrowInvalid:
        return None
    n = len(column) - column.null_count
    # the first cell tells of most columns that they are no whole numbers, and costs nothing
    if n == 0 or re.fullmatch(INTEGER, pc.first(column).as_py()) is None or _count(_are(column, INTEGER)) < n:
        return _numbers(numbers)
    bare = _bare(column)
    for kind in (pa.int64(), pa.uint64()):
        with suppress(pa.ArrowInvalid):
            whole = pc.cast(bare, kind)
            if column.null_count == 0:
                return _numbers(whole)
            if kind == pa.int64():
                return _numbers(numbers)
    return as_words(column)


def _bare(column: Any) -> Any:
    """Return texts without blanks around them, and numbers without a plus."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(pc.ascii_trim_whitespace(column), r"^\+([\d.])", r"\1")


def _numbers(column: Any) -> pd.Series[Any]:
    """Return numbers in an array of their own, which may be written to."""
    import pandas as pd

    return pd.Series(np.array(column.to_numpy()), copy=False)


def _marks(column: Any) -> Marks:
    column = with_missing(column)
    return Marks.of(lambda *ways: _count(_are(column, *ways)))


def _share_of_others(column: Any, *ways: re.Pattern[str]) -> float:
    """Return the share of the cells that are no numbers, neither as programs write them nor in these ways."""
    import pyarrow.compute as pc

    column = with_missing(column)
    n: int = len(column) - column.null_count
    known = _are(pc.ascii_trim_whitespace(column), NUMBER)
    return (n - _count(pc.or_(known, _are(column, *ways)) if ways else known)) / max(1, n)


def with_points(
    columns: dict[str, Any], plain: Collection[str], delimiter: str, is_stated: bool
) -> tuple[dict[str, Any], list[str]]:
    """Write numbers with decimal commas with points, where that was stated or nothing else can be meant.

    Parameters
    ----------
    columns : dict of pyarrow.ChunkedArray
        Texts.
    plain : collection of str
        Columns that may hold numbers; others are labels and categories as they are written.
    delimiter : str
        What separates cells: where it is a semicolon, commas are hardly for thousands.
    is_stated : bool
        Whether the decimal mark was stated to be a comma.

    Returns
    -------
    dict of pyarrow.ChunkedArray
        The columns that are written anew.
    list of str
        How numbers are written, where that is unusual.
    """
    import pyarrow.compute as pc

    marks = {name: _marks(columns[name]) for name in plain}
    commas = {
        name: m
        for name, m in marks.items()
        if m.n_commas and _share_of_others(columns[name], COMMA_NUMBER, COMMA_GROUPS) <= 0.5
    }
    if not commas and not is_stated:
        return {}, _told_points(columns, marks)
    points = {
        name: m
        for name, m in marks.items()
        if m.n_pointed and (name in commas or _share_of_others(columns[name], POINT_GROUPS) <= 0.5)
    }
    groups = {name: m for name, m in points.items() if m.are_groups}
    if not is_stated:
        clear = any(m.n_commas > m.n_grouped for m in commas.values())
        if len(groups) < len(points) or not (clear or (delimiter == ";" and not groups)):
            return {}, []
    found = [] if is_stated else ["with decimal commas"]
    if groups:
        found.append("with points between thousands")
    written = {}
    for name in {**commas, **groups}:
        column, cells = columns[name], with_missing(columns[name])
        bare = pc.replace_substring(column, ".", "")
        if name in groups:  # 1.000 is a thousand where the decimal mark is a comma
            column = pc.if_else(_are(cells, POINTED), bare, column)
        with_comma = _are(cells, COMMA_NUMBER, COMMA_GROUPS)
        written[name] = pc.if_else(with_comma, pc.replace_substring(bare, ",", "."), column)
    return written, found


def _told_points(columns: dict[str, Any], marks: dict[str, Marks]) -> list[str]:
    """Say what 1.000 was read as, where every number with a point could as well be one of thousands."""
    import pyarrow.compute as pc

    others = (_marks(column) for name, column in columns.items() if name not in marks)
    if all(m.are_groups for m in chain(marks.values(), others)):
        for name, m in marks.items():
            if m.n_pointed and _share_of_others(columns[name]) == 0:
                pointed = _are(with_missing(columns[name]), POINTED)
                text = pc.utf8_trim_whitespace(pc.filter(columns[name], pointed))[0].as_py()
                return [f"with points as decimal marks ({text!r} in column {name!r} is {float(text):g})"]
    return []
