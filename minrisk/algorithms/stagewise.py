"""Stage-wise large-margin multi-class boosting, and the totally corrective MultiBoost (CW-Boost) it is compared with.

S. Paisitkriangkrai, C. Shen and A. van den Hengel, "A scalable stage-wise approach to large-margin multi-class loss
based boosting", 2013; MultiBoost: C. Shen and Z. Hao, "A direct formulation for totally-corrective multi-class
boosting", CVPR 2011.

==================================  ===================================  ==================================
paper                               here                                 where
==================================  ===================================  ==================================
rho_ir, Eq. (2); losses (4), (7)    ``PairwiseLoss``                     `minrisk.losses.pairwise`
u_ir, Eq. (11), (12)                ``edge``, ``odds``                   `minrisk._kernels.pairwise`
h*, Eq. (10); step 2 of Alg. 1      ``MostViolatedTrees``                `minrisk.learners.most_violated`
w_t, Eq. (13), (14)                 ``PairwiseStep``                     `minrisk.steps.penalised`
0.01 on the selected class          ``SelectedStep``                     `minrisk.steps.penalised`
W, Eq. (5), (7), by columns         ``CorrectiveStep``                   `minrisk.steps.penalised`
W, Eq. (17), by columns             ``ConstrainedStep``                  `minrisk.steps.constrained`
nu; eta; kappa; epsilon             ``nu``, ``learning_rate``, ``cap``,  here
                                    ``tol``
==================================  ===================================  ==================================

Deviations: pairs weigh C_yr, where the paper knows no costs; the term r = y weighs as much as a mistake does on average
(1 for 0/1 costs, as in the paper); nu of the logistic loss is of the mean (`minrisk.steps.penalised.Objective`);
epsilon and the tolerances of L-BFGS-B are relative to the loss that can still be lost; no entry of w exceeds 18; the
constraint on sum u in (8), which contradicts (12), is ignored; with both, eta comes before kappa. The MCBoost of this
paper is not that of `MCBoostClassifier` (Saberian and Vasconcelos).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from minrisk._typing import FloatArray, IntArray
from minrisk.algorithms.base import RecipeClassifier
from minrisk.validation import Choice, Depth, Flag, Number, Rule, n_drawn

if TYPE_CHECKING:
    import numpy as np

    from minrisk.rows.costs import RowCosts

SOLVER_ITERATIONS = 1_000_000  # of L-BFGS-B, at most: more than it ever makes

_RULES: Mapping[str, Rule] = {
    "loss": Choice(("exponential", "logistic")),
    "nu": Number(float, 0),
    "tol": Number(float, 0),
    "solver_iterations": Number(int, 1, SOLVER_ITERATIONS),
    "solver_gradient": Number(float, 0),
    "solver_change": Number(float, 0),
    "weak_learner": Choice(("stump", "tree")),
    "max_depth": Depth(),
}
CORRECTIVE_RULES: Mapping[str, Rule] = {  # where every round finds all vectors anew: rows are not drawn
    **{
        name: RecipeClassifier._rules[name]
        for name in (
            "n_estimators", "binning", "max_bins", "max_features", "early_stopping", "validation_fraction",
            "n_iter_no_change", "warm_start", "class_weight", "categorical_features", "n_jobs", "random_state",
            "verbose",
        )
    },
    "keep_stages": Flag(),
}


class StagewiseMCBoostClassifier(RecipeClassifier):
    """Boosting of the margin between the true class's score and each other's, one vector w_t >= 0 per learner.

    S(x) = sum_t h_t(x) w_t with h_t(x) in {-1, +1}; the decision is the largest entry. Each round takes the learner and
    the class whose dual constraint is violated most, and then the vector that minimises, with all others held,

        log sum_ir c_ir e^-(S_iy - S_ir) + nu |w_t|_1  or  1 / c sum_ir c_ir log(1 + e^-(S_iy - S_ir)) + nu |w_t|_1

    in D variables; c is the sum over the rows of what a mistake costs there on average, so that the rows' number and
    the unit of the costs do not matter. In plain words: the true class is to win against each other one by a margin,
    the more so the dearer that mistake is.

    Parameters
    ----------
    cost : optional
        What each mistake costs: a K x D table (rows are true classes, columns are decisions), DataFrame, dict of
        dicts, CSV file or `minrisk.CostMatrix`; a table without labels stands in the order of `classes_`, which is
        sorted. Default: every mistake costs 1, which is the paper's case.
    loss : {"exponential", "logistic"}, default="exponential"
        Eq. (13), solved on sums over pairs of classes, or Eq. (14), which takes a pass over the rows for each
        evaluation.
    n_estimators : int, default=500
        Largest number of rounds; the paper uses 500 and 1000.
    nu : float, default=1e-9
        Weight of |w|_1; rounds end when no constraint exceeds it.
    learning_rate : float, default=0.5
        Factor eta on every w_t; the paper's.
    cap : float, optional
        kappa: entries of w_t above are cut to it, after `learning_rate`.
    step_size : float, optional
        Instead of a minimiser, this coefficient for the selected class and 0 for the others (Sec. III-B: 0.01);
        `learning_rate` and `cap` then do not apply.
    tol : float, default=1e-5
        The epsilon of the stopping rule, as a share of the loss that can still be lost.
    solver_iterations, solver_gradient, solver_change : int, float, float, default=100, 1e-5, 1e-9
        L-BFGS-B stops after so many iterations, where no entry of the projected gradient is larger, or where the
        objective falls by a smaller share; gradient and fall are of the loss that can still be lost.
    weak_learner : {"stump", "tree"}, default="stump"
        Trees of depth 1 (the paper's), or of `max_depth`, deepened for the class of the most violated constraint.
    max_depth : int, default=3
        Depth of trees.
    binning : {"quantile", "uniform"}, default="quantile"
        Thresholds divide the rows evenly, or are evenly spaced.
    max_bins : int, optional
        2 to 256; default 256 for "quantile", 201 for "uniform".
    subsample : float, default=1.0
        Share of the rows drawn, without replacement, for each round.
    max_features : float or int, default=1.0
        Share or number of the features drawn for each round.
    early_stopping : bool, default=False
        Set `validation_fraction` of the rows apart and keep the rounds up to the least validated mean cost.
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
    classes_, decisions_, cost_, model_, n_iter_, train_risk_, validation_risk_, feature_importances_, n_features_in_
        As in `REBELClassifier`; row t of ``model_.vectors`` is w_t.
    train_loss_ : ndarray of shape (n_iter_ + 1,)
        The loss, without logarithm and penalty, over the sum of weights: before round 1 and after every round.

    References
    ----------
    .. [1] S. Paisitkriangkrai, C. Shen and A. van den Hengel, "A scalable stage-wise approach to large-margin
       multi-class loss based boosting", 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import StagewiseMCBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = StagewiseMCBoostClassifier(loss="logistic", n_estimators=50).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.98
    >>> model.predict_proba(X[1:2]).round(2)  # links: "softmax", or "softmax2" for the exponential
    array([[1., 0., 0.]])
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        **RecipeClassifier._rules,
        **_RULES,
        "cap": Number(float, 0, open_low=True, optional=True),
        "step_size": Number(float, 0, open_low=True, optional=True),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        loss: str = "exponential",
        n_estimators: int = 500,
        nu: float = 1e-9,
        learning_rate: float = 0.5,
        cap: float | None = None,
        step_size: float | None = None,
        tol: float = 1e-5,
        solver_iterations: int = 100,
        solver_gradient: float = 1e-5,
        solver_change: float = 1e-9,
        weak_learner: str = "stump",
        max_depth: int = 3,
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
        self.n_estimators = n_estimators
        self.nu = nu
        self.learning_rate = learning_rate
        self.cap = cap
        self.step_size = step_size
        self.tol = tol
        self.solver_iterations = solver_iterations
        self.solver_gradient = solver_gradient
        self.solver_change = solver_change
        self.weak_learner = weak_learner
        self.max_depth = max_depth
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

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.steps.base import LARGEST_STEP
        from minrisk.steps.penalised import PairwiseStep, SelectedStep

        if self.step_size is not None:
            step: Any = SelectedStep(self.nu, self.step_size)
        else:
            cap = LARGEST_STEP if self.cap is None else self.cap
            step = PairwiseStep(self.nu, self.learning_rate, cap, _tolerances(self))
        return _recipe(self, thresholds, step, self.nu)._replace(subsample=self.subsample)


class MultiBoostClassifier(RecipeClassifier):
    """Totally corrective boosting of multi-class margins: all coefficients W >= 0 are optimised anew in every round.

    S(x) = sum_t h_t(x) w_t with h_t(x) in {-1, +1}; the decision is the largest entry. Each round adds the learner
    whose dual constraint is violated most and then minimises over all of W, from the last one on,

        log sum_ir c_ir e^-(S_iy - S_ir) + nu |W|_1  or  1 / c sum_ir c_ir log(1 + e^-(S_iy - S_ir)) + nu |W|_1;

    c is the sum over the rows of what a mistake costs there on average. With ``penalty="l2"`` nu / 2 |W|^2 stands in
    the place of nu |W|_1, and entries of W take either sign.

    In plain words: `StagewiseMCBoostClassifier` that takes nothing back; this one may, at many times the price.

    Parameters
    ----------
    cost : optional
        What each mistake costs: a K x D table (rows are true classes, columns are decisions), DataFrame, dict of
        dicts, CSV file or `minrisk.CostMatrix`; a table without labels stands in the order of `classes_`, which is
        sorted. Default: every mistake costs 1, which is the paper's case.
    loss : {"logistic", "exponential"}, default="logistic"
        Eq. (7), with which the paper compares, or Eq. (5).
    n_estimators : int, default=100
        Largest number of rounds.
    penalty : {"l1", "l2", "constraint"}, default="l1"
        |W|_1; or half the sum of squares ("it is possible to design our algorithm with other l_p-norm", Sec. III-A); or
        a bound on |W|_1 in place of a penalty, Eq. (17), with `bound` in place of `nu`. Of the sum of squares every
        stump is added once at most, trees may recur; rounds end when no learner lowers the loss. It errs less where
        rows per class are few.
    bound : float, default=10.0
        With ``penalty="constraint"``, what |W|_1 may be at most: the gamma of Eq. (17).
    nu : float, default=1e-3
        Weight of the penalty; with |W|_1 rounds end when no constraint exceeds it. The paper chooses it from 1e-8,
        5e-8, ..., 5e-3 by cross-validation, which prefers 1e-3 on letter and dna, 5e-3 on noisy data and 1e-5 where the
        classes are apart; with "l2" it matters little from 1e-4 to 1e-2.
    tol : float, default=1e-5
        Rounds end when no constraint exceeds `nu` by more than this share of the loss that can still be lost; with
        ``penalty="constraint"``, when the loss is above the least possible one by no more.
    solver_iterations, solver_gradient, solver_change : int, float, float, default=100, 1e-5, 1e-9
        L-BFGS-B (with "constraint": projected gradients, 20 times as many) stops after so many
        iterations, where no entry of the projected gradient is larger, or where the objective falls by a smaller
        share; gradient and fall are of the loss that can still be lost.
    weak_learner : {"stump", "tree"}, default="stump"
        Trees of depth 1, or of `max_depth`.
    max_depth : int, default=3
        Depth of trees.
    binning : {"quantile", "uniform"}, default="quantile"
        Thresholds divide the rows evenly, or are evenly spaced.
    max_bins : int, optional
        2 to 256; default 256 for "quantile", 201 for "uniform".
    max_features : float or int, default=1.0
        Share or number of the features drawn for each round.
    early_stopping : bool, default=False
        Set `validation_fraction` of the rows apart and keep the rounds up to the least validated mean cost, with the W
        that was found after the last of them.
    validation_fraction : float, default=0.1
        Share of the rows set apart.
    n_iter_no_change : int, default=20
        Stop after this many rounds without a new minimum.
    keep_stages : bool, default=False
        Keep the W of every round, T (T + 1) / 2 vectors in memory and in model files: `staged_predict` and its kin, and
        ``model_[:t]``, then are the model after t rounds. Without, they are the last model's first t learners.
    warm_start : bool, default=False
        Let `fit` go on from the last fit's rounds; the same bits as one long fit on the same data.
    class_weight, categorical_features
        As in `REBELClassifier`.
    n_jobs : int, optional
        Threads, as in joblib: None is 1, -1 all cores. The model does not depend on it.
    random_state : int or RandomState, optional
        For `max_features` and the validation part.
    verbose : int, default=0
        1 draws a progress bar (with rich).

    Attributes
    ----------
    classes_, decisions_, cost_, model_, n_iter_, train_risk_, validation_risk_, feature_importances_, n_features_in_
        As in `REBELClassifier`; row t of ``model_.vectors`` is w_t.
    train_loss_ : ndarray of shape (n_iter_ + 1,)
        The loss, without logarithm and penalty, over the sum of weights: before round 1 and after every round.

    Notes
    -----
    Training keeps the responses of all learners, a byte for each row and group of them (the stumps on a feature, seven
    others at least).

    Not offered: MultiBoost with the hinge loss (Shen and Hao, 2011), summed over all other classes. The logistic loss
    is its smooth relative, of the same slope where margins are far too small; `StructBoostClassifier` has the hinge of
    the worst one.

    References
    ----------
    .. [1] C. Shen and Z. Hao, "A direct formulation for totally-corrective multi-class boosting", CVPR 2011.
    .. [2] S. Paisitkriangkrai, C. Shen and A. van den Hengel, "A scalable stage-wise approach to large-margin
       multi-class loss based boosting", 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import MultiBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = MultiBoostClassifier(n_estimators=20).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.96
    """

    subsample = 1.0

    _rules: ClassVar[Mapping[str, Rule]] = {
        **CORRECTIVE_RULES,
        **_RULES,
        "penalty": Choice(("l1", "l2", "constraint")),
        "bound": Number(float, 0, open_low=True),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        loss: str = "logistic",
        n_estimators: int = 100,
        nu: float = 1e-3,
        tol: float = 1e-5,
        solver_iterations: int = 100,
        solver_gradient: float = 1e-5,
        solver_change: float = 1e-9,
        penalty: str = "l1",
        bound: float = 10.0,
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
        self.loss = loss
        self.n_estimators = n_estimators
        self.nu = nu
        self.tol = tol
        self.solver_iterations = solver_iterations
        self.solver_gradient = solver_gradient
        self.solver_change = solver_change
        self.penalty = penalty
        self.bound = bound
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

    def _row_options(self, X: np.ndarray, training: IntArray | None, costs: RowCosts) -> dict[str, Any]:
        return {"distinct": self.penalty == "l2"}

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.steps.constrained import ConstrainedStep
        from minrisk.steps.penalised import CorrectiveStep

        if self.penalty == "constraint":
            step: Any = ConstrainedStep(self.bound, self.tol, _tolerances(self))
            return _recipe(self, thresholds, step, 0.0)  # the step says when rounds end
        nu = self.nu if self.penalty == "l1" else 0.0  # |W|^2 rises by less than any edge at W = 0
        return _recipe(self, thresholds, CorrectiveStep(self.nu, self.penalty, _tolerances(self)), nu)


def _tolerances(model: Any) -> Any:
    """Those of L-BFGS-B."""
    from minrisk.steps.penalised import Tolerances

    return Tolerances(model.solver_iterations, model.solver_gradient, model.solver_change)


def check_decisions(model: Any) -> None:
    """Refuse decisions that are no class: no row has them for its true class, so their scores would always be least."""
    if len(model.decisions_) > len(model.classes_):
        raise ValueError(
            f"{type(model).__name__} wants the true class's score above every other decision's, and would never take "
            f"a decision that is no class, as {model.decisions_.tolist()[-1]!r}: train without it, or with "
            "MinRiskClassifier, which decides by least expected cost."
        )


def _recipe(model: Any, thresholds: tuple[FloatArray, ...], solver: Any, bound: float) -> Any:
    """What the two have in common; `bound` is what no constraint may exceed."""
    from minrisk.boosting.loop import Recipe
    from minrisk.learners.most_violated import MostViolatedTrees
    from minrisk.losses.pairwise import PairwiseLoss

    check_decisions(model)
    depth = 1 if model.weak_learner == "stump" else model.max_depth
    return Recipe(
        loss=PairwiseLoss(model.loss),
        family=MostViolatedTrees(depth, thresholds, bound, model.tol),
        solver=solver,
        max_features=n_drawn(model.max_features, len(thresholds)),
    )
