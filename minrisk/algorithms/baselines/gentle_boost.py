"""GentleBoost: regression of the labels under boosting weights, in place of AdaBoost's logarithms.

J. Friedman, T. Hastie and R. Tibshirani, "Additive logistic regression: a statistical view of boosting", Annals of
Statistics 2000, Algorithm 4, of two classes. Of more there are two:

- "labels": A. Torralba, K. P. Murphy and W. T. Freeman, "Sharing visual features for multiclass and multiview object
  detection", PAMI 2007;
- "margin": H. Zou, J. Zhu and T. Hastie, "New multicategory boosting algorithms based on multicategory
  Fisher-consistent losses", Annals of Applied Statistics 2008, which PIBoost's paper compares with.

==============================  ============================  =========================================
papers                          here                          where
==============================  ============================  =========================================
J = sum_c E exp(-z^c H^c)       ``CoupledLoss``               `minrisk.losses.coupled`
w^c = exp(-z^c H^c)             ``mass``                      rows
weighted mean of z^c            ``LeafNewton``                `minrisk.steps.leaf_vectors`
weighted squared error          gain ``NEWTON``               `minrisk._kernels.grow`
exp(-f_y), sum f = 0            ``OwnScoreLoss``              `minrisk.losses.own_score`
w z^2, 1 / z                    ``aim(.., "curvature")``      `minrisk.rows.base`
==============================  ============================  =========================================

Left open by the papers: the trees. With "labels" every leaf has a number for each class and all classes share the
splits, which Torralba et al. choose a subset of classes for; with "margin" each class has a tree of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from minrisk._typing import FloatArray
from minrisk.algorithms.baselines.base import BaselineClassifier
from minrisk.rows.costs import CostFacts
from minrisk.validation import Choice, Rule


class GentleBoostClassifier(BaselineClassifier):
    """Newton's steps on AdaBoost.MH's loss, which are weighted means of the labels -1 and +1.

    H(x) = sum_t h_t(x) with a tree h_t, shared by all labels, whose leaves hold

        a_k = sum w_nk z_nk / sum w_nk,        w_nk = D_nk exp(-z_nk H_nk),

    z_nk = 1 where k is the label of row n, else -1, over the leaf's rows; the decision is the largest entry of H. The
    loss and what costs do to it are those of `AdaBoostMHClassifier`. A tree's splits lower the squared error
    sum w_nk (z_nk - a_k)^2 most.

    With ``variant="margin"`` the loss is 1 / W sum_n w_n exp(-(H_ny - mean of H_n)), and in each round every class k
    gets a tree, fitted to 1 / z_nk with weights v_n z_nk^2 by least squares, v_n the row's loss and z_nk = 1 - 1 / K at
    its class, else -1 / K: Newton's steps, one for each score. This loss knows no costs.

    In plain words: where AdaBoost takes half the logarithm of the odds, which is infinite in a pure leaf, GentleBoost
    takes a step of 1 at most.

    Parameters
    ----------
    cost : optional
        As in `REBELClassifier`. Default: every mistake costs 1, the papers' case. With "margin"
        they change no learner: decisions are judged by them, and where these cost more than the cheapest decision for
        all rows, that decision is the model.
    variant : {"labels", "margin"}, default="labels"
        The loss of every label and one tree a round, or that of the true class's margin and a tree for each class.
    n_estimators : int, default=200
        Largest number of rounds.
    max_depth : int, default=1
        Depth of the trees, which have up to 2^max_depth leaves and grow best leaf first; 1 for stumps.
    learning_rate, binning, max_bins, subsample, max_features, early_stopping, validation_fraction, n_iter_no_change, \
warm_start, class_weight, categorical_features, n_jobs, random_state, verbose
        As in `REBELClassifier`.

    Attributes
    ----------
    classes_, decisions_, cost_, model_, n_iter_, train_loss_, train_risk_, validation_risk_, feature_importances_, \
n_features_in_
        As in `REBELClassifier`.

    Notes
    -----
    Nothing is smoothed: no step is above 1, with "margin" above K. With two classes the score of the second is
    GentleBoost's F. With "margin" rounds end where the steps of all classes together do not lower the loss.

    References
    ----------
    .. [1] J. Friedman, T. Hastie and R. Tibshirani, "Additive logistic regression: a statistical view of boosting",
       Annals of Statistics 28 (2000).
    .. [2] H. Zou, J. Zhu and T. Hastie, "New multicategory boosting algorithms based on multicategory Fisher-consistent
       losses", Annals of Applied Statistics 2 (2008).
    .. [3] A. Torralba, K. P. Murphy and W. T. Freeman, "Sharing visual features for multiclass and multiview object
       detection", PAMI 29 (2007).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import GentleBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = GentleBoostClassifier(n_estimators=20).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.97
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        **BaselineClassifier._rules,
        "variant": Choice(("labels", "margin")),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        variant: str = "labels",
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
        super().__init__(
            cost, n_estimators=n_estimators, learning_rate=learning_rate, max_depth=max_depth, binning=binning,
            max_bins=max_bins, subsample=subsample, max_features=max_features, early_stopping=early_stopping,
            validation_fraction=validation_fraction, n_iter_no_change=n_iter_no_change, warm_start=warm_start,
            class_weight=class_weight, categorical_features=categorical_features, n_jobs=n_jobs,
            random_state=random_state, verbose=verbose,
        )  # fmt: skip
        self.variant = variant

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk._kernels.grow import NEWTON
        from minrisk.boosting.loop import Recipe
        from minrisk.losses.coupled import CoupledLoss
        from minrisk.steps.leaf_vectors import LeafNewton

        if self.variant == "margin":
            return self._margin_recipe(costs, thresholds)
        return Recipe(
            loss=CoupledLoss("exponential", "tight"),
            family=self._trees(thresholds, NEWTON),
            solver=LeafNewton(0.0),
            **self._shared(thresholds),
        )

    def _margin_recipe(self, costs: CostFacts, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.directed import DirectedLearners, RegressionTrees
        from minrisk.losses.own_score import OwnScoreLoss
        from minrisk.steps.line_search import UnitStep

        return Recipe(
            loss=OwnScoreLoss(centred=True),
            family=DirectedLearners(RegressionTrees(self.max_depth, thresholds), "curvature"),
            solver=UnitStep(),
            directions=(np.eye(costs.n_decisions),),
            **self._shared(thresholds),
        )
