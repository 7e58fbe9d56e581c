"""The one place where rows are made: here they are in the memory of this process."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from minrisk._typing import IntArray
from minrisk._workers import Workers
from minrisk.data.binning import Binner
from minrisk.rows.base import RowCosts, Rows

Kind = Literal["plain", "directed", "similar", "pair", "corrective"]


def make_rows(
    kind: Kind, X: np.ndarray, part: IntArray | None, binner: Binner, costs: RowCosts, workers: Workers,
    trainable: bool = True, **options: Any,
) -> Rows:  # fmt: skip
    """Rows of some kind.

    Parameters
    ----------
    kind : {"plain", "directed", "similar", "pair", "corrective"}
        Which protocol of `minrisk.rows.base` they follow.
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
        `units`, `cache_bytes` and `n_neighbors` of similar rows, `distinct` of corrective ones.
    """
    if kind == "similar":
        from minrisk.rows.local.similar import LocalSimilarRows

        values = X if part is None else X[part]
        return LocalSimilarRows(values, costs=costs, workers=workers, trainable=trainable, **options)
    columns = binner.transform(X, part, workers), binner.n_bins, costs, workers, None, trainable
    if kind == "directed":
        from minrisk.rows.local.directed import LocalDirectedRows

        return LocalDirectedRows(X if part is None else X[part], *columns)
    if kind == "pair":
        from minrisk.rows.local.pairs import LocalPairRows

        return LocalPairRows(*columns)
    if kind == "corrective":
        from minrisk.rows.local.pairs import LocalCorrectiveRows

        return LocalCorrectiveRows(*columns, **options)
    from minrisk.rows.local.rows import LocalRows

    return LocalRows(*columns)
