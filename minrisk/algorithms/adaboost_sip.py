"""AdaBoost.SIP: the partition of the classes is found together with the learner that tells its sides apart.

B. Zhang, G. Ye, Y. Wang, J. Xu and G. Herman, "Finding shareable informative patterns and optimal coding matrix for
multiclass boosting", ICCV 2009. Its text was not at hand. Its abstract says that patterns are sought that classes
share; that the partition of the classes that a pattern prefers is found by stage-wise functional gradient descent on a
cost of margins; and that learners and columns of the coding matrix are optimised together, by the largest negative
gradient. What follows is our reading of that, on the loss of AdaBoost.ECC, which names no other:

==============================  ============================  =========================================
abstract                        here                          where
==============================  ============================  =========================================
cost of margins                 ``GuessAverseLoss("gel")``    `minrisk.losses.guess_averse`
pattern h in {-1, +1}           a stump, or a tree of signs   `minrisk.learners.greedy_tree`
negative gradient               1/2 sum_k mu_k E_k(h)         `minrisk.learners.coloured`
preferred partition mu          sign E_k(h)                   `minrisk.learners.coloured`
largest of it, of h and mu      ``ABSOLUTE_EDGE_GAIN``        `minrisk._kernels.split`
step along h mu                 ``PartitionStep``             `minrisk.learners.coloured`
==============================  ============================  =========================================

With F = 1/2 sum_t g_t h_t mu_t, along one more h mu the loss sum_n sum_{k != y} exp(F_nk - F_ny) falls at first by
1/2 sum_k mu_k E_k(h), E_k(h) = sum_n h(x_n) e_nk, e minus the gradient. For given h no mu in {-1, +1}^K does better
than sign E_k, which leaves sum_k |E_k(h)| to be maximised over h: for stumps exactly, by one histogram. (The gain
``ABSOLUTE`` of `minrisk._kernels.grow` is another one: there each side would have a partition of its own.)

Ours as well: the step, one g for both answers of h, at the minimum of the loss; smoothing; trees, which the abstract
does not mention; and the search over all stumps of all features, where the paper has patterns of its images.
"""

from __future__ import annotations

from typing import Any

from minrisk._typing import FloatArray
from minrisk.algorithms.base import BaselineClassifier
from minrisk.algorithms.parameters import algorithm, parameter
from minrisk.estimator.parameters import Number


@algorithm
class AdaBoostSIPClassifier(BaselineClassifier):
    r"""Boosting of binary learners, each with the partition of the classes that it separates best.

    The scores are

    .. math:: H(x) = \frac12 \sum_t g_t \, h_t(x) \, \mu_t, \qquad h_t(x) \in \{-1, +1\}, \quad \mu_t \in \{-1, +1\}^K,

    with learners :math:`h_t` and partitions :math:`\mu_t`; the decision is the largest entry. The rounds lower

    .. math:: \frac1W \sum_n w_n \sum_{k \ne y_n} c_{nk} \exp(H_{nk} - H_{n y_n}),

    with c = 1 in the paper. Among all stumps and all partitions, the pair is taken along which the loss falls fastest.
    In plain words: AdaBoost.ECC draws two groups of classes and then asks how to tell them apart.
    Here every question is asked which groups it tells apart, and the best one is kept.

    Parameters
    ----------
    max_depth : int, default=1
        Depth of the trees; 1 makes stumps.
        A tree is deepened layer by layer for the partition of its stump, and then gets the partition that fits the
        whole tree.
    smoothing : float, default=1e-3
        Weight of phantom rows on either side of a learner, as a share of the weight of all rows.

    Attributes
    ----------
    model_ : AdditiveModel
        The scores H. The signs of row t of ``model_.vectors`` are mu_t.

    See Also
    --------
    AdaBoostECCClassifier : Partitions are drawn.
    StagewiseMCBoostClassifier : Any vectors in place of partitions.

    Notes
    -----
    As in the abstract of the paper: ``smoothing=0``, with 0/1 costs and stumps.

    With two classes there is one partition, and the method is AdaBoost of stumps.
    The loss is that of ``MCBoostClassifier(loss="gel")``.

    The implementation follows the abstract of the paper. The step, the smoothing, the trees and the search over all
    stumps are choices of this package.

    References
    ----------
    .. [1] B. Zhang, G. Ye, Y. Wang, J. Xu and G. Herman, "Finding shareable informative patterns and optimal coding
       matrix for multiclass boosting", ICCV 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import AdaBoostSIPClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AdaBoostSIPClassifier(n_estimators=30).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.98
    """

    smoothing: float = parameter(default=1e-3, rule=Number(float, 0))

    _links = ("softmax2",)
    _ways = ({"max_depth": 2}, {"max_depth": 1})

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.coloured import PartitionStep, SharedPatterns
        from minrisk.losses.guess_averse import GuessAverseLoss

        return Recipe(
            loss=GuessAverseLoss("gel"),
            family=SharedPatterns(self.max_depth, thresholds),
            solver=PartitionStep(self.smoothing),
            **self._shared(thresholds),
        )
