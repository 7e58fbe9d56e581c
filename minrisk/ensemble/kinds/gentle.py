"""Gentle members: few leaves and short steps, for weak signals that greedy trees drown in noise."""

from __future__ import annotations

from dataclasses import replace

from minrisk.ensemble import defaults
from minrisk.ensemble.kind import Task
from minrisk.ensemble.kinds.plain import Plain
from minrisk.learners.vector_tree import VectorTrees


class Gentle(Plain):
    """Trees of 4 leaves, a fifth of the usual step."""

    name = "gentle"
    place = "gentle"
    rate, smoothing = defaults.GENTLE_RATE, defaults.GENTLE_SMOOTHING  # times those of plain members

    def __init__(self, task: Task) -> None:
        settings = task.settings
        settings = settings._replace(
            learning_rate=self.rate * settings.learning_rate, smoothing=self.smoothing * settings.smoothing
        )
        super().__init__(task._replace(settings=settings))

    def shaped(self, trees: VectorTrees, n_seen: int) -> VectorTrees:
        """Few leaves."""
        return replace(trees, max_leaf_nodes=defaults.GENTLE_LEAVES)
