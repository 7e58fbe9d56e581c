"""What others ask of a fitted classifier: whether it is one, and what its columns are called."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from inspect import isclass
from typing import Any

from sklearn.utils.validation import check_is_fitted

from minrisk.estimator.base import BoostedClassifier
from minrisk.estimator.inputs import one_fit

FIT_OR_LOAD = "fit one, or read a file by minrisk.load"
WITHIN = "give the classifier within, and rows as it sees them"


def check_fitted(model: Any, what: str, within: str = WITHIN) -> Any:
    """Return the model as its last `fit` has left it, if it is a fitted classifier of minrisk.

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
    """Return the estimator as its last `fit` has left it, if it is a fitted one, of minrisk or any other.

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
    """Return what kind of object was given.

    Examples
    --------
    >>> kind_text([1, 2]), kind_text(None), kind_text(int)
    ('list', 'None', 'the class int')
    """
    if isclass(given):
        return f"the class {given.__name__}"
    return "None" if given is None else type(given).__name__


def _way(given: Any, within: str) -> str:
    """Return what to do in place of giving this."""
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
    """Return names of the d columns of X; those without a name are called as Python indexes them, x[0] the first.

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


def told_parameters(model: Any, deep: bool = False) -> dict[str, Any]:
    """Return the parameters that say what a model is; costs, columns and threads are told apart, or of no matter."""
    others = ("cost", "class_weight", "categorical_features", "n_jobs", "random_state", "verbose", "warm_start")
    return {name: value for name, value in model.get_params(deep).items() if name not in others}
