"""GradBoost with l1/l2 regularisation: boosting of the multi-class log-loss whose stumps come and go as a whole.

J. Duchi and Y. Singer, "Boosting with structural sparsity", ICML 2009.

==============================  ============================  =========================================
paper                           here                          where
==============================  ============================  =========================================
multi-class logistic loss       ``GuessAverseLoss("gll")``    `minrisk.losses.guess_averse`
w_j in R^K, l1/l2 of W          vectors, ``nu``               `minrisk.steps.mixed_norm`
upper bound, shrinkage          ``MixedNormStep``             `minrisk.steps.mixed_norm`
feature induction               ``LargestNormStumps``         `minrisk.learners.largest_norm`
==============================  ============================  =========================================

Left open by the paper: the templates, which say what moves together. Here a round has two: the stump of the longest
edge alone, which is the induction of features, and then all learners whose vectors are not 0, which is the pruning
backwards. The bound of the curvature is that of any softmax, 1/2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from minrisk._typing import FloatArray
from minrisk.algorithms.base import RecipeClassifier
from minrisk.validation import Number, Rule, n_drawn


class GradBoostClassifier(RecipeClassifier):
    """Coordinate descent on the log-loss of stumps with a penalty on the length of each stump's vector.

    H(x) = sum_t f_t(x) w_t with f_t(x) in {-1, +1}; the decision is the largest entry. The rounds lower

        1 / W sum_n w_n log(1 + sum_{k != y} c_nk exp(H_nk - H_ny)) + nu sum_t |w_t|_2,

    with c = 1 in the paper. Each takes the stump along which the loss falls fastest, |g|_2 being the largest, and moves
    its vector to where an upper bound of the objective is least; then all vectors that are not 0 move likewise. The
    penalty makes vectors exactly 0, and rounds end where no stump has |g|_2 > nu and none moves.

    In plain words: a learner is there for all classes or for none, and one that others have made needless is dropped.

    Parameters
    ----------
    cost : optional
        As in `REBELClassifier`. Default: every mistake costs 1, the paper's case.
    nu : float, default=1e-4
        Weight of the penalty.
    n_estimators : int, default=200
        Largest number of rounds.
    tol : float, default=1e-5
        Rounds end when no stump's |g|_2 exceeds `nu` by more than this share and the objective falls by less than it.
    binning, max_bins, max_features, warm_start, class_weight, categorical_features, n_jobs, random_state, verbose
        As in `REBELClassifier`.

    Attributes
    ----------
    classes_, decisions_, cost_, model_, n_iter_, train_risk_, feature_importances_, n_features_in_
        As in `REBELClassifier`; row t of ``model_.vectors`` is w_t. A stump that came again has a vector of 0.
    train_loss_ : ndarray of shape (n_iter_ + 1,)
        The loss without the penalty, before round 1 and after every round.

    Notes
    -----
    Training keeps the responses of all learners. The model holds the last vectors only: what `staged_predict` and its
    kin show are its first t learners, not what was the model after t rounds.

    See Also
    --------
    MultiBoostClassifier : All vectors optimised anew in every round, with |W|_1 or its squares.

    References
    ----------
    .. [1] J. Duchi and Y. Singer, "Boosting with structural sparsity", ICML 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import GradBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = GradBoostClassifier(n_estimators=50).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.97
    """

    early_stopping = False
    subsample = 1.0

    _rules: ClassVar[Mapping[str, Rule]] = {
        **{
            name: RecipeClassifier._rules[name]
            for name in (
                "n_estimators", "binning", "max_bins", "max_features", "warm_start", "class_weight",
                "categorical_features", "n_jobs", "random_state", "verbose",
            )
        },
        "nu": Number(float, 0),
        "tol": Number(float, 0),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        nu: float = 1e-4,
        n_estimators: int = 200,
        tol: float = 1e-5,
        binning: str = "quantile",
        max_bins: int | None = None,
        max_features: float = 1.0,
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
        self.binning = binning
        self.max_bins = max_bins
        self.max_features = max_features
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.largest_norm import LargestNormStumps
        from minrisk.losses.guess_averse import GuessAverseLoss
        from minrisk.steps.mixed_norm import MixedNormStep

        return Recipe(
            loss=GuessAverseLoss("gll"),
            family=LargestNormStumps(thresholds, self.nu, self.tol),
            solver=MixedNormStep(self.nu),
            max_features=n_drawn(self.max_features, len(thresholds)),
        )
