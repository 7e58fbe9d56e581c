"""Costs of decisions about rows whose classes are not known: the one reader of them."""

from __future__ import annotations

from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, Labels
from minrisk._utils.algebra import product
from minrisk.costs import CostMatrix, is_per_row
from minrisk.costs.labels import as_labels, label_array
from minrisk.costs.matrix import is_frame
from minrisk.costs.reading import CostsPerRow, aligned, has_matrices, is_of_samples


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

    @property
    def table(self) -> FloatArray:
        """Return the costs (K, D), or (n, K, D) where rows have costs of their own."""
        return self.values if self.shared is None else self.shared.values


def decision_costs(model: Any, cost: Any, n: int) -> DecisionCosts:
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


def decides_by_any_costs(model: Any) -> bool:
    """Return whether `predict` takes costs, so that decisions are those of least expected cost by probabilities."""
    return model.model_.link is not None and "cost" in signature(model.predict).parameters


def costs_for(model: Any, cost: Any, n: int) -> DecisionCosts:
    """Read costs for decisions of any classifier about n rows; by default those of its fit.

    Raises
    ------
    ValueError
        If there are none, or they are of the true classes of rows.
    """
    stated = getattr(model, "cost_", None) if cost is None else cost
    if stated is None:
        raise ValueError(
            f"cost must be given, since the {type(model).__name__} has no table of its own (cost_): give a table of "
            "true classes by decisions, as costs.with_reject(costs.uniform(classes), price=0.3)."
        )
    return costs_of_decisions(stated, np.asarray(model.classes_), n, getattr(model, "decisions_", ()))


def shared_costs(model: Any, cost: Any, n: int = 0) -> CostMatrix:
    """Read a table for all rows, likewise; raises `ValueError` for one of each row as well."""
    if has_matrices(cost):
        raise ValueError(
            f"cost must be one table for all rows, got shape {np.shape(cost)}, with a table for each: give one of "
            "shape (K, D)."
        )
    found = costs_for(model, cost, n).shared
    assert found is not None
    return found


def expected_costs(p: FloatArray, values: FloatArray) -> FloatArray:
    """Return expected costs (n, D) of each decision by probabilities (n, K) and costs (K, D) or (n, K, D)."""
    if values.ndim == 2:
        return np.asarray(product(p, values))
    return np.asarray(sum(own[:, None] * values[:, j] for j, own in enumerate(p.T)))
