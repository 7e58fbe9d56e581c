"""Rows in partitions elsewhere, without a cluster: what is asked, and what is answered, crosses as bytes."""

from __future__ import annotations

import pickle

import numpy as np

from minrisk.rows.placed import PlacedRows
from minrisk.rows.remote import Shard


class Divided:
    """An array or a frame as partitions, cut at these rows."""

    def __init__(self, whole, cuts):
        self.whole, self.cuts = whole, cuts

    def parts(self):
        return [self.whole[a:b] for a, b in zip(self.cuts[:-1], self.cuts[1:], strict=True)]


class HereEngine:
    """Shards in this process.

    Parameters
    ----------
    parts, seals
    n_shards : int
    lost : callable
        Whether the shard of a number is lost before it is asked so many-th.
    one_memory : bool
        Whether all shards are told the same objects, as in a cluster of threads.
    """

    def __init__(self, parts, seals, n_shards, lost, one_memory=False):
        *firsts, n_rows = np.cumsum([0, *(seal.n_rows for seal in seals)]).tolist()
        self.n_shards, self._lost, self._one_memory = min(n_shards, len(parts)), lost, one_memory
        self._groups = [list(range(g, len(parts), self.n_shards)) for g in range(self.n_shards)]
        self._make = lambda g: pickle.loads(
            pickle.dumps(
                Shard(PlacedRows([parts[p] for p in self._groups[g]], [firsts[p] for p in self._groups[g]], n_rows), g)
            )
        )
        self._shards = [self._make(g) for g in range(self.n_shards)]
        self.asked, self.sent, self.answered, self.n_lost, self.is_closed = 0, [], [], 0, False

    def map(self, function, arguments):
        self.asked += 1
        found = []
        for g, own in enumerate(arguments):
            if self._lost(g, self.asked):
                self._shards[g], self.n_lost = self._make(g), self.n_lost + 1
            told = pickle.dumps(own)
            answer = pickle.dumps(function(self._shards[g], *(own if self._one_memory else pickle.loads(told))))
            if not self.n_lost:  # else all that has been told goes to a new one
                self.sent.append(len(told))
                self.answered.append(len(answer))
            found.append(pickle.loads(answer))
        return found

    def reduce(self, function, futures):
        return function([function(futures[:1]), *futures[1:]])

    def look_again(self):
        pass

    def close(self):
        self._shards, self.is_closed = [], True


def divide(monkeypatch, n_shards=2, lost=lambda shard, asked: False, few=0, one_memory=False):
    """Fits take `Divided` as collections; returns the engines that they use."""
    engines = []

    class Here:
        def __init__(self, *columns):
            n = len(columns[0].cuts) - 1
            self._columns = [column.parts() if column is not None else [None] * n for column in columns]

        def checked(self, check):
            both = [check(p, *own) for p, own in enumerate(zip(*self._columns, strict=True))]
            return [part for part, _ in both], [facts for _, facts in both]

        def engine(self, parts, seals, n_threads):
            engines.append(HereEngine(parts, seals, n_shards, lost, one_memory))
            return engines[-1]

        def whole(self, function, parts):
            engines.append(None)
            return function(parts)

    monkeypatch.setattr("minrisk.estimator.base.is_partitioned", lambda X: isinstance(X, Divided))
    monkeypatch.setattr("minrisk.estimator.elsewhere.partitions_of", Here)
    monkeypatch.setattr("minrisk.estimator.elsewhere.FEW_ROWS", few)
    return engines
