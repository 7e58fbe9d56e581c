"""What is compared: estimators by name, by object, or made for given costs; and how each of them comes to decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from minrisk._utils.method_names import ESTIMATORS
from minrisk.costs import CostMatrix
from minrisk.costs.labels import listed

BLIND_PREFIX = "blind:"  # of a name: trained without the costs
OWN, EXPECTED = "own", "expected"  # decisions: as `predict` has them, or of least expected cost by `predict_proba`
THREAD_PARAMETERS = ("n_jobs", "thread_count")  # the latter is CatBoost's
ONE_BY_DEFAULT = ("sklearn.", "minrisk.")  # modules whose estimators take no number of threads for one
AFTERWARDS = " + costs"  # what is added to the name of a method that decides by expected costs afterwards


class MethodError(RuntimeError):
    """Error of a method on a fold; the message says which method and which fold.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minrisk import compare
    >>> from minrisk.comparison import MethodError
    >>> X, y = load_iris(return_X_y=True)
    >>> try:
    ...     compare(X, y, methods=["sklearn.linear_model.Perceptron"], cv=[(range(10), range(10, 150))])
    ... except MethodError:
    ...     print("The training rows hold one class only.")
    The training rows hold one class only.
    """


class BlindToCosts(NamedTuple):
    """An estimator that `compare` trains without the costs, though it could take them.

    Beside the same estimator trained on the costs it answers whether training on them is worth it.

    Parameters
    ----------
    estimator : estimator or str
        An estimator, or the name of one, such as "rebel". The name "blind:rebel" means the same as
        ``BlindToCosts("rebel")``.

    Examples
    --------
    >>> from minrisk.comparison import BlindToCosts
    >>> BlindToCosts("rebel").estimator
    'rebel'
    """

    estimator: Any


class ComparedMethod(NamedTuple):
    """A method under its name."""

    name: str
    source: Any  # an estimator, or a function from costs to an estimator
    blind: bool

    def estimator(self, cost: CostMatrix | None, seed: int, threads: int) -> Any:
        """Make an estimator, not fitted, for a data set with these costs; None: every mistake costs 1.

        What the user has set stays. The costs go where a parameter `cost` is None, the seed where a `random_state` is.
        """
        from sklearn.base import clone

        if _is_estimator(self.source):
            made = clone(self.source)
        else:
            made = self.source(None if self.blind else cost)
            if not _is_estimator(made):
                raise TypeError(
                    f"the function of the method {self.name!r} must return an estimator with fit, predict and "
                    f"get_params, got {type(made).__name__}."
                )
        parameters = made.get_params(deep=True)
        given: dict[str, Any] = {}
        if cost is not None and not self.blind:
            given |= dict.fromkeys((name for name in _cost_parameters(made) if parameters[name] is None), cost)
        for name in parameters:
            if _last(name) == "random_state" and parameters[name] is None:
                given[name] = seed
        return made.set_params(**given, **_threads(made, threads))

    @property
    def row_costs(self) -> str | None:
        """By what name `fit` takes costs of each row; None: it takes none.

        Our classifiers take them, also at the end of a pipeline, unless they are blind or have other costs.
        """
        from minrisk.estimator import BoostedClassifier

        step, last = last_step(self.source)
        takes = isinstance(last, BoostedClassifier) and last.cost is None and not last._needs_matrix
        return f"{step}cost" if takes and not self.blind else None

    def decides(self, costs_matter: bool) -> tuple[str, ...]:
        """Say how decisions are made of a fit: `OWN`, and `EXPECTED` where the costs had no part in training."""
        on_costs = not self.blind and (not _is_estimator(self.source) or bool(_cost_parameters(self.source)))
        return (OWN, EXPECTED) if costs_matter and not on_costs else (OWN,)


def compared_methods(methods: Any) -> list[ComparedMethod]:
    """Read what `compare` takes as `methods`.

    Raises
    ------
    ValueError
        If there is none, a name is not known or occurs twice.
    TypeError
        If something is no estimator.
    """
    if isinstance(methods, Mapping):
        named = [(str(name), source) for name, source in methods.items()]
    else:
        if isinstance(methods, str) or _is_estimator(methods) or not isinstance(methods, Iterable):
            methods = [methods]
        sources = list(methods)
        named = list(zip(_distinct([_called(source) for source in sources]), sources, strict=True))
    if not named:
        raise ValueError("methods must hold one method at least: name some, as in methods=['minrisk', 'rebel'].")
    names = [name for name, _ in named]
    taken = next((name for name in names if name.endswith(AFTERWARDS) and name.removesuffix(AFTERWARDS) in names), None)
    if taken is not None:
        raise ValueError(f"the name {taken!r} is that of another method's decisions by expected costs: change it.")
    return [_compared(name, source) for name, source in named]


def _seeing(source: Any) -> tuple[Any, int]:
    """Return a method without what says that it is blind to costs, and how often that was said."""
    times = 0
    while isinstance(source, BlindToCosts) or (isinstance(source, str) and source.startswith(BLIND_PREFIX)):
        source = source.estimator if isinstance(source, BlindToCosts) else source.removeprefix(BLIND_PREFIX)
        times += 1
    return source, times


def _compared(name: str, source: Any) -> ComparedMethod:
    source, blind = _seeing(source)
    if isinstance(source, str):
        source = _by_name(source)
    if isinstance(source, type):
        raise TypeError(f"the method {name!r} is the class {source.__name__}: pass an estimator, {source.__name__}().")
    if not _is_estimator(source) and not callable(source):
        raise TypeError(
            f"the method {name!r} must be a name, an estimator with fit, predict and get_params, or a function that "
            f"makes one for given costs, got {type(source).__name__}."
        )
    if blind and _is_estimator(source):
        set_costs = [each for each in _cost_parameters(source) if source.get_params(deep=True)[each] is not None]
        if set_costs:
            raise ValueError(f"the method {name!r} is to be blind to costs, but {set_costs[0]} is set: leave it None.")
    return ComparedMethod(name, source, blind > 0)


def _by_name(name: str) -> Any:
    """Make an estimator with its defaults, one of ours by its short name, one of others by module and class."""
    if name in ESTIMATORS:
        return getattr(import_module("minrisk.algorithms"), ESTIMATORS[name])()
    module, _, last = name.rpartition(".")
    known = f"known are {listed(list(ESTIMATORS))}, and estimators of others as sklearn.ensemble.RandomForestClassifier"
    if not module:
        raise ValueError(f"there is no method {name!r}: {known}.")
    try:
        found = getattr(import_module(module), last)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"the method {name!r} cannot be imported ({error}): {known}.") from None
    if not (isinstance(found, type) and all(hasattr(found, each) for each in ("fit", "predict", "get_params"))):
        raise ValueError(f"the method {name!r} is no class of estimators: {known}.")
    try:
        return found()
    except TypeError as error:
        why = f"cannot be made without arguments ({error})"
        raise ValueError(f"the method {name!r} {why}: pass an estimator in Python.") from None


def _called(source: Any) -> str:
    """Return a name for a method that was given none."""
    source, blind = _seeing(source)
    return "blind " * blind + _called_seeing(source)


def _called_seeing(source: Any) -> str:
    if isinstance(source, str):
        return source.rpartition(".")[2]
    steps = getattr(source, "steps", None)  # of a pipeline
    if steps:
        return _called(steps[-1][1])
    inner = source.get_params(deep=False).get("estimator") if _is_estimator(source) else None  # of a search
    if inner is not None and _is_estimator(inner):
        return f"{type(source).__name__}({_called(inner)})"
    return str(getattr(source, "__name__", type(source).__name__))


def _distinct(names: list[str]) -> list[str]:
    """Return names with a number where they occur several times."""
    return [f"{name} {names[: i + 1].count(name)}" if names.count(name) > 1 else name for i, name in enumerate(names)]


def _is_estimator(source: Any) -> bool:
    return not isinstance(source, type) and all(hasattr(source, name) for name in ("fit", "get_params", "set_params"))


def _cost_parameters(estimator: Any) -> list[str]:
    """Return the parameters that take a cost matrix: its own `cost`, and those of our estimators within it."""
    from minrisk.estimator import BoostedClassifier

    parameters = estimator.get_params(deep=True)
    return [
        name
        for name in parameters
        if name == "cost"
        or (name.endswith("__cost") and isinstance(parameters[name.removesuffix("__cost")], BoostedClassifier))
    ]


def last_step(estimator: Any) -> tuple[str, Any]:
    """Return what parameters of a pipeline's last step begin with, and this step; without a pipeline the estimator."""
    steps = getattr(estimator, "steps", None)
    return (f"{steps[-1][0]}__", steps[-1][1]) if steps else ("", estimator)


def _last(name: str) -> str:
    return name.rpartition("__")[2]


def _threads(estimator: Any, threads: int) -> dict[str, int]:
    """Give everybody the same number of threads, where an estimator takes one; what it holds inside then has one.

    Where one is wanted, None is left in scikit-learn's estimators and ours, which take it for one.
    """
    parameters = estimator.get_params(deep=True)
    places = {name: name.removesuffix(_last(name)) for name in parameters if _last(name) in THREAD_PARAMETERS}
    given = {}
    for name, place in places.items():
        inside = any(place.startswith(outer) and place != outer for outer in places.values())
        owner = parameters.get(place.removesuffix("__"), estimator)
        wanted = 1 if inside else threads
        if wanted != 1 or parameters[name] is not None or not type(owner).__module__.startswith(ONE_BY_DEFAULT):
            given[name] = wanted
    return given
