"""Approximate nearest neighbours of all training points."""

from __future__ import annotations

import numpy as np

from minrisk._typing import IntArray
from minrisk._workers import one_blas_thread
from minrisk.data.distances import Points
from minrisk.data.sparse_points import SparsePoints

COMPONENTS = 50  # MNIST: 79 % of the 31 nearest are found (32: 70 %)


def neighbors_of(points: Points | SparsePoints, n_neighbors: int) -> IntArray:
    """Rows of the `n_neighbors` nearest other points of every point, (n, k), in no order; all where there are no more.

    Nearest in the first `COMPONENTS` principal components: exact for as many features, approximate for more. One
    thread, since sums in another order could choose another of two equally near points.
    """
    from sklearn.neighbors import NearestNeighbors
    from threadpoolctl import threadpool_limits

    with one_blas_thread(), threadpool_limits(1, user_api="openmp"):  # the latter is this thread's own
        Z = points.reduced(COMPONENTS)
        search = NearestNeighbors(n_neighbors=min(n_neighbors, len(Z) - 1), n_jobs=1).fit(Z)
        return np.asarray(search.kneighbors(return_distance=False), dtype=np.int64)
