"""Members of small trees on finer bins, for rules without noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from minrisk.ensemble import defaults
from minrisk.ensemble.kind import Task, is_wide
from minrisk.ensemble.kinds.plain import Plain
from minrisk.learners.vector_tree import VectorTrees
from minrisk.rows.columns import Columns


class Small(Plain):
    """Trees of 8 leaves, whose splits are chosen among 20 features or more."""

    name = "small"
    place = "small"

    @classmethod
    def of(cls, task: Task) -> Self | None:
        """Where features are not so many that plain trees are small themselves."""
        return None if is_wide(task.costs.n_rows, task.table.n_features) else cls(task)

    @property
    def columns(self) -> Columns:
        """Finer bins."""
        return self.task.table.finer

    def shaped(self, trees: VectorTrees, n_seen: int) -> VectorTrees:
        """Few leaves, and a look at more features."""
        share = min(1.0, max(trees.max_features, defaults.SMALL_FEATURES / n_seen))
        return replace(trees, max_leaf_nodes=defaults.SMALL_LEAVES, max_features=share)


class Tiny(Small):
    """Trees of 4 leaves, whose splits are chosen by all classes."""

    name = "tiny"
    place = "small"

    @classmethod
    def of(cls, task: Task) -> Self | None:
        """Where features of few values may hold such rules."""
        table, costs = task.table, task.costs
        few_values = table.columns.n_bins[: table.n_features].mean() <= defaults.TINY_VALUES
        few = costs.n_rows <= defaults.TINY_ROWS and task.n_outputs <= defaults.TINY_CLASSES
        return cls(task) if few and few_values else None

    def shaped(self, trees: VectorTrees, n_seen: int) -> VectorTrees:
        """Without a sketch."""
        return replace(super().shaped(trees, n_seen), max_leaf_nodes=defaults.TINY_LEAVES, sketch=None)
