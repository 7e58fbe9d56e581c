"""What is proven of fits, beside definitions and general solvers: edges and bounds of REBEL's loss, optima by duality."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone

import minrisk
from minrisk import (
    AdaBoostMHClassifier,
    LocalizedSimilaritiesClassifier,
    MCBoostClassifier,
    MultiBoostClassifier,
    REBELClassifier,
    StagewiseMCBoostClassifier,
    StructBoostClassifier,
)
from minrisk.steps.closed_form import kept_share, shortened
from tests.helpers import naive
from tests.helpers import naive_stagewise as twin
from tests.helpers.common import crossed
from tests.helpers.walks import answers

PAPER = {"smoothing": 0.0, "fit_intercept": False}
ROUNDING = 1e-9


def problem(seed, K=None, n=None):
    rng = np.random.default_rng(seed)
    K, n = K or int(rng.integers(2, 5)), n or int(rng.integers(24, 50))
    X = rng.normal(size=(n, 2))
    y = (X @ rng.normal(size=(2, K)) + rng.gumbel(size=(n, K))).argmax(axis=1)
    y[: 2 * K] = np.tile(np.arange(K), 2)
    cost = rng.exponential(size=(K, K)) ** 2 * (1 - np.eye(K))
    return X, y, cost, rng.uniform(0.2, 3.0, n)


# -- REBEL's loss ------------------------------------------------------------------------------------------------------
@given(
    seed=st.integers(0, 10**6),
    F=st.sampled_from(["exponential", "logistic", "squared"]),
    offset=st.sampled_from(["tight", "paper"]),
)
@settings(max_examples=300, deadline=None)
def test_the_loss_is_above_the_cost_of_the_decision(seed, F, offset):
    """With the tight offset, too, by two terms: c+_k F(H_k) + max c F(-H_m) >= 2 c+_k where H_k >= H_m, m the cheapest."""
    rng = np.random.default_rng(seed)
    D = int(rng.integers(2, 6))
    cost = rng.exponential(size=(1, D)) ** 3
    H = rng.normal(size=(1, D)) * rng.choice([0.1, 1.0, 3.0])
    if rng.random() < 0.5:
        H[:] = np.round(H)  # scores that tie decide for any of them
    loss = naive.loss_value(naive.surrogate(cost, np.ones(1), F, offset), H)
    assert loss >= cost[H == H.max()[None]].max() * (1 - ROUNDING)


@pytest.mark.parametrize("costs", ["equal", "other"])
@pytest.mark.parametrize("offset", ["tight", "paper"])
@pytest.mark.parametrize("seed", range(3))
def test_edges_are_those_of_the_paper(seed, offset, costs):
    """<|s+ - s-|, 1> / <s+ + s-, 1> of S.6.1, row by row; for 0/1 costs the gamma of Eq. (10) and (11), too."""
    X, y, cost, weights = problem(seed, 3)
    cost = 1 - np.eye(3) if costs == "equal" else cost
    model = REBELClassifier(cost, n_estimators=8, max_depth=2, offset=offset, **PAPER).fit(X, y, sample_weight=weights)
    c_plus, c_minus = np.empty((2, len(y), 3))
    for i, label in enumerate(y):
        beta = cost[label].sum() - 2 * cost[label].max() if offset == "paper" else cost[label].min()
        c_plus[i], c_minus[i] = cost[label] - beta, cost[label].max() - cost[label]
    H, own = np.zeros((len(y), 3)), np.asarray(model.model_.vectors)
    for t, after in enumerate(model.staged_decision_function(X)):
        f = (after - H)[:, 0] / own[t, 0]
        w_plus, w_minus = weights[:, None] * c_plus * np.exp(H), weights[:, None] * c_minus * np.exp(-H)
        s_plus = np.where(f[:, None] > 0, w_plus, w_minus).sum(axis=0)
        s_minus = np.where(f[:, None] > 0, w_minus, w_plus).sum(axis=0)
        assert model.edges_[t] == pytest.approx(np.abs(s_plus - s_minus).sum() / (s_plus + s_minus).sum(), rel=1e-6)
        if costs == "equal":
            difference = w_plus - w_minus
            gamma = np.abs(f @ difference).sum() / np.abs(difference).sum()
            assert model.edges_[t] == pytest.approx(gamma, rel=1e-6)
        H = after


@given(seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_the_loss_is_below_its_bound_after_every_round(seed):
    X, y, cost, weights = problem(seed)
    rng = np.random.default_rng(seed)
    options = {
        "n_estimators": 12,
        "offset": rng.choice(["tight", "paper"]),
        "learning_rate": rng.choice([0.1, 0.5, 1.0]),
        "smoothing": rng.choice([0.0, 1e-3, 0.3]),
        "fit_intercept": bool(rng.integers(2)),
    }
    kind, more = [
        (REBELClassifier, {"max_depth": 3}),
        (REBELClassifier, {"weak_learner": "stump", "fit_intercept": "each round"}),
        (LocalizedSimilaritiesClassifier, {"response": "real"}),
        (LocalizedSimilaritiesClassifier, {"response": "sign"}),
    ][rng.integers(4)]
    model = kind(cost, **{**options, **more}).fit(X, y, sample_weight=weights)
    constant = (
        np.average((cost[y].sum(axis=1) - (len(cost) - 1) * cost[y].max(axis=1)), weights=weights)
        if options["offset"] == "paper"
        else 0.0
    )
    bound = constant + (model.train_loss_[0] - constant) * np.cumprod([1.0, *map(kept_share, model.edges_)])
    assert np.all(model.train_loss_ <= bound * (1 + ROUNDING) + ROUNDING)
    assert (
        model.certificate_.value
        == model.train_risk_[-1]
        <= model.certificate_.bound
        == pytest.approx(bound[-1], rel=1e-9)
    )


def test_a_stump_that_is_all_right_is_not_said_to_leave_nothing():
    X, y = np.arange(8.0)[:, None], np.repeat([0, 1], 4)
    model = REBELClassifier(n_estimators=3, weak_learner="stump", **PAPER).fit(X, y)
    assert 0.0 < model.train_loss_[1] <= model.train_loss_[0] * kept_share(model.edges_[0]) < 1e-7


def test_shortened_vectors_have_smaller_edges():
    assert shortened(0.6, 1.0) == 0.6 and np.isnan(shortened(0.6, 1.5))
    assert kept_share(shortened(0.6, 0.25)) == pytest.approx(0.75 + 0.25 * 0.8)


def test_rounds_that_prove_nothing_have_no_edges(tmp_path):
    X, y, cost, _ = problem(0)
    for options in ({"loss": "logistic"}, {"learning_rate": 1.5}, {"subsample": 0.5}):
        model = REBELClassifier(cost, n_estimators=4, **options).fit(X, y)
        assert model.edges_ is None and model.certificate_ is None
        minrisk.save(model, tmp_path / "model")
        assert minrisk.load(tmp_path / "model").edges_ is None
    went_on = REBELClassifier(cost, n_estimators=2, subsample=0.5, warm_start=True).fit(X, y)
    assert went_on.set_params(n_estimators=4, subsample=1.0).fit(X, y).edges_ is None
    assert not hasattr(AdaBoostMHClassifier(n_estimators=2).fit(X, y), "certificate_")


# -- MCBoost -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("loss", ["gel", "gll", "ls", "lt", "mc"])
@pytest.mark.parametrize("seed", range(3))
def test_the_loss_proves_a_mean_cost(loss, seed):
    X, y, cost, weights = problem(seed)
    for rounds, scale in ((1, 0.3), (8, 2.0)):
        more = {"cost_scale": scale} if loss == "gll" else {}
        model = MCBoostClassifier(cost, loss=loss, n_estimators=rounds, **more).fit(X, y, sample_weight=weights)
        if model.n_iter_:
            assert model.train_risk_[-1] == model.certificate_.value <= model.certificate_.bound
    dear = minrisk.costs.CostMatrix(cost + 9 * np.eye(len(cost)), allow_diagonal=True)
    nothing = MCBoostClassifier(dear, loss="gel", n_estimators=2).fit(X, y)
    assert nothing.certificate_ is None  # right decisions cost something, of which the loss knows nothing


# -- optima by duality -------------------------------------------------------------------------------------------------
def responses(X):
    """Of every stump of either polarity, (n, M)."""
    made = [np.where(X[:, j] > tau, 1, -1) for j in range(X.shape[1]) for tau in np.unique(X[:, j])[:-1]]
    return np.array([f for one in made for f in (one, -one)], dtype=float).T


def learner_responses(model, X):
    """Of the model's learners, (n, T)."""
    return np.sign([answers(learner, X) for learner in model.model_.learners]).T


def optimum(F, A, y, loss, penalty, start, low=0.0, most=np.inf):
    """The least objective over W (M, K) by a general solver, with its slope from the definition."""
    M, K, mean = F.shape[1], A.shape[1], A.sum() if loss == "exponential" else twin.unit(loss, A, y)

    def function(flat):
        S = F @ flat.reshape(M, K)
        value = twin.total_loss(loss, A, y, S)
        slope = -F.T @ twin.gradients(loss, A, y, S)  # of the exponential loss those of the logarithm
        own, own_slope = penalty(flat)
        value, slope = (np.log(value), slope) if loss == "exponential" else (value / mean, slope / mean)
        return value + own, slope.ravel() + own_slope

    start = start.ravel()
    if np.isfinite(most):
        bounded = {"type": "ineq", "fun": lambda w: most - w.sum(), "jac": lambda w: -np.ones_like(w)}
        found = minimize(
            function,
            start,
            jac=True,
            method="SLSQP",
            bounds=[(low, None)] * M * K,
            constraints=[bounded],
            options={"ftol": 1e-13, "maxiter": 1000},
        )
    else:
        found = minimize(
            function,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(low, None)] * M * K,
            options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 20000, "maxfun": 40000, "maxcor": 50},
        )
    return found.fun


def stated(model, loss, A, y, X, penalty):
    """The model's objective by its definition; of the exponential loss with a sum, the certificate's with a mean."""
    S, W = model.model_.scores(X), np.asarray(model.model_.vectors)
    value = twin.total_loss(loss, A, y, S)
    return (np.log(value) if loss == "exponential" else value / twin.unit(loss, A, y)) + penalty(W.ravel())[0]


@pytest.mark.parametrize(
    ("kind", "nu", "loss"), crossed(["stage-wise", "l1", "l2", "constraint"], [1e-3, 0.03], ["exponential", "logistic"])
)
def test_the_optimum_is_between_value_and_bound(kind, nu, loss):
    X, y, cost, weights = problem(3, 3, 30)
    A = twin.pair_weights(cost[y], y, weights)
    less = np.log(weights.sum()) if loss == "exponential" else 0.0  # the certificate is of means
    options = {"loss": loss, "n_estimators": 12, "nu": nu}
    if kind == "stage-wise":
        model = StagewiseMCBoostClassifier(cost, **options)
    else:
        model = MultiBoostClassifier(cost, penalty=kind, bound=3.0, **options)
    model.fit(X, y, sample_weight=weights)
    W = np.asarray(model.model_.vectors)
    weight = {"l2": lambda w: (0.5 * nu * w @ w, nu * w), "constraint": lambda w: (0.0, 0.0 * w)}
    penalty = weight.get(kind, lambda w: (nu * w.sum(), np.full_like(w, nu)))
    certificate = model.certificate_
    assert certificate.bound + less == pytest.approx(stated(model, loss, A, y, X, penalty), rel=1e-9)
    kept = kind in ("stage-wise", "l2")
    F = learner_responses(model, X) if kept else responses(X)
    most = {"stage-wise": W.sum(), "constraint": 3.0}.get(kind, np.inf)
    start = W if kept else np.full((F.shape[1], 3), min(1e-3, most / F.shape[1] / 4))
    least = optimum(F, A, y, loss, penalty, start, -np.inf if kind == "l2" else 0.0, most) - less
    assert certificate.value <= least + 1e-7 <= certificate.bound + 2e-7
    if kind == "l2":  # all vectors of these learners are at their optimum
        assert least - certificate.value < 1e-4


def test_many_rounds_close_the_gap():
    X, y, cost, weights = problem(3, 3, 30)
    for penalty in ("l1", "constraint"):
        model = MultiBoostClassifier(cost, penalty=penalty, bound=3.0, nu=0.03, n_estimators=300).fit(
            X, y, sample_weight=weights
        )
        assert model.n_iter_ < 300 and model.certificate_.bound - model.certificate_.value < 2e-3


# -- fits that end otherwise -------------------------------------------------------------------------------------------
METHODS = [
    REBELClassifier(n_estimators=6),
    LocalizedSimilaritiesClassifier(n_estimators=6),
    MCBoostClassifier(n_estimators=6),
    StagewiseMCBoostClassifier(n_estimators=6),
    MultiBoostClassifier(n_estimators=6),
    MultiBoostClassifier(n_estimators=6, penalty="l2", loss="exponential"),
    StructBoostClassifier(n_estimators=6),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_the_certificate_is_of_what_is_kept(method, tmp_path):
    X, y, cost, weights = problem(5, 3, 90)
    whole = clone(method).set_params(cost=cost).fit(X, y, sample_weight=weights)
    assert whole.certificate_.value <= whole.certificate_.bound
    half = clone(method).set_params(cost=cost, n_estimators=3, warm_start=True).fit(X, y, sample_weight=weights)
    half.set_params(n_estimators=6).fit(X, y, sample_weight=weights)
    assert half.certificate_ == whole.certificate_
    minrisk.save(whole, tmp_path / "model")
    again = minrisk.load(tmp_path / "model")
    assert again.certificate_ == whole.certificate_
    if hasattr(whole, "edges_"):
        np.testing.assert_array_equal(again.edges_, whole.edges_)
        np.testing.assert_array_equal(half.edges_, whole.edges_)
    stopped = clone(method).set_params(cost=cost, n_estimators=12, early_stopping=True, random_state=1)
    stopped.fit(X, y, sample_weight=weights)
    short = clone(stopped).set_params(n_estimators=max(1, stopped.n_iter_)).fit(X, y, sample_weight=weights)
    if stopped.n_iter_ == short.n_iter_ > 0:
        assert stopped.certificate_ == short.certificate_
    assert stopped.certificate_ is None or stopped.certificate_.value <= stopped.certificate_.bound
