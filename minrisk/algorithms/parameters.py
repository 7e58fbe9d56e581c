"""Parameters of methods: each is declared once, with its default, its rule and its documentation."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

from sklearn.base import is_regressor

from minrisk.estimator.inputs import Inputs
from minrisk.estimator.parameters import Number, Rule

T = TypeVar("T")
SECTION = re.compile(r"^(\w[\w ]*)\n-+\n", re.MULTILINE)  # of a docstring, as numpydoc heads it
FIRST = ("cost", "n_estimators", "learning_rate")  # in signatures; what else all methods share stands at the end


@dataclass(frozen=True)
class ScikitEstimator(Rule):
    """The rule of a scikit-learn estimator, an object and not a class, or None."""

    kind: str  # "regressor" or "classifier"

    def accepts(self, value: Any) -> bool:
        """Return whether it has `fit` and `predict`, and is no regressor where a classifier is asked for."""
        if value is None:
            return True
        whole = not isinstance(value, type) and all(hasattr(value, name) for name in ("fit", "predict", "get_params"))
        return whole and not (self.kind == "classifier" and is_regressor(value))

    def __str__(self) -> str:
        return f"a scikit-learn {self.kind} or None"


def parameter(*, default: Any, rule: Rule | None = None, lasting: bool = False, kw_only: bool = True) -> Any:
    """Declare a parameter of a method.

    Parameters
    ----------
    default
    rule : Rule, optional
        What its values may be. By default the rule of the base class.
    lasting : bool
        Whether it gives the rounds their meaning: a warm start then refuses another value.
    kw_only : bool
    """
    return field(default=default, kw_only=kw_only, metadata={"rule": rule, "lasting": lasting})


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(parameter,))
def algorithm(cls: type[T]) -> type[T]:
    """Make the constructor of a method from its annotated parameters, collect their rules, and fill its docstring.

    The constructor has an explicit signature, as scikit-learn asks for. Parameters and attributes that the docstring
    of the class leaves out are taken from its base classes' docstrings.
    """
    made: Any = dataclass(eq=False, repr=False, kw_only=True)(cls)
    given = {one.name: one.metadata for one in fields(made)}
    rules: dict[str, Rule] = {}
    lasting = {name for name, told in given.items() if told.get("lasting")}
    for base in reversed(made.__mro__[1:]):
        rules |= vars(base).get("_rules", {})
        lasting |= set(vars(base).get("_lasting", ()))
    rules |= {name: told["rule"] for name, told in given.items() if told.get("rule") is not None}
    made._rules = {name: rule for name, rule in rules.items() if name in given}  # in this order in model files
    made._lasting = tuple(name for name in given if name in lasting)
    signature, last = inspect.signature(made.__init__), list(Inputs._rules)
    this, *parameters = signature.parameters.values()
    places = {**{name: 4 + i for i, name in enumerate(last)}, **{name: i for i, name in enumerate(FIRST)}}
    parameters.sort(key=lambda one: places.get(one.name, 3))
    made.__init__.__signature__ = signature.replace(parameters=[this, *parameters])
    if made.__doc__:
        made._stated_docstring = made.__doc__
        made.__doc__ = _filled(made, {one.name: one.default for one in parameters})
    return made  # type: ignore[no-any-return]  # the class that came


def _filled(cls: type, defaults: dict[str, Any]) -> str:
    """Return the docstring of a class with all of its parameters, in their order, and attributes."""
    stated = [vars(base).get("_stated_docstring", base.__doc__) for base in cls.__mro__]
    documented = [_sections(docstring or "") for docstring in stated]
    own = documented[0]
    entries: dict[str, dict[str, str]] = {"Parameters": {}, "Attributes": {}}
    for sections in reversed(documented):
        for section, found in entries.items():
            found |= _entries(sections.get(section, ""))
    known = entries["Parameters"]
    told = [_with_default(known[name], default) for name, default in defaults.items() if name in known]
    parts = [own[""].rstrip(), _section("Parameters", "\n".join(told))]
    if entries["Attributes"]:
        parts.append(_section("Attributes", "\n".join(entries["Attributes"].values())))
    parts += [_section(name, text) for name, text in own.items() if name and name not in entries]
    return "\n\n".join(parts) + "\n"


def parameter_texts(cls: type) -> dict[str, str]:
    """Return what the docstring of a method says of each parameter, but for its type."""
    entries = _entries(_sections(cls.__doc__ or "").get("Parameters", ""))
    return {name: inspect.cleandoc(entry.partition("\n")[2]) for name, entry in entries.items()}


def _sections(docstring: str) -> dict[str, str]:
    """Return the sections of a docstring by their names, and what stands before them by the empty one."""
    head, *parts = SECTION.split(inspect.cleandoc(docstring))
    return {"": head, **dict(zip(parts[::2], parts[1::2], strict=True))}


def _section(name: str, text: str) -> str:
    return f"{name}\n{'-' * len(name)}\n{text.rstrip()}"


def _entries(section: str) -> dict[str, str]:
    """Return what a section says of each name."""
    entries = (entry.rstrip() for entry in re.split(r"^(?=\S)", section, flags=re.MULTILINE) if entry.strip())
    return {entry.partition(" ")[0]: entry for entry in entries}


def _with_default(entry: str, default: Any) -> str:
    """Return what is said of a parameter with the number that is its default in this class."""
    if isinstance(default, bool) or not isinstance(default, int | float):
        return entry
    stated = re.search(r"default=(\S+)$", entry.partition("\n")[0])
    same = stated is not None and float(stated[1]) == default
    return entry if same else re.sub(r"default=\S+", f"default={default!r}", entry, count=1)


@algorithm
class SharedParameters:
    """Parameters that all methods have.

    Parameters
    ----------
    cost : array-like of shape (K, D), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        What each decision costs for each true class: rows are true classes, columns are decisions.
        A table without labels has its rows and columns in the order of `classes_`, which is sorted.
        By default every mistake costs 1.
    warm_start : bool, default=False
        Whether `fit` continues from the rounds of the last fit.
        On the same data this gives the same model as one long fit, to the last bit.
    class_weight : dict or "balanced", optional
        Factors on the weights of the rows of each class.
        A dict has a number above 0 for each label; labels that it does not name keep 1.
        "balanced" gives all classes the same total weight: the factor of class k is n / (K n_k), if n_k of the n rows
        belong to it (rows count by `sample_weight`).
        If the model has probabilities, they are those of rows whose classes come in these shares.
    categorical_features : array-like or "from_dtype", default="from_dtype"
        Columns whose numbers are names, such as postcodes: column names, positions or a mask of shape (d,).
        Columns of text and of categorical types are categories without being listed.
    n_jobs : int, optional
        Number of threads, as in joblib: None means 1 and -1 means all cores.
        The model does not depend on it.
    random_state : int or RandomState, optional
        Seed of what is drawn: rows (`subsample`), features (`max_features`) and the rows that `early_stopping` sets
        apart.
    verbose : int, default=0
        1 draws a progress bar (this needs rich) and prints what became of each column of a table.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class labels, sorted.
    decisions_ : ndarray of shape (D,)
        What `predict` may return: the classes, and then other decisions that the costs name.
    cost_ : CostMatrix or None
        Costs of the fit; None if they were given for each row.
    model_ : AdditiveModel
        The scores H.
    n_iter_ : int
        Number of rounds kept, T below.
    train_loss_ : ndarray of shape (T + 1,)
        Training loss before round 1 and after every round.
    feature_importances_ : ndarray of shape (d,)
        Share of each feature in the relative falls of the loss; the shares sum to 1.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X had names that are all strings.
    columns_ : list of ColumnFacts
        If X was a table: the name, kind, number of values and of missing cells of each column, what it became, and a
        remark if it looks wrong.
        Model files do not keep it.
    """

    cost: Any = parameter(default=None, kw_only=False)
    warm_start: bool = False
    class_weight: Any = None
    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0


@algorithm
class CommonParameters(SharedParameters):
    """Parameters that all methods of one run of rounds have.

    Parameters
    ----------
    n_estimators : int, default=200
        Largest number of rounds.
    early_stopping : bool, default=False
        Whether to set rows apart and to keep the rounds up to the lowest mean cost of these rows.
        If `fit` is given an `eval_set`, its first pair takes the place of these rows.
    validation_fraction : float, default=0.1
        Share of the rows that `early_stopping` sets apart.
    n_iter_no_change : int, default=20
        `early_stopping` ends the training after this many rounds without a new lowest mean cost.

    Attributes
    ----------
    train_risk_ : ndarray of shape (T + 1,)
        Mean cost of the decisions about the training rows, before round 1 and after every round.
    validation_risk_ : ndarray or None
        Mean cost of the rows that `early_stopping` watches, before round 1 and after every round that was run; None
        without early stopping.
    evals_result_ : dict
        ``{"valid_0": {"cost": [...]}}``: mean cost of the rows of `eval_set` after each round of this fit.
        It exists if `fit` was given an `eval_set`; model files do not keep it.
    """

    n_estimators: int = 200
    early_stopping: bool = parameter(default=False, lasting=True)
    validation_fraction: float = parameter(default=0.1, lasting=True)
    n_iter_no_change: int = 20


@algorithm
class StepParameters:
    """Parameters of methods that shorten their steps, and find each on a part of the rows.

    Parameters
    ----------
    learning_rate : float, default=1.0
        Factor on what every round adds to the scores.
        Smaller values need more rounds.
    subsample : float, default=1.0
        Share of the rows drawn for each round, without replacement.
    """

    learning_rate: float = 1.0
    subsample: float = 1.0


@algorithm
class BinParameters:
    """Parameters of methods whose learners split binned features.

    Parameters
    ----------
    binning : {"quantile", "uniform"}, default="quantile"
        Where thresholds may lie: "quantile" divides the rows evenly, "uniform" spaces thresholds evenly.
    max_bins : int, optional
        Number of bins of each feature, from 2 to 256.
        By default 256 if `binning` is "quantile", and 201 if it is "uniform".
    max_features : float or int, default=1.0
        Features drawn for each round: a float is a share of them, an int is a number.
    """

    binning: str = parameter(default="quantile", lasting=True)
    max_bins: int | None = parameter(default=None, lasting=True)
    max_features: float = 1.0


@algorithm
class CostScale:
    """The parameter of methods whose loss is no multiple of the costs.

    Parameters
    ----------
    cost_scale : float, optional
        What costs are divided by in the loss, which depends on their size. By default they count as stated, as in the
        paper; the mean cost of a mistake makes the loss independent of their unit.
    """

    cost_scale: float | None = parameter(default=None, rule=Number(float, 0, open_low=True, optional=True))
