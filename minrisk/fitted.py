"""What others ask of a fitted classifier: whether it is one, what its columns are called, by which costs it decides."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from inspect import isclass, signature
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from minrisk._typing import FloatArray, Labels
from minrisk.costs import CostMatrix, as_cost, is_per_row
from minrisk.costs.labels import as_labels, match_labels
from minrisk.costs.reading import among, is_per_row_and_class, row_matrices
from minrisk.costs.sample_rows import is_of_samples
from minrisk.costs.stated import named_columns
from minrisk.costs.tables import is_frame
from minrisk.estimator import BoostedClassifier
from minrisk.inputs import one_fit
from minrisk.validation import label_array

FIT_OR_LOAD = "fit one, or read a file by minrisk.load"
WITHIN = "give the classifier within, and rows as it sees them"


def check_fitted(model: Any, what: str, within: str = WITHIN) -> Any:
    """The model as its last `fit` has left it, if it is a fitted classifier of minrisk.

    Parameters
    ----------
    model : object
    what : str
        The function that was asked.
    within : str
        What to do about a pipeline or a search.

    Raises
    ------
    TypeError
        If it is something else, such as a pipeline.
    NotFittedError
        If it is not fitted.
    """
    if not isinstance(model, BoostedClassifier):
        raise TypeError(
            f"{what} takes a fitted classifier of minrisk: expected one such as MinRiskClassifier, got "
            f"{kind_text(model)}; {_way(model, within)}."
        )
    check_is_fitted(model, "model_")
    return one_fit(model)


def check_any_fitted(estimator: Any, what: str) -> Any:
    """The estimator as its last `fit` has left it, if it is a fitted one, of minrisk or any other.

    Raises
    ------
    TypeError
        If it is no estimator, such as a list of them.
    NotFittedError
        If it is not fitted.
    """
    if isclass(estimator) or not hasattr(estimator, "fit"):
        raise TypeError(
            f"{what} takes a fitted classifier: expected one, got {kind_text(estimator)}; {_way(estimator, WITHIN)}."
        )
    check_is_fitted(estimator)
    return one_fit(estimator)


def kind_text(given: Any) -> str:
    """What kind of object was given.

    Examples
    --------
    >>> kind_text([1, 2]), kind_text(None), kind_text(int)
    ('list', 'None', 'the class int')
    """
    if isclass(given):
        return f"the class {given.__name__}"
    return "None" if given is None else type(given).__name__


def _way(given: Any, within: str) -> str:
    """What to do in place of giving this."""
    if isclass(given):
        return f"make an object of the class, as {given.__name__}(), and fit it"
    if hasattr(given, "steps") or hasattr(given, "estimator"):
        return f"of a pipeline or a search {within}"
    if isinstance(given, str | os.PathLike):
        return "read a model file by minrisk.load"
    return "give one model at a time" if isinstance(given, list | tuple | set | Mapping) else FIT_OR_LOAD


def names_of_columns(
    model: BoostedClassifier,
    names: Sequence[str] | None = None,
    unnamed: str = "x[{}]",
    first: int = 0,
    some: Sequence[int] | None = None,
) -> list[str]:
    """Names of the d columns of X; those without a name are called as Python indexes them, x[0] the first.

    Parameters
    ----------
    model : fitted classifier of minrisk
    names : sequence of d str, optional
        Names in place of the model's own.
    unnamed : str
        How a column without a name is called, with its number.
    first : int
        Number of the first of these.
    some : sequence of int, optional
        Positions of the columns whose names are wanted; of millions of columns the others are not made.

    Raises
    ------
    ValueError
        If `names` are not d.
    """
    d = int(model.n_features_in_)
    if names is not None:
        if isinstance(names, str) or not hasattr(names, "__len__") or len(names) != d:
            told = len(names) if hasattr(names, "__len__") and not isinstance(names, str) else repr(names)
            raise ValueError(f"names must name each of the {d} columns of X once, got {told}: correct them.")
        return [str(name) for name in names]
    wanted = range(d) if some is None else some
    own = getattr(model, "feature_names_in_", None)
    own = model._column_names if own is None else own
    if own is not None:
        return [str(own[j]) for j in wanted]
    of_svmlight = getattr(model, "first_feature_", None)
    if of_svmlight is not None:
        unnamed, first = "feature {}", int(of_svmlight)
    return [unnamed.format(j + first) for j in wanted]


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
    """Read costs for decisions about n rows: the one reader of `predict`, `why` and SHAP values.

    Parameters
    ----------
    model : fitted classifier of minrisk
        Whose classes they are about.
    cost : object
        A matrix as in `fit`, or an array (n, K, D) with a matrix for each row. Its classes may be more than the
        model's where the costs of the fit name them.
    n : int

    Raises
    ------
    ValueError
        If it is neither, such as an array (n, D): the classes of these rows are not known.
    """
    if is_per_row_and_class(cost):
        return _costs_of_each(model, cost, n)
    classes = as_labels(model.classes_)
    if is_per_row(cost, n, len(classes)) or (is_frame(cost) and is_of_samples(cost, n, classes)):
        raise ValueError(
            f"cost has a row for each row, got shape {np.shape(cost)}, but what a decision costs depends on the class, "
            "which is unknown: give one matrix for all rows, as cost=[[0, 1], [5, 0]] for two classes, or an array "
            f"of shape {(n, len(classes), len(model.decisions_))} with such a matrix for each row, or leave cost out "
            "to decide by what fit has learnt about costs."
        )
    matrix = named_columns(cost, as_cost(cost, model.classes_), as_labels(model.decisions_))
    values = np.asarray(matrix.values, dtype=np.float64)[None]
    return DecisionCosts(values, label_array(matrix.decisions, model.classes_), matrix)


def _costs_of_each(model: BoostedClassifier, cost: Any, n: int) -> DecisionCosts:
    """Costs with a matrix for each row."""
    own = as_labels(model.classes_)
    classes = among(cost, own, model._names())
    matrices = row_matrices(cost, n, classes, len(model.decisions_), "leave these out")
    if classes == own and matrices.shape[2] == len(model.decisions_):
        return DecisionCosts(matrices, model.decisions_, None)
    names = as_cost(np.ones(matrices.shape[1:]), classes, allow_diagonal=True).decisions
    assert names is not None
    rows = match_labels(own, classes)
    columns = [*rows, *range(len(classes), len(names))]
    decisions = label_array([names[j] for j in columns], model.classes_)
    return DecisionCosts(matrices[:, rows][:, :, columns], decisions, None)


def decides_by_any_costs(model: BoostedClassifier) -> bool:
    """Whether `predict` takes costs: decisions are then those of least expected cost by the model's probabilities."""
    return model.model_.link is not None and "cost" in signature(model.predict).parameters
