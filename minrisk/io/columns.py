"""Columns of a text table, put together from rows that are read some at a time.

Texts are kept as numbers of their distinct values, so that a word takes no room of its own in every row. A column is
what it would be if all of its rows had been read together: numbers if all cells are, texts as they are written if one
cell is a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ColumnParts", "as_texts", "concatenated"]

ALL_MISSING, TRUTH_VALUES, TEXTS = "nothing", "truth values", "texts"
TRUTH_KINDS, NUMBER_KINDS = {"b", TRUTH_VALUES}, {"i", "u", "f", ALL_MISSING}


class ColumnParts:
    """A column, some rows after others.

    Parameters
    ----------
    is_text : bool
        Whether it holds texts, whatever they look like.
    most : int
        Rows that it may have. Numbers are put into one array from the beginning: many small ones would leave holes in
        the memory that nothing else fits in.
    """

    def __init__(self, is_text: bool, most: int) -> None:
        self._is_text, self._most, self._n = is_text, most, 0
        self._kinds = set[str]()
        self._numbers: np.ndarray | None = None
        self._parts: list[Any] = []  # of texts and truth values

    def add(self, cells: pd.Series[Any]) -> None:
        """More rows, as pandas reads them."""
        kind = TEXTS if self._is_text else _kind(cells)
        self._kinds.add(kind)
        if self._is_mixed:
            self._numbers, self._parts = None, []
        elif self._kinds <= NUMBER_KINDS:
            self._put(cells.to_numpy())
        else:
            if self._numbers is not None:  # all missing so far
                self._parts, self._numbers = [np.full(self._n, np.nan, dtype=object)], None
            self._parts.append(as_texts(cells) if kind == TEXTS else cells.astype(object).to_numpy())
        self._n += len(cells)

    @property
    def _is_mixed(self) -> bool:
        """Whether some cells are texts and others are not, which makes all of them texts."""
        kinds = self._kinds - {ALL_MISSING}
        return not (kinds <= {TEXTS} or kinds <= NUMBER_KINDS or kinds <= TRUTH_KINDS) or (
            "u" in kinds and (ALL_MISSING in self._kinds or "f" in kinds)
        )

    def _put(self, values: np.ndarray) -> None:
        """Numbers below the others, in an array of a dtype that holds both."""
        if self._numbers is None:
            self._numbers = np.empty(self._most, dtype=values.dtype)
        there = self._numbers[: self._n]
        kinds = {there.dtype.kind, values.dtype.kind}
        if kinds == {"i", "u"} and (_has_sign(there) or _has_sign(values)):
            self._kinds |= {TEXTS, "i"}  # as pandas has it
            self._numbers = None
            return
        if len(kinds) > 1 and there.dtype != np.float64 and values.dtype.kind != "i":
            self._numbers = np.empty(self._most, dtype=values.dtype)
            self._numbers[: self._n] = there
        self._numbers[self._n : self._n + len(values)] = values

    def joined(self) -> pd.Series[Any] | None:
        """All rows, which are then forgotten here; None where the column is one of texts and some parts are not."""
        import pandas as pd

        numbers, parts = self._numbers, self._parts
        self._numbers, self._parts = None, []
        if self._is_mixed:
            return None
        if TEXTS in self._kinds:
            return concatenated([_of_texts(part) for part in parts])
        if TRUTH_KINDS & self._kinds:
            return pd.Series(np.concatenate(parts)).infer_objects()
        assert numbers is not None
        return pd.Series(numbers[: self._n], copy=False)


def _kind(cells: pd.Series[Any]) -> str:
    """What cells are: that of a NumPy dtype of numbers or truth values, or one of the words above."""
    import pandas as pd

    kind = str(cells.dtype.kind)
    if kind == "f":
        return ALL_MISSING if bool(cells.isna().all()) else "f"
    if kind in "iub" and isinstance(cells.dtype, np.dtype):
        return kind
    is_truth = pd.api.types.infer_dtype(cells, skipna=True) == "boolean"  # beside missing cells
    return TRUTH_VALUES if is_truth else TEXTS


def _has_sign(part: np.ndarray) -> bool:
    """Whether some numbers are below zero; beside such that need 64 bits and no sign they are texts."""
    return part.dtype.kind == "i" and bool((part < 0).any())


def _of_texts(part: Any) -> pd.Series[Any]:
    """Cells of texts, or none at all."""
    import pandas as pd

    if isinstance(part, pd.Series):
        return part
    codes = np.full(len(part), -1, dtype=np.int8)
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index([], dtype=str)))


def as_texts(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Texts as numbers of the distinct ones, in the order of appearance."""
    import pandas as pd

    codes, values = pd.factorize(cells)
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(values)))


def concatenated(parts: Sequence[pd.Series[Any]]) -> pd.Series[Any]:
    """Columns one after another: texts as numbers of the distinct ones, where all are given so."""
    import pandas as pd

    if len(parts) == 1:
        return parts[0].reset_index(drop=True)
    alike = len({part.dtype for part in parts}) == 1  # also categories in an order
    if alike or not all(isinstance(part.dtype, pd.CategoricalDtype) for part in parts):
        return pd.concat(parts, ignore_index=True)
    dtypes = {part.cat.categories.dtype for part in parts if len(part.cat.categories)}
    if len(dtypes) > 1:
        return pd.concat([part.astype(object) for part in parts], ignore_index=True)
    filled = next((part.cat.categories.dtype for part in parts if len(part.cat.categories)), None)
    if filled is not None:
        none = pd.Index([], dtype=filled)
        parts = [part if len(part.cat.categories) else part.cat.set_categories(none) for part in parts]
    return pd.Series(pd.api.types.union_categoricals(parts, ignore_order=True))
