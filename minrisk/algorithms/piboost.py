"""PIBoost: separators of groups of classes, each boosted with asymmetric margins.

A. Fernández-Baldera and L. Baumela, "Multi-class boosting with asymmetric binary weak-learners", Pattern Recognition
47, 2014.

==================================  ===============================  ====================================
paper                               here                             where
==================================  ===============================  ====================================
G, S, s = |S|                       ``separators``                   here
y^S, Eq. (3)                        ``words`` / s                    `minrisk.model.codebook`
L, Eq. (6), (7)                     ``SeparatorLoss``                `minrisk.losses.separators`
w^S, steps 1, 2e, 2f                ``edge``, of chain S             `minrisk.rows.local.chains`
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
here by weight, with replacement. Costs are an extension: see `minrisk.losses.separators.separator_loss`.
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
    """Boosting of separators: binary learners that each tell a set of classes from the others, with asymmetric margins.

    F(x) = sum_t sum_S beta_tS T_tS(x) y^S with T = -1 or +1, y^S = 1/s for the s classes of the set S and -1/(K - s)
    for the others; the decision is the largest entry of F. Every round adds a learner for each set S. The chain of S
    has weights of its own, and lowers

        sum_n w_n exp(-y_n' f^S(x_n) / K),    y_n' y^S = K / (s (K - 1)) for y_n in S, else -K / ((K - s) (K - 1)).

    In plain words: a mistake about the classes of a small set moves the weights more than one about the many others, so
    that separating few classes from many is no problem of imbalance. With K = 2 it is AdaBoost.

    Parameters
    ----------
    cost : optional
        What each mistake costs: a K x K table (rows are true classes, columns are decisions), DataFrame, dict of
        dicts or `CostMatrix`; `fit` also takes an (n, K) array of costs per row. Default: every mistake
        costs 1, which is the paper's method. A row weighs in the chain of S what it costs in the mean to take it for
        a class on the other side. Decisions that are no class are refused: no separator knows them.
    separators : {"pairs", "singles"} or list of sets of labels, default="pairs"
        The sets S. "singles": each class; "pairs": each class and each pair of classes, K (K + 1) / 2 sets for more
        than four classes, the paper's better choice. Of a set and its complement only one is used.
    n_estimators : int, default=100
        Largest number of rounds; each has a learner for every set.
    learning_rate : float, default=1.0
        Factor on every step.
    weak_learner : {"tree", "stump"}, default="tree"
        Classification trees (the Gini index), or stumps: the best ones for all sets in one search.
    draw : float, optional
        Share of the rows that a tree is fitted to, drawn by their weights with replacement: 0.1 in the paper's
        experiments, which errs as much in a half to a fifth of the time. Default: all rows, with their weights.
    max_depth : int, optional
        Largest depth of trees. Default: as in the paper nodes are split if they have more than M / K rows, with M
        those that a tree is fitted to. With a depth given, any node is.
    estimator : classifier, optional
        A scikit-learn classifier in place of `weak_learner`: clones of it are fitted to labels -1 and +1 of all rows,
        with `sample_weight`. Such models cannot be saved to a model file.
    binning, max_bins
        Thresholds of trees: see `REBELClassifier`.
    subsample : float, default=1.0
        Share of the rows drawn, without replacement, for each round.
    max_features : float or int, default=1.0
        Features drawn for each round.
    early_stopping : bool, default=False
        Set `validation_fraction` of the rows apart and keep the rounds up to the least validated mean cost.
    validation_fraction : float, default=0.1
        Share of the rows set apart.
    n_iter_no_change : int, default=20
        Rounds without a new least validated cost after which the fit stops.
    warm_start : bool, default=False
        Go on from the rounds of the last fit.
    class_weight, categorical_features
        As in `REBELClassifier`.
    n_jobs : int, optional
        Threads, as joblib counts them; the model does not depend on it.
    random_state : int, RandomState or None, default=None
        Source of what is drawn.
    verbose : int, default=0
        1: a progress bar.

    Attributes
    ----------
    classes_, decisions_, cost_, model_, n_iter_, n_features_in_, feature_names_in_
        As of `REBELClassifier`. `model_` has as many learners in a round as there are sets.
    separators_ : list of list
        Labels of the classes of each set.
    train_loss_ : ndarray of shape (n_iter_ + 1,)
        The chains' loss, its mean over rows and sets, before round 1 and after every round.
    train_risk_, validation_risk_ : ndarray
        Mean costs of the decisions, as of `REBELClassifier`.
    feature_importances_ : ndarray of shape (d,)
        Share of each feature in what splits gained.

    See Also
    --------
    REBELClassifier : One learner to a round for all classes.

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
        """Labels of the classes of each set."""
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
            family=self._learners(thresholds, K),
            solver=SeparatorStep(np.array([len(members) for members in sets]), K),
            **self._shared(thresholds),
            directions=(np.eye(len(codebook)),),
            codebook=codebook,
        )

    def _learners(self, thresholds: tuple[FloatArray, ...], n_classes: int) -> Separators:
        from minrisk._kernels._dtypes import MAX_DEPTH
        from minrisk.learners.separators import GiniTrees, Separators

        if self.estimator is not None:
            from minrisk.learners.scikit_regressors import ScikitRegressors

            return Separators(thresholds, ScikitRegressors(self.estimator))
        if self.weak_learner == "stump":
            return Separators(thresholds)
        share = self.draw

        def n_fitted(n_rows: int) -> int:
            return n_rows if share is None else max(1, round(share * n_rows))

        split_above = n_classes if self.max_depth is None else None
        trees = GiniTrees(self.max_depth or MAX_DEPTH, thresholds, n_fitted, split_above)
        return Separators(thresholds, trees, None if share is None else n_fitted)

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
