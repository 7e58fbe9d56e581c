"""The algorithm of docs/more/developers/adding_an_algorithm.md: the guide is its source, and the source is right."""

import doctest
import re
from math import fsum
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

from examples import guess_averse_trees
from examples.guess_averse_trees import GuessAverseTreesClassifier
from minrisk import CostMatrix

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/more/developers/adding_an_algorithm.md").read_text(encoding="utf-8")
COST = np.array([[0, 1, 4], [2, 0, 1], [9, 3, 0.0]])
TREES = {"n_estimators": 3, "max_leaf_nodes": 4, "learning_rate": 0.5}
STEP = 1e-2  # of numerical derivatives, whose error is of its fourth power


def problem(seed):
    """Features, classes and weights, none of which says all."""
    rng = np.random.default_rng(seed)
    y = np.r_[0, 1, 2, rng.integers(0, 3, 57)]
    return rng.normal(size=(60, 3)) + y[:, None] * [1.0, -0.5, 0.0], y, rng.uniform(0.5, 2.0, 60)


# -- the slow twin: nothing but the formulas ---------------------------------------------------------------------------
def row_loss(c, y, S):
    """Eq. (21): log(1 + sum_{k != y} c_k exp(S_k - S_y))."""
    return np.log1p(fsum(c[k] * np.exp(S[k] - S[y]) for k in range(len(S)) if k != y))


def mean_loss(C, y, w, S):
    return fsum(w[n] * row_loss(C[n], y[n], S[n]) for n in range(len(y))) / fsum(w)


def derivatives(c, y, S, k):
    """First and second derivative of the loss in S_k, by five points."""
    at = [row_loss(c, y, S + i * STEP * np.eye(len(S))[k]) for i in (-2, -1, 0, 1, 2)]
    first = (at[0] - 8 * at[1] + 8 * at[3] - at[4]) / (12 * STEP)
    second = (-at[0] + 16 * at[1] - 30 * at[2] + 16 * at[3] - at[4]) / (12 * STEP**2)
    return first, second


def gradients_and_hessians(C, y, w, S):
    """Minus the gradient, and the Hessian's diagonal, of every row in every score."""
    both = [[derivatives(C[n], y[n], S[n], k) for k in range(S.shape[1])] for n in range(len(S))]
    return -w[:, None] * np.array(both)[:, :, 0], w[:, None] * np.array(both)[:, :, 1]


def newton_vector(gradient, hessian, leaf, smoothing):
    """(1 - 1/D) G / (M + smoothing M(all)), with the sums G and M over the rows of a leaf; no entry beyond 4."""
    D = gradient.shape[1]
    a = np.zeros(D)
    for k in range(D):
        room = fsum(hessian[leaf, k]) + smoothing * fsum(hessian[:, k])
        a[k] = (1 - 1 / D) * fsum(gradient[leaf, k]) / room if room > 0 else 0.0
    return np.clip(a, -4, 4)


def leaf_of(tree, x):
    """The number of the leaf that a row falls into."""
    node = 0
    while tree.left[node] != node:
        node = tree.left[node] + (x[tree.feature[node]] > tree.threshold[node])
    return tree.vector[node]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cost", [1 - np.eye(3), COST, np.c_[COST, [1, 1, 2]]], ids=["0/1", "costs", "refer"])
def test_vectors_and_losses_equal_the_twin(cost, seed):
    X, y, w = problem(seed)
    C, S = cost[y], np.zeros((len(X), cost.shape[1]))
    model = GuessAverseTreesClassifier(cost, **TREES).fit(X, y, sample_weight=w)
    losses, first = [mean_loss(C, y, w, S)], 0
    for tree in model.model_.learners:
        leaf = np.array([leaf_of(tree, x) for x in X])
        gradient, hessian = gradients_and_hessians(C, y, w, S)
        for number in range(tree.n_vectors):
            a = 0.5 * newton_vector(gradient, hessian, leaf == number, model.smoothing)
            np.testing.assert_allclose(model.model_.vectors[first + number], a, rtol=1e-6, atol=1e-8)
            S[leaf == number] += a
        first += tree.n_vectors
        losses.append(mean_loss(C, y, w, S))
    assert model.n_iter_ == 3
    np.testing.assert_allclose(model.train_loss_, losses, rtol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_the_first_split_gains_most(seed):
    """Of sum_k G_k^2 / (M_k + ridge_k) in the two parts; the ridge is twice `smoothing` times the loss of class k's rows."""
    X, y, w = problem(seed)
    model = GuessAverseTreesClassifier(COST, n_estimators=1, max_leaf_nodes=2).fit(X, y, sample_weight=w)
    S = np.zeros((60, 3))
    gradient, hessian = gradients_and_hessians(COST[y], y, w, S)
    losses = np.array([w[n] * row_loss(COST[y[n]], y[n], S[n]) for n in range(60)])
    ridge = 2 * model.smoothing * np.array([fsum(losses[y == k]) for k in range(3)])

    def gain(feature, threshold):
        below = X[:, feature] <= threshold
        return fsum(
            fsum(gradient[part, k]) ** 2 / (fsum(hessian[part, k]) + ridge[k])
            for part in (below, ~below)
            for k in range(3)
        )

    tree = model.model_.learners[0]
    best = max(gain(j, threshold) for j in range(3) for threshold in np.sort(X[:, j])[:-1])
    assert gain(tree.feature[0], tree.threshold[0]) == pytest.approx(best, rel=1e-6)


# -- a case that is known ----------------------------------------------------------------------------------------------
def test_two_classes_are_logistic_boosting():
    """The difference of the scores is the log-odds, and a leaf's step in it Newton's: sum (y - p) / sum p (1 - p)."""
    X, y, _ = problem(0)
    y = np.minimum(y, 1)
    model = GuessAverseTreesClassifier(smoothing=0.0, learning_rate=0.5, max_leaf_nodes=3, n_estimators=3).fit(X, y)
    odds = np.zeros(60)
    for tree in model.model_.learners:
        leaf, p = np.array([leaf_of(tree, x) for x in X]), 1 / (1 + np.exp(-odds))
        for number in range(tree.n_vectors):
            rows = leaf == number
            odds[rows] += 0.5 * fsum(y[rows] - p[rows]) / fsum(p[rows] * (1 - p[rows]))
    np.testing.assert_allclose(model.decision_function(X), odds, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-odds)), rtol=1e-9)


# -- laws --------------------------------------------------------------------------------------------------------------
def test_the_order_of_the_rows_changes_nothing():
    X, y, _ = problem(1)
    w = np.arange(60) % 4
    order = np.random.default_rng(1).permutation(60)
    one = GuessAverseTreesClassifier(COST, **TREES).fit(X, y, sample_weight=w)
    other = GuessAverseTreesClassifier(COST, **TREES).fit(X[order], y[order], sample_weight=w[order])
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


def test_a_constant_added_to_the_costs_of_a_row_changes_no_decision():
    X, y, _ = problem(2)
    fixed = np.random.default_rng(2).choice([0.0, 7.0, 300.0], size=(60, 1))
    one = GuessAverseTreesClassifier(**TREES).fit(X, y, cost=COST[y])
    other = GuessAverseTreesClassifier(**TREES).fit(X, y, cost=COST[y] + fixed)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_allclose(one.train_loss_, other.train_loss_, rtol=1e-9)
    table = CostMatrix(COST + np.array([[5.0], [0.0], [2.0]]), allow_diagonal=True)
    one, other = (GuessAverseTreesClassifier(cost, **TREES).fit(X, y) for cost in (COST, table))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


# -- scikit-learn ------------------------------------------------------------------------------------------------------
@parametrize_with_checks(
    [
        GuessAverseTreesClassifier(n_estimators=10),
        GuessAverseTreesClassifier(n_estimators=5, max_features=0.5, n_jobs=2),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_costs_are_learnt():
    """Two features of wine tell too little: the class whose mistakes are dear is missed less often."""
    X, y = load_wine(return_X_y=True)
    dear = np.array([[0, 1, 1], [1, 0, 1], [30, 30, 0.0]])
    models = [GuessAverseTreesClassifier(cost, n_estimators=10, max_leaf_nodes=4) for cost in (None, dear)]
    decided = [model.fit(X[::2, :2], y[::2]).predict(X[1::2, :2]) for model in models]
    blind, aware = (np.sum((y[1::2] == 2) & (decision != 2)) for decision in decided)
    assert aware < blind


# -- the guide ---------------------------------------------------------------------------------------------------------
def test_the_example_in_its_docstring():
    assert doctest.testmod(guess_averse_trees) == (0, 5)


def test_the_guide_shows_the_whole_source_and_tests_as_they_are():
    source, tests = (Path(file).read_text(encoding="utf-8") for file in (guess_averse_trees.__file__, __file__))
    blocks = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    for block in blocks:
        assert block in source or block in tests, block
    shown = "".join(block for block in blocks if block in source)
    assert re.sub(r"\n\s*\n", "\n", shown) == re.sub(r"\n\s*\n", "\n", source)


def test_files_that_the_guide_speaks_of_are_there():
    for path in re.findall(r"`([\w/]+/[\w]+\.(?:py|md))`", GUIDE):
        assert (ROOT / path).exists() or (ROOT / "minrisk" / path).exists(), path
