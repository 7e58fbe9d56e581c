"""Gentle members: small trees in short steps on finer bins, for weak signals and for rules without noise.

Greedy trees of many leaves drown the former in noise; the latter ask for thresholds as sharp as the rows allow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from minrisk.ensemble import defaults
from minrisk.ensemble.kind import Task, is_wide
from minrisk.ensemble.kinds.plain import Plain
from minrisk.learners.vector_tree import VectorTrees
from minrisk.rows.columns import Columns


class Gentle(Plain):
    """Trees of 8 leaves in half the usual steps, whose splits are chosen among 20 features or more."""

    name = "gentle"
    rate = defaults.GENTLE_RATE

    @classmethod
    def of(cls, task: Task) -> Self | None:
        """Where features are not so many that plain trees are small themselves."""
        return None if is_wide(task.costs.n_rows, task.table.n_features) else cls(task)

    @property
    def columns(self) -> Columns:
        """Finer bins."""
        return self.task.table.finer

    def shaped(self, trees: VectorTrees, n_seen: int) -> VectorTrees:
        """Few leaves, and a look at more features; at all classes where these are few."""
        share = min(1.0, max(trees.max_features, defaults.GENTLE_FEATURES / n_seen))
        exact = 2 < self.task.n_outputs <= defaults.GENTLE_CLASSES  # two are told by one sum
        sketch = None if exact else trees.sketch
        return replace(trees, max_leaf_nodes=defaults.GENTLE_LEAVES, max_features=share, sketch=sketch)
