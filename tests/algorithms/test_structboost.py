"""StructBoost: the linear program of all its constraints, what it reduces to, its cutting planes, stages and warm starts."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

import minrisk
from minrisk import StructBoostClassifier
from minrisk.steps.cutting_planes import Bundle, Plane
from tests.helpers.common import crossed, slow_after
from tests.helpers.walks import answers


def few(seed, n=40, K=3):
    """Overlapping classes with costs and weights of which none says all."""
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(K), rng.integers(0, K, n - K)]
    X = np.round(rng.normal(size=(n, 2)) + y[:, None] * [1.0, -0.5], 1)
    cost = rng.integers(1, 6, (K, K)) * (1.0 - np.eye(K))
    cost[0, 1] = 1.0  # the unit
    return X, y, cost, rng.uniform(0.5, 2.0, n)


def all_stumps(X):
    """Responses of every stump of either polarity, (n, M)."""
    found = set()
    for j in range(X.shape[1]):
        for value in np.unique(X[:, j])[:-1]:
            above = np.where(X[:, j] > value, 1, -1)
            found |= {tuple(above), tuple(-above)}
    return np.array(sorted(found), dtype=np.float64).T


def slacks(margin_costs, y, scores):
    """max over k of c_k + H_k - H_y, row by row."""
    out = []
    for costs, label, h in zip(margin_costs, y, scores, strict=True):
        out.append(max((costs[k] if k != label else 0.0) + h[k] - h[label] for k in range(len(h))))
    return np.array(out)


def least_objective(F, margin_costs, y, weights, nu):
    """The linear program with a slack for each row and a constraint for each row and wrong class, all learners in it."""
    (n, M), K = F.shape, margin_costs.shape[1]
    rows, offsets = [], []
    for i, k in itertools.product(range(n), range(K)):
        if k != y[i]:
            difference = np.zeros((M, K))  # Psi(x_i, y_i) - Psi(x_i, k)
            difference[:, y[i]] += F[i]
            difference[:, k] -= F[i]
            slack = np.zeros(n)
            slack[i] = 1.0
            rows.append(np.r_[difference.ravel(), slack])
            offsets.append(margin_costs[i, k])
    price = np.r_[np.full(M * K, nu), weights / weights.sum()]
    solution = linprog(price, A_ub=-np.array(rows), b_ub=-np.array(offsets), bounds=(0, None), method="highs")
    assert solution.status == 0
    return solution.fun


def objective(model, X, y, margin_costs, weights):
    scores = model.model_.scores(X)
    W = np.asarray(model.model_.vectors)
    return model.nu * W.sum() + np.average(slacks(margin_costs, y, scores), weights=weights)


def gap(model):
    """Share of the objective that may be too much; the certificate's bound is the objective."""
    return 1.0 - model.certificate_.value / model.certificate_.bound


AS_IN_THE_PAPER = {"tol": 1e-7, "solver_iterations": 100}
EXACT = {"n_estimators": 400, **AS_IN_THE_PAPER}
TAXONOMY = np.array([[0.0, 1, 2, 2], [1, 0, 2, 2], [2, 2, 0, 1], [2, 2, 1, 0]])  # two groups of two classes


@pytest.mark.filterwarnings("ignore:StructBoostClassifier has made all")
@pytest.mark.parametrize("seed", slow_after(2, range(4)))
@pytest.mark.parametrize("cost", [1.0 - np.eye(4), TAXONOMY], ids=["equal", "taxonomy"])
def test_rounds_are_those_of_the_paper(cost, seed):
    """After each of them all vectors solve the linear program of the learners so far."""
    X, y, _, _ = few(seed, 60, 4)
    model = StructBoostClassifier(cost, nu=0.01, n_estimators=10, keep_stages=True, **AS_IN_THE_PAPER).fit(X, y)
    F = np.array([answers(one, X) for one in model.model_.learners]).T
    for t in range(1, 11):
        stage, least = model.model_[:t], least_objective(F[:, :t], cost[y], y, np.ones(len(y)), 0.01)
        found = 0.01 * np.asarray(stage.vectors).sum() + slacks(cost[y], y, stage.scores(X)).mean()
        assert found == pytest.approx(least, rel=1e-6)
    assert least < 0.9 * cost[y].max(axis=1).mean()  # which no learner at all would lose


@pytest.mark.parametrize(("costs", "nu", "seed"), crossed(["by row", "equal", "table"], [0.02, 0.1], range(2)))
def test_the_objective_is_that_of_the_linear_program_of_all_constraints(seed, nu, costs):
    X, y, cost, weights = few(seed)
    if costs == "equal":
        cost, model = 1.0 - np.eye(3), StructBoostClassifier(nu=nu, **EXACT).fit(X, y, sample_weight=weights)
        margin = cost[y]
    elif costs == "table":
        model, margin = StructBoostClassifier(cost, nu=nu, **EXACT).fit(X, y, sample_weight=weights), cost[y]
    else:
        margin = cost[y] * np.random.default_rng(seed).integers(1, 4, (len(y), 1))
        model = StructBoostClassifier(nu=nu, **EXACT).fit(X, y, sample_weight=weights, cost=margin)
    found = objective(model, X, y, margin, weights)
    assert found == pytest.approx(least_objective(all_stumps(X), margin, y, weights, nu), rel=1e-6)
    assert model.n_iter_ < 400 and np.all(np.asarray(model.model_.vectors) >= 0) and gap(model) <= 1e-7
    mean = np.average(slacks(margin, y, model.model_.scores(X)), weights=weights)
    assert model.train_loss_[-1] == pytest.approx(mean, rel=1e-9, abs=1e-12)
    assert model.train_loss_[0] == pytest.approx(np.average(margin.max(axis=1), weights=weights), rel=1e-9)


@pytest.mark.parametrize(("data", "nu"), slow_after(1, [(load_iris, 0.1), (load_wine, 1 / 30)]))
def test_on_known_sets(data, nu):
    X, y = data(return_X_y=True)
    model = StructBoostClassifier(nu=nu, n_estimators=500, tol=1e-6, solver_iterations=100).fit(X, y)
    least = least_objective(all_stumps(X), (1.0 - np.eye(3))[y], y, np.ones(len(y)), nu)
    assert objective(model, X, y, (1.0 - np.eye(3))[y], None) == pytest.approx(least, rel=2e-6)
    assert model.n_iter_ < 500


@pytest.mark.parametrize("seed", range(3))
def test_two_classes_are_lpboost(seed):
    """min D sum xi + |a|_1, y f(x) >= 1 - xi: Demiriz et al. (2002) with the margin fixed, as in 1-norm machines."""
    X, y, _, weights = few(seed, 40, 2)
    F, sign, nu = all_stumps(X), 2.0 * y - 1.0, 0.05
    M, n = F.shape[1], len(y)
    price = np.r_[np.full(M, nu), weights / weights.sum()]
    margins = np.hstack([sign[:, None] * F, np.eye(n)])
    least = linprog(price, A_ub=-margins, b_ub=-np.ones(n), bounds=(0, None), method="highs")
    model = StructBoostClassifier(nu=nu, **EXACT).fit(X, y, sample_weight=weights)
    assert objective(model, X, y, (1.0 - np.eye(2))[y], weights) == pytest.approx(least.fun, rel=1e-6)
    f = np.diff(model.model_.scores(X), axis=1)[:, 0]  # H_1 - H_0: an entry of W is as good as one of a
    hinge = np.average(np.maximum(0.0, 1.0 - sign * f), weights=weights)
    assert nu * np.asarray(model.model_.vectors).sum() + hinge == pytest.approx(least.fun, rel=1e-6)


def test_separable_classes_get_the_widest_margin_when_the_penalty_is_small():
    """R = 0 can be reached: then |W|_1 is least under H_y - H_k >= 1, and rounds go on though nothing is lost."""
    X = np.array([[0.0, 3], [1, 1], [2, 2], [3, 0], [4, 1], [5, 3], [6, 2], [7, 0]])
    y = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    model = StructBoostClassifier(nu=1e-3, **EXACT).fit(X, y)
    least = least_objective(all_stumps(X), (1.0 - np.eye(3))[y], y, np.ones(8), 1e-3)
    assert objective(model, X, y, (1.0 - np.eye(3))[y], None) == pytest.approx(least, rel=1e-6)
    assert model.train_loss_[-1] < 1e-6 and model.score(X, y) == 1.0


def test_the_slack_is_no_less_than_the_cost():
    X, y, cost, weights = few(5, 80)
    model = StructBoostClassifier(cost, n_estimators=20).fit(X, y, sample_weight=weights)
    assert np.all(model.train_loss_ >= model.train_risk_ * (1 - 1e-12))


def test_rounds_end_by_the_duality_gap():
    X, y, cost, weights = few(1)
    rough = StructBoostClassifier(cost, nu=0.05, n_estimators=400, tol=0.05).fit(X, y, sample_weight=weights)
    least = least_objective(all_stumps(X), cost[y], y, weights, 0.05)
    assert least <= objective(rough, X, y, cost[y], weights) <= least / (1 - 0.05) and rough.n_iter_ < 400
    nothing = StructBoostClassifier(cost, nu=100.0).fit(X, y)
    assert nothing.n_iter_ == 0 and nothing.predict(X).tolist() == [np.argmin(cost[y].mean(axis=0))] * len(y)


@pytest.mark.parametrize(("seed", "K", "planes"), [(5, 3, 10), (4, 4, 20)])
def test_rounds_that_end_by_themselves_have_reached_the_optimum(seed, K, planes):
    """Planes of the last round may find better vectors than those of the model, which alone count."""
    X, y, cost, weights = few(seed, 24, K)
    model = StructBoostClassifier(cost, tol=1e-4, solver_iterations=planes).fit(X, y, sample_weight=weights)
    least = least_objective(all_stumps(X), cost[y], y, weights, model.nu)
    share = 1.0 - least / objective(model, X, y, cost[y], weights)
    assert model.n_iter_ < 100 and share - 1e-9 <= gap(model) <= 1e-4


def test_few_rounds_are_told_how_far_from_the_optimum_they_may_be(tmp_path):
    X, y, cost, weights = few(4, 24, 4)
    model = StructBoostClassifier(cost, n_estimators=15)
    with pytest.warns(ConvergenceWarning, match="has made all of its 15 rounds"):
        model.fit(X, y, sample_weight=weights)
    least = least_objective(all_stumps(X), cost[y], y, weights, model.nu)
    assert model.certificate_.bound == pytest.approx(objective(model, X, y, cost[y], weights), rel=1e-9)
    assert 1.0 >= gap(model) >= 1.0 - least / objective(model, X, y, cost[y], weights) > 1e-3
    minrisk.save(model, tmp_path / "model")
    assert minrisk.load(tmp_path / "model").certificate_ == model.certificate_
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        clone(model).set_params(tol=1.0).fit(X, y)
        clone(model).set_params(early_stopping=True, validation_fraction=0.3).fit(X, y)


def test_drawn_features_end_no_rounds_that_others_would_go_on_with():
    X, y, cost, weights = few(0, 24)
    model = StructBoostClassifier(cost, max_features=1, random_state=0).fit(X, y, sample_weight=weights)
    least = least_objective(all_stumps(X), cost[y], y, weights, model.nu)
    assert 1.0 - least / objective(model, X, y, cost[y], weights) - 1e-9 <= gap(model) <= 1e-3


@pytest.mark.parametrize("seed", range(5))
def test_a_bundle_finds_the_least_value_of_a_function_of_planes(seed):
    """Beside a linear program with all planes; what is found never falls below the bound."""
    rng = np.random.default_rng(seed)
    slopes, offsets, nu = rng.normal(size=(30, 6)), rng.uniform(0, 3, 30), 0.1

    def cut(w):
        p = int(np.argmax(offsets - slopes @ w))
        value = offsets[p] - slopes[p] @ w
        return Plane(value, slopes[p], offsets[p]) if value > 0 else Plane(0.0, np.zeros(6), 0.0)

    bundle = Bundle(np.zeros((2, 3)), cut(np.zeros(6)), nu, 1.0)
    price, planes = np.r_[np.full(6, nu), 1.0], np.hstack([-slopes, -np.ones((30, 1))])
    least = linprog(price, A_ub=planes, b_ub=-offsets, bounds=(0, None), method="highs").fun
    for _ in range(60):
        bundle.improve(cut, 5, 1e-9)
        assert bundle.bound() <= least + 1e-12 <= bundle.value + 2e-12
        np.testing.assert_allclose(bundle.shares.sum(), 1.0)
    assert bundle.value == pytest.approx(least, rel=1e-8)
    assert np.all(bundle.best >= 0)


@pytest.mark.parametrize("weak_learner", ["stump", "tree"])
def test_the_learner_is_the_one_of_the_largest_edge_in_the_dual(weak_learner, monkeypatch):
    """Beside sums row by row, with the shares that the step has found."""
    from minrisk.learners.most_violated import DualTrees

    X, y, cost, weights = few(3, 60)
    seen, search = [], DualTrees.search

    def noted(self, round_):
        found = search(self, round_)
        seen.append((round_.rows.gradient.copy(), found.edge, round_.rows.response.copy()))
        return found

    monkeypatch.setattr(DualTrees, "search", noted)
    model = StructBoostClassifier(cost, n_estimators=6, weak_learner=weak_learner, max_depth=2)
    model.fit(X, y, sample_weight=weights)
    assert len(seen) == 7  # one more says how far from the optimum the model is
    for gradient, largest, response in seen:
        sums = gradient.T @ response
        assert sums.max() == pytest.approx(largest, rel=1e-9)
        best = np.abs(gradient.T @ all_stumps(X)).max()
        assert largest == pytest.approx(best, rel=1e-9) if weak_learner == "stump" else largest >= best * (1 - 1e-9)
        np.testing.assert_allclose(gradient.sum(axis=1), 0.0, atol=1e-12)
