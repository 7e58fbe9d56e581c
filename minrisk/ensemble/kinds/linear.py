"""Linear members: trees that also split principal components and directions that part the classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from minrisk._typing import IntArray
from minrisk.ensemble import defaults
from minrisk.ensemble.kind import Task
from minrisk.ensemble.kinds.plain import Plain
from minrisk.learners.vector_tree import VectorTrees


class Linear(Plain):
    """For boundaries across the features."""

    name = "linear"
    place = "linear"

    @classmethod
    def of(cls, task: Task) -> Self | None:
        """Where there are linear features."""
        return None if task.table.linear is None else cls(task)

    def seen(self, fold: int) -> IntArray:
        """All columns, of directions that part the classes only those that were learnt without the fold."""
        assert self.task.table.linear is not None
        return self.task.table.linear[fold]

    def shaped(self, trees: VectorTrees, n_seen: int) -> VectorTrees:
        """Looking at a smaller share of the columns, which are about three times as many."""
        return replace(trees, max_features=defaults.LINEAR_SHARE * trees.max_features)
