"""PIBoost: separators of groups of classes, each boosted with asymmetric margins.

A. Fernández-Baldera and L. Baumela, "Multi-class boosting with asymmetric binary weak-learners", Pattern Recognition
47, 2014.

==================================  ===============================  ====================================
paper                               here                             where
==================================  ===============================  ====================================
G, S, s = |S|                       ``separators``                   here
y^S, Eq. (3)                        ``words`` / s                    `minrisk.model.codebook`
L, Eq. (6), (7)                     ``SeparatorLoss``                `minrisk.losses.separators`
w^S, steps 1, 2e, 2f                ``edge``, of chain S             `minrisk.rows.directed`
T_m^S, step 2a                      ``Separators``                   `minrisk.learners.separators`
eps_1, eps_2, step 2b               ``side_errors``                  `minrisk.rows.base`
R, Eq. (8), step 2c                 ``separator_roots``              `minrisk.steps.separators`
beta, step 2d                       ``SeparatorStep``, times s       `minrisk.steps.separators`
F, step 3                           ``decision_function``            `minrisk.estimator`
==================================  ===============================  ====================================

A round is one step of |G| learners. The score that is boosted for S is its chain u_S = sum_m beta_m T_m / s; the model
holds the vectors beta_m y^S, so that prediction and files know of no chains.

Deviations: R is cut where a learner errs nowhere in its chain, or everywhere (`minrisk.steps.separators`). Sets and
their complements count once, as in the paper's Table 2: G has 3 sets for three classes and 7 for four (the text's
formula counts 6 and 10). The least weighted error chooses learners, as in Algorithm 2, where Lemma 1 would weigh errors
within S more. In the paper's experiments trees are fitted to a tenth of the rows (``draw=0.1``), how drawn is not said:
here by weight, with replacement. A split has to gain more than `GROWTH_TIE` (`minrisk._kernels.grow`) of its node's
weight, so that trees do not separate the lightest rows. Costs are an extension: see
`minrisk.losses.separators.separator_loss`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from minrisk._typing import FloatArray
from minrisk.algorithms.base import RecipeClassifier
from minrisk.validation import Choice, Depth, Number, Rule

if TYPE_CHECKING:
    from minrisk.learners.separators import Separators
    from minrisk.rows.costs import CostFacts


class SetsOfClasses(NamedTuple):
    """The name of a choice of sets of classes, or the sets."""

    def accepts(self, value: Any) -> bool:
        """Whether it is a name, or a list of collections of labels."""
        if isinstance(value, str):
            return value in ("singles", "pairs")
        if not isinstance(value, list | tuple) or not value:
            return False
        sets = all(isinstance(part, Collection) and not isinstance(part, str | bytes | Mapping) for part in value)
        return sets and all(isinstance(label, str | Real | np.generic) for part in value for label in part)

    def plain(self, value: Any) -> Any:
        """Lists of Python's own values."""
        if isinstance(value, str):
            return str(value)
        return [[label.item() if isinstance(label, np.generic) else label for label in part] for part in value]

    def __str__(self) -> str:
        return "'singles', 'pairs' or a list of sets of classes, each a list of labels"


class Classifier(NamedTuple):
    """Something with `fit` and `predict`, or nothing."""

    def accepts(self, value: Any) -> bool:
        """Whether it is an object, not a class, with both, and no regressor."""
        if value is None:
            return True
        from sklearn.base import is_regressor

        whole = not isinstance(value, type) and all(hasattr(value, name) for name in ("fit", "predict", "get_params"))
        return whole and not is_regressor(value)

    def plain(self, value: Any) -> Any:
        """The same."""
        return value

    def __str__(self) -> str:
        return "a scikit-learn classifier or None"


class PIBoostClassifier(RecipeClassifier):
    r"""Boosting of binary learners, each of which separates a set of classes from the others, with asymmetric margins.

    The scores are

    .. math:: F(x) = \sum_t \sum_S \beta_{tS} \, T_{tS}(x) \, y^S, \qquad T_{tS}(x) \in \{-1, +1\},

    where :math:`y^S` is 1/s for the s classes of the set S and -1/(K - s) for the others. The decision is the largest
    entry of F.
    Every round adds a learner for each set S. The learners of a set have weights of their own and lower

    .. math:: \sum_n w_n \exp(-y_n^\top f^S(x_n) / K), \qquad
       y_n^\top y^S = \begin{cases} \frac{K}{s (K - 1)} & y_n \in S \\ -\frac{K}{(K - s)(K - 1)} & \text{else.}
       \end{cases}

    In plain words: a mistake about the classes of a small set moves the weights more than one about the many others, so
    that separating few classes from many is no problem of imbalance.
    With K = 2 the method is AdaBoost.

    Parameters
    ----------
    cost : array-like of shape (K, K), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        What each decision costs for each true class: rows are true classes, columns are decisions.
        A table without labels has its rows and columns in the order of `classes_`, which is sorted.
        By default every mistake costs 1, which is the paper's method; costs are an extension.
    separators : {"pairs", "singles"} or list of lists of labels, default="pairs"
        The sets S: "singles" are the classes, "pairs" are the classes and all pairs of classes.
        Of a set and its complement only one is used.
    n_estimators : int, default=100
        Largest number of rounds; each has a learner for every set.
    learning_rate : float, default=1.0
        Factor on every step.
    weak_learner : {"tree", "stump"}, default="tree"
        The learners: classification trees by Gini's index, or the stumps that are best, found for all sets in one
        search.
    draw : float, optional
        Share of the rows that a tree is fitted to, drawn by their weights with replacement.
        Rows of unequal weight count as their effective number, (sum w)^2 / sum w^2.
        By default trees are fitted to all rows, with their weights.
    max_depth : int, optional
        Largest depth of the trees.
        By default nodes are split that have more than 1 / K of the weight of the rows that a tree is fitted to. Where
        rows are drawn this is the paper's rule, more than M / K of M rows.
    estimator : classifier, optional
        A scikit-learn classifier in place of `weak_learner`, of which clones are fitted to the labels -1 and +1 with
        `sample_weight`.
        Such a model cannot be saved to a model file.
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
    cost_ : CostMatrix or None
        Costs of the fit; None if they were given for each row.
    model_ : AdditiveModel
        The scores F, with a learner for each set in every round.
    separators_ : list of list
        Labels of the classes of each set.
    n_iter_ : int
        Number of rounds kept, T below.
    train_loss_ : ndarray of shape (T + 1,)
        Mean of the loss over rows and sets, before round 1 and after every round.
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
    REBELClassifier : One learner in each round for all classes.

    Notes
    -----
    As in the paper: ``draw=0.1``, with 0/1 costs.

    With costs, a row weighs for the set S what it costs on average to take it for a class on the other side.
    `fit` also takes costs for each row, of shape (n, K). Decisions that are no class are refused, because no separator
    knows them.

    "pairs" are the paper's better choice, with K (K + 1) / 2 sets for more than four classes.
    The paper draws a tenth of the rows for each tree (``draw=0.1``). That makes as many mistakes as all rows, in a half
    to a fifth of the time.

    References
    ----------
    .. [1] A. Fernández-Baldera and L. Baumela, "Multi-class boosting with asymmetric binary weak-learners", Pattern
       Recognition 47, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import PIBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = PIBoostClassifier(n_estimators=20).fit(X[::2], y[::2])
    >>> model.separators_
    [[0], [1], [2]]
    >>> model.predict(X[1::2])[:5]
    array([0, 0, 0, 0, 0])
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        **RecipeClassifier._rules,
        "separators": SetsOfClasses(),
        "weak_learner": Choice(("tree", "stump")),
        "draw": Number(float, 0, 1, open_low=True, optional=True),
        "max_depth": Depth(optional=True),
        "estimator": Classifier(),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        separators: Any = "pairs",
        n_estimators: int = 100,
        learning_rate: float = 1.0,
        weak_learner: str = "tree",
        draw: float | None = None,
        max_depth: int | None = None,
        estimator: Any = None,
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
        self.separators = separators
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.weak_learner = weak_learner
        self.draw = draw
        self.max_depth = max_depth
        self.estimator = estimator
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

    @property
    def separators_(self) -> list[list[Any]]:
        """list of list : Labels of the classes of each set."""
        return [self.classes_[list(members)].tolist() for members in self._sets()]

    # -- training ------------------------------------------------------------------------------------------------
    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.losses.separators import separator_loss
        from minrisk.model.codebook import separators
        from minrisk.steps.separators import SeparatorStep

        K = len(self.classes_)
        if self.decisions_.tolist() != self.classes_.tolist():
            raise ValueError(
                f"PIBoostClassifier separates the classes and takes no other decision, got the decisions "
                f"{self.decisions_.tolist()} for the classes {self.classes_.tolist()}: leave the others out, or train "
                "another estimator, such as MinRiskClassifier."
            )
        sets = self._sets()
        codebook = separators(sets, K)
        return Recipe(
            loss=separator_loss(codebook),
            family=self._learners(costs, thresholds),
            solver=SeparatorStep(np.array([len(members) for members in sets]), K),
            **self._shared(thresholds),
            directions=(np.eye(len(codebook)),),
            codebook=codebook,
        )

    def _learners(self, costs: CostFacts, thresholds: tuple[FloatArray, ...]) -> Separators:
        from minrisk._kernels._dtypes import MAX_DEPTH, TIE
        from minrisk.learners.directed import RegressionTrees
        from minrisk.learners.separators import Separators

        if self.estimator is not None:
            from minrisk.learners.scikit_regressors import ScikitRegressors

            return Separators(thresholds, ScikitRegressors(self.estimator))
        if self.weak_learner == "stump":
            return Separators(thresholds)
        least = 0.0 if self.max_depth else (1.0 + TIE) / len(self.classes_)
        trees = RegressionTrees(self.max_depth or MAX_DEPTH, thresholds, least)
        return Separators(thresholds, trees, None if self.draw is None else max(1, round(self.draw * costs.weight)))

    def _sets(self) -> list[tuple[int, ...]]:
        """Numbers of the classes of each set."""
        K, named = len(self.classes_), self.separators
        if isinstance(named, str):
            sizes = (1,) if named == "singles" else (1, 2)
            return once([members for s in sizes for members in combinations(range(K), s)], K)
        number = {label: k for k, label in enumerate(self.classes_.tolist())}
        sets = []
        for part in named:
            unknown = [label for label in part if label not in number]
            members = {number[label] for label in part if label in number}
            if unknown or not 0 < len(members) < K:
                what = f"the label {unknown[0]!r}, which is no class" if unknown else f"{len(members)} of {K} classes"
                raise ValueError(
                    f"PIBoostClassifier: each of separators must be a set of some of the classes "
                    f"{self.classes_.tolist()}, got {what}, in {list(part)!r}."
                )
            sets.append(tuple(sorted(members)))
        return once(sets, K)

    def _draws(self) -> bool:
        """Trees may draw rows, too."""
        trees = self.estimator is None and self.weak_learner == "tree"
        return super()._draws() or (trees and self.draw is not None)

    def _gives_probabilities(self) -> bool:
        return False


def once(sets: Iterable[Sequence[int]], n_classes: int) -> list[tuple[int, ...]]:
    """The sets that separate something, and neither came before nor are the complement of one that did."""
    known, kept = set[frozenset[int]](), list[tuple[int, ...]]()
    everyone = frozenset(range(n_classes))
    for members in sets:
        if len(members) < n_classes and frozenset(members) not in known:
            known |= {frozenset(members), everyone - frozenset(members)}
            kept.append(tuple(members))
    return kept
