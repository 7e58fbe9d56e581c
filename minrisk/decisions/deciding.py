"""Decisions of least expected cost about rows whose classes are not known.

`decide` is the one rule: a pure function of probabilities, costs, shares of the classes and limits. `apply_costs` is
its simplest case, and estimators come to it with the probabilities of their rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, Labels
from minrisk.costs import CostMatrix
from minrisk.costs.labels import as_labels, listed, match_labels
from minrisk.costs.matrix import column_names
from minrisk.decisions.costs import costs_of_decisions, expected_costs
from minrisk.decisions.limits import assigned, read_limits
from minrisk.decisions.priors import estimated, factors, read_priors, reweighed, shares_of


class Decisions(NamedTuple):
    """Decisions about rows, and what they are expected to cost.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The decisions.
    expected : ndarray of shape (n,)
        Expected cost of the decision about each row, in the unit of the costs.
    prices : dict
        For each decision with a limit: what one more place would save. It is 0 where the limit does not bind, and
        negative where more rows must be decided so than is cheapest.
    priors : ndarray of shape (K,) or None
        Shares of the classes that the probabilities were brought to; None: they are as they were given.
    """

    labels: Labels
    expected: FloatArray
    prices: dict[Any, float]
    priors: FloatArray | None


def decide(
    probabilities: Any,
    cost: Any,
    *,
    classes: Any = None,
    priors: Any = None,
    trained_priors: Any = None,
    limits: Mapping[Any, Any] | None = None,
) -> Decisions:
    r"""Decide for least expected cost, under other shares of the classes and within limits.

    Decision k about row i is expected to cost

    .. math:: E_{ik} = \sum_j p'_{ij} C_{jk}, \qquad p'_{ij} \propto p_{ij} \, \frac{\pi'_j}{\pi_j},

    with the probabilities p, the costs C, and the shares of the classes where the probabilities were learnt,
    :math:`\pi` (`trained_priors`), and where they are used, :math:`\pi'` (`priors`). The cheapest decision is made
    about each row, or with limits those that are cheapest in sum.

    Parameters
    ----------
    probabilities : array-like of shape (n, K)
        What `predict_proba` of any classifier gives: a row for each sample and a column for each class, 0 or more.
        Columns of a table that are named after the classes are taken by their names, others in the order of `classes`.
    cost : array-like of shape (K, D) or (n, K, D), DataFrame, dict, CSV file or CostMatrix
        Costs with true classes as rows and decisions as columns, or such a table for each sample.
        Costs with labels are matched with `classes` by label. Others have their rows in the order of `classes`.
    classes : array-like of shape (K,), optional
        The classes of the columns: `classes_` of the classifier. They may be left out if the costs have no labels, and
        then are 0 to K - 1.
    priors : dict, array-like of shape (K,), PriorEstimate or "estimate", optional
        Shares of the classes among rows as these. "estimate" finds them by the rows, see
        :func:`minrisk.estimate_priors`, which also knows whether a change of shares explains the rows.
        By default the probabilities are taken as they are.
    trained_priors : dict or array-like of shape (K,), optional
        Shares of the classes by which the probabilities were learnt, by weight. Needed with `priors`.
    limits : dict, optional
        How many rows each decision may be made about: an int is a number of rows and a float a share of them, at most;
        a pair is the least and the most.

    Returns
    -------
    Decisions
        `labels`, `expected`, `prices` and `priors`. Of decisions that are expected to cost the same the first is taken,
        classes first.

    Raises
    ------
    ValueError
        If the probabilities are not a finite table of numbers of 0 or more with a column for each class, the costs or
        shares do not fit the classes, or the limits cannot be met.

    See Also
    --------
    MinRiskClassifier.predict : Decides in the same way, from rows.
    LeastCostClassifier : Makes a classifier that decides so of any other.

    Notes
    -----
    Without limits it is Bayes' decision rule [1]_, as good as the probabilities are. The correction of shares [2]_ is
    right where rows of a class look as they did. With limits the decisions are an optimum of the linear program of
    assignment, and a price is its dual.

    References
    ----------
    .. [1] C. Elkan, "The foundations of cost-sensitive learning", IJCAI 2001, Eq. (1).
    .. [2] M. Saerens, P. Latinne and C. Decaestecker, "Adjusting the outputs of a classifier to new a priori
       probabilities: a simple procedure", Neural Computation 14, 2002, Eq. (2.4).

    Examples
    --------
    >>> from minrisk import decide
    >>> cost = {"ill": {"ill": 0, "well": 20, "refer": 3}, "well": {"ill": 5, "well": 0, "refer": 3}}
    >>> p = [[0.05, 0.95], [0.3, 0.7], [0.35, 0.65], [0.9, 0.1]]
    >>> decide(p, cost, classes=["ill", "well"]).labels.tolist()
    ['well', 'refer', 'refer', 'ill']
    >>> found = decide(p, cost, classes=["ill", "well"], limits={"refer": 1})
    >>> found.labels.tolist()
    ['well', 'refer', 'ill', 'ill']
    >>> found.prices
    {'refer': 0.25}
    """
    if classes is None:
        classes = _numbered(probabilities, cost)
    known, labels = np.asarray(classes), as_labels(classes)
    p, shares = checked_probabilities(probabilities, labels), None
    costs = costs_of_decisions(cost, known, len(p))
    if priors is not None:
        if trained_priors is None:
            raise ValueError(
                "priors need trained_priors, the shares of the classes by which the probabilities were learnt, got "
                "None: give the shares of the training rows, as trained_priors=[0.9, 0.1]."
            )
        trained = read_priors(trained_priors, labels)
        shares = shares_of(priors, labels, lambda: estimated(p, trained, labels))
        p = reweighed(p, shares, trained)
    return of_expected(expected_costs(p, costs.table), costs.decisions, known, limits, shares)


def weighted(matrix: CostMatrix, priors: FloatArray, trained: FloatArray) -> CostMatrix:
    """Return costs by which probabilities decide as `reweighed` ones do by the matrix: rows times a factor each."""
    values = weighed(matrix.avoidable, priors, trained)
    return CostMatrix._of_checked(values, matrix.classes, matrix.decisions)


def weighed(values: FloatArray, priors: FloatArray, trained: FloatArray) -> FloatArray:
    """Return a table (K, D), or tables (n, K, D), likewise."""
    return np.asarray(values * factors(priors, trained)[:, None])


def of_expected(
    expected: FloatArray,
    decisions: Labels,
    classes: Labels,
    limits: Mapping[Any, Any] | None,
    priors: FloatArray | None = None,
) -> Decisions:
    """Decide by expected costs (n, D), within limits."""
    prices = dict[Any, float]()
    if limits is None:
        chosen = expected.argmin(axis=1)
    else:
        labels = as_labels(decisions)
        low, high = read_limits(limits, labels, len(expected), as_labels(classes))
        chosen, of_all = assigned(expected, low, high)
        prices = {labels[d]: float(of_all[d]) for d in np.flatnonzero((low > 0) | (high < len(expected))).tolist()}
    cost = np.take_along_axis(expected, chosen[:, None], axis=1)[:, 0]
    return Decisions(np.asarray(decisions[chosen]), cost, prices, priors)


def _numbered(probabilities: Any, cost: Any) -> Any:
    """Return 0 to K - 1, the classes of columns of which nothing else is known."""
    shape = np.shape(probabilities)
    if column_names(probabilities) is not None or not isinstance(cost, list | tuple | np.ndarray) or len(shape) != 2:
        raise ValueError(
            "classes may be left out where probabilities are an array (n, K) and cost is a table of numbers, got "
            f"{type(probabilities).__name__} and {type(cost).__name__}: give classes=model.classes_, whose order the "
            "columns of probabilities have."
        )
    return np.arange(shape[1])


def apply_costs(probabilities: Any, classes: Any, cost: Any) -> Labels:
    r"""Return the decisions of least expected cost under the probabilities of any classifier.

    Decision k about row i is expected to cost :math:`\sum_j p_{ij} C_{jk}`, and the cheapest decision is returned.
    Use it for classifiers of other packages, and for ensembles and calibrated models of scikit-learn, whose `predict`
    takes the most probable class. `MinRiskClassifier.predict` does this itself.

    Parameters
    ----------
    probabilities : array-like of shape (n, K)
        What `predict_proba` gives: a row for each sample and a column for each class, 0 or more.
        Columns of a table that are named after the classes are taken by their names, others in the order of `classes`.
    classes : array-like of shape (K,)
        The classes of the columns: `classes_` of the classifier.
    cost : array-like of shape (K, D) or (n, K, D), DataFrame, dict, CSV file or CostMatrix
        Costs with true classes as rows and decisions as columns, or such a table for each sample.
        Costs with labels are matched with `classes` by label. Others have their rows in the order of `classes`.

    Returns
    -------
    ndarray of shape (n,)
        The labels of the decisions. Of decisions that are expected to cost the same the first is taken, classes first.

    Raises
    ------
    ValueError
        If the probabilities are not a finite table of numbers of 0 or more with a column for each class, or the costs
        do not fit the classes.

    See Also
    --------
    decide : Also takes other shares of the classes, and limits.
    MinRiskClassifier.predict : Takes costs, and applies them to calibrated probabilities.

    Notes
    -----
    The rule is Bayes' decision rule [1]_. It is as good as the probabilities are: `predict_proba` of many classifiers
    is too sure of itself, see :class:`sklearn.calibration.CalibratedClassifierCV`.

    References
    ----------
    .. [1] C. Elkan, "The foundations of cost-sensitive learning", IJCAI 2001, Eq. (1).

    Examples
    --------
    >>> from minrisk import apply_costs
    >>> cost = {"ill": {"ill": 0, "well": 20, "refer": 3}, "well": {"ill": 5, "well": 0, "refer": 3}}
    >>> apply_costs([[0.05, 0.95], [0.3, 0.7], [0.9, 0.1]], ["ill", "well"], cost).tolist()
    ['well', 'refer', 'ill']
    """
    return decide(probabilities, cost, classes=classes).labels


def checked_probabilities(probabilities: Any, classes: tuple[Any, ...]) -> FloatArray:
    """Return probabilities as float64."""
    p, names = np.asarray(probabilities), column_names(probabilities)
    if names is not None and len(names) == len(classes) and -1 not in (at := match_labels(classes, names)):
        p = p[:, at]
    if p.dtype.kind not in "biuf" or p.ndim != 2 or p.shape[1] != len(classes):
        raise ValueError(
            f"probabilities must be numbers of shape (n, {len(classes)}), with a column for each of the classes "
            f"{listed(classes)}, got shape {p.shape} of {p.dtype}: give what predict_proba returns, and classes_."
        )
    p = p.astype(np.float64)
    if wrong := np.argwhere(~(np.isfinite(p) & (p >= 0.0))).tolist():
        i, j = wrong[0]
        raise ValueError(
            f"probabilities must be finite and 0 or more, got {p[i, j]} in row {i} for {classes[j]!r}: give what "
            "predict_proba returns, not scores or logarithms."
        )
    return p
