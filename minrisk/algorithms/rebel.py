"""REBEL: risk estimation boosting using an exponential loss.

R. Appel, X. Burgos-Artizzu and P. Perona, "Improved Multi-Class Cost-Sensitive Boosting via Estimation of the
Minimum-Risk Class", NIPS 2016.

==========================  ===========================  ======================================
paper                       here                         where
==========================  ===========================  ======================================
L, Eq. (2), (4)             ``CoupledLoss``              `minrisk.losses.coupled`
w+, w-, S.6                 ``coupled_gradients``        `minrisk._kernels.losses`
s+ + s-, s- - s+            ``mass``, ``edges()``        `minrisk.rows.base`
a*, S.6                     ``ClosedFormStep``           `minrisk.steps.closed_form`
argmin over f, a; Sec. 3    ``best_stump``               `minrisk._kernels.split`
... of the logistic loss    ``exact_stump``              `minrisk.learners.exact_stump`
growing, Sec. 4 steps 1-3   ``GreedyTrees``              `minrisk.learners.greedy_tree`
L*, L_bullet, Eq. (4), (5)  ``zero_risk_loss``           `minrisk.losses.coupled`
a_0, Eq. (3)                ``fit_intercept``            `minrisk.boosting.loop`
==========================  ===========================  ======================================

Deviations: a* is smoothed (the paper divides by zero on separable data); a_0 is fitted by default (the paper leaves it
0); `offset="tight"` by default; thresholds at quantiles by default; a constant leaf stays a leaf; no entry of a* is
above 18 in size (`minrisk.steps.base.LARGEST_STEP`), beyond which it would be infinite on separable data without
smoothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from minrisk._typing import FloatArray
from minrisk.algorithms.base import RecipeClassifier
from minrisk.algorithms.coupled import CoupledClassifier
from minrisk.estimator.parameters import Choice, Depth, Flag, Number, Rule, SmoothFunction, TargetLoss, loss_to_reach

if TYPE_CHECKING:
    from minrisk.learners.base import LearnerFamily
    from minrisk.losses.coupled import CoupledLoss
    from minrisk.steps.base import StepSolver

EACH_ROUND = "each round"
SIGN_SMOOTHING = 1e-3  # of responses -1 and +1, as a share of what can be lost: docs/more/developers/design.md


class Constant(Rule):
    """How the constant term is found."""

    def accepts(self, value: Any) -> bool:
        """Whether it is a truth value or the name of the third way."""
        return Flag().accepts(value) or (isinstance(value, str) and value == EACH_ROUND)

    def plain(self, value: Any) -> Any:
        """A truth value or the name."""
        return str(value) if isinstance(value, str) else bool(value)

    def __str__(self) -> str:
        return f"True, False or {EACH_ROUND!r}"


class REBELClassifier(CoupledClassifier):
    r"""Boosting of shared binary trees that estimates the decision of least expected cost directly.

    The scores are

    .. math:: H(x) = a_0 + \sum_t f_t(x) \, a_t, \qquad f_t(x) \in \{-1, +1\}, \quad a_t \in \mathbb{R}^D,

    and the decision is the largest entry of H.
    Each round chooses a tree :math:`f_t`, which all decisions share, and a free vector :math:`a_t` so that together
    they lower the loss most:

    .. math:: L(H) = \frac{1}{W} \sum_n w_n \Big[ \beta_n + \frac12 \sum_k \big( c^+_{nk} F(H_{nk}) + c^-_{nk}
       F(-H_{nk}) \big) \Big].

    Here c is what each decision costs for the row, :math:`c^+ = c - \beta` and :math:`c^- = \max c - c`.
    In plain words: the score of a cheap decision is pushed up and that of an expensive one down, each as hard as it
    matters.

    Parameters
    ----------
    cost : array-like of shape (K, D), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        What each decision costs for each true class: rows are true classes, columns are decisions.
        A table without labels has its rows and columns in the order of `classes_`, which is sorted.
        By default every mistake costs 1.
    n_estimators : int, default=200
        Largest number of rounds.
    learning_rate : float, default=1.0
        Factor on every vector a_t. The paper uses 1; smaller values need more rounds.
    weak_learner : {"tree", "stump"}, default="tree"
        The learners: "tree" grows trees of `max_depth` greedily, "stump" takes trees of depth 1.
    max_depth : int, default=4
        Depth of the trees. The paper uses up to 4.
    loss : {"exponential", "logistic", "squared"} or tuple of three functions, default="exponential"
        The function F: e^x, log2(1 + e^x) or (1 + x)^2.
        A tuple is an F of your own with its first two derivatives, elementwise on arrays. It must be convex, at least 1
        for x >= 0, at least 0 elsewhere, and fall to 0.
        The exponential loss gives a_t in closed form; the others take Newton's method.
    stump_search : {"exact", "quadratic"}, default="exact"
        How a round with the logistic loss finds its first split.
        "exact" takes the stump that lowers the loss most with its best vector, as the paper has it; "quadratic" takes
        the one of the largest fall of the quadratic approximation.
        For the other losses both are the same stump.
    offset : {"tight", "paper"}, default="tight"
        The offset beta of the costs: "tight" is min c, "paper" is sum c - (D - 1) max c.
        With either L is an upper bound of the mean cost. Both are the same for 0/1 costs, and the benchmarks compare
        them for others.
    binning : {"quantile", "uniform"}, default="quantile"
        Where thresholds may lie: "quantile" divides the rows evenly, "uniform" spaces thresholds evenly.
    max_bins : int, optional
        Number of bins of each feature, from 2 to 256.
        By default 256 if `binning` is "quantile", and 201 if it is "uniform".
    smoothing : float, optional
        Weight of two phantom rows for each decision, one of each side, as a share of what can still be lost in that
        decision.
        It keeps a_t finite if a tree separates a class perfectly.
        By default 0.001; 0 adds none.
    fit_intercept : bool or "each round", default=True
        Whether the scores start from the best constant a_0 or from 0.
        "each round" fits a_0 again together with every a_t, which gives each side of a stump a vector of its own. It
        needs the exponential loss and stumps.
    subsample : float, default=1.0
        Share of the rows drawn for each round, without replacement.
    max_features : float or int, default=1.0
        Features drawn for each round: a float is a share of them, an int is a number.
    target_loss : float, "1/n" or "zero risk", optional
        The training ends when its loss is below this number, in the unit of the costs.
        "1/n" is the loss of one mistake: below it, 0/1 costs leave no training row with a wrong decision. Where weights
        differ, n is the effective number of rows, (sum w)^2 / sum w^2, and rows of less weight may be left.
        "zero risk" is the same for any costs: below it, every training row gets its cheapest decision (Eq. 5 of the
        paper).
        By default all rounds are made.
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
    decisions_ : ndarray of shape (D,)
        What `predict` may return: the classes, and then other decisions that the costs name.
    cost_ : CostMatrix or None
        Costs of the fit; None if they were given for each row.
    model_ : AdditiveModel
        The scores H.
    n_iter_ : int
        Number of rounds kept, T below.
    train_loss_ : ndarray of shape (T + 1,)
        The loss L before round 1 and after every round.
    train_risk_ : ndarray of shape (T + 1,)
        Mean cost of the decisions about the training rows, before round 1 and after every round.
    edges_ : ndarray of shape (T,) or None
        How far the learner of each round is from a coin: 0 is no better, and 1 is right about every row and decision.
        A round multiplies the loss, its constant term left out, by at most sqrt(1 - edge^2).
        None where nothing is proven: with another loss than the exponential one, with `learning_rate` above 1, or with
        `subsample` below 1.
    certificate_ : Certificate or None
        ``value`` is the mean cost of the decisions about the training rows, and `edges_` prove that it is at most
        ``bound``. ``claim`` says so in words. None where `edges_` is, or Ctrl-C ended the rounds.
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
    LocalizedSimilaritiesClassifier : The same loss, with learners that compare rows with training points.
    MinRiskClassifier : Decisions by calibrated probabilities.

    Notes
    -----
    As in the paper: ``offset="paper", smoothing=0, fit_intercept=False, binning="uniform"``.

    If no costs are stated, ``class_weight="balanced"`` means the same as ``cost=minrisk.costs.balanced(y)``.

    The paper has a constant a_0 and does not say how it is found. Its figures for stumps are reached with
    ``fit_intercept="each round"`` only.
    Values of `smoothing` from 0 to 0.1 differ by less than chance on the data sets of the benchmarks.

    References
    ----------
    .. [1] R. Appel, X. Burgos-Artizzu and P. Perona, "Improved Multi-Class Cost-Sensitive Boosting via Estimation of
       the Minimum-Risk Class", NIPS 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import REBELClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> cost = [[0, 1, 1], [1, 0, 1], [10, 10, 0]]  # class 2 must not be missed
    >>> model = REBELClassifier(cost, n_estimators=20).fit(X[::2], y[::2])
    >>> model.predict(X[1::2])[:5]
    array([0, 0, 0, 0, 0])
    >>> round(model.score(X[1::2], y[1::2]), 2)  # 1 less the mean cost
    0.94
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        **RecipeClassifier._rules,
        "weak_learner": Choice(("stump", "tree")),
        "max_depth": Depth(),
        "loss": SmoothFunction(("exponential", "logistic", "squared")),
        "stump_search": Choice(("exact", "quadratic")),
        "offset": Choice(("paper", "tight")),
        "smoothing": Number(float, 0, optional=True),
        "fit_intercept": Constant(),
        "target_loss": TargetLoss(),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        n_estimators: int = 200,
        learning_rate: float = 1.0,
        weak_learner: str = "tree",
        max_depth: int = 4,
        loss: Any = "exponential",
        stump_search: str = "exact",
        offset: str = "tight",
        binning: str = "quantile",
        max_bins: int | None = None,
        smoothing: float | None = None,
        fit_intercept: bool | str = True,
        subsample: float = 1.0,
        max_features: float = 1.0,
        target_loss: float | str | None = None,
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
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.weak_learner = weak_learner
        self.max_depth = max_depth
        self.loss = loss
        self.stump_search = stump_search
        self.offset = offset
        self.binning = binning
        self.max_bins = max_bins
        self.smoothing = smoothing
        self.fit_intercept = fit_intercept
        self.subsample = subsample
        self.max_features = max_features
        self.target_loss = target_loss
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
    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.losses.coupled import CoupledLoss

        return Recipe(
            loss=CoupledLoss(self.loss, self.offset) if isinstance(self.loss, str) else self._own_loss(),
            family=self._family(thresholds),
            solver=self._solver(),
            smoothing=SIGN_SMOOTHING if self.smoothing is None else self.smoothing,
            fit_intercept=bool(self.fit_intercept),
            target_loss=loss_to_reach(self.target_loss, costs.stated(1.0 / costs.weight)),
            **self._shared(thresholds),
        )

    def _own_loss(self) -> CoupledLoss:
        from minrisk.losses.gamma_phi import Smooth
        from minrisk.losses.own_coupled import OwnCoupledLoss, check

        F = Smooth(*self.loss)
        check(F)
        return OwnCoupledLoss("own", self.offset, F=F)

    def _family(self, thresholds: tuple[FloatArray, ...]) -> LearnerFamily:
        from minrisk.learners.greedy_tree import GreedyTrees

        depth = 1 if self.weak_learner == "stump" else self.max_depth
        return GreedyTrees(depth, thresholds, exact=self.stump_search == "exact")

    def _solver(self) -> StepSolver:
        from minrisk.steps.closed_form import ClosedFormStep, TwoSidedStep
        from minrisk.steps.newton import NewtonStep

        if self.fit_intercept == EACH_ROUND:
            stumps = self.weak_learner == "stump" or self.max_depth == 1
            if self.loss != "exponential" or not stumps:
                raise ValueError(
                    f"fit_intercept={EACH_ROUND!r} needs loss='exponential' and weak_learner='stump', got "
                    f"loss={self.loss!r} and weak_learner={self.weak_learner!r}: use fit_intercept=True for others."
                )
            return TwoSidedStep()
        return NewtonStep() if self.loss != "exponential" else ClosedFormStep()
