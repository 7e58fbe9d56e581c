"""The one place where rows are made: here they are in the memory of this process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np

from minrisk._typing import IntArray
from minrisk._workers import Workers
from minrisk.data.binning import Binner
from minrisk.data.row_blocks import RowBlocks
from minrisk.rows.base import CHAIN_ROWS, CORRECTIVE_ROWS, DIRECTED_ROWS, PAIR_ROWS, PLANE_ROWS, SIMILAR_ROWS, Rows
from minrisk.rows.columns import Columns
from minrisk.rows.costs import RowCosts
from minrisk.rows.exchange import Place
from minrisk.rows.folded import FoldedRows


def folded_rows(costs: RowCosts, folds: IntArray, place: Place | None = None) -> FoldedRows:
    """Rows that stand fold after fold, of these costs; `place`, where they are not all."""
    from minrisk.rows.local.folded import LocalFoldedRows

    return LocalFoldedRows(costs, folds, binned_rows, place=place)


def binned_rows(
    columns: Columns, costs: RowCosts, left_out: tuple[int, int], workers: Workers, place: Place | None = None
) -> Rows:
    """Plain rows of columns that others may read as well; nothing is learnt from rows start..stop that are left out.

    Their weights in `costs` must be 0.
    """
    from minrisk.rows.local.sparse_index import SparseIndex

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
    """Rows for a recipe.

    Parameters
    ----------
    requires : frozenset of str
        Traits that its parts require: those of rows say which protocol of `minrisk.rows.base` the rows follow.
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
    """What makes rows that follow the protocols of these traits, from columns and options by name."""
    if SIMILAR_ROWS in requires:
        from minrisk.rows.local.similar import LocalSimilarRows

        return LocalSimilarRows
    if CHAIN_ROWS in requires:
        from minrisk.rows.local.chains import LocalChainRows

        return LocalChainRows
    if DIRECTED_ROWS in requires:
        from minrisk.rows.local.directed import LocalDirectedRows

        return LocalDirectedRows
    if PLANE_ROWS in requires:
        from minrisk.rows.local.planes import LocalPlaneRows

        return LocalPlaneRows
    if CORRECTIVE_ROWS in requires:
        from minrisk.rows.local.pairs import LocalCorrectiveRows

        return LocalCorrectiveRows
    if PAIR_ROWS in requires:
        from minrisk.rows.local.pairs import LocalPairRows

        return LocalPairRows
    from minrisk.rows.local.rows import LocalRows

    return LocalRows


def compiled_at_once() -> AbstractContextManager[None]:
    """In its context rows compile also what elsewhere waits until it pays."""
    from minrisk.rows.local.whole_round import compiled_at_once

    return compiled_at_once()
