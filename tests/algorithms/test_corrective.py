"""MultiBoost under a bound on |W|_1 (Eq. 17) and its solver; stages and early stopping of all that correct earlier rounds."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone

import minrisk
from benchmarks.before_after import blobs
from minrisk import GradBoostClassifier, MultiBoostClassifier, StagewiseMCBoostClassifier, StructBoostClassifier
from minrisk.steps.penalised import onto_bound, projected_descent
from tests.helpers import naive_stagewise as twin


def few(seed, n=40, K=3):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 2)), 1)
    y = np.r_[np.arange(K), rng.integers(0, K, n - K)]
    X[:, 0] += y
    X = np.round(X, 1)
    cost = rng.uniform(0.5, 2.0, (K, K)) * (1 - np.eye(K))
    return X[:, :1] if seed % 2 else X, y, cost, rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize("bound", [0.3, 2.0])
def test_the_bound_gives_the_least_loss_over_all_stumps(loss, seed, bound):
    """Beside a general solver that has every stump of either polarity from the beginning."""
    X, y, cost, weights = few(seed, 25)
    places = [(np.unique(X[:, j])[1:] + np.unique(X[:, j])[:-1]) / 2 for j in range(X.shape[1])]
    F = np.array([f for _, _, f in twin.stumps(X, places)]).T
    F, D = np.hstack([F, -F]), len(cost)
    A = twin.pair_weights(cost[y], y, weights)

    def function(flat):
        W = flat.reshape(-1, D)
        rho = twin.margins(F @ W, y)
        u = A * (np.exp(-rho) if loss == "exponential" else expit(-rho))
        gradient = -u
        gradient[np.arange(len(y)), y] += u.sum(axis=1)
        return (A * twin.phi(loss, rho)).sum(), -(F.T @ gradient).ravel()

    start = np.full(F.shape[1] * D, bound / (2 * F.shape[1] * D))
    limit = {"type": "ineq", "fun": lambda w: bound - w.sum(), "jac": lambda w: -np.ones(len(w))}
    least = minimize(
        function,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(0, None)] * len(start),
        constraints=[limit],
        options={"ftol": 1e-13, "maxiter": 1000},
    ).fun
    model = MultiBoostClassifier(
        cost,
        loss=loss,
        penalty="constraint",
        bound=bound,
        n_estimators=200,
        tol=1e-7,
        solver_gradient=1e-9,
        solver_iterations=500,
    ).fit(X, y, sample_weight=weights)
    W = np.asarray(model.model_.vectors)
    assert np.all(W >= 0) and W.sum() <= bound * (1 + 1e-6) and model.n_iter_ < 200
    assert model.train_loss_[-1] * weights.sum() == pytest.approx(least, rel=2e-6)


@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_point_within_the_bound(seed):
    rng = np.random.default_rng(seed)
    x, bound = rng.normal(size=8) * 3, float(rng.uniform(0.1, 5))
    point = onto_bound(x, bound)
    assert np.all(point >= 0) and point.sum() <= bound * (1 + 1e-12)
    for _ in range(200):  # no point of the set is nearer
        other = rng.exponential(size=8) * (rng.random(8) < 0.5)
        other *= min(1.0, bound / max(other.sum(), 1e-300))
        assert np.sum((x - point) ** 2) <= np.sum((x - other) ** 2) + 1e-12
        assert (x - point) @ (other - point) <= 1e-9


def test_projected_gradients_find_a_known_minimum():
    """min |x - c|^2 under the bound is the projection of c."""
    c = np.array([3.0, 1.0, -2.0, 0.5])
    scale = np.array([1.0, 1.0, 1.0, 1.0])
    found = projected_descent(
        lambda x: (float(scale @ (x - c) ** 2), 2 * scale * (x - c)), np.zeros(4), 2.0, 500, 1e-10
    )
    np.testing.assert_allclose(found, onto_bound(c, 2.0), atol=1e-9)


CORRECTED = {
    **{
        f"multiboost {penalty}": MultiBoostClassifier(penalty=penalty, bound=3.0)
        for penalty in ("l1", "l2", "constraint")
    },
    "structboost": StructBoostClassifier(nu=0.01, solver_iterations=8),
    **{f"gradboost {norm}": GradBoostClassifier(nu=1e-3, norm=norm) for norm in ("l2", "linf")},
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CORRECTED)
def test_kept_stages_are_the_models_after_so_many_rounds(name, tmp_path):
    X, y = blobs()

    def fitted(n, **more):
        return clone(CORRECTED[name]).set_params(n_estimators=n, **more).fit(X, y)

    model, differ = fitted(8, keep_stages=True), 0
    assert model.n_iter_ == 8
    for t, scores in enumerate(model.staged_decision_function(X), 1):
        part = fitted(t)
        np.testing.assert_array_equal(model.model_[:t].scores(X), scores)
        if part.n_iter_:  # else a constant was the better model
            np.testing.assert_array_equal(scores, part.decision_function(X))
            differ += not np.array_equal(part.model_.vectors, model.model_.vectors[:t])
    assert differ > 3  # corrections were made
    assert part.model_.corrected is None
    np.testing.assert_array_equal(part.model_.vectors, model.model_.vectors)
    minrisk.save(model, tmp_path / "model")
    again = minrisk.load(tmp_path / "model")
    for one, other in zip(again.staged_decision_function(X), model.staged_decision_function(X), strict=True):
        np.testing.assert_array_equal(one, other)
    half = fitted(3, keep_stages=True, warm_start=True).set_params(n_estimators=8).fit(X, y)
    np.testing.assert_array_equal(half.model_.corrected, model.model_.corrected)
    np.testing.assert_array_equal(half.train_loss_, model.train_loss_)
    if name == "structboost":
        assert half.certificate_ == model.certificate_ == part.certificate_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("name", [name for name in CORRECTED if name not in ("multiboost l2", "multiboost constraint")])
def test_early_stopping_keeps_the_vectors_of_the_best_round(name, keep):
    from minrisk.boosting.monitors import split_rows

    X, y = blobs(400, seed=3)
    options = {"early_stopping": True, "n_iter_no_change": 8, "validation_fraction": 0.3, "random_state": 1}
    model = clone(CORRECTED[name]).set_params(n_estimators=60, keep_stages=keep, **options)
    if name == "multiboost l1":
        model.set_params(nu=1e-4)
    model.fit(X, y)
    assert model.n_iter_ == int(np.argmin(model.validation_risk_)) > 1
    assert len(model.validation_risk_) > model.n_iter_ + 1  # it was stopped later
    short = clone(model).set_params(n_estimators=model.n_iter_).fit(X, y)
    np.testing.assert_array_equal(short.model_.vectors, model.model_.vectors)
    np.testing.assert_array_equal(short.decision_function(X), model.decision_function(X))
    rest = split_rows(y, 0.3, model._seed)[1]
    assert model.validation_risk_[model.n_iter_] == pytest.approx(np.mean(model.predict(X[rest]) != y[rest]))
    assert (model.model_.corrected is not None) == keep
    more = clone(model).set_params(n_estimators=3, warm_start=True).fit(X, y).set_params(n_estimators=60).fit(X, y)
    np.testing.assert_array_equal(more.model_.vectors, model.model_.vectors)


@pytest.mark.parametrize("algorithm", [StagewiseMCBoostClassifier, MultiBoostClassifier])
@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_tolerances_are_those_of_the_solver(algorithm, loss):
    X, y = blobs()
    options = {"loss": loss, "n_estimators": 6, "nu": 1e-12}
    if algorithm is StagewiseMCBoostClassifier:
        options["learning_rate"] = 1.0
    usual = algorithm(**options).fit(X, y)
    fine = algorithm(**options, solver_gradient=1e-10, solver_change=1e-15, solver_iterations=1000).fit(X, y)
    rough = algorithm(**options, solver_iterations=1).fit(X, y)
    assert not np.array_equal(rough.model_.vectors, usual.model_.vectors)
    assert fine.train_loss_[1] <= usual.train_loss_[1] * (1 + 1e-9) <= rough.train_loss_[1] * (1 + 1e-6)
    with pytest.raises(ValueError, match="solver_iterations must be a whole number at least 1"):
        algorithm(solver_iterations=0).fit(X, y)


def test_a_file_with_too_few_stages_is_refused(tmp_path):
    import dataclasses

    X, y = blobs()
    model = MultiBoostClassifier(n_estimators=4, keep_stages=True).fit(X, y)
    model.model_ = dataclasses.replace(model.model_, corrected=model.model_.corrected[1:])
    with pytest.raises(ValueError, match="vectors after every round"):
        minrisk.save(model, tmp_path / "model")
