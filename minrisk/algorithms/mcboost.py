"""MCBoost with guess-averse losses: GEL- and GLL-MCBoost, MCBoost, P-MCBoost, and MCBoost with L_s and L_t.

O. Beijbom, M. Saberian, D. Kriegman and N. Vasconcelos, "Guess-Averse Loss Functions For Cost-Sensitive Multiclass
Boosting", ICML 2014.

===============================  =================================  =================================
paper                            here                               where
===============================  =================================  =================================
y_k, codewords                   ``simplex_codewords``              `minrisk.losses.codewords`
S_k = 1/2 <y_k, f>, Eq. (23)     ``scores``                         rows
GEL, GLL, Eq. (20), (21)         ``GuessAverseLoss``                `minrisk.losses.guess_averse`
L^(gamma, phi), Eq. (15)         ``GammaPhiLoss``                   `minrisk.losses.gamma_phi`
L_s, L_t, Eq. (12), (14)         ``GuessingLoss``                   `minrisk.losses.not_guess_averse`
L_MC, Eq. (22)                   GEL of 0/1 costs, plus 1           here
w^r, Eq. (34) to (37)            ``along`` at step 0                `minrisk._kernels.loss_lines`
g*, Eq. (30)                     ``aim``, ``regress``               `minrisk.rows.base`
alpha*, Eq. (31)                 ``LineSearch``                     `minrisk.steps.line_search`
posteriors, Eq. (33)             link "softmax2"                    `minrisk.model.links`
Bayes' rule, Eq. (3)             ``decision="bayes"``               `minrisk.model.decisions`
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
(see `weighting`) nor which simplex is taken; L_MC's constant 1 is left out; no score moves by more than 18 in a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from minrisk._typing import FloatArray
from minrisk.algorithms.base import RecipeClassifier
from minrisk.validation import Choice, Depth, Rule

if TYPE_CHECKING:
    from minrisk.learners.directed import Regression
    from minrisk.learners.vector_tree import VectorTrees
    from minrisk.losses.base import JointLoss
    from minrisk.rows.costs import CostFacts, RowCosts


GAMMA_PHI = "gamma-phi"  # name of the loss that has parameters


class Regressor(NamedTuple):
    """Something with `fit` and `predict`, or nothing."""

    def accepts(self, value: Any) -> bool:
        """Whether it is an object, not a class, with both."""
        whole = not isinstance(value, type) and all(hasattr(value, name) for name in ("fit", "predict", "get_params"))
        return value is None or whole

    def plain(self, value: Any) -> Any:
        """The same."""
        return value

    def __str__(self) -> str:
        return "a scikit-learn regressor or None"


class SmoothFunction(NamedTuple):
    """A function by its name, or as three functions: itself and its first two derivatives, elementwise on arrays."""

    options: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        """Whether it is a name that is known, or a tuple of three functions."""
        if isinstance(value, str):
            return value in self.options
        return isinstance(value, tuple) and len(value) == 3 and all(map(callable, value))

    def plain(self, value: Any) -> Any:
        """A name, or the same."""
        return str(value) if isinstance(value, str) else value

    def __str__(self) -> str:
        names = ", ".join(map(repr, self.options))
        return f"one of {names}, or a tuple of three functions (value, slope, curvature)"


class MCBoostClassifier(RecipeClassifier):
    """Boosting of class scores along the coordinates of a simplex, with a loss that is averse to guessing.

    S(x) = sum_t sum_r alpha_tr g_tr(x) (1/2 y^r): a round visits each of the K - 1 coordinates r, fits a regressor g to
    the loss's negative slope -w^r along it, and takes the step alpha that minimises

        L(S) = 1/W sum_n w_n L(C, z_n, S(x_n))

    exactly. In plain words: the right class is to get the largest score by a margin that grows with the cost of a
    mistake ("gll", "gel"); or costs are left to the decision ("mc" with ``decision="bayes"``).

    Parameters
    ----------
    cost : optional
        What each mistake costs: a K x D table (rows are true classes, columns are decisions), DataFrame, dict of
        dicts, CSV file or `minrisk.CostMatrix`; a table without labels stands in the order of `classes_`, which is
        sorted. Default: every mistake costs 1.
    loss : {"gll", "gel", "mc", "ls", "lt", "gamma-phi"}, default="gll"
        log(1 + sum_j C_zj e^(S_j - S_z)), Eq. (21); sum_j C_zj e^(S_j - S_z), Eq. (20), which does not see symmetric
        costs; the same without costs, Eq. (22); and two losses that are not averse to guessing, sum_j C_zj e^(S_j),
        Eq. (12), and sum_j sum_k C_zj e^(S_j - S_k), Eq. (14); or any gamma(sum_j C_zj phi(S_z - S_j)), Eq. (15).
    gamma : {"identity", "log"} or three functions, default="identity"
        Of the loss "gamma-phi": v, log(1 + v), or another increasing function, as (value, slope, curvature): each takes
        an array and returns the function, or its first or second derivative, elementwise. "log" of "exponential" is
        "gll", "identity" of it "gel", both many times slower than by their names.
    phi : {"exponential", "logistic", "squared hinge", "squared"} or three functions, default="logistic"
        Of the loss "gamma-phi": e^-v, log(1 + e^-v), max(0, 1 - v)^2, (1 - v)^2, or another function. The loss is
        averse to guessing where phi(v) < phi(0) for all v > 0 (Lemma 1), which "squared" is not. Where it is not
        convex, rows whose curvature is negative have no say with ``weighting="curvature"``. A model with functions
        cannot be saved to a model file.
    decision : {"argmax", "bayes"}, default="argmax"
        The largest score, or the least expected cost of the probabilities, Eq. (3) with (33). The latter needs a loss
        that estimates them: "mc" (then it is P-MCBoost), "gel" with symmetric costs, "gll" with 0/1 costs.
    descent : {"coordinate", "gradient", "codewords"}, default="coordinate"
        One coordinate after the other, each with a step of its own (Algorithm 1), or all at once with a common step
        (footnote 4), at a fraction of the time; or one tree whose leaves answer with codewords, that is with classes
        (gradient descent as Saberian and Vasconcelos have it), which needs `weak_learner` "stump" or "tree".
    n_estimators : int, default=100
        Largest number of rounds, of K - 1 learners each; with codewords of one.
    learning_rate : float, default=1.0
        Factor on every step; 1 is the paper's.
    weak_learner : {"linear", "stump", "tree"}, default="linear"
        g(x) = a x_j + b on one feature x_j (the paper's), or a regression tree of depth 1 or of `max_depth`.
    max_depth : int, default=3
        Depth of trees.
    estimator : regressor, optional
        A scikit-learn regressor in place of `weak_learner`: clones of it are fitted, with `sample_weight` where rows
        weigh differently. Such a model cannot be saved to a model file.
    weighting : {"curvature", "uniform", "slope"}, default="curvature"
        The least squares that g is fitted by: a Newton step's, target -w^r / h with the curvature h for weight; that of
        -w^r itself; or that of -sign(w^r) with |w^r| for weight. The paper says "weighted least square" only.
    binning : {"quantile", "uniform"}, default="quantile"
        Thresholds of trees divide the rows evenly, or are evenly spaced.
    max_bins : int, optional
        2 to 256; default 256 for "quantile", 201 for "uniform".
    subsample : float, default=1.0
        Share of the rows drawn, without replacement, for each round.
    max_features : float or int, default=1.0
        Share or number of the features drawn for each round.
    early_stopping : bool, default=False
        Set `validation_fraction` of the rows apart and keep the rounds up to the least validated mean cost of the
        largest scores ("mc": of the least share of errors).
    validation_fraction : float, default=0.1
        Share of the rows set apart.
    n_iter_no_change : int, default=20
        Stop after this many rounds without a new minimum.
    warm_start : bool, default=False
        Let `fit` go on from the last fit's rounds; the same bits as one long fit on the same data.
    class_weight, categorical_features
        As in `REBELClassifier`.
    n_jobs : int, optional
        Threads, as in joblib: None is 1, -1 all cores. The model does not depend on it.
    random_state : int or RandomState, optional
        For `subsample`, `max_features` and the validation part.
    verbose : int, default=0
        1 draws a progress bar (with rich).

    Attributes
    ----------
    classes_, decisions_, cost_, model_, n_iter_, train_loss_, validation_risk_, feature_importances_, n_features_in_
        As in `REBELClassifier`; `model_` holds the K - 1 learners of each round.
    train_risk_ : ndarray of shape (n_iter_ + 1,)
        Mean cost of the largest scores on the training rows ("mc": share of errors).

    References
    ----------
    .. [1] O. Beijbom, M. Saberian, D. Kriegman and N. Vasconcelos, "Guess-Averse Loss Functions For Cost-Sensitive
       Multiclass Boosting", ICML 2014.
    .. [2] M. Saberian and N. Vasconcelos, "Multiclass Boosting: Theory and Algorithms", NIPS 2011.

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

    _rules: ClassVar[Mapping[str, Rule]] = {
        **RecipeClassifier._rules,
        "loss": Choice(("gll", "gel", "mc", "ls", "lt", GAMMA_PHI)),
        "gamma": SmoothFunction(("identity", "log")),
        "phi": SmoothFunction(("exponential", "logistic", "squared hinge", "squared")),
        "decision": Choice(("argmax", "bayes")),
        "descent": Choice(("coordinate", "gradient", "codewords")),
        "weak_learner": Choice(("linear", "stump", "tree")),
        "weighting": Choice(("curvature", "uniform", "slope")),
        "max_depth": Depth(),
        "estimator": Regressor(),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        loss: str = "gll",
        gamma: Any = "identity",
        phi: Any = "logistic",
        decision: str = "argmax",
        descent: str = "coordinate",
        n_estimators: int = 100,
        learning_rate: float = 1.0,
        weak_learner: str = "linear",
        max_depth: int = 3,
        estimator: Any = None,
        weighting: str = "curvature",
        binning: str = "quantile",
        max_bins: int | None = None,
        subsample: float = 1.0,
        max_features: float = 1.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        warm_start: bool = False,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.loss = loss
        self.gamma = gamma
        self.phi = phi
        self.decision = decision
        self.descent = descent
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.weak_learner = weak_learner
        self.max_depth = max_depth
        self.estimator = estimator
        self.weighting = weighting
        self.binning = binning
        self.max_bins = max_bins
        self.subsample = subsample
        self.max_features = max_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- training ------------------------------------------------------------------------------------------------
    def _costs_in_loss(self, costs: RowCosts) -> RowCosts:
        from minrisk.rows.costs import RowCosts

        if self.loss != "mc":
            return costs
        table = 1.0 - np.eye(len(self.classes_))  # Eq. (22) has no costs: they come in with the decision
        return RowCosts(table, costs.label, costs.weight, costs.label)

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.directed import DirectedLearners
        from minrisk.losses.codewords import simplex_codewords
        from minrisk.steps.line_search import CodewordSearch, LineSearch

        loss = self._loss()
        loss.check_classes(costs.n_decisions, 0, len(costs.class_weight) - 1)  # before its codewords are asked for
        self._check_decision(loss, costs)
        codewords = simplex_codewords(costs.n_decisions)
        shared = self._shared(thresholds)
        if self.descent == "codewords":
            solver = CodewordSearch(0.5 * codewords @ codewords.T)  # Eq. (23): scores of an f that is a codeword
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
        """Those whose leaves are codewords."""
        from minrisk._kernels.grow import CODEWORD
        from minrisk.learners.vector_tree import VectorTrees

        if self.estimator is not None or self.weak_learner == "linear":
            raise ValueError(
                "descent='codewords' needs learners whose leaves are classes: use weak_learner='stump' or 'tree' and "
                f"estimator=None, got weak_learner={self.weak_learner!r} and estimator={self.estimator!r}."
            )
        depth = 1 if self.weak_learner == "stump" else self.max_depth
        return VectorTrees(2**depth, thresholds, depth, sketch=None, gain=CODEWORD)

    def _loss(self) -> JointLoss:
        from minrisk.losses.guess_averse import GuessAverseLoss
        from minrisk.losses.not_guess_averse import GuessingLoss

        if self.loss == GAMMA_PHI:
            from minrisk.losses.gamma_phi import GammaPhiLoss, Smooth

            parts = (part if isinstance(part, str) else Smooth(*part) for part in (self.gamma, self.phi))
            return GammaPhiLoss(*parts)
        if self.loss in ("ls", "lt"):
            return GuessingLoss(self.loss)
        return GuessAverseLoss("gll" if self.loss == "gll" else "gel")

    def _regression(self, thresholds: tuple[FloatArray, ...]) -> Regression:
        from minrisk.learners.directed import Lines, RegressionTrees

        if self.estimator is not None:
            from minrisk.learners.scikit_regressors import ScikitRegressors

            return ScikitRegressors(self.estimator)
        if self.weak_learner == "linear":
            return Lines()
        return RegressionTrees(1 if self.weak_learner == "stump" else self.max_depth, thresholds)

    def _check_decision(self, loss: JointLoss, costs: CostFacts) -> None:
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
        """Expected costs, Eq. (3), of the decision "bayes"; else None, and the largest score decides."""
        if self.decision == "argmax":
            return None
        from minrisk.model.decisions import expected_costs

        assert self.cost_ is not None
        assert self.model_.link is not None
        return expected_costs(self.model_.link, scores, self.model_.temperature, self.cost_.avoidable)

    def _learnt_nothing(self, unborn: bool, risk: float, costs: CostFacts) -> bool:
        return unborn or (self.decision == "argmax" and super()._learnt_nothing(unborn, risk, costs))

    def _n_outputs(self) -> int:
        return len(self.classes_ if self.loss == "mc" else self.decisions_)

    def _gives_probabilities(self) -> bool:
        return self.loss in ("mc", "gel") or (self.loss == "gll" and self.cost is None)
