"""Tables that are written: CSV, gzipped CSV and Parquet, each as a whole."""

from __future__ import annotations

import csv
import gzip
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from minrisk._utils.text import printable
from minrisk.io.atomic import STREAM, write_beside
from minrisk.tables.files import kind_of

if TYPE_CHECKING:
    import pandas as pd

WRITTEN_ROWS = 1 << 16  # of a table that are made text of together

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last ones of full width
SIGNED_NUMBER = re.compile(r"[+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?")


def safe_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose texts, names of columns included, no spreadsheet takes for formulas, by an apostrophe in
    front.

    Texts that are numbers stay as they are.

    References
    ----------
    OWASP, CSV injection, https://owasp.org/www-community/attacks/CSV_Injection

    Examples
    --------
    >>> import pandas as pd
    >>> safe_texts(pd.DataFrame({"=x": ["=1+1", "-1.5", "-red"], "n": [1, -2, 3]}))
         '=x  n
    0  '=1+1  1
    1   -1.5 -2
    2  '-red  3
    """
    import pandas as pd

    def safe(cell: Any) -> Any:
        risky = isinstance(cell, str) and cell.startswith(FORMULAS) and SIGNED_NUMBER.fullmatch(cell) is None
        return f"'{cell}" if risky else cell

    columns = [
        column if column.dtype.kind in "biufmM" else column.astype(object).map(safe) for _, column in frame.items()
    ]
    return pd.DataFrame(dict(enumerate(columns))).set_axis([safe(name) for name in frame.columns], axis=1)


def csv_parts(frame: pd.DataFrame, quoted: bool = False) -> Iterator[str]:
    r"""Yield a frame as CSV, some rows after others, below the names of its columns.

    All texts are in quotation marks, or those that need them.

    Examples
    --------
    >>> import pandas as pd
    >>> "".join(csv_parts(pd.DataFrame({"n": [1, 2], "word": ["a,b", None]})))
    'n,word\n1,"a,b"\n2,\n'
    """
    texts = (name for name, column in frame.items() if column.dtype.kind not in "biufmM")
    cells = (cell for name in texts for cell in (name, *frame[name].astype(object)))
    quoted = quoted or any(isinstance(cell, str) and "\r" in cell for cell in cells)  # which pandas forgets
    quoting = csv.QUOTE_NONNUMERIC if quoted else csv.QUOTE_MINIMAL
    for start in range(0, max(len(frame), 1), WRITTEN_ROWS):
        yield frame.iloc[start : start + WRITTEN_ROWS].to_csv(
            header=start == 0, index=False, lineterminator="\n", quoting=quoting
        )


def write_table(frame: pd.DataFrame, path: str | Path, quoted: bool = False) -> None:
    """Write a frame as CSV (UTF-8), gzipped CSV or Parquet, as a whole; "-" is standard output.

    Parameters
    ----------
    frame : DataFrame
    path : str or Path
    quoted : bool, default=False
        Whether all texts of a CSV are put in quotation marks.

    Raises
    ------
    TableError
        If the name says none of them.
    OSError
        If the file cannot be written.
    """
    path = Path(path)
    kind = kind_of(path, to_write=True)
    if str(path) == STREAM:
        sys.stdout.flush()
        _write_csv(frame, sys.stdout.buffer, quoted, sys.stdout.isatty())
        sys.stdout.buffer.flush()
        return
    with write_beside(path) as beside:
        if kind == "parquet":
            mixed = {name: str for name, column in frame.items() if column.dtype == object and _is_mixed(column)}
            frame.astype(mixed).to_parquet(beside, index=False)
        else:
            zipped = path.name.lower().endswith(".gz")
            with open(beside, "wb") as file, _packing(file) if zipped else nullcontext(file) as into:
                _write_csv(frame, into, quoted, path.is_char_device())


def _write_csv(frame: pd.DataFrame, file: IO[bytes] | gzip.GzipFile, quoted: bool, on_terminal: bool) -> None:
    """Write a frame as it is, but on a terminal, which would obey what some texts hold."""
    for text in csv_parts(frame, quoted):
        file.write((printable(text, keep="\n") if on_terminal else text).encode())


def _packing(file: IO[bytes]) -> gzip.GzipFile:
    """Return what to write a gzipped file through: neither the time nor its temporary name is kept, so equal tables
    are equal files.
    """
    return gzip.GzipFile("", "wb", fileobj=file, mtime=0)


def _is_mixed(column: pd.Series[Any]) -> bool:
    """Tell whether cells are of several types, which a column of a Parquet file cannot be."""
    import pyarrow

    try:
        pyarrow.array(column, from_pandas=True)
    except (pyarrow.ArrowException, OverflowError, ValueError, TypeError):
        return True
    return False
