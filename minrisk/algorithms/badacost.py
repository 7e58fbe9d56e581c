"""BAdaCost: multi-class boosting with costs, of multi-class trees.

A. Fernandez-Baldera, J. M. Buenaposada and L. Baumela, "BAdaCost: Multi-class boosting with costs", Pattern Recognition
2018, arXiv 2402.04465.

==============================  ============================  =========================================
paper                           here                          where
==============================  ============================  =========================================
C* = C - diag(row sums)         ``starred``                   here
Y, margin vectors               ``margin_vectors``            `minrisk.losses.codewords`
loss exp(C*_y f), CMEL          ``OwnScoreLoss``              `minrisk.losses.own_score`
-C*_k f                         ``scores``                    rows
S_lk, beta                      ``CodewordStep``              `minrisk.steps.codewords`
T                               ``VectorTrees``               `minrisk.learners.vector_tree`
==============================  ============================  =========================================

The model holds the scores H_k = -C*_k f in place of f, so that the decision argmin_k C*_k f is the largest score and
the loss exp(-H_y). A tree that answers k adds -beta C* Y_k.

Left open by the paper: how T is found. Here trees are grown by Gini's impurity under the boosting weights, and leaves
answer what lowers the loss most, first at beta = 0 and then, in turns with beta, at the beta found, until no answer
changes (the authors' program has the loss at beta = 1, of costs whose largest is 1). Deviations: no score moves by more
than 18 in a round, and phantom rows keep beta from being infinite where a tree decides all rows rightly; costs of
right decisions are taken off first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from minrisk._typing import FloatArray
from minrisk.algorithms.base import RecipeClassifier
from minrisk.estimator.parameters import Depth, Number, Rule

if TYPE_CHECKING:
    from minrisk.rows.costs import CostFacts


class BAdaCostClassifier(RecipeClassifier):
    r"""AdaBoost of multi-class trees whose margins are weighed by a cost matrix; with 0/1 costs it is SAMME.

    A margin vector :math:`Y_k` is 1 at class k and -1 / (K - 1) elsewhere, and :math:`C^* = C - \mathrm{diag}(\text{row
    sums of } C)`.
    Trees :math:`T_t` answer with classes and vote by

    .. math:: f(x) = \sum_t \beta_t \, Y_{T_t(x)}, \qquad \text{and the decision is } \arg\min_k C^*_k f(x).

    With :math:`C^*_y` the row of the true class, the rounds lower

    .. math:: \frac1W \sum_n w_n \exp\big(C^*_{y_n} f(x_n)\big).

    In plain words: a vote for the right class lowers the weight of a row by all that its mistakes may cost, and a vote
    for a wrong one raises it by about what that mistake costs.

    Parameters
    ----------
    cost : array-like of shape (K, K), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        What each decision costs for each true class: rows are true classes, columns are decisions.
        A table without labels has its rows and columns in the order of `classes_`, which is sorted.
        By default every mistake costs 1.
    n_estimators : int, default=200
        Largest number of rounds.
    learning_rate : float, default=1.0
        Factor on every beta_t. The paper's experiments use less.
    max_depth : int, default=3
        Depth of the trees, which have up to 2^max_depth leaves.
    smoothing : float, default=1e-3
        Weight of phantom rows, as a share of the loss, spread evenly over the pairs of a class and an answer.
        It keeps beta finite if a tree decides every row rightly.
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
    cost_ : CostMatrix
        Costs of the fit.
    model_ : AdditiveModel
        The scores H = -C* f, with C* of the costs divided by their largest.
    n_iter_ : int
        Number of rounds kept, T below.
    train_loss_ : ndarray of shape (T + 1,)
        Training loss before round 1 and after every round.
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
    REBELClassifier : Its loss is least where the expected cost is least.

    Notes
    -----
    As in the paper: ``smoothing=0``.

    Costs for each row and decisions that are no class are refused, because the decision needs C*.

    *SAMME.* With 0/1 costs and no smoothing, H = K f, and a round adds alpha (1[k = T(x)] - 1 / K) to score k. Here
    alpha = ln((1 - e) / e) + ln(K - 1) is SAMME's, with e the weighted share of errors; beta is (K - 1) / K^2 alpha.
    `predict_proba` is then the softmax of H.

    *What the loss is least at.* Let u > 0 be the vector with u C* = 0; up to a factor it is the one with sum_l u_l C_lk
    = u_k sum_j C_kj.
    The loss is least at H_k = ln(p_k / u_k) + const, so that the decision is the class of the largest p_k / u_k.
    For symmetric costs u is constant: the decision is then the most probable class, whatever the costs say.
    For other costs of three or more classes it is not always the decision of least expected cost either; for two
    classes it is.

    References
    ----------
    .. [1] A. Fernandez-Baldera, J. M. Buenaposada and L. Baumela, "BAdaCost: Multi-class boosting with costs", Pattern
       Recognition 79 (2018), arXiv 2402.04465.
    .. [2] J. Zhu, H. Zou, S. Rosset and T. Hastie, "Multi-class AdaBoost", Statistics and Its Interface 2 (2009).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import BAdaCostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> cost = [[0, 1, 1], [1, 0, 1], [10, 10, 0]]  # class 2 must not be missed
    >>> model = BAdaCostClassifier(cost, n_estimators=20, max_depth=1).fit(X[::2], y[::2])
    >>> model.predict(X[1::2])[:5]
    array([0, 0, 0, 0, 0])
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        **RecipeClassifier._rules,
        "max_depth": Depth(),
        "smoothing": Number(float, 0),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        n_estimators: int = 200,
        learning_rate: float = 1.0,
        max_depth: int = 3,
        smoothing: float = 1e-3,
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
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.smoothing = smoothing
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
    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk._kernels.grow import GINI
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.vector_tree import VectorTrees
        from minrisk.losses.own_score import OwnScoreLoss
        from minrisk.steps.codewords import CodewordStep

        self._check_matrix()
        return Recipe(
            loss=OwnScoreLoss(centred=False),
            family=VectorTrees(2**self.max_depth, thresholds, self.max_depth, sketch=None, gain=GINI),
            solver=CodewordStep(codewords(costs)),
            smoothing=self.smoothing,
            **self._shared(thresholds),
        )

    def _check_matrix(self) -> None:
        """Refuse costs without a C*."""
        if self.cost_ is None:
            raise ValueError(
                "BAdaCostClassifier decides by a cost matrix, which costs per row are not: pass a matrix, or train "
                "with REBELClassifier."
            )
        if self.decisions_.tolist() != self.classes_.tolist():
            raise ValueError(
                "BAdaCostClassifier has a margin vector for each class and no other decision, got the decisions "
                f"{self.decisions_.tolist()} for the classes {self.classes_.tolist()}: train without others, or with "
                "REBELClassifier."
            )


def starred(table: FloatArray) -> FloatArray:
    """C* of a cost matrix (K, K), over its largest cost; what a right decision costs is taken for 0."""
    C = np.array(table)
    np.fill_diagonal(C, 0.0)
    C /= C.max() or 1.0
    np.fill_diagonal(C, -C.sum(axis=1))
    return C


def codewords(costs: CostFacts) -> FloatArray:
    """What a vote adds to the scores: row k is -C* Y_k, (K, K)."""
    from minrisk.losses.codewords import margin_vectors

    assert costs.table is not None  # as checked
    return np.ascontiguousarray(-(starred(costs.table) @ margin_vectors(len(costs.table)).T).T)
