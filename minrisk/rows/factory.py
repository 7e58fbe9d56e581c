"""Rows of the kind that a recipe asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from minrisk._typing import IntArray
from minrisk._utils.workers import Workers
from minrisk.data.binning import Binner
from minrisk.data.row_blocks import RowBlocks
from minrisk.rows.costs import RowCosts
from minrisk.rows.rows import Rows
from minrisk.rows.similar import SimilarRows


def make_rows(
    kind: type[Rows],
    X: np.ndarray,
    part: IntArray | None,
    binner: Binner,
    costs: RowCosts,
    workers: Workers,
    trainable: bool = True,
    **options: Any,
) -> Rows:
    """Make rows for a recipe.

    Parameters
    ----------
    kind : type
        That its parts require: `Recipe.rows_kind`.
    X : ndarray of shape (n, d)
        Raw values.
    part : ndarray of int, optional
        Numbers of the rows of X that are taken; None: all.
    binner : Binner
    costs : RowCosts
        Of the rows taken.
    workers : Workers
    trainable : bool
        False for rows that are only scored.
    **options
        `units`, `cache_bytes` and `n_neighbors` of similar rows, `distinct` of corrective ones, `codebook` of chains,
        `decoder` of bits.
    """
    columns: dict[str, Any] = {"costs": costs, "workers": workers, "trainable": trainable}
    if not issubclass(kind, SimilarRows):
        columns |= {"X_binned": binner.transform(X, part, workers), "n_bins": binner.n_bins}
    if kind.holds_values:
        X = X.dense("these learners") if isinstance(X, RowBlocks) else X
        columns["X"] = X if part is None else X[part]
    return kind(**columns, **options)
