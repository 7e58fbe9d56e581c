"""What `algorithm` makes of declared parameters: a constructor, rules, and a docstring."""

import inspect

import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import minrisk
from minrisk.algorithms.base import RecipeClassifier
from minrisk.algorithms.parameters import BinParameters, StepParameters, algorithm, parameter
from minrisk.validation import Choice, Number


@algorithm
class Parent(RecipeClassifier, BinParameters, StepParameters):
    """A method.

    Parameters
    ----------
    size : int, default=3
        How large.

    Attributes
    ----------
    model_ : AdditiveModel
        Its scores.

    Notes
    -----
    A note.
    """

    n_estimators: int = 7
    size: int = parameter(default=3, rule=Number(int, 1), lasting=True)


@algorithm
class Child(Parent):
    """Another method.

    Parameters
    ----------
    kind : {"a", "b"}, default="a"
        Which one.
    """

    size: int = 5
    kind: str = parameter(default="a", rule=Choice(("a", "b")))


def test_the_constructor_is_explicit_and_states_own_parameters_before_shared_ones():
    names = list(inspect.signature(Child).parameters)
    assert names[:5] == ["cost", "n_estimators", "learning_rate", "size", "kind"]
    assert inspect.signature(Child).parameters["cost"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert inspect.signature(Child).parameters["size"].kind is inspect.Parameter.KEYWORD_ONLY
    model = clone(Child([[0, 1], [2, 0]], kind="b"))
    assert (model.cost, model.n_estimators, model.size, model.kind) == ([[0, 1], [2, 0]], 7, 5, "b")
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        Child(colour=1)


def test_rules_are_inherited_and_checked():
    assert set(Child._rules) == set(Child().get_params()) - {"cost"}
    assert {"size", "binning", "max_bins", "early_stopping"} <= set(Child._lasting)
    assert "kind" not in Child._lasting
    with pytest.raises(ValueError, match="size must be a whole number at least 1, got 0"):
        Child(size=0).fit(*load_iris(return_X_y=True))


def test_docstrings_are_filled_from_those_of_the_bases():
    told = Child.__doc__
    assert told.startswith("Another method.\n\nParameters\n----------\ncost : ")
    assert "n_estimators : int, default=7\n    Largest number of rounds." in told
    assert "size : int, default=5\n    How large.\nkind : " in told
    assert "model_ : AdditiveModel\n    Its scores." in told
    assert "A note." not in told  # notes are of one class
    assert told.count("random_state : ") == 1


def test_each_method_is_one_file_of_its_name():
    assert len(minrisk.ALGORITHMS) == len({kind.__module__ for kind in minrisk.ALGORITHMS})
    for kind in minrisk.ALGORITHMS:
        assert getattr(minrisk.algorithms, kind.__name__) is kind
    with pytest.raises(AttributeError, match="no attribute 'NoClassifier'"):
        minrisk.algorithms.NoClassifier  # noqa: B018
