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
w^c = exp(-z^c H^c)             ``hessian``                   rows
weighted mean of z^c            ``LeafNewton``                `minrisk.steps.leaf_vectors`
weighted squared error          gain ``NEWTON``               `minrisk._kernels.grow`
exp(-f_y), sum f = 0            ``OwnScoreLoss``              `minrisk.losses.codes`
w z^2, 1 / z                    ``aim(.., "curvature")``      `minrisk.rows.base`
==============================  ============================  =========================================

Left open by the papers: the trees. With "labels" every leaf has a number for each class and all classes share the
splits, which Torralba et al. choose a subset of classes for; with "margin" each class has a tree of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minrisk._typing import FloatArray
from minrisk.algorithms.base import BaselineClassifier
from minrisk.algorithms.parameters import algorithm, parameter
from minrisk.estimator.parameters import Choice
from minrisk.rows.costs import CostFacts


@algorithm
class GentleBoostClassifier(BaselineClassifier):
    r"""Newton's steps on the loss of AdaBoost.MH, which are weighted means of the labels -1 and +1.

    The scores are :math:`H(x) = \sum_t h_t(x)` with trees that all labels share and whose leaves hold

    .. math:: a_k = \frac{\sum_n w_{nk} z_{nk}}{\sum_n w_{nk}}, \qquad w_{nk} = D_{nk} \exp(-z_{nk} H_{nk}).

    The sums are over the rows of the leaf, and :math:`z_{nk}` is 1 if k is the label of row n, and else -1.
    The decision is the largest entry of H. The loss, also with costs, is that of `AdaBoostMHClassifier`.
    In plain words: AdaBoost takes half the logarithm of the odds, which is infinite in a pure leaf; GentleBoost takes a
    step of 1 at most.

    Parameters
    ----------
    variant : {"labels", "margin"}, default="labels"
        "labels" lowers the loss of every label, with one tree in each round.
        "margin" lowers that of the true class's margin, with a tree for each class; it knows no costs.

    See Also
    --------
    AdaBoostMHClassifier : Logarithms on the same loss.
    AOSOLogitBoostClassifier : Newton's steps for pairs of classes, on the log-loss.

    Notes
    -----
    As in the papers: the defaults with 0/1 costs for "labels", and ``variant="margin"``.

    With ``variant="margin"`` the loss is

    .. math:: \frac1W \sum_n w_n v_n, \qquad v_n = \exp\big(-(H_{n y_n} - \overline{H_n})\big).

    In each round every class k gets a tree, fitted by least squares to :math:`1 / z_{nk}` with weights :math:`v_n
    z_{nk}^2`. Here :math:`z_{nk}` is 1 - 1 / K if k is the class of row n, and else -1 / K.
    Costs change no learner of this variant. They judge its decisions, as do `early_stopping` and the warning that they
    cost more than one decision for all rows.
    Rounds end if the steps of all classes together do not lower the loss.

    Nothing is smoothed: no step is above 1, and none above K with "margin".
    With two classes the score of the second is GentleBoost's F.

    References
    ----------
    .. [1] J. Friedman, T. Hastie and R. Tibshirani, "Additive logistic regression: a statistical view of boosting",
       Annals of Statistics 28 (2000), Algorithm 4.
    .. [2] H. Zou, J. Zhu and T. Hastie, "New multicategory boosting algorithms based on multicategory Fisher-consistent
       losses", Annals of Applied Statistics 2 (2008): "margin".
    .. [3] A. Torralba, K. P. Murphy and W. T. Freeman, "Sharing visual features for multiclass and multiview object
       detection", PAMI 29 (2007): "labels".

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import GentleBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = GentleBoostClassifier(n_estimators=20).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.97
    """

    variant: str = parameter(default="labels", rule=Choice(("labels", "margin")), lasting=True)

    _links = ("sigmoid2", "softmax")
    _ways = ({"max_depth": 2}, {"variant": "margin"})

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
        from minrisk.losses.codes import OwnScoreLoss
        from minrisk.steps.line_search import UnitStep

        return Recipe(
            loss=OwnScoreLoss(centred=True),
            family=DirectedLearners(RegressionTrees(self.max_depth, thresholds), "curvature"),
            solver=UnitStep(),
            directions=(np.eye(costs.n_decisions),),
            **self._shared(thresholds),
        )
