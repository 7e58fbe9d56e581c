"""REBEL: risk estimation boosting using an exponential loss.

R. Appel, X. Burgos-Artizzu and P. Perona, "Improved Multi-Class Cost-Sensitive Boosting via Estimation of the
Minimum-Risk Class", NIPS 2016.

==========================  ===========================  ======================================
paper                       here                         where
==========================  ===========================  ======================================
L, Eq. (2), (4)             ``CoupledLoss``              `minrisk.losses.coupled`
w+, w-, S.6                 ``coupled_gradients``        `minrisk._kernels.losses`
s+ + s-, s- - s+            ``mass``, ``edges()``        `minrisk.rows.base`
a*, S.6                     ``ClosedFormStep``           `minrisk.steps.closed_form`
argmin over f, Sec. 3       ``best_stump``               `minrisk._kernels.split`
growing, Sec. 4 steps 1-3   ``GreedyTrees``              `minrisk.learners.greedy_tree`
a_0, Eq. (3)                ``fit_intercept``            `minrisk.boosting`
==========================  ===========================  ======================================

Deviations: a* is smoothed (the paper divides by zero on separable data); a_0 is fitted by default (the paper leaves it
0); `offset="tight"`; thresholds at quantiles by default; a constant leaf stays a leaf.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from minrisk._typing import FloatArray
from minrisk.estimator import BoostedClassifier
from minrisk.validation import Choice, Flag, Number, Rule



class REBELClassifier(BoostedClassifier):
    """REBEL."""

    _rules: ClassVar[Mapping[str, Rule]] = {
        **BoostedClassifier._rules,
        "weak_learner": Choice(("stump", "tree")),
        "max_depth": Number(int, 1, 64),
        "loss": Choice(("exponential", "logistic", "squared")),
        "offset": Choice(("paper", "tight")),
        "smoothing": Number(float, 0),
        "fit_intercept": Flag(),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        n_estimators: int = 200,
        learning_rate: float = 1.0,
        weak_learner: str = "tree",
        max_depth: int = 4,
        loss: str = "exponential",
        offset: str = "paper",
        binning: str = "quantile",
        max_bins: int | None = None,
        smoothing: float = 1e-3,
        fit_intercept: bool = True,
        subsample: float = 1.0,
        max_features: float = 1.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.weak_learner = weak_learner
        self.max_depth = max_depth
        self.loss = loss
        self.offset = offset
        self.binning = binning
        self.max_bins = max_bins
        self.smoothing = smoothing
        self.fit_intercept = fit_intercept
        self.subsample = subsample
        self.max_features = max_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting import Recipe
        from minrisk.learners.greedy_tree import GreedyTrees
        from minrisk.losses.coupled import coupled_loss
        from minrisk.steps.closed_form import ClosedFormStep
        from minrisk.steps.newton import NewtonStep

        n_features = len(thresholds)
        drawn = self.max_features if isinstance(self.max_features, int) else round(self.max_features * n_features)
        return Recipe(
            loss=coupled_loss(costs, self.loss, self.offset),
            family=GreedyTrees(1 if self.weak_learner == "stump" else self.max_depth, thresholds),
            solver=ClosedFormStep() if self.loss == "exponential" else NewtonStep(),
            smoothing=self.smoothing,
            learning_rate=self.learning_rate,
            fit_intercept=bool(self.fit_intercept),
            subsample=self.subsample,
            max_features=min(max(1, drawn), n_features),
        )
