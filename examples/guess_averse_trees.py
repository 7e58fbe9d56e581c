"""Newton boosting of the guess-averse logistic loss on trees with a vector in every leaf.

O. Beijbom, M. Saberian, D. Kriegman and N. Vasconcelos, "Guess-Averse Loss Functions For Cost-Sensitive Multiclass
Boosting", ICML 2014, for the loss; J. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
Statistics 2001, Sec. 4.6, for the step.

==================================  ===============================  ====================================
paper                               here                             where
==================================  ===============================  ====================================
GLL, Eq. (21)                       ``GuessAverseLoss("gll")``       `minrisk.losses.guess_averse`
g, minus the gradient               ``gradient``                     `minrisk._kernels.guess_averse`
h, the Hessian's diagonal           ``hessian``                      `minrisk._kernels.guess_averse`
G_l, M_l, sums over a leaf          ``leaf_sums``                    `minrisk.rows.base`
a_l, Friedman's gamma_jkm           ``LeafNewton``                   `minrisk.steps.leaf_vectors`
R_jm, the leaves                    ``VectorTrees(sketch=None)``     `minrisk.learners.vector_tree`
Algorithm 6, its loop               ``boost``                        `minrisk.boosting.loop`
==================================  ===============================  ====================================

Deviations: Beijbom et al. boost along codewords and not with Newton steps; Friedman grows a tree for each class on its
gradient alone, here one tree for all of them grows by the gain of Newton steps; a_l has a ridge and is cut at 4.
"""

from __future__ import annotations

from typing import Any

from minrisk._typing import FloatArray
from minrisk.algorithms.base import RecipeClassifier
from minrisk.algorithms.parameters import BinParameters, CostScale, StepParameters, algorithm, parameter
from minrisk.estimator.parameters import Depth, Number


@algorithm
class GuessAverseTreesClassifier(CostScale, RecipeClassifier, BinParameters, StepParameters):
    """Gradient boosting with costs: one tree to a round, with a Newton step of all scores in every leaf.

    H(x) = sum_t a_tl(x) with a_tl in R^D for leaf l of tree t; the decision is the largest entry of H. The trees lower

        L(H) = 1/W sum_n w_n log(1 + sum_{k != y_n} c_nk exp(H_nk - H_ny)).

    In plain words: the right class is to get the largest score, by a margin that grows with the cost of a mistake.
    Where every mistake costs 1 this is multinomial logistic regression, and the model has probabilities.

    Parameters
    ----------
    max_leaf_nodes : int, default=16
        Largest number of leaves of a tree.
    max_depth : int, optional
        Largest depth of a tree. By default 64.
    smoothing : float, default=0.01
        Ridge of a leaf's Newton step, as a share of the curvature of all rows.

    References
    ----------
    .. [1] O. Beijbom, M. Saberian, D. Kriegman and N. Vasconcelos, "Guess-Averse Loss Functions For Cost-Sensitive
       Multiclass Boosting", ICML 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> cost = [[0, 1, 1], [1, 0, 1], [10, 10, 0]]  # class 2 must not be missed
    >>> model = GuessAverseTreesClassifier(cost, n_estimators=20).fit(X[::2], y[::2])
    >>> model.predict(X[1::2])[:5]
    array([0, 0, 0, 0, 0])
    """

    n_estimators: int = 100
    learning_rate: float = 0.3
    max_leaf_nodes: int = parameter(default=16, rule=Number(int, 2))
    max_depth: int | None = parameter(default=None, rule=Depth(optional=True))
    smoothing: float = parameter(default=0.01, rule=Number(float, 0))

    _links = ("softmax",)

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.vector_tree import VectorTrees
        from minrisk.losses.guess_averse import GuessAverseLoss
        from minrisk.steps.leaf_vectors import LeafNewton

        return Recipe(
            loss=GuessAverseLoss("gll"),
            family=VectorTrees(self.max_leaf_nodes, thresholds, max_depth=self.max_depth or 64, sketch=None),
            solver=LeafNewton(self.smoothing),
            smoothing=self.smoothing,
            **self._shared(thresholds),
        )
