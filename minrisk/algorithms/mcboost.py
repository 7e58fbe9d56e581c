"""MCBoost with guess-averse losses: GEL- and GLL-MCBoost, MCBoost, P-MCBoost, and MCBoost with L_s and L_t.

O. Beijbom, M. Saberian, D. Kriegman and N. Vasconcelos, "Guess-Averse Loss Functions For Cost-Sensitive Multiclass
Boosting", ICML 2014.

===============================  =================================  =================================
paper                            here                               where
===============================  =================================  =================================
y_k, codewords                   ``simplex_codewords``              `minrisk.losses.codes`
S_k = 1/2 <y_k, f>, Eq. (23)     ``scores``                         rows
GEL, GLL, Eq. (20), (21)         ``GuessAverseLoss``                `minrisk.losses.guess_averse`
L^(gamma, phi), Eq. (15)         ``GammaPhiLoss``                   `minrisk.losses.gamma_phi`
L_s, L_t, Eq. (12), (14)         ``GuessingLoss``                   `minrisk.losses.guess_averse`
L_MC, Eq. (22)                   GEL of 0/1 costs, plus 1           here
w^r, Eq. (34) to (37)            ``along`` at step 0                `minrisk._kernels.guess_averse`
g*, Eq. (30)                     ``aim``, ``regress``               `minrisk.rows.base`
alpha*, Eq. (31)                 ``LineSearch``                     `minrisk.steps.line_search`
posteriors, Eq. (33)             link "softmax2"                    `minrisk.model.links`
Bayes' rule, Eq. (3)             ``decision="bayes"``               `minrisk.model.links`
Algorithm 1, its two loops       ``boost``, ``Recipe.directions``   `minrisk.boosting.loop`
gradient descent, footnote 4     ``Recipe.directions``, or          `minrisk.boosting.loop`
with codeword-valued g           ``CodewordSearch``                 `minrisk.steps.line_search`
===============================  =================================  =================================

f lives in R^(K-1) and is updated as f_r += alpha g; here the scores S are, S += alpha g(x) (1/2 y^r) with y^r the r-th
coordinates of the K codewords, which is the same and needs no decoding.

Deviations: the paper's final decision argmax <y_j, f_j> is read as argmax_j <y_j, f>; (36) lacks the 1/2 of (23), which
an exact step makes up for; gradient descent has K - 1 regressors and one step, or, as Saberian and Vasconcelos (2011)
have it, one tree whose leaves are codewords, grown leaf by leaf by the slope along them (their g* exactly for stumps);
(37) is read with the indices of (14); the paper does not say which least squares fits g
(see `weighting`) nor which simplex is taken; L_MC's constant 1 is left out; stumps and trees are
extensions, whose leaves get a little weight more (`RIDGE`); no score moves by more than 18 in a step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minrisk._kernels.functions import log1p
from minrisk._typing import FloatArray
from minrisk._utils.algebra import product
from minrisk.algorithms.base import RecipeClassifier, TrainingData
from minrisk.algorithms.parameters import (
    BinParameters,
    CostScale,
    ScikitEstimator,
    StepParameters,
    algorithm,
    parameter,
)
from minrisk.estimator.parameters import Choice, Depth, SmoothFunction

if TYPE_CHECKING:
    from minrisk.learners.directed import Regression
    from minrisk.learners.vector_tree import VectorTrees
    from minrisk.losses.base import Differences
    from minrisk.rows.costs import CostFacts, RowCosts


GAMMA_PHI = "gamma-phi"  # name of the loss that has parameters
RIDGE = 1e-6  # of trees: where rows are decided surely and wrongly, hardly any curvature is left to divide by


@algorithm
class MCBoostClassifier(CostScale, RecipeClassifier, BinParameters, StepParameters):
    r"""Boosting of class scores along the coordinates of a simplex, with a loss that is averse to guessing.

    The scores are

    .. math:: S(x) = \sum_t \sum_r \alpha_{tr} \, g_{tr}(x) \, \tfrac12 y^r,

    where :math:`y^r` holds coordinate r of the K codewords, the corners of a simplex.
    A round visits each of the K - 1 coordinates. It fits a regressor g to the negative slope :math:`-w^r` of the loss
    along the coordinate, and takes the step :math:`\alpha` that minimises

    .. math:: L(S) = \frac{1}{W} \sum_n w_n \, L(C, z_n, S(x_n))

    exactly; :math:`z_n` is the class of row n.
    In plain words: the right class is to get the largest score, by a margin that grows with the cost of a mistake
    ("gll", "gel"); or the costs are left to the decision ("mc" with ``decision="bayes"``).

    Parameters
    ----------
    cost_scale : float, optional
        What costs are divided by in the losses "gll" and "gamma-phi", which depend on their size. By default they count
        as stated, as in the paper; the mean cost of a mistake makes the loss independent of their unit.
    loss : {"gll", "gel", "mc", "ls", "lt", "gamma-phi"}, default="gll"
        The loss L(C, z, S).
        The list below has the formulas.
        "gll" and "gel" are averse to guessing, "mc" knows no costs, "ls" and "lt" are not averse to guessing, and
        "gamma-phi" is made of `gamma` and `phi`.
    gamma : {"identity", "log"} or tuple of three functions, default="identity"
        The outer function of the loss "gamma-phi": v or log(1 + v).
        A tuple is another increasing function: (value, slope, curvature), each of which takes an array and works
        elementwise.
    phi : {"exponential", "logistic", "squared hinge", "squared"} or tuple of three functions, default="logistic"
        The inner function of the loss "gamma-phi": e^-v, log(1 + e^-v), max(0, 1 - v)^2 or (1 - v)^2.
        A tuple is another one, given as for `gamma`.
    decision : {"argmax", "bayes"}, default="argmax"
        "argmax" takes the largest score. "bayes" takes the least expected cost of the probabilities (Eq. 3 and 33).
        "bayes" needs a loss that estimates probabilities: "mc" (the method is then P-MCBoost), "gel" with symmetric
        costs, or "gll" with 0/1 costs.
    descent : {"coordinate", "gradient", "codewords"}, default="coordinate"
        "coordinate" visits one coordinate after the other, each with a step of its own (Algorithm 1).
        "gradient" moves all at once with a common step (footnote 4), in a fraction of the time.
        "codewords" fits one tree whose leaves answer with classes; it needs `weak_learner` "stump" or "tree".
    n_estimators : int, default=100
        Largest number of rounds. A round has K - 1 learners, and one if `descent` is "codewords".
    learning_rate : float, default=1.0
        Factor on every step. The paper uses 1.
    weak_learner : {"linear", "stump", "tree"}, default="linear"
        The regressors: g(x) = a x_j + b on one feature (as in the paper), or regression trees of depth 1 or of
        `max_depth`.
    max_depth : int, default=3
        Depth of the trees.
    estimator : regressor, optional
        A scikit-learn regressor in place of `weak_learner`, of which clones are fitted.
        They get `sample_weight` if rows weigh differently. Such a model cannot be saved to a model file.
    weighting : {"curvature", "uniform", "slope"}, default="curvature"
        The least squares that fit g.
        "curvature" is a Newton step: its target is the negative slope divided by the curvature, weighted by the
        curvature.
        "uniform" fits the negative slope itself. "slope" fits its sign, weighted by its size.

    Attributes
    ----------
    model_ : AdditiveModel
        The scores S, with the K - 1 learners of each round.
    train_loss_ : ndarray of shape (T + 1,)
        The loss L before round 1 and after every round.
    train_risk_ : ndarray of shape (T + 1,)
        Mean cost of the largest scores on the training rows, before round 1 and after every round; the share of errors
        if `loss` is "mc".
    certificate_ : Certificate or None
        ``value`` is the last entry of `train_risk_`, and the loss proves that it is at most ``bound``.
        ``claim`` says so in words. None with ``loss="gamma-phi"`` or ``decision="bayes"``, with costs that
        differ by row or that right decisions have, without rounds, and where Ctrl-C ended them.
    validation_risk_ : ndarray or None
        The same for the rows that `early_stopping` watches, before round 1 and after every round that was run; None
        without early stopping.

    See Also
    --------
    StagewiseMCBoostClassifier : Another method that its paper calls MCBoost.

    Notes
    -----
    As in the paper: ``weighting="uniform"``, and ``loss="mc", decision="bayes"`` for P-MCBoost.

    The losses, with z the class of the row, j and k running over the decisions:

    - "gll": :math:`\log(1 + \sum_j C_{zj} e^{S_j - S_z})`, Eq. (21).
    - "gel": :math:`\sum_j C_{zj} e^{S_j - S_z}`, Eq. (20). It does not see symmetric costs: the decisions at its
      minimum are then those of 0/1 costs.
    - "mc": "gel" with 0/1 costs, Eq. (22).
    - "ls": :math:`\sum_j C_{zj} e^{S_j}`, Eq. (12).
    - "lt": :math:`\sum_j \sum_k C_{zj} e^{S_j - S_k}`, Eq. (14).
    - "gamma-phi": :math:`\gamma(\sum_j C_{zj} \phi(S_z - S_j))`, Eq. (15).

    "gamma-phi" with "log" of "exponential" is "gll", and with "identity" of it "gel"; both are many times slower than
    by their own names.
    It is averse to guessing if phi(v) < phi(0) for all v > 0 (Lemma 1), which "squared" is not.
    If it is not convex, rows of negative curvature have no influence with ``weighting="curvature"``.
    A model with functions for `gamma` or `phi` cannot be saved to a model file.

    The paper says of the fit of g "weighted least square" only, so `weighting` is a choice of this package.

    References
    ----------
    .. [1] O. Beijbom, M. Saberian, D. Kriegman and N. Vasconcelos, "Guess-Averse Loss Functions For Cost-Sensitive
       Multiclass Boosting", ICML 2014.
    .. [2] M. Saberian and N. Vasconcelos, "Multiclass Boosting: Theory and Algorithms", NIPS 2011: descent by
       codewords.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import MCBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> cost = [[0, 1, 1], [1, 0, 1], [10, 10, 0]]  # class 2 must not be missed
    >>> model = MCBoostClassifier(cost, n_estimators=20).fit(X[::2], y[::2])
    >>> model.predict(X[1::2])[:5]
    array([0, 0, 0, 0, 0])
    """

    n_estimators: int = 100
    loss: str = parameter(default="gll", rule=Choice(("gll", "gel", "mc", "ls", "lt", GAMMA_PHI)), lasting=True)
    gamma: Any = parameter(default="identity", rule=SmoothFunction(("identity", "log")), lasting=True)
    phi: Any = parameter(
        default="logistic", rule=SmoothFunction(("exponential", "logistic", "squared hinge", "squared")), lasting=True
    )
    decision: str = parameter(default="argmax", rule=Choice(("argmax", "bayes")))
    descent: str = parameter(default="coordinate", rule=Choice(("coordinate", "gradient", "codewords")), lasting=True)
    weak_learner: str = parameter(default="linear", rule=Choice(("linear", "stump", "tree")), lasting=True)
    weighting: str = parameter(default="curvature", rule=Choice(("curvature", "uniform", "slope")))
    max_depth: int = parameter(default=3, rule=Depth())
    estimator: Any = parameter(default=None, rule=ScikitEstimator("regressor"), lasting=True)

    _arrays = RecipeClassifier._arrays | {"lines"}
    _links = ("softmax", "softmax2")
    _ways = (
        {},
        {"loss": "gel", "weak_learner": "tree", "descent": "gradient"},
        {"loss": "mc", "decision": "bayes", "weak_learner": "stump"},
        {"loss": "ls", "descent": "gradient"},
        {"descent": "codewords", "weak_learner": "tree"},
        {"loss": GAMMA_PHI},
        {"loss": "lt"},
        {"loss": "lt", "descent": "gradient"},
    )

    @property
    def _needs_matrix(self) -> bool:
        return self.decision == "bayes"

    # -- training ------------------------------------------------------------------------------------------------
    def _costs_in_loss(self, costs: RowCosts) -> RowCosts:
        from minrisk.rows.costs import RowCosts

        if self.loss != "mc":
            return costs
        table = 1.0 - np.eye(len(self.classes_))  # Eq. (22) has no costs: they come in with the decision
        return RowCosts(table, costs.label, costs.weight, costs.label)

    def _scale_of_costs(self) -> float | None:
        """Return the scale; None for losses that are in proportion to the costs."""
        return super()._scale_of_costs() if self.loss in ("gll", GAMMA_PHI) else None

    _claim = "the mean cost of the decisions about the training rows; what their loss proves of it"

    def _proven(self, data: TrainingData) -> tuple[float, float] | None:
        facts, loss = data.rows.cost_facts, float(self.train_loss_[-1])
        if facts.table is None or self.loss == GAMMA_PHI or self.decision != "argmax" or self.n_iter_ == 0:
            return None
        if np.any(np.diag(facts.table)):  # of right decisions the losses know no costs
            return None
        if self.loss == "gll":  # log(1 + c) >= c log(1 + m) / m for all costs c <= m
            most = float(np.max(facts.table))
            mean = loss * most / log1p(most)
        else:  # a wrong decision j has v >= c_j in Eq. (20), c_j in (12), and D c_j in (14)
            mean = loss / facts.unit / (facts.n_decisions if self.loss == "lt" else 1)
        return float(self.train_risk_[-1]), float(facts.stated(mean))

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.directed import DirectedLearners
        from minrisk.losses.codes import simplex_codewords
        from minrisk.steps.line_search import CodewordSearch, LineSearch

        loss = self._loss()
        loss.check_classes(costs.n_decisions, 0, len(costs.class_weight) - 1)  # before its codewords are asked for
        self._check_decision(loss, costs)
        codewords = simplex_codewords(costs.n_decisions)
        shared = self._shared(thresholds)
        if self.descent == "codewords":
            along = 0.5 * product(codewords, codewords.T)  # Eq. (23): scores of an f that is a codeword
            solver = CodewordSearch(along)
            return Recipe(loss=loss, family=self._trees(thresholds), solver=solver, **shared)
        along = np.ascontiguousarray(0.5 * codewords.T)  # Eq. (23)
        return Recipe(
            loss=loss,
            family=DirectedLearners(self._regression(thresholds), self.weighting),
            solver=LineSearch(),
            directions=(along,) if self.descent == "gradient" else tuple(vector[None] for vector in along),
            **shared,
        )

    def _trees(self, thresholds: tuple[FloatArray, ...]) -> VectorTrees:
        """Return trees whose leaves are codewords."""
        from minrisk._kernels.grow import CODEWORD
        from minrisk.learners.vector_tree import VectorTrees

        if self.estimator is not None or self.weak_learner == "linear":
            raise ValueError(
                "descent='codewords' needs learners whose leaves are classes: use weak_learner='stump' or 'tree' and "
                f"estimator=None, got weak_learner={self.weak_learner!r} and estimator={self.estimator!r}."
            )
        return VectorTrees(2**self._depth, thresholds, self._depth, sketch=None, gain=CODEWORD)

    def _loss(self) -> Differences:
        from minrisk.losses.guess_averse import GuessAverseLoss, GuessingLoss

        if self.loss == GAMMA_PHI:
            from minrisk.losses.gamma_phi import GammaPhiLoss, Smooth, check_gamma_phi

            check_gamma_phi(self.gamma, self.phi)
            parts = (part if isinstance(part, str) else Smooth(*part) for part in (self.gamma, self.phi))
            return GammaPhiLoss(*parts)
        if self.loss in ("ls", "lt"):
            return GuessingLoss(self.loss)
        return GuessAverseLoss("gll" if self.loss == "gll" else "gel")

    def _regression(self, thresholds: tuple[FloatArray, ...]) -> Regression:
        from minrisk.learners.directed import Lines, RegressionTrees

        if self.estimator is not None:
            from minrisk.learners.directed import ScikitRegressors

            return ScikitRegressors(self.estimator)
        if self.weak_learner == "linear":
            return Lines()
        return RegressionTrees(self._depth, thresholds, ridge=RIDGE)

    def _check_decision(self, loss: Differences, costs: CostFacts) -> None:
        """Refuse decisions that the scores cannot make."""
        if self.decision == "bayes" and (loss.link(costs) is None or self.cost_ is None):
            raise ValueError(
                f"decision='bayes' needs probabilities and a cost matrix, which loss={self.loss!r} with these costs "
                "does not give: use loss='mc' with a cost matrix, or decision='argmax'."
            )
        if self.loss == "mc" and self.decision == "argmax" and len(self.decisions_) > len(self.classes_):
            raise ValueError(
                "loss='mc' scores the classes only and would never take another decision: use decision='bayes'."
            )

    # -- prediction ------------------------------------------------------------------------------------------------
    def _expected(self, X: np.ndarray, scores: FloatArray) -> FloatArray | None:
        """Return expected costs, Eq. (3), of the decision "bayes"; else None, and the largest score decides."""
        if self.decision == "argmax":
            return None
        from minrisk.model.links import expected_costs

        assert self.cost_ is not None
        assert self.model_.link is not None
        return expected_costs(self.model_.link, scores, self.model_.temperature, self.cost_.avoidable)

    def _n_outputs(self) -> int:
        return len(self.classes_ if self.loss == "mc" else self.decisions_)

    def _gives_probabilities(self) -> bool:
        return self.loss in ("mc", "gel") or (self.loss == "gll" and self.cost is None)
