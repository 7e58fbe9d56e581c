"""Tables as columns: DataFrames of pandas, polars and their like, and Arrow tables, by narwhals.

Of each column it is found what it holds: numbers (truth values among them), categories (text, and types for
categories), dates, durations, or times of day. All but categories become numbers here: dates count days since
1970-01-01 (UTC where they have a zone), durations and times of day are in days, each with its fraction. NaN, None,
NA, NaT and the nulls of Arrow and polars are one missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from importlib.util import find_spec
from numbers import Integral, Number
from typing import Any, NamedTuple, Self

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk._utils import cached_property
from minrisk._utils.text import short

MISSING_TYPES = ("NAType", "NaTType")  # pandas.NA and NaT, by their types: pandas need not be there
NUMBERS = "biuf"  # kinds of dtypes, truth values among them
NUMBER, CATEGORICAL, DATE, DURATION, TIME = ROLES = ("number", "category", "date", "duration", "time of day")
DAY_ROLES = (DATE, DURATION, TIME)  # which become numbers
PLURALS = dict(zip(ROLES, ("numbers", "text or categories", "dates", "durations", "times of day"), strict=True))
DAY = 86_400_000_000  # microseconds
MICROSECOND = timedelta(microseconds=1)
EXACT_BELOW = 2**53  # whole numbers below are one float64 each; above, several are one
EPOCH = datetime(1970, 1, 1)
ENCODED = "encode it, for example with sklearn.preprocessing.OrdinalEncoder, or name it in categorical_features"
COUNTED = "make numbers of it, for example days since the first"
MEASURED = "make numbers of it, for example seconds"
PARTED = "make two columns of it"
TAKEN_APART = "make columns of what these hold"


def check_unmasked(cells: Any, name: str) -> None:
    """Refuse arrays of NumPy with masked entries: other libraries look at the numbers behind a mask.

    Raises
    ------
    ValueError
        The message says how to state what is missing.
    """
    if isinstance(cells, np.ma.MaskedArray) and np.ma.is_masked(cells):
        way = f"give {name}.filled(numpy.nan) if they are missing" if name == "X" else "leave these rows out"
        raise ValueError(f"{name} must have no masked entries, got {int(np.sum(cells.mask))} of them: {way}.")


def are_rounded(cells: np.ndarray) -> np.ndarray:
    """Say which whole numbers are no float64."""
    rounded = cells.astype(np.float64)
    beyond = rounded >= 2.0 ** (8 * cells.dtype.itemsize - (cells.dtype.kind == "i"))
    return np.asarray(beyond | (np.where(beyond, 0.0, rounded).astype(cells.dtype) != cells))


class CodedCells(NamedTuple):
    """Cells as numbers of their values."""

    codes: IntArray  # (n,); -1 where missing
    values: list[Any]
    ordered: bool = False


def is_missing(cell: Any) -> bool:
    """Say whether a cell holds nothing: None, NaN, or what pandas has for these."""
    is_nan = isinstance(cell, (float, np.floating, np.datetime64, np.timedelta64)) and cell != cell  # NaT among them
    return cell is None or type(cell).__name__ in MISSING_TYPES or bool(is_nan)


def plain(value: Any) -> Any:
    """Return a value as files keep it: exact decimal numbers as others."""
    if not isinstance(value, Decimal) or not value.is_finite():
        return value
    return int(value) if value == value.to_integral_value() else float(value)


def of_cells(cells: Iterable[Any]) -> np.ndarray:
    """Make an array of objects, one for each cell, whatever it holds."""
    cells = list(cells)
    return np.fromiter(cells, dtype=object, count=len(cells))


def role_of(cell: Any) -> str | None:
    """Say what a cell holds that is not missing; None if it is of no use."""
    if isinstance(cell, str):
        return CATEGORICAL
    if isinstance(cell, (timedelta, np.timedelta64)):
        return DURATION
    if isinstance(cell, (date, np.datetime64)) or type(cell).__name__ == "Period":
        return DATE
    if isinstance(cell, time):
        return TIME
    return NUMBER if isinstance(cell, (Number, np.bool_)) and not isinstance(cell, complex) else None


def in_days(cell: Any) -> float:
    """Return a date as days since 1970-01-01; a duration or a time of day as days.

    Examples
    --------
    >>> in_days(date(1970, 1, 3)), in_days(timedelta(hours=6)), in_days(time(12))
    (2.0, 0.25, 0.5)
    """
    if isinstance(cell, (np.datetime64, np.timedelta64)):
        cell = cell.astype(f"{'m' if isinstance(cell, np.timedelta64) else 'M'}8[us]").astype(np.int64)
        return float(cell / DAY)
    if type(cell).__name__ == "Period":
        cell = cell.to_timestamp()
    if isinstance(cell, time):
        cell = datetime.combine(EPOCH, cell.replace(tzinfo=None))
    if isinstance(cell, date):
        aware = isinstance(cell, datetime) and cell.tzinfo is not None
        moment = cell if isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)
        cell = moment - (EPOCH.replace(tzinfo=UTC) if aware else EPOCH)
    return float(cell // MICROSECOND / DAY)


@dataclass(frozen=True)
class Column:
    """A column of a table: a Series of narwhals, or an array of NumPy."""

    name: Any
    cells: Any

    @property
    def native(self) -> Any:
        """Cells as the library of the table has them."""
        return self.cells if isinstance(self.cells, np.ndarray) else self.cells.to_native()

    @cached_property
    def listed(self) -> list[Any]:
        """Cells as Python has them."""
        if isinstance(self.cells, np.ndarray):
            return list(self.cells.tolist()) if self.cells.dtype.kind != "M" else list(self.cells)
        native = self.native
        return list(native.to_pylist() if hasattr(native, "to_pylist") else native.to_list())

    @cached_property
    def role(self) -> str | None:
        """One of `ROLES`, None if it is of no use. Only columns of tables are asked: arrays are of numbers, or told."""
        import narwhals.stable.v2 as nw

        kind = self.cells.dtype
        if kind.is_numeric() or kind == nw.Boolean or self._is_sparse:
            return NUMBER
        if kind == nw.String:  # an array of objects that holds no text, or not only, looks like one to narwhals
            return self._role_of_cells() if _is_of_objects(self.native) else CATEGORICAL
        if kind in (nw.Categorical, nw.Enum):
            return CATEGORICAL
        if kind in (nw.Date, nw.Datetime):
            return DATE
        return {nw.Duration: DURATION, nw.Time: TIME}.get(type(kind)) or self._role_of_cells()

    def _role_of_cells(self) -> str | None:
        """Find the role of cells of any type: categories if some are text and all others numbers, or all are missing.

        Numbers would refuse what later rows may hold; values that are not known are missing.
        """
        roles = {role_of(cell) for cell in self.listed if not is_missing(cell)}
        if len(roles) < 2:
            return next(iter(roles), CATEGORICAL)
        return CATEGORICAL if roles == {NUMBER, CATEGORICAL} else None

    @property
    def _is_sparse(self) -> bool:
        return str(getattr(self.native, "dtype", "")).startswith("Sparse[")

    @property
    def is_empty(self) -> bool:
        """Whether all cells are missing."""
        return all(map(is_missing, self.listed))

    def of_no_use(self) -> ValueError:
        """Say of a column that it has no role."""
        other = next((c for c in self.listed if not is_missing(c) and role_of(c) in (None, *DAY_ROLES)), None)
        what, instead = described(other)
        return ValueError(
            f"X must hold numbers, text, categories or dates, got {what} in column {self.name!r} ({_short(other)!r}): "
            f"leave the column out, or {instead or 'make numbers or texts of it'}."
        )

    def coded(self) -> CodedCells:
        """Return cells as numbers of their values: of those that the type lists, or of those that there are.

        Raises
        ------
        ValueError
            If a cell cannot be told from others, as a list.
        """
        if isinstance(self.cells, np.ndarray):
            return self._coded_array()
        native = self.native
        if str(getattr(native, "dtype", "")) == "category":
            listed = native.array
            codes, values = np.asarray(listed.codes).astype(np.int64), listed.categories.tolist()
            return CodedCells(codes, values, bool(listed.ordered))
        import narwhals.stable.v2 as nw

        if self.cells.dtype.is_numeric():
            return self._coded_array()
        if _is_of_objects(native):
            return self._coded_cells()
        if self.cells.dtype == nw.String and hasattr(native, "type"):  # Arrow's, of any kind of text
            return _coded_dictionary(self._sound(native).cast("large_string").dictionary_encode())
        if self.cells.dtype == nw.String and hasattr(native, "factorize"):  # of pandas
            codes, found = native.factorize()
            return CodedCells(codes.astype(np.int64), list(found))
        if self.cells.dtype == nw.String:
            values = self.cells.drop_nulls().unique().to_list()
            if not values:
                return CodedCells(np.full(len(self.cells), -1), [])
            numbers = self.cells.replace_strict(values, list(range(len(values))), return_dtype=nw.Float64).to_numpy()
            return CodedCells(np.where(np.isnan(numbers), -1, numbers).astype(np.int64), values)
        arrow = _as_arrow(native)
        if arrow is not None and str(arrow.type).startswith("dictionary"):
            return _coded_dictionary(self._sound(arrow))
        return self._coded_cells()

    def _sound(self, arrow: Any) -> Any:
        """Return cells of Arrow whose texts are UTF-8, and whose codes are those of values."""
        try:
            arrow.validate(full=True)
        except ValueError as problem:  # Arrow's own kind of it
            told = short(str(problem), 100)
            raise ValueError(
                f"column {self.name!r} of X must hold sound cells, got broken ones, as Arrow says ({told}): write it "
                "again."
            ) from None
        return arrow

    def _coded_cells(self) -> CodedCells:
        """Code them by comparing cells of any type."""
        numbers: dict[Any, int] = {}

        def place(cell: Any) -> int:
            try:
                return numbers.setdefault(cell, len(numbers))
            except TypeError:
                raise ValueError(
                    f"X must hold numbers or categories, got {described(cell)[0]} in column {self.name!r} "
                    f"({_short(cell)!r}): {TAKEN_APART}."
                ) from None

        codes = [-1 if is_missing(cell) else place(cell) for cell in self.listed]
        return CodedCells(np.array(codes, dtype=np.int64), list(numbers))

    def _coded_array(self) -> CodedCells:
        """Code numbers that are names, or texts in an array."""
        cells = self.cells
        if not isinstance(cells, np.ndarray) and cells.dtype.is_integer():  # which floats would round
            there = ~cells.is_null().to_numpy()
            found = cells.drop_nulls().to_numpy()
        else:
            cells = cells if isinstance(cells, np.ndarray) else self.numbers()
            if cells.dtype.kind not in NUMBERS:
                return self._coded_cells()
            there = cells == cells
            found = cells[there]
        values, places = np.unique(found, return_inverse=True)
        codes = np.full(len(cells), -1, dtype=np.int64)
        codes[there] = places
        if values.dtype.kind == "f" and np.all(values == np.rint(values)) and np.all(np.abs(values) < 2**53):
            values = values.astype(np.int64)  # whole numbers beside missing ones
        return CodedCells(codes, values.tolist())

    @np.errstate(over="ignore")  # a longer float that is beyond float64 becomes infinite, which is refused later
    def numbers(self) -> FloatArray:
        """Return cells as float64, NaN where missing: numbers, and dates, durations and times of day in days.

        Texts that are numbers are numbers, as in arrays of objects.

        Raises
        ------
        ValueError
            Naming the column and its first cell that is no number.
        """
        in_array = isinstance(self.cells, np.ndarray)
        if not in_array and self.role in DAY_ROLES:
            return self._days()
        if in_array or _is_of_objects(self.native):
            return self._cells_as_numbers()
        if self._is_sparse:
            return np.asarray(self.native, dtype=np.float64)
        import narwhals.stable.v2 as nw

        kind = self.cells.dtype
        if not (kind.is_numeric() or kind == nw.Boolean):
            return self._cells_as_numbers()
        if isinstance(getattr(self.native, "dtype", None), np.dtype):
            return np.asarray(self.cells.to_numpy(), dtype=np.float64)
        return _as_float64(self.cells)

    def _cells_as_numbers(self) -> FloatArray:
        """Convert them one by one where they are no array of numbers."""
        if isinstance(self.cells, np.ndarray) and self.cells.dtype.kind in NUMBERS:
            return self.cells.astype(np.float64)
        cells = of_cells(self.listed)
        try:
            return np.asarray(cells.astype(np.float64))
        except (ValueError, TypeError, OverflowError):
            return np.array([np.nan if is_missing(cell) else self._number(cell) for cell in cells])

    def _days(self) -> FloatArray:
        """Return dates, durations and times of day in days."""
        import narwhals.stable.v2 as nw

        kind = self.cells.dtype
        if kind in (nw.Date, nw.Datetime):
            return _as_float64(self.cells.dt.timestamp("us")) / DAY
        if kind == nw.Duration and (cells := self.cells.to_numpy()).dtype.kind == "m":
            nanoseconds = kind.time_unit == "ns"  # which NumPy would cut towards 0
            whole = cells.astype(np.int64) // 1000 if nanoseconds else cells.astype("m8[us]").astype(np.int64)
            return np.where(np.isnat(cells), np.nan, whole / DAY)
        return np.array([np.nan if is_missing(cell) else in_days(cell) for cell in self.listed])

    def _number(self, cell: Any) -> float:
        try:
            return float(cell)
        except OverflowError:
            raise ValueError(
                f"X must hold numbers up to 1.8e308, got a larger one in column {self.name!r}: leave the column "
                "out, or give it in another unit."
            ) from None
        except (ValueError, TypeError):
            what, instead = described(cell)
            got = f"X must hold numbers, got {what} in column {self.name!r} ({_short(cell)!r})"
            if what.startswith("values of type"):  # the kind of error that NumPy has for it
                raise TypeError(
                    f"{got}: the argument must be an array of numbers, or of strings that are numbers."
                ) from None
            raise ValueError(f"{got}: leave the column out, or {instead or ENCODED}.") from None

    @property
    def is_rounded(self) -> bool:
        """Whether it holds whole numbers that float64 rounds."""
        cells = self.cells
        if not isinstance(cells, np.ndarray):
            if cells.dtype.is_float():
                return False
            if cells.dtype.is_integer():
                cells = cells.drop_nulls().to_numpy()
        if isinstance(cells, np.ndarray) and cells.dtype.kind in "iuf":
            return cells.dtype.kind != "f" and bool(are_rounded(cells).any())
        wholes = (int(cell) for cell in map(plain, self.listed) if isinstance(cell, Integral))
        return any(cell != float(cell) for cell in wholes)

    def changed(self, role: str, name: str) -> ValueError:
        """Say it where a column held something else in fit."""
        what = PLURALS.get(self.role or "")
        cell = next((cell for cell in self.listed if not is_missing(cell)), None)
        if self.role == CATEGORICAL:
            what = "text" if isinstance(cell, str) else "categories"
        was = {NUMBER: "numeric", CATEGORICAL: "text or categories"}.get(role, PLURALS[role])
        what = what or described(cell)[0]
        return ValueError(
            f"column {name!r} of X was {was} at fit, now {what} ({_short(cell)!r}): give {PLURALS[role]}, as in fit."
        )


def _coded_dictionary(cells: Any) -> CodedCells:
    """Code a dictionary of Arrow's, in one piece or several."""
    whole = cells.unify_dictionaries().combine_chunks() if hasattr(cells, "chunks") else cells
    values = whole.dictionary.to_pylist()
    codes = np.asarray(whole.indices.cast("int64").fill_null(-1))
    gone = [k for k, value in enumerate(values) if is_missing(value)]
    return CodedCells(np.where(np.isin(codes, gone), -1, codes), values, bool(whole.type.ordered))


def _as_float64(cells: Any) -> FloatArray:
    """Return a Series of narwhals as float64, rounded beyond 2^53, which Arrow's own cast refuses; NaN if missing."""
    import narwhals.stable.v2 as nw

    arrow = _as_arrow(cells.to_native())
    if str(getattr(arrow, "type", "")).startswith("decimal"):  # which Arrow rounds twice
        return np.array([np.nan if cell is None else float(cell) for cell in arrow.to_pylist()], dtype=np.float64)
    if arrow is not None:
        return np.asarray(arrow.cast("float64", safe=False), dtype=np.float64)
    return np.asarray(cells.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _as_arrow(native: Any) -> Any:
    """Return cells as an array of Arrow, where their table has one, or its type of pandas holds one; else None."""
    if hasattr(native, "to_pylist"):
        return native
    return native.array.__arrow_array__() if hasattr(getattr(native, "dtype", None), "pyarrow_dtype") else None


def _is_of_objects(native: Any) -> bool:
    """Say whether cells are Python's objects in an array of NumPy's: text of pandas has a type of its own."""
    kind = getattr(native, "dtype", None)
    return isinstance(kind, np.dtype) and kind.kind == "O"


def described(cell: Any) -> tuple[str, str | None]:
    """Say what a cell is that is no number, and what to do; None if it may be a category."""
    if isinstance(cell, str):
        return "text", None
    role = role_of(cell)
    if role in DAY_ROLES:
        return PLURALS[role], MEASURED if role == DURATION else COUNTED
    if isinstance(cell, complex):
        return "complex numbers", PARTED
    what = "bytes" if isinstance(cell, bytes) else f"values of type {type(cell).__name__}"
    return what, TAKEN_APART if isinstance(cell, (list, dict, set, np.ndarray)) else None


def _short(cell: Any) -> str:
    """Say what a cell holds, in a few words."""
    return short(" ".join(str(cell).split()), 60)


@dataclass(frozen=True)
class Frame:
    """A table with named columns, of any library that narwhals knows."""

    table: Any

    @classmethod
    def of(cls, X: Any) -> Self | None:
        """Return X as columns; None if it is no such table.

        Raises
        ------
        TypeError
            If it is a plan of polars that has not been carried out.
        """
        if isinstance(X, (np.ndarray, list, tuple)):
            return None
        from narwhals import dependencies

        if type(X).__module__.startswith("narwhals"):
            X = X.to_native()
        if dependencies.is_pandas_dataframe(X):  # told sooner than all others
            return cls(X)
        if dependencies.is_polars_lazyframe(X):
            raise TypeError("X must be a DataFrame, got a LazyFrame of polars: write X.collect().")
        if type(X).__module__.startswith("pyarrow") and type(X).__name__ == "RecordBatch":
            import pyarrow as pa

            X = pa.Table.from_batches([X])
        return cls(X) if dependencies.is_into_dataframe(X) else None

    @property
    def library(self) -> str:
        """The package that the table is of."""
        return type(self.table).__module__.partition(".")[0]

    @property
    def names(self) -> list[Any]:
        """Of the columns."""
        names = self.table.column_names if self.library == "pyarrow" else self.table.columns
        return list(names.tolist() if hasattr(names, "tolist") else names)

    @property
    def is_plain(self) -> bool:
        """Whether it holds NumPy's numbers and truth values only."""
        if self.library in ("pyarrow", "polars"):
            return False
        return all(isinstance(dtype, np.dtype) and dtype.kind in NUMBERS for dtype in self.table.dtypes)

    @property
    def columns(self) -> list[Column]:
        """All of them, in their order; their names must differ."""
        import narwhals.stable.v2 as nw

        cells = nw.from_native(self.table, eager_only=True).iter_columns()
        return [Column(name, series) for name, series in zip(self.names, cells, strict=True)]

    def take(self, order: Sequence[int]) -> Any:
        """Return the table with its columns in another order."""
        if self.library == "pyarrow":
            return self.table.select([self.names[j] for j in order])
        import narwhals.stable.v2 as nw

        return nw.from_native(self.table, eager_only=True)[:, list(order)].to_native()

    def check_names(self) -> None:
        """Refuse columns that their names do not tell apart.

        Raises
        ------
        ValueError
            If there is none, if two have the same name, or some names are texts and others are not.
        """
        names = self.names
        if not names:
            raise ValueError("X must have a column at least, got none.")
        repeated = [name for name, n in Counter(names).items() if n > 1]
        if repeated:
            raise ValueError(
                f"X's columns must have different names, got {repeated[0]!r} more than once: rename these columns."
            )
        others = [name for name in names if not isinstance(name, str)]
        if others and len(others) < len(names):
            raise ValueError(
                f"X's columns must be named by texts, or none of them, got {others[0]!r} beside others: write "
                "X.columns = X.columns.astype(str)."
            )

    def arranged(self, names: Sequence[Any]) -> Any:
        """Return the table with its columns in the order of these names, if it has just these; else as it is.

        Texts of names will do: files, Arrow and polars have the column 0 of pandas as "0".
        """
        own, wanted = self.names, list(names)
        if set(own) != set(wanted):
            own, wanted = list(map(str, own)), list(map(str, wanted))
        if own == wanted or len(own) != len(wanted) or len(set(own)) < len(own) or set(own) != set(wanted):
            return self.table
        place = {name: j for j, name in enumerate(own)}
        return self.take([place[name] for name in wanted])

    def check_known(self, names: Sequence[Any]) -> None:
        """Refuse columns with other names than those of fit, where no names are texts, which are compared elsewhere.

        Columns that are counted from 0, as pandas does by itself, stand in the order of fit.

        Raises
        ------
        ValueError
            If they differ.
        """
        own = self.names
        if isinstance(own[0], str) or isinstance(names[0], str) or own in (list(names), list(range(len(own)))):
            return
        raise ValueError(
            f"X's columns are named {short(repr(own))}, and those of fit were {short(repr(list(names)))}: give these, "
            "or X.to_numpy() if they stand in the order of fit."
        )

    def rows(self) -> list[Sequence[Any]]:
        """Return cells of Python's types, row after row; for few rows sooner than columns."""
        if self.library == "pyarrow":
            columns = [column.to_pylist() for column in self.table.columns]
            return [list(row) for row in zip(*columns, strict=True)]
        if self.library == "polars":
            return list(self.table.rows())
        if self.library != "pandas":
            import narwhals.stable.v2 as nw

            return list(nw.from_native(self.table, eager_only=True).rows())
        if len(self.table) == 1:
            row = self.table.iloc[0]
            if row.dtype.kind != "f":  # in which large whole numbers beside fractions would be rounded
                return [row.tolist()]
        return list(self.table.to_numpy(dtype=object))


def cells_of_row(row: Mapping[Any, Any], names: Sequence[Any] | None, n_features: int) -> list[Any]:
    """Return the cells of a row in the order of the columns.

    Parameters
    ----------
    row : mapping
        From the names of the columns to values. Columns without names are numbered from 0.
    names : sequence of d names, optional
        Of the columns, as the table of the fit had them; None: it had none.
    n_features : int
        d.

    Raises
    ------
    ValueError
        If it has not one cell for each column.
    """
    columns = tuple(range(n_features)) if names is None else tuple(names)
    known = set(columns)
    lacking, others = [name for name in columns if name not in row], [name for name in row if name not in known]
    if lacking or others:
        told = f"lacks {short(repr(lacking))}" if lacking else f"has {short(repr(others))}"
        way = "give None where a value is not known" if lacking else "leave these out"
        raise ValueError(
            f"A row in a dict must hold a value for each of the columns {short(repr(list(columns)))}, but {told}: "
            f"{way}."
        )
    return [row[name] for name in columns]


def one_row_table(cells: Sequence[Any], names: Sequence[Any] | None) -> Any:
    """Make a table of one row with these cells, or an array where the columns have no names."""
    if names is None:
        kind = object if any(isinstance(cell, str) for cell in cells) else None  # else numbers would become texts
        return np.array([cells], dtype=kind)
    import narwhals.stable.v2 as nw

    backend = next((name for name in ("pandas", "polars", "pyarrow") if find_spec(name)), None)
    if backend is None:
        raise ValueError("A dict whose cells must be looked at needs one of pandas, polars and pyarrow: install one.")
    return nw.from_dict({name: [cell] for name, cell in zip(names, cells, strict=True)}, backend=backend).to_native()
