"""What users with unequal costs hold: rare events, weak signals, weights and sharp rules; nothing is lost, nothing jumps."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks.rare_families import payments
from minrisk import MinRiskClassifier
from minrisk.ensemble import defaults
from minrisk.ensemble.calibration import fit_mixture, fit_weight
from minrisk.rows.costs import RowCosts
from minrisk.rows.factory import folded_rows
from tests.helpers.common import slow_after


def rare(seed, n, slope, level, d=20, told=6, tests=8000):
    """Rows whose log-odds are linear in some features, to learn from and to test on."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + tests, d))
    y = (rng.random(n + tests) < 1.0 / (1.0 + np.exp(-(slope * X[:, :told].sum(axis=1) + level)))).astype(int)
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.parametrize("seed", slow_after(1, range(3)))
def test_rare_events_are_learnt_as_well_as_by_logistic_regression(seed):
    X, y, X_test, y_test = rare(seed, 8000, 0.45, -5.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MinRiskClassifier(random_state=0).fit(X, y)
    p, peer = model.predict_proba(X_test)[:, 1], LogisticRegression().fit(X, y).predict_proba(X_test)[:, 1]
    assert model.n_iter_ > 0
    assert roc_auc_score(y_test, p) > roc_auc_score(y_test, peer) - 0.03
    assert log_loss(y_test, p) < 1.03 * log_loss(y_test, peer)


def test_what_is_rare_keeps_its_share():
    X, y, X_test, y_test = rare(5, 4000, 0.6, -4.5)
    p = MinRiskClassifier(random_state=0).fit(X, y).predict_proba(X_test)[:, 1]
    assert 0.75 * y_test.mean() < p.mean() < 1.33 * y_test.mean()


def test_a_weak_signal_is_no_constant():
    X, y, X_test, y_test = rare(1, 10_000, 0.06, 0.0, told=20)
    model = MinRiskClassifier(random_state=0).fit(X, y)
    assert model.n_iter_ > 0
    assert roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]) > 0.54


def test_a_rare_class_of_real_data(data_folder):
    frame = pd.read_csv(data_folder / "page_blocks.csv.gz").drop(columns="split", errors="ignore")
    rare_class = (frame.pop("target").astype(str) == "4").to_numpy(dtype=int)
    X, y = frame.to_numpy(dtype=float), rare_class
    rows = np.random.default_rng(0).permutation(len(y))
    learnt, tested = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    model = MinRiskClassifier(random_state=0).fit(X[learnt], rare_class[learnt])
    assert roc_auc_score(rare_class[tested], model.predict_proba(X[tested])[:, 1]) > 0.98


def test_rare_events_that_are_a_hundred_times_as_dear():
    """The decisions cost less than the best constant one, and no more than those by logistic regression."""
    X, y, X_test, y_test = rare(0, 8000, 0.45, -5.3, tests=16_000)
    paid = {}
    for name, fit in (("ours", MinRiskClassifier([[0, 1], [100, 0]], random_state=0)), ("peer", LogisticRegression())):
        p = fit.fit(X, y).predict_proba(X_test)[:, 1]
        decided = fit.predict(X_test) if name == "ours" else 100 * p > 1 - p
        paid[name] = np.where(y_test == 1, 100 * (decided == 0), decided == 1).mean()
    assert paid["ours"] < min(1.05 * paid["peer"], 0.9 * min(100 * y_test.mean(), 1 - y_test.mean()))


@pytest.mark.parametrize("random_state", [0, 5, 11])
def test_frauds_among_payments_are_found(random_state):
    """Each fraud costs its amount, which is known when a decision is made; no random state learns nothing."""
    frame, y, paid = payments(np.random.default_rng(3), 2000)
    learnt, tested = slice(2000), slice(2000, None)
    cost = pd.DataFrame(paid[np.arange(len(y)), y], columns=["honest", "fraud"])
    words = np.array(["honest", "fraud"])[y]
    model = MinRiskClassifier(random_state=random_state).fit(frame[learnt], words[learnt], cost=cost[learnt])
    assert model.n_iter_ > 0
    full = paid[tested][:, ::-1, ::-1]  # classes in their order: fraud, honest
    fraud = model.predict(frame[tested], cost=full) == "fraud"
    of_rows = cost[tested].to_numpy()
    assert of_rows[np.arange(len(of_rows)), fraud.astype(int)].mean() < 0.95 * of_rows.mean(axis=0).min()


@pytest.mark.parametrize("seed", range(2))
def test_one_sharp_rule_on_few_rows(seed):
    rng = np.random.default_rng([seed, 77])
    X = rng.normal(size=(10_300, 10))
    y = (X[:, 3] > 0.313).astype(int)
    model = MinRiskClassifier(random_state=0).fit(X[:300], y[:300])
    assert np.mean(model.predict(X[300:]) != y[300:]) < 0.006


@pytest.mark.parametrize("weight", [7, 100, 250])
def test_a_whole_weight_is_like_any_other(weight):
    X, y, X_test, _ = rare(2, 1500, 0.9, -5.0, d=5, told=5, tests=500)
    fits = [MinRiskClassifier(class_weight={1: w}, random_state=0).fit(X, y) for w in (weight, weight * (1 + 1e-6))]
    assert fits[0].n_iter_ > 0
    np.testing.assert_allclose(*(fit.predict_proba(X_test) for fit in fits), atol=1e-3)


# -- formulas ------------------------------------------------------------------------------------------------------------
def test_settings_have_no_cliff():
    rows = np.geomspace(50, 2e6, 4000)
    for of in (
        lambda n: defaults.smoothing(n, 30),
        defaults.last_share,
        defaults.challenger_share,
        defaults.learning_rate,
    ):
        values = np.array([of(n) for n in rows])
        assert np.max(np.abs(np.diff(np.log(values)))) < 0.02
    for whole in (
        lambda n: defaults.n_leaves(n, 3, 30),
        lambda n: defaults.n_bins("quantile", None, n, 30)[0],
        defaults.n_rounds,
    ):
        values = np.array([whole(n) for n in rows])
        assert np.max(np.abs(np.diff(values)) - 0.02 * values[:-1]) <= 1.0


# -- weights of kinds ----------------------------------------------------------------------------------------------------
def held_out(rng, n, K, M):
    """Score functions of rows in four folds, and the arrays."""
    folds, label = np.sort(rng.integers(0, 4, n)), rng.integers(0, K, n).astype(np.int32)
    weight, table = rng.uniform(0.2, 2.0, n), 1.0 - np.eye(K)
    folded = folded_rows(RowCosts(table, label, weight, label), folds)
    scores = [0.8 * np.eye(K)[label] + rng.normal(size=(n, K)) for _ in range(M)]
    parts = [folded.held_out([s[folds == fold] for fold in range(4)]) for s in scores]
    return folded, parts, [s.astype(np.float32).astype(float) for s in scores], folds, label, weight


def naive_loss(base, scores, weights, shift, label, weight):
    x = base + shift + sum(w * s for w, s in zip(weights, scores, strict=True))
    log_p = x - np.log(np.exp(x).sum(axis=1, keepdims=True))
    return -float(weight @ log_p[np.arange(len(label)), label])


@pytest.mark.parametrize(("K", "M"), [(2, 1), (3, 2), (5, 4)])
def test_the_loss_of_a_mixture_and_its_derivatives(K, M):
    rng = np.random.default_rng([K, M])
    folded, parts, scores, folds, label, weight = held_out(rng, 90, K, M)
    base, weights, shift = folded.base("softmax")[folds], rng.uniform(0, 1, M), rng.normal(size=K)
    sums = parts[0].mixture(parts[1:], "softmax", weights, shift, 0.0)
    np.testing.assert_allclose(sums[0], naive_loss(base, scores, weights, shift, label, weight), rtol=1e-9)

    def slope(of_weights, of_shift):
        ends = [
            naive_loss(base, scores, weights + e * of_weights, shift + e * of_shift, label, weight)
            for e in (1e-5, -1e-5)
        ]
        return (ends[0] - ends[1]) / 2e-5

    found = [slope(step, 0.0) for step in np.eye(M)], [slope(0.0, step) for step in np.eye(K)]
    np.testing.assert_allclose(sums[1 : 1 + M], found[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(sums[1 + 2 * M :], found[1], rtol=1e-5, atol=1e-5)


def test_no_other_weights_have_less_loss():
    rng = np.random.default_rng(3)
    _, parts, _, _, _, _ = held_out(rng, 300, 3, 3)
    frequencies, doubt = np.full(3, 1 / 3), np.array([0.0, 2.0, 2.0])
    found = fit_mixture("softmax", parts, frequencies, doubt, np.ones(3))

    def objective(weights, shift):
        caution = defaults.CAUTION / parts[0].weight
        loss = parts[0].mixture(parts[1:], "softmax", weights, shift, caution)[0]
        return loss + doubt @ weights + 0.5 * defaults.SHIFT_ROWS * shift @ shift

    least = objective(found.weights, found.shift)
    for _ in range(50):
        weights = np.maximum(0.0, found.weights + 0.05 * rng.normal(size=3))
        assert objective(weights, found.shift + 0.05 * rng.normal(size=3)) > least - 1e-6


def test_a_score_function_of_noise_has_hardly_a_weight():
    rng = np.random.default_rng(4)
    folded, parts, _, folds, _, _ = held_out(rng, 2000, 2, 1)
    noise = folded.held_out([rng.normal(size=(int(np.sum(folds == fold)), 2)) for fold in range(4)])
    assert fit_weight(noise, "softmax", 1.0, 0.0)[0] < 0.1
    assert fit_weight(parts[0], "softmax", 1.0, 0.0)[0] > 0.4
