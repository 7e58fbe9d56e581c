"""What the methods of REBEL's loss have in common: the edges of their rounds, and the bound that follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from minrisk._typing import FloatArray
from minrisk.algorithms.base import BoostedRounds, RecipeClassifier, TrainingData


class CoupledClassifier(RecipeClassifier):
    """L_T - beta <= (L_0 - beta) prod_t sqrt(1 - phi_t^2), by the edges phi_t (see `minrisk.steps.edges`)."""

    edges_: FloatArray | None
    _claim = "the mean cost of the decisions about the training rows; what the edges of the rounds prove of it"

    def _keep(self, made: BoostedRounds, at_end: bool = False) -> None:
        super()._keep(made, at_end)
        edges = np.array(made.progress.edges[: self.n_iter_])
        self.edges_ = None if np.isnan(edges).any() else edges

    def _restore_facts(self, facts: dict[str, Any]) -> None:
        super()._restore_facts(facts)
        self.edges_ = getattr(self, "edges_", None)

    def _proven(self, data: TrainingData) -> tuple[float, float] | None:
        from minrisk.steps.edges import kept_share

        if self.edges_ is None:
            return None
        constant, kept = data.rows.facts(data.recipe.loss).constant, np.prod([kept_share(e) for e in self.edges_])
        return float(self.train_risk_[-1]), constant + (float(self.train_loss_[0]) - constant) * float(kept)
