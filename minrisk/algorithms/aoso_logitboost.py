"""AOSO-LogitBoost: softmax boosting in which every node of a tree moves two classes against each other.

P. Sun, M. D. Reid and J. Zhou, "AOSO-LogitBoost: Adaptive one-vs-one LogitBoost for multi-class problem", ICML 2012,
arXiv 1110.3907.

==============================  ============================  =========================================
paper                           here                          where
==============================  ============================  =========================================
logistic loss, p                ``GuessAverseLoss("gll")``    `minrisk.losses.guess_averse`
gradient g, Hessian h           ``gradient``, ``hessian``,    rows, `minrisk._kernels.grow`
                                ``product_sums``
the pair of a node              ``PairGrowth``                `minrisk.rows.growth`
node gain g^2 / h, split gain   gain ``NEWTON``               `minrisk._kernels.grow`
node value (+t, -t)             ``PairedNewton``              `minrisk.learners.vector_tree`
==============================  ============================  =========================================

The pair of a node is chosen in time by K, as in the authors' program: r with the largest gradient, then s by the fall
of the second order. To try all pairs would take K^2. Deviations: curvatures get a share of the mean of all rows,
without which a node of few rows that are decided surely and wrongly gains any amount; no step is above 4 (there 5), and
nodes of up to five rows may be split; costs may enter the loss.
"""

from __future__ import annotations

from typing import Any

from minrisk._typing import FloatArray
from minrisk.algorithms.base import BaselineClassifier
from minrisk.algorithms.parameters import CostScale, algorithm, parameter
from minrisk.estimator.parameters import Number


@algorithm
class AOSOLogitBoostClassifier(CostScale, BaselineClassifier):
    r"""LogitBoost of vector trees: in each leaf one class's score rises as much as another's falls.

    The scores are :math:`H(x) = \sum_t h_t(x)`. Each leaf of a tree adds a number t to the score of one class r and
    takes it from that of another, s; the decision is the largest entry of H. The rounds lower

    .. math:: \frac1W \sum_n w_n \log\Big(1 + \sum_{k \ne y_n} c_{nk} \exp(H_{nk} - H_{n y_n})\Big),

    with c = 1 in the paper: minus the logarithm of the softmax at the true class.
    With the negative gradient G and the Hessian h, summed over the rows of a node, the pair of the node and the step of
    a leaf are

    .. math:: r = \arg\max_r G_r, \quad s = \arg\max_s \frac{(G_r - G_s)^2}{h_{rr} + h_{ss} - 2 h_{rs}}, \quad
       t = \frac{G_r - G_s}{h_{rr} + h_{ss} - 2 h_{rs}}.

    Parameters
    ----------
    learning_rate : float, default=0.1
        Factor on every t: shrinkage, as is usual for LogitBoost.
    smoothing : float, default=1e-3
        Curvature of phantom rows in every node, as a share of the mean over the classes of all rows' curvature.

    See Also
    --------
    GentleBoostClassifier : Newton's steps for all classes.

    Notes
    -----
    As in the paper: ``smoothing=0``, with 0/1 costs.

    With two classes there is one pair, and the difference of the scores is LogitBoost's log-odds. No step is above 4.

    References
    ----------
    .. [1] P. Sun, M. D. Reid and J. Zhou, "AOSO-LogitBoost: Adaptive one-vs-one LogitBoost for multi-class problem",
       ICML 2012, arXiv 1110.3907.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import AOSOLogitBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AOSOLogitBoostClassifier(n_estimators=50).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.94
    """

    learning_rate: float = 0.1
    max_depth: int = 3
    smoothing: float = parameter(default=1e-3, rule=Number(float, 0))

    _links = ("softmax",)

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.vector_tree import PairedNewton, PairedTrees
        from minrisk.losses.guess_averse import GuessAverseLoss

        return Recipe(
            loss=GuessAverseLoss("gll"),
            family=PairedTrees(2**self.max_depth, self.max_depth, thresholds, self.smoothing),
            solver=PairedNewton(self.smoothing),
            **self._shared(thresholds),
        )
