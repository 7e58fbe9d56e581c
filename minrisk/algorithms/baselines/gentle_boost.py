"""GentleBoost: regression of the labels under boosting weights, in place of AdaBoost's logarithms.

J. Friedman, T. Hastie and R. Tibshirani, "Additive logistic regression: a statistical view of boosting", Annals of
Statistics 2000, Algorithm 4, of two classes. Of more there are two:

- "labels": A. Torralba, K. P. Murphy and W. T. Freeman, "Sharing visual features for multiclass and multiview object
  detection", PAMI 2007;
- "margin": H. Zou, J. Zhu and T. Hastie, "New multicategory boosting algorithms based on multicategory
  Fisher-consistent losses", Annals of Applied Statistics 2008, which PIBoost's paper compares with.

==============================  ============================  =========================================
papers                          here                          where
==============================  ============================  =========================================
J = sum_c E exp(-z^c H^c)       ``CoupledLoss``               `minrisk.losses.coupled`
w^c = exp(-z^c H^c)             ``mass``                      rows
weighted mean of z^c            ``LeafNewton``                `minrisk.steps.leaf_vectors`
weighted squared error          gain ``NEWTON``               `minrisk._kernels.grow`
exp(-f_y), sum f = 0            ``OwnScoreLoss``              `minrisk.losses.own_score`
w z^2, 1 / z                    ``aim(.., "curvature")``      `minrisk.rows.base`
==============================  ============================  =========================================

Left open by the papers: the trees. With "labels" every leaf has a number for each class and all classes share the
splits, which Torralba et al. choose a subset of classes for; with "margin" each class has a tree of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from minrisk._typing import FloatArray
from minrisk.algorithms.baselines.base import BaselineClassifier
from minrisk.estimator.parameters import Choice, Rule
from minrisk.rows.costs import CostFacts


class GentleBoostClassifier(BaselineClassifier):
    r"""Newton's steps on the loss of AdaBoost.MH, which are weighted means of the labels -1 and +1.

    The scores are :math:`H(x) = \sum_t h_t(x)` with trees that all labels share and whose leaves hold

    .. math:: a_k = \frac{\sum_n w_{nk} z_{nk}}{\sum_n w_{nk}}, \qquad w_{nk} = D_{nk} \exp(-z_{nk} H_{nk}).

    The sums are over the rows of the leaf, and :math:`z_{nk}` is 1 if k is the label of row n, and else -1.
    The decision is the largest entry of H. The loss, also with costs, is that of `AdaBoostMHClassifier`.
    In plain words: AdaBoost takes half the logarithm of the odds, which is infinite in a pure leaf; GentleBoost takes a
    step of 1 at most.

    Parameters
    ----------
    cost : array-like of shape (K, D), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        What each decision costs for each true class: rows are true classes, columns are decisions.
        A table without labels has its rows and columns in the order of `classes_`, which is sorted.
        By default every mistake costs 1.
    variant : {"labels", "margin"}, default="labels"
        "labels" lowers the loss of every label, with one tree in each round.
        "margin" lowers that of the true class's margin, with a tree for each class; it knows no costs.
    n_estimators : int, default=200
        Largest number of rounds.
    learning_rate : float, default=1.0
        Factor on what every round adds to the scores.
        Smaller values need more rounds.
    max_depth : int, default=1
        Depth of the trees, which have up to 2^max_depth leaves and grow best leaf first.
        1 makes stumps.
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
    AdaBoostMHClassifier : Logarithms on the same loss.
    AOSOLogitBoostClassifier : Newton's steps for pairs of classes, on the log-loss.

    Notes
    -----
    As in the papers: the defaults with 0/1 costs for "labels", and ``variant="margin"``.

    With ``variant="margin"`` the loss is

    .. math:: \frac1W \sum_n w_n v_n, \qquad v_n = \exp\big(-(H_{n y_n} - \overline{H_n})\big).

    In each round every class k gets a tree, fitted by least squares to :math:`1 / z_{nk}` with weights :math:`v_n
    z_{nk}^2`. Here :math:`z_{nk}` is 1 - 1 / K if k is the class of row n, and else -1 / K.
    Costs change no learner of this variant. They judge its decisions, as do `early_stopping` and the warning that they
    cost more than one decision for all rows.
    Rounds end if the steps of all classes together do not lower the loss.

    Nothing is smoothed: no step is above 1, and none above K with "margin".
    With two classes the score of the second is GentleBoost's F.

    References
    ----------
    .. [1] J. Friedman, T. Hastie and R. Tibshirani, "Additive logistic regression: a statistical view of boosting",
       Annals of Statistics 28 (2000), Algorithm 4.
    .. [2] H. Zou, J. Zhu and T. Hastie, "New multicategory boosting algorithms based on multicategory Fisher-consistent
       losses", Annals of Applied Statistics 2 (2008): "margin".
    .. [3] A. Torralba, K. P. Murphy and W. T. Freeman, "Sharing visual features for multiclass and multiview object
       detection", PAMI 29 (2007): "labels".

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import GentleBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = GentleBoostClassifier(n_estimators=20).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.97
    """

    _rules: ClassVar[Mapping[str, Rule]] = {**BaselineClassifier._rules, "variant": Choice(("labels", "margin"))}

    def __init__(
        self,
        cost: Any = None,
        *,
        variant: str = "labels",
        n_estimators: int = 200,
        learning_rate: float = 1.0,
        max_depth: int = 1,
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
        self.variant = variant

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk._kernels.grow import NEWTON
        from minrisk.boosting.loop import Recipe
        from minrisk.losses.coupled import CoupledLoss
        from minrisk.steps.leaf_vectors import LeafNewton

        if self.variant == "margin":
            return self._margin_recipe(costs, thresholds)
        return Recipe(
            loss=CoupledLoss("exponential", "tight"),
            family=self._trees(thresholds, NEWTON),
            solver=LeafNewton(0.0),
            **self._shared(thresholds),
        )

    def _margin_recipe(self, costs: CostFacts, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.directed import DirectedLearners, RegressionTrees
        from minrisk.losses.own_score import OwnScoreLoss
        from minrisk.steps.line_search import UnitStep

        return Recipe(
            loss=OwnScoreLoss(centred=True),
            family=DirectedLearners(RegressionTrees(self.max_depth, thresholds), "curvature"),
            solver=UnitStep(),
            directions=(np.eye(costs.n_decisions),),
            **self._shared(thresholds),
        )
