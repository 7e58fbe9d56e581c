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
    """

    def __init__(self, parts, seals, n_shards, lost):
        *firsts, n_rows = np.cumsum([0, *(seal.n_rows for seal in seals)]).tolist()
        self.n_shards, self._lost = min(n_shards, len(parts)), lost
        self._groups = [list(range(g, len(parts), self.n_shards)) for g in range(self.n_shards)]
        self._make = lambda g: pickle.loads(
            pickle.dumps(
                Shard(PlacedRows([parts[p] for p in self._groups[g]], [firsts[p] for p in self._groups[g]], n_rows), g)
            )
        )
        self._shards = [self._make(g) for g in range(self.n_shards)]
        self.n_asked, self.sent, self.answered, self.n_lost, self.is_closed = 0, [], [], 0, False

    def asked(self, shards, function, combine, finish, *arguments):
        self.n_asked += 1
        found = []
        for g in shards:
            if self._lost(g, self.n_asked):
                self._shards[g], self.n_lost = self._make(g), self.n_lost + 1
            told = pickle.dumps(arguments, protocol=4)
            answer = pickle.dumps(function(self._shards[g], *pickle.loads(told)))
            if not self.n_lost:  # else all that has been told goes to a new one
                self.sent.append(len(told))
                self.answered.append(len(answer))
            found.append(pickle.loads(answer))
        found = combine([combine(found[:1]), *found[1:]])
        if len(shards) == self.n_shards and self.n_asked % 2:  # which is left open
            found = finish(self._shards[-1], found, *arguments)
        return found

    def close(self):
        self._shards, self.is_closed = [], True


def divide(monkeypatch, n_shards=2, lost=lambda shard, asked: False, few=0):
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
            engines.append(HereEngine(parts, seals, n_shards, lost))
            return engines[-1]

        def whole(self, function, parts):
            engines.append(None)
            return function(parts)

    monkeypatch.setattr("minrisk.estimator.base.is_partitioned", lambda X: isinstance(X, Divided))
    monkeypatch.setattr("minrisk.estimator.elsewhere.partitions_of", Here)
    monkeypatch.setattr("minrisk.estimator.elsewhere.FEW_ROWS", few)
    return engines
