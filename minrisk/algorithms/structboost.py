"""StructBoost with cost margins: totally corrective boosting of the structured hinge loss by columns and planes.

C. Shen, G. Lin and A. van den Hengel, "StructBoost: boosting methods for predicting structured output variables", IEEE
PAMI 2014 (arXiv 1302.3283), its multi-class case, with hierarchical classification for a cost margin.

====================================  ============================  =========================================
paper                                 here                          where
====================================  ============================  =========================================
Gamma(y), orthogonal codes of length  one score for each class      rows
k; Psi(x, y) = Phi(x) outer Gamma(y)
w >= 0; C                             W; 1 / ``nu``                 here
Delta(y_i, y), xi_i                   costs, ``StructuredHinge``    `minrisk.losses.guess_averse`
1-slack cutting planes                ``Bundle``                    `minrisk.steps.cutting_planes`
mu_(i,y)                              ``weigh_planes``              `minrisk.rows.pairs.PlaneRows`
psi*, the most violated constraint    ``DualTrees``                 `minrisk.learners.most_violated`
of the dual; column generation
====================================  ============================  =========================================

Deviations: the objective is divided by C, so that it is in the units of the costs; rows have weights; each linear
program over the planes has a proximal term, which changes the way to its solution and not the solution; a round begins
with new planes and not with those of the round before, so that a fit can be gone on with; rounds end by the duality
gap, relative to the objective, and not by a violation.
"""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import ConvergenceWarning

from minrisk._typing import FloatArray
from minrisk._utils import warn_caller
from minrisk.algorithms.base import CorrectiveClassifier, TrainingData
from minrisk.algorithms.parameters import CostScale, algorithm, parameter
from minrisk.estimator.parameters import Choice, Depth, Number, n_drawn

UNFINISHED = (
    "{name} has made all of its {rounds} rounds, and {gap:.2g} of its objective may still be too much, where "
    "tol={tol:g} asks for less: try more n_estimators, more solver_iterations, or a larger tol if that is near enough."
)
MOST_CUTS = 10_000  # planes of half a round, at most: more than a step ever wants, and they are kept in memory


@algorithm
class StructBoostClassifier(CorrectiveClassifier, CostScale):
    r"""Large-margin boosting: the true class is to win against every other by what that mistake costs.

    The scores are :math:`H(x) = \sum_t h_t(x) \, w_t` with :math:`h_t(x) \in \{-1, +1\}` and :math:`w_t \ge 0`; the
    decision is the largest entry. The rounds solve

    .. math:: \min_{W, \, \xi \ge 0} \; \nu \lVert W \rVert_1 + \frac1N \sum_i s_i \xi_i, \qquad
       H_{y_i}(x_i) - H_k(x_i) \ge c_{ik} - \xi_i \quad \text{for all } k \ne y_i.

    W holds all vectors :math:`w_t`, :math:`s_i` is the sample weight of row i, N is the sum of the weights, and
    :math:`c_{ik}` is what deciding k costs row i.
    The slack :math:`\xi_i` is no less than what the decision costs.
    Each round takes the learner and the class whose dual constraint is violated most, and solves for all of W again.
    In plain words: what counts is the worst rival of each row, by a margin that is the price of the mistake. Rows whose
    margins are wide enough do not count at all.

    Parameters
    ----------
    nu : float, default=3e-3
        Weight of the penalty; the paper's 1 / C, which it chooses by cross-validation.
        The number of rows does not matter to it, the size of costs does. Large values learn nothing: with 0/1 costs
        from about 0.1 to 1 on.
    n_estimators : int, default=200
        Largest number of rounds. A warning says if they were too few for `tol`.
    tol : float, default=1e-3
        Rounds end when the objective is above the least possible one, over all learners, by no more than this share.
    solver_iterations : int, default=20
        Number of cutting planes that are sought at a time: before the learner of a round is chosen, again as long as
        that is one of the model, and after it. More of them solve for W more exactly, in longer rounds.
    weak_learner : {"stump", "tree"}, default="stump"
        The learners: trees of depth 1, or of `max_depth`.
    max_depth : int, default=3
        Depth of the trees.

    Attributes
    ----------
    decisions_ : ndarray of shape (K,)
        What `predict` may return: the classes.
    model_ : AdditiveModel
        The scores H. Row t of ``model_.vectors`` is w_t; many vectors, and most of their entries, are 0.
    train_loss_ : ndarray of shape (T + 1,)
        Mean slack, without the penalty, before round 1 and after every round. It may rise from round to round, or stay
        as it is.
    certificate_ : Certificate or None
        ``bound`` is the objective of the model, and it is proven that no vectors of any stumps have one below
        ``value``; of deeper trees, of any that the search finds. If the rounds ended by themselves, the two differ by
        no more than the share `tol` of ``bound``. None if Ctrl-C ended them.

    See Also
    --------
    MultiBoostClassifier : All other classes count, by a smooth loss of every margin.

    Notes
    -----
    As in the paper: ``tol=1e-7, solver_iterations=100``, with 0/1 costs or those of a taxonomy and `nu` by
    cross-validation.

    The problem is a linear program. Its cutting planes are sums over all rows. Training keeps, for each plane, the
    decision that each row has chosen (two bytes for each row and plane), and the responses of all learners.

    There are no probabilities: the minimiser of this loss says which class is the best, not how likely it is. If no
    class is likely enough, all scores may be alike.

    With 0/1 costs and two classes the method is LPBoost. In the paper c is 1, or the distance in a hierarchy of
    classes.

    References
    ----------
    .. [1] C. Shen, G. Lin and A. van den Hengel, "StructBoost: boosting methods for predicting structured output
       variables", IEEE PAMI 2014, arXiv 1302.3283.
    .. [2] T. Joachims, T. Finley and C.-N. Yu, "Cutting-plane training of structural SVMs", Machine Learning 2009.
    .. [3] A. Demiriz, K. Bennett and J. Shawe-Taylor, "Linear programming boosting via column generation", Machine
       Learning 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import StructBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = StructBoostClassifier().fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.97
    """

    nu: float = parameter(default=3e-3, rule=Number(float, 0))
    tol: float = parameter(default=1e-3, rule=Number(float, 0))
    solver_iterations: int = parameter(default=20, rule=Number(int, 1, MOST_CUTS))
    weak_learner: str = parameter(default="stump", rule=Choice(("stump", "tree")), lasting=True)
    max_depth: int = parameter(default=3, rule=Depth())

    _claim = "the least objective of any vectors of any learners that the search finds; that of the model"

    def _proven(self, data: TrainingData) -> tuple[float, float] | None:
        value, bound = self._objective(data)
        gap = 1.0 - value / bound if bound > 0.0 else 0.0
        if self.n_iter_ == self.n_estimators and data.validation is None and gap > self.tol:
            message = UNFINISHED.format(name=type(self).__name__, rounds=self.n_iter_, gap=gap, tol=self.tol)
            warn_caller(message, ConvergenceWarning)
        return value, bound

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.most_violated import DualTrees
        from minrisk.losses.guess_averse import StructuredHinge
        from minrisk.steps.cutting_planes import CuttingPlaneStep

        self._check_decisions()
        return Recipe(
            loss=StructuredHinge(),
            family=DualTrees(self._depth, thresholds, self.nu, self.tol),
            solver=CuttingPlaneStep(self.nu, self.solver_iterations, self.tol),
            max_features=n_drawn(self.max_features, len(thresholds)),
            dual=True,
        )
