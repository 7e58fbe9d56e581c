"""BAdaCost and the baselines against slow twins, and what they reduce to."""

import itertools
from math import fsum

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import logsumexp
from sklearn.datasets import load_wine
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from minrisk import (
    ALGORITHMS,
    AdaBoostECCClassifier,
    AdaBoostMHClassifier,
    AdaBoostMOClassifier,
    AOSOLogitBoostClassifier,
    BAdaCostClassifier,
    GentleBoostClassifier,
    GradBoostClassifier,
    MCBoostClassifier,
    MultiBoostClassifier,
    PIBoostClassifier,
    REBELClassifier,
    StagewiseMCBoostClassifier,
    StructBoostClassifier,
)
from minrisk.algorithms.badacost import starred
from minrisk.learners.coloured import max_cut
from minrisk.losses.codes import OwnScoreLoss
from minrisk.model.codes import exhaustive
from minrisk.rows.costs import RowCosts
from minrisk.rows.row_losses import Course
from minrisk.steps.leaf_vectors import least_of_exponentials
from tests.helpers import naive_baselines as naive
from tests.helpers.common import COST, five_points, loss_columns, slow_after
from tests.helpers.common import overlapping as problem
from tests.helpers.walks import answers, rounds

ZERO_ONE = 1 - np.eye(3)
SMOOTHED = pytest.mark.parametrize(
    ("smoothing", "max_depth"), [(1e-3, 2), (0.0, 1)]
)  # the default, and none as in the papers


def first_split(model):
    tree = model.model_.learners[0]
    return tree.feature[0], tree.threshold[0]


# -- BAdaCost ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", slow_after(1, range(4)))
@pytest.mark.parametrize("cost", [ZERO_ONE, COST], ids=["0/1", "costs"])
@SMOOTHED
def test_badacost_equals_its_twin(cost, seed, smoothing, max_depth):
    X, y, w = problem(seed)
    model = BAdaCostClassifier(cost, n_estimators=4, max_depth=max_depth, smoothing=smoothing).fit(
        X, y, sample_weight=w
    )
    scaled, f = cost / cost.max(), np.zeros((60, 3))
    losses = [1.0]
    for _, leaf, vectors in rounds(model, X):
        answers, beta = naive.badacost_round(scaled, y, w, f, leaf, smoothing)
        f += beta * np.array([naive.margin_vector(answers[number], 3) for number in leaf])
        for number, k in enumerate(answers):
            expected = -beta * naive.starred(scaled) @ naive.margin_vector(k, 3)
            np.testing.assert_allclose(vectors[number], expected, rtol=1e-7, atol=1e-9)
        losses.append(naive.badacost_loss(scaled, y, w, f))
    assert model.n_iter_ == 4
    np.testing.assert_allclose(model.train_loss_, losses, rtol=1e-8)
    assert np.all(np.diff(losses) < 0)
    np.testing.assert_array_equal(model.predict(X), np.argmin(f @ naive.starred(scaled).T, axis=1))


@pytest.mark.parametrize("seed", range(4))
def test_badacost_splits_by_gini(seed):
    X, y, w = problem(seed)
    model = BAdaCostClassifier(COST, n_estimators=1, max_depth=1).fit(X, y, sample_weight=w)
    merit = naive.gini(y, w, 3)
    j, threshold = first_split(model)
    above = X[:, j] > threshold
    assert merit(above) + merit(~above) == pytest.approx(naive.best_stump(X, merit)[0], rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_badacost_of_0_1_costs_is_samme(seed):
    """Stump, answers, alpha, votes and weights of every round: H = votes less their mean."""
    X, y, w = problem(seed)
    model = BAdaCostClassifier(n_estimators=6, max_depth=1, smoothing=0.0).fit(X, y, sample_weight=w)
    tried = zip(naive.samme(X, y, w, 3, 6), model.model_.learners, model.staged_decision_function(X), strict=True)
    for (stump, _, _, votes), tree, scores in tried:
        assert (tree.feature[0], tree.threshold[0]) == (stump[0], pytest.approx(stump[1]))
        np.testing.assert_allclose(scores, votes - votes.mean(axis=1, keepdims=True), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("K", [2, 3])
def test_badacost_of_0_1_costs_is_scikit_learns_samme(K):
    """Of two classes that is AdaBoost."""
    X, y, _ = problem(5)
    y = np.minimum(y, K - 1)
    model = BAdaCostClassifier(n_estimators=8, max_depth=1, smoothing=0.0).fit(X, y)
    peer = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=8, random_state=0).fit(X, y)
    alphas = [np.ptp(vectors[0]) for *_, vectors in rounds(model, X)]
    np.testing.assert_allclose(alphas, peer.estimator_weights_, rtol=1e-7)
    for one, other in zip(model.staged_predict(X), peer.staged_predict(X), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("symmetric", [True, False])
def test_what_badacosts_loss_is_least_at(seed, symmetric):
    """H_k = ln(p_k / u_k) + const, u C* = 0: found by minimising the expected loss over f."""
    rng = np.random.default_rng(seed)
    K = 4
    C = rng.uniform(0.2, 1.0, (K, K)) * (1 - np.eye(K))
    C = (C + C.T) / 2 if symmetric else C
    p, star = rng.dirichlet(np.ones(K)), starred(C)
    found = minimize(lambda f: p @ np.exp(star @ f), np.zeros(K), tol=1e-14, options={"maxiter": 10000})
    H = -star @ found.x
    u = np.abs(np.linalg.svd(star.T)[2][-1])
    np.testing.assert_allclose(u @ star, 0.0, atol=1e-12)
    expected = np.log(p / u)
    np.testing.assert_allclose(H - H.mean(), expected - expected.mean(), atol=1e-3)
    if symmetric:
        assert H.argmax() == p.argmax()


def test_badacost_is_not_always_bayes():
    """At the minimum: two decisions differ for some probabilities and costs of three classes."""
    rng = np.random.default_rng(0)
    differ = 0
    for _ in range(200):
        C = rng.uniform(0.1, 1.0, (3, 3)) * (1 - np.eye(3))
        p, u = rng.dirichlet(np.ones(3)), np.abs(np.linalg.svd(starred(C).T)[2][-1])
        differ += np.argmax(p / u) != np.argmin(p @ C)
    assert 0 < differ < 200
    for _ in range(50):  # of two it is
        C = np.diag(rng.uniform(0.1, 1.0, 2))[:, ::-1]
        p, u = rng.dirichlet(np.ones(2)), np.abs(np.linalg.svd(starred(C).T)[2][-1])
        assert np.argmax(p / u) == np.argmin(p @ C)


def test_badacost_refuses_what_has_no_star():
    X, y, _ = problem(0)
    with pytest.raises(ValueError, match="decides by a cost matrix"):
        BAdaCostClassifier().fit(X, y, cost=COST[y])


@pytest.mark.parametrize("seed", range(6))
def test_the_rate_is_the_minimum(seed):
    rng = np.random.default_rng(seed)
    weight, speed = rng.exponential(size=(3, 3)) * 10.0 ** rng.integers(-12, 3, (3, 3)), rng.normal(size=(3, 3))
    speed[0] = np.abs(speed[0])
    rate = least_of_exponentials(weight, speed, 18.0)
    around = [fsum((weight * np.exp(-b * speed)).ravel()) for b in np.linspace(0, 18, 4001)]
    assert 0 <= rate <= 18 and fsum((weight * np.exp(-rate * speed)).ravel()) <= min(around) * (1 + 1e-12)


def test_where_no_answer_errs_no_score_moves_beyond_18():
    X, y = np.arange(12.0)[:, None], np.repeat([0, 1, 2], 4)
    model = BAdaCostClassifier(COST, n_estimators=3, max_depth=2, smoothing=0.0).fit(X, y)
    assert np.abs(model.model_.vectors).max() == pytest.approx(18.0)
    np.testing.assert_array_equal(model.predict(X), y)


# -- AdaBoost.MH -------------------------------------------------------------------------------------------------------
def ridges(C, y, w, H, smoothing):
    """Weight of a phantom row on either side: the share of what can still be lost in each label."""
    up, down = naive.label_weights(C, y, w)
    lost = up * np.exp(H) + down * np.exp(-H) - 2 * np.sqrt(up * down)
    return smoothing * np.array([fsum(lost[:, k]) for k in range(H.shape[1])])


@pytest.mark.parametrize("seed", slow_after(1, range(3)))
@pytest.mark.parametrize("response", ["real", "sign"])
@pytest.mark.parametrize("cost", [ZERO_ONE, COST, np.c_[COST, [1, 1, 2]]], ids=["0/1", "costs", "refer"])
@SMOOTHED
def test_adaboost_mh_equals_its_twin(cost, response, seed, smoothing, max_depth):
    X, y, w = problem(seed)
    model = AdaBoostMHClassifier(cost, response=response, n_estimators=3, max_depth=max_depth, smoothing=smoothing)
    model.fit(X, y, sample_weight=w)
    C, H = cost, np.zeros((60, cost.shape[1]))
    losses = [naive.label_loss(C, y, w, H)]
    for _, leaf, vectors in rounds(model, X):
        ridge = ridges(C, y, w, H, smoothing)
        sums = [naive.label_sums(C, y, w, H, leaf == number) for number in range(len(vectors))]
        if response == "real":
            expected = np.array([list(map(naive.half_log, right + ridge, wrong + ridge)) for right, wrong in sums])
        else:
            r = fsum(np.abs(right - wrong).sum() for right, wrong in sums)
            r /= fsum((right + wrong).sum() for right, wrong in sums) + 2 * fsum(ridge)
            expected = (
                0.5
                * np.log((1 + r) / (1 - r))
                * np.array([np.where(right > wrong + 1e-12, 1, -1) for right, wrong in sums])
            )
        np.testing.assert_allclose(vectors, expected, rtol=1e-7, atol=1e-9)
        H += expected[leaf]
        losses.append(naive.label_loss(C, y, w, H))
    assert model.n_iter_ == 3
    np.testing.assert_allclose(model.train_loss_, losses, rtol=1e-8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("response", ["real", "sign"])
def test_adaboost_mh_takes_the_best_stump(seed, response):
    """Least Z = 2 sum sqrt(W+ W-), or the largest r = sum |W+ - W-|."""
    X, y, w = problem(seed)
    model = AdaBoostMHClassifier(COST, response=response, n_estimators=5, smoothing=0.0).fit(X, y, sample_weight=w)

    def merit(rows):
        right, wrong = naive.label_sums(COST, y, w, np.zeros((60, 3)), rows)
        return fsum(np.abs(right - wrong) if response == "sign" else -2 * np.sqrt(right * wrong))

    tree, best = model.model_.learners[0], naive.best_stump(X, merit)[0]
    above = X[:, tree.feature[0]] > tree.threshold[0]
    found = merit(above) + merit(~above) if tree.depth else merit(above | True)
    assert found == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_real_adaboost_mh_of_stumps_is_rebels_constant_in_each_round(seed):
    X, y, w = problem(seed)
    one = AdaBoostMHClassifier(n_estimators=6, smoothing=0.0).fit(X, y, sample_weight=w)
    other = REBELClassifier(n_estimators=6, weak_learner="stump", fit_intercept="each round", smoothing=0.0).fit(
        X, y, sample_weight=w
    )
    for scores, expected in zip(one.staged_decision_function(X), other.staged_decision_function(X), strict=True):
        inner = np.abs(expected) < 9  # a pure side's score is 18 beyond where it began
        assert inner.mean() > 0.3
        np.testing.assert_allclose(scores[inner], expected[inner], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_discrete_adaboost_mh_of_two_classes_is_adaboost(seed):
    """Stumps whose sides answer by weighted majority: alpha = 1/2 ln((1 - e) / e), weights e^(-alpha y h)."""
    X, y, w = problem(seed)
    sign = np.where(y > 0, 1, -1)
    model = AdaBoostMHClassifier(response="sign", n_estimators=6, smoothing=0.0).fit(X, sign, sample_weight=w)
    D, F = w / fsum(w), np.zeros(60)
    for scores in model.staged_decision_function(X):
        _, _, _, above = naive.best_stump(X, lambda rows, D=D: abs(fsum(D[rows] * sign[rows])))
        h = np.where(above, np.sign(fsum(D[above] * sign[above])), np.sign(fsum(D[~above] * sign[~above])))
        error = fsum(D[h != sign])
        alpha = 0.5 * np.log((1 - error) / error)
        D = D * np.exp(-alpha * sign * h)
        D, F = D / fsum(D), F + alpha * h
        np.testing.assert_allclose(scores, 2 * F, rtol=1e-7, atol=1e-9)  # of two labels, each of which has F


# -- GentleBoost -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", slow_after(1, range(3)))
@pytest.mark.parametrize("cost", [ZERO_ONE, COST, np.c_[COST, [1, 1, 2]]], ids=["0/1", "costs", "refer"])
def test_gentle_boost_equals_its_twin(cost, seed):
    X, y, w = problem(seed)
    model = GentleBoostClassifier(cost, n_estimators=3, max_depth=2).fit(X, y, sample_weight=w)
    H = np.zeros((60, cost.shape[1]))
    losses = [naive.label_loss(cost, y, w, H)]
    for _, leaf, vectors in rounds(model, X):
        sums = [naive.label_sums(cost, y, w, H, leaf == number) for number in range(len(vectors))]
        expected = np.array([(right - wrong) / (right + wrong) for right, wrong in sums])
        np.testing.assert_allclose(vectors, expected, rtol=1e-7, atol=1e-9)
        H += expected[leaf]
        losses.append(naive.label_loss(cost, y, w, H))
    assert model.n_iter_ == 3
    np.testing.assert_allclose(model.train_loss_, losses, rtol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_gentle_boost_of_two_classes_is_algorithm_4(seed):
    """Stumps fitted to y by least squares with weights e^(-y F), every one of them found by trying all."""
    X, y, w = problem(seed)
    sign = np.where(y > 0, 1.0, -1.0)
    model = GentleBoostClassifier(n_estimators=6).fit(X, sign, sample_weight=w)
    D, F = w / fsum(w), np.zeros(60)
    for tree, scores in zip(model.model_.learners, model.staged_decision_function(X), strict=True):
        _, j, _, above = naive.best_stump(X, lambda rows, D=D: fsum(D[rows] * sign[rows]) ** 2 / fsum(D[rows]))
        f = np.where(above, *(fsum(D[side] * sign[side]) / fsum(D[side]) for side in (above, ~above)))
        D = D * np.exp(-sign * f)
        D, F = D / fsum(D), F + f
        assert tree.feature[0] == j
        np.testing.assert_allclose(scores, 2 * F, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_gentle_boost_of_margins_equals_its_twin(seed):
    """Each class's stump is the best fit to 1 / z with weights v z^2, all at the scores before the round."""
    X, y, w = problem(seed)
    model = GentleBoostClassifier(variant="margin", n_estimators=4).fit(X, y, sample_weight=w)
    G, losses = np.zeros((60, 3)), [1.0]
    learners = iter(model.model_.learners)
    for scores in model.staged_decision_function(X):
        f = G - G.mean(axis=1, keepdims=True)
        v = w * np.exp(-f[np.arange(60), y])
        for k in range(3):
            z = np.where(y == k, 1 - 1 / 3, -1 / 3)
            weight, target = v * z * z, 1 / z

            def merit(rows, weight=weight, target=target):
                return fsum(weight[rows] * target[rows]) ** 2 / fsum(weight[rows])

            tree = next(learners)
            best, _, _, above = naive.best_stump(X, merit)
            found = X[:, tree.feature[0]] > tree.threshold[0]
            assert merit(found) + merit(~found) == pytest.approx(best, rel=1e-6)
            for side in (found, ~found):
                G[side, k] += fsum(weight[side] * target[side]) / fsum(weight[side])
        np.testing.assert_allclose(scores, G, rtol=1e-7, atol=1e-9)
        f = G - G.mean(axis=1, keepdims=True)
        losses.append(fsum(w * np.exp(-f[np.arange(60), y])) / fsum(w))
    np.testing.assert_allclose(model.train_loss_, losses, rtol=1e-7)
    np.testing.assert_allclose(model.predict_proba(X), np.exp(G) / np.exp(G).sum(axis=1, keepdims=True), atol=1e-7)


@pytest.mark.parametrize("centred", [False, True])
def test_the_own_score_loss_has_the_slopes_that_differences_have(centred):
    """Gradient, Hessian, and value, slope and curvature along a line, against five-point differences."""
    rng = np.random.default_rng(0)
    y, w, S, d = (
        rng.integers(0, 4, 20).astype(np.int32),
        rng.uniform(0.5, 2, 20),
        rng.normal(size=(20, 4)),
        rng.normal(size=(20, 4)),
    )
    loss, costs = OwnScoreLoss(centred), RowCosts(1 - np.eye(4), y, w, y)

    def values(S):
        return w * np.exp(-(S[np.arange(20), y] - (S.mean(axis=1) if centred else 0.0)))

    def differences(direction):
        return five_points(lambda t: values(S + t * direction))

    columns, line = loss_columns(costs.read_only(), S), np.empty((3, 20))
    loss.gradients(columns, 0, 20)
    for k in range(4):
        _, first, second = differences(np.eye(4)[k])
        np.testing.assert_allclose(columns.gradient[:, k], -first, atol=1e-6)
        np.testing.assert_allclose(columns.hessian[:, k], second, atol=1e-6)
    loss.along(columns, Course(np.ones(20), d, 0.0, line), 0, 20)
    np.testing.assert_allclose(line, differences(d), rtol=1e-4, atol=1e-5)


# -- AdaBoost.ECC ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", slow_after(1, range(3)))
@pytest.mark.parametrize("cost", [ZERO_ONE, COST, np.c_[COST, [1, 1, 2]]], ids=["0/1", "costs", "refer"])
@SMOOTHED
def test_adaboost_ecc_equals_its_twin(cost, seed, smoothing, max_depth):
    """The colours are read off the vectors; then the numbers of the leaves and the first split are the formula's."""
    X, y, w = problem(seed)
    model = AdaBoostECCClassifier(cost, n_estimators=5, max_depth=max_depth, smoothing=smoothing, random_state=seed)
    model.fit(X, y, sample_weight=w)
    D = cost.shape[1]
    H, seen = np.zeros((60, D)), set()
    losses = [fsum(naive.pair_terms(cost, y, w, H).ravel()) / fsum(w)]
    for tree, leaf, vectors in rounds(model, X):
        sign = np.sign(vectors[np.argmax(np.abs(vectors[:, 0]))])
        expected, weight = naive.ecc_rates(cost, y, w, H, leaf, sign, smoothing)
        assert abs(sign.sum()) == D % 2  # halves
        seen.add(tuple(sign * sign[0]))
        np.testing.assert_allclose(vectors, 0.5 * np.outer(expected, sign), rtol=1e-6, atol=1e-9)
        up = np.where(sign[y] > 0, weight, 0.0)

        def merit(rows, up=up, weight=weight):
            return (2 * fsum(up[rows]) - fsum(weight[rows])) ** 2 / (fsum(weight[rows]) + 1e-300)

        above = X[:, tree.feature[0]] > tree.threshold[0]
        assert merit(above) + merit(~above) == pytest.approx(naive.best_stump(X, merit)[0], rel=1e-4)
        H += 0.5 * np.outer(expected, sign)[leaf]
        losses.append(fsum(naive.pair_terms(cost, y, w, H).ravel()) / fsum(w))
    assert model.n_iter_ == 5 and len(seen) > 1
    np.testing.assert_allclose(model.train_loss_, losses, rtol=1e-6)


@pytest.mark.parametrize("seed", slow_after(1, range(3)))
@pytest.mark.parametrize("cost", [ZERO_ONE, COST, np.c_[COST, [1, 1, 2]]], ids=["0/1", "costs", "refer"])
def test_the_largest_cut_parts_the_most_weight(cost, seed):
    """Beside sums of terms row by row, for every colouring."""
    X, y, w = problem(seed)
    model = AdaBoostECCClassifier(cost, n_estimators=6, colours="max-cut").fit(X, y, sample_weight=w)
    D, H = cost.shape[1], np.zeros((60, cost.shape[1]))
    for _, leaf, vectors in rounds(model, X):
        terms = naive.pair_terms(cost, y, w, H)
        cuts = {}
        for colours in itertools.product([-1, 1], repeat=D):
            cuts[colours] = fsum(fsum(terms[i, np.array(colours) != colours[y[i]]]) for i in range(60))
        sign = np.sign(vectors[np.argmax(np.abs(vectors[:, 0]))]).astype(int)
        assert cuts[tuple(sign.tolist())] == pytest.approx(max(cuts.values()), rel=1.1e-5)
        H += vectors[leaf]
    assert model.n_iter_ == 6


@pytest.mark.parametrize("D", [2, 3, 5, 9, 12, 14])
def test_cuts_of_graphs(D):
    """The largest one of a few decisions; of more one that no other colour of a decision makes larger, and mostly that."""
    rng = np.random.default_rng(D)
    every = exhaustive(D)
    for seed in range(5):
        graph = rng.exponential(size=(D, D))
        graph += graph.T
        np.fill_diagonal(graph, 0.0)

        def cut(colours, graph=graph):
            return graph[colours[:, None] != colours[None, :]].sum() / 2

        found, largest = max_cut(graph, seed), max(cut(colours) for colours in every.T)
        np.testing.assert_array_equal(found, max_cut(graph, seed))
        assert cut(found) >= largest * (1 - 1.1e-5 if D <= 12 else 0.98)
        for k in range(D):
            assert cut(np.where(np.arange(D) == k, -found, found)) <= cut(found) * (1 + 1.1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_adaboost_ecc_of_two_classes_is_real_adaboost(seed):
    """Stumps of Gini's impurity under weights e^(-y F), half the log of the odds on either side."""
    X, y, w = problem(seed)
    y = (y > 0).astype(int)
    model = AdaBoostECCClassifier(n_estimators=6, smoothing=1e-3, random_state=seed).fit(X, y, sample_weight=w)
    sign, F = 2 * y - 1, np.zeros(60)
    for scores in model.staged_decision_function(X):
        D = w * np.exp(-sign * F)
        above = naive.best_stump(X, naive.gini(y, D, 2))[3]
        more = 1e-3 * fsum(D)
        for side in (above, ~above):
            F[side] += 0.5 * np.log((fsum(D[side & (y == 1)]) + more) / (fsum(D[side & (y == 0)]) + more))
        np.testing.assert_allclose(scores, F, rtol=1e-6, atol=1e-8)


# -- AOSO-LogitBoost ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", slow_after(1, range(4)))
@pytest.mark.parametrize("cost", [ZERO_ONE, COST, np.c_[COST, [1, 1, 2]]], ids=["0/1", "costs", "refer"])
@SMOOTHED
def test_aoso_logitboost_equals_its_twin(cost, seed, smoothing, max_depth):
    """Every inner node is split best along its own pair, and every leaf steps along its own."""
    X, y, w = problem(seed)
    model = AOSOLogitBoostClassifier(cost, n_estimators=4, max_depth=max_depth, learning_rate=0.5, smoothing=smoothing)
    model.fit(X, y, sample_weight=w)
    w = w / w.mean()
    H, first, losses = np.zeros((60, cost.shape[1])), 0, []
    seen = set()
    for tree in model.model_.learners:
        p = naive.softmax_with_costs(cost, y, H)
        losses.append(-fsum(w * np.log(p[np.arange(60), y])) / 60)
        hessian = p * (1 - p)
        ridge = smoothing * np.mean([fsum(w * hessian[:, k]) for k in range(H.shape[1])])
        moved, waiting = H.copy(), [(0, np.ones(60, dtype=bool))]
        while waiting:
            node, rows = waiting.pop()
            r, s, u, rho = naive.aoso_node(p, y, w, rows, ridge)
            if tree.left[node] == node:
                t = np.clip(fsum(u[rows]) / (fsum(rho[rows]) + ridge), -4, 4)
                expected = 0.5 * t * (np.eye(H.shape[1])[r] - np.eye(H.shape[1])[s])
                np.testing.assert_allclose(
                    model.model_.vectors[first + tree.vector[node]], expected, rtol=1e-6, atol=1e-9
                )
                moved[rows] += expected
                seen.add((r, s))
                continue
            above = rows & (X[:, tree.feature[node]] > tree.threshold[node])
            sides = [(rows & ~above), above]

            def merit(part, rows=rows, u=u, rho=rho, ridge=ridge):
                part = part & rows
                return fsum(u[part]) ** 2 / (fsum(rho[part]) + ridge)

            best = naive.best_stump(X, merit)[0]
            assert sum(map(merit, sides)) == pytest.approx(best, rel=1e-5)
            waiting += [(tree.left[node], sides[0]), (tree.left[node] + 1, sides[1])]
        H, first = moved, first + tree.n_vectors
    assert model.n_iter_ == 4 and len(seen) > 1
    np.testing.assert_allclose(model.train_loss_[:4], losses, rtol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_aoso_logitboost_of_two_classes_is_logitboost(seed):
    """The log-odds move by sum (y - p) / sum p (1 - p) of the side, as for the working response of Friedman et al."""
    X, y, w = problem(seed)
    y = (y > 0).astype(int)
    model = AOSOLogitBoostClassifier(n_estimators=5, max_depth=1, learning_rate=1.0, smoothing=0.0)
    odds = np.zeros(60)
    for scores in model.fit(X, y, sample_weight=w).staged_decision_function(X):
        p = 1 / (1 + np.exp(-odds))
        v = w * p * (1 - p)

        def merit(rows, p=p, v=v):
            return fsum(w[rows] * (y[rows] - p[rows])) ** 2 / fsum(v[rows])

        above = naive.best_stump(X, merit)[3]
        for side in (above, ~above):
            odds[side] += fsum(w[side] * (y[side] - p[side])) / fsum(v[side])
        np.testing.assert_allclose(scores, odds, rtol=1e-6, atol=1e-8)


# -- GradBoost ---------------------------------------------------------------------------------------------------------
def gradients(X, y, w, cost, H, responses):
    """Slopes of the summed loss along each response, (T, K)."""
    p = naive.softmax_with_costs(cost, y, H)
    gradient = w[:, None] * ((y[:, None] == np.arange(p.shape[1])) - p)
    return np.array([[-fsum(f * gradient[:, k]) for k in range(p.shape[1])] for f in responses])


ORDERS = {"l2": (2, 2), "linf": (np.inf, 1)}  # of the penalty's norm and of its dual


def largest_cut(u, radius):
    """The point of the least radius |v|_inf + |v - u|^2 / 2, by the root of what is cut off less the radius."""
    if np.abs(u).sum() <= radius:
        return np.zeros_like(u)
    height = brentq(lambda h: fsum(np.maximum(np.abs(u) - h, 0.0)) - radius, 0.0, np.abs(u).max(), xtol=1e-15)
    return np.sign(u) * np.minimum(np.abs(u), height)


@pytest.mark.parametrize("seed", slow_after(1, range(3)))
@pytest.mark.parametrize("norm", ORDERS)
@pytest.mark.parametrize("cost", [ZERO_ONE, COST, np.c_[COST, [1, 1, 2]]], ids=["0/1", "costs", "refer"])
def test_gradboost_equals_its_twin(cost, norm, seed):
    """The stump of the longest slopes, its step under the bound, and the step of all that are not 0 together."""
    X, y, w = problem(seed)
    nu, D, W = 0.02, cost.shape[1], fsum(w)
    order, dual = ORDERS[norm]
    model = GradBoostClassifier(cost, nu=nu, norm=norm, n_estimators=8).fit(X, y, sample_weight=w)
    every = {(j, t): np.where(above, 1.0, -1.0) for j, t, above in naive.stumps(X)}
    responses, V, H = [], np.zeros((0, D)), np.zeros((60, D))
    objectives, losses = [], []

    def shrink(v, g, c):
        u = v - g / c
        return largest_cut(u, nu * W / c) if norm == "linf" else max(0.0, 1 - nu * W / (c * np.linalg.norm(u))) * u

    for round_ in range(9):
        p = naive.softmax_with_costs(cost, y, H)
        losses.append(-fsum(w * np.log(p[np.arange(60), y])) / W)
        objectives.append(losses[-1] + nu * fsum(np.linalg.norm(v, order) for v in V))
        if round_ == 8:
            break
        lengths = {s: np.linalg.norm(gradients(X, y, w, cost, H, [f])[0], dual) for s, f in every.items()}
        tree = model.model_.learners[round_]
        best = max(lengths.values())
        f = answers(tree, X)
        assert np.linalg.norm(gradients(X, y, w, cost, H, [f])[0], dual) == pytest.approx(best, rel=1e-9)
        assert best > nu * W
        responses.append(f)
        V = np.vstack([V, np.zeros(D)])
        same = next(i for i, other in enumerate(responses) if abs(other @ f) == 60)
        slope = gradients(X, y, w, cost, H, [responses[same]])[0]
        V[same] = shrink(V[same], slope, W / 2)
        H = np.array(responses).T @ V
        slopes = gradients(X, y, w, cost, H, responses)
        alive = [i for i in range(len(V)) if V[i].any()]
        V[alive] = [shrink(V[i], slopes[i], len(alive) * W / 2) for i in alive] or np.zeros((0, D))
        H = np.array(responses).T @ V
    np.testing.assert_allclose(model.model_.vectors, V, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.train_loss_, losses, rtol=1e-8)
    assert np.all(np.diff(objectives) < 0)


@pytest.mark.parametrize("norm", ORDERS)
def test_gradboost_ends_at_the_minimum_of_its_objective(norm):
    """Two features of few values: slopes are at most nu, and nu against a vector that is not 0; SLSQP is no lower."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (200, 2)).astype(float), rng.integers(0, 3, 200)
    y = np.where(rng.random(200) < 0.6, X[:, 0].astype(int), y)
    nu, (order, dual) = 0.1, ORDERS[norm]
    model = GradBoostClassifier(nu=nu, norm=norm, n_estimators=3000, tol=1e-9).fit(X, y)
    assert model.n_iter_ < 3000
    totals = {}
    for tree, vector in zip(model.model_.learners, model.model_.vectors, strict=True):
        key = tree.feature[0], tree.threshold[0]
        totals[key] = totals.get(key, 0.0) + tree.value[2] * vector
    stumps = list(naive.stumps(X))
    F = np.array([np.where(above, 1.0, -1.0) for _, _, above in stumps])
    V = np.array([totals.get((j, t), np.zeros(3)) for j, t, _ in stumps])

    def loss(V):
        H = F.T @ V
        return np.mean(logsumexp(H, axis=1) - H[np.arange(200), y])

    slopes = gradients(X, y, np.ones(200), ZERO_ONE, F.T @ V, F) / 200
    sizes = np.linalg.norm(V, order, axis=1)
    assert (sizes == 0).any() and (sizes > 0.1).any()
    assert np.all(np.linalg.norm(slopes, dual, axis=1) <= nu * (1 + 1e-3))
    np.testing.assert_allclose((slopes * V).sum(axis=1), -nu * sizes, atol=1e-5)

    def parts(z):
        return z[: V.size].reshape(V.shape), z[V.size :]  # vectors, and what their norms are at most

    def room(z):
        W, most = parts(z)
        if norm == "l2":
            return most**2 - np.square(W).sum(axis=1)
        return np.concatenate([most[:, None] - W, most[:, None] + W]).ravel()

    found = minimize(
        lambda z: loss(parts(z)[0]) + nu * parts(z)[1].sum(),
        np.r_[np.zeros(V.size), np.ones(len(V))],
        method="SLSQP",
        bounds=[(None, None)] * V.size + [(0, None)] * len(V),
        constraints={"type": "ineq", "fun": room},
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    assert loss(V) + nu * sizes.sum() == pytest.approx(found.fun, abs=1e-6)


@pytest.mark.parametrize("norm", ORDERS)
def test_gradboost_with_a_dear_penalty_learns_nothing(norm):
    X, y, _ = problem(0)
    assert GradBoostClassifier(nu=10.0, norm=norm).fit(X, y).n_iter_ == 0


# -- all ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("model", "message"),
    [
        (AdaBoostMOClassifier(), "takes no other decision"),
        (PIBoostClassifier(), "takes no other decision"),
        (BAdaCostClassifier(), "margin vector for each class"),
        (MCBoostClassifier(loss="mc"), "would never take another decision"),
        (StagewiseMCBoostClassifier(), "would never take a decision that is no class, as -1"),
        (MultiBoostClassifier(loss="logistic"), "would never take a decision that is no class, as -1"),
        (StructBoostClassifier(), "StructBoostClassifier wants the true class's score above"),
    ],
)
def test_a_decision_that_is_no_class_is_refused(model, message):
    X, y, _ = problem(0)
    with pytest.raises(ValueError, match=message):
        model.set_params(cost=np.c_[COST, [1, 1, 1]]).fit(X, y)


@pytest.mark.parametrize("kind", [kind for kind in ALGORITHMS if "max_depth" in kind._rules])
def test_costs_are_learnt(kind):
    """Two features of wine tell too little: the class whose mistakes are dear is missed less often."""
    X, y = load_wine(return_X_y=True)
    dear = np.array([[0, 1, 1], [1, 0, 1], [30, 30, 0.0]])
    models = [kind(cost, n_estimators=10, max_depth=1, random_state=0) for cost in (None, dear)]
    decided = [model.fit(X[::2, :2], y[::2]).predict(X[1::2, :2]) for model in models]
    blind, aware = (np.sum((y[1::2] == 2) & (decision != 2)) for decision in decided)
    assert aware <= blind
