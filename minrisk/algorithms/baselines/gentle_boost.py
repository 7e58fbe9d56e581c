"""GentleBoost: regression of the labels under boosting weights, in place of AdaBoost's logarithms.

J. Friedman, T. Hastie and R. Tibshirani, "Additive logistic regression: a statistical view of boosting", Annals of
Statistics 2000, Algorithm 4, of two classes; its multi-class form with trees shared by all classes: A. Torralba, K. P.
Murphy and W. T. Freeman, "Sharing visual features for multiclass and multiview object detection", PAMI 2007, Sec. 3.

==============================  ============================  =========================================
papers                          here                          where
==============================  ============================  =========================================
J = sum_c E exp(-z^c H^c)       ``CoupledLoss``               `minrisk.losses.coupled`
w^c = exp(-z^c H^c)             ``mass``                      rows
weighted mean of z^c            ``LeafNewton``                `minrisk.steps.leaf_vectors`
weighted squared error          gain ``NEWTON``               `minrisk._kernels.grow`
==============================  ============================  =========================================

Left open by the papers: the trees. Here every leaf has a number for each class and all classes share the splits, which
Torralba et al. choose a subset of classes for.
"""

from __future__ import annotations

from typing import Any

from minrisk._typing import FloatArray
from minrisk.algorithms.baselines.base import BaselineClassifier


class GentleBoostClassifier(BaselineClassifier):
    """Newton's steps on AdaBoost.MH's loss, which are weighted means of the labels -1 and +1.

    H(x) = sum_t h_t(x) with a tree h_t, shared by all labels, whose leaves hold

        a_k = sum w_nk z_nk / sum w_nk,        w_nk = D_nk exp(-z_nk H_nk),

    z_nk = 1 where k is the label of row n, else -1, over the leaf's rows; the decision is the largest entry of H. The
    loss and what costs do to it are those of `AdaBoostMHClassifier`. A tree's splits lower the squared error
    sum w_nk (z_nk - a_k)^2 most.

    In plain words: where AdaBoost takes half the logarithm of the odds, which is infinite in a pure leaf, GentleBoost
    takes a step of 1 at most.

    Parameters
    ----------
    cost : optional
        As in `REBELClassifier`. Default: every mistake costs 1, the papers' case.
    n_estimators : int, default=200
        Largest number of rounds.
    max_depth : int, default=1
        Depth of the trees, which have up to 2^max_depth leaves and grow best leaf first; 1 for stumps.
    learning_rate, binning, max_bins, subsample, max_features, early_stopping, validation_fraction, n_iter_no_change, \
warm_start, n_jobs, random_state, verbose
        As in `REBELClassifier`.

    Attributes
    ----------
    classes_, decisions_, cost_, model_, n_iter_, train_loss_, train_risk_, validation_risk_, feature_importances_, \
n_features_in_
        As in `REBELClassifier`.

    Notes
    -----
    Nothing is smoothed: no step is above 1. With two classes the score of the second is GentleBoost's F.

    References
    ----------
    .. [1] J. Friedman, T. Hastie and R. Tibshirani, "Additive logistic regression: a statistical view of boosting",
       Annals of Statistics 28 (2000).
    .. [2] A. Torralba, K. P. Murphy and W. T. Freeman, "Sharing visual features for multiclass and multiview object
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

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk._kernels.grow import NEWTON
        from minrisk.boosting.loop import Recipe
        from minrisk.losses.coupled import coupled_loss
        from minrisk.steps.leaf_vectors import LeafNewton

        return Recipe(
            loss=coupled_loss(costs, "exponential", "tight"),
            family=self._trees(thresholds, NEWTON),
            solver=LeafNewton(0.0),
            **self._shared(thresholds),
        )
