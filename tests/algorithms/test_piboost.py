"""PIBoost against its paper, row by row, AdaBoost, and a bracketing solver."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB

from minrisk import PIBoostClassifier
from minrisk._kernels.losses import scan_chains
from minrisk.algorithms.piboost import once
from minrisk.losses.codes import separator_loss
from minrisk.model.codes import separators
from minrisk.steps.line_search import separator_roots
from tests.helpers.common import make_costs, slow_after
from tests.helpers.naive_piboost import (
    NaiveCostSensitiveAdaBoost,
    NaivePIBoost,
    best_error,
    label_vector,
    margin_vector,
)
from tests.helpers.walks import answers


def problem(seed, K, n=70, d=3):
    """Classes that overlap, in unequal numbers."""
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(K), np.minimum(rng.geometric(0.4, n - K) - 1, K - 1)]
    return rng.normal(size=(n, d)) + 0.8 * y[:, None] * rng.normal(size=d), y, rng.integers(1, 4, n).astype(float)


def every_stump(X):
    """Answers of all stumps; what the other sign answers has the same loss, with a step of the other sign."""
    return [np.where(column > threshold, 1.0, -1.0) for column in X.T for threshold in np.unique(column)[:-1]]


# -- the paper -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("s", "losses"), [(1, (0.7788, 1.2840, 0.9394, 1.0645)), (2, (0.8825, 1.1331, 0.9200, 1.0869))]
)
def test_the_losses_of_five_classes(s, losses):
    """Sec. 3 prints them cut after two digits."""
    codebook = separators([range(s)], 5)
    loss = separator_loss(codebook).for_costs(make_costs(1 - np.eye(5), np.arange(5), np.ones(5)))
    inside, outside = loss.rates[0, 0] / s, loss.rates[4, 0] / s  # chains are in units of s
    found = [math.exp(-inside), math.exp(inside), math.exp(outside), math.exp(-outside)]
    np.testing.assert_allclose(found, losses, atol=5e-5)
    y_S = margin_vector(set(range(s)), 5)
    assert math.exp(-label_vector(0, 5) @ y_S / 5) == pytest.approx(found[0])
    np.testing.assert_allclose(codebook.words[0] / s, y_S)


@pytest.mark.parametrize(("K", "singles", "pairs"), [(2, 1, 1), (3, 3, 3), (4, 4, 7), (5, 5, 15), (26, 26, 351)])
def test_sets_and_their_complements_count_once(K, singles, pairs):
    """Table 2."""
    every = [members for s in (1, 2) for members in combinations(range(K), s)]
    assert len(once([(k,) for k in range(K)], K)) == singles
    assert len(once(every, K)) == pairs


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("how", ["singles", "pairs", [[0, 1, 2], [4], [0, 2]]])
@pytest.mark.parametrize("weak_learner", ["stump", "tree"])
def test_rounds_are_those_of_algorithm_2(seed, how, weak_learner):
    X, y, weight = problem(seed, 5)
    model = PIBoostClassifier(separators=how, n_estimators=4, weak_learner=weak_learner, draw=0.3, random_state=seed)
    model.fit(X, y, sample_weight=weight)
    sets = [frozenset(members) for members in model.separators_]
    twin, learners, losses = NaivePIBoost(y, 5, sets, weight), iter(model.model_.learners), [1.0]
    chains = {S: np.zeros(len(y)) for S in sets}
    for t in range(4):
        for S in sets:
            answer = answers(next(learners), X)
            chains[S] += twin.add(S, answer) * answer
        margins = [chains[S] * (margin_vector(S, 5) @ np.array([label_vector(k, 5) for k in y]).T) for S in sets]
        losses.append(float(np.mean([weight @ np.exp(-m / 5) for m in margins]) / weight.sum()))
        np.testing.assert_allclose(model.model_[: t + 1].scores(X), twin.F, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.train_loss_, losses, rtol=1e-9)
    assert np.all(np.diff(model.train_loss_) < 0)


@pytest.mark.parametrize("seed", range(3))
def test_stumps_have_the_least_error(seed):
    X, y, weight = problem(seed, 4)
    model = PIBoostClassifier(n_estimators=3, weak_learner="stump").fit(X, y, sample_weight=weight)
    sets = [frozenset(members) for members in model.separators_]
    twin, learners = NaivePIBoost(y, 4, sets, weight), iter(model.model_.learners)
    for _ in range(3):
        for S in sets:
            answer, inside, w = answers(next(learners), X), np.isin(y, list(S)), twin.weight[S].copy()
            error = math.fsum(w[(answer > 0) != inside])
            assert min(error, 1 - error) == pytest.approx(best_error(X.T, inside, w), rel=1e-9)
            twin.add(S, answer)


@pytest.mark.parametrize("seed", slow_after(1, range(3)))
def test_steps_are_those_of_cost_sensitive_adaboost(seed):
    """Sec. 6.1, with the costs of Table 5. Its learner is the one of the least loss, PIBoost's that of the least error."""
    X, y, weight = problem(seed, 4, n=50)
    model = PIBoostClassifier(n_estimators=4, weak_learner="stump").fit(X, y, sample_weight=weight)
    sets, learners, vectors = model.separators_, iter(model.model_.learners), iter(model.model_.vectors)
    twins = []
    for S in sets:
        s = len(S)
        costs = 1 / (s * 3), 1 / (3 * (4 - s))
        twins.append(NaiveCostSensitiveAdaBoost(np.isin(y, list(S)), *costs, weight))
    better = 0
    for _ in range(4):
        for S, twin in zip(sets, twins, strict=True):
            answer, beta = answers(next(learners), X), next(vectors) @ np.isin(np.arange(4), S)
            least = min(twin.loss(other) for other in every_stump(X))
            assert twin.loss(answer) >= least * (1 - 1e-12)
            better += twin.loss(answer) > least * (1 + 1e-9)
            assert beta == pytest.approx(twin.add(answer), rel=1e-9)
    assert 0 < better < 4 * len(sets)


def test_costs_of_two_classes_are_weights_that_adaboost_starts_with():
    """Sec. 6.1, ref. [24], names it as another way to asymmetry; the exponents stay those of equal costs."""
    X, y, weight = problem(1, 2, n=120)
    cost = np.array([[0.0, 5.0], [2.0, 0.0]])
    model = PIBoostClassifier(cost, n_estimators=8, weak_learner="stump").fit(X, y, sample_weight=weight)
    twin, F = NaiveCostSensitiveAdaBoost(y == 0, 1.0, 1.0, weight * cost[y, 1 - y]), np.zeros(120)
    for t, learner in enumerate(model.model_.learners):
        answer = answers(learner, X)
        F += twin.add(answer) * answer
        np.testing.assert_allclose(model.model_[: t + 1].scores(X), np.c_[F, -F], rtol=1e-9, atol=1e-12)


# -- the root --------------------------------------------------------------------------------------------------------------
@settings(deadline=None, max_examples=200)
@given(
    st.integers(2, 1000).flatmap(lambda K: st.tuples(st.just(K), st.integers(1, K - 1))),
    st.lists(st.floats(1e-9, 1 - 1e-9), min_size=3, max_size=3),
)
def test_the_root_is_that_of_a_bracketing_solver(sizes, shares):
    (K, s), (inside, first, second) = sizes, shares
    A, e = np.array([inside, 1 - inside]), np.array([first, second]) * [inside, 1 - inside]
    end = 18 / max(s, K - s)
    rates = np.array([K - s, s], dtype=float)

    def slope(x):  # over its size, which spans many orders of magnitude
        up, down = (rates * e * np.exp(rates * x)).sum(), (rates * (A - e) * np.exp(-rates * x)).sum()
        return math.log(up / down)

    expected = end if slope(end) < 0 else -end if slope(-end) > 0 else brentq(slope, -end, end, xtol=1e-18, rtol=1e-15)
    found = separator_roots(np.stack([A, e], axis=1)[None], np.array([float(s)]), K)[0]
    # Up over down is rounded in its last digit, and its logarithm rises by 2 min(s, K - s) at least.
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-15 / min(s, K - s))


@pytest.mark.parametrize(
    ("errors", "sign"),
    [
        ([[0.4, 0.0], [0.6, 0.0]], 1),
        ([[0.4, 0.4], [0.6, 0.6]], -1),
        ([[0.4, 0.2], [0.6, 0.3]], 0),
        ([[0.4, 0.0], [0.6, 0.6]], None),
        ([[1.0, 0.0], [0.0, 0.0]], 1),
        ([[0.0, 0.0], [0.0, 0.0]], 0),
        ([[0.0, 0.0], [1.0, 0.25]], 1),
        ([[1e-300, 0.0], [1.0, 0.5]], None),
    ],
)
def test_the_root_at_the_ends(errors, sign):
    """Where nothing is wrong, or everything, it is cut; A_1 = eps_1 is no zero if A_2 > eps_2."""
    for K, s in ((2, 1), (5, 1), (5, 4), (300, 2)):
        found = separator_roots(np.array([errors]), np.array([float(s)]), K)[0]
        assert np.isfinite(found) and abs(found) <= 18 / max(s, K - s)
        if sign is not None:
            assert np.sign(found) == sign


# -- learners --------------------------------------------------------------------------------------------------------------
def test_scan_of_chains_is_exact():
    rng = np.random.default_rng(0)
    histogram, n_bins = rng.integers(-9, 10, size=(3, 256, 4)), np.array([5, 1, 256])
    for f in range(3):
        histogram[f, n_bins[f] :] = 0
    histogram[:, 0] += histogram[0].sum(axis=0) - histogram.sum(axis=1)  # one total
    total, (edge, where) = histogram[0].sum(axis=0), np.empty((2, 3, 4), dtype=np.int64)
    scan_chains(histogram, np.arange(3), n_bins, total, edge, where)
    for f in range(3):
        for q in range(4):
            sizes = [abs(total[q] - 2 * histogram[f, : b + 1, q].sum()) for b in range(n_bins[f] - 1)]
            assert edge[f, q] == max(sizes, default=-1) and where[f, q] == (np.argmax(sizes) if sizes else 0)


def test_nodes_of_drawn_trees_have_more_than_their_share():
    """Step 2a, as the paper's experiments have it: M rows are drawn, nodes of up to M / K are leaves."""
    X, y, _ = problem(1, 3, n=400)
    model = PIBoostClassifier(n_estimators=2, draw=0.5, random_state=0).fit(X, y)
    n_leaves = [int((learner.left == np.arange(len(learner.left))).sum()) for learner in model.model_.learners]
    assert max(n_leaves) <= 200 and min(n_leaves) >= 2
    few = PIBoostClassifier(n_estimators=2, draw=0.01, random_state=0).fit(X, y)  # M = 4, split above 1
    assert all(len(learner.left) <= 7 for learner in few.model_.learners)
    one = PIBoostClassifier(n_estimators=1, draw=0.0025, random_state=0).fit(X, y)  # of one row: a constant
    assert all(len(learner.left) == 1 for learner in one.model_.learners)


@pytest.mark.parametrize("estimator", [GaussianNB(), LogisticRegression()])
def test_classifiers_of_scikit_learn(estimator):
    X, y, weight = problem(2, 4)
    model = PIBoostClassifier(estimator=estimator, n_estimators=3).fit(X, y, sample_weight=weight)
    sets = [frozenset(members) for members in model.separators_]
    twin, learners = NaivePIBoost(y, 4, sets, weight), iter(model.model_.learners)
    for _ in range(3):
        for S in sets:
            fitted = next(learners).model
            assert set(fitted.classes_) == {-1.0, 1.0}
            twin.add(S, fitted.predict(X))
    np.testing.assert_allclose(model.decision_function(X), twin.F, rtol=1e-9, atol=1e-9)


# -- costs -----------------------------------------------------------------------------------------------------------------
def test_rows_weigh_what_the_other_side_costs():
    C = np.array([[0, 1, 4, 1], [2, 0, 1, 1], [9, 3, 0, 3], [1, 1, 1, 0.0]])
    loss = separator_loss(separators([(0,), (1, 2)], 4)).for_costs(make_costs(C, np.arange(4), np.ones(4)))
    np.testing.assert_allclose(loss.share, [[2, 2.5], [2, 1.5], [9, 6], [1, 1]])
    equal = separator_loss(separators([(0,), (1, 2)], 4)).for_costs(make_costs(1 - np.eye(4), np.arange(4), np.ones(4)))
    assert np.all(equal.share == 1.0)


def test_costs_start_the_weights():
    X, y, _ = problem(3, 3)
    C = np.array([[0, 1, 4], [2, 0, 1], [9, 3, 0.0]])
    model = PIBoostClassifier(C, n_estimators=3, weak_learner="stump").fit(X, y)
    sets = [frozenset(members) for members in model.separators_]
    twin, learners = NaivePIBoost(y, 3, sets), iter(model.model_.learners)
    for S in sets:
        others = [[k for k in range(3) if (k in S) != (j in S)] for j in range(3)]
        start = np.array([np.mean([C[j, k] for k in others[j]]) for j in y])
        twin.weight[S] = start / start.sum()
    for _ in range(3):
        for S in sets:
            twin.add(S, answers(next(learners), X))
    np.testing.assert_allclose(model.decision_function(X), twin.F, rtol=1e-9, atol=1e-9)


# -- edges -----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("how", ["one", [], [[0], "ab"], [{}], {"a": 1}, None, 3])
def test_separators_that_are_none(how):
    X, y, _ = problem(0, 3)
    with pytest.raises(ValueError, match=r"separators must be 'singles', 'pairs' or a list of sets|each of separators"):
        PIBoostClassifier(separators=how).fit(X, y)


@pytest.mark.parametrize(("how", "told"), [([[0], [5]], "label 5, which is no class"), ([[0, 1, 2]], "3 of 3 classes")])
def test_sets_that_separate_nothing(how, told):
    X, y, _ = problem(0, 3)
    with pytest.raises(ValueError, match=told):
        PIBoostClassifier(separators=how).fit(X, y)


def test_regressors_are_refused():
    X, y, _ = problem(0, 3)
    with pytest.raises(ValueError, match="estimator must be a scikit-learn classifier or None"):
        PIBoostClassifier(estimator=Ridge()).fit(X, y)


def test_a_chain_that_is_separated_does_not_hide_the_others():
    """Every chain has a scale of its own: one ends after a round, the others go on."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 60)
    X = rng.normal(size=(180, 2))
    X[y == 0, 0] += 100
    X[y == 2, 1] += 1
    model = PIBoostClassifier(n_estimators=60, weak_learner="stump").fit(X, y)
    assert model.n_iter_ == 60 and np.isfinite(model.model_.vectors).all()
    assert model.train_risk_[-1] < model.train_risk_[3]
