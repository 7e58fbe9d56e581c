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
from minrisk.validation import Depth, Number, Rule

if TYPE_CHECKING:
    from minrisk.rows.costs import CostFacts


class BAdaCostClassifier(RecipeClassifier):
    """AdaBoost of multi-class trees whose margins are weighed by a cost matrix; with 0/1 costs it is SAMME.

    f(x) = sum_t beta_t Y[T_t(x)] with classes T_t(x), and Y[k] the margin vector of class k, 1 at k and -1 / (K - 1)
    elsewhere. With C* = C - diag(row sums of C) the rounds lower

        1 / W sum_n w_n exp(C*_y f(x_n)),        y = y_n, C*_y row y of C*,

    and the decision is argmin_k C*_k f(x). Given a tree, beta minimises sum_lk S_lk exp(beta C*_l Y_k), S_lk the weight
    of the rows of class l that it calls k: convex, and one number.

    In plain words: a vote for the right class lowers a row's weight by all that its mistakes may cost, and a vote for a
    wrong one raises it by about what that mistake costs.

    Parameters
    ----------
    cost : optional
        What each mistake costs: a K x K table (rows are true classes, columns are decisions), DataFrame, dict of
        dicts, CSV file or `minrisk.CostMatrix`; a table without labels stands in the order of `classes_`, which is
        sorted. Default: every mistake costs 1. Costs per row and decisions that are no class are refused: the decision
        needs C*.
    n_estimators : int, default=200
        Largest number of rounds.
    learning_rate : float, default=1.0
        Factor on every beta_t; the paper's experiments shrink it.
    max_depth : int, default=3
        Depth of the trees, which have up to 2^max_depth leaves.
    smoothing : float, optional
        Weight of phantom rows, as a share of the loss, spread evenly over the pairs of a class and an answer. Without
        any beta is infinite where a tree decides every row rightly. Default: one divided by the number of rows.
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
    classes_, decisions_, cost_, n_iter_, train_risk_, validation_risk_, feature_importances_, n_features_in_
        As in `REBELClassifier`.
    model_ : AdditiveModel
        H = -C* f, with C* of the costs over their largest.
    train_loss_ : ndarray of shape (n_iter_ + 1,)
        The loss before round 1 and after every round.

    Notes
    -----
    With 0/1 costs, and no smoothing, H = K f, and a round adds alpha (1[k = T(x)] - 1 / K) to score k, with SAMME's
    alpha = ln((1 - e) / e) + ln(K - 1), e the weighted share of errors; beta is (K - 1) / K^2 alpha, SAMME's own
    (K - 1)^2 / K alpha over the factor K (K - 1) between the two losses' exponents. There `predict_proba` is the
    softmax of H.

    *What the loss is least at.* Let u > 0 be the vector with u C* = 0: up to a factor it is the one with which
    sum_l u_l C_lk = u_k sum_j C_kj. All H have u H = 0, and of these sum_k p_k exp(-H_k) is least at
    H_k = ln(p_k / u_k) + const. The decision there is argmax_k p_k / u_k. For symmetric costs u is constant: the
    decision is the most probable class, whatever the costs say. With other costs of three classes and more it is not
    always the one of least expected cost either; of two classes it is.

    See Also
    --------
    REBELClassifier : Its loss is least where the expected cost is.

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
        "smoothing": Number(float, 0, optional=True),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        n_estimators: int = 200,
        learning_rate: float = 1.0,
        max_depth: int = 3,
        smoothing: float | None = None,
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
            smoothing=1.0 / max(1, costs.n_rows) if self.smoothing is None else self.smoothing,
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
