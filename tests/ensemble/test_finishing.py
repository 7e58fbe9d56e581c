"""The end of a fit: fewer rounds, whose leaf vectors are fitted all at once; and what more rounds must bring."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_digits

import minrisk
from minrisk import MinRiskClassifier
from minrisk._kernels.scores import add_vectors, column_dots, go_along, leaf_vectors, sum_by_leaf, turn_direction
from minrisk._utils.workers import Workers
from minrisk.ensemble import defaults
from minrisk.ensemble.finishing import JointFit


# -- kernels -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
@pytest.mark.parametrize("width", [1, 2, 5, 8, 9, 26])
def test_sums_over_trees_and_over_rows_are_those_of_one_loop(width, dtype):
    rng = np.random.default_rng(width)
    sizes, n = [3, 1, 7], 5000
    leaf = np.array([rng.integers(0, size, n) for size in sizes], dtype=dtype)
    first = np.cumsum([0, *sizes])
    vectors = rng.integers(-8, 9, (first[-1], width)).astype(np.float32)  # whole numbers: sums are exact in any order
    values = rng.integers(-8, 9, (n, width)).astype(np.float32)
    scores, sums = np.zeros((n, width), np.float32), np.full(vectors.shape, np.nan, np.float32)
    add_vectors(leaf, first, vectors, scores, 0, n - 7)
    np.testing.assert_array_equal(scores[: n - 7], sum(vectors[first[t] + leaf[t]] for t in range(3))[: n - 7])
    assert not scores[n - 7 :].any()
    sum_by_leaf(leaf, first, values, 0.25, sums, 1, 3)
    assert np.isnan(sums[:3]).all()
    for t in (1, 2):
        for one in range(sizes[t]):
            np.testing.assert_array_equal(sums[first[t] + one], 0.25 * values[leaf[t] == one].sum(axis=0))


def test_steps_of_conjugate_gradients_are_those_of_the_formulas():
    rng = np.random.default_rng(0)
    vectors, residual, direction, push = rng.normal(size=(4, 11, 3)).astype(np.float32)
    room, far, turn = rng.uniform(1, 2, (11, 1)).astype(np.float32), np.float32([0.5, 0, 2]), np.float32([1, 0, -1])
    np.testing.assert_allclose(column_dots(vectors, push), (vectors * push).sum(axis=0), rtol=1e-5)
    wanted, left = vectors + far * direction, residual - far * push
    length = go_along(vectors, residual, direction, push, room, far)
    np.testing.assert_array_equal(vectors, wanted)
    np.testing.assert_array_equal(residual, left)
    np.testing.assert_allclose(length, (left**2 / room).sum(axis=0), rtol=1e-5)
    turned = residual / room + turn * direction
    turn_direction(direction, residual, room, turn)
    np.testing.assert_allclose(direction, turned, rtol=1e-6)


def test_leaf_vectors_are_those_of_a_walk():
    """A root that splits feature 1 at bin 3, whose right child splits feature 0 at bin 0; and a tree of one leaf."""
    feature, bins = np.int32([1, 0, 0, 0, 0, 0]), np.int32([3, 255, 0, 255, 255, 255])
    left, vector = np.int32([1, 1, 3, 3, 4, 0]), np.int32([0, 2, 0, 0, 1, 0])
    X = np.uint8([[0, 0, 1, 9], [3, 4, 4, 255]])
    out = np.empty((2, 4), np.uint16)
    leaf_vectors(X, feature, bins, left, vector, np.array([5, 1]), out)
    assert out.tolist() == [[2, 0, 1, 1], [0, 0, 0, 0]]


# -- the fit of all vectors --------------------------------------------------------------------------------------------
def test_vectors_are_the_least_squares_solution(monkeypatch):
    """By the normal equations of a dense matrix, after as many steps as there are unknowns."""
    monkeypatch.setattr(defaults, "FITTED_STEPS", 40)
    rng = np.random.default_rng(3)
    sizes, n = [4, 3, 5], 300
    leaves = [np.array([rng.integers(0, size, n)], dtype=np.uint16) for size in sizes]
    weight, target = rng.uniform(0, 2, n), rng.normal(size=(n, 2)).astype(np.float32)
    before = rng.normal(size=(12, 2)).astype(np.float32)
    Z = np.hstack([np.eye(size)[leaf[0]] for size, leaf in zip(sizes, leaves, strict=True)])
    scores = Z @ before
    factor = (weight[:, None] * scores * target).sum() / (weight[:, None] * scores**2).sum()
    bent = Z.T @ (weight[:, None] * Z) + defaults.FITTED_RIDGE * np.eye(12)
    wanted = np.linalg.solve(bent, Z.T @ (weight[:, None] * target) + defaults.FITTED_RIDGE * factor * before)
    for workers in (Workers(), Workers(2)):
        with workers:
            found = JointFit(leaves, [[size] for size in sizes], workers).fitted(before, target, weight)
        np.testing.assert_allclose(found, wanted, atol=2e-4)


def test_what_says_the_target_already_stays():
    rng = np.random.default_rng(0)
    leaves, before = [rng.integers(0, 5, (3, 200)).astype(np.uint16)], rng.normal(size=(15, 3)).astype(np.float32)
    fit = JointFit(leaves, [[5, 5, 5]], Workers())
    target = fit.scores(before)
    np.testing.assert_allclose(fit.fitted(before, target, np.ones(200)), before, atol=1e-5)
    np.testing.assert_allclose(fit.fitted(before, 3 * target, np.ones(200)), 3 * before, atol=1e-4)
    nothing = np.zeros_like(before)  # no factor makes anything of it: the vectors begin at 0
    assert np.isfinite(fit.fitted(nothing, target, np.ones(200))).all()


# -- the end of a fit --------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def halves():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order[:900]], y[order[:900]], X[order[900:]], y[order[900:]]


def fitted(halves, **parameters):
    return MinRiskClassifier(n_estimators=40, random_state=0, **parameters).fit(*halves[:2])


def log_loss(model, halves):
    P = model.predict_proba(halves[2])
    return -np.log(P[np.arange(len(P)), halves[3]]).mean()


def test_left_out_rows_say_how_many_rounds_are_kept(halves, monkeypatch):
    monkeypatch.setattr(defaults, "FINISHED_EXCESS", -1.0)
    whole = fitted(halves, pool=False)
    monkeypatch.setattr(defaults, "FINISHED_EXCESS", 1e9)
    least = fitted(halves, pool=False)
    assert least.n_iter_ == round(defaults.FINISHED_SHARES[0] * whole.n_iter_)
    for model in (whole, least):
        assert model.model_.n_trees == 4 * model.n_iter_
        assert len(model.train_loss_) == model.n_iter_ + 1
    np.testing.assert_array_equal(least.train_loss_, whole.train_loss_[: least.n_iter_ + 1])


def test_one_fit_of_all_leaves_lowers_the_loss_of_new_rows(halves, monkeypatch):
    monkeypatch.setattr(defaults, "FINISHED_EXCESS", -1.0)  # of all rounds
    whole = log_loss(fitted(halves), halves)
    monkeypatch.setattr("minrisk.ensemble.training.finished", lambda ensemble, ended: (ended, ensemble))
    assert whole < log_loss(fitted(halves), halves)


def test_a_model_of_fewer_rows_than_all_is_fitted_to_a_sample(halves, monkeypatch):
    monkeypatch.setattr(defaults, "FITTED_CELLS", 60_000)
    assert log_loss(fitted(halves, pool=False), halves) < 0.3


@pytest.mark.parametrize("surrogate", ["exponential", "coupled", "gll", "gel"])
def test_every_surrogate_is_finished(halves, surrogate):
    model = MinRiskClassifier(surrogate=surrogate, n_estimators=15, pool=False, random_state=0).fit(*halves[:2])
    assert (model.predict(halves[2]) == halves[3]).mean() > 0.85


# -- what more rounds must bring ---------------------------------------------------------------------------------------
def test_a_fall_pays_as_the_formula_says():
    """From 0.36 to 0.25 of the loss: 2 (0.6 sqrt(0.75) - 0.5 * 0.8) = 0.239."""
    free, dear = defaults.FREE_WORK, defaults.DEAR_WORK
    gain = 2 * (0.6 * math.sqrt(0.75) - 0.5 * 0.8)
    most = dear * (math.sqrt(free / dear) + gain) ** 2 - free
    assert defaults.pays(0.36, 0.25, 1.0, 0.0, 0.999 * most)
    assert not defaults.pays(0.36, 0.25, 1.0, 0.0, 1.001 * most)
    assert defaults.pays(0.36, 0.25, 1.0, 0.0, 1.5 * most, times=0.5)
    assert defaults.pays(0.72, 0.5, 2.0, 0.0, 0.999 * most)
    assert not defaults.pays(0.3, 0.3, 1.0, 0.0, 1.0)
    assert defaults.pays(1.7, 0.99, 1.0, 0.0, 1.0)  # before, it lost more than the class frequencies


def test_few_rows_and_stated_rounds_have_no_price(halves):
    assert defaults.pays(0.2, 0.1999, 1.0, 100 * 50, 100 * 60)
    assert not defaults.pays(0.2, 0.1999, 1.0, 1e6 * 50, 1e6 * 60)
    assert defaults.tried_rounds(100) == defaults.N_ROUNDS
    assert defaults.tried_rounds(1e9) == defaults.FIRST_CHECKPOINT
    assert MinRiskClassifier(n_estimators=7, cv=1, random_state=0).fit(*halves[:2]).n_iter_ == 7
    alone = MinRiskClassifier(cv=1, max_leaf_nodes=4, random_state=0).fit(halves[0][:60], halves[1][:60])
    assert alone.n_iter_ == defaults.UNJUDGED_ROUNDS


# -- compact with rows -------------------------------------------------------------------------------------------------
def test_rows_make_a_model_smaller(halves):
    model = MinRiskClassifier(random_state=0).fit(*halves[:2])
    small = minrisk.compact(model, max_excess=0.05, X=halves[2])
    assert small.n_iter_ < 0.6 * model.n_iter_
    P, Q = model.predict_proba(halves[2]), small.predict_proba(halves[2])
    each = np.arange(len(P))
    least, paid = 1 - P.max(axis=1), 1 - P[each, Q.argmax(axis=1)]
    assert paid.sum() <= 1.1 * least.sum()
    assert log_loss(small, halves) < 1.3 * log_loss(model, halves)
    assert model.n_iter_ == MinRiskClassifier(random_state=0).fit(*halves[:2]).n_iter_  # is as it was
    smallest = minrisk.compact(small, max_excess=1.0, X=halves[2])  # also of a model that was compacted
    assert smallest.n_iter_ < small.n_iter_
    assert minrisk.compact(model, max_excess=0.0, X=halves[2]).n_iter_ <= model.n_iter_


def test_compact_refuses_rows_that_cannot_tell(halves):
    model = fitted(halves, pool=False)
    with pytest.raises(ValueError, match="two rows of X at least, got 1"):
        minrisk.compact(model, X=halves[2][:1])
    with pytest.raises(ValueError, match="features"):
        minrisk.compact(model, X=halves[2][:, :5])
    trained_on_costs = fitted(halves, surrogate="coupled", pool=False)
    with pytest.raises(ValueError, match="gives probabilities, got 'coupled'"):
        minrisk.compact(trained_on_costs, X=halves[2])


@pytest.mark.parametrize(("noise", "kind"), [(0.3, "logistic"), (1.5, "smooth")])
def test_the_order_of_the_rows_changes_no_bit(noise, kind):
    """Whatever kinds have a share, also those whose sums over rows are of floating-point numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    bent = np.sin(3.0 * X[:, 0]) if noise < 1.0 else X[:, 0]
    y = np.digitize(bent + X[:, 1] + noise * rng.normal(size=500), [-0.7, 0.7])
    order = rng.permutation(500)
    model, other = (MinRiskClassifier(random_state=0).fit(X[rows], y[rows]) for rows in (np.arange(500), order))
    kinds = {line["variant"] for line in model.selection_ if line["share"] > 0.0}
    assert kind in kinds
    np.testing.assert_array_equal(model.decision_function(X), other.decision_function(X))


def test_leads_keep_their_promise_where_kinds_have_few_trees():
    """A logistic member has as many trees as there are features, all of them in the first rounds of the model."""
    rng = np.random.default_rng(1)
    X, W = rng.normal(size=(9000, 10)), rng.normal(size=(10, 5))
    y = (X @ W + 0.8 * np.sin(2.0 * X[:, :1] * np.arange(1, 6)) + 0.5 * rng.gumbel(size=(9000, 5))).argmax(axis=1)
    model = MinRiskClassifier(random_state=0).fit(X[:3000], y[:3000])
    assert next(line["share"] for line in model.selection_ if line["variant"] == "logistic") > 0.5
    whole, early = (np.mean(model.predict(X[3000:], max_excess=excess) != y[3000:]) for excess in (0.0, 0.05))
    assert early < 1.1 * whole
