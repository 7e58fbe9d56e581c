"""AdaBoost.ECC: each round divides the classes into two groups and boosts a binary learner on them.

V. Guruswami and A. Sahai, "Multiclass learning, boosting, and error-correcting codes", COLT 1999; as descent on a loss:
Y. Sun, S. Todorovic and J. Li, "Unifying multi-class AdaBoost algorithms with binary base learners under the margin
framework", Pattern Recognition Letters 2007.

==============================  ============================  =========================================
papers                          here                          where
==============================  ============================  =========================================
D(i, l)                         the terms of GEL              `minrisk.losses.guess_averse`
colouring mu                    ``random_half``, ``max_cut``  `minrisk.learners.coloured`
D(i) = sum of D(i, l) parted    ``aim(..., "slope")``         `minrisk.rows.base`
h                               ``ColouredTrees``             `minrisk.learners.coloured`
alpha, -beta                    ``ColourStep``                `minrisk.learners.coloured`
sum g mu, halved                ``scores``                    rows
==============================  ============================  =========================================

Left open by the paper: the colours, here by default a random half of the classes, drawn again in each round
("random-half", with which the paper of stage-wise MCBoost compares: the largest cut is said to be harder to learn); and
the learners, here trees, of whose leaves each has its own g. A stump has two, the paper's alpha and -beta. Deviation: g
is smoothed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from minrisk._typing import FloatArray
from minrisk.algorithms.baselines.base import BaselineClassifier
from minrisk.estimator.parameters import Choice, Number, Rule

COLOURS = ("random-half", "max-cut")


class AdaBoostECCClassifier(BaselineClassifier):
    r"""Boosting of binary learners, each of which separates one group of classes from the others.

    The scores are

    .. math:: H(x) = \frac12 \sum_t g_t(x) \, \mu_t, \qquad \mu_t \in \{-1, +1\}^K,

    with colours :math:`\mu_t` of the classes and one number :math:`g_t` for each leaf of a tree; the decision is the
    largest entry. The rounds lower

    .. math:: \frac1W \sum_n w_n \sum_{k \ne y_n} c_{nk} \exp(H_{nk} - H_{n y_n}),

    with c = 1 in the paper.
    A tree is fitted to the colours of the rows' classes; a row weighs the terms of those classes that have the other
    colour.
    In a leaf, :math:`g = \frac12 \ln(W_+ / W_-)` with the weights of its rows of either colour.
    In plain words: this is an error-correcting code whose bits are chosen one after another, each for the pairs of
    classes that are still confused.

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
        Depth of the trees, which have up to 2^max_depth leaves and grow best leaf first.
        1 makes stumps.
    colours : {"random-half", "max-cut"}, default="random-half"
        How a round divides the classes: "random-half" draws one half of them. "max-cut" separates the pairs of classes
        whose terms are largest together: the best of all ways for up to twelve decisions, and for more the best of ten
        local optima.
    smoothing : float, default=1e-3
        Weight of phantom rows of either colour in every leaf, as a share of the weight of all rows.
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
        Seed of the colours, and of what else is drawn: rows (`subsample`), features (`max_features`) and the rows that
        `early_stopping` sets apart.
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
    AdaBoostMOClassifier : The bits of a code boosted together.
    AdaBoostSIPClassifier : Halves are sought, not drawn.

    Notes
    -----
    As in the paper: ``smoothing=0``, with 0/1 costs.

    With two classes the halves are the classes, and the method is real AdaBoost of stumps.
    The loss is that of ``MCBoostClassifier(loss="gel")``.

    References
    ----------
    .. [1] V. Guruswami and A. Sahai, "Multiclass learning, boosting, and error-correcting codes", COLT 1999.
    .. [2] R. E. Schapire, "Using output codes to boost multiclass learning problems", ICML 1997: the largest cut.
    .. [3] Y. Sun, S. Todorovic and J. Li, "Unifying multi-class AdaBoost algorithms with binary base learners under the
       margin framework", Pattern Recognition Letters 28 (2007).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import AdaBoostECCClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AdaBoostECCClassifier(n_estimators=30, random_state=0).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.98
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        **BaselineClassifier._rules,
        "colours": Choice(COLOURS),
        "smoothing": Number(float, 0),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        n_estimators: int = 200,
        learning_rate: float = 1.0,
        max_depth: int = 1,
        colours: str = "random-half",
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
        self.colours = colours
        self.smoothing = smoothing

    def _draws(self) -> bool:
        """Colours are always drawn."""
        return True

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.coloured import ColouredTrees, ColourStep
        from minrisk.losses.guess_averse import GuessAverseLoss

        return Recipe(
            loss=GuessAverseLoss("gel"),
            family=ColouredTrees(self.max_depth, thresholds, colours=self.colours),
            solver=ColourStep(self.smoothing),
            **self._shared(thresholds),
        )
