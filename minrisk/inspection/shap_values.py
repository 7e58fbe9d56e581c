"""Exact SHAP values of scores, of log-odds and of the expected cost of a decision; trees as shap takes them."""

from __future__ import annotations

import math
from collections.abc import Hashable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from minrisk._kernels import links
from minrisk._kernels.functions import exp, expm1, log1p, softplus
from minrisk._typing import FloatArray, IntArray
from minrisk._utils.algebra import product
from minrisk._utils.memory import points
from minrisk._utils.packages import library
from minrisk._utils.workers import Workers
from minrisk.costs.labels import as_labels, listed, match_labels
from minrisk.data.frames import Frame
from minrisk.data.labels import check_labels
from minrisk.decisions.costs import decision_costs
from minrisk.estimator import BoostedClassifier
from minrisk.estimator.fitted import names_of_columns
from minrisk.estimator.inputs import one_fit
from minrisk.estimator.parameters import Choice, Flag, Threads, check_parameters
from minrisk.inspection.columns import rows_here
from minrisk.inspection.shap_scores import (
    NO_BACKGROUND,
    ScoreShapley,
    checked_rows,
    explained_model,
    gauss_legendre,
    with_linear_features,
)
from minrisk.model.links import LINK_KERNELS, expected_costs, log_probabilities

OPTIONS = {"of": Choice(("scores", "log_odds", "cost")), "by": Choice(("line", "coalitions"))}
USED = {"scores": (), "log_odds": ("decision", "against", "by"), "cost": ("decision", "cost", "by")}
LINE_POINTS = 10  # of Gauss and Legendre on a panel: exact to float64 where log-odds change by 2
MOST_PLAYERS = 12  # whose coalitions, 4096, are gone through
GAMES_TOGETHER = 512  # whose games are in memory: 16 MB for the most players
NO_ROWS = 1e-30  # weight of a node that no row comes to: shap divides by it


@dataclass(frozen=True, eq=False)
class ShapValues:
    """What each feature of each row adds to what is explained.

    `shap_values` and `ShapExplainer.explain` return it.

    Parameters
    ----------
    values : ndarray of shape (n, d), or (n, d, D) of all scores
        What each feature adds, in the unit of what is explained.
    base_values : ndarray of shape (n,), or (n, D) of all scores
        What is explained if no feature is known.
    data : ndarray of shape (n, d)
        The rows, as they were given.
    feature_names : list of d str
        Names of the columns, ``x[0]``, ``x[1]``, … if they have none.
    output_names : list of D str, optional
        Names of the scores; None if one number is explained.
    decisions : ndarray of shape (n,), optional
        The decisions whose expected costs are explained; None if something else is.

    Attributes
    ----------
    sums : ndarray of shape (n,), or (n, D) of all scores
        What is explained: `base_values` plus the values of all features.
    mean_sizes : ndarray of shape (d,), or (d, D) of all scores
        Mean over the rows of the sizes of each feature's values.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minrisk import REBELClassifier
    >>> from minrisk.inspection import shap_values
    >>> X, y = load_iris(return_X_y=True)
    >>> found = shap_values(REBELClassifier(n_estimators=5).fit(X, y), X[:2], X)
    >>> found.values.shape, found.sums.shape, found.output_names
    ((2, 4, 3), (2, 3), ['0', '1', '2'])
    """

    values: FloatArray
    base_values: FloatArray
    data: Any
    feature_names: list[str]
    output_names: list[str] | None = None
    decisions: np.ndarray | None = None

    @property
    def sums(self) -> FloatArray:
        """What is explained, (n,) or (n, D): the base values plus the values of all features."""
        return np.asarray(self.base_values + self.values.sum(axis=1))

    @property
    def mean_sizes(self) -> FloatArray:
        """Mean over the rows of the size of each feature's values, (d,) or (d, D)."""
        return np.asarray(np.abs(self.values).mean(axis=0))

    def explanation(self) -> Any:
        """Return a ``shap.Explanation``, which the pictures of ``shap.plots`` take.

        Returns
        -------
        shap.Explanation
            The same values, base values, rows and names.

        Raises
        ------
        ImportError
            If shap is not installed.
        """
        return library("shap", "shap", "A shap.Explanation needs").Explanation(
            self.values, self.base_values, self.data, feature_names=self.feature_names, output_names=self.output_names
        )


class CostImportances(NamedTuple):
    """How much features move the expected cost of decisions, the largest first.

    `cost_importances` returns it.

    Parameters
    ----------
    names : list of d str
        Names of the features.
    values : ndarray of shape (d,)
        Mean size of the SHAP values of the decision's expected cost, in the unit of the costs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minrisk import MinRiskClassifier
    >>> from minrisk.inspection import cost_importances
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> found = cost_importances(MinRiskClassifier(pool=False, random_state=0).fit(X, y), X)
    >>> bool((found.values[:-1] >= found.values[1:]).all())
    True
    """

    names: list[str]
    values: FloatArray


class ShapExplainer:
    """SHAP values of rows that come one after another: the background is looked at once.

    Parameters
    ----------
    model : estimator
        As in `shap_values`. A later fit of it changes nothing here.
    background : array-like of shape (m, d)
        As in `shap_values`.
    n_jobs : int, optional
        Number of threads, as in joblib. By default that of the model.

    Raises
    ------
    TypeError
        If the model is no sum of trees with constant leaves.
    ValueError
        If there is no background.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minrisk import REBELClassifier
    >>> from minrisk.inspection import ShapExplainer
    >>> X, y = load_iris(return_X_y=True)
    >>> explainer = ShapExplainer(REBELClassifier(n_estimators=5).fit(X, y), X)
    >>> explainer.explain(X[:1]).values.shape
    (1, 4, 3)
    """

    def __init__(self, model: BoostedClassifier, background: Any, *, n_jobs: int | None = None) -> None:
        model = one_fit(model)
        explained_model(model, "ShapExplainer")
        n_jobs = check_parameters("ShapExplainer", {"n_jobs": n_jobs}, {"n_jobs": Threads()})["n_jobs"]
        if background is None:
            raise ValueError(NO_BACKGROUND)
        self._model = copy(model)
        self._n_threads = effective_n_jobs(model.n_jobs if n_jobs is None else n_jobs)
        with Workers(self._n_threads) as workers:
            self._scores = ScoreShapley(self._model, checked_rows(self._model, background, "background"), workers)

    def explain(
        self,
        X: Any,
        *,
        of: str = "scores",
        decision: Any = None,
        against: Any = None,
        cost: Any = None,
        by: str = "line",
    ) -> ShapValues:
        """Return the SHAP values of rows, as `shap_values` does.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to explain, as `predict` takes them.
        of : {"scores", "log_odds", "cost"}, default="scores"
            What is explained: all scores, the log-odds of two classes, or the expected cost of a decision.
        decision : label, or array-like of shape (n,), optional
            For "cost" the decision whose expected cost is explained, one for all rows or one for each; by default that
            of the least expected cost of each row.
            For "log_odds" the first class, by default the second of two.
        against : label, optional
            For "log_odds" the second class, by default the first of two.
        cost : array-like of shape (K, D) or (n, K, D), DataFrame, dict, CSV file or CostMatrix, optional
            For "cost": the costs, a matrix for all rows or one for each row. By default those of the fit.
        by : {"line", "coalitions"}, default="line"
            How what is not linear in the scores is explained. "coalitions" is for at most 12 features.

        Returns
        -------
        ShapValues
            Values, base values, rows and names.

        Raises
        ------
        ValueError
            If the model has no probabilities for what is asked, or an argument is not usable.
        """
        check_parameters("shap_values", {"of": of, "by": by}, OPTIONS)
        _check_used(of, decision=decision, against=against, cost=cost, by=None if by == "line" else by)
        model, shapley = self._model, self._scores
        X = rows_here(model, X)
        numbers, told = checked_rows(model, X), _described(model, X)
        with Workers(self._n_threads) as workers:
            if of == "scores":
                names = model.classes_ if model.model_.link is not None else model.decisions_
                base = np.tile(shapley.base, (numbers.shape[0], 1))
                return ShapValues(shapley.values(numbers, None, workers), base, *told, [str(name) for name in names])
            scores, decisions = model.model_.scores(numbers, workers), None
            target: Target
            if of == "cost":
                target, decisions = expected_cost(model, scores, decision, cost)
            else:
                target = log_odds(model, decision, against)
            if by == "coalitions":
                found = coalition_values(shapley, numbers, target)
            else:
                found = _along_line(shapley, numbers, scores, target, workers)
        return ShapValues(*found, *told, None, decisions)


def shap_values(
    model: BoostedClassifier,
    X: Any,
    background: Any = None,
    *,
    of: str = "scores",
    decision: Any = None,
    against: Any = None,
    cost: Any = None,
    by: str = "line",
    n_jobs: int | None = None,
) -> ShapValues:
    r"""Return what each feature adds to scores, log-odds or expected costs: Shapley values, exact for the scores.

    Parameters
    ----------
    model : estimator
        A fitted classifier of minrisk, with trees whose leaves are constants.
    X : array-like of shape (n, d)
        Rows to explain, as `predict` takes them.
    background : array-like of shape (m, d), optional
        Rows that say how often each way through a tree is taken: the training rows, or others whom the base shall stand
        for.
        It must be given, because models keep no counts of rows.
    of : {"scores", "log_odds", "cost"}, default="scores"
        What is explained: all scores, the log-odds of two classes, or the expected cost of a decision.
    decision : label, or array-like of shape (n,), optional
        For "cost" the decision whose expected cost is explained, one for all rows or one for each; by default that of
        the least expected cost of each row.
        For "log_odds" the first class, by default the second of two.
    against : label, optional
        For "log_odds" the second class, by default the first of two.
    cost : array-like of shape (K, D) or (n, K, D), DataFrame, dict, CSV file or CostMatrix, optional
        For "cost": the costs, a matrix for all rows or one for each row. By default those of the fit.
    by : {"line", "coalitions"}, default="line"
        How what is not linear in the scores is explained. "coalitions" is for at most 12 features.
    n_jobs : int, optional
        Number of threads, as in joblib. The values do not depend on it. By default that of the model.

    Returns
    -------
    ShapValues
        Values, base values, rows and names.

    Raises
    ------
    TypeError
        If the model is no classifier of minrisk, or no sum of trees with constant leaves.
    NotFittedError
        If it is not fitted.
    ValueError
        If there is no background, the model has no probabilities for what is asked, or an argument is not usable.

    See Also
    --------
    ShapExplainer : The same for many calls, with one look at the background.
    cost_importances : The mean sizes of the values of expected costs.

    Notes
    -----
    The features are the players of a game in which a coalition S is worth v(S), and the value of feature j is

    .. math:: \phi_j = \sum_{S \not\ni j} \frac{|S|!\,(d - |S| - 1)!}{d!} \, (v(S \cup j) - v(S)).

    *Scores.* v(S) = E[H(x) given the features in S].
    A tree is walked down by the features of S. If it splits another feature, both ways are taken, weighed by the share
    of the rows of `background` that went there [1]_; if no row went there, both ways count half.
    A Gaussian kernel of a "smooth" member is a product of factors, one for each feature; those of features outside S
    have their mean over the background.

    *Log-odds.* With the link "softmax", log p_a - log p_b is a difference of two scores, and exact too. With other
    links log-odds are treated as costs are.

    *Expected cost.* The expected cost c(H) = sum_i C_i p_i(H) of a decision is not linear in the scores.
    Each feature moves the scores from their base :math:`H_0` to H(x) by a vector :math:`\phi_j`.
    Its part of the cost is the integral of the gradient along the straight line between them [2]_:

    .. math:: \phi_j^c = \Big\langle \phi_j, \int_0^1 \nabla c(H_0 + t (H(x) - H_0)) \, dt \Big\rangle.

    These parts sum to c(H(x)) - c(H_0), and they are linear in the costs. With ``by="coalitions"`` the values are those
    of the game v(S) = c(E[H given the features in S]) itself.

    *Columns.* Linear features, which members of `MinRiskClassifier` may split, are players of their own.
    The value of one goes to the columns in proportion to the sizes of their terms w_j (x_j - c_j) in that row. A
    missing x_j counts as the center c_j and has no share. If all terms are 0, the shares are those of the standardised
    weights.
    What a column of categories became is summed.

    Models of lines, similarities and output codes are refused.

    References
    ----------
    .. [1] S. M. Lundberg, G. G. Erion and S.-I. Lee, "Consistent individualized feature attribution for tree
       ensembles", arXiv 1802.03888, 2018.
    .. [2] R. J. Aumann and L. S. Shapley, "Values of Non-Atomic Games", Princeton University Press 1974.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import MinRiskClassifier
    >>> from minrisk.inspection import shap_values
    >>> X, y = load_wine(return_X_y=True)
    >>> cost = [[0, 1, 1], [1, 0, 1], [10, 10, 0]]
    >>> model = MinRiskClassifier(cost, random_state=0).fit(X[::2], y[::2])
    >>> why = shap_values(model, X[1::2], X[::2], of="cost")
    >>> why.values.shape
    (89, 13)
    >>> p = model.predict_proba(X[1::2])
    >>> expected = (p @ np.array(cost)).min(axis=1)
    >>> bool(np.allclose(why.sums, expected))
    True
    """
    explained_model(model, "shap_values")
    return ShapExplainer(model, background, n_jobs=n_jobs).explain(
        X, of=of, decision=decision, against=against, cost=cost, by=by
    )


def cost_importances(
    model: BoostedClassifier,
    X: Any,
    background: Any = None,
    *,
    decision: Any = None,
    cost: Any = None,
    n_jobs: int | None = None,
) -> CostImportances:
    """Return how much each feature moves the expected cost of the decisions about rows, in the unit of the costs.

    A feature of 0.2 makes decisions 0.2 cheaper or more expensive on average than they would be expected to be without
    it.

    Parameters
    ----------
    model : estimator
        As in `shap_values`.
    X : array-like of shape (n, d)
        The rows.
    background : array-like of shape (m, d), optional
        As in `shap_values`. By default X.
    decision : label, or array-like of shape (n,), optional
        As in `shap_values`. By default the decision of the least expected cost of each row.
    cost : array-like of shape (K, D) or (n, K, D), DataFrame, dict, CSV file or CostMatrix, optional
        As in `shap_values`.
    n_jobs : int, optional
        Number of threads, as in joblib. By default that of the model.

    Returns
    -------
    CostImportances
        Names and values, the largest first.

    Raises
    ------
    TypeError
        If the model is no sum of trees with constant leaves.
    ValueError
        If the model has no probabilities, or an argument is not usable.

    Notes
    -----
    The value of a feature is the mean size, over the rows, of the `shap_values` of the expected cost of the row's
    decision.
    `feature_importances_` is something else: what lowered the loss in training, in no unit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minrisk import MinRiskClassifier
    >>> from minrisk.inspection import cost_importances
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = MinRiskClassifier(random_state=0).fit(X, y)
    >>> names, values = cost_importances(model, X)
    >>> names[0]
    'petal length (cm)'
    """
    explained_model(model, "cost_importances")
    explainer = ShapExplainer(model, X if background is None else background, n_jobs=n_jobs)
    found = explainer.explain(X, of="cost", decision=decision, cost=cost)
    size = found.mean_sizes
    order = np.argsort(-size, kind="stable")
    return CostImportances([found.feature_names[j] for j in order], size[order])


def to_shap(model: BoostedClassifier, background: Any = None, *, linear: bool = False) -> dict[str, Any]:
    """Return the trees of a model as ``shap.TreeExplainer`` takes them, with a vector of scores in each leaf.

    `shap_values` gives the same numbers faster, and for more kinds of models.
    This is for what else shap does with trees, such as interactions, or values against a background of rows.

    Parameters
    ----------
    model : estimator
        A fitted classifier of minrisk, with trees whose leaves are constants, on columns of numbers.
    background : array-like of shape (m, d), optional
        Rows that say how often each way through a tree is taken, such as the training rows.
        It must be given, because models keep no counts of rows.
    linear : bool, default=False
        Whether linear features, which members of `MinRiskClassifier` may split, are columns behind those of X.
        The explainer is then given the rows of `wide_columns`.

    Returns
    -------
    dict
        "trees", arrays as shap has them, and "base_offset" of shape (D,).

    Raises
    ------
    TypeError
        If the model has what the dictionary cannot hold.
    NotFittedError
        If it is not fitted.
    ValueError
        If there is no background.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minrisk import REBELClassifier
    >>> from minrisk.inspection import to_shap
    >>> X, y = load_iris(return_X_y=True)
    >>> trees = to_shap(REBELClassifier(n_estimators=3).fit(X, y), X)
    >>> len(trees["trees"]), trees["trees"][0]["values"].shape[1]
    (3, 3)
    """
    model = one_fit(model)
    additive = explained_model(model, "to_shap")
    check_parameters("to_shap", {"linear": linear}, {"linear": Flag()})
    if background is None:
        raise ValueError(NO_BACKGROUND)
    if model._categories.columns:
        raise TypeError(
            f"to_shap holds trees on numbers, and column {model._categories.columns[0].name!r} holds categories: use "
            "shap_values."
        )
    if additive.smooth is not None:
        raise TypeError(
            "to_shap holds trees, and this model has smooth members beside them: use shap_values, or fit with "
            "pool=False."
        )
    if additive.projection is not None and not linear:
        raise TypeError(
            "to_shap holds trees on the columns of X, and this model has linear features beside them: use shap_values, "
            "fit with pool=False, or set linear=True and explain the rows of wide_columns(model, X)."
        )
    with Workers(effective_n_jobs(model.n_jobs)) as workers:
        shapley = ScoreShapley(model, checked_rows(model, background, "background"), workers)
    packed, n_outputs = additive.packed, len(additive.intercept)
    weight = _weights(shapley)
    values = np.zeros((len(weight), n_outputs))
    values[packed.is_leaf] = shapley.trees.vectors
    feature, threshold = packed.of_nodes("feature"), packed.of_nodes("threshold")
    trees = []
    for low, high in zip(packed.offsets[:-1].tolist(), packed.offsets[1:].tolist(), strict=True):
        nodes, leaf = slice(low, high), packed.is_leaf[low:high]
        left = np.where(leaf, -1, packed.left[nodes].astype(np.int32)).astype(np.int32)
        trees.append(
            {
                "children_left": left,
                "children_right": np.where(leaf, -1, left + 1).astype(np.int32),
                "children_default": left,
                "features": np.where(leaf, -1, feature[nodes]).astype(np.int32),
                "thresholds": np.where(leaf, -1.0, threshold[nodes]),
                "values": values[nodes],
                "node_sample_weight": weight[nodes],
            }
        )
    return {
        "trees": trees,
        "base_offset": additive.intercept.copy(),
        "internal_dtype": np.float64,
        "input_dtype": np.float64,
    }


def wide_columns(model: BoostedClassifier, X: Any) -> FloatArray:
    """Return the columns of X and the linear features behind them, which ``to_shap(model, linear=True)`` names.

    Parameters
    ----------
    model : estimator
        A fitted classifier of minrisk.
    X : array-like of shape (n, d)
        The rows.

    Returns
    -------
    ndarray of shape (n, d + m)
        m is the number of linear features; it is 0 if the model has none.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minrisk import REBELClassifier
    >>> from minrisk.inspection import wide_columns
    >>> X, y = load_iris(return_X_y=True)
    >>> wide_columns(REBELClassifier(n_estimators=3).fit(X, y), X).shape  # it has no linear features
    (150, 4)
    """
    model = one_fit(model)
    return np.array(with_linear_features(explained_model(model, "wide_columns"), checked_rows(model, X)[:]))


def _weights(shapley: ScoreShapley) -> FloatArray:
    """Return the background's rows at each node; children of a node without any get half of a little."""
    left, weight = shapley.nodes.left, np.maximum(shapley.count.astype(np.float64), NO_ROWS)
    for node in np.flatnonzero((shapley.count == 0) & (left != np.arange(len(left)))):  # parents before their children
        weight[left[node] : left[node] + 2] = weight[node] / 2.0
    return weight


def _check_used(of: str, **given: Any) -> None:
    """Refuse arguments that would do nothing."""
    for name, value in given.items():
        if value is not None and name not in USED[of]:
            raise ValueError(f"{name} says nothing to of={of!r}, got {value!r}: leave it out, or choose another of.")


def _along_line(
    shapley: ScoreShapley, X: Any, scores: FloatArray, target: Target, workers: Workers
) -> tuple[FloatArray, FloatArray]:
    """Return values (n, d) of a function of the scores, by its mean gradient on the way to them; and its base (n,)."""
    start = np.tile(shapley.base, (len(scores), 1))
    gradients = target.mean_gradients(shapley.base, scores)
    values = shapley.values(X, gradients, workers)[:, :, 0]
    base, size = target(start), np.abs(values)
    rest = target(scores) - base - values.sum(axis=1)  # rounding, to those who have a part
    total = size.sum(axis=1)
    values += np.where(total > 0.0, rest / np.where(total > 0.0, total, 1.0), 0.0)[:, None] * size
    return values, base


def _described(model: BoostedClassifier, X: Any) -> tuple[Any, list[str]]:
    """Return rows of `rows_here` as they were given, in the order of the model's columns, and names of these."""
    frame = Frame.of(model._arranged(X))
    data: Any
    if frame is None:
        data = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    else:
        data = np.column_stack([np.asarray(column.cells, dtype=object) for column in frame.columns])
        with suppress(TypeError, ValueError):  # of words
            data = data.astype(np.float64)
    return data, names_of_columns(model)


# -- what is explained beside scores ---------------------------------------------------------------------------------
class LogOdds(NamedTuple):
    """log p_a - log p_b, a function of the scores of all rows (n, D): (n,)."""

    link: str
    temperature: float
    a: int
    b: int

    def __call__(self, scores: FloatArray) -> FloatArray:
        log_p = log_probabilities(self.link, scores, self.temperature)
        return np.asarray(log_p[:, self.a] - log_p[:, self.b])

    def of_rows(self, part: slice) -> LogOdds:
        """Return the same function, as it is for every row."""
        return self

    def mean_gradients(self, start: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the mean of the gradient over the straight line from `start` (D,) to each row's scores (n, D): (n, D).

        It is a constant, or of a difference of log-sigmoids, each a function of one score.
        """
        kind, slope = LINK_KERNELS[self.link]
        scale, found = slope / self.temperature, np.zeros(scores.shape)
        for k, sign in ((self.a, 1.0), (self.b, -1.0)):
            of_sigmoid = kind == links.SIGMOID
            found[:, k] += sign * scale * (_mean_slopes(scale * start[k], scale * scores[:, k]) if of_sigmoid else 1.0)
        return found


def _mean_slopes(start: float, end: FloatArray) -> FloatArray:
    """Return the mean of 1 - sigmoid between two numbers: (log sigmoid(end) - log sigmoid(start)) / (end - start)."""
    low, high = np.minimum(start, end), np.maximum(start, end)
    step = high - low
    below = exp(-softplus(low))  # 1 - sigmoid(low)
    far = softplus(-low) - softplus(-high)
    rise = np.where(step > 1.0, far, -log1p(below * expm1(-np.minimum(step, 1.0))))  # near: no digits are lost
    return np.asarray(np.where(step > 0.0, rise / np.where(step > 0.0, step, 1.0), below))


class ExpectedCost(NamedTuple):
    """sum_k p_k C_k of one decision for each row, a function of the scores of all rows (n, D): (n,)."""

    link: str
    temperature: float
    costs: FloatArray  # (n, K) of the row's decision, by the true class

    def __call__(self, scores: FloatArray) -> FloatArray:
        return np.asarray(expected_costs(self.link, scores, self.temperature, self.costs[:, :, None])[:, 0])

    def of_rows(self, part: slice) -> ExpectedCost:
        """Return the same function of some of the rows."""
        return self._replace(costs=self.costs[part])

    def mean_gradients(self, start: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the same as for `LogOdds`, by quadrature; see `minrisk._kernels.links`."""
        kind, slope = LINK_KERNELS[self.link]
        first, point, weight = gauss_legendre(LINE_POINTS)
        rule = point[first[LINE_POINTS] :], weight[first[LINE_POINTS] :]
        rows, out = [points(part) for part in (scores, self.costs)], np.empty(scores.shape)
        links.mean_gradients(kind, slope / self.temperature, start, *rows, *rule, out)
        return out


Target = LogOdds | ExpectedCost  # functions of scores, of which `mean_gradients` over straight lines are known


def log_odds(estimator: BoostedClassifier, decision: Any, against: Any) -> LogOdds:
    """Return the log-odds of two classes, by name; of two in all the second against the first by default.

    Raises
    ------
    ValueError
        If there is no such class, or the scores say nothing about probabilities.
    """
    link, classes = _link(estimator, "log_odds"), as_labels(estimator.classes_)
    if decision is None and against is None and len(classes) == 2:
        return LogOdds(link, estimator.model_.temperature, 1, 0)
    if decision is None or against is None:
        raise ValueError(
            f"of='log_odds' compares two classes: give both, such as decision={classes[-1]!r}, against={classes[0]!r}."
        )
    a, b = (_place(label, classes, name) for label, name in ((decision, "decision"), (against, "against")))
    return LogOdds(link, estimator.model_.temperature, a, b)


def expected_cost(
    estimator: BoostedClassifier, scores: FloatArray, decision: Any, cost: Any
) -> tuple[ExpectedCost, np.ndarray]:
    """Return the expected cost of a decision for all rows or for each, by default the least; and these decisions (n,).

    Raises
    ------
    ValueError
        If there is no such decision, or the scores say nothing about probabilities.
    """
    link, temperature = _link(estimator, "cost"), estimator.model_.temperature
    costs, decisions = _stated_costs(estimator, cost, len(scores))
    chosen: IntArray
    if decision is None:
        least = costs.min(axis=2, keepdims=True)  # which costs whatever is decided: the smaller numbers round less
        chosen = expected_costs(link, scores, temperature, costs - least).argmin(axis=1)
    else:
        chosen = _places(decision, as_labels(decisions), len(scores))
    every = np.broadcast_to(costs, (len(scores), *costs.shape[1:]))
    of_chosen = np.take_along_axis(every, chosen[:, None, None], axis=2)[:, :, 0]
    return ExpectedCost(link, temperature, of_chosen), np.asarray(decisions[chosen])


def why_no_costs(estimator: BoostedClassifier) -> str | None:
    """Say why neither log-odds nor expected costs are explained of a fitted classifier; None: they are."""
    if estimator.model_.link in LINK_KERNELS:
        return None
    return f"the scores of this {type(estimator).__name__} say nothing about probabilities that has a gradient"


def _link(estimator: BoostedClassifier, of: str) -> str:
    if (reason := why_no_costs(estimator)) is not None:
        raise ValueError(
            f"of={of!r} needs probabilities, but {reason}: use of='scores', or MinRiskClassifier, whose default "
            "surrogate estimates probabilities."
        )
    return str(estimator.model_.link)


def _stated_costs(estimator: BoostedClassifier, cost: Any, n: int) -> tuple[FloatArray, np.ndarray]:
    """Return costs as stated, (1, K, D), or (n, K, D) with a matrix for each row; and the decisions."""
    if cost is None:
        if estimator.cost_ is None:
            raise ValueError(
                "The fit had costs per row, which rows to be explained have not: give cost=, a matrix, or a matrix for "
                "each row, (n, K, D)."
            )
        return np.asarray(estimator.cost_.values, dtype=np.float64)[None], estimator.decisions_
    costs = decision_costs(estimator, cost, n)
    return costs.values, costs.decisions


def _places(decision: Any, labels: Any, n: int) -> IntArray:
    """Return the numbers of a decision for all rows, or of one for each, (n,)."""
    each = check_labels(decision, "decision", any_kind=True)
    if not isinstance(each, np.ndarray) or each.ndim == 0:
        one = each.item() if isinstance(each, np.ndarray) else each
        return np.full(n, _place(one, labels, "decision"))
    if each.shape != (n,):
        raise ValueError(
            f"decision must be one of {listed(labels)}, or one for each of the {n} rows of X, got shape {each.shape}."
        )
    given = list(each) if each.dtype.kind == "M" else each.tolist()  # dates as `as_labels` has them
    place = {label: _place(label, labels, "decision") for label in dict.fromkeys(given)}
    return np.array([place[label] for label in given], dtype=np.int64)


def _place(label: Any, labels: Any, name: str) -> int:
    """Return the number of a label."""
    place = match_labels([label], labels)[0] if isinstance(label, Hashable) else -1
    if place < 0:
        raise ValueError(f"{name} must be one of {listed(labels)}, got {label!r}.")
    return place


# -- all coalitions ----------------------------------------------------------------------------------------------------
def coalition_values(shapley: ScoreShapley, X: Any, target: Target) -> tuple[FloatArray, FloatArray]:
    """Return Shapley values of the game v(S) = target(E[scores | the features of S]), and v of no feature.

    Parameters
    ----------
    shapley : ScoreShapley
    X : ndarray or SparseRows of shape (n, n_features)
    target : Target

    Returns
    -------
    values : ndarray of shape (n, d)
    base : ndarray of shape (n,)

    Raises
    ------
    ValueError
        If there are too many features.
    """
    n_columns, linear = X.shape[1], shapley.model.projection
    n_wide = n_columns + (0 if linear is None else linear.n_columns)
    players = np.zeros(n_wide, dtype=np.bool_)
    players[shapley.used[np.unique(shapley.trees.paths[1])]] = True
    if shapley.smooth is not None:
        players[:n_columns] |= shapley.smooth.smooth.scale > 0.0
    who = np.flatnonzero(players)
    F = len(who)
    if F > MOST_PLAYERS:
        raise ValueError(
            f"by='coalitions' goes through all coalitions of at most {MOST_PLAYERS} features that the model uses, and "
            f"this one uses {F}: leave by out, or fit with fewer columns (and pool=False, for no linear features)."
        )
    numbers = np.arange(1 << F)  # of coalitions
    members = ((numbers[:, None] >> np.arange(F)) & 1).astype(np.bool_)
    weight = np.array([math.factorial(s) * math.factorial(F - s - 1) / math.factorial(F) for s in range(F)])
    values, base = [], []
    for low in range(0, X.shape[0], GAMES_TOGETHER):
        part = slice(low, low + GAMES_TOGETHER)
        rows, some = points(X[part]), target.of_rows(part)
        codes, game = shapley.codes(rows), np.empty((1 << F, len(rows)))
        for number in numbers:
            known = np.zeros(n_wide, dtype=np.bool_)
            known[who] = members[number]
            scores = shapley.model.intercept + shapley.trees.expected_scores(codes, known[shapley.used])
            if shapley.smooth is not None:
                scores = scores + shapley.smooth.expected_scores(rows, known[:n_columns])
            game[number] = some(scores)
        found = np.zeros((len(rows), F))
        for i in range(F):
            without = numbers[~members[:, i]]
            found[:, i] = product(weight[members[without].sum(axis=1)], game[without | (1 << i)] - game[without])
        values.append(shapley.pulled_back(found[:, :, None], who, rows)[:, :, 0])
        base.append(game[0].copy())  # not all games
    return np.concatenate(values), np.concatenate(base)
