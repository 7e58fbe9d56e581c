"""MultiBoost (CW-Boost): all vectors are optimised again in every round.

C. Shen and Z. Hao, "A direct formulation for totally-corrective multi-class boosting", CVPR 2011.

Its loss, learners and deviations are those of `minrisk.algorithms.stagewise`, whose paper compares with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from minrisk._typing import FloatArray, IntArray
from minrisk.algorithms.pairwise import CORRECTIVE_RULES, PAIRWISE_RULES, PairwiseClassifier
from minrisk.estimator.parameters import Choice, Number, Rule

if TYPE_CHECKING:
    import numpy as np

    from minrisk.rows.costs import RowCosts


class MultiBoostClassifier(PairwiseClassifier):
    r"""Totally corrective boosting of margins: the coefficients of all learners are optimised again in every round.

    The scores are

    .. math:: S(x) = \sum_t h_t(x) \, w_t, \qquad h_t(x) \in \{-1, +1\},

    and the decision is the largest entry of S.
    Each round adds the learner whose dual constraint is violated most. It then minimises over all vectors :math:`W =
    (w_1, w_2, \dots) \ge 0`, from the last ones on,

    .. math:: \log \sum_{ir} c_{ir} e^{-(S_{iy} - S_{ir})} + \nu \lVert W \rVert_1
       \qquad \text{or} \qquad
       \frac1c \sum_{ir} c_{ir} \log\big(1 + e^{-(S_{iy} - S_{ir})}\big) + \nu \lVert W \rVert_1,

    where c is the sum over the rows of what a mistake costs there on average.
    In plain words: `StagewiseMCBoostClassifier` never changes an earlier vector; this method does, in many times the
    time.

    Parameters
    ----------
    cost : array-like of shape (K, D), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        What each decision costs for each true class: rows are true classes, columns are decisions.
        A table without labels has its rows and columns in the order of `classes_`, which is sorted.
        By default every mistake costs 1.
    loss : {"logistic", "exponential"}, default="logistic"
        The second or the first of the objectives (Eq. 7, with which the paper compares, and Eq. 5).
    n_estimators : int, default=100
        Largest number of rounds.
    nu : float, default=1e-3
        Weight of the penalty. With "l1" rounds end when no constraint exceeds it.
    tol : float, default=1e-5
        Rounds end when no constraint exceeds `nu` by more than this share of the loss that can still be lost.
        With ``penalty="constraint"`` they end when the loss is above the least possible one by no more than this share.
    solver_iterations : int, default=100
        Largest number of iterations of the solver in a round: L-BFGS-B, or with ``penalty="constraint"`` projected
        gradients, with 20 times as many.
    solver_gradient : float, default=1e-5
        The solver stops when no entry of its projected gradient is larger than this share of the loss that can still be
        lost.
    solver_change : float, default=1e-9
        The solver stops when its objective falls by less than this share of the loss that can still be lost.
    penalty : {"l1", "l2", "constraint"}, default="l1"
        "l1" is the sum of the entries of W. "l2" is half the sum of their squares, and entries may then be negative.
        "constraint" is a bound on their sum (Eq. 17), in place of a penalty.
    bound : float, default=10.0
        The largest sum of the entries of W with ``penalty="constraint"``; the paper's gamma.
    weak_learner : {"stump", "tree"}, default="stump"
        The learners: trees of depth 1, or of `max_depth`.
    max_depth : int, default=3
        Depth of the trees.
    binning : {"quantile", "uniform"}, default="quantile"
        Where thresholds may lie: "quantile" divides the rows evenly, "uniform" spaces thresholds evenly.
    max_bins : int, optional
        Number of bins of each feature, from 2 to 256.
        By default 256 if `binning` is "quantile", and 201 if it is "uniform".
    max_features : float or int, default=1.0
        Features drawn for each round: a float is a share of them, an int is a number.
    early_stopping : bool, default=False
        Whether to set rows apart and to keep the rounds up to the lowest mean cost of these rows.
        If `fit` is given an `eval_set`, its first pair takes the place of these rows.
    validation_fraction : float, default=0.1
        Share of the rows that `early_stopping` sets apart.
    n_iter_no_change : int, default=20
        `early_stopping` ends the training after this many rounds without a new lowest mean cost.
    keep_stages : bool, default=False
        Whether to keep the W of every round, T (T + 1) / 2 vectors in memory and in model files.
        `staged_predict`, the other staged methods and ``model_[:t]`` then are the model after t rounds; without it they
        are the first t learners of the last model.
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
        Seed of what is drawn: features (`max_features`) and the rows that `early_stopping` sets apart.
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
        entry over what a mistake costs on average (logistic), plus the penalty.
        It is proven that no vectors have an objective below ``value``: of any stumps, of any deeper trees that the
        search finds, and with "l2" of the learners of the model alone.
        None where no mistake costs anything, or Ctrl-C ended the rounds.
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
    StagewiseMCBoostClassifier : Earlier vectors stay as they are.
    StructBoostClassifier : The hinge loss of the worst rival.

    Notes
    -----
    As in the paper: the defaults, with 0/1 costs and `nu` by cross-validation.

    *The weight of the penalty.* The paper chooses `nu` among 1e-8, 5e-8, ..., 5e-3 by cross-validation.
    That prefers 1e-3 on the data sets letter and dna, 5e-3 on noisy data, and 1e-5 if the classes are well separated.
    With "l2" it matters little from 1e-4 to 1e-2.

    *Squares.* With "l2" every stump is added once at most, while trees may come again, and rounds end when no learner
    lowers the loss.
    It makes fewer mistakes than "l1" if there are few rows for each class.

    *Memory.* Training keeps the responses of all learners, one byte for each row and group of learners. A group is the
    stumps on one feature, or at least seven others.

    *What is not offered.* MultiBoost with the hinge loss, summed over all other classes, is not offered. The logistic
    loss is its smooth relative.

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
        **PAIRWISE_RULES,
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

    @property
    def _claim(self) -> str:
        of = "the model's learners" if self.penalty == "l2" else "any learners that the search finds"
        what = "loss of any vectors within the bound" if self.penalty == "constraint" else "objective of any vectors"
        return f"the least {what} of {of}; that of the model"

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.steps.constrained import ConstrainedStep
        from minrisk.steps.penalised import CorrectiveStep

        if self.penalty == "constraint":
            step: Any = ConstrainedStep(self.bound, self.tol, self._tolerances())
            return self._paired(thresholds, step, 0.0)  # the step says when rounds end
        step = CorrectiveStep(self.nu, self.penalty, self._tolerances())
        return self._paired(thresholds, step, self._bound)
