"""Tables on disk: CSV, gzipped CSV and Parquet, read into a frame and taken apart into features and labels.

What cannot be used is a `TableError` that names the file and the column. Rows are counted from 1, the header not
among them. pandas is imported when a table is read or written, not before.
"""

from __future__ import annotations

import gzip
import warnings
import zlib
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from minrisk.costs.labels import listed
from minrisk.io.atomic import write_beside

if TYPE_CHECKING:
    import pandas as pd

    from minrisk._typing import Labels

__all__ = [
    "TableError", "column_names", "columns_of_words", "kind_of", "read_table", "take_features", "take_labels",
    "write_table",
]  # fmt: skip

CSV, PARQUET = (".csv", ".csv.gz"), (".parquet", ".pq")
# cells of a feature that count as missing; in the column of labels only the empty cell does ("NA" may be a class)
MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-NaN", "-nan", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip

Result = TypeVar("Result")


class TableError(ValueError):
    """A table that cannot be read, or does not hold what was asked of it."""


def kind_of(path: str | Path) -> str:
    """Tell "csv" from "parquet" by the name of the file.

    Raises
    ------
    TableError
        If the name ends in neither.

    Examples
    --------
    >>> kind_of("cars.csv.gz"), kind_of("cars.parquet")
    ('csv', 'parquet')
    """
    name = Path(path).name.lower()
    if name.endswith(CSV):
        return "csv"
    if name.endswith(PARQUET):
        return "parquet"
    raise TableError(f"{path} must be a table whose name ends in .csv, .csv.gz or .parquet: rename or convert it.")


def column_names(path: str | Path) -> list[str]:
    """Names of the columns, in the order of the file.

    Raises
    ------
    TableError
        If the file is missing, empty or not such a table, or two columns have the same name.
    """
    path = Path(path)
    if kind_of(path) == "parquet":
        names = _guarded(path, lambda: [str(name) for name in _parquet().read_schema(path).names])
    else:
        import pandas as pd

        header = _guarded(
            path,
            lambda: pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, encoding="utf-8-sig"),
        )
        names = header.iloc[0].tolist()
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TableError(f"{path} has more than one column named {twice[0]!r}: rename or remove all but one.")
    return names


def read_table(path: str | Path, labels: str | None = None, texts: Collection[str] = ()) -> pd.DataFrame:
    r"""Read a table with one row or more.

    Parameters
    ----------
    path : str or Path
        A file whose name ends in .csv, .csv.gz (comma-separated, UTF-8, with a header) or .parquet.
    labels : str, optional
        The column that holds labels: there "NA" or "None" is a label like any other, not a missing value.
    texts : collection of str, optional
        Columns of a CSV file whose cells are text, though they may look like numbers.

    Returns
    -------
    DataFrame of shape (n, columns)

    Raises
    ------
    TableError
        If the file cannot be read, is damaged, or has no rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "cars.csv")
    >>> _ = path.write_text("doors,grade\n2,NA\n4,B\n")
    >>> read_table(path, labels="grade")["grade"].tolist()
    ['NA', 'B']
    """
    path = Path(path)
    names = column_names(path)
    if kind_of(path) == "parquet":
        frame = _guarded(path, lambda: _parquet().read_table(path).to_pandas(ignore_metadata=True))
    else:
        import pandas as pd

        # the same bits as in Parquet: pandas 3 reads so by itself, and warns when asked to
        exact: Any = {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}
        missing = {name: [""] if name == labels else list(MISSING) for name in names}
        frame = _guarded(
            path,
            lambda: pd.read_csv(
                path, header=0, names=names, index_col=False, na_values=missing, keep_default_na=False,
                low_memory=False, encoding="utf-8-sig", dtype=dict.fromkeys(texts, str), **exact,
            ),
        )  # fmt: skip
    if len(frame) == 0:
        raise TableError(f"{path} holds column names but no rows: give a table with data.")
    return frame


def columns_of_words(frame: pd.DataFrame) -> list[str]:
    """Names of columns that hold categories: by their dtype, or since more than half of the cells are no numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> columns_of_words(pd.DataFrame({"doors": ["2", "4", "?"], "colour": ["red", "blue", None]}))
    ['colour']
    """
    import pandas as pd

    found = []
    for name, column in frame.items():
        words = column[_texts(column)]
        if isinstance(column.dtype, pd.CategoricalDtype) or len(words) > 0.5 * column.notna().sum():
            found.append(str(name))
    return found


def take_features(frame: pd.DataFrame, path: str | Path, categories: Collection[str] = ()) -> pd.DataFrame:
    """Check that every other column holds numbers, and give them as float64; missing cells become NaN.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
    path : str or Path
        Where it came from, for messages.
    categories : collection of str, optional
        Columns that become categories, named by their text.

    Returns
    -------
    DataFrame of shape (n, d)

    Raises
    ------
    TableError
        If there is no column, or one holds text, dates or infinite numbers; the message names it.

    Examples
    --------
    >>> import pandas as pd
    >>> take_features(pd.DataFrame({"doors": [2, 4], "sold": [True, False]}), "cars.csv").to_numpy()
    array([[2., 1.],
           [4., 0.]])
    """
    import pandas as pd

    if frame.shape[1] == 0:
        raise TableError(f"{path} has no column left to learn from: keep at least one feature.")
    columns = {
        name: column.astype(object).map(str, na_action="ignore").astype("category").array if str(name) in categories
        else _numbers(column, str(name), path) for name, column in frame.items()
    }
    return pd.DataFrame(columns, columns=frame.columns)


def take_labels(column: pd.Series[Any], path: str | Path) -> Labels:
    """Class labels of a column: whole numbers, truth values or strings, (n,).

    Raises
    ------
    TableError
        If a label is missing, or the numbers are no labels because they have fractions.

    Examples
    --------
    >>> import pandas as pd
    >>> take_labels(pd.Series([1.0, 2.0], name="grade"), "cars.csv")
    array([1, 2])
    """
    import pandas as pd

    name = column.name
    absent = np.flatnonzero(column.isna())
    if len(absent):
        raise TableError(
            f"column {name!r} of {path} must hold a label in every row, but {len(absent)} of {len(column)} are "
            f"missing (the first in row {absent[0] + 1}): fill in or remove these rows."
        )
    if pd.api.types.is_bool_dtype(column):
        return np.asarray(column, dtype=bool)
    if not pd.api.types.is_numeric_dtype(column):
        return np.array([str(label) for label in column])
    if pd.api.types.is_integer_dtype(column):
        return np.asarray(column.to_numpy())
    values = np.asarray(column, dtype=np.float64)
    broken = np.flatnonzero(~np.isfinite(values) | (values != np.round(values)))
    if len(broken):
        raise TableError(
            f"column {name!r} of {path} must hold class labels, but row {broken[0] + 1} holds the number "
            f"{values[broken[0]]:g}: name another target, or divide the numbers into classes."
        )
    return np.asarray(values.astype(np.int64))


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a frame as CSV, gzipped CSV or Parquet, beside and renamed.

    Raises
    ------
    TableError
        If the name says none of them.
    OSError
        If the file cannot be written.
    """
    path = Path(path)
    kind = kind_of(path)
    with write_beside(path) as beside:
        if kind == "parquet":
            _parquet()
            frame.to_parquet(beside, index=False)
        else:
            zipped = path.name.lower().endswith(".gz")
            how: Any = {"method": "gzip", "mtime": 0} if zipped else None
            frame.to_csv(beside, index=False, compression=how)


def _numbers(column: pd.Series[Any], name: str, path: str | Path) -> np.ndarray:
    """One feature as float64, (n,)."""
    import pandas as pd

    advice = "leave it out with --drop, or encode it as numbers"
    where = f"column {name!r} of {path}"
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        raise TableError(f"{where} holds dates or times: {advice}.")
    if not pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        texts = np.flatnonzero(_texts(column))
        if len(texts):
            example, row = str(column.iloc[texts[0]]), texts[0] + 1
            advice = "leave missing values empty; 'minrisk fit' has --drop to leave columns out, --category for words"
            raise TableError(f"{where} holds text ({_short(example)!r} in row {row}): {advice}.")
        column = pd.to_numeric(column.astype(object))
    if pd.api.types.is_complex_dtype(column):
        raise TableError(f"{where} holds complex numbers: {advice}.")
    values = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise TableError(f"{where} holds an infinite number in row {infinite[0] + 1}: correct it, or leave it empty.")
    return values


def _texts(column: pd.Series[Any]) -> np.ndarray:
    """Which cells are text that is no number, (n,)."""
    import pandas as pd

    kinds = pd.api.types
    if any(of(column) for of in (kinds.is_numeric_dtype, kinds.is_bool_dtype, kinds.is_datetime64_any_dtype,
                                 kinds.is_timedelta64_dtype)):  # fmt: skip
        return np.zeros(len(column), dtype=bool)
    return np.asarray(pd.to_numeric(column.astype(object), errors="coerce").isna() & column.notna())


def _short(text: str, most: int = 30) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise TableError("Parquet files need pyarrow, which is not installed: pip install 'minrisk[cli]'.") from None
    return pyarrow.parquet


def _guarded(path: Path, read: Callable[[], Result]) -> Result:
    """Call a reader; what goes wrong becomes one TableError."""
    import pandas as pd

    if not path.exists():
        raise TableError(f"there is no file {path}: correct the path.")
    if not path.is_file():
        raise TableError(f"{path} must be a file, but is a folder: give a table in .csv, .csv.gz or .parquet.")
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty: give a table with column names and rows.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header
            return read()
    except TableError:
        raise
    except pd.errors.EmptyDataError:
        raise TableError(f"{path} is empty: give a table with column names and rows.") from None
    except pd.errors.ParserWarning:
        raise TableError(f"{path} has rows with more cells than its header: correct the file.") from None
    except UnicodeDecodeError:
        raise TableError(f"{path} must be text in UTF-8, got other bytes: save it as a UTF-8 CSV file.") from None
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise TableError(f"{path} is damaged or cut short, or was not packed by gzip: take a fresh copy.") from None
    except PermissionError:
        raise TableError(f"{path} cannot be read: you have no permission to.") from None
    except (ValueError, OSError) as error:  # pandas' and pyarrow's own kinds are among them
        reason = " ".join(str(error).split()) or type(error).__name__
        raise TableError(f"{path} is not a table that can be read ({_short(reason, 160)}): correct the file.") from None


def missing_columns(names: Sequence[str], wanted: Sequence[str], path: str | Path, why: str) -> None:
    """Raise a TableError that names the wanted columns a table does not have."""
    absent = [name for name in wanted if name not in set(names)]
    if not absent:
        return
    hint = ""
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        hint = " (cells must be separated by commas)"
    plural = "" if len(absent) == 1 else "s"
    what = repr(absent[0]) if len(absent) == 1 else listed(absent)
    raise TableError(f"{path} has no column{plural} {what}, {why}; its columns are {listed(names)}{hint}.")
