"""Prediction on coded rows: the same bits as tree after tree, and no codes where they would not do or not pay."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

from minrisk import MinRiskClassifier, REBELClassifier
from minrisk._utils.workers import Workers
from minrisk.model.additive import AdditiveModel, pack
from minrisk.model.coded_trees import CodedTrees
from minrisk.model.trees import CONSTANT
from tests.helpers.walks import plain_scores, random_tree

D = 4


def random_model(rng, n_trees, n_vectors=3, constants=0, grid=None):
    """Trees whose leaves answer 1, on four features, with single leaves of zeros between them."""
    trees = [random_tree(rng, D, int(rng.integers(2, 20)), n_vectors) for _ in range(n_trees)]
    if grid is not None:  # few thresholds, so that values fall on them
        trees = [
            t._replace(threshold=np.where(np.isinf(t.threshold), np.inf, np.round(t.threshold * grid) / grid))
            for t in trees
        ]
        for tree, end in ((trees[0], np.inf), (trees[-1], -np.inf), (trees[n_trees // 2], np.inf)):
            tree.threshold[0] = end
    trees = [t._replace(value=(t.left == np.arange(len(t.left))).astype(float)) for t in trees]
    vectors = [rng.normal(size=(t.n_vectors, 3)) for t in trees]
    for place in rng.integers(n_trees, size=constants):
        trees.insert(place, CONSTANT)
        vectors.insert(place, np.zeros((1, 3)))
    return AdditiveModel(pack(trees), np.concatenate(vectors), rng.normal(size=3), D)


@pytest.mark.parametrize("n_trees", [1, 7, 8, 9, 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_same_bits_as_tree_after_tree(n_trees, dtype):
    rng = np.random.default_rng(n_trees)
    model = random_model(rng, n_trees, constants=5, grid=4)
    assert isinstance(model._whole, CodedTrees) and len(model._whole) == n_trees
    X = (np.round(rng.normal(size=(600, D)) * 8) / 8).astype(dtype)  # every other value is on a threshold
    X[::5, 1], X[::7, 2], X[::11, 0] = np.nan, np.inf, -np.inf
    expected = np.tile(model.intercept, (len(X), 1))
    model.packed.add_scores(X, model.vectors, 0, model.n_trees, 0, len(X), expected)
    np.testing.assert_allclose(expected[:50], plain_scores(model, X[:50]), rtol=0, atol=1e-12)
    for n in (0, 1, 2, 7, 8, 9, 17, 600):
        np.testing.assert_array_equal(model.scores(X[:n]), expected[:n])
    np.testing.assert_array_equal(model.scores(X, Workers(3)), expected)
    *_, staged = model.staged_scores(X)
    np.testing.assert_array_equal(staged, expected)


def test_255_thresholds_are_the_most():
    rng = np.random.default_rng(0)
    trees = [random_tree(rng, 1, 2, 2) for _ in range(256)]
    trees = [
        t._replace(value=np.array([0.0, 1.0, 1.0]), threshold=np.array([i, np.inf, np.inf]))
        for i, t in enumerate(trees)
    ]
    vectors = rng.normal(size=(512, 2))
    X = np.arange(-1.0, 257.0, 3.5)[:, None]  # on thresholds and between them
    for n, coded in ((255, True), (256, False)):
        model = AdditiveModel(pack(trees[:n]), vectors[: 2 * n], np.zeros(2), 1)
        assert (model._whole is not None) == coded
        np.testing.assert_allclose(model.scores(X), plain_scores(model, X), rtol=0, atol=1e-12)


def test_single_leaves_that_add_something_stay():
    vectors = np.array([[1.0, -1.0], [0.0, 0.0], [0.5, 2.0]])
    model = AdditiveModel(pack([CONSTANT] * 3), vectors, np.zeros(2), 2)
    assert len(model._whole) == 2
    np.testing.assert_array_equal(model.scores(np.array([[0.0, np.nan]] * 10)), [[1.5, 1.0]] * 10)


def test_pools_with_linear_features_are_coded():
    X, y = load_wine(return_X_y=True)
    model = MinRiskClassifier(n_estimators=20, random_state=1).fit(X, y).model_
    assert model.projection is not None and isinstance(model._whole, CodedTrees)
    new = X * np.random.default_rng(0).uniform(0.9, 1.1, X.shape)
    new[::4, 3] = np.nan
    *_, staged = model.staged_scores(new)
    np.testing.assert_array_equal(model.scores(new), staged)
    np.testing.assert_array_equal(model.scores(new[:1]), staged[:1])
    again = pickle.loads(pickle.dumps(model))
    assert "_whole" not in again.__dict__
    np.testing.assert_array_equal(again.scores(new), staged)


def test_where_codes_would_not_do_or_not_pay():
    X, y = load_digits(return_X_y=True)
    shared = REBELClassifier(n_estimators=60, max_depth=2).fit(X, y).model_  # leaves of +-1 times one vector
    assert shared._whole is None
    few = MinRiskClassifier(n_estimators=1, cv=1, random_state=0).fit(X, y).model_
    assert few._whole is None  # one tree, dozens of features
    assert isinstance(MinRiskClassifier(n_estimators=30, cv=1, random_state=0).fit(X, y).model_._whole, CodedTrees)
