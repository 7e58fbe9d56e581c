"""GradBoost with l1/l2 or l1/linf regularisation: boosting of the log-loss whose stumps come and go as a whole.

J. Duchi and Y. Singer, "Boosting with structural sparsity", ICML 2009.

==============================  ============================  =========================================
paper                           here                          where
==============================  ============================  =========================================
multi-class logistic loss       ``GuessAverseLoss("gll")``    `minrisk.losses.guess_averse`
w_j in R^K, l1/l2 of W or       vectors, ``nu``, ``norm``     `minrisk.steps.penalised`
l1/linf of W
upper bound, shrinkage          ``MixedNormStep``             `minrisk.steps.penalised`
feature induction               ``LargestNormStumps``         `minrisk.learners.most_violated`
==============================  ============================  =========================================

Left open by the paper: the templates, which say what moves together. Here a round has two: the stump of the longest
edge alone, which is the induction of features, and then all learners whose vectors are not 0, this one too, which is
the pruning backwards. The bound of the curvature is that of any softmax, 1/2.
"""

from __future__ import annotations

from typing import Any

from minrisk._typing import FloatArray
from minrisk.algorithms.base import CorrectiveClassifier
from minrisk.algorithms.parameters import CostScale, algorithm, parameter
from minrisk.estimator.parameters import Choice, Number, n_drawn


@algorithm
class GradBoostClassifier(CorrectiveClassifier, CostScale):
    r"""Coordinate descent on the log-loss of stumps, with a penalty on the norm of each stump's vector.

    The scores are :math:`H(x) = \sum_t f_t(x) \, w_t` with stumps :math:`f_t(x) \in \{-1, +1\}`; the decision is the
    largest entry. The rounds lower

    .. math:: \frac1W \sum_n w_n \log\Big(1 + \sum_{k \ne y_n} c_{nk} \exp(H_{nk} - H_{n y_n})\Big) + \nu \sum_t \lVert
       w_t \rVert,

    with c = 1 in the paper and the length or the largest entry of a vector as its norm.
    Each round takes the stump along which the loss falls fastest and moves its vector to where an upper bound of the
    objective is least. Then all vectors that are not 0 move in the same way.
    The penalty makes vectors exactly 0.
    In plain words: a learner is there for all classes or for none, and one that others have made needless is dropped.

    Parameters
    ----------
    nu : float, default=1e-4
        Weight of the penalty.
    norm : {"l2", "linf"}, default="l2"
        What the penalty sums over the vectors: "l2" their lengths, "linf" the sizes of their largest entries, which
        leaves several entries of a vector as large as its largest.
    tol : float, default=1e-5
        Rounds end when the gradient of no stump is above `nu` by more than this share and the objective falls by less
        than this share. The gradient's norm is its length if `norm` is "l2", and the sum of its entries' sizes if it is
        "linf".
    keep_stages : bool, default=False
        Whether to keep the vectors of every round, T (T + 1) / 2 of them in memory and in model files.
        `staged_predict`, the other staged methods and ``model_[:t]`` then are the model after t rounds; without it they
        are the first t learners of the last model.

    Attributes
    ----------
    model_ : AdditiveModel
        The scores H. Row t of ``model_.vectors`` is w_t; many are 0: of stumps that came again, and of
        those that others have made needless.
    train_loss_ : ndarray of shape (T + 1,)
        The loss without the penalty, before round 1 and after every round.

    See Also
    --------
    MultiBoostClassifier : All vectors are optimised again in every round, with another penalty.

    Notes
    -----
    As in the paper: the defaults, with 0/1 costs and `nu` by cross-validation. It leaves open which vectors move
    together.

    Training keeps the responses of all learners.

    References
    ----------
    .. [1] J. Duchi and Y. Singer, "Boosting with structural sparsity", ICML 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import GradBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = GradBoostClassifier(n_estimators=50).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.97
    """

    nu: float = parameter(default=1e-4, rule=Number(float, 0))
    norm: str = parameter(default="l2", rule=Choice(("l2", "linf")), lasting=True)
    tol: float = parameter(default=1e-5, rule=Number(float, 0))

    _links = ("softmax",)
    _ways = ({}, {"norm": "linf"})

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.most_violated import LargestNormStumps
        from minrisk.losses.guess_averse import GuessAverseLoss
        from minrisk.steps.penalised import MixedNormStep

        return Recipe(
            loss=GuessAverseLoss("gll"),
            family=LargestNormStumps(thresholds, self.nu, self.norm, self.tol),
            solver=MixedNormStep(self.nu, self.norm),
            max_features=n_drawn(self.max_features, len(thresholds)),
        )
