"""CostMatrix: what it holds, how it is labelled, what it refuses."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest

from minrisk.costs import CostMatrix, read_cost, uniform
from minrisk.costs.units import AvoidableCosts
from tests.helpers.cost_examples import ABC, KDD, VALUES, frame, write


def nested(cost: CostMatrix) -> dict:
    return {
        true: dict(zip(cost.decisions, row, strict=True)) for true, row in zip(cost.classes, cost.values, strict=True)
    }


def test_values_are_a_read_only_float64_copy():
    source = np.array(VALUES, dtype=np.float64, order="F")
    cost = CostMatrix(source, ABC)
    source[0, 1] = 99
    assert cost.values[0, 1] == 1
    assert cost.values.dtype == np.float64
    assert cost.values.flags.c_contiguous
    assert not cost.values.flags.writeable
    assert cost.shape == (3, 3)
    with pytest.raises(AttributeError):
        cost.classes = ("x", "y", "z")


def test_numpy_reads_it():
    cost = CostMatrix(VALUES)
    assert np.asarray(cost) is cost.values
    assert np.array(cost).flags.writeable
    assert np.asarray(cost, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        cost.__array__(np.float32, copy=False)


def test_equality_and_hash_are_by_value():
    one, same = CostMatrix(VALUES, ABC), CostMatrix(VALUES, list(ABC))
    assert one == same
    assert hash(one) == hash(same)
    assert one != CostMatrix(VALUES)
    assert one != CostMatrix(np.multiply(VALUES, 2), ABC)
    assert one != "cost"


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
def test_copies_are_equal_and_still_read_only(clone):
    cost = CostMatrix([[1, 2], [3, 0]], ["a", "b"], allow_diagonal=True)
    assert clone(cost) == cost
    assert not clone(cost).values.flags.writeable


def test_default_decisions():
    assert CostMatrix(VALUES).decisions is None
    assert CostMatrix(VALUES, ABC).decisions == ABC
    assert CostMatrix(np.c_[VALUES, [1, 1, 1]], ABC).decisions == (*ABC, "refer")
    assert CostMatrix(np.c_[VALUES, np.ones((3, 2))], ABC).decisions == (*ABC, "refer_1", "refer_2")
    assert CostMatrix([[0, 1], [1, 0], [1, 2]], ABC, ["a", "b"]).shape == (3, 2)


def test_labels_of_an_array_become_python_values():
    assert CostMatrix(VALUES, np.array([1, 2, 3])).classes == (1, 2, 3)
    assert type(CostMatrix(VALUES, np.array([1, 2, 3])).classes[0]) is int


def test_a_labelled_source_keeps_its_labels(tmp_path):
    cost = CostMatrix(VALUES, ABC)
    for source in (cost, frame(cost), nested(cost)):
        assert CostMatrix(source) == cost
    assert CostMatrix(write(tmp_path, KDD)) == read_cost(tmp_path / "cost.csv")


def test_repr_shows_labels_and_shortens():
    assert repr(CostMatrix(VALUES, ABC)).splitlines()[1:] == ["   a  b  c", "a  0  1  2", "b  3  0  4", "c  5  6  0"]
    assert "without labels" in repr(CostMatrix(VALUES))
    obeyed = repr(CostMatrix([[0, 1], [2, 0]], ["a\x1b[2J", "b\u202e"]))
    assert r"a\x1b[2J" in obeyed and r"b\u202e" in obeyed and "\x1b" not in obeyed and "\u202e" not in obeyed
    long = repr(uniform(50)).splitlines()
    assert len(long) == 1 + 1 + 10 + 1
    assert long[-1].startswith("...")


def test_negative_zero_is_zero():
    assert not np.signbit(CostMatrix([[-0.0, 1], [1, 0]]).values).any()


@pytest.mark.parametrize(
    ("values", "kwargs", "message"),
    [
        ([[0, np.nan], [1, 0]], {"classes": "kb"}, "classes must be a list or array of labels"),
        (
            [[0, np.nan], [1, 0]],
            {"classes": ["knife", "bottle"]},
            "cost['knife', 'bottle'] must be a finite number, got nan",
        ),
        ([[0, 1], [np.inf, 0]], {}, "cost[1, 0] must be a finite number, got inf"),
        ([[0, 1], [-np.inf, 0]], {}, "cost[1, 0] must be a finite number, got -inf"),
        ([[0, 1], [-2, 0]], {"classes": ["knife", "bottle"]}, "cost['bottle', 'knife'] must be zero or more, got -2"),
        (
            [[0, 1], [1, 3]],
            {"classes": ["knife", "bottle"]},
            "cost['bottle', 'bottle'] is the cost of a correct decision",
        ),
        (
            [[0, 1], [1, 3]],
            {},
            "cost[1, 1] is the cost of a correct decision and must be 0, got 3: set it to 0, or allow",
        ),
        (
            [[1, 0], [0, 5]],
            {"classes": ["knife", "bottle"]},
            "must be 0, got 1: the zeros stand as if the rows were in the order ['knife', 'bottle'] and the columns in the "
            "order ['bottle', 'knife'], so give both in one order, or set it to 0, or allow it with CostMatrix(",
        ),
        ([[2, 0, 1], [1, 2, 0], [0, 1, 2]], {}, "order [0, 1, 2] and the columns in the order [2, 0, 1], so give both"),
        (
            [[np.nan, 1], [5, np.nan]],
            {},
            "cost[0, 0] is the cost of a correct decision and must be a number, got nan: set it to 0.",
        ),
        (
            [[0, np.nan], [5, 0]],
            {},
            "cost[0, 1] must be a finite number, got nan: give the cost that is missing; a decision",
        ),
        ([0, 1], {}, "cost must be 2-d (one row per true class, one column per decision), got list with 1 dimension:"),
        (np.zeros((2, 2, 2)), {}, "cost must be 2-d"),
        ([[0, 1], [1]], {}, "got rows of different lengths"),
        ([[0, "x"], [1, 0]], {}, "must be a number, got 'x'"),
        (np.array([[0, None], [1, 0]]), {}, "cost[0, 1] must be a number, got None"),
        (np.array([[0, 1j], [1, 0]]), {}, "cost[0, 0] must be a number, got 0j"),
        (np.zeros((0, 3)), {}, "got shape (0, 3)"),
        ([[0], [1]], {"classes": ["a", "b"], "decisions": ["a"]}, "two decisions (columns) or more, got shape (2, 1)"),
        ([[0, 1], [1, 0], [1, 1]], {}, "got 3 rows (true classes) and only 2 columns (decisions)"),
        ([[0, 1], [1, 0], [1, 1]], {"classes": ABC}, "got 3 rows (true classes) and only 2 columns (decisions)"),
        ([[0, 1], [1, 0]], {"decisions": ["a", "b"]}, "classes must be given along with decisions"),
        ([[0, 1], [1, 0]], {"classes": ABC}, "classes must hold one label per row of cost, got 3 labels for 2 rows"),
        ([[0, 1], [1, 0]], {"classes": ["a", "b"], "decisions": ABC}, "one label per column of cost, got 3"),
        ([[0, 1], [1, 0]], {"classes": ["a", "a"]}, "classes must differ from each other, got 'a' and 'a'"),
        ([[0, 1], [1, 0]], {"classes": [1, "1"]}, "classes must differ from each other, got 1 and '1'"),
        ([[0, 1], [1, 0]], {"classes": ["a", "b"], "decisions": ["a", "a"]}, "decisions must differ from each other"),
        ([[0, 1, 1], [1, 0, 1]], {"classes": ["a", "refer"]}, "the decisions (classes, then refer) must differ"),
        ([[0, 1], [1, 0]], {"classes": {"a", "b"}}, "got set: write the labels one by one"),
        ([[0, 1], [1, 0]], {"classes": 2}, "classes must be a list or array of labels in order, got int"),
        ([[0, 1], [1, 0]], {"classes": [["a"], ["b"]]}, "got the list ['a']"),
        (CostMatrix(VALUES, ABC), {"classes": ABC}, "classes and decisions must be left out"),
    ],
)
def test_refused(values, kwargs, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        CostMatrix(values, **kwargs)


def test_allow_diagonal():
    assert CostMatrix([[1, 2], [3, 0]], allow_diagonal=True).values[0, 0] == 1
    # with labels the diagonal is where the labels agree
    CostMatrix([[1, 0], [0, 3]], ["a", "b"], ["b", "a"])
    with pytest.raises(ValueError, match=re.escape("cost['a', 'a']")):
        CostMatrix([[1, 2], [0, 3]], ["a", "b"], ["b", "a"])


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-307])
def test_costs_that_are_nothing_beside_their_scale_are_no_overflow(size):
    costs = AvoidableCosts.of(size * (1.0 - np.eye(3)), np.zeros(3, dtype=np.int32), 1.0)
    assert costs.unit == 1.0
    np.testing.assert_array_equal(costs.table, (1.0 - np.eye(3)) * (size if size > 1e-308 else 0.0))
