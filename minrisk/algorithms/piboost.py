"""PIBoost: separators of groups of classes, each boosted with asymmetric margins.

A. Fernández-Baldera and L. Baumela, "Multi-class boosting with asymmetric binary weak-learners", Pattern Recognition
47, 2014.

==================================  ===============================  ====================================
paper                               here                             where
==================================  ===============================  ====================================
G, S, s = |S|                       ``separators``                   here
y^S, Eq. (3)                        ``words`` / s                    `minrisk.model.codes`
L, Eq. (6), (7)                     ``SeparatorLoss``                `minrisk.losses.codes`
w^S, steps 1, 2e, 2f                ``row_weights``, of chain S      `minrisk.rows.directed`
T_m^S, step 2a                      ``Separators``                   `minrisk.learners.directed`
eps_1, eps_2, step 2b               ``side_errors``                  `minrisk.rows.base`
R, Eq. (8), step 2c                 ``separator_roots``              `minrisk.steps.line_search`
beta, step 2d                       ``SeparatorStep``, times s       `minrisk.steps.line_search`
F, step 3                           ``decision_function``            `minrisk.estimator`
==================================  ===============================  ====================================

A round is one step of |G| learners. The score that is boosted for S is its chain u_S = sum_m beta_m T_m / s; the model
holds the vectors beta_m y^S, so that prediction and files know of no chains.

Deviations: R is cut where a learner errs nowhere in its chain, or everywhere (`minrisk.steps.line_search`). Sets and
their complements count once, as in the paper's Table 2: G has 3 sets for three classes and 7 for four (the text's
formula counts 6 and 10). The least weighted error chooses learners, as in Algorithm 2, where Lemma 1 would weigh errors
within S more. In the paper's experiments trees are fitted to a tenth of the rows (``draw=0.1``), how drawn is not said:
here by weight, with replacement. A split has to gain more than `GROWTH_TIE` (`minrisk._kernels.grow`) of its node's
weight, so that trees do not separate the lightest rows. Costs are an extension: see
`minrisk.losses.codes.separator_loss`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from minrisk._typing import FloatArray
from minrisk.algorithms.base import RecipeClassifier
from minrisk.algorithms.parameters import BinParameters, ScikitEstimator, StepParameters, algorithm, parameter
from minrisk.estimator.parameters import Choice, Depth, Number, Rule

if TYPE_CHECKING:
    from minrisk.learners.directed import Separators
    from minrisk.rows.costs import CostFacts


class SetsOfClasses(Rule):
    """The name of a choice of sets of classes, or the sets."""

    options = ("singles", "pairs")

    def accepts(self, value: Any) -> bool:
        """Return whether it is a name, or a list of collections of labels."""
        if isinstance(value, str):
            return value in self.options
        if not isinstance(value, list | tuple) or not value:
            return False
        sets = all(isinstance(part, Collection) and not isinstance(part, str | bytes | Mapping) for part in value)
        return sets and all(isinstance(label, str | Real | np.generic) for part in value for label in part)

    def plain(self, value: Any) -> Any:
        """Return lists of Python's own values."""
        if isinstance(value, str):
            return str(value)
        return [[label.item() if isinstance(label, np.generic) else label for label in part] for part in value]

    def __str__(self) -> str:
        return "'singles', 'pairs' or a list of sets of classes, each a list of labels"


@algorithm
class PIBoostClassifier(RecipeClassifier, BinParameters, StepParameters):
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

    Attributes
    ----------
    decisions_ : ndarray of shape (K,)
        What `predict` may return: the classes.
    model_ : AdditiveModel
        The scores F, with a learner for each set in every round.
    separators_ : list of list
        Labels of the classes of each set.
    train_loss_ : ndarray of shape (T + 1,)
        Mean of the loss over rows and sets, before round 1 and after every round.

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

    n_estimators: int = 100
    separators: Any = parameter(default="pairs", rule=SetsOfClasses(), lasting=True)
    weak_learner: str = parameter(default="tree", rule=Choice(("tree", "stump")), lasting=True)
    draw: float | None = parameter(default=None, rule=Number(float, 0, 1, open_low=True, optional=True))
    max_depth: int | None = parameter(default=None, rule=Depth(optional=True))
    estimator: Any = parameter(default=None, rule=ScikitEstimator("classifier"), lasting=True)

    _ways = ({}, {"weak_learner": "stump"})

    @property
    def separators_(self) -> list[list[Any]]:
        """list of list : Labels of the classes of each set."""
        return [self.classes_[list(members)].tolist() for members in self._sets()]

    # -- training ------------------------------------------------------------------------------------------------
    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.losses.codes import separator_loss
        from minrisk.model.codes import separators
        from minrisk.steps.line_search import SeparatorStep

        K = len(self.classes_)
        self._check_classes_only("separates the classes", "MinRiskClassifier")
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
        from minrisk.learners.directed import RegressionTrees, Separators

        if self.estimator is not None:
            from minrisk.learners.directed import ScikitRegressors

            return Separators(thresholds, ScikitRegressors(self.estimator))
        if self.weak_learner == "stump":
            return Separators(thresholds)
        # A node must have more than 1 / K of the weight; the tie keeps rounding from splitting one of just that.
        least = 0.0 if self.max_depth else (1.0 + TIE) / len(self.classes_)
        trees = RegressionTrees(self.max_depth or MAX_DEPTH, thresholds, least)
        return Separators(thresholds, trees, None if self.draw is None else max(1, round(self.draw * costs.weight)))

    def _sets(self) -> list[tuple[int, ...]]:
        """Return numbers of the classes of each set."""
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
        """Return whether anything is drawn; trees may draw rows, too."""
        trees = self.estimator is None and self.weak_learner == "tree"
        return super()._draws() or (trees and self.draw is not None)


def once(sets: Iterable[Sequence[int]], n_classes: int) -> list[tuple[int, ...]]:
    """Return the sets that separate something, and neither came before nor are the complement of one that did."""
    known, kept = set[frozenset[int]](), list[tuple[int, ...]]()
    everyone = frozenset(range(n_classes))
    for members in sets:
        if len(members) < n_classes and frozenset(members) not in known:
            known |= {frozenset(members), everyone - frozenset(members)}
            kept.append(tuple(members))
    return kept
