"""AdaBoost.MH: every pair of a row and a label is an example, right or wrong.

R. E. Schapire and Y. Singer, "Improved boosting algorithms using confidence-rated predictions", Machine Learning 1999.

==============================  ============================  =========================================
paper                           here                          where
==============================  ============================  =========================================
D(i, l), Sec. 7                 ``hessian`` over its sum      rows
Y[l], the label or not          sign of ``gradient``          rows
W+, W- of a block, Eq. (8)      ``leaf_sums``                 `minrisk.rows.base`
c = 1/2 ln(W+ / W-), Eq. (9)    ``LeafClosedForm``            `minrisk.steps.leaf_vectors`
Z = 2 sum sqrt(W+ W-), (10)     gain ``EXACT``                `minrisk._kernels.grow`
alpha, r: Sec. 3.1              ``VoteStep``                  `minrisk.steps.leaf_vectors`
eps of Sec. 4.2                 ``smoothing``                 here
==============================  ============================  =========================================

Left open by the paper: how the blocks of the domain are found; here by trees, of which stumps are the least. With -1
and +1 the search takes the largest r, sum over blocks and labels of |W+ - W-|; where no split raises it the votes are
the same for all rows.

A deviation: eps of Sec. 4.2 is 0.001 by default and not one divided by the number of rows, so that a row of weight 2 is
the row twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from minrisk._typing import FloatArray
from minrisk.algorithms.base import BaselineClassifier
from minrisk.algorithms.parameters import algorithm, parameter
from minrisk.estimator.parameters import Choice, Number


@algorithm
class AdaBoostMHClassifier(BaselineClassifier):
    r"""AdaBoost on the K labels of every row: each is asked whether it is the right one.

    The scores are :math:`H(x) = \sum_t h_t(x)` with trees that all labels share and whose leaves hold K numbers; the
    decision is the largest entry. Each round lowers

    .. math:: \frac{1}{2W} \sum_n w_n \sum_k D_{nk} \exp(-Y_{nk} H_{nk}),

    where :math:`Y_{nk}` is 1 if k is the label of row n, and else -1. D is 1 in the paper.
    With costs, wrong labels weigh what they cost, and in place of the term of the true label every label has a term
    :math:`(\max c - c_k) \exp(-H_k)`.
    That is the loss of `REBELClassifier` with the offset "tight", of which AdaBoost.MH is the case of 0/1 costs.

    Parameters
    ----------
    response : {"real", "sign"}, default="real"
        "real" leaves the numbers of a leaf free (real AdaBoost.MH).
        "sign" makes them -1 or +1, times one rate for the tree (discrete AdaBoost.MH).
    smoothing : float, default=1e-3
        Weight of two phantom rows in every leaf for each label, as a share of what can still be lost in that label.
        The paper has one divided by the number of rows, which a row and its copies do not agree about.

    See Also
    --------
    AdaBoostMOClassifier : The same on the bits of an output code.
    GentleBoostClassifier : Newton's steps on the same loss.

    Notes
    -----
    As in the paper: ``smoothing=0``, with 0/1 costs.

    With two classes the method is real AdaBoost, and with "sign" it is AdaBoost.

    Real AdaBoost.MH of stumps on 0/1 costs is ``REBELClassifier(weak_learner="stump", fit_intercept="each round")``:
    without smoothing the two make the same scores.

    References
    ----------
    .. [1] R. E. Schapire and Y. Singer, "Improved boosting algorithms using confidence-rated predictions", Machine
       Learning 37 (1999).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import AdaBoostMHClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AdaBoostMHClassifier(n_estimators=20).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.97
    """

    response: str = parameter(default="real", rule=Choice(("real", "sign")), lasting=True)
    smoothing: float = parameter(default=1e-3, rule=Number(float, 0))

    _links: ClassVar[tuple[str, ...]] = ("sigmoid2",)
    _ways: ClassVar[tuple[Mapping[str, Any], ...]] = ({}, {"response": "sign", "max_depth": 2})

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk._kernels.grow import ABSOLUTE
        from minrisk.boosting.loop import Recipe
        from minrisk.losses.coupled import CoupledLoss
        from minrisk.steps.leaf_vectors import LeafClosedForm, VoteStep

        real = self.response == "real"
        return Recipe(
            loss=CoupledLoss("exponential", "tight"),
            family=self._trees(thresholds) if real else self._trees(thresholds, ABSOLUTE, constants=True),
            solver=LeafClosedForm() if real else VoteStep(),
            smoothing=self.smoothing,
            **self._shared(thresholds),
        )
