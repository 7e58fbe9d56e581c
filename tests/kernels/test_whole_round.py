"""A round in one kernel call gives, bit for bit, what its parts give; and it is used where it can be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minrisk._kernels.whole_round import logistic_rounds
from minrisk._utils.workers import Workers
from minrisk.boosting import loop as boosting
from minrisk.boosting.loop import Recipe, boost
from minrisk.learners.vector_tree import VectorTrees
from minrisk.losses.guess_averse import GuessAverseLoss
from minrisk.rows.base import LIMITS, Limits
from minrisk.rows.rows import Rows
from minrisk.steps.leaf_vectors import LeafClosedForm, LeafNewton
from tests.helpers.common import make_costs, make_data, make_rows, random_costs


def rows_and_recipe(seed, n, K, per_row=False, left_out=(0, 0), loss="gll", limits=LIMITS, **family):
    rng = np.random.default_rng(seed)
    X, y = make_data(rng, n, 5, K)
    table = random_costs(rng, K, kind=rng.choice(["01", "general", "lognormal"]))
    weight = rng.uniform(0.2, 3, n)
    weight[slice(*left_out)] = 0.0
    whole, binner = make_rows(X, table, y)
    costs = (
        make_costs(table[y] * rng.uniform(0.5, 2, (n, 1)), np.arange(n), weight, y)
        if per_row
        else make_costs(table, y, weight)
    )
    rows = Rows(whole.X_binned, whole.n_bins, costs, Workers(), left_out=left_out, limits=limits)
    trees = VectorTrees(
        **{"max_leaf_nodes": 7, "thresholds": binner.thresholds, "max_features": 0.6, "sketch": 2} | family
    )
    recipe = Recipe(GuessAverseLoss(loss), trees, LeafNewton(0.01), smoothing=0.003, learning_rate=0.3)
    return rows, recipe


def made(rows, recipe, rounds, whole, monkeypatch):
    """Progress after each of these numbers of rounds, going on from one to the next."""
    with monkeypatch.context() as patch:
        if not whole:
            patch.setattr(boosting, "_whole_rounds", lambda rows, recipe: None)
        progress = None
        for n_rounds in rounds:
            progress = boost(rows, recipe, n_rounds, 5, start=progress)
        assert (progress.whole is not None) == whole
    return progress


def assert_same(one, other):
    assert one.losses == other.losses and one.log_scale == other.log_scale and len(one.trees) == len(other.trees)
    for a, b in zip(one.trees, other.trees, strict=True):
        for left, right in zip(a, b, strict=True):
            np.testing.assert_array_equal(left, right)
            assert getattr(left, "dtype", int) == getattr(right, "dtype", int)
    for a, b in zip(one.vectors, other.vectors, strict=True):
        np.testing.assert_array_equal(a, b)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(8, 150),
    st.integers(2, 6),
    st.booleans(),
    st.sampled_from([None, 1, 2, 3]),
    st.sampled_from([1, 4]),
    st.sampled_from([1, 3, 64]),
    st.booleans(),
)
def test_the_same_bits_as_the_parts(seed, n, K, per_row, sketch, min_leaf, depth, some_left_out):
    left_out = (n // 3, n // 2) if some_left_out else (0, 0)
    settings_ = {
        "per_row": per_row,
        "left_out": left_out,
        "sketch": sketch,
        "min_samples_leaf": min_leaf,
        "max_depth": depth,
    }
    monkeypatch = pytest.MonkeyPatch()
    rows, recipe = rows_and_recipe(seed, n, K, **settings_)
    whole = made(rows, recipe, (1, 3, 8), True, monkeypatch)
    other, recipe = rows_and_recipe(seed, n, K, **settings_)
    parts = made(other, recipe, (8,), False, monkeypatch)
    assert_same(whole, parts)
    outside = np.r_[0 : left_out[0], left_out[1] : n]
    np.testing.assert_array_equal(rows.scores, other.scores)
    np.testing.assert_array_equal(rows.gradient[outside], other.gradient[outside])
    np.testing.assert_array_equal(rows.hessian[outside], other.hessian[outside])


def test_how_many_rounds_a_call_makes_does_not_matter(monkeypatch):
    class Watching:
        """Sees the rows as each round leaves them."""

        def before_rounds(self, info):
            self.scores = [info.rows.scores.copy()]

        def after_round(self, info):
            self.scores.append(info.rows.scores.copy())
            return False

    calls = []

    def counted(*arguments):
        calls.append(len(arguments[-1]))  # seeds
        return logistic_rounds(*arguments)

    monkeypatch.setattr("minrisk.rows.rows.logistic_rounds", counted)
    rows, recipe = rows_and_recipe(3, 90, 4)
    at_once = boost(rows, recipe, 12, 5)
    assert calls == [12]
    other, recipe = rows_and_recipe(3, 90, 4)
    watching = Watching()
    assert_same(at_once, boost(other, recipe, 12, 5, [watching]))
    assert calls[1:] == [1] * 12
    assert not np.array_equal(watching.scores[-2], watching.scores[-1])
    np.testing.assert_array_equal(watching.scores[-1], rows.scores)
    watching.counts_only, calls[:] = True, []
    other, recipe = rows_and_recipe(3, 90, 4)
    assert_same(at_once, boost(other, recipe, 12, 5, [watching]))
    assert calls == [12] and len(watching.scores) == 1 + 12  # told of every round nonetheless
    calls[:] = [1] * 13
    other, recipe = rows_and_recipe(3, 90, 4, limits=Limits(vector_numbers=5 * 7 * 4))
    assert_same(at_once, boost(other, recipe, 12, 5))
    assert calls[13:] == [5, 5, 2]


def test_a_round_with_nothing_to_lose_makes_nothing():
    """Whatever the round before has left in the memory of the tree."""
    rows, recipe = rows_and_recipe(3, 90, 4)
    totals = rows.gradients(recipe.loss, 0.0)
    run = boosting._whole_rounds(rows, recipe)
    (first,) = run(totals, [1])
    scores = rows.scores.copy()
    assert len(first.tree.left) > 1
    assert run(first.totals._replace(value=np.zeros(4)), [2]) == []
    np.testing.assert_array_equal(rows.scores, scores)


@pytest.mark.parametrize("columns", ["constant", "separable"])
def test_it_stops_where_the_parts_stop(columns, monkeypatch):
    fits = []
    for whole in (True, False):
        y = np.arange(40) % 2
        X = np.zeros((40, 2)) if columns == "constant" else np.column_stack([y, y])
        rows, binner = make_rows(X.astype(float), 1.0 - np.eye(2), y)
        recipe = Recipe(GuessAverseLoss("gll"), VectorTrees(4, binner.thresholds), LeafNewton(0.0), learning_rate=1.0)
        fits.append(made(rows, recipe, (400,), whole, monkeypatch))
    assert_same(*fits)
    assert (len(fits[0].trees) == 0) == (columns == "constant")


def test_where_it_is_used():
    def used(loss="gll", sketch=2, limits=LIMITS, **changes):
        rows, recipe = rows_and_recipe(0, 60, 3, loss=loss, sketch=sketch, limits=limits)
        rows.gradients(recipe.loss, 0.0)
        return boosting._whole_rounds(rows, recipe._replace(**changes)) is not None

    assert used()
    assert not used(loss="gel")
    assert used(sketch=None)
    assert not used(subsample=0.5)
    assert not used(max_features=2)
    assert not used(directions=(np.eye(3),))
    assert not used(solver=LeafClosedForm())
    assert not used(limits=Limits(large_leaf=59))
