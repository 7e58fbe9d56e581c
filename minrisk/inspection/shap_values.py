"""Exact SHAP values of scores, of log-odds and of the expected cost of a decision."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from minrisk._typing import FloatArray
from minrisk._utils.packages import library
from minrisk._workers import Workers, one_blas_thread
from minrisk.data.frames import Frame
from minrisk.estimator import BoostedClassifier
from minrisk.estimator.fitted import names_of_columns
from minrisk.estimator.inputs import one_fit
from minrisk.estimator.parameters import Choice, Threads, check_parameters
from minrisk.inspection.shap_coalitions import coalition_values
from minrisk.inspection.shap_scores import NO_BACKGROUND, ScoreShapley, checked_rows, explained_model
from minrisk.inspection.shap_targets import Target, expected_cost, log_odds
from minrisk.inspection.why_columns import rows_here

OPTIONS = {"of": Choice(("scores", "log_odds", "cost")), "by": Choice(("line", "coalitions"))}
USED = {"scores": (), "log_odds": ("decision", "against", "by"), "cost": ("decision", "cost", "by")}


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
        with one_blas_thread(), Workers(self._n_threads) as workers:
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
        with one_blas_thread(), Workers(self._n_threads) as workers:
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


def _check_used(of: str, **given: Any) -> None:
    """Refuse arguments that would do nothing."""
    for name, value in given.items():
        if value is not None and name not in USED[of]:
            raise ValueError(f"{name} says nothing to of={of!r}, got {value!r}: leave it out, or choose another of.")


def _along_line(
    shapley: ScoreShapley, X: Any, scores: FloatArray, target: Target, workers: Workers
) -> tuple[FloatArray, FloatArray]:
    """Values (n, d) of a function of the scores, by its mean gradient on the way to them, and its base (n,)."""
    start = np.tile(shapley.base, (len(scores), 1))
    gradients = target.mean_gradients(shapley.base, scores)
    values = shapley.values(X, gradients, workers)[:, :, 0]
    base, size = target(start), np.abs(values)
    rest = target(scores) - base - values.sum(axis=1)  # rounding, to those who have a part
    total = size.sum(axis=1)
    values += np.where(total > 0.0, rest / np.where(total > 0.0, total, 1.0), 0.0)[:, None] * size
    return values, base


def _described(model: BoostedClassifier, X: Any) -> tuple[Any, list[str]]:
    """Of `rows_here`: the rows as they were given, in the order of the model's columns, and names of these."""
    frame = Frame.of(model._arranged(X))
    data: Any
    if frame is None:
        data = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    else:
        data = np.column_stack([np.asarray(column.cells, dtype=object) for column in frame.columns])
        with suppress(TypeError, ValueError):  # of words
            data = data.astype(np.float64)
    return data, names_of_columns(model)
