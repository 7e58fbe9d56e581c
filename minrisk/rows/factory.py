"""The one place where rows are made."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from minrisk._typing import IntArray
from minrisk._workers import Workers
from minrisk.data.binning import Binner
from minrisk.data.row_blocks import RowBlocks
from minrisk.rows.base import CHAIN_ROWS, CORRECTIVE_ROWS, DIRECTED_ROWS, PAIR_ROWS, PLANE_ROWS, SIMILAR_ROWS
from minrisk.rows.columns import Columns, SparseIndex
from minrisk.rows.costs import RowCosts
from minrisk.rows.directed import ChainRows, DirectedRows
from minrisk.rows.exchange import Place
from minrisk.rows.folded import FoldedRows
from minrisk.rows.pairs import CorrectiveRows, PairRows, PlaneRows
from minrisk.rows.rows import Rows
from minrisk.rows.similar import SimilarRows

# The first kind whose trait is required is made: those that stand behind may be among the traits of one before.
KINDS: dict[str, type[Rows]] = {
    SIMILAR_ROWS: SimilarRows,
    CHAIN_ROWS: ChainRows,
    DIRECTED_ROWS: DirectedRows,
    PLANE_ROWS: PlaneRows,
    CORRECTIVE_ROWS: CorrectiveRows,
    PAIR_ROWS: PairRows,
}


def folded_rows(costs: RowCosts, folds: IntArray, place: Place | None = None) -> FoldedRows:
    """Make rows that stand fold after fold, of these costs; `place`, where they are not all."""
    return FoldedRows(costs, folds, binned_rows, place=place)


def binned_rows(
    columns: Columns, costs: RowCosts, left_out: tuple[int, int], workers: Workers, place: Place | None = None
) -> Rows:
    """Make plain rows of columns that others may read as well.

    Nothing is learnt from rows start..stop that are left out: their weights in `costs` must be 0.
    """
    build = partial(SparseIndex.build, workers=Workers())
    return rows_like(frozenset())(
        X_binned=columns.binned,
        n_bins=columns.n_bins,
        costs=costs,
        workers=workers,
        left_out=left_out,
        index=lambda: columns.index(build),
        place=place,
    )


def make_rows(
    requires: frozenset[str],
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
    requires : frozenset of str
        Traits that its parts require: those of rows say of which kind these are.
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
    if SIMILAR_ROWS not in requires:
        columns |= {"X_binned": binner.transform(X, part, workers), "n_bins": binner.n_bins}
    if {SIMILAR_ROWS, DIRECTED_ROWS, CHAIN_ROWS} & requires:
        X = X.dense("these learners") if isinstance(X, RowBlocks) else X
        columns["X"] = X if part is None else X[part]
    return rows_like(requires)(**columns, **options)


def rows_like(requires: frozenset[str]) -> Callable[..., Rows]:
    """Return what makes rows with these traits, from columns and options by name."""
    return next((kind for trait, kind in KINDS.items() if trait in requires), Rows)
