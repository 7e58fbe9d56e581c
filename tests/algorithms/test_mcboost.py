"""MCBoost against its slow twin, AdaBoost and numerical minimisation; posteriors, decisions, learners, files."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

import minrisk
from minrisk import MCBoostClassifier
from minrisk._utils.workers import Workers
from minrisk.boosting.loop import boost
from minrisk.data.binning import fit_binner
from minrisk.losses.codes import simplex_codewords
from minrisk.rows.directed import DirectedRows
from tests.helpers import naive_mcboost as twin
from tests.helpers.common import COST, in_units, make_costs, slow_after

LOSSES = ("gll", "gel", "mc", "ls", "lt")


def problem(seed, K=None):
    rng = np.random.default_rng(seed)
    K = K or int(rng.integers(2, 5))
    n, d = int(rng.integers(30, 61)), int(rng.integers(3, 6))  # one feature is converged after five rounds
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2, size=d) + rng.normal(size=d)
    score = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.normal(size=(d, K)) + rng.gumbel(size=(n, K))
    y = score.argmax(axis=1)
    y[rng.permutation(n)[: 2 * K]] = np.tile(np.arange(K), 2)
    cost = rng.uniform(0.2, 5.0, (K, K)) * (1 - np.eye(K))
    weights = rng.uniform(0.5, 2.0, n)
    return X, y, cost, weights, rng


@pytest.mark.parametrize("K", [2, 3, 4, 10])
def test_codewords_are_a_simplex(K):
    Y = simplex_codewords(K)
    np.testing.assert_allclose(Y, twin.codewords(K), atol=1e-14)
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(Y @ Y.T, (K * np.eye(K) - 1) / (K - 1), atol=1e-14)


@pytest.mark.parametrize("seed", slow_after(8, range(20)))
@pytest.mark.parametrize("loss", LOSSES)
def test_equals_the_twin(loss, seed):
    X, y, cost, weights, rng = problem(seed)
    per_row = seed % 4 == 3
    rows = cost[y] * rng.uniform(0.5, 2.0, (len(y), 1)) if per_row else cost[y]
    weighting = ("curvature", "uniform", "slope")[seed % 3]
    gradient = seed % 5 == 4
    terms, losses = twin.mcboost(X, rows, y, weights, loss, 5, weighting, gradient)
    model = MCBoostClassifier(
        None if per_row else cost,
        loss=loss,
        n_estimators=5,
        weighting=weighting,
        descent="gradient" if gradient else "coordinate",
    ).fit(X, y, sample_weight=weights, cost=rows if per_row else None)
    np.testing.assert_allclose(model.train_loss_, losses, rtol=1e-8)
    new = X[rng.integers(len(X), size=30)] + rng.normal(size=(30, X.shape[1])) * 0.1
    expected = twin.predicted_scores(terms, new, cost.shape[1])
    np.testing.assert_allclose(model.model_.scores(new), expected, atol=1e-8 * np.abs(expected).max())
    features = [int(tree.feature[0]) for tree in model.model_.learners]
    assert features == [term[0] for term in terms]


@pytest.mark.parametrize("seed", slow_after(4, range(10)))
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weak_learner", ["linear", "tree"])
def test_a_coordinate_step_is_the_numerical_minimum(loss, seed, weak_learner):
    """Along what the first learner answers, the loss of the paper is least at the step taken."""
    X, y, cost, weights, _ = problem(seed, 3)
    cost = in_units(cost)
    model = MCBoostClassifier(cost, loss=loss, n_estimators=1, weak_learner=weak_learner, max_depth=2)
    model.fit(X, y, sample_weight=weights)
    first = model.model_
    one = np.zeros((len(X), 3))
    first.packed.add_scores(X, first.vectors, 0, 1, 0, len(X), one)  # alpha g(x) 1/2 y^1

    def mean_loss(t):
        return (
            sum(w * twin.row_loss(loss, cost[k], k, t * s) for w, k, s in zip(weights, y, one, strict=True))
            / weights.sum()
        )

    found = minimize_scalar(mean_loss, bracket=(0.9, 1.0, 1.1), options={"xtol": 1e-12})
    assert mean_loss(1.0) <= found.fun * (1 + 1e-12)
    step = twin.exact_step(loss, cost[y], y, np.zeros((len(X), 3)), one, weights)  # a root of the slope, bracketed
    assert step == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_two_classes_are_adaboost_with_the_same_learner(seed):
    """GEL, 0/1 costs, K = 2: weights e^-yF, g fitted to y with them, the exact step: S_1 - S_0 = F."""
    X, y, _, weights, _ = problem(seed, 2)
    sign = 2.0 * y - 1.0
    F, stages = np.zeros(len(y)), []
    for _ in range(10):
        w = weights * np.exp(-sign * F)
        j, a, b = twin.regressor(X, sign, w)
        g = a * X[:, j] + b
        step = minimize_scalar(
            lambda t, F=F, g=g: np.log(np.sum(weights * np.exp(-sign * (F + t * g)))),
            bracket=(0, 1),
            options={"xtol": 1e-12},
        ).x
        F = F + step * g
        stages.append(F)
    model = MCBoostClassifier(loss="gel", n_estimators=10, weighting="slope").fit(X, y, sample_weight=weights)
    for stage, F in zip(model.staged_decision_function(X), stages, strict=True):
        np.testing.assert_allclose(stage, F, atol=1e-6 * np.abs(F).max())


# -- decisions and probabilities -------------------------------------------------------------------------------------
SYMMETRIC = np.array([[0, 1, 4], [1, 0, 2], [4, 2, 0.0]])


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def test_posteriors_and_bayes_decisions(wine):
    X, y = wine
    model = MCBoostClassifier(COST, loss="mc", decision="bayes", n_estimators=5).fit(X, y)
    S = model.model_.scores(X)
    p = np.exp(2 * S) / np.exp(2 * S).sum(axis=1, keepdims=True)  # (33), <y_j, f> = 2 S_j
    np.testing.assert_allclose(model.predict_proba(X), p, rtol=1e-10)
    np.testing.assert_array_equal(model.predict(X), (p @ COST).argmin(axis=1))  # (3)
    shift = -np.log(p @ COST) - model.decision_function(X)  # up to a constant
    np.testing.assert_allclose(shift, shift[0, 0], atol=1e-9)
    plain = MCBoostClassifier(COST, loss="mc", n_estimators=5).fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(X), S)
    np.testing.assert_array_equal(plain.predict(X), S.argmax(axis=1))
    refer = np.column_stack([COST, np.full(3, 0.1)])
    unsure = MCBoostClassifier(refer, loss="mc", decision="bayes", n_estimators=2).fit(X, y)
    assert unsure.decision_function(X).shape == (len(y), 4) and -1 in set(unsure.predict(X).tolist())
    assert unsure.train_risk_[0] == pytest.approx(np.mean(y != 0))  # of 0/1 costs


def test_which_losses_give_probabilities(wine):
    X, y = wine
    for loss, cost, given in (
        ("gll", None, True),
        ("gel", SYMMETRIC, True),
        ("mc", COST, True),
        ("gll", COST, False),
        ("gel", COST, False),
        ("ls", None, False),
        ("lt", None, False),
    ):
        model = MCBoostClassifier(cost, loss=loss, n_estimators=2).fit(X, y)
        assert hasattr(model, "predict_proba") == given
        if not given:
            with pytest.raises(ValueError, match="decision='bayes' needs probabilities and a cost matrix"):
                model.set_params(decision="bayes").fit(X, y)
    with pytest.raises(ValueError, match="with these costs does not give"):
        MCBoostClassifier(loss="mc", decision="bayes").fit(X, y, cost=COST[y])


@pytest.mark.parametrize(("loss", "gamma"), [("gll", "log"), ("gel", "identity")])
def test_the_family_has_the_losses_of_its_members_in_any_scale_of_costs(loss, gamma, wine):
    scale = {} if loss == "gel" else {"cost_scale": 2.5}
    own = MCBoostClassifier(COST, loss=loss, n_estimators=3, **scale).fit(*wine)
    of_family = MCBoostClassifier(
        COST, loss="gamma-phi", gamma=gamma, phi="exponential", n_estimators=3, cost_scale=2.5
    )
    np.testing.assert_allclose(of_family.fit(*wine).train_loss_, own.train_loss_, rtol=1e-9)


def test_blocks_of_rows_do_not_matter():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 3, 300)
    X[:, 0] += y
    made = []
    for blocks in ((), (1, 50, 173)):
        binner = fit_binner(X)
        costs = make_costs(COST, y, rng.uniform(0.5, 2, 300) if not made else made[0][2])
        rows = DirectedRows(X, binner.transform(X), binner.n_bins, costs, Workers(2), blocks)
        recipe = MCBoostClassifier(loss="gll")
        recipe.cost_, recipe.classes_, recipe.decisions_ = COST, np.arange(3), np.arange(3)
        progress = boost(rows, recipe._recipe(costs.facts(), binner.thresholds), 5, 0)
        made.append((progress, rows.scores, costs.weight))
    for a, b in zip(made[0][0].vectors, made[1][0].vectors, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(made[0][1], made[1][1])


def test_degenerate_data():
    constant = MCBoostClassifier(n_estimators=5).fit(np.ones((5, 2)), [0, 1, 1, 1, 0])
    assert list(constant.predict(np.zeros((2, 2)))) == [1, 1]  # g = b alone
    perfect = MCBoostClassifier(n_estimators=50, loss="gel").fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert np.all(np.isfinite(perfect.decision_function([[-1e3], [1e3]])))
    huge = MCBoostClassifier(n_estimators=5).fit(np.array([[1e300, 0], [-1e300, 1], [0, 2], [1e300, 3]]), [0, 0, 1, 1])
    assert np.all(np.isfinite(huge.decision_function([[0.0, 1.0]])))


# -- regressors that are plugged in --------------------------------------------------------------------------------------
def test_plugged_regressors(wine, tmp_path):
    X, y = wine
    for weighting, regressor in (("uniform", KNeighborsRegressor()), ("curvature", DecisionTreeRegressor(max_depth=2))):
        model = MCBoostClassifier(COST, estimator=regressor, weighting=weighting, n_estimators=4, random_state=0).fit(
            X, y
        )
        assert model.score(X, y) > 0.5 and len(model.model_) == 4
        np.testing.assert_allclose(list(model.staged_decision_function(X))[-1], model.decision_function(X))
        with pytest.raises(TypeError, match="cannot be saved, since model files hold no code"):
            minrisk.save(model, tmp_path / "model")
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    half = clone(model).set_params(n_estimators=2, warm_start=True).fit(X, y).set_params(n_estimators=4).fit(X, y)
    np.testing.assert_allclose(half.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="KNeighborsRegressor does not take sample_weight, .* weighting='uniform'"):
        MCBoostClassifier(estimator=KNeighborsRegressor()).fit(X, y)
    with pytest.raises(ValueError, match="estimator must be a scikit-learn regressor or None"):
        MCBoostClassifier(estimator=KNeighborsRegressor).fit(X, y)
