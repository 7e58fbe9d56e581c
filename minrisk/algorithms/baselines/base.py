"""What the baselines have in common: parameters, and a recipe of trees with a vector in every leaf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from minrisk._typing import FloatArray
from minrisk.algorithms.base import RecipeClassifier
from minrisk.estimator.parameters import Depth, Rule


class BaselineClassifier(RecipeClassifier):
    """A published method to compare with: the parameters that most of them share."""

    _rules: ClassVar[Mapping[str, Rule]] = {**RecipeClassifier._rules, "max_depth": Depth()}

    def __init__(
        self,
        cost: Any = None,
        *,
        n_estimators: int = 200,
        learning_rate: float = 1.0,
        max_depth: int = 1,
        binning: str = "quantile",
        max_bins: int | None = None,
        subsample: float = 1.0,
        max_features: float = 1.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        warm_start: bool = False,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.binning = binning
        self.max_bins = max_bins
        self.subsample = subsample
        self.max_features = max_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _trees(self, thresholds: tuple[FloatArray, ...], gain: int | None = None, constants: bool = False) -> Any:
        """Trees grown by a gain of all outputs; None: that of the loss. Smoothing is of the steps only."""
        from minrisk.learners.vector_tree import VectorTrees

        return VectorTrees(
            2**self.max_depth, thresholds, self.max_depth, sketch=None, gain=gain, phantoms=False, constants=constants
        )
