"""AOSO-LogitBoost: softmax boosting in which every node of a tree moves two classes against each other.

P. Sun, M. D. Reid and J. Zhou, "AOSO-LogitBoost: Adaptive one-vs-one LogitBoost for multi-class problem", ICML 2012,
arXiv 1110.3907.

==============================  ============================  =========================================
paper                           here                          where
==============================  ============================  =========================================
logistic loss, p                ``GuessAverseLoss("gll")``    `minrisk.losses.guess_averse`
gradient g, Hessian h           ``edge``, ``mass``,           rows, `minrisk._kernels.grow`
                                ``product_sums``
the pair of a node              ``PairGrowth``                `minrisk.rows.growth`
node gain g^2 / h, split gain   gain ``NEWTON``               `minrisk._kernels.grow`
node value (+t, -t)             ``PairedNewton``              `minrisk.learners.paired`
==============================  ============================  =========================================

The pair of a node is chosen in time by K, as in the authors' program: r with the largest edge, then s by the fall of
the second order. To try all pairs would take K^2. Deviations: curvatures get a share of the mean of all rows, without
which a node of few rows that are decided surely and wrongly gains any amount; no step is above 4 (there 5), and nodes
of up to five rows may be split; costs may enter the loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from minrisk._typing import FloatArray
from minrisk.algorithms.baselines.base import BaselineClassifier
from minrisk.validation import Number, Rule


class AOSOLogitBoostClassifier(BaselineClassifier):
    r"""LogitBoost of vector trees: in each leaf one class's score rises as much as another's falls.

    The scores are :math:`H(x) = \sum_t h_t(x)`. Each leaf of a tree adds a number t to the score of one class r and
    takes it from that of another, s; the decision is the largest entry of H. The rounds lower

    .. math:: \frac1W \sum_n w_n \log\Big(1 + \sum_{k \ne y_n} c_{nk} \exp(H_{nk} - H_{n y_n})\Big),

    with c = 1 in the paper: minus the logarithm of the softmax at the true class.
    With edges G and the Hessian h, summed over the rows of a node, the pair of the node and the step of a leaf are

    .. math:: r = \arg\max_r G_r, \quad s = \arg\max_s \frac{(G_r - G_s)^2}{h_{rr} + h_{ss} - 2 h_{rs}}, \quad
       t = \frac{G_r - G_s}{h_{rr} + h_{ss} - 2 h_{rs}}.

    Parameters
    ----------
    cost : array-like of shape (K, D), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        What each decision costs for each true class: rows are true classes, columns are decisions.
        A table without labels has its rows and columns in the order of `classes_`, which is sorted.
        By default every mistake costs 1.
    cost_scale : float, optional
        What costs are divided by in the loss, which depends on their size. By default they count as stated, as in the
        paper; the mean cost of a mistake makes the loss independent of their unit.
    n_estimators : int, default=200
        Largest number of rounds.
    learning_rate : float, default=0.1
        Factor on every t: shrinkage, as is usual for LogitBoost.
    max_depth : int, default=3
        Depth of the trees, which have up to 2^max_depth leaves and grow best leaf first.
        1 makes stumps.
    smoothing : float, default=1e-3
        Curvature of phantom rows in every node, as a share of the mean over the classes of all rows' curvature.
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
    GentleBoostClassifier : Newton's steps for all classes.

    Notes
    -----
    As in the paper: ``smoothing=0``, with 0/1 costs.

    With two classes there is one pair, and the difference of the scores is LogitBoost's log-odds. No step is above 4.

    References
    ----------
    .. [1] P. Sun, M. D. Reid and J. Zhou, "AOSO-LogitBoost: Adaptive one-vs-one LogitBoost for multi-class problem",
       ICML 2012, arXiv 1110.3907.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import AOSOLogitBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AOSOLogitBoostClassifier(n_estimators=50).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.94
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        **BaselineClassifier._rules,
        "cost_scale": Number(float, 0, open_low=True, optional=True),
        "smoothing": Number(float, 0),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        cost_scale: float | None = None,
        n_estimators: int = 200,
        learning_rate: float = 0.1,
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
        self.cost_scale = cost_scale
        self.smoothing = smoothing

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.paired import PairedNewton, PairedTrees
        from minrisk.losses.guess_averse import GuessAverseLoss

        return Recipe(
            loss=GuessAverseLoss("gll"),
            family=PairedTrees(2**self.max_depth, self.max_depth, thresholds, self.smoothing),
            solver=PairedNewton(self.smoothing),
            **self._shared(thresholds),
        )
