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
mu_(i,y)                              ``weigh_planes``              `minrisk.rows.pairs.PlaneRows`
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

from sklearn.exceptions import ConvergenceWarning

from minrisk._callers import warn_caller
from minrisk._typing import FloatArray
from minrisk.algorithms.base import RecipeClassifier, TrainingData
from minrisk.algorithms.pairwise import CORRECTIVE_RULES, check_decisions
from minrisk.validation import Choice, Depth, Number, Rule, n_drawn

UNFINISHED = (
    "{name} has made all of its {rounds} rounds, and {gap:.2g} of its objective may still be too much, where "
    "tol={tol:g} asks for less: try more n_estimators, more solver_iterations, or a larger tol if that is near enough."
)
MOST_CUTS = 10_000  # planes of half a round, at most: more than a step ever wants, and they are kept in memory


class StructBoostClassifier(RecipeClassifier):
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
    cost : array-like of shape (K, D), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        What each decision costs for each true class: rows are true classes, columns are decisions.
        A table without labels has its rows and columns in the order of `classes_`, which is sorted.
        By default every mistake costs 1.
    cost_scale : float, optional
        What costs are divided by in the loss, which depends on their size. By default they count as stated, as in the
        paper; the mean cost of a mistake makes the loss independent of their unit.
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
        The scores H. Row t of ``model_.vectors`` is w_t; many vectors, and most of their entries, are 0.
    n_iter_ : int
        Number of rounds kept, T below.
    train_loss_ : ndarray of shape (T + 1,)
        Mean slack, without the penalty, before round 1 and after every round. It may rise from round to round, or stay
        as it is.
    train_risk_ : ndarray of shape (T + 1,)
        Mean cost of the decisions about the training rows, before round 1 and after every round.
    validation_risk_ : ndarray or None
        Mean cost of the rows that `early_stopping` watches, before round 1 and after every round that was run; None
        without early stopping.
    evals_result_ : dict
        ``{"valid_0": {"cost": [...]}}``: mean cost of the rows of `eval_set` after each round of this fit.
        It exists if `fit` was given an `eval_set`; model files do not keep it.
    certificate_ : Certificate or None
        ``bound`` is the objective of the model, and it is proven that no vectors of any stumps have one below
        ``value``; of deeper trees, of any that the search finds. If the rounds ended by themselves, the two differ by
        no more than the share `tol` of ``bound``. None if Ctrl-C ended them.
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

    subsample = 1.0

    _rules: ClassVar[Mapping[str, Rule]] = {
        "cost_scale": Number(float, 0, open_low=True, optional=True),
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
        cost_scale: float | None = None,
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
        self.cost_scale = cost_scale
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

    _claim = "the least objective of any vectors of any learners that the search finds; that of the model"

    def _proven(self, data: TrainingData) -> tuple[float, float] | None:
        value, bound = self._objective(data)
        gap = 1.0 - value / bound if bound > 0.0 else 0.0
        if self.n_iter_ == self.n_estimators and data.validation is None and gap > self.tol:
            message = UNFINISHED.format(name=type(self).__name__, rounds=self.n_iter_, gap=gap, tol=self.tol)
            warn_caller(message, ConvergenceWarning)
        return value, bound

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
