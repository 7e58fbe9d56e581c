"""Decisions about rows whose classes are not known: what they cost, and those of least expected cost."""

from __future__ import annotations

from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, Labels
from minrisk._utils.algebra import product
from minrisk.costs import CostMatrix, is_per_row
from minrisk.costs.labels import as_labels, label_array, listed, match_labels
from minrisk.costs.matrix import column_names, is_frame
from minrisk.costs.reading import CostsPerRow, aligned, has_matrices, is_of_samples
from minrisk.estimator.base import BoostedClassifier


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
    known, labels = np.asarray(classes), as_labels(classes)
    p = _checked(probabilities, labels)
    costs = costs_of_decisions(cost, known, len(p))
    if costs.shared is None:
        expected = np.asarray(sum(own[:, None] * costs.values[:, j] for j, own in enumerate(p.T)))
    else:
        expected = product(p, costs.shared.values)
    return np.asarray(costs.decisions[expected.argmin(axis=1)])


def _checked(probabilities: Any, classes: tuple[Any, ...]) -> FloatArray:
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


class DecisionCosts(NamedTuple):
    """Costs of decisions about rows whose classes are not known, in the unit that they are stated in.

    Attributes
    ----------
    values : ndarray of shape (1, K, D) or (n, K, D)
        One matrix of all rows, or one for each.
    decisions : ndarray of shape (D,)
    shared : CostMatrix or None
        The one matrix.
    """

    values: FloatArray
    decisions: Labels
    shared: CostMatrix | None


def decision_costs(model: BoostedClassifier, cost: Any, n: int) -> DecisionCosts:
    """Read costs for decisions of a model about n rows: the one reader of `predict`, `why` and SHAP values."""
    return costs_of_decisions(cost, model.classes_, n, model.decisions_, model._names())


def costs_of_decisions(cost: Any, classes: Labels, n: int, decisions: Any = (), stated: Any = None) -> DecisionCosts:
    """Read costs for decisions about n rows.

    Parameters
    ----------
    cost : object
        A matrix as in `fit`, or an array (n, K, D) with a matrix for each row.
    classes : ndarray of shape (K,)
        That decisions are about.
    n : int
    decisions, stated : object
        As in `minrisk.costs.reading.CostsPerRow.of`.

    Raises
    ------
    ValueError
        If it is neither, such as an array (n, D): the classes of these rows are not known.
    """
    labels, names = as_labels(classes), as_labels(decisions)
    if has_matrices(cost):
        matrices, columns = CostsPerRow.of(cost, labels, stated=stated, decisions=names).matrices_of(n, labels)
        return DecisionCosts(matrices, label_array(columns, classes), None)
    if is_per_row(cost, n, len(labels)) or (is_frame(cost) and is_of_samples(cost, labels)):
        raise ValueError(
            f"cost has a row for each row, got shape {np.shape(cost)}, but what a decision costs depends on the class, "
            "which is unknown: give one matrix for all rows, as cost=[[0, 1], [5, 0]] for two classes, or an array "
            f"of shape {(n, len(labels), len(names) or len(labels))} with such a matrix for each row, or leave cost "
            "out to decide by what fit has learnt about costs."
        )
    matrix = aligned(cost, labels, decisions=names)
    return DecisionCosts(matrix.values[None], label_array(matrix.decisions, classes), matrix)


def decides_by_any_costs(model: BoostedClassifier) -> bool:
    """Return whether `predict` takes costs, so that decisions are those of least expected cost by probabilities."""
    return model.model_.link is not None and "cost" in signature(model.predict).parameters
