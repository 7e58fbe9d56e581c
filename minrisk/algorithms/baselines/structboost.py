"""StructBoost with cost margins: totally corrective boosting of the structured hinge loss by columns and planes.

C. Shen, G. Lin and A. van den Hengel, "StructBoost: boosting methods for predicting structured output variables", IEEE
PAMI 2014 (arXiv 1302.3283), its multi-class case, with hierarchical classification for a cost margin.

====================================  ============================  =========================================
paper                                 here                          where
====================================  ============================  =========================================
Gamma(y), orthogonal codes of length  one score for each class      rows
k; Psi(x, y) = Phi(x) outer Gamma(y)
w >= 0; C                             W; 1 / ``nu``                 here
Delta(y_i, y), xi_i                   costs, ``StructuredHinge``    `minrisk.losses.structured`
1-slack cutting planes                ``Bundle``                    `minrisk.steps.cutting_planes`
mu_(i,y)                              ``weigh_planes``              `minrisk.rows.base.PlaneRows`
psi*, the most violated constraint    ``DualTrees``                 `minrisk.learners.dual_trees`
of the dual; column generation
====================================  ============================  =========================================

Deviations: the objective is divided by C, so that it is in the units of the costs; rows have weights; each linear
program over the planes has a proximal term, which changes the way to its solution and not the solution; a round begins
with new planes and not with those of the round before, so that a fit can be gone on with; rounds end by the duality
gap, relative to the objective, and not by a violation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from minrisk._typing import FloatArray
from minrisk.algorithms.base import RecipeClassifier
from minrisk.algorithms.stagewise import CORRECTIVE_RULES, check_decisions
from minrisk.validation import Choice, Depth, Number, Rule, n_drawn

MOST_CUTS = 10_000  # planes of half a round, at most: more than a step ever wants, and they are kept in memory


class StructBoostClassifier(RecipeClassifier):
    """Large-margin boosting: the true class is to win against every other by what that mistake costs.

    H(x) = sum_t h_t(x) w_t with h_t(x) in {-1, +1} and w_t >= 0; the decision is the largest entry. The rounds solve

        min over W, xi >= 0 of  nu |W|_1 + 1 / N sum_i s_i xi_i,     H_y(x_i) - H_k(x_i) >= c_ik - xi_i for all k != y,

    W all vectors w_t, s_i the rows' sample weights and N their sum, c_ik what deciding k costs row i (1 in the paper's
    plain multi-class case, the distance in a hierarchy in its structured one), in units in which a factor on all costs
    changes nothing. The slack xi_i is no less than what the decision costs. Each
    round takes the learner and the class whose dual constraint is violated most, and solves for all of W anew.

    In plain words: what counts is the worst rival of each row, by a margin that is the price of the mistake. Rows whose
    margins are wide enough do not count at all. With 0/1 costs and two classes this is LPBoost.

    Parameters
    ----------
    cost : optional
        As in `REBELClassifier`. Default: every mistake costs 1.
    nu : float, default=3e-3
        Weight of |W|_1, the paper's 1 / C, of which it leaves the choice to cross-validation. The costs' unit and the
        number of rows do not matter to it. Where few learners lower the loss by more than it, nothing is learnt:
        with 0/1 costs from about 0.1 to 1 on.
    n_estimators : int, default=200
        Largest number of rounds.
    tol : float, default=1e-3
        Rounds end when the objective is above the least possible one, over all learners, by no more than this share,
        which the duality gap says.
    solver_iterations : int, default=20
        Cutting planes that are sought before the learner of a round is chosen, and as many after it, at most. More of
        them solve for W more exactly, in longer rounds; what is left undone the next round goes on with.
    weak_learner : {"stump", "tree"}, default="stump"
        Trees of depth 1, or of `max_depth`.
    max_depth : int, default=3
        Depth of trees.
    binning, max_bins, max_features
        As in `REBELClassifier`.
    early_stopping, validation_fraction, n_iter_no_change, keep_stages, warm_start
        As in `MultiBoostClassifier`.
    class_weight, categorical_features, n_jobs, random_state, verbose
        As in `REBELClassifier`.

    Attributes
    ----------
    classes_, decisions_, cost_, model_, n_iter_, train_risk_, validation_risk_, feature_importances_, n_features_in_
        As in `MultiBoostClassifier`. Many vectors, and most of their entries, are 0.
    train_loss_ : ndarray of shape (n_iter_ + 1,)
        Mean slack, without the penalty, before round 1 and after every round. It may rise from round to round, or stay
        as it is.

    Notes
    -----
    The problem is a linear program. Its cutting planes are sums over all rows, of which training keeps the decision
    that each row has chosen (two bytes for each row and plane) beside the responses of all learners. There are no
    probabilities: the minimiser of this loss says which class is the best, not how likely it is, and where no class
    is likely enough all scores may be alike.

    See Also
    --------
    MultiBoostClassifier : All other classes count, by a smooth loss of every margin.

    References
    ----------
    .. [1] C. Shen, G. Lin and A. van den Hengel, "StructBoost: boosting methods for predicting structured output
       variables", IEEE PAMI 2014.
    .. [2] T. Joachims, T. Finley and C.-N. Yu, "Cutting-plane training of structural SVMs", Machine Learning 2009.
    .. [3] A. Demiriz, K. Bennett and J. Shawe-Taylor, "Linear programming boosting via column generation", Machine
       Learning 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import StructBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = StructBoostClassifier(n_estimators=30).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.93
    """

    subsample = 1.0

    _rules: ClassVar[Mapping[str, Rule]] = {
        **CORRECTIVE_RULES,
        "nu": Number(float, 0),
        "tol": Number(float, 0),
        "solver_iterations": Number(int, 1, MOST_CUTS),
        "weak_learner": Choice(("stump", "tree")),
        "max_depth": Depth(),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        nu: float = 3e-3,
        n_estimators: int = 200,
        tol: float = 1e-3,
        solver_iterations: int = 20,
        weak_learner: str = "stump",
        max_depth: int = 3,
        binning: str = "quantile",
        max_bins: int | None = None,
        max_features: float = 1.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        keep_stages: bool = False,
        warm_start: bool = False,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.nu = nu
        self.n_estimators = n_estimators
        self.tol = tol
        self.solver_iterations = solver_iterations
        self.weak_learner = weak_learner
        self.max_depth = max_depth
        self.binning = binning
        self.max_bins = max_bins
        self.max_features = max_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.keep_stages = keep_stages
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _gives_probabilities(self) -> bool:
        return False

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.dual_trees import DualTrees
        from minrisk.losses.structured import StructuredHinge
        from minrisk.steps.cutting_planes import CuttingPlaneStep

        check_decisions(self)
        depth = 1 if self.weak_learner == "stump" else self.max_depth
        return Recipe(
            loss=StructuredHinge(),
            family=DualTrees(depth, thresholds, self.nu, self.tol),
            solver=CuttingPlaneStep(self.nu, self.solver_iterations, self.tol),
            max_features=n_drawn(self.max_features, len(thresholds)),
            dual=True,
        )
