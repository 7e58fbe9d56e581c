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
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from minrisk._typing import FloatArray
from minrisk.algorithms.base import RecipeClassifier
from minrisk.validation import Choice, Depth, Flag, Number, Rule, TargetLoss, loss_to_reach

if TYPE_CHECKING:
    from minrisk.learners.base import LearnerFamily
    from minrisk.steps.base import StepSolver

EACH_ROUND = "each round"
SIGN_SMOOTHING = 1e-3  # of responses -1 and +1, as a share of what can be lost: docs/more/developers/design.md


class Constant(NamedTuple):
    """How the constant term is found."""

    def accepts(self, value: Any) -> bool:
        """Whether it is a truth value or the name of the third way."""
        return Flag().accepts(value) or (isinstance(value, str) and value == EACH_ROUND)

    def plain(self, value: Any) -> Any:
        """A truth value or the name."""
        return str(value) if isinstance(value, str) else bool(value)

    def __str__(self) -> str:
        return f"True, False or {EACH_ROUND!r}"


class REBELClassifier(RecipeClassifier):
    """Boosting of shared binary trees that estimates the decision of least expected cost directly.

    H(x) = a_0 + sum_t f_t(x) a_t with f_t(x) in {-1, +1} and a_t in R^D; the decision is the largest entry of H. Each
    round chooses the tree f_t, shared by all decisions, and the free vector a_t that together lower

        L(H) = 1/W sum_n w_n [ beta_n + 1/2 sum_k ( c+_nk F(H_nk) + c-_nk F(-H_nk) ) ]

    most, where c is the row's cost, c+ = c - beta and c- = max c - c. In plain words: the score of a cheap decision is
    pushed up and that of a dear one down, each as hard as it matters.

    Parameters
    ----------
    cost : optional
        What each mistake costs: a K x D table (rows are true classes, columns are decisions), DataFrame, dict of
        dicts, CSV file or `minrisk.CostMatrix`; a table without labels stands in the order of `classes_`, which is
        sorted. Default: every mistake costs 1.
    n_estimators : int, default=200
        Largest number of rounds.
    learning_rate : float, default=1.0
        Factor on every a_t; 1 is the paper's, smaller values need more rounds.
    weak_learner : {"tree", "stump"}, default="tree"
        Greedily grown trees of `max_depth`, or trees of depth 1.
    max_depth : int, default=4
        Depth of the trees; the paper uses up to 4.
    loss : {"exponential", "logistic", "squared"}, default="exponential"
        F(x) = e^x (a_t in closed form where f_t is -1 or +1), log2(1 + e^x) or (1 + x)^2 (by Newton's method).
    stump_search : {"exact", "quadratic"}, default="exact"
        Of the logistic loss: each round begins with the stump that lowers it most with the best vector, as the paper
        has it, or with the one of the largest E^2 / (2 M), the fall of the quadratic approximation. Of the other losses
        both are the same stump.
    offset : {"tight", "paper"}, default="tight"
        beta = min c, or beta = sum c - (D - 1) max c as in the paper, with which L bounds the risk from above. The two
        agree for 0/1 costs; for other costs the tight one had about half the mean cost on eight data sets
        (``docs/more/benchmarks.md``).
    binning : {"quantile", "uniform"}, default="quantile"
        Thresholds that divide the rows evenly, or 200 evenly spaced ones (the paper's footnote 1).
    max_bins : int, optional
        2 to 256; default 256 for "quantile", 201 for "uniform".
    smoothing : float, optional
        Weight of two phantom rows per decision that no learner can tell apart, as a share of what can still be lost in
        that decision. Without it a_t is infinite where a tree separates a class perfectly. Default: 0.001; values from
        0 to 0.1 were found to differ by less than chance. None at all leaves steps to rounding.
    fit_intercept : bool or "each round", default=True
        Start from the best constant a_0, or from 0. "each round" fits a_0 anew together with every a_t, which gives
        either side of a stump a vector of its own; with exponential loss and stumps only. The paper has an a_0 and does
        not say how it is found; its figures for stumps are reached in this way only (``docs/more/papers/rebel.md``).
    subsample : float, default=1.0
        Share of the rows drawn, without replacement, for each round.
    max_features : float or int, default=1.0
        Share or number of the features drawn for each round.
    target_loss : float, "1/n" or "zero risk", optional
        Stop when the training loss, in the unit of the costs, is below; "1/n" is the loss of one mistake, below which
        0/1 costs leave no training row that is decided wrongly; "zero risk" is the paper's L_bullet (Eq. 5), below
        which any costs leave every training row its cheapest decision; for 0/1 costs it is 1/n. Default: make all
        rounds.
    early_stopping : bool, default=False
        Set `validation_fraction` of the rows apart and keep the rounds up to the least validated mean cost.
    validation_fraction : float, default=0.1
        Share of the rows set apart.
    n_iter_no_change : int, default=20
        Stop after this many rounds without a new minimum.
    warm_start : bool, default=False
        Let `fit` go on from the last fit's rounds; the same bits as one long fit on the same data.
    class_weight : dict or "balanced", optional
        Factor on the weights of each class's rows: a number above 0 by label, 1 for labels that are not named, or
        "balanced", which is n / (K n_k) for class k of n_k of the n rows, counted by `sample_weight`, so that all
        classes weigh alike. Where no costs are stated the latter says what ``cost=minrisk.costs.balanced(y)`` says.
    categorical_features : array-like or "from_dtype", default="from_dtype"
        Columns whose numbers are names, such as postcodes: names, positions or a mask of shape (d,). Columns of text
        and of a type for categories are categories without being named.
    n_jobs : int, optional
        Threads, as in joblib: None is 1, -1 all cores. The model does not depend on it.
    random_state : int or RandomState, optional
        For `subsample`, `max_features` and the validation part.
    verbose : int, default=0
        1 draws a progress bar (with rich).

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Class labels.
    decisions_ : ndarray of shape (D,)
        What `predict` answers: the classes, then other decisions that the costs name. Of the dtype of `classes_`, or
        of the smallest that holds the others too.
    cost_ : CostMatrix or None
        Costs of the fit; None if they were given per row.
    model_ : AdditiveModel
        H.
    n_iter_ : int
        Rounds kept.
    train_loss_, train_risk_ : ndarray of shape (n_iter_ + 1,)
        L and the mean cost of the training rows before round 1 and after every round.
    validation_risk_ : ndarray or None
        Mean cost of the validation rows, likewise, over all rounds that were run.
    feature_importances_ : ndarray of shape (d,)
        Share of each feature in the relative falls of the loss.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (d,)
        Their names, if X had names that are all strings.
    columns_ : list of ColumnFacts
        Where X was a table, for each column its name, kind, number of values (of categories), number of missing cells,
        what it became, and a remark where it looks wrong. Not kept in model files.
    evals_result_ : dict
        Where `fit` had an `eval_set`: ``{"valid_0": {"cost": [...]}}``, the mean cost after each round of this fit. Not
        kept in model files.

    See Also
    --------
    LocalizedSimilaritiesClassifier : The same loss, lowered by learners that compare with training points.

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
        "loss": Choice(("exponential", "logistic", "squared")),
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
        loss: str = "exponential",
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
            loss=CoupledLoss(self.loss, self.offset),
            family=self._family(thresholds),
            solver=self._solver(),
            smoothing=SIGN_SMOOTHING if self.smoothing is None else self.smoothing,
            fit_intercept=bool(self.fit_intercept),
            target_loss=loss_to_reach(self.target_loss, costs.stated(1.0 / max(1, costs.n_rows))),
            **self._shared(thresholds),
        )

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
