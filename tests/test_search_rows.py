"""Splits searched on drawn rows: the draw against its slow twin, and leaf vectors that are of all rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from minrisk import MinRiskClassifier
from minrisk._kernels.fixed import project
from minrisk._kernels.sampling import draw_projected, draw_rows, order_by_leaf
from minrisk.boosting.loop import boost
from minrisk.rows.base import GrowthRule
from minrisk.rows.limits import Limits
from minrisk.rows.local import growth
from tests import naive
from tests.helpers import make_data, make_rows
from tests.test_vector_trees import bare_rows, grow, make_recipe, random_problem, same_tree, seen_by


def random_sketch(rng, n, q):
    """Edges of very different sizes, some 0, and masses."""
    edges = rng.normal(size=(n, q)) * 10.0 ** rng.uniform(-6, 2, (n, 1)) * (rng.random((n, 1)) < 0.9)
    return np.column_stack([edges, rng.exponential(size=n)])


def draw(sketch, order, n_drawn, offset, n_most=None):
    """The rows drawn, and their sketch divided by their probabilities."""
    weighed, drawn = sketch.copy(), np.empty(len(order), dtype=np.int32)
    n_most = len(order) // 8 if n_most is None else n_most
    m, top = draw_rows(weighed, order, n_drawn, n_most, offset, drawn)
    np.testing.assert_array_equal(top, np.abs(weighed[:m]).max(axis=0))
    return drawn[:m], weighed[:m]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 300), share=st.floats(0.01, 0.99), offset=st.floats(0, 0.999))
def test_the_draw_equals_the_twin(seed, n, share, offset):
    rng = np.random.default_rng(seed)
    q, n_drawn = int(rng.integers(1, 4)), max(1, int(share * n))
    sketch, order = random_sketch(rng, 2 * n, q), np.sort(rng.choice(2 * n, n, replace=False)).astype(np.int32)
    sizes = np.linalg.norm(sketch[order, :q], axis=1)
    n_most = int(rng.integers(1, n))
    shares = naive.shares_of_rows(sizes, n_drawn, n_most)
    assert shares.sum() == pytest.approx(max(n_drawn, min(int(naive.effective_rows(sizes)), n_most)))
    rows, weighed = draw(sketch, order, n_drawn, offset, n_most)
    assert abs(len(rows) - shares.sum()) <= 1 and np.all(np.diff(np.searchsorted(order, rows)) > 0)
    assert set(order[shares > 1 - 1e-9]) <= set(rows)
    of_rows = shares[np.searchsorted(order, rows)]
    np.testing.assert_allclose(weighed * of_rows[:, None], sketch[rows], rtol=1e-7)


def test_sums_are_right_in_expectation():
    rng = np.random.default_rng(0)
    sketch, order = random_sketch(rng, 400, 2), np.arange(400, dtype=np.int32)
    assert naive.effective_rows(np.linalg.norm(sketch[:, :2], axis=1)) < 60
    offsets = (np.arange(2000) + 0.5) / 2000  # of a systematic draw all that can happen
    found = [draw(sketch, order, 60, offset) for offset in offsets]
    sums = np.mean([weighed.sum(axis=0) for _, weighed in found], axis=0)
    np.testing.assert_allclose(sums, sketch.sum(axis=0), rtol=0.02, atol=0.02 * np.abs(sketch).sum(axis=0).max())
    assert np.mean([len(rows) for rows, _ in found]) == pytest.approx(60, abs=0.01)
    times = np.bincount(np.concatenate([rows for rows, _ in found]), minlength=400) / 2000
    np.testing.assert_allclose(times, naive.shares_of_rows(np.linalg.norm(sketch[:, :2], axis=1), 60, 50), atol=2e-3)


def test_rows_without_edges_are_drawn_alike():
    sketch = np.column_stack([np.zeros(100), np.ones(100)])
    rows, weighed = draw(sketch, np.arange(100, dtype=np.int32), 25, 0.0)
    np.testing.assert_array_equal(np.diff(rows), 4)
    assert weighed[:, 1].sum() == pytest.approx(100)


def test_order_by_leaf():
    rows, leaf = np.array([7, 2, 5, 0, 3], dtype=np.int32), np.array([1, 9, 0, 3, 9, 3, 9, 0], dtype=np.int32)
    order, start, end = np.full(6, -1, dtype=np.int32), np.ones(4, dtype=np.int64), np.ones(4, dtype=np.int64)
    leaf[3] = 0
    order_by_leaf(rows, leaf, order, start, end)
    assert list(order) == [7, 2, 3, 0, 5, -1]  # leaf 0, nothing in leaf 2
    assert list(start) == [0, 3, 4, 4] and list(end) == [3, 4, 4, 5]


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("large", [10, 4096])
def test_trees_are_grown_on_the_drawn_rows(seed, large, monkeypatch):
    """As the twin grows them on the drawn rows alone; leaf sums are those of all rows in the bag."""
    n_rows = 40
    X_binned, n_bins, edge, mass, in_bag, target = random_problem(seed, "sketch", 150, 0.8 if seed % 2 else 1.0)
    drawn = {}

    def kept(edge, mass, directions, weight, size, order, n_drawn, n_most, offset, out, sketch):
        whole, of_all = np.empty((len(edge), len(directions) + 1)), np.empty_like(out)
        project(edge, mass, directions, weight, 0, len(edge), whole)
        m, top = draw_projected(edge, mass, directions, weight, size, order, n_drawn, n_most, offset, out, sketch)
        n, same_top = draw_rows(whole, order, n_drawn, n_most, offset, of_all)  # which has a sketch of all rows
        assert m == n and np.array_equal(out[:m], of_all[:n]) and np.array_equal(sketch[:m], whole[:n])
        np.testing.assert_array_equal(top, same_top)
        drawn["rows"], drawn["sketch"] = out[:m].copy(), sketch[:m].copy()
        return m, top

    monkeypatch.setattr(growth, "draw_projected", kept)
    rows = bare_rows(X_binned, n_bins, edge, mass, in_bag, limits=Limits(large_leaf=large))
    grown = grow(rows, target, GrowthRule(12, 64, 2, len(X_binned), n_rows), seed=seed)
    some = np.zeros(150, dtype=bool)
    some[drawn["rows"]] = True
    assert n_rows - 1 <= some.sum() <= in_bag.sum() and not np.any(some & ~in_bag)
    weighed = np.zeros((150, len(target.directions) + 1))
    weighed[drawn["rows"]] = drawn["sketch"]
    tree = naive.grow_leafwise(
        "sketch", X_binned, weighed[:, :-1], weighed[:, -1:], target.ridge, some, 12, 64, 2
    )
    assert list(grown.feature) == tree.feature and list(grown.bin) == tree.bin and list(grown.left) == tree.left
    np.testing.assert_array_equal(rows.leaf, tree.leaf)
    edges, masses = rows.leaf_sums()
    for leaf in range(len(grown.leaf_node)):
        inside = in_bag & (rows.leaf == leaf)
        np.testing.assert_allclose(edges[leaf], edge[inside].sum(axis=0), atol=1e-9)
        np.testing.assert_allclose(masses[leaf], mass[inside].sum(axis=0), atol=1e-9)


@pytest.mark.parametrize("n_rows", [150, 1000])
def test_enough_rows_are_not_drawn_from(n_rows):
    X_binned, n_bins, edge, mass, in_bag, target = random_problem(3, "sketch", 150)
    rows = bare_rows(X_binned, n_bins, edge, mass, in_bag)
    grown = grow(rows, target, GrowthRule(12, 64, 2, len(X_binned), n_rows), seed=1)
    tree = naive.grow_leafwise("sketch", X_binned, *seen_by(target, edge, mass), target.ridge, in_bag, 12, 64, 2)
    same_tree(grown, rows, tree)


@pytest.mark.parametrize("loss", ["exponential", "gll"])
def test_vectors_are_steps_of_all_rows(loss):
    """The vectors of a tree, whatever rows its splits saw, are those that all rows ask for."""
    rng = np.random.default_rng(2)
    X, y = make_data(rng, 500, 4, 3)
    rows, binner = make_rows(X, 1.0 - np.eye(3), y)
    recipe = make_recipe(rows, binner, loss, 6, 2, smoothing=0.01, learning_rate=1.0, search_rows=80)
    made = boost(rows, recipe._replace(fit_intercept=False), 1, 0)
    rows.respond(made.trees[0])
    fresh, _ = make_rows(X, 1.0 - np.eye(3), y)
    fresh.gradients(recipe.loss, made.log_scale)
    mass = fresh.weigh(None, recipe.solver.columns)
    for leaf, vector in enumerate(made.vectors[0]):
        edge, own = (values[rows.leaf == leaf].sum(axis=0) for values in (fresh.edge, fresh.mass))
        if loss == "exponential":
            ridge = 0.01 * mass
            wanted = 0.5 * np.log(((own + edge) / 2 + ridge) / ((own - edge) / 2 + ridge))
        else:
            wanted = np.clip(edge / (own + recipe.solver.smoothing * mass) * (1 - 1 / 3), -4, 4)
        np.testing.assert_allclose(vector, wanted, rtol=1e-6, atol=1e-9)


def test_the_classifier_learns_from_few_searched_rows():
    X, y = load_digits(return_X_y=True)
    train, test = slice(0, 1200), slice(1200, None)
    options = {"cv": 1, "n_estimators": 60, "random_state": 0}
    models = {rows: MinRiskClassifier(search_rows=rows, **options).fit(X[train], y[train]) for rows in (None, 1200, 20)}
    scores = {rows: model.decision_function(X[test]) for rows, model in models.items()}
    np.testing.assert_array_equal(scores[None], scores[1200])
    assert not np.array_equal(scores[None], scores[20])
    error = {rows: np.mean(model.predict(X[test]) != y[test]) for rows, model in models.items()}
    assert error[20] < error[None] + 0.03
    with pytest.raises(ValueError, match="search_rows"):
        MinRiskClassifier(search_rows=1).fit(X[:50], y[:50])
