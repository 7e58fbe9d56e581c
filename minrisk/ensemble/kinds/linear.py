"""Linear members: trees that also split principal components and directions that separate the classes."""

from __future__ import annotations

from dataclasses import replace

from minrisk._typing import IntArray
from minrisk.ensemble import defaults
from minrisk.ensemble.kinds.plain import Plain
from minrisk.learners.vector_tree import VectorTrees


class Linear(Plain):
    """For boundaries across the features."""

    name = "linear"
    place = "linear"

    def ready(self) -> bool:
        """With linear features, if there are any."""
        return self.task.table.linear is not None

    def seen(self, fold: int) -> IntArray:
        """All columns, of directions that separate the classes only those that were learnt without the fold."""
        assert self.task.table.linear is not None
        return self.task.table.linear[fold]

    def shaped(self, trees: VectorTrees, n_seen: int) -> VectorTrees:
        """Looking at a smaller share of the columns, which are about three times as many."""
        return replace(trees, max_features=defaults.LINEAR_SHARE * trees.max_features)
