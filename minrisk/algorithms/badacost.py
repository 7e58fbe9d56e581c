"""BAdaCost: multi-class boosting with costs, of multi-class trees.

A. Fernandez-Baldera, J. M. Buenaposada and L. Baumela, "BAdaCost: Multi-class boosting with costs", Pattern Recognition
2018, arXiv 2402.04465.

==============================  ============================  =========================================
paper                           here                          where
==============================  ============================  =========================================
C* = C - diag(row sums)         ``starred``                   here
Y, margin vectors               ``separators``                `minrisk.model.codes`
loss exp(C*_y f), CMEL          ``OwnScoreLoss``              `minrisk.losses.codes`
-C*_k f                         ``scores``                    rows
S_lk, beta                      ``CodewordStep``              `minrisk.steps.leaf_vectors`
T                               ``VectorTrees``               `minrisk.learners.vector_tree`
==============================  ============================  =========================================

The model holds the scores H_k = -C*_k f in place of f, so that the decision argmin_k C*_k f is the largest score and
the loss exp(-H_y). A tree that answers k adds -beta C* Y_k.

Left open by the paper: how T is found. Here trees are grown by Gini's impurity under the boosting weights, and leaves
answer what lowers the loss most, first at beta = 0 and then, in turns with beta, at the beta found, until no answer
changes (the authors' program has the loss at beta = 1, of costs whose largest is 1). Deviations: no score moves by more
than 18 in a round, and phantom rows keep beta from being infinite where a tree decides all rows rightly; costs of
right decisions are taken off first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minrisk._typing import FloatArray
from minrisk._utils.algebra import product
from minrisk.algorithms.base import RecipeClassifier
from minrisk.algorithms.parameters import BinParameters, StepParameters, algorithm, parameter
from minrisk.estimator.parameters import Depth, Number

if TYPE_CHECKING:
    from minrisk.rows.costs import CostFacts


@algorithm
class BAdaCostClassifier(RecipeClassifier, BinParameters, StepParameters):
    r"""AdaBoost of multi-class trees whose margins are weighed by a cost matrix; with 0/1 costs it is SAMME.

    A margin vector :math:`Y_k` is 1 at class k and -1 / (K - 1) elsewhere, and :math:`C^* = C - \mathrm{diag}(\text{row
    sums of } C)`.
    Trees :math:`T_t` answer with classes and vote by

    .. math:: f(x) = \sum_t \beta_t \, Y_{T_t(x)}, \qquad \text{and the decision is } \arg\min_k C^*_k f(x).

    With :math:`C^*_y` the row of the true class, the rounds lower

    .. math:: \frac1W \sum_n w_n \exp\big(C^*_{y_n} f(x_n)\big).

    In plain words: a vote for the right class lowers the weight of a row by all that its mistakes may cost, and a vote
    for a wrong one raises it by about what that mistake costs.

    Parameters
    ----------
    cost : array-like of shape (K, K), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        What each decision costs for each true class: rows are true classes, columns are decisions.
        A table without labels has its rows and columns in the order of `classes_`, which is sorted.
        By default every mistake costs 1.
    learning_rate : float, default=1.0
        Factor on every beta_t. The paper's experiments use less.
    max_depth : int, default=3
        Depth of the trees, which have up to 2^max_depth leaves.
    smoothing : float, default=1e-3
        Weight of phantom rows, as a share of the loss, spread evenly over the pairs of a class and an answer.
        It keeps beta finite if a tree decides every row rightly.

    Attributes
    ----------
    decisions_ : ndarray of shape (K,)
        What `predict` may return: the classes.
    cost_ : CostMatrix
        Costs of the fit.
    model_ : AdditiveModel
        The scores H = -C* f, with C* of the costs divided by their largest.

    See Also
    --------
    REBELClassifier : Its loss is least where the expected cost is least.

    Notes
    -----
    As in the paper: ``smoothing=0``.

    Costs for each row and decisions that are no class are refused, because the decision needs C*.

    *SAMME.* With 0/1 costs and no smoothing, H = K f, and a round adds alpha (1[k = T(x)] - 1 / K) to score k. Here
    alpha = ln((1 - e) / e) + ln(K - 1) is SAMME's, with e the weighted share of errors; beta is (K - 1) / K^2 alpha.
    `predict_proba` is then the softmax of H.

    *What the loss is least at.* Let u > 0 be the vector with u C* = 0; up to a factor it is the one with sum_l u_l C_lk
    = u_k sum_j C_kj.
    The loss is least at H_k = ln(p_k / u_k) + const, so that the decision is the class of the largest p_k / u_k.
    For symmetric costs u is constant: the decision is then the most probable class, whatever the costs say.
    For other costs of three or more classes it is not always the decision of least expected cost either; for two
    classes it is.

    References
    ----------
    .. [1] A. Fernandez-Baldera, J. M. Buenaposada and L. Baumela, "BAdaCost: Multi-class boosting with costs", Pattern
       Recognition 79 (2018), arXiv 2402.04465.
    .. [2] J. Zhu, H. Zou, S. Rosset and T. Hastie, "Multi-class AdaBoost", Statistics and Its Interface 2 (2009).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import BAdaCostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> cost = [[0, 1, 1], [1, 0, 1], [10, 10, 0]]  # class 2 must not be missed
    >>> model = BAdaCostClassifier(cost, n_estimators=20, max_depth=1).fit(X[::2], y[::2])
    >>> model.predict(X[1::2])[:5]
    array([0, 0, 0, 0, 0])
    """

    max_depth: int = parameter(default=3, rule=Depth())
    smoothing: float = parameter(default=1e-3, rule=Number(float, 0))

    _links = ("softmax",)
    _needs_matrix = True

    # -- training ------------------------------------------------------------------------------------------------
    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk._kernels.grow import GINI
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.vector_tree import VectorTrees
        from minrisk.losses.codes import OwnScoreLoss
        from minrisk.steps.leaf_vectors import CodewordStep

        self._check_matrix()
        return Recipe(
            loss=OwnScoreLoss(centred=False),
            family=VectorTrees(2**self.max_depth, thresholds, self.max_depth, sketch=None, gain=GINI),
            solver=CodewordStep(codewords(costs)),
            smoothing=self.smoothing,
            **self._shared(thresholds),
        )

    def _check_matrix(self) -> None:
        """Refuse costs without a C*."""
        if self.cost_ is None:
            raise ValueError(
                "BAdaCostClassifier decides by a cost matrix, which costs per row are not: pass a matrix, or train "
                "with REBELClassifier."
            )
        self._check_classes_only("has a margin vector for each class", "REBELClassifier")


def starred(table: FloatArray) -> FloatArray:
    """Return C* of a cost matrix (K, K), over its largest cost; what a right decision costs is taken for 0."""
    C = np.array(table)
    np.fill_diagonal(C, 0.0)
    C /= C.max() or 1.0
    np.fill_diagonal(C, -C.sum(axis=1))
    return C


def codewords(costs: CostFacts) -> FloatArray:
    """Return what a vote adds to the scores: row k is -C* Y_k, (K, K)."""
    from minrisk.model.codes import separators

    assert costs.table is not None  # as checked
    K = len(costs.table)
    return np.ascontiguousarray(-product(starred(costs.table), separators([[k] for k in range(K)], K).words.T).T)
