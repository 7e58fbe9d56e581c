"""Members of the pool's kinds with other settings, for what is left of a budget of time."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np

from minrisk._typing import IntArray
from minrisk.ensemble import defaults
from minrisk.ensemble.kinds.plain import Plain
from minrisk.learners.vector_tree import VectorTrees
from minrisk.rows.columns import Columns


class Factors(NamedTuple):
    """By which settings are multiplied."""

    learning_rate: float = 1.0
    max_leaf_nodes: float = 1.0
    max_features: float = 1.0
    smoothing: float = 1.0

    @classmethod
    def drawn(cls, random: np.random.RandomState, left_open: frozenset[str]) -> Self:
        """At random, for settings that are left open; 1 for the others."""
        ranges = defaults.VARIED_RATES, defaults.VARIED_LEAVES, defaults.VARIED_FEATURES, defaults.VARIED_SMOOTHING
        drawn = [values[random.randint(len(values))] for values in ranges]
        return cls(*(factor if name in left_open else 1.0 for name, factor in zip(cls._fields, drawn, strict=True)))


class Variation(Plain):
    """Another seed, and perhaps other trees, than those of the kind that is varied.

    Parameters
    ----------
    base : Plain
        The kind that is varied: it says which columns are seen.
    factors : Factors
    seed : int
    """

    name = "varied"

    def __init__(self, base: Plain, factors: Factors, seed: int) -> None:
        settings = base.task.settings
        settings = settings._replace(
            learning_rate=settings.learning_rate * factors.learning_rate,
            smoothing=settings.smoothing * factors.smoothing,
        )
        self.base, self.factors, self.rate = base, factors, base.rate
        super().__init__(base.task._replace(settings=settings, seed=seed))

    @property
    def columns(self) -> Columns:
        """The same."""
        return self.base.columns

    def seen(self, fold: int) -> IntArray:
        """The same."""
        return self.base.seen(fold)

    def shaped(self, trees: VectorTrees, n_seen: int) -> VectorTrees:
        """Trees of more or fewer leaves, that look at more or fewer features."""
        trees, factors = self.base.shaped(trees, n_seen), self.factors
        return replace(
            trees,
            max_leaf_nodes=max(2, round(trees.max_leaf_nodes * factors.max_leaf_nodes)),
            max_features=min(1.0, trees.max_features * factors.max_features),
        )
