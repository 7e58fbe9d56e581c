"""Splits searched on drawn rows: the draw against its slow twin, and leaf vectors that are of all rows."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from minrisk import MinRiskClassifier
from minrisk._kernels.grow import SKETCH
from minrisk._kernels.sampling import draw_rows, order_by_leaf, size_level
from minrisk.boosting.loop import boost
from minrisk.rows import growth
from minrisk.rows.base import GrowthRule, Limits, Target
from minrisk.rows.exchange import Alone, Place
from minrisk.rows.growth import draw
from tests.helpers import naive
from tests.helpers.common import make_data, make_rows, slow_after
from tests.learners.test_vector_trees import bare_rows, grow, make_recipe, random_problem, same_tree, seen_by

ONE_BIN = 1 / 64  # sizes in a bin differ by that share at most


def random_problem_of_sizes(rng, n, bagged=1.0):
    """Rows with gradients of very different sizes, some 0; a target with a sketch of them; and its sketch of all rows."""
    D, q = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    gradient = rng.normal(size=(n, D)) * 10.0 ** rng.uniform(-6, 2, (n, 1)) * (rng.random((n, 1)) < 0.9)
    hessian, in_bag = rng.exponential(size=(n, D)), rng.random(n) < bagged
    in_bag[:2] = True
    target = Target(SKETCH, np.ones(1), rng.normal(size=(q, D)), rng.uniform(0.2, 2, D))
    rows = bare_rows(np.zeros((1, n), dtype=np.uint8), np.ones(1, dtype=int), gradient, hessian, in_bag)
    return rows, target, np.column_stack([gradient @ target.directions.T, hessian @ target.weight])


def drawn_from(rows, target, least, most, seed):
    return draw(rows, target, least, most, seed, np.empty(rows.n_samples))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(4, 400), share=st.floats(0.01, 0.99))
def test_the_draw_equals_the_twin(seed, n, share):
    rng = np.random.default_rng(seed)
    rows, target, sketch = random_problem_of_sizes(rng, n, 0.7)
    bag = np.flatnonzero(rows.in_bag)
    least, most = int(np.clip(share * len(bag), 1, len(bag) - 1)), int(rng.integers(1, n))
    found, weighed = drawn_from(rows, target, least, most, seed)
    sizes = np.linalg.norm(sketch[:, :-1], axis=1)
    shares = np.zeros(n)
    shares[bag] = naive.shares_of_rows(sizes[bag], least, most)
    wanted = max(least, min(int(naive.effective_rows(sizes[bag])), most))
    assert shares.sum() == pytest.approx(wanted)
    numbers = np.array([naive.random_number(seed, i) for i in range(n)])
    near = np.abs(numbers - shares) <= ONE_BIN * shares  # which the bins of sizes may decide otherwise
    twin = np.flatnonzero(numbers < shares)
    np.testing.assert_array_equal(found[~near[found]], twin[~near[twin]])
    assert np.all(np.diff(found) > 0)
    of_rows = np.linalg.norm(sketch[found], axis=1) / np.linalg.norm(weighed, axis=1)
    np.testing.assert_allclose(of_rows, shares[found], rtol=ONE_BIN)
    np.testing.assert_allclose(weighed * of_rows[:, None], sketch[found], rtol=1e-9)
    np.testing.assert_allclose(of_rows[shares[found] == 1], 1.0, rtol=ONE_BIN)


@pytest.mark.parametrize("seed", range(5))
def test_as_many_are_expected_as_asked_for(seed):
    """Of many rows: the level from bins gives the number to a thousandth, and hardly ever one that is too small."""
    rng = np.random.default_rng(seed)
    n, least = 20_000, int(rng.integers(50, 5000))
    rows, target, sketch = random_problem_of_sizes(rng, n)
    sizes = np.linalg.norm(sketch[:, :-1], axis=1)
    levels = []

    def kept(*arguments):
        levels.append(size_level(*arguments))
        return levels[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "size_level", kept)
        found, _ = drawn_from(rows, target, least, n // 8, seed)
    (floor, level), wanted = levels[0], max(least, min(int(naive.effective_rows(sizes)), n // 8))
    assert floor == pytest.approx(1e-3 * sizes.mean(), rel=1e-6)
    shares = np.minimum(1.0, (sizes + floor) / level)
    assert shares.sum() == pytest.approx(wanted, rel=1e-3)
    assert abs(len(found) - wanted) < 5 * np.sqrt(np.sum(shares * (1 - shares))) + 1


def test_sums_are_right_in_expectation():
    rng = np.random.default_rng(0)
    rows, target, sketch = random_problem_of_sizes(rng, 400)
    sizes = np.linalg.norm(sketch[:, :-1], axis=1)
    assert naive.effective_rows(sizes) < 60
    found = [drawn_from(rows, target, 60, 50, seed) for seed in range(2000)]
    shares = naive.shares_of_rows(sizes, 60, 50)
    spread = np.sqrt(np.sum(sketch**2 * ((1 - shares) / shares)[:, None], axis=0) / 2000)  # of the mean of their sums
    sums = np.mean([weighed.sum(axis=0) for _, weighed in found], axis=0)
    assert np.all(np.abs(sums - sketch.sum(axis=0)) < 4 * spread)
    assert np.mean([len(rows) for rows, _ in found]) == pytest.approx(60, abs=4 * np.sqrt(60 / 2000))
    times = np.bincount(np.concatenate([rows for rows, _ in found]), minlength=400) / 2000
    assert np.all(np.abs(times - shares) <= 5 * np.sqrt(shares * (1 - shares) / 2000) + ONE_BIN * shares + 1e-3)
    likely = np.flatnonzero((shares > 0.05) & (shares < 0.9))[:40]
    assert len(likely) > 10
    apart = np.corrcoef([np.isin(likely, rows) for rows, _ in found], rowvar=False) - np.eye(len(likely))
    assert np.abs(apart).max() < 5 / np.sqrt(2000)  # rows are drawn apart from one another


def test_rows_without_gradients_are_drawn_alike():
    X, gradient, hessian = np.zeros((1, 1000), dtype=np.uint8), np.zeros((1000, 2)), np.ones((1000, 2))
    rows, target = (
        bare_rows(X, np.ones(1, dtype=int), gradient, hessian),
        Target(SKETCH, np.ones(1), np.ones((1, 2)), np.ones(2)),
    )
    found, weighed = drawn_from(rows, target, 250, 500, 1)
    assert abs(len(found) - 250) < 60
    np.testing.assert_allclose(weighed[:, 1], 2 / 0.25)


def test_a_row_is_drawn_by_its_number():
    """Wherever it stands: in any block of any piece, whose rows may be segments of consecutive numbers."""
    size, bag = np.random.default_rng(1).exponential(size=1000), np.ones(1000, dtype=bool)

    def drawn(rows, begins, number, cuts):
        out, found = np.empty(len(rows), dtype=np.int32), []
        for start, stop in itertools.pairwise(cuts):
            m = draw_rows(
                size[rows], bag[: len(rows)], 0.1, 4.0, 7, np.array(begins), np.array(number), start, stop, out
            )
            found.append(out[start : start + m].copy())
        return rows[np.concatenate(found)]

    whole = drawn(np.arange(1000), [0], [0], [0, 1000])
    assert 150 < len(whole) < 400
    np.testing.assert_array_equal(drawn(np.arange(1000), [0], [0], [0, 1, 333, 333, 1000]), whole)
    some = np.concatenate([np.arange(10, 60), np.arange(500, 501), np.arange(700, 1000)])
    for cuts in ([0, 351], [0, 50, 51, 351], [0, 30, 200, 351]):
        np.testing.assert_array_equal(
            drawn(some, [0, 50, 50, 51], [10, 200, 500, 700], cuts), np.intersect1d(whole, some)
        )


def test_places_of_segments():
    some = np.concatenate([np.arange(10, 60), np.arange(500, 501), np.arange(700, 1000)])
    place = Place(3, 2000, Alone(), ((0, 10), (50, 200), (50, 500), (51, 700)))
    np.testing.assert_array_equal(place.numbers_of_all(len(some)), some)
    for number in (0, 10, 11, 60, 300, 500, 501, 999, 1000, 5000):
        assert place.n_before(number, len(some)) == np.sum(some < number)
    asked = np.array([5, 700, 12, 500, 61, 999, 1000])
    np.testing.assert_array_equal(np.sort(place.here(asked, len(some))), np.flatnonzero(np.isin(some, asked)))
    assert [place.number_of(row) for row in (0, 49, 50, 51, 350)] == [10, 59, 500, 700, 999]
    chosen = np.array([0, 1, 50, 60])
    among = place.among(chosen, len(some))
    np.testing.assert_array_equal(among.numbers_of_all(4), [0, 1, 2, 3])
    assert (among.first, among.n_rows) == (0, 4)
    plain = Place(7, 100, Alone())
    np.testing.assert_array_equal(plain.numbers_of_all(3), [7, 8, 9])
    assert [plain.n_before(number, 3) for number in (0, 7, 8, 10, 50)] == [0, 0, 1, 3, 3]


def test_order_by_leaf():
    rows, leaf = np.array([7, 2, 5, 0, 3], dtype=np.int32), np.array([1, 9, 0, 3, 9, 3, 9, 0], dtype=np.int32)
    order, start, end = np.full(6, -1, dtype=np.int32), np.ones(4, dtype=np.int64), np.ones(4, dtype=np.int64)
    leaf[3] = 0
    order_by_leaf(rows, leaf, order, start, end)
    assert list(order) == [7, 2, 3, 0, 5, -1]  # leaf 0, nothing in leaf 2
    assert list(start) == [0, 3, 4, 4] and list(end) == [3, 4, 4, 5]


@pytest.mark.parametrize("seed", slow_after(8, range(24)))
@pytest.mark.parametrize("large", [10, 4096])
def test_trees_are_grown_on_the_drawn_rows(seed, large, monkeypatch):
    """As the twin grows them on the drawn rows alone; leaf sums are those of all rows in the bag."""
    n_rows = 40
    X_binned, n_bins, gradient, hessian, in_bag, target = random_problem(seed, "sketch", 150, 0.8 if seed % 2 else 1.0)
    drawn = {}

    def kept(*arguments):
        drawn["rows"], drawn["sketch"] = draw(*arguments)
        return drawn["rows"], drawn["sketch"]

    monkeypatch.setattr(growth, "draw", kept)
    rows = bare_rows(X_binned, n_bins, gradient, hessian, in_bag, limits=Limits(large_leaf=large))
    grown = grow(rows, target, GrowthRule(12, 64, 2, len(X_binned), n_rows), seed=seed)
    some = np.zeros(150, dtype=bool)
    some[drawn["rows"]] = True
    assert n_rows / 2 <= some.sum() <= in_bag.sum() and not np.any(some & ~in_bag)
    weighed = np.zeros((150, len(target.directions) + 1))
    weighed[drawn["rows"]] = drawn["sketch"]
    tree = naive.grow_leafwise("sketch", X_binned, weighed[:, :-1], weighed[:, -1:], target.ridge, some, 12, 64, 2)
    assert list(grown.feature) == tree.feature and list(grown.bin) == tree.bin and list(grown.left) == tree.left
    np.testing.assert_array_equal(rows.leaf, tree.leaf)
    gradients, hessians = rows.leaf_sums()
    for leaf in range(len(grown.leaf_node)):
        inside = in_bag & (rows.leaf == leaf)
        np.testing.assert_allclose(gradients[leaf], gradient[inside].sum(axis=0), atol=1e-9)
        np.testing.assert_allclose(hessians[leaf], hessian[inside].sum(axis=0), atol=1e-9)


@pytest.mark.parametrize("n_rows", [150, 1000])
def test_enough_rows_are_not_drawn_from(n_rows):
    X_binned, n_bins, gradient, hessian, in_bag, target = random_problem(3, "sketch", 150)
    rows = bare_rows(X_binned, n_bins, gradient, hessian, in_bag)
    grown = grow(rows, target, GrowthRule(12, 64, 2, len(X_binned), n_rows), seed=1)
    tree = naive.grow_leafwise("sketch", X_binned, *seen_by(target, gradient, hessian), target.ridge, in_bag, 12, 64, 2)
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
    hessian = fresh.weigh(None, recipe.solver.columns)
    for leaf, vector in enumerate(made.vectors[0]):
        gradient, own = (values[rows.leaf == leaf].sum(axis=0) for values in (fresh.gradient, fresh.hessian))
        if loss == "exponential":
            ridge = 0.01 * hessian
            wanted = 0.5 * np.log(((own + gradient) / 2 + ridge) / ((own - gradient) / 2 + ridge))
        else:
            wanted = np.clip(gradient / (own + recipe.solver.smoothing * hessian) * (1 - 1 / 3), -4, 4)
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
