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


class ColumnParts:
    """Some rows after others of a column."""

    def __init__(self, is_text: bool) -> None:
        self._is_text = is_text
        self._parts: list[Any] = []
        self._kinds = set[str]()

    def add(self, cells: pd.Series[Any]) -> None:
        """More rows, as pandas reads them."""
        kind = TEXTS if self._is_text else _kind(cells)
        self._kinds.add(kind)
        if kind in (TEXTS, TRUTH_VALUES):
            self._parts.append(as_texts(cells) if kind == TEXTS else cells.astype(object).to_numpy())
        else:
            self._parts.append(np.array(cells.to_numpy()))  # a view would keep what it is part of

    def joined(self) -> pd.Series[Any] | None:
        """All rows, which are then forgotten here; None where the column is one of texts and some parts are not."""
        import pandas as pd

        parts, self._parts = self._parts, []
        kinds = self._kinds - {ALL_MISSING}
        if kinds == {TEXTS}:
            return concatenated(parts if ALL_MISSING not in self._kinds else list(map(_of_texts, parts)))
        if not kinds or kinds <= {"i", "u", "f"}:
            if "u" in kinds and (kinds != {"u"} or ALL_MISSING in self._kinds):
                if "f" in kinds or ALL_MISSING in self._kinds or any(map(_has_sign, parts)):
                    return None
                parts = [part.astype(np.uint64) for part in parts]
            return pd.Series(np.concatenate(parts), copy=False)
        if kinds <= {"b", TRUTH_VALUES}:
            return pd.Series(np.concatenate([part.astype(object) for part in parts])).infer_objects()
        return None


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
    if not all(isinstance(part.dtype, pd.CategoricalDtype) for part in parts):
        return pd.concat(parts, ignore_index=True)
    dtypes = {part.cat.categories.dtype for part in parts if len(part.cat.categories)}
    if len(dtypes) > 1:
        return pd.concat([part.astype(object) for part in parts], ignore_index=True)
    filled = next((part.cat.categories.dtype for part in parts if len(part.cat.categories)), None)
    if filled is not None:
        none = pd.Index([], dtype=filled)
        parts = [part if len(part.cat.categories) else part.cat.set_categories(none) for part in parts]
    return pd.Series(pd.api.types.union_categoricals(parts, ignore_order=True))
