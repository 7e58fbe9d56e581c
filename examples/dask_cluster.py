"""A fit on a Dask cluster, here one of two processes on this machine
===================================================================

Rows are made in the partitions of Dask arrays and stay there. Workers answer with sums and a few thousand drawn rows,
the client grows the trees, and the model is the one that an array of all rows gives, to the last byte of its file.
Predictions are lazy: each partition is decided where it is, when its answer is asked for.

``python dask_cluster.py ADDRESS`` takes a cluster of yours, such as tcp://host:8786, in place of one made here.
"""

import sys
import tempfile
import time
from pathlib import Path

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

from minrisk import MinRiskClassifier, metrics, save

ROWS, PARTITIONS, FEATURES = 48_000, 6, 8
COSTS = [[0, 1, 1], [1, 0, 1], [10, 10, 0]]  # class 2 must not be missed


def made(block_info=None):
    """The rows of a partition: three clouds, one of them within the others."""
    first, last = block_info[None]["array-location"][0]
    drawn = np.random.default_rng(first)
    y = drawn.integers(0, 3, last - first)
    X = drawn.normal(size=(last - first, FEATURES)) + np.eye(3, FEATURES)[y] * [[1.5]]
    return np.column_stack([X, y])


def content(model):
    """The bytes of its file."""
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "m.minrisk")
        return (Path(folder) / "m.minrisk").read_bytes()


def main(address=None):
    """Fit, decide, and compare with a fit to an array."""
    cluster = address or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with Client(cluster) as client:
        chunks = (ROWS // PARTITIONS,) * PARTITIONS
        table = da.map_blocks(made, chunks=(chunks, (FEATURES + 1,)), dtype=np.float64, meta=np.empty((0, 0)))
        table = client.persist(table)  # kept by the workers that made them
        X, y = table[:, :-1], table[:, -1].astype(int)
        model = MinRiskClassifier(COSTS, n_estimators=10, cv=1, random_state=0)  # few rounds: it is an example
        start = time.perf_counter()
        model.fit(X, y)
        print(f"{len(model.model_)} rounds on {X.npartitions} partitions: {time.perf_counter() - start:.1f} s")

        decided = model.predict(X)
        print("predict:", decided)  # nothing is computed yet
        print("decisions for each class:", da.bincount(decided, minlength=3).compute())

        here = table.compute()  # few enough to be brought here, to compare
        X, y = here[:, :-1], here[:, -1].astype(int)
        print(f"mean cost: {metrics.expected_cost(y, decided.compute(), COSTS):.3f}")
        same = content(MinRiskClassifier(**model.get_params()).fit(X, y)) == content(model)
        print("an array gives", "the same bytes" if same else "ANOTHER MODEL")
    if address is None:
        cluster.close()
    return same


if __name__ == "__main__":  # processes of the cluster import this file
    main(*sys.argv[1:])
