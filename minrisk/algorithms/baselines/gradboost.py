"""GradBoost with l1/l2 or l1/linf regularisation: boosting of the log-loss whose stumps come and go as a whole.

J. Duchi and Y. Singer, "Boosting with structural sparsity", ICML 2009.

==============================  ============================  =========================================
paper                           here                          where
==============================  ============================  =========================================
multi-class logistic loss       ``GuessAverseLoss("gll")``    `minrisk.losses.guess_averse`
w_j in R^K, l1/l2 of W or       vectors, ``nu``, ``norm``     `minrisk.steps.mixed_norm`
l1/linf of W
upper bound, shrinkage          ``MixedNormStep``             `minrisk.steps.mixed_norm`
feature induction               ``LargestNormStumps``         `minrisk.learners.largest_norm`
==============================  ============================  =========================================

Left open by the paper: the templates, which say what moves together. Here a round has two: the stump of the longest
edge alone, which is the induction of features, and then all learners whose vectors are not 0, this one too, which is
the pruning backwards. The bound of the curvature is that of any softmax, 1/2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from minrisk._typing import FloatArray
from minrisk.algorithms.base import RecipeClassifier
from minrisk.algorithms.pairwise import CORRECTIVE_RULES
from minrisk.estimator.parameters import Choice, Number, Rule, n_drawn


class GradBoostClassifier(RecipeClassifier):
    r"""Coordinate descent on the log-loss of stumps, with a penalty on the norm of each stump's vector.

    The scores are :math:`H(x) = \sum_t f_t(x) \, w_t` with stumps :math:`f_t(x) \in \{-1, +1\}`; the decision is the
    largest entry. The rounds lower

    .. math:: \frac1W \sum_n w_n \log\Big(1 + \sum_{k \ne y_n} c_{nk} \exp(H_{nk} - H_{n y_n})\Big) + \nu \sum_t \lVert
       w_t \rVert,

    with c = 1 in the paper and the length or the largest entry of a vector as its norm.
    Each round takes the stump along which the loss falls fastest and moves its vector to where an upper bound of the
    objective is least. Then all vectors that are not 0 move in the same way.
    The penalty makes vectors exactly 0.
    In plain words: a learner is there for all classes or for none, and one that others have made needless is dropped.

    Parameters
    ----------
    cost : array-like of shape (K, D), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        What each decision costs for each true class: rows are true classes, columns are decisions.
        A table without labels has its rows and columns in the order of `classes_`, which is sorted.
        By default every mistake costs 1.
    cost_scale : float, optional
        What costs are divided by in the loss, which depends on their size. By default they count as stated, as in the
        paper; the mean cost of a mistake makes the loss independent of their unit.
    nu : float, default=1e-4
        Weight of the penalty.
    norm : {"l2", "linf"}, default="l2"
        What the penalty sums over the vectors: "l2" their lengths, "linf" the sizes of their largest entries, which
        leaves several entries of a vector as large as its largest.
    n_estimators : int, default=200
        Largest number of rounds.
    tol : float, default=1e-5
        Rounds end when the gradient of no stump is above `nu` by more than this share and the objective falls by less
        than this share. The gradient's norm is its length if `norm` is "l2", and the sum of its entries' sizes if it is
        "linf".
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
        Whether to keep the vectors of every round, T (T + 1) / 2 of them in memory and in model files.
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
    decisions_ : ndarray of shape (D,)
        What `predict` may return: the classes, and then other decisions that the costs name.
    cost_ : CostMatrix or None
        Costs of the fit; None if they were given for each row.
    model_ : AdditiveModel
        The scores H. Row t of ``model_.vectors`` is w_t; many are 0: of stumps that came again, and of
        those that others have made needless.
    n_iter_ : int
        Number of rounds kept, T below.
    train_loss_ : ndarray of shape (T + 1,)
        The loss without the penalty, before round 1 and after every round.
    train_risk_ : ndarray of shape (T + 1,)
        Mean cost of the decisions about the training rows, before round 1 and after every round.
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
    MultiBoostClassifier : All vectors are optimised again in every round, with another penalty.

    Notes
    -----
    As in the paper: the defaults, with 0/1 costs and `nu` by cross-validation. It leaves open which vectors move
    together.

    Training keeps the responses of all learners.

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

    subsample = 1.0

    _rules: ClassVar[Mapping[str, Rule]] = {
        "cost_scale": Number(float, 0, open_low=True, optional=True),
        **CORRECTIVE_RULES,
        "nu": Number(float, 0),
        "norm": Choice(("l2", "linf")),
        "tol": Number(float, 0),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        cost_scale: float | None = None,
        nu: float = 1e-4,
        norm: str = "l2",
        n_estimators: int = 200,
        tol: float = 1e-5,
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
        self.norm = norm
        self.n_estimators = n_estimators
        self.tol = tol
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

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.largest_norm import LargestNormStumps
        from minrisk.losses.guess_averse import GuessAverseLoss
        from minrisk.steps.mixed_norm import MixedNormStep

        return Recipe(
            loss=GuessAverseLoss("gll"),
            family=LargestNormStumps(thresholds, self.nu, self.norm, self.tol),
            solver=MixedNormStep(self.nu, self.norm),
            max_features=n_drawn(self.max_features, len(thresholds)),
        )
