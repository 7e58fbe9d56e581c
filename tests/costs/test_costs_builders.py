"""Builders of cost matrices: their laws, and what they refuse."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils.class_weight import compute_class_weight

from minrisk.costs import (
    CostMatrix,
    balanced,
    from_taxonomy,
    ordinal,
    random_normal,
    random_symmetric,
    uniform,
    with_reject,
)
from minrisk.metrics import expected_cost
from tests.helpers.cost_examples import ABC, VALUES


def test_uniform_and_ordinal():
    assert uniform(3) == CostMatrix([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    assert uniform(np.array([4, 5])).classes == (4, 5)
    assert ordinal(4).values[0].tolist() == [0, 1, 2, 3]
    assert ordinal(4, p=2).values[3].tolist() == [9, 4, 1, 0]
    assert ordinal(["low", "high"], p=0.5).decisions == ("low", "high")


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 5), weighted=st.booleans())
@settings(max_examples=40, deadline=None)
def test_balanced_costs_are_the_balanced_error_and_scikit_learns_weights(seed, k, weighted):
    rng = np.random.default_rng(seed)
    y = np.array(list("edcba"))[np.r_[np.arange(k), rng.integers(0, k, 30)]]
    weight = rng.uniform(0.5, 3, len(y)) if weighted else None
    cost = balanced(y, weight)
    assert cost.classes == tuple(sorted(set(y)))
    decided = rng.permutation(y)
    right = balanced_accuracy_score(y, decided, sample_weight=weight)
    assert expected_cost(y, decided, cost, sample_weight=weight) == pytest.approx(1 - right)
    if not weighted:
        assert cost.values.max(axis=1) == pytest.approx(
            compute_class_weight("balanced", classes=np.array(cost.classes), y=y)
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 1, 1],), "two or more"),
        (([[1, 2], [2, 1]],), "1d array"),
        (([0, 0, 1], [1, 1]), "a number for each of the 3 rows, got 2"),
        (([0, 0, 1], [1, 1, 0]), "above 0, got 0 in all for 1"),
        (([0, 0, 1], [1, 1, -2]), "finite and zero or more"),
        (([0, 0, 1], [1, np.nan, 1]), "finite and zero or more"),
    ],
)
def test_balanced_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        balanced(*arguments)


@given(k=st.integers(2, 8), seed=st.integers(0, 2**32 - 1), low=st.floats(0, 5), width=st.floats(0.1, 5))
@settings(max_examples=30, deadline=None)
def test_random_costs_keep_their_protocols(k, seed, low, width):
    off = ~np.eye(k, dtype=bool)
    symmetric = random_symmetric(k, low, low + width, seed)
    assert np.array_equal(symmetric.values, symmetric.values.T)
    assert symmetric.values[off].min() >= low
    assert symmetric.values[off].max() <= low + width
    assert symmetric == random_symmetric(k, low, low + width, seed)
    normal = random_normal(k, seed)
    assert normal.values.mean() == pytest.approx(1)
    assert (normal.values[off] > 0).all()
    assert normal == random_normal(k, np.random.default_rng(seed))
    assert random_normal(k, np.random.RandomState(seed)) == random_normal(k, np.random.RandomState(seed))


def test_with_reject():
    assert with_reject(VALUES, 0.5) == CostMatrix(np.c_[VALUES, [0.5] * 3])
    cost = CostMatrix(VALUES, ABC)
    assert with_reject(cost, [1, 2, 3], label="ask") == CostMatrix(np.c_[VALUES, [1, 2, 3]], ABC, (*ABC, "ask"))
    assert with_reject(cost, {"c": 3, "b": 2, "a": 1}, label="ask") == with_reject(cost, np.array([1, 2, 3]), "ask")
    assert with_reject(with_reject(cost, 1), 2, "ask").decisions == (*ABC, "refer", "ask")
    assert with_reject(CostMatrix([[1, 2], [2, 0]], allow_diagonal=True), 3).shape == (2, 3)


TREE = {"bird": {"duck": ["mallard", "teal"], "raptor": "vulture"}, "plant": ["oak", {"grass": ["rye"]}], "rock": None}


class Graph:
    """As much of networkx.DiGraph as is asked of it."""

    def __init__(self, edges, nodes=()):
        self.edges = list(edges)
        self.nodes = list(dict.fromkeys([*nodes, *(node for edge in self.edges for node in edge)]))

    def successors(self, node):
        return iter([child for parent, child in self.edges if parent == node])

    def in_degree(self, node):
        return sum(child == node for _, child in self.edges)


EDGES = [
    ("root", "bird"),
    ("root", "plant"),
    ("root", "rock"),
    ("bird", "duck"),
    ("bird", "raptor"),
    ("duck", "mallard"),
]
EDGES += [("duck", "teal"), ("raptor", "vulture"), ("plant", "oak"), ("plant", "grass"), ("grass", "rye")]


def test_taxonomy_counts_the_edges_up_to_the_lowest_common_ancestor():
    cost = from_taxonomy(TREE)
    assert cost.classes == ("mallard", "teal", "vulture", "oak", "rye", "rock")
    assert cost.values[0].tolist() == [0, 1, 2, 3, 3, 3]  # sibling, cousin, strangers
    assert cost.values[3].tolist() == [2, 2, 2, 0, 1, 2]
    assert cost.values[4].tolist() == [3, 3, 3, 2, 0, 3]
    assert cost.values[5].tolist() == [1, 1, 1, 1, 1, 0]
    assert from_taxonomy(Graph(EDGES)) == cost
    assert from_taxonomy(TREE, ["oak", "teal"]) == CostMatrix([[0, 2], [3, 0]], ["oak", "teal"])
    assert from_taxonomy([["a", "b"], ("c", "d")]).values[0].tolist() == [0, 1, 2, 2]
    assert from_taxonomy(ABC) == uniform(ABC)


@given(
    tree=st.recursive(st.just("leaf"), lambda part: st.lists(part, min_size=2, max_size=3), max_leaves=12).filter(
        lambda tree: isinstance(tree, list)
    )
)
@settings(max_examples=40, deadline=None)
def test_taxonomy_is_ultrametric_seen_from_each_class(tree):
    count = iter(range(100))

    def named(part):
        return [named(member) for member in part] if isinstance(part, list) else next(count)

    cost = from_taxonomy(named(tree)).values
    k = len(cost)
    for i in range(k):
        for j in range(k):
            for m in range(k):  # the two that are closest to i are no further from i than their own group is
                if cost[i, j] < cost[i, m]:
                    assert cost[j, m] - cost[j, i] == cost[i, m] - cost[i, j]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: uniform(1), "classes must be two or more, got 1"),
        (lambda: uniform(["a"]), "classes must be two or more"),
        (lambda: uniform(2.5), "classes must be a whole number of classes or a list of labels, got 2.5"),
        (lambda: uniform(True), "whole number of classes or a list of labels, got True"),
        (lambda: uniform("abc"), "got str: write the labels one by one"),
        (lambda: ordinal(3, p=0), "p must be a finite number above 0, got 0"),
        (lambda: ordinal(3, p="2"), "p must be a finite number above 0, got '2'"),
        (lambda: random_symmetric(3, 5, 1), "0 <= low <= high"),
        (lambda: random_symmetric(3, 0, np.inf), "must be finite"),
        (lambda: with_reject(None, 1), "for 0/1 costs start from uniform(classes)"),
        (lambda: with_reject(VALUES, -1), "price of class 0 must be a finite number >= 0, got -1"),
        (lambda: with_reject(VALUES, "1"), "price of class 0 must be a finite number >= 0, got '1'"),
        (lambda: with_reject(CostMatrix(VALUES, ABC), [1, np.nan, 1]), "price of class 'b' must be a finite number"),
        (lambda: with_reject(VALUES, [1, 2]), "expected 3 for the classes [0, 1, 2], got 2"),
        (lambda: with_reject(CostMatrix(VALUES, ABC), {"a": 1, "b": 1}), "expected ['a', 'b', 'c'], got ['a', 'b']"),
        (lambda: with_reject(VALUES, 1, label="ask"), "cost must have labels for its new decision to be named 'ask'"),
        (lambda: with_reject(with_reject(VALUES, 1), 1), "a table of shape (3, 4) without"),
        (lambda: with_reject(CostMatrix(VALUES, ABC), 1, "a"), "label must be new among the decisions"),
        (lambda: from_taxonomy("abc"), "tree must be a nested dict or list, or a directed graph"),
        (lambda: from_taxonomy({"x": ["a", "b"], "y": ["a"]}), "the leaves of tree must differ from each other"),
        (lambda: from_taxonomy({"x": ["a"]}), "two classes or more among its leaves, got ['a']"),
        (lambda: from_taxonomy(TREE, ["oak", "elm"]), "classes must be leaves of tree, got ['elm']"),
        (lambda: from_taxonomy({"x": {"a", "b"}}), "the leaves of tree must be numbers, strings"),
        (lambda: from_taxonomy(Graph([*EDGES, ("plant", "teal")])), "one parent per node, got several for ['teal']"),
        (
            lambda: from_taxonomy(Graph(EDGES, ["fungus"])),
            "exactly one root (a node without a parent), got ['fungus', 'root']: join",
        ),
        (
            lambda: from_taxonomy(Graph([*EDGES, ("x", "y"), ("y", "x")])),
            "got 2 nodes that the root 'root' does not reach",
        ),
    ],
)
def test_builders_refuse(build, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        build()
