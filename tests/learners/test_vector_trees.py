"""Trees with a vector in every leaf: the slow twin, leaf vectors, and the laws of growth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from minrisk._kernels.grow import EXACT, NEWTON, SKETCH, draw_features
from minrisk._utils.workers import Workers
from minrisk.boosting.loop import Recipe, _problem, boost, check_recipe
from minrisk.learners.base import Round
from minrisk.learners.greedy_tree import GreedyTrees
from minrisk.learners.vector_tree import VectorTrees
from minrisk.losses.guess_averse import GuessAverseLoss
from minrisk.rows.base import LIMITS, GrowthRule, Limits, Target
from minrisk.rows.columns import SparseIndex, no_lists
from minrisk.rows.rows import Rows
from minrisk.steps.closed_form import ClosedFormStep, TwoSidedStep
from minrisk.steps.leaf_vectors import LARGEST_NEWTON, LeafClosedForm, LeafNewton
from tests.algorithms.test_guess_averse import row_values
from tests.helpers import naive
from tests.helpers.common import coupled_loss, make_costs, make_data, make_rows, random_costs, slow_after
from tests.losses.test_losses import value

GAINS = {"sketch": SKETCH, "exact": EXACT, "newton": NEWTON}


def random_bins(rng, n, d):
    """Bins (d, n) with gaps, among them a constant, a repeated, a mirrored and a two-valued feature."""
    X = np.empty((d, n), dtype=np.uint8)
    n_bins = np.full(d, 256)
    for j in range(d):
        kind = rng.integers(6) if j else 5
        source = X[rng.integers(j)] if j else X[0]
        if kind == 0:
            X[j] = 3
        elif kind == 1:
            X[j] = source
        elif kind == 2:
            X[j] = 255 - source
        elif kind == 3:
            X[j] = np.where(rng.random(n) < rng.choice([0.05, 0.3]), 7, 200)
        elif kind == 4:
            n_bins[j] = rng.integers(1, 12)
            X[j] = rng.integers(0, n_bins[j], n)
        else:
            X[j] = rng.integers(0, 256, n)
    return X, n_bins


def bare_rows(X_binned, n_bins, gradient, hessian, in_bag=None, workers=None, blocks=None, limits=LIMITS):
    """Rows that hold given gradients and Hessians."""
    n, D = gradient.shape
    costs = make_costs(np.ones((1, D)), np.zeros(n), np.ones(n))
    rows = Rows(X_binned, n_bins, costs, workers or Workers(), blocks, limits=limits)
    rows.gradient[:], rows.hessian[:] = gradient, hessian
    rows.top_gradient, rows.top_hessian = np.abs(gradient).max(axis=0), hessian.max(axis=0)
    rows._restrict(in_bag)
    return rows


def random_problem(seed, kind=None, n=None, n_bagged=1.0):
    """Bins, gradients and Hessians, a bag, and what to grow by; some rows weigh nothing."""
    rng = np.random.default_rng([seed, 7])
    kind = kind or list(GAINS)[seed % 3]
    n, d, D = n or int(rng.integers(2, 90)), int(rng.integers(1, 7)), int(rng.integers(1, 6))
    X_binned, n_bins = random_bins(rng, n, d)
    hessian = rng.exponential(size=(n, D)) + 1e-3
    hessian[rng.random(n) < 0.1] = 0.0
    gradient = rng.uniform(-1, 1, (n, D)) * hessian
    in_bag = rng.random(n) < n_bagged
    in_bag[0] = True
    ridge = rng.choice([0.0, 0.1]) * rng.uniform(0.5, 2, D) * hessian.sum(axis=0)
    if kind == "sketch":
        directions, weight = rng.normal(size=(int(rng.integers(1, 4)), D)), rng.uniform(0.2, 2, D)
        target = Target(SKETCH, ridge[:1] + 1e-9, directions, weight)
    else:
        target = Target(GAINS[kind], ridge)
    return X_binned, n_bins, gradient, hessian, in_bag, target


def seen_by(target, gradient, hessian):
    """The gradients and Hessians that the twin is given."""
    if target.gain != SKETCH:
        return gradient, hessian
    return gradient @ target.directions.T, (hessian @ target.weight)[:, None]


def grow(rows, target, rule, features=None, seed=0):
    features = np.arange(rows.n_features) if features is None else features
    return rows.grow(target, rule, features, seed)


def same_tree(grown, rows, tree):
    """The twin's tree, node by node and row by row."""
    assert list(grown.feature) == tree.feature and list(grown.bin) == tree.bin and list(grown.left) == tree.left
    assert list(grown.leaf_node) == tree.leaf_node
    np.testing.assert_array_equal(rows.leaf, tree.leaf)
    np.testing.assert_allclose(grown.gain, tree.gain, rtol=1e-5, atol=1e-6 * max(tree.gain))


def identical(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


# -- the slow twin ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", slow_after(40, range(120)))
def test_trees_equal_the_twin(seed):
    rng = np.random.default_rng(seed)
    X_binned, n_bins, gradient, hessian, in_bag, target = random_problem(seed, n_bagged=rng.choice([0.6, 1.0]))
    rule = GrowthRule(
        int(rng.integers(2, 20)), int(rng.choice([1, 2, 3, 64])), int(rng.choice([1, 1, 2, 5])), len(X_binned)
    )
    limits = Limits(large_leaf=int(rng.choice([1, 10, 4096])))
    rows = bare_rows(X_binned, n_bins, gradient, hessian, in_bag, limits=limits)
    grown = grow(rows, target, rule)
    kind = {v: k for k, v in GAINS.items()}[target.gain]
    tree = naive.grow_leafwise(
        kind,
        X_binned,
        *seen_by(target, gradient, hessian),
        target.ridge,
        in_bag,
        rule.max_leaves,
        rule.max_depth,
        rule.min_leaf,
    )
    same_tree(grown, rows, tree)


@pytest.mark.parametrize("seed", slow_after(6, range(12)))
def test_nodes_see_the_features_that_are_drawn_for_them(seed):
    X_binned, n_bins, gradient, hessian, in_bag, target = random_problem(seed, n=70, n_bagged=0.8)
    X_binned, n_bins = np.vstack([X_binned] * 3), np.tile(n_bins, 3)
    features = np.flatnonzero(np.random.default_rng(seed).random(len(X_binned)) < 0.8)
    n_drawn = max(1, len(features) // 2)
    with Workers(2) as workers:
        limits = Limits(large_leaf=4096 if seed % 2 else 15)
        rows = bare_rows(X_binned, n_bins, gradient, hessian, in_bag, workers, limits=limits)
        grown = grow(rows, target, GrowthRule(12, 64, 1, n_drawn), features, seed=99)
    kind = {v: k for k, v in GAINS.items()}[target.gain]
    tree = naive.grow_leafwise(
        kind,
        X_binned,
        *seen_by(target, gradient, hessian),
        target.ridge,
        in_bag,
        12,
        features_of=lambda node: drawn(features, n_drawn, 99, node),
    )
    same_tree(grown, rows, tree)


@pytest.mark.parametrize("gain", [EXACT, NEWTON, SKETCH])
def test_the_first_leaf_and_the_lowest_feature_and_bin_of_equals(gain):
    """Both halves hold the same rows, in equal features; numbers are small powers of two, so that nothing is rounded."""
    half = np.array([10, 20, 30, 40])
    X_binned = np.array([np.tile(half, 2)] * 2 + [np.repeat([5, 9], 4)] * 2, dtype=np.uint8)
    hessian = np.full((8, 1), 4.0)
    gradient = np.array([1, 2, 2, 1, -1, -2, -2, -1.0])[:, None]
    one = np.ones((1, 1))
    target = Target(gain, np.array([0.0]), *((one, one[0]) if gain == SKETCH else ()))
    rows = bare_rows(X_binned, np.full(4, 256), gradient, hessian)
    grown = grow(rows, target, GrowthRule(2, 64, 1, 4))
    assert (grown.feature[0], grown.bin[0]) == (2, 7) and list(rows.leaf) == [0] * 4 + [1] * 4
    grown = grow(rows, target, GrowthRule(3, 64, 1, 4))
    assert list(grown.left[:3]) == [1, 3, 2] and list(grown.leaf_node) == [3, 2, 4]  # node 1 holds leaf 0
    assert (grown.feature[1], grown.bin[1]) == (0, 15)  # 1 | 2 2 1 and 1 2 2 | 1 are alike
    tree = naive.grow_leafwise(
        {v: k for k, v in GAINS.items()}[gain], X_binned, gradient, hessian, target.ridge, np.ones(8, dtype=bool), 3
    )
    same_tree(grown, rows, tree)


@pytest.mark.parametrize("loss", ["exponential", "gll"])
@pytest.mark.parametrize("seed", range(5))
def test_rounds_equal_the_twin(loss, seed):
    rng = np.random.default_rng(seed)
    X, y = make_data(rng, 80, 3, 3)
    weight = rng.uniform(0.5, 2, 80)
    rows, binner = make_rows(X, 1 - np.eye(3), y, weight)
    smoothing = 1e-2 if seed == 4 else 1e-3
    intercept, rounds = naive.boost_leafwise(loss, rows.X_binned, y, weight, 4, 6, smoothing, 0.5)
    recipe = make_recipe(rows, binner, loss, 6, smoothing=smoothing, learning_rate=0.5)
    progress = boost(rows, recipe, 4, 0)
    np.testing.assert_allclose(progress.intercept, intercept, atol=1e-12)
    assert len(progress.trees) == len(rounds) == 4 or seed == 4
    for tree, vectors, (twin, expected) in zip(progress.trees, progress.vectors, rounds, strict=True):
        assert list(tree.feature) == twin.feature and list(tree.bin) == twin.bin and list(tree.left) == twin.left
        assert list(tree.vector[twin.leaf_node]) == list(range(len(twin.leaf_node)))
        np.testing.assert_allclose(vectors, 0.5 * expected, rtol=1e-8, atol=1e-9)


def make_recipe(rows, binner, loss="exponential", leaves=8, sketch=None, **other):
    """Vector trees for a coupled exponential or a guess-averse loss."""
    family = {
        name: other.pop(name)
        for name in ("max_depth", "min_samples_leaf", "max_features", "search_rows")
        if name in other
    }
    smoothing = other.setdefault("smoothing", 1e-3)
    exponential = loss == "exponential"
    return Recipe(
        coupled_loss(rows.costs, "exponential", "tight") if exponential else GuessAverseLoss(loss),
        VectorTrees(leaves, binner.thresholds, sketch=sketch, **family),
        LeafClosedForm() if exponential else LeafNewton(10 * smoothing),
        fit_intercept=exponential,
        **other,
    )


# -- leaf vectors ------------------------------------------------------------------------------------------------------
def grown_problem(rng, loss, sketch, in_bag=None, smoothing=1e-3, K=3, scores=1.0, limits=LIMITS, **other):
    """Rows at random scores, a tree on them, and its step."""
    X, y = make_data(rng, n=150, K=K)
    rows, binner = make_rows(X, random_costs(rng, K), y, rng.uniform(0.5, 2, 150), limits=limits)
    recipe = make_recipe(rows, binner, loss, sketch=sketch, smoothing=smoothing, **other)
    check_recipe(recipe)
    rows.scores[:] = scores * rng.normal(size=rows.scores.shape)
    totals = rows.gradients(recipe.loss, 0.0)
    problem = _problem(rows, recipe, totals, recipe.loss.floors(rows.costs), in_bag)
    features = np.arange(rows.n_features)
    found = recipe.family.fit(Round(rows, problem, recipe.solver, features, 5))
    return X, rows, recipe, problem, found


@pytest.mark.parametrize("sketch", [None, 1, 3])
@pytest.mark.parametrize("bagged", [False, True])
def test_vectors_of_the_exponential_are_the_numerical_minimum(sketch, bagged):
    rng = np.random.default_rng(3)
    in_bag = rng.random(150) < 0.7 if bagged else np.ones(150, dtype=bool)
    _, rows, recipe, problem, found = grown_problem(rng, "exponential", sketch, in_bag if bagged else None)
    vectors = found.step.vectors
    assert len(vectors) == len(np.unique(rows.leaf)) == 8
    after = value("exponential", recipe.loss, rows.costs, rows.scores + vectors[rows.leaf])[in_bag].sum()
    assert found.step.value == pytest.approx(after, rel=1e-9)
    before = value("exponential", recipe.loss, rows.costs, rows.scores)[in_bag].sum(axis=0)
    if not bagged:
        excess = before - recipe.loss.floors(rows.costs)
        np.testing.assert_allclose(problem.ridge, 1e-3 * excess, rtol=1e-9)
    for leaf in range(len(vectors)):
        inside = in_bag & (rows.leaf == leaf)
        for k in range(3):

            def along(a, k=k, inside=inside):
                data = value("exponential", recipe.loss, rows.costs, rows.scores + a)[inside, k].sum()
                return data + problem.ridge[k] * 2 * np.cosh(a)

            found_a = minimize_scalar(along, bounds=(-10, 10), method="bounded", options={"xatol": 1e-11})
            assert vectors[leaf, k] == pytest.approx(found_a.x, abs=1e-6)
            assert along(vectors[leaf, k]) <= found_a.fun * (1 + 1e-12)


@pytest.mark.parametrize("sketch", [None, 2])
@pytest.mark.parametrize("kind", ["gll", "gel"])
def test_newton_vectors_are_minus_slope_over_curvature(kind, sketch):
    """By numerical derivatives of the loss, without phantom rows; (D - 1) / D of the diagonal's step."""
    rng = np.random.default_rng(4)
    _, rows, _, problem, found = grown_problem(rng, kind, sketch, smoothing=0.0)
    h, vectors = 1e-4, found.step.vectors
    expected = np.empty_like(vectors)
    for leaf in range(len(vectors)):
        inside = rows.leaf == leaf
        for k in range(3):
            up, here, down = (
                row_values(kind, rows.costs, rows.scores + s * np.eye(3)[k])[inside].sum() for s in (h, 0.0, -h)
            )
            expected[leaf, k] = -(up - down) / (2 * h) / ((up - 2 * here + down) / h**2)
    np.testing.assert_allclose(
        vectors, np.clip(expected * 2 / 3, -LARGEST_NEWTON, LARGEST_NEWTON), rtol=1e-4, atol=1e-4
    )
    before = row_values(kind, rows.costs, rows.scores).sum()
    assert problem.value == pytest.approx(before, rel=1e-9)
    assert row_values(kind, rows.costs, rows.scores + 0.5 * vectors[rows.leaf]).sum() < before


def test_newton_vectors_with_phantom_rows():
    rng = np.random.default_rng(4)
    _, rows, recipe, problem, found = grown_problem(rng, "gll", None, smoothing=1e-2)
    gradient, hessian = rows.leaf_sums()
    for leaf in range(len(gradient)):
        np.testing.assert_allclose(gradient[leaf], rows.gradient[rows.leaf == leaf].sum(axis=0), atol=1e-12)
        np.testing.assert_allclose(hessian[leaf], rows.hessian[rows.leaf == leaf].sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(
        found.step.vectors, gradient / (hessian + 0.1 * rows.hessian.sum(axis=0)) * 2 / 3, rtol=1e-9
    )
    drop = np.sum(gradient * found.step.vectors - 0.5 * hessian * found.step.vectors**2)
    assert found.step.value == pytest.approx(problem.value - drop, rel=1e-9)
    assert recipe.solver == LeafNewton(0.1)


def test_newton_vectors_are_cut_where_the_curvature_vanishes():
    _, _, _, _, found = grown_problem(np.random.default_rng(4), "gll", None, smoothing=0.0, scores=40.0)
    assert np.abs(found.step.vectors).max() == LARGEST_NEWTON


def test_steps_and_families_that_do_not_go_together():
    rng = np.random.default_rng(0)
    X, y = make_data(rng)
    rows, binner = make_rows(X, random_costs(rng, 3), y)
    vector_trees, stumps = VectorTrees(4, binner.thresholds), GreedyTrees(1, binner.thresholds)
    exponential, gll = coupled_loss(rows.costs, "exponential", "tight"), GuessAverseLoss("gll")
    for loss, family, solver, missing in (
        (gll, vector_trees, LeafClosedForm(), "exponential"),
        (exponential, stumps, LeafClosedForm(), "leaves"),
        (gll, stumps, LeafNewton(0.1), "leaves"),
        (exponential, vector_trees, ClosedFormStep(), "signs"),
    ):
        with pytest.raises(ValueError, match=f"requires {missing}"):
            check_recipe(Recipe(loss, family, solver))


# -- REBEL's two-sided stumps --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("cost", ["01", "general"])
def test_two_leaves_are_two_sided_stumps(K, cost):
    """Without smoothing the same stumps and vectors, round for round: either side's exact minimum."""
    rng = np.random.default_rng(K)
    X = rng.normal(size=(300, 4))
    y = np.where(rng.random(300) < 0.3, rng.integers(0, K, 300), np.digitize(X[:, 0] + X[:, 1], [0.0, 1.0][: K - 1]))
    table, fits = random_costs(rng, K, kind=cost), []
    for vector_trees in (True, False):
        rows, binner = make_rows(X, table, y, blocks=[100])
        family = VectorTrees(2, binner.thresholds, sketch=None) if vector_trees else GreedyTrees(1, binner.thresholds)
        solver = LeafClosedForm() if vector_trees else TwoSidedStep()
        loss = coupled_loss(rows.costs, "exponential", "tight")
        fits.append(boost(rows, Recipe(loss, family, solver, 0.0, 1.0, True), 15, 0))
    a, b = fits
    assert len(a.trees) == len(b.trees) == 15
    for one, other, left, right in zip(a.trees, b.trees, a.vectors, b.vectors, strict=True):
        assert (one.feature[0], one.bin[0]) == (other.feature[0], other.bin[0])
        np.testing.assert_array_equal(one.vector, other.vector)
        np.testing.assert_allclose(left, right, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(a.losses, b.losses, rtol=1e-9)


def test_a_leaf_smoothed_by_half_is_a_side_smoothed_by_all():
    """A leaf has the ridge of a whole learner, a side half of it: LeafClosedForm(s / 2) = TwoSidedStep(s)."""
    rng = np.random.default_rng(2)
    X, y = make_data(rng, K=2)
    rows, binner = make_rows(X, 1 - np.eye(2), y)
    rows.scores[:] = rng.normal(size=rows.scores.shape)
    found = []
    for smoothing in (0.005, 0.01):
        recipe = make_recipe(rows, binner, leaves=2, smoothing=smoothing)
        problem = _problem(rows, recipe, rows.gradients(recipe.loss, 0.0), recipe.loss.floors(rows.costs), None)
        if smoothing == 0.005:
            leaves = recipe.family.fit(Round(rows, problem, LeafClosedForm(), np.arange(4), 5))
            found.append(leaves.step)
        else:
            rows.response[:] = np.where(rows.leaf == 1, 1, -1)
            found.append(TwoSidedStep().solve(problem))
    np.testing.assert_allclose(found[0].vectors, found[1].vectors, rtol=1e-9)
    assert found[0].value == pytest.approx(found[1].value, rel=1e-9)


# -- laws of growth ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", GAINS)
@pytest.mark.parametrize("n_bagged", [1.0, 0.7])
def test_kernels_histograms_and_subtraction_grow_the_same_tree(kind, n_bagged):
    X_binned, n_bins, gradient, hessian, in_bag, target = random_problem(1, kind, 3000, n_bagged)
    target = target._replace(ridge=np.full_like(target.ridge, 1e-9))
    for n_drawn in (len(X_binned), len(X_binned) // 2):
        rule, found = GrowthRule(40, 64, 3, n_drawn), []
        for large, kept in ((4096, 1 << 30), (1, 1 << 30), (50, 1 << 30), (50, 0), (1000, 1 << 30), (2999, 1 << 30)):
            for n_threads in (1, 2):
                with Workers(n_threads) as workers:
                    rows = bare_rows(X_binned, n_bins, gradient, hessian, in_bag, workers, limits=Limits(large, kept))
                    found.append((grow(rows, target, rule, seed=3), rows.leaf, *rows.leaf_sums()))
        assert len(found[0][0].leaf_node) == 40
        for other in found[1:]:
            assert identical(other[0], found[0][0]) and identical(other[1:], found[0][1:])


@pytest.mark.parametrize("kind", GAINS)
@pytest.mark.parametrize("large", [4096, 60])
def test_rows_outside_the_frequent_bin_tell_all_of_sparse_features(kind, large, monkeypatch):
    _, _, gradient, hessian, in_bag, target = random_problem(2, kind, 1500, 0.8)
    target = target._replace(ridge=np.full_like(target.ridge, 1e-9))
    rng = np.random.default_rng(3)
    density = np.array([0.0, 0.01, 0.01, 0.1, 0.1, 0.3, 0.5, 0.9, 0.9])[:, None]
    X_binned = np.where(rng.random((9, 1500)) < density, rng.integers(0, 9, (9, 1500)), 4)
    n_bins, rule = np.full(9, 9), GrowthRule(50, 64, 1, 5)
    found = []
    with Workers(2) as workers:
        for listed in (True, False):
            rows = bare_rows(
                X_binned.astype(np.uint8), n_bins, gradient, hessian, in_bag, workers, limits=Limits(large_leaf=large)
            )
            assert len(rows.index.lists[2]) == np.count_nonzero(X_binned[rows.index.indexed] != 4) > 1000
            if not listed:
                monkeypatch.setattr(type(rows.index), "lists", no_lists(9))
            found.append((grow(rows, target, rule, seed=3), rows.leaf, *rows.leaf_sums()))
    assert len(found[0][0].leaf_node) == 50
    assert identical(found[0][0], found[1][0]) and identical(found[0][1:], found[1][1:])


@pytest.mark.parametrize(("n", "listed"), [(65_536, 200), (65_537, 0)])
def test_two_bytes_number_the_rows_that_are_listed(n, listed):
    X_binned = np.zeros((3, n), dtype=np.uint8)
    X_binned[1, -200:], X_binned[2] = 1, np.arange(n) % 7
    index = SparseIndex.build(X_binned, np.array([1, 2, 7]), Workers())
    visited, position, rows, frequent = index.lists
    assert len(rows) == listed and list(visited < n) == [listed > 0, listed > 0, False]
    if listed:
        np.testing.assert_array_equal(rows[slice(*position[1])], np.arange(n - 200, n))
        assert frequent[1] == 0 and visited[0] == 0


@pytest.mark.parametrize("kind", GAINS)
def test_threads_and_blocks_change_no_bit(kind):
    X_binned, n_bins, gradient, hessian, in_bag, target = random_problem(4, kind, 2000, 0.8)
    target = target._replace(ridge=np.full_like(target.ridge, 1e-9))
    limits, found = Limits(large_leaf=100, inline_work=0), []
    for n_threads in (1, 2, 3):
        for blocks in (None, [1, 5, 900], [1000]):
            with Workers(n_threads) as workers:
                rows = bare_rows(X_binned, n_bins, gradient, hessian, in_bag, workers, blocks, limits)
                found.append((grow(rows, target, GrowthRule(30, 64, 2, len(X_binned))), rows.leaf, *rows.leaf_sums()))
    for other in found[1:]:
        assert identical(other[0], found[0][0]) and identical(other[1:], found[0][1:])


@pytest.mark.parametrize("loss", ["exponential", "gll", "gel"])
@pytest.mark.parametrize("sketch", [1, 3, None])
@pytest.mark.parametrize("search_rows", [None, 80])
def test_whole_fits_do_not_depend_on_threads_and_blocks(loss, sketch, search_rows):
    rng = np.random.default_rng(6)
    X, y = make_data(rng, 400, 5, 4)
    table, weight, found = random_costs(rng, 4), rng.uniform(0, 2, 400), []
    for n_threads, blocks in ((1, None), (2, [7]), (3, [100, 300, 399])):
        rows, binner = make_rows(X, table, y, weight, blocks)
        with Workers(n_threads) as rows.workers:
            options = {"subsample": 0.7, "max_features": 0.5, "learning_rate": 0.3, "search_rows": search_rows}
            recipe = make_recipe(rows, binner, loss, 8, sketch, **options)
            found.append(boost(rows, recipe, 6, 1))
    for other in found[1:]:
        for a, b in zip(found[0].trees, other.trees, strict=True):
            assert identical(a, b)
        assert identical(found[0].vectors, other.vectors) and found[0].losses == other.losses
    assert found[0].losses[-1] < found[0].losses[0]


@pytest.mark.parametrize("large", [4096, 20])
@pytest.mark.parametrize("sketch", [None, 1])
def test_rows_out_of_the_bag_get_the_leaf_that_prediction_gives(large, sketch):
    rng = np.random.default_rng(8)
    in_bag = rng.random(150) < 0.4
    X, rows, _, _, found = grown_problem(rng, "exponential", sketch, in_bag, limits=Limits(large_leaf=large))
    tree, grown_leaf = found.learners[0], rows.leaf.copy()
    walked = np.empty(len(X), dtype=int)
    for i, x in enumerate(X):
        node = 0
        while tree.left[node] != node:
            node = tree.left[node] + (x[tree.feature[node]] > tree.threshold[node])
        walked[i] = tree.vector[node]
    np.testing.assert_array_equal(grown_leaf, walked)
    assert len(np.unique(grown_leaf[in_bag])) == found.learners[0].n_vectors > 4
    rows.respond(tree)
    np.testing.assert_array_equal(rows.leaf, grown_leaf)
    assert np.all(rows.response == 1)
    gradient, hessian = rows.leaf_sums()
    for leaf in range(found.learners[0].n_vectors):
        inside = in_bag & (grown_leaf == leaf)
        np.testing.assert_allclose(gradient[leaf], rows.gradient[inside].sum(axis=0), atol=1e-10)
        np.testing.assert_allclose(hessian[leaf], rows.hessian[inside].sum(axis=0), atol=1e-10)


def depths(grown):
    depth = np.zeros(len(grown.left), dtype=int)
    for node, first in enumerate(grown.left):
        if first != node:
            depth[first : first + 2] = depth[node] + 1
    return depth


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(list(GAINS)),
    st.integers(2, 200),
    st.integers(2, 40),
    st.integers(1, 8),
    st.integers(1, 30),
    st.sampled_from([1, 8, 4096]),
    st.floats(0.2, 1.0),
    st.integers(0, 10**6),
)
def test_rules_are_respected(kind, n, max_leaves, max_depth, min_leaf, large, n_bagged, seed):
    X_binned, n_bins, gradient, hessian, in_bag, target = random_problem(seed, kind, n, n_bagged)
    rows = bare_rows(X_binned, n_bins, gradient, hessian, in_bag, limits=Limits(large_leaf=large))
    grown = grow(rows, target, GrowthRule(max_leaves, max_depth, min_leaf, len(X_binned)))
    L = len(grown.leaf_node)
    assert 1 <= L <= max_leaves and len(grown.left) == 2 * L - 1
    depth = depths(grown)
    assert depth.max() == grown.depth <= max_depth
    leaf = grown.left == np.arange(len(grown.left))
    assert sorted(grown.leaf_node) == list(np.flatnonzero(leaf))
    assert np.all(grown.gain[~leaf] > 0) and not grown.gain[leaf].any()
    assert np.all(grown.bin[leaf] == 255) and np.all(grown.bin[~leaf] < n_bins[grown.feature[~leaf]] - 1)
    counts = np.bincount(rows.leaf[in_bag], minlength=L)
    assert len(counts) == L and (L == 1 or counts.min() >= min_leaf)
    sums = rows.leaf_sums()[0]
    expected = [rows.gradient[in_bag & (rows.leaf == number)].sum(axis=0) for number in range(L)]
    np.testing.assert_allclose(sums, expected, atol=1e-10)


@pytest.mark.parametrize("kind", GAINS)
def test_nothing_to_split(kind):
    """A constant feature, one row in the bag, or equal gradients: one leaf."""
    one = (np.ones((1, 1)), np.ones(1)) if kind == "sketch" else ()
    target = Target(GAINS[kind], np.array([1e-3]), *one)
    gradient, hessian = np.array([[1.0], [-1.0], [0.5]]), np.full((3, 1), 2.0)
    rule = GrowthRule(8, 64, 1, 1)
    for X, bag in (([[4, 4, 4]], [True] * 3), ([[1, 2, 3]], [False, True, False])):
        rows = bare_rows(np.array(X, dtype=np.uint8), np.array([5]), gradient, hessian, bag)
        grown = grow(rows, target, rule)
        assert len(grown.left) == 1 and list(grown.leaf_node) == [0] and grown.depth == 0 and not rows.leaf.any()
    rows = bare_rows(
        np.array([[1, 2, 3]], dtype=np.uint8), np.array([5]), 0.5 * hessian, hessian
    )  # ridge: no split is better
    assert len(grow(rows, target, rule).left) == 1


def test_a_sketch_gives_no_gradient_to_rows_whose_hessian_is_lost_in_fixed_point():
    """Else a split would gain their gradient^2 over next to nothing."""
    hessian = np.array([1.0, 1.0, 1e-13, 1e-13])[:, None]
    rows = bare_rows(
        np.array([[1, 2, 3, 4]], dtype=np.uint8), np.array([5]), hessian * [[0.5], [0.5], [1], [-1]], hessian
    )
    target = Target(SKETCH, np.array([1e-200]), np.ones((1, 1)), np.ones(1))
    assert len(grow(rows, target, GrowthRule(4, 64, 1, 1)).left) == 1


@pytest.mark.parametrize("kind", GAINS)
@pytest.mark.parametrize("large", [1, 4096])
def test_two_rows(kind, large):
    one = (np.ones((1, 1)), np.ones(1)) if kind == "sketch" else ()
    target = Target(GAINS[kind], np.array([1e-3]), *one)
    rows = bare_rows(
        np.array([[0, 255]], dtype=np.uint8),
        np.array([256]),
        np.array([[1.0], [-1.0]]),
        np.full((2, 1), 2.0),
        limits=Limits(large_leaf=large),
    )
    grown = grow(rows, target, GrowthRule(8, 64, 1, 1))
    assert list(grown.bin) == [127, 255, 255] and list(rows.leaf) == [0, 1] and grown.depth == 1
    assert len(grow(rows, target, GrowthRule(8, 64, 2, 1)).left) == 1


def test_a_family_that_can_split_nothing_says_so():
    rng = np.random.default_rng(0)
    X, y = np.ones((50, 2)), rng.integers(0, 3, 50)
    for loss in ("exponential", "gll"):
        for sketch in (None, 1):
            rows, binner = make_rows(X, random_costs(rng, 3), y)
            assert not boost(rows, make_recipe(rows, binner, loss, sketch=sketch), 5, 0).trees


# -- features of a node ----------------------------------------------------------------------------------------------------
def drawn(features, n_drawn, seed, node):
    out = np.empty(len(features), dtype=np.int64)
    draw_features(np.asarray(features), n_drawn, seed, node, out)
    return out[:n_drawn]


def test_draws_are_sets_of_features_that_depend_on_seed_and_node_only():
    features = np.array([1, 4, 5, 9, 12, 30])
    for n_drawn in range(1, 7):
        for seed in (0, 1, 1 << 61):
            for node in range(20):
                found = drawn(features, n_drawn, seed, node)
                assert np.all(np.diff(found) > 0) and set(found) <= set(features)
                np.testing.assert_array_equal(found, drawn(features, n_drawn, seed, node))
    np.testing.assert_array_equal(drawn(features, 6, 3, 3), features)
    assert any(not np.array_equal(drawn(features, 3, 0, n), drawn(features, 3, 1, n)) for n in range(3))


def test_all_features_are_drawn_equally_often():
    features = np.arange(10)
    for counted in (
        np.bincount(np.concatenate([drawn(features, 3, 7, node) for node in range(4000)]), minlength=10),
        np.bincount(np.concatenate([drawn(features, 3, seed, 0) for seed in range(4000)]), minlength=10),
    ):
        assert np.all(np.abs(counted - 1200) < 5 * np.sqrt(4000 * 0.3 * 0.7))


def test_share_of_features():
    """A share of the round's features is rounded, and one is always looked at; the root's draw holds its split."""
    rng = np.random.default_rng(0)
    X, y = make_data(rng, 200, 10)
    rows, binner = make_rows(X, random_costs(rng, 3), y)
    for share, n_drawn in ((0.01, 1), (0.34, 3), (1.0, 10)):
        seen = []

        class Spy:
            def __getattr__(self, name):
                return getattr(rows, name)

            def grow(self, target, rule, features, seed):
                seen.append(rule)
                return rows.grow(target, rule, features, seed)

        recipe = make_recipe(rows, binner, max_features=share, max_depth=3, min_samples_leaf=4)
        boost(Spy(), recipe, 1, 0)
        assert seen == [GrowthRule(8, 3, 4, n_drawn)]
