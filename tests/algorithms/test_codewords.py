"""MCBoost's gradient descent with trees of codewords, and gamma-phi losses chosen by name or by function."""

import math

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_wine

import minrisk
from minrisk import MCBoostClassifier
from minrisk.losses.gamma_phi import GAMMAS, PHIS, check_gamma_phi
from tests.algorithms.test_mcboost import problem
from tests.helpers import naive_mcboost as twin
from tests.helpers.common import COST, in_units
from tests.helpers.walks import leaves

LOSSES = ("gll", "gel", "mc", "ls", "lt")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("loss", LOSSES)
def test_codewords_and_steps_equal_the_twin(loss, seed):
    X, y, cost, weights, _ = problem(seed)
    cost = in_units(cost)
    options = {"weak_learner": "tree", "max_depth": 2} if seed % 2 else {"weak_learner": "stump"}
    model = MCBoostClassifier(cost, loss=loss, descent="codewords", n_estimators=4, learning_rate=0.8, **options)
    model.fit(X, y, sample_weight=weights)
    K, S, first = len(cost), np.zeros((len(X), len(cost))), 0
    along = 0.5 * twin.codewords(K) @ twin.codewords(K).T
    assert 2 <= model.n_iter_ <= 4 and model.model_.trees_per_round == 1
    for t, tree in enumerate(model.model_.learners):
        leaf = leaves(tree, X)
        chosen, alpha = twin.codeword_round(loss, cost[y], y, weights, S, leaf)
        vectors = 0.8 * alpha * along[chosen]
        np.testing.assert_allclose(model.model_.vectors[first : first + len(chosen)], vectors, rtol=1e-6, atol=1e-9)
        S, first = S + vectors[leaf], first + len(chosen)
        mean = (
            sum(w * twin.row_loss(loss, cost[k], k, s) for w, k, s in zip(weights, y, S, strict=True)) / weights.sum()
        )
        assert model.train_loss_[t + 1] == pytest.approx(mean, rel=1e-8)
    assert np.all(np.diff(model.train_loss_) < 0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loss", LOSSES)
def test_the_first_stump_is_the_steepest(loss, seed):
    """Of sum_n <1/2 Y y_g(n), -dL/dS_n> over all cuts and all pairs of codewords."""
    X, y, cost, weights, _ = problem(seed, 3)
    cost = in_units(cost)
    model = MCBoostClassifier(cost, loss=loss, descent="codewords", weak_learner="stump", n_estimators=1)
    tree = model.fit(X, y, sample_weight=weights).model_.learners[0]
    along = 0.5 * twin.codewords(3) @ twin.codewords(3).T
    falls = -np.array(
        [
            [w * twin.row_derivatives(loss, cost[k], k, np.zeros(3), e)[0] for e in along]
            for w, k in zip(weights, y, strict=True)
        ]
    )

    def steepest(feature, threshold):
        above = X[:, feature] > threshold
        return falls[above].sum(axis=0).max() + falls[~above].sum(axis=0).max()

    best = max(steepest(j, cut) for j in range(X.shape[1]) for cut in np.sort(X[:, j])[:-1])
    assert steepest(tree.feature[0], tree.threshold[0]) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_two_classes_and_codewords_are_adaboost_on_its_stumps(seed):
    """GEL, 0/1 costs, K = 2: codewords are -1 and +1, so the step is AdaBoost's 1/2 ln((1 - e) / e) of the leaves' signs."""
    X, y, _, weights, _ = problem(seed, 2)
    sign, F = 2.0 * y - 1.0, np.zeros(len(y))
    model = MCBoostClassifier(loss="gel", descent="codewords", weak_learner="stump", n_estimators=6)
    model.fit(X, y, sample_weight=weights)
    for tree, stage in zip(model.model_.learners, model.staged_decision_function(X), strict=True):
        leaf, w = leaves(tree, X), weights * np.exp(-sign * F)
        g = np.array([np.sign(np.sum(w[leaf == side] * sign[leaf == side])) for side in range(2)])[leaf]
        error = w[g != sign].sum() / w.sum()
        F = F + 0.5 * np.log((1 - error) / error) * g
        np.testing.assert_allclose(stage, F, rtol=1e-7, atol=1e-9)


def test_what_codewords_need():
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ValueError, match="descent='codewords' needs learners whose leaves are classes"):
        MCBoostClassifier(descent="codewords").fit(X, y)


# -- gamma and phi -----------------------------------------------------------------------------------------------------
GAMMA = {"identity": lambda v: v, "log": np.log1p}
PHI = {
    "exponential": lambda v: np.exp(-v),
    "logistic": lambda v: np.logaddexp(0, -v),
    "squared hinge": lambda v: np.maximum(1 - v, 0) ** 2,
    "squared": lambda v: (1 - v) ** 2,
}


@pytest.mark.parametrize("gamma", GAMMA)
@pytest.mark.parametrize("phi", PHI)
@pytest.mark.parametrize("weak_learner", ["linear", "tree"])
def test_the_loss_is_that_of_eq_15_and_steps_are_minima(gamma, phi, weak_learner):
    X, y, cost, weights, _ = problem(3, 3)
    cost = in_units(cost)
    model = MCBoostClassifier(
        cost, loss="gamma-phi", gamma=gamma, phi=phi, n_estimators=3, weak_learner=weak_learner, weighting="uniform"
    ).fit(X, y, sample_weight=weights)

    def mean_loss(S):
        v = S[np.arange(len(y)), y][:, None] - S
        terms = cost[y] * PHI[phi](v)
        terms[np.arange(len(y)), y] = 0.0
        return np.average(GAMMA[gamma](terms.sum(axis=1)), weights=weights)

    stages = [np.zeros((len(X), 3)), *model.model_.staged_scores(X)]
    np.testing.assert_allclose(model.train_loss_, [mean_loss(S) for S in stages], rtol=1e-9)
    first = np.zeros((len(X), 3))
    model.model_.packed.add_scores(X, model.model_.vectors, 0, 1, 0, len(X), first)
    at = [mean_loss(t * first) for t in (0.98, 1.0, 1.02)]
    assert at[1] <= min(at)
    assert np.all(np.diff(model.train_loss_) < 0)


@pytest.mark.parametrize(("gamma", "named"), [("log", "gll"), ("identity", "gel")])
def test_of_the_exponential_they_are_gll_and_gel(gamma, named):
    X, y = load_wine(return_X_y=True)
    one = MCBoostClassifier(COST, loss="gamma-phi", gamma=gamma, phi="exponential", n_estimators=5).fit(X, y)
    other = MCBoostClassifier(COST, loss=named, n_estimators=5).fit(X, y)
    np.testing.assert_allclose(one.model_.scores(X), other.model_.scores(X), rtol=1e-6, atol=1e-9)


def falling(v):
    return np.exp(-v)


def slope(v):
    return -np.exp(-v)


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"phi": (math.exp,) * 3}, "phi: .* must take an array"),
        ({"phi": (lambda v: falling(v)[:2], slope, falling)}, "phi: .* must take an array"),
        ({"phi": (falling,) * 3}, "phi' must be the slope of phi"),
        ({"phi": (falling, slope, slope)}, "phi'' must be the slope of phi'"),
        ({"phi": (np.exp,) * 3}, "phi must fall at 0"),
        ({"phi": (np.log, np.reciprocal, np.square)}, "must be finite"),
        ({"gamma": (np.sqrt,) * 3}, "gamma' must be the slope of gamma"),
        ({"gamma": (lambda v: -v, lambda v: -np.ones_like(v), np.zeros_like)}, "gamma must rise"),
    ],
)
def test_functions_that_are_no_loss_are_refused(functions, message):
    with pytest.raises(ValueError, match=message):
        MCBoostClassifier(loss="gamma-phi", **functions, n_estimators=1).fit([[0.0], [1.0]], [0, 1])


def test_known_functions_pass_as_ones_own():
    for gamma in GAMMAS.values():
        for phi in PHIS.values():
            check_gamma_phi(gamma, phi)
    check_gamma_phi((np.sqrt, lambda v: 0.5 / np.sqrt(v), lambda v: -0.25 * v**-1.5), "logistic")


def decay(v):
    return np.logaddexp(0.0, -v)


def decay_slope(v):
    return -expit(-v)


def decay_curvature(v):
    return expit(v) * expit(-v)


def test_functions_of_ones_own(tmp_path):
    X, y = load_wine(return_X_y=True)
    own = (decay, decay_slope, decay_curvature)
    model = MCBoostClassifier(COST, loss="gamma-phi", phi=own, n_estimators=4)
    named = MCBoostClassifier(COST, loss="gamma-phi", phi="logistic", n_estimators=4).fit(X, y)
    found = clone(model).fit(X, y).decision_function(X)  # which NumPy's exponentials have made
    np.testing.assert_allclose(found, named.decision_function(X), rtol=1e-9, atol=1e-12)
    with pytest.raises(TypeError, match="functions for phi cannot be saved, since model files hold no code"):
        minrisk.save(model.fit(X, y), tmp_path / "model")
    assert not hasattr(named, "predict_proba")
    for bad in ("hinge", own[:2], own[0]):
        with pytest.raises(ValueError, match="phi must be one of 'exponential'.*three functions"):
            MCBoostClassifier(loss="gamma-phi", phi=bad).fit(X, y)
