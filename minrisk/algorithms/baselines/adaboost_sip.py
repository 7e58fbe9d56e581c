"""AdaBoost.SIP: the partition of the classes is found together with the learner that tells its sides apart.

B. Zhang, G. Ye, Y. Wang, J. Xu and G. Herman, "Finding shareable informative patterns and optimal coding matrix for
multiclass boosting", ICCV 2009. Its text was not at hand. Its abstract says that patterns are sought that classes
share; that the partition of the classes that a pattern prefers is found by stage-wise functional gradient descent on a
cost of margins; and that learners and columns of the coding matrix are optimised together, by the largest negative
gradient. What follows is our reading of that, on the loss of AdaBoost.ECC, which names no other:

==============================  ============================  =========================================
abstract                        here                          where
==============================  ============================  =========================================
cost of margins                 ``GuessAverseLoss("gel")``    `minrisk.losses.guess_averse`
pattern h in {-1, +1}           a stump, or a tree of signs   `minrisk.learners.greedy_tree`
negative gradient               1/2 sum_k mu_k E_k(h)         `minrisk.learners.coloured`
preferred partition mu          sign E_k(h)                   `minrisk.learners.coloured`
largest of it, of h and mu      ``ABSOLUTE_EDGE_GAIN``        `minrisk._kernels.split`
step along h mu                 ``PartitionStep``             `minrisk.learners.coloured`
==============================  ============================  =========================================

With F = 1/2 sum_t g_t h_t mu_t, along one more h mu the loss sum_n sum_{k != y} exp(F_nk - F_ny) falls at first by
1/2 sum_k mu_k E_k(h), E_k(h) = sum_n h(x_n) e_nk, e minus the gradient. For given h no mu in {-1, +1}^K does better
than sign E_k, which leaves sum_k |E_k(h)| to be maximised over h: for stumps exactly, by one histogram. (The gain
``ABSOLUTE`` of `minrisk._kernels.grow` is another one: there each side would have a partition of its own.)

Ours as well: the step, one g for both answers of h, at the minimum of the loss; smoothing; trees, which the abstract
does not mention; and the search over all stumps of all features, where the paper has patterns of its images.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from minrisk._typing import FloatArray
from minrisk.algorithms.baselines.base import BaselineClassifier
from minrisk.estimator.parameters import Number, Rule


class AdaBoostSIPClassifier(BaselineClassifier):
    r"""Boosting of binary learners, each with the partition of the classes that it separates best.

    The scores are

    .. math:: H(x) = \frac12 \sum_t g_t \, h_t(x) \, \mu_t, \qquad h_t(x) \in \{-1, +1\}, \quad \mu_t \in \{-1, +1\}^K,

    with learners :math:`h_t` and partitions :math:`\mu_t`; the decision is the largest entry. The rounds lower

    .. math:: \frac1W \sum_n w_n \sum_{k \ne y_n} c_{nk} \exp(H_{nk} - H_{n y_n}),

    with c = 1 in the paper. Among all stumps and all partitions, the pair is taken along which the loss falls fastest.
    In plain words: AdaBoost.ECC draws two groups of classes and then asks how to tell them apart.
    Here every question is asked which groups it tells apart, and the best one is kept.

    Parameters
    ----------
    cost : array-like of shape (K, D), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        What each decision costs for each true class: rows are true classes, columns are decisions.
        A table without labels has its rows and columns in the order of `classes_`, which is sorted.
        By default every mistake costs 1.
    n_estimators : int, default=200
        Largest number of rounds.
    learning_rate : float, default=1.0
        Factor on what every round adds to the scores.
        Smaller values need more rounds.
    max_depth : int, default=1
        Depth of the trees; 1 makes stumps.
        A tree is deepened layer by layer for the partition of its stump, and then gets the partition that fits the
        whole tree.
    smoothing : float, default=1e-3
        Weight of phantom rows on either side of a learner, as a share of the weight of all rows.
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
        The scores H. The signs of row t of ``model_.vectors`` are mu_t.
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
    AdaBoostECCClassifier : Partitions are drawn.
    StagewiseMCBoostClassifier : Any vectors in place of partitions.

    Notes
    -----
    As in the abstract of the paper: ``smoothing=0``, with 0/1 costs and stumps.

    With two classes there is one partition, and the method is AdaBoost of stumps.
    The loss is that of ``MCBoostClassifier(loss="gel")``.

    The implementation follows the abstract of the paper. The step, the smoothing, the trees and the search over all
    stumps are choices of this package.

    References
    ----------
    .. [1] B. Zhang, G. Ye, Y. Wang, J. Xu and G. Herman, "Finding shareable informative patterns and optimal coding
       matrix for multiclass boosting", ICCV 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import AdaBoostSIPClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AdaBoostSIPClassifier(n_estimators=30).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.98
    """

    _rules: ClassVar[Mapping[str, Rule]] = {**BaselineClassifier._rules, "smoothing": Number(float, 0)}

    def __init__(
        self,
        cost: Any = None,
        *,
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
        self.smoothing = smoothing

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.coloured import PartitionStep, SharedPatterns
        from minrisk.losses.guess_averse import GuessAverseLoss

        return Recipe(
            loss=GuessAverseLoss("gel"),
            family=SharedPatterns(self.max_depth, thresholds),
            solver=PartitionStep(self.smoothing),
            **self._shared(thresholds),
        )
