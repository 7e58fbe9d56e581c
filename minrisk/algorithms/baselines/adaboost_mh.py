"""AdaBoost.MH: every pair of a row and a label is an example, right or wrong.

R. E. Schapire and Y. Singer, "Improved boosting algorithms using confidence-rated predictions", Machine Learning 1999.

==============================  ============================  =========================================
paper                           here                          where
==============================  ============================  =========================================
D(i, l), Sec. 7                 ``mass`` over its sum         rows
Y[l], the label or not          sign of ``edge``              rows
W+, W- of a block, Eq. (8)      ``leaf_sums``                 `minrisk.rows.base`
c = 1/2 ln(W+ / W-), Eq. (9)    ``LeafClosedForm``            `minrisk.steps.leaf_vectors`
Z = 2 sum sqrt(W+ W-), (10)     gain ``EXACT``                `minrisk._kernels.grow`
alpha, r: Sec. 3.1              ``VoteStep``                  `minrisk.steps.votes`
eps of Sec. 4.2                 ``smoothing``                 here
==============================  ============================  =========================================

Left open by the paper: how the blocks of the domain are found; here by trees, of which stumps are the least. With -1
and +1 the search takes the largest r, sum over blocks and labels of |W+ - W-|; where no split raises it the votes are
the same for all rows.

A deviation: eps of Sec. 4.2 is 0.001 by default and not one divided by the number of rows, so that a row of weight 2 is
the row twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from minrisk._typing import FloatArray
from minrisk.algorithms.baselines.base import BaselineClassifier
from minrisk.estimator.parameters import Choice, Number, Rule


class AdaBoostMHClassifier(BaselineClassifier):
    r"""AdaBoost on the K labels of every row: each is asked whether it is the right one.

    The scores are :math:`H(x) = \sum_t h_t(x)` with trees that all labels share and whose leaves hold K numbers; the
    decision is the largest entry. Each round lowers

    .. math:: \frac{1}{2W} \sum_n w_n \sum_k D_{nk} \exp(-Y_{nk} H_{nk}),

    where :math:`Y_{nk}` is 1 if k is the label of row n, and else -1. D is 1 in the paper.
    With costs, wrong labels weigh what they cost, and in place of the term of the true label every label has a term
    :math:`(\max c - c_k) \exp(-H_k)`.
    That is the loss of `REBELClassifier` with the offset "tight", of which AdaBoost.MH is the case of 0/1 costs.

    Parameters
    ----------
    cost : array-like of shape (K, D), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        What each decision costs for each true class: rows are true classes, columns are decisions.
        A table without labels has its rows and columns in the order of `classes_`, which is sorted.
        By default every mistake costs 1.
    response : {"real", "sign"}, default="real"
        "real" leaves the numbers of a leaf free (real AdaBoost.MH).
        "sign" makes them -1 or +1, times one rate for the tree (discrete AdaBoost.MH).
    n_estimators : int, default=200
        Largest number of rounds.
    learning_rate : float, default=1.0
        Factor on what every round adds to the scores.
        Smaller values need more rounds.
    max_depth : int, default=1
        Depth of the trees, which have up to 2^max_depth leaves and grow best leaf first.
        1 makes stumps.
    smoothing : float, default=1e-3
        Weight of two phantom rows in every leaf for each label, as a share of what can still be lost in that label.
        The paper has one divided by the number of rows, which a row and its copies do not agree about.
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
    decisions_ : ndarray of shape (D,)
        What `predict` may return: the classes, and then other decisions that the costs name.
    cost_ : CostMatrix or None
        Costs of the fit; None if they were given for each row.
    model_ : AdditiveModel
        The scores H.
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
    AdaBoostMOClassifier : The same on the bits of an output code.
    GentleBoostClassifier : Newton's steps on the same loss.

    Notes
    -----
    As in the paper: ``smoothing=0``, with 0/1 costs.

    With two classes the method is real AdaBoost, and with "sign" it is AdaBoost.

    Real AdaBoost.MH of stumps on 0/1 costs is ``REBELClassifier(weak_learner="stump", fit_intercept="each round")``:
    without smoothing the two make the same scores.

    References
    ----------
    .. [1] R. E. Schapire and Y. Singer, "Improved boosting algorithms using confidence-rated predictions", Machine
       Learning 37 (1999).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import AdaBoostMHClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AdaBoostMHClassifier(n_estimators=20).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.97
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        **BaselineClassifier._rules,
        "response": Choice(("real", "sign")),
        "smoothing": Number(float, 0),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        response: str = "real",
        n_estimators: int = 200,
        learning_rate: float = 1.0,
        max_depth: int = 1,
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
        super().__init__(
            cost,
            n_estimators=n_estimators,
            learning_rate=learning_rate,
            max_depth=max_depth,
            binning=binning,
            max_bins=max_bins,
            subsample=subsample,
            max_features=max_features,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            warm_start=warm_start,
            class_weight=class_weight,
            categorical_features=categorical_features,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.response = response
        self.smoothing = smoothing

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk._kernels.grow import ABSOLUTE
        from minrisk.boosting.loop import Recipe
        from minrisk.losses.coupled import CoupledLoss
        from minrisk.steps.leaf_vectors import LeafClosedForm
        from minrisk.steps.votes import VoteStep

        real = self.response == "real"
        return Recipe(
            loss=CoupledLoss("exponential", "tight"),
            family=self._trees(thresholds) if real else self._trees(thresholds, ABSOLUTE, constants=True),
            solver=LeafClosedForm() if real else VoteStep(),
            smoothing=self.smoothing,
            **self._shared(thresholds),
        )
