"""Random members: trees whose thresholds are drawn, also of linear combinations of the features.

A node looks at one threshold of each of its columns and takes the best of these (Geurts, Ernst and Wehenkel,
"Extremely randomized trees", 2006), so these trees err elsewhere than trees of the best thresholds. There it is drawn
between the least and the largest value, here between the lowest and the highest bin of the node's rows, so that
outliers do not decide where. Trees are boosted: a forest of such trees, all of them Newton steps from the class
frequencies, brought a quarter as much to the pool.
"""

from __future__ import annotations

from dataclasses import replace

from minrisk._typing import IntArray
from minrisk.ensemble import defaults
from minrisk.ensemble.kinds.plain import Plain
from minrisk.learners.vector_tree import VectorTrees


class Random(Plain):
    """Trees of random thresholds of all columns, in shorter steps than the usual ones."""

    name = "random"
    rate = defaults.RANDOM_RATE

    def ready(self) -> bool:
        """With linear features, if there are any."""
        self.linear = self.task.table.linear
        return True

    def seen(self, fold: int) -> IntArray:
        """All columns, of directions that separate the classes only those that were learnt without the fold."""
        return super().seen(fold) if self.linear is None else self.linear[fold]

    def shaped(self, trees: VectorTrees, n_seen: int) -> VectorTrees:
        """Random; with linear features, which treble the columns about, a node looks at a smaller share of them."""
        share = 1.0 if self.linear is None else defaults.LINEAR_SHARE
        return replace(trees, random=True, max_features=share * trees.max_features)
