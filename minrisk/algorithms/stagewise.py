"""Stage-wise large-margin multi-class boosting, and what MultiBoost (CW-Boost), which it is compared with, shares.

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

from minrisk._typing import FloatArray
from minrisk.algorithms.pairwise import PAIRWISE_RULES, PairwiseClassifier
from minrisk.estimator.parameters import Choice, Number, Rule

if TYPE_CHECKING:
    pass


class StagewiseMCBoostClassifier(PairwiseClassifier):
    r"""Boosting of the margins between the true class and every other, with one coefficient vector for each learner.

    The scores are

    .. math:: S(x) = \sum_t h_t(x) \, w_t, \qquad h_t(x) \in \{-1, +1\}, \quad w_t \ge 0,

    and the decision is the largest entry of S.
    Each round takes the learner and the class whose dual constraint is violated most.
    It then finds the vector :math:`w_t` that minimises, with all earlier vectors held,

    .. math:: \log \sum_{ir} c_{ir} e^{-(S_{iy} - S_{ir})} + \nu \lVert w_t \rVert_1
       \qquad \text{or} \qquad
       \frac1c \sum_{ir} c_{ir} \log\big(1 + e^{-(S_{iy} - S_{ir})}\big) + \nu \lVert w_t \rVert_1,

    where c is the sum over the rows of what a mistake costs there on average, so that neither the number of rows nor
    the unit of the costs matters.
    In plain words: the true class is to win against each other one by a margin, the more so the more that mistake
    costs.

    Parameters
    ----------
    cost : array-like of shape (K, D), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        What each decision costs for each true class: rows are true classes, columns are decisions.
        A table without labels has its rows and columns in the order of `classes_`, which is sorted.
        By default every mistake costs 1.
    loss : {"exponential", "logistic"}, default="exponential"
        The first or the second of the objectives (Eq. 13 and 14).
        The exponential one is solved on sums over pairs of classes; the logistic one passes over all rows for each
        evaluation.
    n_estimators : int, default=500
        Largest number of rounds. The paper uses 500 and 1000.
    nu : float, default=1e-9
        Weight of the penalty. With "l1" rounds end when no constraint exceeds it.
    penalty : {"l1", "l2"}, default="l1"
        "l1" is the sum of the entries of w_t. "l2" is half the sum of their squares, and entries may then be negative.
    learning_rate : float, default=0.5
        Factor on every w_t, the paper's eta.
    cap : float, optional
        Entries of w_t above this number in size are cut to it, after `learning_rate`; the paper's kappa.
        By default nothing is cut.
    step_size : float, optional
        A fixed coefficient for the selected class, with 0 for the others, in place of a minimiser (Sec. III-B uses
        0.01).
        `learning_rate` and `cap` have then no effect.
        By default w_t is the minimiser.
    tol : float, default=1e-5
        Rounds end when no constraint exceeds `nu` by more than this share of the loss that can still be lost; the
        paper's epsilon.
    solver_iterations : int, default=100
        Largest number of iterations of the solver L-BFGS-B in a round.
    solver_gradient : float, default=1e-5
        The solver stops when no entry of its projected gradient is larger than this share of the loss that can still be
        lost.
    solver_change : float, default=1e-9
        The solver stops when its objective falls by less than this share of the loss that can still be lost.
    weak_learner : {"stump", "tree"}, default="stump"
        The learners: trees of depth 1 (as in the paper), or of `max_depth`, deepened for the class of the most violated
        constraint.
    max_depth : int, default=3
        Depth of the trees.
    binning : {"quantile", "uniform"}, default="quantile"
        Where thresholds may lie: "quantile" divides the rows evenly, "uniform" spaces thresholds evenly.
    max_bins : int, optional
        Number of bins of each feature, from 2 to 256.
        By default 256 if `binning` is "quantile", and 201 if it is "uniform".
    subsample : float, default=1.0
        Share of the rows drawn for each round, without replacement.
    max_features : float or int, default=1.0
        Features drawn for each round: a float is a share of them, an int is a number.
    early_stopping : bool, default=False
        Whether to set rows apart and to keep the rounds up to the lowest mean cost of these rows.
        If `fit` is given an `eval_set`, its first pair takes the place of these rows.
    validation_fraction : float, default=0.1
        Share of the rows that `early_stopping` sets apart.
    n_iter_no_change : int, default=20
        `early_stopping` ends the training after this many rounds without a new lowest mean cost.
    warm_start : bool, default=False
        Whether `fit` continues from the rounds of the last fit.
        On the same data this gives the same model as one long fit, to the last bit.
    class_weight : dict or "balanced", optional
        Factors on the weights of the rows of each class.
        A dict has a number above 0 for each label; labels that it does not name keep 1.
        "balanced" gives all classes the same total weight: the factor of class k is n / (K n_k), if n_k of the n rows
        belong to it (rows count by `sample_weight`).
    categorical_features : array-like or "from_dtype", default="from_dtype"
        Columns whose numbers are names, such as postcodes: column names, positions or a mask of shape (d,).
        Columns of text and of categorical types are categories without being listed.
    n_jobs : int, optional
        Number of threads, as in joblib: None means 1 and -1 means all cores.
        The model does not depend on it.
    random_state : int or RandomState, optional
        Seed of what is drawn: rows (`subsample`), features (`max_features`) and the rows that `early_stopping` sets
        apart.
    verbose : int, default=0
        1 draws a progress bar (this needs rich) and prints what became of each column of a table.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class labels, sorted.
    decisions_ : ndarray of shape (K,)
        What `predict` may return: the classes.
    cost_ : CostMatrix or None
        Costs of the fit; None if they were given for each row.
    model_ : AdditiveModel
        The scores S. Row t of ``model_.vectors`` is w_t.
    n_iter_ : int
        Number of rounds kept, T below.
    train_loss_ : ndarray of shape (T + 1,)
        The loss without logarithm and penalty, divided by the sum of the weights, before round 1 and after every round.
    train_risk_ : ndarray of shape (T + 1,)
        Mean cost of the decisions about the training rows, before round 1 and after every round.
    certificate_ : Certificate or None
        ``bound`` is the objective of the model: the logarithm of the last entry of `train_loss_` (exponential), or that
        entry over what a mistake costs on average (logistic), plus the penalty of all vectors.
        It is proven that no vectors of the same learners have an objective below ``value``; with ``penalty="l1"`` no
        vectors with entries of 0 or more whose sum is no larger. None where no mistake costs anything, or Ctrl-C ended
        the rounds.
    validation_risk_ : ndarray or None
        Mean cost of the rows that `early_stopping` watches, before round 1 and after every round that was run; None
        without early stopping.
    evals_result_ : dict
        ``{"valid_0": {"cost": [...]}}``: mean cost of the rows of `eval_set` after each round of this fit.
        It exists if `fit` was given an `eval_set`; model files do not keep it.
    feature_importances_ : ndarray of shape (d,)
        Share of each feature in the relative falls of the loss; the shares sum to 1.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X had names that are all strings.
    columns_ : list of ColumnFacts
        If X was a table: the name, kind, number of values and of missing cells of each column, what it became, and a
        remark if it looks wrong.
        Model files do not keep it.

    See Also
    --------
    MultiBoostClassifier : All vectors are optimised again in every round.
    MCBoostClassifier : The method that another paper calls MCBoost.

    Notes
    -----
    As in the paper: the defaults, with 0/1 costs.

    With symmetric costs there are probabilities: the softmax of the scores with the logistic loss, and of twice the
    scores with the exponential one.

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
    >>> model.predict_proba(X[1:2]).round(2)
    array([[1., 0., 0.]])
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        **PairwiseClassifier._rules,
        **PAIRWISE_RULES,
        "penalty": Choice(("l1", "l2")),
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
        penalty: str = "l1",
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
        self.penalty = penalty
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

    @property
    def _claim(self) -> str:
        of = "vectors whose sum is no larger" if self.penalty == "l1" else "vectors"
        return f"the least objective, penalty included, of any {of}, of the model's learners; that of the model"

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.steps.base import LARGEST_STEP
        from minrisk.steps.penalised import PairwiseStep, SelectedStep

        if self.step_size is not None:
            if self.penalty != "l1":
                raise ValueError(
                    f"step_size= takes steps of one size, whose penalty is their sum, got penalty={self.penalty!r}: "
                    "use penalty='l1', or step_size=None."
                )
            step: Any = SelectedStep(self.nu, self.step_size)
        else:
            cap = LARGEST_STEP if self.cap is None else self.cap
            step = PairwiseStep(self.nu, self.learning_rate, cap, self._tolerances(), self.penalty)
        return self._paired(thresholds, step, self._bound)._replace(subsample=self.subsample)
