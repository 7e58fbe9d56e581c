"""Which tables lie in partitions elsewhere."""

from __future__ import annotations

import sys
from typing import Any

DASK = ("dask", "dask_expr")  # packages: dataframes had one of their own before 2025


def is_partitioned(X: Any) -> bool:
    """Say whether it is an array, a dataframe or a series of Dask."""
    own = type(X).__module__.partition(".")[0] in DASK
    return own and "dask" in sys.modules and hasattr(X, "__dask_graph__")
