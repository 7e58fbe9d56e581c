"""Tables as columns: DataFrames of pandas and polars, and Arrow tables, whichever of the three there are.

None of them is needed: who has such a table has its library.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Any, NamedTuple, Self

import numpy as np

from minrisk._printable import short
from minrisk._typing import FloatArray, IntArray

MISSING_TYPES = ("NAType", "NaTType")  # pandas.NA and NaT, by their types: pandas need not be there
DURATIONS = (timedelta, np.timedelta64)
DATES = (date, time, np.datetime64, *DURATIONS)
NUMBERS = "biuf"  # kinds of dtypes, truth values among them
ARROW_NUMBERS = ("int", "uint", "float", "double", "halffloat")  # what the names of Arrow's types begin with
CATEGORIES = ("category", "Categorical", "Enum", "dictionary")  # ... of types that say that they are categories
ENCODED = "encode it, for example with sklearn.preprocessing.OrdinalEncoder"
COUNTED = "make numbers of it, for example days since the first"
MEASURED = "make numbers of it, for example seconds"
PARTED = "make two columns of it"
TAKEN_APART = "make columns of what these hold"
SAY_SO = {
    "pandas": 'if it holds categories say so by its dtype, X[{name!r}].astype("category")',
    "polars": "if it holds categories say so by its dtype, pl.col({name!r}).cast(pl.Categorical)",
    "arrow": "if it holds categories say so by its type, X.column({name!r}).dictionary_encode()",
    "array": ENCODED,
}


class CodedCells(NamedTuple):
    """Cells as numbers of their values."""

    codes: IntArray  # (n,); -1 where missing
    values: list[Any]
    ordered: bool = False


def is_missing(cell: Any) -> bool:
    """Whether a cell holds nothing: None, NaN, or what pandas has for these."""
    is_nan = isinstance(cell, (float, np.floating)) and cell != cell
    return cell is None or type(cell).__name__ in MISSING_TYPES or is_nan


def of_cells(cells: Iterable[Any]) -> np.ndarray:
    """An array of objects, one for each cell, whatever it holds."""
    cells = list(cells)
    return np.fromiter(cells, dtype=object, count=len(cells))


@dataclass(frozen=True)
class Column:
    """A column of a table; `kind` is a key of `SAY_SO`."""

    kind: str
    name: Any
    cells: Any

    @classmethod
    def of(cls, cells: Any, name: Any) -> Self:
        """A Series of pandas or polars, an array of Arrow or NumPy."""
        library = type(cells).__module__.split(".")[0]
        if library in ("polars", "pyarrow"):
            return cls({"polars": "polars", "pyarrow": "arrow"}[library], name, cells)
        if str(getattr(cells.dtype, "pyarrow_dtype", "")).startswith("dictionary"):
            return cls("arrow", name, cells.array.__arrow_array__())
        return cls("array" if isinstance(cells, np.ndarray) else "pandas", name, cells)

    @property
    def type_name(self) -> str:
        """Of its type."""
        return str(self.cells.type if self.kind == "arrow" else self.cells.dtype)

    @property
    def holds_categories(self) -> bool:
        """Whether its type says so: category (pandas), Categorical or Enum (polars), dictionary (Arrow)."""
        return self.type_name.startswith(CATEGORIES)

    def listed(self) -> list[Any]:
        """Cells as Python has them."""
        way = {"polars": "to_list", "arrow": "to_pylist"}.get(self.kind, "tolist")
        return list(getattr(self.cells, way)())

    def coded(self) -> CodedCells:
        """Cells as numbers of their values: of those that the type lists, or in the order of appearance.

        Raises
        ------
        ValueError
            If a cell cannot be told from others, as a list.
        """
        if self.type_name == "category":
            categories = self.cells.array
            return CodedCells(
                np.asarray(categories.codes).astype(np.int64), categories.categories.tolist(), bool(categories.ordered)
            )
        numbers: dict[Any, int] = {}
        ordered = self.kind == "arrow" and self.holds_categories and bool(self.cells.type.ordered)

        def place(cell: Any) -> int:
            try:
                return numbers.setdefault(cell, len(numbers))
            except TypeError:
                raise ValueError(
                    f"X must hold numbers or categories, got {described(cell)[0]} in column {self.name!r} "
                    f"({_short(cell)!r}): {TAKEN_APART}."
                ) from None

        if ordered:
            for value in self.cells.unify_dictionaries().combine_chunks().dictionary.to_pylist():
                place(value)
        codes = [-1 if is_missing(cell) else place(cell) for cell in self.listed()]
        return CodedCells(np.array(codes, dtype=np.int64), list(numbers), ordered)

    @np.errstate(over="ignore")  # a longer float that is beyond float64 becomes infinite, which is refused later
    def numbers(self) -> FloatArray:
        """Cells as float64, NaN where missing; numbers written as text are numbers.

        Raises
        ------
        ValueError
            Naming the column and its first cell that is no number.
        """
        number = self.kind == "pandas" and getattr(self.cells.dtype, "kind", "O") in NUMBERS
        if number and self.type_name.startswith("Sparse["):
            return np.asarray(self.cells, dtype=np.float64)
        if number:
            return np.asarray(self.cells.to_numpy(dtype=np.float64, na_value=np.nan))
        if self.kind == "polars" and (self.cells.dtype.is_numeric() or self.type_name == "Boolean"):
            import polars as pl

            return np.asarray(self.cells.cast(pl.Float64).to_numpy())
        if self.kind == "arrow" and self.type_name.startswith(ARROW_NUMBERS):
            return np.asarray(self.cells).astype(np.float64)
        cells = of_cells(self.listed())
        try:
            return np.asarray(cells.astype(np.float64))
        except (ValueError, TypeError, OverflowError):
            return np.array([np.nan if is_missing(cell) else self._number(cell) for cell in cells])

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
            if what.startswith("values of type") and self.kind == "array":  # the kind of error that NumPy has for it
                raise TypeError(
                    f"{got}: the argument must be an array of numbers, or of strings that are numbers."
                ) from None
            instead = instead or SAY_SO[self.kind].format(name=self.name)
            raise ValueError(f"{got}: leave the column out, or {instead}.") from None


def described(cell: Any) -> tuple[str, str | None]:
    """What a cell is that is no number, and what to do; None if it may be a category."""
    if isinstance(cell, str):
        return "text", None
    if isinstance(cell, DURATIONS):
        return "durations", MEASURED
    if isinstance(cell, DATES) or type(cell).__name__ == "Period":
        return "dates", COUNTED
    if isinstance(cell, complex):
        return "complex numbers", PARTED
    what = "bytes" if isinstance(cell, bytes) else f"values of type {type(cell).__name__}"
    return what, TAKEN_APART if isinstance(cell, (list, dict, set, np.ndarray)) else None


def _short(cell: Any) -> str:
    """What a cell holds, in a few words."""
    return short(" ".join(str(cell).split()), 60)


@dataclass(frozen=True)
class Frame:
    """A table with named columns; `kind` is a key of `SAY_SO`."""

    kind: str
    table: Any

    @classmethod
    def of(cls, X: Any) -> Self | None:
        """X as columns; None if it is no such table.

        Raises
        ------
        TypeError
            If it is a plan of polars that has not been carried out.
        """
        library, name = type(X).__module__.split(".")[0], type(X).__name__
        if hasattr(X, "isetitem") and hasattr(X, "iloc"):
            return cls("pandas", X)
        if library == "polars" and name == "LazyFrame":
            raise TypeError("X must be a DataFrame, got a LazyFrame of polars: write X.collect().")
        if library == "polars" and name == "DataFrame":
            return cls("polars", X)
        if library == "pyarrow" and hasattr(X, "column_names"):
            import pyarrow as pa

            return cls("arrow", X if isinstance(X, pa.Table) else pa.Table.from_batches([X]))
        return None

    @property
    def names(self) -> list[Any]:
        """Of the columns."""
        return list(self.table.column_names if self.kind == "arrow" else self.table.columns)

    @property
    def is_plain(self) -> bool:
        """Whether it holds NumPy's numbers and truth values only."""
        dtypes = self.table.dtypes if self.kind == "pandas" else (None,)
        return all(isinstance(dtype, np.dtype) and dtype.kind in NUMBERS for dtype in dtypes)

    @property
    def columns(self) -> list[Column]:
        """All of them, in their order."""
        t = self.table
        cells = t.get_columns() if self.kind == "polars" else t.columns if self.kind == "arrow" else ()
        if self.kind == "pandas":
            cells = [t.iloc[:, j] for j in range(t.shape[1])]
        return [Column.of(column, name) for column, name in zip(cells, self.names, strict=True)]

    def take(self, order: Sequence[int]) -> Any:
        """The table with its columns in another order."""
        if self.kind == "pandas":
            return self.table.iloc[:, order]
        return self.table.select([self.names[j] for j in order])

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
        """The table with its columns in the order of these names, if it has just these; else as it is."""
        own = self.names
        if own == list(names) or len(own) != len(names) or len(set(own)) < len(own) or set(own) != set(names):
            return self.table
        place = {name: j for j, name in enumerate(own)}
        return self.take([place[name] for name in names])
